//! Values stepped over without being decoded: only continuation bits are looked at.

use crate::error::{DecodeError, RunError};
use crate::simd;

/// How many bytes are counted before looking whether the place was passed.
const BLOCK: usize = 4096;
const SMALL_BLOCK: usize = 64;

/// How many bytes the first value takes, whatever its type: up to and with the first byte below `80`.
///
/// ```
/// const LEN: usize = match leb128_codec::skip(&[0xe5, 0x8e, 0x26, 0x07]) {
///     Ok(len) => len,
///     Err(_) => 0,
/// };
/// assert_eq!(LEN, 3);
/// ```
///
/// # Errors
/// [`Truncated`](crate::DecodeErrorKind::Truncated) when the bytes end before the value does. A value that is longer than
/// any type allows is no error here.
pub const fn skip(bytes: &[u8]) -> Result<usize, DecodeError> {
    let mut rest = bytes;
    while let [byte, tail @ ..] = rest {
        if *byte < 0x80 {
            return Ok(bytes.len() - tail.len());
        }
        rest = tail;
    }
    Err(DecodeError::truncated(0, bytes.len(), 0, false))
}

/// How many bytes the first `n` values take, whatever their type.
///
/// ```
/// assert_eq!(leb128_codec::skip_n(&[0xe5, 0x8e, 0x26, 0x07, 0x08], 2)?, 4);
/// # Ok::<(), leb128_codec::RunError>(())
/// ```
///
/// # Errors
/// [`Truncated`](crate::DecodeErrorKind::Truncated) when the bytes end before; otherwise as [`skip`].
pub fn skip_n(bytes: &[u8], n: usize) -> Result<usize, RunError> {
    let (mut rest, mut left) = (bytes, n);
    pass::<BLOCK>(&mut rest, &mut left);
    pass::<SMALL_BLOCK>(&mut rest, &mut left);
    // Now the place is in these bytes, or the bytes are too few.
    while left > 0 {
        let Some((byte, tail)) = rest.split_first() else {
            let begun = bytes.iter().rev().take_while(|byte| **byte >= 0x80).count();
            let error = DecodeError::truncated(bytes.len() - begun, begun, 0, false);
            return Err(RunError::new(n - left, error));
        };
        left -= usize::from(*byte < 0x80);
        rest = tail;
    }
    Ok(bytes.len() - rest.len())
}

/// Passes blocks of `N` bytes as long as more than the values in them are to be skipped.
fn pass<const N: usize>(rest: &mut &[u8], left: &mut usize) {
    while let Some((block, tail)) = rest.split_first_chunk::<N>() {
        let values = count(block);
        if values >= *left {
            return;
        }
        *left -= values;
        *rest = tail;
    }
}

/// How many values end in the bytes, whatever their type. Bytes behind the last end are a value that is not complete.
///
/// ```
/// assert_eq!(leb128_codec::count(&[0xe5, 0x8e, 0x26, 0x07, 0x80]), 2);
/// ```
#[must_use]
pub fn count(bytes: &[u8]) -> usize {
    simd::count(bytes)
}
