//! Runs of values.
//!
//! A kernel decodes a window of 64 bytes. The window's continuation bits, gathered in a 64-bit mask, give the number and
//! the ends of its values, so no value needs a loop over its bytes or waits for another. The next window begins after the
//! last value that ended.
//!
//! Kernels never report errors. They stop before a window that contains one and return their [`Progress`]; the caller
//! continues with the single-value decoder, so every error comes from one place. [`drive`] is the loop that all kernels
//! share; near the end of input or output it hands them copies.

mod encode;
pub(crate) mod portable;
pub(crate) mod progress;

pub use encode::{encode_slice, encoded_len_slice};

use self::progress::Progress;
use crate::error::RunError;
use crate::integer::Integer;

/// Bytes that a kernel decodes at a time.
pub(crate) const WINDOW: usize = 64;

/// Values that a kernel may write: one for each byte of a window, and eight whose content is unspecified.
pub(crate) const ROOM: usize = WINDOW + 8;

/// Bytes that a kernel may read: a ten-byte value may begin at the last byte of the window.
pub(crate) const REACH: usize = 80;

/// Runs of fewer values are decoded one by one: a window would cost more.
const MIN_VALUES: usize = 8;

/// Feeds windows to a kernel until input or output ends or the kernel stops.
///
/// `step` gets the bytes, a mask of those in the first [`WINDOW`] that are input (bit 0 for the first), and room for the
/// values. It writes the values that end in the window and returns a mask of their last bytes, or `None` if one of them
/// may be invalid. The output after them is unspecified.
#[inline(always)]
pub(crate) fn drive<T: Integer>(
    input: &[u8],
    out: &mut [T],
    mut step: impl FnMut(&[u8; REACH], u64, &mut [T; ROOM]) -> Option<u64>,
) -> Progress {
    let mut done = Progress::default();
    let (mut input_copy, mut out_copy);
    loop {
        let (_, rest) = input.split_at(done.bytes);
        let (_, free) = out.split_at_mut(done.values);
        let room = free.len();
        if room < MIN_VALUES || rest.is_empty() {
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

/// The lowest `n` set bits.
fn lowest(mask: u64, n: usize) -> u64 {
    let mut above = mask;
    for _ in 0..n {
        above &= above.wrapping_sub(1);
    }
    mask ^ above
}

/// Decodes as many values as `out` has elements and returns the number of bytes read.
///
/// Decodes 64 bytes at a time with the best instruction set of the machine (detected at run time with feature `std`, at
/// compile time without). 128-bit types are decoded one by one.
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
/// [`RunError`] for the first invalid value, or if the input ends before `out` is full. The elements before that value
/// are decoded, the others are unspecified.
pub fn decode_slice<T: Integer>(input: &[u8], out: &mut [T]) -> Result<usize, RunError> {
    decode_slice_with(input, out, T::decode_run)
}

/// Decodes with a kernel as far as that gets, then one value after the other.
pub(crate) fn decode_slice_with<T: Integer>(
    input: &[u8],
    out: &mut [T],
    run: impl Fn(&[u8], &mut [T]) -> Progress,
) -> Result<usize, RunError> {
    let mut done = run(input, out);
    for slot in out.split_at_mut(done.values).1 {
        let (value, len) =
            T::decode(input.split_at(done.bytes).1).map_err(|e| RunError::new(done.values, e.shifted(done.bytes)))?;
        *slot = value;
        done = Progress { values: done.values + 1, bytes: done.bytes + len };
    }
    Ok(done.bytes)
}

/// Like [`decode_slice`], but rejects padded forms.
///
/// # Errors
/// As [`decode_slice`], and for a padded value.
pub fn decode_slice_strict<T: Integer>(input: &[u8], out: &mut [T]) -> Result<usize, RunError> {
    let decoded = decode_slice(input, out);
    // Without padding the length equals that of encoding the values again. Otherwise find the padded value.
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
