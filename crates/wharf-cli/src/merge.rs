//! `wharf merge`: joins files of one format.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use container_core::{Error, Overwrite, Result};
use serde_json::{Map, Value};
use wharf::Merge;
use wharf::convert::{Streaming, TargetUnit};
use wharf::merge::{Blocks, Report, To};

use super::Outcome;
use super::display::counted;
use super::env::Env;
use super::options::{MergeOptions, Options};
use super::select::Condition;
use super::{inputs, progress};

const EXAMPLES: &str = "\
Examples:
  wharf merge monday.idv tuesday.idv -o week.idv
  wharf merge 'day-*.parquet' -o all.parquet
  wharf merge 'day-*.idv' -o all.idv --compression none
  wharf merge a.parquet b.parquet -o all.parquet --union         columns that a file lacks are null
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
/// Parquet, Arrow IPC, JSON lines, CSV, TSV: concatenates rows like `convert`. The columns must have the same names and meaning, unless --union
/// is given. Options that change columns go with these formats and IDV, whose blocks are encoded again then.
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

    #[command(flatten)]
    condition: Condition,

    #[command(flatten)]
    options: Options<MergeOptions>,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let mut merge = Merge::default();
    merge.inputs = inputs::expand(&arguments.files)?;
    merge.threads = arguments.threads;
    merge.filter = arguments.condition.predicate()?;
    merge = arguments.options.given().fold(merge, |merge, (name, value)| merge.with_option(name, value));
    let path: &Path = &arguments.output;
    let is_stream = path == Path::new("-");
    if is_stream && env.stdout.terminal.is_some() {
        let info = merge.merger(&mut env.opener)?.info();
        if info.stream != Streaming::Text {
            return Err(Error::usage(format!("cannot write {} to a terminal; use a file or a pipe", info.format)));
        }
    }
    let overwrite = if arguments.force { Overwrite::Replace } else { Overwrite::Refuse };
    let to = if is_stream { To::Stream(&mut env.stdout) } else { To::Path(path, overwrite) };
    let mut report = Report::default();
    progress::with_line(env.report.terminal, |progress| {
        merge.with_progress(progress).run(to, &mut env.opener, &mut report)
    })?;
    let outcome = env.lost(&report.losses);
    if !is_stream {
        arguments.print_result(&path.display().to_string(), &report, env)?;
    }
    Ok(outcome)
}

impl Arguments {
    fn print_result(&self, name: &str, report: &Report, env: &mut Env<'_>) -> Result<()> {
        let has_rows = report.unit != TargetUnit::Variables;
        if env.json() {
            let mut object = Map::new();
            object.insert("file".into(), name.into());
            object.insert("to".into(), report.format.into());
            match has_rows {
                true => object.insert("rows".into(), report.rows.into()),
                false => object.insert("variables".into(), report.variables.into()),
            };
            object.insert("bytes".into(), report.bytes.into());
            let numbers = [
                ("inputs", has_rows.then_some(report.inputs as u64)),
                ("blocks_carried", report.blocks.map(|blocks| blocks.carried)),
                ("blocks_encoded", report.blocks.map(|blocks| blocks.encoded)),
                ("seed", report.seed),
                ("left_out", report.left_out),
                ("renamed", report.renamed),
            ];
            object.extend(numbers.into_iter().filter_map(|(name, number)| Some((name.to_owned(), number?.into()))));
            return env.stdout.print(&format!("{}\n", Value::Object(object)));
        }
        let (word, container) = report.unit.words();
        let container = if container == "table" { "file" } else { container };
        let mut result = match has_rows {
            true => format!("{} of {}", counted(report.rows, word), counted(report.inputs, container)),
            false => counted(report.variables, word),
        };
        if let Some(Blocks { carried, encoded, .. }) = report.blocks {
            result += &format!(", {carried} of {} copied unchanged", counted(carried + encoded, "block"));
        }
        env.report.note(format!("{name}: {result}"));
        if let Some(seed) = report.seed
            && !self.options.given().any(|(option, _)| option == "seed")
        {
            env.report.message(format!("note: {name}: seed {seed}"));
        }
        Ok(())
    }
}
