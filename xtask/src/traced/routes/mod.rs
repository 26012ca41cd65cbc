//! The record of routes: the outcome of every conversion and every verb on small inputs, which shows all the effects of a change.
//!
//! Exit code, standard error, standard output and files are compared. The bytes of Parquet, Arrow IPC, NetCDF and ZIP archives depend on
//! libraries and times; instead, the output of `wharf info --json` and `wharf cat --json` is compared, after NetCDF is converted to ds.
//! Creation times are ignored.

mod cases;
mod outcome;
mod record;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use clap::Args;
use serde_json::Value;

use crate::shell;
use crate::traced::faults;
use cases::{ByColumn, Case};
use outcome::{Outcome, ValueCache};
use record::{Record, Route, difference, digest};

/// Selects commands, and what to do with the outcomes.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Record the outcomes instead of comparing them
    #[arg(long)]
    update: bool,
    /// Only commands that contain this text, such as "types.csv out.parquet"
    #[arg(long, value_name = "PATTERN")]
    only: Option<String>,
    /// Run this program instead of building the workspace's
    #[arg(long, value_name = "FILE")]
    wharf: Option<PathBuf>,
    /// Keep everything that was compared in this directory, to compare two programs line by line
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
}

/// Number of routes shown per difference.
const MAX_NAMES: usize = 8;

/// Number of lines shown per difference.
const MAX_LINES: usize = 24;

/// Suffix of the route that converts all columns which can be converted.
const REST: &str = " (columns that can be converted)";

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let wharf = match &options.wharf {
        Some(wharf) => wharf.canonicalize().map_err(|error| format!("{}: {error}", wharf.display()))?,
        None => shell::test_build("wharf")?,
    };
    let start = Instant::now();
    let folder = shell::fast_directory()?;
    let mut cases = cases::all(&wharf, folder.path())?;
    let is_selected = |name: &str| options.only.as_ref().is_none_or(|pattern| name.contains(pattern.as_str()));
    cases.retain(|case| is_selected(&case.name));
    if cases.is_empty() {
        return Err("no command contains the pattern".to_owned());
    }
    let records = run_all(&wharf, folder.path(), cases, options.keep.as_deref())?;
    let count: usize = records.values().map(|record| record.routes.len()).sum();
    println!("golden/routes: {count} commands, {:.0} s", start.elapsed().as_secs_f64());
    let directory = shell::root().join("tests/golden/routes");
    shell::make_directory(&directory)?;
    let mut groups: BTreeSet<_> = records.keys().cloned().collect();
    if options.only.is_none() {
        groups.extend(shell::files_with_extension(&directory, "txt")?.iter().map(|path| stem(path)));
    }
    let mut changed = 0;
    for group in groups {
        let path = directory.join(format!("{group}.txt"));
        let text = if path.exists() { shell::read(&path)? } else { String::new() };
        let old = Record::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut new = records.get(&group).cloned().unwrap_or_default();
        // Keep routes that were not run.
        let others = old.routes.iter().filter(|(name, _)| !is_selected(command_of(name)));
        new.routes.extend(others.map(|(name, route)| (name.clone(), route.clone())));
        if options.update {
            let count = old.changes(&new).values().flatten().collect::<BTreeSet<_>>().len();
            println!("golden/routes/{group}.txt: {count} of {} commands changed", new.routes.len());
            new.texts.extend(old.texts);
            if new.routes.is_empty() {
                fs::remove_file(&path).map_err(|error| format!("cannot remove {}: {error}", path.display()))?;
            } else {
                shell::write(&path, new.print())?;
            }
        } else {
            changed += report(&group, &old, &new);
        }
    }
    if changed > 0 {
        return Err(format!(
            "{changed} outcomes differ from the record; to accept them: `cargo xtask golden routes --update`"
        ));
    }
    Ok(())
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The command of a route, without the selection of columns.
fn command_of(name: &str) -> &str {
    let name = name.strip_suffix(REST).unwrap_or(name);
    name.split_once(" --columns \"").map_or(name, |(command, _)| command)
}

/// Prints every difference once, and returns the number of routes that differ.
fn report(group: &str, old: &Record, new: &Record) -> usize {
    let changes = old.changes(new);
    for (change, names) in &changes {
        println!("{group}: {} of {} commands:", change.what, names.len());
        names.iter().take(MAX_NAMES).for_each(|name| println!("    wharf {name}"));
        if names.len() > MAX_NAMES {
            println!("    and {} more", names.len() - MAX_NAMES);
        }
        let lines = difference(&old.resolve(change.old), &new.resolve(change.new));
        lines.iter().take(MAX_LINES).for_each(|line| println!("  {line}"));
        if lines.len() > MAX_LINES {
            println!("  and {} more lines", lines.len() - MAX_LINES);
        }
    }
    changes.values().flatten().collect::<BTreeSet<_>>().len()
}

/// Runs all cases in temporary directories; returns a record for each group.
fn run_all(
    wharf: &Path,
    folder: &Path,
    cases: Vec<Case>,
    keep: Option<&Path>,
) -> Result<BTreeMap<String, Record>, String> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let (next, records, cache) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()), ValueCache::default());
    faults::in_parallel(workers, |worker| {
        let folder = folder.join(format!("worker-{worker}"));
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut outcomes = vec![(case.name.clone(), outcome::run(wharf, case, &folder, &cache)?)];
            if let Some(by_column) = case.by_column.as_ref().filter(|_| failed(&outcomes)) {
                outcomes.extend(columns(wharf, case, by_column, &folder, &cache)?);
            }
            for (name, outcome) in &outcomes {
                keep.map_or(Ok(()), |keep| store(&keep.join(&case.group), name, outcome))?;
            }
            let mut records = records.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let record: &mut Record = records.entry(case.group.clone()).or_default();
            outcomes.into_iter().for_each(|(name, outcome)| add(record, name, outcome));
        }
        Ok(())
    })?;
    Ok(records.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
}

/// Whether one of the outcomes is a failure.
fn failed(outcomes: &[(String, Outcome)]) -> bool {
    outcomes.iter().any(|(_, outcome)| !matches!(outcome.exit.as_str(), "0" | "3"))
}

fn add(record: &mut Record, name: String, outcome: Outcome) {
    let mut route = Route { exit: outcome.exit, ..Route::default() };
    for part in outcome.parts {
        if let Some(text) = part.text {
            record.texts.insert(part.digest.clone(), text);
        }
        route.parts.insert(part.key, part.digest);
    }
    record.routes.insert(escape(&name), route);
}

/// Escapes control characters, which separate lines and fields.
fn escape(name: &str) -> String {
    let escaped =
        |letter: char| if letter.is_control() { letter.escape_default().to_string() } else { letter.to_string() };
    name.chars().map(escaped).collect()
}

/// Converts each column of a table that cannot be converted as a whole, then all convertible columns together.
fn columns(
    wharf: &Path,
    case: &Case,
    by_column: &ByColumn,
    folder: &Path,
    cache: &ValueCache,
) -> Result<Vec<(String, Outcome)>, String> {
    case.before.restore(folder)?;
    let mut info = Command::new(wharf);
    info.args(["info", "--json", &by_column.input]).current_dir(folder).env_clear().stdin(Stdio::null());
    let described = shell::output(&mut info)?;
    let described: Value = serde_json::from_slice(&described.stdout).unwrap_or_default();
    let tables = described.get("tables").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let is_selected =
        |table: &&Value| case.arguments.iter().any(|word| table.get("name").is_some_and(|name| name == word));
    let table = tables.iter().find(is_selected).or_else(|| tables.first());
    let columns = table.and_then(|table| table.get("columns")?.as_array()).map(Vec::as_slice);
    let names = columns.unwrap_or_default().iter().filter_map(|column| column.get("name")?.as_str());
    // Arguments cannot contain NUL.
    let names: Vec<_> = names.filter(|name| Some(*name) != by_column.always && !name.contains('\0')).collect();
    let select = |columns: &[&str], label: &dyn Fn(&str) -> String| {
        let names = by_column.always.iter().chain(columns);
        let quoted: Vec<_> = names.map(|name| format!("\"{}\"", name.replace('"', "\"\""))).collect();
        let list = quoted.join(",");
        let mut arguments = case.arguments.clone();
        arguments.extend(["--columns".to_owned(), list.clone()]);
        Case {
            group: case.group.clone(),
            name: label(&list),
            arguments,
            before: case.before.clone(),
            stdin: None,
            shows_stdout: false,
            by_column: None,
        }
    };
    let (mut outcomes, mut rest) = (Vec::new(), Vec::new());
    for name in names {
        let case = select(&[name], &|list| format!("{} --columns {list}", case.name));
        let outcome = (case.name.clone(), outcome::run(wharf, &case, folder, cache)?);
        if failed(std::slice::from_ref(&outcome)) {
            outcomes.push(outcome);
        } else {
            rest.push(name);
        }
    }
    if !rest.is_empty() {
        let case = select(&rest, &|_| format!("{}{REST}", case.name));
        outcomes.push((case.name.clone(), outcome::run(wharf, &case, folder, cache)?));
    }
    Ok(outcomes)
}

/// Writes an outcome to files, for comparison by other tools.
fn store(folder: &Path, name: &str, outcome: &Outcome) -> Result<(), String> {
    let readable = |letter: char| if letter.is_alphanumeric() || "-.=".contains(letter) { letter } else { '_' };
    let short: String = name.chars().map(readable).take(150).collect();
    let folder = folder.join(format!("{short}.{}", digest(name.as_bytes())));
    shell::make_directory(&folder)?;
    shell::write(&folder.join("exit"), format!("{}\n", outcome.exit))?;
    for part in &outcome.parts {
        let file = folder.join(part.key.replace(':', "."));
        let values = part.text.as_ref().filter(|_| part.key.ends_with("values"));
        shell::write(&file, [values.map_or(&[][..], |text| text.as_bytes()), &part.content].concat())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_column_selection() {
        let command = "convert types.idv out.ds --dim row";
        assert_eq!(command_of(command), command);
        assert_eq!(command_of(&format!("{command} --columns \"key\",\"list\"")), command);
        assert_eq!(command_of(&format!("{command}{REST}")), command);
        // An option of the command itself.
        assert_eq!(command_of("cat types.idv --columns i64,text"), "cat types.idv --columns i64,text");
    }

    #[test]
    fn escapes_separators() {
        assert_eq!(escape("a\tb\nc ü"), "a\\tb\\nc ü");
    }
}
