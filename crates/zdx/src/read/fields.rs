//! Projection of document fields, without building the rest of the document.

use serde_core::Deserializer as _;
use serde_core::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::wire::json;

/// Maximum number of names in a path, as the maximum nesting depth of documents.
const MAX_DEPTH: usize = 128;

/// Maximum number of members of an object whose values are found without `serde_json`, which takes longer.
const MAX_PICKED: usize = 4;

/// A projection: fields given as paths, member names separated by dots, such as `address.city`.
///
/// Only these fields are built while the document is parsed. Paths do not lead into arrays. Of duplicate members, the last one counts.
///
/// ```
/// use zdx::Fields;
/// let fields = Fields::new(["name", "address.city"]);
/// let values = fields.of(br#"{"name":"Ada","address":{"city":"London","post":[1,2]}}"#)?;
/// assert_eq!(serde_json::Value::from(values), serde_json::json!({"name": "Ada", "city": "London"}));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Fields {
    root: Node,
    /// The last name of each path.
    leaves: Vec<String>,
}

#[derive(Debug, Clone, Default)]
struct Node {
    children: Vec<(String, Node)>,
    /// Indices of the paths that end here.
    ends: Vec<usize>,
}

impl Fields {
    /// Selects the fields at these paths.
    pub fn new<P: AsRef<str>>(paths: impl IntoIterator<Item = P>) -> Self {
        let mut fields = Self::default();
        for path in paths {
            let path = path.as_ref();
            fields.leaves.push(path.rsplit('.').next().unwrap_or(path).to_owned());
            // Documents are never nested that deep.
            if path.split('.').count() > MAX_DEPTH {
                continue;
            }
            let mut node = &mut fields.root;
            for name in path.split('.') {
                let existing = node.children.iter().position(|(child, _)| child == name);
                let at = existing.unwrap_or(node.children.len());
                if existing.is_none() {
                    node.children.push((name.to_owned(), Node::default()));
                }
                let Some((_, child)) = node.children.get_mut(at) else { break };
                node = child;
            }
            node.ends.push(fields.leaves.len() - 1); // not empty: pushed above
        }
        fields
    }

    /// Extracts the fields of a document, keyed by the last name of their path. Missing fields are left out. Of two paths with the same last
    /// name, the later one wins.
    ///
    /// # Errors
    /// If the document is not a JSON object.
    pub fn of(&self, document: &[u8]) -> serde_json::Result<Map<String, Value>> {
        let values = self.values(document)?.into_iter();
        Ok(self.leaves.iter().zip(values).filter_map(|(name, value)| Some((name.clone(), value?))).collect())
    }

    /// The value at each path as it is written, `None` if missing; `None` for all if only [`values`](Self::values) can say.
    pub(super) fn written<'d>(&self, document: &'d str) -> Option<Written<'d>> {
        let mut written = [None; MAX_PICKED];
        self.root.pick(document, written.get_mut(..self.leaves.len())?)?;
        Some(written)
    }

    /// The value at each path, `None` if missing.
    pub(crate) fn values(&self, document: &[u8]) -> serde_json::Result<Vec<Option<Value>>> {
        let mut values = vec![None; self.leaves.len()];
        let mut json = serde_json::Deserializer::from_slice(document);
        json.deserialize_map(Collector { node: &self.root, values: &mut values })?;
        json.end()?;
        Ok(values)
    }
}

/// Values as they are written in a document, by number of their path.
pub(super) type Written<'d> = [Option<&'d str>; MAX_PICKED];

impl Node {
    /// Finds the values of the node's paths in an object. `None` if the object is not valid or there are too many members to find.
    fn pick<'d>(&self, object: &'d str, written: &mut [Option<&'d str>]) -> Option<()> {
        if self.children.len() > MAX_PICKED {
            return None;
        }
        let position = |name: &str| self.children.iter().position(|(child, _)| child == name);
        let values: Written<'d> = json::pick(object, position).ok()?;
        for ((_, child), value) in self.children.iter().zip(values) {
            for end in &child.ends {
                *written.get_mut(*end)? = value;
            }
            match value {
                Some(object) if !child.children.is_empty() && object.starts_with('{') => child.pick(object, written)?,
                _ => {}
            }
        }
        Some(())
    }

    fn clear(&self, values: &mut [Option<Value>]) {
        for end in &self.ends {
            if let Some(value) = values.get_mut(*end) {
                *value = None;
            }
        }
        self.children.iter().for_each(|(_, child)| child.clear(values));
    }

    /// Assigns a value to the paths that end at this node and below.
    fn assign(&self, value: Value, values: &mut [Option<Value>]) {
        for (name, child) in &self.children {
            if let Some(inner) = value.as_object().and_then(|object| object.get(name)) {
                child.assign(inner.clone(), values);
            }
        }
        let mut ends = self.ends.iter();
        let last = ends.next_back();
        for end in ends {
            if let Some(slot) = values.get_mut(*end) {
                *slot = Some(value.clone());
            }
        }
        if let Some(slot) = last.and_then(|end| values.get_mut(*end)) {
            *slot = Some(value);
        }
    }
}

/// Visits a document and collects the values of a node's paths.
struct Collector<'f> {
    node: &'f Node,
    values: &'f mut [Option<Value>],
}

impl<'de> DeserializeSeed<'de> for Collector<'_> {
    type Value = ();

    fn deserialize<D: serde_core::Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Collector<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(index) = members.next_key_seed(Name(self.node))? {
            let child = index.and_then(|index| self.node.children.get(index)).map(|(_, child)| child);
            match child {
                None => drop(members.next_value::<IgnoredAny>()?),
                Some(child) => {
                    child.clear(self.values);
                    if child.ends.is_empty() {
                        members.next_value_seed(Collector { node: child, values: self.values })?;
                    } else {
                        child.assign(members.next_value()?, self.values);
                    }
                }
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while elements.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// A member's name, as the index of the node's child of that name.
struct Name<'f>(&'f Node);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Option<usize>;

    fn deserialize<D: serde_core::Deserializer<'de>>(self, json: D) -> Result<Option<usize>, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E>(self, name: &str) -> Result<Option<usize>, E> {
        Ok(self.0.children.iter().position(|(child, _)| child == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const DOCUMENT: &str =
        r#"{"a":1,"b":{"c":[1,{"x":2}],"d":{"e":null}},"a":2,"f":{"g":1},"f":{"h":1.0},"z\u0061":"\u00e9"}"#;

    #[test]
    fn fields_are_those_of_the_whole_tree() {
        let whole: Value = serde_json::from_str(DOCUMENT).unwrap();
        let by_hand = |path: &str| path.split('.').try_fold(&whole, |value, name| value.get(name)).cloned();
        let paths = ["a", "b", "b.c", "b.d.e", "b.c.x", "f.g", "f.h", "f", "za", "none", "a.b", "", "b."];
        let together = Fields::new(paths).values(DOCUMENT.as_bytes()).unwrap();
        for (path, values) in paths.iter().zip(together) {
            assert_eq!(values, by_hand(path), "{path}");
            assert_eq!(Fields::new([path]).values(DOCUMENT.as_bytes()).unwrap(), [by_hand(path)], "{path}");
        }
        // A path deeper than any document leads to nothing, and takes no recursion.
        let deep = Fields::new([&"a.".repeat(1_000_000), "a"]).values(DOCUMENT.as_bytes()).unwrap();
        assert_eq!(deep, [None, Some(json!(2))]);
        let named = Fields::new(["b.d.e", "f.h", "none"]).of(DOCUMENT.as_bytes()).unwrap();
        assert_eq!(Value::Object(named), json!({"e": null, "h": 1.0}));
        for bad in ["[1]", "{\"a\":1", "{} x", "1"] {
            assert!(Fields::new(["a"]).of(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    /// Documents of all shapes: what is found in the text of a document is what `serde_json` finds.
    #[test]
    fn written_values_are_those_of_the_tree() {
        let values = [
            "1",
            "-0.5e3",
            "1e999",
            "\"x\"",
            "\"\\u00e9\\n\"",
            "\"\\ud800\"",
            "null",
            "true",
            "[]",
            "[{\"a\":1},{}]",
            "{}",
            "{\"c\":3}",
            "{\"c\":{\"d\":[4]},\"c\":5}",
            " { \"d\" : 6 } ",
            "nul",
            "",
            "{",
            "01",
            "[1 2]",
        ];
        let names = ["a", "b", "\\u0061", "c", "e"];
        let paths = [&["a"][..], &["a", "b.c"], &["b", "b.c.d", "none"], &["c.c", "a"], &["a", "a", "b", "c", "e"]];
        let mut valid = 0;
        for (number, first) in values.iter().enumerate() {
            for second in values {
                let (one, other) = (names[number % names.len()], names[second.len() % names.len()]);
                let document = format!("{{\"{one}\":{first}, \"{other}\": {second},\"b\":{{\"c\":7}}}}");
                for paths in paths {
                    let fields = Fields::new(paths);
                    let expected = fields.values(document.as_bytes());
                    let Some(written) = fields.written(&document) else {
                        assert!(paths.len() > MAX_PICKED || expected.is_err(), "{document} {paths:?}");
                        continue;
                    };
                    let read = |text: &Option<&str>| text.map(serde_json::from_str::<Value>).transpose();
                    let found = written[..paths.len()].iter().map(read).collect::<Result<Vec<_>, _>>();
                    match expected {
                        Ok(expected) => assert_eq!(found.unwrap(), expected, "{document} {paths:?}"),
                        // Values that are replaced or not asked for may be unreadable.
                        Err(_) => {
                            assert!(found.is_err() || ["1e999", "ud800"].iter().any(|word| document.contains(word)))
                        }
                    }
                    valid += 1;
                }
            }
        }
        assert!(valid > 500, "{valid}");
    }
}
