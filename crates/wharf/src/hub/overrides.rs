//! What is said of inputs that are text: what form they have, and what separates cells.

use crate::text::{TextContainer, TextForm, TextOptions};
use container_core::{Container, Error, ErrorKind, Format, Input, OpenOptions, Result};

/// What is said of inputs. The default is nothing: they are what content and names tell.
#[derive(Debug, Clone, Copy, Default)]
pub struct Overrides {
    /// The name of the format.
    pub format: Option<&'static str>,
    /// What stands between two cells.
    pub delimiter: Option<u8>,
    /// There is no line of names.
    pub no_header: bool,
    /// There is an option that says what inputs are: errors may name it.
    pub is_known: bool,
}

impl Overrides {
    /// Opens an input as is said of it; nothing where nothing is said.
    pub fn open(
        &self,
        input: &Input,
        formats: &[&'static dyn Format],
        options: &OpenOptions,
    ) -> Result<Option<Box<dyn Container>>> {
        let of_cells = self.delimiter.is_some() || self.no_header;
        if self.format.is_none() && !of_cells {
            return Ok(None);
        }
        let name = match self.format {
            Some(said) => said,
            None => container_core::detect(formats, input).map_err(|error| self.helped(error))?.name(),
        };
        let form = match name {
            "csv" => TextForm::Csv,
            "tsv" => TextForm::Tsv,
            other if of_cells => {
                let option = if self.delimiter.is_some() { "delimiter" } else { "no_header" };
                return Err(Error::usage(format!("does not go with inputs that are {other}")).in_option(option));
            }
            "jsonl" => TextForm::JsonLines,
            other => {
                let format = formats.iter().find(|format| format.name() == other);
                let unknown = || Error::unsupported(format!("the format {other} is not built in"));
                let opened = format.ok_or_else(unknown)?.open(input, options);
                return opened.map(Some).map_err(|error| error.in_format(name));
            }
        };
        let folder = || Error::usage("it is a folder where a file is wanted");
        let source = input.source().ok_or_else(folder)?.clone();
        let mut text = TextOptions::new(form).with_header(!self.no_header).with_limits(options.limits);
        if let Some(delimiter) = self.delimiter {
            text = text.with_delimiter(delimiter)?;
        }
        let opened = TextContainer::open(source, &text).map_err(|error| error.in_format(name))?;
        Ok(Some(Box::new(opened)))
    }

    /// An error that an unknown format is, with what helps.
    pub fn helped(&self, error: Error) -> Error {
        if !self.is_known || error.kind() != ErrorKind::Unsupported || error.format().is_some() {
            return error;
        }
        error.advising("of text, {from} jsonl, csv or tsv says what it is")
    }
}
