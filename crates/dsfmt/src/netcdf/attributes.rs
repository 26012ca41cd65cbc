//! Converts NetCDF attributes to JSON in ds's formatting, and back.

use super::mask::exact_numbers;
use super::model::AttributeValue;
use super::number::{Number, exact, with_number};
use crate::array::{Values, each_kind};
use crate::json::{Json, JsonBuf, JsonKind};
use crate::types::DataType;

/// Formats an attribute as ds-format does via Python's `netCDF4`: a single number as a number, any other count as a list; an `f32` with the digits
/// of the equal `f64`.
pub(crate) fn json(value: &AttributeValue) -> JsonBuf {
    match value {
        AttributeValue::Text(text) => text.into(),
        AttributeValue::Texts(texts) => JsonBuf::list(texts.iter().map(JsonBuf::from)),
        AttributeValue::Json(json) => json.clone(),
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

/// Attributes that are compared with a variable's values, and so have its type.
const VALUE_ATTRIBUTES: [&str; 8] = [
    "_FillValue",
    "missing_value",
    "valid_min",
    "valid_max",
    "valid_range",
    "flag_values",
    "flag_masks",
    "actual_range",
];

/// Converts JSON to an attribute, and describes the loss, if any; no attribute if NetCDF has none for it.
///
/// Numbers get the variable's type `values` if the attribute describes its values and the type holds them exactly. Otherwise integers get 32 bits
/// if they fit, and floats 64, or 32 if their digits are those of an `f32`.
pub(crate) fn attribute(
    name: &str,
    value: Json<'_>,
    values: Option<DataType>,
    texts: bool,
) -> (Option<AttributeValue>, Option<String>) {
    let as_text = |why: &str| {
        let lost = format!("{why} written as JSON text");
        (Some(AttributeValue::Text(value.as_text().to_owned())), Some(lost))
    };
    let items: Vec<Json<'_>> = match value.kind() {
        JsonKind::String => {
            let lost = value.as_str().is_none().then(|| "lone surrogate written as its escape".to_owned());
            let text = value.to_text().unwrap_or_default().into_owned();
            let cut = text.contains('\0').then(|| "NUL characters end the string for other readers".to_owned());
            return (Some(AttributeValue::Text(text)), lost.or(cut));
        }
        JsonKind::Null => return (None, Some("null left out: NetCDF has no equivalent".to_owned())),
        JsonKind::Object => return as_text("object"),
        JsonKind::Bool => {
            let number = i8::from(value.as_bool() == Some(true));
            return (
                Some(AttributeValue::Numbers(vec![number].into())),
                Some("boolean written as a byte, 0 or 1".to_owned()),
            );
        }
        JsonKind::Array => value.items().collect(),
        JsonKind::Integer | JsonKind::Float => vec![value],
    };
    if !items.is_empty() && items.iter().all(|item| item.kind() == JsonKind::String) {
        let all: Option<Vec<String>> = items.iter().map(|item| item.as_str().map(Into::into)).collect();
        return match all {
            Some(all) if texts => (Some(AttributeValue::Texts(all)), None),
            _ => as_text("list of strings"),
        };
    }
    let Some((numbers, lost)) = numbers(&items) else { return as_text("list of mixed types") };
    let value = AttributeValue::Numbers(numbers);
    let typed = values
        .filter(|_| VALUE_ATTRIBUTES.contains(&name))
        .and_then(|data_type| with_number!(data_type, T => exact_numbers::<T>(&value).map(T::values), None));
    (Some(typed.map_or(value, AttributeValue::Numbers)), lost)
}

/// Numbers of the narrowest usual type; `None` unless all are numbers.
fn numbers(items: &[Json<'_>]) -> Option<(Values<'static>, Option<String>)> {
    let is = |kind| items.iter().all(|item| item.kind() == kind);
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
    let lost = inexact.then(|| "integer beyond 64 bits rounded to a float".to_owned());
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
    fn infers_attribute_types() {
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
        for (text, expected) in [
            ("null", "null left out: NetCDF has no equivalent"),
            ("true", "boolean written as a byte, 0 or 1"),
            ("{}", "object written as JSON text"),
            ("[\"a\"]", "list of strings written as JSON text"),
            ("[1, null]", "list of mixed types written as JSON text"),
            ("123456789012345678901", "integer beyond 64 bits rounded to a float"),
            ("\"\\ud800\"", "lone surrogate written as its escape"),
        ] {
            assert_eq!(of("a", text, None).1.as_deref(), Some(expected), "{text}");
        }
        let texts = attribute("a", Json::parse("[\"a\", \"b\"]").unwrap(), None, true);
        assert_eq!(texts, (Some(AttributeValue::Texts(vec!["a".into(), "b".into()])), None));
    }
}
