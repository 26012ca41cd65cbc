//! The files beside the data: opened when they are first needed.

use std::borrow::Cow;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use container_core::{Bytes, Error, Result, Source};
use simplebloom::BloomFilter;

use crate::FORMAT_NAME;
use crate::index::{KeyHashes, KeyList, KeyTable};
use crate::read::reader::Reader;
use crate::wire::Part;

/// A scan over all hashes costs about a fifth of building the table: so many come first.
const SCANS: u32 = 4;

/// Gets what is there, or makes it. Two threads may make it at once: one of both is kept.
fn once<T>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(made) = cell.get() {
        return Ok(made);
    }
    let made = make()?;
    Ok(cell.get_or_init(|| made))
}

/// The same error once more.
fn again(error: &Error) -> Error {
    let position = error.position();
    let mut again = Error::new(error.kind(), error.detail().to_owned());
    if let Some(byte) = position.byte {
        again = again.at(byte);
    }
    if let Some(row) = position.row {
        again = again.in_row(row);
    }
    again
}

impl Reader {
    /// A file beside the data, where there is one.
    pub(crate) fn part(&self, part: Part) -> Result<Option<Source>> {
        let Some(set) = &self.set else { return Ok(None) };
        let path = set.path(part);
        // What cannot be looked at is opened, to say why.
        if path.try_exists().is_ok_and(|exists| !exists) {
            return Ok(None);
        }
        Source::open_with(&path, self.options.access).map(Some).map_err(|error| error.in_format(FORMAT_NAME))
    }

    /// All bytes of a file beside the data: where they lie if it is mapped.
    pub(crate) fn part_bytes(&self, part: Part) -> Result<Option<Bytes>> {
        match self.part(part)? {
            Some(source) => source.read(0..source.len()).map(Some).map_err(|error| self.in_part(part, error)),
            None => Ok(None),
        }
    }

    /// Names the file that an error is in.
    #[cold]
    pub(crate) fn in_part(&self, part: Part, error: Error) -> Error {
        let error = error.in_format(FORMAT_NAME);
        match &self.set {
            Some(set) => error.in_file(set.path(part).display().to_string()),
            None => error,
        }
    }

    /// The keys in order, from `.keys` or a legacy index; `None` where neither is there.
    pub(crate) fn key_list(&self) -> Result<Option<&KeyList>> {
        let keys = once(&self.parts.keys, || {
            let Some(bytes) = self.part_bytes(Part::Keys)? else { return Ok(None) };
            let keys = KeyList::parse(bytes).map_err(|error| self.in_part(Part::Keys, error))?;
            self.same_count(Part::Keys, "keys", keys.len())?;
            Ok(Some(keys))
        })?;
        Ok(keys.as_ref())
    }

    /// The hashes of all keys: from `.key_hashes`, or computed from the keys where they are at hand; else `None`.
    pub(crate) fn key_hashes(&self) -> Result<Option<&KeyHashes>> {
        let hashes = once(&self.parts.hashes, || {
            if let Some(bytes) = self.part_bytes(Part::KeyHashes)? {
                let hashes = KeyHashes::parse(bytes).map_err(|error| self.in_part(Part::KeyHashes, error))?;
                self.same_count(Part::KeyHashes, "key hashes", hashes.len())?;
                return Ok(Some(hashes));
            }
            self.compute_hashes().map(Some)
        })?;
        Ok(hashes.as_ref())
    }

    /// The filter over all keys, where it is there.
    pub(crate) fn key_filter(&self) -> Result<Option<&BloomFilter<Bytes>>> {
        let filter = once(&self.parts.filter, || {
            let Some(bytes) = self.part_bytes(Part::Filter)? else { return Ok(None) };
            BloomFilter::from_bytes(bytes).map(Some).map_err(|error| self.in_part(Part::Filter, error))
        })?;
        Ok(filter.as_ref())
    }

    fn same_count(&self, part: Part, what: &str, count: u64) -> Result<()> {
        if count == self.len {
            return Ok(());
        }
        let detail = format!("there are {count} {what} for {} samples", self.len);
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
            let twice = sorted.windows(2).find(|pair| pair.first() == pair.last()).and_then(<[u64]>::first);
            let Some(twice) = twice else { return Ok(Some(hashes)) };
            // Two keys may have the same hash, and with another salt not; the same key has it with every salt.
            let mut rows = (0u64..).zip(&hashes).filter(|(_, hash)| *hash == twice).map(|(row, _)| row);
            if let (Some(one), Some(other)) = (rows.next(), rows.next()) {
                let key = self.key(other)?;
                if self.key(one)? == key {
                    let detail = format!("the key is that of sample {one} too");
                    return Err(self.in_data(Error::invalid(detail).in_row(other).in_key(key.into_owned())));
                }
            }
            Ok(None)
        })?;
        Ok(KeyHashes::computed(salt, &hashes))
    }

    /// The table of hashes, where it is built, or is worth it: `many` look-ups are, and the fifth single one is.
    pub(crate) fn key_table(&self, hashes: &KeyHashes, many: bool) -> Result<Option<&KeyTable>> {
        let parts = &self.parts;
        if let Some(table) = parts.table.get() {
            return Ok(Some(table));
        }
        if let Some(error) = parts.damage.get() {
            return Err(self.in_part(Part::KeyHashes, again(error)));
        }
        if !many && parts.scans.fetch_add(1, Ordering::Relaxed) < SCANS {
            return Ok(None);
        }
        // Whoever finds another thread at it scans: waiting would hang in a process that was forked meanwhile.
        let Ok(_building) = parts.building.try_lock() else { return Ok(None) };
        if let Some(table) = parts.table.get() {
            return Ok(Some(table));
        }
        match KeyTable::build(hashes.as_bytes(), |row| self.offsets.start(row).unwrap_or(u64::MAX), 0) {
            Ok(table) => Ok(Some(parts.table.get_or_init(|| table))),
            Err(error) => Err(self.in_part(Part::KeyHashes, again(parts.damage.get_or_init(|| error)))),
        }
    }

    /// The row of a hash, found by looking at one hash after another. Where `sure` says of the first that it is the one, those behind it
    /// are not looked at.
    pub(crate) fn scan(&self, hashes: &KeyHashes, hash: u64, sure: impl FnOnce(u64) -> bool) -> Result<Option<u64>> {
        let Some(row) = hashes.scan(hash, 0) else { return Ok(None) };
        if sure(row) {
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

    /// No salt parts two samples of the same key: it is named, and not looked for a thousand times.
    #[test]
    fn a_key_that_is_there_twice_is_named_at_once() {
        let mut data = Vec::new();
        for row in 0..20_000 {
            data.extend_from_slice(b"\x81\xa3key");
            crate::wire::put_str(&mut data, &format!("k{}", if row == 19_990 { 7 } else { row })).unwrap();
        }
        let reader = Reader::walk(Source::from(data), container_core::OpenOptions::default()).unwrap();
        let start = Instant::now();
        let error = reader.find("k5").unwrap_err().to_string();
        assert_eq!(error, r#"datadings: the key is that of sample 7 too (row 19990, key "k7")"#);
        assert!(start.elapsed().as_secs() < 3, "a thousand attempts take longer");
    }
}
