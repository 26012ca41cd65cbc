//! Labels as the keys that they stand for.

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

/// What the keys of a column are found by.
pub(super) enum Keys {
    /// They are no labels.
    None,
    /// The labels that the file will have.
    Known { labels: Box<KeyLabels>, array: ArrayRef, last: Option<Mapped> },
    /// The labels of the dictionaries that came so far, in their order.
    Collected { places: HashMap<Box<str>, u32>, bytes: u64, last: Option<Mapped> },
}

/// What the values of a dictionary stand for.
pub(super) struct Mapped {
    values: ArrayRef,
    /// The number that each is stored as; `None` for one that is no label.
    stored: Arc<[Option<u64>]>,
    /// Those that stand for ambiguous keys, of which the first was taken.
    ambiguous: Arc<[bool]>,
}

/// What the values of a dictionary stand for, in their order: the number each is stored as, and whether it is one of ambiguous.
pub(super) type Stored = (Arc<[Option<u64>]>, Arc<[bool]>);

impl Keys {
    pub(super) fn known(labels: KeyLabels, array: ArrayRef) -> Self {
        Self::Known { labels: Box::new(labels), array, last: None }
    }

    pub(super) fn collected() -> Self {
        Self::Collected { places: HashMap::new(), bytes: 0, last: None }
    }

    /// What each of some labels is stored as. Those of a dictionary again cost nothing.
    pub(super) fn map(&mut self, values: &ArrayRef, dictionary: bool, max_label_bytes: u64) -> Result<Stored> {
        let last = match self {
            Self::None => return Err(Error::usage("labels where keys have none")),
            Self::Known { last, .. } | Self::Collected { last, .. } => last,
        };
        if let Some(last) = last
            && last.values.to_data().ptr_eq(&values.to_data())
        {
            return Ok((Arc::clone(&last.stored), Arc::clone(&last.ambiguous)));
        }
        let mut stored = Vec::with_capacity(values.len());
        let mut ambiguous = vec![false; values.len()];
        for place in 0..values.len() {
            let text = text_at(values, place);
            stored.push(match (&mut *self, text) {
                (Self::Known { labels, array, .. }, text) => {
                    // The file's own dictionary: equal labels keep their places.
                    if dictionary && place < array.len() && text_at(array, place) == text {
                        Some(place as u64 + 1)
                    } else {
                        match text {
                            None => Some(0),
                            Some(text) => labels.first(&text).map(|(key, others)| {
                                if let Some(ambiguous) = ambiguous.get_mut(place) {
                                    *ambiguous = others;
                                }
                                key + 1
                            }),
                        }
                    }
                }
                (Self::Collected { .. } | Self::None, None) => Some(0),
                (Self::Collected { places, bytes, .. }, Some(text)) => {
                    Some(u64::from(collect(places, bytes, &text, max_label_bytes)?) + 1)
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

    /// The error for a label that is none.
    pub(super) fn unknown(&self, values: &ArrayRef, place: usize) -> Error {
        let text = text_at(values, place).unwrap_or_default();
        match self {
            Self::Known { labels, .. } => labels.unknown(&text),
            _ => Error::invalid(format!("{text:?} is no label")),
        }
    }

    /// The column with the labels that were collected.
    pub(super) fn labelled(&self, column: &ColumnSchema) -> Result<Option<ColumnSchema>> {
        let Self::Collected { places, .. } = self else { return Ok(None) };
        let mut labels: Vec<(&str, u32)> = places.iter().map(|(label, &place)| (&**label, place)).collect();
        labels.sort_unstable_by_key(|&(_, place)| place);
        let mut column = column.clone();
        set_count(&mut column.kind, places.len().max(1) as u64);
        if labels.is_empty() {
            return Ok(Some(column));
        }
        column.with_key_values(labels.into_iter().map(|(label, _)| label)).map(Some)
    }
}

fn collect(places: &mut HashMap<Box<str>, u32>, bytes: &mut u64, label: &str, most: u64) -> Result<u32> {
    if let Some(&place) = places.get(label) {
        return Ok(place);
    }
    // A label takes its bytes and where they end.
    *bytes = bytes.saturating_add(label.len() as u64 + 4);
    let place = u32::try_from(places.len()).ok().filter(|&place| place < u32::MAX - 1 && *bytes <= most);
    let place = place.ok_or_else(|| Error::limit("bytes of labels", *bytes, most))?;
    places.insert(label.into(), place);
    Ok(place)
}

/// A label's text as rows show it; `None` for a missing one.
fn text_at(values: &ArrayRef, place: usize) -> Option<Cow<'_, str>> {
    if values.is_null(place) {
        return None;
    }
    let number = match values.data_type() {
        DataType::Utf8 => return Some(Cow::Borrowed(values.as_string::<i32>().value(place))),
        DataType::LargeUtf8 => return Some(Cow::Borrowed(values.as_string::<i64>().value(place))),
        DataType::Utf8View => return Some(Cow::Borrowed(values.as_string_view().value(place))),
        DataType::Int8 => Value::SByte(values.as_primitive::<Int8Type>().value(place)),
        DataType::Int16 => Value::Int16(values.as_primitive::<Int16Type>().value(place)),
        DataType::Int32 => Value::Int32(values.as_primitive::<Int32Type>().value(place)),
        DataType::Int64 => Value::Int64(values.as_primitive::<Int64Type>().value(place)),
        DataType::UInt8 => Value::Byte(values.as_primitive::<UInt8Type>().value(place)),
        DataType::UInt16 => Value::UInt16(values.as_primitive::<UInt16Type>().value(place)),
        DataType::UInt32 => Value::UInt32(values.as_primitive::<UInt32Type>().value(place)),
        DataType::UInt64 => Value::UInt64(values.as_primitive::<UInt64Type>().value(place)),
        DataType::Float32 => Value::Single(values.as_primitive::<Float32Type>().value(place)),
        DataType::Float64 => Value::Double(values.as_primitive::<Float64Type>().value(place)),
        _ => return None,
    };
    display_text(&number).map(|text| Cow::Owned(text.into_owned()))
}

/// Says how many values the keys of a type have.
fn set_count(kind: &mut Type, count: u64) {
    if let Type::Item(ItemType::Key(key)) | Type::Vector { item: ItemType::Key(key), .. } = kind {
        key.count = count;
    }
}
