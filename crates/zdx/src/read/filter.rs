//! Conditions on documents.

use std::borrow::Cow;
use std::cmp::Ordering;

use container_core::Result;
use memchr::{memchr, memmem};
use serde_core::de::Error as _;
use serde_json::{Number, Value};

use crate::read::document::Document;
use crate::read::fields::Fields;

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
    /// value of another type is an error when it is compared, but for the words `NaN`, `Infinity` and `-Infinity` as numbers: NaN equals itself and is the greatest.
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
    /// Strings as they are written without escapes, one of which a document must contain; `None` if others may pass.
    needles: Option<Vec<memmem::Finder<'static>>>,
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
        let finder = |needle: String| memmem::Finder::new(&needle).into_owned();
        let needles = needles(predicate).map(|all| all.into_iter().map(finder).collect());
        Self { fields: Fields::new(paths), test, needles }
    }

    /// Whether the predicate holds for a document.
    ///
    /// # Errors
    /// If the document is not a JSON object, or a compared field has another type.
    pub fn holds(&self, document: &[u8]) -> serde_json::Result<bool> {
        match std::str::from_utf8(document) {
            Ok(text) => self.holds_in(text),
            Err(_) => self.holds_in_values(document),
        }
    }

    fn holds_in(&self, document: &str) -> serde_json::Result<bool> {
        let written = self.fields.written(document);
        let held = written.and_then(|written| {
            // A value that serde_json reads differently on its own is left to it.
            self.test
                .holds(&|field: usize| match written.get(field) {
                    Some(Some(text)) => serde_json::from_str(text).map(|value| Some(Cow::Owned(value))),
                    _ => Ok(None),
                })
                .ok()
        });
        match held {
            Some(holds) => Ok(holds),
            None => self.holds_in_values(document.as_bytes()),
        }
    }

    fn holds_in_values(&self, document: &[u8]) -> serde_json::Result<bool> {
        let values = self.fields.values(document)?;
        self.test.holds(&|field: usize| Ok(values.get(field).and_then(Option::as_ref).map(Cow::Borrowed)))
    }

    /// Whether the predicate cannot hold for a line, as it lacks the strings that it needs. A line that is cut off, or has escapes, may hold them.
    pub(crate) fn rules_out(&self, line: &[u8]) -> bool {
        let Some(needles) = &self.needles else { return false };
        let is_whole = line.first() == Some(&b'{') && line.last() == Some(&b'}');
        is_whole && needles.iter().all(|needle| needle.find(line).is_none()) && memchr(b'\\', line).is_none()
    }

    /// Whether the predicate holds for a document, whose id counts as a member if it is in a file of its own.
    pub(crate) fn passes(&self, document: &Document<'_>) -> Result<bool> {
        let holds = match document.offset() {
            Some(_) => self.holds_in(document.text()?),
            None => self.holds(&document.line_with_id()?),
        };
        holds.map_err(|error| document.json_error(&error))
    }
}

/// The needles of a predicate, see [`Filter`]. Of several conditions that must hold, the one with the longest needles is the rarest.
fn needles(predicate: &Predicate) -> Option<Vec<String>> {
    match predicate {
        Predicate::Eq(_, Value::String(text)) | Predicate::Compare(_, Comparison::Eq, Value::String(text)) => {
            let is_plain = !text.contains(|c: char| c.is_ascii_control() || matches!(c, '"' | '\\'));
            is_plain.then(|| vec![format!("\"{text}\"")])
        }
        Predicate::And(all) => {
            let shortest = |needles: &Vec<String>| needles.iter().map(String::len).min();
            all.iter().filter_map(needles).max_by_key(shortest)
        }
        Predicate::Or(all) => Some(all.iter().map(needles).collect::<Option<Vec<_>>>()?.concat()),
        _ => None,
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

    /// No document for which a predicate holds is ruled out, however its strings are written.
    #[test]
    fn ruled_out_documents_do_not_match() {
        let texts = ["x", "", "xy", "\u{e9}", "a/b", "\"", "\\", "\n", "\u{7f}"];
        let written = [
            "\"x\"",
            "\"\"",
            "\"xy\"",
            "\"\u{e9}\"",
            "\"\\u00e9\"",
            "\"a\\/b\"",
            "\"\\\"\"",
            "\"\\\\\"",
            "\"\\n\"",
            "\"\u{7f}\"",
            "1",
        ];
        let is = |path: &str, text: &str| Predicate::Compare(path.to_owned(), Comparison::Eq, text.into());
        let eq = |path: &str, text: &str| Predicate::Eq(path.to_owned(), text.into());
        let (mut held, mut ruled_out) = (0, 0);
        for (a, b) in written.iter().flat_map(|a| written.iter().map(move |b| (a, b))) {
            let document = format!("{{\"a\":{a},\"b\":{{\"c\":{b}}}}}");
            for (one, other) in texts.iter().flat_map(|one| texts.iter().map(move |other| (one, other))) {
                for predicate in [
                    eq("a", one),
                    Predicate::And(vec![Predicate::Exists("a".to_owned()), is("b.c", other), eq("a", one)]),
                    Predicate::Or(vec![eq("a", one), eq("b.c", other)]),
                    Predicate::Or(vec![eq("a", one), Predicate::Exists("b.d".to_owned())]),
                ] {
                    let filter = Filter::new(&predicate);
                    let holds = filter.holds(document.as_bytes()).unwrap_or(false);
                    let is_ruled_out = filter.rules_out(document.as_bytes());
                    assert!(!(holds && is_ruled_out), "{document} {predicate:?}");
                    held += u32::from(holds);
                    ruled_out += u32::from(is_ruled_out);
                }
            }
        }
        assert!(held > 1000 && ruled_out > 1000, "{held} {ruled_out}");
        let filter = Filter::new(&eq("a", "x"));
        assert!(filter.rules_out(b"{\"a\":\"y\"}"));
        assert!(!filter.rules_out(b"{\"a\":\"y"), "the rest may be missing");
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
