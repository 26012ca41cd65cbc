//! Changes that count together or not at all.

use std::fs::File;
use std::io::{Read, Seek};

use container_core::{Error, Result};

use crate::FORMAT_NAME;
use crate::journal::{Head, IndexMark, Record, VERSION, line};
use crate::layout::{DATA, JOURNAL};
use crate::write::collection::{CollectionWriter, OnDisk, Preparation};
use crate::write::folder::{Folder, Mode};
use crate::write::options::Durability;
use crate::write::staging::{Appended, Before, STAGED_DATA, Staging, Transaction};

impl CollectionWriter {
    /// Begins a transaction: all changes from here to the next [`flush`](Self::flush), [`compact`](Self::compact) or
    /// [`finish`](Self::finish) count together or not at all, for every reader and after every crash. Until then no reader sees any of them. A collection that does
    /// not exist yet appears whole.
    ///
    /// A document that is refused is not put, and the transaction goes on: it is for the caller to end it with
    /// [`roll_back`](Self::roll_back), or to drop the writer, which does the same. An error of the files rolls it back at once; the error
    /// says so where that fails, too, and then the next opening does it. An error behind the point at which the changes count says that they do.
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
    /// [`Usage`](container_core::ErrorKind::Usage) while another one is open; [`Io`](container_core::ErrorKind::Io) of changes before.
    pub fn begin(&mut self) -> Result<()> {
        self.ready().and_then(|()| self.begin_transaction(true)).map_err(|error| error.in_format(FORMAT_NAME))
    }

    /// Takes back all changes since [`begin`](Self::begin). The writer can go on.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) where no transaction is open; [`Io`](container_core::ErrorKind::Io): then the writer
    /// refuses to go on, and the next opening takes the changes back.
    pub fn roll_back(&mut self) -> Result<()> {
        let open = self.ready().and_then(|()| match &self.transaction {
            Some(_) => Ok(()),
            None => Err(Error::usage("there is no transaction to roll back")),
        });
        open.and_then(|()| self.undo()).map_err(|error| error.in_format(FORMAT_NAME))
    }

    pub(crate) fn begin_transaction(&mut self, is_explicit: bool) -> Result<()> {
        if self.transaction.is_some() {
            return Err(Error::usage("a transaction is open already"));
        }
        let drained = self.drain();
        self.guarded(drained)?;
        let has_files = !self.loose.seen.is_empty() || !self.loose.shadowed.is_empty();
        let staging = match &self.to_prepare {
            _ if !is_explicit => Staging::Appended(None),
            Some(Preparation { is_new: true, .. }) => Staging::Collection(None),
            _ if self.written == 0 && self.ids.len() == 0 && self.journal.is_none() && !has_files => {
                Staging::Data(None)
            }
            _ => Staging::Appended(None),
        };
        let before = Before {
            written: self.written,
            covered: self.covered,
            is_tail_alive: self.is_tail_alive,
            needs_feed: self.needs_feed,
            is_changed: self.is_changed,
            schema: self.strict.as_ref().and_then(|strict| strict.schema.clone()),
        };
        self.ids.begin();
        let (shadowed, removed) = (Vec::new(), Vec::new());
        self.transaction = Some(Transaction { before, staging, is_explicit, shadowed, removed });
        Ok(())
    }

    /// Before files are changed: prepares the collection, and makes sure that the journal says what the changes mean.
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
            return self.mark_journal(&begin);
        }
        let head = line(&Head { version: VERSION, index: self.index_mark(), data_bytes: self.written, compacts })?;
        self.appended(false, head.len() as u64)?;
        self.write_journal(&[head, begin].concat())
    }

    /// A transaction is about to append.
    fn appended(&mut self, had_journal: bool, journal_bytes: u64) -> Result<()> {
        let Some(data) = &self.data else { return Ok(()) };
        let modified = data.metadata().and_then(|metadata| metadata.modified()).ok();
        if let Some(Transaction { staging: Staging::Appended(appended), .. }) = &mut self.transaction {
            *appended = Some(Appended { had_journal, journal_bytes, modified });
        }
        Ok(())
    }

    /// Behind earlier changes.
    fn mark_journal(&mut self, begin: &[u8]) -> Result<()> {
        let is_explicit = self.transaction.as_ref().is_some_and(|transaction| transaction.is_explicit);
        let Some(mut journal) = self.journal.take() else { return Ok(()) };
        let failed = |cause| Error::io("cannot read the journal", cause);
        let len = journal.metadata().map_err(failed)?.len();
        let marked = self.appended(true, len).and_then(|()| self.disk.append("journal", &mut journal, begin));
        let synced = match is_explicit {
            true => marked.and_then(|()| self.disk.sync("journal", &journal)),
            // What was loaded may be missing in part after a power cut, as anything since the last flush.
            false => marked,
        };
        self.journal = Some(journal);
        synced
    }

    /// Makes the journal, in the place of one that means nothing any more.
    fn write_journal(&mut self, lines: &[u8]) -> Result<()> {
        self.disk.replace("journal", self.meta()?, JOURNAL, |write| write(lines))?;
        let missing = || Error::io("cannot open the journal", std::io::ErrorKind::NotFound.into());
        self.journal = Some(self.meta()?.open(JOURNAL, Mode::Append)?.ok_or_else(missing)?);
        Ok(())
    }

    /// The index on the disk.
    pub(crate) fn index_mark(&self) -> Option<IndexMark> {
        match self.on_disk {
            OnDisk::Nothing => None,
            OnDisk::Base => Some(IndexMark::of(self.ids.base_bytes())),
            OnDisk::Other(mark) => Some(mark),
        }
    }

    fn stage_data(&mut self) -> Result<()> {
        let meta = self.meta()?;
        meta.remove(STAGED_DATA)?;
        let staged = meta.open(STAGED_DATA, Mode::AppendOrCreate)?;
        let old = std::mem::replace(&mut self.data, staged);
        if let Some(transaction) = &mut self.transaction {
            transaction.staging = Staging::Data(Some(old));
        }
        Ok(())
    }

    /// Puts staged data in their place, with which the transaction ends. The journal says what was deleted in them.
    pub(crate) fn place_data(&mut self) -> Result<()> {
        if !matches!(&self.transaction, Some(Transaction { staging: Staging::Data(Some(_)), .. })) {
            return Ok(());
        }
        let head = line(&Head { version: VERSION, index: self.index_mark(), data_bytes: 0, compacts: false })?;
        let lines = [&head[..], &self.deletions].concat();
        self.write_journal(&lines)?;
        let meta = self.meta()?;
        self.disk.rename("data", (meta, STAGED_DATA), (meta, DATA))?;
        self.deletions.clear();
        self.end_transaction();
        Ok(())
    }

    /// Gives a new collection its place, with which the transaction ends.
    pub(crate) fn place_collection(&mut self) -> Result<()> {
        if let Some(Transaction { staging: Staging::Collection(Some((folder, unseen))), .. }) = &self.transaction {
            self.shared.show(folder, unseen, &self.name)?;
        }
        Ok(())
    }

    /// All changes count now.
    pub(crate) fn end_transaction(&mut self) {
        if self.transaction.take().is_some() {
            self.ids.commit();
        }
    }

    /// Ends a transaction whose changes are of the journal, and stay so.
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

    /// Takes back what was done since the transaction began. Where that fails the writer does not go on, and the next opening does it.
    pub(crate) fn undo(&mut self) -> Result<()> {
        let Some(transaction) = self.transaction.take() else { return Ok(()) };
        let Transaction { before, staging, shadowed, removed, .. } = transaction;
        self.ids.roll_back();
        self.buffer.clear();
        self.deletions.clear();
        for id in shadowed {
            self.loose.shadowed.remove(&id);
            self.loose.seen.insert(id);
        }
        for (id, was_seen) in removed {
            if was_seen { &mut self.loose.seen } else { &mut self.loose.shadowed }.insert(id);
        }
        if let Some(strict) = &mut self.strict {
            strict.schema = before.schema.clone();
        }
        self.written = before.written;
        (self.covered, self.is_tail_alive) = (before.covered, before.is_tail_alive);
        (self.needs_feed, self.is_changed) = (before.needs_feed, before.is_changed);
        let undone = match staging {
            Staging::Appended(Some(appended)) => self.undo_appended(&before, &appended),
            Staging::Data(Some(old)) => self.undo_data(old),
            Staging::Collection(unseen) if self.folders.is_some() || unseen.is_some() => self.undo_collection(unseen),
            Staging::Appended(None) | Staging::Data(None) | Staging::Collection(_) => Ok(()),
        };
        self.is_broken |= undone.is_err();
        undone
    }

    /// The data first: as long as the journal says that a transaction is open, nobody looks at what is behind.
    fn undo_appended(&mut self, before: &Before, appended: &Appended) -> Result<()> {
        let data = self.data()?;
        let failed = |cause| Error::io("cannot read the data", cause);
        if data.metadata().map_err(failed)?.len() > before.written {
            self.disk.cut("data", data, before.written)?;
            self.disk.sync("data", data)?;
        }
        // An index that is older than the data would not be trusted: lines behind its end might have been appended.
        let is_as_old = appended.modified.is_some_and(|time| data.set_modified(time).is_ok());
        if !appended.had_journal && (before.is_tail_alive || is_as_old) {
            self.journal = None;
            return self.disk.remove("journal", self.meta()?, JOURNAL);
        }
        let Some(mut journal) = self.journal.take() else { return Ok(()) };
        let failed = |cause| Error::io("cannot read the journal", cause);
        let mut lines = Vec::new();
        journal.rewind().map_err(failed)?;
        journal.take(appended.journal_bytes).read_to_end(&mut lines).map_err(failed)?;
        self.write_journal(&lines)
    }

    fn undo_data(&mut self, old: Option<File>) -> Result<()> {
        self.data = old;
        if self.journal.take().is_some() {
            self.disk.remove("journal", self.meta()?, JOURNAL)?;
        }
        self.disk.remove("data", self.meta()?, STAGED_DATA)
    }

    fn undo_collection(&mut self, unseen: Option<(Folder, String)>) -> Result<()> {
        (self.folders, self.data, self.on_disk) = (None, None, OnDisk::Nothing);
        self.to_prepare = Some(Preparation::of_new());
        if let Some(manifest) = &mut self.manifest {
            manifest.forget_written();
        }
        match unseen {
            Some((_, name)) => self.shared.remove_unseen(&name),
            None => Ok(()),
        }
    }
}
