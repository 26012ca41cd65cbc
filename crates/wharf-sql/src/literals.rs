//! What numbers written in a query mean beside decimals and floats.
//!
//! DataFusion takes a number with a point as a float, and compares a decimal with it as a decimal of the digits of the float: `d = 99999999.99` is
//! true of no value. And an `IN` of more than a few values compares bits, by which 0 and -0 differ.

use arrow_schema::DataType;
use datafusion::arrow::datatypes::i256;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue, plan_err};
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{Expr, ExprSchemable, Operator};

/// Digits that a float always keeps.
const FLOAT_DIGITS: usize = 15;

/// Digits of a 128-bit decimal.
const MAX_DIGITS: i64 = 38;

/// Literals compared with decimals are decimals; `IN` with a zero has both.
#[derive(Debug)]
pub(crate) struct Literals;

impl FunctionRewrite for Literals {
    fn name(&self) -> &'static str {
        "literals"
    }

    fn rewrite(&self, mut expr: Expr, schema: &DFSchema, _: &ConfigOptions) -> Result<Transformed<Expr>> {
        let type_of = |expr: &Expr| expr.get_type(schema).ok();
        let is_changed = match &mut expr {
            Expr::BinaryExpr(binary) if is_comparison(binary.op) => match (&mut *binary.left, &mut *binary.right) {
                (value, literal @ Expr::Literal(..)) | (literal @ Expr::Literal(..), value) => {
                    exact(literal, || type_of(value))?
                }
                _ => false,
            },
            Expr::Between(between) => {
                let value = || type_of(&between.expr);
                exact(&mut between.low, value)? | exact(&mut between.high, value)?
            }
            Expr::InList(list) => {
                let value = || type_of(&list.expr);
                let mut is_changed = false;
                for item in &mut list.list {
                    is_changed |= exact(item, value)?;
                }
                let zeros = match value() {
                    Some(DataType::Float64) => Some([0.0, -0.0].map(ScalarValue::from)),
                    Some(DataType::Float32) => Some([0.0_f32, -0.0].map(ScalarValue::from)),
                    _ => None,
                };
                match zeros {
                    Some(zeros) if list.list.iter().any(is_zero) => {
                        list.list.extend(zeros.map(|zero| Expr::Literal(zero, None)));
                        true
                    }
                    _ => is_changed,
                }
            }
            _ => false,
        };
        Ok(if is_changed { Transformed::yes(expr) } else { Transformed::no(expr) })
    }
}

fn is_comparison(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

fn is_zero(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(ScalarValue::Int64(Some(number)), _) => *number == 0,
        Expr::Literal(ScalarValue::Float64(Some(number)), _) => *number == 0.0,
        _ => false,
    }
}

/// Makes a float the decimal that was written, if it is compared with decimals. Returns whether it is one now.
fn exact(literal: &mut Expr, compared: impl FnOnce() -> Option<DataType>) -> Result<bool> {
    let Expr::Literal(ScalarValue::Float64(Some(number)), _) = literal else { return Ok(false) };
    let Some(
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale),
    ) = compared()
    else {
        return Ok(false);
    };
    let text = format!("{number:e}");
    let Some((digits, exponent)) = text.split_once('e').filter(|_| number.is_finite()) else { return Ok(false) };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.len() + fraction.len() > FLOAT_DIGITS + usize::from(*number < 0.0) {
        return plan_err!(
            "{number:?} may have more digits than a float keeps, and is compared with a decimal: write CAST('...' AS DECIMAL({MAX_DIGITS}, {scale}))"
        );
    }
    let (Ok(mut unscaled), Ok(exponent)) = (format!("{whole}{fraction}").parse::<i128>(), exponent.parse::<i64>())
    else {
        return Ok(false);
    };
    let mut own_scale = i64::try_from(fraction.len()).unwrap_or(i64::MAX).saturating_sub(exponent);
    if own_scale < 0 {
        let factor = u32::try_from(-own_scale).ok().and_then(|zeros| 10_i128.checked_pow(zeros));
        let Some(more) = factor.and_then(|factor| unscaled.checked_mul(factor)) else { return Ok(false) };
        (unscaled, own_scale) = (more, 0);
    }
    let own_digits = unscaled.unsigned_abs().checked_ilog10().map_or(1, |log| i64::from(log) + 1);
    let own_precision = own_digits.max(own_scale);
    let (Ok(own_precision), Ok(own_scale)) = (u8::try_from(own_precision), i8::try_from(own_scale)) else {
        return Ok(false);
    };
    if i64::from(own_precision) > MAX_DIGITS {
        return Ok(false);
    }
    // The type of both has to have the digits of both before and after the point.
    let before = (i64::from(precision) - i64::from(scale)).max(i64::from(own_precision) - i64::from(own_scale));
    let value = match before + i64::from(scale.max(own_scale)) > MAX_DIGITS {
        true => ScalarValue::Decimal256(Some(i256::from_i128(unscaled)), own_precision, own_scale),
        false => ScalarValue::Decimal128(Some(unscaled), own_precision, own_scale),
    };
    *literal = Expr::Literal(value, None);
    Ok(true)
}
