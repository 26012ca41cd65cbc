//! The compression function. Its speed depends on hiding algebra from the compiler.
//!
//! The steps form one dependency chain: each needs the result `b` of the previous one. What counts is the number of operations between the
//! old `b` and the new one. With every sum that does not need `b` computed early, these are and, xor, add, rotate, add in the first round;
//! and, add, rotate, add in the second (its two halves share no bits, so they can be added one after the other, the half without `b`
//! first); xor, add, rotate, add in the third; or, xor, add, rotate, add in the last. LLVM knows that such sums can be reordered and
//! disjoint halves combined, and does both, which makes the chain longer by a quarter. [`Opaque`] prevents that.

use byteorder::{ByteOrder, LittleEndian};

/// A zero that the optimizer treats as unknown: what has passed through it is not recombined with what follows. If the optimizer saw
/// through it, only speed would suffer.
#[derive(Clone, Copy)]
struct Opaque(u32);

impl Opaque {
    #[inline(always)]
    fn new() -> Self {
        Self(core::hint::black_box(0))
    }

    /// `x`, to be computed before it is used in an addition.
    #[inline(always)]
    fn barrier(self, x: u32) -> u32 {
        x ^ self.0
    }

    /// `x`, to be computed before it is used in a xor.
    #[inline(always)]
    fn barrier_for_xor(self, x: u32) -> u32 {
        x.wrapping_add(self.0)
    }
}

// The round functions added to `sum`; early operands on the left, those that wait for `b` on the right.

#[inline(always)]
fn first(opaque: Opaque, sum: u32, b: u32, c: u32, d: u32) -> u32 {
    opaque.barrier(sum).wrapping_add(d ^ (b & (c ^ d)))
}

#[inline(always)]
fn second(opaque: Opaque, sum: u32, b: u32, c: u32, d: u32) -> u32 {
    opaque.barrier(sum.wrapping_add(c & !d)).wrapping_add(b & d)
}

#[inline(always)]
fn third(opaque: Opaque, sum: u32, b: u32, c: u32, d: u32) -> u32 {
    opaque.barrier(sum).wrapping_add(b ^ opaque.barrier_for_xor(c ^ d))
}

#[inline(always)]
fn fourth(opaque: Opaque, sum: u32, b: u32, c: u32, d: u32) -> u32 {
    opaque.barrier(sum).wrapping_add(c ^ (b | !d))
}

/// The constants of RFC 1321: the integer part of 2^32 |sin(i + 1)|, four rounds of 16.
#[rustfmt::skip]
pub(super) const SINES: [u32; 64] = [
    0xd76a_a478, 0xe8c7_b756, 0x2420_70db, 0xc1bd_ceee, 0xf57c_0faf, 0x4787_c62a, 0xa830_4613, 0xfd46_9501,
    0x6980_98d8, 0x8b44_f7af, 0xffff_5bb1, 0x895c_d7be, 0x6b90_1122, 0xfd98_7193, 0xa679_438e, 0x49b4_0821,
    0xf61e_2562, 0xc040_b340, 0x265e_5a51, 0xe9b6_c7aa, 0xd62f_105d, 0x0244_1453, 0xd8a1_e681, 0xe7d3_fbc8,
    0x21e1_cde6, 0xc337_07d6, 0xf4d5_0d87, 0x455a_14ed, 0xa9e3_e905, 0xfcef_a3f8, 0x676f_02d9, 0x8d2a_4c8a,
    0xfffa_3942, 0x8771_f681, 0x6d9d_6122, 0xfde5_380c, 0xa4be_ea44, 0x4bde_cfa9, 0xf6bb_4b60, 0xbebf_bc70,
    0x289b_7ec6, 0xeaa1_27fa, 0xd4ef_3085, 0x0488_1d05, 0xd9d4_d039, 0xe6db_99e5, 0x1fa2_7cf8, 0xc4ac_5665,
    0xf429_2244, 0x432a_ff97, 0xab94_23a7, 0xfc93_a039, 0x655b_59c3, 0x8f0c_cc92, 0xffef_f47d, 0x8584_5dd1,
    0x6fa8_7e4f, 0xfe2c_e6e0, 0xa301_4314, 0x4e08_11a1, 0xf753_7e82, 0xbd3a_f235, 0x2ad7_d2bb, 0xeb86_d391,
];

/// Compresses whole blocks into the state.
pub(super) fn compress(state: &mut [u32; 4], blocks: &[[u8; 64]]) {
    compress_lanes([state], [blocks]);
}

/// Compresses blocks of several streams into their states, as many of each as the shortest has. The streams do not depend on each other, so
/// that their operations overlap: two streams take little longer than one.
#[inline]
#[expect(clippy::indexing_slicing, reason = "lanes and blocks are in bounds")]
#[expect(clippy::needless_range_loop, reason = "the blocks are those of all lanes")]
pub(super) fn compress_lanes<const N: usize>(states: [&mut [u32; 4]; N], blocks: [&[[u8; 64]]; N]) {
    let opaque = Opaque::new();
    let [mut a, mut b, mut c, mut d] =
        [0, 1, 2, 3].map(|word| core::array::from_fn::<_, N, _>(|lane| states[lane][word]));
    let count = blocks.iter().map(|blocks| blocks.len()).min().unwrap_or(0);
    for at in 0..count {
        let mut words = [[0u32; 16]; N];
        for lane in 0..N {
            LittleEndian::read_u32_into(&blocks[lane][at], &mut words[lane]);
        }
        let (a0, b0, c0, d0) = (a, b, c, d);
        // One step: the round function, the rotated state, the index of the step, its word, its rotation.
        macro_rules! step {
            ($round:ident, $a:ident $b:ident $c:ident $d:ident, $i:expr, $word:expr, $rotation:expr) => {
                for lane in 0..N {
                    let sum = $a[lane].wrapping_add(words[lane][$word % 16]).wrapping_add(SINES[$i]);
                    let rotated = $round(opaque, sum, $b[lane], $c[lane], $d[lane]).rotate_left($rotation);
                    $a[lane] = $b[lane].wrapping_add(rotated);
                }
            };
        }
        // Four steps, after which the state is back in its original rotation.
        macro_rules! four {
            ($round:ident, $i:expr, $word:expr, $stride:expr, $rotations:expr) => {
                step!($round, a b c d, $i, $word, $rotations[0]);
                step!($round, d a b c, $i + 1, $word + $stride, $rotations[1]);
                step!($round, c d a b, $i + 2, $word + 2 * $stride, $rotations[2]);
                step!($round, b c d a, $i + 3, $word + 3 * $stride, $rotations[3]);
            };
        }
        macro_rules! round {
            ($round:ident, $i:expr, $word:expr, $stride:expr, $rotations:expr) => {
                four!($round, $i, $word, $stride, $rotations);
                four!($round, $i + 4, $word + 4 * $stride, $stride, $rotations);
                four!($round, $i + 8, $word + 8 * $stride, $stride, $rotations);
                four!($round, $i + 12, $word + 12 * $stride, $stride, $rotations);
            };
        }
        round!(first, 0, 0, 1, [7, 12, 17, 22]);
        round!(second, 16, 1, 5, [5, 9, 14, 20]);
        round!(third, 32, 5, 3, [4, 11, 16, 23]);
        round!(fourth, 48, 0, 7, [6, 10, 15, 21]);
        for lane in 0..N {
            a[lane] = a[lane].wrapping_add(a0[lane]);
            b[lane] = b[lane].wrapping_add(b0[lane]);
            c[lane] = c[lane].wrapping_add(c0[lane]);
            d[lane] = d[lane].wrapping_add(d0[lane]);
        }
    }
    for (lane, state) in states.into_iter().enumerate() {
        *state = [a[lane], b[lane], c[lane], d[lane]];
    }
}
