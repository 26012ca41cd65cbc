//! Opens datasets and checks, as far as is cheap, that their files match.

use std::path::Path;

use container_core::{Bytes, Error, ErrorKind, OpenOptions, Result, Source};

use crate::FORMAT_NAME;
use crate::index::{KeyList, declared_count};
use crate::read::offsets::{InMemory, Offsets, read_offset};
use crate::read::parts::Parts;
use crate::read::reader::Reader;
use crate::recover::Window;
use crate::verify::message::Budget;
use crate::wire::offsets::{WIDTH, count};
use crate::wire::{FileSet, Part, Tokens};

/// Maximum bytes of the array header of `.keys`.
const KEYS_HEADER_LEN: u64 = 5;

impl Reader {
    /// Opens a dataset with default options, by its data file or any file beside it (such as `d.msgpack.offsets`).
    ///
    /// Opens two files, whatever their size: the data and `.offsets` (or `.index`, which is read whole).
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io) when the data or both indexes are missing or unreadable,
    /// [`Truncated`](container_core::ErrorKind::Truncated) when the data end before the last sample,
    /// [`Invalid`](container_core::ErrorKind::Invalid) when the index is invalid.
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
            offsets: Offsets::Starts(Vec::new()),
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
                "no index: neither .offsets nor .index exists (it can be rebuilt from the data)",
            )));
        }
        Ok(reader)
    }

    /// Reads samples without an index: scans `data` once to find where each begins. O(bytes).
    ///
    /// Keys are those stored in the samples. Takes 8 bytes of memory per sample, and as much as the largest sample if the data are read
    /// by position.
    ///
    /// # Errors
    /// The first byte that is not part of a complete message; [`Limit`](container_core::ErrorKind::Limit) for a sample too large to read
    /// into memory.
    pub fn scan(data: Source, options: OpenOptions) -> Result<Self> {
        let mut starts = Vec::new();
        let mut window = Window::new(&data, options.limits);
        let (mut at, mut min_len) = (0, 1);
        while at < data.len() {
            let place = |error: Error| error.in_format(FORMAT_NAME).in_row(starts.len() as u64);
            let bytes = window.bytes_from(at, min_len).map_err(place)?;
            let (begin, available) = (at, bytes.len() as u64);
            let mut tokens = Tokens::at(bytes, at);
            while !tokens.is_empty() {
                match tokens.skip() {
                    Ok(_) => starts.push(std::mem::replace(&mut at, tokens.offset())),
                    // The message continues past the window.
                    Err(error)
                        if begin + available < data.len() && matches!(error.kind(), ErrorKind::Truncated { .. }) =>
                    {
                        break;
                    }
                    Err(error) => return Err(error.in_format(FORMAT_NAME).in_row(starts.len() as u64)),
                }
            }
            min_len = if at == begin { available.saturating_mul(2).max(1) } else { 1 };
        }
        Ok(Self {
            data_end: data.len(),
            set: None,
            options,
            data,
            len: starts.len() as u64,
            offsets: Offsets::Starts(starts),
            in_memory: InMemory::default(),
            legacy: false,
            parts: Parts::default(),
        })
    }

    /// Uses a `.offsets` file, of n or n + 1 offsets.
    fn use_offsets(&mut self, source: Source) -> Result<()> {
        let count = count(source.len())?;
        let last = read_offset(&source, count - 1)?;
        let data = self.data.len();
        if last > data {
            let detail = "data up to the last offset";
            return Err(Error::truncated(detail, last, data).at((count - 1) * WIDTH));
        }
        let open_end = last < data && self.is_open_end(count, last)?;
        self.data_end = if open_end { self.end_of_last(last)? } else { last };
        self.len = if open_end { count } else { count - 1 };
        self.in_memory = InMemory::new(&source, &self.data, self.data_end)?;
        self.offsets = Offsets::File { source, open_end };
        Ok(())
    }

    /// Data follow the last offset: whether it is the start of the last sample rather than its end (an interrupted append).
    fn is_open_end(&self, count: u64, last: u64) -> Result<bool> {
        if let Some(source) = self.part(Part::Keys)? {
            let head = source.read(0..source.len().min(KEYS_HEADER_LEN))?;
            return Ok(declared_count(&head).is_ok_and(|keys| keys == count));
        }
        if let Some(source) = self.part(Part::KeyHashes)? {
            return Ok(source.len() == WIDTH * (count + 1));
        }
        // A single message that reaches the end is the last sample.
        let trailing = self.data.len() - last;
        if self.data.as_slice().is_none() && trailing > self.options.limits.block_bytes {
            return Ok(false);
        }
        let bytes = self.data.read(last..self.data.len())?;
        let mut tokens = Tokens::at(&bytes, last);
        Ok(tokens.skip().is_ok() && tokens.is_empty())
    }

    /// The end of the last sample, if the index gives only its start: the end of its message. Bytes after it may be from an append. Data
    /// without a complete message there belong to the sample up to their end.
    fn end_of_last(&self, last: u64) -> Result<u64> {
        let mut budget = Budget::unbounded(self.options.limits.depth);
        match Window::new(&self.data, self.options.limits).message(last, &mut budget, &mut |_, _| {}) {
            Ok(message) => Ok(last + message.bytes.len() as u64),
            Err(error) if error.kind() == ErrorKind::Io => Err(self.in_data(error)),
            Err(_) => Ok(self.data.len()),
        }
    }

    /// Uses a legacy index.
    fn use_legacy(&mut self, bytes: Bytes) -> Result<()> {
        let (keys, starts) = KeyList::parse_legacy(bytes)?;
        let data = self.data.len();
        let backwards = starts.windows(2).position(|pair| pair.first() > pair.last());
        if let Some(row) = backwards {
            let (start, next) = (starts.get(row).copied().unwrap_or(0), starts.get(row + 1).copied().unwrap_or(0));
            let detail = format!("sample begins at byte {start}, but the next one at byte {next}");
            return Err(Error::invalid(detail).in_row(row as u64));
        }
        if let Some(&last) = starts.last()
            && last >= data
        {
            let detail = format!("last sample begins at byte {last}, past the end of the data ({data} bytes)");
            return Err(Error::invalid(detail).in_row(starts.len() as u64 - 1));
        }
        self.len = starts.len() as u64;
        self.data_end = match starts.last() {
            Some(last) => self.end_of_last(*last)?,
            None => 0,
        };
        self.offsets = Offsets::Starts(starts);
        self.legacy = true;
        let _ = self.parts.keys.set(Some(keys)); // cannot fail: the reader is new
        Ok(())
    }
}

/// The file set of a path: that of a companion file, if it is one, else that of the path as data file.
pub(crate) fn set_of(path: &Path) -> FileSet {
    match FileSet::beside(path) {
        // A data file may itself be called `x.index`; it is a companion of `x` only if that exists too.
        Some(set) if set.data().is_file() || !path.is_file() => set,
        _ => FileSet::new(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use container_core::ReadAt;

    /// Data read by position; panics on reads larger than the limit.
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
    fn scan_is_the_same_in_memory_and_by_position() {
        let mut data = Vec::new();
        // Small samples, some ending at a window's end, and some larger than a window; then many nested values.
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
            let [mapped, positional] = [Source::from(data.to_vec()), Source::new(Positional(data.to_vec(), 11 << 20))]
                .map(|source| Reader::scan(source, OpenOptions::default()));
            match (mapped, positional) {
                (Ok(mapped), Ok(positional)) => {
                    let extents = |reader: &Reader| -> Vec<_> {
                        (0..reader.len()).map(|row| reader.extent(row).unwrap()).collect()
                    };
                    assert!(cut == 0 && mapped.len() == 30_010 && extents(&mapped) == extents(&positional));
                }
                (Err(mapped), Err(positional)) => {
                    assert!(cut > 0 && mapped.to_string() == positional.to_string(), "{cut}: {mapped}; {positional}")
                }
                _ => panic!("{cut}: only one of both succeeds"),
            }
        }
        let limits = container_core::Limits::default().with_block_bytes(2 << 20);
        let source = Source::new(Positional(data, 2 << 20));
        let error = Reader::scan(source, OpenOptions::default().with_limits(limits)).unwrap_err().to_string();
        assert!(error.starts_with("datadings: sample length") && error.contains("row 6"), "{error}");
    }

    /// Opens a set with these data and companion files.
    fn open(data: &[u8], parts: &[(Part, &[u8])]) -> Result<Reader> {
        let folder = tempfile::tempdir().unwrap();
        let set = FileSet::new(folder.path().join("d.msgpack"));
        std::fs::write(set.data(), data).unwrap();
        parts.iter().for_each(|(part, bytes)| std::fs::write(set.path(*part), bytes).unwrap());
        Reader::open(set.data())
    }

    #[test]
    fn last_sample_of_a_legacy_index_begins_inside_the_data() {
        let data = b"\x81\xa3key\xa1a";
        let index = |start| [0x81, 0xa1, b'a', start];
        assert_eq!(open(data, &[(Part::LegacyIndex, &index(0))]).unwrap().extent(0).unwrap(), 0..7);
        assert_eq!(open(data, &[(Part::LegacyIndex, &index(6))]).unwrap().extent(0).unwrap(), 6..7);
        let error = open(data, &[(Part::LegacyIndex, &index(7))]).unwrap_err().to_string();
        assert!(error.contains("last sample begins at byte 7, past the end of the data (7 bytes) (row 0)"), "{error}");
    }

    #[test]
    fn n_offsets_need_n_keys() {
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
    fn positional_reads_respect_the_limit() {
        let mut reader = Reader::scan(Source::new(Positional(vec![0xa3, 1, 2, 3], 4)), OpenOptions::default()).unwrap();
        assert_eq!(reader.get(0).unwrap().as_bytes().len(), 4);
        reader.options.limits = reader.options.limits.with_block_bytes(3);
        let error = reader.get(0).unwrap_err().to_string();
        assert_eq!(error, "datadings: sample length 4 exceeds the limit 3 (byte 0, row 0)");
        assert!(reader.iter().next().unwrap().is_err());
    }
}
