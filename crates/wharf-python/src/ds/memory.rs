//! Memory of large arrays, which is used again when they are gone.
//!
//! Whoever reads files one after another would otherwise wait for the system, which clears each page before it is used: that takes about as long as
//! reading from the page cache. What is kept is marked as free, so that the system takes it back as soon as other memory runs short.
#![allow(unsafe_code, reason = "the buffer protocol, and memory that is marked as free: see the arguments below")]

use std::ffi::c_int;
use std::io;
use std::sync::{Mutex, PoisonError};

use memmap2::MmapMut;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3::{Bound, ffi};

/// Arrays from this size on: numpy asks for huge pages from here on.
const MIN: usize = 4 << 20;

/// Sizes are multiples of a huge page.
const UNIT: usize = 2 << 20;

/// Maximum bytes that are kept.
const MAX_KEPT: usize = 1 << 30;

/// What is kept, the oldest first.
static KEPT: Mutex<Vec<MmapMut>> = Mutex::new(Vec::new());

/// An array in memory that is used again; `None` for small arrays.
pub(super) fn large<'py>(
    py: Python<'py>,
    shape: &[u64],
    sizes: &Bound<'py, PyTuple>,
    dtype: &str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let width = dtype.trim_start_matches(|char: char| !char.is_ascii_digit()).parse().unwrap_or(1);
    let len = shape.iter().try_fold(width, |len: u64, size| len.checked_mul(*size));
    let Some(len) = len.and_then(|len| usize::try_from(len).ok()).filter(|len| *len >= MIN) else { return Ok(None) };
    let memory = Bound::new(py, Memory::new(len)?)?;
    py.import("numpy")?.getattr("ndarray")?.call1((sizes, dtype, memory)).map(Some)
}

/// Memory of one array.
#[pyclass(frozen)]
struct Memory {
    /// `None` only while it is dropped.
    map: Option<MmapMut>,
}

impl Memory {
    /// Memory of at least this many bytes, with any content.
    fn new(len: usize) -> PyResult<Self> {
        let map = match kept(len) {
            Some(map) => map,
            None => {
                fresh(len).map_err(|cause| PyMemoryError::new_err(format!("cannot allocate {len} bytes: {cause}")))?
            }
        };
        Ok(Self { map: Some(map) })
    }
}

/// Kept memory of about this size.
fn kept(len: usize) -> Option<MmapMut> {
    let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let fits = |map: &MmapMut| (len..=len.saturating_add(len / 4).saturating_add(UNIT)).contains(&map.len());
    let index = all.iter().position(fits)?;
    Some(all.remove(index))
}

fn fresh(len: usize) -> io::Result<MmapMut> {
    let map = MmapMut::map_anon(len.checked_next_multiple_of(UNIT).ok_or(io::ErrorKind::OutOfMemory)?)?;
    let _ = map.advise(memmap2::Advice::HugePage); // where the system has no huge pages, others do
    Ok(map)
}

impl Drop for Memory {
    fn drop(&mut self) {
        let Some(map) = self.map.take().filter(|map| map.len() <= MAX_KEPT) else { return };
        // SAFETY: no array refers to the memory, as each holds a reference to `self`. Its content may become zero, and whoever gets it again takes
        // any content.
        if unsafe { map.unchecked_advise(memmap2::UncheckedAdvice::Free) }.is_err() {
            return;
        }
        let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(map);
        let mut bytes: usize = all.iter().map(|map| map.len()).sum();
        while bytes > MAX_KEPT && !all.is_empty() {
            bytes -= all.remove(0).len();
        }
    }
}

#[pymethods]
impl Memory {
    #[expect(clippy::needless_pass_by_value, reason = "the signature of the slot")]
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let Some(map) = &slf.get().map else { return Err(PyMemoryError::new_err("the memory is gone")) };
        let len = ffi::Py_ssize_t::try_from(map.len())?;
        // SAFETY: `view` is the caller's to fill. The memory stays in place while `slf` lives, to which the view holds a reference, and Rust code has
        // no reference to its bytes, so that whoever has the view may write to them.
        let filled =
            unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), map.as_ptr().cast_mut().cast(), len, 0, flags) };
        match filled {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }
}
