//! A msgpack value, inspected without decoding it.

use container_core::{Error, Limits, Result};
use rmpv::ValueRef;

use crate::numpy::{Complex, Item, NdArray, Numpy, Pickle, Scalar};
use crate::wire::{Token, Tokens, utf8};

/// The type of a [`RawValue`], in the terms of msgpack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// No value.
    Nil,
    /// True or false.
    Bool,
    /// An integer of up to 64 bits.
    Integer,
    /// A float of 32 or 64 bits.
    Float,
    /// A string.
    Str,
    /// Bytes.
    Bin,
    /// Values in order.
    Array,
    /// Pairs of a key and a value; also numpy arrays, numpy scalars and complex numbers.
    Map,
    /// Bytes with a type number.
    Ext,
}

/// One encoded msgpack value: a sample, or a value in it. Cheap to create and to copy; accessors read what they need and nothing else.
///
/// Members before the requested one are skipped by length: finding a label behind an image of a megabyte touches a few bytes.
///
/// ```
/// use datadings::RawValue;
/// // {"key": "a", "label": 7}
/// let sample = RawValue::new(b"\x82\xa3key\xa1a\xa5label\x07");
/// assert_eq!(sample.get("label")?.unwrap().u64()?, 7);
/// assert_eq!(sample.get("key")?.unwrap().str()?, "a");
/// assert!(sample.get("image")?.is_none());
/// # Ok::<(), datadings::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawValue<'a> {
    bytes: &'a [u8],
    offset: u64,
}

impl<'a> RawValue<'a> {
    /// The value at the start of `bytes`. Checks nothing yet.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    /// Like [`new`](Self::new), for bytes that begin at `offset` of their file: errors report positions there.
    #[must_use]
    pub const fn at(bytes: &'a [u8], offset: u64) -> Self {
        Self { bytes, offset }
    }

    /// The encoded bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The offset in its file.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) const fn tokens(&self) -> Tokens<'a> {
        Tokens::at(self.bytes, self.offset)
    }

    /// The type.
    ///
    /// # Errors
    /// When there are no bytes, or the first one is not a valid marker.
    pub fn kind(&self) -> Result<Kind> {
        Ok(match self.tokens().next()? {
            Token::Nil => Kind::Nil,
            Token::Bool(_) => Kind::Bool,
            Token::Unsigned(_) | Token::Negative(_) => Kind::Integer,
            Token::F32(_) | Token::F64(_) => Kind::Float,
            Token::Str(_) => Kind::Str,
            Token::Bin(_) => Kind::Bin,
            Token::Array(_) => Kind::Array,
            Token::Map(_) => Kind::Map,
            Token::Ext(..) => Kind::Ext,
        })
    }

    /// The text of a str.
    ///
    /// # Errors
    /// When it is not a str, or not UTF-8.
    pub fn str(&self) -> Result<&'a str> {
        let mut tokens = self.tokens();
        match tokens.next()? {
            Token::Str(bytes) => utf8(bytes, tokens.offset()),
            other => Err(self.unexpected("a str", &other)),
        }
    }

    /// The bytes of a bin, zero-copy.
    ///
    /// # Errors
    /// When it is not a bin.
    pub fn bin(&self) -> Result<&'a [u8]> {
        match self.tokens().next()? {
            Token::Bin(bytes) => Ok(bytes),
            other => Err(self.unexpected("a bin", &other)),
        }
    }

    /// A bool; also a numpy bool.
    ///
    /// # Errors
    /// When it is anything else.
    pub fn bool(&self) -> Result<bool> {
        match self.tokens().next()? {
            Token::Bool(value) => Ok(value),
            other => self.numpy_number("a bool", &other, |item| match item {
                Item::Bool(value) => Some(*value),
                _ => None,
            }),
        }
    }

    /// A non-negative integer; also a numpy integer.
    ///
    /// # Errors
    /// When it is anything else, such as a negative number or a float.
    #[inline]
    pub fn u64(&self) -> Result<u64> {
        let mut tokens = self.tokens();
        if let Some(value) = tokens.short_unsigned() {
            return Ok(value);
        }
        match tokens.next()? {
            Token::Unsigned(value) => Ok(value),
            Token::Negative(value) => Err(self.mismatch(value, "a non-negative integer")),
            other => self.numpy_number("a non-negative integer", &other, |item| match *item {
                Item::Uint(value) => Some(value),
                Item::Int(value) => u64::try_from(value).ok(),
                _ => None,
            }),
        }
    }

    /// An integer; also a numpy integer.
    ///
    /// # Errors
    /// When it is anything else, or above 2^63 - 1.
    #[inline]
    pub fn i64(&self) -> Result<i64> {
        match self.tokens().next()? {
            Token::Unsigned(value) => i64::try_from(value).map_err(|_| self.mismatch(value, "an integer below 2^63")),
            Token::Negative(value) => Ok(value),
            other => self.numpy_number("an integer below 2^63", &other, |item| match *item {
                Item::Int(value) => Some(value),
                Item::Uint(value) => i64::try_from(value).ok(),
                _ => None,
            }),
        }
    }

    /// A float, or an integer that an `f64` represents exactly; also a numpy number.
    ///
    /// # Errors
    /// When it is anything else.
    #[inline]
    pub fn f64(&self) -> Result<f64> {
        let expected = "a float or an integer that is exact as one";
        match self.tokens().next()? {
            Token::F64(value) => Ok(value),
            Token::F32(value) => Ok(value.into()),
            Token::Unsigned(value) => exact_u64(value).ok_or_else(|| self.mismatch(value, expected)),
            Token::Negative(value) => exact_i64(value).ok_or_else(|| self.mismatch(value, expected)),
            other => self.numpy_number(expected, &other, |item| match *item {
                Item::F16(value) => Some(value.to_f32().into()),
                Item::F32(value) => Some(value.into()),
                Item::F64(value) => Some(value),
                Item::Uint(value) => exact_u64(value),
                Item::Int(value) => exact_i64(value),
                _ => None,
            }),
        }
    }

    /// A number from the map of a numpy scalar, or of an array of dimension 0.
    #[cold]
    fn numpy_number<T>(&self, expected: &str, token: &Token<'_>, take: impl Fn(&Item<'_>) -> Option<T>) -> Result<T> {
        if !matches!(token, Token::Map(_)) {
            return Err(self.unexpected(expected, token));
        }
        let number = |item: Result<Item<'_>>| {
            let item = item.map_err(|error| error.at(self.offset))?;
            take(&item).ok_or_else(|| match item {
                Item::Int(value) => self.mismatch(value, expected),
                Item::Uint(value) => self.mismatch(value, expected),
                Item::F16(value) => self.mismatch(format!("the float {}", value.to_f32()), expected),
                Item::F32(value) => self.mismatch(format!("the float {value}"), expected),
                Item::F64(value) => self.mismatch(format!("the float {value}"), expected),
                Item::Bool(value) => self.mismatch(value, expected),
                _ => self.mismatch("a numpy value that is not a plain number", expected),
            })
        };
        match self.numpy()? {
            Some(Numpy::Scalar(scalar)) => number(scalar.item()),
            Some(Numpy::Array(array)) if array.shape().is_empty() => number(array.get(&[])),
            Some(other) => Err(self.numpy_mismatch(&other, expected)),
            None => Err(self.unexpected(expected, token)),
        }
    }

    #[cold]
    fn mismatch(&self, found: impl std::fmt::Display, expected: &str) -> Error {
        Error::invalid(format!("expected {expected}, found {found}")).at(self.offset)
    }

    #[cold]
    fn numpy_mismatch(&self, found: &Numpy<'_>, expected: &str) -> Error {
        let found = match found {
            Numpy::Array(array) => format!("a numpy array of {}", array.dtype()),
            Numpy::Scalar(scalar) => format!("a numpy scalar of {}", scalar.dtype()),
            Numpy::Complex(number) => format!("the complex number {number}"),
            Numpy::Pickle(_) => "a pickled array of Python objects".into(),
        };
        self.mismatch(found, expected)
    }

    /// The numpy value it encodes; `None` if it is a plain value.
    ///
    /// # Errors
    /// Invalid bytes, or an invalid map that Python would decode as a numpy value.
    pub fn numpy(&self) -> Result<Option<Numpy<'a>>> {
        crate::numpy::read(*self)
    }

    fn as_numpy<T>(&self, expected: &str, take: impl Fn(Numpy<'a>) -> Result<T, Numpy<'a>>) -> Result<T> {
        match self.numpy()? {
            Some(value) => take(value).map_err(|other| self.numpy_mismatch(&other, expected)),
            None => Err(self.unexpected(expected, &self.tokens().next()?)),
        }
    }

    /// A numpy array, zero-copy.
    ///
    /// # Errors
    /// When it is anything else, or its members are inconsistent.
    pub fn ndarray(&self) -> Result<NdArray<'a>> {
        self.as_numpy("a numpy array", |value| match value {
            Numpy::Array(array) => Ok(array),
            other => Err(other),
        })
    }

    /// A numpy scalar.
    ///
    /// # Errors
    /// When it is anything else, or its members are inconsistent.
    pub fn scalar(&self) -> Result<Scalar<'a>> {
        self.as_numpy("a numpy scalar", |value| match value {
            Numpy::Scalar(scalar) => Ok(scalar),
            other => Err(other),
        })
    }

    /// A Python complex number, or a complex numpy scalar.
    ///
    /// # Errors
    /// When it is anything else.
    pub fn complex(&self) -> Result<Complex> {
        self.as_numpy("a complex number", |value| match &value {
            Numpy::Complex(number) => Ok(*number),
            Numpy::Scalar(scalar) => match scalar.item() {
                Ok(Item::Complex64([re, im])) => Ok(Complex { re, im }),
                Ok(Item::Complex32([re, im])) => Ok(Complex { re: re.into(), im: im.into() }),
                _ => Err(value),
            },
            _ => Err(value),
        })
    }

    /// An array of Python objects, not decoded.
    ///
    /// # Errors
    /// When it is anything else.
    pub fn pickle(&self) -> Result<Pickle<'a>> {
        self.as_numpy("an array of Python objects", |value| match value {
            Numpy::Pickle(pickle) => Ok(pickle),
            other => Err(other),
        })
    }

    /// The values of an array.
    ///
    /// # Errors
    /// When it is not an array.
    pub fn items(&self) -> Result<Items<'a>> {
        let mut tokens = self.tokens();
        match tokens.next()? {
            Token::Array(left) => Ok(Items { tokens, left }),
            other => Err(self.unexpected("an array", &other)),
        }
    }

    /// The pairs of a map.
    ///
    /// # Errors
    /// When it is not a map.
    pub fn entries(&self) -> Result<Entries<'a>> {
        let mut tokens = self.tokens();
        match tokens.next()? {
            Token::Map(left) => Ok(Entries(Items { tokens, left })),
            other => Err(self.unexpected("a map", &other)),
        }
    }

    /// The value of a key (a str or a bin) of a map. If the key occurs twice, the first.
    ///
    /// Members before it are skipped, members after it are not read.
    ///
    /// # Errors
    /// When it is not a map, or invalid up to the end of the value.
    #[inline]
    pub fn get(&self, key: &str) -> Result<Option<Self>> {
        let mut tokens = self.tokens();
        let left = match tokens.short_map() {
            Some(left) => left,
            None => match tokens.next()? {
                Token::Map(left) => left,
                other => return Err(self.unexpected("a map", &other)),
            },
        };
        for _ in 0..left {
            let matches = tokens.skip_key(key.as_bytes())?;
            let offset = tokens.offset();
            let bytes = tokens.skip()?;
            if matches {
                return Ok(Some(Self { bytes, offset }));
            }
        }
        Ok(None)
    }

    /// Decodes it into a borrowed `rmpv` value.
    ///
    /// Maps that encode numpy values remain maps.
    ///
    /// # Errors
    /// Invalid bytes; nesting deeper than 128.
    pub fn value(&self) -> Result<ValueRef<'a>> {
        value_ref(&mut self.tokens(), Limits::default().depth)
    }

    #[cold]
    pub(crate) fn unexpected(&self, expected: &str, found: &Token<'_>) -> Error {
        self.mismatch(found.name(), expected)
    }
}

/// Decodes one value; `depth` more levels may be entered.
fn value_ref<'a>(tokens: &mut Tokens<'a>, depth: u32) -> Result<ValueRef<'a>> {
    let at = tokens.offset();
    let token = tokens.next()?;
    let members = match token {
        Token::Array(count) => u64::from(count),
        Token::Map(count) => 2 * u64::from(count),
        _ => 0,
    };
    let left = tokens.remaining();
    if members > left {
        return Err(Error::truncated("the members of an array or a map", members, left).at(at));
    }
    let deeper = || {
        let limit = u64::from(Limits::default().depth);
        depth.checked_sub(1).ok_or_else(|| Error::limit("nesting depth", limit + 1, limit).at(at))
    };
    Ok(match token {
        Token::Nil => ValueRef::Nil,
        Token::Bool(value) => ValueRef::Boolean(value),
        Token::Unsigned(value) => ValueRef::from(value),
        Token::Negative(value) => ValueRef::from(value),
        Token::F32(value) => ValueRef::F32(value),
        Token::F64(value) => ValueRef::F64(value),
        Token::Str(bytes) => ValueRef::from(utf8(bytes, tokens.offset())?),
        Token::Bin(bytes) => ValueRef::Binary(bytes),
        Token::Ext(kind, bytes) => ValueRef::Ext(kind, bytes),
        Token::Array(count) => {
            let depth = deeper()?;
            // Safe to reserve: there are at least as many bytes.
            let mut items = Vec::with_capacity(count as usize);
            for _ in 0..count {
                items.push(value_ref(tokens, depth)?);
            }
            ValueRef::Array(items)
        }
        Token::Map(count) => {
            let depth = deeper()?;
            let mut pairs = Vec::with_capacity(count as usize);
            for _ in 0..count {
                pairs.push((value_ref(tokens, depth)?, value_ref(tokens, depth)?));
            }
            ValueRef::Map(pairs)
        }
    })
}

/// The float equal to this number, if there is one.
fn exact_u64(value: u64) -> Option<f64> {
    // From the highest set bit to the lowest, at most 53 fit.
    let bits = u64::BITS.saturating_sub(value.leading_zeros()).saturating_sub(value.trailing_zeros());
    #[expect(clippy::cast_precision_loss, reason = "no bit is lost")]
    (bits <= 53).then_some(value as f64)
}

fn exact_i64(value: i64) -> Option<f64> {
    let magnitude = exact_u64(value.unsigned_abs())?;
    Some(if value < 0 { -magnitude } else { magnitude })
}

/// Iterates over the values of an array. Ends after an error.
#[derive(Debug, Clone)]
pub struct Items<'a> {
    tokens: Tokens<'a>,
    left: u32,
}

impl<'a> Items<'a> {
    /// Number of values left, as declared by the array.
    #[must_use]
    pub fn remaining(&self) -> u32 {
        self.left
    }

    fn next_value(&mut self) -> Result<RawValue<'a>> {
        let offset = self.tokens.offset();
        self.tokens.skip().map(|bytes| RawValue { bytes, offset })
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Result<RawValue<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let value = self.next_value();
        if value.is_err() {
            self.left = 0;
        }
        Some(value)
    }
}

/// Iterates over the pairs of a map. Ends after an error.
#[derive(Debug, Clone)]
pub struct Entries<'a>(Items<'a>);

impl Entries<'_> {
    /// Number of pairs left, as declared by the map.
    #[must_use]
    pub fn remaining(&self) -> u32 {
        self.0.left
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<(RawValue<'a>, RawValue<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.left = self.0.left.checked_sub(1)?;
        let pair = self.0.next_value().and_then(|key| Ok((key, self.0.next_value()?)));
        if pair.is_err() {
            self.0.left = 0;
        }
        Some(pair)
    }
}
