//! Literals as values.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Decimal128Array, Float64Array, Int64Array, NullArray, StringArray,
};
use arrow_schema::{DataType, TimeUnit};
use container_core::{Error, Result};

use super::bind::{Typed, timestamp};
use super::compare::Number;
use super::evaluate::{Value, cast};
use super::expr::{Literal, TimeKind};

/// A value of its natural type.
pub(super) fn literal_value(literal: &Literal) -> Result<Typed> {
    let array: ArrayRef = match literal {
        Literal::Null => Arc::new(NullArray::new(1)),
        Literal::Bool(value) => Arc::new(BooleanArray::from(vec![*value])),
        Literal::Number(text) => number(text)?,
        Literal::Text(text) => Arc::new(StringArray::from(vec![text.as_str()])),
        Literal::Bytes(bytes) => Arc::new(BinaryArray::from_vec(vec![bytes])),
        Literal::Time(kind, text) => {
            let data_type = match kind {
                TimeKind::Date => DataType::Date32,
                TimeKind::Time => DataType::Time64(TimeUnit::Nanosecond),
                TimeKind::Timestamp => timestamp(false),
            };
            let invalid = || Error::usage(format!("invalid {literal}"));
            let value = crate::parse_time(&data_type, text).ok_or_else(invalid)?;
            let plain: ArrayRef = Arc::new(Int64Array::from(vec![value]));
            let width = if data_type == DataType::Date32 { DataType::Int32 } else { DataType::Int64 };
            cast(&plain, &width).and_then(|plain| cast(&plain, &data_type)).map_err(crate::from_arrow)?
        }
    };
    let data_type = array.data_type().clone();
    Ok(Typed { value: Value::Literal(array), data_type, is_json: false })
}

/// An integer as `Int64`, digits with a point as a decimal, with an exponent as `Float64`.
fn number(text: &str) -> Result<ArrayRef> {
    let number = Number::parse(text)?;
    if !number.is_float {
        if let (false, Ok(small)) = (number.has_point, i64::try_from(number.digits)) {
            return Ok(Arc::new(Int64Array::from(vec![small])));
        }
        if let Ok(scale) = i8::try_from(-number.exponent)
            && scale <= 38
        {
            let digits = number.digits.unsigned_abs().checked_ilog10().map_or(1, |power| power + 1);
            let precision = u8::try_from(digits).unwrap_or(38).max(scale.unsigned_abs()).max(1);
            let decimal = Decimal128Array::from(vec![number.digits]).with_precision_and_scale(precision, scale);
            return Ok(Arc::new(decimal.map_err(crate::from_arrow)?));
        }
    }
    let value: f64 = text.parse().map_err(|_| Error::usage(format!("expected a number, found {text}")))?;
    if !value.is_finite() {
        return Err(Error::usage(format!("the number {text} is out of range")));
    }
    Ok(Arc::new(Float64Array::from(vec![value])))
}

/// NaN and infinities by name.
pub(super) fn special_float(text: &str) -> Option<f64> {
    Some(match text.to_ascii_lowercase().as_str() {
        "nan" => f64::NAN,
        "infinity" | "inf" | "+infinity" | "+inf" => f64::INFINITY,
        "-infinity" | "-inf" => f64::NEG_INFINITY,
        _ => return None,
    })
}

/// What a literal is, in an error.
pub(super) const fn literal_kind(literal: &Literal) -> &'static str {
    match literal {
        Literal::Null | Literal::Bool(_) => "",
        Literal::Number(_) => "the number",
        Literal::Text(_) => "the text",
        Literal::Bytes(_) => "the bytes",
        Literal::Time(..) => "the time",
    }
}
