//! JSON in Python's dialect, the language of the header.
//!
//! Beyond standard JSON it allows `NaN`, `Infinity` and `-Infinity`, integers of any size, and lone surrogates in strings. A [`Json`] borrows
//! header text that was validated once: numbers keep their digits, and a copy keeps its bytes.

mod emit;
mod owned;
mod scan;
mod text;

use std::borrow::Cow;

use container_core::{Error, Result};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

pub(crate) use emit::{put_f64, put_str};
pub use owned::JsonBuf;
pub(crate) use owned::{Object, quoted};
pub(crate) use scan::Scanner;

/// A validated JSON value, borrowed from a header: an attribute or part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Json<'a> {
    text: &'a str,
}

/// The type of a [`Json`] value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JsonKind {
    /// `null`.
    Null,
    /// `true`, `false`.
    Bool,
    /// A number without point or exponent, of any size.
    Integer,
    /// Any other number, including `NaN`, `Infinity` and `-Infinity`.
    Float,
    /// A string.
    String,
    /// A list of values.
    Array,
    /// A list of name-value members.
    Object,
}

impl<'a> Json<'a> {
    /// Parses one value, surrounded by optional whitespace.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) at the offset of the first unexpected byte in `text`;
    /// [`Limit`](container_core::ErrorKind::Limit) for nesting deeper than 128.
    pub fn parse(text: &'a str) -> Result<Self> {
        let mut scanner = Scanner::new(text, 0, container_core::Limits::default().depth);
        let value = scanner.value()?;
        scanner.expect_end()?;
        Ok(value)
    }

    /// Wraps text that is already validated.
    pub(crate) fn new_unchecked(text: &'a str) -> Self {
        Self { text }
    }

    /// The value's text as written in the header.
    #[must_use]
    pub fn as_text(&self) -> &'a str {
        self.text
    }

    /// The value's type.
    #[must_use]
    pub fn kind(&self) -> JsonKind {
        match self.text.as_bytes().first() {
            Some(b'"') => JsonKind::String,
            Some(b'[') => JsonKind::Array,
            Some(b'{') => JsonKind::Object,
            Some(b't' | b'f') => JsonKind::Bool,
            Some(b'n') | None => JsonKind::Null,
            _ if self.text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') => JsonKind::Integer,
            _ => JsonKind::Float,
        }
    }

    /// True for `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.kind() == JsonKind::Null
    }

    /// The boolean; `None` for other types.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self.text {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// The integer, if it fits in `i64`.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        self.text.parse().ok()
    }

    /// The integer, if it fits in `u64`.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        self.text.parse().ok()
    }

    /// The number, rounded to the nearest `f64`.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match (self.kind(), self.text) {
            (JsonKind::Float, "NaN") => Some(f64::NAN),
            (JsonKind::Float, "Infinity") => Some(f64::INFINITY),
            (JsonKind::Float, "-Infinity") => Some(f64::NEG_INFINITY),
            (JsonKind::Integer | JsonKind::Float, text) => text.parse().ok(),
            _ => None,
        }
    }

    /// The string; `None` also when it contains a lone surrogate. See [`to_text`](Self::to_text).
    #[must_use]
    pub fn as_str(&self) -> Option<Cow<'a, str>> {
        text::unescaped(self.text, text::LoneSurrogate::Reject)
    }

    /// The string, with each lone surrogate kept as its escape, such as `\ud800`.
    #[must_use]
    pub fn to_text(&self) -> Option<Cow<'a, str>> {
        text::unescaped(self.text, text::LoneSurrogate::KeepEscape)
    }

    /// The items of an array; empty for any other type.
    #[must_use]
    pub fn items(&self) -> Items<'a> {
        Items(Elements::new(self.text, b'['))
    }

    /// The members of an object; empty for any other type. Names may repeat; Python takes the last value.
    #[must_use]
    pub fn members(&self) -> Members<'a> {
        Members(Elements::new(self.text, b'{'))
    }
}

/// Iterates over the items of an array.
#[derive(Debug, Clone)]
pub struct Items<'a>(Elements<'a>);

/// Iterates over the members of an object.
#[derive(Debug, Clone)]
pub struct Members<'a>(Elements<'a>);

/// Iterates over the values between two brackets, all validated before.
#[derive(Debug, Clone)]
struct Elements<'a>(Option<Scanner<'a>>);

impl<'a> Elements<'a> {
    fn new(text: &'a str, bracket: u8) -> Self {
        let inner = (text.as_bytes().first() == Some(&bracket)).then(|| text.get(1..text.len() - 1)).flatten();
        // The depth was checked before.
        Self(inner.map(|inner| Scanner::new(inner, 0, u32::MAX)))
    }

    fn next(&mut self) -> Option<Json<'a>> {
        let scanner = self.0.as_mut()?;
        scanner.skip_whitespace();
        if scanner.is_at_end() {
            self.0 = None;
            return None;
        }
        let value = scanner.value().ok()?;
        scanner.skip_separator();
        Some(value)
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Json<'a>;

    fn next(&mut self) -> Option<Json<'a>> {
        self.0.next()
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (Json<'a>, Json<'a>);

    /// The name, a string, and its value.
    fn next(&mut self) -> Option<(Json<'a>, Json<'a>)> {
        let name = self.0.next()?;
        Some((name, self.0.next()?))
    }
}

/// Serializes as standard JSON: non-finite floats and integers beyond 64 bits become strings of their text, lone surrogates their escape.
impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.kind() {
            JsonKind::Null => serializer.serialize_unit(),
            JsonKind::Bool => serializer.serialize_bool(self.text == "true"),
            JsonKind::Integer => match (self.as_u64(), self.as_i64()) {
                (Some(number), _) => serializer.serialize_u64(number),
                (None, Some(number)) => serializer.serialize_i64(number),
                (None, None) => serializer.serialize_str(self.text),
            },
            JsonKind::Float => match self.as_f64() {
                Some(number) if number.is_finite() => serializer.serialize_f64(number),
                _ => serializer.serialize_str(self.text),
            },
            JsonKind::String => serializer.serialize_str(&self.to_text().unwrap_or_default()),
            JsonKind::Array => {
                let mut sequence = serializer.serialize_seq(None)?;
                self.items().try_for_each(|item| sequence.serialize_element(&item))?;
                sequence.end()
            }
            JsonKind::Object => {
                let mut map = serializer.serialize_map(None)?;
                for (name, value) in self.members() {
                    map.serialize_entry(&name, &value)?;
                }
                map.end()
            }
        }
    }
}

/// Decodes a member's name.
pub(crate) fn decode_name(name: Json<'_>) -> String {
    name.to_text().unwrap_or_default().into_owned()
}

#[cold]
fn invalid(offset: u64, detail: String) -> Error {
    Error::invalid(detail).at(offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_python_dialect() {
        let text = r#" {"a": NaN, "b": [1, -0, 123456789012345678901234567890, 1e5, -Infinity, Infinity, 2.50],
            "s": "\ud83d\ude00 \u00fc\n\"\/", "lone": "x\ud800y", "e": {}, "n": null, "t": true} "#;
        let json = Json::parse(text).unwrap();
        assert_eq!(json.kind(), JsonKind::Object);
        let members: Vec<_> = json.members().map(|(name, value)| (decode_name(name), value)).collect();
        let names: Vec<_> = members.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "b", "s", "lone", "e", "n", "t"]);
        let get = |name: &str| members.iter().find(|(found, _)| found == name).unwrap().1;
        assert!(get("a").as_f64().unwrap().is_nan() && get("a").kind() == JsonKind::Float);
        let items: Vec<_> = get("b").items().collect();
        assert_eq!(items.len(), 7);
        assert_eq!((items[0].as_u64(), items[0].kind(), items[1].as_i64()), (Some(1), JsonKind::Integer, Some(0)));
        assert_eq!((items[2].as_u64(), items[2].as_f64()), (None, Some(1.234_567_890_123_456_8e29)));
        assert_eq!((items[3].as_f64(), items[4].as_f64()), (Some(1e5), Some(f64::NEG_INFINITY)));
        assert_eq!(items[6].as_text(), "2.50");
        assert_eq!(get("s").as_str().unwrap(), "\u{1f600} \u{fc}\n\"/");
        assert_eq!((get("lone").as_str(), get("lone").to_text().unwrap()), (None, "x\\ud800y".into()));
        assert_eq!((get("e").members().count(), get("n").is_null(), get("t").as_bool()), (0, true, Some(true)));
        assert_eq!(get("t").items().count() + get("b").members().count(), 0);
        let shown = serde_json::to_string(&json).unwrap();
        assert!(
            shown.starts_with(r#"{"a":"NaN","b":[1,0,"123456789012345678901234567890",100000.0,"-Infinity""#),
            "{shown}"
        );
    }

    #[test]
    fn errors_report_offset() {
        for (text, expected) in [
            ("", "expected a value, found the end (byte 0)"),
            ("[1,]", "expected a value, found ']' (byte 3)"),
            ("{\"a\" 1}", "expected ':', found '1' (byte 5)"),
            ("{1: 2}", "expected a quoted name, found '1' (byte 1)"),
            ("[1 2]", "expected ',' or ']', found '2' (byte 3)"),
            ("nul", "expected a value, found 'n' (byte 0)"),
            ("01", "unexpected '1' after the value (byte 1)"),
            ("-", "expected a value, found '-' (byte 0)"),
            ("1.", "unexpected '.' after the value (byte 1)"),
            ("\"a", "unterminated string (byte 0)"),
            ("\"\\x\"", "invalid escape '\\x' in string (byte 1)"),
            ("\"\\u12g4\"", "invalid escape '\\u': expected four hexadecimal digits (byte 1)"),
            ("\"a\u{1}\"", "unescaped control character 0x01 in string (byte 2)"),
        ] {
            assert_eq!(Json::parse(text).unwrap_err().to_string(), expected, "{text}");
        }
        let deep = |depth| "[".repeat(depth) + &"]".repeat(depth);
        assert!(Json::parse(&deep(128)).is_ok());
        let error = Json::parse(&deep(100_000)).unwrap_err().to_string();
        assert_eq!(error, "JSON nesting depth 129 exceeds the limit 128 (byte 128)");
    }
}
