//! Comparisons with literals: the literal becomes a value of the column's type, and the comparison one that means the same for all values of it.

use std::sync::Arc;

use arrow_array::{Array, ArrowPrimitiveType};
use arrow_array::{
    ArrayRef, Decimal32Array, Decimal64Array, Decimal128Array, Decimal256Array, Float32Array, Float64Array, Int32Array,
    Int64Array, PrimitiveArray, UInt64Array, make_array,
    types::{Int8Type, Int16Type, UInt8Type, UInt16Type, UInt32Type},
};
use arrow_buffer::i256;
use arrow_schema::{DataType, TimeUnit};
use container_core::{Error, Result};

use super::expr::Comparison;
use super::types::nanoseconds;
use crate::parse_time;

/// Maximum significant digits of a number.
const MAX_DIGITS: usize = 38;

/// A number: `digits * 10^exponent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) digits: i128,
    pub(super) exponent: i32,
    /// It has a point or an exponent.
    pub(super) has_point: bool,
    /// It has an exponent.
    pub(super) is_float: bool,
}

impl Number {
    /// Reads decimal digits with an optional sign, point and exponent.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let invalid = || Error::usage(format!("expected a number, found {text}"));
        let (mantissa, power) = match text.split_once(['e', 'E']) {
            Some((mantissa, power)) => (mantissa, power.parse::<i32>().map_err(|_| invalid())?),
            None => (text, 0),
        };
        let (negative, unsigned) = match mantissa.strip_prefix('-') {
            Some(unsigned) => (true, unsigned),
            None => (false, mantissa),
        };
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let all = format!("{whole}{fraction}");
        if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(invalid());
        }
        let trimmed = all.trim_start_matches('0');
        if trimmed.len() > MAX_DIGITS {
            return Err(Error::limit("the digits of a number", trimmed.len() as u64, MAX_DIGITS as u64));
        }
        let digits: i128 = if trimmed.is_empty() { 0 } else { trimmed.parse().map_err(|_| invalid())? };
        let fraction = i32::try_from(fraction.len()).map_err(|_| invalid())?;
        Ok(Self {
            digits: if negative { -digits } else { digits },
            exponent: power.checked_sub(fraction).ok_or_else(invalid)?,
            has_point: text.contains(['.', 'e', 'E']),
            is_float: text.contains(['e', 'E']),
        })
    }

    /// The greatest multiple of `10^-scale` that is not above it, as a count of these.
    fn floor(self, scale: i32) -> Bound {
        let power = self.exponent.saturating_add(scale);
        let digits = i256::from_i128(self.digits);
        let outside = if self.digits < 0 { Bound::Below } else { Bound::Above };
        if power >= 0 {
            let scaled = power_of_ten(power.unsigned_abs()).and_then(|factor| digits.checked_mul(factor));
            return match scaled {
                Some(value) => Bound::At { value, exact: true },
                None if self.digits == 0 => Bound::At { value: digits, exact: true },
                None => outside,
            };
        }
        match power_of_ten(power.unsigned_abs()) {
            Some(divisor) => {
                let (whole, rest) = (digits.wrapping_div(divisor), digits.wrapping_rem(divisor));
                let below = if rest < i256::ZERO { i256::ONE } else { i256::ZERO };
                Bound::At { value: whole.wrapping_sub(below), exact: rest == i256::ZERO }
            }
            // A number of 38 digits divided by more than that.
            None => {
                Bound::At { value: if self.digits < 0 { i256::MINUS_ONE } else { i256::ZERO }, exact: self.digits == 0 }
            }
        }
    }
}

fn power_of_ten(exponent: u32) -> Option<i256> {
    (exponent <= 76).then(|| i256::from_i128(10).wrapping_pow(exponent))
}

/// Where a literal lies among the values of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    /// Below all of them.
    Below,
    /// Above all of them.
    Above,
    /// At `value` or, unless it is exact, between it and the next one.
    At { value: i256, exact: bool },
}

impl Bound {
    fn within(self, min: i256, max: i256) -> Self {
        match self {
            Self::At { value, .. } if value < min => Self::Below,
            Self::At { value, .. } if value > max => Self::Above,
            // Just above the last value.
            other => other,
        }
    }
}

/// A comparison of values of a column with a literal.
pub(super) enum Compared {
    /// With this array of one value.
    With(Comparison, ArrayRef),
    /// It has this result for all values that are not null.
    Always(bool),
}

/// A comparison with a bound, and the scalar of its value.
fn with_bound(op: Comparison, bound: Bound, scalar: impl FnOnce(i256) -> Option<ArrayRef>) -> Result<Compared> {
    let (value, exact) = match bound {
        Bound::Below => {
            return Ok(Compared::Always(matches!(op, Comparison::Greater | Comparison::GreaterEq | Comparison::NotEq)));
        }
        Bound::Above => {
            return Ok(Compared::Always(matches!(op, Comparison::Less | Comparison::LessEq | Comparison::NotEq)));
        }
        Bound::At { value, exact } => (value, exact),
    };
    let op = match op {
        Comparison::Eq | Comparison::NotEq if !exact => return Ok(Compared::Always(op == Comparison::NotEq)),
        Comparison::Less if !exact => Comparison::LessEq,
        Comparison::GreaterEq if !exact => Comparison::Greater,
        op => op,
    };
    let scalar = scalar(value).ok_or_else(|| Error::usage("the number is out of range"))?;
    Ok(Compared::With(op, scalar))
}

fn primitive<T: ArrowPrimitiveType>(value: i256) -> Option<ArrayRef>
where
    T::Native: TryFrom<i128>,
{
    let native = T::Native::try_from(value.to_i128()?).ok()?;
    Some(Arc::new(PrimitiveArray::<T>::from_iter_values([native])))
}

/// An integer or decimal of a type, and its range.
fn integer_scalar(data_type: &DataType, value: i256) -> Option<ArrayRef> {
    match data_type {
        DataType::Int8 => primitive::<Int8Type>(value),
        DataType::Int16 => primitive::<Int16Type>(value),
        DataType::Int32 => Some(Arc::new(Int32Array::from(vec![i32::try_from(value.to_i128()?).ok()?]))),
        DataType::Int64 => Some(Arc::new(Int64Array::from(vec![i64::try_from(value.to_i128()?).ok()?]))),
        DataType::UInt8 => primitive::<UInt8Type>(value),
        DataType::UInt16 => primitive::<UInt16Type>(value),
        DataType::UInt32 => primitive::<UInt32Type>(value),
        DataType::UInt64 => Some(Arc::new(UInt64Array::from(vec![u64::try_from(value.to_i128()?).ok()?]))),
        DataType::Decimal32(p, s) => {
            let value = i32::try_from(value.to_i128()?).ok()?;
            Some(Arc::new(Decimal32Array::from(vec![value]).with_precision_and_scale(*p, *s).ok()?))
        }
        DataType::Decimal64(p, s) => {
            let value = i64::try_from(value.to_i128()?).ok()?;
            Some(Arc::new(Decimal64Array::from(vec![value]).with_precision_and_scale(*p, *s).ok()?))
        }
        DataType::Decimal128(p, s) => {
            Some(Arc::new(Decimal128Array::from(vec![value.to_i128()?]).with_precision_and_scale(*p, *s).ok()?))
        }
        DataType::Decimal256(p, s) => {
            Some(Arc::new(Decimal256Array::from(vec![value]).with_precision_and_scale(*p, *s).ok()?))
        }
        _ => None,
    }
}

/// The least and the greatest value, and the scale.
fn range(data_type: &DataType) -> (i256, i256, i32) {
    let of = |min: i128, max: i128| (i256::from_i128(min), i256::from_i128(max), 0);
    match data_type {
        DataType::Int8 => of(i8::MIN.into(), i8::MAX.into()),
        DataType::Int16 => of(i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 => of(i32::MIN.into(), i32::MAX.into()),
        DataType::UInt8 => of(0, u8::MAX.into()),
        DataType::UInt16 => of(0, u16::MAX.into()),
        DataType::UInt32 => of(0, u32::MAX.into()),
        DataType::UInt64 => of(0, u64::MAX.into()),
        DataType::Decimal32(p, s)
        | DataType::Decimal64(p, s)
        | DataType::Decimal128(p, s)
        | DataType::Decimal256(p, s) => {
            let end = power_of_ten(u32::from(*p)).unwrap_or(i256::MAX).wrapping_sub(i256::ONE);
            (end.wrapping_neg(), end, i32::from(*s))
        }
        _ => of(i64::MIN.into(), i64::MAX.into()),
    }
}

/// Compares integers or decimals of this type with a number.
pub(super) fn with_integer(data_type: &DataType, op: Comparison, number: Number) -> Result<Compared> {
    let (min, max, scale) = range(data_type);
    let bound = number.floor(scale).within(min, max);
    with_bound(op, bound, |value| integer_scalar(data_type, value))
}

/// Compares floating-point numbers of this type with a number.
pub(super) fn with_float(data_type: &DataType, op: Comparison, number: Number, text: &str) -> Result<Compared> {
    let out_of_range = || Error::usage(format!("the number {text} is out of the range of {data_type}"));
    let invalid = || Error::usage(format!("expected a number, found {text}"));
    let is_single = *data_type != DataType::Float64;
    let nearest = if is_single {
        f64::from(text.parse::<f32>().map_err(|_| invalid())?)
    } else {
        text.parse().map_err(|_| invalid())?
    };
    if number.has_point && nearest.is_finite() {
        return Ok(Compared::With(op, float_scalar(data_type, nearest)));
    }
    if number.has_point && !text.parse::<f64>().is_ok_and(f64::is_finite) {
        return Err(out_of_range());
    }
    if !nearest.is_finite() {
        // A number beyond the greatest finite one of the type, below infinity.
        let last = if is_single { f64::from(f32::MAX) } else { f64::MAX };
        let floor = if nearest < 0.0 { f64::NEG_INFINITY } else { last };
        return between(data_type, op, floor);
    }
    // Integers are compared exactly.
    let integer = number.floor(0);
    match (integer, whole(nearest)) {
        (Bound::At { value, .. }, Some(rounded)) if value != rounded => {
            let floor = if rounded < value { nearest } else { previous(nearest, is_single) };
            between(data_type, op, floor)
        }
        _ => Ok(Compared::With(op, float_scalar(data_type, nearest))),
    }
}

/// A finite number without a fraction as an integer.
fn whole(value: f64) -> Option<i256> {
    i256::from_f64(value)
}

/// The next number below a finite one.
fn previous(value: f64, is_single: bool) -> f64 {
    #[expect(clippy::cast_possible_truncation, reason = "the value was made from single precision")]
    if is_single { f64::from((value as f32).next_down()) } else { value.next_down() }
}

/// A comparison with a number between `floor` and the next one of the type.
fn between(data_type: &DataType, op: Comparison, floor: f64) -> Result<Compared> {
    let op = match op {
        Comparison::Eq | Comparison::NotEq => return Ok(Compared::Always(op == Comparison::NotEq)),
        Comparison::Less | Comparison::LessEq => Comparison::LessEq,
        Comparison::Greater | Comparison::GreaterEq => Comparison::Greater,
    };
    Ok(Compared::With(op, float_scalar(data_type, floor)))
}

/// A floating-point number as an array of one value, without a sign of zero.
pub(super) fn float_scalar(data_type: &DataType, value: f64) -> ArrayRef {
    let value = value + 0.0;
    match data_type {
        DataType::Float64 => Arc::new(Float64Array::from(vec![value])),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the value was made from single precision, or is not finite"
        )]
        _ => Arc::new(Float32Array::from(vec![value as f32])),
    }
}

/// Compares dates, times or timestamps of this type with an ISO 8601 text, which is a value of `literal`.
pub(super) fn with_time(data_type: &DataType, op: Comparison, text: &str, literal: &DataType) -> Result<Compared> {
    let Some(nanoseconds_since) = read_time(literal, text) else {
        let form = match literal {
            DataType::Date32 => "a date such as '2024-05-01'",
            DataType::Time64(_) => "a time such as '12:30:00'",
            DataType::Timestamp(_, None) => "a timestamp without a time zone, such as '2024-05-01 12:30:00'",
            _ => "a timestamp such as '2024-05-01 12:30:00Z'",
        };
        return Err(Error::usage(format!("expected {form}, found '{text}'")));
    };
    let unit = nanoseconds(data_type);
    let (value, rest) = (nanoseconds_since.div_euclid(unit), nanoseconds_since.rem_euclid(unit));
    let bound = Bound::At { value: i256::from_i128(value), exact: rest == 0 };
    let is_short = matches!(data_type, DataType::Date32 | DataType::Time32(_));
    let (min, max, _) = range(if is_short { &DataType::Int32 } else { &DataType::Int64 });
    with_bound(op, bound.within(min, max), |value| {
        let value = value.to_i128()?;
        let plain: ArrayRef = match is_short {
            true => Arc::new(Int32Array::from(vec![i32::try_from(value).ok()?])),
            false => Arc::new(Int64Array::from(vec![i64::try_from(value).ok()?])),
        };
        let data = plain.to_data().into_builder().data_type(data_type.clone()).build().ok()?;
        Some(make_array(data))
    })
}

/// Nanoseconds since midnight or 1970.
fn read_time(literal: &DataType, text: &str) -> Option<i128> {
    let units = [TimeUnit::Microsecond, TimeUnit::Nanosecond, TimeUnit::Second];
    let read = |data_type: DataType| {
        let value = parse_time(&data_type, text)?;
        Some(i128::from(value) * nanoseconds(&data_type))
    };
    match literal {
        DataType::Date32 => read(DataType::Date32),
        DataType::Time64(_) => read(DataType::Time64(TimeUnit::Nanosecond)),
        DataType::Timestamp(_, zone) => {
            // Without an offset it is in UTC.
            let zones = if zone.is_some() { [zone.clone(), None] } else { [None, None] };
            zones
                .into_iter()
                .find_map(|zone| units.into_iter().find_map(|unit| read(DataType::Timestamp(unit, zone.clone()))))
        }
        _ => None,
    }
}
