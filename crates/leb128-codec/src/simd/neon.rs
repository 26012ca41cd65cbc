//! The kernel for aarch64, whose baseline includes NEON.
//!
//! Written by hand are the mask of continuation bits, for which NEON has no single instruction, and unsigned values of up
//! to four bytes, eight input bytes at a time, by table look-up as in `avx2`. Left to the portable loops, which
//! the compiler vectorizes for NEON, are counting and windows of single bytes. Signed values and longer ones are decoded
//! by the portable scalar code: NEON has neither a compression of bytes by a mask nor a 64-byte permutation, on which
//! the AVX-512 kernel rests.
//!
//! Tested under emulation only; its speed has not been measured on hardware.

mod shuffles;

use core::arch::aarch64::{
    uint8x16_t, uint32x4_t, vandq_u8, vbslq_u16, vbslq_u32, vcombine_u8, vcreate_u8, vdupq_n_u8, vdupq_n_u16,
    vdupq_n_u32, vget_high_u32, vget_low_u32, vgetq_lane_u64, vld1q_u8, vmovl_u32, vpaddq_u8, vqtbl1q_u8,
    vreinterpretq_s8_u8, vreinterpretq_u8_s8, vreinterpretq_u16_u8, vreinterpretq_u32_u16, vreinterpretq_u64_u8,
    vshrq_n_s8, vshrq_n_u16, vshrq_n_u32, vst1q_u32, vst1q_u64,
};

use self::shuffles::SHUFFLES;
use crate::bulk::portable::{self, Runs, any_values, bytes_at, one_byte_each};
use crate::bulk::progress::Progress;
use crate::bulk::{REACH, ROOM, WINDOW, drive};
use crate::integer::Integer;

/// Proof that the target has NEON: the module is compiled for no other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernel(());

impl Kernel {
    /// The kernels with their names.
    #[allow(dead_code, reason = "for tests and benchmarks")]
    pub(crate) const fn all() -> [(&'static str, Option<Self>); 1] {
        [("neon", Some(Self(())))]
    }

    pub(super) const fn best() -> Self {
        Self(())
    }

    /// Decodes the beginning of a run.
    pub(crate) fn run<T: Integer>(self, input: &[u8], out: &mut [T]) -> Progress {
        // SAFETY: a `Kernel` exists only where the target has NEON.
        unsafe { run(input, out) }
    }

    /// Counts the values that end in the bytes. The compiler vectorizes the portable loop.
    pub(super) fn count(self, bytes: &[u8]) -> usize {
        portable::count(bytes)
    }
}

#[target_feature(enable = "neon")]
fn run<T: Integer>(input: &[u8], out: &mut [T]) -> Progress {
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
        any_values(window, continued, ends, runs, values).then_some(ends)
    })
}

/// The continuation bits of the window's bytes, bit 0 for the first.
#[inline]
#[target_feature(enable = "neon")]
fn continued(window: &[u8; REACH]) -> u64 {
    // Bit `i` of byte `i` of each eight: pairwise additions then collect them, as no two meet.
    let bits = vcreate_u8(0x8040_2010_0804_0201);
    let bits = vcombine_u8(bits, bits);
    let mut masks = [vdupq_n_u8(0); WINDOW / 16];
    for (mask, quarter) in masks.iter_mut().zip(window.as_chunks().0) {
        let all_ones = vreinterpretq_u8_s8(vshrq_n_s8::<7>(vreinterpretq_s8_u8(load(quarter))));
        *mask = vandq_u8(all_ones, bits);
    }
    let [a, b, c, d] = masks;
    let eighths = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
    vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(eighths, eighths)))
}

/// Writes the values that end at `ends`, none longer than four bytes: eight bytes of input at a time.
#[inline]
#[target_feature(enable = "neon")]
fn up_to_four<T: Integer>(window: &[u8; REACH], ends: u64, values: &mut [T; ROOM]) {
    let payload = vdupq_n_u8(0x7f);
    let (mut left, mut start, mut done) = (ends, 0, 0);
    while left != 0 {
        let [here, ..] = left.to_le_bytes();
        #[expect(clippy::indexing_slicing, reason = "any byte is an index of the table")]
        let (shuffles, _) = SHUFFLES[usize::from(here)].as_chunks();
        let bytes = vcreate_u8(u64::from_le_bytes(bytes_at(window, start)));
        let bytes = vandq_u8(vcombine_u8(bytes, bytes), payload);
        if let Some(room) = values.split_at_mut(done % WINDOW).1.first_chunk_mut::<8>() {
            for (values, shuffle) in room.as_chunks_mut().0.iter_mut().zip(shuffles) {
                store(values, pack28(vqtbl1q_u8(bytes, load(shuffle))));
            }
        }
        let used = here.ilog2() as usize + 1;
        left >>= used;
        start += used;
        done += here.count_ones() as usize;
    }
}

/// Moves the payload bits of each four bytes together; the continuation bits are clear.
#[inline]
#[target_feature(enable = "neon")]
fn pack28(bytes: uint8x16_t) -> uint32x4_t {
    let pairs = vreinterpretq_u16_u8(bytes);
    let pairs = vbslq_u16(vdupq_n_u16(0x7f), pairs, vshrq_n_u16::<1>(pairs));
    let fours = vreinterpretq_u32_u16(pairs);
    vbslq_u32(vdupq_n_u32(0x3fff), fours, vshrq_n_u32::<2>(fours))
}

#[inline]
#[target_feature(enable = "neon")]
fn load(bytes: &[u8; 16]) -> uint8x16_t {
    // SAFETY: the array has the vector's 16 bytes.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

/// Stores four unsigned 32-bit values as values of `T`, of 32 or 64 bits.
#[inline]
#[target_feature(enable = "neon")]
fn store<T: Integer>(values: &mut [T; 4], vector: uint32x4_t) {
    const { assert!(size_of::<T>() == 4 || size_of::<T>() == 8) }
    if size_of::<T>() == 4 {
        // SAFETY: four values of four bytes are the vector's 16.
        unsafe { vst1q_u32(values.as_mut_ptr().cast(), vector) }
    } else {
        let to: *mut u64 = values.as_mut_ptr().cast();
        // SAFETY: four values of eight bytes are two vectors of 16.
        unsafe {
            vst1q_u64(to, vmovl_u32(vget_low_u32(vector)));
            vst1q_u64(to.add(2), vmovl_u32(vget_high_u32(vector)));
        }
    }
}
