//! Mapping labels to keys.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use container_core::{Error, Result};

use crate::schema::ColumnSchema;
use crate::value::Value;
use crate::wire::{ItemType, Type};
use crate::write::KeyLabels;
use crate::write::cell::display_text;

/// How values map to the keys of a column.
pub(super) enum Keys {
    /// By number, without labels.
    None,
    /// By the given labels of the column.
    Known { labels: Box<KeyLabels>, array: ArrayRef, last: Option<Mapped> },
    /// By labels collected from dictionaries, in order of appearance.
    Collected { indices: HashMap<Box<str>, u32>, bytes: u64, last: Option<Mapped> },
}

/// The mapping of a dictionary, cached.
pub(super) struct Mapped {
    values: ArrayRef,
    /// Stored number of each value; `None` for an unknown label.
    stored: Arc<[Option<u64>]>,
    /// Flags labels of several keys, of which the first is used.
    ambiguous: Arc<[bool]>,
}

/// Per dictionary value: its stored number, and whether it is ambiguous.
pub(super) type Stored = (Arc<[Option<u64>]>, Arc<[bool]>);

impl Keys {
    pub(super) fn known(labels: KeyLabels, array: ArrayRef) -> Self {
        Self::Known { labels: Box::new(labels), array, last: None }
    }

    pub(super) fn collected() -> Self {
        Self::Collected { indices: HashMap::new(), bytes: 0, last: None }
    }

    /// Maps labels to stored numbers. Cached for a repeated dictionary.
    pub(super) fn map(&mut self, values: &ArrayRef, dictionary: bool, max_label_bytes: u64) -> Result<Stored> {
        let last = match self {
            Self::None => return Err(Error::usage("labels for a column without labels")),
            Self::Known { last, .. } | Self::Collected { last, .. } => last,
        };
        if let Some(last) = last
            && last.values.to_data().ptr_eq(&values.to_data())
        {
            return Ok((Arc::clone(&last.stored), Arc::clone(&last.ambiguous)));
        }
        let mut stored = Vec::with_capacity(values.len());
        let mut ambiguous = vec![false; values.len()];
        for index in 0..values.len() {
            let text = text_at(values, index);
            stored.push(match (&mut *self, text) {
                (Self::Known { labels, array, .. }, text) => {
                    // Same dictionary as the column's: equal labels keep their index.
                    if dictionary && index < array.len() && text_at(array, index) == text {
                        Some(index as u64 + 1)
                    } else {
                        match text {
                            None => Some(0),
                            Some(text) => labels.first(&text).map(|(key, others)| {
                                if let Some(ambiguous) = ambiguous.get_mut(index) {
                                    *ambiguous = others;
                                }
                                key + 1
                            }),
                        }
                    }
                }
                (Self::Collected { .. } | Self::None, None) => Some(0),
                (Self::Collected { indices, bytes, .. }, Some(text)) => {
                    Some(u64::from(collect(indices, bytes, &text, max_label_bytes)?) + 1)
                }
                (Self::None, Some(_)) => None,
            });
        }
        let mapped = Mapped { values: Arc::clone(values), stored: stored.into(), ambiguous: ambiguous.into() };
        let result = (Arc::clone(&mapped.stored), Arc::clone(&mapped.ambiguous));
        match self {
            Self::Known { .. } | Self::Collected { .. } if !dictionary => {}
            Self::None => {}
            Self::Known { last, .. } | Self::Collected { last, .. } => *last = Some(mapped),
        }
        Ok(result)
    }

    /// The error for an unknown label.
    pub(super) fn unknown(&self, values: &ArrayRef, index: usize) -> Error {
        let text = text_at(values, index).unwrap_or_default();
        match self {
            Self::Known { labels, .. } => labels.unknown(&text),
            _ => Error::invalid(format!("unknown label {text:?}")),
        }
    }

    /// The column with the collected labels.
    pub(super) fn labeled(&self, column: &ColumnSchema) -> Result<Option<ColumnSchema>> {
        let Self::Collected { indices, .. } = self else { return Ok(None) };
        let mut labels: Vec<(&str, u32)> = indices.iter().map(|(label, &index)| (&**label, index)).collect();
        labels.sort_unstable_by_key(|&(_, index)| index);
        let mut column = column.clone();
        set_count(&mut column.kind, indices.len().max(1) as u64);
        if labels.is_empty() {
            return Ok(Some(column));
        }
        column.with_key_values(labels.into_iter().map(|(label, _)| label)).map(Some)
    }
}

fn collect(indices: &mut HashMap<Box<str>, u32>, bytes: &mut u64, label: &str, max: u64) -> Result<u32> {
    if let Some(&index) = indices.get(label) {
        return Ok(index);
    }
    // The label's bytes and its end offset.
    *bytes = bytes.saturating_add(label.len() as u64 + 4);
    let index = u32::try_from(indices.len()).ok().filter(|&index| index < u32::MAX - 1 && *bytes <= max);
    let index = index.ok_or_else(|| Error::limit("bytes of labels", *bytes, max))?;
    indices.insert(label.into(), index);
    Ok(index)
}

/// A label's displayed text; `None` if missing.
fn text_at(values: &ArrayRef, index: usize) -> Option<Cow<'_, str>> {
    if values.is_null(index) {
        return None;
    }
    let number = match values.data_type() {
        DataType::Utf8 => return Some(Cow::Borrowed(values.as_string::<i32>().value(index))),
        DataType::LargeUtf8 => return Some(Cow::Borrowed(values.as_string::<i64>().value(index))),
        DataType::Utf8View => return Some(Cow::Borrowed(values.as_string_view().value(index))),
        DataType::Int8 => Value::SByte(values.as_primitive::<Int8Type>().value(index)),
        DataType::Int16 => Value::Int16(values.as_primitive::<Int16Type>().value(index)),
        DataType::Int32 => Value::Int32(values.as_primitive::<Int32Type>().value(index)),
        DataType::Int64 => Value::Int64(values.as_primitive::<Int64Type>().value(index)),
        DataType::UInt8 => Value::Byte(values.as_primitive::<UInt8Type>().value(index)),
        DataType::UInt16 => Value::UInt16(values.as_primitive::<UInt16Type>().value(index)),
        DataType::UInt32 => Value::UInt32(values.as_primitive::<UInt32Type>().value(index)),
        DataType::UInt64 => Value::UInt64(values.as_primitive::<UInt64Type>().value(index)),
        DataType::Float32 => Value::Single(values.as_primitive::<Float32Type>().value(index)),
        DataType::Float64 => Value::Double(values.as_primitive::<Float64Type>().value(index)),
        _ => return None,
    };
    display_text(&number).map(|text| Cow::Owned(text.into_owned()))
}

/// Sets the key count of a key type.
fn set_count(kind: &mut Type, count: u64) {
    if let Type::Item(ItemType::Key(key)) | Type::Vector { item: ItemType::Key(key), .. } = kind {
        key.count = count;
    }
}
