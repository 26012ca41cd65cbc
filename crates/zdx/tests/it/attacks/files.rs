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

use super::{Made, ids, walk};

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
fn refused(made: &Made) -> String {
    let root = made.root().to_owned();
    let error = soon(move || Store::open(&root).and_then(|store| store.collection("c")).map(drop).unwrap_err());
    error.to_string().replace(&made.root().display().to_string(), "")
}

#[test]
fn follows_links_when_reading() {
    let elsewhere = tempfile::tempdir().unwrap();
    let there = elsewhere.path().join("lines");
    fs::write(&there, DATA).unwrap();
    let made = Made::new(b"");
    fs::remove_file(made.meta().join("data.jsonl")).unwrap();
    symlink(&there, made.meta().join("data.jsonl")).unwrap();
    assert_eq!(ids(&made.open()), ["a"]);
    // A document's file.
    let docs = made.root().join("collections/c/docs");
    fs::create_dir(&docs).unwrap();
    fs::write(elsewhere.path().join("b"), "{\"n\":2}").unwrap();
    symlink(elsewhere.path().join("b"), docs.join("b.json")).unwrap();
    assert_eq!(ids(&made.open()), ["a", "b"]);
    assert_eq!(made.open().get("b").unwrap().unwrap().bytes(), b"{\"n\":2}");
    // A collection.
    symlink(made.root().join("collections/c"), made.root().join("collections/d")).unwrap();
    let store = Store::open(made.root()).unwrap();
    assert_eq!(store.names().unwrap(), ["c", "d"]);
    assert_eq!(ids(&store.collection("d").unwrap()), ["a", "b"]);
    // Packing refuses all of them.
    let packed = elsewhere.path().join("packed.zds");
    let error =
        zdx::archive::pack(made.root(), &packed, &zdx::archive::PackOptions::default()).unwrap_err().to_string();
    let links = ["c/docs/b.json", "c/meta/data.jsonl", "d"].map(|link| made.root().join("collections").join(link));
    assert!(
        links.iter().any(|link| error == format!("zds: {}: cannot pack a symbolic link", link.display())),
        "{error}"
    );
    assert!(!packed.exists());
}

#[test]
fn dangling_and_circular_links() {
    let made = Made::new(DATA);
    let data = made.meta().join("data.jsonl");
    fs::remove_file(&data).unwrap();
    symlink("data.jsonl", &data).unwrap();
    let said = refused(&made);
    assert!(said.starts_with("zds: /collections/c/meta/data.jsonl: cannot open: "), "{said}");
    // A dangling link counts as missing.
    fs::remove_file(&data).unwrap();
    symlink("none", &data).unwrap();
    assert_eq!(ids(&made.open()), [""; 0]);
}

#[test]
fn does_not_block_on_pipes() {
    for name in ["data.jsonl", "index.bin", "wharf.journal"] {
        let made = Made::new(DATA);
        let _ = fs::remove_file(made.meta().join(name));
        pipe(&made.meta().join(name));
        assert_eq!(refused(&made), format!("zds: /collections/c/meta/{name}: not a regular file"));
    }
    for (name, said) in [("meta/order.ids", ""), ("docs/b.json", " (row 1)")] {
        let made = Made::new(DATA);
        let folder = made.root().join("collections/c");
        fs::create_dir(folder.join("docs")).unwrap();
        fs::write(folder.join("docs/x.json"), "{}").unwrap();
        pipe(&folder.join(name));
        let collection = made.open();
        let wanted = format!("zds: {}: not a regular file{said}", folder.join(name).display());
        let found = soon(move || match collection.documents() {
            Ok(_) => walk(&collection).1,
            Err(error) => error.to_string(),
        });
        assert_eq!(found, wanted);
    }
    for name in ["manifest.json", "../../../zds.json"] {
        let made = Made::new(DATA);
        pipe(&made.meta().join(name));
        let store = Store::open(made.root()).unwrap();
        let said = soon(move || match store.metadata() {
            Err(error) => error.to_string(),
            Ok(_) => store.collection("c").unwrap().manifest().unwrap_err().to_string(),
        });
        assert!(said.starts_with("zds: ") && said.ends_with(": not a regular file"), "{said}");
    }
}

#[test]
fn refuses_directories_in_place_of_files() {
    for name in ["data.jsonl", "index.bin", "wharf.journal"] {
        let made = Made::new(DATA);
        let _ = fs::remove_file(made.meta().join(name));
        fs::create_dir(made.meta().join(name)).unwrap();
        assert_eq!(refused(&made), format!("zds: /collections/c/meta/{name}: not a regular file"));
    }
    let made = Made::new(DATA);
    fs::create_dir_all(made.root().join("collections/c/docs/b.json")).unwrap();
    let collection = made.open();
    assert_eq!(ids(&collection), ["a", "b"]);
    let said = collection.get("b").unwrap_err().to_string();
    assert!(said.starts_with("zds: ") && said.ends_with("docs/b.json: not a regular file"), "{said}");
    let (count, said) = walk(&collection);
    assert!(count == 1 && said.contains("docs/b.json: not a regular file (row 1"), "{said}");
}

#[test]
fn refuses_devices() {
    if !Path::new("/dev/zero").exists() {
        return;
    }
    let made = Made::new(DATA);
    let data = made.meta().join("data.jsonl");
    fs::remove_file(&data).unwrap();
    symlink("/dev/zero", &data).unwrap();
    assert_eq!(refused(&made), "zds: /collections/c/meta/data.jsonl: not a regular file");
    // Also when opened directly.
    let said =
        soon(move || Store::open(data).and_then(|store| store.only_collection()).map(drop).unwrap_err().to_string());
    assert!(said.ends_with("meta/data.jsonl: not a regular file"), "{said}");
}

#[test]
fn names_cannot_escape_the_store() {
    let made = Made::new(DATA);
    fs::create_dir_all(made.root().join("collections/c/deep/meta")).unwrap();
    fs::write(made.root().join("collections/c/deep/meta/data.jsonl"), DATA).unwrap();
    let store = Store::open(made.root()).unwrap();
    let long = "c".repeat(300);
    for name in ["..", ".", "", "c/deep", "c/", "/", "./c", "c/../c", "../collections/c", "c\0", "C:", &long] {
        let error = store.collection(name).map(drop).unwrap_err().to_string();
        assert_eq!(error, format!("zds: no collection {name:?} (available: c)"));
    }
    let absolute = made.root().join("collections/c");
    assert!(store.collection(absolute.to_str().unwrap()).is_err());
    let inner = Store::open(&absolute).unwrap();
    assert_eq!(inner.collection("..").map(drop).unwrap_err().to_string(), "zds: no collection \"..\" (available: c)");
}
