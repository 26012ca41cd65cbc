//! Opens the files beside the data on first use.

use std::borrow::Cow;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use container_core::{Bytes, Error, Result, Source};
use simplebloom::BloomFilter;

use crate::FORMAT_NAME;
use crate::index::{KeyHashes, KeyList, KeyTable};
use crate::read::reader::Reader;
use crate::wire::Part;

/// Look-ups answered by scanning the hashes before the table is built. Building costs about five scans.
const SCANS_BEFORE_TABLE: u32 = 4;

/// Initializes a cell on first use. Two threads may race; one result is kept.
fn get_or_try_init<T>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(made) = cell.get() {
        return Ok(made);
    }
    let made = make()?;
    Ok(cell.get_or_init(|| made))
}

/// Copies an error: [`Error`] is not `Clone`.
fn copy_error(error: &Error) -> Error {
    let position = error.position();
    let mut copy = Error::new(error.kind(), error.detail().to_owned());
    if let Some(byte) = position.byte {
        copy = copy.at(byte);
    }
    if let Some(row) = position.row {
        copy = copy.in_row(row);
    }
    copy
}

impl Reader {
    /// Opens a file beside the data, if it exists.
    pub(crate) fn part(&self, part: Part) -> Result<Option<Source>> {
        let Some(set) = &self.set else { return Ok(None) };
        let path = set.path(part);
        // If existence cannot be determined, opening reports why.
        if path.try_exists().is_ok_and(|exists| !exists) {
            return Ok(None);
        }
        Source::open_with(&path, self.options.access).map(Some).map_err(|error| error.in_format(FORMAT_NAME))
    }

    /// All bytes of a file beside the data; zero-copy if mapped.
    pub(crate) fn part_bytes(&self, part: Part) -> Result<Option<Bytes>> {
        match self.part(part)? {
            Some(source) => source.read(0..source.len()).map(Some).map_err(|error| self.in_part(part, error)),
            None => Ok(None),
        }
    }

    /// Adds the part's file name to an error.
    #[cold]
    pub(crate) fn in_part(&self, part: Part, error: Error) -> Error {
        let error = error.in_format(FORMAT_NAME);
        match &self.set {
            Some(set) => error.in_file(set.path(part).display().to_string()),
            None => error,
        }
    }

    /// The keys in order, from `.keys` or a legacy index; `None` if neither exists.
    pub(crate) fn key_list(&self) -> Result<Option<&KeyList>> {
        let keys = get_or_try_init(&self.parts.keys, || {
            let Some(bytes) = self.part_bytes(Part::Keys)? else { return Ok(None) };
            let keys = KeyList::parse(bytes).map_err(|error| self.in_part(Part::Keys, error))?;
            self.check_count(Part::Keys, "keys", keys.len())?;
            Ok(Some(keys))
        })?;
        Ok(keys.as_ref())
    }

    /// The hashes of all keys: from `.key_hashes`, or computed from the keys.
    pub(crate) fn key_hashes(&self) -> Result<Option<&KeyHashes>> {
        let hashes = get_or_try_init(&self.parts.hashes, || {
            if let Some(bytes) = self.part_bytes(Part::KeyHashes)? {
                let hashes = KeyHashes::parse(bytes).map_err(|error| self.in_part(Part::KeyHashes, error))?;
                self.check_count(Part::KeyHashes, "key hashes", hashes.len())?;
                return Ok(Some(hashes));
            }
            self.compute_hashes().map(Some)
        })?;
        Ok(hashes.as_ref())
    }

    /// The Bloom filter over all keys, if it exists.
    pub(crate) fn key_filter(&self) -> Result<Option<&BloomFilter<Bytes>>> {
        let filter = get_or_try_init(&self.parts.filter, || {
            let Some(bytes) = self.part_bytes(Part::Filter)? else { return Ok(None) };
            BloomFilter::from_bytes(bytes).map(Some).map_err(|error| self.in_part(Part::Filter, error))
        })?;
        Ok(filter.as_ref())
    }

    fn check_count(&self, part: Part, what: &str, count: u64) -> Result<()> {
        if count == self.len {
            return Ok(());
        }
        let detail = format!("expected {} {what} (one per sample), found {count}", self.len);
        Err(self.in_part(part, Error::invalid(detail)))
    }

    fn compute_hashes(&self) -> Result<KeyHashes> {
        let (salt, hashes) = crate::index::choose_salt(|salt| {
            let mut hashes = Vec::new();
            let mut batch = crate::index::KeyBatch::new(simplebloom::digest::Salt::new(salt));
            for key in self.keys(0..self.len)? {
                let key: Cow<'_, str> = key?;
                batch.push(&key, |[hash, _]| hashes.push(hash));
            }
            batch.finish(|[hash, _]| hashes.push(hash));
            let mut sorted = hashes.clone();
            sorted.sort_unstable();
            let duplicate = sorted.windows(2).find(|pair| pair.first() == pair.last()).and_then(<[u64]>::first);
            let Some(duplicate) = duplicate else { return Ok(Some(hashes)) };
            // Different keys collide with this salt only; equal keys collide with every salt.
            let mut rows = (0u64..).zip(&hashes).filter(|(_, hash)| *hash == duplicate).map(|(row, _)| row);
            if let (Some(first), Some(other)) = (rows.next(), rows.next()) {
                let key = self.key(other)?;
                if self.key(first)? == key {
                    let detail = format!("duplicate key, first in sample {first}");
                    return Err(self.in_data(Error::invalid(detail).in_row(other).in_key(key.into_owned())));
                }
            }
            Ok(None)
        })?;
        Ok(KeyHashes::computed(salt, &hashes))
    }

    /// The hash table: built on the fifth look-up, or at get_or_try_init with `force`. `None` while scanning is preferable.
    pub(crate) fn key_table(&self, hashes: &KeyHashes, force: bool) -> Result<Option<&KeyTable>> {
        let parts = &self.parts;
        if let Some(table) = parts.table.get() {
            return Ok(Some(table));
        }
        if let Some(error) = parts.damage.get() {
            return Err(self.in_part(Part::KeyHashes, copy_error(error)));
        }
        if !force && parts.scans.fetch_add(1, Ordering::Relaxed) < SCANS_BEFORE_TABLE {
            return Ok(None);
        }
        // If another thread is building it, scan: waiting would hang in a process forked in the meantime.
        let Ok(_building) = parts.building.try_lock() else { return Ok(None) };
        if let Some(table) = parts.table.get() {
            return Ok(Some(table));
        }
        match KeyTable::build(hashes.as_bytes(), |row| self.offsets.start(row).unwrap_or(u64::MAX), 0) {
            Ok(table) => Ok(Some(parts.table.get_or_init(|| table))),
            Err(error) => Err(self.in_part(Part::KeyHashes, copy_error(parts.damage.get_or_init(|| error)))),
        }
    }

    /// Finds the row of a hash by scanning. If `confirm` accepts the first match, the rest is not checked for duplicates.
    pub(crate) fn scan_hashes(
        &self,
        hashes: &KeyHashes,
        hash: u64,
        confirm: impl FnOnce(u64) -> bool,
    ) -> Result<Option<u64>> {
        let Some(row) = hashes.scan(hash, 0) else { return Ok(None) };
        if confirm(row) {
            return Ok(Some(row));
        }
        match hashes.scan(hash, row + 1) {
            None => Ok(Some(row)),
            Some(other) => Err(self.in_part(Part::KeyHashes, crate::index::same_hash(row, other))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// No salt separates equal keys: they are reported at get_or_try_init rather than after a thousand attempts.
    #[test]
    fn reports_duplicate_keys_at_once() {
        let mut data = Vec::new();
        for row in 0..20_000 {
            data.extend_from_slice(b"\x81\xa3key");
            crate::wire::put_str(&mut data, &format!("k{}", if row == 19_990 { 7 } else { row })).unwrap();
        }
        let reader = Reader::scan(Source::from(data), container_core::OpenOptions::default()).unwrap();
        let start = Instant::now();
        let error = reader.find("k5").unwrap_err().to_string();
        assert_eq!(error, r#"datadings: duplicate key, first in sample 7 (row 19990, key "k7")"#);
        assert!(start.elapsed().as_secs() < 3, "a thousand attempts take longer");
    }
}
