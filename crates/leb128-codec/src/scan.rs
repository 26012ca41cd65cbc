//! Skipping and counting values by their continuation bits alone.

use crate::error::{DecodeError, RunError};
use crate::simd;

/// Bytes that are skipped at a time while the target is further away.
const BLOCK: usize = 4096;
const SMALL_BLOCK: usize = 64;

/// The length in bytes of the first value of any type: up to and including the first byte below `80`.
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
/// [`Truncated`](crate::DecodeErrorKind::Truncated) if the bytes end before the value does. A value longer than any type
/// allows is not an error here.
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

/// The length in bytes of the first `n` values, of any type.
///
/// ```
/// assert_eq!(leb128_codec::skip_n(&[0xe5, 0x8e, 0x26, 0x07, 0x08], 2)?, 4);
/// # Ok::<(), leb128_codec::RunError>(())
/// ```
///
/// # Errors
/// [`Truncated`](crate::DecodeErrorKind::Truncated) if there are fewer than `n` values; otherwise as [`skip`].
pub fn skip_n(bytes: &[u8], n: usize) -> Result<usize, RunError> {
    let (mut rest, mut left) = (bytes, n);
    skip_blocks::<BLOCK>(&mut rest, &mut left);
    skip_blocks::<SMALL_BLOCK>(&mut rest, &mut left);
    // The target is now less than a block away, or the bytes end.
    while left > 0 {
        let Some((byte, tail)) = rest.split_first() else {
            let unfinished = bytes.iter().rev().take_while(|byte| **byte >= 0x80).count();
            let error = DecodeError::truncated(bytes.len() - unfinished, unfinished, 0, false);
            return Err(RunError::new(n - left, error));
        };
        left -= usize::from(*byte < 0x80);
        rest = tail;
    }
    Ok(bytes.len() - rest.len())
}

/// Skips blocks of `N` bytes while each has fewer values than are left to skip.
fn skip_blocks<const N: usize>(rest: &mut &[u8], left: &mut usize) {
    while let Some((block, tail)) = rest.split_first_chunk::<N>() {
        let values = count(block);
        if values >= *left {
            return;
        }
        *left -= values;
        *rest = tail;
    }
}

/// Counts the values that end in the bytes, of any type. An incomplete value at the end is not counted.
///
/// ```
/// assert_eq!(leb128_codec::count(&[0xe5, 0x8e, 0x26, 0x07, 0x80]), 2);
/// ```
#[must_use]
pub fn count(bytes: &[u8]) -> usize {
    simd::count(bytes)
}
