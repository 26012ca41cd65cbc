//! Writes text tables, rows of containers and datasets as datadings samples.

mod copy;
mod csv;
mod float_words;
mod json;
mod message;
mod rows;
mod sample_types;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use container_core::{Error, ErrorKind, Loss, Progress, Result};
use datadings::Writer;

use super::TextTable;
use crate::text::TextFormat;
use crate::text::records::chunk::rows_in_chunk;
use csv::CsvSamples;
use json::JsonSamples;
use message::Messages;

pub use copy::copy_samples;
pub use rows::write_rows;

/// The name of the member that holds a sample's key.
const KEY: &str = "key";

/// Where the keys of samples come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Keys {
    /// The text column `key`.
    #[default]
    Key,
    /// Another column, of text or integers. It is kept; a copy of its text becomes `key`, the first member.
    Column(String),
    /// The row number, counted from 0 over all inputs, in ten digits; `key` is the first member.
    Number,
}

/// Options for writing samples.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SampleOptions {
    /// Where keys come from.
    pub keys: Keys,
    /// Row range, counted from 0 over all inputs; all by default.
    pub rows: Range<u64>,
    /// Names of the columns to write, in this order; `None` for all. `key` is always written, as the first member if not listed.
    pub columns: Option<Vec<String>>,
    /// Keep all CSV cells as text.
    pub only_text: bool,
    /// Only these of the rows, by their numbers, in ascending order.
    picked: Option<Picked>,
}

/// Some rows.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Picked {
    /// Their numbers, in ascending order.
    rows: Arc<[u64]>,
    /// Which of them.
    range: Range<u64>,
}

impl Default for SampleOptions {
    fn default() -> Self {
        Self { keys: Keys::Key, rows: 0..u64::MAX, columns: None, only_text: false, picked: None }
    }
}

impl SampleOptions {
    /// Replaces [`keys`](Self::keys).
    #[must_use]
    pub fn with_keys(mut self, keys: Keys) -> Self {
        self.keys = keys;
        self
    }

    /// Replaces [`rows`](Self::rows).
    #[must_use]
    pub fn with_rows(mut self, rows: Range<u64>) -> Self {
        self.rows = rows;
        self
    }

    /// Replaces [`columns`](Self::columns).
    #[must_use]
    pub fn with_columns(mut self, columns: Option<Vec<String>>) -> Self {
        self.columns = columns;
        self
    }

    /// Replaces [`only_text`](Self::only_text).
    #[must_use]
    pub fn with_only_text(mut self, yes: bool) -> Self {
        self.only_text = yes;
        self
    }

    /// Selects some rows by their numbers, in ascending order; the [range](Self::rows) so far counts these.
    pub(crate) fn with_picked(mut self, rows: Vec<u64>) -> Self {
        let range = std::mem::replace(&mut self.rows, 0..u64::MAX);
        self.picked = Some(Picked { rows: rows.into(), range });
        self
    }

    /// The position of a row among those that are written, as a key made from row numbers has it; `None` for a row that is not.
    fn position(&self, row: u64) -> Option<u64> {
        match &self.picked {
            None => Some(row),
            Some(Picked { rows, range }) => {
                let position = rows.binary_search(&row).ok()? as u64;
                Some(position).filter(|position| range.contains(position))
            }
        }
    }

    /// The column whose text is the key; `None` for row numbers.
    fn key_column(&self) -> Option<&str> {
        match &self.keys {
            Keys::Key => Some(KEY),
            Keys::Column(name) => Some(name),
            Keys::Number => None,
        }
    }

    /// Whether `key` is made from something other than the column `key`.
    fn makes_key(&self) -> bool {
        self.key_column() != Some(KEY)
    }

    /// The rank of a column in a sample; `None` if it is not selected. Without a projection, columns keep their order.
    fn rank(&self, name: &str, next: usize) -> Option<usize> {
        match &self.columns {
            None => Some(next),
            Some(columns) => match columns.iter().position(|column| column == name) {
                Some(rank) => Some(rank + 1),
                None => (name == KEY && !self.makes_key()).then_some(0),
            },
        }
    }
}

/// The outcome of [`TextTable::write_samples`], [`write_rows`] or [`copy_samples`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sampled {
    /// Samples written.
    pub rows: u64,
    /// Rows read, including skipped ones: all rows, unless the range ends earlier.
    pub passed: u64,
    /// For CSV, the columns written and the types of their values: `int`, `float`, `bool`, `str`, `JSON` or `nil`.
    pub kinds: Vec<(String, &'static str)>,
    /// What the rows of a table could not represent.
    pub losses: Vec<Loss>,
}

impl TextTable {
    /// Writes rows as samples, in order.
    ///
    /// JSON is converted by [`datadings::json::to_msgpack`]. If it has the strings `NaN`, `Infinity` or `-Infinity`, the input is read twice,
    /// and they become floats in columns of numbers: see [`datadings::json::FloatWords`]. CSV is always read twice: cells get their column's
    /// type in record batches (see [`text`](crate::text#arrow)), except that dates and times stay text. An empty cell is nil; quoted, or with
    /// [`only_text`](SampleOptions::only_text), it is an empty string.
    ///
    /// Progress is reported in bytes.
    ///
    /// # Errors
    /// The first error in the text, with file and line: invalid text, or a row whose key is missing, not text, or a duplicate.
    /// [`Usage`](ErrorKind::Usage) for an unknown column. Errors of the writer. Do not finish the writer after an error.
    pub fn write_samples(
        &self,
        writer: &mut Writer,
        options: &SampleOptions,
        progress: Option<&dyn Progress>,
    ) -> Result<Sampled> {
        let written = match self.options.format {
            TextFormat::JsonLines => self.sample_lines(writer, options, progress),
            TextFormat::Csv | TextFormat::Tsv => self.sample_cells(writer, options, progress),
        };
        written.map_err(|error| error.in_format(self.format()))
    }

    fn sample_lines(
        &self,
        writer: &mut Writer,
        options: &SampleOptions,
        progress: Option<&dyn Progress>,
    ) -> Result<Sampled> {
        let words = self.float_words(&options.rows, progress)?;
        let mut present = vec![false; options.columns.as_ref().map_or(0, Vec::len)];
        let sampled = self.write_chunks(
            writer,
            options,
            progress,
            |chunk, part, _| Ok(JsonSamples::new(options, words.as_ref()).messages(chunk, &self.options, part)),
            |messages| {
                present.iter_mut().zip(&messages.present).for_each(|(present, more)| *present |= more);
            },
        )?;
        let missing = options.columns.iter().flatten().zip(&present).find(|(_, present)| !**present);
        match missing {
            Some((name, _)) if sampled.rows > 0 => Err(unknown_column(name)),
            _ => Ok(sampled),
        }
    }

    fn sample_cells(
        &self,
        writer: &mut Writer,
        options: &SampleOptions,
        progress: Option<&dyn Progress>,
    ) -> Result<Sampled> {
        let types = if options.only_text { None } else { Some(self.infer_types(&options.rows, progress)?) };
        let samples = std::sync::OnceLock::new();
        let mut sampled = self.write_chunks(
            writer,
            options,
            progress,
            |chunk, part, names| {
                let samples = match samples.get() {
                    Some(samples) => samples,
                    None => {
                        let made = CsvSamples::new(names, types.as_deref(), options)?;
                        samples.get_or_init(|| made)
                    }
                };
                Ok(samples.messages(chunk, &self.options, part))
            },
            |_| (),
        )?;
        let samples = match samples.into_inner() {
            Some(samples) => samples,
            // Without records the options are checked all the same.
            None => {
                let mut chunker = self.chunks(1);
                chunker.next()?;
                match chunker.names() {
                    Some(names) if self.options.header => CsvSamples::new(names, types.as_deref(), options)?,
                    _ => return Ok(sampled),
                }
            }
        };
        sampled.kinds = samples.kinds();
        Ok(sampled)
    }

    /// Reads chunks, converts them to messages in parallel, and writes these in order.
    fn write_chunks(
        &self,
        writer: &mut Writer,
        options: &SampleOptions,
        progress: Option<&dyn Progress>,
        make: impl Fn(&super::chunk::Chunk, &Range<u64>, &[String]) -> Result<Messages> + Send + Sync,
        mut each: impl FnMut(&Messages),
    ) -> Result<Sampled> {
        let mut sampled = Sampled::default();
        let make = |chunk: &super::chunk::Chunk, columns: &[String]| {
            make(chunk, &rows_in_chunk(&options.rows, chunk), columns)
        };
        (sampled.passed, _) = self.each_chunk(options.rows.end, progress, make, |chunk, made| {
            let messages = made.map_err(|error| self.with_input_name(error, chunk))?;
            for (message, location) in messages.iter() {
                writer.append_message(message).map_err(|error| match error.kind() {
                    ErrorKind::Io => error,
                    _ => self.locate_error(as_input_error(error), location),
                })?;
            }
            each(&messages);
            sampled.rows += messages.len();
            // The error behind the last valid row.
            messages.error.map_or(Ok(()), |error| Err(self.with_input_name(error, chunk)))
        })?;
        Ok(sampled)
    }
}

/// Turns an error of the writer into one of the input: the input's data was rejected, and its position is what matters.
#[cold]
pub(super) fn as_input_error(error: Error) -> Error {
    let kind = if error.kind() == ErrorKind::Usage { ErrorKind::Invalid } else { error.kind() };
    let mut input_error = Error::new(kind, error.detail().to_owned());
    if let Some(key) = error.position().key.clone() {
        input_error = input_error.in_key(key);
    }
    match kind {
        ErrorKind::Io => error,
        _ => input_error,
    }
}

#[cold]
fn unknown_column(name: &str) -> Error {
    Error::usage(format!("no column {name:?}"))
}

/// A column `key` exists, but the key comes from elsewhere.
#[cold]
fn duplicate_key_column() -> Error {
    Error::invalid("the column \"key\" exists already, and another key was requested")
        .in_column(KEY)
        .advising("{columns} can leave it out")
}

/// A key that is not text.
#[cold]
fn key_not_text(found: &str, expected: &str) -> Error {
    Error::invalid(format!("key: expected {expected}, found {found}"))
}

#[cold]
fn missing_key(column: &str) -> Error {
    match column {
        KEY => Error::invalid("missing \"key\", which every sample needs")
            .advising("{key} takes another column, {number} the row's number"),
        other => Error::invalid(format!("missing {other:?}, the key column")),
    }
}

/// The key made from a row number.
fn row_key(row: u64) -> String {
    format!("{row:010}")
}
