//! Opening: which files there are, and whether they fit each other as far as a glance can tell.

use std::path::Path;

use container_core::{Bytes, Error, ErrorKind, OpenOptions, Result, Source};

use crate::FORMAT_NAME;
use crate::index::{KeyList, declared_count};
use crate::read::offsets::{InMemory, Offsets, one};
use crate::read::parts::Parts;
use crate::read::reader::Reader;
use crate::recover::Window;
use crate::verify::message::Allowance;
use crate::wire::offsets::{WIDTH, count};
use crate::wire::{FileSet, Part, Tokens};

/// Bytes of `.keys` that hold the number of keys.
const KEYS_HEADER_LEN: u64 = 5;

impl Reader {
    /// Opens a dataset by its data file, or by any file beside it (`d.msgpack.offsets` and so on), with default options.
    ///
    /// Costs two opened files, whatever their size: the data and `.offsets` (or `.index`, which is read whole).
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io) when the data or both indexes are missing or cannot be read,
    /// [`Truncated`](container_core::ErrorKind::Truncated) when the data end before the last sample does,
    /// [`Invalid`](container_core::ErrorKind::Invalid) when the index is none.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, OpenOptions::default())
    }

    /// Opens a dataset.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self> {
        let set = set_of(path.as_ref());
        let data = Source::open_with(set.data(), options.access).map_err(|error| error.in_format(FORMAT_NAME))?;
        Self::with_set(set, data, options)
    }

    pub(crate) fn with_set(set: FileSet, data: Source, options: OpenOptions) -> Result<Self> {
        let mut reader = Self {
            data_end: data.len(),
            set: Some(set),
            options,
            data,
            offsets: Offsets::Held(Vec::new()),
            in_memory: InMemory::default(),
            len: 0,
            legacy: false,
            parts: Parts::default(),
        };
        if let Some(source) = reader.part(Part::Offsets)? {
            reader.use_offsets(source).map_err(|error| reader.in_part(Part::Offsets, error))?;
        } else if let Some(source) = reader.part(Part::LegacyIndex)? {
            let bytes = source.read(0..source.len()).map_err(|error| reader.in_part(Part::LegacyIndex, error))?;
            reader.use_legacy(bytes).map_err(|error| reader.in_part(Part::LegacyIndex, error))?;
        } else {
            return Err(reader.in_data(Error::invalid(
                "there is no index: neither .offsets nor .index stands beside it (it can be rebuilt from the data)",
            )));
        }
        Ok(reader)
    }

    /// Reads samples that stand in `data` without any index: walks over all of them once, to know where each begins.
    ///
    /// Keys are those that the samples state. Takes 8 bytes of memory for each sample, and where data are read by position as much
    /// again as the largest.
    ///
    /// # Errors
    /// At the first byte that belongs to no whole message; [`Limit`](container_core::ErrorKind::Limit) for one that is too large to be
    /// read into memory.
    pub fn walk(data: Source, options: OpenOptions) -> Result<Self> {
        let mut starts = Vec::new();
        let mut window = Window::new(&data, options.limits);
        let (mut at, mut want) = (0, 1);
        while at < data.len() {
            let place = |error: Error| error.in_format(FORMAT_NAME).in_row(starts.len() as u64);
            let bytes = window.from(at, want).map_err(place)?;
            let (begin, held) = (at, bytes.len() as u64);
            let mut tokens = Tokens::at(bytes, at);
            while !tokens.is_empty() {
                match tokens.skip() {
                    Ok(_) => starts.push(std::mem::replace(&mut at, tokens.offset())),
                    // There is more of it than is at hand.
                    Err(error) if begin + held < data.len() && matches!(error.kind(), ErrorKind::Truncated { .. }) => {
                        break;
                    }
                    Err(error) => return Err(error.in_format(FORMAT_NAME).in_row(starts.len() as u64)),
                }
            }
            want = if at == begin { held.saturating_mul(2).max(1) } else { 1 };
        }
        Ok(Self {
            data_end: data.len(),
            set: None,
            options,
            data,
            len: starts.len() as u64,
            offsets: Offsets::Held(starts),
            in_memory: InMemory::default(),
            legacy: false,
            parts: Parts::default(),
        })
    }

    /// Takes a `.offsets` file, of n or n + 1 offsets.
    fn use_offsets(&mut self, source: Source) -> Result<()> {
        let count = count(source.len())?;
        let last = one(&source, count - 1)?;
        let data = self.data.len();
        if last > data {
            let detail = "the data, up to the last offset";
            return Err(Error::truncated(detail, last, data).at((count - 1) * WIDTH));
        }
        let open_end = last < data && self.ends_open(count, last)?;
        self.data_end = if open_end { self.end_of_last(last)? } else { last };
        self.len = if open_end { count } else { count - 1 };
        self.in_memory = InMemory::new(&source, &self.data, self.data_end)?;
        self.offsets = Offsets::File { source, open_end };
        Ok(())
    }

    /// There are data behind the last offset: is it where the last sample begins, or are they left from an append?
    fn ends_open(&self, count: u64, last: u64) -> Result<bool> {
        if let Some(source) = self.part(Part::Keys)? {
            let head = source.read(0..source.len().min(KEYS_HEADER_LEN))?;
            return Ok(declared_count(&head).is_ok_and(|keys| keys == count));
        }
        if let Some(source) = self.part(Part::KeyHashes)? {
            return Ok(source.len() == WIDTH * (count + 1));
        }
        // One message that reaches the end is the last sample.
        let behind = self.data.len() - last;
        if self.data.as_slice().is_none() && behind > self.options.limits.block_bytes {
            return Ok(false);
        }
        let bytes = self.data.read(last..self.data.len())?;
        let mut tokens = Tokens::at(&bytes, last);
        Ok(tokens.skip().is_ok() && tokens.is_empty())
    }

    /// Where the last sample ends, of which the index says no more than where it begins: with its message. What an append may
    /// have left behind that is no part of it. Data that hold no whole message there are its own to their end.
    fn end_of_last(&self, last: u64) -> Result<u64> {
        let mut allowance = Allowance::unbounded(self.options.limits.depth);
        match Window::new(&self.data, self.options.limits).message(last, &mut allowance, &mut |_, _| {}) {
            Ok(message) => Ok(last + message.bytes.len() as u64),
            Err(error) if error.kind() == ErrorKind::Io => Err(self.in_data(error)),
            Err(_) => Ok(self.data.len()),
        }
    }

    /// Takes a legacy index.
    fn use_legacy(&mut self, bytes: Bytes) -> Result<()> {
        let (keys, starts) = KeyList::parse_legacy(bytes)?;
        let data = self.data.len();
        let backwards = starts.windows(2).position(|pair| pair.first() > pair.last());
        if let Some(row) = backwards {
            let (one, next) = (starts.get(row).copied().unwrap_or(0), starts.get(row + 1).copied().unwrap_or(0));
            let detail = format!("the sample begins at {one} and the next one before, at {next}");
            return Err(Error::invalid(detail).in_row(row as u64));
        }
        if let Some(&last) = starts.last()
            && last >= data
        {
            let detail = format!("the last sample begins at {last}, at or past the end of the {data} bytes of data");
            return Err(Error::invalid(detail).in_row(starts.len() as u64 - 1));
        }
        self.len = starts.len() as u64;
        self.data_end = match starts.last() {
            Some(last) => self.end_of_last(*last)?,
            None => 0,
        };
        self.offsets = Offsets::Held(starts);
        self.legacy = true;
        let _ = self.parts.keys.set(Some(keys)); // nothing was there before
        Ok(())
    }
}

/// The set that a path leads to: its own, or that of the data file it stands beside.
pub(crate) fn set_of(path: &Path) -> FileSet {
    match FileSet::beside(path) {
        // A data file may be called `x.index`: then it is not one beside `x`, unless that is there too.
        Some(set) if set.data().is_file() || !path.is_file() => set,
        _ => FileSet::new(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use container_core::ReadAt;

    /// Data that are read by position; tells when much is read at once.
    struct Positional(Vec<u8>, usize);

    impl ReadAt for Positional {
        fn len(&self) -> u64 {
            self.0.len() as u64
        }

        fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
            assert!(buffer.len() <= self.1, "{} bytes at once", buffer.len());
            buffer.copy_from_slice(&self.0[offset as usize..][..buffer.len()]);
            Ok(())
        }
    }

    #[test]
    fn a_walk_is_the_same_in_memory_and_by_position() {
        let mut data = Vec::new();
        // Small ones, such as end where a window does, and some larger than any window; then many that are nested.
        for len in [0, 1, 300, 1 << 20, (1 << 20) - 5, 7, 5 << 20, 2, 3 << 20]
            .into_iter()
            .chain(std::iter::repeat_n(100, 30_000))
        {
            crate::wire::put_bin(&mut data, &vec![7; len]).unwrap();
        }
        data.extend([0xdd, 0, 0x20, 0, 0]);
        data.resize(data.len() + 0x20_0000, 0xc0);
        for cut in [0, 1, 0x1f_ffff, 0x20_0001, 0x20_0006] {
            let data = &data[..data.len() - cut];
            let [one, other] = [Source::from(data.to_vec()), Source::new(Positional(data.to_vec(), 11 << 20))]
                .map(|source| Reader::walk(source, OpenOptions::default()));
            match (one, other) {
                (Ok(one), Ok(other)) => {
                    let extents = |reader: &Reader| -> Vec<_> {
                        (0..reader.len()).map(|row| reader.extent(row).unwrap()).collect()
                    };
                    assert!(cut == 0 && one.len() == 30_010 && extents(&one) == extents(&other));
                }
                (Err(one), Err(other)) => {
                    assert!(cut > 0 && one.to_string() == other.to_string(), "{cut}: {one}; {other}")
                }
                _ => panic!("{cut}: only one of both can be walked over"),
            }
        }
        let limits = container_core::Limits::default().with_block_bytes(2 << 20);
        let source = Source::new(Positional(data, 2 << 20));
        let error = Reader::walk(source, OpenOptions::default().with_limits(limits)).unwrap_err().to_string();
        assert!(error.starts_with("datadings: the length of a sample") && error.contains("row 6"), "{error}");
    }

    /// A set with these files beside data of these bytes.
    fn open(data: &[u8], parts: &[(Part, &[u8])]) -> Result<Reader> {
        let folder = tempfile::tempdir().unwrap();
        let set = FileSet::new(folder.path().join("d.msgpack"));
        std::fs::write(set.data(), data).unwrap();
        parts.iter().for_each(|(part, bytes)| std::fs::write(set.path(*part), bytes).unwrap());
        Reader::open(set.data())
    }

    #[test]
    fn the_last_sample_of_an_older_index_begins_inside_the_data() {
        let data = b"\x81\xa3key\xa1a";
        let index = |start| [0x81, 0xa1, b'a', start];
        assert_eq!(open(data, &[(Part::LegacyIndex, &index(0))]).unwrap().extent(0).unwrap(), 0..7);
        assert_eq!(open(data, &[(Part::LegacyIndex, &index(6))]).unwrap().extent(0).unwrap(), 6..7);
        let error = open(data, &[(Part::LegacyIndex, &index(7))]).unwrap_err().to_string();
        assert!(
            error.contains("the last sample begins at 7, at or past the end of the 7 bytes of data (row 0)"),
            "{error}"
        );
    }

    #[test]
    fn only_as_many_keys_as_offsets_make_the_last_one_a_beginning() {
        let data = b"\x81\xa3key\xa1a\x81\xa3key\xa1b\xc0";
        let offsets = [0u64, 7].map(u64::to_be_bytes).concat();
        for (stated, len) in [(1, 1), (2, 2), (3, 1), (9, 1)] {
            let keys = [0x90 | stated];
            let reader = open(data, &[(Part::Offsets, &offsets), (Part::Keys, &keys)]).unwrap();
            assert_eq!((reader.len(), reader.trailing_bytes()), (len, if len == 2 { 1 } else { 8 }), "{stated} keys");
            let hashes = vec![0; 8 + 8 * usize::from(stated)];
            let reader = open(data, &[(Part::Offsets, &offsets), (Part::KeyHashes, &hashes)]).unwrap();
            assert_eq!(reader.len(), len, "{stated} hashes");
        }
    }

    #[test]
    fn what_is_read_by_position_is_no_larger_than_the_limit() {
        let mut reader = Reader::walk(Source::new(Positional(vec![0xa3, 1, 2, 3], 4)), OpenOptions::default()).unwrap();
        assert_eq!(reader.get(0).unwrap().as_bytes().len(), 4);
        reader.options.limits = reader.options.limits.with_block_bytes(3);
        let error = reader.get(0).unwrap_err().to_string();
        assert_eq!(error, "datadings: the length of a sample 4 exceeds the limit 3 (byte 0, row 0)");
        assert!(reader.iter().next().unwrap().is_err());
    }
}
