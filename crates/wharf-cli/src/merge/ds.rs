//! ds files joined along a dimension.

use container_core::{Error, Result};
use dsfmt::{MergeOptions, Reader, merge};

use super::super::Outcome;
use super::super::edit;
use super::super::env::Env;
use super::super::inputs::Location;
use super::super::report::Lost;
use super::Arguments;

/// Options that only ds files have.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Options for ds")]
pub(super) struct Joining {
    /// The dimension along which the files are joined; one that none of them has is new
    #[arg(long, value_name = "NAME")]
    dim: Option<String>,

    /// Variables that are not along it are joined along this new one; without, the first file's are kept
    #[arg(long, value_name = "NAME", requires = "dim")]
    new: Option<String>,

    /// Only these variables are joined along a new dimension, with commas between them
    #[arg(long, value_name = "NAMES", requires = "dim", value_delimiter = ',')]
    variables: Option<Vec<String>>,

    /// Times in different units are joined as they are; without, they get the units of the first file
    #[arg(long, requires = "dim")]
    keep_times: bool,
}

impl Joining {
    /// An option that was given.
    pub(super) fn given(&self) -> Option<&'static str> {
        let Self { dim, new, variables, keep_times } = self;
        let given = [
            ("--dim", dim.is_some()),
            ("--new", new.is_some()),
            ("--variables", variables.is_some()),
            ("--keep-times", *keep_times),
        ];
        given.iter().find(|(_, given)| *given).map(|(option, _)| *option)
    }
}

pub(super) fn run(arguments: &Arguments, locations: &[Location], env: &mut Env<'_>) -> Result<Outcome> {
    let options = &arguments.ds;
    let Some(dimension) = &options.dim else {
        return Err(Error::usage("ds files are joined along a dimension: --dim says which"));
    };
    let readers: Vec<Reader> =
        locations.iter().map(|location| edit::open(location, &mut env.opener, "merge")).collect::<Result<_>>()?;
    let wanted = MergeOptions::default()
        .with_new(options.new.clone())
        .with_variables(options.variables.clone())
        .with_keep_times(options.keep_times)
        .with_names(locations.iter().map(Location::name).collect());
    let mut joined = Some(merge(&readers.iter().collect::<Vec<_>>(), dimension, wanted)?);
    let losses = joined.iter().flat_map(|joined| joined.losses()).cloned();
    let mut lost: Vec<Lost> = losses.map(|loss| Lost { file: None, loss }).collect();
    edit::put(&arguments.output, arguments.force, locations, env, &mut |path, output| match joined.take() {
        Some(joined) => Ok((joined.write(path, output)?, std::mem::take(&mut lost))),
        None => Err(Error::usage("the files are written already")),
    })
}
