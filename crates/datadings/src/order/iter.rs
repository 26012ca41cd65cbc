use core::iter::FusedIterator;

use super::{Cache, Order, Positions};

/// Iterates over the samples at some positions of an epoch; see [`Order::iter`]. Owns its state and can be sent to another thread.
///
/// Skipping ([`nth`](Iterator::nth), [`skip`](Iterator::skip), `nth_back`) is O(1). Not an `ExactSizeIterator`, because lengths can exceed
/// `usize`: see [`remaining`](Self::remaining).
#[derive(Debug, Clone)]
pub struct Iter {
    order: Order,
    caches: Vec<Cache>,
    epoch: u64,
    /// Positions still to come.
    left: Positions,
}

impl Iter {
    pub(super) fn new(order: &Order, epoch: u64, left: Positions) -> Self {
        Self { order: order.clone(), caches: order.caches(), epoch, left }
    }

    /// Number of samples left; for an endless order, of positions below 2^64 - 1.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.left.len
    }

    /// The position of the next sample, where [`Order::iter_from`] can resume; `None` at the end.
    #[must_use]
    pub fn position(&self) -> Option<u64> {
        self.left.get(0)
    }

    /// Skips up to `n` positions at the front.
    fn advance(&mut self, n: u64) {
        let n = n.min(self.left.len);
        // At the end the next position may overflow; it is never used.
        self.left.first = self.left.first.wrapping_add(n.wrapping_mul(self.left.step));
        self.left.len -= n;
    }
}

/// Converts a count of the standard library.
fn to_u64(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

impl Iterator for Iter {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        let position = self.left.get(0)?;
        self.advance(1);
        let [sample] = self.order.locate(self.epoch, [position], &mut self.caches);
        Some(sample)
    }

    fn nth(&mut self, n: usize) -> Option<u64> {
        self.advance(to_u64(n));
        self.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match usize::try_from(self.left.len) {
            Ok(len) => (len, Some(len)),
            Err(_) => (usize::MAX, None),
        }
    }

    fn count(self) -> usize {
        self.size_hint().0
    }

    fn last(mut self) -> Option<u64> {
        self.next_back()
    }
}

impl DoubleEndedIterator for Iter {
    #[inline]
    fn next_back(&mut self) -> Option<u64> {
        let position = self.left.get(self.left.len.checked_sub(1)?)?;
        self.left.len -= 1;
        let [sample] = self.order.locate(self.epoch, [position], &mut self.caches);
        Some(sample)
    }

    fn nth_back(&mut self, n: usize) -> Option<u64> {
        self.left.len = self.left.len.saturating_sub(to_u64(n));
        self.next_back()
    }
}

impl FusedIterator for Iter {}
