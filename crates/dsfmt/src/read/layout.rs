//! Location of a variable in its file.

use std::ops::Range;

use crate::types::{DataType, Endian};

/// File ranges of a variable's parts.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) data_type: DataType,
    pub(crate) endian: Endian,
    /// Number of elements, including missing ones.
    pub(crate) count: u64,
    pub(crate) mask: Option<Range<u64>>,
    pub(crate) data: Range<u64>,
}

impl Layout {
    pub(crate) fn swap(&self) -> bool {
        self.endian != Endian::NATIVE
    }
}

/// `all[range]`, checked.
pub(crate) fn slice<'b>(all: &'b [u8], range: &Range<u64>) -> Option<&'b [u8]> {
    all.get(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?)
}
