//! Options of inputs that are text, and the tables they are.

use std::path::PathBuf;

use clap::ValueEnum;
use container_core::{Error, Result};
use wharf::convert::import::TextTable;

use super::super::said::Said;
use super::Form;
use super::source::{Kind, Opened};

/// What the inputs are said to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum From {
    /// JSON lines, or one array of objects
    Jsonl,
    /// Comma-separated values
    Csv,
    /// Tab-separated values
    Tsv,
    /// IDV
    Idv,
    /// datadings
    Datadings,
    /// A ZIP archive of files
    Zip,
}

/// How inputs are read that are text.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Options for inputs of text")]
pub(super) struct Text {
    /// What the inputs are, where neither content nor extension says it
    #[arg(long, value_enum, value_name = "FORM")]
    pub(super) from: Option<From>,

    /// CSV and TSV have no line of names: columns are called c0, c1, ...
    #[arg(long)]
    no_header: bool,

    /// What stands between two cells of CSV
    #[arg(long, value_name = "CHARACTER")]
    delimiter: Option<char>,

    /// The types of the columns of a text, and, into Parquet and Arrow IPC, of datadings and ZDS: {"age": "Single"}, the
    /// `wharf info --json` of a file that has them, or that file. Types have the names that IDV has for them; into Parquet and Arrow IPC
    /// those of Arrow, too: {"at": "Timestamp(us)"}. Without, they are inferred from all rows
    #[arg(long, value_name = "FILE")]
    pub(super) schema: Option<PathBuf>,
}

impl Text {
    /// Fails when one of these is given for an output that is written from containers alone.
    pub(super) fn refuse(&self, form: Form) -> Result<()> {
        let text = matches!(self.from, Some(From::Jsonl | From::Csv | From::Tsv));
        let given = [("--from", text), ("--no-header", self.no_header), ("--delimiter", self.delimiter.is_some())];
        super::refuse(&given, "outputs other than netcdf", form)
    }

    /// Fails when types of columns are given for an output that does not take them.
    pub(super) fn refuse_schema(&self, form: Form) -> Result<()> {
        super::refuse(&[("--schema", self.schema.is_some())], "the outputs idv, parquet, arrow and arrows", form)
    }

    /// What is said of inputs that are opened as containers.
    pub(super) fn said(&self, form: Form) -> Result<Said> {
        let format = match self.from {
            None => None,
            Some(From::Jsonl) => Some("jsonl"),
            Some(From::Csv) => Some("csv"),
            Some(From::Tsv) => Some("tsv"),
            Some(From::Idv) => Some("idv"),
            Some(From::Datadings) => Some("datadings"),
            Some(From::Zip) => {
                super::refuse(&[("--from zip", true)], "the output datadings", form)?;
                None
            }
        };
        Ok(Said { format, delimiter: self.delimiter()?, no_header: self.no_header, is_known: true })
    }

    fn delimiter(&self) -> Result<Option<u8>> {
        let Some(delimiter) = self.delimiter else { return Ok(None) };
        let byte = u8::try_from(delimiter).ok().filter(u8::is_ascii);
        byte.map(Some).ok_or_else(|| Error::usage(format!("the delimiter {delimiter:?} is no ASCII")))
    }

    /// Fails when an option does not go with what the inputs are.
    pub(super) fn check(&self, kind: Kind) -> Result<()> {
        let csv = matches!(kind, Kind::Csv | Kind::Tsv);
        let wrong = [("--no-header", self.no_header && !csv), ("--delimiter", self.delimiter.is_some() && !csv)];
        does_not_go(&wrong, kind)
    }

    /// The table that inputs of text are.
    pub(super) fn table(&self, kind: Kind, inputs: Vec<Opened>, threads: usize) -> Result<TextTable> {
        let mut table = match kind {
            Kind::Csv => TextTable::csv(),
            Kind::Tsv => TextTable::csv().with_delimiter(b'\t')?,
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
pub(super) fn does_not_go(wrong: &[(&str, bool)], kind: Kind) -> Result<()> {
    match wrong.iter().find(|(_, wrong)| *wrong) {
        Some((option, _)) => Err(Error::usage(format!("{option} does not go with inputs that are {kind}"))),
        None => Ok(()),
    }
}

/// How the inputs of a command are called together.
pub(super) fn together(inputs: &[Opened]) -> String {
    match inputs {
        [one] => one.name.clone(),
        [first, others @ ..] => format!("{} and {} more", first.name, others.len()),
        [] => String::new(),
    }
}
