//! `wharf sample`: some samples of a dataset.

use std::ffi::OsString;

use container_core::{Error, Progress, Result, Unit};
use datadings::order::Order;

use super::Outcome;
use super::bar::Bar;
use super::dataset::{self, Dataset, Placing};
use super::env::Env;
use super::human::counted;
use super::output::OneOutput;

const EXAMPLES: &str = "\
Examples:
  wharf sample train.msgpack small.msgpack -n 1000 --seed 7
  wharf sample train.msgpack small.msgpack -n 1000 --keep-order
  wharf sample train.msgpack first.msgpack -n 1000 --sequential";

/// Write some samples of a datadings dataset: chosen at random, each at most once
///
/// Messages are copied byte for byte. The same seed chooses the same samples, on every machine and in every later version; without
/// --seed one is chosen and told.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = "wharf sample [OPTIONS] -n <N> <IN> <OUT>")]
pub(crate) struct Arguments {
    /// The dataset; - is standard input
    #[arg(value_name = "IN")]
    input: OsString,

    #[command(flatten)]
    output: OneOutput,

    /// How many samples
    #[arg(short = 'n', long, value_name = "N", required = true)]
    number: u64,

    /// Where chance begins: any number [default: another one each time]
    #[arg(long, value_name = "N", conflicts_with = "sequential")]
    seed: Option<u64>,

    /// The first samples, not random ones
    #[arg(long)]
    sequential: bool,

    /// Random samples in the order of the dataset, and not in random order
    #[arg(long, conflicts_with = "sequential")]
    keep_order: bool,

    #[command(flatten)]
    placing: Placing,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let place = dataset::single(&arguments.input, "sample")?;
    let path = arguments.output.path()?;
    let dataset = Dataset::open(&place, &mut env.opener, "sample")?;
    let (len, number) = (dataset.reader.len(), arguments.number);
    if number > len {
        let detail = format!("{number} samples are asked for: the dataset has {len}");
        return Err(Error::usage(detail).in_file(place.name()));
    }
    let mut writer = arguments.placing.create(path, std::slice::from_ref(&place))?;
    let bar = Bar::new(env.report.terminal);
    bar.name(place.name());
    bar.begin(Unit::Rows, Some(number));
    let mut seed = None;
    if arguments.sequential {
        dataset.copy(0..number, &mut writer, &bar)?;
    } else {
        let chance = dataset::seed(arguments.seed);
        seed = Some(chance);
        let chosen = Order::sequential(len).shuffled(chance)?.range(0..number)?.iter(0);
        if arguments.keep_order {
            dataset.copy_rows(in_order(chosen).into_iter(), &mut writer, &bar)?;
        } else {
            dataset.copy_rows(chosen, &mut writer, &bar)?;
        }
    }
    let written = writer.finish()?;
    bar.clear();
    let mut object = dataset::done(path, written);
    object.insert("of".into(), len.into());
    let mut line = format!("{}: {} of {len}", path.display(), counted(written.samples, "sample"));
    if let Some(seed) = seed {
        object.insert("seed".into(), seed.into());
        line.push_str(&format!(", seed {seed}"));
    }
    dataset::tell(object, &line, env)?;
    Ok(Outcome::Done)
}

/// The chosen ones, sorted: 8 bytes a sample, less than the writer holds of each.
fn in_order(chosen: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut rows: Vec<u64> = chosen.collect();
    rows.sort_unstable();
    rows
}
