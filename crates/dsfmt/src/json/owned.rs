//! JSON to write: attribute values in Python's formatting.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use container_core::Result;

use super::{Json, put_f64, put_str};

/// An attribute value to write: JSON formatted as Python's `json.dumps` does.
///
/// Numbers and strings convert with `From`. An `f32` is written with the digits of the equal `f64`, as Python does. Values taken from a file keep
/// their exact text.
///
/// ```
/// use dsfmt::JsonBuf;
/// let value = JsonBuf::object([("range", JsonBuf::list([0.5.into(), f64::NAN.into()])), ("unit", "\u{b0}C".into())]);
/// assert_eq!(value.to_string(), r#"{"range": [0.5, NaN], "unit": "\u00b0C"}"#);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonBuf {
    text: String,
    /// Deepest nesting of brackets.
    depth: u32,
}

impl JsonBuf {
    /// `null`.
    #[must_use]
    pub fn null() -> Self {
        Self::scalar("null")
    }

    fn scalar(text: impl Into<String>) -> Self {
        Self { text: text.into(), depth: 0 }
    }

    /// An array of values.
    pub fn list(values: impl IntoIterator<Item = Self>) -> Self {
        let (mut text, mut depth) = (String::from("["), 0);
        for value in values {
            if text.len() > 1 {
                text.push_str(", ");
            }
            text.push_str(&value.text);
            depth = value.depth.max(depth);
        }
        text.push(']');
        Self { text, depth: depth.saturating_add(1) }
    }

    /// An object. A repeated name keeps its first position and takes the last value.
    pub fn object<N: AsRef<str>>(members: impl IntoIterator<Item = (N, Self)>) -> Self {
        let mut object = Object::default();
        for (name, value) in members {
            object.set(quoted(name.as_ref()), value);
        }
        let mut text = String::new();
        object.put(&mut text, &[]);
        Self { text, depth: object.depth.saturating_add(1) }
    }

    /// Parses and reformats a value: Python's whitespace, non-ASCII characters escaped, digits of numbers kept.
    ///
    /// # Errors
    /// As [`Json::parse`].
    pub fn parse(text: &str) -> Result<Self> {
        Ok(reformatted(Json::parse(text)?.as_text()))
    }

    /// Borrows as a readable value.
    #[must_use]
    pub fn as_json(&self) -> Json<'_> {
        Json::new_unchecked(&self.text)
    }
}

/// Writes the JSON text.
impl fmt::Display for JsonBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Keeps the exact text, except that line feeds between values become spaces: a header is one line.
impl From<Json<'_>> for JsonBuf {
    fn from(json: Json<'_>) -> Self {
        Self { text: json.as_text().replace('\n', " "), depth: reformatted(json.as_text()).depth }
    }
}

impl From<&str> for JsonBuf {
    fn from(text: &str) -> Self {
        Self::scalar(quoted(text))
    }
}

impl From<String> for JsonBuf {
    fn from(text: String) -> Self {
        Self::scalar(quoted(&text))
    }
}

impl From<&String> for JsonBuf {
    fn from(text: &String) -> Self {
        Self::scalar(quoted(text))
    }
}

impl From<Cow<'_, str>> for JsonBuf {
    fn from(text: Cow<'_, str>) -> Self {
        Self::scalar(quoted(&text))
    }
}

impl From<bool> for JsonBuf {
    fn from(truth: bool) -> Self {
        Self::scalar(if truth { "true" } else { "false" })
    }
}

impl From<f64> for JsonBuf {
    fn from(number: f64) -> Self {
        let mut text = String::new();
        put_f64(&mut text, number);
        Self::scalar(text)
    }
}

impl From<f32> for JsonBuf {
    fn from(number: f32) -> Self {
        f64::from(number).into()
    }
}

macro_rules! from_integers {
    ($($integer:ty)*) => {$(
        impl From<$integer> for JsonBuf {
            fn from(number: $integer) -> Self {
                Self::scalar(number.to_string())
            }
        }
    )*};
}

from_integers! { i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize }

impl<T: Into<JsonBuf>> From<Option<T>> for JsonBuf {
    fn from(value: Option<T>) -> Self {
        value.map_or_else(Self::null, Into::into)
    }
}

impl<T: Into<JsonBuf>> From<Vec<T>> for JsonBuf {
    fn from(values: Vec<T>) -> Self {
        Self::list(values.into_iter().map(Into::into))
    }
}

/// A string as JSON, with quotes and escapes.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    put_str(&mut out, text);
    out
}

/// Reformats validated JSON with Python's whitespace, in ASCII.
fn reformatted(text: &str) -> JsonBuf {
    let (mut out, mut depth, mut max_depth) = (String::with_capacity(text.len()), 0u32, 0);
    let (mut in_string, mut escaped) = (false, false);
    for character in text.chars() {
        match character {
            _ if in_string => {
                if character.is_ascii() {
                    out.push(character);
                } else {
                    out.push_str(quoted(character.encode_utf8(&mut [0; 4])).trim_matches('"'));
                }
                in_string = escaped || character != '"';
                escaped = !escaped && character == '\\';
                continue;
            }
            ' ' | '\t' | '\r' | '\n' => continue,
            '"' => in_string = true,
            '[' | '{' => {
                depth = depth.saturating_add(1);
                max_depth = depth.max(max_depth);
            }
            ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        out.push(character);
        if matches!(character, ',' | ':') {
            out.push(' ');
        }
    }
    JsonBuf { text: out, depth: max_depth }
}

/// Members of an object under construction, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Object {
    /// Quoted names with the text of their values; `None` for a removed member.
    members: Vec<(String, Option<String>)>,
    positions: HashMap<String, usize>,
    /// Nesting depth of the deepest value.
    depth: u32,
}

impl Object {
    /// Copies the members of a parsed object.
    pub(crate) fn from_json(json: Json<'_>) -> Self {
        let mut all = Self::default();
        for (name, value) in json.members() {
            // A name with a lone surrogate is not valid UTF-8: keep its escaped text.
            let name = name.as_str().map_or_else(|| name.as_text().to_owned(), |name| quoted(&name));
            all.set(name, value.into());
        }
        all
    }

    /// Sets the value of a member, in place when the name exists. `name` is quoted.
    pub(crate) fn set(&mut self, name: String, value: JsonBuf) {
        self.depth = self.depth.max(value.depth);
        match self.positions.get(&name).and_then(|position| self.members.get_mut(*position)) {
            Some((_, current)) => *current = Some(value.text),
            None => {
                self.positions.insert(name.clone(), self.members.len());
                self.members.push((name, Some(value.text)));
            }
        }
    }

    /// Removes a member.
    pub(crate) fn remove(&mut self, name: &str) {
        if let Some((_, value)) = self.positions.remove(name).and_then(|position| self.members.get_mut(position)) {
            *value = None;
        }
    }

    /// Renames members in place, all at once. Names are quoted; unknown old names are ignored.
    ///
    /// # Errors
    /// The first new name that another member already has.
    pub(crate) fn rename(&mut self, names: &[(String, String)]) -> Result<(), String> {
        let renamed: Vec<(usize, &String)> =
            names.iter().filter_map(|(old, new)| Some((self.positions.remove(old)?, new))).collect();
        for (position, new) in renamed {
            if self.positions.insert(new.clone(), position).is_some() {
                return Err(new.clone());
            }
            if let Some((name, _)) = self.members.get_mut(position) {
                name.clone_from(new);
            }
        }
        Ok(())
    }

    /// Sets all members of `other`. Returns how many of those with `counts(name)` replaced a different value.
    pub(crate) fn update(&mut self, other: Self, counts: impl Fn(&str) -> bool) -> u64 {
        let mut changed = 0;
        for (name, value) in other.members {
            let Some(text) = value else { continue };
            changed += u64::from(counts(&name) && self.get(&name).is_some_and(|before| before != text));
            self.set(name, JsonBuf { text, depth: other.depth });
        }
        changed
    }

    /// The text of a member's value.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.positions
            .get(name)
            .and_then(|position| self.members.get(*position))
            .and_then(|(_, value)| value.as_deref())
    }

    /// Nesting depth of the deepest value.
    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    /// Appends the object to `out`. `overrides` replace values of members, or are appended after them.
    pub(crate) fn put(&self, out: &mut String, overrides: &[(&str, &str)]) {
        out.push('{');
        let mut separator = "";
        let mut member = |name: &str, value: &str| {
            for piece in [separator, name, ": ", value] {
                out.push_str(piece);
            }
            separator = ", ";
        };
        for (name, value) in &self.members {
            let Some(value) = value else { continue };
            let replacement = overrides.iter().find(|(other, _)| other == name);
            member(name, replacement.map_or(value.as_str(), |(_, value)| value));
        }
        overrides.iter().filter(|(name, _)| self.get(name).is_none()).for_each(|(name, value)| member(name, value));
        out.push('}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_values_as_python_does() {
        let all = JsonBuf::list([
            1i8.into(),
            u64::MAX.into(),
            (-7i64).into(),
            1e20f32.into(),
            0.1f64.into(),
            f64::INFINITY.into(),
            true.into(),
            "\u{1f600}\"".into(),
            JsonBuf::null(),
            vec![1u8, 2].into(),
            Option::<bool>::None.into(),
            JsonBuf::list([]),
            JsonBuf::object([("b", 1.into()), ("a", JsonBuf::object::<&str>([])), ("b", JsonBuf::from(2))]),
        ]);
        let expected = concat!(
            "[1, 18446744073709551615, -7, 1.0000000200408773e+20, 0.1, Infinity, true, \"\\ud83d\\ude00\\\"\", ",
            "null, [1, 2], null, [], {\"b\": 2, \"a\": {}}]"
        );
        assert_eq!((all.to_string().as_str(), all.depth), (expected, 3));
        assert_eq!(JsonBuf::parse(expected).unwrap(), all);
        assert_eq!(JsonBuf::from(all.as_json()), all);
    }

    #[test]
    fn reformatting_keeps_digits() {
        let text = " {\"a\":[1.50,1E5 ,-0],\n\"\u{fc}\\\\\":\"x: [,\\\"{\u{1f600}\\ud800\",\"e\" : 123456789012345678901234567890}";
        let value = JsonBuf::parse(text).unwrap();
        let expected = concat!(
            "{\"a\": [1.50, 1E5, -0], \"\\u00fc\\\\\": \"x: [,\\\"{\\ud83d\\ude00\\ud800\", ",
            "\"e\": 123456789012345678901234567890}"
        );
        assert_eq!((value.to_string().as_str(), value.depth), (expected, 2));
        assert!(JsonBuf::parse("[1,").is_err());
        let exact = JsonBuf::from(Json::parse("[1,\n 2.0]").unwrap());
        assert_eq!((exact.to_string().as_str(), exact.depth), ("[1,  2.0]", 1));
    }

    #[test]
    fn members_keep_their_order() {
        let mut object = Object::from_json(Json::parse(r#"{"a": 1, "\u0062": 2, "\ud800": 3, "a": 4}"#).unwrap());
        object.set("\"c\"".to_owned(), JsonBuf::list([JsonBuf::null()]));
        object.remove("\"b\"");
        let text = |object: &Object| {
            let mut text = String::new();
            object.put(&mut text, &[("\"z\"", "9"), ("\"a\"", "8")]);
            text
        };
        assert_eq!(text(&object), r#"{"a": 8, "\ud800": 3, "c": [null], "z": 9}"#);
        object.set("\"b\"".to_owned(), 5.into());
        assert_eq!(text(&object), r#"{"a": 8, "\ud800": 3, "c": [null], "b": 5, "z": 9}"#);
        assert_eq!((object.depth(), object.get("\"a\"")), (1, Some("4")));
    }
}
