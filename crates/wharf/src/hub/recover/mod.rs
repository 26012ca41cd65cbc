//! Recovers the intact part of a damaged file into a new one.

mod datadings;
mod idv;
mod rows;
#[cfg(test)]
mod tests;
mod zds;

use std::ops::Range;
use std::path::{Path, PathBuf};

use container_core::{Error, Format, Overwrite, Result};

use super::convert::{OptionSpec, TargetUnit, To};
use super::env::Opener;
use super::inputs::Location;
pub use super::operation::Operation;
use super::operation::{self, Given, Inputs};
use super::rows::refuse_other_format;
use super::{Listener, Lost};
use crate::Registry;
pub use crate::convert::import::FOLDER;
pub use datadings::DatadingsRecoverer;
pub use idv::IdvRecoverer;
use rows::RowRecoverer;
pub use zds::ZdsRecoverer;
pub(in crate::hub) use zds::{Survey, reason};

/// Copies the intact part of a damaged file into a new one of the same format.
///
/// | input | what is kept |
/// |---|---|
/// | IDV | the columns and rows that keep the most values, verified |
/// | datadings | every intact sample, also without an index, verified |
/// | ZDS | every intact document, also without an index; or the store is repaired [in place](Self::in_place) |
/// | a format with a [recoverer](Registry::with_recoverer) of its own | what that recoverer keeps |
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
    /// Options of the input's format, by name.
    pub(in crate::hub) options: Given,
    /// Receives progress reports.
    pub(in crate::hub) progress: Listener,
}

/// How a format recovers its files, with its options. [`Registry::with_recoverer`] adds one.
pub trait Recoverer: Operation {
    /// Writes the intact part of the input of `job` to a new file. `report` says what was done and lost, also when this fails.
    ///
    /// # Errors
    /// See [`Recover::run`].
    fn run(&self, job: &Recover, to: To<'_>, opener: &mut Opener<'_>, report: &mut Report) -> Result<()>;

    /// Whether it [repairs files in place](Self::in_place).
    fn repairs_in_place(&self) -> bool {
        false
    }

    /// Repairs the input of `job` in place.
    ///
    /// # Errors
    /// The format cannot do it (the default); the input cannot be read or written.
    fn in_place(&self, job: &Recover, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let _ = (opener, report);
        Err(Error::unsupported("files of this format are not repaired in place").in_file(job.input.name()))
    }
}

/// Maximum number of rows and ranges in a report.
const MAX_LISTED: usize = 1000;

/// What was done, also before an error.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The format of the input and of the output.
    pub format: &'static str,
    /// What was recovered.
    pub unit: TargetUnit,
    /// Whether the output was verified before it appeared.
    pub verified: bool,
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
        Self { input, threads: 0, options: Given::default(), progress: Listener::default() }
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
        let recoverer = self.recoverer(opener, Some(path))?;
        self.run_as(recoverer, path, overwrite, opener, report)
    }

    /// As [`write`](Self::write), with this recoverer and its options, whatever the format of the input is.
    ///
    /// # Errors
    /// All that [`run`](Self::run) fails for.
    pub fn write_as(
        &self,
        recoverer: impl Recoverer + 'static,
        path: impl AsRef<Path>,
        overwrite: Overwrite,
        registry: &Registry,
    ) -> Result<Report> {
        let (mut report, mut opener) = (Report::default(), Opener::new(registry.clone()));
        self.run_as(Box::new(recoverer), path.as_ref(), overwrite, &mut opener, &mut report)?;
        Ok(report)
    }

    fn run_as(
        &self,
        recoverer: Box<dyn Recoverer>,
        path: &Path,
        overwrite: Overwrite,
        opener: &mut Opener<'_>,
        report: &mut Report,
    ) -> Result<()> {
        let recoverer = self.begin(recoverer, opener, report)?;
        refuse_other_format(path, report.format, &opener.registry)?;
        recoverer.run(self, To::Path(path, overwrite), opener, report)
    }

    /// Repairs a ZDS store in place: an incomplete document at its end is cut off, and the index is written anew.
    ///
    /// # Errors
    /// The input is not a store, or cannot be read or written.
    pub fn in_place(&self, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        if self.input == Location::Stdin {
            return Err(Error::usage("repairs files, not standard input").in_option("in_place"));
        }
        let recoverer = self.recoverer(opener, None)?;
        if !recoverer.repairs_in_place() {
            let all = opener.registry.recoverers();
            let title = all.iter().find(|own| own.repairs_in_place()).map_or("", |own| own.info().title);
            let inputs = Inputs { format: recoverer.info().format, file: Some(self.input.name()) };
            return Err(inputs.misplaced("in_place", title));
        }
        self.begin(recoverer, opener, report)?.in_place(self, opener, report)
    }

    /// The recoverer for the input. A stream that is not recognized has the format that the extension of the output stands for.
    fn recoverer(&self, opener: &mut Opener<'_>, output: Option<&Path>) -> Result<Box<dyn Recoverer>> {
        let named = |error: Error| error.in_file(self.input.name());
        let input = self.input.input(opener).map_err(named)?;
        let detected = opener.registry.detect(&input);
        let format = detected.as_ref().ok().copied();
        let output = output.filter(|_| self.input == Location::Stdin);
        let named_by_output = || Some(opener.registry.target_for(output?)?.info().format);
        let name = format.map(Format::name).or_else(named_by_output);
        let own = operation::accepting(opener.registry.recoverers(), &input, name);
        // Folders of files are read, not written.
        if input.source().is_none() && format.is_none_or(|format| own.is_none() && !format.is_writable()) {
            return Err(named(Error::usage("a directory cannot be recovered")));
        }
        match own {
            Some(own) => Ok(own),
            None => Ok(Box::new(RowRecoverer(detected.map_err(named)?))),
        }
    }

    /// Sets the options of a recoverer.
    fn begin(
        &self,
        mut recoverer: Box<dyn Recoverer>,
        opener: &Opener<'_>,
        report: &mut Report,
    ) -> Result<Box<dyn Recoverer>> {
        (report.format, report.unit) = (recoverer.info().format, recoverer.info().unit);
        let inputs = Inputs { format: report.format, file: Some(self.input.name()) };
        operation::set(recoverer.as_mut(), &opener.registry.recoverers(), &self.options, &inputs)?;
        Ok(recoverer)
    }
}

/// The recoverers that are built in.
const BUILTIN: [fn() -> Box<dyn Recoverer>; 3] =
    [|| Box::<IdvRecoverer>::default(), || Box::<DatadingsRecoverer>::default(), || Box::new(ZdsRecoverer)];

impl Registry {
    /// All recoverers with default options: the built-in ones, then those that were [added](Self::with_recoverer).
    #[must_use]
    pub fn recoverers(&self) -> Vec<Box<dyn Recoverer>> {
        BUILTIN.iter().chain(&self.entries.recoverers).map(|new| new()).collect()
    }

    /// The options of [recoveries](Recover::with_option). Each name occurs once.
    #[must_use]
    pub fn recover_options(&self) -> Vec<OptionSpec> {
        operation::options(&self.recoverers())
    }
}
