//! Text inputs as tables.

use container_core::{Error, Result};

use super::super::Overrides;
use super::options::{InputForm, TextInput};
use super::source::{Kind, Opened};
use crate::convert::import::TextTable;
use crate::text::TextFormat;

impl TextInput {
    /// The declared properties, for inputs that are opened as containers.
    ///
    /// # Errors
    /// The delimiter is not ASCII.
    pub(in crate::hub) fn overrides(&self) -> Result<Overrides> {
        Ok(Overrides {
            format: self.from.map(InputForm::name),
            delimiter: self.delimiter()?,
            no_header: self.no_header,
            is_known: true,
            ..Overrides::default()
        })
    }

    fn delimiter(&self) -> Result<Option<u8>> {
        let Some(delimiter) = self.delimiter else { return Ok(None) };
        let byte = u8::try_from(delimiter).ok().filter(u8::is_ascii);
        byte.map(Some).ok_or_else(|| Error::usage(format!("the delimiter must be ASCII, found {delimiter:?}")))
    }

    /// Fails for an option that does not go with the inputs.
    pub(super) fn check(&self, kind: Kind) -> Result<()> {
        let csv = kind.is_cells();
        let wrong = [("no_header", self.no_header && !csv), ("delimiter", self.delimiter.is_some() && !csv)];
        does_not_go(&wrong, kind)
    }

    /// The text inputs as one table.
    pub(super) fn table(&self, kind: Kind, inputs: Vec<Opened>, threads: usize) -> Result<TextTable> {
        let mut table = match kind {
            Kind::Text(TextFormat::Csv) => TextTable::csv(),
            Kind::Text(TextFormat::Tsv) => TextTable::csv().with_delimiter(b'\t')?,
            _ => TextTable::json_lines(),
        };
        if let Some(delimiter) = self.delimiter()? {
            table = table.with_delimiter(delimiter)?;
        }
        table = table.with_header(!self.no_header).with_threads(threads);
        for input in inputs {
            let source = input.source()?.clone();
            table.push(input.name, source);
        }
        Ok(table)
    }
}

/// Fails for the first option that does not go with the inputs.
pub(super) fn does_not_go(wrong: &[(&'static str, bool)], kind: Kind) -> Result<()> {
    refuse(wrong, &kind.to_string())
}

/// As [`does_not_go`], with a description of the inputs.
pub(super) fn refuse(wrong: &[(&'static str, bool)], inputs: &str) -> Result<()> {
    match wrong.iter().find(|(_, wrong)| *wrong) {
        Some((option, _)) => Err(Error::usage(format!("does not go with inputs that are {inputs}")).in_option(option)),
        None => Ok(()),
    }
}

/// A name for all inputs of a conversion.
pub(super) fn together(inputs: &[Opened]) -> String {
    match inputs {
        [one] => one.name.clone(),
        [first, others @ ..] => format!("{} and {} more", first.name, others.len()),
        [] => String::new(),
    }
}
