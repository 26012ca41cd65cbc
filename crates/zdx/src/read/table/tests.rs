//! Tables of many entries and of few.

use super::*;
use crate::wire::index::{head, put};

const fn shape(bits: u32, share: usize) -> Shape {
    Shape { slot: Slot::of(1 << 20, 1 << 20), bits, share }
}

fn file(entries: impl IntoIterator<Item = (String, u64, u32)>) -> Bytes {
    let entries: Vec<_> = entries.into_iter().collect();
    let mut out = head(entries.len() as u64).to_vec();
    for (id, offset, length) in &entries {
        put(&Entry { id: id.as_bytes(), offset: *offset, length: *length }, &mut out).unwrap();
    }
    out.into()
}

#[test]
fn every_id_is_found_and_no_other() {
    for (count, threads) in [(0u64, 1), (1, 1), (100, 4), (40_000, 1), (40_000, 3), (100_000, 0)] {
        let table = Table::build(file((0..count).map(|n| (format!("doc-{n}"), n * 7, 7))), threads).unwrap();
        assert_eq!(table.seen, Seen { entries: count, ids: count, is_in_order: true, covered: count * 7 });
        for n in 0..count {
            let id = format!("doc-{n}");
            let (position, entry) = table.find(id.as_bytes()).unwrap();
            assert_eq!((entry.id, entry.offset, entry.length), (id.as_bytes(), n * 7, 7));
            assert_eq!(table.entry(position), Some(entry));
        }
        assert!(table.find(b"doc-").is_none() && table.find(format!("doc-{count}").as_bytes()).is_none());
        assert_eq!(table.entries().count() as u64, count);
    }
}

#[test]
fn entries_that_lie_are_found() {
    let offsets = [0, 5, u64::MAX, 1 << 40];
    let entries = offsets.iter().enumerate().map(|(n, offset)| (n.to_string(), *offset, 1));
    for data in [0, 10, 1 << 50] {
        let table = Table::build_for(file(entries.clone()), data, 1).unwrap();
        for (n, offset) in offsets.iter().enumerate() {
            let (_, entry) = table.find_line(n.to_string().as_bytes(), b"data").unwrap();
            assert_eq!((entry.id, entry.offset), (n.to_string().as_bytes(), *offset));
        }
    }
}

#[test]
fn of_entries_with_one_id_the_last_one_holds() {
    for threads in [1, 4] {
        let entries = (0..100_000u64).map(|n| (format!("{}", n % 40_000), n, 1));
        let table = Table::build(file(entries), threads).unwrap();
        assert_eq!((table.seen.entries, table.seen.ids), (100_000, 40_000));
        for n in 0..40_000u64 {
            let last = if n < 20_000 { n + 80_000 } else { n + 40_000 };
            assert_eq!(table.find(n.to_string().as_bytes()).unwrap().1.offset, last);
        }
    }
}

#[test]
fn order_and_end_are_known() {
    let seen = |entries: &[(u64, u32)]| {
        let named = entries.iter().enumerate().map(|(n, (offset, length))| (n.to_string(), *offset, *length));
        Table::build(file(named), 1).unwrap().seen
    };
    assert!(seen(&[(0, 5), (5, 5), (11, 1)]).is_in_order);
    assert!(!seen(&[(5, 5), (0, 5)]).is_in_order);
    assert!(!seen(&[(0, 5), (4, 5)]).is_in_order);
    assert_eq!(seen(&[(9, 5), (0, 5)]).covered, 14);
    assert_eq!(seen(&[(u64::MAX, 5)]).covered, u64::MAX);
}

#[test]
fn rounds_and_threads_do_not_matter() {
    let bytes = file((0..5000u64).map(|n| (format!("{}", n % 1999), n * 3, 3)));
    let index = Index::parse(&bytes).unwrap();
    let hash = RandomState::default();
    let filled = |threads, round| {
        let mut slots = vec![0; 8192];
        let seen = fill(&index, &mut slots, shape(13, 256), &hash, threads, round).unwrap().unwrap();
        (seen, slots)
    };
    let at_once = filled(1, 5000);
    assert_eq!(at_once.0, Seen { entries: 5000, ids: 1999, is_in_order: true, covered: 15000 });
    for (threads, round) in [(1, 1), (1, 999), (3, 1000), (4, 5000), (7, 5), (7, 4999)] {
        assert_eq!(filled(threads, round), at_once, "{threads} {round}");
    }
    // What is out of order where two threads meet, is seen.
    let bytes = file((0..100u64).map(|n| (n.to_string(), (n + 50) % 100 * 3, 3)));
    let index = Index::parse(&bytes).unwrap();
    let seen = fill(&index, &mut [0; 512], shape(9, 512), &hash, 2, 100).unwrap().unwrap();
    assert_eq!((seen.is_in_order, seen.covered), (false, 300));
}

#[test]
fn a_full_share_is_no_endless_search() {
    let bytes = file((0..20).map(|n| (n.to_string(), 0, 0)));
    let index = Index::parse(&bytes).unwrap();
    assert_eq!(fill(&index, &mut [0; 16], shape(4, 16), &RandomState::default(), 1, ROUND).unwrap(), None);
}

#[test]
fn damage_is_an_error() {
    let bytes = file([("a".to_owned(), 0, 1), ("b".to_owned(), 1, 1)]);
    let mut other = bytes.to_vec();
    other[18] = 0xff;
    let error = Table::build(other.into(), 1).unwrap_err().to_string();
    assert_eq!(error, "an id in the index is not UTF-8 (byte 18)");
    assert!(Table::build(bytes.slice(..bytes.len() - 1), 1).is_err());
}
