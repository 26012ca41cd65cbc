//! `wharf split`: splits an input into several outputs.

use std::ffi::OsString;
use std::path::PathBuf;

use container_core::Result;
use serde_json::{Map, Value};
use wharf::Split;
use wharf::subset::{Fractions, Parts, Report};

use super::Outcome;
use super::display::counted;
use super::env::Env;
use super::records::{self, TableChoice, WriteOptions, output_object};
use super::{inputs, progress};

const EXAMPLES: &str = "\
Examples:
  wharf split all.msgpack --fractions 0.8,0.1,0.1 --shuffle --seed 7 -o train.msgpack -o val.msgpack -o test.msgpack
  wharf split all.csv --fractions 0.9,0.1 --shuffle -o train.csv -o test.csv
  wharf split all.msgpack --at 1000,5000         writes all-0.msgpack, all-1.msgpack and all-2.msgpack
  wharf split all.msgpack --every 100000 -o 'shards/{}.msgpack'";

/// Split an input into several outputs of the same format
///
/// Each output gets a contiguous range of the records (samples, documents or rows). Samples, documents and rows of text are copied byte for byte;
/// rows of IDV, Parquet and Arrow IPC are re-encoded. Either all outputs appear or none. With --json, the result is printed as one object.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, group = clap::ArgGroup::new("how").required(true))]
pub(crate) struct Arguments {
    /// Input file, dataset or store; - for standard input
    #[arg(value_name = "IN")]
    input: OsString,

    /// Start a new output at each of these records, counted from 0
    #[arg(long, value_name = "N,M,..", value_delimiter = ',', group = "how")]
    at: Vec<u64>,

    /// Number of outputs; their sizes differ by at most one record
    #[arg(long, value_name = "N", group = "how", value_parser = clap::value_parser!(u64).range(1..))]
    parts: Option<u64>,

    /// Number of records per output; the last may have fewer
    #[arg(long, value_name = "N", group = "how", value_parser = clap::value_parser!(u64).range(1..))]
    every: Option<u64>,

    /// Fractions of the records, which add up to 1
    #[arg(long, value_name = "X,Y,..", group = "how")]
    fractions: Option<Fractions>,

    /// Output files: a path for each, or one with {} for the number, which is padded with zeros [default: input name plus number, such as
    /// all-0.csv]
    #[arg(short, long, value_name = "OUT")]
    output: Vec<PathBuf>,

    /// Shuffle the records first
    #[arg(long)]
    shuffle: bool,

    /// Seed of the random generator [default: a different one each time]
    #[arg(long, value_name = "N", requires = "shuffle")]
    seed: Option<u64>,

    #[command(flatten)]
    write_options: WriteOptions,

    #[command(flatten)]
    table: TableChoice,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let mut split = Split::new("", arguments.parts());
    split.input = inputs::expand_single(&arguments.input, "split")?;
    split.outputs.clone_from(&arguments.output);
    (split.shuffle, split.seed) = (arguments.shuffle, arguments.seed);
    split.copying = arguments.write_options.copying(&arguments.table)?;
    let mut report = Report::default();
    let overwrite = arguments.write_options.overwrite();
    progress::with_line(env.report.terminal, |progress| {
        split.with_progress(progress).run(overwrite, &mut env.opener, &mut report)
    })?;
    let outcome = env.lost(&report.losses);
    if env.json() {
        let outputs: Vec<Value> =
            report.outputs.iter().map(|output| output_object(report.format, output).into()).collect();
        let mut object = Map::new();
        object.insert("rows".into(), report.of.into());
        object.insert("outputs".into(), outputs.into());
        object.extend(report.seed.map(|seed| ("seed".to_owned(), seed.into())));
        records::print_result(object, "", env)?;
    } else {
        for output in &report.outputs {
            let line = format!("{}: {}", output.path.display(), counted(output.rows, report.unit.words().0));
            records::print_result(Map::new(), &line, env)?;
        }
        if let Some(seed) = report.seed {
            records::print_result(Map::new(), &format!("seed {seed}"), env)?;
        }
    }
    Ok(outcome)
}

impl Arguments {
    /// Where to split. clap ensures that exactly one option was given.
    fn parts(&self) -> Parts {
        match self {
            Self { parts: Some(parts), .. } => Parts::Equal(*parts),
            Self { every: Some(every), .. } => Parts::Every(*every),
            Self { fractions: Some(fractions), .. } => Parts::Fractions(fractions.clone()),
            Self { at, .. } => Parts::At(at.clone()),
        }
    }
}
