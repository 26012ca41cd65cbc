//! Writing to stores created by the reference.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use zdx::{Durability, Store, StoreWriter, WriterOptions};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/zds")
}

/// Copies a store with its modification times, which decide whether an index is stale.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
            let time = entry.metadata().unwrap().modified().unwrap();
            fs::File::options().write(true).open(&target).unwrap().set_modified(time).unwrap();
        }
    }
}

/// Raw documents by collection and id.
type Documents = BTreeMap<(String, String), Vec<u8>>;

fn read(root: &Path) -> Documents {
    let store = Store::open(root).unwrap();
    let mut all = Documents::new();
    for name in store.names().unwrap() {
        let collection = store.collection(&name).unwrap();
        for document in collection.documents().unwrap() {
            let document = document.unwrap();
            all.insert((name.clone(), document.id().to_owned()), document.bytes().to_vec());
        }
    }
    all
}

fn options() -> WriterOptions {
    WriterOptions::default().with_durability(Durability::None)
}

#[test]
fn writes_to_stores_of_the_reference() {
    let (mut stores, mut refused) = (0, 0);
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if !path.is_dir() {
            continue;
        }
        println!("{}", path.display());
        let other = tempfile::tempdir().unwrap();
        let root = other.path().join("store");
        copy(&path, &root);
        let mut expected = read(&root);
        let store = StoreWriter::open(&root, options()).unwrap();
        for name in Store::open(&root).unwrap().names().unwrap() {
            let mut writer = store.collection(&name).unwrap();
            let own: Vec<String> =
                expected.keys().filter(|(collection, _)| *collection == name).map(|(_, id)| id.clone()).collect();
            assert_eq!(writer.len(), own.len() as u64);
            for id in &own {
                // A line indexed under another id is returned as stored.
                assert_eq!(writer.get(id).unwrap().as_ref(), expected.get(&(name.clone(), id.clone())));
            }
            // Some collections require a schema.
            let mut value = own
                .first()
                .map_or(json!({"n": 1}), |id| serde_json::from_slice(&writer.get(id).unwrap().unwrap()).unwrap());
            value.as_object_mut().unwrap().remove("_id");
            writer.put("new", &value).unwrap();
            expected.insert((name.clone(), "new".to_owned()), writer.get("new").unwrap().unwrap());
            for id in own.iter().step_by(3) {
                assert!(writer.delete(id).unwrap(), "{id}");
                expected.remove(&(name.clone(), id.clone()));
            }
            writer.flush().unwrap();
            assert_eq!(writer.len(), expected.keys().filter(|(collection, _)| *collection == name).count() as u64);
            match writer.compact() {
                Ok(compacted) => assert!(compacted.after <= compacted.before),
                // Lines indexed under another id cannot be compacted.
                Err(error) => {
                    assert!(error.to_string().starts_with("zds: meta/data.jsonl: "), "{error}");
                    refused += 1;
                }
            }
            writer.finish().unwrap();
        }
        store.finish().unwrap();
        assert!(read(&root) == expected);
        let again = Store::open(&root).unwrap();
        for name in again.names().unwrap() {
            let mut notes = again.collection(&name).unwrap().condition().unwrap().notes();
            notes.retain(|note| !note.contains("in docs: data.jsonl has a line with the same id"));
            assert_eq!(notes, [""; 0]);
        }
        // Nothing is left to repair, and nothing changes needlessly.
        let before = files(&root);
        let store = StoreWriter::open(&root, options()).unwrap();
        for name in again.names().unwrap() {
            store.collection(&name).unwrap().finish().unwrap();
        }
        store.finish().unwrap();
        assert!(files(&root) == before);
        stores += 1;
    }
    assert!(stores >= 20 && refused <= 3, "{stores} {refused}");
}

/// All files with their contents.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => all.extend(files(&path)),
            false => drop(all.insert(path.clone(), fs::read(&path).unwrap())),
        }
    }
    all
}

#[test]
fn writes_reproducible_bytes_and_keeps_metadata() {
    let folder = tempfile::tempdir().unwrap();
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_795_278_559);
    let write = |name: &str, at_once: bool| {
        let root = folder.path().join(name).join("store");
        let store = StoreWriter::open(&root, options().with_time(time)).unwrap();
        for collection in ["b", "a"] {
            let mut writer = store.collection(collection).unwrap();
            for n in 0..1000 {
                writer.put(&format!("id-{n}"), &json!({"n": n})).unwrap();
                if !at_once && n % 300 == 0 {
                    writer.flush().unwrap();
                }
            }
            writer.finish().unwrap();
        }
        store.finish().unwrap();
        let all = files(&root);
        let all: BTreeMap<PathBuf, Vec<u8>> =
            all.into_iter().map(|(path, bytes)| (path.strip_prefix(&root).unwrap().to_owned(), bytes)).collect();
        (root, all)
    };
    let (root, first) = write("first", true);
    let (_, second) = write("second", false);
    assert!(first == second);
    let zds = "{\n  \"version\": \"1.0\",\n  \"name\": \"store\",\n  \"description\": \"\",\n  \"created\": \"2026-11-21T16:29:19Z\",\n  \"modified\": \"2026-11-21T16:29:19Z\",\n  \"collections\": {\"b\":{\"count\":1000},\"a\":{\"count\":1000}}\n}";
    assert_eq!(std::str::from_utf8(&first[Path::new("zds.json")]).unwrap(), zds);
    let manifest = "{\n  \"version\": \"0.1.0\",\n  \"collection\": \"a\",\n  \"strict\": false,\n  \"created_at\": \"2026-11-21T16:29:19Z\",\n  \"doc_count\": 1000,\n  \"schema_count\": 0\n}";
    assert_eq!(std::str::from_utf8(&first[Path::new("collections/a/meta/manifest.json")]).unwrap(), manifest);
    // Unknown members stay in place.
    let other = zds
        .replace("\"1.0\",", "\"1.0\",\n  \"zebra\": [1,  2],")
        .replace("{\"count\":1000}}", "{\"count\":1000,\"x\":null}}");
    fs::write(root.join("zds.json"), &other).unwrap();
    let store = StoreWriter::open(&root, options().with_time(time + std::time::Duration::from_secs(1))).unwrap();
    let mut writer = store.collection("a").unwrap();
    writer.delete("id-7").unwrap();
    writer.finish().unwrap();
    store.finish().unwrap();
    let expected = other.replace("{\"count\":1000,\"x\"", "{\"count\":999,\"x\"");
    let expected = expected.replace("\"modified\": \"2026-11-21T16:29:19Z\"", "\"modified\": \"2026-11-21T16:29:20Z\"");
    assert_eq!(fs::read_to_string(root.join("zds.json")).unwrap(), expected);
    fs::write(root.join("zds.json"), "[]").unwrap();
    let error = StoreWriter::open(&root, options()).unwrap_err().to_string();
    assert!(error.contains("zds.json: the metadata is not a JSON object: "), "{error}");
}
