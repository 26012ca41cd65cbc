//! Collects findings: of each kind the first are reported, the others counted.

use container_core::{Error, Finding, Severity};

use super::message::Flaw;
use crate::FORMAT_NAME;

/// Findings of each kind that are reported individually.
const MAX_PER_KIND: u64 = 100;

/// Kinds of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FindingKind {
    MissingFile,
    UnusableFile,
    Bounds,
    TrailingBytes,
    Extent,
    Message,
    NotAMap,
    NoKey,
    KeyNotStr,
    DuplicateField,
    ReservedField,
    CompositeName,
    Numpy,
    KeyMismatch,
    DuplicateKey,
    Salt,
    WrongHash,
    DuplicateHash,
    FilterShape,
    MissingFromFilter,
    ExtraFilterBits,
    Legacy,
    WrongSum,
    SumLine,
    SumFormat,
    Unlisted,
}

/// All kinds in order, with severity and the plural used for the rest of them.
const KINDS: [(FindingKind, Severity, &str); 26] = [
    (FindingKind::MissingFile, Severity::Warning, "missing files"),
    (FindingKind::UnusableFile, Severity::Error, "unusable files"),
    (FindingKind::Bounds, Severity::Error, "invalid bounds of the data"),
    (FindingKind::TrailingBytes, Severity::Warning, "trailing bytes"),
    (FindingKind::Extent, Severity::Error, "offsets that run backwards or past the end of the data"),
    (FindingKind::Message, Severity::Error, "samples that are not exactly one message"),
    (FindingKind::NotAMap, Severity::Error, "samples that are not maps"),
    (FindingKind::NoKey, Severity::Error, "samples without a key"),
    (FindingKind::KeyNotStr, Severity::Error, "samples whose key is not a str"),
    (FindingKind::DuplicateField, Severity::Error, "duplicate fields"),
    (FindingKind::ReservedField, Severity::Warning, "fields with reserved names"),
    (FindingKind::CompositeName, Severity::Warning, "map keys that are maps or arrays"),
    (FindingKind::Numpy, Severity::Error, "invalid numpy values"),
    (FindingKind::KeyMismatch, Severity::Error, "samples whose key differs from the key list"),
    (FindingKind::DuplicateKey, Severity::Error, "duplicate keys"),
    (FindingKind::Salt, Severity::Warning, "unusual salts"),
    (FindingKind::WrongHash, Severity::Error, "wrong key hashes"),
    (FindingKind::DuplicateHash, Severity::Error, "duplicate key hashes"),
    (FindingKind::FilterShape, Severity::Warning, "unusual filters"),
    (FindingKind::MissingFromFilter, Severity::Error, "keys missing from the filter"),
    (FindingKind::ExtraFilterBits, Severity::Warning, "superfluous bits in the filter"),
    (FindingKind::Legacy, Severity::Error, "legacy index entries that disagree with the newer index"),
    (FindingKind::WrongSum, Severity::Error, "wrong MD5 sums"),
    (FindingKind::SumLine, Severity::Error, "invalid lines of MD5 sums"),
    (FindingKind::SumFormat, Severity::Warning, "unusual lines of MD5 sums"),
    (FindingKind::Unlisted, Severity::Warning, "files without an MD5 sum"),
];

impl FindingKind {
    fn severity(self) -> Severity {
        KINDS.iter().find(|(kind, ..)| *kind == self).map_or(Severity::Error, |(_, severity, _)| *severity)
    }
}

impl From<Flaw> for FindingKind {
    fn from(flaw: Flaw) -> Self {
        match flaw {
            Flaw::NotAMap => Self::NotAMap,
            Flaw::NoKey => Self::NoKey,
            Flaw::KeyNotStr => Self::KeyNotStr,
            Flaw::DuplicateField => Self::DuplicateField,
            Flaw::ReservedField => Self::ReservedField,
            Flaw::CompositeName => Self::CompositeName,
            Flaw::Numpy => Self::Numpy,
        }
    }
}

impl Flaw {
    pub(crate) fn severity(self) -> Severity {
        FindingKind::from(self).severity()
    }
}

/// The findings of one task: no more errors than can be reported, and the counts.
#[derive(Default)]
pub(super) struct Batch {
    errors: Vec<(FindingKind, Error)>,
    counts: [u64; KINDS.len()],
}

impl Batch {
    /// Adds a finding. `error` is called only if it can be reported.
    pub(super) fn push(&mut self, kind: FindingKind, error: impl FnOnce() -> Error) {
        let Some(count) = self.counts.get_mut(kind as usize) else { return };
        *count += 1;
        if *count <= MAX_PER_KIND {
            self.errors.push((kind, error()));
        }
    }
}

/// Reports findings, in order.
pub(super) struct Findings<'a> {
    report: &'a mut dyn FnMut(Finding),
    counts: [u64; KINDS.len()],
}

impl<'a> Findings<'a> {
    pub(super) fn new(report: &'a mut dyn FnMut(Finding)) -> Self {
        Self { report, counts: [0; KINDS.len()] }
    }

    /// Reports the findings of the next task.
    pub(super) fn add(&mut self, batch: Batch) {
        let mut reported = self.counts;
        for (kind, error) in batch.errors {
            if let Some(count) = reported.get_mut(kind as usize)
                && *count < MAX_PER_KIND
            {
                *count += 1;
                self.report(kind.severity(), error);
            }
        }
        for (count, more) in self.counts.iter_mut().zip(batch.counts) {
            *count += more;
        }
    }

    /// Reports a single finding.
    pub(super) fn push(&mut self, kind: FindingKind, error: impl FnOnce() -> Error) {
        let mut batch = Batch::default();
        batch.push(kind, error);
        self.add(batch);
    }

    /// Reports how many more there were of each kind.
    pub(super) fn finish(mut self) {
        for ((_, severity, plural), count) in KINDS.iter().zip(self.counts) {
            if let Some(more @ 1..) = count.checked_sub(MAX_PER_KIND) {
                self.report(*severity, Error::invalid(format!("{more} more {plural}")));
            }
        }
    }

    fn report(&mut self, severity: Severity, error: Error) {
        let error = error.in_format(FORMAT_NAME);
        (self.report)(match severity {
            Severity::Error => Finding::error(error),
            Severity::Warning => Finding::warning(error),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_listed_in_order() {
        for (index, (kind, ..)) in KINDS.iter().enumerate() {
            assert_eq!(*kind as usize, index);
        }
    }

    #[test]
    fn counts_findings_past_the_maximum() {
        let mut reported = Vec::new();
        let mut report = |finding: Finding| reported.push((finding.severity, finding.error.to_string()));
        let mut findings = Findings::new(&mut report);
        for task in 0..3 {
            let mut batch = Batch::default();
            for row in 0..70u64 {
                batch.push(FindingKind::NoKey, || Error::invalid("x").in_row(task * 70 + row));
            }
            batch.push(FindingKind::Salt, || Error::invalid("y"));
            findings.add(batch);
        }
        findings.finish();
        assert_eq!(reported.len(), 104);
        assert_eq!(reported[100].1, "datadings: x (row 99)", "{reported:?}");
        assert_eq!(reported[103], (Severity::Error, "datadings: 110 more samples without a key".to_owned()));
        assert_eq!(reported.iter().filter(|(severity, _)| *severity == Severity::Warning).count(), 3);
    }
}
