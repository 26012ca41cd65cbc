//! Flushing: writes the index, and cleans up.

use std::io::Read;

use container_core::{Error, Result};
use serde_json::Value;

use crate::FORMAT_NAME;
use crate::journal::{IndexMark, Record, line};
use crate::layout::{DATA, DOCS, DOCUMENT_LIST, INDEX, JOURNAL, ORDER};
use crate::read::without;
use crate::wire::index::{header, put};
use crate::write::collection::{CollectionWriter, DiskIndex};
use crate::write::folder::Mode;
use crate::write::staging::Transaction;

/// Bytes of an index written at once.
const BLOCK_BYTES: usize = 256 << 10;

impl CollectionWriter {
    /// Writes the index: afterwards every reader sees all changes so far, and none of them is lost, not even in a power cut unless
    /// [`Durability::None`](crate::Durability::None) was chosen. Rewrites the whole index, about 30 bytes per document; does nothing if nothing
    /// has changed.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io): then the writer refuses to continue; the files are intact.
    pub fn flush(&mut self) -> Result<()> {
        self.ready().map_err(|error| error.in_format(FORMAT_NAME))?;
        let flushed = self.flush_all();
        self.roll_back_on_error(flushed).map_err(|error| error.in_format(FORMAT_NAME))
    }

    /// Flushes and closes the collection.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn finish(mut self) -> Result<()> {
        self.flush()
    }

    pub(crate) fn flush_all(&mut self) -> Result<()> {
        self.prepare()?;
        self.shared.renew_lock()?;
        let is_in_transaction = self.transaction.is_some();
        let is_changed = self.is_changed || matches!(self.disk_index, DiskIndex::Nothing);
        let published = if is_changed { self.publish().map(Some) } else { Ok(None) };
        let flushed = published.and_then(|published| {
            self.end_transaction();
            self.clean_up(published)
        });
        flushed.map_err(|error| match is_in_transaction && self.transaction.is_none() {
            true => Error::new(error.kind(), "the changes are saved, but the clean-up failed").caused_by(error),
            false => error,
        })
    }

    /// Writes the index, which commits all changes. Returns the documents whose files are still to be removed.
    fn publish(&mut self) -> Result<Published> {
        self.restore_last_line()?;
        let removed = self.transaction.as_ref().map(|transaction| &transaction.removed[..]).unwrap_or_default();
        let removed: Vec<String> = removed.iter().map(|(id, _)| id.clone()).collect();
        if !removed.is_empty() {
            self.before_change(false)?;
        }
        self.drain()?;
        if let Some(data) = &self.data {
            self.disk.sync("data", data)?;
        }
        self.publish_data()?;
        let is_unchanged = !removed.is_empty() && self.announce(&removed)?;
        if is_unchanged {
            // The record in the journal committed the changes.
            self.end_transaction();
        }
        let mark = self.write_index()?;
        if self.transaction.as_ref().is_some_and(Transaction::stages_collection) {
            self.update_manifest();
            self.write_manifest()?;
            self.publish_collection()?;
        }
        self.disk_index = DiskIndex::Other(mark);
        Ok(Published { mark, removed })
    }

    /// Removes files and the journal, and updates the metadata.
    fn clean_up(&mut self, published: Option<Published>) -> Result<()> {
        let is_changed = published.is_some();
        if let Some(Published { mark, removed }) = published {
            if self.ids.len() == 0 && self.written > 0 {
                self.empty_data()?;
            }
            removed.iter().try_for_each(|id| self.remove_document(id))?;
            self.unlist_removed()?;
            self.disk.remove("journal", self.meta()?, JOURNAL)?;
            self.journal = None;
            self.is_changed = false;
            if self.ids.needs_reload() {
                self.read_index(mark)?;
            }
        }
        self.update_manifest();
        self.write_manifest()?;
        self.shared.set_count(&self.name, self.len(), is_changed)
    }

    /// Updates the counts in the manifest.
    fn update_manifest(&mut self) {
        let len = self.len();
        if let Some(manifest) = &mut self.manifest {
            manifest.set(&["doc_count"], &Value::from(len));
            // Without a required schema, schemas are not counted.
            if self.strict.is_some() {
                manifest.set(&["schema_count"], &Value::from(u64::from(len > 0)));
            }
        }
    }

    /// If the document of the last line was deleted, puts the last document again, so that nothing after its line can be taken for appended.
    /// The order of the documents does not change.
    fn restore_last_line(&mut self) -> Result<()> {
        if self.is_last_line_live {
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
        (self.lines_end, self.is_last_line_live, self.needs_feed) = (self.end(), true, false);
        Ok(())
    }

    /// Once no documents are left, replaces the data by an empty file. Readers that have the old file mapped keep it.
    fn empty_data(&mut self) -> Result<()> {
        self.disk.replace("data", self.meta()?, DATA, |_| Ok(()))?;
        self.reopen_data()?;
        (self.lines_end, self.is_last_line_live, self.needs_feed) = (0, true, false);
        Ok(())
    }

    /// Reopens the data file after it was replaced.
    pub(crate) fn reopen_data(&mut self) -> Result<()> {
        self.data = self.meta()?.open(DATA, Mode::Append)?;
        self.source = self.read_file(DATA)?;
        self.written = self.source.len();
        Ok(())
    }

    /// Records in the journal which index ends the transaction, and whose files are removed with it. Returns whether the index on disk is already
    /// that one.
    fn announce(&mut self, removed: &[String]) -> Result<bool> {
        let publish = self.encode_index(&mut |_| Ok(()))?;
        let is_unchanged = self.index_mark() == Some(publish);
        let record = line(&Record::Publish { publish, remove: removed.to_vec() })?;
        if let Some(journal) = &mut self.journal {
            self.disk.append("journal", journal, &record)?;
            self.disk.sync("journal", journal)?;
        }
        Ok(is_unchanged)
    }

    fn write_index(&self) -> Result<IndexMark> {
        let mut mark = None;
        self.disk.replace("index", self.meta()?, INDEX, |write| {
            mark = Some(self.encode_index(write)?);
            Ok(())
        })?;
        mark.ok_or_else(|| Error::usage("no index was written"))
    }

    /// Encodes an index of all documents, and passes it to `write` in blocks.
    fn encode_index(&self, write: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<IndexMark> {
        let mut bytes = 0;
        let mut sum = crc32fast::Hasher::new();
        let mut write = |block: &[u8]| {
            bytes += block.len() as u64;
            sum.update(block);
            write(block)
        };
        let mut block = Vec::with_capacity(self.ids.max_index_len().min(BLOCK_BYTES) + 1024);
        block.extend_from_slice(&header(self.ids.len()));
        self.ids.for_each(|entry| {
            put(&entry, &mut block)?;
            if block.len() >= BLOCK_BYTES {
                write(&block)?;
                block.clear();
            }
            Ok(())
        })?;
        write(&block)?;
        Ok(IndexMark { bytes, crc32: sum.finalize() })
    }

    /// Makes the removal of documents' files durable.
    pub(crate) fn sync_documents(&self) -> Result<()> {
        if self.disk.sync == container_core::SyncPolicy::Disk
            && let Some(docs) =
                self.folders.as_ref().map(|folders| folders.collection.folder(DOCS)).transpose()?.flatten()
        {
            docs.sync();
        }
        Ok(())
    }

    /// Removes documents whose files were removed from `order.ids` and from the reference's list.
    pub(crate) fn unlist_removed(&mut self) -> Result<()> {
        if self.docs.removed.is_empty() {
            return Ok(());
        }
        self.sync_documents()?;
        // The reference assumes that documents on this list are in the order, too.
        for (step, name) in [("order", ORDER), ("list", DOCUMENT_LIST)] {
            self.unlist(step, name)?;
        }
        self.docs.removed.clear();
        Ok(())
    }

    /// Rewrites a list without removed documents.
    fn unlist(&self, step: &'static str, name: &str) -> Result<()> {
        let meta = self.meta()?;
        let Some(mut file) = meta.open(name, Mode::Read)? else { return Ok(()) };
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(|cause| Error::io("cannot read", cause).in_file(name.to_owned()))?;
        match without(name, &text, &self.docs.removed) {
            Some(kept) => self.disk.replace(step, meta, name, |write| write(kept.as_bytes())),
            None => Ok(()),
        }
    }
}

/// The index that was written, and the documents whose files are to be removed.
struct Published {
    mark: IndexMark,
    removed: Vec<String>,
}
