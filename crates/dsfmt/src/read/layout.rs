//! Where a variable lies in its file.

use std::ops::Range;

use crate::types::{DataType, Endian};

/// Where the parts of a variable lie in the file.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) data_type: DataType,
    pub(crate) endian: Endian,
    /// Elements, missing ones among them.
    pub(crate) count: u64,
    pub(crate) mask: Option<Range<u64>>,
    pub(crate) data: Range<u64>,
}

impl Layout {
    pub(crate) fn swap(&self) -> bool {
        self.endian != Endian::NATIVE
    }
}

/// A part of all bytes.
pub(crate) fn slice<'b>(all: &'b [u8], range: &Range<u64>) -> Option<&'b [u8]> {
    all.get(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?)
}
