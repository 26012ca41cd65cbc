//! Inputs given as Python objects: paths, bytes, and files opened by other libraries.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use container_core::{Access, Bytes, Input, ReadAt, Source};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::sync::MutexExt;
use pyo3::types::{PyAny, PyBytes};

use crate::callback::attached;
use crate::error::Result;

/// The input that a Python object stands for, and its name in messages.
pub(crate) fn input(object: &Bound<'_, PyAny>, access: Access) -> Result<Input> {
    if object.is_instance_of::<PyBytes>() {
        let bytes: PyBackedBytes = object.extract().map_err(PyErr::from)?;
        return Ok(Input::Stream(Source::from(Bytes::from_owner(bytes))));
    }
    if let Ok(path) = object.extract::<PathBuf>() {
        return Ok(object.py().detach(|| Input::open(path, access))?);
    }
    if let Some(file) = RemoteFile::of(object)? {
        return Ok(Input::Stream(Source::new(file)));
    }
    if object.hasattr("read")? && object.hasattr("seek")? {
        return Ok(Input::Stream(Source::new(SeekableFile::new(object)?)));
    }
    if let Ok(bytes) = object.extract::<PyBackedBytes>() {
        return Ok(Input::Stream(Source::from(Bytes::from_owner(bytes))));
    }
    let kind = object.get_type().name()?;
    let message = format!("expected a path, bytes, or a binary file that can seek, found {kind}");
    Err(PyTypeError::new_err(message).into())
}

/// The name of an object in messages: that of a file, or its type.
pub(crate) fn name(object: &Bound<'_, PyAny>) -> String {
    let own = ["path", "name"].iter().find_map(|name| object.getattr(*name).ok()?.extract::<String>().ok());
    own.unwrap_or_else(|| object.get_type().name().map_or_else(|_| "<input>".to_owned(), |kind| format!("<{kind}>")))
}

/// The error keeps the exception, which becomes the cause of another: see [`crate::error::exception`].
fn failed(error: PyErr) -> io::Error {
    io::Error::other(error)
}

fn copy(found: &[u8], buffer: &mut [u8]) -> io::Result<()> {
    if found.len() != buffer.len() {
        let detail = format!("the file returned {} bytes instead of {}", found.len(), buffer.len());
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, detail));
    }
    buffer.copy_from_slice(found);
    Ok(())
}

/// A file of fsspec: its file system reads ranges without moving a position, and several at a time.
struct RemoteFile {
    file_system: Py<PyAny>,
    path: String,
    len: u64,
}

impl RemoteFile {
    /// `None` for files of other libraries.
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let (Ok(file_system), Ok(path), Ok(size)) =
            (object.getattr("fs"), object.getattr("path"), object.getattr("size"))
        else {
            return Ok(None);
        };
        let (Ok(path), Ok(len)) = (path.extract::<String>(), size.extract::<u64>()) else { return Ok(None) };
        if !file_system.hasattr("cat_ranges")? {
            return Ok(None);
        }
        Ok(Some(Self { file_system: file_system.unbind(), path, len }))
    }
}

impl ReadAt for RemoteFile {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        attached(|py| {
            let end = offset + buffer.len() as u64;
            let ranges = ([self.path.as_str()], [offset], [end]);
            let found = self.file_system.bind(py).call_method1("cat_ranges", ranges).map_err(failed)?;
            let found = found.get_item(0).map_err(failed)?;
            // A failed range is an exception in the list.
            match found.extract::<PyBackedBytes>() {
                Ok(found) => copy(&found, buffer),
                Err(_) => Err(failed(PyErr::from_value(found))),
            }
        })
    }
}

/// A binary file that can seek. One thread reads at a time.
struct SeekableFile {
    file: Mutex<Py<PyAny>>,
    len: u64,
}

impl SeekableFile {
    fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let len = object.call_method1("seek", (0, 2))?.extract::<u64>()?;
        object.call_method1("seek", (0,))?;
        Ok(Self { file: Mutex::new(object.clone().unbind()), len })
    }
}

impl ReadAt for SeekableFile {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        attached(|py| {
            // Other Python threads run while this one waits for the lock.
            let file = self.file.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
            let file = file.bind(py);
            file.call_method1("seek", (offset,)).map_err(failed)?;
            let mut filled = 0;
            while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
                let found = file.call_method1("read", (rest.len(),)).map_err(failed)?;
                let found = found.extract::<PyBackedBytes>().map_err(|error| failed(error.into()))?;
                let Some(part) = rest.get_mut(..found.len()).filter(|part| !part.is_empty()) else {
                    return copy(&found, rest);
                };
                part.copy_from_slice(&found);
                filled += found.len();
            }
            Ok(())
        })
    }
}
