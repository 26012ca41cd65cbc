//! The kernel for any machine: words of eight bytes in general-purpose registers. The others must agree with it on every
//! input.

use super::progress::Progress;
use super::{REACH, ROOM, WINDOW, drive};
use crate::integer::Integer;
use crate::word::{self, CONTINUE, PAYLOAD};

/// [`count`](crate::count) for any machine; compilers vectorize it.
#[inline(always)]
pub(crate) fn count(bytes: &[u8]) -> usize {
    const LANES: usize = 64;
    let (chunks, rest) = bytes.as_chunks::<LANES>();
    let mut total = rest.iter().filter(|byte| **byte < 0x80).count();
    // A lane is one byte wide: sum up before it can overflow.
    for chunks in chunks.chunks(255) {
        let mut lanes = [0_u8; LANES];
        for chunk in chunks {
            for (lane, byte) in lanes.iter_mut().zip(chunk) {
                *lane += u8::from(*byte < 0x80);
            }
        }
        total += lanes.iter().map(|lane| usize::from(*lane)).sum::<usize>();
    }
    total
}

/// Decodes the beginning of a run.
pub(crate) fn run<T: Integer>(input: &[u8], out: &mut [T]) -> Progress {
    drive(input, out, |window, valid, values| {
        let continued = continued(window) & valid;
        if continued == 0 && valid == u64::MAX {
            one_byte_each(window, values);
            return Some(u64::MAX);
        }
        let ends = !continued & valid;
        let runs = Runs::of(continued);
        if runs.too_long::<T>() {
            return None;
        }
        any_values(window, continued, ends, runs, values).then_some(ends)
    })
}

/// Writes the values that end at `ends`, none longer than ten bytes, and returns whether all fit the type.
///
/// Each kind of window has its own loop, which omits what no value in it needs.
#[inline(always)]
pub(crate) fn any_values<T: Integer>(
    window: &[u8; REACH],
    continued: u64,
    ends: u64,
    runs: Runs,
    values: &mut [T; ROOM],
) -> bool {
    if runs.eight != 0 {
        long(window, ends, values)
    } else if continued.count_ones() <= MAX_SPARSE {
        sparse(window, continued, ends, values)
    } else {
        dense(window, ends, values)
    }
}

/// With at most this many continued bytes, most values of a window are single bytes.
const MAX_SPARSE: u32 = 16;

/// The continuation bits of the window's bytes, bit 0 for the first.
#[inline(always)]
fn continued(window: &[u8; REACH]) -> u64 {
    let (words, _) = window.as_chunks();
    let mut mask = 0;
    for (at, word) in words.iter().take(WINDOW / 8).enumerate() {
        // The product brings bit 7 of byte i to bit 56 + i: no two partial products meet.
        let bits = u64::from_le_bytes(*word) & CONTINUE;
        mask |= (bits.wrapping_mul(0x0002_0408_1020_4081) >> 56) << (8 * at);
    }
    mask
}

/// The runs of continued bytes in a window, which bound the lengths of its values.
#[derive(Clone, Copy)]
pub(crate) struct Runs {
    /// Runs of two or more: values of three bytes or more. Likewise below.
    pub(crate) two: u64,
    pub(crate) four: u64,
    pub(crate) eight: u64,
}

impl Runs {
    #[inline(always)]
    pub(crate) fn of(continued: u64) -> Self {
        let two = continued & (continued >> 1);
        let four = two & (two >> 2);
        let eight = four & (four >> 4);
        Self { two, four, eight }
    }

    /// Whether a value is longer than the type allows.
    #[inline(always)]
    pub(crate) fn too_long<T: Integer>(self) -> bool {
        let Self { two, four, eight } = self;
        let runs = match T::MAX_LEN {
            2 => two,
            3 => two & (two >> 1),
            5 => four & (four >> 1),
            _ => eight & (eight >> 2),
        };
        runs != 0
    }
}

/// Every byte of the window is a value.
#[inline(always)]
pub(crate) fn one_byte_each<T: Integer>(window: &[u8; REACH], values: &mut [T; ROOM]) {
    for (value, byte) in values.iter_mut().zip(window).take(WINDOW) {
        *value = T::from_payload(u64::from(*byte), 1, 0).0;
    }
}

/// Writes the values that end at `ends`, none longer than eight bytes.
#[inline(always)]
fn dense<T: Integer>(window: &[u8; REACH], ends: u64, values: &mut [T; ROOM]) -> bool {
    each(ends, values, |start, len| T::from_payload(short_payload(window, start, len), len, 0))
}

/// Writes the values that end at `ends`, none longer than ten bytes.
#[inline(always)]
fn long<T: Integer>(window: &[u8; REACH], ends: u64, values: &mut [T; ROOM]) -> bool {
    each(ends, values, |start, _| {
        let (payload, len, last) = word::first_of_ten(&bytes_at(window, start));
        T::from_payload(payload, len, last)
    })
}

/// As [`dense`], where most values are single bytes: widens eight bytes at a time, then decodes the longer value among
/// them.
#[inline(always)]
fn sparse<T: Integer>(window: &[u8; REACH], continued: u64, ends: u64, values: &mut [T; ROOM]) -> bool {
    let mut good = true;
    let (mut start, mut done) = (0, 0);
    while let Some(room) = values.split_at_mut(done as usize % WINDOW).1.first_chunk_mut::<9>() {
        let single = continued.checked_shr(start).unwrap_or(0).trailing_zeros().min(8);
        for (value, byte) in room.iter_mut().zip(bytes_at::<8>(window, start as usize)) {
            *value = T::from_payload(u64::from(byte), 1, 0).0;
        }
        start += single;
        let left = ends.checked_shr(start).unwrap_or(0);
        if left == 0 {
            break;
        }
        let len = left.trailing_zeros() + 1;
        if let Some(value) = room.get_mut(single as usize) {
            let fits;
            (*value, fits) = T::from_payload(short_payload(window, start as usize, len), len, 0);
            good &= fits;
        }
        start += len;
        done += single + 1;
    }
    good
}

/// The payload of a value of at most eight bytes.
#[inline(always)]
fn short_payload(window: &[u8; REACH], start: usize, len: u32) -> u64 {
    let word = u64::from_le_bytes(bytes_at(window, start));
    word::pack(word & (u64::MAX >> (64 - 8 * len)) & PAYLOAD)
}

/// Decodes each value that ends at `ends`; `value` gets the offset of its first byte and its length.
#[inline(always)]
fn each<T: Integer>(ends: u64, values: &mut [T; ROOM], value: impl Fn(usize, u32) -> (T, bool)) -> bool {
    let mut good = true;
    let (mut left, mut start) = (ends, 0);
    let mut next = |slot: &mut T| {
        let next = left.trailing_zeros() + 1;
        left &= left.wrapping_sub(1);
        let fits;
        (*slot, fits) = value(start as usize, next - start);
        good &= fits;
        start = next;
    };
    let count = ends.count_ones() as usize;
    // Compilers do not unroll this loop by themselves.
    let (values, _) = values.split_at_mut(count);
    let (fours, rest) = values.as_chunks_mut::<4>();
    for [first, second, third, fourth] in fours {
        next(first);
        next(second);
        next(third);
        next(fourth);
    }
    rest.iter_mut().for_each(next);
    good
}

/// The `N` bytes at an offset below 64.
#[inline(always)]
pub(crate) fn bytes_at<const N: usize>(window: &[u8; REACH], start: usize) -> [u8; N] {
    const { assert!(N <= REACH - WINDOW) }
    // The remainder is a no-op that proves to the compiler that the bytes are in range.
    *window.split_at(start % WINDOW).1.first_chunk().unwrap_or(&[0; N])
}
