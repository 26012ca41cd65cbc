//! JSON into a tree of values: what `serde_json` makes of it, sooner.
//!
//! The text is checked for being UTF-8 once and not string by string, and goes straight into values, without the general way that every type
//! could take. What is out of the ordinary (nesting of more than a hundred, half surrogate pairs, and everything that is wrong) is left to
//! `serde_json`, which then gives the value or the error.

use std::sync::LazyLock;

use serde_json::{Map, Number, Value};

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
    let mut parser = Parser { text, bytes: json, at: 0 };
    parser.white();
    let value = parser.value(DEEPEST)?;
    parser.white();
    (parser.at == json.len()).then_some(value)
}

struct Parser<'j> {
    text: &'j str,
    bytes: &'j [u8],
    at: usize,
}

impl<'j> Parser<'j> {
    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline]
    fn white(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// Goes on behind this byte, with which the rest begins after white space.
    #[inline]
    fn expect(&mut self, byte: u8) -> Option<()> {
        self.white();
        let is = self.peek() == Some(byte);
        self.at += usize::from(is);
        is.then_some(())
    }

    fn word(&mut self, word: &[u8], value: Value) -> Option<Value> {
        let found = self.bytes.get(self.at..)?.starts_with(word);
        self.at += word.len();
        found.then_some(value)
    }

    fn value(&mut self, deep: u32) -> Option<Value> {
        match self.peek()? {
            b'"' => self.string().map(Value::String),
            b'{' => self.object(deep.checked_sub(1)?),
            b'[' => self.array(deep.checked_sub(1)?),
            b't' => self.word(b"true", Value::Bool(true)),
            b'f' => self.word(b"false", Value::Bool(false)),
            b'n' => self.word(b"null", Value::Null),
            _ => self.number(),
        }
    }

    fn object(&mut self, deep: u32) -> Option<Value> {
        self.at += 1;
        self.white();
        let mut members = Map::new();
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(Value::Object(members));
        }
        loop {
            if self.peek()? != b'"' {
                return None;
            }
            let name = self.string()?;
            self.expect(b':')?;
            self.white();
            // Of several of one name the last one stays.
            members.insert(name, self.value(deep)?);
            self.white();
            let byte = self.peek()?;
            self.at += 1;
            match byte {
                b',' => self.white(),
                b'}' => return Some(Value::Object(members)),
                _ => return None,
            }
        }
    }

    fn array(&mut self, deep: u32) -> Option<Value> {
        self.at += 1;
        self.white();
        let mut elements = Vec::new();
        if self.peek()? == b']' {
            self.at += 1;
            return Some(Value::Array(elements));
        }
        loop {
            elements.push(self.value(deep)?);
            self.white();
            let byte = self.peek()?;
            self.at += 1;
            match byte {
                b',' => self.white(),
                b']' => return Some(Value::Array(elements)),
                _ => return None,
            }
        }
    }

    #[inline]
    fn string(&mut self) -> Option<String> {
        let start = self.at + 1;
        let len = plain(self.bytes.get(start..)?);
        let end = start + len;
        let text = self.text.get(start..end)?;
        self.at = end + 1;
        match self.bytes.get(end)? {
            b'"' => Some(text.to_owned()),
            b'\\' => self.escaped(text, end),
            _ => None,
        }
    }

    /// The rest of a string, from its first escape on.
    #[cold]
    fn escaped(&mut self, begin: &'j str, mut at: usize) -> Option<String> {
        let mut out = begin.to_owned();
        loop {
            match self.bytes.get(at)? {
                b'"' => {
                    self.at = at + 1;
                    return Some(out);
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
                    let len = plain(self.bytes.get(at..)?);
                    // Nothing plain: a control character.
                    out.push_str(self.text.get(at..at + len).filter(|text| !text.is_empty())?);
                    at += len;
                }
            }
        }
    }

    fn hex(&self, at: usize) -> Option<u32> {
        let digits = self.text.get(at..at + 4)?;
        let are_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        u32::from_str_radix(digits, 16).ok().filter(|_| are_hex)
    }

    fn number(&mut self) -> Option<Value> {
        let start = self.at;
        let is_negative = self.peek() == Some(b'-');
        self.at += usize::from(is_negative);
        let first = self.at;
        let mut number = 0u64;
        while let Some(digit) = self.digit() {
            number = number.wrapping_mul(10).wrapping_add(digit);
        }
        let digits = self.at - first;
        if digits == 0 || digits > 1 && self.bytes.get(first) == Some(&b'0') {
            return None;
        }
        // Up to 18 digits always fit; a negative zero is a float.
        if !matches!(self.peek(), Some(b'.' | b'e' | b'E')) && digits <= 18 && !(is_negative && number == 0) {
            return Some(Value::Number(match is_negative {
                true => (-i64::try_from(number).ok()?).into(),
                false => number.into(),
            }));
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.some_digits()?;
        } else if !matches!(self.peek(), Some(b'e' | b'E')) {
            // An integer that is larger, or not: not for here.
            return None;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.some_digits()?;
        }
        let float = self.text.get(start..self.at)?.parse::<f64>().ok()?;
        // One that is too large is an error.
        Number::from_f64(float).map(Value::Number)
    }

    #[inline]
    fn digit(&mut self) -> Option<u64> {
        let digit = self.peek().filter(u8::is_ascii_digit)?;
        self.at += 1;
        Some(u64::from(digit - b'0'))
    }

    fn some_digits(&mut self) -> Option<()> {
        self.digit()?;
        while self.digit().is_some() {}
        Some(())
    }
}

/// Bytes of a string that mean nothing but themselves, from its beginning.
#[inline]
fn plain(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_serde_json() {
        for json in [
            r#"{"a":1,"b":[true,false,null,-3,0,18446744073709551615,-9223372036854775808],"c":{"d":{}},"e":[]}"#,
            r#" { "a" : 1.5e3 , "b" : [ -0 , -0.0 , 0.1 , 1e-7 , 123456789012345678901234567890 , 5E+2 ] } "#,
            r#"{"a":"","b":"x\n\t\"\\\/\b\f\r\u00e9\ud83d\ude00\u0000","\u0061":"again","é":"日本"}"#,
            "12",
            "\"x\"",
            "null",
            "[[[[[[[[[[]]]]]]]]]]",
        ] {
            let wanted: Value = serde_json::from_str(json).unwrap();
            assert_eq!(parse(json.as_bytes()).unwrap(), wanted, "{json}");
            assert_eq!(parse(json.as_bytes()).unwrap().to_string(), wanted.to_string(), "{json}");
        }
        let long = "[".repeat(120) + &"]".repeat(120);
        assert_eq!(parse(long.as_bytes()).unwrap(), serde_json::from_str::<Value>(&long).unwrap());
        // The ordinary is not left to another.
        assert!(quickly(br#"{"a":[1,-2,3.5,"x\u00e9",{"b":null}],"c":"\ud83d\ude00"}"#).is_some());
    }

    #[test]
    fn what_is_wrong_is_told_by_serde_json() {
        for json in [
            "",
            " ",
            "{",
            "}",
            "[1,]",
            "[,1]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "01",
            "-",
            "1.",
            ".5",
            "1e",
            "1e+",
            "+1",
            "tru",
            "truex",
            "nulls",
            "\"",
            "\"\\",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u+123\"",
            "\"\\ud800\"",
            "\"\\ud800\\u0041\"",
            "\"\\udc00\"",
            "\"a\nb\"",
            "1 2",
            "[1 2]",
            "1e400",
            "[1}",
            "{\"a\":1]",
            "--1",
            "-a",
        ] {
            let wanted = serde_json::from_str::<Value>(json).unwrap_err().to_string();
            assert_eq!(parse(json.as_bytes()).unwrap_err().to_string(), wanted, "{json}");
            assert_eq!(quickly(json.as_bytes()), None, "{json}");
        }
        assert!(parse(b"\"\xff\"").is_err() && parse(&[b'['; 1000]).is_err());
    }

    #[test]
    fn numbers_of_every_length() {
        for digits in 1..25 {
            for (sign, fraction) in [("", ""), ("-", ""), ("", ".25"), ("-", "e-3"), ("", ".0")] {
                let json = format!("{sign}{}{fraction}", "1234567890123456789012345".split_at(digits).0);
                let wanted: Value = serde_json::from_str(&json).unwrap();
                assert_eq!(parse(json.as_bytes()).unwrap(), wanted, "{json}");
            }
        }
    }
}
