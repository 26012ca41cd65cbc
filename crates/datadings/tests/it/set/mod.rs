//! A small dataset on disk, with helpers to modify and verify it.
#![allow(dead_code, reason = "every test file uses a part of it")]
#![allow(unreachable_pub, reason = "it is a module of several tests")]
#![allow(clippy::cast_possible_truncation, reason = "tests make their data with casts")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code fails by panicking"
)]

use std::path::PathBuf;

use container_core::{OutputOptions, Overwrite, Severity, SyncPolicy, VerifyOptions};
use datadings::{Part, Reader, Writer, WriterOptions};
use md5::{Digest, Md5};
use tempfile::TempDir;

/// A dataset in a folder of its own.
pub struct Set {
    pub folder: TempDir,
    pub path: PathBuf,
}

/// Options that replace files and do not sync.
pub fn options() -> WriterOptions {
    let output = OutputOptions::default().with_overwrite(Overwrite::Replace).with_sync(SyncPolicy::Never);
    WriterOptions::default().with_output(output)
}

/// `{"key": key, "x": n}`, n below 128.
pub fn sample(key: &str, n: u8) -> Vec<u8> {
    let mut out = vec![0x82, 0xa3, b'k', b'e', b'y', 0xa0 | key.len() as u8];
    out.extend_from_slice(key.as_bytes());
    out.extend([0xa1, b'x', n]);
    out
}

impl Set {
    /// The samples `a`, `b`, `c`... of ten bytes and their keys, `count` of them.
    pub fn letters(count: u8) -> Self {
        let keys: Vec<String> = (0..count).map(|n| char::from(b'a' + n).to_string()).collect();
        let samples: Vec<_> = keys.iter().zip(0..).map(|(key, n)| (key.as_str(), sample(key, n))).collect();
        Self::of(&samples)
    }

    /// Arbitrary messages under these keys.
    pub fn of<M: AsRef<[u8]>>(samples: &[(&str, M)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.msgpack");
        let mut writer = Writer::create(&path, options().with_any_message(true)).unwrap();
        for (key, message) in samples {
            writer.append_raw(key, message.as_ref()).unwrap();
        }
        writer.finish().unwrap();
        Self { folder, path }
    }

    pub fn part(&self, part: Part) -> PathBuf {
        self.folder.path().join(format!("d.msgpack{}", part.suffix()))
    }

    pub fn read(&self, part: Part) -> Vec<u8> {
        std::fs::read(self.part(part)).unwrap()
    }

    pub fn write(&self, part: Part, bytes: impl AsRef<[u8]>) -> &Self {
        std::fs::write(self.part(part), bytes).unwrap();
        self
    }

    pub fn remove(&self, part: Part) -> &Self {
        std::fs::remove_file(self.part(part)).unwrap();
        self
    }

    pub fn patch(&self, part: Part, change: impl FnOnce(&mut Vec<u8>)) -> &Self {
        let mut bytes = self.read(part);
        change(&mut bytes);
        self.write(part, bytes)
    }

    /// Overwrites an offset.
    pub fn offset(&self, index: usize, value: u64) -> &Self {
        self.patch(Part::Offsets, |bytes| bytes[index * 8..index * 8 + 8].copy_from_slice(&value.to_be_bytes()))
    }

    /// Recomputes the sums of all existing files.
    pub fn resum(&self) -> &Self {
        let parts = [Part::Data, Part::Offsets, Part::Keys, Part::KeyHashes, Part::Filter, Part::LegacyIndex];
        let mut text = String::new();
        for part in parts.into_iter().filter(|part| self.part(*part).exists()) {
            let sum: String = Md5::digest(self.read(part)).iter().map(|byte| format!("{byte:02x}")).collect();
            text.push_str(&format!("{sum}  d.msgpack{}\n", part.suffix()));
        }
        self.write(Part::Md5, text)
    }

    /// Replaces the index by a legacy one.
    pub fn legacy(&self) -> &Self {
        let reader = self.open();
        let mut index = vec![0xdf];
        index.extend_from_slice(&(reader.len() as u32).to_be_bytes());
        for row in 0..reader.len() {
            let key = reader.key(row).unwrap();
            index.push(0xa0 | key.len() as u8);
            index.extend_from_slice(key.as_bytes());
            index.push(0xcf);
            index.extend_from_slice(&reader.extent(row).unwrap().start.to_be_bytes());
        }
        self.write(Part::LegacyIndex, index);
        for part in [Part::Offsets, Part::Keys, Part::KeyHashes, Part::Filter] {
            self.remove(part);
        }
        self.resum()
    }

    /// Replaces the index by a legacy one with these bytes.
    pub fn legacy_of(&self, index: &[u8]) -> &Self {
        for part in [Part::Offsets, Part::Keys, Part::KeyHashes, Part::Filter] {
            self.remove(part);
        }
        self.write(Part::LegacyIndex, index).resum()
    }

    pub fn open(&self) -> Reader {
        Reader::open(&self.path).unwrap()
    }

    /// The findings of verification, which must be the same with one thread and with several; without folder names.
    #[track_caller]
    pub fn findings(&self) -> Vec<String> {
        let reader = self.open();
        let found = [1, 3].map(|threads| findings(&reader, threads));
        assert_eq!(found[0], found[1], "one thread and three have different findings");
        let folder = format!("{}/", self.folder.path().display());
        found[0].iter().map(|text| text.replace(&folder, "")).collect()
    }

    /// The same with one thread only; the error if the dataset cannot be opened.
    pub fn outcome(&self) -> Vec<String> {
        let folder = format!("{}/", self.folder.path().display());
        match Reader::open(&self.path) {
            Ok(reader) => findings(&reader, 1).iter().map(|text| text.replace(&folder, "")).collect(),
            Err(error) => vec![format!("open: {error}").replace(&folder, "")],
        }
    }
}

/// The findings of verification.
pub fn findings(reader: &Reader, threads: usize) -> Vec<String> {
    let mut found = Vec::new();
    let options = VerifyOptions::default().with_threads(threads);
    let verified = reader.verify(&options, &mut |finding| {
        assert_eq!(finding.error.format(), Some("datadings"), "{}", finding.error);
        let severity = if finding.severity == Severity::Error { "error" } else { "warning" };
        found.push(format!("{severity}: {}", finding.error));
    });
    verified.unwrap();
    found
}
