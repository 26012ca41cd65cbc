//! Kills and faults: every command that writes, with a fault at each of its system calls that can change files.
//!
//! After each run: outputs are the old or the new ones, inputs are as they were, the exit code is true, no temporary file is left, and the
//! next run of the same command succeeds and cleans up.

mod cases;
mod snapshot;
mod trace;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};

use crate::random::Random;
use crate::shell;
use cases::{Case, Output, Shape};
use snapshot::{Entry, Snapshot, is_temporary};
use trace::{Action, Call, Ended, Kind};

/// Which commands and faults.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Only these cases (a name, or the beginning of names)
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
    /// What the choice begins with
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Let commands use all cores: calls come in another order each time
    #[arg(long)]
    all_threads: bool,
    /// Run this program, not the one that is built from the workspace
    #[arg(long, value_name = "FILE")]
    wharf: Option<PathBuf>,
    /// Print the cases
    #[arg(long)]
    list: bool,
}

impl Options {
    /// As many runs of this program as CI has time for.
    pub(crate) fn brief(seed: u32, wharf: PathBuf) -> Self {
        Self { sample: Some(BRIEF), seed: seed.into(), wharf: Some(wharf), ..Self::default() }
    }

    /// Everything, once more with all cores.
    pub(crate) fn all_threads() -> Self {
        Self { all_threads: true, fault: vec![Fault::Kill, Fault::Term, Fault::Enospc], ..Self::default() }
    }
}

/// Runs of a brief round.
const BRIEF: usize = 1500;

/// How long a thread waits for the others where the order of two threads counts.
const HOLD: Duration = Duration::from_millis(25);

/// What happens at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Fault {
    /// SIGKILL
    Kill,
    /// SIGTERM
    Term,
    /// SIGTERM; the thread that makes the call waits for the one that cleans up
    TermCleanerFirst,
    /// SIGTERM; the thread that cleans up waits for the others
    TermCleanerLast,
    /// The call fails: input/output error
    Eio,
    /// This call and all later ones that need room on the disk fail: no space
    Enospc,
    /// A file is not opened: too many open files
    Emfile,
}

impl Fault {
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Whether it may happen at this call.
    fn concerns(self, call: &Call) -> bool {
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

/// One run: a case, and a fault at its n-th call of those that the fault concerns.
#[derive(Debug, Clone, Copy)]
struct Trial {
    case: usize,
    fault: Fault,
    call: usize,
}

/// A case with what it does when nothing happens.
struct Known {
    case: Case,
    after: Snapshot,
    code: i32,
    /// What can be read from each output, before and after.
    readable: Vec<(Readable, Readable)>,
    /// What is there after the next run.
    again: Snapshot,
    again_code: i32,
    again_readable: Vec<Readable>,
    calls: Vec<Call>,
}

/// What a program sees of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Readable {
    Absent,
    Rows(Vec<(Option<i32>, Vec<u8>)>),
}

/// Something that must not happen.
struct Finding {
    trial: Trial,
    kind: &'static str,
    detail: String,
}

/// Which of its two states an output is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Old,
    New,
    Both,
    Neither,
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
        let begins = |name: &String| if exact { case.name == *name } else { case.name.starts_with(name.as_str()) };
        options.case.is_empty() || options.case.iter().any(begins)
    });
    if all.is_empty() {
        return Err("no case has this name (--list prints them)".to_owned());
    }
    let start = Instant::now();
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let known = Mutex::new(Vec::new());
    in_parallel(workers, |worker| {
        let folder = folder.path().join(format!("worker-{worker}"));
        while let Some(case) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            let learned = learn(&wharf, case, &folder).map_err(|error| format!("case {}: {error}", case.name))?;
            known.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(learned);
        }
        Ok(())
    })?;
    let mut known = known.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    known.sort_by(|one, other| one.case.name.cmp(&other.case.name));
    let trials = trials(&known, options);
    let single = trials.len() == 1 && options.call.is_some();
    println!("{} commands, {} runs with a fault", known.len(), trials.len());
    let (next, findings, missed) = (AtomicUsize::new(0), Mutex::new(Vec::new()), AtomicUsize::new(0));
    in_parallel(workers, |worker| {
        let folder = folder.path().join(format!("worker-{worker}"));
        while let Some(&trial) = trials.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Some(known) = known.get(trial.case) else { continue };
            let outcome = attempt(&wharf, known, trial, &folder, single)?;
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
    report(options, &known, &trials, missed.into_inner(), &findings, start.elapsed())
}

/// Runs the work in so many threads.
fn in_parallel(workers: usize, work: impl Fn(usize) -> Result<(), String> + Sync) -> Result<(), String> {
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|worker| scope.spawn(move || work(worker))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a worker panicked".to_owned())?)
    })
}

/// All runs that were asked for.
fn trials(known: &[Known], options: &Options) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (case, known) in known.iter().enumerate() {
        for &fault in Fault::value_variants() {
            if !(options.fault.is_empty() || options.fault.contains(&fault)) {
                continue;
            }
            let calls = known.calls.iter().filter(|call| fault.concerns(call)).count();
            let chosen = (1..=calls).filter(|call| options.call.is_none_or(|only| only == *call));
            trials.extend(chosen.map(|call| Trial { case, fault, call }));
        }
    }
    if let Some(sample) = options.sample.filter(|sample| *sample < trials.len()) {
        let mut random = Random::new(options.seed);
        random.shuffle(&mut trials);
        trials.truncate(sample);
    }
    trials
}

/// A command that runs in the folder, alone with its files.
fn command(wharf: &Path, arguments: &[String], folder: &Path) -> Command {
    let mut command = Command::new(wharf);
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).env_clear().env("TMPDIR", folder);
    command
}

/// Runs a command under the tracer; returns how it ended and what it printed to standard error.
fn traced(
    wharf: &Path,
    arguments: &[String],
    folder: &Path,
    decide: &mut dyn FnMut(&Call) -> Action,
) -> Result<(Ended, String), String> {
    let failed = |error: std::io::Error| format!("cannot keep what a command prints: {error}");
    let mut told = tempfile::tempfile().map_err(failed)?;
    let mut command = command(wharf, arguments, folder);
    command.stdout(Stdio::null()).stderr(told.try_clone().map_err(failed)?);
    let ended = trace::run(&mut command, decide)?;
    let mut text = Vec::new();
    told.rewind().and_then(|()| told.read_to_end(&mut text)).map_err(failed)?;
    Ok((ended, String::from_utf8_lossy(&text).into_owned()))
}

/// What the case does when nothing happens.
fn learn(wharf: &Path, case: &Case, folder: &Path) -> Result<Known, String> {
    case.before.restore(folder)?;
    let before: Vec<_> = case.outputs.iter().map(|output| read(wharf, output, folder)).collect::<Result<_, _>>()?;
    let mut calls = Vec::new();
    let (ended, told) = traced(wharf, &case.arguments, folder, &mut |call| {
        calls.push(call.clone());
        Action::Proceed
    })?;
    let Ended::Exit(code @ (0 | 3)) = ended else {
        return Err(format!("`wharf {}` ended with {ended:?}: {}", case.arguments.join(" "), told.trim_end()));
    };
    let after = Snapshot::take(folder)?;
    let there: Vec<_> = case.outputs.iter().map(|output| read(wharf, output, folder)).collect::<Result<_, _>>()?;
    // Only `convert` reads NetCDF.
    for output in case.outputs.iter().filter(|output| !output.path.ends_with(".nc")) {
        let (code, told) = verify(wharf, output, folder)?;
        if code != Some(0) {
            return Err(format!("`wharf verify {}` after it: {}", output.path, told.trim_end()));
        }
    }
    let (ended, told) = traced(wharf, &case.again, folder, &mut |_| Action::Proceed)?;
    let Ended::Exit(again_code @ (0 | 3)) = ended else {
        return Err(format!(
            "the next run, `wharf {}`, ended with {ended:?}: {}",
            case.again.join(" "),
            told.trim_end()
        ));
    };
    let again = Snapshot::take(folder)?;
    if let Some(left) = again.0.keys().chain(after.0.keys()).find(|path| is_temporary(path)) {
        return Err(format!("{left} is left though nothing happened"));
    }
    let again_readable = case.outputs.iter().map(|output| read(wharf, output, folder)).collect::<Result<_, _>>()?;
    let readable = before.into_iter().zip(there).collect();
    Ok(Known { case: case.clone(), after, code, readable, again, again_code, again_readable, calls })
}

/// What a program sees of the output now.
fn read(wharf: &Path, output: &Output, folder: &Path) -> Result<Readable, String> {
    let path = folder.join(&output.path);
    if fs::symlink_metadata(&path).is_err() {
        return Ok(Readable::Absent);
    }
    let mut commands = vec![vec!["cat".to_owned(), "--json".to_owned(), output.path.clone()]];
    if output.shape == Shape::Store {
        let collections = path.join("collections");
        let names = if collections.is_dir() { shell::entries(&collections)? } else { Vec::new() };
        let names: Vec<_> = names.iter().map(|path| shell::file_name(path)).collect();
        let cat = |name: &String| ["cat", "--json", &output.path, "--table", name].map(str::to_owned).to_vec();
        commands = names.iter().map(cat).collect();
    }
    let mut rows = Vec::new();
    for arguments in commands {
        let found = shell::output(&mut command(wharf, &arguments, folder))?;
        let mut printed = found.stdout;
        if matches!(output.shape, Shape::Store | Shape::Archive) {
            // A store is a set of documents; that in which order they are is the writer's choice.
            let mut lines: Vec<_> = printed.split(|byte| *byte == b'\n').collect();
            lines.sort_unstable();
            printed = lines.join(&b'\n');
        }
        rows.push((found.status.code(), printed));
    }
    // A collection without documents is as good as none.
    if output.shape == Shape::Store {
        rows.retain(|(code, printed)| *code != Some(0) || !printed.is_empty());
    }
    Ok(Readable::Rows(rows))
}

fn verify(wharf: &Path, output: &Output, folder: &Path) -> Result<(Option<i32>, String), String> {
    let arguments = ["verify".to_owned(), output.path.clone()];
    let found = shell::output(&mut command(wharf, &arguments, folder))?;
    let told = String::from_utf8_lossy(&[found.stdout, found.stderr].concat()).into_owned();
    Ok((found.status.code(), told))
}

/// One run with its fault, and everything that is wrong afterwards; nothing where the call did not come.
fn attempt(
    wharf: &Path,
    known: &Known,
    trial: Trial,
    folder: &Path,
    shown: bool,
) -> Result<Option<Vec<Finding>>, String> {
    let case = &known.case;
    case.before.restore(folder)?;
    let (mut count, mut hit, mut held) = (0, None::<Call>, false);
    let (ended, told) = traced(wharf, &case.arguments, folder, &mut |call| {
        if shown {
            println!("{:>4} {call}", if trial.fault.concerns(call) { (count + 1).to_string() } else { String::new() });
        }
        // The one that cleans up is another thread than the one that was about to call when the signal came.
        let cleans = |hit: &Call| hit.thread != call.thread && matches!(call.kind, Kind::Release | Kind::Exit);
        if trial.fault == Fault::TermCleanerLast && !held && hit.as_ref().is_some_and(cleans) {
            held = true;
            return Action::Hold(HOLD);
        }
        if !trial.fault.concerns(call) {
            return Action::Proceed;
        }
        count += 1;
        let now = count == trial.call || (count > trial.call && trial.fault == Fault::Enospc);
        if !now {
            return Action::Proceed;
        }
        if hit.is_none() {
            hit = Some(call.clone());
        }
        match trial.fault {
            Fault::Kill => Action::Kill,
            Fault::Term | Fault::TermCleanerLast => Action::Signal(libc::SIGTERM),
            Fault::TermCleanerFirst => Action::SignalAndHold(libc::SIGTERM, HOLD),
            Fault::Eio => Action::Fail(libc::EIO),
            Fault::Enospc => Action::Fail(libc::ENOSPC),
            Fault::Emfile => Action::Fail(libc::EMFILE),
        }
    })?;
    let Some(hit) = hit else { return Ok(None) };
    let mut findings = Vec::new();
    let mut find = |kind: &'static str, detail: String| {
        findings.push(Finding { trial, kind, detail: format!("{hit}: {detail}") });
    };
    let now = Snapshot::take(folder)?;
    let last = told.trim_end().lines().last().unwrap_or_default().to_owned();
    if shown {
        println!("at {hit}: {ended:?}\n{}", told.trim_end());
        println!("changed: {}", case.before.difference(&now).join(", "));
    }

    // Inputs, and files that are nobody's.
    let foreign =
        |path: &str| !case.outputs.iter().any(|output| output.has(path)) || case.kept.as_deref() == Some(path);
    for path in case.before.only(foreign).difference(&now.only(foreign)) {
        if is_temporary(&path) {
            continue;
        }
        find("an input changed", path);
    }
    let left: Vec<_> = now.0.keys().filter(|path| is_temporary(path)).map(String::as_str).collect();
    // What could not be removed stays, and who is killed removes nothing.
    let excused = trial.fault == Fault::Kill || (trial.fault == Fault::Eio && hit.kind == Kind::Release);
    if !excused && let Some(path) = left.first() {
        find("a temporary file is left", format!("{path} ({ended:?}: {last})"));
    }

    // Outputs.
    let mut states = Vec::new();
    for (output, (old, new)) in case.outputs.iter().zip(&known.readable) {
        let (state, detail) = state(wharf, known, output, old, new, &now, folder)?;
        if state == State::Neither {
            find("an output is neither old nor new", format!("{}{detail} ({ended:?})", output.path));
        } else if !detail.is_empty() {
            find("verify rejects an output", format!("{}{detail} ({ended:?})", output.path));
        }
        states.push(state);
    }
    let all_are = |wanted: State| states.iter().all(|state| [wanted, State::Both, State::Neither].contains(state));
    match ended {
        Ended::Exit(0 | 3) if !all_are(State::New) => find("success without the output", last.clone()),
        Ended::Exit(0) if known.code == 3 => find("success though something was lost", last.clone()),
        Ended::Exit(0 | 3) if trial.fault == Fault::Eio && hit.kind == Kind::Sync => {
            find("success though data were not synced", last.clone());
        }
        Ended::Exit(0 | 3) => {}
        Ended::Exit(1) if !last.starts_with("error: ") && !told.contains("error: ") => {
            find("a failure without a message", told.clone());
        }
        Ended::Exit(1) if !all_are(State::Old) && !all_are(State::New) => {
            find("a failure with some of the outputs", format!("{states:?}: {last}"));
        }
        Ended::Exit(1) => {}
        Ended::Signal(libc::SIGKILL) if trial.fault == Fault::Kill => {}
        Ended::Signal(libc::SIGTERM) if trial.fault.is_signal() => {}
        Ended::Exit(code) => find("a wrong exit code", format!("{code}: {last}")),
        Ended::Signal(signal) => find("death by a signal", format!("{signal}: {last}")),
        Ended::Timeout => find("no end", last.clone()),
    }
    if told.contains("panicked at") {
        find("a panic", told.clone());
    }

    // The next run.
    let first = all_are(State::Old) && !all_are(State::New);
    let arguments = if first { &case.arguments } else { &case.again };
    let (ended, told) = traced(wharf, arguments, folder, &mut |_| Action::Proceed)?;
    let now = Snapshot::take(folder)?;
    let last = told.trim_end().lines().last().unwrap_or_default();
    if shown {
        println!("next run: wharf {}: {ended:?}\n{}", arguments.join(" "), told.trim_end());
        println!("changed: {}", known.again.difference(&now).join(", "));
    }
    if !matches!(ended, Ended::Exit(code) if code == known.again_code || code == known.code) {
        find("the next run fails", format!("{ended:?}: {last}"));
        return Ok(Some(findings));
    }
    if let Some(path) = now.0.keys().find(|path| is_temporary(path)) {
        find("the next run leaves a temporary file", path.clone());
    }
    for path in case.before.only(foreign).difference(&now.only(foreign)) {
        if !is_temporary(&path) {
            find("the next run changes an input", path);
        }
    }
    for ((output, (_, new)), again) in case.outputs.iter().zip(&known.readable).zip(&known.again_readable) {
        let has = |path: &str| output.has(path) && !is_temporary(path);
        let bytes = now.only(has);
        let expected = if first { [&known.after, &known.after] } else { [&known.after, &known.again] };
        if expected.into_iter().any(|expected| bytes == expected.only(has)) {
            continue;
        }
        let found = read(wharf, output, folder)?;
        let (code, told) = verify(wharf, output, folder)?;
        if (found != *new && (first || found != *again)) || output.shape == Shape::File {
            find("the next run writes something else", output.path.clone());
        } else if code != Some(0) {
            find("verify rejects what the next run writes", format!("{}: {}", output.path, told.trim_end()));
        }
    }
    Ok(Some(findings))
}

/// Which of its states an output is in; with what `verify` says where it is another file and no error is expected.
fn state(
    wharf: &Path,
    known: &Known,
    output: &Output,
    old: &Readable,
    new: &Readable,
    now: &Snapshot,
    folder: &Path,
) -> Result<(State, String), String> {
    let has = |path: &str| output.has(path) && !is_temporary(path);
    let (was, is, will) = (known.case.before.only(has), now.only(has), known.after.only(has));
    match (is == was, is == will) {
        (true, true) => return Ok((State::Both, String::new())),
        (true, false) => return Ok((State::Old, String::new())),
        (false, true) => return Ok((State::New, String::new())),
        (false, false) => {}
    }
    if output.shape == Shape::File {
        let size = match is.0.get(&output.path) {
            Some(Entry::File(bytes)) => format!(": {} bytes", bytes.len()),
            Some(other) => format!(": {other:?}"),
            None => ": it is gone".to_owned(),
        };
        return Ok((State::Neither, size));
    }
    let found = read(wharf, output, folder)?;
    let is_old = found == *old || (*old == Readable::Absent && found == Readable::Rows(Vec::new()));
    let state = match (is_old, found == *new) {
        (true, true) => State::Both,
        (true, false) => State::Old,
        (false, true) => State::New,
        (false, false) => State::Neither,
    };
    if state == State::Neither {
        let rows = |readable: &Readable| match readable {
            Readable::Absent => "absent".to_owned(),
            Readable::Rows(rows) => {
                let rows = rows.iter().map(|(code, text)| {
                    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
                    format!("{lines} rows{}", if *code == Some(0) { "" } else { " and an error" })
                });
                rows.collect::<Vec<_>>().join(" + ")
            }
        };
        return Ok((state, format!(": {} (old: {}, new: {})", rows(&found), rows(old), rows(new))));
    }
    if *old == Readable::Absent && found == Readable::Rows(Vec::new()) {
        return Ok((state, String::new())); // folders of a store that was to be
    }
    if found == Readable::Absent {
        let left: Vec<_> = is.0.keys().cloned().collect();
        let detail = if left.is_empty() { String::new() } else { format!(": {} without their data", left.join(", ")) };
        return Ok((state, detail));
    }
    // Damaged before: what `verify` says of it says nothing of this run.
    let damaged =
        |readable: &Readable| matches!(readable, Readable::Rows(rows) if rows.iter().any(|(code, _)| *code != Some(0)));
    let (code, told) = verify(wharf, output, folder)?;
    let bad =
        code != Some(0) && !(state == State::Old && damaged(old)) && !rejected_before(wharf, known, output, folder)?;
    Ok((state, if bad { format!(": {}", told.trim_end()) } else { String::new() }))
}

/// Whether `verify` rejected the output before the run, too.
fn rejected_before(wharf: &Path, known: &Known, output: &Output, folder: &Path) -> Result<bool, String> {
    let aside = folder.with_extension("before");
    known.case.before.restore(&aside)?;
    Ok(aside.join(&output.path).exists() && verify(wharf, output, &aside)?.0 != Some(0))
}

/// Prints counts and findings.
fn report(
    options: &Options,
    known: &[Known],
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
    let summary = format!("{} commands, {kills} kills, {errors} errors, {missed} not reached", known.len());
    println!("{summary}, {seconds:.0} s");
    // The first of its kind stands for the others.
    let mut groups: BTreeMap<(&str, Fault, &str), Vec<&Finding>> = BTreeMap::new();
    for finding in findings {
        let name = known.get(finding.trial.case).map_or("", |known| known.case.name.as_str());
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
