//! Transactions interrupted at every step: every reader sees the old state or the new one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use container_core::Source;
use serde_json::json;

use super::{Documents, copy, options, read, recover};
use crate::wire::index::Index;
use crate::wire::json::Scanned;
use crate::wire::lines::lines;
use crate::write::disk::Hook;
use crate::{CollectionWriter, LoadOptions, OnDuplicate, Result, StoreWriter, WriterOptions};

/// A store, and a transaction on it.
struct Scenario {
    name: &'static str,
    make: fn(&Path),
    change: fn(&mut CollectionWriter) -> Result<()>,
    /// Whether the reference sees one of the two states at each step. It sees files disappear one by one, and rebuilds an index
    /// without documents.
    is_for_reference: bool,
}

fn put(writer: &mut CollectionWriter, ids: std::ops::Range<u32>, text: &str) -> Result<()> {
    for id in ids {
        writer.put(&format!("id-{id}"), &json!({ "text": text }))?;
    }
    Ok(())
}

fn with(root: &Path, change: impl FnOnce(&mut CollectionWriter)) {
    let store = StoreWriter::open(root, options()).unwrap();
    let mut writer = store.collection("c").unwrap();
    change(&mut writer);
    writer.finish().unwrap();
    store.finish().unwrap();
}

fn with_ten_documents(root: &Path) {
    with(root, |writer| put(writer, 0..10, "old").unwrap());
}

fn with_files(root: &Path) {
    with_ten_documents(root);
    let docs = root.join("collections/c/docs");
    fs::create_dir_all(&docs).unwrap();
    for id in ["id-3", "file-a", "file-b", "file-c"] {
        fs::write(docs.join(format!("{id}.json")), "{\"file\":true}").unwrap();
    }
    fs::write(root.join("collections/c/meta/order.ids"), "file-b\nfile-c\nfile-a\n").unwrap();
}

fn change_all(writer: &mut CollectionWriter) -> Result<()> {
    put(writer, 5..8, "new")?;
    writer.delete("id-0")?;
    writer.drain()?;
    put(writer, 20..25, "new")?;
    let lines = "{\"_id\":\"load-1\"}\n{\"_id\":\"id-1\",\"n\":1}\n";
    let _ = writer.load(&Source::from(lines.as_bytes()), &LoadOptions::default())?;
    let refuse = LoadOptions::default().with_on_duplicate(OnDuplicate::Refuse);
    // A rejected document changes nothing.
    let rejected = "{\"_id\":\"load-2\"}\n{\"_id\":\"id-1\"}\n";
    assert!(writer.load(&Source::from(rejected.as_bytes()), &refuse).is_err());
    writer.delete("id-9")?;
    Ok(())
}

const SCENARIOS: &[Scenario] = &[
    Scenario { name: "put and delete", make: with_ten_documents, change: change_all, is_for_reference: true },
    Scenario {
        name: "new store",
        make: |_| {},
        change: |writer| put(writer, 0..5, "new").and_then(|()| writer.delete("id-3").map(drop)),
        is_for_reference: true,
    },
    Scenario {
        name: "new collection",
        make: |root| {
            let store = StoreWriter::open(root, options()).unwrap();
            store.collection("other").unwrap().finish().unwrap();
            store.finish().unwrap();
        },
        change: change_all,
        is_for_reference: true,
    },
    Scenario {
        name: "collection without documents",
        make: |root| with(root, |_| {}),
        change: |writer| put(writer, 0..30, "new").and_then(|()| writer.drain()),
        is_for_reference: true,
    },
    Scenario {
        name: "and with deletions",
        make: |root| with(root, |_| {}),
        change: change_all,
        is_for_reference: false,
    },
    Scenario {
        name: "all deleted",
        make: with_ten_documents,
        change: |writer| (0..10).try_for_each(|id| writer.delete(&format!("id-{id}")).map(drop)),
        is_for_reference: true,
    },
    Scenario {
        name: "only deleted",
        make: with_ten_documents,
        change: |writer| writer.delete("id-9").map(drop),
        is_for_reference: true,
    },
    Scenario {
        name: "documents in files",
        make: with_files,
        change: |writer| {
            for id in ["file-a", "id-3", "file-c"] {
                assert!(writer.delete(id)?);
            }
            writer.put("file-b", &json!({"line": 1}))
        },
        is_for_reference: true,
    },
    Scenario {
        name: "documents in files alone",
        make: with_files,
        change: |writer| ["file-a", "file-c"].iter().try_for_each(|id| writer.delete(id).map(drop)),
        is_for_reference: true,
    },
    Scenario {
        name: "strict",
        make: |root| {
            let store = StoreWriter::open(root, options().with_strict(true)).unwrap();
            store.collection("c").unwrap().finish().unwrap();
            store.finish().unwrap();
        },
        change: |writer| {
            put(writer, 0..3, "new")?;
            let error = writer.put("x", &json!({"other": 1})).unwrap_err().to_string();
            assert!(error.contains("does not match the collection's schema"), "{error}");
            Ok(())
        },
        is_for_reference: true,
    },
    Scenario {
        name: "torn and without line feed",
        make: |root| {
            with_ten_documents(root);
            let data = root.join("collections/c/meta/data.jsonl");
            let text = fs::read_to_string(&data).unwrap();
            fs::write(data, text + "{\"_id\":\"last\"}\n{\"_id\":\"torn").unwrap();
            fs::remove_file(root.join("collections/c/meta/index.bin")).unwrap();
        },
        change: change_all,
        is_for_reference: false,
    },
    Scenario {
        name: "no line feed at the end",
        make: |root| {
            with_ten_documents(root);
            let data = root.join("collections/c/meta/data.jsonl");
            let text = fs::read_to_string(&data).unwrap();
            fs::write(&data, text.trim_end()).unwrap();
            let index = root.join("collections/c/meta/index.bin");
            fs::remove_file(&index).unwrap();
            let in_order = crate::Store::open(root).unwrap().collection("c").unwrap().index_in_order().unwrap();
            fs::write(index, in_order).unwrap();
        },
        change: change_all,
        is_for_reference: true,
    },
];

/// The possible states: the second one only once the transaction is about to end.
struct Watcher {
    root: PathBuf,
    states: Vec<Documents>,
    reference: Option<Vec<Documents>>,
    steps: u64,
    at: u64,
    bytes_written: usize,
    /// Whether all later steps fail, too.
    is_lasting: bool,
}

/// What a reader sees, if there is a store and a collection.
fn visible(root: &Path) -> Documents {
    match root.join("collections/c").exists() {
        true => read(root),
        false => Documents::new(),
    }
}

/// The lines that the reference sees: those in the index, or all if it is empty.
fn visible_to_reference(root: &Path) -> Documents {
    let meta = root.join("collections/c/meta");
    let data = fs::read(meta.join("data.jsonl")).unwrap_or_default();
    let index = fs::read(meta.join("index.bin")).unwrap_or_default();
    let mut all = Documents::new();
    for entry in Index::parse(&index).iter().flat_map(Index::entries) {
        let entry = entry.unwrap();
        let (start, length) = (usize::try_from(entry.offset).unwrap(), usize::try_from(entry.length).unwrap());
        let line = &data[start..start + length];
        all.insert(
            String::from_utf8(entry.id.to_vec()).unwrap(),
            String::from_utf8(line.trim_ascii().to_vec()).unwrap(),
        );
    }
    if all.is_empty() {
        for line in lines(&data) {
            let Some(id) = line.scan().ok().and_then(Scanned::into_id) else { continue };
            all.insert(id.into_owned(), String::from_utf8(line.bytes.to_vec()).unwrap());
        }
    }
    all
}

impl Watcher {
    /// Checks the files as left by a process that dies here.
    fn check(&self, what: &str) {
        let other = tempfile::tempdir().unwrap();
        let target = other.path().join("copy");
        if self.root.exists() {
            copy(&self.root, &target);
        }
        let found = visible(&target);
        assert!(self.states.contains(&found), "{what}: {found:?} is none of {:?}", self.states);
        if let Some(reference) = &self.reference {
            let found = visible_to_reference(&target);
            assert!(reference.contains(&found), "{what}: the reference sees {found:?}, none of {reference:?}");
        }
        if target.join("collections/c").exists() {
            assert_eq!(recover(&target), found, "{what}");
            let left: Vec<_> = fs::read_dir(target.join("collections/c/meta"))
                .unwrap()
                .map(|file| file.unwrap().file_name())
                .collect();
            assert!(left.iter().all(|name| !name.to_string_lossy().contains("wharf")), "{what}: {left:?}");
        } else {
            // The next writer removes hidden directories.
            let store = StoreWriter::open(&target, options()).unwrap();
            let mut writer = store.collection("c").unwrap();
            writer.put("x", &json!({})).unwrap();
            writer.finish().unwrap();
            store.finish().unwrap();
            assert_eq!(fs::read_dir(target.join(".zds")).map_or(0, Iterator::count), 0, "{what}");
            assert_eq!(read(&target).len(), 1);
        }
    }
}

fn with_watcher(watcher: &Arc<Mutex<Watcher>>) -> WriterOptions {
    let watcher = Arc::clone(watcher);
    let mut options = options();
    options.hook = Hook::new(move |step, bytes| {
        // Poisoned if a check panicked.
        let mut watcher = watcher.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        watcher.steps += 1;
        let failed = || Err(std::io::Error::other("injected"));
        // The state before a single failing step has been checked before.
        if watcher.steps == watcher.at && watcher.is_lasting {
            watcher.check(step);
        }
        match watcher.steps {
            now if now == watcher.at && watcher.bytes_written.min(bytes) > 0 => Ok(watcher.bytes_written.min(bytes)),
            now if now == watcher.at || now > watcher.at && watcher.is_lasting => failed(),
            _ => Ok(bytes),
        }
    });
    options
}

fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => {
                all.insert(path.clone(), Vec::new());
                all.extend(files(&path));
            }
            false => drop(all.insert(path.clone(), fs::read(&path).unwrap())),
        }
    }
    all
}

/// The states before and after the transaction.
fn expected(scenario: &Scenario) -> (Documents, Documents) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    (scenario.make)(&root);
    with(&root, |writer| (scenario.change)(writer).unwrap());
    (read(&root), visible_to_reference(&root))
}

#[test]
fn every_step_shows_the_old_or_the_new_state() {
    for scenario in SCENARIOS {
        let (new, new_for_reference) = expected(scenario);
        let mut failures = [0; 2];
        for (is_lasting, bytes_written) in [(true, 3), (false, 0)] {
            for at in 1.. {
                let what = format!("{}: step {at}, {bytes_written} bytes, lasting: {is_lasting}", scenario.name);
                let folder = tempfile::tempdir().unwrap();
                let root = folder.path().join("store");
                (scenario.make)(&root);
                let (before, old, old_for_reference) = (files(&root), visible(&root), visible_to_reference(&root));
                let watcher = Arc::new(Mutex::new(Watcher {
                    root: root.clone(),
                    states: vec![old.clone()],
                    reference: scenario.is_for_reference.then(|| vec![old_for_reference.clone()]),
                    steps: 0,
                    at,
                    bytes_written,
                    is_lasting,
                }));
                let result = (|| {
                    let store = StoreWriter::open(&root, with_watcher(&watcher))?;
                    let mut writer = store.collection("c")?;
                    writer.begin()?;
                    (scenario.change)(&mut writer)?;
                    let mut allowed = watcher.lock().unwrap();
                    allowed.states.push(new.clone());
                    if let Some(reference) = &mut allowed.reference {
                        reference.push(new_for_reference.clone());
                    }
                    drop(allowed);
                    let flushed = writer.flush();
                    if flushed.is_err() {
                        failures[0] += 1;
                        // The writer can continue if the rollback succeeded.
                        let is_old = writer.put("x", &json!({"text": "x"})).is_ok();
                        assert!(!is_old || visible(&root) == old, "{what}");
                    }
                    flushed?;
                    writer.finish()?;
                    store.finish()
                })();
                let steps = watcher.lock().unwrap().steps;
                watcher.lock().unwrap().check(&what);
                match &result {
                    Ok(()) => assert_eq!(visible(&root), new, "{what}"),
                    Err(error) => {
                        failures[1] += 1;
                        let is_saved = error.to_string().contains("the changes are saved, but the clean-up failed");
                        let found = visible(&root);
                        assert_eq!(found == new, is_saved, "{what}: {error}");
                        // Apart from a possible repair, nothing has changed.
                        if found == old && !is_lasting && !scenario.name.starts_with("torn") {
                            assert_eq!(files(&root), before, "{what}: {error}");
                        }
                    }
                }
                if result.is_ok() && steps < at {
                    break;
                }
                assert!(at < 200, "{what}");
            }
        }
        assert!(failures[0] >= 8 && failures[1] >= 12, "{}: {failures:?}", scenario.name);
    }
}

#[test]
fn rollback_and_drop_leave_no_trace() {
    for scenario in SCENARIOS {
        for is_dropped in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().join("store");
            (scenario.make)(&root);
            let before = files(&root);
            let old = visible(&root);
            let store = StoreWriter::open(&root, options()).unwrap();
            let mut writer = store.collection("c").unwrap();
            assert!(writer.roll_back().unwrap_err().to_string().contains("no transaction is open"));
            writer.begin().unwrap();
            assert!(writer.begin().unwrap_err().to_string().contains("a transaction is already open"));
            (scenario.change)(&mut writer).unwrap();
            writer.drain().unwrap();
            assert_eq!(visible(&root), old, "{}", scenario.name);
            if !is_dropped {
                writer.roll_back().unwrap();
                assert_eq!(writer.len(), old.len() as u64, "{}", scenario.name);
                for (id, line) in &old {
                    assert_eq!(writer.get(id).unwrap().as_deref(), Some(line.as_bytes()), "{} {id}", scenario.name);
                }
            }
            drop((writer, store));
            assert_eq!(visible(&root), old, "{}", scenario.name);
            if !scenario.name.starts_with("torn") {
                assert_eq!(files(&root), before, "{}", scenario.name);
            }
        }
    }
}

#[test]
fn changes_around_a_transaction_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    with_ten_documents(root);
    let store = StoreWriter::open(root, options()).unwrap();
    let mut writer = store.collection("c").unwrap();
    put(&mut writer, 30..33, "before").unwrap();
    writer.delete("id-2").unwrap();
    writer.begin().unwrap();
    let before = read(root);
    assert!(before.contains_key("id-30") && !before.contains_key("id-2"));
    change_all(&mut writer).unwrap();
    writer.delete("id-31").unwrap();
    writer.drain().unwrap();
    assert_eq!(read(root), before);
    // A reader opened now never sees what is cut off later.
    let during = crate::Store::open(root).unwrap().collection("c").unwrap();
    writer.roll_back().unwrap();
    assert_eq!(during.documents().unwrap().map(Result::unwrap).count(), before.len());
    assert_eq!(read(root), before);
    put(&mut writer, 40..41, "behind").unwrap();
    writer.drain().unwrap();
    assert_eq!(read(root).len(), before.len() + 1);
    drop((writer, store));
    assert_eq!(recover(root).len(), before.len() + 1);
}
