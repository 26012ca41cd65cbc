//! `wharf shuffle`: writes the records of an input in random order.

use std::ffi::OsString;

use container_core::Result;
use wharf::Shuffle;
use wharf::subset::{Quasi, Report};

use super::Outcome;
use super::env::Env;
use super::output_path::OutputPath;
use super::records::{self, TableChoice, WriteOptions};
use super::{inputs, progress};

const EXAMPLES: &str = "\
Examples:
  wharf shuffle train.msgpack shuffled.msgpack --seed 7
  wharf shuffle train.csv shuffled.csv --seed 7
  wharf shuffle huge.msgpack shuffled.msgpack --quasi --buffer 0.05    fewer seeks, for data larger than memory";

/// Write the records of an input in random order
///
/// Records are the samples of datadings, the documents of ZDS, or rows. Samples, documents and rows of text are copied byte for byte; rows of
/// IDV, Parquet and Arrow IPC are re-encoded, via temporary files if they do not fit in memory. The same seed gives the same bytes on every
/// machine and in every version. Without --seed, the seed is reported. --quasi shuffles chunks of adjacent records and then mixes the records of
/// several chunks, which reads the input in large sequential ranges.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = "wharf shuffle [OPTIONS] <IN> <OUT>")]
pub(crate) struct Arguments {
    /// Input file, dataset or store; - for standard input
    #[arg(value_name = "IN")]
    input: OsString,

    #[command(flatten)]
    output: OutputPath,

    /// Seed of the random generator [default: a different one each time]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Shuffle less thoroughly, with far fewer seeks
    #[arg(long)]
    quasi: bool,

    /// Number of records to mix, or if below 1 a fraction of all records [default: 0.01]
    #[arg(long, value_name = "N", requires = "quasi")]
    buffer: Option<f64>,

    /// Number of adjacent records per chunk [default: 16]
    #[arg(long, value_name = "N", requires = "quasi")]
    chunk: Option<u64>,

    #[command(flatten)]
    write_options: WriteOptions,

    #[command(flatten)]
    table: TableChoice,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let mut shuffle = Shuffle::new("");
    shuffle.input = inputs::expand_single(&arguments.input, "shuffle")?;
    shuffle.quasi = arguments.quasi.then(|| {
        let mut quasi = Quasi::default();
        (quasi.buffer, quasi.chunk) = (arguments.buffer, arguments.chunk);
        quasi
    });
    shuffle.seed = arguments.seed;
    shuffle.copying = arguments.write_options.copying(&arguments.table)?;
    let (path, overwrite) = (arguments.output.path()?, arguments.write_options.overwrite());
    let mut report = Report::default();
    progress::with_line(env.report.terminal, |progress| {
        shuffle.with_progress(progress).run(path, overwrite, &mut env.opener, &mut report)
    })?;
    records::report_outputs(&report, false, env)
}
