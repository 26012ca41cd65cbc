//! A collection as a table.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use container_core::{ColumnInfo, Error, Limits, Result, Rows, Scan, Table, Unit, Watch};
use serde_json::{Map, Value};

use super::columns::{ColumnSurvey, Field};
use super::located::located;
use super::matching::Matching;
use super::rows::{DocumentRows, Shown};
use super::state;
use crate::FORMAT_NAME;
use crate::layout::COLLECTIONS;
use crate::read::{Collection, Filter, Store};

/// Data of up to this many bytes are surveyed completely when columns are requested.
const MAX_FULL_SURVEY: u64 = 64 << 20;

/// Documents sampled from larger data.
const SAMPLE_DOCUMENTS: u64 = 4096;

/// A collection as a table, with documents as rows.
#[derive(Debug)]
pub(crate) struct CollectionTable {
    /// Shared with the threads that build record batches.
    pub(crate) collection: Arc<Collection>,
    /// Its location, for errors.
    pub(crate) location: String,
    /// Paths that may be selected, and their column names.
    pub(crate) paths: Vec<(String, String)>,
    pub(crate) filter: Option<Filter>,
    pub(crate) limits: Limits,
    /// Columns of a sample, and of all documents.
    sampled: OnceLock<Vec<Field>>,
    all: OnceLock<Vec<Field>>,
    sampled_columns: OnceLock<Vec<ColumnInfo>>,
    all_columns: OnceLock<Vec<ColumnInfo>>,
    /// Observation for the most recent record batch scan.
    #[cfg(feature = "arrow")]
    pub(crate) observed: crate::arrow::observed::CachedObservation,
}

impl CollectionTable {
    pub(super) fn new(store: &Store, collection: Collection, limits: Limits) -> Self {
        let within = format!("{COLLECTIONS}/{}", collection.name());
        let location = match (store.folder(), store.archive()) {
            (Some(folder), _) if !folder.join(COLLECTIONS).is_dir() => folder.display().to_string(),
            (Some(folder), _) => folder.join(within).display().to_string(),
            (None, Some(archive)) => match archive.name() {
                Some(name) => Path::new(name).join(within).display().to_string(),
                None => within,
            },
            (None, None) => within,
        };
        Self {
            collection: Arc::new(collection),
            location,
            paths: Vec::new(),
            filter: None,
            limits,
            sampled: OnceLock::new(),
            all: OnceLock::new(),
            sampled_columns: OnceLock::new(),
            all_columns: OnceLock::new(),
            #[cfg(feature = "arrow")]
            observed: crate::arrow::observed::CachedObservation::default(),
        }
    }

    /// The columns known so far.
    pub(crate) fn fields(&self) -> &[Field] {
        if let Some(all) = self.all.get() {
            return all;
        }
        self.sampled.get_or_init(|| {
            let collection = &self.collection;
            let len = collection.len().unwrap_or(0);
            let bytes = collection.data.as_ref().map_or(0, container_core::Source::len);
            let every = len <= SAMPLE_DOCUMENTS
                || bytes <= MAX_FULL_SURVEY && collection.lines().is_ok_and(|lines| lines == len);
            let step = if every { 1 } else { len / SAMPLE_DOCUMENTS };
            let mut survey = ColumnSurvey::new(&self.paths, self.limits.columns);
            // Invalid documents are reported when they are read.
            let _ = survey.scan(collection, step, &Watch::default(), &mut |_| Ok(()));
            survey.finish()
        })
    }

    /// Completes an error with the collection's location.
    pub(crate) fn located(&self, error: Error) -> Error {
        located(error, &self.location)
    }
}

impl Table for CollectionTable {
    fn name(&self) -> &str {
        self.collection.name()
    }

    /// The members of documents, in order of first appearance. Based on all documents if there are few or the data have at most 64 MiB,
    /// otherwise on 4096 evenly spread ones, until [`infer_columns`](Table::infer_columns) has scanned them all.
    fn columns(&self) -> &[ColumnInfo] {
        let (fields, columns) = match self.all.get() {
            Some(all) => (all.as_slice(), &self.all_columns),
            None => (self.fields(), &self.sampled_columns),
        };
        columns.get_or_init(|| fields.iter().map(Field::info).collect())
    }

    fn has_schema(&self) -> bool {
        false
    }

    fn infer_columns(&self) -> Result<()> {
        self.infer_columns_with(&Watch::default())
    }

    fn infer_columns_with(&self, watch: &Watch) -> Result<()> {
        if self.all.get().is_some() {
            return Ok(());
        }
        let mut survey = ColumnSurvey::new(&self.paths, self.limits.columns);
        // Known columns keep their positions.
        survey.start_from(self.fields());
        watch.begin(Unit::Rows, self.collection.len().ok());
        survey.scan(&self.collection, 1, watch, &mut Err).map_err(|error| self.located(error))?;
        let _ = self.all.set(survey.finish()); // another thread may have set the same value
        Ok(())
    }

    fn column_summary(&self, index: usize) -> Map<String, Value> {
        self.fields().get(index).map(Field::summary).unwrap_or_default()
    }

    fn column_details(&self, index: usize) -> Result<Map<String, Value>> {
        match index < self.fields().len() {
            true => Ok(Map::new()),
            false => Err(Error::usage(format!("no column {index}")).in_format(FORMAT_NAME)),
        }
    }

    /// `None` if a filter has to be evaluated, or the index cannot be read.
    fn len(&self) -> Option<u64> {
        self.collection.len().ok().filter(|_| self.filter.is_none())
    }

    fn block_rows(&self) -> Option<u64> {
        self.filter.is_none().then_some(1) // the index has the offset of each document
    }

    fn rows<'a>(&'a self, scan: &Scan) -> Result<Box<dyn Rows + 'a>> {
        let located = |error: Error| self.located(error);
        let losses = state::losses(&self.collection.condition().map_err(located)?);
        let rows = if self.filter.is_some() { 0..u64::MAX } else { scan.rows.clone() };
        let documents = self.collection.documents_in(rows).map_err(located)?;
        let selected = match &scan.columns {
            None => None,
            Some(columns) => {
                let fields = self.fields();
                let field = |&index: &usize| {
                    let missing = || Error::usage(format!("no column {index}")).in_format(FORMAT_NAME);
                    fields.get(index).ok_or_else(missing)
                };
                Some(columns.iter().map(field).collect::<Result<Vec<_>>>()?)
            }
        };
        let shown = match &self.filter {
            Some(filter) => {
                Shown::Matching(Box::new(Matching::new(documents, filter, scan.rows.clone(), scan.threads)))
            }
            None => Shown::All(documents),
        };
        Ok(Box::new(DocumentRows::new(shown, selected, losses, &self.location)))
    }

    /// A document in a file of its own may contain another `_id` than the name of the file says.
    fn key_column(&self) -> Option<&str> {
        let is_plain = self.filter.is_none() && self.paths.is_empty() && !self.collection.has_docs;
        is_plain.then_some("_id")
    }

    fn find(&self, key: &str) -> Result<Option<u64>> {
        self.collection.row_of(key).map_err(|error| self.located(error))
    }

    #[cfg(feature = "arrow")]
    fn arrow(&self) -> Option<&dyn container_arrow::ArrowTable> {
        Some(self)
    }
}
