//! `wharf sample`: some samples of a dataset, or documents of a collection.

use std::ffi::OsString;

use container_core::{Error, Progress, Result, Unit};
use datadings::order::Order;

use super::Outcome;
use super::bar::Bar;
use super::dataset::{self, Placing};
use super::env::Env;
use super::human::counted;
use super::output::OneOutput;
use super::records::{Records, Which};

const EXAMPLES: &str = "\
Examples:
  wharf sample train.msgpack small.msgpack -n 1000 --seed 7
  wharf sample train.msgpack small.msgpack -n 1000 --keep-order
  wharf sample train.msgpack first.msgpack -n 1000 --sequential
  wharf sample trees.d small.zds -n 1000           documents of a ZDS store";

/// Write some samples of a datadings dataset, or documents of a ZDS collection: chosen at random, each at most once
///
/// They are copied byte for byte. The same seed chooses the same samples, on every machine and in every later version; without
/// --seed one is chosen and told.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = "wharf sample [OPTIONS] -n <N> <IN> <OUT>")]
pub(crate) struct Arguments {
    /// The dataset or store; - is standard input
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

    #[command(flatten)]
    which: Which,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let place = dataset::single(&arguments.input, "sample")?;
    let path = arguments.output.path()?;
    let records = Records::open(&place, &mut env.opener, "sample", &arguments.which, &arguments.placing)?;
    let (len, number) = (records.len()?, arguments.number);
    if number > len {
        let word = records.word();
        let what = if word == "sample" { "dataset" } else { "collection" };
        let detail = format!("{number} {word}s are asked for: the {what} has {len}");
        return Err(Error::usage(detail).in_file(place.name()));
    }
    let mut out = records.create(path, path, &arguments.placing, std::slice::from_ref(&place))?;
    let bar = Bar::new(env.report.terminal);
    bar.name(&place.name());
    bar.begin(Unit::Rows, Some(number));
    let mut seed = None;
    if arguments.sequential {
        records.copy(0..number, &mut out, &bar)?;
    } else {
        let chance = dataset::seed(arguments.seed);
        seed = Some(chance);
        let chosen = Order::sequential(len).shuffled(chance)?.range(0..number)?.iter(0);
        if arguments.keep_order {
            records.copy_rows(in_order(chosen).into_iter(), &mut out, &bar)?;
        } else {
            records.copy_rows(chosen, &mut out, &bar)?;
        }
    }
    let lost = out.take_losses(&place);
    let (written, mut object) = out.finish()?;
    bar.clear();
    lost.iter().for_each(|lost| env.report.lost(lost));
    object.insert("of".into(), len.into());
    let mut line = format!("{}: {} of {len}", path.display(), counted(written, records.word()));
    if let Some(seed) = seed {
        object.insert("seed".into(), seed.into());
        line.push_str(&format!(", seed {seed}"));
    }
    dataset::tell(object, &line, env)?;
    Ok(Outcome::after(&lost))
}

/// The chosen ones, sorted: 8 bytes a sample, less than the writer holds of each.
fn in_order(chosen: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut rows: Vec<u64> = chosen.collect();
    rows.sort_unstable();
    rows
}
