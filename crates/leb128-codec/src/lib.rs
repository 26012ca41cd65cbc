//! LEB128 integers: one value in const code, runs of values at SIMD speed, from slices and streams, without allocation.
//!
//! # The bytes
//!
//! A value is split into groups of seven bits, least significant group first, one group per byte:
//!
//! ```text
//!              bit 7                    bits 6 to 0
//!          +-----------+--------------------------------------------+
//! byte 0   | 1 = more  | bits 0 to 6 of the value                   |
//! byte 1   | 1 = more  | bits 7 to 13                               |
//!  ...     |           |                                            |
//! last     | 0         | the highest significant bits               |
//!          +-----------+--------------------------------------------+
//!
//! 624485 = 0b0100110_0001110_1100101  ->  e5 8e 26
//! ```
//!
//! * The type selects one of two encodings. Unsigned values are zero-extended. Signed values are two's complement and
//!   sign-extended: bit 6 of the last byte MUST be the sign, so 64 is `c0 00` and -64 is `40`.
//! * A value of `b` bits MUST take at most `ceil(b / 7)` bytes: 2, 3, 5, 10 and 19 for 8, 16, 32, 64 and 128 bits. Bits
//!   of the last of these bytes beyond the type's width MUST be zeros, or copies of the sign.
//! * A value MAY be padded up to that length (`80 00` is 0). Functions named `strict` reject padding, the others accept
//!   it. This crate never writes it.
//!
//! Protobuf's "varint" is the unsigned encoding; its zigzag for signed values is not signed LEB128.
//!
//! # A first program
//!
//! Reading:
//!
//! ```
//! use leb128_codec::{decode, decode_slice};
//!
//! let file = [0x03, 0xe5, 0x8e, 0x26, 0x07, 0x80, 0x01];
//! let (count, used) = decode::<usize>(&file)?;
//! let mut values = vec![0_u64; count];
//! let used = used + decode_slice(&file[used..], &mut values)?;
//! assert_eq!((values, used), (vec![624_485, 7, 128], 7));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Writing:
//!
//! ```
//! use leb128_codec::{encode, encode_slice, encoded_len_slice};
//!
//! let values = [624_485_u64, 7, 128];
//! let mut file = encode(values.len(), &mut Default::default()).to_vec();
//! let begin = file.len();
//! file.resize(begin + encoded_len_slice(&values), 0);
//! encode_slice(&values, &mut file[begin..])?;
//! assert_eq!(file, [0x03, 0xe5, 0x8e, 0x26, 0x07, 0x80, 0x01]);
//! # Ok::<(), leb128_codec::EncodeError>(())
//! ```
//!
//! # Where to start
//!
//! | you have | take |
//! |---|---|
//! | one value in a slice, of a fixed or generic type | [`decode`], [`decode_strict`], [`encode`], [`encode_into`] |
//! | const code | [`typed`]: `decode_u64`, `encode_i32`, ... |
//! | a run of values | [`decode_slice`], [`encode_slice`]; [`values`] where their number is unknown |
//! | values to skip or count | [`skip`], [`skip_n`], [`count`] |
//! | a stream | `io` |
//! | a [`Cursor`](container_core::Cursor) of container-core | [`Leb128`], [`read_slice`] |
//! | a nom parser | `nom` |
//!
//! # Errors
//!
//! Decoding fails in three ways, [`DecodeErrorKind`], each with a byte offset: `Truncated` at the value's first byte,
//! `Overflow` at the byte that does not fit, `Overlong` (strict functions only) at the value's last byte. Errors are small,
//! `Copy` and usable in const code; `in_field` converts them to container-core's. Encoding fails only if the slice is too
//! small. Nothing here panics.
//!
//! # Speed
//!
//! [`decode_slice`] decodes 64 bytes at a time, with AVX-512, AVX2, NEON or plain 64-bit words. [`decode`] has a fast path
//! for values of one byte and decodes longer ones in a 64-bit word, without a loop. `cargo bench --bench rivals` measures
//! both beside six other crates. The NEON kernel is tested under emulation; its speed has not been measured on hardware.
//!
//! # Features
//!
//! | feature | gives |
//! |---|---|
//! | none | everything but the following; `no_std`, no allocation |
//! | `alloc` | field names in container-core errors |
//! | `std` (default) | `io`, and `alloc`; instruction sets detected at run time instead of compile time |
//! | `nom` | parsers for nom 8 |
#![cfg_attr(not(any(feature = "std", feature = "_kernels", test)), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![allow(clippy::result_large_err, reason = "without an allocator, container-core's error stores its message inline")]

mod bulk;
mod error;
mod integer;
mod integers;
mod scan;
mod simd;
mod values;
mod wire;
mod word;

#[cfg(feature = "std")]
pub mod io;
#[cfg(feature = "nom")]
pub mod nom;
pub mod typed;

#[cfg(any(feature = "_kernels", test))]
#[doc(hidden)]
pub mod kernels;

pub use bulk::{decode_slice, decode_slice_strict, encode_slice, encoded_len_slice};
pub use error::{DecodeError, DecodeErrorKind, EncodeError, RunError};
pub use integer::Integer;
pub use scan::{count, skip, skip_n};
pub use values::{Values, values};
pub use wire::{Leb128, Leb128Strict, read_slice};

/// Decodes the value at the beginning of `bytes` and returns it with its length in bytes.
///
/// Padded forms up to the type's maximum length are accepted.
///
/// ```
/// assert_eq!(leb128_codec::decode::<i32>(&[0xc0, 0xbb, 0x78, 0xff])?, (-123_456, 3));
/// # Ok::<(), leb128_codec::DecodeError>(())
/// ```
///
/// # Errors
/// [`Truncated`](DecodeErrorKind::Truncated) or [`Overflow`](DecodeErrorKind::Overflow).
#[inline(always)]
pub fn decode<T: Integer>(bytes: &[u8]) -> Result<(T, usize), DecodeError> {
    T::decode(bytes)
}

/// Like [`decode`], but rejects padded forms.
///
/// ```
/// use leb128_codec::{DecodeErrorKind, decode_strict};
/// let error = decode_strict::<u32>(&[0x80, 0x00]).unwrap_err();
/// assert_eq!((error.kind(), error.offset()), (DecodeErrorKind::Overlong, 1));
/// ```
///
/// # Errors
/// [`Truncated`](DecodeErrorKind::Truncated), [`Overflow`](DecodeErrorKind::Overflow) or
/// [`Overlong`](DecodeErrorKind::Overlong).
#[inline]
pub fn decode_strict<T: Integer>(bytes: &[u8]) -> Result<(T, usize), DecodeError> {
    T::decode_strict(bytes)
}

/// Encodes a value in its shortest form at the beginning of the buffer and returns those bytes.
///
/// ```
/// assert_eq!(leb128_codec::encode(624_485_u64, &mut [0; 10]), [0xe5, 0x8e, 0x26]);
/// ```
#[inline]
pub fn encode<T: Integer>(value: T, buffer: &mut T::Buffer) -> &[u8] {
    match value.encode_into(buffer.as_mut()) {
        Ok(len) => (*buffer).as_ref().split_at(len).0,
        // Unreachable: the buffer has room for the longest encoding.
        Err(_) => &[],
    }
}

/// Encodes a value in its shortest form at the beginning of the slice and returns its length in bytes.
///
/// # Errors
/// [`EncodeError`] if the slice is too small; nothing is written then.
#[inline]
pub fn encode_into<T: Integer>(value: T, bytes: &mut [u8]) -> Result<usize, EncodeError> {
    value.encode_into(bytes)
}

/// The length in bytes of the value's shortest encoding.
#[inline]
#[must_use]
pub fn encoded_len<T: Integer>(value: T) -> usize {
    value.encoded_len()
}
