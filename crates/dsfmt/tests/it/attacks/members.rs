//! Contradictory descriptions of variables.

use container_core::ErrorKind;
use dsfmt::{Builder, DataType, Field};

use super::open;

/// The error of opening a variable `x` with these members before a body of 64 zeros, and of reading it whole and by rows. A valid variable next
/// to it stays readable.
#[track_caller]
pub(crate) fn variable_error(members: &str) -> String {
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
        Some(byte) => format!("{} @{}", error.detail(), byte - reader.body_offset()),
        None => error.detail().to_owned(),
    }
}

#[test]
fn rejects_contradictory_members() {
    for (members, expected) in [
        (
            r#"".size": [2,3,1000000000000], ".dims": ["a","b","c"], ".len": 64"#,
            ".len: expected 48000000000000 bytes for 6000000000000 elements of float64, found 64",
        ),
        (r#"".size": [4294967296,4294967296]"#, "the product of the sizes [4294967296, 4294967296] exceeds 2^64"),
        (
            r#"".size": [0,4294967296,4294967296], ".type": "int8""#,
            "the product of the sizes [0, 4294967296, 4294967296] exceeds 2^64",
        ),
        (
            r#"".size": [18446744073709551615], ".type": "float64""#,
            "18446744073709551615 elements of float64 exceed 2^64 bytes",
        ),
        (
            r#"".size": [18446744073709551615], ".type": "int8""#,
            "its 18446744073709551615 bytes at body offset 0 exceed the body of 64 bytes",
        ),
        (
            r#"".size": [18446744073709551615], ".type": "bool""#,
            "its 2305843009213693952 bytes at body offset 0 exceed the body of 64 bytes",
        ),
        (
            r#"".size": [18446744073709551615], ".type": "int8", ".missing": true, ".len": 5"#,
            "18446744073709551615 elements of int8 exceed 2^64 bytes",
        ),
        (
            r#"".size": [18446744073709551615], ".type": "int8", ".missing": true, ".len": 2305843009213693952"#,
            "18446744073709551615 elements of int8 exceed 2^64 bytes",
        ),
        (
            r#"".size": [2305843009213693952], ".type": "unicode", ".len": 16"#,
            "2305843009213693952 elements of unicode exceed 2^64 bytes",
        ),
        (
            r#"".size": [2305843009213693951], ".type": "unicode", ".missing": true, ".len": 18446744073709551615"#,
            "its 18446744073709551615 bytes at body offset 0 exceed the body of 64 bytes",
        ),
        (
            r#"".size": [1], ".type": "str", ".len": 18446744073709551615"#,
            "its 18446744073709551615 bytes at body offset 0 exceed the body of 64 bytes",
        ),
        (
            r#"".size": [18446744073709551616]"#,
            ".size: expected a list of non-negative integers, found [18446744073709551616]",
        ),
        (r#"".size": [-1]"#, ".size: expected a list of non-negative integers, found [-1]"),
        (r#"".size": [2.0]"#, ".size: expected a list of non-negative integers, found [2.0]"),
        (r#"".size": [1e3]"#, ".size: expected a list of non-negative integers, found [1e3]"),
        (r#"".size": [NaN]"#, ".size: expected a list of non-negative integers, found [NaN]"),
        (r#"".size": ["2"]"#, ".size: expected a list of non-negative integers, found [\"2\"]"),
        (r#"".size": [[2]]"#, ".size: expected a list of non-negative integers, found [[2]]"),
        (r#"".size": [null]"#, ".size: expected a list of non-negative integers, found [null]"),
        (r#"".size": 2"#, ".size: expected a list of non-negative integers, found 2"),
        (r#"".size": "22""#, ".size: expected a list of non-negative integers, found \"22\""),
        (r#"".size": {"a": 2}"#, ".size: expected a list of non-negative integers, found {\"a\": 2}"),
        (r#"".size": true"#, ".size: expected a list of non-negative integers, found true"),
        (r#"".size": [2], ".dims": []"#, "found 0 dimensions in .dims and 1 sizes in .size"),
        (r#"".size": [], ".dims": ["a"]"#, "found 1 dimensions in .dims and 0 sizes in .size"),
        (r#"".size": [2], ".dims": ["a", "b"]"#, "found 2 dimensions in .dims and 1 sizes in .size"),
        (r#"".size": [2], ".dims": [1]"#, ".dims: expected a list of names, found [1]"),
        (r#"".size": [2], ".dims": [null]"#, ".dims: expected a list of names, found [null]"),
        (r#"".size": [2], ".dims": {"a": 1}"#, ".dims: expected a list of names, found {\"a\": 1}"),
        (r#"".size": [2], ".dims": 1.5"#, ".dims: expected a list of names, found 1.5"),
        (r#"".type": "float16""#, ".type: unknown type \"float16\""),
        (r#"".type": "Float64""#, ".type: unknown type \"Float64\""),
        (r#"".type": """#, ".type: unknown type \"\""),
        (r#"".type": 8"#, ".type: unknown type 8"),
        (r#"".type": ["int8"]"#, ".type: unknown type [\"int8\"]"),
        (r#"".type": null"#, "it has 1 elements but no type"),
        (r#"".type": "\ud800""#, ".type: unknown type \"\\ud800\""),
        (r#"".endian": "x""#, ".endian: expected \"b\" or \"l\", found \"x\""),
        (r#"".endian": "little""#, ".endian: expected \"b\" or \"l\", found \"little\""),
        (r#"".endian": null"#, ".endian: expected \"b\" or \"l\", found null"),
        (r#"".endian": 1"#, ".endian: expected \"b\" or \"l\", found 1"),
        (r#"".missing": 1"#, ".missing: expected true or false, found 1"),
        (r#"".missing": null"#, ".missing: expected true or false, found null"),
        (r#"".missing": "true""#, ".missing: expected true or false, found \"true\""),
        (r#"".time": 1"#, ".time: expected true or false, found 1"),
        (r#"".offset": -8"#, ".offset: expected a non-negative integer, found -8"),
        (r#"".offset": 8.0"#, ".offset: expected a non-negative integer, found 8.0"),
        (r#"".offset": "8""#, ".offset: expected a non-negative integer, found \"8\""),
        (r#"".offset": 57"#, "its 8 bytes at body offset 57 exceed the body of 64 bytes"),
        (r#"".offset": 65"#, "its 8 bytes at body offset 65 exceed the body of 64 bytes"),
        (
            r#"".offset": 18446744073709551615"#,
            "its 8 bytes at body offset 18446744073709551615 exceed the body of 64 bytes",
        ),
        (
            r#"".offset": 18446744073709551608, ".len": 8"#,
            "its 8 bytes at body offset 18446744073709551608 exceed the body of 64 bytes",
        ),
        (
            r#"".offset": 123456789012345678901234567890"#,
            ".offset: expected a non-negative integer, found 123456789012345678901234567890",
        ),
        (r#"".size": null, ".len": 5"#, ".len: expected 0 bytes for 0 elements of float64, found 5"),
        (r#"".size": null, ".offset": 70, ".len": -1"#, ".len: expected a non-negative integer, found -1"),
        (r#"".len": 7"#, ".len: expected 8 bytes for 1 elements of float64, found 7"),
        (r#"".len": 9"#, ".len: expected 8 bytes for 1 elements of float64, found 9"),
        (r#"".len": 16"#, ".len: expected 8 bytes for 1 elements of float64, found 16"),
        (r#"".len": 0"#, ".len: expected 8 bytes for 1 elements of float64, found 0"),
        (r#"".len": -8"#, ".len: expected a non-negative integer, found -8"),
        (r#"".len": null"#, ".len: expected a non-negative integer, found null"),
        (r#"".size": [3], ".type": "int16", ".len": 5"#, ".len: expected 6 bytes for 3 elements of int16, found 5"),
        (r#"".size": [3], ".type": "int16", ".len": 7"#, ".len: expected 6 bytes for 3 elements of int16, found 7"),
        (r#"".size": [9], ".type": "bool", ".len": 1"#, ".len: expected 2 bytes for 9 elements of bool, found 1"),
        (r#"".size": [9], ".type": "bool", ".len": 3"#, ".len: expected 2 bytes for 9 elements of bool, found 3"),
        (
            r#"".size": [9], ".type": "bool", ".missing": true, ".len": 5"#,
            ".len: expected 2 to 4 bytes for 9 masked elements of bool, found 5",
        ),
        (
            r#"".size": [9], ".type": "bool", ".missing": true, ".len": 2"#,
            "expected 2 bytes for the 9 of 9 elements that its mask leaves, found 0 @2",
        ),
        (
            r#"".size": [9], ".type": "int32", ".missing": true, ".len": 1"#,
            ".len: expected 2 to 38 bytes in steps of 4 for 9 masked elements of int32, found 1",
        ),
        (
            r#"".size": [9], ".type": "int32", ".missing": true, ".len": 39"#,
            ".len: expected 2 to 38 bytes in steps of 4 for 9 masked elements of int32, found 39",
        ),
        (
            r#"".size": [9], ".type": "int32", ".missing": true, ".len": 5"#,
            ".len: expected 2 to 38 bytes in steps of 4 for 9 masked elements of int32, found 5",
        ),
        (
            r#"".size": [9], ".type": "int32", ".missing": true, ".len": 42"#,
            ".len: expected 2 to 38 bytes in steps of 4 for 9 masked elements of int32, found 42",
        ),
        (r#"".size": [9], ".type": "int32", ".missing": true"#, ".len is missing"),
        (r#"".size": [2], ".type": "unicode""#, ".len is missing"),
        (
            r#"".size": [2], ".type": "unicode", ".len": 15"#,
            ".len: expected 16 or more bytes for 2 elements of unicode, found 15",
        ),
        (
            r#"".size": [2], ".type": "unicode", ".len": 17"#,
            ".len: expected 16 bytes for its 2 strings and their lengths, found 17 @0",
        ),
        (
            r#"".size": [2], ".type": "str", ".len": 17"#,
            ".len: expected 16 bytes for its 2 strings and their lengths, found 17 @0",
        ),
        (
            r#"".size": [2], ".type": "unicode", ".missing": true, ".len": 0"#,
            ".len: expected 1 or more bytes for 2 masked elements of unicode, found 0",
        ),
        (
            r#"".size": [2], ".type": "unicode", ".missing": true, ".len": 16"#,
            "expected 16 bytes or more for the 2 of 2 elements that its mask leaves, found 15 @1",
        ),
        (r#"".size": [0], ".type": "unicode", ".len": 1"#, ".len: expected 0 bytes for 0 elements of unicode, found 1"),
        (
            r#"".size": [0, 1000000000000], ".type": "int8", ".len": 1"#,
            ".len: expected 0 bytes for 0 elements of int8, found 1",
        ),
    ] {
        assert_eq!(variable_error(members), expected, "{members}");
    }
}
