//! Zero-copy views of numbers.

use std::marker::PhantomData;

use crate::types::Element;

/// Numbers in a mapped file, unaligned and in either byte order.
///
/// The format aligns nothing, because the header has any length. So numbers are loaded one by one, which costs nothing on current processors;
/// [`as_slice`](Self::as_slice) succeeds when they happen to be aligned and in native order.
#[derive(Debug, Clone, Copy)]
pub struct View<'r, T> {
    /// A multiple of the element size.
    bytes: &'r [u8],
    swap: bool,
    element: PhantomData<T>,
}

impl<'r, T: Element> View<'r, T> {
    /// Trailing bytes after the last whole element are ignored.
    pub(crate) fn new(bytes: &'r [u8], swap: bool) -> Self {
        let whole = bytes.len() - bytes.len() % size_of::<T>();
        Self { bytes: bytes.get(..whole).unwrap_or_default(), swap: swap && size_of::<T>() > 1, element: PhantomData }
    }

    /// Number of elements.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len() / size_of::<T>()
    }

    /// True when there are no elements.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    #[inline]
    fn number(&self, bytes: &[u8]) -> T {
        let number = bytemuck::try_pod_read_unaligned::<T>(bytes).unwrap_or_default(); // the length always fits
        if self.swap { number.swapped() } else { number }
    }

    /// The element at `index`.
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> Option<T> {
        let start = index.checked_mul(size_of::<T>())?;
        Some(self.number(self.bytes.get(start..start.checked_add(size_of::<T>())?)?))
    }

    /// All elements in order.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = T> + DoubleEndedIterator + use<'r, T> {
        let view = *self;
        view.bytes.chunks_exact(size_of::<T>()).map(move |bytes| view.number(bytes))
    }

    /// The elements in arrays of `N`, and the remaining ones: for loops that should vectorize.
    #[inline]
    pub fn chunks<const N: usize>(&self) -> (impl ExactSizeIterator<Item = [T; N]> + use<'r, T, N>, Self) {
        let view = *self;
        let width = size_of::<T>() * N.max(1);
        let (whole, rest) = view.bytes.split_at(view.bytes.len() - view.bytes.len() % width);
        let chunks = whole.chunks_exact(width).map(move |bytes| {
            let mut numbers = [T::default(); N];
            for (number, bytes) in numbers.iter_mut().zip(bytes.chunks_exact(size_of::<T>())) {
                *number = view.number(bytes);
            }
            numbers
        });
        (chunks, Self { bytes: rest, ..view })
    }

    /// The elements as a slice, if aligned and in native byte order.
    #[must_use]
    pub fn as_slice(&self) -> Option<&'r [T]> {
        if self.swap { None } else { bytemuck::try_cast_slice(self.bytes).ok() }
    }

    /// The raw bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &'r [u8] {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_any_alignment_and_order() {
        let numbers: Vec<i32> = (0..37).map(|n| n * 0x0101_0301 - 5).collect();
        for swap in [false, true] {
            let stored = |number: &i32| if swap { number.swapped() } else { *number };
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| stored(number).to_ne_bytes()).collect();
            for shift in 0..4 {
                let mut buffer = vec![9; shift];
                buffer.extend_from_slice(&bytes);
                buffer.extend_from_slice(&[1, 2, 3]);
                let view: View<'_, i32> = View::new(&buffer[shift..], swap);
                assert_eq!((view.len(), view.iter().collect::<Vec<_>>()), (37, numbers.clone()));
                assert_eq!((view.get(36), view.get(37), view.get(usize::MAX)), (Some(numbers[36]), None, None));
                let (chunks, rest) = view.chunks::<8>();
                assert_eq!((chunks.len(), rest.len()), (4, 5));
                assert_eq!(chunks.flatten().chain(rest.iter()).collect::<Vec<_>>(), numbers);
                let is_slice = view.as_bytes().as_ptr().addr().is_multiple_of(4) && !swap;
                assert_eq!(view.as_slice(), is_slice.then_some(&numbers[..]));
            }
        }
        let bytes: View<'_, u8> = View::new(&[1, 2], true);
        assert_eq!((bytes.as_slice(), bytes.is_empty()), (Some(&[1, 2][..]), false));
    }
}
