//! `wharf index`: the index of datasets, made anew.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use container_core::{Progress, Result};
use serde_json::json;
use wharf::Reindex;
use wharf::reindex::{Before, Index, Report};

use super::Outcome;
use super::bar::Bar;
use super::dataset;
use super::env::Env;
use super::human::{counted, size};
use super::inputs::{self, Location};

const EXAMPLES: &str = "\
Examples:
  wharf index train.msgpack                  its index is lost, or does not fit
  wharf index 'old/*.msgpack'                datasets with an .index of the older form get one of today
  wharf index trees.d                          of a store: where its index is lost or damaged
  wharf index train.msgpack --truncate       an append was interrupted: its last sample is cut off";

/// Make the index of datadings datasets or ZDS stores anew, from their data
///
/// datadings: writes .offsets, .keys, .key_hashes, .filter and .md5 beside the data, byte for byte as their writer did. The old index is replaced
/// when the new one is whole; the data stay as they are. Data that are damaged are an error, which says where: `wharf recover` saves
/// what is left of them.
///
/// ZDS: an index that is missing, damaged, or older or longer than the data is made anew, and a torn end of the data cut off; where the
/// index named documents that the data no longer have, the exit code is 3. One that is valid is left alone without --force: in the data are the lines of deleted documents, too, which would be back.
///
/// Of several datasets or collections each is done; if one fails that is reported, and the exit code is 1.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Datasets, or patterns in quotes such as 'part-*.msgpack' (sorted)
    #[arg(value_name = "FILE", required = true)]
    files: Vec<OsString>,

    /// Cut off what an interrupted append has left behind the last whole sample: the one change ever made to data
    #[arg(long)]
    truncate: bool,

    /// Remove an .index of the older form once there is a new one
    #[arg(long)]
    remove_older: bool,

    /// Write no .md5, and remove the old one
    #[arg(long)]
    no_md5: bool,

    /// Only this collection
    #[arg(long, value_name = "NAME", help_heading = "Options for ZDS")]
    table: Option<String>,

    /// Make it anew where it is valid, too: deleted documents whose lines are still there come back
    #[arg(long, help_heading = "Options for ZDS")]
    force: bool,

    /// Threads that may work at once; 0 for all the machine has
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let mut all: Vec<Reindex> = Vec::new();
    for location in inputs::expand(&arguments.files)? {
        let mut reindex = arguments.reindex();
        reindex.input = location;
        match reindex.tables(&mut env.opener)? {
            Some(tables) => all.extend(tables.into_iter().map(|table| {
                let mut one = reindex.clone();
                one.zds.table = Some(table);
                one
            })),
            None => {
                let Location::Path(path) = &reindex.input else { continue };
                reindex.input = Location::Path(dataset::data_of(path));
                // A pattern may match the files beside the data too.
                if !all.iter().any(|other| other.input == reindex.input) {
                    all.push(reindex);
                }
            }
        }
    }
    // One that fails does not keep the others from being done.
    let mut outcome = Outcome::Done;
    for reindex in all {
        let done = one(reindex, env);
        outcome = outcome.max(done.unwrap_or_else(|error| env.fail(&error).min(Outcome::Failed)));
    }
    Ok(outcome)
}

impl Arguments {
    /// The same for the library, without the input.
    fn reindex(&self) -> Reindex {
        let mut reindex = Reindex::new(PathBuf::new());
        reindex.threads = self.threads;
        reindex.datadings.truncate = self.truncate;
        reindex.datadings.remove_older = self.remove_older;
        reindex.datadings.no_md5 = self.no_md5;
        reindex.zds.table.clone_from(&self.table);
        reindex.zds.force = self.force;
        reindex
    }
}

/// One dataset or collection.
fn one(reindex: Reindex, env: &mut Env<'_>) -> Result<Outcome> {
    let file = reindex.input.name();
    let bar = Arc::new(Bar::new(env.report.terminal));
    let mut report = Report::default();
    let reindex = reindex.with_progress(Arc::clone(&bar) as Arc<dyn Progress>);
    let outcome = reindex.run_with(&mut env.opener, &mut report);
    bar.clear();
    outcome?;
    for index in &report.indexes {
        let object = match &index.table {
            None => json!({
                "file": file, "rows": index.rows, "bytes": index.bytes, "before": word(index), "bytes_cut": index.bytes_cut,
                "kept_older": index.kept_older,
            }),
            Some(table) => {
                let deleted = index.deleted.as_ref().map_or(0, |(_, count)| *count);
                let back = if index.is_made { deleted } else { 0 };
                json!({
                    "file": file, "table": table, "rows": index.rows, "before": word(index), "made": index.is_made,
                    "brought_back": back, "deleted_in_data": deleted - back, "notes": index.notes,
                })
            }
        };
        dataset::tell(object.as_object().cloned().unwrap_or_default(), &line(&file, index), env)?;
    }
    report.losses.iter().for_each(|lost| env.report.lost(lost));
    Ok(Outcome::after(&report.losses))
}

/// What was done, for people.
fn line(file: &str, index: &Index) -> String {
    let Some(table) = &index.table else {
        let mut line = format!("{file}: {}, index made anew", counted(index.rows, "sample"));
        match index.before {
            Before::Older if index.kept_older => line.push_str(" from the older one, which is kept"),
            Before::Older => line.push_str(" from the older one"),
            Before::Missing => line.push_str("; there was none"),
            _ => {}
        }
        if index.bytes_cut > 0 {
            line.push_str(&format!("; {} of an interrupted append cut off", size(index.bytes_cut)));
        }
        return line;
    };
    let done = match (index.is_made, index.before) {
        (true, _) => "index made anew",
        (false, Before::NoData) => "there are no data",
        (false, _) => "the index is valid",
    };
    let mut line = format!("{file}: table {table}: {}, {done}", counted(index.rows, "document"));
    match &index.deleted {
        Some((first, count)) if index.is_made => {
            line.push_str(&format!("; {count} back that were deleted, such as {first:?}"));
        }
        Some((_, count)) => {
            let dead = counted(*count, "deleted document");
            line.push_str(&format!("; one made anew (--force) would bring back {dead}"));
        }
        None => {}
    }
    index.notes.iter().for_each(|note| line.push_str(&format!("; {note}")));
    line
}

/// The index that was there, for programs.
const fn word(index: &Index) -> &'static str {
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
