//! The distinct values of a column, their order and their frequencies: exact up to a bound on memory, then estimates with known errors.
//!
//! Values are collected in a buffer. A sorted buffer is merged into the list of distinct values and their counts. When that list exceeds its
//! bound, three well-known sketches replace it: levels of weighted values for quantiles (Munro and Paterson; Manku, Rajagopalan and Lindsay),
//! counters of frequent values (Misra and Gries, merged as by Agarwal et al.), and a [`HyperLogLog`]. All depend on the values and their order only.

use super::distinct::HyperLogLog;

/// A value that is sorted, and hashed the same everywhere.
pub(super) trait Key: Copy + Ord + Send + Sync {
    fn hash(self) -> u64;
}

impl Key for u64 {
    fn hash(self) -> u64 {
        super::distinct::mix(self)
    }
}

impl Key for i128 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "both halves are hashed")]
    fn hash(self) -> u64 {
        super::distinct::mix((self >> 64) as u64).wrapping_add(self as u64).hash()
    }
}

/// Maximum counters of frequent values.
const MAX_COUNTERS: usize = 1024;

/// Values and counts, sorted by value.
type Counts<K> = Vec<(K, u64)>;

/// The values of a column.
pub(super) struct Values<K> {
    /// Values in the buffer, and in a level.
    capacity: usize,
    buffer: Vec<K>,
    exact: Counts<K>,
    sketch: Option<Box<Sketch<K>>>,
    n: u64,
}

impl<K: Key> Values<K> {
    /// Keeps the counts of up to `2 * capacity` distinct values.
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(2), buffer: Vec::new(), exact: Vec::new(), sketch: None, n: 0 }
    }

    pub(super) fn add(&mut self, mut keys: &[K]) {
        self.n += keys.len() as u64;
        while let Some((now, later)) = keys.split_at_checked(self.capacity - self.buffer.len()) {
            self.buffer.extend_from_slice(now);
            self.flush();
            keys = later;
        }
        self.buffer.extend_from_slice(keys);
    }

    /// Empties the buffer.
    fn flush(&mut self) {
        self.buffer.sort_unstable();
        let counts = counts(&self.buffer);
        match &mut self.sketch {
            Some(sketch) => sketch.add(&self.buffer, counts),
            None => {
                self.exact = merged(std::mem::take(&mut self.exact), counts);
                if self.exact.len() > 2 * self.capacity {
                    let exact = std::mem::take(&mut self.exact);
                    self.sketch = Some(Box::new(Sketch::new(self.capacity, exact)));
                }
            }
        }
        self.buffer.clear();
    }

    /// What the values were.
    pub(super) fn finish(mut self) -> Summary<K> {
        self.flush();
        match self.sketch {
            None => Summary {
                n: self.n,
                distinct: self.exact.len() as u64,
                frequent: self.exact.clone(),
                sorted: self.exact,
                is_exact: true,
                rank_error: 0,
                count_error: 0,
            },
            Some(sketch) => sketch.finish(self.n, 2 * self.capacity as u64),
        }
    }
}

/// The distinct values of a column, their order and their frequencies.
pub(super) struct Summary<K> {
    /// Number of values.
    pub(super) n: u64,
    /// Values with weights, whose sum is `n`; sorted.
    sorted: Counts<K>,
    pub(super) is_exact: bool,
    /// By how much the rank of a quantile can be wrong.
    pub(super) rank_error: u64,
    pub(super) distinct: u64,
    frequent: Counts<K>,
    /// By how much the count of a frequent value can be too small.
    pub(super) count_error: u64,
}

impl<K: Key> Summary<K> {
    /// The values of these ranks, which must be sorted and less than `n`.
    pub(super) fn at_ranks(&self, ranks: &[u64]) -> Vec<K> {
        let mut ranks = ranks.iter().peekable();
        let (mut found, mut passed) = (Vec::with_capacity(ranks.len()), 0_u64);
        for (key, count) in &self.sorted {
            passed += count;
            while ranks.next_if(|rank| **rank < passed).is_some() {
                found.push(*key);
            }
        }
        found
    }

    /// The most frequent values with their counts, the most frequent first; equal counts by value. Estimated counts above their error only.
    pub(super) fn top(&self, max: usize) -> Counts<K> {
        let mut top: Counts<K> = self.frequent.iter().copied().filter(|(_, count)| *count > self.count_error).collect();
        top.sort_by(|(one, count), (other, more)| more.cmp(count).then(one.cmp(other)));
        top.truncate(max);
        top
    }
}

/// What replaces exact counts.
struct Sketch<K> {
    capacity: usize,
    /// Level `i` has values of weight `2^i`.
    levels: Vec<Level<K>>,
    rank_error: u64,
    frequent: Counts<K>,
    count_error: u64,
    distinct: HyperLogLog,
}

struct Level<K> {
    values: Vec<K>,
    /// The next compaction keeps the values at odd indexes: alternating, errors cancel out.
    keeps_odd: bool,
}

impl<K: Key> Sketch<K> {
    fn new(capacity: usize, exact: Counts<K>) -> Self {
        let mut sketch = Self {
            capacity,
            levels: Vec::new(),
            rank_error: 0,
            frequent: Vec::new(),
            count_error: 0,
            distinct: HyperLogLog::new(),
        };
        for (key, count) in &exact {
            for level in (0..u64::BITS as usize).filter(|level| count >> level & 1 == 1) {
                sketch.push(level, [*key]);
            }
        }
        sketch.count(exact);
        sketch
    }

    /// Adds sorted values, whose counts are `counts`.
    fn add(&mut self, sorted: &[K], counts: Counts<K>) {
        self.push(0, sorted.iter().copied());
        self.count(counts);
    }

    fn count(&mut self, counts: Counts<K>) {
        counts.iter().for_each(|(key, _)| self.distinct.add(key.hash()));
        let all = merged(std::mem::take(&mut self.frequent), counts);
        let (kept, cut) = most_frequent(all, MAX_COUNTERS.min(self.capacity));
        self.frequent = kept;
        self.count_error += cut;
    }

    fn push(&mut self, level: usize, keys: impl IntoIterator<Item = K>) {
        while self.levels.len() <= level {
            self.levels.push(Level { values: Vec::new(), keeps_odd: false });
        }
        let Some(Level { values, keeps_odd }) = self.levels.get_mut(level) else { return };
        values.extend(keys);
        if values.len() < self.capacity {
            return;
        }
        values.sort(); // made of sorted runs
        let last = if values.len().is_multiple_of(2) { None } else { values.pop() };
        let kept: Vec<K> = values.chunks(2).filter_map(|pair| pair.get(usize::from(*keeps_odd)).copied()).collect();
        *keeps_odd = !*keeps_odd;
        values.clear();
        values.extend(last);
        self.rank_error = self.rank_error.saturating_add(1 << level.min(63));
        self.push(level + 1, kept);
    }

    fn finish(self, n: u64, min_distinct: u64) -> Summary<K> {
        let weighted = |(level, values): (usize, Level<K>)| values.values.into_iter().map(move |key| (key, 1 << level));
        let mut sorted: Counts<K> = self.levels.into_iter().enumerate().flat_map(weighted).collect();
        sorted.sort_unstable();
        Summary {
            n,
            sorted,
            is_exact: false,
            rank_error: self.rank_error,
            distinct: self.distinct.estimate().clamp(min_distinct.min(n), n),
            frequent: self.frequent,
            count_error: self.count_error,
        }
    }
}

/// The distinct values among sorted ones, and how often each occurs.
fn counts<K: Key>(sorted: &[K]) -> Counts<K> {
    sorted.chunk_by(K::eq).filter_map(|run| Some((*run.first()?, run.len() as u64))).collect()
}

/// Adds sorted counts to sorted counts.
fn merged<K: Key>(one: Counts<K>, other: Counts<K>) -> Counts<K> {
    if one.is_empty() {
        return other;
    }
    let mut all = Vec::with_capacity(one.len() + other.len());
    let mut other = other.into_iter().peekable();
    for (key, count) in one {
        while let Some(less) = other.next_if(|(less, _)| *less < key) {
            all.push(less);
        }
        let more = other.next_if(|(same, _)| *same == key).map_or(0, |(_, more)| more);
        all.push((key, count + more));
    }
    all.extend(other);
    all
}

/// The `max` most frequent values, and what was subtracted from each count: the largest of the counts that are left out.
pub(super) fn most_frequent<K>(mut all: Vec<(K, u64)>, max: usize) -> (Vec<(K, u64)>, u64) {
    if all.len() <= max {
        return (all, 0);
    }
    let mut counts: Vec<u64> = all.iter().map(|(_, count)| *count).collect();
    let (_, cut, _) = counts.select_nth_unstable_by(max, |one, other| other.cmp(one));
    let cut = *cut;
    all.retain_mut(|(_, count)| {
        *count = count.saturating_sub(cut);
        *count > 0
    });
    (all, cut)
}
