//! The table in which a hash is searched: buckets by the first bits of the hash, in each the rows.
//!
//! A row is kept as four bytes and the last 32 bits of its hash; the hash itself stays in its file. All buckets lie one behind
//! the other, so that a look-up touches two places of the table and one of the file. A bucket is sorted: whatever hashes a
//! file holds, building is n log n and a look-up log n.

use std::thread;

use container_core::{Error, Pages, Result};

use crate::index::hashes::hash_at;

/// Rows in a bucket, on average, at most.
const LOAD: usize = 4;

/// Tables of fewer rows are built by one thread.
const SMALL: usize = 1 << 16;

/// Up to here a bucket is searched from its beginning.
const SHORT: usize = 16;

/// The last bits of a hash, and the row.
type Entry = [u32; 2];

pub(crate) struct KeyTable {
    /// How many first bits of a hash choose the bucket.
    bits: u32,
    /// Where each bucket begins, and where the last one ends.
    starts: Pages<u32>,
    entries: Pages<Entry>,
}

/// The bucket of a hash.
#[inline]
fn bucket(hash: u64, bits: u32) -> usize {
    // Two steps, since a shift by 64 is none; the result is below 2^32.
    usize::try_from((hash >> 1) >> (63 - bits)).unwrap_or(0)
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the last 32 bits are what is wanted")]
fn low(hash: u64) -> u32 {
    hash as u32
}

impl KeyTable {
    /// Builds the table over hashes of eight bytes each, big-endian, with up to `threads` threads; 0 for as many as there are.
    ///
    /// # Errors
    /// Two rows with the same hash, which no writer leaves; more rows than the format allows.
    pub(crate) fn build(hashes: &[u8], threads: usize) -> Result<Self> {
        let rows = hashes.len() / 8;
        if u32::try_from(rows).is_err() {
            return Err(Error::limit("the number of key hashes", rows as u64, u32::MAX.into()));
        }
        let bits = (rows / LOAD).checked_ilog2().unwrap_or(0);
        let buckets = 1usize << bits;
        let threads = match threads {
            _ if rows < SMALL => 1,
            0 => thread::available_parallelism().map_or(1, Into::into),
            some => some,
        };
        let share = buckets.div_ceil(threads.clamp(1, 64));
        let mut starts: Pages<u32> = Pages::zeroed(buckets + 1);
        let mut entries: Pages<Entry> = Pages::zeroed(rows);
        // Every thread reads all hashes, which is cheap, and writes the buckets of its share alone.
        if let Some((_, counts)) = starts.split_first_mut() {
            in_parallel(counts.chunks_mut(share).enumerate(), |(part, counts)| {
                count(hashes, bits, part * share, counts)
            });
        }
        let mut total = 0u32;
        for end in starts.iter_mut() {
            total += *end; // at most `rows`
            *end = total;
        }
        let mut rest = &mut *entries;
        let mut parts = Vec::new();
        for first in (0..buckets).step_by(share) {
            let last = (first + share).min(buckets);
            let bounds = starts.get(first..=last).unwrap_or_default();
            let (Some(begin), Some(end)) = (bounds.first(), bounds.last()) else { break };
            let (mine, others) = std::mem::take(&mut rest).split_at_mut((end - begin) as usize);
            rest = others;
            parts.push((first, bounds, mine));
        }
        let twice = in_parallel(parts.into_iter(), |(first, bounds, mine)| fill(hashes, bits, first, bounds, mine));
        match twice.into_iter().flatten().min() {
            Some((one, other)) => Err(same_hash(one.into(), other.into())),
            None => Ok(Self { bits, starts, entries }),
        }
    }

    /// The row whose hash this is. `sure` tells of a row whether it is the one without a look at its hash; it is asked for rows
    /// whose hash has the same last and first bits.
    #[inline]
    pub(crate) fn find(&self, hashes: &[u8], hash: u64, mut sure: impl FnMut(u32) -> bool) -> Option<u32> {
        let entries = self.bucket(hash)?;
        let wanted = low(hash);
        if entries.len() > SHORT {
            return find_in_long(entries, hashes, hash);
        }
        let mut same = entries.iter().filter(|entry| entry[0] == wanted).map(|entry| entry[1]);
        same.find(|&row| sure(row) || hash_at(hashes, row as usize) == Some(hash))
    }

    /// The first row whose hash has the same last and first bits. Looks at nothing but the table.
    #[inline]
    pub(crate) fn guess(&self, hash: u64) -> Option<u32> {
        let wanted = low(hash);
        self.bucket(hash)?.iter().take(SHORT).find(|entry| entry[0] == wanted).map(|entry| entry[1])
    }

    #[inline]
    fn bucket(&self, hash: u64) -> Option<&[Entry]> {
        let at = bucket(hash, self.bits);
        let (start, end) = (*self.starts.get(at)?, *self.starts.get(at + 1)?);
        self.entries.get(start as usize..end as usize)
    }

    /// The bytes it takes.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        size_of_val(&*self.starts) + size_of_val(&*self.entries)
    }
}

/// The row of a hash in a bucket of which no writer makes one.
#[cold]
fn find_in_long(entries: &[Entry], hashes: &[u8], hash: u64) -> Option<u32> {
    let wanted = low(hash);
    let first = entries.partition_point(|entry| entry[0] < wanted);
    let last = entries.partition_point(|entry| entry[0] <= wanted);
    let same = entries.get(first..last)?;
    let place = same.binary_search_by_key(&Some(hash), |entry| hash_at(hashes, entry[1] as usize)).ok()?;
    same.get(place).map(|entry| entry[1])
}

/// Does each piece of work on a thread of its own, the only one on this thread.
fn in_parallel<P: Send, R: Send>(mut parts: impl ExactSizeIterator<Item = P>, work: impl Fn(P) -> R + Sync) -> Vec<R> {
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

/// Counts the rows of each bucket from `first` on.
fn count(hashes: &[u8], bits: u32, first: usize, counts: &mut [u32]) {
    let (hashes, _) = hashes.as_chunks::<8>();
    for hash in hashes {
        let at = bucket(u64::from_be_bytes(*hash), bits).wrapping_sub(first);
        if let Some(count) = counts.get_mut(at) {
            *count += 1;
        }
    }
}

/// Puts rows into the buckets from `first` on, whose bounds these are, and sorts each; gives two rows of the same hash.
fn fill(hashes: &[u8], bits: u32, first: usize, bounds: &[u32], entries: &mut [Entry]) -> Option<(u32, u32)> {
    let begin = *bounds.first()?;
    let mut next: Vec<u32> = bounds.iter().map(|bound| bound - begin).collect();
    next.pop();
    let (all, _) = hashes.as_chunks::<8>();
    for (hash, row) in all.iter().zip(0u32..) {
        let hash = u64::from_be_bytes(*hash);
        if let Some(place) = next.get_mut(bucket(hash, bits).wrapping_sub(first)) {
            if let Some(entry) = entries.get_mut(*place as usize) {
                *entry = [low(hash), row];
            }
            *place += 1;
        }
    }
    let hash_of = |entry: &Entry| hash_at(hashes, entry[1] as usize);
    let mut twice = None;
    for pair in bounds.windows(2) {
        let [start, end] = pair else { continue };
        let Some(bucket) = entries.get_mut((start - begin) as usize..(end - begin) as usize) else { continue };
        if bucket.len() < 2 {
            continue;
        }
        // The file is only asked where the bits at hand are the same.
        bucket.sort_unstable_by(|a, b| a[0].cmp(&b[0]).then_with(|| hash_of(a).cmp(&hash_of(b))));
        for pair in bucket.windows(2) {
            if let [a, b] = pair
                && a[0] == b[0]
                && hash_of(a) == hash_of(b)
            {
                let found = (a[1].min(b[1]), a[1].max(b[1]));
                twice = Some(twice.map_or(found, |known| found.min(known)));
            }
        }
    }
    twice
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
            let table = KeyTable::build(&hashes, threads).unwrap();
            for row in 0..rows {
                assert_eq!(table.find(&hashes, mixed(row), |_| false), Some(row as u32), "{rows} {threads}");
            }
            for other in rows..rows + 1000 {
                assert_eq!(table.find(&hashes, mixed(other), |_| false), None);
            }
            assert!(table.bytes() < 11 * rows as usize + 32, "{} bytes for {rows}", table.bytes());
        }
    }

    #[test]
    fn who_is_sure_is_not_asked_for_a_hash() {
        let hashes = bytes((0..1000).map(mixed));
        let table = KeyTable::build(&hashes, 1).unwrap();
        for row in 0..1000 {
            assert_eq!(table.guess(mixed(row)), Some(row as u32));
            assert_eq!(table.find(&[], mixed(row), |found| u64::from(found) == row), Some(row as u32));
            assert_eq!(table.find(&[], mixed(row), |_| false), None);
        }
    }

    #[test]
    fn hashes_of_somebody_who_means_harm_cost_no_more() {
        // All in one bucket; all with the same last bits; both.
        let families: [fn(u64) -> u64; 3] = [|n| n, |n| n << 32, |n| 7 + ((n & 0x3fff) << 32) + ((n >> 14) << 50)];
        for family in families {
            let hashes = bytes((0..100_000).map(family));
            let start = std::time::Instant::now();
            let table = KeyTable::build(&hashes, 2).unwrap();
            for row in (0..100_000).step_by(7) {
                assert_eq!(table.find(&hashes, family(row), |_| false), Some(row as u32));
            }
            assert!(start.elapsed().as_secs() < 10, "a quadratic search takes minutes");
        }
    }

    #[test]
    fn a_hash_that_occurs_twice_is_named() {
        for (rows, threads) in [(10u64, 1), (100_000, 4)] {
            let hashes = bytes((0..rows).map(|row| mixed(if row == 7 { 3 } else { row })));
            let error = KeyTable::build(&hashes, threads).err().unwrap();
            assert_eq!(
                error.to_string(),
                "the samples 3 and 7 have the same key hash: the index is damaged and can be rebuilt (byte 64, row 7)"
            );
        }
        let error = KeyTable::build(&bytes(std::iter::repeat_n(5, 100_000)), 4).err().unwrap();
        assert!(error.to_string().contains("have the same key hash"), "{error}");
    }
}
