//! A JSON tokenizer. The caller handles arrays and objects.

use std::borrow::Cow;

use container_core::{Error, Result};

use super::super::{Cell, quoted};

/// A JSON value other than an array or object.
pub(super) enum Scalar<'a> {
    Null,
    Bool(bool),
    Text(Cow<'a, str>),
    Number(&'a str),
}

impl Scalar<'_> {
    /// The equivalent cell.
    pub(super) fn as_cell(&self) -> Cell<'_> {
        match self {
            Self::Null => Cell::Missing,
            Self::Bool(x) => Cell::Bool(*x),
            Self::Text(text) => Cell::Text(text),
            Self::Number(digits) => match (digits.parse(), digits.parse()) {
                (Ok(x), _) => Cell::Int(x),
                (_, Ok(x)) => Cell::RowId(x),
                // Every JSON number parses as f64.
                _ => digits.parse().map_or(Cell::Missing, Cell::Double),
            },
        }
    }
}

/// A cursor over JSON text.
pub(super) struct Json<'a> {
    text: &'a str,
    /// Offset of the next byte.
    pub(super) at: usize,
}

impl<'a> Json<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Skips whitespace and returns the next byte.
    pub(super) fn peek(&mut self) -> Option<u8> {
        loop {
            match self.byte() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                other => return other,
            }
        }
    }

    /// Skips whitespace and returns the offset of the next byte.
    pub(super) fn peeked(&mut self) -> usize {
        self.peek();
        self.at
    }

    pub(super) fn skip(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    pub(super) fn expect(&mut self, byte: u8) -> Result<()> {
        if self.skip(byte) {
            return Ok(());
        }
        Err(self.expected(&format!("{:?}", char::from(byte).to_string())))
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    #[cold]
    pub(super) fn expected(&self, what: &str) -> Error {
        let rest = self.rest();
        let found = if rest.is_empty() { "the end".to_owned() } else { quoted(rest) };
        Error::invalid(format!("invalid JSON: expected {what}, found {found}")).at(self.at as u64)
    }

    pub(super) fn end(&mut self) -> Result<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.expected("the end")),
        }
    }

    pub(super) fn word(&mut self, word: &str) -> bool {
        let there = self.rest().starts_with(word);
        if there {
            self.at += word.len();
        }
        there
    }

    pub(super) fn scalar(&mut self) -> Result<Scalar<'a>> {
        match self.peek() {
            Some(b'"') => self.string().map(Scalar::Text),
            Some(b'-' | b'0'..=b'9') => self.number().map(Scalar::Number),
            Some(b'n') if self.word("null") => Ok(Scalar::Null),
            Some(b't') if self.word("true") => Ok(Scalar::Bool(true)),
            Some(b'f') if self.word("false") => Ok(Scalar::Bool(false)),
            _ => Err(self.expected("a value")),
        }
    }

    /// Takes a number in JSON syntax.
    fn number(&mut self) -> Result<&'a str> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let Some(len) = number_len(rest) else {
            return Err(self.expected("a number"));
        };
        let number = self.text.get(self.at..self.at + len).unwrap_or_default();
        self.at += len;
        Ok(number)
    }

    /// Takes a string, starting at its quote; borrowed if it has no escapes.
    pub(super) fn string(&mut self) -> Result<Cow<'a, str>> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut end = start + 1;
        let mut plain = true;
        loop {
            match bytes.get(end) {
                None => return Err(self.expected("a closing quote")),
                Some(b'"') => break,
                Some(b'\\') => {
                    plain = false;
                    end += 2;
                }
                Some(byte) => {
                    plain &= *byte >= 0x20;
                    end += 1;
                }
            }
        }
        self.at = end + 1;
        if plain {
            return Ok(Cow::Borrowed(self.text.get(start + 1..end).unwrap_or_default()));
        }
        let token = self.text.get(start..=end).unwrap_or_default();
        serde_json::from_str(token).map(Cow::Owned).map_err(|error| {
            Error::invalid(format!("invalid JSON string {}", quoted(token))).caused_by(error).at(start as u64)
        })
    }

    /// Takes a length or slot.
    pub(super) fn slot(&mut self, what: &str) -> Result<u32> {
        self.peek();
        let digits = if matches!(self.byte(), Some(b'0'..=b'9' | b'-')) { self.number()? } else { "" };
        let slot = digits.parse().ok().filter(|&slot| i32::try_from(slot).is_ok());
        slot.ok_or_else(|| match digits {
            "" => self.expected(&format!("{what} (an integer)")),
            digits => Error::invalid(format!("{what} {digits} is not between 0 and 2147483647")).at(self.at as u64),
        })
    }

    pub(super) fn slots(&mut self) -> Result<Vec<u32>> {
        let mut slots = Vec::new();
        self.expect(b'[')?;
        if self.skip(b']') {
            return Ok(slots);
        }
        loop {
            slots.push(self.slot("index")?);
            if !self.skip(b',') {
                self.expect(b']')?;
                return Ok(slots);
            }
        }
    }
}

/// Length of the number at the start of the text; `None` if there is none.
fn number_len(text: &[u8]) -> Option<usize> {
    /// Skips one or more digits.
    fn digits(text: &[u8]) -> Option<&[u8]> {
        let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
        if end == 0 { None } else { text.get(end..) }
    }
    let whole = text.strip_prefix(b"-").unwrap_or(text);
    let mut rest = digits(whole)?;
    if whole.first() == Some(&b'0') && whole.len() - rest.len() > 1 {
        return None;
    }
    if let [b'.', fraction @ ..] = rest {
        rest = digits(fraction)?;
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        rest = match exponent {
            [b'+' | b'-', digit @ ..] => digits(digit)?,
            digit => digits(digit)?,
        };
    }
    Some(text.len() - rest.len())
}
