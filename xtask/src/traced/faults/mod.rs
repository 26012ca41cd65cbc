//! Fault injection: runs every writing command with a fault at each system call that can change files.
//!
//! After each run, outputs must be old or new, inputs unchanged, the exit code correct and no temporary file left behind; and the next run of
//! the same command must succeed and clean up.

mod cases;
mod check;
mod snapshot;
mod trace;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};

use crate::random::Random;
use crate::shell;
pub(crate) use cases::{Case, all as cases, inputs};
use check::{Baseline, Finding, attempt, run_baseline};
pub(crate) use snapshot::{Entry, Snapshot};
use trace::{Call, Kind};

/// Selects commands and faults.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Only these cases (a name or a prefix of names)
    #[arg(long, value_name = "NAME")]
    case: Vec<String>,
    /// Only these faults
    #[arg(long, value_name = "FAULT")]
    fault: Vec<Fault>,
    /// Only at this call, counted from 1
    #[arg(long, value_name = "N")]
    call: Option<usize>,
    /// At most this many runs, chosen at random
    #[arg(long, value_name = "N")]
    sample: Option<usize>,
    /// Random seed of the sample
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Let commands use all cores, which varies the order of calls
    #[arg(long)]
    all_threads: bool,
    /// Run this program instead of building the workspace's
    #[arg(long, value_name = "FILE")]
    wharf: Option<PathBuf>,
    /// Print the cases
    #[arg(long)]
    list: bool,
}

impl Options {
    /// A sample that fits into CI, with this program.
    pub(crate) fn brief(seed: u32, wharf: PathBuf) -> Self {
        Self { sample: Some(CI_SAMPLE), seed: seed.into(), wharf: Some(wharf), ..Self::default() }
    }

    /// All cases with all cores, with the faults that depend on the order of calls.
    pub(crate) fn all_threads() -> Self {
        Self { all_threads: true, fault: vec![Fault::Kill, Fault::Term, Fault::Enospc], ..Self::default() }
    }
}

/// Sample size in CI.
const CI_SAMPLE: usize = 1000;

/// How long a thread is held to let the others run first.
const HOLD: Duration = Duration::from_millis(25);

/// The fault at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Fault {
    /// SIGKILL
    Kill,
    /// SIGTERM
    Term,
    /// SIGTERM; the calling thread waits for the one that cleans up
    TermCleanerFirst,
    /// SIGTERM; the thread that cleans up waits for the others
    TermCleanerLast,
    /// The call fails: input/output error
    Eio,
    /// This call and all later ones that need disk space, except renames, fail: no space left
    Enospc,
    /// Opening fails: too many open files
    Emfile,
}

impl Fault {
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Whether the fault can happen at this call.
    fn applies_to(self, call: &Call) -> bool {
        match self {
            Self::Kill | Self::Term | Self::TermCleanerFirst | Self::TermCleanerLast => call.kind != Kind::OpenRead,
            Self::Eio => !matches!(call.kind, Kind::OpenRead | Kind::Exit),
            Self::Enospc => matches!(call.kind, Kind::OpenWrite | Kind::Allocate | Kind::Sync | Kind::SyncFolder),
            Self::Emfile => matches!(call.kind, Kind::OpenRead | Kind::OpenWrite),
        }
    }

    const fn is_signal(self) -> bool {
        matches!(self, Self::Term | Self::TermCleanerFirst | Self::TermCleanerLast)
    }
}

/// One run: a case, with a fault at its n-th call among those that the fault applies to.
#[derive(Debug, Clone, Copy)]
struct Trial {
    case: usize,
    fault: Fault,
    call: usize,
}

/// Runs the cases, and returns a summary.
///
/// # Errors
/// When there is a finding, or nothing can be run.
pub(crate) fn run(options: &Options) -> Result<String, String> {
    let wharf = match &options.wharf {
        Some(wharf) => wharf.canonicalize().map_err(|error| format!("{}: {error}", wharf.display()))?,
        None => shell::build_wharf()?,
    };
    let folder = shell::fast_directory()?;
    let mut all = cases::all(&wharf, folder.path(), !options.all_threads)?;
    if options.list {
        for case in &all {
            println!("{}: wharf {}", case.name, case.arguments.join(" "));
        }
        return Ok(format!("{} cases", all.len()));
    }
    let exact = all.iter().any(|case| options.case.contains(&case.name));
    all.retain(|case| {
        let selected = |name: &String| if exact { case.name == *name } else { case.name.starts_with(name.as_str()) };
        options.case.is_empty() || options.case.iter().any(selected)
    });
    if all.is_empty() {
        return Err("unknown case (--list prints all)".to_owned());
    }
    let start = Instant::now();
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let baselines = Mutex::new(Vec::new());
    in_parallel(workers, |worker| {
        let folder = folder.path().join(format!("worker-{worker}"));
        while let Some(case) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            let baseline =
                run_baseline(&wharf, case, &folder).map_err(|error| format!("case {}: {error}", case.name))?;
            baselines.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(baseline);
        }
        Ok(())
    })?;
    let mut baselines = baselines.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    baselines.sort_by(|one, other| one.case.name.cmp(&other.case.name));
    let trials = trials(&baselines, options);
    if let Some(sample) = options.sample {
        println!("to repeat: cargo xtask faults --sample {sample} --seed {}", options.seed);
    }
    let single = trials.len() == 1 && options.call.is_some();
    println!("{} commands, {} runs with a fault", baselines.len(), trials.len());
    let (next, findings, missed) = (AtomicUsize::new(0), Mutex::new(Vec::new()), AtomicUsize::new(0));
    in_parallel(workers, |worker| {
        let folder = folder.path().join(format!("worker-{worker}"));
        while let Some(&trial) = trials.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Some(baseline) = baselines.get(trial.case) else { continue };
            let outcome = attempt(&wharf, baseline, trial, &folder, single)?;
            match outcome {
                Some(found) => findings.lock().unwrap_or_else(std::sync::PoisonError::into_inner).extend(found),
                None => {
                    missed.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        Ok(())
    })?;
    let findings = findings.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    report(options, &baselines, &trials, missed.into_inner(), &findings, start.elapsed())
}

/// Runs a function on this many threads.
pub(crate) fn in_parallel(workers: usize, work: impl Fn(usize) -> Result<(), String> + Sync) -> Result<(), String> {
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|worker| scope.spawn(move || work(worker))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a worker panicked".to_owned())?)
    })
}

/// All selected runs.
fn trials(baselines: &[Baseline], options: &Options) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (case, baseline) in baselines.iter().enumerate() {
        for &fault in Fault::value_variants() {
            if !(options.fault.is_empty() || options.fault.contains(&fault)) {
                continue;
            }
            let calls = baseline.calls.iter().filter(|call| fault.applies_to(call)).count();
            let selected = (1..=calls).filter(|call| options.call.is_none_or(|only| only == *call));
            trials.extend(selected.map(|call| Trial { case, fault, call }));
        }
    }
    if let Some(sample) = options.sample.filter(|sample| *sample < trials.len()) {
        let mut random = Random::new(options.seed);
        random.shuffle(&mut trials);
        trials.truncate(sample);
    }
    trials
}

/// Prints counts and findings.
fn report(
    options: &Options,
    baselines: &[Baseline],
    trials: &[Trial],
    missed: usize,
    findings: &[Finding],
    time: Duration,
) -> Result<String, String> {
    for &fault in Fault::value_variants() {
        let runs = trials.iter().filter(|trial| trial.fault == fault).count();
        if runs > 0 {
            let found = findings.iter().filter(|finding| finding.trial.fault == fault).count();
            println!("{:<20} {runs:>6} runs, {found} findings", fault.name());
        }
    }
    let seconds = time.as_secs_f64();
    let kills = trials.iter().filter(|trial| trial.fault == Fault::Kill || trial.fault.is_signal()).count();
    let errors = trials.len() - kills;
    let summary = format!("{} commands, {kills} kills, {errors} errors, {missed} not reached", baselines.len());
    println!("{summary}, {seconds:.0} s");
    // Shows the first finding of each kind.
    let mut groups: BTreeMap<(&str, Fault, &str), Vec<&Finding>> = BTreeMap::new();
    for finding in findings {
        let name = baselines.get(finding.trial.case).map_or("", |baseline| baseline.case.name.as_str());
        groups.entry((name, finding.trial.fault, finding.kind)).or_default().push(finding);
    }
    for ((name, fault, kind), mut group) in groups {
        group.sort_by_key(|finding| finding.trial.call);
        let calls: Vec<_> = group.iter().map(|finding| finding.trial.call.to_string()).collect();
        let Some(first) = group.first() else { continue };
        eprintln!("{name}, {}: {kind}, {} times (calls {})", fault.name(), group.len(), calls.join(" "));
        eprintln!("    {}", first.detail.replace('\n', "\n    "));
        let threads = if options.all_threads { " --all-threads" } else { "" };
        let fault = fault.name();
        eprintln!("    cargo xtask faults --case {name} --fault {fault} --call {}{threads}", first.trial.call);
    }
    if findings.is_empty() { Ok(summary) } else { Err(format!("{} findings: {summary}", findings.len())) }
}
