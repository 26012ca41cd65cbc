//! Converts JSON to msgpack while it is parsed, without building a tree.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use container_core::{Error, Limits, Result};
use serde_core::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use super::error::{for_each_outside_strings, json_error};
use super::words::{FloatWords, float_of};
use super::{BYTES, COMPLEX, ESCAPE, EXT, NDARRAY, PICKLE};
use crate::numpy::{Complex, Dtype, Element, F16, Kind, NdArray, Pickle, Primitive, dtype_of};
use crate::ser::extend;
use crate::value::RawValue;
use crate::wire::{
    Token, put_array_header, put_bin, put_bool, put_ext, put_f64, put_int, put_map_header, put_nil, put_str, put_uint,
};

/// Converts one JSON value to msgpack as described in the [module](super) and appends it. An error leaves `out` unchanged.
///
/// Members keep their order, including duplicates. Numbers without a decimal point or an exponent are integers, others 64-bit floats.
///
/// # Errors
/// Invalid JSON, with the offset; nesting deeper than 127; integers beyond 64 bits; one of this module's own objects, such as `$ndarray`,
/// with invalid content; array elements that take more than 1 GiB in total.
pub fn to_msgpack(text: &[u8], out: &mut Vec<u8>) -> Result<()> {
    put(text, None, out)
}

/// Like [`to_msgpack`], with floats for the strings that stand for them.
///
/// # Errors
/// As [`to_msgpack`].
pub fn to_msgpack_with(text: &[u8], words: &FloatWords, out: &mut Vec<u8>) -> Result<()> {
    put(text, Some(words), out)
}

fn put(text: &[u8], words: Option<&FloatWords>, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    let mut state = State { large_float: false, bytes_left: Limits::default().block_bytes };
    let mut reader = serde_json::Deserializer::from_slice(text);
    let put = Put { out: &mut *out, state: &mut state, is_escaped: false, words };
    let result = put.deserialize(&mut reader).and_then(|()| reader.end());
    let result = result.map_err(|cause| json_error(text, cause)).and_then(|()| match state.large_float {
        true => check_integers(text),
        false => Ok(()),
    });
    if result.is_err() {
        out.truncate(start);
    }
    result
}

/// Rejects integers beyond 64 bits, which the JSON parser turns into floats.
#[cold]
fn check_integers(text: &[u8]) -> Result<()> {
    let mut start = None;
    let mut too_large = None;
    let mut check = |from: usize, to: usize| {
        let number = text.get(from..to).and_then(|bytes| str::from_utf8(bytes).ok()).unwrap_or_default();
        let is_integer = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        if is_integer && number.parse::<i64>().is_err() && number.parse::<u64>().is_err() && too_large.is_none() {
            too_large = Some((from, number.chars().take(60).collect::<String>()));
        }
    };
    for_each_outside_strings(text, |at, byte| match byte {
        b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E' if start.is_some() => {}
        b'0'..=b'9' | b'-' => start = Some(at),
        _ => {
            if let Some(from) = start.take() {
                check(from, at);
            }
        }
    });
    if let Some(from) = start {
        check(from, text.len());
    }
    match too_large {
        Some((at, number)) => Err(Error::invalid(format!("integer {number} exceeds 64 bits")).at(at as u64)),
        None => Ok(()),
    }
}

/// State shared by all values.
struct State {
    /// A float occurred that may have been an integer beyond 64 bits.
    large_float: bool,
    /// Bytes left for array elements: a dtype such as `<U999999999` makes many of a short string.
    bytes_left: u64,
}

/// Converts the next value.
struct Put<'o> {
    out: &'o mut Vec<u8>,
    state: &'o mut State,
    /// Whether to convert an object as it is, whatever its keys.
    is_escaped: bool,
    words: Option<&'o FloatWords>,
}

impl Put<'_> {
    fn nested<'a>(&'a mut self, is_escaped: bool, words: Option<&'a FloatWords>) -> Put<'a> {
        Put { out: self.out, state: self.state, is_escaped, words }
    }
}

impl<'de> DeserializeSeed<'de> for Put<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

fn too_long<E: serde_core::de::Error>(len: u64) -> E {
    E::custom(format_args!("length {len} exceeds the limit of msgpack"))
}

impl<'de> Visitor<'de> for Put<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        put_nil(self.out);
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        put_bool(self.out, value);
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        put_uint(self.out, value);
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        put_int(self.out, value);
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        // At or above 2^63.
        self.state.large_float |= value.abs() >= 9.2e18;
        put_f64(self.out, value);
        Ok(())
    }

    fn visit_str<E: serde_core::de::Error>(self, text: &str) -> Result<(), E> {
        match self.words.and_then(|words| words.float(text)) {
            Some(float) => {
                put_f64(self.out, float);
                Ok(())
            }
            None => put_str(self.out, text).map_err(too_long),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        let start = self.out.len();
        self.out.push(0);
        let mut count = 0u64;
        let words = self.words.and_then(FloatWords::items);
        while seq.next_element_seed(self.nested(false, words))?.is_some() {
            count += 1;
        }
        put_header(self.out, start, count, put_array_header).map_err(too_long)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let start = self.out.len();
        self.out.push(0);
        let mut count = 0u64;
        // The first key, if it is one of this module's own, and where its value begins.
        let mut own = None;
        let words = self.words;
        while let Some((tag, words)) = map.next_key_seed(Name { out: self.out, is_escaped: self.is_escaped, words })? {
            if count == 0 {
                own = tag.map(|tag| (tag, self.out.len()));
            } else if matches!(own, Some((ESCAPE, _))) {
                return Err(A::Error::custom("$escape must be the only key"));
            }
            let is_escape = count == 0 && tag == Some(ESCAPE);
            map.next_value_seed(self.nested(is_escape, words))?;
            count += 1;
        }
        match own {
            Some((tag, value)) if count == 1 => {
                let bytes = self.out.split_off(value);
                self.out.truncate(start);
                convert(tag, &bytes, self.out, &mut self.state.bytes_left)
                    .map_err(|error| A::Error::custom(format_args!("{tag}: {}", error.detail())))
            }
            _ => put_header(self.out, start, count, put_map_header).map_err(too_long),
        }
    }
}

/// Replaces the byte reserved at `start` with the header for `count` members.
fn put_header(out: &mut Vec<u8>, start: usize, count: u64, put: fn(&mut Vec<u8>, u32)) -> Result<(), u64> {
    let mut bytes = Vec::with_capacity(5);
    put(&mut bytes, u32::try_from(count).map_err(|_| count)?);
    match (bytes.as_slice(), out.get_mut(start)) {
        ([byte], Some(reserved)) => *reserved = *byte,
        _ => drop(out.splice(start..=start, bytes)),
    }
    Ok(())
}

/// Converts the next key; returns it if it is one of this module's own, and what is known of float strings in its value.
struct Name<'o, 'w> {
    out: &'o mut Vec<u8>,
    is_escaped: bool,
    words: Option<&'w FloatWords>,
}

impl<'de, 'w> DeserializeSeed<'de> for Name<'_, 'w> {
    type Value = (Option<&'static str>, Option<&'w FloatWords>);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de, 'w> Visitor<'de> for Name<'_, 'w> {
    type Value = (Option<&'static str>, Option<&'w FloatWords>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: serde_core::de::Error>(self, text: &str) -> Result<Self::Value, E> {
        put_str(self.out, text).map_err(too_long)?;
        let own = [BYTES, EXT, NDARRAY, COMPLEX, PICKLE, ESCAPE];
        let tag = own.into_iter().find(|own| !self.is_escaped && *own == text);
        Ok((tag, self.words.and_then(|words| words.member(text))))
    }
}

/// Converts the content of one of this module's own objects, already encoded as msgpack, into the value it represents.
fn convert(tag: &str, bytes: &[u8], out: &mut Vec<u8>, bytes_left: &mut u64) -> Result<()> {
    let value = RawValue::new(bytes);
    let too_long = |len| Error::limit("length of bytes", len, u32::MAX.into());
    match tag {
        BYTES => put_bin(out, &base64(value)?).map_err(too_long),
        EXT => {
            let kind = member(value, "type")?.i64()?;
            let kind =
                i8::try_from(kind).map_err(|_| Error::invalid(format!("type: expected -128 to 127, found {kind}")))?;
            put_ext(out, kind, &base64(member(value, "data")?)?).map_err(too_long)
        }
        COMPLEX => {
            let [re, im] = pair(value)?;
            extend(out, &Complex { re, im })
        }
        PICKLE => extend(out, &Pickle::new(&[], &base64(value)?)),
        NDARRAY => array(value, out, bytes_left),
        _ => match value.kind()? {
            crate::Kind::Map => {
                out.extend_from_slice(bytes);
                Ok(())
            }
            _ => Err(Error::invalid("expected an object")),
        },
    }
}

fn member<'a>(value: RawValue<'a>, name: &str) -> Result<RawValue<'a>> {
    value.get(name)?.ok_or_else(|| Error::invalid(format!("missing key {name:?}")))
}

fn base64(value: RawValue<'_>) -> Result<Vec<u8>> {
    STANDARD.decode(value.str()?).map_err(|cause| Error::invalid(format!("invalid base64: {cause}")))
}

/// A float, which may be a string for a non-finite one.
fn float(value: RawValue<'_>) -> Result<f64> {
    match value.tokens().next()? {
        Token::Str(text) => str::from_utf8(text).ok().and_then(float_of).map_or_else(|| value.f64(), Ok),
        _ => value.f64(),
    }
}

fn pair(value: RawValue<'_>) -> Result<[f64; 2]> {
    let mut parts = value.items()?;
    match (parts.next(), parts.next(), parts.next()) {
        (Some(re), Some(im), None) => Ok([float(re?)?, float(im?)?]),
        _ => Err(Error::invalid("complex number: expected a pair")),
    }
}

fn array(value: RawValue<'_>, out: &mut Vec<u8>, bytes_left: &mut u64) -> Result<()> {
    let dtype = dtype_of(member(value, "dtype")?)?;
    let shape: Vec<usize> = member(value, "shape")?.decode()?;
    let data = member(value, "data")?;
    let bytes = match (data.kind()?, &dtype) {
        (crate::Kind::Array, Dtype::Primitive(of)) => {
            let Token::Array(count) = data.tokens().next()? else {
                return Err(Error::invalid("data: expected an array"));
            };
            let needed = u64::from(count).saturating_mul(of.size() as u64);
            let left = bytes_left.checked_sub(needed);
            let detail =
                || format!("elements of dtype {of} need {needed} bytes, but only {bytes_left} are left for the value");
            *bytes_left = left.ok_or_else(|| Error::invalid(detail()))?;
            let mut bytes = Vec::new();
            for item in data.items()? {
                element(*of, item?, &mut bytes)?;
            }
            bytes
        }
        _ => base64(data)?,
    };
    extend(out, &NdArray::new(dtype, &shape, &bytes)?)
}

fn element(of: Primitive, value: RawValue<'_>, out: &mut Vec<u8>) -> Result<()> {
    let order = of.order();
    match (of.kind(), of.size()) {
        (Kind::Bool, _) => value.bool()?.write(order, out),
        (Kind::Int, 1) => narrow::<i8>(value.i64()?, of)?.write(order, out),
        (Kind::Int, 2) => narrow::<i16>(value.i64()?, of)?.write(order, out),
        (Kind::Int, 4) => narrow::<i32>(value.i64()?, of)?.write(order, out),
        (Kind::Int | Kind::Datetime | Kind::Timedelta, _) => value.i64()?.write(order, out),
        (Kind::Uint, 1) => narrow::<u8>(value.u64()?, of)?.write(order, out),
        (Kind::Uint, 2) => narrow::<u16>(value.u64()?, of)?.write(order, out),
        (Kind::Uint, 4) => narrow::<u32>(value.u64()?, of)?.write(order, out),
        (Kind::Uint, _) => value.u64()?.write(order, out),
        (Kind::Float, 2) => {
            let (value, half) = (float(value)?, F16::from_f64(float(value)?));
            check_range(value, half.to_f32().into(), of)?;
            half.write(order, out);
        }
        (Kind::Float, 4) => single(float(value)?, of)?.write(order, out),
        (Kind::Float, 8) => float(value)?.write(order, out),
        (Kind::Complex, 8) => {
            let [re, im] = pair(value)?;
            [single(re, of)?, single(im, of)?].write(order, out);
        }
        (Kind::Complex, 16) => pair(value)?.write(order, out),
        (Kind::Bytes, size) => {
            put_padded(value.str()?.bytes(), size, |byte, out: &mut Vec<u8>| out.push(byte), out, of)?
        }
        (Kind::Text, size) => {
            put_padded(
                value.str()?.chars().map(u32::from),
                size / 4,
                |point, out: &mut Vec<u8>| point.write(order, out),
                out,
                of,
            )?;
        }
        (Kind::Float | Kind::Complex | Kind::Void | Kind::Object, _) => {
            return Err(Error::invalid(format!("elements of dtype {of} must be given in base64")));
        }
    }
    Ok(())
}

fn narrow<T>(value: impl Copy + fmt::Display + TryInto<T>, of: Primitive) -> Result<T> {
    value.try_into().map_err(|_| Error::invalid(format!("{value} is out of range for dtype {of}")))
}

fn check_range(value: f64, narrow: f64, of: Primitive) -> Result<()> {
    match value.is_finite() && !narrow.is_finite() {
        true => Err(Error::invalid(format!("{value} is out of range for dtype {of}"))),
        false => Ok(()),
    }
}

fn single(value: f64, of: Primitive) -> Result<f32> {
    #[expect(clippy::cast_possible_truncation, reason = "rounded, as the dtype requires")]
    let single = value as f32;
    check_range(value, single.into(), of).map(|()| single)
}

/// Appends `units`, padded with zeros to `size`.
fn put_padded<T: Default>(
    units: impl Iterator<Item = T>,
    size: usize,
    put: impl Fn(T, &mut Vec<u8>),
    out: &mut Vec<u8>,
    of: Primitive,
) -> Result<()> {
    let mut count = 0;
    for unit in units {
        count += 1;
        put(unit, out);
    }
    if count > size {
        return Err(Error::invalid(format!("string of length {count} is too long for dtype {of}")));
    }
    (count..size).for_each(|_| put(T::default(), out));
    Ok(())
}
