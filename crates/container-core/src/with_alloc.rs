//! Texts and errors that own what they hold: the crate with an allocator.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::error::Inner;
use crate::{Error, Put, Result};

/// A text that is usually a literal: `Cow<'static, str>` with feature `alloc`, `&'static str` without.
pub type Text = Cow<'static, str>;

/// An error is one word wide.
pub(crate) type Repr = Box<Inner>;

pub(crate) fn repr(inner: Inner) -> Repr {
    Box::new(inner)
}

/// The error behind another one.
pub(crate) type Cause = Box<dyn core::error::Error + Send + Sync + 'static>;

pub(crate) fn source(cause: &Cause) -> &(dyn core::error::Error + 'static) {
    &**cause
}

/// The error for bytes behind the end of something.
pub(crate) fn trailing(what: &'static str, len: usize) -> Error {
    Error::invalid(match len {
        1 => format!("{what}: 1 unexpected trailing byte"),
        more => format!("{what}: {more} unexpected trailing bytes"),
    })
}

/// The message of something inside of a field.
#[cfg(feature = "nom")]
pub(crate) fn within(field: &'static str, detail: &Text) -> Text {
    format!("{field}: {detail}").into()
}

impl Error {
    /// Keeps the error behind this one; [`source`](core::error::Error::source) gives it back.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<Box<dyn core::error::Error + Send + Sync + 'static>>) -> Self {
        self.0.cause = Some(cause.into());
        self
    }

    /// The message with options called as the reader knows them: a command has flags where a library has fields.
    ///
    /// ```
    /// use container_core::Error;
    /// let error = Error::usage("the output exists").advising("{force} replaces it");
    /// assert_eq!(error.to_string(), "the output exists; force replaces it");
    /// assert_eq!(error.with_options(&|name| format!("--{name}")).to_string(), "the output exists; --force replaces it");
    /// ```
    pub fn with_options<'e>(&'e self, call: &'e dyn Fn(&str) -> String) -> impl fmt::Display + 'e {
        Worded { error: self, call }
    }
}

/// An error with its options called in some way.
struct Worded<'e> {
    error: &'e Error,
    call: &'e dyn Fn(&str) -> String,
}

impl fmt::Display for Worded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.write(f, &|f, name| f.write_str(&(self.call)(name)))
    }
}

impl Put for Vec<u8> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.extend_from_slice(bytes);
        Ok(())
    }
}
