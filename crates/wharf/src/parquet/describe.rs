//! Details of a Parquet file and its columns, for `info`.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use container_core::Result;
use parquet::arrow::ARROW_SCHEMA_META_KEY;
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescriptor;
use serde_json::{Map, Value};

use super::read::Reader;
use crate::batches::columns::sorted;
use crate::batches::{json_or_text, metadata};

/// Details of the file.
pub(super) fn file(reader: &Reader) -> Map<String, Value> {
    let file = reader.metadata().file_metadata();
    let mut details = Map::new();
    details.insert("bytes".to_owned(), reader.source().len().into());
    if let Some(writer) = file.created_by() {
        details.insert("created_by".to_owned(), writer.into());
    }
    details.insert("row_groups".to_owned(), reader.group_count().into());
    let pairs = file.key_value_metadata().into_iter().flatten().filter(|pair| pair.key != ARROW_SCHEMA_META_KEY);
    let mut pairs: Map<String, Value> =
        pairs.map(|pair| (pair.key.clone(), pair.value.as_deref().map_or(Value::Null, json_or_text))).collect();
    for (key, value) in sorted(reader.schema().metadata()) {
        if !pairs.contains_key(key) {
            pairs.insert(key.clone(), json_or_text(value));
        }
    }
    if !pairs.is_empty() {
        details.insert("metadata".to_owned(), pairs.into());
    }
    details
}

/// Details of a column, over all row groups.
pub(super) fn column(reader: &Reader, index: usize) -> Result<Map<String, Value>> {
    let mut details = Map::new();
    let leaves: Vec<usize> = reader.leaves(index).collect();
    let schema = reader.metadata().file_metadata().schema_descr();
    if let [leaf] = leaves.as_slice()
        && let Some(descriptor) = schema.columns().get(*leaf)
    {
        details.insert("physical".to_owned(), physical(descriptor).into());
        if let Some(logical) = logical(descriptor) {
            details.insert("logical".to_owned(), logical.into());
        }
    } else {
        details.insert("leaves".to_owned(), leaves.len().into());
    }
    let chunks = || {
        let groups = reader.metadata().row_groups().iter();
        groups.flat_map(|group| leaves.iter().filter_map(|leaf| group.columns().get(*leaf)))
    };
    let names = |name: &dyn Fn(&ColumnChunkMetaData) -> Vec<String>| -> Value {
        let all: BTreeSet<String> = chunks().flat_map(name).collect();
        all.into_iter().collect::<Vec<_>>().join(" ").into()
    };
    if chunks().next().is_some() {
        let base_name = |name: String| name.split('(').next().unwrap_or_default().to_lowercase();
        details.insert(
            "compression".to_owned(),
            names(&|chunk| vec![base_name(chunk.compression_codec().to_string()).replace("uncompressed", "none")]),
        );
        details.insert(
            "encodings".to_owned(),
            names(&|chunk| chunk.encodings().map(|kind| base_name(format!("{kind:?}"))).collect()),
        );
    }
    let sum = |size: &dyn Fn(&ColumnChunkMetaData) -> i64| -> Value {
        chunks().map(|chunk| u64::try_from(size(chunk)).unwrap_or(0)).fold(0, u64::saturating_add).into()
    };
    details.insert("bytes".to_owned(), sum(&ColumnChunkMetaData::compressed_size));
    details.insert("decompressed_bytes".to_owned(), sum(&ColumnChunkMetaData::uncompressed_size));
    let field = reader.schema().fields().get(index);
    // Statistics of a list would be those of its items.
    if let [leaf] = leaves.as_slice()
        && let Some(descriptor) = schema.columns().get(*leaf)
        && field.is_some_and(|field| !field.data_type().is_nested())
    {
        statistics(&chunks().map(ColumnChunkMetaData::statistics).collect::<Vec<_>>(), descriptor, &mut details);
    }
    let own = field.map(|field| metadata(field)).unwrap_or_default();
    if !own.is_empty() {
        details.insert("metadata".to_owned(), own.into());
    }
    Ok(details)
}

fn physical(column: &ColumnDescriptor) -> String {
    match column.physical_type() {
        Type::FIXED_LEN_BYTE_ARRAY => format!("fixed_len_byte_array({})", column.type_length()),
        other => format!("{other:?}").to_lowercase(),
    }
}

fn logical(column: &ColumnDescriptor) -> Option<String> {
    let unit = |unit: &TimeUnit| format!("{unit:?}").to_lowercase();
    let utc = |utc: bool| if utc { "utc" } else { "local" };
    match column.logical_type_ref() {
        Some(LogicalType::Integer(of)) => Some(format!("{}int{}", if of.is_signed { "" } else { "u" }, of.bit_width)),
        Some(LogicalType::Decimal(of)) => Some(format!("decimal({}, {})", of.precision, of.scale)),
        Some(LogicalType::Time(of)) => Some(format!("time({}, {})", unit(&of.unit), utc(of.is_adjusted_to_u_t_c))),
        Some(LogicalType::Timestamp(of)) => {
            Some(format!("timestamp({}, {})", unit(&of.unit), utc(of.is_adjusted_to_u_t_c)))
        }
        Some(other) => {
            let name = format!("{other:?}");
            name.split(['(', ' ', '{']).next().map(str::to_lowercase)
        }
        None => match column.converted_type() {
            ConvertedType::NONE => None,
            other => Some(format!("{other:?}").to_lowercase()),
        },
    }
}

/// Bounds of this many bytes may have been cut off if the file does not say that they are exact: writers cut at 64 bytes, between characters. Older
/// ones never say it.
const TRUNCATED_LEN: usize = 60;

/// Null count, and minimum and maximum of numbers and text.
fn statistics(all: &[Option<&Statistics>], column: &ColumnDescriptor, details: &mut Map<String, Value>) {
    let nulls: Option<u64> = all.iter().map(|found| found.and_then(Statistics::null_count_opt)).sum();
    if let Some(nulls) = nulls.filter(|_| !all.is_empty()) {
        details.insert("nulls".to_owned(), nulls.into());
    }
    let extreme = |order: Ordering| -> Option<Value> {
        let mut best: Option<StatisticsValue> = None;
        for found in all {
            let found = (*found)?;
            let (bytes, is_exact) = match order {
                Ordering::Less => (found.min_bytes_opt(), found.min_is_exact()),
                _ => (found.max_bytes_opt(), found.max_is_exact()),
            };
            if !is_exact && bytes.is_some_and(|bytes| bytes.len() >= TRUNCATED_LEN) {
                return None;
            }
            let Some(value) = bytes.and_then(|bytes| statistics_value(column, bytes)) else {
                // A row group of nulls has no minimum. Any other without one leaves the result unknown.
                if found.null_count_opt() == Some(0) || found.min_bytes_opt().is_some() {
                    return None;
                }
                continue;
            };
            if best.as_ref().is_none_or(|best| value.partial_cmp(best) == Some(order)) {
                best = Some(value);
            }
        }
        best.and_then(StatisticsValue::json)
    };
    for (name, order) in [("min", Ordering::Less), ("max", Ordering::Greater)] {
        if let Some(value) = extreme(order) {
            details.insert(name.to_owned(), value);
        }
    }
}

/// A minimum or maximum.
#[derive(PartialEq, PartialOrd)]
enum StatisticsValue {
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f32),
    Double(f64),
    Text(String),
}

/// A minimum or maximum; `None` for types that are not shown.
fn statistics_value(column: &ColumnDescriptor, bytes: &[u8]) -> Option<StatisticsValue> {
    let (logical, converted) = (column.logical_type_ref(), column.converted_type());
    let is_shown = match logical {
        None => matches!(converted, ConvertedType::NONE | ConvertedType::UTF8),
        Some(logical) => matches!(logical, LogicalType::Integer(_) | LogicalType::String),
    };
    if !is_shown {
        return None;
    }
    let is_unsigned = matches!(logical, Some(LogicalType::Integer(of)) if !of.is_signed);
    let is_text = matches!(logical, Some(LogicalType::String)) || converted == ConvertedType::UTF8;
    let four = || bytes.try_into().ok();
    let eight = || bytes.try_into().ok();
    let value = match column.physical_type() {
        Type::BOOLEAN => StatisticsValue::Bool(bytes.first()? & 1 == 1),
        Type::INT32 if is_unsigned => StatisticsValue::Uint(u32::from_le_bytes(four()?).into()),
        Type::INT32 => StatisticsValue::Int(i32::from_le_bytes(four()?).into()),
        Type::FLOAT => StatisticsValue::Float(f32::from_le_bytes(four()?)),
        Type::INT64 if is_unsigned => StatisticsValue::Uint(u64::from_le_bytes(eight()?)),
        Type::INT64 => StatisticsValue::Int(i64::from_le_bytes(eight()?)),
        Type::DOUBLE => StatisticsValue::Double(f64::from_le_bytes(eight()?)),
        Type::BYTE_ARRAY if is_text => StatisticsValue::Text(String::from_utf8(bytes.to_vec()).ok()?),
        _ => return None,
    };
    // What is NaN is no bound.
    let is_nan = match value {
        StatisticsValue::Float(value) => value.is_nan(),
        StatisticsValue::Double(value) => value.is_nan(),
        _ => false,
    };
    (!is_nan).then_some(value)
}

impl StatisticsValue {
    fn json(self) -> Option<Value> {
        let float = |value: f64, digits: String| match value.is_finite() {
            true => digits.parse().ok().map(Value::Number),
            false => Some(if value > 0.0 { "Infinity" } else { "-Infinity" }.into()),
        };
        match self {
            Self::Bool(value) => Some(value.into()),
            Self::Int(value) => Some(value.into()),
            Self::Uint(value) => Some(value.into()),
            // Keep the shortest digits of f32.
            Self::Float(value) => float(value.into(), format!("{value:?}")),
            Self::Double(value) => float(value, format!("{value:?}")),
            Self::Text(value) => Some(value.into()),
        }
    }
}
