//! Datasets from record batches.

mod arrays;
mod emit;
mod node;
mod numbers;
mod spans;

use std::path::Path;

use arrow_array::{RecordBatch, new_empty_array};
use arrow_schema::{DataType, Field, SchemaRef};
use container_arrow::BatchWriter;
use container_core::{Error, ErrorKind, Loss, Result};

use self::emit::Context;
use self::node::Node;
use crate::FORMAT_NAME;
use crate::wire::{put_map_header, put_str};
use crate::write::{WriteSummary, Writer};

/// The field that is a sample's key.
const KEY: &str = "key";

/// What the keys of samples are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Keys {
    /// The column `key`, which is text.
    #[default]
    Key,
    /// A column of another name, of texts or integers: it stays as it is, and its text becomes `key`, in front of all others.
    Column(String),
    /// The number of the row, counted from 0 over all batches, in ten digits: `key`, in front of all others.
    Number,
}

/// How batches become samples.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct WriterOptions {
    /// What the keys are.
    pub keys: Keys,
    /// The column of the keys, where it is not `key`, becomes the key alone, and no field beside.
    pub only_key: bool,
    /// The number of the first row, from which rows are counted: in keys that are numbers, and in what errors and losses tell.
    pub first_row: u64,
    /// How the dataset is written.
    pub dataset: crate::WriterOptions,
}

impl WriterOptions {
    /// Replaces [`keys`](Self::keys).
    #[must_use]
    pub fn with_keys(mut self, keys: Keys) -> Self {
        self.keys = keys;
        self
    }

    /// Replaces [`only_key`](Self::only_key).
    #[must_use]
    pub const fn with_only_key(mut self, yes: bool) -> Self {
        self.only_key = yes;
        self
    }

    /// Replaces [`first_row`](Self::first_row).
    #[must_use]
    pub const fn with_first_row(mut self, row: u64) -> Self {
        self.first_row = row;
        self
    }

    /// Replaces [`dataset`](Self::dataset).
    #[must_use]
    pub fn with_dataset(mut self, dataset: crate::WriterOptions) -> Self {
        self.dataset = dataset;
        self
    }
}

/// Writes a dataset from record batches, a sample of each row: what columns become is listed [here](super).
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("cats.msgpack");
/// use std::sync::Arc;
/// use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
/// use container_arrow::BatchWriter;
/// use datadings::arrow::{ArrowWriter, WriterOptions};
///
/// let keys: ArrayRef = Arc::new(StringArray::from(vec!["tom", "kitty"]));
/// let lives: ArrayRef = Arc::new(Int32Array::from(vec![Some(9), None]));
/// let batch = RecordBatch::try_from_iter([("key", keys), ("lives", lives)])?;
/// let mut writer = ArrowWriter::create(&path, batch.schema(), WriterOptions::default())?;
/// writer.write(&batch)?;
/// assert!(Box::new(writer).finish()?.is_empty()); // nothing was lost
///
/// let reader = datadings::Reader::open(&path)?;
/// assert_eq!(reader.get(0)?.field("lives")?.u64()?, 9);
/// # Ok(())
/// # }
/// ```
#[must_use = "without finish() there is no dataset"]
pub struct ArrowWriter {
    writer: Writer,
    schema: SchemaRef,
    keys: Keys,
    only_key: bool,
    /// The column of the keys, where they come from one that is not `key`.
    key_column: Option<usize>,
    /// The names of all columns, encoded.
    names: Vec<Vec<u8>>,
    /// The number of the next row.
    rows: u64,
    context: Context,
    message: Vec<u8>,
    failed: bool,
}

impl ArrowWriter {
    /// Begins a dataset of batches of this schema. Its files appear, whole, with [`finish`](BatchWriter::finish).
    ///
    /// # Errors
    /// [`Unsupported`](ErrorKind::Unsupported) for a column of a type that is not written; [`Usage`](ErrorKind::Usage) for two columns of
    /// one name, where there is no column for the keys or one of another type, and for a column `key` where keys come from elsewhere; and
    /// those of [`Writer::create`].
    pub fn create(path: impl AsRef<Path>, schema: SchemaRef, options: WriterOptions) -> Result<Self> {
        let WriterOptions { mut keys, only_key, first_row: rows, dataset } = options;
        if matches!(&keys, Keys::Column(name) if name == KEY) {
            keys = Keys::Key;
        }
        let planned = plan(&schema, &keys).map_err(|error| error.in_format(FORMAT_NAME));
        let (key_column, names, losses) = planned?;
        let writer = Writer::create(path, dataset)?;
        let (context, message) = (Context::new(losses), Vec::new());
        Ok(Self { writer, schema, keys, only_key, key_column, names, rows, context, message, failed: false })
    }

    /// Goes on with batches of another schema: samples need not have the same fields.
    ///
    /// # Errors
    /// Those of [`create`](Self::create) that are about the schema; the writer goes on with the one before then.
    pub fn change_schema(&mut self, schema: SchemaRef) -> Result<()> {
        let (key_column, names, losses) = plan(&schema, &self.keys).map_err(|error| error.in_format(FORMAT_NAME))?;
        let known = |loss: &Loss| {
            let same = |own: &Loss| own.what == loss.what && own.first.column == loss.first.column;
            self.context.losses.iter().any(same)
        };
        let new: Vec<Loss> = losses.into_iter().filter(|loss| !known(loss)).collect();
        self.context.losses.extend(new);
        (self.schema, self.key_column, self.names) = (schema, key_column, names);
        Ok(())
    }

    /// Ends the dataset, as [`finish`](BatchWriter::finish) does, and says what was written, too.
    ///
    /// # Errors
    /// As [`finish`](BatchWriter::finish).
    pub fn finish_dataset(self) -> Result<(WriteSummary, Vec<Loss>)> {
        if self.failed {
            return Err(Error::usage("the writer is finished after a write that failed").in_format(FORMAT_NAME));
        }
        Ok((self.writer.finish()?, self.context.losses))
    }

    fn write_rows(&mut self, batch: &RecordBatch) -> Result<()> {
        let own = self.schema.fields().iter();
        let same = own.len() == batch.num_columns()
            && own
                .zip(batch.schema_ref().fields())
                .all(|(own, other)| own.name() == other.name() && own.data_type() == other.data_type());
        if !same {
            return Err(Error::usage("the batch has another schema than the writer was made for"));
        }
        let columns = self.schema.fields().iter().zip(batch.columns());
        let nodes = columns.map(|(field, array)| named(field, Node::new(field, array)));
        let nodes = nodes.collect::<Result<Vec<Node>>>()?;
        for row in 0..batch.num_rows() {
            self.context.row = self.rows;
            let Self { message, context, names, .. } = self;
            message.clear();
            let left_out = self.key_column.filter(|_| self.only_key);
            let fields = nodes.len() + usize::from(self.keys != Keys::Key) - usize::from(left_out.is_some());
            put_map_header(message, u32::try_from(fields).map_err(|_| too_many(fields))?);
            if let Some(key) = key(&self.keys, self.key_column.and_then(|column| nodes.get(column)), row, self.rows)? {
                put_text(message, KEY)?;
                put_text(message, &key)?;
            }
            for (place, ((name, node), field)) in names.iter().zip(&nodes).zip(self.schema.fields()).enumerate() {
                if left_out == Some(place) {
                    continue;
                }
                message.extend_from_slice(name);
                let done = node.emit(row, message, context);
                done.map_err(|error| error.in_column(field.name().clone()))?;
            }
            self.writer.append_message(message).map_err(of_input)?;
            self.rows += 1;
        }
        Ok(())
    }
}

/// The column of the keys, the names of all, and what is lost whatever comes.
type Planned = (Option<usize>, Vec<Vec<u8>>, Vec<Loss>);

fn plan(schema: &SchemaRef, keys: &Keys) -> Result<Planned> {
    let mut losses = Vec::new();
    let mut seen = std::collections::HashSet::new();
    let mut names = Vec::new();
    for field in schema.fields() {
        if !seen.insert(field.name().as_str()) {
            return Err(Error::usage("two columns have the same name").in_column(field.name().clone()));
        }
        let mut name = Vec::new();
        put_text(&mut name, field.name())?;
        names.push(name);
        // What is not written is found with an empty array, too.
        named(field, Node::new(field, &new_empty_array(field.data_type())))?;
        node::told(field, &mut losses);
    }
    let find = |name: &str| schema.fields().iter().position(|field| field.name() == name);
    let column = match keys {
        Keys::Key => {
            let field = find(KEY).and_then(|at| schema.fields().get(at)).ok_or_else(|| {
                Error::usage("there is no column \"key\", and a sample has one")
                    .advising("{key} takes another column, {number} the row's number")
            })?;
            if !is_text(field.data_type()) {
                let found = field.data_type();
                return Err(Error::usage(format!("the keys of samples are text, and this is {found}")).in_column(KEY));
            }
            return Ok((None, names, losses));
        }
        Keys::Number => None,
        Keys::Column(name) => {
            let at = find(name).ok_or_else(|| Error::usage(format!("there is no column {name:?}")))?;
            let found = schema.fields().get(at).map_or(&DataType::Null, |field| field.data_type());
            if !is_text(found) && !found.is_integer() {
                let what = format!("the keys of samples come from texts or integers, and this is {found}");
                return Err(Error::usage(what).in_column(name.clone()));
            }
            Some(at)
        }
    };
    if find(KEY).is_some() {
        let error = Error::usage("there is a column \"key\" already, and the key is to come from elsewhere");
        return Err(error.advising("{columns} can leave it out"));
    }
    Ok((column, names, losses))
}

fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => values.is_string(),
        other => other.is_string(),
    }
}

fn named<T>(field: &Field, done: Result<T>) -> Result<T> {
    done.map_err(|error| error.in_column(field.name().clone()).in_format(FORMAT_NAME))
}

/// The key of a row, if it is none of its columns.
fn key(keys: &Keys, column: Option<&Node<'_>>, at: usize, row: u64) -> Result<Option<String>> {
    match (keys, column) {
        (Keys::Number, _) => Ok(Some(format!("{row:010}"))),
        (Keys::Column(name), Some(column)) => {
            match column.key(at) {
                Some(key) => Ok(Some(key)),
                None => Err(Error::invalid(format!("null where the key, the text of {name:?}, is wanted"))
                    .in_column(name.clone())),
            }
        }
        _ => Ok(None),
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) -> Result<()> {
    put_str(out, text).map_err(|length| Error::limit("the bytes of a text", length, u32::MAX.into()))
}

#[cold]
fn too_many(fields: usize) -> Error {
    Error::limit("the number of fields", fields as u64, u32::MAX.into())
}

/// What the writer refuses is the fault of the rows here.
#[cold]
fn of_input(error: Error) -> Error {
    if error.kind() != ErrorKind::Usage {
        return error;
    }
    let told = Error::invalid(error.detail().to_owned());
    match error.position().key.clone() {
        Some(key) => told.in_key(key),
        None => told,
    }
}

impl BatchWriter for ArrowWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        if self.failed {
            return Err(Error::usage("the writer is used after a write that failed").in_format(FORMAT_NAME));
        }
        self.failed = true;
        let row = self.rows;
        self.write_rows(batch).map_err(|error| match error.kind() {
            ErrorKind::Usage | ErrorKind::Io => error.in_format(FORMAT_NAME),
            _ => error.in_row(self.rows.max(row)).in_format(FORMAT_NAME),
        })?;
        self.failed = false;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<Loss>> {
        self.finish_dataset().map(|(_, losses)| losses)
    }
}

impl std::fmt::Debug for ArrowWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArrowWriter").field("writer", &self.writer).field("rows", &self.rows).finish_non_exhaustive()
    }
}
