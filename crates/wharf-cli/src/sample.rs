//! `wharf sample`: some records of an input.

use std::ffi::OsString;
use std::sync::Arc;

use container_core::{Progress, Result};
use wharf::Sample;
use wharf::subset::{Report, SampleMethod};

use super::Outcome;
use super::bar::Bar;
use super::dataset::{self, Placing, Which};
use super::env::Env;
use super::output::OneOutput;

const EXAMPLES: &str = "\
Examples:
  wharf sample train.msgpack small.msgpack -n 1000 --seed 7
  wharf sample train.msgpack small.msgpack -n 1000 --keep-order
  wharf sample train.msgpack first.msgpack -n 1000 --sequential
  wharf sample all.parquet small.parquet -n 1000   rows of Parquet, CSV, JSON lines, IDV, ...
  wharf sample trees.d small.zds -n 1000           documents of a ZDS store";

/// Write some samples, documents or rows of an input: chosen at random, each at most once
///
/// Samples of datadings, documents of ZDS and rows of text are copied byte for byte; those of IDV, Parquet and Arrow IPC as columns. The
/// same seed chooses the same ones of as many, on every machine and in every later version; without
/// --seed one is chosen and told.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = "wharf sample [OPTIONS] -n <N> <IN> <OUT>")]
pub(crate) struct Arguments {
    /// The file, dataset or store; - is standard input
    #[arg(value_name = "IN")]
    input: OsString,

    #[command(flatten)]
    output: OneOutput,

    /// How many
    #[arg(short = 'n', long, value_name = "N", required = true)]
    number: u64,

    /// Where chance begins: any number [default: another one each time]
    #[arg(long, value_name = "N", conflicts_with = "sequential")]
    seed: Option<u64>,

    /// The first, not random ones
    #[arg(long)]
    sequential: bool,

    /// Random ones in the order of the input, and not in random order
    #[arg(long, conflicts_with = "sequential")]
    keep_order: bool,

    #[command(flatten)]
    placing: Placing,

    #[command(flatten)]
    which: Which,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let mut sample = Sample::new("", arguments.number);
    sample.input = dataset::single(&arguments.input, "sample")?;
    sample.method = match arguments {
        Arguments { sequential: true, .. } => SampleMethod::First,
        Arguments { keep_order: true, .. } => SampleMethod::InOrder,
        _ => SampleMethod::Random,
    };
    sample.seed = arguments.seed;
    sample.copying = arguments.placing.copying(&arguments.which);
    let (path, overwrite) = (arguments.output.path()?, arguments.placing.overwrite());
    let bar = Arc::new(Bar::new(env.report.terminal));
    let mut report = Report::default();
    let outcome =
        sample.with_progress(Arc::clone(&bar) as Arc<dyn Progress>).run(path, overwrite, &mut env.opener, &mut report);
    bar.clear();
    outcome?;
    dataset::told(&report, true, env)
}
