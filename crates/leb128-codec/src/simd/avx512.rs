//! The kernel for AVX-512 with byte permutations (VBMI, VBMI2): Intel since Ice Lake, AMD since Zen 4.
//!
//! Each value gets a lane of four or eight bytes. Compressing the numbers 0 to 63 by the masks of first and of last bytes
//! gives the offsets where values begin and end; a byte permutation moves the bytes of each value to its lane; two
//! multiply-adds join the payload bits. A second permutation fetches the bytes that do not fit into the lane.

use core::arch::x86_64::{
    __m512i, _mm512_add_epi8, _mm512_and_si512, _mm512_castsi512_si256, _mm512_cmpgt_epu8_mask, _mm512_cmple_epu8_mask,
    _mm512_cvtepi32_epi64, _mm512_cvtepu32_epi64, _mm512_extracti64x4_epi64, _mm512_loadu_si512, _mm512_madd_epi16,
    _mm512_maddubs_epi16, _mm512_mask_cmple_epu8_mask, _mm512_maskz_compress_epi8, _mm512_maskz_permutexvar_epi8,
    _mm512_maskz_shuffle_epi8, _mm512_movepi8_mask, _mm512_or_si512, _mm512_permutexvar_epi8, _mm512_set1_epi8,
    _mm512_set1_epi16, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_slli_epi32, _mm512_slli_epi64, _mm512_sllv_epi32,
    _mm512_sllv_epi64, _mm512_srav_epi32, _mm512_srav_epi64, _mm512_srli_epi64, _mm512_storeu_si512, _mm512_sub_epi8,
    _mm512_ternarylogic_epi64,
};

use super::detect::has;
use crate::bulk::portable::{Runs, one_byte_each};
use crate::bulk::progress::Progress;
use crate::bulk::{ROOM, drive, portable};
use crate::integer::Integer;

/// Proof that the processor has the kernel's features.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernel(());

impl Kernel {
    /// The kernel, if the processor has its features.
    pub(crate) fn new() -> Option<Self> {
        has!("avx512f", "avx512bw", "avx512vbmi", "avx512vbmi2", "bmi1", "bmi2", "lzcnt", "popcnt").then_some(Self(()))
    }

    /// Decodes the beginning of a run.
    pub(crate) fn run<T: Integer>(self, input: &[u8], out: &mut [T]) -> Progress {
        // SAFETY: a `Kernel` exists only where the processor has the features.
        unsafe { run(input, out) }
    }

    /// Counts the values that end in the bytes.
    pub(crate) fn count(self, bytes: &[u8]) -> usize {
        // SAFETY: as above.
        unsafe { count(bytes) }
    }
}

#[target_feature(enable = "avx512f,avx512bw")]
fn count(bytes: &[u8]) -> usize {
    portable::count(bytes)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt")]
fn run<T: Integer>(input: &[u8], out: &mut [T]) -> Progress {
    drive(input, out, |window, valid, values| {
        let bytes = load(window.first_chunk()?);
        let continued = _mm512_movepi8_mask(bytes) & valid;
        if continued == 0 && valid == u64::MAX {
            one_byte_each(window, values);
            return Some(u64::MAX);
        }
        let ends = !continued & valid;
        let runs = Runs::of(continued);
        if runs.too_long::<T>() {
            return None;
        }
        let located = Located::new(bytes, ends);
        let good = if runs.four == 0 {
            located.up_to_four(values)
        } else if T::BITS == 32 {
            located.up_to_five(values)
        } else if runs.eight == 0 {
            located.up_to_eight(values)
        } else {
            located.up_to_ten(values)
        };
        good.then_some(ends)
    })
}

/// The bytes 0, 1, 2, ...
static OFFSETS: [u8; 64] = bytes::<1, 64>();
/// For lanes of four bytes, then of eight: the index of the lane, and of the byte in its lane.
static LANE_OF_4: [u8; 64] = bytes::<4, 64>();
static BYTE_OF_4: [u8; 64] = bytes::<1, 4>();
static LANE_OF_8: [u8; 64] = bytes::<8, 64>();
static BYTE_OF_8: [u8; 64] = bytes::<1, 8>();

/// Left shifts that move a value's sign bit to the top of its lane, by the value's length minus one.
static UNUSED_OF_4: [u8; 64] = unused(32);
static UNUSED_OF_8: [u8; 64] = unused(64);

/// Byte `i` is `i / D % M`.
#[expect(clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "const evaluation; all below 65")]
const fn bytes<const D: usize, const M: usize>() -> [u8; 64] {
    let mut table = [0; 64];
    let mut at = 0;
    while at < table.len() {
        table[at] = (at / D % M) as u8;
        at += 1;
    }
    table
}

/// The same sixteen bytes in each quarter of a vector.
#[expect(clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "const evaluation; all below 65")]
const fn unused(bits: usize) -> [u8; 64] {
    let mut table = [0; 64];
    let mut at = 0;
    while at < table.len() {
        table[at] = bits.saturating_sub(7 * (at % 16 + 1)) as u8;
        at += 1;
    }
    table
}

/// A window with the offsets of its values.
#[derive(Clone, Copy)]
struct Located {
    bytes: __m512i,
    /// Byte `i` is the offset of the first, or last, byte of value `i`.
    firsts: __m512i,
    lasts: __m512i,
    count: usize,
}

/// A group of values, one in each lane.
#[derive(Clone, Copy)]
struct Lanes {
    /// The window offset of each lane byte; past `lasts` for bytes that the value does not have.
    offsets: __m512i,
    /// The offset of the value's last byte, repeated in each byte of its lane.
    lasts: __m512i,
    /// The payload bits joined, not sign-extended.
    payload: __m512i,
}

impl Located {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
    fn new(bytes: __m512i, ends: u64) -> Self {
        let offsets = load(&OFFSETS);
        Self {
            bytes,
            firsts: _mm512_maskz_compress_epi8(ends << 1 | 1, offsets),
            lasts: _mm512_maskz_compress_epi8(ends, offsets),
            count: ends.count_ones() as usize,
        }
    }

    /// The sixteen values whose indices are in `lane`, in lanes of four bytes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
    fn lanes_of_4(self, lane: __m512i) -> Lanes {
        let offsets = _mm512_add_epi8(_mm512_permutexvar_epi8(lane, self.firsts), load(&BYTE_OF_4));
        let lasts = _mm512_permutexvar_epi8(lane, self.lasts);
        let own = _mm512_cmple_epu8_mask(offsets, lasts);
        let bytes = _mm512_maskz_permutexvar_epi8(own, offsets, self.bytes);
        Lanes { offsets, lasts, payload: pack28(bytes) }
    }

    /// The eight values whose indices are in `lane`, in lanes of eight bytes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
    fn lanes_of_8(self, lane: __m512i) -> Lanes {
        let offsets = _mm512_add_epi8(_mm512_permutexvar_epi8(lane, self.firsts), load(&BYTE_OF_8));
        let lasts = _mm512_permutexvar_epi8(lane, self.lasts);
        let own = _mm512_cmple_epu8_mask(offsets, lasts);
        let halves = pack28(_mm512_maskz_permutexvar_epi8(own, offsets, self.bytes));
        // The low 28 bits stay, the high ones move down to meet them: `a ? b : c` bit by bit.
        let low = _mm512_set1_epi64(0x0fff_ffff);
        let payload = _mm512_ternarylogic_epi64::<0xca>(low, halves, _mm512_srli_epi64::<4>(halves));
        Lanes { offsets, lasts, payload }
    }

    /// The bytes `distance` after those of the lanes, at the positions in `mask`: zero where the value has no such byte.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
    fn bytes_after(self, lanes: Lanes, mask: u64, distance: i8) -> __m512i {
        let offsets = _mm512_add_epi8(lanes.offsets, _mm512_set1_epi8(distance));
        let own = _mm512_mask_cmple_epu8_mask(mask, offsets, lanes.lasts);
        let bytes = _mm512_maskz_permutexvar_epi8(own, offsets, self.bytes);
        _mm512_and_si512(bytes, _mm512_set1_epi8(0x7f))
    }

    /// Values of at most four bytes; all fit.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
    fn up_to_four<T: Integer>(self, values: &mut [T; ROOM]) -> bool {
        let mut lane = load(&LANE_OF_4);
        for values in values.as_chunks_mut::<16>().0.iter_mut().take(self.count.div_ceil(16)) {
            let lanes = self.lanes_of_4(lane);
            lane = _mm512_add_epi8(lane, _mm512_set1_epi8(16));
            store_32::<T>(values, if T::SIGNED { lanes.extended_32() } else { lanes.payload });
        }
        true
    }

    /// Values of at most five bytes for a type of 32 bits.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
    fn up_to_five<T: Integer>(self, values: &mut [T; ROOM]) -> bool {
        let mut lane = load(&LANE_OF_4);
        let mut misfits = 0;
        for values in values.as_chunks_mut::<16>().0.iter_mut().take(self.count.div_ceil(16)) {
            let lanes = self.lanes_of_4(lane);
            lane = _mm512_add_epi8(lane, _mm512_set1_epi8(16));
            let fifth = self.bytes_after(lanes, 0x1111_1111_1111_1111, 4);
            // Four of its bits belong to the value; if that is signed, the other three must repeat its sign.
            misfits |= not_in(fifth, if T::SIGNED { -8 } else { 0 }, 15);
            let lanes = Lanes { payload: _mm512_or_si512(lanes.payload, _mm512_slli_epi32::<28>(fifth)), ..lanes };
            store_32::<T>(values, if T::SIGNED { lanes.extended_32() } else { lanes.payload });
        }
        misfits == 0
    }

    /// Values of at most eight bytes for a type of 64 bits; all fit.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
    fn up_to_eight<T: Integer>(self, values: &mut [T; ROOM]) -> bool {
        let mut lane = load(&LANE_OF_8);
        for values in values.as_chunks_mut::<8>().0.iter_mut().take(self.count.div_ceil(8)) {
            let lanes = self.lanes_of_8(lane);
            lane = _mm512_add_epi8(lane, _mm512_set1_epi8(8));
            store_64::<T>(values, if T::SIGNED { lanes.extended_64() } else { lanes.payload });
        }
        true
    }

    /// Values of at most ten bytes for a type of 64 bits.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
    fn up_to_ten<T: Integer>(self, values: &mut [T; ROOM]) -> bool {
        let mut lane = load(&LANE_OF_8);
        let mut misfits = 0;
        for values in values.as_chunks_mut::<8>().0.iter_mut().take(self.count.div_ceil(8)) {
            let lanes = self.lanes_of_8(lane);
            lane = _mm512_add_epi8(lane, _mm512_set1_epi8(8));
            let more = self.bytes_after(lanes, 0x0303_0303_0303_0303, 8);
            // One bit of the tenth byte belongs to the value; if that is signed, the other six must repeat it.
            misfits |= not_in(more, if T::SIGNED { -1 } else { 0 }, 1) & 0x0202_0202_0202_0202;
            let high = _mm512_slli_epi64::<56>(_mm512_maddubs_epi16(weights_of_2(), more));
            let lanes = Lanes { payload: _mm512_or_si512(lanes.payload, high), ..lanes };
            store_64::<T>(values, if T::SIGNED { lanes.extended_64() } else { lanes.payload });
        }
        misfits == 0
    }
}

impl Lanes {
    /// The sign-extended payload in lanes of four bytes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn extended_32(self) -> __m512i {
        let len_less_one = _mm512_sub_epi8(self.lasts, self.offsets);
        let unused = _mm512_maskz_shuffle_epi8(0x1111_1111_1111_1111, load(&UNUSED_OF_4), len_less_one);
        _mm512_srav_epi32(_mm512_sllv_epi32(self.payload, unused), unused)
    }

    /// The sign-extended payload in lanes of eight bytes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn extended_64(self) -> __m512i {
        let len_less_one = _mm512_sub_epi8(self.lasts, self.offsets);
        let unused = _mm512_maskz_shuffle_epi8(0x0101_0101_0101_0101, load(&UNUSED_OF_8), len_less_one);
        _mm512_srav_epi64(_mm512_sllv_epi64(self.payload, unused), unused)
    }
}

/// The mask of 7-bit bytes that are above `least + span`, read as numbers from `least` (at most 0) up.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn not_in(bytes: __m512i, least: i8, span: i8) -> u64 {
    let above = _mm512_sub_epi8(bytes, _mm512_set1_epi8(least));
    _mm512_cmpgt_epu8_mask(_mm512_and_si512(above, _mm512_set1_epi8(0x7f)), _mm512_set1_epi8(span))
}

/// The weights of the bytes of a pair: 1 and 128.
#[inline]
#[target_feature(enable = "avx512f")]
fn weights_of_2() -> __m512i {
    _mm512_set1_epi16(0x8001_u16.cast_signed())
}

/// Joins the payload bits of each four bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn pack28(bytes: __m512i) -> __m512i {
    let payload = _mm512_and_si512(bytes, _mm512_set1_epi8(0x7f));
    // The weights come first: the instruction takes unsigned and signed bytes, and 128 fits only the former.
    let pairs = _mm512_maddubs_epi16(weights_of_2(), payload);
    _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x4000_0001))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: the array has the vector's 64 bytes.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

/// Stores sixteen 32-bit values as values of `T`, of 32 or 64 bits.
#[inline]
#[target_feature(enable = "avx512f")]
fn store_32<T: Integer>(values: &mut [T; 16], vector: __m512i) {
    const { assert!(size_of::<T>() == 4 || size_of::<T>() == 8) }
    if size_of::<T>() == 4 {
        // SAFETY: sixteen values of four bytes are the vector's 64.
        return unsafe { _mm512_storeu_si512(values.as_mut_ptr().cast(), vector) };
    }
    let (low, high) = (_mm512_castsi512_si256(vector), _mm512_extracti64x4_epi64::<1>(vector));
    let [low, high] = if T::SIGNED {
        [_mm512_cvtepi32_epi64(low), _mm512_cvtepi32_epi64(high)]
    } else {
        [_mm512_cvtepu32_epi64(low), _mm512_cvtepu32_epi64(high)]
    };
    if let [first, second] = values.as_chunks_mut().0 {
        store_64(first, low);
        store_64(second, high);
    }
}

/// Stores eight 64-bit values; does nothing for 32-bit types, which are never in such vectors.
#[inline]
#[target_feature(enable = "avx512f")]
fn store_64<T: Integer>(values: &mut [T; 8], vector: __m512i) {
    if size_of::<T>() == 8 {
        // SAFETY: eight values of eight bytes are the vector's 64.
        unsafe { _mm512_storeu_si512(values.as_mut_ptr().cast(), vector) }
    }
}
