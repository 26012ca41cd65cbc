//! Encoding of typed values into a block, the inverse of [`decode`](super::decode).

use std::ops::Range;

use container_core::{Encode, Error, Put, Result};
use leb128_codec::Leb128;

use super::numbers::{self, Number, encode_u32s};
use super::text::{MISSING, to_usize};
use super::{Texts, Values, Vectors};
use crate::wire::{ItemType, Type, put_leb};

/// Appends the block for a range of values.
///
/// # Errors
/// [`Usage`](container_core::ErrorKind::Usage) when the values do not match the type or the range is out of bounds,
/// [`Limit`](container_core::ErrorKind::Limit) when a count exceeds 31 bits.
pub(crate) fn encode(kind: &Type, values: &Values, range: Range<usize>, out: &mut Vec<u8>) -> Result<()> {
    match (kind, values) {
        (Type::Vector { item, .. }, Values::Vector(vectors)) => encode_vectors(*item, kind.size(), vectors, range, out),
        (Type::Item(item), values) => encode_items(*item, values, range, out),
        (kind, values) => Err(mismatch(&kind.to_string(), values)),
    }
}

/// Length in bytes of the block for a range of values; 0 when they do not match the type.
pub(crate) fn encoded_len(kind: &Type, values: &Values, range: Range<usize>) -> u64 {
    match (kind, values) {
        (Type::Vector { item, .. }, Values::Vector(vectors)) => {
            let rows = range.len() as u64;
            let items = vectors.item_start(range.start)..vectors.item_start(range.end);
            let indices = (vectors.index_start(range.end) - vectors.index_start(range.start)) as u64;
            let lengths = if vectors.same_length(range).unwrap_or(0) == 0 { rows * 4 } else { 0 };
            12 + lengths + rows * 4 + indices * 4 + items_len(*item, vectors.values(), items)
        }
        (Type::Item(item), values) => items_len(*item, values, range),
        _ => 0,
    }
}

fn items_len(item: ItemType, values: &Values, range: Range<usize>) -> u64 {
    match values {
        Values::Text(texts) => {
            let bytes = texts.start_of(range.end) - texts.start_of(range.start);
            let length = Leb128(u64::from(bytes));
            4 + 4 * range.len() as u64 + Encode::encoded_len(&length) as u64 + u64::from(bytes)
        }
        // Exact for all other items.
        _ => super::min_len(item, range.len() as u64).unwrap_or(u64::MAX),
    }
}

fn encode_items(item: ItemType, values: &Values, range: Range<usize>, out: &mut Vec<u8>) -> Result<()> {
    if !values.same_variant(&Values::of_item(item)) {
        return Err(mismatch(&item.to_string(), values));
    }
    let out_of_bounds =
        || Error::usage(format!("values {}..{} are out of bounds for {}", range.start, range.end, values.len()));
    match values {
        Values::SByte(v) => encode_numbers(v.get(range.clone()), out),
        Values::Byte(v) => encode_numbers(v.get(range.clone()), out),
        Values::Int16(v) => encode_numbers(v.get(range.clone()), out),
        Values::UInt16(v) => encode_numbers(v.get(range.clone()), out),
        Values::Int32(v) => encode_numbers(v.get(range.clone()), out),
        Values::UInt32(v) => encode_numbers(v.get(range.clone()), out),
        Values::Int64(v) | Values::TimeSpan(v) | Values::DateTime(v) => encode_numbers(v.get(range.clone()), out),
        Values::UInt64(v) => encode_numbers(v.get(range.clone()), out),
        Values::Single(v) => encode_numbers(v.get(range.clone()), out),
        Values::Double(v) => encode_numbers(v.get(range.clone()), out),
        Values::RowId(v) => encode_numbers(v.get(range.clone()), out),
        Values::DateTimeOffset(v) => {
            let minutes = encode_numbers(v.minutes.get(range.clone()), out);
            minutes.and_then(|()| encode_numbers(v.ticks.get(range.clone()), out))
        }
        Values::Boolean(v) => v.get(range.clone()).map(|values| {
            out.extend(values.chunks(8).map(|eight| bits(eight, 1, |&bit| u8::from(bit))));
        }),
        Values::DvBool(v) => v.get(range.clone()).map(|values| {
            let two_bits = |value: &Option<bool>| value.map_or(2, u8::from);
            out.extend(values.chunks(4).map(|four| bits(four, 2, two_bits)));
            // Padded to 32-bit words of sixteen values.
            let padding = values.len().div_ceil(16) * 4 - values.len().div_ceil(4);
            out.extend(std::iter::repeat_n(0, padding));
        }),
        Values::Text(texts) => {
            return encode_texts(texts, range, out);
        }
        Values::Vector(_) => None,
    }
    .ok_or_else(out_of_bounds)
}

/// Packs values of `width` bits into a byte, the first in the least significant bits.
fn bits<T>(values: &[T], width: usize, bits: impl Fn(&T) -> u8) -> u8 {
    values.iter().enumerate().fold(0, |byte, (index, value)| byte | bits(value) << (index * width))
}

fn encode_numbers<T: Number>(values: Option<&[T]>, out: &mut Vec<u8>) -> Option<()> {
    values.map(|values| numbers::encode(values, out))
}

fn encode_texts(texts: &Texts, range: Range<usize>, out: &mut Vec<u8>) -> Result<()> {
    let out_of_bounds =
        || Error::usage(format!("texts {}..{} are out of bounds for {}", range.start, range.end, texts.len()));
    let (joined, ends) = texts.parts();
    let ends = ends.get(range.clone()).ok_or_else(out_of_bounds)?;
    let start = texts.start_of(range.start);
    let end = ends.last().copied().unwrap_or(start);
    let joined = joined.get(to_usize(start)..to_usize(end)).ok_or_else(out_of_bounds)?;
    put_count(ends.len(), "texts of a block", out)?;
    if end - start >= MISSING {
        return Err(Error::limit("bytes of the texts of a block", (end - start).into(), (MISSING - 1).into()));
    }
    out.reserve(4 * ends.len() + 10 + joined.len());
    let missing = texts.missing_flags(range.clone()).filter(|flags| flags.contains(&true));
    let flag = |index: usize| missing.is_some_and(|flags| flags.get(index) == Some(&true));
    if joined.is_ascii() {
        // A byte is a UTF-16 unit. Boundaries are below 2^31, checked above.
        if missing.is_none() {
            encode_u32s(ends.iter().map(|end| end - start), out);
        } else {
            let marked = |(index, end): (usize, &u32)| if flag(index) { (end - start) | MISSING } else { end - start };
            encode_u32s(ends.iter().enumerate().map(marked), out);
        }
    } else {
        let (mut from, mut units) = (0, 0_u32);
        for (index, end) in ends.iter().enumerate() {
            let to = to_usize(end - start);
            let text = joined.get(from..to).ok_or_else(out_of_bounds)?;
            // At most as many units as bytes, below 2^31.
            units += u32::try_from(count_units(text)).unwrap_or(0);
            from = to;
            out.extend_from_slice(&(if flag(index) { units | MISSING } else { units }).to_le_bytes());
        }
    }
    put_leb(joined.len() as u64, out)?;
    out.put(joined.as_bytes())
}

/// Number of UTF-16 units: one per character, two per four-byte character.
pub(super) fn count_units(text: &str) -> usize {
    // Continuation bytes are 10xxxxxx; a four-byte character starts with 11110xxx.
    text.bytes().map(|byte| usize::from(byte & 0xC0 != 0x80) + usize::from(byte >= 0xF0)).sum()
}

fn encode_vectors(item: ItemType, size: u32, vectors: &Vectors, range: Range<usize>, out: &mut Vec<u8>) -> Result<()> {
    if range.start > range.end || range.end > vectors.len() {
        let detail = format!("vectors {}..{} are out of bounds for {}", range.start, range.end, vectors.len());
        return Err(Error::usage(detail));
    }
    put_count(range.len(), "vectors of a block", out)?;
    // A common length is written once; 0 means that lengths follow, even when all are 0.
    let length = if size == 0 { vectors.same_length(range.clone()).unwrap_or(0) } else { size };
    out.extend_from_slice(&length.to_le_bytes());
    if length == 0 {
        encode_u32s(range.clone().map(|row| vectors.get(row).map_or(0, |vector| vector.length)), out);
    }
    if vectors.dense_length().is_some() {
        out.extend(std::iter::repeat_n(0xFF, 4 * range.len()));
    } else {
        for row in range.clone() {
            let sparse = vectors.get(row).and_then(|vector| Some((vector.indices?.len(), vector.length)));
            // A sparse vector that stores all items is written dense: ML.NET rejects it otherwise.
            let count = match sparse {
                Some((stored, length)) if stored as u64 != u64::from(length) => i32::try_from(stored).unwrap_or(-1),
                _ => -1,
            };
            out.extend_from_slice(&count.to_le_bytes());
        }
    }
    let indices = vectors.indices_of(range.clone());
    put_count(indices.len(), "indices of a block", out)?;
    numbers::encode(indices, out);
    let items = vectors.item_start(range.start)..vectors.item_start(range.end);
    if vectors.values().is_empty() && !vectors.values().same_variant(&Values::of_item(item)) {
        return encode_items(item, &Values::of_item(item), items, out);
    }
    encode_items(item, vectors.values(), items, out)
}

/// Appends a count, an `i32` in the file.
fn put_count(count: usize, what: &'static str, out: &mut Vec<u8>) -> Result<()> {
    let stored = i32::try_from(count).map_err(|_| Error::limit(what, count as u64, 0x7FFF_FFFF))?;
    out.put(&stored.to_le_bytes())
}

#[cold]
fn mismatch(kind: &str, values: &Values) -> Error {
    Error::usage(format!("expected {kind} values, found {}", values.variant()))
}
