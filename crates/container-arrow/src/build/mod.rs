//! Columns built value by value, of any schema: one that was [resolved](crate::resolve_schema), or declared.

mod column;
mod finish;
mod slot;
mod tensor;
mod values;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_buffer::NullBufferBuilder;
use arrow_schema::{DataType, Field, SchemaRef};
use container_core::arrow::{BatchScan, OnMismatch, from_arrow};
use container_core::{Error, Limits, Loss, Position, Result};

use self::column::{Column, Data};
use self::slot::Context;
pub use self::slot::{ListSlot, ObjectSlot, Slot, SlotEncoding};
pub use self::tensor::Tensor;

/// A batch ends before its bytes could pass what offsets of 32 bits count: a row has as much room again.
const FULL: usize = 1 << 30;

/// Columns that grow row by row, until they are [full](Self::is_full) and become a batch.
///
/// Values are taken exactly or not at all: an integer fits into every type of numbers that holds it, a float without fraction into integers, text into
/// dates and times if it is ISO 8601. Types that are built: null, booleans, integers, floats, text and bytes (of one size, too), dates, times,
/// timestamps, durations (not decimals), lists, lists of one size, structs, dictionaries of text, JSON text and msgpack
/// ([`resolve_schema`](crate::resolve_schema) says how they are marked), tensors.
///
/// ```
/// use std::sync::Arc;
/// use arrow_schema::{DataType, Field, Schema};
/// use container_core::Limits;
/// use container_arrow::{BatchScan, Columns};
///
/// let fields = vec![Field::new("a", DataType::Int64, true), Field::new("b", DataType::Utf8, true)];
/// let mut columns = Columns::new(Arc::new(Schema::new(fields)), &BatchScan::default(), &Limits::default())?;
/// let mut row = columns.row(0);
/// if let Some(a) = row.member("a") {
///     a.i64(1)?;
/// }
/// row.end(); // b is null
/// let batch = columns.finish()?;
/// assert_eq!((batch.num_rows(), batch.column(1).null_count()), (1, 1));
/// # Ok::<(), container_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Columns {
    schema: SchemaRef,
    root: Root,
    context: Context,
    batch_rows: usize,
    batch_bytes: usize,
    row_bytes: usize,
}

#[derive(Debug)]
struct Root {
    inner: Box<column::Struct>,
    nulls: NullBufferBuilder,
}

impl Columns {
    /// Empty columns of a schema. Of `scan`, the size of batches counts, and what becomes of a value that does not fit: all but
    /// [`OnMismatch::Error`] make it null; of the limits [`depth`](Limits::depth), [`columns`](Limits::columns) over all levels, and
    /// [`block_bytes`](Limits::block_bytes) for one row.
    ///
    /// # Errors
    /// [`Unsupported`](container_core::ErrorKind::Unsupported) for a type that is not built; [`Usage`](container_core::ErrorKind::Usage) for two columns of one
    /// name; [`Limit`](container_core::ErrorKind::Limit).
    pub fn new(schema: SchemaRef, scan: &BatchScan, limits: &Limits) -> Result<Self> {
        limits.check_columns("the number of columns", schema.fields().iter().map(|field| count(field)).sum())?;
        let root = Arc::new(Field::new("", DataType::Struct(schema.fields().clone()), false));
        let root = Column::new(&root, String::new(), limits.depth)?;
        let limit = usize::try_from(limits.block_bytes).unwrap_or(usize::MAX);
        if root.width > limit {
            return Err(Error::limit("bytes of a row as columns", root.width as u64, limits.block_bytes));
        }
        let row_bytes = root.width;
        let inner = match root.data {
            Data::Struct(inner) => inner,
            _ => return Err(Error::usage("the schema is none")), // a struct was asked for
        };
        let on_mismatch = scan.mapping.on_mismatch;
        let (is_sampled, limit_bytes) = (scan.is_sampled, limits.block_bytes);
        let context = Context {
            row: 0,
            on_mismatch,
            is_sampled,
            contradicts_sample: false,
            bytes: 0,
            most: limit,
            limit: limit_bytes,
        };
        let root = Root { inner, nulls: NullBufferBuilder::new(0) };
        let (batch_rows, batch_bytes) = (scan.batch_rows.max(1), scan.batch_bytes.min(FULL));
        Ok(Self { schema, root, context, batch_rows, batch_bytes, row_bytes })
    }

    /// The schema.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The next row, which the table knows by this number: messages tell it. It has to be [ended](ObjectSlot::end), or, behind an error,
    /// [rolled back](Self::roll_back).
    #[inline]
    pub fn row(&mut self, row: u64) -> ObjectSlot<'_> {
        let Self { root, context, .. } = self;
        context.row = row;
        context.bytes = context.bytes.saturating_add(self.row_bytes);
        let limit = usize::try_from(context.limit).unwrap_or(usize::MAX);
        context.most = context.bytes.saturating_add(limit);
        ObjectSlot { inner: &mut root.inner, nulls: &mut root.nulls, context, expected: 0 }
    }

    /// Rows so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.root.nulls.len()
    }

    /// There are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes so far, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.context.bytes
    }

    /// Bytes that every row takes at least.
    #[must_use]
    pub fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// The batch has as many rows or bytes as it may have.
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.len() >= self.batch_rows || self.context.bytes >= self.batch_bytes && !self.is_empty()
    }

    /// Forgets the row that was begun and not ended.
    pub fn roll_back(&mut self) {
        let len = self.len();
        self.root.inner.columns.iter_mut().for_each(|column| column.truncate(len));
    }

    /// The rows so far as a batch; the columns are empty then.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) for nulls in a column that is declared to have none.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        self.roll_back();
        let len = self.len();
        let arrays = self.root.inner.columns.iter_mut().map(|column| {
            let path = column.path.to_string();
            let array = column.finish(len).map_err(|error| from_arrow(error).in_column(path.clone()))?;
            match column.field.is_nullable() || array.logical_null_count() == 0 {
                true => Ok(array),
                false => Err(Error::invalid("a column that is declared to have no nulls has some").in_column(path)),
            }
        });
        let arrays = arrays.collect::<Result<Vec<ArrayRef>>>()?;
        self.root.nulls = NullBufferBuilder::new(0);
        self.context.bytes = 0;
        let options = RecordBatchOptions::new().with_row_count(Some(len));
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options).map_err(from_arrow)
    }

    /// What became null because it did not fit, and values of members that came again, since this was asked last, in the order of columns.
    pub fn take_losses(&mut self) -> Vec<Loss> {
        let mut losses = Vec::new();
        self.root.inner.columns.iter_mut().for_each(|column| lost(column, &mut losses));
        losses
    }

    /// Has a row shown that the schema [inferred from a sample](BatchScan::with_sampled_schema) is wrong? Values that do not fit are errors, too; members that no
    /// column is there for are only told here.
    #[inline]
    #[must_use]
    pub fn contradicts_sample(&self) -> bool {
        self.context.contradicts_sample
    }

    /// Is a value that does not fit an error?
    #[must_use]
    pub fn is_strict(&self) -> bool {
        self.context.on_mismatch == OnMismatch::Error
    }
}

fn lost(column: &mut Column, losses: &mut Vec<Loss>) {
    if column.lost > 0 {
        let what = format!("value that does not fit into a column of {} shown as null", column.takes());
        let mut first = Position::default();
        (first.row, first.column) = (Some(column.first_lost), Some(column.path.to_string().into()));
        losses.push(Loss::new(what, column.lost, first));
        column.lost = 0;
    }
    if column.replaced > 0 {
        let mut first = Position::default();
        (first.row, first.column) = (Some(column.first_replaced), Some(column.path.to_string().into()));
        losses.push(Loss::new("member that an object has again: its last value holds", column.replaced, first));
        column.replaced = 0;
    }
    match &mut column.data {
        Data::List(_, values) | Data::LargeList(_, values) | Data::FixedList(_, values) => lost(values, losses),
        Data::Struct(inner) => inner.columns.iter_mut().for_each(|column| lost(column, losses)),
        _ => {}
    }
}

/// Adds losses to those that are known: of the same in the same column the sum, and the first row.
pub fn add_losses(known: &mut Vec<Loss>, more: Vec<Loss>) {
    if more.is_empty() {
        return;
    }
    let key = |loss: &Loss| (loss.what.clone(), loss.first.column.clone());
    let mut places: HashMap<_, usize> = known.iter().enumerate().map(|(place, loss)| (key(loss), place)).collect();
    for loss in more {
        let place = *places.entry(key(&loss)).or_insert(known.len());
        match known.get_mut(place) {
            Some(own) => {
                own.count += loss.count;
                own.first.row = own.first.row.min(loss.first.row);
            }
            None => known.push(loss),
        }
    }
}

/// Columns of a field, over all levels.
fn count(field: &Field) -> u64 {
    match field.data_type() {
        DataType::Struct(fields) => fields.iter().fold(1, |sum: u64, field| sum.saturating_add(count(field))),
        DataType::List(element) | DataType::LargeList(element) | DataType::FixedSizeList(element, _) => {
            count(element).saturating_add(1)
        }
        _ => 1,
    }
}
