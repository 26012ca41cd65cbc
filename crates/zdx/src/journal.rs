//! What a writer of this crate did since it wrote the index, for when it dies: how long the data were then, what it deleted, and which of
//! its changes count only together.
//!
//! The format has no place for any of that. Appended documents stand in the data, behind the end that the journal states; without it
//! they could not be told from deleted ones, which stand there, too, and which the index does not name. The journal names the index that
//! it belongs to by length and sum: beside another one, which some other program wrote meanwhile, it means nothing.
//!
//! A transaction is a pair of records, [`Record::Begin`] and [`Record::End`]. As long as the second is missing the data end where the
//! first says, and deletions behind it do not count. The index that is written at the end of a transaction ends it, too.

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

/// The version that is written. Version 1 had no transactions, and is read as well.
pub(crate) const VERSION: u32 = 2;

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
#[serde(untagged)]
pub(crate) enum Record {
    Delete {
        /// The document's id.
        delete: String,
        /// Bytes of data at that moment: a line behind has it again.
        data_bytes: u64,
    },
    /// What follows counts only together. The data were so many bytes.
    Begin { begin: u64 },
    /// The transaction is whole, with so many bytes of data.
    End { end: u64 },
    /// This index is about to be written, and ends the transaction. Then these documents' own files are to be removed.
    Publish { publish: IndexMark, remove: Vec<String> },
}

/// A journal, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Journal {
    pub(crate) head: Head,
    /// Ids, and the bytes of data in front of which they were deleted.
    deleted: HashMap<String, u64>,
    /// Where a transaction begins that has no end: the data count up to there.
    open: Option<u64>,
    /// The index that ends the transaction, and the ids of documents whose files are removed with it.
    publish: Option<(IndexMark, Vec<String>)>,
}

/// What a journal means beside an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// It is another index's.
    Nothing,
    /// The index ends its transaction; these documents' own files are about to be removed.
    Published(Vec<String>),
    /// The index is what it goes on from.
    Current(Journal),
}

impl Journal {
    /// Reads a journal, beside so many bytes of data. A last line without a line feed was not written whole and does not count. Neither does
    /// a deletion whose data are not there: it is written before the lines that were put before it, so that the files hold the beginning
    /// of all changes, in their order.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) and [`Unsupported`](container_core::ErrorKind::Unsupported), with the line.
    pub(crate) fn parse(bytes: &[u8], data_len: u64) -> Result<Option<Self>> {
        let whole = memchr::memrchr(b'\n', bytes).map_or(0, |feed| feed + 1);
        let mut lines = crate::wire::lines::lines(bytes.get(..whole).unwrap_or_default());
        let Some(first) = lines.next() else { return Ok(None) };
        let wrong = |line: &crate::wire::lines::Line<'_>, cause: serde_json::Error| {
            let error = Error::invalid("a line of the journal is not valid").caused_by(cause);
            error.at(line.offset).in_line(line.number)
        };
        let head: Head = serde_json::from_slice(first.bytes).map_err(|cause| wrong(&first, cause))?;
        if !(1..=VERSION).contains(&head.version) {
            let found = head.version;
            let detail = format!("the version of the journal is {found}; up to {VERSION} can be read");
            return Err(Error::unsupported(detail).at(0));
        }
        let mut journal = Self { head, deleted: HashMap::new(), open: None, publish: None };
        // Deletions of the transaction that is open.
        let mut pending = Vec::new();
        for line in lines {
            match serde_json::from_slice(line.bytes).map_err(|cause| wrong(&line, cause))? {
                Record::Delete { data_bytes, .. } if data_bytes > data_len => {}
                Record::Delete { delete, data_bytes } if journal.open.is_some() => pending.push((delete, data_bytes)),
                Record::Delete { delete, data_bytes } => drop(journal.deleted.insert(delete, data_bytes)),
                Record::Begin { begin } => {
                    journal.open.get_or_insert(begin);
                }
                // Its data may be missing after a power cut: then so is all that came later.
                Record::End { end } if end > data_len => {}
                Record::End { .. } => {
                    journal.deleted.extend(pending.drain(..));
                    journal.open = None;
                }
                Record::Publish { publish, remove } => journal.publish = Some((publish, remove)),
            }
        }
        Ok(Some(journal))
    }

    /// Reads a journal, and says what it means beside this index. One that cannot be read means nothing.
    pub(crate) fn beside(bytes: &[u8], data_len: u64, index: Option<&[u8]>) -> Meaning {
        let Ok(Some(journal)) = Self::parse(bytes, data_len) else { return Meaning::Nothing };
        let mark = index.map(IndexMark::of);
        match journal.publish {
            Some((publish, remove)) if Some(publish) == mark => Meaning::Published(remove),
            _ if journal.head.index == mark => Meaning::Current(Self { publish: None, ..journal }),
            _ => Meaning::Nothing,
        }
    }

    /// How many bytes of data count, where there are so many.
    pub(crate) fn counted(&self, data_len: u64) -> u64 {
        self.open.map_or(data_len, |open| open.min(data_len))
    }

    /// Was the document of this id, whose line begins here, deleted?
    pub(crate) fn is_deleted(&self, id: &[u8], offset: u64) -> bool {
        !self.deleted.is_empty()
            && std::str::from_utf8(id).is_ok_and(|id| self.deleted.get(id).is_some_and(|end| offset < *end))
    }

    /// Were data of so many bytes put in the place of those that the index speaks of?
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

    fn text(records: &[Record]) -> Vec<u8> {
        let head = Head { version: VERSION, index: Some(IndexMark::of(b"an index")), data_bytes: 100, compacts: false };
        let mut bytes = line(&head).unwrap();
        records.iter().for_each(|record| bytes.extend(line(record).unwrap()));
        bytes
    }

    fn delete(id: &str, data_bytes: u64) -> Record {
        Record::Delete { delete: id.to_owned(), data_bytes }
    }

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = text(&[delete("a", 100), delete("b", 120), delete("a", 150)]);
        let journal = Journal::parse(&bytes, 150).unwrap().unwrap();
        assert_eq!((journal.head.data_bytes, journal.counted(150)), (100, 150));
        assert!(journal.is_deleted(b"a", 149) && !journal.is_deleted(b"a", 150) && !journal.is_deleted(b"c", 0));
        // A deletion behind the end of the data does not count yet, but the one before does.
        let journal = Journal::parse(&bytes, 149).unwrap().unwrap();
        assert!(journal.is_deleted(b"a", 99) && !journal.is_deleted(b"a", 100));
        assert!(!journal.was_compacted(99));
        // A line that was not written whole does not count.
        bytes.truncate(bytes.len() - 1);
        assert!(!Journal::parse(&bytes, 150).unwrap().unwrap().is_deleted(b"a", 149));
        assert_eq!(Journal::parse(b"{\"version\":1", 150).unwrap(), None);
    }

    #[test]
    fn a_transaction_counts_with_its_end() {
        let read = |records: &[Record], data| Journal::parse(&text(records), data).unwrap().unwrap();
        let (begin, end) = (Record::Begin { begin: 110 }, Record::End { end: 150 });
        let open = [delete("a", 105), begin.clone(), delete("b", 120), delete("a", 130)];
        let journal = read(&open, 150);
        assert_eq!(journal.counted(150), 110);
        assert!(journal.is_deleted(b"a", 104) && !journal.is_deleted(b"a", 110) && !journal.is_deleted(b"b", 0));
        let ended = [&open[..], &[end]].concat();
        let journal = read(&ended, 150);
        assert_eq!(journal.counted(150), 150);
        assert!(journal.is_deleted(b"a", 129) && journal.is_deleted(b"b", 0));
        // Its data are missing.
        assert_eq!(read(&ended, 149).counted(149), 110);
        assert!(!read(&ended, 149).is_deleted(b"b", 0));
        let publish = Record::Publish { publish: IndexMark::of(b"next"), remove: vec!["x".to_owned()] };
        // The index that ends it, the one before, and another.
        let bytes = text(&[&open[..], &[publish]].concat());
        assert_eq!(Journal::beside(&bytes, 150, Some(b"next")), Meaning::Published(vec!["x".to_owned()]));
        let Meaning::Current(journal) = Journal::beside(&bytes, 150, Some(b"an index")) else { panic!() };
        assert_eq!(journal.counted(150), 110);
        assert_eq!(Journal::beside(&bytes, 150, Some(b"other")), Meaning::Nothing);
        assert_eq!(Journal::beside(&bytes, 150, None), Meaning::Nothing);
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        let head = "{\"version\":1,\"index\":null,\"data_bytes\":0}\n";
        for (text, wanted) in [
            (
                "x\n".to_owned(),
                "a line of the journal is not valid: expected value at line 1 column 1 (byte 0, line 1)",
            ),
            (head.replace('1', "3"), "the version of the journal is 3; up to 2 can be read (byte 0)"),
            (
                head.to_owned() + "{}\n",
                "a line of the journal is not valid: data did not match any variant of untagged enum Record (byte 42, line 2)",
            ),
        ] {
            assert_eq!(Journal::parse(text.as_bytes(), 0).unwrap_err().to_string(), wanted);
        }
    }
}
