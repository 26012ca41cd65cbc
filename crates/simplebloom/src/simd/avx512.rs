//! Kernels for AVX-512: Intel servers since 2017, AMD since Zen 4. Sixteen keys at a time; rotations are single
//! instructions, and the registers hold state and message.

use core::arch::x86_64::{
    __m512i, __mmask64, _mm512_add_epi32, _mm512_loadu_si512, _mm512_mask_mov_epi32, _mm512_maskz_loadu_epi8,
    _mm512_movepi32_mask, _mm512_ror_epi32, _mm512_set1_epi32, _mm512_setzero_si512, _mm512_shuffle_i32x4,
    _mm512_storeu_si512, _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
    _mm512_xor_si512,
};

use super::detect::has;
use crate::digest::group::{BLOCK, Digest, Group, LANES, pair};
use crate::digest::rounds::{IV, compress};
use crate::probe::{GroupIndices, Row};

/// Proof that the processor has the kernels' features.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernel(());

impl Kernel {
    /// The kernels, if the processor has their features.
    pub(crate) fn new() -> Option<Self> {
        has!("avx512f", "avx512bw", "avx512dq", "avx512vl").then_some(Self(()))
    }

    /// The digests of sixteen keys; `start` is the state before the first block.
    pub(crate) fn digest(self, group: &Group<'_>, start: &[u32; 8]) -> [Digest; LANES] {
        // SAFETY: a `Kernel` exists only where the processor has the features.
        unsafe { sixteen_digests(group, start) }
    }

    /// [`GroupIndices::next_rows`], vectorized.
    pub(crate) fn next_rows(self, indices: &mut GroupIndices, rows: &mut [Row]) {
        // SAFETY: as above.
        unsafe { next_rows(indices, rows) }
    }
}

/// The portable loop, compiled for these instructions.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn next_rows(indices: &mut GroupIndices, rows: &mut [Row]) {
    indices.next_rows(rows);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn sixteen_digests(group: &Group<'_>, start: &[u32; 8]) -> [Digest; LANES] {
    let [s0, s1, s2, s3, s4, s5, s6, s7] = *start;
    let mut h = [splat(s0), splat(s1), splat(s2), splat(s3), splat(s4), splat(s5), splat(s6), splat(s7)];
    let blocks = group.blocks();
    for block in 0..blocks {
        let (mut t, mut f, mut active) = ([0; LANES], [0; LANES], [0; LANES]);
        let mut m = [_mm512_setzero_si512(); LANES];
        let lanes = t.iter_mut().zip(&mut f).zip(&mut active).zip(&mut m);
        for (lane, (((t, f), active), m)) in lanes.enumerate() {
            let input = group.block(lane, block);
            (*t, *f, *active) = (input.counter, input.last, input.active);
            *m = load(input.bytes);
        }
        let m = transpose(m);
        let (t, f) = (load_words(&t), load_words(&f));
        let [i0, i1, i2, i3, i4, i5, i6, i7] = IV;
        let iv = [splat(i0), splat(i1), splat(i2), splat(i3), splat(i4), splat(i5), splat(i6), splat(i7)];
        let next = compress!(
            h,
            m,
            t,
            _mm512_setzero_si512(),
            f,
            iv,
            _mm512_add_epi32,
            _mm512_xor_si512,
            _mm512_ror_epi32::<16>,
            _mm512_ror_epi32::<12>,
            _mm512_ror_epi32::<8>,
            _mm512_ror_epi32::<7>
        );
        if blocks == 1 {
            h = next;
        } else {
            let active = _mm512_movepi32_mask(load_words(&active));
            for (h, next) in h.iter_mut().zip(next) {
                *h = _mm512_mask_mov_epi32(*h, active, next);
            }
        }
    }
    let mut words = [[0; LANES]; 8];
    for (words, wide) in words.iter_mut().zip(h) {
        // SAFETY: the array has the vector's 64 bytes.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), wide) }
    }
    let [a, b, c, d, ..] = words;
    let mut digests = [[0; 2]; LANES];
    for ((((digest, a), b), c), d) in digests.iter_mut().zip(a).zip(b).zip(c).zip(d) {
        *digest = pair(&[a, b, c, d, 0, 0, 0, 0]);
    }
    digests
}

#[inline]
#[target_feature(enable = "avx512f")]
fn splat(word: u32) -> __m512i {
    _mm512_set1_epi32(word.cast_signed())
}

/// At most 64 bytes of a block, padded with zeros.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load(bytes: &[u8]) -> __m512i {
    let mask: __mmask64 = match bytes.len() {
        len @ 0..BLOCK => (1 << len) - 1,
        _ => __mmask64::MAX,
    };
    // SAFETY: the mask selects bytes of the slice only; no others are accessed.
    unsafe { _mm512_maskz_loadu_epi8(mask, bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_words(words: &[u32; LANES]) -> __m512i {
    // SAFETY: the array has the vector's 64 bytes.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

/// Transposes sixteen rows of sixteen words.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose(rows: [__m512i; LANES]) -> [__m512i; LANES] {
    let [r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, r13, r14, r15] = rows;
    // Transposes four rows within each quarter of the vectors.
    let [a0, a1, a2, a3] = fours(r0, r1, r2, r3);
    let [b0, b1, b2, b3] = fours(r4, r5, r6, r7);
    let [c0, c1, c2, c3] = fours(r8, r9, r10, r11);
    let [d0, d1, d2, d3] = fours(r12, r13, r14, r15);
    // Column 4 q + i is quarter q of a_i, b_i, c_i and d_i.
    let [m0, m4, m8, m12] = quarters(a0, b0, c0, d0);
    let [m1, m5, m9, m13] = quarters(a1, b1, c1, d1);
    let [m2, m6, m10, m14] = quarters(a2, b2, c2, d2);
    let [m3, m7, m11, m15] = quarters(a3, b3, c3, d3);
    [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn fours(a: __m512i, b: __m512i, c: __m512i, d: __m512i) -> [__m512i; 4] {
    let (ab0, ab1) = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    let (cd0, cd1) = (_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    [
        _mm512_unpacklo_epi64(ab0, cd0),
        _mm512_unpackhi_epi64(ab0, cd0),
        _mm512_unpacklo_epi64(ab1, cd1),
        _mm512_unpackhi_epi64(ab1, cd1),
    ]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn quarters(a: __m512i, b: __m512i, c: __m512i, d: __m512i) -> [__m512i; 4] {
    const LOWER: i32 = 0b01_00_01_00;
    const UPPER: i32 = 0b11_10_11_10;
    const EVEN: i32 = 0b10_00_10_00;
    const ODD: i32 = 0b11_01_11_01;
    let (ab0, ab1) = (_mm512_shuffle_i32x4::<LOWER>(a, b), _mm512_shuffle_i32x4::<UPPER>(a, b));
    let (cd0, cd1) = (_mm512_shuffle_i32x4::<LOWER>(c, d), _mm512_shuffle_i32x4::<UPPER>(c, d));
    [
        _mm512_shuffle_i32x4::<EVEN>(ab0, cd0),
        _mm512_shuffle_i32x4::<ODD>(ab0, cd0),
        _mm512_shuffle_i32x4::<EVEN>(ab1, cd1),
        _mm512_shuffle_i32x4::<ODD>(ab1, cd1),
    ]
}
