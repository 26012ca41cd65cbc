//! Conditions from arbitrary text: what parses is displayed so that it parses to the same, and a mask of some rows is a part of the mask of all.

use std::sync::{Arc, LazyLock};

use arrow_array::types::{Int8Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float32Array,
    Float64Array, Int8Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray, TimestampNanosecondArray,
    UInt64Array,
};
use arrow_schema::{DataType, Field};
use container_arrow::Predicate;
use container_core::ErrorKind;

/// Columns of many types, with missing and extreme values; their names are short, so that random text finds them.
static BATCH: LazyLock<RecordBatch> = LazyLock::new(|| {
    let inner: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3), Some(i64::MAX)]));
    let s = StructArray::try_new(vec![Field::new("a", DataType::Int64, true)].into(), vec![inner], None).unwrap();
    let lists = [Some(vec![Some(1), None]), None, Some(vec![]), Some(vec![Some(i64::MIN)])];
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("i", Arc::new(Int64Array::from(vec![Some(0), Some(i64::MIN), None, Some(i64::MAX)]))),
        ("u", Arc::new(UInt64Array::from(vec![Some(0), Some(u64::MAX), None, Some(1 << 53)]))),
        ("c", Arc::new(Int8Array::from(vec![Some(-128), Some(127), None, Some(1)]))),
        ("f", Arc::new(Float64Array::from(vec![Some(f64::NAN), Some(-0.0), None, Some(f64::INFINITY)]))),
        ("g", Arc::new(Float32Array::from(vec![Some(0.1), Some(f32::MIN), None, Some(f32::NAN)]))),
        (
            "d",
            Arc::new(
                Decimal128Array::from(vec![1, -250, 0, i128::from(i64::MAX)]).with_precision_and_scale(38, 2).unwrap(),
            ),
        ),
        ("t", Arc::new(StringArray::from(vec![Some("a%"), Some("ü\\_"), None, Some("")]))),
        ("k", Arc::new(["x", "y", "x", "NaN"].into_iter().collect::<DictionaryArray<Int8Type>>())),
        ("b", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None, Some(true)]))),
        ("x", Arc::new(BinaryArray::from(vec![b"\0".as_slice(), b"", b"a", b"\xff"]))),
        ("y", Arc::new(Date32Array::from(vec![Some(0), Some(i32::MAX), None, Some(i32::MIN)]))),
        ("z", Arc::new(TimestampNanosecondArray::from(vec![0, i64::MAX, i64::MIN, 1]).with_timezone("UTC"))),
        ("l", Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists))),
        ("s", Arc::new(s)),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
});

/// The bytes are the text.
pub fn wharf_predicate(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(predicate) = Predicate::parse(text) else { return };
    let shown = predicate.to_string();
    // Parentheses that are added can exceed the depth.
    match Predicate::parse(&shown) {
        Ok(again) => assert_eq!(again, predicate, "{shown}"),
        Err(error) => assert!(matches!(error.kind(), ErrorKind::Limit { .. }), "{shown}: {error}"),
    }
    let _ = predicate.condition();
    let batch = &*BATCH;
    let Ok(filter) = predicate.bind(batch.schema_ref()) else { return };
    let part = filter.mask(&batch.slice(1, 3));
    match filter.mask(batch) {
        Ok(mask) => {
            assert_eq!((mask.len(), mask.null_count()), (4, 0));
            assert_eq!(part.unwrap(), mask.slice(1, 3), "{shown}");
        }
        Err(error) => {
            let row = error.position().row;
            assert!(error.kind() != ErrorKind::Invalid || row.is_some_and(|row| row < 4), "{shown}: {error}");
        }
    }
}
