use proptest::prelude::*;
use serde_json::Value;

use super::*;

/// Reads a text with every method that takes values.
fn tree(json: &mut Tokenizer<'_>) -> Result<Value> {
    Ok(match json.token() {
        Some(b'"') => json.string()?.unescape().unwrap().into_owned().into(),
        Some(b'{') => {
            json.open()?;
            let (mut members, mut is_first) = (serde_json::Map::new(), true);
            while let Some(name) = json.member(&mut is_first)? {
                members.insert(name.unescape().unwrap().into_owned(), tree(json)?);
            }
            Value::Object(members)
        }
        Some(b'[') => {
            json.open()?;
            let (mut elements, mut is_first) = (Vec::new(), true);
            while json.element(&mut is_first)? {
                elements.push(tree(json)?);
            }
            Value::Array(elements)
        }
        Some(b't') => json.word("true").map(|()| Value::Bool(true))?,
        Some(b'f') => json.word("false").map(|()| Value::Bool(false))?,
        Some(b'n') => json.word("null").map(|()| Value::Null)?,
        _ => match json.number()? {
            Number::I64(number) => number.into(),
            Number::U64(number) => number.into(),
            Number::F64(number) => number.into(),
            Number::Beyond => Value::from("beyond"),
        },
    })
}

fn read(text: &str) -> Result<Value> {
    let mut json = Tokenizer::new(text, 128);
    let value = tree(&mut json)?;
    json.end("the end").map(|()| value)
}

fn skip(text: &str) -> Result<()> {
    let mut json = Tokenizer::new(text, 128);
    json.skip_value()?;
    json.end("the end")
}

/// Compares with `serde_json`, except numbers that it rounds or refuses, and checks that skipping accepts the same.
fn check(text: &str) {
    let (found, skipped) = (read(text), skip(text));
    match (&found, &skipped) {
        (Ok(_), Ok(())) => {}
        (Err(one), Err(other)) => assert_eq!(one.to_string(), other.to_string(), "{text:?}"),
        _ => panic!("{text:?}: {found:?} {skipped:?}"),
    }
    match (found, serde_json::from_str::<Value>(text)) {
        (Ok(found), Ok(expected)) if !found.to_string().contains("beyond") => {
            assert_eq!(found.to_string(), expected.to_string(), "{text:?}");
        }
        (Ok(_), Ok(_)) | (Err(_), Err(_)) => {}
        (Ok(found), Err(error)) => {
            assert!(
                error.to_string().contains("out of range") && found.to_string().contains("beyond"),
                "{text:?}: {error}"
            );
        }
        (Err(error), Ok(_)) => panic!("{text:?}: {error}"),
    }
}

#[test]
fn agrees_with_serde_json() {
    for text in [
        r#" { "a" : [ 1 , -2.5e-3 , true , false , null , { } , [ ] ] , "\u0061\n" : "\ud83d\ude00\/" } "#,
        "18446744073709551615",
        "-9223372036854775808",
        "-0",
        "1e400",
        "123456789012345678901234567890",
        "01",
        "-",
        "1.",
        "1e",
        "+1",
        ".5",
        "nul",
        "[1,]",
        "[,1]",
        "{\"a\":1,}",
        "{\"a\" 1}",
        "{a:1}",
        "[1 2]",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"\\u+123\"",
        "\"\\ud800\"",
        "\"\\ud800\\ud800\"",
        "\"\\udc00\\ud800\"",
        "\"\\ud800\\n\"",
        "\"a\tb\"",
        "\"a",
        "[",
        "{",
        "]",
        "",
        " ",
        "1 1",
    ] {
        check(text);
    }
}

#[test]
fn errors_name_place_and_token() {
    for (text, expected) in [
        ("", "a value: needs 1 byte, 0 available (byte 0)"),
        ("[1", "\"]\": needs 1 byte, 0 available (byte 2)"),
        ("{\"a\":1", "\"}\": needs 1 byte, 0 available (byte 6)"),
        ("{\"a\":1]", "expected \",\" or \"}\", found ']' (byte 6)"),
        ("{\"a\":1,}", "expected a member name, found '}' (byte 7)"),
        ("nul", "null: needs 1 byte, 0 available (byte 3)"),
        ("tru\u{e9}", "expected true, found '\u{e9}' (byte 3)"),
        ("-x", "expected a digit, found 'x' (byte 1)"),
        ("\"\u{1}\"", "expected no control character, found '\\u{1}' (byte 1)"),
        ("\"\\", "an escape: needs 1 byte, 0 available (byte 2)"),
        ("[\"x\\udc00\"]", "an escape is an unpaired surrogate (byte 3)"),
    ] {
        assert_eq!(skip(text).unwrap_err().to_string(), expected, "{text:?}");
        assert_eq!(read(text).unwrap_err().to_string(), expected, "{text:?}");
    }
}

#[test]
fn nesting_is_limited() {
    let deep =
        |depth: usize| format!("{}{}", "[{\"a\":".repeat(depth / 2) + "[", "]".to_owned() + &"}]".repeat(depth / 2));
    skip(&deep(126)).unwrap();
    let error = "the nesting of values 129 exceeds the limit 128 (byte 384)";
    assert_eq!(skip(&deep(128)).unwrap_err().to_string(), error);
    assert_eq!(read(&deep(128)).unwrap_err().to_string(), error);
    // Siblings do not add up, and no limit exceeds 128.
    let mut json = Tokenizer::new("[[],[[]],{}]", 3);
    json.skip_value().unwrap();
    assert_eq!(json.depth_left(), 3);
    assert_eq!(Tokenizer::new("", u32::MAX).depth_left(), 128);
}

#[test]
fn lone_surrogates_are_accepted_on_request() {
    for (text, is_text) in [(r#""\ud800""#, false), (r#""\ud800\ud83d\ude00""#, false), (r#""x\ud83d\ude00y""#, true)] {
        let mut json = Tokenizer::new(text, 1).with_lone_surrogates();
        let quoted = json.string().unwrap();
        assert_eq!((json.start_of(quoted), quoted.plain(), quoted.unescape().is_some()), (1, None, is_text), "{text}");
        json.end("the end").unwrap();
    }
}

#[test]
fn special_bytes_are_found_at_every_position() {
    for len in 0..20 {
        for at in 0..len {
            for byte in (0..=0x1f).chain([b'"', b'\\', 0x20, 0x21, 0x23, 0x5b, 0x5d, 0x7e, 0x7f]) {
                // Neither following nor nearby special bytes must matter.
                for other in *b"a\x1f\"" {
                    let mut text = vec![b'x'; len];
                    text[at] = byte;
                    text[(at + 3) % len] = other;
                    check(&format!("\"{}\"", String::from_utf8(text).unwrap()));
                }
            }
        }
    }
    for byte in 0..=255 {
        let found = special_bytes([b'x', 0xff, 0x80, byte, b'"', b'"', 0, b'\\']).trailing_zeros() / 8;
        let is_ordinary = !matches!(byte, b'"' | b'\\' | ..b' ');
        assert_eq!(found, if is_ordinary { 4 } else { 3 }, "{byte}");
    }
}

proptest! {
    #[test]
    fn any_text_agrees_with_serde_json(text in r#"([\[\]{},:"\\ nulltrefas0-9.eE+\-ud8c]|\\u[0-9a-fA-F]{4}|"[a-z]*"){0,24}"#) {
        check(&text);
    }
}
