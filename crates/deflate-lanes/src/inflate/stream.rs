//! Decoding the tokens of a block one after the other.

use super::bits::Bits;
use super::tables::{END, LITERAL, Tables};

/// Literals between two refills. After one fewer, at least the bits of a length are left of 56.
const LITERALS: usize = 4;

/// Room in the output for the literals before a match, the longest match, and the excess bytes of its last copy.
const SLACK: usize = LITERALS + 258 + 16;

/// A token of a block.
pub(super) enum Token {
    Literal(u8),
    Match(Match),
    End,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Match {
    pub(super) length: u16,
    pub(super) distance: u16,
}

/// A stream being inflated from `bits` to `out`, of which `made` bytes are done.
pub(super) struct Stream<'i, 'o> {
    pub(super) bits: Bits<'i>,
    pub(super) out: &'o mut [u8],
    pub(super) made: usize,
}

impl Stream<'_, '_> {
    /// Decodes until input or output is nearly exhausted, or `fence` bytes of the input are loaded. Returns whether the block has ended.
    pub(super) fn run(&mut self, tables: &Tables, fence: usize) -> Option<bool> {
        let Self { mut bits, ref mut out, mut made } = *self;
        // One iteration may need two refills.
        let fence = fence.min(bits.input().len().saturating_sub(15));
        bits.refill();
        // Looked up before the refill, which does not change these bits: the chain of look-ups should not also depend on
        // refills.
        let mut entry = tables.litlen.look_up(bits.word());
        let ended = 'tokens: loop {
            if bits.at() >= fence || out.len() - made < SLACK || !bits.refill_word() {
                break false;
            }
            let mut left = LITERALS;
            while entry & LITERAL != 0 {
                *out.get_mut(made)? = byte_of(entry);
                made += 1;
                bits.drop(entry);
                entry = tables.litlen.look_up(bits.word());
                left -= 1;
                if left == 0 {
                    continue 'tokens;
                }
            }
            if entry == 0 {
                bits.refill_word().then_some(())?;
                entry = tables.litlen.find(bits.word())?;
                if entry & LITERAL != 0 {
                    *out.get_mut(made)? = byte_of(entry);
                    made += 1;
                    bits.drop(entry);
                    entry = tables.litlen.look_up(bits.word());
                    continue;
                }
            }
            if entry & END != 0 {
                bits.drop(entry);
                break true;
            }
            let length = usize::from(value_of(entry, bits.word()));
            bits.drop(entry);
            if bits.count() < 28 + 11 {
                bits.refill_word().then_some(())?;
            }
            entry = tables.distance.find(bits.word())?;
            let distance = usize::from(value_of(entry, bits.word()));
            bits.drop(entry);
            entry = tables.litlen.look_up(bits.word());
            copy_with_slack(out, made, length, distance)?;
            made += length;
        };
        (self.bits, self.made) = (bits, made);
        Some(ended)
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> Option<()> {
        let end = self.made + bytes.len();
        self.out.get_mut(self.made..end)?.copy_from_slice(bytes);
        self.made = end;
        Some(())
    }

    pub(super) fn copy(&mut self, Match { length, distance }: Match) -> Option<()> {
        let (length, distance) = (usize::from(length), usize::from(distance));
        if self.out.len() - self.made >= SLACK {
            copy_with_slack(self.out, self.made, length, distance)?;
        } else {
            let from = self.made.checked_sub(distance)?;
            let room = self.out.get_mut(from..self.made + length)?;
            let (mut done, all) = (distance, room.len());
            // Copied bytes may be copied again.
            while done < all {
                let more = done.min(all - done);
                room.copy_within(..more, done);
                done += more;
            }
        }
        self.made += length;
        Some(())
    }
}

#[inline(always)]
pub(super) const fn byte_of(entry: u32) -> u8 {
    entry.to_le_bytes()[1]
}

/// The length or distance of an entry, with the extra bits of the word that it was looked up with.
#[inline(always)]
pub(super) fn value_of(entry: u32, word: u64) -> u16 {
    let extra = (word & ((1 << (entry & 63)) - 1)) >> (entry >> 8 & 15);
    #[expect(clippy::cast_possible_truncation, reason = "at most 13 bits, and the sum at most 32768")]
    let value = (entry >> 16) as u16 + extra as u16;
    value
}

/// Decodes one token, anywhere in the input.
pub(super) fn token(bits: &mut Bits<'_>, tables: &Tables) -> Option<Token> {
    bits.refill();
    let entry = tables.litlen.find(bits.word())?;
    bits.count().checked_sub(entry & 63)?;
    let length = value_of(entry, bits.word());
    bits.drop(entry);
    if entry & LITERAL != 0 {
        return Some(Token::Literal(byte_of(entry)));
    }
    if entry & END != 0 {
        return Some(Token::End);
    }
    let entry = tables.distance.find(bits.word())?;
    bits.count().checked_sub(entry & 63)?;
    let distance = value_of(entry, bits.word());
    bits.drop(entry);
    Some(Token::Match(Match { length, distance }))
}

/// Copies a match where `SLACK` bytes are free; it may overwrite those after it.
#[inline(always)]
fn copy_with_slack(out: &mut [u8], made: usize, length: usize, distance: usize) -> Option<()> {
    let from = made.checked_sub(distance)?;
    let mut done = 0;
    if distance >= 16 || distance >= length {
        while done < length {
            let bytes: [u8; 16] = *out.get(from + done..)?.first_chunk()?;
            *out.get_mut(made + done..)?.first_chunk_mut()? = bytes;
            done += 16;
        }
    } else if distance >= 8 {
        while done < length {
            let bytes: [u8; 8] = *out.get(from + done..)?.first_chunk()?;
            *out.get_mut(made + done..)?.first_chunk_mut()? = bytes;
            done += 8;
        }
    } else {
        // The period repeated to eight bytes, and the largest multiple of it in them.
        let bits = 8 * (distance & 7);
        let mut bytes = u64::from_le_bytes(*out.get(from..)?.first_chunk()?) & ((1 << bits) - 1);
        let mut filled = bits;
        while filled < 64 {
            bytes |= bytes << filled;
            filled *= 2;
        }
        let step = 8 - 8usize.checked_rem(distance)?;
        while done < length {
            *out.get_mut(made + done..)?.first_chunk_mut()? = bytes.to_le_bytes();
            done += step;
        }
    }
    Some(())
}
