//! One key, one block at a time.

use super::group::{BLOCK, Digest, pair};
use super::rounds::{IV, compress};

/// The digest of one key of any length; `start` is the state before the first block.
pub(crate) fn digest(key: &[u8], start: &[u32; 8]) -> Digest {
    let mut state = *start;
    let mut counter = 0_u64;
    let mut rest = key;
    // The last block is empty only if the key is.
    while rest.len() > BLOCK
        && let Some((block, after)) = rest.split_first_chunk()
    {
        counter += BLOCK as u64;
        state = next_state(&state, block, counter, 0);
        rest = after;
    }
    let mut last = [0; BLOCK];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    counter += rest.len() as u64;
    pair(&next_state(&state, &last, counter, u32::MAX))
}

fn next_state(state: &[u32; 8], block: &[u8; BLOCK], counter: u64, last: u32) -> [u32; 8] {
    let h = *state;
    let m = words(block);
    #[expect(clippy::cast_possible_truncation, reason = "the counter's halves are two words")]
    let (low, high) = (counter as u32, (counter >> 32) as u32);
    compress!(h, m, low, high, last, IV, u32::wrapping_add, xor, r16, r12, r8, r7)
}

/// A block's sixteen words.
#[inline(always)]
pub(crate) fn words(block: &[u8; BLOCK]) -> [u32; 16] {
    let (words, _) = block.as_chunks::<4>();
    let mut m = [0; 16];
    for (to, from) in m.iter_mut().zip(words) {
        *to = u32::from_le_bytes(*from);
    }
    m
}

#[inline(always)]
fn xor(a: u32, b: u32) -> u32 {
    a ^ b
}

#[inline(always)]
fn r16(a: u32) -> u32 {
    a.rotate_right(16)
}

#[inline(always)]
fn r12(a: u32) -> u32 {
    a.rotate_right(12)
}

#[inline(always)]
fn r8(a: u32) -> u32 {
    a.rotate_right(8)
}

#[inline(always)]
fn r7(a: u32) -> u32 {
    a.rotate_right(7)
}
