//! `wharf merge`: one file of many.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use container_core::{Error, Overwrite, Progress, Result};
use serde_json::{Map, Value};
use wharf::Merge;
use wharf::merge::{Report, To};

use super::Outcome;
use super::bar::Bar;
use super::env::Env;
use super::human::counted;
use super::inputs;
use super::writing::Writing;

const EXAMPLES: &str = "\
Examples:
  wharf merge monday.idv tuesday.idv -o week.idv
  wharf merge 'day-*.parquet' -o all.parquet
  wharf merge 'day-*.idv' -o all.idv --compression none
  wharf merge cats.msgpack dogs.msgpack -o pets.msgpack --strategy random --seed 7
  wharf merge 'day-*.ds' --dim time -o week.ds
  wharf merge 'era5-*.nc' --dim time -o era5.nc
  wharf merge cats.d dogs.zds -o pets.d --on-duplicate first
  wharf merge run-1.ds run-2.ds --dim run -o runs.ds           a new dimension";

/// Join files of one format into one
///
/// IDV: rows follow one another in the order of the files. Names, types and metadata have to be equal. Blocks are carried over as
/// they are, without being decompressed, where the new file can have them so: when every file but the last ends with a full
/// block. `verify` tells whether the result is sound.
///
/// datadings: samples follow one another, or come from all datasets at random. Messages are copied byte for byte.
///
/// ds, NetCDF: variables along --dim follow one another; where no file has the dimension it is new. Others are those of the first file that has
/// them. Of attributes of one name the last file's are kept; what differs is told. What a file does not have is missing.
///
/// ZDS: documents of collections of the same name follow one another, byte for byte; --into joins all collections.
///
/// Others (CSV, TSV, JSON lines, Parquet, Arrow IPC): rows follow one another, as convert joins them: columns have the same names and meaning.
///
/// With --json, what was done is one object on standard output.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Files, or patterns in quotes such as 'day-*.idv' (sorted); - is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<OsString>,

    /// The file to write
    #[arg(short, long, value_name = "OUT", required = true)]
    output: PathBuf,

    /// Replace the output if it exists
    #[arg(long)]
    force: bool,

    /// Threads that may work at once; 0 for all the machine has
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,

    /// Only these columns, in this order (not ds, NetCDF, datadings, ZDS)
    #[arg(long, value_name = "NAMES")]
    columns: Vec<String>,

    #[command(flatten, next_help_heading = "Options for IDV")]
    writing: Writing,

    #[command(flatten)]
    datadings: Datadings,

    #[command(flatten)]
    ds: Ds,

    #[command(flatten)]
    zds: Zds,

    /// What to do with a sample or document whose key one before has already [default: error]
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Options for datadings and ZDS")]
    on_duplicate: Option<OnDuplicate>,
}

/// Options that only datadings has.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Options for datadings")]
struct Datadings {
    /// Which sample comes next [default: concat]
    #[arg(long, value_enum, value_name = "HOW")]
    strategy: Option<Strategy>,

    /// Take the samples of each dataset in random order
    #[arg(long)]
    shuffle: bool,

    /// Where chance begins: any number [default: another one each time]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Write no .md5
    #[arg(long)]
    no_md5: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Strategy {
    /// All of the first dataset, then all of the second, and so on
    Concat,
    /// One of all samples that are left; each dataset keeps its order
    Random,
}

/// Options that only ds files have.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Options for ds and NetCDF")]
struct Ds {
    /// The dimension along which the files are joined; one that none of them has is new
    #[arg(long, value_name = "NAME")]
    dim: Option<String>,

    /// Variables that are not along it are joined along this new one; without, the first file's are kept
    #[arg(long, value_name = "NAME", requires = "dim")]
    new: Option<String>,

    /// Only these variables are joined along a new dimension, with commas between them
    #[arg(long, value_name = "NAMES", requires = "dim", value_delimiter = ',')]
    variables: Option<Vec<String>>,

    /// Times in different units are joined as they are; without, they get the units of the first file
    #[arg(long, requires = "dim")]
    keep_times: bool,
}

/// Options that only ZDS has.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(id = "zds")]
#[command(next_help_heading = "Options for ZDS")]
struct Zds {
    /// Only collections of this name
    #[arg(long, value_name = "NAME")]
    table: Option<String>,

    /// Join all collections into one of this name
    #[arg(long, value_name = "NAME")]
    into: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum OnDuplicate {
    /// Stop, and write nothing
    Error,
    /// Keep the one that came first
    First,
    /// Keep the one that came last (ZDS)
    Last,
    /// Keep both: the later key gets #2, #3... appended (datadings)
    Rename,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let bar = Arc::new(Bar::new(env.report.terminal));
    let merge = arguments.merge()?.with_progress(Arc::clone(&bar) as Arc<dyn Progress>);
    let path: &Path = &arguments.output;
    let is_stream = path == Path::new("-");
    if is_stream && env.stdout.terminal.is_some() {
        let format = merge.format(&mut env.opener)?;
        if !["jsonl", "csv", "tsv"].contains(&format) {
            return Err(Error::usage(format!("{format} is not for a terminal: give a file, or a pipe")));
        }
    }
    let overwrite = if arguments.force { Overwrite::Replace } else { Overwrite::Refuse };
    let to = if is_stream { To::Stream(&mut env.stdout) } else { To::Path(path, overwrite) };
    let mut report = Report::default();
    let outcome = merge.run(to, &mut env.opener, &mut report);
    bar.clear();
    outcome?;
    report.losses.iter().for_each(|lost| env.report.lost(lost));
    let lost = Outcome::after(&report.losses);
    if !is_stream {
        arguments.tell(&path.display().to_string(), &report, env)?;
    }
    Ok(lost)
}

impl Arguments {
    /// The same for the library.
    fn merge(&self) -> Result<Merge> {
        let mut merge = Merge::default();
        merge.inputs = inputs::expand(&self.files)?;
        merge.columns.clone_from(&self.columns);
        merge.threads = self.threads;
        merge.on_duplicate = self.on_duplicate.map(Into::into);
        merge.idv = self.writing.output();
        let Datadings { strategy, shuffle, seed, no_md5 } = &self.datadings;
        merge.datadings.strategy = strategy.map(Into::into);
        (merge.datadings.shuffle, merge.datadings.seed, merge.datadings.no_md5) = (*shuffle, *seed, *no_md5);
        let Ds { dim, new, variables, keep_times } = self.ds.clone();
        (merge.ds.dim, merge.ds.new, merge.ds.variables, merge.ds.keep_times) = (dim, new, variables, keep_times);
        let Zds { table, into } = self.zds.clone();
        (merge.zds.table, merge.zds.into) = (table, into);
        Ok(merge)
    }

    /// Says what was done.
    fn tell(&self, name: &str, report: &Report, env: &mut Env<'_>) -> Result<()> {
        if env.json() {
            let mut object = Map::new();
            object.insert("file".into(), name.into());
            object.insert("to".into(), report.format.into());
            match report.format {
                "ds" => object.insert("variables".into(), report.variables.into()),
                _ => object.insert("rows".into(), report.rows.into()),
            };
            object.insert("bytes".into(), report.bytes.into());
            if report.format != "ds" {
                object.insert("inputs".into(), report.inputs.into());
            }
            if report.format == "idv" {
                object.insert("blocks_carried".into(), report.blocks_carried.into());
                object.insert("blocks_encoded".into(), report.blocks_encoded.into());
            }
            if let Some(seed) = report.seed {
                object.insert("seed".into(), seed.into());
            }
            match self.on_duplicate.filter(|_| report.format == "datadings") {
                Some(OnDuplicate::First) => drop(object.insert("left_out".into(), report.duplicates.into())),
                Some(OnDuplicate::Rename) => drop(object.insert("renamed".into(), report.duplicates.into())),
                _ => {}
            }
            return env.stdout.print(&format!("{}\n", Value::Object(object)));
        }
        let Report { rows, inputs, .. } = *report;
        let done = match report.format {
            "idv" => {
                let (carried, all) = (report.blocks_carried, report.blocks_carried + report.blocks_encoded);
                let (rows, files, blocks) = (counted(rows, "row"), counted(inputs, "file"), counted(all, "block"));
                format!("{rows} of {files}, {carried} of {blocks} carried over")
            }
            "datadings" => format!("{} of {}", counted(rows, "sample"), counted(inputs, "dataset")),
            "ds" => counted(report.variables, "variable"),
            "zds" => format!("{} of {}", counted(rows, "document"), counted(inputs, "collection")),
            _ => format!("{} of {}", counted(rows, "row"), counted(inputs, "file")),
        };
        env.report.note(format!("{name}: {done}"));
        if let (Some(seed), None) = (report.seed, self.datadings.seed) {
            env.report.message(format!("note: {name}: seed {seed}"));
        }
        Ok(())
    }
}

impl From<OnDuplicate> for wharf::merge::OnDuplicate {
    fn from(choice: OnDuplicate) -> Self {
        match choice {
            OnDuplicate::Error => Self::Error,
            OnDuplicate::First => Self::First,
            OnDuplicate::Last => Self::Last,
            OnDuplicate::Rename => Self::Rename,
        }
    }
}

impl From<Strategy> for wharf::merge::Strategy {
    fn from(choice: Strategy) -> Self {
        match choice {
            Strategy::Concat => Self::Concat,
            Strategy::Random => Self::Random,
        }
    }
}
