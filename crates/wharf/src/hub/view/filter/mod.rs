//! Containers that show only the rows for which a predicate holds.

mod batches;
mod candidates;
mod masks;
mod rows;
mod untyped;

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{DataType, FieldRef, Schema, SchemaRef, TimeUnit};
use container_arrow::{ArrowTable, BatchReader, BatchScan, Filter, OnMismatch, Predicate, Times, unknown_column};
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

/// Columns that are null in a table that lacks them, because another input has them.
pub(crate) type Lacking = Arc<HashSet<String>>;

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
            lacking: Lacking::default(),
            untyped: None,
        };
        let tables = (0..inner.tables().len()).map(table).collect();
        Self { inner, tables }
    }

    /// Takes these columns as null in tables that lack them.
    pub(crate) fn with_lacking(mut self, columns: &Lacking) -> Self {
        self.tables.iter_mut().for_each(|table| table.lacking = Arc::clone(columns));
        self
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

/// The rows of a table for which a predicate holds. `table` is the position of the table in its container, `lacking` are columns that are null if
/// it lacks them.
///
/// # Errors
/// Those of the columns that the predicate mentions; it does not fit the table.
pub(crate) fn matching_rows(
    inner: Arc<dyn Container>,
    table: usize,
    predicate: &Predicate,
    lacking: &Lacking,
    scan: &Scan,
) -> Result<Matches> {
    let (predicate, lacking) = (Arc::new(predicate.clone()), Arc::clone(lacking));
    let table = FilteredTable { inner, index: table, predicate, lacking, untyped: None };
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
    lacking: Lacking,
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

    /// The columns that the predicate mentions, by index. Without those that are null because the table lacks them.
    fn columns(&self) -> Result<Vec<usize>> {
        let table = self.table()?;
        let find = |may_lack: bool| -> Result<Vec<usize>> {
            let index = |name: &str| table.columns().iter().position(|column| column.name == name);
            let missing = |name: &str| {
                let names: Vec<String> = table.columns().iter().map(|column| column.name.clone()).collect();
                self.unknown(&names, name)
            };
            let names = self.predicate.columns().into_iter();
            let names = names.filter(|name| !(may_lack && self.lacking.contains(*name) && index(name).is_none()));
            names.map(|name| index(name).ok_or_else(|| missing(name))).collect()
        };
        // Without a schema, only reading all rows shows all columns.
        find(false).or_else(|_| table.infer_columns().and_then(|()| find(true)))
    }

    /// The predicate for batches of this schema.
    fn bind(&self, schema: &Schema) -> Result<Filter> {
        self.predicate.bind_lacking(schema, |name| self.lacking.contains(name)).map_err(of_predicate)
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
        // A later row of another type is an error when the predicate compares it. What does not fit the first rows may fit all of them.
        let schema = self.inferred(Scan::default().with_columns(self.columns()?).with_rows(0..SAMPLE_ROWS).into())?;
        if self.predicate.bind(&schema).is_err() || !untyped::fits(&self.predicate.condition(), &schema) {
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
        let masks = Masks::new(self.opener(own.clone()), 0..u64::MAX, |schema| {
            Ok((self.bind(schema)?, candidates(table, &self.predicate.condition(), schema)?))
        })?;
        self.with_other_times(masks.with_watch(own.watch.clone()), own, 0)
    }

    /// Reads the times of the condition in nanoseconds where microseconds do not hold them, as ticks of IDV are. What no unit holds is an error, and
    /// what is finer than microseconds in the first `shown` columns, which are not for the condition alone.
    fn with_other_times<'a>(&'a self, masks: Masks<'a>, mut scan: BatchScan, shown: usize) -> Result<Masks<'a>> {
        let table = self.arrow_table()?;
        let known = masks.schema();
        let has_times = |fields: &[FieldRef]| fields.iter().any(|field| is_coarse(field.data_type()));
        let (shown, others) = known.fields().split_at(shown.min(known.fields().len()));
        let is_exact = table.has_schema() && scan.schema.is_none() && scan.mapping.times == Times::Exact;
        if !is_exact || has_times(shown) || !has_times(others) {
            return Ok(masks);
        }
        scan.mapping.times = Times::Nanoseconds;
        let schema = table.schema(&scan)?;
        if schema == known {
            return Ok(masks);
        }
        let filter = self.bind(&schema)?;
        Ok(masks.with_other_times(self.opener(scan), filter))
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

/// Whether times are in microseconds.
fn is_coarse(data_type: &DataType) -> bool {
    use TimeUnit::Microsecond;
    match data_type {
        DataType::Timestamp(Microsecond, _) | DataType::Duration(Microsecond) => true,
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            is_coarse(item.data_type())
        }
        DataType::Struct(members) => members.iter().any(|member| is_coarse(member.data_type())),
        _ => false,
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
