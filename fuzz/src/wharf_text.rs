//! CSV and JSON lines from arbitrary bytes: rows, columns, types and errors do not depend on chunks and threads, rows and batches
//! agree, and output reads back.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use container_arrow::{BatchScan, JsonRows};
use container_core::{Container, Error, ErrorKind, Limits, Scan, Source, Table, VerifyOptions};
use serde_json::Value;
use wharf::convert::{Csv, JsonLines, Sink, copy};
use wharf::text::{TextContainer, TextFormat, TextOptions};

use super::arrow_batches::{Walked, rows, walk};
use super::arrow_json::same;

/// Maximum bytes of an input: fewer rows than a scan has batches.
const MOST: usize = 700;

/// Chunk sizes in bytes: one, a few, about a row.
const CHUNKS: [u64; 3] = [1, 5, 40];

/// A byte for delimiter and header, then the text.
pub fn wharf_csv(data: &[u8]) {
    let (how, text) = data.split_first().map_or((0, data), |(how, text)| (*how, text));
    let options = TextOptions::new(TextFormat::Csv).with_header(how & 4 == 0);
    let options = options.with_delimiter([b',', b';', b'\t', b'a'][usize::from(how & 3)]).unwrap();
    let Some(container) = in_any_chunks(text, options) else { return };
    let table = container.tables()[0];
    if let Some(quoted) = as_text(table) {
        let rows_of = |container: &TextContainer| rows(container.tables()[0], &BatchScan::default()).unwrap().0;
        assert_eq!(rows_of(&open(quoted.as_bytes(), TextOptions::new(TextFormat::Csv)).unwrap()), rows_of(&container));
    }
}

/// The bytes are the text.
pub fn wharf_json_lines(data: &[u8]) {
    in_any_chunks(data, TextOptions::new(TextFormat::JsonLines));
}

fn open(text: &[u8], options: TextOptions) -> Result<TextContainer, Error> {
    let limits = Limits::default().with_columns(1 << 10);
    TextContainer::open(Source::from(text.to_vec()), &options.with_limits(limits))
}

/// The complete content of a text, for comparison.
#[derive(Debug, PartialEq)]
struct Outcome {
    columns: Vec<String>,
    columns_error: Option<String>,
    all_columns: Result<Vec<String>, String>,
    len: Option<u64>,
    rows: Vec<String>,
    error: Option<String>,
    findings: Vec<String>,
    schema: Result<SchemaRef, String>,
    batches: Result<Vec<String>, String>,
}

/// The container, if it opens, with large chunks and one thread. Checks that small chunks and several threads agree.
fn in_any_chunks(text: &[u8], options: TextOptions) -> Option<TextContainer> {
    let text = &text[..text.len().min(MOST)];
    let whole = open(text, options).map_err(|error| said(&error));
    for chunk in CHUNKS {
        let cut = open(text, options.with_chunk_bytes(chunk)).map_err(|error| said(&error));
        assert_eq!(cut.as_ref().err(), whole.as_ref().err(), "in chunks of {chunk}");
    }
    let whole = whole.ok()?;
    let wanted = outcome(&whole, 1, chunked(text, options));
    for chunk in CHUNKS {
        let options = options.with_chunk_bytes(chunk);
        for threads in [1, 0] {
            let cut = open(text, options).unwrap();
            assert_eq!(outcome(&cut, threads, None), wanted, "in chunks of {chunk}, threads {threads}");
        }
    }
    agreed(&whole, &wanted);
    printed(&whole, &wanted);
    Some(whole)
}

/// A container of the same text whose rows have not been counted.
fn chunked(text: &[u8], options: TextOptions) -> Option<TextContainer> {
    open(text, options).ok()
}

fn said(error: &Error) -> String {
    let text = error.to_string();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::Invalid | ErrorKind::Limit { .. } | ErrorKind::Truncated { .. } | ErrorKind::Unsupported
        ),
        "{text}"
    );
    assert!(error.format().is_some() && !error.detail().is_empty() && !text.ends_with('.'), "{text}");
    text
}

fn columns(table: &dyn Table) -> Vec<String> {
    let shown = |(index, column): (usize, &container_core::ColumnInfo)| {
        let summary = Value::from(table.column_summary(index));
        format!("{:?}: {} {summary}", column.name, column.kind)
    };
    table.columns().iter().enumerate().map(shown).collect()
}

fn outcome(container: &TextContainer, threads: usize, fresh: Option<TextContainer>) -> Outcome {
    let table = container.tables()[0];
    let scan = BatchScan::from(Scan::default().with_threads(threads));
    // Once before the rows are counted, once after.
    if let Some(fresh) = fresh {
        let (counted, uncounted) = (rows(table, &scan).unwrap(), rows(fresh.tables()[0], &scan).unwrap());
        assert_eq!(counted.0, uncounted.0);
    }
    if let Err(error) = table.arrow().unwrap().infer_from_sample(&scan) {
        said(&error);
    }
    // With an error, the number of rows counted depends on the chunks.
    let columns_error = table.columns_error().map(|error| said(&error));
    let columns_at_first = if columns_error.is_none() { columns(table) } else { Vec::new() };
    let (lines, error) = rows(table, &scan).unwrap();
    let len = table.len();
    assert!(error.is_some() || len == Some(lines.len() as u64), "{len:?} where there are {} rows", lines.len());
    let all_columns = table.infer_columns().map(|()| columns(table)).map_err(|error| said(&error));
    let mut findings = Vec::new();
    let verified = container.verify(&VerifyOptions::default().with_threads(threads), &mut |found| {
        said(&found.error);
        findings.push(format!("{:?} {}", found.severity, found.error));
    });
    verified.unwrap();
    assert!(error.is_none() || !findings.is_empty(), "verify missed an error: {error:?}");
    let walked = walk(table.arrow().unwrap(), &scan);
    Outcome {
        columns: columns_at_first,
        columns_error,
        all_columns,
        len,
        rows: lines,
        error: error.map(|error| said(&error)),
        findings,
        schema: table.arrow().unwrap().schema(&scan).map_err(|error| said(&error)),
        batches: walked.map_err(|error| said(&error)).and_then(|walked| match &walked.error {
            None => walked.lines().map_err(|error| said(&error)),
            Some(error) => Err(said(error)),
        }),
    }
}

/// Checks that rows and batches agree.
fn agreed(container: &TextContainer, found: &Outcome) {
    let table = container.tables()[0];
    let Ok(batches) = &found.batches else {
        let is_clash = found.error.is_none() && found.schema.is_err();
        assert!(found.error.is_some() || is_clash, "rows read, batches do not: {:?}", found.batches);
        return;
    };
    assert_eq!((batches.len(), &found.error), (found.rows.len(), &None));
    let scan = BatchScan::default().with_batch_rows(3).with_batch_bytes(64);
    let small: Walked = walk(table.arrow().unwrap(), &scan).unwrap();
    assert_eq!(&small.lines().unwrap(), batches);
    for (batch, row) in batches.iter().zip(&found.rows) {
        let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let (batch, row) = (parse(batch), parse(row));
        let Value::Object(members) = &batch else { panic!("not an object: {batch}") };
        for (name, value) in members {
            assert!(alike(value, row.get(name), container.format() == "csv"), "{name:?}: {value} where {row} was");
        }
    }
}

/// Whether a column's value matches that of a row. For CSV, mixed columns are text, empty cells of other columns are null, and times are
/// normalized.
fn alike(shown: &Value, wanted: Option<&Value>, is_csv: bool) -> bool {
    match (shown, wanted) {
        (Value::Null, Some(Value::String(text))) if is_csv => text.is_empty(),
        (
            Value::String(_),
            Some(Value::String(_) | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)),
        ) if is_csv => true,
        _ => same(shown, wanted),
    }
}

/// Checks that output reads back.
fn printed(container: &TextContainer, found: &Outcome) {
    let table = container.tables()[0];
    if found.error.is_some() {
        return;
    }
    let lines = found.rows.iter().map(|row| format!("{row}\n")).collect::<String>();
    let mut sink = JsonLines::new(Vec::new());
    assert_eq!(copy(table, &Scan::default(), &mut sink).unwrap().rows, found.rows.len() as u64);
    assert_eq!(String::from_utf8(sink.finish().unwrap()).unwrap(), lines);
    let again = open(lines.as_bytes(), TextOptions::new(TextFormat::JsonLines)).unwrap();
    let (rows_again, error) = rows(again.tables()[0], &BatchScan::default()).unwrap();
    assert!(error.is_none(), "output does not read back: {error:?}");
    assert_eq!(rows_again, found.rows);

    let Some(first) = csv_of(table) else { return };
    let read = |text: &[u8]| open(text, TextOptions::new(TextFormat::Csv)).unwrap();
    let second = read(&first);
    assert_eq!(second.tables()[0].len(), Some(found.rows.len() as u64));
    assert_eq!(names(second.tables()[0]), names(table));
    // Text that looks like a number is a number after CSV; further round trips change nothing.
    let printed = csv_of(second.tables()[0]).unwrap();
    let third = read(&printed);
    assert_eq!(
        String::from_utf8(csv_of(third.tables()[0]).unwrap()).unwrap(),
        String::from_utf8(printed).unwrap(),
        "of {}",
        String::from_utf8_lossy(&first)
    );
    if container.format() == "csv" {
        let (shown, _) = rows(second.tables()[0], &BatchScan::default()).unwrap();
        for (shown, row) in shown.iter().zip(&found.rows) {
            let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            assert!(same(&parse(shown), Some(&parse(row))), "{shown} where {row} was");
        }
    }
}

/// The column names of a table; empty ones are replaced, as in CSV.
fn names(table: &dyn Table) -> Vec<String> {
    table.columns().iter().map(|column| column.name.clone()).collect()
}

/// All rows as CSV; `None` if that is lossy, or if the names would not read back.
fn csv_of(table: &dyn Table) -> Option<Vec<u8>> {
    let mut sink = Csv::new(Vec::new());
    let copied = copy(table, &Scan::default(), &mut sink).unwrap();
    let names = names(table);
    let is_kept = copied.losses.is_empty() && !names.is_empty() && names.iter().all(|name| !name.is_empty());
    // A byte order mark before the first name would be that of the file.
    let is_kept = is_kept && !names[0].starts_with('\u{feff}') && sink.losses().is_empty();
    is_kept.then(|| sink.finish().unwrap())
}

/// All rows as CSV with quoted cells, from batches of text; null is an empty cell.
fn as_text(table: &dyn Table) -> Option<String> {
    let names = names(table);
    // A row with a single null cell would be an empty line.
    if names.len() < 2 {
        return None;
    }
    let fields: Vec<Field> = names.iter().map(|name| Field::new(name, DataType::Utf8, true)).collect();
    let walked = walk(table.arrow()?, &BatchScan::default().with_schema(Arc::new(Schema::new(fields)))).unwrap();
    if walked.error.is_some() {
        return None;
    }
    let cell = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let line = |cells: Vec<String>| cells.join(",") + "\n";
    let mut text = line(names.iter().map(|name| cell(name)).collect());
    let rows = |batch: &RecordBatch, text: &mut String| {
        let columns: Vec<&StringArray> =
            batch.columns().iter().map(|column| column.as_any().downcast_ref().unwrap()).collect();
        for row in 0..batch.num_rows() {
            let shown =
                |column: &&StringArray| if column.is_null(row) { String::new() } else { cell(column.value(row)) };
            text.push_str(&line(columns.iter().map(shown).collect()));
        }
        assert_eq!(JsonRows::new(batch).unwrap().len(), batch.num_rows());
    };
    walked.batches.iter().for_each(|batch| rows(batch, &mut text));
    Some(text)
}
