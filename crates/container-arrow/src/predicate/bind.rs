//! Resolves columns and types.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use container_core::{Error, Result};

use super::compare::{Compared, Number, float_scalar, with_float, with_integer, with_time};
use super::evaluate::{Filter, Rows, Test, Value, cast, empty, fold_case, scalar_of};
use super::expr::{Arithmetic, Comparison, Expr, Function, Literal, Pattern, TimeKind, identifier, quoted};
use super::literal::{literal_kind, literal_value, special_float};
use super::numbers::{alike_numbers, common_number};
use super::types::{Kind, is_json, nanoseconds, value_type};
use crate::names::unknown_column;

/// Compiles a predicate for a schema.
pub(super) fn bind(expr: &Expr, schema: &Schema, may_lack: &dyn Fn(&str) -> bool) -> Result<Filter> {
    let mut binder = Binder { schema, may_lack, columns: Vec::new() };
    let test = binder.test(expr)?;
    Ok(Filter { test, columns: binder.columns })
}

struct Binder<'s> {
    schema: &'s Schema,
    /// Whether a column is null if the schema lacks it.
    may_lack: &'s dyn Fn(&str) -> bool,
    /// The columns so far, by index into the schema, and their names.
    columns: Vec<(usize, String)>,
}

/// A value and its type.
#[derive(Clone)]
pub(super) struct Typed {
    pub(super) value: Value,
    pub(super) data_type: DataType,
    /// It is text that contains JSON.
    pub(super) is_json: bool,
}

impl Typed {
    pub(super) fn kind(&self) -> Kind {
        Kind::of(&self.data_type)
    }

    /// The value with this type.
    pub(super) fn cast(self, data_type: &DataType) -> Self {
        if self.data_type == *data_type {
            return self;
        }
        Self {
            value: Value::Cast(Box::new(self.value), data_type.clone()),
            data_type: data_type.clone(),
            is_json: self.is_json,
        }
    }

    /// Values instead of a dictionary.
    fn decoded(self) -> Self {
        let data_type = value_type(&self.data_type).clone();
        self.cast(&data_type)
    }
}

/// The microsecond type of timestamps, in UTC or without a zone.
pub(super) fn timestamp(zoned: bool) -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, zoned.then(|| "UTC".into()))
}

impl Binder<'_> {
    /// A condition.
    fn test(&mut self, expr: &Expr) -> Result<Test> {
        match expr {
            Expr::Literal(Literal::Bool(value)) => Ok(Test::Constant(Some(*value))),
            Expr::Literal(Literal::Null) => Ok(Test::Constant(None)),
            Expr::Not(one) => Ok(Test::Not(Box::new(self.test(one)?))),
            Expr::And(all) => Ok(Test::And(self.tests(all)?)),
            Expr::Or(all) => Ok(Test::Or(self.tests(all)?)),
            Expr::Compare(left, op, right) => self.compare(left, *op, right),
            Expr::Between { value, low, high, negated } => {
                let both = vec![
                    self.compare(value, Comparison::GreaterEq, low)?,
                    self.compare(value, Comparison::LessEq, high)?,
                ];
                Ok(negate(Test::And(both), *negated))
            }
            Expr::In { value, list, negated } => {
                let equal = |one: &Expr| match one {
                    Expr::Literal(Literal::Null) => Ok(Test::Constant(None)),
                    one => self.compare(value, Comparison::Eq, one),
                };
                Ok(negate(Test::Or(list.iter().map(equal).collect::<Result<_>>()?), *negated))
            }
            Expr::Like { value, pattern, negated } => Ok(negate(self.like(value, pattern)?, *negated)),
            Expr::IsNull { value, negated } => Ok(Test::IsNull(self.value(value)?.value, *negated)),
            Expr::IsBool { value, is, negated } => Ok(negate(Test::Is(Box::new(self.test(value)?), *is), *negated)),
            Expr::Call(Function::IsNan, arguments) => {
                let value = self.argument(Function::IsNan, arguments)?;
                match value.kind() {
                    Kind::Null => Ok(Test::Constant(None)),
                    kind if kind.is_number() => Ok(Test::IsNan(value.value)),
                    _ => Err(mismatch(arguments.first().unwrap_or(expr), &value, "a number", "isnan")),
                }
            }
            other => {
                let value = self.value(other)?;
                match value.kind() {
                    Kind::Null => Ok(Test::Constant(None)),
                    Kind::Bool => Ok(Test::Value(value.decoded().value)),
                    kind => {
                        let detail = format!(
                            "expected a condition, found {other}, which is {}: compare it, or write {other} is not null",
                            kind.name()
                        );
                        Err(in_column(Error::usage(detail), other))
                    }
                }
            }
        }
    }

    fn tests(&mut self, all: &[Expr]) -> Result<Vec<Test>> {
        all.iter().map(|one| self.test(one)).collect()
    }

    /// A value.
    fn value(&mut self, expr: &Expr) -> Result<Typed> {
        match expr {
            Expr::Column(name) => self.column(name),
            Expr::Literal(literal) => literal_value(literal),
            Expr::Field(inner, name) => {
                let value = self.value(inner)?;
                if value.kind() == Kind::Null {
                    return Ok(value);
                }
                let DataType::Struct(fields) = &value.data_type else {
                    let hint = match &**inner {
                        Expr::Column(column) => {
                            format!("; a column is written {}", identifier(&format!("{column}.{name}")))
                        }
                        _ => String::new(),
                    };
                    let found = if value.is_json { "JSON of several types" } else { value.kind().name() };
                    let detail = format!("expected a struct with the field {name:?}, found {found}{hint}");
                    return Err(in_column(Error::usage(detail), inner));
                };
                let Some((index, field)) = fields.find(name) else {
                    let names: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
                    let error = unknown_column(&names, name);
                    return Err(in_column(
                        Error::usage(error.detail().replacen("column", "field", 1).replacen("columns", "fields", 1)),
                        inner,
                    ));
                };
                let (data_type, is_json) = (field.data_type().clone(), is_json(field));
                Ok(Typed { value: Value::Field(Box::new(value.value), index), data_type, is_json })
            }
            Expr::Element(inner, number) => {
                let value = self.value(inner)?.decoded();
                let item = match &value.data_type {
                    DataType::Null => return Ok(value),
                    DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
                        Arc::clone(item)
                    }
                    _ => return Err(mismatch(inner, &value, "a list", &format!("[{number}]"))),
                };
                let (data_type, is_json) = (item.data_type().clone(), is_json(&item));
                Ok(Typed { value: Value::Element(Box::new(value.value), number.saturating_sub(1)), data_type, is_json })
            }
            Expr::Negate(inner) => {
                let value = self.number(inner, "-")?;
                self.typed(Value::Negate(Box::new(value.value)))
            }
            Expr::Arithmetic(left, op, right) => {
                let (left, right) = (self.number(left, op.symbol())?, self.number(right, op.symbol())?);
                let (left, right) = alike_numbers(left, right, *op == Arithmetic::Divide);
                self.typed(Value::Arithmetic(Box::new(left.value), *op, Box::new(right.value)))
            }
            Expr::Call(Function::IsNan, _) => {
                let test = self.test(expr)?;
                Ok(Typed { value: Value::Test(Box::new(test)), data_type: DataType::Boolean, is_json: false })
            }
            Expr::Call(function, arguments) => self.call(*function, arguments),
            condition => {
                let test = self.test(condition)?;
                Ok(Typed { value: Value::Test(Box::new(test)), data_type: DataType::Boolean, is_json: false })
            }
        }
    }

    fn column(&mut self, name: &str) -> Result<Typed> {
        let Some((index, field)) = self.schema.column_with_name(name) else {
            if (self.may_lack)(name) {
                return literal_value(&Literal::Null);
            }
            let names: Vec<String> = self.schema.fields().iter().map(|field| field.name().clone()).collect();
            return Err(unknown_column(&names, name));
        };
        supported(field)?;
        let position = self.columns.iter().position(|(known, _)| *known == index).unwrap_or_else(|| {
            self.columns.push((index, name.to_owned()));
            self.columns.len() - 1
        });
        Ok(Typed { value: Value::Column(position), data_type: field.data_type().clone(), is_json: is_json(field) })
    }

    /// A value whose type follows from its operands.
    fn typed(&self, value: Value) -> Result<Typed> {
        let column =
            |(index, _): &(usize, String)| self.schema.fields().get(*index).map(|field| empty(field.data_type()));
        let columns = self.columns.iter().filter_map(column).collect();
        let rows = Rows { columns, len: 0 };
        let found =
            rows.value(&value).map_err(|cause| Error::usage(format!("the predicate cannot be evaluated: {cause}")))?;
        Ok(Typed { value, data_type: found.array.data_type().clone(), is_json: false })
    }

    /// A number for arithmetic: `Int64`, `Decimal128`, `Float32` or `Float64`.
    fn number(&mut self, expr: &Expr, by: &str) -> Result<Typed> {
        let value = self.value(expr)?.decoded();
        let data_type = match &value.data_type {
            DataType::UInt64 => DataType::Decimal128(20, 0),
            DataType::Decimal256(_, scale) => DataType::Decimal128(38, *scale),
            DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
                DataType::Decimal128(*precision, *scale)
            }
            DataType::Decimal128(..) => return Ok(value),
            other if other.is_integer() => DataType::Int64,
            DataType::Float16 => DataType::Float32,
            DataType::Float32 | DataType::Float64 => return Ok(value),
            DataType::Null => DataType::Int64,
            _ => return Err(mismatch(expr, &value, "a number", by)),
        };
        Ok(value.cast(&data_type))
    }

    fn argument(&mut self, function: Function, arguments: &[Expr]) -> Result<Typed> {
        match arguments {
            [one] => Ok(self.value(one)?.decoded()),
            _ => Err(Error::usage(format!("{} takes one argument", function.name()))),
        }
    }

    fn call(&mut self, function: Function, arguments: &[Expr]) -> Result<Typed> {
        let first = arguments.first().unwrap_or(&Expr::Literal(Literal::Null));
        match function {
            Function::Abs => {
                let value = self.number(first, "abs")?;
                self.typed(Value::Absolute(Box::new(value.value)))
            }
            Function::Coalesce => self.coalesce(arguments),
            Function::Lower | Function::Upper => {
                let value = self.argument(function, arguments)?;
                if value.kind() == Kind::Null {
                    return Ok(value);
                }
                if value.kind() != Kind::Text || value.is_json {
                    return Err(mismatch(first, &value, "text", function.name()));
                }
                let text = Box::new(value.cast(&DataType::Utf8View).value);
                self.typed(if function == Function::Lower { Value::Lower(text) } else { Value::Upper(text) })
            }
            Function::Length | Function::IsNan => {
                let value = self.argument(function, arguments)?;
                let value = match value.kind() {
                    Kind::Null => return Ok(value),
                    Kind::Text if !value.is_json => value.cast(&DataType::Utf8View),
                    Kind::Binary => value.cast(&DataType::BinaryView),
                    Kind::List => value,
                    _ => return Err(mismatch(first, &value, "text, bytes or a list", function.name())),
                };
                self.typed(Value::Length(Box::new(value.value)))
            }
        }
    }

    fn coalesce(&mut self, arguments: &[Expr]) -> Result<Typed> {
        let mut all: Vec<Typed> = Vec::new();
        for argument in arguments {
            let mut next = self.value(argument)?.decoded();
            if let Some(first) = all.first() {
                let (one, other) = self.alike(arguments.first().unwrap_or(argument), first.clone(), argument, next)?;
                let data_type = one.data_type;
                all = all.into_iter().map(|before| before.cast(&data_type)).collect();
                next = other;
            }
            all.push(next);
        }
        let data_type = all.first().map_or(DataType::Null, |first| first.data_type.clone());
        Ok(Typed { value: Value::Coalesce(all.into_iter().map(|one| one.value).collect()), data_type, is_json: false })
    }

    fn like(&mut self, expr: &Expr, pattern: &Pattern) -> Result<Test> {
        let value = self.value(expr)?;
        if value.kind() == Kind::Null {
            return Ok(Test::Constant(None));
        }
        if value.kind() != Kind::Text || value.is_json {
            return Err(mismatch(expr, &value, "text", if pattern.ignores_case { "ilike" } else { "like" }));
        }
        let text = with_backslashes(pattern);
        Ok(match pattern.ignores_case {
            false => Test::Like(value.value, text),
            true => {
                let value = value.decoded().cast(&DataType::Utf8View).value;
                Test::Like(Value::FoldCase(Box::new(value)), fold_case(&text))
            }
        })
    }

    fn compare(&mut self, left: &Expr, op: Comparison, right: &Expr) -> Result<Test> {
        for (value, literal, op) in [(left, right, op), (right, left, op.reversed())] {
            if let (Expr::Literal(literal), false) = (literal, matches!(value, Expr::Literal(_))) {
                return self.compare_literal(value, op, literal);
            }
        }
        let (one, other) = match (self.value(left), self.value(right)) {
            (Ok(one), Ok(other)) => (one, other),
            // A word without quotes on one side of a comparison is meant as text more often than as a column.
            (Ok(one), Err(error)) if one.kind() == Kind::Text => return Err(text_hint(error, right)),
            (Err(error), Ok(other)) if other.kind() == Kind::Text => return Err(text_hint(error, left)),
            (Err(error), _) | (_, Err(error)) => return Err(error),
        };
        for (expr, value) in [(left, &one), (right, &other)] {
            comparable(expr, value)?;
        }
        if let (Kind::Integer, Kind::Float) = (one.kind(), other.kind()) {
            return Ok(mixed(one, op, other));
        }
        if let (Kind::Float, Kind::Integer) = (one.kind(), other.kind()) {
            return Ok(mixed(other, op.reversed(), one));
        }
        if let (Some((unit, zoned)), Some((second, same))) = (instant_unit(&one), instant_unit(&other))
            && unit != second
            && zoned == same
        {
            // No unit holds the values of both.
            let exact = |instant: Typed| Value::Nanoseconds(Box::new(instant.decoded().value));
            return Ok(Test::Compare(exact(one), op, exact(other)));
        }
        let (one, other) = self.alike(left, one, right, other)?;
        Ok(Test::Compare(one.value, op, other.value))
    }

    /// Both with one type.
    fn alike(&self, left: &Expr, one: Typed, right: &Expr, other: Typed) -> Result<(Typed, Typed)> {
        if one.data_type == other.data_type {
            return Ok((one, other));
        }
        let (one, other) = (one.decoded(), other.decoded());
        let common = match (one.kind(), other.kind()) {
            (Kind::Null, _) => other.data_type.clone(),
            (_, Kind::Null) => one.data_type.clone(),
            (a, b) if a.is_number() && b.is_number() => common_number(&one, &other),
            (Kind::Text, Kind::Text) => DataType::Utf8View,
            (Kind::Binary, Kind::Binary) => DataType::BinaryView,
            (Kind::Time, Kind::Time) => DataType::Time64(TimeUnit::Nanosecond),
            (Kind::Date, Kind::Date) => DataType::Date64,
            (Kind::Duration, Kind::Duration) => DataType::Duration(TimeUnit::Nanosecond),
            (Kind::Date, Kind::Timestamp { zoned: false }) => finest(&timestamp(false), &other.data_type),
            (Kind::Timestamp { zoned: false }, Kind::Date) => finest(&one.data_type, &timestamp(false)),
            (Kind::Timestamp { zoned: a }, Kind::Timestamp { zoned: b }) if a == b => {
                finest(&one.data_type, &other.data_type)
            }
            (a, b) => {
                let detail = format!("{left} is {}, and {right} is {}: they cannot be compared", a.name(), b.name());
                return Err(in_column(Error::usage(detail), left));
            }
        };
        // Milliseconds of dates become finer units by way of timestamps: the overflow is an error only there.
        let instant = |value: Typed| match (&value.data_type, &common) {
            (DataType::Date64, DataType::Timestamp(..)) => {
                value.cast(&DataType::Timestamp(TimeUnit::Millisecond, None)).cast(&common)
            }
            _ => value.cast(&common),
        };
        Ok((instant(one), instant(other)))
    }

    fn compare_literal(&mut self, expr: &Expr, op: Comparison, literal: &Literal) -> Result<Test> {
        let value = self.value(expr)?;
        comparable(expr, &value)?;
        let plain = value_type(&value.data_type).clone();
        let with = |value: Typed, compared: Compared| match compared {
            Compared::With(op, scalar) => Test::Compare(value.value, op, Value::Literal(scalar)),
            Compared::Always(result) => Test::Always(value.value, result),
        };
        let kind = value.kind();
        let located = |error: Error| in_column(error, expr);
        match (kind, literal) {
            (_, Literal::Null) => {
                let not = if op == Comparison::NotEq { "not " } else { "" };
                let detail = format!("a comparison with null is never true: write {expr} is {not}null");
                Err(located(Error::usage(detail)))
            }
            (Kind::Null, _) => Ok(Test::Constant(None)),
            (Kind::Bool, Literal::Bool(literal)) => {
                let scalar: ArrayRef = Arc::new(BooleanArray::from(vec![*literal]));
                Ok(with(value.decoded(), Compared::With(op, scalar)))
            }
            (Kind::Integer | Kind::Decimal, Literal::Number(text)) => {
                let number = Number::parse(text)?;
                Ok(with(value.decoded(), with_integer(&plain, op, number).map_err(located)?))
            }
            (Kind::Float, Literal::Number(text)) => {
                let number = Number::parse(text)?;
                if plain == DataType::Float16 {
                    return Ok(half(
                        value.decoded(),
                        with_float(&DataType::Float32, op, number, text).map_err(located)?,
                        number.has_point,
                    ));
                }
                Ok(with(value.decoded(), with_float(&plain, op, number, text).map_err(located)?))
            }
            (Kind::Float, Literal::Text(text)) if special_float(text).is_some() => {
                let data_type = if plain == DataType::Float64 { DataType::Float64 } else { DataType::Float32 };
                let scalar = float_scalar(&data_type, special_float(text).unwrap_or(f64::NAN));
                Ok(with(value.decoded().cast(&data_type), Compared::With(op, scalar)))
            }
            (Kind::Text, Literal::Text(text)) => {
                let scalar = scalar_of(&plain, text).map_err(crate::from_arrow)?;
                Ok(with(value, Compared::With(op, scalar)))
            }
            (Kind::Binary, Literal::Bytes(bytes)) => {
                let scalar: ArrayRef = Arc::new(BinaryArray::from_vec(vec![bytes]));
                let scalar = cast(&scalar, &DataType::BinaryView).map_err(crate::from_arrow)?;
                Ok(with(value.decoded().cast(&DataType::BinaryView), Compared::With(op, scalar)))
            }
            (Kind::Date | Kind::Time | Kind::Timestamp { .. }, Literal::Text(_) | Literal::Time(..)) => {
                self.compare_time(expr, value.decoded(), op, literal)
            }
            (_, literal) => {
                let found = literal_kind(literal);
                let hint = match (kind, literal) {
                    (Kind::Text, Literal::Number(_) | Literal::Bool(_)) => {
                        format!("; a text is quoted: {}", quoted(&literal.to_string()))
                    }
                    (Kind::Duration, _) => "; durations are compared with columns only".to_owned(),
                    _ => String::new(),
                };
                let detail = format!("expected {}, found {found} {literal}{hint}", kind.name());
                Err(located(Error::usage(detail)))
            }
        }
    }

    fn compare_time(&self, expr: &Expr, value: Typed, op: Comparison, literal: &Literal) -> Result<Test> {
        let located = |error: Error| in_column(error, expr);
        let (text, kind) = match literal {
            Literal::Time(kind, text) => (text, Some(*kind)),
            Literal::Text(text) => (text, None),
            _ => return Err(located(Error::usage(format!("expected {}", value.kind().name())))),
        };
        let zoned = matches!(value.kind(), Kind::Timestamp { zoned: true });
        let (date, moment) = (DataType::Date32, timestamp(zoned));
        let is_date_only = text.len() <= 16 && !text.contains([':', 'T']);
        let literal_type = match (value.kind(), kind) {
            (Kind::Time, None | Some(TimeKind::Time)) => DataType::Time64(TimeUnit::Nanosecond),
            (Kind::Date, Some(TimeKind::Date)) => date,
            // A date compared with a point in time is its first moment.
            (Kind::Date, None) if is_date_only => date,
            (Kind::Date, None | Some(TimeKind::Timestamp)) => timestamp(false),
            (Kind::Timestamp { .. }, Some(TimeKind::Date)) => date,
            (Kind::Timestamp { .. }, None | Some(TimeKind::Timestamp)) => moment,
            (kind, _) => {
                let detail = format!("expected {}, found {literal}", kind.name());
                return Err(located(Error::usage(detail)));
            }
        };
        let compared = with_time(&value.data_type, op, text, &literal_type).map_err(located)?;
        Ok(match compared {
            Compared::With(op, scalar) => Test::Compare(value.value, op, Value::Literal(scalar)),
            Compared::Always(result) => Test::Always(value.value, result),
        })
    }
}

fn negate(test: Test, negated: bool) -> Test {
    if negated { Test::Not(Box::new(test)) } else { test }
}

/// A comparison of 16-bit floating-point numbers, widened; a literal with a point is rounded to their width.
fn half(value: Typed, compared: Compared, is_rounded: bool) -> Test {
    let value = value.cast(&DataType::Float32).value;
    match compared {
        Compared::With(op, scalar) if is_rounded => {
            let rounded =
                cast(&scalar, &DataType::Float16).and_then(|half| cast(&half, &DataType::Float32)).unwrap_or(scalar);
            Test::Compare(value, op, Value::Literal(rounded))
        }
        Compared::With(op, scalar) => Test::Compare(value, op, Value::Literal(scalar)),
        Compared::Always(result) => Test::Always(value, result),
    }
}

/// An integer and a floating-point number, compared exactly.
fn mixed(integer: Typed, op: Comparison, float: Typed) -> Test {
    let integer = integer.decoded();
    let wide = if integer.data_type == DataType::UInt64 { DataType::UInt64 } else { DataType::Int64 };
    Test::CompareMixed(integer.cast(&wide).value, op, float.decoded().cast(&DataType::Float64).value)
}

/// Nanoseconds of the unit of dates and timestamps, and whether they have a zone.
fn instant_unit(value: &Typed) -> Option<(i128, bool)> {
    let zoned = match value.kind() {
        Kind::Date => false,
        Kind::Timestamp { zoned } => zoned,
        _ => return None,
    };
    Some((nanoseconds(value_type(&value.data_type)), zoned))
}

/// The timestamp type of the finer unit.
fn finest(one: &DataType, other: &DataType) -> DataType {
    match (one, other) {
        (DataType::Timestamp(unit, zone), DataType::Timestamp(second, _)) => {
            DataType::Timestamp(*unit.max(second), zone.as_ref().map(|_| "UTC".into()))
        }
        _ => timestamp(false),
    }
}

/// Fails for a value that has no order.
fn comparable(expr: &Expr, value: &Typed) -> Result<()> {
    let what = match value.kind() {
        Kind::List => "a list: compare an element, such as a[1], or its length",
        Kind::Struct => "a struct: compare a field, such as a.b",
        Kind::Other => "of a type without comparisons",
        _ if value.is_json => "JSON of several types, which has no comparisons",
        _ => return Ok(()),
    };
    Err(in_column(Error::usage(format!("{expr} is {what}")), expr))
}

/// Fails for a column whose type has no kernels.
fn supported(field: &Field) -> Result<()> {
    let named = |what: &str| {
        let detail = format!("the type {} has no filters: {what}", field.data_type());
        Err(Error::usage(detail).in_column(field.name().clone()))
    };
    match field.data_type() {
        DataType::RunEndEncoded(..) => named("run-end encoding"),
        DataType::ListView(_) | DataType::LargeListView(_) => named("list views"),
        DataType::Union(..) => named("unions"),
        _ => Ok(()),
    }
}

/// A pattern with a backslash before each character that stands for itself.
fn with_backslashes(pattern: &Pattern) -> String {
    let mut text = String::with_capacity(pattern.text.len());
    let mut characters = pattern.text.chars();
    while let Some(character) = characters.next() {
        if Some(character) == pattern.escape {
            text.push('\\');
            text.extend(characters.next());
        } else {
            if character == '\\' {
                text.push('\\');
            }
            text.push(character);
        }
    }
    text
}

/// The error for a value of another kind.
fn mismatch(expr: &Expr, value: &Typed, expected: &str, by: &str) -> Error {
    let found = if value.is_json { "JSON of several types" } else { value.kind().name() };
    in_column(Error::usage(format!("{by} expects {expected}, found {found}")), expr)
}

/// Adds to the error for an unknown column that a text is quoted.
fn text_hint(error: Error, expr: &Expr) -> Error {
    match expr {
        Expr::Column(name) => Error::usage(format!("{}; a text is quoted: {}", error.detail(), quoted(name))),
        _ => error,
    }
}

/// Names the column of an expression, if it has only one.
fn in_column(error: Error, expr: &Expr) -> Error {
    let mut names: Vec<&str> = Vec::new();
    expr.columns(&mut |name| names.push(name));
    names.dedup();
    match names.as_slice() {
        [name] => error.in_column((*name).to_owned()),
        _ => error,
    }
}
