//! `wharf split`: one input into several outputs.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use container_core::{Progress, Result};
use serde_json::{Map, Value};
use wharf::Split;
use wharf::subset::{Fractions, Parts, Report};

use super::Outcome;
use super::bar::Bar;
use super::dataset::{self, Placing, Which, done, word};
use super::env::Env;
use super::human::counted;

const EXAMPLES: &str = "\
Examples:
  wharf split all.msgpack --fractions 0.8,0.1,0.1 --shuffle --seed 7 -o train.msgpack -o val.msgpack -o test.msgpack
  wharf split all.csv --fractions 0.9,0.1 --shuffle -o train.csv -o test.csv
  wharf split all.msgpack --at 1000,5000         three datasets: all-0.msgpack, all-1.msgpack, all-2.msgpack
  wharf split all.msgpack --every 100000 -o 'shards/{}.msgpack'";

/// Write one input as several outputs of its format
///
/// Each gets a stretch of the samples, documents or rows, one behind the other. Samples of datadings, documents of ZDS and rows of text are
/// copied byte for byte; those of IDV, Parquet and Arrow IPC as columns. All of them appear at the end, and
/// none when anything fails before. With --json, what was done is one object on standard output.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, group = clap::ArgGroup::new("how").required(true))]
pub(crate) struct Arguments {
    /// The file, dataset or store; - is standard input
    #[arg(value_name = "IN")]
    input: OsString,

    /// Begin a new output at these records, counted from 0
    #[arg(long, value_name = "N,M,..", value_delimiter = ',', group = "how")]
    at: Vec<u64>,

    /// So many outputs, as large as each other give or take one record
    #[arg(long, value_name = "N", group = "how", value_parser = clap::value_parser!(u64).range(1..))]
    parts: Option<u64>,

    /// So many records in each, and the rest in the last
    #[arg(long, value_name = "N", group = "how", value_parser = clap::value_parser!(u64).range(1..))]
    every: Option<u64>,

    /// These shares of the records, which add up to 1
    #[arg(long, value_name = "X,Y,..", group = "how")]
    fractions: Option<Fractions>,

    /// The files to write: one name with {}, which becomes the number (from 0, with as many digits as the last has), or a name for
    /// each [default: that of the input with the number, as in all-0.csv]
    #[arg(short, long, value_name = "OUT")]
    output: Vec<PathBuf>,

    /// Take the records in random order
    #[arg(long)]
    shuffle: bool,

    /// Where chance begins: any number [default: another one each time]
    #[arg(long, value_name = "N", requires = "shuffle")]
    seed: Option<u64>,

    #[command(flatten)]
    placing: Placing,

    #[command(flatten)]
    which: Which,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let mut split = Split::new("", arguments.parts());
    split.input = dataset::single(&arguments.input, "split")?;
    split.outputs.clone_from(&arguments.output);
    (split.shuffle, split.seed) = (arguments.shuffle, arguments.seed);
    split.copying = arguments.placing.copying(&arguments.which);
    let bar = Arc::new(Bar::new(env.report.terminal));
    let mut report = Report::default();
    let overwrite = arguments.placing.overwrite();
    let outcome =
        split.with_progress(Arc::clone(&bar) as Arc<dyn Progress>).run(overwrite, &mut env.opener, &mut report);
    bar.clear();
    outcome?;
    report.losses.iter().for_each(|lost| env.report.lost(lost));
    if env.json() {
        let outputs: Vec<Value> = report.outputs.iter().map(|output| done(report.format, output).into()).collect();
        let mut object = Map::new();
        object.insert("rows".into(), report.of.into());
        object.insert("outputs".into(), outputs.into());
        object.extend(report.seed.map(|seed| ("seed".to_owned(), seed.into())));
        dataset::tell(object, "", env)?;
    } else {
        for output in &report.outputs {
            let line = format!("{}: {}", output.path.display(), counted(output.rows, word(report.format)));
            dataset::tell(Map::new(), &line, env)?;
        }
        if let Some(seed) = report.seed {
            dataset::tell(Map::new(), &format!("seed {seed}"), env)?;
        }
    }
    Ok(Outcome::after(&report.losses))
}

impl Arguments {
    /// Where the input is cut: one of these was said.
    fn parts(&self) -> Parts {
        match self {
            Self { parts: Some(parts), .. } => Parts::Equal(*parts),
            Self { every: Some(every), .. } => Parts::Every(*every),
            Self { fractions: Some(fractions), .. } => Parts::Fractions(fractions.clone()),
            Self { at, .. } => Parts::At(at.clone()),
        }
    }
}
