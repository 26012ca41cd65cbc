//! What numbers and times written in a query mean beside decimals, floats, dates and timestamps.
//!
//! DataFusion takes a number with a point as a float, and compares a decimal with it as a decimal of the digits of the float: `d = 99999999.99` is
//! true of no value. It cuts a time to the unit of the values it is compared with, so that `day < '2020-01-01 12:00:00'` is false of that day. And an
//! `IN` of more than a few values compares bits, by which 0 and -0 differ.

use arrow_schema::{DataType, TimeUnit};
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

/// Nanoseconds of a day.
const DAY: i64 = 86_400_000_000_000;

/// Literals compared with decimals are decimals; times between two values are compared with the one before; `IN` with a zero has both.
#[derive(Debug)]
pub(crate) struct Literals;

impl FunctionRewrite for Literals {
    fn name(&self) -> &'static str {
        "literals"
    }

    fn rewrite(&self, mut expr: Expr, schema: &DFSchema, _: &ConfigOptions) -> Result<Transformed<Expr>> {
        let type_of = |expr: &Expr| expr.get_type(schema).ok();
        let is_changed = match &mut expr {
            Expr::BinaryExpr(binary) if is_comparison(binary.op) => {
                let (left, right) = (&mut *binary.left, &mut *binary.right);
                let is_exact = exact(right, || type_of(left))? || exact(left, || type_of(right))?;
                if !is_exact && let Some(compared) = between_values(left, binary.op, right, type_of) {
                    return Ok(Transformed::yes(compared));
                }
                is_exact
            }
            Expr::Between(between) => {
                let value = || type_of(&between.expr);
                let is_exact = exact(&mut between.low, value)? | exact(&mut between.high, value)?;
                let compared = |op, limit: &Expr| between_values(&between.expr, op, limit, type_of);
                let (low, high) = (compared(Operator::GtEq, &between.low), compared(Operator::LtEq, &between.high));
                if low.is_some() || high.is_some() {
                    let value = (*between.expr).clone();
                    let low = low.unwrap_or_else(|| value.clone().gt_eq((*between.low).clone()));
                    let both = low.and(high.unwrap_or_else(|| value.lt_eq((*between.high).clone())));
                    return Ok(Transformed::yes(if between.negated { !both } else { both }));
                }
                is_exact
            }
            Expr::InList(list) => {
                let value = || type_of(&list.expr);
                let mut is_changed = false;
                for item in &mut list.list {
                    is_changed |= exact(item, value)?;
                }
                let count = list.list.len();
                list.list.retain(|item| between_values(&list.expr, Operator::Eq, item, type_of).is_none());
                if list.list.is_empty() && count > 0 {
                    let never = never(&list.expr);
                    return Ok(Transformed::yes(if list.negated { !never } else { never }));
                }
                let zeros = match value() {
                    Some(DataType::Float64) => Some([0.0, -0.0].map(ScalarValue::from)),
                    Some(DataType::Float32) => Some([0.0_f32, -0.0].map(ScalarValue::from)),
                    _ => None,
                };
                match zeros {
                    Some(zeros) if list.list.iter().any(is_zero) => {
                        let zeros = zeros.map(|zero| Expr::Literal(zero, None));
                        let missing = zeros.into_iter().filter(|zero| !list.list.contains(zero)).collect::<Vec<_>>();
                        list.list.extend(missing);
                        true
                    }
                    _ => is_changed || list.list.len() < count,
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

/// A comparison with a time that lies between two values of the other side, which is true for the same values; `None` for others.
fn between_values(
    left: &Expr,
    op: Operator,
    right: &Expr,
    type_of: impl Fn(&Expr) -> Option<DataType>,
) -> Option<Expr> {
    let (value, op, before) = match value_before(right, || type_of(left)) {
        Some(before) => (left, op, before),
        None => (right, op.swap()?, value_before(left, || type_of(right))?),
    };
    let before = Expr::Literal(before, None);
    match op {
        Operator::Lt | Operator::LtEq => Some(value.clone().lt_eq(before)),
        Operator::Gt | Operator::GtEq => Some(value.clone().gt(before)),
        Operator::Eq => Some(never(value)),
        Operator::NotEq => Some(!never(value)),
        _ => None,
    }
}

/// False, or null where the value is.
fn never(value: &Expr) -> Expr {
    value.clone().lt(value.clone())
}

/// The last value of a type before a literal time that has more digits; `None` for other literals and types.
fn value_before(literal: &Expr, compared: impl FnOnce() -> Option<DataType>) -> Option<ScalarValue> {
    let time = match literal {
        Expr::Literal(value, _) => value.clone(),
        // TIMESTAMP '...'
        Expr::Cast(cast) => match &*cast.expr {
            Expr::Literal(value, _) => value.cast_to(cast.field.data_type()).ok()?,
            _ => return None,
        },
        _ => return None,
    };
    let is_time = matches!(
        time.data_type(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Date64 | DataType::Timestamp(..)
    );
    let own = compared().filter(|_| is_time)?;
    let (unit, zone) = match &own {
        DataType::Date32 => (DAY, None),
        DataType::Timestamp(TimeUnit::Second, zone) => (1_000_000_000, zone.clone()),
        DataType::Timestamp(TimeUnit::Millisecond, zone) => (1_000_000, zone.clone()),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => (1000, zone.clone()),
        _ => return None,
    };
    let ScalarValue::TimestampNanosecond(Some(time), _) =
        time.cast_to(&DataType::Timestamp(TimeUnit::Nanosecond, zone.clone())).ok()?
    else {
        return None;
    };
    if time.rem_euclid(unit) == 0 {
        return None;
    }
    let before = time.div_euclid(unit);
    Some(match own {
        DataType::Date32 => ScalarValue::Date32(i32::try_from(before).ok()),
        DataType::Timestamp(TimeUnit::Second, _) => ScalarValue::TimestampSecond(Some(before), zone),
        DataType::Timestamp(TimeUnit::Millisecond, _) => ScalarValue::TimestampMillisecond(Some(before), zone),
        _ => ScalarValue::TimestampMicrosecond(Some(before), zone),
    })
}
