use std::sync::Arc;

use arrow_array::builder::{ListBuilder, MapBuilder, StringBuilder, Time32SecondBuilder, TimestampSecondBuilder};
use arrow_array::{
    Array, ArrayRef, Date64Array, FixedSizeListArray, Int32Array, RecordBatch, StructArray, Time32MillisecondArray,
    Time32SecondArray, TimestampMicrosecondArray, TimestampSecondArray,
};
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use container_arrow::BatchScan;
use container_core::{ErrorKind, Source};
use parquet::arrow::ArrowWriter;
use parquet::arrow::add_encoded_arrow_schema_to_metadata;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::file::properties::WriterProperties;

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
