//! `wharf rename`: other names for variables, dimensions and attributes of a ds file.

use std::collections::BTreeMap;
use std::ffi::OsString;

use container_core::{Error, Result};

use super::Outcome;
use super::edit::{self, Part, Target, assignment};
use super::env::Env;

const EXAMPLES: &str = "\
Examples:
  wharf rename day.ds tas=temperature -o new.ds
  wharf rename day.ds lat=lon lon=lat --in-place           two change places
  wharf rename day.ds time=t --dims -o new.ds              the dimension alone
  wharf rename day.ds tas@long_name=title @history=log -o new.ds";

/// Give variables, dimensions and attributes of a ds file other names
///
/// Variables, with the dimension of the same name, as ds-format does it; with --dims dimensions alone; VAR@OLD=NEW renames an attribute of
/// a variable, @OLD=NEW one of the dataset. All at once, so two can change places. Values and all else are copied byte for byte.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The file; - is standard input
    #[arg(value_name = "FILE")]
    file: OsString,

    /// OLD=NEW, VAR@OLD=NEW, @OLD=NEW
    #[arg(value_name = "OLD=NEW", required = true)]
    names: Vec<String>,

    /// The names are those of dimensions
    #[arg(long)]
    dims: bool,

    /// Replace the output if it exists
    #[arg(long, conflicts_with = "in_place")]
    force: bool,

    #[command(flatten)]
    target: Target,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    edit::run(&arguments.file, &arguments.target, arguments.force, "rename", env, |edit| {
        let no_pair = |argument: &str| Error::usage(format!("{argument:?} is not OLD=NEW"));
        if arguments.dims {
            let pairs = |argument: &String| {
                // A name that is there may hold the sign itself.
                let all = || argument.match_indices('=').map(|(at, _)| argument.split_at(at));
                let found = all().find(|(old, _)| edit.has_dimension(old)).or_else(|| all().next());
                let (old, new) = found.ok_or_else(|| no_pair(argument))?;
                Ok((old.to_owned(), new.trim_start_matches('=').to_owned()))
            };
            let pairs: Vec<(String, String)> = arguments.names.iter().map(pairs).collect::<Result<_>>()?;
            edit.rename_dimensions(pairs.iter().map(|(old, new)| (old.as_str(), new.as_str())))?;
            return Ok(Vec::new());
        }
        let mut variables = Vec::new();
        let mut attributes: BTreeMap<Option<&str>, Vec<(&str, &str)>> = BTreeMap::new();
        for argument in &arguments.names {
            match assignment(argument, edit).ok_or_else(|| no_pair(argument))? {
                (Part::Variable(old), new) => variables.push((old, new)),
                (Part::Attribute(variable, old), new) => attributes.entry(variable).or_default().push((old, new)),
            }
        }
        // Attributes first: their variables are called by the old names.
        for (variable, names) in attributes {
            edit.rename_attributes(variable, names)?;
        }
        let dimensions: Vec<_> = variables.iter().copied().filter(|(old, _)| edit.has_dimension(old)).collect();
        edit.rename_variables(variables)?.rename_dimensions(dimensions)?;
        Ok(Vec::new())
    })
}
