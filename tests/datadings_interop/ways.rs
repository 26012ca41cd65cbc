//! Every way of reading and writing one set.

use std::fs;
use std::path::{Path, PathBuf};

use container_core::{OutputOptions, SyncPolicy, VerifyOptions};
use datadings::{Error, OpenOptions, Reader, RebuildOptions, Shards, Writer, WriterOptions, json, rebuild_index, ser};
use wharf_tests::datadings_lines;

use crate::compare::{self, INDEX};
use crate::structs::Told;

/// The data file's name in every folder: it stands in `.md5`.
pub(crate) const NAME: &str = "d.msgpack";

/// Writes a set's samples to a path; false where the set does not have what this takes.
type Way = fn(&Set, &Path) -> Result<bool, String>;

/// The ways, by what follows `ours-` in their folder's name.
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

/// A set as Python left it.
pub(crate) struct Set {
    folder: PathBuf,
    reader: Reader,
}

fn told(error: Error) -> String {
    error.to_string()
}

fn options() -> WriterOptions {
    WriterOptions::default().with_output(OutputOptions::default().with_sync(SyncPolicy::Never))
}

impl Set {
    pub(crate) fn open(folder: &Path) -> Result<Self, String> {
        let reader = Reader::open(folder.join("python").join(NAME)).map_err(told)?;
        Ok(Self { folder: folder.to_owned(), reader })
    }

    /// Reads everything that Python wrote, and returns the number of samples.
    pub(crate) fn read(&self) -> Result<u64, String> {
        let expected = compare::read(&self.folder.join("python.jsonl"))?;
        let mut samples = 0;
        for name in ["python", "raw", "legacy", "converted"] {
            let reader = Reader::open(self.folder.join(name).join(NAME)).map_err(told)?;
            if reader.is_legacy() != (name == "legacy") {
                return Err(format!("{name} has another index than it should"));
            }
            let lines = datadings_lines::lines(&reader).map_err(told)?;
            if lines != expected {
                let difference = datadings_lines::difference(&lines, &expected).unwrap_or_default();
                return Err(format!("{name}: {difference}"));
            }
            by_key(&reader).map_err(|error| format!("{name}: {error}"))?;
            sound(&reader).map_err(|error| format!("{name}: {error}"))?;
            samples += reader.len();
        }
        Ok(samples)
    }

    /// What RawWriter wrote has the bytes of what FileWriter did, and ours those of both.
    pub(crate) fn raw(&self) -> Result<u64, String> {
        let target = self.folder.join("ours-raw");
        fs::create_dir(&target).map_err(|error| format!("{}: {error}", target.display()))?;
        let raw = Reader::open(self.folder.join("raw").join(NAME)).map_err(told)?;
        let mut writer = Writer::create(target.join(NAME), options().with_any_message(true)).map_err(told)?;
        for (key, sample) in raw.keys(0..raw.len()).map_err(told)?.zip(&raw) {
            writer.append_raw(&key.map_err(told)?, sample.map_err(told)?.as_bytes()).map_err(told)?;
        }
        writer.finish().map_err(told)?;
        compare::same_files(&target, &self.folder.join("raw"))
    }

    /// The legacy index turned into one of today, by rebuilding it and by appending nothing: the files that
    /// `datadings-convert-index` makes.
    pub(crate) fn convert(&self) -> Result<u64, String> {
        let rebuild = |path: &Path| {
            let rebuilt = rebuild_index(path, &RebuildOptions::default().with_sync(SyncPolicy::Never)).map_err(told)?;
            match rebuilt.kept_legacy && rebuilt.samples == self.reader.len() && rebuilt.truncated_bytes == 0 {
                true => Ok(()),
                false => Err(format!("{rebuilt:?}")),
            }
        };
        let append = |path: &Path| Writer::append_to(path, options()).and_then(Writer::finish).map(drop).map_err(told);
        Ok(self.converted("ours-converted", rebuild)? + self.converted("ours-converted-by-appending", append)?)
    }

    fn converted(&self, name: &str, convert: impl Fn(&Path) -> Result<(), String>) -> Result<u64, String> {
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
        // Python's tool lists the sums in another order, and keeps that of `.index`.
        let [ours, theirs] = [ours, theirs].map(|folder| fs::read_to_string(folder.join(format!("{NAME}.md5"))));
        let (ours, theirs) = (ours.map_err(|error| error.to_string())?, theirs.map_err(|error| error.to_string())?);
        match ours.lines().find(|line| !theirs.lines().any(|their| their == *line)) {
            Some(line) => Err(format!("Python's .md5 after converting does not have \"{line}\"")),
            None if ours.lines().count() < 1 + INDEX.len() => Err("our .md5 does not list five files".to_owned()),
            None => Ok(files + 1),
        }
    }
}

/// Many datasets as one: Python's order by a pattern, and every key. Returns the number of samples.
pub(crate) fn shards(folder: &Path) -> Result<u64, String> {
    let expected = compare::read(&folder.join("python.jsonl"))?;
    let pattern = folder.join("part-*.msgpack");
    let shards = Shards::glob(&pattern.to_string_lossy(), OpenOptions::default()).map_err(told)?;
    let mut lines = Vec::new();
    for index in 0..shards.len() {
        let (key, sample) = (shards.key(index).map_err(told)?, shards.get(index).map_err(told)?);
        lines.append(&mut datadings_lines::line(&key, &sample).map_err(told)?);
        lines.push(b'\n');
        if shards.find(&key).map_err(told)? != Some(index) {
            return Err(format!("{key:?} does not lead to sample {index}"));
        }
    }
    match datadings_lines::difference(&lines, &expected) {
        Some(difference) => Err(difference),
        None => Ok(shards.len()),
    }
}

/// Nothing is to be found in what Python wrote.
fn sound(reader: &Reader) -> Result<(), String> {
    let mut findings = Vec::new();
    let done = reader.verify(&VerifyOptions::default(), &mut |finding| findings.push(finding.error.to_string()));
    done.map_err(told)?;
    // Of an older dataset it is told that it has no index of today.
    findings.retain(|finding| !(reader.is_legacy() && finding.contains("the index is of the older form, ")));
    if findings.is_empty() { Ok(()) } else { Err(findings.join("; ")) }
}

/// Every key leads to its sample, one after another and all at once.
fn by_key(reader: &Reader) -> Result<(), String> {
    let keys: Vec<String> = reader
        .keys(0..reader.len())
        .map_err(told)?
        .map(|key| key.map(Into::into))
        .collect::<Result<_, _>>()
        .map_err(told)?;
    let found = reader.find_many(&keys).map_err(told)?;
    if !found.iter().copied().eq((0..reader.len()).map(Some)) {
        return Err("find_many leads elsewhere".to_owned());
    }
    for (row, key) in (0..).zip(&keys) {
        let sample = reader.get_key(key).map_err(told)?.ok_or_else(|| format!("{key:?} is not found"))?;
        if sample.index() != row || !reader.contains(key).map_err(told)? {
            return Err(format!("{key:?} leads to sample {}, not {row}", sample.index()));
        }
    }
    match reader.contains("a key that none has").map_err(told)? {
        true => Err("it has a key that none has".to_owned()),
        false => Ok(()),
    }
}

/// Writes with a writer that is given each of the set's messages.
fn each(
    set: &Set,
    path: &Path,
    options: WriterOptions,
    mut put: impl FnMut(&mut Writer, &[u8]) -> Result<(), Error>,
) -> Result<bool, String> {
    let mut writer = Writer::create(path, options).map_err(told)?;
    for sample in &set.reader {
        put(&mut writer, sample.map_err(told)?.as_bytes()).map_err(told)?;
    }
    writer.finish().map_err(told)?;
    Ok(true)
}

fn messages(set: &Set, path: &Path) -> Result<bool, String> {
    each(set, path, options(), Writer::append_message)
}

fn one_thread(set: &Set, path: &Path) -> Result<bool, String> {
    each(set, path, options().with_threads(1), Writer::append_message)
}

/// Decoded into values that know nothing of the bytes, and encoded.
fn values(set: &Set, path: &Path) -> Result<bool, String> {
    each(set, path, options(), |writer, message| {
        let mut again = Vec::new();
        ser::from_rmpv(&mut again, &datadings::RawValue::new(message).value()?.to_owned())?;
        writer.append_message(&again)
    })
}

fn from_json(set: &Set, path: &Path) -> Result<bool, String> {
    let source = set.folder.join("samples.jsonl");
    if !source.exists() {
        return Ok(false);
    }
    let mut writer = Writer::create(path, options()).map_err(told)?;
    let mut message = Vec::new();
    for line in compare::read(&source)?.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        message.clear();
        json::to_msgpack(line, &mut message).and_then(|_| writer.append_message(&message)).map_err(told)?;
    }
    writer.finish().map_err(told)?;
    Ok(true)
}

fn from_structs(set: &Set, path: &Path) -> Result<bool, String> {
    let source = set.folder.join("structs.jsonl");
    if !source.exists() {
        return Ok(false);
    }
    let mut writer = Writer::create(path, options()).map_err(told)?;
    let text = compare::read(&source)?;
    for (line, sample) in text.split(|&byte| byte == b'\n').zip(&set.reader) {
        let scene: Told = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        let sample = sample.map_err(told)?;
        if !scene.is(&sample).map_err(told)? {
            return Err(format!("sample {} is not {}", sample.index(), String::from_utf8_lossy(line)));
        }
        writer.append(&scene.scene()?).map_err(told)?;
    }
    writer.finish().map_err(told)?;
    Ok(true)
}

/// Written in three goes.
fn grown(set: &Set, path: &Path) -> Result<bool, String> {
    let cuts = [0, set.reader.len() / 3, set.reader.len() / 2, set.reader.len()];
    for (start, end) in cuts.iter().zip(cuts.iter().skip(1)) {
        let writer = match start {
            0 if !path.exists() => Writer::create(path, options()),
            _ => Writer::append_to(path, options()),
        };
        append(set, writer.map_err(told)?, *start..*end)?;
    }
    Ok(true)
}

/// Python wrote the first half.
fn grown_from_python(set: &Set, path: &Path) -> Result<bool, String> {
    for suffix in ["", ".md5"].into_iter().chain(INDEX) {
        let half = set.folder.join("half").join(format!("{NAME}{suffix}"));
        let target = PathBuf::from(format!("{}{suffix}", path.display()));
        fs::copy(&half, &target).map_err(|error| format!("{}: {error}", half.display()))?;
    }
    let writer = Writer::append_to(path, options()).map_err(told)?;
    let start = writer.len();
    append(set, writer, start..set.reader.len())?;
    Ok(true)
}

/// From the data alone.
fn rebuilt(set: &Set, path: &Path) -> Result<bool, String> {
    let source = set.folder.join("python").join(NAME);
    fs::copy(&source, path).map_err(|error| format!("{}: {error}", source.display()))?;
    rebuild_index(path, &RebuildOptions::default().with_sync(SyncPolicy::Never)).map_err(told)?;
    Ok(true)
}

fn append(set: &Set, mut writer: Writer, range: std::ops::Range<u64>) -> Result<(), String> {
    for sample in set.reader.samples(range).map_err(told)? {
        writer.append_message(sample.map_err(told)?.as_bytes()).map_err(told)?;
    }
    writer.finish().map_err(told)?;
    Ok(())
}
