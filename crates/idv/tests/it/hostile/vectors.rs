//! Vector blocks whose parts contradict each other.

use crate::support::cells::vector_block;
use crate::support::forge::{Codec, Column, DEFLATE, Forge, NONE};
use crate::support::{block, block_fails, open};

fn file(dimensions: &[i32], compression: u8, raw: Vec<u8>) -> Vec<u8> {
    let codec = Codec::vector(&Codec::plain("Byte"), dimensions);
    Forge::new(6, 2).column(Column::new("v", codec, compression, 2).block(raw)).bytes()
}

/// A block of two vectors of bytes must fail so, at `at` bytes from its beginning.
#[track_caller]
fn fails(dimensions: &[i32], raw: Vec<u8>, kind: &str, text: &str, at: usize) {
    let place = format!("(byte {}, block 0, column \"v\")", 256 + at);
    block_fails(file(dimensions, NONE, raw.clone()), kind, &format!("idv: {text} {place}"));
    let reader = open(file(dimensions, DEFLATE, raw)).unwrap();
    let error = block(&reader, 0, 0).unwrap_err().to_string();
    assert!(
        error.contains(&format!("at byte {at} of the decompressed block"))
            || error.starts_with("idv: the decompressed block: needs "),
        "{error}"
    );
}

const KNOWN: &[i32] = &[3];
const UNKNOWN: &[i32] = &[0];

#[test]
fn rejects_count_different_from_rows() {
    let raw = |n| vector_block(n, 3, &[], &[-1, -1], 0, &[], &[1; 6]);
    assert!(block(&open(file(KNOWN, NONE, raw(2))).unwrap(), 0, 0).is_ok());
    fails(KNOWN, raw(3), "invalid", "number of vectors: expected 2, found 3", 0);
    fails(KNOWN, raw(-2), "invalid", "number of vectors -2 is negative", 0);
}

#[test]
fn rejects_length_different_from_type() {
    for length in [2, 4, i32::MAX] {
        let raw = vector_block(2, length, &[], &[-1, -1], 0, &[], &[1; 6]);
        fails(KNOWN, raw, "invalid", &format!("vector length: expected 3 by type, found {length}"), 4);
    }
    // 0 announces lengths, which vectors of a known size do not have.
    let raw = vector_block(2, 0, &[3, 3], &[-1, -1], 0, &[], &[1; 6]);
    fails(KNOWN, raw, "invalid", "vector length: expected 3 by type, found 0", 4);
    let raw = vector_block(2, -3, &[], &[-1, -1], 0, &[], &[1; 6]);
    fails(KNOWN, raw, "invalid", "vector length -3 is negative", 4);
}

#[test]
fn rejects_invalid_lengths() {
    let raw = vector_block(2, 0, &[1, -5], &[-1, -1], 0, &[], &[1; 6]);
    fails(UNKNOWN, raw, "invalid", "vector length -5 of item 1 is negative", 12);
}

#[test]
fn rejects_invalid_counts() {
    let wrong =
        |count: i32, item: u32| format!("count {count} of item {item} is neither -1 (dense) nor below the length 3");
    for count in [3, 4, i32::MAX, -2, i32::MIN] {
        let raw = vector_block(2, 3, &[], &[-1, count], 0, &[], &[1; 6]);
        fails(KNOWN, raw, "invalid", &wrong(count, 1), 12);
        let raw = vector_block(2, 0, &[3, 3], &[count, -1], 0, &[], &[1; 6]);
        fails(UNKNOWN, raw, "invalid", &wrong(count, 0), 16);
    }
    // Of nothing, nothing can be stored.
    let raw = vector_block(2, 0, &[0, 0], &[0, 1], 1, &[0], &[1]);
    let text = "count 1 of item 1 is neither -1 (dense) nor below the length 0";
    fails(UNKNOWN, raw, "invalid", text, 20);
}

#[test]
fn rejects_wrong_totals() {
    for total in [0, 1, 3, i32::MAX] {
        let raw = vector_block(2, 3, &[], &[2, -1], total, &[0, 1], &[1; 5]);
        fails(KNOWN, raw, "invalid", &format!("number of indices: expected 2 by the counts, found {total}"), 16);
    }
    let raw = vector_block(2, 3, &[], &[2, -1], -1, &[0, 1], &[1; 5]);
    fails(KNOWN, raw, "invalid", "number of indices -1 is negative", 16);
    // All dense: no indices.
    let raw = vector_block(2, 3, &[], &[-1, -1], 1, &[0], &[1; 6]);
    fails(KNOWN, raw, "invalid", "number of indices: expected 0 by the counts, found 1", 16);
}

#[test]
fn rejects_indices_out_of_order_or_range() {
    let raw = |slots: &[i32]| vector_block(2, 3, &[], &[2, 2], 4, slots, &[1; 4]);
    let wrong = |slot: i32, item: u32, least: u32| {
        format!("index {slot} of item {item} is not between {least} and 3 (not included)")
    };
    assert!(block(&open(file(KNOWN, NONE, raw(&[0, 2, 0, 1]))).unwrap(), 0, 0).is_ok());
    fails(KNOWN, raw(&[0, 1, 1, 0]), "invalid", &wrong(0, 1, 2), 32);
    fails(KNOWN, raw(&[1, 1, 0, 1]), "invalid", &wrong(1, 0, 2), 24);
    fails(KNOWN, raw(&[0, 3, 0, 1]), "invalid", &wrong(3, 0, 1), 24);
    fails(KNOWN, raw(&[-1, 1, 0, 1]), "invalid", &wrong(-1, 0, 0), 20);
    fails(KNOWN, raw(&[0, i32::MAX, 0, 1]), "invalid", &wrong(i32::MAX, 0, 1), 24);
    // In vectors of differing lengths each has its own bound.
    let raw = vector_block(2, 0, &[5, 2], &[1, 1], 2, &[4, 2], &[1; 2]);
    fails(UNKNOWN, raw, "invalid", "index 2 of item 1 is not between 0 and 2 (not included)", 32);
}

#[test]
fn rejects_wrong_number_of_values() {
    let raw = |values: &[u8]| vector_block(2, 3, &[], &[-1, 1], 1, &[2], values);
    fails(KNOWN, raw(&[1; 3]), "truncated", "values: needs 4 bytes, 3 available", 24);
    fails(KNOWN, raw(&[1; 5]), "invalid", "the block: 1 unexpected trailing byte", 28);
}

#[test]
fn rejects_block_truncated_in_its_arrays() {
    let whole = vector_block(2, 0, &[3, 2], &[2, -1], 2, &[0, 1], &[1; 4]);
    assert!(block(&open(file(UNKNOWN, NONE, whole.clone())).unwrap(), 0, 0).is_ok());
    let cases = [
        (0, 0, "number of vectors: needs 4 bytes, 0 available"),
        (6, 4, "vector length: needs 4 bytes, 2 available"),
        (12, 8, "values: needs 8 bytes, 4 available"),
        (23, 16, "values: needs 8 bytes, 7 available"),
        (25, 24, "number of indices: needs 4 bytes, 1 available"),
        (35, 28, "values: needs 8 bytes, 7 available"),
    ];
    for (cut, at, text) in cases {
        fails(UNKNOWN, whole[..cut].to_vec(), "truncated", text, at);
    }
}

/// Lengths of 2^31 - 1 and no values for them.
#[test]
fn accepts_huge_lengths_without_values() {
    let raw = vector_block(2, 0, &[i32::MAX, i32::MAX], &[-1, -1], 0, &[], &[1; 6]);
    fails(UNKNOWN, raw, "truncated", "values: needs 4294967294 bytes, 6 available", 28);
    let raw = vector_block(2, i32::MAX, &[], &[-1, -1], 0, &[], &[1; 6]);
    fails(UNKNOWN, raw, "truncated", "values: needs 4294967294 bytes, 6 available", 20);
    // Sparse, they are allowed, and cost nothing.
    let raw = vector_block(2, i32::MAX, &[], &[0, 1], 1, &[i32::MAX - 1], &[7]);
    let reader = open(file(UNKNOWN, DEFLATE, raw)).unwrap();
    let mut rows = reader.rows(&container_core::Scan::default()).unwrap();
    let mut lines = Vec::new();
    while let Some(row) = rows.try_next().unwrap() {
        row.json(&mut lines).unwrap();
    }
    assert_eq!(
        String::from_utf8(lines).unwrap(),
        r#"{"v":{"$sparse":{"length":2147483647,"indices":[],"values":[]}}}{"v":{"$sparse":{"length":2147483647,"indices":[2147483646],"values":[7]}}}"#
    );
}

/// Texts in vectors have their own count, that of all values.
#[test]
fn text_count_covers_all_vectors() {
    let texts = crate::support::cells::text_block(3, &[1, 2, 3], b"abc");
    let codec = Codec::vector(&Codec::plain("TextSpan"), &[2]);
    let raw = vector_block(2, 2, &[], &[-1, -1], 0, &[], &texts);
    let column = Column::new("v", codec, NONE, 2).block(raw);
    block_fails(
        Forge::new(6, 2).column(column).bytes(),
        "truncated",
        "idv: values: needs 21 bytes, 20 available (byte 276, block 0, column \"v\")",
    );
    let texts = crate::support::cells::text_block(3, &[1, 2, 3], b"abcde");
    let raw = vector_block(2, 2, &[], &[-1, -1], 0, &[], &texts);
    let column = Column::new("v", Codec::vector(&Codec::plain("TextSpan"), &[2]), NONE, 2).block(raw);
    block_fails(
        Forge::new(6, 2).column(column).bytes(),
        "invalid",
        "idv: number of texts: expected 4, found 3 (byte 276, block 0, column \"v\")",
    );
}
