//! ZDS collections of parts that may be inconsistent.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use zdx::wire::index::{Entry, header, put};
use zdx::wire::lines::lines;
use zdx::{Collection, Document, Fields, Store};

use super::choices::Choices;
use super::zdx_parts::{collection, crc32, open, store, told};

/// The files of a collection.
#[derive(Default)]
struct Parts<'d> {
    how: u8,
    index: Option<&'d [u8]>,
    journal: Option<&'d [u8]>,
    order: Option<&'d [u8]>,
    /// Names and contents of the files in `docs`.
    docs: BTreeMap<String, &'d [u8]>,
    data: &'d [u8],
}

/// A byte of choices; three files, each after two big-endian bytes of its length plus 1, or 0 if it is absent; at most four files of `docs`, each as a
/// byte for the length of its name, the name, a byte for its length, and its content, then a zero; the rest is the data.
fn parts(data: &[u8]) -> Option<Parts<'_>> {
    let mut rest = data;
    let mut take = |len: usize| {
        let (part, behind) = rest.split_at_checked(len)?;
        rest = behind;
        Some(part)
    };
    let mut parts = Parts { how: take(1)?[0], ..Parts::default() };
    for part in [&mut parts.index, &mut parts.journal, &mut parts.order] {
        let len = take(2).map(|len| usize::from(len[0]) << 8 | usize::from(len[1]))?;
        if len > 0 {
            *part = Some(take(len - 1)?);
        }
    }
    for _ in 0..4 {
        let name = usize::from(take(1)?[0]);
        if name == 0 {
            break;
        }
        let name = String::from_utf8_lossy(take(name)?).into_owned();
        let len = usize::from(take(1)?[0]);
        parts.docs.insert(name, take(len)?);
    }
    parts.data = rest;
    Some(parts)
}

/// The range of each line, and its `_id` as `serde_json` reads it; `None` if the line is not a document.
fn ids(data: &[u8]) -> Vec<(u64, u64, Option<String>)> {
    let id = |bytes: &[u8]| {
        let document: Map<String, Value> = serde_json::from_slice(bytes).ok()?;
        document.get("_id")?.as_str().filter(|id| !id.is_empty()).map(str::to_owned)
    };
    lines(data).map(|line| (line.offset, line.end, id(line.bytes))).collect()
}

/// An index of the data, with errors from choices.
fn some_index(data: &[u8], decisions: &[u8], many: bool) -> Vec<u8> {
    let mut choices = Choices::new(decisions);
    let (mut entries, mut count) = (Vec::new(), 0);
    let mut add = |id: &str, offset: u64, length: u64| {
        count += 1;
        let entry = Entry { id: id.as_bytes(), offset, length: length as u32 };
        put(&entry, &mut entries).unwrap();
    };
    let documents: Vec<_> =
        ids(data).into_iter().filter(|(_, _, id)| id.as_ref().is_some_and(|id| id.len() < 1000)).collect();
    for (offset, end, id) in &documents {
        let id = id.as_deref().unwrap();
        match choices.below(10) {
            0..3 => add(id, *offset, end - offset),
            3 => add(id, *offset, (end - offset).saturating_sub(1)),
            4 => {} // deleted
            5 => add(id, offset + choices.below(3) as u64, end - offset),
            6 => add(id, *offset, end - offset + choices.below(40) as u64),
            7 => add(choices.pick(&["a", "b", "other"]), *offset, end - offset),
            8 => {
                add(id, choices.number(), choices.number());
                add(id, *offset, end - offset);
            }
            _ => add(id, choices.number(), choices.number()),
        }
    }
    if many && let Some((offset, end, _)) = documents.first() {
        // Enough entries for more than one chunk.
        (0..1100).for_each(|n| add(&format!("x-{n}"), *offset, end - offset));
    }
    [&header(count)[..], &entries].concat()
}

/// A journal of this index: two bytes for the length of data that it covers, then lines of deletions.
fn fitting(journal: &[u8], index: Option<&[u8]>) -> Vec<u8> {
    let (known, lines) = journal.split_at(journal.len().min(2));
    let known = known.iter().fold(0, |all, byte| all << 8 | usize::from(*byte));
    let mark =
        index.map_or("null".to_owned(), |index| format!("{{\"bytes\":{},\"crc32\":{}}}", index.len(), crc32(index)));
    let head = format!("{{\"version\":1,\"index\":{mark},\"data_bytes\":{known}}}\n");
    [head.as_bytes(), lines].concat()
}

/// A document that was found.
type Seen = (String, Vec<u8>, Option<u64>);

fn seen(document: Document<'_>) -> Seen {
    let (id, bytes) = (document.id().to_owned(), document.bytes().to_vec());
    // Every conversion returns an error rather than panicking.
    let value = document.value();
    if let Ok(line) = document.line() {
        assert!(!line.contains(&b'\n'));
        assert_eq!(serde_json::from_slice::<Map<_, _>>(&line).ok().map(Value::Object), value.as_ref().ok().cloned());
    }
    match (&value, document.fields(&Fields::new(["_id", "n"]))) {
        (Ok(value), Ok(fields)) => assert!(fields.iter().all(|(name, field)| value.get(name) == Some(field))),
        (Ok(_), Err(error)) => panic!("{error}"),
        (Err(error), _) => assert!(error.format() == Some("zds") && error.position().byte.is_some(), "{error}"),
    }
    (id, bytes, document.offset())
}

/// The bytes are parts of a collection.
pub fn zdx_collection(data: &[u8]) {
    let Some(parts) = parts(data) else { return };
    let made =
        (parts.how & 1 == 1).then(|| some_index(parts.data, parts.index.unwrap_or_default(), parts.how & 4 != 0));
    let index = made.as_deref().or(parts.index);
    let journal = parts.journal.map(|journal| match parts.how & 2 {
        0 => journal.to_vec(),
        _ => fitting(journal, index),
    });
    let docs: Vec<(String, &[u8])> =
        parts.docs.iter().map(|(name, content)| (format!("docs/{name}.json"), *content)).collect();
    let mut files: Vec<(&str, &[u8])> = docs.iter().map(|(name, content)| (name.as_str(), *content)).collect();
    if parts.how & 8 == 0 {
        files.push(("meta/data.jsonl", parts.data));
    }
    files.extend(index.map(|index| ("meta/index.bin", index)));
    files.extend(journal.as_deref().map(|journal| ("meta/wharf.journal", journal)));
    files.extend(parts.order.map(|order| ("meta/order.ids", order)));
    if files.is_empty() {
        return;
    }
    let [memory, medium] = open(&store(&files)).map(|store| look(&store));
    assert_eq!(memory, medium);
    if index.is_none() && journal.is_none() && docs.is_empty() && parts.how & 8 == 0 {
        rebuilt(parts.data, &memory);
    }
}

/// Without an index, the last line of each id counts.
fn rebuilt(data: &[u8], found: &Looked) {
    let all = ids(data);
    if all.iter().any(|(_, _, id)| id.is_none()) {
        return; // what is no document for one is one for the other, who does not build it
    }
    let last: BTreeMap<_, _> = all.iter().enumerate().map(|(row, (_, _, id))| (id, row)).collect();
    let wanted: Vec<_> = all
        .iter()
        .enumerate()
        .filter(|(row, (_, _, id))| last[id] == *row)
        .map(|(_, (offset, _, id))| (id.clone().unwrap(), Some(*offset)))
        .collect();
    let found: Vec<_> =
        found.walked.iter().map(|one| one.as_ref().unwrap()).map(|(id, _, offset)| (id.clone(), *offset)).collect();
    assert_eq!(found, wanted);
}

/// Everything that a collection reports.
#[derive(Debug, PartialEq)]
struct Looked {
    walked: Vec<Result<Seen, String>>,
    by_id: Vec<Result<Seen, String>>,
    notes: Vec<String>,
}

fn look(store: &Store) -> Looked {
    let all = collection(store).unwrap();
    let notes = all.condition().unwrap().notes();
    let len = all.len().unwrap();
    let ids: Vec<&str> = all.ids().unwrap().collect();
    assert_eq!((ids.len() as u64, all.is_empty().unwrap()), (len, len == 0));
    let walked: Vec<_> = all.documents().unwrap().map(|document| told(document.map(seen))).collect();
    // Iteration ends after the last document, or after one error.
    let whole = walked.iter().take_while(|one| one.is_ok()).count();
    assert!(walked.len() == whole + 1 || whole as u64 == len && walked.len() == whole);
    assert!(walked.iter().flatten().map(|(id, _, _)| id).eq(ids.iter().take(whole)));
    let mut found = Vec::new();
    let outcome = all.map_documents(
        0..u64::MAX,
        2,
        |document| Ok(seen(document)),
        |one| {
            found.push(Ok(one));
            Ok(())
        },
    );
    found.extend(told(outcome).err().map(Err));
    assert!(found == walked, "found {:?}, expected {:?}", found.last(), walked.last());
    let mut by_id = Vec::new();
    for (row, id) in ids.iter().enumerate().take(12) {
        assert!(all.contains(id).unwrap());
        assert_eq!(all.row_of(id).unwrap(), Some(row as u64));
        let found = get(&all, id).map(|found| found.unwrap());
        // The same for the first look-up of a collection.
        assert_eq!(get(&collection(store).unwrap(), id).map(|found| found.unwrap()), found);
        let by_row = told(all.document(row as u64).map(seen));
        if let Some(walked) = walked.get(row) {
            assert_eq!(&by_row, walked);
        }
        // A document with its own id is also found by its row.
        if let (Ok(found), Ok(by_row)) = (&found, &by_row) {
            assert_eq!(found, by_row);
        }
        if let Ok((_, bytes, Some(_))) = &found {
            // The index may use the first of several ids.
            let own = serde_json::from_slice::<Map<String, Value>>(bytes);
            assert!(bytes.starts_with(b"{\"_id\":") || own.is_err() || own.is_ok_and(|own| own["_id"] == **id));
        }
        by_id.push(found);
    }
    for id in ["a", "b", "no such", "", "../a", "."] {
        let is_there = ids.contains(&id);
        let fresh = collection(store).unwrap();
        assert_eq!((all.contains(id).unwrap(), fresh.contains(id).unwrap()), (is_there, is_there), "{id}");
        assert_eq!(all.row_of(id).unwrap().is_some(), is_there);
    }
    assert!(all.document(len).is_err());
    Looked { walked, by_id, notes }
}

fn get(collection: &Collection, id: &str) -> Result<Option<Seen>, String> {
    told(collection.get(id).map(|found| found.map(seen)))
}
