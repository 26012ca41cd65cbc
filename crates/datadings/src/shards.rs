//! Several datasets as one.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use container_core::{Error, Finding, OpenOptions, Result};

use crate::FORMAT_NAME;
use crate::read::{Keys, Reader, Sample, Samples};

#[cfg(feature = "glob")]
mod pattern;

/// Datasets concatenated under one index: the samples of the first, then those of the second, and so on.
///
/// As in Python's `ShardedReader`, the order is that of the list, or of the sorted names for a pattern. Keys should be unique across
/// datasets: [`find`](Self::find) returns the first occurrence, [`duplicate_keys`](Self::duplicate_keys) reports the others.
///
/// ```no_run
/// let shards = datadings::Shards::open(["train-0.msgpack", "train-1.msgpack"])?;
/// let last = shards.get(shards.len() - 1)?;
/// assert_eq!(shards.shard_of(0), Some((0, 0)));
/// # Ok::<(), datadings::Error>(())
/// ```
#[derive(Debug)]
pub struct Shards {
    readers: Vec<Reader>,
    /// The index of each dataset's first sample, and the total.
    starts: Vec<u64>,
}

impl Shards {
    /// Opens datasets in this order. No paths give an empty dataset.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn open<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self> {
        Self::open_with(paths, OpenOptions::default())
    }

    /// Opens datasets in this order.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn open_with<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>, options: OpenOptions) -> Result<Self> {
        let readers = paths.into_iter().map(|path| Reader::open_with(path, options)).collect::<Result<_>>()?;
        Self::from_readers(readers)
    }

    /// Combines open datasets in this order.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when they have more than 2^64 - 1 samples in total.
    pub fn from_readers(readers: Vec<Reader>) -> Result<Self> {
        let mut starts = vec![0u64];
        let mut total = 0u64;
        for reader in &readers {
            let sum = total.checked_add(reader.len());
            total =
                sum.ok_or_else(|| Error::usage("the datasets have more than 2^64 - 1 samples").in_format(FORMAT_NAME))?;
            starts.push(total);
        }
        Ok(Self { readers, starts })
    }

    /// The datasets.
    #[must_use]
    pub fn readers(&self) -> &[Reader] {
        &self.readers
    }

    /// The total number of samples.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// True if there are no samples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The dataset of a sample, and the sample's index in it; `None` past the last sample.
    #[must_use]
    pub fn shard_of(&self, index: u64) -> Option<(usize, u64)> {
        if index >= self.len() {
            return None;
        }
        // The last dataset that starts at or before `index`; empty ones start where the next one does.
        let shard = self.starts.partition_point(|start| *start <= index).checked_sub(1)?;
        Some((shard, index - self.starts.get(shard)?))
    }

    fn at(&self, index: u64) -> Result<(&Reader, u64)> {
        let location = self.shard_of(index).and_then(|(shard, index)| Some((self.readers.get(shard)?, index)));
        location.ok_or_else(|| no_sample(index, self.len()))
    }

    /// A sample by its index, from 0. Its own [`index`](Sample::index) is that in its dataset.
    ///
    /// # Errors
    /// As [`Reader::get`].
    #[inline]
    pub fn get(&self, index: u64) -> Result<Sample<'_>> {
        let (reader, index) = self.at(index)?;
        reader.get(index)
    }

    /// The key of a sample.
    ///
    /// # Errors
    /// As [`Reader::key`].
    pub fn key(&self, index: u64) -> Result<Cow<'_, str>> {
        let (reader, index) = self.at(index)?;
        reader.key(index)
    }

    /// The index of the sample with this key, in the first dataset that has it. Each dataset's filter is checked first.
    ///
    /// # Errors
    /// As [`Reader::find`] and [`Reader::contains`].
    pub fn find(&self, key: &str) -> Result<Option<u64>> {
        for (reader, start) in self.readers.iter().zip(&self.starts) {
            let possible = reader.key_filter()?.is_none_or(|filter| filter.contains(key));
            if possible && let Some(index) = reader.find(key)? {
                return Ok(Some(start + index));
            }
        }
        Ok(None)
    }

    /// True if a sample has this key.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn contains(&self, key: &str) -> Result<bool> {
        self.find(key).map(|index| index.is_some())
    }

    /// The sample with this key, in the first dataset that has it.
    ///
    /// # Errors
    /// As [`find`](Self::find) and [`get`](Self::get).
    pub fn get_key(&self, key: &str) -> Result<Option<Sample<'_>>> {
        self.find(key)?.map(|index| self.get(index)).transpose()
    }

    /// The samples of a row range, in order. An end past the last sample is clamped.
    ///
    /// # Errors
    /// As [`Reader::samples`].
    pub fn samples(&self, range: Range<u64>) -> Result<ShardSamples<'_>> {
        Ok(ShardSamples { shards: self, range: self.check_range(range)?, current: None })
    }

    /// All samples in order.
    pub fn iter(&self) -> ShardSamples<'_> {
        ShardSamples { shards: self, range: 0..self.len(), current: None }
    }

    /// The keys of a row range, in order.
    ///
    /// # Errors
    /// As [`Reader::keys`].
    pub fn keys(&self, range: Range<u64>) -> Result<ShardKeys<'_>> {
        Ok(ShardKeys { shards: self, range: self.check_range(range)?, current: None })
    }

    /// Reports keys that occur in several datasets: each occurrence but the first, as a warning, since [`find`](Self::find) never returns
    /// it. Looks up each key in all earlier datasets; their filters answer most look-ups.
    ///
    /// # Errors
    /// As [`find`](Self::find) and [`keys`](Self::keys).
    pub fn duplicate_keys(&self, report: &mut dyn FnMut(Finding)) -> Result<()> {
        for (shard, reader) in self.readers.iter().enumerate().skip(1) {
            let start = self.starts.get(shard).copied().unwrap_or(0);
            for (row, key) in (0..).zip(reader.keys(0..reader.len())?) {
                let key = key?;
                if let Some(first) = self.find(&key)?.filter(|first| *first < start)
                    && let Some((other, index)) = self.shard_of(first)
                {
                    let detail = format!("duplicate key, first in sample {index} of dataset {other}");
                    let error = reader.in_data(Error::invalid(detail)).in_row(row).in_key(key.into_owned());
                    report(Finding::warning(error));
                }
            }
        }
        Ok(())
    }

    fn check_range(&self, range: Range<u64>) -> Result<Range<u64>> {
        let end = range.end.min(self.len());
        match range.start <= end {
            true => Ok(range.start..end),
            false if range.start > self.len() => Err(no_sample(range.start, self.len())),
            false => {
                let detail = format!("row range ends at {} before it starts at {}", range.end, range.start);
                Err(Error::usage(detail).in_format(FORMAT_NAME))
            }
        }
    }

    /// The part of a range that is in the dataset of its first sample.
    fn first_part(&self, range: &Range<u64>) -> Option<(&Reader, Range<u64>)> {
        let (shard, first) = self.shard_of(range.start).filter(|_| range.start < range.end)?;
        let reader = self.readers.get(shard)?;
        let len = (range.end - range.start).min(reader.len() - first);
        Some((reader, first..first + len))
    }
}

impl<'a> IntoIterator for &'a Shards {
    type Item = Result<Sample<'a>>;
    type IntoIter = ShardSamples<'a>;

    fn into_iter(self) -> ShardSamples<'a> {
        self.iter()
    }
}

/// Iterates over samples of several datasets. An error concerns one sample only: iteration can continue.
#[derive(Debug, Clone)]
pub struct ShardSamples<'a> {
    shards: &'a Shards,
    /// Samples still to come.
    range: Range<u64>,
    current: Option<Samples<'a>>,
}

impl<'a> Iterator for ShardSamples<'a> {
    type Item = Result<Sample<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if let Some(sample) = self.current.as_mut().and_then(Iterator::next) {
            self.range.start += 1;
            return Some(sample);
        }
        let (reader, part) = self.shards.first_part(&self.range)?;
        self.range.start += 1;
        match reader.samples(part) {
            Ok(samples) => self.current.insert(samples).next(),
            Err(error) => Some(Err(error)),
        }
    }

    fn nth(&mut self, n: usize) -> Option<Self::Item> {
        // Jump, without reading the skipped samples.
        self.range.start = self.range.start.saturating_add(n as u64).min(self.range.end);
        self.current = None;
        self.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.range.size_hint()
    }
}

impl std::iter::FusedIterator for ShardSamples<'_> {}

/// Iterates over keys of several datasets. Ends after an error.
#[derive(Debug)]
pub struct ShardKeys<'a> {
    shards: &'a Shards,
    range: Range<u64>,
    current: Option<Keys<'a>>,
}

impl<'a> Iterator for ShardKeys<'a> {
    type Item = Result<Cow<'a, str>>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut key = self.current.as_mut().and_then(Iterator::next);
        if key.is_none() {
            let (reader, part) = self.shards.first_part(&self.range)?;
            key = match reader.keys(part) {
                Ok(keys) => self.current.insert(keys).next(),
                Err(error) => Some(Err(error)),
            };
        }
        self.range.start = match key {
            Some(Ok(_)) => self.range.start + 1,
            _ => {
                self.current = None;
                self.range.end
            }
        };
        key
    }
}

#[cold]
fn no_sample(index: u64, len: u64) -> Error {
    let s = if len == 1 { "" } else { "s" };
    let detail = format!("row {index} is out of range: the datasets have {len} sample{s}");
    Error::usage(detail).in_format(FORMAT_NAME)
}
