//! Row groups that are encoded while others are gathered.

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

/// Bytes, in Arrow's form, of all row groups that are being encoded. One is always allowed.
const MOST_BYTES: usize = 160 << 20;

/// Bytes of an array whose values take less memory than itself.
const SMALL_ARRAY: usize = 512;

/// Bytes of a part of a page that is copied.
const SMALL_PAGE: usize = 512;

/// What columns are, and how they are stored: see [`units`].
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) schema: SchemaRef,
    pub(super) stored: SchemaRef,
}

/// What makes the encoders of a column. Each takes memory, whether it has rows or not: a column has them while it is encoded.
pub(super) struct Encoders {
    pub(super) properties: WriterPropertiesPtr,
    /// The schema of the file.
    pub(super) root: TypePtr,
}

impl Encoders {
    /// The encoders of a column's leaves.
    fn of(&self, column: usize, stored: &FieldRef) -> Result<Vec<ArrowColumnWriter>> {
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

/// Pages in memory, each in as much as it needs: the library reserves 1 KiB for the header of each.
#[derive(Debug)]
struct SmallPages;

impl PageStoreFactory for SmallPages {
    fn create(&self, _: &PageStoreArgs<'_>) -> ParquetResult<Box<dyn PageStore>> {
        Ok(Box::new(Pages::default()))
    }
}

#[derive(Debug, Default)]
struct Pages(InMemoryPageStore);

impl PageStore for Pages {
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

/// Batches of the next row group.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    batches: Vec<RecordBatch>,
    /// Its first row.
    first: u64,
    rows: usize,
    bytes: usize,
}

impl Gathered {
    pub(super) fn push(&mut self, batch: RecordBatch) -> Result<()> {
        self.rows += batch.num_rows();
        let bytes = bytes_of(&batch);
        self.bytes = self.bytes.saturating_add(bytes);
        self.batches.push(batch);
        self.merge(bytes)
    }

    /// Of many columns and few rows an array takes more memory than its values: such batches become fewer. Each is merged with those before it that
    /// are no longer than it, so that no value is copied often.
    fn merge(&mut self, mut bytes: usize) -> Result<()> {
        while let [.., before, last] = self.batches.as_slice()
            && before.num_rows() <= last.num_rows()
            && bytes < SMALL_ARRAY.saturating_mul(last.num_columns())
            // Dictionaries together can have more labels than their indexes count.
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

    /// Takes what there is; the next group begins behind it.
    pub(super) fn take(&mut self) -> Self {
        let next = Self { first: self.first + self.rows as u64, ..Self::default() };
        std::mem::replace(self, next)
    }

    /// Encodes the rows, column by column.
    fn encode(&self, columns: &Columns, encoders: &Encoders, workers: &Workers) -> Result<Vec<ArrowColumnChunk>> {
        let fields = columns.schema.fields().iter().zip(columns.stored.fields());
        let work: Vec<_> = fields.enumerate().collect();
        let encoded = workers.map(work, |(column, (field, stored))| {
            let mut encoders = encoders.of(column, stored)?;
            let mut row = self.first;
            for batch in &self.batches {
                let Some(array) = batch.columns().get(column) else { continue };
                no_null(field, array, row)?;
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

/// Fails for a null in a column that the schema says has none.
fn no_null(field: &Field, array: &dyn Array, first: u64) -> Result<()> {
    let nulls = array.logical_nulls().filter(|nulls| !field.is_nullable() && nulls.null_count() > 0);
    let Some(row) = nulls.and_then(|nulls| nulls.iter().position(|valid| !valid)) else { return Ok(()) };
    Err(Error::invalid("a value is null in a column that has no nulls by its schema").in_row(first + row as u64))
}

/// Row groups that are being encoded, in order.
#[derive(Default)]
pub(super) struct Pending {
    groups: VecDeque<Begun>,
    bytes: usize,
}

struct Begun {
    chunks: Task<Result<Vec<ArrowColumnChunk>>>,
    bytes: usize,
}

impl Pending {
    /// Has one to be written before this one is begun?
    pub(super) fn is_full(&self, next: &Gathered, workers: usize) -> bool {
        !self.groups.is_empty() && (self.groups.len() >= workers || self.bytes.saturating_add(next.bytes) > MOST_BYTES)
    }

    /// Has a group encoded.
    pub(super) fn begin(
        &mut self,
        group: Gathered,
        encoders: &Arc<Encoders>,
        columns: &Arc<Columns>,
        workers: &Arc<Workers>,
    ) {
        let bytes = group.bytes;
        self.bytes = self.bytes.saturating_add(bytes);
        let (columns, encoders, inner) = (Arc::clone(columns), Arc::clone(encoders), Arc::clone(workers));
        // A panic that nobody catches would end the process.
        let chunks = workers.begin(move || guarded("the row group", || group.encode(&columns, &encoders, &inner)));
        self.groups.push_back(Begun { chunks, bytes });
    }

    /// Is the first group encoded, so that nobody would have to wait for it?
    pub(super) fn is_done(&mut self) -> bool {
        self.groups.front_mut().is_some_and(|group| group.chunks.is_done())
    }

    /// The columns of the first group, when they are encoded; none where there is no group.
    pub(super) fn next(&mut self) -> Result<Option<Vec<ArrowColumnChunk>>> {
        let Some(Begun { chunks, bytes }) = self.groups.pop_front() else { return Ok(None) };
        self.bytes = self.bytes.saturating_sub(bytes);
        match chunks.wait() {
            Some(chunks) => chunks.map(Some),
            None => Err(Error::usage("the thread that encodes a row group has ended")),
        }
    }
}
