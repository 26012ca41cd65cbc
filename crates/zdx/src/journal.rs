//! What a writer of this crate did since it wrote the index, for when it dies: how long the data were then, and what it deleted.
//!
//! The format has no place for either. Documents that are appended stand in the data, behind the end that the journal states; without it
//! they could not be told from deleted ones, which stand there, too, and which the index does not name. The journal names the index that
//! it belongs to by length and sum: beside another one, which some other program wrote meanwhile, it means nothing.

use std::collections::HashMap;

use container_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// The first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    /// Of this form of journals.
    pub(crate) version: u32,
    /// The index that it belongs to; none where there was none.
    pub(crate) index: Option<IndexMark>,
    /// Bytes of data of which that index speaks.
    pub(crate) data_bytes: u64,
    /// The data are about to be replaced by shorter ones, of which it does not speak.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) compacts: bool,
}

/// The one version there is.
pub(crate) const VERSION: u32 = 1;

/// An index, by what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IndexMark {
    pub(crate) bytes: u64,
    pub(crate) crc32: u32,
}

impl IndexMark {
    /// The mark of these bytes.
    pub(crate) fn of(index: &[u8]) -> Self {
        Self { bytes: index.len() as u64, crc32: crc32fast::hash(index) }
    }
}

/// Every other line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Deletion {
    /// The document's id.
    pub(crate) delete: String,
    /// Bytes of data at that moment: a line behind has it again.
    pub(crate) data_bytes: u64,
}

/// A journal, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Journal {
    pub(crate) head: Head,
    /// Ids, and the bytes of data in front of which they were deleted.
    pub(crate) deleted: HashMap<String, u64>,
}

impl Journal {
    /// Reads a journal, beside so many bytes of data. A last line without a line feed was not written whole, and what it says was promised
    /// to nobody. The same goes for a deletion whose data are not there: it is written before the lines that were put before it, so that
    /// those in the files are always the first so many of all changes.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) and [`Unsupported`](container_core::ErrorKind::Unsupported), with the line.
    pub(crate) fn parse(bytes: &[u8], data_len: u64) -> Result<Option<Self>> {
        let whole = memchr::memrchr(b'\n', bytes).map_or(0, |feed| feed + 1);
        let mut lines = crate::wire::lines::lines(bytes.get(..whole).unwrap_or_default());
        let Some(first) = lines.next() else { return Ok(None) };
        let wrong = |line: &crate::wire::lines::Line<'_>, cause: serde_json::Error| {
            Error::invalid("a line of the journal is none").caused_by(cause).at(line.offset).in_line(line.number)
        };
        let head: Head = serde_json::from_slice(first.bytes).map_err(|cause| wrong(&first, cause))?;
        if head.version != VERSION {
            let found = head.version;
            return Err(Error::unsupported(format!("the version of the journal is {found}; {VERSION} is read")).at(0));
        }
        let mut deleted = HashMap::new();
        for line in lines {
            let Deletion { delete, data_bytes } =
                serde_json::from_slice(line.bytes).map_err(|cause| wrong(&line, cause))?;
            if data_bytes <= data_len {
                deleted.insert(delete, data_bytes);
            }
        }
        Ok(Some(Self { head, deleted }))
    }

    /// Was the document of this id, whose line begins here, deleted?
    pub(crate) fn is_deleted(&self, id: &[u8], offset: u64) -> bool {
        !self.deleted.is_empty()
            && std::str::from_utf8(id).is_ok_and(|id| self.deleted.get(id).is_some_and(|end| offset < *end))
    }

    /// Were the data of so many bytes put in the place of those that the index speaks of?
    pub(crate) const fn was_compacted(&self, data_bytes: u64) -> bool {
        self.head.compacts && data_bytes < self.head.data_bytes
    }
}

/// A line of a journal.
pub(crate) fn line(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value).map_err(|cause| Error::usage("no line of a journal").caused_by(cause))?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let head = Head { version: VERSION, index: Some(IndexMark::of(b"an index")), data_bytes: 100, compacts: false };
        let deletion = |id: &str, data_bytes| Deletion { delete: id.to_owned(), data_bytes };
        let lines = [line(&head), line(&deletion("a", 100)), line(&deletion("b", 120)), line(&deletion("a", 150))];
        let mut bytes: Vec<u8> = lines.into_iter().flat_map(Result::unwrap).collect();
        let journal = Journal::parse(&bytes, 150).unwrap().unwrap();
        assert_eq!(journal.head, head);
        assert!(journal.is_deleted(b"a", 149) && !journal.is_deleted(b"a", 150) && !journal.is_deleted(b"c", 0));
        // What was deleted behind the end of the data was not yet, but what was before is.
        let journal = Journal::parse(&bytes, 149).unwrap().unwrap();
        assert!(journal.is_deleted(b"a", 99) && !journal.is_deleted(b"a", 100));
        assert!(!journal.was_compacted(99));
        // What was not written whole was promised to nobody.
        bytes.truncate(bytes.len() - 1);
        assert!(!Journal::parse(&bytes, 150).unwrap().unwrap().is_deleted(b"a", 149));
        assert_eq!(Journal::parse(b"{\"version\":1", 150).unwrap(), None);
    }

    #[test]
    fn what_is_no_journal_is_an_error() {
        let head = "{\"version\":1,\"index\":null,\"data_bytes\":0}\n";
        for (text, wanted) in [
            ("x\n".to_owned(), "a line of the journal is none: expected value at line 1 column 1 (byte 0, line 1)"),
            (head.replace('1', "2"), "the version of the journal is 2; 1 is read (byte 0)"),
            (
                head.to_owned() + "{}\n",
                "a line of the journal is none: missing field `delete` at line 1 column 2 (byte 42, line 2)",
            ),
        ] {
            assert_eq!(Journal::parse(text.as_bytes(), 0).unwrap_err().to_string(), wanted);
        }
    }
}
