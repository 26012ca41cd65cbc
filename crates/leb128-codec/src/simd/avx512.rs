//! The kernel for processors with AVX-512 and its byte permutations (VBMI, VBMI2): Intel since Ice Lake, AMD since Zen 4.
//!
//! Values are taken apart in groups, a lane of four or eight bytes for each. Two compressions of the numbers 0 to 63,
//! by the masks of first and of last bytes, say where the values begin and end; a byte permutation brings the bytes of
//! each to its lane; two multiplications with addition put the payload bits together. Bytes that a lane has no room for
//! are brought to it by a second permutation.

use core::arch::x86_64::{
    __m512i, _mm512_add_epi8, _mm512_and_si512, _mm512_castsi512_si256, _mm512_cmpgt_epu8_mask, _mm512_cmple_epu8_mask,
    _mm512_cvtepi32_epi64, _mm512_cvtepu32_epi64, _mm512_extracti64x4_epi64, _mm512_loadu_si512, _mm512_madd_epi16,
    _mm512_maddubs_epi16, _mm512_mask_cmple_epu8_mask, _mm512_maskz_compress_epi8, _mm512_maskz_permutexvar_epi8,
    _mm512_maskz_shuffle_epi8, _mm512_movepi8_mask, _mm512_or_si512, _mm512_permutexvar_epi8, _mm512_set1_epi8,
    _mm512_set1_epi16, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_slli_epi32, _mm512_slli_epi64, _mm512_sllv_epi32,
    _mm512_sllv_epi64, _mm512_srav_epi32, _mm512_srav_epi64, _mm512_srli_epi64, _mm512_storeu_si512, _mm512_sub_epi8,
    _mm512_ternarylogic_epi64,
};

use super::features::has;
use crate::bulk::done::Done;
use crate::bulk::portable::{Runs, one_byte_each};
use crate::bulk::{ROOM, drive, portable};
use crate::integer::Integer;

/// The kernel, on a processor that has what it needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernel(());

impl Kernel {
    /// The kernel, if the processor has what it needs.
    pub(crate) fn new() -> Option<Self> {
        has!("avx512f", "avx512bw", "avx512vbmi", "avx512vbmi2", "bmi1", "bmi2", "lzcnt", "popcnt").then_some(Self(()))
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

#[target_feature(enable = "avx512f,avx512bw")]
fn count(bytes: &[u8]) -> usize {
    portable::count(bytes)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt")]
fn run<T: Integer>(input: &[u8], out: &mut [T]) -> Done {
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
        let found = Found::new(bytes, ends);
        let good = if runs.four == 0 {
            found.up_to_four(values)
        } else if T::BITS == 32 {
            found.up_to_five(values)
        } else if runs.eight == 0 {
            found.up_to_eight(values)
        } else {
            found.up_to_ten(values)
        };
        good.then_some(ends)
    })
}

/// The bytes 0, 1, 2 ...
static PLACES: [u8; 64] = bytes::<1, 64>();
/// For lanes of four bytes, then of eight: the lane's number, and the byte's number in its lane.
static LANE_OF_4: [u8; 64] = bytes::<4, 64>();
static BYTE_OF_4: [u8; 64] = bytes::<1, 4>();
static LANE_OF_8: [u8; 64] = bytes::<8, 64>();
static BYTE_OF_8: [u8; 64] = bytes::<1, 8>();

/// By how many bits a value must be moved up so that its sign is the lane's, by the value's length less one.
static UNUSED_OF_4: [u8; 64] = unused(32);
static UNUSED_OF_8: [u8; 64] = unused(64);

/// Byte `i` is `i / D % M`.
#[expect(clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "runs in the compiler; all below 65")]
const fn bytes<const D: usize, const M: usize>() -> [u8; 64] {
    let mut table = [0; 64];
    let mut at = 0;
    while at < table.len() {
        table[at] = (at / D % M) as u8;
        at += 1;
    }
    table
}

/// The same sixteen bytes for each of the four parts of a vector.
#[expect(clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "runs in the compiler; all below 65")]
const fn unused(bits: usize) -> [u8; 64] {
    let mut table = [0; 64];
    let mut at = 0;
    while at < table.len() {
        table[at] = bits.saturating_sub(7 * (at % 16 + 1)) as u8;
        at += 1;
    }
    table
}

/// A window and where its values are.
#[derive(Clone, Copy)]
struct Found {
    bytes: __m512i,
    /// Where the value of this number begins, and where it ends: one byte each.
    firsts: __m512i,
    lasts: __m512i,
    count: usize,
}

/// The values of one group, each in a lane.
#[derive(Clone, Copy)]
struct Lanes {
    /// Where in the window the lane's byte comes from, if its value has so many.
    places: __m512i,
    /// Where the lane's value ends, in each byte of the lane.
    lasts: __m512i,
    /// The payload bits put together, not extended by the sign.
    payload: __m512i,
}

impl Found {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
    fn new(bytes: __m512i, ends: u64) -> Self {
        let places = load(&PLACES);
        Self {
            bytes,
            firsts: _mm512_maskz_compress_epi8(ends << 1 | 1, places),
            lasts: _mm512_maskz_compress_epi8(ends, places),
            count: ends.count_ones() as usize,
        }
    }

    /// The values whose numbers are in `lane`, sixteen of them in lanes of four bytes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
    fn lanes_of_4(self, lane: __m512i) -> Lanes {
        let places = _mm512_add_epi8(_mm512_permutexvar_epi8(lane, self.firsts), load(&BYTE_OF_4));
        let lasts = _mm512_permutexvar_epi8(lane, self.lasts);
        let own = _mm512_cmple_epu8_mask(places, lasts);
        let bytes = _mm512_maskz_permutexvar_epi8(own, places, self.bytes);
        Lanes { places, lasts, payload: pack28(bytes) }
    }

    /// The values whose numbers are in `lane`, eight of them in lanes of eight bytes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
    fn lanes_of_8(self, lane: __m512i) -> Lanes {
        let places = _mm512_add_epi8(_mm512_permutexvar_epi8(lane, self.firsts), load(&BYTE_OF_8));
        let lasts = _mm512_permutexvar_epi8(lane, self.lasts);
        let own = _mm512_cmple_epu8_mask(places, lasts);
        let halves = pack28(_mm512_maskz_permutexvar_epi8(own, places, self.bytes));
        // The low 28 bits stay, the others move down to them: `a ? b : c` bit by bit.
        let low = _mm512_set1_epi64(0x0fff_ffff);
        let payload = _mm512_ternarylogic_epi64::<0xca>(low, halves, _mm512_srli_epi64::<4>(halves));
        Lanes { places, lasts, payload }
    }

    /// Bytes `distance` behind those of the lanes, at the places in `mask`: zeros where the value has no such byte.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
    fn behind(self, lanes: Lanes, mask: u64, distance: i8) -> __m512i {
        let places = _mm512_add_epi8(lanes.places, _mm512_set1_epi8(distance));
        let own = _mm512_mask_cmple_epu8_mask(mask, places, lanes.lasts);
        let bytes = _mm512_maskz_permutexvar_epi8(own, places, self.bytes);
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
            let fifth = self.behind(lanes, 0x1111_1111_1111_1111, 4);
            // Four bits of it belong to the value; of a signed one, the other three are as its sign.
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
            let more = self.behind(lanes, 0x0303_0303_0303_0303, 8);
            // One bit of the tenth byte belongs to the value; of a signed one, the other six are as that bit.
            misfits |= not_in(more, if T::SIGNED { -1 } else { 0 }, 1) & 0x0202_0202_0202_0202;
            let high = _mm512_slli_epi64::<56>(_mm512_maddubs_epi16(weights_of_2(), more));
            let lanes = Lanes { payload: _mm512_or_si512(lanes.payload, high), ..lanes };
            store_64::<T>(values, if T::SIGNED { lanes.extended_64() } else { lanes.payload });
        }
        misfits == 0
    }
}

impl Lanes {
    /// The payload extended by its sign, in lanes of four bytes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn extended_32(self) -> __m512i {
        let len_less_one = _mm512_sub_epi8(self.lasts, self.places);
        let unused = _mm512_maskz_shuffle_epi8(0x1111_1111_1111_1111, load(&UNUSED_OF_4), len_less_one);
        _mm512_srav_epi32(_mm512_sllv_epi32(self.payload, unused), unused)
    }

    /// The payload extended by its sign, in lanes of eight bytes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn extended_64(self) -> __m512i {
        let len_less_one = _mm512_sub_epi8(self.lasts, self.places);
        let unused = _mm512_maskz_shuffle_epi8(0x0101_0101_0101_0101, load(&UNUSED_OF_8), len_less_one);
        _mm512_srav_epi64(_mm512_sllv_epi64(self.payload, unused), unused)
    }
}

/// Which bytes of seven bits, read as numbers that begin at `least` (at most 0), are above `least + span`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn not_in(bytes: __m512i, least: i8, span: i8) -> u64 {
    let above = _mm512_sub_epi8(bytes, _mm512_set1_epi8(least));
    _mm512_cmpgt_epu8_mask(_mm512_and_si512(above, _mm512_set1_epi8(0x7f)), _mm512_set1_epi8(span))
}

/// What the bytes of a pair count.
#[inline]
#[target_feature(enable = "avx512f")]
fn weights_of_2() -> __m512i {
    _mm512_set1_epi16(0x8001_u16.cast_signed())
}

/// Puts the payload bits of each four bytes together.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn pack28(bytes: __m512i) -> __m512i {
    let payload = _mm512_and_si512(bytes, _mm512_set1_epi8(0x7f));
    // The weights go first: the instruction takes unsigned and signed bytes, and 128 is no signed one.
    let pairs = _mm512_maddubs_epi16(weights_of_2(), payload);
    _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x4000_0001))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: the array has the vector's 64 bytes.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

/// Stores sixteen values of 32 bits as values of `T`, of 32 or 64 bits.
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

/// Stores eight values of 64 bits; does nothing for types of 32 bits, of which no kernel makes such vectors.
#[inline]
#[target_feature(enable = "avx512f")]
fn store_64<T: Integer>(values: &mut [T; 8], vector: __m512i) {
    if size_of::<T>() == 8 {
        // SAFETY: eight values of eight bytes are the vector's 64.
        unsafe { _mm512_storeu_si512(values.as_mut_ptr().cast(), vector) }
    }
}
