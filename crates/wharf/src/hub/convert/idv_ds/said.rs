//! Metadata of a column as attributes of a variable.

use std::collections::HashSet;

use container_core::{Error, Loss, Position, Result};
use dsfmt::{DataType, JsonBuf};
use idv::{DateTime, DateTimeOffset, ItemType, Metadata, TimeSpan, Type, Values};

use super::super::ds_idv::said::{BEFORE, CALENDAR, DIMS, MISSING, TIME, TYPE, UNITS};
use super::File;
use super::column::{Becomes, Plan};

/// Items of one thing that is said, and bytes of the header: what is larger is left out.
const ITEMS: u64 = 1 << 20;
const BYTES: usize = 16 << 20;

/// What the header keeps for itself: no attribute is called so.
const SPECIAL: [&str; 8] = [".dims", ".size", ".type", ".offset", ".len", ".endian", ".missing", ".time"];

/// Attributes, and what else is said.
#[derive(Default, PartialEq)]
pub(super) struct Told {
    pub(super) kept: Vec<(String, JsonBuf)>,
    pub(super) losses: Vec<Loss>,
    pub(super) dimensions: Option<Vec<String>>,
    pub(super) time: bool,
    /// NaN is what is missing.
    pub(super) nan_is_missing: bool,
    /// The type of integers that are Double only as some are missing, and of texts that were strings of bytes.
    pub(super) before: Option<DataType>,
}

impl Told {
    /// Which names of slots or values differ; keys that are written as their labels need no names.
    pub(super) fn differing_names(&self, other: &Self, plan: &Plan) -> Option<&'static str> {
        let of = |told: &'_ Self, kind: &str| {
            told.kept.iter().find(|(name, _)| name == kind).map(|(_, names)| names.clone())
        };
        let kinds = ["SlotNames", "KeyValues"].into_iter().filter(|kind| !plan.labelled || *kind == "SlotNames");
        kinds.into_iter().find(|kind| of(self, kind) != of(other, kind))
    }
}

/// What is said of a column.
pub(super) fn attributes(file: &File<'_>, slot: usize, plan: &Plan) -> Told {
    let mut told = Told::default();
    let lose = |told: &mut Told, what: String| {
        let mut first = Position::default();
        first.column = Some(plan.name.clone().into());
        told.losses.push(Loss::new(what, 1, first));
    };
    if let Some(text) = exact_text(plan.item) {
        told.kept.push((TYPE.to_owned(), text.into()));
    }
    if plan.becomes == Becomes::Micros {
        told.kept.push(("units".to_owned(), UNITS.into()));
        told.kept.push(("calendar".to_owned(), CALENDAR.into()));
    }
    let found = file.column(slot).and_then(|column| Ok((column.index(), file.reader.metadata(column.index())?)));
    let (index, all) = match found {
        Ok(found) => found,
        Err(error) => {
            lose(&mut told, format!("metadata left out ({error})"));
            return told;
        }
    };
    let floats = matches!(plan.becomes, Becomes::Same(DataType::Float32 | DataType::Float64));
    let mut bytes = 0;
    for metadata in &all {
        let kind = metadata.kind();
        match value(file, index, metadata) {
            Err(error) => lose(&mut told, format!("metadata {kind:?} left out ({error})")),
            Ok((values, Type::Vector { item: ItemType::Text, .. })) if kind == DIMS => {
                told.dimensions = texts(&values);
            }
            Ok((Values::Boolean(truth), _)) if kind == TIME && plan.data_type.width().is_some() => {
                told.time = truth.first() == Some(&true);
            }
            Ok((Values::Boolean(truth), _)) if kind == MISSING && floats => {
                told.nan_is_missing = truth.first() == Some(&true);
            }
            Ok((Values::Text(texts), _)) if kind == BEFORE => {
                let said = texts.get(0).and_then(DataType::from_name);
                told.before = said.filter(|data_type| match plan.becomes {
                    Becomes::Same(DataType::Float64) => is_integer(*data_type),
                    _ => plan.item == ItemType::Text && *data_type == DataType::Str,
                });
            }
            Ok(_) if SPECIAL.contains(&kind) || told.kept.iter().any(|(name, _)| name == kind) => {
                lose(&mut told, format!("metadata {kind:?} left out (no attribute can be called so)"));
            }
            Ok((values, value_type)) => {
                let json = json(&values, &value_type);
                bytes += json.as_json().as_text().len();
                if bytes > BYTES {
                    lose(&mut told, format!("metadata {kind:?} left out (it is too long for a header)"));
                } else {
                    told.kept.push((kind.to_owned(), json));
                }
            }
        }
    }
    // Without missing ones it was no float.
    told.before = told.before.filter(|data_type| told.nan_is_missing || *data_type == DataType::Str);
    if plan.labelled {
        let labels = told.kept.iter().find(|(name, _)| name == "KeyValues").map(|(_, labels)| labels);
        let unique = labels.is_some_and(are_unique);
        if labels.is_some() && !unique {
            lose(&mut told, "keys that share a label, or have a missing one, are told by it alone".to_owned());
        }
        if !unique {
            // From labels alone it does not follow which key was meant.
            told.kept.retain(|(name, _)| name != TYPE);
        }
    }
    told
}

fn is_integer(data_type: DataType) -> bool {
    data_type.width().is_some() && !matches!(data_type, DataType::Float32 | DataType::Float64)
}

/// True where each label is there and stands once.
fn are_unique(labels: &JsonBuf) -> bool {
    let mut seen = HashSet::new();
    labels.as_json().items().all(|label| !label.is_null() && seen.insert(label.as_text()))
}

/// The type that an attribute has to say, as the variable's does not.
fn exact_text(item: ItemType) -> Option<String> {
    match item {
        ItemType::DvTimeSpan => Some("DvTimeSpan".to_owned()),
        ItemType::DvDateTime => Some("DvDateTime".to_owned()),
        ItemType::DvDateTimeZone => Some("DvDateTimeZone".to_owned()),
        ItemType::TimeSpan | ItemType::DateTime | ItemType::DateTimeOffset | ItemType::RowId => Some(item.to_string()),
        ItemType::Key(key) if key.count > 0 => Some(item.to_string()),
        _ => None,
    }
}

/// One value, small enough to be an attribute.
fn value(file: &File<'_>, index: usize, metadata: &Metadata) -> Result<(Values, Type)> {
    let value_type = metadata.value_type().map_err(idv::Unreadable::to_error)?.clone();
    let values = file.reader.metadata_value(index, metadata)?;
    let length = match &values {
        Values::Vector(vectors) => vectors.get(0).map_or(0, |vector| vector.length.into()),
        _ => 1,
    };
    if length > ITEMS {
        return Err(Error::limit("items of an attribute", length, ITEMS));
    }
    Ok((values, value_type))
}

/// The texts of a vector, none of which is missing.
fn texts(values: &Values) -> Option<Vec<String>> {
    let Values::Vector(vectors) = values else { return None };
    let vector = vectors.get(0)?;
    let Values::Text(texts) = vector.values else { return vector.range.is_empty().then(Vec::new) };
    if vector.indices.is_some() {
        return None;
    }
    vector.range.map(|place| texts.get(place).map(str::to_owned)).collect()
}

/// A value as JSON: a vector as a list, of several dimensions as lists in lists.
fn json(values: &Values, value_type: &Type) -> JsonBuf {
    let Values::Vector(vectors) = values else { return item(values, 0) };
    let Some(vector) = vectors.get(0) else { return JsonBuf::null() };
    let mut items: Vec<JsonBuf> = match vector.indices {
        None => vector.range.clone().map(|place| item(vector.values, place)).collect(),
        Some(indices) => {
            let mut stored = indices.iter().zip(vector.range.clone()).peekable();
            let all = (0..vector.length).map(|slot| match stored.next_if(|(index, _)| **index == slot) {
                Some((_, place)) => item(vector.values, place),
                None => default_of(value_type.item()),
            });
            all.collect()
        }
    };
    if let Type::Vector { dimensions, .. } = value_type
        && value_type.size() > 0
    {
        // The innermost lists first.
        for size in dimensions.iter().skip(1).rev() {
            let size = usize::try_from(*size).unwrap_or(usize::MAX).max(1);
            items = items.chunks(size).map(|chunk| JsonBuf::list(chunk.iter().cloned())).collect();
        }
    }
    JsonBuf::list(items)
}

fn item(values: &Values, at: usize) -> JsonBuf {
    /// Times that are missing.
    const MISSING: i64 = i64::MIN;
    match values {
        Values::SByte(v) => v.get(at).copied().into(),
        Values::Byte(v) => v.get(at).copied().into(),
        Values::Int16(v) => v.get(at).copied().into(),
        Values::UInt16(v) => v.get(at).copied().into(),
        Values::Int32(v) => v.get(at).copied().into(),
        Values::UInt32(v) => v.get(at).copied().into(),
        Values::Int64(v) => v.get(at).copied().into(),
        Values::UInt64(v) => v.get(at).copied().into(),
        Values::Single(v) => v.get(at).copied().into(),
        Values::Double(v) => v.get(at).copied().into(),
        Values::Boolean(v) => v.get(at).copied().into(),
        Values::DvBool(v) => v.get(at).copied().flatten().into(),
        Values::RowId(v) => v.get(at).map(|id| format!("{id:032x}")).into(),
        Values::TimeSpan(v) => v.get(at).map(|ticks| TimeSpan(*ticks).to_string()).into(),
        Values::DateTime(v) => v.get(at).filter(|ticks| **ticks != MISSING).map(|t| DateTime(*t).to_string()).into(),
        Values::DateTimeOffset(v) => {
            let time = v.ticks.get(at).zip(v.minutes.get(at)).filter(|(ticks, _)| **ticks != MISSING);
            time.map(|(ticks, minutes)| DateTimeOffset::new(*ticks, *minutes).to_string()).into()
        }
        Values::Text(v) => v.get(at).into(),
        _ => JsonBuf::null(),
    }
}

/// A slot that a sparse vector does not store.
fn default_of(item: ItemType) -> JsonBuf {
    match item {
        ItemType::Text => "".into(),
        ItemType::Boolean | ItemType::DvBool => false.into(),
        ItemType::Single | ItemType::Double => 0.0.into(),
        ItemType::TimeSpan | ItemType::DvTimeSpan => TimeSpan(0).to_string().into(),
        ItemType::DateTime | ItemType::DvDateTime => DateTime(0).to_string().into(),
        ItemType::DateTimeOffset | ItemType::DvDateTimeZone => DateTimeOffset::new(0, 0).to_string().into(),
        ItemType::RowId => format!("{:032x}", 0).into(),
        _ => 0.into(),
    }
}
