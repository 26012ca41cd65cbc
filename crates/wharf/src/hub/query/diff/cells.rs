//! The values of an array by their meaning, so that arrays of other types with the same meaning can be compared.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, FixedSizeBinaryArray, LargeBinaryArray,
    LargeStringArray, StringArray, StringViewArray,
};
use arrow_buffer::{ArrowNativeType, NullBuffer};
use arrow_schema::{DataType, TimeUnit};
use container_arrow::decimal_text;
use container_core::{Error, Result};

/// What values mean, whatever their type. Values of one class can be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Class {
    /// Only nulls, which any column has.
    Null,
    Bool,
    /// Integers and floats.
    Number,
    Decimal,
    Text,
    Bytes,
    /// Dates and times of day and year; whether they have a time zone.
    DateTime(bool),
    TimeOfDay,
    Duration,
    List(Box<Class>),
    /// Members by name, sorted.
    Struct(Vec<(String, Class)>),
    /// Values that are compared only with those of the same type.
    Other(DataType),
}

impl Class {
    pub(super) fn of(data_type: &DataType) -> Self {
        use DataType::{
            Boolean, Date32, Date64, Dictionary, Duration, FixedSizeList, LargeList, List, Map, Null, Struct, Time32,
            Time64, Timestamp,
        };
        match data_type {
            Null => Self::Null,
            Boolean => Self::Bool,
            number if number.is_integer() || number.is_floating() => Self::Number,
            decimal if decimal.is_decimal() => Self::Decimal,
            text if text.is_string() => Self::Text,
            bytes if bytes.is_binary() => Self::Bytes,
            Date32 | Date64 | Timestamp(_, None) => Self::DateTime(false),
            Timestamp(_, Some(_)) => Self::DateTime(true),
            Time32(_) | Time64(_) => Self::TimeOfDay,
            Duration(_) => Self::Duration,
            List(item) | LargeList(item) | FixedSizeList(item, _) => Self::List(Box::new(Self::of(item.data_type()))),
            Map(entries, _) => Self::List(Box::new(Self::of(entries.data_type()))),
            Struct(members) => {
                let member = |member: &arrow_schema::FieldRef| (member.name().clone(), Self::of(member.data_type()));
                let mut members: Vec<_> = members.iter().map(member).collect();
                members.sort_by(|(one, _), (other, _)| one.cmp(other));
                Self::Struct(members)
            }
            Dictionary(_, values) => Self::of(values),
            other => Self::Other(other.clone()),
        }
    }

    /// Whether values of both can be equal.
    pub(super) fn compares_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, _) | (_, Self::Null) => true,
            (Self::List(one), Self::List(other)) => one.compares_with(other),
            (Self::Struct(one), Self::Struct(other)) => {
                let same = |((one, class), (other, others)): (&(String, Self), &(String, Self))| {
                    one == other && class.compares_with(others)
                };
                one.len() == other.len() && one.iter().zip(other).all(same)
            }
            (one, other) => one == other,
        }
    }
}

/// When two floats are equal. NaN equals NaN.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct Tolerance {
    /// Floats are equal if they differ by at most this.
    pub absolute: f64,
    /// Floats are equal if they differ by at most this, relative to the larger absolute value.
    pub relative: f64,
    /// -0 differs from 0.
    pub signed_zero: bool,
}

/// The values of an array, with nulls.
pub(super) struct Cells {
    len: usize,
    nulls: Option<NullBuffer>,
    values: Values,
}

enum Values {
    Null,
    Bools(BooleanArray),
    Integers(Vec<i128>),
    /// Floats, and whether they were 64 bits wide.
    Floats(Vec<f64>, bool),
    /// Nanoseconds.
    Times(Vec<i128>),
    /// Digits without trailing zeros.
    Decimals(Vec<String>),
    Text(StringArray),
    LargeText(LargeStringArray),
    TextView(StringViewArray),
    Bytes(BinaryArray),
    LargeBytes(LargeBinaryArray),
    BytesView(BinaryViewArray),
    Fixed(FixedSizeBinaryArray),
    /// Indexes, and values.
    Dictionary(Vec<usize>, Box<Cells>),
    /// Start and end of each list among the elements.
    Lists(Vec<(usize, usize)>, Box<Cells>),
    /// Members, sorted by name.
    Struct(Vec<Cells>),
}

impl Cells {
    pub(super) fn new(array: &ArrayRef) -> Result<Self> {
        let boxed = |array: &ArrayRef| Self::new(array).map(Box::new);
        let integers = |numbers: Vec<i128>| Values::Integers(numbers);
        let values = match array.data_type() {
            DataType::Null => Values::Null,
            DataType::Boolean => Values::Bools(array.as_boolean().clone()),
            DataType::Int8 => integers(wide::<i8>(array)),
            DataType::Int16 => integers(wide::<i16>(array)),
            DataType::Int32 => integers(wide::<i32>(array)),
            DataType::Int64 => integers(wide::<i64>(array)),
            DataType::UInt8 => integers(wide::<u8>(array)),
            DataType::UInt16 => integers(wide::<u16>(array)),
            DataType::UInt32 => integers(wide::<u32>(array)),
            DataType::UInt64 => integers(wide::<u64>(array)),
            DataType::Float16 => {
                let halves = array.as_primitive::<Float16Type>().values().iter();
                Values::Floats(halves.map(|half| half.to_f64()).collect(), false)
            }
            DataType::Float32 => {
                let floats = array.as_primitive::<Float32Type>().values().iter();
                Values::Floats(floats.map(|float| f64::from(*float)).collect(), false)
            }
            DataType::Float64 => Values::Floats(array.as_primitive::<Float64Type>().values().to_vec(), true),
            DataType::Date32 => times::<i32>(array, 86_400_000_000_000),
            DataType::Date64 => times::<i64>(array, 1_000_000),
            DataType::Time32(unit) => times::<i32>(array, nanoseconds(*unit)),
            DataType::Time64(unit) | DataType::Timestamp(unit, _) | DataType::Duration(unit) => {
                times::<i64>(array, nanoseconds(*unit))
            }
            of if of.is_decimal() => Values::Decimals((0..array.len()).map(|at| decimal(array, at)).collect()),
            DataType::Utf8 => Values::Text(array.as_string().clone()),
            DataType::LargeUtf8 => Values::LargeText(array.as_string().clone()),
            DataType::Utf8View => Values::TextView(array.as_string_view().clone()),
            DataType::Binary => Values::Bytes(array.as_binary().clone()),
            DataType::LargeBinary => Values::LargeBytes(array.as_binary().clone()),
            DataType::BinaryView => Values::BytesView(array.as_binary_view().clone()),
            DataType::FixedSizeBinary(_) => Values::Fixed(array.as_fixed_size_binary().clone()),
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                // Indexes of nulls are arbitrary.
                let is_empty = dictionary.values().is_empty();
                let indexes = if is_empty { vec![0; array.len()] } else { dictionary.normalized_keys() };
                Values::Dictionary(indexes, boxed(dictionary.values())?)
            }
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                Values::Lists(ranges(list.offsets()), boxed(list.values())?)
            }
            DataType::LargeList(_) => {
                let list = array.as_list::<i64>();
                Values::Lists(ranges(list.offsets()), boxed(list.values())?)
            }
            DataType::FixedSizeList(..) => {
                let list = array.as_fixed_size_list();
                let size = usize::try_from(list.value_length()).unwrap_or(0);
                Values::Lists(
                    (0..array.len()).map(|row| (row * size, (row + 1) * size)).collect(),
                    boxed(list.values())?,
                )
            }
            DataType::Map(..) => {
                let map = array.as_map();
                let entries: ArrayRef = std::sync::Arc::new(map.entries().clone());
                Values::Lists(ranges(map.offsets()), boxed(&entries)?)
            }
            DataType::Struct(fields) => {
                let mut members: Vec<_> = fields.iter().zip(array.as_struct().columns()).collect();
                members.sort_by(|(one, _), (other, _)| one.name().cmp(other.name()));
                Values::Struct(members.into_iter().map(|(_, array)| Self::new(array)).collect::<Result<_>>()?)
            }
            other => return Err(Error::unsupported(format!("values of type {other} cannot be compared"))),
        };
        Ok(Self { len: array.len(), nulls: array.nulls().cloned(), values })
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Whether the value is null.
    pub(super) fn is_null(&self, at: usize) -> bool {
        match &self.values {
            Values::Null => true,
            Values::Dictionary(indexes, values) => {
                self.is_masked(at) || indexes.get(at).is_none_or(|index| values.is_null(*index))
            }
            _ => self.is_masked(at),
        }
    }

    fn is_masked(&self, at: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| at >= nulls.len() || nulls.is_null(at))
    }

    /// Whether a value equals one of another array of the same class.
    pub(super) fn equals(&self, at: usize, other: &Self, at_other: usize, tolerance: &Tolerance) -> bool {
        match (self.is_null(at), other.is_null(at_other)) {
            (false, false) => {}
            (one, other) => return one && other,
        }
        match (&self.values, &other.values) {
            (Values::Dictionary(indexes, values), _) => {
                indexes.get(at).is_some_and(|index| values.equals(*index, other, at_other, tolerance))
            }
            (_, Values::Dictionary(indexes, values)) => {
                indexes.get(at_other).is_some_and(|index| self.equals(at, values, *index, tolerance))
            }
            (Values::Bools(one), Values::Bools(other)) => one.value(at) == other.value(at_other),
            (Values::Integers(one), Values::Integers(other)) | (Values::Times(one), Values::Times(other)) => {
                one.get(at) == other.get(at_other)
            }
            (Values::Floats(one, wide), Values::Floats(other, others)) => match (one.get(at), other.get(at_other)) {
                (Some(one), Some(other)) => floats_equal(*one, *wide, *other, *others, tolerance),
                _ => false,
            },
            (Values::Integers(integers), Values::Floats(floats, _)) => {
                float_equals_integer(floats.get(at_other), integers.get(at), tolerance)
            }
            (Values::Floats(floats, _), Values::Integers(integers)) => {
                float_equals_integer(floats.get(at), integers.get(at_other), tolerance)
            }
            (Values::Decimals(one), Values::Decimals(other)) => one.get(at) == other.get(at_other),
            (Values::Lists(one, elements), Values::Lists(other, others)) => {
                let (Some((start, end)), Some((from, to))) = (one.get(at), other.get(at_other)) else { return false };
                end - start == to - from
                    && (*start..*end).zip(*from..).all(|(at, other)| elements.equals(at, others, other, tolerance))
            }
            (Values::Struct(one), Values::Struct(other)) => {
                one.len() == other.len()
                    && one.iter().zip(other).all(|(one, other)| one.equals(at, other, at_other, tolerance))
            }
            (_, _) => self.bytes(at).is_some_and(|bytes| other.bytes(at_other) == Some(bytes)),
        }
    }

    fn bytes(&self, at: usize) -> Option<&[u8]> {
        Some(match &self.values {
            Values::Text(texts) => texts.value(at).as_bytes(),
            Values::LargeText(texts) => texts.value(at).as_bytes(),
            Values::TextView(texts) => texts.value(at).as_bytes(),
            Values::Bytes(bytes) => bytes.value(at),
            Values::LargeBytes(bytes) => bytes.value(at),
            Values::BytesView(bytes) => bytes.value(at),
            Values::Fixed(bytes) => bytes.value(at),
            _ => return None,
        })
    }

    /// Appends bytes that are the same for equal values, and only for those. False for values that have none: null, lists and structs. With
    /// `narrow`, a 64-bit float that equals a 32-bit one stands for that.
    pub(super) fn key(&self, at: usize, narrow: bool, out: &mut Vec<u8>) -> bool {
        if self.is_null(at) {
            return false;
        }
        let integer = |number: i128, out: &mut Vec<u8>| {
            out.push(0);
            out.extend_from_slice(&number.to_le_bytes());
        };
        match &self.values {
            Values::Bools(bools) => out.push(u8::from(bools.value(at))),
            Values::Integers(numbers) | Values::Times(numbers) => match numbers.get(at) {
                Some(number) => integer(*number, out),
                None => return false,
            },
            Values::Floats(floats, wide) => match floats.get(at) {
                Some(float) => match integer_of(*float) {
                    Some(number) => integer(number, out),
                    None => {
                        out.push(1);
                        let float = if narrow && *wide { narrowed(*float) } else { *float };
                        let float = if float.is_nan() { f64::NAN } else { float };
                        out.extend_from_slice(&float.to_bits().to_le_bytes());
                    }
                },
                None => return false,
            },
            Values::Decimals(digits) => out.extend_from_slice(digits.get(at).map_or(&[][..], String::as_bytes)),
            Values::Dictionary(indexes, values) => {
                return indexes.get(at).is_some_and(|index| values.key(*index, narrow, out));
            }
            _ => match self.bytes(at) {
                Some(bytes) => out.extend_from_slice(bytes),
                None => return false,
            },
        }
        true
    }
}

fn floats_equal(one: f64, wide: bool, other: f64, others: bool, tolerance: &Tolerance) -> bool {
    if one == other {
        return !tolerance.signed_zero || one.is_sign_negative() == other.is_sign_negative();
    }
    if one.is_nan() || other.is_nan() {
        return one.is_nan() && other.is_nan();
    }
    near(one, other, tolerance)
        || match (wide, others) {
            (true, false) => has_digits_of(one, other),
            (false, true) => has_digits_of(other, one),
            _ => false,
        }
}

fn near(one: f64, other: f64, tolerance: &Tolerance) -> bool {
    // The difference of infinities is infinite or NaN.
    is_within((one - other).abs(), one.abs().max(other.abs()), tolerance)
}

fn is_within(difference: f64, size: f64, tolerance: &Tolerance) -> bool {
    difference.is_finite() && (difference <= tolerance.absolute || difference <= tolerance.relative * size)
}

/// Whether a 64-bit float is what reading the shortest digits of a 32-bit one yields, as text formats do.
#[allow(clippy::cast_possible_truncation, reason = "the number was a 32-bit float")]
fn has_digits_of(wide: f64, narrow: f64) -> bool {
    (narrow as f32).to_string().parse::<f64>().is_ok_and(|digits| digits == wide)
}

/// The 32-bit float that has the same shortest digits as a 64-bit one, or else the number itself.
#[allow(clippy::cast_possible_truncation, reason = "the nearest 32-bit float is intended")]
fn narrowed(wide: f64) -> f64 {
    let narrow = f64::from(wide as f32);
    if has_digits_of(wide, narrow) { narrow } else { wide }
}

fn float_equals_integer(float: Option<&f64>, integer: Option<&i128>, tolerance: &Tolerance) -> bool {
    let (Some(float), Some(integer)) = (float, integer) else { return false };
    if integer_of(*float) == Some(*integer) {
        return !(tolerance.signed_zero && *float == 0.0 && float.is_sign_negative());
    }
    // The difference of large integers is exact.
    #[allow(clippy::cast_precision_loss, reason = "a tolerance is a float")]
    let (difference, integer) = match integer_of(*float) {
        Some(number) => ((number - integer).abs() as f64, *integer as f64),
        None => ((float - *integer as f64).abs(), *integer as f64),
    };
    is_within(difference, float.abs().max(integer.abs()), tolerance)
}

/// The integer that a float is exactly.
#[allow(clippy::cast_possible_truncation, reason = "the number is an integer in the range")]
fn integer_of(float: f64) -> Option<i128> {
    (float.trunc() == float && float.abs() < 2_f64.powi(126)).then_some(float as i128)
}

fn wide<T: ArrowNativeType + Into<i128>>(array: &ArrayRef) -> Vec<i128> {
    array.to_data().buffer::<T>(0).iter().take(array.len()).map(|number| (*number).into()).collect()
}

fn times<T: ArrowNativeType + Into<i128>>(array: &ArrayRef, nanoseconds: i128) -> Values {
    Values::Times(wide::<T>(array).into_iter().map(|ticks| ticks * nanoseconds).collect())
}

const fn nanoseconds(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1000,
        TimeUnit::Nanosecond => 1,
    }
}

fn decimal(array: &ArrayRef, at: usize) -> String {
    let text = decimal_text(array, at).unwrap_or_default();
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn ranges<O: Copy + TryInto<usize>>(offsets: &[O]) -> Vec<(usize, usize)> {
    let at = |offset: O| offset.try_into().unwrap_or(0); // offsets are not negative
    offsets.windows(2).filter_map(|pair| Some((at(*pair.first()?), at(*pair.last()?)))).collect()
}
