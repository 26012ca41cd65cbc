//! Values of text as JSON, and for any serializer.

use container_core::raw_json::{Json, number};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::words::{Word, is_json_number};

/// A cell of CSV, for any serializer.
pub(super) struct Cell<'a> {
    pub(super) text: &'a str,
    pub(super) quoted: bool,
}

impl Serialize for Cell<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.text;
        if text.is_empty() {
            return if self.quoted { serializer.serialize_str("") } else { serializer.serialize_unit() };
        }
        match Word::of(text) {
            Word::Bool(value) => serializer.serialize_bool(value),
            Word::Integer(value) => serializer.serialize_i64(value),
            Word::Large(..) | Word::Float => number(text, serializer),
            Word::Beyond | Word::NoNumber => serializer.serialize_str(text),
            Word::Text => match nested(text) {
                Some(raw) => Json::new(raw).with_last_ones().serialize(serializer),
                None => serializer.serialize_str(text),
            },
        }
    }
}

impl Cell<'_> {
    /// As JSON: numbers keep their digits. One that is greater than any float is a text, because many readers take it for infinity.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let text = self.text;
        if text.is_empty() {
            out.extend_from_slice(if self.quoted { b"\"\"" } else { b"null" });
            return;
        }
        match Word::of(text) {
            Word::Bool(true) => out.extend_from_slice(b"true"),
            Word::Bool(false) => out.extend_from_slice(b"false"),
            Word::Integer(_) | Word::Large(..) | Word::Float if is_json_number(text) => {
                out.extend_from_slice(text.as_bytes());
            }
            Word::Float => put_point(text, out),
            Word::Text if nested(text).is_some() => put_line(text.as_bytes(), out),
            _ => put_text(text, out),
        }
    }
}

/// Whether a word begins and ends as an array or an object of JSON does.
#[inline]
pub(super) fn may_be_nested(text: &str) -> bool {
    matches!(text.as_bytes(), [b'[', .., b']'] | [b'{', .., b'}'])
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
        for (text, quoted, wanted) in [
            ("", false, "null"),
            ("", true, "\"\""),
            ("TRUE", false, "true"),
            ("1.50", false, "1.50"),
            (".5", false, "0.5"),
            ("-.5e1", false, "-0.5e1"),
            ("5.", false, "5.0"),
            ("5.e3", false, "5.0e3"),
            ("1e400", false, "\"1e400\""),
            ("18446744073709551616", false, "18446744073709551616"),
            ("007", false, "\"007\""),
            ("NaN", false, "\"NaN\""),
            ("a\"b", true, "\"a\\\"b\""),
        ] {
            let mut out = Vec::new();
            Cell { text, quoted }.put(&mut out);
            assert_eq!(String::from_utf8(out).unwrap(), wanted, "{text}");
        }
        let shown = |text| serde_json::to_string(&Cell { text, quoted: false }).unwrap();
        assert_eq!(
            [shown("1.50"), shown("x"), shown("18446744073709551616")],
            ["1.5", "\"x\"", "\"18446744073709551616\""]
        );
    }

    #[test]
    fn a_text_over_several_lines_becomes_one() {
        let mut out = Vec::new();
        put_line(b"{\r\n \"a b\\\" \\\\\": [1,\n2] }", &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), r#"{"a b\" \\":[1,2]}"#);
    }
}
