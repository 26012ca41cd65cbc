//! `wharf index`: the index of datasets, made anew.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use container_core::{Error, OpenOptions, Progress, Result};
use datadings::{Part, RebuildOptions, Rebuilt, rebuild_index};
use serde_json::json;

use super::Outcome;
use super::bar::Bar;
use super::dataset;
use super::env::Env;
use super::human::{counted, size};
use super::inputs::{self, Place};

const EXAMPLES: &str = "\
Examples:
  wharf index train.msgpack                  its index is lost, or does not fit
  wharf index 'old/*.msgpack'                datasets with an .index of the older form get one of today
  wharf index train.msgpack --truncate       an append was interrupted: its last sample is cut off";

/// Make the index of datadings datasets anew, from their data
///
/// Writes .offsets, .keys, .key_hashes, .filter and .md5 beside the data, byte for byte as their writer did. The old index is replaced
/// when the new one is whole; the data stay as they are. Data that are damaged are an error, which says where: `wharf recover` saves
/// what is left of them.
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

    /// Threads that may work at once; 0 for all the machine has
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let places = inputs::expand(&arguments.files)?;
    let mut paths = Vec::with_capacity(places.len());
    for place in &places {
        match place {
            Place::Path(path) if path.is_dir() => {
                return Err(Error::usage("a directory is no datadings dataset").in_file(place.name()));
            }
            Place::Path(path) => {
                dataset::check(place, &mut env.opener, "index").map_err(|error| error.in_file(place.name()))?;
                let data = dataset::data_of(path);
                // A pattern may match the files beside the data too.
                if !paths.contains(&data) {
                    paths.push(data);
                }
            }
            Place::Stdin => return Err(Error::usage("an index stands beside a file: standard input has none")),
        }
    }
    for path in &paths {
        one(path, arguments, env)?;
    }
    Ok(Outcome::Done)
}

fn one(path: &Path, arguments: &Arguments, env: &mut Env<'_>) -> Result<()> {
    let was = Before::of(path);
    let bar = Arc::new(Bar::new(env.report.terminal));
    bar.name(path.display().to_string());
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
