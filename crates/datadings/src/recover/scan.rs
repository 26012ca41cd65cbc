//! Scans damaged data for intact samples.
//!
//! Discovering that a message is incomplete may take a scan to the end of the data, and the next byte may begin another. So the work on
//! messages that are rejected comes out of one budget proportional to the data; once it is used up, only short messages are found.
//! The work on accepted messages is bounded by their lengths.

use std::collections::HashSet;
use std::ops::Range;

use container_core::{Limits, Progress, Result, Source};

use super::anchors::Anchors;
use super::ok_unless_io;
use super::window::Window;
use crate::verify::message::{Budget, Flaw};

/// Work units for rejected messages: per byte of the data, and in addition.
const WORK_PER_BYTE: u64 = 16;
const BASE_WORK: u64 = 1 << 20;

/// Work units granted to each message after the budget is used up.
const MIN_WORK: u64 = 128;

/// Bytes searched at once.
const CHUNK: u64 = 1 << 20;

/// Samples inspected to determine whether they store their keys.
const KEY_PROBES: usize = 32;

/// Maximum number of distinct field sets remembered.
const MAX_FIELD_SETS: usize = 1024;

/// Consecutive intact samples.
pub(super) struct Run {
    pub(super) bytes: Range<u64>,
    pub(super) samples: u64,
}

/// The result of a scan.
#[derive(Default)]
pub(super) struct Scan {
    pub(super) runs: Vec<Run>,
    pub(super) lost: Vec<Range<u64>>,
}

/// A complete message.
#[derive(Clone, Copy)]
struct Candidate {
    end: u64,
    has_key: bool,
    names: u64,
    /// Work units spent on it.
    cost: u64,
}

pub(super) struct Scanner<'a> {
    window: Window<'a>,
    anchors: &'a Anchors,
    /// Indexed samples need no key of their own, because a file lists the keys.
    keys_listed: bool,
    depth: u32,
    work_left: u64,
    /// Hashes of the field names of accepted samples.
    field_sets: HashSet<u64>,
    /// The next sample that is intact exactly where the index says, and the first row not searched for it yet.
    next_confirmed: Option<Range<u64>>,
    next_row: u64,
    scan: Scan,
    /// The sample accepted last, if the index does not confirm it.
    doubtful: Option<Doubtful>,
}

struct Doubtful {
    bytes: Range<u64>,
    cost: u64,
    /// No earlier sample had these fields.
    new_fields: bool,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(data: &'a Source, anchors: &'a Anchors, keys_listed: bool, limits: Limits) -> Self {
        Self {
            work_left: data.len().saturating_mul(WORK_PER_BYTE).saturating_add(BASE_WORK),
            window: Window::new(data, limits),
            anchors,
            keys_listed,
            depth: limits.depth,
            field_sets: HashSet::new(),
            next_confirmed: None,
            next_row: 0,
            scan: Scan::default(),
            doubtful: None,
        }
    }

    /// Scans all data.
    pub(super) fn run(mut self, progress: Option<&dyn Progress>) -> Result<Scan> {
        let len = self.window.len();
        self.keys_listed = self.keys_listed && !self.samples_store_keys()?;
        let (mut at, mut reported) = (0, 0);
        while at < len {
            at = match self.sample(at)? {
                Some(candidate) => {
                    self.accept(at, candidate);
                    candidate.end
                }
                None => self.skip_damage(at)?,
            };
            if let Some(progress) = progress
                && (at - reported >= CHUNK || at >= len)
            {
                progress.advance(at - reported)?;
                reported = at;
            }
        }
        Ok(self.scan)
    }

    /// Whether most samples store their keys, judging by some of them.
    fn samples_store_keys(&mut self) -> Result<bool> {
        let samples = self.anchors.samples().unwrap_or(0);
        let step = (usize::try_from(samples).unwrap_or(usize::MAX) / KEY_PROBES).max(1);
        let (mut with, mut without) = (0, 0);
        for row in (0..samples).step_by(step).take(2 * KEY_PROBES) {
            let Some(extent) = self.anchors.extent(row).filter(|extent| extent.end <= self.window.len()) else {
                continue;
            };
            match self.candidate(extent.start)? {
                Some(candidate) if candidate.has_key => with += 1,
                Some(candidate) if candidate.end == extent.end => without += 1,
                _ => {}
            }
        }
        Ok(with >= without)
    }

    /// Whether an intact sample begins anywhere after `at`.
    pub(super) fn any_sample_after(mut self, at: u64) -> Result<bool> {
        let end = self.window.len();
        Ok(self.search(at + 1..end, end, false)?.is_some())
    }

    /// The message at `at`, if it is complete and a map without serious flaws.
    fn candidate(&mut self, at: u64) -> Result<Option<Candidate>> {
        let work = self.work_left.max(MIN_WORK);
        let mut budget = Budget { depth: self.depth, work, hash_names: true };
        let mut valid = true;
        let mut report = |flaw, _| valid &= !matches!(flaw, Flaw::DuplicateField | Flaw::CompositeName);
        let candidate = ok_unless_io(self.window.message(at, &mut budget, &mut report))?.map(|message| Candidate {
            end: at + message.bytes.len() as u64,
            has_key: message.key.is_some(),
            names: message.names,
            cost: 0,
        });
        let cost = work - budget.work;
        self.work_left = self.work_left.saturating_sub(cost);
        Ok(candidate.filter(|candidate| valid && candidate.end > at).map(|candidate| Candidate { cost, ..candidate }))
    }

    /// The sample at `at`, where one is expected to begin.
    fn sample(&mut self, at: u64) -> Result<Option<Candidate>> {
        let Some(candidate) = self.candidate(at)? else { return Ok(None) };
        let indexed = self.indexed(at);
        let as_indexed = indexed.as_ref().is_some_and(|extent| extent.end == candidate.end);
        if !(candidate.has_key || self.keys_listed && as_indexed) {
            return Ok(None);
        }
        // It does not end where the index says, but the next sample begins there: it has swallowed part of that, or has lost its end. Unless the
        // index lacks the samples in between.
        if let Some(extent) = indexed
            && !as_indexed
            && self.next_confirmed(at)?.is_some_and(|confirmed| confirmed.start == extent.end)
            && !self.are_samples(candidate.end..extent.end)?
        {
            return Ok(None);
        }
        // Its fields are new, and it contains a sample with known fields: it has swallowed that.
        if !as_indexed && !self.field_sets.is_empty() && !self.field_sets.contains(&candidate.names) {
            let end = self.window.len();
            if self.search(at + 1..candidate.end, end, true)?.is_some() {
                return Ok(None);
            }
        }
        Ok(Some(candidate))
    }

    /// Whether samples fill this range exactly. Not searched once the budget is used up: damaged indexes have ranges that overlap.
    fn are_samples(&mut self, range: Range<u64>) -> Result<bool> {
        let mut at = range.start;
        while at < range.end {
            if self.work_left == 0 {
                return Ok(false);
            }
            match self.candidate(at)? {
                Some(candidate) if candidate.has_key => at = candidate.end,
                _ => return Ok(false),
            }
        }
        Ok(at == range.end)
    }

    fn accept(&mut self, at: u64, candidate: Candidate) {
        // Work on accepted messages does not count.
        self.work_left = self.work_left.saturating_add(candidate.cost);
        match self.scan.runs.last_mut() {
            Some(run) if run.bytes.end == at => {
                run.bytes.end = candidate.end;
                run.samples += 1;
            }
            _ => self.scan.runs.push(Run { bytes: at..candidate.end, samples: 1 }),
        }
        let first = self.scan.runs.len() == 1 && self.scan.runs.first().is_some_and(|run| run.samples == 1);
        let new_fields = !first && !self.field_sets.contains(&candidate.names);
        if self.field_sets.len() < MAX_FIELD_SETS {
            self.field_sets.insert(candidate.names);
        }
        let indexed = self.indexed(at).is_some_and(|extent| extent.end == candidate.end);
        self.doubtful = (!indexed).then_some(Doubtful { bytes: at..candidate.end, cost: candidate.cost, new_fields });
    }

    /// The byte range that the index gives for the sample that begins at `at`.
    fn indexed(&self, at: u64) -> Option<Range<u64>> {
        self.anchors.row_at(at).and_then(|row| self.anchors.extent(row))
    }

    /// Finds the next sample when none is intact at `at`.
    fn skip_damage(&mut self, at: u64) -> Result<u64> {
        let end = self.next_confirmed(at)?.map_or(self.window.len(), |confirmed| confirmed.start);
        let mut start = at;
        let mut next = None;
        if let Some(doubtful) = self.doubtful.take().filter(|doubtful| doubtful.bytes.end == at) {
            // Its lengths may be damaged: then it has swallowed the start of the next sample, or more.
            next = self.search(doubtful.bytes.start + 1..at, end, true)?;
            if next.is_some() || doubtful.new_fields {
                start = doubtful.bytes.start;
                self.reject(&doubtful);
            }
        }
        let next = match next {
            Some(next) => next,
            // It is the only sample between two that the index confirms.
            None if start == at && self.indexed(at).is_some_and(|extent| extent.end == end) => end,
            None => self.search(start + 1..end, end, false)?.unwrap_or(end),
        };
        match self.scan.lost.last_mut() {
            Some(lost) if lost.end == start => lost.end = next,
            _ => self.scan.lost.push(start..next),
        }
        Ok(next)
    }

    /// Withdraws the sample accepted last.
    fn reject(&mut self, doubtful: &Doubtful) {
        self.work_left = self.work_left.saturating_sub(doubtful.cost);
        let Some(run) = self.scan.runs.last_mut() else { return };
        run.bytes.end = doubtful.bytes.start;
        run.samples -= 1;
        if run.samples == 0 {
            self.scan.runs.pop();
        }
    }

    /// The next sample after `at` that is intact exactly where the index says.
    fn next_confirmed(&mut self, at: u64) -> Result<Option<Range<u64>>> {
        if let Some(confirmed) = self.next_confirmed.clone().filter(|confirmed| confirmed.start > at) {
            return Ok(Some(confirmed));
        }
        let samples = self.anchors.samples().unwrap_or(0);
        let mut row = self.next_row.max(self.anchors.first_from(at.saturating_add(1)));
        self.next_confirmed = None;
        while row < samples {
            let extent = self.anchors.extent(row);
            row += 1;
            if let Some(extent) = extent.filter(|extent| extent.start > at && extent.end <= self.window.len())
                && let Some(candidate) = self.candidate(extent.start)?
                && candidate.end == extent.end
                && (candidate.has_key || self.keys_listed)
            {
                self.next_confirmed = Some(extent);
                break;
            }
        }
        self.next_row = row;
        Ok(self.next_confirmed.clone())
    }

    /// The first offset in `range` where a sample begins that ends at or before `end` and is confirmed: its fields are known or another
    /// sample follows it; with `strict`, both.
    fn search(&mut self, range: Range<u64>, end: u64, strict: bool) -> Result<Option<u64>> {
        let mut at = range.start;
        while at < range.end {
            let bytes = self.window.bytes_from(at, 2.min(range.end - at))?;
            let max_len = usize::try_from(CHUNK.min(range.end - at)).unwrap_or(usize::MAX);
            let bytes = bytes.get(..max_len).unwrap_or(bytes);
            let last = at + bytes.len() as u64;
            let Some(skip) = bytes.windows(2).position(may_begin_sample) else {
                // The last byte may be the first of a pair.
                at = if last >= range.end || bytes.len() < 2 { range.end } else { last - 1 };
                continue;
            };
            at += skip as u64;
            if let Some(candidate) = self.candidate(at)?.filter(|candidate| candidate.has_key && candidate.end <= end) {
                let known = self.field_sets.contains(&candidate.names);
                let followed = candidate.end == end
                    || (strict || !known)
                        && self.candidate(candidate.end)?.is_some_and(|next| next.has_key && next.end <= end);
                if known && followed || !strict && (known || followed) {
                    return Ok(Some(at));
                }
            }
            at += 1;
        }
        Ok(None)
    }
}

/// Whether two bytes may begin a sample: a map whose first key is a str, or a map whose length follows.
fn may_begin_sample(pair: &[u8]) -> bool {
    matches!(pair, [0x81..=0x8f, 0xa0..=0xbf | 0xd9..=0xdb] | [0xde | 0xdf, _])
}
