//! Error messages without an allocator: static strings, no cause.

use crate::Error;

/// An error message: `Cow<'static, str>` with feature `alloc`, `&'static str` without.
pub type Text = &'static str;

pub(crate) type Repr = crate::error::Inner;

pub(crate) const fn repr(inner: crate::error::Inner) -> Repr {
    inner
}

/// Causes need an allocator.
pub(crate) type Cause = core::convert::Infallible;

pub(crate) fn source(cause: &Cause) -> &(dyn core::error::Error + 'static) {
    cause
}

#[cfg(test)]
pub(crate) const CAN_FORMAT: bool = false;

/// The error for trailing bytes; their number cannot be formatted here.
pub(crate) fn trailing(what: &'static str, _: usize) -> Error {
    Error::invalid(what).advising("unexpected trailing bytes")
}

/// Prefixes a message with its field. Here the field replaces it.
#[allow(dead_code, reason = "for the feature `nom`")]
pub(crate) const fn within(field: &'static str, _: &Text) -> Text {
    field
}
