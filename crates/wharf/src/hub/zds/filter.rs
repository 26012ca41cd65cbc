//! Conditions that are evaluated on the bytes of documents, without types of columns.

use container_arrow::Predicate;
use container_arrow::predicate::{Comparison, Condition, Constant};
use serde_json::Value;

/// Significant digits of a decimal literal up to which its nearest floating-point number compares with integers as the literal does.
const MAX_DIGITS: usize = 15;

/// The predicate as the store evaluates it; `None` if it cannot.
pub fn on_documents(predicate: &Predicate) -> Option<zdx::Predicate> {
    lowered(&predicate.condition())
}

fn lowered(condition: &Condition) -> Option<zdx::Predicate> {
    let every = |all: &[Condition]| all.iter().map(lowered).collect::<Option<Vec<_>>>();
    Some(match condition {
        Condition::All(all) => zdx::Predicate::And(every(all)?),
        Condition::Any(all) => zdx::Predicate::Or(every(all)?),
        Condition::Compare { path, comparison, value } => {
            zdx::Predicate::Compare(joined(path)?, how(*comparison), constant(value)?)
        }
        Condition::IsNull { path, negated: false } => zdx::Predicate::IsNull(joined(path)?),
        Condition::IsNull { path, negated: true } => zdx::Predicate::IsNotNull(joined(path)?),
        _ => return None,
    })
}

/// A path of names, unless one of them contains the separator.
fn joined(path: &[String]) -> Option<String> {
    path.iter().all(|name| !name.contains('.') && !name.is_empty()).then(|| path.join("."))
}

fn how(comparison: Comparison) -> zdx::Comparison {
    match comparison {
        Comparison::Eq => zdx::Comparison::Eq,
        Comparison::NotEq => zdx::Comparison::NotEq,
        Comparison::Less => zdx::Comparison::Less,
        Comparison::LessEq => zdx::Comparison::LessEq,
        Comparison::Greater => zdx::Comparison::Greater,
        Comparison::GreaterEq => zdx::Comparison::GreaterEq,
    }
}

fn constant(value: &Constant) -> Option<Value> {
    match value {
        Constant::Bool(value) => Some((*value).into()),
        Constant::Text(text) => Some(text.as_str().into()),
        Constant::Number(text) => match (text.parse::<i64>(), text.parse::<u64>(), text.parse::<f64>()) {
            (Ok(integer), ..) => Some(integer.into()),
            (_, Ok(integer), _) => Some(integer.into()),
            (.., Ok(float)) if text.bytes().filter(u8::is_ascii_digit).count() <= MAX_DIGITS && float.is_finite() => {
                Some(float.into())
            }
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lowers_what_documents_can_answer() {
        let lowered = |text: &str| on_documents(&Predicate::parse(text).unwrap());
        let compare = |path: &str, how, value: Value| zdx::Predicate::Compare(path.to_owned(), how, value);
        let is_null = |path: &str| zdx::Predicate::IsNull(path.to_owned());
        use zdx::Comparison::{Eq, Greater, LessEq, NotEq};
        for (text, expected) in [
            ("a.b = 'x'", compare("a.b", Eq, json!("x"))),
            ("1.5 < a", compare("a", Greater, json!(1.5))),
            ("not a > 18446744073709551615", compare("a", LessEq, json!(u64::MAX))),
            ("ok", compare("ok", Eq, json!(true))),
            ("not (ok or a is not null)", zdx::Predicate::And(vec![compare("ok", Eq, json!(false)), is_null("a")])),
            (
                "a not in ('x', 'y')",
                zdx::Predicate::And(vec![compare("a", NotEq, json!("x")), compare("a", NotEq, json!("y"))]),
            ),
        ] {
            assert_eq!(lowered(text), Some(expected), "{text}");
        }
        for text in [
            "a like 'x%'",
            "a + 1 = 2",
            "a = b",
            "\"a.b\" = 1",
            "a[1] = 1",
            "a = 1 and length(b) = 2",
            "a = 0.1234567890123456",
        ] {
            assert_eq!(lowered(text), None, "{text}");
        }
        assert_eq!(lowered("a is not true"), None, "unknown is not true, either");
    }
}
