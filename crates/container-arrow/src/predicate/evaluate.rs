//! Bound predicates, evaluated on batches by Arrow's kernels.

use std::sync::Arc;

use arrow_arith::boolean::{and_kleene, not, or_kleene};
use arrow_arith::numeric;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float16Type, Float32Type, Float64Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, BooleanArray, Datum, Int64Array, RecordBatch, Scalar,
    StringArray, UInt64Array, make_array,
};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_cast::CastOptions;
use arrow_ord::cmp;
use arrow_schema::{ArrowError, DataType};
use arrow_select::nullif::nullif;
use arrow_select::take::take;
use arrow_select::zip::zip;
use arrow_string::like::like;
use container_core::arrow::from_arrow;
use container_core::{Error, ErrorKind, Result};

use super::expr::{Arithmetic, Comparison};
use super::types::{nanoseconds, value_type};

type Outcome<T> = std::result::Result<T, ArrowError>;

/// A [predicate](super::Predicate) for batches of one schema.
#[derive(Debug, Clone)]
pub struct Filter {
    pub(super) test: Test,
    /// The columns it reads, by index into the schema, and their names.
    pub(super) columns: Vec<(usize, String)>,
}

/// A condition: true, false or unknown.
#[derive(Debug, Clone)]
pub(super) enum Test {
    Constant(Option<bool>),
    /// A boolean.
    Value(Value),
    Not(Box<Test>),
    And(Vec<Test>),
    Or(Vec<Test>),
    /// Both have the same type; floating-point numbers have one zero, and one NaN, the greatest.
    Compare(Value, Comparison, Value),
    /// An integer or decimal of 64 bits with a `Float64`, exactly.
    CompareMixed(Value, Comparison, Value),
    /// This result for values that are not null.
    Always(Value, bool),
    /// The pattern, where a backslash precedes a character that stands for itself.
    Like(Value, String),
    IsNull(Value, bool),
    /// Whether a condition has this result.
    Is(Box<Test>, bool),
    IsNan(Value),
}

/// A value of each row.
#[derive(Debug, Clone)]
pub(super) enum Value {
    /// A column, by position in the list of columns.
    Column(usize),
    /// An array of one value.
    Literal(ArrayRef),
    Field(Box<Value>, usize),
    /// An element of a list, counted from 0.
    Element(Box<Value>, u64),
    Cast(Box<Value>, DataType),
    /// Of values of one type: `Int64`, `Decimal128`, `Float32` or `Float64`.
    Arithmetic(Box<Value>, Arithmetic, Box<Value>),
    Negate(Box<Value>),
    Absolute(Box<Value>),
    /// Nanoseconds since 1970 of dates or timestamps, as `Decimal128`, which holds those of every unit.
    Nanoseconds(Box<Value>),
    Length(Box<Value>),
    Lower(Box<Value>),
    Upper(Box<Value>),
    /// Texts without the difference of case.
    FoldCase(Box<Value>),
    /// Of values of one type.
    Coalesce(Vec<Value>),
    Test(Box<Test>),
}

/// The values of all rows, or one value for all.
pub(super) struct Operand {
    pub(super) array: ArrayRef,
    is_scalar: bool,
}

impl Datum for Operand {
    fn get(&self) -> (&dyn Array, bool) {
        (self.array.as_ref(), self.is_scalar)
    }
}

impl Operand {
    fn map(self, change: impl FnOnce(&ArrayRef) -> Outcome<ArrayRef>) -> Outcome<Self> {
        Ok(Self { array: change(&self.array)?, is_scalar: self.is_scalar })
    }

    /// A value for each row.
    fn expanded(self, rows: usize) -> Outcome<ArrayRef> {
        match self.is_scalar {
            false => Ok(self.array),
            true => take(&self.array, &UInt64Array::from(vec![0; rows]), None),
        }
    }
}

impl Filter {
    /// The columns it reads, by index into the schema it was bound to, in the order of their first mention.
    pub fn columns(&self) -> impl Iterator<Item = usize> {
        self.columns.iter().map(|(index, _)| *index)
    }

    /// Whether it holds, for each row. Never null: unknown counts as false.
    ///
    /// # Errors
    /// [`Usage`](ErrorKind::Usage) for a batch that lacks a column; [`Invalid`](ErrorKind::Invalid) with the row for an overflow.
    pub fn mask(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        let column = |(index, name): &(usize, String)| match batch.columns().get(*index) {
            Some(column) if batch.schema_ref().field(*index).name() == name => Ok(Arc::clone(column)),
            _ => Err(Error::usage(format!("the batch has no column {name:?} at position {index}"))),
        };
        let columns = self.columns.iter().map(column).collect::<Result<Vec<_>>>()?;
        let rows = Rows { columns, len: batch.num_rows() };
        match rows.test(&self.test) {
            Ok(mask) => Ok(without_nulls(mask)),
            Err(error) => Err(rows.locate(&self.test, error)),
        }
    }
}

/// Unknown as false.
fn without_nulls(mask: BooleanArray) -> BooleanArray {
    match mask.nulls() {
        None => mask,
        Some(nulls) => BooleanArray::new(mask.values() & nulls.inner(), None),
    }
}

/// The rows of a batch.
pub(super) struct Rows {
    pub(super) columns: Vec<ArrayRef>,
    pub(super) len: usize,
}

impl Rows {
    /// An error of the first row that has one.
    fn locate(&self, test: &Test, error: ArrowError) -> Error {
        let slice = |start: usize, len: usize| Self {
            columns: self.columns.iter().map(|column| column.slice(start, len)).collect(),
            len,
        };
        let (mut first, mut last) = (0, self.len);
        while first + 1 < last {
            let middle = first + (last - first) / 2;
            if slice(first, middle - first).test(test).is_err() {
                last = middle;
            } else {
                first = middle;
            }
        }
        let own = slice(first, last.saturating_sub(first)).test(test).err().unwrap_or(error);
        let error = match own {
            ArrowError::ArithmeticOverflow(detail) => Error::invalid(format!("overflow in the predicate: {detail}")),
            ArrowError::CastError(detail) => Error::invalid(format!("out of range in the predicate: {detail}")),
            other => from_arrow(other),
        };
        if error.kind() == ErrorKind::Invalid { error.in_row(first as u64) } else { error }
    }

    pub(super) fn test(&self, test: &Test) -> Outcome<BooleanArray> {
        match test {
            Test::Constant(value) => Ok(self.constant(*value)),
            Test::Value(value) => Ok(self.value(value)?.expanded(self.len)?.as_boolean().clone()),
            Test::Not(one) => not(&self.test(one)?),
            Test::And(all) => self.fold(all, and_kleene, |mask| mask.true_count() == 0 && mask.null_count() == 0),
            Test::Or(all) => self.fold(all, or_kleene, |mask| mask.true_count() == mask.len()),
            Test::Compare(left, op, right) => {
                let plain = |value| self.value(value)?.map(|array| Ok(comparable(array)));
                let (left, right) = (plain(left)?, plain(right)?);
                let compared = match op {
                    Comparison::Eq => cmp::eq(&left, &right),
                    Comparison::NotEq => cmp::neq(&left, &right),
                    Comparison::Less => cmp::lt(&left, &right),
                    Comparison::LessEq => cmp::lt_eq(&left, &right),
                    Comparison::Greater => cmp::gt(&left, &right),
                    Comparison::GreaterEq => cmp::gt_eq(&left, &right),
                }?;
                self.full(compared, left.is_scalar && right.is_scalar)
            }
            Test::CompareMixed(integer, op, float) => {
                let (integers, floats) =
                    (self.value(integer)?.expanded(self.len)?, self.value(float)?.expanded(self.len)?);
                Ok(compare_mixed(&integers, *op, &floats))
            }
            Test::Always(value, result) => {
                let array = self.value(value)?.expanded(self.len)?;
                let values =
                    if *result { BooleanBuffer::new_set(self.len) } else { BooleanBuffer::new_unset(self.len) };
                Ok(BooleanArray::new(values, array.logical_nulls()))
            }
            Test::Like(value, pattern) => {
                let value = self.value(value)?;
                let pattern = scalar_of(value_type(value.array.data_type()), pattern)?;
                let matched = like(&value, &Scalar::new(pattern))?;
                self.full(matched, value.is_scalar)
            }
            Test::IsNull(value, negated) => {
                let array = self.value(value)?.expanded(self.len)?;
                let nulls = array.logical_nulls();
                let valid = nulls.map_or_else(|| BooleanBuffer::new_set(self.len), |nulls| nulls.inner().clone());
                Ok(BooleanArray::new(if *negated { valid } else { !&valid }, None))
            }
            Test::Is(one, wanted) => {
                let mask = self.test(one)?;
                Ok(without_nulls(if *wanted { mask } else { not(&mask)? }))
            }
            Test::IsNan(value) => {
                let array = self.value(value)?.expanded(self.len)?;
                Ok(match array.data_type() {
                    DataType::Float16 => {
                        BooleanArray::from_unary(array.as_primitive::<Float16Type>(), |value| value.is_nan())
                    }
                    DataType::Float32 => BooleanArray::from_unary(array.as_primitive::<Float32Type>(), f32::is_nan),
                    DataType::Float64 => BooleanArray::from_unary(array.as_primitive::<Float64Type>(), f64::is_nan),
                    _ => BooleanArray::new(BooleanBuffer::new_unset(self.len), array.logical_nulls()),
                })
            }
        }
    }

    /// Combines conditions, up to the first after which the result is certain.
    fn fold(
        &self,
        all: &[Test],
        combine: fn(&BooleanArray, &BooleanArray) -> Outcome<BooleanArray>,
        is_certain: fn(&BooleanArray) -> bool,
    ) -> Outcome<BooleanArray> {
        let Some((first, others)) = all.split_first() else { return Ok(self.constant(Some(true))) };
        let mut mask = self.test(first)?;
        for other in others {
            if is_certain(&mask) {
                break;
            }
            mask = combine(&mask, &self.test(other)?)?;
        }
        Ok(mask)
    }

    fn constant(&self, value: Option<bool>) -> BooleanArray {
        let values = match value {
            Some(true) => BooleanBuffer::new_set(self.len),
            _ => BooleanBuffer::new_unset(self.len),
        };
        BooleanArray::new(values, value.is_none().then(|| NullBuffer::new_null(self.len)))
    }

    /// A result for each row, if it is one for all.
    fn full(&self, mask: BooleanArray, is_scalar: bool) -> Outcome<BooleanArray> {
        match is_scalar {
            false => Ok(mask),
            true => Ok(self.constant(mask.iter().next().flatten())),
        }
    }

    pub(super) fn value(&self, value: &Value) -> Outcome<Operand> {
        match value {
            Value::Column(position) => match self.columns.get(*position) {
                Some(column) => Ok(Operand { array: Arc::clone(column), is_scalar: false }),
                None => Err(ArrowError::SchemaError(format!("no column {position}"))),
            },
            Value::Literal(array) => Ok(Operand { array: Arc::clone(array), is_scalar: true }),
            Value::Field(inner, index) => self.value(inner)?.map(|array| field(array, *index)),
            Value::Element(inner, index) => self.value(inner)?.map(|array| element(array, *index)),
            Value::Cast(inner, data_type) => self.value(inner)?.map(|array| cast(array, data_type)),
            Value::Arithmetic(left, op, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                let is_scalar = left.is_scalar && right.is_scalar;
                Ok(Operand { array: arithmetic(&left, *op, &right)?, is_scalar })
            }
            Value::Negate(inner) => self.value(inner)?.map(|array| numeric::neg(array)),
            Value::Absolute(inner) => self.value(inner)?.map(absolute),
            Value::Nanoseconds(inner) => self.value(inner)?.map(nanoseconds_since_1970),
            Value::Length(inner) => self.value(inner)?.map(length),
            Value::Lower(inner) => self.value(inner)?.map(|array| changed(array, str::to_lowercase)),
            Value::Upper(inner) => self.value(inner)?.map(|array| changed(array, str::to_uppercase)),
            Value::FoldCase(inner) => self.value(inner)?.map(|array| changed(array, fold_case)),
            Value::Coalesce(all) => {
                let mut result: Option<ArrayRef> = None;
                for one in all {
                    let array = self.value(one)?.expanded(self.len)?;
                    result = Some(match result {
                        None => array,
                        Some(before) => zip(&valid(&before), &before, &array)?,
                    });
                }
                let missing = || ArrowError::SchemaError("coalesce of nothing".to_owned());
                Ok(Operand { array: result.ok_or_else(missing)?, is_scalar: false })
            }
            Value::Test(test) => Ok(Operand { array: Arc::new(self.test(test)?), is_scalar: false }),
        }
    }
}

/// Where an array is not null.
fn valid(array: &ArrayRef) -> BooleanArray {
    let nulls = array.logical_nulls();
    BooleanArray::new(nulls.map_or_else(|| BooleanBuffer::new_set(array.len()), |nulls| nulls.inner().clone()), None)
}

/// Arrow compares by total order: with the sign of zero and of NaN.
fn comparable(array: &ArrayRef) -> ArrayRef {
    fn plain<T: ArrowPrimitiveType>(array: &ArrayRef, nan: T::Native) -> ArrayRef {
        let plain = |value: T::Native| match value.partial_cmp(&value) {
            None => nan,
            Some(_) => value.add_wrapping(T::Native::ZERO),
        };
        Arc::new(array.as_primitive::<T>().unary::<_, T>(plain))
    }
    match array.data_type() {
        DataType::Float16 => plain::<Float16Type>(array, <Float16Type as ArrowPrimitiveType>::Native::NAN),
        DataType::Float32 => plain::<Float32Type>(array, f32::NAN),
        DataType::Float64 => plain::<Float64Type>(array, f64::NAN),
        _ => Arc::clone(array),
    }
}

/// Compares integers (`Int64`, `UInt64`) with floating-point numbers, without rounding.
fn compare_mixed(integers: &ArrayRef, op: Comparison, floats: &ArrayRef) -> BooleanArray {
    let integer = |row: usize| -> i128 {
        match integers.data_type() {
            DataType::Int64 => integers.as_primitive::<Int64Type>().value(row).into(),
            _ => integers.as_primitive::<arrow_array::types::UInt64Type>().value(row).into(),
        }
    };
    let floats = floats.as_primitive::<Float64Type>();
    let nulls = NullBuffer::union(integers.nulls(), floats.nulls());
    let holds = |row: usize| {
        let order = exact_order(integer(row), floats.value(row));
        op.holds(order)
    };
    BooleanArray::new(BooleanBuffer::collect_bool(floats.len(), holds), nulls)
}

/// The order of an integer of 64 bits and a floating-point number.
fn exact_order(integer: i128, float: f64) -> std::cmp::Ordering {
    use std::cmp::Ordering;
    if float.is_nan() || float >= 1e30 {
        return Ordering::Less;
    }
    if float <= -1e30 {
        return Ordering::Greater;
    }
    #[expect(clippy::cast_possible_truncation, reason = "within 1e30, and floored")]
    let floor = float.floor() as i128;
    match integer.cmp(&floor) {
        Ordering::Equal if float.fract() != 0.0 => Ordering::Less,
        order => order,
    }
}

/// A text as an array of this type with one value.
pub(super) fn scalar_of(data_type: &DataType, text: &str) -> Outcome<ArrayRef> {
    let array: ArrayRef = Arc::new(StringArray::from(vec![text]));
    cast(&array, data_type)
}

/// Casts, and fails for a value that the type cannot hold.
pub(super) fn cast(array: &ArrayRef, data_type: &DataType) -> Outcome<ArrayRef> {
    if array.data_type() == data_type {
        return Ok(Arc::clone(array));
    }
    arrow_cast::cast_with_options(array, data_type, &CastOptions { safe: false, ..CastOptions::default() })
}

fn nanoseconds_since_1970(array: &ArrayRef) -> Outcome<ArrayRef> {
    let unit = nanoseconds(array.data_type());
    let units = cast(array, &DataType::Int64)?;
    let nanoseconds = units.as_primitive::<Int64Type>().unary::<_, Decimal128Type>(|units| i128::from(units) * unit);
    Ok(Arc::new(nanoseconds.with_precision_and_scale(38, 0)?))
}

/// A field of structs, null where the struct is.
fn field(array: &ArrayRef, index: usize) -> Outcome<ArrayRef> {
    let structs = array.as_struct();
    let missing = || ArrowError::SchemaError(format!("no field {index}"));
    let inner = structs.columns().get(index).ok_or_else(missing)?;
    let Some(outer) = structs.nulls() else { return Ok(Arc::clone(inner)) };
    let is_null = BooleanArray::new(!outer.inner(), None);
    nullif(inner, &is_null)
}

/// An element of lists; null beyond their end.
fn element(array: &ArrayRef, index: u64) -> Outcome<ArrayRef> {
    let index = usize::try_from(index).unwrap_or(usize::MAX);
    let nulls = array.logical_nulls();
    let positions = |bounds: &dyn Fn(usize) -> (usize, usize)| -> UInt64Array {
        let position = |row: usize| {
            let (start, end) = bounds(row);
            let at = start.checked_add(index).filter(|at| *at < end)?;
            nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)).then_some(at as u64)
        };
        (0..array.len()).map(position).collect()
    };
    let to_usize = |offset: i64| usize::try_from(offset).unwrap_or(0);
    let (values, positions) = match array.data_type() {
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let at = |row: usize| list.value_offsets().get(row).map_or(0, |at| to_usize((*at).into()));
            (list.values(), positions(&|row| (at(row), at(row + 1))))
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            let at = |row: usize| list.value_offsets().get(row).map_or(0, |at| to_usize(*at));
            (list.values(), positions(&|row| (at(row), at(row + 1))))
        }
        _ => {
            let list = array.as_fixed_size_list();
            let size = to_usize(list.value_length().into());
            (list.values(), positions(&|row| (row * size, (row + 1) * size)))
        }
    };
    take(values, &positions, None)
}

fn arithmetic(left: &Operand, op: Arithmetic, right: &Operand) -> Outcome<ArrayRef> {
    match op {
        Arithmetic::Add => numeric::add(left, right),
        Arithmetic::Subtract => numeric::sub(left, right),
        Arithmetic::Multiply => numeric::mul(left, right),
        Arithmetic::Divide => numeric::div(left, right),
        Arithmetic::Remainder => remainder(left, right),
    }
}

/// The remainder with the sign of the dividend; of integers and decimals by 0 null.
fn remainder(left: &Operand, right: &Operand) -> Outcome<ArrayRef> {
    match right.array.data_type() {
        DataType::Int64 => {
            let rows = if left.is_scalar { right.array.len() } else { left.array.len() };
            let (left, right) = (left.array.as_primitive::<Int64Type>(), right.array.as_primitive::<Int64Type>());
            let at = |array: &Int64Array, row: usize| {
                let row = if array.len() == 1 { 0 } else { row };
                array.is_valid(row).then(|| array.value(row))
            };
            let rest = |row: usize| {
                at(left, row).zip(at(right, row)).and_then(|(a, b)| if b == 0 { None } else { Some(a.wrapping_rem(b)) })
            };
            Ok(Arc::new((0..rows).map(rest).collect::<Int64Array>()))
        }
        DataType::Decimal128(..) => {
            let decimals = right.array.as_primitive::<arrow_array::types::Decimal128Type>();
            let is_zero = BooleanArray::from_unary(decimals, |value| value == 0);
            let divisor = Operand { array: nullif(&right.array, &is_zero)?, is_scalar: right.is_scalar };
            numeric::rem(left, &divisor)
        }
        _ => numeric::rem(left, right),
    }
}

fn absolute(array: &ArrayRef) -> Outcome<ArrayRef> {
    Ok(match array.data_type() {
        DataType::Int64 => {
            let overflow = |value: i64| ArrowError::ArithmeticOverflow(format!("abs({value})"));
            let absolute = |value: i64| value.checked_abs().ok_or_else(|| overflow(value));
            Arc::new(array.as_primitive::<Int64Type>().try_unary::<_, Int64Type, _>(absolute)?)
        }
        DataType::Float32 => Arc::new(array.as_primitive::<Float32Type>().unary::<_, Float32Type>(f32::abs)),
        DataType::Float64 => Arc::new(array.as_primitive::<Float64Type>().unary::<_, Float64Type>(f64::abs)),
        _ => {
            let negative = numeric::neg(array)?;
            let is_negative = cmp::lt(array, &negative)?;
            zip(&is_negative, &negative, array)?
        }
    })
}

/// Characters of texts, bytes of binary values, elements of lists.
fn length(array: &ArrayRef) -> Outcome<ArrayRef> {
    let nulls = array.logical_nulls();
    let count = |of: &dyn Fn(usize) -> usize| -> ArrayRef {
        let length =
            |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)).then(|| i64::try_from(of(row)).ok())?;
        Arc::new((0..array.len()).map(length).collect::<Int64Array>())
    };
    Ok(match array.data_type() {
        DataType::Utf8View => {
            let texts = array.as_string_view();
            count(&|row| texts.value(row).chars().count())
        }
        DataType::BinaryView => {
            let bytes = array.as_binary_view();
            count(&|row| bytes.value(row).len())
        }
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            count(&|row| lists.value(row).len())
        }
        DataType::LargeList(_) => {
            let lists = array.as_list::<i64>();
            count(&|row| lists.value(row).len())
        }
        _ => {
            let size = usize::try_from(array.as_fixed_size_list().value_length()).unwrap_or(0);
            count(&|_| size)
        }
    })
}

/// Changes texts (`Utf8View`).
fn changed(array: &ArrayRef, change: fn(&str) -> String) -> Outcome<ArrayRef> {
    let texts = array.as_string_view().iter().map(|text| text.map(change));
    Ok(Arc::new(texts.collect::<arrow_array::StringViewArray>()))
}

/// Each character in lower case, whatever its neighbors: as many characters, in patterns as in texts.
pub(super) fn fold_case(text: &str) -> String {
    // Of the one character with two in lower case, `İ`, the first is the letter.
    let lower = |character: char| character.to_lowercase().next().unwrap_or(character);
    if text.is_ascii() { text.to_ascii_lowercase() } else { text.chars().map(lower).collect() }
}

/// An empty array of this type, to find the types of expressions.
pub(super) fn empty(data_type: &DataType) -> ArrayRef {
    make_array(arrow_data::ArrayData::new_empty(data_type))
}
