//! The definition of LEB128 written down as plainly as it goes, to compare with.

use leb128_codec::{DecodeError, DecodeErrorKind, Integer};

/// What a decoder must say: value (its bits, extended to 128) and length, or kind and offset of the error.
pub(crate) type Verdict = Result<(u128, usize), (DecodeErrorKind, usize)>;

/// Decodes bit by bit.
pub(crate) fn naive(bytes: &[u8], bits: usize, signed: bool, strict: bool) -> Verdict {
    let longest = bits.div_ceil(7);
    let Some(len) = bytes.iter().take(longest).position(|byte| byte & 0x80 == 0).map(|last| last + 1) else {
        return if bytes.len() < longest {
            Err((DecodeErrorKind::Truncated, 0))
        } else {
            Err((DecodeErrorKind::Overflow, longest - 1))
        };
    };
    let payload: Vec<bool> = bytes[..len].iter().flat_map(|byte| (0..7).map(move |bit| byte >> bit & 1 == 1)).collect();
    let sign = signed && payload[payload.len() - 1];
    // Bits the type has no room for must be what extending the others would give.
    if payload.len() > bits {
        let filler = signed && payload[bits - 1];
        if payload[bits..].iter().any(|bit| *bit != filler) {
            return Err((DecodeErrorKind::Overflow, len - 1));
        }
    }
    // The last byte is padding when the value is the same without it.
    let without = &payload[..payload.len() - 7];
    let same = payload[without.len()..].iter().all(|bit| *bit == (signed && without.last() == Some(&true)));
    if strict && len > 1 && same {
        return Err((DecodeErrorKind::Overlong, len - 1));
    }
    let bit = |at: usize| payload.get(at).copied().unwrap_or(sign);
    let value = (0..128).filter(|at| bit(*at)).fold(0, |value, at| value | 1_u128 << at);
    Ok((value, len))
}

/// A decoder's result in the terms of [`naive`].
pub(crate) fn verdict<T: Wide>(result: Result<(T, usize), DecodeError>) -> Verdict {
    result.map(|(value, len)| (value.wide(), len)).map_err(|error| (error.kind(), error.offset()))
}

/// The bits of a value, extended to 128.
pub(crate) trait Wide: Integer {
    fn wide(self) -> u128;
}

macro_rules! wide {
    ($($int:ident)+) => {$(
        impl Wide for $int {
            fn wide(self) -> u128 {
                self as u128
            }
        }
    )+};
}

wide!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

/// Calls a macro with each type.
macro_rules! for_each_type {
    ($call:ident) => {
        $call!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);
    };
}
pub(crate) use for_each_type;
