//! `wharf recover`: what is whole in a damaged file, into a new one.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use container_core::{Error, Output, Progress, Result, Severity, Unit, VerifyOptions};
use idv::{Reader, RecoverOptions, Recovery};
use serde_json::{Value, json};

use super::Outcome;
use super::bar::Bar;
use super::env::Env;
use super::human::{clean, counted};
use super::inputs;
use super::output;
use super::report::{Lost, error_object};
use super::select;
use super::writing::{self, Writing};

const EXAMPLES: &str = "\
Examples:
  wharf recover cut-off.idv whole.idv
  wharf recover damaged.idv whole.idv --columns Label,Features
  wharf recover tuesday.idv whole.idv --schema monday.idv";

/// Save what is whole out of a file that is cut off or damaged
///
/// Every block is decoded; the columns and rows that are whole go into a new file, which is opened and verified before it
/// appears. Of columns and rows those are kept that make the most values; --columns decides otherwise. Exit code 3 when
/// anything was lost; the warnings say what. With --json, what was done is one object on standard output.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The damaged file; - is standard input
    #[arg(value_name = "IN")]
    input: OsString,

    /// The file to write
    #[arg(value_name = "OUT")]
    output: PathBuf,

    /// Keep these columns, in this order, whatever rows that costs: names separated by commas (quote a name that has one:
    /// '"a,b",c'); may be given several times
    #[arg(long, value_name = "NAMES")]
    columns: Vec<String>,

    /// The columns of a file whose table of contents is lost (it stands at the end): those of this file, which was written in
    /// the same way (IDV, or what `wharf info --json` said of it). Only blocks that lie in order, as wharf writes them, can be
    /// told apart
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,

    /// Replace the output if it exists
    #[arg(long)]
    force: bool,

    /// Threads that may work at once; 0 for all the machine has
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,

    #[command(flatten)]
    writing: Writing,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let places = inputs::expand_one(&arguments.input)?;
    let [place] = places.as_slice() else {
        return Err(Error::usage("one file is recovered at a time").in_file(arguments.input.display().to_string()));
    };
    let named = |error: Error| error.in_file(place.name());
    let output = output::create(&arguments.output, arguments.force, &places)?;
    let name = output.path().display().to_string();
    let input = place.input(&mut env.opener).map_err(named)?;
    let source = input.source().ok_or_else(|| named(Error::usage("a directory is no IDV file")))?;

    let bar = Arc::new(Bar::new(env.report.terminal));
    bar.name(place.name());
    let mut options =
        RecoverOptions::default().with_threads(arguments.threads).with_progress(Arc::clone(&bar) as Arc<dyn Progress>);
    if !arguments.columns.is_empty() {
        let mut names = Vec::new();
        for argument in &arguments.columns {
            names.extend(select::split(argument)?);
        }
        options = options.with_columns(names);
    }
    if let Some(schema) = &arguments.schema {
        options = options.with_schema(writing::schema_file(schema)?.0);
    }
    let surveyed = Recovery::survey(source.clone(), &options).map_err(named);
    let written = surveyed.and_then(|recovery| {
        bar.name(name.clone());
        bar.begin(Unit::Rows, Some(recovery.row_count()));
        let options = arguments.writing.options(arguments.threads, Arc::clone(&bar) as Arc<dyn Progress>);
        let (output, losses) = recovery.write(output, options).map_err(named)?;
        check(&output, arguments.threads).map_err(|error| error.in_file(name.clone()))?;
        Ok((recovery, output, losses))
    });
    bar.clear();
    let (recovery, output, losses) = written?;
    let bytes = output.file().metadata().map_or(0, |metadata| metadata.len());
    output.finish()?;

    for finding in recovery.findings() {
        tell(finding, &place.name(), env);
    }
    for loss in &losses {
        env.report.lost(&Lost { file: Some(place.name()), loss: loss.clone() });
    }
    let (rows, declared) = (recovery.row_count(), recovery.rows_declared());
    let columns = recovery.column_names();
    if env.json() {
        let findings: Vec<Value> = recovery.findings().iter().map(|error| Value::Object(error_object(error))).collect();
        let done = json!({
            "file": name, "to": "idv", "rows": rows, "rows_lost": declared - rows, "columns": columns, "bytes": bytes,
            "lost": losses.len(), "findings": findings, "verified": true,
        });
        env.stdout.print(&format!("{done}\n"))?;
    } else {
        let of = if rows == declared { String::new() } else { format!(" of {declared}") };
        let line =
            format!("{}: {}{of}, {}, verified\n", clean(&name), counted(rows, "row"), counted(columns.len(), "column"));
        env.stdout.print(&line)?;
    }
    Ok(if losses.is_empty() { Outcome::Done } else { Outcome::Loss })
}

/// What is wrong with the file and cost nothing by itself.
fn tell(finding: &Error, file: &str, env: &mut Env<'_>) {
    if !env.json() {
        let text = finding.to_string();
        env.report.plain(&format!("warning: {}: {}\n", clean(file), clean(&text)));
    }
}

/// Opens what was written and verifies it, before it gets its name.
fn check(output: &Output, threads: usize) -> Result<()> {
    let reader = Reader::from_source(output.read_back()?, idv::Options::default())?;
    let mut first = None;
    reader.verify(&VerifyOptions::default().with_threads(threads), &mut |finding| {
        if finding.severity == Severity::Error {
            first.get_or_insert(finding.error);
        }
    })?;
    first.map_or(Ok(()), Err)
}
