//! A reference decoder that follows the definition of LEB128 bit by bit.

use leb128_codec::{DecodeError, DecodeErrorKind, Integer};
use proptest::prelude::ProptestConfig;

/// `cases`, unless `PROPTEST_CASES` asks for another number, as emulators and Miri do.
pub(crate) fn config(cases: u32) -> ProptestConfig {
    let requested = std::env::var("PROPTEST_CASES").ok().and_then(|number| number.parse().ok());
    ProptestConfig::with_cases(requested.unwrap_or(cases))
}

/// What a decoder must return: the value (extended to 128 bits) and length, or kind and offset of the error.
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
    // Bits beyond the type's width must be zeros, or copies of the sign.
    if payload.len() > bits {
        let filler = signed && payload[bits - 1];
        if payload[bits..].iter().any(|bit| *bit != filler) {
            return Err((DecodeErrorKind::Overflow, len - 1));
        }
    }
    // The last byte is padding if the value is the same without it.
    let shorter = &payload[..payload.len() - 7];
    let padded = payload[shorter.len()..].iter().all(|bit| *bit == (signed && shorter.last() == Some(&true)));
    if strict && len > 1 && padded {
        return Err((DecodeErrorKind::Overlong, len - 1));
    }
    let bit = |at: usize| payload.get(at).copied().unwrap_or(sign);
    let value = (0..128).filter(|at| bit(*at)).fold(0, |value, at| value | 1_u128 << at);
    Ok((value, len))
}

/// A decoder's result as a [`Verdict`].
pub(crate) fn verdict<T: Wide>(result: Result<(T, usize), DecodeError>) -> Verdict {
    result.map(|(value, len)| (value.wide(), len)).map_err(|error| (error.kind(), error.offset()))
}

/// A value extended to 128 bits.
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
