//! What the verbs share that write datadings: datasets opened, outputs of several files, samples copied as they are.

use std::borrow::Cow;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;
use std::path::Path;

use container_core::{
    Error, ErrorKind, Input, OpenOptions, OutputOptions, Overwrite, Probe, Progress, Recognition, Result,
};
use datadings::{Reader, Sample, Writer, WriterOptions, Written};
use serde_json::{Value, json};

use super::bar::Bar;
use super::env::{Env, Opener};
use super::inputs::{self, Location};
use super::report::Lost;
pub(crate) use wharf::hub::dataset::{NAME, data_of, has_index, member, members, refuse};

/// How many samples pass between two words to the bar.
const STRIDE: u64 = 256;

/// How a dataset is written.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Placing {
    /// Replace the output if it exists
    #[arg(long)]
    pub(crate) force: bool,

    /// Write no .md5: faster, where MD5 is slower than the disk
    #[arg(long)]
    pub(crate) no_md5: bool,

    /// Threads that may work at once; 0 for all the machine has
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) threads: usize,
}

impl Placing {
    /// Options for a copy: what is no sample for others stays as it is.
    pub(crate) fn options(&self) -> WriterOptions {
        let overwrite = if self.force { Overwrite::Replace } else { Overwrite::Refuse };
        let output = OutputOptions::default().with_overwrite(overwrite);
        let options = WriterOptions::default().with_output(output).with_threads(self.threads);
        options.with_md5(!self.no_md5).with_any_message(true)
    }

    /// Begins a dataset, once it is certain that it takes the place of nothing.
    pub(crate) fn create(&self, path: &Path, inputs: &[Location]) -> Result<Writer> {
        refuse(path, self.force, inputs)?;
        Writer::create(path, self.options())
    }
}

/// The one input of a verb: a name, or a pattern that only one file matches.
pub(crate) fn single(argument: &std::ffi::OsStr, verb: &str) -> Result<Location> {
    let mut locations = inputs::expand_one(argument)?;
    match (locations.pop(), locations.len()) {
        (Some(location), 0) => Ok(location),
        (_, others) => {
            let detail = format!("the pattern matches {} files; {verb} takes one", others + 1);
            Err(Error::usage(detail).in_file(argument.display().to_string()))
        }
    }
}

/// A dataset that is read.
pub(crate) struct Dataset {
    pub(crate) location: Location,
    pub(crate) reader: Reader,
}

impl Dataset {
    /// Opens it. What is clearly another format is named.
    pub(crate) fn open(location: &Location, opener: &mut Opener<'_>, verb: &str) -> Result<Self> {
        let named = |error: Error| error.in_file(location.name());
        let input = location.input(opener).map_err(named)?;
        Self::of(location, &input, opener, verb)
    }

    /// The dataset that an input holds which was opened already.
    pub(crate) fn of(location: &Location, input: &Input, opener: &Opener<'_>, verb: &str) -> Result<Self> {
        let named = |error: Error| error.in_file(location.name());
        check_format(input, opener, verb).map_err(named)?;
        let options = OpenOptions::default().with_access(opener.access);
        let reader = match (location, input.source()) {
            // Without an index the data are walked over, as other verbs do; what may be anything is not.
            (Location::Path(path), Some(source)) if !has_index(path) && is_dataset(input, opener) => {
                Reader::walk(source.clone(), options)
            }
            (Location::Path(path), Some(_)) => Reader::open_with(path, options),
            (Location::Stdin, Some(source)) => Reader::walk(source.clone(), options),
            (_, None) => Err(Error::usage("a directory is no datadings dataset")),
        };
        Ok(Self { location: location.clone(), reader: reader.map_err(named)? })
    }

    /// An error in a sample of it.
    fn location(&self, error: Error, row: u64) -> Error {
        error.in_format(NAME).in_row(row).in_file(self.location.name())
    }

    /// Copies samples of a range, in order.
    pub(crate) fn copy(&self, rows: Range<u64>, writer: &mut Writer, bar: &Bar) -> Result<()> {
        let named = |error: Error| error.in_file(self.location.name());
        let mut keys = self.reader.keys(rows.clone()).map_err(named)?;
        for (sample, row) in self.reader.samples(rows.clone()).map_err(named)?.zip(rows) {
            let sample = sample.map_err(named)?;
            let key = keys.next().transpose().map_err(named)?;
            let key = key.ok_or_else(|| self.location(Error::invalid("the sample has no key"), row))?;
            self.put(&key, &sample, writer)?;
            tick(bar, writer.len());
        }
        Ok(())
    }

    /// Copies the samples of these numbers, in this order.
    pub(crate) fn copy_rows(&self, rows: impl Iterator<Item = u64>, writer: &mut Writer, bar: &Bar) -> Result<()> {
        for row in rows {
            let (key, sample) = self.get(row)?;
            self.put(&key, &sample, writer)?;
            tick(bar, writer.len());
        }
        Ok(())
    }

    /// A sample and its key.
    pub(crate) fn get(&self, row: u64) -> Result<(Cow<'_, str>, Sample<'_>)> {
        let both = self.reader.key(row).and_then(|key| Ok((key, self.reader.get(row)?)));
        both.map_err(|error| error.in_file(self.location.name()))
    }

    fn put(&self, key: &str, sample: &Sample<'_>, writer: &mut Writer) -> Result<()> {
        match writer.append_raw(key, sample.as_bytes()) {
            Err(error) if is_duplicate(&error) => {
                let error = Error::invalid("another sample has the same key; `wharf recover` keeps the first of both");
                Err(self.location(error.in_key(key.to_owned()), sample.index()))
            }
            Err(error) => Err(self.of_message(error, sample)),
            Ok(()) => Ok(()),
        }
    }

    /// An error of a writer in a message, which counts from its own beginnings, or of the output.
    pub(crate) fn of_message(&self, error: Error, sample: &Sample<'_>) -> Error {
        if error.kind() == ErrorKind::Io {
            return error;
        }
        let byte = sample.offset().saturating_add(error.position().byte.unwrap_or(0));
        self.location(Error::new(error.kind(), error.detail().to_owned()).at(byte), sample.index())
    }
}

/// Samples that were copied although verification rejects them.
pub(crate) fn rejected(writer: &mut Writer, file: Option<String>) -> Vec<Lost> {
    writer.take_losses().into_iter().map(|loss| Lost { file: file.clone(), loss }).collect()
}

/// The writer has this key already: the one thing it holds against a message of which it takes any.
pub(crate) fn is_duplicate(error: &Error) -> bool {
    error.kind() == ErrorKind::Usage && error.position().key.is_some()
}

/// Tells the bar of a sample more.
pub(crate) fn tick(bar: &Bar, written: u64) {
    if written.is_multiple_of(STRIDE) {
        bar.advance(STRIDE);
    }
}

/// Fails when an input is clearly of another format.
pub(crate) fn check(location: &Location, opener: &mut Opener<'_>, verb: &str) -> Result<()> {
    let input = location.input(opener)?;
    check_format(&input, opener, verb)
}

fn check_format(input: &Input, opener: &Opener<'_>, verb: &str) -> Result<()> {
    match other_format(input, opener)? {
        None => Ok(()),
        Some(other) => Err(Error::usage(format!("{verb} works on datadings datasets, this one is {other}"))),
    }
}

/// The format whose content this is for certain, when it is another one.
fn other_format(input: &Input, opener: &Opener<'_>) -> Result<Option<&'static str>> {
    let Some(source) = input.source() else { return Ok(None) };
    let head = source.read(0..source.len().min(4096))?;
    let probe = Probe::new(input.path(), &head).with_source(source);
    let mut sure = opener.registry.formats().iter().filter(|format| format.recognize(&probe) == Recognition::Content);
    let first = sure.next().map(|format| format.name());
    Ok(first.filter(|&name| name != NAME && !sure.any(|format| format.name() == NAME)))
}

/// True when an input is a dataset, also one whose data are damaged at their beginning: its index stands beside them.
pub(crate) fn is_dataset(input: &Input, opener: &Opener<'_>) -> bool {
    match opener.registry.detect(input) {
        Ok(format) => format.name() == NAME,
        Err(_) => input.path().is_some_and(has_index),
    }
}

/// The seed that was given, or one that nobody knows yet, short enough to be typed.
pub(crate) fn seed(given: Option<u64>) -> u64 {
    given.unwrap_or_else(|| RandomState::new().build_hasher().finish() >> 32)
}

/// What was written, for programs.
pub(crate) fn done(path: &Path, written: Written) -> serde_json::Map<String, Value> {
    let mut object = serde_json::Map::new();
    object.insert("file".into(), json!(path.display().to_string()));
    object.insert("to".into(), NAME.into());
    object.insert("rows".into(), written.samples.into());
    object.insert("bytes".into(), written.bytes.into());
    object
}

/// Prints what was done: an object for programs, or else this line.
pub(crate) fn tell(object: serde_json::Map<String, Value>, line: &str, env: &mut Env<'_>) -> Result<()> {
    let text = if env.json() { Value::Object(object).to_string() } else { super::human::clean(line).into_owned() };
    env.stdout.print(&format!("{text}\n"))
}
