//! Variables whose values do not lie in a ds file: those of a file in another format that is read as if it were one.

use std::ops::Range;

use container_core::{Error, Result};

use crate::array::{Mask, Values};
use crate::read::values::Layout;
use crate::read::variable::Variable;

/// Where the values of all variables come from.
pub(crate) trait Foreign: Send + Sync {
    /// The name of the format, for errors.
    fn format(&self) -> &'static str;

    /// The values of a range of elements of the variable at this place of the header, which has them, and which of them are missing.
    fn read(&self, place: usize, elements: Range<u64>) -> Result<(Values<'static>, Option<Mask<'static>>)>;

    /// Refuses to go over all variables where they are far more than the file can hold.
    fn check_together(&self) -> Result<()>;
}

impl<'r> Variable<'r> {
    /// The values of a range of elements, which the variable has, from elsewhere.
    pub(crate) fn foreign(
        &self,
        from: &dyn Foreign,
        layout: &Layout,
        range: Range<u64>,
    ) -> Result<(Values<'r>, Option<Mask<'r>>)> {
        let place =
            self.reader.header.find(self.name()).ok_or_else(|| Error::usage("the variable is of another file"))?;
        let count = range.end - range.start;
        let (values, mask) = from.read(place, range)?;
        if values.len() as u64 != count {
            return Err(Error::truncated("the values", count, values.len() as u64));
        }
        if values.data_type() != layout.data_type {
            let detail = format!("its values are {} where {} is expected", values.data_type(), layout.data_type);
            return Err(Error::invalid(detail));
        }
        Ok((values, mask))
    }
}
