//! Encoding one block of a stream, in the smallest of its three forms.

use super::bits::{Room, Writer};
use super::huffman::{MAX_BITS, code_lengths, codes};
use super::stats::Histogram;
use super::symbols::{DISTANCES, END, LENGTHS, LITLENS, MAX_MATCH, OFFSETS, distance_index, length_index};

/// The order of the code lengths of the code length code.
const CODE_LENGTH_ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
/// Maximum bytes of a stored block.
pub(super) const MAX_STORED: usize = 65_535;

/// Literals and the match after them.
#[derive(Clone, Copy)]
pub(super) struct Sequence {
    pub(super) literals: u32,
    pub(super) length: u16,
    pub(super) distance: u16,
}

/// Bits, and their number in the lowest byte.
#[derive(Clone, Copy)]
struct Entry(u32);

impl Entry {
    const fn new(code: u16, len: u8) -> Self {
        Self((code as u32) << 8 | len as u32)
    }
    #[inline(always)]
    const fn bits(self) -> u64 {
        (self.0 >> 8) as u64
    }
    #[inline(always)]
    const fn count(self) -> u32 {
        self.0 & 255
    }
}

/// The codes of a block; reused to save allocations.
pub(super) struct Coder {
    litlen_lens: [u8; 288],
    distance_lens: [u8; 32],
    literals: [Entry; 256],
    end: Entry,
    /// By length of a match, including extra bits.
    lengths: [Entry; 512],
    /// By distance symbol, without extra bits.
    distances: [Entry; 32],
    header: Header,
}

impl Default for Coder {
    fn default() -> Self {
        let none = Entry(0);
        Self {
            litlen_lens: [0; 288],
            distance_lens: [0; 32],
            literals: [none; 256],
            end: none,
            lengths: [none; 512],
            distances: [none; 32],
            header: Header::default(),
        }
    }
}

impl Coder {
    /// Writes a block. `raw` consists of `sequences` and literals after them; `histogram` counts both.
    pub(super) fn block(
        &mut self,
        out: &mut Writer<'_>,
        raw: &[u8],
        sequences: &[Sequence],
        histogram: &mut Histogram,
        last: bool,
    ) {
        histogram.end();
        self.dynamic_lens(histogram);
        self.header.build(&self.litlen_lens, &self.distance_lens);
        let dynamic = self.header.bits() + self.body_bits(histogram);
        let (litlens, distances) = (self.litlen_lens, self.distance_lens);
        self.fixed_lens();
        let fixed = self.body_bits(histogram);
        let pieces = raw.len().div_ceil(MAX_STORED).max(1) as u64;
        let stored = pieces * 40 + 8 * raw.len() as u64;
        if stored <= dynamic.min(fixed) {
            return stored_blocks(out, raw, last);
        }
        let is_dynamic = dynamic < fixed;
        let mut room = out.room(3 + dynamic.min(fixed));
        room.push(u64::from(last) | if is_dynamic { 4 } else { 2 }, 3);
        if is_dynamic {
            (self.litlen_lens, self.distance_lens) = (litlens, distances);
            self.header.write(&mut room);
        }
        self.build();
        self.body(&mut room, raw, sequences);
        room.done();
    }

    fn dynamic_lens(&mut self, histogram: &Histogram) {
        code_lengths(histogram.litlens.get(..LITLENS).unwrap_or_default(), MAX_BITS, &mut self.litlen_lens);
        self.litlen_lens.get_mut(LITLENS..).unwrap_or_default().fill(0);
        let mut distances = histogram.distances;
        // Some decoders reject a code of a single symbol.
        let missing = 2usize.saturating_sub(distances.iter().filter(|&&count| count > 0).count());
        distances.iter_mut().filter(|count| **count == 0).take(missing).for_each(|count| *count = 1);
        code_lengths(distances.get(..DISTANCES).unwrap_or_default(), MAX_BITS, &mut self.distance_lens);
        self.distance_lens.get_mut(DISTANCES..).unwrap_or_default().fill(0);
    }

    fn fixed_lens(&mut self) {
        self.litlen_lens = [8; 288];
        self.litlen_lens.get_mut(144..256).unwrap_or_default().fill(9);
        self.litlen_lens.get_mut(256..280).unwrap_or_default().fill(7);
        self.distance_lens = [5; 32];
    }

    /// The number of bits of all symbols.
    fn body_bits(&self, histogram: &Histogram) -> u64 {
        let sum = |counts: &[u32], lens: &[u8]| -> u64 {
            counts.iter().zip(lens).map(|(&count, &len)| u64::from(count) * u64::from(len)).sum()
        };
        sum(&histogram.litlens, &self.litlen_lens)
            + sum(&histogram.distances, &self.distance_lens)
            + histogram.extra_bits
    }

    /// Builds the tables from the code lengths.
    fn build(&mut self) {
        let mut litlens = [0; 288];
        codes(&self.litlen_lens, &mut litlens);
        let mut distances = [0; 32];
        codes(&self.distance_lens, &mut distances);
        for ((entry, &code), &len) in self.literals.iter_mut().zip(&litlens).zip(&self.litlen_lens) {
            *entry = Entry::new(code, len);
        }
        for ((entry, &code), &len) in self.distances.iter_mut().zip(&distances).zip(&self.distance_lens) {
            *entry = Entry::new(code, len);
        }
        let litlen = |symbol: usize| {
            Entry::new(litlens.get(symbol).copied().unwrap_or(0), self.litlen_lens.get(symbol).copied().unwrap_or(0))
        };
        self.end = litlen(END);
        for (length, slot) in self.lengths.iter_mut().enumerate().take(MAX_MATCH + 1).skip(3) {
            let place = length_index(length);
            let Some(range) = LENGTHS.get(place) else { continue };
            let code = litlen(257 + place);
            let extra = u32::try_from(length).unwrap_or(0) - u32::from(range.least);
            *slot = Entry((extra << code.count() << 8 | code.0 & !255) | (code.count() + u32::from(range.extra_bits)));
        }
    }

    fn body(&self, room: &mut Room<'_>, raw: &[u8], sequences: &[Sequence]) {
        let mut rest = raw;
        for sequence in sequences {
            let (literals, tail) = rest.split_at_checked(sequence.literals as usize).unwrap_or_default();
            self.run(room, literals);
            self.copy(room, sequence.length.into(), sequence.distance.into());
            rest = tail.get(sequence.length.into()..).unwrap_or_default();
        }
        self.run(room, rest);
        room.push(self.end.bits(), self.end.count());
    }

    #[inline(always)]
    fn literal(&self, byte: u8) -> Entry {
        self.literals.get(usize::from(byte)).copied().unwrap_or(Entry(0))
    }

    #[inline(always)]
    fn run(&self, room: &mut Room<'_>, literals: &[u8]) {
        let (fours, rest) = literals.as_chunks::<4>();
        for &[a, b, c, d] in fours {
            // In pairs, to shorten the dependency chain.
            let (a, b, c, d) = (self.literal(a), self.literal(b), self.literal(c), self.literal(d));
            let ab = a.bits() | b.bits() << (a.count() & 63);
            let cd = c.bits() | d.bits() << (c.count() & 63);
            let before = a.count() + b.count();
            room.push(ab | cd << (before & 63), before + c.count() + d.count());
        }
        for &byte in rest {
            let entry = self.literal(byte);
            room.put(entry.bits(), entry.count());
        }
        room.flush();
    }

    #[inline(always)]
    fn copy(&self, room: &mut Room<'_>, length: usize, distance: usize) {
        let length = self.lengths.get(length & 511).copied().unwrap_or(Entry(0));
        room.put(length.bits(), length.count());
        let place = distance_index(distance);
        let entry = self.distances.get(place & 31).copied().unwrap_or(Entry(0));
        let range = OFFSETS.get(place).copied().unwrap_or(super::symbols::Range { least: 0, extra_bits: 0 });
        let extra = distance as u64 - u64::from(range.least);
        room.push(entry.bits() | extra << (entry.count() & 63), entry.count() + u32::from(range.extra_bits));
    }
}

/// Writes stored blocks.
pub(super) fn stored_blocks(out: &mut Writer<'_>, raw: &[u8], last: bool) {
    let mut rest = raw;
    loop {
        let (stored, tail) = rest.split_at(rest.len().min(MAX_STORED));
        rest = tail;
        let mut room = out.room(8);
        room.push(u64::from(last && rest.is_empty()), 3);
        room.done();
        out.align();
        let len = u16::try_from(stored.len()).unwrap_or(u16::MAX);
        out.bytes(&len.to_le_bytes());
        out.bytes(&(!len).to_le_bytes());
        out.bytes(stored);
        if rest.is_empty() {
            return;
        }
    }
}

/// The header of a dynamic block: run-length encoded code lengths, with a code for them.
struct Header {
    /// Symbols and extra bits.
    items: [(u8, u8); LITLENS + DISTANCES],
    used: usize,
    litlens: usize,
    distances: usize,
    lens: [u8; 19],
    /// The number of `lens` that are stored.
    stored_lens: usize,
    counts: [u32; 19],
}

impl Default for Header {
    fn default() -> Self {
        let items = [(0, 0); LITLENS + DISTANCES];
        Self { items, used: 0, litlens: 0, distances: 0, lens: [0; 19], stored_lens: 0, counts: [0; 19] }
    }
}

const fn extra_bits(symbol: u8) -> u32 {
    match symbol {
        16 => 2,
        17 => 3,
        18 => 7,
        _ => 0,
    }
}

impl Header {
    fn build(&mut self, litlens: &[u8], distances: &[u8]) {
        let used = |lens: &[u8]| lens.iter().rposition(|&len| len > 0).map_or(0, |last| last + 1);
        (self.litlens, self.distances) = (used(litlens).max(257), used(distances).max(1));
        let mut all = [0u8; LITLENS + DISTANCES];
        let lens = litlens.iter().take(self.litlens).chain(distances.iter().take(self.distances));
        for (slot, &len) in all.iter_mut().zip(lens) {
            *slot = len;
        }
        self.used = 0;
        self.counts = [0; 19];
        let all = all.get(..self.litlens + self.distances).unwrap_or_default();
        for run in all.chunk_by(|a, b| a == b) {
            let &[len, ..] = run else { continue };
            let mut left = run.len();
            if len > 0 {
                self.item(len, 0);
                left -= 1;
            }
            while left > 0 {
                let (symbol, times) = match (len, left) {
                    (0, 11..) => (18, left.min(138)),
                    (0, 3..) => (17, left),
                    (1.., 3..) => (16, left.min(6)),
                    _ => (len, 1),
                };
                let least = if symbol == 18 { 11 } else { 3 };
                self.item(symbol, u8::try_from(times.saturating_sub(least)).unwrap_or(0));
                left -= times;
            }
        }
        code_lengths(&self.counts, 7, &mut self.lens);
        let is_used = |&place: &usize| self.lens.get(place).is_some_and(|&len| len > 0);
        self.stored_lens = CODE_LENGTH_ORDER.iter().rposition(is_used).map_or(4, |last| (last + 1).max(4));
    }

    fn item(&mut self, symbol: u8, extra: u8) {
        if let (Some(item), Some(count)) = (self.items.get_mut(self.used), self.counts.get_mut(usize::from(symbol))) {
            *item = (symbol, extra);
            *count += 1;
            self.used += 1;
        }
    }

    fn bits(&self) -> u64 {
        let items = (0u8..).zip(&self.counts).zip(&self.lens);
        let items =
            items.map(|((symbol, &count), &len)| u64::from(count) * u64::from(u32::from(len) + extra_bits(symbol)));
        14 + 3 * self.stored_lens as u64 + items.sum::<u64>()
    }

    fn write(&self, room: &mut Room<'_>) {
        room.put((self.litlens - 257) as u64, 5);
        room.put((self.distances - 1) as u64, 5);
        room.push((self.stored_lens - 4) as u64, 4);
        for &place in CODE_LENGTH_ORDER.iter().take(self.stored_lens) {
            room.push(self.lens.get(place).copied().unwrap_or(0).into(), 3);
        }
        let mut made = [0; 19];
        codes(&self.lens, &mut made);
        for &(symbol, extra) in self.items.iter().take(self.used) {
            let place = usize::from(symbol);
            let (code, len) = (made.get(place).copied().unwrap_or(0), self.lens.get(place).copied().unwrap_or(0));
            room.put(code.into(), len.into());
            room.push(extra.into(), extra_bits(symbol));
        }
    }
}
