//! Gives all files of a set their names, so that a crash at any point is detected.
//!
//! No reader opens a dataset without `.offsets` (or `.index`). So that file is removed first, and all other files of the old index after
//! it, so that they never accompany new data. `.md5`, which lists all files, comes last. All new files are written and synced before the
//! first step, and signals are held back until the last ([`uninterrupted`]). After a kill or a power failure there is:
//!
//! 1. *Before `.offsets` is removed:* the old dataset, and temporary files that the next writer removes.
//! 2. *Until the new data have their name:* the old data, intact, without an index. [`rebuild_index`](crate::rebuild_index) makes one.
//! 3. *Until `.offsets` has its name:* the new data, intact, without an index or with some of its files. Rebuild the index.
//! 4. *After that:* the new dataset, at first without its sums.
//!
//! A new dataset begins at 3. Appending begins at 2: the rebuilt index includes the appended samples.

use std::path::Path;

use container_core::{Error, Result, Source, SyncPolicy, sync_directory_of, uninterrupted};

use crate::index::KeyList;
use crate::wire::md5_file::put_md5_line;
use crate::wire::{FileSet, Part};
use crate::write::data::DataFile;
use crate::write::index::{DerivedFiles, derive};
use crate::write::sample_index::SampleIndex;
use crate::write::spool::Spool;
use crate::write::step::step;
use crate::write::sum::{DataSum, sum_of};

/// All files beside the data: written, not yet in place.
pub(crate) struct IndexFiles {
    offsets: Spool,
    /// Keys, their hashes and the filter.
    others: [Spool; 3],
    md5: Option<Spool>,
    on_legacy: OnLegacyIndex,
}

/// What happens to a legacy index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnLegacyIndex {
    /// It is removed, since it may be of other data or damaged.
    Remove,
    /// It is kept and its sum listed, as in Python's conversion. It must agree with the new index.
    Keep,
}

impl IndexFiles {
    /// Makes the rest of the index from that of the samples. `sum` is the data's MD5 sum, awaited last; if it is off, no `.md5` is made.
    pub(crate) fn make(
        set: &FileSet,
        index: SampleIndex,
        mut sum: DataSum,
        threads: usize,
        on_legacy: OnLegacyIndex,
    ) -> Result<Self> {
        let (mut offsets, keys) = index.into_files();
        let sync = offsets.sync();
        let (keys, list): (Spool, KeyList) = keys.finish()?;
        let DerivedFiles { hashes, filter, sums } =
            derive(set, &mut offsets, &list, threads, !matches!(sum, DataSum::Off))?;
        let mut md5 = None;
        if let Some(sum) = sum.finish().map_err(|error| error.in_file(set.data().display().to_string()))? {
            let mut lines: Vec<_> = Part::INDEX.into_iter().zip(sums.into_iter().flatten()).collect();
            if on_legacy == OnLegacyIndex::Keep {
                // In Python's conversion, the offsets come last.
                lines.rotate_left(1);
                let path = set.path(Part::LegacyIndex);
                let sum = Source::open(&path).and_then(|source| sum_of(&source));
                lines.insert(0, (Part::LegacyIndex, sum.map_err(|error| error.in_file(path.display().to_string()))?));
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
        let mut files = Self { offsets, others: [keys, hashes, filter], md5, on_legacy };
        let Self { offsets, others, md5, .. } = &mut files;
        others.iter_mut().chain(md5).chain([offsets]).try_for_each(Spool::flush_and_sync)?;
        Ok(files)
    }

    /// Puts the set in place: the data, if they are new, and all files of the index.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io). The module's documentation lists what is in place then.
    pub(crate) fn commit(self, set: &FileSet, data: Option<DataFile>) -> Result<()> {
        uninterrupted(|| self.rename_all(set, data))
    }

    fn rename_all(self, set: &FileSet, mut data: Option<DataFile>) -> Result<()> {
        if let Some(data) = &data {
            data.check_name()?;
        }
        // If two writers create the same dataset, the first one puts its data in place and the second one removes nothing.
        if let Some(data) = data.take_if(|data| data.must_not_exist()) {
            if let Some(there) = set.any_beside() {
                return Err(Error::usage("the output exists").in_file(there.display().to_string()));
            }
            data.finish()?;
        }
        // The sums first, since they list the files that follow. Without the offsets, no reader opens the rest.
        let legacy = (self.on_legacy == OnLegacyIndex::Remove).then_some(Part::LegacyIndex);
        let others = [Part::Keys, Part::KeyHashes, Part::Filter];
        for part in [Part::Md5, Part::Offsets].into_iter().chain(legacy).chain(others) {
            step()?;
            remove(&set.path(part))?;
        }
        if self.offsets.sync() == SyncPolicy::Disk {
            // The removals must reach the disk before new data do.
            sync_directory_of(&set.path(Part::Offsets));
        }
        step()?;
        // Data appended to stay locked to the end.
        let _lock = data.map(DataFile::finish).transpose()?;
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

/// Removes a file if it exists.
fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("cannot remove the old file", cause).in_file(path.display().to_string()))
        }
        _ => Ok(()),
    }
}
