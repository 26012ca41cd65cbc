//! What is said of inputs that are text: what form they have, and what separates cells.

use std::collections::HashMap;
use std::sync::Arc;

use crate::text::{CellProfile, ColumnKind, TextContainer, TextFormat, TextOptions};
use container_core::{Container, Error, ErrorKind, Format, Input, OpenOptions, Result};

/// What is said of inputs. The default is nothing: they are what content and names tell.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// The name of the format.
    pub format: Option<&'static str>,
    /// What stands between two cells.
    pub delimiter: Option<u8>,
    /// There is no line of names.
    pub no_header: bool,
    /// There is an option that says what inputs are: errors may name it.
    pub is_known: bool,
    /// What the cells of a column are in all inputs of CSV that are read together.
    pub(super) kinds: Option<Arc<HashMap<String, ColumnKind>>>,
}

impl Overrides {
    /// Opens an input as is said of it; nothing where nothing is said.
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
        let unknown = || Error::unsupported(format!("the format {name} is not built in"));
        let opened = format.ok_or_else(unknown)?.open(input, options);
        opened.map(Some).map_err(|error| error.in_format(name))
    }

    /// Adds what the cells of an input are, if it is CSV, and says how many rows it has.
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

    /// Something is said that only cells can be.
    fn is_of_cells(&self) -> bool {
        self.delimiter.is_some() || self.no_header
    }

    /// The name of an input's format.
    fn name(&self, input: &Input, formats: &[&'static dyn Format]) -> Result<&'static str> {
        match self.format {
            Some(said) => Ok(said),
            None => Ok(container_core::detect(formats, input).map_err(|error| self.helped(error))?.name()),
        }
    }

    /// An input of this format as the text that it is; nothing where it is none.
    fn text(&self, name: &'static str, input: &Input, options: &OpenOptions) -> Result<Option<TextContainer>> {
        let form = match name {
            "csv" => TextFormat::Csv,
            "tsv" => TextFormat::Tsv,
            other if self.is_of_cells() => {
                let option = if self.delimiter.is_some() { "delimiter" } else { "no_header" };
                return Err(Error::usage(format!("does not go with inputs that are {other}")).in_option(option));
            }
            "jsonl" => TextFormat::JsonLines,
            _ => return Ok(None),
        };
        let folder = || Error::usage("it is a folder where a file is wanted");
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

    /// An error that an unknown format is, with what helps.
    pub fn helped(&self, error: Error) -> Error {
        if !self.is_known || error.kind() != ErrorKind::Unsupported || error.format().is_some() {
            return error;
        }
        error.advising("of text, {from} jsonl, csv or tsv says what it is")
    }
}
