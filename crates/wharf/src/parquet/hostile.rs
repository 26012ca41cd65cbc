//! Damaged and malicious files.

use arrow_array::types::Int8Type;
use arrow_array::{ArrayRef, DictionaryArray, Int64Array, ListArray, RecordBatch};
use container_arrow::{ArrowTable, BatchScan};
use container_core::{Container, Error, ErrorKind, Limits, OpenOptions, Scan, Source, Table, VerifyOptions};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

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

/// Uses a file in every way. Any result is fine as long as it returns. True if the file could be opened.
fn exercise(bytes: Vec<u8>) -> bool {
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
        // A row group without columns may declare any number of rows.
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
fn every_prefix_is_an_error() {
    let bytes = sample();
    assert!(exercise(bytes.clone()));
    for len in 0..bytes.len() {
        let error = open(bytes[..len].to_vec(), Limits::default()).err().unwrap();
        assert_eq!(error.format(), Some(FORMAT_NAME), "{error}");
        if len >= 12 {
            assert!(error.detail().contains("expected PAR1 at the end"), "{error}");
        }
    }
}

#[test]
fn every_flipped_bit_is_handled() {
    let bytes = sample();
    let step = container_core::testkit::cases(7, 1);
    let mut wrong = 0;
    for bit in (0..bytes.len() * 8).step_by(step) {
        let mut bytes = bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        wrong += usize::from(!exercise(bytes));
    }
    assert!(wrong * step > bytes.len(), "{wrong} flips of {} bytes are detected", bytes.len());
}

/// A file with this footer.
fn with_footer(footer: &[u8]) -> Vec<u8> {
    let length = u32::try_from(footer.len()).unwrap().to_le_bytes();
    [b"PAR1".as_slice(), footer, &length, b"PAR1"].concat()
}

/// A schema whose nodes declare these numbers of children.
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
fn rejects_malicious_footers_before_allocating() {
    let open_error = |bytes: Vec<u8>| open(bytes, Limits::default()).err().unwrap();
    let error = open_error(with_schema(&[i32::MAX]));
    assert_eq!(error.to_string(), "parquet: a schema group declares 2147483647 children, only 0 nodes follow (byte 9)");
    let error = open_error(with_schema(&[-1]));
    assert!(error.detail().contains("declares -1 children"), "{error}");
    let mut deep = vec![1; 300_000];
    deep.push(0);
    let error = open_error(with_schema(&deep));
    assert_eq!(error.kind(), ErrorKind::Limit { asked: 129, limit: 128 });
    let error = open_error(with_schema(&vec![0; 1 << 20 | 1]));
    assert_eq!(error.kind(), ErrorKind::Limit { asked: 1 << 20 | 1, limit: 1 << 20 });
    // The library would decode 1000 nodes and 4,000,000 chunks, which the file is large enough for.
    let mut wide = with_schema(&{
        let mut children = vec![0; 1000];
        children[0] = 999;
        children
    });
    let behind = wide.split_off(wide.len() - 11);
    assert_eq!(behind[..3], [0x19, 0x0C, 0]);
    wide.extend([0x19, 0xFC]);
    varint(&mut wide, 4000);
    wide.extend([0x19, 0xFC]);
    varint(&mut wide, 1000);
    wide.resize(wide.len() + 4_100_000, 0);
    let error = open_error(with_footer(&wide[4..]));
    assert_eq!(error.kind(), ErrorKind::Limit { asked: 4_000_000 * 512, limit: 4 * (384 << 20) }, "{error}");
    // One row group of a million columns.
    const COLUMNS: i32 = (1 << 20) - 2;
    let wide = [&[COLUMNS][..], &vec![0; COLUMNS as usize]].concat();
    let error = open_error(with_schema(&wide));
    let asked = (COLUMNS as u64 + 1) * (1024 + 512);
    assert_eq!(error.kind(), ErrorKind::Limit { asked, limit: 384 << 20 }, "{error}");
    let mut long = sample();
    let at = long.len() - 8;
    long[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(matches!(open_error(long).kind(), ErrorKind::Truncated { needed: 0xFFFF_FFFF, .. }));
    // A list of more elements than bytes; an empty footer; endlessly nested lists.
    for footer in [
        &[0x19, 0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F][..],
        &[],
        &[0x19; 4000],
        &[0xFF; 100],
        &[0x1B, 0xFF, 0xFF, 0x7F, 0x33],
    ] {
        assert_eq!(open_error(with_footer(footer)).format(), Some(FORMAT_NAME));
    }
    let mut encrypted = sample();
    let at = encrypted.len() - 4;
    encrypted[at..].copy_from_slice(b"PARE");
    assert_eq!(open_error(encrypted).to_string().split(" (").next(), Some("parquet: the footer is encrypted"));
    let error = open(sample(), Limits::default().with_metadata_bytes(100)).err().unwrap();
    assert!(matches!(error.kind(), ErrorKind::Limit { limit: 100, .. }));
    let error = open(sample(), Limits::default().with_columns(2)).err().unwrap();
    assert!(matches!(error.kind(), ErrorKind::Limit { limit: 2, .. }));
}

#[test]
fn truncated_column_chunks_are_errors() {
    // The column chunks that the footer declares exceed the bytes before it.
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

/// A file without an Arrow schema.
fn plain(batch: &RecordBatch, properties: parquet::file::properties::WriterPropertiesBuilder) -> Vec<u8> {
    use parquet::arrow::arrow_writer::{ArrowWriter, ArrowWriterOptions};
    let options = ArrowWriterOptions::new().with_skip_arrow_metadata(true).with_properties(properties.build());
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new_with_options(&mut bytes, batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

/// 8192 rows of the same string of 300,000 letters.
const ONE_TEXT: [&str; 4] = [
    "UEFSMRUEFcjPJBVCTBUCFQASAAAotS/9oOSTBABsAAAo4JMEAHkBAPj/OdACAgAQeSOfBHkVABUaFSwsFYCAARUQFQYVBhwAAAAo",
    "tS/9IA1pAAAEAAAAgIABAQGAgAEAFQQZLDUAGAZzY2hlbWEVAgAVDCUCGAF0JQBMHAAAABaAgAEZHBkcJgAcFQwZNQAGEBkYAXQV",
    "DBaAgAEWrNAkFrgBJmomCCksFQQVABUCABUAFRAVAgA8FoCA4KcSGQYZJgCAgAEAAAAWrNAkFoCAASYIFrgBACggcGFycXVldC1j",
    "cHAtYXJyb3cgdmVyc2lvbiAyNi4wLjEZHBwAAACeAAAAUEFSMQ==",
];

/// Rows with the same string, which is stored once.
fn one_text(rows: usize, length: usize) -> ArrayRef {
    let keys = arrow_array::Int32Array::from(vec![0; rows]);
    let text = std::sync::Arc::new(arrow_array::StringArray::from(vec!["x".repeat(length)]));
    std::sync::Arc::new(DictionaryArray::try_new(keys, text).unwrap())
}

#[test]
fn shared_dictionary_value_is_not_copied_per_row() {
    use arrow_array::cast::AsArray;

    // 2.4 GB of strings in one batch, more than 32-bit offsets can address: a file by pyarrow, compressed with Zstandard.
    let (rows, length) = (8192, 300_000);
    let bytes = BASE64_STANDARD.decode(ONE_TEXT.concat()).unwrap();
    let container = open(bytes, Limits::default()).unwrap();
    let mut findings = Vec::new();
    container.verify(&VerifyOptions::default(), &mut |finding| findings.push(finding)).unwrap();
    assert!(findings.is_empty(), "{findings:?}");
    let scan = BatchScan::from(Scan::default().with_rows(8000..rows)).with_batch_bytes(2 << 20);
    let mut batches = container.batches(&scan).unwrap();
    for _ in 0..3 {
        let batch = batches.try_next().unwrap().unwrap();
        assert!((1..=7).contains(&batch.num_rows()), "{} rows", batch.num_rows());
        assert!(batch.column(0).as_string::<i32>().iter().all(|text| text.unwrap().len() == length));
    }
    // A limit that a single string exceeds.
    let batch = RecordBatch::try_from_iter([("t", one_text(10, length))]).unwrap();
    let container = open(plain(&batch, Default::default()), Limits::default().with_block_bytes(200_000));
    let error =
        container.unwrap().batches(&BatchScan::default().with_batch_bytes(1)).unwrap().try_next().err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Limit { asked: 300_016, limit: 200_000 }, "{error}");
    assert_eq!((error.position().row, error.position().column.as_deref()), (Some(0), Some("t")));
}

#[test]
fn delta_encoded_strings_are_read_in_small_batches() {
    let texts = arrow_array::StringArray::from(vec!["y".repeat(100_000); 300]);
    let batch = RecordBatch::try_from_iter([("t", std::sync::Arc::new(texts) as ArrayRef)]).unwrap();
    let properties = parquet::file::properties::WriterProperties::builder().set_dictionary_enabled(false);
    let properties = properties.set_encoding(parquet::basic::Encoding::DELTA_BYTE_ARRAY);
    let bytes = plain(&batch, properties);
    assert!(bytes.len() < 2_000_000, "{}", bytes.len());
    // 30 MB of strings, 100,000 bytes per row: the limit is below the sum of all rows.
    let container = open(bytes.clone(), Limits::default().with_block_bytes(10 << 20)).unwrap();
    let mut findings = Vec::new();
    container.verify(&VerifyOptions::default(), &mut |finding| findings.push(finding)).unwrap();
    assert!(findings.is_empty(), "{findings:?}");
    let mut rows = 0;
    let mut batches = container.batches(&BatchScan::default()).unwrap();
    while let Some(batch) = batches.try_next().unwrap() {
        rows += batch.num_rows();
    }
    assert_eq!(rows, 300);
}

#[test]
fn rejects_row_with_more_items_than_the_limit() {
    // A row of one item, then a row of two million nulls, in a tiny file.
    let item = std::sync::Arc::new(arrow_schema::Field::new_list_field(arrow_schema::DataType::Int64, true));
    let offsets = arrow_buffer::OffsetBuffer::from_lengths([1, 2_000_000]);
    let nulls = std::sync::Arc::new(Int64Array::new_null(2_000_001));
    let lists: ArrayRef = std::sync::Arc::new(ListArray::new(item, offsets, nulls, None));
    let batch = RecordBatch::try_from_iter([("l", lists)]).unwrap();
    let bytes = plain(&batch, parquet::file::properties::WriterProperties::builder());
    assert!(bytes.len() < 10_000, "{}", bytes.len());
    let container = open(bytes.clone(), Limits::default().with_block_bytes(8 << 20)).unwrap();
    let mut findings = Vec::new();
    container.verify(&VerifyOptions::default(), &mut |finding| findings.push(finding)).unwrap();
    assert!(matches!(findings[0].error.kind(), ErrorKind::Limit { limit: 0x80_0000, .. }), "{findings:?}");
    let error = container.batches(&BatchScan::default()).unwrap().try_next().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Limit { limit: 0x80_0000, .. }), "{error}");
    assert!(exercise(bytes), "what is within the limits is read");
}
