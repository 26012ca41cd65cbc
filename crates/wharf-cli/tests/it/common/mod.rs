//! Runs the built `wharf` on the golden files.
#![allow(dead_code, reason = "with some features off a part of it is not used")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The command, without color settings from the environment.
pub(crate) fn wharf<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wharf"));
    command.args(arguments).stdin(Stdio::null()).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command
}

/// Runs the command and waits for it.
pub(crate) fn run<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Ran {
    Ran(wharf(arguments).output().unwrap())
}

#[derive(Debug)]
pub(crate) struct Ran(pub(crate) Output);

impl Ran {
    pub(crate) fn code(&self) -> i32 {
        self.0.status.code().unwrap()
    }

    pub(crate) fn out(&self) -> &str {
        std::str::from_utf8(&self.0.stdout).unwrap()
    }

    pub(crate) fn err(&self) -> &str {
        std::str::from_utf8(&self.0.stderr).unwrap()
    }

    /// The output of a successful run without messages.
    #[track_caller]
    pub(crate) fn ok(&self) -> &str {
        assert_eq!((self.code(), self.err()), (0, ""));
        self.out()
    }

    /// Standard output as JSON lines.
    #[track_caller]
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.out().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The error object on standard error of a run without other output.
    #[track_caller]
    pub(crate) fn json_error(&self, code: i32) -> Value {
        assert_eq!((self.code(), self.out()), (code, ""), "{}", self.err());
        let mut value: Value = serde_json::from_str(self.err()).unwrap();
        assert_eq!(value.as_object().unwrap().len(), 1);
        value["error"].take()
    }
}

/// The path of a golden file.
pub(crate) fn golden(name: &str) -> String {
    golden_folder().join(name).into_os_string().into_string().unwrap()
}

/// All golden IDV files, sorted.
pub(crate) fn goldens() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(golden_folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "idv")).collect();
    files.sort();
    assert!(files.len() >= 50, "the golden files are there");
    files
}

fn golden_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/idv")
}
