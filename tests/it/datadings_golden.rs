//! Golden datasets: the samples are those that Python reads, and writing them again gives identical files.

use std::fs;
use std::path::{Path, PathBuf};

use container_core::{Severity, SyncPolicy, VerifyOptions};
use datadings::numpy::NdArray;
use datadings::{OpenOptions, Part, Reader, RebuildOptions, Writer, WriterOptions, json, rebuild_index, ser};
use serde::{Deserialize, Serialize};
use wharf_tests::datadings_lines;

/// Suffixes of the index files.
const INDEX_SUFFIXES: [&str; 5] = [".offsets", ".keys", ".key_hashes", ".filter", ".md5"];

/// The dataset that all datasets with a modified index are copies of.
const ORIGINAL: &str = "index-whole";

/// Datasets with messages whose key differs or is missing.
const FOREIGN_KEYS: [&str; 1] = ["raw-without-key"];

/// Datasets that do not round-trip through JSON; see the documentation of the module `json`.
const NOT_IN_JSON: [&str; 6] =
    ["raw-long-forms", "raw-without-key", "values-objects", "values-older", "values-plain", "values-scalars"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/datadings")
}

/// The name of every dataset, and its data file.
fn golden() -> Vec<(String, PathBuf)> {
    let paths = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let datasets = paths.filter_map(|path| {
        let name = path.file_name()?.to_str()?.strip_suffix(".msgpack")?.to_owned();
        Some((name, path))
    });
    let mut all: Vec<_> = datasets.collect();
    all.sort();
    all
}

fn data_file(name: &str) -> PathBuf {
    folder().join(format!("{name}.msgpack"))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

#[test]
fn reads_samples_as_python_does() {
    let mut samples = 0;
    for (name, path) in golden() {
        let expected = fs::read(path.with_extension("expected.jsonl")).unwrap();
        for access in [container_core::testkit::mapped(), container_core::Access::Positional] {
            let reader = Reader::open_with(&path, OpenOptions::default().with_access(access)).unwrap();
            let lines = datadings_lines::lines(&reader).unwrap();
            if let Some(difference) = datadings_lines::difference(&lines, &expected) {
                panic!("{name}: {difference}");
            }
            assert!(lines == expected, "{name}");
            samples += reader.len();
        }
    }
    assert_eq!((golden().len(), samples), (27, 2 * 958));
}

#[test]
fn finds_every_key() {
    for (name, path) in golden() {
        let reader = Reader::open(&path).unwrap();
        // From the expected lines, as a message may hold another key.
        let expected = fs::read_to_string(path.with_extension("expected.jsonl")).unwrap();
        let keys: Vec<String> = expected
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["key"].as_str().unwrap().to_owned())
            .collect();
        let rows: Vec<_> = (0..reader.len()).map(Some).collect();
        assert_eq!(reader.find_many(&keys).unwrap(), rows, "{name}");
        // A new reader, so that the first look-ups scan the index.
        let reader = Reader::open(&path).unwrap();
        for (row, key) in (0..).zip(&keys) {
            assert_eq!(reader.find(key).unwrap(), Some(row), "{name}: {key:?}");
            assert!(reader.contains(key).unwrap(), "{name}: {key:?}");
            assert_eq!(reader.key(row).unwrap(), key.as_str(), "{name}");
            let by_key = reader.get_key(key).unwrap().unwrap();
            assert_eq!(by_key.as_bytes(), reader.get(row).unwrap().as_bytes(), "{name}: {key:?}");
        }
        for absent in ["not there", "keY 1", "sample-00300"] {
            assert!(!reader.contains(absent).unwrap() && reader.find(absent).unwrap().is_none(), "{name}: {absent}");
        }
    }
}

#[test]
fn reports_missing_parts() {
    use Part::{Filter, KeyHashes, Keys, Md5, Offsets};
    for (name, path) in golden() {
        let missing: &[Part] = match name.as_str() {
            "index-without-keys" => &[Keys],
            "index-without-key-hashes" => &[KeyHashes],
            "index-without-filter" => &[Filter],
            "index-without-md5" => &[Md5],
            "index-offsets-alone" | "index-n-offsets-alone" => &[Keys, KeyHashes, Filter],
            "index-legacy" => &[Offsets, Keys, KeyHashes, Filter],
            _ => &[],
        };
        let reader = Reader::open(&path).unwrap();
        assert_eq!(reader.missing_parts(), missing, "{name}");
        assert_eq!(reader.is_legacy(), name == "index-legacy");
        assert_eq!(reader.trailing_bytes(), 0, "{name}");
    }
}

/// Compares all six files with Python's; those of the original if the index was modified.
fn assert_same_files(ours: &Path, name: &str) {
    let modified = name.starts_with("index-");
    let theirs = data_file(if modified { ORIGINAL } else { name });
    assert!(fs::read(ours).unwrap() == fs::read(&theirs).unwrap(), "{name}: data differs");
    for suffix in INDEX_SUFFIXES {
        let mut expected = fs::read(with_suffix(&theirs, suffix)).unwrap();
        if modified && suffix == ".md5" {
            expected = String::from_utf8(expected).unwrap().replace(ORIGINAL, name).into_bytes();
        }
        assert!(fs::read(with_suffix(ours, suffix)).unwrap() == expected, "{name}: {suffix} differs");
    }
}

/// Options that accept any message and skip syncing.
fn options(threads: usize) -> WriterOptions {
    let mut options = WriterOptions::default().with_threads(threads).with_any_message(true);
    options.output.sync = SyncPolicy::Never;
    options
}

/// Writes a dataset under its own name, and compares all files.
fn assert_rewrites(name: &str, threads: usize, write: impl FnOnce(&mut Writer)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("{name}.msgpack"));
    let mut writer = Writer::create(&path, options(threads)).unwrap();
    write(&mut writer);
    writer.finish().unwrap();
    assert_same_files(&path, name);
}

#[test]
fn rewrites_messages_byte_for_byte() {
    for (name, path) in golden() {
        let reader = Reader::open(&path).unwrap();
        for threads in [0, 1] {
            assert_rewrites(&name, threads, |writer| {
                for (key, sample) in reader.keys(0..reader.len()).unwrap().zip(&reader) {
                    writer.append_raw(&key.unwrap(), sample.unwrap().as_bytes()).unwrap();
                }
            });
        }
        if FOREIGN_KEYS.contains(&name.as_str()) {
            continue;
        }
        assert_rewrites(&name, 0, |writer| {
            for sample in &reader {
                writer.append_message(sample.unwrap().as_bytes()).unwrap();
            }
        });
    }
}

#[test]
fn rewrites_values_byte_for_byte() {
    let mut sets = 0;
    for (name, path) in golden() {
        if FOREIGN_KEYS.contains(&name.as_str()) || name == "raw-long-forms" || name == "values-older" {
            continue;
        }
        let reader = Reader::open(&path).unwrap();
        assert_rewrites(&name, 0, |writer| {
            for sample in &reader {
                let sample = sample.unwrap();
                // Decoded values are encoded in their shortest form, in Python's order.
                let mut message = Vec::new();
                ser::from_rmpv(&mut message, &sample.value().unwrap().to_owned()).unwrap();
                writer.append_message(&message).unwrap();
            }
        });
        sets += 1;
    }
    assert_eq!(sets, 24);
}

#[test]
fn rewrites_json_byte_for_byte() {
    let mut sets = 0;
    for (name, path) in golden() {
        if NOT_IN_JSON.contains(&name.as_str()) {
            continue;
        }
        let expected = fs::read_to_string(path.with_extension("expected.jsonl")).unwrap();
        assert_rewrites(&name, 0, |writer| {
            for line in expected.lines() {
                // The sample is the rest of the line without the last brace.
                let sample = line.split_once(",\"sample\":").unwrap().1.strip_suffix('}').unwrap();
                let mut message = Vec::new();
                json::to_msgpack(sample.as_bytes(), &mut message).unwrap();
                writer.append_message(&message).unwrap();
            }
        });
        sets += 1;
    }
    assert_eq!(sets, 21);
}

/// A flower of `real-iris`.
#[derive(Serialize, Deserialize)]
struct Iris<'a> {
    key: &'a str,
    sepal: [f64; 2],
    petal: [f64; 2],
    species: &'a str,
}

/// A digit of `real-digits`.
#[derive(Serialize, Deserialize)]
struct Digit<'a> {
    key: &'a str,
    #[serde(borrow)]
    image: NdArray<'a>,
    label: u8,
}

#[test]
fn rewrites_structs_byte_for_byte() {
    let irises = Reader::open(data_file("real-iris")).unwrap();
    assert_rewrites("real-iris", 0, |writer| {
        for sample in &irises {
            writer.append(&sample.unwrap().decode::<Iris<'_>>().unwrap()).unwrap();
        }
    });
    let digits = Reader::open(data_file("real-digits")).unwrap();
    let mut ink = 0;
    assert_rewrites("real-digits", 0, |writer| {
        for sample in &digits {
            let sample = sample.unwrap();
            let digit: Digit<'_> = sample.decode().unwrap();
            assert_eq!(digit.image.shape(), [8, 8]);
            ink += digit.image.iter::<u8>().unwrap().map(u64::from).sum::<u64>();
            writer.append(&digit).unwrap();
        }
    });
    // Computed from the source table: awk -F, '{for (i = 1; i < 65; i++) n += $i} END {print n}' over its first 100 lines.
    assert_eq!((irises.len(), digits.len(), ink), (150, 100, 31_147));
}

#[test]
fn appending_equals_writing_at_once() {
    for (name, path) in golden() {
        let reader = Reader::open(&path).unwrap();
        for cut in [0, 1, reader.len() / 2, reader.len()] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(format!("{name}.msgpack"));
            let put = |writer: &mut Writer, range: std::ops::Range<u64>| {
                for (key, sample) in reader.keys(range.clone()).unwrap().zip(reader.samples(range).unwrap()) {
                    writer.append_raw(&key.unwrap(), sample.unwrap().as_bytes()).unwrap();
                }
            };
            let cut = cut.min(reader.len());
            let mut writer = Writer::create(&path, options(0)).unwrap();
            put(&mut writer, 0..cut);
            writer.finish().unwrap();
            let mut writer = Writer::append_to(&path, options(0)).unwrap();
            assert_eq!(writer.len(), cut);
            put(&mut writer, cut..reader.len());
            writer.finish().unwrap();
            assert_same_files(&path, &name);
        }
    }
}

/// The findings of `verify` with their severity, without paths.
fn findings(path: &Path, threads: usize) -> Vec<String> {
    let mut findings = Vec::new();
    let folder = format!("{}/", folder().display());
    let options = VerifyOptions::default().with_threads(threads);
    Reader::open(path)
        .unwrap()
        .verify(&options, &mut |finding| {
            let severity = if finding.severity == Severity::Error { "error" } else { "warning" };
            findings.push(format!("{severity}: {}", finding.error.to_string().replace(&folder, "")));
        })
        .unwrap();
    findings
}

#[test]
fn verify_reports_missing_parts_only() {
    const NO_FILE: &str = "missing file";
    const NO_END: &str = "expected 8 offsets, found 7: the end of the last sample is missing (byte 56)";
    for (name, path) in golden() {
        let expected: &[(&str, &str)] = match name.as_str() {
            "index-legacy" => &[("warning", "legacy index without hashes and filter")],
            "index-n-offsets" => &[("warning", NO_END)],
            "index-n-offsets-alone" => {
                &[("warning", NO_FILE), ("warning", NO_FILE), ("warning", NO_FILE), ("warning", NO_END)]
            }
            "index-offsets-alone" => &[("warning", NO_FILE), ("warning", NO_FILE), ("warning", NO_FILE)],
            "index-without-filter" | "index-without-key-hashes" | "index-without-keys" | "index-without-md5" => {
                &[("warning", NO_FILE)]
            }
            // Only RawWriter writes such datasets.
            "raw-without-key" => &[
                ("error", "(byte 0, row 0)"),
                ("error", "(byte 4, row 1)"),
                ("error", "the sample has no key (byte 5, row 2)"),
                ("error", "(byte 18, row 3)"),
                ("error", "(byte 65, row 5)"),
                ("error", "(byte 66, row 6)"),
            ],
            _ => &[],
        };
        let actual = findings(&path, 0);
        let matches = actual
            .iter()
            .zip(expected)
            .all(|(found, (severity, text))| found.starts_with(severity) && found.contains(text));
        assert!(matches && actual.len() == expected.len(), "{name}: {actual:#?}");
        assert_eq!(actual, findings(&path, 1), "{name}: findings do not depend on threads");
    }
}

#[test]
fn rebuilds_index_as_python_writes_it() {
    let options = RebuildOptions::default().with_sync(SyncPolicy::Never);
    for (name, path) in golden() {
        if FOREIGN_KEYS.contains(&name.as_str()) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join(format!("{name}.msgpack"));
        fs::copy(&path, &copy).unwrap();
        rebuild_index(&copy, &options).unwrap();
        assert_same_files(&copy, &name);
    }
}

#[test]
fn converts_legacy_index_as_python_does() {
    let folder = tempfile::tempdir().unwrap();
    // Under the name that Python used, which is part of the checksum file.
    let copy = folder.path().join("index-converted.msgpack");
    for suffix in ["", ".index"] {
        fs::copy(with_suffix(&data_file("index-legacy"), suffix), with_suffix(&copy, suffix)).unwrap();
    }
    let rebuilt = rebuild_index(&copy, &RebuildOptions::default().with_sync(SyncPolicy::Never)).unwrap();
    assert!((rebuilt.samples, rebuilt.truncated_bytes, rebuilt.kept_legacy) == (7, 0, true), "{rebuilt:?}");
    let theirs = data_file("index-converted");
    for suffix in ["", ".index", ".offsets", ".keys", ".key_hashes", ".filter"] {
        assert!(
            fs::read(with_suffix(&copy, suffix)).unwrap() == fs::read(with_suffix(&theirs, suffix)).unwrap(),
            "{suffix}"
        );
    }
    // The same checksums in another order.
    let [mut ours, mut theirs] = [&copy, &theirs].map(|path| {
        let text = fs::read_to_string(with_suffix(path, ".md5")).unwrap();
        text.lines().map(str::to_owned).filter(|line| !line.ends_with(".index")).collect::<Vec<_>>()
    });
    ours.sort();
    theirs.sort();
    assert_eq!((ours.len(), &ours), (5, &theirs));
}
