//! `wharf index`: the index of datasets, made anew.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use container_core::{Error, Result};
use container_core::{OpenOptions, Progress};
use datadings::{Part, RebuildOptions, Rebuilt, rebuild_index};
use serde_json::json;

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

/// What an index is made of.
enum Work {
    Table(Location, String),
    Dataset(PathBuf),
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let mut all = Vec::new();
    for location in inputs::expand(&arguments.files)? {
        add(location, arguments, env, &mut all)?;
    }
    // One that fails does not keep the others from being done.
    let mut outcome = Outcome::Done;
    for work in &all {
        let done = match work {
            Work::Table(location, name) => super::zds::index(location, name, arguments.force, env),
            Work::Dataset(path) => one(path, arguments, env).map(|()| Outcome::Done),
        };
        outcome = outcome.max(done.unwrap_or_else(|error| env.fail(&error).min(Outcome::Failed)));
    }
    Ok(outcome)
}

/// Finds out what there is to be done with an input.
fn add(location: Location, arguments: &Arguments, env: &mut Env<'_>, all: &mut Vec<Work>) -> Result<()> {
    if let Location::Path(_) = location
        && let Some(input) = location.input_if_there(&mut env.opener)?
        && super::zds::is_store(&input, &env.opener)
    {
        if arguments.truncate || arguments.remove_older || arguments.no_md5 {
            let detail = "--truncate, --remove-older and --no-md5 are for datadings, this is zds";
            return Err(Error::usage(detail).in_file(location.name()));
        }
        let tables = super::zds::tables(&location, arguments.table.as_deref(), &mut env.opener)?;
        all.extend(tables.into_iter().map(|name| Work::Table(location.clone(), name)));
        return Ok(());
    }
    if arguments.table.is_some() || arguments.force {
        return Err(
            Error::usage("--table and --force are for ZDS stores, and this is not one").in_file(location.name())
        );
    }
    match &location {
        Location::Path(path) if path.is_dir() => {
            Err(Error::usage("a directory is not a datadings dataset").in_file(location.name()))
        }
        Location::Path(path) => {
            dataset::check(&location, &mut env.opener, "index").map_err(|error| error.in_file(location.name()))?;
            let data = dataset::data_of(path);
            // A pattern may match the files beside the data too.
            if !all.iter().any(|work| matches!(work, Work::Dataset(path) if *path == data)) {
                all.push(Work::Dataset(data));
            }
            Ok(())
        }
        Location::Stdin => Err(Error::usage("an index stands beside a file: standard input has none")),
    }
}

fn one(path: &Path, arguments: &Arguments, env: &mut Env<'_>) -> Result<()> {
    let was = Before::of(path);
    let bar = Arc::new(Bar::new(env.report.terminal));
    bar.name(&path.display().to_string());
    let options = RebuildOptions::default()
        .with_open(OpenOptions::default().with_access(env.opener.access))
        .with_threads(arguments.threads)
        .with_md5(!arguments.no_md5)
        .with_truncate(arguments.truncate)
        .with_keep_older(!arguments.remove_older)
        .with_progress(Arc::clone(&bar) as Arc<dyn Progress>);
    let rebuilt = rebuild_index(path, &options);
    bar.clear();
    let Rebuilt { samples, bytes, cut, kept_older, .. } = rebuilt?;
    let object = json!({
        "file": path.display().to_string(), "rows": samples, "bytes": bytes, "before": was.name(), "bytes_cut": cut,
        "kept_older": kept_older,
    });
    let mut line = format!("{}: {}, index made anew", path.display(), counted(samples, "sample"));
    match was {
        Before::Today => {}
        Before::Older if kept_older => line.push_str(" from the older one, which is kept"),
        Before::Older => line.push_str(" from the older one"),
        Before::None => line.push_str("; there was none"),
    }
    if cut > 0 {
        line.push_str(&format!("; {} of an interrupted append cut off", size(cut)));
    }
    dataset::tell(object.as_object().cloned().unwrap_or_default(), &line, env)
}

/// The index that was there.
#[derive(Clone, Copy)]
enum Before {
    Today,
    Older,
    None,
}

impl Before {
    fn of(path: &Path) -> Self {
        let there = |part| dataset::member(path, part).is_file();
        match (there(Part::Offsets), there(Part::LegacyIndex)) {
            (true, _) => Self::Today,
            (false, true) => Self::Older,
            (false, false) => Self::None,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Today => "offsets",
            Self::Older => "index",
            Self::None => "none",
        }
    }
}
