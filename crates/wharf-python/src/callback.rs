//! Calls of Python from functions that other libraries call.
#![allow(unsafe_code, reason = "attaching: see the argument below")]

use pyo3::Python;
use pyo3::ffi::{PyErr_SetInterrupt, PyGILState_Ensure, PyGILState_Release, PyGILState_STATE};

/// Attaches this thread to the interpreter, whoever detached it, and calls `work`.
///
/// [`Python::attach`] does not do for callbacks: it counts, and takes a thread for attached that PyO3 attached and another library, such as
/// pyarrow, detached since.
pub(crate) fn attached<R>(work: impl FnOnce(Python<'_>) -> R) -> R {
    struct Attached(PyGILState_STATE);

    impl Drop for Attached {
        fn drop(&mut self) {
            // SAFETY: the state is that of the call of PyGILState_Ensure on this thread, which this one ends, also when `work` panics.
            unsafe { PyGILState_Release(self.0) }
        }
    }

    // SAFETY: the interpreter is initialized, since it loaded this module. The call may come from any thread, attached or not.
    let _attached = Attached(unsafe { PyGILState_Ensure() });
    // SAFETY: the thread is attached until `_attached` is dropped, which outlives the token.
    work(unsafe { Python::assume_attached() })
}

/// Raises `KeyboardInterrupt` once more when the interpreter goes on.
pub(crate) fn interrupt_again(_: Python<'_>) {
    // SAFETY: the token shows that the thread is attached. The function marks SIGINT as received.
    unsafe { PyErr_SetInterrupt() }
}
