//! Errors, warnings and notes on standard error.

use std::fmt::Display;
use std::io::Write;

use clap::builder::StyledStr;
use container_core::{Error, ErrorKind, Position};
use serde_json::{Map, Value, json};

use super::display::clean;
use super::escaping_writer::EscapingWriter;
pub(crate) use wharf::hub::Lost;

/// Writes errors and warnings as text, or as one JSON object per line.
pub(crate) struct Report<'a> {
    out: EscapingWriter<'a>,
    pub(crate) terminal: bool,
    pub(crate) json: bool,
    /// How messages name the options of the library.
    pub(crate) option_name: fn(&str) -> String,
}

impl<'a> Report<'a> {
    pub(crate) fn new(out: impl Write + Send + 'a, terminal: bool) -> Self {
        Self { out: EscapingWriter::new(out, terminal), terminal, json: false, option_name: flag }
    }

    pub(crate) fn error(&mut self, error: &Error) {
        if self.json {
            self.line(&json!({"error": named_error_object(error, self.option_name)}).to_string());
        } else {
            let option_name = self.option_name;
            self.message(format_args!("error: {}", error.with_options(&option_name)));
        }
    }

    pub(crate) fn lost(&mut self, lost: &Lost) {
        let Lost { file, loss } = lost;
        let message = if loss.first.is_unknown() { loss.what.clone() } else { loss.to_string() };
        if self.json {
            let mut object = Map::new();
            object.insert("kind".into(), if loss.count == 0 { "note" } else { "loss" }.into());
            object.insert("message".into(), message.into());
            object.insert("what".into(), loss.what.clone().into());
            object.insert("count".into(), loss.count.into());
            if let Some(file) = file {
                object.insert("file".into(), file.clone().into());
            }
            insert_position(&mut object, &loss.first);
            self.line(&json!({"warning": object}).to_string());
        } else {
            let file = file.as_ref().map(|file| format!("{file}: ")).unwrap_or_default();
            self.message(format_args!("warning: {file}{message}"));
        }
    }

    /// Writes a note if standard error is a terminal.
    pub(crate) fn note(&mut self, text: impl Display) {
        if self.terminal {
            self.message(format_args!("note: {text}"));
        }
    }

    /// Writes a line, whether or not standard error is a terminal. With `--json` it is omitted.
    pub(crate) fn message(&mut self, text: impl Display) {
        if !self.json {
            self.line(&clean(&text.to_string()));
        }
    }

    /// Writes a colored message of clap.
    pub(crate) fn styled(&mut self, text: &StyledStr) {
        // A failure to write to standard error cannot be reported anywhere.
        let _ = self.out.write_styled(text);
    }

    fn line(&mut self, line: &str) {
        let _ = self.out.write_all(format!("{line}\n").as_bytes()).and_then(|()| self.out.flush()); // as above
    }
}

/// The flag for an option of the library: `rows_per_block` is `--rows-per-block`.
pub(crate) fn flag(option: &str) -> String {
    format!("--{}", option.replace('_', "-"))
}

/// An error as JSON members. Unknown ones are omitted.
pub(crate) fn error_object(error: &Error) -> Map<String, Value> {
    named_error_object(error, flag)
}

fn named_error_object(error: &Error, option_name: fn(&str) -> String) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("kind".into(), error.kind().name().into());
    if let Some(format) = error.format() {
        object.insert("format".into(), format.into());
    }
    object.insert("message".into(), error.with_options(&option_name).to_string().into());
    match error.kind() {
        ErrorKind::Truncated { needed, available } => {
            object.insert("needed".into(), needed.into());
            object.insert("available".into(), available.into());
        }
        ErrorKind::Limit { asked, limit } => {
            object.insert("asked".into(), asked.into());
            object.insert("limit".into(), limit.into());
        }
        _ => {}
    }
    insert_position(&mut object, error.position());
    object
}

fn insert_position(object: &mut Map<String, Value>, position: &Position) {
    let numbers = [("byte", position.byte), ("line", position.line), ("block", position.block), ("row", position.row)];
    let texts = [("file", &position.file), ("column", &position.column), ("key", &position.key)];
    for (name, value) in texts {
        if let Some(value) = value {
            object.insert(name.into(), value.as_ref().into());
        }
    }
    for (name, value) in numbers {
        if let Some(value) = value {
            object.insert(name.into(), value.into());
        }
    }
}
