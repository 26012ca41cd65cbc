//! Projection of document fields, and predicates on them, without building the rest of the document.

use serde_core::Deserializer as _;
use serde_core::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Maximum number of names in a path, as the maximum nesting depth of documents.
const MAX_DEPTH: usize = 128;

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

    /// The value at each path, `None` if missing.
    pub(crate) fn values(&self, document: &[u8]) -> serde_json::Result<Vec<Option<Value>>> {
        let mut values = vec![None; self.leaves.len()];
        let mut json = serde_json::Deserializer::from_slice(document);
        json.deserialize_map(Collector { node: &self.root, values: &mut values })?;
        json.end()?;
        Ok(values)
    }
}

impl Node {
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

/// A condition on a document. Fields are given as paths, as in [`Fields`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Predicate {
    /// The field exists and equals this value. 1 is not 1.0; the order of members does not matter.
    Eq(String, Value),
    /// The field exists; its value may be null.
    Exists(String),
    /// The field does not exist.
    NotExists(String),
    /// All of these conditions hold.
    And(Vec<Predicate>),
    /// At least one of these conditions holds.
    Or(Vec<Predicate>),
}

/// A compiled [`Predicate`]: only the fields it refers to are built.
#[derive(Debug, Clone)]
pub struct Filter {
    fields: Fields,
    test: Test,
}

#[derive(Debug, Clone)]
enum Test {
    Eq(usize, Value),
    Exists(usize),
    NotExists(usize),
    And(Vec<Test>),
    Or(Vec<Test>),
}

impl Filter {
    /// Compiles a predicate.
    #[must_use]
    pub fn new(predicate: &Predicate) -> Self {
        let mut paths = Vec::new();
        let test = Test::new(predicate, &mut paths);
        Self { fields: Fields::new(paths), test }
    }

    /// Whether the predicate holds for a document.
    ///
    /// # Errors
    /// If the document is not a JSON object.
    pub fn holds(&self, document: &[u8]) -> serde_json::Result<bool> {
        Ok(self.test.holds(&self.fields.values(document)?))
    }
}

impl Test {
    fn new<'p>(predicate: &'p Predicate, paths: &mut Vec<&'p str>) -> Self {
        let mut field = |path: &'p str| {
            paths.push(path);
            paths.len() - 1
        };
        match predicate {
            Predicate::Eq(path, value) => Self::Eq(field(path), value.clone()),
            Predicate::Exists(path) => Self::Exists(field(path)),
            Predicate::NotExists(path) => Self::NotExists(field(path)),
            Predicate::And(all) => Self::And(all.iter().map(|one| Self::new(one, paths)).collect()),
            Predicate::Or(all) => Self::Or(all.iter().map(|one| Self::new(one, paths)).collect()),
        }
    }

    fn holds(&self, values: &[Option<Value>]) -> bool {
        let value = |field: &usize| values.get(*field).and_then(Option::as_ref);
        match self {
            Self::Eq(field, wanted) => value(field) == Some(wanted),
            Self::Exists(field) => value(field).is_some(),
            Self::NotExists(field) => value(field).is_none(),
            Self::And(all) => all.iter().all(|one| one.holds(values)),
            Self::Or(all) => all.iter().any(|one| one.holds(values)),
        }
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

    #[test]
    fn predicates() {
        let eq = |path: &str, value: Value| Predicate::Eq(path.to_owned(), value);
        let (exists, lacks) =
            (|path: &str| Predicate::Exists(path.to_owned()), |path: &str| Predicate::NotExists(path.to_owned()));
        for (predicate, expected) in [
            (eq("a", json!(2)), true),
            (eq("a", json!(1)), false),
            (eq("a", json!(2.0)), false),
            (eq("f", json!({"h": 1.0})), true),
            (eq("b.d.e", json!(null)), true),
            (eq("none", json!(null)), false),
            (exists("b.d.e"), true),
            (lacks("f.g"), true),
            (Predicate::And(vec![exists("a"), eq("za", json!("\u{e9}"))]), true),
            (Predicate::And(vec![exists("a"), lacks("b")]), false),
            (Predicate::Or(vec![lacks("a"), Predicate::And(vec![exists("b"), exists("f")])]), true),
            (Predicate::Or(vec![]), false),
            (Predicate::And(vec![]), true),
        ] {
            assert_eq!(Filter::new(&predicate).holds(DOCUMENT.as_bytes()).unwrap(), expected, "{predicate:?}");
        }
    }
}
