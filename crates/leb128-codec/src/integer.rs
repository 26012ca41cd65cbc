use core::fmt;
use core::hash::Hash;

use crate::bulk::done::Done;
use crate::error::{DecodeError, EncodeError};

/// An integer type that has a LEB128 encoding: all of Rust's, signed and unsigned, of 8 to 128 bits.
///
/// Unsigned types are unsigned LEB128, signed types are signed LEB128 (two's complement, not zigzag). The trait cannot
/// be implemented for other types.
pub trait Integer: Codec + Copy + Default + Ord + Hash + fmt::Debug + fmt::Display + Send + Sync + 'static {
    /// How many bits the type has.
    const BITS: u32;
    /// Whether the type is signed, and so its encoding.
    const SIGNED: bool;
    /// How many bytes the longest encoding takes: 2, 3, 5, 10 or 19.
    const MAX_LEN: usize;
    /// An array of [`MAX_LEN`](Self::MAX_LEN) bytes.
    type Buffer: Default + AsRef<[u8]> + AsMut<[u8]> + Copy + fmt::Debug + 'static;
}

/// What the crate does with its integers. Not nameable outside, so [`Integer`] is sealed.
pub trait Codec: Sized {
    fn decode(bytes: &[u8]) -> Result<(Self, usize), DecodeError>;
    fn decode_strict(bytes: &[u8]) -> Result<(Self, usize), DecodeError>;
    fn encode_into(self, bytes: &mut [u8]) -> Result<usize, EncodeError>;
    fn encoded_len(self) -> usize;

    /// Decodes the beginning of a run as fast as this machine can; see [`Done`].
    fn decode_run(input: &[u8], out: &mut [Self]) -> Done;

    /// The value of these payload bits, and whether it fits the type.
    ///
    /// `len` is the length of the encoding, at most ten bytes; of ten, the payload holds the low 64 bits and `last` is
    /// the tenth byte, else 0.
    fn from_payload(payload: u64, len: u32, last: u8) -> (Self, bool);

    /// The value in 64 bits, extended by its sign; of 128 bits the low ones.
    fn to_word(self) -> u64;
}
