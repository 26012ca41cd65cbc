//! Builds columns of any schema value by value.

mod block;
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

pub use self::block::RowBlock;
use self::column::{Column, Data};
use self::slot::Context;
pub use self::slot::{ListSlot, ObjectSlot, Slot, SlotEncoding};
pub use self::tensor::Tensor;

/// Maximum bytes of a batch. Half of what 32-bit offsets allow, which leaves room for one more row.
const MAX_BATCH_BYTES: usize = 1 << 30;

/// Builds record batches row by row. When [full](Self::is_full), [`finish`](Self::finish) returns a batch and starts the next one.
///
/// Values are stored exactly or rejected: an integer fits every numeric type that represents it, a float without a fraction fits integers, and ISO
/// 8601 text fits dates and times.
///
/// Supported types: null, booleans, integers, floats, text, binary and fixed-size binary, dates, times, timestamps, durations, lists and
/// fixed-size lists, structs, dictionaries of text, tensors, and JSON text and msgpack as marked by [`resolve_schema`](crate::resolve_schema). Not
/// decimals, intervals, maps and unions.
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
    /// Creates empty columns of a schema.
    ///
    /// `scan` sets the batch size, and whether a value that does not fit is an error ([`OnMismatch::Error`]) or becomes null. The limits apply to
    /// nesting ([`depth`](Limits::depth)), the number of columns over all levels ([`columns`](Limits::columns)), and the size of a row
    /// ([`block_bytes`](Limits::block_bytes)).
    ///
    /// # Errors
    /// [`Unsupported`](container_core::ErrorKind::Unsupported) for an unsupported type; [`Usage`](container_core::ErrorKind::Usage) for duplicate column
    /// names; [`Limit`](container_core::ErrorKind::Limit).
    pub fn new(schema: SchemaRef, scan: &BatchScan, limits: &Limits) -> Result<Self> {
        limits.check_columns("the number of columns", schema.fields().iter().map(|field| column_count(field)).sum())?;
        let root = Arc::new(Field::new("", DataType::Struct(schema.fields().clone()), false));
        let root = Column::new(&root, String::new(), 0, limits.depth)?;
        let limit = usize::try_from(limits.block_bytes).unwrap_or(usize::MAX);
        if root.width > limit {
            return Err(Error::limit("row size in bytes", root.width as u64, limits.block_bytes));
        }
        let row_bytes = root.width;
        let inner = match root.data {
            Data::Struct(inner) => inner,
            _ => return Err(Error::usage("the schema is not a struct")), // cannot happen: created from a struct
        };
        let on_mismatch = scan.mapping.on_mismatch;
        let (is_sampled, limit_bytes) = (scan.is_sampled, limits.block_bytes);
        let context = Context {
            row: 0,
            on_mismatch,
            is_sampled,
            contradicts_sample: false,
            bytes: 0,
            max_bytes: limit,
            limit: limit_bytes,
        };
        let root = Root { inner, nulls: NullBufferBuilder::new(0) };
        let (batch_rows, batch_bytes) = (scan.batch_rows.max(1), scan.batch_bytes.min(MAX_BATCH_BYTES));
        Ok(Self { schema, root, context, batch_rows, batch_bytes, row_bytes })
    }

    /// The schema.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Starts the next row. `row` is its number for error messages. Call [`ObjectSlot::end`] when it is complete, or [`roll_back`](Self::roll_back)
    /// after an error.
    #[inline]
    pub fn row(&mut self, row: u64) -> ObjectSlot<'_> {
        let Self { root, context, .. } = self;
        context.row = row;
        context.bytes = context.bytes.saturating_add(self.row_bytes);
        let limit = usize::try_from(context.limit).unwrap_or(usize::MAX);
        context.max_bytes = context.bytes.saturating_add(limit);
        ObjectSlot { inner: &mut root.inner, nulls: &mut root.nulls, context, expected: 0 }
    }

    /// Number of rows in the current batch.
    #[must_use]
    pub fn len(&self) -> usize {
        self.root.nulls.len()
    }

    /// Returns true if the current batch has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Approximate bytes of the current batch.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.context.bytes
    }

    /// Minimum bytes of a row.
    #[must_use]
    pub fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// Returns true if the current batch has reached its maximum rows or bytes.
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.len() >= self.batch_rows || self.context.bytes >= self.batch_bytes && !self.is_empty()
    }

    /// Discards an unfinished row.
    pub fn roll_back(&mut self) {
        let len = self.len();
        self.root.inner.columns.iter_mut().for_each(|column| column.truncate(len));
    }

    /// Returns the current batch and starts an empty one.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) for nulls in a non-nullable column.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        self.roll_back();
        let len = self.len();
        let arrays = self.root.inner.columns.iter_mut().map(|column| {
            let path = column.path.to_string();
            let array = column.finish(len).map_err(|error| from_arrow(error).in_column(path.clone()))?;
            match column.field.is_nullable() || array.logical_null_count() == 0 {
                true => Ok(array),
                false => Err(Error::invalid("null in a column declared as not nullable").in_column(path)),
            }
        });
        let arrays = arrays.collect::<Result<Vec<ArrayRef>>>()?;
        self.root.nulls = NullBufferBuilder::new(0);
        self.context.bytes = 0;
        let options = RecordBatchOptions::new().with_row_count(Some(len));
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options).map_err(from_arrow)
    }

    /// Returns the losses since the last call, in column order: values that became null because they did not fit, and values of duplicate members.
    pub fn take_losses(&mut self) -> Vec<Loss> {
        let mut losses = Vec::new();
        self.root.inner.columns.iter_mut().for_each(|column| take_column_losses(column, &mut losses));
        losses
    }

    /// Returns true if a row contradicted the [sampled schema](BatchScan::with_sampled_schema). Values that do not fit are also errors; unknown members
    /// are reported only here.
    #[inline]
    #[must_use]
    pub fn contradicts_sample(&self) -> bool {
        self.context.contradicts_sample
    }

    /// Returns true if values that do not fit are errors.
    #[must_use]
    pub fn is_strict(&self) -> bool {
        self.context.on_mismatch == OnMismatch::Error
    }
}

fn take_column_losses(column: &mut Column, losses: &mut Vec<Loss>) {
    if column.lost > 0 {
        let what = format!("value that does not fit into a column of {} shown as null", column.type_name());
        let first = Position::of_column(column.path.to_string()).in_row(column.first_lost);
        losses.push(Loss::new(what, column.lost, first));
        column.lost = 0;
    }
    if column.replaced > 0 {
        let first = Position::of_column(column.path.to_string()).in_row(column.first_replaced);
        losses.push(Loss::new("duplicate object member: last value kept", column.replaced, first));
        column.replaced = 0;
    }
    match &mut column.data {
        Data::List(_, values) | Data::LargeList(_, values) | Data::FixedList(_, values) => {
            take_column_losses(values, losses)
        }
        Data::Struct(inner) => inner.columns.iter_mut().for_each(|column| take_column_losses(column, losses)),
        _ => {}
    }
}

/// Merges `more` into `losses`, adding up counts of the same loss in the same column.
pub fn add_losses(losses: &mut Vec<Loss>, more: Vec<Loss>) {
    if more.is_empty() {
        return;
    }
    let key = |loss: &Loss| (loss.what.clone(), loss.first.column.clone());
    let mut indexes: HashMap<_, usize> = losses.iter().enumerate().map(|(index, loss)| (key(loss), index)).collect();
    for loss in more {
        let index = *indexes.entry(key(&loss)).or_insert(losses.len());
        match losses.get_mut(index) {
            Some(known) => {
                known.count += loss.count;
                known.first.row = known.first.row.min(loss.first.row);
            }
            None => losses.push(loss),
        }
    }
}

/// Number of columns of a field, over all levels.
fn column_count(field: &Field) -> u64 {
    match field.data_type() {
        DataType::Struct(fields) => fields.iter().fold(1, |sum: u64, field| sum.saturating_add(column_count(field))),
        DataType::List(element) | DataType::LargeList(element) | DataType::FixedSizeList(element, _) => {
            column_count(element).saturating_add(1)
        }
        _ => 1,
    }
}
