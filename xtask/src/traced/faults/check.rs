//! Runs a case, and checks the result.

use std::fs;
use std::io::{Read, Seek};
use std::path::Path;
use std::process::{Command, Stdio};

use super::cases::{Case, Output, Shape};
use super::snapshot::{Entry, Snapshot, is_temporary};
use super::trace::{self, Action, Call, Ended, Kind};
use super::{Fault, HOLD, Trial};
use crate::shell;

/// A case and its results without a fault.
pub(super) struct Baseline {
    pub(super) case: Case,
    after: Snapshot,
    code: i32,
    /// The content of each output, before and after.
    contents: Vec<(Content, Content)>,
    /// The results of the next run.
    rerun: Snapshot,
    rerun_code: i32,
    rerun_contents: Vec<Content>,
    pub(super) calls: Vec<Call>,
}

/// What `wharf cat` prints of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    Absent,
    Rows(Vec<(Option<i32>, Vec<u8>)>),
}

/// A violated rule.
pub(super) struct Finding {
    pub(super) trial: Trial,
    pub(super) kind: &'static str,
    pub(super) detail: String,
}

/// Whether an output is in its old or new state, both (if equal) or neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Old,
    New,
    Both,
    Neither,
}

/// A command that runs in the directory, with an empty environment.
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
    let failed = |error: std::io::Error| format!("cannot capture standard error: {error}");
    let mut messages = tempfile::tempfile().map_err(failed)?;
    let mut command = command(wharf, arguments, folder);
    command.stdout(Stdio::null()).stderr(messages.try_clone().map_err(failed)?);
    let ended = trace::run(&mut command, decide)?;
    let mut text = Vec::new();
    messages.rewind().and_then(|()| messages.read_to_end(&mut text)).map_err(failed)?;
    Ok((ended, String::from_utf8_lossy(&text).into_owned()))
}

/// Runs a case without a fault.
pub(super) fn run_baseline(wharf: &Path, case: &Case, folder: &Path) -> Result<Baseline, String> {
    case.before.restore(folder)?;
    let before: Vec<_> = case.outputs.iter().map(|output| read(wharf, output, folder)).collect::<Result<_, _>>()?;
    let mut calls = Vec::new();
    let (ended, messages) = traced(wharf, &case.arguments, folder, &mut |call| {
        calls.push(call.clone());
        Action::Proceed
    })?;
    let Ended::Exit(code @ (0 | 3)) = ended else {
        return Err(format!("`wharf {}` ended with {ended:?}: {}", case.arguments.join(" "), messages.trim_end()));
    };
    let after = Snapshot::take(folder)?;
    let outputs: Vec<_> = case.outputs.iter().map(|output| read(wharf, output, folder)).collect::<Result<_, _>>()?;
    // Only `convert` reads NetCDF.
    for output in case.outputs.iter().filter(|output| !output.path.ends_with(".nc")) {
        let (code, messages) = verify(wharf, output, folder)?;
        if code != Some(0) {
            return Err(format!("`wharf verify {}` afterwards: {}", output.path, messages.trim_end()));
        }
    }
    let (ended, messages) = traced(wharf, &case.rerun, folder, &mut |_| Action::Proceed)?;
    let Ended::Exit(rerun_code @ (0 | 3)) = ended else {
        return Err(format!(
            "next run, `wharf {}`, ended with {ended:?}: {}",
            case.rerun.join(" "),
            messages.trim_end()
        ));
    };
    let rerun = Snapshot::take(folder)?;
    if let Some(left) = rerun.0.keys().chain(after.0.keys()).find(|path| is_temporary(path)) {
        return Err(format!("{left} is left behind without a fault"));
    }
    let rerun_contents = case.outputs.iter().map(|output| read(wharf, output, folder)).collect::<Result<_, _>>()?;
    let contents = before.into_iter().zip(outputs).collect();
    Ok(Baseline { case: case.clone(), after, code, contents, rerun, rerun_code, rerun_contents, calls })
}

/// Reads an output.
fn read(wharf: &Path, output: &Output, folder: &Path) -> Result<Content, String> {
    let path = folder.join(&output.path);
    if fs::symlink_metadata(&path).is_err() {
        return Ok(Content::Absent);
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
        let result = shell::output(&mut command(wharf, &arguments, folder))?;
        let mut printed = result.stdout;
        if matches!(output.shape, Shape::Store | Shape::Archive) {
            // The order of documents in a store is up to the writer.
            let mut lines: Vec<_> = printed.split(|byte| *byte == b'\n').collect();
            lines.sort_unstable();
            printed = lines.join(&b'\n');
        }
        rows.push((result.status.code(), printed));
    }
    // An empty collection equals a missing one.
    if output.shape == Shape::Store {
        rows.retain(|(code, printed)| *code != Some(0) || !printed.is_empty());
    }
    Ok(Content::Rows(rows))
}

fn verify(wharf: &Path, output: &Output, folder: &Path) -> Result<(Option<i32>, String), String> {
    let arguments = ["verify".to_owned(), output.path.clone()];
    let result = shell::output(&mut command(wharf, &arguments, folder))?;
    let messages = String::from_utf8_lossy(&[result.stdout, result.stderr].concat()).into_owned();
    Ok((result.status.code(), messages))
}

/// Runs a case with a fault and returns every violated rule; `None` if the call was not reached.
pub(super) fn attempt(
    wharf: &Path,
    baseline: &Baseline,
    trial: Trial,
    folder: &Path,
    verbose: bool,
) -> Result<Option<Vec<Finding>>, String> {
    let case = &baseline.case;
    case.before.restore(folder)?;
    let (mut count, mut hit, mut held) = (0, None::<Call>, false);
    let (ended, messages) = traced(wharf, &case.arguments, folder, &mut |call| {
        if verbose {
            println!(
                "{:>4} {call}",
                if trial.fault.applies_to(call) { (count + 1).to_string() } else { String::new() }
            );
        }
        // Cleanup runs on another thread than the interrupted call.
        let cleans = |hit: &Call| hit.thread != call.thread && matches!(call.kind, Kind::Release | Kind::Exit);
        if trial.fault == Fault::TermCleanerLast && !held && hit.as_ref().is_some_and(cleans) {
            held = true;
            return Action::Hold(HOLD);
        }
        if !trial.fault.applies_to(call) {
            return Action::Proceed;
        }
        count += 1;
        // Renames need no space: rolling back a commit must succeed on a full disk.
        let persists = trial.fault == Fault::Enospc && !call.name.starts_with("rename");
        let inject = count == trial.call || (count > trial.call && persists);
        if !inject {
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
    let mut report = |kind: &'static str, detail: String| {
        findings.push(Finding { trial, kind, detail: format!("{hit}: {detail}") });
    };
    let now = Snapshot::take(folder)?;
    let last = messages.trim_end().lines().last().unwrap_or_default().to_owned();
    if verbose {
        println!("at {hit}: {ended:?}\n{}", messages.trim_end());
        println!("changed: {}", case.before.difference(&now).join(", "));
    }

    // Inputs and unrelated files.
    let foreign = |path: &str| {
        !case.outputs.iter().any(|output| output.contains(path)) || case.unchanged.as_deref() == Some(path)
    };
    for path in case.before.only(foreign).difference(&now.only(foreign)) {
        if is_temporary(&path) {
            continue;
        }
        report("input changed", path);
    }
    let leftover: Vec<_> = now.0.keys().filter(|path| is_temporary(path)).map(String::as_str).collect();
    // A killed process removes nothing, and a failed removal leaves the file.
    let excused = trial.fault == Fault::Kill || (trial.fault == Fault::Eio && hit.kind == Kind::Release);
    if !excused && let Some(path) = leftover.first() {
        report("temporary file left behind", format!("{path} ({ended:?}: {last})"));
    }

    // Outputs.
    let mut states = Vec::new();
    for (output, (old, new)) in case.outputs.iter().zip(&baseline.contents) {
        let (state, detail) = state(wharf, baseline, output, old, new, &now, folder)?;
        if state == State::Neither {
            report("output is neither old nor new", format!("{}{detail} ({ended:?})", output.path));
        } else if !detail.is_empty() {
            report("verify rejects output", format!("{}{detail} ({ended:?})", output.path));
        }
        states.push(state);
    }
    let all_are = |expected: State| states.iter().all(|state| [expected, State::Both, State::Neither].contains(state));
    match ended {
        Ended::Exit(0 | 3) if !all_are(State::New) => report("success without the output", last.clone()),
        Ended::Exit(0) if baseline.code == 3 => report("success in spite of losses", last.clone()),
        Ended::Exit(0 | 3) if trial.fault == Fault::Eio && hit.kind == Kind::Sync => {
            report("success in spite of a failed sync", last.clone());
        }
        Ended::Exit(0 | 3) => {}
        Ended::Exit(1) if !last.starts_with("error: ") && !messages.contains("error: ") => {
            report("failure without a message", messages.clone());
        }
        Ended::Exit(1) if !all_are(State::Old) && !all_are(State::New) => {
            report("failure with part of the outputs written", format!("{states:?}: {last}"));
        }
        Ended::Exit(1) => {}
        Ended::Signal(libc::SIGKILL) if trial.fault == Fault::Kill => {}
        Ended::Signal(libc::SIGTERM) if trial.fault.is_signal() => {}
        Ended::Exit(code) => report("unexpected exit code", format!("{code}: {last}")),
        Ended::Signal(signal) => report("killed by a signal", format!("{signal}: {last}")),
        Ended::Timeout => report("timeout", last.clone()),
    }
    if messages.contains("panicked at") {
        report("panic", messages.clone());
    }

    // The next run.
    let unchanged = all_are(State::Old) && !all_are(State::New);
    let arguments = if unchanged { &case.arguments } else { &case.rerun };
    let (ended, messages) = traced(wharf, arguments, folder, &mut |_| Action::Proceed)?;
    let now = Snapshot::take(folder)?;
    let last = messages.trim_end().lines().last().unwrap_or_default();
    if verbose {
        println!("next run: wharf {}: {ended:?}\n{}", arguments.join(" "), messages.trim_end());
        println!("changed: {}", baseline.rerun.difference(&now).join(", "));
    }
    if !matches!(ended, Ended::Exit(code) if code == baseline.rerun_code || code == baseline.code) {
        report("next run fails", format!("{ended:?}: {last}"));
        return Ok(Some(findings));
    }
    if let Some(path) = now.0.keys().find(|path| is_temporary(path)) {
        report("next run leaves a temporary file", path.clone());
    }
    for path in case.before.only(foreign).difference(&now.only(foreign)) {
        if !is_temporary(&path) {
            report("next run changes an input", path);
        }
    }
    for ((output, (_, new)), rerun) in case.outputs.iter().zip(&baseline.contents).zip(&baseline.rerun_contents) {
        let belongs = |path: &str| output.contains(path) && !is_temporary(path);
        let bytes = now.only(belongs);
        let expected = if unchanged { [&baseline.after, &baseline.after] } else { [&baseline.after, &baseline.rerun] };
        if expected.into_iter().any(|expected| bytes == expected.only(belongs)) {
            continue;
        }
        let content = read(wharf, output, folder)?;
        let (code, messages) = verify(wharf, output, folder)?;
        if (content != *new && (unchanged || content != *rerun)) || output.shape == Shape::File {
            report("next run writes something else", output.path.clone());
        } else if code != Some(0) {
            report("verify rejects output of the next run", format!("{}: {}", output.path, messages.trim_end()));
        }
    }
    Ok(Some(findings))
}

/// The state of an output. The text is a description of a `Neither` state, or the error of `verify` if the files differ from both states.
fn state(
    wharf: &Path,
    baseline: &Baseline,
    output: &Output,
    old: &Content,
    new: &Content,
    now: &Snapshot,
    folder: &Path,
) -> Result<(State, String), String> {
    let belongs = |path: &str| output.contains(path) && !is_temporary(path);
    let (was, is, will) = (baseline.case.before.only(belongs), now.only(belongs), baseline.after.only(belongs));
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
    let content = read(wharf, output, folder)?;
    let is_old = content == *old || (*old == Content::Absent && content == Content::Rows(Vec::new()));
    let state = match (is_old, content == *new) {
        (true, true) => State::Both,
        (true, false) => State::Old,
        (false, true) => State::New,
        (false, false) => State::Neither,
    };
    if state == State::Neither {
        let rows = |content: &Content| match content {
            Content::Absent => "absent".to_owned(),
            Content::Rows(rows) => {
                let rows = rows.iter().map(|(code, text)| {
                    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
                    format!("{lines} rows{}", if *code == Some(0) { "" } else { " and an error" })
                });
                rows.collect::<Vec<_>>().join(" + ")
            }
        };
        return Ok((state, format!(": {} (old: {}, new: {})", rows(&content), rows(old), rows(new))));
    }
    if *old == Content::Absent && content == Content::Rows(Vec::new()) {
        return Ok((state, String::new())); // directories of an uncommitted store
    }
    if content == Content::Absent {
        let leftover: Vec<_> = is.0.keys().cloned().collect();
        let detail =
            if leftover.is_empty() { String::new() } else { format!(": {} without their data", leftover.join(", ")) };
        return Ok((state, detail));
    }
    // An error of `verify` counts only if the output was sound before.
    let damaged =
        |content: &Content| matches!(content, Content::Rows(rows) if rows.iter().any(|(code, _)| *code != Some(0)));
    let (code, messages) = verify(wharf, output, folder)?;
    let rejected =
        code != Some(0) && !(state == State::Old && damaged(old)) && !rejected_before(wharf, baseline, output, folder)?;
    Ok((state, if rejected { format!(": {}", messages.trim_end()) } else { String::new() }))
}

/// Whether `verify` already rejected the output before the run.
fn rejected_before(wharf: &Path, baseline: &Baseline, output: &Output, folder: &Path) -> Result<bool, String> {
    let aside = folder.with_extension("before");
    baseline.case.before.restore(&aside)?;
    Ok(aside.join(&output.path).exists() && verify(wharf, output, &aside)?.0 != Some(0))
}
