//! `wharf rename`: renames variables, dimensions and attributes of a ds file.

use std::collections::BTreeMap;
use std::ffi::OsString;

use container_core::{Error, Result};

use super::Outcome;
use super::ds::edit::{self, Destination, Item, assignment};
use super::env::Env;

const EXAMPLES: &str = "\
Examples:
  wharf rename day.ds tas=temperature -o new.ds
  wharf rename day.ds lat=lon lon=lat --in-place           swap two names
  wharf rename day.ds time=t --dims -o new.ds              only the dimension
  wharf rename day.ds tas@long_name=title @history=log -o new.ds";

/// Rename variables, dimensions and attributes of a ds file
///
/// OLD=NEW renames a variable and, like ds-format, the dimension of the same name; with --dims, only a dimension. VAR@OLD=NEW renames an
/// attribute of a variable, @OLD=NEW one of the dataset. All renames happen at once, so names can be swapped. Everything else is copied byte
/// for byte.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Input file; - for standard input
    #[arg(value_name = "FILE")]
    file: OsString,

    /// OLD=NEW, VAR@OLD=NEW, @OLD=NEW
    #[arg(value_name = "OLD=NEW", required = true)]
    names: Vec<String>,

    /// Rename only dimensions
    #[arg(long)]
    dims: bool,

    #[command(flatten)]
    destination: Destination,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    edit::run(&arguments.file, &arguments.destination, "rename", env, |edit| {
        let no_pair = |argument: &str| Error::usage(format!("expected OLD=NEW, found {argument:?}"));
        if arguments.dims {
            let pairs = |argument: &String| {
                // The name of an existing dimension may contain "=".
                let splits = || argument.match_indices('=').map(|(at, _)| argument.split_at(at));
                let split = splits().find(|(old, _)| edit.has_dimension(old)).or_else(|| splits().next());
                let (old, new) = split.ok_or_else(|| no_pair(argument))?;
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
                (Item::Variable(old), new) => variables.push((old, new)),
                (Item::Attribute(variable, old), new) => attributes.entry(variable).or_default().push((old, new)),
            }
        }
        // Attributes first, while their variables still have the old names.
        for (variable, names) in attributes {
            edit.rename_attributes(variable, names)?;
        }
        let dimensions: Vec<_> = variables.iter().copied().filter(|(old, _)| edit.has_dimension(old)).collect();
        edit.rename_variables(variables)?.rename_dimensions(dimensions)?;
        Ok(Vec::new())
    })
}
