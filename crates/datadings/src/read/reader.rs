//! The reader's questions by index.

use std::ops::Range;

use container_core::{Error, OpenOptions, Result, Source};

use crate::FORMAT_NAME;
use crate::read::offsets::{InMemory, Offsets};
use crate::read::parts::Parts;
use crate::read::sample::Sample;
use crate::wire::{FileSet, Part};

/// A dataset, opened for reading.
///
/// It takes `&self` for everything, holds no seek position and starts no thread at opening: share it among threads, or open
/// it and `fork`. Files beside the data are opened when they are first needed; see [`missing_parts`](Self::missing_parts).
pub struct Reader {
    pub(crate) set: Option<FileSet>,
    pub(crate) options: OpenOptions,
    pub(crate) data: Source,
    /// Where the last sample ends: the end of the data, unless there is more behind it.
    pub(crate) data_end: u64,
    pub(crate) offsets: Offsets,
    pub(crate) in_memory: InMemory,
    pub(crate) len: u64,
    pub(crate) legacy: bool,
    pub(crate) parts: Parts,
}

impl Reader {
    /// The number of samples.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True for a dataset without samples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The data file's bytes.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.data
    }

    /// Bytes of the data file behind the last sample: none, unless an append did not come to its end.
    #[must_use]
    pub fn trailing_bytes(&self) -> u64 {
        self.data.len() - self.data_end
    }

    /// True when the index is the legacy one, `.index`.
    #[must_use]
    pub fn is_legacy(&self) -> bool {
        self.legacy
    }

    /// The files of the set that are not there, and so cost something: without [`Part::Keys`] keys are taken from the samples
    /// themselves, without [`Part::KeyHashes`] hashes are computed at the first look-up by key, without [`Part::Filter`]
    /// [`contains`](Self::contains) searches the hashes at once, without [`Part::Md5`] there are no sums to verify.
    #[must_use]
    pub fn missing_parts(&self) -> Vec<Part> {
        let Some(set) = &self.set else { return Vec::new() };
        let wanted = [Part::Offsets, Part::Keys, Part::KeyHashes, Part::Filter, Part::Md5];
        wanted.into_iter().filter(|part| set.path(*part).try_exists().is_ok_and(|exists| !exists)).collect()
    }

    /// Where a sample's message stands in the data file, in bytes.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a sample that does not exist,
    /// [`Invalid`](container_core::ErrorKind::Invalid) when its bounds run backwards or leave the data.
    #[inline]
    pub fn extent(&self, index: u64) -> Result<Range<u64>> {
        match self.offsets.extent(index, self.len, self.data_end) {
            Ok(Some(range)) => Ok(range),
            Ok(None) => Err(self.no_sample(index)),
            Err(error) => Err(self.in_part(if self.legacy { Part::LegacyIndex } else { Part::Offsets }, error)),
        }
    }

    /// One sample by its number, from 0. Nothing is decoded; from mapped data nothing is copied.
    ///
    /// ```no_run
    /// let reader = datadings::Reader::open("train.msgpack")?;
    /// let sample = reader.get(7)?;
    /// let label = sample.field("label")?.u64()?;
    /// # Ok::<(), datadings::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`extent`](Self::extent); [`Io`](container_core::ErrorKind::Io) of reading.
    #[inline]
    pub fn get(&self, index: u64) -> Result<Sample<'_>> {
        match self.in_memory.message(index) {
            Some((start, bytes)) => Ok(Sample::lent(bytes, index, start)),
            None => self.get_slowly(index),
        }
    }

    /// A sample that is read by position, whose index is no file, or that does not exist.
    #[inline(never)]
    fn get_slowly(&self, index: u64) -> Result<Sample<'_>> {
        let range = self.extent(index)?;
        let start = range.start;
        if let Some(bytes) = self.lend(&range) {
            return Ok(Sample::lent(bytes, index, start));
        }
        self.limit(&range, index)?;
        let bytes = self.data.read(range).map_err(|error| self.in_data(error).in_row(index))?;
        Ok(Sample::own(bytes, index, start))
    }

    /// The bytes of a range of the data, where they lie in memory.
    #[inline]
    pub(crate) fn lend(&self, range: &Range<u64>) -> Option<&[u8]> {
        let (start, end) = (usize::try_from(range.start).ok()?, usize::try_from(range.end).ok()?);
        self.data.as_slice()?.get(start..end)
    }

    /// What is read into memory of its own must not be larger than the limit.
    pub(crate) fn limit(&self, range: &Range<u64>, index: u64) -> Result<()> {
        let asked = range.end - range.start;
        let checked = self.options.limits.check_block("the length of a sample", asked);
        checked.map_err(|error| self.in_data(error).at(range.start).in_row(index))
    }

    #[cold]
    pub(crate) fn in_data(&self, error: Error) -> Error {
        self.in_part(Part::Data, error)
    }

    #[cold]
    pub(crate) fn no_sample(&self, index: u64) -> Error {
        let s = if self.len == 1 { "" } else { "s" };
        let detail = format!("there is no sample {index}: the dataset has {} sample{s}, counted from 0", self.len);
        Error::usage(detail).in_format(FORMAT_NAME)
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader")
            .field("data", &self.set.as_ref().map(FileSet::data))
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}
