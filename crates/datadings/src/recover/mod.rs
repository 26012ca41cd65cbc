//! Recovers the intact samples of a damaged data file.

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
use crate::md5::Md5;
use crate::read::set_of;
use crate::verify::message::{Budget, Message};
use crate::wire::md5_file::md5_lines;
use crate::wire::{FileSet, Part, put_str};
use crate::write::{WriteSummary, Writer, WriterOptions};
use anchors::Anchors;
use scan::{Scan, Scanner};

pub(crate) use window::Window;

/// What happens to a sample whose key an earlier sample has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnDuplicateKey {
    /// It is dropped, and counted.
    #[default]
    Drop,
    /// It gets the suffix `#2`, `#3`, ... appended to its key, and is counted.
    Rename,
}

/// Options of a recovery.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct RecoverOptions {
    /// How the data are read.
    pub open: OpenOptions,
    /// What happens to samples with duplicate keys.
    pub on_duplicate_key: OnDuplicateKey,
    /// Receives progress in bytes of the data: surveyed, then written.
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

/// A damaged dataset, surveyed: which samples are intact, and what is lost.
///
/// The data are scanned. Past damage, what is left of an index gives the start of the next sample; without one, every byte is tried until
/// an intact sample follows, and another one after it (or one with the same fields as an earlier sample). The work is linear in the length
/// of the data, whatever they contain. A flipped bit inside a value that leaves the message valid cannot be detected.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let (path, sound) = (folder.path().join("d.msgpack"), folder.path().join("e.msgpack"));
/// use datadings::{Recovery, WriterOptions};
/// // Three samples with garbage in the middle, and no index.
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
    /// The listed keys, if there are as many as the index has samples.
    keys: Option<KeyList>,
    scan: Scan,
    findings: Vec<Error>,
}

impl Recovery {
    /// Surveys a dataset by its data file, or by any file beside it.
    ///
    /// # Errors
    /// [`Io`](ErrorKind::Io) when the data cannot be read. Defects of the index are in [`findings`](Self::findings).
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
        let (offsets, keys, legacy) = (part(Part::Offsets)?, part(Part::Keys)?, part(Part::LegacyIndex)?);
        let mut listed = None;
        if let Some(keys) = keys {
            let parsed = keys.read(0..keys.len()).and_then(KeyList::parse);
            listed = parsed.map_err(collect_into(&set, Part::Keys, &mut findings)).ok();
        }
        let mut anchors = Anchors::None;
        if let Some(offsets) = offsets {
            anchors = Anchors::from_file(offsets, data.len(), listed.as_ref().map(KeyList::len));
            anchors.check(data.len()).unwrap_or_else(collect_into(&set, Part::Offsets, &mut findings));
        } else if let Some(legacy) = legacy {
            match legacy.read(0..legacy.len()).and_then(KeyList::parse_legacy) {
                Ok((keys, starts)) => {
                    anchors = Anchors::Starts(starts, data.len());
                    listed = listed.or(Some(keys));
                }
                Err(error) => collect_into(&set, Part::LegacyIndex, &mut findings)(error),
            }
        }
        let keys = listed.filter(|keys| Some(keys.len()) == anchors.samples());
        let mut recovery = Self::scan(data, anchors, keys, options).map_err(name)?;
        recovery.findings.extend(findings);
        recovery.set = Some(set);
        Ok(recovery)
    }

    /// Surveys data without an index.
    ///
    /// # Errors
    /// [`Io`](ErrorKind::Io).
    pub fn survey_source(data: Source, options: &RecoverOptions) -> Result<Self> {
        Self::scan(data, Anchors::None, None, options).map_err(|error| error.in_format(FORMAT_NAME))
    }

    fn scan(data: Source, anchors: Anchors, keys: Option<KeyList>, options: &RecoverOptions) -> Result<Self> {
        if let Some(progress) = &options.progress {
            progress.begin(Unit::Bytes, Some(data.len().saturating_mul(2)));
        }
        let scanner = Scanner::new(&data, &anchors, keys.is_some(), options.open.limits);
        let scan = scanner.run(options.progress.as_deref())?;
        Ok(Self { set: None, options: options.clone(), findings: Vec::new(), data, anchors, keys, scan })
    }

    /// True if an intact sample begins anywhere after `at`.
    pub(crate) fn any_sample_after(data: &Source, at: u64, open: OpenOptions) -> Result<bool> {
        Scanner::new(data, &Anchors::None, false, open.limits).any_sample_after(at)
    }

    /// Number of intact samples, including those with duplicate keys.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.scan.runs.iter().map(|run| run.samples).sum()
    }

    /// True if no sample is intact.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.scan.runs.is_empty()
    }

    /// Number of samples according to the index, if there is one.
    #[must_use]
    pub fn samples_declared(&self) -> Option<u64> {
        self.anchors.samples()
    }

    /// Byte ranges of consecutive intact samples.
    pub fn intact(&self) -> impl ExactSizeIterator<Item = Range<u64>> {
        self.scan.runs.iter().map(|run| run.bytes.clone())
    }

    /// Byte ranges of the data outside intact samples.
    #[must_use]
    pub fn lost(&self) -> &[Range<u64>] {
        &self.scan.lost
    }

    /// The lost samples, by their index in the dataset if there is one: those that overlap lost bytes or extend past the end of the
    /// data. At most `limit` are returned.
    ///
    /// # Errors
    /// [`Io`](ErrorKind::Io) of the index.
    pub fn lost_rows(&self, limit: usize) -> Result<Vec<u64>> {
        self.anchors.rows_in(&self.scan.lost, self.data.len(), limit)
    }

    /// The key of a sample according to the key list.
    #[must_use]
    pub fn listed_key(&self, row: u64) -> Option<&str> {
        self.keys.as_ref().and_then(|keys| keys.get(row).ok().flatten())
    }

    /// Defects of the index. They cause no loss: a new index will be written.
    #[must_use]
    pub fn findings(&self) -> &[Error] {
        &self.findings
    }

    /// Returns the [`findings`](Self::findings).
    #[must_use]
    pub fn into_findings(self) -> Vec<Error> {
        self.findings
    }

    /// Writes the intact samples as a new dataset, and returns what is lost.
    ///
    /// # Errors
    /// As [`Writer::create`]; [`Usage`](ErrorKind::Usage) when `path` is the damaged data; [`Invalid`](ErrorKind::Invalid) when there are
    /// data but no intact sample; [`Io`](ErrorKind::Io).
    pub fn write(&self, path: impl AsRef<Path>, options: WriterOptions) -> Result<(WriteSummary, Vec<Loss>)> {
        let path = path.as_ref();
        self.write_to(path, options).map_err(|error| error.in_format(FORMAT_NAME))
    }

    fn write_to(&self, path: &Path, mut options: WriterOptions) -> Result<(WriteSummary, Vec<Loss>)> {
        let name = |error: Error| error.in_file(path.display().to_string());
        if self.set.as_ref().is_some_and(|set| is_same(set.data(), path)) {
            return Err(name(Error::usage("cannot replace the damaged data themselves: choose another name")));
        }
        if self.is_empty() && !self.data.is_empty() {
            return Err(name(Error::invalid("no intact sample: nothing written")));
        }
        options.any_message |= self.keys.is_some();
        let mut writer = Writer::create(path, options)?;
        let mut duplicates = Vec::new();
        let mut next_suffixes = HashMap::new();
        let mut losses = self.losses()?;
        let is_whole = losses.is_empty() && self.samples_declared() == Some(self.len());
        let mut other_keys = Vec::new();
        let mut window = Window::new(&self.data, self.options.open.limits);
        for run in &self.scan.runs {
            let mut at = run.bytes.start;
            while at < run.bytes.end {
                let mut budget = Budget::unbounded(self.options.open.limits.depth);
                let message = window.message(at, &mut budget, &mut |_, _| {})?;
                other_keys.extend(self.other_key(at, &message).map(|row| (at, row)));
                self.copy(at, &message, &mut writer, &mut duplicates, &mut next_suffixes)?;
                at += message.bytes.len() as u64;
            }
            if let Some(progress) = &self.options.progress {
                progress.advance(run.bytes.end - run.bytes.start)?;
            }
        }
        if let Some(first) = duplicates.first() {
            let mut position = Position::at(*first);
            position.file = self.file();
            let what = match self.options.on_duplicate_key {
                OnDuplicateKey::Drop => "sample with a duplicate key dropped",
                OnDuplicateKey::Rename => "duplicate key renamed",
            };
            losses.push(Loss::new(what, duplicates.len() as u64, position));
        }
        // A damaged index may list the key of another sample.
        let (mut replaced, mut first) = (0, None);
        for (at, row) in other_keys {
            if let Some(key) = self.listed_key(row)
                && writer.row_of(key)?.is_none()
            {
                replaced += 1;
                first.get_or_insert((at, row, key));
            }
        }
        if let Some((at, row, key)) = first {
            let mut position = Position::at(at);
            (position.file, position.row, position.key) = (self.file(), Some(row), Some(key.to_owned().into()));
            losses.push(Loss::new("key of the list replaced by another one in the sample", replaced, position));
        }
        if is_whole && self.differs_from_sum()? {
            let mut position = Position::default();
            position.file = self.file();
            losses.push(Loss::new("data differ from their MD5 sum: values may be damaged", 1, position));
        }
        losses.extend(writer.take_losses().into_iter().map(|mut loss| {
            loss.first.file = self.file();
            loss
        }));
        Ok((writer.finish()?, losses))
    }

    /// The row of a sample whose key is not the listed one.
    fn other_key(&self, at: u64, message: &Message<'_>) -> Option<u64> {
        // Without listed keys there is nothing to look up.
        let key = self.keys.as_ref().and(message.key)?;
        let row = self.anchors.row_at(at)?;
        self.listed_key(row).is_some_and(|listed| listed != key).then_some(row)
    }

    /// Whether the data have another MD5 sum than the one listed in `.md5`, if it is readable.
    fn differs_from_sum(&self) -> Result<bool> {
        let Some(set) = &self.set else { return Ok(false) };
        let Ok(lines) = std::fs::read(set.path(Part::Md5)) else { return Ok(false) };
        let name = set.name(Part::Data);
        let Some(listed) = md5_lines(&lines).flatten().find(|line| name == line.name) else { return Ok(false) };
        let (mut md5, mut buffer, mut at) = (Md5::new(), Vec::new(), 0);
        while at < self.data.len() {
            let end = self.data.len().min(at + (1 << 20));
            md5.update(self.data.view(at..end, &mut buffer)?);
            at = end;
        }
        Ok(md5.finish() != listed.sum)
    }

    /// Copies an intact sample. `duplicates` collects the offsets of samples with duplicate keys; `next_suffixes` keeps renaming linear
    /// even if all samples have the same key.
    fn copy(
        &self,
        at: u64,
        message: &Message<'_>,
        writer: &mut Writer,
        duplicates: &mut Vec<u64>,
        next_suffixes: &mut HashMap<Box<str>, u64>,
    ) -> Result<()> {
        let listed = || self.anchors.row_at(at).and_then(|row| self.listed_key(row));
        // Intact samples have at least one of the two.
        let Some(key) = message.key.or_else(listed) else { return Ok(()) };
        if writer.row_of(key)?.is_none() {
            return writer.append_raw(key, message.bytes);
        }
        duplicates.push(at);
        if self.options.on_duplicate_key == OnDuplicateKey::Drop {
            return Ok(());
        }
        let suffix = next_suffixes.entry(key.into()).or_insert(2);
        let renamed = loop {
            let renamed = format!("{key}#{suffix}");
            *suffix += 1;
            if writer.row_of(&renamed)?.is_none() {
                break renamed;
            }
        };
        match message.key_value {
            Some(value) => {
                let start = usize::try_from(value.offset() - at).unwrap_or(usize::MAX);
                let mut copy = message.bytes.get(..start).unwrap_or_default().to_vec();
                put_str(&mut copy, &renamed).map_err(|len| Error::limit("key length", len, u32::MAX.into()))?;
                copy.extend_from_slice(message.bytes.get(start + value.as_bytes().len()..).unwrap_or_default());
                writer.append_raw(&renamed, &copy)
            }
            None => writer.append_raw(&renamed, message.bytes),
        }
    }

    fn file(&self) -> Option<std::borrow::Cow<'static, str>> {
        self.set.as_ref().map(|set| set.data().display().to_string().into())
    }

    /// Lost bytes and samples.
    fn losses(&self) -> Result<Vec<Loss>> {
        let mut losses = Vec::new();
        let bytes: u64 = self.scan.lost.iter().map(|range| range.end - range.start).sum();
        if let Some(first) = self.scan.lost.first() {
            let mut position = Position::at(first.start);
            position.file = self.file();
            let what = format!("{bytes} byte{} outside intact samples", if bytes == 1 { "" } else { "s" });
            losses.push(Loss::new(what, self.scan.lost.len() as u64, position));
        }
        // Samples that the index does not list yet make up for lost ones in number only.
        let fewer = self.samples_declared().map_or(0, |declared| declared.saturating_sub(self.len()));
        let rows = self.lost_rows(usize::MAX)?;
        let missing = fewer.max(rows.len() as u64);
        if missing > 0 {
            let row = rows.first().copied();
            let mut position = Position::default();
            position.file = self.file();
            position.row = row;
            position.key = row.and_then(|row| self.listed_key(row)).map(|key| key.to_owned().into());
            losses.push(Loss::new("indexed sample not recovered", missing, position));
        }
        Ok(losses)
    }
}

impl std::fmt::Debug for Recovery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recovery").field("data", &self.file()).field("len", &self.len()).finish_non_exhaustive()
    }
}

/// Whether two paths lead to the same file, which need not exist.
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

/// Adds an error in a file of the set to the findings.
fn collect_into<'f>(set: &FileSet, part: Part, findings: &'f mut Vec<Error>) -> impl FnOnce(Error) + use<'f> {
    let file = set.path(part).display().to_string();
    move |error: Error| findings.push(error.in_format(FORMAT_NAME).in_file(file))
}

/// Turns every error except [`Io`](ErrorKind::Io) into `None`.
fn ok_unless_io<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == ErrorKind::Io => Err(error),
        Err(_) => Ok(None),
    }
}
