//! Panics of the libraries that read files become errors.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use container_core::{Error, Result};

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Is this thread inside of a library whose panics become errors of this crate?
///
/// The crates `parquet` and `arrow-ipc` can panic on malformed files. What they say is caught and given as an error, but every panic is told
/// to the process's hook before anybody can catch it, and the hook that a process begins with prints it. A program that wants no such print
/// can have a hook that asks this:
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

/// Runs a library on `what`, so that a panic in it becomes an error: it is not ours to trust on damaged files.
pub(crate) fn guarded<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let before = GUARDED.replace(true);
    // Whoever gets the error drops what was half changed: no walk goes on behind it.
    let done = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(before);
    done.unwrap_or_else(|panic: Box<dyn Any + Send>| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
        Err(Error::invalid(format!("{what} cannot be read: {}", text.lines().next().unwrap_or_default())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_that_says_why() {
        assert!(!is_guarded());
        let error = guarded("the page", || -> Result<()> { panic!("index {} out of bounds\nmore", 7) }).unwrap_err();
        assert_eq!(error.to_string(), "the page cannot be read: index 7 out of bounds");
        assert!(!is_guarded());
        assert!(guarded("a", || guarded("b", || Ok(is_guarded()))).unwrap());
    }
}
