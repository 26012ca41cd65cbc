//! `wharf split`: one dataset or collection into several.

mod parts;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use container_core::{Error, Progress, Result, Unit};
use datadings::order::Order;
use serde_json::{Map, Value, json};

use super::Outcome;
use super::bar::Bar;
use super::dataset::{self, Placing};
use super::env::Env;
use super::human::counted;
use super::inputs::Location;
use super::records::{Out, Records, Which};
use super::zds;
use wharf::hub::staged::Staged;

use parts::{Fractions, Parts};

const EXAMPLES: &str = "\
Examples:
  wharf split all.msgpack --fractions 0.8,0.1,0.1 --shuffle --seed 7 -o train.msgpack -o val.msgpack -o test.msgpack
  wharf split all.msgpack --at 1000,5000         three datasets: all-0.msgpack, all-1.msgpack, all-2.msgpack
  wharf split all.msgpack --every 100000 -o 'shards/{}.msgpack'";

/// Write one datadings dataset, or one ZDS collection, as several
///
/// Each gets a stretch of the samples or documents, one behind the other; they are copied byte for byte. All of them appear at the end, and
/// none when anything fails before. With --json, what was done is one object on standard output.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, group = clap::ArgGroup::new("how").required(true))]
pub(crate) struct Arguments {
    /// The dataset or store; - is standard input
    #[arg(value_name = "IN")]
    input: OsString,

    /// Begin a new dataset at these samples, counted from 0
    #[arg(long, value_name = "N,M,..", value_delimiter = ',', group = "how")]
    at: Vec<u64>,

    /// So many datasets, as large as each other give or take one sample
    #[arg(long, value_name = "N", group = "how", value_parser = clap::value_parser!(u64).range(1..))]
    parts: Option<u64>,

    /// So many samples in each, and the rest in the last
    #[arg(long, value_name = "N", group = "how", value_parser = clap::value_parser!(u64).range(1..))]
    every: Option<u64>,

    /// These shares of the samples, which add up to 1
    #[arg(long, value_name = "X,Y,..", group = "how")]
    fractions: Option<Fractions>,

    /// The files to write: one name with {}, which becomes the number (from 0, with as many digits as the last has), or a name for
    /// each [default: IN-{}.msgpack]
    #[arg(short, long, value_name = "OUT")]
    output: Vec<PathBuf>,

    /// Take the samples in random order
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
    let location = dataset::single(&arguments.input, "split")?;
    let records = Records::open(&location, &mut env.opener, "split", &arguments.which, &arguments.placing)?;
    let len = records.len()?;
    let parts = match arguments {
        Arguments { parts: Some(parts), .. } => Parts::equal(len, *parts),
        Arguments { every: Some(every), .. } => Parts::every(len, *every),
        Arguments { fractions: Some(fractions), .. } => fractions.parts(len),
        Arguments { at, .. } => Parts::at(len, at),
    };
    let parts = parts.map_err(|error| error.in_file(location.name()))?;
    let paths = names(&arguments.output, &location, parts.count())?;
    for path in &paths {
        records.refuse(path, arguments.placing.force, std::slice::from_ref(&location))?;
    }
    distinct(&paths)?;

    let seed = arguments.shuffle.then(|| dataset::seed(arguments.seed));
    let order = match seed {
        Some(seed) => Some(Order::sequential(len).shuffled(seed)?),
        None => None,
    };
    let mut staged = Staged::new(arguments.placing.force);
    let bar = Bar::new(env.report.terminal);
    let (mut done, mut outputs) = (Vec::new(), Vec::new());
    let (mut lines, mut lost) = (Vec::new(), Vec::new());
    let mut ready = Vec::new();
    for (number, (path, rows)) in paths.iter().zip(parts.ranges()).enumerate() {
        bar.name(&format!("{} ({} of {})", path.display(), number + 1, paths.len()));
        bar.begin(Unit::Rows, Some(rows.end - rows.start));
        let is_dataset = matches!(records, Records::Datadings(_));
        let made_at = if is_dataset { staged.path(path)? } else { path.clone() };
        let mut out = records.create(path, &made_at, &arguments.placing, std::slice::from_ref(&location))?;
        match &order {
            None => records.copy(rows, &mut out, &bar)?,
            Some(order) => records.copy_rows(order.clone().range(rows)?.iter(0), &mut out, &bar)?,
        }
        lost.extend(out.take_losses(&location));
        done.push((
            path,
            match out {
                Out::Zds(path, new) => {
                    let (new, writer) = *new;
                    let (store, written) = new.prepare(vec![writer])?;
                    ready.push(store);
                    (written.documents, zds::done(&path, written))
                }
                out @ Out::Datadings(..) => out.finish()?,
            },
        ));
    }
    zds::place_all(ready)?;
    staged.commit()?;
    for (path, (written, object)) in done {
        outputs.push(Value::Object(object));
        lines.push(format!("{}: {}", path.display(), counted(written, records.word())));
    }
    bar.clear();
    lost.iter().for_each(|lost| env.report.lost(lost));
    let mut object = Map::new();
    object.insert("rows".into(), len.into());
    object.insert("outputs".into(), outputs.into());
    if let Some(seed) = seed {
        object.insert("seed".into(), json!(seed));
        lines.push(format!("seed {seed}"));
    }
    if env.json() {
        dataset::tell(object, "", env)?;
    } else {
        for line in &lines {
            dataset::tell(Map::new(), line, env)?;
        }
    }
    Ok(Outcome::after(&lost))
}

/// The name of every output.
fn names(given: &[PathBuf], input: &Location, count: usize) -> Result<Vec<PathBuf>> {
    let digits = count.saturating_sub(1).to_string().len();
    let numbered = |pattern: &str| {
        let path = |number: usize| PathBuf::from(pattern.replace("{}", &format!("{number:0digits$}")));
        (0..count).map(path).collect::<Vec<_>>()
    };
    match (given, input) {
        ([], Location::Stdin) => Err(Error::usage("standard input has no name that the outputs could take: say -o")),
        ([], Location::Path(path)) => {
            let data = dataset::data_of(path);
            let stem = data.file_stem().unwrap_or_default();
            let name = |number: usize| {
                let mut name = stem.to_owned();
                name.push(format!("-{number:0digits$}"));
                if let Some(extension) = data.extension() {
                    name.push(".");
                    name.push(extension);
                }
                data.with_file_name(name)
            };
            Ok((0..count).map(name).collect())
        }
        ([one], _) if one.to_str().is_some_and(|text| text.contains("{}")) => {
            Ok(numbered(one.to_str().unwrap_or_default()))
        }
        (names, _) if names.len() == count => Ok(names.to_vec()),
        (names, _) => {
            let detail = format!(
                "{} for {}: give a name with {{}}, or one for each",
                counted(names.len(), "name"),
                counted(count, "dataset")
            );
            Err(Error::usage(detail))
        }
    }
}

/// No output may be another one, nor a file that belongs to another one.
fn distinct(paths: &[PathBuf]) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    let twice = paths.iter().find(|path| !seen.insert(absolute(path)));
    let inside =
        || paths.iter().find(|path| dataset::members(path).skip(1).any(|part| seen.contains(&absolute(&part))));
    match twice.or_else(inside) {
        None => Ok(()),
        Some(path) => {
            Err(Error::usage("two outputs would be written to the same file").in_file(path.display().to_string()))
        }
    }
}

fn absolute(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    folder.join(path.file_name().unwrap_or_default())
}
