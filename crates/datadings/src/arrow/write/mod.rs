//! Writes datasets from record batches.

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

/// The field that holds a sample's key.
const KEY: &str = "key";

/// Where the keys of samples come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Keys {
    /// The column `key`, which must be a string column.
    #[default]
    Key,
    /// Another column, of strings or integers. It is kept, and its text becomes `key`, in front of all other fields.
    Column(String),
    /// The row number, counted from 0 over all batches, in ten digits: becomes `key`, in front of all other fields.
    Number,
}

/// Options of an [`ArrowWriter`].
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct WriterOptions {
    /// Where keys come from.
    pub keys: Keys,
    /// Do not keep the column of [`Keys::Column`] as a field of its own.
    pub only_key: bool,
    /// The number of the first row, from which rows are counted: in keys, errors and losses.
    pub first_row: u64,
    /// Options of the dataset's writer.
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

/// Writes a dataset from record batches, one sample per row. The [module](super) lists how columns are converted.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("cats.msgpack");
/// use std::sync::Arc;
/// use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
/// use datadings::arrow::{ArrowWriter, WriterOptions};
///
/// let keys: ArrayRef = Arc::new(StringArray::from(vec!["tom", "kitty"]));
/// let lives: ArrayRef = Arc::new(Int32Array::from(vec![Some(9), None]));
/// let batch = RecordBatch::try_from_iter([("key", keys), ("lives", lives)])?;
/// let mut writer = ArrowWriter::create(&path, batch.schema(), WriterOptions::default())?;
/// writer.write(&batch)?;
/// assert!(writer.finish()?.is_empty()); // nothing was lost
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
    /// The column of [`Keys::Column`].
    key_column: Option<usize>,
    /// The encoded names of all columns.
    names: Vec<Vec<u8>>,
    /// The number of the next row.
    rows: u64,
    context: Context,
    message: Vec<u8>,
    failed: bool,
}

impl ArrowWriter {
    /// Creates a dataset for batches of this schema. All of its files appear with [`finish`](Self::finish).
    ///
    /// # Errors
    /// [`Unsupported`](ErrorKind::Unsupported) for unsupported column types; [`Usage`](ErrorKind::Usage) for duplicate column names, a
    /// missing key column or one of the wrong type, and a column `key` if keys come from elsewhere; errors of [`Writer::create`].
    pub fn create(path: impl AsRef<Path>, schema: SchemaRef, options: WriterOptions) -> Result<Self> {
        let WriterOptions { mut keys, only_key, first_row: rows, dataset } = options;
        if matches!(&keys, Keys::Column(name) if name == KEY) {
            keys = Keys::Key;
        }
        let plan = plan(&schema, &keys).map_err(|error| error.in_format(FORMAT_NAME));
        let (key_column, names, losses) = plan?;
        let writer = Writer::create(path, dataset)?;
        let (context, message) = (Context::new(losses), Vec::new());
        Ok(Self { writer, schema, keys, only_key, key_column, names, rows, context, message, failed: false })
    }

    /// Continues with batches of another schema: samples can have different fields.
    ///
    /// # Errors
    /// Those of [`create`](Self::create) that concern the schema; the writer keeps the previous one then.
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

    /// Writes the rows of a batch as samples.
    ///
    /// # Errors
    /// [`Usage`](ErrorKind::Usage) for a batch of another schema, and after a failed write; [`Invalid`](ErrorKind::Invalid) with row and column
    /// for values that a sample cannot hold; [`Io`](ErrorKind::Io).
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        if self.failed {
            return Err(Error::usage("writer used after a failed write").in_format(FORMAT_NAME));
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

    /// Completes the dataset and returns the losses.
    ///
    /// # Errors
    /// [`Usage`](ErrorKind::Usage) after a failed write; all that [`Writer::finish`] fails for.
    pub fn finish(self) -> Result<Vec<Loss>> {
        self.finish_dataset().map(|(_, losses)| losses)
    }

    /// [Finishes](Self::finish) the dataset, and returns a summary as well.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn finish_dataset(self) -> Result<(WriteSummary, Vec<Loss>)> {
        if self.failed {
            return Err(Error::usage("writer finished after a failed write").in_format(FORMAT_NAME));
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
            return Err(Error::usage("batch schema differs from that of the writer"));
        }
        let columns = self.schema.fields().iter().zip(batch.columns());
        let nodes = columns.map(|(field, array)| named(field, Node::new(field, array)));
        let nodes = nodes.collect::<Result<Vec<Node>>>()?;
        for row in 0..batch.num_rows() {
            self.context.row = self.rows;
            let Self { message, context, names, .. } = self;
            message.clear();
            let omitted = self.key_column.filter(|_| self.only_key);
            let fields = nodes.len() + usize::from(self.keys != Keys::Key) - usize::from(omitted.is_some());
            put_map_header(message, u32::try_from(fields).map_err(|_| too_many(fields))?);
            if let Some(key) = key(&self.keys, self.key_column.and_then(|column| nodes.get(column)), row, self.rows)? {
                put_text(message, KEY)?;
                put_text(message, &key)?;
            }
            for (index, ((name, node), field)) in names.iter().zip(&nodes).zip(self.schema.fields()).enumerate() {
                if omitted == Some(index) {
                    continue;
                }
                message.extend_from_slice(name);
                let result = node.emit(row, message, context);
                result.map_err(|error| error.in_column(field.name().clone()))?;
            }
            self.writer.append_message(message).map_err(as_input_error)?;
            self.rows += 1;
        }
        Ok(())
    }
}

/// The key column, the encoded names of all columns, and the losses known in advance.
type WritePlan = (Option<usize>, Vec<Vec<u8>>, Vec<Loss>);

fn plan(schema: &SchemaRef, keys: &Keys) -> Result<WritePlan> {
    let mut losses = Vec::new();
    let mut unique = std::collections::HashSet::new();
    let mut names = Vec::new();
    for field in schema.fields() {
        if !unique.insert(field.name().as_str()) {
            return Err(Error::usage("duplicate column name").in_column(field.name().clone()));
        }
        let mut name = Vec::new();
        put_text(&mut name, field.name())?;
        names.push(name);
        // An empty array suffices to detect unsupported types.
        named(field, Node::new(field, &new_empty_array(field.data_type())))?;
        node::report_losses(field, &mut losses);
    }
    let find = |name: &str| schema.fields().iter().position(|field| field.name() == name);
    let column = match keys {
        Keys::Key => {
            let field = find(KEY).and_then(|at| schema.fields().get(at)).ok_or_else(|| {
                Error::usage("no column \"key\", which samples require")
                    .advising("{key} takes another column, {number} the row's number")
            })?;
            if !is_text(field.data_type()) {
                let found = field.data_type();
                return Err(
                    Error::usage(format!("sample keys: expected a string column, found {found}")).in_column(KEY)
                );
            }
            return Ok((None, names, losses));
        }
        Keys::Number => None,
        Keys::Column(name) => {
            let at = find(name).ok_or_else(|| Error::usage(format!("no column {name:?}")))?;
            let found = schema.fields().get(at).map_or(&DataType::Null, |field| field.data_type());
            if !is_text(found) && !found.is_integer() {
                let what = format!("sample keys: expected a string or integer column, found {found}");
                return Err(Error::usage(what).in_column(name.clone()));
            }
            Some(at)
        }
    };
    if find(KEY).is_some() {
        let error = Error::usage("column \"key\" conflicts with keys from elsewhere");
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

fn named<T>(field: &Field, result: Result<T>) -> Result<T> {
    result.map_err(|error| error.in_column(field.name().clone()).in_format(FORMAT_NAME))
}

/// The key of a row, unless it is a column itself.
fn key(keys: &Keys, column: Option<&Node<'_>>, at: usize, row: u64) -> Result<Option<String>> {
    match (keys, column) {
        (Keys::Number, _) => Ok(Some(format!("{row:010}"))),
        (Keys::Column(name), Some(column)) => match column.key(at) {
            Some(key) => Ok(Some(key)),
            None => Err(Error::invalid("null where a key is required").in_column(name.clone())),
        },
        _ => Ok(None),
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) -> Result<()> {
    put_str(out, text).map_err(|length| Error::limit("string length", length, u32::MAX.into()))
}

#[cold]
fn too_many(fields: usize) -> Error {
    Error::limit("number of fields", fields as u64, u32::MAX.into())
}

/// Turns a usage error of the dataset's writer into an error of the input rows.
#[cold]
fn as_input_error(error: Error) -> Error {
    if error.kind() != ErrorKind::Usage {
        return error;
    }
    let input_error = Error::invalid(error.detail().to_owned());
    match error.position().key.clone() {
        Some(key) => input_error.in_key(key),
        None => input_error,
    }
}

impl BatchWriter for ArrowWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        Self::write(self, batch)
    }

    fn finish(self: Box<Self>) -> Result<Vec<Loss>> {
        Self::finish(*self)
    }
}

impl std::fmt::Debug for ArrowWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArrowWriter").field("writer", &self.writer).field("rows", &self.rows).finish_non_exhaustive()
    }
}
