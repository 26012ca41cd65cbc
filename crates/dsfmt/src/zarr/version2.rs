//! Stores of version 2: their metadata become those of version 3.

use container_core::{Error, Limits, Result};
use serde_json::{Number, Value, json};

use super::metadata::{Node, attributes, codec, member};
use super::types::{FILL, nearest_half};
use crate::json::Json;
use crate::netcdf::{Attribute, AttributeValue, exact};

/// The files of a node.
pub(super) const ARRAY: &str = ".zarray";
pub(super) const GROUP: &str = ".zgroup";
pub(super) const ATTRIBUTES: &str = ".zattrs";

/// The attribute in which xarray keeps names of dimensions.
const DIMENSIONS: &str = "_ARRAY_DIMENSIONS";

/// The node that these files describe, a group when there is no description of an array. Errors come with the name of the file.
pub(super) fn node(
    array: Option<&str>,
    attributes_text: Option<&str>,
    limits: &Limits,
) -> Result<Node, (&'static str, Error)> {
    let mut own = Vec::new();
    if let Some(text) = attributes_text {
        own = attributes(Json::parse(text).map_err(|error| (ATTRIBUTES, error))?);
    }
    let Some(text) = array else { return Ok(Node::Group(own, Vec::new())) };
    let json = Json::parse(text).map_err(|error| (ARRAY, error))?;
    if member(json, "zarr_format").and_then(|version| version.as_u64()) != Some(2) {
        return Err((ARRAY, Error::invalid("expected zarr_format 2")));
    }
    let names = own.iter().position(|attribute| attribute.name == DIMENSIONS).map(|position| own.remove(position));
    let names = names.map(|attribute| match attribute.value {
        AttributeValue::Json(json) => json.as_json().items().map(|name| name.as_str().map(String::from)).collect(),
        AttributeValue::Texts(names) => names.into_iter().map(Some).collect(),
        _ => Vec::new(),
    });
    let names: Vec<Option<String>> = names.unwrap_or_default();
    Ok(match array_of_version_3(json, names) {
        Ok((declared, fill)) => {
            // In version 2, unwritten elements are missing, as xarray reads them.
            if let Some(value) = fill.filter(|_| !own.iter().any(|attribute| attribute.name == FILL)) {
                own.push(Attribute { name: FILL.to_owned(), value });
            }
            Node::array(own, declared, limits)
        }
        Err(error) => Node::Array(own, Err(error)),
    })
}

/// The metadata of version 3, and the fill value as an attribute if it means missing.
fn array_of_version_3(json: Json<'_>, names: Vec<Option<String>>) -> Result<(Value, Option<AttributeValue>)> {
    let value = |name: &str| member(json, name).map(|value| serde_json::to_value(value).unwrap_or_default());
    let dtype = member(json, "dtype").ok_or_else(|| Error::invalid("expected a dtype, found none"))?;
    let filters: Vec<Value> = value("filters").and_then(|all| all.as_array().cloned()).unwrap_or_default();
    let ids = filters.iter().map(|filter| filter.get("id").and_then(Value::as_str).unwrap_or_default());
    let filters: Vec<&str> = ids.collect();
    let (data_type, mut codecs, default) = data_type(dtype, &filters)?;
    if member(json, "order").is_some_and(|order| order.as_str().as_deref() == Some("F")) {
        let rank = value("shape").and_then(|shape| shape.as_array().map(Vec::len)).unwrap_or(0);
        if rank > 1 {
            let order: Vec<usize> = (0..rank).rev().collect();
            codecs.insert(0, json!({"name": "transpose", "configuration": {"order": order}}));
        }
    }
    if let Some(Value::Object(mut compressor)) = value("compressor") {
        let id = compressor.remove("id").and_then(|id| id.as_str().map(str::to_owned)).unwrap_or_default();
        codecs.push(json!({"name": id, "configuration": compressor}));
    }
    let fill = value("fill_value").filter(|fill| !fill.is_null()).map(|fill| as_declared(&data_type, fill));
    let attribute = fill.as_ref().and_then(|fill| missing(&data_type, fill));
    // Texts of version 2 declare a fill value of 0.
    let fill_value = fill.filter(|fill| !(fill.is_number() && default.is_string())).unwrap_or(default);
    let mut chunks = value("chunks");
    if let (Some(Value::Array(chunks)), Some(Value::Array(shape))) = (&mut chunks, value("shape")) {
        // Other writers give an empty dimension a chunk of size 0.
        for (chunk, _) in chunks.iter_mut().zip(&shape).filter(|(chunk, size)| **chunk == 0 && **size == 0) {
            *chunk = 1.into();
        }
    }
    let separator = value("dimension_separator").filter(Value::is_string).unwrap_or_else(|| ".".into());
    let mut declared = json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": value("shape"),
        "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": "v2", "configuration": {"separator": separator}},
        "fill_value": fill_value,
        "codecs": codecs,
    });
    if let (false, Some(object)) = (names.is_empty(), declared.as_object_mut()) {
        object.insert("dimension_names".to_owned(), names.into());
    }
    Ok((declared, attribute))
}

/// A fill value as version 3 declares it. Other writers give integers as floats, numbers as texts, and booleans as integers.
fn as_declared(data_type: &Value, fill: Value) -> Value {
    let Some(name) = data_type.as_str() else { return fill };
    let is_integer = name.contains("int");
    let number = match &fill {
        Value::String(text) if is_integer || name.starts_with("float") => serde_json::from_str::<Number>(text).ok(),
        Value::Number(number) => Some(number.clone()),
        _ => None,
    };
    let Some(number) = number else { return fill };
    let integer = number.as_f64().filter(|_| number.is_f64()).and_then(exact::<f64, i64>);
    match (name, integer, number.as_u64()) {
        ("bool", _, Some(bit @ 0..=1)) => (bit == 1).into(),
        (_, Some(integer), _) if is_integer => integer.into(),
        _ => number.into(),
    }
}

/// The fill value as an attribute: numbers, rounded to the type as the element is, and texts that are not empty.
fn missing(data_type: &Value, fill: &Value) -> Option<AttributeValue> {
    let named = data_type.get("name").unwrap_or(data_type);
    let is_text = ["string", "fixed_length_utf32", "null_terminated_bytes"].iter().any(|name| named == name);
    if let Some(text) = fill.as_str().filter(|_| is_text) {
        // Empty bytes are NULs in base64.
        let is_empty =
            text.is_empty() || named == "null_terminated_bytes" && text.trim_end_matches(['A', '=']).is_empty();
        return (!is_empty).then(|| AttributeValue::Text(text.to_owned()));
    }
    let name = data_type.as_str().filter(|name| name.contains("int") || name.starts_with("float"))?;
    let integer = fill.as_i64().map(|number| vec![number].into());
    let integer = integer.or_else(|| fill.as_u64().map(|number| vec![number].into()));
    if let Some(integer) = integer.filter(|_| !name.starts_with("float")) {
        return Some(AttributeValue::Numbers(integer));
    }
    let number = match fill.as_str() {
        Some(text @ ("NaN" | "Infinity" | "-Infinity")) => text.parse().ok()?,
        _ => fill.as_f64()?,
    };
    Some(AttributeValue::Numbers(vec![rounded(name, number)].into()))
}

/// The nearest number of a type of floats.
fn rounded(data_type: &str, number: f64) -> f64 {
    match data_type {
        "float16" => nearest_half(number),
        #[expect(clippy::cast_possible_truncation, reason = "rounding is meant")]
        "float32" => f64::from(number as f32),
        _ => number,
    }
}

/// Data type, first codecs, and fill value by default of a `dtype` of numpy.
fn data_type(dtype: Json<'_>, filters: &[&str]) -> Result<(Value, Vec<Value>, Value)> {
    let unsupported = || {
        let dtype: String = dtype.as_text().chars().take(40).collect();
        let filters = if filters.is_empty() { String::new() } else { format!(" with filters {}", filters.join(", ")) };
        Error::unsupported(format!("dtype {dtype}{filters} of version 2"))
    };
    let text = dtype.as_str().ok_or_else(unsupported)?;
    match (&*text, filters) {
        ("|O", ["vlen-utf8"]) => return Ok(("string".into(), vec![codec("vlen-utf8")], "".into())),
        ("|O", ["vlen-bytes"]) => return Ok(("variable_length_bytes".into(), vec![codec("vlen-bytes")], "".into())),
        (_, []) => {}
        _ => return Err(unsupported()),
    }
    let (order, rest) = text.split_at_checked(1).ok_or_else(unsupported)?;
    let (kind, size) = rest.split_at_checked(1).ok_or_else(unsupported)?;
    let bytes: Option<u64> = size.parse().ok();
    let bits = bytes.map(|bytes| bytes.saturating_mul(8));
    let fixed = |name: &str, unit: u64| {
        let length = bytes.map(|bytes| bytes.saturating_mul(unit));
        json!({"name": name, "configuration": {"length_bytes": length}})
    };
    let (data_type, fill): (Value, Value) = match (kind, bits) {
        ("b", Some(8)) => ("bool".into(), false.into()),
        ("i", Some(bits)) => (format!("int{bits}").into(), 0.into()),
        ("u", Some(bits)) => (format!("uint{bits}").into(), 0.into()),
        ("f", Some(bits)) => (format!("float{bits}").into(), 0.into()),
        ("S", Some(_)) => (fixed("null_terminated_bytes", 1), "".into()),
        ("V", Some(_)) => (fixed("raw_bytes", 1), "".into()),
        ("U", Some(_)) => (fixed("fixed_length_utf32", 4), "".into()),
        ("M" | "m", None) => {
            let unit = size.strip_prefix("8[").and_then(|unit| unit.strip_suffix(']')).ok_or_else(unsupported)?;
            let name = if kind == "M" { "numpy.datetime64" } else { "numpy.timedelta64" };
            (json!({"name": name, "configuration": {"unit": unit, "scale_factor": 1}}), "NaT".into())
        }
        _ => return Err(unsupported()),
    };
    let endian = match order {
        ">" => "big",
        "<" | "|" => "little",
        _ => return Err(unsupported()),
    };
    Ok((data_type, vec![json!({"name": "bytes", "configuration": {"endian": endian}})], fill))
}
