//! Many keys and more bits than a cache holds.
//!
//! There a bit costs what fetching its line costs, and its page's address, which asking ahead does not hide. So indices are
//! sorted first, by the part of the bits that they lie in, and a part is worked off at a time: it stays in the cache
//! while it is.

use alloc::vec::Vec;

use crate::digest::group::{Digest, LANES};
use crate::plan::{Plan, ROWS, filled, is_set, set};
use crate::probe::{Row, Walk};
use crate::simd;

/// Bits of up to so many bytes are not far: asking ahead does.
pub(crate) const FAR: usize = 6 << 20;

/// The bits of a part, as a power of two: half of a usual second cache.
const PART_BITS: u32 = 21;

/// A place in a part takes 32 bits.
const MOST_PART_BITS: u32 = 32;

/// More parts than this take more time to sort into than they save.
const PARTS: u64 = 256;

/// Bytes that come into a cache together.
const LINE: usize = 64;

/// Whether sorting so many keys is worth it: where several of their bits lie in the same line.
pub(crate) fn is_far(bits: &[u8], plan: &Plan, keys: usize) -> bool {
    bits.len() > FAR && keys.saturating_mul(plan.hashes()) > bits.len() / LINE
}

/// Keys that are sorted at once: so many that their indices take about as much memory as the filter, and every line of it
/// holds a dozen of their bits; and not more than some hundred megabytes.
pub(crate) fn sorted_at_once(bits: &[u8], plan: &Plan) -> usize {
    const LEAST: usize = 1 << 14;
    const MOST: usize = 1 << 21;
    (bits.len() / size_of::<u32>() / plan.hashes().max(1)).clamp(LEAST, MOST)
}

/// Indices sorted by part, each as its place in the part with something beside it.
pub(crate) struct Bins<T> {
    shift: u32,
    /// Slots of a part, and how many of each are taken.
    room: usize,
    taken: Vec<usize>,
    slots: Vec<T>,
    /// What found no slot, by part: next to nothing, as hashes spread evenly, unless the same keys come again and again.
    spilled: Vec<Vec<T>>,
}

impl<T: Copy + Default> Bins<T> {
    /// For bits of so many bytes, and `count` indices.
    pub(crate) fn new(bytes: usize, count: usize) -> Self {
        let bits = (bytes as u64).saturating_mul(8).max(1);
        let shift = bits.div_ceil(PARTS).next_power_of_two().ilog2().clamp(PART_BITS, MOST_PART_BITS);
        let parts = usize::try_from(bits.div_ceil(1 << shift)).unwrap_or(usize::MAX);
        let whole = usize::try_from(bits >> shift).unwrap_or(usize::MAX).max(1);
        let expected = count / whole;
        let room = expected + expected / 16 + 64;
        let slots = alloc::vec![T::default(); parts.saturating_mul(room)];
        Self { shift, room, taken: alloc::vec![0; parts], slots, spilled: alloc::vec![Vec::new(); parts] }
    }

    /// Bytes of a part.
    pub(crate) fn part_bytes(&self) -> usize {
        1 << (self.shift - 3)
    }

    #[inline(always)]
    fn put(&mut self, index: u64, item: impl Fn(u32) -> T) {
        #[expect(clippy::cast_possible_truncation, reason = "parts are few, and their places have 32 bits")]
        let (part, place) = ((index >> self.shift) as usize, (index & ((1 << self.shift) - 1)) as u32);
        let Some(taken) = self.taken.get_mut(part) else { return };
        match self.slots.get_mut(part * self.room + *taken) {
            Some(slot) if *taken < self.room => {
                *slot = item(place);
                *taken += 1;
            }
            _ => {
                if let Some(spilled) = self.spilled.get_mut(part) {
                    spilled.push(item(place));
                }
            }
        }
    }

    /// What lies in a part.
    pub(crate) fn part(&self, part: usize) -> impl Iterator<Item = T> {
        let begin = part * self.room;
        let taken = self.taken.get(part).copied().unwrap_or_default();
        let slots = self.slots.get(begin..begin + taken).unwrap_or_default();
        slots.iter().chain(self.spilled.get(part).into_iter().flatten()).copied()
    }

    /// Brings a part into the cache, line by line in order, which is many times as fast as in the order of hashes.
    fn fetch(&self, part: usize, bits: &[u8]) {
        if self.taken.get(part).is_some_and(|taken| *taken > bits.len() / LINE) {
            for line in (0..bits.len()).step_by(LINE) {
                simd::prefetch(bits, line);
            }
        }
    }

    /// Takes everything out.
    pub(crate) fn clear(&mut self) {
        self.taken.fill(0);
        self.spilled.iter_mut().for_each(Vec::clear);
    }
}

impl Bins<u32> {
    /// Sorts the indices of up to [`LANES`] keys, some more than once where there are fewer.
    pub(crate) fn sort(&mut self, plan: &Plan, digests: &[Digest]) {
        let mut walk = plan.walk(&filled(digests));
        let mut left = plan.hashes();
        let mut rows = [[0; LANES]; ROWS];
        while left > 0 {
            let rows = rows.get_mut(..left.min(ROWS)).unwrap_or_default();
            left -= rows.len().min(left);
            simd::walk(&mut walk, rows);
            for index in rows.as_flattened() {
                self.put(*index, |place| place);
            }
        }
    }

    /// Sets the bits of a part.
    pub(crate) fn set(&self, part: usize, bits: &mut [u8]) {
        self.fetch(part, bits);
        for place in self.part(part) {
            set(bits, place.into());
        }
    }
}

/// Sets bits, some thousands of keys behind what it is told.
pub(crate) struct FarInserter<'a> {
    bits: &'a mut [u8],
    plan: Plan,
    bins: Bins<u32>,
    waiting: usize,
    most: usize,
}

impl<'a> FarInserter<'a> {
    pub(crate) fn new(bits: &'a mut [u8], plan: Plan, keys: usize) -> Self {
        let most = keys.min(sorted_at_once(bits, &plan));
        let bins = Bins::new(bits.len(), most.saturating_mul(plan.hashes()));
        Self { bits, plan, bins, waiting: 0, most }
    }

    /// Takes up to [`LANES`] digests.
    pub(crate) fn push(&mut self, digests: &[Digest]) {
        self.bins.sort(&self.plan, digests);
        self.waiting += LANES;
        if self.waiting >= self.most {
            self.flush();
        }
    }

    fn flush(&mut self) {
        for (part, bits) in self.bits.chunks_mut(self.bins.part_bytes()).enumerate() {
            self.bins.set(part, bits);
        }
        self.bins.clear();
        self.waiting = 0;
    }
}

impl Drop for FarInserter<'_> {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Asks for keys by the thousands.
pub(crate) struct FarAsker<'a> {
    bits: &'a [u8],
    plan: Plan,
    /// A place in its part, and above it the number of the key.
    bins: Bins<u64>,
    /// The keys that are still held to be there.
    left: Vec<u32>,
    at_once: usize,
    /// Rows that are asked for first.
    first: usize,
}

/// Rows that nearly all absent keys end in.
const FIRST: usize = 3;

impl<'a> FarAsker<'a> {
    /// For so many keys; `askers` work at the same time.
    pub(crate) fn new(bits: &'a [u8], plan: Plan, keys: usize, askers: usize) -> Self {
        // Each takes twice what the filter does. More than four share.
        let at_once = keys.min(sorted_at_once(bits, &plan) / askers.div_ceil(4).max(1)).max(1);
        let bins = Bins::new(bits.len(), at_once.saturating_mul(plan.hashes().min(ROWS)));
        Self { bits, plan, bins, left: Vec::with_capacity(at_once), at_once, first: FIRST }
    }

    /// How many keys at once.
    pub(crate) fn at_once(&self) -> usize {
        self.at_once
    }

    /// Says of each of up to so many keys whether it is there.
    pub(crate) fn ask(&mut self, digests: &[Digest], found: &mut [bool]) {
        found.fill(true);
        let hashes = self.plan.hashes();
        let mut begin = 0;
        while begin < hashes {
            let rows = if begin == 0 { self.first } else { ROWS };
            let end = (begin + rows).min(hashes);
            self.left.clear();
            let held = (0_u32..).zip(found.iter()).filter(|(_, found)| **found);
            self.left.extend(held.map(|(key, _)| key));
            self.sort(digests, begin, end);
            self.test(found);
            begin = end;
        }
        // The next keys are taken to be like these: where most are there, all their bits are wanted in any case.
        let held = found.iter().filter(|found| **found).count();
        self.first = if held > found.len() / 2 { ROWS } else { FIRST };
    }

    /// Sorts rows of the keys that are left.
    fn sort(&mut self, digests: &[Digest], begin: usize, end: usize) {
        self.bins.clear();
        for keys in self.left.chunks(LANES) {
            let some: [Digest; LANES] = core::array::from_fn(|lane| {
                let key = keys.get(lane).map_or(usize::MAX, |key| *key as usize);
                digests.get(key).copied().unwrap_or_default()
            });
            let mut walk: Walk = self.plan.walk(&some);
            let mut rows: [Row; ROWS] = [[0; LANES]; ROWS];
            // Rows of before are walked again, and thrown away.
            for from in (0..end).step_by(ROWS) {
                let rows = rows.get_mut(..ROWS.min(end - from)).unwrap_or_default();
                simd::walk(&mut walk, rows);
                for row in rows.iter().skip(begin.saturating_sub(from)) {
                    for (index, key) in row.iter().zip(keys) {
                        self.bins.put(*index, |place| u64::from(*key) << 32 | u64::from(place));
                    }
                }
            }
        }
    }

    /// Tests what is sorted.
    fn test(&self, found: &mut [bool]) {
        for (part, bits) in self.bits.chunks(self.bins.part_bytes()).enumerate() {
            self.bins.fetch(part, bits);
            for item in self.bins.part(part) {
                let (key, place) = ((item >> 32) as usize, item & u64::from(u32::MAX));
                if let Some(found) = found.get_mut(key) {
                    *found &= is_set(bits, place);
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

    /// Digests of no pattern, and as many of the same as of others.
    fn digests(count: u64, same: bool) -> Vec<Digest> {
        (0..count)
            .map(|at| {
                let at = if same && at % 2 == 0 { 7 } else { at };
                [at.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ at << 7, (at + 3).wrapping_mul(0xD1B5_4A32_D192_ED03)]
            })
            .collect()
    }

    #[test]
    fn sorted_or_one_by_one() {
        // More hashes than a tile has rows, too; parts that end inside, and more keys than fit at once.
        for (elements, probability) in [(600_000, 1e-4), (100_000, 1e-11), (30_000, 1e-13), (2, 1e-300)] {
            let shape = Shape::new(elements, probability).unwrap();
            let plan = Plan::new(&shape);
            let length = usize::try_from(shape.bits() / 8).unwrap();
            for same in [false, true] {
                let keys = if elements == 2 { cases(3_001, 30_001) } else { 30_001 };
                let digests = digests(keys, same);
                let (mut one, mut far) = (vec![0; length], vec![0; length]);
                for digest in &digests {
                    plan.insert(&mut one, *digest);
                }
                let mut inserter = FarInserter::new(&mut far, plan, digests.len());
                for digests in digests.chunks(LANES) {
                    inserter.push(digests);
                }
                drop(inserter);
                assert!(one == far, "{shape:?} {same}");

                let other: Vec<Digest> = digests.iter().map(|[a, b]| [a.rotate_left(11) ^ 5, !b]).collect();
                for (asked, askers) in [(&digests, 1), (&other, 1), (&other, 9)] {
                    let mut asker = FarAsker::new(&far, plan, asked.len(), askers);
                    let at_once = asker.at_once();
                    let mut found = vec![false; asked.len()];
                    for (digests, found) in asked.chunks(at_once).zip(found.chunks_mut(at_once)) {
                        asker.ask(digests, found);
                    }
                    let expected: Vec<bool> = asked.iter().map(|digest| plan.contains(&one, *digest)).collect();
                    assert!(found == expected, "{shape:?} {same}");
                }
            }
        }
    }
}
