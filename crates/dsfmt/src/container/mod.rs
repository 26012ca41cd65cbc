//! What `container-core` asks of a container: a table for each leading dimension.

mod columns;
mod nested;
pub(crate) mod rows;

use std::sync::Arc;

use container_core::{
    ColumnInfo, Container, Error, Finding, Format, Input, OpenOptions, Probe, Recognition, Result, Rows, Scan, Table,
    VerifyOptions,
};
use serde_json::{Map, Value};

use crate::FORMAT_NAME;
use crate::read::{Attributes, Reader, Variable};
use crate::wire::MAGIC;
use columns::Group;

/// ds, for tools that open anything.
pub const FORMAT: &dyn Format = &Ds(TimeForm::Stored);

/// The same with [times](crate::time) shown as ISO 8601.
pub const FORMAT_ISO: &dyn Format = &Ds(TimeForm::Iso);

/// The same with [times](crate::time) shown as Julian dates.
pub const FORMAT_JULIAN: &dyn Format = &Ds(TimeForm::Julian);

/// How the values of time variables are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum TimeForm {
    /// The numbers that are in the file.
    #[default]
    Stored,
    /// Texts in ISO 8601, to the digits that a float can tell.
    Iso,
    /// Julian dates.
    Julian,
}

impl TimeForm {
    /// The format ds with times shown so.
    #[must_use]
    pub fn format(self) -> &'static dyn Format {
        match self {
            Self::Stored => FORMAT,
            Self::Iso => FORMAT_ISO,
            Self::Julian => FORMAT_JULIAN,
        }
    }
}

struct Ds(TimeForm);

impl Format for Ds {
    fn name(&self) -> &'static str {
        FORMAT_NAME
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["ds"]
    }

    /// Any version of the format is recognized, so that the error for another one can name it.
    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let version = probe.head.strip_prefix(MAGIC);
        if version.and_then(<[u8]>::first).is_some_and(u8::is_ascii_digit) {
            Recognition::Content
        } else if !probe.directory && probe.has_extension(self.extensions()) {
            Recognition::Name
        } else {
            Recognition::No
        }
    }

    fn open(&self, input: &Input, options: &OpenOptions) -> Result<Box<dyn Container>> {
        let Some(source) = input.source() else {
            return Err(Error::usage("a directory is no ds file").in_format(FORMAT_NAME));
        };
        let reader = Reader::from_source(source.clone(), *options)?;
        Ok(Box::new(DsContainer::new(reader).with_times(self.0)))
    }
}

/// A [`Reader`] as a [`Container`]: of the variables along a dimension, their first one, it makes a table of that name, in which each is a
/// column; scalars, and empty variables, stand in a table `scalars` of one row.
///
/// Rows hold what lies along the other dimensions as lists of lists; what is missing, and an empty variable, is null; a float that is not
/// finite is the text `NaN`, `Infinity` or `-Infinity`; bytes are `{"$bytes": base64}`.
///
/// Sizes of 0 let a file of some bytes state any number of rows: of rows and lists that hold no elements a walk shows 1,048,576, or 16 for
/// each element that stands beside them; to ask for more is a [`Limit`](container_core::ErrorKind::Limit) error.
pub struct DsContainer {
    reader: Arc<Reader>,
    pub(crate) tables: Vec<Arc<DsTable>>,
}

/// The variables of one leading dimension.
pub(crate) struct DsTable {
    pub(crate) reader: Arc<Reader>,
    group: Group,
    pub(crate) times: TimeForm,
}

impl DsContainer {
    /// The container of a reader.
    #[must_use]
    pub fn new(reader: Reader) -> Self {
        let reader = Arc::new(reader);
        let table = |group| Arc::new(DsTable { reader: reader.clone(), group, times: TimeForm::Stored });
        let tables = columns::groups(&reader).into_iter().map(table).collect();
        Self { reader, tables }
    }

    /// The same with times shown so.
    #[must_use]
    pub fn with_times(mut self, form: TimeForm) -> Self {
        for table in &mut self.tables {
            let DsTable { reader, group, .. } = table.as_ref();
            *table = Arc::new(DsTable { reader: Arc::clone(reader), group: group.clone(), times: form });
        }
        self
    }

    /// The reader.
    #[must_use]
    pub fn reader(&self) -> &Reader {
        &self.reader
    }
}

/// Attributes as they are shown: numbers with their value, texts and lists as they are.
pub(crate) fn attributes(attributes: Attributes<'_>) -> Map<String, Value> {
    // A value of the header is always a value.
    attributes.map(|(name, value)| (name, serde_json::to_value(value).unwrap_or_default())).collect()
}

impl Container for DsContainer {
    fn format(&self) -> &'static str {
        FORMAT_NAME
    }

    fn version(&self) -> String {
        self.reader.version().to_owned()
    }

    fn details(&self) -> Map<String, Value> {
        let mut details = Map::new();
        details.insert("bytes".to_owned(), self.reader.source().len().into());
        let dimensions = self.reader.dimensions().into_iter().map(|found| (found.name, found.size.into()));
        details.insert("dimensions".to_owned(), Value::Object(dimensions.collect()));
        details.insert("attributes".to_owned(), attributes(self.reader.attributes()).into());
        details
    }

    fn tables(&self) -> Vec<&dyn Table> {
        self.tables.iter().map(|table| -> &dyn Table { table.as_ref() }).collect()
    }

    fn verify(&self, options: &VerifyOptions, report: &mut dyn FnMut(Finding)) -> Result<()> {
        self.reader.verify(options, report)
    }
}

impl DsTable {
    /// Where the variable of a column stands in the header.
    pub(crate) fn place(&self, column: usize) -> Option<usize> {
        self.group.variables.get(column).copied()
    }

    pub(crate) fn variable(&self, column: usize) -> Result<Variable<'_>> {
        let found = self.place(column).and_then(|place| self.reader.variable_at(place));
        found.ok_or_else(|| Error::usage(format!("there is no column {column}")).in_format(self.reader.format()))
    }
}

impl Table for DsTable {
    fn name(&self) -> &str {
        &self.group.name
    }

    fn columns(&self) -> &[ColumnInfo] {
        &self.group.columns
    }

    fn infer_columns(&self) -> Result<()> {
        Ok(()) // the header has them all
    }

    fn column_summary(&self, index: usize) -> Map<String, Value> {
        self.variable(index).map(|variable| columns::summary(&variable)).unwrap_or_default()
    }

    fn column_details(&self, index: usize) -> Result<Map<String, Value>> {
        let mut details = Map::new();
        let found = attributes(self.variable(index)?.attributes());
        if !found.is_empty() {
            details.insert("attributes".to_owned(), found.into());
        }
        Ok(details)
    }

    fn len(&self) -> Option<u64> {
        Some(self.group.rows)
    }

    fn rows<'a>(&'a self, scan: &Scan) -> Result<Box<dyn Rows + 'a>> {
        Ok(Box::new(rows::DsRows::new(self, scan)?))
    }

    fn find(&self, _key: &str) -> Result<Option<u64>> {
        Err(Error::usage("rows of a ds file have no keys: ask for a row by its number").in_format(FORMAT_NAME))
    }

    #[cfg(feature = "arrow")]
    fn arrow(&self) -> Option<&dyn container_arrow::ArrowTable> {
        Some(self)
    }
}

impl std::fmt::Debug for DsContainer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DsContainer").field("reader", &self.reader).finish_non_exhaustive()
    }
}
