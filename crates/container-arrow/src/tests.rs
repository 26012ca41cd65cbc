use std::sync::Arc;

use arrow_array::{Int32Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use container_core::{Bytes, Source};

use super::*;

#[test]
fn numbers_is_zero_copy_if_aligned() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let content: Vec<u8> = (0..40_000u32).flat_map(u32::to_ne_bytes).collect();
    std::fs::write(file.path(), &content).unwrap();
    let mapped = Source::open_with(file.path(), container_core::testkit::mapped()).unwrap();
    let bytes = mapped.read(4..160_000).unwrap();
    let shared = numbers::<u32>(bytes.clone());
    assert_eq!(shared.inner().as_ptr(), bytes.as_ptr());
    assert_eq!((shared.len(), shared[0], shared[39_998]), (39_999, 1, 39_999));
    let unaligned = numbers::<u32>(mapped.read(1..12).unwrap());
    assert_eq!(unaligned.len(), 2);
    assert_eq!(unaligned[0].to_ne_bytes(), content[1..5]);
    assert!(numbers::<f64>(Bytes::from_static(b"1234567")).is_empty());
}

#[test]
fn booleans_packs_bytes() {
    let bits = booleans(&[0, 1, 2, 0, 255]);
    assert_eq!(bits.iter().collect::<Vec<_>>(), [false, true, true, false, true]);
}

#[test]
fn batch_slices_cover_all_rows() {
    let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Int32, false)]));
    let batch = RecordBatch::try_new(schema, vec![Arc::new(Int32Array::from_iter_values(0..10))]).unwrap();
    let lengths = |rows| BatchSlices::new(batch.clone(), rows).map(|slice| slice.num_rows()).collect::<Vec<_>>();
    assert_eq!(lengths(4), [4, 4, 2]);
    assert_eq!(lengths(10), [10]);
    assert_eq!(lengths(0), [1; 10]);
    assert_eq!(BatchSlices::new(batch.slice(0, 0), 3).count(), 0);
}
