use std::sync::Arc;

use arrow_array::{Int32Array, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema};

use super::*;
use crate::error::{Error, ErrorKind};
use crate::{Bytes, Source};

#[test]
fn errors_go_through_arrow_whole() {
    let error = from_arrow(to_arrow(Error::truncated("the block", 8, 3).in_row(7).in_column("x")));
    assert_eq!(error.kind(), ErrorKind::Truncated { needed: 8, available: 3 });
    assert_eq!((error.position().row, error.position().column.as_deref()), (Some(7), Some("x")));
    let error = from_arrow(ArrowError::NotYetImplemented("unions".to_owned()));
    assert_eq!((error.kind(), error.detail()), (ErrorKind::Unsupported, "unions"));
    let error = from_arrow(ArrowError::IoError("writing".to_owned(), std::io::Error::other("full")));
    assert_eq!(error.kind(), ErrorKind::Io);
}

#[test]
fn numbers_share_aligned_memory_and_copy_the_rest() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let content: Vec<u8> = (0..40_000u32).flat_map(u32::to_ne_bytes).collect();
    std::fs::write(file.path(), &content).unwrap();
    let mapped = Source::open_with(file.path(), crate::Access::Mapped).unwrap();
    let bytes = mapped.read(4..160_000).unwrap();
    let shared = numbers::<u32>(bytes.clone());
    assert_eq!(shared.inner().as_ptr(), bytes.as_ptr());
    assert_eq!((shared.len(), shared[0], shared[39_998]), (39_999, 1, 39_999));
    let crooked = numbers::<u32>(mapped.read(1..12).unwrap());
    assert_eq!(crooked.len(), 2);
    assert_eq!(crooked[0].to_ne_bytes(), content[1..5]);
    assert!(numbers::<f64>(Bytes::from_static(b"1234567")).is_empty());
}

#[test]
fn bytes_become_bits() {
    let bits = booleans(&[0, 1, 2, 0, 255]);
    assert_eq!(bits.iter().collect::<Vec<_>>(), [false, true, true, false, true]);
}

#[test]
fn batches_are_cut_without_losing_a_row() {
    let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Int32, false)]));
    let batch = RecordBatch::try_new(schema, vec![Arc::new(Int32Array::from_iter_values(0..10))]).unwrap();
    let lengths = |rows| Pieces::new(batch.clone(), rows).map(|piece| piece.num_rows()).collect::<Vec<_>>();
    assert_eq!(lengths(4), [4, 4, 2]);
    assert_eq!(lengths(10), [10]);
    assert_eq!(lengths(0), [1; 10]);
    assert_eq!(Pieces::new(batch.slice(0, 0), 3).count(), 0);
}

#[test]
fn rows_of_a_batch_are_bounded_by_rows_and_bytes() {
    let scan = BatchScan::default().with_batch_rows(100).with_batch_bytes(1000);
    assert_eq!([0, 1, 10, 11, 999, 1001, usize::MAX].map(|bytes| scan.rows_of(bytes)), [100, 100, 100, 90, 1, 1, 1]);
    assert_eq!(scan.with_batch_rows(0).batch_rows, 1);
}
