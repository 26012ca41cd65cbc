//! The table in which a hash is searched: buckets by the first bits of the hash, in each the rows.
//!
//! For a row it holds 32 bits of its hash, its number and where its sample begins: 16 bytes; the whole hash stays in its file. All
//! buckets lie one behind the other, so that a look-up waits for a place of the table, and then for the sample: its place in the
//! index is asked for at the same time. A bucket is sorted: whatever hashes a file holds, building is n log n and a look-up log n.

use std::slice::IterMut;
use std::thread;

use container_core::{Error, HugePageVec, Result};

use crate::index::hashes::hash_at;

/// Rows in a bucket, on average, at most.
const LOAD: usize = 4;

/// Tables of fewer rows are built by one thread.
const SMALL: usize = 1 << 16;

/// Rows of a part, which a thread builds in memory that is near, on average and at most.
const PART: usize = 1 << 13;

/// Bytes of the smallest pages.
const PAGE: usize = 4096;

/// More parts than two to this power are not filled at once.
const PART_BITS: u32 = 11;

/// Up to here a bucket is searched from its beginning.
const SHORT: usize = 16;

/// Bits of the hash, the row, and where its sample begins: the lower half, the upper one.
type Entry = [u32; 4];

pub(crate) struct KeyTable {
    /// How many first bits of a hash choose the bucket.
    bits: u32,
    /// And how many of those the part of the table; the 32 bits behind them are those of the entry.
    part_bits: u32,
    /// Where each bucket begins, and where the last one ends.
    starts: HugePageVec<u32>,
    entries: HugePageVec<Entry>,
}

/// So many first bits of a hash, as a number.
#[inline]
fn first_bits(hash: u64, bits: u32) -> usize {
    // Two steps, since a shift by 64 is none; the result is below 2^32.
    usize::try_from((hash >> 1) >> (63 - bits)).unwrap_or(0)
}

/// The 32 bits of a hash that follow the first ones.
#[inline]
fn tag(hash: u64, part_bits: u32) -> u32 {
    (hash << part_bits >> 32) as u32
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the halves are what is wanted")]
fn halves(start: u64) -> [u32; 2] {
    [start as u32, (start >> 32) as u32]
}

#[inline]
fn start_of(&[_, _, lower, upper]: &Entry) -> u64 {
    u64::from(lower) | u64::from(upper) << 32
}

impl KeyTable {
    /// Builds the table over hashes of eight bytes each, big-endian, with up to `threads` threads; 0 for as many as there are.
    /// `start` says where a row's sample begins.
    ///
    /// # Errors
    /// Two rows with the same hash, which no writer leaves; more rows than the format allows.
    pub(crate) fn build(hashes: &[u8], start: impl Fn(u32) -> u64 + Sync, threads: usize) -> Result<Self> {
        let (all, _) = hashes.as_chunks::<8>();
        let rows = all.len();
        if u32::try_from(rows).is_err() {
            return Err(Error::limit("the number of key hashes", rows as u64, u32::MAX.into()));
        }
        let bits = (rows / LOAD).checked_ilog2().unwrap_or(0);
        let part_bits = rows.div_ceil(PART).next_power_of_two().ilog2().min(bits).min(PART_BITS);
        let threads = match threads {
            _ if rows < SMALL => 1,
            0 => thread::available_parallelism().map_or(1, Into::into),
            some => some.min(64),
        };
        let mut starts: HugePageVec<u32> = HugePageVec::zeroed((1 << bits) + 1);
        let mut entries: HugePageVec<Entry> = HugePageVec::zeroed(rows);

        // First every thread has a share of the rows, and puts them into the parts that they belong to.
        let share = rows.div_ceil(threads).max(1);
        let shares = || all.chunks(share);
        let counts = in_parallel(shares().zip(entries.chunks_mut(share)), |(share, entries)| {
            // New memory is had here, by each thread a part of its own: in the next step all would ask for the same.
            entries.iter_mut().step_by(PAGE / size_of::<Entry>()).for_each(|entry| *entry = [1; 4]);
            let mut counts = vec![0usize; 1 << part_bits];
            share.iter().for_each(|hash| {
                if let Some(count) = counts.get_mut(first_bits(u64::from_be_bytes(*hash), part_bits)) {
                    *count += 1;
                }
            });
            counts
        });
        let mut rest = &mut *entries;
        let mut places: Vec<Vec<IterMut<'_, Entry>>> =
            counts.iter().map(|_| Vec::with_capacity(1 << part_bits)).collect();
        let mut sizes = vec![0; 1 << part_bits];
        for (part, size) in sizes.iter_mut().enumerate() {
            for (counts, places) in counts.iter().zip(&mut places) {
                let count = counts.get(part).copied().unwrap_or(0);
                let (mine, others) = std::mem::take(&mut rest).split_at_mut(count); // every row was counted once
                places.push(mine.iter_mut());
                *size += count;
                rest = others;
            }
        }
        let mut first = 0u32;
        let shared = shares().zip(places).map(|(share, places)| {
            let rows = first..;
            first += u32::try_from(share.len()).unwrap_or(0); // all of them are fewer than 2^32
            (share, places, rows)
        });
        in_parallel(shared, |(share, mut places, rows)| {
            for (hash, row) in share.iter().zip(rows) {
                let hash = u64::from_be_bytes(*hash);
                if let Some(place) = places.get_mut(first_bits(hash, part_bits)).and_then(Iterator::next) {
                    let [lower, upper] = halves(start(row));
                    *place = [tag(hash, part_bits), row, lower, upper];
                }
            }
        });

        // Then it has a share of the parts, and puts each in order.
        let mut rest = &mut *entries;
        let mut before = 0usize;
        let mut parts = Vec::with_capacity(sizes.len());
        let ends = starts.split_first_mut().map(|(_, ends)| ends).unwrap_or_default();
        for (size, ends) in sizes.into_iter().zip(ends.chunks_mut(1 << (bits - part_bits))) {
            let (mine, others) = std::mem::take(&mut rest).split_at_mut(size);
            rest = others;
            parts.push(PartOf { before: u32::try_from(before).unwrap_or(0), ends, entries: mine });
            before += size;
        }
        let share = parts.len().div_ceil(threads).max(1);
        let twice = in_parallel(parts.chunks_mut(share), |parts| {
            let mut room = Room::default();
            parts.iter_mut().filter_map(|part| part.put_in_order(hashes, bits - part_bits, &mut room)).min()
        });
        match twice.into_iter().flatten().min() {
            Some((one, other)) => Err(same_hash(one.into(), other.into())),
            None => Ok(Self { bits, part_bits, starts, entries }),
        }
    }

    /// The row whose hash this is. `sure` tells of a row, and of where its sample begins, whether it is the one without a look at its
    /// hash; it is asked for rows of which more than the bucket fits.
    #[inline]
    pub(crate) fn find(&self, hashes: &[u8], hash: u64, mut sure: impl FnMut(u32, u64) -> bool) -> Option<u32> {
        let entries = self.bucket(hash)?;
        let wanted = tag(hash, self.part_bits);
        if entries.len() > SHORT {
            return find_in_long(entries, hashes, hash, wanted);
        }
        let is = |entry: &&Entry| sure(entry[1], start_of(entry)) || hash_at(hashes, entry[1] as usize) == Some(hash);
        entries.iter().filter(|entry| entry[0] == wanted).find(is).map(|entry| entry[1])
    }

    /// The first row of which more than the bucket fits, and where its sample begins. Looks at nothing but the table.
    #[inline]
    pub(crate) fn guess(&self, hash: u64) -> Option<(u32, u64)> {
        let wanted = tag(hash, self.part_bits);
        let entry = self.bucket(hash)?.iter().take(SHORT).find(|entry| entry[0] == wanted)?;
        Some((entry[1], start_of(entry)))
    }

    #[inline]
    fn bucket(&self, hash: u64) -> Option<&[Entry]> {
        let at = first_bits(hash, self.bits);
        let (start, end) = (*self.starts.get(at)?, *self.starts.get(at + 1)?);
        self.entries.get(start as usize..end as usize)
    }
}

/// The row of a hash in a bucket of which no writer makes one.
#[cold]
fn find_in_long(entries: &[Entry], hashes: &[u8], hash: u64, wanted: u32) -> Option<u32> {
    let first = entries.partition_point(|entry| entry[0] < wanted);
    let last = entries.partition_point(|entry| entry[0] <= wanted);
    let same = entries.get(first..last)?;
    let place = same.binary_search_by_key(&Some(hash), |entry| hash_at(hashes, entry[1] as usize)).ok()?;
    same.get(place).map(|entry| entry[1])
}

/// The rows whose hashes begin with the same few bits.
struct PartOf<'a> {
    /// Rows in the parts before.
    before: u32,
    /// Where each of its buckets ends, once they are in order.
    ends: &'a mut [u32],
    entries: &'a mut [Entry],
}

/// What putting a part in order takes, for one part after another.
#[derive(Default)]
struct Room {
    entries: Vec<Entry>,
    next: Vec<u32>,
}

impl PartOf<'_> {
    /// Puts the rows into its buckets, two to the power of `bits`, and sorts each; gives two rows of the same hash.
    fn put_in_order(&mut self, hashes: &[u8], bits: u32, room: &mut Room) -> Option<(u32, u32)> {
        let bucket = |entry: &Entry| usize::try_from(u64::from(entry[0]) >> (32 - bits)).unwrap_or(usize::MAX);
        for entry in &*self.entries {
            if let Some(count) = self.ends.get_mut(bucket(entry)) {
                *count += 1;
            }
        }
        room.next.clear();
        let mut total = 0;
        for end in &mut *self.ends {
            room.next.push(total);
            total += *end; // no more than there are rows
            *end = self.before + total;
        }
        room.entries.clear();
        room.entries.extend_from_slice(self.entries);
        for entry in &room.entries {
            if let Some(place) = room.next.get_mut(bucket(entry)) {
                if let Some(target) = self.entries.get_mut(*place as usize) {
                    *target = *entry;
                }
                *place += 1;
            }
        }
        let mut start = 0;
        let mut twice = None;
        // Each bucket ends where the next row would have gone.
        for &end in &room.next {
            let bucket = self.entries.get_mut(start as usize..end as usize).unwrap_or_default();
            start = end;
            if let Some(found) = sort(bucket, hashes) {
                twice = Some(twice.map_or(found, |known| found.min(known)));
            }
        }
        twice
    }
}

/// Sorts a bucket that is searched as a sorted one; gives two rows of the same hash.
fn sort(bucket: &mut [Entry], hashes: &[u8]) -> Option<(u32, u32)> {
    if bucket.len() <= SHORT && !any_twice(bucket) {
        return None;
    }
    // The file is only asked where the bits at hand are the same.
    let hash_of = |entry: &Entry| hash_at(hashes, entry[1] as usize);
    bucket.sort_unstable_by(|a, b| a[0].cmp(&b[0]).then_with(|| hash_of(a).cmp(&hash_of(b))));
    let same = |a: &Entry, b: &Entry| a[0] == b[0] && hash_of(a) == hash_of(b);
    let pairs = bucket.windows(2).filter_map(|pair| match pair {
        [a, b] if same(a, b) => Some((a[1].min(b[1]), a[1].max(b[1]))),
        _ => None,
    });
    pairs.min()
}

/// Are the bits at hand of any two the same?
fn any_twice(mut bucket: &[Entry]) -> bool {
    let mut any = false;
    while let Some((one, others)) = bucket.split_first() {
        bucket = others;
        any |= others.iter().fold(false, |any, other| any | (one[0] == other[0]));
    }
    any
}

/// Does each piece of work on a thread of its own, the only one on this thread.
pub(crate) fn in_parallel<P: Send, R: Send>(
    mut parts: impl ExactSizeIterator<Item = P>,
    work: impl Fn(P) -> R + Sync,
) -> Vec<R> {
    if parts.len() <= 1 {
        return parts.next().map(work).into_iter().collect();
    }
    let work = &work;
    thread::scope(|scope| {
        let handles: Vec<_> = parts.map(|part| scope.spawn(move || work(part))).collect();
        let joined =
            handles.into_iter().map(|handle| handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.collect()
    })
}

#[cold]
pub(crate) fn same_hash(one: u64, other: u64) -> Error {
    let detail =
        format!("the samples {one} and {other} have the same key hash: the index is damaged and can be rebuilt");
    Error::invalid(detail).at(8 + 8 * other).in_row(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hashes: impl IntoIterator<Item = u64>) -> Vec<u8> {
        hashes.into_iter().flat_map(u64::to_be_bytes).collect()
    }

    fn mixed(n: u64) -> u64 {
        let n = (n ^ (n >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (n ^ (n >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9)
    }

    #[test]
    fn every_hash_leads_to_its_row() {
        for (rows, threads) in [(0, 1), (1, 1), (2, 4), (5, 1), (1000, 1), (70_001, 1), (70_001, 3), (200_000, 8)] {
            let hashes = bytes((0..rows).map(mixed));
            let table = KeyTable::build(&hashes, |row| u64::from(row) << 20, threads).unwrap();
            for row in 0..rows {
                assert_eq!(table.find(&hashes, mixed(row), |_, _| false), Some(row as u32), "{rows} {threads}");
            }
            for other in rows..rows + 1000 {
                assert_eq!(table.find(&hashes, mixed(other), |_, _| false), None);
            }
            let bytes = size_of_val(&*table.starts) + size_of_val(&*table.entries);
            assert!(bytes < 18 * rows as usize + 40, "{bytes} bytes for {rows}");
        }
    }

    #[test]
    fn who_is_sure_is_not_asked_for_a_hash() {
        let hashes = bytes((0..1000).map(mixed));
        let table = KeyTable::build(&hashes, |row| u64::from(row) << 20, 1).unwrap();
        for row in 0..1000 {
            assert_eq!(table.guess(mixed(row)), Some((row as u32, row << 20)));
            assert_eq!(
                table.find(&[], mixed(row), |found, start| u64::from(found) == row && start == row << 20),
                Some(row as u32)
            );
            assert_eq!(table.find(&[], mixed(row), |_, _| false), None);
        }
    }

    #[test]
    fn hashes_of_somebody_who_means_harm_cost_no_more() {
        // All in one bucket; all with the same last bits; both.
        let families: [fn(u64) -> u64; 3] = [|n| n, |n| n << 32, |n| 7 + ((n & 0x3fff) << 32) + ((n >> 14) << 50)];
        for family in families {
            let hashes = bytes((0..100_000).map(family));
            let start = std::time::Instant::now();
            let table = KeyTable::build(&hashes, |_| 0, 2).unwrap();
            for row in (0..100_000).step_by(7) {
                assert_eq!(table.find(&hashes, family(row), |_, _| false), Some(row as u32));
            }
            assert!(start.elapsed().as_secs() < 10, "a quadratic search takes minutes");
        }
    }

    #[test]
    fn a_hash_that_occurs_twice_is_named() {
        for (rows, threads) in [(10u64, 1), (100_000, 4)] {
            let hashes = bytes((0..rows).map(|row| mixed(if row == 7 { 3 } else { row })));
            let error = KeyTable::build(&hashes, |row| u64::from(row) << 20, threads).err().unwrap();
            assert_eq!(
                error.to_string(),
                "the samples 3 and 7 have the same key hash: the index is damaged and can be rebuilt (byte 64, row 7)"
            );
        }
        let error = KeyTable::build(&bytes(std::iter::repeat_n(5, 100_000)), |_| 0, 4).err().unwrap();
        assert!(error.to_string().contains("have the same key hash"), "{error}");
    }
}
