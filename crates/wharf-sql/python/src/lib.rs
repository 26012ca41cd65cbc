//! The Python package `wharf-data-sql`: files as tables of the Python package `datafusion`.
//!
//! Each side has its own DataFusion. Structures of `datafusion-ffi` pass between them, whose layout is stable within a major version.

use std::ffi::CStr;
use std::path::PathBuf;
use std::sync::Arc;

use datafusion_ffi::proto::logical_extension_codec::FFI_LogicalExtensionCodec;
use datafusion_ffi::table_provider::FFI_TableProvider;
use pyo3::exceptions::{PyImportError, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyCapsule, PyDict, PyFloat, PyInt, PyString};
use tokio::runtime::{Handle, Runtime};
use wharf::{Access, Error, ErrorKind, Registry};
use wharf_sql::WharfTable;

/// What `datafusion` gives: how expressions and tables of a session are decoded.
const CODEC: &CStr = c"datafusion_logical_extension_codec";
/// What it takes.
const PROVIDER: &CStr = c"datafusion_table_provider";
const CODEC_METHOD: &str = "__datafusion_logical_extension_codec__";

#[derive(FromPyObject)]
enum Paths {
    One(PathBuf),
    Many(Vec<PathBuf>),
}

#[pyclass(frozen, module = "wharf_data_sql")]
struct Table(Arc<WharfTable>);

#[pymethods]
impl Table {
    #[new]
    #[pyo3(signature = (paths, /, *, table=None, **options))]
    fn new(py: Python<'_>, paths: Paths, table: Option<String>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let paths = match paths {
            Paths::One(path) => vec![path],
            Paths::Many(paths) => paths,
        };
        let options = options.into_iter().flat_map(|options| options.iter());
        let options = options.map(|(name, value)| Ok((name.extract()?, text(&value)?)));
        let options: Vec<(String, String)> = options.collect::<PyResult<_>>()?;
        let open = || WharfTable::open(Registry::builtin(), Access::Auto, &paths, table.as_deref(), options);
        py.detach(open).map(|table| Self(Arc::new(table))).map_err(|error| exception(&error))
    }

    #[getter]
    fn columns(&self) -> Vec<String> {
        self.0.columns().map(str::to_owned).collect()
    }

    fn take_losses(&self) -> Vec<String> {
        self.0.losses().take().iter().map(ToString::to_string).collect()
    }

    fn __repr__(&self) -> String {
        format!("wharf_data_sql.Table({:?})", self.0.label())
    }

    fn __datafusion_table_provider__<'py>(
        &self,
        py: Python<'py>,
        session: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let codec = codec(session)?;
        let table = Arc::clone(&self.0);
        let provider = FFI_TableProvider::new_with_ffi_codec(table, true, Some(runtime(py)?), codec);
        PyCapsule::new_with_value(py, provider, PROVIDER)
    }
}

/// The value of an option as SQL writes it.
fn text(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(flag.is_true().to_string());
    }
    if value.is_instance_of::<PyString>() || value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>() {
        return Ok(value.str()?.to_string());
    }
    Err(PyTypeError::new_err(format!(
        "the value of an option must be str, int, float or bool, found {}",
        value.get_type().name()?
    )))
}

/// The codec of the session that registers a table. It comes as a session or as the capsule itself.
fn codec(session: Bound<'_, PyAny>) -> PyResult<FFI_LogicalExtensionCodec> {
    check_version(session.py())?;
    let capsule = if session.hasattr(CODEC_METHOD)? { session.call_method0(CODEC_METHOD)? } else { session };
    let capsule = capsule.cast::<PyCapsule>()?;
    let codec = capsule.pointer_checked(Some(CODEC))?.cast::<FFI_LogicalExtensionCodec>();
    #[allow(unsafe_code, reason = "the structure is only reachable by pointer")]
    // SAFETY: a capsule of this name holds this structure, whose layout is that of this major version; it lives as long as the capsule.
    let codec = unsafe { codec.as_ref() };
    Ok(codec.clone())
}

/// Fails if the installed `datafusion` has another major version: its structures may have another layout.
fn check_version(py: Python<'_>) -> PyResult<()> {
    let found: String = py.import("datafusion")?.getattr("__version__")?.extract()?;
    let needed = datafusion_ffi::version();
    let major = found.split('.').next().and_then(|major| major.parse::<u64>().ok());
    if major == Some(needed) {
        return Ok(());
    }
    Err(PyImportError::new_err(format!("wharf-data-sql needs datafusion {needed}, found {found}")))
}

/// The threads on which tables are read, for the whole process.
fn runtime(py: Python<'_>) -> PyResult<Handle> {
    static RUNTIME: PyOnceLock<Runtime> = PyOnceLock::new();
    Ok(RUNTIME.get_or_try_init(py, Runtime::new)?.handle().clone())
}

fn exception(error: &Error) -> PyErr {
    let mut cause = std::error::Error::source(error);
    while let Some(source) = cause {
        if let Some(number) = source.downcast_ref::<std::io::Error>().and_then(std::io::Error::raw_os_error) {
            return PyOSError::new_err((number, error.to_string()));
        }
        cause = source.source();
    }
    match error.kind() {
        ErrorKind::Io => PyOSError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Table>()
}
