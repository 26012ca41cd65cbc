//! Metadata of groups and arrays: what `zarr.json` declares, checked before `zarrs` or an allocation depends on it.

use container_core::{Error, Limits, Result};
use serde_json::{Map, Value, json};

use super::codecs::Method;
use super::types::Stored;
use crate::json::{Json, JsonBuf, JsonKind, decode_name};
use crate::netcdf::{Attribute, AttributeValue};

/// A group or an array.
pub(super) enum Node {
    /// A group: its attributes, and the names in it in the order of its consolidated metadata, which may be absent.
    Group(Vec<Attribute>, Vec<String>),
    /// An array; or its attributes, and why it cannot be read.
    Array(Vec<Attribute>, Result<Box<ArrayMetadata>>),
}

/// A checked description of an array.
#[derive(Debug)]
pub(super) struct ArrayMetadata {
    pub(super) shape: Vec<u64>,
    /// Sizes of a chunk, each at least 1: of a shard when there are subchunks.
    pub(super) chunk: Vec<u64>,
    /// Sizes of the chunks in a shard.
    pub(super) subchunk: Option<Vec<u64>>,
    pub(super) stored: Stored,
    pub(super) dimension_names: Vec<Option<String>>,
    /// Nothing but bytes: any part of a chunk can be read.
    pub(super) is_plain: bool,
    /// For display.
    pub(super) data_type: String,
    pub(super) codecs: Vec<String>,
    pub(super) fill_value: Value,
    /// What `zarrs` gets: bounded codecs, no attributes.
    pub(super) checked: Value,
}

impl Node {
    /// Parses a `zarr.json`.
    ///
    /// # Errors
    /// Invalid JSON, another version, or no type of node. What else is wrong with an array is its problem alone.
    pub(super) fn parse(text: &str, limits: &Limits) -> Result<Self> {
        let json = Json::parse(text)?;
        if json.kind() != JsonKind::Object {
            return Err(Error::invalid("expected a JSON object"));
        }
        match member(json, "zarr_format").map(|version| (version.as_u64(), version)) {
            Some((Some(3), _)) => {}
            Some((_, other)) => return Err(Error::unsupported(format!("zarr_format {}, expected 3", short(other)))),
            None => return Err(Error::invalid("expected zarr_format 3, found none")),
        }
        let attributes = member(json, "attributes").map(attributes).unwrap_or_default();
        match member(json, "node_type").and_then(|kind| kind.as_str()).as_deref() {
            Some("group") => Ok(Self::Group(attributes, consolidated_names(json))),
            Some("array") => {
                let declared = serde_json::to_value(json).unwrap_or_default();
                Ok(Self::array(attributes, declared, limits))
            }
            _ => {
                let found = member(json, "node_type").map_or_else(|| "none".to_owned(), short);
                Err(Error::invalid(format!("expected node_type \"group\" or \"array\", found {found}")))
            }
        }
    }

    /// An array of version 3, as declared.
    pub(super) fn array(mut attributes: Vec<Attribute>, declared: Value, limits: &Limits) -> Self {
        let described = ArrayMetadata::new(declared, limits).map(Box::new);
        if let Ok(described) = &described {
            described.stored.complete(&mut attributes);
        }
        Self::Array(attributes, described)
    }
}

/// The last member of this name, as Python takes it.
pub(super) fn member<'a>(object: Json<'a>, name: &str) -> Option<Json<'a>> {
    object.members().filter(|(key, _)| key.as_str().is_some_and(|key| key == name)).last().map(|(_, value)| value)
}

/// The beginning of a value, for a message.
fn short(json: Json<'_>) -> String {
    json.as_text().chars().take(40).collect()
}

/// The names of consolidated metadata. They only give the order: what there is, the folder shows.
fn consolidated_names(json: Json<'_>) -> Vec<String> {
    let metadata = member(json, "consolidated_metadata").and_then(|all| member(all, "metadata"));
    metadata.map(|all| all.members().map(|(name, _)| decode_name(name)).collect()).unwrap_or_default()
}

/// Attributes of a node; a repeated name keeps its first position and takes the last value.
pub(super) fn attributes(object: Json<'_>) -> Vec<Attribute> {
    let mut all: Vec<Attribute> = Vec::new();
    let mut positions = std::collections::HashMap::new();
    for (name, value) in object.members() {
        let name = decode_name(name);
        let value = attribute(&name, value);
        match positions.get(&name).and_then(|position: &usize| all.get_mut(*position)) {
            Some(known) => known.value = value,
            None => {
                positions.insert(name.clone(), all.len());
                all.push(Attribute { name, value });
            }
        }
    }
    all
}

/// Attributes whose lists of one item stand for the item, as xarray reads them.
const SINGLE: [&str; 10] = [
    "_FillValue",
    "_Unsigned",
    "add_offset",
    "calendar",
    "missing_value",
    "scale_factor",
    "units",
    "valid_max",
    "valid_min",
    "valid_range",
];

/// Numbers, texts, and lists of one of them have a type of NetCDF; other JSON stays as it is.
fn attribute(name: &str, json: Json<'_>) -> AttributeValue {
    let other = || AttributeValue::Json(JsonBuf::from(json));
    if json.kind() == JsonKind::Array
        && let [one] = json.items().collect::<Vec<_>>().as_slice()
    {
        // As an attribute of NetCDF it would be written as the item.
        return if SINGLE.contains(&name) { attribute("", *one) } else { other() };
    }
    let items: Vec<Json<'_>> = match json.kind() {
        JsonKind::String => return json.as_str().map_or_else(other, |text| AttributeValue::Text(text.into_owned())),
        JsonKind::Integer | JsonKind::Float => vec![json],
        JsonKind::Array => json.items().collect(),
        JsonKind::Null | JsonKind::Bool | JsonKind::Object => return other(),
    };
    let texts: Option<Vec<String>> = items.iter().map(|item| item.as_str().map(Into::into)).collect();
    if let Some(texts) = texts.filter(|texts| !texts.is_empty()) {
        return AttributeValue::Texts(texts);
    }
    let is_integer = |item: &Json<'_>| item.kind() == JsonKind::Integer;
    if !items.is_empty() && items.iter().all(is_integer) {
        let signed: Option<Vec<i64>> = items.iter().map(Json::as_i64).collect();
        let unsigned = || items.iter().map(Json::as_u64).collect::<Option<Vec<u64>>>();
        let numbers = signed.map(Into::into).or_else(|| unsigned().map(Into::into));
        return numbers.map_or_else(other, AttributeValue::Numbers);
    }
    let floats: Option<Vec<f64>> = items.iter().map(Json::as_f64).collect();
    floats.map_or_else(other, |floats| AttributeValue::Numbers(floats.into()))
}

impl ArrayMetadata {
    /// Checks the metadata of an array of version 3.
    fn new(mut declared: Value, limits: &Limits) -> Result<Self> {
        let object = declared.as_object_mut().ok_or_else(|| Error::invalid("expected a JSON object"))?;
        object.remove("attributes");
        let shape = sizes(object.get("shape"), "shape", 0)?;
        if shape.len() > MAX_RANK {
            return Err(Error::limit("number of dimensions", shape.len() as u64, MAX_RANK as u64));
        }
        crate::netcdf::product(&shape).ok_or_else(|| Error::limit("elements of the array", u64::MAX, u64::MAX - 1))?;
        let chunk = match extension(object.get("chunk_grid"), "chunk_grid")? {
            ("regular", configuration) => sizes(configuration.get("chunk_shape"), "chunk_shape", 1)?,
            (other, _) => return Err(Error::unsupported(format!("chunk grid {other:?} (known: regular)"))),
        };
        if chunk.len() != shape.len() {
            let detail = format!("expected {} chunk sizes, found {}", shape.len(), chunk.len());
            return Err(Error::invalid(detail));
        }
        let (encoding, _) = extension(object.get("chunk_key_encoding"), "chunk_key_encoding")?;
        if !["default", "v2"].contains(&encoding) {
            return Err(Error::unsupported(format!("chunk key encoding {encoding:?} (known: default, v2)")));
        }
        let transformers = object.get("storage_transformers").and_then(Value::as_array);
        if let Some(first) = transformers.and_then(|all| all.first()) {
            let (name, _) = extension(Some(first), "storage transformer")?;
            return Err(Error::unsupported(format!("storage transformer {name:?} (known: none)")));
        }
        let unknown = object.iter().find(|(name, value)| {
            let is_optional = value.get("must_understand").and_then(Value::as_bool) == Some(false) || value.is_null();
            !MEMBERS.contains(&name.as_str()) && !is_optional
        });
        if let Some((name, _)) = unknown {
            return Err(Error::unsupported(format!("member {name:?} of the metadata")));
        }
        let dimension_names = dimension_names(object.get("dimension_names"), shape.len())?;
        let (data_type, configuration) = extension(object.get("data_type"), "data_type")?;
        let data_type = data_type.to_owned();
        let fill_value = object.get("fill_value").cloned().unwrap_or_default();
        let stored = Stored::new(&data_type, configuration)?;
        let (as_type, as_fill) = stored.rewritten(&fill_value)?;
        if let Some(as_type) = as_type {
            object.insert("data_type".to_owned(), as_type);
        }
        object.insert("fill_value".to_owned(), as_fill);
        let codecs = object.get_mut("codecs").and_then(Value::as_array_mut);
        let codecs = codecs.ok_or_else(|| Error::invalid("expected a list of codecs"))?;
        let mut chain = Chain { limits, subchunk: None, names: Vec::new() };
        chain.check(codecs, &chunk, 0)?;
        let Chain { mut subchunk, names, .. } = chain;
        if !stored.is_fixed() && names.iter().any(|name| name == "transpose") {
            // `zarrs` transposes no parts of texts: the whole shard is decoded.
            subchunk = None;
        }
        let is_plain = names == ["bytes"] && stored.is_fixed();
        if !is_plain {
            let unit = subchunk.as_deref().unwrap_or(&chunk);
            check_elements("bytes of a chunk", unit, stored.width() as u64, limits)?;
        }
        Ok(Self {
            shape,
            chunk,
            subchunk,
            stored,
            dimension_names,
            is_plain,
            data_type,
            codecs: names,
            fill_value,
            checked: declared,
        })
    }
}

/// Members of the metadata of an array. Others must say that they need not be understood.
const MEMBERS: [&str; 10] = [
    "zarr_format",
    "node_type",
    "shape",
    "data_type",
    "chunk_grid",
    "chunk_key_encoding",
    "fill_value",
    "codecs",
    "storage_transformers",
    "dimension_names",
];

/// Maximum number of dimensions.
const MAX_RANK: usize = 64;

/// Maximum nesting of shards in shards.
const MAX_SHARDING: u32 = 4;

/// Checks that this many elements of some bytes each are not more than a block.
fn check_elements(what: &'static str, sizes: &[u64], width: u64, limits: &Limits) -> Result<()> {
    let bytes = crate::netcdf::product(sizes).and_then(|count| count.checked_mul(width));
    limits.check_block(what, bytes.unwrap_or(u64::MAX))
}

/// Codecs that are checked and replaced.
struct Chain<'l> {
    limits: &'l Limits,
    /// Sizes of the chunks of the outermost shard.
    subchunk: Option<Vec<u64>>,
    names: Vec<String>,
}

impl Chain<'_> {
    /// Checks the codecs of a chunk of these sizes, and replaces decompressors by bounded ones.
    fn check(&mut self, codecs: &mut [Value], chunk: &[u64], depth: u32) -> Result<()> {
        for codec in codecs.iter_mut() {
            let (name, configuration) = extension(Some(codec), "codec")?;
            self.names.push(name.to_owned());
            if let Some(method) = Method::of_codec(name) {
                *codec = method.bounded(Some(&Value::Object(configuration.clone())), self.limits.block_bytes);
                continue;
            }
            match name {
                "bytes" | "transpose" | "vlen-utf8" | "vlen-bytes" | "crc32c" => {}
                "sharding_indexed" => self.check_shard(codec, chunk, depth)?,
                other => {
                    let known =
                        "bytes, transpose, vlen-utf8, vlen-bytes, sharding_indexed, crc32c, blosc, gzip, zlib, zstd";
                    return Err(Error::unsupported(format!("codec {other:?} (known: {known})")));
                }
            }
        }
        Ok(())
    }

    fn check_shard(&mut self, codec: &mut Value, shard: &[u64], depth: u32) -> Result<()> {
        if depth >= MAX_SHARDING {
            return Err(Error::limit("shards in shards", u64::from(depth) + 1, MAX_SHARDING.into()));
        }
        let configuration = codec.get_mut("configuration").and_then(Value::as_object_mut);
        let configuration = configuration.ok_or_else(|| Error::invalid("sharding_indexed without a configuration"))?;
        let inner = sizes(configuration.get("chunk_shape"), "chunk_shape of sharding_indexed", 1)?;
        let divides = |(shard, inner): (&u64, &u64)| shard.is_multiple_of(*inner);
        if inner.len() != shard.len() || !shard.iter().zip(&inner).all(divides) {
            return Err(Error::invalid(format!("expected sizes that divide the shard {shard:?}, found {inner:?}")));
        }
        let counts: Vec<u64> = shard.iter().zip(&inner).map(|(shard, inner)| shard / inner).collect();
        check_elements("bytes of the index of a shard", &counts, 16, self.limits)?;
        for (key, chunk) in [("index_codecs", &counts), ("codecs", &inner)] {
            let nested = configuration.get_mut(key).and_then(Value::as_array_mut);
            let nested = nested.ok_or_else(|| Error::invalid(format!("sharding_indexed without {key}")))?;
            let plain = |name: &str| ["bytes", "crc32c"].contains(&name);
            if key == "index_codecs" {
                for codec in nested.iter() {
                    let (name, _) = extension(Some(codec), "codec")?;
                    if !plain(name) {
                        let detail = format!("codec {name:?} of the index of shards (known: bytes, crc32c)");
                        return Err(Error::unsupported(detail));
                    }
                }
            } else {
                self.check(nested, chunk, depth + 1)?;
            }
        }
        if depth == 0 {
            self.subchunk = Some(inner);
        }
        Ok(())
    }
}

/// A list of sizes, each at least `min`.
fn sizes(value: Option<&Value>, what: &str, min: u64) -> Result<Vec<u64>> {
    let found = value.map_or_else(|| "none".to_owned(), |value| value.to_string().chars().take(40).collect());
    let invalid = || Error::invalid(format!("{what}: expected a list of integers from {min}, found {found}"));
    let all = value.and_then(Value::as_array).ok_or_else(invalid)?;
    all.iter().map(|size| size.as_u64().filter(|size| *size >= min).ok_or_else(invalid)).collect()
}

/// Name and configuration of an extension point: `"name"` or `{"name": "name", "configuration": {}}`.
fn extension<'v>(value: Option<&'v Value>, what: &str) -> Result<(&'v str, &'v Map<String, Value>)> {
    static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    let invalid = || {
        let found = value.map_or_else(|| "none".to_owned(), |value| value.to_string().chars().take(40).collect());
        Error::invalid(format!("{what}: expected a name and a configuration, found {found}"))
    };
    match value {
        Some(Value::String(name)) => Ok((name, &EMPTY)),
        Some(Value::Object(object)) => {
            let name = object.get("name").and_then(Value::as_str).ok_or_else(invalid)?;
            match object.get("configuration") {
                None => Ok((name, &EMPTY)),
                Some(configuration) => Ok((name, configuration.as_object().ok_or_else(invalid)?)),
            }
        }
        _ => Err(invalid()),
    }
}

fn dimension_names(value: Option<&Value>, rank: usize) -> Result<Vec<Option<String>>> {
    let names = match value {
        None | Some(Value::Null) => return Ok(vec![None; rank]),
        Some(Value::Array(names)) => names.iter().map(|name| match name {
            Value::Null => Ok(None),
            Value::String(name) => Ok(Some(name.clone()).filter(|name| !name.is_empty())),
            _ => Err(Error::invalid("dimension_names: expected strings")),
        }),
        Some(_) => return Err(Error::invalid("dimension_names: expected a list")),
    };
    let names: Vec<_> = names.collect::<Result<_>>()?;
    match names.len() == rank {
        true => Ok(names),
        false => Err(Error::invalid(format!("expected {rank} dimension names, found {}", names.len()))),
    }
}

/// Sets what the type tells. Another value of the attribute stays as `original_NAME`.
pub(super) fn set_text(attributes: &mut Vec<Attribute>, name: &str, text: String) {
    if let Some(own) = attributes.iter_mut().find(|attribute| attribute.name == name) {
        if own.value.as_text() == Some(&text) {
            return;
        }
        own.name = format!("original_{name}");
    }
    attributes.push(Attribute { name: name.to_owned(), value: AttributeValue::Text(text) });
}

/// A codec without a configuration.
pub(super) fn codec(name: &str) -> Value {
    json!({ "name": name })
}
