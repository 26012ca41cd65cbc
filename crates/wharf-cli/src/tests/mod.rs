//! The verbs over mock containers, with streams in memory and a terminal that can be switched on.

mod cat;
mod convert;
mod info;
mod own_format;
mod queries;
mod raw;
mod terminal;
mod text;
mod usage;
mod verify;

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tempfile::TempDir;

use wharf::Registry;

use super::env::{Env, Opener, Stdout};

use super::report::Report;

use super::run;
use container_core::testkit::MOCK;

/// A temporary folder with mock files, in which the command runs.
pub(super) struct TestFolder {
    folder: TempDir,
    terminal: Option<u16>,
    stdin: Vec<u8>,
    /// Number of writes after which standard output fails, and how.
    pipe: Option<(usize, io::ErrorKind)>,
    registry: Registry,
}

/// The result of a run.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) code: u8,
    pub(super) out: String,
    pub(super) err: String,
}

impl Finished {
    /// The output of a successful run without messages.
    #[track_caller]
    pub(super) fn ok(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{self:?}");
        self.out
    }

    /// The error message of a run without other output.
    #[track_caller]
    pub(super) fn failed(self, code: u8) -> String {
        assert_eq!((self.code, self.out.as_str()), (code, ""), "{self:?}");
        self.err.strip_suffix('\n').unwrap().to_owned()
    }

    #[track_caller]
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl TestFolder {
    pub(super) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            terminal: None,
            stdin: Vec::new(),
            pipe: None,
            registry: Registry::empty().with(MOCK),
        }
    }

    /// Adds a file with one table, `rows`.
    pub(super) fn with(self, name: &str, columns: &[&str], rows: &Value) -> Self {
        let columns: Vec<_> = columns.iter().map(|name| json!({"name": name, "type": "any"})).collect();
        self.with_document(name, &json!({"tables": [{"name": "rows", "columns": columns, "rows": rows}]}))
    }

    /// Adds a file with this document.
    pub(super) fn with_document(self, name: &str, document: &Value) -> Self {
        fs::write(self.path(name), mock(document)).unwrap();
        self
    }

    /// Adds a text file, and registers the text formats.
    pub(super) fn with_text(mut self, name: &str, text: &str) -> Self {
        fs::write(self.path(name), text).unwrap();
        self.registry = [wharf::text::TSV, wharf::text::CSV, wharf::text::JSON_LINES, MOCK]
            .into_iter()
            .fold(Registry::empty(), Registry::with);
        self
    }

    pub(super) fn on_terminal(mut self, width: u16) -> Self {
        self.terminal = Some(width);
        self
    }

    pub(super) fn with_stdin(mut self, document: &Value) -> Self {
        self.stdin = mock(document);
        self
    }

    pub(super) fn with_pipe(mut self, writes: usize, then: io::ErrorKind) -> Self {
        self.pipe = Some((writes, then));
        self
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Names of all files, sorted.
    pub(super) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Runs `wharf`. `@x` in an argument stands for the file `x` of the folder; the output shows it as `@x` too.
    pub(super) fn wharf(&self, arguments: &[&str]) -> Finished {
        let folder = format!("{}/", self.folder.path().display());
        let (out, err) = (Pipe::new(self.pipe), Pipe::new(None));
        let mut env = Env {
            opener: Opener::new(self.registry.clone()).with_stdin(&self.stdin[..]),
            stdout: Stdout::new(out.clone(), self.terminal),
            report: Report::new(err.clone(), self.terminal.is_some()),
        };
        let full = arguments.iter().map(|argument| OsString::from(argument.replace('@', &folder)));
        let outcome = run(std::iter::once("wharf".into()).chain(full), &mut env);
        drop(env);
        Finished { code: outcome.code(), out: out.text().replace(&folder, "@"), err: err.text().replace(&folder, "@") }
    }
}

fn mock(document: &Value) -> Vec<u8> {
    let text = document.to_string();
    format!("{{\"mock\":1,{}", &text[1..]).into_bytes()
}

/// A stream in memory that can be made to fail.
#[derive(Clone)]
struct Pipe {
    bytes: Arc<Mutex<Vec<u8>>>,
    breaks: Arc<Mutex<Option<(usize, io::ErrorKind)>>>,
}

impl Pipe {
    fn new(breaks: Option<(usize, io::ErrorKind)>) -> Self {
        Self { bytes: Arc::default(), breaks: Arc::new(Mutex::new(breaks)) }
    }

    fn text(&self) -> String {
        String::from_utf8(self.bytes.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some((left, kind)) = self.breaks.lock().unwrap().as_mut() {
            *left = left.checked_sub(1).ok_or(*kind)?;
        }
        self.bytes.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
