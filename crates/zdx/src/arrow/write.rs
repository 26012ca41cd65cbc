//! Writes record batches into a collection.

use std::collections::HashSet;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Fields as ArrowFields, SchemaRef};
use container_arrow::{BatchWriter, JsonRows};
use container_core::{Error, ErrorKind, Loss, Result, Source};
use serde_json::Value;

use super::observe::ID;
use crate::FORMAT_NAME;
use crate::read::Fields;
use crate::wire::id;
use crate::write::{CollectionWriter, LoadOptions, OnDuplicate};

/// Lines are buffered up to this many bytes, then loaded.
const BUFFER_BYTES: usize = 8 << 20;

/// Where the ids of documents come from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum IdSource {
    /// The column `_id`, of strings or integers. A row without an id gets its row number, from 0 over all batches, in ten digits.
    #[default]
    IdColumn,
    /// Another column, of strings or integers, which is kept. If no column has this name, dots lead into structs. If there is a column `_id`,
    /// too, it must be equal or null.
    Column(String),
}

/// Puts the rows of record batches as documents: JSON as written by [`JsonRows`], with `_id` in front, and null members included.
///
/// Rows are buffered and [loaded](CollectionWriter::load) with several threads, a few MiB at a time. Call [`finish`](Self::finish) at the
/// end; the index is written by the [`CollectionWriter`].
///
/// ```
/// # use std::sync::Arc;
/// use arrow_array::{Int64Array, RecordBatch};
/// use zdx::arrow::{ArrowWriter, IdSource};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// let root = zdx::StoreWriter::open(folder.path().join("store"), zdx::WriterOptions::default())?;
/// let mut writer = root.collection("rows")?;
/// let batch = RecordBatch::try_from_iter([("x", Arc::new(Int64Array::from(vec![1, 2])) as _)])?;
/// let mut rows = ArrowWriter::new(&mut writer, batch.schema(), IdSource::IdColumn)?;
/// rows.write(&batch)?;
/// rows.finish()?;
/// writer.finish()?;
/// root.finish()?;
/// let stored = zdx::Store::open(folder.path().join("store"))?.collection("rows")?;
/// assert_eq!(stored.get("0000000001")?.ok_or("not found")?.bytes(), br#"{"_id":"0000000001","x":2}"#);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ArrowWriter<'w> {
    writer: &'w mut CollectionWriter,
    schema: SchemaRef,
    ids: Ids,
    /// Lines not loaded yet, and the row of the first of them.
    lines: Vec<u8>,
    first: u64,
    /// Number of rows so far.
    rows: u64,
    numbered: u64,
}

/// Where to find ids: columns are given by position, `_id` last.
#[derive(Debug)]
enum Ids {
    /// In `_id`, if it exists.
    IdColumn(Option<usize>),
    /// In another column, with its name.
    Column(String, usize, Option<usize>),
    /// At a path in the document.
    Path(String, Box<Fields>, Option<usize>),
}

impl<'w> ArrowWriter<'w> {
    /// Starts loading batches with this schema. An id that already exists in the collection is an error.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) if two columns have the same name, also within structs, or the id column does not exist;
    /// [`Unsupported`](container_core::ErrorKind::Unsupported) for a column whose type has no JSON form.
    pub fn new(writer: &'w mut CollectionWriter, schema: SchemaRef, ids: IdSource) -> Result<Self> {
        let in_format = |error: Error| error.in_format(FORMAT_NAME);
        check_names(schema.fields(), "").map_err(in_format)?;
        JsonRows::new(&RecordBatch::new_empty(schema.clone())).map_err(in_format)?;
        let position = |name: &str| schema.fields().iter().position(|field| field.name() == name);
        let own = position(ID);
        let ids = match ids {
            IdSource::IdColumn => Ids::IdColumn(own),
            IdSource::Column(name) if name == ID && own.is_some() => Ids::IdColumn(own),
            IdSource::Column(name) => match (position(&name), name.split_once('.')) {
                (Some(position), _) => Ids::Column(name, position, own),
                (None, Some((first, _))) if position(first).is_some() => {
                    let fields = Box::new(Fields::new([&name]));
                    Ids::Path(name, fields, own)
                }
                _ => return Err(in_format(Error::usage(format!("no column {name:?} to use as id")))),
            },
        };
        Ok(Self { writer, schema, ids, lines: Vec::new(), first: 0, rows: 0, numbered: 0 })
    }

    /// Number of rows without an id, which got their row number.
    #[must_use]
    pub fn numbered(&self) -> u64 {
        self.numbered
    }

    /// Number of rows put.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Puts the rows of a batch.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a batch of another schema, or an id that exists already;
    /// [`Invalid`](container_core::ErrorKind::Invalid) for a row whose id is neither a string nor an integer, or differs from its `_id`;
    /// all that [`CollectionWriter::load`] fails for.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.put(batch).map_err(|error| error.in_format(FORMAT_NAME))
    }

    /// Loads the buffered rows. The index is written by the [`CollectionWriter`].
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn finish(mut self) -> Result<()> {
        self.load().map_err(|error| error.in_format(FORMAT_NAME))
    }

    fn put(&mut self, batch: &RecordBatch) -> Result<()> {
        if batch.schema_ref().fields() != self.schema.fields() {
            return Err(Error::usage("the batch has a different schema"));
        }
        let columns = |positions: Vec<usize>| {
            batch.project(&positions).map_err(container_arrow::from_arrow).and_then(|batch| JsonRows::new(&batch))
        };
        let own = match &self.ids {
            Ids::IdColumn(own) | Ids::Column(_, _, own) | Ids::Path(_, _, own) => *own,
        };
        let mut members = columns((0..batch.num_columns()).filter(|position| Some(*position) != own).collect())?;
        let mut owns = own.map(|position| columns(vec![position])).transpose()?;
        let mut others = match &self.ids {
            Ids::Column(_, position, _) => Some(columns(vec![*position])?),
            _ => None,
        };
        let mut scratch = Vec::new();
        for row in 0..batch.num_rows() {
            let number = self.rows;
            let in_row = |error: Error| error.in_row(number);
            let own = id_in_column(owns.as_mut(), row, ID, &mut scratch).map_err(in_row)?;
            let id = match &self.ids {
                Ids::IdColumn(_) => own,
                Ids::Column(name, ..) => {
                    let id = id_in_column(others.as_mut(), row, name, &mut scratch).map_err(in_row)?;
                    check_agreement(name, id, own).map_err(in_row)?
                }
                Ids::Path(name, fields, _) => {
                    scratch.clear();
                    members.write(row, &mut scratch).map_err(in_row)?;
                    let value = fields.of(&scratch).ok().and_then(|values| values.into_iter().next());
                    let id = value.map(|(_, value)| id_from_value(name, &value)).transpose();
                    check_agreement(name, id.map(Option::flatten).map_err(in_row)?, own).map_err(in_row)?
                }
            };
            let id = id.unwrap_or_else(|| {
                self.numbered += 1;
                format!("{number:010}")
            });
            id::check(&id).map_err(in_row)?;
            self.lines.extend_from_slice(b"{\"_id\":\"");
            self.lines.extend_from_slice(id.as_bytes());
            self.lines.push(b'"');
            let start = self.lines.len();
            members.write(row, &mut self.lines).map_err(in_row)?;
            // The object is already open: its bracket becomes a comma.
            if self.lines.get(start..) == Some(b"{}") {
                self.lines.truncate(start);
                self.lines.push(b'}');
            } else if let Some(bracket) = self.lines.get_mut(start) {
                *bracket = b',';
            }
            self.lines.push(b'\n');
            self.rows += 1;
            if self.lines.len() >= BUFFER_BYTES {
                self.load()?;
            }
        }
        Ok(())
    }

    fn load(&mut self) -> Result<()> {
        let first = std::mem::replace(&mut self.first, self.rows);
        let lines = std::mem::replace(&mut self.lines, Vec::with_capacity(BUFFER_BYTES));
        if lines.is_empty() {
            return Ok(());
        }
        // The lines were written by this crate: only ids can be wrong.
        let options = LoadOptions::default().with_on_duplicate(OnDuplicate::Refuse).with_validate(false);
        self.writer.load(&Source::from(lines), &options).map(drop).map_err(|error| {
            // Replace the position within the buffer by the row.
            let row = error.position().line.map(|line| first + line.saturating_sub(1));
            let (Some(row), ErrorKind::Usage | ErrorKind::Invalid | ErrorKind::Limit { .. }) = (row, error.kind())
            else {
                return error;
            };
            let kind = match error.kind() {
                ErrorKind::Usage => ErrorKind::Invalid,
                other => other,
            };
            let in_row = Error::new(kind, error.detail().to_owned()).in_row(row);
            match &error.position().key {
                Some(key) => in_row.in_key(key.clone()),
                None => in_row,
            }
        })
    }
}

/// The id in a column; `None` if it is null or there is no such column.
fn id_in_column(rows: Option<&mut JsonRows>, row: usize, name: &str, scratch: &mut Vec<u8>) -> Result<Option<String>> {
    let Some(rows) = rows else { return Ok(None) };
    scratch.clear();
    rows.write(row, scratch)?;
    // Fast path for a plain string: `{"_id":"oak"}`.
    let plain = |line: &[u8]| {
        let value = line.strip_suffix(b"\"}")?.split_at_checked(name.len() + 4)?.1.strip_prefix(b"\"")?;
        let text = std::str::from_utf8(value).ok()?;
        text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_').then(|| text.to_owned())
    };
    if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && let Some(text) = plain(scratch)
    {
        return Ok(Some(text));
    }
    // An object with one member.
    let value: Value = serde_json::from_slice(scratch)
        .map_err(|cause| Error::invalid("the value has no JSON form").caused_by(cause))?;
    match value {
        Value::Object(members) => members.into_iter().next().map_or(Ok(None), |(_, value)| id_from_value(name, &value)),
        _ => Ok(None),
    }
}

fn id_from_value(name: &str, value: &Value) -> Result<Option<String>> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        Value::Number(number) if number.is_u64() || number.is_i64() => Ok(Some(number.to_string())),
        other => {
            let found: String = other.to_string().chars().take(40).collect();
            Err(Error::invalid(format!("{name:?}, used as id: expected a string or an integer, found {found}")))
        }
    }
}

/// Checks that the id from another column does not contradict `_id`.
fn check_agreement(name: &str, id: Option<String>, own: Option<String>) -> Result<Option<String>> {
    match (id, own) {
        (None, _) => Err(Error::invalid(format!("the row has no {name:?} to use as id"))),
        (Some(id), Some(own)) if id != own => {
            Err(Error::invalid(format!("the row's \"_id\" {own:?} differs from its {name:?} {id:?}")))
        }
        (id, _) => Ok(id),
    }
}

/// Checks that member names are unique: of duplicate members only one could be read back.
fn check_names(fields: &ArrowFields, path: &str) -> Result<()> {
    let mut names = HashSet::new();
    for field in fields {
        let path = if path.is_empty() { field.name().clone() } else { format!("{path}.{}", field.name()) };
        if !names.insert(field.name()) {
            return Err(Error::usage(format!(
                "duplicate column {path:?}: members of a document must have unique names"
            )));
        }
        check_type(field.data_type(), &path)?;
    }
    Ok(())
}

fn check_type(data_type: &DataType, path: &str) -> Result<()> {
    match data_type {
        DataType::Struct(fields) => check_names(fields, path),
        DataType::List(element) | DataType::LargeList(element) | DataType::FixedSizeList(element, _) => {
            check_type(element.data_type(), path)
        }
        DataType::Map(element, _) => check_type(element.data_type(), path),
        DataType::Dictionary(_, value) => check_type(value, path),
        _ => Ok(()),
    }
}

impl BatchWriter for ArrowWriter<'_> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        Self::write(self, batch)
    }

    fn finish(self: Box<Self>) -> Result<Vec<Loss>> {
        Self::finish(*self).map(|()| Vec::new())
    }
}
