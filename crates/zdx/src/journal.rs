//! The journal: what a writer did since it wrote the index, in case it is killed. It records the length of the data at that time, deletions
//! since, and the transaction in progress.
//!
//! The index alone cannot tell documents appended after it from deleted ones: neither are listed. The journal does, by the length of the data
//! that the index covers. It identifies its index by length and checksum, and is void beside any other, such as one written by another program.
//!
//! A transaction is a pair of records, [`Record::Begin`] and [`Record::End`]. Until the second is written, the data end where the first one
//! says, and deletions after it do not count. The index written by a flush ends a transaction, too.

use std::collections::HashMap;

use container_core::raw_json::Members;
use container_core::{Error, Result};
use serde_core::de::{Deserialize, Error as _};
use serde_core::ser::{Serialize, SerializeMap, Serializer};

/// The first line of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    /// Version of the journal's format.
    pub(crate) version: u32,
    /// The index that the journal belongs to; `None` if there was none.
    pub(crate) index: Option<IndexMark>,
    /// Bytes of data covered by that index.
    pub(crate) data_bytes: u64,
    /// The data are about to be replaced by shorter ones, which that index does not describe.
    /// Written only if true.
    pub(crate) compacts: bool,
}

/// The version written. Version 1, without transactions, can be read, too.
pub(crate) const VERSION: u32 = 2;

/// Identifies an index by its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IndexMark {
    pub(crate) bytes: u64,
    pub(crate) crc32: u32,
}

impl IndexMark {
    /// The mark of an index file.
    pub(crate) fn of(index: &[u8]) -> Self {
        Self { bytes: index.len() as u64, crc32: crc32fast::hash(index) }
    }
}

/// Any other line of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Record {
    Delete {
        /// The document's id.
        delete: String,
        /// Bytes of data at the time: lines after it are not deleted.
        data_bytes: u64,
    },
    /// Begins a transaction, at this length of the data.
    Begin { begin: u64 },
    /// Ends a transaction, at this length of the data.
    End { end: u64 },
    /// This index is about to be written and will end the transaction. Then the files of these documents are to be removed.
    Publish { publish: IndexMark, remove: Vec<String> },
}

/// A member of an object; `None` if there is no member of this name.
///
/// # Errors
/// Of several members of this name, and of one with another type.
pub(crate) fn member<'a, T: Deserialize<'a>>(
    Members(members): &Members<'a>,
    name: &'static str,
) -> serde_json::Result<Option<T>> {
    let mut named = members.iter().filter(|(other, _)| other == name);
    let first = named.next();
    match named.next() {
        Some(_) => Err(serde_json::Error::duplicate_field(name)),
        None => first.map(|&(_, value)| T::deserialize(value)).transpose(),
    }
}

/// A member that must not be missing.
fn required<'a, T: Deserialize<'a>>(members: &Members<'a>, name: &'static str) -> serde_json::Result<T> {
    member(members, name)?.ok_or_else(|| serde_json::Error::missing_field(name))
}

// Written by hand, because the derive macros of serde would be five more dependencies. As with them, unknown members are ignored; a line that is
// an array is rejected.

impl Header {
    fn parse(line: &[u8]) -> serde_json::Result<Self> {
        let members: Members<'_> = serde_json::from_slice(line)?;
        Ok(Self {
            version: required(&members, "version")?,
            index: member::<Option<_>>(&members, "index")?.flatten().map(IndexMark::from_members).transpose()?,
            data_bytes: required(&members, "data_bytes")?,
            compacts: member(&members, "compacts")?.unwrap_or_default(),
        })
    }
}

impl Serialize for Header {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("version", &self.version)?;
        map.serialize_entry("index", &self.index)?;
        map.serialize_entry("data_bytes", &self.data_bytes)?;
        if self.compacts {
            map.serialize_entry("compacts", &true)?;
        }
        map.end()
    }
}

impl IndexMark {
    fn from_members(members: Members<'_>) -> serde_json::Result<Self> {
        Ok(Self { bytes: required(&members, "bytes")?, crc32: required(&members, "crc32")? })
    }
}

impl Serialize for IndexMark {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("bytes", &self.bytes)?;
        map.serialize_entry("crc32", &self.crc32)?;
        map.end()
    }
}

impl Record {
    /// Parses a record: the first kind whose members are all there, with values of their types.
    fn parse(line: &[u8]) -> serde_json::Result<Self> {
        let members: &Members<'_> = &serde_json::from_slice(line)?;
        let delete = || -> serde_json::Result<_> {
            Ok(Self::Delete { delete: required(members, "delete")?, data_bytes: required(members, "data_bytes")? })
        };
        let begin = || required(members, "begin").map(|begin| Self::Begin { begin });
        let end = || required(members, "end").map(|end| Self::End { end });
        let publish = || -> serde_json::Result<_> {
            let publish = IndexMark::from_members(required(members, "publish")?)?;
            Ok(Self::Publish { publish, remove: required(members, "remove")? })
        };
        let parsed = delete().or_else(|_| begin()).or_else(|_| end()).or_else(|_| publish());
        parsed.map_err(|_| {
            serde_json::Error::custom("expected a deletion, or the begin, the end or the publication of a transaction")
        })
    }
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::Delete { delete, data_bytes } => {
                map.serialize_entry("delete", delete)?;
                map.serialize_entry("data_bytes", data_bytes)?;
            }
            Self::Begin { begin } => map.serialize_entry("begin", begin)?,
            Self::End { end } => map.serialize_entry("end", end)?,
            Self::Publish { publish, remove } => {
                map.serialize_entry("publish", publish)?;
                map.serialize_entry("remove", remove)?;
            }
        }
        map.end()
    }
}

/// A parsed journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Journal {
    pub(crate) header: Header,
    /// Deleted ids; each deletion applies to lines before the given offset.
    deleted: HashMap<String, u64>,
    /// Start of an unfinished transaction: the data end there.
    open: Option<u64>,
    /// The index that ends the transaction, and the ids of the documents whose files are removed with it.
    publish: Option<(IndexMark, Vec<String>)>,
}

/// How a journal relates to an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JournalState {
    /// The journal belongs to another index, or cannot be read.
    Unrelated,
    /// The index ends the journal's transaction; the files of these documents are about to be removed.
    Published(Vec<String>),
    /// The journal lists the changes since the index.
    Current(Journal),
}

impl Journal {
    /// Parses a journal beside data of a given length. Ignores an incomplete last line, and deletions whose data are missing: a deletion is
    /// written before the lines put before it, so that at any time the files hold a prefix of all changes.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) and [`Unsupported`](container_core::ErrorKind::Unsupported), with the line.
    pub(crate) fn parse(bytes: &[u8], data_len: u64) -> Result<Option<Self>> {
        let whole = memchr::memrchr(b'\n', bytes).map_or(0, |feed| feed + 1);
        let mut lines = crate::wire::lines::lines(bytes.get(..whole).unwrap_or_default());
        let Some(first) = lines.next() else { return Ok(None) };
        let invalid_line = |line: &crate::wire::lines::Line<'_>, cause: serde_json::Error| {
            let error = Error::invalid("invalid journal line").caused_by(cause);
            error.at(line.offset).in_line(line.number)
        };
        let header = Header::parse(first.bytes).map_err(|cause| invalid_line(&first, cause))?;
        if !(1..=VERSION).contains(&header.version) {
            let found = header.version;
            let detail = format!("journal version: expected at most {VERSION}, found {found}");
            return Err(Error::unsupported(detail).at(0));
        }
        let mut journal = Self { header, deleted: HashMap::new(), open: None, publish: None };
        // Deletions of the open transaction.
        let mut pending = Vec::new();
        for line in lines {
            match Record::parse(line.bytes).map_err(|cause| invalid_line(&line, cause))? {
                Record::Delete { data_bytes, .. } if data_bytes > data_len => {}
                Record::Delete { delete, data_bytes } if journal.open.is_some() => pending.push((delete, data_bytes)),
                Record::Delete { delete, data_bytes } => drop(journal.deleted.insert(delete, data_bytes)),
                Record::Begin { begin } => {
                    journal.open.get_or_insert(begin);
                }
                // After a power cut its data may be missing, and then so is everything later.
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

    /// Parses a journal, and determines how it relates to an index.
    pub(crate) fn state_for(bytes: &[u8], data_len: u64, index: Option<&[u8]>) -> JournalState {
        let Ok(Some(journal)) = Self::parse(bytes, data_len) else { return JournalState::Unrelated };
        let mark = index.map(IndexMark::of);
        match journal.publish {
            Some((publish, remove)) if Some(publish) == mark => JournalState::Published(remove),
            _ if journal.header.index == mark => JournalState::Current(Self { publish: None, ..journal }),
            _ => JournalState::Unrelated,
        }
    }

    /// How much of the data readers may see.
    pub(crate) fn visible_len(&self, data_len: u64) -> u64 {
        self.open.map_or(data_len, |open| open.min(data_len))
    }

    /// Whether the document of this id, with its line at this offset, was deleted.
    pub(crate) fn is_deleted(&self, id: &[u8], offset: u64) -> bool {
        !self.deleted.is_empty()
            && std::str::from_utf8(id).is_ok_and(|id| self.deleted.get(id).is_some_and(|end| offset < *end))
    }

    /// Whether the data have been replaced by the shorter ones announced in the header.
    pub(crate) const fn was_compacted(&self, data_bytes: u64) -> bool {
        self.header.compacts && data_bytes < self.header.data_bytes
    }
}

/// Encodes a line of a journal.
pub(crate) fn line(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut line =
        serde_json::to_vec(value).map_err(|cause| Error::usage("cannot encode the journal").caused_by(cause))?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(records: &[Record]) -> Vec<u8> {
        let header =
            Header { version: VERSION, index: Some(IndexMark::of(b"an index")), data_bytes: 100, compacts: false };
        let mut bytes = line(&header).unwrap();
        records.iter().for_each(|record| bytes.extend(line(record).unwrap()));
        bytes
    }

    fn delete(id: &str, data_bytes: u64) -> Record {
        Record::Delete { delete: id.to_owned(), data_bytes }
    }

    #[test]
    fn round_trips() {
        let mut bytes = text(&[delete("a", 100), delete("b", 120), delete("a", 150)]);
        let journal = Journal::parse(&bytes, 150).unwrap().unwrap();
        assert_eq!((journal.header.data_bytes, journal.visible_len(150)), (100, 150));
        assert!(journal.is_deleted(b"a", 149) && !journal.is_deleted(b"a", 150) && !journal.is_deleted(b"c", 0));
        // A deletion past the end of the data does not count, but the one before does.
        let journal = Journal::parse(&bytes, 149).unwrap().unwrap();
        assert!(journal.is_deleted(b"a", 99) && !journal.is_deleted(b"a", 100));
        assert!(!journal.was_compacted(99));
        // An incomplete line does not count.
        bytes.truncate(bytes.len() - 1);
        assert!(!Journal::parse(&bytes, 150).unwrap().unwrap().is_deleted(b"a", 149));
        assert_eq!(Journal::parse(b"{\"version\":1", 150).unwrap(), None);
    }

    #[test]
    fn transaction_counts_once_ended() {
        let read = |records: &[Record], data| Journal::parse(&text(records), data).unwrap().unwrap();
        let (begin, end) = (Record::Begin { begin: 110 }, Record::End { end: 150 });
        let open = [delete("a", 105), begin.clone(), delete("b", 120), delete("a", 130)];
        let journal = read(&open, 150);
        assert_eq!(journal.visible_len(150), 110);
        assert!(journal.is_deleted(b"a", 104) && !journal.is_deleted(b"a", 110) && !journal.is_deleted(b"b", 0));
        let ended = [&open[..], &[end]].concat();
        let journal = read(&ended, 150);
        assert_eq!(journal.visible_len(150), 150);
        assert!(journal.is_deleted(b"a", 129) && journal.is_deleted(b"b", 0));
        // The data of the transaction are incomplete.
        assert_eq!(read(&ended, 149).visible_len(149), 110);
        assert!(!read(&ended, 149).is_deleted(b"b", 0));
        let publish = Record::Publish { publish: IndexMark::of(b"next"), remove: vec!["x".to_owned()] };
        // The index that ends the transaction, the one before it, and an unrelated one.
        let bytes = text(&[&open[..], &[publish]].concat());
        assert_eq!(Journal::state_for(&bytes, 150, Some(b"next")), JournalState::Published(vec!["x".to_owned()]));
        let JournalState::Current(journal) = Journal::state_for(&bytes, 150, Some(b"an index")) else { panic!() };
        assert_eq!(journal.visible_len(150), 110);
        assert_eq!(Journal::state_for(&bytes, 150, Some(b"other")), JournalState::Unrelated);
        assert_eq!(Journal::state_for(&bytes, 150, None), JournalState::Unrelated);
    }

    #[test]
    fn rejects_invalid_journals() {
        let header = "{\"version\":1,\"index\":null,\"data_bytes\":0}\n";
        for (text, expected) in [
            ("x\n".to_owned(), "invalid journal line: expected value at line 1 column 1 (byte 0, line 1)"),
            (header.replace('1', "3"), "journal version: expected at most 2, found 3 (byte 0)"),
            (
                header.to_owned() + "{}\n",
                "invalid journal line: expected a deletion, or the begin, the end or the publication of a transaction \
                 (byte 42, line 2)",
            ),
        ] {
            assert_eq!(Journal::parse(text.as_bytes(), 0).unwrap_err().to_string(), expected);
        }
    }

    /// The types as serde derives them: which texts they read and write is the format.
    mod derived {
        use serde::{Deserialize, Serialize};

        #[derive(Serialize, Deserialize)]
        pub(super) struct Header {
            pub(super) version: u32,
            pub(super) index: Option<IndexMark>,
            pub(super) data_bytes: u64,
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            pub(super) compacts: bool,
        }

        #[derive(Serialize, Deserialize)]
        pub(super) struct IndexMark {
            bytes: u64,
            crc32: u32,
        }

        #[derive(Serialize, Deserialize)]
        #[serde(untagged)]
        pub(super) enum Record {
            Delete { delete: String, data_bytes: u64 },
            Begin { begin: u64 },
            End { end: u64 },
            Publish { publish: IndexMark, remove: Vec<String> },
        }
    }

    /// Checks that the text is read as by the derived types, and is written the same. Returns whether it is a header, and a record.
    fn check_like_derived(text: &str) -> (bool, bool) {
        let write = |value: Option<Vec<u8>>| value.map(|line| String::from_utf8(line).unwrap());
        let header = write(Header::parse(text.as_bytes()).ok().map(|header| line(&header).unwrap()));
        let expected = serde_json::from_str::<derived::Header>(text).ok();
        assert_eq!(header, write(expected.map(|header| line(&header).unwrap())), "{text}");
        let record = write(Record::parse(text.as_bytes()).ok().map(|record| line(&record).unwrap()));
        let expected = serde_json::from_str::<derived::Record>(text).ok();
        assert_eq!(record, write(expected.map(|record| line(&record).unwrap())), "{text}");
        (header.is_some(), record.is_some())
    }

    #[test]
    fn lines_are_as_derived() {
        for text in [
            r#"{"version":2,"index":{"bytes":16,"crc32":4294967295},"data_bytes":18446744073709551615,"compacts":true}"#,
            r#"{"version":1,"index":null,"data_bytes":0}"#,
            r#" { "data_bytes" : 0 , "more" : [{"version":[]}] , "version" : 1 } "#,
            r#"{"ver\u0073ion":1,"data_bytes":0,"more":1,"more":2}"#,
        ] {
            assert_eq!(check_like_derived(text), (true, false), "{text}");
        }
        for text in [
            r#"{"delete":"\u00e4\ud83d\ude00\"\\\n\u0007/","data_bytes":18446744073709551615}"#,
            r#"{"data_bytes":1,"delete":"","begin":2,"more":null}"#,
            r#"{"delete":1,"data_bytes":1,"end":2}"#,
            r#"{"delete":"a","begin":1}"#,
            r#"{"publish":{"bytes":1,"crc32":2,"more":3},"remove":["a","\t"]}"#,
            r#"{"publish":{"bytes":1,"crc32":2},"remove":[]}"#,
        ] {
            assert_eq!(check_like_derived(text), (false, true), "{text}");
        }
        for text in [
            "",
            "null",
            "1",
            "[]",
            "{}",
            r#""begin""#,
            r#"{"begin":1}x"#,
            r#"{"begin":1"#,
            r#"{"begin":1,}"#,
            r#"{"begin":-1}"#,
            r#"{"begin":1.0}"#,
            r#"{"begin":"1"}"#,
            r#"{"begin":18446744073709551616}"#,
            r#"{"begin":1,"begin":1}"#,
            r#"{"delete":"a","data_bytes":null}"#,
            r#"{"delete":"\ud800","data_bytes":1}"#,
            r#"{"publish":{"bytes":1,"crc32":4294967296},"remove":[]}"#,
            r#"{"publish":null,"remove":[]}"#,
            r#"{"publish":{"bytes":1,"crc32":2},"remove":[1]}"#,
            r#"{"version":4294967296,"data_bytes":0}"#,
            r#"{"version":1}"#,
            r#"{"version":1,"version":1,"data_bytes":0}"#,
            r#"{"version":1,"data_bytes":0,"compacts":null}"#,
            r#"{"version":1,"data_bytes":0,"compacts":1}"#,
            r#"{"version":1,"data_bytes":0,"index":{}}"#,
            r#"{"version":1,"data_bytes":0,"index":{"bytes":1,"crc32":2,"crc32":2}}"#,
        ] {
            assert_eq!(check_like_derived(text), (false, false), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_members_are_as_derived(members in proptest::collection::vec((0..10_usize, 0..9_usize), 0..6)) {
            const NAMES: [&str; 10] = [
                "version", "index", "data_bytes", "compacts", "delete", "begin", "end", "publish", "remove", "more",
            ];
            let value = |at: usize| match at {
                0 => r#"{"bytes":1,"crc32":2}"#,
                1 => r#"["a"]"#,
                2 => r#""a""#,
                3 => "true",
                4 => "null",
                5 => "-1",
                6 => "1e2",
                _ => "1",
            };
            let members: Vec<_> = members.iter().map(|(name, at)| format!("{:?}:{}", NAMES[*name], value(*at))).collect();
            check_like_derived(&format!("{{{}}}", members.join(",")));
        }
    }
}
