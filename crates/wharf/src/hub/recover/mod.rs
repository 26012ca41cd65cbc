//! Recovers the intact part of a damaged file into a new one.

mod datadings;
mod idv;
mod rows;
#[cfg(test)]
mod tests;
mod zds;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use container_core::{Error, Overwrite, Result};

use super::convert::IdvTarget;
use super::env::Opener;
use super::idv_file::{self, IDV};
use super::inputs::Location;
use super::{Bar, Listener, Lost, dataset, first_given};
use crate::Registry;
pub use crate::convert::import::FOLDER;

/// Copies the intact part of a damaged file into a new one of the same format.
///
/// | input | what is kept |
/// |---|---|
/// | IDV | the columns and rows that keep the most values, verified |
/// | datadings | every intact sample, also without an index, verified |
/// | ZDS | every intact document, also without an index; or the store is repaired [in place](Self::in_place) |
/// | a format of the registry with [`Format::recover`](crate::Format::recover) | what that method recovers |
/// | Parquet, Arrow IPC, and formats that offer Arrow columns, count their rows and have [`Format::batch_writer`](crate::Format::batch_writer) | every range of rows that can be read |
///
/// [`Report::losses`] says what is lost. Readable ranges of rows are found by trial: one that lies between two trials can be lost with the damaged
/// rows around it, and is counted as lost.
///
/// ```no_run
/// use wharf::{Overwrite, Recover, Registry};
///
/// let report = Recover::new("damaged.parquet").write("saved.parquet", Overwrite::Refuse, &Registry::builtin())?;
/// println!("{} rows recovered", report.rows);
/// for lost in &report.losses {
///     eprintln!("{lost}");
/// }
/// # Ok::<(), wharf::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Recover {
    /// The damaged file.
    pub input: Location,
    /// Maximum number of threads; 0 for one per core.
    pub threads: usize,
    /// Which part of an IDV file is kept, and how it is written.
    pub idv: IdvRecover,
    /// Which part of a datadings dataset is kept.
    pub datadings: DatadingsRecover,
    /// Receives progress reports.
    pub(in crate::hub) progress: Listener,
}

/// Which part of an IDV file is kept, and how it is written.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct IdvRecover {
    /// Keep these columns, in this order, even if that costs rows: names separated by commas; a name with a comma is quoted.
    pub columns: Vec<String>,
    /// A file with the schema, when the table of contents is lost: an IDV file with the same columns, or JSON.
    pub schema: Option<PathBuf>,
    /// How it is written; `missing_as_double` is for conversions.
    pub output: IdvTarget,
}

/// Which part of a datadings dataset is kept.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DatadingsRecover {
    /// Keep samples with duplicate keys: `#2`, `#3` and so on are appended to the later ones.
    pub rename_duplicates: bool,
    /// Write no `.md5` file.
    pub no_md5: bool,
}

/// Maximum number of rows and ranges in a report.
const MAX_LISTED: usize = 1000;

/// What was done, also before an error.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The format of the input and of the output.
    pub format: &'static str,
    /// Rows recovered, or samples, or documents.
    pub rows: u64,
    /// How many there were, if the damaged file says so.
    pub declared: Option<u64>,
    /// The columns written, for formats with columns.
    pub columns: Vec<String>,
    /// Bytes of the output.
    pub bytes: u64,
    /// What is lost.
    pub losses: Vec<Lost>,
    /// For IDV and datadings: problems that cost no rows. For ZDS: the errors of the first 20 lost documents.
    pub findings: Vec<Error>,
    /// Lost samples, if the index lists them: at most 1000.
    pub lost_rows: Vec<LostRow>,
    /// Lost ranges of rows, for formats that are read in batches: at most 1000.
    pub lost_ranges: Vec<Range<u64>>,
    /// Lost ranges of bytes of a dataset: at most 1000.
    pub lost_bytes: Vec<Range<u64>>,
    /// The tables of a store that was repaired in place.
    pub tables: Vec<RepairedTable>,
}

/// A lost sample.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LostRow {
    /// Its number.
    pub row: u64,
    /// Its key, if a file lists it.
    pub key: Option<String>,
}

/// A table of a store that was repaired in place.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepairedTable {
    /// Its name.
    pub name: String,
    /// Documents in it.
    pub rows: u64,
    /// What was wrong.
    pub notes: Vec<String>,
}

impl Recover {
    /// Recovers a damaged file.
    #[must_use]
    pub fn new(input: impl Into<PathBuf>) -> Self {
        Self::of(Location::Path(input.into()))
    }

    /// Recovers a damaged file, or standard input.
    #[must_use]
    pub fn of(input: Location) -> Self {
        let (idv, datadings) = (IdvRecover::default(), DatadingsRecover::default());
        Self { input, threads: 0, idv, datadings, progress: Listener::default() }
    }

    /// Writes the intact part into a new file.
    ///
    /// # Errors
    /// All that [`run`](Self::run) fails for.
    pub fn write(&self, path: impl AsRef<Path>, overwrite: Overwrite, registry: &Registry) -> Result<Report> {
        let mut report = Report::default();
        self.run(path.as_ref(), overwrite, &mut Opener::new(registry.clone()), &mut report)?;
        Ok(report)
    }

    /// Writes the intact part into a new file. `report` says what was done and lost, also when this ends with an error.
    ///
    /// # Errors
    /// The input cannot be read, or nothing in it is intact; [`Unsupported`](crate::ErrorKind::Unsupported) for a format that cannot be recovered;
    /// an option is for another format; the extension of the output stands for another format; the output exists and is not to be replaced, or
    /// cannot be written. The output is there whole, or not at all.
    pub fn run(&self, path: &Path, overwrite: Overwrite, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let name = || self.input.name();
        let misplaced = |option, detail: String| Err(Error::usage(detail).in_option(option).in_file(name()));
        let to = (path, overwrite == Overwrite::Replace);
        if let Some(input) = self.store(opener)? {
            if let Some(option) = self.datadings.given().or_else(|| self.idv.given()) {
                return misplaced(option, "is not an option of ZDS".to_owned());
            }
            report.format = super::zds::NAME;
            return zds::run(self, &input, to, opener, report);
        }
        let input = self.input.input(opener).map_err(|error| error.in_file(name()))?;
        let format = opener.registry.detect(&input).ok();
        if input.source().is_none() && format.is_none_or(|format| format.name() == FOLDER.name()) {
            return Err(Error::usage("a directory cannot be recovered").in_file(name()));
        }
        if dataset::is_dataset(&input, opener) {
            if let Some(option) = self.idv.given() {
                return misplaced(option, "is an option of IDV, the input is datadings".to_owned());
            }
            report.format = dataset::NAME;
            return datadings::run(self, &input, to, opener, report);
        }
        if let Some(option) = self.datadings.given() {
            return misplaced(option, "is an option of datadings, the input is another format".to_owned());
        }
        match format.filter(|format| format.name() != IDV) {
            Some(format) => {
                if let Some(option) = self.idv.given() {
                    return misplaced(option, format!("is an option of IDV, the input is {}", format.name()));
                }
                report.format = format.name();
                rows::run(self, format, &input, to, opener, report)
            }
            // An IDV file, or the remains of one.
            None => {
                report.format = IDV;
                idv::run(self, &input, to, report)
            }
        }
    }

    /// Repairs a ZDS store in place: an incomplete document at its end is cut off, and the index is written anew.
    ///
    /// # Errors
    /// The input is not a store, or cannot be read or written.
    pub fn in_place(&self, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let misplaced = |option, detail| Err(Error::usage(detail).in_option(option).in_file(self.input.name()));
        if self.store(opener)?.is_none() {
            return misplaced("in_place", "is an option of ZDS, the input is another format");
        }
        if let Some(option) = self.datadings.given().or_else(|| self.idv.given()) {
            return misplaced(option, "is not an option of ZDS");
        }
        report.format = super::zds::NAME;
        zds::in_place(&self.input, opener, report)
    }

    /// The input, if it is a store. Standard input cannot be one.
    fn store(&self, opener: &mut Opener<'_>) -> Result<Option<container_core::Input>> {
        let input = match &self.input {
            Location::Path(_) => self.input.existing_input(opener)?,
            Location::Stdin => None,
        };
        Ok(input.filter(|input| super::zds::is_store(input, opener)))
    }

    fn bar(&self) -> &Arc<Bar> {
        &self.progress.0
    }
}

impl IdvRecover {
    /// The first option that was set.
    fn given(&self) -> Option<&'static str> {
        let own = first_given(&[("columns", !self.columns.is_empty()), ("schema", self.schema.is_some())]);
        own.or_else(|| idv_file::given(&self.output))
    }
}

impl DatadingsRecover {
    /// The first option that was set.
    fn given(&self) -> Option<&'static str> {
        first_given(&[("rename_duplicates", self.rename_duplicates), ("no_md5", self.no_md5)])
    }
}
