//! Samples in, a dataset out.

use std::path::Path;

use container_core::{Error, ErrorKind, Loss, Overwrite, Position, Result, Severity};
use serde::Serialize;

use crate::FORMAT_NAME;
use crate::ser;
use crate::value::RawValue;
use crate::verify::message::{Allowance, inspect};
use crate::wire::keys::opening_key;
use crate::wire::{FileSet, Part, Token, Tokens};
use crate::write::commit::{IndexFiles, Older};
use crate::write::data::DataFile;
use crate::write::keys::KeysFile;
use crate::write::options::WriterOptions;
use crate::write::seen::SeenKeys;
use crate::write::spool::Spool;

/// Writes a dataset: its data, the four files of the index and the sums, byte for byte as Python's `FileWriter` and `RawWriter` do.
///
/// Nothing appears before [`finish`](Self::finish); a writer that is dropped leaves what was there before. (In a process
/// that was forked off meanwhile, too: let it `exec` or leave without dropping the writer.) Memory grows by 11 to 22
/// bytes for each sample (by some 20 more while `finish` makes the index), and by no sample's own.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("d.msgpack");
/// use datadings::{Writer, WriterOptions};
///
/// #[derive(serde::Serialize)]
/// struct Sample<'a> {
///     key: &'a str,
///     label: u32,
/// }
///
/// let mut writer = Writer::create(&path, WriterOptions::default())?;
/// writer.append(&Sample { key: "first", label: 7 })?;
/// assert!(writer.append(&Sample { key: "first", label: 8 }).is_err()); // a key is there once
/// writer.append(&Sample { key: "second", label: 9 })?;
/// assert_eq!(writer.finish()?.samples, 2);
/// # Ok(())
/// # }
/// ```
#[must_use = "without finish() there is no dataset"]
pub struct Writer {
    pub(crate) set: FileSet,
    pub(crate) options: WriterOptions,
    pub(crate) data: DataFile,
    pub(crate) offsets: Spool,
    pub(crate) keys: KeysFile,
    pub(crate) seen: SeenKeys,
    pub(crate) scratch: Vec<u8>,
    /// Where the last of the samples ends that were there before an append.
    pub(crate) old_end: u64,
    pub(crate) poisoned: bool,
    /// Messages that were taken although verification rejects them.
    pub(crate) rejected: Option<Loss>,
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Samples in the dataset, those that were there before an append among them.
    pub samples: u64,
    /// Bytes of the data file.
    pub bytes: u64,
}

impl Writer {
    /// Begins a dataset whose data file will appear at `path`, and the others beside it.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when any of the files exists and may not be replaced;
    /// [`Io`](container_core::ErrorKind::Io) when none can be created there.
    pub fn create(path: impl AsRef<Path>, options: WriterOptions) -> Result<Self> {
        Self::create_in(FileSet::new(path.as_ref()), options).map_err(|error| error.in_format(FORMAT_NAME))
    }

    fn create_in(set: FileSet, options: WriterOptions) -> Result<Self> {
        if options.output.overwrite == Overwrite::Refuse
            && let Some(there) = set.any_beside()
        {
            let detail = "the output exists (a file of another dataset of this name)";
            return Err(Error::usage(detail).in_file(there.display().to_string()));
        }
        let data = DataFile::create(set.data(), options.output, options.md5, options.threads)?;
        Self::start(set, options, data)
    }

    /// A writer without samples, over this data file.
    pub(crate) fn start(set: FileSet, options: WriterOptions, data: DataFile) -> Result<Self> {
        let sync = options.output.sync;
        let mut offsets = Spool::create(&set.path(Part::Offsets), sync)?;
        offsets.put(&0u64.to_be_bytes())?;
        let keys = KeysFile::create(&set.path(Part::Keys), sync)?;
        Ok(Self {
            set,
            options,
            data,
            offsets,
            keys,
            seen: SeenKeys::new(),
            scratch: Vec::new(),
            old_end: 0,
            poisoned: false,
            rejected: None,
        })
    }

    /// Samples so far.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.keys.len().into()
    }

    /// True as long as there are no samples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the data file so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.data.position()
    }

    /// Appends a sample: a struct or a map with a text `key`, as Python's `FileWriter.write` does.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when it has no key, one that is no text, or one that a sample has already, and when it
    /// cannot be written as msgpack; [`Limit`](container_core::ErrorKind::Limit) when it is too long or too deep. Then nothing was written
    /// and the writer goes on. After an [`Io`](container_core::ErrorKind::Io) it does not.
    pub fn append<T: Serialize + ?Sized>(&mut self, sample: &T) -> Result<()> {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let done = match ser::extend(&mut scratch, sample) {
            Ok(()) => self.append_message(&scratch),
            Err(error) => Err(self.refused(error)),
        };
        self.scratch = scratch;
        done
    }

    /// Appends a sample that is a msgpack message already; its key is the one in it.
    ///
    /// # Errors
    /// As [`append`](Self::append), and [`Invalid`](container_core::ErrorKind::Invalid) or
    /// [`Truncated`](container_core::ErrorKind::Truncated) when it is not one whole message.
    pub fn append_message(&mut self, message: &[u8]) -> Result<()> {
        let checked = self.check_message(message).and_then(|()| key_of(message));
        match checked {
            Ok(key) => self.put(key, message),
            Err(error) => Err(self.refused(error)),
        }
    }

    /// Appends a message under a key, as Python's `RawWriter.write` does. The key must be the one in the message, unless
    /// [`WriterOptions::any_message`] is set: then [`take_losses`](Self::take_losses) tells what verification rejects.
    ///
    /// # Errors
    /// As [`append_message`](Self::append_message).
    pub fn append_raw(&mut self, key: &str, message: &[u8]) -> Result<()> {
        let checked = match self.options.any_message {
            true => self.inspect_message(key, message),
            false => self.check_message(message).and_then(|()| same_key(key, key_of(message)?)).map(|()| None),
        };
        match checked {
            Ok(flaw) => {
                self.put(key, message)?;
                if let Some(flaw) = flaw {
                    self.count_rejected(key, &flaw);
                }
                Ok(())
            }
            Err(error) => Err(self.refused(error).in_key(key.to_owned())),
        }
    }

    /// Messages that were [appended raw](Self::append_raw) since this was asked last, and that [`Reader::verify`](crate::Reader::verify)
    /// rejects: how many, what is wrong with the first, and its key.
    pub fn take_losses(&mut self) -> Vec<Loss> {
        self.rejected.take().into_iter().collect()
    }

    /// Appends a sample that is larger than what should be in memory: `write` gives its `len` bytes, a msgpack message, in pieces. The key must be the
    /// one in it. Neither is checked.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when a sample has the key already; [`Limit`](container_core::ErrorKind::Limit) when it is too
    /// long. Then nothing was written and the writer goes on. It does not after an error of `write`, or when that gives more or fewer bytes.
    pub fn append_stream(
        &mut self,
        key: &str,
        len: u64,
        write: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let limits = self.options.limits;
        let checked = limits.check_block("the length of a key", key.len() as u64);
        let checked = checked.and_then(|()| limits.check_block("the length of a sample", len));
        checked.map_err(|error| self.refused(error).in_key(key.to_owned()))?;
        self.put_with(key, |data| {
            let end = data.position().saturating_add(len);
            write(&mut |bytes| data.put(bytes))?;
            match data.position() {
                position if position == end => Ok(()),
                position => {
                    let found = len.saturating_add(position).saturating_sub(end);
                    let detail = format!("the sample has {found} bytes where {len} were declared");
                    Err(Error::usage(detail).in_format(FORMAT_NAME).in_key(key.to_owned()))
                }
            }
        })
    }

    /// The sample that has this key already.
    pub(crate) fn row_of(&self, key: &str) -> Result<Option<u32>> {
        let keys = &self.keys;
        self.seen.find(key, |row| keys.is(row, key))
    }

    fn check_message(&self, message: &[u8]) -> Result<()> {
        self.options.limits.check_block("the length of a sample", message.len() as u64)?;
        let mut tokens = Tokens::at(message, 0);
        tokens.check(self.options.limits.depth)?;
        match tokens.rest().len() {
            0 => Ok(()),
            more => Err(followed(more as u64, tokens.offset())),
        }
    }

    /// The first thing for which verification rejects a message that is whole.
    fn inspect_message(&self, key: &str, message: &[u8]) -> Result<Option<Error>> {
        let limits = &self.options.limits;
        // It is in no message that would bound its length.
        limits.check_block("the length of a key", key.len() as u64)?;
        limits.check_block("the length of a sample", message.len() as u64)?;
        let mut tokens = Tokens::at(message, 0);
        let mut first = None;
        let found = inspect(&mut tokens, &mut Allowance::unbounded(limits.depth), &mut |flaw, error| {
            if flaw.severity() == Severity::Error {
                first.get_or_insert(error);
            }
        })?;
        if let more @ 1.. = tokens.remaining() {
            return Err(followed(more, tokens.offset()));
        }
        if let Some(own) = found.key.filter(|own| first.is_none() && *own != key) {
            first =
                Some(Error::invalid(format!("the sample's key is {own:?}, the one in the list of keys is {key:?}")));
        }
        Ok(first)
    }

    #[cold]
    fn count_rejected(&mut self, key: &str, flaw: &Error) {
        let first = || {
            let mut position = Position::default();
            position.key = Some(key.to_owned().into());
            Loss::new(format!("sample copied although verification rejects it: {}", flaw.detail()), 0, position)
        };
        self.rejected.get_or_insert_with(first).count += 1;
    }

    #[cold]
    fn refused(&self, error: Error) -> Error {
        error.in_format(FORMAT_NAME).in_row(self.len())
    }

    fn put(&mut self, key: &str, message: &[u8]) -> Result<()> {
        self.put_with(key, |data| data.put(message))
    }

    fn put_with(&mut self, key: &str, write: impl FnOnce(&mut DataFile) -> Result<()>) -> Result<()> {
        if self.poisoned {
            return Err(Error::usage("the writer is used after a write that failed").in_format(FORMAT_NAME));
        }
        let row = self.keys.len();
        if row == u32::MAX {
            let error = Error::limit("the number of samples", u64::from(row) + 1, row.into());
            return Err(error.in_format(FORMAT_NAME));
        }
        let keys = &self.keys;
        if let Some(first) = self.seen.claim(key, row, |row| keys.is(row, key))? {
            return Err(duplicate(key, first, row));
        }
        self.poisoned = true;
        write(&mut self.data)?;
        self.offsets.put(&self.data.position().to_be_bytes())?;
        self.keys.push(key)?;
        self.poisoned = false;
        Ok(())
    }

    /// Makes the index and the sums, and puts all files in place.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io), and [`Usage`](container_core::ErrorKind::Usage) when a write failed before, when data that
    /// may not be replaced have come into being meanwhile, or others stand in the place of those that were appended to. Unless the last
    /// steps failed, which only rename, what was there before is as it was.
    ///
    /// Two that replace the same dataset must not finish at the same moment: nothing keeps their files apart then. `verify` sees it.
    pub fn finish(self) -> Result<Written> {
        let Self { set, options, mut data, offsets, keys, poisoned, .. } = self;
        if poisoned {
            return Err(Error::usage("the writer is finished after a write that failed").in_format(FORMAT_NAME));
        }
        let written = Written { samples: keys.len().into(), bytes: data.position() };
        let done = data.ready(options.output.sync).and_then(|sum| {
            let files = IndexFiles::make(&set, offsets, keys, sum, options.threads, Older::Remove)?;
            files.commit(&set, Some(data))
        });
        done.map_err(|error| error.in_format(FORMAT_NAME))?;
        Ok(written)
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("data", &self.set.data()).field("len", &self.len()).finish_non_exhaustive()
    }
}

/// The key in a message.
fn key_of(message: &[u8]) -> Result<&str> {
    if let Some(Ok(key)) = opening_key(message).map(std::str::from_utf8) {
        return Ok(key);
    }
    let raw = RawValue::new(message);
    match raw.get("key") {
        Ok(Some(key)) => match key.tokens().next()? {
            Token::Str(_) => key.str(),
            other => Err(Error::usage(format!("the sample's key is {} and no str", other.name())).at(key.offset())),
        },
        Ok(None) => Err(Error::usage("the sample has no key")),
        Err(error) if error.kind() == ErrorKind::Invalid => Err(Error::usage("the sample is no map").caused_by(error)),
        Err(error) => Err(error),
    }
}

#[cold]
fn followed(more: u64, at: u64) -> Error {
    Error::invalid(format!("the message is followed by {more} more bytes")).at(at)
}

fn same_key(given: &str, found: &str) -> Result<()> {
    if given == found {
        return Ok(());
    }
    Err(Error::usage(format!("the message has the key {found:?}")))
}

#[cold]
fn duplicate(key: &str, first: u32, row: u32) -> Error {
    let detail = format!("the key is that of sample {first} already: it was not written again");
    Error::usage(detail).in_format(FORMAT_NAME).in_row(row.into()).in_key(key.to_owned())
}
