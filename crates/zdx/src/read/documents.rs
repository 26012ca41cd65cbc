//! Iteration over documents.

use std::borrow::Cow;
use std::ops::Range;

use container_core::{Bytes, Error, Result, Source};

use crate::read::collection::{Collection, in_data, in_format};
use crate::read::document::{Document, Id};
use crate::read::line::{Raw, check_read, line, line_in, line_of, surroundings};
use crate::read::line_run::{line_in_run, line_run};
use crate::read::offsets::LineRef;
use crate::read::table::entry_at;
use crate::read::window::window;

/// Iterator over documents, in their order. It ends after an error.
#[derive(Debug, Clone)]
pub struct Documents<'c> {
    collection: &'c Collection,
    /// The data if they are in memory.
    memory: Option<&'c [u8]>,
    /// The index that the lines' positions refer to.
    index: &'c [u8],
    lines: &'c [LineRef],
    files: &'c [String],
    rows: Range<u64>,
    /// Remaining lines of the current run, already validated.
    run: std::slice::Iter<'c, LineRef>,
    /// First row from which to look for the next run.
    next_run_row: u64,
    /// End of the previous line: the next one must not begin before it.
    end: u64,
    /// Lines read together from data that are not in memory, and their offset.
    window: (u64, Bytes),
    /// Before this offset lines are read one by one, as reading them together failed.
    alone_until: u64,
}

impl Collection {
    /// The document in a row, from 0, in the order of [`documents`](Self::documents).
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) past the last row; otherwise as [`get`](Self::get).
    pub fn document(&self, row: u64) -> Result<Document<'_>> {
        match self.documents_in(row..row.saturating_add(1))?.next() {
            Some(document) => document,
            None => {
                let len = self.len()?;
                Err(in_format(Error::usage(format!("row {row} is out of range: {len} documents")).in_row(row)))
            }
        }
    }

    /// All documents: first those with a line, in the order of their lines, then those in files of their own, in the order of `order.ids`,
    /// then by name.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io). The iterator itself yields the errors of documents, and ends after the first.
    pub fn documents(&self) -> Result<Documents<'_>> {
        self.documents_in(0..u64::MAX)
    }

    /// The documents in a range of rows, from 0; an end past the last row is clamped.
    ///
    /// # Errors
    /// As [`documents`](Self::documents).
    pub fn documents_in(&self, rows: Range<u64>) -> Result<Documents<'_>> {
        let lines = self.line_refs()?;
        let files = match rows.end > lines.len() as u64 {
            true => self.files()?.ids.as_slice(),
            false => &[],
        };
        Documents::new(self, lines, files, rows)
    }
}

impl<'c> Documents<'c> {
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io) of the index, if it has not been read yet.
    pub(crate) fn new(
        collection: &'c Collection,
        lines: &'c [LineRef],
        files: &'c [String],
        rows: Range<u64>,
    ) -> Result<Self> {
        let memory = collection.data.as_ref().and_then(Source::as_slice);
        let index = collection.table()?.map_or(&[][..], |table| table.bytes());
        let all = lines.len() as u64 + files.len() as u64;
        let rows = rows.start.min(all)..rows.end.min(all);
        let end = previous_end(collection, lines, rows.start);
        Ok(Self {
            collection,
            memory,
            index,
            lines,
            files,
            next_run_row: rows.start,
            rows,
            run: [].iter(),
            end,
            window: (0, Bytes::new()),
            alone_until: 0,
        })
    }

    /// The same documents, each of them validated alone.
    #[cfg(test)]
    pub(crate) fn without_runs(mut self) -> Self {
        self.next_run_row = u64::MAX;
        self
    }

    /// The remaining rows, from 0.
    pub(crate) fn rows(&self) -> Range<u64> {
        self.rows.clone()
    }

    /// The documents in a range of rows, from 0, of those that this iterator was made for.
    ///
    /// # Errors
    /// As [`Collection::documents`].
    pub(crate) fn part(&self, rows: Range<u64>) -> Result<Self> {
        Self::new(self.collection, self.lines, self.files, rows)
    }

    /// The row of the next document, from 0.
    #[must_use]
    pub fn row(&self) -> u64 {
        self.rows.start
    }

    /// The next document, which borrows from this iterator; `None` after the last one, and after an error. Faster than
    /// [`next`](Iterator::next) if the data are neither in memory nor mapped, as no references to the buffer are counted.
    ///
    /// # Errors
    /// As [`Collection::get`].
    #[inline]
    pub fn try_next(&mut self) -> Result<Option<Document<'_>>> {
        if self.run.as_slice().is_empty()
            && let Some(document) = self.next_outside_run()?
        {
            return Ok(Some(document));
        }
        let Some(line_ref) = self.next_in_run() else { return Ok(None) };
        let (bytes, start) = self.buffer();
        Ok(Some(self.document(line_ref, Raw::Borrowed(line_in_run(bytes, start, line_ref)))))
    }

    /// The data if they are in memory, else the window; and its offset.
    #[inline]
    fn buffer(&self) -> (&[u8], u64) {
        match self.memory {
            Some(memory) => (memory, 0),
            None => (&self.window.1, self.window.0),
        }
    }

    #[inline]
    fn document<'d>(&self, line_ref: LineRef, bytes: Raw<'d>) -> Document<'d>
    where
        'c: 'd,
    {
        let id = Id::In { index: self.index, position: line_ref.position };
        Document { id, bytes, offset: Some(line_ref.offset) }
    }

    /// The next line of the current run, which is already validated.
    #[inline(always)] // a call takes longer
    fn next_in_run(&mut self) -> Option<LineRef> {
        let line_ref = self.run.next()?;
        self.rows.start += 1;
        Some(*line_ref)
    }

    /// Finds the next run. Without one, returns the next document; `None` after the last one.
    #[inline(never)] // keeps try_next() small
    fn next_outside_run(&mut self) -> Result<Option<Document<'c>>> {
        self.find_run();
        if self.run.as_slice().is_empty() { self.next_single() } else { Ok(None) }
    }

    /// Validates the lines of the next rows together, if possible.
    fn find_run(&mut self) {
        if self.rows.start < self.next_run_row {
            return;
        }
        let lines = self.next_lines();
        // An error is reported with the line it concerns.
        if lines.first().is_none_or(|first| first.offset < self.end) || self.read_ahead(lines).is_err() {
            return;
        }
        let (bytes, start) = self.buffer();
        let (run, count) = line_run(bytes, start, lines, self.collection.options.limits.block_bytes);
        self.run = run.iter();
        // Do not try the same lines again from each row.
        self.next_run_row = self.rows.start + count as u64;
        if let Some(last) = run.last() {
            self.end = line_end(*last);
        }
    }

    /// The lines of the remaining rows.
    fn next_lines(&self) -> &'c [LineRef] {
        let at = |row| usize::try_from(row).unwrap_or(usize::MAX).min(self.lines.len());
        self.lines.get(at(self.rows.start)..at(self.rows.end)).unwrap_or_default()
    }

    fn next_single(&mut self) -> Result<Option<Document<'c>>> {
        if self.rows.start >= self.rows.end {
            return Ok(None);
        }
        let row = self.rows.start;
        let lines = self.next_lines();
        self.rows.start += 1;
        let document = match lines.first() {
            Some(line_ref) => self.line(*line_ref, lines),
            None => self.file(row - self.lines.len() as u64),
        };
        if document.is_err() {
            self.rows.start = self.rows.end;
        }
        document.map(Some).map_err(|error| error.in_row(row))
    }

    /// The document in the first of the remaining lines.
    #[inline]
    fn line(&mut self, line_ref: LineRef, lines: &[LineRef]) -> Result<Document<'c>> {
        let LineRef { offset, length, .. } = line_ref;
        let line = match (self.memory, &self.collection.data) {
            (_, None) => Err(Error::usage("the collection has no data")),
            (Some(bytes), Some(data)) => check_read(data, offset, length, &self.collection.options.limits)
                .and_then(|()| line_of(bytes, data, offset, length)),
            (None, Some(data)) => self.read_ahead(lines).and_then(|()| {
                let (start, window) = &self.window;
                let is_last = start + window.len() as u64 == data.len();
                match line_in(window, *start, is_last, offset, length) {
                    Some(bounds) => Ok(Raw::Shared(window.slice(bounds))),
                    // Reports what is wrong.
                    None => line(data, offset, length),
                }
            }),
        };
        let bytes = match line {
            Ok(bytes) => bytes,
            Err(error) => return Err(self.failed(error, line_ref)),
        };
        if offset < self.end {
            return Err(self.failed(self.overlap(line_ref), line_ref));
        }
        self.end = line_end(line_ref);
        Ok(self.document(line_ref, bytes))
    }

    /// Reads the first of these lines into the window, with those that follow it closely, unless it is there or in memory.
    fn read_ahead(&mut self, lines: &[LineRef]) -> Result<()> {
        let (None, Some(data), Some(first)) = (self.memory, &self.collection.data, lines.first()) else {
            return Ok(());
        };
        check_read(data, first.offset, first.length, &self.collection.options.limits)?;
        let needed = surroundings(data.len(), first.offset, first.length);
        let (start, bytes) = &mut self.window;
        if needed.start >= *start && needed.end <= *start + bytes.len() as u64 {
            return Ok(());
        }
        *start = needed.start;
        if first.offset >= self.alone_until {
            let (range, _) = window(data.len(), lines, |line| (line.offset, line.length));
            let until = range.end;
            if data.read_into(range, bytes).is_ok() {
                return Ok(());
            }
            self.alone_until = until;
        }
        data.read_into(needed, bytes)
    }

    #[cold]
    fn overlap(&self, line_ref: LineRef) -> Error {
        let end = self.end;
        let error = format!("the line overlaps the previous document, which ends at byte {end}");
        Error::invalid(error).at(line_ref.offset)
    }

    #[cold]
    fn failed(&self, error: Error, line_ref: LineRef) -> Error {
        let id = entry_at(self.index, line_ref.position).map(|entry| entry.id).unwrap_or_default();
        in_data(error).in_key(String::from_utf8_lossy(id).into_owned())
    }

    fn file(&self, row: u64) -> Result<Document<'c>> {
        let id = usize::try_from(row).ok().and_then(|row| self.files.get(row));
        let id = id.ok_or_else(|| Error::usage("no such document"))?;
        let bytes = self.collection.paths.document(id, &self.collection.options).map_err(in_format)?;
        let missing = || in_format(Error::invalid("the document's file was removed").in_key(id.clone()));
        let bytes = bytes.ok_or_else(missing)?;
        Ok(Document { id: Id::Is(Cow::Borrowed(id.as_bytes())), bytes: Raw::Shared(bytes), offset: None })
    }
}

/// The end of a document's line according to its entry; at least one past its start, so that no two documents share an empty line.
#[inline]
const fn line_end(line_ref: LineRef) -> u64 {
    line_ref.offset.saturating_add(if line_ref.length == 0 { 1 } else { line_ref.length as u64 }) // lossless
}

/// The end of the line before a row, so that iterating over parts rejects the same overlaps as iterating over all rows. 0 if the previous entry
/// is wrong.
fn previous_end(collection: &Collection, lines: &[LineRef], row: u64) -> u64 {
    let line_ref = |row: Option<u64>| row.and_then(|row| lines.get(usize::try_from(row).ok()?));
    match (line_ref(row.checked_sub(1)), line_ref(Some(row)), &collection.data) {
        (Some(before), Some(first), Some(data))
            if first.offset < line_end(*before) && line(data, before.offset, before.length).is_ok() =>
        {
            line_end(*before)
        }
        _ => 0,
    }
}

impl<'c> Iterator for Documents<'c> {
    type Item = Result<Document<'c>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.run.as_slice().is_empty()
            && let Some(document) = self.next_outside_run().transpose()
        {
            return Some(document);
        }
        let line_ref = self.next_in_run()?;
        let bytes = match self.memory {
            Some(memory) => Raw::Borrowed(line_in_run(memory, 0, line_ref)),
            None => {
                let (start, window) = &self.window;
                Raw::Shared(window.slice_ref(line_in_run(window, *start, line_ref)))
            }
        };
        Some(Ok(self.document(line_ref, bytes)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // An error ends the iteration early.
        (0, usize::try_from(self.rows.end - self.rows.start).ok())
    }
}

impl std::iter::FusedIterator for Documents<'_> {}
