//! Checks a dataset: every sample, every file beside the data, and all of them against each other.
//!
//! The sum of the data is one long task. All others are done beside it: the samples in pieces, the filter, the sums of the other
//! files. Findings are told in an order that does not depend on who came first.

mod filter;
mod findings;
mod keys;
pub(crate) mod message;
mod pieces;
mod sums;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use container_core::{Error, ErrorKind, Finding, Result, Unit, VerifyOptions};

use crate::index::{KeyHashes, KeyList, salt_of_attempt};
use crate::read::{Offsets, Reader};
use crate::wire::Part;
use findings::{Batch, Findings, What};
use pieces::Piece;
use sums::Listed;

/// Salts that a writer may take.
const ATTEMPTS: u32 = 1000;

/// Pieces that may be done before the one that is told next.
const AHEAD: u64 = 256;

/// What is checked, and what is known of it at the beginning.
struct Plan<'a> {
    reader: &'a Reader,
    /// The keys of all samples, where a file lists them.
    keys: Option<&'a KeyList>,
    /// The hashes that `.key_hashes` has, if they are as many as the samples.
    hashes: Option<KeyHashes>,
    /// Samples in a piece.
    rows: u64,
    listed: Vec<Listed>,
    options: &'a VerifyOptions,
    /// Nobody waits for results any more.
    stop: AtomicBool,
}

/// Something to do.
enum Task {
    Sum(usize),
    Filter,
    Legacy,
    Piece(u64),
}

/// Something that was done.
enum Done {
    Sum(usize, Result<[u8; 16]>),
    /// Of the filter, or the older index.
    Other(What, Result<Batch>),
    Piece(u64, Result<Piece>),
}

impl Reader {
    /// Checks everything that can be: that every sample is one whole message and a map with a key of its own, the values of numpy
    /// in it, the offsets, every key and hash and the filter against the samples, every line of `.md5`. All findings are told, of
    /// each kind the first hundred and how many more there are.
    ///
    /// The sum of the data is what takes longest; everything else is done beside it. Memory: some 20 bytes a sample, and the filter.
    ///
    /// # Errors
    /// [`Io`](ErrorKind::Io) when a file cannot be read; everything that is wrong with them goes to `report`.
    pub fn verify(&self, options: &VerifyOptions, report: &mut dyn FnMut(Finding)) -> Result<()> {
        let mut findings = Findings::new(report);
        let plan = Plan::new(self, options, &mut findings)?;
        let mut tasks: Vec<Task> = (0..plan.listed.len()).map(Task::Sum).collect();
        tasks.push(Task::Filter);
        if !self.legacy {
            tasks.push(Task::Legacy);
        }
        let pieces = self.len.div_ceil(plan.rows);
        let threads = match options.threads {
            0 => thread::available_parallelism().map_or(1, Into::into),
            some => some,
        };
        let mut merger = Merger::new(&plan, findings);
        if threads == 1 {
            for task in (0..pieces).map(Task::Piece).chain(tasks) {
                merger.take(plan.run(&task))?;
            }
            merger.keys(1)?;
        } else {
            plan.beside(&tasks, pieces, threads, &mut merger)?;
        }
        merger.finish()
    }
}

impl<'a> Plan<'a> {
    /// Opens what there is; tells what there is not.
    fn new(reader: &'a Reader, options: &'a VerifyOptions, findings: &mut Findings<'_>) -> Result<Self> {
        if reader.legacy {
            findings.push(What::Missing, || {
                let detail = "the index is of the older form, without hashes and filter: it can be converted";
                reader.in_part(Part::LegacyIndex, Error::invalid(detail))
            });
        }
        for part in reader.missing_parts() {
            if part != Part::Md5 && reader.legacy {
                continue;
            }
            findings.push(What::Missing, || reader.in_part(part, Error::invalid("there is no such file")));
        }
        bounds(reader, findings)?;
        let keys = usable(reader.key_list(), findings)?.flatten();
        let hashes = usable(reader.listed_hashes(), findings)?.flatten();
        if let Some(hashes) = &hashes
            && !(0..ATTEMPTS).any(|attempt| salt_of_attempt(attempt) == hashes.salt_bytes())
        {
            findings.push(What::Salt, || {
                reader.in_part(Part::KeyHashes, Error::invalid("the salt is none that a writer takes").at(0))
            });
        }
        let listed = sums::listed(reader, findings)?;
        if let Some(progress) = &options.progress {
            progress.begin(Unit::Bytes, Some(reader.data.len()));
        }
        let rows = pieces::rows(reader);
        Ok(Self { reader, keys, hashes, rows, listed, options, stop: AtomicBool::new(false) })
    }

    fn run(&self, task: &Task) -> Done {
        match *task {
            Task::Sum(index) => {
                let part = self.listed.get(index).map_or(Part::Data, |listed| listed.part);
                Done::Sum(index, self.sum(part))
            }
            Task::Filter => Done::Other(What::FilterKey, self.filter()),
            Task::Legacy => Done::Other(What::Legacy, self.older_index()),
            Task::Piece(number) => Done::Piece(number, self.piece(number)),
        }
    }

    /// True when the sum of the data is computed: then it is what takes time, and what progress is about.
    fn sums_data(&self) -> bool {
        self.listed.iter().any(|listed| listed.part == Part::Data)
    }

    fn advance(&self, bytes: u64) {
        if let Some(progress) = &self.options.progress {
            progress.advance(bytes);
        }
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Does everything with several threads, while this one puts it in order.
    fn beside(&self, tasks: &[Task], pieces: u64, threads: usize, merger: &mut Merger<'_, '_>) -> Result<()> {
        let (next, told) = (AtomicUsize::new(0), AtomicU64::new(0));
        let work = |done: Sender<Done>| {
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let piece = place.checked_sub(tasks.len()).map(|piece| piece as u64);
                let made = match (tasks.get(place), piece) {
                    (Some(task), _) => self.run(task),
                    (None, Some(piece)) if piece < pieces => {
                        while piece >= told.load(Ordering::Relaxed) + AHEAD && !self.stopped() {
                            thread::sleep(Duration::from_millis(1));
                        }
                        self.run(&Task::Piece(piece))
                    }
                    _ => return,
                };
                if self.stopped() || done.send(made).is_err() {
                    return;
                }
            }
        };
        thread::scope(|scope| {
            let (sender, receiver): (Sender<Done>, Receiver<Done>) = channel();
            for _ in 0..threads {
                let sender = sender.clone();
                let work = &work;
                scope.spawn(move || work(sender));
            }
            drop(sender);
            let mut outcome = if pieces == 0 { merger.keys(threads) } else { Ok(()) };
            while outcome.is_ok()
                && let Ok(done) = receiver.recv()
            {
                outcome = merger.take(done);
                told.store(merger.next, Ordering::Relaxed);
                // The samples are through, and maybe the sum of the data is not: time to compare keys.
                if outcome.is_ok() && merger.next == pieces && !merger.compared {
                    outcome = merger.keys(threads);
                }
            }
            self.stop.store(outcome.is_err(), Ordering::Relaxed);
            outcome
        })
    }
}

/// Puts results in order.
struct Merger<'p, 'f> {
    plan: &'p Plan<'p>,
    findings: Findings<'f>,
    /// The piece that is told next, and those that came early.
    next: u64,
    early: Vec<(u64, Piece)>,
    /// What is told when the samples are through: filter, older index, sums.
    other: Vec<(What, Batch)>,
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

    fn take(&mut self, done: Done) -> Result<()> {
        match done {
            Done::Sum(index, sum) => self.sums.push((index, sum?)),
            Done::Other(what, batch) => self.other.push((what, batch?)),
            Done::Piece(number, piece) => {
                self.early.push((number, piece?));
                while let Some(place) = self.early.iter().position(|(number, _)| *number == self.next) {
                    let (_, piece) = self.early.swap_remove(place);
                    self.next += 1;
                    self.findings.take(piece.findings);
                    self.hashes.extend_from_slice(&piece.hashes);
                }
            }
        }
        Ok(())
    }

    /// Looks for keys and hashes that are there twice.
    fn keys(&mut self, threads: usize) -> Result<()> {
        self.compared = true;
        let batch = self.plan.same_keys(&self.hashes, threads)?;
        self.hashes = Vec::new();
        self.findings.take(batch);
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        for wanted in [What::FilterKey, What::Legacy] {
            while let Some(place) = self.other.iter().position(|(what, _)| *what == wanted) {
                let (_, batch) = self.other.swap_remove(place);
                self.findings.take(batch);
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

/// What there is, or nothing and why.
fn usable<T>(part: Result<T>, findings: &mut Findings<'_>) -> Result<Option<T>> {
    match part {
        Ok(part) => Ok(Some(part)),
        Err(error) if error.kind() == ErrorKind::Io => Err(error),
        Err(error) => {
            findings.push(What::Part, || error);
            Ok(None)
        }
    }
}

/// Where the samples begin and end as a whole.
fn bounds(reader: &Reader, findings: &mut Findings<'_>) -> Result<()> {
    let index = if reader.legacy { Part::LegacyIndex } else { Part::Offsets };
    if let Some(first) = reader.offsets.first()?.filter(|&first| first != 0) {
        let detail = format!("the first sample begins at {first}: what stands before belongs to none");
        findings.push(What::Bounds, || reader.in_part(index, Error::invalid(detail).at(0)));
    }
    if matches!(reader.offsets, Offsets::File { open_end: true, .. }) {
        let detail = format!("there are {0} offsets for {0} samples: the end of the last one is missing", reader.len);
        findings.push(What::Trailing, || reader.in_part(index, Error::invalid(detail).at(8 * reader.len)));
    }
    if reader.trailing_bytes() > 0 {
        let detail = format!(
            "{} bytes stand behind the last sample: an append did not come to its end, or the index is an old one",
            reader.trailing_bytes()
        );
        findings.push(What::Trailing, || reader.in_data(Error::invalid(detail).at(reader.data_end)));
    }
    Ok(())
}
