//! Bloom filters: the native base of `wharf_data.simplebloom.BloomFilter`.

mod fixed;

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use ::simplebloom::Shape;
use ::simplebloom::digest::Digest;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use container_core::arrow::from_arrow;
use container_core::{Error, ErrorKind, Limits};
use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::sync::RwLockExt;
use pyo3::types::{PyAny, PyByteArray, PyBytes, PyDict, PyString, PyTuple};
use pyo3_arrow::input::AnyArray;

use crate::error::{Failure, Result};
use crate::process;
use fixed::FixedKeys;

/// Keys hashed at once. A large filter is accessed part by part, the more keys the better; between blocks signals are handled.
const BLOCK_KEYS: usize = 1 << 20;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    process::remember();
    module.add_class::<BloomFilterBase>()
}

type Filter = ::simplebloom::BloomFilter<Vec<u8>>;

/// A Bloom filter. `wharf_data.simplebloom.BloomFilter` adds files and the dispatch on types of keys.
#[pyclass(module = "wharf_data._native", frozen, subclass)]
pub(crate) struct BloomFilterBase {
    /// `None` until `_allocate` or `_load`, so that subclasses may have constructors with other arguments.
    filter: RwLock<Option<Filter>>,
}

/// A key as a Python object. It can be read while detached.
enum Key {
    Str(PyBackedStr),
    Bytes(PyBackedBytes),
}

impl AsRef<[u8]> for Key {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Str(key) => key.as_ref(),
            Self::Bytes(key) => key.as_ref(),
        }
    }
}

impl Key {
    fn new(object: Bound<'_, PyAny>) -> PyResult<Self> {
        let object = match object.cast_into::<PyString>() {
            Ok(key) => return key.try_into().map(Self::Str),
            Err(error) => error.into_inner(),
        };
        match object.cast_into::<PyBytes>() {
            Ok(key) => Ok(Self::Bytes(key.into())),
            Err(error) => Err(not_a_key(&error.into_inner())),
        }
    }
}

fn not_a_key(object: &Bound<'_, PyAny>) -> PyErr {
    let kind = object.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("a key must be str or bytes, found {kind}"))
}

/// Calls a function with the UTF-8 or the bytes of a key.
fn with_key<T>(object: &Bound<'_, PyAny>, call: impl FnOnce(&[u8]) -> T) -> PyResult<T> {
    if let Ok(key) = object.cast::<PyString>() {
        return Ok(call(key.to_str()?.as_bytes()));
    }
    match object.cast::<PyBytes>() {
        Ok(key) => Ok(call(key.as_bytes())),
        Err(_) => Err(not_a_key(object)),
    }
}

fn insert<K: AsRef<[u8]> + Sync>(filter: &mut Filter, keys: &[K]) {
    match process::threads(0) {
        1 => filter.insert_many(keys),
        threads => filter.par_insert_many(keys, threads),
    }
}

/// Appends for each key whether the filter contains it, as 0 or 1.
fn look_up<K: AsRef<[u8]> + Sync>(filter: &Filter, keys: &[K], found: &mut Vec<u8>) -> container_core::Result<()> {
    let mut results = vec![false; keys.len()];
    match process::threads(0) {
        1 => filter.contains_many(keys, &mut results)?,
        threads => filter.par_contains_many(keys, &mut results, threads)?,
    }
    found.extend(results.into_iter().map(u8::from));
    Ok(())
}

fn insert_digests(filter: &mut Filter, digests: &[Digest]) {
    match process::threads(0) {
        1 => filter.insert_digests(digests),
        threads => filter.par_insert_digests(digests, threads),
    }
}

/// As [`look_up`], for keys already hashed.
fn look_up_digests(filter: &Filter, digests: &[Digest], found: &mut Vec<u8>) -> container_core::Result<()> {
    let mut results = vec![false; digests.len()];
    match process::threads(0) {
        1 => filter.contains_digests(digests, &mut results)?,
        threads => filter.par_contains_digests(digests, &mut results, threads)?,
    }
    found.extend(results.into_iter().map(u8::from));
    Ok(())
}

fn not_initialized() -> PyErr {
    PyValueError::new_err("the filter is not initialized: a subclass must call super().__init__()")
}

impl BloomFilterBase {
    fn read(&self, py: Python<'_>) -> RwLockReadGuard<'_, Option<Filter>> {
        self.filter.read_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, py: Python<'_>) -> RwLockWriteGuard<'_, Option<Filter>> {
        self.filter.write_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls a function with the filter.
    fn with<T>(&self, py: Python<'_>, call: impl FnOnce(&Filter) -> T) -> PyResult<T> {
        self.read(py).as_ref().map(call).ok_or_else(not_initialized)
    }

    fn with_mut<T>(&self, py: Python<'_>, call: impl FnOnce(&mut Filter) -> T) -> PyResult<T> {
        self.write(py).as_mut().map(call).ok_or_else(not_initialized)
    }

    fn insert_block<K: AsRef<[u8]> + Sync>(&self, py: Python<'_>, keys: &[K]) -> PyResult<()> {
        self.with_mut(py, |filter| py.detach(|| insert(filter, keys)))?;
        py.check_signals()
    }

    fn look_up_block<K: AsRef<[u8]> + Sync>(&self, py: Python<'_>, keys: &[K], found: &mut Vec<u8>) -> Result<()> {
        self.with(py, |filter| py.detach(|| look_up(filter, keys, found)))??;
        Ok(py.check_signals()?)
    }
}

#[pymethods]
impl BloomFilterBase {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        Self { filter: RwLock::new(None) }
    }

    /// Makes it an empty filter.
    fn _allocate(&self, py: Python<'_>, num_elements: u64, false_positive_prob: f64) -> Result<()> {
        let filter = py.detach(|| -> container_core::Result<Filter> {
            let shape = Shape::new(num_elements, false_positive_prob)?;
            // The caller has asked for this size.
            Filter::with_limits(shape, &Limits::default().with_block_bytes(u64::MAX))
        });
        let filter = filter.map_err(|error| match error.kind() {
            ErrorKind::Io | ErrorKind::Limit { .. } => PyMemoryError::new_err(error.to_string()).into(),
            _ => Failure::from(error),
        })?;
        *self.write(py) = Some(filter);
        Ok(())
    }

    /// Makes it the filter of a file's content.
    fn _load(&self, py: Python<'_>, data: &[u8]) -> Result<()> {
        let filter = py.detach(|| Filter::from_bytes(data.to_vec()))?;
        *self.write(py) = Some(filter);
        Ok(())
    }

    /// Returns the content of the filter's file: a copy.
    fn dumps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyByteArray>> {
        self.with(py, |filter| PyByteArray::new(py, filter.as_bytes()))
    }

    /// The number of keys that the filter is sized for.
    #[getter]
    fn num_elements(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |filter| filter.shape().elements())
    }

    /// The false positive probability at that number of keys.
    #[getter]
    fn false_positive_prob(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, |filter| filter.shape().probability())
    }

    /// The bytes of the bits.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |filter| usize::try_from(filter.shape().bits() / 8).unwrap_or(usize::MAX))
    }

    fn __bool__(&self) -> bool {
        true
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        with_key(key, |key| self.with(py, |filter| filter.contains_bytes(key)))?
    }

    fn __iadd__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        with_key(key, |key| self.with_mut(py, |filter| filter.insert_bytes(key)))?
    }

    /// Inserts the keys of an iterable.
    fn _insert_objects(&self, py: Python<'_>, keys: &Bound<'_, PyAny>) -> PyResult<()> {
        blocks(keys, |keys| self.insert_block(py, keys))
    }

    /// Looks up the keys of an iterable.
    fn _contains_objects<'py>(&self, py: Python<'py>, keys: &Bound<'py, PyAny>) -> Result<Bound<'py, PyByteArray>> {
        let mut found = Vec::new();
        blocks(keys, |keys| Ok(self.look_up_block(py, keys, &mut found)?))?;
        Ok(PyByteArray::new(py, &found))
    }

    /// Inserts keys of `width` bytes each, padded with zeros: UTF-32 in native byte order if `wide`. Takes an iterator over contiguous arrays.
    fn _insert_fixed(&self, py: Python<'_>, data: &Bound<'_, PyAny>, width: usize, wide: bool) -> Result<()> {
        fixed(py, data, width, wide, |digests| {
            self.with_mut(py, |filter| py.detach(|| insert_digests(filter, digests)))?;
            Ok(py.check_signals()?)
        })
    }

    /// Looks up keys of `width` bytes each, as `_insert_fixed`.
    fn _contains_fixed<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        width: usize,
        wide: bool,
    ) -> Result<Bound<'py, PyByteArray>> {
        let mut found = Vec::new();
        fixed(py, data, width, wide, |digests| {
            self.with(py, |filter| py.detach(|| look_up_digests(filter, digests, &mut found)))??;
            Ok(py.check_signals()?)
        })?;
        Ok(PyByteArray::new(py, &found))
    }

    /// Inserts the keys of an object with `__arrow_c_array__` or `__arrow_c_stream__`.
    fn _insert_arrow(&self, py: Python<'_>, keys: AnyArray) -> Result<()> {
        arrays(py, keys, |keys| Ok(self.insert_block(py, keys)?))
    }

    /// Looks up the keys of an object with `__arrow_c_array__` or `__arrow_c_stream__`.
    fn _contains_arrow<'py>(&self, py: Python<'py>, keys: AnyArray) -> Result<Bound<'py, PyByteArray>> {
        let mut found = Vec::new();
        arrays(py, keys, |keys| self.look_up_block(py, keys, &mut found))?;
        Ok(PyByteArray::new(py, &found))
    }
}

/// Calls a function with blocks of the keys of an iterable.
fn blocks(keys: &Bound<'_, PyAny>, mut each: impl FnMut(&[Key]) -> PyResult<()>) -> PyResult<()> {
    let mut block = Vec::with_capacity(keys.len().unwrap_or(0).min(BLOCK_KEYS));
    for key in keys.try_iter()? {
        block.push(Key::new(key?)?);
        if block.len() == BLOCK_KEYS {
            each(&block)?;
            block.clear();
        }
    }
    if block.is_empty() { Ok(()) } else { each(&block) }
}

/// Calls a function with the digests of blocks of keys of a fixed width: an iterator over contiguous arrays.
fn fixed(
    py: Python<'_>,
    arrays: &Bound<'_, PyAny>,
    width: usize,
    wide: bool,
    mut each: impl FnMut(&[Digest]) -> Result<()>,
) -> Result<()> {
    let (mut digests, mut done) = (Vec::new(), 0);
    for array in arrays.try_iter()? {
        let keys = FixedKeys::new(&array?, width, wide)?;
        for first in (0..keys.len()).step_by(BLOCK_KEYS) {
            digests.resize(BLOCK_KEYS.min(keys.len() - first), [0; 2]);
            py.detach(|| keys.digest(first, &mut digests)).map_err(|(row, code)| {
                Error::usage(format!("a key contains {code:#x}, which is not a character")).in_row(done + row as u64)
            })?;
            each(&digests)?;
        }
        done += keys.len() as u64;
    }
    Ok(())
}

/// Calls a function with blocks of the keys of Arrow arrays.
fn arrays(py: Python<'_>, keys: AnyArray, mut each: impl FnMut(&[&[u8]]) -> Result<()>) -> Result<()> {
    let mut reader = keys.into_reader()?;
    let mut row = 0;
    while let Some(array) = py.detach(|| reader.next()) {
        let array = array.map_err(from_arrow)?;
        if let Some(null) = array.logical_nulls().and_then(|nulls| (0..array.len()).find(|at| nulls.is_null(*at))) {
            return Err(Error::usage("a key is null").in_row(row + null as u64).into());
        }
        row += array.len() as u64;
        for start in (0..array.len()).step_by(BLOCK_KEYS) {
            let block = array.slice(start, BLOCK_KEYS.min(array.len() - start));
            let keys = py.detach(|| values(&block))?;
            each(&keys)?;
        }
    }
    Ok(())
}

/// The values of an array of strings or bytes.
fn values(array: &ArrayRef) -> container_core::Result<Vec<&[u8]>> {
    fn collect<'a, V: AsRef<[u8]> + ?Sized + 'a>(values: impl Iterator<Item = Option<&'a V>>) -> Vec<&'a [u8]> {
        values.map(|value| value.map(AsRef::as_ref).unwrap_or_default()).collect()
    }
    Ok(match array.data_type() {
        DataType::Utf8 => collect(array.as_string::<i32>().iter()),
        DataType::LargeUtf8 => collect(array.as_string::<i64>().iter()),
        DataType::Utf8View => collect(array.as_string_view().iter()),
        DataType::Binary => collect(array.as_binary::<i32>().iter()),
        DataType::LargeBinary => collect(array.as_binary::<i64>().iter()),
        DataType::BinaryView => collect(array.as_binary_view().iter()),
        DataType::FixedSizeBinary(_) => collect(array.as_fixed_size_binary().iter()),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let values = values(dictionary.values())?;
            let keys = dictionary.normalized_keys();
            keys.into_iter().map(|key| values.get(key).copied().unwrap_or_default()).collect()
        }
        other => return Err(Error::usage(format!("keys must be strings or bytes, found an Arrow array of {other}"))),
    })
}
