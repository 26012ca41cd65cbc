//! A collection as a table.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use container_core::{ColumnInfo, Error, Limits, Result, Rows, Scan, Table};
use serde_json::{Map, Value};

use super::columns::{Field, Survey};
use super::located::located;
use super::rows::DocumentRows;
use super::state;
use crate::FORMAT_NAME;
use crate::layout::COLLECTIONS;
use crate::read::{Collection, Filter, Store};

/// Bytes of data that are surveyed as a whole when columns are asked for.
const SMALL: u64 = 64 << 20;

/// Documents that are looked at where the data are more than that.
const LOOKED_AT: u64 = 4096;

/// A collection, its documents as rows.
#[derive(Debug)]
pub(crate) struct CollectionTable {
    /// Shared with the threads that make record batches.
    pub(crate) collection: Arc<Collection>,
    /// Where it is, as errors tell it.
    pub(crate) place: String,
    /// Paths that may be asked for, and what their columns are called.
    pub(crate) paths: Vec<(String, String)>,
    pub(crate) filter: Option<Filter>,
    pub(crate) limits: Limits,
    /// What some documents have, and what all have.
    some: OnceLock<Vec<Field>>,
    all: OnceLock<Vec<Field>>,
    some_columns: OnceLock<Vec<ColumnInfo>>,
    all_columns: OnceLock<Vec<ColumnInfo>>,
    /// What was found where record batches were asked for last.
    #[cfg(feature = "arrow")]
    pub(crate) observed: crate::arrow::observed::Observed,
}

impl CollectionTable {
    pub(super) fn new(store: &Store, collection: Collection, limits: Limits) -> Self {
        let within = format!("{COLLECTIONS}/{}", collection.name());
        let place = match (store.folder(), store.archive()) {
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
            place,
            paths: Vec::new(),
            filter: None,
            limits,
            some: OnceLock::new(),
            all: OnceLock::new(),
            some_columns: OnceLock::new(),
            all_columns: OnceLock::new(),
            #[cfg(feature = "arrow")]
            observed: crate::arrow::observed::Observed::default(),
        }
    }

    /// The columns that are known.
    pub(crate) fn fields(&self) -> &[Field] {
        if let Some(all) = self.all.get() {
            return all;
        }
        self.some.get_or_init(|| {
            let collection = &self.collection;
            let len = collection.len().unwrap_or(0);
            let bytes = collection.data.as_ref().map_or(0, container_core::Source::len);
            let every = len <= LOOKED_AT || bytes <= SMALL && collection.lines().is_ok_and(|lines| lines == len);
            let step = if every { 1 } else { len / LOOKED_AT };
            let mut survey = Survey::new(&self.paths, self.limits.columns);
            // What is wrong with a document is told where documents are read.
            let _ = survey.take_all(collection, step, &mut |_| Ok(()));
            survey.finish()
        })
    }

    /// An error that names the file as a whole: where the collection is, too.
    pub(crate) fn located(&self, error: Error) -> Error {
        located(error, &self.place)
    }
}

impl Table for CollectionTable {
    fn name(&self) -> &str {
        self.collection.name()
    }

    /// The members that documents have, in the order of their first appearance: of all documents where there are few or the data are up to
    /// 64 MiB, else of 4096 that are spread evenly, until [`infer_columns`](Table::infer_columns) has looked at them all.
    fn columns(&self) -> &[ColumnInfo] {
        let (fields, columns) = match self.all.get() {
            Some(all) => (all.as_slice(), &self.all_columns),
            None => (self.fields(), &self.some_columns),
        };
        columns.get_or_init(|| fields.iter().map(Field::info).collect())
    }

    fn infer_columns(&self) -> Result<()> {
        if self.all.get().is_some() {
            return Ok(());
        }
        let mut survey = Survey::new(&self.paths, self.limits.columns);
        // Those that are known keep their places.
        survey.keep(self.fields());
        survey.take_all(&self.collection, 1, &mut Err).map_err(|error| self.located(error))?;
        let _ = self.all.set(survey.finish()); // somebody else may have been faster, with the same
        Ok(())
    }

    fn column_summary(&self, index: usize) -> Map<String, Value> {
        self.fields().get(index).map(Field::summary).unwrap_or_default()
    }

    fn column_details(&self, index: usize) -> Result<Map<String, Value>> {
        match index < self.fields().len() {
            true => Ok(Map::new()),
            false => Err(Error::usage(format!("there is no column {index}")).in_format(FORMAT_NAME)),
        }
    }

    /// `None` where a question has to be asked of every document, and where the index cannot be read.
    fn len(&self) -> Option<u64> {
        self.collection.len().ok().filter(|_| self.filter.is_none())
    }

    fn rows<'a>(&'a self, scan: &Scan) -> Result<Box<dyn Rows + 'a>> {
        let located = |error: Error| self.located(error);
        let losses = state::losses(&self.collection.condition().map_err(located)?);
        let rows = if self.filter.is_some() { 0..u64::MAX } else { scan.rows.clone() };
        let documents = self.collection.documents_in(rows).map_err(located)?;
        let chosen = match &scan.columns {
            None => None,
            Some(columns) => {
                let fields = self.fields();
                let field = |&index: &usize| {
                    let missing = || Error::usage(format!("there is no column {index}")).in_format(FORMAT_NAME);
                    fields.get(index).ok_or_else(missing)
                };
                Some(columns.iter().map(field).collect::<Result<Vec<_>>>()?)
            }
        };
        let filter = self.filter.as_ref().map(|filter| (filter, scan.rows.clone()));
        Ok(Box::new(DocumentRows::new(documents, chosen, filter, losses, &self.place)))
    }

    fn find(&self, key: &str) -> Result<Option<u64>> {
        self.collection.row_of(key).map_err(|error| self.located(error))
    }

    #[cfg(feature = "arrow")]
    fn arrow(&self) -> Option<&dyn container_arrow::ArrowTable> {
        Some(self)
    }
}
