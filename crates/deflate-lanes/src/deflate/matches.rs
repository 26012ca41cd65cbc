//! Finds matches with chains of earlier positions whose next four bytes have the same hash.

use super::costs::{Costs, Match};
use super::symbols::{MAX_MATCH, MIN_MATCH, WINDOW};

const BITS4: u32 = 16;
const BITS3: u32 = 15;

/// How much to search.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    /// Maximum positions to compare.
    pub(super) depth: u32,
    /// Stop at a match of this length.
    pub(super) nice: usize,
}

/// Positions are numbered consecutively from call to call, so the tables need no clearing: numbers below `base` are stale. No
/// position has the number 0.
pub(super) struct Chains {
    /// The last position of each hash of four bytes.
    heads: Box<[u32; 1 << BITS4]>,
    /// The last position of each hash of three bytes.
    heads3: Box<[u32; 1 << BITS3]>,
    /// For each position in the window, the previous one with the same hash.
    earlier: Box<[u32; WINDOW]>,
    /// The numbers of the first byte of the data, and of the end.
    base: u32,
    pub(super) end: u32,
    /// The first position not in the tables, from the start of the data.
    next: usize,
}

impl Default for Chains {
    fn default() -> Self {
        let heads = Box::new([0; 1 << BITS4]);
        Self { heads, heads3: Box::new([0; 1 << BITS3]), earlier: Box::new([0; WINDOW]), base: 1, end: 1, next: 0 }
    }
}

impl Chains {
    /// Starts with other data of `len` bytes.
    pub(super) fn start(&mut self, len: u32) {
        match self.end.checked_add(len) {
            Some(end) => (self.base, self.end) = (self.end, end),
            None => {
                self.heads.fill(0);
                self.heads3.fill(0);
                (self.base, self.end) = (1, len.saturating_add(1));
            }
        }
        self.next = 0;
    }

    fn number(&self, at: usize) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "below `end`")]
        let at = at as u32;
        self.base.wrapping_add(at)
    }

    /// Inserts all positions up to `at` that a match may refer to; not for matches of three bytes, which are not worth the time.
    pub(super) fn insert_up_to(&mut self, data: &[u8], at: usize) {
        let from = self.next.max(at.saturating_sub(WINDOW));
        self.next = self.next.max(at);
        let bytes = data.get(from..data.len().min(at.saturating_add(MIN_MATCH))).unwrap_or_default();
        for (number, bytes) in (self.number(from)..).zip(bytes.windows(4)) {
            if let Some(bytes) = bytes.first_chunk() {
                self.link(number, u32::from_le_bytes(*bytes));
            }
        }
    }

    /// Inserts a position by the hash of four bytes, and returns the previous one with the same hash.
    #[inline(always)]
    fn link(&mut self, number: u32, word: u32) -> u32 {
        let head = match self.heads.get_mut((word.wrapping_mul(0x9E37_79B1) >> (32 - BITS4)) as usize) {
            Some(slot) => std::mem::replace(slot, number),
            None => 0,
        };
        if let Some(slot) = self.earlier.get_mut(number as usize % WINDOW) {
            *slot = head;
        }
        head
    }

    /// The same for the hash of the first three bytes.
    #[inline(always)]
    fn link3(&mut self, number: u32, word: u32) -> u32 {
        match self.heads3.get_mut(((word << 8).wrapping_mul(0x9E37_79B1) >> (32 - BITS3)) as usize) {
            Some(slot) => std::mem::replace(slot, number),
            None => 0,
        }
    }

    /// Finds the match longer than `floor` that saves most; its length is 0 if none saves anything. Inserts the position, which must be the
    /// next one.
    #[inline(always)]
    pub(super) fn find(&mut self, data: &[u8], costs: &Costs, at: usize, floor: usize, effort: Effort) -> Match {
        let mut best = Match::default();
        let mut longest = floor.max(MIN_MATCH - 1);
        let here = data.get(at..).unwrap_or_default();
        let Some(&bytes) = here.first_chunk::<4>() else { return best };
        let word = u32::from_le_bytes(bytes);
        let number = self.number(at);
        self.next = at + 1;
        let (mut position, position3) = (self.link(number, word), self.link3(number, word));
        // One less than the window: this position has just replaced the one a whole window back.
        #[expect(clippy::cast_possible_truncation, reason = "a constant")]
        let least = self.base.max(number.saturating_sub(WINDOW as u32 - 1));
        let most = here.len().min(MAX_MATCH);

        if longest < MIN_MATCH && position3 >= least {
            let distance = (number - position3) as usize;
            if word_at(data, at - distance).is_some_and(|there| (there ^ word) << 8 == 0) {
                longest = MIN_MATCH;
                let gain = costs.gain(bytes[0], at, MIN_MATCH, distance);
                if gain > 0 {
                    best = Match { length: MIN_MATCH, distance, gain };
                }
            }
        }
        if position < least {
            return best;
        }
        let nice = effort.nice.min(most);
        let mut depth = effort.depth;
        // The last four bytes that a longer match must have.
        let mut check = longest.saturating_sub(3);
        let mut last = word_at(data, at + check);
        while depth > 0 && longest < most {
            depth -= 1;
            let from = position.wrapping_sub(self.base) as usize;
            if word_at(data, from + check) == last && word_at(data, from) == Some(word) {
                let length = common_prefix(data.get(from..).unwrap_or_default(), here, most);
                if length > longest {
                    longest = length;
                    let distance = at - from;
                    let gain = costs.gain(bytes[0], at, length, distance);
                    if gain > best.gain {
                        best = Match { length, distance, gain };
                    }
                    if length >= nice {
                        break;
                    }
                    check = length - 3;
                    last = word_at(data, at + check);
                }
            }
            position = self.earlier.get(position as usize % WINDOW).copied().unwrap_or(0);
            if position < least {
                break;
            }
        }
        best
    }
}

#[inline(always)]
fn word_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

/// The length of the common prefix, at most `most`. The first four bytes are known to be equal.
#[inline(always)]
fn common_prefix(there: &[u8], here: &[u8], most: usize) -> usize {
    let mut length = 4;
    while length + 8 <= most
        && let Some(&a) = there.get(length..).and_then(<[u8]>::first_chunk)
        && let Some(&b) = here.get(length..).and_then(<[u8]>::first_chunk)
    {
        let differ = u64::from_le_bytes(a) ^ u64::from_le_bytes(b);
        if differ != 0 {
            return length + (differ.trailing_zeros() / 8) as usize;
        }
        length += 8;
    }
    while length < most && there.get(length) == here.get(length) {
        length += 1;
    }
    length
}
