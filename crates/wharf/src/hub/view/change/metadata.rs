//! Metadata of changed columns: kept where they still mean the same.
//!
//! Formats keep what Arrow has no type for under their name: the column of IDV, and the header of a ds variable.

use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{DataType, Field, FieldRef};
use container_arrow::{ENCODING, SPARSE};
use container_core::{Loss, Position, Result};
use idv::{ColumnSchema, ItemType, Type};
use serde_json::{Map, Value, json};

use crate::hub::idv_file::item_type;

/// The attribute of signed integers that stand for unsigned ones.
const UNSIGNED: &str = "_Unsigned";

/// Metadata of IDV that name values, slots or dimensions.
const KEY_VALUES: &str = "KeyValues";
const SLOT_NAMES: &str = "SlotNames";
const OF_SLOTS: [&str; 3] = [SLOT_NAMES, "CategoricalSlotRanges", ".dims"];

/// The same column with another name.
pub(super) fn renamed(field: &Field, name: &str) -> Field {
    let mut renamed = field.clone().with_name(name);
    if field.name() != name
        && let Some(mut column) = object(field, idv::FORMAT.name())
        && let Some(own) = column.get_mut("name")
    {
        *own = name.into();
        renamed.metadata_mut().insert(idv::FORMAT.name().to_owned(), column.to_string());
    }
    renamed
}

/// The column with another type. `lost` receives metadata that are not true for it.
pub(super) fn cast(field: &Field, to: DataType, lost: &mut Vec<Loss>) -> Field {
    let numeric = |data_type: &DataType| item(data_type).is_numeric();
    let (was_number, is_number) = (numeric(field.data_type()), numeric(&to));
    let mut cast = field.clone().with_data_type(to);
    let is_list = item(cast.data_type()) != cast.data_type();
    // Lists keep their shape.
    let of_values = [EXTENSION_TYPE_NAME_KEY, EXTENSION_TYPE_METADATA_KEY].into_iter().filter(|_| !is_list);
    of_values.chain([SPARSE, ENCODING]).for_each(|key| drop(cast.metadata_mut().remove(key)));
    if let Some(column) = column(field) {
        cast.metadata_mut().remove(idv::FORMAT.name());
        let to = idv_type(&cast, &column.kind);
        // Labels are the values now.
        let names = column.metadata.iter().map(|metadata| metadata.kind.as_str());
        let gone: Vec<&str> = names.filter(|name| *name != KEY_VALUES && to.is_none()).collect();
        lost.extend(gone.iter().map(|name| left_out(name, field.name())));
        if let Some(to) = to {
            let mut changed = ColumnSchema::new(column.name.clone(), to);
            changed.metadata = column.metadata.into_iter().filter(|metadata| metadata.kind != KEY_VALUES).collect();
            set_column(&mut cast, changed);
        }
    }
    if let Some(Value::Object(mut header)) = object(field, dsfmt::FORMAT_NAME) {
        header.shift_remove("type");
        header.shift_remove("endian");
        if was_number && !is_number {
            // Units and scales are those of numbers.
            header.shift_remove("time");
            if let Some(Value::Object(attributes)) = header.get_mut("attributes") {
                let meaning = dsfmt::MEANING_ATTRIBUTES.iter().filter(|name| **name != SLOT_NAMES);
                let gone = meaning.filter(|name| attributes.shift_remove(**name).is_some());
                lost.extend(gone.map(|name| left_out(name, field.name())));
            }
        }
        cast.metadata_mut().insert(dsfmt::FORMAT_NAME.to_owned(), Value::Object(header).to_string());
    }
    cast
}

/// The column of one element of a vector.
pub(super) fn slot(field: &Field, item: &Field, name: &str) -> Field {
    let mut slot = Field::new(name, item.data_type().clone(), true).with_metadata(item.metadata().clone());
    if let Some(column) = column(field) {
        let mut one = ColumnSchema::new(name, Type::Item(column.kind.item()));
        one.metadata = column.metadata.into_iter().filter(|data| !OF_SLOTS.contains(&data.kind.as_str())).collect();
        set_column(&mut slot, one);
    }
    if let Some(Value::Object(mut header)) = object(field, dsfmt::FORMAT_NAME) {
        if let Some(Value::Array(dimensions)) = header.get_mut("dimensions") {
            dimensions.truncate(1);
        }
        if let Some(Value::Object(attributes)) = header.get_mut("attributes") {
            attributes.shift_remove(SLOT_NAMES);
        }
        slot.metadata_mut().insert(dsfmt::FORMAT_NAME.to_owned(), Value::Object(header).to_string());
    }
    slot
}

/// The names of the elements of a vector, as far as they are known; empty for those that have none.
pub(super) fn slot_names(field: &Field, count: usize) -> Option<Vec<String>> {
    let of_idv = || {
        let column = object(field, idv::FORMAT.name())?;
        column.get("metadata")?.get(SLOT_NAMES)?.as_array().cloned()
    };
    let of_ds = || {
        let header = object(field, dsfmt::FORMAT_NAME)?;
        header.get("attributes")?.get(SLOT_NAMES)?.as_array().cloned()
    };
    let names = of_idv().or_else(of_ds)?;
    let text = |name: &Value| name.as_str().unwrap_or_default().to_owned();
    (names.len() == count).then(|| names.iter().map(text).collect())
}

/// The metadata that all columns of a vector have in common, which the vector has, too.
#[derive(Debug, Default)]
pub(super) struct Shared {
    idv: Vec<idv::MetadataSchema>,
    ds: Map<String, Value>,
}

impl Shared {
    pub(super) fn of<'f>(fields: impl IntoIterator<Item = &'f FieldRef>) -> Self {
        let mut all = fields.into_iter().map(|field| {
            let of_idv = column(field).map(|column| column.metadata).unwrap_or_default();
            let is_own = |kind: &str| kind == KEY_VALUES || OF_SLOTS.contains(&kind);
            let idv = of_idv.into_iter().filter(|metadata| !is_own(&metadata.kind)).collect();
            let mut ds = attributes(field).unwrap_or_default();
            ds.shift_remove(SLOT_NAMES);
            Self { idv, ds }
        });
        let mut shared = all.next().unwrap_or_default();
        for other in all {
            shared.idv.retain(|metadata| other.idv.contains(metadata));
            shared.ds.retain(|name, value| other.ds.get(name) == Some(value));
        }
        shared
    }

    fn has(&self, name: &str) -> bool {
        self.ds.contains_key(name) || self.idv.iter().any(|metadata| metadata.kind == name)
    }

    /// The metadata that give the numbers of a column their meaning, which the vector does not have.
    fn lacks(&self, field: &Field) -> Vec<String> {
        let mut names = meaning(field);
        names.retain(|name| !self.has(name));
        names
    }

    /// The losses of a column that becomes part of the vector.
    pub(super) fn lost(&self, field: &Field) -> impl Iterator<Item = Loss> {
        let what = |name: String| format!("metadata {name:?} left out: not the same for all columns of the vector");
        self.lacks(field).into_iter().map(move |name| loss(what(name), field.name()))
    }

    /// Whether numbers are packed otherwise than those of the vector: another number would be meant.
    pub(super) fn is_packed_otherwise(&self, field: &Field) -> bool {
        self.lacks(field).iter().any(|name| ["scale_factor", "add_offset", UNSIGNED].contains(&name.as_str()))
    }
}

/// A vector with slot names. `is_ds`: the table has variables of ds, whose attributes they become, too.
pub(super) fn vector(name: &str, item: FieldRef, names: &[String], shared: Shared, is_ds: bool) -> Result<Field> {
    let size = i32::try_from(names.len()).unwrap_or(i32::MAX);
    let mut field = Field::new(name, DataType::FixedSizeList(item, size), false);
    if let Some(kind) = idv_type(&field, &Type::Item(ItemType::Single)) {
        let mut column = ColumnSchema::new(name, kind).with_slot_names(names)?;
        column.metadata.extend(shared.idv);
        set_column(&mut field, column);
    }
    if is_ds {
        let mut attributes = shared.ds;
        attributes.insert(SLOT_NAMES.to_owned(), names.into());
        let header = json!({ "attributes": attributes });
        field.metadata_mut().insert(dsfmt::FORMAT_NAME.to_owned(), header.to_string());
    }
    Ok(field)
}

/// Whether signed integers stand for unsigned ones of the same width, which another type would not mean.
pub(super) fn is_unsigned(field: &Field) -> bool {
    let is_true = |value: &Value| matches!(value.as_str(), Some("true" | "True"));
    item(field.data_type()).is_signed_integer()
        && attributes(field).is_some_and(|attributes| attributes.get(UNSIGNED).is_some_and(is_true))
}

fn attributes(field: &Field) -> Option<Map<String, Value>> {
    object(field, dsfmt::FORMAT_NAME)?.get("attributes")?.as_object().cloned()
}

/// The metadata that give the numbers of a column their meaning, apart from the names of slots.
fn meaning(field: &Field) -> Vec<String> {
    let of_idv = column(field).map(|column| column.metadata).unwrap_or_default();
    let of_idv = of_idv.into_iter().map(|metadata| metadata.kind).filter(|kind| !OF_SLOTS.contains(&kind.as_str()));
    let of_ds = attributes(field).unwrap_or_default();
    let names = dsfmt::MEANING_ATTRIBUTES.into_iter().filter(|name| *name != SLOT_NAMES);
    let of_ds = names.filter(|name| of_ds.contains_key(*name));
    of_idv.chain(of_ds.map(str::to_owned)).collect()
}

/// Whether the values of a column are JSON text.
pub(super) fn is_json(field: &Field) -> bool {
    field.metadata().get(EXTENSION_TYPE_NAME_KEY).is_some_and(|name| name == "arrow.json")
}

/// Whether a column is a variable of ds.
pub(super) fn is_ds(field: &Field) -> bool {
    field.metadata().contains_key(dsfmt::FORMAT_NAME)
}

fn left_out(what: &str, column: &str) -> Loss {
    loss(format!("metadata {what:?} left out: not true for the new type"), column)
}

fn loss(what: String, column: &str) -> Loss {
    Loss::new(what, 1, Position::of_column(column.to_owned()))
}

/// The type of the items of a vector, or the type itself.
fn item(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::List(of) | DataType::LargeList(of) | DataType::FixedSizeList(of, _) => item(of.data_type()),
        DataType::Dictionary(_, labels) => labels,
        other => other,
    }
}

fn object(field: &Field, key: &str) -> Option<Value> {
    serde_json::from_str(field.metadata().get(key)?).ok()
}

/// The column of IDV in the metadata of a field.
fn column(field: &Field) -> Option<ColumnSchema> {
    let column = object(field, idv::FORMAT.name())?;
    idv::Schema::from_json(&Value::Array(vec![column])).ok()?.0.columns.pop()
}

fn set_column(field: &mut Field, column: ColumnSchema) {
    let text = idv::Schema::new([column]).to_json().ok().and_then(|json| json.get(0).map(ToString::to_string));
    if let Some(text) = text {
        field.metadata_mut().insert(idv::FORMAT.name().to_owned(), text);
    }
}

/// The IDV type of a column, with the dimensions it had; `None` for types that follow from Arrow's alone.
fn idv_type(field: &Field, before: &Type) -> Option<Type> {
    let list = match field.data_type() {
        DataType::List(of) | DataType::LargeList(of) => Some((of, 0)),
        DataType::FixedSizeList(of, size) => Some((of, u32::try_from(*size).ok()?)),
        _ => None,
    };
    let Some((of, size)) = list else { return Some(Type::Item(item_type(field)?)) };
    let dimensions = match before {
        Type::Vector { dimensions, .. } => dimensions.clone(),
        _ => vec![size],
    };
    Some(Type::Vector { item: item_type(of)?, dimensions })
}
