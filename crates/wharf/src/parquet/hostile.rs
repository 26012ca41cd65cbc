//! Files that are damaged, or lie.

use arrow_array::types::Int8Type;
use arrow_array::{ArrayRef, DictionaryArray, Int64Array, ListArray, RecordBatch};
use container_core::arrow::{ArrowTable, BatchScan};
use container_core::{Container, Error, ErrorKind, Limits, OpenOptions, Scan, Source, Table, VerifyOptions};

use super::tests::{ints, write};
use super::*;

fn sample() -> Vec<u8> {
    let numbers: ArrayRef = std::sync::Arc::new(Int64Array::from_iter((0..40).map(|n| (n % 3 > 0).then_some(n))));
    let words: DictionaryArray<Int8Type> = (0..40).map(|n| Some(["a", "bc", "def"][n % 3])).collect();
    let lists = (0..40).map(|n| (n % 5 > 0).then(|| vec![Some(n); usize::try_from(n % 4).unwrap()]));
    let lists = ListArray::from_iter_primitive::<arrow_array::types::Int32Type, _, _>(lists);
    let columns: [(&str, ArrayRef, bool); 3] =
        [("n", numbers, true), ("w", std::sync::Arc::new(words), true), ("l", std::sync::Arc::new(lists), true)];
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    write(&[batch], WriterOptions::default().with_group_rows(30))
}

fn open(bytes: Vec<u8>, limits: Limits) -> Result<ParquetContainer, Error> {
    Reader::from_source(Source::from(bytes), OpenOptions::default().with_limits(limits)).map(ParquetContainer::new)
}

/// Does everything with a file; what comes of it does not matter, that it comes to an end does.
fn use_it(bytes: Vec<u8>) -> bool {
    let Ok(container) = open(bytes, Limits::default()) else { return false };
    container.details();
    for column in 0..container.columns().len() {
        container.column_details(column).unwrap();
    }
    let mut good = true;
    container.verify(&VerifyOptions::default().with_threads(1), &mut |_| good = false).unwrap();
    let scan = BatchScan::from(Scan::default().with_threads(1)).with_batch_rows(1000);
    let mut batches = container.batches(&scan).unwrap();
    let mut rows = 0_u64;
    let read = loop {
        // A row group without columns may say that it has any number of rows.
        match batches.try_next() {
            Ok(Some(batch)) if rows < 100_000 => rows += batch.num_rows() as u64,
            Ok(_) => break true,
            Err(error) => {
                assert_eq!(error.format(), Some(FORMAT_NAME), "{error}");
                break false;
            }
        }
    };
    assert!(batches.try_next().is_ok());
    good && read
}

#[test]
fn every_prefix_is_an_error_that_says_what_is_wrong() {
    let bytes = sample();
    assert!(use_it(bytes.clone()));
    for len in 0..bytes.len() {
        let error = open(bytes[..len].to_vec(), Limits::default()).err().unwrap();
        assert_eq!(error.format(), Some(FORMAT_NAME), "{error}");
        if len >= 12 {
            assert!(error.detail().contains("where PAR1 is wanted: it is cut short"), "{error}");
        }
    }
}

#[test]
fn every_flipped_bit_comes_to_an_end() {
    let bytes = sample();
    let mut wrong = 0;
    for bit in 0..bytes.len() * 8 {
        let mut bytes = bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        wrong += usize::from(!use_it(bytes));
    }
    assert!(wrong > bytes.len(), "{wrong} flips of {} bytes are seen", bytes.len());
}

/// A file with this footer.
fn with_footer(footer: &[u8]) -> Vec<u8> {
    let length = u32::try_from(footer.len()).unwrap().to_le_bytes();
    [b"PAR1".as_slice(), footer, &length, b"PAR1"].concat()
}

/// A schema whose nodes have these counts of children.
fn with_schema(children: &[i32]) -> Vec<u8> {
    let mut footer = vec![0x15, 2, 0x19, 0xFC];
    varint(&mut footer, children.len() as u64);
    for count in children {
        footer.extend([0x35, 0, 0x18, 1, b'a']);
        if *count != 0 {
            footer.push(0x15);
            varint(&mut footer, ((count << 1) ^ (count >> 31)).cast_unsigned().into());
        }
        footer.push(0);
    }
    footer.extend([0x16, 0, 0x19, 0x0C, 0]);
    with_footer(&footer)
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value > 127 {
        out.push(u8::try_from(value & 127).unwrap() | 128);
        value >>= 7;
    }
    out.push(u8::try_from(value).unwrap());
}

#[test]
fn footers_that_lie_are_errors_before_memory_is_reserved() {
    let said = |bytes: Vec<u8>| open(bytes, Limits::default()).err().unwrap();
    let error = said(with_schema(&[i32::MAX]));
    assert_eq!(
        error.to_string(),
        "parquet: a group of the schema has 2147483647 children, which is more than the 0 nodes that follow (byte 9)"
    );
    let error = said(with_schema(&[-1]));
    assert!(error.detail().contains("has -1 children"), "{error}");
    let mut deep = vec![1; 300_000];
    deep.push(0);
    let error = said(with_schema(&deep));
    assert_eq!(error.kind(), ErrorKind::Limit { asked: 129, limit: 128 });
    let error = said(with_schema(&vec![0; 1 << 20 | 1]));
    assert_eq!(error.kind(), ErrorKind::Limit { asked: 1 << 20 | 1, limit: 1 << 20 });
    let mut long = sample();
    let at = long.len() - 8;
    long[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(matches!(said(long).kind(), ErrorKind::Truncated { needed: 0xFFFF_FFFF, .. }));
    // A list of more elements than bytes; nothing at all; a list in a list without an end.
    for footer in [
        &[0x19, 0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F][..],
        &[],
        &[0x19; 4000],
        &[0xFF; 100],
        &[0x1B, 0xFF, 0xFF, 0x7F, 0x33],
    ] {
        assert_eq!(said(with_footer(footer)).format(), Some(FORMAT_NAME));
    }
    let mut encrypted = sample();
    let at = encrypted.len() - 4;
    encrypted[at..].copy_from_slice(b"PARE");
    assert_eq!(said(encrypted).to_string().split(" (").next(), Some("parquet: the footer is encrypted"));
    let error = open(sample(), Limits::default().with_metadata_bytes(100)).err().unwrap();
    assert!(matches!(error.kind(), ErrorKind::Limit { limit: 100, .. }));
    let error = open(sample(), Limits::default().with_columns(2)).err().unwrap();
    assert!(matches!(error.kind(), ErrorKind::Limit { limit: 2, .. }));
}

#[test]
fn a_file_that_becomes_shorter_is_an_error() {
    // The footer says where columns lie: in front of it are fewer bytes than it says.
    let bytes = write(&[ints(0, 1000)], WriterOptions::default());
    let length = u32::from_le_bytes(bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap());
    let footer = bytes.len() - 8 - usize::try_from(length).unwrap();
    let short = [&bytes[..4], &bytes[footer..]].concat();
    let container = open(short, Limits::default()).unwrap();
    let mut batches = container.batches(&BatchScan::default()).unwrap();
    let error = batches.try_next().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Truncated { .. }), "{error}");
    assert_eq!(error.position().block, Some(0));
}
