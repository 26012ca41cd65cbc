//! Metadata, and the slot names of version 1.1.1.3.

use container_core::{Error, Limits};
use idv::Reader;

use crate::support::cells::{Cell, Item, Kind, text_block, vector_block};
use crate::support::forge::{Codec, DEFLATE, Forge, Forged, Meta, NONE, ZLIB, compress, leb};
use crate::support::{findings, open, open_with, says, three_numbers, verify};

/// Three numbers with metadata `M`: the `Int32` 7.
fn sound() -> Forge {
    let mut forge = three_numbers();
    forge.columns[0].metadata = vec![Meta::new("M", Codec::plain("Int32"), NONE, 7i32.to_le_bytes().to_vec())];
    forge
}

fn value(reader: &Reader, index: usize) -> Result<idv::Values, Error> {
    let metadata = reader.metadata(0)?;
    reader.metadata_value(0, &metadata[index])
}

/// Asserts that the value fails so, that the column and other metadata stay readable, and that verify agrees.
#[track_caller]
fn value_fails(bytes: Vec<u8>, kind: &str, text: &str) {
    let reader = open(bytes).unwrap();
    says(&value(&reader, 0).unwrap_err(), kind, text);
    readable(&reader);
    let found = findings(&reader, 1);
    assert!(found.iter().any(|found| found.ends_with(text)), "{found:?}");
}

/// Asserts that the metadata table fails so and the column stays readable.
#[track_caller]
fn table_fails(bytes: Vec<u8>, kind: &str, text: &str) {
    let reader = open(bytes).unwrap();
    says(&reader.metadata(0).unwrap_err(), kind, text);
    readable(&reader);
    assert!(findings(&reader, 1).contains(&format!("error: {text}")), "{:?}", findings(&reader, 1));
}

#[track_caller]
fn readable(reader: &Reader) {
    let mut rows = reader.rows(&container_core::Scan::default()).unwrap();
    for expected in 1..=3 {
        assert_eq!(rows.try_next().unwrap().unwrap().get(0), Some(idv::Value::Int32(expected)));
    }
}

#[test]
fn reads_valid_metadata() {
    for compression in [NONE, DEFLATE, ZLIB] {
        let mut forge = sound();
        forge.columns[0].metadata[0].compression = compression;
        let reader = open(forge.bytes()).unwrap();
        assert_eq!(value(&reader, 0).unwrap(), idv::Values::Int32(vec![7]));
        assert!(findings(&reader, 1).is_empty());
    }
}

#[test]
fn rejects_metadata_table_outside_the_file() {
    let file = sound().build();
    let (field, entry, tail) = (file.columns[0].metadata_field, file.columns[0].entry, file.tail);
    for offset in [1, 255, tail as i64, i64::MAX] {
        let text = format!(
            "idv: metadata offset {offset} is not between the header's end, 256, and the tail, {tail} \
             (byte {entry}, column \"numbers\")"
        );
        table_fails(file.with(field, &offset.to_le_bytes()), "invalid", &text);
    }
}

#[test]
fn rejects_empty_metadata_table() {
    let mut forge = sound();
    forge.columns[0].metadata_count = Some(leb(0));
    let file = forge.build();
    let at = file.columns[0].metadata_toc;
    table_fails(
        file.bytes,
        "invalid",
        &format!("idv: the metadata table has 0 entries (byte {at}, column \"numbers\")"),
    );
}

/// More entries than there are: the bytes after them are read as entries until they cannot be.
#[test]
fn rejects_wrong_entry_count() {
    for count in [1000, 1 << 40, u64::MAX] {
        let mut forge = sound();
        forge.columns[0].metadata_count = Some(leb(count));
        let reader = open(forge.bytes()).unwrap();
        let error = reader.metadata(0).unwrap_err();
        assert!(["truncated", "limit", "invalid"].contains(&error.kind().name()), "{error}");
        assert!(error.position().byte.is_some() && error.position().column.is_some(), "{error}");
        readable(&reader);
    }
    let mut forge = sound();
    forge.columns[0].metadata_count = Some([&[0xFF; 9][..], &[2]].concat());
    let file = forge.build();
    let at = file.columns[0].metadata_toc + 9;
    table_fails(
        file.bytes,
        "invalid",
        &format!("idv: metadata count: LEB128 byte 0x02 does not fit u64 (byte {at}, column \"numbers\")"),
    );
}

#[test]
fn rejects_metadata_block_outside_the_file() {
    let file = sound().build();
    let (meta, tail) = (file.columns[0].metadata[0].clone(), file.tail);
    let entry = meta.entry;
    for offset in [0, 255, tail as i64 - 3, i64::MAX] {
        let text = format!(
            "idv: metadata \"M\": 4 bytes at byte {offset} are not between the header's end, 256, and the tail, {tail} \
             (byte {entry}, column \"numbers\")"
        );
        value_fails(file.with(meta.offset, &offset.to_le_bytes()), "invalid", &text);
    }
    table_fails(
        file.with(meta.offset, &(-1i64).to_le_bytes()),
        "invalid",
        &format!("idv: metadata block offset -1 is negative (byte {}, column \"numbers\")", meta.offset),
    );
}

#[test]
fn rejects_metadata_block_of_2_to_the_63_bytes() {
    for len in [1u64 << 63, u64::MAX, i64::MAX as u64] {
        let mut forge = sound();
        forge.columns[0].metadata[0].length = Some(leb(len));
        let file = forge.build();
        let (meta, tail) = (file.columns[0].metadata[0].clone(), file.tail);
        let text = format!(
            "idv: metadata \"M\": {len} bytes at byte {} are not between the header's end, 256, and the tail, {tail} \
             (byte {}, column \"numbers\")",
            meta.block.start, meta.entry
        );
        value_fails(file.bytes, "invalid", &text);
    }
}

#[test]
fn rejects_value_of_wrong_length() {
    let with = |raw: &[u8], compression: u8| -> Forged {
        let mut forge = sound();
        forge.columns[0].metadata[0].raw = raw.to_vec();
        forge.columns[0].metadata[0].compression = compression;
        forge.build()
    };
    let start = |file: &Forged| file.columns[0].metadata[0].block.start;
    let file = with(&[7, 0, 0], NONE);
    let text =
        format!("idv: metadata \"M\": values: needs 4 bytes, 3 available (byte {}, column \"numbers\")", start(&file));
    value_fails(file.bytes, "truncated", &text);
    let file = with(&[7, 0, 0, 0, 0], NONE);
    let text = format!(
        "idv: metadata \"M\": the block: 1 unexpected trailing byte (byte {}, column \"numbers\")",
        start(&file) + 4
    );
    value_fails(file.bytes, "invalid", &text);
    for compression in [DEFLATE, ZLIB] {
        let file = with(&[7, 0, 0, 0, 0], compression);
        let text = format!(
            "idv: metadata \"M\": the block: 1 unexpected trailing byte at byte 4 of the decompressed \
             block (byte {}, column \"numbers\")",
            start(&file)
        );
        value_fails(file.bytes, "invalid", &text);
    }
}

#[test]
fn rejects_corrupt_compressed_value() {
    let packed = |packed: &[u8]| -> Error {
        let mut forge = sound();
        forge.columns[0].metadata[0].compression = DEFLATE;
        forge.columns[0].metadata[0].packed = Some(packed.to_vec());
        value(&open(forge.bytes()).unwrap(), 0).unwrap_err()
    };
    let whole = compress(DEFLATE, &[7; 300]);
    let text = packed(&whole[..whole.len() - 2]).to_string();
    assert!(text.starts_with("idv: metadata \"M\": the compressed data end after "), "{text}");
    let text = packed(&[0x07, 0, 0]).to_string();
    assert!(text.starts_with("idv: metadata \"M\": corrupt compressed data"), "{text}");
}

/// A match that begins before the first byte (`h`, then seven bytes from 33 back): some decoders make zeros of it.
#[test]
fn rejects_distance_before_the_data() {
    let mut forge = sound();
    forge.columns[0].metadata[0] = Meta::new("M", Codec::plain("UInt64"), DEFLATE, Vec::new());
    // Final block of fixed codes: 10011000, 0000101, 01010 with 0000 behind it, 0000000.
    forge.columns[0].metadata[0].packed = Some(vec![0xCB, 0x80, 0x2A, 0x00, 0x00]);
    let text = value(&open(forge.bytes()).unwrap(), 0).unwrap_err().to_string();
    assert!(text.starts_with("idv: metadata \"M\": corrupt compressed data"), "{text}");
}

/// A text of a megabyte in a thousand bytes, without a declared length.
#[test]
fn bomb_stops_at_the_limit() {
    let raw = text_block(1, &[1 << 20], &vec![b'a'; 1 << 20]);
    for compression in [DEFLATE, ZLIB] {
        let mut forge = three_numbers();
        forge.columns[0].metadata = vec![Meta::new("M", Codec::plain("TextSpan"), compression, raw.clone())];
        let file = forge.build();
        let limits = |bytes| Limits::default().with_metadata_bytes(bytes);
        let reader = open_with(file.bytes.clone(), limits(raw.len() as u64)).unwrap();
        assert!(value(&reader, 0).is_ok());
        for limit in [raw.len() as u64 - 1, 10_000] {
            let reader = open_with(file.bytes.clone(), limits(limit)).unwrap();
            let error = value(&reader, 0).unwrap_err();
            let text = error.to_string();
            assert_eq!(error.kind().name(), "limit");
            assert!(text.starts_with("idv: metadata \"M\": decompressed metadata bytes "), "{text}");
            let end = format!(
                " exceeds the limit {limit} (byte {}, column \"numbers\")",
                file.columns[0].metadata[0].block.start
            );
            assert!(text.ends_with(&end), "{text}");
            readable(&reader);
        }
    }
}

/// What is in the file as it is has the same limit.
#[test]
fn rejects_metadata_above_the_limit() {
    let raw = text_block(1, &[100], &[b'a'; 100]);
    let mut forge = three_numbers();
    forge.columns[0].metadata = vec![Meta::new("M", Codec::plain("TextSpan"), NONE, raw.clone())];
    let file = forge.build();
    let (len, at) = (raw.len() as u64, file.columns[0].metadata[0].block.start);
    let limited = |bytes| open_with(file.bytes.clone(), Limits::default().with_metadata_bytes(bytes)).unwrap();
    assert!(value(&limited(len), 0).is_ok());
    let text = format!(
        "idv: metadata \"M\": metadata bytes {len} exceeds the limit {} (byte {at}, column \"numbers\")",
        len - 1
    );
    says(&value(&limited(len - 1), 0).unwrap_err(), "limit", &text);
}

#[test]
fn unknown_codec_or_compression_affects_only_its_item() {
    let mut forge = sound();
    let mut unknown = forge.columns[0].metadata[0].clone();
    unknown.codec = Codec::new("Half", vec![1, 2]);
    let mut packed = forge.columns[0].metadata[0].clone();
    packed.compression = 9;
    forge.columns[0].metadata.extend([unknown, packed]);
    let reader = open(forge.bytes()).unwrap();
    assert_eq!(value(&reader, 0).unwrap(), idv::Values::Int32(vec![7]));
    let metadata = reader.metadata(0).unwrap();
    let why: Vec<String> = metadata
        .iter()
        .map(|item| item.value_type().map_or_else(ToString::to_string, |kind| kind.to_string()))
        .collect();
    assert_eq!(
        why,
        ["Int32", "unknown codec \"Half\"", "unknown compression kind 9 (known: 0 none, 1 deflate, 2 zlib)"]
    );
    assert_eq!(value(&reader, 1).unwrap_err().kind().name(), "unsupported");
}

/// Slot names and labels of another number than the column has.
#[test]
fn warns_of_metadata_not_matching_the_column() {
    let names = |n: i32| {
        let ends: Vec<u32> = (1..=n as u32).collect();
        vector_block(1, n, &[], &[-1], 0, &[], &text_block(n, &ends, &vec![b'x'; n as usize]))
    };
    let texts = |n: i32| Codec::vector(&Codec::plain("TextSpan"), &[n]);
    let vector = Kind::Vector(Item::Single, vec![3]);
    let mut column =
        crate::support::table::TableColumn::new("v", vector, NONE, 1, vec![Cell::Dense(vec![Cell::Single(0); 3])])
            .forge();
    column.metadata = vec![Meta::new("SlotNames", texts(2), NONE, names(2))];
    let key = Kind::Item(Item::Key2(4, 5));
    let mut keys = crate::support::table::TableColumn::new("k", key, NONE, 1, vec![Cell::Key(1)]).forge();
    keys.metadata = vec![Meta::new("KeyValues", texts(4), NONE, names(4))];
    let file = Forge::new(6, 1).column(column).column(keys).build();
    let at = |column: usize| file.columns[column].metadata[0].block.start;
    assert_eq!(
        verify(file.bytes.clone()),
        [
            format!("warning: idv: metadata \"SlotNames\" has 2 names for vectors of 3 (byte {}, column \"v\")", at(0)),
            format!("warning: idv: metadata \"KeyValues\" has 4 labels for 5 keys (byte {}, column \"k\")", at(1)),
        ]
    );
}

/// Version 1.1.1.3.
#[test]
fn rejects_invalid_slot_names() {
    let build = |names: &[(i32, &[u8])]| {
        let codec = Codec::vector(&Codec::plain("Byte"), &[3]);
        let raw = vector_block(1, 3, &[], &[-1], 0, &[], &[1, 2, 3]);
        let mut column = crate::support::forge::Column::new("v", codec, NONE, 1).block(raw);
        column.slot_names = names.iter().map(|(slot, name)| (*slot, name.to_vec())).collect();
        Forge::new(3, 1).column(column).build()
    };
    #[track_caller]
    fn fails(bytes: Vec<u8>, kind: &str, text: &str) {
        let reader = open(bytes).unwrap();
        says(&value(&reader, 0).unwrap_err(), kind, text);
        assert!(crate::support::block(&reader, 0, 0).is_ok());
        assert!(findings(&reader, 1).contains(&format!("error: {text}")), "{:?}", findings(&reader, 1));
    }
    let file = build(&[(0, b"a"), (3, b"b")]);
    let at = |file: &Forged, plus: usize| file.columns[0].slot_names.start + plus;
    for (slots, place, least, found) in [([0, 3], 6, 1, 3), ([1, 1], 6, 2, 1), ([-1, 0], 0, 0, -1)] {
        let file = build(&[(slots[0], b"a"), (slots[1], b"b")]);
        let text = format!(
            "idv: metadata \"SlotNames\": slot index {found} is not between {least} and the vector's length 3 \
             (byte {}, column \"v\")",
            at(&file, place)
        );
        fails(file.bytes, "invalid", &text);
    }
    // A count of more, of fewer, and a place outside.
    let file_ok = build(&[(0, b"a"), (2, b"b")]);
    let field = file_ok.columns[0].slot_names_field;
    let end = file_ok.columns[0].slot_names.end;
    fails(
        file_ok.with(field + 16, &i32::MAX.to_le_bytes()),
        "truncated",
        &format!("idv: metadata \"SlotNames\": slot index: needs 4 bytes, 0 available (byte {end}, column \"v\")"),
    );
    fails(
        file_ok.with(field + 16, &1i32.to_le_bytes()),
        "invalid",
        &format!(
            "idv: metadata \"SlotNames\": the slot names: 6 unexpected trailing bytes \
             (byte {}, column \"v\")",
            end - 6
        ),
    );
    let text = format!(
        "idv: metadata \"SlotNames\": {} bytes at byte {} are not between the header's end, 256, and the tail, {} \
         (byte {}, column \"v\")",
        i64::MAX,
        at(&file_ok, 0),
        file_ok.tail,
        file_ok.columns[0].entry
    );
    fails(file_ok.with(field + 8, &i64::MAX.to_le_bytes()), "invalid", &text);
    drop(file);
}

/// Metadata of an unreadable column read all the same.
#[test]
fn metadata_of_an_unreadable_column() {
    let mut forge = sound();
    forge.columns[0].codec = Codec::plain("Half");
    let reader = open(forge.bytes()).unwrap();
    assert!(reader.columns()[0].kind().is_err());
    assert_eq!(value(&reader, 0).unwrap(), idv::Values::Int32(vec![7]));
}
