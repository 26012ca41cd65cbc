//! Invalid values: some cannot be decoded, others are passed through and reported.

use container_core::Scan;

use crate::support::cells::{Cell, Item, Kind};
use crate::support::forge::{Codec, Column, DEFLATE, Forge, NONE};
use crate::support::table::{Table, TableColumn};
use crate::support::{block, block_fails, findings, open, says, verify};

#[test]
fn rejects_undefined_two_bit_value() {
    for (place, byte) in [(0usize, 0usize), (3, 0), (4, 1), (15, 3), (16, 4), (19, 4)] {
        let mut raw = vec![0; 8];
        raw[place / 4] |= 3 << (2 * (place % 4));
        let detail = format!("two-bit value of item {place}: expected 0 (false), 1 (true) or 2 (missing), found 3");
        let column = Column::new("b", Codec::plain("DvBool"), NONE, 20).block(raw.clone());
        block_fails(
            Forge::new(5, 20).column(column).bytes(),
            "invalid",
            &format!("idv: {detail} (byte {}, block 0, column \"b\")", 256 + byte),
        );
        let column = Column::new("b", Codec::plain("DvBool"), DEFLATE, 20).block(raw);
        block_fails(
            Forge::new(5, 20).column(column).bytes(),
            "invalid",
            &format!("idv: {detail} at byte {byte} of the decompressed block (byte 256, block 0, column \"b\")"),
        );
    }
}

#[test]
fn rejects_too_few_bits() {
    for (codec, what, rows, len) in [("Boolean", "bits", 17, 3), ("DvBool", "two-bit values", 17, 8)] {
        let file = |len| {
            let column = Column::new("b", Codec::plain(codec), NONE, 100).block(vec![0; len]);
            Forge::new(5, rows).column(column).bytes()
        };
        assert!(block(&open(file(len)).unwrap(), 0, 0).is_ok());
        block_fails(
            file(len - 1),
            "truncated",
            &format!("idv: {what}: needs {len} bytes, {} available (byte 256, block 0, column \"b\")", len - 1),
        );
        block_fails(
            file(len + 1),
            "invalid",
            &format!("idv: the block: 1 unexpected trailing byte (byte {}, block 0, column \"b\")", 256 + len),
        );
    }
}

/// A key above its key count reads as missing and is counted.
#[test]
fn reports_key_above_its_count() {
    let cells = [1, 5, 6, 0, 255, 200].map(Cell::Key).to_vec();
    let table = Table::new(6, vec![TableColumn::new("k", Kind::Item(Item::Key2(1, 5)), NONE, 4, cells.clone())]);
    let reader = table.reader();
    let mut rows = reader.rows(&Scan::default().with_threads(1)).unwrap();
    let mut lines = String::new();
    while let Some(row) = rows.try_next().unwrap() {
        let mut line = Vec::new();
        row.json(&mut line).unwrap();
        lines += &String::from_utf8(line).unwrap();
    }
    assert_eq!(lines, r#"{"k":0}{"k":4}{"k":null}{"k":null}{"k":null}{"k":null}"#);
    let losses: Vec<String> = rows.losses().iter().map(ToString::to_string).collect();
    assert_eq!(losses, ["key above its count shown as missing (3 times, first row 2, column \"k\")"]);
    assert_eq!(
        findings(&reader, 1),
        [
            "error: idv: key 6 is above its key count 5 (block 0, row 2, column \"k\")",
            "error: idv: key 255 is above its key count 5 (and 1 more in this block) (block 1, row 4, column \"k\")",
        ]
    );
    // In vectors too.
    let vectors = cells.chunks(2).map(|pair| Cell::Dense(pair.to_vec())).collect();
    let column = TableColumn::new("k", Kind::Vector(Item::Key2(1, 5), vec![2]), NONE, 4, vectors);
    let reader = Table::new(6, vec![column]).reader();
    assert_eq!(
        findings(&reader, 1),
        ["error: idv: key 6 is above its key count 5 (and 2 more in this block) (block 0, row 1, column \"k\")"]
    );
    let mut rows = reader.rows(&Scan::default().with_rows(2..3)).unwrap();
    let mut line = Vec::new();
    rows.try_next().unwrap().unwrap().json(&mut line).unwrap();
    assert_eq!(line, br#"{"k":[null,null]}"#);
    let losses: Vec<String> = rows.losses().iter().map(ToString::to_string).collect();
    assert_eq!(losses, ["key above its count shown as missing (2 times, first row 2, column \"k\")"]);
}

/// Times outside .NET's range are read unchanged and reported by verify.
#[test]
fn reports_times_out_of_range() {
    let last = 3_155_378_975_999_999_999;
    let ticks = [last, 0, -1, i64::MIN].map(Cell::Ticks).to_vec();
    let zoned = [(last, 840), (0, 841), (last + 1, 0), (5, -840)].map(|(t, m)| Cell::Zoned(t, m)).to_vec();
    let table = Table::new(
        6,
        vec![
            TableColumn::new("t", Kind::Item(Item::DateTime), NONE, 4, ticks),
            TableColumn::new("z", Kind::Item(Item::DateTimeOffset), NONE, 4, zoned),
        ],
    );
    let reader = table.reader();
    table.check(&reader);
    assert_eq!(
        verify(table.forge().bytes()),
        [
            "error: idv: time of -1 ticks is not between 0 and 3155378975999999999 (block 0, row 2, column \"t\")",
            "error: idv: offset of 841 minutes is not between -840 and 840 (and 1 more in this block) \
             (block 0, row 1, column \"z\")",
        ]
    );
}

/// Row ids, offsets and all others of a fixed width: a byte too few.
#[test]
fn rejects_truncated_values_of_every_width() {
    for (codec, width) in [
        ("SByte", 1),
        ("Byte", 1),
        ("Int16", 2),
        ("UInt16", 2),
        ("Int32", 4),
        ("UInt32", 4),
        ("Int64", 8),
        ("UInt64", 8),
        ("Single", 4),
        ("Double", 8),
        ("TimeSpan", 8),
        ("DvTimeSpan", 8),
        ("DateTime", 8),
        ("DvDateTime", 8),
        ("DataViewRowId", 16),
    ] {
        let len = 3 * width - 1;
        let column = Column::new("x", Codec::plain(codec), NONE, 3).block(vec![0; len]);
        let text = format!("idv: values: needs {} bytes, {len} available (byte 256, block 0, column \"x\")", 3 * width);
        block_fails(Forge::new(5, 3).column(column).bytes(), "truncated", &text);
    }
    // Minutes come first, then ticks.
    for codec in ["DateTimeOffset", "DvDateTimeZone"] {
        let column = |len| {
            let column = Column::new("x", Codec::plain(codec), NONE, 3).block(vec![0; len]);
            open(Forge::new(5, 3).column(column).bytes()).unwrap()
        };
        let fails = |len, text| says(&block(&column(len), 0, 0).unwrap_err(), "truncated", text);
        fails(29, "idv: values: needs 24 bytes, 23 available (byte 262, block 0, column \"x\")");
        fails(5, "idv: values: needs 6 bytes, 5 available (byte 256, block 0, column \"x\")");
    }
}
