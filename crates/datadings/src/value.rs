//! A msgpack value where it lies.

use container_core::{Error, Limits, Result};
use rmpv::ValueRef;

use crate::numpy::{Complex, Item, NdArray, Numpy, Pickle, Scalar};
use crate::wire::{Token, Tokens, utf8};

/// What a [`RawValue`] is, in the words of msgpack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// No value.
    Nil,
    /// True or false.
    Bool,
    /// A whole number of up to 64 bits.
    Integer,
    /// A float of 32 or 64 bits.
    Float,
    /// Text.
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

/// One msgpack value where it lies, not decoded: a sample, or something in it. Costs nothing to make and to copy; what
/// is asked of it is read then, and nothing else is.
///
/// Members of the sample that come before the one that is looked for are passed over by their lengths: finding a label
/// behind an image of a megabyte touches a few bytes.
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
    /// The value that these bytes begin with. Nothing is checked yet.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    /// The same, for bytes that begin at `offset` of their file: errors name places there.
    #[must_use]
    pub const fn at(bytes: &'a [u8], offset: u64) -> Self {
        Self { bytes, offset }
    }

    /// Its bytes, encoded.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Where it begins in its file, in bytes.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) const fn tokens(&self) -> Tokens<'a> {
        Tokens::at(self.bytes, self.offset)
    }

    /// What it is.
    ///
    /// # Errors
    /// When there are no bytes, or they begin no value.
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
    /// When it is something else, or not UTF-8.
    pub fn str(&self) -> Result<&'a str> {
        let mut tokens = self.tokens();
        match tokens.next()? {
            Token::Str(bytes) => utf8(bytes, tokens.offset()),
            other => Err(self.unexpected("a str", &other)),
        }
    }

    /// The bytes of a bin, where they lie.
    ///
    /// # Errors
    /// When it is something else.
    pub fn bin(&self) -> Result<&'a [u8]> {
        match self.tokens().next()? {
            Token::Bin(bytes) => Ok(bytes),
            other => Err(self.unexpected("a bin", &other)),
        }
    }

    /// True or false; also numpy's.
    ///
    /// # Errors
    /// When it is something else.
    pub fn bool(&self) -> Result<bool> {
        match self.tokens().next()? {
            Token::Bool(value) => Ok(value),
            other => self.number("a bool", &other, |item| match item {
                Item::Bool(value) => Some(*value),
                _ => None,
            }),
        }
    }

    /// An integer of zero or above; also numpy's.
    ///
    /// # Errors
    /// When it is something else: a negative number, a float.
    #[inline]
    pub fn u64(&self) -> Result<u64> {
        let mut tokens = self.tokens();
        if let Some(value) = tokens.short_unsigned() {
            return Ok(value);
        }
        match tokens.next()? {
            Token::Unsigned(value) => Ok(value),
            Token::Negative(value) => Err(self.on_mismatch(value, "an integer of zero or above")),
            other => self.number("an integer of zero or above", &other, |item| match *item {
                Item::Uint(value) => Some(value),
                Item::Int(value) => u64::try_from(value).ok(),
                _ => None,
            }),
        }
    }

    /// An integer; also numpy's.
    ///
    /// # Errors
    /// When it is something else, or above 2^63 - 1.
    #[inline]
    pub fn i64(&self) -> Result<i64> {
        match self.tokens().next()? {
            Token::Unsigned(value) => {
                i64::try_from(value).map_err(|_| self.on_mismatch(value, "an integer below 2^63"))
            }
            Token::Negative(value) => Ok(value),
            other => self.number("an integer below 2^63", &other, |item| match *item {
                Item::Int(value) => Some(value),
                Item::Uint(value) => i64::try_from(value).ok(),
                _ => None,
            }),
        }
    }

    /// A float, or an integer that a float holds exactly; also numpy's.
    ///
    /// # Errors
    /// When it is something else.
    #[inline]
    pub fn f64(&self) -> Result<f64> {
        let exact = "a float, or an integer that one holds";
        match self.tokens().next()? {
            Token::F64(value) => Ok(value),
            Token::F32(value) => Ok(value.into()),
            Token::Unsigned(value) => exact_u64(value).ok_or_else(|| self.on_mismatch(value, exact)),
            Token::Negative(value) => exact_i64(value).ok_or_else(|| self.on_mismatch(value, exact)),
            other => self.number(exact, &other, |item| match *item {
                Item::F16(value) => Some(value.to_f32().into()),
                Item::F32(value) => Some(value.into()),
                Item::F64(value) => Some(value),
                Item::Uint(value) => exact_u64(value),
                Item::Int(value) => exact_i64(value),
                _ => None,
            }),
        }
    }

    /// From the map of a scalar of numpy, or of an array of dimension 0.
    #[cold]
    fn number<T>(&self, wanted: &str, token: &Token<'_>, take: impl Fn(&Item<'_>) -> Option<T>) -> Result<T> {
        if !matches!(token, Token::Map(_)) {
            return Err(self.unexpected(wanted, token));
        }
        let found = |item: Result<Item<'_>>| {
            let item = item.map_err(|error| error.at(self.offset))?;
            take(&item).ok_or_else(|| match item {
                Item::Int(value) => self.on_mismatch(value, wanted),
                Item::Uint(value) => self.on_mismatch(value, wanted),
                Item::F16(value) => self.on_mismatch(format!("the float {}", value.to_f32()), wanted),
                Item::F32(value) => self.on_mismatch(format!("the float {value}"), wanted),
                Item::F64(value) => self.on_mismatch(format!("the float {value}"), wanted),
                Item::Bool(value) => self.on_mismatch(value, wanted),
                _ => self.on_mismatch("a value of numpy that is no plain number", wanted),
            })
        };
        match self.numpy()? {
            Some(Numpy::Scalar(scalar)) => found(scalar.item()),
            Some(Numpy::Array(array)) if array.shape().is_empty() => found(array.get(&[])),
            Some(other) => Err(self.instead(&other, wanted)),
            None => Err(self.unexpected(wanted, token)),
        }
    }

    #[cold]
    fn on_mismatch(&self, value: impl std::fmt::Display, wanted: &str) -> Error {
        Error::invalid(format!("{value} stands where {wanted} is expected")).at(self.offset)
    }

    #[cold]
    fn instead(&self, found: &Numpy<'_>, wanted: &str) -> Error {
        let found = match found {
            Numpy::Array(array) => format!("an array of numpy of {}", array.dtype()),
            Numpy::Scalar(scalar) => format!("a scalar of numpy of {}", scalar.dtype()),
            Numpy::Complex(number) => format!("the complex number {number}"),
            Numpy::Pickle(_) => "an array of Python objects, which is not decoded,".into(),
        };
        self.on_mismatch(found, wanted)
    }

    /// What it is to numpy: nothing, if it is a plain value.
    ///
    /// # Errors
    /// What is wrong with its bytes, or with a map that Python would take for numpy's.
    pub fn numpy(&self) -> Result<Option<Numpy<'a>>> {
        crate::numpy::read(*self)
    }

    fn of_numpy<T>(&self, wanted: &str, take: impl Fn(Numpy<'a>) -> Result<T, Numpy<'a>>) -> Result<T> {
        match self.numpy()? {
            Some(value) => take(value).map_err(|other| self.instead(&other, wanted)),
            None => Err(self.unexpected(wanted, &self.tokens().next()?)),
        }
    }

    /// An array of numpy, its elements where they lie.
    ///
    /// # Errors
    /// When it is something else, or its members do not agree.
    pub fn ndarray(&self) -> Result<NdArray<'a>> {
        self.of_numpy("an array of numpy", |value| match value {
            Numpy::Array(array) => Ok(array),
            other => Err(other),
        })
    }

    /// A scalar of numpy.
    ///
    /// # Errors
    /// When it is something else, or its members do not agree.
    pub fn scalar(&self) -> Result<Scalar<'a>> {
        self.of_numpy("a scalar of numpy", |value| match value {
            Numpy::Scalar(scalar) => Ok(scalar),
            other => Err(other),
        })
    }

    /// A complex number of Python, or a complex scalar of numpy.
    ///
    /// # Errors
    /// When it is something else.
    pub fn complex(&self) -> Result<Complex> {
        self.of_numpy("a complex number", |value| match &value {
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
    /// When it is something else.
    pub fn pickle(&self) -> Result<Pickle<'a>> {
        self.of_numpy("an array of Python objects", |value| match value {
            Numpy::Pickle(pickle) => Ok(pickle),
            other => Err(other),
        })
    }

    /// Each of an array's values.
    ///
    /// # Errors
    /// When it is something else.
    pub fn items(&self) -> Result<Items<'a>> {
        let mut tokens = self.tokens();
        match tokens.next()? {
            Token::Array(left) => Ok(Items { tokens, left }),
            other => Err(self.unexpected("an array", &other)),
        }
    }

    /// Each pair of a map.
    ///
    /// # Errors
    /// When it is something else.
    pub fn entries(&self) -> Result<Entries<'a>> {
        let mut tokens = self.tokens();
        match tokens.next()? {
            Token::Map(left) => Ok(Entries(Items { tokens, left })),
            other => Err(self.unexpected("a map", &other)),
        }
    }

    /// The value that a map has for this key, which may be a str or a bin. Where the key occurs twice, the first.
    ///
    /// What stands before it is passed over, what stands behind it is not looked at.
    ///
    /// # Errors
    /// When it is no map, or its bytes are wrong before the value ends.
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
            let found = tokens.skip_key(key.as_bytes())?;
            let offset = tokens.offset();
            let bytes = tokens.skip()?;
            if found {
                return Ok(Some(Self { bytes, offset }));
            }
        }
        Ok(None)
    }

    /// Decodes it into `rmpv`'s borrowed value.
    ///
    /// Maps of numpy stay the maps they are.
    ///
    /// # Errors
    /// What is wrong with the bytes; nesting deeper than 128.
    pub fn value(&self) -> Result<ValueRef<'a>> {
        value_ref(&mut self.tokens(), Limits::default().depth)
    }

    #[cold]
    pub(crate) fn unexpected(&self, wanted: &str, found: &Token<'_>) -> Error {
        Error::invalid(format!("{} stands where {wanted} is expected", found.name())).at(self.offset)
    }
}

/// One value with all that is in it; `depth` levels may still be entered.
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
            // Backed by as many bytes.
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

/// The float that is this number, if there is one.
fn exact_u64(value: u64) -> Option<f64> {
    // From the highest bit that is set to the lowest one, 53 find room.
    let bits = u64::BITS.saturating_sub(value.leading_zeros()).saturating_sub(value.trailing_zeros());
    #[expect(clippy::cast_precision_loss, reason = "no bit is lost")]
    (bits <= 53).then_some(value as f64)
}

fn exact_i64(value: i64) -> Option<f64> {
    let magnitude = exact_u64(value.unsigned_abs())?;
    Some(if value < 0 { -magnitude } else { magnitude })
}

/// The values of an array. After an error it ends.
#[derive(Debug, Clone)]
pub struct Items<'a> {
    tokens: Tokens<'a>,
    left: u32,
}

impl<'a> Items<'a> {
    /// How many are left, as the array states it.
    #[must_use]
    pub fn remaining(&self) -> u32 {
        self.left
    }

    fn one(&mut self) -> Result<RawValue<'a>> {
        let offset = self.tokens.offset();
        self.tokens.skip().map(|bytes| RawValue { bytes, offset })
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Result<RawValue<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let value = self.one();
        if value.is_err() {
            self.left = 0;
        }
        Some(value)
    }
}

/// The pairs of a map. After an error it ends.
#[derive(Debug, Clone)]
pub struct Entries<'a>(Items<'a>);

impl Entries<'_> {
    /// How many are left, as the map states it.
    #[must_use]
    pub fn remaining(&self) -> u32 {
        self.0.left
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<(RawValue<'a>, RawValue<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.left = self.0.left.checked_sub(1)?;
        let pair = self.0.one().and_then(|key| Ok((key, self.0.one()?)));
        if pair.is_err() {
            self.0.left = 0;
        }
        Some(pair)
    }
}
