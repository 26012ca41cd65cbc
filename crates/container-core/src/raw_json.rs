//! JSON values kept as raw text until they are serialized.

use std::borrow::Cow;
use std::fmt;

use serde_core::de::{Deserialize, MapAccess, Visitor};
use serde_core::ser::{Error as _, SerializeMap};
use serde_core::{Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::{Error, Result};

/// Maximum nesting depth of parsed values.
const MAX_DEPTH: u32 = 128;

/// The members of an object in order, including duplicates. Values, and names without escapes, are borrowed.
///
/// ```
/// use container_core::raw_json::Members;
///
/// let Members(members) = serde_json::from_str(r#"{"a": 1.50, "b": {"c": []}}"#)?;
/// assert_eq!(members[0].0, "a");
/// assert_eq!(members[0].1.get(), "1.50");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug)]
pub struct Members<'a>(pub Vec<(Cow<'a, str>, &'a RawValue)>);

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
                Ok(Members(members))
            }
        }
        json.deserialize_map(All)
    }
}

/// The name of a member, borrowed if it has no escapes.
#[derive(Debug)]
pub struct Name<'a>(pub Cow<'a, str>);

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

/// Serializes raw JSON with any serializer. A number that neither 64-bit integers nor floats can represent is serialized as its text, so that no
/// digits are lost. Nesting deeper than 128 levels is an error of the serializer.
#[derive(Debug, Clone, Copy)]
pub struct Json<'a> {
    raw: &'a RawValue,
    depth: u32,
}

impl<'a> Json<'a> {
    /// Serializes this value, including duplicate members of objects.
    #[must_use]
    pub const fn new(raw: &'a RawValue) -> Self {
        Self { raw, depth: 1 }
    }

    fn inner<S: Serializer>(&self, raw: &'a RawValue) -> Result<Self, S::Error> {
        match self.depth < MAX_DEPTH {
            true => Ok(Self { raw, depth: self.depth + 1 }),
            false => Err(S::Error::custom(format!("nesting deeper than {MAX_DEPTH} levels"))),
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

/// Serializes a JSON number: as an integer if it fits into 64 bits, else as a finite float, else as its text.
///
/// # Errors
/// Errors of the serializer.
pub fn number<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
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

/// Checks that a JSON text that is itself nested `outer` levels deep does not exceed 128 levels.
///
/// ```
/// use container_core::raw_json::check_nesting;
///
/// let deep = [vec!["["; 128], vec!["]"; 128]].concat().concat();
/// assert!(check_nesting(&deep, 0).is_ok());
/// assert_eq!(check_nesting(&deep, 1).unwrap_err().to_string(), "the nesting of values 129 exceeds the limit 128");
/// ```
///
/// # Errors
/// [`Limit`](crate::ErrorKind::Limit).
#[inline]
pub fn check_nesting(json: &str, outer: u32) -> Result<()> {
    let limit = MAX_DEPTH.saturating_sub(outer) as usize; // a u32 fits
    if json.len() <= 2 * limit || json.starts_with('"') || count_openings(json.as_bytes()) <= limit {
        return Ok(());
    }
    let nesting = nesting(json);
    match nesting > limit {
        true => Err(Error::limit("the nesting of values", nesting as u64 + u64::from(outer), MAX_DEPTH.into())),
        false => Ok(()),
    }
}

/// Counts opening brackets, including those in strings: an upper bound of the depth that is much cheaper than tokenizing.
fn count_openings(json: &[u8]) -> usize {
    // "[" and "{" differ in one bit. The count of 255 bytes fits into a byte.
    let is_opening = |byte: &u8| u8::from(byte | 0x20 == b'{');
    json.chunks(255)
        .map(|part| usize::from(part.iter().fold(0u8, |sum, byte| sum.wrapping_add(is_opening(byte)))))
        .sum()
}

/// The nesting depth.
#[cold]
fn nesting(json: &str) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    let (mut quoted, mut escaped) = (false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = quoted,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'[' | b'{' => {
                open += 1;
                deepest = deepest.max(open);
            }
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = r#"{"a":1,"b":{"c":[1, 2],"d":{"e":1e400}},"a": 2 ,"f":{"g":1,"g":-0},"f":{"h":12345678901234567890123},"x\n":true}"#;

    fn shown<'a>(members: &Members<'a>, json: fn(&'a RawValue) -> Json<'a>) -> Vec<String> {
        let mut shown = Vec::new();
        for (name, raw) in &members.0 {
            shown.push(format!("{name}={}", serde_json::to_string(&json(raw)).unwrap()));
        }
        shown
    }

    #[test]
    fn serializes_values() {
        let members: Members<'_> = serde_json::from_str(DOCUMENT).unwrap();
        let all = [
            "a=1",
            r#"b={"c":[1,2],"d":{"e":"1e400"}}"#,
            "a=2",
            r#"f={"g":1,"g":-0.0}"#,
            r#"f={"h":"12345678901234567890123"}"#,
            "x\n=true",
        ];
        assert_eq!(shown(&members, Json::new), all);
        assert!(matches!(members.0.first(), Some((Cow::Borrowed("a"), _))), "plain names are borrowed");
    }

    #[test]
    fn rejects_deep_nesting() {
        for (count, is_valid) in [(127, true), (128, true), (129, false)] {
            let deep = format!("{}{}", "[".repeat(count), "]".repeat(count));
            let mut json = serde_json::Deserializer::from_str(&deep);
            let raw: &RawValue = Deserialize::deserialize(&mut json).unwrap();
            let result = serde_json::to_string(&Json::new(raw));
            assert_eq!(result.is_ok(), is_valid, "{count}: {result:?}");
            if let Err(error) = result {
                assert!(error.to_string().contains("nesting deeper than 128 levels"), "{error}");
            }
        }
    }

    #[test]
    fn nesting_ignores_siblings_and_strings() {
        let siblings = format!("[{}]", vec!["[{}]"; 300].join(","));
        assert!(check_nesting(&siblings, 125).is_ok());
        let error = check_nesting(&siblings, 126).unwrap_err().to_string();
        assert_eq!(error, "the nesting of values 129 exceeds the limit 128");
        let quoted = format!(r#"["{}\"[", "\\"]"#, "[{".repeat(300));
        assert!(check_nesting(&quoted, 127).is_ok());
        assert!(check_nesting(&quoted, 128).is_err());
    }
}
