//! The bits of a compressed stream, least significant bit of a byte first.

/// Reads bits in order.
#[derive(Clone, Copy)]
pub(super) struct Bits<'a> {
    input: &'a [u8],
    /// Bytes of the input loaded into `word` so far.
    at: usize,
    /// The next bits, lowest first. Above the `count` valid ones are zeros, or the bits that follow them.
    word: u64,
    /// The number of valid bits, in the lowest six bits; the others are unspecified.
    count: u32,
}

impl<'a> Bits<'a> {
    pub(super) const fn new(input: &'a [u8]) -> Self {
        Self { input, at: 0, word: 0, count: 0 }
    }

    /// Moves to a bit offset in the input. `None` if that is past the end.
    pub(super) fn seek(&mut self, position: u64) -> Option<()> {
        let at = usize::try_from(position / 8).ok().filter(|&at| at <= self.input.len())?;
        *self = Self { at, ..Self::new(self.input) };
        self.take(u32::try_from(position % 8).ok()?).map(|_| ())
    }

    /// Bits read so far.
    pub(super) fn position(&self) -> u64 {
        self.at as u64 * 8 - u64::from(self.count())
    }

    /// Loads at least 56 bits into the word. Returns `false`, and does nothing, if fewer than eight bytes are left.
    #[inline(always)]
    pub(super) fn refill_word(&mut self) -> bool {
        let Some(bytes) = self.input.get(self.at..).and_then(|rest| rest.first_chunk()) else { return false };
        self.word |= u64::from_le_bytes(*bytes) << (self.count & 63);
        self.at += ((63 ^ self.count) >> 3 & 7) as usize;
        self.count |= 56;
        true
    }

    /// Loads at least 56 bits into the word, or all that are left.
    #[inline(always)]
    pub(super) fn refill(&mut self) {
        if !self.refill_word() {
            self.refill_bytes();
        }
    }

    #[cold]
    #[inline(never)]
    fn refill_bytes(&mut self) {
        self.count &= 63;
        while self.count < 56
            && let Some(&byte) = self.input.get(self.at)
        {
            self.word |= u64::from(byte) << self.count;
            self.at += 1;
            self.count += 8;
        }
    }

    #[inline(always)]
    pub(super) const fn word(&self) -> u64 {
        self.word
    }

    /// The number of valid bits in the word: at most 63.
    #[inline(always)]
    pub(super) const fn count(&self) -> u32 {
        self.count & 63
    }

    /// Bytes loaded so far, including those not read yet.
    #[inline(always)]
    pub(super) const fn at(&self) -> usize {
        self.at
    }

    /// Drops the number of bits in the lowest six bits of `entry`, at most [`count`](Self::count).
    #[inline(always)]
    pub(super) const fn drop(&mut self, entry: u32) {
        self.word >>= entry & 63;
        self.count = self.count.wrapping_sub(entry);
    }

    /// Reads at most 32 bits. `None` if fewer are left.
    pub(super) fn take(&mut self, bits: u32) -> Option<u32> {
        self.refill();
        self.count().checked_sub(bits)?;
        let taken = self.word & ((1 << bits) - 1);
        self.drop(bits);
        u32::try_from(taken).ok()
    }

    pub(super) const fn input(&self) -> &'a [u8] {
        self.input
    }

    /// The input from the next whole byte on.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.input.get(self.at - self.count() as usize / 8..).unwrap_or_default()
    }

    /// Moves to the next whole byte and skips `bytes` more.
    pub(super) fn skip_bytes(&mut self, bytes: usize) {
        let at = self.input.len() - self.rest().len() + bytes;
        *self = Self { at, ..Self::new(self.input) };
    }
}
