//! Files of somebody who means harm, each with exactly what is said of it.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "test code fails by panicking")]
#![allow(clippy::cast_possible_truncation, reason = "tests make their data with casts")]
#![allow(unreachable_pub, reason = "files made by hand are shared with other tests")]

mod common;

use common::File;
use container_core::{Limits, OpenOptions};
use dsfmt::{Builder, DataType, Endian, Field, Reader};

/// A file of this header and body.
fn file(header: &str, body: &[u8]) -> Vec<u8> {
    [b"ds-1.0\n", header.as_bytes(), b"\n", body].concat()
}

fn open(header: &str, body: &[u8]) -> Reader {
    Reader::from_source(file(header, body).into(), OpenOptions::default()).unwrap()
}

/// What is said when a variable `x` with these members, in front of a body of 64 zeros, is opened, read whole, and read by rows. A sound
/// variable stands beside it, and stays one.
#[track_caller]
fn said(members: &str) -> String {
    let header =
        format!(r#"{{"x": {{{members}}}, "sound": {{".type": "int8", ".size": [2], ".offset": 62, ".len": 2}}}}"#);
    let mut body = vec![0; 64];
    body[62] = 5;
    let reader = open(&header, &body);
    let sound = reader.variable("sound").unwrap();
    assert_eq!(sound.values::<i8>().unwrap()[..], [5, 0]);
    let x = reader.variable("x").unwrap();
    let error = x.read().unwrap_err();
    assert_eq!(error.position().column.as_deref(), Some("x"), "{error}");
    if let Some(problem) = x.problem() {
        assert_eq!(error.to_string(), problem.to_string());
        assert_eq!(x.read_rows(0..1).unwrap_err().to_string(), problem.to_string());
        assert_eq!(x.read_mask().unwrap_err().to_string(), problem.to_string());
    }
    let mut copy = Builder::new();
    copy.field("x", Field::copy(&x));
    if x.problem().is_some() || x.data_type().is_some_and(DataType::is_text) {
        assert!(copy.validate().is_err());
    }
    error.to_string().replace("ds: ", "").replace(" (column \"x\")", "")
}

#[test]
fn names_that_are_made_up_do_not_grow() {
    // 60,000 names of 60,000 bytes each would be 3.6 GB.
    let (name, ones) = ("n".repeat(60_000), vec!["1"; 100].join(","));
    let reader = open(&format!(r#"{{"{name}": {{".size": [{ones}], ".len": 8}}, "n": {{".size": [1]}}}}"#), &[0; 8]);
    let problem = reader.variable(&name).unwrap().problem().unwrap();
    assert_eq!(problem.detail(), "its 100 dimensions have no names (.dims) and its own is too long for theirs");
    assert_eq!(reader.variable("n").unwrap().dimensions(), ["n_1"]);
    let many = vec!["1"; 60_000].join(",");
    assert_eq!(said(&format!(r#"".size": [{many}], ".len": 8"#)), "it has 60000 dimensions, more than 128");
    let names = vec!["\"a\""; 128].join(",");
    let ones = vec!["1"; 128].join(",");
    let reader = open(&format!(r#"{{"x": {{".dims": [{names}], ".size": [{ones}], ".len": 8}}}}"#), &[0; 8]);
    assert_eq!(reader.variable("x").unwrap().read().unwrap().shape().len(), 128);
}

#[test]
fn special_names_in_disguise() {
    let reader = open(
        r#"{"x": {"\u002esize": [3], ".s\u0069ze": [2], ".type": 7, ".type": "\u0069nt16", ".endian": "\u006c", ".note": 1, ".len": 4}}"#,
        &[1, 0, 2, 0],
    );
    let x = reader.variable("x").unwrap();
    assert_eq!(x.read().unwrap().values().as_slice::<i16>(), Some(&[1, 2][..]));
    assert_eq!(x.attributes().map(|(name, _)| name).collect::<Vec<_>>(), [".note"]);
}

/// As Python writes strings of bytes that it has read before: it counts what it prints for them.
#[test]
fn strings_that_are_counted_as_they_are_printed() {
    let strings: [&[u8]; 6] = [b"ab", b"", b"it's", b"a\"'\\", b"\x00\xff\n", b"\"'\""];
    let printed = [5, 3, 7, 9, 13, 7];
    // The first counts `b'ab'`, the third `b"it's"`, the fourth `b'a"\'\\'`, the fifth `b'\x00\xff\n'`, the last `b'"\'"'`.
    let real: u64 = strings.iter().map(|string| 8 + string.len() as u64).sum();
    let lengths = strings.iter().flat_map(|string| (string.len() as u64).to_le_bytes());
    let bytes: Vec<u8> = lengths.chain(strings.concat()).collect();
    let python = 48 + printed.iter().sum::<u64>();
    for (data_type, stated, more, fits) in [
        (DataType::Str, real, 0, true),
        (DataType::Str, python, 0, true),
        (DataType::Str, python, 100, true),
        (DataType::Str, python - 1, 0, false),
        (DataType::Str, python + 1, 100, false),
        (DataType::Str, real + 1, 100, false),
        (DataType::Unicode, python, 100, false),
    ] {
        let mut file = File::default();
        let all = [&bytes[..], &vec![b'?'; more]].concat();
        file.add_bytes("x", data_type, Endian::Little, &[6], &all, false, stated);
        let reader = file.reader();
        let x = reader.variable("x").unwrap();
        let found = x.read();
        assert_eq!(found.is_ok(), fits, "{stated} {found:?}");
        assert_eq!(x.read_rows(2..3).is_ok(), fits);
        if let Ok(array) = found {
            assert_eq!(array.values().as_strings().unwrap().iter().collect::<Vec<_>>(), strings);
            let mut copy = Builder::new();
            copy.field("x", Field::copy(&x));
            let mut out = Vec::new();
            copy.write_to(&mut out).unwrap();
            assert!(out.ends_with(&bytes), "without what is behind it");
            assert!(String::from_utf8_lossy(&out).contains(&format!("\".len\": {real},")));
        }
    }
}

/// Bits behind the last element say nothing, in a copy neither.
#[test]
fn masks_with_padding_bits() {
    let mut body = vec![0b0101_1111];
    body.extend([1u64.to_le_bytes(), 2u64.to_le_bytes()].concat());
    body.extend(b"abc");
    for (data_type, body) in [("unicode", &body[..]), ("int8", &[0b0101_1111, 7, 8]), ("bool", &[0b0101_1111, 0xff])] {
        let header = format!(
            r#"{{"x": {{".size": [4], ".len": {}, ".type": "{data_type}", ".missing": true, ".endian": "l"}}}}"#,
            body.len()
        );
        let reader = open(&header, body);
        let x = reader.variable("x").unwrap();
        let array = x.read().unwrap();
        assert_eq!(array.mask().unwrap().iter().collect::<Vec<_>>(), [false, true, false, true]);
        let mut copy = Builder::new();
        copy.field("x", Field::copy(&x));
        let mut out = Vec::new();
        copy.write_to(&mut out).unwrap();
        assert!(out.ends_with(body));
        let again = Reader::from_source(out.into(), OpenOptions::default()).unwrap();
        assert_eq!(again.variable("x").unwrap().read().unwrap(), array);
    }
    let _ = Limits::default();
}
