//! Record batches into a collection.

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

/// Bytes of lines that are gathered before they are loaded.
const GATHERED: usize = 8 << 20;

/// Where the ids of documents come from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum IdFrom {
    /// The column `_id`, of text or integers; a row without one gets its number, counted from 0 over all batches, in ten digits.
    #[default]
    Own,
    /// Another column, of text or integers, which stays; dots lead into structs where no column has the whole name. Where there is a column `_id`,
    /// too, it must say the same or be null.
    Column(String),
}

/// Puts the rows of record batches as documents: JSON as [`JsonRows`] writes it, `_id` in front, null members, too.
///
/// Rows are gathered and [loaded](CollectionWriter::load) by several threads, a few MiB at a time. It ends with
/// [`finish`](BatchWriter::finish); the index is written by the collection's own writer.
///
/// ```
/// # use std::sync::Arc;
/// use arrow_array::{Int64Array, RecordBatch};
/// use container_arrow::BatchWriter;
/// use zdx::arrow::{BatchLoader, IdFrom};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// let root = zdx::StoreWriter::open(folder.path().join("store"), zdx::WriterOptions::default())?;
/// let mut writer = root.collection("rows")?;
/// let batch = RecordBatch::try_from_iter([("x", Arc::new(Int64Array::from(vec![1, 2])) as _)])?;
/// let mut loader = Box::new(BatchLoader::new(&mut writer, batch.schema(), IdFrom::Own)?);
/// loader.write(&batch)?;
/// loader.finish()?;
/// writer.finish()?;
/// root.finish()?;
/// let rows = zdx::Store::open(folder.path().join("store"))?.collection("rows")?;
/// assert_eq!(rows.get("0000000001")?.ok_or("it is there")?.bytes(), br#"{"_id":"0000000001","x":2}"#);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct BatchLoader<'w> {
    writer: &'w mut CollectionWriter,
    schema: SchemaRef,
    ids: Ids,
    /// Lines that are not loaded yet, and the row of the first of them.
    lines: Vec<u8>,
    first: u64,
    /// Rows so far.
    rows: u64,
    numbered: u64,
}

/// Where ids are found.
#[derive(Debug)]
enum Ids {
    /// In a column, or nowhere.
    Own(Option<usize>),
    /// In a column; the name for messages, and where the document's own is.
    Column(String, usize, Option<usize>),
    /// At a path of the document.
    Path(String, Box<Fields>, Option<usize>),
}

impl<'w> BatchLoader<'w> {
    /// Begins to put batches of a schema. An id that is in the collection already is an error.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for two columns of one name, also in structs, and for no column where the ids are to be;
    /// [`Unsupported`](container_core::ErrorKind::Unsupported) for a column whose type has no JSON form.
    pub fn new(writer: &'w mut CollectionWriter, schema: SchemaRef, ids: IdFrom) -> Result<Self> {
        let placed = |error: Error| error.in_format(FORMAT_NAME);
        distinct(schema.fields(), "").map_err(placed)?;
        JsonRows::new(&RecordBatch::new_empty(schema.clone())).map_err(placed)?;
        let place = |name: &str| schema.fields().iter().position(|field| field.name() == name);
        let own = place(ID);
        let ids = match ids {
            IdFrom::Own => Ids::Own(own),
            IdFrom::Column(name) if name == ID && own.is_some() => Ids::Own(own),
            IdFrom::Column(name) => match (place(&name), name.split_once('.')) {
                (Some(place), _) => Ids::Column(name, place, own),
                (None, Some((first, _))) if place(first).is_some() => {
                    let fields = Box::new(Fields::new([&name]));
                    Ids::Path(name, fields, own)
                }
                _ => return Err(placed(Error::usage(format!("there is no column {name:?}, which is to be the id")))),
            },
        };
        Ok(Self { writer, schema, ids, lines: Vec::new(), first: 0, rows: 0, numbered: 0 })
    }

    /// Rows that had no id and got their number.
    #[must_use]
    pub fn numbered(&self) -> u64 {
        self.numbered
    }

    /// Rows that were put.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    fn put(&mut self, batch: &RecordBatch) -> Result<()> {
        if batch.schema_ref().fields() != self.schema.fields() {
            return Err(Error::usage("the batch has another schema than those before"));
        }
        let columns = |places: Vec<usize>| {
            batch.project(&places).map_err(container_arrow::from_arrow).and_then(|batch| JsonRows::new(&batch))
        };
        let own = match &self.ids {
            Ids::Own(own) | Ids::Column(_, _, own) | Ids::Path(_, _, own) => *own,
        };
        let mut members = columns((0..batch.num_columns()).filter(|place| Some(*place) != own).collect())?;
        let mut owns = own.map(|place| columns(vec![place])).transpose()?;
        let mut others = match &self.ids {
            Ids::Column(_, place, _) => Some(columns(vec![*place])?),
            _ => None,
        };
        let mut scratch = Vec::new();
        for row in 0..batch.num_rows() {
            let number = self.rows;
            let placed = |error: Error| error.in_row(number);
            let own = own_id(owns.as_mut(), row, ID, &mut scratch).map_err(placed)?;
            let id = match &self.ids {
                Ids::Own(_) => own,
                Ids::Column(name, ..) => {
                    let id = own_id(others.as_mut(), row, name, &mut scratch).map_err(placed)?;
                    agreed(name, id, own).map_err(placed)?
                }
                Ids::Path(name, fields, _) => {
                    scratch.clear();
                    members.write(row, &mut scratch).map_err(placed)?;
                    let found = fields.of(&scratch).ok().and_then(|found| found.into_iter().next());
                    let id = found.map(|(_, value)| text_of(name, &value)).transpose();
                    agreed(name, id.map(Option::flatten).map_err(placed)?, own).map_err(placed)?
                }
            };
            let id = id.unwrap_or_else(|| {
                self.numbered += 1;
                format!("{number:010}")
            });
            id::check(&id).map_err(placed)?;
            self.lines.extend_from_slice(b"{\"_id\":\"");
            self.lines.extend_from_slice(id.as_bytes());
            self.lines.push(b'"');
            let start = self.lines.len();
            members.write(row, &mut self.lines).map_err(placed)?;
            // Its bracket is open already: the comma goes there.
            if self.lines.get(start..) == Some(b"{}") {
                self.lines.truncate(start);
                self.lines.push(b'}');
            } else if let Some(bracket) = self.lines.get_mut(start) {
                *bracket = b',';
            }
            self.lines.push(b'\n');
            self.rows += 1;
            if self.lines.len() >= GATHERED {
                self.load()?;
            }
        }
        Ok(())
    }

    fn load(&mut self) -> Result<()> {
        let first = std::mem::replace(&mut self.first, self.rows);
        let lines = std::mem::replace(&mut self.lines, Vec::with_capacity(GATHERED));
        if lines.is_empty() {
            return Ok(());
        }
        // The lines are those of this crate, and sound; only ids can be wrong.
        let options = LoadOptions::default().with_on_duplicate(OnDuplicate::Refuse).with_validate(false);
        self.writer.load(&Source::from(lines), &options).map(drop).map_err(|error| {
            // Where it was in the lines says nobody anything.
            let row = error.position().line.map(|line| first + line.saturating_sub(1));
            let (Some(row), ErrorKind::Usage | ErrorKind::Invalid | ErrorKind::Limit { .. }) = (row, error.kind())
            else {
                return error;
            };
            let kind = match error.kind() {
                ErrorKind::Usage => ErrorKind::Invalid,
                other => other,
            };
            let placed = Error::new(kind, error.detail().to_owned()).in_row(row);
            match &error.position().key {
                Some(key) => placed.in_key(key.clone()),
                None => placed,
            }
        })
    }
}

/// The id that a column has; none where it is null, or there is no column.
fn own_id(rows: Option<&mut JsonRows>, row: usize, name: &str, scratch: &mut Vec<u8>) -> Result<Option<String>> {
    let Some(rows) = rows else { return Ok(None) };
    scratch.clear();
    rows.write(row, scratch)?;
    // Mostly a plain text: `{"_id":"oak"}`.
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
    // An object of one member.
    let value: Value = serde_json::from_slice(scratch)
        .map_err(|cause| Error::invalid("the value has no JSON form").caused_by(cause))?;
    match value {
        Value::Object(members) => members.into_iter().next().map_or(Ok(None), |(_, value)| text_of(name, &value)),
        _ => Ok(None),
    }
}

fn text_of(name: &str, value: &Value) -> Result<Option<String>> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        Value::Number(number) if number.is_u64() || number.is_i64() => Ok(Some(number.to_string())),
        other => {
            let shown: String = other.to_string().chars().take(40).collect();
            let wanted = "a text or an integer is wanted";
            Err(Error::invalid(format!("{name:?}, which is to be the id, is {shown}: {wanted}")))
        }
    }
}

/// The id of another column, which must not say something else than `_id`.
fn agreed(name: &str, id: Option<String>, own: Option<String>) -> Result<Option<String>> {
    match (id, own) {
        (None, _) => Err(Error::invalid(format!("there is no {name:?}, which is to be the id"))),
        (Some(id), Some(own)) if id != own => {
            Err(Error::invalid(format!("the row has the \"_id\" {own:?}, and {name:?} is {id:?}")))
        }
        (id, _) => Ok(id),
    }
}

/// Of two members of one name only one could be read again.
fn distinct(fields: &ArrowFields, path: &str) -> Result<()> {
    let mut names = HashSet::new();
    for field in fields {
        let path = if path.is_empty() { field.name().clone() } else { format!("{path}.{}", field.name()) };
        if !names.insert(field.name()) {
            return Err(Error::usage(format!("two columns are called {path:?}, which a document cannot have")));
        }
        inner(field.data_type(), &path)?;
    }
    Ok(())
}

fn inner(data_type: &DataType, path: &str) -> Result<()> {
    match data_type {
        DataType::Struct(fields) => distinct(fields, path),
        DataType::List(element) | DataType::LargeList(element) | DataType::FixedSizeList(element, _) => {
            inner(element.data_type(), path)
        }
        DataType::Map(element, _) => inner(element.data_type(), path),
        DataType::Dictionary(_, value) => inner(value, path),
        _ => Ok(()),
    }
}

impl BatchWriter for BatchLoader<'_> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.put(batch).map_err(|error| error.in_format(FORMAT_NAME))
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<Loss>> {
        self.load().map_err(|error| error.in_format(FORMAT_NAME))?;
        Ok(Vec::new())
    }
}
