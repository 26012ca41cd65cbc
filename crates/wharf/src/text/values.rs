//! Values of text as JSON, and for any serializer.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, MapAccess, Visitor};
use serde::ser::{Error as _, SerializeMap};
use serde::{Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::words::{Word, is_json_number};

/// Brackets in each other, at most, where a value is taken apart.
const DEEPEST: u32 = 128;

/// The members of an object, in their order, of a repeated one the last.
pub(super) struct Members<'a>(pub(super) Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some((Name(name), value)) = map.next_entry()? {
                    members.push((name, value));
                }
                Ok(Members(last_ones(members)))
            }
        }
        json.deserialize_map(All)
    }
}

/// Of members with the same name the last.
fn last_ones<'a>(members: Vec<(Cow<'a, str>, &'a RawValue)>) -> Vec<(Cow<'a, str>, &'a RawValue)> {
    let mut order: Vec<usize> = (0..members.len()).collect();
    let name = |at: &usize| members.get(*at).map(|(name, _)| name);
    order.sort_by(|one, other| name(one).cmp(&name(other)));
    let same = |pair: &[usize]| matches!(pair, [one, other] if name(one) == name(other));
    let mut passed: Vec<usize> =
        order.windows(2).filter(|pair| same(pair)).filter_map(|pair| pair.first().copied()).collect();
    if passed.is_empty() {
        return members;
    }
    passed.sort_unstable();
    let left = members.into_iter().enumerate().filter(|(at, _)| passed.binary_search(at).is_err());
    left.map(|(_, member)| member).collect()
}

/// A name, borrowed where it has no escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a member")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }
        json.deserialize_str(Text)
    }
}

/// A value that is written as JSON, for any serializer. A number that neither 64 bits nor a float can hold is its text: digits are not lost.
pub(super) struct Json<'a> {
    raw: &'a RawValue,
    depth: u32,
}

impl<'a> Json<'a> {
    /// A member's value.
    pub(super) const fn new(raw: &'a RawValue) -> Self {
        Self { raw, depth: 1 }
    }

    fn inner<S: Serializer>(&self, raw: &'a RawValue) -> Result<Self, S::Error> {
        match self.depth < DEEPEST {
            true => Ok(Self { raw, depth: self.depth + 1 }),
            false => Err(S::Error::custom(format!("more than {DEEPEST} brackets in each other"))),
        }
    }
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.raw.get();
        match text.as_bytes().first() {
            Some(b'{') => {
                let Members(members) = serde_json::from_str(text).map_err(S::Error::custom)?;
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (name, value) in members {
                    map.serialize_entry(&name, &self.inner::<S>(value)?)?;
                }
                map.end()
            }
            Some(b'[') => {
                let elements: Vec<&RawValue> = serde_json::from_str(text).map_err(S::Error::custom)?;
                let inner: Result<Vec<Self>, _> = elements.into_iter().map(|raw| self.inner::<S>(raw)).collect();
                serializer.collect_seq(inner?)
            }
            Some(b'"') => serializer.serialize_str(&serde_json::from_str::<String>(text).map_err(S::Error::custom)?),
            Some(b't') => serializer.serialize_bool(true),
            Some(b'f') => serializer.serialize_bool(false),
            Some(b'n') | None => serializer.serialize_unit(),
            Some(_) => number(text, serializer),
        }
    }
}

fn number<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') && text != "-0" {
        return match (text.parse::<u64>(), text.parse::<i64>()) {
            (Ok(number), _) => serializer.serialize_u64(number),
            (_, Ok(number)) => serializer.serialize_i64(number),
            _ => serializer.serialize_str(text),
        };
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => serializer.serialize_f64(number),
        _ => serializer.serialize_str(text),
    }
}

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
                Some(raw) => Json::new(raw).serialize(serializer),
                None => serializer.serialize_str(text),
            },
        }
    }
}

impl Cell<'_> {
    /// As JSON: numbers with the digits that they have.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let text = self.text;
        if text.is_empty() {
            out.extend_from_slice(if self.quoted { b"\"\"" } else { b"null" });
            return;
        }
        match Word::of(text) {
            Word::Bool(true) => out.extend_from_slice(b"true"),
            Word::Bool(false) => out.extend_from_slice(b"false"),
            Word::Integer(_) | Word::Large(..) | Word::Float | Word::Beyond if is_json_number(text) => {
                out.extend_from_slice(text.as_bytes());
            }
            Word::Float | Word::Beyond => put_point(text, out),
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
    fn of_members_the_last_one_counts() {
        let Members(members) = serde_json::from_str(r#"{"b":1,"a":2,"b":3,"\u0061":4,"c":5}"#).unwrap();
        let shown: Vec<_> = members.iter().map(|(name, value)| format!("{name}={}", value.get())).collect();
        assert_eq!(shown, ["b=3", "a=4", "c=5"]);
    }

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
            ("1e400", false, "1e400"),
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
