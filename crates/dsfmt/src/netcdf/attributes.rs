//! Attributes as JSON, in ds's spelling, and back.

use super::mask::held;
use super::model::AttributeValue;
use super::number::{Number, exact, with_number};
use crate::array::{Values, each_kind};
use crate::json::{Json, JsonBuf, JsonKind};
use crate::types::DataType;

/// As ds-format writes what Python's `netCDF4` reads: one number as a number, any other count as a list; a float of 32 bits with the digits
/// of 64.
pub(crate) fn json(value: &AttributeValue) -> JsonBuf {
    match value {
        AttributeValue::Text(text) => text.into(),
        AttributeValue::Texts(texts) => JsonBuf::list(texts.iter().map(JsonBuf::from)),
        AttributeValue::Numbers(numbers) => each_kind!(
            numbers,
            all => match all.as_ref() {
                [one] => (*one).into(),
                all => JsonBuf::list(all.iter().map(|number| (*number).into())),
            },
            all => JsonBuf::list(all.iter().map(|truth| (*truth).into())),
            all => JsonBuf::list(all.iter().map(|text| String::from_utf8_lossy(text).into()))
        ),
    }
}

/// Attributes whose value is compared with a variable's values, and so has its type.
const OF_VALUES: [&str; 8] = [
    "_FillValue",
    "missing_value",
    "valid_min",
    "valid_max",
    "valid_range",
    "flag_values",
    "flag_masks",
    "actual_range",
];

/// A JSON value as an attribute, and what is lost by that, in words; no attribute where NetCDF has none for it.
///
/// Numbers get the type of the variable, `values`, where the attribute speaks of its values and the type holds them unchanged. Else whole
/// numbers get 32 bits where they fit, and floats 64, but 32 where only their digits are those of such a one.
pub(crate) fn attribute(
    name: &str,
    value: Json<'_>,
    values: Option<DataType>,
    texts: bool,
) -> (Option<AttributeValue>, Option<String>) {
    let as_text = |why: &str| {
        let lost = format!("{why} is written as the text of its JSON");
        (Some(AttributeValue::Text(value.as_text().to_owned())), Some(lost))
    };
    let items: Vec<Json<'_>> = match value.kind() {
        JsonKind::String => {
            let lost = value.as_str().is_none().then(|| "half a surrogate pair is written as its escape".to_owned());
            let text = value.to_text().unwrap_or_default().into_owned();
            let cut = text.contains('\0').then(|| "NUL characters end a text for other readers".to_owned());
            return (Some(AttributeValue::Text(text)), lost.or(cut));
        }
        JsonKind::Null => return (None, Some("null has no place in NetCDF: it is left out".to_owned())),
        JsonKind::Object => return as_text("an object"),
        JsonKind::Bool => {
            let number = i8::from(value.as_bool() == Some(true));
            return (
                Some(AttributeValue::Numbers(vec![number].into())),
                Some("a truth value is written as a byte, 0 or 1".to_owned()),
            );
        }
        JsonKind::Array => value.items().collect(),
        JsonKind::Integer | JsonKind::Float => vec![value],
    };
    if !items.is_empty() && items.iter().all(|item| item.kind() == JsonKind::String) {
        let all: Option<Vec<String>> = items.iter().map(|item| item.as_str().map(Into::into)).collect();
        return match all {
            Some(all) if texts => (Some(AttributeValue::Texts(all)), None),
            _ => as_text("a list of texts"),
        };
    }
    let Some((numbers, lost)) = numbers(&items) else { return as_text("a list of values of several kinds") };
    let value = AttributeValue::Numbers(numbers);
    let typed = values
        .filter(|_| OF_VALUES.contains(&name))
        .and_then(|data_type| with_number!(data_type, T => held::<T>(&value).map(T::values), None));
    (Some(typed.map_or(value, AttributeValue::Numbers)), lost)
}

/// Numbers of the narrowest type that is usual; `None` when one is no number.
fn numbers(items: &[Json<'_>]) -> Option<(Values<'static>, Option<String>)> {
    let is = |wanted| items.iter().all(|item| item.kind() == wanted);
    if is(JsonKind::Integer) && !items.is_empty() {
        let all: Option<Vec<i64>> = items.iter().map(Json::as_i64).collect();
        if let Some(all) = all {
            let narrow: Result<Vec<i32>, _> = all.iter().map(|number| i32::try_from(*number)).collect();
            return Some((narrow.map_or_else(|_| all.into(), Values::from), None));
        }
        let all: Option<Vec<u64>> = items.iter().map(Json::as_u64).collect();
        if let Some(all) = all {
            return Some((all.into(), None));
        }
    }
    let all: Option<Vec<f64>> = items.iter().map(Json::as_f64).collect();
    let all = all?;
    let inexact = items.iter().any(|item| item.kind() == JsonKind::Integer && item.as_i64().is_none());
    let lost = inexact.then(|| "a whole number beyond 64 bits is rounded to a float".to_owned());
    let narrow: Option<Vec<f32>> = all.iter().map(|number| exact(*number)).collect();
    if let Some(narrow) = narrow
        && narrow.iter().any(|number| format!("{number:e}").len() < format!("{:e}", f64::from(*number)).len())
    {
        return Some((narrow.into(), lost));
    }
    Some((all.into(), lost))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_get_the_type_they_had() {
        let of = |name: &str, text: &str, values| attribute(name, Json::parse(text).unwrap(), values, false);
        let numbers = |found: (Option<AttributeValue>, Option<String>)| match found {
            (Some(AttributeValue::Numbers(numbers)), None) => numbers,
            other => panic!("{other:?}"),
        };
        assert_eq!(numbers(of("a", "3", None)), vec![3i32].into());
        assert_eq!(numbers(of("a", "[3, 4000000000]", None)), vec![3i64, 4_000_000_000].into());
        assert_eq!(numbers(of("a", "18446744073709551615", None)), vec![u64::MAX].into());
        assert_eq!(numbers(of("a", "1.0000000200408773e+20", None)), vec![1e20f32].into());
        assert_eq!(numbers(of("a", "0.1", None)), vec![0.1f64].into());
        assert_eq!(numbers(of("a", "[2.5, 1]", None)), vec![2.5f64, 1.0].into());
        assert_eq!(numbers(of("a", "[]", None)), Vec::<f64>::new().into());
        assert_eq!(numbers(of("_FillValue", "-9999", Some(DataType::Int16))), vec![-9999i16].into());
        assert_eq!(numbers(of("_FillValue", "-9999.0", Some(DataType::Int16))), vec![-9999i16].into());
        assert_eq!(numbers(of("_FillValue", "70000", Some(DataType::Int16))), vec![70_000i32].into());
        assert_eq!(numbers(of("units", "3", Some(DataType::Int16))), vec![3i32].into());
        let nan = numbers(of("_FillValue", "NaN", Some(DataType::Float32)));
        assert!(nan.as_slice::<f32>().unwrap()[0].is_nan());
        for (text, wanted) in [
            ("null", "null has no place in NetCDF: it is left out"),
            ("true", "a truth value is written as a byte, 0 or 1"),
            ("{}", "an object is written as the text of its JSON"),
            ("[\"a\"]", "a list of texts is written as the text of its JSON"),
            ("[1, null]", "a list of values of several kinds is written as the text of its JSON"),
            ("123456789012345678901", "a whole number beyond 64 bits is rounded to a float"),
            ("\"\\ud800\"", "half a surrogate pair is written as its escape"),
        ] {
            assert_eq!(of("a", text, None).1.as_deref(), Some(wanted), "{text}");
        }
        let texts = attribute("a", Json::parse("[\"a\", \"b\"]").unwrap(), None, true);
        assert_eq!(texts, (Some(AttributeValue::Texts(vec!["a".into(), "b".into()])), None));
    }
}
