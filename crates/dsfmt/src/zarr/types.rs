//! Element types of arrays.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use container_core::{Error, Result};
use serde_json::{Map, Value, json};

use super::metadata::set_text;
use crate::array::{Strings, Values};
use crate::netcdf::{Attribute, AttributeValue, NcType, exact_numbers, with_number};
use crate::types::DataType;

/// How elements are stored, and what they become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stored {
    Number(DataType),
    Bool,
    /// Becomes `float32`, which holds all of its values.
    Float16,
    /// Text of any length.
    Text,
    /// Code points of 32 bits, this many.
    Utf32(usize),
    /// Bytes of any length.
    Bytes,
    /// This many bytes; without the NULs at the end when `trimmed`.
    FixedBytes {
        len: usize,
        trimmed: bool,
    },
    /// Times or durations in units of numpy, as 64-bit integers, of which one is this many of the unit.
    Time {
        unit: &'static str,
        count: i64,
        is_duration: bool,
    },
}

/// The attribute of other values that mean "missing".
pub(super) const MISSING: &str = "missing_value";

/// The value of numpy's `NaT`.
const NOT_A_TIME: i64 = i64::MIN;

/// The longest fixed-length element, in bytes.
const MAX_FIXED: u64 = 1 << 20;

impl Stored {
    /// The type of this name and configuration.
    ///
    /// # Errors
    /// [`Unsupported`](container_core::ErrorKind::Unsupported), naming the type.
    pub(super) fn new(name: &str, configuration: &Map<String, Value>) -> Result<Self> {
        let number = DataType::from_name(name).filter(|known| known.width().is_some());
        let length = |key: &str, unit: u64| {
            let bytes = configuration.get(key).and_then(Value::as_u64);
            let len = bytes.filter(|bytes| *bytes <= MAX_FIXED && bytes.is_multiple_of(unit)).map(|bytes| bytes / unit);
            len.and_then(|len| usize::try_from(len).ok()).filter(|len| *len > 0).ok_or_else(|| {
                Error::invalid(format!("data type {name:?}: expected {key} from 1 to {MAX_FIXED}, found {bytes:?}"))
            })
        };
        Ok(match name {
            _ if number.is_some() => Self::Number(number.unwrap_or(DataType::Int8)),
            "bool" => Self::Bool,
            "float16" => Self::Float16,
            "string" => Self::Text,
            "fixed_length_utf32" => Self::Utf32(length("length_bytes", 4)?),
            "bytes" | "variable_length_bytes" | "binary" => Self::Bytes,
            "null_terminated_bytes" => Self::FixedBytes { len: length("length_bytes", 1)?, trimmed: true },
            "raw_bytes" => Self::FixedBytes { len: length("length_bytes", 1)?, trimmed: false },
            "numpy.datetime64" | "numpy.timedelta64" => Self::time(name, configuration)?,
            _ => match raw_bits(name) {
                Some(len) => Self::FixedBytes { len, trimmed: false },
                None => {
                    let known = "bool, integers of 8 to 64 bits, float16 to float64, string, bytes, \
                                 fixed_length_utf32, null_terminated_bytes, raw_bytes, r*, numpy.datetime64, numpy.timedelta64";
                    return Err(Error::unsupported(format!("data type {name:?} (known: {known})")));
                }
            },
        })
    }

    fn time(name: &str, configuration: &Map<String, Value>) -> Result<Self> {
        let unit = configuration.get("unit").and_then(Value::as_str).unwrap_or_default();
        let scale = configuration.get("scale_factor").and_then(Value::as_u64).unwrap_or(1);
        let words = [
            ("W", "days"), // CF has no weeks
            ("D", "days"),
            ("h", "hours"),
            ("m", "minutes"),
            ("s", "seconds"),
            ("ms", "milliseconds"),
            ("us", "microseconds"),
            ("\u{3bc}s", "microseconds"),
            ("ns", "nanoseconds"),
        ];
        let word = words.iter().find(|(short, _)| *short == unit && scale == 1).map(|(_, word)| *word);
        let word = word.ok_or_else(|| {
            Error::unsupported(format!("{name} in units of {scale} {unit:?} (known: 1 W, D, h, m, s, ms, us or ns)"))
        })?;
        let count = if unit == "W" { 7 } else { 1 };
        Ok(Self::Time { unit: word, count, is_duration: name == "numpy.timedelta64" })
    }

    /// The type in the model of NetCDF.
    pub(super) fn nc_type(&self) -> NcType {
        match self {
            Self::Number(number) => NcType::Number(*number),
            Self::Bool => NcType::Number(DataType::Bool),
            Self::Float16 => NcType::Number(DataType::Float32),
            Self::Text | Self::Utf32(_) => NcType::String,
            Self::Bytes | Self::FixedBytes { .. } => NcType::Bytes,
            Self::Time { .. } => NcType::Number(DataType::Int64),
        }
    }

    /// Bytes of an element in memory; of texts and bytes of any length those of an offset and a short text.
    pub(super) fn width(&self) -> usize {
        match self {
            Self::Number(number) => number.width().unwrap_or(8),
            Self::Bool => 1,
            Self::Float16 => 4,
            Self::Text | Self::Bytes => 16,
            Self::Utf32(len) => len.saturating_mul(4).saturating_add(8),
            Self::FixedBytes { len, .. } => len.saturating_add(8),
            Self::Time { .. } => 8,
        }
    }

    /// Whether each element takes the same number of bytes in a chunk.
    pub(super) fn is_fixed(&self) -> bool {
        !matches!(self, Self::Text | Self::Bytes)
    }

    /// What `zarrs` reads instead, if its types differ, and the fill value for it.
    pub(super) fn rewritten(&self, fill: &Value) -> Result<(Option<Value>, Value)> {
        let invalid = || {
            let found: String = fill.to_string().chars().take(40).collect();
            Error::invalid(format!("fill_value {found} is not of the data type"))
        };
        match self {
            Self::FixedBytes { len, .. } => {
                let bytes = match fill {
                    Value::Array(all) => {
                        all.iter().map(|byte| byte.as_u64().and_then(|byte| u8::try_from(byte).ok())).collect()
                    }
                    Value::String(text) => BASE64.decode(text).ok(),
                    Value::Null => Some(Vec::new()),
                    _ => None,
                };
                let mut bytes: Vec<u8> = bytes.filter(|bytes| bytes.len() <= *len).ok_or_else(invalid)?;
                bytes.resize(*len, 0);
                Ok((Some(format!("r{}", len.saturating_mul(8)).into()), bytes.into()))
            }
            Self::Time { .. } => {
                let fill = match fill {
                    Value::String(text) if text == "NaT" => NOT_A_TIME.into(),
                    other => other.clone(),
                };
                Ok((Some("int64".into()), fill))
            }
            Self::Bytes => Ok((Some("bytes".into()), fill.clone())),
            _ => Ok((None, fill.clone())),
        }
    }

    /// Adds what the type tells to the attributes: units, the value of missing times, and the value of a `_FillValue` as xarray encodes it.
    pub(super) fn complete(&self, attributes: &mut Vec<Attribute>) {
        if let Self::Time { unit, is_duration, .. } = self {
            let since = if *is_duration { "" } else { " since 1970-01-01" };
            set_text(attributes, "units", format!("{unit}{since}"));
            if !is_duration {
                // numpy's. Without it, CF means the Julian calendar before 1582.
                set_text(attributes, "calendar", "proleptic_gregorian".to_owned());
            }
            let numbers = |name| {
                let found = attributes.iter().find(|attribute| attribute.name == name);
                found.map(|attribute| exact_numbers::<i64>(&attribute.value).unwrap_or_default())
            };
            // `NaT` is missing beside a fill value.
            let (name, mut missing) = match numbers(FILL) {
                Some(fill) if fill == [NOT_A_TIME] => return,
                Some(_) => (MISSING, numbers(MISSING).unwrap_or_default()),
                None => (FILL, Vec::new()),
            };
            missing.push(NOT_A_TIME);
            attributes.retain(|attribute| attribute.name != name);
            attributes.push(Attribute { name: name.to_owned(), value: AttributeValue::Numbers(missing.into()) });
            return;
        }
        let is_float = matches!(self, Self::Float16 | Self::Number(DataType::Float32 | DataType::Float64));
        for attribute in attributes.iter_mut().filter(|attribute| attribute.name == FILL && is_float) {
            if let Some(number) = attribute.value.as_text().and_then(decoded_float) {
                attribute.value = AttributeValue::Numbers(vec![number].into());
            }
        }
        let is_bytes = matches!(self, Self::Bytes | Self::FixedBytes { .. });
        for attribute in attributes.iter_mut().filter(|attribute| attribute.name == FILL && is_bytes) {
            let bytes = attribute.value.as_text().and_then(|text| BASE64.decode(text).ok());
            if let Some(mut text) = bytes.and_then(|bytes| String::from_utf8(bytes).ok()) {
                if let Self::FixedBytes { trimmed: true, .. } = self {
                    text.truncate(text.trim_end_matches('\0').len());
                }
                attribute.value = AttributeValue::Text(text);
            }
        }
    }

    /// Elements of a chunk as values, from the bytes of `zarrs` in native order.
    pub(super) fn values(&self, bytes: &[u8], offsets: Option<&[usize]>) -> Result<Values<'static>> {
        let misfit = || Error::invalid("the bytes of a chunk do not fit its type");
        match self {
            Self::Number(number) => Ok(
                with_number!(*number, T => bytemuck::pod_collect_to_vec::<u8, T>(bytes).into(), return Err(misfit())),
            ),
            Self::Time { count, .. } => {
                let mut all = bytemuck::pod_collect_to_vec::<u8, i64>(bytes);
                for time in all.iter_mut().filter(|time| **time != NOT_A_TIME && *count != 1) {
                    let product = time.checked_mul(*count).filter(|product| *product != NOT_A_TIME);
                    *time = product
                        .ok_or_else(|| Error::invalid(format!("{time} weeks exceed the days that 64 bits hold")))?;
                }
                Ok(all.into())
            }
            Self::Bool => match bytes.iter().find(|byte| **byte > 1) {
                Some(other) => Err(Error::invalid(format!("expected booleans 0 or 1, found {other}"))),
                None => Ok(Values::Bool(bytes.iter().map(|byte| *byte == 1).collect::<Vec<_>>().into())),
            },
            Self::Float16 => {
                let bits = bytes.chunks_exact(2).filter_map(|two| two.try_into().ok()).map(u16::from_ne_bytes);
                Ok(bits.map(half_to_float).collect::<Vec<f32>>().into())
            }
            Self::Text | Self::Bytes => {
                let offsets = offsets.ok_or_else(misfit)?;
                let lengths = offsets.iter().zip(offsets.iter().skip(1)).map(|(start, end)| end.saturating_sub(*start));
                let first = offsets.first().copied().unwrap_or(0);
                let strings = Strings::from_lengths(bytes.get(first..).unwrap_or_default().to_vec(), lengths)?;
                match self {
                    Self::Text => {
                        strings.check_utf8()?;
                        Ok(Values::Unicode(strings))
                    }
                    _ => Ok(Values::Str(strings)),
                }
            }
            Self::Utf32(len) => {
                let mut strings = Strings::default();
                for element in bytes.chunks_exact(len.saturating_mul(4).max(4)) {
                    strings.push(text_of_code_points(element)?.as_bytes());
                }
                Ok(Values::Unicode(strings))
            }
            Self::FixedBytes { len, trimmed } => {
                let mut strings = Strings::default();
                for element in bytes.chunks_exact(*len) {
                    let end = element.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                    strings.push(if *trimmed { element.get(..end).unwrap_or(element) } else { element });
                }
                Ok(Values::Str(strings))
            }
        }
    }
}

/// The attribute of missing values.
pub(super) const FILL: &str = "_FillValue";

/// Bytes of `r*`: `r16` has 2.
fn raw_bits(name: &str) -> Option<usize> {
    let bits: u64 = name.strip_prefix('r')?.parse().ok()?;
    (bits > 0 && bits.is_multiple_of(8) && bits / 8 <= MAX_FIXED).then(|| usize::try_from(bits / 8).ok())?
}

/// A float as xarray writes it: base64 of the little-endian `float64`; or the text of one that JSON has no number for.
fn decoded_float(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ => Some(f64::from_le_bytes(BASE64.decode(text).ok()?.try_into().ok()?)),
    }
}

/// A float in the encoding of xarray.
pub(super) fn encoded_float(number: f64) -> Value {
    json!(BASE64.encode(number.to_le_bytes()))
}

/// Text of code points of 32 bits, without the NULs at the end, which numpy ignores.
fn text_of_code_points(bytes: &[u8]) -> Result<String> {
    let points = bytes.chunks_exact(4).filter_map(|four| four.try_into().ok()).map(u32::from_ne_bytes);
    let mut text = String::new();
    for point in points {
        let character = char::from_u32(point);
        text.push(character.ok_or_else(|| Error::invalid(format!("0x{point:x} is not a character")))?);
    }
    text.truncate(text.trim_end_matches('\0').len());
    Ok(text)
}

/// The value of a 16-bit float.
fn half_to_float(bits: u16) -> f32 {
    let (sign, exponent, fraction) = (bits >> 15, (bits >> 10) & 0x1f, bits & 0x3ff);
    let magnitude = match exponent {
        0 => f32::from(fraction) * 2f32.powi(-24),
        0x1f if fraction == 0 => f32::INFINITY,
        0x1f => f32::NAN,
        _ => (1.0 + f32::from(fraction) / 1024.0) * 2f32.powi(i32::from(exponent) - 15),
    };
    if sign == 1 { -magnitude } else { magnitude }
}

/// The nearest number that a 16-bit float holds.
pub(super) fn nearest_half(number: f64) -> f64 {
    let exponent = (-13..=15).rfind(|exponent| 2f64.powi(*exponent) <= number.abs()).unwrap_or(-14);
    let step = 2f64.powi(exponent - 10);
    let nearest = (number / step).round_ties_even() * step;
    if nearest.abs() > 65504.0 { f64::INFINITY.copysign(number) } else { nearest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widens_half_floats() {
        for (bits, expected) in [
            (0u16, 0.0),
            (0x8000, -0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0001, 5.960_464_5e-8),
            (0x03ff, 6.097_555e-5),
            (0x0400, 6.103_515_6e-5),
            (0x3555, 0.333_251_95),
            (0x7c00, f32::INFINITY),
        ] {
            assert_eq!(half_to_float(bits).to_bits(), f32::to_bits(expected), "{bits:x}");
        }
        assert!(half_to_float(0x7e00).is_nan());
    }

    #[test]
    fn rounds_to_half_floats() {
        for (number, expected) in [
            (0.0, 0.0),
            (0.1, 0.099_975_585_937_5),
            (-1e20, f64::NEG_INFINITY),
            (65519.0, 65504.0),
            (65520.0, f64::INFINITY),
            (2049.0, 2048.0),
            (1e-7, 2f64.powi(-23)),
            (-999.0, -999.0),
        ] {
            assert_eq!(nearest_half(number), expected, "{number}");
        }
        assert!(nearest_half(f64::NAN).is_nan());
        for bits in 0..0x7c00 {
            let number = f64::from(half_to_float(bits));
            assert_eq!(nearest_half(number), number);
        }
    }

    #[test]
    fn floats_are_encoded_as_xarray_does() {
        assert_eq!(encoded_float(f64::NAN), json!("AAAAAAAA+H8="));
        assert_eq!(decoded_float("AAAAAAAA+H8=").map(f64::is_nan), Some(true));
        assert_eq!((decoded_float("AAAAAAAAHkA="), decoded_float("1.5")), (Some(7.5), None));
    }
}
