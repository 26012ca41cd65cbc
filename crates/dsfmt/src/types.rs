//! Element types and byte order.

use std::fmt;

use bytemuck::Pod;

/// The element type of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DataType {
    /// IEEE 754, 32 bits.
    Float32,
    /// IEEE 754, 64 bits.
    Float64,
    /// Two's complement, 8 bits.
    Int8,
    /// Two's complement, 16 bits.
    Int16,
    /// Two's complement, 32 bits.
    Int32,
    /// Two's complement, 64 bits.
    Int64,
    /// 8 bits.
    Uint8,
    /// 16 bits.
    Uint16,
    /// 32 bits.
    Uint32,
    /// 64 bits.
    Uint64,
    /// Boolean, one bit each in the file.
    Bool,
    /// Byte string of any length.
    Str,
    /// UTF-8 string of any length.
    Unicode,
}

impl DataType {
    /// All types, in the order of the format's description.
    pub const ALL: [Self; 13] = [
        Self::Float32,
        Self::Float64,
        Self::Int8,
        Self::Int16,
        Self::Int32,
        Self::Int64,
        Self::Uint8,
        Self::Uint16,
        Self::Uint32,
        Self::Uint64,
        Self::Bool,
        Self::Str,
        Self::Unicode,
    ];

    /// The name in a header.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Float32 => "float32",
            Self::Float64 => "float64",
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Uint8 => "uint8",
            Self::Uint16 => "uint16",
            Self::Uint32 => "uint32",
            Self::Uint64 => "uint64",
            Self::Bool => "bool",
            Self::Str => "str",
            Self::Unicode => "unicode",
        }
    }

    /// Parses a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|data_type| data_type.name() == name)
    }

    /// Bytes per element; `None` for types without a fixed width: `bool`, `str` and `unicode`.
    #[must_use]
    pub const fn width(self) -> Option<usize> {
        match self {
            Self::Int8 | Self::Uint8 => Some(1),
            Self::Int16 | Self::Uint16 => Some(2),
            Self::Float32 | Self::Int32 | Self::Uint32 => Some(4),
            Self::Float64 | Self::Int64 | Self::Uint64 => Some(8),
            Self::Bool | Self::Str | Self::Unicode => None,
        }
    }

    /// True for `str` and `unicode`.
    #[must_use]
    pub const fn is_text(self) -> bool {
        matches!(self, Self::Str | Self::Unicode)
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Byte order of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Endian {
    /// Most significant byte first: `b` in a header, and the default.
    Big,
    /// Least significant byte first: `l` in a header.
    Little,
}

impl Endian {
    /// Native byte order.
    pub const NATIVE: Self = if u16::from_le(1) == 1 { Self::Little } else { Self::Big };

    /// The letter in a header.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Big => "b",
            Self::Little => "l",
        }
    }
}

/// A numeric element type: `f32`, `f64`, and signed and unsigned integers of 8 to 64 bits.
pub trait Element: Pod + Default + PartialEq + PartialOrd + fmt::Debug + Send + Sync + private::Sealed {
    /// The corresponding element type.
    const TYPE: DataType;

    /// Reverses the byte order.
    #[must_use]
    fn swapped(self) -> Self;
}

mod private {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($number:ty, $name:ident;)*) => {$(
        impl private::Sealed for $number {}

        impl Element for $number {
            const TYPE: DataType = DataType::$name;

            #[inline]
            fn swapped(self) -> Self {
                Self::from_ne_bytes({
                    let mut bytes = self.to_ne_bytes();
                    bytes.reverse();
                    bytes
                })
            }
        }
    )*};
}

elements! {
    f32, Float32;
    f64, Float64;
    i8, Int8;
    i16, Int16;
    i32, Int32;
    i64, Int64;
    u8, Uint8;
    u16, Uint16;
    u32, Uint32;
    u64, Uint64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for data_type in DataType::ALL {
            assert_eq!(DataType::from_name(data_type.name()), Some(data_type));
            assert_eq!(data_type.width().is_none(), data_type.is_text() || data_type == DataType::Bool);
        }
        assert_eq!(DataType::from_name("float16"), None);
        assert_eq!((0x0102u16.swapped(), 1.0f64.swapped().to_bits()), (0x0201, 0xf03f));
    }
}
