//! Numeric types for statistics.

use crate::types::Element;

use super::Number;

/// A number with an order-preserving key, and sums with little or no rounding.
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

    /// The sum of the values, and the sum of squared deviations from their mean.
    fn sums(values: &[Self]) -> (Sum, f64);
}

/// A sum: exact for integers, compensated for floats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Sum {
    Integer(i128),
    /// The sum, and its compensation for rounding errors.
    Float(f64, f64),
}

impl Sum {
    pub(super) fn add(self, other: Self) -> Self {
        match (self, other) {
            (Self::Integer(one), Self::Integer(other)) => Self::Integer(one.saturating_add(other)), // 2^64 numbers below 2^64 cannot overflow
            (Self::Float(one, lost), Self::Float(other, more)) => {
                let sum = one + other;
                // The rounding error is the part of the smaller term that the sum cannot represent.
                let error = if one.abs() >= other.abs() { (one - sum) + other } else { (other - sum) + one };
                Self::Float(sum, lost + more + error)
            }
            (Self::Integer(number), float @ Self::Float(..)) | (float @ Self::Float(..), Self::Integer(number)) => {
                float.add(Self::Float(Number::Integer(number).as_f64(), 0.0))
            }
        }
    }

    /// The sum divided by `count`.
    #[allow(clippy::cast_precision_loss, reason = "the nearest float is intended")]
    pub(super) fn divided_by(self, count: u64) -> f64 {
        match self {
            Self::Integer(sum) => {
                let count = i128::from(count.max(1));
                (sum / count) as f64 + (sum % count) as f64 / count as f64
            }
            Self::Float(sum, lost) if lost.is_finite() => (sum + lost) / count as f64,
            Self::Float(sum, _) => sum / count as f64,
        }
    }
}

macro_rules! integers {
    ($($number:ty, $unsigned:ty, $wide:ty;)*) => {$(
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

            #[allow(clippy::cast_precision_loss, clippy::cast_lossless, reason = "a deviation is a float")]
            fn sums(values: &[Self]) -> (Sum, f64) {
                let Some(pivot) = values.first().map(|first| <$wide>::from(*first)) else { return (Sum::Integer(0), 0.0) };
                let sum: $wide = values.iter().map(|value| <$wide>::from(*value) - pivot).sum();
                let count = values.len();
                let mean = sum as f64 / count as f64;
                let squares = sum_by(values, |value| {
                    let deviation = (<$wide>::from(value) - pivot) as f64 - mean;
                    deviation * deviation
                });
                (Sum::Integer(i128::from(sum) + i128::from(pivot) * count as i128), squares)
            }
        }
    )*};
}

integers! {
    i8, u8, i64;
    i16, u16, i64;
    i32, u32, i64;
    i64, u64, i128;
    u8, u8, i64;
    u16, u16, i64;
    u32, u32, i64;
    u64, u64, i128;
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
                Number::$name(self)
            }

            #[allow(clippy::cast_precision_loss, reason = "a mean is a float")]
            fn sums(values: &[Self]) -> (Sum, f64) {
                let sum = values.chunks(512).fold(Sum::Float(0.0, 0.0), |sum, part| {
                    sum.add(Sum::Float(sum_by(part, f64::from), 0.0))
                });
                let mean = sum.divided_by(values.len() as u64);
                let squares = sum_by(values, |value| {
                    let deviation = f64::from(value) - mean;
                    deviation * deviation
                });
                (sum, squares)
            }
        }
    )*};
}

floats! {
    f32, u32, Float32;
    f64, u64, Float64;
}

/// Sums `map(value)` in eight parallel lanes, for vectorization.
fn sum_by<T: Copy>(values: &[T], map: impl Fn(T) -> f64) -> f64 {
    let (eights, rest) = values.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for eight in eights {
        for (sum, value) in sums.iter_mut().zip(eight) {
            *sum += map(*value);
        }
    }
    let rest: f64 = rest.iter().map(|value| map(*value)).sum();
    sums.iter().sum::<f64>() + rest
}
