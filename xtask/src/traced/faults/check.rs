//! One run of a case, and what is wrong afterwards.

use std::fs;
use std::io::{Read, Seek};
use std::path::Path;
use std::process::{Command, Stdio};

use super::cases::{Case, Output, Shape};
use super::snapshot::{Entry, Snapshot, is_temporary};
use super::trace::{self, Action, Call, Ended, Kind};
use super::{Fault, HOLD, Trial};
use crate::shell;

/// A case with what it does when nothing happens.
pub(super) struct Known {
    pub(super) case: Case,
    after: Snapshot,
    code: i32,
    /// What can be read from each output, before and after.
    readable: Vec<(Readable, Readable)>,
    /// What is there after the next run.
    again: Snapshot,
    again_code: i32,
    again_readable: Vec<Readable>,
    pub(super) calls: Vec<Call>,
}

/// What a program sees of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Readable {
    Absent,
    Rows(Vec<(Option<i32>, Vec<u8>)>),
}

/// Something that must not happen.
pub(super) struct Finding {
    pub(super) trial: Trial,
    pub(super) kind: &'static str,
    pub(super) detail: String,
}

/// Which of its two states an output is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Old,
    New,
    Both,
    Neither,
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
    let mut messages = tempfile::tempfile().map_err(failed)?;
    let mut command = command(wharf, arguments, folder);
    command.stdout(Stdio::null()).stderr(messages.try_clone().map_err(failed)?);
    let ended = trace::run(&mut command, decide)?;
    let mut text = Vec::new();
    messages.rewind().and_then(|()| messages.read_to_end(&mut text)).map_err(failed)?;
    Ok((ended, String::from_utf8_lossy(&text).into_owned()))
}

/// What the case does when nothing happens.
pub(super) fn learn(wharf: &Path, case: &Case, folder: &Path) -> Result<Known, String> {
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
    let there: Vec<_> = case.outputs.iter().map(|output| read(wharf, output, folder)).collect::<Result<_, _>>()?;
    // Only `convert` reads NetCDF.
    for output in case.outputs.iter().filter(|output| !output.path.ends_with(".nc")) {
        let (code, messages) = verify(wharf, output, folder)?;
        if code != Some(0) {
            return Err(format!("`wharf verify {}` after it: {}", output.path, messages.trim_end()));
        }
    }
    let (ended, messages) = traced(wharf, &case.again, folder, &mut |_| Action::Proceed)?;
    let Ended::Exit(again_code @ (0 | 3)) = ended else {
        return Err(format!(
            "the next run, `wharf {}`, ended with {ended:?}: {}",
            case.again.join(" "),
            messages.trim_end()
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
    let messages = String::from_utf8_lossy(&[found.stdout, found.stderr].concat()).into_owned();
    Ok((found.status.code(), messages))
}

/// One run with its fault, and everything that is wrong afterwards; nothing where the call did not come.
pub(super) fn attempt(
    wharf: &Path,
    known: &Known,
    trial: Trial,
    folder: &Path,
    shown: bool,
) -> Result<Option<Vec<Finding>>, String> {
    let case = &known.case;
    case.before.restore(folder)?;
    let (mut count, mut hit, mut waiting) = (0, None::<Call>, false);
    let (ended, messages) = traced(wharf, &case.arguments, folder, &mut |call| {
        if shown {
            println!("{:>4} {call}", if trial.fault.concerns(call) { (count + 1).to_string() } else { String::new() });
        }
        // The one that cleans up is another thread than the one that was about to call when the signal came.
        let cleans = |hit: &Call| hit.thread != call.thread && matches!(call.kind, Kind::Release | Kind::Exit);
        if trial.fault == Fault::TermCleanerLast && !waiting && hit.as_ref().is_some_and(cleans) {
            waiting = true;
            return Action::Hold(HOLD);
        }
        if !trial.fault.concerns(call) {
            return Action::Proceed;
        }
        count += 1;
        // Renames take no new room: the undoing of a commit has to succeed on a full disk.
        let goes_on = trial.fault == Fault::Enospc && !call.name.starts_with("rename");
        let now = count == trial.call || (count > trial.call && goes_on);
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
    let last = messages.trim_end().lines().last().unwrap_or_default().to_owned();
    if shown {
        println!("at {hit}: {ended:?}\n{}", messages.trim_end());
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
        Ended::Exit(1) if !last.starts_with("error: ") && !messages.contains("error: ") => {
            find("a failure without a message", messages.clone());
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
    if messages.contains("panicked at") {
        find("a panic", messages.clone());
    }

    // The next run.
    let first = all_are(State::Old) && !all_are(State::New);
    let arguments = if first { &case.arguments } else { &case.again };
    let (ended, messages) = traced(wharf, arguments, folder, &mut |_| Action::Proceed)?;
    let now = Snapshot::take(folder)?;
    let last = messages.trim_end().lines().last().unwrap_or_default();
    if shown {
        println!("next run: wharf {}: {ended:?}\n{}", arguments.join(" "), messages.trim_end());
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
        let (code, messages) = verify(wharf, output, folder)?;
        if (found != *new && (first || found != *again)) || output.shape == Shape::File {
            find("the next run writes something else", output.path.clone());
        } else if code != Some(0) {
            find("verify rejects what the next run writes", format!("{}: {}", output.path, messages.trim_end()));
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
    let (code, messages) = verify(wharf, output, folder)?;
    let bad =
        code != Some(0) && !(state == State::Old && damaged(old)) && !rejected_before(wharf, known, output, folder)?;
    Ok((state, if bad { format!(": {}", messages.trim_end()) } else { String::new() }))
}

/// Whether `verify` rejected the output before the run, too.
fn rejected_before(wharf: &Path, known: &Known, output: &Output, folder: &Path) -> Result<bool, String> {
    let aside = folder.with_extension("before");
    known.case.before.restore(&aside)?;
    Ok(aside.join(&output.path).exists() && verify(wharf, output, &aside)?.0 != Some(0))
}
