//! Schemas from and to JSON: the column objects of `wharf info --json`.

use container_core::{Error, Loss, Position, Result};
use serde_core::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use crate::FORMAT_NAME;
use crate::codec::Values;
use crate::read::Preview;
use crate::schema::{ColumnSchema, MetadataSchema, Schema};
use crate::wire::{Compression, ItemType, KeyType, Type, Version};

/// Members of a column object that define the schema.
const SCHEMA_MEMBERS: [&str; 13] = [
    "name",
    "type",
    "name_in_file",
    "codec",
    "item_codec",
    "compression",
    "dimensions",
    "key_count",
    "key_min",
    "key_contiguous",
    "metadata",
    "metadata_types",
    "unreadable",
];
/// Members that describe storage; ignored.
const STORAGE_MEMBERS: [&str; 4] = ["rows_per_block", "blocks", "bytes", "decompressed_bytes"];

impl Schema {
    /// A schema from JSON, and the columns and metadata left out because the described file has them unreadable.
    ///
    /// Accepts the output of `wharf info --json` for a file with one table, an object with `columns`, the list of columns, and the short
    /// form `{"age": "Single", "name": "Text"}` (columns in the order of the map). A column has a `name`, a
    /// [`type`](Type#impl-FromStr-for-Type), and optionally `compression` (`none`, `deflate`, `zlib`), `metadata` (values by kind) and
    /// `metadata_types` (types by kind). Without a type, `KeyValues` and `SlotNames` default to text and Booleans to `Boolean`.
    ///
    /// ```
    /// use idv::Schema;
    /// let json = serde_json::json!([
    ///     {"name": "age", "type": "Single"},
    ///     {"name": "sex", "type": "Key<Byte, 2>", "metadata": {"KeyValues": ["Male", "Female"]}},
    /// ]);
    /// let (schema, left_out) = Schema::from_json(&json)?;
    /// assert_eq!((schema.columns.len(), left_out.len()), (2, 0));
    /// # Ok::<(), container_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage), with column and member: a member that is missing, unknown, of the wrong JSON type, or
    /// contradicts the column type.
    pub fn from_json(json: &Value) -> Result<(Self, Vec<Loss>)> {
        from_json(json).map_err(|error| error.in_format(FORMAT_NAME))
    }

    /// The list of columns, as [`from_json`](Self::from_json) reads it.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) for metadata that cannot be written as JSON.
    pub fn to_json(&self) -> Result<Value> {
        let columns = self
            .columns
            .iter()
            .map(|column| as_value(&ColumnJson(column)).map_err(|error| error.in_column(column.name.clone())));
        columns.collect::<Result<_>>().map(Value::Array)
    }
}

fn from_json(json: &Value) -> Result<(Schema, Vec<Loss>)> {
    let mut version = None;
    let columns = match json {
        Value::Array(columns) => columns,
        Value::Object(members) => match (members.get("tables"), members.get("columns")) {
            (Some(Value::Array(tables)), _) => {
                version = members.get("version").and_then(Value::as_str).and_then(older_version);
                match tables.as_slice() {
                    [table] => list(table.get("columns"), "columns of the table")?,
                    all => {
                        let n = all.len();
                        let detail = format!("expected one table, found {n}; pass the columns of one of them");
                        return Err(Error::usage(detail));
                    }
                }
            }
            (_, Some(Value::Array(columns))) => columns,
            _ => return short_form(members),
        },
        other => {
            let detail = format!("expected a schema (an object or a list of columns), found {}", kind_of(other));
            return Err(Error::usage(detail));
        }
    };
    let (mut schema, mut left_out) = (Schema::default(), Vec::new());
    for (index, column) in columns.iter().enumerate() {
        let Value::Object(members) = column else {
            let detail = format!("column {index} (counted from 0): expected an object, found {}", kind_of(column));
            return Err(Error::usage(detail));
        };
        let name = match text(members, "name_in_file").and_then(|name| match name {
            None => text(members, "name"),
            name => Ok(name),
        }) {
            Ok(Some(name)) => name,
            Ok(None) => {
                return Err(Error::usage(format!("column {index} (counted from 0): missing member \"name\"")));
            }
            Err(error) => return Err(error.in_column(format!("{index} (counted from 0)"))),
        };
        let column = column_from_json(name, members, version, &mut left_out);
        schema.columns.extend(column.map_err(|error| error.in_column(name.to_owned()))?);
    }
    Ok((schema, left_out))
}

/// `{"age": "Single", "name": "Text"}`
fn short_form(members: &Map<String, Value>) -> Result<(Schema, Vec<Loss>)> {
    let columns = members.iter().map(|(name, kind)| match kind {
        Value::String(kind) => {
            Ok(ColumnSchema::new(name, kind.parse().map_err(|error: Error| error.in_column(name.clone()))?))
        }
        other => {
            let detail = format!("expected a type name such as \"Single\", found {}", kind_of(other));
            Err(Error::usage(detail).in_column(name.clone()))
        }
    });
    Ok((Schema::new(columns.collect::<Result<Vec<_>>>()?), Vec::new()))
}

/// A version before 1.1.1.6, in which more types can be missing.
fn older_version(text: &str) -> Option<Version> {
    let mut numbers = text.split('.').map(str::parse::<u16>);
    let mut next = || numbers.next()?.ok();
    let version = Version::new(next()?, next()?, next()?, next()?);
    Some(version).filter(|version| *version < Version::V6)
}

/// The column; `None` when it is unreadable in its file.
fn column_from_json(
    name: &str,
    members: &Map<String, Value>,
    version: Option<Version>,
    left_out: &mut Vec<Loss>,
) -> Result<Option<ColumnSchema>> {
    let lost = |what: String| Loss::new(what, 1, Position::of_column(name.to_owned()));
    if let Some(unknown) = members.keys().find(|member| !is_known(member)) {
        let detail = match unknown.as_str() {
            "error" => "the described file has an error".to_owned(),
            unknown => format!("unknown member {unknown:?} (known: {})", SCHEMA_MEMBERS.join(", ")),
        };
        return Err(Error::usage(detail));
    }
    if let Some(why) = text(members, "unreadable")? {
        left_out.push(lost(format!("column left out ({why})")));
        return Ok(None);
    }
    let Some(type_name) = text(members, "type")? else {
        return Err(Error::usage("missing member \"type\""));
    };
    // Keys of old files may have no key count; a handwritten schema must give one.
    let old_key = [text(members, "codec")?, text(members, "item_codec")?].contains(&Some("Key"));
    let kind = exact_type(if old_key { Type::from_display(type_name)? } else { type_name.parse()? }, members)?;
    let in_version = |kind: Type| version.map_or_else(|| kind.clone(), |version| kind.for_writing(version));
    let mut column = ColumnSchema::new(name, in_version(kind));
    column.compression = text(members, "compression")?.map(compression).transpose()?;
    let no_types = Map::new();
    let types = object(members, "metadata_types")?.unwrap_or(&no_types);
    let metadata = object(members, "metadata")?.unwrap_or(&no_types);
    if let Some(other) = types.keys().find(|kind| !metadata.contains_key(*kind)) {
        return Err(Error::usage(format!("member \"metadata_types\": unknown metadata {other:?}")));
    }
    for (kind, value) in metadata {
        if let Some(why) = value.get("$unreadable") {
            left_out.push(lost(format!("metadata {kind:?} left out ({})", why.as_str().unwrap_or_default())));
            continue;
        }
        if value.get("$beginning").is_some() {
            left_out.push(lost(format!("metadata {kind:?} left out (only a preview is given)")));
            continue;
        }
        let in_metadata = |error: Error| Error::usage(format!("metadata {kind:?}: {}", error.detail()));
        let value_type = metadata_type(kind, value, types).map_err(in_metadata)?;
        let value_of = || {
            let mut values = Values::of(&value_type);
            values.push_json(&value_type, None, &value.to_string())?;
            Ok(values)
        };
        let value = value_of().map_err(in_metadata)?;
        column.metadata.push(MetadataSchema { kind: kind.clone(), value_type: in_version(value_type), value });
    }
    Ok(Some(column))
}

fn is_known(member: &str) -> bool {
    SCHEMA_MEMBERS.contains(&member) || STORAGE_MEMBERS.contains(&member)
}

/// Resolves types that print alike by their codec, and checks the remaining members against the type.
fn exact_type(parsed: Type, members: &Map<String, Value>) -> Result<Type> {
    let codec = text(members, "codec")?;
    let item_codec = text(members, "item_codec")?;
    let kind = match parsed {
        Type::Item(item) => Type::Item(exact_item(item, "codec", codec, members)?),
        Type::Vector { item, dimensions } => {
            if let Some(codec) = codec.filter(|&codec| codec != "VBuffer") {
                return Err(Error::usage(format!(
                    "member \"codec\": expected \"VBuffer\" for a vector, found {codec:?}"
                )));
            }
            Type::Vector { item: exact_item(item, "item_codec", item_codec, members)?, dimensions }
        }
    };
    // These members repeat the type and must agree with it.
    for (member, expected) in type_details(&kind) {
        if let Some(found) = members.get(member).filter(|&found| *found != expected && member != "codec") {
            let detail = format!("member {member:?}: expected {expected} for type {kind}, found {found}");
            return Err(Error::usage(detail));
        }
    }
    Ok(kind)
}

fn exact_item(item: ItemType, member: &str, codec: Option<&str>, members: &Map<String, Value>) -> Result<ItemType> {
    let Some(codec) = codec else { return Ok(item) };
    Ok(match (item, codec) {
        (ItemType::Boolean, "DvBool") => ItemType::DvBool,
        (ItemType::TimeSpan, "DvTimeSpan") => ItemType::DvTimeSpan,
        (ItemType::DateTime, "DvDateTime") => ItemType::DvDateTime,
        (ItemType::DateTimeOffset, "DvDateTimeZone") => ItemType::DvDateTimeZone,
        (ItemType::Key(key), "Key") => {
            let min = match members.get("key_min") {
                None => 0,
                Some(min) => min.as_u64().ok_or_else(|| unexpected("key_min", min, "an integer"))?,
            };
            let contiguous = match members.get("key_contiguous") {
                None => true,
                Some(yes) => yes.as_bool().ok_or_else(|| unexpected("key_contiguous", yes, "true or false"))?,
            };
            ItemType::Key(KeyType { min, contiguous, old: true, ..key })
        }
        (item, codec) if item.codec_name() == codec => item,
        (item, codec) => {
            return Err(Error::usage(format!(
                "member {member:?}: expected {:?} for {item}, found {codec:?}",
                item.codec_name()
            )));
        }
    })
}

fn compression(name: &str) -> Result<Compression> {
    let all = [Compression::None, Compression::Deflate, Compression::Zlib];
    let found = all.into_iter().find(|compression| compression.to_string() == name);
    found.ok_or_else(|| Error::usage(format!("member \"compression\": expected none, deflate or zlib, found {name:?}")))
}

/// Type of a metadata value: declared, or the default for its kind and JSON type.
fn metadata_type(kind: &str, value: &Value, types: &Map<String, Value>) -> Result<Type> {
    let missing_type =
        |example: &str| Error::usage(format!("missing type, as in \"metadata_types\": {{{kind:?}: \"{example}\"}}"));
    match (types.get(kind), value) {
        (Some(Value::String(text)), _) => Type::from_display(text),
        (Some(other), _) => Err(Error::usage(format!("type: expected a string, found {}", kind_of(other)))),
        (None, Value::Bool(_)) => Ok(Type::Item(ItemType::Boolean)),
        (None, value) if kind == "KeyValues" || kind == "SlotNames" => {
            let sparse = value.get("$sparse");
            let items = sparse.map_or(Some(value), |sparse| sparse.get("values")).and_then(Value::as_array);
            let texts = items.is_some_and(|items| items.iter().all(|item| item.is_string() || item.is_null()));
            let length = match sparse {
                Some(sparse) => sparse.get("length").and_then(Value::as_u64),
                None => items.map(|items| items.len() as u64),
            };
            match length.and_then(|length| u32::try_from(length).ok()) {
                Some(length) if texts => Ok(Type::Vector { item: ItemType::Text, dimensions: vec![length] }),
                _ => Err(missing_type("Vector<Single>")),
            }
        }
        (None, Value::Array(_) | Value::Object(_)) => Err(missing_type("Vector<Single>")),
        (None, _) => Err(missing_type("Text")),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a Boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cold]
fn unexpected(member: &str, found: &Value, expected: &str) -> Error {
    Error::usage(format!("member {member:?}: expected {expected}, found {}", kind_of(found)))
}

/// A string member, if present.
fn text<'a>(members: &'a Map<String, Value>, member: &str) -> Result<Option<&'a str>> {
    match members.get(member) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(unexpected(member, other, "a string")),
    }
}

fn object<'a>(members: &'a Map<String, Value>, member: &str) -> Result<Option<&'a Map<String, Value>>> {
    match members.get(member) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(object)) => Ok(Some(object)),
        Some(other) => Err(unexpected(member, other, "an object")),
    }
}

fn list<'a>(value: Option<&'a Value>, what: &str) -> Result<&'a Vec<Value>> {
    match value {
        Some(Value::Array(list)) => Ok(list),
        Some(other) => Err(Error::usage(format!("{what}: expected a list, found {}", kind_of(other)))),
        None => Err(Error::usage(format!("missing {what}"))),
    }
}

/// Members that describe a type besides its name.
pub(crate) fn type_details(kind: &Type) -> Vec<(&'static str, Value)> {
    let item = kind.item();
    let mut details = Vec::new();
    match kind {
        Type::Item(item) => details.push(("codec", item.codec_name().into())),
        Type::Vector { dimensions, .. } => {
            details.push(("codec", "VBuffer".into()));
            if item.codec_name() == "Key" || kind.exact_text() != kind.to_string() {
                // Only where the type name is ambiguous.
                details.push(("item_codec", item.codec_name().into()));
            }
            // null: unknown dimension.
            let dimensions = dimensions.iter().map(|&d| if d == 0 { Value::Null } else { d.into() });
            details.push(("dimensions", dimensions.collect()));
        }
    }
    if let ItemType::Key(key) = item {
        details.push(("key_count", if key.count == 0 { Value::Null } else { key.count.into() }));
        if key.min > 0 {
            details.push(("key_min", key.min.into()));
        }
        if !key.contiguous {
            details.push(("key_contiguous", false.into()));
        }
    }
    details
}

/// Metadata values and types for `info`.
#[derive(Default)]
pub(crate) struct MetadataJson {
    pub(crate) values: Map<String, Value>,
    pub(crate) types: Map<String, Value>,
}

impl MetadataJson {
    /// Adds `values`, which hold exactly one value of the type.
    pub(crate) fn push(&mut self, kind: &str, value_type: &Type, values: &Values) -> Result<()> {
        self.values.insert(kind.to_owned(), as_value(&crate::metadata_as_value(value_type, values))?);
        self.types.insert(kind.to_owned(), value_type.exact_text().into());
        Ok(())
    }

    /// Adds the preview of a long value: `{"$beginning": {"count", "value"}}`; the count is in items, for text in bytes.
    pub(crate) fn push_preview(&mut self, kind: &str, value_type: &Type, preview: &Preview) -> Result<()> {
        let value = as_value(&crate::metadata_as_value(value_type, &preview.values))?;
        let json = serde_json::json!({"$beginning": {"count": preview.count, "value": value}});
        self.values.insert(kind.to_owned(), json);
        self.types.insert(kind.to_owned(), value_type.exact_text().into());
        Ok(())
    }

    /// Adds the members to a column object.
    pub(crate) fn put(self, details: &mut Map<String, Value>) {
        for (member, object) in [("metadata", self.values), ("metadata_types", self.types)] {
            if !object.is_empty() {
                details.insert(member.to_owned(), Value::Object(object));
            }
        }
    }
}

/// Converts via JSON text, so that an `f32` keeps its shortest digits.
pub(crate) fn as_value(value: &impl Serialize) -> Result<Value> {
    let parsed = serde_json::to_string(value).and_then(|text| serde_json::from_str(&text));
    parsed.map_err(|cause| Error::invalid("metadata has no JSON form").caused_by(cause).in_format(FORMAT_NAME))
}

/// A column, serialized as [`Schema::from_json`] reads it.
pub(crate) struct ColumnJson<'a>(pub(crate) &'a ColumnSchema);

impl Serialize for ColumnJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let column = self.0;
        let mut members = serializer.serialize_map(None)?;
        members.serialize_entry("name", &column.name)?;
        members.serialize_entry("type", &column.kind.to_string())?;
        for (member, value) in type_details(&column.kind) {
            members.serialize_entry(member, &value)?;
        }
        if let Some(compression) = column.compression {
            members.serialize_entry("compression", &compression.to_string())?;
        }
        if !column.metadata.is_empty() {
            members.serialize_entry("metadata", &Members(&column.metadata, MetadataSchema::value))?;
            members.serialize_entry("metadata_types", &Members(&column.metadata, MetadataSchema::type_text))?;
        }
        members.end()
    }
}

impl MetadataSchema {
    fn value(&self) -> crate::Value<'_> {
        crate::metadata_as_value(&self.value_type, &self.value)
    }

    fn type_text(&self) -> String {
        self.value_type.exact_text()
    }
}

/// A map from metadata kind to a property of each item.
struct Members<'a, F>(&'a [MetadataSchema], F);

impl<'a, T: Serialize, F: Fn(&'a MetadataSchema) -> T> Serialize for Members<'a, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|item| (&item.kind, (self.1)(item))))
    }
}

#[cfg(test)]
mod tests;
