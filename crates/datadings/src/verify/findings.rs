//! Findings, counted: of each kind some are told one by one, the others as a number.

use container_core::{Error, Finding, Severity};

use super::message::Flaw;
use crate::FORMAT_NAME;

/// So many of a kind are told one by one.
const MOST: u64 = 100;

/// Kinds of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Missing,
    Part,
    Bounds,
    Trailing,
    Extent,
    Message,
    NoMap,
    NoKey,
    KeyNoStr,
    NameTwice,
    Reserved,
    OddName,
    Numpy,
    OtherKey,
    KeyTwice,
    Salt,
    Hash,
    SameHash,
    FilterShape,
    FilterKey,
    FilterBits,
    Legacy,
    Sum,
    SumLine,
    SumForm,
    Unlisted,
}

/// All of them, with how bad they are and what more of them are called.
const KINDS: [(What, Severity, &str); 26] = [
    (What::Missing, Severity::Warning, "missing files"),
    (What::Part, Severity::Error, "files that cannot be used"),
    (What::Bounds, Severity::Error, "wrong bounds of the data"),
    (What::Trailing, Severity::Warning, "bytes behind the last sample"),
    (What::Extent, Severity::Error, "offsets that run backwards or leave the data"),
    (What::Message, Severity::Error, "samples that are not one whole message"),
    (What::NoMap, Severity::Error, "samples that are no maps"),
    (What::NoKey, Severity::Error, "samples without a key"),
    (What::KeyNoStr, Severity::Error, "samples whose key is no str"),
    (What::NameTwice, Severity::Error, "fields that are there twice"),
    (What::Reserved, Severity::Warning, "fields of reserved names"),
    (What::OddName, Severity::Warning, "names that are maps or arrays"),
    (What::Numpy, Severity::Error, "values of numpy that are none"),
    (What::OtherKey, Severity::Error, "samples whose key is not the one in the list"),
    (What::KeyTwice, Severity::Error, "samples with the key of another"),
    (What::Salt, Severity::Warning, "unusual salts"),
    (What::Hash, Severity::Error, "hashes that are not those of the keys"),
    (What::SameHash, Severity::Error, "hashes that are there twice"),
    (What::FilterShape, Severity::Warning, "unusual filters"),
    (What::FilterKey, Severity::Error, "keys that are not in the filter"),
    (What::FilterBits, Severity::Warning, "unusual bits of the filter"),
    (What::Legacy, Severity::Error, "entries of the older index that disagree with the newer one"),
    (What::Sum, Severity::Error, "sums that are wrong"),
    (What::SumLine, Severity::Error, "lines of sums that are wrong"),
    (What::SumForm, Severity::Warning, "unusual lines of sums"),
    (What::Unlisted, Severity::Warning, "files without a sum"),
];

impl What {
    fn severity(self) -> Severity {
        KINDS.iter().find(|(what, ..)| *what == self).map_or(Severity::Error, |(_, severity, _)| *severity)
    }
}

impl From<Flaw> for What {
    fn from(flaw: Flaw) -> Self {
        match flaw {
            Flaw::NoMap => Self::NoMap,
            Flaw::NoKey => Self::NoKey,
            Flaw::KeyNoStr => Self::KeyNoStr,
            Flaw::NameTwice => Self::NameTwice,
            Flaw::Reserved => Self::Reserved,
            Flaw::OddName => Self::OddName,
            Flaw::Numpy => Self::Numpy,
        }
    }
}

impl Flaw {
    /// How bad it is.
    pub(crate) fn severity(self) -> Severity {
        What::from(self).severity()
    }
}

/// The findings of a piece of the work: no more than can be told.
#[derive(Default)]
pub(super) struct Batch {
    told: Vec<(What, Error)>,
    counts: [u64; KINDS.len()],
}

impl Batch {
    /// Adds one, which is only made if it can be told.
    pub(super) fn push(&mut self, what: What, error: impl FnOnce() -> Error) {
        let Some(count) = self.counts.get_mut(what as usize) else { return };
        *count += 1;
        if *count <= MOST {
            self.told.push((what, error()));
        }
    }
}

/// What was found so far.
pub(super) struct Findings<'a> {
    report: &'a mut dyn FnMut(Finding),
    counts: [u64; KINDS.len()],
}

impl<'a> Findings<'a> {
    pub(super) fn new(report: &'a mut dyn FnMut(Finding)) -> Self {
        Self { report, counts: [0; KINDS.len()] }
    }

    /// Tells the findings of the next piece.
    pub(super) fn take(&mut self, batch: Batch) {
        let mut before = self.counts;
        for (what, error) in batch.told {
            if let Some(count) = before.get_mut(what as usize)
                && *count < MOST
            {
                *count += 1;
                self.tell(what.severity(), error);
            }
        }
        for (count, more) in self.counts.iter_mut().zip(batch.counts) {
            *count += more;
        }
    }

    /// Tells one.
    pub(super) fn push(&mut self, what: What, error: impl FnOnce() -> Error) {
        let mut batch = Batch::default();
        batch.push(what, error);
        self.take(batch);
    }

    /// Tells how many there were besides.
    pub(super) fn finish(mut self) {
        for ((_, severity, called), count) in KINDS.iter().zip(self.counts) {
            if let Some(more @ 1..) = count.checked_sub(MOST) {
                self.tell(*severity, Error::invalid(format!("{more} more {called}")));
            }
        }
    }

    fn tell(&mut self, severity: Severity, error: Error) {
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
    fn kinds_stand_at_their_places() {
        for (place, (what, ..)) in KINDS.iter().enumerate() {
            assert_eq!(*what as usize, place);
        }
    }

    #[test]
    fn many_of_a_kind_become_a_number() {
        let mut told = Vec::new();
        let mut report = |finding: Finding| told.push((finding.severity, finding.error.to_string()));
        let mut findings = Findings::new(&mut report);
        for piece in 0..3 {
            let mut batch = Batch::default();
            for row in 0..70u64 {
                batch.push(What::NoKey, || Error::invalid("x").in_row(piece * 70 + row));
            }
            batch.push(What::Salt, || Error::invalid("y"));
            findings.take(batch);
        }
        findings.finish();
        assert_eq!(told.len(), 104);
        assert_eq!(told[100].1, "datadings: x (row 99)", "{told:?}");
        assert_eq!(told[103], (Severity::Error, "datadings: 110 more samples without a key".to_owned()));
        assert_eq!(told.iter().filter(|(severity, _)| *severity == Severity::Warning).count(), 3);
    }
}
