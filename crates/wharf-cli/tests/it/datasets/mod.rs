//! datadings datasets for tests.
#![allow(dead_code, reason = "with some features off a part of it is not used")]

use std::fs;
use std::path::Path;

use datadings::{Reader, Writer, WriterOptions};
use tempfile::TempDir;

/// The suffixes of the files of a dataset.
pub(crate) const PARTS: [&str; 6] = ["", ".offsets", ".keys", ".key_hashes", ".filter", ".md5"];

/// Golden datasets of every kind of index and key.
pub(crate) const SOME: [&str; 10] = [
    "size-0.msgpack",
    "size-1.msgpack",
    "size-2.msgpack",
    "size-300.msgpack",
    "keys-unicode.msgpack",
    "keys-long.msgpack",
    "index-legacy.msgpack",
    "index-n-offsets-alone.msgpack",
    "index-offsets-alone.msgpack",
    "raw-without-key.msgpack",
];

/// The path of a golden dataset.
pub(crate) fn golden(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/datadings").join(name);
    path.into_os_string().into_string().unwrap()
}

/// The keys of a dataset, in order.
pub(crate) fn keys(path: &str) -> Vec<String> {
    let reader = Reader::open(path).unwrap();
    reader.keys(0..reader.len()).unwrap().map(|key| key.unwrap().into_owned()).collect()
}

/// Asserts that all files of two datasets are equal.
#[track_caller]
pub(crate) fn same_set(one: &str, other: &str) {
    for part in PARTS {
        let read = |path: &str| fs::read(format!("{path}{part}")).unwrap();
        assert!(read(one) == read(other), "{one}{part} and {other}{part} differ");
    }
}

/// A temporary folder.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.path().join(name).into_os_string().into_string().unwrap()
    }

    /// Copies the files of a golden dataset.
    pub(crate) fn copy(&self, name: &str, parts: &[&str]) {
        for part in parts {
            fs::copy(golden(&format!("{name}{part}")), self.path(&format!("{name}{part}"))).unwrap();
        }
    }

    /// Writes samples with a key, a label and an image of three bytes.
    pub(crate) fn write(&self, name: &str, samples: &[(&str, u8)]) -> String {
        let path = self.path(name);
        let mut writer = Writer::create(&path, WriterOptions::default()).unwrap();
        for (key, label) in samples {
            let mut message = vec![0x83, 0xa3];
            message.extend_from_slice(b"key");
            datadings::ser::extend(&mut message, key).unwrap();
            message.extend_from_slice(b"\xa5label");
            datadings::ser::extend(&mut message, label).unwrap();
            message.extend_from_slice(b"\xa5image\xc4\x03\xff\x00");
            message.push(*label);
            writer.append_message(&message).unwrap();
        }
        writer.finish().unwrap();
        path
    }

    /// The keys and labels of the samples.
    pub(crate) fn labels(&self, path: &str) -> Vec<(String, u64)> {
        let reader = Reader::open(path).unwrap();
        let both = reader.iter().map(|sample| {
            let sample = sample.unwrap();
            (sample.key().unwrap().to_owned(), sample.field("label").unwrap().u64().unwrap())
        });
        both.collect()
    }

    /// Names of all files, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}
