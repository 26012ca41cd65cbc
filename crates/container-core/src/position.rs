use core::fmt;

use crate::Text;

/// Where in a file something is. Every field is optional: a layer fills in what it knows.
///
/// All numbers count from 0, except `line`, which counts from 1 as editors do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Position {
    /// The file, where a container is a set of several or a command reads several.
    pub file: Option<Text>,
    /// Byte offset from the beginning of the file (or of the bytes that were given).
    pub byte: Option<u64>,
    /// Row (record, sample, document) of the table.
    pub row: Option<u64>,
    /// Block of rows, in row order.
    pub block: Option<u64>,
    /// Line, counted from 1.
    pub line: Option<u64>,
    /// Column (variable, field) by name.
    pub column: Option<Text>,
    /// Key of a record.
    pub key: Option<Text>,
}

impl Position {
    /// A position that knows its byte offset.
    #[must_use]
    pub const fn at(byte: u64) -> Self {
        Self { file: None, byte: Some(byte), row: None, block: None, line: None, column: None, key: None }
    }

    /// True when nothing is known.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

/// `byte 40, column "age", row 7`; empty when nothing is known. The file is left to the reader of the error.
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
