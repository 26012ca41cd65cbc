//! Projection of document fields, and predicates on them, without building the rest of the document.

use std::borrow::Cow;
use std::cmp::Ordering;

use container_core::Result;
use serde_core::Deserializer as _;
use serde_core::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::read::document::Document;
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
    fn written<'d>(&self, document: &'d str) -> Option<Written<'d>> {
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
type Written<'d> = [Option<&'d str>; MAX_PICKED];

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
    /// The field is there, is not null, and compares so with this string, number or boolean: by code points, by exact value, false before true. A
    /// value of another type is an error, but for the words `NaN`, `Infinity` and `-Infinity` as numbers: NaN equals itself and is the greatest.
    Compare(String, Comparison, Value),
    /// The field does not exist or is null.
    IsNull(String),
    /// The field exists and is not null.
    IsNotNull(String),
    /// All of these conditions hold.
    And(Vec<Predicate>),
    /// At least one of these conditions holds.
    Or(Vec<Predicate>),
}

/// How a field is compared with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Eq,
    /// `<>`
    NotEq,
    /// `<`
    Less,
    /// `<=`
    LessEq,
    /// `>`
    Greater,
    /// `>=`
    GreaterEq,
}

impl Comparison {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Eq => order.is_eq(),
            Self::NotEq => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessEq => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterEq => order.is_ge(),
        }
    }
}

/// The order of two values of one type.
fn order(found: &Value, wanted: &Value) -> serde_json::Result<Ordering> {
    match (found, wanted) {
        (Value::String(found), Value::String(wanted)) => Ok(found.cmp(wanted)),
        (Value::Bool(found), Value::Bool(wanted)) => Ok(found.cmp(wanted)),
        (Value::Number(found), Value::Number(wanted)) => Ok(number_order(found, wanted)),
        (Value::String(word), Value::Number(_)) => match word.as_str() {
            "NaN" | "Infinity" => Ok(Ordering::Greater),
            "-Infinity" => Ok(Ordering::Less),
            _ => Err(mismatch(found, wanted)),
        },
        _ => Err(mismatch(found, wanted)),
    }
}

#[cold]
fn mismatch(found: &Value, wanted: &Value) -> serde_json::Error {
    let kind = |value: &Value| match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    serde_json::Error::custom(format!("the condition expects {}, found {}", kind(wanted), kind(found)))
}

/// The order of two numbers, integers exactly.
fn number_order(found: &Number, wanted: &Number) -> Ordering {
    let integer = |number: &Number| number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    let float = |number: &Number| number.as_f64().unwrap_or(f64::NAN); // always a number without the feature arbitrary_precision
    match (integer(found), integer(wanted)) {
        (Some(found), Some(wanted)) => found.cmp(&wanted),
        (Some(found), None) => exact_order(found, float(wanted)),
        (None, Some(wanted)) => exact_order(wanted, float(found)).reverse(),
        (None, None) => float(found).partial_cmp(&float(wanted)).unwrap_or(Ordering::Equal),
    }
}

/// The order of an integer of 64 bits and a finite number.
fn exact_order(integer: i128, float: f64) -> Ordering {
    if float.abs() >= 1e30 {
        return if float > 0.0 { Ordering::Less } else { Ordering::Greater };
    }
    #[expect(clippy::cast_possible_truncation, reason = "within 1e30, and floored")]
    let floor = float.floor() as i128;
    integer.cmp(&floor).then(if float.fract() == 0.0 { Ordering::Equal } else { Ordering::Less })
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
    Compare(usize, Comparison, Value),
    IsNull(usize),
    IsNotNull(usize),
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
    /// If the document is not a JSON object, or a compared field has another type.
    pub fn holds(&self, document: &[u8]) -> serde_json::Result<bool> {
        let written = std::str::from_utf8(document).ok().and_then(|text| self.fields.written(text));
        let held = written.and_then(|written| {
            // A value that serde_json reads differently on its own is left to it.
            self.test
                .holds(&|field: usize| match written.get(field) {
                    Some(Some(text)) => serde_json::from_str(text).map(|value| Some(Cow::Owned(value))),
                    _ => Ok(None),
                })
                .ok()
        });
        if let Some(holds) = held {
            return Ok(holds);
        }
        let values = self.fields.values(document)?;
        self.test.holds(&|field: usize| Ok(values.get(field).and_then(Option::as_ref).map(Cow::Borrowed)))
    }
}

impl Filter {
    /// Whether the predicate holds for a document, whose id counts as a member if it is in a file of its own.
    pub(crate) fn passes(&self, document: &Document<'_>) -> Result<bool> {
        let line = match document.offset() {
            Some(_) => Cow::Borrowed(document.text()?.as_bytes()),
            None => document.line_with_id()?,
        };
        self.holds(&line).map_err(|error| document.json_error(&error))
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
            Predicate::Compare(path, comparison, value) => Self::Compare(field(path), *comparison, value.clone()),
            Predicate::IsNull(path) => Self::IsNull(field(path)),
            Predicate::IsNotNull(path) => Self::IsNotNull(field(path)),
            Predicate::And(all) => Self::And(all.iter().map(|one| Self::new(one, paths)).collect()),
            Predicate::Or(all) => Self::Or(all.iter().map(|one| Self::new(one, paths)).collect()),
        }
    }

    /// Evaluates the test on the values of fields.
    fn holds<'v>(
        &self,
        value: &impl Fn(usize) -> serde_json::Result<Option<Cow<'v, Value>>>,
    ) -> serde_json::Result<bool> {
        let is_null = |field: usize| Ok(value(field)?.is_none_or(|value| value.is_null()));
        Ok(match self {
            Self::Eq(field, wanted) => value(*field)?.as_deref() == Some(wanted),
            Self::Exists(field) => value(*field)?.is_some(),
            Self::NotExists(field) => value(*field)?.is_none(),
            Self::Compare(field, comparison, wanted) => match value(*field)?.as_deref() {
                None | Some(Value::Null) => false,
                Some(found) => comparison.holds(order(found, wanted)?),
            },
            Self::IsNull(field) => is_null(*field)?,
            Self::IsNotNull(field) => !is_null(*field)?,
            Self::And(all) => {
                for one in all {
                    if !one.holds(value)? {
                        return Ok(false);
                    }
                }
                true
            }
            Self::Or(all) => {
                for one in all {
                    if one.holds(value)? {
                        return Ok(true);
                    }
                }
                false
            }
        })
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
        let compare = |path: &str, how: Comparison, value: Value| Predicate::Compare(path.to_owned(), how, value);
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
            (compare("a", Comparison::Eq, json!(2.0)), true),
            (compare("a", Comparison::Less, json!(2.5)), true),
            (compare("a", Comparison::NotEq, json!(2)), false),
            (compare("za", Comparison::GreaterEq, json!("z")), true),
            (compare("none", Comparison::NotEq, json!(2)), false),
            (compare("b.d.e", Comparison::NotEq, json!("x")), false),
            (Predicate::IsNull("b.d.e".to_owned()), true),
            (Predicate::IsNull("a".to_owned()), false),
            (Predicate::IsNotNull("none".to_owned()), false),
            (Predicate::And(vec![exists("a"), lacks("b")]), false),
            (Predicate::Or(vec![lacks("a"), Predicate::And(vec![exists("b"), exists("f")])]), true),
            (Predicate::Or(vec![]), false),
            (Predicate::And(vec![]), true),
        ] {
            assert_eq!(Filter::new(&predicate).holds(DOCUMENT.as_bytes()).unwrap(), expected, "{predicate:?}");
        }
        let other = Filter::new(&compare("za", Comparison::Eq, json!(1))).holds(DOCUMENT.as_bytes()).unwrap_err();
        assert_eq!(other.to_string(), "the condition expects a number, found text");
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

    #[test]
    fn numbers_are_compared_exactly() {
        let order = |found: &str, wanted: &str| {
            let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            super::order(&value(found), &value(wanted)).unwrap()
        };
        for (found, wanted, expected) in [
            ("9007199254740993", "9007199254740992.0", Ordering::Greater),
            ("-9007199254740993", "-9007199254740992.0", Ordering::Less),
            ("18446744073709551615", "-1", Ordering::Greater),
            ("18446744073709551615", "1.8446744073709552e19", Ordering::Less),
            ("1.5", "1", Ordering::Greater),
            ("-1.5", "-1", Ordering::Less),
            ("-0.0", "0", Ordering::Equal),
            ("0", "-0.0", Ordering::Equal),
            ("1e300", "9223372036854775807", Ordering::Greater),
            ("\"NaN\"", "1e308", Ordering::Greater),
            ("\"-Infinity\"", "-1e308", Ordering::Less),
        ] {
            assert_eq!(order(found, wanted), expected, "{found} {wanted}");
        }
    }
}
