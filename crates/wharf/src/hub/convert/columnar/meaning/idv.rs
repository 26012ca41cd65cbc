//! Variables of ds as columns of IDV.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType as ArrowType, Field};
use container_core::{Error, Result};
use dsfmt::arrow::FieldMetadata;
use dsfmt::{DataType, Json, JsonBuf, JsonKind};
use idv::{Cell, ColumnSchema, ItemType, Schema, Type, Values, Vectors};

use super::{
    BEFORE, CALENDAR, DIMS, MISSING, NullCounts, Recode, TIME, TYPE, Translation, UNITS, loss, shape_of, with_shape,
};

/// Maximum nesting of lists in metadata.
const MAX_DEPTH: usize = 8;

/// Translates a variable into a column; `None` for an empty one.
///
/// # Errors
/// [`Unsupported`](container_core::ErrorKind::Unsupported) for rows with more elements than a vector can have.
pub(in super::super) fn column(field: &Field) -> Result<Option<Translation>> {
    let variable = FieldMetadata::from_metadata(field.metadata())?;
    if variable.empty {
        return Ok(None);
    }
    let items = match field.data_type() {
        ArrowType::FixedSizeList(items, _) => items,
        _ => field,
    };
    // The items of a vector that an input lacks are missing.
    let missing = items.is_nullable() || field.is_nullable();
    let typed = typed(&variable);
    let (item, recode, data_type) = item_type(items.data_type(), missing, typed.as_ref());
    let kind = match field.data_type() {
        ArrowType::FixedSizeList(..) => Type::Vector { item, dimensions: dimensions(&shape_of(field))? },
        _ => Type::Item(item),
    };
    let widens = matches!(recode, Recode::Doubles(_));
    let before = variable.data_type.filter(|data_type| widens || typed.is_none() && *data_type == DataType::Str);
    let nan_is_missing = missing && typed.is_none() && matches!(item, ItemType::Single | ItemType::Double);
    let names = variable.dimensions.as_ref().map(|names| JsonBuf::list(names.iter().map(Into::into)));
    let own = [
        (DIMS, names),
        (TIME, variable.time.then(|| true.into())),
        (MISSING, nan_is_missing.then(|| true.into())),
        (BEFORE, before.map(|data_type| data_type.name().into())),
    ];
    let mut column = ColumnSchema::new(field.name(), kind);
    for (name, json) in own {
        if let Some((value_type, value)) = json.and_then(|json: JsonBuf| value(json.as_json(), None)) {
            column = column.with_metadata(name, value_type, value);
        }
    }
    let (column, left_out) = with_attributes(column, &variable, typed.as_ref());
    let mut losses = Vec::new();
    if !left_out.is_empty() {
        let what = format!("attribute left out, IDV metadata cannot hold it: {}", listed(&left_out));
        losses.push(loss(what, left_out.len(), field.name()));
    }
    let json = Schema::new([column]).to_json()?;
    let json = json.get(0).map(ToString::to_string).unwrap_or_default();
    let mut metadata = HashMap::from([(idv::FORMAT.name().to_owned(), json)]);
    let nullable = missing && !matches!(recode, Recode::Doubles(_) | Recode::NullAsNan(_));
    let (data_type, nullable) = match field.data_type() {
        ArrowType::FixedSizeList(_, size) => {
            metadata = with_shape(metadata, &shape_of(field));
            let items = Field::new(Field::LIST_FIELD_DEFAULT_NAME, data_type, nullable);
            (ArrowType::FixedSizeList(Arc::new(items), *size), false)
        }
        _ => (data_type, nullable),
    };
    let field = Field::new(field.name(), data_type, nullable).with_metadata(metadata);
    Ok(Some(Translation { field, recode, losses }))
}

/// The names of a dataset's attributes, which IDV has no place for.
///
/// # Errors
/// [`Invalid`](container_core::ErrorKind::Invalid) for invalid JSON in the metadata.
pub(in super::super) fn dataset_attributes(metadata: &HashMap<String, String>) -> Result<Vec<String>> {
    Ok(FieldMetadata::from_metadata(metadata)?.attributes().map(|(name, _)| name).collect())
}

/// The IDV item type, the conversion, and the Arrow type of items.
fn item_type(items: &ArrowType, missing: bool, typed: Option<&Typed>) -> (ItemType, Recode, ArrowType) {
    let same = items.clone();
    if let Some(Typed { item, micros }) = typed {
        return match same {
            _ if *micros => (*item, Recode::Ticks, same),
            ArrowType::Binary | ArrowType::LargeBinary => (*item, Recode::Utf8, utf8(&same)),
            _ => (*item, Recode::Keep, same),
        };
    }
    let item = match same {
        ArrowType::Float32 if missing => return (ItemType::Single, Recode::NullAsNan(NullCounts::default()), same),
        ArrowType::Float64 if missing => return (ItemType::Double, Recode::NullAsNan(NullCounts::default()), same),
        ArrowType::Float32 => ItemType::Single,
        ArrowType::Boolean if missing => ItemType::DvBool,
        ArrowType::Boolean => ItemType::Boolean,
        ArrowType::Binary | ArrowType::LargeBinary => return (ItemType::Text, Recode::Utf8, utf8(&same)),
        ArrowType::Utf8 | ArrowType::LargeUtf8 => ItemType::Text,
        ArrowType::Float64 => ItemType::Double,
        _ if missing => return (ItemType::Double, Recode::Doubles(NullCounts::default()), ArrowType::Float64),
        ArrowType::Int8 => ItemType::SByte,
        ArrowType::Int16 => ItemType::Int16,
        ArrowType::Int32 => ItemType::Int32,
        ArrowType::UInt8 => ItemType::Byte,
        ArrowType::UInt16 => ItemType::UInt16,
        ArrowType::UInt32 => ItemType::UInt32,
        ArrowType::UInt64 => ItemType::UInt64,
        _ => ItemType::Int64,
    };
    (item, Recode::Keep, same)
}

/// The string type with the same offset width as this binary type.
fn utf8(data_type: &ArrowType) -> ArrowType {
    if *data_type == ArrowType::LargeBinary { ArrowType::LargeUtf8 } else { ArrowType::Utf8 }
}

/// The dimensions of vectors. IDV has no size 0: it means unknown.
fn dimensions(shape: &[u64]) -> Result<Vec<u32>> {
    let sizes = shape.iter().map(|size| u32::try_from(*size).ok()).collect::<Option<Vec<u32>>>();
    let all = shape.iter().try_fold(1u64, |all, size| all.checked_mul((*size).max(1)));
    sizes.filter(|_| all.is_some_and(|all| i32::try_from(all).is_ok())).ok_or_else(|| {
        Error::unsupported(format!("rows of shape {shape:?} exceed the 2147483647 items of an IDV vector"))
    })
}

/// The first names, for messages.
pub(in super::super) fn listed(names: &[String]) -> String {
    const MAX_SHOWN: usize = 10;
    let mut shown: Vec<String> = names.iter().take(MAX_SHOWN).map(|name| format!("{name:?}")).collect();
    if names.len() > MAX_SHOWN {
        shown.push(format!("{} more", names.len() - MAX_SHOWN));
    }
    shown.join(", ")
}

/// The type in the attribute [`TYPE`].
struct Typed {
    item: ItemType,
    /// The values are times in whole microseconds.
    micros: bool,
}

/// The type in the attribute [`TYPE`], if the values of the variable can be read as it.
fn typed(variable: &FieldMetadata) -> Option<Typed> {
    let text = |key: &str| {
        let found = variable.attributes().filter(|(name, _)| name == key).last();
        found.and_then(|(_, value)| value.as_str().map(String::from))
    };
    let Ok(Type::Item(item)) = text(TYPE)?.parse::<Type>() else { return None };
    let data_type = variable.data_type?;
    let texts = data_type == DataType::Unicode;
    let micros = data_type == DataType::Int64
        && text("units").as_deref() == Some(UNITS)
        && text("calendar").as_deref() == Some(CALENDAR);
    let can = match item {
        ItemType::Key(_) => true,
        ItemType::DateTime | ItemType::DvDateTime => texts || micros,
        ItemType::TimeSpan
        | ItemType::DvTimeSpan
        | ItemType::DateTimeOffset
        | ItemType::DvDateTimeZone
        | ItemType::RowId => texts,
        _ => false,
    };
    can.then_some(Typed { item, micros: micros && !matches!(item, ItemType::Key(_)) })
}

/// Adds the attributes of a variable to a column as metadata. Returns the names of those that cannot be.
fn with_attributes(
    mut column: ColumnSchema,
    variable: &FieldMetadata,
    typed: Option<&Typed>,
) -> (ColumnSchema, Vec<String>) {
    let mut left_out = Vec::new();
    // The last of several attributes with one name counts.
    let mut last: Vec<(String, Json<'_>)> = Vec::new();
    let mut places = HashMap::new();
    for (name, json) in variable.attributes() {
        let place = *places.entry(name.clone()).or_insert(last.len());
        match last.get_mut(place) {
            Some(known) => known.1 = json,
            None => last.push((name, json)),
        }
    }
    for (name, json) in last {
        let is_type = typed.is_some() && name == TYPE;
        let is_count = typed.is_some_and(|typed| typed.micros) && (name == "units" || name == "calendar");
        if is_type || is_count {
            continue; // it is in the type of the column
        }
        let numbers = match name.as_str() {
            "CategoricalSlotRanges" => Some(ItemType::Int32),
            // Labels must have the type of the values they stand for.
            "KeyValues" => variable.data_type.and_then(number_type),
            _ => None,
        };
        let found = value(json, numbers).filter(|(value_type, _)| match name.as_str() {
            "" => false,
            // ML.NET expects one string per slot.
            "SlotNames" => {
                let names = matches!(value_type, Type::Vector { item: ItemType::Text, .. });
                names && column.kind.is_vector() && value_type.size() == column.kind.size()
            }
            _ => true,
        });
        match found {
            Some((value_type, value)) => column = column.with_metadata(name, value_type, value),
            None => left_out.push(name),
        }
    }
    (column, left_out)
}

/// The IDV type of numbers.
fn number_type(data_type: DataType) -> Option<ItemType> {
    match data_type {
        DataType::Float32 => Some(ItemType::Single),
        DataType::Float64 => Some(ItemType::Double),
        DataType::Int8 => Some(ItemType::SByte),
        DataType::Int16 => Some(ItemType::Int16),
        DataType::Int32 => Some(ItemType::Int32),
        DataType::Int64 => Some(ItemType::Int64),
        DataType::Uint8 => Some(ItemType::Byte),
        DataType::Uint16 => Some(ItemType::UInt16),
        DataType::Uint32 => Some(ItemType::UInt32),
        DataType::Uint64 => Some(ItemType::UInt64),
        DataType::Bool | DataType::Str | DataType::Unicode => None,
    }
}

/// A JSON value as metadata: a string, a number, a boolean, or nested lists of one of these with equal lengths. `numbers` is the type of numbers.
fn value(json: Json<'_>, numbers: Option<ItemType>) -> Option<(Type, Values)> {
    if json.kind() != JsonKind::Array {
        let item = item_of(&[json], numbers)?;
        let kind = Type::Item(item);
        let mut values = Values::of(&kind);
        push(&mut values, item, json)?;
        return Some((kind, values));
    }
    let mut lists = Lists::default();
    if !lists.collect(json, 0) {
        return None;
    }
    let Lists { sizes, leaves, .. } = lists;
    let item = item_of(&leaves, numbers)?;
    let dimensions = sizes.iter().map(|size| u32::try_from(*size).ok()).collect::<Option<Vec<u32>>>()?;
    i32::try_from(leaves.len()).ok()?;
    let mut vectors = Vectors::of(item);
    leaves.iter().try_for_each(|leaf| push(vectors.items_mut(), item, *leaf))?;
    vectors.close_dense().ok()?;
    Some((Type::Vector { item, dimensions }, Values::Vector(Box::new(vectors))))
}

/// The shape, items and depth of nested lists.
#[derive(Default)]
struct Lists<'j> {
    sizes: Vec<usize>,
    leaves: Vec<Json<'j>>,
    depth: Option<usize>,
}

impl<'j> Lists<'j> {
    /// Collects a list. False when lists differ in length or depth.
    fn collect(&mut self, json: Json<'j>, level: usize) -> bool {
        if level >= MAX_DEPTH {
            return false;
        }
        let first = self.sizes.len() <= level;
        if first {
            self.sizes.push(0);
        }
        let mut count = 0;
        for item in json.items() {
            count += 1;
            let fits = match item.kind() {
                JsonKind::Array => self.collect(item, level + 1),
                _ => {
                    self.leaves.push(item);
                    *self.depth.get_or_insert(level) == level
                }
            };
            if !fits {
                return false;
            }
        }
        // An inner length of 0 would read as unknown.
        if count == 0 && level > 0 {
            return false;
        }
        match self.sizes.get_mut(level) {
            Some(size) if first => *size = count,
            Some(size) => return *size == count,
            None => return false,
        }
        true
    }
}

/// The common type of all items.
fn item_of(leaves: &[Json<'_>], numbers: Option<ItemType>) -> Option<ItemType> {
    let all = |one: &dyn Fn(&Json<'_>) -> bool| leaves.iter().all(one);
    let number = |json: &Json<'_>| matches!(json.kind(), JsonKind::Integer | JsonKind::Float);
    let nulls = leaves.iter().any(Json::is_null);
    if leaves.is_empty()
        || (all(&|json| json.is_null() || json.as_str().is_some()) && leaves.iter().any(|json| !json.is_null()))
    {
        Some(ItemType::Text)
    } else if all(&|json| json.is_null() || json.as_bool().is_some()) && leaves.iter().any(|json| !json.is_null()) {
        Some(if nulls { ItemType::DvBool } else { ItemType::Boolean })
    } else if let Some(item) = numbers
        && all(&number)
    {
        Some(item)
    } else if all(&|json| json.as_i64().is_some()) {
        Some(ItemType::Int64)
    } else if all(&|json| json.as_u64().is_some()) {
        Some(ItemType::UInt64)
    } else if all(&number) && leaves.iter().any(|json| json.kind() == JsonKind::Float) {
        Some(ItemType::Double)
    } else {
        None
    }
}

/// Appends a value; `None` if the type cannot hold it exactly.
fn push(values: &mut Values, item: ItemType, json: Json<'_>) -> Option<()> {
    let text = json.as_str();
    let cell = match (json.kind(), item) {
        (JsonKind::Null, _) => Cell::Missing,
        (JsonKind::Bool, _) => Cell::Bool(json.as_bool()?),
        (JsonKind::String, _) => Cell::Text(text.as_deref()?),
        (JsonKind::Integer, ItemType::Single | ItemType::Double) => {
            Cell::Double(super::super::recode::exact(json.as_text().parse().ok()?)?)
        }
        (JsonKind::Integer, _) => Cell::Int(json.as_text().parse().ok()?),
        (JsonKind::Float, _) => Cell::Double(json.as_f64()?),
        _ => return None,
    };
    values.push_cell(&Type::Item(item), None, cell).ok()
}
