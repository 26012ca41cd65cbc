//! The reader.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use container_core::{Error, OpenOptions};
use datadings::{FORMAT, Part, Reader};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyIndexError, PyKeyError, PyStopIteration, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyAny, PyBytes, PyMemoryView, PySlice, PyString, PyTuple};

use super::buffer::{Buffer, write_to};
use super::collate::{self, Column, Rows};
use super::decode::{self, Mapped};
use crate::error::{Failure, Result};
use crate::{map, process};

/// An open dataset.
struct Open {
    reader: Reader,
    /// The data file, if it is mapped.
    mapped: Option<Py<Buffer>>,
    path: PathBuf,
}

/// How a sample is returned.
#[derive(Clone, Copy)]
struct Form {
    yield_key: bool,
    raw: bool,
    copy: bool,
}

impl Open {
    fn new(py: Python<'_>, path: &PathBuf, mapped: bool) -> Result<Self> {
        process::remember();
        let options = OpenOptions::default().with_access(map::access(mapped));
        let reader = py.detach(|| Reader::open_with(path, options))?;
        let source = reader.source();
        let mapped = match source.as_slice() {
            Some(_) => Some(Py::new(py, Buffer::new(source.read(0..source.len())?))?),
            None => None,
        };
        Ok(Self { reader, mapped, path: path.clone() })
    }

    fn mapped<'a, 'py>(&'a self, py: Python<'py>, offset: u64) -> Option<Mapped<'a, 'py>> {
        Some(Mapped { buffer: self.mapped.as_ref()?.bind(py), start: usize::try_from(offset).ok()? })
    }

    /// Adds the place of a sample to an error.
    #[cold]
    fn in_sample(&self, failure: Failure, index: u64, offset: u64) -> Failure {
        match failure {
            Failure::Library(error) => Failure::Library(self.locate(error.shifted(offset), index)),
            python @ Failure::Python(_) => python,
        }
    }

    #[cold]
    fn locate(&self, error: Error, index: u64) -> Error {
        error.in_format(FORMAT.name()).in_row(index).in_file(self.path.display().to_string())
    }

    fn sample<'py>(&self, py: Python<'py>, index: usize, form: Form) -> Result<Bound<'py, PyAny>> {
        let index = index as u64;
        let sample = self.reader.get(index)?;
        let (bytes, offset) = (sample.as_bytes(), sample.offset());
        let value = match form {
            Form { raw: false, .. } => decode::message(py, bytes, self.mapped(py, offset))
                .map_err(|failure| self.in_sample(failure, index, offset))?,
            Form { copy: true, .. } => PyBytes::new(py, bytes).into_any(),
            Form { copy: false, .. } => match self.mapped(py, offset) {
                Some(Mapped { buffer, start }) => {
                    let (start, end) = (isize::try_from(start)?, isize::try_from(start + bytes.len())?);
                    PyMemoryView::from(buffer)?.get_item(PySlice::new(py, start, end, 1))?
                }
                None => PyMemoryView::from(&PyBytes::new(py, bytes))?.into_any(),
            },
        };
        if form.yield_key {
            return Ok(PyTuple::new(py, [PyString::new(py, &self.reader.key(index)?).into_any(), value])?.into_any());
        }
        Ok(value)
    }
}

impl From<std::num::TryFromIntError> for Failure {
    fn from(error: std::num::TryFromIntError) -> Self {
        Self::Python(error.into())
    }
}

/// The native part of `wharf_data.datadings.reader.MsgpackReader`.
#[pyclass(module = "wharf_data._native", frozen, subclass)]
pub(crate) struct MsgpackReader {
    path: PathBuf,
    is_mapped: bool,
    len: usize,
    missing: Vec<Part>,
    /// `None` while it is closed.
    open: Mutex<Option<Arc<Open>>>,
    position: AtomicUsize,
}

impl MsgpackReader {
    /// Opens the dataset again if it was closed.
    fn open(&self, py: Python<'_>) -> Result<Arc<Open>> {
        let mut open = self.open.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        match &*open {
            Some(open) => Ok(Arc::clone(open)),
            None => Ok(Arc::clone(open.insert(Arc::new(Open::new(py, &self.path, self.is_mapped)?)))),
        }
    }

    /// The index of a sample; negative numbers count from the end.
    fn index(&self, index: isize) -> PyResult<usize> {
        let from_start = if index < 0 { self.len.checked_sub(index.unsigned_abs()) } else { index.try_into().ok() };
        from_start
            .filter(|index| *index < self.len)
            .ok_or_else(|| PyIndexError::new_err(format!("index {index} out of range for length {} reader", self.len)))
    }

    /// The samples that a slice selects.
    fn clamped(&self, start: Option<isize>, stop: Option<isize>) -> (usize, usize) {
        let clamp = |at: isize| match usize::try_from(at) {
            Ok(at) => at.min(self.len),
            Err(_) => self.len.saturating_sub(at.unsigned_abs()),
        };
        let start = start.map_or(0, clamp);
        (start, stop.map_or(self.len, clamp).max(start))
    }
}

#[pymethods]
impl MsgpackReader {
    #[new]
    #[pyo3(signature = (path, buffering=0, *, access="mapped"))]
    fn new(py: Python<'_>, path: PathBuf, buffering: i64, access: &str) -> Result<Self> {
        let _ = buffering; // a mapped file needs no buffer
        let is_mapped = match access {
            "mapped" => true,
            "positional" => false,
            other => {
                let detail = format!("must be mapped or positional, found {other:?}");
                return Err(Error::usage(detail).in_option("access").into());
            }
        };
        let open = Open::new(py, &path, is_mapped)?;
        Ok(Self {
            is_mapped,
            len: usize::try_from(open.reader.len())?,
            missing: if open.reader.is_legacy() { Vec::new() } else { open.reader.missing_parts() },
            open: Mutex::new(Some(Arc::new(open))),
            position: AtomicUsize::new(0),
            path,
        })
    }

    #[getter(_path)]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    #[getter(_access)]
    fn access(&self) -> &'static str {
        if self.is_mapped { "mapped" } else { "positional" }
    }

    /// The files of the set that do not exist.
    #[getter(_missing)]
    fn missing(&self) -> Vec<String> {
        self.missing.iter().map(|part| format!("{part:?}")).collect()
    }

    #[getter(_i)]
    fn position(&self) -> usize {
        self.position.load(Ordering::Relaxed)
    }

    #[setter(_i)]
    fn set_position(&self, position: usize) {
        self.position.store(position, Ordering::Relaxed);
    }

    fn __len__(&self) -> usize {
        self.len
    }

    /// Whether a sample has this key.
    fn __contains__(&self, py: Python<'_>, key: &str) -> Result<bool> {
        Ok(self.open(py)?.reader.contains(key)?)
    }

    /// Closes the files. Using the reader opens them again, and arrays of decoded samples keep what they need.
    fn close(&self, py: Python<'_>) {
        *self.open.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The key of the sample with this index; negative numbers count from the end.
    fn find_key(&self, py: Python<'_>, index: isize) -> Result<String> {
        let index = self.index(index)? as u64;
        Ok(self.open(py)?.reader.key(index)?.into_owned())
    }

    /// The index of the sample with this key.
    fn find_index(&self, py: Python<'_>, key: &str) -> Result<u64> {
        let found = self.open(py)?.reader.find(key)?;
        found.ok_or_else(|| PyKeyError::new_err(key.to_owned()).into())
    }

    /// The indexes of the samples with these keys, `None` for keys that do not exist.
    fn find_indexes(&self, py: Python<'_>, keys: Vec<String>) -> Result<Vec<Option<u64>>> {
        let open = self.open(py)?;
        Ok(py.detach(|| open.reader.find_many(&keys))?)
    }

    /// Moves to the sample with this index.
    fn seek_index(&self, index: isize) -> Result<()> {
        self.set_position(self.index(index)?);
        Ok(())
    }

    /// Moves to the sample with this index.
    fn seek(&self, index: isize) -> Result<()> {
        self.seek_index(index)
    }

    /// Moves to the sample with this key.
    fn seek_key(&self, py: Python<'_>, key: &str) -> Result<()> {
        self.set_position(usize::try_from(self.find_index(py, key)?)?);
        Ok(())
    }

    /// The sample with this index; negative numbers count from the end.
    #[pyo3(signature = (index, yield_key=false, raw=false, copy=true))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        index: isize,
        yield_key: bool,
        raw: bool,
        copy: bool,
    ) -> Result<Bound<'py, PyAny>> {
        let index = self.index(index)?;
        self.open(py)?.sample(py, index, Form { yield_key, raw, copy })
    }

    /// An iterator over the samples of a slice.
    #[pyo3(signature = (start, stop=None, yield_key=false, raw=false, copy=true))]
    fn slice(
        slf: Bound<'_, Self>,
        start: Option<isize>,
        stop: Option<isize>,
        yield_key: bool,
        raw: bool,
        copy: bool,
    ) -> Samples {
        let form = Form { yield_key, raw, copy };
        Samples { reader: slf.unbind(), start, stop, moves: false, form, begun: OnceLock::new() }
    }

    /// An iterator from `start`, or else from the current position, to `stop`. It moves the position. `chunk_size` has no effect.
    #[pyo3(signature = (start=None, stop=None, yield_key=false, raw=false, copy=true, chunk_size=16))]
    fn iter(
        slf: Bound<'_, Self>,
        start: Option<isize>,
        stop: Option<isize>,
        yield_key: bool,
        raw: bool,
        copy: bool,
        chunk_size: i64,
    ) -> Samples {
        let _ = chunk_size; // nothing is read ahead
        let form = Form { yield_key, raw, copy };
        Samples { reader: slf.unbind(), start, stop, moves: true, form, begun: OnceLock::new() }
    }

    fn __iter__(slf: Bound<'_, Self>) -> Samples {
        Self::iter(slf, None, None, false, false, true, 16)
    }

    /// An iterator over encoded samples from the current position on.
    #[pyo3(signature = (yield_key=false))]
    fn rawiter(slf: Bound<'_, Self>, yield_key: bool) -> Samples {
        Self::iter(slf, None, None, yield_key, true, true, 16)
    }

    fn __next__<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyAny>>> {
        self.advance(py, false)
    }

    /// The sample at the current position, which moves on.
    fn next<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        self.advance(py, false)?.ok_or_else(|| PyStopIteration::new_err(()).into())
    }

    /// The encoded sample at the current position, which moves on.
    fn rawnext<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        self.advance(py, true)?.ok_or_else(|| PyStopIteration::new_err(()).into())
    }

    fn __getitem__<'py>(slf: Bound<'py, Self>, index: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        let py = slf.py();
        if let Ok(slice) = index.cast::<PySlice>() {
            let indices = slice.indices(isize::try_from(slf.get().len)?)?;
            if indices.step != 1 {
                return Err(PyValueError::new_err("step must be 1").into());
            }
            let samples = Self::slice(slf, Some(indices.start), Some(indices.stop), false, false, true);
            return Ok(Bound::new(py, samples)?.into_any());
        }
        slf.get().get(py, index.extract()?, false, false, true)
    }

    /// Name, dtype and shape of the fields of a sample; `None` instead of dtype and shape of a field that is not numeric.
    #[pyo3(signature = (index, fields=None))]
    fn _layout(&self, py: Python<'_>, index: isize, fields: Option<Vec<String>>) -> Result<collate::Layout> {
        let index = self.index(index)? as u64;
        let open = self.open(py)?;
        let sample = open.reader.get(index)?;
        let layout = collate::layout(sample.as_bytes(), fields.as_deref());
        Ok(layout.map_err(|error| open.locate(error.shifted(sample.offset()), index))?)
    }

    /// Fills arrays with the fields of samples. `columns` has name, dtype, shape of one value, and the bytes of the array.
    #[pyo3(signature = (rows, columns, threads=1))]
    fn _fill(
        &self,
        py: Python<'_>,
        rows: Rows,
        columns: Vec<(String, String, Vec<usize>, PyBuffer<u8>)>,
        threads: usize,
    ) -> Result<()> {
        let open = self.open(py)?;
        let (mut specs, mut buffers) = (Vec::new(), Vec::new());
        for (name, dtype, shape, buffer) in columns {
            specs.push(Column::new(name, dtype, shape, buffer.len_bytes(), rows.len())?);
            buffers.push(buffer);
        }
        let threads = process::threads(threads);
        let filled = write_to(py, &buffers, |out| collate::fill(&open.reader, &rows, &specs, out, threads))?;
        Ok(filled.map_err(|(error, index)| open.locate(error, index))?)
    }

    /// One field of samples as Python objects.
    fn _objects<'py>(&self, py: Python<'py>, rows: Rows, field: &str) -> Result<Vec<Bound<'py, PyAny>>> {
        let open = self.open(py)?;
        let object = |index: u64| {
            let sample = open.reader.get(index)?;
            let offset = sample.offset();
            let found = collate::field(sample.as_bytes(), field).map_err(Failure::from).and_then(|range| {
                let at = offset + range.start as u64;
                let bytes = sample.as_bytes().get(range).unwrap_or_default();
                decode::message(py, bytes, open.mapped(py, at))
            });
            found.map_err(|failure| open.in_sample(failure, index, offset))
        };
        rows.iter().map(object).collect()
    }
}

impl MsgpackReader {
    fn advance<'py>(&self, py: Python<'py>, raw: bool) -> Result<Option<Bound<'py, PyAny>>> {
        let index = self.position();
        if index >= self.len {
            return Ok(None);
        }
        let sample = self.open(py)?.sample(py, index, Form { yield_key: false, raw, copy: true })?;
        self.set_position(index + 1);
        Ok(Some(sample))
    }
}

/// An iterator over samples.
#[pyclass(module = "wharf_data._native", frozen)]
pub(crate) struct Samples {
    reader: Py<MsgpackReader>,
    start: Option<isize>,
    stop: Option<isize>,
    /// Whether it begins at the position of the reader, and moves it.
    moves: bool,
    form: Form,
    begun: OnceLock<Begun>,
}

/// The state of an iterator, from the first sample on: until then the reader may move.
struct Begun {
    open: Arc<Open>,
    next: AtomicUsize,
    stop: usize,
}

impl Samples {
    #[cold]
    fn begin(&self, py: Python<'_>) -> Result<&Begun> {
        let reader = self.reader.get();
        let mut start = self.start;
        if self.moves {
            let first = match start {
                Some(start) => reader.index(start)?,
                None => match reader.position() {
                    position if position < reader.len => position,
                    _ => {
                        reader.set_position(0);
                        0
                    }
                },
            };
            start = Some(isize::try_from(first)?);
        }
        let (start, stop) = reader.clamped(start, self.stop);
        let begun = Begun { open: reader.open(py)?, next: AtomicUsize::new(start), stop };
        Ok(self.begun.get_or_init(|| begun))
    }
}

#[pymethods]
impl Samples {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyAny>>> {
        let begun = match self.begun.get() {
            Some(begun) => begun,
            None => self.begin(py)?,
        };
        if begun.next.load(Ordering::Relaxed) >= begun.stop {
            return Ok(None);
        }
        let index = begun.next.fetch_add(1, Ordering::Relaxed);
        if index >= begun.stop {
            return Ok(None);
        }
        if self.moves {
            self.reader.get().position.fetch_add(1, Ordering::Relaxed);
        }
        begun.open.sample(py, index, self.form).map(Some)
    }

    fn __length_hint__(&self) -> usize {
        self.begun.get().map_or(0, |begun| begun.stop.saturating_sub(begun.next.load(Ordering::Relaxed)))
    }
}
