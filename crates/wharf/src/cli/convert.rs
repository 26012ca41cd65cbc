//! `wharf convert`: rows into a file of another form.

use std::ffi::OsString;
use std::path::Path;

use container_core::{Error, ErrorKind, Output, OutputOptions, Overwrite, Result};
use serde_json::json;

use super::Outcome;
use super::cat::{self, To};
use super::env::Env;
use super::human::counted;
use super::inputs::{self, Place};
use super::pour::{Job, Poured};
use super::select::Selection;

const EXAMPLES: &str = "\
Examples:
  wharf convert adult.idv adult.csv
  wharf convert adult.idv ages.jsonl --columns Age,Label --rows ..1000
  wharf convert 'day-*.idv' --to tsv - | gzip > days.tsv.gz";

/// Convert rows into a file of another form
///
/// The output appears when it is whole, or not at all. With --json, what was done is one object on standard output.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Files, or patterns in quotes such as 'day-*.idv' (sorted); - is standard input
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<OsString>,

    /// The file to write; its extension says the form: .jsonl .ndjson .json, .csv, .tsv; - is standard output
    #[arg(value_name = "OUT", required = true)]
    output: OsString,

    /// The form, whatever the extension
    #[arg(long, value_enum, value_name = "FORM")]
    to: Option<To>,

    /// Replace the output if it exists
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    selection: Selection,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let places = inputs::expand(&arguments.inputs)?;
    let selection = &arguments.selection;
    let mut job = Job { places: &places, selection, most_columns: usize::MAX, progress: env.report.terminal };
    if arguments.output == "-" {
        job.progress &= env.stdout.terminal.is_none();
        return cat::stream(&job, arguments.to.unwrap_or(To::Jsonl), env);
    }
    let path = Path::new(&arguments.output);
    let to = match arguments.to {
        Some(to) => to,
        None => by_extension(path)?,
    };
    refuse_input(&places, path)?;
    let overwrite = if arguments.force { Overwrite::Replace } else { Overwrite::Refuse };
    let output = Output::create(path, OutputOptions::default().with_overwrite(overwrite)).map_err(|error| {
        let exists = error.kind() == ErrorKind::Usage && !arguments.force && path.is_file();
        if exists {
            Error::usage("the output exists; --force replaces it").in_file(path.display().to_string())
        } else {
            error
        }
    })?;
    write(&job, to, output, env)
}

fn write(job: &Job<'_>, to: To, mut output: Output, env: &mut Env<'_>) -> Result<Outcome> {
    let name = output.path().display().to_string();
    let mut poured = Poured::default();
    let mut sink = to.sink(&mut output);
    let outcome = job.run(sink.as_mut(), &mut env.opener, &mut poured).and_then(|()| sink.flush());
    job.ask(sink.as_ref(), &mut poured);
    drop(sink);
    let outcome = outcome.map_err(|error| match error.kind() {
        // Errors of inputs name their file already.
        ErrorKind::Io => error.in_file(name.clone()),
        _ => error,
    });
    let bytes = output.file().metadata().map_or(0, |metadata| metadata.len());
    let outcome = cat::finish(outcome.and_then(|()| output.finish()), &poured, env)?;
    let rows = poured.rows;
    if env.json() {
        env.stdout.print(&format!("{}\n", json!({"file": name, "to": to.name(), "rows": rows, "bytes": bytes})))?;
    } else {
        env.report.note(format!("{name}: {}", counted(rows, "row")));
    }
    Ok(outcome)
}

impl To {
    fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
        }
    }
}

fn by_extension(path: &Path) -> Result<To> {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    match extension.as_deref() {
        Some("jsonl" | "ndjson" | "json") => Ok(To::Jsonl),
        Some("csv") => Ok(To::Csv),
        Some("tsv") => Ok(To::Tsv),
        other => {
            let found = other.map_or_else(|| "has no extension".to_owned(), |other| format!("ends in .{other}"));
            let detail = format!("the output {found}, known are .jsonl .ndjson .json .csv .tsv; or say --to");
            Err(Error::usage(detail).in_file(path.display().to_string()))
        }
    }
}

/// An output that is an input is refused, whatever the flags.
fn refuse_input(places: &[Place], output: &Path) -> Result<()> {
    match places.iter().find(|place| place.is_same_file(output)) {
        None => Ok(()),
        Some(place) => {
            let detail = format!("the output is the input {}", place.name());
            Err(Error::usage(detail).in_file(output.display().to_string()))
        }
    }
}
