//! Stores of JSON documents: the native bases of `wharf_data.zds`.

mod collection;
mod fast_json;
mod json;
mod root;
mod scan;
mod store;

use container_core::Error;
use pyo3::prelude::*;

use self::collection::ZdsCollection;
use self::scan::ZdsScan;
use self::store::ZdsStore;
use crate::error::Failure;

/// The result of the library.
type LibraryResult<T> = std::result::Result<T, Error>;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ZdsStore>()?;
    module.add_class::<ZdsCollection>()?;
    module.add_class::<ZdsScan>()
}

/// The library's error for a document, which has its position, rather than that of Python.
fn located(error: PyErr, document: &zdx::Document<'_>) -> Failure {
    match document.value() {
        Err(located) => located.into(),
        Ok(_) => error.into(),
    }
}
