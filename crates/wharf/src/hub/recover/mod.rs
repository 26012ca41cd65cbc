//! What is whole in a damaged file, into a new one.

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

/// Saves what is whole out of a damaged file into a new one of the same format.
///
/// | input | what is kept |
/// |---|---|
/// | IDV | the columns and rows that make the most values, verified |
/// | datadings | every whole sample, also without an index, verified |
/// | ZDS | every whole document, also without an index; or the store is put right [in place](Self::in_place) |
/// | a format of the registry with [`Format::recover`](crate::Format::recover) | what it says |
/// | Parquet, Arrow IPC, and formats that offer Arrow columns, count their rows and have [`Format::batch_writer`](crate::Format::batch_writer) | every range of rows that can be read |
///
/// What is lost is in [`Report::losses`]. Ranges of rows are found by trying: a range that begins and ends between two tries may be lost with the
/// damaged rows around it, and is counted as lost.
///
/// ```no_run
/// use wharf::{Overwrite, Recover, Registry};
///
/// let report = Recover::new("damaged.parquet").write("saved.parquet", Overwrite::Refuse, &Registry::builtin())?;
/// println!("{} rows saved", report.rows);
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
    /// Threads that may work at once; 0 for all the machine has.
    pub threads: usize,
    /// What is kept of IDV, and how it is written.
    pub idv: IdvRecover,
    /// What is kept of datadings.
    pub datadings: DatadingsRecover,
    /// Who hears how far the work is.
    pub(in crate::hub) progress: Listener,
}

/// What is kept of IDV, and how it is written.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct IdvRecover {
    /// These columns are kept, in this order, whatever rows that costs: names with commas between them; one with a comma stands in quotes.
    pub columns: Vec<String>,
    /// A file with the columns of one whose table of contents is lost: an IDV file that was written in the same way, or JSON.
    pub schema: Option<PathBuf>,
    /// How it is written; `missing_as_double` is for conversions.
    pub output: IdvTarget,
}

/// What is kept of datadings.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DatadingsRecover {
    /// A sample whose key one before has already is kept, and its key gets `#2`, `#3` and so on appended.
    pub rename_duplicates: bool,
    /// Write no `.md5`.
    pub no_md5: bool,
}

/// Rows and ranges that a report lists, at most.
const MOST_LISTED: usize = 1000;

/// What has been done, also before an error.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The format of the input and of the output.
    pub format: &'static str,
    /// Rows that were saved, or samples, or documents.
    pub rows: u64,
    /// How many there were, where the damaged file says so.
    pub declared: Option<u64>,
    /// The columns that were written, where the format has columns.
    pub columns: Vec<String>,
    /// Bytes of the output.
    pub bytes: u64,
    /// What is lost.
    pub losses: Vec<Lost>,
    /// What is wrong with an IDV file or a dataset and cost nothing by itself; of ZDS the errors of the first 20 documents that are lost.
    pub findings: Vec<Error>,
    /// Samples that are lost, where the index says which: 1000 at most.
    pub lost_rows: Vec<LostRow>,
    /// Where rows are lost that are read in batches: 1000 ranges at most.
    pub lost_ranges: Vec<Range<u64>>,
    /// Bytes of the data of a dataset that are lost: 1000 ranges at most.
    pub lost_bytes: Vec<Range<u64>>,
    /// The tables of a store that was put right in place.
    pub tables: Vec<RepairedTable>,
}

/// A sample that is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LostRow {
    /// Its number.
    pub row: u64,
    /// Its key, where a file lists it.
    pub key: Option<String>,
}

/// A table of a store that was put right in place.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepairedTable {
    /// Its name.
    pub name: String,
    /// Documents in it.
    pub rows: u64,
    /// What was wrong; empty where nothing was.
    pub notes: Vec<String>,
}

impl Recover {
    /// Of a damaged file.
    #[must_use]
    pub fn new(input: impl Into<PathBuf>) -> Self {
        Self::of(Location::Path(input.into()))
    }

    /// Of a damaged file, or of standard input.
    #[must_use]
    pub fn of(input: Location) -> Self {
        let (idv, datadings) = (IdvRecover::default(), DatadingsRecover::default());
        Self { input, threads: 0, idv, datadings, progress: Listener::default() }
    }

    /// Writes what is whole into a new file.
    ///
    /// # Errors
    /// All that [`run`](Self::run) fails for.
    pub fn write(&self, path: impl AsRef<Path>, overwrite: Overwrite, registry: &Registry) -> Result<Report> {
        let mut report = Report::default();
        self.run(path.as_ref(), overwrite, &mut Opener::new(registry.clone()), &mut report)?;
        Ok(report)
    }

    /// Writes what is whole into a new file; `report` says what was done and lost also when it ends with an error.
    ///
    /// # Errors
    /// The input cannot be read, or nothing in it is whole; [`Unsupported`](crate::ErrorKind::Unsupported) for a format that cannot be recovered;
    /// an option is for another format; the extension of the output stands for another format; the output exists and is not to be replaced, or
    /// cannot be written. The output is there whole, or not at all.
    pub fn run(&self, path: &Path, overwrite: Overwrite, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let name = || self.input.name();
        let wrong = |option, detail: String| Err(Error::usage(detail).in_option(option).in_file(name()));
        let to = (path, overwrite == Overwrite::Replace);
        if let Some(input) = self.store(opener)? {
            if let Some(option) = self.datadings.given().or_else(|| self.idv.given()) {
                return wrong(option, "is not for ZDS".to_owned());
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
                return wrong(option, "is for IDV, this is datadings".to_owned());
            }
            report.format = dataset::NAME;
            return datadings::run(self, &input, to, opener, report);
        }
        if let Some(option) = self.datadings.given() {
            return wrong(option, "is for datadings, and this is none".to_owned());
        }
        match format.filter(|format| format.name() != IDV) {
            Some(format) => {
                if let Some(option) = self.idv.given() {
                    return wrong(option, format!("is for IDV, this is {}", format.name()));
                }
                report.format = format.name();
                rows::run(self, format, &input, to, opener, report)
            }
            // Or what is left of one.
            None => {
                report.format = IDV;
                idv::run(self, &input, to, report)
            }
        }
    }

    /// Puts a ZDS store right where it is: a torn end is cut off, and a fresh index written.
    ///
    /// # Errors
    /// It is no store; it cannot be read or written.
    pub fn in_place(&self, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let wrong = |option, detail| Err(Error::usage(detail).in_option(option).in_file(self.input.name()));
        if self.store(opener)?.is_none() {
            return wrong("in_place", "is for ZDS, and this is none");
        }
        if let Some(option) = self.datadings.given().or_else(|| self.idv.given()) {
            return wrong(option, "is not for ZDS");
        }
        report.format = super::zds::NAME;
        zds::in_place(&self.input, opener, report)
    }

    /// The input, if it is a store: that is no stream, which can be read only once.
    fn store(&self, opener: &mut Opener<'_>) -> Result<Option<container_core::Input>> {
        let input = match &self.input {
            Location::Path(_) => self.input.input_if_there(opener)?,
            Location::Stdin => None,
        };
        Ok(input.filter(|input| super::zds::is_store(input, opener)))
    }

    fn bar(&self) -> &Arc<Bar> {
        &self.progress.0
    }
}

impl IdvRecover {
    /// An option that was given.
    fn given(&self) -> Option<&'static str> {
        let own = first_given(&[("columns", !self.columns.is_empty()), ("schema", self.schema.is_some())]);
        own.or_else(|| idv_file::given(&self.output))
    }
}

impl DatadingsRecover {
    /// An option that was given.
    fn given(&self) -> Option<&'static str> {
        first_given(&[("rename_duplicates", self.rename_duplicates), ("no_md5", self.no_md5)])
    }
}
