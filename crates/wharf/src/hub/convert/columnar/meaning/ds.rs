//! Columns of IDV as variables of ds.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray, StringArray};
use arrow_schema::{DataType as ArrowType, Field};
use container_core::{Error, Loss, Result};
use dsfmt::arrow::FieldMetadata;
use dsfmt::{DataType, Json, JsonBuf};
use idv::{ColumnSchema, DateTime, DateTimeOffset, ItemType, KeyWidth, TimeSpan, Type, Values};

use super::super::super::super::DS;
use super::{BEFORE, CALENDAR, DIMS, MISSING, Recode, TIME, TYPE, Translation, UNITS, loss, with_shape};

/// Maximum items of an attribute, and bytes of all attributes of a variable. Larger metadata are left out.
const MAX_ITEMS: usize = 1 << 20;
const MAX_BYTES: usize = 16 << 20;

/// Reserved header members, which attributes cannot have as names.
const SPECIAL: [&str; 8] = [".dims", ".size", ".type", ".offset", ".len", ".endian", ".missing", ".time"];

/// Properties of a column that only its values show.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Profile {
    /// A time is finer than a microsecond.
    pub(in super::super) finer: bool,
    /// The length of the first vector.
    pub(in super::super) length: Option<u32>,
    /// Vectors differ in length.
    pub(in super::super) ragged: bool,
}

impl Profile {
    /// Whether the values of a column decide the type of its variable.
    pub(in super::super) fn is_needed(field: &Field) -> bool {
        let time = |column: &ColumnSchema| matches!(column.kind.item(), ItemType::DateTime | ItemType::DvDateTime);
        matches!(field.data_type(), ArrowType::List(_)) || column_of(field).as_ref().is_some_and(time)
    }
}

/// The IDV schema in the metadata of a field.
fn column_of(field: &Field) -> Option<ColumnSchema> {
    let json = serde_json::from_str(field.metadata().get(idv::FORMAT.name())?).ok()?;
    idv::Schema::from_json(&serde_json::Value::Array(vec![json])).ok()?.0.columns.pop()
}

/// The field, with the slot names that it has as a column of IDV as an attribute. Fields with attributes stay as they are.
pub(in super::super) fn with_slot_names(field: &Field) -> Field {
    const SLOT_NAMES: &str = "SlotNames";
    let mut named = field.clone();
    let names = || {
        let column = column_of(field).filter(|_| !field.metadata().contains_key(DS))?;
        let names = column.metadata.iter().find(|metadata| metadata.kind == SLOT_NAMES)?;
        texts(&names.value)
    };
    if let Some(names) = names() {
        let mut header = FieldMetadata::default();
        header.push_attribute(SLOT_NAMES, JsonBuf::list(names.iter().map(|name| name.as_str().into())));
        named.metadata_mut().insert(DS.to_owned(), header.to_json());
    }
    named
}

/// The type of the texts that rows show for the items of a column with ticks; `None` for values that are shown as they are.
pub(in super::super) fn text_type(field: &Field) -> Option<ItemType> {
    Some(column_of(field)?.kind.item()).filter(|item| is_text(*item))
}

/// Whether rows show values as texts for want of a type.
fn is_text(item: ItemType) -> bool {
    matches!(
        item,
        ItemType::DateTime
            | ItemType::DvDateTime
            | ItemType::TimeSpan
            | ItemType::DvTimeSpan
            | ItemType::DateTimeOffset
            | ItemType::DvDateTimeZone
            | ItemType::RowId
    )
}

/// Whether a field has the IDV schema of its column.
pub(in super::super) fn is_column(field: &Field) -> bool {
    column_of(field).is_some()
}

/// The error for a column whose IDV schema is not known.
pub(in super::super) fn no_common_type(field: &Field) -> Error {
    Error::invalid("the IDV type is not the same in all inputs").in_column(field.name().clone())
}

/// Translates a column into a variable.
///
/// # Errors
/// [`Invalid`](container_core::ErrorKind::Invalid) when inputs have different IDV types for a column.
pub(in super::super) fn variable(field: &Field, profile: &Profile) -> Result<Translation> {
    let column = column_of(field).ok_or_else(|| no_common_type(field))?;
    let items = match field.data_type() {
        ArrowType::FixedSizeList(items, _) | ArrowType::List(items) => items,
        _ => field,
    };
    let item = column.kind.item();
    let mut attributes = Attributes::default();
    let micros = matches!(item, ItemType::DateTime | ItemType::DvDateTime) && !profile.finer;
    let labels = match item {
        ItemType::Key(_) => column.metadata.iter().find(|metadata| metadata.kind == "KeyValues"),
        _ => None,
    };
    let labels = labels
        .and_then(|metadata| Some((list_of(&metadata.value, metadata.value_type.item())?, metadata.value_type.item())));
    let is_dictionary = matches!(items.data_type(), ArrowType::Dictionary(..));
    attributes.collect(field.name(), &column, micros, is_dictionary || labels.is_some());
    let (recode, data_type) = match (item, labels) {
        (ItemType::DateTime | ItemType::DvDateTime, _) if micros => (Recode::Micros, ArrowType::Int64),
        _ if is_text(item) => (Recode::Texts(item), ArrowType::Utf8),
        (ItemType::Key(_), Some((labels, of))) if !is_dictionary => {
            let labels = label_array(&labels, of);
            let data_type = labels.data_type().clone();
            (Recode::Labels(labels), data_type)
        }
        (ItemType::Text, _) if attributes.before == Some(DataType::Str) => (Recode::Bytes, ArrowType::Binary),
        (ItemType::Double, _) if attributes.nan_is_missing && attributes.before.is_some_and(is_integer) => {
            let data_type = integer_type(attributes.before);
            (Recode::Integers(data_type.clone()), data_type)
        }
        (ItemType::Single | ItemType::Double, _) if attributes.nan_is_missing => {
            (Recode::NanAsNull, items.data_type().clone())
        }
        _ => (Recode::Keep, items.data_type().clone()),
    };
    // The items of a vector that an input lacks are missing.
    let lists_are_nullable = field.is_nullable();
    let nullable = lists_are_nullable || items.is_nullable() || !matches!(recode, Recode::Keep);
    let Attributes { kept, losses, dimensions, time, .. } = attributes;
    let mut header = FieldMetadata::default();
    (header.dimensions, header.time) = (dimensions, time);
    for (name, value) in kept {
        header.push_attribute(&name, value);
    }
    let mut metadata = std::collections::HashMap::from([(DS.to_owned(), header.to_json())]);
    let inner = || Arc::new(Field::new(Field::LIST_FIELD_DEFAULT_NAME, data_type.clone(), nullable));
    let (data_type, nullable) = match (field.data_type(), &column.kind) {
        (ArrowType::FixedSizeList(_, size), Type::Vector { dimensions, .. }) => {
            metadata = with_shape(metadata, &dimensions.iter().map(|size| u64::from(*size)).collect::<Vec<_>>());
            (ArrowType::FixedSizeList(inner(), *size), false)
        }
        (ArrowType::List(_), Type::Vector { dimensions, .. }) if !profile.ragged => {
            let length = profile.length.unwrap_or(0);
            metadata = with_shape(metadata, &with_unknown(dimensions, length.into()));
            let size =
                i32::try_from(length).map_err(|_| Error::limit("items of a vector", length.into(), i32::MAX as u64))?;
            (ArrowType::FixedSizeList(inner(), size), false)
        }
        (ArrowType::List(_), _) => (ArrowType::List(inner()), lists_are_nullable),
        _ => (data_type, nullable),
    };
    let field = Field::new(field.name(), data_type, nullable).with_metadata(metadata);
    Ok(Translation { field, recode, losses })
}

/// Names the dimension of the rows in all columns: the given name, or else the first that a column has, or else `row`. With one row, scalars stay
/// scalars.
pub(in super::super) fn name_rows(fields: &mut [Field], given: Option<&str>, rows: u64) -> Result<()> {
    const ROW: &str = "row";
    let mut all =
        fields.iter().map(|field| FieldMetadata::from_metadata(field.metadata())).collect::<Result<Vec<_>>>()?;
    let found = all.iter().find_map(|header| header.dimensions.as_ref()?.first().cloned());
    let along = given.map(str::to_owned).or(found).unwrap_or_else(|| ROW.to_owned());
    for (header, field) in all.iter_mut().zip(fields) {
        let is_list = matches!(field.data_type(), ArrowType::FixedSizeList(..) | ArrowType::List(_));
        let names = header.dimensions.get_or_insert_with(|| vec![along.clone()]);
        match names.first_mut() {
            Some(first) => first.clone_from(&along),
            None if given.is_none() && rows == 1 && !is_list => {}
            None => names.push(along.clone()),
        }
        field.metadata_mut().insert(DS.to_owned(), header.to_json());
    }
    Ok(())
}

/// The shape of vectors of this length, with the unknown size computed if there is only one.
fn with_unknown(dimensions: &[u32], length: u64) -> Vec<u64> {
    let sizes = dimensions.iter().map(|size| u64::from(*size));
    let known: u64 = sizes.clone().filter(|size| *size > 0).fold(1, u64::saturating_mul);
    match sizes.clone().filter(|size| *size == 0).count() {
        1 if length.is_multiple_of(known) => sizes.map(|size| if size == 0 { length / known } else { size }).collect(),
        // Without items, the unknown sizes stay 0.
        _ if length == 0 => sizes.collect(),
        _ => vec![length],
    }
}

/// The attributes and other header members of a variable.
#[derive(Default)]
struct Attributes {
    kept: Vec<(String, JsonBuf)>,
    losses: Vec<Loss>,
    dimensions: Option<Vec<String>>,
    time: bool,
    nan_is_missing: bool,
    /// The original type of nullable integers that became Double, and of byte strings that became text.
    before: Option<DataType>,
}

impl Attributes {
    fn collect(&mut self, name: &str, column: &ColumnSchema, micros: bool, labelled: bool) {
        let item = column.kind.item();
        if let Some(text) = exact_text(item) {
            self.kept.push((TYPE.to_owned(), text.into()));
        }
        if micros {
            self.kept.push(("units".to_owned(), UNITS.into()));
            self.kept.push(("calendar".to_owned(), CALENDAR.into()));
        }
        let floats = matches!(item, ItemType::Single | ItemType::Double);
        let numbers = (micros || exact_text(item).is_none())
            && !matches!(item, ItemType::Text | ItemType::Boolean | ItemType::DvBool);
        let mut bytes = 0;
        for metadata in &column.metadata {
            let (kind, values) = (metadata.kind.as_str(), &metadata.value);
            let mut lose = |why: &str| self.losses.push(loss(format!("metadata {kind:?} left out ({why})"), 1, name));
            match values {
                Values::Vector(vectors) if kind == DIMS && metadata.value_type.item() == ItemType::Text => {
                    let all = vectors.get(0).filter(|vector| vector.indices.is_none());
                    self.dimensions = all.and_then(|_| texts(values));
                }
                Values::Boolean(truth) if kind == TIME && numbers => self.time = truth.first() == Some(&true),
                Values::Boolean(truth) if kind == MISSING && floats => {
                    self.nan_is_missing = truth.first() == Some(&true);
                }
                Values::Text(texts) if kind == BEFORE => {
                    let before = texts.get(0).and_then(DataType::from_name);
                    self.before = before.filter(|data_type| match item {
                        ItemType::Double => is_integer(*data_type),
                        _ => item == ItemType::Text && *data_type == DataType::Str,
                    });
                }
                _ if SPECIAL.contains(&kind) || self.kept.iter().any(|(name, _)| name == kind) => {
                    lose("the name is reserved");
                }
                _ => match json(values, &metadata.value_type) {
                    None => lose(&format!("more than {MAX_ITEMS} items")),
                    Some(json) => {
                        bytes += json.as_json().as_text().len();
                        match bytes > MAX_BYTES {
                            true => lose("too long for a header"),
                            false => self.kept.push((kind.to_owned(), json)),
                        }
                    }
                },
            }
        }
        // Without missing values the column was a float column before, too.
        self.before = self.before.filter(|data_type| self.nan_is_missing || *data_type == DataType::Str);
        if labelled {
            let labels = self.kept.iter().find(|(name, _)| name == "KeyValues").map(|(_, labels)| labels);
            let unique = labels.is_some_and(are_unique);
            if labels.is_some() && !unique {
                let what = "keys with a duplicate or missing label cannot be told apart by it";
                self.losses.push(loss(what, 1, name));
            }
            if !unique {
                // Duplicate labels do not determine the key.
                self.kept.retain(|(name, _)| name != TYPE);
            }
        }
    }
}

fn is_integer(data_type: DataType) -> bool {
    data_type.width().is_some() && !matches!(data_type, DataType::Float32 | DataType::Float64)
}

/// Whether no label is missing or duplicate.
fn are_unique(labels: &JsonBuf) -> bool {
    let mut distinct = HashSet::new();
    labels.as_json().items().all(|label| !label.is_null() && distinct.insert(label.as_text()))
}

/// The type to store as an attribute, when it does not follow from the variable's.
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

/// The strings of a dense vector without missing ones.
fn texts(values: &Values) -> Option<Vec<String>> {
    let Values::Vector(vectors) = values else { return None };
    let vector = vectors.get(0)?;
    let Values::Text(texts) = vector.values else { return vector.range.is_empty().then(Vec::new) };
    if vector.indices.is_some() {
        return None;
    }
    vector.range.map(|place| texts.get(place).map(str::to_owned)).collect()
}

/// The items of a vector, sparse ones expanded; `None` for other values, or more than [`MAX_ITEMS`].
fn list_of(values: &Values, of: ItemType) -> Option<Vec<JsonBuf>> {
    let Values::Vector(vectors) = values else { return None };
    let vector = vectors.get(0)?;
    if usize::try_from(vector.length).ok()? > MAX_ITEMS {
        return None;
    }
    let Some(indices) = vector.indices else {
        return Some(vector.range.clone().map(|place| item(vector.values, place)).collect());
    };
    let mut stored = indices.iter().zip(vector.range.clone()).peekable();
    let slot = |slot| match stored.next_if(|(index, _)| **index == slot) {
        Some((_, place)) => item(vector.values, place),
        None => default_of(of),
    };
    Some((0..vector.length).map(slot).collect())
}

/// A value as JSON: vectors as (nested) lists.
fn json(values: &Values, value_type: &Type) -> Option<JsonBuf> {
    let Values::Vector(_) = values else { return Some(item(values, 0)) };
    let mut items = list_of(values, value_type.item())?;
    if let Type::Vector { dimensions, .. } = value_type
        && value_type.size() > 0
    {
        // The innermost lists first.
        for size in dimensions.iter().skip(1).rev() {
            let size = usize::try_from(*size).unwrap_or(usize::MAX).max(1);
            items = items.chunks(size).map(|chunk| JsonBuf::list(chunk.iter().cloned())).collect();
        }
    }
    Some(JsonBuf::list(items))
}

/// Labels as an array: strings, unless they are numbers or booleans.
fn label_array(labels: &[JsonBuf], of: ItemType) -> ArrayRef {
    fn all<T: ArrowPrimitiveType>(labels: &[JsonBuf], of: impl Fn(Json<'_>) -> Option<T::Native>) -> ArrayRef {
        Arc::new(labels.iter().map(|label| of(label.as_json())).collect::<PrimitiveArray<T>>())
    }
    macro_rules! whole {
        ($arrow:ty) => {
            all::<$arrow>(labels, |json| json.as_text().parse().ok())
        };
    }
    match of {
        ItemType::SByte => whole!(Int8Type),
        ItemType::Byte => whole!(UInt8Type),
        ItemType::Int16 => whole!(Int16Type),
        ItemType::UInt16 => whole!(UInt16Type),
        ItemType::Int32 => whole!(Int32Type),
        ItemType::UInt32 => whole!(UInt32Type),
        ItemType::Int64 => whole!(Int64Type),
        ItemType::UInt64 => whole!(UInt64Type),
        ItemType::Key(key) => match key.width {
            KeyWidth::Byte => whole!(UInt8Type),
            KeyWidth::UInt16 => whole!(UInt16Type),
            KeyWidth::UInt32 => whole!(UInt32Type),
            KeyWidth::UInt64 => whole!(UInt64Type),
        },
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a float of 32 bits is written with the digits of the same of 64"
        )]
        ItemType::Single => all::<Float32Type>(labels, |json| json.as_f64().map(|label| label as f32)),
        ItemType::Double => all::<Float64Type>(labels, |json| json.as_f64()),
        ItemType::Boolean | ItemType::DvBool => {
            Arc::new(labels.iter().map(|label| label.as_json().as_bool()).collect::<BooleanArray>())
        }
        _ => Arc::new(labels.iter().map(|label| label.as_json().as_str().map(String::from)).collect::<StringArray>()),
    }
}

/// The Arrow type of integers.
fn integer_type(data_type: Option<DataType>) -> ArrowType {
    match data_type {
        Some(DataType::Int8) => ArrowType::Int8,
        Some(DataType::Int16) => ArrowType::Int16,
        Some(DataType::Int32) => ArrowType::Int32,
        Some(DataType::Uint8) => ArrowType::UInt8,
        Some(DataType::Uint16) => ArrowType::UInt16,
        Some(DataType::Uint32) => ArrowType::UInt32,
        Some(DataType::Uint64) => ArrowType::UInt64,
        _ => ArrowType::Int64,
    }
}

fn item(values: &Values, at: usize) -> JsonBuf {
    /// Missing times.
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

/// The value of a slot that a sparse vector does not store.
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
