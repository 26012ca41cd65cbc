use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use container_core::arrow::{ArrowTable, BatchReader, BatchScan};
use container_core::{ColumnInfo, Error, Result, Rows, Scan, Table};
use serde_json::{Map, Value};

use crate::{BatchRows, BatchSlices, BatchSteps, StepReader};

/// An in-memory [`Table`]: a named record batch. For formats with small files.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{Int32Array, RecordBatch};
/// use container_arrow::BatchTable;
/// use container_core::{Scan, Table};
///
/// let batch = RecordBatch::try_from_iter([("x", Arc::new(Int32Array::from(vec![5, 7])) as _)]).expect("one column");
/// let table = BatchTable::new("points", batch)?;
/// let mut rows = table.rows(&Scan::default().with_rows(1..2))?;
/// let mut line = Vec::new();
/// assert!(rows.advance()?);
/// rows.json(&mut line)?;
/// assert_eq!((rows.index(), &*line), (1, &br#"{"x":7}"#[..]));
/// # Ok::<(), container_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct BatchTable {
    name: String,
    batch: RecordBatch,
    columns: Vec<ColumnInfo>,
}

impl BatchTable {
    /// Creates a table that shares the memory of `batch`.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) for duplicate column names.
    pub fn new(name: impl Into<String>, batch: RecordBatch) -> Result<Self> {
        let mut names: Vec<_> = batch.schema_ref().fields().iter().map(|field| field.name()).collect();
        names.sort();
        if let Some(name) = names.windows(2).find_map(|pair| (pair.first() == pair.last()).then(|| pair.first())?) {
            return Err(Error::invalid("duplicate column name").in_column((*name).clone()));
        }
        let fields = batch.schema_ref().fields().iter();
        let columns = fields.map(|field| ColumnInfo::new(field.name().as_str(), field.data_type().to_string()));
        Ok(Self { name: name.into(), columns: columns.collect(), batch })
    }

    /// The rows and columns selected by a scan.
    fn select(&self, scan: &BatchScan) -> Result<RecordBatch> {
        let count = self.batch.num_rows() as u64;
        let rows = &scan.scan.rows;
        if rows.start > count {
            return Err(Error::usage(format!("row range starts at {}, but the table has {count} rows", rows.start)));
        }
        let (columns, end) = (self.projection(scan)?, rows.end.min(count));
        let batch = self.batch.project(&columns).map_err(|cause| Error::usage("no such columns").caused_by(cause))?;
        // Both are at most the number of rows, which is a usize.
        let to_usize = |row: u64| usize::try_from(row).unwrap_or(usize::MAX);
        Ok(batch.slice(to_usize(rows.start), to_usize(end.saturating_sub(rows.start))))
    }

    /// Indexes of the columns selected by a scan.
    fn projection(&self, scan: &BatchScan) -> Result<Vec<usize>> {
        let Some(declared) = &scan.schema else {
            let columns = scan.scan.columns.clone().unwrap_or_else(|| (0..self.columns.len()).collect());
            return match columns.iter().find(|column| **column >= self.columns.len()) {
                Some(column) => {
                    Err(Error::usage(format!("column index {column} out of range for {} columns", self.columns.len())))
                }
                None => Ok(columns),
            };
        };
        let known = self.batch.schema_ref();
        let index_of = |field: &arrow_schema::FieldRef| match known.column_with_name(field.name()) {
            Some((index, actual)) if actual.data_type() == field.data_type() => Ok(index),
            Some((_, actual)) => {
                let detail = format!("column type is {}, declared as {}", actual.data_type(), field.data_type());
                Err(Error::usage(detail).in_column(field.name().clone()))
            }
            None => Err(Error::usage(format!("no column {:?}, which the schema declares", field.name()))),
        };
        declared.fields().iter().map(index_of).collect()
    }
}

impl Table for BatchTable {
    fn name(&self) -> &str {
        &self.name
    }

    fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }

    fn column_details(&self, index: usize) -> Result<Map<String, Value>> {
        match self.columns.get(index) {
            Some(_) => Ok(Map::new()),
            None => Err(Error::usage(format!("column index {index} out of range for {} columns", self.columns.len()))),
        }
    }

    fn len(&self) -> Option<u64> {
        Some(self.batch.num_rows() as u64)
    }

    fn rows<'a>(&'a self, scan: &Scan) -> Result<Box<dyn Rows + 'a>> {
        Ok(Box::new(BatchRows::new(self.batches(&scan.clone().into())?, scan.rows.start)))
    }

    fn find(&self, _: &str) -> Result<Option<u64>> {
        Err(Error::usage("the rows of this table have no keys"))
    }

    fn arrow(&self) -> Option<&dyn ArrowTable> {
        Some(self)
    }
}

impl ArrowTable for BatchTable {
    fn schema(&self, scan: &BatchScan) -> Result<SchemaRef> {
        Ok(self.select(scan)?.schema())
    }

    fn batches<'a>(&'a self, scan: &BatchScan) -> Result<Box<dyn BatchReader + 'a>> {
        let batch = self.select(scan)?;
        let row_bytes = batch.get_array_memory_size().checked_div(batch.num_rows()).unwrap_or(0);
        Ok(Box::new(StepReader::new(Batches {
            schema: batch.schema(),
            slices: BatchSlices::new(batch, scan.rows_per_batch(row_bytes)),
        })))
    }
}

struct Batches {
    schema: SchemaRef,
    slices: BatchSlices,
}

impl BatchSteps for Batches {
    fn step(&mut self) -> Result<Option<RecordBatch>> {
        Ok(self.slices.next())
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Int32Array, StringArray};
    use arrow_schema::{DataType, Field, Schema};

    use super::*;

    fn table() -> BatchTable {
        let numbers = Arc::new(Int32Array::from(vec![1, 2, 3])) as _;
        let texts = Arc::new(StringArray::from(vec!["a", "b", "c"])) as _;
        BatchTable::new("t", RecordBatch::try_from_iter([("n", numbers), ("s", texts)]).unwrap()).unwrap()
    }

    fn lines(scan: &Scan) -> String {
        let table = table();
        let mut rows = table.rows(scan).unwrap();
        let mut out = Vec::new();
        while rows.advance().unwrap() {
            out.extend_from_slice(format!("{}:", rows.index()).as_bytes());
            rows.json(&mut out).unwrap();
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn scan_selects_rows_and_columns() {
        assert_eq!(lines(&Scan::default().with_rows(1..2)), r#"1:{"n":2,"s":"b"}"#);
        assert_eq!(lines(&Scan::default().with_columns([1]).with_rows(2..99)), r#"2:{"s":"c"}"#);
        assert_eq!(lines(&Scan::default().with_rows(3..9)), "");
        let table = table();
        let rows =
            table.batches(&BatchScan::default().with_batch_rows(2)).unwrap().map(|batch| batch.unwrap().num_rows());
        assert_eq!(rows.collect::<Vec<_>>(), [2, 1]);
        assert_eq!(table.batches(&BatchScan::default().with_batch_bytes(1)).unwrap().count(), 3);
    }

    #[test]
    fn rejects_unknown_rows_and_columns() {
        let table = table();
        let error = |scan: &BatchScan| table.schema(scan).unwrap_err().to_string();
        assert_eq!(error(&Scan::default().with_columns([2]).into()), "column index 2 out of range for 2 columns");
        assert_eq!(error(&Scan::default().with_rows(4..5).into()), "row range starts at 4, but the table has 3 rows");
        let declared = |name: &str| {
            BatchScan::default().with_schema(Arc::new(Schema::new(vec![Field::new(name, DataType::Utf8, false)])))
        };
        assert_eq!(error(&declared("n")), "column type is Int32, declared as Utf8 (column \"n\")");
        assert_eq!(error(&declared("x")), "no column \"x\", which the schema declares");
        assert_eq!(table.schema(&declared("s")).unwrap().fields().len(), 1);
        assert!(table.find("a").is_err());
        let duplicated = table.batch.project(&[0, 0]).unwrap();
        assert_eq!(BatchTable::new("t", duplicated).unwrap_err().to_string(), "duplicate column name (column \"n\")");
    }
}
