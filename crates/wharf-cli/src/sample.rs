//! `wharf sample`: writes a random sample of the records of an input.

use std::ffi::OsString;

use container_core::Result;
use wharf::Sample;
use wharf::subset::{Report, SampleMethod};

use super::Outcome;
use super::env::Env;
use super::output_path::OutputPath;
use super::records::{self, TableChoice, WriteOptions};
use super::{inputs, progress};

const EXAMPLES: &str = "\
Examples:
  wharf sample train.msgpack small.msgpack -n 1000 --seed 7
  wharf sample train.msgpack small.msgpack -n 1000 --keep-order
  wharf sample train.msgpack first.msgpack -n 1000 --sequential
  wharf sample all.parquet small.parquet -n 1000   rows of Parquet, CSV, JSON lines, IDV, ...
  wharf sample trees.d small.zds -n 1000           documents of a ZDS store";

/// Write a random sample of the records of an input, without replacement
///
/// Records are the samples of datadings, the documents of ZDS, or rows. Samples, documents and rows of text are copied byte for byte; rows of
/// IDV, Parquet and Arrow IPC are re-encoded. For the same number of records, the same seed selects the same ones on every machine and in every
/// version. Without --seed, the seed is reported.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = "wharf sample [OPTIONS] -n <N> <IN> <OUT>")]
pub(crate) struct Arguments {
    /// Input file, dataset or store; - for standard input
    #[arg(value_name = "IN")]
    input: OsString,

    #[command(flatten)]
    output: OutputPath,

    /// Number of records
    #[arg(short = 'n', long, value_name = "N", required = true)]
    number: u64,

    /// Seed of the random generator [default: a different one each time]
    #[arg(long, value_name = "N", conflicts_with = "sequential")]
    seed: Option<u64>,

    /// Take the first records instead of random ones
    #[arg(long)]
    sequential: bool,

    /// Keep the order of the input
    #[arg(long, conflicts_with = "sequential")]
    keep_order: bool,

    #[command(flatten)]
    write_options: WriteOptions,

    #[command(flatten)]
    table: TableChoice,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let mut sample = Sample::new("", arguments.number);
    sample.input = inputs::expand_single(&arguments.input, "sample")?;
    sample.method = match arguments {
        Arguments { sequential: true, .. } => SampleMethod::First,
        Arguments { keep_order: true, .. } => SampleMethod::InOrder,
        _ => SampleMethod::Random,
    };
    sample.seed = arguments.seed;
    sample.copying = arguments.write_options.copying(&arguments.table)?;
    let (path, overwrite) = (arguments.output.path()?, arguments.write_options.overwrite());
    let mut report = Report::default();
    progress::with_line(env.report.terminal, |progress| {
        sample.with_progress(progress).run(path, overwrite, &mut env.opener, &mut report)
    })?;
    records::report_outputs(&report, true, env)
}
