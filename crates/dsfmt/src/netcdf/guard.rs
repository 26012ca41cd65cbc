//! Panics of libraries that read damaged files.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use container_core::{Error, Result};

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// True while this thread runs library code whose panics are turned into errors.
///
/// The process's panic hook runs before a panic can be caught, and the default hook prints it. A library should not replace the hook; a program
/// that does not want this output can install one that checks this function:
///
/// ```
/// let usual = std::panic::take_hook();
/// std::panic::set_hook(Box::new(move |panic| {
///     if !dsfmt::netcdf::is_guarded() {
///         usual(panic);
///     }
/// }));
/// ```
#[must_use]
pub fn is_guarded() -> bool {
    GUARDED.get()
}

/// Runs the code of a library, `reader`, and turns a panic into an error: damaged files may trigger one.
pub(crate) fn catch_panics<T>(reader: &str, what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let before = GUARDED.replace(true);
    // Unwind safe: apart from caches, the library's state is read-only.
    let result = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(before);
    result.unwrap_or_else(|panic: Box<dyn Any + Send>| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
        Err(Error::invalid(format!("the {reader} reader panicked on {what}: {text}")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_panics_into_errors() {
        assert!(!is_guarded());
        let found = catch_panics("HDF5", "a file", || catch_panics("HDF5", "rows 0 to 3", || Ok(is_guarded())));
        assert!(found.unwrap());
        for reason in [None, Some("index 7")] {
            let error = catch_panics("HDF5", "rows 0 to 3", || -> Result<()> {
                // Like panic!, but without running the hook, which would print it.
                match reason {
                    Some(reason) => std::panic::resume_unwind(Box::new(reason.to_owned())),
                    None => std::panic::resume_unwind(Box::new(7)),
                }
            });
            let expected = format!("the HDF5 reader panicked on rows 0 to 3: {}", reason.unwrap_or("no reason given"));
            assert_eq!(error.unwrap_err().to_string(), expected);
            assert!(!is_guarded());
        }
    }
}
