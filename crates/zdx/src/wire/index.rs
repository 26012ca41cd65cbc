//! The ZDX index: a head, and an entry for each document that there is.

use container_core::{Cursor, Error, Result};

/// The first four bytes of every index that was written: a number, least significant byte first.
pub const MAGIC: [u8; 4] = *b"ISDZ";

/// The same as the format's description prints it, which is read, too.
pub const MAGIC_DESCRIBED: [u8; 4] = *b"ZDSI";

/// The one version there is.
pub const VERSION: u32 = 1;

/// Bytes in front of the first entry.
pub const HEAD: usize = 16;

/// Bytes of an entry beside its id.
pub const AROUND: usize = 2 + 8 + 4;

/// Where a document's line lies in `data.jsonl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Entry<'b> {
    /// The document's id, as the file has it: not checked for being one.
    pub id: &'b [u8],
    /// The line's first byte, from the file's beginning.
    pub offset: u64,
    /// Bytes of the line: with its line feed as the reference counts, without as the description says.
    pub length: u32,
}

impl<'b> Entry<'b> {
    /// The entry with which these bytes begin, and what follows it; nothing where they hold no whole one.
    #[inline]
    pub(crate) fn split(bytes: &'b [u8]) -> Option<(Self, &'b [u8])> {
        let (len, rest) = bytes.split_first_chunk::<2>()?;
        let (id, rest) = rest.split_at_checked(u16::from_le_bytes(*len).into())?;
        let (offset, rest) = rest.split_first_chunk::<8>()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        Some((Self { id, offset: u64::from_le_bytes(*offset), length: u32::from_le_bytes(*length) }, rest))
    }
}

/// The head of an index, and the bytes of its entries.
#[derive(Debug, Clone, Copy)]
pub struct Index<'b> {
    file: &'b [u8],
    bytes: &'b [u8],
    count: u64,
}

impl<'b> Index<'b> {
    /// Checks the head of a whole index file. Costs nothing by the number of entries.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) for other bytes; [`Unsupported`](container_core::ErrorKind::Unsupported) for another
    /// version; [`Truncated`](container_core::ErrorKind::Truncated) where the head is not whole, or so many entries do not fit into what
    /// follows it.
    pub fn parse(bytes: &'b [u8]) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        let count = parse_head(&mut cursor)?;
        let least = count.saturating_mul(AROUND as u64 + 1);
        if least > cursor.remaining() as u64 {
            let error = Error::truncated(format!("{count} entries"), least, cursor.remaining() as u64);
            return Err(error.at(cursor.offset()));
        }
        Ok(Self { file: bytes, bytes: cursor.rest(), count })
    }

    /// The whole file.
    #[must_use]
    pub const fn file(&self) -> &'b [u8] {
        self.file
    }

    /// Entries, of which several may have one id: the last of them holds.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.count
    }

    /// True where no document is left.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All entries, in the order of the file, which means nothing. After an error there are no more.
    #[must_use]
    pub const fn entries(&self) -> Entries<'b> {
        Entries { cursor: Cursor::at(self.bytes, HEAD as u64), left: self.count, ended: false }
    }

    /// The entry that begins at this byte of the file, as [`Entries::offset`] told it.
    ///
    /// # Errors
    /// [`Truncated`](container_core::ErrorKind::Truncated) where none does.
    pub fn entry_at(&self, offset: u64) -> Result<Entry<'b>> {
        let start = offset.checked_sub(HEAD as u64).and_then(|start| usize::try_from(start).ok());
        let bytes = start.and_then(|start| self.bytes.get(start..)).unwrap_or_default();
        entry(&mut Cursor::at(bytes, offset))
    }
}

/// Reads the head of an index and gives the number of entries.
pub(super) fn parse_head(cursor: &mut Cursor<'_>) -> Result<u64> {
    let at = cursor.offset();
    let magic: [u8; 4] = cursor.array("the magic of the index")?;
    if magic != MAGIC && magic != MAGIC_DESCRIBED {
        return Err(Error::invalid(format!("the index begins with {magic:02x?}, not with \"ISDZ\" or \"ZDSI\"")).at(at));
    }
    let at = cursor.offset();
    let version = cursor.u32_le("the version of the index")?;
    if version != VERSION {
        return Err(Error::unsupported(format!("the version of the index is {version}; {VERSION} is read")).at(at));
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

/// A walk over the entries of an [`Index`].
#[derive(Debug, Clone)]
pub struct Entries<'b> {
    cursor: Cursor<'b>,
    left: u64,
    ended: bool,
}

impl Entries<'_> {
    /// Where the next entry begins in the file.
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
            let offset = self.cursor.offset() + (AROUND + entry.id.len()) as u64;
            (self.left, self.cursor) = (left, Cursor::at(rest, offset));
            return Some(Ok(entry));
        }
        self.end()
    }
}

impl<'b> Entries<'b> {
    /// What comes in the place of a whole entry.
    #[cold]
    fn end(&mut self) -> Option<Result<Entry<'b>>> {
        if self.ended {
            return None;
        }
        let Some(left) = self.left.checked_sub(1) else {
            self.ended = true;
            // What is behind the last entry was not counted: so the count cannot be believed.
            let behind = self.cursor.remaining();
            return (behind > 0).then(|| {
                let detail = format!("{behind} bytes follow the last of the entries that are counted");
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

/// The head of an index of so many entries.
#[must_use]
pub fn head(count: u64) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    let (magic, rest) = head.split_at_mut(4);
    magic.copy_from_slice(&MAGIC);
    let (version, number) = rest.split_at_mut(4);
    version.copy_from_slice(&VERSION.to_le_bytes());
    number.copy_from_slice(&count.to_le_bytes());
    head
}

/// Puts an entry behind what there is.
///
/// # Errors
/// [`Usage`](container_core::ErrorKind::Usage) for an id of more than 65,535 bytes.
pub fn put(entry: &Entry<'_>, out: &mut Vec<u8>) -> Result<()> {
    let too_long = |_| Error::usage(format!("an id has {} bytes: an index holds 65535", entry.id.len()));
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
        let mut out = head(entries.len() as u64).to_vec();
        for (id, offset, length) in entries {
            put(&Entry { id: id.as_bytes(), offset: *offset, length: *length }, &mut out).unwrap();
        }
        out
    }

    fn all(bytes: &[u8]) -> Result<Vec<Entry<'_>>> {
        Index::parse(bytes)?.entries().collect()
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = file(&[("a", 0, 12), ("doc-2", u64::MAX, u32::MAX)]);
        assert_eq!(bytes[..8], *b"ISDZ\x01\0\0\0");
        let index = Index::parse(&bytes).unwrap();
        assert_eq!((index.len(), index.is_empty()), (2, false));
        let mut entries = index.entries();
        let first = entries.next().unwrap().unwrap();
        assert_eq!(first, Entry { id: b"a", offset: 0, length: 12 });
        let place = entries.offset();
        let second = entries.next().unwrap().unwrap();
        assert_eq!(second, Entry { id: b"doc-2", offset: u64::MAX, length: u32::MAX });
        assert_eq!(index.entry_at(place).unwrap(), second);
        assert!(entries.next().is_none() && entries.next().is_none());
        let described = [&MAGIC_DESCRIBED, &bytes[4..]].concat();
        assert_eq!(all(&described).unwrap(), all(&bytes).unwrap());
    }

    #[test]
    fn lies_are_errors() {
        let good = file(&[("a", 0, 12), ("b", 12, 3)]);
        let with = |place: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[place] = byte;
            bytes
        };
        for (bytes, wanted) in [
            (with(0, b'X'), "the index begins with [58, 53, 44, 5a], not with \"ISDZ\" or \"ZDSI\" (byte 0)"),
            (with(4, 2), "the version of the index is 2; 1 is read (byte 4)"),
            (with(8, 3), "3 entries: needs 45 bytes, 30 available (byte 16)"),
            (with(8, 1), "15 bytes follow the last of the entries that are counted (byte 31)"),
            (with(31, 2), "the length of a document: needs 4 bytes, 3 available (byte 43)"),
            (with(15, 0xff), "18374686479671623682 entries: needs 18446744073709551615 bytes, 30 available (byte 16)"),
        ] {
            assert_eq!(all(&bytes).unwrap_err().to_string(), wanted);
        }
        let mut entries = Index::parse(&good).unwrap().entries();
        assert!(entries.all(|entry| entry.is_ok()));
        container_core::testkit::every_prefix_fails(&good, |bytes| all(bytes).map(drop));
        assert!(put(&Entry { id: &[b'a'; 65_536], offset: 0, length: 0 }, &mut Vec::new()).is_err());
    }
}
