//! Reads ranges of elements: decodes the chunks they are in, and keeps the latest.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use container_core::{Error, Limits, Result};
use serde_json::{Map, Value};
use zarrs::array::{Array, ArrayBytes, ArraySubset, CodecOptions};
use zarrs::storage::ReadableStorageTraits;

use super::FORMAT_NAME;
use super::describe::stored_bytes;
use super::grid::Block;
use super::metadata::ArrayMetadata;
use crate::array::{Strings, Values};
use crate::netcdf::{Location, Store, Variable, catch_panics, with_number};
use crate::types::DataType;

/// Bytes of decoded chunks that are kept.
const CACHE_BYTES: u64 = 128 << 20;

/// Maximum number of decoded chunks that are kept.
const CACHE_CHUNKS: usize = 4096;

/// Chunks of plain bytes that are larger are read in parts.
const WHOLE_BYTES: u64 = 4 << 20;

type Storage = dyn ReadableStorageTraits;

/// The arrays of a store.
pub(super) struct Arrays {
    pub(super) all: Vec<ZarrArray>,
    /// The folder of the store.
    root: PathBuf,
    /// Of the Zarr specification.
    pub(super) version: u32,
    limits: Limits,
    cache: Mutex<Cache>,
}

/// An array of a store.
pub(super) struct ZarrArray {
    pub(super) metadata: ArrayMetadata,
    /// Its path in the store, for messages.
    path: String,
    array: Array<Storage>,
}

impl ZarrArray {
    pub(super) fn new(storage: Arc<Storage>, path: &str, metadata: ArrayMetadata) -> Result<Self> {
        let array = catch_panics("Zarr", path, || {
            let declared = serde_json::from_value(metadata.checked.clone()).map_err(|error| invalid(&error))?;
            let path = format!("/{}", path.trim_matches('/'));
            Array::new_with_metadata(storage, &path, declared).map_err(|error| invalid(&error))
        })?;
        Ok(Self { metadata, path: path.to_owned(), array })
    }

    /// Sizes of what is decoded at once.
    pub(super) fn unit(&self) -> &[u64] {
        self.metadata.subchunk.as_deref().unwrap_or(&self.metadata.chunk)
    }

    /// Bytes of a unit in memory.
    fn unit_bytes(&self) -> u64 {
        let count = crate::netcdf::product(self.unit()).unwrap_or(u64::MAX);
        count.saturating_mul(self.metadata.stored.width() as u64)
    }

    /// Whether parts of chunks are read.
    fn is_partial(&self) -> bool {
        self.metadata.is_plain && self.unit_bytes() > WHOLE_BYTES
    }

    /// Decodes the unit of this index.
    fn decode(&self, index: &[u64]) -> Result<Values<'static>> {
        let Some(subchunk) = &self.metadata.subchunk else { return self.decoded(index, None) };
        let start: Vec<u64> = index.iter().zip(subchunk).map(|(index, size)| index.saturating_mul(*size)).collect();
        let chunk: Vec<u64> = start.iter().zip(&self.metadata.chunk).map(|(start, size)| start / size).collect();
        let inside = start.iter().zip(&self.metadata.chunk).map(|(start, size)| start % size).collect();
        self.decoded(&chunk, Some(&Block { start: inside, sizes: subchunk.clone() }))
    }

    /// Decodes a chunk, or a part of it.
    fn decoded(&self, chunk: &[u64], part: Option<&Block>) -> Result<Values<'static>> {
        let name = || format!("chunk {chunk:?} of {}", self.path);
        let count = crate::netcdf::product(part.map_or(&self.metadata.chunk, |part| &part.sizes)).unwrap_or(u64::MAX);
        catch_panics("Zarr", &name(), || {
            // One chunk after the other: callers work in parallel.
            let options = CodecOptions::default().with_concurrent_target(1);
            let bytes: ArrayBytes<'_> = match part {
                None => self.array.retrieve_chunk_opt(chunk, &options),
                Some(part) => {
                    let ranges =
                        part.start.iter().zip(&part.sizes).map(|(start, size)| *start..start.saturating_add(*size));
                    let subset = ArraySubset::new_with_ranges(&ranges.collect::<Vec<_>>());
                    self.array.retrieve_chunk_subset_opt(chunk, &subset, &options)
                }
            }
            .map_err(|error| Error::invalid(format!("{}: {error}", name())))?;
            let values = match &bytes {
                ArrayBytes::Fixed(bytes) => self.metadata.stored.values(bytes, None),
                ArrayBytes::Variable(all) => self.metadata.stored.values(all.bytes(), Some(all.offsets())),
                ArrayBytes::Optional(_) => Err(Error::unsupported("optional elements")),
            }?;
            match values.len() as u64 == count {
                true => Ok(values),
                false => Err(Error::invalid(format!("{}: expected {count} elements, found {}", name(), values.len()))),
            }
        })
    }
}

fn invalid(error: &dyn std::error::Error) -> Error {
    Error::invalid(error.to_string())
}

impl Arrays {
    pub(super) fn new(root: &Path, limits: Limits) -> Self {
        Self { all: Vec::new(), root: root.to_owned(), version: 3, limits, cache: Mutex::default() }
    }

    /// The numbers or booleans of a box.
    fn numbers(&self, index: usize, array: &ZarrArray, data_type: DataType, block: &Block) -> Result<Values<'static>> {
        let len = usize::try_from(block.len()).unwrap_or(usize::MAX);
        let mut out = zeros(data_type, len);
        let zero = vec![0; block.start.len()];
        for unit in block.chunks(array.unit()) {
            let part = block.within(&unit, array.unit());
            let origin: Vec<u64> =
                unit.iter().zip(array.unit()).map(|(index, size)| index.saturating_mul(*size)).collect();
            let inside = part.relative_to(&origin);
            let to = part.relative_to(&block.start);
            if array.is_partial() {
                let values = array.decoded(&unit, Some(&inside))?;
                part.for_each_run((&part.sizes, &zero), (&block.sizes, &to.start), |from, to, length| {
                    copy(&values, from, &mut out, to, length);
                });
            } else {
                let values = self.unit(index, array, &unit)?;
                part.for_each_run((array.unit(), &inside.start), (&block.sizes, &to.start), |from, to, length| {
                    copy(&values, from, &mut out, to, length);
                });
            }
        }
        Ok(out)
    }

    /// The texts of a box.
    fn texts(&self, index: usize, array: &ZarrArray, data_type: DataType, block: &Block) -> Result<Values<'static>> {
        let len = usize::try_from(block.len()).unwrap_or(usize::MAX);
        let mut places = vec![(0usize, 0usize); len];
        let mut units = Vec::new();
        let mut bytes = 0u64;
        for unit in block.chunks(array.unit()) {
            let part = block.within(&unit, array.unit());
            let origin: Vec<u64> =
                unit.iter().zip(array.unit()).map(|(index, size)| index.saturating_mul(*size)).collect();
            let (inside, to) = (part.relative_to(&origin), part.relative_to(&block.start));
            let number = units.len();
            part.for_each_run((array.unit(), &inside.start), (&block.sizes, &to.start), |from, to, length| {
                for (offset, place) in places.iter_mut().skip(to).take(length).enumerate() {
                    *place = (number, from + offset);
                }
            });
            let values = self.unit(index, array, &unit)?;
            bytes = bytes.saturating_add(values.as_strings().map_or(0, |strings| strings.as_bytes().len() as u64));
            self.limits.check_block("bytes of the texts", bytes)?;
            units.push(values);
        }
        let mut out = Strings::default();
        for (unit, element) in places {
            let text = units.get(unit).and_then(|values| values.as_strings()).and_then(|strings| strings.get(element));
            out.push(text.unwrap_or_default());
        }
        Ok(if data_type == DataType::Unicode { Values::Unicode(out) } else { Values::Str(out) })
    }

    /// A decoded unit, of the cache if it is in there.
    fn unit(&self, index: usize, array: &ZarrArray, unit: &[u64]) -> Result<Arc<Values<'static>>> {
        let key = (index, unit.to_vec());
        let lock = || self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&key) {
            return Ok(known);
        }
        let values = Arc::new(array.decode(unit)?);
        let bytes = array.unit_bytes().max(values.as_strings().map_or(0, |strings| strings.as_bytes().len() as u64));
        lock().put(key, &values, bytes);
        Ok(values)
    }
}

impl Store for Arrays {
    fn version(&self) -> u32 {
        self.version
    }

    fn stored_bytes(&self, enough: u64) -> u64 {
        stored_bytes(&self.root, enough)
    }

    fn read(&self, index: usize, elements: Range<u64>) -> Result<Values<'static>> {
        let unknown = || Error::usage(format!("unknown array {index}")).in_format(FORMAT_NAME);
        let array = self.all.get(index).ok_or_else(unknown)?;
        let data_type = array.metadata.stored.nc_type().data_type().ok_or_else(unknown)?;
        let mut all: Option<Values<'static>> = None;
        for block in Block::of_range(&array.metadata.shape, elements) {
            let values = if data_type.is_text() {
                self.texts(index, array, data_type, &block)?
            } else {
                self.numbers(index, array, data_type, &block)?
            };
            match &mut all {
                None => all = Some(values),
                Some(all) => all.extend(&values, 0..values.len()),
            }
        }
        Ok(all.unwrap_or_else(|| Values::with_capacity(data_type, 0)))
    }

    fn summary(&self, variable: &Variable) -> Map<String, Value> {
        let Location::Zarr(index) = variable.location else { return Map::new() };
        let Some(array) = self.all.get(index) else { return Map::new() };
        let metadata = &array.metadata;
        let mut details = Map::new();
        details.insert("zarr_type".to_owned(), metadata.data_type.as_str().into());
        details.insert("codecs".to_owned(), metadata.codecs.as_slice().into());
        details.insert("fill_value".to_owned(), metadata.fill_value.clone());
        if metadata.subchunk.is_some() {
            details.insert("shards".to_owned(), metadata.chunk.as_slice().into());
        }
        details
    }
}

/// An array and the index of a unit.
type Key = (usize, Vec<u64>);

/// A decoded unit.
struct Cached {
    /// The time of its last use.
    used: u64,
    bytes: u64,
    values: Arc<Values<'static>>,
}

/// Decoded units.
#[derive(Default)]
struct Cache {
    units: HashMap<Key, Cached>,
    bytes: u64,
    time: u64,
}

impl Cache {
    fn get(&mut self, key: &Key) -> Option<Arc<Values<'static>>> {
        self.time += 1;
        let cached = self.units.get_mut(key)?;
        cached.used = self.time;
        Some(Arc::clone(&cached.values))
    }

    fn put(&mut self, key: Key, values: &Arc<Values<'static>>, bytes: u64) {
        while !self.units.is_empty()
            && (self.bytes.saturating_add(bytes) > CACHE_BYTES || self.units.len() >= CACHE_CHUNKS)
        {
            let oldest = self.units.iter().min_by_key(|(_, cached)| cached.used).map(|(key, _)| key.clone());
            let removed = oldest.and_then(|key| self.units.remove(&key));
            self.bytes = self.bytes.saturating_sub(removed.map_or(0, |cached| cached.bytes));
        }
        let cached = Cached { used: self.time, bytes, values: Arc::clone(values) };
        if let Some(replaced) = self.units.insert(key, cached) {
            self.bytes = self.bytes.saturating_sub(replaced.bytes);
        }
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// Values of 0.
pub(super) fn zeros(data_type: DataType, len: usize) -> Values<'static> {
    with_number!(data_type, T => vec![T::default(); len].into(), Values::Bool(vec![false; len].into()))
}

/// Copies elements between values of the same type. Ranges that do not fit are left out; the caller has checked the lengths.
pub(super) fn copy(from: &Values<'_>, start: usize, to: &mut Values<'static>, at: usize, length: usize) {
    macro_rules! each {
        ($($kind:ident)*) => {
            match (from, to) {
                $((Values::$kind(from), Values::$kind(to)) => {
                    let from = from.get(start..start.saturating_add(length));
                    if let (Some(from), Some(to)) = (from, to.to_mut().get_mut(at..at.saturating_add(length))) {
                        to.copy_from_slice(from);
                    }
                })*
                _ => {}
            }
        };
    }
    each!(Float32 Float64 Int8 Int16 Int32 Int64 Uint8 Uint16 Uint32 Uint64 Bool);
}
