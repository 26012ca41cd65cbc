//! A pull parser for JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use container_core::{Error, Result};

/// A pull parser over a JSON text. Methods for values expect the position after whitespace, where [`token`](Self::token) leaves it.
#[derive(Debug)]
pub(super) struct Parser<'j> {
    text: &'j str,
    bytes: &'j [u8],
    pub(super) at: usize,
    /// Remaining nesting levels.
    depth: u32,
    limit: u32,
    /// The last string with escapes, decoded.
    pub(super) scratch: &'j mut String,
}

/// A number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    I64(i64),
    U64(u64),
    F64(f64),
    /// Out of range: an integer that `f64` cannot represent, or larger than any float.
    Beyond,
}

/// A string: borrowed from the text, or decoded in the scratch buffer.
#[derive(Debug, Clone, Copy)]
pub(super) enum Quoted<'j> {
    Plain(&'j str),
    Scratch,
}

/// A parsed sparse vector.
#[derive(Debug)]
pub(super) struct Sparse {
    pub(super) length: usize,
    /// Ascending indexes of the explicit elements.
    pub(super) indices: Vec<usize>,
    /// Offset of the list of values.
    pub(super) values: usize,
}

/// Powers of ten that `f64` represents exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// Finds bytes that end a plain run in a string: quotes, backslashes and control characters. The lowest set bit of the result belongs to the first
/// of them; higher bits are meaningless.
#[inline]
const fn special_bytes(word: [u8; 8]) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let word = u64::from_le_bytes(word);
    let quotes = word ^ (ONES * 0x22);
    let backslashes = word ^ (ONES * 0x5c);
    // A subtraction borrows only from bytes after a match. Bytes with the high bit never match.
    let matches = word.wrapping_sub(ONES * 0x20) & !word
        | quotes.wrapping_sub(ONES) & !quotes
        | backslashes.wrapping_sub(ONES) & !backslashes;
    matches & HIGH
}

impl<'j> Parser<'j> {
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) with the offset of invalid UTF-8.
    pub(super) fn new(json: &'j [u8], scratch: &'j mut String, limit: u32) -> Result<Self> {
        let text = std::str::from_utf8(json)
            .map_err(|error| Error::invalid("invalid UTF-8 in JSON").at(error.valid_up_to() as u64))?;
        Ok(Self { text, bytes: json, at: 0, depth: limit, limit, scratch })
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Skips whitespace and returns the next byte without consuming it.
    #[inline]
    pub(super) fn token(&mut self) -> Option<u8> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.at += 1,
                other => return other,
            }
        }
    }

    #[cold]
    pub(super) fn expected(&self, what: &str) -> Error {
        let at = self.at as u64;
        match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some(found) => Error::invalid(format!("expected {what}, found {found:?}")).at(at),
            None => Error::truncated(what.to_owned(), 1, 0).at(at),
        }
    }

    /// The text from `start` to the current position.
    pub(super) fn since(&self, start: usize) -> &'j str {
        self.text.get(start..self.at).unwrap_or_default() // both are character boundaries
    }

    /// Checks that only whitespace follows.
    pub(super) fn end(&mut self) -> Result<()> {
        match self.token() {
            None => Ok(()),
            Some(_) => Err(self.expected("the end of the JSON")),
        }
    }

    /// Consumes an opening bracket.
    #[inline]
    pub(super) fn open(&mut self) -> Result<()> {
        match self.depth.checked_sub(1) {
            Some(depth) => self.depth = depth,
            None => {
                let limit = self.limit.into();
                return Err(Error::limit("the nesting of values", limit + 1, limit).at(self.at as u64));
            }
        }
        self.at += 1;
        Ok(())
    }

    /// Reads the name of the next member and the colon, or the closing brace (`None`).
    #[inline]
    pub(super) fn member(&mut self, is_first: &mut bool) -> Result<Option<Quoted<'j>>> {
        let mut byte = self.token();
        if byte == Some(b'}') {
            self.at += 1;
            self.depth += 1;
            return Ok(None);
        }
        if !std::mem::replace(is_first, false) {
            if byte != Some(b',') {
                return Err(self.expected("\",\" or \"}\""));
            }
            self.at += 1;
            byte = self.token();
        }
        if byte != Some(b'"') {
            return Err(self.expected("the name of a member"));
        }
        let name = self.string()?;
        if self.token() != Some(b':') {
            return Err(self.expected("\":\""));
        }
        self.at += 1;
        Ok(Some(name))
    }

    /// Moves to the next element. Returns false after the closing bracket.
    #[inline]
    pub(super) fn element(&mut self, is_first: &mut bool) -> Result<bool> {
        let byte = self.token();
        if byte == Some(b']') {
            self.at += 1;
            self.depth += 1;
            return Ok(false);
        }
        if !std::mem::replace(is_first, false) {
            if byte != Some(b',') {
                return Err(self.expected("\",\" or \"]\""));
            }
            self.at += 1;
        }
        Ok(true)
    }

    #[inline]
    pub(super) fn word(&mut self, word: &'static str) -> Result<()> {
        if self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes())) {
            self.at += word.len();
            return Ok(());
        }
        let is_equal = |(expected, found): &(u8, &u8)| expected == *found;
        self.at += word.bytes().zip(self.bytes.get(self.at..).unwrap_or_default()).take_while(is_equal).count();
        Err(self.expected(word))
    }

    /// Returns the offset of the next [special byte](special_bytes), or the end.
    #[inline(always)] // see string()
    fn skip_plain(&self, mut at: usize) -> usize {
        let mut rest = self.bytes.get(at..).unwrap_or_default();
        while let Some((word, after)) = rest.split_first_chunk() {
            match special_bytes(*word) {
                0 => (at, rest) = (at + 8, after),
                special => return at + (special.trailing_zeros() / 8) as usize, // 0 to 7
            }
        }
        at + rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | ..b' ')).count()
    }

    /// Reads a string.
    #[inline(always)] // a call costs more than most strings
    pub(super) fn string(&mut self) -> Result<Quoted<'j>> {
        let start = self.at + 1;
        self.at = self.skip_plain(start);
        if self.peek() != Some(b'"') {
            return self.escaped(start);
        }
        let text = self.since(start);
        self.at += 1;
        Ok(Quoted::Plain(text))
    }

    /// Reads the rest of a string from its first escape.
    fn escaped(&mut self, mut start: usize) -> Result<Quoted<'j>> {
        self.scratch.clear();
        loop {
            let plain = self.since(start);
            self.scratch.push_str(plain);
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(_) => return Err(self.expected("an escaped control character")),
                None => return Err(self.expected("the end of a string")),
            }
            start = self.at;
            self.at = self.skip_plain(start);
        }
        self.at += 1;
        Ok(Quoted::Scratch)
    }

    fn escape(&mut self) -> Result<()> {
        let start = self.at;
        self.at += 1;
        let character = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(start),
            _ => return Err(self.expected("an escape")),
        };
        self.at += 1;
        self.scratch.push(character);
        Ok(())
    }

    /// Reads `\u0041`, or a surrogate pair.
    fn unicode(&mut self, start: usize) -> Result<()> {
        self.at += 1;
        let mut code = self.hex()?;
        if (0xd800..0xdc00).contains(&code) && self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(b"\\u")) {
            self.at += 2;
            let low = self.hex()?.wrapping_sub(0xdc00);
            // An unpaired surrogate is rejected below.
            code = if low < 0x400 { 0x10000 + ((code - 0xd800) << 10) + low } else { 0xd800 };
        }
        let unpaired = || Error::invalid("unpaired surrogate in an escape").at(start as u64);
        self.scratch.push(char::from_u32(code).ok_or_else(unpaired)?);
        Ok(())
    }

    fn hex(&mut self) -> Result<u32> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            code = code << 4 | digit.ok_or_else(|| self.expected("a hexadecimal digit"))?;
            self.at += 1;
        }
        Ok(code)
    }

    /// Appends decimal digits to `number`, wrapping on overflow. Returns the number of digits.
    #[inline]
    fn digits(&mut self, number: &mut u64) -> usize {
        let start = self.at;
        while let Some(byte @ b'0'..=b'9') = self.peek() {
            *number = number.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
            self.at += 1;
        }
        self.at - start
    }

    #[inline]
    pub(super) fn number(&mut self) -> Result<Number> {
        let start = self.at;
        let is_negative = self.peek() == Some(b'-');
        self.at += usize::from(is_negative);
        let mut number = 0;
        let mut digits = match self.peek() {
            // No leading zeros.
            Some(b'0') => {
                self.at += 1;
                1
            }
            _ => self.digits(&mut number),
        };
        if digits == 0 {
            return Err(self.expected(if is_negative { "a digit" } else { "a value" }));
        }
        if !matches!(self.peek(), Some(b'.' | b'e' | b'E')) {
            return Ok(match (i64::try_from(number), is_negative) {
                // 18 digits never overflow.
                (Ok(0), true) if digits <= 18 => Number::F64(-0.0),
                (Ok(number), false) if digits <= 18 => Number::I64(number),
                (Ok(number), true) if digits <= 18 => Number::I64(-number),
                _ => self.large_integer(start),
            });
        }
        let mut exponent = 0_i64;
        if self.peek() == Some(b'.') {
            self.at += 1;
            let fraction = self.digits(&mut number);
            if fraction == 0 {
                return Err(self.expected("a digit"));
            }
            digits += fraction;
            exponent = -i64::try_from(fraction).unwrap_or(i64::MAX);
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            let is_negative_exponent = self.peek() == Some(b'-');
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            let mut power = 0;
            let count = self.digits(&mut power);
            if count == 0 {
                return Err(self.expected("a digit"));
            }
            let power = if count > 9 { i64::MAX / 2 } else { i64::try_from(power).unwrap_or(i64::MAX / 2) };
            exponent = exponent.saturating_add(if is_negative_exponent { -power } else { power });
        }
        // Both operands are exact, so the result is correctly rounded.
        if digits <= 18 && number < 1 << 53 && exponent.unsigned_abs() < POWERS.len() as u64 {
            let index = usize::try_from(exponent.unsigned_abs()).unwrap_or(0);
            let power = POWERS.get(index).copied().unwrap_or(1.0);
            #[allow(clippy::cast_precision_loss, reason = "below 2^53")]
            let float = number as f64;
            let float = if exponent < 0 { float / power } else { float * power };
            return Ok(Number::F64(if is_negative { -float } else { float }));
        }
        let float = self.since(start).parse::<f64>().ok().filter(|float| float.is_finite());
        Ok(float.map_or(Number::Beyond, Number::F64))
    }

    /// Parses an integer with more than 18 digits.
    #[cold]
    fn large_integer(&self, start: usize) -> Number {
        let text = self.since(start);
        if let Ok(number) = text.parse::<i64>() {
            return Number::I64(number);
        }
        if let Ok(number) = text.parse::<u64>() {
            return Number::U64(number);
        }
        // No float has more digits.
        if text.len() > 310 {
            return Number::Beyond;
        }
        match text.parse::<f64>() {
            Ok(float) if float.is_finite() && format!("{float:.0}") == text => Number::F64(float),
            _ => Number::Beyond,
        }
    }

    /// Reads an object whose only member is `"$bytes"` with base64. Returns `None` without moving for any other object.
    #[inline]
    pub(super) fn bytes_object(&mut self) -> Option<Vec<u8>> {
        let start = self.at;
        self.at += 1;
        self.token();
        let is_named = self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(br#""$bytes""#));
        let bytes = if is_named && self.depth > 0 { self.base64_member() } else { None };
        if bytes.is_none() {
            self.at = start;
        }
        bytes
    }

    #[cold]
    fn base64_member(&mut self) -> Option<Vec<u8>> {
        let mut is_first = true;
        self.member(&mut is_first).ok()??;
        if self.token() != Some(b'"') {
            return None;
        }
        let text = match self.string().ok()? {
            Quoted::Plain(text) => text,
            Quoted::Scratch => self.scratch.as_str(),
        };
        let bytes = STANDARD.decode(text).ok()?;
        let is_end = self.token() == Some(b'}');
        self.at += 1;
        is_end.then_some(bytes)
    }

    /// Reads an object whose only member is `"$sparse"`, an object of `length`, ascending `indices`, and their `values`. Returns `None` without moving
    /// for any other object.
    #[inline]
    pub(super) fn sparse_object(&mut self) -> Option<Sparse> {
        let (start, depth) = (self.at, self.depth);
        self.at += 1;
        self.token();
        let is_named = self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(br#""$sparse""#));
        self.at = start;
        let sparse = if is_named { self.sparse_member() } else { None };
        if sparse.is_none() {
            (self.at, self.depth) = (start, depth);
        }
        sparse
    }

    #[cold]
    fn sparse_member(&mut self) -> Option<Sparse> {
        self.open().ok()?;
        let mut is_first = true;
        self.member(&mut is_first).ok()??;
        (self.token() == Some(b'{')).then(|| self.open().ok()).flatten()?;
        let (mut length, mut indices, mut values, mut count, mut is_inner_first) = (None, None, None, 0, true);
        while let Some(name) = self.member(&mut is_inner_first).ok()? {
            let Quoted::Plain(name) = name else { return None };
            let byte = self.token();
            match (name, byte) {
                ("length", Some(b'0'..=b'9')) => length = Some(self.index()?),
                ("indices", Some(b'[')) => {
                    self.open().ok()?;
                    let (mut all, mut is_first) = (Vec::new(), true);
                    while self.element(&mut is_first).ok()? {
                        self.token();
                        all.push(self.index()?);
                    }
                    indices = Some(all);
                }
                ("values", Some(b'[')) => {
                    values = Some(self.at);
                    self.open().ok()?;
                    let mut is_first = true;
                    while self.element(&mut is_first).ok()? {
                        self.skip_value().ok()?;
                        count += 1;
                    }
                }
                _ => return None,
            }
        }
        if self.member(&mut is_first).ok()?.is_some() {
            return None;
        }
        let (length, indices, values) = (length?, indices?, values?);
        let is_ascending = indices.is_sorted_by(|a, b| a < b) && indices.last().is_none_or(|last| *last < length);
        (is_ascending && indices.len() == count).then_some(Sparse { length, indices, values })
    }

    fn index(&mut self) -> Option<usize> {
        match self.number().ok()? {
            Number::I64(number) => usize::try_from(number).ok(),
            _ => None,
        }
    }

    /// Validates and skips a value.
    pub(super) fn skip_value(&mut self) -> Result<()> {
        match self.token() {
            Some(b'"') => self.string().map(drop),
            Some(b'{') => {
                self.open()?;
                let mut is_first = true;
                while self.member(&mut is_first)?.is_some() {
                    self.skip_value()?;
                }
                Ok(())
            }
            Some(b'[') => {
                self.open()?;
                let mut is_first = true;
                while self.element(&mut is_first)? {
                    self.skip_value()?;
                }
                Ok(())
            }
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            _ => self.number().map(drop),
        }
    }
}
