//! Files of somebody who means harm, each with exactly what is said of it.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "test code fails by panicking")]
#![allow(clippy::cast_possible_truncation, reason = "tests make their data with casts")]
#![allow(unreachable_pub, reason = "files made by hand are shared with other tests")]

mod common;

use common::File;
use container_core::{ErrorKind, Limits, OpenOptions, ReadAt, Source};
use dsfmt::{Builder, DataType, Endian, Field, Reader, Select, Selection};

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
    assert_eq!((error.kind(), error.format()), (ErrorKind::Invalid, Some("ds")));
    match error.position().byte {
        Some(byte) => format!("{} @{}", error.detail(), byte - reader.body()),
        None => error.detail().to_owned(),
    }
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
}

#[test]
fn members_that_lie() {
    for (members, wanted) in [
        (
            r#"".size": [2,3,1000000000000], ".dims": ["a","b","c"], ".len": 64"#,
            "its .len is 64 where 6000000000000 elements of float64 take 48000000000000 bytes",
        ),
        (r#"".size": [4294967296,4294967296]"#, "the product of the sizes [4294967296, 4294967296] exceeds 2^64"),
        (
            r#"".size": [0,4294967296,4294967296], ".type": "int8""#,
            "the product of the sizes [0, 4294967296, 4294967296] exceeds 2^64",
        ),
        (
            r#"".size": [18446744073709551615], ".type": "float64""#,
            "18446744073709551615 elements of float64 have more than 2^64 bytes",
        ),
        (
            r#"".size": [18446744073709551615], ".type": "int8""#,
            "it takes 18446744073709551615 bytes from 0 of the body on, which has 64",
        ),
        (
            r#"".size": [18446744073709551615], ".type": "bool""#,
            "it takes 2305843009213693952 bytes from 0 of the body on, which has 64",
        ),
        (
            r#"".size": [18446744073709551615], ".type": "int8", ".missing": true, ".len": 5"#,
            "18446744073709551615 elements of int8 have more than 2^64 bytes",
        ),
        (
            r#"".size": [18446744073709551615], ".type": "int8", ".missing": true, ".len": 2305843009213693952"#,
            "18446744073709551615 elements of int8 have more than 2^64 bytes",
        ),
        (
            r#"".size": [2305843009213693952], ".type": "unicode", ".len": 16"#,
            "2305843009213693952 elements of unicode have more than 2^64 bytes",
        ),
        (
            r#"".size": [2305843009213693951], ".type": "unicode", ".missing": true, ".len": 18446744073709551615"#,
            "it takes 18446744073709551615 bytes from 0 of the body on, which has 64",
        ),
        (
            r#"".size": [1], ".type": "str", ".len": 18446744073709551615"#,
            "it takes 18446744073709551615 bytes from 0 of the body on, which has 64",
        ),
        (r#"".size": [18446744073709551616]"#, ".size is [18446744073709551616], no list of whole numbers from 0 on"),
        (r#"".size": [-1]"#, ".size is [-1], no list of whole numbers from 0 on"),
        (r#"".size": [2.0]"#, ".size is [2.0], no list of whole numbers from 0 on"),
        (r#"".size": [1e3]"#, ".size is [1e3], no list of whole numbers from 0 on"),
        (r#"".size": [NaN]"#, ".size is [NaN], no list of whole numbers from 0 on"),
        (r#"".size": ["2"]"#, ".size is [\"2\"], no list of whole numbers from 0 on"),
        (r#"".size": [[2]]"#, ".size is [[2]], no list of whole numbers from 0 on"),
        (r#"".size": [null]"#, ".size is [null], no list of whole numbers from 0 on"),
        (r#"".size": 2"#, ".size is 2, no list of whole numbers from 0 on"),
        (r#"".size": "22""#, ".size is \"22\", no list of whole numbers from 0 on"),
        (r#"".size": {"a": 2}"#, ".size is {\"a\": 2}, no list of whole numbers from 0 on"),
        (r#"".size": true"#, ".size is true, no list of whole numbers from 0 on"),
        (r#"".size": [2], ".dims": []"#, "there are 0 dimensions (.dims) and 1 sizes (.size)"),
        (r#"".size": [], ".dims": ["a"]"#, "there are 1 dimensions (.dims) and 0 sizes (.size)"),
        (r#"".size": [2], ".dims": ["a", "b"]"#, "there are 2 dimensions (.dims) and 1 sizes (.size)"),
        (r#"".size": [2], ".dims": "a""#, ".dims is \"a\", no list of names"),
        (r#"".size": [2], ".dims": [1]"#, ".dims is [1], no list of names"),
        (r#"".size": [2], ".dims": [null]"#, ".dims is [null], no list of names"),
        (r#"".size": [2], ".dims": {"a": 1}"#, ".dims is {\"a\": 1}, no list of names"),
        (r#"".size": [2], ".dims": 1.5"#, ".dims is 1.5, no list of names"),
        (r#"".type": "float16""#, ".type is \"float16\", which is none of the format's types"),
        (r#"".type": "Float64""#, ".type is \"Float64\", which is none of the format's types"),
        (r#"".type": """#, ".type is \"\", which is none of the format's types"),
        (r#"".type": 8"#, ".type is 8, which is none of the format's types"),
        (r#"".type": ["int8"]"#, ".type is [\"int8\"], which is none of the format's types"),
        (r#"".type": null"#, "it has 1 elements and no type"),
        (r#"".type": "\ud800""#, ".type is \"\\ud800\", which is none of the format's types"),
        (r#"".endian": "x""#, ".endian is \"x\", neither \"b\" nor \"l\""),
        (r#"".endian": "little""#, ".endian is \"little\", neither \"b\" nor \"l\""),
        (r#"".endian": null"#, ".endian is null, neither \"b\" nor \"l\""),
        (r#"".endian": 1"#, ".endian is 1, neither \"b\" nor \"l\""),
        (r#"".missing": 1"#, ".missing is 1, neither true nor false"),
        (r#"".missing": null"#, ".missing is null, neither true nor false"),
        (r#"".missing": "true""#, ".missing is \"true\", neither true nor false"),
        (r#"".time": 1"#, ".time is 1, neither true nor false"),
        (r#"".offset": -8"#, ".offset is -8, no whole number from 0 on"),
        (r#"".offset": 8.0"#, ".offset is 8.0, no whole number from 0 on"),
        (r#"".offset": "8""#, ".offset is \"8\", no whole number from 0 on"),
        (r#"".offset": 57"#, "it takes 8 bytes from 57 of the body on, which has 64"),
        (r#"".offset": 65"#, "it takes 8 bytes from 65 of the body on, which has 64"),
        (
            r#"".offset": 18446744073709551615"#,
            "it takes 8 bytes from 18446744073709551615 of the body on, which has 64",
        ),
        (
            r#"".offset": 18446744073709551608, ".len": 8"#,
            "it takes 8 bytes from 18446744073709551608 of the body on, which has 64",
        ),
        (
            r#"".offset": 123456789012345678901234567890"#,
            ".offset is 123456789012345678901234567890, no whole number from 0 on",
        ),
        (r#"".size": null, ".len": 5"#, "its .len is 5 where 0 elements of float64 take 0 bytes"),
        (r#"".size": null, ".offset": 70, ".len": -1"#, ".len is -1, no whole number from 0 on"),
        (r#"".len": 7"#, "its .len is 7 where 1 elements of float64 take 8 bytes"),
        (r#"".len": 9"#, "its .len is 9 where 1 elements of float64 take 8 bytes"),
        (r#"".len": 16"#, "its .len is 16 where 1 elements of float64 take 8 bytes"),
        (r#"".len": 0"#, "its .len is 0 where 1 elements of float64 take 8 bytes"),
        (r#"".len": -8"#, ".len is -8, no whole number from 0 on"),
        (r#"".len": null"#, ".len is null, no whole number from 0 on"),
        (r#"".size": [3], ".type": "int16", ".len": 5"#, "its .len is 5 where 3 elements of int16 take 6 bytes"),
        (r#"".size": [3], ".type": "int16", ".len": 7"#, "its .len is 7 where 3 elements of int16 take 6 bytes"),
        (r#"".size": [9], ".type": "bool", ".len": 1"#, "its .len is 1 where 9 elements of bool take 2 bytes"),
        (r#"".size": [9], ".type": "bool", ".len": 3"#, "its .len is 3 where 9 elements of bool take 2 bytes"),
        (
            r#"".size": [9], ".type": "bool", ".missing": true, ".len": 5"#,
            "its .len is 5 where 9 masked elements of bool take 2 to 4 bytes",
        ),
        (
            r#"".size": [9], ".type": "bool", ".missing": true, ".len": 2"#,
            "its mask leaves 9 of 9 elements, which take 2 bytes; its .len has 0 for them @2",
        ),
        (
            r#"".size": [9], ".type": "int32", ".missing": true, ".len": 1"#,
            "its .len is 1 where 9 masked elements of int32 take 2 to 38 bytes in steps of 4",
        ),
        (
            r#"".size": [9], ".type": "int32", ".missing": true, ".len": 39"#,
            "its .len is 39 where 9 masked elements of int32 take 2 to 38 bytes in steps of 4",
        ),
        (
            r#"".size": [9], ".type": "int32", ".missing": true, ".len": 5"#,
            "its .len is 5 where 9 masked elements of int32 take 2 to 38 bytes in steps of 4",
        ),
        (
            r#"".size": [9], ".type": "int32", ".missing": true, ".len": 42"#,
            "its .len is 42 where 9 masked elements of int32 take 2 to 38 bytes in steps of 4",
        ),
        (r#"".size": [9], ".type": "int32", ".missing": true"#, "it has no .len"),
        (r#"".size": [2], ".type": "unicode""#, "it has no .len"),
        (
            r#"".size": [2], ".type": "unicode", ".len": 15"#,
            "its .len is 15 where 2 elements of unicode take 16 or more bytes",
        ),
        (
            r#"".size": [2], ".type": "unicode", ".len": 17"#,
            "its 2 strings take 16 bytes with their lengths; its .len has 17 for them @0",
        ),
        (
            r#"".size": [2], ".type": "str", ".len": 17"#,
            "its 2 strings take 16 bytes with their lengths; its .len has 17 for them @0",
        ),
        (
            r#"".size": [2], ".type": "unicode", ".missing": true, ".len": 0"#,
            "its .len is 0 where 2 masked elements of unicode take 1 or more bytes",
        ),
        (
            r#"".size": [2], ".type": "unicode", ".missing": true, ".len": 16"#,
            "its mask leaves 2 of 2 elements, which take 16 bytes or more; its .len has 15 for them @1",
        ),
        (r#"".size": [0], ".type": "unicode", ".len": 1"#, "its .len is 1 where 0 elements of unicode take 0 bytes"),
        (
            r#"".size": [0, 1000000000000], ".type": "int8", ".len": 1"#,
            "its .len is 1 where 0 elements of int8 take 0 bytes",
        ),
    ] {
        assert_eq!(said(members), wanted, "{members}");
    }
}

/// What is said of bytes that do not open.
#[track_caller]
fn refused(bytes: impl Into<Vec<u8>>) -> String {
    let bytes = bytes.into();
    let error = Reader::from_source(bytes.clone().into(), OpenOptions::default()).unwrap_err();
    assert_eq!(error.format(), Some("ds"));
    assert!(error.position().byte.is_some_and(|byte| byte <= bytes.len() as u64), "{error}");
    error.to_string()
}

#[test]
fn lines_that_are_no_version() {
    for (bytes, wanted) in [
        (&b""[..], r#"it does not begin with "ds-" and a version (byte 0)"#),
        (b"ds", r#"it does not begin with "ds-" and a version (byte 0)"#),
        (b"DS-1.0\n{}\n", r#"it does not begin with "ds-" and a version (byte 0)"#),
        (b"ds-", r#"the version is ""; 1.0 is read (byte 3)"#),
        (b"ds-\n{}\n", r#"the version is ""; 1.0 is read (byte 3)"#),
        (b"ds-1", r#"the version is "1"; 1.0 is read (byte 3)"#),
        (b"ds-1.0", "the line of the version: needs 1 byte, 0 available (byte 6)"),
        (b"ds-1.1\n{}\n", r#"the version is "1.1"; 1.0 is read (byte 3)"#),
        (b"ds-2.0\n{}\n", r#"the version is "2.0"; 1.0 is read (byte 3)"#),
        (b"ds-1.0\r\n{}\n", r#"the version is "1.0\r"; 1.0 is read (byte 3)"#),
        (b"ds-1.0 \n{}\n", r#"the version is "1.0 "; 1.0 is read (byte 3)"#),
        (b"ds-01.0\n{}\n", r#"the version is "01.0"; 1.0 is read (byte 3)"#),
        (b"ds-\xff\n{}\n", "the version is \"\u{fffd}\"; 1.0 is read (byte 3)"),
    ] {
        assert_eq!(refused(bytes), format!("ds: {wanted}"));
    }
    let long = [b"ds-", &[b'1'; 1 << 20][..]].concat();
    assert_eq!(refused(long), format!("ds: the version is {:?}; 1.0 is read (byte 3)", "1".repeat(29)));
}

#[test]
fn headers_that_are_none() {
    for (header, wanted) in [
        (&b""[..], "a value is expected, the text ends (byte 7)"),
        (b"\n", "a value is expected, the text ends (byte 7)"),
        (b"   \t\r", "a value is expected, the text ends (byte 12)"),
        (b"[]\n", "the header is no object (byte 7)"),
        (b"null\n", "the header is no object (byte 7)"),
        (b"\"a\"\n", "the header is no object (byte 7)"),
        (b"{} {}\n", "the value is followed by '{' (byte 10)"),
        (b"{\"a\": {}", "',' or '}' is expected, the text ends (byte 15)"),
        (b"{\"a\": {}\n}", "',' or '}' is expected, the text ends (byte 15)"),
        (b"{\"a\" {}}\n", "':' is expected, '{' is found (byte 12)"),
        (b"{\"a\": {},}\n", "a name in quotes is expected, '}' is found (byte 16)"),
        (b"{\"a: {}}\n", "a text does not end (byte 8)"),
        (b"{\"a\": nan}\n", "a value is expected, 'n' is found (byte 13)"),
        (b"{\"a\": -NaN}\n", "a value is expected, '-' is found (byte 13)"),
        (b"{\"a\": 0x10}\n", "',' or '}' is expected, 'x' is found (byte 14)"),
        (b"{\"a\": \"\xff\"}\n", "the header is not UTF-8 there (byte 14)"),
        (b"{\"a\": \"\xed\xa0\x80\"}\n", "the header is not UTF-8 there (byte 14)"),
        (b"{\"a\": \"\xc3", "the header is not UTF-8 there (byte 14)"),
        (b"\xef\xbb\xbf{}\n", "a value is expected, '\\u{feff}' is found (byte 7)"),
        (b"{\"a\0\": {}}\n", "a text holds the control character 0x00 (byte 10)"),
    ] {
        assert_eq!(refused([b"ds-1.0\n", header].concat()), format!("ds: {wanted}"), "{}", header.escape_ascii());
    }
    // The last line may lack its end: then there is no body.
    let reader =
        Reader::from_source(b"ds-1.0\n{\"x\": {\".size\": [0]}}".to_vec().into(), OpenOptions::default()).unwrap();
    assert_eq!((reader.body(), reader.variable("x").unwrap().read().unwrap().len()), (reader.source().len(), 0));
}

#[test]
fn nesting_without_end() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = open.repeat(100_000) + "1" + &close.repeat(100_000);
        let header = format!("{{\"x\": {{\"deep\": {deep}}}}}");
        let byte = 22 + 126 * open.len();
        let wanted = format!("ds: the nesting of values 129 exceeds the limit 128 (byte {byte})");
        assert_eq!(refused(file(&header, b"")), wanted);
        assert_eq!(refused(file(&open.repeat(100_000), b"")).split(" (").next(), wanted.split(" (").next());
    }
    let deep = "[".repeat(126) + &"]".repeat(126);
    let reader = self::open(&format!("{{\"x\": {{\"deep\": {deep}}}}}"), &[0; 8]);
    let json = reader.variable("x").unwrap().attributes().get("deep").unwrap();
    assert_eq!(serde_json::to_string(&json).unwrap(), deep);
}

/// A million variables are opened; one more than the limit is not.
#[test]
fn a_million_variables() {
    let header = many(1_000_000);
    let reader = open(&header, b"");
    assert_eq!(reader.len(), 1_000_000);
    assert_eq!(reader.variable("999999").unwrap().dimensions(), ["999999_1"]);
    let error = reader.variable("no").unwrap_err().to_string();
    assert!(error.starts_with("ds: there is no variable \"no\": there are \"0\", \"1\", "), "{error}");
    assert!(error.ends_with("\"19\", and 999980 more"), "{error}");
    let few = OpenOptions::default().with_limits(Limits::default().with_columns(999_999));
    let error = Reader::from_source(file(&header, b"").into(), few).unwrap_err();
    assert_eq!(error.to_string(), "ds: the number of variables 1000000 exceeds the limit 999999");
}

fn many(variables: usize) -> String {
    let members: Vec<String> = (0..variables).map(|n| format!("\"{n}\":{{\".size\":[0]}}")).collect();
    format!("{{{}}}", members.join(","))
}

/// What would take minutes if each of many were compared with all others.
#[test]
fn many_of_everything() {
    const MANY: usize = 100_000;
    let reader = open(&many(MANY), b"");
    assert_eq!(reader.dimensions().len(), MANY);
    // A name that only the last one has a dimension of.
    let selection = Selection::new().with(format!("{}_1", MANY - 1), Select::all());
    assert_eq!(reader.variables().filter(|variable| variable.select(&selection).is_ok()).count(), MANY);
    // One name many times is one variable.
    let reader = open(&format!("{{{}}}", vec!["\"x\":{\".size\":[0]}"; MANY].join(",")), b"");
    assert_eq!(reader.len(), 1);
    let attributes: Vec<String> = (0..MANY).map(|n| format!("\"a{n}\":{n}")).collect();
    let reader = open(&format!("{{\"x\":{{\".size\":[0],{0}}},\".\":{{{0}}}}}", attributes.join(",")), b"");
    let mut copy = Builder::new();
    copy.attributes_of(&reader).field("x", Field::copy(&reader.variable("x").unwrap()));
    copy.write_to(&mut std::io::sink()).unwrap();
    assert_eq!((reader.attributes().count(), reader.variable("x").unwrap().attributes().count()), (MANY, MANY));
}

#[test]
fn names_that_are_told_apart() {
    let int = |n: u64| format!(r#"{{".type": "uint8", ".size": [], ".offset": {n}}}"#);
    let keys = [
        (r#""\\.""#, "."),
        (r#""\\.a""#, ".a"),
        (r#""\u005c.b""#, ".b"),
        (r#""\\\\""#, "\\"),
        (r#""\\\\.""#, "\\."),
        (r#""\\c""#, "\\c"),
        (r#""""#, ""),
        (r#""\u00e4\ud83d\ude00""#, "\u{e4}\u{1f600}"),
        (r#""d\ud800""#, "d\\ud800"),
        (r#""\udc00e\ud800\u0041""#, "\\udc00e\\ud800A"),
        (r#""f\u0000\n""#, "f\0\n"),
    ];
    let members: Vec<String> = keys.iter().zip(0..).map(|((key, _), n)| format!("{key}: {}", int(n))).collect();
    let header = format!(r#"{{{}, ".": {{"\ud800": "\udfff"}}}}"#, members.join(", "));
    let reader = open(&header, &(0..keys.len() as u8).collect::<Vec<_>>());
    assert_eq!(reader.variables().map(|variable| variable.name()).collect::<Vec<_>>(), keys.map(|(_, name)| name));
    for (n, (_, name)) in keys.iter().enumerate() {
        assert_eq!(reader.variable(name).unwrap().values::<u8>().unwrap()[..], [n as u8], "{name}");
    }
    assert_eq!(serde_json::to_string(&reader.attributes().next().unwrap().1).unwrap(), r#""\\udfff""#);
    // Of the same name in two spellings the last value holds, at the first place.
    let reader = open(&format!(r#"{{"a": {}, "b": {}, "\u0061": {}}}"#, int(0), int(1), int(2)), &[7, 8, 9]);
    assert_eq!(reader.variables().map(|variable| variable.offset()).collect::<Vec<_>>(), [2, 1]);
    // What belongs to nobody is passed over.
    let reader = open(&format!(r#"{{".x": {}, "..": 1, ".": 5, "y": {}}}"#, int(0), int(1)), &[7, 8]);
    assert_eq!((reader.len(), reader.attributes().count()), (1, 0));
}

/// Bytes that are counted, of a file that is longer than any disk.
struct Long {
    head: &'static [u8],
    len: u64,
    asked: std::sync::Arc<std::sync::atomic::AtomicU64>,
}

impl ReadAt for Long {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        self.asked.fetch_add(buffer.len() as u64, std::sync::atomic::Ordering::Relaxed);
        for (byte, at) in buffer.iter_mut().zip(offset..) {
            *byte = usize::try_from(at).ok().and_then(|at| self.head.get(at)).copied().unwrap_or(b' ');
        }
        Ok(())
    }
}

#[test]
fn a_header_of_8_gb() {
    let asked = std::sync::Arc::<std::sync::atomic::AtomicU64>::default();
    for (head, most) in [(&b"ds-1.0\n{"[..], 1 << 20), (b"ds-1.0\n{\"a", 5 << 20)] {
        let source = Source::new(Long { head, len: 8 << 30, asked: asked.clone() });
        let options = OpenOptions::default().with_limits(Limits::default().with_metadata_bytes(most));
        let error = Reader::from_source(source, options).unwrap_err();
        let limit = format!("exceeds the limit {most} (byte 7)");
        assert!(error.to_string().starts_with("ds: the length of the header "), "{error}");
        assert!(error.to_string().ends_with(&limit), "{error}");
        let asked = asked.swap(0, std::sync::atomic::Ordering::Relaxed);
        assert!(asked <= most + (128 << 10), "{asked} bytes were read");
    }
    let source = Source::new(Long { head: b"ds-1.", len: u64::MAX, asked: asked.clone() });
    assert_eq!(Reader::from_source(source, OpenOptions::default()).unwrap_err().kind(), ErrorKind::Unsupported);
    assert!(asked.load(std::sync::atomic::Ordering::Relaxed) <= 64);
    // A body without end is no harm: of 2^63 bytes those are read that are asked for.
    let head = b"ds-1.0\n{\"x\": {\".size\": [9223372036854775807], \".type\": \"int8\"}}\n";
    let source = Source::new(Long { head, len: u64::MAX, asked: asked.clone() });
    let reader = Reader::from_source(source, OpenOptions::default()).unwrap();
    let x = reader.variable("x").unwrap();
    let last = x.read_rows((1 << 63) - 3..(1 << 63) - 1).unwrap();
    assert_eq!(last.values().as_slice::<i8>(), Some(&[32, 32][..]));
    assert_eq!(x.read().unwrap_err().kind(), ErrorKind::Usage, "it does not fit into memory");
}

#[test]
fn zero_sizes_with_huge_others() {
    for (size, problem) in [
        ("[0, 1000000000000, 10000000]", false),
        ("[1000000000000, 0]", false),
        ("[18446744073709551615, 0]", false),
        ("[18446744073709551615, 0, 2]", true),
    ] {
        for data_type in ["float64", "bool", "unicode", "str"] {
            for missing in [true, false] {
                let header = format!(
                    r#"{{"x": {{".size": {size}, ".type": "{data_type}", ".missing": {missing}, ".offset": 99}}}}"#
                );
                let reader = open(&header, b"");
                let x = reader.variable("x").unwrap();
                assert_eq!(x.problem().is_some(), problem, "{size}");
                if problem {
                    continue;
                }
                let array = x.read().unwrap();
                assert_eq!((array.len(), array.shape()), (0, x.shape().unwrap()));
                assert_eq!(x.read_rows(0..0).unwrap().len(), 0);
                let rows = x.shape().unwrap()[0];
                assert_eq!(x.read_rows(rows / 2..rows).unwrap().shape()[0], rows - rows / 2);
                assert_eq!(x.read_rows(0..rows.saturating_add(1)).is_err(), rows < u64::MAX);
                let mut copy = Builder::new();
                copy.field("x", Field::copy(&x)).field("y", Field::new(array).with_dimensions(x.dimensions()));
                copy.write_to(&mut std::io::sink()).unwrap();
            }
        }
    }
}
