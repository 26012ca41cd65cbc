//! Values of another format, exposed through the ds reader.

use std::ops::Range;

use container_core::Result;

use crate::array::{Mask, Values};

/// Supplies the values of all variables of a file that is not ds.
pub(crate) trait ForeignSource: Send + Sync {
    /// Format name for error messages.
    fn format(&self) -> &'static str;

    /// Reads an element range of the variable at `index` in the header. The range is within its shape.
    fn read(&self, index: usize, elements: Range<u64>) -> Result<(Values<'static>, Option<Mask<'static>>)>;

    /// Rejects reading all variables when they declare far more data than the file can hold.
    fn check_declared_bytes(&self) -> Result<()>;
}
