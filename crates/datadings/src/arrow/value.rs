//! What stands next in a sample, as columns see it.

use container_arrow::Element;
use container_core::Result;

use crate::numpy::{Item, Kind, NdArray, Numpy, Primitive, Scalar, sniff};
use crate::value::RawValue;
use crate::wire::{Token, Tokens, utf8};

/// A value, or the head of one whose members follow.
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

/// Takes the next value. Of lists and maps the head alone is taken.
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

/// A map that has a name of numpy's.
fn numpy<'a>(tokens: &mut Tokens<'a>, before: Tokens<'a>, count: u32) -> Result<Value<'a>> {
    let mut behind = before;
    let raw = RawValue::at(behind.skip()?, before.offset());
    let Some(value) = raw.numpy()? else { return Ok(Value::Map(count)) };
    *tokens = behind;
    Ok(match value {
        Numpy::Array(array) => Value::Array(array),
        Numpy::Scalar(scalar) => Value::Scalar(scalar),
        Numpy::Complex(_) | Numpy::Pickle(_) => Value::Other,
    })
}

/// Passes over so many values.
pub(super) fn pass(tokens: &mut Tokens<'_>, count: u64) -> Result<()> {
    (0..count).try_for_each(|_| tokens.skip().map(drop))
}

/// What the elements of an array are to a tensor: nothing where they are no numbers of up to 64 bits.
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

/// What an array is to columns.
pub(super) enum Form {
    /// The one element of an array without dimensions.
    Item,
    Tensor(Element, Primitive),
    /// Texts or bytes in one dimension.
    List,
    Other,
}

impl Form {
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

/// The lengths of the dimensions of an array, which are no more than numpy has.
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

/// A point in time that is none.
pub(super) fn is_no_time(item: &Item<'_>) -> bool {
    matches!(item, Item::Datetime(i64::MIN, _) | Item::Timedelta(i64::MIN, _))
}

/// The name of a field in a sample: the bytes of a text, or any other value as it is encoded.
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

    /// The text of a text; `None` for another value.
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

    /// As rows show it: a text as it is, another value as JSON.
    pub(super) fn shown(&self, limits: &container_core::Limits) -> Result<std::borrow::Cow<'a, str>> {
        if let Some(text) = self.text()? {
            return Ok(text.into());
        }
        let mut json = Vec::new();
        crate::json::write(RawValue::at(self.bytes, self.offset), &mut json, limits)?;
        Ok(String::from_utf8_lossy(&json).into_owned().into()) // JSON is UTF-8
    }
}
