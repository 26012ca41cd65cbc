//! Checks a chunk of rows.

use container_core::{Error, ErrorKind, Result};

use super::findings::{Batch, FindingKind};
use super::message::{Budget, Flaw, inspect};
use super::{Plan, keys};
use crate::index::KeyBatch;
use crate::read::{Reader, Sample};
use crate::wire::{Part, Tokens};

/// Maximum rows per chunk.
const MAX_ROWS: u64 = 8192;

/// Approximate bytes per chunk.
const BYTES: u64 = 16 << 20;

/// The result for a chunk.
pub(super) struct Chunk {
    pub(super) findings: Batch,
    /// The hashes of its keys, eight bytes each, big-endian.
    pub(super) hashes: Vec<u8>,
}

/// Rows per chunk: fewer if samples are long.
pub(super) fn rows_per_chunk(reader: &Reader) -> u64 {
    let average = reader.data_end / reader.len.max(1);
    (BYTES / average.max(1)).clamp(16, MAX_ROWS)
}

impl Plan<'_> {
    /// Checks the messages, keys and key hashes of a chunk.
    pub(super) fn chunk(&self, number: u64) -> Result<Chunk> {
        let reader = self.reader;
        let first = number * self.rows;
        let samples = reader.samples(first..first.saturating_add(self.rows))?;
        let mut findings = Batch::default();
        let mut listed = self.keys.map(|keys| keys.starting(first));
        let mut batch = KeyBatch::new(self.salt());
        let mut hashes = Vec::with_capacity(usize::try_from(self.rows).unwrap_or(0).saturating_mul(8));
        // Whether each row has a key.
        let mut has_key = Vec::new();
        let mut bytes = 0;
        for (row, sample) in (first..).zip(samples) {
            if self.stopped() {
                break;
            }
            let sample = match sample {
                Err(error) if error.kind() == ErrorKind::Io => return Err(error),
                Err(error) => {
                    let kind = if matches!(error.kind(), ErrorKind::Limit { .. }) {
                        FindingKind::Message
                    } else {
                        FindingKind::Extent
                    };
                    findings.push(kind, || error);
                    None
                }
                Ok(sample) => Some(sample),
            };
            bytes += sample.as_ref().map_or(0, |sample| sample.as_bytes().len() as u64);
            let own = sample.as_ref().and_then(|sample| self.check_sample(sample, &mut findings));
            let key = match listed.as_mut().and_then(Iterator::next) {
                Some(Ok(key)) => {
                    if let Some((own, at)) = own
                        && own != key
                    {
                        findings.push(FindingKind::KeyMismatch, || key_mismatch(reader, row, own, at, key));
                    }
                    Some(key)
                }
                // Not UTF-8; the keys after it still count.
                Some(Err(error)) => {
                    findings.push(FindingKind::UnusableFile, || reader.in_part(self.keys_part(), error));
                    listed = self.keys.map(|keys| keys.starting(row + 1));
                    own.map(|(own, _)| own)
                }
                None => own.map(|(own, _)| own),
            };
            has_key.push(key.is_some());
            batch.push(key.unwrap_or_default(), |[hash, _]| hashes.extend_from_slice(&hash.to_be_bytes()));
        }
        batch.finish(|[hash, _]| hashes.extend_from_slice(&hash.to_be_bytes()));
        self.compare_hashes(first, &hashes, &has_key, &mut findings);
        if !self.sums_data() {
            self.advance(bytes)?;
        }
        Ok(Chunk { findings, hashes })
    }

    /// Checks a sample; returns its key and the key's offset.
    fn check_sample<'s>(&self, sample: &'s Sample<'_>, findings: &mut Batch) -> Option<(&'s str, u64)> {
        let reader = self.reader;
        let row = sample.index();
        let place = |error: Error| reader.in_data(error).in_row(row);
        let mut tokens = Tokens::at(sample.as_bytes(), sample.offset());
        let mut budget = Budget::unbounded(reader.options.limits.depth);
        let mut flaw = |flaw: Flaw, error| findings.push(flaw.into(), || place(error));
        match inspect(&mut tokens, &mut budget, &mut flaw) {
            Err(error) => {
                findings.push(FindingKind::Message, || place(error));
                None
            }
            Ok(message) => {
                if let Err(error) = tokens.end() {
                    findings.push(FindingKind::Message, || place(error));
                }
                message.key.zip(message.key_value.map(|value| value.offset()))
            }
        }
    }

    /// Compares key hashes with those of the file.
    fn compare_hashes(&self, first: u64, hashes: &[u8], has_key: &[bool], findings: &mut Batch) {
        let Some(stored) = &self.hashes else { return };
        let start = usize::try_from(first).unwrap_or(usize::MAX).saturating_mul(8);
        let stored = stored.as_bytes().get(start..).unwrap_or_default();
        if stored.starts_with(hashes) {
            return;
        }
        let (stored, hashes) = (stored.as_chunks::<8>().0, hashes.as_chunks::<8>().0);
        for (row, ((stored, computed), has_key)) in (first..).zip(stored.iter().zip(hashes).zip(has_key)) {
            if *has_key && stored != computed {
                findings.push(FindingKind::WrongHash, || {
                    let (stored, computed) = (u64::from_be_bytes(*stored), u64::from_be_bytes(*computed));
                    let detail = format!("key hash: expected {computed:016x}, found {stored:016x}");
                    let error = Error::invalid(detail).at(8 + 8 * row).in_row(row);
                    let error = self.reader.in_part(Part::KeyHashes, error);
                    match keys::key_at(self, row) {
                        Some(key) => error.in_key(key.into_owned()),
                        None => error,
                    }
                });
            }
        }
    }
}

#[cold]
fn key_mismatch(reader: &Reader, row: u64, own: &str, at: u64, listed: &str) -> Error {
    let detail = format!("key mismatch: {own:?} in the sample, {listed:?} in the key list");
    reader.in_data(Error::invalid(detail).at(at)).in_row(row)
}
