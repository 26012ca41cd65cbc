//! Keys that are hashed side by side.

/// The first 16 bytes of a key's BLAKE2s-256 digest, as two big-endian numbers.
pub type Digest = [u64; 2];

/// Bytes of a block.
pub(crate) const BLOCK: usize = 64;

/// Keys of a group.
pub(crate) const LANES: usize = 16;

/// Keys that are hashed side by side.
pub(crate) struct Group<'a> {
    pub(crate) keys: [&'a [u8]; LANES],
}

/// What a key has to do with a block.
pub(crate) struct Turn<'a> {
    /// Its bytes in it; the block is filled up with zeros.
    pub(crate) bytes: &'a [u8],
    /// Its bytes up to the end of the block.
    pub(crate) counter: u32,
    /// All ones when this is its last block.
    pub(crate) last: u32,
    /// All ones unless it has ended before.
    pub(crate) active: u32,
}

impl<'a> Group<'a> {
    /// How many blocks the longest key takes; an empty one takes one.
    #[inline(always)]
    pub(crate) fn blocks(&self) -> usize {
        let longest = self.keys.iter().fold(0, |longest, key| key.len().max(longest));
        blocks(longest)
    }

    /// Whether hashing side by side is worth it: it costs as much for each block of the longest key, whatever the others
    /// do, as about four blocks alone. Of the keys only `count` are wanted.
    #[inline(always)]
    pub(super) fn is_even(&self, count: usize) -> bool {
        const ALONE: usize = 4;
        // Some kernels count bytes in 32 bits.
        const LONGEST: usize = 1 << 30;
        let most = self.blocks();
        if most == 1 {
            return count >= ALONE;
        }
        let all = self.keys.iter().take(count).fold(0, |all: usize, key| all.saturating_add(blocks(key.len())));
        most <= LONGEST / BLOCK && all >= ALONE * most
    }

    /// A key's turn in a block, both counted from 0.
    #[inline(always)]
    pub(crate) fn block(&self, lane: usize, block: usize) -> Turn<'a> {
        let key = self.keys.get(lane).copied().unwrap_or_default();
        let (begin, end) = (block * BLOCK, (block + 1) * BLOCK);
        let bytes = key.get(begin..).unwrap_or_default();
        let bytes = bytes.get(..BLOCK).unwrap_or(bytes);
        let counter = u32::try_from(key.len().min(end)).unwrap_or(u32::MAX);
        let mask = |is: bool| if is { u32::MAX } else { 0 };
        Turn { bytes, counter, last: mask(key.len() <= end), active: mask(block == 0 || begin < key.len()) }
    }
}

fn blocks(bytes: usize) -> usize {
    bytes.div_ceil(BLOCK).max(1)
}

/// The first four words of a state as two big-endian numbers; the words are little-endian.
#[inline(always)]
pub(crate) fn pair(state: &[u32; 8]) -> Digest {
    let [a, b, c, d, ..] = state.map(|word| u64::from(word.swap_bytes()));
    [a << 32 | b, c << 32 | d]
}
