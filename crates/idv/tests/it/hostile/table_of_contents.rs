//! Inconsistent tables of contents: some are fatal, most affect only a column.

use container_core::{Limits, Scan};

use crate::support::forge::{self, Codec, Column, Forge, NONE, ROWS, leb};
use crate::support::{block, open, open_with, refused, says, three_numbers, unreadable, verify};

/// A good column, and after it one of this codec: the second must be unreadable, the first readable.
#[track_caller]
fn codec_fails(codec: Codec, kind: &str, text: &str) {
    let file = three_numbers().column(Column::new("bad", codec, NONE, 3).block(vec![0; 12])).build();
    let text = text.replace("{at}", &file.columns[1].parameters.to_string());
    unreadable(file.bytes, 1, kind, &text);
}

#[test]
fn rejects_name_outside_the_table() {
    let file = three_numbers().build();
    let (entry, tail) = (file.toc, file.tail);
    let left = tail - entry - 1;
    refused(
        file.with(entry, &[0x7F]),
        "truncated",
        &format!(r##"idv: column name: needs 127 bytes, {left} available (byte {}, column "#0")"##, entry + 1),
    );
    // 2^64 - 1 bytes: no sum overflows.
    let huge = [&[0xFF; 9][..], &[1]].concat();
    refused(
        file.with(entry, &huge),
        "truncated",
        &format!(
            r##"idv: column name: needs 18446744073709551615 bytes, {} available (byte {}, column "#0")"##,
            tail - entry - 10,
            entry + 10
        ),
    );
}

#[test]
fn rejects_number_of_more_than_64_bits() {
    let file = three_numbers().build();
    for last in [2, 0x80] {
        let huge = [&[0xFF; 9][..], &[last]].concat();
        refused(
            file.with(file.toc, &huge),
            "invalid",
            &format!(
                r##"idv: column name: LEB128 byte {last:#04x} does not fit u64 (byte {}, column "#0")"##,
                file.toc + 9
            ),
        );
    }
}

#[test]
fn rejects_codec_parameters_outside_the_table() {
    let mut forge = three_numbers();
    forge.columns[0].codec.length = Some(leb(1000));
    let file = forge.build();
    let at = file.columns[0].parameters;
    refused(
        file.bytes,
        "truncated",
        &format!(
            "idv: codec parameters: needs 1000 bytes, {} available (byte {at}, column \"numbers\")",
            file.tail - at
        ),
    );
}

#[test]
fn rejects_codec_name_outside_the_table() {
    let file = three_numbers().build();
    let at = file.columns[0].codec;
    refused(
        file.with(at, &[100]),
        "truncated",
        &format!(
            "idv: codec name: needs 100 bytes, {} available (byte {}, column \"numbers\")",
            file.tail - at - 1,
            at + 1
        ),
    );
}

#[test]
fn rejects_negative_offsets() {
    let mut forge = three_numbers();
    let fields = |forge: &Forge| {
        let file = forge.build();
        (file.clone(), file.columns[0].lookup_field, file.columns[0].metadata_field, file.columns[0].slot_names_field)
    };
    let (file, lookup, metadata, _) = fields(&forge);
    let text = |what: &str, at: usize| format!("idv: {what} -1 is negative (byte {at}, column \"numbers\")");
    let minus = (-1i64).to_le_bytes();
    refused(file.with(lookup, &minus), "invalid", &text("lookup table offset", lookup));
    refused(file.with(metadata, &minus), "invalid", &text("metadata offset", metadata));

    (forge.version, forge.compatible) = (0x0001_0001_0001_0003, 0x0001_0001_0001_0003);
    forge.columns[0].slot_names = vec![(0, b"a".to_vec())];
    let (file, _, _, slots) = fields(&forge);
    refused(file.with(slots, &minus), "invalid", &text("slot names offset", slots));
    refused(file.with(slots + 8, &minus), "invalid", &text("slot names size", slots + 8));
    refused(file.with(slots + 16, &[0xFF; 4]), "invalid", &text("slot names count", slots + 16));
}

#[test]
fn rejects_truncated_table_of_contents() {
    let file = three_numbers().build();
    let metadata = file.columns[0].metadata_field;
    // The entry moved up so that its last field meets the tail.
    let toc = (file.toc + 4) as i64;
    let mut bytes = file.bytes.clone();
    let entry = bytes[file.toc..file.tail].to_vec();
    bytes[file.toc + 4..file.tail].copy_from_slice(&entry[..entry.len() - 4]);
    bytes[24..32].copy_from_slice(&toc.to_le_bytes());
    refused(
        bytes,
        "truncated",
        &format!("idv: metadata offset: needs 8 bytes, 4 available (byte {}, column \"numbers\")", metadata + 4),
    );
}

#[test]
fn unknown_codec_affects_only_its_column() {
    codec_fails(Codec::new("Half", vec![1, 2, 3]), "unsupported", r#"unknown codec "Half" (byte {at}, column "bad")"#);
    codec_fails(Codec::plain(""), "unsupported", r#"unknown codec "" (byte {at}, column "bad")"#);
    codec_fails(Codec::plain("single"), "unsupported", r#"unknown codec "single" (byte {at}, column "bad")"#);
    let inner = Codec::vector(&Codec::plain("Half"), &[2]);
    let text = r#"unknown codec "Half" (byte {at+6}, column "bad")"#;
    let file = three_numbers().column(Column::new("bad", inner, NONE, 3)).build();
    let at = (file.columns[1].parameters + 6).to_string();
    unreadable(file.bytes, 1, "unsupported", &text.replace("{at+6}", &at));
}

#[test]
fn unknown_compression_affects_only_its_column() {
    for kind in [3, 4, 255] {
        let column = Column::new("bad", Codec::plain("Byte"), kind, 3).block(vec![1, 2, 3]);
        let file = three_numbers().column(column).build();
        let text = format!(
            "unknown compression kind {kind} (known: 0 none, 1 deflate, 2 zlib) (byte {}, column \"bad\")",
            file.columns[1].entry
        );
        unreadable(file.bytes, 1, "unsupported", &text);
    }
}

#[test]
fn rejects_invalid_codec_parameters() {
    let invalid = |codec: Codec, text: &str| codec_fails(codec, "invalid", text);
    invalid(
        Codec::new("Single", vec![7]),
        r#"the codec's definition: 1 unexpected trailing byte (byte {at}, column "bad")"#,
    );
    invalid(Codec::plain("Key2"), r#"inner codec name: needs 1 byte, 0 available (byte {at}, column "bad")"#);
    invalid(
        Codec::key("Int32", 5),
        r#"unknown key width "Int32" (known: Byte, UInt16, UInt32, UInt64) (byte {at}, column "bad")"#,
    );
    for (number, count, most) in [("Byte", 256, "255"), ("UInt16", 65_536, "65535"), ("UInt32", 1 << 32, "4294967295")]
    {
        let codec = Codec::key(number, count);
        let at = codec.parameters.len() - 8;
        let file = three_numbers().column(Column::new("bad", codec, NONE, 3)).build();
        let text = format!(
            "key count {count} is not between 1 and {most}, the maximum of {number} (byte {}, column \"bad\")",
            file.columns[1].parameters + at
        );
        unreadable(file.bytes, 1, "invalid", &text);
    }
    let file = three_numbers().column(Column::new("bad", Codec::key("UInt64", 0), NONE, 3)).build();
    let text = format!(
        "key count 0 is not between 1 and 18446744073709551615, the maximum of UInt64 (byte {}, column \"bad\")",
        file.columns[1].parameters + 8
    );
    unreadable(file.bytes, 1, "invalid", &text);
}

#[test]
fn rejects_invalid_legacy_key_parameters() {
    let cases = [
        (Codec::old_key("Byte", 2, 0, 5), 6, "key contiguity 2 is neither 0 nor 1"),
        (Codec::old_key("Byte", 1, 0, -1), 15, "key count -1 is not between 0 and 255, the maximum of Byte"),
        (Codec::old_key("Byte", 1, 0, 256), 15, "key count 256 is not between 0 and 255, the maximum of Byte"),
    ];
    for (codec, at, text) in cases {
        let file = three_numbers().column(Column::new("bad", codec, NONE, 3)).build();
        let at = file.columns[1].parameters + at;
        unreadable(file.bytes, 1, "invalid", &format!("{text} (byte {at}, column \"bad\")"));
    }
    let mut short = Codec::old_key("Byte", 1, 0, 5);
    short.parameters.truncate(17);
    let file = three_numbers().column(Column::new("bad", short, NONE, 3)).build();
    let at = file.columns[1].parameters + 15;
    let text = format!("key count: needs 4 bytes, 2 available (byte {at}, column \"bad\")");
    unreadable(file.bytes, 1, "invalid", &text);
}

#[test]
fn rejects_invalid_vector_parameters() {
    let single = Codec::plain("Single");
    let inner = single.bytes().len();
    let rank =
        |rank: i32, rest: &[u8]| Codec::new("VBuffer", [&single.bytes()[..], &rank.to_le_bytes(), rest].concat());
    let mut lying = single.clone();
    lying.length = Some(leb(1 << 40));
    let cases = [
        (Codec::vector(&Codec::vector(&single, &[2]), &[2]), 0, "vectors of vectors are not supported"),
        (Codec::vector(&single, &[2, -2]), inner + 8, "dimension -2 is negative"),
        (rank(-1, &[]), inner, "-1 dimensions in 0 bytes"),
        (rank(i32::MAX, &[0; 8]), inner, "2147483647 dimensions in 8 bytes"),
        (rank(3, &[1; 8]), inner, "3 dimensions in 8 bytes"),
        (rank(1, &[1, 0, 0, 0, 9]), inner + 8, "the codec's definition: 1 unexpected trailing byte"),
        (
            Codec::vector(&single, &[65_536, 65_536]),
            inner,
            "the product of the dimensions [65536, 65536] exceeds 2147483647",
        ),
        // One more than there may be.
        (
            Codec::vector(&single, &[65_536, 32_768]),
            inner,
            "the product of the dimensions [65536, 32768] exceeds 2147483647",
        ),
        (
            Codec::vector(&single, &[i32::MAX; 3]),
            inner,
            "the product of the dimensions [2147483647, 2147483647, 2147483647] exceeds 2147483647",
        ),
        (
            Codec::vector(&lying, &[2]),
            single.bytes().len() + 5,
            "inner codec parameters: needs 1099511627776 bytes, 8 available",
        ),
        (
            Codec::vector(&Codec::new("Single", vec![1, 2]), &[2]),
            inner,
            "the item codec's definition: 2 unexpected trailing bytes",
        ),
    ];
    for (codec, at, text) in cases {
        let file = three_numbers().column(Column::new("bad", codec, NONE, 3)).build();
        let at = file.columns[1].parameters + at;
        unreadable(file.bytes, 1, "invalid", &format!("{text} (byte {at}, column \"bad\")"));
    }
}

/// Nested definitions are rejected at the first level.
#[test]
fn deep_definitions_do_not_recurse() {
    let mut codec = Codec::plain("Single");
    for _ in 0..2_000 {
        codec = Codec::vector(&codec, &[1]);
    }
    codec_fails(codec, "invalid", r#"vectors of vectors are not supported (byte {at}, column "bad")"#);
}

#[test]
fn rejects_zero_rows_per_block() {
    let mut forge = three_numbers();
    forge.columns.push(Column::new("bad", Codec::plain("Byte"), NONE, 0));
    let file = forge.build();
    let at = file.columns[1].entry;
    let text = format!("rows per block is 0 in a file of 3 rows (byte {at}, column \"bad\")");
    unreadable(file.bytes.clone(), 1, "invalid", &text);
    // Without rows it is what an empty file has.
    let none = open(Forge::new(6, 0).column(Column::new("x", Codec::plain("Byte"), NONE, 0)).bytes()).unwrap();
    assert_eq!((none.columns()[0].block_count(), none.columns()[0].rows_per_block()), (0, 0));
    assert!(none.rows(&Scan::default()).unwrap().try_next().unwrap().is_none());
}

#[test]
fn rejects_lookup_table_outside_the_file() {
    let file = three_numbers().build();
    let (field, entry, tail) = (file.columns[0].lookup_field, file.columns[0].entry, file.tail);
    for offset in [0, 255, tail as i64 - 15, i64::MAX] {
        let text = format!(
            "the lookup table of 1 blocks at byte {offset} is not between the header's end, 256, and the tail, {tail} \
             (byte {entry}, column \"numbers\")"
        );
        unreadable(file.with(field, &offset.to_le_bytes()), 0, "invalid", &text);
    }
    // Where it just fits, it is read: as false numbers.
    let reader = open(file.with(field, &(tail as i64 - 16).to_le_bytes())).unwrap();
    assert!(reader.columns()[0].kind().is_ok());
    assert!(block(&reader, 0, 0).is_err());
}

#[test]
fn rejects_more_rows_than_lookup_entries() {
    let file = three_numbers().build();
    let (entry, lookup, tail) = (file.columns[0].entry, file.columns[0].lookup, file.tail);
    for rows in [i64::MAX, 1 << 40] {
        let blocks = rows.unsigned_abs().div_ceil(3);
        let text = format!(
            "the lookup table of {blocks} blocks at byte {lookup} is not between the header's end, 256, and the tail, \
             {tail} (byte {entry}, column \"numbers\")"
        );
        unreadable(file.with(ROWS, &rows.to_le_bytes()), 0, "invalid", &text);
    }
}

/// 2^63 - 1 rows declared as one block. A 32-bit process rejects them earlier, as more than it can address.
#[cfg(target_pointer_width = "64")]
#[test]
fn rejects_huge_row_count_in_one_block() {
    let rows = i64::MAX as u64;
    for (codec, needed) in [("Byte", rows), ("Boolean", rows.div_ceil(8)), ("DvBool", rows.div_ceil(16) * 4)] {
        let mut forge = Forge::new(6, i64::MAX);
        forge.columns = vec![Column::new("x", Codec::plain(codec), NONE, u64::MAX).block(vec![0; 40])];
        let reader = open(forge.bytes()).unwrap();
        assert_eq!(reader.block_rows(0, 0).unwrap(), 0..rows);
        let error = block(&reader, 0, 0).unwrap_err();
        assert_eq!(error.kind().name(), if codec == "Byte" { "truncated" } else { "limit" }, "{error} {needed}");
        assert_eq!(error.position().byte, Some(256), "{error}");
        forge.columns[0].compression = forge::DEFLATE;
        let error = block(&open(forge.bytes()).unwrap(), 0, 0).unwrap_err();
        says(
            &error,
            "truncated",
            &format!(
                "idv: the decompressed block: needs {needed} bytes, 40 available (byte 256, block 0, column \"x\")"
            ),
        );
    }
}

/// A header alone can declare any number of rows: nothing may take time in proportion to it.
#[test]
fn limits_rows_without_columns() {
    let reader = open(Forge::new(6, i64::MAX).bytes()).unwrap();
    let error = reader.rows(&Scan::default()).map(|_| ()).unwrap_err();
    says(&error, "limit", "idv: rows without a column to read 9223372036854775807 exceeds the limit 65536 (byte 40)");
    assert!(verify(Forge::new(6, i64::MAX).bytes()).is_empty());
    let mut rows = reader.rows(&Scan::default().with_rows(u64::MAX / 2 - 2..u64::MAX)).unwrap();
    for _ in 0..2 {
        assert!(rows.try_next().unwrap().is_some());
    }
    assert!(rows.try_next().unwrap().is_none());
}

/// Rows without readable columns are rejected: a damaged row count could make millions of them.
#[test]
fn rejects_rows_without_a_readable_column() {
    let unknown = || Column::new("x", Codec::plain("Nothing"), NONE, 3).block(vec![0; 3]);
    let bytes = Forge::new(6, 3).column(unknown()).column(unknown()).bytes();
    let reader = open(bytes.clone()).unwrap();
    let text = "idv: none of 2 columns can be read: unknown codec \"Nothing\" (byte 305, column \"x\")";
    for scan in [Scan::default(), Scan::default().with_columns([])] {
        says(&reader.rows(&scan).map(drop).unwrap_err(), "unsupported", text);
        says(&reader.batches(&scan).map(drop).unwrap_err(), "unsupported", text);
    }
    says(&reader.schema(None).unwrap_err(), "unsupported", text);
    says(&reader.readable_columns().unwrap_err(), "unsupported", text);
    // Fine without rows, and for unselected columns.
    let empty = open(Forge::new(6, 0).column(unknown()).bytes()).unwrap();
    assert!(empty.rows(&Scan::default()).unwrap().try_next().unwrap().is_none());
    let mut some = three_numbers();
    some.columns.push(unknown());
    let reader = open(some.bytes()).unwrap();
    assert_eq!(reader.readable_columns().unwrap(), [0]);
    assert!(reader.rows(&Scan::default().with_columns([])).unwrap().try_next().unwrap().is_some());
}

#[test]
fn column_limit_is_inclusive() {
    let mut forge = three_numbers();
    forge.columns = vec![forge.columns[0].clone(); 5];
    let bytes = forge.bytes();
    assert_eq!(open_with(bytes.clone(), Limits::default().with_columns(5)).unwrap().columns().len(), 5);
    says(
        &open_with(bytes, Limits::default().with_columns(4)).unwrap_err(),
        "limit",
        "idv: column count 5 exceeds the limit 4 (byte 48)",
    );
}
