//! One function per integer type and operation, all of them `const`.
//!
//! For each type `T` of `u8`, `u16`, `u32`, `u64`, `u128`, `usize` and the signed ones:
//!
//! | function | does |
//! |---|---|
//! | `decode_T(bytes)` | the value at the beginning of `bytes` and its length in bytes |
//! | `decode_strict_T(bytes)` | the same; rejects padded forms |
//! | `encode_T(value, &mut buffer)` | the shortest encoding, in a buffer of the type's maximum length |
//! | `encode_into_T(value, &mut bytes)` | the same at the beginning of any slice; fails if that is too small |
//! | `encoded_len_T(value)` | the length of the shortest encoding |
//!
//! ```
//! use leb128_codec::typed::{decode_u64, encode_i32};
//!
//! const ANSWER: u64 = match decode_u64(&[0xe5, 0x8e, 0x26]) {
//!     Ok((value, _)) => value,
//!     Err(_) => panic!("not LEB128"),
//! };
//! assert_eq!(ANSWER, 624_485);
//! assert_eq!(encode_i32(-123_456, &mut [0; 5]), [0xc0, 0xbb, 0x78]);
//! ```
//!
//! Generic code uses [`decode`](crate::decode) and its siblings instead.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_lossless,
    clippy::unnecessary_cast,
    reason = "one macro body for all types, in const code, which cannot call `From`; narrowed values were checked or masked"
)]

use crate::error::{DecodeError, DecodeErrorKind, EncodeError};
use crate::word;

/// The length in bytes of the longest encoding of a type of this width.
pub(crate) const fn max_len(bits: u32) -> usize {
    bits.div_ceil(7) as usize
}

/// Whether a byte is valid where the type has `room` bits left, 1 to 6: it must end the value, and the bits beyond `room`
/// must be zeros, or copies of the sign.
const fn last_byte_fits(byte: u8, room: u32, signed: bool) -> bool {
    if signed {
        let value = byte.cast_signed() << 1 >> 1;
        byte < 0x80 && matches!(value >> (room - 1), 0 | -1)
    } else {
        byte >> room == 0
    }
}

/// The error of bytes that do not decode, found by scanning them again.
#[cold]
#[inline(never)]
pub(crate) const fn decode_error(bytes: &[u8], bits: u32, signed: bool) -> DecodeError {
    let last = max_len(bits) - 1;
    let mut rest = bytes;
    let mut offset = 0;
    while let [byte, tail @ ..] = rest {
        if offset == last {
            return DecodeError::new(DecodeErrorKind::Overflow, offset, *byte, bits, signed);
        }
        offset += 1;
        rest = tail;
    }
    DecodeError::truncated(0, bytes.len(), bits, signed)
}

#[cold]
#[inline(never)]
const fn overlong_error(bytes: &[u8], len: usize, bits: u32, signed: bool) -> DecodeError {
    let found = match bytes.split_at(len).0 {
        [.., last] => *last,
        [] => 0,
    };
    DecodeError::new(DecodeErrorKind::Overlong, len - 1, found, bits, signed)
}

#[inline(always)]
const fn fits(len: u32, bits: u32) -> bool {
    len <= bits.div_ceil(7)
}

/// Fast paths of the types up to 32 bits, if eight bytes of input are left.
macro_rules! fast_narrow {
    ($($unsigned:ident $signed:ident $fast_unsigned:ident $fast_signed:ident $first:path;)+) => {$(
        #[inline(always)]
        const fn $fast_unsigned(bytes: &[u8]) -> Option<($unsigned, usize)> {
            match $first(bytes) {
                Some((payload, len)) if fits(len, $unsigned::BITS) && payload >> $unsigned::BITS == 0 => {
                    Some((payload as $unsigned, len as usize))
                }
                _ => None,
            }
        }

        #[inline(always)]
        const fn $fast_signed(bytes: &[u8]) -> Option<($signed, usize)> {
            match $first(bytes) {
                Some((payload, len)) if fits(len, $signed::BITS) => {
                    let wide = word::extend(payload, len);
                    let value = wide as $signed;
                    if value as i64 == wide { Some((value, len as usize)) } else { None }
                }
                _ => None,
            }
        }
    )+};
}

fast_narrow! {
    u8 i8 fast_u8 fast_i8 word::first_of;
    u16 i16 fast_u16 fast_i16 word::first_of;
    u32 i32 fast_u32 fast_i32 word::first_of_or_of_fives;
}

#[inline(always)]
const fn fast_u64(bytes: &[u8]) -> Option<(u64, usize)> {
    match bytes.first_chunk() {
        Some(chunk) => match word::first_of_ten(chunk) {
            (payload, len, 0 | 1) => Some((payload, len as usize)),
            _ => None,
        },
        None => None,
    }
}

#[inline(always)]
const fn fast_i64(bytes: &[u8]) -> Option<(i64, usize)> {
    match bytes.first_chunk() {
        Some(chunk) => match word::first_of_ten(chunk) {
            (payload, 10, 0 | 0x7f) => Some((payload as i64, 10)),
            (_, 10, _) => None,
            (payload, len, _) => Some((word::extend(payload, len), len as usize)),
        },
        None => None,
    }
}

#[inline(always)]
const fn fast_u128(bytes: &[u8]) -> Option<(u128, usize)> {
    match word::first_of(bytes) {
        Some((payload, len)) => Some((payload as u128, len as usize)),
        None => None,
    }
}

#[inline(always)]
const fn fast_i128(bytes: &[u8]) -> Option<(i128, usize)> {
    match word::first_of(bytes) {
        Some((payload, len)) => Some((word::extend(payload, len) as i128, len as usize)),
        None => None,
    }
}

/// The functions of one type. `$fast` decodes without a loop; `None` leaves the value to the loop.
macro_rules! functions {
    ($int:ident, signed: $signed:literal, longest: $longest:literal, fast: $fast:path,
     $decode_loop:ident, $write:ident, $write_tight:ident, $decode:ident, $decode_strict:ident, $encode:ident, $encode_into:ident, $encoded_len:ident) => {
        /// Decodes byte by byte: value and length, or length 0 if the bytes are not a value of the type.
        #[inline(never)]
        const fn $decode_loop(bytes: &[u8]) -> ($int, usize) {
            let mut rest = bytes;
            let mut value: $int = 0;
            let mut shift = 0;
            while let [byte, tail @ ..] = rest {
                let room = $int::BITS - shift;
                if room < 7 && !last_byte_fits(*byte, room, $signed) {
                    break;
                }
                value |= ((*byte & 0x7f) as $int) << shift;
                shift += 7;
                if *byte < 0x80 {
                    let unused = $int::BITS.saturating_sub(shift);
                    return (value << unused >> unused, (shift / 7) as usize);
                }
                rest = tail;
            }
            (0, 0)
        }

        #[doc = concat!("Decodes the `", stringify!($int), "` at the beginning of `bytes`: the value and its length.")]
        ///
        /// Padded forms up to the type's maximum length are accepted.
        ///
        /// # Errors
        /// [`Truncated`](DecodeErrorKind::Truncated) or [`Overflow`](DecodeErrorKind::Overflow).
        #[inline(always)]
        pub const fn $decode(bytes: &[u8]) -> Result<($int, usize), DecodeError> {
            // The most frequent length has its own branch, which is well predicted.
            if let [byte, ..] = bytes
                && *byte < 0x80
            {
                let value = if $signed { (*byte << 1).cast_signed() as $int >> 1 } else { *byte as $int };
                return Ok((value, 1));
            }
            if let Some(found) = $fast(bytes) {
                return Ok(found);
            }
            let (value, len) = $decode_loop(bytes);
            if len == 0 {
                return Err(decode_error(bytes, $int::BITS, $signed));
            }
            Ok((value, len))
        }

        #[doc = concat!("Like [`", stringify!($decode), "`], but rejects padded forms.")]
        ///
        /// # Errors
        /// [`Truncated`](DecodeErrorKind::Truncated), [`Overflow`](DecodeErrorKind::Overflow) or
        /// [`Overlong`](DecodeErrorKind::Overlong).
        #[inline]
        pub const fn $decode_strict(bytes: &[u8]) -> Result<($int, usize), DecodeError> {
            match $decode(bytes) {
                Ok((value, len)) if len != $encoded_len(value) => Err(overlong_error(bytes, len, $int::BITS, $signed)),
                result => result,
            }
        }

        /// Encodes into a buffer of the type's maximum length.
        #[inline(never)]
        const fn $write(value: $int, buffer: &mut [u8; $longest]) -> usize {
            let mut value = value;
            let mut rest: &mut [u8] = buffer;
            let mut len = 0;
            while let [byte, tail @ ..] = rest {
                *byte = (value & 0x7f) as u8 | 0x80;
                len += 1;
                // A signed value is complete when only sign bits are left and the byte's bit 6 is the sign.
                let complete = if $signed { value >> 6 == value >> ($int::BITS - 1) } else { value >> 7 == 0 };
                if complete {
                    *byte &= 0x7f;
                    break;
                }
                value >>= 7;
                rest = tail;
            }
            len
        }

        #[doc = concat!("Encodes a `", stringify!($int), "` at the beginning of the buffer and returns those bytes.")]
        #[inline]
        pub const fn $encode(value: $int, buffer: &mut [u8; $longest]) -> &[u8] {
            let len = $write(value, buffer);
            buffer.split_at(len).0
        }

        #[doc = concat!("Encodes a `", stringify!($int), "` at the beginning of the slice and returns its length.")]
        ///
        /// # Errors
        /// [`EncodeError`] if the slice is too small; nothing is written then.
        #[inline(always)]
        pub const fn $encode_into(value: $int, bytes: &mut [u8]) -> Result<usize, EncodeError> {
            let one_byte = if $signed { value >> 6 == value >> ($int::BITS - 1) } else { value >> 7 == 0 };
            if one_byte && let [byte, ..] = bytes {
                *byte = (value & 0x7f) as u8;
                return Ok(1);
            }
            // With room for any value, the length need not be known in advance.
            if let Some(room) = bytes.first_chunk_mut() {
                return Ok($write(value, room));
            }
            $write_tight(value, bytes)
        }

        /// Encodes where there may not be room for the longest encoding.
        #[cold]
        #[inline(never)]
        const fn $write_tight(value: $int, bytes: &mut [u8]) -> Result<usize, EncodeError> {
            let mut buffer = [0; $longest];
            let len = $write(value, &mut buffer);
            match bytes.split_at_mut_checked(len) {
                Some((room, _)) => room.copy_from_slice(buffer.split_at(len).0),
                None => return Err(EncodeError::new(0, 0, len, bytes.len())),
            }
            Ok(len)
        }

        #[doc = concat!("The length in bytes of the shortest encoding of a `", stringify!($int), "`.")]
        #[inline]
        #[must_use]
        pub const fn $encoded_len(value: $int) -> usize {
            // A signed value needs its significant bits and one sign bit.
            let bits = if $signed {
                $int::BITS - (value ^ (value >> ($int::BITS - 1))).leading_zeros() + 1
            } else {
                $int::BITS - (value | 1).leading_zeros()
            };
            bits.div_ceil(7) as usize
        }
    };
}

/// The functions of a pointer-sized type, which call those of the fixed type of that width.
macro_rules! pointer_functions {
    ($($int:ident is $fixed:ident, longest: $longest:literal,
     $($own:ident is $other:ident),+;)+) => {
        $(pointer_functions!(@ $int, $fixed, $longest, $($own, $other),+);)+
    };
    (@ $int:ident, $fixed:ident, $longest:literal, $decode:ident, $decode_fixed:ident,
     $decode_strict:ident, $decode_strict_fixed:ident, $encode:ident, $encode_fixed:ident,
     $encode_into:ident, $encode_into_fixed:ident, $encoded_len:ident, $encoded_len_fixed:ident) => {
        #[doc = concat!("[`", stringify!($decode_fixed), "`] of the same width.")]
        ///
        /// # Errors
        /// As that.
        #[inline(always)]
        pub const fn $decode(bytes: &[u8]) -> Result<($int, usize), DecodeError> {
            match $decode_fixed(bytes) {
                Ok((value, len)) => Ok((value as $int, len)),
                Err(error) => Err(error),
            }
        }

        #[doc = concat!("[`", stringify!($decode_strict_fixed), "`] of the same width.")]
        ///
        /// # Errors
        /// As that.
        #[inline]
        pub const fn $decode_strict(bytes: &[u8]) -> Result<($int, usize), DecodeError> {
            match $decode_strict_fixed(bytes) {
                Ok((value, len)) => Ok((value as $int, len)),
                Err(error) => Err(error),
            }
        }

        #[doc = concat!("[`", stringify!($encode_fixed), "`] of the same width.")]
        #[inline]
        pub const fn $encode(value: $int, buffer: &mut [u8; $longest]) -> &[u8] {
            $encode_fixed(value as $fixed, buffer)
        }

        #[doc = concat!("[`", stringify!($encode_into_fixed), "`] of the same width.")]
        ///
        /// # Errors
        /// As that.
        #[inline]
        pub const fn $encode_into(value: $int, bytes: &mut [u8]) -> Result<usize, EncodeError> {
            $encode_into_fixed(value as $fixed, bytes)
        }

        #[doc = concat!("[`", stringify!($encoded_len_fixed), "`] of the same width.")]
        #[inline]
        #[must_use]
        pub const fn $encoded_len(value: $int) -> usize {
            $encoded_len_fixed(value as $fixed)
        }
    };
}

functions! {
    u8, signed: false, longest: 2, fast: fast_u8, decode_loop_u8, write_u8, write_tight_u8,
    decode_u8, decode_strict_u8, encode_u8, encode_into_u8, encoded_len_u8
}
functions! {
    u16, signed: false, longest: 3, fast: fast_u16, decode_loop_u16, write_u16, write_tight_u16,
    decode_u16, decode_strict_u16, encode_u16, encode_into_u16, encoded_len_u16
}
functions! {
    u32, signed: false, longest: 5, fast: fast_u32, decode_loop_u32, write_u32, write_tight_u32,
    decode_u32, decode_strict_u32, encode_u32, encode_into_u32, encoded_len_u32
}
functions! {
    u64, signed: false, longest: 10, fast: fast_u64, decode_loop_u64, write_u64, write_tight_u64,
    decode_u64, decode_strict_u64, encode_u64, encode_into_u64, encoded_len_u64
}
functions! {
    u128, signed: false, longest: 19, fast: fast_u128, decode_loop_u128, write_u128, write_tight_u128,
    decode_u128, decode_strict_u128, encode_u128, encode_into_u128, encoded_len_u128
}
functions! {
    i8, signed: true, longest: 2, fast: fast_i8, decode_loop_i8, write_i8, write_tight_i8,
    decode_i8, decode_strict_i8, encode_i8, encode_into_i8, encoded_len_i8
}
functions! {
    i16, signed: true, longest: 3, fast: fast_i16, decode_loop_i16, write_i16, write_tight_i16,
    decode_i16, decode_strict_i16, encode_i16, encode_into_i16, encoded_len_i16
}
functions! {
    i32, signed: true, longest: 5, fast: fast_i32, decode_loop_i32, write_i32, write_tight_i32,
    decode_i32, decode_strict_i32, encode_i32, encode_into_i32, encoded_len_i32
}
functions! {
    i64, signed: true, longest: 10, fast: fast_i64, decode_loop_i64, write_i64, write_tight_i64,
    decode_i64, decode_strict_i64, encode_i64, encode_into_i64, encoded_len_i64
}
functions! {
    i128, signed: true, longest: 19, fast: fast_i128, decode_loop_i128, write_i128, write_tight_i128,
    decode_i128, decode_strict_i128, encode_i128, encode_into_i128, encoded_len_i128
}
#[cfg(target_pointer_width = "64")]
pointer_functions! {
    usize is u64, longest: 10, decode_usize is decode_u64, decode_strict_usize is decode_strict_u64,
    encode_usize is encode_u64, encode_into_usize is encode_into_u64, encoded_len_usize is encoded_len_u64;
    isize is i64, longest: 10, decode_isize is decode_i64, decode_strict_isize is decode_strict_i64,
    encode_isize is encode_i64, encode_into_isize is encode_into_i64, encoded_len_isize is encoded_len_i64;
}
#[cfg(target_pointer_width = "32")]
pointer_functions! {
    usize is u32, longest: 5, decode_usize is decode_u32, decode_strict_usize is decode_strict_u32,
    encode_usize is encode_u32, encode_into_usize is encode_into_u32, encoded_len_usize is encoded_len_u32;
    isize is i32, longest: 5, decode_isize is decode_i32, decode_strict_isize is decode_strict_i32,
    encode_isize is encode_i32, encode_into_isize is encode_into_i32, encoded_len_isize is encoded_len_i32;
}
#[cfg(target_pointer_width = "16")]
pointer_functions! {
    usize is u16, longest: 3, decode_usize is decode_u16, decode_strict_usize is decode_strict_u16,
    encode_usize is encode_u16, encode_into_usize is encode_into_u16, encoded_len_usize is encoded_len_u16;
    isize is i16, longest: 3, decode_isize is decode_i16, decode_strict_isize is decode_strict_i16,
    encode_isize is encode_i16, encode_into_isize is encode_into_i16, encoded_len_isize is encoded_len_i16;
}
