use core::iter::FusedIterator;
use core::marker::PhantomData;

use crate::error::RunError;
use crate::integer::Integer;

/// Iterates over the values of type `T` to the end of the bytes.
///
/// ```
/// let sum: u64 = leb128_codec::values::<u64>(&[0xac, 0x02, 0x07]).sum::<Result<_, _>>()?;
/// assert_eq!(sum, 307);
/// # Ok::<(), leb128_codec::RunError>(())
/// ```
#[must_use]
pub const fn values<T: Integer>(bytes: &[u8]) -> Values<'_, T> {
    Values { rest: bytes, offset: 0, index: 0, of: PhantomData }
}

/// Iterator returned by [`values`]. It ends after an error.
#[derive(Debug, Clone)]
pub struct Values<'a, T> {
    rest: &'a [u8],
    offset: usize,
    index: usize,
    of: PhantomData<fn() -> T>,
}

impl<T> Values<'_, T> {
    /// The offset of the next value; after an error, the offset of the invalid one.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }
}

impl<T: Integer> Iterator for Values<'_, T> {
    type Item = Result<T, RunError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        match T::decode(self.rest) {
            Ok((value, len)) => {
                self.rest = self.rest.split_at(len).1;
                self.offset += len;
                self.index += 1;
                Some(Ok(value))
            }
            Err(error) => {
                self.rest = &[];
                Some(Err(RunError::new(self.index, error.shifted(self.offset))))
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // At most one value per byte; at least one, or an error.
        (usize::from(!self.rest.is_empty()), Some(self.rest.len()))
    }
}

impl<T: Integer> FusedIterator for Values<'_, T> {}
