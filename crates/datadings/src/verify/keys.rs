//! Finds duplicate keys and hashes; compares a legacy index with a newer one.

use std::borrow::Cow;

use container_core::{Error, ErrorKind, Result};
use simplebloom::digest::Salt;

use super::Plan;
use super::findings::{Batch, FindingKind};
use crate::index::{KeyHashes, KeyList, KeyTable, salt_of_attempt};
use crate::read::Reader;
use crate::wire::Part;

/// Maximum number of distinct keys compared per hash. Collisions of this many keys cannot be produced on purpose.
const MAX_DISTINCT: usize = 8;

impl Reader {
    /// The hashes of `.key_hashes`, if it exists; there must be one per sample.
    pub(super) fn listed_hashes(&self) -> Result<Option<KeyHashes>> {
        let Some(bytes) = self.part_bytes(Part::KeyHashes)? else { return Ok(None) };
        let hashes = KeyHashes::parse(bytes).map_err(|error| self.in_part(Part::KeyHashes, error))?;
        if hashes.len() != self.len {
            let detail = format!("expected {} key hashes (one per sample), found {}", self.len, hashes.len());
            return Err(self.in_part(Part::KeyHashes, Error::invalid(detail)));
        }
        Ok(Some(hashes))
    }
}

/// The key of a sample: the listed one, else the stored one.
pub(super) fn key_at<'p>(plan: &'p Plan<'_>, row: u64) -> Option<Cow<'p, str>> {
    if let Some(Ok(Some(key))) = plan.keys.map(|keys| keys.get(row)) {
        return Some(Cow::Borrowed(key));
    }
    let sample = plan.reader.get(row).ok()?;
    sample.key().ok().map(|key| Cow::Owned(key.to_owned()))
}

impl Plan<'_> {
    /// The salt used here: that of the file, else the first that a writer tries.
    pub(super) fn salt(&self) -> Salt {
        self.hashes.as_ref().map_or_else(|| Salt::new(salt_of_attempt(0)), KeyHashes::salt)
    }

    /// The file that lists the keys.
    pub(super) fn keys_part(&self) -> Part {
        if self.reader.legacy { Part::LegacyIndex } else { Part::Keys }
    }

    /// Finds samples with the same key, and equal hashes. `hashes` are those computed from all keys.
    pub(super) fn duplicate_keys(&self, hashes: &[u8], threads: usize) -> Result<Batch> {
        let mut findings = Batch::default();
        if KeyTable::build(hashes, |_| 0, threads).is_err() {
            self.report_duplicates(hashes, &mut findings);
        }
        // Stored hashes that differ from the computed ones may have duplicates of their own.
        if let Some(stored) = &self.hashes
            && stored.as_bytes() != hashes
            && let Err(error) = KeyTable::build(stored.as_bytes(), |_| 0, threads)
        {
            findings.push(FindingKind::DuplicateHash, || self.reader.in_part(Part::KeyHashes, error));
        }
        Ok(findings)
    }

    /// Reports all keys whose hash equals that of another key.
    fn report_duplicates(&self, hashes: &[u8], findings: &mut Batch) {
        let (hashes, _) = hashes.as_chunks::<8>();
        let hash = |row: u32| hashes.get(row as usize);
        let mut rows: Vec<u32> = (0..u32::try_from(hashes.len()).unwrap_or(u32::MAX)).collect();
        rows.sort_unstable_by_key(|&row| (hash(row), row));
        // Row, first row with the same hash, and whether the keys are equal too.
        let mut duplicates: Vec<(u32, u32, bool)> = Vec::new();
        for group in rows.chunk_by(|a, b| hash(*a) == hash(*b)).filter(|group| group.len() > 1) {
            let mut distinct: Vec<(u32, Cow<'_, str>)> = Vec::new();
            for &row in group {
                let Some(key) = key_at(self, row.into()) else { continue };
                let known = distinct.iter().find(|(_, known)| *known == key).map(|(first, _)| (*first, true));
                let other = distinct.first().map(|(first, _)| (*first, false));
                if let Some((first, same)) = known.or(other) {
                    duplicates.push((row, first, same));
                }
                if known.is_none() && distinct.len() < MAX_DISTINCT {
                    distinct.push((row, key));
                }
            }
        }
        duplicates.sort_unstable();
        for (row, first, same) in duplicates {
            let key = || key_at(self, row.into()).unwrap_or_default().into_owned();
            if same {
                findings.push(FindingKind::DuplicateKey, || {
                    let error = Error::invalid(format!("duplicate key, first in sample {first}"));
                    self.reader.in_data(error).in_row(row.into()).in_key(key())
                });
            } else {
                findings.push(FindingKind::DuplicateHash, || {
                    let detail = format!("the key has the same hash as the different key of sample {first}");
                    let error = Error::invalid(detail).at(8 + 8 * u64::from(row)).in_row(row.into());
                    self.reader.in_part(Part::KeyHashes, error).in_key(key())
                });
            }
        }
    }

    /// Compares a legacy index with the newer one beside it.
    pub(super) fn legacy_index(&self) -> Result<Batch> {
        let mut findings = Batch::default();
        let reader = self.reader;
        let Some(bytes) = reader.part_bytes(Part::LegacyIndex)? else { return Ok(findings) };
        let place = |error| reader.in_part(Part::LegacyIndex, error);
        let (keys, starts) = match KeyList::parse_legacy(bytes) {
            Ok(parsed) => parsed,
            Err(error) => {
                findings.push(FindingKind::UnusableFile, || place(error));
                return Ok(findings);
            }
        };
        if keys.len() != reader.len {
            let detail = format!("expected {} entries as in the newer index, found {}", reader.len, keys.len());
            findings.push(FindingKind::Legacy, || place(Error::invalid(detail)));
            return Ok(findings);
        }
        let mut newer = self.keys.map(|keys| keys.starting(0));
        for ((row, key), start) in (0..).zip(keys.starting(0)).zip(starts) {
            let key = match key {
                Ok(key) => key,
                Err(error) => {
                    findings.push(FindingKind::UnusableFile, || place(error));
                    break;
                }
            };
            match reader.extent(row) {
                Ok(extent) if extent.start != start => {
                    let detail =
                        format!("sample begins at byte {start}, but at byte {} in the newer index", extent.start);
                    findings
                        .push(FindingKind::Legacy, || place(Error::invalid(detail).in_row(row).in_key(key.to_owned())));
                }
                Err(error) if error.kind() == ErrorKind::Io => return Err(error),
                // Invalid extents are reported with their sample.
                _ => {}
            }
            if let Some(Ok(listed)) = newer.as_mut().and_then(Iterator::next)
                && listed != key
            {
                let detail = format!("key is {key:?}, but {listed:?} in the newer key list");
                findings.push(FindingKind::Legacy, || place(Error::invalid(detail).in_row(row)));
            }
        }
        Ok(findings)
    }
}
