//! Conditions of queries as predicates of wharf.
//!
//! A condition is translated only where both mean the same for every value: DataFusion then no longer evaluates it. So there is no arithmetic
//! (integers wrap around here and are errors there), no field of a struct, no `ILIKE`, no cast that can change a value or fail.

use std::fmt::Write;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use datafusion::arrow::util::display::array_value_to_string;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use wharf::Predicate;

/// The predicate that is true for the same rows as all of these conditions; `None` if they cannot be translated.
pub(crate) fn predicate<'e>(conditions: impl IntoIterator<Item = &'e Expr>, schema: &Schema) -> Option<Predicate> {
    let translator = Translator { schema };
    let one = |condition| Predicate::parse(&translator.condition(condition)?).ok();
    let predicate = Predicate::all(conditions.into_iter().map(one).collect::<Option<Vec<_>>>()?)?;
    // It fails for types without comparisons.
    predicate.bind(schema).ok()?;
    Some(predicate)
}

/// Writes conditions on the columns of a table in the syntax of [`Predicate`].
struct Translator<'s> {
    schema: &'s Schema,
}

/// A column.
struct Operand<'s> {
    /// Its name, quoted.
    name: String,
    field: &'s Field,
    /// It is compared as a value of this type, to which it is cast without a change.
    data_type: DataType,
}

impl<'s> Translator<'s> {
    fn condition(&self, expr: &Expr) -> Option<String> {
        match expr {
            Expr::Column(_) => self.boolean(expr),
            Expr::Not(inner) => Some(format!("not ({})", self.condition(inner)?)),
            Expr::IsNull(inner) => Some(format!("({}) is null", self.nullable(inner)?)),
            Expr::IsNotNull(inner) => Some(format!("({}) is not null", self.nullable(inner)?)),
            Expr::IsUnknown(inner) => Some(format!("({}) is null", self.condition(inner)?)),
            Expr::IsNotUnknown(inner) => Some(format!("({}) is not null", self.condition(inner)?)),
            Expr::IsTrue(inner) => Some(format!("({}) is true", self.condition(inner)?)),
            Expr::IsFalse(inner) => Some(format!("({}) is false", self.condition(inner)?)),
            Expr::IsNotTrue(inner) => Some(format!("({}) is not true", self.condition(inner)?)),
            Expr::IsNotFalse(inner) => Some(format!("({}) is not false", self.condition(inner)?)),
            Expr::BinaryExpr(BinaryExpr { op: Operator::And | Operator::Or, .. }) => self.chain(expr),
            Expr::BinaryExpr(binary) => self.comparison(binary),
            Expr::Between(between) => {
                let value = self.operand(&between.expr)?;
                let low = compared(&value, ">=", literal(&between.low)?)?;
                let high = compared(&value, "<=", literal(&between.high)?)?;
                Some(format!("{}({low} and {high})", if between.negated { "not " } else { "" }))
            }
            Expr::InList(list) => {
                let value = self.operand(&list.expr)?;
                let has = |sign: bool| list.list.iter().any(|item| literal(item).and_then(zero_sign) == Some(sign));
                let has_zeros = has(false) && has(true);
                let mut text = format!("{}{} in (", value.name, if list.negated { " not" } else { "" });
                for (number, item) in list.list.iter().enumerate() {
                    text.push_str(if number == 0 { "" } else { ", " });
                    text.push_str(&listed(&value, literal(item)?, has_zeros)?);
                }
                Some(text + ")")
            }
            Expr::Like(like) if !like.case_insensitive && like.escape_char.is_none() => {
                let value = self.operand(&like.expr).filter(|value| is_text(&value.data_type))?;
                // A backslash has a meaning in DataFusion.
                let pattern = literal(&like.pattern)?.try_as_str()??;
                let not = if like.negated { " not" } else { "" };
                (!pattern.contains('\\')).then(|| format!("{}{not} like {}", value.name, quoted(pattern)))
            }
            Expr::ScalarFunction(call) if call.name() == "isnan" => match call.args.as_slice() {
                [argument] => {
                    let value = self.operand(argument)?;
                    is_float(value.field.data_type()).then(|| format!("isnan({})", value.name))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// A condition, or a column of any type.
    fn nullable(&self, expr: &Expr) -> Option<String> {
        match expr {
            Expr::Column(column) => self.field(&column.name).map(|field| identifier(field.name())),
            other => self.condition(other),
        }
    }

    fn boolean(&self, expr: &Expr) -> Option<String> {
        self.operand(expr).filter(|value| value.data_type == DataType::Boolean).map(|value| value.name)
    }

    /// `a AND b AND c`, which may be nested deeply.
    fn chain(&self, expr: &Expr) -> Option<String> {
        let Expr::BinaryExpr(BinaryExpr { op, .. }) = expr else { return None };
        let word = if *op == Operator::And { " and " } else { " or " };
        let (mut pending, mut text) = (vec![expr], String::new());
        while let Some(next) = pending.pop() {
            match next {
                Expr::BinaryExpr(inner) if inner.op == *op => pending.extend([&*inner.right, &*inner.left]),
                other => {
                    let condition = self.condition(other)?;
                    text.push_str(if text.is_empty() { "" } else { word });
                    write!(text, "({condition})").ok()?;
                }
            }
        }
        Some(text)
    }

    fn comparison(&self, binary: &BinaryExpr) -> Option<String> {
        let (op, reversed) = match binary.op {
            Operator::Eq => ("=", "="),
            Operator::NotEq => ("<>", "<>"),
            Operator::Lt => ("<", ">"),
            Operator::LtEq => ("<=", ">="),
            Operator::Gt => (">", "<"),
            Operator::GtEq => (">=", "<="),
            _ => return None,
        };
        match (literal(&binary.left), literal(&binary.right)) {
            (None, Some(value)) => compared(&self.operand(&binary.left)?, op, value),
            (Some(value), None) => compared(&self.operand(&binary.right)?, reversed, value),
            (None, None) => {
                let (left, right) = (self.operand(&binary.left)?, self.operand(&binary.right)?);
                let own = left.field.data_type();
                let is_plain = [&left, &right].iter().all(|one| one.field.data_type() == own && one.data_type == *own);
                let is_comparable =
                    own.is_integer() || own.is_decimal() || is_float(own) || is_text(own) || is_time(own);
                (is_plain && is_comparable).then(|| format!("{} {op} {}", left.name, right.name))
            }
            (Some(_), Some(_)) => None,
        }
    }

    fn field(&self, name: &str) -> Option<&'s Field> {
        self.schema.field_with_name(name).ok()
    }

    /// A column, perhaps cast to a type that has all of its values. Columns of text with another meaning, such as JSON, are left to DataFusion.
    fn operand(&self, expr: &Expr) -> Option<Operand<'s>> {
        let (inner, target) = match expr {
            Expr::Cast(cast) => (&*cast.expr, Some(cast.field.data_type())),
            Expr::TryCast(cast) => (&*cast.expr, Some(cast.field.data_type())),
            other => (other, None),
        };
        let operand = match inner {
            Expr::Column(column) => {
                let field = self.field(&column.name).filter(|field| field.extension_type_name().is_none())?;
                Operand { name: identifier(field.name()), field, data_type: value_type(field.data_type()).clone() }
            }
            Expr::Cast(_) | Expr::TryCast(_) => self.operand(inner)?,
            _ => return None,
        };
        match target.map(value_type) {
            None => Some(operand),
            Some(target) => {
                let is_lossless = is_lossless(&operand.data_type, target);
                is_lossless.then(|| Operand { data_type: target.clone(), ..operand })
            }
        }
    }
}

/// The value of a literal.
fn literal(expr: &Expr) -> Option<&ScalarValue> {
    let Expr::Literal(value, _) = expr else { return None };
    Some(plain(value))
}

/// The value of a dictionary.
fn plain(value: &ScalarValue) -> &ScalarValue {
    match value {
        ScalarValue::Dictionary(_, value) => plain(value),
        other => other,
    }
}

/// The type of the values of a dictionary of texts; others are their own.
fn value_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) if is_text(values) => values,
        other => other,
    }
}

/// A column compared with a value.
fn compared(column: &Operand<'_>, op: &str, value: &ScalarValue) -> Option<String> {
    let is_double = column.data_type == DataType::Float64;
    if let (DataType::Float32, ScalarValue::Float64(Some(double)), true) = (column.field.data_type(), value, is_double)
    {
        return compared_as_double(column, op, *double);
    }
    Some(format!("{} {op} {}", column.name, text(column, value)?))
}

/// A column of 32-bit floating-point numbers, compared as 64-bit ones.
fn compared_as_double(column: &Operand<'_>, op: &str, value: f64) -> Option<String> {
    let name = &column.name;
    #[expect(clippy::cast_possible_truncation, reason = "what lies on either side is found below")]
    let nearest = value as f32;
    if f64::from(nearest).to_bits() == value.to_bits() || value.is_infinite() {
        return Some(format!("{name} {op} {}", single(nearest)?));
    }
    let (below, above) = match f64::from(nearest) > value {
        true => (nearest.next_down(), nearest),
        false => (nearest, nearest.next_up()),
    };
    match op {
        "<" | "<=" if !value.is_nan() => Some(format!("{name} <= {}", single(below)?)),
        ">" | ">=" if !value.is_nan() => Some(format!("{name} >= {}", single(above)?)),
        _ => None,
    }
}

/// The sign of a zero.
fn zero_sign(value: &ScalarValue) -> Option<bool> {
    match value {
        ScalarValue::Float32(Some(number)) if *number == 0.0 => Some(number.is_sign_negative()),
        ScalarValue::Float64(Some(number)) if *number == 0.0 => Some(number.is_sign_negative()),
        _ => None,
    }
}

/// An item of `IN`.
fn listed(column: &Operand<'_>, value: &ScalarValue, has_zeros: bool) -> Option<String> {
    match value {
        _ if value.is_null() => Some("null".to_owned()),
        // Here DataFusion compares bits: 0.0 differs from -0.0, and a double from every single-precision number.
        _ if zero_sign(value).is_some() && !has_zeros => None,
        ScalarValue::Float64(_) if *column.field.data_type() == DataType::Float32 => None,
        _ => text(column, value),
    }
}

/// A value as it is compared with a column.
fn text(column: &Operand<'_>, value: &ScalarValue) -> Option<String> {
    let own = column.field.data_type();
    let is_number = own.is_integer() || own.is_decimal();
    match value {
        ScalarValue::Utf8(Some(text)) | ScalarValue::LargeUtf8(Some(text)) | ScalarValue::Utf8View(Some(text)) => {
            is_text(value_type(own)).then(|| quoted(text))
        }
        ScalarValue::Binary(Some(bytes))
        | ScalarValue::LargeBinary(Some(bytes))
        | ScalarValue::BinaryView(Some(bytes)) => is_binary(own).then(|| hexadecimal(bytes)),
        // DataFusion casts both sides to one type.
        _ if value.is_null() || value.data_type() != column.data_type => None,
        ScalarValue::Boolean(Some(value)) if *own == DataType::Boolean => Some(value.to_string()),
        ScalarValue::Float64(Some(number)) if *own == DataType::Float64 => double(*number),
        ScalarValue::Float32(Some(number)) if *own == DataType::Float32 => single(*number),
        ScalarValue::Float64(Some(number)) if own.is_integer() && number.is_finite() => double(*number),
        ScalarValue::Float32(Some(number)) if own.is_integer() && number.is_finite() => single(*number),
        ScalarValue::Decimal32(Some(digits), _, scale) if is_number => Some(decimal(i128::from(*digits), *scale)),
        ScalarValue::Decimal64(Some(digits), _, scale) if is_number => Some(decimal(i128::from(*digits), *scale)),
        ScalarValue::Decimal128(Some(digits), _, scale) if is_number => Some(decimal(*digits, *scale)),
        integer if value.data_type().is_integer() && is_number => Some(integer.to_string()),
        time if is_time(own) => moment(time),
        _ => None,
    }
}

fn double(number: f64) -> Option<String> {
    match number.is_finite() {
        true => Some(format!("{number:?}")),
        false => special(number, number.to_bits() == f64::NAN.to_bits()),
    }
}

fn single(number: f32) -> Option<String> {
    match number.is_finite() {
        true => Some(format!("{number:?}")),
        false => special(number.into(), number.to_bits() == f32::NAN.to_bits()),
    }
}

/// Infinity, or NaN if it is the usual one.
fn special(number: f64, is_usual: bool) -> Option<String> {
    match number.is_nan() {
        true => is_usual.then(|| "'NaN'".to_owned()),
        false => Some(if number > 0.0 { "'Infinity'" } else { "'-Infinity'" }.to_owned()),
    }
}

/// `digits * 10^-scale`
fn decimal(digits: i128, scale: i8) -> String {
    match scale {
        0 => digits.to_string(),
        _ => format!("{digits}e{}", -i16::from(scale)),
    }
}

/// A date, time or timestamp, if it is read back as the same value.
fn moment(value: &ScalarValue) -> Option<String> {
    let array = value.to_array().ok()?;
    // Without `date` before it: statistics are compared with plain texts.
    let text = quoted(&array_value_to_string(&array, 0).ok()?);
    let batch = RecordBatch::try_from_iter([("value", array)]).ok()?;
    let is_equal = Predicate::parse(&format!("value = {text}")).ok()?.bind(batch.schema_ref()).ok()?;
    (is_equal.mask(&batch).ok()?.true_count() == 1).then_some(text)
}

/// Whether a cast keeps every value apart and in order, and never fails.
fn is_lossless(from: &DataType, to: &DataType) -> bool {
    let decimal = |data_type: &DataType| match data_type {
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => Some((i16::from(*precision) - i16::from(*scale), *scale)),
        _ => None,
    };
    match (integer_bits(from), integer_bits(to)) {
        _ if from == to => true,
        (Some((_, true)), Some((_, false))) => false,
        (Some((bits, is_signed)), Some((wider, true))) if !is_signed => wider > bits,
        (Some((bits, _)), Some((wider, _))) => wider >= bits,
        (Some((bits, _)), None) => match (to, decimal(to)) {
            (DataType::Float64, _) => bits <= 32,
            (DataType::Float32, _) => bits <= 16,
            (_, Some((whole, scale))) => whole >= 20 && scale >= 0,
            _ => false,
        },
        _ => match (decimal(from), decimal(to)) {
            (Some((whole, scale)), Some((wider, finer))) => wider >= whole && finer >= scale,
            _ => {
                (is_text(from) && is_text(to))
                    || (is_binary(from) && is_binary(to))
                    || (*from == DataType::Float32 && *to == DataType::Float64)
            }
        },
    }
}

/// The width of an integer, and whether it has a sign.
fn integer_bits(data_type: &DataType) -> Option<(u8, bool)> {
    Some(match data_type {
        DataType::Int8 => (8, true),
        DataType::Int16 => (16, true),
        DataType::Int32 => (32, true),
        DataType::Int64 => (64, true),
        DataType::UInt8 => (8, false),
        DataType::UInt16 => (16, false),
        DataType::UInt32 => (32, false),
        DataType::UInt64 => (64, false),
        _ => return None,
    })
}

const fn is_float(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Float32 | DataType::Float64)
}

const fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

const fn is_binary(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Binary | DataType::LargeBinary | DataType::BinaryView)
}

const fn is_time(data_type: &DataType) -> bool {
    match data_type {
        DataType::Date32 | DataType::Timestamp(..) => true,
        DataType::Time32(unit) => matches!(unit, TimeUnit::Second | TimeUnit::Millisecond),
        DataType::Time64(unit) => matches!(unit, TimeUnit::Microsecond | TimeUnit::Nanosecond),
        _ => false,
    }
}

fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("x'{digits}'")
}
