//! Builds and runs the fuzz targets of `fuzz/` without `cargo-fuzz`.
//!
//! A nightly toolchain adds the address sanitizer; coverage instrumentation works on stable too. Each target begins with its seeds and
//! regressions. Where the fuzzer cannot be built, only these are replayed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Mutex;
use std::thread;

use crate::shell::{
    WORKSPACE_WRAPPER, cargo, command_line, entries, file_name, files_with_extension, make_directory, output, program,
    root, run as run_command, run_quietly, target, text, works,
};

/// Selects targets, and how long they run.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Run time of each target
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub(crate) seconds: u64,
    /// Random seed: the same seed tries the same inputs in the same order [default: a new one each time]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u32>,
    /// Build sooner: instrument the crates of this repository only, and do not optimize most others
    #[arg(long)]
    pub(crate) quick: bool,
    /// Only these targets
    #[arg(value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
}

/// Compiler flags that report covered branches and compared values to the fuzzer.
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

/// Calls of rustc that go through this program get these flags, separated as in `CARGO_ENCODED_RUSTFLAGS`. Cargo does not know them: after a
/// change of [`COVERAGE`], remove the folder `fuzz` of the target directory.
const WRAPPED_FLAGS: &str = "WHARF_FUZZ_FLAGS";

const SEPARATOR: char = '\u{1f}';

/// Limits for one input: seconds, MiB in total, MiB per allocation. Exceeding one is a finding.
const LIMITS: [&str; 3] = ["-timeout=20", "-rss_limit_mb=2048", "-malloc_limit_mb=256"];

/// Exit code of an interrupted fuzzer.
const INTERRUPTED: i32 = 72;

/// Runs the fuzz targets.
///
/// # Errors
/// When a target finds something or does not build.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let fuzz = root().join("fuzz");
    let all: Vec<String> =
        files_with_extension(&fuzz.join("fuzz_targets"), "rs")?.iter().map(|path| stem(path)).collect();
    if let Some(unknown) = options.targets.iter().find(|name| !all.contains(name)) {
        return Err(format!("unknown fuzz target {unknown} (known: {})", all.join(", ")));
    }
    let names = if options.targets.is_empty() { &all } else { &options.targets };
    let build_dir = target()?.join("fuzz");
    let Some(binaries) = build(&fuzz, &build_dir, options.quick)? else { return replay(&fuzz, &build_dir) };
    if let Some(missing) = names.iter().find(|name| !binaries.join(name).is_file()) {
        return Err(format!("fuzz target {missing} has no [[bin]] in fuzz/Cargo.toml"));
    }
    let findings = fuzz_all(&fuzz, &binaries, names, options)?;
    if findings == 0 { Ok(()) } else { Err(format!("{findings} of {} fuzz targets found something", names.len())) }
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Runs the committed inputs through the bodies of the targets, without the fuzzer.
fn replay(fuzz: &Path, build_dir: &Path) -> Result<(), String> {
    let mut command = cargo(["test", "--quiet", "--release", "--no-default-features"]);
    command.current_dir(fuzz).env("CARGO_TARGET_DIR", build_dir.join("replay"));
    run_quietly(&mut command)?;
    println!("seeds and regressions replayed");
    Ok(())
}

/// Builds all targets and returns their directory; `None` where this machine cannot.
fn build(fuzz: &Path, build_dir: &Path, quick: bool) -> Result<Option<PathBuf>, String> {
    if !works("c++", &["--version"]) {
        skip("the fuzzer needs a C++ compiler");
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
    let profile = if quick { "quick" } else { "release" };
    // `--target` keeps the flags away from build scripts and macros.
    let mut command = program("cargo");
    command.args(toolchain).args(["build", "--profile", profile, "--bins", "--target", &triple]).current_dir(fuzz);
    // Clippy would be of another toolchain than the compiler.
    command.env("CARGO_TARGET_DIR", build_dir).env_remove(WORKSPACE_WRAPPER);
    let separator = SEPARATOR.to_string();
    if quick && !nightly {
        let this = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
        command.env("RUSTC_WRAPPER", this).env(WRAPPED_FLAGS, flags.join(&separator));
    } else {
        // All crates: a sanitizer works with no less.
        command.env("CARGO_ENCODED_RUSTFLAGS", flags.join(&separator));
    }
    match run_command(command) {
        Ok(()) => Ok(Some(build_dir.join(triple).join(profile))),
        Err(error) if nightly => Err(error),
        Err(error) => {
            skip(&format!("no nightly toolchain, and stable does not build them: {error}"));
            Ok(None)
        }
    }
}

/// Takes the place of rustc if a build of fuzz targets asks for it, and adds flags for the crates of this repository.
pub(crate) fn as_rustc() -> Option<Result<ExitStatus, String>> {
    let flags = std::env::var(WRAPPED_FLAGS).ok()?;
    let mut arguments = std::env::args_os().skip(1);
    let mut rustc = Command::new(arguments.next()?);
    let arguments: Vec<_> = arguments.collect();
    let for_target = arguments.iter().any(|argument| argument == "--target");
    let is_ours = std::env::var_os("CARGO_MANIFEST_DIR").is_some_and(|folder| Path::new(&folder).starts_with(root()));
    rustc.args(arguments);
    if for_target && is_ours {
        rustc.args(flags.split(SEPARATOR));
    }
    Some(rustc.status().map_err(|error| format!("cannot start `{}`: {error}", command_line(&rustc))))
}

fn skip(why: &str) {
    eprintln!("SKIPPED: fuzz targets were not run: {why}");
}

/// The host's target triple.
fn host(toolchain: &[&str]) -> Result<String, String> {
    let mut command = program("rustc");
    command.args(toolchain).arg("-vV");
    let version = text(command)?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc reports no host".to_owned())
}

/// Runs targets in parallel, one per core, and returns how many found something.
fn fuzz_all(fuzz: &Path, binaries: &Path, names: &[String], options: &Options) -> Result<usize, String> {
    let queue = Mutex::new(names.iter());
    let findings = Mutex::new(Ok(0));
    let worker = || {
        loop {
            let next = queue.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
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
            scope.spawn(worker);
        }
    });
    findings.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Runs one target; false if it found something.
fn fuzz_one(fuzz: &Path, binary: &Path, name: &str, options: &Options) -> Result<bool, String> {
    // The fuzzer adds inputs to its first directory, the corpus.
    let (corpus, artifacts) = (fuzz.join("corpus").join(name), fuzz.join("artifacts").join(name));
    make_directory(&corpus)?;
    make_directory(&artifacts)?;
    let log = binary.with_extension("log");
    let before = entries(&artifacts)?;
    let mut command = program(binary);
    // 0 means a random seed.
    command.arg(format!("-max_total_time={}", options.seconds)).arg(format!("-seed={}", options.seed.unwrap_or(0)));
    command.args(LIMITS).args(["-print_final_stats=1", "-reload=0"]);
    command.arg(format!("-artifact_prefix={}/", artifacts.display())).arg(&corpus);
    let committed = ["seeds", "regressions"].map(|directory| fuzz.join(directory).join(name));
    command.args(committed.iter().filter(|directory| directory.is_dir()));
    // Leak detection needs ptrace, which containers often forbid.
    command.env("ASAN_OPTIONS", "detect_leaks=0").env("RUST_BACKTRACE", "1");
    let status = run_logged(&mut command, &log)?;
    let output = fs::read(&log).map_err(|error| format!("cannot read {}: {error}", log.display()))?;
    let output = String::from_utf8_lossy(&output);
    if status.success() {
        println!("{name}: {}", summary(&output));
        return Ok(true);
    }
    if status.code() == Some(INTERRUPTED) {
        return Err(format!("{name} was interrupted"));
    }
    let lines: Vec<&str> = output.lines().collect();
    eprintln!("{}", lines.get(lines.len().saturating_sub(60)..).unwrap_or_default().join("\n"));
    eprintln!("{name}: found something ({status}); full log: {}", log.display());
    for artifact in entries(&artifacts)?.iter().filter(|path| !before.contains(path)) {
        eprintln!("  reproduce: {} {}", binary.display(), artifact.display());
        eprintln!("  keep:      mv {} {}", artifact.display(), regression_path(fuzz, name, artifact).display());
    }
    Ok(false)
}

fn regression_path(fuzz: &Path, name: &str, artifact: &Path) -> PathBuf {
    fuzz.join("regressions").join(name).join(file_name(artifact))
}

/// Runs a program with both outputs written to a file.
fn run_logged(command: &mut Command, log: &Path) -> Result<ExitStatus, String> {
    let write_error = |error: std::io::Error| format!("cannot write {}: {error}", log.display());
    let file = File::create(log).map_err(write_error)?;
    let copy = file.try_clone().map_err(write_error)?;
    command
        .stdout(copy)
        .stderr(file)
        .status()
        .map_err(|error| format!("cannot start `{}`: {error}", command_line(command)))
}

/// Runs, covered branches, and size of the corpus.
fn summary(log: &str) -> String {
    let stat = |name: &str| {
        let line = log.lines().rev().find_map(|line| line.strip_prefix(name));
        line.map_or("?", |value| value.trim_start_matches(':').trim()).to_owned()
    };
    // For example `#12345 DONE cov: 678 ft: 910 corp: 11/22Kb ...`.
    let done = log.lines().rev().find(|line| line.contains("cov: ")).unwrap_or_default();
    let after = |word: &str| done.split_whitespace().skip_while(|other| *other != word).nth(1).unwrap_or("?");
    format!(
        "{} runs, {} a second, {} branches, {} inputs, nothing found",
        stat("stat::number_of_executed_units"),
        stat("stat::average_exec_per_sec"),
        after("cov:"),
        after("corp:").split('/').next().unwrap_or("?"),
    )
}
