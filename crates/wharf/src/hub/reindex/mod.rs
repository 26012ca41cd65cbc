//! Rebuilds indexes from the data.

mod datadings;
mod zds;

use std::path::PathBuf;

use container_core::{Error, Result};

use super::convert::{OptionSpec, TargetUnit};
use super::env::Opener;
use super::inputs::Location;
pub use super::operation::Operation;
use super::operation::{self, Given, Inputs};
use super::{Listener, Lost};
use crate::Registry;
pub use datadings::DatadingsReindexer;
pub use zds::ZdsReindexer;

/// Rebuilds the index of a datadings dataset, of a ZDS store, or of a format with a [reindexer](Registry::with_reindexer) of its own.
///
/// | input | what is done |
/// |---|---|
/// | datadings | the index files beside the data are written as the dataset's writer did, byte for byte; they replace the old ones once they are complete, and the data stay unchanged |
/// | ZDS | an index that is missing, damaged, or older or longer than the data is rebuilt; an incomplete document at the end of the data is cut off |
///
/// ```no_run
/// use wharf::{Registry, Reindex};
///
/// let report = Reindex::new("train.msgpack").run(&Registry::builtin())?;
/// println!("{} samples", report.indexes[0].rows);
/// # Ok::<(), wharf::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Reindex {
    /// The dataset or store.
    pub input: Location,
    /// Maximum number of threads; 0 for one per core.
    pub threads: usize,
    /// Options of the input's format, by name.
    pub(in crate::hub) options: Given,
    /// Receives progress reports.
    pub(in crate::hub) progress: Listener,
}

/// How a format rebuilds its indexes, with its options. [`Registry::with_reindexer`] adds one.
pub trait Reindexer: Operation {
    /// One job for each index of the input of `job`: each can fail by itself. `job` itself by default.
    ///
    /// # Errors
    /// See [`Reindex::parts`].
    fn parts(&self, job: &Reindex, opener: &mut Opener<'_>) -> Result<Vec<Reindex>> {
        let _ = opener;
        Ok(vec![job.clone()])
    }

    /// Rebuilds the indexes of the input of `job`. `report` says what was done, also when this fails.
    ///
    /// # Errors
    /// See [`Reindex::run_with`].
    fn run(&self, job: &Reindex, opener: &mut Opener<'_>, report: &mut Report) -> Result<()>;
}

/// What was done, also before an error.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The format of the input.
    pub format: &'static str,
    /// What the indexes list.
    pub unit: TargetUnit,
    /// One index for a dataset, or one for each collection.
    pub indexes: Vec<Index>,
    /// Documents that the old index listed and the data no longer have.
    pub losses: Vec<Lost>,
}

/// An index.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Index {
    /// The collection, for ZDS.
    pub table: Option<String>,
    /// Samples or documents that it lists.
    pub rows: u64,
    /// The old index.
    pub before: Before,
    /// Whether it was rebuilt.
    pub is_made: bool,
    /// Bytes of the data, for datadings.
    pub bytes: u64,
    /// Bytes of an interrupted append that were cut off, for datadings.
    pub bytes_cut: u64,
    /// Whether a legacy index is still there.
    pub kept_older: bool,
    /// The first deleted document whose line is still there, and their number.
    pub deleted: Option<(String, u64)>,
    /// What was repaired in a store.
    pub notes: Vec<String>,
}

/// The state of an index before it was rebuilt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Before {
    /// datadings: a current index.
    Offsets,
    /// datadings: a legacy index.
    Older,
    /// Missing.
    Missing,
    /// ZDS: valid.
    Valid,
    /// ZDS: a text index, which is valid.
    Text,
    /// Damaged.
    Damaged,
    /// Older than the data.
    Stale,
    /// Longer than the data: it listed lines that do not exist.
    LongerThanData,
    /// A transaction was interrupted.
    Journal,
    /// There are no data.
    NoData,
}

impl Reindex {
    /// Rebuilds the index of a dataset or store.
    #[must_use]
    pub fn new(input: impl Into<PathBuf>) -> Self {
        Self::of(Location::Path(input.into()))
    }

    /// Rebuilds the index of an input, which must be a path.
    #[must_use]
    pub fn of(input: Location) -> Self {
        Self { input, threads: 0, options: Given::default(), progress: Listener::default() }
    }

    /// Makes the index anew.
    ///
    /// # Errors
    /// All that [`run_with`](Self::run_with) fails for.
    pub fn run(&self, registry: &Registry) -> Result<Report> {
        let mut report = Report::default();
        self.run_with(&mut Opener::new(registry.clone()), &mut report)?;
        Ok(report)
    }

    /// The same; `report` says what was done also when it ends with an error. Where a collection fails, the others are done all the same.
    ///
    /// # Errors
    /// The input is neither a dataset nor a store; its data are damaged, cannot be read, or the index cannot be written; an option is for another
    /// format.
    pub fn run_with(&self, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let reindexer = self.reindexer(opener)?;
        self.run_by(reindexer.as_ref(), opener, report)
    }

    /// As [`run`](Self::run), with this reindexer and its options, whatever the format of the input is.
    ///
    /// # Errors
    /// All that [`run_with`](Self::run_with) fails for.
    pub fn run_as(&self, reindexer: impl Reindexer + 'static, registry: &Registry) -> Result<Report> {
        let (mut report, mut opener) = (Report::default(), Opener::new(registry.clone()));
        let format = reindexer.info().format;
        let reindexer = self.with_options(Box::new(reindexer), format, &opener)?;
        self.run_by(reindexer.as_ref(), &mut opener, &mut report)?;
        Ok(report)
    }

    /// One job for each index, so that each can fail by itself: for the collections of a store, and for the data file of a dataset.
    ///
    /// # Errors
    /// An option is for another format; there is no collection of that name; the input is neither a dataset nor a store.
    pub fn parts(&self, opener: &mut Opener<'_>) -> Result<Vec<Self>> {
        self.reindexer(opener)?.parts(self, opener)
    }

    /// Whether another job rebuilds the same indexes in the same way.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.input == other.input && self.options == other.options
    }

    fn run_by(&self, reindexer: &dyn Reindexer, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        (report.format, report.unit) = (reindexer.info().format, reindexer.info().unit);
        reindexer.run(self, opener, report)
    }

    /// The reindexer for the input, with its options.
    fn reindexer(&self, opener: &mut Opener<'_>) -> Result<Box<dyn Reindexer>> {
        let named = |error: Error| error.in_file(self.input.name());
        if !matches!(self.input, Location::Path(_)) {
            return Err(no_index_beside(&self.input));
        }
        let input = self.input.input(opener).map_err(named)?;
        let format = opener.registry.detect(&input).ok().map(|format| format.name());
        let own = operation::accepting(opener.registry.reindexers(), &input, format);
        let own = own.ok_or_else(|| named(Error::unsupported("files of this format have no index")))?;
        let format = format.unwrap_or(own.info().format);
        self.with_options(own, format, opener)
    }

    fn with_options(
        &self,
        mut reindexer: Box<dyn Reindexer>,
        format: &'static str,
        opener: &Opener<'_>,
    ) -> Result<Box<dyn Reindexer>> {
        let inputs = Inputs { format, file: Some(self.input.name()) };
        operation::set(reindexer.as_mut(), &opener.registry.reindexers(), &self.options, &inputs)?;
        Ok(reindexer)
    }
}

#[cold]
fn no_index_beside(input: &Location) -> Error {
    let what = if *input == Location::Stdin { "standard input" } else { "an open container" };
    Error::usage(format!("an index is a file beside the data, which {what} cannot have"))
}

/// The reindexers that are built in.
const BUILTIN: [fn() -> Box<dyn Reindexer>; 2] =
    [|| Box::<DatadingsReindexer>::default(), || Box::<ZdsReindexer>::default()];

impl Registry {
    /// All reindexers with default options: the built-in ones, then those that were [added](Self::with_reindexer).
    #[must_use]
    pub fn reindexers(&self) -> Vec<Box<dyn Reindexer>> {
        BUILTIN.iter().chain(&self.entries.reindexers).map(|new| new()).collect()
    }

    /// The options of [reindexing](Reindex::with_option). Each name occurs once.
    #[must_use]
    pub fn reindex_options(&self) -> Vec<OptionSpec> {
        operation::options(&self.reindexers())
    }
}

impl Index {
    /// An index that was not rebuilt, without anything to report.
    #[must_use]
    pub const fn new(before: Before, rows: u64) -> Self {
        Self {
            table: None,
            rows,
            before,
            is_made: false,
            bytes: 0,
            bytes_cut: 0,
            kept_older: false,
            deleted: None,
            notes: Vec::new(),
        }
    }
}
