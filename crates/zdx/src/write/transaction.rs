//! Transactions: changes that count together or not at all.

use std::fs::File;
use std::io::{Read, Seek};

use container_core::{Error, Result};

use crate::FORMAT_NAME;
use crate::journal::{Header, IndexMark, Record, VERSION, line};
use crate::layout::{DATA, JOURNAL};
use crate::write::collection::{CollectionWriter, DiskIndex, PendingRepair};
use crate::write::folder::{Folder, Mode};
use crate::write::options::Durability;
use crate::write::staging::{Append, Before, STAGED_DATA, Staging, Transaction};

impl CollectionWriter {
    /// Begins a transaction: all changes up to the next [`flush`](Self::flush), [`compact`](Self::compact) or [`finish`](Self::finish) count
    /// together or not at all, for every reader and after every crash. Until then no reader sees any of them. A new collection appears as a
    /// whole.
    ///
    /// A rejected document is not put, and the transaction continues: end it with [`roll_back`](Self::roll_back), or by dropping the writer. An
    /// I/O error rolls it back at once; if that fails, the error says so and the next opening rolls back. An error after the commit point says
    /// that the changes are saved.
    ///
    /// ```
    /// # fn main() -> Result<(), zdx::Error> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("trees");
    /// # let root = zdx::StoreWriter::open(&path, zdx::WriterOptions::default())?;
    /// let mut trees = root.collection("trees")?;
    /// trees.begin()?;
    /// trees.put_line(br#"{"_id":"oak"}"#)?;
    /// assert!(trees.put_line(br#"{"_id":"e l m"}"#).is_err());
    /// trees.roll_back()?;
    /// assert!(trees.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) if a transaction is already open; [`Io`](container_core::ErrorKind::Io) of earlier changes.
    pub fn begin(&mut self) -> Result<()> {
        self.ready().and_then(|()| self.begin_transaction(true)).map_err(|error| error.in_format(FORMAT_NAME))
    }

    /// Discards all changes since [`begin`](Self::begin). The writer can continue.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) if no transaction is open; [`Io`](container_core::ErrorKind::Io): then the writer refuses
    /// to continue, and the next opening rolls back.
    pub fn roll_back(&mut self) -> Result<()> {
        let open = self.ready().and_then(|()| match &self.transaction {
            Some(_) => Ok(()),
            None => Err(Error::usage("no transaction is open")),
        });
        open.and_then(|()| self.try_roll_back()).map_err(|error| error.in_format(FORMAT_NAME))
    }

    pub(crate) fn begin_transaction(&mut self, is_explicit: bool) -> Result<()> {
        if self.transaction.is_some() {
            return Err(Error::usage("a transaction is already open"));
        }
        let drained = self.drain();
        self.roll_back_on_error(drained)?;
        let has_files = !self.docs.unshadowed.is_empty() || !self.docs.shadowed.is_empty();
        let staging = match &self.pending_repair {
            _ if !is_explicit => Staging::Appended(None),
            Some(PendingRepair { is_new: true, .. }) => Staging::Collection(None),
            _ if self.written == 0 && self.ids.len() == 0 && self.journal.is_none() && !has_files => {
                Staging::Data(None)
            }
            _ => Staging::Appended(None),
        };
        let before = Before {
            written: self.written,
            lines_end: self.lines_end,
            is_last_line_live: self.is_last_line_live,
            needs_feed: self.needs_feed,
            is_changed: self.is_changed,
            schema: self.strict.as_ref().and_then(|strict| strict.schema.clone()),
        };
        self.ids.begin();
        let (shadowed, removed) = (Vec::new(), Vec::new());
        self.transaction = Some(Transaction { before, staging, is_explicit, shadowed, removed });
        Ok(())
    }

    /// Before files change: repairs the collection if necessary, and records in the journal what the changes mean.
    pub(crate) fn before_change(&mut self, compacts: bool) -> Result<()> {
        self.prepare()?;
        match self.transaction.as_ref().map(|transaction| &transaction.staging) {
            Some(Staging::Collection(_) | Staging::Data(Some(_))) => return Ok(()),
            Some(Staging::Data(None)) => return self.stage_data(),
            Some(Staging::Appended(Some(_))) => return Ok(()),
            Some(Staging::Appended(None)) => {}
            None if self.journal.is_some() => return Ok(()),
            None => {}
        }
        self.shared.renew_lock()?;
        let begin = match &self.transaction {
            Some(_) => line(&Record::Begin { begin: self.written })?,
            None => Vec::new(),
        };
        if self.journal.is_some() {
            return self.append_begin(&begin);
        }
        let header = line(&Header { version: VERSION, index: self.index_mark(), data_bytes: self.written, compacts })?;
        self.record_append(false, header.len() as u64)?;
        self.write_journal(&[header, begin].concat())
    }

    /// Records what is needed to roll back appended data, if a transaction is open.
    fn record_append(&mut self, had_journal: bool, journal_bytes: u64) -> Result<()> {
        let Some(data) = &self.data else { return Ok(()) };
        let modified = data.metadata().and_then(|metadata| metadata.modified()).ok();
        if let Some(Transaction { staging: Staging::Appended(append), .. }) = &mut self.transaction {
            *append = Some(Append { had_journal, journal_bytes, modified });
        }
        Ok(())
    }

    /// Adds the record `begin` to the journal of earlier changes.
    fn append_begin(&mut self, begin: &[u8]) -> Result<()> {
        let is_explicit = self.transaction.as_ref().is_some_and(|transaction| transaction.is_explicit);
        let Some(mut journal) = self.journal.take() else { return Ok(()) };
        let failed = |cause| Error::io("cannot read the journal", cause);
        let len = journal.metadata().map_err(failed)?.len();
        let marked = self.record_append(true, len).and_then(|()| self.disk.append("journal", &mut journal, begin));
        let synced = match is_explicit {
            true => marked.and_then(|()| self.disk.sync("journal", &journal)),
            // A load may be lost in part in a power cut, as any change since the last flush.
            false => marked,
        };
        self.journal = Some(journal);
        synced
    }

    /// Writes a new journal, replacing a void one.
    fn write_journal(&mut self, lines: &[u8]) -> Result<()> {
        self.disk.replace("journal", self.meta()?, JOURNAL, |write| write(lines))?;
        let missing = || Error::io("cannot open the journal", std::io::ErrorKind::NotFound.into());
        self.journal = Some(self.meta()?.open(JOURNAL, Mode::Append)?.ok_or_else(missing)?);
        Ok(())
    }

    /// Identifies the index file.
    pub(crate) fn index_mark(&self) -> Option<IndexMark> {
        match self.disk_index {
            DiskIndex::Nothing => None,
            DiskIndex::Base => Some(IndexMark::of(self.ids.base_bytes())),
            DiskIndex::Other(mark) => Some(mark),
        }
    }

    fn stage_data(&mut self) -> Result<()> {
        let meta = self.meta()?;
        meta.remove(STAGED_DATA)?;
        let staged = meta.open(STAGED_DATA, Mode::AppendOrCreate)?;
        let previous = std::mem::replace(&mut self.data, staged);
        if let Some(transaction) = &mut self.transaction {
            transaction.staging = Staging::Data(Some(previous));
        }
        Ok(())
    }

    /// Moves staged data into place, which ends the transaction. The journal lists the deletions among them.
    pub(crate) fn publish_data(&mut self) -> Result<()> {
        if !matches!(&self.transaction, Some(Transaction { staging: Staging::Data(Some(_)), .. })) {
            return Ok(());
        }
        let header = line(&Header { version: VERSION, index: self.index_mark(), data_bytes: 0, compacts: false })?;
        let lines = [&header[..], &self.deletions].concat();
        self.write_journal(&lines)?;
        let meta = self.meta()?;
        self.disk.rename("data", (meta, STAGED_DATA), (meta, DATA))?;
        self.deletions.clear();
        self.end_transaction();
        Ok(())
    }

    /// Moves a new collection into place, which ends the transaction.
    pub(crate) fn publish_collection(&mut self) -> Result<()> {
        if let Some(Transaction { staging: Staging::Collection(Some((folder, hidden))), .. }) = &self.transaction {
            self.shared.publish(folder, hidden, &self.name)?;
        }
        Ok(())
    }

    /// Commits the transaction in memory.
    pub(crate) fn end_transaction(&mut self) {
        if self.transaction.take().is_some() {
            self.ids.commit();
        }
    }

    /// Ends a transaction with a record in the journal.
    pub(crate) fn end_in_journal(&mut self) -> Result<()> {
        if let Some(Transaction { staging: Staging::Appended(Some(_)), .. }) = &self.transaction
            && let Some(journal) = &mut self.journal
        {
            self.disk.append("journal", journal, &line(&Record::End { end: self.written })?)?;
            if self.shared.options.durability == Durability::EveryPut {
                self.disk.sync("journal", journal)?;
            }
        }
        self.end_transaction();
        Ok(())
    }

    /// Rolls the transaction back. If that fails the writer refuses to continue, and the next opening rolls back.
    pub(crate) fn try_roll_back(&mut self) -> Result<()> {
        let Some(transaction) = self.transaction.take() else { return Ok(()) };
        let Transaction { before, staging, shadowed, removed, .. } = transaction;
        self.ids.roll_back();
        self.buffer.clear();
        self.deletions.clear();
        for id in shadowed {
            self.docs.shadowed.remove(&id);
            self.docs.unshadowed.insert(id);
        }
        for (id, was_unshadowed) in removed {
            if was_unshadowed { &mut self.docs.unshadowed } else { &mut self.docs.shadowed }.insert(id);
        }
        if let Some(strict) = &mut self.strict {
            strict.schema = before.schema.clone();
        }
        self.written = before.written;
        (self.lines_end, self.is_last_line_live) = (before.lines_end, before.is_last_line_live);
        (self.needs_feed, self.is_changed) = (before.needs_feed, before.is_changed);
        let result = self.shared.owner.check().and_then(|()| match staging {
            Staging::Appended(Some(append)) => self.undo_append(&before, &append),
            Staging::Data(Some(previous)) => self.undo_data(previous),
            Staging::Collection(hidden) if self.folders.is_some() || hidden.is_some() => self.undo_collection(hidden),
            Staging::Appended(None) | Staging::Data(None) | Staging::Collection(_) => Ok(()),
        });
        self.has_failed |= result.is_err();
        result
    }

    /// The data first: while the journal has an open transaction, readers ignore what follows.
    fn undo_append(&mut self, before: &Before, append: &Append) -> Result<()> {
        let data = self.data()?;
        let failed = |cause| Error::io("cannot read the data", cause);
        if data.metadata().map_err(failed)?.len() > before.written {
            self.disk.cut("data", data, before.written)?;
            self.disk.sync("data", data)?;
        }
        // An index older than the data would not be trusted: lines past its end could have been appended.
        let is_time_restored = append.modified.is_some_and(|time| data.set_modified(time).is_ok());
        // A repair that waits for the next flush needs a journal: copies of the files have other times.
        if !append.had_journal && (before.is_last_line_live || is_time_restored && !before.is_changed) {
            self.journal = None;
            return self.disk.remove("journal", self.meta()?, JOURNAL);
        }
        let Some(mut journal) = self.journal.take() else { return Ok(()) };
        let failed = |cause| Error::io("cannot read the journal", cause);
        let mut lines = Vec::new();
        journal.rewind().map_err(failed)?;
        journal.take(append.journal_bytes).read_to_end(&mut lines).map_err(failed)?;
        self.write_journal(&lines)
    }

    fn undo_data(&mut self, previous: Option<File>) -> Result<()> {
        self.data = previous;
        if self.journal.take().is_some() {
            self.disk.remove("journal", self.meta()?, JOURNAL)?;
        }
        self.disk.remove("data", self.meta()?, STAGED_DATA)
    }

    fn undo_collection(&mut self, hidden: Option<(Folder, String)>) -> Result<()> {
        (self.folders, self.data, self.disk_index) = (None, None, DiskIndex::Nothing);
        self.pending_repair = Some(PendingRepair::new_collection());
        if let Some(manifest) = &mut self.manifest {
            manifest.forget_written();
        }
        match hidden {
            Some((_, name)) => self.shared.remove_hidden(&name),
            None => Ok(()),
        }
    }
}
