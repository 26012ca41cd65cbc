//! `wharf cat`: rows, as JSON lines, CSV, or a table for people.

use std::ffi::OsString;

use clap::ValueEnum;
use container_core::{Error, Result};
use wharf::convert::{Csv, Delimiter, JsonLines, Sink};

use super::Outcome;
use super::env::{Env, Opener};
use super::human::counted;
use super::inputs;
use super::pages::Pages;
use super::pour::{Job, Poured};
use super::select::Selection;

const EXAMPLES: &str = "\
Examples:
  wharf cat adult.idv -n 10                        the first ten rows
  wharf cat adult.idv --columns Age,Label --csv    two columns as CSV
  wharf cat 'day-*.idv' --rows 1000000.. --json    several files as one, from the millionth row on";

/// Print rows: a table on a terminal, JSON lines into a pipe
///
/// Several files are printed one after another. For CSV, TSV and tables their columns must have the same names.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Files, or patterns in quotes such as 'day-*.idv' (sorted); - is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<OsString>,

    #[command(flatten)]
    form: Form,

    /// Show the values of time variables so, instead of their numbers (ds)
    #[arg(long, value_enum, value_name = "FORM")]
    time: Option<super::ds::Times>,

    #[command(flatten)]
    selection: Selection,
}

#[derive(Debug, Clone, clap::Args)]
#[group(multiple = false)]
struct Form {
    /// Comma-separated values, with a line of names
    #[arg(long, conflicts_with = "json")]
    csv: bool,

    /// Tab-separated values, with a line of names
    #[arg(long, conflicts_with = "json")]
    tsv: bool,

    /// A table for people, into a pipe too
    #[arg(long, conflicts_with = "json")]
    pretty: bool,
}

/// A form that rows can be written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum To {
    /// JSON lines: one object per row
    Jsonl,
    /// Comma-separated values
    Csv,
    /// Tab-separated values
    Tsv,
}

impl To {
    pub(crate) fn sink<'w>(self, out: impl std::io::Write + 'w) -> Box<dyn Sink + 'w> {
        match self {
            Self::Jsonl => Box::new(JsonLines::new(out)),
            Self::Csv => Box::new(Csv::new(out)),
            Self::Tsv => Box::new(Csv::new(out).with_delimiter(Delimiter::Tab)),
        }
    }
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let places = inputs::expand(&arguments.files)?;
    if let Some(times) = arguments.time {
        env.opener.registry = env.opener.registry.clone().with(times.format());
    }
    env.opener.view.set(&arguments.selection)?;
    env.opener.check_filters(&places, arguments.selection.reading.table.as_deref())?;
    let Form { csv, tsv, pretty } = arguments.form;
    if env.json() && (csv || tsv || pretty) {
        // clap sees this only when --json stands behind the verb.
        return Err(Error::usage("--json cannot be used with another form"));
    }
    let terminal = env.stdout.terminal;
    let mut job = Job {
        places: &places,
        selection: &arguments.selection,
        most_columns: usize::MAX,
        alike: false,
        progress: false,
    };
    if pretty || (terminal.is_some() && !csv && !tsv && !env.json()) {
        return table(&mut job, terminal, env);
    }
    let to = match (csv, tsv) {
        (true, _) => To::Csv,
        (_, true) => To::Tsv,
        _ => To::Jsonl,
    };
    // On a terminal the rows themselves show the progress.
    job.progress = terminal.is_none() && env.report.terminal;
    stream(&job, to, env)
}

/// Pours to standard output. Rows before an error are printed.
pub(crate) fn stream(job: &Job<'_>, to: To, env: &mut Env<'_>) -> Result<Outcome> {
    let mut poured = Poured::default();
    let outcome = run_and_flush(job, to.sink(&mut env.stdout).as_mut(), &mut env.opener, &mut poured);
    finish(outcome, &poured, env)
}

fn table(job: &mut Job<'_>, terminal: Option<u16>, env: &mut Env<'_>) -> Result<Outcome> {
    let mut poured = Poured::default();
    let mut sink = Pages::new(&mut env.stdout, terminal);
    job.most_columns = sink.most_columns();
    let outcome = run_and_flush(job, &mut sink, &mut env.opener, &mut poured);
    let hidden = poured.hidden + sink.hidden();
    let unknown = sink.unknown();
    if hidden > 0 && !env.stdout.closed {
        env.report.note(format!("{} not shown for lack of room: choose with --columns", counted(hidden, "column")));
    }
    if unknown > 0 && !env.stdout.closed {
        let values = counted(unknown, "value");
        env.report
            .note(format!("{values} not shown of columns that few rows have: choose them with --columns, or --json"));
    }
    finish(outcome, &poured, env)
}

fn run_and_flush(job: &Job<'_>, sink: &mut dyn Sink, opener: &mut Opener<'_>, poured: &mut Poured) -> Result<()> {
    let outcome = job.run(sink, opener, poured);
    // What was right before the error is worth having; whether it can be written does not change the error.
    let flushed = match &outcome {
        Err(_) if poured.rows == 0 => Ok(()),
        _ => sink.flush(),
    };
    job.ask(sink, poured);
    outcome.and(flushed)
}

/// Reports what was lost, and how it ended. Nobody who closed the pipe asks for that.
pub(crate) fn finish(outcome: Result<(), Error>, poured: &Poured, env: &mut Env<'_>) -> Result<Outcome> {
    if outcome.as_ref().is_err_and(|error| env.stdout.is_closed(error)) {
        return Ok(Outcome::Done);
    }
    for lost in &poured.lost {
        env.report.lost(lost);
    }
    outcome.map(|()| Outcome::after(&poured.lost))
}
