//! Encodes row groups in the background while the next ones are collected.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_schema::{Field, FieldRef, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use container_core::{Bytes, Error, Result};
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::column::page_store::{InMemoryPageStore, PageKey, PageStore, PageStoreArgs, PageStoreFactory};
use parquet::errors::Result as ParquetResult;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use super::source::{from_arrow, library};
use super::units;
use crate::batches::size::bytes_of;
use crate::batches::{guarded, has_dictionary};
use crate::workers::{Task, Workers};

/// Maximum Arrow bytes of all row groups being encoded; one is always allowed.
const MAX_ENCODING_BYTES: usize = 160 << 20;

/// Below this many bytes an array's values take less memory than its overhead.
const SMALL_ARRAY: usize = 512;

/// Page parts below this many bytes are copied.
const SMALL_PAGE: usize = 512;

/// The schema of the columns, and the schema stored in Parquet: see [`units`].
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) schema: SchemaRef,
    pub(super) stored: SchemaRef,
}

/// Creates column encoders. An encoder takes memory even without rows, so each column has them only while it is encoded.
pub(super) struct Encoders {
    pub(super) properties: WriterPropertiesPtr,
    /// The Parquet schema of the file.
    pub(super) root: TypePtr,
}

impl Encoders {
    /// Creates the encoders of a column's leaves.
    fn create(&self, column: usize, stored: &FieldRef) -> Result<Vec<ArrowColumnWriter>> {
        library("the column", || {
            let own = self.root.get_fields().get(column).cloned();
            let root = Type::group_type_builder(self.root.name()).with_fields(own.into_iter().collect()).build()?;
            let file = SerializedFileWriter::new(std::io::sink(), Arc::new(root), Arc::clone(&self.properties))?;
            let schema = Arc::new(Schema::new(vec![Arc::clone(stored)]));
            let factory = ArrowRowGroupWriterFactory::new(&file, schema);
            factory.with_page_store_factory(Arc::new(SmallPages)).create_column_writers(0)
        })
    }
}

/// Keeps pages in buffers of their exact size: the library reserves 1 KiB for each page header.
#[derive(Debug)]
struct SmallPages;

impl PageStoreFactory for SmallPages {
    fn create(&self, _: &PageStoreArgs<'_>) -> ParquetResult<Box<dyn PageStore>> {
        Ok(Box::new(CompactPages::default()))
    }
}

#[derive(Debug, Default)]
struct CompactPages(InMemoryPageStore);

impl PageStore for CompactPages {
    fn put(&mut self, part: Bytes) -> ParquetResult<PageKey> {
        self.0.put(if part.len() < SMALL_PAGE { Bytes::copy_from_slice(&part) } else { part })
    }

    fn take(&mut self, key: PageKey) -> ParquetResult<Bytes> {
        self.0.take(key)
    }

    fn memory_size(&self) -> usize {
        self.0.memory_size()
    }
}

/// Collects the batches of the next row group.
#[derive(Debug, Default)]
pub(super) struct GroupBuilder {
    batches: Vec<RecordBatch>,
    /// Its first row.
    first: u64,
    rows: usize,
    bytes: usize,
}

impl GroupBuilder {
    pub(super) fn push(&mut self, batch: RecordBatch) -> Result<()> {
        self.rows += batch.num_rows();
        let bytes = bytes_of(&batch);
        self.bytes = self.bytes.saturating_add(bytes);
        self.batches.push(batch);
        self.merge(bytes)
    }

    /// Merges small batches: with many columns and few rows, arrays take more memory than their values. A batch is merged with earlier ones
    /// that are not longer, so each value is copied O(log n) times.
    fn merge(&mut self, mut bytes: usize) -> Result<()> {
        while let [.., before, last] = self.batches.as_slice()
            && before.num_rows() <= last.num_rows()
            && bytes < SMALL_ARRAY.saturating_mul(last.num_columns())
            // Joined dictionaries could have more labels than their indexes can address.
            && !last.schema().fields().iter().any(|field| has_dictionary(field))
        {
            let both = concat_batches(&last.schema(), [before, last]).map_err(from_arrow)?;
            bytes = bytes_of(&both);
            self.batches.truncate(self.batches.len() - 2);
            self.batches.push(both);
        }
        Ok(())
    }

    pub(super) fn batches(&self) -> &[RecordBatch] {
        &self.batches
    }

    pub(super) const fn rows(&self) -> usize {
        self.rows
    }

    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes the collected batches and begins the next group.
    pub(super) fn take(&mut self) -> Self {
        let next = Self { first: self.first + self.rows as u64, ..Self::default() };
        std::mem::replace(self, next)
    }

    /// Encodes the rows, columns in parallel.
    fn encode(&self, columns: &Columns, encoders: &Encoders, workers: &Workers) -> Result<Vec<ArrowColumnChunk>> {
        let fields = columns.schema.fields().iter().zip(columns.stored.fields());
        let work: Vec<_> = fields.enumerate().collect();
        let encoded = workers.map(work, |(column, (field, stored))| {
            let mut encoders = encoders.create(column, stored)?;
            let mut row = self.first;
            for batch in &self.batches {
                let Some(array) = batch.columns().get(column) else { continue };
                check_nulls(field, array, row)?;
                units::check_decimals(array, Some(row))?;
                let array = units::convert(array, stored.data_type(), row)?;
                library("the values", || {
                    let leaves = compute_leaves(stored, &array)?;
                    leaves.iter().zip(&mut encoders).try_for_each(|(leaf, encoder)| encoder.write(leaf))
                })?;
                row += batch.num_rows() as u64;
            }
            let close = |encoder: ArrowColumnWriter| library("the column", || encoder.close());
            encoders.into_iter().map(close).collect::<Result<Vec<_>>>()
        });
        let named = encoded.into_iter().zip(columns.schema.fields());
        let chunks = named.map(|(chunks, field)| chunks.map_err(|error| error.in_column(field.name().clone())));
        Ok(chunks.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }
}

/// Rejects a null in a non-nullable column.
fn check_nulls(field: &Field, array: &dyn Array, first: u64) -> Result<()> {
    let nulls = array.logical_nulls().filter(|nulls| !field.is_nullable() && nulls.null_count() > 0);
    let Some(row) = nulls.and_then(|nulls| nulls.iter().position(|valid| !valid)) else { return Ok(()) };
    Err(Error::invalid("null in a column that the schema declares non-nullable").in_row(first + row as u64))
}

/// Row groups being encoded, in order.
#[derive(Default)]
pub(super) struct Pending {
    groups: VecDeque<EncodingGroup>,
    bytes: usize,
}

struct EncodingGroup {
    chunks: Task<Result<Vec<ArrowColumnChunk>>>,
    bytes: usize,
}

impl Pending {
    /// Whether a group must be written before the next one can be started.
    pub(super) fn is_full(&self, next: &GroupBuilder, workers: usize) -> bool {
        !self.groups.is_empty()
            && (self.groups.len() >= workers || self.bytes.saturating_add(next.bytes) > MAX_ENCODING_BYTES)
    }

    /// Starts to encode a group.
    pub(super) fn begin(
        &mut self,
        group: GroupBuilder,
        encoders: &Arc<Encoders>,
        columns: &Arc<Columns>,
        workers: &Arc<Workers>,
    ) {
        let bytes = group.bytes;
        self.bytes = self.bytes.saturating_add(bytes);
        let (columns, encoders, column_workers) = (Arc::clone(columns), Arc::clone(encoders), Arc::clone(workers));
        // An uncaught panic in the pool would abort the process.
        let chunks =
            workers.begin(move || guarded("the row group", || group.encode(&columns, &encoders, &column_workers)));
        self.groups.push_back(EncodingGroup { chunks, bytes });
    }

    /// Whether the first group is encoded.
    pub(super) fn is_done(&mut self) -> bool {
        self.groups.front_mut().is_some_and(|group| group.chunks.is_done())
    }

    /// Waits for the column chunks of the first group; `None` if there is no group.
    pub(super) fn next(&mut self) -> Result<Option<Vec<ArrowColumnChunk>>> {
        let Some(EncodingGroup { chunks, bytes }) = self.groups.pop_front() else { return Ok(None) };
        self.bytes = self.bytes.saturating_sub(bytes);
        match chunks.wait() {
            Some(chunks) => chunks.map(Some),
            None => Err(Error::usage("the encoder of a row group has ended")),
        }
    }
}
