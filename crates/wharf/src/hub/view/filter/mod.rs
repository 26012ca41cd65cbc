//! Containers that show only the rows for which a predicate holds.

mod batches;
mod candidates;
mod masks;
mod rows;
mod untyped;

use std::sync::Arc;

use arrow_schema::SchemaRef;
use container_arrow::predicate::NanOrder;
use container_arrow::{ArrowTable, BatchReader, BatchScan, OnMismatch, Predicate, unknown_column};
use container_core::{
    ColumnInfo, Container, Error, ErrorKind, Finding, Result, Rows, Scan, Table, VerifyOptions, Watch,
};
use serde_json::{Map, Value};

pub(crate) use batches::{FilteredBatches, Origin};
pub(crate) use candidates::{candidates, keys, rows_of};
pub(crate) use masks::{Masks, OpenRows};
use rows::FilteredRows;

/// Rows from which the types of columns are inferred, where a predicate is evaluated without them.
const SAMPLE_ROWS: u64 = 8192;

/// Rows between two hits up to which reading them costs less than starting to read anew.
const MIN_GAP: u64 = 1024;

/// A container whose tables show only the rows for which a predicate holds. Row ranges count these rows; the numbers of rows in errors are those of
/// the container inside.
///
/// Predicates are evaluated on Arrow columns, as [`Table::arrow`] has them. Rows are those of the container inside, exactly. Where a table
/// [says](Table::block_rows) that rows can be skipped, only stretches with hits are read.
///
/// ```no_run
/// use std::sync::Arc;
/// use wharf::{FilteredContainer, Container, Predicate, Scan};
///
/// let container: Arc<dyn Container> = wharf::open("adult.idv")?.into();
/// let adults = FilteredContainer::new(container, Predicate::parse("Age >= 18")?);
/// let mut rows = adults.tables()[0].rows(&Scan::default())?;
/// while rows.advance()? {
///     println!("row {}", rows.index());
/// }
/// # Ok::<(), wharf::Error>(())
/// ```
#[derive(Debug)]
pub struct FilteredContainer {
    inner: Arc<dyn Container>,
    tables: Vec<FilteredTable>,
}

/// A container whose tables show the rows for which a predicate holds, without knowing the types of columns.
type Untyped = Arc<dyn Container>;

impl FilteredContainer {
    /// Shows the rows of a container for which `predicate` holds.
    #[must_use]
    pub fn new(inner: Arc<dyn Container>, predicate: Predicate) -> Self {
        let predicate = Arc::new(predicate);
        let table = |index| FilteredTable {
            inner: Arc::clone(&inner),
            index,
            predicate: Arc::clone(&predicate),
            untyped: None,
        };
        let tables = (0..inner.tables().len()).map(table).collect();
        Self { inner, tables }
    }

    /// Takes rows from a container of the same file that evaluates the predicate itself, where the types of columns are those that its
    /// [condition](Predicate::condition) expects.
    pub(crate) fn with_untyped(mut self, untyped: Untyped) -> Self {
        self.tables.iter_mut().for_each(|table| table.untyped = Some(Arc::clone(&untyped)));
        self
    }
}

/// Rows for which a predicate holds.
#[derive(Debug)]
pub(crate) struct Matches {
    /// Their numbers, in ascending order: 8 bytes each.
    pub(crate) rows: Vec<u64>,
    /// The number of rows of the table.
    pub(crate) of: u64,
}

/// The rows of a table for which a predicate holds. `table` is the position of the table in its
/// container.
///
/// # Errors
/// Those of the columns that the predicate mentions; it does not fit the table.
pub(crate) fn matching_rows(
    inner: Arc<dyn Container>,
    table: usize,
    predicate: &Predicate,
    scan: &Scan,
) -> Result<Matches> {
    let table = FilteredTable { inner, index: table, predicate: Arc::new(predicate.clone()), untyped: None };
    let mut masks = table.masks(&BatchScan::from(scan.clone()))?;
    let mut matches = Matches { rows: Vec::new(), of: 0 };
    while let Some(mask) = masks.try_next()? {
        matches.rows.extend(mask.hits());
        matches.of = matches.of.max(mask.first + mask.mask.len() as u64);
    }
    matches.of = table.table()?.len().unwrap_or(matches.of);
    Ok(matches)
}

impl Container for FilteredContainer {
    fn format(&self) -> &'static str {
        self.inner.format()
    }

    fn version(&self) -> String {
        self.inner.version()
    }

    fn details(&self) -> Map<String, Value> {
        self.inner.details()
    }

    fn tables(&self) -> Vec<&dyn Table> {
        self.tables.iter().map(|table| table as &dyn Table).collect()
    }

    /// Checks the whole container inside.
    fn verify(&self, options: &VerifyOptions, report: &mut dyn FnMut(Finding)) -> Result<()> {
        self.inner.verify(options, report)
    }
}

/// The rows of a table for which a predicate holds.
#[derive(Debug)]
struct FilteredTable {
    inner: Arc<dyn Container>,
    /// The position of the table in its container.
    index: usize,
    predicate: Arc<Predicate>,
    untyped: Option<Untyped>,
}

impl FilteredTable {
    fn table(&self) -> Result<&dyn Table> {
        self.inner.tables().get(self.index).copied().ok_or_else(|| Error::usage("the container has lost a table"))
    }

    fn arrow_table(&self) -> Result<&dyn ArrowTable> {
        self.table()?.arrow().ok_or_else(|| {
            let format = self.inner.format();
            Error::unsupported(format!("tables of the format {format} cannot be filtered: their columns have no types"))
        })
    }

    /// The columns that the predicate mentions, by index.
    fn columns(&self) -> Result<Vec<usize>> {
        let table = self.table()?;
        let find = || -> Result<Vec<usize>> {
            let index = |name: &str| table.columns().iter().position(|column| column.name == name);
            let missing = |name: &str| {
                let names: Vec<String> = table.columns().iter().map(|column| column.name.clone()).collect();
                self.unknown(&names, name)
            };
            self.predicate.columns().into_iter().map(|name| index(name).ok_or_else(|| missing(name))).collect()
        };
        // Without a schema, only reading all rows shows all columns.
        find().or_else(|_| table.infer_columns().and_then(|()| find()))
    }

    /// The error for an unknown column: that of the predicate if it says more.
    fn unknown(&self, names: &[String], name: &str) -> Error {
        let error = unknown_column(names, name);
        let hint = self.predicate.as_text(name).map(|right| format!("; a text is quoted: {right}"));
        of_predicate(match hint {
            Some(hint) => Error::usage(format!("{}{hint}", error.detail())),
            None => error,
        })
    }

    /// The types of columns for the predicate alone. Values of several types are no error unless it compares them.
    fn inferred(&self, mut scan: BatchScan) -> Result<SchemaRef> {
        scan.mapping.on_mismatch = OnMismatch::Json;
        self.arrow_table()?.schema(&scan)
    }

    /// The rows of the container that evaluates the predicate itself; `None` if it would compare other types.
    fn untyped_rows<'a>(&'a self, scan: &Scan) -> Result<Option<Box<dyn Rows + 'a>>> {
        let Some(untyped) = &self.untyped else { return Ok(None) };
        let Some(table) = untyped.tables().get(self.index).copied() else { return Ok(None) };
        // A later row of another type is an error when the predicate compares it.
        let schema = self.inferred(Scan::default().with_columns(self.columns()?).with_rows(0..SAMPLE_ROWS).into())?;
        self.predicate.bind(&schema).map_err(of_predicate)?;
        if !untyped::fits(&self.predicate.condition(), &schema) {
            return Ok(None);
        }
        if scan.columns.iter().flatten().any(|index| *index >= table.columns().len()) {
            table.infer_columns()?;
        }
        table.rows(scan).map(Some)
    }

    /// The rows for which the predicate holds. `scan` says how values are read, its schema which types declared columns have.
    fn masks(&self, scan: &BatchScan) -> Result<Masks<'_>> {
        let table = self.arrow_table()?;
        let mut own = scan.clone();
        (own.scan.columns, own.scan.rows) = (Some(self.columns()?), 0..u64::MAX);
        own.schema = None;
        if !table.has_schema() {
            let inferred = self.inferred(own.clone())?;
            own = own.with_schema(masks::declared(&inferred, scan.schema.as_ref()));
        }
        Masks::new(self.opener(own), 0..u64::MAX, |schema| {
            let filter = self.predicate.bind(schema).map_err(of_predicate)?;
            Ok((filter, candidates(table, &self.predicate.condition(), schema, NanOrder::Greatest)?))
        })
    }

    /// Opens ranges of the rows of a scan.
    fn opener(&self, scan: BatchScan) -> OpenRows<'_> {
        Box::new(move |rows| {
            let mut own = scan.clone();
            own.scan.rows = rows;
            self.arrow_table()?.batches(&own)
        })
    }
}

/// An error of a predicate that does not fit a table.
fn of_predicate(error: Error) -> Error {
    if error.kind() == ErrorKind::Usage { error.in_option("where") } else { error }
}

impl Table for FilteredTable {
    fn name(&self) -> &str {
        self.table().map_or("", Table::name)
    }

    fn columns(&self) -> &[ColumnInfo] {
        self.table().map_or(&[], Table::columns)
    }

    fn columns_error(&self) -> Option<Error> {
        self.table().map_or_else(Some, Table::columns_error)
    }

    fn infer_columns(&self) -> Result<()> {
        self.table()?.infer_columns()
    }

    fn infer_columns_with(&self, watch: &Watch) -> Result<()> {
        self.table()?.infer_columns_with(watch)
    }

    fn has_schema(&self) -> bool {
        self.table().is_ok_and(Table::has_schema)
    }

    fn column_summary(&self, index: usize) -> Map<String, Value> {
        self.table().map(|table| table.column_summary(index)).unwrap_or_default()
    }

    fn column_details(&self, index: usize) -> Result<Map<String, Value>> {
        self.table()?.column_details(index)
    }

    /// Unknown without a scan, unless the table inside is empty.
    fn len(&self) -> Option<u64> {
        self.table().ok()?.len().filter(|len| *len == 0)
    }

    fn rows<'a>(&'a self, scan: &Scan) -> Result<Box<dyn Rows + 'a>> {
        match self.untyped_rows(scan)? {
            Some(rows) => Ok(rows),
            None => Ok(Box::new(FilteredRows::new(self, scan)?)),
        }
    }

    fn find(&self, _: &str) -> Result<Option<u64>> {
        Err(Error::unsupported("rows of a filtered table have no keys"))
    }

    fn arrow(&self) -> Option<&dyn ArrowTable> {
        self.table().ok()?.arrow().map(|_| self as &dyn ArrowTable)
    }
}

impl ArrowTable for FilteredTable {
    /// That of the table inside: types follow from all rows.
    fn schema(&self, scan: &BatchScan) -> Result<SchemaRef> {
        let mut own = scan.clone();
        own.scan.rows = 0..u64::MAX;
        self.arrow_table()?.schema(&own)
    }

    fn batches<'a>(&'a self, scan: &BatchScan) -> Result<Box<dyn BatchReader + 'a>> {
        FilteredBatches::open(self, scan)
    }
}
