//! Runs every reading verb on damaged golden files: none may crash, hang or leave files behind.

mod limits;
mod mutations;
mod subjects;
mod verbs;
mod zip;

#[path = "../../../../fuzz/src/hdf5_mutate.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::manual_is_multiple_of,
    reason = "shared with the fuzzer, whose runs check the indexing"
)]
mod hdf5_mutate;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;

use crate::random::Random;
use crate::shell;
use limits::{MemoryLimit, Watchdog};
use subjects::{Format, Subject};
use verbs::{execute, violations};

/// Selects mutants.
#[derive(Args)]
pub(crate) struct Options {
    /// Number of mutants
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    count: u64,
    /// Random seed: the same seed gives the same mutants
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Only the mutant with this number
    #[arg(long, value_name = "N")]
    number: Option<u64>,
    /// Run this program instead of building the workspace's
    #[arg(long, value_name = "FILE")]
    wharf: Option<PathBuf>,
}

impl Options {
    pub(crate) fn new(count: u64, seed: u32) -> Self {
        Self { count, seed: seed.into(), number: None, wharf: None }
    }
}

/// Address space limit of a command, in bytes.
const MEMORY_LIMIT: u64 = 1 << 30;

/// Time limit of a command.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Number of findings whose files are kept.
const MAX_KEPT: usize = 200;

/// The files that mutants are made from.
struct Corpus {
    subjects: BTreeMap<Format, Vec<Subject>>,
    /// The NetCDF 4 files, parsed by the mutator that repairs checksums.
    hdf5: BTreeMap<String, hdf5_mutate::Sample>,
}

/// A damaged file and an undamaged one of the same format, with their companion files.
struct Mutant<'a> {
    subject: &'a Subject,
    /// Names in the working directory, and bytes: damaged files begin with `m`, undamaged ones with `o`.
    files: Vec<(String, Vec<u8>)>,
    random: Random,
}

/// A violated rule.
struct Finding {
    number: u64,
    subject: String,
    command: String,
    kind: &'static str,
    messages: String,
    files: Vec<(String, Vec<u8>)>,
}

/// Progress counters.
#[derive(Default)]
struct Counts {
    mutants: AtomicU64,
    runs: AtomicU64,
    codes: [AtomicU64; 4],
}

/// Creates mutants and runs every verb on them; returns a summary.
///
/// # Errors
/// When there is a finding, or nothing can be run.
pub(crate) fn run(options: &Options) -> Result<String, String> {
    let wharf = match &options.wharf {
        Some(wharf) => wharf.canonicalize().map_err(|error| format!("{}: {error}", wharf.display()))?,
        None => shell::build_wharf()?,
    };
    let subjects = subjects::all()?;
    let mut hdf5 = BTreeMap::new();
    for subject in subjects.get(&Format::Hdf5).into_iter().flatten() {
        let bytes = subject.files.first().map(|(_, bytes)| bytes.clone()).unwrap_or_default();
        hdf5.insert(subject.name.clone(), hdf5_mutate::Sample::new(bytes));
    }
    let corpus = Corpus { subjects, hdf5 };
    let count = corpus.subjects.values().map(Vec::len).sum::<usize>();
    let numbers = options.number.map_or(0..options.count, |number| number..number + 1);
    println!("{} mutants of {count} golden files in {} formats", numbers.end - numbers.start, corpus.subjects.len());
    let folder = shell::fast_directory()?;
    let start = Instant::now();
    let (next, counts, findings) = (AtomicU64::new(numbers.start), Counts::default(), Mutex::new(Vec::new()));
    let watchdog = Watchdog::new(TIME_LIMIT);
    let limit = MemoryLimit::set(MEMORY_LIMIT)?;
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let working = AtomicUsize::new(workers);
    let work = |worker: usize| -> Result<(), String> {
        let folder = folder.path().join(format!("worker-{worker}"));
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= numbers.end {
                return Ok(());
            }
            let new = attempt(&wharf, &corpus, options, number, &folder, &watchdog, &counts)?;
            findings.lock().unwrap_or_else(PoisonError::into_inner).extend(new);
            let done = counts.mutants.fetch_add(1, Ordering::Relaxed) + 1;
            if done.is_multiple_of(10_000) {
                println!("{done} mutants, {:.0} s", start.elapsed().as_secs_f64());
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| watchdog.run());
        let threads: Vec<_> = (0..workers)
            .map(|worker| {
                let (work, working, watchdog) = (&work, &working, &watchdog);
                scope.spawn(move || {
                    let outcome = work(worker);
                    if working.fetch_sub(1, Ordering::Relaxed) == 1 {
                        watchdog.stop();
                    }
                    outcome
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a worker panicked".to_owned())?)
    })?;
    drop(limit);
    let seconds = start.elapsed().as_secs_f64();
    let (mutants, runs) = (counts.mutants.into_inner(), counts.runs.into_inner());
    let codes = counts.codes.map(AtomicU64::into_inner);
    #[allow(clippy::cast_precision_loss, reason = "a rate for display")]
    let rate = runs as f64 / seconds.max(0.001);
    let summary = format!("{mutants} mutants, {runs} runs, {rate:.0} a second; exit codes 0 to 3: {codes:?}");
    println!("{summary}, {seconds:.0} s");
    let findings = findings.into_inner().unwrap_or_else(PoisonError::into_inner);
    let count = findings.len();
    report(options, findings)?;
    if count == 0 { Ok(summary) } else { Err(format!("{count} findings: {summary}")) }
}

/// The mutant with this number.
fn mutant<'a>(corpus: &'a Corpus, seed: u64, number: u64) -> Result<Mutant<'a>, String> {
    // Neighboring numbers give unrelated mutants.
    let mut random = Random::new(seed);
    let mut random = Random::new(random.next() ^ number.wrapping_mul(0xd134_2543_de82_ef95));
    random.next();
    let formats: Vec<_> = corpus.subjects.keys().copied().collect();
    let same_format = random.pick(&formats).and_then(|format| corpus.subjects.get(format));
    let same_format = same_format.ok_or("no golden files")?;
    let subject = random.pick(same_format).ok_or("no golden files")?;
    let other = random.pick(same_format).ok_or("no golden files")?;
    // The data file is damaged more often than its companions.
    let changed = if random.below(2) == 0 { 0 } else { random.below(subject.files.len()) };
    let mut files = Vec::new();
    for (position, (name, bytes)) in subject.files.iter().enumerate() {
        let bytes = if position != changed {
            bytes.clone()
        } else if let Some(sample) = corpus.hdf5.get(&subject.name).filter(|_| random.below(4) > 0) {
            sample.mutant_by(|| random.next())
        } else {
            let extension = name.rsplit('.').next().unwrap_or_default();
            let other = other.files.iter().find(|(name, _)| name.ends_with(extension)).or(other.files.first());
            let other = other.map(|(_, bytes)| bytes.as_slice()).unwrap_or_default();
            mutations::mutate(subject.format, name, bytes, other, &mut random)
        };
        files.push((name.clone(), bytes));
    }
    // A companion file may be missing.
    if files.len() > 1 && random.below(12) == 0 {
        files.remove(random.below(files.len()));
    }
    let undamaged = |(name, bytes): &(String, Vec<u8>)| (name.replacen('m', "o", 1), bytes.clone());
    files.extend(subject.files.iter().map(undamaged));
    Ok(Mutant { subject, files, random })
}

/// Runs every verb on one mutant.
fn attempt(
    wharf: &Path,
    corpus: &Corpus,
    options: &Options,
    number: u64,
    folder: &Path,
    watchdog: &Watchdog,
    counts: &Counts,
) -> Result<Vec<Finding>, String> {
    let mut mutant = mutant(corpus, options.seed, number)?;
    write_files(&mutant.files, folder)?;
    let mut findings = Vec::new();
    let mut runs = mutant.runs();
    // Verbs that write in place come last.
    runs.sort_by_key(|run| run.in_place);
    let before = shell::files_below(folder)?;
    for run in runs {
        let outcome = execute(wharf, &run.arguments, folder, watchdog)?;
        count(counts, outcome.code);
        let mut kinds = violations(&outcome);
        let now = shell::files_below(folder)?;
        let new: Vec<_> = now.difference(&before).cloned().collect();
        if new.iter().any(|path| path.split('/').any(|part| part.starts_with(".wharf-") || part.starts_with(".tmp"))) {
            kinds.push("temporary file left behind");
        } else if matches!(outcome.code, Some(1 | 2)) && !new.is_empty() && !run.in_place {
            kinds.push("failure leaves an output");
        }
        let mut messages = outcome.messages;
        // Outputs must pass `verify`, except those of verbs that copy bytes without checking them.
        let verb = run.arguments.first().map(String::as_str);
        let copies =
            matches!(verb, Some("pack" | "unpack")) || verb == Some("merge") && mutant.subject.format == Format::Idv;
        let written = run.arguments.iter().find(|argument| argument.starts_with("out") && !argument.ends_with(".nc"));
        if let Some(written) = written.filter(|_| !copies && kinds.is_empty() && outcome.code == Some(0)) {
            let check = execute(wharf, &["verify".to_owned(), written.clone()], folder, watchdog)?;
            count(counts, check.code);
            kinds.extend(violations(&check));
            if check.code != Some(0) {
                kinds.push("verify rejects the output");
                messages = format!("{messages}\nverify: {}", check.messages);
            }
        }
        if options.number.is_some() {
            println!("wharf {}: {:?} {}", run.arguments.join(" "), outcome.code, messages.trim_end());
        }
        for kind in kinds {
            let (subject, command) = (mutant.subject.name.clone(), run.arguments.join(" "));
            findings.push(Finding {
                number,
                subject,
                command,
                kind,
                messages: messages.clone(),
                files: mutant.files.clone(),
            });
        }
        if !new.is_empty() || run.in_place {
            write_files(&mutant.files, folder)?;
        }
    }
    if options.number.is_some() {
        let kept = keep(&format!("{}-{number}", options.seed), &mutant.files)?;
        println!("files: {}", kept.display());
    }
    Ok(findings)
}

/// Writes the files into an empty directory.
fn write_files(files: &[(String, Vec<u8>)], folder: &Path) -> Result<(), String> {
    shell::empty_directory(folder)?;
    for (name, bytes) in files {
        let path = folder.join(name);
        if let Some(parent) = path.parent().filter(|_| name.contains('/')) {
            shell::make_directory(parent)?;
        }
        shell::write(&path, bytes)?;
    }
    Ok(())
}

fn count(counts: &Counts, code: Option<i32>) {
    counts.runs.fetch_add(1, Ordering::Relaxed);
    let counter = code.and_then(|code| usize::try_from(code).ok()).and_then(|code| counts.codes.get(code));
    if let Some(counter) = counter {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// Keeps files in the target directory.
fn keep(name: &str, files: &[(String, Vec<u8>)]) -> Result<PathBuf, String> {
    let folder = shell::target()?.join("findings").join(name);
    write_files(files, &folder)?;
    Ok(folder)
}

/// Prints findings in groups, and keeps their files.
fn report(options: &Options, mut findings: Vec<Finding>) -> Result<(), String> {
    findings.sort_by_key(|finding| finding.number);
    let mut groups: BTreeMap<(&str, String, String), Vec<&Finding>> = BTreeMap::new();
    for finding in &findings {
        let verb = finding.command.split(' ').next().unwrap_or_default();
        let extension =
            finding.command.split(' ').find_map(|word| word.rsplit_once('.')).map(|(_, extension)| extension);
        let line = finding.messages.lines().last().unwrap_or_default();
        // Numbers vary within a group.
        let line: String = line.chars().filter(|letter| !letter.is_ascii_digit()).take(80).collect();
        let group = (finding.kind, format!("{verb} {}", extension.unwrap_or_default()), line);
        groups.entry(group).or_default().push(finding);
    }
    for (kept, ((kind, verb, _), group)) in groups.iter().enumerate() {
        let Some(first) = group.first() else { continue };
        eprintln!("{verb}: {kind}, {} times", group.len());
        let lines: Vec<_> = first.messages.lines().rev().take(3).collect();
        for line in lines.iter().rev() {
            eprintln!("    {}", line.chars().take(300).collect::<String>());
        }
        eprintln!("    wharf {} (of {})", first.command, first.subject);
        eprintln!("    cargo xtask mutate --seed {} --number {}", options.seed, first.number);
        if kept < MAX_KEPT && options.number.is_none() {
            let folder = keep(&format!("{}-{}", options.seed, first.number), &first.files)?;
            shell::write(&folder.join("command.txt"), format!("wharf {}\n", first.command))?;
            eprintln!("    files: {}", folder.display());
        }
    }
    Ok(())
}
