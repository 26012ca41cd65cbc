//! Exact order statistics without sorting: a radix selection. Keys are counted by their first 16 bits, then those that share the prefix of a
//! searched value by the next 16, until few enough remain to sort.

use std::marker::PhantomData;

use container_core::Result;

use super::ChunkSource;
use super::block::{fold, fold_large};
use super::number::Numeric;

/// Key bits counted per pass.
const STEP: u32 = 16;

/// Up to this many keys are collected and sorted instead of counted again.
const MAX_SORTED: u64 = 1 << 20;

/// Counts of all keys by their first bits.
pub(super) struct Counts<T> {
    /// Empty when there are few enough values to sort.
    pub(super) counts: Vec<u64>,
    element: PhantomData<T>,
}

/// A value to find by rank.
struct Target {
    /// Its rank among the keys that begin with `prefix`.
    rank: u64,
    prefix: u64,
    /// Number of these keys.
    size: u64,
}

impl<T: Numeric> Counts<T> {
    /// Zeroed counts for `values` values.
    pub(super) fn new(values: u64) -> Self {
        let len = if values <= MAX_SORTED { 0 } else { 1 << T::BITS.min(STEP) };
        Self { counts: vec![0; len], element: PhantomData }
    }

    /// Counts more values.
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

/// Finds the values of the given ranks among `n` present values, starting from their `counts`.
pub(super) fn select<T: Numeric>(
    source: &ChunkSource<'_, '_>,
    counts: &Counts<T>,
    n: u64,
    ranks: &[u64],
) -> Result<Vec<T>> {
    let mut targets: Vec<Target> = ranks.iter().map(|rank| Target { rank: *rank, prefix: 0, size: n }).collect();
    let mut known = 0;
    if !counts.counts.is_empty() {
        known = T::BITS.min(STEP);
        targets.iter_mut().for_each(|target| target.narrow(&counts.counts, known));
    }
    while known < T::BITS {
        let slots = PrefixTable::<T>::new(&targets, known);
        if slots.size <= MAX_SORTED {
            collect(source, &slots, &mut targets)?;
            break;
        }
        let new = || vec![0u64; slots.prefixes.len() << STEP];
        let (mut counts, shift) = (new(), T::BITS - known - STEP);
        source.chunks(|values: &[T], mask| {
            fold_large(
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
        for target in &mut targets {
            let slot = slots.prefixes.binary_search(&target.prefix).unwrap_or(0) << STEP;
            target.narrow(counts.get(slot..slot + (1 << STEP)).unwrap_or_default(), STEP);
        }
        known += STEP;
    }
    Ok(targets.into_iter().map(|target| T::from_key(target.prefix)).collect())
}

/// Collects and sorts the keys that share a target's prefix.
fn collect<T: Numeric>(source: &ChunkSource<'_, '_>, slots: &PrefixTable<T>, targets: &mut [Target]) -> Result<()> {
    let new = || vec![Vec::new(); slots.prefixes.len()];
    let mut groups: Vec<Vec<u64>> = new();
    source.chunks(|values: &[T], mask| {
        fold(
            values,
            mask,
            &mut groups,
            new,
            |groups, present| {
                for value in present.values {
                    let key = value.key();
                    if let Some(keys) = slots.find(key).and_then(|slot| groups.get_mut(slot)) {
                        keys.push(key);
                    }
                }
            },
            |groups, more| groups.iter_mut().zip(more).for_each(|(keys, more)| keys.extend(more)),
        );
    })?;
    groups.iter_mut().for_each(|keys| keys.sort_unstable());
    for target in targets {
        let keys = slots.prefixes.binary_search(&target.prefix).ok().and_then(|slot| groups.get(slot));
        target.prefix = keys.and_then(|keys| keys.get(index(target.rank))).copied().unwrap_or(0); // present: counted before
    }
    Ok(())
}

impl Target {
    /// Extends the prefix by `bits` bits, given the counts of their values.
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

/// The prefixes of all targets.
struct PrefixTable<T> {
    /// Sorted, unique.
    prefixes: Vec<u64>,
    /// Total number of keys with these prefixes.
    size: u64,
    /// Number of bits after a prefix.
    shift: u32,
    /// For the first 16 bits of a key: the index in `prefixes` of the first one that begins with them, plus 1, or 0. Empty for shorter prefixes.
    table: Vec<u8>,
    element: PhantomData<T>,
}

impl<T: Numeric> PrefixTable<T> {
    fn new(targets: &[Target], known: u32) -> Self {
        let mut all: Vec<(u64, u64)> = targets.iter().map(|target| (target.prefix, target.size)).collect();
        all.sort_unstable();
        all.dedup();
        let prefixes: Vec<u64> = all.iter().map(|(prefix, _)| *prefix).collect();
        let mut table = Vec::new();
        if let Some(more) = known.checked_sub(STEP) {
            table.resize(1 << STEP, 0);
            for (prefix, number) in prefixes.iter().zip(1u8..) {
                if let Some(entry @ 0) = table.get_mut(index(prefix >> more)) {
                    *entry = number;
                }
            }
        }
        let size = all.iter().map(|(_, size)| size).sum();
        Self { prefixes, size, shift: T::BITS - known, table, element: PhantomData }
    }

    #[inline]
    fn find(&self, key: u64) -> Option<usize> {
        let first = match self.table.get(index(key >> T::BITS.saturating_sub(STEP))) {
            Some(number) => usize::from(*number).checked_sub(1)?,
            None => 0,
        };
        let prefix = key.checked_shr(self.shift).unwrap_or(0);
        // Few prefixes begin alike.
        let after = self.prefixes.get(first..)?.iter().position(|other| *other >= prefix)?;
        (self.prefixes.get(first + after) == Some(&prefix)).then_some(first + after)
    }
}

fn add_all(counts: &mut [u64], more: &[u64]) {
    counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
}

/// Converts a small number to an index.
#[inline]
fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
