mod fill;
mod hostile;
mod order;
mod rules;
mod text;

use std::io::Cursor;
use std::ops::Range;

use container_core::{Limits, Scan};
use idv::{ColumnSchema, Schema, Type, Writer, WriterOptions};

use super::*;

/// A table of these inputs, called `a`, `b` and so on.
fn table(mut table: TextTable, inputs: &[&str]) -> TextTable {
    for (name, text) in ('a'..).zip(inputs) {
        table.push(name, Source::from(text.as_bytes().to_vec()));
    }
    table
}

fn lines(text: &str) -> TextTable {
    table(TextTable::json_lines(), &[text])
}

fn csv(text: &str) -> TextTable {
    table(TextTable::csv(), &[text])
}

/// An error as it is shown, without the format, which all have.
fn told(error: Error) -> String {
    let text = error.to_string();
    let format = format!("{}: ", error.format().unwrap());
    text.strip_prefix(&format).unwrap().to_owned()
}

/// What is inferred: `name: type`, with the note.
fn inferred(table: &TextTable) -> Result<Vec<String>, String> {
    let inferred = table.infer(None).map_err(told)?;
    let columns = inferred.columns(None).map_err(told)?;
    Ok(columns
        .iter()
        .map(|column| match column.note {
            Some(note) => format!("{}: {} ({note})", column.name, column.kind),
            None => format!("{}: {}", column.name, column.kind),
        })
        .collect())
}

/// The types of `{"age": "Single"}`.
fn schema(types: &[(&str, &str)]) -> Schema {
    Schema::new(types.iter().map(|(name, kind)| ColumnSchema::new(*name, kind.parse().unwrap())))
}

/// The rows of a file written from a table, as JSON lines, and what was lost.
fn written(table: &TextTable, schema: Schema, take: &Take) -> Result<(Vec<String>, Vec<String>), String> {
    let options = WriterOptions::default().with_limits(Limits::default());
    let mut writer = Writer::new(Cursor::new(Vec::new()), schema, options).unwrap();
    let imported = table.write_to(&mut writer, take, None).map_err(told)?;
    let bytes = writer.finish().unwrap().into_inner();
    let reader = idv::Reader::from_source(Source::from(bytes), idv::Options::default()).unwrap();
    assert_eq!(reader.row_count(), imported.rows);
    let mut rows = reader.rows(&Scan::default()).unwrap();
    let mut lines = Vec::new();
    while let Some(row) = rows.try_next().unwrap() {
        let mut line = Vec::new();
        row.json(&mut line).unwrap();
        lines.push(String::from_utf8(line).unwrap());
    }
    let losses = imported.losses.iter().map(|loss| {
        let file = loss.first.file.clone().unwrap_or_default();
        format!("{file}: {loss}")
    });
    Ok((lines, losses.collect()))
}

/// The same of a table whose types are inferred.
fn round(table: &TextTable) -> (Vec<String>, Vec<String>) {
    let schema = table.infer(None).unwrap().schema(None).unwrap();
    written(table, schema, &Take::default()).unwrap()
}
