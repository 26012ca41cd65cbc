//! The ZDX index: a header, and one entry per document.

use container_core::{Cursor, Error, Result};

/// Magic number of an index, as written by the reference.
pub const MAGIC: [u8; 4] = *b"ISDZ";

/// Magic number as printed in the format's description; accepted when reading.
pub const MAGIC_DESCRIBED: [u8; 4] = *b"ZDSI";

/// The only version.
pub const VERSION: u32 = 1;

/// Length of the header in bytes: magic, version, number of entries.
pub const HEADER_LEN: usize = 16;

/// Bytes of an entry in addition to its id: id length, offset, length.
pub const ENTRY_OVERHEAD: usize = 2 + 8 + 4;

/// An index entry: where a document's line is in `data.jsonl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Entry<'b> {
    /// The document's id, not validated.
    pub id: &'b [u8],
    /// Offset of the line.
    pub offset: u64,
    /// Length of the line in bytes: including its line feed in files of the reference, excluding it in the format's description.
    pub length: u32,
}

impl<'b> Entry<'b> {
    /// Splits the first entry from the bytes; `None` if it is incomplete.
    #[inline]
    pub(crate) fn split(bytes: &'b [u8]) -> Option<(Self, &'b [u8])> {
        let (len, rest) = bytes.split_first_chunk::<2>()?;
        let (id, rest) = rest.split_at_checked(u16::from_le_bytes(*len).into())?;
        let (offset, rest) = rest.split_first_chunk::<8>()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        Some((Self { id, offset: u64::from_le_bytes(*offset), length: u32::from_le_bytes(*length) }, rest))
    }
}

/// An index file with a validated header.
#[derive(Debug, Clone, Copy)]
pub struct Index<'b> {
    file: &'b [u8],
    bytes: &'b [u8],
    count: u64,
}

impl<'b> Index<'b> {
    /// Parses the header of an index file. O(1): no entry is read.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) for a wrong magic number; [`Unsupported`](container_core::ErrorKind::Unsupported) for
    /// another version; [`Truncated`](container_core::ErrorKind::Truncated) if the header is incomplete, or the file too short for the stated
    /// number of entries.
    pub fn parse(bytes: &'b [u8]) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        let count = parse_header(&mut cursor)?;
        let min_len = count.saturating_mul(ENTRY_OVERHEAD as u64 + 1);
        if min_len > cursor.remaining() as u64 {
            let error = Error::truncated(format!("{count} entries"), min_len, cursor.remaining() as u64);
            return Err(error.at(cursor.offset()));
        }
        Ok(Self { file: bytes, bytes: cursor.rest(), count })
    }

    /// The whole file.
    #[must_use]
    pub const fn file(&self) -> &'b [u8] {
        self.file
    }

    /// Number of entries. Several may have the same id: the last one counts.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.count
    }

    /// Whether there are no entries.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All entries in file order, which has no meaning. The iterator ends after an error.
    #[must_use]
    pub const fn entries(&self) -> Entries<'b> {
        Entries { cursor: Cursor::at(self.bytes, HEADER_LEN as u64), left: self.count, ended: false }
    }

    /// The entry at an offset returned by [`Entries::offset`].
    ///
    /// # Errors
    /// [`Truncated`](container_core::ErrorKind::Truncated) if there is no entry.
    pub fn entry_at(&self, offset: u64) -> Result<Entry<'b>> {
        let start = offset.checked_sub(HEADER_LEN as u64).and_then(|start| usize::try_from(start).ok());
        let bytes = start.and_then(|start| self.bytes.get(start..)).unwrap_or_default();
        entry(&mut Cursor::at(bytes, offset))
    }
}

/// Parses the header and returns the number of entries.
pub(super) fn parse_header(cursor: &mut Cursor<'_>) -> Result<u64> {
    let at = cursor.offset();
    let magic: [u8; 4] = cursor.array("the magic of the index")?;
    if magic != MAGIC && magic != MAGIC_DESCRIBED {
        let detail = format!("unrecognized index (expected \"ISDZ\" or \"ZDSI\"): begins with {magic:02x?}");
        return Err(Error::invalid(detail).at(at));
    }
    let at = cursor.offset();
    let version = cursor.u32_le("the version of the index")?;
    if version != VERSION {
        return Err(Error::unsupported(format!("index version: expected {VERSION}, found {version}")).at(at));
    }
    cursor.u64_le("the number of entries")
}

pub(super) fn entry<'b>(cursor: &mut Cursor<'b>) -> Result<Entry<'b>> {
    let len = cursor.u16_le("the length of an id")?;
    let id = cursor.take(len.into(), "an id")?;
    Ok(Entry {
        id,
        offset: cursor.u64_le("the offset of a document")?,
        length: cursor.u32_le("the length of a document")?,
    })
}

/// Iterator over the entries of an [`Index`].
#[derive(Debug, Clone)]
pub struct Entries<'b> {
    cursor: Cursor<'b>,
    left: u64,
    ended: bool,
}

impl Entries<'_> {
    /// File offset of the next entry.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.cursor.offset()
    }
}

impl<'b> Iterator for Entries<'b> {
    type Item = Result<Entry<'b>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if !self.ended
            && let Some(left) = self.left.checked_sub(1)
            && let Some((entry, rest)) = Entry::split(self.cursor.rest())
        {
            let offset = self.cursor.offset() + (ENTRY_OVERHEAD + entry.id.len()) as u64;
            (self.left, self.cursor) = (left, Cursor::at(rest, offset));
            return Some(Ok(entry));
        }
        self.end()
    }
}

impl<'b> Entries<'b> {
    /// The end, or the error for an incomplete entry or trailing bytes.
    #[cold]
    fn end(&mut self) -> Option<Result<Entry<'b>>> {
        if self.ended {
            return None;
        }
        let Some(left) = self.left.checked_sub(1) else {
            self.ended = true;
            // Trailing bytes mean that the number of entries is wrong.
            let trailing = self.cursor.remaining();
            return (trailing > 0).then(|| {
                let detail = format!("{trailing} unexpected bytes after the last entry");
                Err(Error::invalid(detail).at(self.cursor.offset()))
            });
        };
        self.left = left;
        let entry = entry(&mut self.cursor);
        self.ended = entry.is_err();
        Some(entry)
    }
}

impl std::iter::FusedIterator for Entries<'_> {}

/// Encodes the header of an index with this many entries.
#[must_use]
pub fn header(count: u64) -> [u8; HEADER_LEN] {
    let mut header_bytes = [0; HEADER_LEN];
    let (magic, rest) = header_bytes.split_at_mut(4);
    magic.copy_from_slice(&MAGIC);
    let (version, number) = rest.split_at_mut(4);
    version.copy_from_slice(&VERSION.to_le_bytes());
    number.copy_from_slice(&count.to_le_bytes());
    header_bytes
}

/// Appends an encoded entry to `out`.
///
/// # Errors
/// [`Usage`](container_core::ErrorKind::Usage) for an id of more than 65,535 bytes.
pub fn put(entry: &Entry<'_>, out: &mut Vec<u8>) -> Result<()> {
    let too_long = |_| Error::usage(format!("id length: expected at most 65535 bytes, found {}", entry.id.len()));
    let len = u16::try_from(entry.id.len()).map_err(too_long)?;
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(entry.id);
    out.extend_from_slice(&entry.offset.to_le_bytes());
    out.extend_from_slice(&entry.length.to_le_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(entries: &[(&str, u64, u32)]) -> Vec<u8> {
        let mut out = header(entries.len() as u64).to_vec();
        for (id, offset, length) in entries {
            put(&Entry { id: id.as_bytes(), offset: *offset, length: *length }, &mut out).unwrap();
        }
        out
    }

    fn all(bytes: &[u8]) -> Result<Vec<Entry<'_>>> {
        Index::parse(bytes)?.entries().collect()
    }

    #[test]
    fn round_trips() {
        let bytes = file(&[("a", 0, 12), ("doc-2", u64::MAX, u32::MAX)]);
        assert_eq!(bytes[..8], *b"ISDZ\x01\0\0\0");
        let index = Index::parse(&bytes).unwrap();
        assert_eq!((index.len(), index.is_empty()), (2, false));
        let mut entries = index.entries();
        let first = entries.next().unwrap().unwrap();
        assert_eq!(first, Entry { id: b"a", offset: 0, length: 12 });
        let at = entries.offset();
        let second = entries.next().unwrap().unwrap();
        assert_eq!(second, Entry { id: b"doc-2", offset: u64::MAX, length: u32::MAX });
        assert_eq!(index.entry_at(at).unwrap(), second);
        assert!(entries.next().is_none() && entries.next().is_none());
        let described = [&MAGIC_DESCRIBED, &bytes[4..]].concat();
        assert_eq!(all(&described).unwrap(), all(&bytes).unwrap());
    }

    #[test]
    fn rejects_damaged_files() {
        let good = file(&[("a", 0, 12), ("b", 12, 3)]);
        let with = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            bytes
        };
        for (bytes, expected) in [
            (
                with(0, b'X'),
                "unrecognized index (expected \"ISDZ\" or \"ZDSI\"): begins with [58, 53, 44, 5a] (byte 0)",
            ),
            (with(4, 2), "index version: expected 1, found 2 (byte 4)"),
            (with(8, 3), "3 entries: needs 45 bytes, 30 available (byte 16)"),
            (with(8, 1), "15 unexpected bytes after the last entry (byte 31)"),
            (with(31, 2), "the length of a document: needs 4 bytes, 3 available (byte 43)"),
            (with(15, 0xff), "18374686479671623682 entries: needs 18446744073709551615 bytes, 30 available (byte 16)"),
        ] {
            assert_eq!(all(&bytes).unwrap_err().to_string(), expected);
        }
        let mut entries = Index::parse(&good).unwrap().entries();
        assert!(entries.all(|entry| entry.is_ok()));
        container_core::testkit::every_prefix_fails(&good, |bytes| all(bytes).map(drop));
        assert!(put(&Entry { id: &[b'a'; 65_536], offset: 0, length: 0 }, &mut Vec::new()).is_err());
    }
}
