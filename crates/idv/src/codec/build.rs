//! Building, slicing and comparing [`Values`].

use std::ops::Range;

use container_core::{Error, Result};

use super::{DateTimeOffsets, Texts, Values, Vectors};
use crate::wire::{ItemType, KeyWidth, Type};

/// Evaluates an expression on the buffers of two [`Values`] of the same variant; `None` if the variants differ.
macro_rules! both {
    ($one:expr, $other:expr, $a:ident, $b:ident => $numbers:expr, $offsets:expr, $texts:expr, $vectors:expr) => {
        match ($one, $other) {
            (Values::SByte($a), Values::SByte($b)) => Some($numbers),
            (Values::Byte($a), Values::Byte($b)) => Some($numbers),
            (Values::Int16($a), Values::Int16($b)) => Some($numbers),
            (Values::UInt16($a), Values::UInt16($b)) => Some($numbers),
            (Values::Int32($a), Values::Int32($b)) => Some($numbers),
            (Values::UInt32($a), Values::UInt32($b)) => Some($numbers),
            (Values::Int64($a), Values::Int64($b)) => Some($numbers),
            (Values::UInt64($a), Values::UInt64($b)) => Some($numbers),
            (Values::Single($a), Values::Single($b)) => Some($numbers),
            (Values::Double($a), Values::Double($b)) => Some($numbers),
            (Values::TimeSpan($a), Values::TimeSpan($b)) => Some($numbers),
            (Values::DateTime($a), Values::DateTime($b)) => Some($numbers),
            (Values::RowId($a), Values::RowId($b)) => Some($numbers),
            (Values::Boolean($a), Values::Boolean($b)) => Some($numbers),
            (Values::DvBool($a), Values::DvBool($b)) => Some($numbers),
            (Values::DateTimeOffset($a), Values::DateTimeOffset($b)) => Some($offsets),
            (Values::Text($a), Values::Text($b)) => Some($texts),
            (Values::Vector($a), Values::Vector($b)) => Some($vectors),
            _ => None,
        }
    };
}

impl Values {
    /// Empty values of the variant for a type.
    #[must_use]
    pub fn of(kind: &Type) -> Self {
        match kind {
            Type::Item(item) => Self::of_item(*item),
            Type::Vector { item, .. } => Self::Vector(Box::new(Vectors::of(*item))),
        }
    }

    /// Empty values of the variant for an item type.
    pub(crate) fn of_item(item: ItemType) -> Self {
        match item {
            ItemType::SByte => Self::SByte(Vec::new()),
            ItemType::Byte => Self::Byte(Vec::new()),
            ItemType::Int16 => Self::Int16(Vec::new()),
            ItemType::UInt16 => Self::UInt16(Vec::new()),
            ItemType::Int32 => Self::Int32(Vec::new()),
            ItemType::UInt32 => Self::UInt32(Vec::new()),
            ItemType::Int64 => Self::Int64(Vec::new()),
            ItemType::UInt64 => Self::UInt64(Vec::new()),
            ItemType::Single => Self::Single(Vec::new()),
            ItemType::Double => Self::Double(Vec::new()),
            ItemType::TimeSpan | ItemType::DvTimeSpan => Self::TimeSpan(Vec::new()),
            ItemType::DateTime | ItemType::DvDateTime => Self::DateTime(Vec::new()),
            ItemType::DateTimeOffset | ItemType::DvDateTimeZone => Self::DateTimeOffset(DateTimeOffsets::default()),
            ItemType::RowId => Self::RowId(Vec::new()),
            ItemType::Boolean => Self::Boolean(Vec::new()),
            ItemType::DvBool => Self::DvBool(Vec::new()),
            ItemType::Text => Self::Text(Texts::default()),
            ItemType::Key(key) => match key.width {
                KeyWidth::Byte => Self::Byte(Vec::new()),
                KeyWidth::UInt16 => Self::UInt16(Vec::new()),
                KeyWidth::UInt32 => Self::UInt32(Vec::new()),
                KeyWidth::UInt64 => Self::UInt64(Vec::new()),
            },
        }
    }

    /// Removes all values and keeps the memory.
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Keeps the first `len` values. For vectors, also drops items added since the last closed vector.
    pub fn truncate(&mut self, len: usize) {
        match self {
            Self::SByte(v) => v.truncate(len),
            Self::Byte(v) => v.truncate(len),
            Self::Int16(v) => v.truncate(len),
            Self::UInt16(v) => v.truncate(len),
            Self::Int32(v) => v.truncate(len),
            Self::UInt32(v) => v.truncate(len),
            Self::Int64(v) | Self::TimeSpan(v) | Self::DateTime(v) => v.truncate(len),
            Self::UInt64(v) => v.truncate(len),
            Self::Single(v) => v.truncate(len),
            Self::Double(v) => v.truncate(len),
            Self::DateTimeOffset(v) => {
                v.ticks.truncate(len);
                v.minutes.truncate(len);
            }
            Self::RowId(v) => v.truncate(len),
            Self::Boolean(v) => v.truncate(len),
            Self::DvBool(v) => v.truncate(len),
            Self::Text(v) => v.truncate(len),
            Self::Vector(v) => v.truncate(len),
        }
    }

    /// Appends a range of values of the same variant.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when the variants differ or the range is out of bounds,
    /// [`Limit`](container_core::ErrorKind::Limit) for 2^32 bytes of text or more. Nothing is appended then.
    pub fn extend_from(&mut self, other: &Self, range: Range<usize>) -> Result<()> {
        let out_of_bounds =
            || Error::usage(format!("values {}..{} are out of bounds for {}", range.start, range.end, other.len()));
        let (mine, theirs) = (self.variant(), other.variant());
        let appended = both!(self, other, a, b =>
            b.get(range.clone()).map(|run| a.extend_from_slice(run)).ok_or_else(out_of_bounds),
            match (b.ticks.get(range.clone()), b.minutes.get(range.clone())) {
                (Some(ticks), Some(minutes)) => {
                    a.ticks.extend_from_slice(ticks);
                    a.minutes.extend_from_slice(minutes);
                    Ok(())
                }
                _ => Err(out_of_bounds()),
            },
            a.extend_from(b, range.clone()),
            a.extend_from(b, range.clone())
        );
        appended.unwrap_or_else(|| Err(Error::usage(format!("expected {mine} values, found {theirs}"))))
    }

    /// Sets a key or time to missing; does nothing for other types.
    pub(crate) fn set_missing(&mut self, index: usize) {
        fn set<T>(values: &mut [T], index: usize, missing: T) {
            if let Some(value) = values.get_mut(index) {
                *value = missing;
            }
        }
        match self {
            Self::Byte(v) => set(v, index, 0),
            Self::UInt16(v) => set(v, index, 0),
            Self::UInt32(v) => set(v, index, 0),
            Self::UInt64(v) => set(v, index, 0),
            Self::DateTime(v) => set(v, index, i64::MIN),
            Self::DateTimeOffset(v) => {
                set(&mut v.ticks, index, i64::MIN);
                set(&mut v.minutes, index, i16::MIN);
            }
            _ => {}
        }
    }

    /// Whether two ranges are equal; floats compare by their bits.
    pub(crate) fn ranges_equal(&self, range: Range<usize>, other: &Self, others: Range<usize>) -> bool {
        match (self, other) {
            (Self::Single(a), Self::Single(b)) => bits_equal(a.get(range), b.get(others), |x| x.to_bits()),
            (Self::Double(a), Self::Double(b)) => bits_equal(a.get(range), b.get(others), |x| x.to_bits()),
            _ => {
                let equal = both!(self, other, a, b =>
                    a.get(range.clone()).is_some_and(|run| b.get(others.clone()) == Some(run)),
                    a.ticks.get(range.clone()) == b.ticks.get(others.clone())
                        && a.minutes.get(range.clone()) == b.minutes.get(others.clone()),
                    range.len() == others.len() && range.clone().zip(others.clone()).all(|(i, j)| a.get(i) == b.get(j)),
                    range.len() == others.len() && range.clone().zip(others.clone()).all(|(i, j)| a.get(i) == b.get(j))
                );
                equal.unwrap_or(false)
            }
        }
    }

    /// Variant name, for messages.
    pub(crate) fn variant(&self) -> &'static str {
        match self {
            Self::SByte(_) => "SByte",
            Self::Byte(_) => "Byte",
            Self::Int16(_) => "Int16",
            Self::UInt16(_) => "UInt16",
            Self::Int32(_) => "Int32",
            Self::UInt32(_) => "UInt32",
            Self::Int64(_) => "Int64",
            Self::UInt64(_) => "UInt64",
            Self::Single(_) => "Single",
            Self::Double(_) => "Double",
            Self::TimeSpan(_) => "TimeSpan",
            Self::DateTime(_) => "DateTime",
            Self::DateTimeOffset(_) => "DateTimeOffset",
            Self::RowId(_) => "RowId",
            Self::Boolean(_) => "Boolean",
            Self::DvBool(_) => "DvBool",
            Self::Text(_) => "Text",
            Self::Vector(_) => "Vector",
        }
    }

    /// Whether the variant, for vectors also that of the items, is the one for a type.
    pub(crate) fn matches_type(&self, kind: &Type) -> bool {
        match (self, kind) {
            (Self::Vector(vectors), Type::Vector { item, .. }) => {
                // Without any items, vectors do not know their item type.
                vectors.values().is_empty() || vectors.values().same_variant(&Self::of_item(*item))
            }
            (Self::Vector(_), _) | (_, Type::Vector { .. }) => false,
            (values, Type::Item(item)) => values.same_variant(&Self::of_item(*item)),
        }
    }

    /// Whether parallel arrays agree in length; callers can modify them separately.
    pub(crate) fn is_consistent(&self) -> bool {
        match self {
            Self::DateTimeOffset(both) => both.ticks.len() == both.minutes.len(),
            Self::Vector(vectors) => {
                vectors.values().is_consistent() && vectors.values().len() >= vectors.closed_items()
            }
            _ => true,
        }
    }

    pub(crate) fn same_variant(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

fn bits_equal<T: Copy, B: Eq>(a: Option<&[T]>, b: Option<&[T]>, bits: impl Fn(T) -> B) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(b).all(|(&x, &y)| bits(x) == bits(y)),
        _ => false,
    }
}
