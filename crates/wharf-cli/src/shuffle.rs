//! `wharf shuffle`: the samples of a dataset, or the documents of a collection, in another order.

use std::ffi::OsString;

use container_core::{Error, Progress, Result, Unit};
use datadings::order::{Order, QuasiShuffle};

use super::Outcome;
use super::bar::Bar;
use super::dataset::{self, Placing};
use super::env::Env;
use super::human::counted;
use super::output::OneOutput;
use super::records::{Records, Which};

const EXAMPLES: &str = "\
Examples:
  wharf shuffle train.msgpack shuffled.msgpack --seed 7
  wharf shuffle huge.msgpack shuffled.msgpack --quasi --buffer 0.05    few seeks, for data larger than memory";

/// Write the samples of a datadings dataset, or the documents of a ZDS collection, in random order
///
/// They are copied byte for byte. The same seed gives the same bytes, on every machine and in every later version; without
/// --seed one is chosen and told. --quasi shuffles chunks of neighbours and mixes the samples of some chunks with each other, which
/// reads the data in long stretches.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = "wharf shuffle [OPTIONS] <IN> <OUT>")]
pub(crate) struct Arguments {
    /// The dataset or store; - is standard input
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

    /// Samples that are mixed with each other; below 1 a fraction of the dataset [default: 0.01]
    #[arg(long, value_name = "N", requires = "quasi")]
    buffer: Option<f64>,

    /// Neighbouring samples that stay near each other [default: 16]
    #[arg(long, value_name = "N", requires = "quasi")]
    chunk: Option<u64>,

    #[command(flatten)]
    placing: Placing,

    #[command(flatten)]
    which: Which,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let place = dataset::single(&arguments.input, "shuffle")?;
    let path = arguments.output.path()?;
    let records = Records::open(&place, &mut env.opener, "shuffle", &arguments.which, &arguments.placing)?;
    let len = records.len()?;
    let seed = dataset::seed(arguments.seed);
    let order = Order::sequential(len);
    let order = if arguments.quasi {
        let buffer = arguments.buffer.unwrap_or(QuasiShuffle::PYTHON_BUFFER);
        let chunk = arguments.chunk.unwrap_or(QuasiShuffle::PYTHON_CHUNK);
        let quasi =
            QuasiShuffle::of_len(len, buffer, chunk).map_err(|error| Error::usage(error.detail().to_owned()))?;
        order.quasi_shuffled(quasi, seed)?
    } else {
        order.shuffled(seed)?
    };
    let mut out = records.create(path, path, &arguments.placing, std::slice::from_ref(&place))?;
    let bar = Bar::new(env.report.terminal);
    bar.name(&place.name());
    bar.begin(Unit::Rows, Some(len));
    records.copy_rows(order.iter(0), &mut out, &bar)?;
    let lost = out.take_losses(&place);
    let (written, mut object) = out.finish()?;
    bar.clear();
    lost.iter().for_each(|lost| env.report.lost(lost));
    object.insert("seed".into(), seed.into());
    let line = format!("{}: {}, seed {seed}", path.display(), counted(written, records.word()));
    dataset::tell(object, &line, env)?;
    Ok(Outcome::after(&lost))
}
