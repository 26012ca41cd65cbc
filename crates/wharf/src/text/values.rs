//! CSV cells and JSON text as serialized values.

use container_core::raw_json::{Json, number};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::profile::ColumnKind;
use super::scalar::{Scalar, is_json_number, may_be_nested};

/// A CSV cell in a column of a known kind.
pub(super) struct Cell<'a> {
    pub(super) text: &'a str,
    pub(super) quoted: bool,
    pub(super) kind: ColumnKind,
}

/// The value of a cell. Numbers keep their digits.
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
            ColumnKind::Text if self.quoted => Value::Text(text),
            _ if text.is_empty() => Value::Null,
            ColumnKind::Null | ColumnKind::Date | ColumnKind::Time(_) | ColumnKind::Stamp(..) | ColumnKind::Text => {
                Value::Text(text)
            }
            kind => match Scalar::parse(text) {
                Scalar::Bool(value) => Value::Bool(value),
                Scalar::Integer(_) | Scalar::Large(..) if kind != ColumnKind::Float => Value::Integer(text),
                Scalar::Integer(_) | Scalar::Large(..) | Scalar::Float(_) => Value::Float(text),
                Scalar::Overflow | Scalar::NonFinite => Value::Text(text),
                Scalar::Text => nested(text).map_or(Value::Text(text), Value::Nested),
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
            Value::Nested(raw) => Json::new(raw).serialize(serializer),
            Value::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl Cell<'_> {
    /// Appends the value as JSON. Numbers keep their digits; in a float column each has a point or an exponent.
    pub(super) fn write_json(&self, out: &mut Vec<u8>) {
        match self.value() {
            Value::Null => out.extend_from_slice(b"null"),
            Value::Bool(true) => out.extend_from_slice(b"true"),
            Value::Bool(false) => out.extend_from_slice(b"false"),
            Value::Integer(text) => out.extend_from_slice(text.as_bytes()),
            Value::Float(text) if !is_json_number(text) => write_decimal(text, out),
            Value::Float(text) => {
                out.extend_from_slice(text.as_bytes());
                if !text.contains(['.', 'e', 'E']) {
                    out.extend_from_slice(b".0");
                }
            }
            Value::Nested(raw) => write_single_line(raw.get().as_bytes(), out),
            Value::Text(text) => write_json_string(text, out),
        }
    }
}

/// Parses a cell that is a JSON array or object within serde_json's depth limit.
pub(super) fn nested(text: &str) -> Option<&RawValue> {
    if !may_be_nested(text) || serde_json::from_str::<serde_json::Value>(text).is_err() {
        return None;
    }
    serde_json::from_str(text).ok()
}

/// Appends a number that begins or ends with its decimal point, adding the zero that JSON requires.
fn write_decimal(text: &str, out: &mut Vec<u8>) {
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

/// Appends a JSON string.
pub(super) fn write_json_string(text: &str, out: &mut Vec<u8>) {
    // Serializing a string into memory cannot fail.
    out.extend_from_slice(&serde_json::to_vec(text).unwrap_or_default());
}

/// Appends JSON on one line: unchanged, or, where it spans several lines, without white space between tokens.
pub(crate) fn write_single_line(text: &[u8], out: &mut Vec<u8>) {
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
    fn writes_cells_as_json() {
        for (kind, text, quoted, expected) in [
            (ColumnKind::Text, "", false, "null"),
            (ColumnKind::Text, "", true, "\"\""),
            (ColumnKind::Integer, "", true, "null"),
            (ColumnKind::Bool, "TRUE", false, "true"),
            (ColumnKind::Text, "TRUE", false, "\"TRUE\""),
            (ColumnKind::Float, "1.50", false, "1.50"),
            (ColumnKind::Text, "1.50", false, "\"1.50\""),
            (ColumnKind::Float, ".5", false, "0.5"),
            (ColumnKind::Float, "-.5e1", false, "-0.5e1"),
            (ColumnKind::Float, "5.", false, "5.0"),
            (ColumnKind::Float, "5.e3", false, "5.0e3"),
            (ColumnKind::Float, "5E3", false, "5E3"),
            (ColumnKind::Float, "-0", false, "-0.0"),
            (ColumnKind::Float, "18446744073709551616", false, "18446744073709551616.0"),
            (ColumnKind::Unsigned, "18446744073709551615", false, "18446744073709551615"),
            (ColumnKind::Integer, "-5", true, "-5"),
            (ColumnKind::Float, "NaN", false, "\"NaN\""),
            (ColumnKind::Text, "[1]", false, "\"[1]\""),
            (ColumnKind::Nested, "[1,\n2]", true, "[1,2]"),
            (ColumnKind::Text, "a\"b", true, "\"a\\\"b\""),
        ] {
            let mut out = Vec::new();
            Cell { text, quoted, kind }.write_json(&mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{kind:?} {text}");
        }
        let shown = |text, kind| serde_json::to_string(&Cell { text, quoted: false, kind }).unwrap();
        assert_eq!(
            [
                shown("1.50", ColumnKind::Float),
                shown("2", ColumnKind::Float),
                shown("2", ColumnKind::Integer),
                shown("2", ColumnKind::Text)
            ],
            ["1.5", "2.0", "2", "\"2\""]
        );
    }

    #[test]
    fn joins_multi_line_json() {
        let mut out = Vec::new();
        write_single_line(b"{\r\n \"a b\\\" \\\\\": [1,\n2] }", &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), r#"{"a b\" \\":[1,2]}"#);
    }
}
