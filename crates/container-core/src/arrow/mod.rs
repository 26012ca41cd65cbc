//! Traits for reading and writing tables as Arrow record batches.
//!
//! A format that maps to Arrow implements [`ArrowTable`] for reading, which yields a standard [`RecordBatchReader`], and [`BatchWriter`] for
//! writing.
//!
//! Types without an Arrow equivalent are described in the field's metadata: the format's name maps to a JSON object with what its writer needs to
//! recreate the column, so that a round trip through Parquet is lossless.
//!
//! The crate `container-arrow` has the building blocks: schema inference, column builders, rows and JSON of batches.

mod error;
mod options;

#[cfg(test)]
mod tests;

pub use error::{from_arrow, to_arrow};
pub use options::{BatchScan, Mapping, OnMismatch, Sparse, Times};

use std::ops::Range;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;

use crate::error::Result;
use crate::{Loss, Table};

/// A table that can be read as Arrow record batches.
pub trait ArrowTable: Table {
    /// The schema of [`batches`](Self::batches) for the same `scan`. Field names are those of [`Table::columns`], in the order of the projection.
    ///
    /// For formats without a schema it is inferred from all selected rows, unless the scan declares one.
    ///
    /// # Errors
    /// As [`batches`](Self::batches).
    fn schema(&self, scan: &BatchScan) -> Result<SchemaRef>;

    /// Reads the selected rows and columns in batches of at most [`batch_rows`](BatchScan::batch_rows) rows and about
    /// [`batch_bytes`](BatchScan::batch_bytes) bytes, but at least one row. Memory use is a few batches, independent of the table's size.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) for an unknown or unreadable column, a range that starts past the end, and a declared schema that does
    /// not match the table; [`Unsupported`](crate::ErrorKind::Unsupported) for a column without an Arrow type under this [`Mapping`], naming
    /// the option that helps.
    fn batches<'a>(&'a self, scan: &BatchScan) -> Result<Box<dyn BatchReader + 'a>>;

    /// Infers the schema from a sample of the rows, which saves formats without a schema a pass over all rows. For callers that can start over.
    ///
    /// With [this schema](BatchScan::with_sampled_schema), [`batches`](Self::batches) yields the same batches as without it until a row
    /// contradicts the sample. It then fails, and the batches so far must be discarded.
    ///
    /// Returns `None` if sampling saves nothing, or if further rows could change the schema in ways that single rows do not reveal.
    ///
    /// # Errors
    /// As [`batches`](Self::batches).
    fn infer_from_sample(&self, _: &BatchScan) -> Result<Option<SchemaRef>> {
        Ok(None)
    }

    /// What the file says of the values of a column in stretches of rows, without reading them; `None` where it says nothing.
    ///
    /// # Errors
    /// Errors of the metadata.
    fn bounds(&self, _column: usize) -> Result<Option<ColumnBounds>> {
        Ok(None)
    }
}

/// Bounds of the values of a column in consecutive stretches of rows: statistics of row groups.
#[derive(Debug, Clone)]
pub struct ColumnBounds {
    /// The rows of each stretch. Together they are all rows of the table.
    pub rows: Vec<Range<u64>>,
    /// For each stretch a value of the column's type that no value but NaN is below; null where it is unknown.
    pub min: ArrayRef,
    /// For each stretch a value that no value but NaN is above; null where it is unknown.
    pub max: ArrayRef,
}

/// An iterator over record batches, which ends after an error. Through [`RecordBatchReader`], errors of this workspace are wrapped in
/// [`ArrowError::ExternalError`](arrow_schema::ArrowError::ExternalError); [`from_arrow`] unwraps them.
pub trait BatchReader: RecordBatchReader + Send {
    /// Values of the batches so far that could not be represented exactly.
    fn losses(&self) -> Vec<Loss>;

    /// Returns the next batch, or `None` at the end.
    ///
    /// # Errors
    /// Errors of the rows; [`Invalid`](crate::ErrorKind::Invalid) for a value that its column's type cannot hold.
    fn try_next(&mut self) -> Result<Option<RecordBatch>> {
        self.next().transpose().map_err(from_arrow)
    }
}

/// Writes a file from record batches. The file appears atomically on [`finish`](Self::finish); dropping the writer discards it.
pub trait BatchWriter {
    /// Appends the rows of a batch, which must have the schema the writer was created with.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) for a batch of another schema; [`Invalid`](crate::ErrorKind::Invalid) with column and row (counted
    /// over all batches) for a value the format cannot represent; [`Io`](crate::ErrorKind::Io). Drop the writer after an error.
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Completes the file, moves it into place, and returns the losses.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io), and violations of constraints on the whole file.
    fn finish(self: Box<Self>) -> Result<Vec<Loss>>;
}
