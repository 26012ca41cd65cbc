//! Writing bits, least significant bit of a byte first.

/// Bytes written at a time; those after the last bit are overwritten later.
const SLACK: usize = 16;

/// Appends bits to a vector of bytes.
pub(super) struct Writer<'a> {
    out: &'a mut Vec<u8>,
    /// Complete bytes of `out`. Reserved room may follow.
    at: usize,
    /// Bits of an incomplete byte.
    word: u64,
    count: u32,
}

impl<'a> Writer<'a> {
    pub(super) const fn new(out: &'a mut Vec<u8>) -> Self {
        let at = out.len();
        Self { out, at, word: 0, count: 0 }
    }

    /// Reserves room for `bits` bits.
    pub(super) fn room(&mut self, bits: u64) -> Room<'_> {
        let bytes = usize::try_from(bits / 8).unwrap_or(usize::MAX);
        let end = self.at.saturating_add(bytes).saturating_add(SLACK);
        if self.out.len() < end {
            self.out.resize(end, 0);
        }
        Room {
            bytes: self.out.get_mut(self.at..).unwrap_or_default(),
            made: 0,
            word: self.word,
            count: self.count,
            writer: (&mut self.at, &mut self.word, &mut self.count),
        }
    }

    /// Pads the last byte with zeros.
    pub(super) fn align(&mut self) {
        let mut room = self.room(8);
        room.count = (room.count + 7) & !7;
        room.flush();
        room.done();
    }

    /// Appends whole bytes; the writer must be aligned.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.out.truncate(self.at);
        self.out.extend_from_slice(bytes);
        self.at = self.out.len();
    }

    /// Aligns, and truncates the unused room.
    pub(super) fn finish(mut self) {
        self.align();
        self.out.truncate(self.at);
    }
}

/// Reserved room for bits.
pub(super) struct Room<'a> {
    bytes: &'a mut [u8],
    made: usize,
    word: u64,
    count: u32,
    writer: (&'a mut usize, &'a mut u64, &'a mut u32),
}

impl Room<'_> {
    /// Adds bits, lowest first; the bits above must be zero. At most 56 may be added between two flushes.
    #[inline(always)]
    pub(super) const fn put(&mut self, bits: u64, count: u32) {
        self.word |= bits << (self.count & 63);
        self.count += count;
    }

    /// Writes the complete bytes.
    #[inline(always)]
    pub(super) fn flush(&mut self) {
        if let Some(bytes) = self.bytes.get_mut(self.made..).and_then(<[u8]>::first_chunk_mut) {
            *bytes = self.word.to_le_bytes();
        }
        // There are at most 63 bits, so the shift is below 64.
        self.word >>= self.count & 56;
        self.made += (self.count >> 3) as usize;
        self.count &= 7;
    }

    /// Adds and writes.
    #[inline(always)]
    pub(super) fn push(&mut self, bits: u64, count: u32) {
        self.put(bits, count);
        self.flush();
    }

    /// Returns the state to the writer.
    pub(super) fn done(mut self) {
        self.flush();
        *self.writer.0 += self.made;
        (*self.writer.1, *self.writer.2) = (self.word, self.count);
    }
}
