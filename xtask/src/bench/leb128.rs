//! LEB128 integers against other crates, measured by `crates/leb128-codec/benches/rivals.rs`.

use clap::Args;
use serde_json::Value;

use super::table::{self, Row};
use crate::shell;

/// Amount of work and output format.
#[derive(Args)]
pub(crate) struct Options {
    /// Rounds; in each, every contestant is measured once
    #[arg(long, value_name = "N", default_value_t = 61)]
    rounds: u32,
    /// JSON lines instead of a table
    #[arg(long)]
    json: bool,
}

const OURS: &str = "leb128-codec";

/// The contestants that targets refer to.
const RIVALS: [&str; 5] = ["leb128", "leb128fmt", "unsigned-varint", "integer-encoding", "varint-simd"];

/// Minimum ratio to the fastest rival, by prefix of the pattern's name. Single values must be no slower, within the noise between two medians
/// of the same code.
const BULK: [(&str, f64); 4] = [("one-byte-", 3.0), ("90-9-1-", 1.2), ("mixed-1-5-", 2.5), ("random-u64", 1.5)];
const SINGLE: [&str; 3] = ["one-byte-", "mixed-1-5-", "random-"];
const NO_SLOWER: f64 = 0.97;

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let mut bench = shell::cargo(["bench", "--quiet", "--package", "leb128-codec", "--bench", "rivals", "--"]);
    bench.args(["--json", "--rounds", &options.rounds.to_string()]);
    let rows = rows(&shell::text(bench)?)?;
    table::print(&rows, options.json);
    Ok(())
}

/// Runs every contestant once, to check its results.
pub(crate) fn smoke() -> Result<(), String> {
    shell::run(shell::program(super::program("leb128-codec", "rivals", "parallel", true)?))
}

/// Parses the benchmark's lines into one row per contest.
fn rows(lines: &str) -> Result<Vec<Row>, String> {
    let mut rows: Vec<Row> = Vec::new();
    for line in lines.lines() {
        let entry: Value =
            serde_json::from_str(line).map_err(|error| format!("the benchmark printed \"{line}\": {error}"))?;
        let word = |name: &str| {
            let word = entry.get(name).and_then(Value::as_str);
            word.ok_or_else(|| format!("the benchmark printed \"{line}\": no {name}"))
        };
        let speed = entry.get("gbps").and_then(Value::as_f64);
        let speed = speed.ok_or_else(|| format!("the benchmark printed \"{line}\": no gbps"))?;
        let (pattern, kind, contestant) = (word("pattern")?, word("kind")?, word("contestant")?);
        let work = format!("decode {kind}, {pattern}");
        if rows.last().is_none_or(|row| row.work != work) {
            let target = target(kind, pattern);
            rows.push(Row { work, beside: String::new(), theirs: 0.0, ours: 0.0, unit: "GB/s", ratio: 0.0, target });
        }
        let Some(row) = rows.last_mut() else { continue };
        if contestant == OURS {
            row.ours = speed;
        } else if RIVALS.contains(&contestant) && speed > row.theirs {
            row.theirs = speed;
            contestant.clone_into(&mut row.beside);
        }
        row.ratio = row.ours / row.theirs;
    }
    if rows.is_empty() || rows.iter().any(|row| row.ours == 0.0 || row.theirs == 0.0) {
        return Err("the benchmark measured nothing or one side only".to_owned());
    }
    Ok(rows)
}

fn target(kind: &str, pattern: &str) -> Option<f64> {
    match kind {
        "bulk" => BULK.iter().find(|(prefix, _)| pattern.starts_with(prefix)).map(|(_, target)| *target),
        _ => SINGLE.iter().any(|prefix| pattern.starts_with(prefix)).then_some(NO_SLOWER),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_with_the_fastest_rival() {
        let line = |kind: &str, contestant: &str, speed: f64| {
            format!(
                "{{\"pattern\":\"one-byte-u64\",\"kind\":\"{kind}\",\"contestant\":\"{contestant}\",\"gbps\":{speed}}}\n"
            )
        };
        let lines: String = [
            line("single", "leb128-codec", 2.0),
            line("single", "leb128", 1.0),
            line("single", "leb128fmt", 2.5),
            line("single", "prost", 9.0),
            line("bulk", "leb128-codec", 8.0),
            line("bulk", "a kernel", 20.0),
            line("bulk", "leb128", 1.0),
        ]
        .concat();
        let rows = rows(&lines).unwrap();
        let [single, bulk] = &rows[..] else { panic!("{} rows", rows.len()) };
        assert_eq!((single.beside.as_str(), single.ratio, single.met()), ("leb128fmt", 0.8, Some(false)));
        assert_eq!((bulk.ratio, bulk.target, bulk.met()), (8.0, Some(3.0), Some(true)));
        assert!(super::rows("").is_err());
        assert!(super::rows(&line("bulk", "leb128", 1.0)).is_err());
    }

    #[test]
    fn finds_target_by_pattern() {
        assert_eq!(target("bulk", "random-u64"), Some(1.5));
        assert_eq!(target("bulk", "random-u32"), None);
        assert_eq!(target("single", "random-u32"), Some(NO_SLOWER));
        assert_eq!(target("single", "90-9-1-u32"), None);
    }
}
