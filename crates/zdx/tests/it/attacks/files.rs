//! Links and special files. Reading a store on disk follows its owner's links; packing and
//! unpacking do not.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use zdx::Store;

use super::{TestStore, ids, iterate};

const DATA: &[u8] = b"{\"_id\":\"a\",\"n\":1}\n";

/// Runs `work` for at most ten seconds, as it might block on a pipe.
fn soon<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(work()));
    receiver.recv_timeout(Duration::from_secs(10)).unwrap()
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// The error of opening the collection.
fn refused(test_store: &TestStore) -> String {
    let root = test_store.root().to_owned();
    let error = soon(move || Store::open(&root).and_then(|store| store.collection("c")).map(drop).unwrap_err());
    error.to_string().replace(&test_store.root().display().to_string(), "")
}

#[test]
fn follows_links_when_reading() {
    let elsewhere = tempfile::tempdir().unwrap();
    let there = elsewhere.path().join("lines");
    fs::write(&there, DATA).unwrap();
    let test_store = TestStore::new(b"");
    fs::remove_file(test_store.meta().join("data.jsonl")).unwrap();
    symlink(&there, test_store.meta().join("data.jsonl")).unwrap();
    assert_eq!(ids(&test_store.open()), ["a"]);
    // A document's file.
    let docs = test_store.root().join("collections/c/docs");
    fs::create_dir(&docs).unwrap();
    fs::write(elsewhere.path().join("b"), "{\"n\":2}").unwrap();
    symlink(elsewhere.path().join("b"), docs.join("b.json")).unwrap();
    assert_eq!(ids(&test_store.open()), ["a", "b"]);
    assert_eq!(test_store.open().get("b").unwrap().unwrap().bytes(), b"{\"n\":2}");
    // A collection.
    symlink(test_store.root().join("collections/c"), test_store.root().join("collections/d")).unwrap();
    let store = Store::open(test_store.root()).unwrap();
    assert_eq!(store.names().unwrap(), ["c", "d"]);
    assert_eq!(ids(&store.collection("d").unwrap()), ["a", "b"]);
    // Packing refuses all of them.
    let packed = elsewhere.path().join("packed.zds");
    let error =
        zdx::archive::pack(test_store.root(), &packed, &zdx::archive::PackOptions::default()).unwrap_err().to_string();
    let links =
        ["c/docs/b.json", "c/meta/data.jsonl", "d"].map(|link| test_store.root().join("collections").join(link));
    assert!(
        links.iter().any(|link| error == format!("zds: {}: cannot pack a symbolic link", link.display())),
        "{error}"
    );
    assert!(!packed.exists());
}

#[test]
fn dangling_and_circular_links() {
    let test_store = TestStore::new(DATA);
    let data = test_store.meta().join("data.jsonl");
    fs::remove_file(&data).unwrap();
    symlink("data.jsonl", &data).unwrap();
    let message = refused(&test_store);
    assert!(message.starts_with("zds: /collections/c/meta/data.jsonl: cannot open: "), "{message}");
    // A dangling link counts as missing.
    fs::remove_file(&data).unwrap();
    symlink("none", &data).unwrap();
    assert_eq!(ids(&test_store.open()), [""; 0]);
}

#[test]
fn does_not_block_on_pipes() {
    for name in ["data.jsonl", "index.bin", "wharf.journal"] {
        let test_store = TestStore::new(DATA);
        let _ = fs::remove_file(test_store.meta().join(name));
        pipe(&test_store.meta().join(name));
        assert_eq!(refused(&test_store), format!("zds: /collections/c/meta/{name}: not a regular file"));
    }
    for (name, message) in [("meta/order.ids", ""), ("docs/b.json", " (row 1)")] {
        let test_store = TestStore::new(DATA);
        let folder = test_store.root().join("collections/c");
        fs::create_dir(folder.join("docs")).unwrap();
        fs::write(folder.join("docs/x.json"), "{}").unwrap();
        pipe(&folder.join(name));
        let collection = test_store.open();
        let expected = format!("zds: {}: not a regular file{message}", folder.join(name).display());
        let found = soon(move || match collection.documents() {
            Ok(_) => iterate(&collection).1,
            Err(error) => error.to_string(),
        });
        assert_eq!(found, expected);
    }
    for name in ["manifest.json", "../../../zds.json"] {
        let test_store = TestStore::new(DATA);
        pipe(&test_store.meta().join(name));
        let store = Store::open(test_store.root()).unwrap();
        let message = soon(move || match store.metadata() {
            Err(error) => error.to_string(),
            Ok(_) => store.collection("c").unwrap().manifest().unwrap_err().to_string(),
        });
        assert!(message.starts_with("zds: ") && message.ends_with(": not a regular file"), "{message}");
    }
}

#[test]
fn refuses_directories_in_place_of_files() {
    for name in ["data.jsonl", "index.bin", "wharf.journal"] {
        let test_store = TestStore::new(DATA);
        let _ = fs::remove_file(test_store.meta().join(name));
        fs::create_dir(test_store.meta().join(name)).unwrap();
        assert_eq!(refused(&test_store), format!("zds: /collections/c/meta/{name}: not a regular file"));
    }
    let test_store = TestStore::new(DATA);
    fs::create_dir_all(test_store.root().join("collections/c/docs/b.json")).unwrap();
    let collection = test_store.open();
    assert_eq!(ids(&collection), ["a", "b"]);
    let message = collection.get("b").unwrap_err().to_string();
    assert!(message.starts_with("zds: ") && message.ends_with("docs/b.json: not a regular file"), "{message}");
    let (count, message) = iterate(&collection);
    assert!(count == 1 && message.contains("docs/b.json: not a regular file (row 1"), "{message}");
}

#[test]
fn refuses_devices() {
    if !Path::new("/dev/zero").exists() {
        return;
    }
    let test_store = TestStore::new(DATA);
    let data = test_store.meta().join("data.jsonl");
    fs::remove_file(&data).unwrap();
    symlink("/dev/zero", &data).unwrap();
    assert_eq!(refused(&test_store), "zds: /collections/c/meta/data.jsonl: not a regular file");
    // Also when opened directly.
    let message =
        soon(move || Store::open(data).and_then(|store| store.only_collection()).map(drop).unwrap_err().to_string());
    assert!(message.ends_with("meta/data.jsonl: not a regular file"), "{message}");
}

#[test]
fn names_cannot_escape_the_store() {
    let test_store = TestStore::new(DATA);
    fs::create_dir_all(test_store.root().join("collections/c/deep/meta")).unwrap();
    fs::write(test_store.root().join("collections/c/deep/meta/data.jsonl"), DATA).unwrap();
    let store = Store::open(test_store.root()).unwrap();
    let long = "c".repeat(300);
    for name in ["..", ".", "", "c/deep", "c/", "/", "./c", "c/../c", "../collections/c", "c\0", "C:", &long] {
        let error = store.collection(name).map(drop).unwrap_err().to_string();
        assert_eq!(error, format!("zds: no collection {name:?} (available: c)"));
    }
    let absolute = test_store.root().join("collections/c");
    assert!(store.collection(absolute.to_str().unwrap()).is_err());
    let inner = Store::open(&absolute).unwrap();
    assert_eq!(inner.collection("..").map(drop).unwrap_err().to_string(), "zds: no collection \"..\" (available: c)");
}
