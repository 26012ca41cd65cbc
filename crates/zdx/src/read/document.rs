//! A document.

use std::borrow::Cow;

use container_core::raw_json::check_nesting;
use container_core::{Bytes, Error, Result};
use serde_core::Deserialize;
use serde_json::{Map, Value};

use crate::FORMAT_NAME;
use crate::container::{Shape, classify};
use crate::layout::{DATA, DOCS, DOCUMENT, META};
use crate::read::fields::Fields;
use crate::read::line::Raw;
use crate::read::table::entry_at;
use crate::wire::{json, value};

/// A document's id, or where to find it.
#[derive(Debug, Clone)]
pub(crate) enum Id<'c> {
    /// The id itself.
    Is(Cow<'c, [u8]>),
    /// In an index entry, looked up on demand: iterating in data order does not have to touch the index.
    In { index: &'c [u8], position: u64 },
}

/// A document: its id, and its JSON as stored.
///
/// It borrows from the mapped file if possible. Nothing has been parsed yet: invalid JSON is reported by the methods that parse it.
#[derive(Debug, Clone)]
pub struct Document<'c> {
    pub(crate) id: Id<'c>,
    pub(crate) bytes: Raw<'c>,
    /// Offset of its line; `None` for a document in a file of its own.
    pub(crate) offset: Option<u64>,
}

impl Document<'_> {
    /// The document without the buffer that it shares with others, if there is one.
    pub(crate) fn detached(self) -> Self {
        let bytes = match self.bytes {
            Raw::Shared(bytes) => Raw::Shared(Bytes::copy_from_slice(&bytes)),
            borrowed @ Raw::Borrowed(_) => borrowed,
        };
        Self { bytes, ..self }
    }

    /// The id under which the index lists it, or the name of its file.
    #[must_use]
    pub fn id(&self) -> &str {
        let id = match &self.id {
            Id::Is(id) => id,
            Id::In { index, position } => entry_at(index, *position).map(|entry| entry.id).unwrap_or_default(),
        };
        // Ids in an index were validated when it was read.
        std::str::from_utf8(id).unwrap_or_default()
    }

    /// Its JSON exactly as stored, without the line ending.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its JSON as a string.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) with id and byte, if it is not valid UTF-8.
    pub fn text(&self) -> Result<&str> {
        std::str::from_utf8(&self.bytes)
            .map_err(|error| self.placed(Error::invalid("the document is not valid UTF-8"), error.valid_up_to() as u64))
    }

    /// Offset of its line in `data.jsonl`; `None` for a document in a file of its own.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.offset
    }

    /// Its JSON on one line: as stored, or, if it spans several lines, without the white space between tokens.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) if it spans several lines and is not a JSON object.
    pub fn line(&self) -> Result<Cow<'_, [u8]>> {
        if !self.bytes.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
            return Ok(Cow::Borrowed(&self.bytes));
        }
        json::scan(self.bytes()).map_err(|error| self.placed(error, 0))?;
        Ok(Cow::Owned(json::compact(&self.bytes)))
    }

    /// Its JSON on one line that includes its id: as [`line`](Self::line), with an `_id` inserted in front if it has none. A value that is not
    /// an object cannot have an id and is returned as it is: the reference writes such documents into files.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) if it is not valid JSON or UTF-8;
    /// [`Limit`](container_core::ErrorKind::Limit) if it is nested more than 128 levels deep.
    pub fn line_with_id(&self) -> Result<Cow<'_, [u8]>> {
        let text = self.text()?;
        let shape = classify(text).map_err(|error| self.json_error(&error))?;
        check_nesting(text, 0).map_err(|error| self.placed(error, 0))?;
        let line = match text.contains(['\n', '\r']) {
            true => Cow::Owned(json::compact(text.as_bytes())),
            false => Cow::Borrowed(text.as_bytes()),
        };
        if shape != Shape::WithoutId {
            return Ok(line);
        }
        let inner = line.trim_ascii_start().strip_prefix(b"{").unwrap_or_default();
        // Serializing a string into memory does not fail.
        let id = serde_json::to_vec(self.id()).unwrap_or_default();
        let between: &[u8] = if inner.trim_ascii_start().starts_with(b"}") { b"" } else { b"," };
        Ok(Cow::Owned([b"{\"_id\":", &id[..], between, inner].concat()))
    }

    /// Parses the document into a tree of values, including its `_id` if it has one.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) with id and byte, if it is not a JSON object.
    pub fn value(&self) -> Result<Value> {
        let value = value::parse(&self.bytes).map_err(|error| self.json_error(&error))?;
        match value.is_object() {
            true => Ok(value),
            false => Err(self.placed(Error::invalid("the document is not an object"), 0)),
        }
    }

    /// Deserializes the document. Members that the type does not name are skipped; strings without escapes can be borrowed.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) with id and byte, if it is not valid JSON or does not match the type.
    pub fn decode<'d, T: Deserialize<'d>>(&'d self) -> Result<T> {
        serde_json::from_slice(&self.bytes).map_err(|error| self.json_error(&error))
    }

    /// Extracts some fields, without building the rest.
    ///
    /// # Errors
    /// As [`value`](Self::value).
    pub fn fields(&self, fields: &Fields) -> Result<Map<String, Value>> {
        fields.of(&self.bytes).map_err(|error| self.json_error(&error))
    }

    /// Converts an error of `serde_json`, with its position in the file.
    pub(crate) fn json_error(&self, error: &serde_json::Error) -> Error {
        // Line and column count from 1, and columns are bytes; at the end of the input it is the last byte's.
        let line = error.line().saturating_sub(1);
        let before = match line {
            0 => 0,
            line => memchr::memchr_iter(b'\n', &self.bytes).nth(line - 1).map_or(0, |feed| feed + 1),
        };
        let at = (before + error.column().saturating_sub(1)) as u64;
        let message = error.to_string();
        let problem = message.rsplit_once(" at line ").map_or(message.as_str(), |(problem, _)| problem);
        self.placed(Error::invalid(format!("cannot decode the document: {problem}")), at)
    }

    /// Adds the document's position to an error, `at` bytes from its start unless the error has a byte already.
    pub(crate) fn placed(&self, error: Error, at: u64) -> Error {
        let start = self.offset.unwrap_or(0);
        let error = match error.position().byte {
            Some(_) => error.shifted(start),
            None => error.at(start.saturating_add(at)),
        };
        let file = match self.offset {
            Some(_) => format!("{META}/{DATA}"),
            None => format!("{DOCS}/{}{DOCUMENT}", self.id()),
        };
        error.in_key(self.id().to_owned()).in_file(file).in_format(FORMAT_NAME)
    }
}
