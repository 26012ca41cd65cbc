//! Serializes values with any serializer.

use container_core::Error;
use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::text::{ESCAPE, base64, name, needs_escape, out_of_range, range};
use super::values::{Data, Member, Values};
use crate::decimals::decimal_text;
use crate::json::tree;
use crate::times;

/// A row as a map of all members.
pub(super) struct Row<'v> {
    pub(super) members: &'v [Member],
    pub(super) at: usize,
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.members.len()))?;
        for member in self.members {
            map.serialize_entry(&member.name, &ValueAt { values: &member.values, at: self.at })?;
        }
        map.end()
    }
}

/// The value at an index.
struct ValueAt<'v> {
    values: &'v Values,
    at: usize,
}

/// A range of values as nested sequences of the given shape.
struct Run<'v> {
    values: &'v Values,
    start: usize,
    size: usize,
    shape: &'v [usize],
}

impl Serialize for Run<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { values, start, size, shape } = *self;
        if let [length, inner @ ..] = shape
            && !inner.is_empty()
            && *length > 0
        {
            let part = size / length;
            let mut parts = serializer.serialize_seq(Some(*length))?;
            for number in 0..*length {
                let start = start.saturating_add(number * part);
                parts.serialize_element(&Run { values, start, size: part, shape: inner })?;
            }
            return parts.end();
        }
        let mut elements = serializer.serialize_seq(Some(size))?;
        for at in start..start.saturating_add(size) {
            elements.serialize_element(&ValueAt { values, at })?;
        }
        elements.end()
    }
}

impl Serialize for ValueAt<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { values, at } = *self;
        let to_error = |error: Error| S::Error::custom(error);
        let missing = || S::Error::custom(out_of_range());
        if values.is_null(at) {
            return serializer.serialize_none();
        }
        let run = |range: container_core::Result<(usize, usize)>| {
            range.map(|(start, end)| (start, end.saturating_sub(start))).map_err(to_error)
        };
        match &values.data {
            Data::Null => serializer.serialize_none(),
            Data::Bool(bits) => serializer.serialize_bool(at < bits.len() && bits.value(at)),
            Data::I8(values) => serializer.serialize_i8(*values.get(at).ok_or_else(missing)?),
            Data::I16(values) => serializer.serialize_i16(*values.get(at).ok_or_else(missing)?),
            Data::I32(values) => serializer.serialize_i32(*values.get(at).ok_or_else(missing)?),
            Data::I64(values) => serializer.serialize_i64(*values.get(at).ok_or_else(missing)?),
            Data::U8(values) => serializer.serialize_u8(*values.get(at).ok_or_else(missing)?),
            Data::U16(values) => serializer.serialize_u16(*values.get(at).ok_or_else(missing)?),
            Data::U32(values) => serializer.serialize_u32(*values.get(at).ok_or_else(missing)?),
            Data::U64(values) => serializer.serialize_u64(*values.get(at).ok_or_else(missing)?),
            Data::F16(values) => float32(*values.get(at).ok_or_else(missing)?, serializer),
            Data::F32(values) => float32(*values.get(at).ok_or_else(missing)?, serializer),
            Data::F64(values) => match *values.get(at).ok_or_else(missing)? {
                value if is_text(value, &serializer) => serializer.serialize_str(name(value)),
                value => serializer.serialize_f64(value),
            },
            Data::Time32(data_type, values) => {
                let value = i64::from(*values.get(at).ok_or_else(missing)?);
                time(data_type, value, serializer)
            }
            Data::Time64(data_type, values) => time(data_type, *values.get(at).ok_or_else(missing)?, serializer),
            Data::Decimal(values) => serializer.serialize_str(&decimal_text(values, at).ok_or_else(missing)?),
            Data::Text(_) | Data::LargeText(_) | Data::TextView(_) => {
                serializer.serialize_str(values.text(at).ok_or_else(missing)?)
            }
            // Parsed; a number out of range becomes its text.
            Data::Json(texts) => tree(texts.text(at).ok_or_else(missing)?).map_err(to_error)?.serialize(serializer),
            Data::Bytes(_) | Data::LargeBytes(_) | Data::BytesView(_) | Data::Fixed(_) => {
                let bytes = values.bytes(at).ok_or_else(missing)?;
                if !serializer.is_human_readable() {
                    return serializer.serialize_bytes(bytes);
                }
                let mut text = Vec::new();
                base64(bytes, &mut text);
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("$bytes", std::str::from_utf8(&text).unwrap_or_default())?; // base64 is ASCII
                map.end()
            }
            Data::Struct(members) => {
                let is_escaped = members.first().is_some_and(|first| needs_escape(&first.name, members.len()));
                match is_escaped && serializer.is_human_readable() {
                    true => serializer.collect_map([(ESCAPE, Row { members, at })]),
                    false => Row { members, at }.serialize(serializer),
                }
            }
            Data::Dictionary(indexes, values) => {
                ValueAt { values, at: *indexes.get(at).ok_or_else(missing)? }.serialize(serializer)
            }
            Data::FixedList(size, shape, values) => {
                let start = at.checked_mul(*size).ok_or_else(missing)?;
                Run { values, start, size: *size, shape }.serialize(serializer)
            }
            Data::List(offsets, values) => {
                let (start, size) = run(range(offsets, at))?;
                Run { values, start, size, shape: &[] }.serialize(serializer)
            }
            Data::LargeList(offsets, values) => {
                let (start, size) = run(range(offsets, at))?;
                Run { values, start, size, shape: &[] }.serialize(serializer)
            }
            Data::Map(offsets, keys, values) => {
                let (start, size) = run(range(offsets, at))?;
                let entries = Entries { keys, values, start, size };
                let first = if size > 0 && serializer.is_human_readable() { keys.text(start) } else { None };
                match first.is_some_and(|first| needs_escape(first, size)) {
                    true => serializer.collect_map([(ESCAPE, entries)]),
                    false => entries.serialize(serializer),
                }
            }
        }
    }
}

/// The entries of a map.
struct Entries<'v> {
    keys: &'v Values,
    values: &'v Values,
    start: usize,
    size: usize,
}

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { keys, values, start, size } = *self;
        let is_text = matches!(keys.data, Data::Text(_) | Data::LargeText(_) | Data::TextView(_));
        let is_json = serializer.is_human_readable() && !is_text;
        let mut map = serializer.serialize_map(Some(size))?;
        for at in start..start.saturating_add(size) {
            let (key, value) = (ValueAt { values: keys, at }, ValueAt { values, at });
            // The name of a key that is not text is its JSON.
            let json = if is_json { Some(serde_json::to_string(&key).map_err(S::Error::custom)?) } else { None };
            match json.filter(|json| !json.starts_with('"')) {
                Some(name) => map.serialize_entry(&name, &value)?,
                None => map.serialize_entry(&key, &value)?,
            }
        }
        map.end()
    }
}

/// Returns true if a non-finite float is written as text, as in all human-readable formats.
fn is_text<S: Serializer>(value: f64, serializer: &S) -> bool {
    !value.is_finite() && serializer.is_human_readable()
}

fn float32<S: Serializer>(value: f32, serializer: S) -> Result<S::Ok, S::Error> {
    match is_text(value.into(), &serializer) {
        true => serializer.serialize_str(name(value.into())),
        false => serializer.serialize_f32(value),
    }
}

fn time<S: Serializer>(data_type: &arrow_schema::DataType, value: i64, serializer: S) -> Result<S::Ok, S::Error> {
    let mut text = String::new();
    match times::write(data_type, value, &mut text) {
        true => serializer.serialize_str(&text),
        false => serializer.serialize_i64(value),
    }
}
