//! Every way of reading and writing a dataset.

use std::fs;
use std::path::{Path, PathBuf};

use container_core::{OutputOptions, SyncPolicy, VerifyOptions};
use datadings::{Error, OpenOptions, Reader, RebuildOptions, Shards, Writer, WriterOptions, json, rebuild_index, ser};
use wharf_tests::datadings_lines;

use crate::compare::{self, INDEX};
use crate::structs::Expected;

/// The name of the data file in every directory, which is part of `.md5`.
pub(crate) const NAME: &str = "d.msgpack";

/// Writes the samples of a dataset to a path; false if the dataset lacks the required input.
type Way = fn(&Set, &Path) -> Result<bool, String>;

/// The ways, by the suffix of the directory `ours-*`.
pub(crate) const WAYS: [(&str, Way); 8] = [
    ("messages", messages),
    ("one-thread", one_thread),
    ("values", values),
    ("json", from_json),
    ("structs", from_structs),
    ("grown", grown),
    ("grown-from-python", grown_from_python),
    ("rebuilt", rebuilt),
];

/// A dataset written by Python.
pub(crate) struct Set {
    folder: PathBuf,
    reader: Reader,
}

fn to_message(error: Error) -> String {
    error.to_string()
}

fn options() -> WriterOptions {
    WriterOptions::default().with_output(OutputOptions::default().with_sync(SyncPolicy::Never))
}

impl Set {
    pub(crate) fn open(folder: &Path) -> Result<Self, String> {
        let reader = Reader::open(folder.join("python").join(NAME)).map_err(to_message)?;
        Ok(Self { folder: folder.to_owned(), reader })
    }

    /// Reads everything that Python wrote; returns the number of samples.
    pub(crate) fn read(&self) -> Result<u64, String> {
        let expected = compare::read(&self.folder.join("python.jsonl"))?;
        let mut samples = 0;
        for name in ["python", "raw", "legacy", "converted"] {
            let reader = Reader::open(self.folder.join(name).join(NAME)).map_err(to_message)?;
            if reader.is_legacy() != (name == "legacy") {
                return Err(format!("{name}: unexpected kind of index"));
            }
            let lines = datadings_lines::lines(&reader).map_err(to_message)?;
            if lines != expected {
                let difference = datadings_lines::difference(&lines, &expected).unwrap_or_default();
                return Err(format!("{name}: {difference}"));
            }
            check_keys(&reader).map_err(|error| format!("{name}: {error}"))?;
            check_verify(&reader).map_err(|error| format!("{name}: {error}"))?;
            samples += reader.len();
        }
        Ok(samples)
    }

    /// Compares our raw writing with RawWriter's, which is identical to FileWriter's.
    pub(crate) fn raw(&self) -> Result<u64, String> {
        let target = self.folder.join("ours-raw");
        fs::create_dir(&target).map_err(|error| format!("{}: {error}", target.display()))?;
        let raw = Reader::open(self.folder.join("raw").join(NAME)).map_err(to_message)?;
        let mut writer = Writer::create(target.join(NAME), options().with_any_message(true)).map_err(to_message)?;
        for (key, sample) in raw.keys(0..raw.len()).map_err(to_message)?.zip(&raw) {
            writer.append_raw(&key.map_err(to_message)?, sample.map_err(to_message)?.as_bytes()).map_err(to_message)?;
        }
        writer.finish().map_err(to_message)?;
        compare::same_files(&target, &self.folder.join("raw"))
    }

    /// Converts the legacy index, by rebuilding it and by appending nothing, and compares with `datadings-convert-index`.
    pub(crate) fn convert(&self) -> Result<u64, String> {
        let rebuild = |path: &Path| {
            let rebuilt =
                rebuild_index(path, &RebuildOptions::default().with_sync(SyncPolicy::Never)).map_err(to_message)?;
            match rebuilt.kept_legacy && rebuilt.samples == self.reader.len() && rebuilt.truncated_bytes == 0 {
                true => Ok(()),
                false => Err(format!("{rebuilt:?}")),
            }
        };
        let append =
            |path: &Path| Writer::append_to(path, options()).and_then(Writer::finish).map(drop).map_err(to_message);
        Ok(self.compare_converted("ours-converted", rebuild)?
            + self.compare_converted("ours-converted-by-appending", append)?)
    }

    fn compare_converted(&self, name: &str, convert: impl Fn(&Path) -> Result<(), String>) -> Result<u64, String> {
        let (ours, theirs) = (self.folder.join(name), self.folder.join("converted"));
        fs::create_dir(&ours).map_err(|error| format!("{}: {error}", ours.display()))?;
        for suffix in ["", ".index", ".md5"] {
            let name = format!("{NAME}{suffix}");
            fs::copy(self.folder.join("legacy").join(&name), ours.join(&name)).map_err(|error| error.to_string())?;
        }
        convert(&ours.join(NAME)).map_err(|error| format!("{name}: {error}"))?;
        let mut files = 0;
        for suffix in INDEX {
            let name = format!("{NAME}{suffix}");
            compare::same_file(&ours.join(&name), &theirs.join(&name))?;
            files += 1;
        }
        // Python's tool lists the checksums in another order, and keeps that of `.index`.
        let [ours, theirs] = [ours, theirs].map(|folder| fs::read_to_string(folder.join(format!("{NAME}.md5"))));
        let (ours, theirs) = (ours.map_err(|error| error.to_string())?, theirs.map_err(|error| error.to_string())?);
        match ours.lines().find(|line| !theirs.lines().any(|other| other == *line)) {
            Some(line) => Err(format!("Python's converted .md5 lacks \"{line}\"")),
            None if ours.lines().count() < 1 + INDEX.len() => Err("our .md5 lists fewer than five files".to_owned()),
            None => Ok(files + 1),
        }
    }
}

/// Opens datasets by a pattern as one, and checks order and keys; returns the number of samples.
pub(crate) fn shards(folder: &Path) -> Result<u64, String> {
    let expected = compare::read(&folder.join("python.jsonl"))?;
    let pattern = folder.join("part-*.msgpack");
    let shards = Shards::glob(&pattern.to_string_lossy(), OpenOptions::default()).map_err(to_message)?;
    let mut lines = Vec::new();
    for index in 0..shards.len() {
        let (key, sample) = (shards.key(index).map_err(to_message)?, shards.get(index).map_err(to_message)?);
        lines.append(&mut datadings_lines::line(&key, &sample).map_err(to_message)?);
        lines.push(b'\n');
        if shards.find(&key).map_err(to_message)? != Some(index) {
            return Err(format!("key {key:?} does not find sample {index}"));
        }
    }
    match datadings_lines::difference(&lines, &expected) {
        Some(difference) => Err(difference),
        None => Ok(shards.len()),
    }
}

/// Checks that `verify` finds nothing in Python's files.
fn check_verify(reader: &Reader) -> Result<(), String> {
    let mut findings = Vec::new();
    let outcome = reader.verify(&VerifyOptions::default(), &mut |finding| findings.push(finding.error.to_string()));
    outcome.map_err(to_message)?;
    // A legacy index is a finding.
    findings.retain(|finding| !(reader.is_legacy() && finding.contains("legacy index without hashes and filter")));
    if findings.is_empty() { Ok(()) } else { Err(findings.join("; ")) }
}

/// Checks the look-up of every key, one by one and in a batch.
fn check_keys(reader: &Reader) -> Result<(), String> {
    let keys: Vec<String> = reader
        .keys(0..reader.len())
        .map_err(to_message)?
        .map(|key| key.map(Into::into))
        .collect::<Result<_, _>>()
        .map_err(to_message)?;
    let rows = reader.find_many(&keys).map_err(to_message)?;
    if !rows.iter().copied().eq((0..reader.len()).map(Some)) {
        return Err("find_many returns other rows".to_owned());
    }
    for (row, key) in (0..).zip(&keys) {
        let sample = reader.get_key(key).map_err(to_message)?.ok_or_else(|| format!("key {key:?} not found"))?;
        if sample.index() != row || !reader.contains(key).map_err(to_message)? {
            return Err(format!("key {key:?}: expected sample {row}, found {}", sample.index()));
        }
    }
    match reader.contains("absent key").map_err(to_message)? {
        true => Err("found an absent key".to_owned()),
        false => Ok(()),
    }
}

/// Passes every message of the dataset to a writer.
fn write_each(
    set: &Set,
    path: &Path,
    options: WriterOptions,
    mut put: impl FnMut(&mut Writer, &[u8]) -> Result<(), Error>,
) -> Result<bool, String> {
    let mut writer = Writer::create(path, options).map_err(to_message)?;
    for sample in &set.reader {
        put(&mut writer, sample.map_err(to_message)?.as_bytes()).map_err(to_message)?;
    }
    writer.finish().map_err(to_message)?;
    Ok(true)
}

fn messages(set: &Set, path: &Path) -> Result<bool, String> {
    write_each(set, path, options(), Writer::append_message)
}

fn one_thread(set: &Set, path: &Path) -> Result<bool, String> {
    write_each(set, path, options().with_threads(1), Writer::append_message)
}

/// Decodes samples into plain values, and encodes them.
fn values(set: &Set, path: &Path) -> Result<bool, String> {
    write_each(set, path, options(), |writer, message| {
        let mut encoded = Vec::new();
        ser::from_rmpv(&mut encoded, &datadings::RawValue::new(message).value()?.to_owned())?;
        writer.append_message(&encoded)
    })
}

fn from_json(set: &Set, path: &Path) -> Result<bool, String> {
    let source = set.folder.join("samples.jsonl");
    if !source.exists() {
        return Ok(false);
    }
    let mut writer = Writer::create(path, options()).map_err(to_message)?;
    let mut message = Vec::new();
    for line in compare::read(&source)?.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        message.clear();
        json::to_msgpack(line, &mut message).and_then(|_| writer.append_message(&message)).map_err(to_message)?;
    }
    writer.finish().map_err(to_message)?;
    Ok(true)
}

fn from_structs(set: &Set, path: &Path) -> Result<bool, String> {
    let source = set.folder.join("structs.jsonl");
    if !source.exists() {
        return Ok(false);
    }
    let mut writer = Writer::create(path, options()).map_err(to_message)?;
    let text = compare::read(&source)?;
    for (line, sample) in text.split(|&byte| byte == b'\n').zip(&set.reader) {
        let scene: Expected = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        let sample = sample.map_err(to_message)?;
        if !scene.matches(&sample).map_err(to_message)? {
            return Err(format!("sample {}: expected {}", sample.index(), String::from_utf8_lossy(line)));
        }
        writer.append(&scene.scene()?).map_err(to_message)?;
    }
    writer.finish().map_err(to_message)?;
    Ok(true)
}

/// Writes in three steps.
fn grown(set: &Set, path: &Path) -> Result<bool, String> {
    let cuts = [0, set.reader.len() / 3, set.reader.len() / 2, set.reader.len()];
    for (start, end) in cuts.iter().zip(cuts.iter().skip(1)) {
        let writer = match start {
            0 if !path.exists() => Writer::create(path, options()),
            _ => Writer::append_to(path, options()),
        };
        append(set, writer.map_err(to_message)?, *start..*end)?;
    }
    Ok(true)
}

/// Appends to the first half, written by Python.
fn grown_from_python(set: &Set, path: &Path) -> Result<bool, String> {
    for suffix in ["", ".md5"].into_iter().chain(INDEX) {
        let half = set.folder.join("half").join(format!("{NAME}{suffix}"));
        let target = PathBuf::from(format!("{}{suffix}", path.display()));
        fs::copy(&half, &target).map_err(|error| format!("{}: {error}", half.display()))?;
    }
    let writer = Writer::append_to(path, options()).map_err(to_message)?;
    let start = writer.len();
    append(set, writer, start..set.reader.len())?;
    Ok(true)
}

/// Rebuilds the index from the data.
fn rebuilt(set: &Set, path: &Path) -> Result<bool, String> {
    let source = set.folder.join("python").join(NAME);
    fs::copy(&source, path).map_err(|error| format!("{}: {error}", source.display()))?;
    rebuild_index(path, &RebuildOptions::default().with_sync(SyncPolicy::Never)).map_err(to_message)?;
    Ok(true)
}

fn append(set: &Set, mut writer: Writer, range: std::ops::Range<u64>) -> Result<(), String> {
    for sample in set.reader.samples(range).map_err(to_message)? {
        writer.append_message(sample.map_err(to_message)?.as_bytes()).map_err(to_message)?;
    }
    writer.finish().map_err(to_message)?;
    Ok(())
}
