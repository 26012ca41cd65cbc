//! Converting serializable rows to columns.

mod fields;
mod item;
mod sparse;
mod value;

use std::collections::HashMap;
use std::fmt;

use container_core::{Error, Result};
use serde_core::ser::Serialize;

use self::fields::RowSerializer;
use super::cell::{Cell, KeyLabels, can_be_missing, cannot_be_missing, quoted};
use crate::FORMAT_NAME;
use crate::codec::Values;
use crate::read::unique_names;
use crate::schema::Schema;
use crate::wire::Type;

/// A buffer of rows, stored as columns.
///
/// A row is a struct or map with members named like the columns (their unique names, `#2`, `#3`... for repeated ones) in any order, or a
/// tuple or sequence with one item per column. A member may be absent or null if the column can be missing. Values convert as in
/// [`Values::push_cell`]: numbers as [`Cell::Int`] or floats, strings as [`Cell::Text`]. A time with offset may be the pair of ticks and
/// minutes; a vector is a sequence (nested for several dimensions), bytes, or a map `{"$sparse": {"length", "indices", "values"}}`.
#[derive(Default)]
pub(crate) struct RowBuffer {
    columns: Vec<Column>,
    by_name: HashMap<String, usize>,
    values: Vec<Values>,
    rows: usize,
    /// Rows before the first one in the buffer.
    before: u64,
    /// Per column, the last `round` in which it got a value.
    filled: Vec<u64>,
    /// Number of rows attempted.
    round: u64,
}

/// A column to fill.
struct Column {
    name: String,
    kind: Type,
    labels: Option<KeyLabels>,
}

impl RowBuffer {
    /// An empty buffer for these columns.
    pub(crate) fn new(schema: &Schema) -> Self {
        let names = || schema.columns.iter().map(|column| column.name.as_str());
        let unique = unique_names(names()).into_iter().zip(names());
        let names: Vec<String> =
            unique.map(|(unique, name)| unique.map_or_else(|| name.to_owned(), String::from)).collect();
        let by_name = names.iter().enumerate().map(|(index, name)| (name.clone(), index)).collect();
        let column = |(column, name): (&crate::ColumnSchema, String)| Column {
            name,
            kind: column.kind.clone(),
            labels: KeyLabels::of(column),
        };
        let columns: Vec<Column> = schema.columns.iter().zip(names).map(column).collect();
        let values = columns.iter().map(|column| Values::of(&column.kind)).collect();
        let filled = vec![0; columns.len()];
        Self { columns, by_name, values, rows: 0, before: 0, filled, round: 0 }
    }

    /// Appends a row, all or nothing.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid), with row (from 0) and column: a value of the wrong type or out of range, an unknown,
    /// duplicate or missing member; errors of the row's `Serialize`. [`Limit`](container_core::ErrorKind::Limit) for 2^31 bytes of text or
    /// more.
    pub(crate) fn push<T: Serialize + ?Sized>(&mut self, row: &T) -> Result<()> {
        self.round += 1;
        let mut builder = RowBuilder {
            columns: &self.columns,
            by_name: &self.by_name,
            values: &mut self.values,
            filled: &mut self.filled,
            round: self.round,
            next: 0,
            current: None,
        };
        let Err(RowError(error)) = row.serialize(RowSerializer(&mut builder)) else {
            self.rows += 1;
            return Ok(());
        };
        let current = builder.current;
        for values in &mut self.values {
            values.truncate(self.rows);
        }
        let error = match current.and_then(|index| self.columns.get(index)) {
            Some(column) => error.in_column(column.name.clone()),
            None => error,
        };
        Err(error.in_row(self.before + self.rows as u64).in_format(FORMAT_NAME))
    }

    /// The values per column, [`len`](Self::len) each.
    pub(crate) fn values(&self) -> &[Values] {
        &self.values
    }

    /// Number of rows.
    pub(crate) const fn len(&self) -> usize {
        self.rows
    }

    /// Sets the number of the first row.
    pub(crate) const fn begin(&mut self, before: u64) {
        self.before = before;
    }

    /// Removes all rows and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.values.iter_mut().for_each(Values::clear);
        self.before += self.rows as u64;
        self.rows = 0;
    }
}

/// State while one row is serialized.
struct RowBuilder<'b> {
    columns: &'b [Column],
    by_name: &'b HashMap<String, usize>,
    values: &'b mut [Values],
    filled: &'b mut [u64],
    round: u64,
    /// The column that most likely comes next.
    next: usize,
    /// The column whose value is being read.
    current: Option<usize>,
}

impl RowBuilder<'_> {
    /// The column index of a member.
    fn column(&self, name: &str) -> Result<usize, RowError> {
        let index = match self.columns.get(self.next) {
            Some(column) if column.name == name => self.next,
            _ => *self.by_name.get(name).ok_or_else(|| self.unknown(name))?,
        };
        if self.filled.get(index) == Some(&self.round) {
            return Err(RowError(Error::invalid(format!("duplicate member {}", quoted(name)))));
        }
        Ok(index)
    }

    #[cold]
    fn unknown(&self, name: &str) -> RowError {
        const MAX_LISTED: usize = 8;
        let mut names: Vec<String> = self.columns.iter().take(MAX_LISTED).map(|column| quoted(&column.name)).collect();
        if self.columns.len() > MAX_LISTED {
            names.push(format!("{} more", self.columns.len() - MAX_LISTED));
        }
        RowError(Error::invalid(format!("unknown member {} (columns: {})", quoted(name), names.join(", "))))
    }

    /// Appends a value to a column.
    fn put<T: Serialize + ?Sized>(&mut self, index: usize, value: &T) -> Result<(), RowError> {
        self.current = Some(index);
        if let (Some(column), Some(values), Some(filled)) =
            (self.columns.get(index), self.values.get_mut(index), self.filled.get_mut(index))
        {
            *filled = self.round;
            value.serialize(value::Column { values, kind: &column.kind, labels: column.labels.as_ref() })?;
        }
        self.current = None;
        self.next = index + 1;
        Ok(())
    }

    /// Sets columns without a member to missing.
    fn finish(&mut self) -> Result<(), RowError> {
        for (index, (column, filled)) in self.columns.iter().zip(self.filled.iter()).enumerate() {
            if *filled == self.round {
                continue;
            }
            self.current = Some(index);
            if !can_be_missing(&column.kind) {
                let why = cannot_be_missing(&column.kind);
                return Err(RowError(Error::invalid(format!("missing member: {}", why.detail()))));
            }
            if let Some(values) = self.values.get_mut(index) {
                values.push_cell(&column.kind, None, Cell::Missing)?;
            }
        }
        self.current = None;
        Ok(())
    }
}

/// The serializers' error type.
struct RowError(Error);

impl From<Error> for RowError {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl serde_core::ser::Error for RowError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(Error::invalid(message.to_string()))
    }
}

impl std::error::Error for RowError {}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests;
