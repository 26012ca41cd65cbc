//! Groups of keys that are hashed side by side.

/// The first 16 bytes of a key's BLAKE2s-256 digest, as two big-endian numbers.
pub type Digest = [u64; 2];

/// Bytes per block.
pub(crate) const BLOCK: usize = 64;

/// Keys per group.
pub(crate) const LANES: usize = 16;

/// Keys that are hashed side by side; missing ones are empty.
pub(crate) struct Group<'a> {
    pub(crate) keys: [&'a [u8]; LANES],
}

/// A key's input to one block.
pub(crate) struct BlockInput<'a> {
    /// The key's bytes in the block, to be padded with zeros.
    pub(crate) bytes: &'a [u8],
    /// The number of the key's bytes up to the end of the block.
    pub(crate) counter: u32,
    /// All ones if this is the key's last block.
    pub(crate) last: u32,
    /// All ones unless the key ended in an earlier block.
    pub(crate) active: u32,
}

impl<'a> Group<'a> {
    /// The number of blocks of the longest key; an empty key takes one.
    #[inline(always)]
    pub(crate) fn blocks(&self) -> usize {
        let longest = self.keys.iter().fold(0, |longest, key| key.len().max(longest));
        blocks(longest)
    }

    /// Whether hashing the first `count` keys side by side is faster than one by one. Per block of the longest key, it costs
    /// about four single blocks, however short the others are.
    #[inline(always)]
    pub(super) fn is_worth_it(&self, count: usize) -> bool {
        const COST: usize = 4;
        // Kernels count bytes in 32 bits.
        const MAX_BYTES: usize = 1 << 30;
        let most = self.blocks();
        if most == 1 {
            return count >= COST;
        }
        let all = self.keys.iter().take(count).fold(0, |all: usize, key| all.saturating_add(blocks(key.len())));
        most <= MAX_BYTES / BLOCK && all >= COST * most
    }

    /// A key's input to a block, both counted from 0.
    #[inline(always)]
    pub(crate) fn block(&self, lane: usize, block: usize) -> BlockInput<'a> {
        let key = self.keys.get(lane).copied().unwrap_or_default();
        let (begin, end) = (block * BLOCK, (block + 1) * BLOCK);
        let bytes = key.get(begin..).unwrap_or_default();
        let bytes = bytes.get(..BLOCK).unwrap_or(bytes);
        let counter = u32::try_from(key.len().min(end)).unwrap_or(u32::MAX);
        let mask = |is: bool| if is { u32::MAX } else { 0 };
        BlockInput { bytes, counter, last: mask(key.len() <= end), active: mask(block == 0 || begin < key.len()) }
    }
}

fn blocks(bytes: usize) -> usize {
    bytes.div_ceil(BLOCK).max(1)
}

/// The first 16 bytes of a state, whose words are little-endian, as two big-endian numbers.
#[inline(always)]
pub(crate) fn pair(state: &[u32; 8]) -> Digest {
    let [a, b, c, d, ..] = *state;
    let number = |high: u32, low: u32| u64::from(high.swap_bytes()) << 32 | u64::from(low.swap_bytes());
    [number(a, b), number(c, d)]
}
