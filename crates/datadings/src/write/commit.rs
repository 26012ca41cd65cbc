//! Giving all files of a set their names, so that a crash at any point is seen.
//!
//! `.offsets` (or `.index`) is what makes a dataset: without it no reader opens one. So it is removed first, and all other files of the old index
//! after it, so that they never stand beside new data. `.md5`, which names all files, comes last. All new files are written and synced before
//! the first step, and a signal waits for the last one ([`uninterrupted`]). What a kill or a power cut leaves:
//!
//! 1. *Before `.offsets` is removed:* the old dataset, and temporary files that the next writer removes.
//! 2. *Until the new data have their name:* the old data, whole, without an index. [`rebuild_index`](crate::rebuild_index) makes one.
//! 3. *Until `.offsets` has its name:* the new data, whole, without an index, or beside some of its files. The same helps.
//! 4. *After that:* the new dataset, at first without its sums.
//!
//! A dataset that is new begins at 3. Data that grew in place begin at 2: the samples that were appended are part of what is rebuilt.

use std::path::Path;

use container_core::{Error, Result, Source, SyncPolicy, sync_directory_of, uninterrupted};

use crate::index::KeyList;
use crate::wire::md5_file::put_md5_line;
use crate::wire::{FileSet, Part};
use crate::write::data::DataFile;
use crate::write::index::{Derived, derive};
use crate::write::keys::KeysFile;
use crate::write::spool::Spool;
use crate::write::step::step;
use crate::write::sum::sum_of;

/// All files beside the data, written and not yet in place.
pub(crate) struct IndexFiles {
    offsets: Spool,
    /// Keys, their hashes and the filter.
    others: [Spool; 3],
    md5: Option<Spool>,
    older: Older,
}

/// What becomes of an index of the older form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Older {
    /// It is removed: it may be of other data, or damaged.
    Remove,
    /// It stays beside the new one and is listed with the sums, as Python does when it converts one. It must agree with the new one.
    Keep,
}

impl IndexFiles {
    /// Makes the rest of the index of a dataset whose offsets and keys are known. `sum` is that of the data, if there are to be sums.
    pub(crate) fn make(
        set: &FileSet,
        mut offsets: Spool,
        keys: KeysFile,
        sum: Option<[u8; 16]>,
        threads: usize,
        older: Older,
    ) -> Result<Self> {
        let sync = offsets.sync();
        let (mut keys, list): (Spool, KeyList) = keys.finish()?;
        let Derived { hashes, filter, sums } = derive(set, [&mut offsets, &mut keys], &list, threads, sum.is_some())?;
        let mut md5 = None;
        if let Some(sum) = sum {
            let mut lines: Vec<_> = Part::INDEX.into_iter().zip(sums.into_iter().flatten()).collect();
            if older == Older::Keep {
                // The order of Python's conversion: the offsets come last.
                lines.rotate_left(1);
                let path = set.path(Part::LegacyIndex);
                let kept = Source::open(&path).and_then(|source| sum_of(&source));
                lines.insert(0, (Part::LegacyIndex, kept.map_err(|error| error.in_file(path.display().to_string()))?));
            }
            let mut text = String::new();
            put_md5_line(&mut text, &sum, &set.name(Part::Data));
            for (part, sum) in lines {
                put_md5_line(&mut text, &sum, &set.name(part));
            }
            let mut spool = Spool::create(&set.path(Part::Md5), sync)?;
            spool.put(text.as_bytes())?;
            md5 = Some(spool);
        }
        let mut files = Self { offsets, others: [keys, hashes, filter], md5, older };
        let Self { offsets, others, md5, .. } = &mut files;
        others.iter_mut().chain(md5).chain([offsets]).try_for_each(Spool::ready)?;
        Ok(files)
    }

    /// Puts the set in place: the data, where there are new ones, and all files of the index.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io). What is in place then is described above.
    pub(crate) fn commit(self, set: &FileSet, data: Option<DataFile>) -> Result<()> {
        uninterrupted(|| self.place(set, data))
    }

    fn place(self, set: &FileSet, mut data: Option<DataFile>) -> Result<()> {
        if let Some(data) = &data {
            data.check_name()?;
        }
        // Of two who write a dataset that was not there, the first has its data in place, and the other takes nothing away.
        if let Some(data) = data.take_if(|data| data.is_first()) {
            if let Some(there) = set.any_beside() {
                return Err(Error::usage("the output exists").in_file(there.display().to_string()));
            }
            data.finish()?;
        }
        // The sums first: they name the files that follow. Without the offsets no reader opens what is there.
        let older = (self.older == Older::Remove).then_some(Part::LegacyIndex);
        let others = [Part::Keys, Part::KeyHashes, Part::Filter];
        for part in [Part::Md5, Part::Offsets].into_iter().chain(older).chain(others) {
            step()?;
            remove(&set.path(part))?;
        }
        if self.offsets.sync() == SyncPolicy::Disk {
            // What is gone must be so before other data are there.
            sync_directory_of(&set.path(Part::Offsets));
        }
        step()?;
        // A file that grew stays locked to the end.
        let _grown = data.map(DataFile::finish).transpose()?;
        for file in self.others {
            step()?;
            file.finish()?;
        }
        step()?;
        self.offsets.finish()?;
        step()?;
        self.md5.map(Spool::finish).transpose()?;
        step()
    }
}

/// Removes a file that may be there.
fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("cannot remove the old file", cause).in_file(path.display().to_string()))
        }
        _ => Ok(()),
    }
}
