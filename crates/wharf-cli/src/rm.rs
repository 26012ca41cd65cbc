//! `wharf rm`: variables, dimensions and attributes taken out of a ds file, documents out of a ZDS store.

use std::ffi::OsString;

use container_core::Error;
use container_core::Result;

use super::Outcome;
use super::edit::{self, Part, Target};
use super::env::Env;

const EXAMPLES: &str = "\
Examples:
  wharf rm day.ds height quality -o small.ds
  wharf rm day.ds tas@comment @history --in-place      attributes: of a variable, of the dataset
  wharf rm day.ds --dim band -o flat.ds                every variable along a dimension
  wharf rm trees.d oak elm --table europe              documents, in place";

/// Take variables, dimensions and attributes out of a ds file, or documents out of a ZDS store
///
/// ds: what stays is copied byte for byte. ZDS: documents are deleted in place, all of them or none; their bytes stay until `wharf compact`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The file; - is standard input. Or the store
    #[arg(value_name = "FILE")]
    file: OsString,

    /// Variables; VAR@ATTR, @ATTR for attributes. Or ids of documents
    #[arg(value_name = "NAME", required_unless_present = "dim")]
    names: Vec<String>,

    /// The collection, where a store has several
    #[arg(long, value_name = "NAME", help_heading = "Options for ZDS")]
    table: Option<String>,

    /// Pass over ids that are not there
    #[arg(long, help_heading = "Options for ZDS")]
    ignore_missing: bool,

    /// All variables along this dimension; may be given again
    #[arg(long, value_name = "NAME")]
    dim: Vec<String>,

    /// Replace the output if it exists
    #[arg(long, conflicts_with = "in_place")]
    force: bool,

    #[command(flatten)]
    target: Target,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let location = super::inputs::Location::Path(arguments.file.clone().into());
    let input = if arguments.file == "-" { None } else { location.existing_input(&mut env.opener)? };
    if input.is_some_and(|input| super::zds::is_store(&input, &env.opener)) {
        if let Some(option) = arguments.for_ds() {
            let error = Error::usage(format!("{option} is for ds: documents are deleted in place"));
            return Err(error.in_file(location.name()));
        }
        let Arguments { names, table, ignore_missing, .. } = arguments;
        return super::zds::remove(&location, names, table.as_deref(), *ignore_missing, env);
    }
    if arguments.table.is_some() || arguments.ignore_missing {
        return Err(Error::usage("--table and --ignore-missing are for ZDS, and this is none").in_file(location.name()));
    }
    from_ds(arguments, env)
}

fn from_ds(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    edit::run(&arguments.file, &arguments.target, arguments.force, "rm", env, |edit| {
        // What is meant is looked up before anything is gone; a variable along two of the dimensions goes once.
        let parts: Vec<Part<'_>> = arguments.names.iter().map(|name| Part::of(name, edit)).collect();
        if let Some(unknown) = arguments.dim.iter().find(|name| !edit.has_dimension(name)) {
            return Err(Error::usage(format!("unknown dimension {unknown:?}")));
        }
        for part in &parts {
            if let Part::Attribute(variable, name) = part {
                edit.remove_attribute(*variable, name)?;
            }
        }
        for part in &parts {
            if let Part::Variable(name) = part {
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
    /// An option that was given and is for ds.
    fn for_ds(&self) -> Option<&'static str> {
        let output = self.target.given();
        [("--dim", !self.dim.is_empty()), ("--force", self.force), ("--output", output)]
            .into_iter()
            .find(|(_, given)| *given)
            .map(|(option, _)| option)
    }
}
