//! Errors and warnings, on standard error.

use std::fmt::Display;
use std::io::Write;

use clap::builder::StyledStr;
use container_core::{Error, ErrorKind, Position};
use serde_json::{Map, Value, json};

use super::human::clean;
use super::stream::Stream;
pub(crate) use wharf::hub::Lost;

/// Where errors and warnings go: lines for people, or one JSON object per line.
pub(crate) struct Report<'a> {
    out: Stream<'a>,
    pub(crate) terminal: bool,
    pub(crate) json: bool,
}

impl<'a> Report<'a> {
    pub(crate) fn new(out: impl Write + Send + 'a, terminal: bool) -> Self {
        Self { out: Stream::new(out, terminal), terminal, json: false }
    }

    pub(crate) fn error(&mut self, error: &Error) {
        if self.json {
            self.line(&json!({"error": error_object(error)}).to_string());
        } else {
            self.message(format_args!("error: {}", error.with_options(&flag)));
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

    /// A line for people on a terminal.
    pub(crate) fn note(&mut self, text: impl Display) {
        if self.terminal {
            self.message(format_args!("note: {text}"));
        }
    }

    /// A line for people, in a log, too.
    pub(crate) fn message(&mut self, text: impl Display) {
        if !self.json {
            self.line(&clean(&text.to_string()));
        }
    }

    /// An answer of clap, with its colors.
    pub(crate) fn styled(&mut self, text: &StyledStr) {
        // When standard error is gone, there is nobody left to tell.
        let _ = self.out.write_styled(text);
    }

    fn line(&mut self, line: &str) {
        let _ = self.out.write_all(format!("{line}\n").as_bytes()).and_then(|()| self.out.flush()); // as above
    }
}

/// How the command calls an option of the library.
fn flag(option: &str) -> String {
    format!("--{}", option.replace('_', "-"))
}

/// The members of an error for programs. Those that are not known are left out.
pub(crate) fn error_object(error: &Error) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("kind".into(), error.kind().name().into());
    if let Some(format) = error.format() {
        object.insert("format".into(), format.into());
    }
    object.insert("message".into(), error.with_options(&flag).to_string().into());
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
