use core::fmt;
use core::hash::Hash;

use crate::bulk::progress::Progress;
use crate::error::{DecodeError, EncodeError};

/// An integer type with a LEB128 encoding: all of Rust's, signed and unsigned, of 8 to 128 bits.
///
/// Unsigned types use unsigned LEB128, signed types signed LEB128 (two's complement, not zigzag). The trait is sealed.
pub trait Integer: Codec + Copy + Default + Ord + Hash + fmt::Debug + fmt::Display + Send + Sync + 'static {
    /// The width in bits.
    const BITS: u32;
    /// Whether the type, and so its encoding, is signed.
    const SIGNED: bool;
    /// The length in bytes of the longest encoding: 2, 3, 5, 10 or 19.
    const MAX_LEN: usize;
    /// An array of [`MAX_LEN`](Self::MAX_LEN) bytes.
    type Buffer: Default + AsRef<[u8]> + AsMut<[u8]> + Copy + fmt::Debug + 'static;
}

/// Operations of [`Integer`] types. Not nameable outside the crate, which seals that trait.
pub trait Codec: Sized {
    fn decode(bytes: &[u8]) -> Result<(Self, usize), DecodeError>;
    fn decode_strict(bytes: &[u8]) -> Result<(Self, usize), DecodeError>;
    fn encode_into(self, bytes: &mut [u8]) -> Result<usize, EncodeError>;
    fn encoded_len(self) -> usize;

    /// Decodes the beginning of a run with the fastest kernel of this machine.
    fn decode_run(input: &[u8], out: &mut [Self]) -> Progress;

    /// The value of these payload bits, and whether it fits the type.
    ///
    /// `len` is the length of the encoding in bytes, at most ten. If it is ten, `last` is the tenth byte, else 0.
    fn from_payload(payload: u64, len: u32, last: u8) -> (Self, bool);

    /// The value extended to 64 bits; of a 128-bit type the low 64 bits.
    fn to_word(self) -> u64;
}
