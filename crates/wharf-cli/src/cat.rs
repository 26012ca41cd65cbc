//! `wharf cat`: rows, as JSON lines, CSV, or a table for people.

use std::ffi::OsString;

use container_core::{Error, Result};
use wharf::convert::{Csv, Delimiter, JsonLines, Sink};
use wharf::hub::convert::Report;
use wharf::hub::copy_rows::CopyRows;

use super::Outcome;
use super::bar::Bar;
use super::env::Env;
use super::human::counted;
use super::inputs;
use super::pages::Pages;
use super::select::Selection;

const EXAMPLES: &str = "\
Examples:
  wharf cat adult.idv -n 10                        the first ten rows
  wharf cat adult.idv --columns Age,Label --csv    two columns as CSV
  wharf cat 'day-*.idv' --rows 1000000.. --json    several files as one, from the millionth row on";

/// Print rows: a table on a terminal, JSON lines into a pipe
///
/// Several files are printed one after another. For CSV, TSV and tables their columns must have the same names. A column of several files has to
/// mean the same in all: units, names of slots and so on are compared.
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
#[derive(Debug, Clone, Copy)]
enum To {
    Jsonl,
    Csv,
    Tsv,
}

impl To {
    fn sink<'w>(self, out: impl std::io::Write + 'w) -> Box<dyn Sink + 'w> {
        match self {
            Self::Jsonl => Box::new(JsonLines::new(out)),
            Self::Csv => Box::new(Csv::new(out)),
            Self::Tsv => Box::new(Csv::new(out).with_delimiter(Delimiter::Tab)),
        }
    }
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let locations = inputs::expand(&arguments.files)?;
    let mut selection = arguments.selection.plain();
    selection.reading.time = arguments.time.map(Into::into);
    env.opener.apply(&selection)?;
    env.opener.check_filters(&locations, selection.reading.table.as_deref())?;
    let Form { csv, tsv, pretty } = arguments.form;
    if env.json() && (csv || tsv || pretty) {
        // clap sees this only when --json stands behind the verb.
        return Err(Error::usage("--json cannot be used with another form"));
    }
    let terminal = env.stdout.terminal;
    let mut job = CopyRows {
        locations: &locations,
        selection: &selection,
        max_columns: usize::MAX,
        same_columns: false,
        progress: &Bar::new(false),
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
    let bar = Bar::new(terminal.is_none() && env.report.terminal);
    job.progress = &bar;
    let mut report = Report::default();
    let outcome = job.stream(to.sink(&mut env.stdout).as_mut(), &mut env.opener, &mut report);
    bar.clear();
    finish(outcome, &report, env)
}

fn table(job: &mut CopyRows<'_>, terminal: Option<u16>, env: &mut Env<'_>) -> Result<Outcome> {
    let mut report = Report::default();
    let mut sink = Pages::new(&mut env.stdout, terminal);
    job.max_columns = sink.most_columns();
    let outcome = job.stream(&mut sink, &mut env.opener, &mut report);
    let hidden = report.hidden + sink.hidden();
    let unknown = sink.unknown();
    if hidden > 0 && !env.stdout.closed {
        env.report.note(format!("{} not shown for lack of room: choose with --columns", counted(hidden, "column")));
    }
    if unknown > 0 && !env.stdout.closed {
        let values = counted(unknown, "value");
        env.report
            .note(format!("{values} not shown of columns that few rows have: choose them with --columns, or --json"));
    }
    finish(outcome, &report, env)
}

/// Reports what was lost, and how it ended. Nobody who closed the pipe asks for that.
pub(crate) fn finish(outcome: Result<(), Error>, report: &Report, env: &mut Env<'_>) -> Result<Outcome> {
    if outcome.as_ref().is_err_and(|error| env.stdout.is_closed(error)) {
        return Ok(Outcome::Done);
    }
    for lost in &report.losses {
        env.report.lost(lost);
    }
    outcome.map(|()| Outcome::after(&report.losses))
}
