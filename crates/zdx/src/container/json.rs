//! Raw values of a document at member names and paths.

use std::fmt;

use container_core::raw_json::Name;
use serde_core::Deserializer;
use serde_core::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Classification of a JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// An object with the member `_id`.
    WithId,
    /// An object without it.
    WithoutId,
    /// Any other value.
    NotAnObject,
}

/// Validates and classifies a text, which must be one JSON value.
pub(crate) fn classify(text: &str) -> serde_json::Result<Shape> {
    struct ShapeVisitor;
    impl<'de> Visitor<'de> for ShapeVisitor {
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
        return serde_json::from_str::<IgnoredAny>(text).map(|_| Shape::NotAnObject);
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let shape = json.deserialize_map(ShapeVisitor)?;
    json.end()?;
    Ok(shape)
}

/// White space between tokens.
const JSON_SPACE: [char; 4] = [' ', '\t', '\r', '\n'];

/// What a column shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// The member with this name, which may contain any characters.
    Member(String),
    /// The value at a path: names separated by dots.
    Path(String),
}

/// The members and paths to extract from documents.
#[derive(Debug, Default)]
pub(crate) struct Projection {
    root: Node,
    count: usize,
}

#[derive(Debug, Default)]
struct Node {
    children: Vec<(String, Node)>,
    ends: Vec<usize>,
}

impl Projection {
    pub(crate) fn new<'k>(keys: impl IntoIterator<Item = &'k Key>) -> Self {
        let mut projection = Self::default();
        for key in keys {
            let mut node = &mut projection.root;
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
                let existing = node.children.iter().position(|(child, _)| child == name);
                let at = existing.unwrap_or(node.children.len());
                if existing.is_none() {
                    node.children.push((name.to_owned(), Node::default()));
                }
                let Some((_, child)) = node.children.get_mut(at) else { break };
                node = child;
            }
            node.ends.push(projection.count);
            projection.count += 1;
        }
        projection
    }

    /// The raw value of each key; of duplicate members, the last one.
    pub(crate) fn of<'d>(&self, text: &'d str) -> serde_json::Result<Vec<Option<&'d RawValue>>> {
        self.with_duplicates(text).map(|(values, _)| values)
    }

    /// As [`of`](Self::of), with the number of members that are left out because a later one has the same name.
    pub(crate) fn with_duplicates<'d>(&self, text: &'d str) -> serde_json::Result<(Vec<Option<&'d RawValue>>, u64)> {
        let (mut values, mut duplicates) = (vec![None; self.count], 0);
        let mut json = serde_json::Deserializer::from_str(text);
        json.deserialize_map(Collector { node: &self.root, values: &mut values, duplicates: &mut duplicates })?;
        json.end()?;
        Ok((values, duplicates))
    }
}

impl Node {
    /// Removes the values at and below this node. True if there were any.
    fn clear(&self, values: &mut [Option<&RawValue>]) -> bool {
        let mut any = false;
        for end in &self.ends {
            any |= values.get_mut(*end).is_some_and(|value| value.take().is_some());
        }
        self.children.iter().fold(any, |any, (_, child)| child.clear(values) || any)
    }
}

struct Collector<'w, 'f, 'd> {
    node: &'w Node,
    values: &'f mut [Option<&'d RawValue>],
    duplicates: &'f mut u64,
}

impl<'d> Visitor<'d> for Collector<'_, '_, 'd> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'d>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(index) = members.next_key_seed(ChildIndex(self.node))? {
            let Some((_, child)) = index.and_then(|index| self.node.children.get(index)) else {
                members.next_value::<IgnoredAny>()?;
                continue;
            };
            let value: &'d RawValue = members.next_value()?;
            *self.duplicates += u64::from(child.clear(self.values));
            for end in &child.ends {
                if let Some(slot) = self.values.get_mut(*end) {
                    *slot = Some(value);
                }
            }
            if !child.children.is_empty() && value.get().starts_with('{') {
                let mut json = serde_json::Deserializer::from_str(value.get());
                let (values, duplicates) = (&mut *self.values, &mut *self.duplicates);
                let inner = json.deserialize_map(Collector { node: child, values, duplicates });
                inner.map_err(<A::Error as serde_core::de::Error>::custom)?;
            }
        }
        Ok(())
    }
}

/// A member's name, as the index of the node's child of that name.
struct ChildIndex<'w>(&'w Node);

impl<'de> DeserializeSeed<'de> for ChildIndex<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Option<usize>, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for ChildIndex<'_> {
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
        Projection::new(keys).of(DOCUMENT).unwrap().into_iter().map(|value| value.map(RawValue::get)).collect()
    }

    #[test]
    fn values_are_returned_verbatim() {
        let member = |name: &str| Key::Member(name.to_owned());
        let path = |path: &str| Key::Path(path.to_owned());
        assert_eq!(
            of(&[member("a"), path("b.d.e"), path("f.g"), path("f.h"), member("x.y"), path("x.y"), path("b.c")]),
            [Some("2"), Some("1e400"), None, Some("12345678901234567890123"), Some("true"), None, Some("[1, 2]")]
        );
        let duplicates = |keys: &[Key]| Projection::new(keys).with_duplicates(DOCUMENT).unwrap().1;
        assert_eq!([&[member("a")][..], &[path("f.g")], &[path("b.c"), path("f.h")]].map(duplicates), [1, 1, 0]);
        assert!(Projection::new([&member("a")]).of("[1]").is_err());
        assert!(Projection::new([&member("a")]).of("{} x").is_err());
    }

    #[test]
    fn classifies_texts() {
        for (text, expected) in [
            (r#" {"x":{"_id":1}} "#, Some(Shape::WithoutId)),
            (r#"{"x":1,"\u005fid":7}"#, Some(Shape::WithId)),
            ("[{}]", Some(Shape::NotAnObject)),
            ("{}", Some(Shape::WithoutId)),
            ("{} {}", None),
            ("{\"a\":}", None),
            ("nul", None),
        ] {
            assert_eq!(classify(text).ok(), expected, "{text}");
        }
    }
}
