//! The command `wharf`, which comes with the package.

use std::ffi::OsString;

use pyo3::prelude::*;
use wharf::Registry;

/// Runs the command `wharf` with these arguments, of which the first is its name, and returns the exit code.
///
/// It installs handlers for signals, so that the process should end after it.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| wharf_cli::run_process(arguments, &Registry::builtin()))
}
