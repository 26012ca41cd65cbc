//! Findings, counted: of each kind some are told one by one, the others as a number.

use container_core::{Error, Finding, Result, Severity};

use super::super::table::CollectionTable;
use crate::FORMAT_NAME;

/// So many of a kind are told one by one.
const MOST: u64 = 100;

/// Kinds of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Metadata,
    Index,
    Entry,
    Line,
    Id,
    OtherId,
    File,
    State,
    Dead,
    Again,
    FileId,
    Both,
    Count,
}

/// All of them, with how bad they are and what more of them are called.
const KINDS: [(What, Severity, &str); 13] = [
    (What::Metadata, Severity::Error, "files of metadata that are none"),
    (What::Index, Severity::Error, "indexes that are damaged"),
    (What::Entry, Severity::Error, "entries of the index that name no line"),
    (What::Line, Severity::Error, "lines that hold no document"),
    (What::Id, Severity::Error, "ids that are none"),
    (What::OtherId, Severity::Error, "entries of the index that name the line of another document"),
    (What::File, Severity::Error, "files that hold no document"),
    (What::State, Severity::Warning, "other things"),
    (What::Dead, Severity::Warning, "lines that no entry names and that hold no document"),
    (What::Again, Severity::Warning, "lines whose id comes again later"),
    (What::FileId, Severity::Warning, "files whose document has another id"),
    (What::Both, Severity::Warning, "files whose id has a line"),
    (What::Count, Severity::Warning, "counts that are wrong"),
];

/// The findings of a piece of the work: no more than can be told.
#[derive(Default)]
pub(super) struct Batch {
    /// And the line of the piece, counted from 1, if it is in one.
    told: Vec<(What, Error, Option<u64>)>,
    counts: [u64; KINDS.len()],
}

impl Batch {
    /// Adds one, which is only made if it can be told.
    pub(super) fn push(&mut self, what: What, line: Option<u64>, error: impl FnOnce() -> Error) {
        let Some(count) = self.counts.get_mut(what as usize) else { return };
        *count += 1;
        if *count <= MOST {
            self.told.push((what, error(), line));
        }
    }
}

/// What was found so far.
pub(super) struct Findings<'a> {
    report: &'a mut dyn FnMut(Finding),
    place: Option<&'a CollectionTable>,
    counts: [u64; KINDS.len()],
}

impl<'a> Findings<'a> {
    pub(super) fn new(report: &'a mut dyn FnMut(Finding)) -> Self {
        Self { report, place: None, counts: [0; KINDS.len()] }
    }

    /// Those of a collection, counted anew.
    pub(super) fn of<'b>(&'b mut self, table: &'b CollectionTable) -> Findings<'b> {
        Findings { report: &mut *self.report, place: Some(table), counts: [0; KINDS.len()] }
    }

    /// Tells the findings of the next piece, in front of which there are so many lines.
    pub(super) fn take(&mut self, batch: Batch, lines: u64) {
        let mut before = self.counts;
        for (what, error, line) in batch.told {
            if let Some(count) = before.get_mut(what as usize)
                && *count < MOST
            {
                *count += 1;
                let error = match line {
                    Some(line) => error.in_line(lines + line),
                    None => error,
                };
                self.tell(what, error);
            }
        }
        for (count, more) in self.counts.iter_mut().zip(batch.counts) {
            *count += more;
        }
    }

    /// Tells one.
    pub(super) fn push(&mut self, what: What, error: impl FnOnce() -> Result<Error>) -> Result<()> {
        let error = error()?;
        let mut batch = Batch::default();
        batch.push(what, None, || error);
        self.take(batch, 0);
        Ok(())
    }

    fn tell(&mut self, what: What, error: Error) {
        let error = match self.place {
            Some(table) => table.located(error),
            None => error.in_format(FORMAT_NAME),
        };
        let severity =
            KINDS.iter().find(|(kind, ..)| *kind == what).map_or(Severity::Error, |(_, severity, _)| *severity);
        (self.report)(match severity {
            Severity::Error => Finding::error(error),
            Severity::Warning => Finding::warning(error),
        });
    }

    /// Tells how many more there are of each kind.
    pub(super) fn finish(mut self) {
        for (what, _, name) in KINDS {
            let count = self.counts.get(what as usize).copied().unwrap_or(0);
            if let Some(more @ 1..) = count.checked_sub(MOST) {
                self.tell(what, Error::invalid(format!("and {more} more {name}")));
            }
        }
    }
}
