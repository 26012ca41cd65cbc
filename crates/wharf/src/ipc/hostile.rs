//! Damaged and malicious files and streams.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use container_arrow::{ArrowTable, BatchScan};
use container_core::{Container, Error, ErrorKind, Limits, OpenOptions, Scan, Source, Table, VerifyOptions};

use super::*;
use crate::batches::samples;

fn sample(options: WriterOptions) -> Vec<u8> {
    let expected = ["i64", "utf8", "utf8_view", "list", "dictionary", "struct"];
    let columns = samples::columns(12)
        .into_iter()
        .filter(|(field, _)| expected.contains(&field.name().as_str()))
        .collect::<Vec<_>>();
    let columns = columns.into_iter().chain(samples::odd_columns(12).into_iter().skip(1).take(1));
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.map(|(field, array)| (field.name().clone(), array, true)))
            .unwrap();
    let mut writer = Writer::new(Vec::new(), batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.write(&batch.slice(3, 4)).unwrap();
    writer.end().unwrap()
}

fn open(bytes: Vec<u8>, limits: Limits) -> Result<IpcContainer, Error> {
    Reader::from_source(Source::from(bytes), OpenOptions::default().with_limits(limits)).map(IpcContainer::new)
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
    let mut batches = container.batches(&Scan::default().with_threads(1).into()).unwrap();
    let read = loop {
        match batches.try_next() {
            Ok(Some(_)) => {}
            Ok(None) => break true,
            Err(error) => {
                assert_eq!(error.format(), Some(FORMAT_NAME), "{error}");
                break false;
            }
        }
    };
    assert!(batches.try_next().is_ok());
    good && read
}

const ALL: [(Layout, Compression); 4] = [
    (Layout::File, Compression::None),
    (Layout::File, Compression::Lz4),
    (Layout::Stream, Compression::None),
    (Layout::Stream, Compression::Zstd(1)),
];

#[test]
fn every_prefix_is_an_error_or_a_shorter_stream() {
    for (layout, compression) in ALL {
        let bytes = sample(WriterOptions::default().with_layout(layout).with_compression(compression));
        assert!(exercise(bytes.clone()));
        let mut whole = 0;
        for len in 0..bytes.len() {
            match open(bytes[..len].to_vec(), Limits::default()) {
                Ok(container) => {
                    assert!(layout == Layout::Stream && container.len() < Some(17), "{len}");
                    whole += 1;
                }
                Err(error) => assert_eq!(error.format(), Some(FORMAT_NAME), "{error}"),
            }
        }
        // A stream may end after any message, also without an end marker.
        assert!(if layout == Layout::File { whole == 0 } else { (1..8).contains(&whole) }, "{whole}");
    }
}

#[test]
fn every_flipped_bit_is_handled() {
    let step = container_core::testkit::cases(53, 1);
    for (layout, compression) in ALL {
        let bytes = sample(WriterOptions::default().with_layout(layout).with_compression(compression));
        let mut wrong = 0;
        for bit in (0..bytes.len() * 8).step_by(step) {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            wrong += usize::from(!exercise(bytes));
        }
        assert!(wrong * step > bytes.len() / 4, "{wrong} flips of {} bytes are detected", bytes.len());
    }
}

#[test]
fn rejects_malicious_buffer_lengths_before_allocating() {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values((0..4000).map(|n| n % 7)));
    let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
    for compression in [Compression::Lz4, Compression::Zstd(1)] {
        let options = WriterOptions::default().with_compression(compression);
        let mut writer = Writer::new(Vec::new(), batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        let mut bytes = writer.end().unwrap();
        let length = 32_000_i64.to_le_bytes();
        let at = bytes.windows(8).position(|part| part == length).unwrap();
        for (declared, kind) in [(i64::MAX / 2, "limit"), (1 << 40, "limit"), (-2, "invalid"), (31_992, "invalid")] {
            bytes[at..at + 8].copy_from_slice(&declared.to_le_bytes());
            let container = open(bytes.clone(), Limits::default()).unwrap();
            let error = container.batches(&BatchScan::default()).unwrap().try_next().unwrap_err();
            assert_eq!(error.kind().name(), kind, "{declared}: {error}");
            assert_eq!((error.position().block, error.position().column.as_deref()), (Some(0), Some("n")));
        }
    }
}

#[test]
fn rejects_lengths_beyond_the_file() {
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..10).map(|n| n.to_string())));
    let batch = RecordBatch::try_from_iter([("t", texts)]).unwrap();
    let mut writer = Writer::new(Vec::new(), batch.schema(), WriterOptions::default()).unwrap();
    writer.write(&batch).unwrap();
    let bytes = writer.end().unwrap();
    let open_error = |bytes: Vec<u8>| open(bytes, Limits::default()).err().unwrap();
    let with_length = |length: i32| {
        let mut bytes = bytes.clone();
        let at = bytes.len() - 10;
        bytes[at..at + 4].copy_from_slice(&length.to_le_bytes());
        open_error(bytes)
    };
    assert!(matches!(with_length(i32::MAX).kind(), ErrorKind::Truncated { needed: 0x7FFF_FFFF, .. }));
    assert_eq!(with_length(-1).to_string().split(" (").next(), Some("arrow: the footer has the length -1"));
    let error = open_error(bytes[..bytes.len() / 2].to_vec());
    assert!(error.detail().contains("expected ARROW1 at the end"), "{error}");
    assert_eq!(open_error(b"FEA1 and more of it".to_vec()).kind(), ErrorKind::Unsupported);
    let mark = |length: u32| [&[0xFF; 4][..], &length.to_le_bytes(), &[0; 64]].concat();
    assert!(matches!(open_error(mark(0x7FFF_FFF8)).kind(), ErrorKind::Limit { .. }));
    assert!(matches!(open_error(mark(80)).kind(), ErrorKind::Truncated { needed: 88, available: 72 }));
    assert_eq!(open_error(mark(64)).kind(), ErrorKind::Invalid);
}
