//! The index written, and what follows.

use std::io::Read;

use container_core::{Error, Result};
use serde_json::Value;

use crate::FORMAT_NAME;
use crate::journal::{IndexMark, Record, line};
use crate::layout::{DATA, DOCS, DOCUMENT_LIST, INDEX, JOURNAL, ORDER};
use crate::wire::index::{head, put};
use crate::write::collection::{CollectionWriter, OnDisk};
use crate::write::folder::Mode;
use crate::write::staging::Transaction;

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
        self.prepare()?;
        self.shared.renew_lock()?;
        let is_in_transaction = self.transaction.is_some();
        let is_changed = self.is_changed || matches!(self.on_disk, OnDisk::Nothing);
        let published = if is_changed { self.publish().map(Some) } else { Ok(None) };
        let flushed = published.and_then(|published| {
            self.end_transaction();
            self.tidy_up(published)
        });
        flushed.map_err(|error| match is_in_transaction && self.transaction.is_none() {
            true => Error::new(error.kind(), "the changes are saved, but what follows them failed").caused_by(error),
            false => error,
        })
    }

    /// Writes the index, from which on all changes count. Gives the documents whose own files are still to be removed.
    fn publish(&mut self) -> Result<Published> {
        self.let_the_last_one_live()?;
        let removed = self.transaction.as_ref().map(|transaction| &transaction.removed[..]).unwrap_or_default();
        let removed: Vec<String> = removed.iter().map(|(id, _)| id.clone()).collect();
        if !removed.is_empty() {
            self.before_change(false)?;
        }
        self.drain()?;
        if let Some(data) = &self.data {
            self.disk.sync("data", data)?;
        }
        self.place_data()?;
        let is_there = !removed.is_empty() && self.announce(&removed)?;
        if is_there {
            // The announcement was what counts.
            self.end_transaction();
        }
        let mark = self.write_index()?;
        if self.transaction.as_ref().is_some_and(Transaction::stages_collection) {
            self.count();
            self.write_manifest()?;
            self.place_collection()?;
        }
        self.on_disk = OnDisk::Other(mark);
        Ok(Published { mark, removed })
    }

    /// What follows a flush.
    fn tidy_up(&mut self, published: Option<Published>) -> Result<()> {
        let is_changed = published.is_some();
        if let Some(Published { mark, removed }) = published {
            if self.ids.len() == 0 && self.written > 0 {
                self.empty_the_data()?;
            }
            removed.iter().try_for_each(|id| self.remove_document(id))?;
            self.forget_removed()?;
            self.disk.remove("journal", self.meta()?, JOURNAL)?;
            self.journal = None;
            self.is_changed = false;
            if self.ids.is_untidy() {
                self.read_index(mark)?;
            }
        }
        self.count();
        self.write_manifest()?;
        self.shared.counted(&self.name, self.len(), is_changed)
    }

    /// Sets the counts of the manifest.
    fn count(&mut self) {
        let count = self.len();
        if let Some(manifest) = &mut self.manifest {
            manifest.set(&["doc_count"], &Value::from(count));
            // Where documents may have any schema nobody has counted theirs.
            if self.strict.is_some() {
                manifest.set(&["schema_count"], &Value::from(u64::from(count > 0)));
            }
        }
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
        self.disk.replace("data", self.meta()?, DATA, |_| Ok(()))?;
        self.reopen_data()?;
        (self.covered, self.is_tail_alive, self.needs_feed) = (0, true, false);
        Ok(())
    }

    /// The file of the data is another one now.
    pub(crate) fn reopen_data(&mut self) -> Result<()> {
        self.data = self.meta()?.open(DATA, Mode::Append)?;
        self.source = self.read_file(DATA)?;
        self.written = self.source.len();
        Ok(())
    }

    /// Says in the journal which index ends the transaction, and the own files of which documents are removed with it. True where this index
    /// is on the disk already.
    fn announce(&mut self, removed: &[String]) -> Result<bool> {
        let publish = self.encode_index(&mut |_| Ok(()))?;
        let is_there = self.index_mark() == Some(publish);
        let record = line(&Record::Publish { publish, remove: removed.to_vec() })?;
        if let Some(journal) = &mut self.journal {
            self.disk.append("journal", journal, &record)?;
            self.disk.sync("journal", journal)?;
        }
        Ok(is_there)
    }

    fn write_index(&self) -> Result<IndexMark> {
        let mut mark = None;
        self.disk.replace("index", self.meta()?, INDEX, |write| {
            mark = Some(self.encode_index(write)?);
            Ok(())
        })?;
        mark.ok_or_else(|| Error::usage("no index was written"))
    }

    /// Gives the bytes of an index of all documents, in pieces.
    fn encode_index(&self, write: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<IndexMark> {
        let mut bytes = 0;
        let mut sum = crc32fast::Hasher::new();
        let mut write = |piece: &[u8]| {
            bytes += piece.len() as u64;
            sum.update(piece);
            write(piece)
        };
        let mut piece = Vec::with_capacity(self.ids.room().min(PIECE) + 1024);
        piece.extend_from_slice(&head(self.ids.len()));
        self.ids.each(|entry| {
            put(&entry, &mut piece)?;
            if piece.len() >= PIECE {
                write(&piece)?;
                piece.clear();
            }
            Ok(())
        })?;
        write(&piece)?;
        Ok(IndexMark { bytes, crc32: sum.finalize() })
    }

    /// The names of documents' own files outlast a power cut from now on.
    pub(crate) fn sync_documents(&self) -> Result<()> {
        if self.disk.sync == container_core::SyncPolicy::Disk
            && let Some(docs) =
                self.folders.as_ref().map(|folders| folders.collection.folder(DOCS)).transpose()?.flatten()
        {
            docs.sync();
        }
        Ok(())
    }

    /// Takes documents whose files were removed out of the order of such documents, and out of the reference's list of them.
    pub(crate) fn forget_removed(&mut self) -> Result<()> {
        if self.loose.removed.is_empty() {
            return Ok(());
        }
        self.sync_documents()?;
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
        let meta = self.meta()?;
        let Some(mut file) = meta.open(name, Mode::Read)? else { return Ok(()) };
        let mut text = String::new();
        // What is no text cannot be mended.
        if file.read_to_string(&mut text).is_err() {
            return Ok(());
        }
        let kept: String = text.split_inclusive('\n').filter(|line| !is_removed(line)).collect();
        match kept.len() < text.len() {
            true => self.disk.replace(step, meta, name, |write| write(kept.as_bytes())),
            false => Ok(()),
        }
    }
}

/// An index that was written, and documents whose own files are to be removed.
struct Published {
    mark: IndexMark,
    removed: Vec<String>,
}

/// A line of the reference's list of documents, as far as it matters here.
#[derive(serde::Deserialize)]
struct Listed<'l> {
    #[serde(borrow)]
    doc_id: std::borrow::Cow<'l, str>,
}
