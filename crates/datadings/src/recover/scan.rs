//! The walk over damaged data.
//!
//! A message that is not whole may have cost a walk to the end of the data before that is known, and the next byte may begin
//! another. So all that is spent on messages which are not taken in the end comes out of one budget, in proportion to the data;
//! once that is gone a message has to be short to be found. What is spent on those that are taken is bounded by their lengths.

use std::collections::HashSet;
use std::ops::Range;

use container_core::{Limits, Progress, Result, Source};

use super::anchors::Anchors;
use super::unless_io;
use super::window::Window;
use crate::verify::message::{Allowance, Flaw};

/// What may be spent in vain for each byte of the data, and besides.
const PER_BYTE: u64 = 16;
const BESIDES: u64 = 1 << 20;

/// What may be spent on a message when the budget is gone.
const LEAST: u64 = 128;

/// Bytes that are looked through at once.
const CHUNK: u64 = 1 << 20;

/// Samples that are looked at to know whether they state their keys.
const LOOKED_AT: usize = 32;

/// Sets of fields that are remembered.
const FIELDS: usize = 1024;

/// Whole samples one behind the other.
pub(super) struct Run {
    pub(super) bytes: Range<u64>,
    pub(super) samples: u64,
}

/// What was found.
#[derive(Default)]
pub(super) struct Scan {
    pub(super) runs: Vec<Run>,
    pub(super) lost: Vec<Range<u64>>,
}

/// A message that is whole, as far as it matters here.
#[derive(Clone, Copy)]
struct Whole {
    end: u64,
    has_key: bool,
    names: u64,
    /// What it cost to see that.
    cost: u64,
}

pub(super) struct Scanner<'a> {
    window: Window<'a>,
    anchors: &'a Anchors,
    /// Samples need no key of their own where the index has them: a file lists it.
    listed: bool,
    depth: u32,
    budget: u64,
    /// Names of fields of the samples so far.
    fields: HashSet<u64>,
    /// The next sample that begins where the index says and is whole, and up to where that was looked for.
    sound: Option<Range<u64>>,
    looked: u64,
    scan: Scan,
    /// The sample that was taken last, if the index does not speak for it.
    doubtful: Option<Doubtful>,
}

struct Doubtful {
    bytes: Range<u64>,
    cost: u64,
    /// No sample before had these fields.
    strange: bool,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(data: &'a Source, anchors: &'a Anchors, listed: bool, limits: Limits) -> Self {
        Self {
            budget: data.len().saturating_mul(PER_BYTE).saturating_add(BESIDES),
            window: Window::new(data, limits),
            anchors,
            listed,
            depth: limits.depth,
            fields: HashSet::new(),
            sound: None,
            looked: 0,
            scan: Scan::default(),
            doubtful: None,
        }
    }

    /// Goes over all data.
    pub(super) fn run(mut self, progress: Option<&dyn Progress>) -> Result<Scan> {
        let len = self.window.len();
        self.listed = self.listed && !self.states_keys()?;
        let (mut at, mut told) = (0, 0);
        while at < len {
            at = match self.sample(at)? {
                Some(whole) => {
                    self.take(at, whole);
                    whole.end
                }
                None => self.lose(at)?,
            };
            if let Some(progress) = progress
                && (at - told >= CHUNK || at >= len)
            {
                progress.advance(at - told);
                told = at;
            }
        }
        Ok(self.scan)
    }

    /// Whether samples state their keys, by some of them.
    fn states_keys(&mut self) -> Result<bool> {
        let samples = self.anchors.samples().unwrap_or(0);
        let step = (usize::try_from(samples).unwrap_or(usize::MAX) / LOOKED_AT).max(1);
        let (mut with, mut without) = (0, 0);
        for row in (0..samples).step_by(step).take(2 * LOOKED_AT) {
            let Some(extent) = self.anchors.extent(row).filter(|extent| extent.end <= self.window.len()) else {
                continue;
            };
            match self.whole(extent.start)? {
                Some(whole) if whole.has_key => with += 1,
                Some(whole) if whole.end == extent.end => without += 1,
                _ => {}
            }
        }
        Ok(with >= without)
    }

    /// Whether a whole sample stands behind a place.
    pub(super) fn any_behind(mut self, at: u64) -> Result<bool> {
        let end = self.window.len();
        Ok(self.search(at + 1..end, end, false)?.is_some())
    }

    /// The message at a place, if it is whole, and a map without flaws that matter.
    fn whole(&mut self, at: u64) -> Result<Option<Whole>> {
        let fuel = self.budget.max(LEAST);
        let mut allowance = Allowance { depth: self.depth, fuel, names: true };
        let mut sound = true;
        let mut flaw = |flaw, _| sound &= !matches!(flaw, Flaw::NameTwice | Flaw::OddName);
        let whole = unless_io(self.window.message(at, &mut allowance, &mut flaw))?.map(|message| Whole {
            end: at + message.bytes.len() as u64,
            has_key: message.key.is_some(),
            names: message.names,
            cost: 0,
        });
        let cost = fuel - allowance.fuel;
        self.budget = self.budget.saturating_sub(cost);
        Ok(whole.filter(|whole| sound && whole.end > at).map(|whole| Whole { cost, ..whole }))
    }

    /// The sample at a place where one should begin.
    fn sample(&mut self, at: u64) -> Result<Option<Whole>> {
        let Some(whole) = self.whole(at)? else { return Ok(None) };
        let indexed = self.indexed(at);
        let as_indexed = indexed.as_ref().is_some_and(|extent| extent.end == whole.end);
        if !(whole.has_key || self.listed && as_indexed) {
            return Ok(None);
        }
        // It ends elsewhere than the index says, and the index is right about the next one: it has swallowed some of that.
        if let Some(extent) = indexed
            && !as_indexed
            && self.next_sound(at)?.is_some_and(|sound| sound.start == extent.end)
        {
            return Ok(None);
        }
        // It has fields that none before has, and one that others have stands in it: it has swallowed that.
        if !as_indexed && !self.fields.is_empty() && !self.fields.contains(&whole.names) {
            let end = self.window.len();
            if self.search(at + 1..whole.end, end, true)?.is_some() {
                return Ok(None);
            }
        }
        Ok(Some(whole))
    }

    fn take(&mut self, at: u64, whole: Whole) {
        // That was not in vain.
        self.budget = self.budget.saturating_add(whole.cost);
        match self.scan.runs.last_mut() {
            Some(run) if run.bytes.end == at => {
                run.bytes.end = whole.end;
                run.samples += 1;
            }
            _ => self.scan.runs.push(Run { bytes: at..whole.end, samples: 1 }),
        }
        let first = self.scan.runs.len() == 1 && self.scan.runs.first().is_some_and(|run| run.samples == 1);
        let strange = !first && !self.fields.contains(&whole.names);
        if self.fields.len() < FIELDS {
            self.fields.insert(whole.names);
        }
        let indexed = self.indexed(at).is_some_and(|extent| extent.end == whole.end);
        self.doubtful = (!indexed).then_some(Doubtful { bytes: at..whole.end, cost: whole.cost, strange });
    }

    /// What the index says of the sample that begins at a place.
    fn indexed(&self, at: u64) -> Option<Range<u64>> {
        self.anchors.row_at(at).and_then(|row| self.anchors.extent(row))
    }

    /// No sample is whole at this place: finds the next one.
    fn lose(&mut self, at: u64) -> Result<u64> {
        let end = self.next_sound(at)?.map_or(self.window.len(), |sound| sound.start);
        let mut start = at;
        let mut next = None;
        if let Some(doubtful) = self.doubtful.take().filter(|doubtful| doubtful.bytes.end == at) {
            // Its lengths may be what is damaged: then it has swallowed the beginning of the next one, or others besides.
            next = self.search(doubtful.bytes.start + 1..at, end, true)?;
            if next.is_some() || doubtful.strange {
                start = doubtful.bytes.start;
                self.give_back(&doubtful);
            }
        }
        let next = match next {
            Some(next) => next,
            // It is the one sample between two that the index knows.
            None if start == at && self.indexed(at).is_some_and(|extent| extent.end == end) => end,
            None => self.search(start + 1..end, end, false)?.unwrap_or(end),
        };
        match self.scan.lost.last_mut() {
            Some(lost) if lost.end == start => lost.end = next,
            _ => self.scan.lost.push(start..next),
        }
        Ok(next)
    }

    /// The sample that was taken last is none.
    fn give_back(&mut self, doubtful: &Doubtful) {
        self.budget = self.budget.saturating_sub(doubtful.cost);
        let Some(run) = self.scan.runs.last_mut() else { return };
        run.bytes.end = doubtful.bytes.start;
        run.samples -= 1;
        if run.samples == 0 {
            self.scan.runs.pop();
        }
    }

    /// The next sample behind a place that begins and ends where the index says and is whole.
    fn next_sound(&mut self, at: u64) -> Result<Option<Range<u64>>> {
        if let Some(sound) = self.sound.clone().filter(|sound| sound.start > at) {
            return Ok(Some(sound));
        }
        let samples = self.anchors.samples().unwrap_or(0);
        let mut row = self.looked.max(self.anchors.from(at.saturating_add(1)));
        self.sound = None;
        while row < samples {
            let extent = self.anchors.extent(row);
            row += 1;
            if let Some(extent) = extent.filter(|extent| extent.start > at && extent.end <= self.window.len())
                && let Some(whole) = self.whole(extent.start)?
                && whole.end == extent.end
                && (whole.has_key || self.listed)
            {
                self.sound = Some(extent);
                break;
            }
        }
        self.looked = row;
        Ok(self.sound.clone())
    }

    /// The first place in a range where a sample begins that something else speaks for, and that ends at `end` at the latest. With
    /// `surely` its fields must be those of another, and one must follow it.
    fn search(&mut self, places: Range<u64>, end: u64, surely: bool) -> Result<Option<u64>> {
        let mut at = places.start;
        while at < places.end {
            let bytes = self.window.from(at, 2.min(places.end - at))?;
            let most = usize::try_from(CHUNK.min(places.end - at)).unwrap_or(usize::MAX);
            let bytes = bytes.get(..most).unwrap_or(bytes);
            let last = at + bytes.len() as u64;
            let Some(skip) = bytes.windows(2).position(begins) else {
                // The last byte may be the first of a pair.
                at = if last >= places.end || bytes.len() < 2 { places.end } else { last - 1 };
                continue;
            };
            at += skip as u64;
            if let Some(whole) = self.whole(at)?.filter(|whole| whole.has_key && whole.end <= end) {
                let known = self.fields.contains(&whole.names);
                let followed = whole.end == end
                    || (surely || !known) && self.whole(whole.end)?.is_some_and(|next| next.has_key && next.end <= end);
                if known && followed || !surely && (known || followed) {
                    return Ok(Some(at));
                }
            }
            at += 1;
        }
        Ok(None)
    }
}

/// Whether two bytes may be the first of a sample: a map, whose first name is a text or whose length follows.
fn begins(pair: &[u8]) -> bool {
    matches!(pair, [0x81..=0x8f, 0xa0..=0xbf | 0xd9..=0xdb] | [0xde | 0xdf, _])
}
