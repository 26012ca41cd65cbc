//! `wharf recover`: what is whole in a damaged file, into a new one.

use std::ffi::OsString;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use container_core::{Error, Overwrite, Progress, Result};
use serde_json::{Map, Value, json};
use wharf::Recover;
use wharf::recover::{LostRow, RepairedTable, Report};

use super::Outcome;
use super::bar::Bar;
use super::env::Env;
use super::human::{clean, counted, size};
use super::inputs;
use super::output::OneOutput;
use super::report::error_object;
use super::writing::Writing;

const EXAMPLES: &str = "\
Examples:
  wharf recover cut-off.idv whole.idv
  wharf recover damaged.idv whole.idv --columns Label,Features
  wharf recover tuesday.idv whole.idv --schema monday.idv
  wharf recover damaged.msgpack whole.msgpack
  wharf recover damaged.d whole.d
  wharf recover trees.d --in-place";

/// Save what is whole out of a file that is cut off or damaged
///
/// IDV: every block is decoded; the columns and rows that are whole go into a new file, which is opened and verified before it
/// appears. Of columns and rows those are kept that make the most values; --columns decides otherwise.
///
/// datadings: every sample that is whole goes into a new dataset, also where the index is lost. Of samples with the same key the first
/// is kept.
///
/// ZDS: every document that is whole goes into a new store, also where the index is lost or damaged; with --in-place the store itself is put
/// right: a torn end is cut off, and a fresh index written.
///
/// Parquet, Arrow IPC: every range of rows that can be read goes into a new file.
///
/// Exit code 3 when anything was lost; the warnings say what. With --json, what was done is one object on standard output.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = "wharf recover [OPTIONS] <IN> <OUT>")]
pub(crate) struct Arguments {
    /// The damaged file; - is standard input
    #[arg(value_name = "IN")]
    input: OsString,

    #[command(flatten)]
    output: OneOutput,

    /// Put the store right where it is (ZDS)
    #[arg(long, group = "OneOutput")]
    in_place: bool,

    /// Replace the output if it exists
    #[arg(long)]
    force: bool,

    /// Threads that may work at once; 0 for all the machine has
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,

    /// Keep these columns, in this order, whatever rows that costs: names separated by commas (quote a name that has one:
    /// '"a,b",c'); may be given several times
    #[arg(long, value_name = "NAMES", help_heading = "Options for IDV")]
    columns: Vec<String>,

    /// The columns of a file whose table of contents is lost (it stands at the end): those of this file, which was written in
    /// the same way (IDV, or what `wharf info --json` said of it). Only blocks that lie in order, as wharf writes them, can be
    /// told apart
    #[arg(long, value_name = "FILE", help_heading = "Options for IDV")]
    schema: Option<PathBuf>,

    #[command(flatten, next_help_heading = "Options for IDV")]
    writing: Writing,

    #[command(flatten)]
    datadings: Datadings,
}

/// Options that only datadings has.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Options for datadings")]
struct Datadings {
    /// Keep a sample whose key one before has already: the key gets #2, #3... appended
    #[arg(long)]
    rename_duplicates: bool,

    /// Write no .md5
    #[arg(long)]
    no_md5: bool,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let locations = inputs::expand_one(&arguments.input)?;
    let [location] = locations.as_slice() else {
        return Err(Error::usage("one file is recovered at a time").in_file(arguments.input.display().to_string()));
    };
    let bar = Arc::new(Bar::new(env.report.terminal));
    let mut recover = Recover::of(location.clone()).with_progress(Arc::clone(&bar) as Arc<dyn Progress>);
    recover.threads = arguments.threads;
    recover.idv.columns.clone_from(&arguments.columns);
    recover.idv.schema.clone_from(&arguments.schema);
    recover.idv.output = arguments.writing.output();
    recover.datadings.rename_duplicates = arguments.datadings.rename_duplicates;
    recover.datadings.no_md5 = arguments.datadings.no_md5;
    let mut report = Report::default();
    if arguments.in_place {
        let outcome = recover.in_place(&mut env.opener, &mut report);
        bar.clear();
        in_place(&location.name(), &report, env)?;
        outcome?;
    } else {
        let overwrite = if arguments.force { Overwrite::Replace } else { Overwrite::Refuse };
        let path = arguments.output.path()?;
        let outcome = recover.run(path, overwrite, &mut env.opener, &mut report);
        bar.clear();
        outcome?;
        tell(&location.name(), &path.display().to_string(), &report, env)?;
    }
    Ok(match report.losses.is_empty() {
        false if report.format == "zds" && !arguments.in_place => Outcome::after(&report.losses),
        false => Outcome::Loss,
        true => Outcome::Done,
    })
}

/// Says what was done to each table of a store.
fn in_place(input: &str, report: &Report, env: &mut Env<'_>) -> Result<()> {
    report.losses.iter().for_each(|lost| env.report.lost(lost));
    for table in &report.tables {
        let RepairedTable { name, rows, notes, .. } = table;
        let text = if env.json() {
            json!({"file": input, "table": name, "rows": rows, "notes": notes}).to_string()
        } else {
            let state = if notes.is_empty() { "nothing was wrong".to_owned() } else { notes.join("; ") };
            clean(&format!("{input}: table {name}: {}: {state}", counted(*rows, "document"))).into_owned()
        };
        env.stdout.print(&format!("{text}\n"))?;
    }
    Ok(())
}

/// Lost samples that people are told.
const SHOWN: usize = 20;

/// Says what was saved and lost.
fn tell(input: &str, name: &str, report: &Report, env: &mut Env<'_>) -> Result<()> {
    if report.format != "zds" {
        for finding in &report.findings {
            env.report.message(format!("warning: {input}: {finding}"));
        }
    }
    report.losses.iter().for_each(|lost| env.report.lost(lost));
    if env.json() {
        return env.stdout.print(&format!("{}\n", Value::Object(object(name, report))));
    }
    // The first is told as a loss.
    for LostRow { row, key, .. } in report.lost_rows.iter().skip(1).take(SHOWN) {
        let key = key.as_ref().map(|key| format!(", key {key:?}")).unwrap_or_default();
        env.report.message(format!("warning: {input}: sample lost (row {row}{key})"));
    }
    let Report { rows, bytes, declared, .. } = *report;
    let of = match declared {
        Some(declared) if declared != rows => format!(" of {declared}"),
        _ => String::new(),
    };
    let done = match report.format {
        "idv" => format!("{}{of}, {}, verified", counted(rows, "row"), counted(report.columns.len(), "column")),
        "datadings" => format!("{}{of}, {}, verified", counted(rows, "sample"), size(bytes)),
        "zds" => format!("{}, {}", counted(rows, "document"), size(bytes)),
        _ => format!("{}{of}, {}", counted(rows, "row"), size(bytes)),
    };
    env.stdout.print(&format!("{}\n", clean(&format!("{name}: {done}"))))
}

/// The same for programs.
fn object(name: &str, report: &Report) -> Map<String, Value> {
    let Report { format, rows, declared, columns, bytes, losses, .. } = report;
    let mut object = Map::new();
    object.insert("file".into(), name.into());
    object.insert("to".into(), (*format).into());
    object.insert("rows".into(), (*rows).into());
    let findings: Vec<Value> = report.findings.iter().map(|error| Value::Object(error_object(error))).collect();
    let lost = || declared.map(|declared| declared.saturating_sub(*rows));
    let mut rest = match *format {
        "idv" => json!({
            "rows_lost": lost(), "columns": columns, "bytes": bytes, "lost": losses.len(), "findings": findings, "verified": true,
        }),
        "datadings" => {
            let (rows, keys): (Vec<_>, Vec<_>) = report.lost_rows.iter().map(|lost| (lost.row, &lost.key)).unzip();
            json!({
                "bytes": bytes, "rows_declared": declared, "rows_lost": rows, "keys_lost": keys,
                "bytes_lost": ranges(&report.lost_bytes), "lost": losses.len(), "findings": findings, "verified": true,
            })
        }
        "zds" => {
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
