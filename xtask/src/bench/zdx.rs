//! Document stores against `zippy_data`: one program runs the same tasks with both in one process.

use serde_json::Value;

use super::contest::{Bench, Contest, OURS, Options, bench_directory};
use crate::registry::Trouble;
use crate::shell;
use crate::zippy;

/// Documents of about 205 bytes, as in the reference's own benchmarks.
const FULL: u64 = 1_000_000;
const QUICK: u64 = 2_000;

/// Repetitions of each of our tasks in a round.
const REPEATS: &str = "3";

/// Threads of the reference, and of ours where the task says so.
const THREADS: &str = "4";

const THEIRS: &str = "zippy_data";

const fn beside(label: &'static str, work: &'static str, theirs: &'static str, target: Option<f64>) -> Contest {
    Contest { label, work, beside: THEIRS, who: THEIRS, theirs, target }
}

const CONTESTS: [Contest; 31] = [
    beside("open, until many gets are fast", "open, ordered", "open, ordered", Some(60.0)),
    beside("the same, index in a hash map's order", "open, hashed", "open, hashed", Some(60.0)),
    beside("open, one get", "first get, ordered", "first get, ordered", Some(60.0)),
    beside("the same, index in a hash map's order", "first get, hashed", "first get, hashed", Some(60.0)),
    beside("the same, not mapped", "first get, unmapped", "first get, ordered", None),
    beside("200,000 random gets, raw; theirs parse", "get raw, ordered", "get, ordered", Some(8.0)),
    beside("the same, index in a hash map's order", "get raw, hashed", "get, hashed", Some(8.0)),
    beside("the same, many at once", "get many raw, ordered", "get, ordered", None),
    beside("the same, index in a hash map's order", "get many raw, hashed", "get, hashed", None),
    beside("the same, not mapped", "get raw, unmapped", "get, ordered", None),
    beside("the same, many at once", "get many raw, unmapped", "get, ordered", None),
    beside("200,000 random gets, parsed", "get, ordered", "get, ordered", Some(1.3)),
    beside("the same, index in a hash map's order", "get, hashed", "get, hashed", Some(1.3)),
    beside("scan raw, in order, 1 thread; theirs 4", "scan raw, ordered", "scan raw, ordered", Some(6.0)),
    beside("the same, index in a hash map's order", "scan raw, hashed", "scan raw, hashed", Some(6.0)),
    beside("the same, not mapped", "scan raw, unmapped", "scan raw, ordered", None),
    beside("open and scan raw", "open and scan raw, ordered", "open and scan raw, ordered", None),
    beside("the same, index in a hash map's order", "open and scan raw, hashed", "open and scan raw, hashed", None),
    beside("scan, parsed, 1 thread; theirs 4", "scan", "scan", Some(2.0)),
    beside("the same; theirs are freed, too, as ours are", "scan", "scan and free", None),
    beside("the same, not mapped", "scan, unmapped", "scan and free", None),
    beside("scan, parsed, 4 threads", "scan, 4 threads", "scan", Some(6.0)),
    beside("the same; theirs are freed, too, as ours are", "scan, 4 threads", "scan and free", None),
    beside("the same, values given to one thread in order", "scan, 4 threads, handed over", "scan and free", None),
    beside("rebuild the index, 1 thread", "rebuild, 1 thread", "rebuild", Some(5.0)),
    beside("rebuild the index, 4 threads", "rebuild, 4 threads", "rebuild", Some(20.0)),
    beside("put one by one; theirs in batches of 1000", "put", "put", Some(10.0)),
    beside("load lines and write the index", "load", "load", Some(3.5)),
    beside("the same, 1 thread", "load, 1 thread", "load", None),
    beside("the same, every token validated", "load, validated", "load", Some(2.0)),
    beside("the same, 1 thread", "load, validated, 1 thread", "load", None),
];

/// Groups of tasks that must have the same result.
const SAME_RESULT: &[&[&str]] = &[
    &["open, ordered", "open, hashed"],
    &["first get, ordered", "first get, hashed", "first get, unmapped"],
    &[
        "get raw, ordered",
        "get raw, hashed",
        "get raw, unmapped",
        "get many raw, ordered",
        "get many raw, hashed",
        "get many raw, unmapped",
    ],
    &["get, ordered", "get, hashed"],
    &[
        "scan raw, ordered",
        "scan raw, hashed",
        "scan raw, unmapped",
        "open and scan raw, ordered",
        "open and scan raw, hashed",
    ],
    &["scan", "scan and free", "scan, unmapped", "scan, 4 threads", "scan, 4 threads, handed over"],
    &["rebuild", "rebuild, 1 thread", "rebuild, 4 threads"],
    &["put", "load", "load, 1 thread", "load, validated", "load, validated, 1 thread"],
];

/// Builds and runs the benchmark. Building it may need a package registry.
pub(crate) fn run(options: &Options) -> Result<(), Trouble> {
    let program = zippy::benchmark()?;
    let bench = measure(&program, if options.quick { QUICK } else { FULL }, options.rounds())?;
    options.show(&bench, &CONTESTS, "")?;
    Ok(())
}

fn measure(program: &std::path::Path, documents: u64, rounds: u32) -> Result<Bench, String> {
    let bench_dir = bench_directory("zdx")?;
    let directory = bench_dir.path();
    eprintln!("making the stores in {}", directory.display());
    let command = |arguments: &[&str]| {
        let mut command = shell::program(program);
        let (verb, options) = arguments.split_at(1);
        command.args(verb).arg(directory).args(options).env("RAYON_NUM_THREADS", THREADS);
        command
    };
    shell::run(command(&["make", "--documents", &documents.to_string()]))?;
    // Both read the same documents.
    eprint!("{}", shell::text(command(&["check"]))?);
    let mut bench = Bench::default();
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        let lines = shell::text(command(&["run", "--repeat", REPEATS]))?;
        for who in [OURS, THEIRS] {
            bench.take(who, &lines_by(who, &lines))?;
        }
    }
    bench.check(SAME_RESULT)?;
    Ok(bench)
}

/// The lines of one contestant, and lines that cannot be parsed, which the caller rejects.
fn lines_by(who: &str, lines: &str) -> String {
    let is_by = |line: &&str| {
        let entry: Option<Value> = serde_json::from_str(line).ok();
        entry.is_none_or(|entry| entry.get("who").and_then(Value::as_str) == Some(who))
    };
    lines.lines().filter(is_by).map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separates_lines_by_contestant() {
        let lines = "{\"who\":\"ours\",\"n\":1}\n{\"who\":\"zippy_data\"}\nnoise\n{\"who\":\"ours\",\"n\":2}\n";
        assert_eq!(lines_by(OURS, lines), "{\"who\":\"ours\",\"n\":1}\nnoise\n{\"who\":\"ours\",\"n\":2}\n");
        assert_eq!(lines_by(THEIRS, lines), "{\"who\":\"zippy_data\"}\nnoise\n");
    }
}
