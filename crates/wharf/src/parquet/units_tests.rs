use std::sync::Arc;

use arrow_array::builder::{
    IntervalMonthDayNanoBuilder, ListBuilder, MapBuilder, StringBuilder, Time32SecondBuilder, TimestampSecondBuilder,
};
use arrow_array::types::{IntervalDayTime, IntervalMonthDayNano};
use arrow_array::{
    Array, ArrayRef, Date64Array, Decimal128Array, FixedSizeListArray, Int32Array, IntervalDayTimeArray,
    IntervalMonthDayNanoArray, IntervalYearMonthArray, ListArray, MapArray, RecordBatch, StructArray,
    Time32MillisecondArray, Time32SecondArray, TimestampMicrosecondArray, TimestampNanosecondArray,
    TimestampSecondArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use container_arrow::BatchScan;
use container_core::{ErrorKind, Source};
use parquet::arrow::ArrowWriter;
use parquet::arrow::add_encoded_arrow_schema_to_metadata;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::data_type::{Int96, Int96Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::tests::{open, read, write};
use super::*;

fn seconds() -> RecordBatch {
    let mut lists = ListBuilder::new(Time32SecondBuilder::new());
    let mut maps = MapBuilder::new(None, StringBuilder::new(), TimestampSecondBuilder::new());
    for row in 0..100 {
        (0..row % 4).for_each(|item| lists.values().append_option((item != 2).then_some(row * 60 + item)));
        lists.append(row % 7 != 0);
        if row % 5 != 0 {
            maps.keys().append_value(format!("key {row}"));
            maps.values().append_value(i64::from(row) - 50);
        }
        maps.append(row % 5 != 1).unwrap();
    }
    let times: ArrayRef =
        Arc::new((0..100).map(|row| (row % 3 != 0).then_some(row * 800)).collect::<Time32SecondArray>());
    let stamps: ArrayRef = Arc::new(
        (0..100)
            .map(|row| (row % 9 != 0).then_some(row - 50))
            .collect::<TimestampSecondArray>()
            .with_timezone("+02:00"),
    );
    let dates: ArrayRef =
        Arc::new((0..100).map(|row| (row % 9 != 0).then_some((row - 50) * 86_400_000)).collect::<Date64Array>());
    let fields = Fields::from(vec![
        Field::new("a", times.data_type().clone(), true),
        Field::new("b", dates.data_type().clone(), true),
    ]);
    let members: ArrayRef = Arc::new(StructArray::new(fields, vec![Arc::clone(&times), Arc::clone(&dates)], None));
    let lists: ArrayRef = Arc::new(lists.finish());
    let maps: ArrayRef = Arc::new(maps.finish());
    let columns =
        [("time", times), ("stamp", stamps), ("date", dates), ("members", members), ("list", lists), ("map", maps)];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap()
}

#[test]
fn seconds_round_trip_and_are_stored_as_milliseconds() {
    let batch = seconds();
    let bytes = write(&[batch.slice(0, 10), batch.slice(10, 90)], WriterOptions::default().with_group_rows(30));
    let found = read(&open(bytes.clone()), &BatchScan::default().with_batch_rows(17)).unwrap();
    assert_eq!(found.schema(), batch.schema());
    assert_eq!(found, batch);
    let some = BatchScan::from(container_core::Scan::default().with_columns([4, 1]).with_rows(25..70));
    assert_eq!(read(&open(bytes.clone()), &some).unwrap(), batch.project(&[4, 1]).unwrap().slice(25, 45));

    // A reader that ignores the Arrow schema.
    let plain = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let reader =
        ParquetRecordBatchReaderBuilder::try_new_with_options(super::source::SourceReader(Source::from(bytes)), plain)
            .unwrap();
    let schema = Arc::clone(reader.schema());
    let time = DataType::Time32(TimeUnit::Millisecond);
    assert_eq!(*schema.field(0).data_type(), time);
    assert_eq!(*schema.field(1).data_type(), DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())));
    assert_eq!(*schema.field(2).data_type(), DataType::Date32);
    assert!(matches!(schema.field(4).data_type(), DataType::List(item) if *item.data_type() == time));
    let first = reader.build().unwrap().next().unwrap().unwrap();
    let times = first.column(0).as_any().downcast_ref::<Time32MillisecondArray>().unwrap();
    assert_eq!(times.iter().take(3).collect::<Vec<_>>(), [None, Some(800_000), Some(1_600_000)]);
}

#[test]
fn rejects_out_of_range_values_with_their_row() {
    let first: ArrayRef = Arc::new(Time32SecondArray::from(vec![Some(1), None]));
    let second: ArrayRef = Arc::new(Time32SecondArray::from(vec![Some(1), Some(i32::MAX)]));
    let refused = |batches: &[ArrayRef]| {
        let batches = batches
            .iter()
            .map(|array| RecordBatch::try_from_iter_with_nullable([("x", Arc::clone(array), true)]).unwrap());
        let batches: Vec<_> = batches.collect();
        let mut writer = Writer::new(Vec::new(), batches[0].schema(), WriterOptions::default()).unwrap();
        batches.iter().try_for_each(|batch| writer.write(batch)).and_then(|()| writer.end().map(drop)).unwrap_err()
    };
    let error = refused(&[first, second]);
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(
        error.to_string(),
        "parquet: 2147483647 (Time32(s)) is out of range for Parquet's Time32(ms) (row 3, column \"x\")"
    );
    let error = refused(&[Arc::new(TimestampSecondArray::from(vec![i64::MIN]))]);
    assert!(error.to_string().contains("is out of range for Parquet's Timestamp(ms)"), "{error}");
    let error = refused(&[Arc::new(Date64Array::from(vec![0, 86_400_001]))]);
    assert!(error.to_string().contains("the date of 86400001 ms is not a multiple of 86400000 ms"), "{error}");
}

#[test]
fn values_under_nulls_are_not_converted() {
    let nulls = || Some(NullBuffer::from(vec![true, false]));
    let dates: ArrayRef = Arc::new(Date64Array::from(vec![86_400_000, 5]));
    let item = Arc::new(Field::new_list_field(DataType::Date64, true));
    let offsets = OffsetBuffer::from_lengths([1, 1]);
    let members = Fields::from(vec![Field::new("d", DataType::Date64, true)]);
    let entries = Fields::from(vec![Field::new("k", DataType::Int32, false), Field::new("v", DataType::Date64, true)]);
    let pairs =
        StructArray::new(entries.clone(), vec![Arc::new(Int32Array::from(vec![1, 2])), Arc::clone(&dates)], None);
    let entry = Arc::new(Field::new("entries", DataType::Struct(entries), false));
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("struct", Arc::new(StructArray::new(members, vec![Arc::clone(&dates)], nulls())) as ArrayRef, true),
        ("list", Arc::new(ListArray::new(Arc::clone(&item), offsets.clone(), Arc::clone(&dates), nulls())), true),
        ("vector", Arc::new(FixedSizeListArray::new(item, 1, dates, nulls())), true),
        ("map", Arc::new(MapArray::new(entry, offsets, pairs, nulls(), false)), true),
    ])
    .unwrap();
    let found =
        read(&open(write(std::slice::from_ref(&batch), WriterOptions::default())), &BatchScan::default()).unwrap();
    assert_eq!(found, batch);
}

/// The library would cut off the higher bits.
#[test]
fn rejects_decimals_beyond_their_precision() {
    let kind = DataType::Decimal128(3, 2);
    let values = Decimal128Array::from(vec![Some(-999), None, Some(1 << 40)]).with_data_type(kind.clone());
    let column = |values: Decimal128Array| RecordBatch::try_from_iter([("x", Arc::new(values) as ArrayRef)]).unwrap();
    let list = |values: Decimal128Array| {
        let lists = OffsetBuffer::from_lengths([1; 3]);
        let item = Arc::new(Field::new_list_field(kind.clone(), true));
        let lists: ArrayRef = Arc::new(ListArray::new(item, lists, Arc::new(values), None));
        RecordBatch::try_from_iter([("x", lists)]).unwrap()
    };
    let refused = |batch: &RecordBatch| {
        let mut writer = Writer::new(Vec::new(), batch.schema(), WriterOptions::default()).unwrap();
        writer.write(batch).and_then(|()| writer.end().map(drop)).unwrap_err().to_string()
    };
    assert_eq!(
        refused(&column(values.clone())),
        "parquet: 10995116277.76 has more digits than Decimal128(3, 2) (row 2, column \"x\")"
    );
    assert_eq!(
        refused(&list(values.clone())),
        "parquet: 10995116277.76 has more digits than Decimal128(3, 2) (column \"x\")"
    );
    for batch in [column(values.slice(0, 2)), list(values).slice(0, 2)] {
        let file = open(write(std::slice::from_ref(&batch), WriterOptions::default()));
        assert_eq!(read(&file, &BatchScan::default()).unwrap(), batch);
    }
}

/// A file with values of one schema that declares another Arrow schema.
fn with_declared_schema(batch: &RecordBatch, declared: &Schema) -> Vec<u8> {
    let mut properties = WriterProperties::builder().build();
    add_encoded_arrow_schema_to_metadata(declared, &mut properties);
    let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    let mut writer = ArrowWriter::try_new_with_options(Vec::new(), batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn restores_zone_if_nanoseconds_were_stored_as_microseconds() {
    let stamps: ArrayRef =
        Arc::new(TimestampMicrosecondArray::from(vec![Some(1), None, Some(-3)]).with_timezone("UTC"));
    let batch = RecordBatch::try_from_iter([("x", stamps)]).unwrap();
    let declared = |kind| Schema::new(vec![Field::new("x", kind, true)]);
    let zone: Arc<str> = "+02:00".into();
    let nanoseconds = DataType::Timestamp(TimeUnit::Nanosecond, Some(Arc::clone(&zone)));
    let found =
        read(&open(with_declared_schema(&batch, &declared(nanoseconds.clone()))), &BatchScan::default()).unwrap();
    let expected = TimestampMicrosecondArray::from(vec![Some(1), None, Some(-3)]).with_timezone(zone);
    assert_eq!(found.column(0).as_ref(), &expected as &dyn Array);
    // A schema of another shape is ignored.
    let list = DataType::List(Arc::new(Field::new("item", nanoseconds, true)));
    for other in [list, DataType::Int32, DataType::Timestamp(TimeUnit::Second, None)] {
        let bytes = with_declared_schema(&batch, &declared(other.clone()));
        match Reader::from_source(Source::from(bytes), container_core::OpenOptions::default()) {
            Ok(reader) => assert_eq!(**reader.schema(), *batch.schema(), "{other}"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Invalid, "{other}"),
        }
    }
}

#[test]
fn rejects_fractional_seconds_declared_as_seconds() {
    let times: ArrayRef = Arc::new(Time32MillisecondArray::from(vec![1000, 2000, 2500]));
    let batch = RecordBatch::try_from_iter([("x", times)]).unwrap();
    let declared = Schema::new(vec![Field::new("x", DataType::Time32(TimeUnit::Second), true)]);
    let error = read(&open(with_declared_schema(&batch, &declared)), &BatchScan::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "parquet: the time of 2500 ms is not a whole second, but the file declares Time32(s) (block 0, row 2, column \"x\")"
    );
}

#[test]
fn tensor_items_are_stored_nullable_and_restored() {
    let item = Arc::new(Field::new_list_field(DataType::Int32, false));
    let values: ArrayRef = Arc::new((0..40).collect::<Int32Array>());
    let lists = || FixedSizeListArray::new(Arc::clone(&item), 4, Arc::clone(&values), None);
    let metadata =
        [("ARROW:extension:name", "arrow.fixed_shape_tensor"), ("ARROW:extension:metadata", "{\"shape\":[2,2]}")];
    let metadata = metadata.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let schema = Schema::new(vec![
        Field::new("tensor", lists().data_type().clone(), false).with_metadata(metadata.into()),
        Field::new("list", lists().data_type().clone(), false),
    ]);
    let batch = RecordBatch::try_new(Arc::new(schema), vec![Arc::new(lists()), Arc::new(lists())]).unwrap();
    let bytes = write(&[batch.slice(0, 3), batch.slice(3, 7)], WriterOptions::default().with_group_rows(4));
    let reader = Reader::from_source(Source::from(bytes.clone()), container_core::OpenOptions::default()).unwrap();
    let leaves = reader.metadata().file_metadata().schema_descr().columns();
    let levels: Vec<i16> = leaves.iter().map(|leaf| leaf.max_def_level()).collect();
    // The repeated group, and for a tensor the item.
    assert_eq!(levels, [2, 1]);
    assert_eq!(read(&open(bytes), &BatchScan::default().with_batch_rows(3)).unwrap(), batch);
}

const DAY: i64 = 86_400_000_000_000;

/// A file of nullable INT96 times and of lists of them: Julian days and nanoseconds of the day.
fn int96(times: &[Option<(u32, i64)>], footer: Option<&str>) -> Vec<u8> {
    let schema =
        "message m { OPTIONAL INT96 t; REQUIRED GROUP l (LIST) { REPEATED GROUP list { REQUIRED INT96 element; } } }";
    let footer = footer.map(|key| vec![KeyValue::new(key.to_owned(), "3.5".to_owned())]);
    let properties = WriterProperties::builder().set_key_value_metadata(footer).build();
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let values: Vec<Int96> = times
        .iter()
        .flatten()
        .map(|(day, nanoseconds)| {
            let mut value = Int96::new();
            let word = |bits: i64| u32::try_from(bits & 0xffff_ffff).unwrap();
            value.set_data(word(*nanoseconds), word(nanoseconds >> 32), *day);
            value
        })
        .collect();
    let levels: Vec<i16> = times.iter().map(|time| time.is_some().into()).collect();
    for repetitions in [None, Some(vec![0; times.len()])] {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int96Type>().write_batch(&values, Some(&levels), repetitions.as_deref()).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn int96_times_are_exact_or_rejected_with_their_row() {
    let times = [Some((2_440_588, 1000)), None, Some((2_440_587, DAY - 1000)), Some((2_440_589, 123_456_789_000))];
    let micros = [Some(1), None, Some(-1), Some(DAY / 1000 + 123_456_789)];
    let found = read(&open(int96(&times, None)), &BatchScan::default().with_batch_rows(2)).unwrap();
    let nanos: TimestampNanosecondArray = micros.iter().map(|time| time.map(|time| time * 1000)).collect();
    assert_eq!(found.column(0).as_ref(), &nanos as &dyn Array);
    assert_eq!(found.column(1).len(), 4);

    // Spark writes the years 1 to 9999.
    let spark = Some("org.apache.spark.version");
    let dates = [Some((1_721_426, 0)), Some((5_373_484, DAY - 1000)), None, Some((2_440_588, 1000))];
    let expected = TimestampMicrosecondArray::from(vec![
        Some(-62_135_596_800_000_000),
        Some(253_402_300_799_999_999),
        None,
        Some(1),
    ]);
    let container = open(int96(&dates, spark));
    let found = read(&container, &BatchScan::default()).unwrap();
    assert_eq!(found.column(0).as_ref(), &expected as &dyn Array);
    let DataType::List(item) = found.schema().field(1).data_type().clone() else { panic!() };
    assert_eq!(*item.data_type(), DataType::Timestamp(TimeUnit::Microsecond, None));
    assert_eq!(container.reader().bounds(0).unwrap().map(|bounds| bounds.rows), None);

    let times = [Some((2_440_588, 0)), None, Some((5_373_484, DAY - 1))];
    for (file, unit) in [(int96(&times, None), "ns"), (int96(&times, spark), "µs")] {
        let container = open(file);
        let error = |column: usize| {
            let scan = BatchScan::from(container_core::Scan::default().with_columns([column])).with_batch_rows(1);
            read(&container, &scan).unwrap_err().to_string()
        };
        let nested = format!("does not fit Timestamp({unit}) (block 0, column \"l\")");
        assert!(error(1).ends_with(&nested), "{}", error(1));
        assert_eq!(
            error(0),
            format!(
                "parquet: the INT96 time 9999-12-31T23:59:59.999999999 does not fit Timestamp({unit}) (block 0, row 2, column \"t\")"
            )
        );
        let before = BatchScan::from(container_core::Scan::default().with_columns([0]).with_rows(0..2));
        assert_eq!(read(&container, &before).unwrap().num_rows(), 2);
    }
}

#[test]
fn intervals_keep_months_days_and_milliseconds() {
    let intervals = [
        Some(IntervalMonthDayNano::new(1, 2, 3_500_000_000)),
        None,
        Some(IntervalMonthDayNano::new(-14, i32::MAX, -1_000_000)),
    ];
    let mut lists = ListBuilder::new(IntervalMonthDayNanoBuilder::new());
    for length in 0..3 {
        intervals.iter().take(length).for_each(|interval| lists.values().append_option(*interval));
        lists.append(true);
    }
    let plain: ArrayRef = Arc::new(intervals.iter().copied().collect::<IntervalMonthDayNanoArray>());
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("plain", Arc::clone(&plain), true),
        ("lists", Arc::new(lists.finish()) as ArrayRef, true),
    ])
    .unwrap();
    assert_eq!(
        read(&open(write(std::slice::from_ref(&batch), WriterOptions::default())), &BatchScan::default()).unwrap(),
        batch
    );

    // The unit is the one that the file declares, if it declares one.
    let days: ArrayRef = Arc::new(IntervalDayTimeArray::from(vec![IntervalDayTime::new(2, 3)]));
    let months: ArrayRef = Arc::new(IntervalYearMonthArray::from(vec![14]));
    let batch = |array: &ArrayRef| RecordBatch::try_from_iter_with_nullable([("x", Arc::clone(array), true)]).unwrap();
    let undeclared = Schema::new(vec![Field::new("x", DataType::Int32, true)]);
    for (array, expected) in
        [(&days, IntervalMonthDayNano::new(0, 2, 3_000_000)), (&months, IntervalMonthDayNano::new(14, 0, 0))]
    {
        let batch = batch(array);
        let declared = open(with_declared_schema(&batch, &batch.schema()));
        assert_eq!(read(&declared, &BatchScan::default()).unwrap(), batch);
        let found = read(&open(with_declared_schema(&batch, &undeclared)), &BatchScan::default()).unwrap();
        assert_eq!(found.column(0).as_ref(), &IntervalMonthDayNanoArray::from(vec![expected]) as &dyn Array);
    }
    let declared = open(with_declared_schema(&batch(&months), &batch(&days).schema()));
    assert_eq!(
        read(&declared, &BatchScan::default()).unwrap_err().to_string(),
        "parquet: the interval of 14 months, 0 days and 0 ms does not fit Interval(DayTime), which the file declares (block 0, row 0, column \"x\")"
    );

    let fine: ArrayRef =
        Arc::new(IntervalMonthDayNanoArray::from(vec![None, Some(IntervalMonthDayNano::new(0, 0, 3))]));
    let fine = batch(&fine);
    let mut writer = Writer::new(Vec::new(), fine.schema(), WriterOptions::default()).unwrap();
    assert_eq!(
        writer.write(&fine).and_then(|()| writer.end().map(drop)).unwrap_err().to_string(),
        "parquet: the interval with 3 ns is not one of whole milliseconds in 32 bits, which Parquet has (row 1, column \"x\")"
    );
}
