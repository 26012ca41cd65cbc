//! The writer.

use std::path::Path;

use container_core::{Error, ErrorKind, Limits, Loss, Overwrite, Position, Result, Severity};
use serde_core::Serialize;

use crate::FORMAT_NAME;
use crate::ser;
use crate::value::RawValue;
use crate::verify::message::{Budget, inspect};
use crate::wire::keys::opening_key;
use crate::wire::{FileSet, Token, Tokens};
use crate::write::commit::{IndexFiles, OnLegacyIndex};
use crate::write::data::DataFile;
use crate::write::options::WriterOptions;
use crate::write::sample_index::SampleIndex;

/// Writes a dataset: data, the four index files and the sums, byte for byte as Python's `FileWriter` and `RawWriter` do.
///
/// Nothing appears before [`finish`](Self::finish); dropping a writer leaves everything as it was. The copy of a writer in a forked process writes
/// nothing; the process should exit without dropping it, as the thread that computes the sum is not there. Memory grows by 11 to 22 bytes per
/// sample, and by some 20 more during `finish`; samples themselves are not kept.
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
/// assert!(writer.append(&Sample { key: "first", label: 8 }).is_err()); // keys are unique
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
    pub(crate) index: SampleIndex,
    pub(crate) scratch: Vec<u8>,
    /// End of the samples that existed before an append.
    pub(crate) existing_end: u64,
    pub(crate) poisoned: bool,
    /// Messages accepted although verification rejects them.
    pub(crate) rejected: Option<Loss>,
    /// All messages counted in `rejected` so far, also those taken.
    rejected_len: u64,
}

/// The result of [`Writer::finish`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteSummary {
    /// Samples in the dataset, including those that existed before an append.
    pub samples: u64,
    /// Size of the data file in bytes.
    pub bytes: u64,
    /// Samples written although [`Reader::verify`](crate::Reader::verify) rejects them (see [`Writer::take_losses`]).
    pub rejected: u64,
}

impl Writer {
    /// Begins a dataset: its data file will appear at `path`, the other files beside it.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when one of the files exists and must not be replaced;
    /// [`Io`](container_core::ErrorKind::Io) when no file can be created there.
    pub fn create(path: impl AsRef<Path>, options: WriterOptions) -> Result<Self> {
        Self::create_in(FileSet::new(path.as_ref()), options).map_err(|error| error.in_format(FORMAT_NAME))
    }

    fn create_in(set: FileSet, options: WriterOptions) -> Result<Self> {
        if options.output.overwrite == Overwrite::Refuse
            && let Some(there) = set.any_beside()
        {
            let detail = "the output exists (a file of another dataset with this name)";
            return Err(Error::usage(detail).in_file(there.display().to_string()));
        }
        let data = DataFile::create(set.data(), options.output, options.md5, options.threads)?;
        Self::start(set, options, data)
    }

    /// A writer without samples for this data file.
    pub(crate) fn start(set: FileSet, options: WriterOptions, data: DataFile) -> Result<Self> {
        let index = SampleIndex::create(&set, options.output.sync)?;
        let scratch = Vec::new();
        Ok(Self {
            set,
            options,
            data,
            index,
            scratch,
            existing_end: 0,
            poisoned: false,
            rejected: None,
            rejected_len: 0,
        })
    }

    /// Number of samples so far.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.index.len().into()
    }

    /// True while there are no samples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Size of the data file so far, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.data.position()
    }

    /// Appends a sample: a struct or a map with a string field `key`, as Python's `FileWriter.write` does.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when the key is missing, not a string or a duplicate, or when the sample cannot be
    /// serialized as msgpack; [`Limit`](container_core::ErrorKind::Limit) when it is too long or too deep. Nothing was written then, and the
    /// writer remains usable. After an [`Io`](container_core::ErrorKind::Io) error it does not.
    pub fn append<T: Serialize + ?Sized>(&mut self, sample: &T) -> Result<()> {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let result = match ser::extend(&mut scratch, sample) {
            Ok(()) => self.append_message(&scratch),
            Err(error) => Err(self.in_next_row(error)),
        };
        self.scratch = scratch;
        result
    }

    /// Appends a sample that is already a msgpack message, under the key stored in it.
    ///
    /// # Errors
    /// As [`append`](Self::append), and [`Invalid`](container_core::ErrorKind::Invalid) or
    /// [`Truncated`](container_core::ErrorKind::Truncated) when it is not exactly one message.
    pub fn append_message(&mut self, message: &[u8]) -> Result<()> {
        let checked = check_message(&self.options.limits, message).and_then(|()| key_of(message));
        match checked {
            Ok(key) => self.put(key, message),
            Err(error) => Err(self.in_next_row(error)),
        }
    }

    /// Appends a message under a key, as Python's `RawWriter.write` does. The message must store the same key, unless
    /// [`WriterOptions::any_message`] is set: then [`take_losses`](Self::take_losses) returns what verification will reject.
    ///
    /// # Errors
    /// As [`append_message`](Self::append_message).
    pub fn append_raw(&mut self, key: &str, message: &[u8]) -> Result<()> {
        let checked = match self.options.any_message {
            true => self.inspect_message(key, message),
            false => check_message(&self.options.limits, message)
                .and_then(|()| check_same_key(key, key_of(message)?))
                .map(|()| None),
        };
        match checked {
            Ok(flaw) => {
                self.put(key, message)?;
                if let Some(flaw) = flaw {
                    self.count_rejected(key, &flaw);
                }
                Ok(())
            }
            Err(error) => Err(self.in_next_row(error).in_key(key.to_owned())),
        }
    }

    /// Messages [appended raw](Self::append_raw) since the last call that [`Reader::verify`](crate::Reader::verify) will reject: their
    /// number, the defect of the first, and its key.
    pub fn take_losses(&mut self) -> Vec<Loss> {
        self.rejected.take().into_iter().collect()
    }

    /// Appends a sample that should not be held in memory: `write` produces its `len` bytes, a msgpack message, in chunks. The message must
    /// store the same key. Neither is checked.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a duplicate key; [`Limit`](container_core::ErrorKind::Limit) when the sample is too
    /// long. Nothing was written then, and the writer remains usable. It does not after an error of `write`, or a wrong number of bytes.
    pub fn append_stream(
        &mut self,
        key: &str,
        len: u64,
        write: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let limits = self.options.limits;
        let checked = limits.check_block("key length", key.len() as u64);
        let checked = checked.and_then(|()| limits.check_block("sample length", len));
        checked.map_err(|error| self.in_next_row(error).in_key(key.to_owned()))?;
        self.put_with(key, |data| {
            let end = data.position().saturating_add(len);
            write(&mut |bytes| data.put(bytes))?;
            match data.position() {
                position if position == end => Ok(()),
                position => {
                    let written = len.saturating_add(position).saturating_sub(end);
                    let detail = format!("expected {len} bytes as declared, found {written}");
                    Err(Error::usage(detail).in_format(FORMAT_NAME).in_key(key.to_owned()))
                }
            }
        })
    }

    /// The sample that has this key.
    pub(crate) fn row_of(&self, key: &str) -> Result<Option<u32>> {
        self.index.find(key)
    }

    /// The first defect for which verification rejects a complete message.
    fn inspect_message(&self, key: &str, message: &[u8]) -> Result<Option<Error>> {
        let limits = &self.options.limits;
        // The key need not be part of the message, so its length is checked separately.
        limits.check_block("key length", key.len() as u64)?;
        limits.check_block("sample length", message.len() as u64)?;
        let mut tokens = Tokens::at(message, 0);
        let mut first = None;
        let inspected = inspect(&mut tokens, &mut Budget::unbounded(limits.depth), &mut |flaw, error| {
            if flaw.severity() == Severity::Error {
                first.get_or_insert(error);
            }
        })?;
        tokens.end()?;
        if let Some(stored) = inspected.key.filter(|stored| first.is_none() && *stored != key) {
            first = Some(Error::invalid(format!("key mismatch: {stored:?} in the sample, {key:?} in the key list")));
        }
        Ok(first)
    }

    #[cold]
    fn count_rejected(&mut self, key: &str, flaw: &Error) {
        let first = || {
            let first = Position::of_key(key.to_owned());
            Loss::new(format!("sample copied although verification rejects it: {}", flaw.detail()), 0, first)
        };
        self.rejected.get_or_insert_with(first).count += 1;
        self.rejected_len += 1;
    }

    #[cold]
    fn in_next_row(&self, error: Error) -> Error {
        error.in_format(FORMAT_NAME).in_row(self.len())
    }

    fn put(&mut self, key: &str, message: &[u8]) -> Result<()> {
        self.put_with(key, |data| data.put(message))
    }

    fn put_with(&mut self, key: &str, write: impl FnOnce(&mut DataFile) -> Result<()>) -> Result<()> {
        self.check_usable()?;
        if let Some(first) = self.index.claim(key.as_bytes())? {
            return Err(duplicate(key, first, self.index.len()));
        }
        self.poisoned = true;
        write(&mut self.data)?;
        self.index.push(key, self.data.position())?;
        self.poisoned = false;
        Ok(())
    }

    pub(super) fn check_usable(&self) -> Result<()> {
        match self.poisoned {
            true => Err(Error::usage("writer used after a failed write").in_format(FORMAT_NAME)),
            false => Ok(()),
        }
    }

    /// Writes the index and the sums, and puts all files in place.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io), and [`Usage`](container_core::ErrorKind::Usage) when an earlier write failed, when a dataset
    /// that must not be replaced has appeared in the meantime, or when the data appended to were replaced. Unless one of the final renames
    /// failed, everything is as it was before.
    ///
    /// Two writers that replace the same dataset must not finish at the same moment: their files could be mixed. `verify` detects that.
    pub fn finish(self) -> Result<WriteSummary> {
        let Self { set, options, mut data, index, poisoned, rejected_len, .. } = self;
        if poisoned {
            return Err(Error::usage("writer finished after a failed write").in_format(FORMAT_NAME));
        }
        let (samples, bytes) = (index.len().into(), data.position());
        let summary = WriteSummary { samples, bytes, rejected: rejected_len };
        let result = data.flush_and_sync(options.output.sync).and_then(|sum| {
            let files = IndexFiles::make(&set, index, sum, options.threads, OnLegacyIndex::Remove)?;
            files.commit(&set, Some(data))
        });
        result.map_err(|error| error.in_format(FORMAT_NAME))?;
        Ok(summary)
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("data", &self.set.data()).field("len", &self.len()).finish_non_exhaustive()
    }
}

/// Checks that this is exactly one message.
pub(crate) fn check_message(limits: &Limits, message: &[u8]) -> Result<()> {
    limits.check_block("sample length", message.len() as u64)?;
    let mut tokens = Tokens::at(message, 0);
    tokens.check(limits.depth)?;
    tokens.end()
}

/// The key stored in a message.
pub(super) fn key_of(message: &[u8]) -> Result<&str> {
    if let Some(Ok(key)) = opening_key(message).map(std::str::from_utf8) {
        return Ok(key);
    }
    let raw = RawValue::new(message);
    match raw.get("key") {
        Ok(Some(key)) => match key.tokens().next()? {
            Token::Str(_) => key.str(),
            other => Err(Error::usage(format!("key: expected a str, found {}", other.name())).at(key.offset())),
        },
        Ok(None) => Err(Error::usage("the sample has no key")),
        Err(error) if error.kind() == ErrorKind::Invalid => {
            Err(Error::usage("the sample is not a map").caused_by(error))
        }
        Err(error) => Err(error),
    }
}

fn check_same_key(key: &str, stored: &str) -> Result<()> {
    if key == stored {
        return Ok(());
    }
    Err(Error::usage(format!("the message has the key {stored:?}")))
}

#[cold]
pub(super) fn duplicate(key: &str, first: u32, row: u32) -> Error {
    let detail = format!("duplicate key, first in sample {first}: not written again");
    Error::usage(detail).in_format(FORMAT_NAME).in_row(row.into()).in_key(key.to_owned())
}
