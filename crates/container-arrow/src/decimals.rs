//! Decimals as text.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type};
use arrow_schema::DataType;

/// Formats the decimal at an index with all its digits, also those beyond the declared precision, which Arrow's own formatter cuts off.
///
/// `None` if the array has no decimals, or fewer.
#[must_use]
pub fn decimal_text(array: &dyn Array, at: usize) -> Option<String> {
    if at >= array.len() {
        return None;
    }
    Some(match array.data_type() {
        DataType::Decimal32(_, scale) => {
            text(&array.as_primitive_opt::<Decimal32Type>()?.value(at).to_string(), *scale)
        }
        DataType::Decimal64(_, scale) => {
            text(&array.as_primitive_opt::<Decimal64Type>()?.value(at).to_string(), *scale)
        }
        DataType::Decimal128(_, scale) => {
            text(&array.as_primitive_opt::<Decimal128Type>()?.value(at).to_string(), *scale)
        }
        DataType::Decimal256(_, scale) => {
            text(&array.as_primitive_opt::<Decimal256Type>()?.value(at).to_string(), *scale)
        }
        _ => return None,
    })
}

fn text(integer: &str, scale: i8) -> String {
    let (sign, digits) = integer.strip_prefix('-').map_or(("", integer), |digits| ("-", digits));
    let places = usize::from(scale.unsigned_abs());
    if scale <= 0 {
        let zeros = if digits == "0" { 0 } else { places };
        return format!("{integer}{:0<zeros$}", "");
    }
    // At least one digit before the point.
    let digits = format!("{digits:0>width$}", width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    format!("{sign}{whole}.{fraction}")
}

#[cfg(test)]
mod tests {
    use arrow_array::{Decimal32Array, Decimal128Array, Decimal256Array, Int32Array};
    use arrow_buffer::i256;

    use super::*;

    #[test]
    fn keeps_digits_beyond_the_precision() {
        let values = Decimal128Array::from(vec![-11697, 12810, 99, 0, -1]).with_data_type(DataType::Decimal128(3, 2));
        let texts: Vec<_> = (0..5).filter_map(|at| decimal_text(&values, at)).collect();
        assert_eq!(texts, ["-116.97", "128.10", "0.99", "0.00", "-0.01"]);
        assert_eq!(decimal_text(&values, 5), None);
        let negative = Decimal32Array::from(vec![0, 12, -3]).with_data_type(DataType::Decimal32(5, -2));
        let texts: Vec<_> = (0..3).filter_map(|at| decimal_text(&negative, at)).collect();
        assert_eq!(texts, ["0", "1200", "-300"]);
        let large = Decimal256Array::from(vec![i256::MIN]).with_data_type(DataType::Decimal256(76, 76));
        let digits = i256::MIN.to_string();
        assert_eq!(decimal_text(&large, 0), Some(format!("-{}.{}", &digits[1..2], &digits[2..])));
        assert_eq!(decimal_text(&Int32Array::from(vec![1]), 0), None);
    }
}
