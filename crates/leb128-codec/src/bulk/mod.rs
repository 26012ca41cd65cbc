//! Runs of values.
//!
//! # For who works on this
//!
//! A kernel looks at a window of 64 bytes. Their continuation bits, gathered in one 64-bit mask, say how many values
//! end in the window and where, so that the values need no loop over their bytes and do not wait for one another. The
//! next window begins behind the last value that ended.
//!
//! Kernels never report errors. They stop in front of a window that holds one and say how far they came; the caller
//! goes on one value after the other, with the decoder of single values, and so every error comes from one place.
//! [`drive`] has what kernels have in common, among it the ends of input and output, where a kernel works on copies.

pub(crate) mod done;
mod encode;
pub(crate) mod portable;

pub use encode::{encode_slice, encoded_len_slice};

use self::done::Done;
use crate::error::RunError;
use crate::integer::Integer;

/// How many bytes a kernel decides about at once.
pub(crate) const WINDOW: usize = 64;

/// How many values a kernel may write: as many as may end in a window, and some that mean nothing.
pub(crate) const ROOM: usize = WINDOW + 8;

/// How many bytes a kernel may read: a value of ten bytes may begin at the last byte of the window.
pub(crate) const REACH: usize = 80;

/// Fewer values than this are decoded one by one: a window would cost more.
const WORTH: usize = 8;

/// Feeds windows to a kernel until input or output end or the kernel stops.
///
/// `step` gets the bytes, which of the first [`WINDOW`] are input (bit 0 for the first), and room for the values. It
/// writes the values that end in the window and returns their last bytes as a mask, or `None` when one of them may be
/// wrong. It may write anything behind them.
#[inline(always)]
pub(crate) fn drive<T: Integer>(
    input: &[u8],
    out: &mut [T],
    mut step: impl FnMut(&[u8; REACH], u64, &mut [T; ROOM]) -> Option<u64>,
) -> Done {
    let mut done = Done::default();
    let (mut input_copy, mut out_copy);
    loop {
        let (_, rest) = input.split_at(done.bytes);
        let (_, free) = out.split_at_mut(done.values);
        let room = free.len();
        if room < WORTH || rest.is_empty() {
            return done;
        }
        let (window, valid) = match rest.first_chunk() {
            Some(window) => (window, u64::MAX),
            None => {
                input_copy = [0; REACH];
                input_copy.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
                let valid = 1_u64.checked_shl(u32::try_from(rest.len()).unwrap_or(u32::MAX));
                (&input_copy, valid.unwrap_or(0).wrapping_sub(1))
            }
        };
        let ends = match free.first_chunk_mut() {
            Some(values) => step(window, valid, values),
            None => {
                out_copy = [T::default(); ROOM];
                let ends = step(window, valid, &mut out_copy);
                free.iter_mut().zip(&out_copy).for_each(|(to, from)| *to = *from);
                ends.map(|ends| lowest(ends, room))
            }
        };
        match ends {
            None | Some(0) => return done,
            Some(ends) => {
                done.values += ends.count_ones() as usize;
                done.bytes += WINDOW - ends.leading_zeros() as usize;
            }
        }
    }
}

/// The lowest `n` bits that are set.
fn lowest(mask: u64, n: usize) -> u64 {
    let mut above = mask;
    for _ in 0..n {
        above &= above.wrapping_sub(1);
    }
    mask ^ above
}

/// Decodes as many values as the slice has elements and returns how many bytes they took.
///
/// This is the fast way to many values: it works on 64 bytes at once, with the best instruction set of the machine (found
/// at run time with feature `std`, fixed at compile time without). Types of 128 bits are decoded one by one.
///
/// Padded forms are accepted, as by [`decode`](crate::decode); [`decode_slice_strict`] rejects them.
///
/// ```
/// let mut values = [0_u32; 3];
/// let used = leb128_codec::decode_slice(&[0xac, 0x02, 0x07, 0x80, 0x01, 0xff], &mut values)?;
/// assert_eq!((values, used), ([300, 7, 128], 5));
/// # Ok::<(), leb128_codec::RunError>(())
/// ```
///
/// # Errors
/// [`RunError`] for the first value that is no value of the type, or when the input ends before the slice is full. The
/// elements before that value are decoded, the others may hold anything.
pub fn decode_slice<T: Integer>(input: &[u8], out: &mut [T]) -> Result<usize, RunError> {
    decode_slice_by(input, out, T::decode_run)
}

/// Decodes with a kernel, and what it leaves one value after the other.
pub(crate) fn decode_slice_by<T: Integer>(
    input: &[u8],
    out: &mut [T],
    run: impl Fn(&[u8], &mut [T]) -> Done,
) -> Result<usize, RunError> {
    let mut done = run(input, out);
    for slot in out.split_at_mut(done.values).1 {
        let (value, len) =
            T::decode(input.split_at(done.bytes).1).map_err(|e| RunError::new(done.values, e.shifted(done.bytes)))?;
        *slot = value;
        done = Done { values: done.values + 1, bytes: done.bytes + len };
    }
    Ok(done.bytes)
}

/// As [`decode_slice`], and rejects padded forms.
///
/// # Errors
/// As [`decode_slice`], and for a value that has a shorter encoding.
pub fn decode_slice_strict<T: Integer>(input: &[u8], out: &mut [T]) -> Result<usize, RunError> {
    let decoded = decode_slice(input, out);
    // Without padding the values take exactly what encoding them would; otherwise somebody has to look for the place.
    match decoded {
        Ok(used) if used == encoded_len_slice(out) => Ok(used),
        _ => decode_one_by_one_strict(input, out),
    }
}

#[cold]
fn decode_one_by_one_strict<T: Integer>(input: &[u8], out: &mut [T]) -> Result<usize, RunError> {
    let mut used = 0;
    for (index, slot) in out.iter_mut().enumerate() {
        let (value, len) =
            T::decode_strict(input.split_at(used).1).map_err(|e| RunError::new(index, e.shifted(used)))?;
        *slot = value;
        used += len;
    }
    Ok(used)
}

#[cfg(test)]
mod tests;
