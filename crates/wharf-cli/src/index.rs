//! `wharf index`: rebuilds the index of datadings datasets and ZDS stores.

use std::ffi::OsString;

use container_core::Result;
use serde_json::json;
use wharf::Reindex;
use wharf::convert::TargetUnit;
use wharf::reindex::{Before, Index, Report};

use super::Outcome;
use super::display::{counted, size};
use super::env::Env;
use super::inputs;
use super::options::{IndexOptions, Options};
use super::{progress, records};

const EXAMPLES: &str = "\
Examples:
  wharf index train.msgpack                  rebuild a missing or wrong index
  wharf index 'old/*.msgpack'                replace legacy .index files by current ones
  wharf index trees.d                        repair the index of a store
  wharf index train.msgpack --truncate       remove the incomplete sample of an interrupted append";

/// Rebuild the index of datadings datasets or ZDS stores from the data
///
/// datadings: writes .offsets, .keys, .key_hashes, .filter and .md5 next to the data, byte for byte as the Python package does. The old index is
/// replaced atomically; the data do not change. Damaged data are an error that states the position: use `wharf recover` for them.
///
/// ZDS: rebuilds an index that is missing, damaged, or older or longer than the data, and removes an incomplete last line of the data. Exit
/// code 3 if the old index lists documents that the data no longer contain. A valid index is kept unless --force is given: the data still
/// contain deleted documents, which a rebuild would restore.
///
/// Several datasets or collections are processed one by one. If one fails, the others are still processed, and the exit code is 1.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Datasets or stores, or quoted glob patterns such as 'part-*.msgpack'
    #[arg(value_name = "FILE", required = true)]
    files: Vec<OsString>,

    #[command(flatten)]
    options: Options<IndexOptions>,

    /// Maximum number of threads; 0 for all processors
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let mut tasks: Vec<Reindex> = Vec::new();
    for location in inputs::expand(&arguments.files)? {
        let mut reindex = Reindex::of(location);
        reindex.threads = arguments.threads;
        reindex = arguments.options.given().fold(reindex, |reindex, (name, value)| reindex.with_option(name, value));
        for task in reindex.parts(&mut env.opener)? {
            // A pattern may match index files of the same dataset too.
            if !tasks.iter().any(|other| other.is_same(&task)) {
                tasks.push(task);
            }
        }
    }
    let mut outcome = Outcome::Done;
    for reindex in tasks {
        let result = rebuild(reindex, env);
        outcome = outcome.max(result.unwrap_or_else(|error| env.fail(&error).min(Outcome::Failed)));
    }
    Ok(outcome)
}

/// Rebuilds the index of one dataset or collection.
fn rebuild(reindex: Reindex, env: &mut Env<'_>) -> Result<Outcome> {
    let file = reindex.input.name();
    let mut report = Report::default();
    progress::with_line(env.report.terminal, |progress| {
        reindex.with_progress(progress).run_with(&mut env.opener, &mut report)
    })?;
    for index in &report.indexes {
        let object = match &index.table {
            None => json!({
                "file": file, "rows": index.rows, "bytes": index.bytes, "before": state_name(index), "bytes_cut": index.bytes_cut,
                "kept_older": index.kept_older,
            }),
            Some(table) => {
                let deleted = index.deleted.as_ref().map_or(0, |(_, count)| *count);
                let restored = if index.is_made { deleted } else { 0 };
                json!({
                    "file": file, "table": table, "rows": index.rows, "before": state_name(index), "made": index.is_made,
                    "brought_back": restored, "deleted_in_data": deleted - restored, "notes": index.notes,
                })
            }
        };
        records::print_result(object, &line(&file, index, report.unit), env)?;
    }
    Ok(env.lost(&report.losses))
}

/// The human-readable result.
fn line(file: &str, index: &Index, unit: TargetUnit) -> String {
    let Some(table) = &index.table else {
        let mut line = format!("{file}: {}, index rebuilt", counted(index.rows, unit.words().0));
        match index.before {
            Before::Older if index.kept_older => line.push_str(" from the legacy index, which is kept"),
            Before::Older => line.push_str(" from the legacy index"),
            Before::Missing => line.push_str(" (it was missing)"),
            _ => {}
        }
        if index.bytes_cut > 0 {
            line.push_str(&format!("; removed {} of an incomplete append", size(index.bytes_cut)));
        }
        return line;
    };
    let result = match (index.is_made, index.before) {
        (true, _) => "index rebuilt",
        (false, Before::NoData) => "no data",
        (false, _) => "the index is valid",
    };
    let mut line = format!("{file}: table {table}: {}, {result}", counted(index.rows, unit.words().0));
    match &index.deleted {
        Some((first, count)) if index.is_made => {
            line.push_str(&format!("; restored {}, such as {first:?}", counted(*count, "deleted document")));
        }
        Some((_, count)) => {
            line.push_str(&format!("; a rebuild (--force) would restore {}", counted(*count, "deleted document")));
        }
        None => {}
    }
    index.notes.iter().for_each(|note| line.push_str(&format!("; {note}")));
    line
}

/// The state of the index before, for JSON.
const fn state_name(index: &Index) -> &'static str {
    match index.before {
        Before::Offsets => "offsets",
        Before::Older => "index",
        Before::Missing if index.table.is_none() => "none",
        Before::Missing => "missing",
        Before::Valid => "valid",
        Before::Text => "text",
        Before::Damaged => "damaged",
        Before::Stale => "older than the data",
        Before::LongerThanData => "longer than the data",
        Before::Journal => "journal",
        _ => "no data",
    }
}
