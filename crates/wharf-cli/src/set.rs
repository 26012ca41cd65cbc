//! `wharf set`: sets values, types, dimensions and attributes in a ds file.

use std::ffi::OsString;
use std::path::Path;

use clap::builder::PossibleValuesParser;
use container_core::{Error, ErrorKind, Loss, Position, Result};
use dsfmt::{Array, DataType, JsonBuf};

use super::Outcome;
use super::ds::edit::{self, Destination, Item, assignment};
use super::env::Env;

const EXAMPLES: &str = "\
Examples:
  wharf set day.ds tas@units=K @title='A day' -o new.ds
  wharf set day.ds tas@valid_range='[180, 330]' --in-place      a JSON value
  wharf set day.ds hour='[0, 6, 12, null]' --dims time --type int16 -o new.ds
  wharf set day.ds tas pr --type float32 -o small.ds            convert existing variables
  wharf set new.ds x='[1, 2, 3]' --dims time --create           create a file";

/// Set values, types, dimensions and attributes in a ds file
///
/// VAR@ATTR=VALUE sets an attribute of a variable, @ATTR=VALUE one of the dataset. VALUE is JSON (including NaN and Infinity), otherwise a
/// string; quote JSON to make it a string ('\"42\"'). VAR=VALUE sets the values of a variable: a JSON number, string or list, where null means
/// missing. An existing variable keeps its type, a new one gets a type that fits. VAR alone names a variable for --type and --dims. Everything
/// else is copied byte for byte.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Input file; - for standard input
    #[arg(value_name = "FILE")]
    file: OsString,

    /// VAR@ATTR=VALUE, @ATTR=VALUE, VAR=VALUE or VAR
    #[arg(value_name = "WHAT", required = true)]
    what: Vec<String>,

    /// Dimensions of the variables, comma-separated
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    dims: Option<Vec<String>>,

    /// Type of the variables. Numbers that a float type cannot represent are rounded, with a warning
    #[arg(long = "type", value_name = "TYPE", value_parser = PossibleValuesParser::new(DataType::ALL.map(DataType::name)))]
    data_type: Option<String>,

    /// Create FILE
    #[arg(long, group = "target")]
    create: bool,

    #[command(flatten)]
    destination: Destination,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let change = |edit: &mut dsfmt::Edit<'_>| {
        let data_type = arguments.data_type.as_deref().and_then(DataType::from_name);
        let (mut losses, mut variables) = (Vec::new(), 0);
        for argument in &arguments.what {
            let (item, value) = match (edit.has_variable(argument), assignment(argument, edit)) {
                (false, Some((item, value))) => (item, Some(value)),
                _ => (Item::parse(argument, edit), None),
            };
            let name = match (item, value) {
                (Item::Attribute(variable, name), Some(value)) => {
                    edit.set_attribute(variable, name, json(value))?;
                    continue;
                }
                (Item::Attribute(..), None) => {
                    return Err(Error::usage(format!("missing value for {argument:?}; use {argument}=VALUE")));
                }
                (Item::Variable(name), None) if data_type.is_none() && arguments.dims.is_none() => {
                    let detail = format!("nothing to set for {name:?}; use {name}=VALUE, --type or --dims");
                    return Err(Error::usage(detail));
                }
                (Item::Variable(name), None) => name,
                (Item::Variable(name), Some(value)) => {
                    let existing = edit.data_type(name).ok().flatten();
                    let array = Array::from_json(json(value).as_json(), data_type.or(existing));
                    edit.set_values(name, array.map_err(|error| error.in_column(name.to_owned()))?);
                    name
                }
            };
            variables += 1;
            if let Some(data_type) = data_type {
                let rounded = edit.set_type(name, data_type)?;
                if rounded > 0 {
                    let first = Position::of_column(name.to_owned());
                    losses.push(Loss::new(format!("value rounded to {data_type}"), rounded, first));
                }
            }
            if let Some(names) = &arguments.dims {
                edit.set_dimensions(name, names.iter().filter(|name| !name.is_empty()).map(String::as_str))?;
            }
        }
        if variables == 0 && (data_type.is_some() || arguments.dims.is_some()) {
            return Err(Error::usage("--type and --dims require a variable"));
        }
        Ok(losses)
    };
    if arguments.create {
        return edit::create(&arguments.file, arguments.destination.force, env, change);
    }
    let result = edit::run(&arguments.file, &arguments.destination, "set", env, change);
    result.map_err(|error| match Path::new(&arguments.file).try_exists() {
        Ok(false) if error.kind() == ErrorKind::Io && arguments.file != "-" => {
            let cause = std::io::Error::from(std::io::ErrorKind::NotFound);
            Error::io("cannot open (--create creates it)", cause).in_file(arguments.file.display().to_string())
        }
        _ => error,
    })
}

/// The value as JSON, or as a JSON string if it is not JSON.
fn json(value: &str) -> JsonBuf {
    JsonBuf::parse(value).unwrap_or_else(|_| value.into())
}
