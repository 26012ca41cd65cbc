use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, DictionaryArray, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use container_arrow::{BatchRows, BatchSlices, BatchWriter, JsonRows, Mapping};
use container_core::{Access, Container, ErrorKind, Input, Loss, OpenOptions, Rows, Scan, Table};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::read::Predicate;
use crate::{Store, StoreWriter, WriterOptions, ZdsContainer};

fn open(folder: &Path) -> ZdsContainer {
    let input = Input::open(folder, Access::Auto).unwrap();
    ZdsContainer::open(&input, &OpenOptions::default()).unwrap()
}

fn store(folder: &Path, lines: &str) -> ZdsContainer {
    let meta = folder.join("collections/c/meta");
    fs::create_dir_all(&meta).unwrap();
    fs::write(meta.join("data.jsonl"), lines).unwrap();
    open(folder)
}

fn scan(on_mismatch: OnMismatch, threads: usize) -> BatchScan {
    BatchScan::from(Scan::default().with_threads(threads))
        .with_mapping(Mapping::default().with_on_mismatch(on_mismatch))
}

fn batches(table: &dyn Table, scan: &BatchScan) -> Result<(Vec<RecordBatch>, Vec<Loss>)> {
    let mut reader = table.arrow().unwrap().batches(scan)?;
    let schema = reader.schema();
    let mut all = Vec::new();
    while let Some(batch) = reader.try_next()? {
        assert!(batch.num_rows() > 0 && batch.num_rows() <= scan.batch_rows);
        assert_eq!(batch.schema(), schema);
        all.push(batch);
    }
    assert!(reader.next().is_none());
    Ok((all, reader.losses()))
}

fn lines(batches: &[RecordBatch]) -> String {
    let mut out = Vec::new();
    batches.iter().for_each(|batch| JsonRows::new(batch).unwrap().write_lines(&mut out).unwrap());
    String::from_utf8(out).unwrap()
}

fn values(batches: &[RecordBatch]) -> Vec<Value> {
    lines(batches).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Missing members are null, integers mixed with floats are floats.
fn agrees(actual: &Value, expected: Option<&Value>) -> bool {
    match (actual, expected) {
        (Value::Null, None | Some(Value::Null)) => true,
        (Value::Object(actual), Some(Value::Object(expected))) => {
            expected.keys().all(|name| actual.contains_key(name))
                && actual.iter().all(|(name, value)| agrees(value, expected.get(name)))
        }
        (Value::Array(actual), Some(Value::Array(expected))) => {
            actual.len() == expected.len()
                && actual.iter().zip(expected).all(|(actual, expected)| agrees(actual, Some(expected)))
        }
        (Value::Number(actual), Some(Value::Number(expected))) => {
            actual == expected || actual.is_f64() && actual.as_f64() == expected.as_f64()
        }
        (actual, Some(expected)) => actual == expected,
        _ => false,
    }
}

#[test]
fn golden_stores_round_trip() {
    let Some(golden) = container_core::testkit::golden(env!("CARGO_MANIFEST_DIR"), "zds") else { return };
    let (mut documents, mut written, mut refused) = (0, 0, 0);
    for entry in fs::read_dir(golden).unwrap() {
        let path = entry.unwrap().path();
        if !path.is_dir() && path.extension().is_none_or(|extension| extension != "zds") {
            continue;
        }
        let container = open(&path);
        for table in container.tables() {
            let mut rows = table.rows(&Scan::default()).unwrap();
            let (all, losses) = match batches(table, &scan(OnMismatch::Json, 1)) {
                Ok(batches) => batches,
                // A document that is an array can be a row, but not part of a batch.
                Err(error) => {
                    assert!(path.ends_with("docs") && error.to_string().contains("expected an object"), "{error}");
                    refused += 1;
                    continue;
                }
            };
            // Duplicate members also appear in rows.
            let reported = losses.into_iter().filter(|loss| !loss.what.starts_with("duplicate object member"));
            assert_eq!(reported.collect::<Vec<_>>(), rows.losses());
            assert_eq!(all, batches(table, &scan(OnMismatch::Json, 4)).unwrap().0);
            let actual = values(&all);
            for (number, actual) in actual.iter().enumerate() {
                assert!(rows.advance().unwrap());
                let mut line = Vec::new();
                rows.json(&mut line).unwrap();
                let document = serde_json::from_slice(&line).unwrap();
                assert!(agrees(actual, Some(&document)), "{}: {number}: {actual} {document}", path.display());
                documents += 1;
            }
            assert!(!rows.advance().unwrap());

            let folder = tempfile::tempdir().unwrap();
            let root = StoreWriter::open(folder.path().join("s"), WriterOptions::default()).unwrap();
            let mut writer = root.collection(table.name()).unwrap();
            let schema = table.arrow().unwrap().schema(&scan(OnMismatch::Json, 0)).unwrap();
            let mut loader = Box::new(ArrowWriter::new(&mut writer, schema, IdSource::IdColumn).unwrap());
            let put = all.iter().try_for_each(|batch| loader.write(batch));
            assert_eq!(loader.numbered(), 0);
            if let Err(error) = put.and_then(|()| loader.finish()) {
                // Some ids can be read but not written, and some documents contain the id of another.
                let text = error.to_string();
                let is_known = ["invalid character", "already exists"].iter().any(|known| text.contains(known));
                assert!(is_known, "{}: {text}", path.display());
                continue;
            }
            writer.finish().unwrap();
            root.finish().unwrap();
            let again = open(&folder.path().join("s"));
            let (again, _) = batches(again.tables()[0], &scan(OnMismatch::Json, 0)).unwrap();
            let back = values(&again);
            assert_eq!(back.len(), actual.len());
            assert!(back.iter().zip(&actual).all(|(back, actual)| agrees(back, Some(actual))), "{}", path.display());
            written += back.len();
        }
    }
    assert_eq!(refused, 1);
    assert!(documents > 100 && written > 60, "{documents} {written}");
}

/// A mismatch many chunks into the data.
#[test]
fn late_type_change_is_reported_with_row_and_path() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::new();
    for row in 0..40_000 {
        let value = if row == 33_333 { "\"x\"" } else { "1" };
        text += &format!("{{\"_id\":\"d{row}\",\"a\":{{\"b\":[{value},null]}},\"pad\":\"{:080}\"}}\n", 0);
    }
    let container = store(folder.path(), &text);
    let table = container.tables()[0];
    for threads in [1, 4] {
        let error = batches(table, &scan(OnMismatch::Error, threads)).unwrap_err();
        assert_eq!((error.position().row, error.position().column.as_deref()), (Some(33_333), Some("a.b[]")));
        assert!(error.to_string().contains("text, but an integer in row 0; use on_mismatch null or json"), "{error}");
        assert!(error.position().file.is_some() && error.format() == Some("zds"), "{error}");
    }
    let one = scan(OnMismatch::Null, 1).with_batch_rows(7000);
    let (all, losses) = batches(table, &one).unwrap();
    assert_eq!(all.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [7000, 7000, 7000, 7000, 7000, 5000]);
    let lost: Vec<_> = losses.iter().filter(|loss| loss.count > 0).collect();
    assert_eq!((lost.len(), lost[0].count, lost[0].first.row), (1, 1, Some(33_333)));
    assert_eq!(lost[0].first.column.as_deref(), Some("a.b[]"));
    assert_eq!(values(&all)[33_333]["a"], json!({"b": [null, null]}));
    let mut four = one.clone();
    four.scan.threads = 4;
    assert_eq!(batches(table, &four).unwrap(), (all, losses));
    let (all, losses) = batches(table, &scan(OnMismatch::Json, 4)).unwrap();
    assert_eq!(values(&all)[33_333]["a"], json!({"b": ["x", null]}));
    assert!(losses.iter().all(|loss| loss.count == 0));
    assert_eq!(batches(table, &scan(OnMismatch::Msgpack, 1)).unwrap_err().kind(), ErrorKind::Usage);
    // Limited by bytes: each batch is about as large as allowed.
    let (all, _) = batches(table, &scan(OnMismatch::Null, 4).with_batch_bytes(1 << 20)).unwrap();
    assert!(all.len() > 4 && all.iter().all(|batch| batch.get_array_memory_size() < 3 << 20), "{}", all.len());
    // A reader that is dropped early stops its threads.
    let arrow = table.arrow().unwrap();
    let mut reader = arrow.batches(&scan(OnMismatch::Null, 4).with_batch_rows(10)).unwrap();
    assert!(reader.try_next().unwrap().is_some());
}

const LINES: &str = concat!(
    "{\"_id\":\"a\",\"n\":1,\"N\":\"x\",\"l\":[1,2],\"o\":{\"x\":null,\"y\":{\"z\":1}}}\n",
    "{\"n\":null,\"_id\":\"b\",\"l\":[],\"o\":{\"y\":null}}\n",
    "{\"_id\":\"c\",\"n\":2,\"n\":3,\"l\":[3.5],\"o\":null}\n",
    "{\"_id\":\"d\",\"l\":null,\"new\":true}\n",
);

#[test]
fn nested_nulls_uneven_lists_and_similar_names() {
    let folder = tempfile::tempdir().unwrap();
    let container = store(folder.path(), LINES);
    let table = container.tables()[0];
    let (all, _) = batches(table, &scan(OnMismatch::Error, 1)).unwrap();
    assert_eq!(
        values(&all),
        [
            json!({"_id":"a","n":1,"N":"x","l":[1.0,2.0],"o":{"x":null,"y":{"z":1}},"new":null}),
            json!({"_id":"b","n":null,"N":null,"l":[],"o":{"x":null,"y":null},"new":null}),
            // The last value of a duplicate member.
            json!({"_id":"c","n":3,"N":null,"l":[3.5],"o":null,"new":null}),
            json!({"_id":"d","n":null,"N":null,"l":null,"o":null,"new":true}),
        ]
    );
    let names: Vec<_> = table.columns().iter().map(|column| column.name.clone()).collect();
    assert_eq!(all[0].schema().fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>(), names);
    // As rows.
    let mut rows = BatchRows::new(table.arrow().unwrap().batches(&scan(OnMismatch::Error, 1)).unwrap(), 0);
    assert!(rows.advance().unwrap() && rows.advance().unwrap() && rows.index() == 1);
    // Selected columns, regardless of the others.
    let chosen = BatchScan::from(Scan::default().with_columns([3, 0]).with_rows(1..3));
    let (all, _) = batches(table, &chosen).unwrap();
    assert_eq!(values(&all), [json!({"l":[],"_id":"b"}), json!({"l":[3.5],"_id":"c"})]);
    assert_eq!(all[0].schema().field(0).name(), "l");
    let past = BatchScan::from(Scan::default().with_rows(5..6));
    assert_eq!(batches(table, &past).unwrap_err().kind(), ErrorKind::Usage);
    let missing = BatchScan::from(Scan::default().with_columns([9]));
    assert_eq!(batches(table, &missing).unwrap_err().kind(), ErrorKind::Usage);
}

#[test]
fn ids_paths_and_filters_agree_with_rows() {
    let folder = tempfile::tempdir().unwrap();
    let docs = folder.path().join("collections/c/docs");
    fs::create_dir_all(&docs).unwrap();
    fs::write(docs.join("x.json"), "{\n  \"n\": 1,\n  \"p\": {\"q\": [1]}\n}").unwrap();
    fs::write(docs.join("y.json"), "{\"n\":2}").unwrap();
    let container = open(folder.path());
    let (all, _) = batches(container.tables()[0], &scan(OnMismatch::Error, 1)).unwrap();
    assert_eq!(values(&all), [json!({"_id":"x","n":1,"p":{"q":[1]}}), json!({"_id":"y","n":2,"p":null})]);
    assert_eq!(all[0].schema().field(0).name(), "_id");
    let container = open(folder.path()).with_columns(&["p.q".to_owned()]);
    let (all, _) = batches(container.tables()[0], &scan(OnMismatch::Error, 1)).unwrap();
    assert_eq!(
        values(&all),
        [json!({"_id":"x","n":1,"p":{"q":[1]},"q":[1]}), json!({"_id":"y","n":2,"p":null,"q":null})]
    );

    let folder = tempfile::tempdir().unwrap();
    let text: String =
        (0..1000).map(|row| format!("{{\"_id\":\"d{row}\",\"row\":{row},\"even\":{}}}\n", row % 2 == 0)).collect();
    let predicate = Predicate::Eq("even".to_owned(), true.into());
    let container = store(folder.path(), &text).with_filter(&predicate);
    let table = container.tables()[0];
    for rows in [0..u64::MAX, 0..3, 100..200, 499..600, 500..600, 7..7] {
        let expected = {
            let mut rows = table.rows(&Scan::default().with_rows(rows.clone())).unwrap();
            let mut indexes = Vec::new();
            while rows.advance().unwrap() {
                indexes.push(rows.index());
            }
            indexes
        };
        for threads in [1, 3] {
            let scan =
                BatchScan::from(Scan::default().with_rows(rows.clone()).with_threads(threads)).with_batch_rows(64);
            let (all, _) = batches(table, &scan).unwrap();
            let found: Vec<u64> = values(&all).iter().map(|value| value["row"].as_u64().unwrap()).collect();
            assert_eq!(found, expected, "{rows:?}");
        }
    }
    let past = BatchScan::from(Scan::default().with_rows(501..600));
    assert_eq!(batches(table, &past).unwrap_err().kind(), ErrorKind::Usage);
}

#[test]
fn declared_schema_accepts_only_exact_values() {
    let folder = tempfile::tempdir().unwrap();
    let container = store(
        folder.path(),
        "{\"_id\":\"a\",\"t\":\"2024-05-01T12:00:00\",\"i\":7,\"f\":0.1,\"s\":\"x\"}\n{\"_id\":\"b\",\"i\":300,\"s\":\"x\"}\n",
    );
    let table = container.tables()[0];
    let dictionary = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    let schema = Schema::new(vec![
        Field::new("t", DataType::Timestamp(TimeUnit::Millisecond, None), true),
        Field::new("f", DataType::Float32, true),
        Field::new("s", dictionary, true),
        Field::new("i", DataType::Int8, true),
        Field::new("none", DataType::Boolean, true),
        Field::new("_id", DataType::Utf8View, true),
    ]);
    let declared = |on_mismatch| scan(on_mismatch, 1).with_schema(Arc::new(schema.clone()));
    let error = batches(table, &declared(OnMismatch::Error)).unwrap_err();
    assert_eq!((error.position().row, error.position().column.as_deref()), (Some(1), Some("i")));
    let (all, losses) = batches(table, &declared(OnMismatch::Null)).unwrap();
    assert_eq!(
        values(&all),
        [
            json!({"t":"2024-05-01T12:00:00","f":0.1,"s":"x","i":7,"none":null,"_id":"a"}),
            json!({"t":null,"f":null,"s":"x","i":null,"none":null,"_id":"b"}),
        ]
    );
    assert_eq!(losses.iter().map(|loss| loss.count).max(), Some(1));
}

#[test]
fn errors_have_positions() {
    let folder = tempfile::tempdir().unwrap();
    // The index lists the lines, so that none is skipped.
    let root = StoreWriter::open(folder.path(), WriterOptions::default()).unwrap();
    let mut writer = root.collection("c").unwrap();
    for row in 0..5000 {
        writer.put(&format!("d{row}"), &json!({"n": row})).unwrap();
    }
    writer.finish().unwrap();
    root.finish().unwrap();
    let data = folder.path().join("collections/c/meta/data.jsonl");
    let mut text = fs::read(&data).unwrap();
    let at = text.windows(6).rposition(|window| window == b"\"n\":42").unwrap();
    text[at + 3] = b'x';
    let modified = fs::metadata(&data).unwrap().modified().unwrap();
    fs::write(&data, &text).unwrap();
    fs::File::options().write(true).open(&data).unwrap().set_modified(modified).unwrap();
    let container = open(folder.path());
    let table = container.tables()[0];
    for threads in [1, 4] {
        let error = batches(table, &scan(OnMismatch::Error, threads)).unwrap_err();
        assert_eq!(error.position().row, Some(4299), "{error}");
        assert_eq!(error.position().byte, Some(at as u64 + 3), "{error}");
        let declared = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, true)]));
        let error = batches(table, &scan(OnMismatch::Error, threads).with_schema(declared)).unwrap_err();
        assert_eq!((error.position().row, error.position().key.as_deref()), (Some(4299), Some("d4299")), "{error}");
    }
}

fn load(batch: &RecordBatch, ids: IdSource) -> Result<(Vec<String>, u64)> {
    let folder = tempfile::tempdir().unwrap();
    let root = StoreWriter::open(folder.path().join("s"), WriterOptions::default()).unwrap();
    let mut writer = root.collection("c").unwrap();
    let mut loader = Box::new(ArrowWriter::new(&mut writer, batch.schema(), ids)?);
    for piece in BatchSlices::new(batch.clone(), 2) {
        loader.write(&piece)?;
    }
    let numbered = loader.numbered();
    loader.finish()?;
    writer.finish()?;
    root.finish()?;
    let store = Store::open(folder.path().join("s"))?;
    let collection = store.collection("c")?;
    let documents = collection.documents()?;
    let lines = documents.map(|document| Ok(String::from_utf8(document?.bytes().to_vec()).unwrap()));
    Ok((lines.collect::<Result<_>>()?, numbered))
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

#[test]
fn ids_come_from_a_column_or_row_numbers() {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![10, -11, 12]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("c.d")]));
    let keys: DictionaryArray<arrow_array::types::Int8Type> = vec!["k1", "k2", "k3"].into_iter().collect();
    let inner = StructArray::from(vec![(Arc::new(Field::new("k", DataType::Int64, true)), numbers.clone())]);
    let all =
        batch(vec![("n", numbers.clone()), ("_id", texts.clone()), ("k", Arc::new(keys)), ("o", Arc::new(inner))]);
    let (lines, numbered) = load(&all.project(&[0, 1]).unwrap(), IdSource::IdColumn).unwrap();
    assert_eq!(lines, [r#"{"_id":"a","n":10}"#, r#"{"_id":"0000000001","n":-11}"#, r#"{"_id":"c.d","n":12}"#]);
    assert_eq!(numbered, 1);
    let (lines, _) = load(&all.project(&[1]).unwrap(), IdSource::IdColumn).unwrap();
    assert_eq!(lines, [r#"{"_id":"a"}"#, r#"{"_id":"0000000001"}"#, r#"{"_id":"c.d"}"#]);
    let column = |name: &str| IdSource::Column(name.to_owned());
    let (lines, _) = load(&all.project(&[0, 2]).unwrap(), column("k")).unwrap();
    assert_eq!(lines[0], r#"{"_id":"k1","n":10,"k":"k1"}"#);
    let (lines, _) = load(&all.project(&[0]).unwrap(), column("n")).unwrap();
    assert_eq!(lines[1], r#"{"_id":"-11","n":-11}"#);
    let (lines, _) = load(&all.project(&[3]).unwrap(), column("o.k")).unwrap();
    assert_eq!(lines[2], r#"{"_id":"12","o":{"k":12}}"#);

    let failure = |batch: &RecordBatch, ids| {
        let error = load(batch, ids).unwrap_err();
        (error.kind(), error.position().row, error.to_string())
    };
    let (kind, row, text) = failure(&all, column("n"));
    assert_eq!((kind, row), (ErrorKind::Invalid, Some(0)), "{text}");
    assert!(text.contains("the row's \"_id\" \"a\" differs from its \"n\" \"10\""), "{text}");
    let (kind, _, text) = failure(&all, column("m"));
    assert!(kind == ErrorKind::Usage && text.contains("no column \"m\""), "{text}");
    let (_, row, text) = failure(&all.project(&[1]).unwrap(), column("_id.x"));
    assert!(row == Some(0) && text.contains("the row has no \"_id.x\""), "{text}");
    let twice = batch(vec![("_id", Arc::new(StringArray::from(vec!["a", "b", "c", "b"])) as _)]);
    let (kind, row, text) = failure(&twice, IdSource::IdColumn);
    assert_eq!((kind, row), (ErrorKind::Invalid, Some(3)), "{text}");
    assert!(text.contains("already exists") && text.contains("key \"b\""), "{text}");
    let wrong = batch(vec![("_id", Arc::new(StringArray::from(vec!["a", "b c"])) as _)]);
    assert_eq!(failure(&wrong, IdSource::IdColumn).1, Some(1));
    let float = batch(vec![("x", Arc::new(arrow_array::Float64Array::from(vec![1.0])) as _)]);
    assert!(failure(&float, column("x")).2.contains("expected a string or an integer"));
}

#[test]
fn refuses_duplicate_columns() {
    let schema = |fields: Vec<Field>| Arc::new(Schema::new(fields));
    let inner = DataType::Struct(vec![Field::new("y", DataType::Int64, true); 2].into());
    let folder = tempfile::tempdir().unwrap();
    let root = StoreWriter::open(folder.path().join("s"), WriterOptions::default()).unwrap();
    let mut writer = root.collection("c").unwrap();
    for (fields, name) in [
        (vec![Field::new("x", DataType::Int64, true), Field::new("x", DataType::Utf8, true)], "\"x\""),
        (vec![Field::new_list("x", Field::new_list_field(inner, true), true)], "\"x.y\""),
    ] {
        let error = ArrowWriter::new(&mut writer, schema(fields), IdSource::IdColumn).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.to_string().contains(name), "{error}");
    }
    // Names are case-sensitive.
    let fields = vec![Field::new("x", DataType::Int64, true), Field::new("X", DataType::Utf8, true)];
    ArrowWriter::new(&mut writer, schema(fields), IdSource::IdColumn).unwrap();
}

fn documents() -> impl Strategy<Value = Vec<Value>> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-9..9_i64).prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-50..50_i32).prop_map(|value| Value::from(f64::from(value) / 4.0)),
        "\\PC{0,6}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-c]", inner), 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    });
    let document = prop::collection::vec(("[a-d]", value), 0..5);
    prop::collection::vec(document.prop_map(|members| Value::Object(members.into_iter().collect())), 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn batches_agree_with_documents(documents in documents(), rows in 1..9_usize, bytes in 1..2000_usize) {
        let folder = tempfile::tempdir().unwrap();
        let text: String = documents.iter().enumerate().map(|(row, document)| {
            let mut document = document.clone();
            document.as_object_mut().unwrap().insert("_id".to_owned(), format!("d{row}").into());
            format!("{document}\n")
        }).collect();
        let container = store(folder.path(), &text);
        let table = container.tables()[0];
        for on_mismatch in [OnMismatch::Error, OnMismatch::Null, OnMismatch::Json] {
            let scans = [1, 4].map(|threads| scan(on_mismatch, threads).with_batch_rows(rows).with_batch_bytes(bytes));
            let [one, four] = scans.map(|scan| batches(table, &scan));
            match (one, four) {
                (Ok(one), Ok(four)) => {
                    prop_assert_eq!(values(&one.0).len(), documents.len());
                    let lost = one.1.iter().any(|loss| loss.count > 0);
                    for (actual, document) in values(&one.0).iter_mut().zip(&documents) {
                        actual.as_object_mut().unwrap().remove("_id");
                        prop_assert!(lost || agrees(actual, Some(document)), "{actual} {document}");
                    }
                    prop_assert_eq!(one, four);
                }
                (Err(one), Err(four)) => {
                    prop_assert!(on_mismatch == OnMismatch::Error, "{one}");
                    prop_assert_eq!(one.to_string(), four.to_string());
                }
                (one, four) => prop_assert!(false, "{one:?} {four:?}"),
            }
        }
    }
}
