//! Values of attributes, for programs and for people.

use serde_json::{Map, Value};

use super::model::{Attribute, AttributeValue};
use crate::array::{Strings, Values};

/// Attributes for programs: one number as a number, any other count as a list, as in the ds file that a conversion would make; but a
/// float of 32 bits has its own digits.
pub(super) fn members(attributes: &[Attribute]) -> Map<String, Value> {
    attributes.iter().map(|attribute| (attribute.name.clone(), value(&attribute.value))).collect()
}

fn value(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::Text(text) => text.as_str().into(),
        AttributeValue::Texts(texts) => texts.iter().map(String::as_str).collect(),
        AttributeValue::Numbers(numbers) => match list(numbers, usize::MAX).as_mut_slice() {
            [one] => one.take(),
            all => all.iter_mut().map(Value::take).collect(),
        },
    }
}

impl AttributeValue {
    /// The beginning of the value for people, as it stands in a ds file's header, texts without their escapes: `most` numbers, texts or
    /// characters, and one more where there are more. Costs what is shown.
    #[must_use]
    pub fn shown(&self, most: usize) -> String {
        let quoted = |text: &str| {
            // One character more than is shown says that there is more.
            let begin = text.char_indices().nth(most + 1).map_or(text, |(end, _)| text.get(..end).unwrap_or(text));
            format!("\"{}\"", begin.replace('"', "\\\""))
        };
        // Not finite numbers are texts to programs.
        let plain = |number: &Value| number.as_str().map_or_else(|| number.to_string(), str::to_owned);
        match self {
            AttributeValue::Text(text) => quoted(text),
            AttributeValue::Texts(texts) => {
                format!("[{}]", texts.iter().take(most).map(|text| quoted(text)).collect::<Vec<_>>().join(", "))
            }
            AttributeValue::Numbers(numbers) => match list(numbers, most).as_slice() {
                [one] => plain(one),
                all => format!("[{}]", all.iter().map(plain).collect::<Vec<_>>().join(", ")),
            },
        }
    }
}

/// The first numbers of an attribute, `most` of them.
fn list(numbers: &Values<'_>, most: usize) -> Vec<Value> {
    fn each<T: Copy>(all: &[T], most: usize, value: impl Fn(T) -> Value) -> Vec<Value> {
        all.iter().take(most).map(|number| value(*number)).collect()
    }
    // The digits that a float of 32 bits needs, and not those of the same number in 64.
    let single = |number: f32| double(number.to_string().parse().unwrap_or_else(|_| f64::from(number)));
    let texts = |all: &Strings<'_>| all.iter().take(most).map(String::from_utf8_lossy).map(Value::from).collect();
    match numbers {
        Values::Float32(all) => each(all, most, single),
        Values::Float64(all) => each(all, most, double),
        Values::Int8(all) => each(all, most, Value::from),
        Values::Int16(all) => each(all, most, Value::from),
        Values::Int32(all) => each(all, most, Value::from),
        Values::Int64(all) => each(all, most, Value::from),
        Values::Uint8(all) => each(all, most, Value::from),
        Values::Uint16(all) => each(all, most, Value::from),
        Values::Uint32(all) => each(all, most, Value::from),
        Values::Uint64(all) => each(all, most, Value::from),
        Values::Bool(all) => each(all, most, Value::from),
        Values::Str(all) | Values::Unicode(all) => texts(all),
    }
}

/// A float; one that is not finite as its name.
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
    fn digits_are_those_of_the_type() {
        for (given, program, people) in [
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
            assert_eq!((&*value(&given).to_string(), &*given.shown(20)), (program, people));
        }
    }

    #[test]
    fn long_values_cost_what_is_shown() {
        assert_eq!(numbers(vec![1i32; 1_000_000]).shown(3), "[1, 1, 1]");
        assert_eq!(AttributeValue::Text("\u{fc}".repeat(1_000_000)).shown(3), "\"\u{fc}\u{fc}\u{fc}\u{fc}\"");
    }
}
