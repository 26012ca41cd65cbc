use std::fs;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use container_core::{Access, ErrorKind, Progress, Unit};
use serde_json::Value;
use tempfile::TempDir;

use super::*;
use crate::convert::import::Keys;

const ROWS: &str = "{\"id\":1,\"a,b\":\"x\",\"f\":0.5}\n{\"id\":2,\"a,b\":\"y\",\"f\":-0.0}\n";

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, text)| fs::write(folder.path().join(name), text).unwrap());
    folder
}

fn lines(path: &Path) -> String {
    let mut out = Vec::new();
    Convert::new([path]).stream(&TextTarget::JSON_LINES, &mut out, &Registry::builtin()).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn every_form_comes_back() {
    let folder = folder(&[("in.jsonl", ROWS)]);
    let path = |name: &str| folder.path().join(name);
    for (name, extra) in [
        ("x.idv", ""),
        ("x.msgpack", "\"key\":\"0000000000\","),
        ("x.ds", ""),
        ("x.zds", "\"_id\":\"0000000000\","),
        ("x.parquet", ""),
        ("x.arrow", ""),
        ("x.arrows", ""),
        ("x.ndjson", ""),
    ] {
        let (convert, registry) = (Convert::new([path("in.jsonl")]), Registry::builtin());
        let numbered = DatadingsTarget { keys: Keys::Number, ..DatadingsTarget::default() };
        let report = match name {
            "x.msgpack" => convert.write_as(&numbered, path(name), Overwrite::Refuse, &registry),
            _ => convert.write(path(name), Overwrite::Refuse, &registry),
        };
        let report = report.unwrap();
        assert_eq!(report.losses, [], "{name}");
        assert!(report.bytes > 0 && (report.rows == 2 || report.variables == 3), "{name}: {report:?}");
        let first = format!("{{{extra}{}", ROWS.lines().next().unwrap().trim_start_matches('{'));
        let value = |line: &str| serde_json::from_str::<Value>(line).unwrap();
        assert_eq!(value(lines(&path(name)).lines().next().unwrap()), value(&first), "{name}");
    }
    for name in ["x.csv", "x.tsv"] {
        Convert::new([path("in.jsonl")]).write(path(name), Overwrite::Refuse, &Registry::builtin()).unwrap();
        assert_eq!(lines(&path(name)), ROWS, "{name}");
    }
}

#[test]
fn columns_and_rows_are_selected_by_name_and_number() {
    let folder = folder(&[("in.jsonl", ROWS), ("more.jsonl", ROWS)]);
    let inputs = ["in.jsonl", "more.jsonl"].map(|name| folder.path().join(name));
    let mut out = Vec::new();
    let convert = Convert::new(inputs).with_columns(["a,b", "id"]).with_rows(1..3);
    let report = convert.stream(&TextTarget::JSON_LINES, &mut out, &Registry::builtin()).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "{\"a,b\":\"y\",\"id\":2}\n{\"a,b\":\"x\",\"id\":1}\n");
    assert_eq!((report.rows, report.bytes), (2, 0));
}

#[test]
fn an_error_leaves_what_was_there_and_names_no_flag() {
    let folder = folder(&[("a.jsonl", "{\"x\":1}\n"), ("b.jsonl", "{\"x\":\"t\"}\n"), ("out.parquet", "old")]);
    let path = |name: &str| folder.path().join(name);
    let convert = Convert::new([path("a.jsonl"), path("b.jsonl")]);
    let error =
        |overwrite| convert.write(path("out.parquet"), overwrite, &Registry::builtin()).unwrap_err().to_string();
    assert!(error(Overwrite::Refuse).ends_with("out.parquet: the output exists; force replaces it"));
    let differ = error(Overwrite::Replace);
    assert!(differ.contains("Utf8 here, Int64 in") && differ.contains("on_mismatch null or json"), "{differ}");
    assert_eq!(fs::read(path("out.parquet")).unwrap(), b"old");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "no temporary file is left");
    let unknown = convert.write(path("out.xyz"), Overwrite::Refuse, &Registry::builtin()).unwrap_err();
    assert!(
        unknown.to_string().ends_with("unknown extension \"xyz\": no format that can be written has it"),
        "{unknown}"
    );
}

#[test]
fn options_that_do_not_fit_the_inputs_are_named() {
    let folder = folder(&[("a.jsonl", "{\"x\":1}\n")]);
    let mut convert = Convert::new([folder.path().join("a.jsonl")]);
    convert.text.no_header = true;
    let error = convert.write(folder.path().join("x.idv"), Overwrite::Refuse, &Registry::builtin()).unwrap_err();
    assert_eq!(error.to_string(), "no_header does not go with inputs that are JSON lines");
    assert_eq!(error.kind(), ErrorKind::Usage);
}

#[test]
fn what_is_a_set_of_files_is_not_streamed() {
    let folder = folder(&[("a.jsonl", "{\"key\":\"k\"}\n")]);
    for target in Registry::builtin().targets() {
        let Streaming::Unsupported(reason) = target.info().stream else { continue };
        let convert = Convert::new([folder.path().join("a.jsonl")]);
        let error = convert.stream(target.as_ref(), &mut io::sink(), &Registry::builtin()).unwrap_err().to_string();
        assert_eq!(error, format!("{reason}, not a stream: give a path"));
    }
}

/// Fails after some bytes.
struct Broken(usize);

impl Write for Broken {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_stream_that_fails_is_an_error_of_the_output() {
    let folder = folder(&[("a.jsonl", ROWS)]);
    for target in Registry::builtin().targets() {
        if let Streaming::Unsupported(_) = target.info().stream {
            continue;
        }
        let convert = Convert::new([folder.path().join("a.jsonl")]);
        let mut report = Report::default();
        let mut opener = Opener::new(Registry::builtin());
        opener.access = Access::Positional;
        let error = convert.run(target.as_ref(), To::Stream(&mut Broken(10)), &mut opener, &mut report).unwrap_err();
        let cause = std::error::Error::source(&error).and_then(|cause| cause.downcast_ref::<io::Error>());
        let cause = cause.map(io::Error::kind);
        assert_eq!((error.kind(), cause), (ErrorKind::Io, Some(io::ErrorKind::BrokenPipe)), "{target:?}: {error}");
    }
}

#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Progress for Heard {
    fn name(&self, what: &str) {
        self.0.lock().unwrap().push(what.rsplit('/').next().unwrap().to_owned());
    }
    fn begin(&self, _: Unit, _: Option<u64>) {}
    fn advance(&self, _: u64) -> Result<()> {
        Ok(())
    }
}

#[test]
fn progress_names_the_inputs() {
    let folder = folder(&[("a.jsonl", ROWS), ("b.jsonl", ROWS)]);
    let heard = Arc::new(Heard::default());
    let convert = Convert::new(["a.jsonl", "b.jsonl"].map(|name| folder.path().join(name)));
    let convert = convert.with_progress(Arc::clone(&heard) as Arc<dyn Progress>);
    convert.write(folder.path().join("x.arrow"), Overwrite::Refuse, &Registry::builtin()).unwrap();
    // Once while the types are inferred, and once while rows are copied.
    let names = ["a.jsonl (1 of 2)", "b.jsonl (2 of 2)"];
    assert_eq!(*heard.0.lock().unwrap(), [names, names].concat());
}
