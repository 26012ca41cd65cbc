//! Several parts of one block, decoded side by side.
//!
//! Where a Huffman code ends is known only once it is decoded. So decoding is a chain of steps that wait for each other,
//! and most of the processor is idle. But who begins in the middle of a code does not stay wrong for long: after a few
//! symbols, one of them happens to end where a true one does, and all that follow are right. So several
//! lanes begin at guessed places of the block and go on in step, each into memory of its own, until they reach the
//! places where the next ones began. The first lane is right. When it comes to a bit where the next lane has been too, what that
//! lane made from there on is right as well.
//!
//! The result does not depend on the guesses, only the time does. It pays where nearly all symbols are literals, as with
//! measured numbers; matches hold up all lanes.

use super::bits::Bits;
use super::stream::{Match, Stream, Token, byte_of, token, value_of};
use super::tables::{END, LITERAL, Tables};

/// With more, what they need no longer fits into the registers.
const LANES: usize = 3;

/// Symbols that the usual compressors put into a block, if the data do not end before.
const SYMBOLS: usize = 16_383;

/// Bytes of the input below which a lane is not worth its beginning.
const MIN_SPAN: usize = 512;

/// Literals and matches that a lane has room for: more than its part of the symbols.
const ROOM: usize = 8192;
const MATCHES: usize = 512;

/// Places at the beginning of a lane where the lane before it can meet it.
const MARKS: usize = 8;

/// Literals decoded at once: their codes are looked up in 55 bits at most, of the 57 that are loaded.
const LITERALS: u32 = 5;

/// Where a lane stands: before which bit of the input, after how many literals and matches.
#[derive(Clone, Copy, Default)]
struct Mark {
    position: u64,
    literals: u32,
    matches: u32,
}

impl Mark {
    /// Goes on behind literals whose entries add up to this.
    #[inline(always)]
    fn advance(&mut self, step: Step) {
        self.position += u64::from(step.bits & 63);
        self.literals += LITERALS;
    }
}

/// Five entries.
#[derive(Clone, Copy, Default)]
struct Step {
    /// Added up, so that the lowest six bits are the bits of all.
    bits: u32,
    /// What is set in all: [`LITERAL`], or nothing.
    flags: u32,
}

/// The lanes, once there was need for them.
#[derive(Default)]
pub(super) struct Lanes(Option<Box<[Lane; LANES]>>);

impl Lanes {
    /// Decodes a large part of the block that the stream is in, if it is likely to be worth it. Returns the byte of the
    /// input from which on it may be again.
    pub(super) fn decode(&mut self, stream: &mut Stream<'_, '_>, tables: &Tables) -> Option<Option<usize>> {
        let Some(bits) = tables.litlen.bits_of_literals() else { return Some(None) };
        let (start, input) = (stream.bits.at(), stream.bits.input());
        let symbols = SYMBOLS.min(stream.out.len() - stream.made);
        let span = (symbols * bits as usize / (8 << 15)).min(input.len() - start) / LANES;
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

/// How often all lanes can go [`LITERALS`] further before one is where the next one began, or full. `None` when one is.
fn turns(lanes: &[Lane; LANES], input: &[u8]) -> Option<usize> {
    let ends = lanes.iter().skip(1).map(Lane::start).chain([input.len() as u64 * 8]);
    let way = lanes.iter().zip(ends).map(|(lane, end)| end.saturating_sub(lane.at.position) / 55);
    let room = lanes.iter().map(|lane| (ROOM as u64).saturating_sub(lane.at.literals.into()) / u64::from(LITERALS));
    way.chain(room).min().and_then(|turns| usize::try_from(turns).ok()).filter(|&turns| turns > 0)
}

/// Lets all lanes go on so many times. `None` when one cannot.
#[inline(never)]
fn side_by_side(lanes: &mut [Lane; LANES], turns: usize, input: &[u8], tables: &Tables) -> Option<()> {
    let mut at = lanes.each_ref().map(|lane| lane.at);
    let mut go_on = || {
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
    let done = go_on();
    for (lane, at) in lanes.iter_mut().zip(at) {
        lane.at = at;
    }
    done
}

/// The bits from a position on, at least 57 of them.
#[inline(always)]
fn load(input: &[u8], position: u64) -> Option<u64> {
    let at = usize::try_from(position >> 3).ok()?;
    Some(u64::from_le_bytes(*input.get(at..at + 8)?.first_chunk()?) >> (position & 7))
}

/// What one beginning at a guessed place has made.
struct Lane {
    literals: [u8; ROOM],
    /// The matches, each with the number of literals before it.
    matches: [(u32, Match); MATCHES],
    /// The first places where it stood.
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

    /// The position where it began.
    fn start(&self) -> u64 {
        self.marks.first().map_or(0, |mark| mark.position)
    }

    /// Begins anew, and marks the first places.
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

    /// Looks up five literals, and writes them down as if they were some.
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

    /// Goes on by five literals, or fewer and what is behind them. `None` when that is the end of the block, or anything
    /// else that is no literal and no match, or when there is no room.
    #[inline(never)]
    fn few(&mut self, mut at: Mark, input: &[u8], tables: &Tables) -> Option<Mark> {
        let first = at.literals as usize;
        let literals = self.literals.get_mut(first..first + LITERALS as usize)?;
        let mut word = load(input, at.position)?;
        // Without branches that would be guessed wrong: `live` stays 1 as long as all were literals.
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

    /// Goes on by one symbol. `None`, and it stays where it is, as with [`few`](Self::few).
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

    /// Goes on until it stands where `next` stood at one of its marks. `None` when it does not come there.
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

    /// Adds what was made since `from` to the stream, which goes on behind it.
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
