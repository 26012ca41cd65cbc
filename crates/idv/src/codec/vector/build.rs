//! Building vectors for writing.
//!
//! Two representations: compact, with only the common length, while all vectors are dense and equally long; otherwise length, count and
//! offsets per vector.

use std::ops::Range;

use container_core::{Error, Result};

use super::super::Values;
use super::Vectors;
use crate::wire::ItemType;

impl Vectors {
    /// Empty vectors of an item type.
    #[must_use]
    pub fn of(item: ItemType) -> Self {
        Self { values: Values::of_item(item), ..Self::default() }
    }

    /// The stored items of all vectors, followed by those of the open vector: append to them.
    ///
    /// Do not remove items of closed vectors; closing the next vector fails then.
    pub fn items_mut(&mut self) -> &mut Values {
        &mut self.values
    }

    /// Closes a dense vector of the items appended since the last one, possibly none.
    ///
    /// # Errors
    /// [`Limit`](container_core::ErrorKind::Limit) for more than 2^31 - 1 items, which are removed again.
    pub fn close_dense(&mut self) -> Result<()> {
        let open = self.open_items()?;
        let length = self.checked_length(open)?;
        if self.counts.is_empty() && self.lengths.is_empty() && self.length.is_none_or(|all| all == length) {
            self.length = Some(length);
        } else {
            self.expand();
            self.put(length, -1, open, &[]);
        }
        self.rows += 1;
        Ok(())
    }

    /// Closes a sparse vector of `length` items. The items appended since the last one are in the slots `indices`, increasing from 0; all
    /// other slots have the type's default. A vector that stores every item becomes dense.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when the numbers of items and slots differ, slots do not increase or are not below the
    /// length; [`Limit`](container_core::ErrorKind::Limit) for a length above 2^31 - 1. The items are removed again.
    pub fn close_sparse(&mut self, length: u32, indices: &[u32]) -> Result<()> {
        let open = self.open_items()?;
        if let Err(error) = check_slots(length, indices, open) {
            self.drop_open(open);
            return Err(error);
        }
        if indices.len() as u64 == u64::from(length) {
            return self.close_dense();
        }
        let count = i32::try_from(indices.len()).map_err(|_| too_long(indices.len()))?;
        if i32::try_from(length).is_err() {
            self.drop_open(open);
            return Err(too_long(length.try_into().unwrap_or(usize::MAX)));
        }
        self.expand();
        self.put(length, count, open, indices);
        self.rows += 1;
        Ok(())
    }

    /// Number of items appended since the last vector.
    fn open_items(&self) -> Result<usize> {
        let closed = self.closed_items();
        self.values.len().checked_sub(closed).ok_or_else(|| {
            Error::usage(format!(
                "items of closed vectors were removed: expected at least {closed}, found {}",
                self.values.len()
            ))
        })
    }

    /// Number of stored items of closed vectors.
    pub(in crate::codec) fn closed_items(&self) -> usize {
        self.item_start(self.rows)
    }

    /// Start of a vector's stored items; the end of all items past the end.
    pub(crate) fn item_start(&self, row: usize) -> usize {
        match self.length {
            Some(length) if self.counts.is_empty() => row.min(self.rows).saturating_mul(to_usize(length)),
            _ => match (self.value_starts.get(row), self.rows.checked_sub(1).and_then(|last| self.get(last))) {
                (Some(&start), _) => start,
                (None, Some(last)) => last.range.end,
                (None, None) => 0,
            },
        }
    }

    /// Start of a vector's indices; the end of all indices past the end.
    pub(in crate::codec) fn index_start(&self, row: usize) -> usize {
        self.index_starts.get(row).copied().unwrap_or(self.indices.len())
    }

    /// The common length of a range; `None` if lengths differ or the range is empty.
    pub(in crate::codec) fn same_length(&self, range: Range<usize>) -> Option<u32> {
        if self.length.is_some() {
            return self.length.filter(|_| !range.is_empty());
        }
        let lengths = self.lengths.get(range)?;
        let first = *lengths.first()?;
        u32::try_from(first).ok().filter(|_| lengths.iter().all(|&length| length == first))
    }

    /// The indices of a range.
    pub(in crate::codec) fn indices_of(&self, range: Range<usize>) -> &[u32] {
        let all = self.index_start(range.start)..self.index_start(range.end);
        self.indices.get(all).unwrap_or_default()
    }

    fn checked_length(&mut self, open: usize) -> Result<u32> {
        match i32::try_from(open) {
            Ok(_) => u32::try_from(open).map_err(|_| too_long(open)),
            Err(_) => {
                self.drop_open(open);
                Err(too_long(open))
            }
        }
    }

    fn drop_open(&mut self, open: usize) {
        let keep = self.values.len().saturating_sub(open);
        self.values.truncate(keep);
    }

    /// Switches from the compact representation to one entry per vector.
    fn expand(&mut self) {
        if let Some(length) = self.length.take() {
            // Lengths fit an i32.
            self.lengths.clear();
            self.lengths.resize(self.rows, i32::try_from(length).unwrap_or(i32::MAX));
            if self.counts.is_empty() {
                let width = to_usize(length);
                self.counts.resize(self.rows, -1);
                self.value_starts.extend((0..self.rows).map(|row| row * width));
                self.index_starts.resize(self.rows, 0);
            }
        }
    }

    /// Records a vector whose items are the last `stored` ones.
    fn put(&mut self, length: u32, count: i32, stored: usize, indices: &[u32]) {
        self.lengths.push(i32::try_from(length).unwrap_or(i32::MAX));
        self.counts.push(count);
        self.value_starts.push(self.values.len() - stored);
        self.index_starts.push(self.indices.len());
        self.indices.extend_from_slice(indices);
    }

    pub(in crate::codec) fn truncate(&mut self, rows: usize) {
        let rows = rows.min(self.rows);
        let (items, indices) = (self.item_start(rows), self.index_start(rows));
        self.values.truncate(items);
        self.indices.truncate(indices);
        self.lengths.truncate(rows);
        self.counts.truncate(rows);
        self.value_starts.truncate(rows);
        self.index_starts.truncate(rows);
        self.rows = rows;
        if rows == 0 {
            self.length = None;
        }
    }

    /// Appends a range of vectors. Items of an open vector are dropped.
    pub(in crate::codec) fn extend_from(&mut self, other: &Self, range: Range<usize>) -> Result<()> {
        if range.start > range.end || range.end > other.rows {
            return Err(Error::usage(format!(
                "vectors {}..{} are out of bounds for {}",
                range.start, range.end, other.rows
            )));
        }
        let items = other.item_start(range.start)..other.item_start(range.end);
        let closed = self.closed_items();
        self.values.truncate(closed);
        if !items.is_empty() {
            self.values.extend_from(&other.values, items.clone())?;
        }
        let compact = self.counts.is_empty() && self.lengths.is_empty();
        match other.dense_length() {
            Some(length) if compact && self.length.is_none_or(|all| all == length) => {
                if !range.is_empty() {
                    self.length = Some(length);
                }
            }
            _ => {
                self.expand();
                let (first_item, first_index) = (items.start, other.index_start(range.start));
                let index_base = self.indices.len();
                let slots = first_index..other.index_start(range.end);
                self.indices.extend_from_slice(other.indices.get(slots).unwrap_or_default());
                for row in range.clone() {
                    let length = other.get(row).map_or(0, |vector| vector.length);
                    self.lengths.push(i32::try_from(length).unwrap_or(i32::MAX));
                    self.counts.push(other.counts.get(row).copied().unwrap_or(-1));
                    self.value_starts.push(other.item_start(row) - first_item + closed);
                    self.index_starts.push(other.index_start(row) - first_index + index_base);
                }
            }
        }
        self.rows += range.len();
        Ok(())
    }
}

fn check_slots(length: u32, indices: &[u32], items: usize) -> Result<()> {
    if indices.len() != items {
        return Err(Error::usage(format!("a sparse vector has {items} items for {} slots", indices.len())));
    }
    let mut next = 0;
    for &index in indices {
        if index < next || index >= length {
            return Err(Error::usage(format!("slot {index} is not between {next} and {length} (not included)")));
        }
        next = index + 1;
    }
    Ok(())
}

#[cold]
fn too_long(items: usize) -> Error {
    Error::limit("items of a vector", items as u64, 0x7FFF_FFFF)
}

fn to_usize(length: u32) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}
