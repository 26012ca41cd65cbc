//! datadings datasets whose samples are copied unchanged.

use std::borrow::Cow;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;
use std::path::Path;

use container_arrow::Predicate;
use container_core::{
    Error, ErrorKind, Input, OpenOptions, Output, OutputOptions, Overwrite, Probe, Recognition, Result,
};
use datadings::{Reader, Sample, Writer, WriterOptions};

use super::convert::{Streaming, TargetInfo, TargetUnit};
pub use super::dataset_files::{data_of, has_index, member, members, set_of};
use super::env::Opener;
use super::inputs::Location;
use super::overlap::refuse_overlap;
use super::select::Reading;
use super::{Bar, Lost, tick};

/// The name of the format.
pub const NAME: &str = "datadings";

/// What operations say about it.
pub(super) const INFO: TargetInfo =
    TargetInfo::new(NAME, TargetUnit::Samples, Streaming::Unsupported("a datadings dataset is a set of files"));

/// Fails when the output would replace a file of an input or, without `force`, any file.
pub fn refuse(output: &Path, force: bool, inputs: &[Location]) -> Result<()> {
    if output == Path::new("-") {
        return Err(Error::usage("a datadings dataset is a set of files, not standard output: give a path"));
    }
    refuse_overlap(members(output), inputs)?;
    for part in members(output) {
        // The index would be beside the link, and the old one beside the replaced data.
        if part.is_symlink() {
            let detail = "the output is a symbolic link, and the files of a dataset are side by side: give the path of the data themselves";
            return Err(Error::usage(detail).in_file(part.display().to_string()));
        }
        Output::destination(&part)?;
    }
    match members(output).find(|part| part.symlink_metadata().is_ok()) {
        Some(there) if !force => {
            let exists = Error::usage("the output exists").advising("{force} replaces it and all files of its set");
            Err(exists.in_file(there.display().to_string()))
        }
        _ => Ok(()),
    }
}

/// Options for writing a copy. Messages that other readers reject are copied, too.
pub fn copy_options(force: bool, no_md5: bool, threads: usize) -> WriterOptions {
    let overwrite = if force { Overwrite::Replace } else { Overwrite::Refuse };
    let output = OutputOptions::default().with_overwrite(overwrite);
    let options = WriterOptions::default().with_output(output).with_threads(threads);
    options.with_md5(!no_md5).with_any_message(true)
}

/// Creates the output of a copy, after [`refuse`].
pub fn create(path: &Path, force: bool, options: WriterOptions, inputs: &[Location]) -> Result<Writer> {
    refuse(path, force, inputs)?;
    Writer::create(path, options)
}

/// An opened dataset.
pub struct Dataset {
    pub location: Location,
    pub reader: Reader,
    /// Some of its samples, by number.
    pub(super) picked: Option<Vec<u64>>,
}

impl Dataset {
    /// Opens a dataset. The error for another format names it.
    pub fn open(location: &Location, opener: &mut Opener<'_>, verb: &str) -> Result<Self> {
        let named = |error: Error| error.in_file(location.name());
        let input = location.input(opener).map_err(named)?;
        Self::of(location, &input, opener, verb)
    }

    /// As [`open`](Self::open), for an opened input.
    pub fn of(location: &Location, input: &Input, opener: &Opener<'_>, verb: &str) -> Result<Self> {
        let named = |error: Error| error.in_file(location.name());
        check_format(input, opener, verb).map_err(named)?;
        let options = OpenOptions::default().with_access(opener.access);
        let reader = match (location, input.source()) {
            // Without an index the data are scanned, but only if they look like a dataset.
            (Location::Path(path), Some(source)) if !has_index(path) && is_dataset(input, opener) => {
                Reader::scan(source.clone(), options)
            }
            (Location::Path(path), Some(_)) => Reader::open_with(path, options),
            (Location::Stdin, Some(source)) => Reader::scan(source.clone(), options),
            (Location::Open(_), _) => Err(Error::usage("expected a datadings dataset, found an open container")),
            (_, None) => Err(Error::usage("expected a datadings dataset, found a directory")),
        };
        Ok(Self { location: location.clone(), reader: reader.map_err(named)?, picked: None })
    }

    /// Keeps only samples for which a condition holds.
    pub(super) fn pick(&mut self, condition: &Predicate, threads: usize, opener: &mut Opener<'_>) -> Result<()> {
        let named = |error: Error| error.in_file(self.location.name());
        let input = self.location.input(opener).map_err(named)?;
        let reading = Reading::new(None, threads, false);
        self.picked = Some(opener.matching_rows(&input, &reading, condition).map_err(named)?.rows);
        Ok(())
    }

    /// The number of its samples, or of the picked ones.
    pub(super) fn len(&self) -> u64 {
        self.picked.as_ref().map_or(self.reader.len(), |picked| picked.len() as u64)
    }

    /// The number in the dataset of a picked sample.
    pub(super) fn number(&self, row: u64) -> u64 {
        let Some(picked) = &self.picked else { return row };
        usize::try_from(row).ok().and_then(|row| picked.get(row)).copied().unwrap_or(u64::MAX)
    }

    /// Adds format, row and file to an error.
    fn located(&self, error: Error, row: u64) -> Error {
        error.in_format(NAME).in_row(row).in_file(self.location.name())
    }

    /// Copies a range of samples.
    pub fn copy(&self, rows: Range<u64>, writer: &mut Writer, bar: &Bar) -> Result<()> {
        let named = |error: Error| error.in_file(self.location.name());
        let mut keys = self.reader.keys(rows.clone()).map_err(named)?;
        for (sample, row) in self.reader.samples(rows.clone()).map_err(named)?.zip(rows) {
            let sample = sample.map_err(named)?;
            let key = keys.next().transpose().map_err(named)?;
            let key = key.ok_or_else(|| self.located(Error::invalid("the sample has no key"), row))?;
            self.put(&key, &sample, writer)?;
            tick(bar, writer.len())?;
        }
        Ok(())
    }

    /// Copies the samples with these numbers, in this order.
    pub fn copy_rows(&self, rows: impl Iterator<Item = u64>, writer: &mut Writer, bar: &Bar) -> Result<()> {
        for row in rows {
            let (key, sample) = self.get(row)?;
            self.put(&key, &sample, writer)?;
            tick(bar, writer.len())?;
        }
        Ok(())
    }

    /// A sample and its key.
    pub fn get(&self, row: u64) -> Result<(Cow<'_, str>, Sample<'_>)> {
        let both = self.reader.key(row).and_then(|key| Ok((key, self.reader.get(row)?)));
        both.map_err(|error| error.in_file(self.location.name()))
    }

    fn put(&self, key: &str, sample: &Sample<'_>, writer: &mut Writer) -> Result<()> {
        match writer.append_raw(key, sample.as_bytes()) {
            Err(error) if is_duplicate(&error) => {
                let error = Error::invalid("another sample has the same key; `wharf recover` keeps the first one");
                Err(self.located(error.in_key(key.to_owned()), sample.index()))
            }
            Err(error) => Err(self.in_message(error, sample)),
            Ok(()) => Ok(()),
        }
    }

    /// Moves the offset in an error of the writer from the start of the message to that of the input. Errors of the output stay unchanged.
    pub fn in_message(&self, error: Error, sample: &Sample<'_>) -> Error {
        if error.kind() == ErrorKind::Io {
            return error;
        }
        let byte = sample.offset().saturating_add(error.position().byte.unwrap_or(0));
        self.located(Error::new(error.kind(), error.detail().to_owned()).at(byte), sample.index())
    }
}

/// Samples that were copied although verification rejects them.
pub fn rejected(writer: &mut Writer, file: Option<String>) -> Vec<Lost> {
    writer.take_losses().into_iter().map(|loss| Lost { file: file.clone(), loss }).collect()
}

/// Whether the writer has the key already.
pub fn is_duplicate(error: &Error) -> bool {
    error.kind() == ErrorKind::Usage && error.position().key.is_some()
}

/// Fails when an input is certainly another format.
pub fn check(location: &Location, opener: &mut Opener<'_>, verb: &str) -> Result<()> {
    let input = location.input(opener)?;
    check_format(&input, opener, verb)
}

fn check_format(input: &Input, opener: &Opener<'_>, verb: &str) -> Result<()> {
    match other_format(input, opener)? {
        None => Ok(()),
        Some(other) => Err(Error::usage(format!("{verb} works on datadings datasets, the input is {other}"))),
    }
}

/// The format that recognizes the content, if it is another one.
fn other_format(input: &Input, opener: &Opener<'_>) -> Result<Option<&'static str>> {
    let head;
    let probe = match (input.source(), input.path()) {
        (Some(source), path) => {
            head = source.read(0..source.len().min(4096))?;
            Probe::new(path, &head).with_source(source)
        }
        (None, Some(path)) => Probe::directory(path),
        (None, None) => return Ok(None),
    };
    let mut sure = opener.registry.formats().iter().filter(|format| format.recognize(&probe) == Recognition::Content);
    let first = sure.next().map(|format| format.name());
    Ok(first.filter(|&name| name != NAME && !sure.any(|format| format.name() == NAME)))
}

/// Whether an input is a dataset, including one with damaged data beside an index.
pub fn is_dataset(input: &Input, opener: &Opener<'_>) -> bool {
    is_of(input, opener.registry.detect(input).ok().map(|format| format.name()))
}

/// As [`is_dataset`], for an input whose format has been detected.
pub(super) fn is_of(input: &Input, format: Option<&str>) -> bool {
    format.map_or_else(|| input.path().is_some_and(has_index), |format| format == NAME)
}

/// The given seed, or a random one of 32 bits, short enough to type.
pub fn seed(given: Option<u64>) -> u64 {
    given.unwrap_or_else(|| RandomState::new().build_hasher().finish() >> 32)
}
