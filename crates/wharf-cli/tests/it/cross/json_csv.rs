//! Compares JSON values and CSV cells with expected values.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

use super::kind::{Kind, Value};
use super::time;

/// Whether the JSON represents the value, by the rules of the README.
pub(crate) fn is(kind: &Kind, expected: &Value, found: &Json) -> bool {
    let text = |expected: &str| found.as_str() == Some(expected);
    match (kind, expected) {
        // Masks apply to single elements.
        (Kind::Fixed(..) | Kind::Tensor(..), Value::Null) => {
            found.is_null() || flat(found).is_some_and(|items| items.iter().all(|item| item.is_null()))
        }
        (_, Value::Null) => found.is_null(),
        (_, Value::Bool(expected)) => found.as_bool() == Some(*expected),
        (_, Value::Int(expected)) => {
            found.as_i64().map(i128::from).or_else(|| found.as_u64().map(i128::from)) == Some(*expected)
        }
        (Kind::Float(width), Value::Float(expected)) => float(found, *width, *expected),
        (_, Value::Text(expected)) => text(expected),
        (_, Value::Bytes(expected)) => found.as_object().is_some_and(|members| {
            members.len() == 1 && members["$bytes"].as_str() == Some(&STANDARD.encode(expected))
        }),
        (_, Value::Days(days)) => text(&time::date(*days)),
        (Kind::Timestamp, Value::Micros(micros)) => text(&time::timestamp(*micros)),
        (_, Value::Micros(micros)) => text(&time::duration(*micros)),
        (Kind::List(item), Value::List(expected)) => {
            found.as_array().is_some_and(|found| all(expected, found.iter(), |_| item))
        }
        (Kind::Fixed(item, _) | Kind::Tensor(item, _), Value::List(expected)) => {
            flat(found).is_some_and(|found| all(expected, found.into_iter(), |_| item))
        }
        (Kind::Struct(members), Value::List(expected)) => found.as_object().is_some_and(|found| {
            let items = members.iter().map(|(name, _)| found.get(name).unwrap_or(&Json::Null));
            found.len() <= members.len() && all(expected, items, |at| &members[at].1)
        }),
        _ => false,
    }
}

fn all<'a>(
    expected: &[Value],
    found: impl ExactSizeIterator<Item = &'a Json>,
    kind: impl Fn(usize) -> &'a Kind,
) -> bool {
    expected.len() == found.len()
        && expected.iter().zip(found).enumerate().all(|(at, (expected, found))| is(kind(at), expected, found))
}

/// Equality of bits, except NaN. For 16 and 32 bits, digits that round to the value suffice.
fn float(found: &Json, width: u8, expected: f64) -> bool {
    let found = match (found.as_f64(), found.as_str()) {
        (Some(number), _) => number,
        (_, Some("NaN")) => f64::NAN,
        (_, Some("Infinity")) => f64::INFINITY,
        (_, Some("-Infinity")) => f64::NEG_INFINITY,
        _ => return false,
    };
    same(width, expected, found)
}

/// See [`float`].
pub(crate) fn same(width: u8, expected: f64, found: f64) -> bool {
    if width == 16 && expected.is_finite() && expected != 0.0 {
        // Nearer to it than to its neighbors, which are closest below a power of two.
        let exponent = (-14..=15).rev().find(|exponent| expected.abs() >= 2_f64.powi(*exponent)).unwrap_or(-14);
        return (found - expected).abs() < 2_f64.powi(exponent - 12);
    }
    #[expect(clippy::cast_possible_truncation, reason = "the nearest of 32 bits is meant")]
    let found = if width == 64 { found } else { f64::from(found as f32) };
    expected.to_bits() == found.to_bits() || (expected.is_nan() && found.is_nan())
}

/// The elements of nested arrays, or of an array with a shape.
fn flat(found: &Json) -> Option<Vec<&Json>> {
    if let Some(array) = found.get("$ndarray") {
        return Some(array["data"].as_array()?.iter().collect());
    }
    let items = found.as_array()?;
    if items.first().is_some_and(Json::is_array) {
        return items.iter().map(flat).collect::<Option<Vec<_>>>().map(|rows| rows.concat());
    }
    Some(items.iter().collect())
}

/// Whether a CSV cell represents the value: strings are unquoted, everything else is JSON. An empty cell is null or an empty string.
pub(crate) fn is_cell(kind: &Kind, expected: &Value, cell: &str) -> bool {
    match expected {
        Value::Null => cell.is_empty() || (cell.starts_with('[') && in_cell(kind, expected, cell)),
        Value::Text(expected) => cell == expected,
        Value::Bool(expected) => cell.eq_ignore_ascii_case(&expected.to_string()),
        Value::Days(_) | Value::Micros(_) => is(kind, expected, &Json::String(cell.to_owned())),
        Value::Float(float) if !float.is_finite() => is(kind, expected, &Json::String(cell.to_owned())),
        _ => in_cell(kind, expected, cell),
    }
}

fn in_cell(kind: &Kind, expected: &Value, cell: &str) -> bool {
    serde_json::from_str(cell).is_ok_and(|found| is(kind, expected, &found))
}
