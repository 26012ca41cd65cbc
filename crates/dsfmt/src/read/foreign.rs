//! Variables whose values do not lie in a ds file: those of a file in another format that is read as if it were one.

use std::ops::Range;

use container_core::{Error, Result};

use crate::array::{Array, Mask, Values};
use crate::kernel;
use crate::read::fill::too_many;
use crate::read::values::Layout;
use crate::read::variable::Variable;

/// Where the values of all variables come from.
pub(crate) trait Foreign: Send + Sync {
    /// The name of the format, for errors.
    fn format(&self) -> &'static str;

    /// The values of these rows of the variable at this place of the header, which has them.
    fn read(&self, place: usize, rows: Range<u64>) -> Result<Array<'static>>;

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
        let shape = self.shape().unwrap_or_default();
        let wide: u64 = shape.iter().skip(1).product(); // which does not overflow: the whole product was checked
        let rows = match range.start.checked_div(wide) {
            Some(first) if range.start < range.end => first..range.end.div_ceil(wide),
            _ => 0..0,
        };
        // A scalar has one row, also where none is asked for.
        let rows = if shape.is_empty() { 0..1 } else { rows };
        let first = rows.start * wide;
        let (_, values, mask) = from.read(place, rows)?.into_parts();
        if values.data_type() != layout.data_type {
            let detail = format!("its values are {} where {} is expected", values.data_type(), layout.data_type);
            return Err(Error::invalid(detail));
        }
        let end = |element: u64| usize::try_from(element.saturating_sub(first)).map_err(|_| too_many(element));
        cut(values, mask, end(range.start)?..end(range.end)?)
    }
}

/// A range of values, and which of them are missing.
fn cut(
    values: Values<'static>,
    mask: Option<Mask<'static>>,
    range: Range<usize>,
) -> Result<(Values<'static>, Option<Mask<'static>>)> {
    if range == (0..values.len()) {
        return Ok((values, mask));
    }
    if range.end > values.len() {
        return Err(Error::truncated("the values", range.end as u64, values.len() as u64));
    }
    let mut part = Values::with_capacity(values.data_type(), range.len());
    part.extend(&values, range.clone());
    let bits = |mask: Mask<'static>| {
        let bytes = mask.as_bits().get(range.start / 8..).unwrap_or_default();
        Mask::from_bits(kernel::shifted(bytes, range.start % 8, range.len()), range.len())
    };
    Ok((part, mask.map(bits).transpose()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Strings;

    #[test]
    fn a_range_of_values_has_their_part_of_the_mask() {
        let missing: Vec<bool> = (0..29).map(|n| n % 3 == 1 || n == 18).collect();
        let numbers: Vec<i32> = (0..29).collect();
        let texts = || Strings::from_lengths((0..29).map(|n| b'a' + n).collect::<Vec<_>>(), vec![1; 29]).unwrap();
        for (start, end) in [(0, 29), (0, 0), (3, 3), (7, 23), (8, 29), (9, 10)] {
            let mask = Mask::from_bools(missing.iter().copied());
            let (values, mask) = cut(numbers.clone().into(), Some(mask), start..end).unwrap();
            assert_eq!(values.as_slice::<i32>().unwrap(), &numbers[start..end]);
            assert!(mask.unwrap().iter().eq(missing[start..end].iter().copied()), "{start} {end}");
            let (values, mask) = cut(Values::Unicode(texts()), None, start..end).unwrap();
            assert!(values.as_strings().unwrap().iter().eq(texts().iter().skip(start).take(end - start)));
            assert_eq!((mask, values.data_type()), (None, crate::DataType::Unicode));
        }
        assert!(cut(numbers.into(), None, 3..30).is_err());
    }
}
