//! `wharf extract`: writes fields of rows into files.

use std::ffi::OsString;

use container_core::{Error, Overwrite, Result};
use serde_json::json;
use wharf::Extract;
use wharf::hub::convert::{Convert, Report};

use super::Outcome;
use super::display::counted;
use super::env::Env;
use super::output_path::OutputPath;
use super::select::Selection;
use super::{cat, inputs, progress};

const EXAMPLES: &str = "\
Examples:
  wharf extract train.msgpack images --field image --name '{label}/{key}.jpg'
  wharf extract train.msgpack images.zip --field image
  wharf extract train.msgpack shard-000.tar --field jpg,cls --rows ..10000      a shard of WebDataset
  wharf extract pages.parquet pages --field html --name '{row}.html'";

/// Write fields of rows into the files of a folder, a tar archive or a ZIP archive
///
/// The way back of importing a folder. Bytes and texts become files as they are, other values as JSON. Nulls have no file, and count as a loss.
/// With several fields, files are called NAME.FIELD, as in WebDataset.
///
/// Names are values of the input. They must be relative and unique, without .., control characters, backslashes and colons; any other is an error.
/// The output appears complete or not at all.
#[derive(Debug, clap::Args)]
#[command(
    after_help = EXAMPLES,
    override_usage = "wharf extract [OPTIONS] --field <FIELDS> <IN> <OUT>",
    mut_arg("columns", |columns| columns.hide(true))
)]
pub(crate) struct Arguments {
    /// Input file, dataset or store; - for standard input
    #[arg(value_name = "IN")]
    input: OsString,

    #[command(flatten)]
    output: OutputPath,

    /// The columns whose values become files: comma-separated names. Repeatable
    #[arg(long, value_name = "FIELDS", required = true)]
    field: Vec<String>,

    /// The column that names files, or a pattern such as '{label}/{key}.jpg'; {row} is the row number [default: the key, otherwise the row number]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Replace the output if it exists
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    selection: Selection,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let location = inputs::expand_single(&arguments.input, "extract")?;
    let selection = arguments.selection.plain()?;
    if !selection.columns.is_empty() {
        let error = Error::usage("has no effect: only the columns of --field and --name are read");
        return Err(error.in_option("columns"));
    }
    env.opener.apply(&selection)?;
    let mut fields = Vec::new();
    for names in &arguments.field {
        fields.extend(super::select::split(names)?);
    }
    let mut convert = Convert::default();
    (convert.inputs, convert.selection) = (vec![location], selection);
    let path = arguments.output.path()?;
    let overwrite = if arguments.force { Overwrite::Replace } else { Overwrite::Refuse };
    let mut report = Report::default();
    let outcome = progress::with_line(env.report.terminal, |progress| {
        let mut extract = Extract::of(convert.with_progress(progress), fields);
        extract.name.clone_from(&arguments.name);
        extract.run(path, overwrite, &mut env.opener, &mut report)
    });
    let outcome = cat::finish(outcome, &report, env)?;
    let name = path.display().to_string();
    if env.json() {
        env.stdout.print(&format!("{}\n", json!({"file": name, "files": report.rows})))?;
    } else {
        env.report.note(format!("{name}: {}", counted(report.rows, "file")));
    }
    Ok(outcome)
}
