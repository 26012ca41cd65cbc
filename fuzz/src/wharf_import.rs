//! Text tables into IDV and datadings: the bytes do not depend on threads or the split into inputs, and read back.

use std::path::Path;

use container_core::{
    Container, Error, ErrorKind, Input, OpenOptions, OutputOptions, Overwrite, Scan, Severity, Source, SyncPolicy,
    Table, VerifyOptions,
};
use datadings::{Writer, WriterOptions};
use serde_json::Value;
use wharf::convert::import::{Keys, SampleOptions, TextTable};
use wharf::convert::{IdvTarget, InputForm, JsonLines, copy};
use wharf::text::{TextContainer, TextFormat, TextOptions};
use wharf::{Convert, Registry};

use super::arrow_json::same;

/// Maximum bytes of all inputs, and number of inputs.
const MOST: usize = 4 << 10;
const INPUTS: usize = 4;

/// Two bytes of choices: format, delimiter, header, and first row; then inputs, separated by a byte that is not in UTF-8.
pub fn wharf_import(data: &[u8]) {
    let Some((&[how, skipped], text)) = data.split_first_chunk::<2>() else { return };
    let inputs: Vec<&[u8]> = text[..text.len().min(MOST)].splitn(INPUTS, |byte| *byte == 0xFF).collect();
    let folder = tempfile::tempdir().unwrap();
    let given = Given { how, rows: u64::from(skipped & 3)..u64::MAX, inputs, folder: folder.path() };
    let alone = given.outcome(1);
    for threads in [2, 0] {
        let others = given.outcome(threads);
        assert_eq!(others.columns, alone.columns, "threads {threads}");
        for (name, wanted, found) in
            [("idv", &alone.idv, others.idv), ("datadings", &alone.datadings, others.datadings)]
        {
            assert_eq!(found.as_ref().err(), wanted.as_ref().err(), "{name}, threads {threads}");
            assert!(found == *wanted, "{name} has other bytes with threads {threads}");
        }
    }
    given.read_back(&alone);
}

struct Given<'a> {
    how: u8,
    rows: std::ops::Range<u64>,
    inputs: Vec<&'a [u8]>,
    folder: &'a Path,
}

struct Outcome {
    /// IDV types.
    columns: Vec<String>,
    /// Bytes of the files.
    idv: Result<Vec<u8>, String>,
    datadings: Result<Vec<u8>, String>,
}

impl Given<'_> {
    fn is_csv(&self) -> bool {
        self.how & 1 == 1
    }

    fn delimiter(&self) -> u8 {
        [b',', b';', b'\t', b'a'][usize::from(self.how >> 1 & 3)]
    }

    fn has_header(&self) -> bool {
        self.how & 8 == 0
    }

    fn table(&self, threads: usize) -> TextTable {
        let table = if self.is_csv() { TextTable::csv() } else { TextTable::json_lines() };
        let table = table.with_delimiter(self.delimiter()).unwrap().with_header(self.has_header());
        let mut table = table.with_threads(threads);
        for (number, input) in self.inputs.iter().enumerate() {
            table.push(format!("input {number}"), Source::from(input.to_vec()));
        }
        table
    }

    /// Converts the same inputs from files to IDV.
    fn idv(&self, threads: usize) -> (Vec<String>, Result<Vec<u8>, String>) {
        let path = |number: usize| self.folder.join(number.to_string());
        self.inputs.iter().enumerate().for_each(|(number, input)| std::fs::write(path(number), input).unwrap());
        let mut convert = Convert::new((0..self.inputs.len()).map(path)).with_rows(self.rows.clone());
        convert.text.from = Some(if self.is_csv() { InputForm::Csv } else { InputForm::Jsonl });
        convert.text.delimiter = self.is_csv().then(|| char::from(self.delimiter()));
        convert.text.no_header = self.is_csv() && !self.has_header();
        convert.selection.reading.threads = threads;
        let mut bytes = Vec::new();
        match convert.stream(&IdvTarget::default(), &mut bytes, &Registry::builtin()) {
            Ok(report) => (report.inferred.iter().map(|(name, kind)| format!("{name:?}: {kind}")).collect(), Ok(bytes)),
            Err(error) => (Vec::new(), Err(error.to_string())),
        }
    }

    fn outcome(&self, threads: usize) -> Outcome {
        let table = self.table(threads);
        let (columns, idv) = self.idv(threads);
        let output = OutputOptions::default().with_overwrite(Overwrite::Replace).with_sync(SyncPolicy::Never);
        let datadings = || {
            let path = self.folder.join("t.msgpack");
            let mut writer =
                Writer::create(&path, WriterOptions::default().with_output(output).with_threads(1)).unwrap();
            let options = SampleOptions::default().with_keys(Keys::Number).with_rows(self.rows.clone());
            table.write_samples(&mut writer, &options, None).map_err(|error| said(&error))?;
            writer.finish().map_err(|error| error.to_string())?;
            Ok(std::fs::read(path).unwrap())
        };
        Outcome { columns, idv, datadings: datadings() }
    }

    /// Checks that the output is valid and has the rows of the text.
    fn read_back(&self, alone: &Outcome) {
        let mut wanted = Vec::new();
        for input in &self.inputs {
            let form = if self.is_csv() { TextFormat::Csv } else { TextFormat::JsonLines };
            let options = TextOptions::new(form).with_delimiter(self.delimiter()).unwrap();
            let options = options.with_header(self.has_header());
            // Both readers apply the same rules, except for duplicate members.
            let Ok(container) = TextContainer::open(Source::from(input.to_vec()), &options) else { return };
            match lines(container.tables()[0]) {
                Some(lines) => wanted.extend(lines),
                None => return,
            }
        }
        let first = usize::try_from(self.rows.start).unwrap().min(wanted.len());
        let wanted = &wanted[first..];
        for (written, format, name) in
            [(&alone.idv, idv::FORMAT, "t.idv"), (&alone.datadings, datadings::FORMAT, "t.msgpack")]
        {
            let Ok(bytes) = written else { continue };
            let path = self.folder.join(name);
            // datadings has an index file beside it.
            std::fs::write(&path, bytes).unwrap();
            let container = format
                .open(&Input::open(&path, OpenOptions::default().access).unwrap(), &OpenOptions::default())
                .unwrap();
            holds(&*container, wanted);
        }
    }
}

/// The rows of a table as JSON; `None` if any cannot be read.
fn lines(table: &dyn Table) -> Option<Vec<String>> {
    let mut sink = JsonLines::new(Vec::new());
    copy(table, &Scan::default().with_threads(1), &mut sink).ok()?;
    Some(String::from_utf8(sink.finish().unwrap()).unwrap().lines().map(str::to_owned).collect())
}

/// Checks that a container is valid and has these rows.
fn holds(container: &dyn Container, wanted: &[String]) {
    let mut errors = Vec::new();
    let verified = container.verify(&VerifyOptions::default().with_threads(1), &mut |finding| {
        if finding.severity == Severity::Error {
            errors.push(finding.error.to_string());
        }
    });
    verified.unwrap();
    assert_eq!(errors, Vec::<String>::new(), "what was written is damaged");
    let tables = container.tables();
    let Some(table) = tables.first().filter(|table| !table.columns().is_empty()) else { return };
    let rows = lines(*table).unwrap();
    assert_eq!(rows.len(), wanted.len(), "{}: {rows:?} where {wanted:?} was", container.format());
    for (row, wanted) in rows.iter().zip(wanted) {
        let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let (row, wanted) = (parse(row), parse(wanted));
        let Value::Object(members) = &wanted else { panic!("{wanted} is no object") };
        for (name, wanted) in members {
            // `key` may be the row number, and names change if a format does not allow them.
            if let Some(found) = row.get(name).filter(|_| name != "key") {
                assert!(alike(found, wanted), "{}, {name:?}: {found} where {wanted} was", container.format());
            }
        }
    }
}

/// Whether a typed column may have this value for a value of text.
fn alike(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::Number(_), Value::Number(_)) | (Value::Bool(_), Value::Bool(_)) => same(found, Some(wanted)),
        (Value::String(found), Value::String(wanted)) => found == wanted || time(found) && time(wanted),
        (Value::Array(found), Value::Array(wanted)) if found.len() == wanted.len() => {
            found.iter().zip(wanted).all(|(found, wanted)| alike(found, wanted))
        }
        _ => true,
    }
}

/// Times may be formatted differently.
fn time(text: &str) -> bool {
    text.bytes().next().is_some_and(|byte| byte.is_ascii_digit() || byte == b'-' || byte == b'P')
}

fn said(error: &Error) -> String {
    let text = error.to_string();
    assert!(!matches!(error.kind(), ErrorKind::Io), "{text}");
    assert!(error.format().is_some() && !error.detail().is_empty() && !text.ends_with('.'), "{text}");
    text
}
