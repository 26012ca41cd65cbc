//! What a header says of a variable, and is not so.

use container_core::ErrorKind;
use dsfmt::{Builder, DataType, Field};

use super::open;

/// What is said when a variable `x` with these members, in front of a body of 64 zeros, is opened, read whole, and read by rows. A sound
/// variable stands beside it, and stays one.
#[track_caller]
pub(crate) fn said(members: &str) -> String {
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
