//! The offset of each sample.

use std::ops::Range;

use container_core::{Bytes, Error, Result, Source};

use crate::wire::offsets::{WIDTH, extent, offset_at, pair_at};

/// The bounds of all samples.
pub(crate) enum Offsets {
    /// A `.offsets` file, zero-copy.
    File {
        source: Source,
        /// The file lacks the end of the last sample, which is the end of the data.
        open_end: bool,
    },
    /// Start offsets from a legacy index or a scan; the last sample ends at the end of the data.
    Starts(Vec<u64>),
}

/// Index and data if both are in memory: the fast path to a sample, for random access. Fewer instructions let the processor overlap
/// more cache misses.
#[derive(Default)]
pub(crate) struct InMemory {
    offsets: Bytes,
    /// Ends with the last sample.
    data: Bytes,
}

impl InMemory {
    /// Both, if they are in memory; otherwise empty, so that [`message`](Self::message) returns `None`.
    pub(crate) fn new(offsets: &Source, data: &Source, data_end: u64) -> Result<Self> {
        if offsets.as_slice().is_none() || data.as_slice().is_none() {
            return Ok(Self::default());
        }
        Ok(Self { offsets: offsets.read(0..offsets.len())?, data: data.read(0..data_end)? })
    }

    /// A sample's message and its offset. `None` means that the slow path must be taken.
    #[inline]
    pub(crate) fn message(&self, index: u64) -> Option<(u64, &[u8])> {
        let (start, end) = pair_at(&self.offsets, usize::try_from(index).ok()?)?;
        let message = self.data.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)?;
        Some((start, message))
    }
}

impl Offsets {
    /// The byte range of a sample in data of `data` bytes; `None` past the last sample.
    ///
    /// # Errors
    /// When it runs backwards or past the end of the data; errors reading the index.
    #[inline]
    pub(crate) fn extent(&self, index: u64, len: u64, data: u64) -> Result<Option<Range<u64>>> {
        if index >= len {
            return Ok(None);
        }
        let (start, end) = match self {
            Self::File { source, open_end: true } if index + 1 == len => (read_offset(source, index)?, data),
            Self::File { source, .. } => match (source.as_slice(), usize::try_from(index)) {
                (Some(bytes), Ok(at)) => pair_at(bytes, at).ok_or_else(|| missing(index))?,
                _ => read_pair(source, index)?,
            },
            Self::Starts(starts) => {
                let at = usize::try_from(index).map_err(|_| missing(index))?;
                let start = *starts.get(at).ok_or_else(|| missing(index))?;
                (start, starts.get(at + 1).copied().unwrap_or(data))
            }
        };
        extent(index, start, end, data).map(Some)
    }

    /// The start of a sample, if known without I/O.
    #[inline]
    pub(crate) fn start(&self, index: u32) -> Option<u64> {
        match self {
            Self::File { source, .. } => offset_at(source.as_slice()?, usize::try_from(index).ok()?),
            Self::Starts(starts) => starts.get(usize::try_from(index).ok()?).copied(),
        }
    }

    /// The start of the first sample (or the end of empty data); `None` if unknown.
    ///
    /// # Errors
    /// Errors reading the index.
    pub(crate) fn first(&self) -> Result<Option<u64>> {
        match self {
            Self::File { source, .. } => read_offset(source, 0).map(Some),
            Self::Starts(starts) => Ok(starts.first().copied()),
        }
    }
}

/// The offset at `index` of a file.
pub(crate) fn read_offset(source: &Source, index: u64) -> Result<u64> {
    let bytes = source.read(index * WIDTH..(index + 1) * WIDTH)?;
    offset_at(&bytes, 0).ok_or_else(|| missing(index))
}

fn read_pair(source: &Source, index: u64) -> Result<(u64, u64)> {
    let bytes = source.read(index * WIDTH..(index + 2) * WIDTH)?;
    pair_at(&bytes, 0).ok_or_else(|| missing(index))
}

#[cold]
fn missing(index: u64) -> Error {
    Error::truncated("the offsets", 2 * WIDTH, 0).at(index.saturating_mul(WIDTH)).in_row(index)
}
