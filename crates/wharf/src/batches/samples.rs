//! Test batches with every Arrow type.

use std::sync::Arc;

use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer, i256};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, UnionFields};

fn numbers<T: ArrowPrimitiveType>(rows: usize, value: impl Fn(usize) -> T::Native) -> PrimitiveArray<T> {
    (0..rows).map(|row| (row % 5 != 3).then(|| value(row))).collect()
}

fn texts(rows: usize) -> Vec<Option<String>> {
    (0..rows).map(|row| (row % 7 != 2).then(|| format!("text {} äöü", "x".repeat(row % 30)))).collect()
}

fn nulls(rows: usize) -> Option<NullBuffer> {
    Some((0..rows).map(|row| row % 6 != 1).collect())
}

fn offsets(rows: usize) -> Vec<usize> {
    (0..=rows)
        .scan(0, |at, row| {
            let begin = *at;
            *at += row % 4;
            Some(begin)
        })
        .collect()
}

/// A list array with lengths 0 to 3.
fn list(rows: usize, item: FieldRef, items: impl Fn(usize) -> ArrayRef) -> ListArray {
    let at = offsets(rows);
    let offsets: ScalarBuffer<i32> = at.iter().map(|at| i32::try_from(*at).unwrap()).collect();
    ListArray::try_new(item, OffsetBuffer::new(offsets), items(at[rows]), nulls(rows)).unwrap()
}

fn item(kind: DataType) -> FieldRef {
    Arc::new(Field::new_list_field(kind, true))
}

/// Columns of every type that Parquet and Arrow IPC support.
pub(crate) fn columns(rows: usize) -> Vec<(Field, ArrayRef)> {
    let n = |row: usize| i64::try_from(row).unwrap() * 1_234_567 - 40;
    let small = |row: usize| i32::try_from(row % 1000).unwrap() - 40;
    let mut all: Vec<(Field, ArrayRef)> = Vec::new();
    let mut add = |name: &str, array: ArrayRef| all.push((Field::new(name, array.data_type().clone(), true), array));
    add("null", Arc::new(NullArray::new(rows)));
    add("bool", Arc::new((0..rows).map(|row| (row % 4 != 1).then_some(row % 3 == 0)).collect::<BooleanArray>()));
    add("i8", Arc::new(numbers::<Int8Type>(rows, |row| (row % 256) as u8 as i8)));
    add("i16", Arc::new(numbers::<Int16Type>(rows, |row| (row % 65536) as u16 as i16)));
    add("i32", Arc::new(numbers::<Int32Type>(rows, |row| n(row) as i32)));
    add("i64", Arc::new(numbers::<Int64Type>(rows, n)));
    add("u8", Arc::new(numbers::<UInt8Type>(rows, |row| (row % 256) as u8)));
    add("u16", Arc::new(numbers::<UInt16Type>(rows, |row| 65535 - (row % 65536) as u16)));
    add("u32", Arc::new(numbers::<UInt32Type>(rows, |row| u32::MAX - row as u32)));
    add("u64", Arc::new(numbers::<UInt64Type>(rows, |row| u64::MAX - row as u64)));
    add(
        "f16",
        Arc::new(numbers::<Float16Type>(rows, |row| {
            <Float16Type as ArrowPrimitiveType>::Native::from_f32(row as f32 / 4.0)
        })),
    );
    add(
        "f32",
        Arc::new(numbers::<Float32Type>(rows, |row| if row % 11 == 0 { f32::NEG_INFINITY } else { row as f32 * 0.1 })),
    );
    add("f64", Arc::new(numbers::<Float64Type>(rows, |row| if row % 11 == 4 { -0.0 } else { row as f64 * 0.1 })));
    add("utf8", Arc::new(StringArray::from(texts(rows))));
    add("large_utf8", Arc::new(LargeStringArray::from(texts(rows))));
    add("utf8_view", Arc::new(texts(rows).into_iter().collect::<StringViewArray>()));
    let bytes: Vec<Option<Vec<u8>>> =
        texts(rows).into_iter().map(|text| text.map(|text| text.bytes().map(|byte| byte ^ 0x80).collect())).collect();
    add("binary", Arc::new(bytes.iter().map(Option::as_deref).collect::<BinaryArray>()));
    add("large_binary", Arc::new(bytes.iter().map(Option::as_deref).collect::<LargeBinaryArray>()));
    add("binary_view", Arc::new(bytes.iter().map(Option::as_deref).collect::<BinaryViewArray>()));
    let three = (0..rows).map(|row| (row % 5 != 1).then_some([row as u8, 0, 255]));
    add("fixed", Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(three, 3).unwrap()));
    add("date32", Arc::new(numbers::<Date32Type>(rows, small)));
    add("date64", Arc::new(numbers::<Date64Type>(rows, |row| i64::from(small(row)) * 86_400_000)));
    add("time_s", Arc::new(numbers::<Time32SecondType>(rows, |row| (row % 86_400) as i32)));
    add("time_ms", Arc::new(numbers::<Time32MillisecondType>(rows, |row| (row % 86_400_000) as i32)));
    add("time_us", Arc::new(numbers::<Time64MicrosecondType>(rows, |row| row as i64)));
    add("time_ns", Arc::new(numbers::<Time64NanosecondType>(rows, |row| row as i64)));
    add("ts_s", Arc::new(numbers::<TimestampSecondType>(rows, n)));
    add("ts_ms", Arc::new(numbers::<TimestampMillisecondType>(rows, n)));
    add("ts_us", Arc::new(numbers::<TimestampMicrosecondType>(rows, n).with_timezone("UTC")));
    add("ts_ns", Arc::new(numbers::<TimestampNanosecondType>(rows, n).with_timezone("+02:00")));
    add("ts_zone", Arc::new(numbers::<TimestampMillisecondType>(rows, n).with_timezone("Europe/Berlin")));
    add("duration_s", Arc::new(numbers::<DurationSecondType>(rows, n)));
    add("duration_ms", Arc::new(numbers::<DurationMillisecondType>(rows, n)));
    add("duration_us", Arc::new(numbers::<DurationMicrosecondType>(rows, n)));
    add("duration_ns", Arc::new(numbers::<DurationNanosecondType>(rows, n)));
    add("months", Arc::new(numbers::<IntervalYearMonthType>(rows, small)));
    add(
        "days_ms",
        Arc::new(numbers::<IntervalDayTimeType>(rows, |row| {
            IntervalDayTimeType::make_value(small(row), small(row) * 3)
        })),
    );
    add("decimal32", Arc::new(numbers::<Decimal32Type>(rows, small).with_precision_and_scale(7, 2).unwrap()));
    add("decimal64", Arc::new(numbers::<Decimal64Type>(rows, n).with_precision_and_scale(17, 3).unwrap()));
    add(
        "decimal128",
        Arc::new(
            numbers::<Decimal128Type>(rows, |row| i128::from(n(row)) << 40).with_precision_and_scale(38, 10).unwrap(),
        ),
    );
    add(
        "decimal_small",
        Arc::new(numbers::<Decimal128Type>(rows, |row| small(row).into()).with_precision_and_scale(5, 2).unwrap()),
    );
    add(
        "decimal256",
        Arc::new(
            numbers::<Decimal256Type>(rows, |row| i256::from_i128(i128::from(n(row)) << 60))
                .with_precision_and_scale(76, 20)
                .unwrap(),
        ),
    );
    add("list", Arc::new(list(rows, item(DataType::Int32), |count| Arc::new(numbers::<Int32Type>(count, small)))));
    let at = offsets(rows);
    let large: ScalarBuffer<i64> = at.iter().map(|at| *at as i64).collect();
    let words = Arc::new(StringArray::from(texts(at[rows])));
    add(
        "large_list",
        Arc::new(LargeListArray::try_new(item(DataType::Utf8), OffsetBuffer::new(large), words, nulls(rows)).unwrap()),
    );
    let vectors = Arc::new(Float32Array::from_iter_values((0..rows * 4).map(|at| at as f32)));
    let of = Arc::new(Field::new("element", DataType::Float32, false));
    add("vector", Arc::new(FixedSizeListArray::try_new(of, 4, vectors, nulls(rows)).unwrap()));
    let members = Fields::from(vec![Field::new("x", DataType::Int64, true), Field::new("y", DataType::Utf8, true)]);
    let both = |rows: usize| -> Vec<ArrayRef> {
        vec![Arc::new(numbers::<Int64Type>(rows, n)), Arc::new(StringArray::from(texts(rows)))]
    };
    add("struct", Arc::new(StructArray::try_new(members.clone(), both(rows), nulls(rows)).unwrap()));
    let structs = |count: usize| -> ArrayRef {
        Arc::new(StructArray::try_new(members.clone(), both(count), nulls(count)).unwrap())
    };
    add("structs", Arc::new(list(rows, item(DataType::Struct(members.clone())), structs)));
    let inner = item(DataType::Int32);
    let lists = |count: usize| -> ArrayRef {
        Arc::new(list(count, item(DataType::Int32), |count| Arc::new(numbers::<Int32Type>(count, small))))
    };
    add("lists", Arc::new(list(rows, item(DataType::List(inner)), lists)));
    let entries =
        Fields::from(vec![Field::new("keys", DataType::Utf8, false), Field::new("values", DataType::Int64, true)]);
    let keys: ArrayRef = Arc::new(StringArray::from_iter_values((0..at[rows]).map(|at| format!("k{at}"))));
    let entry =
        StructArray::try_new(entries.clone(), vec![keys, Arc::new(numbers::<Int64Type>(at[rows], n))], None).unwrap();
    let of = Arc::new(Field::new("entries", DataType::Struct(entries), false));
    let ends = OffsetBuffer::new(at.iter().map(|at| i32::try_from(*at).unwrap()).collect());
    add("map", Arc::new(MapArray::try_new(of, ends, entry, nulls(rows), false).unwrap()));
    let words = ["red", "green", "blue"];
    add(
        "dictionary",
        Arc::new((0..rows).map(|row| (row % 5 != 0).then(|| words[row % 3])).collect::<DictionaryArray<Int8Type>>()),
    );
    add(
        "dictionary32",
        Arc::new((0..rows).map(|row| (row % 5 != 0).then(|| words[row % 2])).collect::<DictionaryArray<UInt32Type>>()),
    );
    all
}

/// Columns of types that Parquet does not support, or only in part.
pub(crate) fn odd_columns(rows: usize) -> Vec<(Field, ArrayRef)> {
    let mut all: Vec<(Field, ArrayRef)> = Vec::new();
    let mut add = |name: &str, array: ArrayRef| all.push((Field::new(name, array.data_type().clone(), true), array));
    add(
        "interval",
        Arc::new(numbers::<IntervalMonthDayNanoType>(rows, |row| {
            IntervalMonthDayNanoType::make_value(row as i32, 2, 3)
        })),
    );
    let of =
        UnionFields::try_new([0, 1], [Field::new("a", DataType::Int32, true), Field::new("b", DataType::Utf8, true)])
            .unwrap();
    let kinds: ScalarBuffer<i8> = (0..rows).map(|row| (row % 2) as i8).collect();
    let children: Vec<ArrayRef> =
        vec![Arc::new(numbers::<Int32Type>(rows, |row| row as i32)), Arc::new(StringArray::from(texts(rows)))];
    add("union", Arc::new(UnionArray::try_new(of, kinds, None, children).unwrap()));
    add("empty_struct", Arc::new(StructArray::new_empty_fields(rows, nulls(rows))));
    all
}

/// A batch of columns, with metadata on fields and schema.
pub(crate) fn batch(columns: Vec<(Field, ArrayRef)>) -> RecordBatch {
    let (fields, arrays): (Vec<_>, Vec<_>) = columns
        .into_iter()
        .map(|(field, array)| {
            let kind = format!("{{\"kind\":\"{}\"}}", field.name());
            let about = [("idv".to_owned(), kind), ("note".to_owned(), "ü".to_owned())];
            (field.with_metadata(about.into()), array)
        })
        .unzip();
    let schema = Schema::new(fields).with_metadata([("origin".to_owned(), "a test".to_owned())].into());
    RecordBatch::try_new(Arc::new(schema), arrays).unwrap()
}
