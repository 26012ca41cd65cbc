//! The bits of a compressed stream, the lowest of each byte first.

/// Reads bits in order.
#[derive(Clone, Copy)]
pub(super) struct Bits<'a> {
    input: &'a [u8],
    /// Bytes of the input that are in `word`, or were.
    at: usize,
    /// The next bits, lowest first. Above the bits that count, there are zeros or bits that do come next.
    word: u64,
    /// How many bits of the word count, in the lowest six bits; above them, anything.
    count: u32,
}

impl<'a> Bits<'a> {
    pub(super) const fn new(input: &'a [u8]) -> Self {
        Self { input, at: 0, word: 0, count: 0 }
    }

    /// Goes on at a bit counted from the start of the input, which must have it.
    pub(super) fn seek(&mut self, position: u64) -> Option<()> {
        let at = usize::try_from(position / 8).ok().filter(|&at| at <= self.input.len())?;
        *self = Self { at, ..Self::new(self.input) };
        self.take(u32::try_from(position % 8).ok()?).map(|_| ())
    }

    /// Bits read so far.
    pub(super) fn position(&self) -> u64 {
        self.at as u64 * 8 - u64::from(self.count())
    }

    /// Brings at least 56 bits into the word. `false`, with nothing done, when fewer than eight bytes are left to load.
    #[inline(always)]
    pub(super) fn refill_word(&mut self) -> bool {
        let Some(bytes) = self.input.get(self.at..).and_then(|rest| rest.first_chunk()) else { return false };
        self.word |= u64::from_le_bytes(*bytes) << (self.count & 63);
        self.at += ((63 ^ self.count) >> 3 & 7) as usize;
        self.count |= 56;
        true
    }

    /// Brings at least 56 bits into the word, or all that are left.
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

    /// How many bits of the word count: at most 63.
    #[inline(always)]
    pub(super) const fn count(&self) -> u32 {
        self.count & 63
    }

    /// Bytes loaded so far, some of them perhaps not read yet.
    #[inline(always)]
    pub(super) const fn at(&self) -> usize {
        self.at
    }

    /// Drops as many bits as the lowest six bits of `entry` say, no more than count.
    #[inline(always)]
    pub(super) const fn drop(&mut self, entry: u32) {
        self.word >>= entry & 63;
        self.count = self.count.wrapping_sub(entry);
    }

    /// The next bits, at most 32 of them. `None` when fewer are left.
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

    /// Goes on at the next whole byte and so many bytes behind it.
    pub(super) fn skip_bytes(&mut self, bytes: usize) {
        let at = self.input.len() - self.rest().len() + bytes;
        *self = Self { at, ..Self::new(self.input) };
    }
}
