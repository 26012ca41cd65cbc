//! On systems other than Linux, memory of arrays is new each time.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

pub(super) fn large<'py>(
    _: Python<'py>,
    _: &[u64],
    _: &Bound<'py, PyTuple>,
    _: &str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    Ok(None)
}
