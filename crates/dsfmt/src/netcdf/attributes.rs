//! Attributes as JSON, in ds's spelling, and back.

use super::model::AttributeValue;
use crate::array::each_kind;
use crate::json::JsonBuf;

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
