//! `wharf rm`: removes variables, dimensions and attributes from a ds file, or documents from a ZDS store.

use std::ffi::OsString;

use container_core::{Error, Result};

use super::Outcome;
use super::ds::edit::{self, Destination, Item};
use super::env::Env;
use wharf::hub::zds::matching_ids;

const EXAMPLES: &str = "\
Examples:
  wharf rm day.ds height quality -o small.ds
  wharf rm day.ds tas@comment @history --in-place      an attribute of a variable, one of the dataset
  wharf rm day.ds --dim band -o flat.ds                all variables along a dimension
  wharf rm trees.d oak elm --table europe              documents, in place
  wharf rm trees.d --where 'height < 1'                documents for which the condition holds";

/// Remove variables, dimensions and attributes from a ds file, or documents from a ZDS store
///
/// ds: everything else is copied byte for byte. ZDS: documents are deleted in place, all or none; `wharf compact` reclaims their space.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// ds file, or - for standard input; or ZDS store
    #[arg(value_name = "FILE")]
    file: OsString,

    /// Variables, or attributes as VAR@ATTR or @ATTR; ids of documents
    #[arg(value_name = "NAME", required_unless_present_any = ["dim", "conditions"])]
    names: Vec<String>,

    /// The collection, if the store has several
    #[arg(long, value_name = "NAME", help_heading = "Options for ZDS")]
    table: Option<String>,

    /// Delete the documents for which an SQL condition holds, such as "stock = 0 and price < 10". Repeatable: all conditions must hold
    #[arg(
        long = "where",
        value_name = "CONDITION",
        allow_hyphen_values = true,
        conflicts_with = "names",
        help_heading = "Options for ZDS"
    )]
    conditions: Vec<String>,

    /// Ignore ids that do not exist
    #[arg(long, help_heading = "Options for ZDS")]
    ignore_missing: bool,

    /// Remove all variables along this dimension. Repeatable
    #[arg(long, value_name = "NAME")]
    dim: Vec<String>,

    #[command(flatten)]
    destination: Destination,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let location = super::inputs::Location::Path(arguments.file.clone().into());
    let input = if arguments.file == "-" { None } else { location.existing_input(&mut env.opener)? };
    if input.is_some_and(|input| super::zds::is_store(&input, &env.opener)) {
        if let Some(option) = arguments.ds_option() {
            let error = Error::usage(format!("{option} is for ds files; ZDS documents are deleted in place"));
            return Err(error.in_file(location.name()));
        }
        let Arguments { names, table, ignore_missing, .. } = arguments;
        let table = table.as_deref();
        return match super::select::filter(&arguments.conditions)? {
            Some(condition) => {
                let ids = matching_ids(&location, table, &condition, &mut env.opener)?;
                super::zds::remove(&location, &ids, table, *ignore_missing, env)
            }
            None => super::zds::remove(&location, names, table, *ignore_missing, env),
        };
    }
    if !arguments.conditions.is_empty() {
        return Err(Error::usage("--where deletes documents of ZDS stores").in_file(location.name()));
    }
    if arguments.table.is_some() || arguments.ignore_missing {
        return Err(Error::usage("--table and --ignore-missing are for ZDS stores").in_file(location.name()));
    }
    from_ds(arguments, env)
}

fn from_ds(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    edit::run(&arguments.file, &arguments.destination, "rm", env, |edit| {
        // Resolve all names before removing anything. A variable along two removed dimensions is removed once.
        let items: Vec<Item<'_>> = arguments.names.iter().map(|name| Item::parse(name, edit)).collect();
        if let Some(unknown) = arguments.dim.iter().find(|name| !edit.has_dimension(name)) {
            return Err(Error::usage(format!("unknown dimension {unknown:?}")));
        }
        for item in &items {
            if let Item::Attribute(variable, name) = item {
                edit.remove_attribute(*variable, name)?;
            }
        }
        for item in &items {
            if let Item::Variable(name) = item {
                edit.remove_variable(name)?;
            }
        }
        for name in &arguments.dim {
            if edit.has_dimension(name) {
                edit.remove_dimension(name)?;
            }
        }
        Ok(Vec::new())
    })
}

impl Arguments {
    /// The first option given that applies only to ds files.
    fn ds_option(&self) -> Option<&'static str> {
        let output = self.destination.has_output();
        [("--dim", !self.dim.is_empty()), ("--force", self.destination.force), ("--output", output)]
            .into_iter()
            .find(|(_, given)| *given)
            .map(|(option, _)| option)
    }
}
