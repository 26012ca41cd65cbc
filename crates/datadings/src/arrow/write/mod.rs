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
use container_core::{Error, ErrorKind, Limits, Loss, Result};

use self::emit::Context;
use self::node::{Node, depth_around};
use crate::FORMAT_NAME;
use crate::wire::{put_map_header, put_str};
use crate::write::encoded::{EncodedSamples, check_message};
use crate::write::{WriteSummary, Writer};

/// The field that holds a sample's key.
const KEY: &str = "key";

/// Elements of lists and values of dictionaries that are checked in advance, per row. A slice of a large batch shares all of them.
const MAX_SHARED_TEXTS: usize = 16;

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
    /// The column of [`Keys::Key`] or [`Keys::Column`].
    key_column: Option<usize>,
    /// The encoded names of all columns.
    names: Vec<Vec<u8>>,
    first_row: u64,
    context: Context,
    failed: bool,
}

impl ArrowWriter {
    /// Creates a dataset for batches of this schema. All of its files appear with [`finish`](Self::finish).
    ///
    /// # Errors
    /// [`Unsupported`](ErrorKind::Unsupported) for unsupported column types; [`Usage`](ErrorKind::Usage) for duplicate column names, a
    /// missing key column or one of the wrong type, and a column `key` if keys come from elsewhere; errors of [`Writer::create`].
    pub fn create(path: impl AsRef<Path>, schema: SchemaRef, options: WriterOptions) -> Result<Self> {
        let WriterOptions { mut keys, only_key, first_row, dataset } = options;
        if matches!(&keys, Keys::Column(name) if name == KEY) {
            keys = Keys::Key;
        }
        let plan = plan(&schema, &keys).map_err(|error| error.in_format(FORMAT_NAME));
        let (key_column, names, losses) = plan?;
        let writer = Writer::create(path, dataset)?;
        let context = Context::new(losses);
        Ok(Self { writer, schema, keys, only_key, key_column, names, first_row, context, failed: false })
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
        self.write_rows(batch).map_err(|error| match error.kind() {
            ErrorKind::Usage | ErrorKind::Io => error.in_format(FORMAT_NAME),
            _ => error.in_row(self.next_row()).in_format(FORMAT_NAME),
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
        let first_row = self.next_row();
        let Self { writer, schema, keys, only_key, key_column, names, context, .. } = self;
        let columns = schema.fields().iter().zip(batch.columns());
        let columns = columns.map(|(field, array)| named(field, Node::new(field, array)));
        let columns = columns.collect::<Result<Vec<Node<'_>>>>()?;
        // Most columns need no check; messages of the others are checked one by one.
        let max_texts = batch.num_rows().saturating_mul(MAX_SHARED_TEXTS);
        let limits = writer.options.limits;
        let is_valid = depth_around(&columns, max_texts).is_some_and(|depth| depth <= limits.depth);
        let has_key = *keys == Keys::Key;
        let omitted = key_column.filter(|_| *only_key && !has_key);
        let fields = columns.len() + usize::from(!has_key) - usize::from(omitted.is_some());
        let mut head = Vec::new();
        put_map_header(&mut head, u32::try_from(fields).map_err(|_| too_many(fields))?);
        if !has_key {
            put_text(&mut head, KEY)?;
        }
        let rows = Rows {
            head: &head,
            columns: &columns,
            names,
            keys: Some(&*keys).filter(|_| !has_key),
            key_column: *key_column,
            omitted,
            limits,
            is_valid,
        };
        let appended = writer.append_encoded(batch.num_rows(), |sink| {
            for (at, row) in (0..batch.num_rows()).zip(first_row..) {
                context.row = row;
                let encoded = rows.encode(at, &mut sink.samples, context);
                if encoded.is_err() || sink.is_full() {
                    // Before the error of this row come those of earlier rows, such as duplicate keys.
                    sink.flush()?;
                    encoded?;
                }
            }
            sink.flush()
        });
        appended.map_err(as_input_error)
    }

    /// The number of the next row.
    fn next_row(&self) -> u64 {
        self.first_row + self.writer.len()
    }
}

/// The rows of a batch.
struct Rows<'a> {
    /// What every sample begins with: the header of the map, and the name of the key if it is no column.
    head: &'a [u8],
    columns: &'a [Node<'a>],
    /// The encoded names of the columns.
    names: &'a [Vec<u8>],
    /// Where keys come from, unless from the column `key`.
    keys: Option<&'a Keys>,
    key_column: Option<usize>,
    /// The column that is left out.
    omitted: Option<usize>,
    limits: Limits,
    /// Messages need no check apart from their length.
    is_valid: bool,
}

impl Rows<'_> {
    /// Appends the sample of a row.
    #[inline]
    fn encode(&self, at: usize, samples: &mut EncodedSamples, context: &mut Context) -> Result<()> {
        let out = &mut samples.bytes;
        out.extend_from_slice(self.head);
        let mut key = 0..0;
        if let Some(keys) = self.keys {
            key.start = out.len();
            context.put_key(keys, self.key_column.and_then(|column| self.columns.get(column)), at, out)?;
            key.end = out.len();
        }
        for (index, (name, column)) in self.names.iter().zip(self.columns).enumerate() {
            if self.omitted == Some(index) {
                continue;
            }
            out.extend_from_slice(name);
            let start = out.len();
            column.emit(at, out, context)?;
            if self.keys.is_none() && self.key_column == Some(index) {
                key = start..out.len();
            }
        }
        match self.is_valid {
            true => self.limits.check_block("sample length", samples.unfinished().len() as u64)?,
            false => check_message(&self.limits, samples.unfinished())?,
        }
        samples.push(key)
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
            return Ok((find(KEY), names, losses));
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
        f.debug_struct("ArrowWriter").field("writer", &self.writer).finish_non_exhaustive()
    }
}
