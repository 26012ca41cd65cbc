//! Sample offsets left from a damaged index.

use std::ops::Range;

use container_core::{Error, Result, Source};

use crate::wire::offsets::{WIDTH, offset_at};

/// Unverified offsets.
pub(super) enum Anchors {
    None,
    /// A `.offsets` file, its number of samples, and the end of the data.
    File(Source, u64, u64),
    /// The offsets of a legacy index, and the end of the data.
    Starts(Vec<u64>, u64),
}

impl Anchors {
    /// The offsets of a file, ignoring an incomplete one at its end. There is one offset per sample if `keys` equals their number, else one
    /// more.
    pub(super) fn from_file(source: Source, data: u64, keys: Option<u64>) -> Self {
        let count = source.len() / WIDTH;
        let samples = if keys == Some(count) { count } else { count.saturating_sub(1) };
        Self::File(source, samples, data)
    }

    /// Checks the size of the file and its last offset.
    pub(super) fn check(&self, data: u64) -> Result<(), Error> {
        let Self::File(source, samples, _) = self else { return Ok(()) };
        if !source.len().is_multiple_of(WIDTH) || source.is_empty() {
            let whole = source.len() / WIDTH * WIDTH;
            return Err(Error::truncated("an offset", WIDTH, source.len() - whole).at(whole));
        }
        match self.get(*samples) {
            Some(last) if last != data => {
                let detail = format!("last sample ends at byte {last}, but the data at byte {data}");
                Err(Error::invalid(detail).at(samples * WIDTH))
            }
            _ => Ok(()),
        }
    }

    /// The declared number of samples.
    pub(super) fn samples(&self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::File(_, samples, _) => Some(*samples),
            Self::Starts(starts, _) => Some(starts.len() as u64),
        }
    }

    /// The start of sample `row`; for the number of samples, the end of the last one.
    pub(super) fn get(&self, row: u64) -> Option<u64> {
        match self {
            Self::None => None,
            Self::File(source, _, data) => {
                if row == source.len() / WIDTH {
                    return Some(*data);
                }
                let start = row.checked_mul(WIDTH)?;
                match (source.as_slice(), usize::try_from(row)) {
                    (Some(bytes), Ok(row)) => offset_at(bytes, row),
                    _ => offset_at(&source.read(start..start.checked_add(WIDTH)?).ok()?, 0),
                }
            }
            Self::Starts(starts, data) => {
                let row = usize::try_from(row).ok()?;
                if row == starts.len() { Some(*data) } else { starts.get(row).copied() }
            }
        }
    }

    /// The byte range of sample `row`, if it is not empty or backwards.
    pub(super) fn extent(&self, row: u64) -> Option<Range<u64>> {
        if row >= self.samples()? {
            return None;
        }
        let (start, end) = (self.get(row)?, self.get(row + 1)?);
        (start < end).then_some(start..end)
    }

    /// The first sample that starts at or after `at`. Assumes ascending offsets.
    pub(super) fn first_from(&self, at: u64) -> u64 {
        let (mut low, mut high) = (0, self.samples().unwrap_or(0));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle).is_some_and(|start| start < at) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The sample that starts at `at`.
    pub(super) fn row_at(&self, at: u64) -> Option<u64> {
        let row = self.first_from(at);
        (row < self.samples()? && self.get(row) == Some(at)).then_some(row)
    }

    /// The first `limit` samples that overlap the ascending `ranges` or extend past the end of the data.
    pub(super) fn rows_in(&self, ranges: &[Range<u64>], data: u64, limit: usize) -> Result<Vec<u64>> {
        let mut rows = Vec::new();
        let Some(samples) = self.samples() else { return Ok(rows) };
        let past_end = data..u64::MAX;
        for range in ranges.iter().chain(std::iter::once(&past_end)) {
            // The previous sample may extend into the range.
            let mut row = self.first_from(range.start).saturating_sub(1);
            while row < samples && rows.len() < limit {
                match (self.get(row), self.get(row + 1)) {
                    (Some(start), _) if start >= range.end => break,
                    (Some(start), Some(end)) if end > range.start && start < end && rows.last() < Some(&row) => {
                        rows.push(row)
                    }
                    _ => {}
                }
                row += 1;
            }
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(starts: &[u64], end: u64) -> Anchors {
        Anchors::Starts(starts.to_vec(), end)
    }

    fn file(offsets: &[u64], data: u64, keys: Option<u64>) -> Anchors {
        let bytes: Vec<u8> = offsets.iter().flat_map(|offset| offset.to_be_bytes()).collect();
        Anchors::from_file(Source::from(bytes), data, keys)
    }

    #[test]
    fn all_layouts_give_the_same_offsets() {
        let layouts = [starts(&[0, 10, 30], 60), file(&[0, 10, 30, 60], 60, None), file(&[0, 10, 30], 60, Some(3))];
        for anchors in layouts {
            assert_eq!(anchors.samples(), Some(3));
            assert_eq!([0, 1, 2, 3].map(|row| anchors.extent(row)), [Some(0..10), Some(10..30), Some(30..60), None]);
            assert_eq!([0, 1, 10, 11, 30, 31].map(|at| anchors.first_from(at)), [0, 1, 1, 2, 2, 3]);
            assert_eq!([0, 1, 30, 60].map(|at| anchors.row_at(at)), [Some(0), None, Some(2), None]);
        }
        assert_eq!(Anchors::None.samples(), None);
    }

    #[test]
    fn finds_rows_in_ranges() {
        let anchors = starts(&[0, 10, 30, 35], 60);
        let rows = |ranges: &[Range<u64>], data| anchors.rows_in(ranges, data, 9).unwrap();
        assert_eq!(rows(&[], 60), [0; 0]);
        assert_eq!(rows(&[10..30, 59..60], 60), [1, 3]);
        assert_eq!(rows(&[9..10, 12..13, 14..31], 60), [0, 1, 2]);
        let one = 11..12;
        assert_eq!(rows(std::slice::from_ref(&one), 33), [1, 2, 3]);
        let all = 0..60;
        assert_eq!(anchors.rows_in(std::slice::from_ref(&all), 60, 2).unwrap(), [0, 1]);
    }
}
