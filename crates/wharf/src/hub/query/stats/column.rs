//! Collects the statistics of a column and of what is nested in it.

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{ArrowNativeType, NullBuffer};
use arrow_schema::DataType;
use container_arrow::from_arrow;
use container_core::moments::{BLOCK, Block, Moments};
use container_core::{Error, Limits, Result};

use super::numbers::{Family, Numbers, Ordered, float_key, signed_key};
use super::texts::{Lengths, Texts};

/// A column, or what is nested in one.
pub(super) struct Column {
    /// `a`; `a.b` for a member of a struct, `a[]` for the elements of lists.
    pub(super) name: String,
    pub(super) data_type: DataType,
    pub(super) count: u64,
    pub(super) nulls: u64,
    pub(super) nan: u64,
    pub(super) values: Values,
}

pub(super) enum Values {
    Nulls,
    Numbers(Numbers),
    Decimals(Ordered<i128>, Moments),
    Texts(Texts),
    List(Lengths, Box<Column>),
    Struct(Vec<Column>),
}

/// The number of columns with those that are nested.
pub(super) fn count(data_type: &DataType) -> usize {
    1 + match data_type {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => count(item.data_type()),
        DataType::Map(entries, _) => count(entries.data_type()),
        DataType::Struct(members) => members.iter().map(|member| count(member.data_type())).sum(),
        DataType::Dictionary(_, values) => count(values) - 1,
        _ => 0,
    }
}

impl Column {
    /// `capacity` bounds the distinct values that are counted exactly.
    pub(super) fn new(name: String, data_type: &DataType, capacity: usize, depth: u32) -> Result<Self> {
        use DataType::{
            Binary, BinaryView, Boolean, Date32, Date64, Decimal32, Decimal64, Decimal128, Dictionary, Duration,
            FixedSizeBinary, FixedSizeList, Float16, Float32, Float64, Int8, Int16, Int32, Int64, LargeBinary,
            LargeList, LargeUtf8, List, Map, Null, Struct, Time32, Time64, Timestamp, UInt8, UInt16, UInt32, UInt64,
            Utf8, Utf8View,
        };
        if depth > Limits::default().depth {
            return Err(Error::limit("the nesting of columns", depth.into(), Limits::default().depth.into()));
        }
        let numbers = |family| Values::Numbers(Numbers::new(family, capacity));
        let inner =
            |suffix: &str, data_type: &DataType| Self::new(format!("{name}{suffix}"), data_type, capacity, depth + 1);
        let values = match data_type {
            Null => Values::Nulls,
            Boolean | UInt8 | UInt16 | UInt32 | UInt64 => numbers(Family::Unsigned),
            Int8 | Int16 | Int32 | Int64 | Date32 | Date64 | Time32(_) | Time64(_) | Timestamp(..) | Duration(_) => {
                numbers(Family::Signed)
            }
            Float16 | Float32 | Float64 => numbers(Family::Float),
            Decimal32(..) | Decimal64(..) | Decimal128(..) => {
                Values::Decimals(Ordered::new(capacity), Moments::default())
            }
            Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView | FixedSizeBinary(_) => {
                Values::Texts(Texts::new(capacity))
            }
            List(item) | LargeList(item) | FixedSizeList(item, _) => {
                Values::List(Lengths::default(), Box::new(inner("[]", item.data_type())?))
            }
            Map(entries, _) => Values::List(Lengths::default(), Box::new(inner("", entries.data_type())?)),
            Struct(members) => {
                let member =
                    |member: &arrow_schema::FieldRef| inner(&format!(".{}", member.name()), member.data_type());
                Values::Struct(members.iter().map(member).collect::<Result<_>>()?)
            }
            Dictionary(_, values) => return Self::new(name, values, capacity, depth + 1),
            other => {
                let detail = format!("there are no statistics of values of type {other}; select other columns");
                return Err(Error::unsupported(detail).in_column(name));
            }
        };
        Ok(Self { name, data_type: data_type.clone(), count: 0, nulls: 0, nan: 0, values })
    }

    /// Adds an array of the column's type. What is nested in `parents` that are null is null, too.
    pub(super) fn add(&mut self, array: &ArrayRef, parents: Option<&NullBuffer>) -> Result<()> {
        if let Some(dictionary) = array.as_any_dictionary_opt() {
            let plain = arrow_select::take::take(dictionary.values(), dictionary.keys(), None).map_err(from_arrow)?;
            return self.add(&plain, parents);
        }
        let nulls = NullBuffer::union(array.nulls(), parents).filter(|nulls| nulls.null_count() > 0);
        self.count += array.len() as u64;
        self.nulls += nulls.as_ref().map_or(0, |nulls| nulls.null_count() as u64);
        let present = Present { len: array.len(), nulls: nulls.as_ref() };
        match &mut self.values {
            Values::Nulls => self.nulls = self.count,
            Values::Numbers(numbers) => {
                let (keys, nan) = keys(array, &present);
                self.nan += nan;
                numbers.add(&keys);
            }
            Values::Decimals(ordered, moments) => {
                let (unscaled, scale) = decimals(array, &present)?;
                ordered.add(&unscaled);
                #[allow(clippy::cast_precision_loss, reason = "mean and deviation of decimals are floats")]
                let floats = unscaled.iter().map(|number| *number as f64 / 10_f64.powi(scale.into()));
                let floats: Vec<f64> = floats.collect();
                floats.chunks(BLOCK).for_each(|block| moments.add(&Block::of_floats(block, |float| float)));
            }
            Values::Texts(texts) => add_texts(texts, array, &present),
            Values::List(lengths, item) => add_lists(lengths, item, array, &present)?,
            Values::Struct(members) => {
                for (member, array) in members.iter_mut().zip(array.as_struct().columns()) {
                    member.add(array, nulls.as_ref())?;
                }
            }
        }
        Ok(())
    }
}

/// The indexes that are not null.
struct Present<'a> {
    len: usize,
    nulls: Option<&'a NullBuffer>,
}

impl Present<'_> {
    fn each(&self, mut each: impl FnMut(usize)) {
        match self.nulls {
            None => (0..self.len).for_each(each),
            Some(nulls) => nulls.valid_indices().for_each(&mut each),
        }
    }

    /// The values that are not null, mapped.
    fn map<T: Copy, R>(&self, values: &[T], map: impl Fn(T) -> R) -> Vec<R> {
        match self.nulls {
            None => values.iter().take(self.len).map(|value| map(*value)).collect(),
            Some(nulls) => nulls.valid_indices().filter_map(|at| values.get(at).map(|value| map(*value))).collect(),
        }
    }
}

/// Keys of the numbers that are neither null nor NaN, and the number of NaN.
fn keys(array: &ArrayRef, present: &Present<'_>) -> (Vec<u64>, u64) {
    use DataType::{
        Boolean, Date32, Float16, Float32, Float64, Int8, Int16, Int32, Time32, UInt8, UInt16, UInt32, UInt64,
    };
    macro_rules! raw {
        ($type:ty, $key:expr) => {
            (present.map(array.to_data().buffer::<$type>(0), $key), 0)
        };
    }
    match array.data_type() {
        Boolean => {
            let booleans = array.as_boolean();
            let mut keys = Vec::with_capacity(present.len);
            present.each(|at| keys.push(u64::from(booleans.value(at))));
            (keys, 0)
        }
        UInt8 => raw!(u8, u64::from),
        UInt16 => raw!(u16, u64::from),
        UInt32 => raw!(u32, u64::from),
        UInt64 => raw!(u64, |number| number),
        Int8 => raw!(i8, |number| signed_key(number.into())),
        Int16 => raw!(i16, |number| signed_key(number.into())),
        Int32 | Date32 | Time32(_) => raw!(i32, |number| signed_key(number.into())),
        Float16 => floats(present.map(array.as_primitive::<Float16Type>().values(), |half| half.to_f64())),
        Float32 => floats(present.map(array.as_primitive::<Float32Type>().values(), f64::from)),
        Float64 => floats(present.map(array.as_primitive::<Float64Type>().values(), |number| number)),
        _ => raw!(i64, signed_key),
    }
}

fn floats(mut numbers: Vec<f64>) -> (Vec<u64>, u64) {
    let all = numbers.len();
    numbers.retain(|number| !number.is_nan());
    let nan = (all - numbers.len()) as u64;
    (numbers.into_iter().map(float_key).collect(), nan)
}

/// The values of a primitive array, whatever its logical type.
fn raw<T: ArrowNativeType>(array: &ArrayRef) -> Vec<T> {
    array.to_data().buffer::<T>(0).iter().take(array.len()).copied().collect()
}

/// The unscaled numbers, and their scale.
fn decimals(array: &ArrayRef, present: &Present<'_>) -> Result<(Vec<i128>, i8)> {
    let wide = |scale: i8, unscaled| Ok((unscaled, scale));
    match array.data_type() {
        DataType::Decimal32(_, scale) => wide(*scale, present.map(&raw::<i32>(array), i128::from)),
        DataType::Decimal64(_, scale) => wide(*scale, present.map(&raw::<i64>(array), i128::from)),
        DataType::Decimal128(_, scale) => {
            wide(*scale, present.map(array.as_primitive::<Decimal128Type>().values(), |number| number))
        }
        other => Err(Error::invalid(format!("expected decimals, found {other}"))),
    }
}

fn add_texts(texts: &mut Texts, array: &ArrayRef, present: &Present<'_>) {
    macro_rules! each {
        ($array:expr) => {{
            let array = $array;
            present.each(|at| texts.add(array.value(at).as_ref()));
        }};
    }
    match array.data_type() {
        DataType::Utf8 => each!(array.as_string::<i32>()),
        DataType::LargeUtf8 => each!(array.as_string::<i64>()),
        DataType::Utf8View => each!(array.as_string_view()),
        DataType::Binary => each!(array.as_binary::<i32>()),
        DataType::LargeBinary => each!(array.as_binary::<i64>()),
        DataType::BinaryView => each!(array.as_binary_view()),
        _ => each!(array.as_fixed_size_binary()),
    }
}

fn add_lists(lengths: &mut Lengths, item: &mut Column, array: &ArrayRef, present: &Present<'_>) -> Result<()> {
    // Runs of neighboring elements: lists without nulls are one.
    let mut runs: Vec<(usize, usize)> = Vec::new();
    let mut add = |start: usize, end: usize| {
        lengths.add(end - start);
        match runs.last_mut() {
            Some((_, last)) if *last == start => *last = end,
            _ => runs.push((start, end)),
        }
    };
    let ends = |one: Option<&i64>, other: Option<&i64>| {
        let end = |at: Option<&i64>| at.and_then(|at| usize::try_from(*at).ok()).unwrap_or(0);
        (end(one), end(other))
    };
    let offsets = |offsets: &[i32]| offsets.iter().map(|offset| i64::from(*offset)).collect::<Vec<i64>>();
    let (offsets, elements): (Vec<i64>, ArrayRef) = match array.data_type() {
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            (offsets(list.offsets()), list.values().clone())
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            (list.offsets().to_vec(), list.values().clone())
        }
        DataType::Map(..) => {
            let map = array.as_map();
            let entries: ArrayRef = std::sync::Arc::new(map.entries().clone());
            (offsets(map.offsets()), entries)
        }
        _ => {
            let list = array.as_fixed_size_list();
            let size = i64::from(list.value_length());
            ((0_i64..).take(array.len() + 1).map(|row| row * size).collect(), list.values().clone())
        }
    };
    present.each(|at| {
        let (start, end) = ends(offsets.get(at), offsets.get(at + 1));
        add(start, end);
    });
    for (start, end) in runs {
        item.add(&elements.slice(start, end - start), None)?;
    }
    Ok(())
}

/// Whether values are points in time or durations, whose statistics are such, too.
pub(super) fn is_time(data_type: &DataType) -> bool {
    data_type.is_temporal() && !matches!(data_type, DataType::Interval(_))
}
