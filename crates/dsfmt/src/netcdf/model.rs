//! The data model, common to all kinds of NetCDF files.

use std::fmt;

use container_core::{Error, Loss};

use crate::array::{Values, each_kind};
use crate::json::JsonBuf;
use crate::types::DataType;

/// The kinds of NetCDF files, and of what is read as NetCDF.
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
    /// A Zarr store, whose model is that of NetCDF.
    Zarr,
}

impl Kind {
    /// The name: `CDF-1`, `CDF-2`, `CDF-5`, `NetCDF-4`, `Zarr`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Classic => "CDF-1",
            Self::Offset64 => "CDF-2",
            Self::Data64 => "CDF-5",
            Self::Hdf5 => "NetCDF-4",
            Self::Zarr => "Zarr",
        }
    }

    /// The name of the format in errors and in the registry.
    #[must_use]
    pub const fn format(self) -> &'static str {
        match self {
            Self::Classic | Self::Offset64 | Self::Data64 | Self::Hdf5 => super::FORMAT_NAME,
            Self::Zarr => "zarr",
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
    /// Bytes of any length, which only Zarr has.
    Bytes,
    /// An enumeration: named integers.
    Enum {
        /// Type of the integers.
        base: DataType,
        /// Names with their integers.
        members: Vec<(String, i128)>,
    },
    /// A compound type: members of other types.
    Compound {
        /// Bytes of an element.
        size: usize,
        /// Number of members, nested types counted as one.
        fields: usize,
        /// Members, with those of nested compounds.
        members: Vec<Member>,
    },
    /// A type that ds does not have, described in words, such as an opaque type.
    Other(String),
}

/// A member of a compound type.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member {
    /// Its name, after those of the compounds it is in.
    pub path: Vec<String>,
    /// Its type: a number, an enumeration, or [`Char`](NcType::Char) for a text.
    pub nc_type: NcType,
    /// Its sizes, if it is an array.
    pub shape: Vec<u64>,
    /// Offset in an element of the variable, in bytes.
    pub(crate) offset: usize,
    /// Bytes of a value.
    pub(crate) width: usize,
    pub(crate) big_endian: bool,
}

impl Member {
    /// The path with dots.
    #[must_use]
    pub fn name(&self) -> String {
        self.path.join(".")
    }

    /// The type of its values, of enumerations their names or integers.
    pub(crate) fn data_type(&self, names: bool) -> Option<DataType> {
        match &self.nc_type {
            NcType::Enum { .. } if names => Some(DataType::Unicode),
            NcType::Char => Some(DataType::Unicode),
            other => other.data_type(),
        }
    }
}

impl NcType {
    /// The type of the stored values; `None` for unsupported types.
    #[must_use]
    pub const fn data_type(&self) -> Option<DataType> {
        match self {
            Self::Number(number) | Self::Enum { base: number, .. } => Some(*number),
            Self::Char | Self::Bytes => Some(DataType::Str),
            Self::String => Some(DataType::Unicode),
            Self::Compound { .. } | Self::Other(_) => None,
        }
    }

    /// Bytes per element in a classic file.
    pub(crate) const fn width(&self) -> Option<usize> {
        match self {
            Self::Number(number) | Self::Enum { base: number, .. } => number.width(),
            Self::Char => Some(1),
            Self::String | Self::Bytes | Self::Compound { .. } | Self::Other(_) => None,
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
            Self::Bytes => f.write_str("bytes"),
            Self::Enum { .. } => f.write_str("enum"),
            Self::Compound { fields, .. } => write!(f, "compound of {fields} fields"),
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
    /// Other JSON, which only Zarr has.
    Json(JsonBuf),
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

    /// The text or texts; none for other types.
    pub(crate) fn texts(&self) -> &[String] {
        match self {
            Self::Text(text) => std::slice::from_ref(text),
            Self::Texts(texts) => texts,
            Self::Json(_) | Self::Numbers(_) => &[],
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
            Self::Json(_) => false,
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
    /// An array of a Zarr store, by index.
    Zarr(usize),
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
        error.in_format(self.format()).in_column(self.name.clone())
    }

    /// A member of a compound variable.
    pub(crate) fn member(&self, index: usize) -> Option<&Member> {
        match &self.nc_type {
            NcType::Compound { members, .. } => members.get(index),
            _ => None,
        }
    }

    /// Why the type is not supported in ds.
    pub(crate) fn unsupported(&self) -> Option<String> {
        match &self.nc_type {
            NcType::Other(words) if self.is_zarr() => Some(format!("unsupported {words}")),
            other @ (NcType::Compound { .. } | NcType::Other(_)) => Some(format!("unsupported type {other}")),
            _ => None,
        }
    }

    /// True for an array of a Zarr store.
    pub(crate) fn is_zarr(&self) -> bool {
        matches!(self.location, Location::Zarr(_))
    }

    fn format(&self) -> &'static str {
        if self.is_zarr() { Kind::Zarr.format() } else { super::FORMAT_NAME }
    }
}

/// What is in a file, without values.
#[derive(Debug, Default)]
pub(crate) struct Described {
    pub(crate) dimensions: Vec<Dimension>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) variables: Vec<Variable>,
    /// What cannot be read.
    pub(crate) losses: Vec<Loss>,
}

/// Product of sizes; `None` beyond 2^64.
pub(crate) fn product(sizes: &[u64]) -> Option<u64> {
    if sizes.contains(&0) {
        return Some(0);
    }
    sizes.iter().try_fold(1u64, |all, size| all.checked_mul(*size))
}
