//! Elements as rows show them, held until there are enough.

use container_core::{Error, Result};
use dsfmt::{Array, DataType, Mask, Strings};
use idv::Value;

use super::column::Plan;
use super::values::{ELEMENTS, array};

/// Bytes of text that are held at most, about.
const TEXT_BYTES: usize = 8 << 20;

/// Ticks of a microsecond.
const TICKS: i64 = 10;

/// Elements that have not been handed on.
pub(super) struct Held {
    values: Elements,
    missing: Vec<bool>,
}

/// Elements of a type.
enum Elements {
    Int8(Vec<i8>),
    Int16(Vec<i16>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Uint8(Vec<u8>),
    Uint16(Vec<u16>),
    Uint32(Vec<u32>),
    Uint64(Vec<u64>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    Bool(Vec<bool>),
    /// Bytes of all, and the length of each.
    Texts(Vec<u8>, Vec<usize>),
}

impl Elements {
    const fn new(data_type: DataType) -> Self {
        match data_type {
            DataType::Int8 => Self::Int8(Vec::new()),
            DataType::Int16 => Self::Int16(Vec::new()),
            DataType::Int32 => Self::Int32(Vec::new()),
            DataType::Int64 => Self::Int64(Vec::new()),
            DataType::Uint8 => Self::Uint8(Vec::new()),
            DataType::Uint16 => Self::Uint16(Vec::new()),
            DataType::Uint32 => Self::Uint32(Vec::new()),
            DataType::Uint64 => Self::Uint64(Vec::new()),
            DataType::Float32 => Self::Float32(Vec::new()),
            DataType::Float64 => Self::Float64(Vec::new()),
            DataType::Bool => Self::Bool(Vec::new()),
            DataType::Str | DataType::Unicode => Self::Texts(Vec::new(), Vec::new()),
        }
    }

    /// What stands where something is missing.
    fn push_default(&mut self) {
        match self {
            Self::Int8(v) => v.push(0),
            Self::Int16(v) => v.push(0),
            Self::Int32(v) => v.push(0),
            Self::Int64(v) => v.push(0),
            Self::Uint8(v) => v.push(0),
            Self::Uint16(v) => v.push(0),
            Self::Uint32(v) => v.push(0),
            Self::Uint64(v) => v.push(0),
            Self::Float32(v) => v.push(0.0),
            Self::Float64(v) => v.push(0.0),
            Self::Bool(v) => v.push(false),
            Self::Texts(_, lengths) => lengths.push(0),
        }
    }

    fn push_text(&mut self, text: &str) -> bool {
        match self {
            Self::Texts(bytes, lengths) => {
                bytes.extend_from_slice(text.as_bytes());
                lengths.push(text.len());
                true
            }
            _ => false,
        }
    }

    /// The number of a key.
    fn push_key(&mut self, key: u64) -> bool {
        match self {
            Self::Uint8(v) => key.try_into().map(|key| v.push(key)).is_ok(),
            Self::Uint16(v) => key.try_into().map(|key| v.push(key)).is_ok(),
            Self::Uint32(v) => key.try_into().map(|key| v.push(key)).is_ok(),
            Self::Uint64(v) => {
                v.push(key);
                true
            }
            _ => false,
        }
    }
}

impl Held {
    pub(super) const fn new(data_type: DataType) -> Self {
        Self { values: Elements::new(data_type), missing: Vec::new() }
    }

    pub(super) fn push(&mut self, plan: &Plan, value: &Value<'_>) -> Result<()> {
        let values = &mut self.values;
        let mut label = None;
        let value = match value {
            Value::Label(key, labels) => {
                label = labels.get(*key);
                label.as_ref().unwrap_or(&Value::Missing)
            }
            other => other,
        };
        if *value == Value::Missing {
            values.push_default();
            self.missing.push(true);
            return Ok(());
        }
        let taken = match (&mut *values, value) {
            (Elements::Int64(v), Value::DateTime(time)) => {
                v.push(time.0.div_euclid(TICKS));
                time.0.rem_euclid(TICKS) == 0
            }
            (Elements::Texts(..), Value::Text(text)) => values.push_text(text),
            (Elements::Texts(..), Value::DateTime(time)) => values.push_text(&time.to_string()),
            (Elements::Texts(..), Value::DateTimeOffset(time)) => values.push_text(&time.to_string()),
            (Elements::Texts(..), Value::TimeSpan(span)) => values.push_text(&span.to_string()),
            (Elements::Texts(..), Value::RowId(id)) => values.push_text(&format!("{id:032x}")),
            (Elements::Bool(v), Value::Boolean(truth)) => {
                v.push(*truth);
                true
            }
            (Elements::Int8(v), Value::SByte(x)) => pushed(v, *x),
            (Elements::Int16(v), Value::Int16(x)) => pushed(v, *x),
            (Elements::Int32(v), Value::Int32(x)) => pushed(v, *x),
            (Elements::Int64(v), Value::Int64(x)) => pushed(v, *x),
            (Elements::Uint8(v), Value::Byte(x)) => pushed(v, *x),
            (Elements::Uint16(v), Value::UInt16(x)) => pushed(v, *x),
            (Elements::Uint32(v), Value::UInt32(x)) => pushed(v, *x),
            (Elements::Uint64(v), Value::UInt64(x)) => pushed(v, *x),
            (Elements::Float32(v), Value::Single(x)) => pushed(v, *x),
            (Elements::Float64(v), Value::Double(x)) => pushed(v, *x),
            (_, Value::Key(key)) if plan.labelled && label.is_none() => {
                let detail = format!("the key value {key} has no label, and others have: a variable has one type");
                return Err(Error::unsupported(detail));
            }
            (values, Value::Key(key)) => values.push_key(*key),
            _ => false,
        };
        if !taken {
            return Err(Error::invalid(format!("a value that is no {}", plan.data_type)));
        }
        self.missing.push(false);
        Ok(())
    }

    pub(super) fn is_full(&self) -> bool {
        let bytes = if let Elements::Texts(bytes, _) = &self.values { bytes.len() } else { 0 };
        self.missing.len() >= ELEMENTS || bytes >= TEXT_BYTES
    }

    /// All that is held, which is so many rows.
    pub(super) fn take(&mut self, plan: &Plan, rows: usize) -> Result<Array<'static>> {
        let values = match std::mem::replace(&mut self.values, Elements::new(plan.data_type)) {
            Elements::Int8(v) => v.into(),
            Elements::Int16(v) => v.into(),
            Elements::Int32(v) => v.into(),
            Elements::Int64(v) => v.into(),
            Elements::Uint8(v) => v.into(),
            Elements::Uint16(v) => v.into(),
            Elements::Uint32(v) => v.into(),
            Elements::Uint64(v) => v.into(),
            Elements::Float32(v) => v.into(),
            Elements::Float64(v) => v.into(),
            Elements::Bool(v) => v.into(),
            Elements::Texts(bytes, lengths) => {
                let strings = Strings::from_lengths(bytes, lengths)?;
                match plan.data_type {
                    DataType::Str => dsfmt::Values::Str(strings),
                    _ => dsfmt::Values::Unicode(strings),
                }
            }
        };
        let missing = std::mem::take(&mut self.missing);
        let mask = missing.contains(&true).then(|| Mask::from_bools(missing));
        array(plan, rows, values, mask)
    }
}

fn pushed<T>(values: &mut Vec<T>, value: T) -> bool {
    values.push(value);
    true
}
