//! `wharf rm`: variables, dimensions and attributes taken out of a ds file.

use std::ffi::OsString;

use container_core::{Error, Result};

use super::Outcome;
use super::edit::{self, Part, Target};
use super::env::Env;

const EXAMPLES: &str = "\
Examples:
  wharf rm day.ds height quality -o small.ds
  wharf rm day.ds tas@comment @history --in-place      attributes: of a variable, of the dataset
  wharf rm day.ds --dim band -o flat.ds                every variable along a dimension";

/// Take variables, dimensions and attributes out of a ds file
///
/// What stays is copied byte for byte.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The file; - is standard input
    #[arg(value_name = "FILE")]
    file: OsString,

    /// Variables; VAR@ATTR, @ATTR for attributes
    #[arg(value_name = "NAME", required_unless_present = "dim")]
    names: Vec<String>,

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
    edit::run(&arguments.file, &arguments.target, arguments.force, "rm", env, |edit| {
        // What is meant is looked up before anything is gone; a variable along two of the dimensions goes once.
        let parts: Vec<Part<'_>> = arguments.names.iter().map(|name| Part::of(name, edit)).collect();
        if let Some(unknown) = arguments.dim.iter().find(|name| !edit.has_dimension(name)) {
            return Err(Error::usage(format!("no variable has the dimension {unknown:?}")));
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
