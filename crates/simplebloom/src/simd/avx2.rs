//! Kernels for AVX2: most Intel processors since 2013, AMD since 2015. Eight keys at a time.

use core::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_blendv_epi8, _mm256_loadu_si256, _mm256_or_si256, _mm256_permute2x128_si256,
    _mm256_set1_epi32, _mm256_setr_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_slli_epi32,
    _mm256_srli_epi32, _mm256_storeu_si256, _mm256_unpackhi_epi32, _mm256_unpackhi_epi64, _mm256_unpacklo_epi32,
    _mm256_unpacklo_epi64, _mm256_xor_si256,
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
        has!("avx2").then_some(Self(()))
    }

    /// The digests of sixteen keys; `start` is the state before the first block.
    pub(crate) fn digest(self, group: &Group<'_>, start: &[u32; 8]) -> [Digest; LANES] {
        let mut digests = [[0; 2]; LANES];
        let (halves, _) = digests.as_chunks_mut::<WIDTH>();
        for (at, half) in halves.iter_mut().enumerate() {
            // SAFETY: a `Kernel` exists only where the processor has the feature.
            *half = unsafe { eight_digests(group, at * WIDTH, start) };
        }
        digests
    }

    /// [`GroupIndices::next_rows`], vectorized.
    pub(crate) fn next_rows(self, indices: &mut GroupIndices, rows: &mut [Row]) {
        // SAFETY: as above.
        unsafe { next_rows(indices, rows) }
    }
}

const WIDTH: usize = 8;

/// The portable loop, compiled for these instructions.
#[target_feature(enable = "avx2")]
fn next_rows(indices: &mut GroupIndices, rows: &mut [Row]) {
    indices.next_rows(rows);
}

#[target_feature(enable = "avx2")]
fn eight_digests(group: &Group<'_>, first: usize, start: &[u32; 8]) -> [Digest; WIDTH] {
    let mut h = [_mm256_setzero_si256(); 8];
    for (wide, word) in h.iter_mut().zip(start) {
        *wide = splat(*word);
    }
    for block in 0..group.blocks() {
        let (mut t, mut f, mut active) = ([0; WIDTH], [0; WIDTH], [0; WIDTH]);
        let mut low = [_mm256_setzero_si256(); WIDTH];
        let mut high = low;
        let lanes = t.iter_mut().zip(&mut f).zip(&mut active).zip(low.iter_mut().zip(&mut high));
        for (lane, (((t, f), active), (low, high))) in lanes.enumerate() {
            let input = group.block(first + lane, block);
            (*t, *f, *active) = (input.counter, input.last, input.active);
            let mut padded = [0; BLOCK];
            let bytes = input.bytes.first_chunk().unwrap_or_else(|| {
                for (to, from) in padded.iter_mut().zip(input.bytes) {
                    *to = *from;
                }
                &padded
            });
            let (halves, _) = bytes.as_chunks::<32>();
            if let [first, second] = halves {
                (*low, *high) = (load(first), load(second));
            }
        }
        let ([m0, m1, m2, m3, m4, m5, m6, m7], [m8, m9, m10, m11, m12, m13, m14, m15]) =
            (transpose(low), transpose(high));
        let m = [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15];
        let (t, f, active) = (load_words(&t), load_words(&f), load_words(&active));
        let [i0, i1, i2, i3, i4, i5, i6, i7] = IV;
        let iv = [splat(i0), splat(i1), splat(i2), splat(i3), splat(i4), splat(i5), splat(i6), splat(i7)];
        let next =
            compress!(h, m, t, _mm256_setzero_si256(), f, iv, _mm256_add_epi32, _mm256_xor_si256, r16, r12, r8, r7);
        for (h, next) in h.iter_mut().zip(next) {
            *h = _mm256_blendv_epi8(*h, next, active);
        }
    }
    let mut words = [[0; WIDTH]; 8];
    for (words, wide) in words.iter_mut().zip(transpose(h)) {
        // SAFETY: the array has the vector's 32 bytes.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), wide) }
    }
    words.map(|state| pair(&state))
}

#[inline]
#[target_feature(enable = "avx2")]
fn splat(word: u32) -> __m256i {
    _mm256_set1_epi32(word.cast_signed())
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: the array has the vector's 32 bytes.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_words(words: &[u32; WIDTH]) -> __m256i {
    // SAFETY: the array has the vector's 32 bytes.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

/// Transposes eight rows of eight words.
#[inline]
#[target_feature(enable = "avx2")]
fn transpose(rows: [__m256i; 8]) -> [__m256i; 8] {
    let [a, b, c, d, e, f, g, h] = rows;
    let [ab0, ab1] = [_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b)];
    let [cd0, cd1] = [_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d)];
    let [ef0, ef1] = [_mm256_unpacklo_epi32(e, f), _mm256_unpackhi_epi32(e, f)];
    let [gh0, gh1] = [_mm256_unpacklo_epi32(g, h), _mm256_unpackhi_epi32(g, h)];
    let [ad0, ad1] = [_mm256_unpacklo_epi64(ab0, cd0), _mm256_unpackhi_epi64(ab0, cd0)];
    let [ad2, ad3] = [_mm256_unpacklo_epi64(ab1, cd1), _mm256_unpackhi_epi64(ab1, cd1)];
    let [eh0, eh1] = [_mm256_unpacklo_epi64(ef0, gh0), _mm256_unpackhi_epi64(ef0, gh0)];
    let [eh2, eh3] = [_mm256_unpacklo_epi64(ef1, gh1), _mm256_unpackhi_epi64(ef1, gh1)];
    const LOWER: i32 = 0x20;
    const UPPER: i32 = 0x31;
    [
        _mm256_permute2x128_si256::<LOWER>(ad0, eh0),
        _mm256_permute2x128_si256::<LOWER>(ad1, eh1),
        _mm256_permute2x128_si256::<LOWER>(ad2, eh2),
        _mm256_permute2x128_si256::<LOWER>(ad3, eh3),
        _mm256_permute2x128_si256::<UPPER>(ad0, eh0),
        _mm256_permute2x128_si256::<UPPER>(ad1, eh1),
        _mm256_permute2x128_si256::<UPPER>(ad2, eh2),
        _mm256_permute2x128_si256::<UPPER>(ad3, eh3),
    ]
}

#[inline]
#[target_feature(enable = "avx2")]
fn r16(wide: __m256i) -> __m256i {
    #[rustfmt::skip]
    let places = _mm256_setr_epi8(
        2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13,
        2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13,
    );
    _mm256_shuffle_epi8(wide, places)
}

#[inline]
#[target_feature(enable = "avx2")]
fn r8(wide: __m256i) -> __m256i {
    #[rustfmt::skip]
    let places = _mm256_setr_epi8(
        1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12,
        1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12,
    );
    _mm256_shuffle_epi8(wide, places)
}

#[inline]
#[target_feature(enable = "avx2")]
fn r12(wide: __m256i) -> __m256i {
    _mm256_or_si256(_mm256_srli_epi32::<12>(wide), _mm256_slli_epi32::<20>(wide))
}

#[inline]
#[target_feature(enable = "avx2")]
fn r7(wide: __m256i) -> __m256i {
    _mm256_or_si256(_mm256_srli_epi32::<7>(wide), _mm256_slli_epi32::<25>(wide))
}
