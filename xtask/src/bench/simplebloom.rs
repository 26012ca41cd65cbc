//! Bloom filters against Python's simplebloom, whose C extension takes one key at a time.

use clap::Args;
use serde_json::Value;

use super::table::{self, Row};
use crate::python::Python;
use crate::shell;

/// Amount of work and output format.
#[derive(Args)]
pub(crate) struct Options {
    /// Rounds of each measurement with 300,000 keys; a third of them, and at least one, with 10,000,000
    #[arg(long, value_name = "N", default_value_t = 15)]
    rounds: u32,
    /// Only the smaller number of keys
    #[arg(long)]
    brief: bool,
    /// JSON lines instead of a table
    #[arg(long)]
    json: bool,
}

/// Keys, threads and minimum ratio.
const RUNS: [(u64, u64, f64); 4] = [(300_000, 1, 3.0), (300_000, 4, 9.0), (10_000_000, 1, 4.5), (10_000_000, 4, 11.0)];

/// The tasks, and whether they have a target.
const WORKS: [(&str, bool); 3] = [("insert", true), ("contains, present", true), ("contains, absent", false)];

pub(crate) fn run(python: &Python, options: &Options) -> Result<(), String> {
    let mut rows = Vec::new();
    let mut reference: Option<(u64, Value)> = None;
    for (keys, threads, target) in RUNS {
        if options.brief && keys > 1_000_000 {
            continue;
        }
        let rounds = if keys > 1_000_000 { options.rounds / 5 } else { options.rounds }.max(1);
        let theirs = match &reference {
            Some((of, theirs)) if *of == keys => theirs.clone(),
            _ => theirs(python, keys, rounds)?,
        };
        rows.extend(compare(&ours(keys, threads, rounds, false)?, &theirs, keys, threads, target)?);
        reference = Some((keys, theirs));
    }
    table::print(&rows, options.json);
    Ok(())
}

/// A small round of both, to check assertions.
pub(crate) fn smoke(python: &Python) -> Result<(), String> {
    let rows = compare(&ours(20_000, 2, 1, true)?, &theirs(python, 20_000, 1)?, 20_000, 2, 0.0)?;
    if rows.len() == WORKS.len() { Ok(()) } else { Err("the benchmark measured other tasks".to_owned()) }
}

fn theirs(python: &Python, keys: u64, rounds: u32) -> Result<Value, String> {
    let output = shell::text(python.script("simplebloom_bench.py", [keys.to_string(), rounds.to_string()]))?;
    serde_json::from_str(&output).map_err(|error| format!("the reference printed \"{output}\": {error}"))
}

fn ours(keys: u64, threads: u64, rounds: u32, smoke: bool) -> Result<Vec<Value>, String> {
    let mut bench = shell::program(super::program("simplebloom", "speed", "parallel", smoke)?);
    bench.args(["--bench", "--json", "--keys", &keys.to_string()]);
    bench.args(["--threads", &threads.to_string(), "--rounds", &rounds.to_string()]);
    let output = shell::text(bench)?;
    output
        .lines()
        .map(|line| serde_json::from_str(line).map_err(|error| format!("the benchmark printed \"{line}\": {error}")))
        .collect()
}

/// One row per task; an error if the two disagree on an answer or byte.
fn compare(ours: &[Value], theirs: &Value, keys: u64, threads: u64, target: f64) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (work, has_target) in WORKS {
        let line = ours.iter().find(|line| line.get("work").and_then(Value::as_str) == Some(work));
        let line = line.ok_or_else(|| format!("the benchmark has no line for {work}"))?;
        for name in ["wrong", "file"] {
            if line.get(name).is_none() || line.get(name) != theirs.get(name) {
                return Err(format!(
                    "{keys} keys: {name} is {:?}, the reference's {:?}",
                    line.get(name),
                    theirs.get(name)
                ));
            }
        }
        let number = |value: Option<&Value>| value.and_then(Value::as_f64).filter(|speed| *speed > 0.0);
        let pair = number(line.get("mkeys")).zip(number(theirs.get(work)));
        let (ours, theirs) = pair.ok_or_else(|| format!("no figure for {work}"))?;
        let s = if threads == 1 { "" } else { "s" };
        rows.push(Row {
            work: format!("{work}, {keys} keys, {threads} thread{s}"),
            beside: "simplebloom 1.1.0".to_owned(),
            theirs,
            ours,
            unit: "M keys/s",
            ratio: ours / theirs,
            target: has_target.then_some(target),
        });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rejects_results_that_differ() {
        let ours = WORKS.map(|(work, _)| json!({"work": work, "mkeys": 9.0, "wrong": 1, "file": "ab"}));
        let mut theirs =
            json!({"insert": 3.0, "contains, present": 1.0, "contains, absent": 2.0, "wrong": 1, "file": "ab"});
        let rows = compare(&ours, &theirs, 10, 1, 3.5).unwrap();
        assert_eq!(rows.iter().map(|row| row.ratio).collect::<Vec<_>>(), [3.0, 9.0, 4.5]);
        assert_eq!(rows.iter().map(Row::met).collect::<Vec<_>>(), [Some(false), Some(true), None]);
        theirs["wrong"] = json!(2);
        assert!(compare(&ours, &theirs, 10, 1, 3.5).is_err());
        theirs["wrong"] = json!(1);
        theirs["file"] = json!("ac");
        assert!(compare(&ours, &theirs, 10, 1, 3.5).is_err());
        assert!(compare(&[], &theirs, 10, 1, 3.5).is_err());
    }
}
