//! The data model, common to all kinds of NetCDF files.

use std::fmt;

use container_core::Error;

use crate::array::{Values, each_kind};
use crate::types::DataType;

/// The kinds of NetCDF files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// CDF-1: `classic`, 32-bit offsets.
    Classic,
    /// CDF-2: `64-bit offset`.
    Offset64,
    /// CDF-5: `64-bit data`, 64-bit sizes and five more integer types.
    Data64,
    /// NetCDF-4: an HDF5 file with dimension scales.
    Hdf5,
}

impl Kind {
    /// The name: `CDF-1`, `CDF-2`, `CDF-5`, `NetCDF-4`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Classic => "CDF-1",
            Self::Offset64 => "CDF-2",
            Self::Data64 => "CDF-5",
            Self::Hdf5 => "NetCDF-4",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The type of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NcType {
    /// `NC_BYTE` to `NC_UINT64`: numbers of a ds type.
    Number(DataType),
    /// `NC_CHAR`: a byte of text.
    Char,
    /// `NC_STRING`: strings of any length.
    String,
    /// An enumeration: named integers.
    Enum {
        /// Type of the integers.
        base: DataType,
        /// Names with their integers.
        members: Vec<(String, i128)>,
    },
    /// A type that ds does not have, described in words, such as a compound type.
    Other(String),
}

impl NcType {
    /// The type of the stored values; `None` for unsupported types.
    #[must_use]
    pub const fn data_type(&self) -> Option<DataType> {
        match self {
            Self::Number(number) | Self::Enum { base: number, .. } => Some(*number),
            Self::Char => Some(DataType::Str),
            Self::String => Some(DataType::Unicode),
            Self::Other(_) => None,
        }
    }

    /// Bytes per element in a classic file.
    pub(crate) const fn width(&self) -> Option<usize> {
        match self {
            Self::Number(number) | Self::Enum { base: number, .. } => number.width(),
            Self::Char => Some(1),
            Self::String | Self::Other(_) => None,
        }
    }
}

/// The name in `ncdump`'s notation.
impl fmt::Display for NcType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => f.write_str(match number {
                DataType::Int8 => "byte",
                DataType::Int16 => "short",
                DataType::Int32 => "int",
                DataType::Float32 => "float",
                DataType::Float64 => "double",
                DataType::Uint8 => "ubyte",
                DataType::Uint16 => "ushort",
                DataType::Uint32 => "uint",
                other => other.name(),
            }),
            Self::Char => f.write_str("char"),
            Self::String => f.write_str("string"),
            Self::Enum { .. } => f.write_str("enum"),
            Self::Other(words) => f.write_str(words),
        }
    }
}

/// A dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dimension {
    /// Its name.
    pub name: String,
    /// Current size.
    pub size: u64,
    /// True for an unlimited dimension: in a classic file that of the records.
    pub unlimited: bool,
}

/// An attribute of the file or of a variable.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: AttributeValue,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum AttributeValue {
    /// Text; invalid UTF-8 is replaced, NUL characters are dropped.
    Text(String),
    /// Several strings of `NC_STRING`.
    Texts(Vec<String>),
    /// Numbers, usually one.
    Numbers(Values<'static>),
}

impl AttributeValue {
    /// Decodes text as Python does.
    pub(crate) fn from_text(bytes: &[u8]) -> Self {
        let mut text = String::from_utf8_lossy(bytes).into_owned();
        text.retain(|character| character != '\0');
        Self::Text(text)
    }

    /// The text; `None` for other types.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The numbers; `None` for other types.
    #[must_use]
    pub fn as_numbers(&self) -> Option<&Values<'static>> {
        match self {
            Self::Numbers(numbers) => Some(numbers),
            _ => None,
        }
    }

    /// True for empty text and for no strings or numbers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) => text.is_empty(),
            Self::Texts(texts) => texts.is_empty(),
            Self::Numbers(numbers) => {
                each_kind!(numbers, all => all.is_empty(), all => all.is_empty(), all => all.is_empty())
            }
        }
    }
}

/// A variable without its values.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its dimensions, as indices into the file's.
    pub dimensions: Vec<usize>,
    /// Its sizes; empty for a scalar.
    pub shape: Vec<u64>,
    /// The element type.
    pub nc_type: NcType,
    /// Its attributes, in order.
    pub attributes: Vec<Attribute>,
    /// Chunk sizes in a NetCDF-4 file; `None` for contiguous values, and for classic files.
    pub chunks: Option<Vec<u64>>,
    /// True for big-endian numbers; always in a classic file.
    pub big_endian: bool,
    /// Why the variable is unreadable; others are unaffected.
    pub problem: Option<String>,
    /// True when unwritten elements have no fill value.
    pub(crate) no_fill: bool,
    pub(crate) location: Location,
}

/// Location of a variable's values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Location {
    /// Contiguous from an offset.
    Fixed { begin: u64 },
    /// One row per record, `stride` bytes apart.
    Records { begin: u64, stride: u64 },
    /// An HDF5 dataset at this path.
    Hdf5(String),
}

impl Variable {
    /// The attribute called `name`.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&AttributeValue> {
        self.attributes.iter().find(|attribute| attribute.name == name).map(|attribute| &attribute.value)
    }

    /// Number of rows: the size along the first dimension, 1 for a scalar.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.shape.first().copied().unwrap_or(1)
    }

    /// Elements per row; `None` beyond 2^64.
    pub(crate) fn row_elements(&self) -> Option<u64> {
        product(self.shape.get(1..).unwrap_or_default())
    }

    pub(crate) fn error(&self, error: Error) -> Error {
        error.in_format(super::FORMAT_NAME).in_column(self.name.clone())
    }
}

/// Product of sizes; `None` beyond 2^64.
pub(crate) fn product(sizes: &[u64]) -> Option<u64> {
    if sizes.contains(&0) {
        return Some(0);
    }
    sizes.iter().try_fold(1u64, |all, size| all.checked_mul(*size))
}
