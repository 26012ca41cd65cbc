//! Unifies a column of two inputs, with its metadata.
//!
//! Whatever gives values their meaning is the same in both, or is unified, or the difference is an error: no value may appear under the label of
//! another file. Dictionary arrays bring their labels along; only their index type, and the labels in the metadata, must have room for both.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::ArrowDictionaryKeyType;
use arrow_array::{AnyDictionaryArray, Array, ArrayRef, DictionaryArray, PrimitiveArray, make_array};
use arrow_buffer::ArrowNativeType;
use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{DataType, Field, FieldRef};
use container_arrow::{ENCODING, from_arrow};
use container_core::Result;
use serde_json::Value;

use crate::batches::{has_dictionary, max_labels, of_integer};

/// The common column of two inputs.
pub(super) struct Unified {
    pub(super) field: Field,
    /// Names of metadata that are not true for both.
    pub(super) left_out: Vec<String>,
}

/// Unifies two columns. The error says how they differ.
pub(super) fn columns(before: &Field, found: &Field) -> Result<Unified, String> {
    let nullable = before.is_nullable() || found.is_nullable();
    let (kept, other) = match (before.data_type(), found.data_type()) {
        (DataType::Null, _) => (found, before),
        _ => (before, found),
    };
    if *other.data_type() == DataType::Null {
        return Ok(Unified { field: kept.clone().with_nullable(true), left_out: Vec::new() });
    }
    let data_type = types(before.data_type(), found.data_type())
        .ok_or_else(|| format!("{} here, {} there", found.data_type(), before.data_type()))?;
    let mut unified =
        Unified { field: before.clone().with_data_type(data_type).with_nullable(nullable), left_out: Vec::new() };
    if before.metadata() != found.metadata() {
        unified.metadata(before, found)?;
    }
    Ok(unified)
}

/// The common type: types are equal except for the index types of dictionaries.
fn types(one: &DataType, other: &DataType) -> Option<DataType> {
    let item = |one: &FieldRef, other: &FieldRef| -> Option<FieldRef> {
        let data_type = types(one.data_type(), other.data_type())?;
        let same = one.name() == other.name() && one.metadata() == other.metadata();
        same.then(|| {
            Arc::new(
                Field::new(one.name(), data_type, one.is_nullable() || other.is_nullable())
                    .with_metadata(one.metadata().clone()),
            )
        })
    };
    Some(match (one, other) {
        (one, other) if one == other => one.clone(),
        (DataType::Dictionary(index, values), DataType::Dictionary(others, same)) if values == same => {
            let wider = if max_labels(index) < max_labels(others) { others } else { index };
            DataType::Dictionary(wider.clone(), values.clone())
        }
        (DataType::List(one), DataType::List(other)) => DataType::List(item(one, other)?),
        (DataType::LargeList(one), DataType::LargeList(other)) => DataType::LargeList(item(one, other)?),
        (DataType::FixedSizeList(one, size), DataType::FixedSizeList(other, same)) if size == same => {
            DataType::FixedSizeList(item(one, other)?, *size)
        }
        (DataType::Struct(members), DataType::Struct(others)) if members.len() == others.len() => {
            let members = members.iter().zip(others).map(|(one, other)| item(one, other));
            DataType::Struct(members.collect::<Option<Vec<_>>>()?.into())
        }
        _ => return None,
    })
}

/// The index type, or the next wider one that can count `labels`.
fn wider(index: &DataType, labels: u64) -> DataType {
    use DataType::{Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    let kind = match index {
        Int8 | Int16 | Int32 | Int64 => [Int8, Int16, Int32, Int64],
        _ => [UInt8, UInt16, UInt32, UInt64],
    };
    let least = labels.max(max_labels(index));
    kind.into_iter().find(|index| max_labels(index) >= least).unwrap_or_else(|| index.clone())
}

/// Widens the index types of dictionaries so that they can count `labels`.
pub(super) fn widened(data_type: &DataType, labels: u64) -> DataType {
    let item = |item: &FieldRef| -> FieldRef {
        let data_type = widened(item.data_type(), labels);
        if data_type == *item.data_type() {
            Arc::clone(item)
        } else {
            Arc::new(Field::clone(item).with_data_type(data_type))
        }
    };
    match data_type {
        DataType::Dictionary(index, values) => DataType::Dictionary(Box::new(wider(index, labels)), values.clone()),
        DataType::List(of) => DataType::List(item(of)),
        DataType::LargeList(of) => DataType::LargeList(item(of)),
        DataType::FixedSizeList(of, size) => DataType::FixedSizeList(item(of), *size),
        DataType::Struct(members) => DataType::Struct(members.iter().map(item).collect()),
        other => other.clone(),
    }
}

/// Converts the index types of dictionaries to those of `data_type`, which equals the type of the array otherwise.
pub(super) fn cast(array: &ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    if array.data_type() == data_type {
        return Ok(Arc::clone(array));
    }
    if let (DataType::Dictionary(index, _), Some(dictionary)) = (data_type, array.as_any_dictionary_opt()) {
        return of_integer!(**index, indexes(dictionary), _ => Ok(Arc::clone(array)));
    }
    let fields: Vec<&DataType> = match data_type {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => vec![item.data_type()],
        DataType::Struct(members) => members.iter().map(|member| member.data_type()).collect(),
        _ => Vec::new(),
    };
    let data = array.to_data();
    let children = data.child_data().iter().zip(fields);
    let children = children.map(|(child, data_type)| Ok(cast(&make_array(child.clone()), data_type)?.to_data()));
    let children = children.collect::<Result<Vec<_>>>()?;
    let data = data.into_builder().data_type(data_type.clone()).child_data(children).build().map_err(from_arrow)?;
    Ok(make_array(data))
}

fn indexes<K: ArrowDictionaryKeyType>(dictionary: &dyn AnyDictionaryArray) -> Result<ArrayRef> {
    let labels = dictionary.values();
    // The index of a null can be anything.
    let index = |index: usize| K::Native::from_usize(index).unwrap_or_default();
    let indexes = if labels.is_empty() {
        vec![K::Native::default(); dictionary.len()]
    } else {
        dictionary.normalized_keys().into_iter().map(index).collect()
    };
    let indexes = PrimitiveArray::<K>::new(indexes.into(), dictionary.nulls().cloned());
    let cast = DictionaryArray::try_new(indexes, Arc::clone(labels)).map_err(from_arrow)?;
    Ok(Arc::new(cast))
}

impl Unified {
    /// Keeps the metadata that are true for both.
    fn metadata(&mut self, before: &Field, found: &Field) -> Result<(), String> {
        let mut metadata: HashMap<String, String> = HashMap::new();
        let (before, found) = (before.metadata(), found.metadata());
        let names: BTreeSet<&String> = before.keys().chain(found.keys()).collect();
        for name in names {
            let text = match (name.as_str(), before.get(name), found.get(name)) {
                (_, Some(one), Some(other)) if one == other => Some(one.clone()),
                (EXTENSION_TYPE_NAME_KEY | EXTENSION_TYPE_METADATA_KEY | ENCODING, one, other) => {
                    let shown = |text: Option<&String>| text.map_or("missing".to_owned(), |text| format!("{text:?}"));
                    return Err(format!("metadata {name:?}: {} here, {} there", shown(other), shown(one)));
                }
                // Keys of metadata, which those formats write, whatever the format of the inputs is.
                (key, Some(one), Some(other)) if key == idv::FORMAT.name() => self.idv(one, other)?,
                (dsfmt::FORMAT_NAME, Some(one), Some(other)) => {
                    // Timestamps have one unit and epoch already.
                    let is_time = is_temporal(self.field.data_type());
                    if !is_time {
                        same_meaning(one, other)?;
                    }
                    self.left_out.extend(other_attributes(one, other, is_time));
                    Some(one.clone())
                }
                // Field ids are valid within one file.
                ("PARQUET:field_id", ..) => continue,
                _ => None,
            };
            match text {
                Some(text) => drop(metadata.insert(name.clone(), text)),
                None => self.left_out.push(name.clone()),
            }
        }
        self.field.set_metadata(metadata);
        Ok(())
    }

    /// Unifies the IDV schemas of a column; `None` when its type is not the same.
    fn idv(&mut self, one: &str, other: &str) -> Result<Option<String>, String> {
        let column = |text: &str| {
            let json = Value::Array(vec![serde_json::from_str(text).ok()?]);
            idv::Schema::from_json(&json).ok()?.0.columns.pop()
        };
        let (Some(mut one), Some(mut other)) = (column(one), column(other)) else { return Ok(None) };
        widest_keys(&mut one.kind, &mut other.kind);
        // The attributes that units and scales have in ds, too. Slot names are compared below.
        for name in dsfmt::MEANING_ATTRIBUTES.into_iter().filter(|name| *name != "SlotNames") {
            let of =
                |column: &'_ idv::ColumnSchema| column.metadata.iter().find(|metadata| metadata.kind == name).cloned();
            if of(&one) != of(&other) {
                return Err(format!("metadata {name:?} differ: the same number has another meaning"));
            }
        }
        if has_dictionary(&self.field) && labels_of(&one) != labels_of(&other) {
            let Some(labels) = self.unify_labels(&mut one, &mut other) else { return Ok(None) };
            let all = widened(self.field.data_type(), labels);
            self.field.set_data_type(all);
        }
        // Metadata that name neither slots nor values can be dropped.
        let is_name = |kind: &str| matches!(kind, "KeyValues" | "SlotNames");
        let (mine, others) = (one.metadata.clone(), other.metadata.clone());
        one.metadata.retain(|metadata| is_name(&metadata.kind) || others.contains(metadata));
        other.metadata.retain(|metadata| is_name(&metadata.kind) || mine.contains(metadata));
        let kinds = mine.iter().map(|metadata| &metadata.kind).chain(others.iter().map(|metadata| &metadata.kind));
        let gone = kinds.filter(|kind| !one.metadata.iter().any(|metadata| metadata.kind == **kind));
        self.left_out.extend(gone.filter(|kind| !is_name(kind)).cloned());
        self.left_out.dedup();
        if one.metadata != other.metadata {
            let mut same = other.clone();
            same.kind.clone_from(&one.kind);
            same.name.clone_from(&one.name);
            let all = |column: &idv::ColumnSchema| idv::Schema::new([column.clone()]);
            return match all(&one).difference(&all(&same)) {
                Some(difference) => Err(difference.detail),
                // Only the order differs.
                None => Ok(text_of(one)),
            };
        }
        Ok((one.kind == other.kind).then(|| text_of(one)).flatten())
    }

    /// Gives two columns the union of their labels, those of the first before the others, and returns their number. `None` for labels other than
    /// text.
    fn unify_labels(&self, one: &mut idv::ColumnSchema, other: &mut idv::ColumnSchema) -> Option<u64> {
        let mut labels: Vec<String> = texts(one)?;
        let mut known: std::collections::HashSet<String> = labels.iter().cloned().collect();
        labels.extend(texts(other)?.into_iter().filter(|label| known.insert(label.clone())));
        let count = labels.len() as u64;
        for column in [one, other] {
            let (idv::Type::Item(idv::ItemType::Key(key)) | idv::Type::Vector { item: idv::ItemType::Key(key), .. }) =
                &mut column.kind
            else {
                return None;
            };
            let width = [idv::KeyWidth::Byte, idv::KeyWidth::UInt16, idv::KeyWidth::UInt32, idv::KeyWidth::UInt64];
            let width = width.into_iter().find(|width| width.max() >= count.max(key.width.max()))?;
            *key = idv::KeyType::new(width, count).ok()?;
            column.metadata.retain(|metadata| metadata.kind != "KeyValues");
            *column = column.clone().with_key_values(&labels).ok()?;
        }
        Some(count)
    }
}

/// Gives keys of the same width the larger of their counts.
fn widest_keys(one: &mut idv::Type, other: &mut idv::Type) {
    fn key(kind: &mut idv::Type) -> Option<&mut idv::KeyType> {
        match kind {
            idv::Type::Item(idv::ItemType::Key(key)) | idv::Type::Vector { item: idv::ItemType::Key(key), .. } => {
                Some(key)
            }
            _ => None,
        }
    }
    if let (Some(one), Some(other)) = (key(one), key(other))
        && (one.width, one.min) == (other.width, other.min)
    {
        // A count of 0 means unknown.
        let count = if one.count.min(other.count) == 0 { 0 } else { one.count.max(other.count) };
        (one.count, other.count) = (count, count);
    }
}

fn text_of(column: idv::ColumnSchema) -> Option<String> {
    let json = idv::Schema::new([column]).to_json().ok()?;
    json.get(0).map(ToString::to_string)
}

fn labels_of(column: &idv::ColumnSchema) -> Option<&idv::MetadataSchema> {
    column.metadata.iter().find(|metadata| metadata.kind == "KeyValues")
}

/// The labels of a column, if all are text.
fn texts(column: &idv::ColumnSchema) -> Option<Vec<String>> {
    let json = text_of(column.clone())?;
    let json: Value = serde_json::from_str(&json).ok()?;
    let labels = json.get("metadata")?.get("KeyValues")?.as_array()?;
    labels.iter().map(|label| label.as_str().map(str::to_owned)).collect()
}

/// Whether values, or the elements of lists, are times.
fn is_temporal(data_type: &DataType) -> bool {
    match data_type {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            is_temporal(item.data_type())
        }
        other => other.is_temporal(),
    }
}

/// Names of attributes that two variables do not share. The output keeps those of the first.
fn other_attributes(one: &str, other: &str, is_time: bool) -> Vec<String> {
    let all = |text: &str| {
        let json: Option<Value> = serde_json::from_str(text).ok();
        json.and_then(|json| json.get("attributes")?.as_object().cloned()).unwrap_or_default()
    };
    let (one, other) = (all(one), all(other));
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let differ = names.into_iter().filter(|name| one.get(*name) != other.get(*name));
    differ.filter(|name| !is_time || !dsfmt::MEANING_ATTRIBUTES.contains(&name.as_str())).cloned().collect()
}

/// Fails unless the values of two variables have the same meaning.
fn same_meaning(one: &str, other: &str) -> Result<(), String> {
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let (one, other) = (parsed(one), parsed(other));
    let shown = |value: Option<&Value>| value.map_or("missing".to_owned(), ToString::to_string);
    for name in dsfmt::MEANING_ATTRIBUTES {
        let of = |json: &'_ Value| json.get("attributes").and_then(|all| all.get(name)).cloned();
        let (there, here) = (of(&one), of(&other));
        if there != here {
            let (here, there) = (shown(here.as_ref()), shown(there.as_ref()));
            return Err(format!("attribute {name:?}: {here} here, {there} there"));
        }
    }
    Ok(())
}
