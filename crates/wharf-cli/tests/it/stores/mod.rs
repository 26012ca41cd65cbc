//! Golden ZDS stores, and temporary folders for new ones.
#![allow(dead_code, reason = "with some features off a part of it is not used")]

use std::fs;
use std::path::{Path, PathBuf};

/// A golden store or archive.
pub(crate) fn golden(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/zds");
    folder.join(name).into_os_string().into_string().unwrap()
}

/// All golden stores, by name, with their paths.
pub(crate) fn goldens() -> Vec<(String, String)> {
    let names = fs::read_dir(golden("")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut stores: Vec<_> = names
        .filter(|name| !name.starts_with('.') && !name.contains("expected") && !name.ends_with(".md"))
        .map(|name| (name.clone(), golden(&name)))
        .collect();
    stores.sort();
    assert!(stores.len() >= 25, "the golden stores are there");
    stores
}

/// A temporary folder.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.path().join(name).into_os_string().into_string().unwrap()
    }

    /// Creates a store with one collection of these lines and without an index. Returns the path of its data.
    pub(crate) fn store(&self, name: &str, collection: &str, lines: &str) -> PathBuf {
        let meta = self.0.path().join(name).join("collections").join(collection).join("meta");
        fs::create_dir_all(&meta).unwrap();
        fs::write(meta.join("data.jsonl"), lines).unwrap();
        meta.join("data.jsonl")
    }

    /// A copy of a golden store.
    pub(crate) fn copy(&self, name: &str) -> String {
        copy(Path::new(&golden(name)), &self.0.path().join(name));
        self.path(name)
    }

    /// Its entries, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let names = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match from.is_dir() {
            true => copy(&from, &to),
            false => fs::write(to, fs::read(from).unwrap()).unwrap(),
        }
    }
}
