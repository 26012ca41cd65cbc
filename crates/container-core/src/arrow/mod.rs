//! Tables as Arrow record batches, out and in: the interface.
//!
//! A table that has a mapping to Arrow implements [`ArrowTable`]: [`schema`](ArrowTable::schema) says which columns there are, and
//! [`batches`](ArrowTable::batches) walks over them, a [`RecordBatchReader`] as all of Arrow's tools take it. What a format writes from
//! batches is a [`BatchWriter`].
//!
//! What has no type in Arrow keeps its own in the metadata of the field: under the name of the format stands a JSON object with what its
//! writer needs to make the same column again, so that a way through Parquet and back loses nothing.
//!
//! What formats implement it with (inferred schemas, builders, rows and JSON of batches) is the crate `container-arrow`.

mod error;
mod options;

#[cfg(test)]
mod tests;

pub use error::{from_arrow, to_arrow};
pub use options::{BatchScan, Mapping, OnMismatch, Sparse, Times};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;

use crate::error::Result;
use crate::{Loss, Table};

/// A table that can be read as record batches.
pub trait ArrowTable: Table {
    /// The schema that [`batches`](Self::batches) of the same `scan` have: the columns in its order. Names are those of
    /// [`Table::columns`]. Where the format has no schema, all rows in question are looked at, unless the scan declares one.
    ///
    /// # Errors
    /// As [`batches`](Self::batches).
    fn schema(&self, scan: &BatchScan) -> Result<SchemaRef>;

    /// Walks over columns in batches, each at most [`batch_rows`](BatchScan::batch_rows) long and about
    /// [`batch_bytes`](BatchScan::batch_bytes) large (one row at least). Memory is a few batches, whatever the table's size.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) for a column that does not exist or cannot be read, for a range that begins past the end, and for
    /// a declared schema that does not suit the table; [`Unsupported`](crate::ErrorKind::Unsupported) for a column that has no type in
    /// Arrow under this [`Mapping`], naming the option that helps.
    fn batches<'a>(&'a self, scan: &BatchScan) -> Result<Box<dyn BatchReader + 'a>>;

    /// The schema as far as some of the rows tell it, for whoever can begin again: where a format has no schema, it saves looking at all rows
    /// before the first batch. [`batches`](Self::batches) of the [scan with it](BatchScan::with_sampled_schema) are those that the scan without it
    /// has, up to the first row that shows that the schema is another one; there they end with an error, and nothing that was made of them holds.
    ///
    /// `None` where there is nothing to be saved, or the rest of the rows can change the schema in ways that single rows do not show.
    ///
    /// # Errors
    /// As [`batches`](Self::batches).
    fn infer_from_sample(&self, _: &BatchScan) -> Result<Option<SchemaRef>> {
        Ok(None)
    }
}

/// A walk over record batches. It ends behind an error. Errors of this workspace stand in
/// [`ArrowError::ExternalError`](arrow_schema::ArrowError::ExternalError); [`from_arrow`] takes them out again.
pub trait BatchReader: RecordBatchReader + Send {
    /// What could not be kept of the batches so far.
    fn losses(&self) -> Vec<Loss>;

    /// The next batch, with this crate's error.
    ///
    /// # Errors
    /// What is wrong with the rows; [`Invalid`](crate::ErrorKind::Invalid) for a value that its column's type cannot hold.
    fn try_next(&mut self) -> Result<Option<RecordBatch>> {
        self.next().transpose().map_err(from_arrow)
    }
}

/// A file being written from record batches: whole at its [`finish`](Self::finish), or not there at all.
pub trait BatchWriter {
    /// Appends the rows of a batch. All batches have the schema that the writer was made for.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) for a batch of another schema; [`Invalid`](crate::ErrorKind::Invalid) for a value that the format
    /// cannot hold, with column and row (counted over all batches); [`Io`](crate::ErrorKind::Io). Behind an error, nothing but dropping
    /// the writer makes sense.
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Ends the file and gives it its name; what it could not keep.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io), and what the format finds wrong with the file as a whole.
    fn finish(self: Box<Self>) -> Result<Vec<Loss>>;
}
