//! `wharf count`: the number of rows, of all or of each group.

use std::ffi::OsString;

use container_core::{Error, Result};
use serde_json::{Map, Value, json};
use wharf::hub::convert::{Convert, Report};
use wharf::{Count, Group};

use super::Outcome;
use super::display::{self, clean, grouped};
use super::env::Env;
use super::select::Selection;
use super::{inputs, progress};

const EXAMPLES: &str = "\
Examples:
  wharf count adult.idv
  wharf count 'day-*.parquet'
  wharf count adult.idv --by Label
  wharf count people.zds --where \"city = 'Bonn'\" --by job,sex --json";

/// Count rows, of all files or of each group
///
/// Prints one number. At once for formats whose headers have the number of rows; otherwise rows are counted as they are read. With --by: a line for
/// each group, the largest first, equal ones by their values. Groups of more than 256 MiB of values are an error.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, mut_arg("columns", |columns| columns.hide(true)))]
pub(crate) struct Arguments {
    /// Input files, or quoted glob patterns such as 'day-*.idv'; - for standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<OsString>,

    /// Count the rows that have the same values in these columns: comma-separated names. Repeatable
    #[arg(long, value_name = "COLUMNS")]
    by: Vec<String>,

    #[command(flatten)]
    selection: Selection,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let locations = inputs::expand(&arguments.files)?;
    let mut selection = arguments.selection.plain()?;
    if !selection.columns.is_empty() {
        return Err(
            Error::usage("rows are counted whatever the columns; --by counts those of each group").in_option("columns")
        );
    }
    selection.columns.clone_from(&arguments.by);
    env.opener.apply(&selection)?;
    let mut convert = Convert::default();
    (convert.inputs, convert.selection) = (locations, selection);
    let is_shown = env.report.terminal;
    if arguments.by.is_empty() {
        let rows =
            progress::with_line(is_shown, |progress| Count::of(convert.with_progress(progress)).run(&mut env.opener))?;
        let text = if env.json() { json!({ "rows": rows }).to_string() } else { rows.to_string() };
        env.stdout.print(&format!("{text}\n"))?;
        return Ok(Outcome::Done);
    }
    let mut report = Report::default();
    let groups = progress::with_line(is_shown, |progress| {
        Count::of(convert.with_progress(progress)).run_groups(&mut env.opener, &mut report)
    });
    let outcome = env.lost(&report.losses);
    print(&groups?, env)?;
    Ok(outcome)
}

fn print(groups: &[Group], env: &mut Env<'_>) -> Result<()> {
    if env.json() {
        let line = |group: &Group| serde_json::to_string(group).unwrap_or_default() + "\n"; // cannot fail for such members
        return env.stdout.print(&groups.iter().map(line).collect::<String>());
    }
    let Some(first) = groups.first() else { return Ok(()) };
    let mut lines = display::table(env.stdout.terminal);
    let names: Vec<String> = values(first).keys().map(|name| clean(name).into_owned()).collect();
    lines.set_header(std::iter::once("rows".to_owned()).chain(names));
    for group in groups {
        let cells = values(group).into_iter().map(|(_, value)| match value {
            Value::String(text) => clean(&text).into_owned(),
            other => clean(&other.to_string()).into_owned(),
        });
        lines.add_row(std::iter::once(grouped(group.count)).chain(cells));
    }
    if let Some(column) = lines.column_mut(0) {
        column.set_cell_alignment(display::ALIGN_RIGHT);
    }
    env.stdout.print(&display::render(&mut lines))
}

fn values(group: &Group) -> Map<String, Value> {
    serde_json::from_str(group.values.get()).unwrap_or_default() // an object, always
}
