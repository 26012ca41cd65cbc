//! CSV records as samples.

use std::collections::HashMap;
use std::ops::Range;

use container_core::{Error, Result};

use super::message::{Messages, write_sample};
use super::sample_types::SampleType;
use super::{KEY, SampleOptions, duplicate_key_column, missing_key, row_key, unknown_column};
use crate::text::records::Options;
use crate::text::records::chunk::Chunk;
use crate::text::records::location::Location;
use crate::text::records::record::{RecordVisitor, visit_records};

/// Maps the cells of a record to the fields of a sample.
pub(super) struct CsvSamples {
    names: Vec<String>,
    types: Vec<SampleType>,
    /// Cells that become fields, in the order written.
    order: Vec<usize>,
    /// Whether each cell is written.
    written: Vec<bool>,
    /// The key's cell; `None` for row numbers.
    key: Option<usize>,
    /// The key is written before the fields.
    makes_key: bool,
    /// Which records are selected.
    options: SampleOptions,
}

impl CsvSamples {
    /// `names` and `types` are those of all cells; without `types` all cells are text.
    pub(super) fn new(names: &[String], types: Option<&[SampleType]>, options: &SampleOptions) -> Result<Self> {
        // The first of cells with duplicate names is used.
        let by_name: HashMap<&str, usize> = names.iter().enumerate().rev().map(|(at, name)| (&**name, at)).collect();
        let find = |name: &str| by_name.get(name).copied();
        let key = match options.key_column() {
            None => None,
            Some(KEY) => Some(find(KEY).ok_or_else(|| missing_key(KEY))?),
            Some(column) => Some(find(column).ok_or_else(|| unknown_column(column))?),
        };
        let mut order = Vec::new();
        for name in options.columns.iter().flatten() {
            order.push(find(name).ok_or_else(|| unknown_column(name))?);
        }
        if options.columns.is_none() {
            order.extend(0..names.len());
        }
        let makes_key = options.makes_key();
        match key.filter(|_| !makes_key) {
            Some(key) if !order.contains(&key) => order.insert(0, key),
            Some(_) => {}
            None if find(KEY).is_some_and(|key| order.contains(&key)) => return Err(duplicate_key_column()),
            None => {}
        }
        let mut types = types.map_or_else(|| vec![SampleType::Verbatim; names.len()], <[SampleType]>::to_vec);
        types.resize(names.len(), SampleType::Nil);
        if let Some(sample_type) = key.filter(|_| !makes_key).and_then(|key| types.get_mut(key)) {
            *sample_type = SampleType::Verbatim;
        }
        let mut written = vec![false; names.len()];
        for &cell in &order {
            written.get_mut(cell).into_iter().for_each(|written| *written = true);
        }
        Ok(Self { names: names.to_vec(), types, order, written, key, makes_key, options: options.clone() })
    }

    /// The columns written, and their types.
    pub(super) fn kinds(&self) -> Vec<(String, &'static str)> {
        let kind = |&cell: &usize| Some((self.names.get(cell)?.clone(), self.types.get(cell)?.name()));
        self.order.iter().filter_map(kind).collect()
    }

    /// The samples of selected records, up to the first error.
    pub(super) fn messages(&self, chunk: &Chunk, options: &Options, selected: &Range<u64>) -> Messages {
        let mut visitor = SampleVisitor {
            samples: self,
            row: chunk.row + selected.start,
            position: None,
            location: chunk.start,
            key: String::new(),
            values: Vec::new(),
            ends: Vec::new(),
            messages: Messages::default(),
        };
        let outcome = visit_records(chunk, options, self.names.len(), selected, &mut visitor);
        visitor.messages.error = outcome.err();
        visitor.messages
    }
}

struct SampleVisitor<'a> {
    samples: &'a CsvSamples,
    row: u64,
    /// Its position in the output; `None` for a record that is not selected.
    position: Option<u64>,
    location: Location,
    key: String,
    values: Vec<u8>,
    /// Where each cell's value ends.
    ends: Vec<usize>,
    messages: Messages,
}

impl RecordVisitor for SampleVisitor<'_> {
    fn begin(&mut self, location: Location) {
        self.location = location;
        self.position = self.samples.options.position(self.row);
        self.row += 1;
        self.values.clear();
        self.ends.clear();
    }

    fn cell(&mut self, index: usize, text: &str, quoted: bool, _: Location) -> Result<()> {
        if self.position.is_none() {
            return Ok(());
        }
        let named = |error: Error| match self.samples.names.get(index) {
            Some(name) => error.in_column(name.clone()),
            None => error,
        };
        if self.samples.key == Some(index) {
            if text.is_empty() {
                return Err(named(Error::invalid("key: expected text, found an empty cell")));
            }
            self.key.clear();
            self.key.push_str(text);
        }
        if self.samples.written.get(index) == Some(&true) {
            let sample_type = self.samples.types.get(index).copied().unwrap_or(SampleType::Verbatim);
            sample_type.write(text, quoted, &mut self.values).map_err(named)?;
        }
        self.ends.push(self.values.len());
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        let Some(position) = self.position else { return Ok(()) };
        let number = self.samples.key.is_none().then(|| row_key(position));
        let key = match &number {
            Some(number) => Some(number.as_str()),
            None => self.samples.makes_key.then_some(self.key.as_str()),
        };
        let fields = self.samples.order.iter().map(|&cell| {
            let name = self.samples.names.get(cell).map(String::as_str).unwrap_or_default();
            let start = cell.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
            let end = self.ends.get(cell).copied().unwrap_or(start);
            (name, self.values.get(start..end).unwrap_or_default())
        });
        self.messages.push(self.location, |out| write_sample(out, key, fields))
    }
}
