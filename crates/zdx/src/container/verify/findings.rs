//! Findings by kind: a limited number is reported individually, the rest as a count.

use container_core::{Error, Finding, Result, Severity};

use super::super::table::CollectionTable;
use crate::FORMAT_NAME;

/// Findings of a kind reported individually.
const MAX_REPORTED: u64 = 100;

/// Kinds of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FindingKind {
    Metadata,
    Index,
    Entry,
    Line,
    Id,
    OtherId,
    File,
    State,
    DeadLine,
    Duplicate,
    FileId,
    Shadowed,
    Count,
}

/// All kinds in order, with severity and a description for the remaining ones.
const KINDS: [(FindingKind, Severity, &str); 13] = [
    (FindingKind::Metadata, Severity::Error, "invalid metadata files"),
    (FindingKind::Index, Severity::Error, "damaged indexes"),
    (FindingKind::Entry, Severity::Error, "index entries that do not point at a line"),
    (FindingKind::Line, Severity::Error, "lines without a document"),
    (FindingKind::Id, Severity::Error, "invalid ids"),
    (FindingKind::OtherId, Severity::Error, "index entries that point at another document"),
    (FindingKind::File, Severity::Error, "files without a document"),
    (FindingKind::State, Severity::Warning, "other findings"),
    (FindingKind::DeadLine, Severity::Warning, "unindexed lines without a document"),
    (FindingKind::Duplicate, Severity::Warning, "lines replaced by a later one with the same id"),
    (FindingKind::FileId, Severity::Warning, "files whose document has another id"),
    (FindingKind::Shadowed, Severity::Warning, "files whose id has a line"),
    (FindingKind::Count, Severity::Warning, "wrong counts"),
];

/// The findings of a part of the work, up to the reporting limit.
#[derive(Default)]
pub(super) struct Batch {
    /// With the line, from 1 within the part, if any.
    reported: Vec<(FindingKind, Error, Option<u64>)>,
    counts: [u64; KINDS.len()],
}

impl Batch {
    /// Adds a finding; the error is only built if it can be reported.
    pub(super) fn push(&mut self, kind: FindingKind, line: Option<u64>, error: impl FnOnce() -> Error) {
        let Some(count) = self.counts.get_mut(kind as usize) else { return };
        *count += 1;
        if *count <= MAX_REPORTED {
            self.reported.push((kind, error(), line));
        }
    }
}

/// Reports and counts findings.
pub(super) struct Findings<'a> {
    report: &'a mut dyn FnMut(Finding),
    table: Option<&'a CollectionTable>,
    counts: [u64; KINDS.len()],
}

impl<'a> Findings<'a> {
    pub(super) fn new(report: &'a mut dyn FnMut(Finding)) -> Self {
        Self { report, table: None, counts: [0; KINDS.len()] }
    }

    /// Findings of a collection, counted separately.
    pub(super) fn for_table<'b>(&'b mut self, table: &'b CollectionTable) -> Findings<'b> {
        Findings { report: &mut *self.report, table: Some(table), counts: [0; KINDS.len()] }
    }

    /// Reports the findings of the next part, which follows `lines` lines.
    pub(super) fn add(&mut self, batch: Batch, lines: u64) {
        let mut before = self.counts;
        for (kind, error, line) in batch.reported {
            if let Some(count) = before.get_mut(kind as usize)
                && *count < MAX_REPORTED
            {
                *count += 1;
                let error = match line {
                    Some(line) => error.in_line(lines + line),
                    None => error,
                };
                self.report_error(kind, error);
            }
        }
        for (count, more) in self.counts.iter_mut().zip(batch.counts) {
            *count += more;
        }
    }

    /// Reports a single finding.
    pub(super) fn push(&mut self, kind: FindingKind, error: impl FnOnce() -> Result<Error>) -> Result<()> {
        let error = error()?;
        let mut batch = Batch::default();
        batch.push(kind, None, || error);
        self.add(batch, 0);
        Ok(())
    }

    fn report_error(&mut self, kind: FindingKind, error: Error) {
        let error = match self.table {
            Some(table) => table.located(error),
            None => error.in_format(FORMAT_NAME),
        };
        let severity =
            KINDS.iter().find(|(other, ..)| *other == kind).map_or(Severity::Error, |(_, severity, _)| *severity);
        (self.report)(match severity {
            Severity::Error => Finding::error(error),
            Severity::Warning => Finding::warning(error),
        });
    }

    /// Reports how many more there are of each kind.
    pub(super) fn finish(mut self) {
        for (kind, _, name) in KINDS {
            let count = self.counts.get(kind as usize).copied().unwrap_or(0);
            if let Some(more @ 1..) = count.checked_sub(MAX_REPORTED) {
                self.report_error(kind, Error::invalid(format!("and {more} more {name}")));
            }
        }
    }
}
