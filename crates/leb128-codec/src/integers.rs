//! The trait [`Integer`] for Rust's integer types.

use crate::bulk::portable;
use crate::bulk::progress::{Progress, no_kernel};
use crate::error::{DecodeError, EncodeError};
use crate::integer::{Codec, Integer};
use crate::{simd, typed, word};

macro_rules! integer {
    ($($int:ident: $decode:ident $decode_strict:ident $encode_into:ident $encoded_len:ident, $run:path;)+) => {$(
        impl Integer for $int {
            const BITS: u32 = $int::BITS;
            const SIGNED: bool = $int::MIN != 0;
            const MAX_LEN: usize = typed::max_len($int::BITS);
            type Buffer = [u8; typed::max_len($int::BITS)];
        }

        impl Codec for $int {
            #[inline(always)]
            fn decode(bytes: &[u8]) -> Result<(Self, usize), DecodeError> {
                typed::$decode(bytes)
            }

            #[inline]
            fn decode_strict(bytes: &[u8]) -> Result<(Self, usize), DecodeError> {
                typed::$decode_strict(bytes)
            }

            #[inline]
            fn encode_into(self, bytes: &mut [u8]) -> Result<usize, EncodeError> {
                typed::$encode_into(self, bytes)
            }

            #[inline]
            fn encoded_len(self) -> usize {
                typed::$encoded_len(self)
            }

            fn decode_run(input: &[u8], out: &mut [Self]) -> Progress {
                $run(input, out)
            }

            #[inline(always)]
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_possible_wrap,
                clippy::cast_sign_loss,
                clippy::cast_lossless,
                reason = "the narrowed value is compared with the original"
            )]
            fn from_payload(payload: u64, len: u32, last: u8) -> (Self, bool) {
                if Self::SIGNED {
                    let wide = word::extend(payload, len.min(9));
                    let whole = if len == 10 { payload as i64 } else { wide };
                    let value = whole as $int;
                    (value, value as i64 == whole && matches!(last, 0 | 0x7f))
                } else {
                    let value = payload as $int;
                    (value, value as u64 == payload && last <= 1)
                }
            }

            #[inline(always)]
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_lossless,
                reason = "sign extension and truncation are documented"
            )]
            fn to_word(self) -> u64 {
                self as u64
            }
        }
    )+};
}

integer! {
    u8: decode_u8 decode_strict_u8 encode_into_u8 encoded_len_u8, portable::run;
    u16: decode_u16 decode_strict_u16 encode_into_u16 encoded_len_u16, portable::run;
    u32: decode_u32 decode_strict_u32 encode_into_u32 encoded_len_u32, simd::run;
    u64: decode_u64 decode_strict_u64 encode_into_u64 encoded_len_u64, simd::run;
    u128: decode_u128 decode_strict_u128 encode_into_u128 encoded_len_u128, no_kernel;
    usize: decode_usize decode_strict_usize encode_into_usize encoded_len_usize, simd::run;
    i8: decode_i8 decode_strict_i8 encode_into_i8 encoded_len_i8, portable::run;
    i16: decode_i16 decode_strict_i16 encode_into_i16 encoded_len_i16, portable::run;
    i32: decode_i32 decode_strict_i32 encode_into_i32 encoded_len_i32, simd::run;
    i64: decode_i64 decode_strict_i64 encode_into_i64 encoded_len_i64, simd::run;
    i128: decode_i128 decode_strict_i128 encode_into_i128 encoded_len_i128, no_kernel;
    isize: decode_isize decode_strict_isize encode_into_isize encoded_len_isize, simd::run;
}
