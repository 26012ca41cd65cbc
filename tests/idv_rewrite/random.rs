//! SplitMix64, as in the ML.NET driver.

pub(crate) struct Rng(u64);

const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Rng {
    /// An independent generator for item `index` of the stream `seed`.
    pub(crate) fn new(seed: u64, index: u64) -> Self {
        Self(mix(seed.wrapping_add(STEP)) ^ mix(index.wrapping_mul(STEP).wrapping_add(1)))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// A number below `n`; `n` must not be 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        let drawn = (self.next() >> 33) % (n as u64).max(1);
        usize::try_from(drawn).unwrap_or(0)
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// True once in `n` calls, on average.
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T], default: T) -> T {
        from.get(self.below(from.len())).copied().unwrap_or(default)
    }

    /// Any number; a third of the calls return an edge case of some width.
    pub(crate) fn edgy(&mut self) -> u64 {
        const EDGES: [u64; 12] = [
            0,
            1,
            u64::MAX,
            0x7F,
            0x80,
            0x7FFF,
            0x8000,
            0x7FFF_FFFF,
            0x8000_0000,
            0x7FFF_FFFF_FFFF_FFFF,
            0x8000_0000_0000_0000,
            (1 << 53) + 1,
        ];
        if self.one_in(3) { self.pick(&EDGES, 0) } else { self.next() }
    }
}
