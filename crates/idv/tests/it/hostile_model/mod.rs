//! Inconsistent model files, with the exact error messages.

mod archive;
mod entries;
mod recognize;
mod zip;

use container_core::{Error, Finding, Limits, Result, Severity, Source, VerifyOptions};
use idv::{Model, OpenOptions};
use zip::Entry;

use crate::support::three_numbers;

/// The entry that ML.NET writes first.
fn version() -> Entry {
    Entry::deflated("TrainingInfo/Version.txt", b"1.5.0 @BuiltBy: nobody")
}

/// A valid IDV file: one column, three rows.
fn schema() -> Vec<u8> {
    three_numbers().bytes()
}

fn open(entries: &[Entry]) -> Result<Model> {
    open_bytes(zip::zip(entries).bytes)
}

fn open_bytes(bytes: Vec<u8>) -> Result<Model> {
    Model::from_source(Source::from(bytes), OpenOptions::default())
}

fn open_with(entries: &[Entry], limits: Limits) -> Result<Model> {
    Model::from_source(Source::from(zip::zip(entries).bytes), OpenOptions::default().with_limits(limits))
}

fn words(error: &Error) -> (&'static str, String) {
    (error.kind().name(), error.to_string())
}

/// Asserts that opening fails with this kind and message.
#[track_caller]
fn refused(opened: Result<Model>, kind: &str, text: &str) {
    match opened {
        Ok(_) => panic!("opened, where this was expected: {text}"),
        Err(error) => assert_eq!(words(&error), (kind_of(kind), text.to_owned())),
    }
}

fn kind_of(kind: &str) -> &'static str {
    ["io", "truncated", "invalid", "unsupported", "limit", "usage"].into_iter().find(|known| *known == kind).unwrap()
}

/// Asserts that the model opens, its schema is unreadable for this reason, and `verify` agrees.
#[track_caller]
fn set_aside(entry: Entry, kind: &str, text: &str) {
    let model = open(&[version(), entry]).unwrap();
    assert_eq!(model.schemas().len(), 0);
    let unreadable: Vec<_> = model.unreadable().iter().map(words).collect();
    assert_eq!(unreadable, [(kind_of(kind), text.to_owned())]);
    assert_eq!(model.mlnet_version(), Some("1.5.0"));
    let severity = if kind == "unsupported" { "warning" } else { "error" };
    assert_eq!(findings(&model), [format!("{severity}: {text}")]);
}

fn findings(model: &Model) -> Vec<String> {
    let mut found = Vec::new();
    let mut report = |finding: Finding| {
        let severity = if finding.severity == Severity::Error { "error" } else { "warning" };
        found.push(format!("{severity}: {}", finding.error));
    };
    model.verify(&VerifyOptions::default(), &mut report).unwrap();
    found
}
