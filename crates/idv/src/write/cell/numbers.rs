//! Converting cells to integers and floats.

use container_core::{Error, Result};

use super::{Cell, does_not_fit, item_mismatch};
use crate::wire::ItemType;

/// Converts a cell to an integer.
pub(super) fn integer(cell: &Cell<'_>, item: ItemType) -> Result<i128> {
    match *cell {
        Cell::Int(x) => Ok(x),
        Cell::RowId(x) => i128::try_from(x).map_err(|_| does_not_fit(&x.to_string(), item)),
        Cell::Single(x) => float_as_integer(x.into()).ok_or_else(|| item_mismatch(cell, item)),
        Cell::Double(x) => float_as_integer(x).ok_or_else(|| item_mismatch(cell, item)),
        Cell::Untyped(word) => parse_integer(word).ok_or_else(|| item_mismatch(cell, item)),
        _ => Err(item_mismatch(cell, item)),
    }
}

/// Converts a float that is an integer below 2^64 in magnitude.
fn float_as_integer(x: f64) -> Option<i128> {
    const END: f64 = 18_446_744_073_709_551_616.0;
    if x.fract() != 0.0 || x.abs() >= END {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "an integer below 2^64")]
    Some(x as i128)
}

/// Parses an integer; with a point or exponent only where a float is exact.
pub(super) fn parse_integer(word: &str) -> Option<i128> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let word = word.trim();
    match word.parse::<i128>() {
        Ok(number) => Some(number),
        Err(_) => float_as_integer(word.parse::<f64>().ok().filter(|x| x.abs() < EXACT)?),
    }
}

/// .NET's NaN, with the sign bit set, so that ML.NET files round-trip through text bit for bit.
pub(crate) const NAN: f32 = f32::from_bits(0xFFC0_0000);

/// As [`NAN`]. It is not made from that: Rust does not specify the sign of a NaN that is converted, and optimized builds change it.
pub(crate) const NAN_DOUBLE: f64 = f64::from_bits(0xFFF8_0000_0000_0000);

pub(super) fn single(cell: &Cell<'_>) -> Result<f32> {
    const ITEM: ItemType = ItemType::Single;
    Ok(match *cell {
        Cell::Single(x) => x,
        Cell::Double(x) => {
            #[expect(clippy::cast_possible_truncation, reason = "rounding to Single is intended")]
            let rounded = x as f32;
            if rounded.is_infinite() && x.is_finite() {
                return Err(too_large(&x.to_string(), ITEM));
            }
            rounded
        }
        Cell::Int(x) => {
            let rounded = x as f32;
            if !is_exactly(rounded.into(), x) {
                return Err(not_exact(x, ITEM));
            }
            rounded
        }
        Cell::Missing => NAN,
        Cell::Untyped(word) => {
            let word = word.trim();
            let parsed: f32 = word.parse().map_err(|_| item_mismatch(cell, ITEM))?;
            if parsed.is_infinite() && has_digits(word) {
                return Err(too_large(word, ITEM));
            }
            if parsed.is_nan() { NAN } else { parsed }
        }
        Cell::Text(text) => named_float(text, NAN).ok_or_else(|| item_mismatch(cell, ITEM))?,
        _ => return Err(item_mismatch(cell, ITEM)),
    })
}

pub(super) fn double(cell: &Cell<'_>) -> Result<f64> {
    const ITEM: ItemType = ItemType::Double;
    Ok(match *cell {
        Cell::Double(x) => x,
        Cell::Single(x) => x.into(),
        Cell::Int(x) => {
            let rounded = x as f64;
            if !is_exactly(rounded, x) {
                return Err(not_exact(x, ITEM));
            }
            rounded
        }
        Cell::Missing => NAN_DOUBLE,
        Cell::Untyped(word) => {
            let word = word.trim();
            let parsed: f64 = word.parse().map_err(|_| item_mismatch(cell, ITEM))?;
            if parsed.is_infinite() && has_digits(word) {
                return Err(too_large(word, ITEM));
            }
            if parsed.is_nan() { NAN_DOUBLE } else { parsed }
        }
        Cell::Text(text) => named_float(text, NAN_DOUBLE).ok_or_else(|| item_mismatch(cell, ITEM))?,
        _ => return Err(item_mismatch(cell, ITEM)),
    })
}

/// Non-finite floats by name, as in JSON.
fn named_float<F: From<f32>>(text: &str, nan: F) -> Option<F> {
    match text {
        "NaN" => Some(nan),
        "Infinity" => Some(f32::INFINITY.into()),
        "-Infinity" => Some(f32::NEG_INFINITY.into()),
        _ => None,
    }
}

/// Distinguishes overflow from a spelled-out infinity.
fn has_digits(word: &str) -> bool {
    word.bytes().any(|byte| byte.is_ascii_digit())
}

/// Whether a float represents the integer exactly.
fn is_exactly(rounded: f64, number: i128) -> bool {
    // 2^127: above it the cast saturates.
    const END: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;
    #[expect(clippy::cast_possible_truncation, reason = "an integer below 2^127")]
    let same = rounded.abs() < END && rounded as i128 == number;
    same
}

#[cold]
fn too_large(found: &str, item: ItemType) -> Error {
    let max = if item == ItemType::Single { f64::from(f32::MAX) } else { f64::MAX };
    Error::invalid(format!("{found} does not fit {item} (up to {max:e})"))
}

#[cold]
fn not_exact(found: i128, item: ItemType) -> Error {
    let bits = if item == ItemType::Single { 24 } else { 53 };
    Error::invalid(format!("{found} is not exactly representable as {item} ({bits}-bit significand)"))
}
