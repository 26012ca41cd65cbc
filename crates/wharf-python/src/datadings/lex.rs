//! The tokens of a msgpack message, and the maps that encode numpy values.

use container_core::{Error, Result};
use rmp::Marker;

/// What begins a value.
#[derive(Clone, Copy)]
pub(super) enum Token<'a> {
    Nil,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Str(&'a [u8]),
    Bin(&'a [u8]),
    Ext(i8, &'a [u8]),
    Array(usize),
    Map(usize),
}

/// Reads tokens from a message. Positions in errors count from its start.
pub(super) struct Lexer<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    #[inline]
    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        match rest.get(..len) {
            Some(taken) => {
                self.at += len;
                Ok(taken)
            }
            None => Err(Error::truncated("a msgpack value", len as u64, rest.len() as u64).at(self.at as u64)),
        }
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let at = self.at;
        self.take(N)?.try_into().map_err(|_| self.invalid("an incomplete number", at))
    }

    /// A length of this many bytes.
    #[inline]
    fn len<const N: usize>(&mut self) -> Result<usize> {
        Ok(self.array::<N>()?.iter().fold(0, |len, byte| len << 8 | usize::from(*byte)))
    }

    #[cold]
    pub(super) fn invalid(&self, what: &str, at: usize) -> Error {
        Error::invalid(what.to_owned()).at(at as u64)
    }

    fn ext(&mut self, len: usize) -> Result<Token<'a>> {
        let [kind] = self.array()?;
        Ok(Token::Ext(i8::from_be_bytes([kind]), self.take(len)?))
    }

    #[inline]
    pub(super) fn token(&mut self) -> Result<Token<'a>> {
        let at = self.at;
        let [first] = self.array()?;
        Ok(match Marker::from_u8(first) {
            Marker::FixPos(value) => Token::Unsigned(value.into()),
            Marker::FixNeg(value) => Token::Signed(value.into()),
            Marker::Null => Token::Nil,
            Marker::True => Token::Bool(true),
            Marker::False => Token::Bool(false),
            Marker::U8 => Token::Unsigned(u8::from_be_bytes(self.array()?).into()),
            Marker::U16 => Token::Unsigned(u16::from_be_bytes(self.array()?).into()),
            Marker::U32 => Token::Unsigned(u32::from_be_bytes(self.array()?).into()),
            Marker::U64 => Token::Unsigned(u64::from_be_bytes(self.array()?)),
            Marker::I8 => Token::Signed(i8::from_be_bytes(self.array()?).into()),
            Marker::I16 => Token::Signed(i16::from_be_bytes(self.array()?).into()),
            Marker::I32 => Token::Signed(i32::from_be_bytes(self.array()?).into()),
            Marker::I64 => Token::Signed(i64::from_be_bytes(self.array()?)),
            Marker::F32 => Token::Float(f32::from_be_bytes(self.array()?).into()),
            Marker::F64 => Token::Float(f64::from_be_bytes(self.array()?)),
            Marker::FixStr(len) => Token::Str(self.take(len.into())?),
            Marker::Str8 => self.len::<1>().and_then(|len| self.take(len)).map(Token::Str)?,
            Marker::Str16 => self.len::<2>().and_then(|len| self.take(len)).map(Token::Str)?,
            Marker::Str32 => self.len::<4>().and_then(|len| self.take(len)).map(Token::Str)?,
            Marker::Bin8 => self.len::<1>().and_then(|len| self.take(len)).map(Token::Bin)?,
            Marker::Bin16 => self.len::<2>().and_then(|len| self.take(len)).map(Token::Bin)?,
            Marker::Bin32 => self.len::<4>().and_then(|len| self.take(len)).map(Token::Bin)?,
            Marker::FixArray(len) => Token::Array(len.into()),
            Marker::Array16 => Token::Array(self.len::<2>()?),
            Marker::Array32 => Token::Array(self.len::<4>()?),
            Marker::FixMap(len) => Token::Map(len.into()),
            Marker::Map16 => Token::Map(self.len::<2>()?),
            Marker::Map32 => Token::Map(self.len::<4>()?),
            Marker::FixExt1 => self.ext(1)?,
            Marker::FixExt2 => self.ext(2)?,
            Marker::FixExt4 => self.ext(4)?,
            Marker::FixExt8 => self.ext(8)?,
            Marker::FixExt16 => self.ext(16)?,
            Marker::Ext8 => self.len::<1>().and_then(|len| self.ext(len))?,
            Marker::Ext16 => self.len::<2>().and_then(|len| self.ext(len))?,
            Marker::Ext32 => self.len::<4>().and_then(|len| self.ext(len))?,
            Marker::Reserved => return Err(self.invalid("0xc1 does not begin a msgpack value", at)),
        })
    }

    #[inline]
    pub(super) fn text(&self, bytes: &'a [u8]) -> Result<&'a str> {
        std::str::from_utf8(bytes).map_err(|error| {
            let start = self.at - bytes.len();
            self.invalid("a str is not UTF-8", start + error.valid_up_to())
        })
    }

    /// Skips these bytes if they are next.
    #[inline]
    pub(super) fn accept(&mut self, expected: &[u8]) -> bool {
        let found = self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(expected));
        if found {
            self.at += expected.len();
        }
        found
    }

    /// Skips the next value.
    #[inline]
    pub(super) fn skip(&mut self) -> Result<()> {
        // Most often a short text or number.
        let size = match self.bytes.get(self.at) {
            Some(first @ 0xa0..0xc0) => usize::from(first & 0x1f) + 1,
            Some(0..0x80) => 1,
            Some(0xcb) => 9,
            _ => return self.skip_any(),
        };
        self.take(size).map(drop)
    }

    fn skip_any(&mut self) -> Result<()> {
        let mut left = 1usize;
        while left > 0 {
            left -= 1;
            match self.token()? {
                Token::Array(len) => left = left.saturating_add(len),
                Token::Map(len) => left = left.saturating_add(len.saturating_mul(2)),
                _ => {}
            }
        }
        Ok(())
    }

    /// The numpy value of a map of `len` members in the form in which it is written today; `None` for any other map.
    pub(super) fn numpy(&mut self, len: usize) -> Result<Option<Numpy<'a>>> {
        let head = self.bytes.get(self.at..).unwrap_or_default();
        if !(head.starts_with(b"\xc4\x02nd") || head.starts_with(b"\xc4\x07complex")) {
            return Ok(None);
        }
        let (mut is_array, mut kind, mut complex) = (None, None, false);
        let (mut dtype, mut shape, mut data) = (None, None, None);
        for _ in 0..len {
            let Token::Bin(key) = self.token()? else { return Ok(None) };
            match (key, self.token()?) {
                (b"nd", Token::Bool(value)) => is_array = Some(value),
                (b"complex", Token::Bool(true)) => complex = true,
                (b"type", Token::Str(name)) => dtype = Some(self.text(name)?),
                (b"kind", Token::Bin(name)) => kind = Some(name),
                (b"data", Token::Bin(bytes) | Token::Str(bytes)) => data = Some((self.at - bytes.len(), bytes)),
                (b"shape", Token::Array(len)) if len <= MAX_DIMS => {
                    let mut dims = Vec::with_capacity(len);
                    for _ in 0..len {
                        let Token::Unsigned(dim) = self.token()? else { return Ok(None) };
                        let Ok(dim) = usize::try_from(dim) else { return Ok(None) };
                        dims.push(dim);
                    }
                    shape = Some(dims);
                }
                _ => return Ok(None),
            }
        }
        Ok(match (is_array, kind, dtype, shape, data) {
            (Some(true), Some(b"O"), ..) => return Err(pickle()),
            (Some(true), Some(b"") | None, Some(dtype), Some(shape), Some((at, data))) => {
                Some(Numpy::Array { dtype, shape, at, data })
            }
            (Some(false), None, Some(dtype), None, Some((_, data))) => Some(Numpy::Scalar { dtype, data }),
            (None, None, None, None, Some((_, bytes))) if complex => Some(Numpy::Complex(self.text(bytes)?)),
            _ => None,
        })
    }
}

/// A numpy value, not decoded.
pub(super) enum Numpy<'a> {
    Array { dtype: &'a str, shape: Vec<usize>, at: usize, data: &'a [u8] },
    Scalar { dtype: &'a str, data: &'a [u8] },
    Complex(&'a str),
}

/// The most dimensions of an array in numpy 2.
const MAX_DIMS: usize = 64;

/// The refusal to load a pickle.
#[cold]
pub(super) fn pickle() -> Error {
    Error::unsupported("an array of Python objects is a pickle, and loading one would run its code: it is not decoded")
}
