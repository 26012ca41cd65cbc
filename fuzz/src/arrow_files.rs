//! Containers of all formats from arbitrary bytes, read as record batches and written again.

use std::io::Cursor;

use container_arrow::{BatchScan, BatchWriter, Mapping, Times};
use container_core::{
    Access, Container, ErrorKind, Input, OpenOptions, OutputOptions, Scan, Source, SyncPolicy, Table,
};
use dsfmt::container::DsContainer;
use idv::IdvContainer;
use idv::arrow::{ArrowOptions, ArrowWriter};

use super::arrow_batches::{Walked, compare, walk};
use super::reader::open;

/// Limits for one input.
const COLUMNS: usize = 64;
const ROWS: u64 = 300;

/// The first rows of all readable columns, with one thread.
fn scan(table: &dyn Table) -> BatchScan {
    let readable = table.columns().iter().enumerate().filter(|(_, column)| column.unreadable.is_none());
    let columns: Vec<usize> = readable.map(|(index, _)| index).take(COLUMNS).collect();
    let end = table.len().unwrap_or(ROWS).min(ROWS);
    // Numeric times are lossless for more files.
    BatchScan::from(Scan::default().with_threads(1).with_rows(0..end).with_columns(columns))
        .with_mapping(Mapping::default().with_times(Times::Ticks))
}

/// The bytes are an IDV file.
pub fn idv_arrow(data: &[u8]) {
    let Some(reader) = open(data.to_vec()) else { return };
    let container = IdvContainer::new(reader);
    let scan = scan(&container);
    let Some(all) = compare(&container, &scan) else { return };
    if all.error.is_some() || !all.is_exact {
        return;
    }
    let Some(again) = idv_again(&all) else { return };
    let container = IdvContainer::new(again);
    let again = walk(&container, &BatchScan::from(Scan::default().with_threads(1)).with_mapping(scan.mapping)).unwrap();
    assert!(again.error.is_none() && again.is_exact);
    assert_eq!(named(&again), named(&all));
}

/// Values of rows by the names in the file. A duplicate name is numbered only if the first one is present.
fn named(walked: &Walked) -> Vec<Vec<(String, serde_json::Value)>> {
    let member = |(name, value): (String, serde_json::Value)| match name.rsplit_once('#') {
        Some((name, number)) if number.parse::<u32>().is_ok() => (name.to_owned(), value),
        _ => (name, value),
    };
    let row = |line: &String| serde_json::from_str::<serde_json::Map<_, _>>(line).unwrap();
    walked.lines().unwrap().iter().map(|line| row(line).into_iter().map(member).collect()).collect()
}

/// The file written from batches, if that is lossless.
fn idv_again(all: &Walked) -> Option<idv::Reader> {
    let schema = all.batches.first()?.schema();
    let mut writer = match ArrowWriter::new(Cursor::new(Vec::new()), &schema, ArrowOptions::default()) {
        Ok(writer) => writer,
        Err(error) => return refused(&error),
    };
    for batch in &all.batches {
        if let Err(error) = writer.write(batch) {
            return refused(&error);
        }
    }
    match writer.into_inner() {
        Ok((sink, losses)) => {
            let reader =
                idv::Reader::from_source(Source::from(sink.into_inner()), idv::OpenOptions::default()).unwrap();
            losses.is_empty().then_some(reader)
        }
        Err(error) => refused(&error),
    }
}

/// A write error must be caused by the batches.
fn refused<T>(error: &container_core::Error) -> Option<T> {
    let kind = error.kind();
    assert!(!matches!(kind, ErrorKind::Usage | ErrorKind::Io | ErrorKind::Truncated { .. }), "{error}");
    None
}

/// The bytes follow the version line of a ds file.
pub fn ds_arrow(data: &[u8]) {
    let file = [b"ds-1.0\n", data].concat();
    let Ok(reader) = dsfmt::Reader::from_source(file.into(), OpenOptions::default()) else { return };
    let container = DsContainer::new(reader);
    for table in container.tables().into_iter().take(4) {
        let scan = scan(table);
        let Some(all) = compare(table, &scan) else { continue };
        if all.error.is_some() || !all.is_exact {
            continue;
        }
        let Some(lines) = ds_again(&all, table.name()) else { continue };
        // Variables are written sorted by name.
        let values = |lines: Vec<String>| -> Vec<serde_json::Value> {
            lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
        };
        assert_eq!(values(lines), values(all.lines().unwrap()));
    }
}

/// The rows of the file written from batches, if that is lossless.
fn ds_again(all: &Walked, name: &str) -> Option<Vec<String>> {
    let schema = all.batches.first()?.schema();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ds");
    let output = OutputOptions::default().with_sync(SyncPolicy::Never);
    let options = dsfmt::arrow::WriterOptions::default().with_output(output);
    let mut writer = match dsfmt::arrow::ArrowWriter::create(&path, schema.clone(), options) {
        Ok(writer) => Box::new(writer),
        Err(error) => return refused(&error),
    };
    for batch in &all.batches {
        if let Err(error) = writer.write(batch) {
            return refused(&error);
        }
    }
    match writer.finish() {
        Ok(losses) if losses.is_empty() => {}
        Ok(_) => return None,
        Err(error) => return refused(&error),
    }
    let container = DsContainer::new(dsfmt::Reader::open(&path).unwrap());
    let tables = container.tables();
    // Without a named row dimension, the table is ambiguous.
    let table = tables.iter().find(|table| table.name() == name).filter(|_| tables.len() == 1)?;
    let again = walk(table.arrow()?, &BatchScan::default()).unwrap();
    assert!(again.error.is_none());
    (again.batches.first()?.num_columns() == schema.fields().len()).then(|| again.lines().unwrap())
}

/// The bytes are concatenated datadings samples.
pub fn datadings_arrow(data: &[u8]) {
    let Ok(reader) = datadings::Reader::scan(Source::from(data.to_vec()), OpenOptions::default()) else { return };
    let container = datadings::DatadingsContainer::new(reader);
    for table in container.tables() {
        compare(table, &scan(table));
    }
}

/// The bytes are the documents of a ZDS collection without an index.
pub fn zdx_arrow(data: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let meta = folder.path().join("collections/c/meta");
    std::fs::create_dir_all(&meta).unwrap();
    std::fs::write(meta.join("data.jsonl"), data).unwrap();
    let input = Input::open(folder.path(), Access::Auto).unwrap();
    let Ok(container) = zdx::ZdsContainer::open(&input, &OpenOptions::default()) else { return };
    for table in container.tables() {
        compare(table, &scan(table));
    }
}
