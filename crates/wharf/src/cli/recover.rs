//! `wharf recover`: what is whole in a damaged file, into a new one.

#[cfg(feature = "datadings")]
mod datadings;
#[cfg(feature = "idv")]
mod idv;

use std::ffi::OsString;
#[cfg(feature = "idv")]
use std::path::PathBuf;

use container_core::{Error, Result};

use super::Outcome;
#[cfg(feature = "datadings")]
use super::dataset::is_dataset;
use super::env::Env;
use super::inputs;
use super::output::OneOutput;
#[cfg(feature = "idv")]
use super::writing::Writing;

const EXAMPLES: &str = "\
Examples:
  wharf recover cut-off.idv whole.idv
  wharf recover damaged.idv whole.idv --columns Label,Features
  wharf recover tuesday.idv whole.idv --schema monday.idv
  wharf recover damaged.msgpack whole.msgpack";

/// Save what is whole out of a file that is cut off or damaged
///
/// IDV: every block is decoded; the columns and rows that are whole go into a new file, which is opened and verified before it
/// appears. Of columns and rows those are kept that make the most values; --columns decides otherwise.
///
/// datadings: every sample that is whole goes into a new dataset, also where the index is lost. Of samples with the same key the first
/// is kept.
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

    /// Replace the output if it exists
    #[arg(long)]
    force: bool,

    /// Threads that may work at once; 0 for all the machine has
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,

    /// Keep these columns, in this order, whatever rows that costs: names separated by commas (quote a name that has one:
    /// '"a,b",c'); may be given several times
    #[cfg(feature = "idv")]
    #[arg(long, value_name = "NAMES", help_heading = "Options for IDV")]
    columns: Vec<String>,

    /// The columns of a file whose table of contents is lost (it stands at the end): those of this file, which was written in
    /// the same way (IDV, or what `wharf info --json` said of it). Only blocks that lie in order, as wharf writes them, can be
    /// told apart
    #[cfg(feature = "idv")]
    #[arg(long, value_name = "FILE", help_heading = "Options for IDV")]
    schema: Option<PathBuf>,

    #[cfg(feature = "idv")]
    #[command(flatten, next_help_heading = "Options for IDV")]
    writing: Writing,

    #[cfg(feature = "datadings")]
    #[command(flatten)]
    datadings: datadings::Options,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let places = inputs::expand_one(&arguments.input)?;
    let [place] = places.as_slice() else {
        return Err(Error::usage("one file is recovered at a time").in_file(arguments.input.display().to_string()));
    };
    let out = arguments.output.path()?;
    let input = place.input(&mut env.opener).map_err(|error| error.in_file(place.name()))?;
    if input.source().is_none() {
        return Err(Error::usage("a directory cannot be recovered").in_file(place.name()));
    }
    #[cfg(feature = "datadings")]
    if cfg!(not(feature = "idv")) || is_dataset(&input, &env.opener) {
        #[cfg(feature = "idv")]
        if let Some(option) = arguments.for_idv() {
            return Err(Error::usage(format!("{option} is for IDV, this is datadings")).in_file(place.name()));
        }
        return datadings::run(arguments, place, &input, out, env);
    }
    #[cfg(all(feature = "datadings", feature = "idv"))]
    if let Some(option) = arguments.datadings.given() {
        return Err(Error::usage(format!("{option} is for datadings, and this is none")).in_file(place.name()));
    }
    #[cfg(feature = "idv")]
    return idv::run(arguments, place, &input, out, env);
    #[cfg(not(feature = "idv"))]
    Err(Error::unsupported("it is no datadings dataset").in_file(place.name()))
}

#[cfg(all(feature = "idv", feature = "datadings"))]
impl Arguments {
    /// An option that was given and is for IDV.
    fn for_idv(&self) -> Option<&'static str> {
        match self {
            Self { columns, .. } if !columns.is_empty() => Some("--columns"),
            Self { schema: Some(_), .. } => Some("--schema"),
            Self { writing, .. } => writing.given(),
        }
    }
}
