//! Checks the filter against the keys.

use container_core::{Bytes, Error, ErrorKind, Result};
use simplebloom::digest::{Digest, Salt};
use simplebloom::{BloomFilter, Shape};

use super::Plan;
use super::findings::{Batch, FindingKind};
use super::keys::key_at;
use crate::index::KeyBatch;
use crate::wire::Part;

/// Digests inserted or looked up at once.
const DIGESTS: usize = 4096;

impl Plan<'_> {
    /// The filter must contain every key and nothing else.
    pub(super) fn filter(&self) -> Result<Batch> {
        let mut findings = Batch::default();
        let place = |error| self.reader.in_part(Part::Filter, error);
        let Some(bytes) = self.reader.part_bytes(Part::Filter)? else { return Ok(findings) };
        let filter = match BloomFilter::from_bytes(bytes) {
            Ok(filter) => filter,
            Err(error) => {
                findings.push(FindingKind::UnusableFile, || place(Error::invalid("unusable filter").caused_by(error)));
                return Ok(findings);
            }
        };
        let expected = Shape::with_default_probability(self.reader.len.max(2));
        if expected.is_ok_and(|expected| expected != filter.shape()) {
            findings.push(FindingKind::FilterShape, || {
                let shape = filter.shape();
                let detail = format!(
"unusual filter: expected one for {} keys, found one for {} keys with false-positive probability {:?}",
                    self.reader.len.max(2),
                    shape.elements(),
                    shape.probability()
                );
                place(Error::invalid(detail).at(0))
            });
        }
        // A filter too large to rebuild is queried for every key instead.
        let rebuilt = BloomFilter::with_limits(filter.shape(), &self.reader.options.limits);
        let mut same = None;
        if let Ok(mut rebuilt) = rebuilt {
            self.for_each_digest(|_, digests, _| rebuilt.insert_digests(digests))?;
            same = Some(rebuilt.as_bytes() == filter.as_bytes());
        }
        if same == Some(true) || self.stopped() {
            return Ok(findings);
        }
        let mut missing = 0;
        self.find_missing(&filter, &mut findings, &mut missing)?;
        if same == Some(false) && missing == 0 {
            findings.push(FindingKind::ExtraFilterBits, || {
                place(Error::invalid("the filter has bits set that no key sets: more false positives than necessary"))
            });
        }
        Ok(findings)
    }

    /// Reports the keys that the filter does not contain.
    fn find_missing(&self, filter: &BloomFilter<Bytes>, findings: &mut Batch, missing: &mut u64) -> Result<()> {
        let mut contained = [false; DIGESTS];
        self.for_each_digest(|first, digests, has_key| {
            let contained = contained.get_mut(..digests.len()).unwrap_or_default();
            if filter.contains_digests(digests, contained).is_err() {
                return;
            }
            for (row, (contained, has_key)) in (first..).zip(contained.iter().zip(has_key)) {
                if *has_key && !*contained {
                    *missing += 1;
                    findings.push(FindingKind::MissingFromFilter, || {
                        let key = key_at(self, row).unwrap_or_default();
                        let error = Error::invalid(format!("key {key:?} is missing from the filter"));
                        self.reader.in_part(Part::Filter, error).in_row(row)
                    });
                }
            }
        })
    }

    /// Calls `each` with the digests of all keys in order, in batches: the first row, the digests, whether each row has a key.
    fn for_each_digest(&self, mut each: impl FnMut(u64, &[Digest], &[bool])) -> Result<()> {
        let mut batch = KeyBatch::new(Salt::NONE);
        let (mut digests, mut has_key) = (Vec::with_capacity(DIGESTS), Vec::with_capacity(DIGESTS));
        let mut first = 0;
        let mut listed = self.keys.map(|keys| keys.starting(0));
        let mut samples = self.reader.iter();
        for row in 0..self.reader.len {
            if self.stopped() {
                return Ok(());
            }
            let key = match listed.as_mut().and_then(Iterator::next) {
                Some(Ok(key)) => Some(key),
                Some(Err(_)) => {
                    listed = self.keys.map(|keys| keys.starting(row + 1));
                    None
                }
                None => None,
            };
            match key {
                Some(key) => {
                    has_key.push(true);
                    batch.push(key, |digest| digests.push(digest));
                }
                None => {
                    // Samples whose key is listed are skipped without reading them.
                    let skipped = row - samples.position();
                    let sample = samples.nth(usize::try_from(skipped).unwrap_or(usize::MAX)).transpose();
                    let sample = match sample {
                        Err(error) if error.kind() == ErrorKind::Io => return Err(error),
                        sample => sample.ok().flatten(),
                    };
                    let own = sample.as_ref().and_then(|sample| sample.key().ok());
                    has_key.push(own.is_some());
                    batch.push(own.unwrap_or_default(), |digest| digests.push(digest));
                }
            }
            if has_key.len() == DIGESTS {
                batch.finish(|digest| digests.push(digest));
                each(first, &digests, &has_key);
                first = row + 1;
                digests.clear();
                has_key.clear();
            }
        }
        batch.finish(|digest| digests.push(digest));
        each(first, &digests, &has_key);
        Ok(())
    }
}
