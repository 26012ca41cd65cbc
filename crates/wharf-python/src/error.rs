//! Errors as the exceptions of `wharf_data._errors`.

use container_core::{Error, ErrorKind};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyAny, PyDict};

/// The result of a call into the library.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// An error of the library, or an exception.
pub(crate) enum Failure {
    Library(Error),
    Python(PyErr),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Library(error) => Python::attach(|py| exception(py, &error)),
            Failure::Python(error) => error,
        }
    }
}

/// The keyword argument for an option of the library.
fn keyword(option: &str) -> String {
    if option == "force" { "overwrite=True".to_owned() } else { option.to_owned() }
}

/// The function `wharf_data._errors.make`.
static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The exception for an error: its class by kind, its attributes by position.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let made = || -> PyResult<PyErr> {
        let make =
            MAKE.get_or_try_init(py, || PyResult::Ok(py.import("wharf_data._errors")?.getattr("make")?.unbind()))?;
        let position = error.position();
        let fields = PyDict::new(py);
        fields.set_item("kind", error.kind().name())?;
        fields.set_item("format", error.format())?;
        fields.set_item("path", position.file.as_deref())?;
        fields.set_item("offset", position.byte)?;
        fields.set_item("row", position.row)?;
        fields.set_item("block", position.block)?;
        fields.set_item("line", position.line)?;
        fields.set_item("column", position.column.as_deref())?;
        fields.set_item("key", position.key.as_deref())?;
        if error.kind() == ErrorKind::Io {
            let mut cause = std::error::Error::source(error);
            while let Some(error) = cause {
                if let Some(io) = error.downcast_ref::<std::io::Error>() {
                    fields.set_item("errno", io.raw_os_error())?;
                    break;
                }
                cause = error.source();
            }
        }
        let message = error.with_options(&keyword).to_string();
        Ok(PyErr::from_value(make.bind(py).call((message,), Some(&fields))?))
    };
    made().unwrap_or_else(|failed| PyRuntimeError::new_err(format!("{error} ({failed})")))
}
