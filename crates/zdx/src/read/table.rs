//! Where in an index each id is: a table of positions, beside the entries and without copies of them.
//!
//! A place of the table is a number of 64 bits: the position of an entry in the index, about where its line lies in the data, and for the rest
//! bits of the id's hash. So a look-up waits for one place of the table, and then for entry and line at once. The table is cut into shares by the first bits of the hash. Some million
//! entries at a time are sorted by share, and then put into the shares, one after another, so that what is written to lies close together;
//! different threads sort different entries, and fill different shares. What was sorted comes in the order of the entries: so of several
//! entries of one id the last one stays, whatever the number of threads. The hash is seeded by chance: no file can be made that has all its
//! ids in one place.

use std::hash::{BuildHasher, Hasher};
use std::hint::{black_box, select_unpredictable};
use std::thread;

use container_core::{Bytes, Error, Result, zeroed_vec};
use foldhash::quality::RandomState;

use crate::read::plain::{is_ascii, is_same};
use crate::wire::index::{Entries, Entry, Index};

mod slot;
#[cfg(test)]
mod tests;

use slot::Slot;

/// Indexes of fewer entries are walked over by one thread.
const SMALL: u64 = 1 << 15;

/// Bits of a position, at most.
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
    slots: Vec<u64>,
    shape: Shape,
    hash: RandomState,
    /// What the walk over the entries found.
    pub(crate) seen: Seen,
}

/// Where in a table an id is searched, and what is found there.
#[derive(Debug, Clone, Copy)]
struct Shape {
    slot: Slot,
    /// Bits of the number of places.
    bits: u32,
    /// Places of a share.
    share: usize,
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
        Self::build_for(bytes, 0, threads)
    }

    /// The same, of an index whose lines lie in so many bytes of data: then [`find_line`](Self::find_line) knows about where they are.
    pub(crate) fn build_for(bytes: Bytes, data: u64, threads: usize) -> Result<Self> {
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
        let slot = Slot::of(bytes.len() as u64, data);
        let hash = RandomState::default();
        // So many entries lie in memory: their number, times 8 / 5, is far from the largest one.
        let mut places = usize::try_from(entries / 5 * 8 + 16).unwrap_or(usize::MAX).next_power_of_two();
        loop {
            let mut slots =
                zeroed_vec(places).ok_or_else(|| Error::usage(format!("no memory for a table of {places} places")))?;
            let share = if places < CUT { places } else { places >> SHARE_BITS };
            let shape = Shape { slot, bits: places.trailing_zeros(), share };
            if let Some(seen) = fill(&index, &mut slots, shape, &hash, threads, ROUND)? {
                return Ok(Self { slots, shape, hash, seen, bytes });
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
        self.find_hashed(self.hash(id), id, |_| ())
    }

    /// The entry that holds for this id, whose line is wanted: memory gives both at once.
    #[inline]
    pub(crate) fn find_line(&self, id: &[u8], data: &[u8]) -> Option<(u64, Entry<'_>)> {
        self.find_hashed(self.hash(id), id, |line| touch_line(data, line))
    }

    /// The hash of an id in this table.
    #[inline]
    pub(crate) fn hash(&self, id: &[u8]) -> u64 {
        hash_of(&self.hash, id)
    }

    /// The same as [`find`](Self::find), for an id whose hash is known. About where the line of each entry that may be the one lies, is told
    /// before the entry is needed.
    #[inline(always)]
    pub(crate) fn find_hashed(&self, hash: u64, id: &[u8], line: impl Fn(Option<u64>)) -> Option<(u64, Entry<'_>)> {
        let Shape { slot: kind, share, .. } = self.shape;
        let (slots, wanted) = (&self.slots[..], kind.tag(hash));
        let (mut place, base) = self.shape.first_place(hash);
        let mut slot = *slots.get(place)?;
        // An id that is not at its first place is mostly at the next one. Which of them it is cannot be foreseen: so it is chosen without a branch.
        let next = next_place(place, base, share);
        let is_first = kind.have_one_tag(slot, wanted);
        slot = select_unpredictable(is_first, slot, *slots.get(next)?);
        place = select_unpredictable(is_first, place, next);
        loop {
            if slot == 0 {
                return None;
            }
            if kind.have_one_tag(slot, wanted) {
                line(kind.line(slot));
                let position = kind.position(slot);
                if let Some(entry) = entry_at(&self.bytes, position)
                    && is_same(entry.id, id)
                {
                    return Some((position, entry));
                }
            }
            place = next_place(place, base, share);
            slot = *slots.get(place)?;
        }
    }

    /// Has the places fetched where ids of these hashes are searched first, and then the entries that stand there: those of the ids, as a rule.
    /// It is short, so that many of them are under way together.
    pub(crate) fn touch(&self, hashes: &[u64]) {
        let (slots, index): (&[u64], &[u8]) = (&self.slots, &self.bytes);
        let shape = self.shape;
        let place = |hash: &u64| slots.get(shape.first_place(*hash).0).copied();
        for hash in hashes {
            black_box(place(hash));
        }
        hashes.iter().for_each(|hash| touch_byte(index, place(hash).map(|found| shape.slot.position(found))));
    }
}

/// Has the first bytes of a line fetched, about where it begins.
#[inline]
fn touch_line(data: &[u8], at: Option<u64>) {
    let part: Option<&[u8; 193]> = at.and_then(|at| data.get(usize::try_from(at).ok()?..)?.first_chunk());
    if let Some(part) = part {
        black_box(part[0] ^ part[64] ^ part[128] ^ part[192]);
    }
}

/// Has the byte at a place fetched, whatever it is.
#[inline]
pub(crate) fn touch_byte(bytes: &[u8], at: Option<u64>) {
    black_box(at.and_then(|at| bytes.get(usize::try_from(at).ok()?)).copied());
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

impl Shape {
    /// The place that the first bits of a hash name, and the first one of its share.
    #[inline]
    fn first_place(self, hash: u64) -> (usize, usize) {
        // At least 16 places: so many bits are left that the result is a place.
        let place = usize::try_from(hash >> (64 - self.bits)).unwrap_or(0);
        (place, place & !(self.share - 1))
    }
}

/// The place behind, in the same share.
#[inline]
const fn next_place(place: usize, base: usize, share: usize) -> usize {
    base | (place + 1) & (share - 1)
}

/// Fills a table of zeros; nothing where a share has no place left.
fn fill(
    index: &Index<'_>,
    slots: &mut [u64],
    shape: Shape,
    hash: &RandomState,
    threads: usize,
    round: u64,
) -> Result<Option<Seen>> {
    let Shape { slot, share, .. } = shape;
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
        let walked = on_threads(parts, |(entries, count, sorted)| sorted.take(entries, count, shape, hash));
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
                Some(ids + put_in(slots, slot, first + number, &sorted, index.file())?)
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
pub(crate) fn on_threads<P: Send, T: Send>(mut parts: Vec<P>, work: impl Fn(P) -> T + Sync) -> Vec<T> {
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

/// Entries by the shares that they belong to: the first place for the id, and what is to stand there.
struct Sorted(Vec<Vec<(usize, u64)>>);

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
        shape: Shape,
        hash: &RandomState,
    ) -> Result<Walked<'b>> {
        // A little more than by chance: few of them have to grow.
        let some = usize::try_from(count).unwrap_or(0) / self.0.len();
        for sorted in &mut self.0 {
            sorted.clear();
            sorted.reserve(some + some / 32);
        }
        let shift = shape.share.trailing_zeros();
        let (mut first, mut is_in_order, mut covered) = (None, true, 0);
        for _ in 0..count {
            let position = entries.offset();
            let Some(entry) = entries.next().transpose()? else { break };
            first.get_or_insert(entry.offset);
            is_in_order &= entry.offset >= covered;
            covered = covered.max(entry.offset.saturating_add(entry.length.into()));
            if !is_ascii(entry.id)
                && let Err(error) = std::str::from_utf8(entry.id)
            {
                let at = position + 2 + error.valid_up_to() as u64;
                return Err(Error::invalid("an id in the index is not UTF-8").at(at));
            }
            let found = hash_of(hash, entry.id);
            let (place, _) = shape.first_place(found);
            if let Some(sorted) = self.0.get_mut(place >> shift) {
                sorted.push((place, shape.slot.holding(found, position, entry.offset)));
            }
        }
        Ok(Walked { first: first.unwrap_or(u64::MAX), is_in_order, covered, behind: entries })
    }
}

/// Puts what belongs to a share into it; the number of ids that were not there, or nothing where there is no place left.
fn put_in(slots: &mut [u64], slot: Slot, number: usize, all: &[Sorted], file: &[u8]) -> Option<u64> {
    let mut ids = 0;
    let share = slots.len();
    for (place, new) in all.iter().filter_map(|sorted| sorted.0.get(number)).flatten() {
        let mut place = place & (share - 1);
        let mut left = share;
        loop {
            let old = slots.get_mut(place)?;
            if *old == 0 {
                *old = *new;
                ids += 1;
                break;
            }
            if slot.have_one_tag(*old, *new) && id_at(file, slot.position(*old)) == id_at(file, slot.position(*new)) {
                *old = *new;
                break;
            }
            left = left.checked_sub(1).filter(|left| *left > 0)?;
            place = next_place(place, 0, share);
        }
    }
    Some(ids)
}

fn id_at(file: &[u8], position: u64) -> Option<&[u8]> {
    entry_at(file, position).map(|entry| entry.id)
}
