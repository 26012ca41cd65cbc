//! `wharf recover`: what is whole in a damaged file, into a new one.

mod datadings;
mod idv;
mod zds;

use std::ffi::OsString;
use std::path::PathBuf;

use container_core::{Error, Result};

use super::Outcome;
use super::dataset::is_dataset;
use super::env::Env;
use super::inputs;
use super::output::OneOutput;
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
    datadings: datadings::Options,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let locations = inputs::expand_one(&arguments.input)?;
    let [location] = locations.as_slice() else {
        return Err(Error::usage("one file is recovered at a time").in_file(arguments.input.display().to_string()));
    };
    // A stream can be read only once, and is looked at below.
    let input = match location {
        inputs::Location::Path(_) => location.input_if_there(&mut env.opener)?,
        inputs::Location::Stdin => None,
    };
    let input = input.filter(|input| super::zds::is_store(input, &env.opener));
    if input.is_none() && arguments.in_place {
        return Err(Error::usage("--in-place is for ZDS, and this is none").in_file(location.name()));
    }
    if let Some(input) = input {
        if let Some(option) = arguments.for_others() {
            return Err(Error::usage(format!("{option} is not for ZDS")).in_file(location.name()));
        }
        return match arguments.in_place {
            true => zds::in_place(location, env),
            false => zds::run(arguments, location, &input, arguments.output.path()?, env),
        };
    }
    let out = arguments.output.path()?;
    let input = location.input(&mut env.opener).map_err(|error| error.in_file(location.name()))?;
    if input.source().is_none() {
        return Err(Error::usage("a directory cannot be recovered").in_file(location.name()));
    }
    if is_dataset(&input, &env.opener) {
        if let Some(option) = arguments.for_idv() {
            return Err(Error::usage(format!("{option} is for IDV, this is datadings")).in_file(location.name()));
        }
        return datadings::run(arguments, location, &input, out, env);
    }
    if let Some(option) = arguments.datadings.given() {
        return Err(Error::usage(format!("{option} is for datadings, and this is none")).in_file(location.name()));
    }
    idv::run(arguments, location, &input, out, env)
}

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

impl Arguments {
    /// An option that was given and is for another format.
    fn for_others(&self) -> Option<&'static str> {
        self.datadings.given().or_else(|| self.for_idv())
    }
}
