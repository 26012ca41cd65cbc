//! The index written, and what follows.

use std::fs;

use container_core::{Error, Result, Source};
use serde_json::Value;

use crate::FORMAT_NAME;
use crate::journal::IndexMark;
use crate::layout::{DATA, DOCS, DOCUMENT_LIST, INDEX, JOURNAL, MANIFEST, ORDER};
use crate::wire::index::{Entry, head, put};
use crate::write::collection::{CollectionWriter, OnDisk};

/// Bytes of an index that are written at once.
const PIECE: usize = 256 << 10;

impl CollectionWriter {
    /// Writes the index: from now on every reader sees what was put and deleted so far, and nothing of it is lost, not even by a power cut
    /// unless [`Durability::None`](crate::Durability::None) was chosen. Costs the writing of the whole index, about 30 bytes for each document;
    /// nothing where nothing has changed.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io): then the writer does not go on; what the files hold is whole.
    pub fn flush(&mut self) -> Result<()> {
        self.ready().map_err(|error| error.in_format(FORMAT_NAME))?;
        let flushed = self.flush_all();
        self.guarded(flushed).map_err(|error| error.in_format(FORMAT_NAME))
    }

    /// Flushes, and ends.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn finish(mut self) -> Result<()> {
        self.flush()
    }

    pub(crate) fn flush_all(&mut self) -> Result<()> {
        self.shared.renew_lock()?;
        let is_changed = self.is_changed || matches!(self.on_disk, OnDisk::Nothing);
        if is_changed {
            self.let_the_last_one_live()?;
            self.drain()?;
            self.disk.sync("data", &self.data)?;
            let mark = self.write_index(self.ids.len(), |put| self.ids.each(put))?;
            if self.ids.len() == 0 && self.written > 0 {
                self.empty_the_data()?;
            }
            self.disk.remove("journal", &self.meta(JOURNAL))?;
            self.journal = None;
            self.on_disk = OnDisk::Other(mark);
            self.is_changed = false;
            if self.ids.is_untidy() {
                self.read_index(mark)?;
            }
        }
        self.forget_removed()?;
        let count = self.len();
        if let Some(manifest) = &mut self.manifest {
            manifest.set(&["doc_count"], &Value::from(count));
            // Of documents that need not have one schema nobody has counted theirs.
            if self.strict.is_some() {
                manifest.set(&["schema_count"], &Value::from(u64::from(count > 0)));
            }
            let path = self.folder.join(crate::layout::META).join(MANIFEST);
            manifest.write(&self.disk, &path)?;
        }
        self.shared.counted(&self.name, count, is_changed)
    }

    /// Where the last line is one that was deleted, the last document is put once more: nobody can take what stands behind it for
    /// appended then. The order of the documents stays as it is.
    fn let_the_last_one_live(&mut self) -> Result<()> {
        if self.is_tail_alive {
            return Ok(());
        }
        let Some((id, offset, length)) = self.ids.last() else { return Ok(()) };
        let line = self.line(offset, length)?;
        if self.needs_feed {
            self.buffer.push(b'\n');
        }
        let start = self.end();
        self.buffer.extend_from_slice(&line);
        self.buffer.push(b'\n');
        let length = u32::try_from(line.len() + 1)
            .map_err(|_| Error::limit("the length of a line", line.len() as u64 + 1, u32::MAX.into()).at(offset))?;
        self.ids.put(&id, start, length)?;
        (self.covered, self.is_tail_alive, self.needs_feed) = (self.end(), true, false);
        Ok(())
    }

    /// Where no document is left the lines of those that were are not either: readers that have them mapped keep their file.
    fn empty_the_data(&mut self) -> Result<()> {
        let path = self.meta(DATA);
        self.disk.replace("data", &path, |_| Ok(()))?;
        self.reopen_data()?;
        (self.covered, self.is_tail_alive, self.needs_feed) = (0, true, false);
        Ok(())
    }

    /// The file of the data is another one now.
    pub(crate) fn reopen_data(&mut self) -> Result<()> {
        let path = self.meta(DATA);
        let failed = |cause| Error::io("cannot open", cause).in_file(path.display().to_string());
        self.data = fs::File::options().read(true).append(true).open(&path).map_err(failed)?;
        self.source = Source::open(&path)?;
        self.written = self.source.len();
        Ok(())
    }

    /// Writes an index of so many entries.
    pub(crate) fn write_index(
        &self,
        count: u64,
        each: impl FnOnce(&mut dyn FnMut(Entry<'_>) -> Result<()>) -> Result<()>,
    ) -> Result<IndexMark> {
        let mut mark = IndexMark { bytes: 0, crc32: 0 };
        let mut sum = crc32fast::Hasher::new();
        self.disk.replace("index", &self.meta(INDEX), |write| {
            let mut write = |bytes: &[u8]| {
                mark.bytes += bytes.len() as u64;
                sum.update(bytes);
                write(bytes)
            };
            let mut piece = Vec::with_capacity(self.ids.room().min(PIECE) + 1024);
            piece.extend_from_slice(&head(count));
            each(&mut |entry| {
                put(&entry, &mut piece)?;
                if piece.len() >= PIECE {
                    write(&piece)?;
                    piece.clear();
                }
                Ok(())
            })?;
            write(&piece)
        })?;
        mark.crc32 = sum.finalize();
        Ok(mark)
    }

    /// Takes documents whose files were removed out of the order of such documents, and out of the reference's list of them.
    fn forget_removed(&mut self) -> Result<()> {
        if self.loose.removed.is_empty() {
            return Ok(());
        }
        if self.disk.sync == container_core::Sync::Disk {
            container_core::sync_directory_of(&self.folder.join(DOCS).join("any"));
        }
        let removed = &self.loose.removed;
        let named =
            |line: &str| serde_json::from_str::<Listed>(line).is_ok_and(|listed| removed.contains(&*listed.doc_id));
        self.leave_out("order", ORDER, |line| removed.contains(line.trim()))?;
        // The reference takes a document that this list has for one that it had put into the order.
        self.leave_out("list", DOCUMENT_LIST, named)?;
        self.loose.removed.clear();
        Ok(())
    }

    /// Writes a file of lines anew without some of them.
    fn leave_out(&self, step: &'static str, name: &str, is_removed: impl Fn(&str) -> bool) -> Result<()> {
        let path = self.meta(name);
        // What is no text is nothing that we could mend.
        let Ok(text) = fs::read_to_string(&path) else { return Ok(()) };
        let kept: String = text.split_inclusive('\n').filter(|line| !is_removed(line)).collect();
        match kept.len() < text.len() {
            true => self.disk.replace(step, &path, |write| write(kept.as_bytes())),
            false => Ok(()),
        }
    }
}

/// A line of the reference's list of documents, as far as it matters here.
#[derive(serde::Deserialize)]
struct Listed<'l> {
    #[serde(borrow)]
    doc_id: std::borrow::Cow<'l, str>,
}
