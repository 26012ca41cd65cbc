//! Texts and errors that hold literals: the crate without an allocator.

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

/// The message for bytes behind the end of something.
pub(crate) const fn trailing(what: &'static str, _: usize) -> Text {
    what
}
