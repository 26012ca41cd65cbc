//! Where in an index each id is: a table of positions, beside the entries and without copies of them.
//!
//! A place of the table is a number of 64 bits: 40 for the position of an entry in the index and 24 of the id's hash, so that a look-up
//! waits for one place of the table and then for the entry. The table is cut into shares by the first bits of the hash, which different
//! threads fill: each walks over all entries, which are read in their order, and puts those in that belong to its shares. So of several
//! entries of one id the last one stays, whatever the number of threads. The hash is seeded by chance: no file can be made that has all
//! its ids in one place.

use std::hash::{BuildHasher, Hasher};
use std::thread;

use container_core::{Bytes, Error, Pages, Result};
use foldhash::quality::RandomState;

use crate::wire::index::{Entry, Index};

/// Indexes of fewer entries are walked over by one thread.
const SMALL: u64 = 1 << 15;

/// Bits of a position.
const POSITION: u32 = 40;

/// Of a larger table, two to this power shares.
const SHARE_BITS: u32 = 5;

/// Places of the smallest table that is cut into shares.
const CUT: usize = 1 << 12;

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
            if let Some(seen) = fill(&index, &mut slots, share, bits, &hash, threads)? {
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
        let hash = hash_of(&self.hash, id);
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
}

#[inline]
fn hash_of(state: &RandomState, id: &[u8]) -> u64 {
    let mut hasher = state.build_hasher();
    hasher.write(id);
    hasher.finish()
}

/// An entry of an index that was walked over before; its bytes lie where they lay.
#[inline]
fn entry_at(bytes: &[u8], position: u64) -> Option<Entry<'_>> {
    let bytes = bytes.get(usize::try_from(position).ok()?..)?;
    let (len, rest) = bytes.split_first_chunk::<2>()?;
    let (id, rest) = rest.split_at_checked(u16::from_le_bytes(*len).into())?;
    let (offset, rest) = rest.split_first_chunk::<8>()?;
    let length = rest.first_chunk::<4>()?;
    Some(Entry { id, offset: u64::from_le_bytes(*offset), length: u32::from_le_bytes(*length) })
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
) -> Result<Option<Seen>> {
    let each = (slots.len() / share).div_ceil(threads).max(1) * share;
    let mut parts: Vec<(usize, &mut [u64])> =
        slots.chunks_mut(each).enumerate().map(|(number, part)| (number * each, part)).collect();
    let last = parts.pop();
    let all = thread::scope(|scope| {
        let others: Vec<_> = parts
            .into_iter()
            .map(|(first, part)| scope.spawn(move || fill_part(index, part, first, share, bits, hash)))
            .collect();
        let own = last.map(|(first, part)| fill_part(index, part, first, share, bits, hash));
        let others =
            others.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        own.into_iter().chain(others).collect::<Result<Option<Vec<Seen>>>>()
    })?;
    Ok(all.map(|parts| {
        let ids = parts.iter().map(|part| part.ids).sum();
        Seen { ids, ..parts.first().copied().unwrap_or_default() }
    }))
}

/// Walks over all entries and puts in those that belong to the places from `first` on.
fn fill_part(
    index: &Index<'_>,
    slots: &mut [u64],
    first: usize,
    share: usize,
    bits: u32,
    hash: &RandomState,
) -> Result<Option<Seen>> {
    let mut seen = Seen { entries: index.len(), ids: 0, is_in_order: true, covered: 0 };
    let mut entries = index.entries();
    let bytes = index.file();
    loop {
        let position = entries.offset();
        let Some(entry) = entries.next() else { return Ok(Some(seen)) };
        let entry = entry?;
        seen.is_in_order &= entry.offset >= seen.covered;
        seen.covered = seen.covered.max(entry.offset.saturating_add(entry.length.into()));
        let found = hash_of(hash, entry.id);
        let (place, base) = first_place(found, bits, share);
        let Some(own) = base.checked_sub(first).filter(|own| *own < slots.len()) else { continue };
        if let Err(error) = std::str::from_utf8(entry.id) {
            let at = position + 2 + error.valid_up_to() as u64;
            return Err(Error::invalid("an id in the index is not UTF-8").at(at));
        }
        let mut place = own + (place - base);
        let mut left = share;
        loop {
            let Some(slot) = slots.get_mut(place) else { return Ok(None) };
            if *slot == 0 {
                *slot = slot_of(found, position);
                seen.ids += 1;
                break;
            }
            if has_tag(*slot, found) && entry_at(bytes, position_in(*slot)).is_some_and(|other| other.id == entry.id) {
                *slot = slot_of(found, position);
                break;
            }
            left -= 1;
            if left == 0 {
                return Ok(None);
            }
            place = next_place(place, own, share);
        }
    }
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
    fn a_full_share_is_no_endless_search() {
        let bytes = file((0..20).map(|n| (n.to_string(), 0, 0)));
        let index = Index::parse(&bytes).unwrap();
        assert_eq!(fill(&index, &mut [0; 16], 16, 4, &RandomState::default(), 1).unwrap(), None);
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
