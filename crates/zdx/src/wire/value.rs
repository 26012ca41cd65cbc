//! Parses JSON into a tree of values, as `serde_json` does, but faster.
//!
//! UTF-8 is validated once instead of string by string, and values are built directly instead of through serde's generic data model. Unusual
//! input (nesting deeper than 100, unpaired surrogates, large numbers) and errors are left to `serde_json`.

use std::sync::LazyLock;

use serde_json::{Map, Number, Value};

use crate::wire::json::special_bytes;

/// Deeper values are left to `serde_json`.
const MAX_DEPTH: u32 = 100;

/// Whether `serde_json` keeps numbers as numbers, not as text. Any crate in the build may enable its feature `arbitrary_precision`.
static HAS_PLAIN_NUMBERS: LazyLock<bool> = LazyLock::new(|| {
    let number: Result<Value, _> = serde_json::from_str("1.50");
    number.is_ok_and(|number| serde_json::to_vec(&number).is_ok_and(|text| text == b"1.5"))
});

/// Parses a JSON text.
///
/// # Errors
/// Those of `serde_json`.
pub fn parse(json: &[u8]) -> serde_json::Result<Value> {
    match parse_fast(json) {
        Some(value) => Ok(value),
        None => serde_json::from_slice(json),
    }
}

/// Parses a JSON text; `None` if it has to be left to `serde_json`.
fn parse_fast(json: &[u8]) -> Option<Value> {
    if !*HAS_PLAIN_NUMBERS {
        return None;
    }
    let text = std::str::from_utf8(json).ok()?;
    let mut parser = Parser { text, bytes: json, at: 0, unescaped: String::new() };
    let first = parser.token()?;
    let mut value = Value::Null;
    parser.value(first, MAX_DEPTH, |parsed| value = parsed)?;
    parser.token().is_none().then_some(value)
}

struct Parser<'j> {
    text: &'j str,
    bytes: &'j [u8],
    at: usize,
    /// The last string that contained escapes, unescaped.
    unescaped: String,
}

impl<'j> Parser<'j> {
    #[inline(always)] // all of these are a few instructions
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Skips white space and peeks at the next byte.
    #[inline(always)]
    fn token(&mut self) -> Option<u8> {
        match self.peek() {
            Some(..=b' ') => self.skip_white_space(),
            other => other,
        }
    }

    #[cold]
    fn skip_white_space(&mut self) -> Option<u8> {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
        self.peek()
    }

    fn word(&mut self, word: &[u8], value: Value) -> Option<Value> {
        let is_match = self.bytes.get(self.at..)?.starts_with(word);
        self.at += word.len();
        is_match.then_some(value)
    }

    /// Parses the value that begins with this byte and passes it to `emit`, separately for each kind: moving a freshly built value would stall
    /// until all of its parts are written.
    #[inline(always)]
    fn value(&mut self, first: u8, depth_left: u32, emit: impl FnOnce(Value)) -> Option<()> {
        match first {
            b'"' => emit(Value::String(self.string()?)),
            b'{' => emit(Value::Object(self.object(depth_left.checked_sub(1)?)?)),
            b'[' => emit(Value::Array(self.array(depth_left.checked_sub(1)?)?)),
            b't' => emit(self.word(b"true", Value::Bool(true))?),
            b'f' => emit(self.word(b"false", Value::Bool(false))?),
            b'n' => emit(self.word(b"null", Value::Null)?),
            _ => self.number(|number| emit(Value::Number(number)))?,
        }
        Some(())
    }

    fn object(&mut self, depth_left: u32) -> Option<Map<String, Value>> {
        self.at += 1;
        let mut members = Map::new();
        let mut byte = self.token()?;
        if byte == b'}' {
            self.at += 1;
            return Some(members);
        }
        loop {
            if byte != b'"' {
                return None;
            }
            let name = self.string()?;
            if self.token()? != b':' {
                return None;
            }
            self.at += 1;
            let first = self.token()?;
            // Of duplicate members, the last one wins.
            self.value(first, depth_left, |value| drop(members.insert(name, value)))?;
            let end = self.token()?;
            self.at += 1;
            match end {
                b',' => byte = self.token()?,
                b'}' => return Some(members),
                _ => return None,
            }
        }
    }

    fn array(&mut self, depth_left: u32) -> Option<Vec<Value>> {
        self.at += 1;
        let mut elements = Vec::new();
        let mut first = self.token()?;
        if first == b']' {
            self.at += 1;
            return Some(elements);
        }
        loop {
            self.value(first, depth_left, |value| elements.push(value))?;
            let end = self.token()?;
            self.at += 1;
            match end {
                b',' => first = self.token()?,
                b']' => return Some(elements),
                _ => return None,
            }
        }
    }

    #[inline(always)] // a call takes longer than most strings
    fn string(&mut self) -> Option<String> {
        let start = self.at + 1;
        let end = skip_plain(self.bytes, start);
        let mut text = self.text.get(start..end)?;
        self.at = end + 1;
        match self.bytes.get(end)? {
            b'"' => {}
            b'\\' => {
                self.unescape(start, end)?;
                text = &self.unescaped;
            }
            _ => return None,
        }
        Some(text.to_owned())
    }

    /// Unescapes the rest of a string from its first escape, at `at`.
    #[cold]
    fn unescape(&mut self, start: usize, mut at: usize) -> Option<()> {
        let mut out = std::mem::take(&mut self.unescaped);
        out.clear();
        out.push_str(self.text.get(start..at)?);
        loop {
            match self.bytes.get(at)? {
                b'"' => {
                    self.at = at + 1;
                    self.unescaped = out;
                    return Some(());
                }
                b'\\' => {
                    at += 2;
                    out.push(match self.bytes.get(at - 1)? {
                        byte @ (b'"' | b'\\' | b'/') => char::from(*byte),
                        b'b' => '\u{8}',
                        b'f' => '\u{c}',
                        b'n' => '\n',
                        b'r' => '\r',
                        b't' => '\t',
                        b'u' => {
                            let mut code = self.hex(at)?;
                            at += 4;
                            // A surrogate pair; an unpaired surrogate is left to `serde_json`.
                            if (0xd800..0xdc00).contains(&code) && self.bytes.get(at..at + 2)? == b"\\u" {
                                let low = self.hex(at + 2)?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
                                code = 0x10000 + ((code - 0xd800) << 10) + low;
                                at += 6;
                            }
                            char::from_u32(code)?
                        }
                        _ => return None,
                    });
                }
                _ => {
                    let end = skip_plain(self.bytes, at);
                    // Empty at a control character.
                    out.push_str(self.text.get(at..end).filter(|text| !text.is_empty())?);
                    at = end;
                }
            }
        }
    }

    fn hex(&self, at: usize) -> Option<u32> {
        let digits = self.text.get(at..at + 4)?;
        let are_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        u32::from_str_radix(digits, 16).ok().filter(|_| are_hex)
    }

    #[inline(always)]
    fn number(&mut self, emit: impl FnOnce(Number)) -> Option<()> {
        let start = self.at;
        let is_negative = self.peek() == Some(b'-');
        self.at += usize::from(is_negative);
        let first = self.at;
        let number = self.digits(0)?;
        let digits = self.at - first;
        if digits > 1 && self.bytes.get(first) == Some(&b'0') {
            return None;
        }
        if matches!(self.peek(), Some(b'.' | b'e' | b'E')) {
            // Out of range is an error.
            emit(Number::from_f64(self.float(start, first, number)?)?);
            return Some(());
        }
        // 19 digits always fit. Larger numbers are left to `serde_json`, as is negative zero, which is a float.
        if digits > 19 || is_negative && number == 0 {
            return None;
        }
        match is_negative {
            true => emit(0i64.checked_sub_unsigned(number)?.into()),
            false => emit(number.into()),
        }
        Some(())
    }

    /// Parses the rest of a float that begins at `start`, whose integer digits from `first` on make up `number`.
    fn float(&mut self, start: usize, first: usize, mut number: u64) -> Option<f64> {
        let (mut digits, mut fraction_len) = (self.at - first, 0);
        if self.peek() == Some(b'.') {
            self.at += 1;
            let point = self.at;
            number = self.digits(number)?;
            fraction_len = self.at - point;
            digits += fraction_len;
        }
        let has_exponent = matches!(self.peek(), Some(b'e' | b'E'));
        if has_exponent {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits(0)?;
        }
        match POWERS.get(fraction_len) {
            // Both operands are exact, so the quotient is correctly rounded, except with the excess precision of x87.
            #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
            Some(power) if !has_exponent && digits <= 19 && number <= 1 << 53 && !cfg!(target_arch = "x86") => {
                let float = number as f64 / power;
                Some(if first > start { -float } else { float })
            }
            _ => self.text.get(start..self.at)?.parse().ok(),
        }
    }

    /// Appends at least one digit to a number. Overflows past 19 digits, which callers check.
    #[inline(always)]
    fn digits(&mut self, mut number: u64) -> Option<u64> {
        let start = self.at;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            number = number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        (self.at > start).then_some(number)
    }
}

/// Powers of ten that are exact as floats.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// The position of the first byte that is special in a string, or the end.
#[inline(always)]
fn skip_plain(bytes: &[u8], mut at: usize) -> usize {
    let mut rest = bytes.get(at..).unwrap_or_default();
    while let Some((word, tail)) = rest.split_first_chunk() {
        match special_bytes(*word) {
            0 => (at, rest) = (at + 8, tail),
            marks => return at + (marks.trailing_zeros() / 8) as usize, // 0 to 7
        }
    }
    at + rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | ..b' ')).count()
}

#[cfg(test)]
mod tests;
