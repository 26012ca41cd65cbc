//! What stands in metadata so that a column can become the variable again that it was.

use std::collections::HashMap;

use arrow_schema::Field;
use container_core::{Error, Result};

use crate::FORMAT_NAME;
use crate::json::{Json, JsonBuf, JsonKind, name_of, quoted};
use crate::read::{Reader, Variable};
use crate::types::{DataType, Endian};

/// Arrow's names for what is said of an extension type.
pub(super) const EXTENSION: &str = "ARROW:extension:name";
pub(super) const EXTENSION_METADATA: &str = "ARROW:extension:metadata";

/// The extension type of arrays of one shape.
pub(super) const TENSOR: &str = "arrow.fixed_shape_tensor";

/// What stands for an attribute that plain JSON cannot hold: its text, and its name where no text can hold that.
const RAW: &str = "$ds";
const RAW_NAME: &str = "$name";

/// Attributes of these names say how times are counted.
pub(super) const UNITS: &str = "units";
pub(super) const CALENDAR: &str = "calendar";

/// An object of attributes.
fn attributes(members: crate::json::Members<'_>, left_out: &[&str]) -> JsonBuf {
    let mut all = Vec::new();
    for (name, value) in members {
        let (shown, value) = encoded(name, value);
        if !left_out.contains(&shown.as_str()) {
            all.push((shown, value));
        }
    }
    JsonBuf::object(all)
}

/// An attribute as plain JSON has it.
fn encoded(name: Json<'_>, value: Json<'_>) -> (String, JsonBuf) {
    let text = value.as_text();
    let plain = serde_json::from_str::<serde_json::Value>(text).is_ok()
        && value.members().all(|(name, _)| name.as_str().is_none_or(|name| name != RAW));
    let shown = name.to_text().unwrap_or_default().into_owned();
    let value = match (name.as_str(), plain) {
        (Some(_), true) => value.into(),
        (Some(_), false) => JsonBuf::object([(RAW, text.into())]),
        (None, _) => JsonBuf::object([(RAW, JsonBuf::from(text)), (RAW_NAME, name.as_text().into())]),
    };
    (shown, value)
}

/// How a variable is shown, as far as that is not how it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    Stored,
    Julian,
}

/// What is said of a variable.
pub(super) fn of_variable(variable: &Variable<'_>, shown: Shown) -> String {
    let julian = shown == Shown::Julian;
    let mut members: Vec<(&str, JsonBuf)> = Vec::new();
    let data_type = if julian { Some(DataType::Float64) } else { variable.data_type() };
    members.push(("type", data_type.map(DataType::name).into()));
    if data_type.is_some_and(|data_type| data_type.is_text() || data_type.width() > Some(1)) {
        members.push(("endian", variable.endian().name().into()));
    }
    members.push(("dimensions", JsonBuf::list(variable.dimensions().iter().map(Into::into))));
    let truths = [
        ("masked", variable.is_masked()),
        ("time", julian || variable.is_time()),
        ("empty", variable.shape().is_none()),
    ];
    members.extend(truths.into_iter().filter(|(_, holds)| *holds).map(|(name, _)| (name, true.into())));
    let special = crate::wire::SPECIAL.iter().copied();
    let left_out: Vec<&str> = special.chain(julian.then_some([UNITS, CALENDAR]).into_iter().flatten()).collect();
    members.push(("attributes", attributes(variable.header().members(), &left_out)));
    JsonBuf::object(members).to_string()
}

/// What is said of a dataset.
pub(super) fn of_dataset(reader: &Reader) -> HashMap<String, String> {
    let all =
        reader.header.attributes().map_or_else(|| JsonBuf::object::<&str>([]), |all| attributes(all.members(), &[]));
    HashMap::from([(FORMAT_NAME.to_owned(), JsonBuf::object([("attributes", all)]).to_string())])
}

/// The metadata of arrays of a shape, whose dimensions have these names.
pub(super) fn of_tensor(shape: &[u64], names: &[String]) -> HashMap<String, String> {
    let members =
        [("shape", JsonBuf::from(shape.to_vec())), ("dim_names", JsonBuf::list(names.iter().map(Into::into)))];
    HashMap::from([
        (EXTENSION.to_owned(), TENSOR.to_owned()),
        (EXTENSION_METADATA.to_owned(), JsonBuf::object(members).to_string()),
    ])
}

/// The metadata `ds` of a field or of a schema: what a variable or a dataset has beside its values.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct FieldMetadata {
    /// The type of its elements.
    pub data_type: Option<DataType>,
    /// The order of a number's bytes.
    pub endian: Option<Endian>,
    /// The names of its dimensions, that of the rows first.
    pub dimensions: Option<Vec<String>>,
    /// Its numbers are Julian dates.
    pub time: bool,
    /// It has no values.
    pub empty: bool,
    /// Names in quotes.
    pub(super) attributes: Vec<(String, JsonBuf)>,
}

impl FieldMetadata {
    /// What the metadata of a field or of a schema says.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) for what is no JSON object.
    pub fn of(metadata: &HashMap<String, String>) -> Result<Self> {
        let mut said = Self::default();
        let Some(text) = metadata.get(FORMAT_NAME) else { return Ok(said) };
        let wrong = |what: &str| Error::invalid(format!("the metadata {FORMAT_NAME:?} {what}")).in_format(FORMAT_NAME);
        let json = Json::parse(text).map_err(|error| wrong("is no JSON").caused_by(error))?;
        if json.kind() != JsonKind::Object {
            return Err(wrong("is no object"));
        }
        for (name, value) in json.members() {
            match name.as_str().as_deref() {
                Some("type") => said.data_type = value.as_str().and_then(|name| DataType::from_name(&name)),
                Some("endian") => {
                    let orders = [Endian::Big, Endian::Little].into_iter();
                    said.endian = value.as_str().and_then(|name| orders.into_iter().find(|order| order.name() == name));
                }
                Some("dimensions") => {
                    let names = value.items().map(|name| name.to_text().map(std::borrow::Cow::into_owned));
                    said.dimensions = names.collect();
                }
                Some("time") => said.time = value.as_bool() == Some(true),
                Some("empty") => said.empty = value.as_bool() == Some(true),
                Some("attributes") => {
                    said.attributes = value.members().map(|(name, value)| attribute(name, value)).collect()
                }
                _ => {}
            }
        }
        Ok(said)
    }

    /// The attributes in order.
    pub fn attributes(&self) -> impl Iterator<Item = (String, Json<'_>)> {
        self.attributes.iter().map(|(name, value)| (name_of(Json::checked(name)), value.as_json()))
    }

    /// Adds an attribute.
    pub fn push_attribute(&mut self, name: &str, value: impl Into<JsonBuf>) {
        self.attributes.push((quoted(name), value.into()));
    }

    /// The text under `ds`.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut members: Vec<(&str, JsonBuf)> = Vec::new();
        members.extend(self.data_type.map(|data_type| ("type", data_type.name().into())));
        members.extend(self.endian.map(|endian| ("endian", endian.name().into())));
        let names = self.dimensions.as_ref();
        members.extend(names.map(|names| ("dimensions", JsonBuf::list(names.iter().map(Into::into)))));
        let truths = [("time", self.time), ("empty", self.empty)];
        members.extend(truths.into_iter().filter(|(_, holds)| *holds).map(|(name, _)| (name, true.into())));
        let all = self.attributes.iter().map(|(name, value)| encoded(Json::checked(name), value.as_json()));
        members.push(("attributes", JsonBuf::object(all)));
        JsonBuf::object(members).to_string()
    }

    /// The text of an attribute.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let name = quoted(name);
        let found = self.attributes.iter().find(|(found, _)| *found == name);
        found.and_then(|(_, value)| value.as_json().as_str().map(std::borrow::Cow::into_owned))
    }
}

/// The name in quotes and the value that an attribute had.
fn attribute(name: Json<'_>, value: Json<'_>) -> (String, JsonBuf) {
    let member = |wanted: &str| {
        let found = value.members().find(|(name, _)| name.as_str().is_some_and(|name| name == wanted));
        found.and_then(|(_, value)| value.as_str().map(std::borrow::Cow::into_owned))
    };
    let raw = member(RAW).and_then(|text| Json::parse(&text).ok().map(JsonBuf::from));
    let raw_name = member(RAW_NAME).filter(|name| Json::parse(name).is_ok_and(|name| name.kind() == JsonKind::String));
    // Such a name is none that a text can hold, so that it cannot be one of the format's own.
    let raw_name = raw_name.filter(|name| Json::parse(name).is_ok_and(|name| name.as_str().is_none()));
    let name = raw_name.unwrap_or_else(|| quoted(&name.to_text().unwrap_or_default()));
    (name, raw.unwrap_or_else(|| value.into()))
}

/// Arrays of one shape.
#[derive(Debug)]
pub(super) struct Tensor {
    pub(super) shape: Vec<u64>,
    /// Of its dimensions.
    pub(super) names: Option<Vec<String>>,
}

/// The shape and the names of dimensions of a field that is said to hold arrays of one shape; `None` for any other.
///
/// # Errors
/// [`Unsupported`](container_core::ErrorKind::Unsupported) for a permutation; [`Invalid`](container_core::ErrorKind::Invalid) for what
/// contradicts itself.
pub(super) fn tensor(field: &Field, size: u64) -> Result<Option<Tensor>> {
    if field.metadata().get(EXTENSION).is_none_or(|name| name != TENSOR) {
        return Ok(None);
    }
    let wrong = |what: String| Error::invalid(format!("the metadata of its {TENSOR} {what}")).in_format(FORMAT_NAME);
    let text = field.metadata().get(EXTENSION_METADATA).map_or("", String::as_str);
    let json = Json::parse(text).map_err(|error| wrong("is no JSON".to_owned()).caused_by(error))?;
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
                let places = value.items().map(|place| place.as_u64());
                if !places.eq((0..value.items().count() as u64).map(Some)) {
                    let detail = format!("a {TENSOR} whose dimensions are permuted is not written");
                    return Err(Error::unsupported(detail).in_format(FORMAT_NAME));
                }
            }
            _ => {}
        }
    }
    let shape = shape.ok_or_else(|| wrong("names no shape".to_owned()))?;
    let all =
        if shape.contains(&0) { Some(0) } else { shape.iter().try_fold(1u64, |all, size| all.checked_mul(*size)) };
    if all != Some(size) || shape.is_empty() {
        return Err(wrong(format!("names a shape of other than {size} elements")));
    }
    if names.as_ref().is_some_and(|names| names.len() != shape.len()) {
        return Err(wrong("names more or fewer dimensions than sizes".to_owned()));
    }
    Ok(Some(Tensor { shape, names }))
}
