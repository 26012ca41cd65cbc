//! Rebuilds the index of a data file.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use container_core::{Error, ErrorKind, OpenOptions, Progress, Result, Source, SyncPolicy, Unit};

use crate::FORMAT_NAME;
use crate::index::{KeyIter, KeyList};
use crate::md5::Md5;
use crate::read::set_of;
use crate::recover::{Recovery, Window};
use crate::sys::has_name;
use crate::verify::message::Budget;
use crate::wire::{FileSet, Part};
use crate::write::{DataSum, IndexFiles, OnLegacyIndex, SampleIndex};

/// Bytes between progress reports.
const PROGRESS_STEP: u64 = 1 << 20;

/// Options of [`rebuild_index`].
#[derive(Clone)]
#[non_exhaustive]
pub struct RebuildOptions {
    /// How the data are read.
    pub open: OpenOptions,
    /// Whether to wait for the disk.
    pub sync: SyncPolicy,
    /// Maximum number of threads; 0 for as many as the machine has.
    pub threads: usize,
    /// Compute the MD5 sums and write `.md5`; otherwise that file is removed.
    pub md5: bool,
    /// Truncate the data file if its last sample is incomplete, as an interrupted append leaves it. The data are changed in this case
    /// only, and only if no complete sample follows.
    pub truncate: bool,
    /// Keep a legacy index beside the new one, as Python's conversion does. One that disagrees with the data is removed.
    pub keep_legacy: bool,
    /// Receives progress in bytes of the data.
    pub progress: Option<Arc<dyn Progress>>,
}

impl Default for RebuildOptions {
    fn default() -> Self {
        Self {
            open: OpenOptions::default(),
            sync: SyncPolicy::default(),
            threads: 0,
            md5: true,
            truncate: false,
            keep_legacy: true,
            progress: None,
        }
    }
}

impl RebuildOptions {
    /// Replaces [`open`](Self::open).
    #[must_use]
    pub fn with_open(mut self, open: OpenOptions) -> Self {
        self.open = open;
        self
    }

    /// Replaces [`sync`](Self::sync).
    #[must_use]
    pub fn with_sync(mut self, sync: SyncPolicy) -> Self {
        self.sync = sync;
        self
    }

    /// Replaces [`threads`](Self::threads).
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Replaces [`md5`](Self::md5).
    #[must_use]
    pub fn with_md5(mut self, md5: bool) -> Self {
        self.md5 = md5;
        self
    }

    /// Replaces [`truncate`](Self::truncate).
    #[must_use]
    pub fn with_truncate(mut self, truncate: bool) -> Self {
        self.truncate = truncate;
        self
    }

    /// Replaces [`keep_legacy`](Self::keep_legacy).
    #[must_use]
    pub fn with_keep_legacy(mut self, keep: bool) -> Self {
        self.keep_legacy = keep;
        self
    }

    /// Replaces [`progress`](Self::progress).
    #[must_use]
    pub fn with_progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = Some(progress);
        self
    }
}

/// The result of [`rebuild_index`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RebuildSummary {
    /// Number of samples in the index.
    pub samples: u64,
    /// Size of the data file in bytes.
    pub bytes: u64,
    /// Bytes truncated from the data file: see [`RebuildOptions::truncate`].
    pub truncated_bytes: u64,
    /// Whether a legacy index was kept beside the new one.
    pub kept_legacy: bool,
}

/// Rebuilds all files beside a data file from the data alone: offsets, keys, hashes, filter and sums, byte for byte as a writer of these
/// samples makes them. Samples after the end of an old index are included; a legacy index is converted.
///
/// Keys are those stored in the samples; if one stores none, all keys are taken from the existing `.keys` or `.index`, provided it has as
/// many. The old index is replaced as [`Writer`](crate::Writer) does it: at any moment there is the old one, the new one, or none.
///
/// # Errors
/// The first incomplete sample, with byte and row; a duplicate key, with both rows; [`Io`](ErrorKind::Io); [`Usage`](ErrorKind::Usage)
/// while another writer appends to the file. Nothing has changed then.
pub fn rebuild_index(path: impl AsRef<Path>, options: &RebuildOptions) -> Result<RebuildSummary> {
    let set = set_of(path.as_ref());
    let data_name = set.data().display().to_string();
    Rebuild::new(set, options).and_then(Rebuild::run).map_err(|error| error.in_format(FORMAT_NAME).in_file(data_name))
}

struct Rebuild<'o> {
    set: FileSet,
    data: Source,
    /// Keeps others from appending.
    lock: File,
    options: &'o RebuildOptions,
    /// Listed keys.
    keys: Option<KeyList>,
    /// The legacy index: keys and offsets.
    legacy: Option<(KeyList, Vec<u64>)>,
}

/// The result of a scan of the data.
struct ScannedIndex {
    index: SampleIndex,
    end: u64,
    sum: DataSum,
    legacy_agrees: bool,
}

/// Why a scan failed.
enum ScanError {
    /// A sample stores no key.
    NoKey(Error),
    Other(Error),
}

impl From<Error> for ScanError {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl Drop for Rebuild<'_> {
    fn drop(&mut self) {
        // Closing is not enough: a child that another thread is forking has a copy of the handle until it calls `exec`.
        let _ = self.lock.unlock();
    }
}

impl<'o> Rebuild<'o> {
    fn new(set: FileSet, options: &'o RebuildOptions) -> Result<Self> {
        let lock = File::open(set.data()).map_err(|cause| Error::io("cannot open", cause))?;
        match lock.try_lock() {
            Err(std::fs::TryLockError::WouldBlock) => return Err(Error::usage("another writer is appending to it")),
            // The file system may not support locks.
            Ok(()) | Err(std::fs::TryLockError::Error(_)) => {}
        }
        let data = Source::open_with(set.data(), options.open.access)?;
        let read = |part| {
            let source = Source::open_with(set.path(part), options.open.access).ok()?;
            source.read(0..source.len()).ok()
        };
        let keys = read(Part::Keys).and_then(|bytes| KeyList::parse(bytes).ok());
        let legacy = read(Part::LegacyIndex).and_then(|bytes| KeyList::parse_legacy(bytes).ok());
        Ok(Self { set, data, lock, options, keys, legacy })
    }

    fn run(self) -> Result<RebuildSummary> {
        let options = self.options;
        if let Some(progress) = &options.progress {
            progress.begin(Unit::Bytes, Some(self.data.len()));
        }
        let scanned = match self.scan(None) {
            Ok(scanned) => scanned,
            Err(ScanError::Other(error)) => return Err(error),
            Err(ScanError::NoKey(error)) => {
                let listed = self.keys.as_ref().or(self.legacy.as_ref().map(|(keys, _)| keys));
                let Some(listed) = listed else { return Err(error) };
                match self.scan(Some(listed)) {
                    Ok(scanned) if u64::from(scanned.index.len()) == listed.len() => scanned,
                    // The list is of other data unless there are as many keys as samples.
                    Ok(_) | Err(ScanError::NoKey(_)) => return Err(error),
                    Err(ScanError::Other(other)) => return Err(other),
                }
            }
        };
        let ScannedIndex { index, end, sum, legacy_agrees } = scanned;
        let samples = index.len().into();
        let truncated_bytes = self.data.len() - end;
        let kept_legacy = options.keep_legacy && legacy_agrees;
        let on_legacy = if kept_legacy { OnLegacyIndex::Keep } else { OnLegacyIndex::Remove };
        let files = IndexFiles::make(&self.set, index, sum, options.threads, on_legacy)?;
        if !has_name(&self.lock, self.set.data()).map_err(|cause| Error::io("cannot check the data file", cause))? {
            return Err(Error::usage("the data file was replaced during the rebuild"));
        }
        if truncated_bytes > 0 {
            self.truncate(end)?;
        }
        files.commit(&self.set, None)?;
        Ok(RebuildSummary { samples, bytes: end, truncated_bytes, kept_legacy })
    }

    /// Scans all samples. Keys are those stored in them, or `listed`.
    fn scan(&self, listed: Option<&KeyList>) -> Result<ScannedIndex, ScanError> {
        let options = self.options;
        let mut index = SampleIndex::create(&self.set, options.sync)?;
        let mut sum =
            if options.md5 && options.threads != 1 { DataSum::of_growing(self.set.data(), 0)? } else { DataSum::Off };
        let mut window = Window::new(&self.data, options.open.limits);
        let mut listed: Option<KeyIter<'_>> = listed.map(|listed| listed.starting(0));
        let mut legacy = self.legacy.as_ref().map(|(keys, starts)| keys.starting(0).zip(starts));
        let (mut legacy_agrees, mut at, mut reported) = (legacy.is_some(), 0, 0);
        while at < self.data.len() {
            let row = index.len();
            let place = |error: Error| error.at(at).in_row(row.into());
            if row == u32::MAX {
                return Err(place(Error::limit("number of samples", u64::from(row) + 1, row.into())).into());
            }
            let mut budget = Budget::unbounded(options.open.limits.depth);
            let mut flaw = None;
            let message = match window.message(at, &mut budget, &mut |_, error| flaw = flaw.take().or(Some(error))) {
                Ok(message) => message,
                Err(error) if error.kind() == ErrorKind::Io => return Err(error.into()),
                Err(error) => {
                    self.check_truncated(at, row.into(), error)?;
                    break;
                }
            };
            let key = match &mut listed {
                Some(listed) => listed.next().transpose()?,
                None => message.key,
            };
            let Some(key) = key else {
                let error = flaw.unwrap_or_else(|| Error::invalid("the sample has no key"));
                return Err(ScanError::NoKey(place(error)));
            };
            if let Some(first) = index.claim(key.as_bytes())? {
                let error = Error::invalid(format!("duplicate key, first in sample {first}"));
                return Err(place(error).in_key(key.to_owned()).into());
            }
            legacy_agrees &= matches!(legacy.as_mut().and_then(Iterator::next), Some((Ok(known), start)) if known == key && *start == at);
            let end = at + message.bytes.len() as u64;
            index.push(key, end)?;
            at = end;
            if at - reported >= PROGRESS_STEP {
                sum.extend_to(at);
                self.advance(at - reported)?;
                reported = at;
            }
        }
        sum.extend_to(at);
        self.advance(at - reported)?;
        if options.md5 && options.threads == 1 {
            sum = DataSum::Inline(Box::new(self.sum(at)?));
        }
        legacy_agrees &= legacy.is_some_and(|mut legacy| legacy.next().is_none());
        Ok(ScannedIndex { index, end: at, sum, legacy_agrees })
    }

    fn advance(&self, bytes: u64) -> Result<()> {
        self.options.progress.as_ref().map_or(Ok(()), |progress| progress.advance(bytes))
    }

    fn sum(&self, end: u64) -> Result<Md5> {
        let (mut md5, mut buffer, mut at) = (Md5::new(), Vec::new(), 0);
        while at < end {
            let next = end.min(at + PROGRESS_STEP);
            md5.update(self.data.view(at..next, &mut buffer)?);
            at = next;
        }
        Ok(md5)
    }

    /// Handles an incomplete message: an error, unless it is a truncated last sample that may be removed.
    fn check_truncated(&self, at: u64, row: u64, cause: Error) -> Result<()> {
        let is_last = matches!(cause.kind(), ErrorKind::Truncated { .. })
            && self.indexed_end().is_none_or(|end| end <= at)
            && !Recovery::any_sample_after(&self.data, at, self.options.open)?;
        if is_last && self.options.truncate {
            return Ok(());
        }
        let detail = match is_last {
            true => "the last sample is truncated: the data can be truncated there, or the intact samples recovered",
            false => "damaged sample: the others can be recovered",
        };
        Err(Error::invalid(detail).caused_by(cause).at(at).in_row(row))
    }

    /// The end of the samples according to the existing index.
    fn indexed_end(&self) -> Option<u64> {
        let offsets = Source::open_with(self.set.path(Part::Offsets), self.options.open.access).ok();
        let last = offsets.and_then(|offsets| {
            let last = offsets.read(offsets.len().checked_sub(8)?..offsets.len()).ok()?;
            last.first_chunk::<8>().map(|last| u64::from_be_bytes(*last))
        });
        // A legacy index gives only the start of the last sample.
        last.or_else(|| self.legacy.as_ref()?.1.last().map(|last| last.saturating_add(1)))
    }

    fn truncate(&self, end: u64) -> Result<()> {
        let failed = |cause| Error::io("cannot truncate the data", cause);
        let file = File::options().write(true).open(self.set.data()).map_err(failed)?;
        file.set_len(end).map_err(failed)?;
        if self.options.sync == SyncPolicy::Disk {
            file.sync_all().map_err(failed)?;
        }
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn data_replaced_during_the_rebuild_get_no_index() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("d.msgpack"), folder.path().join("other"));
        std::fs::write(&path, b"\x81\xa3key\xa1a").unwrap();
        std::fs::write(&other, b"\x81\xa3key\xa1b").unwrap();
        let options = RebuildOptions::default();
        let rebuild = Rebuild::new(FileSet::new(&path), &options).unwrap();
        std::fs::rename(&other, &path).unwrap();
        let error = rebuild.run().unwrap_err();
        assert!(error.to_string().contains("the data file was replaced during the rebuild"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no index, no temporary file");
    }
}
