//! The hash table of keys: buckets by the leading bits of the hash, each holding rows.
//!
//! An entry is 32 bits of the hash, the row number and the sample's start: 16 bytes; the whole hash stays in its file. All buckets
//! are contiguous, so that a look-up waits for one cache line of the table, then for the sample, whose offsets are fetched in
//! parallel. Long buckets are sorted, so hostile hashes cost no more than O(n log n) to build and O(log n) to look up.

use std::slice::IterMut;
use std::thread;

use container_core::{Error, HugePageVec, Result};

use crate::index::hashes::hash_at;

/// Average number of rows per bucket, at most.
const ROWS_PER_BUCKET: usize = 4;

/// Smaller tables are built by one thread.
const MIN_PARALLEL_ROWS: usize = 1 << 16;

/// Average number of rows per partition, at most: small enough for a core's cache.
const ROWS_PER_PARTITION: usize = 1 << 13;

/// Size of the smallest memory page, in bytes.
const PAGE: usize = 4096;

/// Log2 of the maximum number of partitions, which are filled simultaneously.
const MAX_PARTITION_BITS: u32 = 11;

/// Buckets of up to this many rows are searched linearly.
const SHORT: usize = 16;

/// Tag (32 bits of the hash), row, and the sample's start: lower half, upper half.
type Entry = [u32; 4];

pub(crate) struct KeyTable {
    /// Number of leading hash bits that select the bucket.
    bits: u32,
    /// Number of those that select the partition; the 32 bits after them are the entry's tag.
    part_bits: u32,
    /// The start of each bucket, and the end of the last.
    starts: HugePageVec<u32>,
    entries: HugePageVec<Entry>,
}

/// The leading `bits` bits of a hash.
#[inline]
fn first_bits(hash: u64, bits: u32) -> usize {
    // Two shifts, because a shift by 64 overflows; the result is below 2^32.
    usize::try_from((hash >> 1) >> (63 - bits)).unwrap_or(0)
}

/// The 32 bits of a hash that follow the first `part_bits`.
#[inline]
fn tag(hash: u64, part_bits: u32) -> u32 {
    (hash << part_bits >> 32) as u32
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "splits a u64 into its halves")]
fn halves(start: u64) -> [u32; 2] {
    [start as u32, (start >> 32) as u32]
}

#[inline]
fn start_of(&[_, _, lower, upper]: &Entry) -> u64 {
    u64::from(lower) | u64::from(upper) << 32
}

impl KeyTable {
    /// Builds the table from big-endian hashes of eight bytes each, with up to `threads` threads (0: as many as available).
    /// `start` returns the start of a row's sample.
    ///
    /// # Errors
    /// Two rows with the same hash, which no writer produces; more rows than the format allows.
    pub(crate) fn build(hashes: &[u8], start: impl Fn(u32) -> u64 + Sync, threads: usize) -> Result<Self> {
        let (all, _) = hashes.as_chunks::<8>();
        let rows = all.len();
        if u32::try_from(rows).is_err() {
            return Err(Error::limit("number of key hashes", rows as u64, u32::MAX.into()));
        }
        let bits = (rows / ROWS_PER_BUCKET).checked_ilog2().unwrap_or(0);
        let part_bits = rows.div_ceil(ROWS_PER_PARTITION).next_power_of_two().ilog2().min(bits).min(MAX_PARTITION_BITS);
        let threads = match threads {
            _ if rows < MIN_PARALLEL_ROWS => 1,
            0 => thread::available_parallelism().map_or(1, Into::into),
            some => some.min(64),
        };
        let mut starts: HugePageVec<u32> = HugePageVec::zeroed((1 << bits) + 1);
        let mut entries: HugePageVec<Entry> = HugePageVec::zeroed(rows);

        // First, every thread distributes a share of the rows to their partitions.
        let share = rows.div_ceil(threads).max(1);
        let shares = || all.chunks(share);
        let counts = in_parallel(shares().zip(entries.chunks_mut(share)), |(share, entries)| {
            // Touch each page here, where threads work on disjoint ranges; in the next step they would contend for the same pages.
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
        let mut slots: Vec<Vec<IterMut<'_, Entry>>> =
            counts.iter().map(|_| Vec::with_capacity(1 << part_bits)).collect();
        let mut sizes = vec![0; 1 << part_bits];
        for (part, size) in sizes.iter_mut().enumerate() {
            for (counts, slots) in counts.iter().zip(&mut slots) {
                let count = counts.get(part).copied().unwrap_or(0);
                let (mine, others) = std::mem::take(&mut rest).split_at_mut(count); // every row was counted once
                slots.push(mine.iter_mut());
                *size += count;
                rest = others;
            }
        }
        let mut first = 0u32;
        let shared = shares().zip(slots).map(|(share, slots)| {
            let rows = first..;
            first += u32::try_from(share.len()).unwrap_or(0); // fewer than 2^32 in total
            (share, slots, rows)
        });
        in_parallel(shared, |(share, mut slots, rows)| {
            for (hash, row) in share.iter().zip(rows) {
                let hash = u64::from_be_bytes(*hash);
                if let Some(slot) = slots.get_mut(first_bits(hash, part_bits)).and_then(Iterator::next) {
                    let [lower, upper] = halves(start(row));
                    *slot = [tag(hash, part_bits), row, lower, upper];
                }
            }
        });

        // Then every thread sorts a share of the partitions into buckets.
        let mut rest = &mut *entries;
        let mut before = 0usize;
        let mut parts = Vec::with_capacity(sizes.len());
        let ends = starts.split_first_mut().map(|(_, ends)| ends).unwrap_or_default();
        for (size, ends) in sizes.into_iter().zip(ends.chunks_mut(1 << (bits - part_bits))) {
            let (mine, others) = std::mem::take(&mut rest).split_at_mut(size);
            rest = others;
            parts.push(Partition { before: u32::try_from(before).unwrap_or(0), ends, entries: mine });
            before += size;
        }
        let share = parts.len().div_ceil(threads).max(1);
        let duplicates = in_parallel(parts.chunks_mut(share), |parts| {
            let mut scratch = Scratch::default();
            parts.iter_mut().filter_map(|part| part.sort(hashes, bits - part_bits, &mut scratch)).min()
        });
        match duplicates.into_iter().flatten().min() {
            Some((one, other)) => Err(same_hash(one.into(), other.into())),
            None => Ok(Self { bits, part_bits, starts, entries }),
        }
    }

    /// The row with this hash. `confirm` is called with a row whose tag matches and its sample's start, and returns whether it is
    /// the right one; if so, its hash is not read.
    #[inline]
    pub(crate) fn find(&self, hashes: &[u8], hash: u64, mut confirm: impl FnMut(u32, u64) -> bool) -> Option<u32> {
        let entries = self.bucket(hash)?;
        let tag = tag(hash, self.part_bits);
        if entries.len() > SHORT {
            return find_in_long(entries, hashes, hash, tag);
        }
        let is =
            |entry: &&Entry| confirm(entry[1], start_of(entry)) || hash_at(hashes, entry[1] as usize) == Some(hash);
        entries.iter().filter(|entry| entry[0] == tag).find(is).map(|entry| entry[1])
    }

    /// The first row whose tag matches, and its sample's start: a likely answer from the table alone.
    #[inline]
    pub(crate) fn candidate(&self, hash: u64) -> Option<(u32, u64)> {
        let tag = tag(hash, self.part_bits);
        let entry = self.bucket(hash)?.iter().take(SHORT).find(|entry| entry[0] == tag)?;
        Some((entry[1], start_of(entry)))
    }

    #[inline]
    fn bucket(&self, hash: u64) -> Option<&[Entry]> {
        let at = first_bits(hash, self.bits);
        let (start, end) = (*self.starts.get(at)?, *self.starts.get(at + 1)?);
        self.entries.get(start as usize..end as usize)
    }
}

/// Finds a hash in a long, sorted bucket, as only hostile files have.
#[cold]
fn find_in_long(entries: &[Entry], hashes: &[u8], hash: u64, tag: u32) -> Option<u32> {
    let first = entries.partition_point(|entry| entry[0] < tag);
    let last = entries.partition_point(|entry| entry[0] <= tag);
    let same_tag = entries.get(first..last)?;
    let index = same_tag.binary_search_by_key(&Some(hash), |entry| hash_at(hashes, entry[1] as usize)).ok()?;
    same_tag.get(index).map(|entry| entry[1])
}

/// The rows whose hashes share their first `part_bits` bits.
struct Partition<'a> {
    /// Number of rows in earlier partitions.
    before: u32,
    /// The end of each bucket; filled by [`sort`](Self::sort).
    ends: &'a mut [u32],
    entries: &'a mut [Entry],
}

/// Buffers reused from partition to partition.
#[derive(Default)]
struct Scratch {
    entries: Vec<Entry>,
    next: Vec<u32>,
}

impl Partition<'_> {
    /// Moves the rows into `2^bits` buckets and sorts each bucket. Returns the first two rows with the same hash.
    fn sort(&mut self, hashes: &[u8], bits: u32, scratch: &mut Scratch) -> Option<(u32, u32)> {
        let bucket = |entry: &Entry| usize::try_from(u64::from(entry[0]) >> (32 - bits)).unwrap_or(usize::MAX);
        for entry in &*self.entries {
            if let Some(count) = self.ends.get_mut(bucket(entry)) {
                *count += 1;
            }
        }
        scratch.next.clear();
        let mut total = 0;
        for end in &mut *self.ends {
            scratch.next.push(total);
            total += *end; // at most the number of rows
            *end = self.before + total;
        }
        scratch.entries.clear();
        scratch.entries.extend_from_slice(self.entries);
        for entry in &scratch.entries {
            if let Some(next) = scratch.next.get_mut(bucket(entry)) {
                if let Some(target) = self.entries.get_mut(*next as usize) {
                    *target = *entry;
                }
                *next += 1;
            }
        }
        let mut start = 0;
        let mut duplicate = None;
        // `next` now holds the end of each bucket.
        for &end in &scratch.next {
            let bucket = self.entries.get_mut(start as usize..end as usize).unwrap_or_default();
            start = end;
            if let Some(pair) = sort_bucket(bucket, hashes) {
                duplicate = Some(duplicate.map_or(pair, |first| pair.min(first)));
            }
        }
        duplicate
    }
}

/// Sorts a bucket if it is long or has equal tags. Returns the first two rows with the same hash.
fn sort_bucket(bucket: &mut [Entry], hashes: &[u8]) -> Option<(u32, u32)> {
    if bucket.len() <= SHORT && !has_equal_tags(bucket) {
        return None;
    }
    // The file is read only where tags are equal.
    let hash_of = |entry: &Entry| hash_at(hashes, entry[1] as usize);
    bucket.sort_unstable_by(|a, b| a[0].cmp(&b[0]).then_with(|| hash_of(a).cmp(&hash_of(b))));
    let same = |a: &Entry, b: &Entry| a[0] == b[0] && hash_of(a) == hash_of(b);
    let pairs = bucket.windows(2).filter_map(|pair| match pair {
        [a, b] if same(a, b) => Some((a[1].min(b[1]), a[1].max(b[1]))),
        _ => None,
    });
    pairs.min()
}

/// Whether any two tags are equal.
fn has_equal_tags(mut bucket: &[Entry]) -> bool {
    let mut any = false;
    while let Some((one, others)) = bucket.split_first() {
        bucket = others;
        any |= others.iter().fold(false, |any, other| any | (one[0] == other[0]));
    }
    any
}

/// Runs `work` on every part, each on its own thread; a single part on the current one.
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
    let detail = format!("samples {one} and {other} have the same key hash: the index is damaged and can be rebuilt");
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
    fn finds_the_row_of_every_hash() {
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
    fn confirmed_rows_need_no_hash() {
        let hashes = bytes((0..1000).map(mixed));
        let table = KeyTable::build(&hashes, |row| u64::from(row) << 20, 1).unwrap();
        for row in 0..1000 {
            assert_eq!(table.candidate(mixed(row)), Some((row as u32, row << 20)));
            assert_eq!(
                table.find(&[], mixed(row), |candidate, start| u64::from(candidate) == row && start == row << 20),
                Some(row as u32)
            );
            assert_eq!(table.find(&[], mixed(row), |_, _| false), None);
        }
    }

    #[test]
    fn hostile_hashes_cost_no_more() {
        // All in one bucket; all with equal trailing bits; both.
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
    fn reports_duplicate_hashes() {
        for (rows, threads) in [(10u64, 1), (100_000, 4)] {
            let hashes = bytes((0..rows).map(|row| mixed(if row == 7 { 3 } else { row })));
            let error = KeyTable::build(&hashes, |row| u64::from(row) << 20, threads).err().unwrap();
            assert_eq!(
                error.to_string(),
                "samples 3 and 7 have the same key hash: the index is damaged and can be rebuilt (byte 64, row 7)"
            );
        }
        let error = KeyTable::build(&bytes(std::iter::repeat_n(5, 100_000)), |_| 0, 4).err().unwrap();
        assert!(error.to_string().contains("have the same key hash"), "{error}");
    }
}
