//! Documents put and deleted.

use std::borrow::Cow;

use container_core::{Error, Result};
use serde::Serialize;

use crate::FORMAT_NAME;
use crate::journal::{Record, line};
use crate::layout::{DATA, META};
use crate::read::rebuild::line_bytes;
use crate::wire::lines::{ESCAPE, NAME};
use crate::wire::{id, json};
use crate::write::collection::CollectionWriter;
use crate::write::members::without;
use crate::write::options::Durability;
use crate::write::schema::Schema;
use crate::write::staging::Transaction;

/// Bytes that are gathered before they are written.
pub(crate) const BUFFER: usize = 512 << 10;

/// The member that names a document.
const ID: &str = "_id";

impl CollectionWriter {
    /// Puts a document, in the place of the one of this id where there is one: anything that serializes as an object. Its line begins with
    /// `_id`, and its other members follow as they come; an `_id` of its own is left out.
    ///
    /// A document that had a file of its own stays there, unseen as long as this one lives.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for what is no object, or has another `_id`;
    /// [`Invalid`](container_core::ErrorKind::Invalid) for an id that is not valid, and a document that is not valid JSON;
    /// [`Limit`](container_core::ErrorKind::Limit) for a line of more than 1 GiB, which readers refuse by default, and for more than 128 brackets in each other: nothing is
    /// put then, and the writer goes on. [`Io`](container_core::ErrorKind::Io): it does not.
    pub fn put<T: Serialize + ?Sized>(&mut self, id: &str, document: &T) -> Result<()> {
        let named = |error: Error| error.in_key(id.to_owned()).in_format(FORMAT_NAME);
        self.ready().and_then(|()| id::check(id)).map_err(named)?;
        let before = self.buffer.len();
        let start = self.begin_line();
        let put = self.put_object(id, document).and_then(|()| self.end_line(id, start));
        self.whole_or_not(put, before).map_err(named)
    }

    fn put_object<T: Serialize + ?Sized>(&mut self, id: &str, document: &T) -> Result<()> {
        self.buffer.extend_from_slice(b"{\"_id\":\"");
        self.buffer.extend_from_slice(id.as_bytes());
        self.buffer.push(b'"');
        let start = self.buffer.len();
        serde_json::to_writer(&mut self.buffer, document)
            .map_err(|cause| Error::usage("the document cannot be made JSON").caused_by(cause))?;
        let object = self.buffer.get(start..).unwrap_or_default();
        if let Some(changed) = other_form(object, id)? {
            self.buffer.truncate(start);
            self.buffer.extend_from_slice(&changed);
        }
        // Its bracket is open already: the comma goes there.
        let is_empty = self.buffer.get(start..) == Some(b"{}");
        if let Some(bracket) = self.buffer.get_mut(start) {
            *bracket = if is_empty { b'}' } else { b',' };
        }
        if is_empty {
            self.buffer.truncate(start + 1);
        }
        Ok(())
    }

    /// Puts a line of JSON as it is, and gives its id: its own `_id`. It is an object and nothing else; only where it fills several lines
    /// the white space between its tokens is left out.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) with the byte, for what is not a JSON object, and for an `_id` that is missing or not valid; else as
    /// [`put`](Self::put).
    pub fn put_line<'l>(&mut self, line: &'l [u8]) -> Result<Cow<'l, str>> {
        let placed = |error: Error| error.in_format(FORMAT_NAME);
        self.ready().map_err(placed)?;
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        self.put_scanned(json::scan(line).map_err(placed)?)
    }

    /// The same for a line that [`scan`](json::scan) has gone through already.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) for an `_id` that is missing or not valid; else as [`put`](Self::put).
    pub fn put_scanned<'l>(&mut self, document: json::Scanned<'l>) -> Result<Cow<'l, str>> {
        let placed = |error: Error| error.in_format(FORMAT_NAME);
        self.ready().map_err(placed)?;
        let line = document.line();
        let id = document.into_id().ok_or_else(|| placed(Error::invalid("the document has no \"_id\"").at(0)))?;
        id::check(&id).map_err(placed)?;
        self.put_checked(&id, line).map_err(|error| placed(error.in_key(id.to_string())))?;
        Ok(id)
    }

    /// The same where the id is known, and has to be that of the line: nothing is taken on trust, as a line of another document under this id
    /// would be lost.
    ///
    /// # Errors
    /// As [`put_line`](Self::put_line); [`Usage`](container_core::ErrorKind::Usage) where the line has another `_id`.
    pub fn put_raw(&mut self, id: &str, line: &[u8]) -> Result<()> {
        let named = |error: Error| error.in_key(id.to_owned()).in_format(FORMAT_NAME);
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        self.ready().and_then(|()| id::check(id)).map_err(named)?;
        match json::scan(line).map_err(named)?.into_id() {
            Some(found) if found == id => self.put_checked(id, line).map_err(named),
            Some(found) => Err(named(Error::usage(format!("the line has another \"_id\": {found:?}")))),
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
        self.whole_or_not(put, before)
    }

    /// Where in the buffer the next line begins.
    fn begin_line(&mut self) -> usize {
        if self.needs_feed {
            self.buffer.push(b'\n');
        }
        self.buffer.len()
    }

    /// The line that began there is whole.
    fn end_line(&mut self, id: &str, start: usize) -> Result<()> {
        self.check_schema(start)?;
        self.buffer.push(b'\n');
        let length = self.buffer.len() - start;
        let length = line_bytes(length as u64, &self.shared.options.limits)?;
        let offset = self.written + start as u64;
        self.ids.put(id.as_bytes(), offset, length)?;
        (self.covered, self.is_tail_alive, self.needs_feed, self.is_changed) = (self.end(), true, false, true);
        if !self.loose.seen.is_empty() {
            self.shadow(id);
        }
        if self.buffer.len() >= BUFFER || self.shared.options.durability == Durability::EveryPut {
            let drained = self.drain_for_good();
            return self.guarded(drained);
        }
        Ok(())
    }

    /// The file of a document that has a line now does not count any more.
    pub(crate) fn shadow(&mut self, id: &str) {
        if self.loose.seen.remove(id) {
            self.loose.shadowed.insert(id.to_owned());
            if let Some(transaction) = &mut self.transaction {
                transaction.shadowed.push(id.to_owned());
            }
        }
    }

    /// Has the document whose line began there the schema of all?
    fn check_schema(&mut self, start: usize) -> Result<()> {
        let Some(strict) = &mut self.strict else { return Ok(()) };
        let found = Schema::of(self.buffer.get(start..).unwrap_or_default())?;
        match &strict.schema {
            Some(schema) => schema.admit(&found),
            None => {
                strict.schema = Some(found);
                Ok(())
            }
        }
    }

    /// Of a line that could not be put nothing stays.
    fn whole_or_not(&mut self, put: Result<()>, before: usize) -> Result<()> {
        if put.is_err() && !self.is_broken {
            self.buffer.truncate(before);
        }
        put
    }

    /// Deletes a document; says whether there was one. One that has a file of its own is gone from the disk at once, whether this is flushed
    /// or not, and so is a file that was unseen beside a line; in a transaction both are removed at its end.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io).
    pub fn delete(&mut self, id: &str) -> Result<bool> {
        let named = |error: Error| error.in_key(id.to_owned()).in_format(FORMAT_NAME);
        self.ready().map_err(named)?;
        let deleted = self.delete_both(id);
        self.guarded(deleted).map_err(named)
    }

    fn delete_both(&mut self, id: &str) -> Result<bool> {
        // The file first: beside a line it is not seen, but without it it would be.
        let had_file = self.delete_file(id)?;
        let Some((offset, length)) = self.ids.delete(id.as_bytes())? else { return Ok(had_file) };
        self.is_changed = true;
        if offset + u64::from(length) == self.covered {
            self.is_tail_alive = false;
        }
        let deletion = Record::Delete { delete: id.to_owned(), data_bytes: self.end() };
        self.deletions.extend_from_slice(&line(&deletion)?);
        if self.deletions.len() >= BUFFER || self.shared.options.durability == Durability::EveryPut {
            self.drain_for_good()?;
        }
        Ok(true)
    }

    fn delete_file(&mut self, id: &str) -> Result<bool> {
        let was_seen = self.loose.seen.contains(id);
        if !was_seen && !self.loose.shadowed.contains(id) {
            return Ok(false);
        }
        if self.transaction.is_none() {
            self.prepare()?;
            self.remove_document(id)?;
        }
        self.loose.seen.remove(id);
        self.loose.shadowed.remove(id);
        self.is_changed = true;
        match &mut self.transaction {
            Some(transaction) => transaction.removed.push((id.to_owned(), was_seen)),
            None if self.shared.options.durability == Durability::EveryPut => self.sync_documents()?,
            None => {}
        }
        Ok(true)
    }

    /// Writes what was gathered, and waits for the disk where every put is to be on it.
    fn drain_for_good(&mut self) -> Result<()> {
        let (lines, deletions) = (!self.buffer.is_empty(), !self.deletions.is_empty());
        self.drain()?;
        // The changes of a transaction count later.
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

    /// Writes what was gathered: the journal first, whose deletions mean nothing as long as the data do not reach to where they were.
    pub(crate) fn drain(&mut self) -> Result<()> {
        if self.buffer.is_empty() && self.deletions.is_empty() {
            return Ok(());
        }
        self.before_change(false)?;
        if self.transaction.as_ref().is_some_and(Transaction::stages_collection) {
            // The index will not name them, and before it nobody looks.
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
            self.buffer.shrink_to(4 * BUFFER);
        }
        Ok(())
    }
}

/// The object that a document was made, in the form it has to have where it has not: on one line, without an `_id` of its own.
fn other_form(object: &[u8], id: &str) -> Result<Option<Vec<u8>>> {
    if object.first() != Some(&b'{') {
        return Err(Error::usage("the document is no object"));
    }
    // What `serde_json` makes is JSON: but it makes it of any depth, and of raw values it takes the white space and the escapes.
    // Counted in bytes, of which many are added at once.
    let is_open = |byte: &u8| u8::from(matches!(byte, b'{' | b'['));
    let brackets: usize = object.chunks(255).map(|some| usize::from(some.iter().map(is_open).sum::<u8>())).sum();
    let has_feed = memchr::memchr2(b'\n', b'\r', object).is_some();
    let may_have_id = NAME.find(object).is_some() || ESCAPE.find(object).is_some();
    if brackets <= 128 && !has_feed && !may_have_id {
        return Ok(None);
    }
    let scanned = json::scan(object).map_err(|error| match error.position().byte {
        // The byte would be one of a line that nobody has.
        Some(_) => Error::new(error.kind(), error.detail().to_owned()),
        None => error,
    })?;
    let mut form = match scanned.into_id() {
        Some(found) if found != id => return Err(Error::usage(format!("the document has another \"_id\": {found:?}"))),
        Some(_) => Some(without(object, ID)),
        None => None,
    };
    if has_feed {
        form = Some(json::compact(form.as_deref().unwrap_or(object)));
    }
    Ok(form)
}
