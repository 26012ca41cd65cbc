//! Iterates over samples and keys.

use std::borrow::Cow;
use std::ops::Range;

use container_core::{Bytes, Error, Result};

use crate::FORMAT_NAME;
use crate::index::KeyIter;
use crate::read::reader::Reader;
use crate::read::sample::Sample;

/// Bytes read at once if the data are read by position.
const WINDOW: u64 = 1 << 20;

impl Reader {
    /// The samples of a row range, in order. An end past the last sample is clamped.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when the range starts past the end or runs backwards.
    pub fn samples(&self, range: Range<u64>) -> Result<Samples<'_>> {
        let range = self.check_range(range)?;
        Ok(Samples { reader: self, range, window: Bytes::new(), window_start: 0 })
    }

    /// All samples in order.
    pub fn iter(&self) -> Samples<'_> {
        Samples { reader: self, range: 0..self.len, window: Bytes::new(), window_start: 0 }
    }

    /// The keys of a row range, in order: from `.keys` or the legacy index, else from the samples.
    ///
    /// # Errors
    /// As [`samples`](Self::samples); defects of `.keys`.
    pub fn keys(&self, range: Range<u64>) -> Result<Keys<'_>> {
        let range = self.check_range(range)?;
        let listed = self.key_list()?.map(|keys| keys.starting(range.start));
        Ok(Keys { samples: self.samples(range)?, listed })
    }

    /// The key of one sample.
    ///
    /// # Errors
    /// As [`keys`](Self::keys), and [`Usage`](container_core::ErrorKind::Usage) for a sample that does not exist.
    pub fn key(&self, index: u64) -> Result<Cow<'_, str>> {
        if index >= self.len {
            return Err(self.no_sample(index));
        }
        match self.keys(index..index + 1)?.next() {
            Some(key) => key,
            None => Err(self.no_sample(index)),
        }
    }

    fn check_range(&self, range: Range<u64>) -> Result<Range<u64>> {
        let end = range.end.min(self.len);
        if range.start <= end {
            return Ok(range.start..end);
        }
        if range.start > self.len {
            return Err(self.no_sample(range.start));
        }
        let detail = format!("row range ends at {} before it starts at {}", range.end, range.start);
        Err(Error::usage(detail).in_format(FORMAT_NAME))
    }
}

impl<'a> IntoIterator for &'a Reader {
    type Item = Result<Sample<'a>>;
    type IntoIter = Samples<'a>;

    fn into_iter(self) -> Samples<'a> {
        self.iter()
    }
}

/// Iterates over samples. An error concerns one sample only: iteration can continue.
#[derive(Debug, Clone)]
pub struct Samples<'a> {
    reader: &'a Reader,
    range: Range<u64>,
    /// The bytes read last, if the data are read by position.
    window: Bytes,
    window_start: u64,
}

impl<'a> Samples<'a> {
    /// The index of the next sample.
    pub(crate) fn position(&self) -> u64 {
        self.range.start
    }

    #[inline]
    fn read(&mut self, index: u64) -> Result<Sample<'a>> {
        match self.reader.in_memory.message(index) {
            Some((start, bytes)) => Ok(Sample::from_slice(bytes, index, start)),
            None => self.read_cold(index),
        }
    }

    /// As the reader's `get`, with a window behind it.
    #[inline(never)]
    fn read_cold(&mut self, index: u64) -> Result<Sample<'a>> {
        let reader = self.reader;
        let extent = reader.extent(index)?;
        if let Some(bytes) = reader.slice(&extent) {
            return Ok(Sample::from_slice(bytes, index, extent.start));
        }
        let inside = |window: &Bytes, start: u64| {
            let from = usize::try_from(extent.start.checked_sub(start)?).ok()?;
            let to = usize::try_from(extent.end.checked_sub(start)?).ok()?;
            (to <= window.len()).then(|| window.slice(from..to))
        };
        if let Some(bytes) = inside(&self.window, self.window_start) {
            return Ok(Sample::from_bytes(bytes, index, extent.start));
        }
        reader.limit(&extent, index)?;
        let end = extent.end.max((extent.start + WINDOW).min(reader.data_end));
        self.window = reader.data.read(extent.start..end).map_err(|error| reader.in_data(error).in_row(index))?;
        self.window_start = extent.start;
        let bytes = inside(&self.window, self.window_start).unwrap_or_default();
        Ok(Sample::from_bytes(bytes, index, extent.start))
    }
}

impl<'a> Iterator for Samples<'a> {
    type Item = Result<Sample<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let index = self.range.next()?;
        Some(self.read(index))
    }

    fn nth(&mut self, n: usize) -> Option<Self::Item> {
        let index = self.range.nth(n)?;
        Some(self.read(index))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.range.size_hint()
    }
}

impl std::iter::FusedIterator for Samples<'_> {}

/// Keys in order. After an error of the list of keys it ends.
pub struct Keys<'a> {
    samples: Samples<'a>,
    listed: Option<KeyIter<'a>>,
}

impl<'a> Iterator for Keys<'a> {
    type Item = Result<Cow<'a, str>>;

    fn next(&mut self) -> Option<Self::Item> {
        let Some(listed) = &mut self.listed else {
            let sample = self.samples.next()?;
            return Some(sample.and_then(|sample| sample.key().map(|key| Cow::Owned(key.to_owned()))));
        };
        self.samples.range.next()?;
        Some(listed.next()?.map(Cow::Borrowed).map_err(|error| self.samples.reader.in_part(crate::Part::Keys, error)))
    }
}

impl std::fmt::Debug for Keys<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys").field("samples", &self.samples.range).finish_non_exhaustive()
    }
}
