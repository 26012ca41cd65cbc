//! Error messages without an allocator.

use super::{DecodeError, DecodeErrorKind};

pub(super) const fn detail(error: DecodeError, _: &'static str) -> &'static str {
    match error.kind {
        DecodeErrorKind::Truncated => "LEB128 value is truncated",
        DecodeErrorKind::Overflow => "LEB128 value does not fit its type",
        DecodeErrorKind::Overlong => "LEB128 value is padded",
    }
}
