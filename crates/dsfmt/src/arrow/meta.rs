//! Field and schema metadata that preserves a variable's type, dimensions and attributes.

use std::collections::HashMap;

use arrow_schema::Field;
use container_core::{Error, Result};

use crate::FORMAT_NAME;
use crate::json::{Json, JsonBuf, JsonKind, decode_name, quoted};
use crate::read::{Reader, Variable};
use crate::time;
use crate::types::{DataType, Endian};

/// Arrow's metadata keys for extension types.
pub(super) const EXTENSION: &str = "ARROW:extension:name";
pub(super) const EXTENSION_METADATA: &str = "ARROW:extension:metadata";

/// The extension type of fixed-shape arrays.
pub(super) const TENSOR: &str = "arrow.fixed_shape_tensor";

pub(super) use crate::time::{CALENDAR, UNITS};

/// Keys of the encoding of attributes that plain JSON cannot hold: the value's text, and the name's if it is not valid UTF-8.
const RAW: &str = "$ds";
const RAW_NAME: &str = "$name";

/// Attributes as an object, without those named in `excluded`, and with `others`.
fn attributes(members: crate::json::Members<'_>, excluded: &[&str], others: &[(&str, Json<'_>)]) -> JsonBuf {
    let mut all = Vec::new();
    for (name, value) in members {
        let (name, value) = encode(name, value);
        if !excluded.contains(&name.as_str()) {
            all.push((name, value));
        }
    }
    all.extend(others.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())));
    JsonBuf::object(all)
}

/// Encodes an attribute as plain JSON.
fn encode(name: Json<'_>, value: Json<'_>) -> (String, JsonBuf) {
    let text = value.as_text();
    let plain = serde_json::from_str::<serde_json::Value>(text).is_ok()
        && value.members().all(|(name, _)| name.as_str().is_none_or(|name| name != RAW));
    let plain_name = name.to_text().unwrap_or_default().into_owned();
    let value = match (name.as_str(), plain) {
        (Some(_), true) => value.into(),
        (Some(_), false) => JsonBuf::object([(RAW, text.into())]),
        (None, _) => JsonBuf::object([(RAW, JsonBuf::from(text)), (RAW_NAME, name.as_text().into())]),
    };
    (plain_name, value)
}

/// The representation of a variable's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Representation {
    Stored,
    Julian,
}

/// Metadata of a variable.
pub(super) fn of_variable(variable: &Variable<'_>, representation: Representation) -> String {
    let julian = representation == Representation::Julian;
    let mut members: Vec<(&str, JsonBuf)> = Vec::new();
    let data_type = if julian { Some(DataType::Float64) } else { variable.data_type() };
    members.push(("type", data_type.map(DataType::name).into()));
    if data_type.is_some_and(|data_type| data_type.is_text() || data_type.width() > Some(1)) {
        members.push(("endian", variable.endian().name().into()));
    }
    members.push(("dimensions", JsonBuf::list(variable.dimensions().iter().map(Into::into))));
    let flags = [
        ("masked", variable.is_masked()),
        ("time", julian || variable.is_time()),
        ("empty", variable.shape().is_none()),
    ];
    members.extend(flags.into_iter().filter(|(_, set)| *set).map(|(name, _)| (name, true.into())));
    let special = crate::wire::SPECIAL_KEYS.iter().copied();
    let excluded: Vec<&str> = special.chain(julian.then_some([UNITS, CALENDAR]).into_iter().flatten()).collect();
    // Bounds of times are in a table without the times, too.
    let inherited = if julian { Vec::new() } else { time::inherited(variable) };
    members.push(("attributes", attributes(variable.header().members(), &excluded, &inherited)));
    JsonBuf::object(members).to_string()
}

/// Metadata of a dataset.
pub(super) fn of_dataset(reader: &Reader) -> HashMap<String, String> {
    let all = reader
        .header
        .attributes()
        .map_or_else(|| JsonBuf::object::<&str>([]), |all| attributes(all.members(), &[], &[]));
    HashMap::from([(FORMAT_NAME.to_owned(), JsonBuf::object([("attributes", all)]).to_string())])
}

/// Metadata of the tensor extension type.
pub(super) fn of_tensor(shape: &[u64], names: &[String]) -> HashMap<String, String> {
    let members =
        [("shape", JsonBuf::from(shape.to_vec())), ("dim_names", JsonBuf::list(names.iter().map(Into::into)))];
    HashMap::from([
        (EXTENSION.to_owned(), TENSOR.to_owned()),
        (EXTENSION_METADATA.to_owned(), JsonBuf::object(members).to_string()),
    ])
}

/// The `ds` metadata of a field or schema: properties of a variable or dataset other than its values.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct FieldMetadata {
    /// The element type.
    pub data_type: Option<DataType>,
    /// The byte order.
    pub endian: Option<Endian>,
    /// Dimension names, that of the rows first.
    pub dimensions: Option<Vec<String>>,
    /// Whether the values are Julian dates.
    pub time: bool,
    /// Whether the variable is empty: it has no values.
    pub empty: bool,
    /// Quoted names, and values.
    pub(super) attributes: Vec<(String, JsonBuf)>,
}

impl FieldMetadata {
    /// Parses the metadata of a field or schema.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) unless it is a JSON object.
    pub fn from_metadata(metadata: &HashMap<String, String>) -> Result<Self> {
        let mut parsed = Self::default();
        let Some(text) = metadata.get(FORMAT_NAME) else { return Ok(parsed) };
        let invalid = |what: &str| Error::invalid(format!("metadata {FORMAT_NAME:?} {what}")).in_format(FORMAT_NAME);
        let json = Json::parse(text).map_err(|error| invalid("is not valid JSON").caused_by(error))?;
        if json.kind() != JsonKind::Object {
            return Err(invalid("is not a JSON object"));
        }
        for (name, value) in json.members() {
            match name.as_str().as_deref() {
                Some("type") => parsed.data_type = value.as_str().and_then(|name| DataType::from_name(&name)),
                Some("endian") => {
                    let orders = [Endian::Big, Endian::Little].into_iter();
                    parsed.endian =
                        value.as_str().and_then(|name| orders.into_iter().find(|order| order.name() == name));
                }
                Some("dimensions") => {
                    let names = value.items().map(|name| name.to_text().map(std::borrow::Cow::into_owned));
                    parsed.dimensions = names.collect();
                }
                Some("time") => parsed.time = value.as_bool() == Some(true),
                Some("empty") => parsed.empty = value.as_bool() == Some(true),
                Some("attributes") => {
                    parsed.attributes = value.members().map(|(name, value)| decode(name, value)).collect()
                }
                _ => {}
            }
        }
        Ok(parsed)
    }

    /// The attributes, in order.
    pub fn attributes(&self) -> impl Iterator<Item = (String, Json<'_>)> {
        self.attributes.iter().map(|(name, value)| (decode_name(Json::new_unchecked(name)), value.as_json()))
    }

    /// Adds an attribute.
    pub fn push_attribute(&mut self, name: &str, value: impl Into<JsonBuf>) {
        self.attributes.push((quoted(name), value.into()));
    }

    /// Formats the metadata value.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut members: Vec<(&str, JsonBuf)> = Vec::new();
        members.extend(self.data_type.map(|data_type| ("type", data_type.name().into())));
        members.extend(self.endian.map(|endian| ("endian", endian.name().into())));
        let names = self.dimensions.as_ref();
        members.extend(names.map(|names| ("dimensions", JsonBuf::list(names.iter().map(Into::into)))));
        let flags = [("time", self.time), ("empty", self.empty)];
        members.extend(flags.into_iter().filter(|(_, set)| *set).map(|(name, _)| (name, true.into())));
        let all = self.attributes.iter().map(|(name, value)| encode(Json::new_unchecked(name), value.as_json()));
        members.push(("attributes", JsonBuf::object(all)));
        JsonBuf::object(members).to_string()
    }

    /// An attribute's value, if it is a string.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let name = quoted(name);
        let attribute = self.attributes.iter().find(|(key, _)| *key == name);
        attribute.and_then(|(_, value)| value.as_json().as_str().map(std::borrow::Cow::into_owned))
    }
}

/// Decodes an attribute: the quoted name, and the value.
fn decode(name: Json<'_>, value: Json<'_>) -> (String, JsonBuf) {
    let member = |key: &str| {
        let member = value.members().find(|(name, _)| name.as_str().is_some_and(|name| name == key));
        member.and_then(|(_, value)| value.as_str().map(std::borrow::Cow::into_owned))
    };
    let raw = member(RAW).and_then(|text| Json::parse(&text).ok().map(JsonBuf::from));
    let raw_name = member(RAW_NAME).filter(|name| Json::parse(name).is_ok_and(|name| name.kind() == JsonKind::String));
    // Only names that are not valid UTF-8 are encoded, so the result cannot be a reserved name.
    let raw_name = raw_name.filter(|name| Json::parse(name).is_ok_and(|name| name.as_str().is_none()));
    let name = raw_name.unwrap_or_else(|| quoted(&name.to_text().unwrap_or_default()));
    (name, raw.unwrap_or_else(|| value.into()))
}

/// The shape of a fixed-shape tensor field.
#[derive(Debug)]
pub(super) struct Tensor {
    pub(super) shape: Vec<u64>,
    /// Dimension names.
    pub(super) names: Option<Vec<String>>,
}

/// Parses the tensor extension of a field with `size` elements; `None` for fields without it.
///
/// # Errors
/// [`Unsupported`](container_core::ErrorKind::Unsupported) for a permutation; [`Invalid`](container_core::ErrorKind::Invalid) for contradictory
/// metadata.
pub(super) fn tensor(field: &Field, size: u64) -> Result<Option<Tensor>> {
    if field.metadata().get(EXTENSION).is_none_or(|name| name != TENSOR) {
        return Ok(None);
    }
    let invalid = |what: String| Error::invalid(format!("metadata of {TENSOR} {what}")).in_format(FORMAT_NAME);
    let text = field.metadata().get(EXTENSION_METADATA).map_or("", String::as_str);
    let json = Json::parse(text).map_err(|error| invalid("is not valid JSON".to_owned()).caused_by(error))?;
    let (mut shape, mut names) = (None, None);
    for (name, value) in json.members() {
        match name.as_str().as_deref() {
            Some("shape") => shape = value.items().map(|size| size.as_u64()).collect::<Option<Vec<u64>>>(),
            Some("dim_names") if !value.is_null() => {
                names = value
                    .items()
                    .map(|name| name.to_text().map(std::borrow::Cow::into_owned))
                    .collect::<Option<Vec<_>>>();
            }
            Some("permutation" | "permutations") if !value.is_null() => {
                let indices = value.items().map(|index| index.as_u64());
                if !indices.eq((0..value.items().count() as u64).map(Some)) {
                    let detail = format!("unsupported {TENSOR} with permuted dimensions");
                    return Err(Error::unsupported(detail).in_format(FORMAT_NAME));
                }
            }
            _ => {}
        }
    }
    let shape = shape.ok_or_else(|| invalid("has no shape".to_owned()))?;
    let elements =
        if shape.contains(&0) { Some(0) } else { shape.iter().try_fold(1u64, |all, size| all.checked_mul(*size)) };
    if elements != Some(size) || shape.is_empty() {
        return Err(invalid(format!("has shape {shape:?}, expected {size} elements")));
    }
    if names.as_ref().is_some_and(|names| names.len() != shape.len()) {
        return Err(invalid(format!(
            "has {} dimension names and {} sizes",
            names.map_or(0, |names| names.len()),
            shape.len()
        )));
    }
    Ok(Some(Tensor { shape, names }))
}
