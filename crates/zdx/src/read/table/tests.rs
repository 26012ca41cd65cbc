//! Tests of large and small tables.

use super::*;
use crate::wire::index::{header, put};

const fn layout(bits: u32, partition_len: usize) -> Layout {
    Layout { slot: Slot::new(1 << 20, 1 << 20), bits, partition_len }
}

fn file(entries: impl IntoIterator<Item = (String, u64, u32)>) -> Bytes {
    let entries: Vec<_> = entries.into_iter().collect();
    let mut out = header(entries.len() as u64).to_vec();
    for (id, offset, length) in &entries {
        put(&Entry { id: id.as_bytes(), offset: *offset, length: *length }, &mut out).unwrap();
    }
    out.into()
}

#[test]
fn finds_exactly_the_indexed_ids() {
    for (count, threads) in [(0u64, 1), (1, 1), (100, 4), (40_000, 1), (40_000, 3), (100_000, 0)] {
        let table = Table::build(file((0..count).map(|n| (format!("doc-{n}"), n * 7, 7))), threads).unwrap();
        assert_eq!(table.stats, IndexStats { entries: count, ids: count, is_in_order: true, lines_end: count * 7 });
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
fn finds_entries_with_wrong_offsets() {
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
fn last_entry_of_an_id_wins() {
    for threads in [1, 4] {
        let entries = (0..100_000u64).map(|n| (format!("{}", n % 40_000), n, 1));
        let table = Table::build(file(entries), threads).unwrap();
        assert_eq!((table.stats.entries, table.stats.ids), (100_000, 40_000));
        for n in 0..40_000u64 {
            let last = if n < 20_000 { n + 80_000 } else { n + 40_000 };
            assert_eq!(table.find(n.to_string().as_bytes()).unwrap().1.offset, last);
        }
    }
}

#[test]
fn computes_order_and_end() {
    let stats = |entries: &[(u64, u32)]| {
        let named = entries.iter().enumerate().map(|(n, (offset, length))| (n.to_string(), *offset, *length));
        Table::build(file(named), 1).unwrap().stats
    };
    assert!(stats(&[(0, 5), (5, 5), (11, 1)]).is_in_order);
    assert!(!stats(&[(5, 5), (0, 5)]).is_in_order);
    assert!(!stats(&[(0, 5), (4, 5)]).is_in_order);
    assert_eq!(stats(&[(9, 5), (0, 5)]).lines_end, 14);
    assert_eq!(stats(&[(u64::MAX, 5)]).lines_end, u64::MAX);
}

#[test]
fn result_does_not_depend_on_rounds_or_threads() {
    let bytes = file((0..5000u64).map(|n| (format!("{}", n % 1999), n * 3, 3)));
    let index = Index::parse(&bytes).unwrap();
    let hash = RandomState::default();
    let fill_with = |threads, round| {
        let mut slots = vec![0; 8192];
        let stats = fill(&index, &mut slots, layout(13, 256), &hash, threads, round).unwrap().unwrap();
        (stats, slots)
    };
    let at_once = fill_with(1, 5000);
    assert_eq!(at_once.0, IndexStats { entries: 5000, ids: 1999, is_in_order: true, lines_end: 15000 });
    for (threads, round) in [(1, 1), (1, 999), (3, 1000), (4, 5000), (7, 5), (7, 4999)] {
        assert_eq!(fill_with(threads, round), at_once, "{threads} {round}");
    }
    // Detects disorder between the ranges of two threads.
    let bytes = file((0..100u64).map(|n| (n.to_string(), (n + 50) % 100 * 3, 3)));
    let index = Index::parse(&bytes).unwrap();
    let stats = fill(&index, &mut [0; 512], layout(9, 512), &hash, 2, 100).unwrap().unwrap();
    assert_eq!((stats.is_in_order, stats.lines_end), (false, 300));
}

#[test]
fn full_partition_ends_the_search() {
    let bytes = file((0..20).map(|n| (n.to_string(), 0, 0)));
    let index = Index::parse(&bytes).unwrap();
    assert_eq!(fill(&index, &mut [0; 16], layout(4, 16), &RandomState::default(), 1, ENTRIES_PER_ROUND).unwrap(), None);
}

#[test]
fn rejects_damaged_index() {
    let bytes = file([("a".to_owned(), 0, 1), ("b".to_owned(), 1, 1)]);
    let mut other = bytes.to_vec();
    other[18] = 0xff;
    let error = Table::build(other.into(), 1).unwrap_err().to_string();
    assert_eq!(error, "an id in the index is not valid UTF-8 (byte 18)");
    assert!(Table::build(bytes.slice(..bytes.len() - 1), 1).is_err());
}
