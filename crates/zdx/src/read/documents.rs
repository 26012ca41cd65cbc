//! A walk over documents.

use std::borrow::Cow;
use std::ops::Range;

use container_core::{Bytes, Error, Result, Source};

use crate::read::collection::{Collection, in_data, in_format};
use crate::read::document::{Document, Id};
use crate::read::line::{Raw, check_read, line, line_in, line_of};
use crate::read::places::Place;
use crate::read::run::{line_in_run, run};
use crate::read::table::entry_at;
use crate::wire::lines::BYTE_ORDER_MARK;

/// What of data that are not in memory is read at once, if the next document is not longer.
const WINDOW: u64 = 1 << 20;

/// A walk over documents, in their order. After an error there are no more.
#[derive(Debug, Clone)]
pub struct Documents<'c> {
    collection: &'c Collection,
    /// The data, where they lie in memory.
    memory: Option<&'c [u8]>,
    /// The index in which the places are.
    index: &'c [u8],
    places: &'c [Place],
    files: &'c [String],
    rows: Range<u64>,
    /// The next places, of which it is known that they are those of whole lines.
    run: std::slice::Iter<'c, Place>,
    /// The first row for which a run may be sought again.
    sought: u64,
    /// Where the line before ended: no other may begin in front of it.
    end: u64,
    /// Data that were read, and where they begin.
    window: (u64, Bytes),
}

impl Collection {
    /// The document of this number, counted from 0 in the order of [`documents`](Self::documents).
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) behind the last one; else as [`get`](Self::get).
    pub fn document(&self, row: u64) -> Result<Document<'_>> {
        match self.documents_in(row..row.saturating_add(1))?.next() {
            Some(document) => document,
            None => {
                let len = self.len()?;
                Err(in_format(Error::usage(format!("there is no document {row}: there are {len}")).in_row(row)))
            }
        }
    }

    /// All documents: those with a line in the order in which the lines stand, then those with files of their own in the order of
    /// `order.ids`, then by name.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io); the documents' own errors come from the walk, which ends after one.
    pub fn documents(&self) -> Result<Documents<'_>> {
        self.documents_in(0..u64::MAX)
    }

    /// The documents of these numbers, counted from 0; an end behind the last one means that.
    ///
    /// # Errors
    /// As [`documents`](Self::documents).
    pub fn documents_in(&self, rows: Range<u64>) -> Result<Documents<'_>> {
        let places = self.places()?;
        let files = match rows.end > places.len() as u64 {
            true => self.files()?.ids.as_slice(),
            false => &[],
        };
        Documents::new(self, places, files, rows)
    }
}

impl<'c> Documents<'c> {
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io) where the index was not read before.
    pub(crate) fn new(
        collection: &'c Collection,
        places: &'c [Place],
        files: &'c [String],
        rows: Range<u64>,
    ) -> Result<Self> {
        let memory = collection.data.as_ref().and_then(Source::as_slice);
        let index = collection.table()?.map_or(&[][..], |table| table.bytes());
        let all = places.len() as u64 + files.len() as u64;
        let rows = rows.start.min(all)..rows.end.min(all);
        let end = end_before(collection, places, rows.start);
        Ok(Self {
            collection,
            memory,
            index,
            places,
            files,
            sought: rows.start,
            rows,
            run: [].iter(),
            end,
            window: (0, Bytes::new()),
        })
    }

    /// The number of the next document, counted from 0.
    #[must_use]
    pub fn row(&self) -> u64 {
        self.rows.start
    }

    /// The next document; `None` behind the last one, and after an error.
    ///
    /// # Errors
    /// As [`Collection::get`].
    #[inline]
    pub fn try_next(&mut self) -> Result<Option<Document<'c>>> {
        if let Some(document) = self.next_of_run() {
            return Ok(Some(document));
        }
        self.next_behind_run()
    }

    #[inline(never)] // so that what is above is short
    fn next_behind_run(&mut self) -> Result<Option<Document<'c>>> {
        self.seek_run();
        match self.next_of_run() {
            Some(document) => Ok(Some(document)),
            None => self.next_alone(),
        }
    }

    /// The next document of a run of lines that were checked together.
    #[inline(always)] // a call takes longer
    fn next_of_run(&mut self) -> Option<Document<'c>> {
        let place = self.run.next()?;
        self.rows.start += 1;
        let bytes = Raw::Borrowed(line_in_run(self.memory.unwrap_or_default(), *place));
        let id = Id::In { index: self.index, position: place.position };
        Some(Document { id, bytes, offset: Some(place.offset) })
    }

    /// Checks the lines of the next rows together, where they allow that.
    fn seek_run(&mut self) {
        let (Some(memory), Ok(start)) = (self.memory, usize::try_from(self.rows.start)) else { return };
        if self.rows.start < self.sought {
            return;
        }
        let most = usize::try_from(self.rows.end - self.rows.start).unwrap_or(usize::MAX);
        let places = self.places.get(start..).unwrap_or_default();
        if places.first().is_none_or(|first| first.offset < self.end) {
            return;
        }
        let (found, tried) = run(memory, places, most);
        self.run = found.iter();
        // What was no run is not looked at again from each of its rows.
        self.sought = self.rows.start + tried as u64;
        if let Some(last) = found.last() {
            self.end = end_of(*last);
        }
    }

    fn next_alone(&mut self) -> Result<Option<Document<'c>>> {
        if self.rows.start >= self.rows.end {
            return Ok(None);
        }
        let row = self.rows.start;
        self.rows.start += 1;
        let found = match usize::try_from(row).ok().and_then(|row| self.places.get(row)) {
            Some(place) => self.line(*place),
            None => self.file(row - self.places.len() as u64),
        };
        if found.is_err() {
            self.rows.start = self.rows.end;
        }
        found.map(Some).map_err(|error| error.in_row(row))
    }

    #[inline]
    fn line(&mut self, place: Place) -> Result<Document<'c>> {
        let found = match (self.memory, &self.collection.data) {
            (Some(bytes), Some(data)) => check_read(data, place.offset, place.length, &self.collection.options.limits)
                .and_then(|()| line_of(bytes, data, place.offset, place.length)),
            (None, Some(data)) => self.read(data, place),
            (_, None) => Err(Error::usage("there are no data")),
        };
        let bytes = match found {
            Ok(bytes) => bytes,
            Err(error) => return Err(self.failed(error, place)),
        };
        if place.offset < self.end {
            return Err(self.failed(self.overlap(place), place));
        }
        self.end = end_of(place);
        let id = Id::In { index: self.index, position: place.position };
        Ok(Document { id, bytes, offset: Some(place.offset) })
    }

    #[cold]
    fn overlap(&self, place: Place) -> Error {
        let end = self.end;
        let error = format!("the line begins in front of byte {end}, where the one of the document before ends");
        Error::invalid(error).at(place.offset)
    }

    #[cold]
    fn failed(&self, error: Error, place: Place) -> Error {
        let id = entry_at(self.index, place.position).map(|entry| entry.id).unwrap_or_default();
        in_data(error).in_key(String::from_utf8_lossy(id).into_owned())
    }

    fn read(&mut self, data: &'c Source, place: Place) -> Result<Raw<'c>> {
        check_read(data, place.offset, place.length, &self.collection.options.limits)?;
        let mark = BYTE_ORDER_MARK.len() as u64;
        let (from, window) = &self.window;
        let needed = place.offset.saturating_add(place.length.into()).saturating_add(2).min(data.len());
        let until = from + window.len() as u64;
        if place.offset < from + mark.min(place.offset) || needed > until {
            let from = place.offset.saturating_sub(mark).min(data.len());
            let until = needed.max(from.saturating_add(WINDOW)).min(data.len());
            self.window = (from, data.read(from..until)?);
        }
        let (from, window) = &self.window;
        let is_last = from + window.len() as u64 == data.len();
        match line_in(window, *from, is_last, place.offset, place.length) {
            Some(line) => Ok(line),
            // What is wrong with it is told there.
            None => line(data, place.offset, place.length),
        }
    }

    fn file(&self, row: u64) -> Result<Document<'c>> {
        let id = usize::try_from(row).ok().and_then(|row| self.files.get(row));
        let id = id.ok_or_else(|| Error::usage("there is no such document"))?;
        let bytes = self.collection.home.document(id, &self.collection.options).map_err(in_format)?;
        let missing = || in_format(Error::invalid("the file of the document is gone").in_key(id.clone()));
        let bytes = bytes.ok_or_else(missing)?;
        Ok(Document { id: Id::Is(Cow::Borrowed(id.as_bytes())), bytes: Raw::Shared(bytes), offset: None })
    }
}

/// Where the line of a document ends, if its entry does not lie; behind its beginning, so that no two documents share an empty line.
#[inline]
const fn end_of(place: Place) -> u64 {
    place.offset.saturating_add(if place.length == 0 { 1 } else { place.length as u64 }) // lossless
}

/// Where the line in front of a row ends, for a walk that begins with that row: what one walk over all rows refuses, several over parts of
/// them do, too. 0 where the entry in front lies, of which the row knows nothing.
fn end_before(collection: &Collection, places: &[Place], row: u64) -> u64 {
    let place = |row: Option<u64>| row.and_then(|row| places.get(usize::try_from(row).ok()?));
    match (place(row.checked_sub(1)), place(Some(row)), &collection.data) {
        (Some(before), Some(first), Some(data))
            if first.offset < end_of(*before) && line(data, before.offset, before.length).is_ok() =>
        {
            end_of(*before)
        }
        _ => 0,
    }
}

impl<'c> Iterator for Documents<'c> {
    type Item = Result<Document<'c>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.try_next().transpose()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // After an error there are fewer.
        (0, usize::try_from(self.rows.end - self.rows.start).ok())
    }
}

impl std::iter::FusedIterator for Documents<'_> {}
