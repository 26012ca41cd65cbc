//! The lines of documents that are no more, left out.

use container_core::{Error, Result};

use crate::FORMAT_NAME;
use crate::journal::IndexMark;
use crate::layout::{DATA, JOURNAL, META};
use crate::read::line::line;
use crate::wire::index::{Entry, head, put};
use crate::wire::{json, lines};
use crate::write::collection::{CollectionWriter, OnDisk};

/// Bytes that are written at once.
const PIECE: usize = 1 << 20;

/// What compacting has gained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compacted {
    /// Bytes of data before.
    pub before: u64,
    /// Bytes of data now.
    pub after: u64,
}

impl CollectionWriter {
    /// Flushes, and writes the data anew with the lines of documents alone, in their order: those of deleted and replaced ones are left out,
    /// and with them what is no document at all. Each line is checked for being that of its document before.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) where the index names what is no line, or the line of another document: nothing was
    /// changed then. [`Io`](container_core::ErrorKind::Io): the writer does not go on; what the files hold is whole.
    pub fn compact(&mut self) -> Result<Compacted> {
        self.ready().map_err(|error| error.in_format(FORMAT_NAME))?;
        let flushed = self.flush_all();
        self.guarded(flushed).map_err(|error| error.in_format(FORMAT_NAME))?;
        let checked = self.check_lines().map_err(|error| error.in_format(FORMAT_NAME))?;
        let before = self.written;
        // With the same bytes there is nothing to be gained, and nothing else is as long.
        if checked < before {
            let compacted = self.compact_all(checked);
            self.guarded(compacted).map_err(|error| error.in_format(FORMAT_NAME))?;
        }
        Ok(Compacted { before, after: self.written })
    }

    /// Goes through all lines; says how many bytes they have, each with a line feed.
    fn check_lines(&mut self) -> Result<u64> {
        self.source = self.read_file(DATA)?;
        let mut bytes = 0;
        self.ids.each(|entry| {
            bytes += self.checked_line(&entry)?.len() as u64 + 1;
            Ok(())
        })?;
        Ok(bytes)
    }

    /// The line of an entry, which has to be its document's.
    fn checked_line(&self, entry: &Entry<'_>) -> Result<crate::read::line::Raw<'_>> {
        let placed = |error: Error| {
            let key = String::from_utf8_lossy(entry.id).into_owned();
            error.in_key(key).in_file(format!("{META}/{DATA}"))
        };
        let bytes = line(&self.source, entry.offset, entry.length).map_err(placed)?;
        let plain = lines::lines(&bytes).next().and_then(|line| line.plain_id());
        if plain.map(str::as_bytes) != Some(entry.id) {
            let found = json::scan(&bytes).map_err(|error| placed(error.shifted(entry.offset)))?.into_id();
            if found.as_deref().map(str::as_bytes) != Some(entry.id) {
                let detail = match found {
                    Some(found) => format!("the index names the line of the document {found:?}"),
                    None => "the document has no \"_id\"".to_owned(),
                };
                return Err(placed(Error::invalid(detail).at(entry.offset)));
            }
        }
        Ok(bytes)
    }

    fn compact_all(&mut self, wanted: u64) -> Result<()> {
        // From here on the index is only of these data, and not of shorter ones.
        self.before_change(true)?;
        let mut index = head(self.ids.len()).to_vec();
        let mut end = 0u64;
        self.disk.replace("data", self.meta()?, DATA, |write| {
            let mut piece = Vec::with_capacity(PIECE + 4096);
            self.ids.each(|entry| {
                let bytes = self.checked_line(&entry)?;
                let length = u32::try_from(bytes.len() + 1)
                    .map_err(|_| Error::limit("the length of a line", bytes.len() as u64 + 1, u32::MAX.into()))?;
                put(&Entry { id: entry.id, offset: end, length }, &mut index)?;
                end += u64::from(length);
                piece.extend_from_slice(&bytes);
                piece.push(b'\n');
                if piece.len() >= PIECE {
                    write(&piece)?;
                    piece.clear();
                }
                Ok(())
            })?;
            match end == wanted {
                true => write(&piece),
                false => Err(Error::invalid("the data changed while they were read")),
            }
        })?;
        self.disk.replace("index", self.meta()?, crate::layout::INDEX, |write| write(&index))?;
        let mark = IndexMark::of(&index);
        self.disk.remove("journal", self.meta()?, JOURNAL)?;
        self.journal = None;
        self.reopen_data()?;
        (self.covered, self.is_tail_alive, self.needs_feed) = (end, true, false);
        self.on_disk = OnDisk::Other(mark);
        self.read_index(mark)
    }
}
