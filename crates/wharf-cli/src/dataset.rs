//! What the verbs share that write datadings: how an output is written, and how it is reported.

use std::path::Path;

use container_core::{Error, Result};
use datadings::{WriterOptions, Written};
use serde_json::{Value, json};

use super::env::Env;
use super::inputs::{self, Location};
pub(crate) use wharf::hub::dataset::{
    Dataset, NAME, check, copy_options, data_of, member, members, refuse, rejected, seed,
};

/// How a dataset is written.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Placing {
    /// Replace the output if it exists
    #[arg(long)]
    pub(crate) force: bool,

    /// Write no .md5: faster, where MD5 is slower than the disk
    #[arg(long)]
    pub(crate) no_md5: bool,

    /// Threads that may work at once; 0 for all the machine has
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) threads: usize,
}

impl Placing {
    /// Options for a copy: what is no sample for others stays as it is.
    pub(crate) fn options(&self) -> WriterOptions {
        copy_options(self.force, self.no_md5, self.threads)
    }
}

/// The one input of a verb: a name, or a pattern that only one file matches.
pub(crate) fn single(argument: &std::ffi::OsStr, verb: &str) -> Result<Location> {
    let mut locations = inputs::expand_one(argument)?;
    match (locations.pop(), locations.len()) {
        (Some(location), 0) => Ok(location),
        (_, others) => {
            let detail = format!("the pattern matches {} files; {verb} takes one", others + 1);
            Err(Error::usage(detail).in_file(argument.display().to_string()))
        }
    }
}

/// What was written, for programs.
pub(crate) fn done(path: &Path, written: Written) -> serde_json::Map<String, Value> {
    let mut object = serde_json::Map::new();
    object.insert("file".into(), json!(path.display().to_string()));
    object.insert("to".into(), NAME.into());
    object.insert("rows".into(), written.samples.into());
    object.insert("bytes".into(), written.bytes.into());
    object
}

/// Prints what was done: an object for programs, or else this line.
pub(crate) fn tell(object: serde_json::Map<String, Value>, line: &str, env: &mut Env<'_>) -> Result<()> {
    let text = if env.json() { Value::Object(object).to_string() } else { super::human::clean(line).into_owned() };
    env.stdout.print(&format!("{text}\n"))
}
