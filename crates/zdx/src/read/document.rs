//! One document.

use std::borrow::Cow;

use container_core::raw_json::check_nesting;
use container_core::{Error, Result};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::FORMAT_NAME;
use crate::container::{Shape, shape};
use crate::layout::{DATA, DOCS, DOCUMENT, META};
use crate::read::fields::Fields;
use crate::read::line::Raw;
use crate::read::table::entry_at;
use crate::wire::{json, value};

/// Where a document's id is.
#[derive(Debug, Clone)]
pub(crate) enum Id<'c> {
    /// Here.
    Is(Cow<'c, [u8]>),
    /// In the index, where it is looked up when it is asked for: a walk over documents in an order that is not the index's need not go there.
    In { index: &'c [u8], position: u64 },
}

/// A document: its id, and its JSON as it stands in the file.
///
/// It borrows from the mapped file where there is one. Nothing was parsed yet: what is wrong with the JSON is told by what parses it.
#[derive(Debug, Clone)]
pub struct Document<'c> {
    pub(crate) id: Id<'c>,
    pub(crate) bytes: Raw<'c>,
    /// Of its line; none where it has a file of its own.
    pub(crate) offset: Option<u64>,
}

impl Document<'_> {
    /// The id by which the index knows it, or the name of its file.
    #[must_use]
    pub fn id(&self) -> &str {
        let id = match &self.id {
            Id::Is(id) => id,
            Id::In { index, position } => entry_at(index, *position).map(|entry| entry.id).unwrap_or_default(),
        };
        // Ids of an index were checked when it was read.
        std::str::from_utf8(id).unwrap_or_default()
    }

    /// Its JSON, byte for byte as it stands in the file; of a line without the line end.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its JSON as text.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) with id and byte, where it is not UTF-8.
    pub fn text(&self) -> Result<&str> {
        std::str::from_utf8(&self.bytes)
            .map_err(|error| self.placed(Error::invalid("the document is not UTF-8"), error.valid_up_to() as u64))
    }

    /// Where its line begins in `data.jsonl`, in bytes from 0; `None` where the document has a file of its own.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.offset
    }

    /// Its JSON in one line: the bytes as they are, but for white space between tokens where it fills several lines, which is left out.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) for several lines that are no JSON object.
    pub fn line(&self) -> Result<Cow<'_, [u8]>> {
        if !self.bytes.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
            return Ok(Cow::Borrowed(&self.bytes));
        }
        json::scan(self.bytes()).map_err(|error| self.placed(error, 0))?;
        Ok(Cow::Owned(json::compact(&self.bytes)))
    }

    /// Its JSON in one line that states its id: as [`line`](Self::line) where it has a member `_id`, else with one in front. Another value
    /// than an object states none, and stays as it is but for white space: the reference writes such documents into files of their own.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) where it is not JSON, or not UTF-8;
    /// [`Limit`](container_core::ErrorKind::Limit) for more than 128 brackets in each other.
    pub fn identified(&self) -> Result<Cow<'_, [u8]>> {
        let text = self.text()?;
        let shape = shape(text).map_err(|error| self.json_error(&error))?;
        check_nesting(text, 0).map_err(|error| self.placed(error, 0))?;
        let line = match text.contains(['\n', '\r']) {
            true => Cow::Owned(json::compact(text.as_bytes())),
            false => Cow::Borrowed(text.as_bytes()),
        };
        if shape != Shape::WithoutId {
            return Ok(line);
        }
        let inner = line.trim_ascii_start().strip_prefix(b"{").unwrap_or_default();
        // Writing a text into memory does not fail.
        let id = serde_json::to_vec(self.id()).unwrap_or_default();
        let between: &[u8] = if inner.trim_ascii_start().starts_with(b"}") { b"" } else { b"," };
        Ok(Cow::Owned([b"{\"_id\":", &id[..], between, inner].concat()))
    }

    /// The document as a tree of values. The member `_id`, where it has one, is among them.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) with id and byte, where it is no JSON object.
    pub fn value(&self) -> Result<Value> {
        let value = value::parse(&self.bytes).map_err(|error| self.json_error(&error))?;
        match value.is_object() {
            true => Ok(value),
            false => Err(self.placed(Error::invalid("the document is not an object"), 0)),
        }
    }

    /// The document as a type of yours; what the type does not name is passed over, and texts without escapes can be borrowed.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) with id and byte, where it is no JSON, or not what the type wants.
    pub fn decode<'d, T: Deserialize<'d>>(&'d self) -> Result<T> {
        serde_json::from_slice(&self.bytes).map_err(|error| self.json_error(&error))
    }

    /// Some fields of it, without building the rest.
    ///
    /// # Errors
    /// As [`value`](Self::value).
    pub fn fields(&self, fields: &Fields) -> Result<Map<String, Value>> {
        fields.of(&self.bytes).map_err(|error| self.json_error(&error))
    }

    /// An error of `serde_json` with its place in the file.
    pub(crate) fn json_error(&self, error: &serde_json::Error) -> Error {
        // Line and column count from 1, and a column is a byte; at the end of the text it is the last one's.
        let line = error.line().saturating_sub(1);
        let before = match line {
            0 => 0,
            line => memchr::memchr_iter(b'\n', &self.bytes).nth(line - 1).map_or(0, |feed| feed + 1),
        };
        let at = (before + error.column().saturating_sub(1)) as u64;
        let text = error.to_string();
        let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
        self.placed(Error::invalid(format!("the document is not the JSON that is wanted: {what}")), at)
    }

    /// An error with the document's place, `at` bytes behind its beginning where it does not know better.
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
