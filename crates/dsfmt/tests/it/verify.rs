//! Findings of `verify`.

use container_core::{OpenOptions, Severity, Source, VerifyOptions};
use dsfmt::{Array, Builder, Field, Mask, Reader, Values};

/// A file of this header and body.
fn file(header: &str, body: &[u8]) -> Vec<u8> {
    [b"ds-1.0\n", header.as_bytes(), b"\n", body].concat()
}

fn findings(bytes: Vec<u8>) -> Vec<String> {
    let reader = Reader::from_source(Source::from(bytes), OpenOptions::default()).unwrap();
    let mut found = Vec::new();
    let report = &mut |finding: container_core::Finding| {
        let word = if finding.severity == Severity::Error { "error" } else { "warning" };
        found.push(format!("{word} {}", finding.error));
    };
    reader.verify(&VerifyOptions::default(), report).unwrap();
    found
}

#[track_caller]
fn found(header: &str, body: &[u8], expected: &[&str]) {
    assert_eq!(findings(file(header, body)), expected);
}

#[test]
fn valid_files_have_no_findings() {
    let mut builder = Builder::new();
    let mask = |len: usize| Mask::from_bools((0..len).map(|n| n % 3 == 1));
    let array = |values: Values<'static>| Array::new([values.len() as u64], values).unwrap();
    let masked = |values: Values<'static>| array(values.clone()).with_mask(mask(values.len())).unwrap();
    builder.field("a", Field::new(array(vec![1.5f64, 2.5].into())).with_dimensions(["two"]));
    builder.field("b", Field::new(masked(vec![true; 11].into())).with_dimensions(["n"]));
    builder.field("c", Field::new(masked(["\u{fc}", "xx", "", "y"].into_iter().collect())).with_dimensions(["four"]));
    builder.field("d", Field::new(masked([&b"\xff"[..], b"12"].into_iter().collect())).with_dimensions(["two"]));
    builder.field("e", Field::empty());
    builder.field("f", Field::new(array(vec![false; 3].into())).with_dimensions(["three"]));
    builder.field(".g", Field::new(masked(vec![7u16; 9].into())).with_dimensions(["nine"]));
    let mut bytes = Vec::new();
    builder.write_to(&mut bytes).unwrap();
    assert_eq!(findings(bytes), Vec::<String>::new());
    assert_eq!(findings(b"ds-1.0\n{}\n".to_vec()), Vec::<String>::new());
}

#[test]
fn ranges() {
    let header = r#"{"a": {".type": "int16", ".offset": 1, ".len": 2}, "b": {".type": "int32", ".offset": 2, ".len": 4}, "c": {".type": "int8", ".offset": 9, ".len": 1}}"#;
    found(
        header,
        &[0; 12],
        &[
            "warning ds: no variable uses the 1 byte before it (byte 158, column \"a\")",
            "error ds: its bytes overlap those of \"a\" by 1 byte (byte 159, column \"b\")",
            "warning ds: no variable uses the 3 bytes before it (byte 166, column \"c\")",
            "warning ds: no variable uses the last 2 bytes (byte 167)",
        ],
    );
    let header =
        r#"{"a": {".type": "int16", ".offset": 0, ".len": 2}, "b": {".type": "int32", ".offset": 2, ".len": 4}}"#;
    found(
        header,
        &[0; 5],
        &[
            "error ds: its 4 bytes at body offset 2 exceed the body of 5 bytes (byte 63, column \"b\")",
            "warning ds: no variable uses the last 3 bytes (byte 110)",
        ],
    );
}

#[test]
fn headers() {
    let header = r#"{"a": {"x": 1, "x": 2, ".len": 1, ".len": 8}, "a": {".len": 8}, ".b": {}, ".": 7, "\ud800": {".size": null}}"#;
    found(
        header,
        &[0; 8],
        &[
            "error ds: duplicate member \"x\": the last one is read (byte 22, column \"a\")",
            "error ds: duplicate member \".len\": the last one is read (byte 41, column \"a\")",
            "error ds: duplicate variable: the last one is read (byte 53, column \"a\")",
            "error ds: unknown special member \".b\" is ignored (byte 71)",
            "error ds: the dataset's attributes (\".\") are not a JSON object (byte 86)",
            "warning ds: name \"\\\\ud800\" contains a lone surrogate, read as its escape (byte 89)",
        ],
    );
    assert_eq!(findings(b"ds-1.0\n{}".to_vec()), ["warning ds: no line feed after the header (byte 9)"]);
    let header = r#"{"a": {".dims": ["x", "y"], ".size": [2, 1], ".type": "int8", ".len": 2}, "b": {".dims": ["x"], ".size": [3], ".type": "int8", ".offset": 2, ".len": 3}}"#;
    found(header, &[0; 5], &["error ds: dimension \"x\" has size 3, in \"a\" 2 (byte 86, column \"b\")"]);
}

#[test]
fn masks_and_bools() {
    let header = r#"{"a": {".dims": ["x"], ".size": [3], ".type": "bool", ".missing": true, ".len": 2}}"#;
    found(
        header,
        &[0b0100_0001, 0b1010_0000],
        &[
            "warning ds: padding bits after its mask are not 0: the last byte is 0x41, of which 3 bits are used (byte 91, column \"a\")",
            "warning ds: padding bits after its last booleans are not 0: the last byte is 0xa0, of which 2 bits are used (byte 92, column \"a\")",
        ],
    );
    let header = r#"{"a": {".dims": ["x"], ".size": [3], ".type": "int16", ".missing": true, ".len": 5}}"#;
    found(
        header,
        &[0, 0, 0, 0, 0],
        &["error ds: expected 6 bytes for the 3 of 3 elements that its mask leaves, found 4 (byte 93, column \"a\")"],
    );
}

/// Copied variables have the same findings before copying as in the copy.
#[test]
fn verifies_copies() {
    let header = concat!(
        r#"{"bad": {".dims": ["x"], ".size": [2], ".type": "unicode", ".endian": "l", ".len": 19}, "#,
        r#""x3": {".dims": ["x"], ".size": [3], ".type": "uint8", ".offset": 19, ".len": 3}}"#
    );
    let len = |len: u64| len.to_le_bytes();
    let bytes = file(header, &[&len(1)[..], &len(2), b"\xc3\xbcx", &[1, 2, 3]].concat());
    let reader = Reader::from_source(Source::from(bytes), OpenOptions::default()).unwrap();
    let copied = |names: &[&str]| {
        let mut copy = Builder::new();
        for name in names {
            copy.field(*name, Field::copy(&reader.variable(name).unwrap()));
        }
        let mut found = Vec::new();
        let mut note = |from: &Reader, finding: container_core::Finding| {
            assert!(std::ptr::eq(from, &raw const reader));
            found.push(finding.error.to_string());
        };
        copy.verify_copied(&mut note).unwrap();
        found
    };
    assert!(copied(&["x3"]).is_empty());
    let bad = copied(&["x3", "bad"]);
    assert!(bad.len() == 2 && bad[0].contains("element 0 is not valid UTF-8"), "{bad:?}");
    let mut copy = Builder::new();
    copy.field("bad", Field::copy(&reader.variable("bad").unwrap()));
    let mut bytes = Vec::new();
    copy.write_to(&mut bytes).unwrap();
    assert_eq!(findings(bytes).len(), 2);
    copy.field("x3", Field::copy(&reader.variable("x3").unwrap()));
    assert!(copy.write_to(&mut Vec::new()).is_err());
}

#[test]
fn strings() {
    let len = |len: u64| len.to_le_bytes();
    let header = r#"{"a": {".dims": ["x"], ".size": [2], ".type": "unicode", ".endian": "l", ".len": 19}}"#;
    found(header, &[&len(2)[..], &len(1), b"\xc3\xbcx"].concat(), &[]);
    found(
        header,
        &[&len(1)[..], &len(2), b"\xc3\xbcx"].concat(),
        &[
            "error ds: element 0 is not valid UTF-8 at byte 0 (byte 109, column \"a\")",
            "error ds: element 1 is not valid UTF-8 at byte 0 (byte 110, column \"a\")",
        ],
    );
    let wrong = findings(file(header, &[&len(1)[..], &len(1), b"\xc3\xbcx"].concat()));
    assert_eq!(
        wrong,
        ["error ds: .len: expected 18 bytes for its 2 strings and their lengths, found 19 (byte 93, column \"a\")"]
    );
    let wrong = findings(file(header, &[&len(u64::MAX)[..], &len(4), b"\xc3\xbcx"].concat()));
    assert!(wrong.len() == 1 && wrong[0].starts_with("error ds: ") && wrong[0].ends_with("column \"a\")"), "{wrong:?}");
    // The first hundred are reported individually.
    let count = 5000u64;
    let header = format!(
        r#"{{"a": {{".dims": ["x"], ".size": [{count}], ".type": "unicode", ".endian": "l", ".len": {}}}}}"#,
        count * 9
    );
    let many = findings(file(&header, &[len(1).repeat(5000), vec![0xff; 5000]].concat()));
    assert_eq!(many.len(), 101);
    assert!(many[100].starts_with("error ds: 4900 more strings are not valid UTF-8"), "{}", many[100]);
}

#[test]
fn recognizes_lengths_of_masked_strings_from_python() {
    // As Python's writer produces it: 2 bytes too many declared for the missing string, and later variables displaced by 2 bytes.
    let header = r#"{"a": {".dims": ["x"], ".size": [3], ".offset": 0, ".len": 22, ".type": "unicode", ".missing": true, ".endian": "l"}, "b": {".size": [], ".offset": 22, ".len": 1, ".type": "int8"}, "c": {".size": [], ".offset": 23, ".len": 2, ".type": "int16"}}"#;
    let body = [&[0x40][..], &2u64.to_le_bytes(), &1u64.to_le_bytes(), b"aac", &[7, 0, 1]].concat();
    assert_eq!(body.len(), 23);
    found(
        header,
        &body,
        &[
            "error ds: its 2 bytes at body offset 23 exceed the body of 23 bytes (byte 193, column \"c\")",
            "warning ds: .len: expected 20, found 22, which counts 2 bytes per missing string (1), as Python's writer does (byte 253, column \"a\")",
            "error ds: its offset is 2 bytes too large: \"a\" before it is shorter than its .len (byte 274, column \"b\")",
        ],
    );
}
