//! Values of text as JSON, and for any serializer.

use container_core::raw_json::{Json, number};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::seen::Kind;
use super::words::{Word, is_json_number, may_be_nested};

/// A cell of CSV in a column of a kind, for any serializer.
pub(super) struct Cell<'a> {
    pub(super) text: &'a str,
    pub(super) quoted: bool,
    pub(super) kind: Kind,
}

/// The value of a cell. Numbers still have their digits.
enum Value<'a> {
    Null,
    Bool(bool),
    Integer(&'a str),
    Float(&'a str),
    Nested(&'a RawValue),
    Text(&'a str),
}

impl<'a> Cell<'a> {
    fn value(&self) -> Value<'a> {
        let text = self.text;
        match self.kind {
            Kind::Text if self.quoted => Value::Text(text),
            _ if text.is_empty() => Value::Null,
            Kind::Null | Kind::Date | Kind::Time(_) | Kind::Stamp(..) | Kind::Text => Value::Text(text),
            kind => match Word::of(text) {
                Word::Bool(value) => Value::Bool(value),
                Word::Integer(_) | Word::Large(..) if kind != Kind::Float => Value::Integer(text),
                Word::Integer(_) | Word::Large(..) | Word::Float => Value::Float(text),
                Word::Beyond | Word::NoNumber => Value::Text(text),
                Word::Text => nested(text).map_or(Value::Text(text), Value::Nested),
            },
        }
    }
}

impl Serialize for Cell<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value() {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(value),
            Value::Integer(text) => number(text, serializer),
            Value::Float(text) => serializer.serialize_f64(text.parse().map_err(S::Error::custom)?),
            Value::Nested(raw) => Json::new(raw).with_keep_last().serialize(serializer),
            Value::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl Cell<'_> {
    /// As JSON: numbers keep their digits, and each in a column of floats has a point or an exponent.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        match self.value() {
            Value::Null => out.extend_from_slice(b"null"),
            Value::Bool(true) => out.extend_from_slice(b"true"),
            Value::Bool(false) => out.extend_from_slice(b"false"),
            Value::Integer(text) => out.extend_from_slice(text.as_bytes()),
            Value::Float(text) if !is_json_number(text) => put_point(text, out),
            Value::Float(text) => {
                out.extend_from_slice(text.as_bytes());
                if !text.contains(['.', 'e', 'E']) {
                    out.extend_from_slice(b".0");
                }
            }
            Value::Nested(raw) => put_line(raw.get().as_bytes(), out),
            Value::Text(text) => put_text(text, out),
        }
    }
}

/// A word that is an array or an object of JSON, no deeper than any reader goes.
pub(super) fn nested(text: &str) -> Option<&RawValue> {
    if !may_be_nested(text) || serde_json::from_str::<serde_json::Value>(text).is_err() {
        return None;
    }
    serde_json::from_str(text).ok()
}

/// A number that begins or ends with its point: with a zero there.
fn put_point(text: &str, out: &mut Vec<u8>) {
    let Some((whole, behind)) = text.split_once('.') else { return out.extend_from_slice(text.as_bytes()) };
    out.extend_from_slice(whole.as_bytes());
    if !whole.ends_with(|c: char| c.is_ascii_digit()) {
        out.push(b'0');
    }
    out.push(b'.');
    if !behind.starts_with(|c: char| c.is_ascii_digit()) {
        out.push(b'0');
    }
    out.extend_from_slice(behind.as_bytes());
}

/// A text as JSON.
pub(super) fn put_text(text: &str, out: &mut Vec<u8>) {
    // Writing a text into memory does not fail.
    out.extend_from_slice(&serde_json::to_vec(text).unwrap_or_default());
}

/// A JSON text on one line: as it is, or, where it goes over several, without white space between tokens.
pub(super) fn put_line(text: &[u8], out: &mut Vec<u8>) {
    if !text.contains(&b'\n') && !text.contains(&b'\r') {
        out.extend_from_slice(text);
        return;
    }
    let (mut quoted, mut escaped) = (false, false);
    for &byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = quoted,
            b'"' => quoted = !quoted,
            b' ' | b'\t' | b'\r' | b'\n' if !quoted => continue,
            _ => {}
        }
        out.push(byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_as_json() {
        for (kind, text, quoted, wanted) in [
            (Kind::Text, "", false, "null"),
            (Kind::Text, "", true, "\"\""),
            (Kind::Integer, "", true, "null"),
            (Kind::Bool, "TRUE", false, "true"),
            (Kind::Text, "TRUE", false, "\"TRUE\""),
            (Kind::Float, "1.50", false, "1.50"),
            (Kind::Text, "1.50", false, "\"1.50\""),
            (Kind::Float, ".5", false, "0.5"),
            (Kind::Float, "-.5e1", false, "-0.5e1"),
            (Kind::Float, "5.", false, "5.0"),
            (Kind::Float, "5.e3", false, "5.0e3"),
            (Kind::Float, "5E3", false, "5E3"),
            (Kind::Float, "-0", false, "-0.0"),
            (Kind::Float, "18446744073709551616", false, "18446744073709551616.0"),
            (Kind::Unsigned, "18446744073709551615", false, "18446744073709551615"),
            (Kind::Integer, "-5", true, "-5"),
            (Kind::Float, "NaN", false, "\"NaN\""),
            (Kind::Text, "[1]", false, "\"[1]\""),
            (Kind::Nested, "[1,\n2]", true, "[1,2]"),
            (Kind::Text, "a\"b", true, "\"a\\\"b\""),
        ] {
            let mut out = Vec::new();
            Cell { text, quoted, kind }.put(&mut out);
            assert_eq!(String::from_utf8(out).unwrap(), wanted, "{kind:?} {text}");
        }
        let shown = |text, kind| serde_json::to_string(&Cell { text, quoted: false, kind }).unwrap();
        assert_eq!(
            [shown("1.50", Kind::Float), shown("2", Kind::Float), shown("2", Kind::Integer), shown("2", Kind::Text)],
            ["1.5", "2.0", "2", "\"2\""]
        );
    }

    #[test]
    fn a_text_over_several_lines_becomes_one() {
        let mut out = Vec::new();
        put_line(b"{\r\n \"a b\\\" \\\\\": [1,\n2] }", &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), r#"{"a b\" \\":[1,2]}"#);
    }
}
