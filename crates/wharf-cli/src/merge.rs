//! `wharf merge`: joins files of one format.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use container_core::{Error, Overwrite, Progress, Result};
use serde_json::{Map, Value};
use wharf::Merge;
use wharf::merge::{Report, To};

use super::Outcome;
use super::display::counted;
use super::env::Env;
use super::idv_options::IdvOptions;
use super::inputs;
use super::progress::ProgressLine;

const EXAMPLES: &str = "\
Examples:
  wharf merge monday.idv tuesday.idv -o week.idv
  wharf merge 'day-*.parquet' -o all.parquet
  wharf merge 'day-*.idv' -o all.idv --compression none
  wharf merge cats.msgpack dogs.msgpack -o pets.msgpack --strategy random --seed 7
  wharf merge 'day-*.ds' --dim time -o week.ds
  wharf merge 'era5-*.nc' --dim time -o era5.nc
  wharf merge cats.d dogs.zds -o pets.d --on-duplicate first
  wharf merge run-1.ds run-2.ds --dim run -o runs.ds           along a new dimension";

/// Join files of one format into one
///
/// IDV: concatenates rows. The files must have the same columns, types and metadata. If every file but the last ends with a full block,
/// compressed blocks are copied without decoding them; run `verify` to check the result.
///
/// datadings: concatenates samples, or interleaves them at random. Messages are copied byte for byte.
///
/// ds, NetCDF: concatenates variables along --dim, or along a new dimension if no file has it. Other variables are taken from the first file
/// that has them, attributes from the last; differences are reported. Variables that a file lacks are filled with missing values.
///
/// ZDS: concatenates the documents of collections with the same name, byte for byte. --into joins all collections.
///
/// Parquet, Arrow IPC, JSON lines, CSV, TSV: concatenates rows like `convert`. The columns must have the same names and meaning.
///
/// With --json, the result is printed as one object.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Input files, or quoted glob patterns such as 'day-*.idv'; - for standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<OsString>,

    /// Output file
    #[arg(short, long, value_name = "OUT", required = true)]
    output: PathBuf,

    /// Overwrite existing output
    #[arg(long)]
    force: bool,

    /// Maximum number of threads; 0 for all processors
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,

    /// Only these columns, in this order (not ds, NetCDF, datadings, ZDS)
    #[arg(long, value_name = "NAMES")]
    columns: Vec<String>,

    #[command(flatten, next_help_heading = "Options for IDV")]
    idv: IdvOptions,

    #[command(flatten)]
    datadings: Datadings,

    #[command(flatten)]
    ds: Ds,

    #[command(flatten)]
    zds: Zds,

    /// What to do with a sample or document whose key already exists [default: error]
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Options for datadings and ZDS")]
    on_duplicate: Option<OnDuplicate>,
}

/// Options for datadings.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Options for datadings")]
struct Datadings {
    /// Order of the samples [default: concat]
    #[arg(long, value_enum, value_name = "HOW")]
    strategy: Option<Strategy>,

    /// Shuffle the samples of each dataset first
    #[arg(long)]
    shuffle: bool,

    /// Seed of the random generator [default: a different one each time]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Write no .md5 file
    #[arg(long)]
    no_md5: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Strategy {
    /// The datasets one after another
    Concat,
    /// Interleaved at random; the samples of each dataset keep their order
    Random,
}

/// Options for ds and NetCDF.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Options for ds and NetCDF")]
struct Ds {
    /// Dimension to join along; a new one if no file has it
    #[arg(long, value_name = "NAME")]
    dim: Option<String>,

    /// Join the variables without that dimension along this new one [default: keep those of the first file]
    #[arg(long, value_name = "NAME", requires = "dim")]
    new: Option<String>,

    /// Join only these variables along a new dimension, comma-separated
    #[arg(long, value_name = "NAMES", requires = "dim", value_delimiter = ',')]
    variables: Option<Vec<String>>,

    /// Join times with different units unchanged [default: convert them to the units of the first file]
    #[arg(long, requires = "dim")]
    keep_times: bool,
}

/// Options for ZDS.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(id = "zds")]
#[command(next_help_heading = "Options for ZDS")]
struct Zds {
    /// Only collections with this name
    #[arg(long, value_name = "NAME")]
    table: Option<String>,

    /// Join all collections into one with this name
    #[arg(long, value_name = "NAME")]
    into: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum OnDuplicate {
    /// Fail and write nothing
    Error,
    /// Keep the first
    First,
    /// Keep the last (ZDS)
    Last,
    /// Keep all, and append #2, #3, ... to the later keys (datadings)
    Rename,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let progress = Arc::new(ProgressLine::new(env.report.terminal));
    let merge = arguments.merge()?.with_progress(Arc::clone(&progress) as Arc<dyn Progress>);
    let path: &Path = &arguments.output;
    let is_stream = path == Path::new("-");
    if is_stream && env.stdout.terminal.is_some() {
        let format = merge.format(&mut env.opener)?;
        if !["jsonl", "csv", "tsv"].contains(&format) {
            return Err(Error::usage(format!("cannot write {format} to a terminal; use a file or a pipe")));
        }
    }
    let overwrite = if arguments.force { Overwrite::Replace } else { Overwrite::Refuse };
    let to = if is_stream { To::Stream(&mut env.stdout) } else { To::Path(path, overwrite) };
    let mut report = Report::default();
    let outcome = merge.run(to, &mut env.opener, &mut report);
    progress.clear();
    outcome?;
    report.losses.iter().for_each(|lost| env.report.lost(lost));
    if !is_stream {
        arguments.print_result(&path.display().to_string(), &report, env)?;
    }
    Ok(Outcome::after(&report.losses))
}

impl Arguments {
    /// The library's form of these options.
    fn merge(&self) -> Result<Merge> {
        let mut merge = Merge::default();
        merge.inputs = inputs::expand(&self.files)?;
        merge.columns.clone_from(&self.columns);
        merge.threads = self.threads;
        merge.on_duplicate = self.on_duplicate.map(Into::into);
        merge.idv = self.idv.output();
        let Datadings { strategy, shuffle, seed, no_md5 } = &self.datadings;
        merge.datadings.strategy = strategy.map(Into::into);
        (merge.datadings.shuffle, merge.datadings.seed, merge.datadings.no_md5) = (*shuffle, *seed, *no_md5);
        let Ds { dim, new, variables, keep_times } = self.ds.clone();
        (merge.ds.dim, merge.ds.new, merge.ds.variables, merge.ds.keep_times) = (dim, new, variables, keep_times);
        let Zds { table, into } = self.zds.clone();
        (merge.zds.table, merge.zds.into) = (table, into);
        Ok(merge)
    }

    fn print_result(&self, name: &str, report: &Report, env: &mut Env<'_>) -> Result<()> {
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
        let result = match report.format {
            "idv" => {
                let (copied, all) = (report.blocks_carried, report.blocks_carried + report.blocks_encoded);
                let (rows, files, blocks) = (counted(rows, "row"), counted(inputs, "file"), counted(all, "block"));
                format!("{rows} of {files}, {copied} of {blocks} copied unchanged")
            }
            "datadings" => format!("{} of {}", counted(rows, "sample"), counted(inputs, "dataset")),
            "ds" => counted(report.variables, "variable"),
            "zds" => format!("{} of {}", counted(rows, "document"), counted(inputs, "collection")),
            _ => format!("{} of {}", counted(rows, "row"), counted(inputs, "file")),
        };
        env.report.note(format!("{name}: {result}"));
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
