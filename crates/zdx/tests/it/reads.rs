//! Which ranges are read from data that are neither in memory nor mapped, counted by the medium.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use container_core::{OpenOptions, ReadAt, Source};
use zdx::archive::{PackOptions, pack};
use zdx::wire::index::{Entry, header, put};
use zdx::{Collection, Store};

/// Most bytes that scans and batches read at once.
const WINDOW: u64 = 256 << 10;

/// An archive with one collection, `c`, on a medium that counts.
struct Counted {
    collection: Collection,
    reads: Arc<Mutex<Vec<Range<u64>>>>,
    /// A range that cannot be read.
    broken: Arc<Mutex<Range<u64>>>,
    /// Offset of the data in the archive.
    data_start: u64,
}

struct Medium {
    bytes: Vec<u8>,
    reads: Arc<Mutex<Vec<Range<u64>>>>,
    broken: Arc<Mutex<Range<u64>>>,
}

impl ReadAt for Medium {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let range = offset..offset + buffer.len() as u64;
        let broken = self.broken.lock().unwrap().clone();
        self.reads.lock().unwrap().push(range.clone());
        if range.start < broken.end && broken.start < range.end {
            return Err(io::Error::other("broken"));
        }
        buffer.copy_from_slice(&self.bytes[range.start as usize..range.end as usize]);
        Ok(())
    }
}

impl Counted {
    /// A store of these lines, of which those with an id are indexed.
    fn new(lines: &[(Option<&str>, String)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let meta = folder.path().join("s/collections/c/meta");
        std::fs::create_dir_all(&meta).unwrap();
        let (mut data, mut entries, mut count) = (String::new(), Vec::new(), 0);
        for (id, line) in lines {
            if let Some(id) = id {
                let entry = Entry { id: id.as_bytes(), offset: data.len() as u64, length: line.len() as u32 + 1 };
                put(&entry, &mut entries).unwrap();
                count += 1;
            }
            data += line;
            data.push('\n');
        }
        std::fs::write(meta.join("data.jsonl"), &data).unwrap();
        std::fs::write(meta.join("index.bin"), [&header(count)[..], &entries].concat()).unwrap();
        let target = folder.path().join("s.zds");
        pack(folder.path().join("s"), &target, &PackOptions::default()).unwrap();
        let bytes = std::fs::read(target).unwrap();
        let data_start = bytes.windows(64).position(|window| data.as_bytes().starts_with(window)).unwrap() as u64;
        let (reads, broken) = (Arc::default(), Arc::new(Mutex::new(0..0)));
        let medium = Medium { bytes, reads: Arc::clone(&reads), broken: Arc::clone(&broken) };
        let store = Store::from_source(Source::new(medium), None, OpenOptions::default()).unwrap();
        let collection = store.collection("c").unwrap();
        // Builds the table.
        assert_eq!(collection.len().unwrap(), count);
        Self { collection, reads, broken, data_start }
    }

    /// The ranges of the data that `work` reads.
    fn reads(&self, work: impl FnOnce()) -> Vec<Range<u64>> {
        self.reads.lock().unwrap().clear();
        work();
        let reads = std::mem::take(&mut *self.reads.lock().unwrap());
        reads.into_iter().map(|read| read.start - self.data_start..read.end - self.data_start).collect()
    }

    /// Makes a document unreadable.
    fn break_document(&self, id: &str) {
        let document = self.collection.get(id).unwrap().unwrap();
        let start = self.data_start + document.offset().unwrap();
        *self.broken.lock().unwrap() = start + 9..start + 10;
    }
}

fn bytes_in(reads: &[Range<u64>]) -> u64 {
    reads.iter().map(|read| read.end - read.start).sum()
}

/// Document number `n`, of `len` bytes.
fn document(n: usize, len: usize) -> (String, String) {
    let id = format!("doc-{n:06}");
    let start = format!("{{\"_id\":\"{id}\",\"text\":\"");
    let text: String = (0..len - start.len() - 2).map(|at| char::from(b'a' + ((at + n) % 26) as u8)).collect();
    (id, format!("{start}{text}\"}}"))
}

/// A store of documents of these lengths, and the documents.
fn store(lens: impl IntoIterator<Item = usize>) -> (Counted, Vec<(String, String)>) {
    let documents: Vec<_> = lens.into_iter().enumerate().map(|(n, len)| document(n, len)).collect();
    let lines: Vec<_> = documents.iter().map(|(id, line)| (Some(id.as_str()), line.clone())).collect();
    (Counted::new(&lines), documents)
}

/// Lengths of short and long lines, in no regular pattern, some of them longer than a window.
fn lens(count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(|n| match n % 700 {
        350 => 300_000 + n,
        70 | 71 => 70_000,
        _ => 60 + n * n % 900,
    })
}

#[test]
fn scan_reads_each_byte_once() {
    let (store, documents) = store(lens(5000));
    let total = documents.iter().map(|(_, line)| line.len() as u64 + 1).sum::<u64>();
    let check = |reads: &[Range<u64>]| {
        // Windows overlap by the surroundings of a line, and end with a line.
        assert!(bytes_in(reads) < total + 5 * reads.len() as u64, "{reads:?}");
        assert!((reads.len() as u64) < total / (WINDOW / 2) + 30, "{} reads of {total} bytes", reads.len());
        let max = reads.iter().map(|read| read.end - read.start).max();
        assert!(max.is_some_and(|max| max > 300_000 && max < 310_000), "{max:?}");
    };
    let mut kept = Vec::new();
    check(&store.reads(|| kept = store.collection.documents().unwrap().map(Result::unwrap).collect()));
    // Documents that are kept do not change when further windows are read.
    let kept = kept.iter().map(|document| (document.id(), document.bytes()));
    assert!(kept.eq(documents.iter().map(|(id, line)| (id.as_str(), line.as_bytes()))));
    check(&store.reads(|| {
        let mut iterator = store.collection.documents().unwrap();
        for (id, line) in &documents {
            let document = iterator.try_next().unwrap().unwrap();
            assert_eq!((document.id(), document.bytes()), (id.as_str(), line.as_bytes()));
        }
        assert!(iterator.try_next().unwrap().is_none());
    }));
}

#[test]
fn rows_are_read_without_their_neighbors() {
    let (store, documents) = store(lens(1000));
    for row in [0, 1, 70, 350, 500, 999] {
        let reads = store.reads(|| {
            let document = store.collection.document(row).unwrap();
            assert_eq!(document.bytes(), documents[row as usize].1.as_bytes());
        });
        assert!(reads.len() == 1 && bytes_in(&reads) <= documents[row as usize].1.len() as u64 + 6, "{row}: {reads:?}");
    }
    let reads = store.reads(|| {
        let rows = store.collection.documents_in(500..600).unwrap().map(|document| document.unwrap().bytes().to_vec());
        assert!(rows.eq(documents[500..600].iter().map(|(_, line)| line.as_bytes())));
    });
    assert_eq!(reads.len(), 1);
}

#[test]
fn gaps_are_not_read() {
    // Of deleted documents, in short and long gaps.
    let documents: Vec<_> = (0..600).map(|n| document(n, if n % 20 == 10 { 50_000 } else { 100 })).collect();
    let is_live = |n: usize| !(n % 20 == 10 || n % 20 == 3);
    let line = |(n, (id, line)): (usize, &(String, String))| (is_live(n).then(|| id.clone()), line.clone());
    let lines: Vec<_> = documents.iter().enumerate().map(line).collect();
    let lines: Vec<_> = lines.iter().map(|(id, line)| (id.as_deref(), line.clone())).collect();
    let store = Counted::new(&lines);
    let reads = store.reads(|| {
        let found = store.collection.documents().unwrap().map(|document| document.unwrap().id().to_owned());
        assert!(found.eq(lines.iter().filter_map(|(id, _)| id.map(str::to_owned))));
    });
    assert_eq!(reads.len(), 31);
    assert!(bytes_in(&reads) < 600 * 110, "{reads:?}");
}

#[test]
fn get_reads_once() {
    let (store, documents) = store(lens(1000));
    for (id, line) in [&documents[0], &documents[70], &documents[350], &documents[999]] {
        let reads = store.reads(|| assert_eq!(store.collection.get(id).unwrap().unwrap().bytes(), line.as_bytes()));
        assert!(reads.len() == 1 && bytes_in(&reads) <= line.len() as u64 + 6, "{id}: {reads:?}");
    }
    assert_eq!(store.reads(|| assert!(store.collection.get("none").unwrap().is_none())), []);
}

/// Checks that `get_many` returns what `get` does, and returns the ranges that it reads.
fn get_many(store: &Counted, ids: &[&str]) -> Vec<Range<u64>> {
    let mut found = Vec::new();
    let reads = store.reads(|| found = store.collection.get_many(ids).collect());
    assert_eq!(found.len(), ids.len());
    for (id, found) in ids.iter().zip(&found) {
        match (found, store.collection.get(id)) {
            (Ok(Some(found)), Ok(Some(expected))) => {
                assert_eq!((found.id(), found.offset()), (*id, expected.offset()));
                assert!(found.bytes() == expected.bytes(), "{id}");
            }
            (Ok(None), Ok(None)) => {}
            (Err(found), Err(expected)) => assert_eq!(found.to_string(), expected.to_string()),
            (found, expected) => panic!("{id}: {found:?}, {expected:?}"),
        }
    }
    reads
}

#[test]
fn get_many_shares_reads() {
    let (store, documents) = store(lens(5000));
    let total = documents.iter().map(|(_, line)| line.len() as u64 + 1).sum::<u64>();
    let ordered: Vec<&str> = documents.iter().map(|(id, _)| id.as_str()).collect();
    // In no order, with duplicates within a batch and in different ones, and without some documents.
    let mut ids: Vec<&str> = (0..5000).map(|n| ordered[n * 1237 % 5000]).collect();
    for at in [5, 700, 701, 4900] {
        ids.insert(at, "none");
        ids.insert(at + 1, ids[at - 1]);
        ids.insert(at / 2, ids[at / 3]);
    }
    assert_eq!(get_many(&store, &[]), []);
    assert_eq!(get_many(&store, &["none", ""]), []);
    for ids in [&ordered, &ids] {
        let reads = get_many(&store, ids);
        assert!(reads.len() < 1000, "{} reads of {} documents", reads.len(), ids.len());
        assert!(bytes_in(&reads) < 2 * total, "{} bytes of {total}", bytes_in(&reads));
        assert!(reads.iter().all(|read| read.end - read.start <= 310_000));
    }
    let reads = get_many(&store, &[ordered[350], ordered[7], ordered[6], ordered[350], ordered[7]]);
    // The short ones together; the long one when it is its turn.
    assert_eq!(reads.len(), 3, "{reads:?}");
}

#[test]
fn get_many_starts_with_small_batches() {
    let (store, documents) = store((0..5000).map(|_| 5000));
    let ids = || documents.iter().map(|(id, _)| id.as_str());
    let reads = store.reads(|| assert!(store.collection.get_many(ids()).next().unwrap().unwrap().is_some()));
    assert!(bytes_in(&reads) < 40 * 5000, "{reads:?}");
    // A batch has a maximum of bytes, too: the documents of all ids are 25 MB.
    let reads = store.reads(|| assert!(store.collection.get_many(ids()).nth(2000).unwrap().unwrap().is_some()));
    assert!(bytes_in(&reads) < 15_000_000, "{} bytes", bytes_in(&reads));
}

#[test]
fn unreadable_document_affects_no_other() {
    let (store, documents) = store(lens(600));
    store.break_document(&documents[333].0);
    let expected = "zds: meta/data.jsonl: cannot read: broken (byte ";
    let ids: Vec<&str> = documents.iter().rev().map(|(id, _)| id.as_str()).collect();
    get_many(&store, &ids);
    let mut failed = Vec::new();
    for (id, found) in ids.iter().zip(store.collection.get_many(&ids)) {
        if let Err(error) = found {
            let error = error.to_string();
            assert!(error.starts_with(expected) && error.ends_with(&format!("key \"{id}\")")), "{error}");
            failed.push(*id);
        }
    }
    // The read of a document includes the end of the previous line.
    assert_eq!(failed, [&documents[333].0]);
    // Iteration returns all documents before it.
    let mut found = Vec::new();
    let reads = store.reads(|| found = store.collection.documents().unwrap().collect());
    let error = found.pop().unwrap().unwrap_err().to_string();
    assert!(error.starts_with(expected) && error.contains("row 333, key \"doc-000333\")"), "{error}");
    assert_eq!(found.len(), 333);
    assert!(reads.iter().filter(|read| read.end - read.start > 10_000).count() < 10, "{reads:?}");
    assert!(store.collection.document(334).is_ok() && store.collection.document(332).is_ok());
}
