//! Many keys in a filter larger than the cache.
//!
//! There each bit costs a cache miss and a TLB miss, and prefetching hides only the former. So the indices of many keys are
//! partitioned first, by the part of the filter they are in; then one part at a time, which fits into the cache, is accessed.

use alloc::vec::Vec;

use crate::digest::group::{Digest, LANES};
use crate::plan::{Plan, ROWS, fill_lanes, is_set, set};
use crate::probe::Row;
use crate::simd;

/// Filters of at most this many bytes are not partitioned: prefetching suffices.
const MAX_PREFETCHED_BYTES: usize = 6 << 20;

/// The base-2 logarithm of a part's minimum number of bits: half of a typical L2 cache.
const MIN_PART_BITS: u32 = 21;

/// The base-2 logarithm of a part's maximum number of bits: offsets in a part are `u32`.
const MAX_PART_BITS: u32 = 32;

/// Beyond this number of parts, partitioning costs more than it saves.
const MAX_PARTS: u64 = 256;

/// Bytes per cache line.
const LINE: usize = 64;

/// Whether partitioning this many keys is worth it: if there is more than one bit per cache line.
pub(crate) fn is_worth_it(bits: &[u8], plan: &Plan, keys: usize) -> bool {
    bits.len() > MAX_PREFETCHED_BYTES && keys.saturating_mul(plan.hashes()) > bits.len() / LINE
}

/// Keys to partition at a time: their indices take about as much memory as the filter, so each cache line has about a
/// dozen of their bits; limited to some hundred megabytes.
pub(crate) fn batch_size(bits: &[u8], plan: &Plan) -> usize {
    const MIN: usize = 1 << 14;
    const MAX: usize = 1 << 21;
    (bits.len() / size_of::<u32>() / plan.hashes().max(1)).clamp(MIN, MAX)
}

/// Indices by part. An item is an index's offset in its part, possibly with additional data.
pub(crate) struct Bins<T> {
    /// The base-2 logarithm of a part's number of bits.
    shift: u32,
    /// Slots per part.
    capacity: usize,
    /// Used slots of each part.
    counts: Vec<usize>,
    slots: Vec<T>,
    /// Items beyond the capacity, by part. Few, because hashes are uniform, unless keys repeat.
    overflow: Vec<Vec<T>>,
}

impl<T: Copy + Default> Bins<T> {
    /// Empty bins for `count` indices in a filter of `bytes` bytes.
    pub(crate) fn new(bytes: usize, count: usize) -> Self {
        let bits = (bytes as u64).saturating_mul(8).max(1);
        let shift = bits.div_ceil(MAX_PARTS).next_power_of_two().ilog2().clamp(MIN_PART_BITS, MAX_PART_BITS);
        let parts = usize::try_from(bits.div_ceil(1 << shift)).unwrap_or(usize::MAX);
        let whole_parts = usize::try_from(bits >> shift).unwrap_or(usize::MAX).max(1);
        let expected = count / whole_parts;
        let capacity = expected + expected / 16 + 64;
        let slots = alloc::vec![T::default(); parts.saturating_mul(capacity)];
        Self { shift, capacity, counts: alloc::vec![0; parts], slots, overflow: alloc::vec![Vec::new(); parts] }
    }

    /// Bytes per part.
    pub(crate) fn part_bytes(&self) -> usize {
        1 << (self.shift - 3)
    }

    #[inline(always)]
    fn push(&mut self, index: u64, item: impl Fn(u32) -> T) {
        #[expect(clippy::cast_possible_truncation, reason = "parts are few, and offsets in them have 32 bits")]
        let (part, offset) = ((index >> self.shift) as usize, (index & ((1 << self.shift) - 1)) as u32);
        let Some(count) = self.counts.get_mut(part) else { return };
        match self.slots.get_mut(part * self.capacity + *count) {
            Some(slot) if *count < self.capacity => {
                *slot = item(offset);
                *count += 1;
            }
            _ => {
                if let Some(overflow) = self.overflow.get_mut(part) {
                    overflow.push(item(offset));
                }
            }
        }
    }

    /// The items of a part.
    pub(crate) fn part(&self, part: usize) -> impl Iterator<Item = T> {
        let begin = part * self.capacity;
        let count = self.counts.get(part).copied().unwrap_or_default();
        let slots = self.slots.get(begin..begin + count).unwrap_or_default();
        slots.iter().chain(self.overflow.get(part).into_iter().flatten()).copied()
    }

    /// Prefetches a part sequentially, which is many times faster than in random order.
    fn prefetch(&self, part: usize, bits: &[u8]) {
        if self.counts.get(part).is_some_and(|count| *count > bits.len() / LINE) {
            for line in (0..bits.len()).step_by(LINE) {
                simd::prefetch(bits, line);
            }
        }
    }

    /// Removes all items.
    pub(crate) fn clear(&mut self) {
        self.counts.fill(0);
        self.overflow.iter_mut().for_each(Vec::clear);
    }
}

impl Bins<u32> {
    /// Adds the indices of up to [`LANES`] keys. If there are fewer, some indices are added repeatedly.
    pub(crate) fn add(&mut self, plan: &Plan, digests: &[Digest]) {
        let mut indices = plan.group_indices(&fill_lanes(digests));
        let mut left = plan.hashes();
        let mut rows = [[0; LANES]; ROWS];
        while left > 0 {
            let rows = rows.get_mut(..left.min(ROWS)).unwrap_or_default();
            left -= rows.len().min(left);
            simd::next_rows(&mut indices, rows);
            for index in rows.as_flattened() {
                self.push(*index, |offset| offset);
            }
        }
    }

    /// Sets the bits of a part.
    pub(crate) fn set_part(&self, part: usize, bits: &mut [u8]) {
        self.prefetch(part, bits);
        for offset in self.part(part) {
            set(bits, offset.into());
        }
    }
}

/// Inserts keys in batches of thousands; the last batch when it is dropped.
pub(crate) struct PartitionedInserter<'a> {
    bits: &'a mut [u8],
    plan: Plan,
    bins: Bins<u32>,
    pending: usize,
    batch_size: usize,
}

impl<'a> PartitionedInserter<'a> {
    pub(crate) fn new(bits: &'a mut [u8], plan: Plan, keys: usize) -> Self {
        let batch_size = keys.min(batch_size(bits, &plan));
        let bins = Bins::new(bits.len(), batch_size.saturating_mul(plan.hashes()));
        Self { bits, plan, bins, pending: 0, batch_size }
    }

    /// Inserts up to [`LANES`] digests.
    pub(crate) fn push(&mut self, digests: &[Digest]) {
        self.bins.add(&self.plan, digests);
        self.pending += LANES;
        if self.pending >= self.batch_size {
            self.flush();
        }
    }

    fn flush(&mut self) {
        for (part, bits) in self.bits.chunks_mut(self.bins.part_bytes()).enumerate() {
            self.bins.set_part(part, bits);
        }
        self.bins.clear();
        self.pending = 0;
    }
}

impl Drop for PartitionedInserter<'_> {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Looks up keys in batches of thousands.
pub(crate) struct PartitionedLookup<'a> {
    bits: &'a [u8],
    plan: Plan,
    /// The offset in the part, and the key's position in the batch in the upper half.
    bins: Bins<u64>,
    /// The positions of keys all of whose bits tested so far are set.
    candidates: Vec<u32>,
    batch_size: usize,
    /// Rows that are tested first.
    first_rows: usize,
}

/// Rows that exclude nearly all absent keys.
const EXCLUDING_ROWS: usize = 3;

impl<'a> PartitionedLookup<'a> {
    /// A look-up of `keys` keys, of which `threads` run at the same time.
    pub(crate) fn new(bits: &'a [u8], plan: Plan, keys: usize, threads: usize) -> Self {
        // Each takes twice the memory of the filter; with more than four, smaller batches bound the total.
        let batch_size = keys.min(batch_size(bits, &plan) / threads.div_ceil(4).max(1)).max(1);
        let bins = Bins::new(bits.len(), batch_size.saturating_mul(plan.hashes().min(ROWS)));
        Self { bits, plan, bins, candidates: Vec::with_capacity(batch_size), batch_size, first_rows: EXCLUDING_ROWS }
    }

    /// Maximum number of keys per batch.
    pub(crate) fn batch_size(&self) -> usize {
        self.batch_size
    }

    /// Looks up a batch.
    pub(crate) fn look_up(&mut self, digests: &[Digest], results: &mut [bool]) {
        results.fill(true);
        let hashes = self.plan.hashes();
        let mut begin = 0;
        while begin < hashes {
            let rows = if begin == 0 { self.first_rows } else { ROWS };
            let end = (begin + rows).min(hashes);
            self.candidates.clear();
            let candidates = (0_u32..).zip(results.iter()).filter(|(_, present)| **present);
            self.candidates.extend(candidates.map(|(key, _)| key));
            self.partition(digests, begin, end);
            self.test(results);
            begin = end;
        }
        // Assume the next batch is similar: if most keys are present, all their bits must be tested anyway.
        let present = results.iter().filter(|present| **present).count();
        self.first_rows = if present > results.len() / 2 { ROWS } else { EXCLUDING_ROWS };
    }

    /// Partitions a range of the candidates' rows.
    fn partition(&mut self, digests: &[Digest], begin: usize, end: usize) {
        self.bins.clear();
        for keys in self.candidates.chunks(LANES) {
            let group: [Digest; LANES] = core::array::from_fn(|lane| {
                let key = keys.get(lane).map_or(usize::MAX, |key| *key as usize);
                digests.get(key).copied().unwrap_or_default()
            });
            let mut indices = self.plan.group_indices(&group);
            let mut rows: [Row; ROWS] = [[0; LANES]; ROWS];
            // Rows before `begin` are computed again, and discarded.
            for from in (0..end).step_by(ROWS) {
                let rows = rows.get_mut(..ROWS.min(end - from)).unwrap_or_default();
                simd::next_rows(&mut indices, rows);
                for row in rows.iter().skip(begin.saturating_sub(from)) {
                    for (index, key) in row.iter().zip(keys) {
                        self.bins.push(*index, |offset| u64::from(*key) << 32 | u64::from(offset));
                    }
                }
            }
        }
    }

    /// Tests the partitioned bits.
    fn test(&self, results: &mut [bool]) {
        for (part, bits) in self.bits.chunks(self.bins.part_bytes()).enumerate() {
            self.bins.prefetch(part, bits);
            for item in self.bins.part(part) {
                let (key, offset) = ((item >> 32) as usize, item & u64::from(u32::MAX));
                if let Some(present) = results.get_mut(key) {
                    *present &= is_set(bits, offset);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use container_core::testkit::cases;

    use super::*;
    use crate::Shape;

    /// Pseudo-random digests; with `repeat`, every other one is the same.
    fn digests(count: u64, repeat: bool) -> Vec<Digest> {
        (0..count)
            .map(|at| {
                let at = if repeat && at % 2 == 0 { 7 } else { at };
                [at.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ at << 7, (at + 3).wrapping_mul(0xD1B5_4A32_D192_ED03)]
            })
            .collect()
    }

    #[test]
    #[cfg_attr(miri, ignore = "a million keys")]
    fn agrees_with_keys_one_by_one() {
        // Includes more hashes than a tile has rows, incomplete parts, and several batches.
        for (elements, probability) in [(600_000, 1e-4), (100_000, 1e-11), (30_000, 1e-13), (2, 1e-300)] {
            let shape = Shape::new(elements, probability).unwrap();
            let plan = Plan::new(&shape);
            let length = usize::try_from(shape.bits() / 8).unwrap();
            for repeat in [false, true] {
                let keys = if elements == 2 { cases(3_001, 30_001) } else { 30_001 };
                let digests = digests(keys, repeat);
                let (mut single, mut partitioned) = (vec![0; length], vec![0; length]);
                for digest in &digests {
                    plan.insert(&mut single, *digest);
                }
                let mut inserter = PartitionedInserter::new(&mut partitioned, plan, digests.len());
                for digests in digests.chunks(LANES) {
                    inserter.push(digests);
                }
                drop(inserter);
                assert!(single == partitioned, "{shape:?} {repeat}");

                let other: Vec<Digest> = digests.iter().map(|[a, b]| [a.rotate_left(11) ^ 5, !b]).collect();
                for (requested, threads) in [(&digests, 1), (&other, 1), (&other, 9)] {
                    let mut lookup = PartitionedLookup::new(&partitioned, plan, requested.len(), threads);
                    let size = lookup.batch_size();
                    let mut results = vec![false; requested.len()];
                    for (digests, results) in requested.chunks(size).zip(results.chunks_mut(size)) {
                        lookup.look_up(digests, results);
                    }
                    let expected: Vec<bool> = requested.iter().map(|digest| plan.contains(&single, *digest)).collect();
                    assert!(results == expected, "{shape:?} {repeat}");
                }
            }
        }
    }
}
