//! What statistics ask of a type of numbers.

use crate::types::Element;

use super::Number;

/// Numbers in an order, with sums that lose little or nothing.
pub(super) trait Numeric: Element {
    /// Bits of a key.
    const BITS: u32;

    /// A number that is in the order of these, the least being 0.
    fn key(self) -> u64;

    /// The number of a key.
    fn of_key(key: u64) -> Self;

    /// It is NaN.
    fn is_nan(self) -> bool;

    /// As it is shown.
    fn number(self) -> Number;

    /// The sum of some, and that of the squares of their distances from their mean.
    fn sums(values: &[Self]) -> (Sum, f64);
}

/// A sum, exact for integers, and for floats much better than the float it becomes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Sum {
    Integer(i128),
    /// The sum, and what its roundings lost.
    Float(f64, f64),
}

impl Sum {
    pub(super) fn add(self, other: Self) -> Self {
        match (self, other) {
            (Self::Integer(one), Self::Integer(other)) => Self::Integer(one.saturating_add(other)), // 2^64 numbers of 2^64 do not get there
            (Self::Float(one, lost), Self::Float(other, more)) => {
                let sum = one + other;
                // What is lost is the part of the smaller one that the sum has no digits for.
                let now = if one.abs() >= other.abs() { (one - sum) + other } else { (other - sum) + one };
                Self::Float(sum, lost + more + now)
            }
            (Self::Integer(number), float @ Self::Float(..)) | (float @ Self::Float(..), Self::Integer(number)) => {
                float.add(Self::Float(Number::Integer(number).as_f64(), 0.0))
            }
        }
    }

    /// Divided by a count.
    #[allow(clippy::cast_precision_loss, reason = "the nearest float is what is wanted")]
    pub(super) fn over(self, count: u64) -> f64 {
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
                // The sign's bit turned over puts the negative ones first.
                const FLIP: $unsigned = if <$number>::MIN == 0 { 0 } else { 1 << (<$number>::BITS - 1) };
                u64::from(<$unsigned>::from_ne_bytes(self.to_ne_bytes()) ^ FLIP)
            }

            fn of_key(key: u64) -> Self {
                const FLIP: $unsigned = if <$number>::MIN == 0 { 0 } else { 1 << (<$number>::BITS - 1) };
                let key = <$unsigned>::try_from(key).unwrap_or(0); // a key has no more bits
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
                let squares = lanes(values, |value| {
                    let off = (<$wide>::from(value) - pivot) as f64 - mean;
                    off * off
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
                // Negative ones in reverse, before the others.
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                let bits = self.to_bits();
                u64::from(if bits & SIGN == 0 { bits | SIGN } else { !bits })
            }

            fn of_key(key: u64) -> Self {
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                let key = <$bits>::try_from(key).unwrap_or(0); // a key has no more bits
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
                    sum.add(Sum::Float(lanes(part, f64::from), 0.0))
                });
                let mean = sum.over(values.len() as u64);
                let squares = lanes(values, |value| {
                    let off = f64::from(value) - mean;
                    off * off
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

/// A sum by eight sums side by side, which a processor takes at once.
fn lanes<T: Copy>(values: &[T], of: impl Fn(T) -> f64) -> f64 {
    let (eights, rest) = values.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for eight in eights {
        for (sum, value) in sums.iter_mut().zip(eight) {
            *sum += of(*value);
        }
    }
    let rest: f64 = rest.iter().map(|value| of(*value)).sum();
    sums.iter().sum::<f64>() + rest
}
