use serde_core::ser::{Serialize, SerializeMap, SerializeSeq, SerializeStruct, Serializer};

use crate::codec::{Values, VectorRef};
use crate::time::{DateTime, DateTimeOffset, TimeSpan};
use crate::wire::{ItemType, Type};

/// One value of a row.
///
/// Serialization: numbers and Booleans as such, missing values as none, text as strings. In human-readable formats (JSON) times are
/// ISO 8601, row ids 32 hex digits with the high half first, and non-finite floats the strings `NaN`, `Infinity`, `-Infinity`; in binary
/// formats ticks, integers and floats. A sparse vector is `{"$sparse": {"length", "indices", "values"}}`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Value<'a> {
    /// A missing text, Boolean, time or key.
    Missing,
    /// `SByte`
    SByte(i8),
    /// `Byte`
    Byte(u8),
    /// `Int16`
    Int16(i16),
    /// `UInt16`
    UInt16(u16),
    /// `Int32`
    Int32(i32),
    /// `UInt32`
    UInt32(u32),
    /// `Int64`
    Int64(i64),
    /// `UInt64`
    UInt64(u64),
    /// `Single`; missing is NaN
    Single(f32),
    /// `Double`; missing is NaN
    Double(f64),
    /// A duration.
    TimeSpan(TimeSpan),
    /// A time.
    DateTime(DateTime),
    /// A local time with its offset.
    DateTimeOffset(DateTimeOffset),
    /// A row id.
    RowId(u128),
    /// A Boolean.
    Boolean(bool),
    /// A text.
    Text(&'a str),
    /// A key without label: the key value, from 0.
    Key(u64),
    /// A key value, from 0, and the column's labels.
    Label(u64, &'a Labels),
    /// A vector.
    Vector(Vector<'a>),
}

/// How the values of a column convert to [`Value`]s.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValueFormat<'a> {
    pub(crate) item: ItemType,
    pub(crate) labels: Option<&'a Labels>,
    /// The minimum of a signed integer type is missing.
    pub(crate) missing_integers: bool,
    /// NaN is missing.
    pub(crate) missing_floats: bool,
    /// The minimum duration is missing, as in all files before version 1.1.1.6.
    pub(crate) missing_spans: bool,
}

impl<'a> ValueFormat<'a> {
    pub(crate) const fn plain(item: ItemType) -> Self {
        Self { item, labels: None, missing_integers: false, missing_floats: false, missing_spans: false }
    }

    /// The value at `index`; `Missing` past the end.
    pub(crate) fn value(self, values: &'a Values, index: usize) -> Value<'a> {
        self.get(values, index).unwrap_or(Value::Missing)
    }

    fn get(self, values: &'a Values, index: usize) -> Option<Value<'a>> {
        if let ItemType::Key(key) = self.item
            && !matches!(values, Values::Vector(_))
        {
            // A number above the key count is format as missing; `Rows` counts these.
            let value = key.value(values.stored_key(index)?).ok().flatten()?;
            return Some(match self.labels {
                Some(labels) if labels.has(value) => Value::Label(value, labels),
                _ => Value::Key(value),
            });
        }
        let integer = |missing: bool, value| (!(missing && self.missing_integers)).then_some(value);
        match values {
            Values::SByte(v) => v.get(index).and_then(|&x| integer(x == i8::MIN, Value::SByte(x))),
            Values::Byte(v) => v.get(index).map(|&x| Value::Byte(x)),
            Values::Int16(v) => v.get(index).and_then(|&x| integer(x == i16::MIN, Value::Int16(x))),
            Values::UInt16(v) => v.get(index).map(|&x| Value::UInt16(x)),
            Values::Int32(v) => v.get(index).and_then(|&x| integer(x == i32::MIN, Value::Int32(x))),
            Values::UInt32(v) => v.get(index).map(|&x| Value::UInt32(x)),
            Values::Int64(v) => v.get(index).and_then(|&x| integer(x == i64::MIN, Value::Int64(x))),
            Values::UInt64(v) => v.get(index).map(|&x| Value::UInt64(x)),
            Values::Single(v) => {
                v.get(index).filter(|x| !(self.missing_floats && x.is_nan())).map(|&x| Value::Single(x))
            }
            Values::Double(v) => {
                v.get(index).filter(|x| !(self.missing_floats && x.is_nan())).map(|&x| Value::Double(x))
            }
            Values::TimeSpan(v) => {
                let can_be_missing = self.missing_spans || self.item == ItemType::DvTimeSpan;
                let missing = |x: i64| x == i64::MIN && can_be_missing;
                v.get(index).filter(|&&x| !missing(x)).map(|&x| Value::TimeSpan(TimeSpan(x)))
            }
            Values::DateTime(v) => v.get(index).filter(|&&x| x != i64::MIN).map(|&x| Value::DateTime(DateTime(x))),
            Values::DateTimeOffset(v) => {
                let (&ticks, &minutes) = (v.ticks.get(index)?, v.minutes.get(index)?);
                let there = ticks != i64::MIN && minutes != i16::MIN;
                there.then_some(Value::DateTimeOffset(DateTimeOffset { ticks, minutes }))
            }
            Values::RowId(v) => v.get(index).map(|&x| Value::RowId(x)),
            Values::Boolean(v) => v.get(index).map(|&x| Value::Boolean(x)),
            Values::DvBool(v) => v.get(index).copied().flatten().map(Value::Boolean),
            Values::Text(v) => v.get(index).map(Value::Text),
            Values::Vector(v) => v.get(index).map(|vector| Value::Vector(Vector { vector, format: self })),
        }
    }
}

/// The labels of a key column: the value of its metadata `KeyValues`.
#[derive(Debug, Clone, PartialEq)]
pub struct Labels {
    values: Values,
    /// Type of a label.
    pub(crate) item: ItemType,
}

impl Labels {
    /// Labels from a metadata value, if it is a vector.
    pub(crate) fn new(values: Values, value_type: &Type) -> Option<Self> {
        matches!(values, Values::Vector(_)).then_some(Self { values, item: value_type.item() })
    }

    fn vector(&self) -> Option<VectorRef<'_>> {
        match &self.values {
            Values::Vector(vectors) => vectors.get(0),
            _ => None,
        }
    }

    fn has(&self, key: u64) -> bool {
        self.vector().is_some_and(|vector| key < u64::from(vector.length))
    }

    /// Number of labels.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.vector().map_or(0, |vector| vector.length.into())
    }

    /// The label of a key value (from 0).
    #[must_use]
    pub fn get(&self, key: u64) -> Option<Value<'_>> {
        let vector = self.vector()?;
        let format = ValueFormat::plain(self.item);
        let slot = u32::try_from(key).ok().filter(|&slot| slot < vector.length)?;
        let offset = match vector.indices {
            None => usize::try_from(slot).ok(),
            Some(indices) => indices.binary_search(&slot).ok(),
        };
        Some(match offset {
            Some(offset) => format.value(vector.values, vector.range.start + offset),
            None => default_value(self.item),
        })
    }
}

/// Value of a slot that a sparse vector does not store.
pub(crate) fn default_value(item: ItemType) -> Value<'static> {
    match item {
        ItemType::SByte => Value::SByte(0),
        ItemType::Byte => Value::Byte(0),
        ItemType::Int16 => Value::Int16(0),
        ItemType::UInt16 => Value::UInt16(0),
        ItemType::Int32 => Value::Int32(0),
        ItemType::UInt32 => Value::UInt32(0),
        ItemType::Int64 => Value::Int64(0),
        ItemType::UInt64 => Value::UInt64(0),
        ItemType::Single => Value::Single(0.0),
        ItemType::Double => Value::Double(0.0),
        ItemType::TimeSpan | ItemType::DvTimeSpan => Value::TimeSpan(TimeSpan(0)),
        ItemType::DateTime | ItemType::DvDateTime => Value::DateTime(DateTime(0)),
        ItemType::DateTimeOffset | ItemType::DvDateTimeZone => Value::DateTimeOffset(DateTimeOffset::new(0, 0)),
        ItemType::RowId => Value::RowId(0),
        ItemType::Boolean | ItemType::DvBool => Value::Boolean(false),
        ItemType::Text => Value::Text(""),
        ItemType::Key(_) => Value::Missing,
    }
}

/// A vector value.
#[derive(Debug, Clone)]
pub struct Vector<'a> {
    vector: VectorRef<'a>,
    format: ValueFormat<'a>,
}

impl PartialEq for Vector<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.length() == other.length() && self.indices() == other.indices() && self.stored().eq(other.stored())
    }
}

impl<'a> Vector<'a> {
    /// Number of items, stored or not.
    #[must_use]
    pub fn length(&self) -> u32 {
        self.vector.length
    }

    /// Slots of the stored items of a sparse vector; `None` for a dense one.
    #[must_use]
    pub fn indices(&self) -> Option<&'a [u32]> {
        self.vector.indices
    }

    /// The stored items: all items of a dense vector, those at [`indices`](Self::indices) of a sparse one.
    pub fn stored(&self) -> impl Iterator<Item = Value<'a>> + use<'a> {
        let (format, values) = (self.format, self.vector.values);
        self.vector.range.clone().map(move |index| format.value(values, index))
    }

    /// All items in slot order, with the type's default where a sparse vector stores none.
    pub fn items(&self) -> impl Iterator<Item = Value<'a>> + use<'a> {
        let mut stored = self.stored();
        let mut indices = self.vector.indices.map(|indices| indices.iter().copied().peekable());
        let item = self.format.item;
        (0..self.vector.length).map(move |slot| {
            let is_stored = indices.as_mut().is_none_or(|indices| indices.next_if_eq(&slot).is_some());
            if is_stored { stored.next().unwrap_or(Value::Missing) } else { default_value(item) }
        })
    }

    /// The stored items as a slice, if `T` is their Rust type; see [`Values::as_slice`].
    #[must_use]
    pub fn as_slice<T: crate::codec::Item>(&self) -> Option<&'a [T]> {
        self.vector.values.as_slice::<T>()?.get(self.vector.range.clone())
    }
}

/// Serializes a float; non-finite values as strings in human-readable formats.
macro_rules! float {
    ($serializer:expr, $value:expr, $method:ident) => {
        match $value {
            value if value.is_finite() || !$serializer.is_human_readable() => $serializer.$method(value),
            value if value.is_nan() => $serializer.serialize_str("NaN"),
            value if value > 0.0 => $serializer.serialize_str("Infinity"),
            _ => $serializer.serialize_str("-Infinity"),
        }
    };
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Missing => serializer.serialize_none(),
            Self::SByte(x) => serializer.serialize_i8(*x),
            Self::Byte(x) => serializer.serialize_u8(*x),
            Self::Int16(x) => serializer.serialize_i16(*x),
            Self::UInt16(x) => serializer.serialize_u16(*x),
            Self::Int32(x) => serializer.serialize_i32(*x),
            Self::UInt32(x) => serializer.serialize_u32(*x),
            Self::Int64(x) => serializer.serialize_i64(*x),
            Self::UInt64(x) | Self::Key(x) => serializer.serialize_u64(*x),
            Self::Single(x) => float!(serializer, *x, serialize_f32),
            Self::Double(x) => float!(serializer, *x, serialize_f64),
            Self::TimeSpan(x) if serializer.is_human_readable() => serializer.collect_str(x),
            Self::TimeSpan(TimeSpan(ticks)) => serializer.serialize_i64(*ticks),
            Self::DateTime(x) if serializer.is_human_readable() => serializer.collect_str(x),
            Self::DateTime(DateTime(ticks)) => serializer.serialize_i64(*ticks),
            Self::DateTimeOffset(x) if serializer.is_human_readable() => serializer.collect_str(x),
            Self::DateTimeOffset(x) => (x.ticks, x.minutes).serialize(serializer),
            Self::RowId(x) if serializer.is_human_readable() => serializer.collect_str(&format_args!("{x:032x}")),
            Self::RowId(x) => serializer.serialize_u128(*x),
            Self::Boolean(x) => serializer.serialize_bool(*x),
            Self::Text(x) => serializer.serialize_str(x),
            Self::Label(key, labels) => match labels.get(*key) {
                // No recursion: labels are items, never vectors or keys with labels.
                Some(label) => label.serialize(serializer),
                None => serializer.serialize_u64(*key),
            },
            Self::Vector(vector) => vector.serialize(serializer),
        }
    }
}

/// Dense as a sequence, sparse as `{"$sparse": {"length", "indices", "values"}}`.
impl Serialize for Vector<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.indices() {
            None => Stored(self).serialize(serializer),
            Some(_) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("$sparse", &Sparse(self))?;
                map.end()
            }
        }
    }
}

struct Sparse<'a>(&'a Vector<'a>);

impl Serialize for Sparse<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Sparse", 3)?;
        fields.serialize_field("length", &self.0.length())?;
        fields.serialize_field("indices", self.0.indices().unwrap_or_default())?;
        fields.serialize_field("values", &Stored(self.0))?;
        fields.end()
    }
}

/// The stored items as a sequence.
struct Stored<'a>(&'a Vector<'a>);

impl Serialize for Stored<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let vector = self.0;
        let mut sequence = serializer.serialize_seq(Some(vector.vector.range.len()))?;
        match vector.as_slice::<f32>() {
            // Fast path for the most common vectors.
            Some(floats) if !vector.format.missing_floats => {
                for &float in floats {
                    sequence.serialize_element(&Value::Single(float))?;
                }
            }
            _ => {
                for value in vector.stored() {
                    sequence.serialize_element(&value)?;
                }
            }
        }
        sequence.end()
    }
}
