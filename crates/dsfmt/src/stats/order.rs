//! Values by their rank, exactly, without sorting them: their keys are counted by their first 16 bits, then those that share the bits of one
//! that is wanted by the next 16, until few are left.

use std::marker::PhantomData;

use container_core::Result;

use super::Feed;
use super::block::fold;
use super::number::Numeric;

/// Bits by which keys are counted in one pass.
const STEP: u32 = 16;

/// Keys that are brought together and sorted, rather than counted again.
const FEW: u64 = 1 << 20;

/// Counts of all keys by their first bits.
pub(super) struct Counts<T> {
    /// Empty where there are so few values that they are sorted.
    pub(super) counts: Vec<u64>,
    of: PhantomData<T>,
}

/// A value that is wanted.
struct Wanted {
    /// Its place among those whose keys begin with `prefix`, in order.
    rank: u64,
    prefix: u64,
    /// How many these are.
    size: u64,
}

impl<T: Numeric> Counts<T> {
    /// Counts for so many values, all 0.
    pub(super) fn new(values: u64) -> Self {
        let len = if values <= FEW { 0 } else { 1 << T::BITS.min(STEP) };
        Self { counts: vec![0; len], of: PhantomData }
    }

    /// Counts some more.
    pub(super) fn add(&mut self, values: &[T]) {
        if self.counts.is_empty() {
            return;
        }
        let shift = T::BITS.saturating_sub(STEP);
        for value in values {
            if let Some(count) = self.counts.get_mut(index(value.key() >> shift)) {
                *count += 1;
            }
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        add_all(&mut self.counts, &other.counts);
    }
}

/// The values of these ranks among all `n` that are there, of which these are the counts.
pub(super) fn select<T: Numeric>(feed: &Feed<'_, '_>, counts: &Counts<T>, n: u64, ranks: &[u64]) -> Result<Vec<T>> {
    let mut wanted: Vec<Wanted> = ranks.iter().map(|rank| Wanted { rank: *rank, prefix: 0, size: n }).collect();
    let mut known = 0;
    if !counts.counts.is_empty() {
        known = T::BITS.min(STEP);
        wanted.iter_mut().for_each(|wanted| wanted.narrow(&counts.counts, known));
    }
    while known < T::BITS {
        let slots = Slots::<T>::new(&wanted, known);
        if slots.size <= FEW {
            collect(feed, &slots, &mut wanted)?;
            break;
        }
        let new = || vec![0u64; slots.prefixes.len() << STEP];
        let (mut counts, shift) = (new(), T::BITS - known - STEP);
        feed.chunks(|values: &[T], mask| {
            fold(
                values,
                mask,
                &mut counts,
                new,
                |counts, present| {
                    for value in present.values {
                        let key = value.key();
                        if let Some(slot) = slots.find(key)
                            && let Some(count) = counts.get_mut(slot << STEP | index(key >> shift & 0xffff))
                        {
                            *count += 1;
                        }
                    }
                },
                |counts, more| add_all(counts, &more),
            );
        })?;
        for wanted in &mut wanted {
            let slot = slots.prefixes.binary_search(&wanted.prefix).unwrap_or(0) << STEP;
            wanted.narrow(counts.get(slot..slot + (1 << STEP)).unwrap_or_default(), STEP);
        }
        known += STEP;
    }
    Ok(wanted.into_iter().map(|wanted| T::of_key(wanted.prefix)).collect())
}

/// Brings all keys together that begin as the wanted ones do, and sorts them.
fn collect<T: Numeric>(feed: &Feed<'_, '_>, slots: &Slots<T>, wanted: &mut [Wanted]) -> Result<()> {
    let new = || vec![Vec::new(); slots.prefixes.len()];
    let mut found: Vec<Vec<u64>> = new();
    feed.chunks(|values: &[T], mask| {
        fold(
            values,
            mask,
            &mut found,
            new,
            |found, present| {
                for value in present.values {
                    let key = value.key();
                    if let Some(keys) = slots.find(key).and_then(|slot| found.get_mut(slot)) {
                        keys.push(key);
                    }
                }
            },
            |found, more| found.iter_mut().zip(more).for_each(|(keys, more)| keys.extend(more)),
        );
    })?;
    found.iter_mut().for_each(|keys| keys.sort_unstable());
    for wanted in wanted {
        let keys = slots.prefixes.binary_search(&wanted.prefix).ok().and_then(|slot| found.get(slot));
        wanted.prefix = keys.and_then(|keys| keys.get(index(wanted.rank))).copied().unwrap_or(0); // it was counted
    }
    Ok(())
}

impl Wanted {
    /// Goes on to those that share some more bits, of which these are the counts.
    fn narrow(&mut self, counts: &[u64], bits: u32) {
        for (next, count) in (0u64..).zip(counts) {
            if self.rank < *count {
                self.prefix = self.prefix << bits | next;
                self.size = *count;
                return;
            }
            self.rank -= count;
        }
    }
}

/// The beginnings of keys that are looked at.
struct Slots<T> {
    /// In order, each once.
    prefixes: Vec<u64>,
    /// Keys that begin so, of all.
    size: u64,
    /// What follows a beginning.
    shift: u32,
    /// For beginnings of 16 bits: 1 more than the place in `prefixes`, or 0.
    table: Vec<u8>,
    of: PhantomData<T>,
}

impl<T: Numeric> Slots<T> {
    fn new(wanted: &[Wanted], known: u32) -> Self {
        let mut all: Vec<(u64, u64)> = wanted.iter().map(|wanted| (wanted.prefix, wanted.size)).collect();
        all.sort_unstable();
        all.dedup();
        let prefixes: Vec<u64> = all.iter().map(|(prefix, _)| *prefix).collect();
        let mut table = Vec::new();
        if known == STEP {
            table.resize(1 << STEP, 0);
            for (prefix, number) in prefixes.iter().zip(1u8..) {
                if let Some(entry) = table.get_mut(index(*prefix)) {
                    *entry = number;
                }
            }
        }
        Self { prefixes, size: all.iter().map(|(_, size)| size).sum(), shift: T::BITS - known, table, of: PhantomData }
    }

    #[inline]
    fn find(&self, key: u64) -> Option<usize> {
        let prefix = key.checked_shr(self.shift).unwrap_or(0);
        match self.table.get(index(prefix)) {
            Some(number) => usize::from(*number).checked_sub(1),
            None => self.prefixes.binary_search(&prefix).ok(),
        }
    }
}

fn add_all(counts: &mut [u64], more: &[u64]) {
    counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
}

/// A number that is below 2^20 or so as an index.
#[inline]
fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
