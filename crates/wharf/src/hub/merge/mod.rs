//! Merges files of one format.

mod datadings;
mod ds;
mod idv;
#[cfg(test)]
mod tests;
mod zds;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use container_core::{Error, Overwrite, Progress, Result};

use super::convert::{Convert, Target, quoted};
pub use super::convert::{IdvTarget, To};
use super::env::Opener;
use super::idv_file::{self, IDV};
use super::inputs::Location;
use super::{Bar, DS, Listener, Lost, dataset, first_given, rows};
use crate::Registry;

/// Merges files of one format into one file of that format, in their order.
///
/// | inputs | what is merged |
/// |---|---|
/// | IDV | rows; blocks are copied unchanged where the new file can have them so |
/// | datadings | samples, byte for byte, one dataset after the other or [at random](DatadingsMerge) |
/// | ds, NetCDF | variables, [along a dimension](DsMerge) |
/// | ZDS | documents of collections of the same name, byte for byte |
/// | all others | rows, as [`Convert`] joins them: text, Parquet, Arrow IPC, and formats of the registry that offer Arrow columns and [`Format::batch_writer`](crate::Format::batch_writer) |
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
/// # Ok::<(), wharf::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Merge {
    /// The inputs.
    pub inputs: Vec<Location>,
    /// Selects these columns, in this order: names separated by commas; a name with a comma is quoted. Not for datadings, ds and ZDS.
    pub columns: Vec<String>,
    /// Maximum number of threads; 0 for one per core.
    pub threads: usize,
    /// What becomes of a sample or document with a duplicate key; `None` for an error.
    pub on_duplicate: Option<OnDuplicate>,
    /// How IDV is written; `missing_as_double` is for conversions.
    pub idv: IdvTarget,
    /// How datadings datasets are merged.
    pub datadings: DatadingsMerge,
    /// How ds and NetCDF files are merged.
    pub ds: DsMerge,
    /// How ZDS stores are merged.
    pub zds: ZdsMerge,
    /// Receives progress reports.
    pub(in crate::hub) progress: Listener,
}

/// What becomes of a sample or document with a duplicate key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnDuplicate {
    /// An error, and nothing is written.
    Error,
    /// The first one is kept.
    First,
    /// The last one is kept: ZDS.
    Last,
    /// Both are kept, and `#2`, `#3` and so on are appended to the later key: datadings.
    Rename,
}

/// How datadings datasets are merged.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DatadingsMerge {
    /// Which sample comes next; `None` for [`Strategy::Concat`].
    pub strategy: Option<Strategy>,
    /// Shuffle the samples of each dataset.
    pub shuffle: bool,
    /// The random seed; `None` for another one each time.
    pub seed: Option<u64>,
    /// Write no `.md5` file.
    pub no_md5: bool,
}

/// Which sample comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strategy {
    /// All of the first dataset, then all of the second, and so on.
    Concat,
    /// A random one of all remaining samples; each dataset keeps its order.
    Random,
}

/// How ds and NetCDF files are merged.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DsMerge {
    /// The dimension along which the files are merged, existing or new. Required.
    pub dim: Option<String>,
    /// Variables without that dimension are merged along this new one; `None` keeps those of the first file.
    pub new: Option<String>,
    /// Merge only these variables along a new dimension.
    pub variables: Option<Vec<String>>,
    /// Keep the numbers of times in different units; otherwise they are rebased to the units of the first file.
    pub keep_times: bool,
}

/// How ZDS stores are merged.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ZdsMerge {
    /// Only collections of this name.
    pub table: Option<String>,
    /// Merge all collections into one of this name.
    pub into: Option<String>,
}

/// What was done, also before an error.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The format of the inputs and of the output.
    pub format: &'static str,
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
    /// IDV blocks that were copied unchanged.
    pub blocks_carried: u64,
    /// IDV blocks that were encoded again.
    pub blocks_encoded: u64,
    /// The random seed.
    pub seed: Option<u64>,
    /// Samples left out or renamed because of duplicate keys.
    pub duplicates: u64,
}

/// How inputs are merged.
#[derive(Debug)]
enum Kind {
    Idv,
    Datadings,
    Ds,
    Netcdf,
    Zds,
    /// By rows, as conversions join them.
    Rows(Box<dyn Target>),
}

impl Merge {
    /// Merges files, one after the other.
    #[must_use]
    pub fn new<P: Into<PathBuf>>(inputs: impl IntoIterator<Item = P>) -> Self {
        Self { inputs: Location::all(inputs), ..Self::default() }
    }

    /// Selects these columns, in this order.
    #[must_use]
    pub fn with_columns<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.columns = quoted(names);
        self
    }

    /// Writes a file, or a set of files, or a folder.
    ///
    /// # Errors
    /// All that [`run`](Self::run) fails for.
    pub fn write(&self, path: impl AsRef<Path>, overwrite: Overwrite, registry: &Registry) -> Result<Report> {
        let mut report = Report::default();
        let mut opener = Opener::new(registry.clone());
        self.run(To::Path(path.as_ref(), overwrite), &mut opener, &mut report)?;
        Ok(report)
    }

    /// The format of the inputs, detected from the first one that is a file.
    ///
    /// # Errors
    /// There is no input; it cannot be read, or its format is unknown.
    pub fn format(&self, opener: &mut Opener<'_>) -> Result<&'static str> {
        self.detect(opener).map(|(format, _)| format)
    }

    /// Merges the inputs. `report` says what was done, also when this ends with an error. ds, text, Parquet and Arrow IPC can be streams.
    ///
    /// # Errors
    /// An input cannot be opened or read, or has another format than the first; inputs differ in columns or their meaning; a key comes twice; an
    /// option is for another format; the extension of the output stands for another format; the output exists and is not to be replaced, or
    /// cannot be written. The output is there whole, or not at all.
    pub fn run(&self, to: To<'_>, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let (format, kind) = self.detect(opener)?;
        self.check(format, &kind)?;
        report.format = format;
        let (path, force) = match &to {
            To::Path(path, overwrite) => (*path, *overwrite == Overwrite::Replace),
            // The name under which formats refuse it.
            To::Stream(_) => (Path::new("-"), false),
        };
        match kind {
            Kind::Zds => zds::run(self, path, force, opener, report),
            Kind::Ds => ds::run(self, to, opener, report),
            Kind::Netcdf => ds::run_netcdf(self, path, force, opener, report),
            Kind::Datadings => datadings::run(self, path, force, opener, report),
            Kind::Idv if matches!(to, To::Stream(_)) => {
                Err(Error::usage("IDV is merged into a file, not a stream: give a path"))
            }
            Kind::Idv => idv::run(self, path, force, opener, report),
            Kind::Rows(own) => self.rows(format, own, to, opener, report),
        }
    }

    fn bar(&self) -> &Arc<Bar> {
        &self.progress.0
    }

    /// The format of the first input that is not standard input, and how its files are merged.
    fn detect(&self, opener: &mut Opener<'_>) -> Result<(&'static str, Kind)> {
        let first = self.inputs.iter().find(|location| **location != Location::Stdin).or(self.inputs.first());
        let location = first.ok_or_else(|| Error::usage("there is no input"))?;
        let named = |error: Error| error.in_file(location.name());
        let input = location.input(opener).map_err(named)?;
        let format = match opener.registry.detect(&input) {
            Ok(format) => format.name(),
            Err(_) if dataset::is_dataset(&input, opener) => dataset::NAME,
            Err(error) => return Err(named(error)),
        };
        let kind = match format {
            IDV => Kind::Idv,
            dataset::NAME => Kind::Datadings,
            DS => Kind::Ds,
            dsfmt::netcdf::FORMAT_NAME => Kind::Netcdf,
            super::zds::NAME => Kind::Zds,
            other => Kind::Rows(rows::target_like(other, &input, &opener.registry).map_err(named)?),
        };
        Ok((format, kind))
    }

    /// Fails for an option of another format.
    fn check(&self, format: &str, kind: &Kind) -> Result<()> {
        let columns = !self.columns.is_empty() && !matches!(kind, Kind::Rows(_));
        let idv = if columns { Some("columns") } else { idv_file::given(&self.idv) }.map(|option| (option, "IDV"));
        let datadings = self.datadings.given().map(|option| (option, dataset::NAME));
        let with_key = datadings.or(self.on_duplicate.map(|_| ("on_duplicate", dataset::NAME)));
        let ds = self.ds.given().map(|option| (option, "ds and NetCDF"));
        let zds = self.zds.given().map(|option| (option, "ZDS"));
        // Options of formats that are merged in another way, and options that do not go with this format.
        let (foreign, unsupported) = match kind {
            Kind::Zds => (None, idv.or(datadings).or(ds)),
            Kind::Ds | Kind::Netcdf => (zds, idv.or(with_key)),
            Kind::Datadings => (zds.or(ds), idv),
            Kind::Idv => (zds.or(ds).or(with_key), None),
            Kind::Rows(_) => (zds.or(ds), idv.or(with_key)),
        };
        if let Some((option, expected)) = foreign {
            let error = Error::usage(format!("is an option of {expected}, the first input is another format"))
                .in_option(option);
            return Err(error.in_file(self.inputs.first().map(Location::name).unwrap_or_default()));
        }
        match unsupported {
            Some((option, expected)) => {
                Err(Error::usage(format!("is an option of {expected}, the inputs are {format}")).in_option(option))
            }
            None => Ok(()),
        }
    }

    /// Merges files by rows, as conversions join them.
    fn rows(
        &self,
        format: &str,
        own: Box<dyn Target>,
        to: To<'_>,
        opener: &mut Opener<'_>,
        report: &mut Report,
    ) -> Result<()> {
        let target = match &to {
            To::Path(path, _) => rows::other_form(path, own.as_ref(), &opener.registry)?.unwrap_or(own),
            To::Stream(_) => own,
        };
        for location in &self.inputs {
            let named = |error: Error| error.in_file(location.name());
            let input = location.input(opener).map_err(named)?;
            let found = opener.registry.detect(&input).map_err(named)?.name();
            if found != format {
                let detail = format!(
                    "found {found}, expected {format} like the first input; `wharf convert` joins different formats"
                );
                return Err(named(Error::usage(detail)));
            }
        }
        let mut convert = Convert::default().with_progress(Arc::clone(self.bar()) as Arc<dyn Progress>);
        convert.inputs.clone_from(&self.inputs);
        convert.selection.columns.clone_from(&self.columns);
        convert.selection.reading.threads = self.threads;
        let mut converted = super::convert::Report::default();
        let outcome = convert.run(target.as_ref(), to, opener, &mut converted);
        report.inputs = self.inputs.len();
        (report.rows, report.columns, report.bytes) = (converted.rows, converted.columns, converted.bytes);
        report.losses = converted.losses;
        outcome
    }
}

impl DatadingsMerge {
    /// The first option that was set.
    fn given(&self) -> Option<&'static str> {
        let Self { strategy, shuffle, seed, no_md5 } = self;
        first_given(&[
            ("strategy", strategy.is_some()),
            ("shuffle", *shuffle),
            ("seed", seed.is_some()),
            ("no_md5", *no_md5),
        ])
    }
}

impl DsMerge {
    /// The first option that was set.
    fn given(&self) -> Option<&'static str> {
        let Self { dim, new, variables, keep_times } = self;
        first_given(&[
            ("dim", dim.is_some()),
            ("new", new.is_some()),
            ("variables", variables.is_some()),
            ("keep_times", *keep_times),
        ])
    }
}

impl ZdsMerge {
    /// The first option that was set.
    fn given(&self) -> Option<&'static str> {
        first_given(&[("table", self.table.is_some()), ("into", self.into.is_some())])
    }
}
