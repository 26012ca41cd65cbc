//! The kernel for processors with AVX2 and BMI2: most of those from Intel since 2013 and from AMD since 2017.

use core::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_castsi256_si128, _mm256_cvtepu32_epi64, _mm256_extracti128_si256,
    _mm256_loadu_si256, _mm256_madd_epi16, _mm256_maddubs_epi16, _mm256_movemask_epi8, _mm256_set1_epi8,
    _mm256_set1_epi16, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_shuffle_epi8, _mm256_storeu_si256,
};

use super::features::has;
use crate::bulk::done::Done;
use crate::bulk::portable::{Runs, any_values, bytes_at, one_byte_each};
use crate::bulk::{REACH, ROOM, WINDOW, drive, portable};
use crate::integer::Integer;

/// The kernel, on a processor that has what it needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernel(());

impl Kernel {
    /// The kernel, if the processor has what it needs.
    pub(crate) fn new() -> Option<Self> {
        has!("avx2", "bmi1", "bmi2", "lzcnt", "popcnt").then_some(Self(()))
    }

    /// See [`Done`].
    pub(crate) fn run<T: Integer>(self, input: &[u8], out: &mut [T]) -> Done {
        // SAFETY: a kernel exists only where the processor has the features.
        unsafe { run(input, out) }
    }

    /// How many values end in the bytes.
    pub(crate) fn count(self, bytes: &[u8]) -> usize {
        // SAFETY: as above.
        unsafe { count(bytes) }
    }
}

#[target_feature(enable = "avx2")]
fn count(bytes: &[u8]) -> usize {
    portable::count(bytes)
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn run<T: Integer>(input: &[u8], out: &mut [T]) -> Done {
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
        if runs.four == 0 && !T::SIGNED {
            up_to_four(window, ends, values);
            return Some(ends);
        }
        // The portable loops again: with these instructions the compiler makes them half as fast again. Extracting
        // the payload bits with `pext` was tried and is no faster.
        any_values(window, continued, ends, runs, values).then_some(ends)
    })
}

/// The continuation bits of the window's bytes, bit 0 for the first.
#[inline]
#[target_feature(enable = "avx2")]
fn continued(window: &[u8; REACH]) -> u64 {
    let (halves, _) = window.as_chunks::<32>();
    let mut mask = 0;
    for (at, half) in halves.iter().take(WINDOW / 32).enumerate() {
        // SAFETY: the array has the vector's 32 bytes.
        let vector = unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
        mask |= u64::from(_mm256_movemask_epi8(vector).cast_unsigned()) << (32 * at);
    }
    mask
}

/// For eight bytes whose ends of values are the index's bits: which of them go to which of eight lanes of four bytes.
static LANES: [[u8; 32]; 256] = lanes();

#[expect(clippy::indexing_slicing, reason = "runs in the compiler, which would say so")]
const fn lanes() -> [[u8; 32]; 256] {
    const NONE: u8 = 0x80;
    let mut table = [[NONE; 32]; 256];
    let mut ends = 0_usize;
    while ends < table.len() {
        let (mut lane, mut place, mut byte) = (0, 0, 0_u8);
        while byte < 8 {
            // Longer values do not come here; nor does a value that does not end.
            if place < 4 && ends >> byte != 0 {
                table[ends][4 * lane + place] = byte;
            }
            place += 1;
            if ends >> byte & 1 == 1 {
                lane += 1;
                place = 0;
            }
            byte += 1;
        }
        ends += 1;
    }
    table
}

/// Writes the values that end at `ends`, none longer than four bytes: eight bytes of input at once.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn up_to_four<T: Integer>(window: &[u8; REACH], ends: u64, values: &mut [T; ROOM]) {
    let payload = _mm256_set1_epi8(0x7f);
    let pairs = _mm256_set1_epi16(0x8001_u16.cast_signed());
    let fours = _mm256_set1_epi32(0x4000_0001);
    let (mut left, mut start, mut done) = (ends, 0, 0);
    while left != 0 {
        let [here, ..] = left.to_le_bytes();
        #[expect(clippy::indexing_slicing, reason = "every byte is an index of the table")]
        let lanes = &LANES[usize::from(here)];
        let bytes = _mm256_set1_epi64x(i64::from_le_bytes(bytes_at(window, start)));
        // SAFETY: the array has the vector's 32 bytes.
        let lanes = unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) };
        let bytes = _mm256_and_si256(_mm256_shuffle_epi8(bytes, lanes), payload);
        // The weights are the first operand, as the instruction takes one unsigned and one signed: 1 and 128, then
        // 1 and 16384.
        let values28 = _mm256_madd_epi16(_mm256_maddubs_epi16(pairs, bytes), fours);
        if let Some(values) = values.split_at_mut(done % WINDOW).1.first_chunk_mut() {
            store(values, values28);
        }
        let used = here.ilog2() as usize + 1;
        left >>= used;
        start += used;
        done += here.count_ones() as usize;
    }
}

/// Stores eight unsigned values of 32 bits as values of `T`, of 32 or 64 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn store<T: Integer>(values: &mut [T; 8], vector: __m256i) {
    const { assert!(size_of::<T>() == 4 || size_of::<T>() == 8) }
    let to: *mut __m256i = values.as_mut_ptr().cast();
    if size_of::<T>() == 4 {
        // SAFETY: eight values of four bytes are the vector's 32.
        unsafe { _mm256_storeu_si256(to, vector) }
    } else {
        let low = _mm256_cvtepu32_epi64(_mm256_castsi256_si128(vector));
        let high = _mm256_cvtepu32_epi64(_mm256_extracti128_si256::<1>(vector));
        // SAFETY: eight values of eight bytes are two vectors of 32.
        unsafe {
            _mm256_storeu_si256(to, low);
            _mm256_storeu_si256(to.add(1), high);
        }
    }
}
