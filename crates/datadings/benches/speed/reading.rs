//! Measurements of reading.

use std::hint::black_box;
use std::time::Instant;

use datadings::Reader;
use rmpv::{Value, ValueRef};

use crate::Clock;
use crate::samples::{HUGE, LARGE, TINY, Tiny, key, shuffled};

/// Look-ups per repetition.
const LOOK_UPS: u64 = 100_000;

/// Sums all bytes, eight at a time; the rest one by one.
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let words = words.iter().fold(0u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)));
    rest.iter().fold(words, |sum, byte| sum.wrapping_add(u64::from(*byte)))
}

/// A plain pass over the mapped file, as a baseline.
pub(crate) fn plain_pass(clock: &Clock<'_>) {
    let reader = mapped(clock.path(LARGE));
    let bytes = reader.source().as_slice().unwrap();
    black_box(sum(bytes)); // fault in all pages
    clock.time(|| black_box(sum(black_box(bytes))));
}

/// Every byte of every sample.
pub(crate) fn iterate(clock: &Clock<'_>) {
    let reader = mapped(clock.path(LARGE));
    black_box(sum(reader.source().as_slice().unwrap()));
    // The expected result, from the offsets.
    let (data, offsets) =
        (std::fs::read(clock.path(LARGE)).unwrap(), std::fs::read(clock.path("large.msgpack.offsets")).unwrap());
    let offsets: Vec<usize> =
        offsets.as_chunks::<8>().0.iter().map(|offset| usize::try_from(u64::from_be_bytes(*offset)).unwrap()).collect();
    let expected = offsets.windows(2).fold(0u64, |all, ends| all.wrapping_add(sum(&data[ends[0]..ends[1]])));
    clock.time(|| {
        let found = reader.iter().fold(0u64, |all, sample| all.wrapping_add(sum(sample.unwrap().as_bytes())));
        assert_eq!(found, expected, "not every byte was read");
        found
    });
}

/// Offset, length and first byte of every sample.
pub(crate) fn touch(clock: &Clock<'_>) {
    let reader = mapped(clock.path(LARGE));
    black_box(sum(reader.source().as_slice().unwrap()));
    clock.time(|| {
        reader.iter().fold(0u64, |all, sample| {
            let sample = sample.unwrap();
            let bytes = sample.as_bytes();
            all + bytes.len() as u64 + u64::from(bytes[0])
        })
    });
}

/// A dataset with its data in memory.
fn tiny(clock: &Clock<'_>) -> Reader {
    let reader = mapped(clock.path(TINY));
    black_box(sum(reader.source().as_slice().unwrap()));
    reader
}

pub(crate) fn structs(clock: &Clock<'_>) {
    let reader = tiny(clock);
    clock.time(|| {
        reader.iter().fold(0u64, |all, sample| {
            let sample = sample.unwrap();
            let decoded: Tiny<'_> = sample.decode().unwrap();
            all + decoded.key.len() as u64 + u64::from(decoded.label)
        })
    });
}

pub(crate) fn values(clock: &Clock<'_>) {
    let reader = tiny(clock);
    clock.time(|| {
        reader.iter().fold(0u64, |all, sample| {
            let sample = sample.unwrap();
            let ValueRef::Map(entries) = sample.value().unwrap() else { panic!("expected a map") };
            let [(_, ValueRef::String(key)), (_, ValueRef::Integer(label))] = &entries[..] else {
                panic!("unexpected sample")
            };
            all + key.as_bytes().len() as u64 + label.as_u64().unwrap()
        })
    });
}

pub(crate) fn owned_values(clock: &Clock<'_>) {
    let reader = tiny(clock);
    clock.time(|| {
        reader.iter().fold(0u64, |all, sample| {
            let Value::Map(entries) = sample.unwrap().value().unwrap().to_owned() else { panic!("expected a map") };
            let [(_, Value::String(key)), (_, Value::Integer(label))] = &entries[..] else {
                panic!("unexpected sample")
            };
            all + key.as_bytes().len() as u64 + label.as_u64().unwrap()
        })
    });
}

/// One field, nothing else decoded.
pub(crate) fn one_field(clock: &Clock<'_>) {
    let reader = tiny(clock);
    clock.time(|| reader.iter().map(|sample| sample.unwrap().field("label").unwrap().u64().unwrap()).sum::<u64>());
}

pub(crate) fn by_index(clock: &Clock<'_>) {
    let reader = tiny(clock);
    let requested = shuffled(LOOK_UPS, reader.len());
    clock.time(|| requested.iter().map(|&index| last(reader.get(index).unwrap().as_bytes())).sum::<u64>());
}

fn last(bytes: &[u8]) -> u64 {
    bytes.last().copied().unwrap().into()
}

/// Look-ups by key in a newly opened dataset, including the construction of its table.
pub(crate) fn by_key(clock: &Clock<'_>) {
    let requested = keys(clock);
    clock.time(|| {
        let reader = mapped(clock.path(TINY));
        requested.iter().map(|key| last(reader.get_key(key).unwrap().unwrap().as_bytes())).sum::<u64>()
    });
}

/// The same, all keys at once.
pub(crate) fn many_keys(clock: &Clock<'_>) {
    let requested = keys(clock);
    clock.time(|| {
        let reader = mapped(clock.path(TINY));
        let found = reader.find_many(&requested).unwrap();
        found.iter().map(|row| last(reader.get(row.unwrap()).unwrap().as_bytes())).sum::<u64>()
    });
}

fn keys(clock: &Clock<'_>) -> Vec<String> {
    let len = mapped(clock.path(TINY)).len();
    shuffled(LOOK_UPS, len).into_iter().map(key).collect()
}

/// Opening a dataset and a single look-up by key.
pub(crate) fn open_huge(clock: &Clock<'_>) {
    let len = mapped(clock.path(HUGE)).len();
    let requested = key(len / 3);
    for _ in 0..clock.repeat {
        let begin = Instant::now();
        let reader = mapped(clock.path(HUGE));
        let row = reader.find(&requested).unwrap().unwrap();
        let found = last(reader.get(row).unwrap().as_bytes());
        clock.took(begin.elapsed().as_secs_f64(), row * 1000 + found);
    }
}

/// Opens a file like the command-line tool.
pub(super) fn mapped(path: impl AsRef<std::path::Path>) -> Reader {
    Reader::open_with(path, container_core::OpenOptions::default().with_access(container_core::testkit::mapped()))
        .unwrap()
}
