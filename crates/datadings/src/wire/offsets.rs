//! `.offsets`: big-endian u64, the start of every sample and the end of the last.

use container_core::{Error, Result};

/// Bytes per offset.
pub(crate) const WIDTH: u64 = 8;

/// The offsets at `index` and `index + 1`, from the bytes of the file.
#[inline]
pub(crate) fn pair_at(bytes: &[u8], index: usize) -> Option<(u64, u64)> {
    let (offsets, _) = bytes.as_chunks::<8>();
    let (first, second) = (offsets.get(index)?, offsets.get(index.wrapping_add(1))?);
    Some((u64::from_be_bytes(*first), u64::from_be_bytes(*second)))
}

/// The offset at `index`.
#[inline]
pub(crate) fn offset_at(bytes: &[u8], index: usize) -> Option<u64> {
    bytes.get(index.checked_mul(8)?..)?.first_chunk::<8>().map(|bytes| u64::from_be_bytes(*bytes))
}

/// The number of offsets in a file of `bytes` bytes.
///
/// # Errors
/// When it is empty or not a multiple of 8 bytes.
pub(crate) fn count(bytes: u64) -> Result<u64> {
    if bytes == 0 {
        return Err(Error::truncated("the first offset", WIDTH, 0).at(0));
    }
    if !bytes.is_multiple_of(WIDTH) {
        let whole = bytes - bytes % WIDTH;
        return Err(Error::truncated("an offset", WIDTH, bytes % WIDTH).at(whole));
    }
    Ok(bytes / WIDTH)
}

/// The byte range of a sample from its bounds in the index; `data` is the size of the data.
///
/// # Errors
/// When it runs backwards or past the end of the data.
#[inline]
pub(crate) fn extent(index: u64, start: u64, end: u64, data: u64) -> Result<std::ops::Range<u64>> {
    if start <= end && end <= data { Ok(start..end) } else { Err(invalid_extent(index, start, end, data)) }
}

#[cold]
fn invalid_extent(index: u64, start: u64, end: u64, data: u64) -> Error {
    let detail = if start > end {
        format!("sample begins at byte {start} but ends at byte {end}")
    } else {
        format!("sample ends at byte {end}, past the end of the data ({data} bytes)")
    };
    Error::invalid(detail).at(index.saturating_mul(WIDTH)).in_row(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_offsets() {
        let bytes: Vec<u8> = [0u64, 5, 9].iter().flat_map(|n| n.to_be_bytes()).collect();
        assert_eq!(count(24).unwrap(), 3);
        assert_eq!(pair_at(&bytes, 0), Some((0, 5)));
        assert_eq!(pair_at(&bytes, 1), Some((5, 9)));
        assert_eq!(pair_at(&bytes, 2), None);
        assert_eq!(pair_at(&bytes, usize::MAX), None);
        assert_eq!(offset_at(&bytes, 2), Some(9));
        assert_eq!(count(0).unwrap_err().to_string(), "the first offset: needs 8 bytes, 0 available (byte 0)");
        assert_eq!(count(13).unwrap_err().to_string(), "an offset: needs 8 bytes, 5 available (byte 8)");
    }

    #[test]
    fn rejects_extents_outside_the_data() {
        assert_eq!(extent(0, 3, 9, 9).unwrap(), 3..9);
        let backwards = extent(2, 9, 3, 100).unwrap_err();
        assert_eq!(backwards.to_string(), "sample begins at byte 9 but ends at byte 3 (byte 16, row 2)");
        let beyond = extent(0, 3, 9, 8).unwrap_err();
        assert_eq!(beyond.to_string(), "sample ends at byte 9, past the end of the data (8 bytes) (byte 0, row 0)");
    }
}
