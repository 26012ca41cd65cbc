//! The fuzz targets of `fuzz/`: built with the fuzzer's instrumentation and run, without `cargo-fuzz`.
//!
//! With a nightly toolchain the targets run under the address sanitizer; with a stable one without, as its instrumentation of
//! coverage is there too. Each target begins with its seeds and former findings. Where the fuzzer cannot be built, they are
//! replayed without it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Mutex;
use std::thread;

use crate::shell::{
    cargo, entries, file_name, files_with_extension, make_directory, output, program, root, run as run_command,
    run_quietly, shown, target, text, works,
};

/// How long, and which.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// How long each target runs
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub(crate) seconds: u64,
    /// What chance begins with: the same inputs are tried again, in the same order [default: another one each time]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u32>,
    /// Only these targets
    #[arg(value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
}

/// What makes the compiler tell the fuzzer which branches ran and what was compared.
const COVERAGE: [&str; 9] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cllvm-args=-simplifycfg-branch-fold-threshold=0",
    "-Ccodegen-units=1",
    "--cfg",
    "fuzzing",
];

/// What one input may take: seconds, MiB in all, MiB at once. A finding otherwise.
const LIMITS: [&str; 3] = ["-timeout=20", "-rss_limit_mb=2048", "-malloc_limit_mb=256"];

/// The exit code of a fuzzer that somebody stopped.
const INTERRUPTED: i32 = 72;

/// Runs the fuzz targets.
///
/// # Errors
/// When a target finds something or does not build, and how to see it again.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let fuzz = root().join("fuzz");
    let all: Vec<String> =
        files_with_extension(&fuzz.join("fuzz_targets"), "rs")?.iter().map(|path| stem(path)).collect();
    if let Some(unknown) = options.targets.iter().find(|name| !all.contains(name)) {
        return Err(format!("there is no fuzz target {unknown}; there are {}", all.join(", ")));
    }
    let names = if options.targets.is_empty() { &all } else { &options.targets };
    let built = target()?.join("fuzz");
    // The fuzzer begins with every seed and former finding.
    let Some(binaries) = build(&fuzz, &built)? else { return replay(&fuzz, &built) };
    if let Some(missing) = names.iter().find(|name| !binaries.join(name).is_file()) {
        return Err(format!("fuzz target {missing} was not built: fuzz/Cargo.toml has no [[bin]] for it"));
    }
    let findings = fuzz_all(&fuzz, &binaries, names, options)?;
    if findings == 0 { Ok(()) } else { Err(format!("{findings} of {} fuzz targets found something", names.len())) }
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Runs what is committed through the targets' bodies, with the toolchain at hand.
fn replay(fuzz: &Path, built: &Path) -> Result<(), String> {
    let mut command = cargo(["test", "--quiet", "--release", "--no-default-features"]);
    command.current_dir(fuzz).env("CARGO_TARGET_DIR", built.join("replay"));
    run_quietly(&mut command)?;
    println!("seeds and regressions replayed");
    Ok(())
}

/// Builds all targets and returns where they are; nothing where this machine cannot.
fn build(fuzz: &Path, built: &Path) -> Result<Option<PathBuf>, String> {
    if !works("c++", "--version") {
        skip("there is no C++ compiler, which the fuzzer needs");
        return Ok(None);
    }
    let nightly = output(program("cargo").args(["+nightly", "--version"])).is_ok_and(|output| output.status.success());
    let mut flags = COVERAGE.to_vec();
    if nightly {
        flags.push("-Zsanitizer=address");
    } else {
        println!("no nightly toolchain: fuzzing on stable, without the address sanitizer");
    }
    let toolchain: &[&str] = if nightly { &["+nightly"] } else { &[] };
    let triple = host(toolchain)?;
    // With a target named, build scripts and macros go without the flags.
    let mut command = program("cargo");
    command.args(toolchain).args(["build", "--release", "--bins", "--target", &triple]).current_dir(fuzz);
    command.env("CARGO_TARGET_DIR", built).env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    match run_command(command) {
        Ok(()) => Ok(Some(built.join(triple).join("release"))),
        Err(error) if nightly => Err(error),
        Err(error) => {
            skip(&format!("there is no nightly toolchain, and stable does not build them: {error}"));
            Ok(None)
        }
    }
}

fn skip(why: &str) {
    eprintln!("SKIPPED: fuzz targets were not run: {why}");
}

/// The machine's own target.
fn host(toolchain: &[&str]) -> Result<String, String> {
    let mut command = program("rustc");
    command.args(toolchain).arg("-vV");
    let version = text(command)?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc names no host".to_owned())
}

/// Runs targets side by side, as many as there are cores, and returns how many found something.
fn fuzz_all(fuzz: &Path, binaries: &Path, names: &[String], options: &Options) -> Result<usize, String> {
    let waiting = Mutex::new(names.iter());
    let findings = Mutex::new(Ok(0));
    let work = || {
        loop {
            let next = waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
            let Some(name) = next else { return };
            let outcome = fuzz_one(fuzz, &binaries.join(name), name, options);
            let mut findings = findings.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            *findings = match (findings.clone(), outcome) {
                (Ok(count), Ok(clean)) => Ok(count + usize::from(!clean)),
                (Err(error), _) | (_, Err(error)) => Err(error),
            };
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores.min(names.len()) {
            scope.spawn(work);
        }
    });
    findings.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Runs one target; false when it found something.
fn fuzz_one(fuzz: &Path, binary: &Path, name: &str, options: &Options) -> Result<bool, String> {
    // What the fuzzer finds worth keeping goes into the first directory.
    let (corpus, artifacts) = (fuzz.join("corpus").join(name), fuzz.join("artifacts").join(name));
    make_directory(&corpus)?;
    make_directory(&artifacts)?;
    let log = binary.with_extension("log");
    let before = entries(&artifacts)?;
    let mut command = program(binary);
    // A seed of 0 is one by chance.
    command.arg(format!("-max_total_time={}", options.seconds)).arg(format!("-seed={}", options.seed.unwrap_or(0)));
    command.args(LIMITS).args(["-print_final_stats=1", "-reload=0"]);
    command.arg(format!("-artifact_prefix={}/", artifacts.display())).arg(&corpus);
    let committed = ["seeds", "regressions"].map(|directory| fuzz.join(directory).join(name));
    command.args(committed.iter().filter(|directory| directory.is_dir()));
    // Finding leaks takes rights that a container may not have, and safe code has few.
    command.env("ASAN_OPTIONS", "detect_leaks=0").env("RUST_BACKTRACE", "1");
    let status = logged(&mut command, &log)?;
    let told = fs::read(&log).map_err(|error| format!("cannot read {}: {error}", log.display()))?;
    let told = String::from_utf8_lossy(&told);
    if status.success() {
        println!("{name}: {}", summary(&told));
        return Ok(true);
    }
    if status.code() == Some(INTERRUPTED) {
        return Err(format!("{name} was interrupted"));
    }
    let lines: Vec<&str> = told.lines().collect();
    eprintln!("{}", lines.get(lines.len().saturating_sub(60)..).unwrap_or_default().join("\n"));
    eprintln!("{name}: found something ({status}); all it said is in {}", log.display());
    for artifact in entries(&artifacts)?.iter().filter(|path| !before.contains(path)) {
        eprintln!("  see it again: {} {}", binary.display(), artifact.display());
        eprintln!("  keep it:      mv {} {}", artifact.display(), committed_place(fuzz, name, artifact).display());
    }
    Ok(false)
}

fn committed_place(fuzz: &Path, name: &str, artifact: &Path) -> PathBuf {
    fuzz.join("regressions").join(name).join(file_name(artifact))
}

/// Runs a program with all its output into a file.
fn logged(command: &mut Command, log: &Path) -> Result<ExitStatus, String> {
    let cannot = |error: std::io::Error| format!("cannot write {}: {error}", log.display());
    let file = File::create(log).map_err(cannot)?;
    let copy = file.try_clone().map_err(cannot)?;
    command.stdout(copy).stderr(file).status().map_err(|error| format!("cannot start `{}`: {error}", shown(command)))
}

/// How many runs, how many branches, how many inputs worth keeping.
fn summary(log: &str) -> String {
    let stat = |name: &str| {
        let line = log.lines().rev().find_map(|line| line.strip_prefix(name));
        line.map_or("?", |value| value.trim_start_matches(':').trim()).to_owned()
    };
    // Such as `#12345 DONE cov: 678 ft: 910 corp: 11/22Kb ...`.
    let done = log.lines().rev().find(|line| line.contains("cov: ")).unwrap_or_default();
    let after = |word: &str| done.split_whitespace().skip_while(|found| *found != word).nth(1).unwrap_or("?");
    format!(
        "{} runs, {} a second, {} branches, {} inputs, nothing found",
        stat("stat::number_of_executed_units"),
        stat("stat::average_exec_per_sec"),
        after("cov:"),
        after("corp:").split('/').next().unwrap_or("?"),
    )
}
