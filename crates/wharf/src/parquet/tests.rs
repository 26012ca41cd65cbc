use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, IntervalUnit, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use container_arrow::{ArrowTable, BatchScan};
use container_core::{Container, OpenOptions, Scan, Source, Table, VerifyOptions};
use parquet::arrow::{ARROW_SCHEMA_META_KEY, ArrowWriter};

use super::*;
use crate::batches::samples;

pub(super) fn write(batches: &[RecordBatch], options: WriterOptions) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), batches[0].schema(), options).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.end().unwrap().0
}

pub(super) fn open(bytes: Vec<u8>) -> ParquetContainer {
    ParquetContainer::new(Reader::from_source(Source::from(bytes), OpenOptions::default()).unwrap())
}

pub(super) fn read(container: &ParquetContainer, scan: &BatchScan) -> container_core::Result<RecordBatch> {
    let mut batches = container.batches(scan)?;
    let schema = batches.schema();
    let mut all = Vec::new();
    while let Some(batch) = batches.try_next()? {
        assert!(batch.num_rows() <= scan.batch_rows && batch.num_rows() > 0);
        assert_eq!(batch.schema(), schema);
        all.push(batch);
    }
    assert_eq!(container.schema(scan)?, schema);
    Ok(concat_batches(&schema, &all).unwrap())
}

pub(super) fn ints(from: i32, to: i32) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(from..to));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((from..to).map(|n| format!("text {n}"))));
    RecordBatch::try_from_iter([("n", numbers), ("t", texts)]).unwrap()
}

#[test]
fn metadata_is_sorted_by_key() {
    let keys: Vec<String> = (10..30).map(|number| format!("key {number}")).collect();
    let metadata: HashMap<String, String> = keys.iter().map(|key| (key.clone(), "value".to_owned())).collect();
    let schema = Arc::new(Schema::new_with_metadata(vec![Field::new("n", DataType::Int32, true)], metadata));
    let batch = RecordBatch::new_empty(schema.clone());

    let written = open(write(std::slice::from_ref(&batch), WriterOptions::default()));
    let pairs = written.reader().metadata().file_metadata().key_value_metadata().unwrap();
    let found = pairs.iter().map(|pair| pair.key.clone()).filter(|key| key != ARROW_SCHEMA_META_KEY);
    assert_eq!(found.collect::<Vec<_>>(), keys);

    // Other writers store it in the Arrow schema only.
    let mut writer = ArrowWriter::try_new(Vec::new(), schema, None).unwrap();
    writer.write(&batch).unwrap();
    let details = open(writer.into_inner().unwrap()).details();
    assert_eq!(details["metadata"].as_object().unwrap().keys().collect::<Vec<_>>(), keys.iter().collect::<Vec<_>>());
}

#[test]
fn every_type_round_trips() {
    let rows = 2000;
    let batch = samples::batch(samples::columns(rows));
    for (compression, threads) in [
        (Compression::None, 1),
        (Compression::Snappy, 0),
        (Compression::Lz4, 3),
        (Compression::Gzip(1), 0),
        (Compression::Zstd(1), 0),
        (Compression::Brotli(1), 0),
    ] {
        let options = WriterOptions::default().with_compression(compression).with_threads(threads).with_group_rows(700);
        let container = open(write(
            &[batch.slice(0, 1), batch.slice(1, 900), batch.slice(901, 0), batch.slice(901, 1099)],
            options,
        ));
        assert_eq!((container.len(), container.reader().group_count()), (Some(2000), 3));
        for threads in [1, 0, 2] {
            let scan = BatchScan::from(Scan::default().with_threads(threads)).with_batch_rows(333);
            let found = read(&container, &scan).unwrap();
            assert_eq!(found.schema(), batch.schema(), "{compression}");
            for (field, (found, expected)) in
                batch.schema().fields().iter().zip(found.columns().iter().zip(batch.columns()))
            {
                assert_eq!(found, expected, "{compression} {field}");
            }
        }
    }
}

#[test]
fn selects_rows_and_columns() {
    let batch = samples::batch(samples::columns(1000));
    let container = open(write(std::slice::from_ref(&batch), WriterOptions::default().with_group_rows(170)));
    for (start, end) in [(0, 1000), (169, 171), (170, 340), (5, 6), (333, 999), (1000, 2000), (0, 0)] {
        for threads in [0, 1] {
            let columns = [46, 0, 13, 5];
            let scan = Scan::default().with_rows(start..end).with_columns(columns).with_threads(threads);
            let found = read(&container, &scan.into()).unwrap();
            let expected = batch.project(&columns).unwrap();
            let count = usize::try_from(end.min(1000) - start.min(1000)).unwrap();
            assert_eq!(found, expected.slice(usize::try_from(start).unwrap(), count), "{start}..{end}");
        }
    }
    let none = read(&container, &Scan::default().with_columns([]).with_rows(10..u64::MAX).into());
    assert_eq!(none.unwrap().num_rows(), 990);
}

#[test]
fn batches_are_bounded_by_bytes() {
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..1000).map(|n| format!("{n}").repeat(200))));
    let batch = RecordBatch::try_from_iter([("t", texts)]).unwrap();
    let container = open(write(std::slice::from_ref(&batch), WriterOptions::default()));
    let scan = BatchScan::default().with_batch_bytes(10_000);
    let mut batches = container.batches(&scan).unwrap();
    let mut rows = 0;
    while let Some(batch) = batches.try_next().unwrap() {
        assert!(crate::batches::size::bytes_of(&batch) < 12_000);
        rows += batch.num_rows();
    }
    assert_eq!(rows, 1000);
}

#[test]
fn dictionary_values_do_not_make_batches_huge() {
    // A string of 100 kB, 1000 times: 100 kB in the file.
    let long = "x".repeat(100_000);
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..1000).map(|_| long.as_str())));
    let batch = RecordBatch::try_from_iter([("t", texts)]).unwrap();
    let bytes = write(std::slice::from_ref(&batch), WriterOptions::default().with_group_bytes(usize::MAX));
    assert!(bytes.len() < 1 << 20);
    let container = open(bytes);
    let mut batches = container.batches(&BatchScan::default().with_batch_bytes(1 << 20)).unwrap();
    let first = batches.try_next().unwrap().unwrap();
    assert!((1..=12).contains(&first.num_rows()), "{}", first.num_rows());
    assert!(first.column(0).get_buffer_memory_size() < 8 << 20, "{}", first.column(0).get_buffer_memory_size());
}

#[test]
fn output_does_not_depend_on_threads() {
    let batch = samples::batch(samples::columns(3000));
    let of = |threads| {
        write(
            &[batch.slice(0, 1500), batch.slice(1500, 1500)],
            WriterOptions::default().with_threads(threads).with_group_rows(1024),
        )
    };
    let alone = of(1);
    assert!([0, 2, 7].into_iter().all(|threads| of(threads) == alone));
}

#[test]
fn row_groups_are_limited_by_rows_and_bytes() {
    let groups = |batches: &[RecordBatch], options: WriterOptions| {
        let container = open(write(batches, options));
        let metadata = Arc::clone(container.reader().metadata());
        metadata.row_groups().iter().map(|group| group.num_rows()).collect::<Vec<_>>()
    };
    let small: Vec<_> = (0..50).map(|n| ints(n * 10, n * 10 + 10)).collect();
    assert_eq!(groups(&small, WriterOptions::default()), [500]);
    assert_eq!(groups(&small, WriterOptions::default().with_group_rows(220)), [220, 220, 60]);
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..1000));
    let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
    assert_eq!(groups(std::slice::from_ref(&batch), WriterOptions::default().with_group_bytes(1600)), [400, 400, 200]);
    assert_eq!(groups(&[batch.slice(0, 3)], WriterOptions::default().with_group_bytes(0)), [1, 1, 1]);
}

#[test]
fn writes_files_without_rows_or_columns() {
    let batch = samples::batch(samples::columns(3));
    for batches in [vec![batch.slice(0, 0)], vec![batch.slice(0, 0); 3]] {
        let container = open(write(&batches, WriterOptions::default()));
        assert_eq!(container.len(), Some(0));
        let found = read(&container, &BatchScan::default()).unwrap();
        assert_eq!((found.num_rows(), found.schema()), (0, batch.schema()));
        assert_eq!(findings(&container), [""; 0]);
    }
    let nothing = RecordBatch::new_empty(Arc::new(Schema::empty()));
    let container = open(write(&[nothing], WriterOptions::default()));
    assert_eq!((container.len(), container.columns().len()), (Some(0), 0));
    let mut writer = Writer::new(Vec::new(), Arc::new(Schema::empty()), WriterOptions::default()).unwrap();
    let rows = RecordBatch::try_new_with_options(
        Arc::new(Schema::empty()),
        vec![],
        &arrow_array::RecordBatchOptions::new().with_row_count(Some(4)),
    );
    let error = writer.write(&rows.unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "parquet: a Parquet file without columns cannot have rows");
    assert_eq!(writer.end().err().unwrap().kind().name(), "usage");
}

#[test]
fn rejects_unsupported_types_by_column_name() {
    let refused = |field: Field| {
        let schema: SchemaRef = Arc::new(Schema::new(vec![Field::new("good", DataType::Int32, true), field]));
        Writer::new(Vec::new(), schema, WriterOptions::default()).err().unwrap()
    };
    let interval = DataType::Interval(IntervalUnit::MonthDayNano);
    let interval = Field::new("interval", DataType::Dictionary(Box::new(DataType::Int8), Box::new(interval)), true);
    let odd = samples::odd_columns(1).into_iter().map(|(field, _)| field).filter(|field| field.name() != "interval");
    for field in odd.chain([interval]) {
        let name = field.name().clone();
        let error = refused(field.clone());
        assert_eq!((error.kind().name(), error.position().column.as_deref()), ("unsupported", Some(&*name)), "{error}");
        let nested = refused(Field::new("outer", DataType::List(Arc::new(field)), true));
        assert_eq!(
            (nested.kind().name(), nested.position().column.as_deref()),
            ("unsupported", Some("outer")),
            "{nested}"
        );
    }
    let error = refused(Field::new("union", samples::odd_columns(1)[2].1.data_type().clone(), true));
    assert_eq!(
        error.to_string(),
        "parquet: Parquet has no type for structs without members (Struct()) (column \"union\")"
    );
    let error = refused(Field::new("good", DataType::Utf8, true));
    assert_eq!(
        error.to_string(),
        "parquet: the columns 0 and 1 have the same name, which Parquet does not allow (column \"good\")"
    );
}

#[test]
fn warns_about_names_that_differ_in_case() {
    let one: ArrayRef = Arc::new(Int32Array::from_iter_values(0..3));
    let batch = RecordBatch::try_from_iter([("A", Arc::clone(&one)), ("b", Arc::clone(&one)), ("a", one)]).unwrap();
    let mut writer = Writer::new(Vec::new(), batch.schema(), WriterOptions::default()).unwrap();
    writer.write(&batch).unwrap();
    let (bytes, notes) = writer.end().unwrap();
    assert_eq!((notes.len(), notes[0].count), (1, 0));
    assert_eq!(
        notes[0].what,
        "the columns \"A\" and \"a\" differ only in case: some Parquet readers treat them as one"
    );
    assert_eq!(read(&open(bytes), &BatchScan::default()).unwrap(), batch);
}

#[test]
fn rejects_other_schemas_and_nulls_in_non_nullable_columns() {
    let schema: SchemaRef = Arc::new(Schema::new(vec![Field::new("n", DataType::Int32, false)]));
    let begin = || Writer::new(Vec::new(), Arc::clone(&schema), WriterOptions::default()).unwrap();
    let batch = |name: &str, array: ArrayRef| RecordBatch::try_from_iter_with_nullable([(name, array, true)]).unwrap();
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..5));
    let error = begin().write(&batch("m", Arc::clone(&numbers))).unwrap_err();
    assert_eq!(error.to_string(), "parquet: expected this column, found \"m\" in the batch (column \"n\")");
    let error = begin().write(&batch("n", Arc::new(StringArray::from(vec!["a"])))).unwrap_err();
    assert_eq!(error.to_string(), "parquet: expected Int32, found Utf8 in the batch (column \"n\")");
    let mut writer = begin();
    writer.write(&batch("n", numbers)).unwrap();
    writer.write(&batch("n", Arc::new(Int32Array::from(vec![Some(1), Some(2), None])))).unwrap();
    let error = writer.end().err().unwrap();
    assert_eq!(
        error.to_string(),
        "parquet: null in a column that the schema declares non-nullable (row 7, column \"n\")"
    );
}

#[test]
fn numbers_duplicate_column_names() {
    // Other writers produce such files.
    let one: ArrayRef = Arc::new(Int32Array::from_iter_values(0..3));
    let two: ArrayRef = Arc::new(Int32Array::from_iter_values(3..6));
    let batch = RecordBatch::try_new(
        Arc::new(Schema::new(vec![Field::new("a", DataType::Int32, true), Field::new("a", DataType::Int32, true)])),
        vec![one, Arc::clone(&two)],
    )
    .unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    let container = open(writer.into_inner().unwrap());
    let names: Vec<_> = container.columns().iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["a", "a#2"]);
    let found = read(&container, &Scan::default().with_columns([1]).into()).unwrap();
    assert_eq!((found.schema().field(0).name().as_str(), found.column(0)), ("a#2", &two));
}

#[test]
fn dictionaries_round_trip_over_row_groups() {
    let words: DictionaryArray<Int32Type> =
        (0..900).map(|n| Some(format!("w{}", n / 100))).collect::<Vec<_>>().iter().map(|w| w.as_deref()).collect();
    let batch = RecordBatch::try_from_iter([("w", Arc::new(words) as ArrayRef)]).unwrap();
    let container = open(write(std::slice::from_ref(&batch), WriterOptions::default().with_group_rows(300)));
    let found = read(&container, &BatchScan::default()).unwrap();
    assert_eq!(found.column(0).data_type(), batch.column(0).data_type());
    let plain = |batch: &RecordBatch| {
        let array = batch.column(0).as_any().downcast_ref::<DictionaryArray<Int32Type>>().unwrap();
        array.downcast_dict::<StringArray>().unwrap().into_iter().map(|w| w.map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(plain(&found), plain(&batch));
}

#[test]
fn details_have_types_sizes_and_statistics() {
    let batch = samples::batch(samples::columns(1000));
    let container = open(write(std::slice::from_ref(&batch), WriterOptions::default().with_group_rows(300)));
    let details = container.details();
    assert_eq!((details["row_groups"].as_u64(), details["metadata"]["origin"].as_str()), (Some(4), Some("a test")));
    assert!(details["created_by"].as_str().unwrap().starts_with("parquet-rs"));
    assert!(details["metadata"].get("ARROW:schema").is_none());
    let of = |name: &str| {
        let index = container.columns().iter().position(|column| column.name == name).unwrap();
        (container.columns()[index].kind.clone(), container.column_details(index).unwrap())
    };
    let (kind, i16) = of("i16");
    assert_eq!((kind.as_str(), &i16["physical"], &i16["logical"]), ("Int16", &"int32".into(), &"int16".into()));
    assert_eq!((i16["min"].as_i64(), i16["max"].as_i64(), i16["nulls"].as_u64()), (Some(0), Some(999), Some(200)));
    assert_eq!((i16["compression"].as_str(), i16["metadata"]["idv"]["kind"].as_str()), (Some("snappy"), Some("i16")));
    assert!(i16["bytes"].as_u64().unwrap() > 0 && i16["decompressed_bytes"].as_u64().unwrap() > 0);
    assert!(i16["encodings"].as_str().unwrap().contains("rle_dictionary"), "{}", i16["encodings"]);
    let (_, u64s) = of("u64");
    assert_eq!(u64s["max"].as_u64(), Some(u64::MAX));
    assert_eq!(of("f32").1["min"], "-Infinity");
    assert_eq!(of("decimal128").1["logical"], "decimal(38, 10)");
    assert_eq!(of("ts_us").1["logical"], "timestamp(micros, utc)");
    assert_eq!(of("struct").1["leaves"], 2);
    assert!(of("list").1.get("nulls").is_none() && of("dictionary").1["nulls"] == 200, "those of its items");
    assert_eq!(of("fixed").1["physical"], "fixed_len_byte_array(3)");
}

pub(super) fn findings(container: &ParquetContainer) -> Vec<String> {
    let mut found = Vec::new();
    container.verify(&VerifyOptions::default(), &mut |finding| found.push(finding.error.to_string())).unwrap();
    found
}

#[test]
fn bounds_that_were_cut_off_are_not_shown() {
    for (length, shown) in [(71, false), (64, true), (10, true)] {
        let text = "z".repeat(length);
        let column: ArrayRef = Arc::new(StringArray::from(vec![text.as_str()]));
        let batch = RecordBatch::try_from_iter([("t", column)]).unwrap();
        let details = open(write(&[batch], WriterOptions::default())).column_details(0).unwrap();
        for bound in ["min", "max"] {
            assert_eq!(
                details.get(bound).and_then(|bound| bound.as_str()),
                shown.then_some(&*text),
                "{length} {bound}"
            );
        }
    }
}

#[test]
fn verify_reports_every_damaged_column() {
    let batches: Vec<_> = (0..3).map(|n| ints(n * 1000, n * 1000 + 1000)).collect();
    let options =
        WriterOptions::default().with_group_rows(1000).with_compression(Compression::Zstd(1)).with_dictionary(false);
    let mut bytes = write(&batches, options);
    assert_eq!(findings(&open(bytes.clone())), [""; 0]);
    let metadata = Arc::clone(open(bytes.clone()).reader().metadata());
    // The strings of the first row group and the numbers of the last one.
    for (group, column) in [(0, 1), (2, 0)] {
        let place = usize::try_from(metadata.row_group(group).column(column).byte_range().0).unwrap();
        bytes[place..place + 8].fill(0xEE);
    }
    let container = open(bytes);
    let found = findings(&container);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].ends_with("(block 0, column \"t\")") && found[1].ends_with("(block 2, column \"n\")"),
        "{found:?}"
    );
    let error = read(&container, &BatchScan::default()).unwrap_err();
    assert_eq!((error.position().block, error.position().column.as_deref()), (Some(0), Some("t")), "{error}");
    let good = read(&container, &Scan::default().with_rows(1000..2000).into()).unwrap();
    assert_eq!(good, batches[1]);
}

#[test]
fn errors_of_the_sink_are_returned() {
    use container_core::testkit::FailingSink;

    let batches: Vec<_> = (0..8).map(|at| ints(at * 2000, at * 2000 + 2000)).collect();
    for (threads, behind) in [(1, false), (3, false), (3, true)] {
        let options = WriterOptions::default().with_compression(Compression::None);
        let options = options.with_threads(threads).with_group_rows(3000);
        let all = |sink| -> container_core::Result<usize> {
            let mut writer = Writer::new(sink, batches[0].schema(), options.clone())?;
            if behind {
                writer = writer.with_thread();
            }
            for batch in &batches {
                if let Err(error) = writer.write(batch) {
                    let again = writer.write(batch).unwrap_err();
                    assert_eq!(again.to_string(), "parquet: the writer was used after a failure");
                    return Err(error);
                }
            }
            writer.end().map(|(sink, _): (FailingSink<Vec<u8>>, _)| sink.calls_left())
        };
        let calls = 1000 - all(FailingSink::new(Vec::new(), 1000, usize::MAX)).unwrap();
        assert!(calls > 5, "{calls}");
        for call in 0..calls {
            let error = all(FailingSink::new(Vec::new(), call, usize::MAX)).unwrap_err();
            assert_eq!(error.kind(), container_core::ErrorKind::Io);
            assert_eq!(error.to_string(), "cannot write the output: the sink is full (injected)");
        }
    }
}

#[test]
fn writer_thread_does_not_change_the_output() {
    let batches: Vec<_> = (0..8).map(|at| ints(at * 2000, at * 2000 + 2000)).collect();
    let written = |threads, behind| {
        let options = WriterOptions::default().with_threads(threads).with_group_rows(3000);
        let writer = Writer::new(Vec::new(), batches[0].schema(), options).unwrap();
        let mut writer = if behind { writer.with_thread() } else { writer };
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        writer.end().unwrap().0
    };
    let here = written(1, false);
    for (threads, behind) in [(1, true), (2, false), (2, true), (4, true)] {
        assert_eq!(written(threads, behind), here, "{threads} {behind}");
    }
}

/// Dropping the writer drops its sink, also on the writer thread.
#[test]
fn dropping_the_writer_drops_the_sink() {
    struct CountedSink {
        _count: Arc<()>,
    }

    impl std::io::Write for CountedSink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            std::thread::sleep(std::time::Duration::from_millis(1));
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let batch = ints(0, 20_000);
    for rows in [0, 5000, 20_000] {
        let sink_alive = Arc::new(());
        let options = WriterOptions::default().with_threads(2).with_group_rows(1000);
        let mut writer = Writer::new(CountedSink { _count: Arc::clone(&sink_alive) }, batch.schema(), options)
            .unwrap()
            .with_thread();
        writer.write(&batch.slice(0, rows)).unwrap();
        drop(writer);
        assert_eq!(Arc::strong_count(&sink_alive), 1, "{rows}");
    }
}
