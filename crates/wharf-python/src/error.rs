//! Errors as the exceptions of `wharf_data._errors`.

use container_core::{Error, ErrorKind};
use pyo3::exceptions::{PyException, PyRuntimeError};
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

/// The exception of a file object that caused an error.
fn raised(py: Python<'_>, error: &Error) -> Option<PyErr> {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let own = error.downcast_ref::<std::io::Error>().and_then(|io| io.get_ref()?.downcast_ref::<PyErr>());
        if let Some(raised) = own {
            return Some(raised.clone_ref(py));
        }
        cause = error.source();
    }
    None
}

/// The exception for an error: its class by kind, its attributes by position.
///
/// An exception of a file object is its cause; one that is to end the program, such as `KeyboardInterrupt`, is passed on.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let raised = raised(py, error);
    if let Some(raised) = raised.as_ref().filter(|raised| !raised.is_instance_of::<PyException>(py)) {
        return raised.clone_ref(py);
    }
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
        if let Some(errno) = raised.as_ref().and_then(|raised| raised.value(py).getattr("errno").ok()) {
            fields.set_item("errno", errno)?;
        }
        let message = error.with_options(&keyword).to_string();
        let made = PyErr::from_value(make.bind(py).call((message,), Some(&fields))?);
        if let Some(raised) = &raised {
            made.set_cause(py, Some(raised.clone_ref(py)));
        }
        Ok(made)
    };
    made().unwrap_or_else(|failed| PyRuntimeError::new_err(format!("{error} ({failed})")))
}
