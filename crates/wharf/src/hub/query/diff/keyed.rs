//! Compares rows by a key: those of the other input are kept in memory, and looked up.

use std::collections::HashMap;

use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use container_arrow::from_arrow;
use container_core::{Error, Result};

use super::Batches;
use super::ValueDifference;
use super::cells::Cells;
use super::values::{Aligned, Found};
use crate::hub::query::scalar_of as scalar;

/// Where a key was found.
enum Slot {
    /// In the other input: its batch and row there, and whether the first input has it, too.
    Other { batch: usize, row: usize, is_matched: bool },
    /// In the first input only.
    One,
}

/// The column that identifies rows.
pub(super) struct Key {
    /// Its index in each input.
    pub(super) indexes: [usize; 2],
    /// One input has it as 32-bit floats, the other as 64-bit ones.
    pub(super) narrow: bool,
}

/// The rows of the other input by their keys.
struct Table {
    batches: Vec<RecordBatch>,
    /// The number of the first row of each batch.
    first_rows: Vec<u64>,
    slots: HashMap<Box<[u8]>, Slot>,
    bytes: usize,
    max_bytes: usize,
}

/// What a key takes in memory besides its bytes.
const KEY_BYTES: usize = 64;

impl Table {
    fn grow(&mut self, bytes: usize) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes <= self.max_bytes {
            return Ok(());
        }
        let error =
            Error::limit("bytes of the rows that are compared by key", self.bytes as u64, self.max_bytes as u64);
        Err(error.advising("sort both inputs and compare them by position, or select {columns} and {rows}"))
    }
}

pub(super) fn compare(one: Batches, other: Batches, key: Key, max_bytes: usize, found: &mut Found) -> Result<()> {
    let Key { indexes: [own_key, other_key], narrow } = key;
    let mut table = Table { batches: Vec::new(), first_rows: Vec::new(), slots: HashMap::new(), bytes: 0, max_bytes };
    let mut bytes = Vec::new();
    for batch in other {
        let batch = batch?;
        let size = batch.columns().iter().map(|column| column.to_data().get_slice_memory_size().unwrap_or(0));
        table.grow(size.sum())?;
        let (number, first) = (table.batches.len(), found.differences.rows[1]);
        let keys = column(&batch, other_key)?;
        let cells = Cells::new(&keys)?;
        for row in 0..batch.num_rows() {
            key_bytes((&cells, narrow), row, first, "other", &mut bytes)?;
            table.grow(bytes.len() + KEY_BYTES)?;
            let slot = Slot::Other { batch: number, row, is_matched: false };
            if table.slots.insert(bytes.as_slice().into(), slot).is_some() {
                return Err(twice(&keys, row, first, "other"));
            }
        }
        found.differences.rows[1] += batch.num_rows() as u64;
        table.first_rows.push(first);
        table.batches.push(batch);
    }
    for batch in one {
        let batch = batch?;
        let first = found.differences.rows[0];
        look_up(&mut table, &batch, (own_key, narrow), first, found)?;
        found.differences.rows[0] += batch.num_rows() as u64;
    }
    only_in_other(&table, other_key, found)
}

/// Compares the rows of a batch of the first input with those of the same keys.
fn look_up(
    table: &mut Table,
    batch: &RecordBatch,
    (key, narrow): (usize, bool),
    first: u64,
    found: &mut Found,
) -> Result<()> {
    let keys = column(batch, key)?;
    let cells = Cells::new(&keys)?;
    let (mut bytes, mut rows, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..batch.num_rows() {
        key_bytes((&cells, narrow), row, first, "first", &mut bytes)?;
        match table.slots.get_mut(bytes.as_slice()) {
            Some(Slot::Other { batch, row: place, is_matched }) if !*is_matched => {
                *is_matched = true;
                rows.push(row);
                places.push((*batch, *place));
            }
            Some(_) => return Err(twice(&keys, row, first, "first")),
            None => {
                table.grow(bytes.len() + KEY_BYTES)?;
                table.slots.insert(bytes.as_slice().into(), Slot::One);
                found.differences.only[0] += 1;
                if found.space() > 0 {
                    found.differences.first.push(ValueDifference {
                        rows: found.numbers([Some(first + row as u64), None]),
                        key: Some(scalar(&keys, row)?),
                        column: None,
                        values: [None, None],
                    });
                }
            }
        }
    }
    if rows.is_empty() {
        return Ok(());
    }
    let indexes = UInt32Array::from_iter_values(rows.iter().map(|row| u32::try_from(*row).unwrap_or(u32::MAX))); // a batch has fewer rows
    let left = arrow_select::take::take_record_batch(batch, &indexes).map_err(from_arrow)?;
    let batches: Vec<&RecordBatch> = table.batches.iter().collect();
    let right = arrow_select::interleave::interleave_record_batch(&batches, &places).map_err(from_arrow)?;
    let keys = column(&left, key)?;
    let number = |at: usize| {
        let row = rows.get(at).map_or(0, |row| first + *row as u64);
        let other = places.get(at).and_then(|(batch, row)| Some(table.first_rows.get(*batch)? + *row as u64));
        [row, other.unwrap_or(0)]
    };
    found.compare(&Aligned { batches: [&left, &right], rows: &number, key: Some(&keys) })
}

/// Counts the rows that only the other input has.
fn only_in_other(table: &Table, key: usize, found: &mut Found) -> Result<()> {
    let unmatched = table.slots.values().filter_map(|slot| match slot {
        Slot::Other { batch, row, is_matched: false } => Some((*batch, *row)),
        _ => None,
    });
    let mut places: Vec<(usize, usize)> = unmatched.collect();
    found.differences.only[1] = places.len() as u64;
    places.sort_unstable();
    for (number, row) in places.into_iter().take(found.space()) {
        let (Some(batch), Some(first)) = (table.batches.get(number), table.first_rows.get(number)) else { continue };
        found.differences.first.push(ValueDifference {
            rows: found.numbers([None, Some(first + row as u64)]),
            key: Some(scalar(&column(batch, key)?, row)?),
            column: None,
            values: [None, None],
        });
    }
    Ok(())
}

fn column(batch: &RecordBatch, index: usize) -> Result<ArrayRef> {
    let column = batch.columns().get(index).cloned();
    column.ok_or_else(|| Error::invalid("a batch has fewer columns than its schema"))
}

fn key_bytes((cells, narrow): (&Cells, bool), row: usize, first: u64, which: &str, bytes: &mut Vec<u8>) -> Result<()> {
    bytes.clear();
    match cells.key(row, narrow, bytes) {
        true => Ok(()),
        false => Err(Error::invalid(format!("the key is null in the {which} input")).in_row(first + row as u64)),
    }
}

fn twice(keys: &ArrayRef, row: usize, first: u64, which: &str) -> Error {
    let key = scalar(keys, row).map(|key| key.get().to_owned()).unwrap_or_default();
    Error::invalid(format!("the key {key} occurs twice in the {which} input")).in_row(first + row as u64)
}
