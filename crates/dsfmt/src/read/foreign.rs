//! Variables whose values do not lie in a ds file: those of a file in another format that is read as if it were one.

use std::ops::Range;

use container_core::Result;

use crate::array::{Mask, Values};

/// Where the values of all variables come from.
pub(crate) trait Foreign: Send + Sync {
    /// The name of the format, for errors.
    fn format(&self) -> &'static str;

    /// The values of a range of elements of the variable at this place of the header, which has them, and which of them are missing.
    fn read(&self, place: usize, elements: Range<u64>) -> Result<(Values<'static>, Option<Mask<'static>>)>;

    /// Refuses to go over all variables where they are far more than the file can hold.
    fn check_together(&self) -> Result<()>;
}
