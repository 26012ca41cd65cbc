//! Planning the columns for an Arrow schema.

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field, Schema as ArrowSchema, TimeUnit};
use container_core::{Error, Loss, Position, Result};
use serde_json::Value as Json;

use super::keys::Keys;
use super::mismatch::LossCounts;
use super::value_parser::ValueParser;
use super::{ArrowOptions, NullIntegers};
use crate::FORMAT_NAME;
use crate::arrow::plan::{index_type, label_array};
use crate::schema::{ColumnSchema, Schema};
use crate::value::Labels;
use crate::wire::{ItemType, KeyType, KeyWidth, Type};
use crate::write::KeyLabels;

/// Builds the values of a column from arrays.
pub(super) struct ColumnBuilder {
    /// Field name.
    pub(super) name: String,
    pub(super) schema: ColumnSchema,
    pub(super) item: ItemType,
    pub(super) keys: Keys,
    /// Parser for text or values of another type.
    pub(super) parser: Option<ValueParser>,
    /// Round too precise times down.
    pub(super) cut: bool,
    /// As [`ArrowOptions::untyped`].
    pub(super) untyped: bool,
    /// UTC offset in minutes of a fixed-offset time zone.
    pub(super) zone: i16,
    /// Maximum bytes of labels.
    pub(super) max_label_bytes: u64,
    pub(super) lost: LossCounts,
}

/// Plans the columns for a schema, with losses.
pub(super) fn plan(schema: &ArrowSchema, options: &ArrowOptions) -> Result<(Vec<ColumnBuilder>, Vec<Loss>)> {
    let mut losses = Vec::new();
    let columns = schema.fields().iter().map(|field| column_builder(field, options, &mut losses));
    Ok((columns.collect::<Result<_>>()?, losses))
}

fn column_builder(field: &Field, options: &ArrowOptions, losses: &mut Vec<Loss>) -> Result<ColumnBuilder> {
    let mut lose = |what: &str| {
        losses.push(Loss::new(what, 1, Position::of_column(field.name().clone())));
    };
    if is_permuted(field) {
        let detail = "cannot write a tensor with permuted dimensions";
        return Err(Error::unsupported(detail).in_column(field.name().clone()));
    }
    let (mut column, mut parser) = (None, None);
    if let Some(json) = field.metadata().get(FORMAT_NAME) {
        match column_from_metadata(field, json, options) {
            Some((found, read)) => (column, parser) = (Some(found), read),
            None => lose("metadata \"idv\" left out: they describe a column of another type"),
        }
    }
    let column = match column {
        Some(column) => column,
        None => {
            let kind = default_type(field, options.null_integers).ok_or_else(|| {
                let detail = format!("no IDV type for {}", field.data_type());
                Error::unsupported(detail).in_column(field.name().clone())
            })?;
            ColumnSchema::new(field.name(), kind)
        }
    };
    let zone = match zone_of(field.data_type()) {
        Some(zone) => offset_of(zone).unwrap_or_else(|| {
            lose(&format!("time zone {zone:?} left out: instants are kept in UTC"));
            0
        }),
        None => 0,
    };
    let item = column.kind.item();
    let keys = match item {
        ItemType::Key(_) => keys_of(&column, innermost(field.data_type()), options.writer.limits.metadata_bytes),
        _ => Keys::None,
    };
    let max_label_bytes = options.writer.limits.metadata_bytes;
    let cut = options.times == container_arrow::Times::Floor;
    let (name, lost) = (field.name().clone(), LossCounts::default());
    Ok(ColumnBuilder {
        name,
        schema: column,
        item,
        keys,
        parser,
        cut,
        untyped: options.untyped,
        zone,
        max_label_bytes,
        lost,
    })
}

/// The key mapping of a column: by given labels, or by those of dictionaries to come.
fn keys_of(column: &ColumnSchema, data_type: &DataType, max_label_bytes: u64) -> Keys {
    let known = column.metadata.iter().find(|metadata| metadata.kind == "KeyValues").and_then(|metadata| {
        let ItemType::Key(key) = column.kind.item() else { return None };
        let labels = Labels::new(metadata.value.clone(), &metadata.value_type)?;
        // As when reading: otherwise keys are numbers.
        if key.count == 0 || labels.count() < key.count || labels.count() > max_label_bytes / 8 {
            return None;
        }
        let array: ArrayRef = label_array(&labels).ok()??;
        Some((KeyLabels::new(&metadata.value_type, &metadata.value)?, array))
    });
    let values = match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    };
    match known {
        Some((labels, array)) if same_labels(array.data_type(), values) => Keys::known(labels, array),
        // Dictionaries bring their labels.
        None if column.metadata.is_empty() && matches!(data_type, DataType::Dictionary(..)) => Keys::collected(),
        _ => Keys::None,
    }
}

fn same_labels(one: &DataType, other: &DataType) -> bool {
    one == other || one.is_string() && other.is_string()
}

/// The column described by the field's metadata, if compatible with the field's type, and the parser for it.
fn column_from_metadata(
    field: &Field,
    json: &str,
    options: &ArrowOptions,
) -> Option<(ColumnSchema, Option<ValueParser>)> {
    let json: Json = serde_json::from_str(json).ok()?;
    let (schema, _) = Schema::from_json(&Json::Array(vec![json])).ok()?;
    let mut column = schema.columns.into_iter().next()?;
    column.kind.check().ok()?;
    let renamed = match field.name().strip_prefix(column.name.as_str()) {
        Some("") => false,
        Some(rest) => rest.strip_prefix('#').is_none_or(|number| number.parse::<u64>().is_err()),
        None => true,
    };
    if renamed {
        column.name.clone_from(field.name());
    }
    if options.untyped
        && let Some(parser) = ValueParser::of(field, &column)
    {
        return Some((column, Some(parser)));
    }
    // `NullIntegers::Double` overrides the declared integer type.
    let nullable = options.null_integers == NullIntegers::Double && items_of(field).is_nullable();
    let max_label_bytes = options.writer.limits.metadata_bytes;
    if nullable && is_integer(column.kind.item()) || !is_compatible(&column, field.data_type(), max_label_bytes) {
        let parser = if options.convert { ValueParser::of_values(field, &column) } else { None };
        return parser.map(|parser| (column, Some(parser)));
    }
    Some((column, None))
}

fn is_integer(item: ItemType) -> bool {
    matches!(
        item,
        ItemType::SByte
            | ItemType::Byte
            | ItemType::Int16
            | ItemType::UInt16
            | ItemType::Int32
            | ItemType::UInt32
            | ItemType::Int64
            | ItemType::UInt64
    )
}

/// Whether arrays of a type can hold values of a column.
fn is_compatible(column: &ColumnSchema, data_type: &DataType, max_label_bytes: u64) -> bool {
    let is_item_compatible = |data_type: &DataType| is_item_compatible(column, data_type, max_label_bytes);
    match (&column.kind, data_type) {
        (Type::Vector { .. }, DataType::FixedSizeList(item, size)) => {
            let known = column.kind.size();
            (known == 0 || u32::try_from(*size) == Ok(known)) && is_item_compatible(item.data_type())
        }
        (Type::Vector { .. }, DataType::List(item) | DataType::LargeList(item)) => is_item_compatible(item.data_type()),
        (Type::Vector { .. }, DataType::Struct(_)) => {
            sparse_item(data_type).is_some_and(|item| is_item_compatible(item.data_type()))
        }
        (Type::Vector { .. }, _) => false,
        (Type::Item(_), data_type) => is_item_compatible(data_type),
    }
}

fn is_item_compatible(column: &ColumnSchema, data_type: &DataType, max_label_bytes: u64) -> bool {
    let item = column.kind.item();
    match (item, data_type) {
        (ItemType::Key(key), other) => {
            // By labels only if they are known.
            let known = matches!(keys_of(column, other, max_label_bytes), Keys::Known { .. });
            known || *other == index_type(key.width.max())
        }
        (ItemType::Single, DataType::Float16) => true,
        (ItemType::Boolean | ItemType::DvBool, DataType::Boolean) => true,
        (ItemType::TimeSpan | ItemType::DvTimeSpan | ItemType::DateTime | ItemType::DvDateTime, DataType::Int64) => {
            true
        }
        (ItemType::DvTimeSpan, other) => {
            default_item_type(other, false, NullIntegers::Error) == Some(ItemType::TimeSpan)
        }
        (ItemType::DvDateTime, other) => {
            default_item_type(other, false, NullIntegers::Error) == Some(ItemType::DateTime)
        }
        (ItemType::DvDateTimeZone, other) => {
            default_item_type(other, false, NullIntegers::Error) == Some(ItemType::DateTimeOffset)
        }
        (ItemType::Text, DataType::Dictionary(_, labels)) => labels.is_string(),
        (item, other) => default_item_type(other, false, NullIntegers::Error) == Some(item),
    }
}

/// The type of a field without metadata.
fn default_type(field: &Field, null_integers: NullIntegers) -> Option<Type> {
    let item_of = |item: &Field| default_item_type(item.data_type(), item.is_nullable(), null_integers);
    let varying = |item: &Field| Some(Type::Vector { item: item_of(item)?, dimensions: vec![0] });
    match field.data_type() {
        DataType::FixedSizeList(item, size) => {
            let size = u32::try_from(*size).ok()?;
            let dimensions = shape_of(field, size).unwrap_or_else(|| vec![size]);
            Some(Type::Vector { item: item_of(item)?, dimensions })
        }
        DataType::List(item) | DataType::LargeList(item) => varying(item),
        structs @ DataType::Struct(_) if sparse_item(structs).is_some() => sparse_item(structs).and_then(varying),
        _ => item_of(field).map(Type::Item),
    }
}

fn default_item_type(data_type: &DataType, nullable: bool, null_integers: NullIntegers) -> Option<ItemType> {
    let integer = |item| {
        if nullable && null_integers == NullIntegers::Double { ItemType::Double } else { item }
    };
    let span = if nullable { ItemType::DvTimeSpan } else { ItemType::TimeSpan };
    Some(match data_type {
        DataType::Null => ItemType::Text,
        DataType::Int8 => integer(ItemType::SByte),
        DataType::UInt8 => integer(ItemType::Byte),
        DataType::Int16 => integer(ItemType::Int16),
        DataType::UInt16 => integer(ItemType::UInt16),
        DataType::Int32 => integer(ItemType::Int32),
        DataType::UInt32 => integer(ItemType::UInt32),
        DataType::Int64 => integer(ItemType::Int64),
        DataType::UInt64 => integer(ItemType::UInt64),
        DataType::Float16 | DataType::Float32 => ItemType::Single,
        DataType::Float64 => ItemType::Double,
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) => ItemType::Double,
        DataType::Boolean if nullable => ItemType::DvBool,
        DataType::Boolean => ItemType::Boolean,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => ItemType::Text,
        DataType::Timestamp(_, None) | DataType::Date32 | DataType::Date64 => ItemType::DateTime,
        DataType::Timestamp(_, Some(_)) => ItemType::DateTimeOffset,
        DataType::Duration(_) | DataType::Time32(_) | DataType::Time64(_) => span,
        DataType::FixedSizeBinary(16) => ItemType::RowId,
        DataType::Struct(_) if zoned_time(data_type).is_some() => ItemType::DateTimeOffset,
        DataType::Dictionary(_, labels) if labels.is_string() => ItemType::Key(KeyType {
            width: KeyWidth::UInt32,
            // Until all labels are collected.
            count: u32::MAX.into(),
            min: 0,
            contiguous: true,
            old: false,
        }),
        DataType::Dictionary(_, values) if !matches!(**values, DataType::Dictionary(..)) => {
            return default_item_type(values, nullable, null_integers);
        }
        _ => return None,
    })
}

/// The metadata of a tensor field.
fn tensor_of(field: &Field) -> Option<Json> {
    if field.metadata().get("ARROW:extension:name")? != "arrow.fixed_shape_tensor" {
        return None;
    }
    serde_json::from_str(field.metadata().get("ARROW:extension:metadata")?).ok()
}

/// Whether the dimensions of a tensor field have another order in memory.
fn is_permuted(field: &Field) -> bool {
    let tensor = tensor_of(field);
    let axes = tensor.as_ref().and_then(|tensor| tensor.get("permutation")?.as_array());
    axes.is_some_and(|axes| !axes.iter().map(Json::as_u64).eq((0..).map(Some).take(axes.len())))
}

/// The dimensions of a tensor field, if they match its size.
fn shape_of(field: &Field, size: u32) -> Option<Vec<u32>> {
    let tensor = tensor_of(field)?;
    let dimensions = tensor.get("shape")?.as_array()?;
    let dimensions: Option<Vec<u32>> = dimensions.iter().map(|d| u32::try_from(d.as_u64()?).ok()).collect();
    let dimensions = dimensions.filter(|dimensions| !dimensions.is_empty())?;
    let product = dimensions.iter().try_fold(1u32, |product, &d| product.checked_mul(d));
    (product == Some(size)).then_some(dimensions)
}

/// The item field of a sparse vector's struct.
pub(super) fn sparse_item(data_type: &DataType) -> Option<&Field> {
    let DataType::Struct(fields) = data_type else { return None };
    let [length, indices, values] = &**fields else { return None };
    let names = [length.name().as_str(), indices.name(), values.name()] == ["length", "indices", "values"];
    match (length.data_type(), indices.data_type(), values.data_type()) {
        (DataType::Int32, DataType::List(index), DataType::List(item))
            if names && *index.data_type() == DataType::Int32 =>
        {
            Some(item)
        }
        _ => None,
    }
}

/// The timestamp type of a struct of time and offset.
pub(super) fn zoned_time(data_type: &DataType) -> Option<&DataType> {
    let DataType::Struct(fields) = data_type else { return None };
    let [time, offset] = &**fields else { return None };
    let named = time.name() == "time" && offset.name() == "offset" && *offset.data_type() == DataType::Int16;
    let moments = match time.data_type() {
        DataType::Timestamp(_, Some(zone)) => offset_of(zone) == Some(0),
        DataType::Int64 => true,
        _ => false,
    };
    (named && moments).then_some(time.data_type())
}

/// The item field of a list, or the field itself.
fn items_of(field: &Field) -> &Field {
    match field.data_type() {
        DataType::FixedSizeList(item, _) | DataType::List(item) | DataType::LargeList(item) => item,
        structs => sparse_item(structs).unwrap_or(field),
    }
}

fn innermost(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::FixedSizeList(item, _) | DataType::List(item) | DataType::LargeList(item) => item.data_type(),
        structs => sparse_item(structs).map_or(structs, Field::data_type),
    }
}

/// The time zone of a timestamp type.
fn zone_of(data_type: &DataType) -> Option<&str> {
    match innermost(data_type) {
        DataType::Timestamp(
            TimeUnit::Second | TimeUnit::Millisecond | TimeUnit::Microsecond | TimeUnit::Nanosecond,
            zone,
        ) => zone.as_deref(),
        _ => None,
    }
}

/// The offset in minutes of a fixed-offset time zone.
fn offset_of(zone: &str) -> Option<i16> {
    if ["UTC", "Z", "utc", "Etc/UTC"].contains(&zone) {
        return Some(0);
    }
    let (sign, digits) = match zone.strip_prefix('+') {
        Some(digits) => (1, digits),
        None => (-1, zone.strip_prefix('-')?),
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some(parts) => parts,
        None if digits.len() == 4 => digits.split_at_checked(2)?,
        None => (digits, "0"),
    };
    let default_type =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<i16>().ok()).flatten();
    let (hours, minutes) = (default_type(hours)?, default_type(minutes)?);
    (hours <= 14 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}
