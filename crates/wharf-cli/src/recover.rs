//! `wharf recover`: saves the intact data of a damaged file.

use std::ffi::OsString;
use std::ops::Range;

use container_core::{Overwrite, Result};
use serde_json::{Map, Value, json};
use wharf::Recover;
use wharf::convert::TargetUnit;
use wharf::recover::{LostRow, RepairedTable, Report};

use super::Outcome;
use super::display::{counted, size};
use super::env::Env;
use super::options::{Options, RecoverOptions};
use super::output_path::OutputPath;
use super::report::error_object;
use super::{inputs, progress, records};

const EXAMPLES: &str = "\
Examples:
  wharf recover cut-off.idv whole.idv
  wharf recover damaged.idv whole.idv --columns Label,Features
  wharf recover tuesday.idv whole.idv --schema monday.idv
  wharf recover damaged.msgpack whole.msgpack
  wharf recover damaged.d whole.d
  wharf recover trees.d --in-place";

/// Save the intact data of a truncated or damaged file
///
/// IDV: decodes every block and writes the intact columns and rows to a new file, which is verified before it appears. Keeps the combination of
/// columns and rows with the most values, unless --columns is given.
///
/// datadings: copies every intact sample to a new dataset, with or without an index. Of samples with the same key the first is kept.
///
/// ZDS: copies every intact document to a new store, with or without an index. With --in-place, repairs the store itself: removes an incomplete
/// last line and rebuilds the index.
///
/// Parquet, Arrow IPC: writes all readable rows to a new file.
///
/// Exit code 3 if anything was lost; see the warnings. With --json, the result is printed as one object.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = "wharf recover [OPTIONS] <IN> <OUT>")]
pub(crate) struct Arguments {
    /// Damaged file; - for standard input
    #[arg(value_name = "IN")]
    input: OsString,

    #[command(flatten)]
    output: OutputPath,

    /// Repair the store in place (ZDS)
    #[arg(long, group = "OutputPath")]
    in_place: bool,

    /// Overwrite existing output
    #[arg(long)]
    force: bool,

    /// Maximum number of threads; 0 for all processors
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,

    #[command(flatten)]
    options: Options<RecoverOptions>,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let location = inputs::expand_single(&arguments.input, "recover")?;
    let mut recover = Recover::of(location.clone());
    recover.threads = arguments.threads;
    recover = arguments.options.given().fold(recover, |recover, (name, value)| recover.with_option(name, value));
    let mut report = Report::default();
    if arguments.in_place {
        let outcome = recover.in_place(&mut env.opener, &mut report);
        print_repairs(&location.name(), &report, env)?;
        outcome?;
    } else {
        let overwrite = if arguments.force { Overwrite::Replace } else { Overwrite::Refuse };
        let path = arguments.output.path()?;
        progress::with_line(env.report.terminal, |progress| {
            recover.with_progress(progress).run(path, overwrite, &mut env.opener, &mut report)
        })?;
        print_result(&location.name(), &path.display().to_string(), &report, env)?;
    }
    Ok(match report.losses.is_empty() {
        false if arguments.in_place => Outcome::Loss,
        _ => Outcome::after(&report.losses),
    })
}

/// Prints what was repaired in each table of a store.
fn print_repairs(input: &str, report: &Report, env: &mut Env<'_>) -> Result<()> {
    report.losses.iter().for_each(|lost| env.report.lost(lost));
    for table in &report.tables {
        let RepairedTable { name, rows, notes, .. } = table;
        let object = json!({"file": input, "table": name, "rows": rows, "notes": notes});
        let state = if notes.is_empty() { "no problems".to_owned() } else { notes.join("; ") };
        let line = format!("{input}: table {name}: {}: {state}", counted(*rows, "document"));
        records::print_result(object, &line, env)?;
    }
    Ok(())
}

/// Maximum lost samples listed without `--json`.
const MAX_LISTED: usize = 20;

fn print_result(input: &str, name: &str, report: &Report, env: &mut Env<'_>) -> Result<()> {
    // Those of documents are losses.
    if report.unit != TargetUnit::Documents {
        for finding in &report.findings {
            env.report.message(format!("warning: {input}: {finding}"));
        }
    }
    report.losses.iter().for_each(|lost| env.report.lost(lost));
    if env.json() {
        return records::print_result(result_object(name, report), "", env);
    }
    // The first one is in the losses.
    for LostRow { row, key, .. } in report.lost_rows.iter().skip(1).take(MAX_LISTED) {
        let key = key.as_ref().map(|key| format!(", key {key:?}")).unwrap_or_default();
        env.report.message(format!("warning: {input}: sample lost (row {row}{key})"));
    }
    let Report { rows, bytes, declared, .. } = *report;
    let of = match declared {
        Some(declared) if declared > rows => format!(" of {declared}"),
        _ => String::new(),
    };
    let size = match report.unit {
        TargetUnit::TypedRows => counted(report.columns.len(), "column"),
        _ => size(bytes),
    };
    let verified = if report.verified { ", verified" } else { "" };
    let result = format!("{}{of}, {size}{verified}", counted(rows, report.unit.words().0));
    records::print_result(Map::new(), &format!("{name}: {result}"), env)
}

fn result_object(name: &str, report: &Report) -> Map<String, Value> {
    let Report { format, rows, declared, columns, bytes, losses, verified, .. } = report;
    let mut object = Map::new();
    object.insert("file".into(), name.into());
    object.insert("to".into(), (*format).into());
    object.insert("rows".into(), (*rows).into());
    let findings: Vec<Value> = report.findings.iter().map(|error| Value::Object(error_object(error))).collect();
    let lost = || declared.map(|declared| declared.saturating_sub(*rows));
    let mut rest = match report.unit {
        TargetUnit::TypedRows => json!({
            "rows_lost": lost(), "columns": columns, "bytes": bytes, "lost": losses.len(), "findings": findings,
            "verified": verified,
        }),
        TargetUnit::Samples => {
            let (rows, keys): (Vec<_>, Vec<_>) = report.lost_rows.iter().map(|lost| (lost.row, &lost.key)).unzip();
            json!({
                "bytes": bytes, "rows_declared": declared, "rows_lost": rows, "keys_lost": keys,
                "bytes_lost": ranges(&report.lost_bytes), "lost": losses.len(), "findings": findings, "verified": verified,
            })
        }
        TargetUnit::Documents => {
            let count: u64 = losses.iter().map(|lost| lost.loss.count).sum();
            json!({"bytes": bytes, "lost": count, "findings": findings})
        }
        _ => json!({
            "rows_lost": lost(), "ranges_lost": ranges(&report.lost_ranges), "columns": columns, "bytes": bytes,
            "lost": losses.len(),
        }),
    };
    if let Some(rest) = rest.as_object_mut() {
        object.append(rest);
    }
    object
}

fn ranges(ranges: &[Range<u64>]) -> Vec<[u64; 2]> {
    ranges.iter().map(|range| [range.start, range.end]).collect()
}
