//! Recognition of model files.

use std::path::Path;

use container_core::{Format, Input, Probe, Recognition, Source, detect};
use idv::{FORMAT, MODEL_FORMAT};

use super::zip::{Entry, zip};
use super::{schema, version};
use crate::support::source::Watched;

/// Recognition of these bytes under a neutral name.
fn content(bytes: &[u8]) -> Recognition {
    let source = Source::from(bytes.to_vec());
    let head = &bytes[..bytes.len().min(4096)];
    MODEL_FORMAT.recognize(&Probe::new(Some(Path::new("file.bin")), head).with_source(&source))
}

fn entry(name: &str) -> Entry {
    Entry::stored(name, b"something")
}

#[test]
fn recognizes_model_entries_anywhere_in_the_directory() {
    let last = |mark: Entry| zip(&[entry("a"), entry("Model.key"), mark]).bytes;
    assert_eq!(content(&last(version())), Recognition::Content);
    assert_eq!(content(&last(Entry::stored("Schema", &schema()))), Recognition::Content);
    assert_eq!(content(&last(Entry::deflated("Loader/Schema.idv", &schema()))), Recognition::Content);
    // A loader directory or a name alone does not identify a model.
    assert_eq!(content(&last(entry("Loader/Model.key"))), Recognition::No);
    assert_eq!(content(&last(entry("Schema"))), Recognition::No);
    assert_eq!(content(&last(entry("x/TrainingInfo/Version.txt"))), Recognition::No);
    let deflated_text = Entry::deflated("Schema", b"CREATE TABLE people (name TEXT)");
    assert_eq!(content(&last(deflated_text)), Recognition::No);
    let encrypted = Entry::stored("Schema", &schema()).with(|entry| entry.flags = 1);
    assert_eq!(content(&last(encrypted)), Recognition::No);
}

#[test]
fn recognition_scans_a_bounded_number_of_entries() {
    let mut entries = vec![Entry::stored("a", b""); 65_535];
    entries.push(version());
    assert_eq!(content(&zip(&entries).bytes), Recognition::Content);
    entries.insert(0, Entry::stored("a", b""));
    assert_eq!(content(&zip(&entries).bytes), Recognition::No);
}

#[test]
fn recognizes_by_head_when_version_entry_is_first() {
    let bytes = zip(&[version(), entry("Schema")]).bytes;
    let probe = |head| MODEL_FORMAT.recognize(&Probe::new(None, head));
    assert_eq!(probe(&bytes), Recognition::Content);
    // Cut off, as its first 60 bytes show it.
    assert_eq!(probe(&bytes[..60]), Recognition::Content);
    for cut in 0..54 {
        assert_eq!(probe(&bytes[..cut]), Recognition::No, "{cut}");
    }
}

#[test]
fn recognizes_other_files_by_extension_only() {
    let other = zip(&[entry("a"), entry("b")]).bytes;
    assert_eq!(content(&other), Recognition::No);
    assert_eq!(content(b"PK\x05\x06"), Recognition::No);
    assert_eq!(content(b"PK\x03\x04"), Recognition::No);
    assert_eq!(content(b""), Recognition::No);
    assert_eq!(content(&schema()), Recognition::No);
    let named = |name| MODEL_FORMAT.recognize(&Probe::new(Some(Path::new(name)), &other));
    assert_eq!((named("x.ZIP"), named("x.docx")), (Recognition::Name, Recognition::No));
    assert_eq!(MODEL_FORMAT.recognize(&Probe::directory(Path::new("x.zip"))), Recognition::No);
}

#[test]
fn content_overrides_extension() {
    let formats: [&dyn Format; 2] = [FORMAT, MODEL_FORMAT];
    let found = |path: &str, bytes: Vec<u8>| {
        let (source, _) = Watched::over(bytes);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(path);
        std::fs::write(&path, source.read(0..source.len()).unwrap()).unwrap();
        detect(&formats, &Input::open(path, container_core::Access::Auto).unwrap()).unwrap().name()
    };
    assert_eq!(found("x.zip", schema()), "idv");
    assert_eq!(found("x.idv", zip(&[entry("a"), version()]).bytes), "mlnet-model");
}

#[test]
fn recognition_reads_little() {
    let bytes = zip(&[entry("a"), Entry::stored("b", &vec![7; 1 << 20]), version()]).bytes;
    let (source, log) = Watched::over(bytes.clone());
    let head = &bytes[..4096];
    assert_eq!(MODEL_FORMAT.recognize(&Probe::new(None, head).with_source(&source)), Recognition::Content);
    let read: u64 = log.take().iter().map(|range| range.end - range.start).sum();
    assert!(read < 80 << 10, "{read} bytes");
    let text = vec![b'x'; 4096];
    assert_eq!(MODEL_FORMAT.recognize(&Probe::new(None, &text).with_source(&source)), Recognition::No);
    assert_eq!(log.take(), []);
}
