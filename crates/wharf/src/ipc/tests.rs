use std::sync::Arc;

use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int32Array, Int64Array, ListArray, RecordBatch, RunArray, StringArray,
    StructArray,
};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::concat::concat_batches;
use container_arrow::{ArrowTable, BatchScan};
use container_core::{Container, ErrorKind, OpenOptions, Result, Scan, Source, Table, VerifyOptions};

use super::*;
use crate::batches::samples;

fn write(batches: &[RecordBatch], options: WriterOptions) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), batches[0].schema(), options).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.end().unwrap()
}

fn try_open(bytes: Vec<u8>) -> Result<IpcContainer> {
    Ok(IpcContainer::new(Reader::from_source(Source::from(bytes), OpenOptions::default())?))
}

fn open(bytes: Vec<u8>) -> IpcContainer {
    try_open(bytes).unwrap()
}

fn batches(container: &IpcContainer, scan: &BatchScan) -> Result<Vec<RecordBatch>> {
    let mut batches = container.batches(scan)?;
    let schema = batches.schema();
    let mut all = Vec::new();
    while let Some(batch) = batches.try_next()? {
        assert!(batch.num_rows() <= scan.batch_rows);
        assert_eq!(batch.schema(), schema);
        all.push(batch);
    }
    Ok(all)
}

fn read(container: &IpcContainer, scan: &BatchScan) -> Result<RecordBatch> {
    let all = batches(container, scan)?;
    Ok(concat_batches(&container.schema(scan)?, &all).unwrap())
}

fn findings(container: &IpcContainer) -> Vec<String> {
    let mut found = Vec::new();
    container.verify(&VerifyOptions::default(), &mut |finding| found.push(finding.error.to_string())).unwrap();
    found
}

fn all_options() -> Vec<WriterOptions> {
    let mut all = Vec::new();
    for layout in [Layout::File, Layout::Stream] {
        for compression in [Compression::None, Compression::Lz4, Compression::Zstd(3)] {
            all.push(WriterOptions::default().with_layout(layout).with_compression(compression));
        }
    }
    all
}

#[test]
fn every_type_round_trips() {
    let rows = 1000;
    let mut columns = samples::columns(rows);
    columns.extend(samples::odd_columns(rows));
    let batch = samples::batch(columns);
    let parts = [batch.slice(0, 300), batch.slice(300, 1), batch.slice(301, 0), batch.slice(301, 699)];
    for options in all_options() {
        let container = open(write(&parts, options));
        assert_eq!((container.len(), container.reader().batch_count()), (Some(1000), 4));
        assert_eq!(container.reader().is_file(), options.layout == Layout::File);
        for threads in [1, 0] {
            let scan = BatchScan::from(Scan::default().with_threads(threads)).with_batch_rows(170);
            let found = batches(&container, &scan).unwrap();
            let mut at = 0;
            for found in &found {
                assert_eq!(found.schema(), batch.schema());
                assert_eq!(*found, batch.slice(at, found.num_rows()), "{options:?} row {at}");
                at += found.num_rows();
            }
            assert_eq!(at, rows);
        }
        assert_eq!(findings(&container), [""; 0]);
    }
}

#[test]
fn selects_rows_and_columns() {
    let batch = samples::batch(samples::columns(900));
    let parts: Vec<_> = (0..9).map(|part| batch.slice(part * 100, 100)).collect();
    for options in all_options() {
        let container = open(write(&parts, options));
        for (start, end) in [(0_u64, 900_u64), (99, 101), (100, 200), (5, 6), (250, 899), (900, 2000), (0, 0)] {
            let columns = [49, 0, 14, 3];
            let found = read(&container, &Scan::default().with_rows(start..end).with_columns(columns).into()).unwrap();
            let count = usize::try_from(end.min(900) - start).unwrap();
            assert_eq!(
                found,
                batch.project(&columns).unwrap().slice(usize::try_from(start).unwrap(), count),
                "{start}..{end}"
            );
        }
        assert_eq!(
            read(&container, &Scan::default().with_columns([]).with_rows(10..u64::MAX).into()).unwrap().num_rows(),
            890
        );
        let error = container.batches(&Scan::default().with_rows(901..902).into()).err().unwrap();
        assert_eq!(error.to_string(), "arrow: there is no row 901: the file has 900, counted from 0");
    }
}

#[test]
fn handles_files_without_rows_columns_or_batches() {
    let batch = samples::batch(samples::columns(3));
    let nothing = RecordBatch::try_new_with_options(
        Arc::new(Schema::empty()),
        vec![],
        &arrow_array::RecordBatchOptions::new().with_row_count(Some(4)),
    )
    .unwrap();
    for options in all_options() {
        let container = open(write(&[batch.slice(0, 0)], options));
        assert_eq!((container.len(), container.columns().len()), (Some(0), batch.num_columns()));
        assert_eq!(read(&container, &BatchScan::default()).unwrap().schema(), batch.schema());
        let container = open(write(std::slice::from_ref(&nothing), options));
        assert_eq!((container.len(), container.columns().len()), (Some(4), 0));
        assert_eq!(read(&container, &BatchScan::default()).unwrap().num_rows(), 4);
        let container = open(Writer::new(Vec::new(), batch.schema(), options).unwrap().end().unwrap());
        assert_eq!((container.len(), findings(&container).len()), (Some(0), 0));
        assert_eq!(read(&container, &BatchScan::default()).unwrap().num_rows(), 0);
    }
}

fn words(values: &[&str], keys: &[Option<i8>]) -> ArrayRef {
    let keys = keys.iter().copied().collect::<arrow_array::PrimitiveArray<Int8Type>>();
    Arc::new(DictionaryArray::try_new(keys, Arc::new(StringArray::from(values.to_vec()))).unwrap())
}

fn plain(array: &dyn Array) -> Vec<Option<String>> {
    let array = array.as_any().downcast_ref::<DictionaryArray<Int8Type>>().unwrap();
    array.downcast_dict::<StringArray>().unwrap().into_iter().map(|word| word.map(str::to_owned)).collect()
}

#[test]
fn joins_dictionaries_in_files_and_keeps_them_in_streams() {
    let arrays = [
        words(&["a", "b"], &[Some(1), None, Some(0)]),
        words(&["a", "b", "c"], &[Some(2)]),
        words(&["d", "b", "d"], &[Some(0), Some(1), Some(2), None]),
        words(&["b"], &[Some(0)]),
        words(&[], &[None]),
        words(&["a", "b"], &[Some(0)]),
    ];
    let parts: Vec<_> = arrays
        .iter()
        .map(|array| {
            let number: ArrayRef = Arc::new(Int32Array::from_iter_values(0..i32::try_from(array.len()).unwrap()));
            RecordBatch::try_from_iter_with_nullable([("n", number, true), ("w", Arc::clone(array), true)]).unwrap()
        })
        .collect();
    let expected: Vec<_> = arrays.iter().flat_map(|array| plain(array)).collect();
    for options in all_options() {
        let container = open(write(&parts, options));
        for threads in [1, 0] {
            let all = batches(&container, &Scan::default().with_threads(threads).into()).unwrap();
            let found: Vec<_> = all.iter().flat_map(|batch| plain(batch.column(1))).collect();
            assert_eq!(found, expected, "{options:?}");
        }
        let from = batches(&container, &Scan::default().with_rows(4..8).with_columns([1]).into()).unwrap();
        assert_eq!(from.iter().flat_map(|batch| plain(batch.column(0))).collect::<Vec<_>>(), expected[4..8]);
        assert_eq!(read(&container, &Scan::default().with_columns([0]).into()).unwrap().num_rows(), expected.len());
        assert_eq!(findings(&container), [""; 0]);
        if options.layout == Layout::File {
            let all = batches(&container, &BatchScan::default()).unwrap();
            let of = |batch: &RecordBatch| batch.column(1).to_data().child_data()[0].len();
            assert!(all.iter().all(|batch| of(batch) == 4), "a, b, c, d");
        }
    }
}

#[test]
fn joins_nested_dictionaries() {
    let part = |values: &[&str], keys: &[Option<i8>]| {
        let array = words(values, keys);
        let item = Arc::new(Field::new_list_field(array.data_type().clone(), true));
        let offsets = arrow_buffer::OffsetBuffer::from_lengths([array.len()]);
        let list: ArrayRef = Arc::new(ListArray::try_new(Arc::clone(&item), offsets, array, None).unwrap());
        let field = Field::new("l", list.data_type().clone(), true);
        let outer: ArrayRef = Arc::new(StructArray::try_new(vec![field].into(), vec![list], None).unwrap());
        RecordBatch::try_from_iter_with_nullable([("s", outer, true)]).unwrap()
    };
    let parts = [part(&["a", "b"], &[Some(1), Some(0)]), part(&["c", "a"], &[Some(0), Some(1), None])];
    let container = open(write(&parts, WriterOptions::default()));
    let all = batches(&container, &BatchScan::default()).unwrap();
    let found: Vec<_> = all
        .iter()
        .flat_map(|batch| {
            let list = batch.column(0).as_any().downcast_ref::<StructArray>().unwrap().column(0).clone();
            plain(list.as_any().downcast_ref::<ListArray>().unwrap().values())
        })
        .collect();
    assert_eq!(found.iter().map(|word| word.as_deref().unwrap_or("-")).collect::<String>(), "baca-");
}

#[test]
fn rejects_joined_dictionaries_beyond_the_index_range() {
    let part = |from: usize| {
        let values: Vec<String> = (from..from + 100).map(|n| n.to_string()).collect();
        let array = words(&values.iter().map(String::as_str).collect::<Vec<_>>(), &[Some(99)]);
        RecordBatch::try_from_iter_with_nullable([("w", array, true)]).unwrap()
    };
    let mut writer = Writer::new(Vec::new(), part(0).schema(), WriterOptions::default()).unwrap();
    writer.write(&part(0)).unwrap();
    let error = writer.write(&part(1000)).unwrap_err();
    let kind = ErrorKind::Limit { asked: 200, limit: 128 };
    assert_eq!((error.kind(), error.position().column.as_deref()), (kind, Some("w")));
    assert!(error.detail() == "labels of a dictionary with indexes of Int8", "{error}");
    assert_eq!(writer.end().err().unwrap().kind(), ErrorKind::Usage);
    let parts = [part(0), part(1000)];
    let container = open(write(&parts, WriterOptions::default().with_layout(Layout::Stream)));
    assert_eq!(container.len(), Some(2));
}

#[test]
fn run_end_encoding_round_trips() {
    let ends = Int32Array::from(vec![2, 5, 6]);
    let runs: ArrayRef =
        Arc::new(RunArray::<Int32Type>::try_new(&ends, &StringArray::from(vec!["a", "b", "a"])).unwrap());
    let batch = RecordBatch::try_from_iter([("r", runs)]).unwrap();
    for options in all_options() {
        let container = open(write(std::slice::from_ref(&batch), options));
        assert_eq!(read(&container, &BatchScan::default()).unwrap(), batch);
    }
}

#[test]
fn buffers_are_zero_copy() {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..100_000));
    let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
    let bytes = container_core::Bytes::from(write(std::slice::from_ref(&batch), WriterOptions::default()));
    let range = bytes.as_ptr_range();
    let reader = Reader::from_source(Source::from(bytes.clone()), OpenOptions::default()).unwrap();
    let found = batches(&IpcContainer::new(reader), &BatchScan::default()).unwrap();
    assert_eq!(found.len(), 2);
    let aligned = bytes.as_ptr().align_offset(8) == 0;
    for batch in found {
        let values = batch.column(0).to_data().buffers()[0].as_ptr();
        assert!(!aligned || range.contains(&values));
    }
}

#[test]
fn numbers_duplicate_column_names() {
    let one: ArrayRef = Arc::new(Int32Array::from_iter_values(0..3));
    let field = || Field::new("a", DataType::Int32, true);
    let batch =
        RecordBatch::try_new(Arc::new(Schema::new(vec![field(), field()])), vec![Arc::clone(&one), one]).unwrap();
    let container = open(write(&[batch], WriterOptions::default()));
    let names: Vec<_> = container.columns().iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["a", "a#2"]);
    assert_eq!(container.reader().schema().field(1).name(), "a");
    assert_eq!(read(&container, &BatchScan::default()).unwrap().schema().field(1).name(), "a#2");
}

#[test]
fn verify_reports_damaged_columns_of_each_batch() {
    let texts = |from: i32| -> ArrayRef {
        Arc::new(StringArray::from_iter_values((from..from + 500).map(|n| format!("text {n}"))))
    };
    let part = |n: i32| RecordBatch::try_from_iter([("a", texts(n)), ("b", texts(n)), ("c", texts(n))]).unwrap();
    let mut bytes = write(&[part(0), part(1000), part(2000)], WriterOptions::default());
    let index = Arc::clone(&open(bytes.clone()).reader().index);
    // An invalid UTF-8 byte in column b of the second batch.
    let place = index.batches[1];
    let whole = usize::try_from(place.offset).unwrap()
        ..usize::try_from(place.offset + u64::from(place.head) + place.body).unwrap();
    let at = whole.start
        + bytes[whole.clone()].windows(9).enumerate().filter(|(_, part)| part == b"text 1000").nth(1).unwrap().0;
    bytes[at] = 0xFF;
    let container = open(bytes);
    let found = findings(&container);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("block 1") && found[0].ends_with("column \"b\")"), "{found:?}");
    let error = read(&container, &BatchScan::default()).unwrap_err();
    assert_eq!((error.position().block, error.position().column.as_deref()), (Some(1), Some("b")));
    assert_eq!(read(&container, &Scan::default().with_columns([0, 2]).into()).unwrap().num_rows(), 1500);
    assert_eq!(read(&container, &Scan::default().with_rows(1000..u64::MAX).into()).unwrap(), part(2000));
}

#[test]
fn verify_reports_bytes_after_a_stream() {
    let batch = samples::batch(samples::columns(3));
    let mut bytes = write(&[batch], WriterOptions::default().with_layout(Layout::Stream));
    bytes.extend(b"more");
    assert!(findings(&open(bytes))[0].starts_with("arrow: 4 unexpected trailing bytes after the stream"));
}
