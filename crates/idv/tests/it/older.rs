//! Every format version and legacy codec, in forged files, as no writer of them is left.

use container_core::Scan;
use idv::{ItemType, KeyWidth, Reader, Type, Value, Version};

use crate::support::cells::{text_block, vector_block};
use crate::support::forge::{Codec, Column, DEFLATE, Forge, Meta, NONE, Order, ZLIB, version};
use crate::support::{block, open, verify};

/// All rows as JSON lines.
fn lines(reader: &Reader, scan: &Scan) -> Vec<String> {
    let mut rows = reader.rows(scan).unwrap();
    let mut lines = Vec::new();
    while let Some(row) = rows.try_next().unwrap() {
        let mut line = Vec::new();
        row.json(&mut line).unwrap();
        lines.push(String::from_utf8(line).unwrap());
    }
    lines
}

fn json(bytes: Vec<u8>) -> Vec<String> {
    lines(&open(bytes).unwrap(), &Scan::default())
}

/// One column, one block.
fn one(last: u64, rows: i64, codec: Codec, raw: Vec<u8>) -> Forge {
    Forge::new(last, rows).column(Column::new("x", codec, NONE, 100).block(raw))
}

fn ticks(ticks: &[i64]) -> Vec<u8> {
    ticks.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// The same two columns in every version: entries of the table of contents differ in length, nothing else does.
#[test]
fn reads_every_version() {
    let mut lengths = Vec::new();
    for last in 1..=6 {
        let forge = Forge::new(last, 3)
            .column(Column::new("bytes", Codec::plain("Byte"), DEFLATE, 2).block(vec![1, 2]).block(vec![3]))
            .column(Column::new("text", Codec::plain("TextSpan"), NONE, 3).block(text_block(3, &[1, 1, 3], b"abc")));
        let file = forge.build();
        lengths.push(file.tail - file.toc);
        let reader = open(file.bytes.clone()).unwrap();
        assert_eq!(reader.header().version, Version::new(1, 1, 1, last as u16));
        assert_eq!(reader.header().version.to_string(), format!("1.1.1.{last}"));
        assert_eq!(
            lines(&reader, &Scan::default()),
            [r#"{"bytes":1,"text":"a"}"#, r#"{"bytes":2,"text":""}"#, r#"{"bytes":3,"text":"bc"}"#]
        );
        assert_eq!(reader.metadata(0).unwrap().len(), 0);
        // Different rows per block: read, with a warning.
        assert_eq!(
            verify(file.bytes),
            [format!(
                "warning: idv: 3 rows per block, but column \"bytes\" has 2: valid, but ML.NET rejects such files \
                 (byte {}, column \"text\")",
                file.columns[1].entry
            )]
        );
    }
    let first = lengths[0];
    assert_eq!(lengths, [first, first + 16, first + 16, first + 16, first + 16, first + 16]);
}

#[test]
fn reads_later_compatible_version() {
    for newer in [version(7), version(600), 0x0001_0001_0002_0000, u64::MAX] {
        let mut forge = one(6, 2, Codec::plain("Byte"), vec![1, 2]);
        forge.version = newer;
        let reader = open(forge.bytes()).unwrap();
        assert_eq!((reader.header().version.to_bits(), reader.header().compatible), (newer, Version::V6));
        assert_eq!(lines(&reader, &Scan::default()), [r#"{"x":1}"#, r#"{"x":2}"#]);
    }
}

/// In 1.1.1.2 the field for slot names is there, and nothing is at the place it names.
#[test]
fn version_2_has_no_slot_names() {
    let file = one(2, 1, Codec::plain("Byte"), vec![9]).build();
    let field = file.columns[0].slot_names_field;
    for offset in [0i64, 300] {
        let reader = open(file.with(field, &offset.to_le_bytes())).unwrap();
        assert_eq!(reader.metadata(0).unwrap().len(), 0);
        assert_eq!(lines(&reader, &Scan::default()), [r#"{"x":9}"#]);
    }
}

#[test]
fn slot_names_of_version_3() {
    let vector = |dimensions: &[i32], names: &[(i32, &str)]| {
        let codec = Codec::vector(&Codec::plain("Byte"), dimensions);
        let mut forge = one(3, 1, codec, vector_block(1, 3, &[], &[-1], 0, &[], &[1, 2, 3]));
        forge.columns[0].slot_names = names.iter().map(|(slot, name)| (*slot, name.as_bytes().to_vec())).collect();
        forge.bytes()
    };
    let names = |bytes: Vec<u8>| {
        assert!(verify(bytes.clone()).is_empty(), "{:?}", verify(bytes.clone()));
        let reader = open(bytes).unwrap();
        assert_eq!(lines(&reader, &Scan::default()), [r#"{"x":[1,2,3]}"#]);
        let metadata = reader.metadata(0).unwrap();
        assert_eq!(metadata.len(), 1);
        assert_eq!(metadata[0].kind(), "SlotNames");
        let kind = metadata[0].value_type().unwrap().clone();
        assert!(kind.is_vector() && kind.item() == ItemType::Text);
        let idv::Values::Vector(values) = reader.metadata_value(0, &metadata[0]).unwrap() else {
            panic!("slot names are a vector")
        };
        let vector = values.get(0).unwrap();
        let idv::Values::Text(texts) = vector.values else { panic!("slot names are texts") };
        let stored: Vec<String> = vector.range.map(|place| texts.get(place).unwrap().to_owned()).collect();
        (vector.length, kind.size(), vector.indices.map(<[u32]>::to_vec), stored)
    };
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let all = [(0, "a"), (1, "é😀"), (2, "")];
    assert_eq!(names(vector(&[3], &all)), (3, 3, None, owned(&["a", "é😀", ""])));
    assert_eq!(names(vector(&[3], &[(1, "b")])), (3, 3, Some(vec![1]), owned(&["b"])));
    assert_eq!(names(vector(&[3, 1], &[(0, "b"), (2, "c")])), (3, 3, Some(vec![0, 2]), owned(&["b", "c"])));
    // For vectors of unknown length, the last name determines the number of names.
    assert_eq!(names(vector(&[0], &[(0, "a"), (4, "e")])), (5, 0, Some(vec![0, 4]), owned(&["a", "e"])));
}

/// Missing text next to other text, up to 1.1.1.5; the bit is accepted in all versions.
#[test]
fn missing_text() {
    const MISSING: u32 = 1 << 31;
    let raw = text_block(5, &[MISSING, 1, 1 | MISSING, 1, 3], "xé!".as_bytes());
    for last in 1..=6 {
        for compression in [NONE, DEFLATE, ZLIB] {
            let mut forge = one(last, 5, Codec::plain("TextSpan"), raw.clone());
            forge.columns[0].compression = compression;
            assert_eq!(
                json(forge.bytes()),
                [r#"{"x":null}"#, r#"{"x":"x"}"#, r#"{"x":null}"#, r#"{"x":""}"#, r#"{"x":"é!"}"#]
            );
        }
    }
    // All of them.
    let raw = text_block(2, &[MISSING, MISSING], b"");
    assert_eq!(json(one(5, 2, Codec::plain("TextSpan"), raw).bytes()), [r#"{"x":null}"#, r#"{"x":null}"#]);
}

#[test]
fn two_bit_booleans() {
    // false, true, missing, true; then 12 times false; then missing.
    let raw = vec![0b01_10_01_00, 0, 0, 0, 0b10, 0, 0, 0];
    let found = json(one(5, 17, Codec::plain("DvBool"), raw).bytes());
    assert_eq!(found[..4], [r#"{"x":false}"#, r#"{"x":true}"#, r#"{"x":null}"#, r#"{"x":true}"#]);
    assert!(found[4..16].iter().all(|line| line == r#"{"x":false}"#));
    assert_eq!(found[16], r#"{"x":null}"#);
}

#[test]
fn legacy_times() {
    let seconds = |n: i64| n * 10_000_000;
    let raw = ticks(&[seconds(90) + 5, -seconds(1), i64::MIN, i64::MAX]);
    let old = [r#"{"x":"PT90.0000005S"}"#, r#"{"x":"-PT1S"}"#, r#"{"x":null}"#, r#"{"x":"PT922337203685.4775807S"}"#];
    assert_eq!(json(one(5, 4, Codec::plain("DvTimeSpan"), raw.clone()).bytes()), old);
    // Under the newer name in an old file it means the same; in a new file it is the least duration.
    assert_eq!(json(one(5, 4, Codec::plain("TimeSpan"), raw.clone()).bytes()), old);
    let new = json(one(6, 4, Codec::plain("TimeSpan"), raw).bytes());
    assert_eq!(new[2], r#"{"x":"-PT922337203685.4775808S"}"#);

    let raw = ticks(&[0, 637_134_336_000_000_000 + 36_000_000_001, i64::MIN]);
    for (last, codec) in [(4, "DvDateTime"), (5, "DateTime"), (6, "DateTime")] {
        assert_eq!(
            json(one(last, 3, Codec::plain(codec), raw.clone()).bytes()),
            [r#"{"x":"0001-01-01T00:00:00"}"#, r#"{"x":"2020-01-01T01:00:00.0000001"}"#, r#"{"x":null}"#]
        );
    }

    let minutes: Vec<u8> = [30i16, -605, i16::MIN, 0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let raw = [minutes, ticks(&[0, seconds(1) / 2, i64::MIN, seconds(3600)])].concat();
    for (last, codec) in [(4, "DvDateTimeZone"), (6, "DateTimeOffset")] {
        assert_eq!(
            json(one(last, 4, Codec::plain(codec), raw.clone()).bytes()),
            [
                r#"{"x":"0001-01-01T00:00:00+00:30"}"#,
                r#"{"x":"0001-01-01T00:00:00.5-10:05"}"#,
                r#"{"x":null}"#,
                r#"{"x":"0001-01-01T01:00:00+00:00"}"#
            ]
        );
    }
}

#[test]
fn legacy_keys() {
    let key = |forge: Forge| {
        let reader = open(forge.bytes()).unwrap();
        match reader.columns()[0].kind().unwrap().item() {
            ItemType::Key(key) => {
                (key, reader.columns()[0].kind().unwrap().to_string(), lines(&reader, &Scan::default()))
            }
            other => panic!("{other:?}"),
        }
    };
    let (found, name, rows) = key(one(4, 4, Codec::old_key("UInt32", 1, 0, 3), ticks4(&[0, 1, 3, 4])));
    assert_eq!(
        (found.width, found.count, found.min, found.contiguous, found.old),
        (KeyWidth::UInt32, 3, 0, true, true)
    );
    assert_eq!(name, "Key<UInt32, 3>");
    assert_eq!(rows, [r#"{"x":null}"#, r#"{"x":0}"#, r#"{"x":2}"#, r#"{"x":null}"#]);

    // Without a count any number is a value.
    let raw = [0u64, 1, u64::MAX].iter().flat_map(|x| x.to_le_bytes()).collect();
    let (found, name, rows) = key(one(4, 3, Codec::old_key("UInt64", 0, 7, 0), raw));
    assert_eq!((found.count, found.min, found.contiguous), (0, 7, false));
    assert_eq!(name, "Key<UInt64>");
    assert_eq!(rows, [r#"{"x":null}"#, r#"{"x":0}"#, r#"{"x":18446744073709551614}"#]);

    let (_, name, rows) = key(one(1, 3, Codec::old_key("Byte", 1, u64::MAX, 255), vec![255, 0, 1]));
    assert_eq!(name, "Key<Byte, 255>");
    assert_eq!(rows, [r#"{"x":254}"#, r#"{"x":null}"#, r#"{"x":0}"#]);
    // The newer codec in its widest form.
    let (found, ..) = key(one(6, 1, Codec::key("UInt64", u64::MAX), vec![1; 8]));
    assert_eq!((found.count, found.old), (u64::MAX, false));
}

fn ticks4(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// Keys with labels, in rows and in vectors; a key beyond the labels is its number.
#[test]
fn keys_with_labels() {
    let labels = vector_block(1, 3, &[], &[-1], 0, &[], &text_block(3, &[3, 3, 8], b"redgreen"));
    let meta = Meta::new("KeyValues", Codec::vector(&Codec::plain("TextSpan"), &[3]), DEFLATE, labels);
    let scalar = one(6, 4, Codec::key("Byte", 4), vec![1, 3, 0, 4]);
    let vectors = vector_block(2, 0, &[3, 2], &[-1, 1], 1, &[1], &[1, 0, 3, 2]);
    let vector = one(6, 2, Codec::vector(&Codec::key("Byte", 4), &[]), vectors);
    for (mut forge, expected) in [
        (scalar, vec![r#"{"x":"red"}"#, r#"{"x":"green"}"#, r#"{"x":null}"#, r#"{"x":3}"#]),
        (
            vector,
            vec![r#"{"x":["red",null,"green"]}"#, r#"{"x":{"$sparse":{"length":2,"indices":[1],"values":[""]}}}"#],
        ),
    ] {
        forge.columns[0].metadata = vec![meta.clone()];
        let reader = open(forge.bytes()).unwrap();
        assert_eq!(lines(&reader, &Scan::default()), expected);
        let labels = reader.labels(0).unwrap().unwrap();
        assert_eq!((labels.count(), labels.get(2), labels.get(3)), (3, Some(Value::Text("green")), None));
    }
}

#[test]
fn vectors_without_dimensions() {
    for dimensions in [&[][..], &[0]] {
        let codec = Codec::vector(&Codec::plain("Int16"), dimensions);
        let values: Vec<u8> = [1i16, 2, 3, 4].iter().flat_map(|x| x.to_le_bytes()).collect();
        let raw = vector_block(4, 0, &[2, 0, 3, 1], &[-1, -1, 1, -1], 1, &[2], &values);
        let reader = open(one(2, 4, codec, raw).bytes()).unwrap();
        let kind = reader.columns()[0].kind().unwrap();
        assert_eq!(*kind, Type::Vector { item: ItemType::Int16, dimensions: vec![0] });
        assert_eq!((kind.size(), kind.to_string()), (0, "Vector<Int16>".to_owned()));
        assert_eq!(
            lines(&reader, &Scan::default()),
            [
                r#"{"x":[1,2]}"#,
                r#"{"x":[]}"#,
                r#"{"x":{"$sparse":{"length":3,"indices":[2],"values":[3]}}}"#,
                r#"{"x":[4]}"#
            ]
        );
    }
    // All empty: length 0 and lengths of 0; a sparse empty one is as good.
    let codec = Codec::vector(&Codec::plain("Int16"), &[]);
    let raw = vector_block(2, 0, &[0, 0], &[-1, 0], 0, &[], &[]);
    let empty = r#"{"x":{"$sparse":{"length":0,"indices":[],"values":[]}}}"#;
    assert_eq!(json(one(2, 2, codec, raw).bytes()), [r#"{"x":[]}"#, empty]);
}

#[test]
fn partially_known_dimensions() {
    for (dimensions, size, name) in [
        (vec![2, 3], 6, "Vector<Byte, 2, 3>"),
        (vec![0, 3], 0, "Vector<Byte, *, 3>"),
        (vec![i32::MAX, 0, i32::MAX], 0, "Vector<Byte, 2147483647, *, 2147483647>"),
        (vec![i32::MAX, 1], 2_147_483_647, "Vector<Byte, 2147483647, 1>"),
    ] {
        let codec = Codec::vector(&Codec::plain("Byte"), &dimensions);
        let reader = open(one(6, 0, codec, Vec::new()).bytes()).unwrap();
        let kind = reader.columns()[0].kind().unwrap();
        assert_eq!((kind.size(), kind.to_string().as_str()), (size, name));
    }
}

/// The integers' least number meant missing; it is the plain number unless one asks, and never in newer files.
#[test]
fn minimum_integers_are_missing_only_in_old_files_on_request() {
    let least = |codec: &str| -> Vec<u8> {
        match codec {
            "SByte" => i8::MIN.to_le_bytes().to_vec(),
            "Int16" => i16::MIN.to_le_bytes().to_vec(),
            "Int32" => i32::MIN.to_le_bytes().to_vec(),
            _ => i64::MIN.to_le_bytes().to_vec(),
        }
    };
    for (codec, number) in
        [("SByte", "-128"), ("Int16", "-32768"), ("Int32", "-2147483648"), ("Int64", "-9223372036854775808")]
    {
        for last in 1..=6 {
            let reader = open(one(last, 1, Codec::plain(codec), least(codec)).bytes()).unwrap();
            assert_eq!(lines(&reader, &Scan::default()), [format!("{{\"x\":{number}}}")]);
            let asked = lines(&reader, &Scan::default().with_missing_as_null(true));
            let expected = if last <= 5 { "null" } else { number };
            assert_eq!(asked, [format!("{{\"x\":{expected}}}")]);
        }
    }
    let nan = [f32::NAN.to_le_bytes(), f32::INFINITY.to_le_bytes()].concat();
    let reader = open(one(6, 2, Codec::plain("Single"), nan).bytes()).unwrap();
    assert_eq!(lines(&reader, &Scan::default()), [r#"{"x":"NaN"}"#, r#"{"x":"Infinity"}"#]);
    let asked = lines(&reader, &Scan::default().with_missing_as_null(true));
    assert_eq!(asked, [r#"{"x":null}"#, r#"{"x":"Infinity"}"#]);
}

/// Blocks out of order, with gaps, after their tables, of different sizes; repeated names.
#[test]
fn parts_can_be_anywhere() {
    let numbers = |per_block: usize, name: &str, compression: u8| {
        let mut column = Column::new(name, Codec::plain("Byte"), compression, per_block as u64);
        let all: Vec<u8> = (0..23).collect();
        column.blocks = all.chunks(per_block).map(|rows| rows.to_vec().into()).collect();
        column
    };
    let mut forge = Forge::new(6, 23)
        .column(numbers(1, "n", DEFLATE))
        .column(numbers(5, "n", NONE))
        .column(numbers(23, "n#2", ZLIB))
        .column(numbers(100, "n", NONE));
    let expected: Vec<String> = (0..23).map(|n| format!("{{\"n\":{n},\"n#3\":{n},\"n#2\":{n},\"n#4\":{n}}}")).collect();
    for order in [Order::Straight, Order::Backwards, Order::Mixed] {
        for (gap, tables_first) in [(0, false), (0, true), (9, false), (1, true)] {
            (forge.order, forge.gap, forge.tables_first) = (order, gap, tables_first);
            let bytes = forge.bytes();
            for threads in [1, 0, 3] {
                assert_eq!(lines(&open(bytes.clone()).unwrap(), &Scan::default().with_threads(threads)), expected);
            }
            let found = verify(bytes);
            let gaps = found.iter().filter(|text| text.contains(" unused byte")).count();
            assert!(found.iter().all(|text| text.starts_with("warning")), "{found:?}");
            let blocks = forge.columns.iter().map(|column| column.blocks.len()).sum::<usize>();
            assert_eq!(gaps, if gap > 0 { blocks } else { 0 }, "{found:?}");
        }
    }
    assert_eq!(open(forge.bytes()).unwrap().column("n#3").unwrap().index(), 1);
}

#[test]
fn unknown_codec_does_not_affect_other_columns() {
    let forge = Forge::new(6, 2)
        .column(Column::new("odd", Codec::new("Odd", vec![0xFF; 300]), 77, 1).block(vec![1]).block(vec![2]))
        .column(Column::new("even", Codec::plain("Byte"), NONE, 1).block(vec![2]).block(vec![4]));
    let reader = open(forge.bytes()).unwrap();
    assert_eq!(reader.columns()[0].kind().unwrap_err().to_string(), "unknown codec \"Odd\"");
    assert_eq!(reader.columns()[0].codec_name(), "Odd");
    assert_eq!(reader.columns()[0].compression(), None);
    assert_eq!(lines(&reader, &Scan::default()), [r#"{"even":2}"#, r#"{"even":4}"#]);
    assert!(block(&reader, 0, 0).is_err());
}

/// What is not UTF-8 in a name reads as .NET reads it.
#[test]
fn names_with_invalid_utf8() {
    let mut forge = one(6, 1, Codec::plain("Byte"), vec![1]);
    forge.columns[0].name = b"a\xFF\xED\xA0\x80".to_vec();
    let reader = open(forge.bytes()).unwrap();
    assert_eq!(reader.columns()[0].name(), "a\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}");
    forge.columns[0].name = Vec::new();
    assert_eq!(json(forge.bytes()), [r#"{"":1}"#]);
}
