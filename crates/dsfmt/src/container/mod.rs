//! The `container-core` traits: one table per leading dimension.

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

/// The ds format, with times as stored.
pub const FORMAT: &dyn Format = &Ds(TimeForm::Stored);

/// The ds format, with [times](crate::time) as ISO 8601.
pub const FORMAT_ISO: &dyn Format = &Ds(TimeForm::Iso);

/// The ds format, with [times](crate::time) as Julian dates.
pub const FORMAT_JULIAN: &dyn Format = &Ds(TimeForm::Julian);

/// Representation of time variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum TimeForm {
    /// The stored numbers, which count units of time.
    #[default]
    Stored,
    /// ISO 8601 strings, to the precision of the value.
    Iso,
    /// Julian dates: days since noon UTC of 24 November -4713.
    Julian,
}

impl TimeForm {
    /// The ds format with this representation of times.
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

    /// Recognizes any version, so that an unsupported one is named in the error.
    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let version = probe.head.strip_prefix(MAGIC);
        let is_content = version.and_then(<[u8]>::first).is_some_and(u8::is_ascii_digit);
        probe.by_content_or_name(is_content, self.extensions())
    }

    fn open(&self, input: &Input, options: &OpenOptions) -> Result<Box<dyn Container>> {
        let Some(source) = input.source() else {
            return Err(Error::usage("expected a file, found a directory").in_format(FORMAT_NAME));
        };
        let reader = Reader::from_source(source.clone(), *options)?;
        Ok(Box::new(DsContainer::new(reader).with_times(self.0)))
    }
}

/// A [`Reader`] as a [`Container`]. Variables that share their first dimension form a table of that name, one column each. Scalars and empty
/// variables form a table `scalars` of one row.
///
/// The other dimensions become nested lists. Missing values and empty variables are null, non-finite floats the strings `NaN`, `Infinity` or
/// `-Infinity`, bytes `{"$bytes": base64}`.
///
/// With sizes of 0 a tiny file can declare any number of rows. A scan returns up to 1,048,576 rows and lists without elements, or 16 per element
/// next to them; more is a [`Limit`](container_core::ErrorKind::Limit) error.
pub struct DsContainer {
    reader: Arc<Reader>,
    pub(crate) tables: Vec<Arc<DsTable>>,
}

/// A table: the variables of one leading dimension.
#[derive(Clone)]
pub(crate) struct DsTable {
    pub(crate) reader: Arc<Reader>,
    group: Group,
    pub(crate) times: TimeForm,
}

impl DsContainer {
    /// Wraps a reader.
    #[must_use]
    pub fn new(reader: Reader) -> Self {
        let reader = Arc::new(reader);
        let table = |group| Arc::new(DsTable { reader: reader.clone(), group, times: TimeForm::Stored });
        let tables = columns::groups(&reader).into_iter().map(table).collect();
        Self { reader, tables }
    }

    /// Sets the representation of times.
    #[must_use]
    pub fn with_times(mut self, form: TimeForm) -> Self {
        for table in &mut self.tables {
            Arc::make_mut(table).times = form; // not shared yet, so that a million columns are not copied
        }
        self
    }

    /// The wrapped reader.
    #[must_use]
    pub fn reader(&self) -> &Reader {
        &self.reader
    }
}

/// Attributes as JSON values.
pub(crate) fn attributes(attributes: Attributes<'_>) -> Map<String, Value> {
    // Header values always serialize.
    attributes.map(|(name, value)| (name, serde_json::to_value(value).unwrap_or_default())).collect()
}

impl Container for DsContainer {
    fn format(&self) -> &'static str {
        self.reader.format()
    }

    fn version(&self) -> String {
        self.reader.version().to_owned()
    }

    fn details(&self) -> Map<String, Value> {
        let mut details = Map::new();
        details.insert("bytes".to_owned(), self.reader.source().len().into());
        let dimensions = self.reader.dimensions().into_iter().map(|dimension| (dimension.name, dimension.size.into()));
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
    /// Index in the header of a column's variable, of a struct that of its first member.
    pub(crate) fn header_index(&self, column: usize) -> Option<usize> {
        self.group.variables.get(self.group.members.get(column)?.start).copied()
    }

    /// The variables of these columns: of a struct those of its members.
    pub(crate) fn leaves(&self, columns: &[usize]) -> Result<Vec<Variable<'_>>> {
        let mut leaves = Vec::with_capacity(columns.len());
        for column in columns {
            let members = self.group.members.get(*column).cloned().unwrap_or_default();
            for index in self.group.variables.get(members).unwrap_or_default() {
                leaves.push(self.known(self.reader.variable_at(*index), *column)?);
            }
        }
        Ok(leaves)
    }

    fn known<'v>(&self, variable: Option<Variable<'v>>, column: usize) -> Result<Variable<'v>> {
        variable.ok_or_else(|| Error::usage(format!("unknown column {column}")).in_format(self.reader.format()))
    }

    pub(crate) fn variable(&self, column: usize) -> Result<Variable<'_>> {
        self.known(self.header_index(column).and_then(|index| self.reader.variable_at(index)), column)
    }
}

impl Table for DsTable {
    fn name(&self) -> &str {
        &self.group.name
    }

    fn columns(&self) -> &[ColumnInfo] {
        &self.group.columns
    }

    fn column_summary(&self, index: usize) -> Map<String, Value> {
        self.variable(index).map(|variable| columns::summary(&variable)).unwrap_or_default()
    }

    fn column_details(&self, index: usize) -> Result<Map<String, Value>> {
        let mut details = Map::new();
        let attributes = attributes(self.variable(index)?.attributes());
        if !attributes.is_empty() {
            details.insert("attributes".to_owned(), attributes.into());
        }
        Ok(details)
    }

    fn len(&self) -> Option<u64> {
        Some(self.group.rows)
    }

    fn block_rows(&self) -> Option<u64> {
        Some(1)
    }

    fn rows<'a>(&'a self, scan: &Scan) -> Result<Box<dyn Rows + 'a>> {
        Ok(Box::new(rows::DsRows::new(self, scan)?))
    }

    fn find(&self, _key: &str) -> Result<Option<u64>> {
        Err(Error::usage("ds rows have no keys: use the row number").in_format(FORMAT_NAME))
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
