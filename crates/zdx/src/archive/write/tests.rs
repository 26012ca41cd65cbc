use std::io::Cursor;

use container_core::{OpenOptions, testkit};

use super::*;
use crate::archive::Archive;

const FILES: [(&str, &[u8]); 4] = [
    ("zds.json", b"{}"),
    ("collections/b/docs/y.json", b"{\"y\": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]}"),
    ("collections/a\u{e9}/meta/data.jsonl", b""),
    ("collections/b/docs/x.json", b"{}"),
];

fn write<W: Write + Seek>(sink: W, compression: Compression, zip64_from: u64, zip64_count: u64) -> Result<(W, u64)> {
    let mut writer = ArchiveWriter::new(sink, compression)?;
    (writer.zip64_from, writer.zip64_count) = (zip64_from, zip64_count);
    for (path, content) in FILES {
        writer.add(path, &Source::from(content))?;
    }
    writer.add_folder("collections/empty/")?;
    writer.end()
}

fn check(bytes: Vec<u8>) {
    let archive = Archive::from_source(Source::from(bytes), None, &OpenOptions::default()).unwrap();
    assert_eq!(archive.collections(), ["a\u{e9}", "b", "empty"]);
    assert_eq!((archive.len(), archive.foreign_entries().count()), (4, 0));
    for (path, content) in FILES {
        let source = archive.file(path).unwrap().unwrap();
        assert_eq!(source.read(0..source.len()).unwrap(), content);
    }
    archive.verify(&mut |finding| panic!("{}", finding.error)).unwrap();
}

#[test]
fn round_trips_with_and_without_zip64() {
    for compression in [Compression::Store, Compression::Deflate(0), Compression::Deflate(6), Compression::Deflate(9)] {
        let whole = |zip64_from, zip64_count| {
            let (sink, len) = write(Cursor::new(Vec::new()), compression, zip64_from, zip64_count).unwrap();
            assert_eq!(sink.get_ref().len() as u64, len);
            sink.into_inner()
        };
        let plain = whole(u32::MAX.into(), u16::MAX.into());
        assert!(!plain.windows(4).any(|four| four == b"PK\x06\x06"));
        check(plain.clone());
        assert_eq!(plain, whole(u32::MAX.into(), u16::MAX.into()), "the same bytes");
        // ZIP64 for the end record, for some entries, for everything.
        for (zip64_from, zip64_count) in [(u32::MAX.into(), 5), (60, 100), (3, 100), (0, 0)] {
            let bytes = whole(zip64_from, zip64_count);
            assert!(bytes.windows(4).any(|four| four == b"PK\x06\x06"), "{zip64_from} {zip64_count}");
            check(bytes);
        }
    }
}

#[test]
fn completes_headers_before_and_after_a_flush() {
    let content: Vec<u8> =
        (0..3_000_000_u32).map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect();
    for compression in [Compression::Store, Compression::Deflate(1)] {
        let mut writer = ArchiveWriter::new(Cursor::new(Vec::new()), compression).unwrap();
        writer.add("zds.json", &Source::from(&b"{}"[..])).unwrap();
        writer.add("collections/a/meta/data.jsonl", &Source::from(content.clone())).unwrap();
        writer.add("collections/a/docs/x.json", &Source::from(&b"[]"[..])).unwrap();
        let bytes = writer.end().unwrap().0.into_inner();
        let archive = Archive::from_source(Source::from(bytes), None, &OpenOptions::default()).unwrap();
        archive.verify(&mut |finding| panic!("{}", finding.error)).unwrap();
        let data = archive.file("collections/a/meta/data.jsonl").unwrap().unwrap();
        assert!(data.read(0..data.len()).unwrap() == content);
    }
}

#[test]
fn reports_write_errors() {
    let zip64_from = vec![7; BUFFER_BYTES + 10];
    let calls = testkit::every_write_may_fail(|sink| {
        let mut writer = ArchiveWriter::new(sink, Compression::Store)?;
        writer.add("collections/a/meta/data.jsonl", &Source::from(zip64_from.clone()))?;
        writer.add("zds.json", &Source::from(&b"{}"[..]))?;
        writer.end().map(drop)
    });
    assert!(calls >= 5, "{calls}");
}

#[test]
fn refuses_invalid_additions() {
    let writer = || ArchiveWriter::new(Cursor::new(Vec::new()), Compression::Store).unwrap();
    let add = |path: &str| writer().add(path, &Source::from(&b""[..])).unwrap_err().to_string();
    let refused = "zds: invalid path in an archive: ";
    assert_eq!(add("readme"), format!("{refused}not a path of a store (key \"readme\")"));
    assert_eq!(add("../x"), format!("{refused}path that escapes the directory with \"..\" (key \"../x\")"));
    let deep = format!("metadata/{}x", "abc/".repeat(40));
    assert_eq!(add(&deep), format!("{refused}path with more than 32 components (key {deep:?})"));
    // A refused path is harmless; an incomplete file is not.
    let mut one = writer();
    assert!(one.add("x", &Source::from(&b""[..])).is_err());
    assert!(one.end().is_ok());
    let mut two = writer();
    for path in ["zds.json", "collections/a/meta/x", "zds.json"] {
        two.add(path, &Source::from(&b""[..])).unwrap();
    }
    let error = two.end().unwrap_err();
    assert_eq!(error.to_string(), "zds: duplicate file name (key \"zds.json\")");
    for (size, expected) in [
        (2, "zds: the file has grown from 2 bytes (key \"zds.json\")"),
        (4, "zds: the file has shrunk from 4 to 3 bytes (key \"zds.json\")"),
    ] {
        let mut three = writer();
        assert_eq!(three.add_from("zds.json", size, |sink| sink(b"abc")).unwrap_err().to_string(), expected);
        let whole = "zds: the archive is incomplete: adding a file failed before";
        let again = three.add("collections/a/meta/x", &Source::from(&b""[..])).unwrap_err();
        assert_eq!(again.to_string(), format!("{whole} (key \"collections/a/meta/x\")"));
        assert_eq!(three.end().unwrap_err().to_string(), whole);
    }
    let error = ArchiveWriter::new(Cursor::new(Vec::new()), Compression::Deflate(10)).unwrap_err();
    assert_eq!(error.to_string(), "zds: DEFLATE level: expected 0 to 9, found 10");
}
