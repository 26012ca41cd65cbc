//! `wharf merge`: one file of many.

#[cfg(feature = "datadings")]
mod datadings;
#[cfg(feature = "idv")]
mod idv;

use std::ffi::OsString;
use std::path::PathBuf;

#[cfg(all(feature = "idv", feature = "datadings"))]
use container_core::Error;
use container_core::Result;

use super::Outcome;
#[cfg(feature = "datadings")]
use super::dataset::is_dataset;
use super::env::Env;
use super::inputs;
#[cfg(feature = "idv")]
use super::writing::Writing;

const EXAMPLES: &str = "\
Examples:
  wharf merge monday.idv tuesday.idv -o week.idv
  wharf merge 'day-*.idv' -o all.idv --compression none
  wharf merge cats.msgpack dogs.msgpack -o pets.msgpack --strategy random --seed 7";

/// Join files of one format into one
///
/// IDV: rows follow one another in the order of the files. Names, types and metadata have to be equal. Blocks are carried over as
/// they are, without being decompressed, where the new file can have them so: when every file but the last ends with a full
/// block. `verify` tells whether the result is sound.
///
/// datadings: samples follow one another, or come from all datasets at random. Messages are copied byte for byte.
///
/// With --json, what was done is one object on standard output.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Files, or patterns in quotes such as 'day-*.idv' (sorted); - is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<OsString>,

    /// The file to write
    #[arg(short, long, value_name = "OUT", required = true)]
    output: PathBuf,

    /// Replace the output if it exists
    #[arg(long)]
    force: bool,

    /// Threads that may work at once; 0 for all the machine has
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,

    /// Only these columns, in this order
    #[cfg(feature = "idv")]
    #[arg(long, value_name = "NAMES", help_heading = "Options for IDV")]
    columns: Vec<String>,

    #[cfg(feature = "idv")]
    #[command(flatten, next_help_heading = "Options for IDV")]
    writing: Writing,

    #[cfg(feature = "datadings")]
    #[command(flatten)]
    datadings: datadings::Options,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let places = inputs::expand(&arguments.files)?;
    #[cfg(feature = "datadings")]
    if datasets(&places, env) {
        #[cfg(feature = "idv")]
        if let Some(option) = arguments.for_idv() {
            return Err(Error::usage(format!("{option} is for IDV, and the inputs are datadings")));
        }
        return datadings::run(arguments, &places, env);
    }
    #[cfg(feature = "idv")]
    {
        #[cfg(feature = "datadings")]
        if let Some(option) = arguments.datadings.given() {
            return Err(Error::usage(format!("{option} is for datadings, and the first input is none"))
                .in_file(places.first().map(inputs::Place::name).unwrap_or_default()));
        }
        idv::run(arguments, &places, env)
    }
    #[cfg(not(feature = "idv"))]
    {
        datadings::run(arguments, &places, env)
    }
}

/// What the inputs are says the first that is no stream, which could be looked at only once.
#[cfg(feature = "datadings")]
fn datasets(places: &[inputs::Place], env: &mut Env<'_>) -> bool {
    let first = places.iter().find(|place| **place != inputs::Place::Stdin);
    let input = first.and_then(|place| place.input(&mut env.opener).ok());
    input.is_some_and(|input| is_dataset(&input, &env.opener))
}

#[cfg(all(feature = "idv", feature = "datadings"))]
impl Arguments {
    /// An option that was given and is for IDV.
    fn for_idv(&self) -> Option<&'static str> {
        if self.columns.is_empty() { self.writing.given() } else { Some("--columns") }
    }
}
