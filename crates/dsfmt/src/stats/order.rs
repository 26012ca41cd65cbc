//! Exact order statistics without sorting. Keys are counted by their first 16 bits. Then those that share the prefix of a searched value, and
//! that a sample finds near it, are collected and sorted. Where the sample misleads, keys with the prefix are counted by their next 16 bits,
//! until few enough remain to sort.

use std::marker::PhantomData;

use container_core::Result;

use super::ChunkSource;
use super::block::{BLOCK, fold};
use super::number::Numeric;

/// Key bits counted per pass.
const STEP: u32 = 16;

/// Up to this many keys are collected and sorted instead of counted again.
const MAX_SORTED: u64 = 1 << 20;

/// Keys that are collected at most if there are more than a sample tells.
const MAX_COLLECTED: usize = 4 << 20;

/// Keys in a sample, or up to twice as many.
pub(super) const SAMPLE: u64 = 1 << 18;

/// A key that occurs this often, by a sample, is counted instead of collected.
const FREQUENT: f64 = 65_536.0;

/// Counts of all keys by their first bits, and a sample of them.
pub(super) struct Counts<T> {
    /// Empty when there are few enough values to sort.
    counts: Vec<u64>,
    pub(super) sample: Vec<u64>,
    /// Values per key of the sample.
    step: usize,
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
        let step = index((values / SAMPLE).max(1).next_power_of_two()).min(BLOCK);
        Self { counts: vec![0; len], sample: Vec::new(), step, element: PhantomData }
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
        // One of each run, at a place that changes: values often repeat with a power of two.
        let places = (0..).map(|run: u64| index(run.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40));
        let runs = values.chunks_exact(self.step).zip(places);
        self.sample.extend(runs.filter_map(|(run, place)| run.get(place % self.step)).map(|value| value.key()));
    }

    pub(super) fn merge(&mut self, other: Self) {
        add_all(&mut self.counts, &other.counts);
        self.sample.extend(other.sample);
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
        let ranges = match slots.size <= MAX_SORTED {
            true => Some(slots.whole()),
            false if known == STEP => slots.near(&targets, &counts.sample),
            false => None,
        };
        if let Some(ranges) = ranges
            && let Some(found) = collect(source, &slots, &ranges, &targets)?
        {
            return Ok(found.into_iter().map(T::from_key).collect());
        }
        let new = || vec![0u64; slots.prefixes.len() << STEP];
        let (mut counts, shift) = (new(), T::BITS - known - STEP);
        source.chunks(|values: &[T], mask| {
            fold(
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

/// Collects and sorts the keys in ranges, and takes the searched ones; `None` if one lies elsewhere.
fn collect<T: Numeric>(
    source: &ChunkSource<'_, '_>,
    slots: &PrefixTable<T>,
    ranges: &[Ranges],
    targets: &[Target],
) -> Result<Option<Vec<u64>>> {
    let new = || Collected {
        tallies: ranges.iter().map(|ranges| vec![Tally::default(); ranges.starts.len()]).collect(),
        room: MAX_COLLECTED,
    };
    let mut collected = new();
    source.chunks(|values: &[T], mask| {
        fold(
            values,
            mask,
            &mut collected,
            new,
            |collected, present| {
                for value in present.values {
                    let key = value.key();
                    if let Some(slot) = slots.find(key)
                        && let (Some(ranges), Some(tallies)) = (ranges.get(slot), collected.tallies.get_mut(slot))
                    {
                        let range = ranges.find(key);
                        let Some(tally) = tallies.get_mut(range) else { continue };
                        tally.count += 1;
                        if ranges.kinds.get(range) == Some(&Kind::Collected) && collected.room > 0 {
                            collected.room -= 1;
                            tally.keys.push(key);
                        }
                    }
                }
            },
            Collected::merge,
        );
    })?;
    let tallies = &mut collected.tallies;
    tallies.iter_mut().flatten().for_each(|tally| tally.keys.sort_unstable());
    let key = |target: &Target| {
        let slot = slots.prefixes.binary_search(&target.prefix).ok()?;
        ranges.get(slot)?.key_of_rank(target.rank, tallies.get(slot)?)
    };
    Ok(targets.iter().map(key).collect())
}

/// Keys with one prefix, divided into ranges.
struct Ranges {
    /// The first key of each range.
    starts: Vec<u64>,
    kinds: Vec<Kind>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Keys of no interest.
    Counted,
    /// One key, many times.
    Single,
    Collected,
}

/// The keys found in a range.
#[derive(Clone, Default)]
struct Tally {
    count: u64,
    keys: Vec<u64>,
}

/// What was found in all ranges.
struct Collected {
    tallies: Vec<Vec<Tally>>,
    /// More keys that may be collected.
    room: usize,
}

impl Collected {
    fn merge(&mut self, other: Self) {
        for (tally, more) in self.tallies.iter_mut().flatten().zip(other.tallies.into_iter().flatten()) {
            tally.count += more.count;
            let taken = more.keys.len().min(self.room);
            tally.keys.extend(more.keys.into_iter().take(taken));
            self.room -= taken;
        }
    }
}

impl Ranges {
    /// One range, from the first key with a prefix.
    fn of(first: u64, kind: Kind) -> Self {
        Self { starts: vec![first], kinds: vec![kind] }
    }

    /// Begins a range. `start` is not below that of the last one, which it replaces if it is the same.
    fn begin(&mut self, start: u64, kind: Kind) {
        match (self.starts.last(), self.kinds.last_mut()) {
            (Some(last), Some(other)) if *last == start => *other = kind,
            _ => {
                self.starts.push(start);
                self.kinds.push(kind);
            }
        }
    }

    #[inline]
    fn find(&self, key: u64) -> usize {
        // There are few, and a search would mispredict its branches.
        self.starts.iter().skip(1).filter(|start| key >= **start).count()
    }

    /// The key with a rank among those with the prefix; `None` if it was not collected.
    fn key_of_rank(&self, mut rank: u64, tallies: &[Tally]) -> Option<u64> {
        for ((start, kind), tally) in self.starts.iter().zip(&self.kinds).zip(tallies) {
            if rank < tally.count {
                return match kind {
                    Kind::Counted => None,
                    Kind::Single => Some(*start),
                    Kind::Collected if tally.keys.len() as u64 == tally.count => tally.keys.get(index(rank)).copied(),
                    Kind::Collected => None,
                };
            }
            rank -= tally.count;
        }
        None
    }
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

    /// Collects all keys with these prefixes.
    fn whole(&self) -> Vec<Ranges> {
        self.prefixes.iter().map(|prefix| Ranges::of(self.first_key(*prefix), Kind::Collected)).collect()
    }

    /// Collects keys near the targets, where a sample expects them; `None` if there are too many.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "an estimate, and floats become indices only if they are positive"
    )]
    fn near(&self, targets: &[Target], sample: &[u64]) -> Option<Vec<Ranges>> {
        let mut samples = vec![Vec::new(); self.prefixes.len()];
        for key in sample {
            if let Some(sample) = self.find(*key).and_then(|slot| samples.get_mut(slot)) {
                sample.push(*key);
            }
        }
        let mut expected = 0.0;
        let mut all = Vec::new();
        for (prefix, mut sample) in self.prefixes.iter().zip(samples) {
            sample.sort_unstable();
            let count = sample.len() as f64;
            let mut weight = 1.0;
            let mut windows = Vec::new();
            for target in targets.iter().filter(|target| target.prefix == *prefix) {
                weight = target.size as f64 / count.max(1.0);
                // A rank in the sample has a standard deviation of half the root of its size, at most; this is six times as much.
                let (center, margin) = (target.rank as f64 / weight, 3.0 * count.sqrt() + 4.0);
                windows.push([(center - margin).max(0.0) as usize, (center + margin) as usize]);
            }
            windows.sort_unstable();
            windows.dedup_by(|[from, to], [_, end]| {
                let touch = sample.get(*from) <= sample.get(*end) || sample.len() <= *end;
                if touch {
                    *end = *to.max(end);
                }
                touch
            });
            let mut ranges = Ranges::of(self.first_key(*prefix), Kind::Counted);
            if sample.is_empty() {
                expected += weight;
            }
            for [from, to] in windows {
                let first = if from == 0 { None } else { sample.get(from) };
                ranges.begin(first.copied().unwrap_or_else(|| self.first_key(*prefix)), Kind::Collected);
                let inside = sample.get(from..sample.len().min(to + 1)).unwrap_or_default();
                for run in inside.chunk_by(|one, other| one == other) {
                    let (occurs, Some(key)) = (run.len() as f64 * weight, run.first()) else { continue };
                    if occurs < FREQUENT {
                        expected += occurs;
                    } else {
                        ranges.begin(*key, Kind::Single);
                        ranges.begin(key.checked_add(1)?, Kind::Collected);
                    }
                }
                if let Some(last) = sample.get(to) {
                    ranges.begin(last.checked_add(1)?, Kind::Counted);
                }
            }
            all.push(ranges);
        }
        (expected <= 2.0 * MAX_SORTED as f64).then_some(all)
    }

    fn first_key(&self, prefix: u64) -> u64 {
        prefix.checked_shl(self.shift).unwrap_or(0)
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
