//! Documents that a filter matches, found by several threads.

use std::collections::VecDeque;
use std::ops::Range;
use std::thread;

use container_core::{Error, Result};

use crate::read::{Document, Documents, Filter};

/// Rows that are filtered together: few at first, as the first match may be all that is wanted.
const FIRST_BLOCK: u64 = 64;
const MAX_BLOCK: u64 = 64 << 10;

/// Bytes of matching documents after which a part of a block waits until they are taken.
const MAX_PART_BYTES: usize = 4 << 20;

/// Rows of a part below which another thread costs more than it helps.
const MIN_SHARE: u64 = 256;

/// A document, and the number of its row.
pub(super) struct Numbered<'a> {
    pub(super) document: Document<'a>,
    pub(super) row: u64,
}

/// Iterator over the documents for which a filter holds, in their order. It ends after an error.
pub(super) struct Matching<'a> {
    /// Those not filtered yet.
    documents: Documents<'a>,
    filter: &'a Filter,
    /// Matching documents to show, by their number among these.
    rows: Range<u64>,
    threads: u64,
    block: u64,
    /// The parts of the current block.
    parts: std::vec::IntoIter<Part<'a>>,
    part: Option<Part<'a>>,
    count: u64,
}

impl<'a> Matching<'a> {
    /// `threads` may be 0 for all available ones.
    pub(super) fn new(documents: Documents<'a>, filter: &'a Filter, rows: Range<u64>, threads: usize) -> Self {
        let threads = match threads {
            0 => thread::available_parallelism().map_or(1, Into::into),
            some => some,
        };
        Self {
            documents,
            filter,
            rows,
            threads: threads as u64,
            block: FIRST_BLOCK,
            parts: Vec::new().into_iter(),
            part: None,
            count: 0,
        }
    }

    /// The next match; `None` at the end.
    pub(super) fn try_next(&mut self) -> Result<Option<Numbered<'a>>> {
        while self.count < self.rows.end {
            let Some(part) = &mut self.part else {
                self.part = self.parts.next();
                if self.part.is_none() && !self.next_block()? {
                    return Ok(None);
                }
                continue;
            };
            match part.try_next(self.filter) {
                Ok(Some(_)) if self.count < self.rows.start => self.count += 1,
                Ok(Some(found)) => {
                    self.count += 1;
                    return Ok(Some(found));
                }
                Ok(None) => self.part = None,
                Err(error) => {
                    self.rows.end = 0;
                    return Err(error);
                }
            }
        }
        Ok(None)
    }

    /// Filters the next rows; false if there are none.
    fn next_block(&mut self) -> Result<bool> {
        let remaining = self.documents.rows();
        let end = remaining.end.min(remaining.start.saturating_add(self.block));
        self.block = (self.block * 2).min(MAX_BLOCK);
        let rows = remaining.start..end;
        let count = rows.end - rows.start;
        if count == 0 {
            return Ok(false);
        }
        let share = count.div_ceil(self.threads.min(count / MIN_SHARE).max(1));
        let mut parts = Vec::new();
        for start in rows.step_by(usize::try_from(share).unwrap_or(usize::MAX)) {
            parts.push(Part::new(self.documents.part(start..end.min(start + share))?));
        }
        self.documents = self.documents.part(end..remaining.end)?;
        let filter = self.filter;
        thread::scope(|scope| {
            if let Some((first, others)) = parts.split_first_mut() {
                for part in others {
                    scope.spawn(|| part.collect_matches(filter));
                }
                first.collect_matches(filter);
            }
        });
        self.parts = parts.into_iter();
        Ok(true)
    }
}

/// The matches in a range of rows.
struct Part<'a> {
    /// Those not filtered yet.
    documents: Documents<'a>,
    found: VecDeque<Numbered<'a>>,
    /// The error after `found`, which ends the part.
    error: Option<Error>,
}

impl<'a> Part<'a> {
    fn new(documents: Documents<'a>) -> Self {
        Self { documents, found: VecDeque::new(), error: None }
    }

    /// The next match, in the order of rows; `None` after the last one.
    fn try_next(&mut self, filter: &Filter) -> Result<Option<Numbered<'a>>> {
        if self.found.is_empty() && self.error.is_none() {
            self.collect_matches(filter);
        }
        match (self.found.pop_front(), self.error.take()) {
            (None, Some(error)) => Err(error),
            (found, error) => {
                self.error = error;
                Ok(found)
            }
        }
    }

    /// Collects matches until they take [`MAX_PART_BYTES`].
    fn collect_matches(&mut self, filter: &Filter) {
        let mut bytes = 0;
        while bytes < MAX_PART_BYTES && self.error.is_none() {
            let row = self.documents.row();
            let document = match self.documents.next() {
                None => return,
                Some(document) => document,
            };
            let passes = document.and_then(|document| {
                // The first ones are parsed in any case, so that a condition that expects other types is an error.
                if row >= FIRST_BLOCK && document.offset().is_some() && filter.rules_out(document.bytes()) {
                    return Ok(None);
                }
                // A document that is not in memory would keep the buffer around it.
                let passes = filter.passes(&document).map_err(|error| error.in_row(row))?;
                Ok(passes.then(|| document.detached()))
            });
            match passes {
                Ok(None) => {}
                Ok(Some(document)) => {
                    bytes += document.bytes().len();
                    self.found.push_back(Numbered { document, row });
                }
                Err(error) => self.error = Some(error),
            }
        }
    }
}
