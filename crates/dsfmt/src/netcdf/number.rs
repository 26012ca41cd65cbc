//! Conversions between numeric types, with numpy's semantics.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "this module converts between all numeric types; `exact` checks for losses"
)]

use crate::array::Values;
use crate::types::{DataType, Element};

/// A numeric type, convertible to all others.
pub(crate) trait Number: Element {
    /// True for integers, which `to_i128` preserves.
    const IS_INTEGER: bool;

    fn to_f64(self) -> f64;
    fn to_i128(self) -> i128;
    /// Rounds to the nearest float, or truncates to the lowest bits.
    fn from_f64(number: f64) -> Self;
    fn from_i128(number: i128) -> Self;
    /// numpy's multiplication: integers wrap around.
    fn multiply(self, other: Self) -> Self;
    /// numpy's addition: integers wrap around.
    fn add(self, other: Self) -> Self;
    /// Wraps a vector.
    fn values(all: Vec<Self>) -> Values<'static>;
    /// NetCDF's default fill value.
    fn default_fill() -> Self;
}

macro_rules! wrapping {
    (true, $a:expr, $b:expr, $operator:tt, $wrapping:ident) => {
        $a.$wrapping($b)
    };
    (false, $a:expr, $b:expr, $operator:tt, $wrapping:ident) => {
        $a $operator $b
    };
}

macro_rules! numbers {
    ($($number:ty, $integer:tt, $fill:expr;)*) => {$(
        impl Number for $number {
            const IS_INTEGER: bool = $integer;

            #[inline]
            fn to_f64(self) -> f64 {
                self as f64
            }

            #[inline]
            fn to_i128(self) -> i128 {
                self as i128
            }

            #[inline]
            fn from_f64(number: f64) -> Self {
                number as Self
            }

            #[inline]
            fn from_i128(number: i128) -> Self {
                number as Self
            }

            #[inline]
            fn multiply(self, other: Self) -> Self {
                wrapping!($integer, self, other, *, wrapping_mul)
            }

            #[inline]
            fn add(self, other: Self) -> Self {
                wrapping!($integer, self, other, +, wrapping_add)
            }

            fn values(all: Vec<Self>) -> Values<'static> {
                all.into()
            }

            fn default_fill() -> Self {
                $fill
            }
        }
    )*};
}

numbers! {
    f32, false, f32::from_bits(0x7cf0_0000);
    f64, false, f64::from_bits(0x479e_0000_0000_0000);
    i8, true, -127;
    i16, true, -32767;
    i32, true, -2_147_483_647;
    i64, true, -9_223_372_036_854_775_806;
    u8, true, 255;
    u16, true, 65_535;
    u32, true, 4_294_967_295;
    u64, true, 18_446_744_073_709_551_614;
}

/// Dispatches on a numeric type: `$type` names it in `$then`; `$otherwise` handles strings and booleans.
macro_rules! with_number {
    ($data_type:expr, $type:ident => $then:expr, $otherwise:expr) => {
        match $data_type {
            $crate::types::DataType::Float32 => {
                type $type = f32;
                $then
            }
            $crate::types::DataType::Float64 => {
                type $type = f64;
                $then
            }
            $crate::types::DataType::Int8 => {
                type $type = i8;
                $then
            }
            $crate::types::DataType::Int16 => {
                type $type = i16;
                $then
            }
            $crate::types::DataType::Int32 => {
                type $type = i32;
                $then
            }
            $crate::types::DataType::Int64 => {
                type $type = i64;
                $then
            }
            $crate::types::DataType::Uint8 => {
                type $type = u8;
                $then
            }
            $crate::types::DataType::Uint16 => {
                type $type = u16;
                $then
            }
            $crate::types::DataType::Uint32 => {
                type $type = u32;
                $then
            }
            $crate::types::DataType::Uint64 => {
                type $type = u64;
                $then
            }
            $crate::types::DataType::Bool | $crate::types::DataType::Str | $crate::types::DataType::Unicode => {
                $otherwise
            }
        }
    };
}
pub(crate) use with_number;

/// Converts a number if the result compares equal, in the type that numpy compares in.
pub(crate) fn exact<S: Number, T: Number>(number: S) -> Option<T> {
    match (S::IS_INTEGER, T::IS_INTEGER) {
        (true, true) => {
            let converted = T::from_i128(number.to_i128());
            (converted.to_i128() == number.to_i128()).then_some(converted)
        }
        (true, false) => {
            let converted = T::from_f64(number.to_f64());
            // Compared as floats, as numpy does.
            (converted.to_f64() == number.to_f64()).then_some(converted)
        }
        (false, true) => {
            let wide = number.to_f64();
            let converted = T::from_i128(wide as i128);
            (wide.is_finite() && wide.trunc() == wide && converted.to_i128() == wide as i128).then_some(converted)
        }
        (false, false) => {
            let converted = T::from_f64(number.to_f64());
            (converted.to_f64() == number.to_f64() || number.to_f64().is_nan()).then_some(converted)
        }
    }
}

/// Converts numbers that are in range: exactly between integers, rounded to floats.
pub(crate) fn convert<S: Number, T: Number>(all: &[S]) -> Vec<T> {
    match (S::IS_INTEGER, T::TYPE) {
        (true, to) if to != DataType::Float32 && to != DataType::Float64 => {
            all.iter().map(|number| T::from_i128(number.to_i128())).collect()
        }
        // Integers promoted to `f32` are exact in it.
        _ => all.iter().map(|number| T::from_f64(number.to_f64())).collect(),
    }
}

/// numpy's result type of arithmetic on two types.
pub(crate) fn promoted(a: DataType, b: DataType) -> DataType {
    use DataType::{Float32, Float64, Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32};
    let width = |number: DataType| number.width().unwrap_or(8);
    let signed = |number| matches!(number, Int8 | Int16 | Int32 | Int64);
    match (a, b) {
        (Float64, _) | (_, Float64) => Float64,
        (Float32, other) | (other, Float32) if other == Float32 || width(other) <= 2 => Float32,
        (Float32, _) | (_, Float32) => Float64,
        _ if signed(a) == signed(b) => {
            if width(a) >= width(b) {
                a
            } else {
                b
            }
        }
        _ => {
            let (signed, unsigned) = if signed(a) { (a, b) } else { (b, a) };
            match unsigned {
                _ if width(signed) > width(unsigned) => signed,
                Uint8 => Int16,
                Uint16 => Int32,
                Uint32 => Int64,
                _ => Float64,
            }
        }
    }
}

/// Reinterprets signed integers as unsigned; other values are unchanged.
pub(crate) fn unsigned(values: Values<'_>) -> Values<'_> {
    match values {
        Values::Int8(all) => all.iter().map(|number| *number as u8).collect::<Vec<_>>().into(),
        Values::Int16(all) => all.iter().map(|number| *number as u16).collect::<Vec<_>>().into(),
        Values::Int32(all) => all.iter().map(|number| *number as u32).collect::<Vec<_>>().into(),
        Values::Int64(all) => all.iter().map(|number| *number as u64).collect::<Vec<_>>().into(),
        other => other,
    }
}

/// The type of [`unsigned`] values.
pub(crate) fn unsigned_type(data_type: DataType) -> DataType {
    match data_type {
        DataType::Int8 => DataType::Uint8,
        DataType::Int16 => DataType::Uint16,
        DataType::Int32 => DataType::Uint32,
        DataType::Int64 => DataType::Uint64,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_requires_equality() {
        assert_eq!(exact::<f64, f32>(1e20), None);
        assert_eq!(exact::<f64, f32>(f64::from(1e20f32)), Some(1e20f32));
        assert!(exact::<f64, f32>(f64::NAN).unwrap().is_nan());
        assert_eq!(exact::<f64, i16>(f64::NAN), None);
        assert_eq!(exact::<f64, i64>(2f64.powi(63)), None);
        assert_eq!(exact::<f64, i16>(-9999.0), Some(-9999));
        assert_eq!(exact::<f64, i16>(0.5), None);
        assert_eq!(exact::<i32, i16>(70_000), None);
        assert_eq!(exact::<i32, u8>(-1), None);
        assert_eq!(exact::<i32, f32>(16_777_217), None);
        assert_eq!(exact::<i64, f64>(i64::MAX), Some(i64::MAX as f64));
        assert_eq!(
            (f32::default_fill(), f64::default_fill()),
            (9.969_209_968_386_869e36f64 as f32, 9.969_209_968_386_869e36)
        );
    }

    #[test]
    fn promotes_like_numpy() {
        use DataType::*;
        for (a, b, expected) in [
            (Int16, Float64, Float64),
            (Int16, Float32, Float32),
            (Int32, Float32, Float64),
            (Uint16, Float32, Float32),
            (Float32, Float32, Float32),
            (Uint64, Int8, Float64),
            (Uint8, Int8, Int16),
            (Uint32, Int32, Int64),
            (Uint16, Int32, Int32),
            (Uint8, Uint64, Uint64),
        ] {
            assert_eq!((promoted(a, b), promoted(b, a)), (expected, expected), "{a} {b}");
        }
    }
}
