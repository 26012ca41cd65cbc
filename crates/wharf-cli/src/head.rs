//! `wharf head` and `wharf tail`: the first or the last rows.

use std::ffi::OsString;

use container_core::Result;
use wharf::Count;
use wharf::hub::convert::Convert;

use super::Outcome;
use super::cat::{self, FormatOptions};
use super::env::Env;
use super::select::{RowRange, Selection};
use super::{inputs, progress};

const HEAD_EXAMPLES: &str = "\
Examples:
  wharf head adult.idv
  wharf head adult.idv -n 3 --columns age,Label --csv";

const TAIL_EXAMPLES: &str = "\
Examples:
  wharf tail adult.idv
  wharf tail log.jsonl -n 100 --json";

/// Rows printed without -n.
const ROWS: u64 = 10;

/// Print the first rows: `cat -n 10`
#[derive(Debug, clap::Args)]
#[command(after_help = HEAD_EXAMPLES)]
pub(crate) struct HeadArguments {
    /// Input file; - for standard input
    #[arg(value_name = "FILE")]
    file: OsString,

    #[command(flatten)]
    format: FormatOptions,

    #[command(flatten)]
    selection: Selection,
}

/// Print the last rows
///
/// At once for formats whose headers have the number of rows; otherwise rows are counted first, and then read up to the last ones.
#[derive(Debug, clap::Args)]
#[command(after_help = TAIL_EXAMPLES)]
pub(crate) struct TailArguments {
    /// Input file; - for standard input
    #[arg(value_name = "FILE")]
    file: OsString,

    #[command(flatten)]
    format: FormatOptions,

    #[command(flatten)]
    selection: Selection,
}

pub(crate) fn head(arguments: &HeadArguments, env: &mut Env<'_>) -> Result<Outcome> {
    let location = inputs::expand_single(&arguments.file, "head")?;
    let mut selection = arguments.selection.plain()?;
    selection.limit.get_or_insert(ROWS);
    env.opener.apply(&selection)?;
    cat::print((&[location], &selection), false, &arguments.format, env)
}

pub(crate) fn tail(arguments: &TailArguments, env: &mut Env<'_>) -> Result<Outcome> {
    let location = inputs::expand_single(&arguments.file, "tail")?;
    let mut selection = arguments.selection.plain()?;
    env.opener.apply(&selection)?;
    let last = selection.limit.take().unwrap_or(ROWS);
    let mut all = Convert::default();
    (all.inputs, all.selection) = (vec![location.clone()], selection.clone());
    let rows = progress::with_line(env.report.terminal, |progress| {
        Count::of(all.with_progress(progress)).run(&mut env.opener)
    })?;
    let range = selection.rows.take().map_or(0..u64::MAX, |range| range.rows);
    let start = range.start.saturating_add(rows.saturating_sub(last));
    selection.rows = Some(RowRange { rows: start..range.end, one: false });
    env.opener.apply(&selection)?;
    cat::print((&[location], &selection), false, &arguments.format, env)
}
