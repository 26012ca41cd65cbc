//! Python objects that are made without a search for garbage among them.
#![allow(unsafe_code, reason = "calls into the interpreter: see the argument below")]

use pyo3::ffi;
use pyo3::prelude::*;

/// Pauses the collector of reference cycles.
struct Pause {
    was_enabled: bool,
}

impl Drop for Pause {
    fn drop(&mut self) {
        if self.was_enabled {
            // SAFETY: the thread is attached: `paused` has a token for the whole life of this value.
            unsafe { ffi::PyGC_Enable() };
        }
    }
}

/// Calls a function that makes new objects without cycles, such as the values of a row. Meanwhile the collector does not run, which would go through
/// these objects in vain, again and again: it took most of the time of reading many documents into a list. They count, so that it runs at the
/// next chance elsewhere.
pub(crate) fn paused<T>(_: Python<'_>, make: impl FnOnce() -> T) -> T {
    // SAFETY: the token shows that the thread is attached. The function sets a flag of the interpreter and returns what it was.
    let _pause = Pause { was_enabled: unsafe { ffi::PyGC_Disable() } != 0 };
    make()
}
