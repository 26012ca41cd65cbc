//! Batches as files.

use std::io::Cursor;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int8Type, Int32Type, UInt8Type};
use arrow_array::*;
use arrow_schema::{DataType, Field, Schema as ArrowSchema};
use arrow_select::take::take;
use container_arrow::{BatchReader, BatchScan, BatchWriter, Sparse, Times};
use container_core::{ErrorKind, Loss, OutputOptions, Scan, Source};
use idv::arrow::{ArrowOptions, ArrowWriter, NullIntegers};
use idv::{OpenOptions, Reader, Value, WriterOptions};
use serde_json::Value as Json;

use super::reading::ticks;
use super::show::rows;
use crate::support::{golden, says};

/// A file of batches, and what was lost.
pub(crate) fn written(
    schema: &ArrowSchema,
    batches: &[RecordBatch],
    options: ArrowOptions,
) -> container_core::Result<(Reader, Vec<Loss>)> {
    let mut writer = ArrowWriter::new(Cursor::new(Vec::new()), schema, options)?;
    for batch in batches {
        writer.write(batch)?;
    }
    let (sink, losses) = writer.into_inner()?;
    Ok((Reader::from_source(Source::from(sink.into_inner()), OpenOptions::default())?, losses))
}

/// A file again, by way of batches.
pub(crate) fn again(reader: &Reader, scan: &BatchScan) -> Reader {
    let mut record_batches = reader.record_batches(scan).unwrap();
    let schema = record_batches.schema();
    let mut batches = Vec::new();
    while let Some(batch) = record_batches.try_next().unwrap() {
        batches.push(batch);
    }
    let (again, losses) = written(&schema, &batches, ArrowOptions::default()).unwrap();
    assert!(losses.is_empty(), "{losses:?}");
    again
}

/// As JSON, which preserves neither NaN payloads nor the order of metadata.
fn schema_of(reader: &Reader) -> Vec<Json> {
    let mut schema = reader.schema(None).unwrap();
    schema.columns.iter_mut().for_each(|column| column.compression = None);
    let Json::Array(columns) = schema.to_json().unwrap() else { panic!("no list") };
    columns
}

/// The columns, metadata and values are the same.
#[track_caller]
pub(crate) fn equal(found: &Reader, expected: &Reader, filled: bool) {
    assert_eq!(schema_of(found), schema_of(expected));
    assert_eq!(rows(found, &Scan::default(), filled), rows(expected, &Scan::default(), filled));
    assert_eq!(found.row_count(), expected.row_count());
}

#[test]
fn rewrites_every_golden_file() {
    for path in golden() {
        let reader = Reader::open(&path).unwrap();
        if path.file_stem().unwrap() == "key-above-count" {
            continue;
        }
        for (sparse, filled) in [(Sparse::Lists, true), (Sparse::Structs, false)] {
            equal(&again(&reader, &ticks(sparse).with_batch_rows(100)), &reader, filled);
        }
    }
}

fn batch(columns: Vec<(&str, ArrayRef, bool)>) -> RecordBatch {
    let fields = columns.iter().map(|(name, array, nullable)| Field::new(*name, array.data_type().clone(), *nullable));
    let schema = Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()));
    RecordBatch::try_new(schema, columns.into_iter().map(|(_, array, _)| array).collect()).unwrap()
}

/// One column without metadata, written and read: its type, and the rows as JSON.
fn one(
    array: ArrayRef,
    nullable: bool,
    options: ArrowOptions,
) -> container_core::Result<(String, String, Vec<String>)> {
    let batch = batch(vec![("c", array, nullable)]);
    let (reader, losses) = written(&batch.schema(), &[batch], options)?;
    let found = rows(&reader, &Scan::default(), false).remove(0);
    let column = &reader.columns()[0];
    let codec = match column.kind().unwrap().is_vector() {
        true => column.kind().unwrap().to_string(),
        false => format!("{} {}", column.codec_name(), column.kind().unwrap()),
    };
    Ok((codec, Json::Array(found).to_string(), losses.iter().map(ToString::to_string).collect()))
}

#[track_caller]
fn becomes(array: impl Array + 'static, nullable: bool, kind: &str, values: &str) {
    let (found, json, losses) = one(Arc::new(array), nullable, ArrowOptions::default()).unwrap();
    assert_eq!((found.as_str(), json.as_str(), losses.len()), (kind, values, 0));
}

#[track_caller]
fn loses(array: impl Array + 'static, options: ArrowOptions, kind: &str, values: &str, reported: &str) {
    let (found, json, losses) = one(Arc::new(array), true, options).unwrap();
    assert_eq!((found.as_str(), json.as_str(), losses.as_slice()), (kind, values, [reported.to_owned()].as_slice()));
}

#[track_caller]
fn refused(array: impl Array + 'static, options: ArrowOptions, kind: &str, text: &str) {
    says(&one(Arc::new(array), true, options).unwrap_err(), kind, text);
}

#[test]
fn maps_types_without_metadata() {
    becomes(Int8Array::from(vec![-128, 1]), false, "SByte SByte", "[-128,1]");
    becomes(UInt64Array::from(vec![u64::MAX]), true, "UInt64 UInt64", "[18446744073709551615]");
    becomes(Float32Array::from(vec![0.1]), true, "Single Single", "[0.1]");
    becomes(Float16Array::from(vec![half(0x3C00), half(0xC000)]), false, "Single Single", "[1.0,-2.0]");
    becomes(Float64Array::from(vec![0.1]), false, "Double Double", "[0.1]");
    becomes(BooleanArray::from(vec![true, false]), false, "Boolean Boolean", "[true,false]");
    becomes(BooleanArray::from(vec![Some(true), None]), true, "DvBool Boolean", "[true,null]");
    becomes(StringArray::from(vec![Some("a"), None, Some("é")]), true, "TextSpan Text", r#"["a",null,"é"]"#);
    becomes(LargeStringArray::from(vec!["x", ""]), true, "TextSpan Text", r#"["x",""]"#);
    becomes(StringViewArray::from(vec![Some("y"), None]), true, "TextSpan Text", r#"["y",null]"#);
    becomes(NullArray::new(2), true, "TextSpan Text", "[null,null]");
    let time = r#"["1970-01-01T00:00:01.5"]"#;
    becomes(TimestampMillisecondArray::from(vec![1500]), false, "DateTime DateTime", time);
    becomes(TimestampMicrosecondArray::from(vec![1_500_000]), false, "DateTime DateTime", time);
    becomes(TimestampNanosecondArray::from(vec![1_500_000_000]), false, "DateTime DateTime", time);
    let seconds = TimestampSecondArray::from(vec![Some(-62_135_596_800), None]);
    becomes(seconds, true, "DateTime DateTime", r#"["0001-01-01T00:00:00",null]"#);
    becomes(Date32Array::from(vec![-1]), false, "DateTime DateTime", r#"["1969-12-31T00:00:00"]"#);
    becomes(Date64Array::from(vec![86_400_000]), false, "DateTime DateTime", r#"["1970-01-02T00:00:00"]"#);
    becomes(DurationSecondArray::from(vec![-2]), false, "TimeSpan TimeSpan", r#"["-PT2S"]"#);
    becomes(
        DurationNanosecondArray::from(vec![Some(700), None]),
        true,
        "DvTimeSpan TimeSpan",
        r#"["PT0.0000007S",null]"#,
    );
    becomes(Time32SecondArray::from(vec![60]), false, "TimeSpan TimeSpan", r#"["PT60S"]"#);
    becomes(Time64MicrosecondArray::from(vec![5]), false, "TimeSpan TimeSpan", r#"["PT0.000005S"]"#);
    let zoned = |zone: &str| TimestampSecondArray::from(vec![Some(0), None]).with_timezone(zone);
    let kind = "DateTimeOffset DateTimeOffset";
    becomes(zoned("UTC"), true, kind, r#"["1970-01-01T00:00:00+00:00",null]"#);
    becomes(zoned("+05:30"), true, kind, r#"["1970-01-01T05:30:00+05:30",null]"#);
    let reported = "time zone \"Europe/Berlin\" left out: instants are kept in UTC (column \"c\")";
    loses(zoned("Europe/Berlin"), ArrowOptions::default(), kind, r#"["1970-01-01T00:00:00+00:00",null]"#, reported);
    let id = FixedSizeBinaryArray::try_from_iter([1u128.to_le_bytes()].into_iter()).unwrap();
    becomes(id, false, "DataViewRowId RowId", r#"["00000000000000000000000000000001"]"#);
    let decimals = Decimal128Array::from(vec![12_345, -5]).with_precision_and_scale(38, 2).unwrap();
    becomes(decimals, false, "Double Double", "[123.45,-0.05]");
    let numbers: DictionaryArray<Int8Type> =
        DictionaryArray::new(Int8Array::from(vec![1, 0, 1]), Arc::new(Int32Array::from(vec![7, 9])));
    becomes(numbers, false, "Int32 Int32", "[9,7,9]");
    let words: DictionaryArray<Int32Type> = vec![Some("b"), None, Some("a"), Some("b")].into_iter().collect();
    becomes(words, true, "Key2 Key<UInt32, 2>", r#"["b",null,"a","b"]"#);
    let nothing: DictionaryArray<Int32Type> = vec![None::<&str>; 2].into_iter().collect();
    becomes(nothing, true, "Key2 Key<UInt32, 1>", "[null,null]");
}

fn half(bits: u16) -> <arrow_array::types::Float16Type as ArrowPrimitiveType>::Native {
    <arrow_array::types::Float16Type as ArrowPrimitiveType>::Native::from_bits(bits)
}

#[test]
fn maps_lists_to_vectors() {
    let lists = |rows: Vec<Option<Vec<i32>>>| {
        let rows = rows.into_iter().map(|row| row.map(|row| row.into_iter().map(Some).collect::<Vec<_>>()));
        ListArray::from_iter_primitive::<Int32Type, _, _>(rows)
    };
    let found = lists(vec![Some(vec![1]), Some(vec![]), Some(vec![2, 3])]);
    becomes(found.slice(1, 2), false, "Vector<Int32>", "[[],[2,3]]");
    loses(
        lists(vec![Some(vec![1, 2]), None, Some(vec![3])]),
        ArrowOptions::default(),
        "Vector<Int32>",
        "[[1,2],[],[3]]",
        "null written as an empty vector (row 1, column \"c\")",
    );
    let fixed =
        |rows: Vec<Option<Vec<Option<f32>>>>| FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(rows, 2);
    becomes(fixed(vec![Some(vec![Some(1.0), Some(2.0)]); 2]).slice(1, 1), false, "Vector<Single, 2>", "[[1.0,2.0]]");
    loses(
        fixed(vec![Some(vec![Some(1.0), None]); 2]),
        ArrowOptions::default(),
        "Vector<Single, 2>",
        r#"[[1.0,"NaN"],[1.0,"NaN"]]"#,
        "null written as NaN (2 times, first row 0, column \"c\")",
    );
    refused(
        fixed(vec![Some(vec![Some(1.0), None]), None]),
        ArrowOptions::default(),
        "invalid",
        "idv: unexpected null: a vector of 2 items cannot be missing (row 1, column \"c\")",
    );
    let item =
        Arc::new(Field::new_list_field(DataType::List(Arc::new(Field::new_list_field(DataType::Int8, false))), false));
    let nested = new_empty_array(&DataType::List(item));
    let text = "idv: no IDV type for List(non-null List(non-null Int8)) (column \"c\")";
    says(&one(nested, true, ArrowOptions::default()).unwrap_err(), "unsupported", text);
}

#[test]
fn dimensions_of_tensors_are_in_the_order_of_memory() {
    let kind = |metadata: &str| {
        let extension = [("name", "arrow.fixed_shape_tensor"), ("metadata", metadata)];
        let extension = extension.map(|(key, value)| (format!("ARROW:extension:{key}"), value.to_owned()));
        let item = Arc::new(Field::new_list_field(DataType::Int8, false));
        let field = Field::new("c", DataType::FixedSizeList(item, 6), false).with_metadata(extension.into());
        let (reader, _) = written(&Arc::new(ArrowSchema::new(vec![field])), &[], ArrowOptions::default())?;
        container_core::Result::Ok(reader.columns()[0].kind().unwrap().to_string())
    };
    assert_eq!(kind(r#"{"shape":[2,3],"permutation":[0,1]}"#).unwrap(), "Vector<SByte, 2, 3>");
    let text = "idv: cannot write a tensor with permuted dimensions (column \"c\")";
    says(&kind(r#"{"shape":[2,3],"permutation":[1,0]}"#).unwrap_err(), "unsupported", text);
}

#[test]
fn unrepresentable_values_are_errors_or_losses() {
    let double = || ArrowOptions::default().with_null_integers(NullIntegers::Double);
    let plain = ArrowOptions::default;
    let text = "idv: no IDV type for Binary (column \"c\")";
    refused(BinaryArray::from(vec![b"x".as_slice()]), plain(), "unsupported", text);
    let text = "idv: unexpected null: a number of type Int64 cannot be missing; null_integers \
                double makes the column floats (row 1, column \"c\")";
    refused(Int64Array::from(vec![Some(1), None]), plain(), "invalid", text);
    let reported = "null written as NaN (row 1, column \"c\")";
    loses(Int64Array::from(vec![Some(1), None]), double(), "Double Double", r#"[1.0,"NaN"]"#, reported);
    let text = "idv: integer 9007199254740993 is not exactly representable as Double (row 0, column \"c\")";
    refused(Int64Array::from(vec![9_007_199_254_740_993]), double(), "invalid", text);
    let reported = "null written as NaN (2 times, first row 0, column \"c\")";
    loses(Float32Array::from(vec![None, None]), plain(), "Single Single", r#"["NaN","NaN"]"#, reported);
    let text = "idv: decimal 1234567890123456e-3 has more than the 15 digits of a Double (row 0, column \"c\")";
    let decimal = Decimal128Array::from(vec![1_234_567_890_123_456]).with_precision_and_scale(38, 3).unwrap();
    refused(decimal, plain(), "invalid", text);
    let text = "idv: 1 ns is more precise than a tick of 100 ns; times floor accepts it (row 0, column \"c\")";
    refused(TimestampNanosecondArray::from(vec![1]), plain(), "invalid", text);
    let cut = ArrowOptions::default().with_times(Times::Floor);
    let reported = "time truncated to 100 ns (row 0, column \"c\")";
    loses(
        TimestampNanosecondArray::from(vec![-1]),
        cut,
        "DateTime DateTime",
        r#"["1969-12-31T23:59:59.9999999"]"#,
        reported,
    );
    let text = "idv: 253402300800 as Timestamp(s) is outside the years 1 to 9999 (row 0, column \"c\")";
    refused(TimestampSecondArray::from(vec![253_402_300_800]), plain(), "invalid", text);
    let text = "idv: 9223372036854775807 as Duration(ms) is outside 64 bits of 100 ns ticks (row 0, column \"c\")";
    refused(DurationMillisecondArray::from(vec![i64::MAX]), plain(), "invalid", text);
    let late = TimestampSecondArray::from(vec![0, 253_402_300_799]).with_timezone("+01:00");
    let error = one(Arc::new(late), true, plain()).unwrap_err();
    assert_eq!((error.kind(), error.position().row), (ErrorKind::Invalid, Some(1)), "{error}");
}

#[test]
fn error_rows_count_across_batches() {
    let part = |numbers: Vec<Option<i32>>| batch(vec![("c", Arc::new(Int32Array::from(numbers)), true)]);
    let batches = [part(vec![Some(1); 20_000]), part(vec![Some(2), None])];
    let error = written(&batches[0].schema(), &batches, ArrowOptions::default()).map(|_| ()).unwrap_err();
    assert_eq!(error.position().row, Some(20_001));
    let other = batch(vec![("d", Arc::new(Int32Array::from(vec![1])), true)]);
    let error = written(&batches[0].schema(), &[other], ArrowOptions::default()).map(|_| ()).unwrap_err();
    says(&error, "usage", "idv: expected column \"c\" of Int32, found \"d\" of Int32 (column \"c\")");
}

#[test]
fn merges_dictionaries_of_all_batches() {
    let part = |words: &[&str]| {
        let words: DictionaryArray<UInt8Type> = words.iter().copied().collect();
        batch(vec![("c", Arc::new(words), true)])
    };
    let batches = [part(&["b", "a"]), part(&["c", "a", "c"]), part(&["b"])];
    let (reader, losses) = written(&batches[0].schema(), &batches, ArrowOptions::default()).unwrap();
    assert!(losses.is_empty());
    assert_eq!(reader.columns()[0].kind().unwrap().to_string(), "Key<UInt32, 3>");
    let labels = reader.labels(0).unwrap().unwrap();
    let labels: Vec<_> = (0..3).map(|key| labels.get(key)).collect();
    assert_eq!(labels, ["b", "a", "c"].map(|label| Some(Value::Text(label))));
    let found = rows(&reader, &Scan::default(), false).remove(0);
    assert_eq!(Json::Array(found).to_string(), r#"["b","a","c","a","c","b"]"#);
}

/// The batches of a golden file.
fn golden_batches(name: &str) -> (Reader, RecordBatch) {
    let path = golden().into_iter().find(|path| path.file_stem().unwrap() == name).unwrap();
    let reader = Reader::open(path).unwrap();
    let batch = reader.record_batches(&BatchScan::default()).unwrap().try_next().unwrap().unwrap();
    (reader, batch)
}

/// The same batch with other arrays, names or types, and the metadata of the fields.
fn changed(batch: &RecordBatch, change: impl Fn(&Field, &ArrayRef) -> (Field, ArrayRef)) -> RecordBatch {
    let schema = batch.schema();
    let parts = schema.fields().iter().zip(batch.columns()).map(|(field, array)| {
        let (found, array) = change(field, array);
        (found.with_metadata(field.metadata().clone()), array)
    });
    let (fields, arrays): (Vec<_>, Vec<_>) = parts.unzip();
    RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), arrays).unwrap()
}

#[test]
fn maps_plain_labels_to_keys() {
    for name in ["key-values-text", "key-values-int64", "key-values-single", "key-values-sparse", "real-adult"] {
        let (reader, batch) = golden_batches(name);
        let plain = changed(&batch, |field, array| match array.as_any_dictionary_opt() {
            Some(dictionary) => {
                let values = take(dictionary.values(), dictionary.keys(), None).unwrap();
                (Field::new(field.name(), values.data_type().clone(), true), values)
            }
            None => (field.clone(), Arc::clone(array)),
        });
        assert!(plain.schema() != batch.schema());
        let (again, losses) = written(&plain.schema(), &[plain], ArrowOptions::default()).unwrap();
        // Some of its labels are equal.
        assert_eq!(losses.is_empty(), name != "key-values-sparse", "{losses:?}");
        let expected = Reader::from_source(reader.source().clone(), OpenOptions::default()).unwrap();
        assert_eq!(schema_of(&again), schema_of(&expected));
        let scan = Scan::default().with_rows(0..again.row_count());
        assert_eq!(rows(&again, &scan, true), rows(&expected, &scan, true));
    }
}

#[test]
fn renamed_columns_keep_their_type() {
    let (_, batch) = golden_batches("key-values-text");
    let renamed =
        changed(&batch, |field, array| (field.clone().with_name(format!("new {}", field.name())), Arc::clone(array)));
    let (again, losses) = written(&renamed.schema(), &[renamed], ArrowOptions::default()).unwrap();
    assert!(losses.is_empty() && again.columns()[0].name().starts_with("new "));
    let key = again.columns().iter().position(|column| column.kind().unwrap().to_string().starts_with("Key<"));
    assert!(again.labels(key.unwrap()).unwrap().is_some());
    let cast = changed(&batch, |field, array| {
        let numbers = Int32Array::from(vec![5; array.len()]);
        (Field::new(field.name(), DataType::Int32, false), Arc::new(numbers))
    });
    let (again, losses) = written(&cast.schema(), &[cast], ArrowOptions::default()).unwrap();
    assert_eq!(again.columns()[0].kind().unwrap().to_string(), "Int32");
    assert!(!losses.is_empty() && losses[0].what.starts_with("metadata \"idv\" left out"));
}

#[test]
fn repeated_names_round_trip() {
    let (reader, batch) = golden_batches("name-repeated");
    assert!(batch.schema().fields().iter().any(|field| field.name().ends_with("#2")));
    let (again, _) = written(&batch.schema(), &[batch], ArrowOptions::default()).unwrap();
    let names = |reader: &Reader| reader.columns().iter().map(|column| column.name().to_owned()).collect::<Vec<_>>();
    assert_eq!(names(&again), names(&reader));
}

#[test]
fn file_appears_when_finished() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new.idv");
    let part = batch(vec![("c", Arc::new(Int32Array::from(vec![1, 2])), false)]);
    let create =
        || ArrowWriter::create(&path, OutputOptions::default(), &part.schema(), WriterOptions::default()).unwrap();
    let mut writer: Box<dyn BatchWriter> = Box::new(create());
    writer.write(&part).unwrap();
    drop(writer);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    let mut writer: Box<dyn BatchWriter> = Box::new(create());
    writer.write(&part).unwrap();
    writer.write(&part.slice(1, 1)).unwrap();
    assert!(writer.finish().unwrap().is_empty());
    assert_eq!(Reader::open(&path).unwrap().row_count(), 3);
}

#[test]
fn rows_without_columns_are_counted() {
    let options = RecordBatchOptions::new().with_row_count(Some(5));
    let schema = Arc::new(ArrowSchema::empty());
    let part = RecordBatch::try_new_with_options(Arc::clone(&schema), vec![], &options).unwrap();
    let (reader, _) = written(&schema, &[part.clone(), part], ArrowOptions::default()).unwrap();
    assert_eq!(reader.row_count(), 10);
}
