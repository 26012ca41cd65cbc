use std::collections::HashMap;
use std::sync::Arc;

use container_core::{Error, Loss, Position, Result, Scan};
use serde_core::ser::{Serialize, SerializeMap, Serializer};

use super::budget::Budget;
use super::{Batches, Reader};
use crate::FORMAT_NAME;
use crate::codec::Values;
use crate::value::{Labels, Value, ValueFormat};
use crate::wire::{ItemType, Type, Version};

/// A row iterator over [`Batches`], for `serde`.
///
/// Shares the file with the [`Reader`] and may outlive it.
pub struct Rows {
    batches: Batches,
    columns: Vec<RowColumn>,
    index: u64,
    /// Row range of the current batch.
    batch_end: u64,
    batch_start: u64,
    started: bool,
    /// Maximum bytes of a row.
    row_limit: u64,
    /// Same as `row_limit` if the current batch exceeds it, so that each row is checked.
    row_bytes: Option<u64>,
    failed: bool,
    left_out: Vec<Loss>,
}

/// A column of the projection.
struct RowColumn {
    name: String,
    /// The JSON member prefix, `"name":`.
    member: Vec<u8>,
    item: ItemType,
    labels: Option<Arc<Labels>>,
    missing_integers: bool,
    missing_floats: bool,
    missing_spans: bool,
    /// Number of keys above the key count, shown as missing.
    bad_keys: u64,
    first_bad_key: u64,
}

/// One row. Serializes as a map from column name to value.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    rows: &'a Rows,
}

impl Reader {
    /// Iterates over rows.
    ///
    /// With [`Scan::missing_as_null`], NaN and, in files up to version 1.1.1.5, the minimum of a signed integer type are missing.
    ///
    /// # Errors
    /// As [`batches`](Self::batches), and any defect of a key column's labels.
    pub fn rows(&self, scan: &Scan) -> Result<Rows> {
        let mut batches = self.batches(scan)?;
        let (indices, left_out) = self.projection(scan.columns.as_deref());
        let mut known = HashMap::new();
        let columns =
            indices.iter().map(|&index| self.row_column(index, scan.missing_as_null, &mut known, batches.budget()));
        let columns = columns.collect::<Result<_>>()?;
        let index = scan.rows.start;
        Ok(Rows {
            batches,
            columns,
            index,
            batch_end: index,
            batch_start: index,
            started: false,
            row_limit: self.row_bytes(),
            row_bytes: None,
            failed: false,
            left_out,
        })
    }

    /// The columns to read, by default all readable ones, and the unreadable columns left out by that default.
    pub(crate) fn projection(&self, columns: Option<&[usize]>) -> (Vec<usize>, Vec<Loss>) {
        if let Some(columns) = columns {
            return (columns.to_vec(), Vec::new());
        }
        let (mut readable, mut left_out) = (Vec::with_capacity(self.columns().len()), Vec::new());
        for column in self.columns() {
            match column.kind() {
                Ok(_) => readable.push(column.index()),
                Err(unreadable) => {
                    let mut first = Position::of_column(column.unique_name().to_owned());
                    first.byte = unreadable.byte;
                    left_out.push(Loss::new(format!("column left out ({unreadable})"), 1, first));
                }
            }
        }
        (readable, left_out)
    }

    /// `known` caches labels by metadata table, which columns may share.
    fn row_column(
        &self,
        index: usize,
        missing_as_null: bool,
        known: &mut KnownLabels,
        budget: &mut Budget,
    ) -> Result<RowColumn> {
        let column = self.column_at(index)?;
        let item = column.kind().map_err(super::Unreadable::to_error)?.item();
        let mut labels = None;
        if let (ItemType::Key(_), Some(table)) = (item, column.entry.metadata_offset) {
            labels = match known.get(&table) {
                Some(labels) => labels.clone(),
                None => {
                    let labels = self.labels_within(index, budget)?.map(Arc::new);
                    known.insert(table, labels.clone());
                    labels
                }
            };
        }
        let name = column.unique_name().to_owned();
        let mut member = json_bytes(&name)?;
        member.push(b':');
        Ok(RowColumn {
            name,
            member,
            item,
            labels,
            missing_integers: missing_as_null && self.header().version <= Version::V5,
            missing_floats: missing_as_null,
            missing_spans: self.header().version <= Version::V5,
            bad_keys: 0,
            first_bad_key: 0,
        })
    }

    /// The labels of a key column, from its metadata `KeyValues`, if any.
    ///
    /// # Errors
    /// As [`metadata_value`](Self::metadata_value).
    pub fn labels(&self, column: usize) -> Result<Option<Labels>> {
        self.labels_within(column, &mut self.memory_budget())
    }

    /// Like [`labels`](Self::labels), charged to a budget.
    pub(crate) fn labels_within(&self, column: usize, budget: &mut Budget) -> Result<Option<Labels>> {
        let metadata = self.metadata(column)?;
        let Some(key_values) = metadata.iter().find(|metadata| metadata.kind() == "KeyValues") else { return Ok(None) };
        // An unsupported type means no labels; damage is an error.
        let Ok(value_type) = key_values.value_type() else { return Ok(None) };
        Ok(Labels::new(self.metadata_value_within(column, key_values, budget)?, value_type))
    }
}

/// Labels by the offset of their metadata table.
type KnownLabels = HashMap<u64, Option<Arc<Labels>>>;

fn json_bytes<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|cause| Error::invalid("a name cannot be written as JSON").caused_by(cause))
}

impl Rows {
    /// The next row; `None` at the end and after an error.
    ///
    /// # Errors
    /// Any defect of the row's block.
    pub fn try_next(&mut self) -> Result<Option<Row<'_>>> {
        Ok(self.advance()?.then_some(Row { rows: self }))
    }

    /// Moves to the next row; false at the end and after an error.
    ///
    /// # Errors
    /// Any defect of the row's block.
    pub fn advance(&mut self) -> Result<bool> {
        let next = if self.started { self.index + 1 } else { self.index };
        if next < self.batch_end {
            self.index = next;
            self.started = true;
            return self.check_row();
        }
        Ok(self.next_batch()? && self.check_row()?)
    }

    /// Fails, ending the iteration, when the current row exceeds the row limit.
    #[inline]
    fn check_row(&mut self) -> Result<bool> {
        match self.row_bytes {
            None => Ok(true),
            Some(limit) => self.check_row_bytes(limit),
        }
    }

    #[cold]
    fn check_row_bytes(&mut self, limit: u64) -> Result<bool> {
        let index = usize::try_from(self.index - self.batch_start).unwrap_or(usize::MAX);
        let Some(batch) = self.batches.current() else { return Ok(true) };
        let bytes = |slot: usize| {
            batch.column(slot).map_or(0, |slice| value_bytes(slice.values, slice.range.start.saturating_add(index)))
        };
        let total = (0..batch.column_count()).map(bytes).fold(0, u64::saturating_add);
        if total <= limit {
            return Ok(true);
        }
        let largest = (0..batch.column_count()).max_by_key(|slot| bytes(*slot));
        let name = largest.and_then(|slot| self.columns.get(slot)).map(|column| column.name.clone());
        let error = Error::limit("bytes of a row", total, limit).in_row(self.index).in_format(FORMAT_NAME);
        self.batch_end = self.batch_start;
        self.failed = true;
        Err(match name {
            Some(name) => error.in_column(name),
            None => error,
        })
    }

    fn next_batch(&mut self) -> Result<bool> {
        if self.failed {
            return Ok(false);
        }
        let advanced = self.batches.advance();
        let Some(batch) = self.batches.current().filter(|_| matches!(advanced, Ok(true))) else {
            self.batch_end = self.batch_start;
            return advanced;
        };
        for (index, column) in self.columns.iter_mut().enumerate() {
            if let (ItemType::Key(key), Some(slice)) = (column.item, batch.column(index)) {
                column.count_bad_keys(key, slice.values, slice.range, batch.rows().start);
            }
        }
        let rows = batch.rows();
        self.row_bytes = Some(self.row_limit).filter(|&limit| self.batches.decoded_bytes() > limit);
        (self.batch_start, self.batch_end, self.index, self.started) = (rows.start, rows.end, rows.start, true);
        Ok(true)
    }

    /// The current row; `None` before the first and after the last.
    #[must_use]
    pub fn current(&self) -> Option<Row<'_>> {
        (self.started && self.index < self.batch_end).then_some(Row { rows: self })
    }

    /// Number of the current row, from 0.
    #[must_use]
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Losses so far: unreadable columns left out, and keys above the key count (counted for whole blocks).
    #[must_use]
    pub fn losses(&self) -> Vec<Loss> {
        let mut losses = self.left_out.clone();
        for column in self.columns.iter().filter(|column| column.bad_keys > 0) {
            let first = Position::of_column(column.name.clone()).in_row(column.first_bad_key);
            losses.push(Loss::new("key above its count shown as missing", column.bad_keys, first));
        }
        losses
    }
}

impl RowColumn {
    fn format(&self) -> ValueFormat<'_> {
        ValueFormat {
            item: self.item,
            labels: self.labels.as_deref(),
            missing_integers: self.missing_integers,
            missing_floats: self.missing_floats,
            missing_spans: self.missing_spans,
        }
    }

    fn count_bad_keys(&mut self, key: crate::KeyType, values: &Values, range: std::ops::Range<usize>, first_row: u64) {
        let (mut row, end) = (range.start, range.end);
        while row < end {
            let (stored, places) = match values {
                Values::Vector(vectors) => match vectors.get(row) {
                    Some(vector) => (vector.values, vector.range),
                    None => return,
                },
                values => (values, row..row + 1),
            };
            let bad = places.filter(|&index| stored.stored_key(index).is_some_and(|k| key.value(k).is_err())).count();
            if bad > 0 {
                if self.bad_keys == 0 {
                    self.first_bad_key = first_row + (row - range.start) as u64;
                }
                self.bad_keys += bad as u64;
            }
            row += 1;
        }
    }
}

impl<'a> Row<'a> {
    /// Row number in the file, from 0.
    #[must_use]
    pub fn index(&self) -> u64 {
        self.rows.index
    }

    /// Number of columns of the projection.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.columns.len()
    }

    /// Whether the projection has no columns.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.columns.is_empty()
    }

    /// The unique name of a column, by its index in the projection.
    #[must_use]
    pub fn name(&self, column: usize) -> Option<&'a str> {
        self.rows.columns.get(column).map(|column| column.name.as_str())
    }

    /// The value of a column, by its index in the projection.
    #[must_use]
    pub fn get(&self, column: usize) -> Option<Value<'a>> {
        let slice = self.rows.batches.current()?.column(column)?;
        let index = slice.range.start + usize::try_from(self.rows.index - self.rows.batch_start).ok()?;
        Some(self.rows.columns.get(column)?.format().value(slice.values, index))
    }

    /// The value of a column by its unique name.
    #[must_use]
    pub fn by_name(&self, unique_name: &str) -> Option<Value<'a>> {
        let column = self.rows.columns.iter().position(|column| column.name == unique_name)?;
        self.get(column)
    }

    /// Appends the row as a JSON object, without a line feed.
    ///
    /// # Errors
    /// Errors of the JSON serializer; none are expected.
    pub fn json(&self, out: &mut Vec<u8>) -> Result<()> {
        out.push(b'{');
        for (index, column) in self.rows.columns.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.extend_from_slice(&column.member);
            let value = self.get(index).unwrap_or(Value::Missing);
            serde_json::to_writer(&mut *out, &value).map_err(|cause| {
                Error::invalid("the value cannot be written as JSON")
                    .caused_by(cause)
                    .in_row(self.index())
                    .in_format(FORMAT_NAME)
            })?;
        }
        out.push(b'}');
        Ok(())
    }
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len()))?;
        for (index, column) in self.rows.columns.iter().enumerate() {
            map.serialize_entry(&column.name, &self.get(index))?;
        }
        map.end()
    }
}

/// Serializes the current row; an empty map before the first and after the last.
impl Serialize for Rows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.current() {
            Some(row) => row.serialize(serializer),
            None => serializer.serialize_map(Some(0))?.end(),
        }
    }
}

/// Approximate size of a value in bytes.
fn value_bytes(values: &Values, index: usize) -> u64 {
    let (items, range) = match values {
        Values::Vector(vectors) => match vectors.get(index) {
            Some(vector) => (vector.values, vector.range),
            None => return 0,
        },
        items => (items, index..index.saturating_add(1)),
    };
    let width = match items {
        Values::Text(texts) => return range.filter_map(|item| texts.get(item)).map(|text| text.len() as u64 + 4).sum(),
        Values::Byte(_) | Values::SByte(_) | Values::Boolean(_) | Values::DvBool(_) => 1,
        Values::Int16(_) | Values::UInt16(_) => 2,
        Values::Int32(_) | Values::UInt32(_) | Values::Single(_) => 4,
        Values::RowId(_) => 16,
        _ => 8,
    };
    range.len() as u64 * width
}

/// A metadata value as a [`Value`].
pub(crate) fn metadata_as_value<'a>(value_type: &Type, values: &'a Values) -> Value<'a> {
    ValueFormat::plain(value_type.item()).value(values, 0)
}
