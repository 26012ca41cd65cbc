//! Statistics of texts and bytes: lengths, extremes by bytes, distinct and frequent values.

use std::collections::HashMap;

use super::distinct::{HyperLogLog, hash_bytes};
use super::sketch::most_frequent;

/// Maximum counters of frequent values.
const MAX_COUNTERS: usize = 1024;
/// Longer values are not listed as frequent once counts are estimates.
const MAX_COUNTED_BYTES: usize = 256;
/// Bytes of distinct values per slot of the capacity.
const BYTES_PER_SLOT: usize = 128;

/// The lengths of values.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lengths {
    n: u64,
    sum: u128,
    range: Option<(u64, u64)>,
}

impl Lengths {
    pub(super) fn add(&mut self, length: usize) {
        let length = length as u64;
        self.n += 1;
        self.sum += u128::from(length);
        self.range = Some(self.range.map_or((length, length), |(min, max)| (min.min(length), max.max(length))));
    }

    /// Minimum, maximum and mean; `None` without values.
    #[allow(clippy::cast_precision_loss, reason = "a mean is a float")]
    pub(super) fn finish(self) -> Option<(u64, u64, f64)> {
        self.range.map(|(min, max)| (min, max, self.sum as f64 / self.n as f64))
    }
}

/// Minimum and maximum.
type Ends = (Box<[u8]>, Box<[u8]>);

type Counts = HashMap<Box<[u8]>, u64>;

/// Collects texts or bytes.
pub(super) struct Texts {
    capacity: usize,
    pub(super) lengths: Lengths,
    pub(super) range: Option<Ends>,
    /// All distinct values; frequent ones, when there is a sketch.
    counts: Counts,
    /// Total length of the distinct values.
    bytes: usize,
    sketch: Option<Sketch>,
    n: u64,
}

struct Sketch {
    distinct: HyperLogLog,
    count_error: u64,
}

/// Distinct and frequent values.
pub(super) struct Summary {
    pub(super) is_exact: bool,
    pub(super) distinct: u64,
    pub(super) top: Vec<(Box<[u8]>, u64)>,
    pub(super) count_error: u64,
}

impl Texts {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, lengths: Lengths::default(), range: None, counts: Counts::new(), bytes: 0, sketch: None, n: 0 }
    }

    pub(super) fn add(&mut self, value: &[u8]) {
        self.n += 1;
        self.lengths.add(value.len());
        match &mut self.range {
            None => self.range = Some((value.into(), value.into())),
            Some((min, _)) if *value < **min => *min = value.into(),
            Some((_, max)) if *value > **max => *max = value.into(),
            Some(_) => {}
        }
        if let Some(sketch) = &mut self.sketch {
            sketch.distinct.add(hash_bytes(value));
            if value.len() > MAX_COUNTED_BYTES {
                return;
            }
        }
        if let Some(count) = self.counts.get_mut(value) {
            *count += 1;
            return;
        }
        self.counts.insert(value.into(), 1);
        self.bytes = self.bytes.saturating_add(value.len());
        match &self.sketch {
            Some(_) if self.counts.len() > 2 * self.counters() => self.cut(),
            None if self.counts.len() > 2 * self.capacity || self.bytes > BYTES_PER_SLOT * self.capacity => {
                self.estimate();
            }
            _ => {}
        }
    }

    fn counters(&self) -> usize {
        MAX_COUNTERS.min(self.capacity)
    }

    /// Goes on with a sketch.
    fn estimate(&mut self) {
        let mut distinct = HyperLogLog::new();
        self.counts.keys().for_each(|value| distinct.add(hash_bytes(value)));
        self.counts.retain(|value, _| value.len() <= MAX_COUNTED_BYTES);
        self.sketch = Some(Sketch { distinct, count_error: 0 });
        self.cut();
    }

    /// Keeps the most frequent values.
    fn cut(&mut self) {
        let (kept, cut) = most_frequent(self.counts.drain().collect(), self.counters());
        self.counts.extend(kept);
        if let Some(sketch) = &mut self.sketch {
            sketch.count_error += cut;
        }
    }

    /// Returns the most frequent values, the most frequent first; equal counts by value.
    pub(super) fn finish(self, max_top: usize) -> Summary {
        let seen = self.counts.len() as u64;
        let (is_exact, distinct, count_error) = match &self.sketch {
            None => (true, seen, 0),
            Some(sketch) => (false, sketch.distinct.estimate().clamp(seen, self.n), sketch.count_error),
        };
        let mut top: Vec<_> = self.counts.into_iter().filter(|(_, count)| *count > count_error).collect();
        top.sort_by(|(one, count), (other, more)| more.cmp(count).then_with(|| one.cmp(other)));
        top.truncate(max_top);
        Summary { is_exact, distinct, top, count_error }
    }
}
