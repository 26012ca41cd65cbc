//! Datasets from record batches, compared byte by byte with those of a writer that checks every message.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, DictionaryArray, FixedSizeListArray, Float32Array, Float64Array, Int16Array, Int64Array,
    LargeStringArray, RecordBatch, StringArray, StringViewArray, Time64NanosecondArray, UInt32Array,
};
use arrow_schema::{DataType, Field};
use container_core::{ErrorKind, Limits, Result};
use datadings::Writer;
use datadings::arrow::{ArrowWriter, Keys, WriterOptions};
use proptest::prelude::*;
use rmpv::Value;

use crate::set;

/// A row of the tested table. `time` is a number of nanoseconds since midnight, or out of range.
#[derive(Debug, Clone, Default)]
struct Row {
    id: Option<String>,
    number: Option<i64>,
    float: Option<f64>,
    text: Option<String>,
    bytes: Option<Vec<u8>>,
    small: i16,
    single: f32,
    time: Option<bool>,
    pair: [u32; 2],
}

fn row(ids: &'static str) -> impl Strategy<Value = Row> {
    let text = prop_oneof![
        20 => "[a-zé\u{20ac}]{0,40}".prop_map(Some),
        2 => Just(None),
        1 => (1..50_000usize).prop_map(|len| Some("é".repeat(len))),
    ];
    let number = prop_oneof![any::<i64>(), -300..300i64, any::<i32>().prop_map(i64::from)];
    let time = prop_oneof![1 => Just(None), 60 => Just(Some(true)), 1 => Just(Some(false))];
    let id = prop_oneof![60 => ids.prop_map(Some), 1 => Just(None)];
    let bytes = proptest::option::of(proptest::collection::vec(any::<u8>(), 0..300));
    (
        id,
        proptest::option::of(number),
        proptest::option::of(any::<f64>()),
        text,
        bytes,
        any::<i16>(),
        any::<f32>(),
        time,
        any::<[u32; 2]>(),
    )
        .prop_map(|(id, number, float, text, bytes, small, single, time, pair)| Row {
            id,
            number,
            float,
            text,
            bytes,
            small,
            single,
            time,
            pair,
        })
}

/// The table, with the type of strings, which decides how it is encoded.
fn table(rows: &[Row], id: &str, strings: usize) -> RecordBatch {
    let texts = |of: fn(&Row) -> Option<&str>| -> ArrayRef {
        match strings {
            0 => Arc::new(rows.iter().map(of).collect::<StringArray>()),
            1 => Arc::new(rows.iter().map(of).collect::<LargeStringArray>()),
            2 => Arc::new(rows.iter().map(of).collect::<StringViewArray>()),
            _ => Arc::new(rows.iter().map(of).collect::<DictionaryArray<arrow_array::types::Int32Type>>()),
        }
    };
    let pairs = UInt32Array::from_iter_values(rows.iter().flat_map(|row| row.pair));
    let item = Arc::new(Field::new("item", DataType::UInt32, true));
    let time = |valid: bool| if valid { 1 } else { i64::MAX };
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("number", Arc::new(rows.iter().map(|row| row.number).collect::<Int64Array>())),
        (id, texts(|row| row.id.as_deref())),
        ("float", Arc::new(rows.iter().map(|row| row.float).collect::<Float64Array>())),
        ("text", texts(|row| row.text.as_deref())),
        ("bytes", Arc::new(rows.iter().map(|row| row.bytes.as_deref()).collect::<BinaryArray>())),
        ("small", Arc::new(Int16Array::from_iter_values(rows.iter().map(|row| row.small)))),
        ("single", Arc::new(Float32Array::from_iter_values(rows.iter().map(|row| row.single)))),
        ("time", Arc::new(rows.iter().map(|row| row.time.map(time)).collect::<Time64NanosecondArray>())),
        ("pair", Arc::new(FixedSizeListArray::new(item, 2, Arc::new(pairs), None))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// The sample of a row, encoded by another library; without an id it has no key.
fn message(row: &Row, key: Option<&str>, id: &str) -> Vec<u8> {
    fn of<T: Into<Value>>(value: Option<T>) -> Value {
        value.map_or(Value::Nil, Into::into)
    }
    let mut fields: Vec<(&str, Value)> = key.map(|key| ("key", key.into())).into_iter().collect();
    fields.extend([
        ("number", of(row.number)),
        (id, of(row.id.clone())),
        ("float", of(row.float)),
        ("text", of(row.text.clone())),
        ("bytes", of(row.bytes.clone())),
        ("small", row.small.into()),
        ("single", row.single.into()),
        ("time", of(row.time.map(|_| "00:00:00.000000001"))),
        ("pair", Value::Array(row.pair.map(Value::from).to_vec())),
    ]);
    let fields = fields.into_iter().map(|(name, value)| (name.into(), value)).collect();
    let mut out = Vec::new();
    rmpv::encode::write_value(&mut out, &Value::Map(fields)).unwrap();
    out
}

/// The files in a folder; what `write` makes of the path of a dataset there.
fn files(write: impl FnOnce(&Path) -> Result<()>) -> Result<BTreeMap<String, Vec<u8>>> {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("d.msgpack"))?;
    let entries = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap());
    Ok(entries.map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())).collect())
}

fn from_batches(batches: &[RecordBatch], keys: &Keys, threads: usize) -> Result<BTreeMap<String, Vec<u8>>> {
    files(|path| {
        let options = WriterOptions::default().with_keys(keys.clone());
        let options = options.with_dataset(set::options().with_threads(threads));
        let mut writer = ArrowWriter::create(path, batches[0].schema(), options)?;
        batches.iter().try_for_each(|batch| writer.write(batch))?;
        writer.finish().map(drop)
    })
}

fn from_messages(messages: &[Vec<u8>]) -> BTreeMap<String, Vec<u8>> {
    let write = |path: &Path| {
        let mut writer = Writer::create(path, set::options())?;
        messages.iter().try_for_each(|message| writer.append_message(message))?;
        writer.finish().map(drop)
    };
    files(write).unwrap()
}

/// The first row that cannot be written, and part of the message.
fn first_error(rows: &[Row], keys: &Keys) -> Option<(usize, String)> {
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut error = |(at, row): (usize, &Row)| {
        let key = row.id.clone();
        if matches!(keys, Keys::Column(_)) && key.is_none() {
            return Some((at, "null where a key is required".to_owned()));
        }
        if row.time == Some(false) {
            return Some((at, "is out of range for Time64".to_owned()));
        }
        if *keys == Keys::Number {
            return None;
        }
        let Some(key) = key else { return Some((at, "key: expected a str, found nil".to_owned())) };
        let first = known.insert(key, at)?;
        Some((at, format!("duplicate key, first in sample {first}: not written again")))
    };
    rows.iter().enumerate().find_map(&mut error)
}

/// Cuts a batch into slices that begin at these rows, and one that is empty.
fn slices(batch: &RecordBatch, cuts: &[prop::sample::Index]) -> Vec<RecordBatch> {
    let mut starts: Vec<usize> = cuts.iter().map(|cut| cut.index(batch.num_rows() + 1)).collect();
    starts.extend([0, 0, batch.num_rows()]);
    starts.sort_unstable();
    starts.windows(2).map(|pair| batch.slice(pair[0], pair[1] - pair[0])).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Tables of all kinds of flat columns give the same files as messages of another library, or the error of the first row that has one.
    #[test]
    fn batches_write_the_same_files_as_messages(
        rows in prop_oneof![
            proptest::collection::vec(row("[a-z]{12}"), 1..120),
            proptest::collection::vec(row("[a-zé]{0,3}"), 1..120),
        ],
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..4),
        strings in 0..4usize,
        keys in prop_oneof![Just(Keys::Key), Just(Keys::Column("id".to_owned())), Just(Keys::Number)],
        threads in 1..3usize,
    ) {
        let id = if keys == Keys::Key { "key" } else { "id" };
        let batches = slices(&table(&rows, id, strings), &cuts);
        let written = from_batches(&batches, &keys, threads);
        match first_error(&rows, &keys) {
            None => {
                let encoded = rows.iter().enumerate().map(|(at, row)| match &keys {
                    Keys::Key => message(row, None, id),
                    Keys::Number => message(row, Some(&format!("{at:010}")), id),
                    _ => message(row, row.id.as_deref(), id),
                });
                let expected = from_messages(&encoded.collect::<Vec<_>>());
                let written = written.unwrap();
                prop_assert!(written.keys().eq(expected.keys()), "{:?}", written.keys());
                for (name, bytes) in &expected {
                    prop_assert!(written[name] == *bytes, "{} differs", name);
                }
            }
            Some((at, message)) => {
                let error = written.unwrap_err();
                prop_assert_eq!((error.kind(), error.position().row), (ErrorKind::Invalid, Some(at as u64)), "{}", error);
                prop_assert!(error.to_string().contains(&message), "{} instead of {}", error, message);
            }
        }
    }
}

fn small(rows: usize, text: impl Fn(usize) -> String) -> RecordBatch {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("key", Arc::new(StringArray::from_iter_values((0..rows).map(|at| format!("k{at}"))))),
        ("text", Arc::new(StringArray::from_iter_values((0..rows).map(text)))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// Rows longer than every buffer, among short ones.
#[test]
fn long_rows_are_written_like_messages() {
    let lengths = [1, 70_000, 3, 3_000_000, 0, 1 << 20, 65_520, 5];
    let batch = small(lengths.len(), |at| "x".repeat(lengths[at]));
    let message = |(at, len): (usize, &usize)| {
        let fields = vec![("key".into(), format!("k{at}").into()), ("text".into(), "x".repeat(*len).into())];
        let mut out = Vec::new();
        rmpv::encode::write_value(&mut out, &Value::Map(fields)).unwrap();
        out
    };
    let expected = from_messages(&lengths.iter().enumerate().map(message).collect::<Vec<_>>());
    for threads in [1, 2] {
        assert!(
            from_batches(std::slice::from_ref(&batch), &Keys::Key, threads).unwrap() == expected,
            "{threads} threads"
        );
    }
}

/// Limits of the dataset's writer apply to rows, after errors of earlier rows.
#[test]
fn limits_apply_to_rows() {
    let error = |batch: &RecordBatch, limits: Limits| {
        let write = |path: &Path| {
            let options = WriterOptions::default().with_dataset(set::options().with_limits(limits)).with_first_row(10);
            let mut writer = ArrowWriter::create(path, batch.schema(), options)?;
            writer.write(batch)
        };
        files(write).err()
    };
    let batch = small(4, |at| "x".repeat(if at == 2 { 2000 } else { 10 }));
    let long = error(&batch, Limits::default().with_block_bytes(1000)).unwrap();
    assert_eq!(long.position().row, Some(12));
    assert!(long.to_string().contains("sample length"), "{long}");
    assert!(error(&batch, Limits::default().with_block_bytes(2100)).is_none());

    let item = Arc::new(Field::new("item", DataType::Int64, true));
    let list = FixedSizeListArray::new(item, 1, Arc::new(Int64Array::from(vec![1, 2])), None);
    let nested = |keys: [&str; 2]| {
        let columns: [(&str, ArrayRef); 2] =
            [("key", Arc::new(StringArray::from_iter_values(keys))), ("list", Arc::new(list.clone()))];
        RecordBatch::try_from_iter(columns).unwrap()
    };
    let deep = error(&nested(["a", "b"]), Limits::default().with_depth(1)).unwrap();
    assert_eq!((deep.position().row, deep.to_string().contains("nesting depth")), (Some(10), true), "{deep}");
    assert!(error(&nested(["a", "b"]), Limits::default().with_depth(2)).is_none());
    let duplicate = error(&nested(["a", "a"]), Limits::default().with_depth(2)).unwrap();
    assert_eq!((duplicate.position().row, duplicate.position().key.as_deref()), (Some(11), Some("a")), "{duplicate}");
}

/// Makes rows wrong.
type Change<'a> = &'a dyn Fn(&mut [Row]);

/// Batches large enough for another thread to record the keys: the same files, and the error of the first row that has one.
#[test]
fn large_batches_are_written_like_messages() {
    const ROWS: usize = 20_000;
    let rows = || -> Vec<Row> {
        let row = |at: usize| Row { id: Some(format!("sample {at}")), number: Some(at as i64), ..Row::default() };
        (0..ROWS).map(row).collect()
    };
    let written = |rows: &[Row], threads: usize| {
        let table = table(rows, "key", 0);
        let batches =
            [table.slice(0, 13), table.slice(13, 0), table.slice(13, ROWS - 113), table.slice(ROWS - 100, 100)];
        from_batches(&batches, &Keys::Key, threads)
    };
    let expected = from_messages(&rows().iter().map(|row| message(row, None, "key")).collect::<Vec<_>>());
    for threads in [0, 1, 2] {
        assert!(written(&rows(), threads).unwrap() == expected, "{threads} threads");
    }
    let repeat = |row: &mut Row, of: usize| row.id = Some(format!("sample {of}"));
    let fail = |row: &mut Row| row.time = Some(false);
    let cases: [Change<'_>; 6] = [
        &|rows| repeat(&mut rows[17_000], 3),
        &|rows| repeat(&mut rows[19_999], 13_000),
        &|rows| (repeat(&mut rows[9_000], 8_999), fail(&mut rows[9_001])).1,
        &|rows| (fail(&mut rows[9_000]), repeat(&mut rows[9_001], 8_999)).1,
        &|rows| (repeat(&mut rows[5_000], 20), repeat(&mut rows[12_000], 30)).1,
        &|rows| rows[8_000].id = None,
    ];
    for (case, change) in cases.iter().enumerate() {
        let mut rows = rows();
        change(&mut rows);
        let (at, message) = first_error(&rows, &Keys::Key).unwrap();
        for threads in [1, 2] {
            let error = written(&rows, threads).unwrap_err();
            assert_eq!((error.kind(), error.position().row), (ErrorKind::Invalid, Some(at as u64)), "{case}: {error}");
            assert!(error.to_string().contains(&message), "{case}: {error} instead of {message}");
        }
    }
}
