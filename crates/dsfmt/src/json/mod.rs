//! JSON as Python writes and reads it: the header's language.
//!
//! Unlike plain JSON it has `NaN`, `Infinity` and `-Infinity` as values, integers of any size, and texts with lone surrogates. A value
//! here is a piece of the header whose text was checked once: numbers keep their digits, and a copy has the same bytes.

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

/// A JSON value where it stands in a header: an attribute, or something in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Json<'a> {
    text: &'a str,
}

/// What a [`Json`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JsonKind {
    /// `null`.
    Null,
    /// `true`, `false`.
    Bool,
    /// A number without point and exponent, of any size.
    Integer,
    /// Any other number; `NaN`, `Infinity` and `-Infinity`, too.
    Float,
    /// Text.
    String,
    /// Values in order.
    Array,
    /// Pairs of a name and a value.
    Object,
}

impl<'a> Json<'a> {
    /// Checks a text that is one value, with blanks around it.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) at the first byte that does not fit, counted from the text's beginning;
    /// [`Limit`](container_core::ErrorKind::Limit) for values nested deeper than 128.
    pub fn parse(text: &'a str) -> Result<Self> {
        let mut scanner = Scanner::new(text, 0, container_core::Limits::default().depth);
        let value = scanner.value()?;
        scanner.end()?;
        Ok(value)
    }

    /// A text that was checked.
    pub(crate) fn checked(text: &'a str) -> Self {
        Self { text }
    }

    /// Its text as it stands in the header.
    #[must_use]
    pub fn as_text(&self) -> &'a str {
        self.text
    }

    /// What it is.
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

    /// A truth value.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self.text {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// A whole number within 64 bits, with sign.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        self.text.parse().ok()
    }

    /// A whole number within 64 bits, without sign.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        self.text.parse().ok()
    }

    /// A number, the nearest that 64 bits of a float hold.
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

    /// A text; `None` also where it holds half a surrogate pair, which is no character. See [`to_text`](Self::to_text).
    #[must_use]
    pub fn as_str(&self) -> Option<Cow<'a, str>> {
        text::unescaped(self.text, text::Lone::Refused)
    }

    /// A text in which half a surrogate pair stands as its escape, such as `\ud800`.
    #[must_use]
    pub fn to_text(&self) -> Option<Cow<'a, str>> {
        text::unescaped(self.text, text::Lone::Shown)
    }

    /// The values of an array; none for anything else.
    #[must_use]
    pub fn items(&self) -> Items<'a> {
        Items(Inside::new(self.text, b'['))
    }

    /// The pairs of an object; none for anything else. A name may occur again: Python takes the last value.
    #[must_use]
    pub fn members(&self) -> Members<'a> {
        Members(Inside::new(self.text, b'{'))
    }
}

/// The values of an array in order.
#[derive(Debug, Clone)]
pub struct Items<'a>(Inside<'a>);

/// The pairs of an object in order.
#[derive(Debug, Clone)]
pub struct Members<'a>(Inside<'a>);

/// What stands between two brackets that were checked.
#[derive(Debug, Clone)]
struct Inside<'a>(Option<Scanner<'a>>);

impl<'a> Inside<'a> {
    fn new(text: &'a str, bracket: u8) -> Self {
        let inner = (text.as_bytes().first() == Some(&bracket)).then(|| text.get(1..text.len() - 1)).flatten();
        // What was checked is nested no deeper than it was.
        Self(inner.map(|inner| Scanner::new(inner, 0, u32::MAX)))
    }

    fn next(&mut self) -> Option<Json<'a>> {
        let scanner = self.0.as_mut()?;
        scanner.blanks();
        if scanner.is_at_end() {
            self.0 = None;
            return None;
        }
        let value = scanner.value().ok()?;
        scanner.separator();
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

    /// The name, which is a text, and the value.
    fn next(&mut self) -> Option<(Json<'a>, Json<'a>)> {
        let name = self.0.next()?;
        Some((name, self.0.next()?))
    }
}

/// As rows are shown: numbers keep their value, floats that are none are texts, integers beyond 64 bits are texts of their digits, half a
/// surrogate pair is its escape.
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

/// The name of a member, in quotes, as text.
pub(crate) fn name_of(name: Json<'_>) -> String {
    name.to_text().unwrap_or_default().into_owned()
}

#[cold]
fn wrong(offset: u64, detail: String) -> Error {
    Error::invalid(detail).at(offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_what_python_takes_them_for() {
        let text = r#" {"a": NaN, "b": [1, -0, 123456789012345678901234567890, 1e5, -Infinity, Infinity, 2.50],
            "s": "\ud83d\ude00 \u00fc\n\"\/", "lone": "x\ud800y", "e": {}, "n": null, "t": true} "#;
        let json = Json::parse(text).unwrap();
        assert_eq!(json.kind(), JsonKind::Object);
        let members: Vec<_> = json.members().map(|(name, value)| (name_of(name), value)).collect();
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
    fn what_is_wrong_is_said_with_its_place() {
        for (text, wanted) in [
            ("", "a value is expected, the text ends (byte 0)"),
            ("[1,]", "a value is expected, ']' is found (byte 3)"),
            ("{\"a\" 1}", "':' is expected, '1' is found (byte 5)"),
            ("{1: 2}", "a name in quotes is expected, '1' is found (byte 1)"),
            ("[1 2]", "',' or ']' is expected, '2' is found (byte 3)"),
            ("nul", "a value is expected, 'n' is found (byte 0)"),
            ("01", "the value is followed by '1' (byte 1)"),
            ("-", "a value is expected, '-' is found (byte 0)"),
            ("1.", "the value is followed by '.' (byte 1)"),
            ("\"a", "a text does not end (byte 0)"),
            ("\"\\x\"", "a text holds the escape '\\x' (byte 1)"),
            ("\"\\u12g4\"", "a text holds the escape '\\u' without four hexadecimal digits (byte 1)"),
            ("\"a\u{1}\"", "a text holds the control character 0x01 (byte 2)"),
        ] {
            assert_eq!(Json::parse(text).unwrap_err().to_string(), wanted, "{text}");
        }
        let deep = |depth| "[".repeat(depth) + &"]".repeat(depth);
        assert!(Json::parse(&deep(128)).is_ok());
        let error = Json::parse(&deep(100_000)).unwrap_err().to_string();
        assert_eq!(error, "the nesting of values 129 exceeds the limit 128 (byte 128)");
    }
}
