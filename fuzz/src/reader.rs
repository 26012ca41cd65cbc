//! Arbitrary bytes as an IDV file, through every method of a reader.

use std::collections::HashSet;

use container_core::{Error, ErrorKind, Limits, Scan, Severity, Source, Table, VerifyOptions};
use idv::{IdvContainer, OpenOptions, Reader, Scratch, Values};

/// Limits for one input.
const COLUMNS: usize = 64;
const BLOCKS: u64 = 64;
const ROWS: u64 = 300;

pub fn limits() -> Limits {
    Limits::default().with_block_bytes(1 << 16).with_metadata_bytes(1 << 16).with_columns(1 << 10)
}

pub fn open(bytes: Vec<u8>) -> Option<Reader> {
    match Reader::from_source(Source::from(bytes), OpenOptions::default().with_limits(limits())) {
        Ok(reader) => Some(reader),
        Err(error) => {
            check_error(&error);
            assert!(error.position().byte.is_some(), "no position: {error}");
            None
        }
    }
}

/// The bytes are the file.
pub fn idv_reader(data: &[u8]) {
    if let Some(reader) = open(data.to_vec()) {
        exercise(reader);
    }
}

/// An invalid file is never reported as the caller's fault, and every error has a message.
fn check_error(error: &Error) {
    let text = error.to_string();
    assert_ne!(error.kind(), ErrorKind::Usage, "{text}");
    assert_ne!(error.kind(), ErrorKind::Io, "{text}");
    assert_eq!(error.format(), Some("idv"), "{text}");
    assert!(!error.detail().is_empty() && !text.ends_with('.'), "{text}");
}

/// Calls every accessor, and checks that they agree.
pub fn exercise(reader: Reader) {
    columns(&reader);
    let mut broken = false;
    for index in 0..reader.columns().len().min(COLUMNS) {
        broken |= metadata(&reader, index);
        broken |= blocks(&reader, index);
    }
    rows(&reader);
    let (mut errors, mut all) = (0, 0);
    let outcome = reader.verify(&VerifyOptions::default().with_threads(1), &mut |finding| {
        check_error(&finding.error);
        errors += usize::from(finding.severity == Severity::Error);
        all += 1;
    });
    assert!(outcome.is_ok(), "verify itself failed");
    assert!(!broken || errors > 0, "verify missed an error");
    let container = IdvContainer::new(reader);
    for index in 0..container.columns().len().min(COLUMNS) {
        container.column_summary(index);
        if let Err(error) = container.column_details(index) {
            check_error(&error);
        }
    }
}

fn columns(reader: &Reader) {
    let mut names = HashSet::new();
    for column in reader.columns() {
        assert!(names.insert(column.unique_name()), "two columns are {:?}", column.unique_name());
        assert_eq!(reader.column(column.unique_name()).map(idv::Column::index), Some(column.index()));
        assert!(column.unique_name().starts_with(column.name()));
        match column.kind() {
            Ok(kind) => {
                assert!(!kind.to_string().is_empty() && column.compression().is_some());
                assert!(column.rows_per_block() > 0 || reader.row_count() == 0);
                // Lookup tables are in the file, which bounds the number of blocks.
                assert!(column.block_count() <= reader.source().len() / 16);
            }
            Err(unreadable) => assert!(!unreadable.detail.is_empty()),
        }
    }
    assert!(format!("{reader:?}").contains(&reader.header().version.to_string()));
}

/// Returns whether something is wrong.
fn metadata(reader: &Reader, index: usize) -> bool {
    let list = match reader.metadata(index) {
        Ok(list) => list,
        Err(error) => {
            check_error(&error);
            return true;
        }
    };
    let mut broken = false;
    for item in list.iter().take(COLUMNS) {
        match (item.value_type(), reader.metadata_value(index, item)) {
            (Ok(kind), Ok(values)) => {
                assert_eq!(values.len(), 1, "{:?} is one value", item.kind());
                assert_eq!(kind.is_vector(), matches!(values, Values::Vector(_)));
                touch(&values);
            }
            (Ok(_), Err(error)) => {
                check_error(&error);
                broken = true;
            }
            (Err(_), Ok(_)) => panic!("an unreadable value was read"),
            (Err(_), Err(error)) => check_error(&error),
        }
    }
    match reader.labels(index) {
        Ok(Some(labels)) => {
            for key in [0, 1, labels.count().wrapping_sub(1), labels.count(), u64::MAX] {
                assert_eq!(labels.get(key).is_some(), key < labels.count());
            }
        }
        Ok(None) => {}
        Err(error) => check_error(&error),
    }
    broken
}

/// Returns whether something is wrong.
fn blocks(reader: &Reader, index: usize) -> bool {
    let column = &reader.columns()[index];
    if column.kind().is_err() {
        return false;
    }
    let mut broken = false;
    let (mut values, mut scratch) = (Values::default(), Scratch::default());
    let mut next = 0;
    for block in 0..column.block_count().min(BLOCKS) {
        let bytes = reader.block_bytes(index, block);
        match reader.read_block(index, block, &mut values, &mut scratch) {
            Ok(rows) => {
                assert_eq!(rows, reader.block_rows(index, block).unwrap());
                assert!(rows.start == next && rows.end > rows.start && rows.end <= reader.row_count());
                assert_eq!(values.len() as u64, rows.end - rows.start);
                assert_eq!(reader.block_of_row(index, rows.end - 1).unwrap(), block);
                touch(&values);
                assert!(bytes.is_ok(), "values without bytes");
                next = rows.end;
            }
            Err(error) => {
                check_error(&error);
                assert!(error.position().block == Some(block) && error.position().byte.is_some(), "{error}");
                next = reader.block_rows(index, block).unwrap().end;
                broken = true;
            }
        }
    }
    broken
}

/// Accesses every value.
fn touch(values: &Values) {
    match values {
        Values::Text(texts) => {
            let (joined, ends) = texts.parts();
            assert_eq!(ends.len(), texts.len());
            assert!(ends.is_sorted() && ends.last().is_none_or(|&end| end as usize == joined.len()));
            let sum: usize = texts.iter().map(|text| text.map_or(0, str::len)).sum();
            assert_eq!(sum, joined.len(), "the strings are all of the joined string");
        }
        Values::Vector(vectors) => {
            assert_eq!(vectors.iter().count(), vectors.len());
            let mut next = 0;
            for vector in vectors.iter() {
                assert!(vector.range.start == next && vector.range.end <= vectors.values().len());
                next = vector.range.end;
                let stored = vector.range.len();
                match vector.indices {
                    None => assert_eq!(stored, vector.length as usize),
                    Some(indices) => {
                        assert_eq!(indices.len(), stored);
                        assert!(indices.is_sorted_by(|a, b| a < b));
                        assert!(indices.last().is_none_or(|&last| last < vector.length));
                    }
                }
            }
            assert_eq!(next, vectors.values().len());
            assert!(vectors.get(vectors.len()).is_none());
            touch(vectors.values());
        }
        Values::DateTimeOffset(both) => assert_eq!(both.ticks.len(), both.minutes.len()),
        _ => {}
    }
}

/// The lines of a row range, until the end or an error.
fn lines(reader: &Reader, scan: &Scan) -> Result<(Vec<String>, bool), Error> {
    let mut rows = reader.rows(scan)?;
    let mut lines = Vec::new();
    let whole = loop {
        if lines.len() as u64 == ROWS {
            break true;
        }
        match rows.try_next() {
            Ok(Some(row)) => {
                let mut line = Vec::new();
                row.json(&mut line).unwrap();
                lines.push(String::from_utf8(line).unwrap());
            }
            Ok(None) => break true,
            Err(error) => {
                check_error(&error);
                assert!(
                    rows.current().is_none() && matches!(rows.try_next(), Ok(None)),
                    "rows continue after an error"
                );
                break false;
            }
        }
    };
    for loss in rows.losses() {
        assert!(loss.count > 0 && !loss.to_string().is_empty());
    }
    Ok((lines, whole))
}

fn rows(reader: &Reader) {
    // All columns, or the first of very many.
    let some: Vec<usize> =
        reader.columns().iter().filter(|c| c.kind().is_ok()).map(idv::Column::index).take(COLUMNS).collect();
    let end = reader.row_count().min(ROWS);
    let scan = || Scan::default().with_threads(1).with_columns(some.clone());
    let (all, whole) = match lines(reader, &scan().with_rows(0..end)) {
        Ok(lines) => lines,
        Err(error) => return check_error(&error),
    };
    for line in &all {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(object.as_object().map(serde_json::Map::len), Some(some.len()));
    }
    assert!(!whole || all.len() as u64 == end);
    // A row range gives the same lines.
    let middle = all.len() as u64 / 2;
    if let Ok((part, _)) = lines(reader, &scan().with_rows(middle..all.len() as u64)) {
        assert_eq!(part, all[middle as usize..]);
    }
    if let Ok(mut batches) = reader.batches(&scan().with_rows(middle..u64::MAX)) {
        let mut next = middle;
        while next < ROWS {
            match batches.try_next() {
                Ok(Some(batch)) => {
                    assert!(batch.rows().start == next && batch.row_count() > 0);
                    next = batch.rows().end;
                    for column in 0..batch.column_count() {
                        let slice = batch.column(column).unwrap();
                        assert!(slice.range.len() == batch.row_count() && slice.range.end <= slice.values.len());
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    check_error(&error);
                    assert!(matches!(batches.try_next(), Ok(None)), "batches continue after an error");
                    break;
                }
            }
        }
    }
}
