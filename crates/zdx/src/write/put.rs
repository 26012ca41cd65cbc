//! Putting and deleting documents.

use std::borrow::Cow;

use container_core::{Error, Result};
use serde_core::Serialize;

use crate::FORMAT_NAME;
use crate::journal::{Record, line};
use crate::layout::{DATA, META};
use crate::read::rebuild::checked_line_length;
use crate::wire::lines::{ESCAPE_START, ID_NAME_END};
use crate::wire::{id, json};
use crate::write::collection::CollectionWriter;
use crate::write::members::remove;
use crate::write::options::Durability;
use crate::write::schema::Schema;
use crate::write::staging::Transaction;

/// Changes are buffered up to this many bytes.
pub(crate) const BUFFER_BYTES: usize = 512 << 10;

/// Name of the member that holds a document's id.
const ID: &str = "_id";

impl CollectionWriter {
    /// Puts a document, anything that serializes as an object, replacing the one with this id if it exists. Its line begins with `_id`, followed
    /// by its other members in order; its own `_id` is dropped.
    ///
    /// If the document has a file of its own, the file stays, shadowed by the line.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) if it is not an object, or has another `_id`;
    /// [`Invalid`](container_core::ErrorKind::Invalid) for an invalid id or invalid JSON;
    /// [`Limit`](container_core::ErrorKind::Limit) for a line of more than 1 GiB, which readers refuse by default, or nesting of more than 128
    /// levels: nothing is put then, and the writer can continue. [`Io`](container_core::ErrorKind::Io): it cannot.
    pub fn put<T: Serialize + ?Sized>(&mut self, id: &str, document: &T) -> Result<()> {
        let named = |error: Error| error.in_key(id.to_owned()).in_format(FORMAT_NAME);
        self.ready().and_then(|()| id::check(id)).map_err(named)?;
        let before = self.buffer.len();
        let start = self.begin_line();
        let put = self.put_object(id, document).and_then(|()| self.end_line(id, start));
        self.discard_on_error(put, before).map_err(named)
    }

    fn put_object<T: Serialize + ?Sized>(&mut self, id: &str, document: &T) -> Result<()> {
        self.buffer.extend_from_slice(b"{\"_id\":\"");
        self.buffer.extend_from_slice(id.as_bytes());
        self.buffer.push(b'"');
        let start = self.buffer.len();
        serde_json::to_writer(&mut self.buffer, document)
            .map_err(|cause| Error::usage("cannot serialize the document").caused_by(cause))?;
        let object = self.buffer.get(start..).unwrap_or_default();
        if let Some(changed) = normalize(object, id)? {
            self.buffer.truncate(start);
            self.buffer.extend_from_slice(&changed);
        }
        // The object is already open: its bracket becomes a comma.
        let is_empty = self.buffer.get(start..) == Some(b"{}");
        if let Some(bracket) = self.buffer.get_mut(start) {
            *bracket = if is_empty { b'}' } else { b',' };
        }
        if is_empty {
            self.buffer.truncate(start + 1);
        }
        Ok(())
    }

    /// Puts a line of JSON as it is, and returns its `_id`. It must be exactly one object; if it spans several lines, the white space between
    /// its tokens is removed.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid), with the byte, if it is not a JSON object, or its `_id` is missing or invalid; else as
    /// [`put`](Self::put).
    pub fn put_line<'l>(&mut self, line: &'l [u8]) -> Result<Cow<'l, str>> {
        let placed = |error: Error| error.in_format(FORMAT_NAME);
        self.ready().map_err(placed)?;
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        self.put_scanned(json::scan(line).map_err(placed)?)
    }

    /// As [`put_line`](Self::put_line), for a line that has been [scanned](json::scan) already.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) if the `_id` is missing or invalid; else as [`put`](Self::put).
    pub fn put_scanned<'l>(&mut self, document: json::Scanned<'l>) -> Result<Cow<'l, str>> {
        let placed = |error: Error| error.in_format(FORMAT_NAME);
        self.ready().map_err(placed)?;
        let line = document.line();
        let id = document.into_id().ok_or_else(|| placed(Error::invalid("the document has no \"_id\"").at(0)))?;
        id::check(&id).map_err(placed)?;
        self.put_checked(&id, line).map_err(|error| placed(error.in_key(id.to_string())))?;
        Ok(id)
    }

    /// As [`put_line`](Self::put_line), with the expected id, which is verified: a line under another document's id would be lost.
    ///
    /// # Errors
    /// As [`put_line`](Self::put_line); [`Usage`](container_core::ErrorKind::Usage) if the line has another `_id`.
    pub fn put_raw(&mut self, id: &str, line: &[u8]) -> Result<()> {
        let named = |error: Error| error.in_key(id.to_owned()).in_format(FORMAT_NAME);
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        self.ready().and_then(|()| id::check(id)).map_err(named)?;
        match json::scan(line).map_err(named)?.into_id() {
            Some(found) if found == id => self.put_checked(id, line).map_err(named),
            Some(found) => Err(named(Error::usage(format!("the line has another \"_id\", {found:?}")))),
            None => Err(named(Error::invalid("the document has no \"_id\"").at(0))),
        }
    }

    fn put_checked(&mut self, id: &str, line: &[u8]) -> Result<()> {
        let before = self.buffer.len();
        let start = self.begin_line();
        match memchr::memchr2(b'\n', b'\r', line) {
            None => self.buffer.extend_from_slice(line),
            Some(_) => self.buffer.extend_from_slice(&json::compact(line)),
        }
        let put = self.end_line(id, start);
        self.discard_on_error(put, before)
    }

    /// Begins a line; returns its offset in the buffer.
    fn begin_line(&mut self) -> usize {
        if self.needs_feed {
            self.buffer.push(b'\n');
        }
        self.buffer.len()
    }

    /// Completes the line that begins at `start`.
    fn end_line(&mut self, id: &str, start: usize) -> Result<()> {
        self.check_schema(start)?;
        self.buffer.push(b'\n');
        let length = self.buffer.len() - start;
        let length = checked_line_length(length as u64, &self.shared.options.limits)?;
        let offset = self.written + start as u64;
        self.ids.put(id.as_bytes(), offset, length)?;
        (self.lines_end, self.is_last_line_live, self.needs_feed, self.is_changed) = (self.end(), true, false, true);
        if !self.docs.unshadowed.is_empty() {
            self.shadow(id);
        }
        if self.buffer.len() >= BUFFER_BYTES || self.shared.options.durability == Durability::EveryPut {
            let drained = self.drain_durably();
            return self.roll_back_on_error(drained);
        }
        Ok(())
    }

    /// Marks a document's file as shadowed by a line.
    pub(crate) fn shadow(&mut self, id: &str) {
        if self.docs.unshadowed.remove(id) {
            self.docs.shadowed.insert(id.to_owned());
            if let Some(transaction) = &mut self.transaction {
                transaction.shadowed.push(id.to_owned());
            }
        }
    }

    /// Checks the schema of the document whose line begins at `start`.
    fn check_schema(&mut self, start: usize) -> Result<()> {
        let Some(strict) = &mut self.strict else { return Ok(()) };
        let found = Schema::of(self.buffer.get(start..).unwrap_or_default())?;
        match &strict.schema {
            Some(schema) => schema.check_matches(&found),
            None => {
                strict.schema = Some(found);
                Ok(())
            }
        }
    }

    /// Removes an incomplete line from the buffer.
    fn discard_on_error(&mut self, put: Result<()>, before: usize) -> Result<()> {
        if put.is_err() && !self.has_failed {
            self.buffer.truncate(before);
        }
        put
    }

    /// Deletes a document; returns whether it existed. Files of documents, shadowed or not, are removed at once, flushed or not; in a
    /// transaction, at its end.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io).
    pub fn delete(&mut self, id: &str) -> Result<bool> {
        let named = |error: Error| error.in_key(id.to_owned()).in_format(FORMAT_NAME);
        self.ready().map_err(named)?;
        let deleted = self.delete_both(id);
        self.roll_back_on_error(deleted).map_err(named)
    }

    fn delete_both(&mut self, id: &str) -> Result<bool> {
        // The file first: without the line it would reappear.
        let had_file = self.delete_file(id)?;
        let Some((offset, length)) = self.ids.delete(id.as_bytes())? else { return Ok(had_file) };
        self.is_changed = true;
        if offset + u64::from(length) == self.lines_end {
            self.is_last_line_live = false;
        }
        let deletion = Record::Delete { delete: id.to_owned(), data_bytes: self.end() };
        self.deletions.extend_from_slice(&line(&deletion)?);
        if self.deletions.len() >= BUFFER_BYTES || self.shared.options.durability == Durability::EveryPut {
            self.drain_durably()?;
        }
        Ok(true)
    }

    fn delete_file(&mut self, id: &str) -> Result<bool> {
        let was_unshadowed = self.docs.unshadowed.contains(id);
        if !was_unshadowed && !self.docs.shadowed.contains(id) {
            return Ok(false);
        }
        if self.transaction.is_none() {
            self.prepare()?;
            self.remove_document(id)?;
        }
        self.docs.unshadowed.remove(id);
        self.docs.shadowed.remove(id);
        self.is_changed = true;
        match &mut self.transaction {
            Some(transaction) => transaction.removed.push((id.to_owned(), was_unshadowed)),
            None if self.shared.options.durability == Durability::EveryPut => self.sync_documents()?,
            None => {}
        }
        Ok(true)
    }

    /// Writes buffered changes, and syncs them if every put is to be durable.
    fn drain_durably(&mut self) -> Result<()> {
        let (lines, deletions) = (!self.buffer.is_empty(), !self.deletions.is_empty());
        self.drain()?;
        // The changes of a transaction do not count yet.
        if self.shared.options.durability != Durability::EveryPut || self.transaction.is_some() {
            return Ok(());
        }
        if lines {
            self.disk.sync("data", self.data()?)?;
        }
        match &self.journal {
            Some(journal) if deletions => self.disk.sync("journal", journal),
            _ => Ok(()),
        }
    }

    /// Writes buffered changes. Deletions go first: they do not count until the data reach the recorded length.
    pub(crate) fn drain(&mut self) -> Result<()> {
        if self.buffer.is_empty() && self.deletions.is_empty() {
            return Ok(());
        }
        self.before_change(false)?;
        if self.transaction.as_ref().is_some_and(Transaction::stages_collection) {
            // The index will not list them, and no reader can see them before.
            self.deletions.clear();
        }
        if let Some(journal) = self.journal.as_mut().filter(|_| !self.deletions.is_empty()) {
            self.disk.append("journal", journal, &self.deletions)?;
            self.deletions.clear();
        }
        if let Some(data) = self.data.as_mut().filter(|_| !self.buffer.is_empty()) {
            let appended = self.disk.append("data", data, &self.buffer);
            appended.map_err(|error| error.in_file(format!("{META}/{DATA}")))?;
            self.written += self.buffer.len() as u64;
            self.buffer.clear();
            self.buffer.shrink_to(4 * BUFFER_BYTES);
        }
        Ok(())
    }
}

/// Normalizes a serialized object if necessary: puts it on one line, without its own `_id`. `None` if it is fine as it is.
fn normalize(object: &[u8], id: &str) -> Result<Option<Vec<u8>>> {
    if object.first() != Some(&b'{') {
        return Err(Error::usage("the document is not an object"));
    }
    // `serde_json` writes valid JSON, but of any depth, and raw values verbatim. Brackets are counted in chunks, as bytes, which vectorizes.
    let is_open = |byte: &u8| u8::from(matches!(byte, b'{' | b'['));
    let brackets: usize = object.chunks(255).map(|chunk| usize::from(chunk.iter().map(is_open).sum::<u8>())).sum();
    let has_feed = memchr::memchr2(b'\n', b'\r', object).is_some();
    let may_have_id = ID_NAME_END.find(object).is_some() || ESCAPE_START.find(object).is_some();
    if brackets <= 128 && !has_feed && !may_have_id {
        return Ok(None);
    }
    let scanned = json::scan(object).map_err(|error| match error.position().byte {
        // The byte would refer to a line that the caller does not have.
        Some(_) => Error::new(error.kind(), error.detail().to_owned()),
        None => error,
    })?;
    let mut normalized = match scanned.into_id() {
        Some(found) if found != id => return Err(Error::usage(format!("the document has another \"_id\", {found:?}"))),

        Some(_) => Some(remove(object, ID)),
        None => None,
    };
    if has_feed {
        normalized = Some(json::compact(normalized.as_deref().unwrap_or(object)));
    }
    Ok(normalized)
}
