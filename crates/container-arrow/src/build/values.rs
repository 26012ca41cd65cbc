//! Writes single values into columns, exactly or not at all.

use std::fmt::Write as _;
use std::io::Write as _;

use arrow_array::types::{ArrowPrimitiveType, Float16Type};
use arrow_schema::DataType;
use container_core::{Error, Result};

use super::column::{Blob, Column, Data, Kind, Offset};
use crate::observe::is_exact;
use crate::times;

type Half = <Float16Type as ArrowPrimitiveType>::Native;

/// 2^63 and 2^64.
const TWO_63: f64 = 9_223_372_036_854_775_808.0;
const TWO_64: f64 = 18_446_744_073_709_551_616.0;

/// Appends an integer if it is in range.
#[inline]
fn push_int<T: TryFrom<V>, V>(values: &mut Vec<T>, value: V) -> bool {
    match T::try_from(value) {
        Ok(value) => {
            values.push(value);
            true
        }
        Err(_) => false,
    }
}

/// Each method returns false, with the column unchanged, if the value does not fit.
impl Column {
    #[inline]
    pub(super) fn put_bool(&mut self, value: bool) -> Result<bool> {
        match &mut self.data {
            Data::Bool(values) => values.append(value),
            Data::Blob(blob, Kind::Json) => blob.push(if value { b"true" } else { b"false" })?,
            Data::LargeBlob(blob, Kind::Json) => blob.push(if value { b"true" } else { b"false" })?,
            _ => return Ok(false),
        }
        self.nulls.append_non_null();
        Ok(true)
    }

    #[inline]
    pub(super) fn put_i64(&mut self, value: i64) -> Result<bool> {
        let fits = match &mut self.data {
            Data::I64(values) => {
                values.push(value);
                true
            }
            Data::F64(values) if is_exact(value.unsigned_abs()) => {
                #[allow(clippy::cast_precision_loss, reason = "exact")]
                values.push(value as f64);
                true
            }
            Data::I8(values) => push_int(values, value),
            Data::I16(values) => push_int(values, value),
            Data::I32(values) => push_int(values, value),
            Data::U8(values) => push_int(values, value),
            Data::U16(values) => push_int(values, value),
            Data::U32(values) => push_int(values, value),
            Data::U64(values) => push_int(values, value),
            #[allow(clippy::cast_precision_loss, reason = "exact")]
            Data::F32(_) | Data::F16(_) if is_exact(value.unsigned_abs()) => return self.put_exact(value as f64),
            Data::Blob(blob, Kind::Json) => json(blob, |out| write!(out, "{value}").is_ok())?,
            Data::LargeBlob(blob, Kind::Json) => json(blob, |out| write!(out, "{value}").is_ok())?,
            _ => false,
        };
        if fits {
            self.nulls.append_non_null();
        }
        Ok(fits)
    }

    #[inline]
    pub(super) fn put_u64(&mut self, value: u64) -> Result<bool> {
        if let Ok(value) = i64::try_from(value) {
            return self.put_i64(value);
        }
        let fits = match &mut self.data {
            Data::U64(values) => {
                values.push(value);
                true
            }
            #[allow(clippy::cast_precision_loss, reason = "exact")]
            Data::F64(_) | Data::F32(_) if is_exact(value) => return self.put_exact(value as f64),
            Data::Blob(blob, Kind::Json) => json(blob, |out| write!(out, "{value}").is_ok())?,
            Data::LargeBlob(blob, Kind::Json) => json(blob, |out| write!(out, "{value}").is_ok())?,
            _ => false,
        };
        if fits {
            self.nulls.append_non_null();
        }
        Ok(fits)
    }

    /// Appends a float. Integral values fit integer columns, and values equal to the shortest decimal form of a narrower float fit that type.
    #[inline]
    pub(super) fn put_f64(&mut self, value: f64) -> Result<bool> {
        match &mut self.data {
            Data::F64(values) => {
                values.push(value);
                self.nulls.append_non_null();
                Ok(true)
            }
            _ => self.put_other_f64(value),
        }
    }

    fn put_other_f64(&mut self, value: f64) -> Result<bool> {
        #[allow(clippy::cast_possible_truncation, reason = "compared")]
        let narrow = value as f32;
        match &mut self.data {
            Data::F32(_) | Data::F16(_) if f64::from(narrow) == value || value.is_nan() => {
                return self.put_exact(value);
            }
            Data::F32(_) | Data::F16(_) => match shortest_decimal(narrow) == Some(value) {
                true => return self.put_exact(narrow.into()),
                false => return Ok(false),
            },
            Data::Blob(blob, Kind::Json) => json(blob, |out| float(out, value))?,
            Data::LargeBlob(blob, Kind::Json) => json(blob, |out| float(out, value))?,
            #[allow(clippy::cast_possible_truncation, reason = "integral and in range")]
            _ if value.trunc() == value && (-TWO_63..TWO_63).contains(&value) => return self.put_i64(value as i64),
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "integral and in range")]
            _ if value.trunc() == value && (TWO_63..TWO_64).contains(&value) => return self.put_u64(value as u64),
            _ => return Ok(false),
        };
        self.nulls.append_non_null();
        Ok(true)
    }

    #[inline]
    pub(super) fn put_f32(&mut self, value: f32) -> Result<bool> {
        let fits = match &mut self.data {
            Data::F32(values) => {
                values.push(value);
                true
            }
            Data::Blob(blob, Kind::Json) => json(blob, |out| float32(out, value))?,
            Data::LargeBlob(blob, Kind::Json) => json(blob, |out| float32(out, value))?,
            _ => return self.put_exact(value.into()),
        };
        self.nulls.append_non_null();
        Ok(fits)
    }

    /// Appends a float if the column represents its exact value, ignoring decimal forms.
    fn put_exact(&mut self, value: f64) -> Result<bool> {
        #[allow(clippy::cast_possible_truncation, reason = "compared")]
        let narrow = value as f32;
        match &mut self.data {
            Data::F32(values) if f64::from(narrow) == value || value.is_nan() => values.push(narrow),
            Data::F16(values) => {
                let half = Half::from_f32(narrow);
                let fits = f64::from(half.to_f32()) == value || value.is_nan();
                if !fits {
                    return Ok(false);
                }
                values.push(half.to_bits());
            }
            Data::F32(_) => return Ok(false),
            _ => return self.put_f64(value),
        }
        self.nulls.append_non_null();
        Ok(true)
    }

    pub(super) fn put_f16(&mut self, bits: u16) -> Result<bool> {
        match &mut self.data {
            Data::F16(values) => {
                values.push(bits);
                self.nulls.append_non_null();
                Ok(true)
            }
            _ => self.put_f32(Half::from_bits(bits).to_f32()),
        }
    }

    #[inline]
    pub(super) fn put_str(&mut self, value: &str) -> Result<bool> {
        match &mut self.data {
            Data::Blob(blob, Kind::Text) => blob.push(value.as_bytes())?,
            Data::LargeBlob(blob, Kind::Text) => blob.push(value.as_bytes())?,
            _ => return self.put_other_str(value),
        }
        self.nulls.append_non_null();
        Ok(true)
    }

    fn put_other_str(&mut self, value: &str) -> Result<bool> {
        let is_time = self.field.data_type().is_temporal();
        let fits = match &mut self.data {
            Data::Dictionary(dictionary) => dictionary.push(value).map(|()| true)?,
            Data::Blob(blob, Kind::Json) => json(blob, |out| serde_json::to_writer(out, value).is_ok())?,
            Data::LargeBlob(blob, Kind::Json) => json(blob, |out| serde_json::to_writer(out, value).is_ok())?,
            Data::I32(values) if is_time => {
                let time = times::parse(self.field.data_type(), value).and_then(|time| i32::try_from(time).ok());
                time.inspect(|time| values.push(*time)).is_some()
            }
            Data::I64(values) if is_time => {
                let time = times::parse(self.field.data_type(), value);
                time.inspect(|time| values.push(*time)).is_some()
            }
            // Non-finite floats in JSON.
            Data::F16(_) | Data::F32(_) | Data::F64(_) => match value {
                "NaN" => return self.put_exact(f64::NAN),
                "Infinity" => return self.put_exact(f64::INFINITY),
                "-Infinity" => return self.put_exact(f64::NEG_INFINITY),
                _ => false,
            },
            _ => false,
        };
        if fits {
            self.nulls.append_non_null();
        }
        Ok(fits)
    }

    pub(super) fn put_bytes(&mut self, value: &[u8]) -> Result<bool> {
        match &mut self.data {
            Data::Blob(blob, Kind::Bytes) => blob.push(value)?,
            Data::LargeBlob(blob, Kind::Bytes) => blob.push(value)?,
            Data::Fixed(size, bytes) if *size == value.len() => bytes.extend_from_slice(value),
            _ => return Ok(false),
        }
        self.nulls.append_non_null();
        Ok(true)
    }

    /// Appends text or bytes of a given kind, which the caller has validated.
    pub(super) fn put_encoded(&mut self, value: &[u8], kind: Kind) -> Result<bool> {
        match &mut self.data {
            Data::Blob(blob, actual) if *actual == kind => blob.push(value)?,
            Data::LargeBlob(blob, actual) if *actual == kind => blob.push(value)?,
            _ => return Ok(false),
        }
        self.nulls.append_non_null();
        Ok(true)
    }

    pub(super) fn kind(&self) -> Option<Kind> {
        match &self.data {
            Data::Blob(_, kind) | Data::LargeBlob(_, kind) => Some(*kind),
            _ => None,
        }
    }

    /// The values the column takes, for messages.
    pub(super) fn type_name(&self) -> String {
        match (self.kind(), self.field.data_type()) {
            (Some(Kind::Json), _) => "JSON".to_owned(),
            (Some(Kind::Msgpack), _) => "msgpack".to_owned(),
            (_, DataType::List(_) | DataType::LargeList(_)) => "a list".to_owned(),
            (_, DataType::FixedSizeList(_, length)) => format!("a list of {length} elements"),
            (_, DataType::Struct(_)) => "an object".to_owned(),
            (_, other) => other.to_string(),
        }
    }
}

/// Appends a value as JSON.
fn json<O: Offset>(blob: &mut Blob<O>, write: impl FnOnce(&mut Vec<u8>) -> bool) -> Result<bool> {
    if !write(&mut blob.bytes) {
        blob.bytes.truncate(blob.last());
        return Err(Error::invalid("the value has no JSON form"));
    }
    blob.end().map(|()| true)
}

fn float(out: &mut Vec<u8>, value: f64) -> bool {
    match value.is_finite() {
        true => serde_json::to_writer(out, &value).is_ok(),
        false => serde_json::to_writer(out, name(value)).is_ok(),
    }
}

fn float32(out: &mut Vec<u8>, value: f32) -> bool {
    match value.is_finite() {
        true => serde_json::to_writer(out, &value).is_ok(),
        false => serde_json::to_writer(out, name(value.into())).is_ok(),
    }
}

const fn name(value: f64) -> &'static str {
    match (value.is_nan(), value > 0.0) {
        (true, _) => "NaN",
        (false, true) => "Infinity",
        (false, false) => "-Infinity",
    }
}

/// The shortest decimal form of an `f32`, as an `f64`.
fn shortest_decimal(value: f32) -> Option<f64> {
    let mut digits = Digits { bytes: [0; 64], len: 0 };
    write!(digits, "{value:e}").ok()?;
    std::str::from_utf8(digits.bytes.get(..digits.len)?).ok()?.parse().ok()
}

/// A small text buffer on the stack.
struct Digits {
    bytes: [u8; 64],
    len: usize,
}

impl std::fmt::Write for Digits {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.len + text.len();
        self.bytes.get_mut(self.len..end).ok_or(std::fmt::Error)?.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}
