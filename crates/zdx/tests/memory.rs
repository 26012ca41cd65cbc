//! Memory and time for unusual data, measured with a counting allocator.
//!
//! A separate program, because the allocator counts for the whole process.
#![allow(clippy::unwrap_used, reason = "test code fails by panicking")]
#![allow(dead_code, unreachable_pub, reason = "shared with other tests")]

#[path = "../../../tests/support/counting.rs"]
mod counting;

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use container_core::testkit::{Stopwatch, cases};
use container_core::{Access, ErrorKind, Limits, OpenOptions};
use counting::{KIB, MIB, bounded};
use zdx::wire::index::{Entry, header, put};
use zdx::wire::{json, lines};
use zdx::{Collection, Durability, Fields, Store, StoreWriter, WriterOptions};

/// One test at a time: they share the counters.
static ALONE: Mutex<()> = Mutex::new(());

/// For work whose steps cannot be counted: far more than needed without optimization on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// Bytes that this process has read from files so far, where the system counts them. Mapped files do not count.
fn bytes_read() -> Option<usize> {
    let counters = fs::read_to_string("/proc/self/io").ok()?;
    counters.lines().find_map(|line| line.strip_prefix("rchar: "))?.parse().ok()
}

/// Asserts that `work` reads at most `limit` bytes from files, so that it does not read the same bytes again and again.
#[track_caller]
fn reading<T>(what: &str, limit: usize, work: impl FnOnce() -> T) -> T {
    let before = bytes_read();
    let result = work();
    let read = bytes_read().zip(before).map_or(0, |(now, before)| now - before);
    assert!(read <= limit, "{what}: expected at most {limit} bytes, read {read}");
    result
}

/// A store with one collection of these data.
fn test_store(data: &[u8]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let meta = folder.path().join("collections/c/meta");
    fs::create_dir_all(&meta).unwrap();
    fs::write(meta.join("data.jsonl"), data).unwrap();
    folder
}

fn open(root: &Path, access: Access) -> Collection {
    open_with(root, OpenOptions::default().with_access(access))
}

fn open_with(root: &Path, options: OpenOptions) -> Collection {
    Store::open_with(root, options).unwrap().collection("c").unwrap().with_threads(2)
}

/// A document of a hundred million bytes.
fn long_line() -> Vec<u8> {
    let mut line = b"{\"text\":\"".to_vec();
    line.resize(100_000_000, b'x');
    line.extend(b"\",\"n\":7,\"_id\":\"long\"}");
    line
}

#[test]
fn hundred_megabyte_line() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let line = long_line();
    // Scanning allocates only for an id with escapes.
    let found = bounded("scan", KIB, || json::scan(&line).map(|found| found.id().is_some()));
    assert!(found.unwrap());
    let folder = test_store(&[b"{\"_id\":\"a\"}\n", &line[..], b"\n{\"_id\":\"b\"}\n"].concat());
    // Capacity for entries is estimated from the first line: less than half of the data.
    for (access, most) in [(container_core::testkit::mapped(), 48 * MIB), (Access::Positional, 200 * MIB)] {
        // Without an index it is found by scanning; if not mapped, in windows that grow until it fits.
        let is_mapped = matches!(access, Access::Mapped(_));
        reading("walk", if is_mapped { MIB } else { 3 * line.len() }, || {
            bounded("walk", most, || {
                let collection = open(folder.path(), access);
                assert!(collection.ids().unwrap().eq(["a", "long", "b"]));
            });
        });
        let collection = open(folder.path(), access);
        assert_eq!(collection.len().unwrap(), 3);
        // In memory once at most.
        let most = if is_mapped { MIB } else { 102 * MIB };
        reading("get", most, || {
            bounded("get", most, || {
                let document = collection.get("long").unwrap().unwrap();
                assert_eq!(document.bytes().len(), line.len());
            });
        });
        bounded("fields", most + MIB, || {
            let document = collection.get("long").unwrap().unwrap();
            assert_eq!(document.fields(&Fields::new(["n"])).unwrap().get("n").unwrap(), 7);
        });
        reading("documents", 2 * most, || {
            bounded("documents", 2 * most, || {
                let lens = collection.documents().unwrap().map(|one| one.unwrap().bytes().len());
                assert_eq!(lens.max(), Some(line.len()));
            });
        });
    }
    // A lower limit is enforced.
    let few = OpenOptions::default().with_limits(Limits::default().with_block_bytes(40_000_000));
    for access in [container_core::testkit::mapped(), Access::Positional] {
        let error = open_with(folder.path(), few.with_access(access)).len().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Limit { limit: 40_000_000, .. }), "{error}");
    }

    let target = tempfile::tempdir().unwrap();
    let store = StoreWriter::open(target.path(), WriterOptions::default().with_durability(Durability::None)).unwrap();
    let mut writer = store.collection("c").unwrap();
    // Reallocating for the line feed doubles the buffer.
    bounded("put", 300 * MIB, || assert_eq!(writer.put_line(&line).unwrap(), "long"));
    bounded("flush", MIB, || writer.finish().unwrap());
    store.finish().unwrap();
    let collection = open(target.path(), container_core::testkit::mapped());
    assert!(collection.get("long").unwrap().unwrap().bytes() == line);
}

#[test]
fn huge_entry_does_not_allocate() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = test_store(b"{\"_id\":\"a\"}\n");
    let meta = folder.path().join("collections/c/meta");
    // A sparse file.
    fs::File::options().write(true).open(meta.join("data.jsonl")).unwrap().set_len(3 << 30).unwrap();
    let mut index = header(2).to_vec();
    put(&Entry { id: b"a", offset: 0, length: 12 }, &mut index).unwrap();
    put(&Entry { id: b"b", offset: 12, length: 2 << 30 }, &mut index).unwrap();
    fs::write(meta.join("index.bin"), &index).unwrap();
    let collection = open(folder.path(), Access::Positional);
    let message = "the length of a line 2147483648 exceeds the limit 1073741824 (byte 12";
    bounded("get and walk", 2 * MIB, || {
        let error = collection.get("b").unwrap_err().to_string();
        assert_eq!(error, format!("zds: meta/data.jsonl: {message}, key \"b\")"));
        let all: Vec<_> = collection.documents().unwrap().map(|one| one.map(|one| one.bytes().len())).collect();
        assert_eq!(*all.first().unwrap().as_ref().unwrap(), 11);
        let error = all.last().unwrap().as_ref().unwrap_err().to_string();
        assert_eq!(error, format!("zds: meta/data.jsonl: {message}, row 1, key \"b\")"));
    });
}

#[test]
fn megabytes_of_empty_lines() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let count = cases(20_000_000, 100_000_000);
    let mut data = vec![b'\n'; count];
    data.extend(b"{\"_id\":\"a\"}\n");
    let folder = test_store(&data);
    for (access, most) in [(container_core::testkit::mapped(), 64 * MIB), (Access::Positional, 128 * MIB)] {
        let is_mapped = matches!(access, Access::Mapped(_));
        reading("walk", if is_mapped { MIB } else { 2 * count }, || {
            bounded("walk", most, || {
                let collection = open(folder.path(), access);
                assert!(collection.ids().unwrap().eq(["a"]));
                assert_eq!(collection.document(0).unwrap().offset(), Some(count as u64));
                assert_eq!(collection.condition().unwrap().skipped_lines, 0);
            });
        });
    }
    assert_eq!(lines::lines(&data).map(|line| line.number).collect::<Vec<_>>(), [count as u64 + 1]);
}

#[test]
fn million_nested_brackets() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let start = Stopwatch::start();
    for (open_with, close_with) in [("[", "]"), ("{\"a\":", "}")] {
        let (opened, closed) = (open_with.repeat(1_000_000), close_with.repeat(1_000_000));
        let last = format!("{{\"a\":{opened}1{closed},\"_id\":\"deep\"}}");
        let error = bounded("scan", KIB, || json::scan(last.as_bytes()).map(drop).unwrap_err());
        assert!(matches!(error.kind(), ErrorKind::Limit { asked: 129, limit: 128 }), "{error}");
        let first = format!("{{\"_id\":\"first\",\"a\":{opened}1{closed}}}");
        let data = format!("{{\"_id\":\"a\"}}\n{last}\n{first}\n{{\"_id\":\"b\"}}\n");
        let folder = test_store(data.as_bytes());
        for access in [container_core::testkit::mapped(), Access::Positional] {
            let collection = open(folder.path(), access);
            let ids: Vec<&str> = collection.ids().unwrap().collect();
            // A line that begins with its id is found; parsing it reports the error.
            assert!(ids == ["a", "first", "b"] || ids == ["a", "b"], "{ids:?}");
            if let Some(document) = collection.get("first").ok().flatten() {
                let error = document.value().unwrap_err().to_string();
                assert!(error.contains("recursion limit exceeded"), "{error}");
                assert!(document.fields(&Fields::new(["a"])).is_err());
                // Unselected fields are skipped at any depth.
                assert_eq!(document.fields(&Fields::new(["_id"])).unwrap().get("_id").unwrap(), "first");
            }
        }
        assert_eq!(json::compact(first.as_bytes()).len(), first.len());
    }
    assert!(start.elapsed() < LONG, "{:?}", start.elapsed());
}
