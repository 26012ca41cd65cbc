//! What a document has at names and paths, as it is written.

use std::fmt;

use container_core::raw_json::Name;
use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// An object that has the member `_id`.
    WithId,
    /// An object that has none.
    WithoutId,
    /// Another value.
    NoObject,
}

/// Goes through a text, which has to be one JSON value.
pub(crate) fn shape(text: &str) -> serde_json::Result<Shape> {
    struct Looking;
    impl<'de> Visitor<'de> for Looking {
        type Value = Shape;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Shape, A::Error> {
            let mut shape = Shape::WithoutId;
            while let Some((Name(name), IgnoredAny)) = map.next_entry()? {
                if name == "_id" {
                    shape = Shape::WithId;
                }
            }
            Ok(shape)
        }
    }
    if !text.trim_start_matches(JSON_SPACE).starts_with('{') {
        return serde_json::from_str::<IgnoredAny>(text).map(|_| Shape::NoObject);
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let shape = json.deserialize_map(Looking)?;
    json.end()?;
    Ok(shape)
}

/// White space between tokens.
const JSON_SPACE: [char; 4] = [' ', '\t', '\r', '\n'];

/// What a column shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// A member of the document, whatever characters its name has.
    Member(String),
    /// What stands at a path: names with dots between.
    Path(String),
}

/// What is looked for in documents: members, and what stands at paths.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    root: Node,
    count: usize,
}

#[derive(Debug, Default)]
struct Node {
    children: Vec<(String, Node)>,
    ends: Vec<usize>,
}

impl Wanted {
    pub(crate) fn new<'k>(keys: impl IntoIterator<Item = &'k Key>) -> Self {
        let mut wanted = Self::default();
        for key in keys {
            let mut node = &mut wanted.root;
            let (whole, path);
            let names: &mut dyn Iterator<Item = &str> = match key {
                Key::Member(name) => {
                    whole = name.as_str();
                    &mut std::iter::once(whole)
                }
                Key::Path(text) => {
                    path = text.as_str();
                    &mut path.split('.')
                }
            };
            for name in names {
                let known = node.children.iter().position(|(child, _)| child == name);
                let place = known.unwrap_or(node.children.len());
                if known.is_none() {
                    node.children.push((name.to_owned(), Node::default()));
                }
                let Some((_, child)) = node.children.get_mut(place) else { break };
                node = child;
            }
            node.ends.push(wanted.count);
            wanted.count += 1;
        }
        wanted
    }

    /// The value of each, as it is written; of one that is there more than once the last.
    pub(crate) fn of<'d>(&self, text: &'d str) -> serde_json::Result<Vec<Option<&'d RawValue>>> {
        let mut found = vec![None; self.count];
        let mut json = serde_json::Deserializer::from_str(text);
        json.deserialize_map(Walk { node: &self.root, found: &mut found })?;
        json.end()?;
        Ok(found)
    }
}

impl Node {
    fn forget(&self, found: &mut [Option<&RawValue>]) {
        for end in &self.ends {
            if let Some(value) = found.get_mut(*end) {
                *value = None;
            }
        }
        self.children.iter().for_each(|(_, child)| child.forget(found));
    }
}

struct Walk<'w, 'f, 'd> {
    node: &'w Node,
    found: &'f mut [Option<&'d RawValue>],
}

impl<'d> Visitor<'d> for Walk<'_, '_, 'd> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'d>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(place) = members.next_key_seed(Which(self.node))? {
            let Some((_, child)) = place.and_then(|place| self.node.children.get(place)) else {
                members.next_value::<IgnoredAny>()?;
                continue;
            };
            let value: &'d RawValue = members.next_value()?;
            child.forget(self.found);
            for end in &child.ends {
                if let Some(found) = self.found.get_mut(*end) {
                    *found = Some(value);
                }
            }
            if !child.children.is_empty() && value.get().starts_with('{') {
                let mut json = serde_json::Deserializer::from_str(value.get());
                let inner = json.deserialize_map(Walk { node: child, found: &mut *self.found });
                inner.map_err(<A::Error as serde::de::Error>::custom)?;
            }
        }
        Ok(())
    }
}

/// A member's name, as the place of the child that it leads to.
struct Which<'w>(&'w Node);

impl<'de> DeserializeSeed<'de> for Which<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Option<usize>, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for Which<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E>(self, name: &str) -> Result<Option<usize>, E> {
        Ok(self.0.children.iter().position(|(child, _)| child == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str =
        r#"{"a":1,"b":{"c":[1, 2],"d":{"e":1e400}},"a": 2 ,"f":{"g":1},"f":{"h":12345678901234567890123},"x.y":true}"#;

    fn of(keys: &[Key]) -> Vec<Option<&'static str>> {
        Wanted::new(keys).of(DOCUMENT).unwrap().into_iter().map(|value| value.map(RawValue::get)).collect()
    }

    #[test]
    fn values_have_the_bytes_that_are_written() {
        let member = |name: &str| Key::Member(name.to_owned());
        let path = |path: &str| Key::Path(path.to_owned());
        assert_eq!(
            of(&[member("a"), path("b.d.e"), path("f.g"), path("f.h"), member("x.y"), path("x.y"), path("b.c")]),
            [Some("2"), Some("1e400"), None, Some("12345678901234567890123"), Some("true"), None, Some("[1, 2]")]
        );
        assert!(Wanted::new([&member("a")]).of("[1]").is_err());
        assert!(Wanted::new([&member("a")]).of("{} x").is_err());
    }

    #[test]
    fn shapes() {
        for (text, wanted) in [
            (r#" {"x":{"_id":1}} "#, Some(Shape::WithoutId)),
            (r#"{"x":1,"\u005fid":7}"#, Some(Shape::WithId)),
            ("[{}]", Some(Shape::NoObject)),
            ("{}", Some(Shape::WithoutId)),
            ("{} {}", None),
            ("{\"a\":}", None),
            ("nul", None),
        ] {
            assert_eq!(shape(text).ok(), wanted, "{text}");
        }
    }
}
