//! Rows of any container as samples.

use std::collections::HashSet;

use container_core::{Error, ErrorKind, Progress, Result, Scan, Table};
use datadings::ser::{Serializer, extend};
use datadings::{Kind, RawValue, Writer};
use serde::Serialize;
use serde::ser::Error as _;

use super::super::super::row::{FieldVisitor, RowSerializer};
use super::message::{write_map_header, write_sample, write_with_key};
use super::{
    KEY, Keys, SampleOptions, Sampled, as_input_error, duplicate_key_column, key_not_text, missing_key, row_key,
    unknown_column,
};

/// Rows between two progress reports.
const PROGRESS_ROWS: u64 = 256;

/// Writes rows of a table as samples, in order. Floats keep their width; times and row IDs become text. `before` is the number of rows in
/// earlier inputs, which [`SampleOptions::rows`] counts as well.
///
/// # Errors
/// Those of the table and of the writer; a row whose key is missing or not text, with its number; [`Usage`](ErrorKind::Usage) for an
/// unknown column.
pub fn write_rows(
    table: &dyn Table,
    scan: &Scan,
    writer: &mut Writer,
    options: &SampleOptions,
    before: u64,
    progress: Option<&dyn Progress>,
) -> Result<Sampled> {
    let names: Vec<&str> = table.columns().iter().map(|column| column.name.as_str()).collect();
    let find = |name: &str| names.iter().position(|known| *known == name);
    let mut scan = scan.clone();
    scan.rows = options.rows.start.saturating_sub(before)..options.rows.end.saturating_sub(before);
    // If the length is unknown, the range may begin beyond it.
    if let Some(len) = table.len() {
        scan.rows = scan.rows.start.min(len)..scan.rows.end.min(len);
    }
    let key = match options.key_column() {
        None => None,
        Some(KEY) => Some(find(KEY).ok_or_else(|| missing_key(KEY))?),
        Some(column) => Some(find(column).ok_or_else(|| unknown_column(column))?),
    };
    // The last column is read for the key alone.
    let mut key_alone = false;
    if let Some(columns) = &options.columns {
        let mut projection = Vec::new();
        for name in columns {
            projection.push(find(name).ok_or_else(|| unknown_column(name))?);
        }
        match key.filter(|key| !projection.contains(key)) {
            Some(key) if options.keys == Keys::Key => projection.insert(0, key),
            Some(key) => {
                projection.push(key);
                key_alone = true;
            }
            None => {}
        }
        scan.columns = Some(projection);
    }
    let is_selected = |index: usize| scan.columns.as_ref().is_none_or(|projection| projection.contains(&index));
    if options.makes_key() && find(KEY).is_some_and(is_selected) {
        return Err(duplicate_key_column());
    }
    let mut as_text = HashSet::new();
    for (index, column) in table.columns().iter().enumerate() {
        if column.unreadable.is_none() && is_selected(index) && is_shown_as_text(table, index, &column.kind)? {
            as_text.insert(column.name.clone());
        }
    }
    let mut rows = table.rows(&scan)?;
    let mut row = Row { options, as_text, key_alone, raw: Vec::new(), fields: Vec::new(), out: Vec::new() };
    let mut sampled = Sampled { passed: before, ..Sampled::default() };
    while rows.advance()? {
        let index = rows.index();
        let in_row = |error: Error| as_input_error(error).in_row(index);
        row.make(rows.as_ref(), before).map_err(in_row)?;
        writer
            .append_message(&row.out)
            .map_err(|error| if error.kind() == ErrorKind::Io { error } else { in_row(error) })?;
        sampled.rows += 1;
        sampled.passed = before + index + 1;
        if let Some(progress) = progress.filter(|_| sampled.rows.is_multiple_of(PROGRESS_ROWS)) {
            progress.advance(PROGRESS_ROWS)?;
        }
    }
    if let Some(len) = table.len() {
        sampled.passed = before.saturating_add(len);
    }
    sampled.losses = rows.losses();
    Ok(sampled)
}

/// Whether the values of a column serialize as numbers but are shown as text. Those of a key are its labels.
fn is_shown_as_text(table: &dyn Table, index: usize, kind: &str) -> Result<bool> {
    let is_text = |kind: &str| ["DateTime", "TimeSpan", "RowId"].iter().any(|word| kind.contains(word));
    if !kind.contains("Key<") {
        return Ok(is_text(kind));
    }
    let details = table.column_details(index)?;
    let labels = details.get("metadata_types").and_then(|types| types.get("KeyValues")?.as_str());
    Ok(labels.is_some_and(is_text))
}

/// Converts rows to samples, reusing its buffers.
struct Row<'a> {
    options: &'a SampleOptions,
    /// Names of the columns that are shown as text.
    as_text: HashSet<String>,
    key_alone: bool,
    raw: Vec<u8>,
    fields: Vec<u8>,
    out: Vec<u8>,
}

impl Row<'_> {
    fn make(&mut self, rows: &dyn container_core::Rows, before: u64) -> Result<()> {
        self.raw.clear();
        self.out.clear();
        if self.as_text.is_empty() {
            extend(&mut self.raw, rows.row())?;
        } else {
            self.write_with_text(rows.row())?;
        }
        let map = RawValue::new(&self.raw);
        let key = match self.options.key_column() {
            None => Some(row_key(before + rows.index())),
            Some(column) => {
                let key = map.get(column)?.ok_or_else(|| missing_key(column))?;
                let key = text(key, column)?;
                self.options.makes_key().then_some(key)
            }
        };
        let Some(key) = key else {
            self.out.extend_from_slice(&self.raw);
            return Ok(());
        };
        if !self.key_alone {
            return write_with_key(&mut self.out, &key, &self.raw);
        }
        let mut fields = fields(map)?;
        fields.pop();
        write_sample(&mut self.out, Some(&key), fields.into_iter())
    }

    /// Serializes the row with some values as text.
    fn write_with_text(&mut self, row: &dyn erased_serde::Serialize) -> Result<()> {
        self.fields.clear();
        let mut fields = Fields { as_text: &self.as_text, out: &mut self.fields, count: 0, is_text: false };
        erased_serde::serialize(row, RowSerializer(&mut fields)).map_err(|error| Error::invalid(error.to_string()))?;
        write_map_header(&mut self.raw, fields.count)?;
        self.raw.extend_from_slice(&self.fields);
        Ok(())
    }
}

/// Writes the fields of a row without the header of the map.
struct Fields<'a> {
    as_text: &'a HashSet<String>,
    out: &'a mut Vec<u8>,
    count: usize,
    /// The next value is shown as text.
    is_text: bool,
}

impl FieldVisitor for Fields<'_> {
    fn serialized_key(&mut self, key: &(impl Serialize + ?Sized)) -> Result<(), serde_json::Error> {
        let start = self.out.len();
        extend(self.out, key).map_err(serde_json::Error::custom)?;
        let name = RawValue::new(self.out.get(start..).unwrap_or_default()).str();
        self.is_text = name.is_ok_and(|name| self.as_text.contains(name));
        self.count += 1;
        Ok(())
    }

    fn value(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), serde_json::Error> {
        let mut serializer = Serializer::new(self.out);
        if self.is_text {
            serializer = serializer.human_readable();
        }
        value.serialize(&mut serializer).map_err(serde_json::Error::custom)
    }
}

fn fields(map: RawValue<'_>) -> Result<Vec<(&str, &[u8])>> {
    map.entries()?.map(|entry| entry.and_then(|(name, value)| Ok((name.str()?, value.as_bytes())))).collect()
}

fn text(key: RawValue<'_>, column: &str) -> Result<String> {
    match key.kind()? {
        Kind::Str => Ok(key.str()?.to_owned()),
        Kind::Integer if column != KEY => {
            key.u64().map(|n| n.to_string()).or_else(|_| key.i64().map(|n| n.to_string()))
        }
        found => {
            let found = format!("a value of kind {found:?}").to_lowercase();
            let expected = if column == KEY { "text" } else { "text or an integer" };
            Err(key_not_text(&found, expected))
        }
    }
}
