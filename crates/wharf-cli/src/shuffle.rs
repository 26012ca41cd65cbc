//! `wharf shuffle`: the records of an input in another order.

use std::ffi::OsString;
use std::sync::Arc;

use container_core::{Progress, Result};
use wharf::Shuffle;
use wharf::subset::{Quasi, Report};

use super::Outcome;
use super::bar::Bar;
use super::dataset::{self, Placing, Which};
use super::env::Env;
use super::output::OneOutput;

const EXAMPLES: &str = "\
Examples:
  wharf shuffle train.msgpack shuffled.msgpack --seed 7
  wharf shuffle train.csv shuffled.csv --seed 7
  wharf shuffle huge.msgpack shuffled.msgpack --quasi --buffer 0.05    few seeks, for data larger than memory";

/// Write the samples, documents or rows of an input in random order
///
/// Samples of datadings, documents of ZDS and rows of text are copied byte for byte; those of IDV, Parquet and Arrow IPC as columns, by way
/// of temporary files where memory does not hold them. The same seed gives the same bytes, on every machine and in every later version; without
/// --seed one is chosen and told. --quasi shuffles chunks of neighbours and mixes the samples of some chunks with each other, which
/// reads the data in long stretches.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = "wharf shuffle [OPTIONS] <IN> <OUT>")]
pub(crate) struct Arguments {
    /// The file, dataset or store; - is standard input
    #[arg(value_name = "IN")]
    input: OsString,

    #[command(flatten)]
    output: OneOutput,

    /// Where chance begins: any number [default: another one each time]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Less random, and far fewer seeks
    #[arg(long)]
    quasi: bool,

    /// Records that are mixed with each other; below 1 a fraction of all [default: 0.01]
    #[arg(long, value_name = "N", requires = "quasi")]
    buffer: Option<f64>,

    /// Neighbouring records that stay near each other [default: 16]
    #[arg(long, value_name = "N", requires = "quasi")]
    chunk: Option<u64>,

    #[command(flatten)]
    placing: Placing,

    #[command(flatten)]
    which: Which,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let mut shuffle = Shuffle::new("");
    shuffle.input = dataset::single(&arguments.input, "shuffle")?;
    shuffle.quasi = arguments.quasi.then(|| {
        let mut quasi = Quasi::default();
        (quasi.buffer, quasi.chunk) = (arguments.buffer, arguments.chunk);
        quasi
    });
    shuffle.seed = arguments.seed;
    shuffle.copying = arguments.placing.copying(&arguments.which);
    let (path, overwrite) = (arguments.output.path()?, arguments.placing.overwrite());
    let bar = Arc::new(Bar::new(env.report.terminal));
    let mut report = Report::default();
    let outcome =
        shuffle.with_progress(Arc::clone(&bar) as Arc<dyn Progress>).run(path, overwrite, &mut env.opener, &mut report);
    bar.clear();
    outcome?;
    dataset::told(&report, false, env)
}
