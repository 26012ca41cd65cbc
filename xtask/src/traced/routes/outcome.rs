//! The outcome of a command: exit code, standard output, standard error, files.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value};

use super::cases::Case;
use super::record::digest;
use crate::shell;
use crate::traced::faults::{Entry, Snapshot};

/// The exit code, and the parts of an outcome.
pub(super) struct Outcome {
    pub(super) exit: String,
    pub(super) parts: Vec<Part>,
}

pub(super) struct Part {
    pub(super) key: String,
    pub(super) digest: String,
    /// The text that the record shows for the digest.
    pub(super) text: Option<String>,
    /// The digested content.
    pub(super) content: Vec<u8>,
}

/// Maximum length of a standard output that is recorded as text, in bytes.
const MAX_STDOUT: usize = 400;

/// Maximum number of columns that are recorded one by one; beyond it, they are counted by type.
const MAX_COLUMNS: usize = 60;

/// Facts about columns that depend on compression, libraries or block sizes, or are compared elsewhere.
const INCIDENTAL: [&str; 20] = [
    "blocks",
    "bytes",
    "compression",
    "decompressed_bytes",
    "documents",
    "documents_looked_at",
    "encodings",
    "endian",
    "logical",
    "max",
    "min",
    "name",
    "nullable",
    "nulls",
    "physical",
    "rows_per_block",
    "samples",
    "samples_looked_at",
    "shape",
    "type",
];

/// Facts about files that are recorded.
const RECORDED: [&str; 3] = ["attributes", "dimensions", "metadata"];

/// A command with an empty environment.
fn command(wharf: &Path, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(wharf);
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).env_clear().env("TMPDIR", folder);
    command
}

/// Values of files by digest, as many routes write the same bytes.
#[derive(Default)]
pub(super) struct ValueCache(Mutex<BTreeMap<String, (String, Vec<u8>)>>);

impl ValueCache {
    /// The values of an artifact; see [`values`].
    fn values(&self, wharf: &Path, folder: &Path, name: &str, bytes: &[u8]) -> Result<(String, Vec<u8>), String> {
        let key = digest(&[name.as_bytes(), bytes].concat());
        let cache = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(values) = cache().get(&key) {
            return Ok(values.clone());
        }
        let values = if name.ends_with(".nc") {
            // Only `convert` reads it.
            let back = "back.ds";
            let output = shell::output(&mut command(wharf, folder, &["convert", name, back]))?;
            if output.status.success() {
                values(wharf, folder, back)?
            } else {
                (failure("convert", &output), Vec::new())
            }
        } else {
            values(wharf, folder, name)?
        };
        cache().insert(key, values.clone());
        Ok(values)
    }
}

/// Runs a case in a directory that contains only its files.
pub(super) fn run(wharf: &Path, case: &Case, folder: &Path, cache: &ValueCache) -> Result<Outcome, String> {
    case.before.restore(folder)?;
    let arguments: Vec<_> = case.arguments.iter().map(String::as_str).collect();
    let mut command = command(wharf, folder, &arguments);
    if let Some(input) = &case.stdin {
        let file = File::open(folder.join(input)).map_err(|error| format!("cannot open {input}: {error}"))?;
        command.stdin(file);
    }
    let output = shell::output(&mut command)?;
    let exit = exit(&output);
    let mut parts = Vec::new();
    let mut add = |key: &str, content: Vec<u8>, max_text: usize| {
        let content = without_times(content);
        if !content.is_empty() {
            let text = readable(&content).filter(|text| text.len() <= max_text);
            parts.push(Part { key: key.to_owned(), digest: digest(&content), text, content });
        }
    };
    add("stdout", output.stdout, if case.shows_stdout { usize::MAX } else { MAX_STDOUT });
    add("stderr", output.stderr, usize::MAX);
    let after = Snapshot::take(folder)?;
    let changed = case.before.difference(&after);
    let artifacts: BTreeSet<_> = changed.iter().map(|path| artifact(path)).collect();
    for name in artifacts {
        let prefix = if name.starts_with("out.") { String::new() } else { format!("{name}:") };
        let files = after.only(|path| artifact(path) == name);
        if files.0.is_empty() {
            parts.push(Part { key: format!("{prefix}removed"), digest: digest(b""), text: None, content: Vec::new() });
            continue;
        }
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        let bytes = bytes(&files);
        let (values, content) = match extension {
            "csv" | "tsv" => (None, Vec::new()),
            _ => cache.values(wharf, folder, name, &bytes).map(|(values, content)| (Some(values), content))?,
        };
        if !matches!(extension, "parquet" | "arrow" | "arrows" | "nc" | "zds") {
            parts.push(Part { key: format!("{prefix}bytes"), digest: digest(&bytes), text: None, content: bytes });
        }
        let Some(values) = values else { continue };
        let digest = digest(&[values.as_bytes(), &content].concat());
        parts.push(Part { key: format!("{prefix}values"), digest, text: Some(values), content });
    }
    Ok(Outcome { exit, parts })
}

fn exit(output: &Output) -> String {
    output.status.code().map_or_else(|| "signal".to_owned(), |code| code.to_string())
}

fn failure(verb: &str, output: &Output) -> String {
    format!("{verb}: exit {}: {}\n", exit(output), String::from_utf8_lossy(&output.stderr).trim_end())
}

/// The artifact that a path belongs to: a file with its index files, or a directory.
fn artifact(path: &str) -> &str {
    let top = path.split_once('/').map_or(path, |(top, _)| top);
    let set = top.match_indices(".msgpack").next().and_then(|(at, ending)| top.get(..at + ending.len()));
    set.unwrap_or(top)
}

/// The concatenated bytes of files, with their names.
fn bytes(files: &Snapshot) -> Vec<u8> {
    let mut all = Vec::new();
    let single = files.0.len() == 1;
    for (name, entry) in &files.0 {
        if !single {
            all.extend_from_slice(format!("-- {name}\n").as_bytes());
        }
        if let Entry::File(bytes) = entry {
            all.extend(without_times(bytes.clone()));
        }
    }
    all
}

/// The values of a file: a description of its columns with digests, and all rows.
fn values(wharf: &Path, folder: &Path, name: &str) -> Result<(String, Vec<u8>), String> {
    let info = shell::output(&mut command(wharf, folder, &["info", "--json", name]))?;
    let Ok(Value::Object(described)) = serde_json::from_slice::<Value>(&info.stdout) else {
        return Ok((failure("info", &info), Vec::new()));
    };
    let (mut text, mut rows) = (String::new(), Vec::new());
    for (fact, value) in described.iter().filter(|(fact, _)| RECORDED.contains(&fact.as_str())) {
        let _ = writeln!(text, "{fact}: {}", brief(value));
    }
    let tables = described.get("tables").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for table in tables {
        let title = table.get("name").and_then(Value::as_str).unwrap_or_default();
        let mut arguments = vec!["cat", "--json", name];
        if tables.len() > 1 {
            arguments.extend(["--table", title]);
        }
        let printed = shell::output(&mut command(wharf, folder, &arguments))?;
        let count = table.get("rows").map_or_else(|| "?".to_owned(), Value::to_string);
        let _ = writeln!(text, "table {}, {count} rows", Value::from(title));
        if !printed.status.success() {
            text.push_str(&failure("cat", &printed));
        }
        let columns = table.get("columns").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        describe(&mut text, columns, &printed.stdout);
        rows.extend(printed.stdout);
    }
    Ok((text, rows))
}

/// Writes a line for each column: name, type, digest of its values, and other facts.
fn describe(text: &mut String, columns: &[Value], printed: &[u8]) {
    let rows = printed.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let rows: Vec<Map<String, Value>> = rows.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let kind = |column: &Value| {
        let kind = column.get("type").and_then(Value::as_str).unwrap_or("no type").to_owned();
        if column.get("nullable") == Some(&Value::Bool(true)) { format!("{kind}?") } else { kind }
    };
    if columns.len() > MAX_COLUMNS {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        columns.iter().for_each(|column| *counts.entry(kind(column)).or_default() += 1);
        for (kind, count) in counts {
            let _ = writeln!(text, "  {count} columns: {kind}");
        }
        return;
    }
    for column in columns {
        let name = column.get("name").and_then(Value::as_str).unwrap_or_default();
        let mut values = String::new();
        for row in &rows {
            let _ = writeln!(values, "{}", row.get(name).map_or_else(|| "absent".to_owned(), Value::to_string));
        }
        let values = digest(values.as_bytes());
        let values = values.get(..8).unwrap_or_default();
        let others = column.as_object().into_iter().flatten();
        let others = others.filter(|(fact, _)| !INCIDENTAL.contains(&fact.as_str()));
        let others: Map<_, _> = others.map(|(fact, value)| (fact.clone(), value.clone())).collect();
        let others = if others.is_empty() { String::new() } else { format!(" {}", brief(&Value::Object(others))) };
        let short: String = name.chars().take(40).collect();
        let _ = writeln!(text, "  {}: {} {values}{others}", Value::from(short), kind(column));
    }
}

/// JSON, or its digest if it is long.
fn brief(value: &Value) -> String {
    let text = value.to_string();
    if text.len() <= 100 { text } else { digest(text.as_bytes()) }
}

/// The content as text, if it has no control characters.
fn readable(content: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(content).ok()?;
    let plain = text.chars().all(|letter| letter == '\n' || !letter.is_control());
    plain.then(|| text.to_owned())
}

/// Words that precede creation times in stores.
const TIME_WORDS: [&str; 2] = ["created", "modified"];

/// Zeroes the digits of creation times, as in `"created": "2026-01-31T12:00:00Z"`.
fn without_times(mut content: Vec<u8>) -> Vec<u8> {
    const PATTERN: &[u8] = b"0000-00-00T00:00:00Z";
    let is_time = |window: &[u8]| {
        window
            .iter()
            .zip(PATTERN)
            .all(|(byte, expected)| if *expected == b'0' { byte.is_ascii_digit() } else { byte == expected })
    };
    let after_word =
        |before: &[u8]| TIME_WORDS.iter().any(|word| before.windows(word.len()).any(|part| part == word.as_bytes()));
    let mut offsets = Vec::new();
    for (at, window) in content.windows(PATTERN.len()).enumerate() {
        if is_time(window) && content.get(at.saturating_sub(20)..at).is_some_and(after_word) {
            offsets.push(at);
        }
    }
    for at in offsets {
        if let Some(time) = content.get_mut(at..at + PATTERN.len()) {
            time.copy_from_slice(PATTERN);
        }
    }
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeroes_creation_times_only() {
        let plain = |text: &str| String::from_utf8(without_times(text.into())).unwrap();
        assert_eq!(plain(r#"{"created_at": "2026-11-22T21:53:44Z"}"#), r#"{"created_at": "0000-00-00T00:00:00Z"}"#);
        let other = r#"{"at": "2026-11-22T21:53:44Z"}"#;
        assert_eq!(plain(other), other);
    }

    #[test]
    fn index_files_belong_to_their_dataset() {
        assert_eq!(artifact("a.msgpack.offsets"), "a.msgpack");
        assert_eq!(artifact("out.d/collections/x"), "out.d");
        assert_eq!(artifact("out.csv"), "out.csv");
    }

    #[test]
    fn describes_column_type_and_values() {
        let columns = [serde_json::json!({"name": "x", "type": "Int8", "nullable": true, "bytes": 9, "codec": "c"})];
        let shown = |rows: &str| {
            let mut text = String::new();
            describe(&mut text, &columns, rows.as_bytes());
            text
        };
        let zero = shown("{\"x\":0.0}\n");
        assert!(zero.starts_with("  \"x\": Int8? ") && zero.ends_with(" {\"codec\":\"c\"}\n"), "{zero}");
        assert_ne!(zero, shown("{\"x\":-0.0}\n"));
        assert_ne!(zero, shown("{\"x\":0}\n"));
        assert_ne!(shown("{\"x\":null}\n"), shown("{}\n"));
    }
}
