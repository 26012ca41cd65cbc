//! Reads the next value of a sample in the form that columns need.

use container_arrow::Element;
use container_core::Result;

use crate::numpy::unit::NAT;
use crate::numpy::{Item, Kind, NdArray, Numpy, Primitive, Scalar, sniff};
use crate::sparse::{SPARSE, Sparse};
use crate::value::RawValue;
use crate::wire::{Token, Tokens, utf8};

/// A value, or the header of one whose members follow.
pub(super) enum Value<'a> {
    Nil,
    Bool(bool),
    Unsigned(u64),
    Negative(i64),
    F32(f32),
    F64(f64),
    Str(&'a [u8]),
    Bin(&'a [u8]),
    List(u32),
    Map(u32),
    Scalar(Scalar<'a>),
    Array(NdArray<'a>),
    /// A complex number, a pickle, an ext.
    Other,
}

/// Reads the next value; of lists and maps only the header.
#[inline]
pub(super) fn read<'a>(tokens: &mut Tokens<'a>) -> Result<Value<'a>> {
    let before = *tokens;
    Ok(match tokens.next()? {
        Token::Nil => Value::Nil,
        Token::Bool(value) => Value::Bool(value),
        Token::Unsigned(value) => Value::Unsigned(value),
        Token::Negative(value) => Value::Negative(value),
        Token::F32(value) => Value::F32(value),
        Token::F64(value) => Value::F64(value),
        Token::Str(bytes) => Value::Str(bytes),
        Token::Bin(bytes) => Value::Bin(bytes),
        Token::Ext(..) => Value::Other,
        Token::Array(count) => Value::List(count),
        Token::Map(count) if sniff(*tokens, count) => return numpy(tokens, before, count),
        Token::Map(count) => Value::Map(count),
    })
}

/// Reads a map that may encode a numpy value.
fn numpy<'a>(tokens: &mut Tokens<'a>, before: Tokens<'a>, count: u32) -> Result<Value<'a>> {
    let mut after = before;
    let raw = RawValue::at(after.skip()?, before.offset());
    let Some(value) = raw.numpy()? else { return Ok(Value::Map(count)) };
    *tokens = after;
    Ok(match value {
        Numpy::Array(array) => Value::Array(array),
        Numpy::Scalar(scalar) => Value::Scalar(scalar),
        Numpy::Complex(_) | Numpy::Pickle(_) => Value::Other,
    })
}

/// Takes the content of a map of `count` members that is a sparse vector. Returns `None` without moving for any other map.
#[inline]
pub(super) fn sparse<'a>(tokens: &mut Tokens<'a>, count: u32) -> Option<Sparse<'a>> {
    let mut ahead = *tokens;
    if count != 1 || ahead.short_str() != Some(SPARSE.as_bytes()) {
        return None;
    }
    let at = ahead.offset();
    let sparse = Sparse::read(RawValue::at(ahead.skip().ok()?, at))?;
    *tokens = ahead;
    Some(sparse)
}

/// Skips `count` values.
pub(super) fn skip_values(tokens: &mut Tokens<'_>, count: u64) -> Result<()> {
    (0..count).try_for_each(|_| tokens.skip().map(drop))
}

/// The tensor element type of a dtype; `None` unless it is a number of up to 64 bits.
pub(super) fn element(of: Primitive) -> Option<Element> {
    Some(match (of.kind(), of.size()) {
        (Kind::Bool, _) => Element::Bool,
        (Kind::Int, 1) => Element::I8,
        (Kind::Int, 2) => Element::I16,
        (Kind::Int, 4) => Element::I32,
        (Kind::Int | Kind::Datetime | Kind::Timedelta, _) => Element::I64,
        (Kind::Uint, 1) => Element::U8,
        (Kind::Uint, 2) => Element::U16,
        (Kind::Uint, 4) => Element::U32,
        (Kind::Uint, _) => Element::U64,
        (Kind::Float, 2) => Element::F16,
        (Kind::Float, 4) => Element::F32,
        (Kind::Float, 8) => Element::F64,
        _ => return None,
    })
}

/// How an array is converted.
pub(super) enum ArrayKind {
    /// The one element of an array without dimensions.
    Item,
    Tensor(Element, Primitive),
    /// Strings or bytes in one dimension.
    List,
    Other,
}

impl ArrayKind {
    pub(super) fn of(array: &NdArray<'_>) -> Self {
        let Some(of) = array.dtype().primitive() else { return Self::Other };
        match (element(of), of.kind(), array.shape().len()) {
            (Some(_), _, 0) | (None, Kind::Bytes, 0) => Self::Item,
            (None, Kind::Text, 0) if array.get(&[]).is_ok() => Self::Item,
            (Some(element), ..) => Self::Tensor(element, of),
            (None, Kind::Bytes, 1) => Self::List,
            (None, Kind::Text, 1) if array.items().all(|item| item.is_ok()) => Self::List,
            _ => Self::Other,
        }
    }
}

/// The lengths of an array's dimensions.
pub(super) struct Shape {
    lengths: [u64; crate::numpy::array::MAX_DIMENSIONS],
    count: usize,
}

impl Shape {
    pub(super) fn of(array: &NdArray<'_>) -> Self {
        let mut shape = Self { lengths: [0; crate::numpy::array::MAX_DIMENSIONS], count: array.shape().len() };
        for (own, length) in shape.lengths.iter_mut().zip(array.shape()) {
            *own = *length as u64;
        }
        shape
    }

    pub(super) fn as_slice(&self) -> &[u64] {
        self.lengths.get(..self.count).unwrap_or_default()
    }
}

/// Whether a time is NaT ("not a time").
pub(super) fn is_nat(item: &Item<'_>) -> bool {
    matches!(item, Item::Datetime(NAT, _) | Item::Timedelta(NAT, _))
}

/// The name of a field in a sample: the bytes of a str, or any other value in its encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Name<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) is_text: bool,
    offset: u64,
    end: u64,
}

impl<'a> Name<'a> {
    #[inline]
    pub(super) fn read(tokens: &mut Tokens<'a>) -> Result<Self> {
        let offset = tokens.offset();
        if let Some(bytes) = tokens.short_str() {
            return Ok(Self { bytes, is_text: true, offset, end: tokens.offset() });
        }
        let mut ahead = *tokens;
        if let Token::Str(bytes) = ahead.next()? {
            *tokens = ahead;
            return Ok(Self { bytes, is_text: true, offset, end: tokens.offset() });
        }
        let bytes = tokens.skip()?;
        Ok(Self { bytes, is_text: false, offset, end: tokens.offset() })
    }

    /// The name, if it is a str.
    #[inline]
    pub(super) fn text(&self) -> Result<Option<&'a str>> {
        if !self.is_text {
            return Ok(None);
        }
        match std::str::from_utf8(self.bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => utf8(self.bytes, self.end).map(Some),
        }
    }

    /// The name as in rows: a str unchanged, another value as JSON.
    pub(super) fn display(&self, limits: &container_core::Limits) -> Result<std::borrow::Cow<'a, str>> {
        if let Some(text) = self.text()? {
            return Ok(text.into());
        }
        let mut json = Vec::new();
        crate::json::write(RawValue::at(self.bytes, self.offset), &mut json, limits)?;
        Ok(String::from_utf8_lossy(&json).into_owned().into()) // JSON is UTF-8
    }
}
