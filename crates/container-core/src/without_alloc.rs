//! Texts and errors that hold literals: the crate without an allocator.

use crate::Error;

/// A text that is usually a literal: `Cow<'static, str>` with feature `alloc`, `&'static str` without.
pub type Text = &'static str;

pub(crate) type Repr = crate::error::Inner;

pub(crate) const fn repr(inner: crate::error::Inner) -> Repr {
    inner
}

/// No error is kept behind another one.
pub(crate) type Cause = core::convert::Infallible;

pub(crate) fn source(cause: &Cause) -> &(dyn core::error::Error + 'static) {
    cause
}

/// The error for bytes behind the end of something; how many there are cannot be written into a literal.
pub(crate) fn trailing(what: &'static str, _: usize) -> Error {
    Error::invalid(what).advising("unexpected trailing bytes")
}

/// The message of something inside of a field.
#[cfg(feature = "nom")]
pub(crate) const fn within(field: &'static str, _: &Text) -> Text {
    field
}
