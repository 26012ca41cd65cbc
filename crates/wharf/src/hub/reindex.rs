//! Indexes made anew, from the data.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use container_core::{Access, Error, Loss, OpenOptions, Position, Progress, Result, Source};
use datadings::{Part, RebuildOptions, Rebuilt, rebuild_index};
use zdx::wire::json::Scanned;
use zdx::wire::lines::lines;
use zdx::{Collection, IndexState};

use super::env::Opener;
use super::inputs::Location;
use super::zds::{self, Stored, located, open_writer, writer_options};
use super::{Listener, Lost, dataset, first_given};
use crate::Registry;

/// Makes the index of a datadings dataset, or of a ZDS store, anew.
///
/// | input | what is done |
/// |---|---|
/// | datadings | the index files beside the data, byte for byte as their writer did; the old ones are replaced when the new ones are whole, and the data stay as they are |
/// | ZDS | an index that is missing, damaged, or older or longer than the data; a torn end of the data is cut off |
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
    /// Threads that may work at once; 0 for all the machine has.
    pub threads: usize,
    /// How it is done for datadings.
    pub datadings: DatadingsReindex,
    /// How it is done for ZDS.
    pub zds: ZdsReindex,
    /// Who hears how far the work is.
    pub(in crate::hub) progress: Listener,
}

/// How it is done for datadings.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DatadingsReindex {
    /// What an interrupted append has left behind the last whole sample is cut off: the one change ever made to data.
    pub truncate: bool,
    /// An `.index` of the older form is removed once there is a new one.
    pub remove_older: bool,
    /// Write no `.md5`, and remove the old one.
    pub no_md5: bool,
}

/// How it is done for ZDS.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ZdsReindex {
    /// Only this collection.
    pub table: Option<String>,
    /// Also where it is valid: deleted documents whose lines are still there come back.
    pub force: bool,
}

/// What has been done, also before an error.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The format of the input.
    pub format: &'static str,
    /// An index for each collection, or the one of a dataset.
    pub indexes: Vec<Index>,
    /// Documents that the index named and the data no longer have.
    pub losses: Vec<Lost>,
}

/// An index.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Index {
    /// The collection, of ZDS.
    pub table: Option<String>,
    /// Samples or documents that it lists.
    pub rows: u64,
    /// The index that was there.
    pub before: Before,
    /// It was made anew.
    pub is_made: bool,
    /// Bytes of the data of a dataset.
    pub bytes: u64,
    /// Bytes of an interrupted append that were cut off a dataset.
    pub bytes_cut: u64,
    /// The index of the older form is still there.
    pub kept_older: bool,
    /// The first of the deleted documents whose lines are still there, and how many there are.
    pub deleted: Option<(String, u64)>,
    /// What was repaired in a store.
    pub notes: Vec<String>,
}

/// An index before it was made anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Before {
    /// Of a dataset: one of today's form.
    Offsets,
    /// Of a dataset: one of the older form.
    Older,
    /// There was none.
    Missing,
    /// Of a store: a valid one.
    Valid,
    /// Of a store: one that is text, which is valid.
    Text,
    /// It was damaged.
    Damaged,
    /// It was older than the data.
    Stale,
    /// It named lines that the data do not have.
    LongerThanData,
    /// A transaction was broken off.
    Journal,
    /// There are no data.
    NoData,
}

impl Reindex {
    /// Of a dataset or store.
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
            && let Some(input) = self.input.input_if_there(opener)?
            && zds::is_store(&input, opener)
        {
            return match self.datadings.given() {
                Some(option) => wrong(option, "is for datadings, this is zds"),
                None => zds::tables(&self.input, self.zds.table.as_deref(), opener).map(Some),
            };
        }
        if let Some(option) = self.zds.given() {
            return wrong(option, "is for ZDS stores, and this is not one");
        }
        match &self.input {
            Location::Path(path) if path.is_dir() => Err(named(Error::usage("a directory is not a datadings dataset"))),
            Location::Path(_) => dataset::check(&self.input, opener, "index").map_err(named).map(|()| None),
            Location::Stdin => Err(Error::usage("an index stands beside a file: standard input has none")),
        }
    }

    fn dataset(&self, opener: &Opener<'_>, report: &mut Report) -> Result<()> {
        let Location::Path(path) = &self.input else {
            return Err(Error::usage("an index stands beside a file: standard input has none"));
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
        // What is cut is not mapped.
        let access = if truncate { Access::Auto } else { opener.access };
        let options = RebuildOptions::default()
            .with_open(OpenOptions::default().with_access(access))
            .with_threads(self.threads)
            .with_md5(!no_md5)
            .with_truncate(truncate)
            .with_keep_older(!remove_older)
            .with_progress(Arc::clone(bar) as Arc<dyn Progress>);
        let Rebuilt { samples, bytes, cut, kept_older, .. } = rebuild_index(&path, &options)?;
        report.indexes.push(Index { is_made: true, bytes, bytes_cut: cut, kept_older, ..Index::new(before, samples) });
        Ok(())
    }

    /// The index of a collection, unless it is valid.
    fn collection(&self, table: &str, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let named = |error: Error| error.in_file(self.input.name());
        let input = self.input.input(opener).map_err(named)?;
        let stored = Stored::open(&self.input, &input, opener, Some(table))?;
        let condition = stored.collection.condition().map_err(named)?;
        let is_cut = condition.lost_until.is_some();
        let before = if is_cut { Before::LongerThanData } else { Before::of(&condition.index) };
        let is_valid = matches!(before, Before::Valid | Before::Text);
        let dead = if is_valid { self.dead(&stored.collection)? } else { Vec::new() };
        let mut index = Index::new(before, stored.count()?);
        let known = index.rows;
        index.table = Some(table.to_owned());
        index.is_made = !matches!(condition.index, IndexState::NoData) && (self.zds.force || !is_valid);
        index.deleted = dead.first().map(|first| (first.clone(), dead.len() as u64));
        drop(stored);
        if index.is_made {
            let options = writer_options(false).with_rebuild(self.zds.force || is_cut);
            let (root, name) = open_writer(&self.input, Some(table), options, "index")?;
            let named = |error: Error| located(error, &self.input, &name);
            let writer = root.collection(&name).map_err(named)?;
            // Of an index that was valid there is nothing to be told but what it had left out.
            index.notes = if is_valid { Vec::new() } else { writer.recovered().notes() };
            index.rows = writer.len();
            writer.finish().map_err(named)?;
            root.finish().map_err(named)?;
        }
        if let Some(end) = condition.lost_until {
            let s = if known == 1 { "" } else { "s" };
            let what = format!(
                "table {table}: the index named lines up to byte {end} of the data, which end before: {known} document{s} before, {} now",
                index.rows
            );
            report.losses.push(Lost { file: Some(self.input.name()), loss: Loss::new(what, 1, Position::default()) });
        }
        report.indexes.push(index);
        Ok(())
    }

    /// Ids of documents whose lines are there and that the index does not name.
    fn dead(&self, collection: &Collection) -> Result<Vec<String>> {
        let Location::Path(path) = &self.input else { return Ok(Vec::new()) };
        let named = |error: Error| error.in_file(self.input.name());
        let source = Source::open(data_of(path, collection.name()))?;
        let bytes = source.read(0..source.len()).map_err(named)?;
        let (mut seen, mut dead) = (HashSet::new(), Vec::new());
        for line in lines(&bytes) {
            let Ok(id) = line.plain_id().map_or_else(|| line.scan().map(Scanned::into_id), |id| Ok(Some(id.into())))
            else {
                continue;
            };
            if let Some(id) = id.filter(|id| !seen.contains(id.as_ref()))
                && !collection.contains(&id).map_err(named)?
            {
                seen.insert(id.clone().into_owned());
                dead.push(id.into_owned());
            }
        }
        Ok(dead)
    }
}

impl DatadingsReindex {
    /// An option that was given.
    fn given(&self) -> Option<&'static str> {
        first_given(&[("truncate", self.truncate), ("remove_older", self.remove_older), ("no_md5", self.no_md5)])
    }
}

impl ZdsReindex {
    /// An option that was given.
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

/// The data of a collection, of whatever leads to it.
fn data_of(path: &Path, name: &str) -> PathBuf {
    let folder = zdx::Store::open(path).ok().and_then(|store| store.folder().map(Path::to_owned)).unwrap_or_default();
    let collections = folder.join(zdx::layout::COLLECTIONS);
    let collection = if collections.is_dir() { collections.join(name) } else { folder };
    collection.join(zdx::layout::META).join(zdx::layout::DATA)
}
