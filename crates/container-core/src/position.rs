use core::fmt;

use crate::Text;

/// A place in a file. Every field is optional; each layer fills in what it knows.
///
/// All numbers count from 0, except `line`, which counts from 1 as in editors.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Position {
    /// The file, where several are involved.
    pub file: Option<Text>,
    /// Byte offset from the beginning of the file (or of the given bytes).
    pub byte: Option<u64>,
    /// Row (record, sample, document) in its table.
    pub row: Option<u64>,
    /// Block of rows, numbered in row order.
    pub block: Option<u64>,
    /// Line, from 1.
    pub line: Option<u64>,
    /// Name of the column (variable, field).
    pub column: Option<Text>,
    /// Key of the record.
    pub key: Option<Text>,
}

impl Position {
    /// A byte offset.
    #[must_use]
    pub const fn at(byte: u64) -> Self {
        Self { file: None, byte: Some(byte), row: None, block: None, line: None, column: None, key: None }
    }

    /// A column.
    #[must_use]
    pub fn of_column(name: impl Into<Text>) -> Self {
        Self { column: Some(name.into()), ..Self::default() }
    }

    /// A row, from 0.
    #[must_use]
    pub fn of_row(row: u64) -> Self {
        Self { row: Some(row), ..Self::default() }
    }

    /// The key of a record.
    #[must_use]
    pub fn of_key(key: impl Into<Text>) -> Self {
        Self { key: Some(key.into()), ..Self::default() }
    }

    /// Sets the row.
    #[must_use]
    pub fn in_row(mut self, row: u64) -> Self {
        self.row = Some(row);
        self
    }

    /// Returns true if no field is set.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

/// `byte 40, row 7, column "age"`; empty if nothing is known. The file is not included.
impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        let numbers = [("byte", self.byte), ("line", self.line), ("block", self.block), ("row", self.row)];
        let texts = [("column", &self.column), ("key", &self.key)];
        for (name, value) in numbers {
            if let Some(value) = value {
                write!(f, "{separator}{name} {value}")?;
                separator = ", ";
            }
        }
        for (name, value) in texts {
            if let Some(value) = value {
                write!(f, "{separator}{name} {value:?}")?;
                separator = ", ";
            }
        }
        Ok(())
    }
}
