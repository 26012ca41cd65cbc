//! Where in an index each id is: a table of positions, beside the entries and without copies of them.
//!
//! A place of the table is a number of 64 bits: 40 for the position of an entry in the index and 24 of the id's hash, so that a look-up
//! waits for one place of the table and then for the entry. The table is cut into shares by the first bits of the hash. Some million
//! entries at a time are sorted by share, and then put into the shares, one after another, so that what is written to lies close together;
//! different threads sort different entries, and fill different shares. What was sorted comes in the order of the entries: so of several
//! entries of one id the last one stays, whatever the number of threads. The hash is seeded by chance: no file can be made that has all its
//! ids in one place.

use std::hash::{BuildHasher, Hasher};
use std::thread;

use container_core::{Bytes, Error, Pages, Result};
use foldhash::quality::RandomState;

use crate::wire::index::{Entries, Entry, Index};

/// Indexes of fewer entries are walked over by one thread.
const SMALL: u64 = 1 << 15;

/// Bits of a position.
const POSITION: u32 = 40;

/// Of a larger table, two to this power shares.
const SHARE_BITS: u32 = 5;

/// Places of the smallest table that is cut into shares.
const CUT: usize = 1 << 12;

/// Entries that are sorted at a time, 16 bytes for each.
const ROUND: u64 = 1 << 20;

/// All entries of an index, checked, and the table in which ids are searched.
#[derive(Debug)]
pub(crate) struct Table {
    /// A whole index file.
    bytes: Bytes,
    slots: Pages<u64>,
    /// Bits of the number of places.
    bits: u32,
    /// Places of a share.
    share: usize,
    hash: RandomState,
    /// What the walk over the entries found.
    pub(crate) seen: Seen,
}

/// What is known of all entries together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Entries.
    pub(crate) entries: u64,
    /// Ids among them.
    pub(crate) ids: u64,
    /// Is each entry's line behind that of the one before?
    pub(crate) is_in_order: bool,
    /// The end of the last line.
    pub(crate) covered: u64,
}

impl Table {
    /// Walks over all entries of an index file, and puts them into a table; with so many threads, 0 for as many as there are.
    ///
    /// # Errors
    /// As [`Index::parse`] and its entries; [`Invalid`](container_core::ErrorKind::Invalid) for an id that is not UTF-8.
    pub(crate) fn build(bytes: Bytes, threads: usize) -> Result<Self> {
        let index = Index::parse(&bytes)?;
        if bytes.len() as u64 >= 1 << POSITION {
            return Err(Error::limit("the length of an index", bytes.len() as u64, (1 << POSITION) - 1));
        }
        let entries = index.len();
        let threads = match threads {
            _ if entries < SMALL => 1,
            0 => thread::available_parallelism().map_or(1, Into::into).min(1 << SHARE_BITS),
            some => some.min(1 << SHARE_BITS),
        };
        let hash = RandomState::default();
        // So many entries lie in memory: their number, times 8 / 5, is far from the largest one.
        let mut places = usize::try_from(entries / 5 * 8 + 16).unwrap_or(usize::MAX).next_power_of_two();
        loop {
            let mut slots: Pages<u64> = Pages::zeroed(places);
            let share = if places < CUT { places } else { places >> SHARE_BITS };
            let bits = places.trailing_zeros();
            if let Some(seen) = fill(&index, &mut slots, share, bits, &hash, threads, ROUND)? {
                return Ok(Self { slots, bits, share, hash, seen, bytes });
            }
            // A share was full: that takes a seed that cannot be met by chance, and still is no error.
            places *= 2;
        }
    }

    /// The index file that this is about.
    pub(crate) const fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// All entries in the file's order, and where each begins. An id may stand there more than once where [`Seen::ids`] says so.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (u64, Entry<'_>)> {
        // Both were checked when the table was built.
        let mut entries = Index::parse(&self.bytes).ok().map(|index| index.entries());
        std::iter::from_fn(move || {
            let entries = entries.as_mut()?;
            let position = entries.offset();
            entries.next()?.ok().map(|entry| (position, entry))
        })
    }

    /// The entry at a position that this table gave.
    pub(crate) fn entry(&self, position: u64) -> Option<Entry<'_>> {
        entry_at(&self.bytes, position)
    }

    /// Where the entry that holds for this id begins in the index.
    pub(crate) fn find(&self, id: &[u8]) -> Option<(u64, Entry<'_>)> {
        self.find_hashed(self.hash(id), id)
    }

    /// The hash of an id in this table.
    #[inline]
    pub(crate) fn hash(&self, id: &[u8]) -> u64 {
        hash_of(&self.hash, id)
    }

    /// The same as [`find`](Self::find), for an id whose hash is known.
    #[inline]
    pub(crate) fn find_hashed(&self, hash: u64, id: &[u8]) -> Option<(u64, Entry<'_>)> {
        let (mut place, base) = first_place(hash, self.bits, self.share);
        loop {
            let slot = self.slots.get(place).copied().filter(|slot| *slot != 0)?;
            if has_tag(slot, hash) {
                let position = position_in(slot);
                if let Some(entry) = entry_at(&self.bytes, position)
                    && entry.id == id
                {
                    return Some((position, entry));
                }
            }
            place = next_place(place, base, self.share);
        }
    }

    /// The position in the first place where an id of this hash is searched: of its entry, as a rule.
    #[inline]
    pub(crate) fn first_position(&self, hash: u64) -> Option<u64> {
        self.slots.get(first_place(hash, self.bits, self.share).0).map(|slot| position_in(*slot))
    }
}

#[inline]
fn hash_of(state: &RandomState, id: &[u8]) -> u64 {
    let mut hasher = state.build_hasher();
    hasher.write(id);
    hasher.finish()
}

/// An entry of an index that was walked over before; its bytes lie where they lay.
#[inline]
pub(crate) fn entry_at(file: &[u8], position: u64) -> Option<Entry<'_>> {
    Entry::split(file.get(usize::try_from(position).ok()?..)?).map(|(entry, _)| entry)
}

/// The place that the first bits of a hash name, and the first one of its share.
#[inline]
fn first_place(hash: u64, bits: u32, share: usize) -> (usize, usize) {
    // At least 16 places: so many bits are left that the result is a place.
    let place = usize::try_from(hash >> (64 - bits)).unwrap_or(0);
    (place, place & !(share - 1))
}

/// The place behind, in the same share.
#[inline]
const fn next_place(place: usize, base: usize, share: usize) -> usize {
    base | (place + 1) & (share - 1)
}

#[inline]
const fn slot_of(hash: u64, position: u64) -> u64 {
    // An entry stands behind the head: its position is never 0, and neither is this.
    hash << POSITION | position
}

#[inline]
const fn has_tag(slot: u64, hash: u64) -> bool {
    (slot ^ hash << POSITION) >> POSITION == 0
}

#[inline]
const fn position_in(slot: u64) -> u64 {
    slot & ((1 << POSITION) - 1)
}

/// Fills a table of zeros; nothing where a share has no place left.
fn fill(
    index: &Index<'_>,
    slots: &mut [u64],
    share: usize,
    bits: u32,
    hash: &RandomState,
    threads: usize,
    round: u64,
) -> Result<Option<Seen>> {
    let shares = slots.len() / share;
    let mut seen = Seen { entries: index.len(), is_in_order: true, ..Seen::default() };
    let mut sorted: Vec<Sorted> = (0..threads).map(|_| Sorted::new(shares)).collect();
    let mut entries = index.entries();
    let mut left = index.len();
    while left > 0 {
        let round = left.min(round);
        left -= round;
        let each = round.div_ceil(threads as u64);
        // Where a part begins is known when those in front of it were walked over.
        let mut parts = Vec::with_capacity(threads);
        for sorted in &mut sorted {
            let count = each.min(round.saturating_sub(each * parts.len() as u64));
            parts.push((entries.clone(), count, sorted));
            if parts.len() < threads {
                (0..count).try_for_each(|_| entries.next().transpose().map(drop))?;
            }
        }
        let walked = on_threads(parts, |(entries, count, sorted)| sorted.take(entries, count, hash, bits, share));
        for walked in walked {
            let walked = walked?;
            seen.is_in_order &= walked.is_in_order && (walked.first >= seen.covered);
            seen.covered = seen.covered.max(walked.covered);
            entries = walked.behind;
        }
        let most = shares.div_ceil(threads);
        let parts = slots.chunks_mut(most * share).enumerate().map(|(part, slots)| (part * most, slots)).collect();
        let put_in = on_threads(parts, |(first, slots)| {
            let mut shares = slots.chunks_mut(share).enumerate();
            shares.try_fold(0, |ids, (number, slots)| {
                Some(ids + put_in(slots, first + number, &sorted, index.file(), bits)?)
            })
        });
        for ids in put_in {
            let Some(ids) = ids else { return Ok(None) };
            seen.ids += ids;
        }
    }
    // What follows the last one is an error.
    entries.next().transpose()?;
    Ok(Some(seen))
}

/// Does the work on every part, each but the last one on a thread of its own; the results come in their order.
fn on_threads<P: Send, T: Send>(mut parts: Vec<P>, work: impl Fn(P) -> T + Sync) -> Vec<T> {
    let last = parts.pop();
    thread::scope(|scope| {
        let work = &work;
        let others: Vec<_> = parts.into_iter().map(|part| scope.spawn(move || work(part))).collect();
        let last = last.map(work);
        let others =
            others.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        others.chain(last).collect()
    })
}

/// Entries by the shares that they belong to: the hash of the id, and the position.
struct Sorted(Vec<Vec<(u64, u64)>>);

/// What a walk over some entries found.
struct Walked<'b> {
    /// The offset of the first one.
    first: u64,
    is_in_order: bool,
    covered: u64,
    /// The entries behind them.
    behind: Entries<'b>,
}

impl Sorted {
    fn new(shares: usize) -> Self {
        Self((0..shares).map(|_| Vec::new()).collect())
    }

    /// Takes so many entries in the place of those that are there.
    fn take<'b>(
        &mut self,
        mut entries: Entries<'b>,
        count: u64,
        hash: &RandomState,
        bits: u32,
        share: usize,
    ) -> Result<Walked<'b>> {
        // A little more than by chance: few of them have to grow.
        let some = usize::try_from(count).unwrap_or(0) / self.0.len();
        for sorted in &mut self.0 {
            sorted.clear();
            sorted.reserve(some + some / 32);
        }
        let shift = share.trailing_zeros();
        let (mut first, mut is_in_order, mut covered) = (None, true, 0);
        for _ in 0..count {
            let position = entries.offset();
            let Some(entry) = entries.next().transpose()? else { break };
            first.get_or_insert(entry.offset);
            is_in_order &= entry.offset >= covered;
            covered = covered.max(entry.offset.saturating_add(entry.length.into()));
            if !entry.id.is_ascii()
                && let Err(error) = std::str::from_utf8(entry.id)
            {
                let at = position + 2 + error.valid_up_to() as u64;
                return Err(Error::invalid("an id in the index is not UTF-8").at(at));
            }
            let found = hash_of(hash, entry.id);
            let (place, _) = first_place(found, bits, share);
            if let Some(sorted) = self.0.get_mut(place >> shift) {
                sorted.push((found, position));
            }
        }
        Ok(Walked { first: first.unwrap_or(u64::MAX), is_in_order, covered, behind: entries })
    }
}

/// Puts what belongs to a share into it; the number of ids that were not there, or nothing where there is no place left.
fn put_in(slots: &mut [u64], number: usize, all: &[Sorted], file: &[u8], bits: u32) -> Option<u64> {
    let mut ids = 0;
    for (hash, position) in all.iter().filter_map(|sorted| sorted.0.get(number)).flatten() {
        let (mut place, base) = first_place(*hash, bits, slots.len());
        place -= base;
        let mut left = slots.len();
        loop {
            let slot = slots.get_mut(place)?;
            if *slot == 0 {
                *slot = slot_of(*hash, *position);
                ids += 1;
                break;
            }
            if has_tag(*slot, *hash) && id_at(file, position_in(*slot)) == id_at(file, *position) {
                *slot = slot_of(*hash, *position);
                break;
            }
            left = left.checked_sub(1).filter(|left| *left > 0)?;
            place = next_place(place, 0, slots.len());
        }
    }
    Some(ids)
}

fn id_at(file: &[u8], position: u64) -> Option<&[u8]> {
    entry_at(file, position).map(|entry| entry.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::index::{head, put};

    fn file(entries: impl IntoIterator<Item = (String, u64, u32)>) -> Bytes {
        let entries: Vec<_> = entries.into_iter().collect();
        let mut out = head(entries.len() as u64).to_vec();
        for (id, offset, length) in &entries {
            put(&Entry { id: id.as_bytes(), offset: *offset, length: *length }, &mut out).unwrap();
        }
        out.into()
    }

    #[test]
    fn every_id_is_found_and_no_other() {
        for (count, threads) in [(0u64, 1), (1, 1), (100, 4), (40_000, 1), (40_000, 3), (100_000, 0)] {
            let table = Table::build(file((0..count).map(|n| (format!("doc-{n}"), n * 7, 7))), threads).unwrap();
            assert_eq!(table.seen, Seen { entries: count, ids: count, is_in_order: true, covered: count * 7 });
            for n in 0..count {
                let id = format!("doc-{n}");
                let (position, entry) = table.find(id.as_bytes()).unwrap();
                assert_eq!((entry.id, entry.offset, entry.length), (id.as_bytes(), n * 7, 7));
                assert_eq!(table.entry(position), Some(entry));
            }
            assert!(table.find(b"doc-").is_none() && table.find(format!("doc-{count}").as_bytes()).is_none());
            assert_eq!(table.entries().count() as u64, count);
        }
    }

    #[test]
    fn of_entries_with_one_id_the_last_one_holds() {
        for threads in [1, 4] {
            let entries = (0..100_000u64).map(|n| (format!("{}", n % 40_000), n, 1));
            let table = Table::build(file(entries), threads).unwrap();
            assert_eq!((table.seen.entries, table.seen.ids), (100_000, 40_000));
            for n in 0..40_000u64 {
                let last = if n < 20_000 { n + 80_000 } else { n + 40_000 };
                assert_eq!(table.find(n.to_string().as_bytes()).unwrap().1.offset, last);
            }
        }
    }

    #[test]
    fn order_and_end_are_known() {
        let seen = |entries: &[(u64, u32)]| {
            let named = entries.iter().enumerate().map(|(n, (offset, length))| (n.to_string(), *offset, *length));
            Table::build(file(named), 1).unwrap().seen
        };
        assert!(seen(&[(0, 5), (5, 5), (11, 1)]).is_in_order);
        assert!(!seen(&[(5, 5), (0, 5)]).is_in_order);
        assert!(!seen(&[(0, 5), (4, 5)]).is_in_order);
        assert_eq!(seen(&[(9, 5), (0, 5)]).covered, 14);
        assert_eq!(seen(&[(u64::MAX, 5)]).covered, u64::MAX);
    }

    #[test]
    fn rounds_and_threads_do_not_matter() {
        let bytes = file((0..5000u64).map(|n| (format!("{}", n % 1999), n * 3, 3)));
        let index = Index::parse(&bytes).unwrap();
        let hash = RandomState::default();
        let filled = |threads, round| {
            let mut slots = vec![0; 8192];
            let seen = fill(&index, &mut slots, 256, 13, &hash, threads, round).unwrap().unwrap();
            (seen, slots)
        };
        let at_once = filled(1, 5000);
        assert_eq!(at_once.0, Seen { entries: 5000, ids: 1999, is_in_order: true, covered: 15000 });
        for (threads, round) in [(1, 1), (1, 999), (3, 1000), (4, 5000), (7, 5), (7, 4999)] {
            assert_eq!(filled(threads, round), at_once, "{threads} {round}");
        }
        // What is out of order where two threads meet, is seen.
        let bytes = file((0..100u64).map(|n| (n.to_string(), (n + 50) % 100 * 3, 3)));
        let index = Index::parse(&bytes).unwrap();
        let seen = fill(&index, &mut [0; 512], 512, 9, &hash, 2, 100).unwrap().unwrap();
        assert_eq!((seen.is_in_order, seen.covered), (false, 300));
    }

    #[test]
    fn a_full_share_is_no_endless_search() {
        let bytes = file((0..20).map(|n| (n.to_string(), 0, 0)));
        let index = Index::parse(&bytes).unwrap();
        assert_eq!(fill(&index, &mut [0; 16], 16, 4, &RandomState::default(), 1, ROUND).unwrap(), None);
    }

    #[test]
    fn damage_is_an_error() {
        let bytes = file([("a".to_owned(), 0, 1), ("b".to_owned(), 1, 1)]);
        let mut other = bytes.to_vec();
        other[18] = 0xff;
        let error = Table::build(other.into(), 1).unwrap_err().to_string();
        assert_eq!(error, "an id in the index is not UTF-8 (byte 18)");
        assert!(Table::build(bytes.slice(..bytes.len() - 1), 1).is_err());
    }
}
