//! A keyed permutation of `0..n` for any `n`, computed value by value. Its results are stable: see [`Order`](super::Order).

/// 2^64 divided by the golden ratio, made odd: the increment of SplitMix64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
/// The multipliers of the finalizer of SplitMix64.
const MIX_1: u64 = 0xbf58_476d_1ce4_e5b9;
const MIX_2: u64 = 0x94d0_49bb_1331_11eb;

/// Rounds of the Feistel network; `ROUNDS_LONG` for more than `SHORT` values. Short permutations mix slowly: with 8 rounds, differences of
/// neighbors show at 65 values; with 10, none of the tests detects anything.
const ROUNDS: usize = 12;
const ROUNDS_LONG: usize = 8;
const SHORT: u64 = 4096;
/// Up to this length a permutation is made of swaps: the network's halves have too few values to mix well.
pub(super) const SWAPS: u64 = 32;

/// The finalizer of SplitMix64, a bijection of 64 bits.
#[inline]
const fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(MIX_1);
    let x = (x ^ (x >> 27)).wrapping_mul(MIX_2);
    x ^ (x >> 31)
}

/// The number `i` (from 0) of a key's sequence.
#[inline]
const fn draw(key: u64, i: u64) -> u64 {
    mix(key.wrapping_add(i.wrapping_add(1).wrapping_mul(GOLDEN)))
}

/// The upper half of a product: a random 64-bit `x` scaled to `0..n`.
#[inline]
pub(super) const fn scale(x: u64, n: u64) -> u64 {
    ((x as u128 * n as u128) >> 64) as u64 // the upper half of 128 bits
}

/// The purpose of a permutation: the same seed gives unrelated ones.
#[derive(Debug, Clone, Copy)]
pub(super) enum Purpose {
    Shuffle = 1,
    Turn = 2,
    Chunks = 3,
    Window = 4,
}

/// The key for a purpose in an epoch; `part` distinguishes several of them.
#[inline]
pub(super) const fn key(seed: u64, purpose: Purpose, epoch: u64, part: u64) -> u64 {
    let key = draw(seed, purpose as u64);
    let key = draw(key ^ epoch, 0);
    draw(key ^ part, 0)
}

/// A permutation of `0..n`.
#[derive(Debug, Clone)]
pub(super) struct Permutation {
    n: u64,
    key: u64,
    /// Bits of the right half; the left half is below `left`.
    bits: u32,
    left: u64,
    rounds: [u64; ROUNDS],
}

impl Permutation {
    /// `n` must not be 0 if it is applied.
    #[inline]
    pub(super) fn new(key: u64, n: u64) -> Self {
        let last = n.saturating_sub(1);
        let bits = (u64::BITS - last.leading_zeros()).div_ceil(2);
        let mut rounds = [0; ROUNDS];
        if n > SWAPS {
            for (round, i) in rounds.iter_mut().zip(0..) {
                *round = draw(key, i);
            }
        }
        Self { n, key, bits, left: (last >> bits) + 1, rounds }
    }

    /// The image of `x`, which must be below `n`.
    #[inline]
    pub(super) fn apply(&self, x: u64) -> u64 {
        let [x] = self.apply_all([x]);
        x
    }

    /// The images of several values. Takes little longer than one, which is bound by latency.
    #[inline]
    pub(super) fn apply_all<const N: usize>(&self, x: [u64; N]) -> [u64; N] {
        debug_assert!(x.iter().all(|&x| x < self.n), "{x:?} of {}", self.n);
        if self.n <= SWAPS {
            return x.map(|x| self.swaps(x));
        }
        // Cycle walking: values outside 0..n are mapped again until they are inside, which is again a bijection of 0..n. Fewer than one in
        // sqrt(n) / 2 is outside.
        self.network(x).map(|x| {
            let mut x = x;
            while x >= self.n {
                [x] = self.network([x]);
            }
            x
        })
    }

    /// Swaps `i` with a random index up to `i`, for every `i` (Fisher-Yates): all permutations are equally likely.
    fn swaps(&self, mut x: u64) -> u64 {
        for i in 1..self.n {
            let j = scale(draw(self.key, i), i + 1);
            x = if x == i {
                j
            } else if x == j {
                i
            } else {
                x
            };
        }
        x
    }

    /// A Feistel network with halves modulo `left` and modulo `2^bits`.
    #[inline]
    fn network<const N: usize>(&self, x: [u64; N]) -> [u64; N] {
        let mask = (1 << self.bits) - 1;
        let down = u64::BITS - self.bits;
        let count = if self.n <= SHORT { ROUNDS } else { ROUNDS_LONG };
        let (pairs, _) = self.rounds.as_chunks();
        let mut halves = x.map(|x| (x >> self.bits, x & mask));
        // Left half first: neighbors differ in the right half.
        for &[even, odd] in pairs.iter().take(count / 2) {
            for (left, right) in &mut halves {
                *left += scale(scramble(*right ^ even), self.left);
                *left -= if *left >= self.left { self.left } else { 0 };
                *right = right.wrapping_add(scramble(*left ^ odd) >> down) & mask;
            }
        }
        halves.map(|(left, right)| left << self.bits | right)
    }
}

/// The round function: the upper half of the result depends on all bits of `x`.
#[inline]
const fn scramble(x: u64) -> u64 {
    let x = x.wrapping_mul(MIX_1);
    (x ^ (x >> 32)).wrapping_mul(MIX_2)
}
