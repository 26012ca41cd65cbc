//! Declared properties of text inputs: format, delimiter, header.

use std::collections::HashMap;
use std::sync::Arc;

use crate::text::{CellProfile, ColumnKind, TextContainer, TextFormat, TextOptions};
use container_core::{Container, Error, ErrorKind, Format, Input, OpenOptions, Result};

/// What is declared about inputs. By default nothing: formats are detected by content and name.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// The name of the format.
    pub format: Option<&'static str>,
    /// The delimiter between two cells.
    pub delimiter: Option<u8>,
    /// There is no header line.
    pub no_header: bool,
    /// The caller has an option that declares the format: errors can advise it.
    pub is_known: bool,
    /// The types of columns over all CSV inputs that are read together.
    pub(super) kinds: Option<Arc<HashMap<String, ColumnKind>>>,
}

impl Overrides {
    /// Opens an input as declared; `None` when nothing is declared.
    pub fn open(
        &self,
        input: &Input,
        formats: &[&'static dyn Format],
        options: &OpenOptions,
    ) -> Result<Option<Box<dyn Container>>> {
        if self.format.is_none() && !self.is_of_cells() && self.kinds.is_none() {
            return Ok(None);
        }
        let name = self.name(input, formats)?;
        if let Some(text) = self.text(name, input, options)? {
            return Ok(Some(Box::new(text)));
        }
        let format = formats.iter().find(|format| format.name() == name);
        let unknown = || Error::unsupported(format!("unknown format {name}"));
        let opened = format.ok_or_else(unknown)?.open(input, options);
        opened.map(Some).map_err(|error| error.in_format(name))
    }

    /// Adds the column types of an input, if it is CSV or TSV, and returns the number of its rows.
    pub(super) fn add_cells(
        &self,
        input: &Input,
        formats: &[&'static dyn Format],
        options: &OpenOptions,
        threads: usize,
        cells: &mut HashMap<String, CellProfile>,
    ) -> Result<u64> {
        let name = self.name(input, formats)?;
        match self.text(name, input, options)? {
            Some(text) if name != TextFormat::JsonLines.name() => text.add_cells(threads, cells),
            _ => Ok(0),
        }
    }

    /// Whether something is declared that only CSV and TSV have.
    fn is_of_cells(&self) -> bool {
        self.delimiter.is_some() || self.no_header
    }

    /// The format of an input.
    fn name(&self, input: &Input, formats: &[&'static dyn Format]) -> Result<&'static str> {
        match self.format {
            Some(declared) => Ok(declared),
            None => Ok(container_core::detect(formats, input).map_err(|error| self.with_advice(error))?.name()),
        }
    }

    /// Opens an input of a text format; `None` for other formats.
    fn text(&self, name: &'static str, input: &Input, options: &OpenOptions) -> Result<Option<TextContainer>> {
        let form = TextFormat::named(name);
        if self.is_of_cells() && !form.is_some_and(TextFormat::is_cells) {
            let option = if self.delimiter.is_some() { "delimiter" } else { "no_header" };
            return Err(Error::usage(format!("does not go with inputs that are {name}")).in_option(option));
        }
        let Some(form) = form else { return Ok(None) };
        let folder = || Error::usage("expected a file, found a folder");
        let source = input.source().ok_or_else(folder)?.clone();
        let mut text = TextOptions::new(form).with_header(!self.no_header).with_limits(options.limits);
        if let Some(delimiter) = self.delimiter {
            text = text.with_delimiter(delimiter)?;
        }
        let opened = TextContainer::open(source, &text).map_err(|error| error.in_format(name))?;
        Ok(Some(match &self.kinds {
            Some(kinds) => opened.with_kinds(kinds),
            None => opened,
        }))
    }

    /// Adds advice to the error for an unrecognized format.
    pub fn with_advice(&self, error: Error) -> Error {
        if !self.is_known || error.kind() != ErrorKind::Unsupported || error.format().is_some() {
            return error;
        }
        error.advising("for text, {from} jsonl, csv or tsv declares the format")
    }
}
