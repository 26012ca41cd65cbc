//! Keys and hashes that are there twice; the older index beside a newer one.

use std::borrow::Cow;

use container_core::{Error, ErrorKind, Result};
use simplebloom::digest::Salt;

use super::Plan;
use super::findings::{Batch, What};
use crate::index::{KeyHashes, KeyList, KeyTable, salt_of_attempt};
use crate::read::Reader;
use crate::wire::Part;

/// Keys of the same hash that are held apart; there is no way to make more of them.
const DISTINCT: usize = 8;

impl Reader {
    /// The hashes in `.key_hashes`, where it is there and has as many as there are samples.
    pub(super) fn listed_hashes(&self) -> Result<Option<KeyHashes>> {
        let Some(bytes) = self.part_bytes(Part::KeyHashes)? else { return Ok(None) };
        let hashes = KeyHashes::parse(bytes).map_err(|error| self.in_part(Part::KeyHashes, error))?;
        if hashes.len() != self.len {
            let detail = format!("there are {} key hashes for {} samples", hashes.len(), self.len);
            return Err(self.in_part(Part::KeyHashes, Error::invalid(detail)));
        }
        Ok(Some(hashes))
    }
}

/// The key of a sample: that in the list of keys, or its own where there is none.
pub(super) fn key_at<'p>(plan: &'p Plan<'_>, row: u64) -> Option<Cow<'p, str>> {
    if let Some(Ok(Some(key))) = plan.keys.map(|keys| keys.get(row)) {
        return Some(Cow::Borrowed(key));
    }
    let sample = plan.reader.get(row).ok()?;
    sample.key().ok().map(|key| Cow::Owned(key.to_owned()))
}

impl Plan<'_> {
    /// The salt with which keys are hashed here: that of the file, else the first that a writer tries.
    pub(super) fn salt(&self) -> Salt {
        self.hashes.as_ref().map_or_else(|| Salt::new(salt_of_attempt(0)), KeyHashes::salt)
    }

    /// The file that lists the keys.
    pub(super) fn keys_part(&self) -> Part {
        if self.reader.legacy { Part::LegacyIndex } else { Part::Keys }
    }

    /// Samples with the same key, and hashes that are the same. `hashes` are those of all keys.
    pub(super) fn same_keys(&self, hashes: &[u8], threads: usize) -> Result<Batch> {
        let mut findings = Batch::default();
        if KeyTable::build(hashes, |_| 0, threads).is_err() {
            self.equal(hashes, &mut findings);
        }
        // What was not computed from the keys has its own.
        if let Some(stored) = &self.hashes
            && stored.as_bytes() != hashes
            && let Err(error) = KeyTable::build(stored.as_bytes(), |_| 0, threads)
        {
            findings.push(What::SameHash, || self.reader.in_part(Part::KeyHashes, error));
        }
        Ok(findings)
    }

    /// Tells of all keys whose hash is that of another.
    fn equal(&self, hashes: &[u8], findings: &mut Batch) {
        let (hashes, _) = hashes.as_chunks::<8>();
        let hash = |row: u32| hashes.get(row as usize);
        let mut rows: Vec<u32> = (0..u32::try_from(hashes.len()).unwrap_or(u32::MAX)).collect();
        rows.sort_unstable_by_key(|&row| (hash(row), row));
        // Of each that is the same as one before: this one, and whether the keys are the same too.
        let mut found: Vec<(u32, u32, bool)> = Vec::new();
        for group in rows.chunk_by(|a, b| hash(*a) == hash(*b)).filter(|group| group.len() > 1) {
            let mut distinct: Vec<(u32, Cow<'_, str>)> = Vec::new();
            for &row in group {
                let Some(key) = key_at(self, row.into()) else { continue };
                let known = distinct.iter().find(|(_, known)| *known == key).map(|(first, _)| (*first, true));
                let other = distinct.first().map(|(first, _)| (*first, false));
                if let Some((first, same)) = known.or(other) {
                    found.push((row, first, same));
                }
                if known.is_none() && distinct.len() < DISTINCT {
                    distinct.push((row, key));
                }
            }
        }
        found.sort_unstable();
        for (row, first, same) in found {
            let key = || key_at(self, row.into()).unwrap_or_default().into_owned();
            if same {
                findings.push(What::KeyTwice, || {
                    let error = Error::invalid(format!("the key is that of sample {first} too"));
                    self.reader.in_data(error).in_row(row.into()).in_key(key())
                });
            } else {
                findings.push(What::SameHash, || {
                    let detail = format!("the key has the same hash as that of sample {first}, which is another");
                    let error = Error::invalid(detail).at(8 + 8 * u64::from(row)).in_row(row.into());
                    self.reader.in_part(Part::KeyHashes, error).in_key(key())
                });
            }
        }
    }

    /// Holds an older index that was left beside a newer one against it.
    pub(super) fn older_index(&self) -> Result<Batch> {
        let mut findings = Batch::default();
        let reader = self.reader;
        let Some(bytes) = reader.part_bytes(Part::LegacyIndex)? else { return Ok(findings) };
        let place = |error| reader.in_part(Part::LegacyIndex, error);
        let (keys, starts) = match KeyList::parse_legacy(bytes) {
            Ok(parsed) => parsed,
            Err(error) => {
                findings.push(What::Part, || place(error));
                return Ok(findings);
            }
        };
        if keys.len() != reader.len {
            let detail = format!("it has {} entries where the newer index has {} samples", keys.len(), reader.len);
            findings.push(What::Legacy, || place(Error::invalid(detail)));
            return Ok(findings);
        }
        let mut newer = self.keys.map(|keys| keys.starting(0));
        for ((row, key), start) in (0..).zip(keys.starting(0)).zip(starts) {
            let key = match key {
                Ok(key) => key,
                Err(error) => {
                    findings.push(What::Part, || place(error));
                    break;
                }
            };
            match reader.extent(row) {
                Ok(extent) if extent.start != start => {
                    let detail = format!("the sample begins at {start}, in the newer index at {}", extent.start);
                    findings.push(What::Legacy, || place(Error::invalid(detail).in_row(row).in_key(key.to_owned())));
                }
                Err(error) if error.kind() == ErrorKind::Io => return Err(error),
                // What is wrong there is told there.
                _ => {}
            }
            if let Some(Ok(listed)) = newer.as_mut().and_then(Iterator::next)
                && listed != key
            {
                let detail = format!("the key is {key:?}, in the newer list of keys {listed:?}");
                findings.push(What::Legacy, || place(Error::invalid(detail).in_row(row)));
            }
        }
        Ok(findings)
    }
}
