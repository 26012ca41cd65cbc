//! Converting vectors to Arrow lists.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, FixedSizeListArray, Int32Array, ListArray, PrimitiveArray, StructArray,
    UInt64Array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, FieldRef, Fields};
use arrow_select::concat::concat;
use arrow_select::take::take;
use container_arrow::from_arrow;
use container_core::{Error, Result};

use super::measure;
use crate::codec::Vectors;

/// How the vectors of a column convert to Arrow, apart from their items.
#[derive(Debug, Clone)]
pub(super) struct ListPlan {
    /// The common length by type, if known.
    pub(super) size: Option<i32>,
    pub(super) item: FieldRef,
    /// Convert to structs of length, indices and values.
    pub(super) structs: bool,
}

/// Rows of one column of a block.
#[derive(Debug)]
pub(super) enum BlockArray {
    Array(ArrayRef),
    /// Sparse vectors, made dense on demand: a whole dense block could take any amount of memory.
    Sparse(Box<SparseRows>),
}

/// Vectors of which some are sparse.
#[derive(Debug)]
pub(super) struct SparseRows {
    plan: ListPlan,
    vectors: Box<Vectors>,
    /// Index of the first row within `vectors`.
    first: usize,
    /// End of each row's items in the dense form.
    ends: Vec<u64>,
    /// The stored items, followed by the default item.
    items: ArrayRef,
    /// Index of the first of these items within the block.
    base: usize,
}

impl Default for BlockArray {
    fn default() -> Self {
        Self::Array(arrow_array::new_empty_array(&DataType::Null))
    }
}

impl BlockArray {
    /// Approximate bytes of a range of rows.
    pub(super) fn bytes(&self, rows: Range<usize>) -> u64 {
        match self {
            Self::Array(array) => measure::bytes(array, rows),
            Self::Sparse(sparse) => sparse.bytes(rows),
        }
    }

    /// Whether rows are made dense on demand.
    pub(super) fn is_sparse(&self) -> bool {
        matches!(self, Self::Sparse(_))
    }

    /// A range of rows as an array.
    pub(super) fn rows(&self, rows: Range<usize>) -> Result<ArrayRef> {
        match self {
            Self::Array(array) if rows == (0..array.len()) => Ok(Arc::clone(array)),
            Self::Array(array) => Ok(array.slice(rows.start, rows.len())),
            Self::Sparse(sparse) => sparse.to_dense(rows),
        }
    }
}

/// The struct fields of a sparse vector.
pub(super) fn sparse_fields(item: &FieldRef) -> Fields {
    let indices = DataType::List(index_field());
    Fields::from(vec![
        Field::new("length", DataType::Int32, false),
        Field::new("indices", indices, true),
        Field::new("values", DataType::List(Arc::clone(item)), false),
    ])
}

fn index_field() -> FieldRef {
    Arc::new(Field::new_list_field(DataType::Int32, false))
}

impl ListPlan {
    pub(super) fn data_type(&self) -> DataType {
        match self.size {
            _ if self.structs => DataType::Struct(sparse_fields(&self.item)),
            Some(size) => DataType::FixedSizeList(Arc::clone(&self.item), size),
            None => DataType::List(Arc::clone(&self.item)),
        }
    }

    /// Builds the rows of a block from their items; `default` creates the default item.
    pub(super) fn build(
        &self,
        vectors: Box<Vectors>,
        rows: Range<usize>,
        items: ArrayRef,
        default: impl FnOnce() -> Result<ArrayRef>,
    ) -> Result<BlockArray> {
        if self.structs {
            return self.structs(&vectors, rows, items).map(BlockArray::Array);
        }
        if vectors.has_sparse(rows.clone()) {
            return self.sparse(vectors, rows, &items, &default()?);
        }
        let array: ArrayRef = match self.size {
            Some(size) => {
                let list =
                    FixedSizeListArray::try_new_with_length(Arc::clone(&self.item), size, items, None, rows.len());
                Arc::new(list.map_err(from_arrow)?)
            }
            None => Arc::new(self.list(item_offsets(&vectors, rows)?, items)?),
        };
        Ok(BlockArray::Array(array))
    }

    fn list(&self, offsets: OffsetBuffer<i32>, items: ArrayRef) -> Result<ListArray> {
        ListArray::try_new(Arc::clone(&self.item), offsets, items, None).map_err(from_arrow)
    }

    fn structs(&self, vectors: &Vectors, rows: Range<usize>, items: ArrayRef) -> Result<ArrayRef> {
        let (mut lengths, mut ends) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len() + 1));
        let (mut indices, mut sparse) = (Vec::new(), Vec::with_capacity(rows.len()));
        ends.push(0);
        for vector in rows.clone().filter_map(|row| vectors.get(row)) {
            lengths.push(i32::try_from(vector.length).unwrap_or(i32::MAX)); // from an i32
            // Indices are below the length.
            let all = vector.indices.unwrap_or_default();
            indices.extend(all.iter().map(|&index| i32::try_from(index).unwrap_or(i32::MAX)));
            ends.push(offset(indices.len())?);
            sparse.push(vector.indices.is_some());
        }
        let nulls = Some(NullBuffer::from(sparse)).filter(|nulls| nulls.null_count() > 0);
        let indices = Arc::new(Int32Array::from(indices));
        let indices = ListArray::try_new(index_field(), OffsetBuffer::new(ends.into()), indices, nulls);
        let values = self.list(item_offsets(vectors, rows)?, items)?;
        let parts: Vec<ArrayRef> =
            vec![Arc::new(Int32Array::from(lengths)), Arc::new(indices.map_err(from_arrow)?), Arc::new(values)];
        Ok(Arc::new(StructArray::try_new(sparse_fields(&self.item), parts, None).map_err(from_arrow)?))
    }

    fn sparse(
        &self,
        vectors: Box<Vectors>,
        rows: Range<usize>,
        items: &ArrayRef,
        default: &ArrayRef,
    ) -> Result<BlockArray> {
        let mut end = 0;
        let lengths = rows.clone().map(|row| vectors.get(row).map_or(0, |vector| u64::from(vector.length)));
        let ends = lengths.map(|length| {
            end += length;
            end
        });
        let ends = ends.collect();
        let items = concat(&[items.as_ref(), default.as_ref()]).map_err(from_arrow)?;
        let base = vectors.item_start(rows.start);
        Ok(BlockArray::Sparse(Box::new(SparseRows {
            plan: self.clone(),
            vectors,
            first: rows.start,
            ends,
            items,
            base,
        })))
    }
}

/// List offsets of a range of rows, starting at 0.
fn item_offsets(vectors: &Vectors, rows: Range<usize>) -> Result<OffsetBuffer<i32>> {
    let base = vectors.item_start(rows.start);
    let offsets = (rows.start..=rows.end).map(|row| offset(vectors.item_start(row) - base));
    Ok(OffsetBuffer::new(offsets.collect::<Result<Vec<_>>>()?.into()))
}

fn offset(items: usize) -> Result<i32> {
    i32::try_from(items).map_err(|_| Error::limit("items of the vectors of a block", items as u64, 0x7FFF_FFFF))
}

impl SparseRows {
    fn end(&self, row: usize) -> u64 {
        row.checked_sub(1).and_then(|row| self.ends.get(row)).copied().unwrap_or(0)
    }

    fn bytes(&self, rows: Range<usize>) -> u64 {
        let items = self.end(rows.end) - self.end(rows.start);
        let more = measure::bytes(&self.items, self.stored(&rows));
        // Otherwise `take` needs an index of 64 bits per item.
        let place = if self.is_scattered() { 0 } else { 64 };
        items.saturating_mul(measure::width(self.items.data_type()) + place).div_ceil(8).saturating_add(more)
    }

    /// Whether stored items are numbers that can be dense_numbers into zeros.
    fn is_scattered(&self) -> bool {
        let numbers = self.items.data_type().is_integer()
            || matches!(self.items.data_type(), DataType::Float32 | DataType::Float64);
        numbers && self.items.null_count() == 0
    }

    /// Range of the stored items of some rows.
    fn stored(&self, rows: &Range<usize>) -> Range<usize> {
        let start = |row: usize| self.vectors.item_start(self.first + row) - self.base;
        start(rows.start)..start(rows.end)
    }

    /// Builds the dense form of a range of rows.
    fn to_dense(&self, rows: Range<usize>) -> Result<ArrayRef> {
        let total = self.end(rows.end) - self.end(rows.start);
        let total =
            usize::try_from(total).map_err(|_| Error::limit("items of sparse vectors", total, usize::MAX as u64))?;
        offset(total)?;
        let items = match self.items.data_type() {
            DataType::Int8 => self.dense_numbers::<Int8Type>(rows.clone(), total),
            DataType::Int16 => self.dense_numbers::<Int16Type>(rows.clone(), total),
            DataType::Int32 => self.dense_numbers::<Int32Type>(rows.clone(), total),
            DataType::Int64 => self.dense_numbers::<Int64Type>(rows.clone(), total),
            DataType::UInt8 => self.dense_numbers::<UInt8Type>(rows.clone(), total),
            DataType::UInt16 => self.dense_numbers::<UInt16Type>(rows.clone(), total),
            DataType::UInt32 => self.dense_numbers::<UInt32Type>(rows.clone(), total),
            DataType::UInt64 => self.dense_numbers::<UInt64Type>(rows.clone(), total),
            DataType::Float32 => self.dense_numbers::<Float32Type>(rows.clone(), total),
            DataType::Float64 => self.dense_numbers::<Float64Type>(rows.clone(), total),
            _ => self.dense_by_take(rows.clone(), total),
        }?;
        Ok(match self.plan.size {
            Some(size) => {
                let list =
                    FixedSizeListArray::try_new_with_length(Arc::clone(&self.plan.item), size, items, None, rows.len());
                Arc::new(list.map_err(from_arrow)?)
            }
            None => {
                let first = self.end(rows.start);
                // The total was checked above.
                let offsets =
                    (rows.start..=rows.end).map(|row| i32::try_from(self.end(row) - first).unwrap_or(i32::MAX));
                Arc::new(self.plan.list(OffsetBuffer::new(offsets.collect::<Vec<_>>().into()), items)?)
            }
        })
    }

    /// Calls `put` with the dense slot and the index of each stored item.
    fn for_each_stored(&self, rows: Range<usize>, mut put: impl FnMut(usize, usize)) {
        let first = self.end(rows.start);
        for row in rows {
            let Some(vector) = self.vectors.get(self.first + row) else { continue };
            let start = usize::try_from(self.end(row) - first).unwrap_or(usize::MAX);
            let stored = vector.range.start - self.base..vector.range.end - self.base;
            match vector.indices {
                None => stored.enumerate().for_each(|(slot, item)| put(start + slot, item)),
                Some(indices) => {
                    for (&slot, item) in indices.iter().zip(stored) {
                        put(start + usize::try_from(slot).unwrap_or(usize::MAX), item);
                    }
                }
            }
        }
    }

    /// Dense items of any type, by `take`.
    fn dense_by_take(&self, rows: Range<usize>, total: usize) -> Result<ArrayRef> {
        let default = self.items.len().saturating_sub(1) as u64;
        let mut vectors = vec![default; total];
        self.for_each_stored(rows, |slot, item| {
            if let Some(place) = vectors.get_mut(slot) {
                *place = item as u64;
            }
        });
        take(self.items.as_ref(), &UInt64Array::from(vectors), None).map_err(from_arrow)
    }

    /// Dense numbers, dense_numbers into zeros.
    fn dense_numbers<T: ArrowPrimitiveType>(&self, rows: Range<usize>, total: usize) -> Result<ArrayRef> {
        let items = self.items.as_primitive::<T>();
        let zero = items.values().last().is_none_or(|last| *last == T::Native::default());
        if items.null_count() > 0 || !zero {
            return self.dense_by_take(rows, total);
        }
        let mut all = vec![T::Native::default(); total];
        let stored: &[T::Native] = items.values();
        self.for_each_stored(rows, |slot, item| {
            if let (Some(to), Some(from)) = (all.get_mut(slot), stored.get(item)) {
                *to = *from;
            }
        });
        Ok(Arc::new(PrimitiveArray::<T>::try_new(all.into(), None).map_err(from_arrow)?))
    }
}
