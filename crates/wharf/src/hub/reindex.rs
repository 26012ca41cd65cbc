//! Rebuilds indexes from the data.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use container_core::{Access, Error, Loss, OpenOptions, Position, Progress, Result, Source};
use datadings::{Part, RebuildOptions, RebuildSummary, rebuild_index};
use zdx::wire::json::Scanned;
use zdx::wire::lines::lines;
use zdx::{Collection, IndexState};

use super::env::Opener;
use super::inputs::Location;
use super::zds::{self, Stored, located, open_writer, writer_options};
use super::{Listener, Lost, dataset, first_given};
use crate::Registry;

/// Rebuilds the index of a datadings dataset, or of a ZDS store.
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
    /// Options for datadings.
    pub datadings: DatadingsReindex,
    /// Options for ZDS.
    pub zds: ZdsReindex,
    /// Receives progress reports.
    pub(in crate::hub) progress: Listener,
}

/// Options for datadings.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DatadingsReindex {
    /// Cut off what an interrupted append left after the last complete sample: the only change to the data.
    pub truncate: bool,
    /// Remove a legacy `.index` file once the new index is complete.
    pub remove_older: bool,
    /// Write no `.md5` file, and remove the old one.
    pub no_md5: bool,
}

/// Options for ZDS.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ZdsReindex {
    /// Only this collection.
    pub table: Option<String>,
    /// Rebuild a valid index, too: deleted documents whose lines are still there come back.
    pub force: bool,
}

/// What was done, also before an error.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The format of the input.
    pub format: &'static str,
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
        Self {
            input: Location::Path(input.into()),
            threads: 0,
            datadings: DatadingsReindex::default(),
            zds: ZdsReindex::default(),
            progress: Listener::default(),
        }
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
    /// The input is neither a dataset nor a store; its data are damaged, cannot be read, or the index cannot be written; an option is for the other
    /// format.
    pub fn run_with(&self, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let Some(tables) = self.tables(opener)? else { return self.dataset(opener, report) };
        report.format = zds::NAME;
        let mut outcome = Ok(());
        for table in &tables {
            let done = self.collection(table, opener, report);
            outcome = outcome.and(done);
        }
        outcome
    }

    /// The collections that are looked at; `None` for a dataset.
    ///
    /// # Errors
    /// An option is for the other format; there is no collection of that name; the input is neither.
    pub fn tables(&self, opener: &mut Opener<'_>) -> Result<Option<Vec<String>>> {
        let named = |error: Error| error.in_file(self.input.name());
        let wrong = |option: &'static str, what| Err(named(Error::usage(what).in_option(option)));
        if let Location::Path(_) = self.input
            && let Some(input) = self.input.existing_input(opener)?
            && zds::is_store(&input, opener)
        {
            return match self.datadings.given() {
                Some(option) => wrong(option, "is an option of datadings, the input is zds"),
                None => zds::tables(&self.input, self.zds.table.as_deref(), opener).map(Some),
            };
        }
        if let Some(option) = self.zds.given() {
            return wrong(option, "is an option of ZDS, the input is another format");
        }
        match &self.input {
            Location::Path(path) if path.is_dir() => {
                Err(named(Error::usage("expected a datadings dataset, found a directory")))
            }
            Location::Path(_) => dataset::check(&self.input, opener, "index").map_err(named).map(|()| None),
            Location::Stdin | Location::Open(_) => Err(no_index_beside(&self.input)),
        }
    }

    fn dataset(&self, opener: &Opener<'_>, report: &mut Report) -> Result<()> {
        let Location::Path(path) = &self.input else {
            return Err(no_index_beside(&self.input));
        };
        let path = dataset::data_of(path);
        report.format = dataset::NAME;
        let there = |part| dataset::member(&path, part).is_file();
        let before = match (there(Part::Offsets), there(Part::LegacyIndex)) {
            (true, _) => Before::Offsets,
            (false, true) => Before::Older,
            (false, false) => Before::Missing,
        };
        let bar = &self.progress.0;
        bar.name(&path.display().to_string());
        let DatadingsReindex { truncate, remove_older, no_md5 } = self.datadings;
        // A mapping of a file that is truncated would be unsound.
        let access = if truncate { Access::Auto } else { opener.access };
        let options = RebuildOptions::default()
            .with_open(OpenOptions::default().with_access(access))
            .with_threads(self.threads)
            .with_md5(!no_md5)
            .with_truncate(truncate)
            .with_keep_legacy(!remove_older)
            .with_progress(Arc::clone(bar) as Arc<dyn Progress>);
        let RebuildSummary { samples, bytes, truncated_bytes, kept_legacy, .. } = rebuild_index(&path, &options)?;
        report.indexes.push(Index {
            is_made: true,
            bytes,
            bytes_cut: truncated_bytes,
            kept_older: kept_legacy,
            ..Index::new(before, samples)
        });
        Ok(())
    }

    /// Rebuilds the index of a collection, unless it is valid.
    fn collection(&self, table: &str, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let named = |error: Error| error.in_file(self.input.name());
        let input = self.input.input(opener).map_err(named)?;
        let stored = Stored::open(&self.input, &input, opener, Some(table))?;
        let condition = stored.collection.condition().map_err(named)?;
        let is_cut = condition.lost_until.is_some();
        let before = if is_cut { Before::LongerThanData } else { Before::of(&condition.index) };
        let is_valid = matches!(before, Before::Valid | Before::Text);
        let deleted = if is_valid { self.deleted_ids(&stored.collection)? } else { Vec::new() };
        let mut index = Index::new(before, stored.count()?);
        let known = index.rows;
        index.table = Some(table.to_owned());
        index.is_made = !matches!(condition.index, IndexState::NoData) && (self.zds.force || !is_valid);
        index.deleted = deleted.first().map(|first| (first.clone(), deleted.len() as u64));
        drop(stored);
        if index.is_made {
            let options = writer_options(false).with_rebuild(self.zds.force || is_cut);
            let (root, name) = open_writer(&self.input, Some(table), options, "index")?;
            let named = |error: Error| located(error, &self.input, &name);
            let writer = root.collection(&name).map_err(named)?;
            // A valid index has no defects to report, only deleted documents.
            index.notes = if is_valid { Vec::new() } else { writer.recovered().notes() };
            index.rows = writer.len();
            writer.finish().map_err(named)?;
            root.finish().map_err(named)?;
        }
        if let Some(end) = condition.lost_until {
            let s = if known == 1 { "" } else { "s" };
            let what = format!(
                "table {table}: the index listed lines up to byte {end}, after the end of the data: {known} document{s} before, {} now",
                index.rows
            );
            report.losses.push(Lost { file: Some(self.input.name()), loss: Loss::new(what, 1, Position::default()) });
        }
        report.indexes.push(index);
        Ok(())
    }

    /// Ids of documents whose lines are there but not in the index: they were deleted.
    fn deleted_ids(&self, collection: &Collection) -> Result<Vec<String>> {
        let Location::Path(path) = &self.input else { return Ok(Vec::new()) };
        let named = |error: Error| error.in_file(self.input.name());
        let source = Source::open(data_of(path, collection.name()))?;
        let bytes = source.read(0..source.len()).map_err(named)?;
        let (mut ids, mut deleted) = (HashSet::new(), Vec::new());
        for line in lines(&bytes) {
            let Ok(id) = line.plain_id().map_or_else(|| line.scan().map(Scanned::into_id), |id| Ok(Some(id.into())))
            else {
                continue;
            };
            if let Some(id) = id.filter(|id| !ids.contains(id.as_ref()))
                && !collection.contains(&id).map_err(named)?
            {
                ids.insert(id.clone().into_owned());
                deleted.push(id.into_owned());
            }
        }
        Ok(deleted)
    }
}

/// The error for an input that is not a file.
fn no_index_beside(input: &Location) -> Error {
    let what = if *input == Location::Stdin { "standard input" } else { "an open container" };
    Error::usage(format!("an index is a file beside the data, which {what} cannot have"))
}

impl DatadingsReindex {
    /// The first option that was set.
    fn given(&self) -> Option<&'static str> {
        first_given(&[("truncate", self.truncate), ("remove_older", self.remove_older), ("no_md5", self.no_md5)])
    }
}

impl ZdsReindex {
    /// The first option that was set.
    fn given(&self) -> Option<&'static str> {
        first_given(&[("table", self.table.is_some()), ("force", self.force)])
    }
}

impl Index {
    fn new(before: Before, rows: u64) -> Self {
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

impl Before {
    const fn of(state: &IndexState) -> Self {
        match state {
            IndexState::Valid => Self::Valid,
            IndexState::Text => Self::Text,
            IndexState::Missing => Self::Missing,
            IndexState::Damaged(_) => Self::Damaged,
            IndexState::Stale => Self::Stale,
            IndexState::Journal => Self::Journal,
            _ => Self::NoData,
        }
    }
}

/// The data file of a collection, from any path inside its store.
fn data_of(path: &Path, name: &str) -> PathBuf {
    let folder = zdx::Store::open(path).ok().and_then(|store| store.folder().map(Path::to_owned)).unwrap_or_default();
    let collections = folder.join(zdx::layout::COLLECTIONS);
    let collection = if collections.is_dir() { collections.join(name) } else { folder };
    collection.join(zdx::layout::META).join(zdx::layout::DATA)
}
