//! Numeric types for statistics.

use container_core::moments::Block;

use crate::types::Element;

use super::Number;

/// A number with an order-preserving key.
pub(super) trait Numeric: Element {
    /// Width of a key in bits.
    const BITS: u32;

    /// An unsigned key in the order of the numbers.
    fn key(self) -> u64;

    /// The inverse of [`key`](Self::key).
    fn from_key(key: u64) -> Self;

    /// True for NaN.
    fn is_nan(self) -> bool;

    /// As a [`Number`].
    fn number(self) -> Number;

    /// Sum, mean and deviations of the values, which are not NaN.
    fn moments(values: &[Self]) -> Block;
}

macro_rules! integers {
    ($($number:ty, $unsigned:ty;)*) => {$(
        impl Numeric for $number {
            const BITS: u32 = <$number>::BITS;

            #[inline]
            fn key(self) -> u64 {
                // Flipping the sign bit sorts negative numbers first.
                const FLIP: $unsigned = if <$number>::MIN == 0 { 0 } else { 1 << (<$number>::BITS - 1) };
                u64::from(<$unsigned>::from_ne_bytes(self.to_ne_bytes()) ^ FLIP)
            }

            fn from_key(key: u64) -> Self {
                const FLIP: $unsigned = if <$number>::MIN == 0 { 0 } else { 1 << (<$number>::BITS - 1) };
                let key = <$unsigned>::try_from(key).unwrap_or(0); // a key has no more bits than the type
                Self::from_ne_bytes((key ^ FLIP).to_ne_bytes())
            }

            #[inline]
            fn is_nan(self) -> bool {
                false
            }

            fn number(self) -> Number {
                Number::Integer(self.into())
            }

            fn moments(values: &[Self]) -> Block {
                Block::of_integers(values, Self::key, |key| Self::from_key(key).into())
            }
        }
    )*};
}

integers! {
    i8, u8;
    i16, u16;
    i32, u32;
    i64, u64;
    u8, u8;
    u16, u16;
    u32, u32;
    u64, u64;
}

macro_rules! floats {
    ($($number:ty, $bits:ty, $name:ident;)*) => {$(
        impl Numeric for $number {
            const BITS: u32 = <$bits>::BITS;

            #[inline]
            fn key(self) -> u64 {
                // Negative numbers reversed, before the others.
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                let bits = self.to_bits();
                u64::from(if bits & SIGN == 0 { bits | SIGN } else { !bits })
            }

            fn from_key(key: u64) -> Self {
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                let key = <$bits>::try_from(key).unwrap_or(0); // a key has no more bits than the type
                Self::from_bits(if key & SIGN == 0 { !key } else { key & !SIGN })
            }

            #[inline]
            fn is_nan(self) -> bool {
                self.is_nan()
            }

            fn number(self) -> Number {
                Number::$name(self + 0.0) // 0 and -0 are one
            }

            fn moments(values: &[Self]) -> Block {
                Block::of_floats(values, f64::from)
            }
        }
    )*};
}

floats! {
    f32, u32, Float32;
    f64, u64, Float64;
}
