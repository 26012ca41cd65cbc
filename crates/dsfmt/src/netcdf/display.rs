//! Attribute values as JSON and as text.

use serde_json::{Map, Value};

use super::model::{Attribute, AttributeValue};
use crate::array::{Strings, Values};

/// Attributes as JSON: a single number as a number, any other count as a list, as in the equivalent ds file; but an `f32` has its own digits.
pub(super) fn attributes(attributes: &[Attribute]) -> Map<String, Value> {
    attributes.iter().map(|attribute| (attribute.name.clone(), value(&attribute.value))).collect()
}

fn value(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::Text(text) => text.as_str().into(),
        AttributeValue::Texts(texts) => texts.iter().map(String::as_str).collect(),
        // JSON always serializes.
        AttributeValue::Json(json) => serde_json::to_value(json.as_json()).unwrap_or_default(),
        AttributeValue::Numbers(numbers) => match list(numbers, usize::MAX).as_mut_slice() {
            [one] => one.take(),
            all => all.iter_mut().map(Value::take).collect(),
        },
    }
}

impl AttributeValue {
    /// The beginning of the value as text in ds's notation, strings without escapes: up to `max` numbers or strings, or `max` characters and
    /// one more if the string is longer. Costs only what is shown.
    #[must_use]
    pub fn preview(&self, max: usize) -> String {
        let quoted = |text: &str| {
            // One more character than `max` shows that the string is longer.
            let begin = text.char_indices().nth(max + 1).map_or(text, |(end, _)| text.get(..end).unwrap_or(text));
            format!("\"{}\"", begin.replace('"', "\\\""))
        };
        // Non-finite numbers are strings in JSON.
        let plain = |number: &Value| number.as_str().map_or_else(|| number.to_string(), str::to_owned);
        match self {
            AttributeValue::Text(text) => quoted(text),
            AttributeValue::Texts(texts) => {
                format!("[{}]", texts.iter().take(max).map(|text| quoted(text)).collect::<Vec<_>>().join(", "))
            }
            AttributeValue::Json(json) => json.as_json().as_text().chars().take(max + 1).collect(),
            AttributeValue::Numbers(numbers) => match list(numbers, max).as_slice() {
                [one] => plain(one),
                all => format!("[{}]", all.iter().map(plain).collect::<Vec<_>>().join(", ")),
            },
        }
    }
}

/// The first `max` numbers as JSON.
fn list(numbers: &Values<'_>, max: usize) -> Vec<Value> {
    fn each<T: Copy>(all: &[T], max: usize, value: impl Fn(T) -> Value) -> Vec<Value> {
        all.iter().take(max).map(|number| value(*number)).collect()
    }
    // The shortest digits of the `f32`, not those of the equal `f64`.
    let single = |number: f32| double(number.to_string().parse().unwrap_or_else(|_| f64::from(number)));
    let texts = |all: &Strings<'_>| all.iter().take(max).map(String::from_utf8_lossy).map(Value::from).collect();
    match numbers {
        Values::Float32(all) => each(all, max, single),
        Values::Float64(all) => each(all, max, double),
        Values::Int8(all) => each(all, max, Value::from),
        Values::Int16(all) => each(all, max, Value::from),
        Values::Int32(all) => each(all, max, Value::from),
        Values::Int64(all) => each(all, max, Value::from),
        Values::Uint8(all) => each(all, max, Value::from),
        Values::Uint16(all) => each(all, max, Value::from),
        Values::Uint32(all) => each(all, max, Value::from),
        Values::Uint64(all) => each(all, max, Value::from),
        Values::Bool(all) => each(all, max, Value::from),
        Values::Str(all) | Values::Unicode(all) => texts(all),
    }
}

/// A float; a string when not finite.
fn double(number: f64) -> Value {
    match number {
        _ if number.is_nan() => "NaN".into(),
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        finite => finite.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(all: impl Into<Values<'static>>) -> AttributeValue {
        AttributeValue::Numbers(all.into())
    }

    #[test]
    fn keeps_digits_of_the_type() {
        for (value, json, text) in [
            (numbers(vec![0.1f32]), "0.1", "0.1"),
            (numbers(vec![1e20f32, f32::MIN_POSITIVE]), "[1e+20,1.1754944e-38]", "[1e+20, 1.1754944e-38]"),
            (numbers(vec![f64::from(0.1f32)]), "0.10000000149011612", "0.10000000149011612"),
            (numbers(vec![f32::NAN, f32::INFINITY]), "[\"NaN\",\"Infinity\"]", "[NaN, Infinity]"),
            (numbers(vec![f64::NEG_INFINITY]), "\"-Infinity\"", "-Infinity"),
            (numbers(vec![u64::MAX]), "18446744073709551615", "18446744073709551615"),
            (numbers(vec![-7i8]), "-7", "-7"),
            (numbers(Vec::<i16>::new()), "[]", "[]"),
            (AttributeValue::Text("a \"b\"".into()), r#""a \"b\"""#, r#""a \"b\"""#),
            (AttributeValue::Texts(vec!["a".into(), "b".into()]), r#"["a","b"]"#, r#"["a", "b"]"#),
        ] {
            assert_eq!((&*super::value(&value).to_string(), &*value.preview(20)), (json, text));
        }
    }

    #[test]
    fn preview_is_bounded() {
        assert_eq!(numbers(vec![1i32; 1_000_000]).preview(3), "[1, 1, 1]");
        assert_eq!(AttributeValue::Text("\u{fc}".repeat(1_000_000)).preview(3), "\"\u{fc}\u{fc}\u{fc}\u{fc}\"");
    }
}
