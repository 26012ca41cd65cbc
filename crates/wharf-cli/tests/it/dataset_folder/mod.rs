//! A temporary folder for tests that write datasets.
#![allow(dead_code, reason = "with some features off a part of it is not used")]

use std::fs;
use std::path::{Path, PathBuf};

use container_core::Limits;
use datadings::{Reader, json};
use tempfile::TempDir;

use crate::common::{Ran, run};

/// The suffixes of the files of a complete dataset.
pub(crate) const SUFFIXES: [&str; 6] = ["", ".offsets", ".keys", ".key_hashes", ".filter", ".md5"];

/// A temporary folder. `@x` in arguments is its file `x`.
pub(crate) struct TestFolder(pub(crate) TempDir);

impl TestFolder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn with(self, name: &str, text: &str) -> Self {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.path().join(name).into_os_string().into_string().unwrap()
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    fn prefix(&self) -> String {
        format!("{}/", self.0.path().display())
    }

    pub(crate) fn arguments(&self, arguments: &[&str]) -> Vec<String> {
        arguments.iter().map(|argument| argument.replace('@', &self.prefix())).collect()
    }

    /// Runs the command.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        run(self.arguments(arguments))
    }

    /// Runs the command and returns its exit code and standard error.
    #[track_caller]
    pub(crate) fn said(&self, arguments: &[&str]) -> (i32, String) {
        let ran = self.run(arguments);
        assert_eq!(ran.out(), "");
        (ran.code(), ran.err().replace(&self.prefix(), "@"))
    }

    /// The samples of a dataset, as JSON.
    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        let reader = Reader::open(self.path(name)).unwrap();
        let keys: Vec<_> = reader.keys(0..reader.len()).unwrap().map(|key| key.unwrap().into_owned()).collect();
        let line = |(sample, key): (datadings::Result<datadings::Sample<'_>>, String)| {
            let sample = sample.unwrap();
            assert_eq!(sample.key().unwrap(), key);
            let mut line = Vec::new();
            json::write(sample.raw(), &mut line, &Limits::default()).unwrap();
            String::from_utf8(line).unwrap()
        };
        reader.iter().zip(keys).map(line).collect()
    }

    /// Verifies the checksums of a complete dataset.
    #[track_caller]
    pub(crate) fn check_sums(&self, name: &str) {
        use md5::{Digest, Md5};
        let sums = String::from_utf8(self.read(&format!("{name}.md5"))).unwrap();
        let expected = SUFFIXES[..5].iter().map(|suffix| {
            let sum = Md5::digest(self.read(&format!("{name}{suffix}")));
            let digits: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{digits}  {name}{suffix}\n")
        });
        assert_eq!(sums, expected.collect::<String>());
    }

    /// Names of all files, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// The path of a golden file that Python wrote.
pub(crate) fn golden(name: &str) -> String {
    golden_folder("datadings").join(name).into_os_string().into_string().unwrap()
}

/// A folder of golden files.
pub(crate) fn golden_folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(name)
}
