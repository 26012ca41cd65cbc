//! Rows of any type that serde can serialize, into columns.

mod fields;
mod item;
mod sparse;
mod value;

use std::collections::HashMap;
use std::fmt;

use container_core::{Error, Result};
use serde::ser::Serialize;

use self::fields::RowSerializer;
use super::cell::{Cell, KeyLabels, can_be_missing, cannot_be_missing, shown};
use crate::FORMAT_NAME;
use crate::codec::Values;
use crate::read::unique_names;
use crate::schema::Schema;
use crate::wire::Type;

/// Rows put into columns one after another.
///
/// A row is a struct or a map whose members are named like the columns (repeated names of columns get `#2`, `#3`..., as the reader shows
/// them), in any order, or a tuple or sequence with an item for each column. A member may be absent, or null, where the column's
/// type can be missing. Values are taken as [`Values::push_cell`] takes them: numbers as [`Cell::Int`] or floats, strings as [`Cell::Text`]. A
/// time with offset may be the pair of its ticks and minutes, a vector is a sequence, sequences in each other for several dimensions, a map
/// `{"$sparse": {"length", "indices", "values"}}`, or bytes.
#[derive(Default)]
pub(crate) struct RowBuffer {
    columns: Vec<Column>,
    by_name: HashMap<String, usize>,
    values: Vec<Values>,
    rows: usize,
    /// Rows that were taken out.
    before: u64,
    /// For each column, the number of the row (from 1) that it has a value of.
    filled: Vec<u64>,
    /// The number of rows tried.
    round: u64,
}

/// A column as rows see it.
struct Column {
    name: String,
    kind: Type,
    labels: Option<KeyLabels>,
}

impl RowBuffer {
    /// No rows yet, for these columns.
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

    /// Appends a row, or nothing of it.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid), with the row (from 0, of all that were pushed) and the column: a value that does
    /// not fit, a member that is no column, is there twice, or is not there and cannot be missing; what the row's type says while it is
    /// serialized. [`Limit`](container_core::ErrorKind::Limit) for 2^31 bytes of text and more.
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

    /// The columns' values, each as many as there are [rows](Self::len).
    pub(crate) fn values(&self) -> &[Values] {
        &self.values
    }

    /// How many rows there are.
    pub(crate) const fn len(&self) -> usize {
        self.rows
    }

    /// Says that the first of these rows has the number `before`.
    pub(crate) const fn begin(&mut self, before: u64) {
        self.before = before;
    }

    /// Takes all rows out and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.values.iter_mut().for_each(Values::clear);
        self.before += self.rows as u64;
        self.rows = 0;
    }
}

/// A row while it is taken apart.
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
    /// The column of a member.
    fn column(&self, name: &str) -> Result<usize, RowError> {
        let index = match self.columns.get(self.next) {
            Some(column) if column.name == name => self.next,
            _ => *self.by_name.get(name).ok_or_else(|| self.unknown(name))?,
        };
        if self.filled.get(index) == Some(&self.round) {
            return Err(RowError(Error::invalid(format!("member {} is there twice", shown(name)))));
        }
        Ok(index)
    }

    #[cold]
    fn unknown(&self, name: &str) -> RowError {
        const MOST: usize = 8;
        let mut names: Vec<String> = self.columns.iter().take(MOST).map(|column| shown(&column.name)).collect();
        if self.columns.len() > MOST {
            names.push(format!("{} more", self.columns.len() - MOST));
        }
        RowError(Error::invalid(format!("member {} is none of the columns ({})", shown(name), names.join(", "))))
    }

    /// Puts a value into a column.
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

    /// Columns that the row had no member for are missing.
    fn finish(&mut self) -> Result<(), RowError> {
        for (index, (column, filled)) in self.columns.iter().zip(self.filled.iter()).enumerate() {
            if *filled == self.round {
                continue;
            }
            self.current = Some(index);
            if !can_be_missing(&column.kind) {
                let why = cannot_be_missing(&column.kind);
                return Err(RowError(Error::invalid(format!("the row has no such member, and {}", why.detail()))));
            }
            if let Some(values) = self.values.get_mut(index) {
                values.push_cell(&column.kind, None, Cell::Missing)?;
            }
        }
        self.current = None;
        Ok(())
    }
}

/// An error while serde drives.
struct RowError(Error);

impl From<Error> for RowError {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl serde::ser::Error for RowError {
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
