//! Types that hold two numbers.

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_schema::DataType;

use super::bind::Typed;
use super::evaluate::{Rows, cast};
use super::types::Kind;

/// Two numbers for arithmetic with one type.
pub(super) fn alike_numbers(left: Typed, right: Typed, divides: bool) -> (Typed, Typed) {
    if divides || left.kind() == Kind::Float || right.kind() == Kind::Float {
        let common = common_float(&left, &right);
        return (left.cast(&common), right.cast(&common));
    }
    match (left.kind(), right.kind()) {
        (Kind::Decimal, Kind::Integer) => (left, right.cast(&DataType::Decimal128(19, 0))),
        (Kind::Integer, Kind::Decimal) => (left.cast(&DataType::Decimal128(19, 0)), right),
        _ => (left, right),
    }
}

/// The floating-point type of two numbers: 64 bits, but 32 bits where neither has more, and a constant is rounded.
fn common_float(one: &Typed, other: &Typed) -> DataType {
    let is_single = |number: &Typed| matches!(number.data_type, DataType::Float32 | DataType::Float16);
    match (is_single(one), is_single(other)) {
        (true, true) => DataType::Float32,
        (true, false) if is_single_constant(other) => DataType::Float32,
        (false, true) if is_single_constant(one) => DataType::Float32,
        _ => DataType::Float64,
    }
}

/// Whether a number is the same for all rows, and what it means in 32 bits: digits after a point are rounded, integers are exact.
fn is_single_constant(number: &Typed) -> bool {
    // There are no columns: an expression that mentions one fails.
    let rows = Rows { columns: Vec::new(), len: 0 };
    let float = |data_type: &DataType| -> Option<f64> {
        let constant = cast(&rows.value(&number.value).ok()?.array, data_type).ok()?;
        let constant = cast(&constant, &DataType::Float64).ok()?;
        constant.as_primitive_opt::<Float64Type>()?.iter().next()?
    };
    match (number.kind(), float(&DataType::Float32), float(&DataType::Float64)) {
        (Kind::Integer, Some(single), Some(double)) => single == double,
        (Kind::Decimal, Some(single), _) => single.is_finite(),
        _ => false,
    }
}

/// A type that holds two numbers, exactly unless one is a decimal and the other a floating-point number.
pub(super) fn common_number(one: &Typed, other: &Typed) -> DataType {
    let (a, b) = (one.kind(), other.kind());
    if a == Kind::Float || b == Kind::Float {
        return common_float(one, other);
    }
    let (one, other) = (&one.data_type, &other.data_type);
    if a == Kind::Integer && b == Kind::Integer && *one != DataType::UInt64 && *other != DataType::UInt64 {
        return DataType::Int64;
    }
    let digits = |data_type: &DataType| match data_type {
        DataType::Decimal32(p, s)
        | DataType::Decimal64(p, s)
        | DataType::Decimal128(p, s)
        | DataType::Decimal256(p, s) => (i16::from(*p) - i16::from(*s), i16::from(*s)),
        _ => (20, 0),
    };
    let ((whole, scale), (other_whole, other_scale)) = (digits(one), digits(other));
    let scale = scale.max(other_scale);
    let precision = u8::try_from(whole.max(other_whole) + scale).unwrap_or(76).clamp(1, 76);
    let scale = i8::try_from(scale).unwrap_or(0);
    if precision <= 38 { DataType::Decimal128(precision, scale) } else { DataType::Decimal256(precision, scale) }
}
