//! What a NetCDF file is made of, whatever lies below.

use std::fmt;

use container_core::Error;

use crate::array::{Values, each_kind};
use crate::types::DataType;

/// The four kinds of files that are called NetCDF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// CDF-1: `classic`, positions of 32 bits.
    Classic,
    /// CDF-2: `64-bit offset`, positions of 64 bits.
    Offset64,
    /// CDF-5: `64-bit data`, sizes of 64 bits and five more types of integers.
    Data64,
    /// NetCDF-4: an HDF5 file with dimension scales.
    Hdf5,
}

impl Kind {
    /// What it is called: `CDF-1`, `CDF-2`, `CDF-5`, `NetCDF-4`.
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
    /// `NC_BYTE` to `NC_UINT64`, which are numbers of one of ds's types.
    Number(DataType),
    /// `NC_CHAR`: one byte of text.
    Char,
    /// `NC_STRING`: texts of any length.
    String,
    /// An enumeration: numbers that have names.
    Enum {
        /// What the numbers are.
        base: DataType,
        /// Names and their numbers.
        members: Vec<(String, i128)>,
    },
    /// What ds has no place for, in words: a compound type, say.
    Other(String),
}

impl NcType {
    /// The type of the values as they are stored; `None` for what is not read.
    #[must_use]
    pub const fn data_type(&self) -> Option<DataType> {
        match self {
            Self::Number(number) | Self::Enum { base: number, .. } => Some(*number),
            Self::Char => Some(DataType::Str),
            Self::String => Some(DataType::Unicode),
            Self::Other(_) => None,
        }
    }

    /// Bytes of one element in a classic file.
    pub(crate) const fn width(&self) -> Option<usize> {
        match self {
            Self::Number(number) | Self::Enum { base: number, .. } => number.width(),
            Self::Char => Some(1),
            Self::String | Self::Other(_) => None,
        }
    }
}

/// As `ncdump` says it.
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
    /// Elements along it, now.
    pub size: u64,
    /// True when it may grow: in a classic file the dimension of the records.
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
pub enum AttributeValue {
    /// Text: what is no UTF-8 is replaced, NUL characters are dropped.
    Text(String),
    /// Several texts, of `NC_STRING`.
    Texts(Vec<String>),
    /// Numbers, in most files one.
    Numbers(Values<'static>),
}

impl AttributeValue {
    /// Text as Python reads it.
    pub(crate) fn text(bytes: &[u8]) -> Self {
        let mut text = String::from_utf8_lossy(bytes).into_owned();
        text.retain(|found| found != '\0');
        Self::Text(text)
    }

    /// The text, where it is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The numbers, where they are some.
    #[must_use]
    pub fn as_numbers(&self) -> Option<&Values<'static>> {
        match self {
            Self::Numbers(numbers) => Some(numbers),
            _ => None,
        }
    }

    /// True for text of no length and for no numbers.
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

/// A variable: everything but its values.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its dimensions, by their places among the file's.
    pub dimensions: Vec<usize>,
    /// Its sizes; none for a scalar.
    pub shape: Vec<u64>,
    /// What its elements are.
    pub nc_type: NcType,
    /// Its attributes in order.
    pub attributes: Vec<Attribute>,
    /// Sizes of the pieces in which a NetCDF-4 file keeps it; `None` where it lies in one, and for records of a classic file.
    pub chunks: Option<Vec<u64>>,
    /// Numbers lie with the most significant byte first: always in a classic file.
    pub big_endian: bool,
    /// What is wrong with it: then it cannot be read, and the others can.
    pub problem: Option<String>,
    /// Elements that were never written have no fixed value.
    pub(crate) no_fill: bool,
    pub(crate) place: Place,
}

/// Where the values of a variable are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// One behind the other, from a byte of the file on.
    Fixed { begin: u64 },
    /// Row by row, `stride` bytes apart.
    Records { begin: u64, stride: u64 },
    /// A dataset of this path.
    Hdf5(String),
}

impl Variable {
    /// The attribute of this name.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&AttributeValue> {
        self.attributes.iter().find(|attribute| attribute.name == name).map(|attribute| &attribute.value)
    }

    /// Rows: its size along the first dimension, 1 for a scalar.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.shape.first().copied().unwrap_or(1)
    }

    /// Elements of one row; `None` beyond 2^64.
    pub(crate) fn row_elements(&self) -> Option<u64> {
        product(self.shape.get(1..).unwrap_or_default())
    }

    pub(crate) fn error(&self, error: Error) -> Error {
        error.in_format(super::FORMAT_NAME).in_column(self.name.clone())
    }
}

/// The product of sizes; `None` beyond 2^64.
pub(crate) fn product(sizes: &[u64]) -> Option<u64> {
    if sizes.contains(&0) {
        return Some(0);
    }
    sizes.iter().try_fold(1u64, |all, size| all.checked_mul(*size))
}
