//! MD5 (RFC 1321), for the `.md5` file beside a dataset. It detects damage, not malice: collisions can be made at will.
//!
//! Own code, because the MD5 of one stream limits writing and verifying large samples, and the crate `md-5` leaves the order of operations to
//! the compiler (see [`kernel`]). It takes 0.8 times the time of `md5sum` (page "performance" of the guide);
//! `cargo bench -p datadings --bench md5` compares it with `md-5`.

mod kernel;
#[cfg(test)]
mod tests;

use byteorder::{ByteOrder, LittleEndian};

/// Bytes per block.
const BLOCK: usize = 64;

/// A running MD5 sum: call [`update`](Self::update) any number of times, then [`finish`](Self::finish).
#[derive(Debug, Clone)]
pub(crate) struct Md5 {
    state: [u32; 4],
    /// Bytes so far, modulo 2^64; the last `len % 64` of them are buffered in `rest`.
    len: u64,
    rest: [u8; BLOCK],
}

impl Default for Md5 {
    fn default() -> Self {
        Self::new()
    }
}

impl Md5 {
    /// The initial state.
    #[must_use]
    pub(crate) const fn new() -> Self {
        Self { state: [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476], len: 0, rest: [0; BLOCK] }
    }

    /// Adds bytes; whole blocks are not copied.
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        let buffered = self.buffered();
        self.len = self.len.wrapping_add(bytes.len() as u64);
        if buffered > 0 {
            let (_, room) = self.rest.split_at_mut(buffered);
            let Some((head, tail)) = bytes.split_at_checked(room.len()) else {
                room.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
                return;
            };
            room.copy_from_slice(head);
            kernel::compress(&mut self.state, core::slice::from_ref(&self.rest));
            bytes = tail;
        }
        let (blocks, tail) = bytes.as_chunks();
        kernel::compress(&mut self.state, blocks);
        self.rest.iter_mut().zip(tail).for_each(|(to, from)| *to = *from);
    }

    /// Adds bytes to two sums at once, which takes little longer than one.
    pub(crate) fn update_both(sums: [&mut Self; 2], bytes: [&[u8]; 2]) {
        let ([one, other], [mut first, mut second]) = (sums, bytes);
        if one.buffered() == 0 && other.buffered() == 0 {
            let both = Self::whole_blocks(first.len().min(second.len()));
            let ((a, first_rest), (b, second_rest)) = (first.split_at(both), second.split_at(both));
            kernel::compress_lanes([&mut one.state, &mut other.state], [a.as_chunks().0, b.as_chunks().0]);
            one.len = one.len.wrapping_add(both as u64);
            other.len = other.len.wrapping_add(both as u64);
            (first, second) = (first_rest, second_rest);
        }
        one.update(first);
        other.update(second);
    }

    /// The sum of all bytes so far.
    #[must_use]
    pub(crate) fn finish(mut self) -> [u8; 16] {
        let buffered = self.buffered();
        // Padding: a one bit, zeros, and the number of bits; in this block if 8 bytes are left for the number, else in one more.
        let mut blocks = [[0; BLOCK]; 2];
        let flat = blocks.as_flattened_mut();
        flat.iter_mut().zip(&self.rest).take(buffered).for_each(|(to, from)| *to = *from);
        flat.iter_mut().skip(buffered).take(1).for_each(|end| *end = 0x80);
        let count = if buffered < BLOCK - 8 { 1 } else { 2 };
        // The number of bits is taken modulo 2^64, as in the RFC.
        let bits = self.len.wrapping_mul(8).to_le_bytes();
        flat.iter_mut().skip(count * BLOCK - 8).zip(bits).for_each(|(to, from)| *to = from);
        kernel::compress(&mut self.state, blocks.get(..count).unwrap_or(&blocks));
        let mut sum = [0; 16];
        LittleEndian::write_u32_into(&self.state, &mut sum);
        sum
    }

    /// The sum of `bytes`.
    #[must_use]
    pub(crate) fn digest(bytes: &[u8]) -> [u8; 16] {
        let mut md5 = Self::new();
        md5.update(bytes);
        md5.finish()
    }

    /// Formats a sum like `md5sum`: 32 lower-case hexadecimal digits.
    #[must_use]
    pub(crate) fn hex(sum: &[u8; 16]) -> String {
        let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
        sum.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
    }

    /// `len`, rounded down to whole blocks.
    pub(crate) const fn whole_blocks(len: usize) -> usize {
        len / BLOCK * BLOCK
    }

    /// Number of bytes in `rest`.
    fn buffered(&self) -> usize {
        #[expect(clippy::cast_possible_truncation, reason = "below 64")]
        let buffered = (self.len % BLOCK as u64) as usize;
        buffered
    }
}
