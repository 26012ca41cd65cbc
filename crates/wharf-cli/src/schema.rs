//! `wharf schema`: the Arrow schema of an input, as `convert --schema` reads it.

use std::ffi::OsString;

use container_core::Result;
use wharf::hub::convert::Convert;

use super::Outcome;
use super::display::{self, clean};
use super::env::Env;
use super::inputs;
use super::select::Selection;

const EXAMPLES: &str = "\
Examples:
  wharf schema adult.csv
  wharf schema adult.csv --json > schema.json; wharf convert adult.csv adult.parquet --schema schema.json
  wharf schema 'day-*.parquet' --columns station,temperature";

/// Show the Arrow schema of an input: names and types of columns, whether they may have nulls, metadata
///
/// With --json, and into a pipe, it is JSON that can be edited and used as --schema of convert. Types of text and other formats without a schema are
/// inferred from all rows. Several files have the schema of their concatenation.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Input files, or quoted glob patterns such as 'day-*.idv'; - for standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<OsString>,

    #[command(flatten)]
    selection: Selection,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let mut convert = Convert::default();
    convert.inputs = inputs::expand(&arguments.files)?;
    convert.selection = arguments.selection.plain()?;
    let schema = convert.schema(&mut env.opener)?;
    if env.json() || env.stdout.terminal.is_none() {
        let json = wharf::hub::query::schema::to_json(&schema);
        env.stdout.print(&format!("{json:#}\n"))?;
        return Ok(Outcome::Done);
    }
    let mut lines = display::table(env.stdout.terminal);
    lines.set_header(["column", "type", "nulls", "metadata"]);
    for field in schema.fields() {
        let mut metadata: Vec<&str> = field.metadata().keys().map(String::as_str).collect();
        metadata.sort_unstable();
        let nulls = if field.is_nullable() { "nullable" } else { "" };
        let cells = [field.name(), &field.data_type().to_string(), nulls, &metadata.join(", ")];
        lines.add_row(cells.map(|cell| clean(cell).into_owned()));
    }
    env.stdout.print(&display::render(&mut lines))?;
    Ok(Outcome::Done)
}
