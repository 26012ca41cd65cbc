//! The integers that are encoded and decoded: types and named distributions.

use crate::harness::Options;

/// Values per run: too many for a branch predictor to memorize.
const VALUES: usize = 1 << 16;
const VALUES_SMOKE: usize = 1 << 10;

/// The number of values per run.
pub(crate) fn count(options: &Options) -> usize {
    if options.smoke() { VALUES_SMOKE } else { VALUES }
}

/// The integer types measured.
pub(crate) trait Int: leb128_codec::Integer + TryFrom<u64> + Into<u64> {
    const NAME: &'static str;
}

impl Int for u32 {
    const NAME: &'static str = "u32";
}

impl Int for u64 {
    const NAME: &'static str = "u64";
}

/// A splitmix64 generator.
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A value of `T` whose encoding has `len` bytes.
    fn of_len<T: Int>(&mut self, len: u32) -> T {
        let low = if len == 1 { 0 } else { 1_u64 << (7 * (len - 1)) };
        let bits = (7 * len).min(T::BITS);
        let high = 1_u64.checked_shl(bits).unwrap_or(0).wrapping_sub(1);
        let value = low + self.next() % (high - low + 1).max(1);
        T::try_from(value).ok().expect("drawn to fit")
    }

    fn any<T: Int>(&mut self) -> T {
        let value = self.next() >> (64 - T::BITS);
        T::try_from(value).ok().expect("shifted to fit")
    }
}

/// A distribution: its name and how to draw a value from it.
pub(crate) type Pattern<T> = (&'static str, fn(&mut Draw) -> T);

/// The distributions measured.
pub(crate) fn patterns<T: Int>() -> [Pattern<T>; 4] {
    [
        ("one-byte", |draw| draw.of_len(1)),
        ("90-9-1", |draw| match draw.next() % 100 {
            0..90 => draw.of_len(1),
            90..99 => draw.of_len(2),
            _ => draw.of_len(3),
        }),
        ("mixed-1-5", |draw| {
            let len = draw.next() % 5;
            draw.of_len([1, 2, 3, 4, 5][len as usize])
        }),
        ("random", Draw::any),
    ]
}
