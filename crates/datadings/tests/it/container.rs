//! The `Format` and `Container` implementations.

use std::path::Path;

use container_core::testkit::Stopwatch;
use container_core::{Access, Container, Input, Limits, OpenOptions, Probe, Recognition, Scan, Source, Table, detect};
use datadings::{DatadingsContainer, FORMAT, Part, Reader, Writer};

use crate::set::{Set, options, sample};

fn recognized(head: &[u8], path: Option<&Path>) -> Recognition {
    FORMAT.recognize(&Probe::new(path, head))
}

fn open(path: &Path) -> Box<dyn Container> {
    let input = Input::open(path, Access::Auto).unwrap();
    detect(&[FORMAT], &input).unwrap().open(&input, &OpenOptions::default()).unwrap()
}

/// All rows as JSON, as `json` writes them; serde must write the same.
fn rows(table: &dyn Table, scan: &Scan) -> Vec<String> {
    let mut rows = table.rows(scan).unwrap();
    let mut all = Vec::new();
    while rows.advance().unwrap() {
        let mut out = b"before".to_vec();
        rows.json(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap().strip_prefix("before").unwrap().to_owned();
        assert_eq!(serde_json::to_string(rows.row()).unwrap(), text);
        all.push(text);
    }
    assert!(!rows.advance().unwrap() && rows.losses().is_empty());
    all
}

fn columns(table: &dyn Table) -> Vec<String> {
    table.columns().iter().map(|column| format!("{}: {}", column.name, column.kind)).collect()
}

#[test]
fn recognizes_datasets_by_content() {
    let yes: [&[u8]; 5] = [
        &sample("a", 1),
        b"\x81\xa3key\xa1",
        b"\xde\0\x01\xa3key\xd9\x40",
        b"\x82\xa1x\x92\x01\xc0\xa3key\xa1a",
        b"\x81\xd9\x03key\xa1a",
    ];
    for head in yes {
        assert_eq!(recognized(head, None), Recognition::Content, "{head:?}");
    }
    let no: [&[u8]; 10] = [
        b"",
        b"{\"key\": 1}\n",
        b"PK\x03\x04",
        b"CML\0DVB\0",
        b"\x80",
        b"\x81\xa3kex\xa1a",
        b"\x81\xa3key\x01",
        b"\x81\x01\xa3key",
        b"\x82\xa1x\xc1\xa3key\xa1a",
        b"\x93\xa3key\xa1a\x01",
    ];
    for head in no {
        assert_eq!(recognized(head, None), Recognition::No, "{head:?}");
        assert_eq!(recognized(head, Some(Path::new("x.MsgPack"))), Recognition::Name, "{head:?}");
    }
    // The key follows an image, beyond the probed head.
    let mut long = b"\x82\xa5image\xc5\x40\x00".to_vec();
    long.extend([0; 0x4000]);
    assert_eq!(recognized(&long[..4096], None), Recognition::No);
    long.extend(b"\xa3key\xa1a");
    let source = Source::from(long.clone());
    assert_eq!(FORMAT.recognize(&Probe::new(None, &long[..4096]).with_source(&source)), Recognition::Content);
    assert_eq!(FORMAT.recognize(&Probe::directory(Path::new("some/folder"))), Recognition::No);
}

#[test]
fn opens_a_set_by_any_of_its_files() {
    for count in [0, 3] {
        let set = Set::letters(count);
        for part in [Part::Data, Part::Offsets, Part::Keys, Part::KeyHashes, Part::Filter, Part::Md5] {
            assert_eq!(open(&set.part(part)).tables()[0].len(), Some(count.into()), "{part:?}");
        }
        set.legacy();
        for part in [Part::Data, Part::LegacyIndex, Part::Md5] {
            let container = open(&set.part(part));
            assert_eq!(container.tables()[0].len(), Some(count.into()), "{part:?}");
            assert_eq!(container.version(), "with a legacy index");
        }
    }
    // A file that only has the name.
    let set = Set::letters(1);
    set.remove(Part::Offsets);
    let path = set.folder.path().join("other.md5");
    std::fs::write(&path, b"0  x").unwrap();
    assert_eq!(recognized(b"0  x", Some(&path)), Recognition::No);
}

#[test]
fn scans_data_without_an_index() {
    let set = Set::letters(3);
    set.remove(Part::Offsets);
    let container = open(&set.path);
    assert_eq!((container.version().as_str(), container.tables()[0].len()), ("without index", Some(3)));
    assert_eq!(container.details()["missing"], serde_json::json!(["offsets"]));
    assert_eq!(container.tables()[0].find("c").unwrap(), Some(2));
    let stream = Input::Stream(Source::from(set.read(Part::Data)));
    let container = FORMAT.open(&stream, &OpenOptions::default()).unwrap();
    assert_eq!(rows(container.tables()[0], &Scan::default())[1], r#"{"key":"b","x":1}"#);
    assert_eq!(container.details()["bytes"], 30);
    set.patch(Part::Data, |bytes| bytes[20] = 0xc1);
    let input = Input::open(&set.path, Access::Auto).unwrap();
    let error = FORMAT.open(&input, &OpenOptions::default()).err().unwrap();
    assert!(error.to_string().ends_with("d.msgpack: reserved msgpack marker 0xc1 (byte 20, row 2)"), "{error}");
    assert!(FORMAT.open(&Input::Directory("some/folder".into()), &OpenOptions::default()).is_err());
}

#[test]
fn reports_details() {
    let set = Set::letters(3);
    set.remove(Part::Md5).patch(Part::Data, |bytes| bytes.push(0));
    let details = serde_json::Value::from(open(&set.path).details());
    assert_eq!(
        details,
        serde_json::json!({
            "bytes": 31,
            "files": {"offsets": 32, "keys": 7, "key_hashes": 32, "filter": set.read(Part::Filter).len()},
            "missing": ["md5"],
            "legacy": false,
            "trailing_bytes": 1,
            "salt": "652e530edee5893b",
            "filter": {"elements": 3, "probability": 1.0 / 3.0},
        })
    );
}

fn various() -> Set {
    let array = |shape: &[u8], data: &[u8]| {
        let mut out = b"\x85\xc4\x02nd\xc3\xc4\x04type\xa3|u1\xc4\x04kind\xc4\0\xc4\x05shape".to_vec();
        out.push(0x90 | shape.len() as u8);
        out.extend(shape);
        out.extend(b"\xc4\x04data\xc4");
        out.push(data.len() as u8);
        out.extend(data);
        out
    };
    let with = |key: u8, rest: &[&[u8]]| {
        [&[0x80 | (1 + rest.len() as u8), 0xa3][..], b"key\xa1", &[key], &rest.concat()].concat()
    };
    let samples = [
        with(b'a', &[b"\xa1n\x01", &[b"\xa1v", &array(&[2, 3], &[0; 6])[..]].concat(), b"\xa1b\xc4\x01x"]),
        with(b'b', &[b"\xa1n\xc0", &[b"\xa1v", &array(&[4, 3], &[1; 12])[..]].concat()]),
        with(b'c', &[b"\xa1f\xca\x3d\xcc\xcc\xcd", b"\x07\x2a", b"\xa17\x01", b"\xc4\x017\x02"]),
        with(b'd', &[b"\xa1c\x82\xc4\x07complex\xc3\xc4\x04data\xa31+j", b"\xa1n\xcb\x3f\xf8\0\0\0\0\0\0"]),
    ];
    let keys = ["a", "b", "c", "d"];
    Set::of(&keys.into_iter().zip(samples).collect::<Vec<_>>())
}

#[test]
fn columns_are_the_fields_of_samples() {
    let set = various();
    let container = open(&set.path);
    let table = container.tables()[0];
    let expected = [
        "key: str",
        "n: float64 or int or nil",
        "v: ndarray |u1 [?, 3]",
        "b: bytes",
        "f: float32",
        "7: int",
        "7#2: int",
        r#"{"$bytes":"Nw=="}: int"#,
        "c: complex",
    ];
    assert_eq!(columns(table), expected);
    table.infer_columns().unwrap();
    assert_eq!(columns(table), expected);
    let n = table.column_summary(1);
    assert_eq!((&n["samples"], &n["samples_looked_at"]), (&3.into(), &4.into()));
    assert!(table.column_details(8).unwrap().is_empty() && table.column_details(9).is_err());
}

#[test]
fn reads_rows_with_and_without_projection() {
    let set = various();
    for access in [container_core::testkit::mapped(), Access::Auto, Access::Positional] {
        let input = Input::open(&set.path, access).unwrap();
        let container = FORMAT.open(&input, &OpenOptions::default().with_access(access)).unwrap();
        let table = container.tables()[0];
        let all = rows(table, &Scan::default());
        assert_eq!(all[2], r#"{"key":"c","f":0.1,"7":42,"7":1,"{\"$bytes\":\"Nw==\"}":2}"#);
        assert_eq!(rows(table, &Scan::default().with_rows(1..3)), all[1..3]);
        // In the requested order, without missing fields.
        let some = rows(table, &Scan::default().with_columns([1, 0]));
        assert_eq!(
            some,
            [r#"{"n":1,"key":"a"}"#, r#"{"n":null,"key":"b"}"#, r#"{"key":"c"}"#, r#"{"n":1.5,"key":"d"}"#]
        );
        assert_eq!(
            rows(table, &Scan::default().with_columns([7, 6, 5]).with_rows(2..9)),
            [r#"{"{\"$bytes\":\"Nw==\"}":2,"7#2":1,"7":42}"#, "{}"]
        );
        let many: Vec<usize> = (0..9).rev().chain([0]).collect();
        let text = rows(table, &Scan::default().with_columns(many).with_rows(3..4));
        assert_eq!(text, [r#"{"c":{"$complex":[1.0,1.0]},"n":1.5,"key":"d","key":"d"}"#]);
        assert_eq!(rows(table, &Scan::default().with_columns([])), ["{}"; 4]);
        assert_eq!((table.find("d").unwrap(), table.find("x").unwrap()), (Some(3), None));
        let error = table.rows(&Scan::default().with_columns([9])).err().unwrap();
        assert_eq!(error.to_string(), "datadings: no column 9");
        assert!(table.rows(&Scan::default().with_rows(5..6)).is_err());
    }
}

#[test]
fn duplicate_fields_count_once() {
    let set = Set::of(&[("a", b"\x84\xa3key\xa1a\xa1x\x01\xa1x\x02\xa1y\x03")]);
    let container = open(&set.path);
    let table = container.tables()[0];
    assert_eq!(table.column_summary(1)["samples"], 1);
    assert_eq!(rows(table, &Scan::default().with_columns([1, 2])), [r#"{"x":1,"y":3}"#]);
}

#[test]
fn reports_invalid_rows() {
    let set = Set::letters(3);
    set.patch(Part::Data, |bytes| bytes[17] = 0xc1); // in the second sample
    let container = open(&set.path);
    let mut rows = container.tables()[0].rows(&Scan::default()).unwrap();
    let mut out = b"x".to_vec();
    assert!(rows.json(&mut out).is_err(), "no row before the first");
    for row in 0..3 {
        assert!(rows.advance().unwrap());
        let done = rows.json(&mut out);
        assert_eq!(rows.index(), row);
        assert_eq!(done.is_err(), row == 1, "{done:?}");
    }
    assert_eq!(out, br#"x{"key":"a","x":0}{"key":"c","x":2}"#);
    // Invalid offsets end the iteration.
    set.offset(2, 5);
    let container = open(&set.path);
    let mut rows = container.tables()[0].rows(&Scan::default()).unwrap();
    assert!(rows.advance().unwrap() && rows.advance().is_err() && !rows.advance().unwrap());
}

/// 70 MB in 70,000 samples, one of which has a field of its own.
#[test]
fn infer_columns_finds_rare_fields() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    let mut writer = Writer::create(&path, options().with_md5(false)).unwrap();
    for n in 0..70_000u32 {
        let more = n == 33_333 || n >= 60_000;
        let mut message = vec![if more { 0x83 } else { 0x82 }, 0xa3, b'k', b'e', b'y', 0xa6];
        message.extend(format!("{n:06}").bytes());
        if n == 33_333 {
            message.extend(b"\xa4rare\xc3");
        } else if more {
            message.extend(b"\xa4late\xc0");
        }
        message.extend(b"\xa1x\xc5\x04\x00");
        message.resize(message.len() + 1024, 0);
        writer.append_message(&message).unwrap();
    }
    writer.finish().unwrap();
    let container = DatadingsContainer::new(Reader::open(&path).unwrap());
    assert_eq!(columns(&container), ["key: str", "x: bytes", "late: nil"]);
    assert!(container.column_summary(0)["samples_looked_at"].as_u64().unwrap() < 5000);
    container.infer_columns().unwrap();
    // Known columns keep their positions, although one of them appears later.
    assert_eq!(columns(&container), ["key: str", "x: bytes", "late: nil", "rare: bool"]);
    assert_eq!(container.column_summary(0)["samples"], 70_000);
    let scan = Scan::default().with_columns([3, 0]).with_rows(33_332..33_334);
    assert_eq!(rows(&container, &scan), [r#"{"key":"033332"}"#, r#"{"rare":true,"key":"033333"}"#]);
    let limits = Limits::default().with_columns(3);
    let reader = Reader::open_with(&path, OpenOptions::default().with_limits(limits)).unwrap();
    let container = DatadingsContainer::new(reader);
    let error = container.infer_columns().unwrap_err();
    assert!(error.to_string().contains("number of columns 4 exceeds the limit 3"), "{error}");
    assert!(error.to_string().contains("row 33333"), "{error}");
}

#[test]
fn renaming_equal_names_is_linear() {
    // All names of three invalid bytes look alike.
    let count = 60_000_u32;
    let mut message = b"\xdf\0\0\0\0\xa3key\xa1a".to_vec();
    message[1..5].copy_from_slice(&(count + 1).to_be_bytes());
    for number in 0..count {
        message.push(0xa3);
        message.extend([12, 6, 0].map(|shift| 0x80 | (number >> shift & 0x3f) as u8));
        message.push(1);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    std::fs::write(&path, message).unwrap();
    let start = Stopwatch::start();
    let container = open(&path);
    let names: std::collections::HashSet<_> = container.tables()[0].columns().iter().map(|c| c.name.clone()).collect();
    assert_eq!(names.len(), count as usize + 1);
    assert!(names.contains("\u{fffd}\u{fffd}\u{fffd}#60000"));
    // Takes a minute if each starts counting at 2.
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

#[test]
fn numbers_and_their_bytes_are_different_fields() {
    let set = Set::of(&[("a", b"\x82\xa3key\xa1a\x01\xc0".as_slice()), ("b", b"\x82\xa3key\xa1b\xa1\x01\x07")]);
    let container = open(&set.path);
    assert_eq!(columns(container.tables()[0]), ["key: str", "1: nil", "\u{1}: int"]);
}

#[test]
fn text_beside_an_index_file_is_not_a_dataset() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.jsonl");
    std::fs::write(&path, "{\"a\":1}\n").unwrap();
    std::fs::write(folder.path().join("d.jsonl.index"), "of something else").unwrap();
    assert_eq!(recognized(b"{\"a\":1}\n", Some(&path)), Recognition::No);
    // Samples need not begin with their key.
    assert_eq!(recognized(b"\x82\xa1x\x01\xa3key\xa1a", Some(&path)), Recognition::Content);
}
