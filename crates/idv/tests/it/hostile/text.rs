//! Text blocks whose parts contradict each other.

use crate::support::cells::text_block;
use crate::support::forge::{Codec, Column, DEFLATE, Forge, NONE};
use crate::support::{block, block_fails, open};

const MISSING: u32 = 1 << 31;

fn file(rows: i64, raw: Vec<u8>) -> Vec<u8> {
    Forge::new(5, rows).column(Column::new("t", Codec::plain("TextSpan"), NONE, 100).block(raw)).bytes()
}

/// A block of two texts must fail so, at `at` bytes from its beginning.
#[track_caller]
fn fails(raw: Vec<u8>, kind: &str, text: &str, at: usize) {
    block_fails(file(2, raw.clone()), kind, &format!("idv: {text} (byte {}, block 0, column \"t\")", 256 + at));
    // Compressed, the place is that in the decompressed block.
    let column = Column::new("t", Codec::plain("TextSpan"), DEFLATE, 100).block(raw);
    let reader = open(Forge::new(5, 2).column(column).bytes()).unwrap();
    let error = block(&reader, 0, 0).unwrap_err().to_string();
    assert!(
        error.contains(&format!("at byte {at} of the decompressed block"))
            || error.starts_with("idv: the decompressed block: needs "),
        "{error}"
    );
    assert!(error.ends_with("(byte 256, block 0, column \"t\")"), "{error}");
}

#[test]
fn rejects_count_different_from_rows() {
    fails(text_block(3, &[1, 2], b"ab"), "invalid", "number of texts: expected 2, found 3", 0);
    fails(text_block(-1, &[1, 2], b"ab"), "invalid", "number of texts -1 is negative", 0);
    fails(text_block(i32::MAX, &[1, 2], b"ab"), "invalid", "number of texts: expected 2, found 2147483647", 0);
}

#[test]
fn rejects_decreasing_boundaries() {
    fails(text_block(2, &[2, 1], b"ab"), "invalid", "boundary 1 of text 1 is below the previous one, 2", 8);
    fails(text_block(2, &[2, 1 | MISSING], b"ab"), "invalid", "boundary 1 of text 1 is below the previous one, 2", 8);
}

#[test]
fn rejects_missing_text_with_characters() {
    fails(text_block(2, &[1, 2 | MISSING], b"ab"), "invalid", "missing text 1 has 1 units", 8);
    fails(text_block(2, &[2 | MISSING, 2], b"ab"), "invalid", "missing text 0 has 2 units", 4);
}

#[test]
fn rejects_last_boundary_before_the_end() {
    let wrong =
        |units: u32, found: &str| format!("the last boundary is {units} but the joined text has {found} UTF-16 units");
    fails(text_block(2, &[1, 1], b"ab"), "invalid", &wrong(1, "2"), 13);
    fails(text_block(2, &[1, 3], b"ab"), "invalid", &wrong(3, "2"), 13);
    fails(text_block(2, &[0, 0x7FFF_FFFF], b"ab"), "invalid", &wrong(0x7FFF_FFFF, "2"), 13);
    // As many units as bytes, but not all ASCII; as many as characters, but not units.
    fails(text_block(2, &[1, 3], "aé".as_bytes()), "invalid", &wrong(3, "2"), 13);
    fails(text_block(2, &[0, 1], "😀".as_bytes()), "invalid", &wrong(1, "2"), 13);
}

#[test]
fn rejects_invalid_utf8() {
    for (bytes, at) in
        [(&b"a\xFFb"[..], 1), (b"\xC3", 0), (b"ab\xED\xA0\x80", 2), (b"\xF5\x80\x80\x80", 0), (b"\xC0\x80", 0)]
    {
        let reader = open(file(2, text_block(2, &[1, bytes.len() as u32], bytes))).unwrap();
        let error = block(&reader, 0, 0).unwrap_err();
        let text = error.to_string();
        assert_eq!(error.kind().name(), "invalid");
        assert!(text.starts_with("idv: the joined text is not UTF-8"), "{text}");
        assert!(text.ends_with(&format!("(byte {}, block 0, column \"t\")", 256 + 13 + at)), "{text}");
    }
    fails(
        text_block(2, &[1, 3], b"a\xFFb"),
        "invalid",
        "the joined text is not UTF-8: invalid utf-8 sequence of 1 bytes from index 1",
        14,
    );
}

#[test]
fn rejects_joined_text_outside_the_block() {
    let mut raw = text_block(2, &[1, 2], b"ab");
    raw.pop();
    fails(raw, "truncated", "the joined text: needs 2 bytes, 1 available", 13);
    let ends = [2i32.to_le_bytes(), 1i32.to_le_bytes(), 2i32.to_le_bytes()].concat();
    fails(ends.clone(), "truncated", "length of the joined text: needs 1 byte, 0 available", 12);
    let huge = [&ends[..], &[0xFF; 9], &[1], b"ab"].concat();
    fails(huge, "truncated", "the joined text: needs 18446744073709551615 bytes, 2 available", 22);
    let over = [&ends[..], &[0xFF; 9], &[2], b"ab"].concat();
    fails(over, "invalid", "length of the joined text: LEB128 byte 0x02 does not fit u64", 21);
    fails(ends[..10].to_vec(), "truncated", "values: needs 8 bytes, 6 available", 4);
    fails(ends[..3].to_vec(), "truncated", "number of texts: needs 4 bytes, 3 available", 0);
    fails(Vec::new(), "truncated", "number of texts: needs 4 bytes, 0 available", 0);
}

#[test]
fn rejects_bytes_after_the_joined_text() {
    let raw = [text_block(2, &[1, 2], b"ab"), vec![0; 5]].concat();
    fails(raw, "invalid", "the block: 5 unexpected trailing bytes", 15);
}

/// Boundaries between the halves of a pair: .NET strings that ended and began in halves.
#[test]
fn split_surrogate_pairs_become_replacement_characters() {
    let read = |ends: &[u32], joined: &str| -> Vec<Option<String>> {
        let reader = open(file(ends.len() as i64, text_block(ends.len() as i32, ends, joined.as_bytes()))).unwrap();
        match block(&reader, 0, 0).unwrap() {
            idv::Values::Text(texts) => texts.iter().map(|text| text.map(ToOwned::to_owned)).collect(),
            other => panic!("{other:?}"),
        }
    };
    let some = |texts: &[&str]| texts.iter().map(|text| Some((*text).to_owned())).collect::<Vec<_>>();
    assert_eq!(read(&[1, 2], "😀"), some(&["\u{FFFD}", "\u{FFFD}"]));
    assert_eq!(read(&[2, 4, 6], "a😀é😀"), some(&["a\u{FFFD}", "\u{FFFD}é", "😀"]));
    assert_eq!(
        read(&[1, 1 | MISSING, 1, 2], "😀"),
        [some(&["\u{FFFD}"]), vec![None], some(&["", "\u{FFFD}"])].concat()
    );
    // Whole pairs around a split one are kept.
    assert_eq!(read(&[2, 3, 6], "😀😀😀"), some(&["😀", "\u{FFFD}", "\u{FFFD}😀"]));
}
