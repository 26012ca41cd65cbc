//! Values of dsfmt as numpy arrays.

use container_core::Error;
use dsfmt::{DataType, Endian, Mask, Strings, Values};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyAny, PyBytes, PyDict, PyList, PyString, PyTuple};

use crate::ds::buffer::NewArray;
use crate::error::Result;

/// The type's name in numpy.
pub(super) const fn dtype(data_type: DataType, endian: Endian) -> &'static str {
    let big = matches!(endian, Endian::Big);
    match data_type {
        DataType::Float32 => {
            if big {
                ">f4"
            } else {
                "<f4"
            }
        }
        DataType::Float64 => {
            if big {
                ">f8"
            } else {
                "<f8"
            }
        }
        DataType::Int8 => "i1",
        DataType::Int16 => {
            if big {
                ">i2"
            } else {
                "<i2"
            }
        }
        DataType::Int32 => {
            if big {
                ">i4"
            } else {
                "<i4"
            }
        }
        DataType::Int64 => {
            if big {
                ">i8"
            } else {
                "<i8"
            }
        }
        DataType::Uint8 => "u1",
        DataType::Uint16 => {
            if big {
                ">u2"
            } else {
                "<u2"
            }
        }
        DataType::Uint32 => {
            if big {
                ">u4"
            } else {
                "<u4"
            }
        }
        DataType::Uint64 => {
            if big {
                ">u8"
            } else {
                "<u8"
            }
        }
        DataType::Bool => "?",
        DataType::Str | DataType::Unicode => "O",
    }
}

/// The bytes of numbers and booleans in native byte order; `None` for strings.
pub(super) fn bytes<'a>(values: &'a Values<'_>) -> Option<&'a [u8]> {
    Some(match values {
        Values::Float32(all) => bytemuck::cast_slice(all),
        Values::Float64(all) => bytemuck::cast_slice(all),
        Values::Int8(all) => bytemuck::cast_slice(all),
        Values::Int16(all) => bytemuck::cast_slice(all),
        Values::Int32(all) => bytemuck::cast_slice(all),
        Values::Int64(all) => bytemuck::cast_slice(all),
        Values::Uint8(all) => bytemuck::cast_slice(all),
        Values::Uint16(all) => bytemuck::cast_slice(all),
        Values::Uint32(all) => bytemuck::cast_slice(all),
        Values::Uint64(all) => bytemuck::cast_slice(all),
        Values::Bool(all) => bytemuck::cast_slice(all),
        Values::Str(_) | Values::Unicode(_) => return None,
    })
}

/// Copies bytes in native byte order to `out` in the given one.
pub(super) fn copy(bytes: &[u8], width: usize, endian: Endian, out: &mut [u8]) -> container_core::Result<()> {
    if bytes.len() != out.len() {
        return Err(Error::usage(format!("expected {} bytes of values, found {}", out.len(), bytes.len())));
    }
    out.copy_from_slice(bytes);
    swap(width, endian, out);
    Ok(())
}

/// Converts numbers in native byte order to the given one.
pub(super) fn swap(width: usize, endian: Endian, out: &mut [u8]) {
    if width > 1 && endian != Endian::NATIVE {
        out.chunks_exact_mut(width).for_each(<[u8]>::reverse);
    }
}

/// Numbers and booleans as an array, strings as an array of objects.
pub(super) fn to_numpy<'py>(
    py: Python<'py>,
    shape: &[u64],
    values: &Values<'_>,
    mask: Option<&Mask<'_>>,
    endian: Endian,
) -> Result<Bound<'py, PyAny>> {
    let data_type = values.data_type();
    match values {
        Values::Str(strings) => objects(py, shape, strings, mask, |string| Ok(PyBytes::new(py, string).into_any())),
        Values::Unicode(strings) => {
            objects(py, shape, strings, mask, |string| Ok(PyString::from_bytes(py, string)?.into_any()))
        }
        _ => {
            let mut array = NewArray::empty(py, shape, dtype(data_type, endian))?;
            let (bytes, width) = (bytes(values).unwrap_or_default(), data_type.width().unwrap_or(1));
            array.fill(|out| copy(bytes, width, endian, out))?;
            Ok(array.finish()?)
        }
    }
}

/// An array of objects. Missing ones are the number 0, as in ds-format.
fn objects<'py>(
    py: Python<'py>,
    shape: &[u64],
    strings: &Strings<'_>,
    mask: Option<&Mask<'_>>,
    convert: impl Fn(&[u8]) -> PyResult<Bound<'py, PyAny>>,
) -> Result<Bound<'py, PyAny>> {
    let list = PyList::empty(py);
    for (index, string) in strings.iter().enumerate() {
        match mask.is_some_and(|mask| mask.is_missing(index)) {
            true => list.append(0)?,
            false => list.append(convert(string)?)?,
        }
    }
    let array = py.import("numpy")?.call_method1("empty", (strings.len(), "O"))?;
    array.set_item(py.Ellipsis(), list)?;
    Ok(array.call_method1("reshape", (PyTuple::new(py, shape)?,))?)
}

/// Elements `start..` of a mask as an array of booleans.
pub(super) fn mask_array<'py>(
    py: Python<'py>,
    shape: &[u64],
    mask: &Mask<'_>,
    start: usize,
) -> Result<Bound<'py, PyAny>> {
    let mut array = NewArray::empty(py, shape, "?")?;
    array.fill(|out| {
        if start.is_multiple_of(8) {
            let bits = mask.as_bits().get(start / 8..).unwrap_or_default();
            for (out, byte) in out.chunks_mut(8).zip(bits) {
                for (out, shift) in out.iter_mut().zip((0..8).rev()) {
                    *out = byte >> shift & 1;
                }
            }
        } else {
            for (out, index) in out.iter_mut().zip(start..) {
                *out = u8::from(mask.is_missing(index));
            }
        }
        Ok(())
    })?;
    Ok(array.finish()?)
}

/// A masked array, or a scalar of an array without dimensions.
pub(super) fn finish<'py>(
    data: Bound<'py, PyAny>,
    mask: Option<Bound<'py, PyAny>>,
    is_scalar: bool,
) -> Result<Bound<'py, PyAny>> {
    static MASKED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = data.py();
    let array = match mask {
        Some(mask) => {
            let named = PyDict::new(py);
            named.set_item("mask", mask)?;
            MASKED.import(py, "numpy.ma", "MaskedArray")?.call((data,), Some(&named))?
        }
        None => data,
    };
    Ok(if is_scalar { array.get_item(PyTuple::empty(py))? } else { array })
}
