//! The writer.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use container_core::{OutputOptions, Overwrite, Owner, SyncPolicy};
use datadings::{FORMAT, Writer, WriterOptions};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyAny, PyBytes, PyDict, PyString};

use super::encode::encode;
use crate::error::{Failure, Result};
use crate::process;

/// Larger messages are written without the interpreter.
const DETACHED: usize = 64 << 10;

/// The native part of the writers in `wharf_data.datadings.writer`.
#[pyclass(module = "wharf_data._native", frozen)]
pub(crate) struct DatadingsWriter {
    state: Mutex<State>,
    owner: Owner,
}

struct State {
    /// `None` once it is closed.
    writer: Option<Writer>,
    scratch: Vec<u8>,
    written: u64,
}

impl DatadingsWriter {
    fn put(&self, py: Python<'_>, key: &str, message: &[u8]) -> Result<()> {
        self.owner.check()?;
        let mut state = self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let Some(writer) = &mut state.writer else {
            return Err(PyValueError::new_err("the writer is closed").into());
        };
        let mut append = || writer.append_stream(key, message.len() as u64, |put| put(message));
        let done = if message.len() < DETACHED { append() } else { py.detach(append) };
        done?;
        state.written += 1;
        Ok(())
    }
}

#[pymethods]
impl DatadingsWriter {
    #[new]
    fn new(py: Python<'_>, path: PathBuf, overwrite: bool) -> Result<Self> {
        process::remember();
        let overwrite = if overwrite { Overwrite::Replace } else { Overwrite::Refuse };
        // As the original does not wait for the disk, either.
        let output = OutputOptions::default().with_overwrite(overwrite).with_sync(SyncPolicy::Never);
        let options = WriterOptions::default().with_threads(process::threads(0)).with_output(output);
        let writer = py.detach(|| Writer::create(path, options))?;
        Ok(Self {
            state: Mutex::new(State { writer: Some(writer), scratch: Vec::new(), written: 0 }),
            owner: Owner::current(),
        })
    }

    /// Number of samples so far.
    #[getter]
    fn written(&self, py: Python<'_>) -> u64 {
        self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).written
    }

    /// Writes a dict under the key stored in it, or under another one.
    #[pyo3(signature = (sample, key=None))]
    fn write(&self, py: Python<'_>, sample: &Bound<'_, PyAny>, key: Option<&Bound<'_, PyAny>>) -> Result<()> {
        let key = match (key, sample.cast::<PyDict>()) {
            (Some(key), _) => key.clone(),
            (None, Ok(dict)) => match dict.get_item(pyo3::intern!(py, "key"))? {
                Some(key) => key,
                None => sample.get_item("key")?,
            },
            (None, Err(_)) => sample.get_item("key")?,
        };
        let key = key.cast::<PyString>().map_err(|_| {
            let kind = key.get_type();
            PyTypeError::new_err(format!("the key of a sample must be a str, found {kind}"))
        })?;
        // Encoding runs Python code, which may use this writer: the lock is free meanwhile.
        let mut scratch =
            std::mem::take(&mut self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).scratch);
        scratch.clear();
        let done = encode(&mut scratch, sample).and_then(|()| self.put(py, key.to_str()?, &scratch));
        self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).scratch = scratch;
        done.map_err(|failure| match failure {
            Failure::Library(error) if error.format().is_none() => {
                Failure::Library(error.in_format(FORMAT.name()).in_row(self.written(py)))
            }
            other => other,
        })
    }

    /// Writes an encoded sample under a key.
    fn write_raw(&self, py: Python<'_>, key: &str, data: &Bound<'_, PyAny>) -> Result<()> {
        if let Ok(bytes) = data.cast::<PyBytes>() {
            return self.put(py, key, bytes.as_bytes());
        }
        let bytes = PyBuffer::<u8>::get(data)?.to_vec(py)?;
        self.put(py, key, &bytes)
    }

    /// Writes the index and the sums, and puts all files in place. Returns whether it was open. Does nothing in a forked process.
    fn close(&self, py: Python<'_>) -> Result<bool> {
        if !self.owner.is_current() {
            return Ok(false);
        }
        let writer = self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).writer.take();
        match writer {
            Some(writer) => {
                py.detach(|| writer.finish())?;
                Ok(true)
            }
            None => Ok(false),
        }
    }
}

impl Drop for DatadingsWriter {
    fn drop(&mut self) {
        if !self.owner.is_current() {
            let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
            // The threads of the writer are not there after a fork, and its files are the parent's.
            std::mem::forget(state.writer.take());
        }
    }
}
