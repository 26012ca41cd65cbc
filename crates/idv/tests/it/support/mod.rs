//! What the tests of this crate share.
#![allow(dead_code, reason = "every test file uses a part of it")]
#![allow(unreachable_pub, reason = "the fuzz targets use some of the modules too")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code fails by panicking"
)]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "an encoder writes the low bytes of numbers, false ones too"
)]

pub mod cells;
pub mod forge;
pub mod source;
pub mod strategies;
pub mod table;
pub mod values;

use std::path::{Path, PathBuf};

use container_core::{Error, Finding, Limits, Result, Scan, Severity, Source, VerifyOptions};
use forge::{Codec, Column, Forge, NONE};
use idv::{OpenOptions, Reader, Scratch, Values};

/// Opens bytes with the default options.
pub fn open(bytes: impl Into<Vec<u8>>) -> Result<Reader> {
    Reader::from_source(Source::from(bytes.into()), OpenOptions::default())
}

/// Opens bytes with limits.
pub fn open_with(bytes: impl Into<Vec<u8>>, limits: Limits) -> Result<Reader> {
    Reader::from_source(Source::from(bytes.into()), OpenOptions::default().with_limits(limits))
}

/// The error must be of this kind and say exactly this.
#[track_caller]
pub fn says(error: &Error, kind: &str, text: &str) {
    assert_eq!((error.kind().name(), error.to_string().as_str()), (kind, text));
    assert_eq!(error.format(), Some("idv"));
}

/// Asserts that opening fails with this kind and message.
#[track_caller]
pub fn refused(bytes: Vec<u8>, kind: &str, text: &str) {
    match open(bytes) {
        Ok(_) => panic!("opened, where this was expected: {text}"),
        Err(error) => says(&error, kind, text),
    }
}

/// Reads a block, for its error.
pub fn block(reader: &Reader, column: usize, block: u64) -> Result<Values> {
    let mut values = Values::default();
    reader.read_block(column, block, &mut values, &mut Scratch::default()).map(|_| values)
}

/// Asserts that block 0 of column 0 fails so, that row iteration fails in the same way, and then ends.
#[track_caller]
pub fn block_fails(bytes: Vec<u8>, kind: &str, text: &str) {
    let reader = open(bytes).unwrap();
    says(&block(&reader, 0, 0).unwrap_err(), kind, text);
    for threads in [1, 0] {
        let mut batches = reader.batches(&Scan::default().with_columns([0]).with_threads(threads)).unwrap();
        says(&batches.try_next().map(|_| ()).unwrap_err(), kind, text);
        assert!(batches.try_next().unwrap().is_none(), "batches go on after an error");
    }
    // The same buffers serve another block afterwards: see `the_buffers_survive_an_error`.
}

/// Three rows of one column, `numbers`: 1, 2, 3 as `Int32` in one block.
pub fn three_numbers() -> Forge {
    let block: Vec<u8> = [1i32, 2, 3].iter().flat_map(|x| x.to_le_bytes()).collect();
    Forge::new(6, 3).column(Column::new("numbers", Codec::plain("Int32"), NONE, 3).block(block))
}

/// Column `index` must be listed with this as the reason why it cannot be read, and so must be each try to read it, while
/// all other columns read.
#[track_caller]
pub fn unreadable(bytes: Vec<u8>, index: usize, kind: &str, text: &str) {
    let reader = open(bytes).unwrap();
    let column = &reader.columns()[index];
    let why = column.kind().unwrap_err().clone();
    let place = format!(" (byte {}, column {:?})", why.byte.unwrap(), column.unique_name());
    assert_eq!((why.kind.name(), format!("{why}{place}").as_str()), (kind, text));
    let named = format!("idv: {why}{place}");
    says(&reader.batches(&Scan::default().with_columns([index])).map(|_| ()).unwrap_err(), kind, &named);
    says(&reader.rows(&Scan::default().with_columns([index])).map(|_| ()).unwrap_err(), kind, &named);
    let error = block(&reader, index, 0).unwrap_err();
    assert_eq!((error.kind().name(), error.detail()), (kind, why.detail.as_str()));
    // Verify agrees: a warning if the column may be valid.
    let severity = if kind == "unsupported" { "warning" } else { "error" };
    let found = findings(&reader, 1);
    assert!(found.contains(&format!("{severity}: {named}")), "{found:?}");
    if reader.columns().len() == 1 {
        says(
            &reader.rows(&Scan::default()).map(drop).unwrap_err(),
            kind,
            &format!("idv: none of 1 column can be read: {why}{place}"),
        );
        return;
    }
    // The other columns are readable, and row iteration reports the column left out.
    let mut rows = reader.rows(&Scan::default()).unwrap();
    let mut count = 0;
    while rows.try_next().unwrap().is_some() && count < 100 {
        count += 1;
    }
    assert!(count >= 3);
    let loss = format!("column left out ({why}) (byte {}, column {:?})", why.byte.unwrap(), column.unique_name());
    assert_eq!(rows.losses().iter().map(ToString::to_string).collect::<Vec<_>>(), [loss]);
}

/// All findings of `verify`, as their severity and text.
pub fn findings(reader: &Reader, threads: usize) -> Vec<String> {
    let mut found = Vec::new();
    let mut report = |finding: Finding| {
        let severity = if finding.severity == Severity::Error { "error" } else { "warning" };
        found.push(format!("{severity}: {}", finding.error));
    };
    reader.verify(&VerifyOptions::default().with_threads(threads), &mut report).unwrap();
    found
}

/// The findings, which must be the same with any number of threads.
#[track_caller]
pub fn verify(bytes: impl Into<Vec<u8>>) -> Vec<String> {
    let reader = open(bytes).unwrap();
    let found = findings(&reader, 1);
    for threads in [0, 2, 1] {
        assert_eq!(findings(&reader, threads), found, "{threads} threads");
    }
    found
}

/// Reads everything there is, and stops at the first thing that is wrong; verify's errors (not its warnings) count.
pub fn read_all(source: Source) -> Result<Vec<String>> {
    let reader = Reader::from_source(source, OpenOptions::default())?;
    let mut out = vec![format!("{:?}", reader.header())];
    for column in reader.columns() {
        out.push(format!("{} {:?}", column.unique_name(), column.kind()));
        if let Err(unreadable) = column.kind() {
            return Err(unreadable.to_error().in_format("idv"));
        }
        for metadata in reader.metadata(column.index())? {
            if metadata.value_type().is_ok() {
                out.push(format!("{} {:?}", metadata.kind(), reader.metadata_value(column.index(), &metadata)?));
            }
        }
    }
    // A header alone can declare rows without end.
    let scan = Scan::default().with_threads(1).with_rows(0..reader.row_count().min(10_000));
    let mut rows = reader.rows(&scan)?;
    let mut line = Vec::new();
    while let Some(row) = rows.try_next()? {
        line.clear();
        row.json(&mut line)?;
        out.push(String::from_utf8(line.clone()).unwrap());
    }
    out.extend(rows.losses().iter().map(ToString::to_string));
    let mut first = None;
    reader.verify(&VerifyOptions::default().with_threads(1), &mut |finding| {
        out.push(format!("{:?} {}", finding.severity, finding.error));
        if finding.severity == Severity::Error {
            first.get_or_insert(finding.error);
        }
    })?;
    first.map_or(Ok(out), Err)
}

/// The golden files, by name.
pub fn golden() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/idv");
    let entries = std::fs::read_dir(directory).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "idv"));
    files.sort();
    assert!(files.len() >= 60, "{} golden files", files.len());
    files
}
