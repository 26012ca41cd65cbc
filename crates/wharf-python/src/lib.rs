//! The native module of the Python package `wharf_data`: `wharf_data._native`.
//!
//! Python code in `python/wharf_data` builds on it. All long work runs detached from the interpreter, so that other Python threads go on.

mod batches;
mod callback;
mod command;
mod container;
mod convert;
mod datadings;
mod ds;
mod error;
mod gc;
mod interrupt;
mod json;
mod map;
mod process;
mod query;
mod region;
mod rows;
mod simplebloom;
mod source;
mod table;
mod zds;

use pyo3::prelude::*;

/// What `wharf_data` is built on. Its names may change with every version.
#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<container::Container>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<batches::Batches>()?;
    module.add_class::<batches::RecordBatch>()?;
    module.add_class::<batches::Schema>()?;
    module.add_class::<rows::Rows>()?;
    module.add_function(wrap_pyfunction!(container::open, module)?)?;
    module.add_function(wrap_pyfunction!(convert::convert, module)?)?;
    module.add_function(wrap_pyfunction!(convert::write, module)?)?;
    module.add_function(wrap_pyfunction!(query::diff, module)?)?;
    module.add_function(wrap_pyfunction!(convert::options, module)?)?;
    module.add_function(wrap_pyfunction!(convert::formats, module)?)?;
    module.add_function(wrap_pyfunction!(command::command, module)?)?;
    datadings::register(module)?;
    ds::register(module)?;
    simplebloom::register(module)?;
    zds::register(module)?;
    Ok(())
}
