//! Python objects as msgpack: the bytes that `msgpack` and `msgpack_numpy` would write.

use container_core::{Error, Limits};
use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyAny, PyBool, PyByteArray, PyBytes, PyComplex, PyDict, PyFloat, PyInt, PyList, PyMemoryView, PyString, PyTuple,
};
use rmp::encode as put;

use crate::error::Result;

/// Encodes one value as a msgpack message.
///
/// Raises:
///     TypeError: a value is of a type that msgpack and numpy do not have.
///     OverflowError: an int does not fit into 64 bits.
///     UnsupportedError: an array of Python objects, which would need a pickle.
#[pyfunction]
pub(crate) fn packb<'py>(py: Python<'py>, value: &Bound<'py, PyAny>) -> Result<Bound<'py, PyBytes>> {
    let mut out = Vec::new();
    encode(&mut out, value)?;
    Ok(PyBytes::new(py, &out))
}

/// Appends the message of a value.
pub(crate) fn encode(out: &mut Vec<u8>, value: &Bound<'_, PyAny>) -> Result<()> {
    value_at(out, value, Limits::default().depth)
}

/// A length as msgpack stores it.
fn len(len: usize) -> PyResult<u32> {
    u32::try_from(len).map_err(|_| PyValueError::new_err(format!("{len} bytes or members exceed 2^32 - 1")))
}

/// Writing to memory does not fail.
fn written<T>(result: std::result::Result<T, impl std::fmt::Display>) -> PyResult<()> {
    result.map(drop).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

fn text(out: &mut Vec<u8>, text: &str) -> PyResult<()> {
    len(text.len())?;
    written(put::write_str(out, text))
}

fn bytes(out: &mut Vec<u8>, bytes: &[u8]) -> PyResult<()> {
    len(bytes.len())?;
    written(put::write_bin(out, bytes))
}

fn int(out: &mut Vec<u8>, value: &Bound<'_, PyAny>) -> PyResult<()> {
    if let Ok(value) = value.extract::<i64>() {
        return written(put::write_sint(out, value));
    }
    let value = value.extract::<u64>().map_err(|_| PyOverflowError::new_err("Integer value out of range"))?;
    written(put::write_uint(out, value))
}

fn value_at(out: &mut Vec<u8>, value: &Bound<'_, PyAny>, depth: u32) -> Result<()> {
    // The common types first, exactly.
    if let Ok(value) = value.cast_exact::<PyString>() {
        return Ok(text(out, value.to_str()?)?);
    }
    if value.is_exact_instance_of::<PyInt>() {
        return Ok(int(out, value)?);
    }
    if let Ok(value) = value.cast_exact::<PyFloat>() {
        return Ok(written(put::write_f64(out, value.value()))?);
    }
    if let Ok(value) = value.cast_exact::<PyBytes>() {
        return Ok(bytes(out, value.as_bytes())?);
    }
    if value.is_none() {
        return Ok(written(put::write_nil(out))?);
    }
    if let Ok(value) = value.cast_exact::<PyBool>() {
        return Ok(written(put::write_bool(out, value.is_true()))?);
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        let depth = deeper(depth)?;
        written(put::write_map_len(out, len(dict.len())?))?;
        for (key, value) in dict {
            value_at(out, &key, depth)?;
            value_at(out, &value, depth)?;
        }
        return Ok(());
    }
    if let Ok(list) = value.cast::<PyList>() {
        let depth = deeper(depth)?;
        written(put::write_array_len(out, len(list.len())?))?;
        for value in list {
            value_at(out, &value, depth)?;
        }
        return Ok(());
    }
    other(out, value, depth)
}

#[cold]
fn too_deep() -> Error {
    let limit = u64::from(Limits::default().depth);
    Error::limit("nesting depth", limit + 1, limit)
}

fn deeper(depth: u32) -> Result<u32> {
    Ok(depth.checked_sub(1).ok_or_else(too_deep)?)
}

/// Values of rarer types, and of subclasses, in the order in which `msgpack` looks.
fn other(out: &mut Vec<u8>, value: &Bound<'_, PyAny>, depth: u32) -> Result<()> {
    if value.is_instance_of::<PyInt>() {
        return Ok(int(out, value)?);
    }
    if let Ok(value) = value.cast::<PyFloat>() {
        return Ok(written(put::write_f64(out, value.value()))?);
    }
    if let Ok(value) = value.cast::<PyBytes>() {
        return Ok(bytes(out, value.as_bytes())?);
    }
    if let Ok(value) = value.cast::<PyByteArray>() {
        return Ok(bytes(out, &value.to_vec())?);
    }
    if let Ok(value) = value.cast::<PyString>() {
        return Ok(text(out, value.to_str()?)?);
    }
    if let Some((kind, data)) = ext(value)? {
        written(put::write_ext_meta(out, len(data.len())?, kind))?;
        out.extend_from_slice(&data);
        return Ok(());
    }
    if let Ok(tuple) = value.cast::<PyTuple>() {
        let depth = deeper(depth)?;
        written(put::write_array_len(out, len(tuple.len())?))?;
        for value in tuple {
            value_at(out, &value, depth)?;
        }
        return Ok(());
    }
    if value.is_instance_of::<PyMemoryView>() {
        return Ok(bytes(out, value.call_method0("tobytes")?.cast::<PyBytes>().map_err(PyErr::from)?.as_bytes())?);
    }
    numpy(out, value, depth)
}

/// The type and the bytes of an `ExtType` or a `Timestamp` of the package `msgpack`, or of this one.
fn ext(value: &Bound<'_, PyAny>) -> Result<Option<(i8, Vec<u8>)>> {
    let name = value.get_type().name()?;
    if name == "ExtType" && value.is_instance_of::<PyTuple>() {
        return Ok(Some(value.extract()?));
    }
    if name == "Timestamp" && value.hasattr("to_bytes")? && value.hasattr("nanoseconds")? {
        return Ok(Some((-1, value.call_method0("to_bytes")?.extract()?)));
    }
    Ok(None)
}

static NDARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static SCALARS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The classes of numpy, unless nobody has imported it yet: then no value can be one of its.
fn numpy_types<'py>(py: Python<'py>) -> PyResult<Option<(&'py Bound<'py, PyAny>, &'py Bound<'py, PyAny>)>> {
    if NDARRAY.get(py).is_none() && !py.import("sys")?.getattr("modules")?.contains("numpy")? {
        return Ok(None);
    }
    let scalars = SCALARS.get_or_try_init(py, || {
        let numpy = py.import("numpy")?;
        PyResult::Ok(PyTuple::new(py, [numpy.getattr("bool_")?, numpy.getattr("number")?])?.into_any().unbind())
    })?;
    Ok(Some((NDARRAY.import(py, "numpy", "ndarray")?, scalars.bind(py))))
}

fn numpy(out: &mut Vec<u8>, value: &Bound<'_, PyAny>, depth: u32) -> Result<()> {
    let py = value.py();
    if let Some((ndarray, scalars)) = numpy_types(py)? {
        let is_array = value.is_instance(ndarray)?;
        if is_array || value.is_instance(scalars)? {
            let dtype = value.getattr("dtype")?;
            if dtype.getattr("hasobject")?.extract()? {
                let detail = "an array of Python objects would be written as a pickle, which nobody can load safely";
                return Err(Error::unsupported(detail).into());
            }
            // `tobytes` would put fill values in place of the missing elements.
            if is_array
                && value.hasattr("mask")?
                && py.import("numpy.ma")?.call_method1("is_masked", (value,))?.is_truthy()?
            {
                return Err(
                    PyTypeError::new_err("expected an array without missing elements, found a masked array").into()
                );
            }
            let structured = is_array && dtype.getattr("kind")?.cast::<PyString>().is_ok_and(|kind| *kind == "V");
            written(put::write_map_len(out, if is_array { 5 } else { 3 }))?;
            bytes(out, b"nd")?;
            written(put::write_bool(out, is_array))?;
            bytes(out, b"type")?;
            value_at(out, &dtype.getattr(if structured { "descr" } else { "str" })?, depth)?;
            if is_array {
                bytes(out, b"kind")?;
                bytes(out, if structured { b"V" } else { b"" })?;
                bytes(out, b"shape")?;
                value_at(out, &value.getattr("shape")?, depth)?;
            }
            bytes(out, b"data")?;
            let data = value.call_method0("tobytes")?;
            return Ok(bytes(out, data.cast::<PyBytes>().map_err(PyErr::from)?.as_bytes())?);
        }
    }
    if value.is_instance_of::<PyComplex>() {
        written(put::write_map_len(out, 2))?;
        bytes(out, b"complex")?;
        written(put::write_bool(out, true))?;
        bytes(out, b"data")?;
        return Ok(text(out, value.repr()?.to_str()?)?);
    }
    let kind = value.get_type().name()?;
    Err(PyTypeError::new_err(format!("can not serialize '{kind}' object")).into())
}
