//! Converts batches to rows: JSON lines, or any serde serializer.
//!
//! | Arrow type | JSON | other serializers |
//! |---|---|---|
//! | Null, null values | `null` | none |
//! | Boolean | `true`, `false` | bool |
//! | integers | number | integer |
//! | Float16, Float32 | the shortest digits that round-trip as 32 bits; `"NaN"`, `"Infinity"`, `"-Infinity"` | `f32`; non-finite as text in human-readable formats |
//! | Float64 | same as 64 bits | `f64`; same |
//! | Utf8, LargeUtf8, Utf8View | text | text |
//! | text with extension `arrow.json` | its content, validated, on one line | its content |
//! | Binary, LargeBinary, BinaryView, FixedSizeBinary | `{"$bytes": base64}` | bytes; as JSON in human-readable formats |
//! | Date32, Date64 | `"2024-05-01"` | text |
//! | Time32, Time64 | `"12:30:00.25"`, without trailing zeros | text |
//! | Timestamp | `"2024-05-01T12:30:00"`, with `Z` or the UTC offset if it has a time zone (`Z` for a named zone) | text |
//! | Duration | `"PT90.5S"`, `"-PT0.5S"`: in seconds | text |
//! | Decimal | all digits, as text | text |
//! | List, LargeList, FixedSizeList | array; nested for the dimensions of an `arrow.fixed_shape_tensor` | sequence |
//! | Struct | object with all members | map |
//! | Struct or Map with one name, which begins with `$` | `{"$escape": {..}}` | map; same in human-readable formats |
//! | Map | object; the name of a key that is not text is its JSON | map; same in human-readable formats |
//! | Dictionary | its values | its values |
//! | Interval, Union, list views, run-end encoded | unsupported | |

mod serial;
mod text;
mod values;

#[cfg(test)]
mod tests;

use arrow_array::RecordBatch;
use container_core::arrow::BatchReader;
use container_core::{Error, Loss, Result, Rows};

use self::serial::Row;
use self::text::Writer;
use self::values::Member;

/// Converts the rows of a batch to JSON.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{Float32Array, RecordBatch};
/// use container_arrow::JsonRows;
///
/// let batch = RecordBatch::try_from_iter([("x", Arc::new(Float32Array::from(vec![0.1, f32::NAN])) as _)]);
/// let mut rows = JsonRows::new(&batch.expect("valid batch"))?;
/// let mut out = Vec::new();
/// rows.write_lines(&mut out)?;
/// assert_eq!(out, b"{\"x\":0.1}\n{\"x\":\"NaN\"}\n");
/// # Ok::<(), container_core::Error>(())
/// ```
#[derive(Debug)]
pub struct JsonRows {
    members: Vec<Member>,
    rows: usize,
    writer: Writer,
}

impl JsonRows {
    /// Creates a converter that shares the memory of `batch`.
    ///
    /// # Errors
    /// [`Unsupported`](container_core::ErrorKind::Unsupported) with the column for a type without a JSON form.
    pub fn new(batch: &RecordBatch) -> Result<Self> {
        let columns = batch.schema_ref().fields().iter().zip(batch.columns());
        let members = columns.map(|(field, column)| Member::new(field, column, 0)).collect::<Result<_>>()?;
        Ok(Self { members, rows: batch.num_rows(), writer: Writer::new() })
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Returns true if there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Appends a row as a JSON object on one line, without the line feed.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a row past the end; [`Invalid`](container_core::ErrorKind::Invalid) with the column for invalid
    /// JSON in a JSON column. Nothing is appended then.
    pub fn write(&mut self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        if row >= self.rows {
            return Err(Error::usage(format!("row {row} out of range for a batch of {} rows", self.rows)));
        }
        let start = out.len();
        self.writer.members(&self.members, row, out).inspect_err(|_| out.truncate(start))
    }

    /// Appends all rows as JSON lines.
    ///
    /// # Errors
    /// As [`write`](Self::write), with the row number in the batch.
    pub fn write_lines(&mut self, out: &mut Vec<u8>) -> Result<()> {
        for row in 0..self.rows {
            self.write(row, out).map_err(|error| error.in_row(row as u64))?;
            out.push(b'\n');
        }
        Ok(())
    }

    /// Returns a row that serializes as a map from column name to value.
    #[must_use]
    pub fn row(&self, row: usize) -> impl serde::Serialize + '_ {
        Row { members: &self.members, at: row }
    }
}

/// Implements [`Rows`] for record batches.
pub struct BatchRows<'a> {
    reader: Box<dyn BatchReader + 'a>,
    current: Option<Current>,
    /// The number of the next row.
    next: u64,
    failed: bool,
}

struct Current {
    rows: JsonRows,
    at: usize,
}

impl<'a> BatchRows<'a> {
    /// Iterates over the rows of `reader`. `first` is the number of the first row in its table.
    #[must_use]
    pub fn new(reader: Box<dyn BatchReader + 'a>, first: u64) -> Self {
        Self { reader, current: None, next: first, failed: false }
    }

    fn step(&mut self) -> Result<bool> {
        if let Some(current) = &mut self.current {
            current.at += 1;
        }
        while self.current.as_ref().is_none_or(|current| current.at >= current.rows.len()) {
            self.current = None;
            let Some(batch) = self.reader.try_next()? else { return Ok(false) };
            self.current = Some(Current { rows: JsonRows::new(&batch)?, at: 0 });
        }
        self.next += 1;
        Ok(true)
    }
}

impl std::fmt::Debug for BatchRows<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BatchRows").field("next", &self.next).finish_non_exhaustive()
    }
}

impl Rows for BatchRows<'_> {
    fn advance(&mut self) -> Result<bool> {
        if self.failed {
            return Ok(false);
        }
        let stepped = self.step();
        if !matches!(stepped, Ok(true)) {
            (self.failed, self.current) = (true, None);
        }
        stepped
    }

    fn index(&self) -> u64 {
        self.next.saturating_sub(1)
    }

    fn row(&self) -> &dyn erased_serde::Serialize {
        self
    }

    fn json(&self, out: &mut Vec<u8>) -> Result<()> {
        let Some(Current { rows, at }) = &self.current else { return Err(Error::usage("no current row")) };
        let start = out.len();
        let written = Writer::new().members(&rows.members, *at, out);
        written.inspect_err(|_| out.truncate(start)).map_err(|error| error.in_row(self.index()))
    }

    fn losses(&self) -> Vec<Loss> {
        self.reader.losses()
    }
}

/// Serializes the current row as a map from column name to value.
impl serde::Serialize for BatchRows<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.current {
            Some(Current { rows, at }) => Row { members: &rows.members, at: *at }.serialize(serializer),
            None => Err(serde::ser::Error::custom("no current row")),
        }
    }
}
