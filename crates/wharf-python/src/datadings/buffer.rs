//! Bytes of Rust as a Python buffer, and Python buffers as bytes to write to.
#![allow(unsafe_code, reason = "the buffer protocol: see the arguments below")]

use std::ffi::c_int;

use container_core::Bytes;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::{Bound, ffi};

/// Bytes that Python reads in place, such as a mapped file. Arrays over them keep them alive.
#[pyclass(module = "wharf_data", frozen)]
pub(crate) struct Buffer(Bytes);

impl Buffer {
    pub(crate) fn new(bytes: Bytes) -> Self {
        Self(bytes)
    }
}

#[pymethods]
impl Buffer {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    #[expect(clippy::needless_pass_by_value, reason = "the signature of the slot")]
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let bytes: &[u8] = &slf.get().0;
        let len = ffi::Py_ssize_t::try_from(bytes.len())?;
        // SAFETY: `view` is the caller's to fill. The bytes neither move nor change while `slf` lives (`Bytes` is immutable), and the view
        // holds a reference to it. The view is read-only, so that the pointer is never written through.
        let filled =
            unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), bytes.as_ptr().cast_mut().cast(), len, 1, flags) };
        match filled {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }
}

/// Calls `write` with the bytes of contiguous, writable buffers, detached from the interpreter.
///
/// # Errors
/// `ValueError` for a buffer that is read-only, not contiguous, or shares bytes with another.
pub(crate) fn write_to<R: Send>(
    py: Python<'_>,
    buffers: &[PyBuffer<u8>],
    write: impl FnOnce(Vec<&mut [u8]>) -> R + Send,
) -> PyResult<R> {
    let mut spans: Vec<_> = buffers.iter().map(|buffer| (buffer.buf_ptr().addr(), buffer.len_bytes())).collect();
    spans.retain(|(_, len)| *len > 0);
    spans.sort_unstable();
    let overlap = spans.windows(2).any(|pair| matches!(pair, [(at, len), (next, _)] if at + len > *next));
    if overlap || buffers.iter().any(|buffer| buffer.readonly() || !buffer.is_c_contiguous()) {
        return Err(PyValueError::new_err("expected writable, contiguous buffers that share no bytes"));
    }
    let slices = buffers.iter().map(|buffer| match buffer.len_bytes() {
        0 => &mut [][..],
        // SAFETY: a `PyBuffer` keeps its memory in place, as long as `buffers` is borrowed. The bytes are writable and contiguous, and no
        // other slice of this call shares them. As with numpy's own functions that write to `out` without the GIL, the caller leaves the
        // array alone meanwhile: `_samples.py` passes arrays that it has just allocated and that nobody else knows.
        len => unsafe { std::slice::from_raw_parts_mut(buffer.buf_ptr().cast::<u8>(), len) },
    });
    let slices: Vec<&mut [u8]> = slices.collect();
    Ok(py.detach(|| write(slices)))
}
