//! What is whole in a damaged data file.

mod anchors;
mod scan;
mod window;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use container_core::{Error, ErrorKind, Loss, OpenOptions, Position, Progress, Result, Source, Unit};
use std::ops::Range;

use crate::FORMAT_NAME;
use crate::index::KeyList;
use crate::read::set_of;
use crate::verify::message::{Allowance, Message};
use crate::wire::{FileSet, Part, put_str};
use crate::write::{Writer, WriterOptions, Written};
use anchors::Anchors;
use scan::{Scan, Scanner};

pub(crate) use window::Window;

/// What becomes of a sample whose key another one before it has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnDuplicateKey {
    /// It is left out, and counted.
    #[default]
    Drop,
    /// It gets `#2`, `#3`... behind its key, and is counted.
    Rename,
}

/// How damaged data are surveyed.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct RecoverOptions {
    /// How the data are read.
    pub open: OpenOptions,
    /// What becomes of samples with the key of another.
    pub on_duplicate_key: OnDuplicateKey,
    /// Who listens: bytes of the data, surveyed and then written.
    pub progress: Option<Arc<dyn Progress>>,
}

impl RecoverOptions {
    /// Replaces [`open`](Self::open).
    #[must_use]
    pub fn with_open(mut self, open: OpenOptions) -> Self {
        self.open = open;
        self
    }

    /// Replaces [`on_duplicate_key`](Self::on_duplicate_key).
    #[must_use]
    pub fn with_on_duplicate_key(mut self, on_duplicate_key: OnDuplicateKey) -> Self {
        self.on_duplicate_key = on_duplicate_key;
        self
    }

    /// Replaces [`progress`](Self::progress).
    #[must_use]
    pub fn with_progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = Some(progress);
        self
    }
}

/// A damaged dataset, surveyed: which samples are whole, and what is lost.
///
/// The data are walked over. Where they are damaged, what is left of an index says where the next sample begins; without one every byte
/// is tried until a sample follows that is whole, and another one behind it (or one with the same fields as a sample before).
/// The work is bounded by the length of the data, whatever they are. A bit that flipped inside of a value, and left the message whole,
/// cannot be seen.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let (path, sound) = (folder.path().join("d.msgpack"), folder.path().join("e.msgpack"));
/// use datadings::{Recovery, WriterOptions};
/// // Three samples with nonsense in the middle, and no index.
/// std::fs::write(&path, b"\x81\xa3key\xa1a\x81\xa3key\xa1b????\x81\xa3key\xa1c")?;
/// let recovery = Recovery::survey(&path, &Default::default())?;
/// assert_eq!((recovery.len(), recovery.lost()), (3, &[14..18][..]));
/// let (written, losses) = recovery.write(&sound, WriterOptions::default())?;
/// assert_eq!((written.samples, losses.len()), (3, 1));
/// # Ok(())
/// # }
/// ```
pub struct Recovery {
    set: Option<FileSet>,
    data: Source,
    options: RecoverOptions,
    anchors: Anchors,
    /// The keys that a file lists, if they are as many as the index has samples.
    keys: Option<KeyList>,
    scan: Scan,
    findings: Vec<Error>,
}

impl Recovery {
    /// Surveys a dataset by its data file, or by any file beside it.
    ///
    /// # Errors
    /// [`Io`](ErrorKind::Io) when the data cannot be read. What is wrong with the index is told by [`findings`](Self::findings).
    pub fn survey(path: impl AsRef<Path>, options: &RecoverOptions) -> Result<Self> {
        let set = set_of(path.as_ref());
        let name = |error: Error| error.in_format(FORMAT_NAME).in_file(set.data().display().to_string());
        let data = Source::open_with(set.data(), options.open.access).map_err(name)?;
        let mut findings = Vec::new();
        let mut part = |part: Part| -> Result<Option<Source>> {
            let path = set.path(part);
            if path.try_exists().is_ok_and(|exists| !exists) {
                return Ok(None);
            }
            match Source::open_with(&path, options.open.access) {
                Ok(source) => Ok(Some(source)),
                Err(error) => {
                    findings.push(error.in_format(FORMAT_NAME));
                    Ok(None)
                }
            }
        };
        let (offsets, keys, older) = (part(Part::Offsets)?, part(Part::Keys)?, part(Part::LegacyIndex)?);
        let mut listed = None;
        if let Some(keys) = keys {
            let parsed = keys.read(0..keys.len()).and_then(KeyList::parse);
            listed = parsed.map_err(tell(&set, Part::Keys, &mut findings)).ok();
        }
        let mut anchors = Anchors::None;
        if let Some(offsets) = offsets {
            anchors = Anchors::of_file(offsets, data.len(), listed.as_ref().map(KeyList::len));
            anchors.check(data.len()).unwrap_or_else(tell(&set, Part::Offsets, &mut findings));
        } else if let Some(older) = older {
            match older.read(0..older.len()).and_then(KeyList::parse_legacy) {
                Ok((keys, starts)) => {
                    anchors = Anchors::Held(starts, data.len());
                    listed = listed.or(Some(keys));
                }
                Err(error) => tell(&set, Part::LegacyIndex, &mut findings)(error),
            }
        }
        let keys = listed.filter(|keys| Some(keys.len()) == anchors.samples());
        let mut recovery = Self::over(data, anchors, keys, options).map_err(name)?;
        recovery.findings.extend(findings);
        recovery.set = Some(set);
        Ok(recovery)
    }

    /// Surveys data without any index.
    ///
    /// # Errors
    /// [`Io`](ErrorKind::Io).
    pub fn survey_source(data: Source, options: &RecoverOptions) -> Result<Self> {
        Self::over(data, Anchors::None, None, options).map_err(|error| error.in_format(FORMAT_NAME))
    }

    fn over(data: Source, anchors: Anchors, keys: Option<KeyList>, options: &RecoverOptions) -> Result<Self> {
        if let Some(progress) = &options.progress {
            progress.begin(Unit::Bytes, Some(data.len().saturating_mul(2)));
        }
        let scanner = Scanner::new(&data, &anchors, keys.is_some(), options.open.limits);
        let scan = scanner.run(options.progress.as_deref())?;
        Ok(Self { set: None, options: options.clone(), findings: Vec::new(), data, anchors, keys, scan })
    }

    /// True when a whole sample stands somewhere behind a place.
    pub(crate) fn any_behind(data: &Source, at: u64, open: OpenOptions) -> Result<bool> {
        Scanner::new(data, &Anchors::None, false, open.limits).any_behind(at)
    }

    /// Samples that are whole, those with the key of another among them.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.scan.runs.iter().map(|run| run.samples).sum()
    }

    /// True when no sample is whole.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.scan.runs.is_empty()
    }

    /// How many samples the index says there are, as far as there is one.
    #[must_use]
    pub fn samples_declared(&self) -> Option<u64> {
        self.anchors.samples()
    }

    /// Where whole samples stand one behind the other, in bytes of the data.
    pub fn whole(&self) -> impl ExactSizeIterator<Item = Range<u64>> {
        self.scan.runs.iter().map(|run| run.bytes.clone())
    }

    /// Bytes of the data that belong to no whole sample.
    #[must_use]
    pub fn lost(&self) -> &[Range<u64>] {
        &self.scan.lost
    }

    /// The samples that are lost, by their numbers in the index, where there is one: those that touch lost bytes or stand behind
    /// the end of the data. At most `most` are told.
    ///
    /// # Errors
    /// [`Io`](ErrorKind::Io) of the index.
    pub fn lost_rows(&self, most: usize) -> Result<Vec<u64>> {
        self.anchors.rows_in(&self.scan.lost, self.data.len(), most)
    }

    /// The key of a sample by its number in the index, where a file lists it.
    #[must_use]
    pub fn listed_key(&self, row: u64) -> Option<&str> {
        self.keys.as_ref().and_then(|keys| keys.get(row).ok().flatten())
    }

    /// What is wrong with the index. Nothing of that is lost: a new one will be made.
    #[must_use]
    pub fn findings(&self) -> &[Error] {
        &self.findings
    }

    /// The [`findings`](Self::findings), for whoever keeps them.
    #[must_use]
    pub fn into_findings(self) -> Vec<Error> {
        self.findings
    }

    /// Writes what is whole as a new dataset, and says what is lost.
    ///
    /// # Errors
    /// As [`Writer::create`]; [`Usage`](ErrorKind::Usage) when that would take the place of the damaged data, and when no sample is
    /// whole although there are data; [`Io`](ErrorKind::Io).
    pub fn write(&self, path: impl AsRef<Path>, options: WriterOptions) -> Result<(Written, Vec<Loss>)> {
        let path = path.as_ref();
        self.write_to(path, options).map_err(|error| error.in_format(FORMAT_NAME))
    }

    fn write_to(&self, path: &Path, mut options: WriterOptions) -> Result<(Written, Vec<Loss>)> {
        let name = |error: Error| error.in_file(path.display().to_string());
        if self.set.as_ref().is_some_and(|set| is_same(set.data(), path)) {
            return Err(name(Error::usage("the damaged data are never replaced: another name is needed")));
        }
        if self.is_empty() && !self.data.is_empty() {
            return Err(name(Error::invalid("no sample is whole: nothing is written")));
        }
        options.any_message |= self.keys.is_some();
        let mut writer = Writer::create(path, options)?;
        let mut same = Vec::new();
        let mut numbers = HashMap::new();
        let mut losses = self.losses()?;
        let mut window = Window::new(&self.data, self.options.open.limits);
        for run in &self.scan.runs {
            let mut at = run.bytes.start;
            while at < run.bytes.end {
                let mut allowance = Allowance::unbounded(self.options.open.limits.depth);
                let message = window.message(at, &mut allowance, &mut |_, _| {})?;
                self.copy(at, &message, &mut writer, &mut same, &mut numbers)?;
                at += message.bytes.len() as u64;
            }
            if let Some(progress) = &self.options.progress {
                progress.advance(run.bytes.end - run.bytes.start);
            }
        }
        if let Some(first) = same.first() {
            let mut position = Position::at(*first);
            position.file = self.file();
            let what = match self.options.on_duplicate_key {
                OnDuplicateKey::Drop => "sample left out that has the key of another",
                OnDuplicateKey::Rename => "key of another sample, renamed",
            };
            losses.push(Loss::new(what, same.len() as u64, position));
        }
        Ok((writer.finish()?, losses))
    }

    /// Takes a sample that is whole. `same` are the places of those with the key of another, `numbers` where the
    /// numbers go on that are appended to a key: all samples may have the same.
    fn copy(
        &self,
        at: u64,
        message: &Message<'_>,
        writer: &mut Writer,
        same: &mut Vec<u64>,
        numbers: &mut HashMap<Box<str>, u64>,
    ) -> Result<()> {
        let listed = || self.anchors.row_at(at).and_then(|row| self.listed_key(row));
        // No sample is taken that has neither.
        let Some(key) = message.key.or_else(listed) else { return Ok(()) };
        if writer.row_of(key)?.is_none() {
            return writer.append_raw(key, message.bytes);
        }
        same.push(at);
        if self.options.on_duplicate_key == OnDuplicateKey::Drop {
            return Ok(());
        }
        let number = numbers.entry(key.into()).or_insert(2);
        let renamed = loop {
            let renamed = format!("{key}#{number}");
            *number += 1;
            if writer.row_of(&renamed)?.is_none() {
                break renamed;
            }
        };
        match message.key_value {
            Some(value) => {
                let start = usize::try_from(value.offset() - at).unwrap_or(usize::MAX);
                let mut copy = message.bytes.get(..start).unwrap_or_default().to_vec();
                put_str(&mut copy, &renamed)
                    .map_err(|len| Error::limit("the length of a key", len, u32::MAX.into()))?;
                copy.extend_from_slice(message.bytes.get(start + value.as_bytes().len()..).unwrap_or_default());
                writer.append_raw(&renamed, &copy)
            }
            None => writer.append_raw(&renamed, message.bytes),
        }
    }

    fn file(&self) -> Option<std::borrow::Cow<'static, str>> {
        self.set.as_ref().map(|set| set.data().display().to_string().into())
    }

    /// Bytes and samples that are lost.
    fn losses(&self) -> Result<Vec<Loss>> {
        let mut losses = Vec::new();
        let bytes: u64 = self.scan.lost.iter().map(|range| range.end - range.start).sum();
        if let Some(first) = self.scan.lost.first() {
            let mut position = Position::at(first.start);
            position.file = self.file();
            let what = format!("{bytes} byte{} of no whole sample", if bytes == 1 { "" } else { "s" });
            losses.push(Loss::new(what, self.scan.lost.len() as u64, position));
        }
        let missing = self.samples_declared().map_or(0, |declared| declared.saturating_sub(self.len()));
        if missing > 0 {
            let row = self.lost_rows(1)?.first().copied();
            let mut position = Position::default();
            position.file = self.file();
            position.row = row;
            position.key = row.and_then(|row| self.listed_key(row)).map(|key| key.to_owned().into());
            losses.push(Loss::new("samples that the index has and that are not whole", missing, position));
        }
        Ok(losses)
    }
}

impl std::fmt::Debug for Recovery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recovery").field("data", &self.file()).field("len", &self.len()).finish_non_exhaustive()
    }
}

/// Whether two paths lead to the same file, which need not be there.
fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| -> Option<PathBuf> {
        if let Ok(real) = path.canonicalize() {
            return Some(real);
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(path.file_name()?))
    };
    one == other || real(one).is_some_and(|one| real(other) == Some(one))
}

/// Takes an error as a finding in a file of the set.
fn tell<'f>(set: &FileSet, part: Part, findings: &'f mut Vec<Error>) -> impl FnOnce(Error) + use<'f> {
    let file = set.path(part).display().to_string();
    move |error: Error| findings.push(error.in_format(FORMAT_NAME).in_file(file))
}

/// An error that is not the source's is no reason to stop.
fn unless_io<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == ErrorKind::Io => Err(error),
        Err(_) => Ok(None),
    }
}
