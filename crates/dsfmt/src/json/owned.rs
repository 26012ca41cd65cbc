//! JSON that is to be written: an attribute's value, in Python's spelling.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use container_core::Result;

use super::{Json, put_f64, put_str};

/// An attribute's value to be written: JSON as Python's `json.dumps` spells it.
///
/// Numbers and texts come by `From`; a float of 32 bits is written with the digits of the same float in 64 bits, as Python does. What is
/// taken from a file keeps its exact text.
///
/// ```
/// use dsfmt::JsonBuf;
/// let value = JsonBuf::object([("range", JsonBuf::list([0.5.into(), f64::NAN.into()])), ("unit", "\u{b0}C".into())]);
/// assert_eq!(value.to_string(), r#"{"range": [0.5, NaN], "unit": "\u00b0C"}"#);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonBuf {
    text: String,
    /// Brackets that are open at most.
    depth: u32,
}

impl JsonBuf {
    /// `null`.
    #[must_use]
    pub fn null() -> Self {
        Self::simple("null")
    }

    fn simple(text: impl Into<String>) -> Self {
        Self { text: text.into(), depth: 0 }
    }

    /// Values in order.
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

    /// Pairs of a name and a value, in order. Of a name that comes again the last value is taken, at the first place.
    pub fn object<N: AsRef<str>>(members: impl IntoIterator<Item = (N, Self)>) -> Self {
        let mut object = Object::default();
        for (name, value) in members {
            object.set(quoted(name.as_ref()), value);
        }
        let mut text = String::new();
        object.put(&mut text, &[]);
        Self { text, depth: object.depth.saturating_add(1) }
    }

    /// A value from its text: the blanks become Python's, what is not ASCII becomes an escape, and numbers keep their digits.
    ///
    /// # Errors
    /// As [`Json::parse`].
    pub fn parse(text: &str) -> Result<Self> {
        Ok(spelled(Json::parse(text)?.as_text()))
    }

    /// The value to look into.
    #[must_use]
    pub fn as_json(&self) -> Json<'_> {
        Json::checked(&self.text)
    }
}

/// Its text.
impl fmt::Display for JsonBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Its exact text. Line feeds between values become blanks: a header is one line.
impl From<Json<'_>> for JsonBuf {
    fn from(json: Json<'_>) -> Self {
        Self { text: json.as_text().replace('\n', " "), depth: spelled(json.as_text()).depth }
    }
}

impl From<&str> for JsonBuf {
    fn from(text: &str) -> Self {
        Self::simple(quoted(text))
    }
}

impl From<String> for JsonBuf {
    fn from(text: String) -> Self {
        Self::simple(quoted(&text))
    }
}

impl From<&String> for JsonBuf {
    fn from(text: &String) -> Self {
        Self::simple(quoted(text))
    }
}

impl From<Cow<'_, str>> for JsonBuf {
    fn from(text: Cow<'_, str>) -> Self {
        Self::simple(quoted(&text))
    }
}

impl From<bool> for JsonBuf {
    fn from(truth: bool) -> Self {
        Self::simple(if truth { "true" } else { "false" })
    }
}

impl From<f64> for JsonBuf {
    fn from(number: f64) -> Self {
        let mut text = String::new();
        put_f64(&mut text, number);
        Self::simple(text)
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
                Self::simple(number.to_string())
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

/// A text as JSON.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    put_str(&mut out, text);
    out
}

/// A value that was checked, with Python's blanks and in ASCII.
fn spelled(text: &str) -> JsonBuf {
    let (mut out, mut depth, mut most) = (String::with_capacity(text.len()), 0u32, 0);
    let (mut in_text, mut escaped) = (false, false);
    for found in text.chars() {
        match found {
            _ if in_text => {
                if found.is_ascii() {
                    out.push(found);
                } else {
                    out.push_str(quoted(found.encode_utf8(&mut [0; 4])).trim_matches('"'));
                }
                in_text = escaped || found != '"';
                escaped = !escaped && found == '\\';
                continue;
            }
            ' ' | '\t' | '\r' | '\n' => continue,
            '"' => in_text = true,
            '[' | '{' => {
                depth = depth.saturating_add(1);
                most = depth.max(most);
            }
            ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        out.push(found);
        if matches!(found, ',' | ':') {
            out.push(' ');
        }
    }
    JsonBuf { text: out, depth: most }
}

/// Members of an object that is put together, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Object {
    /// Names in quotes, and the texts of the values; `None` where one was taken out.
    members: Vec<(String, Option<String>)>,
    places: HashMap<String, usize>,
    /// Of the deepest value.
    depth: u32,
}

impl Object {
    /// The members of an object of a file.
    pub(crate) fn of(json: Json<'_>) -> Self {
        let mut all = Self::default();
        for (name, value) in json.members() {
            // A name that no text can hold, with half a surrogate pair, stays as it is.
            let name = name.as_str().map_or_else(|| name.as_text().to_owned(), |name| quoted(&name));
            all.set(name, value.into());
        }
        all
    }

    /// Adds a member, its name in quotes, or gives the one of this name another value where it stands.
    pub(crate) fn set(&mut self, name: String, value: JsonBuf) {
        self.depth = self.depth.max(value.depth);
        match self.places.get(&name).and_then(|place| self.members.get_mut(*place)) {
            Some((_, place)) => *place = Some(value.text),
            None => {
                self.places.insert(name.clone(), self.members.len());
                self.members.push((name, Some(value.text)));
            }
        }
    }

    /// Takes a member out.
    pub(crate) fn remove(&mut self, name: &str) {
        if let Some((_, value)) = self.places.remove(name).and_then(|place| self.members.get_mut(place)) {
            *value = None;
        }
    }

    /// Gives members other names, all at once, where they stand; names in quotes, old and new. Names that are not there are passed over.
    ///
    /// # Errors
    /// The first new name that another member has.
    pub(crate) fn rename(&mut self, names: &[(String, String)]) -> Result<(), String> {
        let found: Vec<(usize, &String)> =
            names.iter().filter_map(|(old, new)| Some((self.places.remove(old)?, new))).collect();
        for (place, new) in found {
            if self.places.insert(new.clone(), place).is_some() {
                return Err(new.clone());
            }
            if let Some((name, _)) = self.members.get_mut(place) {
                name.clone_from(new);
            }
        }
        Ok(())
    }

    /// Takes over all members of another, whose values win; returns how many of these took the place of a different value.
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
        self.places.get(name).and_then(|place| self.members.get(*place)).and_then(|(_, value)| value.as_deref())
    }

    /// Brackets that are open at most in a value.
    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    /// Writes it with other values for some members, which come last where they are not there.
    pub(crate) fn put(&self, out: &mut String, others: &[(&str, &str)]) {
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
            let other = others.iter().find(|(other, _)| other == name);
            member(name, other.map_or(value.as_str(), |(_, value)| value));
        }
        others.iter().filter(|(name, _)| self.get(name).is_none()).for_each(|(name, value)| member(name, value));
        out.push('}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_spelled_as_python_does() {
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
        let wanted = concat!(
            "[1, 18446744073709551615, -7, 1.0000000200408773e+20, 0.1, Infinity, true, \"\\ud83d\\ude00\\\"\", ",
            "null, [1, 2], null, [], {\"b\": 2, \"a\": {}}]"
        );
        assert_eq!((all.to_string().as_str(), all.depth), (wanted, 3));
        assert_eq!(JsonBuf::parse(wanted).unwrap(), all);
        assert_eq!(JsonBuf::from(all.as_json()), all);
    }

    #[test]
    fn a_text_keeps_its_digits_and_gets_the_blanks() {
        let text = " {\"a\":[1.50,1E5 ,-0],\n\"\u{fc}\\\\\":\"x: [,\\\"{\u{1f600}\\ud800\",\"e\" : 123456789012345678901234567890}";
        let value = JsonBuf::parse(text).unwrap();
        let wanted = concat!(
            "{\"a\": [1.50, 1E5, -0], \"\\u00fc\\\\\": \"x: [,\\\"{\\ud83d\\ude00\\ud800\", ",
            "\"e\": 123456789012345678901234567890}"
        );
        assert_eq!((value.to_string().as_str(), value.depth), (wanted, 2));
        assert!(JsonBuf::parse("[1,").is_err());
        let exact = JsonBuf::from(Json::parse("[1,\n 2.0]").unwrap());
        assert_eq!((exact.to_string().as_str(), exact.depth), ("[1,  2.0]", 1));
    }

    #[test]
    fn members_keep_their_places() {
        let mut object = Object::of(Json::parse(r#"{"a": 1, "\u0062": 2, "\ud800": 3, "a": 4}"#).unwrap());
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
