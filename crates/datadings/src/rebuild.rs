//! The index of a data file, made anew.

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
use crate::verify::message::Allowance;
use crate::wire::{FileSet, Part};
use crate::write::{IndexFiles, KeysFile, Older, SeenKeys, Spool, Sum};

/// Bytes after which the sum is told how far the data are walked over.
const STEP: u64 = 1 << 20;

/// How an index is rebuilt.
#[derive(Clone)]
#[non_exhaustive]
pub struct RebuildOptions {
    /// How the data are read.
    pub open: OpenOptions,
    /// Whether to wait for the disk.
    pub sync: SyncPolicy,
    /// Threads that may work at once; 0 for as many as the machine has.
    pub threads: usize,
    /// Compute the MD5 sums and write `.md5`; without, the file is removed.
    pub md5: bool,
    /// Cut the data file where its last sample is cut off, as an append leaves it that did not come to its end. Only then are the
    /// data changed, and only where no whole sample follows.
    pub truncate: bool,
    /// Let an index of the older form stay beside the new one, as Python's conversion does. One that disagrees with the data goes.
    pub keep_older: bool,
    /// Who listens: bytes of the data.
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
            keep_older: true,
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

    /// Replaces [`keep_older`](Self::keep_older).
    #[must_use]
    pub fn with_keep_older(mut self, keep: bool) -> Self {
        self.keep_older = keep;
        self
    }

    /// Replaces [`progress`](Self::progress).
    #[must_use]
    pub fn with_progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = Some(progress);
        self
    }
}

/// What was rebuilt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rebuilt {
    /// Samples that the index has.
    pub samples: u64,
    /// Bytes of the data file.
    pub bytes: u64,
    /// Bytes that were cut off the data file: see [`RebuildOptions::truncate`].
    pub cut: u64,
    /// An index of the older form still stands beside the new one.
    pub kept_older: bool,
}

/// Makes all files beside a data file anew, from the data alone: offsets, keys, hashes, filter, sums, byte for byte as a writer of
/// these samples leaves them. Samples that stand behind the end of an old index are taken into the new one; an index of the older
/// form becomes one of today.
///
/// Keys are those that the samples state; where one states none, all are taken from the `.keys` or `.index` that is there, if it has
/// as many. The old index is replaced as [`Writer`](crate::Writer) does it: at any moment there is the old one, the new one, or none.
///
/// # Errors
/// At the first sample that is not whole, with byte and row; a key that is there twice, with both rows; [`Io`](ErrorKind::Io);
/// [`Usage`](ErrorKind::Usage) while somebody appends to the file. Then nothing has changed.
pub fn rebuild_index(path: impl AsRef<Path>, options: &RebuildOptions) -> Result<Rebuilt> {
    let set = set_of(path.as_ref());
    let data_name = set.data().display().to_string();
    Rebuild::new(set, options).and_then(Rebuild::run).map_err(|error| error.in_format(FORMAT_NAME).in_file(data_name))
}

struct Rebuild<'o> {
    set: FileSet,
    data: Source,
    /// Held, so that nobody appends meanwhile.
    lock: File,
    options: &'o RebuildOptions,
    /// Keys that are listed.
    keys: Option<KeyList>,
    /// The older index: keys and offsets.
    older: Option<(KeyList, Vec<u64>)>,
}

/// What a walk over the data gathers.
struct Walked {
    offsets: Spool,
    keys: KeysFile,
    end: u64,
    sum: Option<[u8; 16]>,
    agrees: bool,
}

/// Why a walk ended early.
enum Stopped {
    /// A sample without a key of its own.
    NoKey(Error),
    Failed(Error),
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Drop for Rebuild<'_> {
    fn drop(&mut self) {
        // Closing the file is not enough: a child that another thread starts at this moment has a copy of the handle until it calls exec.
        let _ = self.lock.unlock();
    }
}

impl<'o> Rebuild<'o> {
    fn new(set: FileSet, options: &'o RebuildOptions) -> Result<Self> {
        let lock = File::open(set.data()).map_err(|cause| Error::io("cannot open", cause))?;
        match lock.try_lock() {
            Err(std::fs::TryLockError::WouldBlock) => return Err(Error::usage("somebody else is appending to it")),
            // A file system that knows no locks.
            Ok(()) | Err(std::fs::TryLockError::Error(_)) => {}
        }
        let data = Source::open_with(set.data(), options.open.access)?;
        let read = |part| {
            let source = Source::open_with(set.path(part), options.open.access).ok()?;
            source.read(0..source.len()).ok()
        };
        let keys = read(Part::Keys).and_then(|bytes| KeyList::parse(bytes).ok());
        let older = read(Part::LegacyIndex).and_then(|bytes| KeyList::parse_legacy(bytes).ok());
        Ok(Self { set, data, lock, options, keys, older })
    }

    fn run(self) -> Result<Rebuilt> {
        let options = self.options;
        if let Some(progress) = &options.progress {
            progress.begin(Unit::Bytes, Some(self.data.len()));
        }
        let walked = match self.walk(None) {
            Ok(walked) => walked,
            Err(Stopped::Failed(error)) => return Err(error),
            Err(Stopped::NoKey(error)) => {
                let listed = self.keys.as_ref().or(self.older.as_ref().map(|(keys, _)| keys));
                let Some(listed) = listed else { return Err(error) };
                match self.walk(Some(listed)) {
                    Ok(walked) if u64::from(walked.keys.len()) == listed.len() => walked,
                    // As many keys as samples, or they are of something else.
                    Ok(_) | Err(Stopped::NoKey(_)) => return Err(error),
                    Err(Stopped::Failed(other)) => return Err(other),
                }
            }
        };
        let Walked { offsets, keys, end, sum, agrees } = walked;
        let samples = keys.len().into();
        let cut = self.data.len() - end;
        let keeps = options.keep_older && agrees;
        let older = if keeps { Older::Keep } else { Older::Remove };
        let files = IndexFiles::make(&self.set, offsets, keys, sum, options.threads, older)?;
        if !has_name(&self.lock, self.set.data()).map_err(|cause| Error::io("cannot look at the data again", cause))? {
            return Err(Error::usage("somebody else has replaced the data meanwhile"));
        }
        if cut > 0 {
            self.cut(end)?;
        }
        files.commit(&self.set, None)?;
        Ok(Rebuilt { samples, bytes: end, cut, kept_older: keeps })
    }

    /// Goes over all samples. Keys are their own, or those of a list.
    fn walk(&self, listed: Option<&KeyList>) -> Result<Walked, Stopped> {
        let options = self.options;
        let mut offsets = Spool::create(&self.set.path(Part::Offsets), options.sync)?;
        offsets.put(&0u64.to_be_bytes())?;
        let mut keys = KeysFile::create(&self.set.path(Part::Keys), options.sync)?;
        let mut seen = SeenKeys::new();
        let mut sum = if options.md5 && options.threads != 1 { Sum::of_grown(self.set.data(), 0)? } else { Sum::None };
        let mut window = Window::new(&self.data, options.open.limits);
        let mut given: Option<KeyIter<'_>> = listed.map(|listed| listed.starting(0));
        let mut older = self.older.as_ref().map(|(keys, starts)| keys.starting(0).zip(starts));
        let (mut agrees, mut at, mut told) = (older.is_some(), 0, 0);
        while at < self.data.len() {
            let row = keys.len();
            let place = |error: Error| error.at(at).in_row(row.into());
            if row == u32::MAX {
                return Err(place(Error::limit("the number of samples", u64::from(row) + 1, row.into())).into());
            }
            let mut allowance = Allowance::unbounded(options.open.limits.depth);
            let mut flaw = None;
            let message = match window.message(at, &mut allowance, &mut |_, error| flaw = flaw.take().or(Some(error))) {
                Ok(message) => message,
                Err(error) if error.kind() == ErrorKind::Io => return Err(error.into()),
                Err(error) => {
                    self.broken(at, row.into(), error)?;
                    break;
                }
            };
            let key = match &mut given {
                Some(given) => given.next().transpose()?,
                None => message.key,
            };
            let Some(key) = key else {
                let error = flaw.unwrap_or_else(|| Error::invalid("the sample has no key"));
                return Err(Stopped::NoKey(place(error)));
            };
            if let Some(first) = seen.claim(key, row, |row| keys.is(row, key))? {
                let error = Error::invalid(format!("the key is that of sample {first} too"));
                return Err(place(error).in_key(key.to_owned()).into());
            }
            agrees &= matches!(older.as_mut().and_then(Iterator::next), Some((Ok(known), start)) if known == key && *start == at);
            let end = at + message.bytes.len() as u64;
            offsets.put(&end.to_be_bytes())?;
            keys.push(key)?;
            at = end;
            if at - told >= STEP {
                sum.up_to(at);
                self.advance(at - told);
                told = at;
            }
        }
        sum.up_to(at);
        self.advance(at - told);
        let sum = match options.md5 && options.threads == 1 {
            true => Some(self.sum(at)?),
            false => sum.finish()?,
        };
        agrees &= older.is_some_and(|mut older| older.next().is_none());
        Ok(Walked { offsets, keys, end: at, sum, agrees })
    }

    fn advance(&self, bytes: u64) {
        if let Some(progress) = &self.options.progress {
            progress.advance(bytes);
        }
    }

    fn sum(&self, end: u64) -> Result<[u8; 16]> {
        let (mut md5, mut buffer, mut at) = (Md5::new(), Vec::new(), 0);
        while at < end {
            let next = end.min(at + STEP);
            md5.update(self.data.view(at..next, &mut buffer)?);
            at = next;
        }
        Ok(md5.finish())
    }

    /// A message that is not whole: an error, unless it is the last one, cut off, and is to go.
    fn broken(&self, at: u64, row: u64, cause: Error) -> Result<()> {
        let cut_off = matches!(cause.kind(), ErrorKind::Truncated { .. })
            && self.indexed().is_none_or(|end| end <= at)
            && !Recovery::any_behind(&self.data, at, self.options.open)?;
        if cut_off && self.options.truncate {
            return Ok(());
        }
        let detail = match cut_off {
            true => "the last sample is cut off: the data can be cut there, or what is whole recovered",
            false => "the sample is not whole: the others can be recovered",
        };
        Err(Error::invalid(detail).caused_by(cause).at(at).in_row(row))
    }

    /// Where the samples end that an index has.
    fn indexed(&self) -> Option<u64> {
        let offsets = Source::open_with(self.set.path(Part::Offsets), self.options.open.access).ok();
        let last = offsets.and_then(|offsets| {
            let last = offsets.read(offsets.len().checked_sub(8)?..offsets.len()).ok()?;
            last.first_chunk::<8>().map(|last| u64::from_be_bytes(*last))
        });
        // Of the older index the last sample's end is not known: it begins there at least.
        last.or_else(|| self.older.as_ref()?.1.last().map(|last| last.saturating_add(1)))
    }

    fn cut(&self, end: u64) -> Result<()> {
        let failed = |cause| Error::io("cannot cut the data", cause);
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
    fn data_that_are_replaced_meanwhile_get_no_index() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("d.msgpack"), folder.path().join("other"));
        std::fs::write(&path, b"\x81\xa3key\xa1a").unwrap();
        std::fs::write(&other, b"\x81\xa3key\xa1b").unwrap();
        let options = RebuildOptions::default();
        let rebuild = Rebuild::new(FileSet::new(&path), &options).unwrap();
        std::fs::rename(&other, &path).unwrap();
        let error = rebuild.run().unwrap_err();
        assert!(error.to_string().contains("somebody else has replaced the data meanwhile"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no index, no temporary file");
    }
}
