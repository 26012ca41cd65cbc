//! The kernel for aarch64, whose baseline includes NEON. Four keys at a time.
//!
//! Written by hand is the hash: rotations by 16 and 8 are single shuffles and those by 12 and 7 a shift and an insertion,
//! messages are transposed in registers, and the 32 registers hold state and message. Left to the portable loop, which the
//! compiler vectorizes for NEON, are the bit indices: they are 64-bit additions and minima, two lanes to a vector. Setting
//! and testing bits stays scalar, as on every machine: NEON has neither gather nor scatter.
//!
//! Tested under emulation only; its speed has not been measured on hardware.

use core::arch::aarch64::{
    uint32x4_t, vaddq_u32, vbslq_u32, vdupq_n_u32, veorq_u32, vld1q_u8, vld1q_u32, vqtbl1q_u8, vreinterpretq_u8_u32,
    vreinterpretq_u16_u32, vreinterpretq_u32_u8, vreinterpretq_u32_u16, vreinterpretq_u32_u64, vreinterpretq_u64_u32,
    vrev32q_u16, vshlq_n_u32, vsriq_n_u32, vst1q_u32, vtrn1q_u32, vtrn1q_u64, vtrn2q_u32, vtrn2q_u64,
};

use crate::digest::group::{BLOCK, Digest, Group, LANES, pair};
use crate::digest::rounds::{IV, compress};
use crate::probe::{GroupIndices, Row};

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

    /// The digests of sixteen keys; `start` is the state before the first block.
    pub(crate) fn digest(self, group: &Group<'_>, start: &[u32; 8]) -> [Digest; LANES] {
        let mut digests = [[0; 2]; LANES];
        for (at, four) in digests.as_chunks_mut().0.iter_mut().enumerate() {
            // SAFETY: a `Kernel` exists only where the target has NEON.
            *four = unsafe { four_digests(group, at * WIDTH, start) };
        }
        digests
    }

    /// [`GroupIndices::next_rows`], which the compiler vectorizes.
    #[inline]
    pub(super) fn next_rows(self, indices: &mut GroupIndices, rows: &mut [Row]) {
        indices.next_rows(rows);
    }
}

/// Hints that the byte will be accessed soon.
#[inline(always)]
pub(super) fn prefetch(byte: &u8) {
    let pointer = core::ptr::from_ref(byte);
    // SAFETY: every aarch64 processor has the instruction, the pointer comes from a reference, and nothing else is touched.
    // There is no stable intrinsic for it.
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{}]", in(reg) pointer, options(nostack, readonly, preserves_flags));
    }
}

const WIDTH: usize = 4;

#[target_feature(enable = "neon")]
fn four_digests(group: &Group<'_>, first: usize, start: &[u32; 8]) -> [Digest; WIDTH] {
    let mut h = [splat(0); 8];
    for (wide, word) in h.iter_mut().zip(start) {
        *wide = splat(*word);
    }
    for block in 0..group.blocks() {
        let (mut t, mut f, mut active) = ([0; WIDTH], [0; WIDTH], [0; WIDTH]);
        // The four quarters of the block, each with a row per key.
        let [mut q0, mut q1, mut q2, mut q3] = [[splat(0); WIDTH]; 4];
        let rows = q0.iter_mut().zip(&mut q1).zip(q2.iter_mut().zip(&mut q3));
        let lanes = t.iter_mut().zip(&mut f).zip(&mut active).zip(rows);
        for (lane, (((t, f), active), ((q0, q1), (q2, q3)))) in lanes.enumerate() {
            let input = group.block(first + lane, block);
            (*t, *f, *active) = (input.counter, input.last, input.active);
            let mut padded = [0; BLOCK];
            let bytes = input.bytes.first_chunk().unwrap_or_else(|| {
                for (to, from) in padded.iter_mut().zip(input.bytes) {
                    *to = *from;
                }
                &padded
            });
            if let [a, b, c, d] = bytes.as_chunks().0 {
                (*q0, *q1, *q2, *q3) = (load(a), load(b), load(c), load(d));
            }
        }
        let ([m0, m1, m2, m3], [m4, m5, m6, m7]) = (transpose(q0), transpose(q1));
        let ([m8, m9, m10, m11], [m12, m13, m14, m15]) = (transpose(q2), transpose(q3));
        let m = [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15];
        let (t, f, active) = (load_words(&t), load_words(&f), load_words(&active));
        let [i0, i1, i2, i3, i4, i5, i6, i7] = IV;
        let iv = [splat(i0), splat(i1), splat(i2), splat(i3), splat(i4), splat(i5), splat(i6), splat(i7)];
        let next = compress!(h, m, t, splat(0), f, iv, vaddq_u32, veorq_u32, r16, r12, r8, r7);
        for (h, next) in h.iter_mut().zip(next) {
            *h = vbslq_u32(active, next, *h);
        }
    }
    let [h0, h1, h2, h3, ..] = h;
    let mut digests = [[0; 2]; WIDTH];
    for (digest, wide) in digests.iter_mut().zip(transpose([h0, h1, h2, h3])) {
        let mut words = [0; WIDTH];
        // SAFETY: the array has the vector's 16 bytes.
        unsafe { vst1q_u32(words.as_mut_ptr(), wide) }
        let [a, b, c, d] = words;
        *digest = pair(&[a, b, c, d, 0, 0, 0, 0]);
    }
    digests
}

#[inline]
#[target_feature(enable = "neon")]
fn splat(word: u32) -> uint32x4_t {
    vdupq_n_u32(word)
}

/// Four little-endian words.
#[inline]
#[target_feature(enable = "neon")]
fn load(bytes: &[u8; 16]) -> uint32x4_t {
    // SAFETY: the array has the vector's 16 bytes.
    vreinterpretq_u32_u8(unsafe { vld1q_u8(bytes.as_ptr()) })
}

#[inline]
#[target_feature(enable = "neon")]
fn load_words(words: &[u32; WIDTH]) -> uint32x4_t {
    // SAFETY: the array has the vector's 16 bytes.
    unsafe { vld1q_u32(words.as_ptr()) }
}

/// Transposes four rows of four words.
#[inline]
#[target_feature(enable = "neon")]
fn transpose(rows: [uint32x4_t; 4]) -> [uint32x4_t; 4] {
    let [a, b, c, d] = rows;
    let even = (vreinterpretq_u64_u32(vtrn1q_u32(a, b)), vreinterpretq_u64_u32(vtrn1q_u32(c, d)));
    let odd = (vreinterpretq_u64_u32(vtrn2q_u32(a, b)), vreinterpretq_u64_u32(vtrn2q_u32(c, d)));
    [
        vreinterpretq_u32_u64(vtrn1q_u64(even.0, even.1)),
        vreinterpretq_u32_u64(vtrn1q_u64(odd.0, odd.1)),
        vreinterpretq_u32_u64(vtrn2q_u64(even.0, even.1)),
        vreinterpretq_u32_u64(vtrn2q_u64(odd.0, odd.1)),
    ]
}

#[inline]
#[target_feature(enable = "neon")]
fn r16(wide: uint32x4_t) -> uint32x4_t {
    vreinterpretq_u32_u16(vrev32q_u16(vreinterpretq_u16_u32(wide)))
}

#[inline]
#[target_feature(enable = "neon")]
fn r8(wide: uint32x4_t) -> uint32x4_t {
    const ROTATED: [u8; 16] = [1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12];
    vreinterpretq_u32_u8(vqtbl1q_u8(vreinterpretq_u8_u32(wide), vreinterpretq_u8_u32(load(&ROTATED))))
}

#[inline]
#[target_feature(enable = "neon")]
fn r12(wide: uint32x4_t) -> uint32x4_t {
    vsriq_n_u32::<12>(vshlq_n_u32::<20>(wide), wide)
}

#[inline]
#[target_feature(enable = "neon")]
fn r7(wide: uint32x4_t) -> uint32x4_t {
    vsriq_n_u32::<7>(vshlq_n_u32::<25>(wide), wide)
}
