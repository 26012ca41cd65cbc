//! Where each sample begins and ends.

use std::ops::Range;

use container_core::{Bytes, Error, Result, Source};

use crate::wire::offsets::{WIDTH, extent, offset_at, pair_at};

/// The bounds of all samples.
pub(crate) enum Offsets {
    /// A `.offsets` file, used where it lies.
    File {
        source: Source,
        /// The last sample's end is not in the file, but the end of the data.
        open_end: bool,
    },
    /// Beginnings that were read from a legacy index or found by a walk; the last sample ends at the end of the data.
    Held(Vec<u64>),
}

/// The index and the data, where both lie in memory: the short way to a sample, which is what many look-ups in no order are to take.
/// The fewer steps there are in it, the more of them the processor has under way while it waits for memory.
#[derive(Default)]
pub(crate) struct InMemory {
    offsets: Bytes,
    /// Up to the end of the last sample.
    data: Bytes,
}

impl InMemory {
    /// Both, if they lie in memory; else nothing is ever found here.
    pub(crate) fn new(offsets: &Source, data: &Source, data_end: u64) -> Result<Self> {
        if offsets.as_slice().is_none() || data.as_slice().is_none() {
            return Ok(Self::default());
        }
        Ok(Self { offsets: offsets.read(0..offsets.len())?, data: data.read(0..data_end)? })
    }

    /// The message of a sample, and where it begins. `None` says nothing: the long way has to be gone.
    #[inline]
    pub(crate) fn message(&self, index: u64) -> Option<(u64, &[u8])> {
        let (start, end) = pair_at(&self.offsets, usize::try_from(index).ok()?)?;
        let message = self.data.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)?;
        Some((start, message))
    }
}

impl Offsets {
    /// The extent of a sample in the data file, of which there are `data` bytes; `None` past the last.
    ///
    /// # Errors
    /// When it runs backwards or leaves the data; errors of reading the index.
    #[inline]
    pub(crate) fn extent(&self, index: u64, len: u64, data: u64) -> Result<Option<Range<u64>>> {
        if index >= len {
            return Ok(None);
        }
        let (start, end) = match self {
            Self::File { source, open_end: true } if index + 1 == len => (one(source, index)?, data),
            Self::File { source, .. } => match (source.as_slice(), usize::try_from(index)) {
                (Some(bytes), Ok(at)) => pair_at(bytes, at).ok_or_else(|| missing(index))?,
                _ => pair(source, index)?,
            },
            Self::Held(starts) => {
                let at = usize::try_from(index).map_err(|_| missing(index))?;
                let start = *starts.get(at).ok_or_else(|| missing(index))?;
                (start, starts.get(at + 1).copied().unwrap_or(data))
            }
        };
        extent(index, start, end, data).map(Some)
    }

    /// Where a sample begins, if that can be told without reading.
    #[inline]
    pub(crate) fn start(&self, index: u32) -> Option<u64> {
        match self {
            Self::File { source, .. } => offset_at(source.as_slice()?, usize::try_from(index).ok()?),
            Self::Held(starts) => starts.get(usize::try_from(index).ok()?).copied(),
        }
    }

    /// Where the first sample begins, or the data end that has none; `None` where that cannot be told.
    ///
    /// # Errors
    /// Those of reading the index.
    pub(crate) fn first(&self) -> Result<Option<u64>> {
        match self {
            Self::File { source, .. } => one(source, 0).map(Some),
            Self::Held(starts) => Ok(starts.first().copied()),
        }
    }
}

/// The offset at `index` of a file.
pub(crate) fn one(source: &Source, index: u64) -> Result<u64> {
    let bytes = source.read(index * WIDTH..(index + 1) * WIDTH)?;
    offset_at(&bytes, 0).ok_or_else(|| missing(index))
}

fn pair(source: &Source, index: u64) -> Result<(u64, u64)> {
    let bytes = source.read(index * WIDTH..(index + 2) * WIDTH)?;
    pair_at(&bytes, 0).ok_or_else(|| missing(index))
}

#[cold]
fn missing(index: u64) -> Error {
    Error::truncated("the offsets", 2 * WIDTH, 0).at(index.saturating_mul(WIDTH)).in_row(index)
}
