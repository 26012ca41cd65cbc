//! Some fields of a document, without building the rest of it; and what is asked of them.

use serde::Deserializer as _;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Names in a path, at most: as many brackets may be in each other.
const DEEPEST: usize = 128;

/// Fields by their paths: names of members with dots between, as `address.city`.
///
/// They are looked for while the document is gone through, and only they are built. An array has no members. Of a member that is there more
/// than once the last one counts.
///
/// ```
/// use zdx::Fields;
/// let fields = Fields::new(["name", "address.city"]);
/// let found = fields.of(br#"{"name":"Ada","address":{"city":"London","post":[1,2]}}"#)?;
/// assert_eq!(serde_json::Value::from(found), serde_json::json!({"name": "Ada", "city": "London"}));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Fields {
    root: Node,
    /// The last names of the paths.
    leaves: Vec<String>,
}

#[derive(Debug, Clone, Default)]
struct Node {
    children: Vec<(String, Node)>,
    /// The paths that end here.
    ends: Vec<usize>,
}

impl Fields {
    /// The fields at these paths.
    pub fn new<P: AsRef<str>>(paths: impl IntoIterator<Item = P>) -> Self {
        let mut fields = Self::default();
        for path in paths {
            let path = path.as_ref();
            fields.leaves.push(path.rsplit('.').next().unwrap_or(path).to_owned());
            // Nothing lies that deep in JSON that is read here.
            if path.split('.').count() > DEEPEST {
                continue;
            }
            let mut node = &mut fields.root;
            for name in path.split('.') {
                let known = node.children.iter().position(|(child, _)| child == name);
                let place = known.unwrap_or(node.children.len());
                if known.is_none() {
                    node.children.push((name.to_owned(), Node::default()));
                }
                let Some((_, child)) = node.children.get_mut(place) else { break };
                node = child;
            }
            node.ends.push(fields.leaves.len() - 1); // it was pushed above
        }
        fields
    }

    /// What is found of them in a document, by the last names of their paths; what is not there is not there. Of two paths with the same last
    /// name the later one counts.
    ///
    /// # Errors
    /// Where the text is no JSON object.
    pub fn of(&self, document: &[u8]) -> serde_json::Result<Map<String, Value>> {
        let found = self.values(document)?.into_iter();
        Ok(self.leaves.iter().zip(found).filter_map(|(name, value)| Some((name.clone(), value?))).collect())
    }

    /// The value at each path.
    pub(crate) fn values(&self, document: &[u8]) -> serde_json::Result<Vec<Option<Value>>> {
        let mut found = vec![None; self.leaves.len()];
        let mut json = serde_json::Deserializer::from_slice(document);
        json.deserialize_map(Walk { node: &self.root, found: &mut found })?;
        json.end()?;
        Ok(found)
    }
}

impl Node {
    fn forget(&self, found: &mut [Option<Value>]) {
        for end in &self.ends {
            if let Some(value) = found.get_mut(*end) {
                *value = None;
            }
        }
        self.children.iter().for_each(|(_, child)| child.forget(found));
    }

    /// Puts a value that was built to the paths that end here and below.
    fn take(&self, value: Value, found: &mut [Option<Value>]) {
        for (name, child) in &self.children {
            if let Some(inner) = value.as_object().and_then(|object| object.get(name)) {
                child.take(inner.clone(), found);
            }
        }
        let mut ends = self.ends.iter();
        let last = ends.next_back();
        for end in ends {
            if let Some(place) = found.get_mut(*end) {
                *place = Some(value.clone());
            }
        }
        if let Some(place) = last.and_then(|end| found.get_mut(*end)) {
            *place = Some(value);
        }
    }
}

struct Walk<'f> {
    node: &'f Node,
    found: &'f mut [Option<Value>],
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(place) = members.next_key_seed(Name(self.node))? {
            let child = place.and_then(|place| self.node.children.get(place)).map(|(_, child)| child);
            match child {
                None => drop(members.next_value::<IgnoredAny>()?),
                Some(child) => {
                    child.forget(self.found);
                    if child.ends.is_empty() {
                        members.next_value_seed(Walk { node: child, found: self.found })?;
                    } else {
                        child.take(members.next_value()?, self.found);
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

/// A member's name, as the place of the child that it leads to.
struct Name<'f>(&'f Node);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Option<usize>;

    fn deserialize<D: serde::Deserializer<'de>>(self, json: D) -> Result<Option<usize>, D::Error> {
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

/// What may be asked of a document; fields are paths as those of [`Fields`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Predicate {
    /// The field is there and has this value: 1 is not 1.0, and members may stand in any order.
    Eq(String, Value),
    /// The field is there, be it null.
    Exists(String),
    /// The field is not there.
    NotExists(String),
    /// All of these hold.
    And(Vec<Predicate>),
    /// One of these holds, at least.
    Or(Vec<Predicate>),
}

/// A [`Predicate`], ready to be asked of many documents: only the fields that it names are built.
#[derive(Debug, Clone)]
pub struct Filter {
    fields: Fields,
    question: Question,
}

#[derive(Debug, Clone)]
enum Question {
    Eq(usize, Value),
    Exists(usize),
    NotExists(usize),
    And(Vec<Question>),
    Or(Vec<Question>),
}

impl Filter {
    /// Makes a predicate ready.
    #[must_use]
    pub fn new(predicate: &Predicate) -> Self {
        let mut paths = Vec::new();
        let question = Question::new(predicate, &mut paths);
        Self { fields: Fields::new(paths), question }
    }

    /// Does it hold for a document?
    ///
    /// # Errors
    /// Where the text is no JSON object.
    pub fn holds(&self, document: &[u8]) -> serde_json::Result<bool> {
        Ok(self.question.holds(&self.fields.values(document)?))
    }
}

impl Question {
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

    fn holds(&self, found: &[Option<Value>]) -> bool {
        let value = |field: &usize| found.get(*field).and_then(Option::as_ref);
        match self {
            Self::Eq(field, wanted) => value(field) == Some(wanted),
            Self::Exists(field) => value(field).is_some(),
            Self::NotExists(field) => value(field).is_none(),
            Self::And(all) => all.iter().all(|one| one.holds(found)),
            Self::Or(all) => all.iter().any(|one| one.holds(found)),
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
        for (path, found) in paths.iter().zip(together) {
            assert_eq!(found, by_hand(path), "{path}");
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
        for (predicate, wanted) in [
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
            assert_eq!(Filter::new(&predicate).holds(DOCUMENT.as_bytes()).unwrap(), wanted, "{predicate:?}");
        }
    }
}
