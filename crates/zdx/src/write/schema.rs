//! Document schemas: names of members and types of values, compared as the reference does.

use std::collections::BTreeMap;
use std::fmt;

use container_core::{Error, Result};
use serde_core::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A document's schema. The first element of an array stands for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Schema {
    Object(BTreeMap<String, Schema>),
    Array(Option<Box<Schema>>),
    String,
    /// An integer that fits into an `i64`.
    Integer,
    Number,
    Boolean,
    Null,
}

impl Schema {
    /// The schema of a JSON document, without its `_id`.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) for invalid JSON.
    pub(crate) fn of(document: &[u8]) -> Result<Self> {
        let mut schema: Self = serde_json::from_slice(document)
            .map_err(|cause| Error::invalid("cannot determine the document's schema").caused_by(cause))?;
        if let Self::Object(members) = &mut schema {
            members.remove("_id");
        }
        Ok(schema)
    }

    /// Fails if another document's schema is different.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage), with the first difference.
    pub(crate) fn check_matches(&self, other: &Self) -> Result<()> {
        match self.difference(other, "") {
            Some(difference) => {
                Err(Error::usage(format!("the document does not match the collection's schema: {difference}")))
            }
            None => Ok(()),
        }
    }

    fn difference(&self, other: &Self, path: &str) -> Option<String> {
        let member = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        match (self, other) {
            (Self::Object(own), Self::Object(others)) => {
                let missing = |name: &String| format!("{:?} is missing", member(name));
                let in_own = own.iter().find_map(|(name, own)| match others.get(name) {
                    Some(other) => own.difference(other, &member(name)),
                    None => Some(missing(name)),
                });
                let extra = || others.keys().find(|name| !own.contains_key(*name));
                in_own.or_else(|| extra().map(|name| format!("unexpected {:?}", member(name))))
            }
            (Self::Array(Some(own)), Self::Array(Some(other))) => own.difference(other, &format!("{path}[0]")),
            _ if self == other => None,
            _ => {
                let place = if path.is_empty() { "the document" } else { path };
                Some(format!("{place:?}: expected {}, found {}", self.name(), other.name()))
            }
        }
    }

    const fn name(&self) -> &'static str {
        match self {
            Self::Object(_) => "an object",
            Self::Array(Some(_)) => "an array",
            Self::Array(None) => "an empty array",
            Self::String => "a string",
            Self::Integer => "an integer",
            Self::Number => "a non-integer number",
            Self::Boolean => "a boolean",
            Self::Null => "null",
        }
    }
}

impl<'de> Deserialize<'de> for Schema {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Values)
    }
}

struct Values;

impl<'de> Visitor<'de> for Values {
    type Value = Schema;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Schema, E> {
        Ok(Schema::Boolean)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Schema, E> {
        Ok(Schema::Integer)
    }

    fn visit_u64<E>(self, value: u64) -> Result<Schema, E> {
        Ok(if i64::try_from(value).is_ok() { Schema::Integer } else { Schema::Number })
    }

    fn visit_f64<E>(self, _: f64) -> Result<Schema, E> {
        Ok(Schema::Number)
    }

    fn visit_str<E>(self, _: &str) -> Result<Schema, E> {
        Ok(Schema::String)
    }

    fn visit_unit<E>(self) -> Result<Schema, E> {
        Ok(Schema::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Schema, A::Error> {
        let first = elements.next_element::<Schema>()?;
        while elements.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Schema::Array(first.map(Box::new)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Schema, A::Error> {
        let mut object = BTreeMap::new();
        while let Some((name, value)) = members.next_entry::<String, Schema>()? {
            object.insert(name, value);
        }
        Ok(Schema::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_first_difference() {
        let of = |json: &str| Schema::of(json.as_bytes()).unwrap();
        let one = of(r#"{"_id":"a","n":1,"o":{"x":[{"y":"t"}],"e":[]},"f":1.0,"b":true,"z":null}"#);
        let same = of(r#"{"z":null,"b":false,"f":-2e5,"o":{"e":[],"x":[{"y":""},7]},"n":-3}"#);
        assert_eq!(one, same);
        one.check_matches(&same).unwrap();
        for (json, expected) in [
            (
                r#"{"n":1.5,"o":{"x":[{"y":"t"}],"e":[]},"f":1.0,"b":true,"z":null}"#,
                "\"n\": expected an integer, found a non-integer number",
            ),
            (
                r#"{"n":9223372036854775808,"o":{"x":[{"y":"t"}],"e":[]},"f":1.0,"b":true,"z":null}"#,
                "\"n\": expected an integer, found a non-integer number",
            ),
            (
                r#"{"n":1,"o":{"x":[{"y":1}],"e":[]},"f":1.0,"b":true,"z":null}"#,
                "\"o.x[0].y\": expected a string, found an integer",
            ),
            (
                r#"{"n":1,"o":{"x":[{"y":"t"}],"e":[1]},"f":1.0,"b":true,"z":null}"#,
                "\"o.e\": expected an empty array, found an array",
            ),
            (r#"{"n":1,"o":{"x":[{"y":"t"}]},"f":1.0,"b":true,"z":null}"#, "\"o.e\" is missing"),
            (r#"{"n":1,"o":{"x":[{"y":"t","w":1}],"e":[]},"f":1.0,"b":true,"z":null}"#, "unexpected \"o.x[0].w\""),
            (
                r#"{"n":1,"o":{"x":[{"y":"t"}],"e":[]},"f":1.0,"b":true,"z":0}"#,
                "\"z\": expected null, found an integer",
            ),
        ] {
            let error = one.check_matches(&of(json)).unwrap_err().to_string();
            assert_eq!(error, format!("the document does not match the collection's schema: {expected}"));
        }
    }
}
