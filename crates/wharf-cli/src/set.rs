//! `wharf set`: values, types, dimensions and attributes of a ds file.

use std::ffi::OsString;
use std::path::Path;

use clap::builder::PossibleValuesParser;
use container_core::{Error, ErrorKind, Loss, Position, Result};
use dsfmt::{Array, DataType, JsonBuf};

use super::Outcome;
use super::edit::{self, Part, Target, assignment};
use super::env::Env;

const EXAMPLES: &str = "\
Examples:
  wharf set day.ds tas@units=K @title='A day' -o new.ds
  wharf set day.ds tas@valid_range='[180, 330]' --in-place      a value that is JSON is taken as such
  wharf set day.ds hour='[0, 6, 12, null]' --dims time --type int16 -o new.ds
  wharf set day.ds tas pr --type float32 -o small.ds            another type for what is there
  wharf set new.ds x='[1, 2, 3]' --dims time --create           a file that is not there yet";

/// Set values, types, dimensions and attributes in a ds file
///
/// VAR@ATTR=VALUE sets an attribute of a variable, @ATTR=VALUE one of the dataset: JSON (also NaN and Infinity), or else text; in quotes
/// ('\"42\"') JSON is text. VAR=VALUE sets values: a number, text or list of JSON, null is missing; a variable that is there keeps its
/// type, a new one gets the type that fits. VAR alone names a variable for --type and --dims. All else is copied byte for byte.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The file; - is standard input
    #[arg(value_name = "FILE")]
    file: OsString,

    /// VAR@ATTR=VALUE, @ATTR=VALUE, VAR=VALUE, VAR
    #[arg(value_name = "WHAT", required = true)]
    what: Vec<String>,

    /// Names of the dimensions of the variables, with commas between them
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    dims: Option<Vec<String>>,

    /// The type of the variables; numbers that a float type does not hold are rounded, which is told
    #[arg(long = "type", value_name = "TYPE", value_parser = PossibleValuesParser::new(DataType::ALL.map(DataType::name)))]
    data_type: Option<String>,

    /// FILE is a new one, which is made
    #[arg(long, group = "target")]
    create: bool,

    /// Replace the output if it exists
    #[arg(long, conflicts_with = "in_place")]
    force: bool,

    #[command(flatten)]
    target: Target,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let change = |edit: &mut dsfmt::Edit<'_>| {
        let data_type = arguments.data_type.as_deref().and_then(DataType::from_name);
        let (mut losses, mut variables) = (Vec::new(), 0);
        for argument in &arguments.what {
            let (part, value) = match (edit.has_variable(argument), assignment(argument, edit)) {
                (false, Some((part, value))) => (part, Some(value)),
                _ => (Part::of(argument, edit), None),
            };
            let name = match (part, value) {
                (Part::Attribute(variable, name), Some(value)) => {
                    edit.set_attribute(variable, name, json(value))?;
                    continue;
                }
                (Part::Attribute(..), None) => {
                    return Err(Error::usage(format!("{argument:?} has no value: VAR@ATTR=VALUE sets one")));
                }
                (Part::Variable(name), None) if data_type.is_none() && arguments.dims.is_none() => {
                    let detail = format!("nothing is to be set of {name:?}: say {name}=VALUE, --type or --dims");
                    return Err(Error::usage(detail));
                }
                (Part::Variable(name), None) => name,
                (Part::Variable(name), Some(value)) => {
                    let known = edit.data_type(name).ok().flatten();
                    let array = Array::from_json(json(value).as_json(), data_type.or(known));
                    edit.set_values(name, array.map_err(|error| error.in_column(name.to_owned()))?);
                    name
                }
            };
            variables += 1;
            if let Some(data_type) = data_type {
                let rounded = edit.set_type(name, data_type)?;
                if rounded > 0 {
                    let mut first = Position::default();
                    first.column = Some(name.to_owned().into());
                    losses.push(Loss::new(format!("value rounded to {data_type}"), rounded, first));
                }
            }
            if let Some(names) = &arguments.dims {
                edit.set_dimensions(name, names.iter().filter(|name| !name.is_empty()).map(String::as_str))?;
            }
        }
        if variables == 0 && (data_type.is_some() || arguments.dims.is_some()) {
            return Err(Error::usage("--type and --dims are for variables, and none is named"));
        }
        Ok(losses)
    };
    if arguments.create {
        return edit::create(&arguments.file, arguments.force, env, change);
    }
    let done = edit::run(&arguments.file, &arguments.target, arguments.force, "set", env, change);
    done.map_err(|error| match Path::new(&arguments.file).try_exists() {
        Ok(false) if error.kind() == ErrorKind::Io && arguments.file != "-" => {
            let cause = std::io::Error::from(std::io::ErrorKind::NotFound);
            Error::io("cannot open (--create makes a new file)", cause).in_file(arguments.file.display().to_string())
        }
        _ => error,
    })
}

/// JSON, or else the text itself.
fn json(value: &str) -> JsonBuf {
    JsonBuf::parse(value).unwrap_or_else(|_| value.into())
}
