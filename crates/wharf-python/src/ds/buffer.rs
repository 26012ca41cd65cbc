//! Memory of numpy arrays.
#![allow(unsafe_code, reason = "slices of the memory of numpy arrays: see the arguments below")]

use std::io::Write;

use container_core::Error;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyAny, PyTuple};

use crate::ds::memory;
use crate::error::Result;

/// Arrays up to this many bytes are filled attached to the interpreter.
const SMALL: usize = 16 << 10;

/// A new numpy array in C order, to be filled.
pub(super) struct NewArray<'py> {
    array: Bound<'py, PyAny>,
    buffer: PyUntypedBuffer,
    is_scalar: bool,
}

impl<'py> NewArray<'py> {
    /// An array of undefined values. `dtype` is a numpy name of a type without objects.
    pub(super) fn empty(py: Python<'py>, shape: &[u64], dtype: &str) -> Result<Self> {
        static EMPTY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        // PyO3 has no buffers without dimensions.
        let is_scalar = shape.is_empty();
        let sizes = PyTuple::new(py, if is_scalar { &[1] } else { shape })?;
        let array = match memory::large(py, shape, &sizes, dtype)? {
            Some(array) => array,
            None => EMPTY.import(py, "numpy", "empty")?.call1((sizes, dtype))?,
        };
        let buffer = PyUntypedBuffer::get(&array)?;
        if buffer.readonly() || !buffer.is_c_contiguous() {
            return Err(PyBufferError::new_err("numpy.empty returned an array that cannot be filled").into());
        }
        Ok(Self { array, buffer, is_scalar })
    }

    /// Fills its bytes, detached from the interpreter unless they are few.
    pub(super) fn fill(&mut self, write: impl FnOnce(&mut [u8]) -> container_core::Result<()> + Send) -> Result<()> {
        let len = self.buffer.len_bytes();
        if len == 0 {
            return Ok(());
        }
        // SAFETY: the array was made in `empty` over memory of its own, and no other code has a reference to it until `finish`, so nothing else accesses its
        // memory. The buffer keeps it alive, is writable, C-contiguous and `len` bytes long. Any bytes are valid values of its type.
        let bytes = unsafe { std::slice::from_raw_parts_mut(self.buffer.buf_ptr().cast::<u8>(), len) };
        // Detaching takes longer than filling a small array.
        if len <= SMALL { Ok(write(bytes)?) } else { Ok(self.array.py().detach(move || write(bytes))?) }
    }

    /// The array.
    pub(super) fn finish(self) -> PyResult<Bound<'py, PyAny>> {
        if self.is_scalar {
            return self.array.call_method1("reshape", (PyTuple::empty(self.array.py()),));
        }
        Ok(self.array)
    }
}

/// The bytes of contiguous arrays, or of other objects with a buffer.
pub(super) struct Parts(Vec<PyUntypedBuffer>);

impl Parts {
    pub(super) fn new(objects: &[Bound<'_, PyAny>]) -> Result<Self> {
        let buffers = objects.iter().map(PyUntypedBuffer::get).collect::<PyResult<Vec<_>>>()?;
        match buffers.iter().all(PyUntypedBuffer::is_c_contiguous) {
            true => Ok(Self(buffers)),
            false => Err(PyBufferError::new_err("expected arrays in C order").into()),
        }
    }

    /// Writes the bytes of all parts, detached from the interpreter.
    pub(super) fn write(&self, py: Python<'_>, out: &mut (impl Write + Send)) -> Result<()> {
        py.detach(|| {
            for buffer in self.0.iter().filter(|buffer| buffer.len_bytes() > 0) {
                // SAFETY: the buffer is C-contiguous, `len_bytes` long, and alive as long as `self`. As with `numpy.ndarray.tofile`, a thread of
                // the caller that changes an array meanwhile makes the bytes that are written undefined; they are only passed on.
                let bytes = unsafe { std::slice::from_raw_parts(buffer.buf_ptr().cast::<u8>(), buffer.len_bytes()) };
                out.write_all(bytes).map_err(|cause| Error::io("cannot write", cause))?;
            }
            Ok::<(), Error>(())
        })?;
        Ok(())
    }
}
