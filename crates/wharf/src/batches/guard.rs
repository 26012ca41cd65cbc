//! Turns panics of the libraries that read files into errors.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use container_core::{Error, Result};

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is inside a library call whose panics become errors.
///
/// The crates `parquet` and `arrow-ipc` can panic on malformed files. Such panics are caught and returned as errors, but the process's panic hook
/// runs first, and the default hook prints a message. To suppress it, install a hook:
///
/// ```
/// let usual = std::panic::take_hook();
/// std::panic::set_hook(Box::new(move |panic| {
///     if !wharf::is_guarded() {
///         usual(panic);
///     }
/// }));
/// ```
#[must_use]
pub fn is_guarded() -> bool {
    GUARDED.get()
}

/// Runs `work` of a library on `what`, turning a panic into an error.
pub(crate) fn guarded<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let before = GUARDED.replace(true);
    // Unwind safety: after an error callers drop what may be half changed, and readers stop.
    let result = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(before);
    result.unwrap_or_else(|panic: Box<dyn Any + Send>| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
        Err(Error::invalid(format!("cannot read {what}: {}", text.lines().next().unwrap_or_default())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panic_becomes_error_with_its_message() {
        assert!(!is_guarded());
        let error = guarded("the page", || -> Result<()> { panic!("index {} out of bounds\nmore", 7) }).unwrap_err();
        assert_eq!(error.to_string(), "cannot read the page: index 7 out of bounds");
        assert!(!is_guarded());
        assert!(guarded("a", || guarded("b", || Ok(is_guarded()))).unwrap());
    }
}
