//! ZDX indexes from arbitrary bytes, in both formats.

use std::collections::BTreeMap;

use zdx::IndexState;
use zdx::wire::index::{HEADER_LEN, Index, MAGIC, MAGIC_DESCRIBED, header, put};
use zdx::wire::text_index;

use super::zdx_parts::{collection, open, store, told};

/// The data of the index.
const DATA: &[u8] = b"{\"_id\":\"a\"}\n{\"_id\":\"bb\",\"n\":1}\r\n\n{\"n\":2,\"_id\":\"c.c\"}\n{\"_id\":\"d\"}";

/// The entries of an index; of several with the same id, the last.
type Said = BTreeMap<Vec<u8>, (u64, u32)>;

/// The bytes are `index.bin`.
pub fn zdx_index(data: &[u8]) {
    let binary = data.starts_with(&MAGIC) || data.starts_with(&MAGIC_DESCRIBED);
    let said = if binary || data.is_empty() { binary_index(data) } else { text(data) };
    // An id that is not UTF-8 invalidates the index.
    let said = said.filter(|all| all.keys().all(|id| std::str::from_utf8(id).is_ok()));
    let stores = open(&store(&[("meta/data.jsonl", DATA), ("meta/index.bin", data)]));
    for store in &stores {
        let table = collection(store).unwrap();
        let condition = table.condition().unwrap();
        let Some(said) = &said else {
            assert!(matches!(condition.index, IndexState::Damaged(_)), "{condition:?}");
            assert_eq!(table.ids().unwrap().collect::<Vec<_>>(), ["a", "bb", "c.c", "d"]);
            // Look-ups without a table give the same.
            assert!(collection(store).unwrap().get("c.c").unwrap().is_some());
            continue;
        };
        assert_eq!(matches!(condition.index, IndexState::Valid), binary, "{condition:?}");
        assert_eq!(table.len().unwrap(), said.len() as u64);
        let mut ids: Vec<_> = table.ids().unwrap().map(|id| id.as_bytes().to_vec()).collect();
        ids.sort();
        assert!(ids.iter().eq(said.keys()));
        for (id, (offset, _)) in said {
            let id = std::str::from_utf8(id).unwrap();
            assert!(table.contains(id).unwrap());
            let found = told(table.get(id)).map(|found| found.unwrap());
            if let Ok(document) = &found {
                assert_eq!((document.offset(), document.value().unwrap()["_id"].as_str()), (Some(*offset), Some(id)));
            }
            // The first look-up of a collection scans the index.
            let fresh = collection(store).unwrap();
            let again = told(fresh.get(id)).map(|found| found.unwrap());
            assert_eq!(found.map(|found| found.bytes().to_vec()), again.map(|found| found.bytes().to_vec()));
        }
        for id in ["a", "bb", "c.c", "d", "no"] {
            let is_there = said.contains_key(id.as_bytes());
            assert_eq!(
                (table.contains(id).unwrap(), collection(store).unwrap().contains(id).unwrap()),
                (is_there, is_there)
            );
        }
    }
}

/// The entries; `None` if the index is damaged.
fn binary_index(data: &[u8]) -> Option<Said> {
    let index = Index::parse(data).ok()?;
    assert!(index.len() <= (data.len() / 15) as u64);
    let mut said = Said::new();
    let mut again = header(index.len()).to_vec();
    let mut entries = index.entries();
    loop {
        let place = entries.offset();
        let Some(entry) = entries.next() else { break };
        let Ok(entry) = entry else {
            assert!(entries.next().is_none());
            return None;
        };
        assert_eq!(index.entry_at(place).unwrap(), entry);
        put(&entry, &mut again).unwrap();
        said.insert(entry.id.to_vec(), (entry.offset, entry.length));
    }
    assert_eq!(again[4..], data[4..]);
    assert_eq!(again.len(), HEADER_LEN + again[HEADER_LEN..].len());
    Some(said)
}

fn text(data: &[u8]) -> Option<Said> {
    let (mut said, mut again, mut count) = (Said::new(), Vec::new(), 0);
    for entry in text_index::lines(data) {
        let entry = entry.ok()?;
        put(&entry, &mut again).ok()?; // an id that is too long
        count += 1;
        said.insert(entry.id.to_vec(), (entry.offset, entry.length));
    }
    // The same as a binary one, which has to have ids.
    let binary = binary_index(&[&header(count)[..], &again].concat());
    assert!(binary == Some(said.clone()) || binary.is_none() && said.contains_key(&b""[..]));
    binary
}
