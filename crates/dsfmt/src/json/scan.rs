//! A validating scanner of JSON text.

use container_core::{Error, Result};

use super::{Json, invalid};

/// A position in a text.
#[derive(Debug, Clone)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// File offset of the text's first byte.
    offset: u64,
    /// Maximum nesting.
    max_depth: u32,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str, offset: u64, max_depth: u32) -> Self {
        Self { text, at: 0, offset, max_depth }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The current file offset.
    pub(crate) fn position(&self) -> u64 {
        self.offset + self.at as u64
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    pub(crate) fn skip_whitespace(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// Skips whitespace and the separator between two validated values.
    pub(crate) fn skip_separator(&mut self) {
        self.skip_whitespace();
        if matches!(self.peek(), Some(b',' | b':')) {
            self.at += 1;
        }
    }

    /// Checks that only whitespace follows.
    pub(crate) fn expect_end(&mut self) -> Result<()> {
        self.skip_whitespace();
        match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            None => Ok(()),
            Some(found) => Err(invalid(self.position(), format!("unexpected {found:?} after the value"))),
        }
    }

    #[cold]
    fn expected(&self, what: &str) -> Error {
        match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            None => invalid(self.position(), format!("expected {what}, found the end")),
            Some(found) => invalid(self.position(), format!("expected {what}, found {found:?}")),
        }
    }

    /// Scans and validates the next value. Iterative, so that deep nesting cannot overflow the stack.
    pub(crate) fn value(&mut self) -> Result<Json<'a>> {
        self.skip_whitespace();
        let start = self.at;
        // Expected closing brackets, innermost last.
        let mut open: Vec<u8> = Vec::new();
        loop {
            self.skip_whitespace();
            let closing = match self.peek() {
                Some(b'[') => Some(b']'),
                Some(b'{') => Some(b'}'),
                _ => None,
            };
            match closing {
                Some(closing) => {
                    if open.len() as u64 >= self.max_depth.into() {
                        let depth = open.len() as u64 + 1;
                        return Err(
                            Error::limit("JSON nesting depth", depth, self.max_depth.into()).at(self.position())
                        );
                    }
                    self.at += 1;
                    self.skip_whitespace();
                    if self.peek() == Some(closing) {
                        self.at += 1;
                    } else {
                        open.push(closing);
                        if closing == b'}' {
                            self.name()?;
                        }
                        continue;
                    }
                }
                None => self.scalar()?,
            }
            // A value has ended: close all arrays and objects that end with it.
            loop {
                let Some(&closing) = open.last() else {
                    return Ok(Json::new_unchecked(self.text.get(start..self.at).unwrap_or_default()));
                };
                self.skip_whitespace();
                match self.peek() {
                    Some(b',') => {
                        self.at += 1;
                        if closing == b'}' {
                            self.name()?;
                        }
                        break;
                    }
                    Some(found) if found == closing => {
                        self.at += 1;
                        open.pop();
                    }
                    _ => return Err(self.expected(if closing == b']' { "',' or ']'" } else { "',' or '}'" })),
                }
            }
        }
    }

    /// Scans a member's name and colon.
    fn name(&mut self) -> Result<()> {
        self.skip_whitespace();
        if self.peek() != Some(b'"') {
            return Err(self.expected("a quoted name"));
        }
        self.string()?;
        self.skip_whitespace();
        if self.peek() != Some(b':') {
            return Err(self.expected("':'"));
        }
        self.at += 1;
        Ok(())
    }

    /// Scans anything but an array or object.
    fn scalar(&mut self) -> Result<()> {
        if self.peek() == Some(b'"') {
            return self.string();
        }
        let rest = self.text.get(self.at..).unwrap_or_default();
        let words = ["null", "true", "false", "NaN", "Infinity", "-Infinity"];
        let len = match words.into_iter().find(|word| rest.starts_with(word)) {
            Some(word) => word.len(),
            None => number(rest.as_bytes()).ok_or_else(|| self.expected("a value"))?,
        };
        self.at += len;
        Ok(())
    }

    fn string(&mut self) -> Result<()> {
        let start = self.position();
        self.at += 1;
        loop {
            let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
            let plain = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20));
            let Some(plain) = plain else { return Err(invalid(start, "unterminated string".to_owned())) };
            self.at += plain;
            match rest.get(plain..).unwrap_or_default() {
                [b'"', ..] => {
                    self.at += 1;
                    return Ok(());
                }
                [b'\\', b'u', digits @ ..] => {
                    if !digits.get(..4).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                        let detail = "invalid escape '\\u': expected four hexadecimal digits";
                        return Err(invalid(self.position(), detail.to_owned()));
                    }
                    self.at += 6;
                }
                [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => self.at += 2,
                [b'\\', ..] => {
                    let escape: String = self.text.get(self.at..).unwrap_or_default().chars().take(2).collect();
                    return Err(invalid(self.position(), format!("invalid escape '{escape}' in string")));
                }
                [control, ..] => {
                    return Err(invalid(
                        self.position(),
                        format!("unescaped control character {control:#04x} in string"),
                    ));
                }
                [] => return Err(invalid(start, "unterminated string".to_owned())),
            }
        }
    }
}

/// Length of the number at the start of `text`.
fn number(text: &[u8]) -> Option<usize> {
    let digits = |from: usize| text.get(from..).unwrap_or_default().iter().take_while(|b| b.is_ascii_digit()).count();
    let mut len = usize::from(text.first() == Some(&b'-'));
    len += match (text.get(len), digits(len)) {
        (Some(b'0'), _) => 1,
        (_, 0) => return None,
        (_, some) => some,
    };
    if text.get(len) == Some(&b'.') && digits(len + 1) > 0 {
        len += 1 + digits(len + 1);
    }
    if matches!(text.get(len), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(len + 1), Some(b'+' | b'-')));
        if digits(len + 1 + sign) > 0 {
            len += 1 + sign + digits(len + 1 + sign);
        }
    }
    Some(len)
}
