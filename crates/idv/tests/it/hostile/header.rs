//! The first 256 bytes and the last 8.

use crate::support::forge::{COLUMNS, COMPATIBLE, ROWS, TAIL_OFFSET, TOC_OFFSET, VERSION, version};
use crate::support::{open, refused, three_numbers};

#[test]
fn rejects_empty_file() {
    refused(Vec::new(), "truncated", "idv: the header: needs 256 bytes, 0 available (byte 0)");
}

#[test]
fn rejects_truncated_header() {
    for len in [1, 8, 59, 60, 255] {
        let bytes = three_numbers().build().bytes[..len].to_vec();
        refused(bytes, "truncated", &format!("idv: the header: needs 256 bytes, {len} available (byte 0)"));
    }
}

#[test]
fn rejects_header_without_the_rest() {
    let file = three_numbers().build();
    let text = format!("idv: the file: needs {} bytes, 256 available (byte 32)", file.tail + 8);
    refused(file.bytes[..256].to_vec(), "truncated", &text);
}

#[test]
fn rejects_wrong_signature() {
    let file = three_numbers().build();
    refused(
        file.with(0, b"PAR1\0\0\0\x01"),
        "invalid",
        r#"idv: the signature is "PAR1\0\0\0\u{1}", not "CML\0DVB\0" (byte 0)"#,
    );
    refused(
        file.with(0, &[0xFF; 8]),
        "invalid",
        &format!("idv: the signature is {:?}, not {SIGNATURE} (byte 0)", "\u{FFFD}".repeat(8)),
    );
    refused(vec![0; 300], "invalid", &format!("idv: the signature is {:?}, not {SIGNATURE} (byte 0)", "\0".repeat(8)));
}

const SIGNATURE: &str = r#""CML\0DVB\0""#;

#[test]
fn rejects_newer_compatible_version() {
    let mut forge = three_numbers();
    (forge.version, forge.compatible) = (version(7), version(7));
    refused(
        forge.bytes(),
        "unsupported",
        "idv: version 1.1.1.7 needs a reader of version 1.1.1.7, this one reads 1.1.1.1 to 1.1.1.6 (byte 16)",
    );
    (forge.version, forge.compatible) = (0x0002_0000_0000_0000, 0x0001_0002_0000_0000);
    refused(
        forge.bytes(),
        "unsupported",
        "idv: version 2.0.0.0 needs a reader of version 1.2.0.0, this one reads 1.1.1.1 to 1.1.1.6 (byte 16)",
    );
}

#[test]
fn rejects_version_before_the_first() {
    let file = three_numbers().build();
    let mut bytes = file.with(VERSION, &version(0).to_le_bytes());
    bytes[COMPATIBLE..COMPATIBLE + 8].copy_from_slice(&version(0).to_le_bytes());
    refused(bytes, "unsupported", "idv: version 1.1.1.0 is older than the first, 1.1.1.1 (byte 8)");
    refused(
        file.with(VERSION, &[0; 8]),
        "unsupported",
        "idv: version 0.0.0.0 is older than the first, 1.1.1.1 (byte 8)",
    );
}

#[test]
fn rejects_compatible_version_above_the_version() {
    let file = three_numbers().build();
    refused(
        file.with(VERSION, &version(4).to_le_bytes()),
        "invalid",
        "idv: compatible version 1.1.1.6 is above version 1.1.1.4 (byte 16)",
    );
}

#[test]
fn rejects_table_of_contents_out_of_range() {
    let file = three_numbers().build();
    let tail = file.tail as i64;
    for offset in [i64::MIN, -1, 0, 255, tail + 1, i64::MAX] {
        let text = format!("idv: table of contents offset {offset} is not between 256 and the tail, {tail} (byte 24)");
        refused(file.with(TOC_OFFSET, &offset.to_le_bytes()), "invalid", &text);
    }
    // At the tail there is room for nothing.
    refused(
        file.with(TOC_OFFSET, &tail.to_le_bytes()),
        "truncated",
        &format!("idv: column name: needs 1 byte, 0 available (byte {tail}, column \"#0\")"),
    );
}

#[test]
fn ignores_table_of_contents_offset_without_columns() {
    let mut forge = three_numbers();
    forge.columns.clear();
    let file = forge.build();
    for offset in [i64::MIN, 0, i64::MAX] {
        assert_eq!(open(file.with(TOC_OFFSET, &offset.to_le_bytes())).unwrap().row_count(), 3);
    }
}

#[test]
fn rejects_tail_out_of_range() {
    let file = three_numbers().build();
    let len = file.bytes.len();
    for offset in [i64::MIN, -8, 0, 255] {
        let text = format!("idv: tail offset {offset} lies before the end of the header, 256 (byte 32)");
        refused(file.with(TAIL_OFFSET, &offset.to_le_bytes()), "invalid", &text);
    }
    for offset in [file.tail as i64 + 1, i64::MAX - 8, i64::MAX] {
        let needed = offset.unsigned_abs() + 8;
        let text = format!("idv: the file: needs {needed} bytes, {len} available (byte 32)");
        refused(file.with(TAIL_OFFSET, &offset.to_le_bytes()), "truncated", &text);
    }
}

#[test]
fn rejects_wrong_tail_signature() {
    let file = three_numbers().build();
    let tail = file.tail;
    refused(
        file.with(tail, b"CML\0DVB\0"),
        "invalid",
        &format!("idv: tail signature 0x00425644004c4d43 is not 0x434d4c0044564200 (byte {tail})"),
    );
    // The tail one byte earlier: another signature.
    let earlier = (tail as i64 - 1).to_le_bytes();
    let mut bytes = file.with(TAIL_OFFSET, &earlier);
    bytes.pop();
    let found = u64::from_le_bytes(bytes[tail - 1..tail + 7].try_into().unwrap());
    refused(
        bytes,
        "invalid",
        &format!("idv: tail signature {found:#018x} is not 0x434d4c0044564200 (byte {})", tail - 1),
    );
}

#[test]
fn rejects_negative_row_count() {
    let file = three_numbers().build();
    for rows in [-1, i64::MIN] {
        refused(
            file.with(ROWS, &rows.to_le_bytes()),
            "invalid",
            &format!("idv: row count {rows} is negative (byte 40)"),
        );
    }
}

#[test]
fn rejects_invalid_column_count() {
    let file = three_numbers().build();
    for columns in [-1, i32::MIN] {
        refused(
            file.with(COLUMNS, &columns.to_le_bytes()),
            "invalid",
            &format!("idv: column count {columns} is negative (byte 48)"),
        );
    }
    refused(
        file.with(COLUMNS, &i32::MAX.to_le_bytes()),
        "limit",
        "idv: column count 2147483647 exceeds the limit 1048576 (byte 48)",
    );
    refused(
        file.with(COLUMNS, &2i32.to_le_bytes()),
        "truncated",
        &format!("idv: column name: needs 1 byte, 0 available (byte {}, column \"#1\")", file.tail),
    );
}

#[test]
fn ignores_undefined_header_bytes() {
    let file = three_numbers().build();
    let reader = open(file.with(52, &[0xAA; 204])).unwrap();
    assert_eq!((reader.row_count(), reader.columns().len()), (3, 1));
}
