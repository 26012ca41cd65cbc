//! `wharf merge`: one file of many.

mod datadings;
mod ds;
mod idv;
mod zds;

use std::ffi::OsString;
use std::path::PathBuf;

use container_core::Error;
use container_core::Input;
use container_core::Result;

use super::Outcome;
use super::dataset::is_dataset;
use super::env::Env;
use super::inputs;
use super::writing::Writing;

const EXAMPLES: &str = "\
Examples:
  wharf merge monday.idv tuesday.idv -o week.idv
  wharf merge 'day-*.idv' -o all.idv --compression none
  wharf merge cats.msgpack dogs.msgpack -o pets.msgpack --strategy random --seed 7
  wharf merge 'day-*.ds' --dim time -o week.ds
  wharf merge cats.d dogs.zds -o pets.d --on-duplicate first
  wharf merge run-1.ds run-2.ds --dim run -o runs.ds           a new dimension";

/// Join files of one format into one
///
/// IDV: rows follow one another in the order of the files. Names, types and metadata have to be equal. Blocks are carried over as
/// they are, without being decompressed, where the new file can have them so: when every file but the last ends with a full
/// block. `verify` tells whether the result is sound.
///
/// datadings: samples follow one another, or come from all datasets at random. Messages are copied byte for byte.
///
/// ds: variables along --dim follow one another; where no file has the dimension it is new. Others are those of the first file that has
/// them. Of attributes of one name the last file's are kept; what differs is told. What a file does not have is missing.
///
/// ZDS: documents of collections of the same name follow one another, byte for byte; --into joins all collections.
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
    #[arg(long, value_name = "NAMES", help_heading = "Options for IDV")]
    columns: Vec<String>,

    #[command(flatten, next_help_heading = "Options for IDV")]
    writing: Writing,

    #[command(flatten)]
    datadings: datadings::Options,

    #[command(flatten)]
    ds: ds::Joining,

    #[command(flatten)]
    zds: zds::Options,

    /// What to do with a sample or document whose key one before has already [default: error]
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Options for datadings and ZDS")]
    on_duplicate: Option<OnDuplicate>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum OnDuplicate {
    /// Stop, and write nothing
    Error,
    /// Keep the one that came first
    First,
    /// Keep the one that came last (ZDS)
    Last,
    /// Keep both: the later key gets #2, #3... appended (datadings)
    Rename,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let locations = inputs::expand(&arguments.files)?;
    if is_format(&locations, super::zds::NAME, env)? {
        let samples = arguments.datadings.given().map(|option| (option, "datadings"));
        arguments.refuse("zds", &arguments.for_idv().into_iter().chain(samples).collect::<Vec<_>>())?;
        if let Some(option) = arguments.ds.given() {
            arguments.refuse("zds", &[(option, "ds")])?;
        }
        if arguments.on_duplicate == Some(OnDuplicate::Rename) {
            return Err(Error::usage("--on-duplicate rename is for datadings: an id has no #"));
        }
        return zds::run(arguments, &locations, env);
    }
    if let Some(option) = arguments.zds.given() {
        return Err(Error::usage(format!("{option} is for ZDS, and the first input is none"))
            .in_file(locations.first().map(inputs::Location::name).unwrap_or_default()));
    }
    if let Some(location) = locations.iter().find(|location| **location != inputs::Location::Stdin) {
        // One that cannot be opened is told of below.
        let input = location.input_if_there(&mut env.opener)?;
        input.map_or(Ok(()), |input| inputs::not_netcdf(&input)).map_err(|error| error.in_file(location.name()))?;
    }
    if is_format(&locations, super::edit::NAME, env)? {
        arguments
            .refuse("ds", &arguments.for_idv().into_iter().chain(arguments.for_datadings()).collect::<Vec<_>>())?;
        return ds::run(arguments, &locations, env);
    }
    if let Some(option) = arguments.ds.given() {
        return Err(Error::usage(format!("{option} is for ds, and the first input is none"))
            .in_file(locations.first().map(inputs::Location::name).unwrap_or_default()));
    }
    if datasets(&locations, env)? {
        arguments.refuse("datadings", &arguments.for_idv().into_iter().collect::<Vec<_>>())?;
        return datadings::run(arguments, &locations, env);
    }
    if let Some((option, _)) = arguments.for_datadings() {
        return Err(Error::usage(format!("{option} is for datadings, and the first input is none"))
            .in_file(locations.first().map(inputs::Location::name).unwrap_or_default()));
    }
    idv::run(arguments, &locations, env)
}

fn is_format(locations: &[inputs::Location], name: &str, env: &mut Env<'_>) -> Result<bool> {
    let input = first(locations, env)?;
    let format = input.and_then(|input| env.opener.registry.detect(&input).ok());
    Ok(format.is_some_and(|format| format.name() == name))
}

/// The first input that is not a stream, which could be looked at only once.
fn first(locations: &[inputs::Location], env: &mut Env<'_>) -> Result<Option<Input>> {
    let first = locations.iter().find(|location| **location != inputs::Location::Stdin);
    first.map_or(Ok(None), |location| location.input_if_there(&mut env.opener))
}

fn datasets(locations: &[inputs::Location], env: &mut Env<'_>) -> Result<bool> {
    Ok(first(locations, env)?.is_some_and(|input| is_dataset(&input, &env.opener)))
}

impl Arguments {
    /// Fails for an option that is for another format.
    fn refuse(&self, found: &str, given: &[(&str, &str)]) -> Result<()> {
        match given.first() {
            Some((option, format)) => {
                Err(Error::usage(format!("{option} is for {format}, and the inputs are {found}")))
            }
            None => Ok(()),
        }
    }

    /// An option that was given and is for IDV, and the format's name.
    fn for_idv(&self) -> Option<(&'static str, &'static str)> {
        let given = if self.columns.is_empty() { self.writing.given() } else { Some("--columns") };
        given.map(|option| (option, "IDV"))
    }

    /// An option that was given and is for datadings, and the format's name.
    fn for_datadings(&self) -> Option<(&'static str, &'static str)> {
        let duplicates = self.on_duplicate.is_some().then_some("--on-duplicate");
        self.datadings.given().or(duplicates).map(|option| (option, "datadings"))
    }
}
