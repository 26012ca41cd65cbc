//! The filter against the keys.

use container_core::{Bytes, Error, ErrorKind, Result};
use simplebloom::digest::{Digest, Salt};
use simplebloom::{BloomFilter, Shape};

use super::Plan;
use super::findings::{Batch, What};
use super::keys::key_at;
use crate::index::KeyBatch;
use crate::wire::Part;

/// Digests that are put into a filter, or asked for, at once.
const DIGESTS: usize = 4096;

impl Plan<'_> {
    /// Every key must be in the filter, and nothing else.
    pub(super) fn filter(&self) -> Result<Batch> {
        let mut findings = Batch::default();
        let place = |error| self.reader.in_part(Part::Filter, error);
        let Some(bytes) = self.reader.part_bytes(Part::Filter)? else { return Ok(findings) };
        let filter = match BloomFilter::from_bytes(bytes) {
            Ok(filter) => filter,
            Err(error) => {
                findings.push(What::Part, || place(Error::invalid("the filter cannot be used").caused_by(error)));
                return Ok(findings);
            }
        };
        let wanted = Shape::with_default_probability(self.reader.len.max(2));
        if wanted.is_ok_and(|wanted| wanted != filter.shape()) {
            findings.push(What::FilterShape, || {
                let shape = filter.shape();
                let detail = format!(
                    "the filter is one for {} keys and the probability {:?}, where a writer makes one for {} keys",
                    shape.elements(),
                    shape.probability(),
                    self.reader.len.max(2)
                );
                place(Error::invalid(detail).at(0))
            });
        }
        // One that is too large to be made again is asked for every key.
        let made = BloomFilter::with_limits(filter.shape(), &self.reader.options.limits);
        let mut same = None;
        if let Ok(mut made) = made {
            self.each_digests(|_, digests, _| made.insert_digests(digests))?;
            same = Some(made.as_bytes() == filter.as_bytes());
        }
        if same == Some(true) || self.stopped() {
            return Ok(findings);
        }
        let mut missing = 0;
        self.missing(&filter, &mut findings, &mut missing)?;
        if same == Some(false) && missing == 0 {
            findings.push(What::FilterBits, || {
                place(Error::invalid(
                    "the filter has more bits set than the keys set: it says yes more often than it has to",
                ))
            });
        }
        Ok(findings)
    }

    /// Tells of the keys that the filter does not hold.
    fn missing(&self, filter: &BloomFilter<Bytes>, findings: &mut Batch, missing: &mut u64) -> Result<()> {
        let mut found = [false; DIGESTS];
        self.each_digests(|first, digests, has_key| {
            let found = found.get_mut(..digests.len()).unwrap_or_default();
            if filter.contains_digests(digests, found).is_err() {
                return;
            }
            for (row, (found, has_key)) in (first..).zip(found.iter().zip(has_key)) {
                if *has_key && !*found {
                    *missing += 1;
                    findings.push(What::FilterKey, || {
                        let key = key_at(self, row).unwrap_or_default();
                        let error = Error::invalid(format!("the filter lies: key {key:?} is not in it"));
                        self.reader.in_part(Part::Filter, error).in_row(row)
                    });
                }
            }
        })
    }

    /// The digests of all keys in order, many at a time: the first one's row, the digests, whether there is a key.
    fn each_digests(&self, mut each: impl FnMut(u64, &[Digest], &[bool])) -> Result<()> {
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
                    // Samples that were not asked for are passed over without a look at them.
                    let passed = row - samples.position();
                    let sample = samples.nth(usize::try_from(passed).unwrap_or(usize::MAX)).transpose();
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
