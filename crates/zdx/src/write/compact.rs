//! Compaction: rewrites the data without dead lines.

use container_core::{Error, Result};

use crate::FORMAT_NAME;
use crate::journal::IndexMark;
use crate::layout::{DATA, JOURNAL, META};
use crate::read::line::line;
use crate::wire::index::{Entry, header, put};
use crate::wire::{json, lines};
use crate::write::collection::{CollectionWriter, DiskIndex};

/// Bytes written at once.
const BLOCK_BYTES: usize = 1 << 20;

/// Result of [`CollectionWriter::compact`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compaction {
    /// Length of `data.jsonl` before, in bytes.
    pub before: u64,
    /// Length of `data.jsonl` after, in bytes.
    pub after: u64,
}

impl CollectionWriter {
    /// Flushes, then rewrites the data with only the lines of current documents, in order: those of deleted and replaced documents are dropped,
    /// as is everything that is not a document. Each line is checked to be its document's first.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) if an index entry does not point at a line, or at another document's line: then nothing
    /// has changed. [`Io`](container_core::ErrorKind::Io): then the writer refuses to continue; the files are intact.
    pub fn compact(&mut self) -> Result<Compaction> {
        self.ready().map_err(|error| error.in_format(FORMAT_NAME))?;
        let flushed = self.flush_all();
        self.roll_back_on_error(flushed).map_err(|error| error.in_format(FORMAT_NAME))?;
        let checked = self.check_lines().map_err(|error| error.in_format(FORMAT_NAME))?;
        let before = self.written;
        // If the length is the same, nothing can be dropped.
        if checked < before {
            let compacted = self.compact_all(checked);
            self.roll_back_on_error(compacted).map_err(|error| error.in_format(FORMAT_NAME))?;
        }
        Ok(Compaction { before, after: self.written })
    }

    /// Checks all lines; returns their total length, each with a line feed.
    fn check_lines(&mut self) -> Result<u64> {
        self.source = self.read_file(DATA)?;
        let mut bytes = 0;
        self.ids.for_each(|entry| {
            bytes += self.checked_line(&entry)?.len() as u64 + 1;
            Ok(())
        })?;
        Ok(bytes)
    }

    /// The line of an entry, checked to be its document's.
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
                    Some(found) => format!("the index entry points at the line of document {found:?}"),
                    None => "the document has no \"_id\"".to_owned(),
                };
                return Err(placed(Error::invalid(detail).at(entry.offset)));
            }
        }
        Ok(bytes)
    }

    fn compact_all(&mut self, expected: u64) -> Result<()> {
        // The journal makes the old index invalid for shorter data.
        self.before_change(true)?;
        let mut index = header(self.ids.len()).to_vec();
        let mut end = 0u64;
        self.disk.replace("data", self.meta()?, DATA, |write| {
            let mut block = Vec::with_capacity(BLOCK_BYTES + 4096);
            self.ids.for_each(|entry| {
                let bytes = self.checked_line(&entry)?;
                let length = u32::try_from(bytes.len() + 1)
                    .map_err(|_| Error::limit("the length of a line", bytes.len() as u64 + 1, u32::MAX.into()))?;
                put(&Entry { id: entry.id, offset: end, length }, &mut index)?;
                end += u64::from(length);
                block.extend_from_slice(&bytes);
                block.push(b'\n');
                if block.len() >= BLOCK_BYTES {
                    write(&block)?;
                    block.clear();
                }
                Ok(())
            })?;
            match end == expected {
                true => write(&block),
                false => Err(Error::invalid("the data changed during compaction")),
            }
        })?;
        self.disk.replace("index", self.meta()?, crate::layout::INDEX, |write| write(&index))?;
        let mark = IndexMark::of(&index);
        self.disk.remove("journal", self.meta()?, JOURNAL)?;
        self.journal = None;
        self.reopen_data()?;
        (self.lines_end, self.is_last_line_live, self.needs_feed) = (end, true, false);
        self.disk_index = DiskIndex::Other(mark);
        self.read_index(mark)
    }
}
