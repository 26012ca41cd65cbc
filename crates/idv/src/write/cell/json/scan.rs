//! JSON values other than arrays and objects, which the caller handles.

use std::borrow::Cow;

use container_core::json::Tokenizer;
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

/// JSON, with errors that show what was found.
#[derive(Clone)]
pub(super) struct Json<'a>(Tokenizer<'a>);

impl<'a> Json<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self(Tokenizer::new(text, u32::MAX))
    }

    /// Skips whitespace and returns the next byte.
    pub(super) fn peek(&mut self) -> Option<u8> {
        self.0.token()
    }

    /// Skips whitespace and returns the offset of the next byte.
    pub(super) fn at(&mut self) -> u64 {
        self.peek();
        self.0.position() as u64
    }

    pub(super) fn skip(&mut self, mark: u8) -> bool {
        self.0.take(mark)
    }

    pub(super) fn expect(&mut self, mark: u8) -> Result<()> {
        if self.skip(mark) {
            return Ok(());
        }
        Err(self.expected(&format!("{:?}", char::from(mark).to_string())))
    }

    #[cold]
    pub(super) fn expected(&self, what: &str) -> Error {
        let rest = self.0.rest();
        let found = if rest.is_empty() { "the end".to_owned() } else { quoted(rest) };
        Error::invalid(format!("invalid JSON: expected {what}, found {found}")).at(self.0.position() as u64)
    }

    pub(super) fn end(&mut self) -> Result<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.expected("the end")),
        }
    }

    pub(super) fn word(&mut self, word: &'static str) -> bool {
        self.0.rest().starts_with(word) && self.0.word(word).is_ok()
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
        let start = self.0.clone();
        match self.0.skip_number() {
            Ok(()) => Ok(self.0.since(start.position())),
            Err(_) => Err(Self(start).expected("a number")),
        }
    }

    /// Takes a string, starting at its quote; borrowed if it has no escapes.
    pub(super) fn string(&mut self) -> Result<Cow<'a, str>> {
        let start = self.0.clone();
        // The tokenizer accepts no lone surrogates.
        self.0.string().map(|text| text.unescape().unwrap_or_default()).map_err(|error| {
            let detail = format!("invalid JSON string {}", quoted(start.rest()));
            Error::invalid(detail).caused_by(error).at(start.position() as u64)
        })
    }

    /// Takes a length or slot.
    pub(super) fn slot(&mut self, what: &str) -> Result<u32> {
        let at = self.at();
        let digits = if matches!(self.peek(), Some(b'0'..=b'9' | b'-')) { self.number()? } else { "" };
        let slot = digits.parse().ok().filter(|&slot| i32::try_from(slot).is_ok());
        slot.ok_or_else(|| match digits {
            "" => self.expected(&format!("{what} (an integer)")),
            digits => Error::invalid(format!("{what} {digits} is not between 0 and 2147483647")).at(at),
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
