//! Hash table from ids to index entries, without copies of the ids.
//!
//! A slot is a 64-bit number: the position of an entry in the index, roughly where its line is in the data, and the remaining bits of the id's
//! hash. A look-up thus waits for one slot, and then for entry and line at once. The table is divided into partitions by the first bits of the
//! hash. It is built in rounds of some million entries: threads first distribute different entries to partitions, then fill different
//! partitions, so that writes stay close together. Within a partition, entries keep their order, so that the last of several entries with
//! one id wins, whatever the number of threads. The hash is randomly seeded: no file can force its ids into one slot.

use std::hash::{BuildHasher, Hasher};
use std::hint::{black_box, select_unpredictable};
use std::thread;

use container_core::{Bytes, Error, Result, zeroed_vec};
use foldhash::quality::RandomState;

use crate::read::fast_line::{is_ascii, is_same};
use crate::wire::index::{Entries, Entry, Index};

mod slot;
#[cfg(test)]
mod tests;

use slot::Slot;

/// Indexes of fewer entries are read by one thread.
const MIN_PARALLEL: u64 = 1 << 15;

/// Maximum bits of a position.
const POSITION_BITS: u32 = 40;

/// Binary logarithm of the number of partitions of a large table.
const PARTITION_BITS: u32 = 5;

/// Slots of the smallest table that is divided into partitions.
const MIN_PARTITIONED: usize = 1 << 12;

/// Entries distributed to partitions at a time; 16 bytes each.
const ENTRIES_PER_ROUND: u64 = 1 << 20;

/// A validated index, and the hash table of its ids.
#[derive(Debug)]
pub(crate) struct Table {
    /// The index file.
    bytes: Bytes,
    slots: Vec<u64>,
    layout: Layout,
    hash: RandomState,
    /// Statistics of all entries.
    pub(crate) stats: IndexStats,
}

/// Layout of the table and its slots.
#[derive(Debug, Clone, Copy)]
struct Layout {
    slot: Slot,
    /// Binary logarithm of the number of slots.
    bits: u32,
    /// Slots per partition.
    partition_len: usize,
}

/// Statistics of an index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct IndexStats {
    /// Number of entries.
    pub(crate) entries: u64,
    /// Number of distinct ids.
    pub(crate) ids: u64,
    /// Whether each line begins after the one of the previous entry.
    pub(crate) is_in_order: bool,
    /// End of the last line, in bytes of the data.
    pub(crate) lines_end: u64,
}

impl Table {
    /// Validates an index file and builds its table. Uses all available threads if `threads` is 0.
    ///
    /// # Errors
    /// As [`Index::parse`] and its entries; [`Invalid`](container_core::ErrorKind::Invalid) for an id that is not valid UTF-8.
    pub(crate) fn build(bytes: Bytes, threads: usize) -> Result<Self> {
        Self::build_for(bytes, 0, threads)
    }

    /// As [`build`](Self::build), for data of this length: lets [`find_line`](Self::find_line) prefetch lines.
    pub(crate) fn build_for(bytes: Bytes, data: u64, threads: usize) -> Result<Self> {
        let index = Index::parse(&bytes)?;
        if bytes.len() as u64 >= 1 << POSITION_BITS {
            return Err(Error::limit("the length of an index", bytes.len() as u64, (1 << POSITION_BITS) - 1));
        }
        let entries = index.len();
        let threads = match threads {
            _ if entries < MIN_PARALLEL => 1,
            0 => thread::available_parallelism().map_or(1, Into::into).min(1 << PARTITION_BITS),
            some => some.min(1 << PARTITION_BITS),
        };
        let slot = Slot::new(bytes.len() as u64, data);
        let hash = RandomState::default();
        // The entries are in memory, so that this cannot overflow.
        let mut slot_count = usize::try_from(entries / 5 * 8 + 16).unwrap_or(usize::MAX).next_power_of_two();
        loop {
            let mut slots = zeroed_vec(slot_count)
                .ok_or_else(|| Error::usage(format!("out of memory for {slot_count} table slots")))?;
            let partition_len = if slot_count < MIN_PARTITIONED { slot_count } else { slot_count >> PARTITION_BITS };
            let layout = Layout { slot, bits: slot_count.trailing_zeros(), partition_len };
            if let Some(stats) = fill(&index, &mut slots, layout, &hash, threads, ENTRIES_PER_ROUND)? {
                return Ok(Self { slots, layout, hash, stats, bytes });
            }
            // A partition overflowed, which is practically impossible.
            slot_count *= 2;
        }
    }

    /// The index file.
    pub(crate) const fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// All entries with their positions, in file order. May include outdated entries, see [`IndexStats::ids`].
    pub(crate) fn entries(&self) -> impl Iterator<Item = (u64, Entry<'_>)> {
        // Validated when the table was built.
        let mut entries = Index::parse(&self.bytes).ok().map(|index| index.entries());
        std::iter::from_fn(move || {
            let entries = entries.as_mut()?;
            let position = entries.offset();
            entries.next()?.ok().map(|entry| (position, entry))
        })
    }

    /// The entry at a position returned by this table.
    pub(crate) fn entry(&self, position: u64) -> Option<Entry<'_>> {
        entry_at(&self.bytes, position)
    }

    /// The current entry of an id, and its position in the index.
    pub(crate) fn find(&self, id: &[u8]) -> Option<(u64, Entry<'_>)> {
        self.find_hashed(self.hash(id), id, |_| ())
    }

    /// As [`find`](Self::find), and prefetches the line: memory delivers entry and line at once.
    #[inline]
    pub(crate) fn find_line(&self, id: &[u8], data: &[u8]) -> Option<(u64, Entry<'_>)> {
        self.find_hashed(self.hash(id), id, |line| prefetch_line(data, line))
    }

    /// The hash of an id, specific to this table.
    #[inline]
    pub(crate) fn hash(&self, id: &[u8]) -> u64 {
        hash_of(&self.hash, id)
    }

    /// As [`find`](Self::find), for an id with a known hash. Calls `line` with the approximate offset of a candidate's line before its entry is
    /// read.
    #[inline(always)]
    pub(crate) fn find_hashed(&self, hash: u64, id: &[u8], line: impl Fn(Option<u64>)) -> Option<(u64, Entry<'_>)> {
        let Layout { slot: format, partition_len, .. } = self.layout;
        let (slots, tag) = (&self.slots[..], format.tag(hash));
        let (mut at, base) = self.layout.first_slot(hash);
        let mut slot = *slots.get(at)?;
        // An id that is not in its first slot is usually in the next one. Which one is unpredictable, so select it without a branch.
        let next = next_slot(at, base, partition_len);
        let is_first = format.same_tag(slot, tag);
        slot = select_unpredictable(is_first, slot, *slots.get(next)?);
        at = select_unpredictable(is_first, at, next);
        loop {
            if slot == 0 {
                return None;
            }
            if format.same_tag(slot, tag) {
                line(format.line(slot));
                let position = format.position(slot);
                if let Some(entry) = entry_at(&self.bytes, position)
                    && is_same(entry.id, id)
                {
                    return Some((position, entry));
                }
            }
            at = next_slot(at, base, partition_len);
            slot = *slots.get(at)?;
        }
    }

    /// Prefetches the slots where these hashes are looked up first, and then the entries they point to. Small, so that the processor overlaps
    /// many of them.
    pub(crate) fn prefetch(&self, hashes: &[u64]) {
        let (slots, index): (&[u64], &[u8]) = (&self.slots, &self.bytes);
        let layout = self.layout;
        let first = |hash: &u64| slots.get(layout.first_slot(*hash).0).copied();
        for hash in hashes {
            black_box(first(hash));
        }
        hashes.iter().for_each(|hash| prefetch_byte(index, first(hash).map(|slot| layout.slot.position(slot))));
    }
}

/// Prefetches the beginning of a line at about this offset.
#[inline]
fn prefetch_line(data: &[u8], at: Option<u64>) {
    let part: Option<&[u8; 193]> = at.and_then(|at| data.get(usize::try_from(at).ok()?..)?.first_chunk());
    if let Some(part) = part {
        black_box(part[0] ^ part[64] ^ part[128] ^ part[192]);
    }
}

/// Prefetches the byte at an offset.
#[inline]
pub(crate) fn prefetch_byte(bytes: &[u8], at: Option<u64>) {
    black_box(at.and_then(|at| bytes.get(usize::try_from(at).ok()?)).copied());
}

#[inline]
fn hash_of(state: &RandomState, id: &[u8]) -> u64 {
    let mut hasher = state.build_hasher();
    hasher.write(id);
    hasher.finish()
}

/// The entry at a position of an index that was validated before.
#[inline]
pub(crate) fn entry_at(file: &[u8], position: u64) -> Option<Entry<'_>> {
    Entry::split(file.get(usize::try_from(position).ok()?..)?).map(|(entry, _)| entry)
}

impl Layout {
    /// The slot for a hash, and the first slot of its partition.
    #[inline]
    fn first_slot(self, hash: u64) -> (usize, usize) {
        // There are at least 16 slots, so the shift leaves an index below their number.
        let at = usize::try_from(hash >> (64 - self.bits)).unwrap_or(0);
        (at, at & !(self.partition_len - 1))
    }
}

/// The following slot, wrapping around within the partition.
#[inline]
const fn next_slot(at: usize, base: usize, partition_len: usize) -> usize {
    base | (at + 1) & (partition_len - 1)
}

/// Fills an empty table; `None` if a partition overflows.
fn fill(
    index: &Index<'_>,
    slots: &mut [u64],
    layout: Layout,
    hash: &RandomState,
    threads: usize,
    round: u64,
) -> Result<Option<IndexStats>> {
    let Layout { slot, partition_len, .. } = layout;
    let partitions = slots.len() / partition_len;
    let mut stats = IndexStats { entries: index.len(), is_in_order: true, ..IndexStats::default() };
    let mut distributed: Vec<Partitioned> = (0..threads).map(|_| Partitioned::new(partitions)).collect();
    let mut entries = index.entries();
    let mut left = index.len();
    while left > 0 {
        let round = left.min(round);
        left -= round;
        let each = round.div_ceil(threads as u64);
        // A range's start is only known once the entries before it have been parsed.
        let mut parts = Vec::with_capacity(threads);
        for part in &mut distributed {
            let count = each.min(round.saturating_sub(each * parts.len() as u64));
            parts.push((entries.clone(), count, part));
            if parts.len() < threads {
                (0..count).try_for_each(|_| entries.next().transpose().map(drop))?;
            }
        }
        let ranges = on_threads(parts, |(entries, count, part)| part.distribute(entries, count, layout, hash));
        for range in ranges {
            let range = range?;
            stats.is_in_order &= range.is_in_order && (range.first >= stats.lines_end);
            stats.lines_end = stats.lines_end.max(range.lines_end);
            entries = range.rest;
        }
        let each = partitions.div_ceil(threads);
        let parts = slots.chunks_mut(each * partition_len).enumerate();
        let parts = parts.map(|(part, slots)| (part * each, slots)).collect();
        let inserted = on_threads(parts, |(first, slots)| {
            let mut partitions = slots.chunks_mut(partition_len).enumerate();
            partitions.try_fold(0, |ids, (number, slots)| {
                Some(ids + insert(slots, slot, first + number, &distributed, index.file())?)
            })
        });
        for ids in inserted {
            let Some(ids) = ids else { return Ok(None) };
            stats.ids += ids;
        }
    }
    // Reports trailing bytes.
    entries.next().transpose()?;
    Ok(Some(stats))
}

/// Calls `work` for each part, all but the last on a thread of its own; returns the results in order.
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

/// Entries by partition: the first slot for the id, and the slot's value.
struct Partitioned(Vec<Vec<(usize, u64)>>);

/// Summary of a range of entries.
struct EntryRange<'b> {
    /// Offset of the first line.
    first: u64,
    is_in_order: bool,
    lines_end: u64,
    /// The entries after the range.
    rest: Entries<'b>,
}

impl Partitioned {
    fn new(partitions: usize) -> Self {
        Self((0..partitions).map(|_| Vec::new()).collect())
    }

    /// Replaces the contents with the next `count` entries.
    fn distribute<'b>(
        &mut self,
        mut entries: Entries<'b>,
        count: u64,
        layout: Layout,
        hash: &RandomState,
    ) -> Result<EntryRange<'b>> {
        // Slightly more than the average, so that few of them have to grow.
        let average = usize::try_from(count).unwrap_or(0) / self.0.len();
        for partition in &mut self.0 {
            partition.clear();
            partition.reserve(average + average / 32);
        }
        let shift = layout.partition_len.trailing_zeros();
        let (mut first, mut is_in_order, mut lines_end) = (None, true, 0);
        for _ in 0..count {
            let position = entries.offset();
            let Some(entry) = entries.next().transpose()? else { break };
            first.get_or_insert(entry.offset);
            is_in_order &= entry.offset >= lines_end;
            lines_end = lines_end.max(entry.offset.saturating_add(entry.length.into()));
            if !is_ascii(entry.id)
                && let Err(error) = std::str::from_utf8(entry.id)
            {
                let at = position + 2 + error.valid_up_to() as u64;
                return Err(Error::invalid("an id in the index is not valid UTF-8").at(at));
            }
            let id_hash = hash_of(hash, entry.id);
            let (first, _) = layout.first_slot(id_hash);
            if let Some(partition) = self.0.get_mut(first >> shift) {
                partition.push((first, layout.slot.pack(id_hash, position, entry.offset)));
            }
        }
        Ok(EntryRange { first: first.unwrap_or(u64::MAX), is_in_order, lines_end, rest: entries })
    }
}

/// Inserts the entries of a partition. Returns the number of new ids; `None` if the partition overflows.
fn insert(slots: &mut [u64], slot: Slot, number: usize, all: &[Partitioned], file: &[u8]) -> Option<u64> {
    let mut ids = 0;
    let partition_len = slots.len();
    for (first, new) in all.iter().filter_map(|part| part.0.get(number)).flatten() {
        let mut at = first & (partition_len - 1);
        let mut left = partition_len;
        loop {
            let old = slots.get_mut(at)?;
            if *old == 0 {
                *old = *new;
                ids += 1;
                break;
            }
            if slot.same_tag(*old, *new) && id_at(file, slot.position(*old)) == id_at(file, slot.position(*new)) {
                *old = *new;
                break;
            }
            left = left.checked_sub(1).filter(|left| *left > 0)?;
            at = next_slot(at, 0, partition_len);
        }
    }
    Some(ids)
}

fn id_at(file: &[u8], position: u64) -> Option<&[u8]> {
    entry_at(file, position).map(|entry| entry.id)
}
