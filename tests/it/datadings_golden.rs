//! Every golden dataset holds the samples that Python reads in it, and is written again byte for byte.

use std::fs;
use std::path::{Path, PathBuf};

use container_core::{Severity, SyncPolicy, VerifyOptions};
use datadings::numpy::NdArray;
use datadings::{OpenOptions, Part, Reader, RebuildOptions, Writer, WriterOptions, json, rebuild_index, ser};
use serde::{Deserialize, Serialize};
use wharf_tests::datadings_lines;

const BESIDE: [&str; 5] = [".offsets", ".keys", ".key_hashes", ".filter", ".md5"];

/// What the sets whose index was changed are copies of.
const WHOLE: &str = "index-whole";

/// Sets with messages that have another key or none.
const NOT_KEYED: [&str; 1] = ["raw-without-key"];

/// Sets with samples that JSON does not give back, as the page of the module `json` says.
const NOT_IN_JSON: [&str; 6] =
    ["raw-long-forms", "raw-without-key", "values-objects", "values-older", "values-plain", "values-scalars"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/datadings")
}

/// The name of every dataset, and its data file.
fn golden() -> Vec<(String, PathBuf)> {
    let paths = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let named = paths.filter_map(|path| {
        let name = path.file_name()?.to_str()?.strip_suffix(".msgpack")?.to_owned();
        Some((name, path))
    });
    let mut all: Vec<_> = named.collect();
    all.sort();
    all
}

fn named(name: &str) -> PathBuf {
    folder().join(format!("{name}.msgpack"))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

#[test]
fn every_sample_is_what_python_reads() {
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
fn every_key_leads_to_its_sample() {
    for (name, path) in golden() {
        let reader = Reader::open(&path).unwrap();
        // From the expected lines: where a message states another key, its own is not it.
        let expected = fs::read_to_string(path.with_extension("expected.jsonl")).unwrap();
        let keys: Vec<String> = expected
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["key"].as_str().unwrap().to_owned())
            .collect();
        let rows: Vec<_> = (0..reader.len()).map(Some).collect();
        assert_eq!(reader.find_many(&keys).unwrap(), rows, "{name}");
        // Anew, so that the first few are looked for without a table.
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
fn what_is_missing_is_told() {
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

/// Holds all six files against Python's; where the set was changed, against those of the whole one.
fn same_files(ours: &Path, name: &str) {
    let changed = name.starts_with("index-");
    let theirs = named(if changed { WHOLE } else { name });
    assert!(fs::read(ours).unwrap() == fs::read(&theirs).unwrap(), "{name}: the data differ");
    for suffix in BESIDE {
        let mut expected = fs::read(beside(&theirs, suffix)).unwrap();
        if changed && suffix == ".md5" {
            expected = String::from_utf8(expected).unwrap().replace(WHOLE, name).into_bytes();
        }
        assert!(fs::read(beside(ours, suffix)).unwrap() == expected, "{name}: {suffix} differs");
    }
}

/// Any message, and no waiting for the disk.
fn options(threads: usize) -> WriterOptions {
    let mut options = WriterOptions::default().with_threads(threads).with_any_message(true);
    options.output.sync = SyncPolicy::Never;
    options
}

/// Writes a dataset again in some way, under its own name, and compares.
fn again(name: &str, threads: usize, write: impl FnOnce(&mut Writer)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("{name}.msgpack"));
    let mut writer = Writer::create(&path, options(threads)).unwrap();
    write(&mut writer);
    writer.finish().unwrap();
    same_files(&path, name);
}

#[test]
fn messages_are_written_again_byte_for_byte() {
    for (name, path) in golden() {
        let reader = Reader::open(&path).unwrap();
        for threads in [0, 1] {
            again(&name, threads, |writer| {
                for (key, sample) in reader.keys(0..reader.len()).unwrap().zip(&reader) {
                    writer.append_raw(&key.unwrap(), sample.unwrap().as_bytes()).unwrap();
                }
            });
        }
        if NOT_KEYED.contains(&name.as_str()) {
            continue;
        }
        again(&name, 0, |writer| {
            for sample in &reader {
                writer.append_message(sample.unwrap().as_bytes()).unwrap();
            }
        });
    }
}

#[test]
fn values_are_written_again_byte_for_byte() {
    let mut sets = 0;
    for (name, path) in golden() {
        if NOT_KEYED.contains(&name.as_str()) || name == "raw-long-forms" || name == "values-older" {
            continue;
        }
        let reader = Reader::open(&path).unwrap();
        again(&name, 0, |writer| {
            for sample in &reader {
                let sample = sample.unwrap();
                // Decoded to values and encoded from them: shortest forms, Python's order.
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
fn json_is_written_again_byte_for_byte() {
    let mut sets = 0;
    for (name, path) in golden() {
        if NOT_IN_JSON.contains(&name.as_str()) {
            continue;
        }
        let expected = fs::read_to_string(path.with_extension("expected.jsonl")).unwrap();
        again(&name, 0, |writer| {
            for line in expected.lines() {
                // The sample is the rest of the line, but for the last brace.
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
fn structs_are_written_again_byte_for_byte() {
    let irises = Reader::open(named("real-iris")).unwrap();
    again("real-iris", 0, |writer| {
        for sample in &irises {
            writer.append(&sample.unwrap().decode::<Iris<'_>>().unwrap()).unwrap();
        }
    });
    let digits = Reader::open(named("real-digits")).unwrap();
    let mut ink = 0;
    again("real-digits", 0, |writer| {
        for sample in &digits {
            let sample = sample.unwrap();
            let digit: Digit<'_> = sample.decode().unwrap();
            assert_eq!(digit.image.shape(), [8, 8]);
            ink += digit.image.iter::<u8>().unwrap().map(u64::from).sum::<u64>();
            writer.append(&digit).unwrap();
        }
    });
    // From the table itself: awk -F, '{for (i = 1; i < 65; i++) n += $i} END {print n}' over its first 100 lines.
    assert_eq!((irises.len(), digits.len(), ink), (150, 100, 31_147));
}

#[test]
fn appending_gives_what_writing_at_once_gives() {
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
            same_files(&path, &name);
        }
    }
}

/// What verifying finds in a set, and how bad it is; without the paths.
fn findings(path: &Path, threads: usize) -> Vec<String> {
    let mut found = Vec::new();
    let folder = format!("{}/", folder().display());
    let options = VerifyOptions::default().with_threads(threads);
    Reader::open(path)
        .unwrap()
        .verify(&options, &mut |finding| {
            let severity = if finding.severity == Severity::Error { "error" } else { "warning" };
            found.push(format!("{severity}: {}", finding.error.to_string().replace(&folder, "")));
        })
        .unwrap();
    found
}

#[test]
fn nothing_is_found_but_what_is_missing() {
    const NO_FILE: &str = "there is no such file";
    const NO_END: &str = "there are 7 offsets for 7 samples: the end of the last one is missing (byte 56)";
    for (name, path) in golden() {
        let expected: &[(&str, &str)] = match name.as_str() {
            "index-legacy" => &[("warning", "the index is of the older form")],
            "index-n-offsets" => &[("warning", NO_END)],
            "index-n-offsets-alone" => {
                &[("warning", NO_FILE), ("warning", NO_FILE), ("warning", NO_FILE), ("warning", NO_END)]
            }
            "index-offsets-alone" => &[("warning", NO_FILE), ("warning", NO_FILE), ("warning", NO_FILE)],
            "index-without-filter" | "index-without-key-hashes" | "index-without-keys" | "index-without-md5" => {
                &[("warning", NO_FILE)]
            }
            // What only RawWriter writes.
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
        let found = findings(&path, 0);
        let is_so =
            found.iter().zip(expected).all(|(found, (how, what))| found.starts_with(how) && found.contains(what));
        assert!(is_so && found.len() == expected.len(), "{name}: {found:#?}");
        assert_eq!(found, findings(&path, 1), "{name}: threads change nothing");
    }
}

#[test]
fn an_index_is_rebuilt_as_python_made_it() {
    let options = RebuildOptions::default().with_sync(SyncPolicy::Never);
    for (name, path) in golden() {
        if NOT_KEYED.contains(&name.as_str()) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join(format!("{name}.msgpack"));
        fs::copy(&path, &copy).unwrap();
        rebuild_index(&copy, &options).unwrap();
        same_files(&copy, &name);
    }
}

#[test]
fn a_legacy_index_is_converted_as_python_does_it() {
    let folder = tempfile::tempdir().unwrap();
    // Under the name of what Python converted, which stands in the sums.
    let copy = folder.path().join("index-converted.msgpack");
    for suffix in ["", ".index"] {
        fs::copy(beside(&named("index-legacy"), suffix), beside(&copy, suffix)).unwrap();
    }
    let rebuilt = rebuild_index(&copy, &RebuildOptions::default().with_sync(SyncPolicy::Never)).unwrap();
    assert!((rebuilt.samples, rebuilt.truncated_bytes, rebuilt.kept_legacy) == (7, 0, true), "{rebuilt:?}");
    let theirs = named("index-converted");
    for suffix in ["", ".index", ".offsets", ".keys", ".key_hashes", ".filter"] {
        assert!(fs::read(beside(&copy, suffix)).unwrap() == fs::read(beside(&theirs, suffix)).unwrap(), "{suffix}");
    }
    // The same sums, in another order.
    let [mut ours, mut theirs] = [&copy, &theirs].map(|path| {
        let text = fs::read_to_string(beside(path, ".md5")).unwrap();
        text.lines().map(str::to_owned).filter(|line| !line.ends_with(".index")).collect::<Vec<_>>()
    });
    ours.sort();
    theirs.sort();
    assert_eq!((ours.len(), &ours), (5, &theirs));
}
