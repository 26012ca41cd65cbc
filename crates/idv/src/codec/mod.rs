//! Decoding and encoding of decompressed blocks. Pure functions; buffers are reused.

mod bits;
mod build;
mod encode;
mod estimate;
pub(crate) mod numbers;
pub(crate) mod shared;
mod text;
mod vector;

pub(crate) use encode::{encode, encoded_len};
pub(crate) use estimate::{Units, estimated_len};
pub(crate) use text::{MISSING as MISSING_TEXT, len_of_units};

pub use text::Texts;
pub use vector::{VectorRef, Vectors};

use container_core::{Cursor, Error, Result};

use crate::wire::{ItemType, KeyWidth, Type};

/// The values of one block of a column, in row order.
///
/// The column's [`Type`] determines the variant. Keys are stored numbers; [`KeyType::value`](crate::KeyType::value) converts them. The
/// reader reuses the memory of a buffer passed to it.
///
/// Equality compares variant and values, floats by their bits, so that NaN equals itself.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Values {
    /// `SByte`
    SByte(Vec<i8>),
    /// `Byte`, and keys of that width
    Byte(Vec<u8>),
    /// `Int16`
    Int16(Vec<i16>),
    /// `UInt16`, and keys of that width
    UInt16(Vec<u16>),
    /// `Int32`
    Int32(Vec<i32>),
    /// `UInt32`, and keys of that width
    UInt32(Vec<u32>),
    /// `Int64`
    Int64(Vec<i64>),
    /// `UInt64`, and keys of that width
    UInt64(Vec<u64>),
    /// `Single`
    Single(Vec<f32>),
    /// `Double`
    Double(Vec<f64>),
    /// `TimeSpan`: ticks of 100 ns
    TimeSpan(Vec<i64>),
    /// `DateTime`: ticks of 100 ns since 0001-01-01T00:00:00
    DateTime(Vec<i64>),
    /// `DateTimeOffset`
    DateTimeOffset(DateTimeOffsets),
    /// `DataViewRowId`
    RowId(Vec<u128>),
    /// `Boolean`
    Boolean(Vec<bool>),
    /// `DvBool`: `None` is missing
    DvBool(Vec<Option<bool>>),
    /// `TextSpan`
    Text(Texts),
    /// `VBuffer`
    Vector(Box<Vectors>),
}

/// Local times and their offsets from UTC, in two arrays of equal length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DateTimeOffsets {
    /// Local time: ticks of 100 ns since 0001-01-01T00:00:00.
    pub ticks: Vec<i64>,
    /// Offset from UTC in minutes.
    pub minutes: Vec<i16>,
}

impl PartialEq for Values {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.ranges_equal(0..self.len(), other, 0..other.len())
    }
}

impl Default for Values {
    fn default() -> Self {
        Self::Byte(Vec::new())
    }
}

impl Values {
    /// Number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::SByte(v) => v.len(),
            Self::Byte(v) => v.len(),
            Self::Int16(v) => v.len(),
            Self::UInt16(v) => v.len(),
            Self::Int32(v) => v.len(),
            Self::UInt32(v) => v.len(),
            Self::Int64(v) | Self::TimeSpan(v) | Self::DateTime(v) => v.len(),
            Self::UInt64(v) => v.len(),
            Self::Single(v) => v.len(),
            Self::Double(v) => v.len(),
            Self::DateTimeOffset(v) => v.ticks.len(),
            Self::RowId(v) => v.len(),
            Self::Boolean(v) => v.len(),
            Self::DvBool(v) => v.len(),
            Self::Text(v) => v.len(),
            Self::Vector(v) => v.len(),
        }
    }

    /// Whether there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The stored number of the key at `index`; `None` past the end and for other than unsigned integers.
    #[must_use]
    pub fn stored_key(&self, index: usize) -> Option<u64> {
        match self {
            Self::Byte(v) => v.get(index).map(|&k| k.into()),
            Self::UInt16(v) => v.get(index).map(|&k| k.into()),
            Self::UInt32(v) => v.get(index).map(|&k| k.into()),
            Self::UInt64(v) => v.get(index).copied(),
            _ => None,
        }
    }

    /// The values as a slice, as in `values.as_slice::<f32>()`; `None` if `T` is not their Rust type.
    #[must_use]
    pub fn as_slice<T: Item>(&self) -> Option<&[T]> {
        T::slice_of(self)
    }
}

/// The Rust type of fixed-width items; see [`Values::as_slice`].
pub trait Item: Copy + sealed::Sealed {
    /// The values as a slice, if they are of this type.
    fn slice_of(values: &Values) -> Option<&[Self]>;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! items {
    ($($type:ty: $($variant:ident)|+),*) => {$(
        impl sealed::Sealed for $type {}
        impl Item for $type {
            fn slice_of(values: &Values) -> Option<&[Self]> {
                match values {
                    $(Values::$variant(slice))|+ => Some(slice),
                    _ => None,
                }
            }
        }
    )*};
}
items!(i8: SByte, u8: Byte, i16: Int16, u16: UInt16, i32: Int32, u32: UInt32, i64: Int64 | TimeSpan | DateTime,
    u64: UInt64, f32: Single, f64: Double, u128: RowId, bool: Boolean, Option<bool>: DvBool);

/// The buffer of a variant; reuses the existing one if it is of that variant.
macro_rules! reuse {
    ($values:expr, $variant:ident) => {{
        if !matches!($values, Values::$variant(_)) {
            *$values = Values::$variant(Default::default());
        }
        let Values::$variant(buffer) = $values else { unreachable!("the variant was set above") };
        buffer
    }};
}

/// Decodes a block of `n` values and rejects trailing bytes. Booleans, which take more memory than bytes in the block, may take `limit`
/// bytes.
pub(crate) fn decode(kind: &Type, n: usize, mut cursor: Cursor<'_>, limit: u64, values: &mut Values) -> Result<()> {
    decode_prefix(kind, n, &mut cursor, limit, values)?;
    cursor.finish("the block")
}

/// Like [`decode`], but allows trailing bytes.
pub(crate) fn decode_prefix(
    kind: &Type,
    n: usize,
    cursor: &mut Cursor<'_>,
    limit: u64,
    values: &mut Values,
) -> Result<()> {
    match kind {
        Type::Item(item) => {
            check_bools(*item, n, limit, cursor)?;
            decode_items(*item, n, cursor, values)
        }
        Type::Vector { item, .. } => {
            let vectors = reuse!(values, Vector);
            vector::decode(*item, kind.size(), n, cursor, limit, vectors)
        }
    }
}

/// Limits Booleans: eight or four per byte in the file, one byte each in memory.
fn check_bools(item: ItemType, n: usize, limit: u64, cursor: &Cursor<'_>) -> Result<()> {
    if matches!(item, ItemType::Boolean | ItemType::DvBool) && n as u64 > limit {
        return Err(Error::limit("bytes of decoded Booleans", n as u64, limit).at(cursor.offset()));
    }
    Ok(())
}

/// Decodes `n` items; allows trailing bytes.
pub(crate) fn decode_items(item: ItemType, n: usize, cursor: &mut Cursor<'_>, values: &mut Values) -> Result<()> {
    match item {
        ItemType::SByte => numbers::decode(cursor, n, reuse!(values, SByte)),
        ItemType::Byte => numbers::decode(cursor, n, reuse!(values, Byte)),
        ItemType::Int16 => numbers::decode(cursor, n, reuse!(values, Int16)),
        ItemType::UInt16 => numbers::decode(cursor, n, reuse!(values, UInt16)),
        ItemType::Int32 => numbers::decode(cursor, n, reuse!(values, Int32)),
        ItemType::UInt32 => numbers::decode(cursor, n, reuse!(values, UInt32)),
        ItemType::Int64 => numbers::decode(cursor, n, reuse!(values, Int64)),
        ItemType::UInt64 => numbers::decode(cursor, n, reuse!(values, UInt64)),
        ItemType::Single => numbers::decode(cursor, n, reuse!(values, Single)),
        ItemType::Double => numbers::decode(cursor, n, reuse!(values, Double)),
        ItemType::TimeSpan | ItemType::DvTimeSpan => numbers::decode(cursor, n, reuse!(values, TimeSpan)),
        ItemType::DateTime | ItemType::DvDateTime => numbers::decode(cursor, n, reuse!(values, DateTime)),
        ItemType::DateTimeOffset | ItemType::DvDateTimeZone => {
            let zoned = reuse!(values, DateTimeOffset);
            numbers::decode(cursor, n, &mut zoned.minutes)?;
            numbers::decode(cursor, n, &mut zoned.ticks)
        }
        ItemType::RowId => numbers::decode(cursor, n, reuse!(values, RowId)),
        ItemType::Boolean => bits::decode_bools(cursor, n, reuse!(values, Boolean)),
        ItemType::DvBool => bits::decode_dv_bools(cursor, n, reuse!(values, DvBool)),
        ItemType::Text => text::decode(cursor, n, reuse!(values, Text)),
        ItemType::Key(key) => match key.width {
            KeyWidth::Byte => numbers::decode(cursor, n, reuse!(values, Byte)),
            KeyWidth::UInt16 => numbers::decode(cursor, n, reuse!(values, UInt16)),
            KeyWidth::UInt32 => numbers::decode(cursor, n, reuse!(values, UInt32)),
            KeyWidth::UInt64 => numbers::decode(cursor, n, reuse!(values, UInt64)),
        },
    }
}

/// Minimum length of `n` items in a block, to check counts before reading; `None` on overflow.
pub(crate) fn min_len(item: ItemType, n: u64) -> Option<u64> {
    let width = match item {
        ItemType::Boolean => return Some(n.div_ceil(8)),
        ItemType::DvBool => return n.div_ceil(16).checked_mul(4),
        ItemType::Text => return n.checked_mul(4)?.checked_add(5),
        ItemType::SByte | ItemType::Byte => 1,
        ItemType::Int16 | ItemType::UInt16 => 2,
        ItemType::Int32 | ItemType::UInt32 | ItemType::Single => 4,
        ItemType::Int64 | ItemType::UInt64 | ItemType::Double => 8,
        ItemType::TimeSpan | ItemType::DvTimeSpan | ItemType::DateTime | ItemType::DvDateTime => 8,
        ItemType::DateTimeOffset | ItemType::DvDateTimeZone => 10,
        ItemType::RowId => 16,
        ItemType::Key(key) => match key.width {
            KeyWidth::Byte => 1,
            KeyWidth::UInt16 => 2,
            KeyWidth::UInt32 => 4,
            KeyWidth::UInt64 => 8,
        },
    };
    n.checked_mul(width)
}

/// Length of the block prefix that holds the first `n` items; `None` if decoding them needs the whole block.
pub(crate) fn prefix_len(item: ItemType, n: u64) -> Option<u64> {
    match item {
        // All text boundaries, and all time offsets, precede the data.
        ItemType::Text | ItemType::DateTimeOffset | ItemType::DvDateTimeZone => None,
        item => min_len(item, n),
    }
}

/// Upper bound in bytes of the memory of `n` values decoded from `raw` bytes.
pub(crate) fn memory_bytes(kind: &Type, n: u64, raw: u64) -> u64 {
    match kind {
        Type::Item(item) => items_memory(*item, n, raw),
        // As many items as the bytes allow. Each vector has a length, a count, two offsets and, in Arrow, an end.
        Type::Vector { item, .. } => {
            let items = match item {
                ItemType::Boolean => raw.saturating_mul(8),
                ItemType::DvBool => raw.saturating_mul(4),
                ItemType::Text => items_memory(*item, raw / 4, raw),
                _ => raw,
            };
            n.saturating_mul(32).saturating_add(items)
        }
    }
}

fn items_memory(item: ItemType, n: u64, raw: u64) -> u64 {
    match item {
        // One byte each, decoded eight at a time.
        ItemType::Boolean | ItemType::DvBool => n.saturating_add(7),
        // Text, half as much again for split surrogate pairs; boundaries twice while they are converted to bytes, and a flag.
        ItemType::Text => raw.saturating_add(raw / 2).saturating_add(n.saturating_mul(5)),
        _ => raw,
    }
}

/// Reads a non-negative count or length.
fn count(cursor: &mut Cursor<'_>, what: &'static str) -> Result<usize> {
    let at = cursor.offset();
    let value = cursor.i32_le(what)?;
    usize::try_from(value).map_err(|_| Error::invalid(format!("{what} {value} is negative")).at(at))
}

/// Reads a count that must be `n`.
fn check_count(cursor: &mut Cursor<'_>, what: &'static str, n: usize) -> Result<()> {
    let at = cursor.offset();
    let found = count(cursor, what)?;
    if found == n {
        return Ok(());
    }
    Err(Error::invalid(format!("{what}: expected {n}, found {found}")).at(at))
}
