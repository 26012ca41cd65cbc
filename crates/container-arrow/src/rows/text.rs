//! Writes values as JSON text.

use container_core::{Error, Limits, Result};

use super::values::{Data, Member, Values};
use crate::decimals::decimal_text;
use crate::json::Json;
use crate::observe::Observation;
use crate::times;

/// Writes rows, reusing a buffer for times.
#[derive(Debug)]
pub(super) struct Writer {
    time: String,
}

impl Writer {
    pub(super) const fn new() -> Self {
        Self { time: String::new() }
    }

    /// Writes an object of all members.
    pub(super) fn members(&mut self, members: &[Member], at: usize, out: &mut Vec<u8>) -> Result<()> {
        let mut between = b'{';
        for Member { name, key, values } in members {
            out.push(between);
            between = b',';
            out.extend_from_slice(key);
            self.value(values, at, out).map_err(|error| error.in_column(name.clone()))?;
        }
        if between == b'{' {
            out.push(b'{');
        }
        out.push(b'}');
        Ok(())
    }

    /// Writes a value.
    #[inline]
    pub(super) fn value(&mut self, values: &Values, at: usize, out: &mut Vec<u8>) -> Result<()> {
        if values.is_null(at) {
            out.extend_from_slice(b"null");
            return Ok(());
        }
        macro_rules! put {
            ($values:expr) => {
                plain(out, $values.get(at).ok_or_else(out_of_range)?)
            };
        }
        match &values.data {
            Data::Null => out.extend_from_slice(b"null"),
            Data::Bool(bits) => {
                let bit = at < bits.len() && bits.value(at);
                out.extend_from_slice(if bit { b"true" } else { b"false" });
            }
            Data::I8(values) => put!(values),
            Data::I16(values) => put!(values),
            Data::I32(values) => put!(values),
            Data::I64(values) => put!(values),
            Data::U8(values) => put!(values),
            Data::U16(values) => put!(values),
            Data::U32(values) => put!(values),
            Data::U64(values) => put!(values),
            Data::F16(values) => float32(out, *values.get(at).ok_or_else(out_of_range)?),
            Data::F32(values) => float32(out, *values.get(at).ok_or_else(out_of_range)?),
            Data::F64(values) => match *values.get(at).ok_or_else(out_of_range)? {
                value if value.is_finite() => plain(out, &value),
                value => plain(out, name(value)),
            },
            Data::Time32(data_type, values) => {
                self.time(data_type, (*values.get(at).ok_or_else(out_of_range)?).into(), out);
            }
            Data::Time64(data_type, values) => self.time(data_type, *values.get(at).ok_or_else(out_of_range)?, out),
            Data::Decimal(values) => plain(out, &decimal_text(values, at).ok_or_else(out_of_range)?),
            Data::Text(_) | Data::LargeText(_) | Data::TextView(_) => {
                plain(out, values.text(at).ok_or_else(out_of_range)?)
            }
            Data::Json(texts) => json(texts.text(at).ok_or_else(out_of_range)?, out)?,
            Data::Bytes(_) | Data::LargeBytes(_) | Data::BytesView(_) | Data::Fixed(_) => {
                out.extend_from_slice(b"{\"$bytes\":\"");
                base64(values.bytes(at).ok_or_else(out_of_range)?, out);
                out.extend_from_slice(b"\"}");
            }
            Data::Struct(members) => {
                let start = out.len();
                self.members(members, at, out)?;
                escape(out, start, members.len());
            }
            Data::Dictionary(indexes, values) => self.value(values, *indexes.get(at).ok_or_else(out_of_range)?, out)?,
            Data::FixedList(size, shape, values) => {
                let start = at.checked_mul(*size).ok_or_else(out_of_range)?;
                self.tensor(values, start, *size, shape, out)?;
            }
            Data::List(offsets, values) => {
                let (start, end) = range(offsets, at)?;
                self.list(values, start, end, out)?;
            }
            Data::LargeList(offsets, values) => {
                let (start, end) = range(offsets, at)?;
                self.list(values, start, end, out)?;
            }
            Data::Map(offsets, keys, values) => {
                let (start, end) = range(offsets, at)?;
                self.map(keys, values, start, end, out)?;
            }
        }
        Ok(())
    }

    fn time(&mut self, data_type: &arrow_schema::DataType, value: i64, out: &mut Vec<u8>) {
        self.time.clear();
        match times::write(data_type, value, &mut self.time) {
            // Needs no escaping.
            true => {
                out.push(b'"');
                out.extend_from_slice(self.time.as_bytes());
                out.push(b'"');
            }
            false => plain(out, &value),
        }
    }

    fn list(&mut self, values: &Values, start: usize, end: usize, out: &mut Vec<u8>) -> Result<()> {
        out.push(b'[');
        for at in start..end {
            if at > start {
                out.push(b',');
            }
            self.value(values, at, out)?;
        }
        out.push(b']');
        Ok(())
    }

    /// Writes nested lists of the given shape.
    fn tensor(&mut self, values: &Values, start: usize, size: usize, shape: &[usize], out: &mut Vec<u8>) -> Result<()> {
        let [length, inner @ ..] = shape else { return self.list(values, start, start.saturating_add(size), out) };
        if inner.is_empty() || *length == 0 {
            return self.list(values, start, start.saturating_add(size), out);
        }
        let part = size / length;
        out.push(b'[');
        for number in 0..*length {
            if number > 0 {
                out.push(b',');
            }
            self.tensor(values, start.saturating_add(number * part), part, inner, out)?;
        }
        out.push(b']');
        Ok(())
    }

    /// Writes an object. The name of a key that is not text is its JSON.
    fn map(&mut self, keys: &Values, values: &Values, start: usize, end: usize, out: &mut Vec<u8>) -> Result<()> {
        let object = out.len();
        out.push(b'{');
        for at in start..end {
            if at > start {
                out.push(b',');
            }
            let key = out.len();
            self.value(keys, at, out)?;
            if out.get(key) != Some(&b'"') {
                let json = out.split_off(key);
                plain(out, &*String::from_utf8_lossy(&json)); // JSON is UTF-8
            }
            out.push(b':');
            self.value(values, at, out)?;
        }
        out.push(b'}');
        escape(out, object, end.saturating_sub(start));
        Ok(())
    }
}

/// Wraps the object that begins at `start` if its names make it stand for another value.
fn escape(out: &mut Vec<u8>, start: usize, members: usize) {
    let object = out.get(start..).unwrap_or_default();
    if members == 1 && object.starts_with(b"{\"$") || object.starts_with(b"{\"$escape\"") {
        out.splice(start..start, *b"{\"$escape\":");
        out.push(b'}');
    }
}

/// Whether an object with these names would stand for another value.
pub(super) fn needs_escape(first: &str, members: usize) -> bool {
    members == 1 && first.starts_with('$') || first == ESCAPE
}

/// The range of the elements of a list.
pub(super) fn range<O: arrow_buffer::ArrowNativeType>(
    offsets: &arrow_buffer::OffsetBuffer<O>,
    at: usize,
) -> Result<(usize, usize)> {
    match (offsets.get(at), offsets.get(at + 1)) {
        (Some(start), Some(end)) => Ok((start.as_usize(), end.as_usize())),
        _ => Err(out_of_range()),
    }
}

#[cold]
pub(super) fn out_of_range() -> Error {
    Error::usage("no such row")
}

/// Writes a number or text.
#[inline]
fn plain<T: serde::Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    // Writing to memory does not fail.
    let _ = serde_json::to_writer(out, value);
}

fn float32(out: &mut Vec<u8>, value: f32) {
    match value.is_finite() {
        true => plain(out, &value),
        false => plain(out, name(value.into())),
    }
}

/// The JSON text of a non-finite float.
pub(super) const fn name(value: f64) -> &'static str {
    match (value.is_nan(), value > 0.0) {
        (true, _) => "NaN",
        (false, true) => "Infinity",
        (false, false) => "-Infinity",
    }
}

/// Validates JSON and writes it on one line.
fn json(text: &str, out: &mut Vec<u8>) -> Result<()> {
    validate(text)?;
    match text.contains(['\n', '\r']) {
        // Whitespace only: strings cannot contain raw line breaks.
        true => out.extend(text.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r'))),
        false => out.extend_from_slice(text.as_bytes()),
    }
    Ok(())
}

/// Validates JSON.
fn validate(text: &str) -> Result<()> {
    let limits = Limits::default();
    Json::new(&limits)
        .observe(text.as_bytes(), Observation::new(limits).row(0))
        .map_err(|cause| Error::invalid("invalid JSON in a JSON column").caused_by(cause))
}

/// The name of the only member of an object around another that would stand for another value.
pub(super) const ESCAPE: &str = "$escape";

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends base64 as of RFC 4648, with padding.
pub(super) fn base64(bytes: &[u8], out: &mut Vec<u8>) {
    let digit = |bits: u32| ALPHABET.get((bits & 63) as usize).copied().unwrap_or(b'=');
    let (chunks, rest) = bytes.as_chunks::<3>();
    out.reserve(bytes.len().div_ceil(3).saturating_mul(4));
    for [a, b, c] in chunks {
        let bits = u32::from_be_bytes([0, *a, *b, *c]);
        out.extend_from_slice(&[digit(bits >> 18), digit(bits >> 12), digit(bits >> 6), digit(bits)]);
    }
    match rest {
        [a] => {
            let bits = u32::from_be_bytes([0, *a, 0, 0]);
            out.extend_from_slice(&[digit(bits >> 18), digit(bits >> 12), b'=', b'=']);
        }
        [a, b] => {
            let bits = u32::from_be_bytes([0, *a, *b, 0]);
            out.extend_from_slice(&[digit(bits >> 18), digit(bits >> 12), digit(bits >> 6), b'=']);
        }
        _ => {}
    }
}
