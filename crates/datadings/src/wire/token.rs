//! Reads MessagePack one token at a time.

use container_core::{Cursor, Error, Result};

/// One token: a scalar, or the header of an array or a map whose members follow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Token<'a> {
    Nil,
    Bool(bool),
    /// Zero or above, in any of its encodings.
    Unsigned(u64),
    /// Below zero.
    Negative(i64),
    F32(f32),
    F64(f64),
    /// Not yet validated as UTF-8.
    Str(&'a [u8]),
    Bin(&'a [u8]),
    /// Number of values that follow.
    Array(u32),
    /// Number of key-value pairs that follow.
    Map(u32),
    Ext(i8, &'a [u8]),
}

impl Token<'_> {
    /// The type's name, for messages.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Token::Nil => "nil",
            Token::Bool(_) => "a bool",
            Token::Unsigned(_) | Token::Negative(_) => "an integer",
            Token::F32(_) | Token::F64(_) => "a float",
            Token::Str(_) => "a str",
            Token::Bin(_) => "a bin",
            Token::Array(_) => "an array",
            Token::Map(_) => "a map",
            Token::Ext(..) => "an ext",
        }
    }
}

/// Classifies a marker by what follows it: the length of the whole value in bytes, marker included (1 to 33), or
/// [`FIXED_ARRAY`] or [`FIXED_MAP`] with the count in the low bits, or [`OTHER`].
const MARKERS: [u8; 256] = {
    let mut markers = [OTHER; 256];
    let mut marker = 0;
    #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, which stops at a wrong index")]
    #[expect(clippy::cast_possible_truncation, reason = "masked to five bits")]
    while marker < 256 {
        markers[marker] = match marker {
            0x00..=0x7f | 0xe0..=0xff | 0xc0 | 0xc2 | 0xc3 => 1,
            0x80..=0x8f => FIXED_MAP | (marker & 0x0f) as u8,
            0x90..=0x9f => FIXED_ARRAY | (marker & 0x0f) as u8,
            0xa0..=0xbf => 1 + (marker & 0x1f) as u8,
            0xcc | 0xd0 => 2,
            0xcd | 0xd1 | 0xd4 => 3,
            0xd5 => 4,
            0xca | 0xce | 0xd2 => 5,
            0xd6 => 6,
            0xcb | 0xcf | 0xd3 => 9,
            0xd7 => 10,
            0xd8 => 18,
            _ => OTHER,
        };
        marker += 1;
    }
    markers
};
const OTHER: u8 = 0;
const FIXED_ARRAY: u8 = 0x40;
const FIXED_MAP: u8 = 0x80;

#[inline]
fn marker_class(marker: u8) -> u8 {
    MARKERS.get(usize::from(marker)).copied().unwrap_or(OTHER)
}

/// A reader of tokens. It stores the rest and where it ends, so that a step changes only one field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tokens<'a> {
    rest: &'a [u8],
    end: u64,
}

impl<'a> Tokens<'a> {
    /// Reads `bytes`, which begin at `offset` of their file.
    pub(crate) const fn at(bytes: &'a [u8], offset: u64) -> Self {
        Self { rest: bytes, end: offset.saturating_add(bytes.len() as u64) }
    }

    /// The file offset of the next token.
    pub(crate) const fn offset(&self) -> u64 {
        self.end - self.rest.len() as u64
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The number of bytes left.
    pub(crate) const fn remaining(&self) -> u64 {
        self.rest.len() as u64
    }

    /// Fails if anything follows the message.
    #[inline]
    pub(crate) fn end(&self) -> Result<()> {
        if self.is_empty() { Ok(()) } else { Err(self.trailing_bytes()) }
    }

    #[cold]
    fn trailing_bytes(&self) -> Error {
        let extra = self.remaining();
        let s = if extra == 1 { "" } else { "s" };
        Error::invalid(format!("{extra} unexpected trailing byte{s} after the message")).at(self.offset())
    }

    /// The marker of the next token.
    #[inline]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// Reads the next token. An error leaves the position unchanged.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Token<'a>> {
        let mut cursor = Cursor::at(self.rest, self.offset());
        let token = read(&mut cursor)?;
        self.rest = cursor.rest();
        Ok(token)
    }

    /// Reads the next value if it is a str of fewer than 32 bytes in its shortest encoding.
    #[inline]
    pub(crate) fn short_str(&mut self) -> Option<&'a [u8]> {
        let (&marker, tail) = self.rest.split_first()?;
        if marker & 0xe0 != 0xa0 {
            return None;
        }
        let (bytes, tail) = tail.split_at_checked(usize::from(marker & 0x1f))?;
        self.rest = tail;
        Some(bytes)
    }

    /// Skips the next value, a map key, and reports whether it is a str or bin equal to `name`.
    #[inline]
    pub(crate) fn skip_key(&mut self, name: &[u8]) -> Result<bool> {
        match self.short_str() {
            Some(bytes) => Ok(bytes == name),
            None => self.skip_long_key(name),
        }
    }

    fn skip_long_key(&mut self, name: &[u8]) -> Result<bool> {
        let here = *self;
        match self.next()? {
            Token::Str(bytes) | Token::Bin(bytes) => Ok(bytes == name),
            Token::Array(_) | Token::Map(_) => {
                *self = here;
                self.skip().map(|_| false)
            }
            _ => Ok(false),
        }
    }

    /// Reads a non-negative integer encoded in at most five bytes.
    #[inline]
    pub(crate) fn short_unsigned(&mut self) -> Option<u64> {
        let (value, tail) = match self.rest {
            [a @ 0..0x80, tail @ ..] => (u64::from(*a), tail),
            [0xcc, a, tail @ ..] => (u64::from(*a), tail),
            [0xcd, a, b, tail @ ..] => (u64::from(u16::from_be_bytes([*a, *b])), tail),
            [0xce, a, b, c, d, tail @ ..] => (u64::from(u32::from_be_bytes([*a, *b, *c, *d])), tail),
            _ => return None,
        };
        self.rest = tail;
        Some(value)
    }

    /// Reads the next value if it is a complete bin.
    #[inline]
    pub(crate) fn bin(&mut self) -> Option<&'a [u8]> {
        let (length, tail) = match self.rest {
            [0xc4, a, tail @ ..] => (usize::from(*a), tail),
            [0xc5, a, b, tail @ ..] => (usize::from(u16::from_be_bytes([*a, *b])), tail),
            [0xc6, a, b, c, d, tail @ ..] => (usize::try_from(u32::from_be_bytes([*a, *b, *c, *d])).ok()?, tail),
            _ => return None,
        };
        let (bytes, tail) = tail.split_at_checked(length)?;
        self.rest = tail;
        Some(bytes)
    }

    /// Reads the header of a map of fewer than 16 pairs.
    #[inline]
    pub(crate) fn short_map(&mut self) -> Option<u32> {
        let (&marker, tail) = self.rest.split_first()?;
        if marker & 0xf0 != 0x80 {
            return None;
        }
        self.rest = tail;
        Some((marker & 0x0f).into())
    }

    /// Skips one whole value at any depth and returns its bytes. Not recursive, allocates nothing: O(tokens).
    ///
    /// # Errors
    /// The first invalid token. A member count larger than the number of bytes left is an error at once.
    #[inline]
    pub(crate) fn skip(&mut self) -> Result<&'a [u8]> {
        let start = self.rest;
        // Most values are a single token whose marker gives the length.
        let length = usize::from(marker_class(self.peek().unwrap_or(0xc1)));
        if length.wrapping_sub(1) < 33
            && let Some((value, tail)) = start.split_at_checked(length)
        {
            self.rest = tail;
            return Ok(value);
        }
        self.skip_long()
    }

    #[inline(never)]
    fn skip_long(&mut self) -> Result<&'a [u8]> {
        // Bin and longer str.
        let sized = match self.rest {
            [0xc4 | 0xd9, a, ..] => Some(2 + usize::from(*a)),
            [0xc5 | 0xda, a, b, ..] => Some(3 + usize::from(u16::from_be_bytes([*a, *b]))),
            [0xc6 | 0xdb, a, b, c, d, ..] => u32::from_be_bytes([*a, *b, *c, *d]).checked_add(5).map(|n| n as usize),
            _ => None,
        };
        if let Some((value, tail)) = sized.and_then(|length| self.rest.split_at_checked(length)) {
            self.rest = tail;
            return Ok(value);
        }
        let start = *self;
        let mut ahead = *self;
        ahead.skip_tokens()?;
        *self = ahead;
        let taken = start.rest.len() - ahead.rest.len();
        Ok(start.rest.get(..taken).unwrap_or_default())
    }

    fn skip_tokens(&mut self) -> Result<()> {
        let mut pending = 1u64;
        while pending > 0 {
            pending -= 1;
            let here = *self;
            let class = marker_class(self.peek().unwrap_or(0xc1));
            let members = if class.wrapping_sub(1) < 33 {
                match self.rest.get(class.into()..) {
                    Some(tail) => self.rest = tail,
                    // Fails, and names what is missing.
                    None => drop(self.next()?),
                }
                continue;
            } else if class & FIXED_MAP != 0 {
                self.rest = self.rest.get(1..).unwrap_or_default();
                2 * u64::from(class & 0x0f)
            } else if class & FIXED_ARRAY != 0 {
                self.rest = self.rest.get(1..).unwrap_or_default();
                u64::from(class & 0x0f)
            } else {
                match self.next()? {
                    Token::Array(n) => u64::from(n),
                    Token::Map(n) => 2 * u64::from(n),
                    _ => continue,
                }
            };
            pending += members;
            // Every member takes at least one byte.
            let left = self.remaining();
            if pending > left {
                return Err(Error::truncated("the members of an array or a map", pending, left).at(here.offset()));
            }
        }
        Ok(())
    }

    /// Skips one whole value and validates it: nesting no deeper than `depth`, UTF-8 in every str.
    ///
    /// # Errors
    /// The first defect, with its position.
    pub(crate) fn check(&mut self, depth: u32) -> Result<&'a [u8]> {
        let start = self.rest;
        // Values still to come on this level, and on each unfinished level around it with its depth.
        let mut pending = 1u64;
        let mut level = 0u32;
        let mut outer_levels: Vec<(u64, u32)> = Vec::new();
        loop {
            while pending == 0 {
                let Some(outer) = outer_levels.pop() else {
                    let taken = start.len() - self.rest.len();
                    return Ok(start.get(..taken).unwrap_or_default());
                };
                (pending, level) = outer;
            }
            pending -= 1;
            if let Some(bytes) = self.short_str() {
                if !bytes.is_ascii() {
                    utf8(bytes, self.offset())?;
                }
                continue;
            }
            if self.short_unsigned().is_some() {
                continue;
            }
            let at = self.offset();
            let members = match self.next()? {
                Token::Array(n) => u64::from(n),
                Token::Map(n) => 2 * u64::from(n),
                Token::Str(bytes) => {
                    utf8(bytes, self.offset())?;
                    continue;
                }
                _ => continue,
            };
            let left = self.remaining();
            if members > left {
                return Err(Error::truncated("the members of an array or a map", members, left).at(at));
            }
            if level >= depth {
                return Err(Error::limit("nesting depth", u64::from(level) + 1, depth.into()).at(at));
            }
            if pending > 0 {
                outer_levels.push((pending, level));
            }
            (pending, level) = (members, level + 1);
        }
    }
}

#[inline]
fn read<'a>(cursor: &mut Cursor<'a>) -> Result<Token<'a>> {
    let at = cursor.offset();
    let marker = cursor.u8("a value")?;
    Ok(match marker {
        0x00..=0x7f => Token::Unsigned(marker.into()),
        0x80..=0x8f => Token::Map((marker & 0x0f).into()),
        0x90..=0x9f => Token::Array((marker & 0x0f).into()),
        0xa0..=0xbf => Token::Str(cursor.take((marker & 0x1f).into(), "a str")?),
        0xc0 => Token::Nil,
        0xc1 => return Err(reserved_marker(at)),
        0xc2 => Token::Bool(false),
        0xc3 => Token::Bool(true),
        0xc4..=0xc6 => Token::Bin(length(cursor, marker - 0xc4).and_then(|n| cursor.take_u64(n, "a bin"))?),
        0xc7..=0xc9 => {
            let n = length(cursor, marker - 0xc7)?;
            let kind = i8::from_be_bytes(cursor.array("the type of an ext")?);
            Token::Ext(kind, cursor.take_u64(n, "an ext")?)
        }
        0xca => Token::F32(cursor.f32_be("a float")?),
        0xcb => Token::F64(cursor.f64_be("a float")?),
        0xcc => Token::Unsigned(cursor.u8("an integer")?.into()),
        0xcd => Token::Unsigned(cursor.u16_be("an integer")?.into()),
        0xce => Token::Unsigned(cursor.u32_be("an integer")?.into()),
        0xcf => Token::Unsigned(cursor.u64_be("an integer")?),
        0xd0 => signed(i8::from_be_bytes(cursor.array("an integer")?).into()),
        0xd1 => signed(cursor.i16_be("an integer")?.into()),
        0xd2 => signed(cursor.i32_be("an integer")?.into()),
        0xd3 => signed(cursor.i64_be("an integer")?),
        0xd4..=0xd8 => {
            let kind = i8::from_be_bytes(cursor.array("the type of an ext")?);
            Token::Ext(kind, cursor.take(1 << (marker - 0xd4), "an ext")?)
        }
        0xd9..=0xdb => Token::Str(length(cursor, marker - 0xd9).and_then(|n| cursor.take_u64(n, "a str"))?),
        0xdc => Token::Array(cursor.u16_be("the length of an array")?.into()),
        0xdd => Token::Array(cursor.u32_be("the length of an array")?),
        0xde => Token::Map(cursor.u16_be("the length of a map")?.into()),
        0xdf => Token::Map(cursor.u32_be("the length of a map")?),
        // 0xe0..=0xff: a negative number in the five low bits.
        _ => Token::Negative(i8::from_be_bytes([marker]).into()),
    })
}

/// The text of a str that ends at file offset `end`.
#[inline]
pub(crate) fn utf8(bytes: &[u8], end: u64) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| not_utf8(bytes, end, error.valid_up_to()))
}

#[cold]
fn not_utf8(bytes: &[u8], end: u64, valid: usize) -> Error {
    let byte = bytes.get(valid).copied().unwrap_or_default();
    let at = end.saturating_sub(bytes.len() as u64).saturating_add(valid as u64);
    Error::invalid(format!("invalid UTF-8 in a str: byte {byte:#04x}")).at(at)
}

/// A length of 1, 2 or 4 bytes, for `width` 0, 1 or 2.
#[inline]
fn length(cursor: &mut Cursor<'_>, width: u8) -> Result<u64> {
    Ok(match width {
        0 => cursor.u8("a length")?.into(),
        1 => cursor.u16_be("a length")?.into(),
        _ => cursor.u32_be("a length")?.into(),
    })
}

#[inline]
fn signed(value: i64) -> Token<'static> {
    u64::try_from(value).map_or(Token::Negative(value), Token::Unsigned)
}

#[cold]
fn reserved_marker(at: u64) -> Error {
    Error::invalid("reserved msgpack marker 0xc1").at(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(bytes: &[u8]) -> Result<Token<'_>> {
        Tokens::at(bytes, 0).next()
    }

    #[test]
    fn reads_every_encoding() {
        let cases: &[(&[u8], Token<'_>)] = &[
            (&[0x7f], Token::Unsigned(127)),
            (&[0xcc, 0xff], Token::Unsigned(255)),
            (&[0xcd, 1, 0], Token::Unsigned(256)),
            (&[0xce, 1, 0, 0, 0], Token::Unsigned(1 << 24)),
            (&[0xcf, 255, 255, 255, 255, 255, 255, 255, 255], Token::Unsigned(u64::MAX)),
            (&[0xe0], Token::Negative(-32)),
            (&[0xff], Token::Negative(-1)),
            (&[0xd0, 0x80], Token::Negative(-128)),
            (&[0xd0, 5], Token::Unsigned(5)),
            (&[0xd1, 0x80, 0], Token::Negative(-32768)),
            (&[0xd2, 0x80, 0, 0, 0], Token::Negative(-(1 << 31))),
            (&[0xd3, 0x80, 0, 0, 0, 0, 0, 0, 0], Token::Negative(i64::MIN)),
            (&[0xca, 0x3f, 0xc0, 0, 0], Token::F32(1.5)),
            (&[0xcb, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0], Token::F64(1.5)),
            (&[0xc0], Token::Nil),
            (&[0xc2], Token::Bool(false)),
            (&[0xc3], Token::Bool(true)),
            (&[0xa2, b'h', b'i'], Token::Str(b"hi")),
            (&[0xd9, 2, b'h', b'i'], Token::Str(b"hi")),
            (&[0xda, 0, 2, b'h', b'i'], Token::Str(b"hi")),
            (&[0xdb, 0, 0, 0, 2, b'h', b'i'], Token::Str(b"hi")),
            (&[0xc4, 1, 9], Token::Bin(&[9])),
            (&[0xc5, 0, 1, 9], Token::Bin(&[9])),
            (&[0xc6, 0, 0, 0, 1, 9], Token::Bin(&[9])),
            (&[0x93], Token::Array(3)),
            (&[0xdc, 1, 0], Token::Array(256)),
            (&[0xdd, 0, 1, 0, 0], Token::Array(65536)),
            (&[0x82], Token::Map(2)),
            (&[0xde, 1, 0], Token::Map(256)),
            (&[0xdf, 0, 1, 0, 0], Token::Map(65536)),
            (&[0xd4, 0xff, 7], Token::Ext(-1, &[7])),
            (&[0xd6, 5, 1, 2, 3, 4], Token::Ext(5, &[1, 2, 3, 4])),
            (&[0xd8, 5, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], {
                Token::Ext(5, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15])
            }),
            (&[0xc7, 1, 3, 7], Token::Ext(3, &[7])),
            (&[0xc8, 0, 1, 3, 7], Token::Ext(3, &[7])),
            (&[0xc9, 0, 0, 0, 1, 3, 7], Token::Ext(3, &[7])),
        ];
        for (bytes, expected) in cases {
            assert_eq!(one(bytes).unwrap(), *expected, "{bytes:02x?}");
            for cut in 0..bytes.len() {
                let mut tokens = Tokens::at(&bytes[..cut], 100);
                let error = tokens.next().unwrap_err();
                assert!(matches!(error.kind(), container_core::ErrorKind::Truncated { .. }), "{error}");
                assert_eq!(tokens.offset(), 100, "a failed read moves nothing");
            }
        }
        assert_eq!(one(&[0xc1]).unwrap_err().to_string(), "reserved msgpack marker 0xc1 (byte 0)");
    }

    #[test]
    fn skips_whole_values() {
        let nested = [0x82, 0xa1, b'a', 0x92, 1, 0x81, 0xc0, 0xc4, 1, 9, 0xa1, b'b', 0xca, 0, 0, 0, 0, 0x05];
        let mut tokens = Tokens::at(&nested, 0);
        assert_eq!(tokens.skip().unwrap().len(), nested.len() - 1);
        assert_eq!(tokens.next().unwrap(), Token::Unsigned(5));
        assert!(tokens.is_empty());
        assert_eq!(Tokens::at(&nested, 0).check(3).unwrap().len(), nested.len() - 1);
        let error = Tokens::at(&nested, 0).check(2).unwrap_err();
        assert_eq!(error.to_string(), "nesting depth 3 exceeds the limit 2 (byte 5)");
        for cut in 0..nested.len() - 1 {
            assert!(Tokens::at(&nested[..cut], 0).skip().is_err());
            assert!(Tokens::at(&nested[..cut], 0).check(9).is_err());
        }
    }

    #[test]
    fn rejects_a_count_beyond_the_bytes_at_once() {
        let error = Tokens::at(&[0xdd, 0xff, 0xff, 0xff, 0xff, 0xc0], 7).skip().unwrap_err();
        assert_eq!(error.to_string(), "the members of an array or a map: needs 4294967295 bytes, 1 available (byte 7)");
        let error = Tokens::at(&[0xdb, 0xff, 0xff, 0xff, 0xff, b'a'], 0).skip().unwrap_err();
        assert_eq!(error.to_string(), "a str: needs 4294967295 bytes, 1 available (byte 5)");
    }

    #[test]
    fn deep_nesting_hits_the_limit_without_stack_overflow() {
        let mut deep = vec![0x91; 1_000_000];
        deep.push(0xc0);
        assert_eq!(Tokens::at(&deep, 0).skip().unwrap().len(), deep.len());
        let error = Tokens::at(&deep, 0).check(128).unwrap_err();
        assert_eq!(error.to_string(), "nesting depth 129 exceeds the limit 128 (byte 128)");
    }

    #[test]
    fn invalid_utf8_is_reported_with_its_byte() {
        let error = Tokens::at(&[0xa3, b'a', 0xff, b'b'], 10).check(1).unwrap_err();
        assert_eq!(error.to_string(), "invalid UTF-8 in a str: byte 0xff (byte 12)");
    }
}
