//! The reader: access by index.

use std::ops::Range;

use container_core::{Error, OpenOptions, Result, Source};

use crate::FORMAT_NAME;
use crate::read::offsets::{InMemory, Offsets};
use crate::read::parts::Parts;
use crate::read::sample::Sample;
use crate::wire::{FileSet, Part};

/// A dataset, opened for reading.
///
/// All methods take `&self`; there is no seek position, and opening starts no thread: share a reader among threads, or `fork` with it
/// open. Files beside the data are opened on first use; see [`missing_parts`](Self::missing_parts).
pub struct Reader {
    pub(crate) set: Option<FileSet>,
    pub(crate) options: OpenOptions,
    pub(crate) data: Source,
    /// End of the last sample: the end of the data, unless trailing bytes follow.
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

    /// True if there are no samples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes of the data file.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.data
    }

    /// Bytes of the data file after the last sample: 0, unless an append was interrupted or is under way.
    #[must_use]
    pub fn trailing_bytes(&self) -> u64 {
        self.data.len() - self.data_end
    }

    /// True if the index is a legacy one, `.index`.
    #[must_use]
    pub fn is_legacy(&self) -> bool {
        self.legacy
    }

    /// The files of the set that do not exist. Without [`Part::Keys`], keys are read from the samples; without [`Part::KeyHashes`],
    /// hashes are computed at the first look-up by key; without [`Part::Filter`], [`contains`](Self::contains) searches the hashes at
    /// once; without [`Part::Md5`], there are no sums to verify.
    #[must_use]
    pub fn missing_parts(&self) -> Vec<Part> {
        let Some(set) = &self.set else { return Vec::new() };
        let expected = [Part::Offsets, Part::Keys, Part::KeyHashes, Part::Filter, Part::Md5];
        expected.into_iter().filter(|part| set.path(*part).try_exists().is_ok_and(|exists| !exists)).collect()
    }

    /// The byte range of a sample's message in the data file.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a sample that does not exist,
    /// [`Invalid`](container_core::ErrorKind::Invalid) when its bounds run backwards or past the end of the data.
    #[inline]
    pub fn extent(&self, index: u64) -> Result<Range<u64>> {
        match self.offsets.extent(index, self.len, self.data_end) {
            Ok(Some(range)) => Ok(range),
            Ok(None) => Err(self.no_sample(index)),
            Err(error) => Err(self.in_part(if self.legacy { Part::LegacyIndex } else { Part::Offsets }, error)),
        }
    }

    /// A sample by its index, from 0. Decodes nothing; zero-copy if the data are mapped.
    ///
    /// ```no_run
    /// let reader = datadings::Reader::open("train.msgpack")?;
    /// let sample = reader.get(7)?;
    /// let label = sample.field("label")?.u64()?;
    /// # Ok::<(), datadings::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`extent`](Self::extent), and [`Io`](container_core::ErrorKind::Io).
    #[inline]
    pub fn get(&self, index: u64) -> Result<Sample<'_>> {
        match self.in_memory.message(index) {
            Some((start, bytes)) => Ok(Sample::from_slice(bytes, index, start)),
            None => self.get_cold(index),
        }
    }

    /// Handles samples read by position, indexes that are not a file, and samples that do not exist.
    #[inline(never)]
    fn get_cold(&self, index: u64) -> Result<Sample<'_>> {
        let range = self.extent(index)?;
        let start = range.start;
        if let Some(bytes) = self.slice(&range) {
            return Ok(Sample::from_slice(bytes, index, start));
        }
        self.limit(&range, index)?;
        let bytes = self.data.read(range).map_err(|error| self.in_data(error).in_row(index))?;
        Ok(Sample::from_bytes(bytes, index, start))
    }

    /// A range of the data, if they are in memory.
    #[inline]
    pub(crate) fn slice(&self, range: &Range<u64>) -> Option<&[u8]> {
        let (start, end) = (usize::try_from(range.start).ok()?, usize::try_from(range.end).ok()?);
        self.data.as_slice()?.get(start..end)
    }

    /// Checks the size of a sample that is read into its from_bytes memory.
    pub(crate) fn limit(&self, range: &Range<u64>, index: u64) -> Result<()> {
        let len = range.end - range.start;
        let checked = self.options.limits.check_block("sample length", len);
        checked.map_err(|error| self.in_data(error).at(range.start).in_row(index))
    }

    #[cold]
    pub(crate) fn in_data(&self, error: Error) -> Error {
        self.in_part(Part::Data, error)
    }

    #[cold]
    pub(crate) fn no_sample(&self, index: u64) -> Error {
        let s = if self.len == 1 { "" } else { "s" };
        let detail = format!("row {index} is out of range: the dataset has {} sample{s}", self.len);
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
