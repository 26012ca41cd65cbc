//! From typed values to the bytes of a block, as [`decode`](super::decode) reads them.

use std::ops::Range;

use container_core::{Encode, Error, Put, Result};
use leb128_codec::Leb128;

use super::numbers::Number;
use super::text::{MISSING, to_usize};
use super::{Texts, Values, Vectors};
use crate::wire::{ItemType, Type, put_leb};

/// Appends the block that holds a run of values of a type.
///
/// # Errors
/// [`Usage`](container_core::ErrorKind::Usage) when the values are of another variant or the run leaves them,
/// [`Limit`](container_core::ErrorKind::Limit) when a count of the block would not fit its 31 bits.
pub(crate) fn encode(kind: &Type, values: &Values, range: Range<usize>, out: &mut Vec<u8>) -> Result<()> {
    match (kind, values) {
        (Type::Vector { item, .. }, Values::Vector(vectors)) => encode_vectors(*item, kind.size(), vectors, range, out),
        (Type::Item(item), values) => encode_items(*item, values, range, out),
        (kind, values) => Err(mismatch(&kind.to_string(), values)),
    }
}

/// How many bytes the block of a run of values has; 0 for values that have no such block.
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
        // Of items without texts, the least length is the length.
        _ => super::min_len(item, range.len() as u64).unwrap_or(u64::MAX),
    }
}

fn encode_items(item: ItemType, values: &Values, range: Range<usize>, out: &mut Vec<u8>) -> Result<()> {
    if !values.same_variant(&Values::of_item(item)) {
        return Err(mismatch(&item.to_string(), values));
    }
    let outside = || Error::usage(format!("values {} to {} of {}", range.start, range.end, values.len()));
    match values {
        Values::SByte(v) => numbers(v.get(range.clone()), out),
        Values::Byte(v) => numbers(v.get(range.clone()), out),
        Values::Int16(v) => numbers(v.get(range.clone()), out),
        Values::UInt16(v) => numbers(v.get(range.clone()), out),
        Values::Int32(v) => numbers(v.get(range.clone()), out),
        Values::UInt32(v) => numbers(v.get(range.clone()), out),
        Values::Int64(v) | Values::TimeSpan(v) | Values::DateTime(v) => numbers(v.get(range.clone()), out),
        Values::UInt64(v) => numbers(v.get(range.clone()), out),
        Values::Single(v) => numbers(v.get(range.clone()), out),
        Values::Double(v) => numbers(v.get(range.clone()), out),
        Values::RowId(v) => numbers(v.get(range.clone()), out),
        Values::DateTimeOffset(v) => {
            let minutes = numbers(v.minutes.get(range.clone()), out);
            minutes.and_then(|()| numbers(v.ticks.get(range.clone()), out))
        }
        Values::Boolean(v) => v.get(range.clone()).map(|run| {
            out.extend(run.chunks(8).map(|eight| bits(eight, 1, |&bit| u8::from(bit))));
        }),
        Values::DvBool(v) => v.get(range.clone()).map(|run| {
            let two_bits = |value: &Option<bool>| value.map_or(2, u8::from);
            out.extend(run.chunks(4).map(|four| bits(four, 2, two_bits)));
            // Whole 32-bit numbers, of sixteen values each.
            let missing = run.len().div_ceil(16) * 4 - run.len().div_ceil(4);
            out.extend(std::iter::repeat_n(0, missing));
        }),
        Values::Text(texts) => {
            return encode_texts(texts, range, out);
        }
        Values::Vector(_) => None,
    }
    .ok_or_else(outside)
}

/// Values of a few bits each, the first in the least significant.
fn bits<T>(values: &[T], width: usize, bits: impl Fn(&T) -> u8) -> u8 {
    values.iter().enumerate().fold(0, |byte, (place, value)| byte | bits(value) << (place * width))
}

/// Numbers as they lie in the file: one copy on little-endian machines.
fn numbers<T: Number>(values: Option<&[T]>, out: &mut Vec<u8>) -> Option<()> {
    let values = values?;
    if cfg!(target_endian = "little") {
        out.extend_from_slice(bytemuck::cast_slice(values));
    } else {
        for &value in values {
            // Swapping bytes is its own reverse.
            out.extend_from_slice(bytemuck::bytes_of(&value.in_machine_order()));
        }
    }
    Some(())
}

fn encode_texts(texts: &Texts, range: Range<usize>, out: &mut Vec<u8>) -> Result<()> {
    let outside = || Error::usage(format!("texts {} to {} of {}", range.start, range.end, texts.len()));
    let (joined, ends) = texts.parts();
    let ends = ends.get(range.clone()).ok_or_else(outside)?;
    let start = texts.start_of(range.start);
    let end = ends.last().copied().unwrap_or(start);
    let joined = joined.get(to_usize(start)..to_usize(end)).ok_or_else(outside)?;
    put_count(ends.len(), "texts of a block", out)?;
    if end - start >= MISSING {
        return Err(Error::limit("bytes of the texts of a block", (end - start).into(), (MISSING - 1).into()));
    }
    out.reserve(4 * ends.len() + 10 + joined.len());
    let missing = texts.missing_flags(range.clone()).filter(|flags| flags.contains(&true));
    let flag = |index: usize| missing.is_some_and(|flags| flags.get(index) == Some(&true));
    if joined.is_ascii() {
        // A byte is a unit. The boundaries are below 2^31, as bytes of texts are.
        if missing.is_none() {
            out.extend(ends.iter().flat_map(|end| (end - start).to_le_bytes()));
        } else {
            let marked = |(index, end): (usize, &u32)| if flag(index) { (end - start) | MISSING } else { end - start };
            out.extend(ends.iter().enumerate().flat_map(|place| marked(place).to_le_bytes()));
        }
    } else {
        let (mut from, mut units) = (0, 0_u32);
        for (index, end) in ends.iter().enumerate() {
            let to = to_usize(end - start);
            let text = joined.get(from..to).ok_or_else(outside)?;
            // No more units than bytes, of which there are less than 2^31.
            units += u32::try_from(count_units(text)).unwrap_or(0);
            from = to;
            out.extend_from_slice(&(if flag(index) { units | MISSING } else { units }).to_le_bytes());
        }
    }
    put_leb(joined.len() as u64, out)?;
    out.put(joined.as_bytes())
}

/// UTF-16 units of a text: one for each character, two for those of four bytes.
pub(super) fn count_units(text: &str) -> usize {
    // Bytes that continue a character are 10xxxxxx; a character of four bytes begins with 11110xxx.
    text.bytes().map(|byte| usize::from(byte & 0xC0 != 0x80) + usize::from(byte >= 0xF0)).sum()
}

fn encode_vectors(item: ItemType, size: u32, vectors: &Vectors, range: Range<usize>, out: &mut Vec<u8>) -> Result<()> {
    if range.start > range.end || range.end > vectors.len() {
        let detail = format!("vectors {} to {} of {}", range.start, range.end, vectors.len());
        return Err(Error::usage(detail));
    }
    put_count(range.len(), "vectors of a block", out)?;
    // A length that all have is said once; 0 says that lengths follow, also when all are empty.
    let length = if size == 0 { vectors.same_length(range.clone()).unwrap_or(0) } else { size };
    out.extend_from_slice(&length.to_le_bytes());
    if length == 0 {
        for row in range.clone() {
            out.extend_from_slice(&vectors.get(row).map_or(0, |vector| vector.length).to_le_bytes());
        }
    }
    if vectors.dense_length().is_some() {
        out.extend(std::iter::repeat_n(0xFF, 4 * range.len()));
    } else {
        for row in range.clone() {
            let sparse = vectors.get(row).and_then(|vector| Some((vector.indices?.len(), vector.length)));
            // A vector that stores all its items is written dense: ML.NET refuses it otherwise.
            let count = match sparse {
                Some((stored, length)) if stored as u64 != u64::from(length) => i32::try_from(stored).unwrap_or(-1),
                _ => -1,
            };
            out.extend_from_slice(&count.to_le_bytes());
        }
    }
    let indices = vectors.indices_of(range.clone());
    put_count(indices.len(), "indices of a block", out)?;
    numbers(Some(indices), out);
    let items = vectors.item_start(range.start)..vectors.item_start(range.end);
    if vectors.values().is_empty() && !vectors.values().same_variant(&Values::of_item(item)) {
        return encode_items(item, &Values::of_item(item), items, out);
    }
    encode_items(item, vectors.values(), items, out)
}

/// A count that stands in the file as an `i32`.
fn put_count(count: usize, what: &'static str, out: &mut Vec<u8>) -> Result<()> {
    let stored = i32::try_from(count).map_err(|_| Error::limit(what, count as u64, 0x7FFF_FFFF))?;
    out.put(&stored.to_le_bytes())
}

#[cold]
fn mismatch(kind: &str, values: &Values) -> Error {
    Error::usage(format!("{} values where {kind} values are wanted", values.variant()))
}
