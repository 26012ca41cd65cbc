//! The decoding tables of a block.
//!
//! A table is indexed by the next bits of the stream. The entry describes the code that they begin with:
//!
//! | bits | literal | length or distance |
//! |---|---|---|
//! | 0-5 | bits to drop | bits to drop, including extra bits |
//! | 6 | 0 | set for the end of the block |
//! | 7 | set | 0 |
//! | 8-15 | the byte | 8-11: bits of the code, excluding extra bits |
//! | 16-31 | 0 | the least length or distance |
//!
//! An entry is 0 for a code that is longer than the index, or invalid.

use std::sync::OnceLock;

/// Index bits of the table of literals and lengths: five literals must fit into the 56 bits that are loaded by a refill.
/// Longer codes are rare, and a larger table takes longer to fill.
const LITLEN_BITS: u32 = 11;
const DISTANCE_BITS: u32 = 9;
const CODE_LENGTH_BITS: u32 = 7;

/// Flag of literals.
pub(super) const LITERAL: u32 = 1 << 7;
/// Flag of the end of a block.
pub(super) const END: u32 = 1 << 6;

/// Symbols of literals and lengths, including the two reserved ones.
const LITLENS: usize = 288;
/// The longest code in bits.
const MAX_LEN: usize = 15;
/// The code space: a code of `n` bits takes `WHOLE >> n` of it.
const WHOLE: u32 = 1 << MAX_LEN;

/// A symbol's entry without the length of its code, which is added `per_bit` times.
#[derive(Clone, Copy)]
struct Symbol {
    entry: u32,
    per_bit: u32,
}

impl Symbol {
    const INVALID: Self = Self { entry: 0, per_bit: 0 };

    const fn literal(byte: usize) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "below 256")]
        let byte = byte as u32;
        Self { entry: byte << 8 | LITERAL, per_bit: 1 }
    }

    const fn value(least: usize, extra_bits: usize) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "at most 24577 and 13")]
        let entry = (least << 16 | extra_bits) as u32;
        Self { entry, per_bit: 1 << 8 | 1 }
    }

    const fn with_len(self, len: u32) -> u32 {
        self.entry + len * self.per_bit
    }
}

#[expect(clippy::indexing_slicing, reason = "const evaluation rejects an index out of bounds")]
static CODE_LENGTH_SYMBOLS: [Symbol; 19] = {
    let mut symbols = [Symbol::INVALID; 19];
    let mut i = 0;
    while i < symbols.len() {
        symbols[i] = Symbol::literal(i);
        i += 1;
    }
    symbols
};

#[expect(clippy::indexing_slicing, reason = "const evaluation rejects an index out of bounds")]
static LITLEN_SYMBOLS: [Symbol; LITLENS] = {
    let mut symbols = [Symbol::INVALID; LITLENS];
    let mut i = 0;
    while i < 256 {
        symbols[i] = Symbol::literal(i);
        i += 1;
    }
    symbols[256] = Symbol { entry: END, per_bit: 1 };
    // Lengths from 3: eight without extra bits, then four for each number of extra bits; the last is 258.
    let mut i = 0;
    while i < 28 {
        symbols[257 + i] =
            if i < 8 { Symbol::value(3 + i, 0) } else { Symbol::value(3 + ((4 + i % 4) << (i / 4 - 1)), i / 4 - 1) };
        i += 1;
    }
    symbols[285] = Symbol::value(258, 0);
    symbols
};

#[expect(clippy::indexing_slicing, reason = "const evaluation rejects an index out of bounds")]
static DISTANCE_SYMBOLS: [Symbol; 32] = {
    let mut symbols = [Symbol::INVALID; 32];
    // Distances from 1: four without extra bits, then two for each number of extra bits.
    let mut i = 0;
    while i < 30 {
        symbols[i] =
            if i < 4 { Symbol::value(1 + i, 0) } else { Symbol::value(1 + ((2 + i % 2) << (i / 2 - 1)), i / 2 - 1) };
        i += 1;
    }
    symbols
};

/// A Huffman code and its table of `SIZE == 1 << BITS` entries.
pub(super) struct Code<const BITS: u32, const SIZE: usize> {
    symbols: &'static [Symbol],
    table: [u32; SIZE],
    /// The number of codes of each length.
    counts: [u16; MAX_LEN + 1],
    /// The symbols that have a code, sorted by its length, then by value.
    sorted: [u16; LITLENS],
}

pub(super) type CodeLengthCode = Code<CODE_LENGTH_BITS, { 1 << CODE_LENGTH_BITS }>;
pub(super) type LitLenCode = Code<LITLEN_BITS, { 1 << LITLEN_BITS }>;
pub(super) type DistanceCode = Code<DISTANCE_BITS, { 1 << DISTANCE_BITS }>;

impl<const BITS: u32, const SIZE: usize> Code<BITS, SIZE> {
    const fn of(symbols: &'static [Symbol]) -> Self {
        assert!(SIZE == 1 << BITS, "one entry per index");
        Self { symbols, table: [0; SIZE], counts: [0; MAX_LEN + 1], sorted: [0; LITLENS] }
    }

    /// The entry for the next bits. `None` if they do not begin with a code.
    #[inline(always)]
    pub(super) fn find(&self, word: u64) -> Option<u32> {
        match self.look_up(word) {
            0 => self.find_long(word),
            entry => Some(entry),
        }
    }

    /// The entry for the next bits, or 0.
    #[inline(always)]
    pub(super) fn look_up(&self, word: u64) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "below SIZE")]
        let index = (word & (SIZE as u64 - 1)) as usize;
        self.table.get(index).copied().unwrap_or(0)
    }

    /// The entry of a code of any length.
    #[cold]
    #[inline(never)]
    fn find_long(&self, word: u64) -> Option<u32> {
        // Codes of one length are consecutive numbers, most significant bit first; the first one follows from the shorter
        // codes.
        let bits = usize::try_from(word.reverse_bits() >> (64 - MAX_LEN)).ok()?;
        let (mut first, mut place) = (0, 0);
        for (len, &count) in (1..).zip(self.counts.get(1..)?) {
            let count = usize::from(count);
            if let Some(i) = (bits >> (MAX_LEN - len)).checked_sub(first).filter(|&i| i < count) {
                let symbol = self.sorted.get(place + i).and_then(|&symbol| self.symbols.get(usize::from(symbol)))?;
                return Some(symbol.with_len(u32::try_from(len).ok()?)).filter(|&entry| entry != 0);
            }
            first = (first + count) << 1;
            place += count;
        }
        None
    }

    /// Builds the code from the code length of each symbol, 0 for none. `None` if it is incomplete or over-subscribed. A single
    /// code of one bit is accepted, and so is no code at all.
    pub(super) fn build(&mut self, lens: &[u8]) -> Option<()> {
        let mut counts = [0u16; MAX_LEN + 1];
        for &len in lens {
            *counts.get_mut(usize::from(len))? += 1;
        }
        counts[0] = 0;
        let mut left = WHOLE;
        for (len, &count) in counts.iter().enumerate() {
            left = left.checked_sub(u32::from(count) * (WHOLE >> len))?;
        }
        if left > 0 && counts.iter().skip(2).any(|&count| count > 0) {
            return None;
        }
        let mut places = [0u16; MAX_LEN + 1];
        let mut place = 0;
        for (first, &count) in places.iter_mut().zip(&counts) {
            *first = place;
            place += count;
        }
        for (symbol, &len) in (0..).zip(lens) {
            if len > 0 {
                let place = places.get_mut(usize::from(len))?;
                *self.sorted.get_mut(usize::from(*place))? = symbol;
                *place += 1;
            }
        }
        self.counts = counts;
        self.fill()
    }

    /// Fills the table. For each additional bit of code length, the table so far is repeated.
    fn fill(&mut self) -> Option<()> {
        self.table.get_mut(..2)?.fill(0);
        let mut sorted = self.sorted.iter();
        let mut code = 0;
        for (len, &count) in (1..=BITS).zip(self.counts.get(1..)?) {
            for &symbol in sorted.by_ref().take(count.into()) {
                *self.table.get_mut(code)? = self.symbols.get(usize::from(symbol))?.with_len(len);
                code = next_code(code, len);
            }
            if len < BITS {
                let (done, room) = self.table.split_at_mut_checked(1 << len)?;
                room.get_mut(..done.len())?.copy_from_slice(done);
            }
        }
        Some(())
    }
}

/// The next code of the same length, both with the first bit lowest, as in the stream.
fn next_code(code: usize, len: u32) -> usize {
    let ones = (1 << len) - 1;
    match (code ^ ones).checked_ilog2() {
        Some(zero) => code & ((1 << zero) - 1) | 1 << zero,
        None => 0,
    }
}

impl CodeLengthCode {
    pub(super) const fn new() -> Self {
        Self::of(&CODE_LENGTH_SYMBOLS)
    }

    /// Whether every bit sequence is valid.
    pub(super) fn is_complete(&self) -> bool {
        (0..).zip(&self.counts).map(|(len, &count)| u32::from(count) * (WHOLE >> len)).sum::<u32>() == WHOLE
    }
}

impl LitLenCode {
    /// The expected bits per symbol, in units of `1 / 32768`, if nearly all symbols are literals; else `None`.
    ///
    /// The frequency of a symbol is estimated from the length of its code.
    pub(super) fn bits_of_literals(&self) -> Option<u32> {
        let (mut literals, mut bits) = (0, 0);
        let mut sorted = self.sorted.iter();
        for (len, &count) in (0..).zip(&self.counts) {
            let share = WHOLE >> len;
            bits += u32::from(count) * share * len;
            for &symbol in sorted.by_ref().take(count.into()) {
                // Extra bits and distance of a match.
                if symbol < 256 { literals += share } else { bits += share * 16 }
            }
        }
        (literals > WHOLE / 16 * 15).then_some(bits)
    }
}

/// The two codes of a block.
pub(super) struct Tables {
    pub(super) litlen: LitLenCode,
    pub(super) distance: DistanceCode,
}

impl Tables {
    pub(super) const fn new() -> Self {
        Self { litlen: Code::of(&LITLEN_SYMBOLS), distance: Code::of(&DISTANCE_SYMBOLS) }
    }

    /// The fixed codes.
    pub(super) fn fixed() -> Option<&'static Self> {
        static FIXED: OnceLock<Option<Box<Tables>>> = OnceLock::new();
        let make = || {
            let mut tables = Box::new(Self::new());
            let mut lens = [8; LITLENS];
            lens.get_mut(144..256)?.fill(9);
            lens.get_mut(256..280)?.fill(7);
            tables.litlen.build(&lens)?;
            tables.distance.build(&[5; 32])?;
            Some(tables)
        };
        FIXED.get_or_init(make).as_deref()
    }
}
