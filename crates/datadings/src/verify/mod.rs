//! Checks a dataset: every sample, every file beside the data, and their consistency.
//!
//! Summing the data is one long sequential task. Everything else runs beside it: chunks of rows, the filter, the sums of the other
//! files. Findings are reported in an order that does not depend on scheduling.

mod chunk;
mod filter;
mod findings;
mod keys;
pub(crate) mod message;
mod sums;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use container_core::{Error, ErrorKind, Finding, Result, Unit, VerifyOptions};

use crate::index::{KeyHashes, KeyList, salt_of_attempt};
use crate::read::{Offsets, Reader};
use crate::wire::Part;
use chunk::Chunk;
use findings::{Batch, FindingKind, Findings};
use sums::ListedSum;

/// Salts that a writer may choose.
const SALT_ATTEMPTS: u32 = 1000;

/// Maximum number of chunks completed ahead of the one reported next.
const MAX_CHUNKS_AHEAD: u64 = 256;

/// What is checked, and what the files beside the data say.
struct Plan<'a> {
    reader: &'a Reader,
    /// The listed keys of all samples.
    keys: Option<&'a KeyList>,
    /// The hashes of `.key_hashes`, if there is one per sample.
    hashes: Option<KeyHashes>,
    /// Rows per chunk.
    rows: u64,
    listed: Vec<ListedSum>,
    options: &'a VerifyOptions,
    /// Set when results are no longer needed.
    stop: AtomicBool,
}

/// A unit of work.
enum Task {
    Sum(usize),
    Filter,
    Legacy,
    Chunk(u64),
}

/// The result of a task.
enum Outcome {
    Sum(usize, Result<[u8; 16]>),
    /// Of the filter or the legacy index.
    Other(FindingKind, Result<Batch>),
    Chunk(u64, Result<Chunk>),
}

impl Reader {
    /// Checks everything that can be checked: that every sample is exactly one message and a map with a unique key, its numpy values, the
    /// offsets, every key and hash and the filter against the samples, and every line of `.md5`. Of each kind of finding the first
    /// hundred are reported, and how many more there are.
    ///
    /// Takes as long as the MD5 sum of the data; everything else runs beside it. Memory: some 20 bytes per sample, and the filter.
    ///
    /// # Errors
    /// [`Io`](ErrorKind::Io) when a file cannot be read; every defect goes to `report`.
    pub fn verify(&self, options: &VerifyOptions, report: &mut dyn FnMut(Finding)) -> Result<()> {
        let mut findings = Findings::new(report);
        let plan = Plan::new(self, options, &mut findings)?;
        let mut tasks: Vec<Task> = (0..plan.listed.len()).map(Task::Sum).collect();
        tasks.push(Task::Filter);
        if !self.legacy {
            tasks.push(Task::Legacy);
        }
        let chunks = self.len.div_ceil(plan.rows);
        let threads = match options.threads {
            0 => thread::available_parallelism().map_or(1, Into::into),
            count => count,
        };
        let mut merger = Merger::new(&plan, findings);
        if threads == 1 {
            for task in (0..chunks).map(Task::Chunk).chain(tasks) {
                merger.add(plan.run(&task))?;
            }
            merger.compare_keys(1)?;
        } else {
            plan.run_parallel(&tasks, chunks, threads, &mut merger)?;
        }
        merger.finish()
    }
}

impl<'a> Plan<'a> {
    /// Opens all files and reports the missing ones.
    fn new(reader: &'a Reader, options: &'a VerifyOptions, findings: &mut Findings<'_>) -> Result<Self> {
        if reader.legacy {
            findings.push(FindingKind::MissingFile, || {
                let detail = "legacy index without hashes and filter (it can be converted)";
                reader.in_part(Part::LegacyIndex, Error::invalid(detail))
            });
        }
        for part in reader.missing_parts() {
            if part != Part::Md5 && reader.legacy {
                continue;
            }
            findings.push(FindingKind::MissingFile, || reader.in_part(part, Error::invalid("missing file")));
        }
        check_bounds(reader, findings)?;
        let keys = usable(reader.key_list(), findings)?.flatten();
        let hashes = usable(reader.listed_hashes(), findings)?.flatten();
        if let Some(hashes) = &hashes
            && !(0..SALT_ATTEMPTS).any(|attempt| salt_of_attempt(attempt) == hashes.salt_bytes())
        {
            findings.push(FindingKind::Salt, || {
                reader.in_part(Part::KeyHashes, Error::invalid("salt that no writer chooses").at(0))
            });
        }
        let listed = sums::listed(reader, findings)?;
        if let Some(progress) = &options.progress {
            progress.begin(Unit::Bytes, Some(reader.data.len()));
        }
        let rows = chunk::rows_per_chunk(reader);
        Ok(Self { reader, keys, hashes, rows, listed, options, stop: AtomicBool::new(false) })
    }

    fn run(&self, task: &Task) -> Outcome {
        match *task {
            Task::Sum(index) => {
                let part = self.listed.get(index).map_or(Part::Data, |listed| listed.part);
                Outcome::Sum(index, self.sum(part))
            }
            Task::Filter => Outcome::Other(FindingKind::MissingFromFilter, self.filter()),
            Task::Legacy => Outcome::Other(FindingKind::Legacy, self.legacy_index()),
            Task::Chunk(number) => Outcome::Chunk(number, self.chunk(number)),
        }
    }

    /// True if the data are summed; that takes longest, so progress counts it.
    fn sums_data(&self) -> bool {
        self.listed.iter().any(|listed| listed.part == Part::Data)
    }

    fn advance(&self, bytes: u64) -> Result<()> {
        self.options.progress.as_ref().map_or(Ok(()), |progress| progress.advance(bytes))
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Runs all tasks on `threads` threads and merges the results on this one.
    fn run_parallel(&self, tasks: &[Task], chunks: u64, threads: usize, merger: &mut Merger<'_, '_>) -> Result<()> {
        let (next, reported) = (AtomicUsize::new(0), AtomicU64::new(0));
        let work = |results: Sender<Outcome>| {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let chunk = index.checked_sub(tasks.len()).map(|chunk| chunk as u64);
                let outcome = match (tasks.get(index), chunk) {
                    (Some(task), _) => self.run(task),
                    (None, Some(chunk)) if chunk < chunks => {
                        while chunk >= reported.load(Ordering::Relaxed) + MAX_CHUNKS_AHEAD && !self.stopped() {
                            thread::sleep(Duration::from_millis(1));
                        }
                        self.run(&Task::Chunk(chunk))
                    }
                    _ => return,
                };
                if self.stopped() || results.send(outcome).is_err() {
                    return;
                }
            }
        };
        thread::scope(|scope| {
            let (sender, receiver): (Sender<Outcome>, Receiver<Outcome>) = channel();
            for _ in 0..threads {
                let sender = sender.clone();
                let work = &work;
                scope.spawn(move || work(sender));
            }
            drop(sender);
            let mut result = if chunks == 0 { merger.compare_keys(threads) } else { Ok(()) };
            while result.is_ok()
                && let Ok(outcome) = receiver.recv()
            {
                result = merger.add(outcome);
                reported.store(merger.next, Ordering::Relaxed);
                // All samples are done, perhaps before the sum of the data: compare keys meanwhile.
                if result.is_ok() && merger.next == chunks && !merger.compared {
                    result = merger.compare_keys(threads);
                }
            }
            self.stop.store(result.is_err(), Ordering::Relaxed);
            result
        })
    }
}

/// Merges results in a fixed order.
struct Merger<'p, 'f> {
    plan: &'p Plan<'p>,
    findings: Findings<'f>,
    /// The chunk reported next, and those completed early.
    next: u64,
    early: Vec<(u64, Chunk)>,
    /// Reported after all samples: filter and legacy index.
    other: Vec<(FindingKind, Batch)>,
    sums: Vec<(usize, [u8; 16])>,
    /// The hash of every key.
    hashes: Vec<u8>,
    compared: bool,
}

impl<'p, 'f> Merger<'p, 'f> {
    fn new(plan: &'p Plan<'p>, findings: Findings<'f>) -> Self {
        let len = usize::try_from(plan.reader.len).unwrap_or(0).saturating_mul(8);
        let (early, other, sums) = (Vec::new(), Vec::new(), Vec::new());
        Self { plan, findings, next: 0, early, other, sums, hashes: Vec::with_capacity(len), compared: false }
    }

    fn add(&mut self, outcome: Outcome) -> Result<()> {
        match outcome {
            Outcome::Sum(index, sum) => self.sums.push((index, sum?)),
            Outcome::Other(kind, batch) => self.other.push((kind, batch?)),
            Outcome::Chunk(number, chunk) => {
                self.early.push((number, chunk?));
                while let Some(index) = self.early.iter().position(|(number, _)| *number == self.next) {
                    let (_, chunk) = self.early.swap_remove(index);
                    self.next += 1;
                    self.findings.add(chunk.findings);
                    self.hashes.extend_from_slice(&chunk.hashes);
                }
            }
        }
        Ok(())
    }

    /// Finds duplicate keys and hashes.
    fn compare_keys(&mut self, threads: usize) -> Result<()> {
        self.compared = true;
        let batch = self.plan.duplicate_keys(&self.hashes, threads)?;
        self.hashes = Vec::new();
        self.findings.add(batch);
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        for next in [FindingKind::MissingFromFilter, FindingKind::Legacy] {
            while let Some(index) = self.other.iter().position(|(kind, _)| *kind == next) {
                let (_, batch) = self.other.swap_remove(index);
                self.findings.add(batch);
            }
        }
        self.sums.sort_by_key(|(index, _)| *index);
        for (index, sum) in self.sums {
            if let Some(listed) = self.plan.listed.get(index) {
                listed.compare(self.plan.reader, &sum, &mut self.findings);
            }
        }
        self.findings.finish();
        Ok(())
    }
}

/// A part, or `None` after reporting why it is unusable.
fn usable<T>(part: Result<T>, findings: &mut Findings<'_>) -> Result<Option<T>> {
    match part {
        Ok(part) => Ok(Some(part)),
        Err(error) if error.kind() == ErrorKind::Io => Err(error),
        Err(error) => {
            findings.push(FindingKind::UnusableFile, || error);
            Ok(None)
        }
    }
}

/// Checks where the first sample begins and the last one ends.
fn check_bounds(reader: &Reader, findings: &mut Findings<'_>) -> Result<()> {
    let index = if reader.legacy { Part::LegacyIndex } else { Part::Offsets };
    if let Some(first) = reader.offsets.first()?.filter(|&first| first != 0) {
        let detail = format!("first sample begins at byte {first}: unexpected leading bytes");
        findings.push(FindingKind::Bounds, || reader.in_part(index, Error::invalid(detail).at(0)));
    }
    if matches!(reader.offsets, Offsets::File { open_end: true, .. }) {
        let detail =
            format!("expected {} offsets, found {}: the end of the last sample is missing", reader.len + 1, reader.len);
        findings.push(FindingKind::TrailingBytes, || reader.in_part(index, Error::invalid(detail).at(8 * reader.len)));
    }
    if reader.trailing_bytes() > 0 {
        let detail = format!(
            "{} trailing bytes after the last sample: an append was interrupted, or the index is outdated",
            reader.trailing_bytes()
        );
        findings.push(FindingKind::TrailingBytes, || reader.in_data(Error::invalid(detail).at(reader.data_end)));
    }
    Ok(())
}
