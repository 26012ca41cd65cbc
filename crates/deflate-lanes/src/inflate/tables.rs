//! The tables that a block is decoded with.
//!
//! A table is indexed by the next bits of the stream. The entry says what these bits begin with:
//!
//! | bits | of a literal | of the length or distance of a match |
//! |---|---|---|
//! | 0-5 | bits to drop | bits to drop, with the extra bits |
//! | 6 | 0 | set at the end of the block |
//! | 7 | set | 0 |
//! | 8-15 | the byte | 8-11: bits of the code, without the extra bits |
//! | 16-31 | 0 | the least length or distance |
//!
//! An entry of 0 stands for a code that is longer than the index, and for one that does not exist.

use std::sync::OnceLock;

/// Bits of the index into the table of literals and lengths: so few that five literals fit into the 56 bits that are
/// there after a refill. Longer codes are rare, and a larger table takes longer to fill.
const LITLEN_BITS: u32 = 11;
const DISTANCE_BITS: u32 = 9;
const CODE_LENGTH_BITS: u32 = 7;

/// Marks entries of literals.
pub(super) const LITERAL: u32 = 1 << 7;
/// Marks the entry of the end of a block.
pub(super) const END: u32 = 1 << 6;

/// Symbols of literals and lengths, with the two that stand for nothing.
const LITLENS: usize = 288;
/// The longest code in bits.
const MAX_LEN: usize = 15;
/// What the codes of one length share of all that can follow: `1 << 15` for a code of no bits.
const WHOLE: u32 = 1 << MAX_LEN;

/// A symbol's entry, but for the length of its code: to be added as often as `per_bit` says for each bit.
#[derive(Clone, Copy)]
struct Symbol {
    entry: u32,
    per_bit: u32,
}

impl Symbol {
    const NOTHING: Self = Self { entry: 0, per_bit: 0 };

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

#[expect(clippy::indexing_slicing, reason = "an index outside does not compile")]
static CODE_LENGTH_SYMBOLS: [Symbol; 19] = {
    let mut symbols = [Symbol::NOTHING; 19];
    let mut i = 0;
    while i < symbols.len() {
        symbols[i] = Symbol::literal(i);
        i += 1;
    }
    symbols
};

#[expect(clippy::indexing_slicing, reason = "an index outside does not compile")]
static LITLEN_SYMBOLS: [Symbol; LITLENS] = {
    let mut symbols = [Symbol::NOTHING; LITLENS];
    let mut i = 0;
    while i < 256 {
        symbols[i] = Symbol::literal(i);
        i += 1;
    }
    symbols[256] = Symbol { entry: END, per_bit: 1 };
    // Lengths from 3: eight without extra bits, then four for each more extra bit; the last is 258 alone.
    let mut i = 0;
    while i < 28 {
        symbols[257 + i] =
            if i < 8 { Symbol::value(3 + i, 0) } else { Symbol::value(3 + ((4 + i % 4) << (i / 4 - 1)), i / 4 - 1) };
        i += 1;
    }
    symbols[285] = Symbol::value(258, 0);
    symbols
};

#[expect(clippy::indexing_slicing, reason = "an index outside does not compile")]
static DISTANCE_SYMBOLS: [Symbol; 32] = {
    let mut symbols = [Symbol::NOTHING; 32];
    // Distances from 1: four without extra bits, then two for each more extra bit.
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
    /// Codes of each length.
    counts: [u16; MAX_LEN + 1],
    /// The symbols that have a code, by its length, then by value.
    sorted: [u16; LITLENS],
}

pub(super) type CodeLengthCode = Code<CODE_LENGTH_BITS, { 1 << CODE_LENGTH_BITS }>;
pub(super) type LitLenCode = Code<LITLEN_BITS, { 1 << LITLEN_BITS }>;
pub(super) type DistanceCode = Code<DISTANCE_BITS, { 1 << DISTANCE_BITS }>;

impl<const BITS: u32, const SIZE: usize> Code<BITS, SIZE> {
    const fn of(symbols: &'static [Symbol]) -> Self {
        assert!(SIZE == 1 << BITS, "an entry for each value of the index");
        Self { symbols, table: [0; SIZE], counts: [0; MAX_LEN + 1], sorted: [0; LITLENS] }
    }

    /// The entry for the next bits. `None` when they begin with no code.
    #[inline(always)]
    pub(super) fn find(&self, word: u64) -> Option<u32> {
        match self.look_up(word) {
            0 => self.long(word),
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
    fn long(&self, word: u64) -> Option<u32> {
        // Codes of one length are consecutive numbers, highest bit first. The first one follows from the shorter codes.
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

    /// Makes the code in which the symbols have codes of these lengths, 0 for none. `None` when they leave a part of the
    /// bits without meaning, or give one twice. A single code of one bit may be incomplete, and there may be no codes at all.
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

    /// Fills the table. It grows with the codes: for each bit more, all that is there stands once more behind it.
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

/// The code after `code` of the same length, both with the first bit lowest, as the stream has them.
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

    /// Whether every sequence of bits means something.
    pub(super) fn is_complete(&self) -> bool {
        (0..).zip(&self.counts).map(|(len, &count)| u32::from(count) * (WHOLE >> len)).sum::<u32>() == WHOLE
    }
}

impl LitLenCode {
    /// The bits that a symbol is expected to take, in units of `1 / 32768`, when nearly all symbols are literals.
    ///
    /// A good code gives a symbol the fewer bits the more frequent it is, so it tells how frequent that is.
    pub(super) fn bits_of_literals(&self) -> Option<u32> {
        let (mut literals, mut bits) = (0, 0);
        let mut sorted = self.sorted.iter();
        for (len, &count) in (0..).zip(&self.counts) {
            let share = WHOLE >> len;
            bits += u32::from(count) * share * len;
            for &symbol in sorted.by_ref().take(count.into()) {
                // The rest of a match: extra bits and the distance.
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

    /// The codes that no stream has to spell out.
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
