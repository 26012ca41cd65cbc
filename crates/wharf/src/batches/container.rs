//! Record batches in memory, or of another program, as a container.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{FieldRef, SchemaRef};
use container_arrow::{ArrowTable, BatchReader, BatchScan, BatchSlices, BatchSteps, StepReader, from_arrow};
use container_core::{ColumnInfo, Container, Error, Finding, Result, Rows, Scan, Table, VerifyOptions};
use serde_json::{Map, Value};

use super::{Projection, batch_slices, describe, metadata, project, same_columns, summary};

/// A stream of record batches that can be moved to another thread.
pub type BoxedBatches = Box<dyn RecordBatchReader + Send>;

type Open = dyn Fn() -> Result<BoxedBatches> + Send + Sync;

/// A container with one table, `rows`, of record batches that another library provides. With
/// [`Convert::of`](crate::Convert::of) they become a file of any format.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{Int64Array, RecordBatch};
/// use wharf::{BatchContainer, Convert, Overwrite, Registry};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("ages.idv");
/// let ages = RecordBatch::try_from_iter([("age", Arc::new(Int64Array::from(vec![39, 50])) as _)])?;
/// let container = BatchContainer::from_batches(ages.schema(), vec![ages]);
/// let report = Convert::of("ages", Arc::new(container)).write(&path, Overwrite::Refuse, &Registry::builtin())?;
/// assert_eq!(report.rows, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct BatchContainer {
    schema: SchemaRef,
    columns: Vec<ColumnInfo>,
    fields: Vec<FieldRef>,
    len: Option<u64>,
    open: Box<Open>,
}

impl BatchContainer {
    /// A table of which each call of `open` returns all batches, from the first one. They must have this schema, and `len` rows if that is
    /// given.
    #[must_use]
    pub fn new(
        schema: SchemaRef,
        len: Option<u64>,
        open: impl Fn() -> Result<BoxedBatches> + Send + Sync + 'static,
    ) -> Self {
        let (columns, fields) = describe(&schema);
        Self { schema, columns, fields, len, open: Box::new(open) }
    }

    /// A table in memory.
    #[must_use]
    pub fn from_batches(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        let len = batches.iter().map(|batch| batch.num_rows() as u64).sum();
        let shared = Arc::clone(&schema);
        Self::new(schema, Some(len), move || {
            let all = batches.clone().into_iter().map(Ok);
            Ok(Box::new(RecordBatchIterator::new(all, Arc::clone(&shared))))
        })
    }

    /// A table that can be read once: reading it a second time is an error.
    #[must_use]
    pub fn from_reader(reader: BoxedBatches) -> Self {
        let schema = reader.schema();
        let reader = Mutex::new(Some(reader));
        Self::new(schema, None, move || {
            let taken = reader.lock().unwrap_or_else(PoisonError::into_inner).take();
            taken.ok_or_else(|| Error::usage("a stream of record batches can be read only once"))
        })
    }

    fn project(&self, scan: &BatchScan) -> Result<Projection> {
        project(&self.fields, self.schema.metadata(), self.len.unwrap_or(u64::MAX), scan)
    }
}

impl fmt::Debug for BatchContainer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchContainer").field("schema", &self.schema).field("len", &self.len).finish_non_exhaustive()
    }
}

impl Container for BatchContainer {
    fn format(&self) -> &'static str {
        crate::ipc::FORMAT_NAME
    }

    fn version(&self) -> String {
        "in memory".to_owned()
    }

    fn details(&self) -> Map<String, Value> {
        Map::new()
    }

    fn tables(&self) -> Vec<&dyn Table> {
        vec![self]
    }

    /// Reads all batches.
    fn verify(&self, _: &VerifyOptions, report: &mut dyn FnMut(Finding)) -> Result<()> {
        let mut batches = self.batches(&BatchScan::default())?;
        loop {
            match batches.try_next() {
                Ok(Some(_)) => {}
                Ok(None) => return Ok(()),
                Err(error) => {
                    report(Finding::error(error));
                    return Ok(());
                }
            }
        }
    }
}

impl Table for BatchContainer {
    fn name(&self) -> &'static str {
        "rows"
    }

    fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }

    fn column_summary(&self, index: usize) -> Map<String, Value> {
        summary(self.fields.get(index))
    }

    fn column_details(&self, index: usize) -> Result<Map<String, Value>> {
        let field = self.fields.get(index).ok_or_else(|| Error::usage(format!("no column {index}")))?;
        let own = metadata(field);
        Ok(if own.is_empty() { own } else { Map::from_iter([("metadata".to_owned(), own.into())]) })
    }

    fn len(&self) -> Option<u64> {
        self.len
    }

    fn rows<'a>(&'a self, scan: &Scan) -> Result<Box<dyn Rows + 'a>> {
        super::rows(self, scan)
    }

    fn find(&self, _key: &str) -> Result<Option<u64>> {
        Err(Error::usage("rows of record batches have no keys: use row numbers"))
    }

    fn arrow(&self) -> Option<&dyn ArrowTable> {
        Some(self)
    }
}

impl ArrowTable for BatchContainer {
    fn schema(&self, scan: &BatchScan) -> Result<SchemaRef> {
        Ok(self.project(scan)?.schema)
    }

    fn batches<'a>(&'a self, scan: &BatchScan) -> Result<Box<dyn BatchReader + 'a>> {
        let projection = self.project(scan)?;
        Ok(Box::new(StepReader::new(Batches {
            batches: (self.open)()?,
            expected: Arc::clone(&self.schema),
            projection,
            row: 0,
            slices: None,
            batch_rows: scan.batch_rows,
            batch_bytes: scan.batch_bytes,
        })))
    }
}

/// The selected rows and columns of batches.
struct Batches {
    batches: BoxedBatches,
    /// The schema that they must have.
    expected: SchemaRef,
    projection: Projection,
    /// The number of rows of the batches so far.
    row: u64,
    /// The rest of the last batch.
    slices: Option<BatchSlices>,
    batch_rows: usize,
    batch_bytes: usize,
}

impl BatchSteps for Batches {
    fn step(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(slice) = self.slices.as_mut().and_then(Iterator::next) {
                return Ok(Some(slice));
            }
            let rows = &self.projection.rows;
            if self.row >= rows.end {
                return Ok(None);
            }
            let Some(batch) = self.batches.next().transpose().map_err(from_arrow)? else {
                return match rows.start > self.row {
                    true => {
                        let detail = format!("no row {}: there are {}, counted from 0", rows.start, self.row);
                        Err(Error::usage(detail))
                    }
                    false => Ok(None),
                };
            };
            same_columns(&self.expected, &batch.schema())?;
            let first = self.row;
            self.row = first.saturating_add(batch.num_rows() as u64);
            let within = |row: u64| usize::try_from(row.clamp(first, self.row) - first).unwrap_or(batch.num_rows());
            let (start, end) = (within(rows.start), within(rows.end));
            if start == end {
                continue;
            }
            let columns = batch.project(&self.projection.columns).map_err(from_arrow)?.slice(start, end - start);
            // The names of the schema are unique, those of batches may not be.
            let named = self.projection.batch(columns.columns().to_vec(), columns.num_rows())?;
            self.slices = Some(batch_slices(named, self.batch_rows, self.batch_bytes));
        }
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.projection.schema)
    }
}
