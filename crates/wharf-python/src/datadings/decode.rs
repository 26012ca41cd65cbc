//! msgpack as Python objects: the values that `msgpack` and `msgpack_numpy` would return, without an intermediate model.

use std::cell::RefCell;

use container_core::{Error, Limits};
use pyo3::exceptions::{PyArithmeticError, PyLookupError, PySyntaxError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyAny, PyBytes, PyComplex, PyDict, PyList, PyString, PyTuple};

use super::buffer::Buffer;
use super::lex::{Lexer, Numpy, Token, pickle};
use crate::error::{Failure, Result};
use crate::gc;

/// A file mapped into memory, and where in it a message begins.
#[derive(Clone, Copy)]
pub(crate) struct Mapped<'a, 'py> {
    pub(crate) buffer: &'a Bound<'py, Buffer>,
    pub(crate) start: usize,
}

/// Decodes exactly one message. Positions in errors count from its start. Aligned arrays are views of the mapped file if there is one.
pub(crate) fn message<'py>(
    py: Python<'py>,
    bytes: &[u8],
    mapped: Option<Mapped<'_, 'py>>,
) -> Result<Bound<'py, PyAny>> {
    let mut decoder = Decoder { py, lexer: Lexer::new(bytes), depth: Limits::default().depth, mapped };
    let value = gc::paused(py, || decoder.value()).map_err(|failure| refused(py, failure, decoder.lexer.at))?;
    match bytes.len() - decoder.lexer.at {
        0 => Ok(value),
        extra => Err(Error::invalid(format!("{extra} unexpected bytes after the message"))
            .at(decoder.lexer.at as u64)
            .into()),
    }
}

/// The exceptions of Python and numpy for a value that they cannot make, such as a dtype that does not exist, are errors of the message.
fn refused(py: Python<'_>, failure: Failure, at: usize) -> Failure {
    match failure {
        Failure::Python(error)
            if error.is_instance_of::<PyValueError>(py)
                || error.is_instance_of::<PyTypeError>(py)
                || error.is_instance_of::<PyLookupError>(py)
                || error.is_instance_of::<PyArithmeticError>(py)
                || error.is_instance_of::<PySyntaxError>(py) =>
        {
            Error::invalid(format!("a value that Python cannot hold: {error}")).at(at as u64).into()
        }
        other => other,
    }
}

/// Decodes one msgpack message: maps to dicts, arrays to lists, numpy values to arrays and scalars.
///
/// Raises:
///     InvalidError: it is not exactly one message.
///     UnsupportedError: it contains a pickle, which is never loaded.
#[pyfunction]
pub(crate) fn unpackb<'py>(py: Python<'py>, message: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
    if let Ok(bytes) = message.cast::<PyBytes>() {
        return self::message(py, bytes.as_bytes(), None);
    }
    let bytes = pyo3::buffer::PyBuffer::<u8>::get(message)?.to_vec(py)?;
    self::message(py, &bytes, None)
}

struct Decoder<'a, 'py> {
    py: Python<'py>,
    lexer: Lexer<'a>,
    /// Levels that may still be entered.
    depth: u32,
    mapped: Option<Mapped<'a, 'py>>,
}

impl<'py> Decoder<'_, 'py> {
    /// Enters an array or a map, whose members take at least this many bytes.
    fn enter(&mut self, members: usize, at: usize) -> Result<()> {
        let left = self.lexer.bytes.len() - self.lexer.at;
        if members > left {
            let error = Error::truncated("the members of an array or a map", members as u64, left as u64);
            return Err(error.at(at as u64).into());
        }
        let limit = u64::from(Limits::default().depth);
        self.depth =
            self.depth.checked_sub(1).ok_or_else(|| Error::limit("nesting depth", limit + 1, limit).at(at as u64))?;
        Ok(())
    }

    fn value(&mut self) -> Result<Bound<'py, PyAny>> {
        let (py, at) = (self.py, self.lexer.at);
        Ok(match self.lexer.token()? {
            Token::Nil => py.None().into_bound(py),
            Token::Bool(value) => pyo3::types::PyBool::new(py, value).to_owned().into_any(),
            Token::Unsigned(value) => object(value.into_pyobject(py)),
            Token::Signed(value) => object(value.into_pyobject(py)),
            Token::Float(value) => object(value.into_pyobject(py)),
            Token::Str(bytes) => PyString::new(py, self.lexer.text(bytes)?).into_any(),
            Token::Bin(bytes) => PyBytes::new(py, bytes).into_any(),
            Token::Ext(kind, bytes) => helper(py, &EXT, "ext")?.call1((kind, bytes))?,
            Token::Array(len) => {
                self.enter(len, at)?;
                let list = PyList::empty(py);
                for _ in 0..len {
                    list.append(self.value()?)?;
                }
                self.depth += 1;
                list.into_any()
            }
            Token::Map(len) => {
                self.enter(len.saturating_mul(2), at)?;
                let map = self.map(len)?;
                self.depth += 1;
                map
            }
        })
    }

    fn map(&mut self, len: usize) -> Result<Bound<'py, PyAny>> {
        let start = self.lexer.at;
        if let Some(value) = self.lexer.numpy(len)? {
            return self.numpy(value);
        }
        self.lexer.at = start;
        let dict = PyDict::new(self.py);
        let mut special = false;
        // Dicts in a sample would displace its own keys.
        let first = if self.depth + 1 == Limits::default().depth { 0 } else { Keys::PLANNED };
        for member in first..first + len {
            let at = self.lexer.at;
            if let Some((len, key)) =
                KEYS.with_borrow(|keys| keys.planned(self.py, member, self.lexer.bytes.get(at..)?))
            {
                self.lexer.at += len;
                dict.set_item(key, self.value()?)?;
                continue;
            }
            let key = match self.lexer.token()? {
                Token::Str(bytes) => {
                    let text = self.lexer.text(bytes)?;
                    let encoded = self.lexer.bytes.get(at..self.lexer.at).unwrap_or_default();
                    KEYS.with_borrow_mut(|keys| keys.get(self.py, text, member, encoded))
                }
                token => {
                    special |= matches!(token, Token::Bin(b"nd" | b"complex"));
                    self.lexer.at = at;
                    self.value()?
                }
            };
            dict.set_item(key, self.value()?)?;
        }
        match special {
            false => Ok(dict.into_any()),
            // Not in the order or with the types that are written today.
            true => Ok(helper(self.py, &HOOK, "decode")?.call1((dict,))?),
        }
    }

    fn numpy(&self, value: Numpy<'_>) -> Result<Bound<'py, PyAny>> {
        match value {
            Numpy::Array { dtype, shape, at, data } => self.ndarray(dtype, &shape, at, data),
            Numpy::Scalar { dtype, data } => self.scalar(dtype, data),
            Numpy::Complex(text) => Ok(self.py.get_type::<PyComplex>().call1((text,))?),
        }
    }

    fn ndarray(&self, dtype: &str, shape: &[usize], at: usize, data: &[u8]) -> Result<Bound<'py, PyAny>> {
        let py = self.py;
        let dtype = self::dtype(py, dtype)?;
        let size = shape.iter().try_fold(dtype.size, |size, dim| size.checked_mul(*dim));
        let Some(size) = size.filter(|size| *size <= data.len()) else {
            let detail = format!("an array of shape {shape:?} does not fit into {} bytes", data.len());
            return Err(self.lexer.invalid(&detail, at).into());
        };
        let dims = PyTuple::new(py, shape)?;
        let ndarray = NDARRAY.import(py, "numpy", "ndarray")?;
        Ok(match self.mapped {
            Some(mapped) if size > 0 && data.as_ptr().addr().is_multiple_of(dtype.align) => {
                ndarray.call1((dims, dtype.object, mapped.buffer, mapped.start + at))?
            }
            _ => ndarray.call1((dims, dtype.object, PyBytes::new(py, data)))?,
        })
    }

    fn scalar(&self, dtype: &str, data: &[u8]) -> Result<Bound<'py, PyAny>> {
        let py = self.py;
        let dtype = self::dtype(py, dtype)?;
        let frombuffer = FROMBUFFER.import(py, "numpy", "frombuffer")?;
        Ok(frombuffer.call1((PyBytes::new(py, data), dtype.object))?.get_item(0)?)
    }
}

/// The object of a conversion that cannot fail.
fn object<'py, T>(made: std::result::Result<Bound<'py, T>, std::convert::Infallible>) -> Bound<'py, PyAny> {
    let Ok(made) = made;
    made.into_any()
}

static NDARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static FROMBUFFER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static EXT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static HOOK: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// A function of `wharf_data.datadings._values`, where rare values are decoded.
fn helper<'py>(py: Python<'py>, cell: &'static PyOnceLock<Py<PyAny>>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let made =
        cell.get_or_try_init(py, || PyResult::Ok(py.import("wharf_data.datadings._values")?.getattr(name)?.unbind()))?;
    Ok(made.bind(py).clone())
}

thread_local! {
    static KEYS: RefCell<Keys> = const { RefCell::new(Keys { by_hash: Vec::new(), planned: Vec::new() }) };
    static DTYPES: RefCell<Vec<KnownDtype>> = const { RefCell::new(Vec::new()) };
}

/// The keys of dicts met last: most samples have the same ones, in the same order.
struct Keys {
    by_hash: Vec<Option<(Box<str>, Py<PyString>)>>,
    /// By the place in a dict: as msgpack, and as an object.
    planned: Vec<(Box<[u8]>, Py<PyString>)>,
}

impl Keys {
    /// Slots; a power of two.
    const SLOTS: usize = 256;
    /// Longer keys are probably not shared.
    const LONGEST: usize = 64;
    /// Places in a dict that are planned.
    const PLANNED: usize = 64;

    /// The key of the member at this place of a dict, and its length as msgpack, if it is the one that was there last.
    #[inline]
    fn planned<'py>(&self, py: Python<'py>, member: usize, rest: &[u8]) -> Option<(usize, Bound<'py, PyString>)> {
        let (encoded, key) = self.planned.get(member)?;
        rest.starts_with(encoded).then(|| (encoded.len(), key.bind(py).clone()))
    }

    fn get<'py>(&mut self, py: Python<'py>, text: &str, member: usize, encoded: &[u8]) -> Bound<'py, PyAny> {
        if text.len() > Self::LONGEST {
            return PyString::new(py, text).into_any();
        }
        let key = self.shared(py, text);
        let place = (encoded.into(), key.clone().unbind());
        match self.planned.get_mut(member) {
            Some(planned) => *planned = place,
            None => {
                if self.planned.len() == member && member < Self::PLANNED {
                    self.planned.push(place);
                }
            }
        }
        key.into_any()
    }

    fn shared<'py>(&mut self, py: Python<'py>, text: &str) -> Bound<'py, PyString> {
        if self.by_hash.is_empty() {
            self.by_hash.resize_with(Self::SLOTS, || None);
        }
        // FNV-1a: keys are short.
        let hash = text
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        let slot = usize::try_from(hash >> 56).unwrap_or(0) % Self::SLOTS;
        match self.by_hash.get_mut(slot) {
            Some(Some((known, key))) if **known == *text => key.bind(py).clone(),
            Some(other) => {
                let key = PyString::intern(py, text);
                *other = Some((text.into(), key.clone().unbind()));
                key
            }
            None => PyString::intern(py, text),
        }
    }
}

/// A dtype of numpy, with its size and alignment in bytes.
struct Dtype<'py> {
    object: Bound<'py, PyAny>,
    size: usize,
    align: usize,
}

/// A dtype with its name, size and alignment.
type KnownDtype = (Box<str>, Py<PyAny>, usize, usize);

/// Datasets have a few dtypes; damaged ones must not fill the memory.
const MOST_DTYPES: usize = 64;

/// The dtype of a name.
fn dtype<'py>(py: Python<'py>, name: &str) -> Result<Dtype<'py>> {
    static DTYPE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let known = DTYPES.with_borrow(|known| {
        let (_, object, size, align) = known.iter().find(|(known, ..)| **known == *name)?;
        Some(Dtype { object: object.bind(py).clone(), size: *size, align: *align })
    });
    if let Some(known) = known {
        return Ok(known);
    }
    // Not while it is borrowed: this runs Python code.
    let object = DTYPE.import(py, "numpy", "dtype")?.call1((name,))?;
    if object.getattr("hasobject")?.extract()? {
        return Err(pickle().into());
    }
    let size = object.getattr("itemsize")?.extract()?;
    let align = object.getattr("alignment")?.extract::<usize>()?.max(1);
    let new = (name.into(), object.clone().unbind(), size, align);
    DTYPES.with_borrow_mut(|known| {
        if known.len() >= MOST_DTYPES {
            known.clear();
        }
        known.push(new);
    });
    Ok(Dtype { object, size, align })
}
