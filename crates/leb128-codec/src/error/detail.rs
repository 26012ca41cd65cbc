//! Error messages with an allocator. `static_detail.rs` has those without.

extern crate alloc;

use alloc::format;
use alloc::string::String;

use super::{DecodeError, Reason};

pub(super) fn detail(error: DecodeError, what: &'static str) -> String {
    format!("{what}: LEB128 {}", Reason(error))
}
