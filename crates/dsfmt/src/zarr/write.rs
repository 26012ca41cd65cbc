//! Writes stores of version 3.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use container_core::{Error, Limits, Loss, OutputFolder, OutputOptions, Result};
use serde_json::{Map, Value, json};
use zarrs::array::{Array, ArrayBytes, ArrayBytesOffsets, CodecOptions};
use zarrs::storage::WritableStorageTraits;

use super::FORMAT_NAME;
use super::codecs::Method;
use super::describe::stored_bytes;
use super::fill::{fill, has_missing};
use super::grid::Block;
use super::metadata::codec;
use super::read::{copy, zeros};
use super::store::{Folder, METADATA};
use super::types::FILL;
use crate::array::{Strings, Values, each_kind};
use crate::json::{Json, JsonKind};
use crate::netcdf::{Converted, JULIAN, catch_panics, loss, product};
use crate::read::{Attributes, Reader, Select, Selection, Variable};
use crate::types::DataType;
use crate::write::Written;

/// Bytes of a chunk, unless sizes are given: as many rows as fit.
const CHUNK_BYTES: u64 = 4 << 20;

/// How chunks are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip, with a level from 0 to 9.
    Gzip(u8),
    /// Zstandard, with a level from 1 to 22.
    Zstd(u8),
}

impl Default for Compression {
    fn default() -> Self {
        Self::Zstd(3)
    }
}

/// Options for writing Zarr.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Sizes of chunks along dimensions; along others, chunks have as many elements as fit into 4 MiB, the last dimension whole first.
    pub chunks: Vec<(String, u64)>,
    /// Sizes of shards along dimensions, multiples of those of chunks. Empty for chunks without shards; along other dimensions, shards are whole.
    pub shards: Vec<(String, u64)>,
    /// How chunks are compressed.
    pub compression: Compression,
    /// How the output is created.
    pub output: OutputOptions,
}

impl WriteOptions {
    /// Replaces [`chunks`](Self::chunks).
    #[must_use]
    pub fn with_chunks<N: Into<String>>(mut self, sizes: impl IntoIterator<Item = (N, u64)>) -> Self {
        self.chunks = sizes.into_iter().map(|(name, size)| (name.into(), size)).collect();
        self
    }

    /// Replaces [`shards`](Self::shards).
    #[must_use]
    pub fn with_shards<N: Into<String>>(mut self, sizes: impl IntoIterator<Item = (N, u64)>) -> Self {
        self.shards = sizes.into_iter().map(|(name, size)| (name.into(), size)).collect();
        self
    }

    /// Replaces [`compression`](Self::compression).
    #[must_use]
    pub const fn with_compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Replaces [`output`](Self::output).
    #[must_use]
    pub const fn with_output(mut self, output: OutputOptions) -> Self {
        self.output = output;
        self
    }
}

/// Converts ds to Zarr: a file, a dataset [that is not written](crate::Writer::into_reader), or a [view](crate::netcdf::ds_view) of another file.
/// What Zarr cannot hold is reported as losses.
///
/// Reads each variable twice: for its fill value, and for its values. Holds a chunk, or a shard, in memory.
///
/// # Errors
/// [`Usage`](container_core::ErrorKind::Usage) for names and sizes that Zarr does not allow, and when a masked variable has no value left for missing
/// elements; [`Limit`](container_core::ErrorKind::Limit) for chunks or shards larger than
/// [`memory_bytes`](container_core::Limits::memory_bytes); errors of reading with the variable as column, and of the output. A variable with a problem
/// is an error.
pub fn from_ds(reader: &Reader, path: impl AsRef<Path>, options: &WriteOptions) -> Result<Converted> {
    converted(reader, path.as_ref(), options).map_err(|error| error.in_format(FORMAT_NAME))
}

fn converted(reader: &Reader, path: &Path, options: &WriteOptions) -> Result<Converted> {
    reader.check_declared_bytes(reader.variables())?;
    let mut losses = Vec::new();
    let mut tree = Tree::default();
    let mut planned = Vec::new();
    check_dimensions(reader, options)?;
    for variable in reader.variables() {
        if let Some(problem) = variable.problem() {
            return Err(problem);
        }
        let named = |error: Error| error.in_column(variable.name().to_owned());
        tree.add(variable.name()).map_err(named)?;
        let plan = Planned::new(variable, options, &reader.options.limits, &mut losses).map_err(named)?;
        planned.push(plan);
    }
    let groups = tree.groups(reader.attributes(), &mut losses);
    let output = OutputFolder::create(path)?;
    let store = Arc::new(Folder::writable(output.path(), options.output.sync));
    let failed = |cause| Error::io("cannot write the output", cause).in_file(path.display().to_string());
    let mut consolidated = Map::new();
    for plan in &planned {
        let name = plan.source.name();
        plan.write(&store).map_err(|error| error.in_column(name.to_owned()))?;
        store.write(&format!("{name}/{METADATA}"), &text(&plan.metadata)).map_err(failed)?;
        consolidated.insert(name.to_owned(), plan.metadata.clone());
    }
    let mut root = Value::Null;
    for (name, attributes) in groups {
        let metadata = json!({"zarr_format": 3, "node_type": "group", "attributes": attributes});
        if name.is_empty() {
            root = metadata;
            continue;
        }
        store.write(&format!("{name}/{METADATA}"), &text(&metadata)).map_err(failed)?;
        consolidated.insert(name, metadata);
    }
    if let Some(root) = root.as_object_mut() {
        let all = json!({"kind": "inline", "must_understand": false, "metadata": consolidated});
        root.insert("consolidated_metadata".to_owned(), all);
    }
    store.write(METADATA, &text(&root)).map_err(failed)?;
    let bytes = stored_bytes(output.path(), u64::MAX);
    output.commit(options.output.overwrite, options.output.sync)?;
    Ok(Converted { written: Written { variables: planned.len(), bytes }, losses })
}

fn text(metadata: &Value) -> Vec<u8> {
    format!("{metadata:#}\n").into_bytes()
}

/// Checks that sizes are given for dimensions that there are.
fn check_dimensions(reader: &Reader, options: &WriteOptions) -> Result<()> {
    let dimensions = reader.dimensions();
    for (option, sizes) in [("chunks", &options.chunks), ("shards", &options.shards)] {
        for (name, size) in sizes {
            if !dimensions.iter().any(|dimension| dimension.name == *name) {
                let names: Vec<String> = dimensions.iter().map(|dimension| format!("{:?}", dimension.name)).collect();
                let detail = format!("no dimension {name:?}: the dimensions are {}", names.join(", "));
                return Err(Error::usage(detail).in_option(option));
            }
            if *size == 0 {
                return Err(Error::usage(format!("{name}: expected a size from 1, found 0")).in_option(option));
            }
        }
    }
    Ok(())
}

/// The groups and arrays of a store by path.
#[derive(Default)]
struct Tree {
    /// Whether the node is an array.
    nodes: BTreeMap<String, bool>,
}

impl Tree {
    /// Adds an array and the groups it is in.
    fn add(&mut self, path: &str) -> Result<()> {
        let mut end = 0;
        for part in path.split('/') {
            check_name(part)?;
            end += part.len();
            let (node, is_array) = (path.get(..end).unwrap_or(path), end == path.len());
            if let Some(known) = self.nodes.insert(node.to_owned(), is_array)
                && (known || is_array)
            {
                return Err(Error::usage(format!("{node:?} would be a group and an array, or two arrays")));
            }
            end += 1;
        }
        Ok(())
    }

    /// The attributes of all groups, the root first: `group/name` is an attribute of that group.
    fn groups(&self, attributes: Attributes<'_>, losses: &mut Vec<Loss>) -> Vec<(String, Map<String, Value>)> {
        let mut groups: Vec<(String, Map<String, Value>)> = vec![(String::new(), Map::new())];
        groups
            .extend(self.nodes.iter().filter(|(_, is_array)| !**is_array).map(|(path, _)| (path.clone(), Map::new())));
        let positions: HashMap<String, usize> =
            groups.iter().enumerate().map(|(position, (path, _))| (path.clone(), position)).collect();
        for (name, value) in attributes {
            let own = name.rsplit_once('/').and_then(|(group, leaf)| Some((*positions.get(group)?, leaf)));
            let (position, leaf) = own.unwrap_or((0, &name));
            report(value, &name, None, losses);
            if let Some((_, attributes)) = groups.get_mut(position) {
                attributes.insert(leaf.to_owned(), standard(value));
            }
        }
        groups
    }
}

/// Names of nodes by the rules of Zarr, and of file systems.
fn check_name(name: &str) -> Result<()> {
    let is_reserved = name.starts_with("__") || name == METADATA || name.bytes().all(|byte| byte == b'.');
    if is_reserved || name.is_empty() || name.len() > 255 || name.contains(['\0', '\\']) {
        return Err(Error::usage(format!("{name:?} is no name of a group or array of Zarr")));
    }
    Ok(())
}

/// Reports numbers that standard JSON does not have.
fn report(value: Json<'_>, name: &str, variable: Option<&str>, losses: &mut Vec<Loss>) {
    fn has_other(value: Json<'_>) -> bool {
        match value.kind() {
            JsonKind::Float => value.as_f64().is_none_or(|number| !number.is_finite()),
            JsonKind::Integer => value.as_i64().is_none() && value.as_u64().is_none(),
            JsonKind::Array => value.items().any(has_other),
            JsonKind::Object => value.members().any(|(_, value)| has_other(value)),
            JsonKind::String => value.as_str().is_none(),
            JsonKind::Null | JsonKind::Bool => false,
        }
    }
    if has_other(value) {
        let of = variable.map(|variable| format!(" of variable {variable:?}")).unwrap_or_default();
        losses.push(loss(format!("attribute {name:?}{of}: a number that JSON does not have written as text")));
    }
}

/// A value in standard JSON.
fn standard(value: Json<'_>) -> Value {
    serde_json::to_value(value).unwrap_or_default() // header values always serialize
}

/// A planned array.
struct Planned<'r> {
    source: Variable<'r>,
    /// Its type in the store.
    data_type: DataType,
    shape: Vec<u64>,
    /// Sizes of what is written at once: chunks, or shards.
    chunk: Vec<u64>,
    fill: Values<'static>,
    metadata: Value,
    /// The metadata for `zarrs`, with bounded codecs.
    checked: Value,
}

impl<'r> Planned<'r> {
    fn new(source: Variable<'r>, options: &WriteOptions, limits: &Limits, losses: &mut Vec<Loss>) -> Result<Self> {
        let name = source.name();
        let stored = source.data_type().unwrap_or(DataType::Float64);
        // Booleans have no value left for missing elements.
        let as_bytes = stored == DataType::Bool && has_missing(&source)?;
        let data_type = if as_bytes { DataType::Int8 } else { stored };
        if as_bytes {
            losses.push(loss(format!("booleans of {name:?} written as bytes, 0 and 1: some are missing")));
        }
        if source.shape().is_none() && !source.dimensions().is_empty() {
            losses.push(loss(format!("empty variable {name:?} written as a missing scalar")));
        }
        let shape = source.shape().unwrap_or_default().to_vec();
        let dimensions = if source.shape().is_some() { source.dimensions() } else { &[] };
        let fill = fill(&source, data_type, losses)?;
        let mut attributes = attributes(&source, losses);
        attributes.retain(|name, _| !fill.masking.contains(&name.as_str()));
        match &fill.attribute {
            Some((name, value)) => drop(attributes.insert((*name).to_owned(), value.clone())),
            None => drop(attributes.remove(FILL)),
        }
        let width = data_type.width().unwrap_or(if data_type == DataType::Bool { 1 } else { 16 }) as u64;
        let sizes = Sizes::new(dimensions, &shape, width, options)?;
        let whole = sizes.shard.as_ref().unwrap_or(&sizes.chunk);
        let bytes = product(whole).and_then(|count| count.checked_mul(width)).unwrap_or(u64::MAX);
        let what = if sizes.shard.is_some() { "bytes of a shard" } else { "bytes of a chunk" };
        limits.check_memory(what, bytes)?;
        let metadata = |method: &dyn Fn(Method, Value) -> Value| {
            let mut codecs = codecs(data_type, options.compression, method);
            if sizes.shard.is_some() {
                let index = json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]);
                let configuration = json!({
                    "chunk_shape": sizes.chunk, "codecs": codecs, "index_codecs": index, "index_location": "end",
                });
                codecs = json!([{"name": "sharding_indexed", "configuration": configuration}]);
            }
            json!({
                "zarr_format": 3,
                "node_type": "array",
                "shape": shape,
                "data_type": type_name(data_type),
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": whole}},
                "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
                "fill_value": fill.zarr,
                "codecs": codecs,
                "attributes": attributes,
                "dimension_names": dimension_names(name, dimensions),
                "storage_transformers": [],
            })
        };
        let declared =
            metadata(&|method, configuration| json!({"name": method.name(), "configuration": configuration}));
        let mut checked = metadata(&|method, configuration| method.bounded(Some(&configuration), u64::MAX));
        if let Some(object) = checked.as_object_mut() {
            object.remove("attributes");
        }
        Ok(Self {
            source,
            data_type,
            chunk: whole.clone(),
            shape: shape.clone(),
            fill: fill.value,
            metadata: declared,
            checked,
        })
    }

    /// Writes the chunks.
    fn write(&self, store: &Arc<Folder>) -> Result<()> {
        let storage: Arc<dyn WritableStorageTraits> = store.clone();
        let path = format!("/{}", self.source.name());
        let array = catch_panics("Zarr", &path, || {
            let declared = serde_json::from_value(self.checked.clone()).map_err(|error| failed(&error))?;
            Array::new_with_metadata(storage, &path, declared).map_err(|error| failed(&error))
        })?;
        let zero = vec![0; self.shape.len()];
        let all = Block { start: zero.clone(), sizes: self.shape.clone() };
        for index in all.chunks(&self.chunk) {
            let part = all.within(&index, &self.chunk);
            let values = self.values(&part)?;
            let values = self.padded(values, &part, &zero);
            let bytes = array_bytes(&values)?;
            // Chunks of the fill value are not written.
            let options = CodecOptions::default();
            catch_panics("Zarr", &path, || {
                array.store_chunk_opt(&index, bytes, &options).map_err(|error| failed(&error))
            })?;
        }
        Ok(())
    }

    /// The values of a box, missing ones replaced by the fill value.
    fn values(&self, part: &Block) -> Result<Values<'static>> {
        if self.source.shape().is_none() {
            return Ok(self.fill.clone());
        }
        let array = match part.sizes.iter().zip(&self.shape).skip(1).all(|(part, all)| part == all) {
            true => {
                let start = part.start.first().copied().unwrap_or(0);
                self.source.read_rows(start..start + part.sizes.first().copied().unwrap_or(1))?
            }
            false => {
                let mut selection = Selection::new();
                for ((name, start), size) in self.source.dimensions().iter().zip(&part.start).zip(&part.sizes) {
                    let index = |index: u64| {
                        i64::try_from(index).map_err(|_| Error::usage(format!("index {index} exceeds 2^63")))
                    };
                    selection = selection.with(name, Select::range(index(*start)?, index(start + size)?));
                }
                self.source.select(&selection)?
            }
        };
        let (_, values, mask) = array.into_parts();
        let Some(mask) = mask else { return Ok(self.as_stored(values.into_owned())) };
        let mut values = self.as_stored(values.into_owned());
        if let Values::Str(strings) | Values::Unicode(strings) = &values {
            let fill = self.fill.as_strings().and_then(|fill| fill.get(0)).unwrap_or_default();
            let mut out = Strings::default();
            for (text, missing) in strings.iter().zip(mask.iter()) {
                out.push(if missing { fill } else { text });
            }
            return Ok(if self.data_type == DataType::Str { Values::Str(out) } else { Values::Unicode(out) });
        }
        for (element, _) in mask.iter().enumerate().filter(|(_, missing)| *missing) {
            copy(&self.fill, 0, &mut values, element, 1);
        }
        Ok(values)
    }

    /// Booleans as bytes, where some are missing.
    fn as_stored(&self, values: Values<'static>) -> Values<'static> {
        match values {
            Values::Bool(all) if self.data_type == DataType::Int8 => {
                all.iter().map(|value| i8::from(*value)).collect::<Vec<_>>().into()
            }
            values => values,
        }
    }

    /// The values of a box as those of a whole chunk: the rest are fill values.
    fn padded(&self, values: Values<'static>, part: &Block, zero: &[u64]) -> Values<'static> {
        if part.sizes == self.chunk {
            return values;
        }
        // The size was checked.
        let len = product(&self.chunk).and_then(|len| usize::try_from(len).ok()).unwrap_or(0);
        if let Some(strings) = values.as_strings() {
            let mut elements = vec![None; len];
            part.for_each_run((&part.sizes, zero), (&self.chunk, zero), |from, to, length| {
                for (offset, element) in elements.iter_mut().skip(to).take(length).enumerate() {
                    *element = Some(from + offset);
                }
            });
            let fill = self.fill.as_strings().and_then(|fill| fill.get(0)).unwrap_or_default();
            let mut out = Strings::default();
            for element in elements {
                out.push(element.and_then(|element| strings.get(element)).unwrap_or(fill));
            }
            return if self.data_type == DataType::Str { Values::Str(out) } else { Values::Unicode(out) };
        }
        let mut out = repeated(&self.fill, len);
        part.for_each_run((&part.sizes, zero), (&self.chunk, zero), |from, to, length| {
            copy(&values, from, &mut out, to, length);
        });
        out
    }
}

fn failed(error: &dyn std::error::Error) -> Error {
    Error::new(container_core::ErrorKind::Io, error.to_string())
}

/// Numbers or booleans that are all the same.
fn repeated(value: &Values<'static>, len: usize) -> Values<'static> {
    let mut out = zeros(value.data_type(), len);
    for element in 0..len {
        copy(value, 0, &mut out, element, 1);
    }
    out
}

/// Bytes in native order, as `zarrs` expects them.
fn array_bytes(values: &Values<'static>) -> Result<ArrayBytes<'static>> {
    let strings = |all: &Strings<'_>| {
        let mut offsets = vec![0];
        let mut end = 0usize;
        for text in all.iter() {
            end += text.len();
            offsets.push(end);
        }
        let offsets = ArrayBytesOffsets::new(offsets).map_err(|error| failed(&error))?;
        ArrayBytes::new_vlen(all.as_bytes().to_vec(), offsets).map_err(|error| failed(&error))
    };
    each_kind!(
        values,
        numbers => Ok(ArrayBytes::new_flen(bytemuck::cast_slice::<_, u8>(numbers).to_vec())),
        bools => Ok(ArrayBytes::new_flen(bools.iter().map(|value| u8::from(*value)).collect::<Vec<u8>>())),
        texts => strings(texts)
    )
}

/// Attributes of a variable as standard JSON.
fn attributes(source: &Variable<'_>, losses: &mut Vec<Loss>) -> Map<String, Value> {
    let mut all = Map::new();
    // How characters of NetCDF are encoded: strings are decoded, and xarray fails to decode them again.
    let is_decoded = source.data_type() == Some(DataType::Unicode);
    for (name, value) in source.attributes().filter(|(name, _)| !is_decoded || name != "_Encoding") {
        if name != FILL {
            report(value, &name, Some(source.name()), losses);
        }
        all.insert(name, standard(value));
    }
    if source.is_time() {
        for (name, text) in JULIAN {
            all.entry(name).or_insert_with(|| text.into());
        }
    }
    all
}

fn type_name(data_type: DataType) -> &'static str {
    match data_type {
        DataType::Str => "variable_length_bytes",
        DataType::Unicode => "string",
        other => other.name(),
    }
}

/// The codecs of a chunk.
fn codecs(data_type: DataType, compression: Compression, method: &dyn Fn(Method, Value) -> Value) -> Value {
    let mut codecs = vec![match data_type {
        DataType::Unicode => codec("vlen-utf8"),
        DataType::Str => codec("vlen-bytes"),
        DataType::Bool | DataType::Int8 | DataType::Uint8 => codec("bytes"),
        _ => json!({"name": "bytes", "configuration": {"endian": "little"}}),
    }];
    match compression {
        Compression::None => {}
        Compression::Gzip(level) => codecs.push(method(Method::Gzip, json!({ "level": level }))),
        Compression::Zstd(level) => codecs.push(method(Method::Zstd, json!({"level": level, "checksum": false}))),
    }
    codecs.into()
}

/// Names of dimensions within the group of an array.
fn dimension_names(variable: &str, dimensions: &[String]) -> Vec<String> {
    let leaf = |name: &String| {
        let own = name.rsplit_once('/').filter(|(group, _)| variable.starts_with(&format!("{group}/")));
        own.map_or_else(|| name.clone(), |(_, leaf)| leaf.to_owned())
    };
    dimensions.iter().map(leaf).collect()
}

/// Sizes of chunks and shards.
struct Sizes {
    chunk: Vec<u64>,
    shard: Option<Vec<u64>>,
}

impl Sizes {
    fn new(dimensions: &[String], shape: &[u64], width: u64, options: &WriteOptions) -> Result<Self> {
        let given =
            |sizes: &[(String, u64)], name: &String| sizes.iter().find(|(of, _)| of == name).map(|(_, size)| *size);
        // A part of a variable is selected by names.
        let is_twice = |name: &String| dimensions.iter().filter(|other| *other == name).count() > 1;
        let by_rows = dimensions.iter().any(is_twice);
        let mut chunk: Vec<u64> = shape.iter().map(|size| (*size).max(1)).collect();
        let mut free = Vec::new();
        for (position, name) in dimensions.iter().enumerate() {
            match given(&options.chunks, name).filter(|_| !by_rows) {
                Some(size) => {
                    if let Some(own) = chunk.get_mut(position) {
                        *own = size;
                    }
                }
                None if by_rows && position > 0 => {}
                None => free.push(position),
            }
        }
        for position in free {
            let bytes = product(&chunk).and_then(|count| count.checked_mul(width)).unwrap_or(u64::MAX);
            if let Some(own) = chunk.get_mut(position)
                && bytes > CHUNK_BYTES
            {
                let row = (bytes / *own).max(1);
                *own = (CHUNK_BYTES / row).clamp(1, *own);
            }
        }
        if options.shards.is_empty() || shape.is_empty() {
            return Ok(Self { chunk, shard: None });
        }
        let mut shard = Vec::new();
        for ((name, size), own) in dimensions.iter().zip(shape).zip(&chunk) {
            match given(&options.shards, name).filter(|_| !by_rows) {
                Some(asked) if asked.is_multiple_of(*own) => shard.push(asked),
                Some(asked) => {
                    let detail = format!("{name}: expected a multiple of the chunk size {own}, found {asked}");
                    return Err(Error::usage(detail).in_option("shards"));
                }
                None if by_rows => shard.push(*own),
                None => shard.push((*size).max(1).next_multiple_of(*own)),
            }
        }
        Ok(Self { chunk, shard: Some(shard) })
    }
}
