//! Merges files of one format.

mod datadings;
pub(super) mod ds;
mod idv;
mod rows;
#[cfg(test)]
mod tests;
mod zds;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use container_arrow::Predicate;
use container_core::{Error, Overwrite, Result};

pub use super::convert::{IdvTarget, To};
use super::convert::{OptionSpec, OptionValue, TargetInfo, TargetUnit, quoted, text, unknown_option};
use super::env::Opener;
use super::inputs::Location;
pub use super::operation::Operation;
use super::operation::{self, Given, Inputs};
use super::rows::refuse_other_format;
use super::{Listener, Lost, zarr};
use crate::Registry;
pub use datadings::{DatadingsMerger, Strategy};
use ds::ArraysKind;
pub use idv::IdvMerger;
use rows::RowMerger;
pub use zds::ZdsMerger;

/// Merges files of one format into one file of that format, in their order.
///
/// | inputs | what is merged |
/// |---|---|
/// | IDV | rows; blocks are copied unchanged where the new file can have them so |
/// | datadings | samples, byte for byte, one dataset after the other or [at random](DatadingsMerger) |
/// | ds, NetCDF | variables, [along a dimension](DsMerger) |
/// | ZDS | documents of collections of the same name, byte for byte |
/// | a format with a [merger](Registry::with_merger) of its own | what that merger merges |
/// | all others | rows, as [`Convert`](crate::Convert) joins them: text, Parquet, Arrow IPC, and formats of the registry that offer Arrow columns and [`Format::batch_writer`](crate::Format::batch_writer) |
///
/// Columns must be the same, with the same meaning: a difference that cannot be unified is an error that names it. So is an option of another
/// format than that of the inputs.
///
/// ```no_run
/// use wharf::{Merge, Overwrite, Registry};
///
/// let merge = Merge::new(["monday.parquet", "tuesday.parquet"]);
/// let report = merge.write("days.parquet", Overwrite::Refuse, &Registry::builtin())?;
/// println!("{} rows of {} files", report.rows, report.inputs);
/// for lost in &report.losses {
///     eprintln!("{lost}");
/// }
/// // Options of a format by name, or as fields of its merger:
/// Merge::new(["monday.ds", "tuesday.ds"]).with_option("dim", "time");
/// # Ok::<(), wharf::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Merge {
    /// The inputs.
    pub inputs: Vec<Location>,
    /// Only rows, samples or documents for which it holds. Not for ds and NetCDF: variables along several dimensions have no rows in common.
    pub filter: Option<Predicate>,
    /// Maximum number of threads; 0 for one per core.
    pub threads: usize,
    /// Options of the inputs' format, by name.
    pub(in crate::hub) options: Given,
    /// Receives progress reports.
    pub(in crate::hub) progress: Listener,
}

/// How a format merges its files, with its options. [`Registry::with_merger`] adds one.
pub trait Merger: Operation {
    /// Merges the inputs of `job`. `report` counts, also when this fails.
    ///
    /// # Errors
    /// See [`Merge::run`].
    fn run(&self, job: &Merge, to: To<'_>, opener: &mut Opener<'_>, report: &mut Report) -> Result<()>;
}

/// What becomes of a sample or document with a duplicate key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnDuplicate {
    /// An error, and nothing is written.
    #[default]
    Error,
    /// The first one is kept.
    First,
    /// The last one is kept: ZDS.
    Last,
    /// Both are kept, and `#2`, `#3` and so on are appended to the later key: datadings.
    Rename,
}

impl OnDuplicate {
    /// The option of that name.
    const OPTION: OptionSpec = OptionSpec::text(
        "on_duplicate",
        "What to do with a sample or document whose key already exists [default: error]",
    )
    .with_value(
        OptionValue::Choice(&[
            ("error", "Fail and write nothing"),
            ("first", "Keep the first"),
            ("last", "Keep the last (ZDS)"),
            ("rename", "Keep all, and append #2, #3, ... to the later keys (datadings)"),
        ]),
        "WHAT",
    )
    .with_group("Options for datadings and ZDS");

    fn of(word: &OsStr) -> Self {
        [("first", Self::First), ("last", Self::Last), ("rename", Self::Rename)]
            .into_iter()
            .find_map(|(known, choice)| (word == known).then_some(choice))
            .unwrap_or_default()
    }
}

/// Merges ds or NetCDF files: variables along a dimension.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DsMerger {
    /// The dimension along which the files are merged, existing or new. Required.
    pub dim: Option<String>,
    /// Variables without that dimension are merged along this new one; `None` keeps those of the first file.
    pub new: Option<String>,
    /// Merge only these variables along a new dimension.
    pub variables: Option<Vec<String>>,
    /// Keep the numbers of times in different units; otherwise they are rebased to the units of the first file.
    pub keep_times: bool,
    pub(in crate::hub) kind: ArraysKind,
}

impl DsMerger {
    /// Merges NetCDF files; the default merges ds files.
    #[must_use]
    pub fn netcdf() -> Self {
        Self { kind: ds::NETCDF, ..Self::default() }
    }
}

impl Operation for DsMerger {
    fn info(&self) -> TargetInfo {
        let ArraysKind { format, stream, .. } = self.kind;
        TargetInfo { title: "ds and NetCDF", ..TargetInfo::new(format, TargetUnit::Variables, stream) }
    }

    fn options(&self) -> &'static [OptionSpec] {
        const ALL: OptionSpec = OptionSpec::flag("", "").with_group("Options for ds and NetCDF");
        const DIM: OptionSpec = ALL
            .named("dim", "Dimension to join along; a new one if no file has it")
            .with_value(OptionValue::Text, "NAME");
        const NEW: OptionSpec = ALL
            .named(
                "new",
                "Join the variables without that dimension along this new one [default: keep those of the first file]",
            )
            .with_value(OptionValue::Text, "NAME")
            .with_requires("dim");
        const VARIABLES: OptionSpec = ALL
            .named("variables", "Join only these variables along a new dimension, comma-separated")
            .with_value(OptionValue::Texts, "NAMES")
            .with_requires("dim");
        const KEEP_TIMES: OptionSpec = ALL
            .named(
                "keep_times",
                "Join times with different units unchanged [default: convert them to the units of the first file]",
            )
            .with_requires("dim");
        &[DIM, NEW, VARIABLES, KEEP_TIMES]
    }

    fn set(&mut self, option: &str, value: &OsStr) -> Result<()> {
        match option {
            "dim" => self.dim = Some(text(value)?.to_owned()),
            "new" => self.new = Some(text(value)?.to_owned()),
            "variables" => {
                self.variables.get_or_insert_default().extend(text(value)?.split(',').map(str::to_owned));
            }
            "keep_times" => self.keep_times = true,
            _ => return Err(unknown_option(option)),
        }
        Ok(())
    }
}

impl Merger for DsMerger {
    fn run(&self, job: &Merge, to: To<'_>, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        if job.filter.is_some() {
            let why = "does not go with ds and NetCDF: variables along several dimensions have no rows in common";
            return Err(Error::usage(why).in_option("where"));
        }
        (self.kind.run)(job, self, to, opener, report)
    }
}

/// What was done, also before an error.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The format of the inputs and of the output.
    pub format: &'static str,
    /// What was merged.
    pub unit: TargetUnit,
    /// Rows written, or samples, or documents.
    pub rows: u64,
    /// Columns written, for formats with columns.
    pub columns: usize,
    /// Variables written, for formats with variables.
    pub variables: usize,
    /// Bytes of the output; 0 for streams.
    pub bytes: u64,
    /// Files merged, or datasets, or collections.
    pub inputs: usize,
    /// What could not be kept.
    pub losses: Vec<Lost>,
    /// Blocks that were copied unchanged, for IDV.
    pub blocks: Option<Blocks>,
    /// The random seed.
    pub seed: Option<u64>,
    /// Samples left out because of duplicate keys, where [that](OnDuplicate::First) was chosen.
    pub left_out: Option<u64>,
    /// Samples renamed because of duplicate keys, where [that](OnDuplicate::Rename) was chosen.
    pub renamed: Option<u64>,
}

/// How blocks got into the output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Blocks {
    /// Copied unchanged.
    pub carried: u64,
    /// Encoded again.
    pub encoded: u64,
}

/// Creates a merger with default options.
pub(in crate::hub) type NewMerger = fn() -> Box<dyn Merger>;

/// The mergers that are built in.
const BUILTIN: &[&[NewMerger]] = &[
    &[
        || Box::<IdvMerger>::default(),
        || Box::<DatadingsMerger>::default(),
        || Box::<DsMerger>::default(),
        || Box::new(DsMerger::netcdf()),
    ],
    zarr::MERGERS,
    &[|| Box::<ZdsMerger>::default()],
];

impl Registry {
    /// All mergers with default options: the built-in ones, then those that were [added](Self::with_merger).
    #[must_use]
    pub fn mergers(&self) -> Vec<Box<dyn Merger>> {
        BUILTIN.iter().copied().flatten().chain(&self.entries.mergers).map(|new| new()).collect()
    }

    /// The options of [merges](Merge::with_option). Each name occurs once.
    #[must_use]
    pub fn merge_options(&self) -> Vec<OptionSpec> {
        operation::options(&self.mergers())
    }
}

impl Merge {
    /// Merges files, one after the other.
    #[must_use]
    pub fn new<P: Into<PathBuf>>(inputs: impl IntoIterator<Item = P>) -> Self {
        Self { inputs: Location::all(inputs), ..Self::default() }
    }

    /// Selects these columns, in this order. Not for datadings, ds, NetCDF and ZDS.
    #[must_use]
    pub fn with_columns<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> Self {
        quoted(names).into_iter().fold(self, |merge, name| merge.with_option("columns", name))
    }

    /// Writes a file, or a set of files, or a folder.
    ///
    /// # Errors
    /// All that [`run`](Self::run) fails for.
    pub fn write(&self, path: impl AsRef<Path>, overwrite: Overwrite, registry: &Registry) -> Result<Report> {
        let (mut report, mut opener) = (Report::default(), Opener::new(registry.clone()));
        self.run(To::Path(path.as_ref(), overwrite), &mut opener, &mut report)?;
        Ok(report)
    }

    /// As [`write`](Self::write), with this merger and its options, whatever the format of the inputs is.
    ///
    /// # Errors
    /// All that [`run`](Self::run) fails for.
    pub fn write_as(
        &self,
        merger: impl Merger + 'static,
        path: impl AsRef<Path>,
        overwrite: Overwrite,
        registry: &Registry,
    ) -> Result<Report> {
        let (mut report, mut opener) = (Report::default(), Opener::new(registry.clone()));
        self.run_as(Box::new(merger), To::Path(path.as_ref(), overwrite), &mut opener, &mut report)?;
        Ok(report)
    }

    /// Merges the inputs. `report` says what was done, also when this ends with an error. ds, text, Parquet and Arrow IPC can be streams.
    ///
    /// # Errors
    /// An input cannot be opened or read, or has another format than the first; inputs differ in columns or their meaning; a key comes twice; an
    /// option is for another format; the extension of the output stands for another format; the output exists and is not to be replaced, or
    /// cannot be written. The output is there whole, or not at all.
    pub fn run(&self, to: To<'_>, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let merger = self.merger(opener)?;
        self.run_as(merger, to, opener, report)
    }

    /// As [`run`](Self::run), with this merger.
    ///
    /// # Errors
    /// Those of [`run`](Self::run).
    pub fn run_as(
        &self,
        mut merger: Box<dyn Merger>,
        to: To<'_>,
        opener: &mut Opener<'_>,
        report: &mut Report,
    ) -> Result<()> {
        let info = merger.info();
        let inputs = Inputs { format: info.format, file: None };
        operation::set(merger.as_mut(), &opener.registry.mergers(), &self.options, &inputs)?;
        (report.format, report.unit) = (info.format, info.unit);
        if let To::Path(path, _) = &to {
            refuse_other_format(path, info.format, &opener.registry)?;
        }
        merger.run(self, to, opener, report)
    }

    /// The merger for the format of the inputs, detected from the first one that is a file.
    ///
    /// # Errors
    /// There is no input; it cannot be read, its format is unknown, or cannot be merged.
    pub fn merger(&self, opener: &mut Opener<'_>) -> Result<Box<dyn Merger>> {
        let first = self.inputs.iter().find(|location| **location != Location::Stdin).or(self.inputs.first());
        let location = first.ok_or_else(|| Error::usage("there is no input"))?;
        let named = |error: Error| error.in_file(location.name());
        let input = location.input(opener).map_err(named)?;
        let detected = opener.registry.detect(&input);
        let format = detected.as_ref().ok().map(|format| format.name());
        if let Some(own) = operation::accepting(opener.registry.mergers(), &input, format) {
            return Ok(own);
        }
        let rows = RowMerger::like(detected.map_err(named)?.name(), &input, &opener.registry);
        Ok(Box::new(rows.map_err(named)?))
    }
}
