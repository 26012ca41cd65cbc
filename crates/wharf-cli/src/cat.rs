//! `wharf cat`: prints rows as a table, JSON lines, CSV or TSV.

use std::ffi::OsString;

use container_core::{Error, Result};
use wharf::convert::TextTarget;
use wharf::hub::convert::Report;
use wharf::hub::copy_rows::CopyRows;
use wharf::hub::select as library;

use super::Outcome;
use super::display::counted;
use super::env::Env;
use super::inputs;
use super::options::{ChangeOptions, Options};
use super::paged_table::PagedTable;
use super::progress::ProgressLine;
use super::select::Selection;

const EXAMPLES: &str = "\
Examples:
  wharf cat adult.idv -n 10                        the first ten rows
  wharf cat adult.idv --columns Age,Label --csv    two columns as CSV
  wharf cat 'day-*.idv' --rows 1000000.. --json    several files, from row 1000000 on
  wharf cat adult.idv --drop Id --rename Age=years  other names, without one column";

/// Print rows: a table on a terminal, JSON lines into a pipe
///
/// Several files are concatenated. For CSV, TSV and tables they must have the same columns. Columns of the same name must have the same
/// meaning: units, slot names and other metadata are compared. --union lays out the columns of all files.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Input files, or quoted glob patterns such as 'day-*.idv'; - for standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<OsString>,

    #[command(flatten)]
    format: FormatOptions,

    /// Print the values of time variables as times instead of numbers (ds)
    #[arg(long, value_enum, value_name = "FORM")]
    time: Option<super::ds::Times>,

    #[command(flatten)]
    selection: Selection,

    #[command(flatten)]
    part: super::ds::PartOptions,

    #[command(flatten)]
    options: Options<ChangeOptions>,
}

/// How rows are printed.
#[derive(Debug, Clone, clap::Args)]
#[group(multiple = false)]
pub(crate) struct FormatOptions {
    /// Print CSV with a header
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,

    /// Print TSV with a header
    #[arg(long, conflicts_with = "json")]
    pub(crate) tsv: bool,

    /// Print a human-readable table even into a pipe
    #[arg(long, conflicts_with = "json")]
    pub(crate) pretty: bool,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let locations = inputs::expand(&arguments.files)?;
    let mut selection = arguments.part.select(arguments.selection.plain()?)?;
    selection.reading.time = arguments.time.map(Into::into);
    env.opener.apply(&selection)?;
    let mut change = wharf::hub::convert::ChangeOptions::default();
    arguments.options.given().try_for_each(|(name, value)| change.set(name, value))?;
    env.opener.change(&change, &locations, &selection)?;
    if selection.tidy {
        selection.columns.clear(); // they selected variables
    }
    print((&locations, &selection), change.union, &arguments.format, env)
}

/// Prints the selected rows of inputs: a table on a terminal, JSON lines into a pipe, or what the options say. The selection has been applied to
/// the opener.
pub(crate) fn print(
    (locations, selection): (&[inputs::Location], &library::Selection),
    union: bool,
    format: &FormatOptions,
    env: &mut Env<'_>,
) -> Result<Outcome> {
    let FormatOptions { csv, tsv, pretty } = *format;
    if env.json() && (csv || tsv || pretty) {
        // clap reports this conflict only if --json follows the verb.
        return Err(Error::usage("--json cannot be used with --csv, --tsv or --pretty"));
    }
    let terminal = env.stdout.terminal;
    let mut job = CopyRows {
        locations,
        selection,
        max_columns: usize::MAX,
        union,
        same_columns: false,
        progress: &ProgressLine::new(false),
    };
    if pretty || (terminal.is_some() && !csv && !tsv && !env.json()) {
        return table(&mut job, terminal, env);
    }
    let format = match (csv, tsv) {
        (true, _) => TextTarget::CSV,
        (_, true) => TextTarget::TSV,
        _ => TextTarget::JSON_LINES,
    };
    // If rows are printed on the terminal, they are the progress.
    let progress = ProgressLine::new(terminal.is_none() && env.report.terminal);
    let job = CopyRows { progress: &progress, ..job };
    let mut report = Report::default();
    let outcome = job.stream(format.sink(&mut env.stdout).as_mut(), &mut env.opener, &mut report);
    progress.clear();
    finish(outcome, &report, env)
}

fn table(job: &mut CopyRows<'_>, terminal: Option<u16>, env: &mut Env<'_>) -> Result<Outcome> {
    let mut report = Report::default();
    let mut sink = PagedTable::new(&mut env.stdout, terminal);
    job.max_columns = sink.max_columns();
    let outcome = job.stream(&mut sink, &mut env.opener, &mut report);
    let hidden = report.hidden + sink.hidden();
    let unknown = sink.unknown();
    if hidden > 0 && !env.stdout.closed {
        env.report.note(format!("{} not shown; select columns with --columns", counted(hidden, "column")));
    }
    if unknown > 0 && !env.stdout.closed {
        let values = counted(unknown, "value");
        env.report.note(format!("{values} of rare columns not shown; select them with --columns, or use --json"));
    }
    finish(outcome, &report, env)
}

/// Reports losses and returns the outcome. If the reader closed the pipe, nothing is reported.
pub(crate) fn finish(outcome: Result<(), Error>, report: &Report, env: &mut Env<'_>) -> Result<Outcome> {
    if outcome.as_ref().is_err_and(|error| env.stdout.is_closed(error)) {
        return Ok(Outcome::Done);
    }
    let done = env.lost(&report.losses);
    outcome.map(|()| done)
}
