//! Documents that a filter matches, found by several threads.

use std::ops::Range;
use std::thread;

use container_core::{Error, Result};

use crate::read::{Document, Documents, Filter};

/// Documents that are looked at together: few at first, as the first match may be all that is wanted.
const FIRST_BLOCK: usize = 64;
const MAX_BLOCK: usize = 16 << 10;

/// Maximum bytes of these documents, unless the first one is longer.
const MAX_BLOCK_BYTES: usize = 8 << 20;

/// Documents of a block below which another thread costs more than it helps.
const MIN_SHARE: usize = 256;

/// A document, and the number of its row.
pub(super) struct Numbered<'a> {
    pub(super) document: Document<'a>,
    pub(super) row: u64,
}

/// Iterator over the documents for which a filter holds, in their order. It ends after an error.
pub(super) struct Matching<'a> {
    documents: Documents<'a>,
    filter: &'a Filter,
    /// Matching documents to show, by their number among these.
    rows: Range<u64>,
    threads: usize,
    block: usize,
    /// Matches in the current block, by part of the block, and the error that ended the part.
    found: std::vec::IntoIter<Part<'a>>,
    matches: std::vec::IntoIter<Numbered<'a>>,
    /// The error after `matches`.
    error: Option<Error>,
    count: u64,
}

/// The matches in a part of a block, up to an error.
#[derive(Default)]
struct Part<'a> {
    matches: Vec<Numbered<'a>>,
    error: Option<Error>,
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
            threads,
            block: FIRST_BLOCK,
            found: Vec::new().into_iter(),
            matches: Vec::new().into_iter(),
            error: None,
            count: 0,
        }
    }

    /// The next match; `None` at the end.
    pub(super) fn try_next(&mut self) -> Result<Option<Numbered<'a>>> {
        while self.count < self.rows.end {
            if let Some(found) = self.matches.next() {
                self.count += 1;
                if self.count > self.rows.start {
                    return Ok(Some(found));
                }
                continue;
            }
            if let Some(error) = self.error.take() {
                return Err(error);
            }
            let Part { matches, error } = match self.found.next() {
                Some(part) => part,
                None => match self.next_block()? {
                    Some(part) => part,
                    None => return Ok(None),
                },
            };
            (self.matches, self.error) = (matches.into_iter(), error);
        }
        Ok(None)
    }

    /// Looks at the next documents; returns the first part of them, `None` at the end.
    fn next_block(&mut self) -> Result<Option<Part<'a>>> {
        let (mut block, mut bytes, mut error) = (Vec::with_capacity(self.block), 0, None);
        while block.len() < self.block && bytes < MAX_BLOCK_BYTES {
            let row = self.documents.row();
            match self.documents.next() {
                Some(Ok(document)) => {
                    bytes += document.bytes().len();
                    block.push(Numbered { document, row });
                }
                None => break,
                Some(Err(other)) => {
                    error = Some(other);
                    break;
                }
            }
        }
        self.block = (self.block * 2).min(MAX_BLOCK);
        if block.is_empty() && error.is_none() {
            return Ok(None);
        }
        let mut parts = self.parts(block);
        parts.push(Part { matches: Vec::new(), error });
        self.found = parts.into_iter();
        Ok(self.found.next())
    }

    fn parts(&self, block: Vec<Numbered<'a>>) -> Vec<Part<'a>> {
        let threads = self.threads.min(block.len() / MIN_SHARE).max(1);
        if threads == 1 {
            return vec![part(self.filter, block)];
        }
        let share = block.len().div_ceil(threads);
        let mut shares = Vec::with_capacity(threads);
        let mut rest = block;
        while rest.len() > share {
            let after = rest.split_off(share);
            shares.push(std::mem::replace(&mut rest, after));
        }
        thread::scope(|scope| {
            let filter = self.filter;
            let others: Vec<_> = shares.into_iter().map(|share| scope.spawn(move || part(filter, share))).collect();
            let last = part(filter, rest);
            // A thread that panicked passes its panic on.
            let join = |other: thread::ScopedJoinHandle<'_, _>| {
                other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            others.into_iter().map(join).chain([last]).collect()
        })
    }
}

fn part<'a>(filter: &Filter, documents: Vec<Numbered<'a>>) -> Part<'a> {
    let mut part = Part::default();
    for numbered in documents {
        match filter.passes(&numbered.document) {
            Ok(true) => part.matches.push(numbered),
            Ok(false) => {}
            Err(error) => {
                part.error = Some(error.in_row(numbered.row));
                break;
            }
        }
    }
    part
}
