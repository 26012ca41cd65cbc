//! Text tables, rows of containers and other datasets into datadings datasets.

mod cells;
mod copy;
mod floats;
mod lines;
mod message;
mod rows;
#[cfg(test)]
mod tests;
mod words;

use std::ops::Range;

use container_core::{Error, ErrorKind, Loss, Progress, Result};
use datadings::Writer;

use super::{RECORDS, TextTable};
use crate::text::records::Form;
use crate::text::records::chunk::part;
use crate::workers::Workers;
use cells::Cells;
use lines::Lines;
use message::Messages;

pub use copy::copy_samples;
pub use rows::write_rows;

/// The member that is a sample's key.
const KEY: &str = "key";

/// What the keys of samples are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Keys {
    /// The column `key`, which is text.
    #[default]
    Key,
    /// A column of another name, of texts or integers: it stays as it is, and its text becomes `key`, in front of all others.
    Column(String),
    /// The number of the row, counted from 0 over all inputs, in ten digits: `key`, in front of all others.
    Number,
}

/// What becomes samples, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SampleOptions {
    /// What the keys are.
    pub keys: Keys,
    /// Rows, counted from 0 over all inputs; the default is all.
    pub rows: Range<u64>,
    /// Columns by name, in the order wanted; `None` for all. The column `key` is there in any case, in front where it is not among these.
    pub columns: Option<Vec<String>>,
    /// Cells of CSV stay the texts they are.
    pub only_text: bool,
}

impl Default for SampleOptions {
    fn default() -> Self {
        Self { keys: Keys::Key, rows: 0..u64::MAX, columns: None, only_text: false }
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

    /// The column whose text is the key; `None` where the row's number is.
    fn key_column(&self) -> Option<&str> {
        match &self.keys {
            Keys::Key => Some(KEY),
            Keys::Column(name) => Some(name),
            Keys::Number => None,
        }
    }

    /// Whether `key` comes from elsewhere than from the column of this name.
    fn makes_key(&self) -> bool {
        self.key_column() != Some(KEY)
    }

    /// Where a column stands in a sample; `None` where it is left out. Without a choice all stand as they come.
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

/// What [`TextTable::write_samples`], [`write_rows`] or [`copy_samples`] did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sampled {
    /// Samples written.
    pub rows: u64,
    /// Rows that were passed: all there are, unless the wanted ones end before.
    pub passed: u64,
    /// Of CSV the columns that were written and what their cells became: `int`, `float`, `bool`, `str`, `JSON` or `nil`.
    pub kinds: Vec<(String, &'static str)>,
    /// What the rows of a table could not show as they are.
    pub losses: Vec<Loss>,
}

impl TextTable {
    /// Writes rows as samples, in their order.
    ///
    /// JSON becomes what [`datadings::json::to_msgpack`] makes of it. Where it has the texts `NaN`, `Infinity` or `-Infinity` the input is read
    /// twice, and they become floats beside numbers: see [`datadings::json::FloatWords`]. For CSV the input is read twice: a column's cells
    /// become what they are in record batches (see [`text`](crate::text#arrow)), where dates and times stay texts. An empty cell is nil; in quotes, and
    /// where [`only_text`](SampleOptions::only_text) is set, an empty text.
    ///
    /// `progress` hears of bytes.
    ///
    /// # Errors
    /// What keeps the text from being read; a row without a key, with one that is no text, or with one that was there before, all with
    /// file and line: of all errors the first. [`Usage`](ErrorKind::Usage) for a column that does not exist. And those of
    /// the writer, which is not to be finished after any.
    pub fn write_samples(
        &self,
        writer: &mut Writer,
        options: &SampleOptions,
        progress: Option<&dyn Progress>,
    ) -> Result<Sampled> {
        let written = match self.options.form {
            Form::JsonLines => self.sample_lines(writer, options, progress),
            Form::Csv => self.sample_cells(writer, options, progress),
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
        let mut seen = vec![false; options.columns.as_ref().map_or(0, Vec::len)];
        let sampled = self.sample(
            writer,
            options,
            progress,
            |chunk, part, _| Ok(Lines::new(options, words.as_ref()).messages(chunk, &self.options, part)),
            |messages| {
                seen.iter_mut().zip(&messages.seen).for_each(|(seen, more)| *seen |= more);
            },
        )?;
        let missing = options.columns.iter().flatten().zip(&seen).find(|(_, seen)| !**seen);
        match missing {
            Some((name, _)) if sampled.rows > 0 => Err(no_column(name)),
            _ => Ok(sampled),
        }
    }

    fn sample_cells(
        &self,
        writer: &mut Writer,
        options: &SampleOptions,
        progress: Option<&dyn Progress>,
    ) -> Result<Sampled> {
        let kinds = if options.only_text { None } else { Some(self.words(&options.rows, progress)?) };
        let plan = std::sync::OnceLock::new();
        let mut sampled = self.sample(
            writer,
            options,
            progress,
            |chunk, part, names| {
                let plan = match plan.get() {
                    Some(plan) => plan,
                    None => {
                        let made = Cells::new(names, kinds.as_deref(), options)?;
                        plan.get_or_init(|| made)
                    }
                };
                Ok(plan.messages(chunk, &self.options, part))
            },
            |_| (),
        )?;
        let plan = match plan.into_inner() {
            Some(plan) => plan,
            // Without records what was asked for is looked at all the same.
            None => {
                let mut cutter = self.chunks(1);
                cutter.next()?;
                match cutter.names() {
                    Some(names) if self.options.header => Cells::new(names, kinds.as_deref(), options)?,
                    _ => return Ok(sampled),
                }
            }
        };
        sampled.kinds = plan.kinds();
        Ok(sampled)
    }

    /// Cuts the inputs, turns chunks into messages side by side, and writes them one after another.
    fn sample(
        &self,
        writer: &mut Writer,
        options: &SampleOptions,
        progress: Option<&dyn Progress>,
        make: impl Fn(&super::chunk::Chunk, &Range<u64>, &[String]) -> Result<Messages> + Send + Sync,
        mut each: impl FnMut(&Messages),
    ) -> Result<Sampled> {
        self.begin(progress);
        let workers = Workers::new(self.options.threads);
        let mut cutter = self.chunks(RECORDS);
        let mut sampled = Sampled::default();
        while sampled.passed < options.rows.end {
            let (chunks, failure) = Self::gather(cutter.as_mut(), &workers);
            let columns = cutter.names().unwrap_or_default();
            let made = workers.map(chunks.iter().collect(), |chunk| make(chunk, &part(&options.rows, chunk), columns));
            for (chunk, made) in chunks.iter().zip(made) {
                let messages = made.map_err(|error| self.name(error, chunk))?;
                for (message, place) in messages.iter() {
                    writer.append_message(message).map_err(|error| match error.kind() {
                        ErrorKind::Io => error,
                        _ => self.placed(of_input(error), place),
                    })?;
                }
                each(&messages);
                sampled.rows += messages.len();
                // What is wrong behind the last whole row.
                if let Some(error) = messages.error {
                    return Err(self.name(error, chunk));
                }
                sampled.passed = chunk.row + chunk.records;
                self.told(progress, chunk);
            }
            if sampled.passed < options.rows.end {
                failure?;
            }
            if chunks.is_empty() {
                break;
            }
        }
        Ok(sampled)
    }
}

/// What a writer refuses is the input's fault here, and the place in the input is the one that matters.
#[cold]
pub(super) fn of_input(error: Error) -> Error {
    let kind = if error.kind() == ErrorKind::Usage { ErrorKind::Invalid } else { error.kind() };
    let mut told = Error::new(kind, error.detail().to_owned());
    if let Some(key) = error.position().key.clone() {
        told = told.in_key(key);
    }
    match kind {
        ErrorKind::Io => error,
        _ => told,
    }
}

#[cold]
fn no_column(name: &str) -> Error {
    Error::usage(format!("there is no column {name:?}"))
}

/// There is a `key` that is not to be the key.
#[cold]
fn two_keys() -> Error {
    Error::invalid("there is a column \"key\" already, and the key is to come from elsewhere")
        .in_column(KEY)
        .advising("{columns} can leave it out")
}

/// A key that is no text.
#[cold]
fn no_key_text(found: &str, wanted: &str) -> Error {
    Error::invalid(format!("{found} where the key, {wanted}, is wanted"))
}

#[cold]
fn no_key(column: &str) -> Error {
    match column {
        KEY => Error::invalid("there is no \"key\", and a sample has one")
            .advising("{key} takes another column, {number} the row's number"),
        other => Error::invalid(format!("there is no {other:?}, which is to be the key")),
    }
}

/// The key of a row that has none of its own.
fn number(row: u64) -> String {
    format!("{row:010}")
}
