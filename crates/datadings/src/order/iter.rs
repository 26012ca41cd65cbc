use core::iter::FusedIterator;

use super::{Cache, Order, Positions};

/// The samples at some positions of one epoch, in order; see [`Order::iter`]. It owns what it needs and can be sent to another thread.
///
/// Skipping ([`nth`](Iterator::nth), [`skip`](Iterator::skip), `nth_back`) takes no longer than a step. There is no
/// `ExactSizeIterator`, because not every length is a `usize`: see [`remaining`](Self::remaining).
#[derive(Debug, Clone)]
pub struct Iter {
    order: Order,
    caches: Vec<Cache>,
    epoch: u64,
    /// What is left.
    left: Positions,
}

impl Iter {
    pub(super) fn new(order: &Order, epoch: u64, left: Positions) -> Self {
        Self { order: order.clone(), caches: order.caches(), epoch, left }
    }

    /// How many samples are left; of an endless order, how many positions are left below 2^64 - 1.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.left.len
    }

    /// The position of the next sample, which is where [`Order::iter_from`] goes on; `None` at the end.
    #[must_use]
    pub fn position(&self) -> Option<u64> {
        self.left.get(0)
    }

    /// Drops up to `n` positions at the front.
    fn advance(&mut self, n: u64) {
        let n = n.min(self.left.len);
        // At the end the next position may not be a number any more; it is not asked for.
        self.left.first = self.left.first.wrapping_add(n.wrapping_mul(self.left.step));
        self.left.len -= n;
    }
}

/// A count of the standard library as one of ours.
fn wide(n: usize) -> u64 {
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
        self.advance(wide(n));
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
        self.left.len = self.left.len.saturating_sub(wide(n));
        self.next_back()
    }
}

impl FusedIterator for Iter {}
