//! Error messages with an allocator: owned strings and causes. `without_alloc.rs` has the same names.

extern crate alloc;

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::error::Inner;
use crate::{Error, Put, Result};

/// An error message: `Cow<'static, str>` with feature `alloc`, `&'static str` without.
pub type Text = Cow<'static, str>;

/// Keeps [`Error`] one word wide.
pub(crate) type Repr = Box<Inner>;

pub(crate) fn repr(inner: Inner) -> Repr {
    Box::new(inner)
}

/// The cause of an error.
pub(crate) type Cause = Box<dyn core::error::Error + Send + Sync + 'static>;

pub(crate) fn source(cause: &Cause) -> &(dyn core::error::Error + 'static) {
    &**cause
}

/// The error for trailing bytes.
pub(crate) fn trailing(what: &'static str, len: usize) -> Error {
    Error::invalid(match len {
        1 => format!("{what}: 1 unexpected trailing byte"),
        more => format!("{what}: {more} unexpected trailing bytes"),
    })
}

/// Prefixes a message with its field.
#[allow(dead_code, reason = "for the feature `nom`")]
pub(crate) fn within(field: &'static str, detail: &Text) -> Text {
    format!("{field}: {detail}").into()
}

impl Error {
    /// Sets the cause, which [`source`](core::error::Error::source) returns.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<Box<dyn core::error::Error + Send + Sync + 'static>>) -> Self {
        self.0.cause = Some(cause.into());
        self
    }

    /// Displays the message with option names mapped by `name`: a command shows flags where the library has fields.
    ///
    /// ```
    /// use container_core::Error;
    /// let error = Error::usage("the output exists").advising("{force} replaces it");
    /// assert_eq!(error.to_string(), "the output exists; force replaces it");
    /// assert_eq!(error.with_options(&|name| format!("--{name}")).to_string(), "the output exists; --force replaces it");
    /// ```
    pub fn with_options<'e>(&'e self, name: &'e dyn Fn(&str) -> String) -> impl fmt::Display + 'e {
        WithOptions { error: self, name }
    }
}

#[cfg(test)]
pub(crate) const CAN_FORMAT: bool = true;

/// An error whose option names are mapped.
struct WithOptions<'e> {
    error: &'e Error,
    name: &'e dyn Fn(&str) -> String,
}

impl fmt::Display for WithOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.write(f, &|f, option| f.write_str(&(self.name)(option)))
    }
}

impl Put for Vec<u8> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.extend_from_slice(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_without_value_is_one_word() {
        assert_eq!(size_of::<Result<()>>(), size_of::<usize>());
    }

    #[test]
    fn option_names_are_rewritten() {
        let error = Error::usage("does not go with {CSV}").in_option("no_header").in_file("a").at(3);
        let error = error.advising("{from} jsonl, or {} and {to").caused_by("cause");
        assert_eq!(error.to_string(), "a: no_header does not go with {CSV}: cause; from jsonl, or  and {to (byte 3)");
        let flags = |name: &str| format!("--{}", name.replace('_', "-"));
        let worded = error.with_options(&flags).to_string();
        assert_eq!(worded, "a: --no-header does not go with {CSV}: cause; --from jsonl, or -- and {to (byte 3)");
        let error = error.advising_only(|name| name == "from" || name.is_empty());
        assert_eq!(error.to_string(), "a: no_header does not go with {CSV}: cause; from jsonl, or  and {to (byte 3)");
        let error = error.advising_only(|name| name == "from");
        assert_eq!(error.to_string(), "a: no_header does not go with {CSV}: cause (byte 3)");
    }
}
