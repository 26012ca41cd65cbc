//! Decoding several parts of one block side by side.
//!
//! The end of a Huffman code is known only after decoding it, so decoding is a chain of dependent steps that leaves most of
//! the processor idle. But a decoder that starts in the middle of a code soon synchronizes: after a few symbols one ends
//! where a true one does, and all that follow are correct. So several lanes start at guessed offsets of the block and
//! advance in step, each into its own buffer, until each reaches the offset where the next one started. The first lane is
//! correct. If it arrives at a bit offset that the next lane has visited, the output of that lane from there on is correct too.
//!
//! The result does not depend on the guesses, only the speed does. It pays if nearly all symbols are literals, as in
//! numeric data; matches delay all lanes.

use super::bits::Bits;
use super::stream::{Match, Stream, Token, byte_of, token, value_of};
use super::tables::{END, LITERAL, Tables};

/// The state of more lanes does not fit into registers.
const LANES: usize = 3;

/// Symbols per block of the usual compressors.
const SYMBOLS: usize = 16_383;

/// Minimum input bytes that make a lane worth starting.
const MIN_SPAN: usize = 512;

/// Capacity of a lane in literals and matches: more than its share of the symbols.
const ROOM: usize = 8192;
const MATCHES: usize = 512;

/// Offsets near the start of a lane where the previous lane can meet it.
const MARKS: usize = 8;

/// Literals decoded per step: their codes take at most 55 of the 57 bits that are loaded.
const LITERALS: u32 = 5;

/// The state of a lane: the bit offset in the input, and the number of literals and matches decoded.
#[derive(Clone, Copy, Default)]
struct Mark {
    position: u64,
    literals: u32,
    matches: u32,
}

impl Mark {
    /// Advances past the literals of a step.
    #[inline(always)]
    fn advance(&mut self, step: Step) {
        self.position += u64::from(step.bits & 63);
        self.literals += LITERALS;
    }
}

/// Five table entries combined.
#[derive(Clone, Copy, Default)]
struct Step {
    /// The sum, whose lowest six bits are the total number of bits.
    bits: u32,
    /// [`LITERAL`] if all are literals, else 0.
    flags: u32,
}

/// The lanes, allocated on first use.
#[derive(Default)]
pub(super) struct Lanes(Option<Box<[Lane; LANES]>>);

impl Lanes {
    /// Decodes a large part of the stream's current block, if that is likely to pay. Returns the input offset from which it
    /// may pay again.
    pub(super) fn decode(&mut self, stream: &mut Stream<'_, '_>, tables: &Tables) -> Option<Option<usize>> {
        let Some(bits) = tables.litlen.bits_of_literals() else { return Some(None) };
        let (start, input) = (stream.bits.at(), stream.bits.input());
        let symbols = SYMBOLS.min(stream.out.len() - stream.made);
        let expected = symbols as u64 * u64::from(bits) / (8 << 15); // of bytes; the product needs more than 32 bits
        let rest = input.len() - start;
        let span = usize::try_from(expected).map_or(rest, |expected| expected.min(rest)) / LANES;
        if span < MIN_SPAN {
            return Some(None);
        }
        let lanes = self.0.get_or_insert_with(|| Box::new([const { Lane::new() }; LANES]));
        let mut position = stream.bits.position();
        for lane in lanes.iter_mut() {
            lane.begin(position, input, tables);
            position += 8 * span as u64;
        }
        while let Some(turns) = turns(lanes, input)
            && side_by_side(lanes, turns, input, tables).is_some()
        {}
        let mut from = Mark::default();
        let mut rest = lanes.as_mut_slice();
        while let Some((lane, behind)) = rest.split_first_mut() {
            let met = behind.first().and_then(|next| lane.meet(next, stream.bits, tables));
            lane.hand_over(from, stream)?;
            let Some(mark) = met else { break };
            (from, rest) = (mark, behind);
        }
        Some(Some(start + LANES * span + span / 4))
    }
}

/// The number of steps that all lanes can take before one reaches the start of the next, or is full. `None` if one has.
fn turns(lanes: &[Lane; LANES], input: &[u8]) -> Option<usize> {
    let ends = lanes.iter().skip(1).map(Lane::start).chain([input.len() as u64 * 8]);
    let way = lanes.iter().zip(ends).map(|(lane, end)| end.saturating_sub(lane.at.position) / 55);
    let room = lanes.iter().map(|lane| (ROOM as u64).saturating_sub(lane.at.literals.into()) / u64::from(LITERALS));
    way.chain(room).min().and_then(|turns| usize::try_from(turns).ok()).filter(|&turns| turns > 0)
}

/// Advances all lanes by `turns` steps. `None` if one cannot.
#[inline(never)]
fn side_by_side(lanes: &mut [Lane; LANES], turns: usize, input: &[u8], tables: &Tables) -> Option<()> {
    let mut at = lanes.each_ref().map(|lane| lane.at);
    let mut advance_all = || {
        for _ in 0..turns {
            let mut steps = [Step::default(); LANES];
            let mut flags = LITERAL;
            for ((lane, at), step) in lanes.iter_mut().zip(&at).zip(&mut steps) {
                *step = lane.literals(*at, input, tables)?;
                flags &= step.flags;
            }
            if flags != 0 {
                for (at, step) in at.iter_mut().zip(steps) {
                    at.advance(step);
                }
                continue;
            }
            for ((lane, at), step) in lanes.iter_mut().zip(&mut at).zip(steps) {
                if step.flags != 0 {
                    at.advance(step);
                } else {
                    *at = lane.few(*at, input, tables)?;
                }
            }
        }
        Some(())
    };
    let done = advance_all();
    for (lane, at) in lanes.iter_mut().zip(at) {
        lane.at = at;
    }
    done
}

/// At least 57 bits from a bit offset.
#[inline(always)]
fn load(input: &[u8], position: u64) -> Option<u64> {
    let at = usize::try_from(position >> 3).ok()?;
    Some(u64::from_le_bytes(*input.get(at..at + 8)?.first_chunk()?) >> (position & 7))
}

/// The output of a decoder that started at a guessed offset.
struct Lane {
    literals: [u8; ROOM],
    /// Matches, each with the number of literals before it.
    matches: [(u32, Match); MATCHES],
    /// The first offsets that it visited.
    marks: [Mark; MARKS],
    marked: usize,
    at: Mark,
}

impl Lane {
    const fn new() -> Self {
        const MARK: Mark = Mark { position: 0, literals: 0, matches: 0 };
        Self {
            literals: [0; ROOM],
            matches: [(0, Match { length: 0, distance: 0 }); MATCHES],
            marks: [MARK; MARKS],
            marked: 0,
            at: MARK,
        }
    }

    /// The offset where it started.
    fn start(&self) -> u64 {
        self.marks.first().map_or(0, |mark| mark.position)
    }

    /// Starts at an offset, and records the first marks.
    fn begin(&mut self, position: u64, input: &[u8], tables: &Tables) {
        let mut at = Mark { position, ..Mark::default() };
        self.marked = 0;
        for i in 0..MARKS {
            let Some(mark) = self.marks.get_mut(i) else { break };
            *mark = at;
            self.marked += 1;
            let Some(next) = self.few(at, input, tables) else { break };
            at = next;
        }
        self.at = at;
    }

    /// Looks up five symbols and writes them as literals; the step tells whether they are.
    #[inline(always)]
    fn literals(&mut self, at: Mark, input: &[u8], tables: &Tables) -> Option<Step> {
        let first = at.literals as usize;
        let literals =
            self.literals.get_mut(first..first + LITERALS as usize)?.first_chunk_mut::<{ LITERALS as usize }>()?;
        let mut word = load(input, at.position)?;
        let mut step = Step { bits: 0, flags: LITERAL };
        for literal in literals {
            let entry = tables.litlen.look_up(word);
            *literal = byte_of(entry);
            step.bits = step.bits.wrapping_add(entry);
            step.flags &= entry;
            word >>= entry & 63;
        }
        Some(step)
    }

    /// Advances by five literals, or by fewer and the match after them. `None` at the end of the block, at an invalid code, or
    /// if the lane is full.
    #[inline(never)]
    fn few(&mut self, mut at: Mark, input: &[u8], tables: &Tables) -> Option<Mark> {
        let first = at.literals as usize;
        let literals = self.literals.get_mut(first..first + LITERALS as usize)?;
        let mut word = load(input, at.position)?;
        // Free of unpredictable branches: `live` stays 1 while all symbols are literals.
        let mut live = 1;
        for literal in literals {
            let entry = tables.litlen.look_up(word);
            *literal = byte_of(entry);
            word >>= entry & 63;
            live &= entry / LITERAL;
            at.literals += live;
            at.position += u64::from(live * (entry & 63));
        }
        if live == 1 {
            return Some(at);
        }
        let word = load(input, at.position)?;
        let entry = tables.litlen.find(word)?;
        at.position += u64::from(entry & 63);
        if entry & LITERAL != 0 {
            *self.literals.get_mut(at.literals as usize)? = byte_of(entry);
            at.literals += 1;
            return Some(at);
        }
        if entry & END != 0 {
            return None;
        }
        let length = value_of(entry, word);
        let word = word >> (entry & 63);
        let entry = tables.distance.find(word)?;
        at.position += u64::from(entry & 63);
        *self.matches.get_mut(at.matches as usize)? = (at.literals, Match { length, distance: value_of(entry, word) });
        at.matches += 1;
        Some(at)
    }

    /// Advances by one symbol. `None` as for [`few`](Self::few); the state is unchanged then.
    fn step(&mut self, bits: &mut Bits<'_>, tables: &Tables) -> Option<()> {
        match token(bits, tables)? {
            Token::Literal(byte) => {
                *self.literals.get_mut(self.at.literals as usize)? = byte;
                self.at.literals += 1;
            }
            Token::Match(found) => {
                *self.matches.get_mut(self.at.matches as usize)? = (self.at.literals, found);
                self.at.matches += 1;
            }
            Token::End => return None,
        }
        self.at.position = bits.position();
        Some(())
    }

    /// Advances to one of the marks of `next`. `None` if it reaches none of them.
    fn meet(&mut self, next: &Self, mut bits: Bits<'_>, tables: &Tables) -> Option<Mark> {
        while self.at.position + 55 < next.start() {
            self.at = self.few(self.at, bits.input(), tables)?;
        }
        bits.seek(self.at.position)?;
        for mark in next.marks.get(..next.marked)? {
            while self.at.position < mark.position {
                self.step(&mut bits, tables)?;
            }
            if self.at.position == mark.position {
                return Some(*mark);
            }
        }
        None
    }

    /// Appends the output since `from` to the stream, and advances the stream past it.
    fn hand_over(&self, from: Mark, stream: &mut Stream<'_, '_>) -> Option<()> {
        let mut done = from.literals as usize;
        for &(literals, found) in self.matches.get(from.matches as usize..self.at.matches as usize)? {
            stream.put(self.literals.get(done..literals as usize)?)?;
            stream.copy(found)?;
            done = literals as usize;
        }
        stream.put(self.literals.get(done..self.at.literals as usize)?)?;
        stream.bits.seek(self.at.position)
    }
}
