//! Bounds the memory that a file can make a reader allocate, with a counting allocator.
//!
//! A program of its own, because the allocator counts for the whole process.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "test code fails by panicking")]
#![allow(dead_code, unreachable_pub, reason = "shared with other tests")]

#[path = "../../../tests/support/counting.rs"]
mod counting;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use container_core::{Container, ErrorKind, Limits, OpenOptions, ReadAt, Scan, Source, VerifyOptions};
use counting::{KIB, MIB, bounded};
use dsfmt::container::DsContainer;
use dsfmt::{Builder, Field, OutputOptions, Reader, Region, Select, Selection, Tidy};

/// A source that computes its bytes on demand.
struct Medium(Vec<u8>);

impl ReadAt for Medium {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        let start = usize::try_from(offset).unwrap();
        buffer.copy_from_slice(&self.0[start..start + buffer.len()]);
        Ok(())
    }
}

/// In memory, and by position.
fn both(header: &str, body: &[u8]) -> [Source; 2] {
    let bytes = [b"ds-1.0\n", header.as_bytes(), b"\n", body].concat();
    [bytes.clone().into(), Source::new(Medium(bytes))]
}

fn open(source: Source) -> Reader {
    Reader::from_source(source, OpenOptions::default()).unwrap()
}

/// A single test, so that no other thread allocates meanwhile.
#[test]
fn nothing_is_allocated_that_was_only_declared() {
    headers();
    declared();
    missing();
    parts();
    regions();
    tables();
}

fn headers() {
    let header = format!("{{{}}}", (0..200_000).map(|n| format!("\"{n}\":{{}}")).collect::<Vec<_>>().join(","));
    // The shortest invalid variables: each needs a name, an index entry and a problem.
    for source in both(&header, b"") {
        let reader = bounded("variables", 60 * header.len(), || open(source));
        assert!(reader.variables().all(|variable| variable.problem().is_some()));
    }
    for (what, member, factor) in [
        ("sizes", r#"".size":[0"#, 16),
        ("dimensions", r#"".dims":["""#, 40),
        ("an attribute", r#""a":[0"#, 4),
        ("blanks", r#""a":[0"#, 4),
    ] {
        let item = match what {
            "dimensions" => ",\"\"",
            "blanks" => "    ",
            _ => ",0",
        };
        let header = format!("{{\"x\":{{{member}{}]}}}}", item.repeat(500_000));
        for source in both(&header, b"") {
            bounded(what, factor * header.len(), || open(source));
        }
    }
    // The maximum number of unnamed dimensions, of variables with long names.
    for len in [1, 10, 100, 1000, 10_000] {
        let ones = vec!["1"; 128].join(",");
        let name = "n".repeat(len);
        let member = |n: usize| format!("\"{name}{n}\":{{\".size\":[{ones}],\".type\":\"int8\"}}");
        let header = format!("{{{}}}", (0..100).map(member).collect::<Vec<_>>().join(","));
        for source in both(&header, b"\0") {
            bounded("names of dimensions", 64 * header.len(), || open(source));
        }
    }
    let deep = format!("{{\"x\":{{\"a\":{}", "[".repeat(4 * MIB));
    for source in both(&deep, b"") {
        bounded("open brackets", deep.len() + 256 * KIB, || {
            assert!(Reader::from_source(source, OpenOptions::default()).is_err());
        });
    }
    let long = " ".repeat(4 * MIB);
    let options = OpenOptions::default().with_limits(Limits::default().with_metadata_bytes(MIB as u64));
    for source in both(&long, b"") {
        bounded("a header beyond the limit", 256 * KIB, || {
            let error = Reader::from_source(source, options).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Limit { .. }), "{error}");
        });
    }
}

fn declared() {
    // Sizes, lengths and masks without data.
    let body = vec![0xff; MIB];
    for member in [
        r#"".size":[1000000000000],".type":"int8""#,
        r#"".size":[1000000000000],".type":"bool""#,
        r#"".size":[1000000000000],".type":"int8",".missing":true,".len":1048576"#,
        r#"".size":[1000000000000],".type":"int8",".missing":true,".len":125000000000"#,
        r#"".size":[100000000000],".type":"unicode",".len":1048576"#,
        r#"".size":[100000000000],".type":"unicode",".missing":true,".len":12500000000"#,
        r#"".size":[8388608],".type":"int8",".missing":true,".len":1048575"#,
        // Eight missing elements per byte, with one byte too many.
        r#"".size":[8388600],".type":"int8",".missing":true,".len":1048576"#,
        r#"".size":[8388600],".type":"bool",".missing":true,".len":1048576"#,
        // Lengths of 2^64 - 1.
        r#"".size":[131072],".type":"unicode",".len":1048576"#,
        r#"".size":[131072],".type":"str",".len":1048576"#,
        r#"".size":[131071],".type":"str",".len":1048576"#,
        r#"".size":[1],".type":"str",".len":1048576"#,
    ] {
        let header = format!("{{\"x\":{{{member}}}}}");
        for source in both(&header, &body) {
            let reader = bounded("opening", 160 * KIB, || open(source));
            let x = reader.variable("x").unwrap();
            bounded(member, 1600 * KIB, || {
                assert!(x.read().is_err());
                assert!(x.read_rows(0..1).is_err(), "{member}");
                assert!(x.select(&Selection::default().with("x_1", Select::Index(0))).is_err());
                assert!(
                    Builder::new().field("y", Field::copy(&x)).validate().is_err()
                        || member.contains("int8")
                        || member.contains("bool")
                );
            });
        }
    }
}

fn missing() {
    // One bit per missing 8-byte element: 64 times the file size, as far as the limits allow. Texts are as wide as an address.
    let body = vec![0xff; MIB];
    let text = size_of::<usize>();
    for (data_type, width) in [("float64", 8), ("int8", 1), ("bool", 1), ("unicode", text), ("str", text)] {
        let header =
            format!("{{\"x\":{{\".size\":[{}],\".type\":\"{data_type}\",\".missing\":true,\".len\":{MIB}}}}}", 8 * MIB);
        let small =
            OpenOptions::default().with_limits(Limits::default().with_block_bytes((8 * width * MIB) as u64 - 1));
        for source in both(&header, &body) {
            let reader = open(source.clone());
            // Large vectors are allocated in pages of 2 MiB.
            let array = bounded(data_type, (8 * width + 5) * MIB, || reader.variable("x").unwrap().read().unwrap());
            assert_eq!((array.len(), array.missing()), (8 * MIB, 8 * MIB));
            drop(array);
            // One element less than the limit.
            let reader = Reader::from_source(source, small).unwrap();
            let x = reader.variable("x").unwrap();
            if width > 1 {
                bounded("beyond the limit", 2 * MIB + 64 * KIB, || {
                    let error = x.read().unwrap_err();
                    assert!(matches!(error.kind(), ErrorKind::Limit { .. }), "{error}");
                });
                let half = 2 * MIB as u64;
                let array = x.read_rows(half..half + 100).unwrap();
                assert_eq!(array.missing(), 100);
            }
        }
    }
    // Bits become bytes.
    let header = format!("{{\"x\":{{\".size\":[{}],\".type\":\"bool\"}}}}", 8 * MIB);
    for source in both(&header, &body) {
        let reader = open(source);
        let x = reader.variable("x").unwrap();
        assert_eq!(bounded("bools", 8 * MIB + 600 * KIB, || x.read().unwrap()).len(), 8 * MIB);
    }
}

/// Parts of a variable take memory in proportion.
fn parts() {
    let body = vec![0; 16 * MIB];
    for (data_type, size, each) in
        [("float64", 2 * MIB, 8), ("int8", 16 * MIB, 1), ("bool", 128 * MIB, 1), ("str", 2 * MIB, 16)]
    {
        let header = format!(
            "{{\"x\":{{\".size\":[{},16],\".dims\":[\"i\",\"j\"],\".type\":\"{data_type}\",\".len\":{}}}}}",
            size / 16,
            16 * MIB
        );
        for source in both(&header, &body) {
            let reader = open(source);
            let x = reader.variable("x").unwrap();
            let rows = 1000u64..1100;
            bounded(data_type, 1600 * each + 600 * KIB, || x.read_rows(rows).unwrap());
            let half = Select::Range { start: Some(1000), stop: Some(1100), step: Some(7) };
            let selection = Selection::default().with("i", half).with("j", Select::List(vec![3, -1]));
            assert_eq!(bounded(data_type, MIB, || x.select(&selection).unwrap()).len(), 30);
        }
    }
}

/// A file of 800 MB of zeros that is computed, and how much of it was read.
struct Large {
    header: Vec<u8>,
    read: Arc<AtomicU64>,
}

impl ReadAt for Large {
    fn len(&self) -> u64 {
        self.header.len() as u64 + 800_000_000
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        self.read.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        buffer.fill(0);
        let header = self.header.get(usize::try_from(offset).unwrap()..).unwrap_or_default();
        let count = header.len().min(buffer.len());
        buffer[..count].copy_from_slice(&header[..count]);
        Ok(())
    }
}

/// Copying a part of a large file, or counting its long rows, reads only the part, and keeps a block in memory.
fn regions() {
    let header = r#"{"t": {".dims": ["time", "lat", "lon"], ".size": [1000, 400, 500], ".offset": 0, ".len": 800000000, ".type": "float32"}}"#;
    let read = Arc::new(AtomicU64::new(0));
    let source = Large { header: [b"ds-1.0\n", header.as_bytes(), b"\n"].concat(), read: Arc::clone(&read) };
    let taken = || usize::try_from(read.swap(0, Ordering::Relaxed)).unwrap();
    let region = Region::new().with("lat", Select::range(100, 110)).with("lon", Select::range(490, 500));
    let part = region.apply(open(Source::new(source))).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut builder = Builder::new();
    builder.field("t", Field::copy(&part.variable("t").unwrap()));
    bounded("copying a region", 8 * MIB, || {
        builder.begin(folder.path().join("part.ds"), OutputOptions::default()).unwrap().finish().unwrap()
    });
    // 10 rows of 500 numbers for each of the 1000 times: neighbors are read together.
    let bytes = taken();
    assert!(bytes < 24 * MIB, "{bytes}");
    let rows = DsContainer::new(Tidy::new().apply(part).unwrap());
    let tables = rows.tables();
    assert_eq!(tables[0].len(), Some(100_000));
    bounded("long rows", 8 * MIB, || {
        let mut rows = tables[0].rows(&Scan::default()).unwrap();
        while rows.advance().unwrap() {}
    });
    let bytes = taken();
    assert!(bytes < 24 * MIB, "{bytes}");
}

fn tables() {
    // A name of a megabyte, and many variables that disagree with it.
    let first = format!("\"{}\":{{\".size\":[0],\".dims\":[\"t\"]}}", "n".repeat(MIB));
    let others: String = (0..2000).map(|n| format!(",\"{n}\":{{\".size\":[0,9],\".dims\":[\"i\",\"t\"]}}")).collect();
    let more: String = (0..2000).map(|n| format!(",\"m{n}\":{{\".size\":[9,0],\".dims\":[\"t\",\"i\"]}}")).collect();
    let header = format!("{{{first}{others}{more}}}");
    for source in both(&header, b"") {
        let container = bounded("disagreement", 16 * MIB, || DsContainer::new(open(source)));
        bounded("findings", 6 * MIB, || {
            let (mut count, mut longest) = (0, 0);
            let mut report = |finding: container_core::Finding| {
                count += 1;
                longest = longest.max(finding.error.detail().len());
            };
            container.verify(&VerifyOptions::default(), &mut report).unwrap();
            assert_eq!(count, 4000);
            assert!(longest < 200, "{longest}");
        });
    }
    let header =
        format!("{{{}}}", (0..100_000).map(|n| format!("\"{n}\":{{\".size\":[0]}}")).collect::<Vec<_>>().join(","));
    for source in both(&header, b"") {
        bounded("tables", 150 * header.len(), || DsContainer::new(open(source)).tables().len());
    }
    // All variables share the same bytes, each with its own values in memory.
    let member = |n: usize| format!("\"{n}\":{{\".size\":[4096],\".dims\":[\"t\"]}}");
    let header = format!("{{{}}}", (0..20_000).map(member).collect::<Vec<_>>().join(","));
    let source = both(&header, &[0; 32 * KIB]).into_iter().next().unwrap();
    let container = DsContainer::new(open(source));
    bounded("rows of variables that overlap", 64 * MIB, || {
        let table = container.tables()[0];
        // Reading all rows of all variables is rejected.
        let error = table.rows(&Scan::default()).map(drop).unwrap_err().to_string();
        assert!(error.contains("total declared bytes of the variables 655360000 exceeds the limit"), "{error}");
        let mut scan = Scan::default();
        scan.rows = 0..4095;
        let mut rows = table.rows(&scan).unwrap();
        assert!(rows.advance().unwrap() && rows.advance().unwrap());
    });
    // No elements, in many lists.
    let header = r#"{"x":{".size":[1,65536,65536,65536,0]}}"#;
    let source = both(header, b"").into_iter().next().unwrap();
    let container = DsContainer::new(open(source));
    bounded("lists without elements", MIB, || {
        let table = container.tables()[0];
        let mut rows = table.rows(&Scan::default()).unwrap();
        let mut row = Vec::new();
        assert!(rows.advance().unwrap());
        rows.json(&mut row).unwrap();
        assert_eq!(row, br#"{"x":[]}"#);
    });
}
