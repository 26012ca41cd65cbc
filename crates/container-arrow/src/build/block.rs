//! Appends several rows at once, column by column.

use std::ops::Range;

use arrow_buffer::NullBufferBuilder;

use super::Columns;
use super::column::{Blob, Column, Data, Kind, Offset};
use super::slot::Slot;
use crate::resolve::LARGE_VALUE_LEN;

/// Bytes copied at once: a copy of fixed length is faster than one of the exact length of a short text.
const COPY: usize = 32;

/// Rows appended column by column: as with [`Columns::row`], but faster, as a column's type is examined once.
///
/// Append one value for each row to each column, then call [`end`](Self::end). Columns without values are null. To give up, drop it and call
/// [`Columns::roll_back`].
///
/// ```
/// use std::sync::Arc;
/// use arrow_schema::{DataType, Field, Schema};
/// use container_core::Limits;
/// use container_arrow::{BatchScan, Columns};
///
/// let fields = vec![Field::new("a", DataType::Int64, true), Field::new("b", DataType::Utf8, true)];
/// let mut columns = Columns::new(Arc::new(Schema::new(fields)), &BatchScan::default(), &Limits::default())?;
/// let mut block = columns.block(0, 2, 3).ok_or_else(|| container_core::Error::usage("too large"))?;
/// assert!(block.i64s(0, [Some(1), None].into_iter()));
/// assert!(block.texts(1, b"xyz", [0..3, 1..1].into_iter()));
/// block.end();
/// let batch = columns.finish()?;
/// assert_eq!((batch.num_rows(), batch.column(1).null_count()), (2, 1));
/// # Ok::<(), container_core::Error>(())
/// ```
#[derive(Debug)]
pub struct RowBlock<'c> {
    columns: &'c mut Columns,
    first: u64,
    /// The length of complete columns.
    len: usize,
    bytes: usize,
}

impl Columns {
    /// Starts a block of rows, the first of them with this number, with at most `text_bytes` bytes of text.
    ///
    /// `None` if the rows may not fit into the current batch, or exceed a limit: append them one by one.
    pub fn block(&mut self, first: u64, rows: usize, text_bytes: usize) -> Option<RowBlock<'_>> {
        let len = self.len().checked_add(rows).filter(|len| *len <= self.batch_rows)?;
        let bytes = rows.checked_mul(self.row_bytes)?.checked_add(text_bytes)?;
        let limit = self.context.limit.min(LARGE_VALUE_LEN);
        let is_small = bytes as u64 <= limit && self.context.bytes.checked_add(bytes)? < self.batch_bytes;
        is_small.then_some(RowBlock { first, len, bytes: rows * self.row_bytes, columns: self })
    }
}

/// The methods that append a column return false if it has another type, a value is missing or too large; the column is unchanged then.
impl RowBlock<'_> {
    fn column(&mut self, index: usize) -> Option<&mut Column> {
        let begin = self.columns.len();
        let column = self.columns.root.inner.columns.get_mut(index)?;
        column.pad(begin.saturating_sub(column.len()));
        Some(column)
    }

    /// Appends values to a column, and checks their number.
    fn append(&mut self, index: usize, append: impl FnOnce(&mut Data, &mut NullBufferBuilder) -> bool) -> bool {
        let (begin, end) = (self.columns.len(), self.len);
        let Some(column) = self.column(index) else { return false };
        let is_complete = append(&mut column.data, &mut column.nulls) && column.len() == end;
        if !is_complete {
            column.truncate(begin);
        }
        is_complete
    }

    /// Appends integers to a column of 64-bit integers.
    pub fn i64s(&mut self, index: usize, values: impl Iterator<Item = Option<i64>>) -> bool {
        self.append(index, |data, nulls| match data {
            Data::I64(own) => numbers(own, nulls, values),
            _ => false,
        })
    }

    /// Appends floats to a column of 64-bit floats.
    pub fn f64s(&mut self, index: usize, values: impl Iterator<Item = Option<f64>>) -> bool {
        self.append(index, |data, nulls| match data {
            Data::F64(own) => numbers(own, nulls, values),
            _ => false,
        })
    }

    /// Appends booleans.
    pub fn bools(&mut self, index: usize, values: impl Iterator<Item = Option<bool>>) -> bool {
        self.append(index, |data, nulls| match data {
            Data::Bool(own) => {
                values.for_each(|value| {
                    own.append(value.unwrap_or_default());
                    nulls.append(value.is_some());
                });
                true
            }
            _ => false,
        })
    }

    /// Appends ranges of UTF-8 to a column of text; empty ranges are null.
    pub fn texts(&mut self, index: usize, text: &[u8], ranges: impl Iterator<Item = Range<usize>>) -> bool {
        let mut bytes = 0;
        let done = self.append(index, |data, nulls| match data {
            Data::Blob(own, Kind::Text) => texts(own, nulls, text, ranges, &mut bytes),
            Data::LargeBlob(own, Kind::Text) => texts(own, nulls, text, ranges, &mut bytes),
            _ => false,
        });
        self.bytes += if done { bytes } else { 0 };
        done
    }

    /// The slot of a column in a row of the block, counted from 0. Call it for each row, in order.
    pub fn slot(&mut self, index: usize, row: usize) -> Option<Slot<'_>> {
        let Columns { root, context, .. } = &mut *self.columns;
        let column = root.inner.columns.get_mut(index)?;
        column.pad((root.nulls.len() + row).saturating_sub(column.len()));
        context.row = self.first + row as u64;
        Some(Slot { column, context })
    }

    /// Ends the rows.
    pub fn end(self) {
        let Columns { root, context, .. } = self.columns;
        context.bytes += self.bytes;
        root.nulls.append_n_non_nulls(self.len - root.nulls.len());
    }
}

#[inline]
fn numbers<T: Default>(
    own: &mut Vec<T>,
    nulls: &mut NullBufferBuilder,
    values: impl Iterator<Item = Option<T>>,
) -> bool {
    let mut valid = 0;
    for value in values {
        match value {
            Some(_) => valid += 1,
            None => append_null(nulls, &mut valid),
        }
        own.push(value.unwrap_or_default());
    }
    nulls.append_n_non_nulls(valid);
    true
}

/// Appends valid values counted so far, and a null.
fn append_null(nulls: &mut NullBufferBuilder, valid: &mut usize) {
    nulls.append_n_non_nulls(std::mem::take(valid));
    nulls.append_null();
}

#[inline]
fn texts<O: Offset>(
    own: &mut Blob<O>,
    nulls: &mut NullBufferBuilder,
    text: &[u8],
    ranges: impl Iterator<Item = Range<usize>>,
    bytes: &mut usize,
) -> bool {
    let (begin, mut valid) = (own.bytes.len(), 0);
    for range in ranges {
        let Some(value) = text.get(range.clone()) else { return false };
        let end = own.bytes.len() + value.len();
        let Ok(offset) = O::try_from(end) else { return false };
        match text.get(range.start..).and_then(<[u8]>::first_chunk::<COPY>) {
            Some(chunk) if value.len() <= COPY => {
                own.bytes.extend_from_slice(chunk);
                own.bytes.truncate(end);
            }
            _ => own.bytes.extend_from_slice(value),
        }
        own.offsets.push(offset);
        if value.is_empty() {
            append_null(nulls, &mut valid);
        } else {
            valid += 1;
        }
    }
    nulls.append_n_non_nulls(valid);
    *bytes = own.bytes.len() - begin;
    true
}
