//! JSON into a tree of values: what `serde_json` makes of it, sooner.
//!
//! The text is checked for being UTF-8 once and not string by string, and goes straight into values, without the general way that every type
//! could take. What is out of the ordinary (nesting of more than a hundred, half surrogate pairs, and everything that is wrong) is left to
//! `serde_json`, which then gives the value or the error.

use std::sync::LazyLock;

use serde_json::{Map, Number, Value};

use crate::wire::json::not_plain;

/// Deeper ones are rare.
const DEEPEST: u32 = 100;

/// Is a number of `serde_json` a number, and not its text? A feature of that crate, which anybody may have switched on, decides.
static IS_PLAIN: LazyLock<bool> = LazyLock::new(|| {
    let number: Result<Value, _> = serde_json::from_str("1.50");
    number.is_ok_and(|number| serde_json::to_vec(&number).is_ok_and(|text| text == b"1.5"))
});

/// The value of a JSON text.
///
/// # Errors
/// Those of `serde_json`, for what is no JSON.
pub fn parse(json: &[u8]) -> serde_json::Result<Value> {
    match quickly(json) {
        Some(value) => Ok(value),
        None => serde_json::from_slice(json),
    }
}

/// The same; nothing where it is out of the ordinary.
fn quickly(json: &[u8]) -> Option<Value> {
    if !*IS_PLAIN {
        return None;
    }
    let text = std::str::from_utf8(json).ok()?;
    let mut parser = Parser { text, bytes: json, at: 0, unescaped: String::new() };
    let first = parser.token()?;
    let mut value = Value::Null;
    parser.value(first, DEEPEST, |found| value = found)?;
    parser.token().is_none().then_some(value)
}

struct Parser<'j> {
    text: &'j str,
    bytes: &'j [u8],
    at: usize,
    /// The text of the last string that had escapes in it.
    unescaped: String,
}

impl<'j> Parser<'j> {
    #[inline(always)] // all of these are a few instructions
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// The next byte that is no white space, where it stands then.
    #[inline(always)]
    fn token(&mut self) -> Option<u8> {
        match self.peek() {
            Some(..=b' ') => self.behind_white(),
            other => other,
        }
    }

    #[cold]
    fn behind_white(&mut self) -> Option<u8> {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
        self.peek()
    }

    fn word(&mut self, word: &[u8], value: Value) -> Option<Value> {
        let found = self.bytes.get(self.at..)?.starts_with(word);
        self.at += word.len();
        found.then_some(value)
    }

    /// Gives away the value that begins with this byte, which is the next one. Each kind is given for itself: a value that is moved when it has
    /// just been made waits for all of its parts to be in memory.
    #[inline(always)]
    fn value(&mut self, first: u8, deep: u32, give: impl FnOnce(Value)) -> Option<()> {
        match first {
            b'"' => give(Value::String(self.string()?)),
            b'{' => give(Value::Object(self.object(deep.checked_sub(1)?)?)),
            b'[' => give(Value::Array(self.array(deep.checked_sub(1)?)?)),
            b't' => give(self.word(b"true", Value::Bool(true))?),
            b'f' => give(self.word(b"false", Value::Bool(false))?),
            b'n' => give(self.word(b"null", Value::Null)?),
            _ => self.number(|number| give(Value::Number(number)))?,
        }
        Some(())
    }

    fn object(&mut self, deep: u32) -> Option<Map<String, Value>> {
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
            // Of several of one name the last one stays.
            self.value(first, deep, |value| drop(members.insert(name, value)))?;
            let end = self.token()?;
            self.at += 1;
            match end {
                b',' => byte = self.token()?,
                b'}' => return Some(members),
                _ => return None,
            }
        }
    }

    fn array(&mut self, deep: u32) -> Option<Vec<Value>> {
        self.at += 1;
        let mut elements = Vec::new();
        let mut first = self.token()?;
        if first == b']' {
            self.at += 1;
            return Some(elements);
        }
        loop {
            self.value(first, deep, |value| elements.push(value))?;
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
        let end = plain_end(self.bytes, start);
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

    /// A string to its end; the first escape in it is here.
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
                            // The two halves of a pair; a half alone is not for here.
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
                    let end = plain_end(self.bytes, at);
                    // Nothing plain: a control character.
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
    fn number(&mut self, give: impl FnOnce(Number)) -> Option<()> {
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
            // One that is too large is an error.
            give(Number::from_f64(self.float(start, first, number)?)?);
            return Some(());
        }
        // Up to 19 digits always fit. What may be larger is not for here, and neither is a negative zero, which is a float.
        if digits > 19 || is_negative && number == 0 {
            return None;
        }
        match is_negative {
            true => give(0i64.checked_sub_unsigned(number)?.into()),
            false => give(number.into()),
        }
        Some(())
    }

    /// The float that begins at `start`; this number are its digits from `first` up to here.
    fn float(&mut self, start: usize, first: usize, mut number: u64) -> Option<f64> {
        let (mut digits, mut behind) = (self.at - first, 0);
        if self.peek() == Some(b'.') {
            self.at += 1;
            let point = self.at;
            number = self.digits(number)?;
            behind = self.at - point;
            digits += behind;
        }
        let has_exponent = matches!(self.peek(), Some(b'e' | b'E'));
        if has_exponent {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits(0)?;
        }
        match POWERS.get(behind) {
            // Both are whole numbers that a float has exactly, and so it is rounded once, as it should be; but for a processor that counts
            // with more bits than that.
            #[expect(clippy::cast_precision_loss, reason = "there is none up to so many bits")]
            Some(power) if !has_exponent && digits <= 19 && number <= 1 << 53 && !cfg!(target_arch = "x86") => {
                let float = number as f64 / power;
                Some(if first > start { -float } else { float })
            }
            _ => self.text.get(start..self.at)?.parse().ok(),
        }
    }

    /// One digit or more, put behind those of a number; with more than 19 altogether it is another number.
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

/// Powers of ten that a float has exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// The first byte from there on that means more than itself in a string, or the end.
#[inline(always)]
fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    let mut rest = bytes.get(at..).unwrap_or_default();
    while let Some((word, behind)) = rest.split_first_chunk() {
        match not_plain(*word) {
            0 => (at, rest) = (at + 8, behind),
            found => return at + (found.trailing_zeros() / 8) as usize, // 0 to 7
        }
    }
    at + rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | ..b' ')).count()
}

#[cfg(test)]
mod tests;
