//! A walk over JSON text that checks it.

use container_core::{Error, Result};

use super::{Json, wrong};

/// Where in a text one is.
#[derive(Debug, Clone)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// Where the text begins in its file.
    offset: u64,
    depth: u32,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str, offset: u64, depth: u32) -> Self {
        Self { text, at: 0, offset, depth }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Where it is in the file.
    pub(crate) fn place(&self) -> u64 {
        self.offset + self.at as u64
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    pub(crate) fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// Passes over what stands between two values that were checked.
    pub(crate) fn separator(&mut self) {
        self.blanks();
        if matches!(self.peek(), Some(b',' | b':')) {
            self.at += 1;
        }
    }

    /// Nothing but blanks follows.
    pub(crate) fn end(&mut self) -> Result<()> {
        self.blanks();
        match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            None => Ok(()),
            Some(found) => Err(wrong(self.place(), format!("the value is followed by {found:?}"))),
        }
    }

    #[cold]
    fn expected(&self, what: &str) -> Error {
        match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            None => wrong(self.place(), format!("{what} is expected, the text ends")),
            Some(found) => wrong(self.place(), format!("{what} is expected, {found:?} is found")),
        }
    }

    /// The next value, whole and checked.
    pub(crate) fn value(&mut self) -> Result<Json<'a>> {
        self.blanks();
        let start = self.at;
        // The brackets that are open, the innermost last.
        let mut open: Vec<u8> = Vec::new();
        loop {
            self.blanks();
            let closing = match self.peek() {
                Some(b'[') => Some(b']'),
                Some(b'{') => Some(b'}'),
                _ => None,
            };
            match closing {
                Some(closing) => {
                    if open.len() as u64 >= self.depth.into() {
                        let asked = open.len() as u64 + 1;
                        return Err(Error::limit("the nesting of values", asked, self.depth.into()).at(self.place()));
                    }
                    self.at += 1;
                    self.blanks();
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
                None => self.simple()?,
            }
            // A value has ended, and all that end with it.
            loop {
                let Some(&closing) = open.last() else {
                    return Ok(Json::checked(self.text.get(start..self.at).unwrap_or_default()));
                };
                self.blanks();
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

    /// A member's name and its colon.
    fn name(&mut self) -> Result<()> {
        self.blanks();
        if self.peek() != Some(b'"') {
            return Err(self.expected("a name in quotes"));
        }
        self.string()?;
        self.blanks();
        if self.peek() != Some(b':') {
            return Err(self.expected("':'"));
        }
        self.at += 1;
        Ok(())
    }

    /// A value that holds no others.
    fn simple(&mut self) -> Result<()> {
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
        let start = self.place();
        self.at += 1;
        loop {
            let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
            let plain = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20));
            let Some(plain) = plain else { return Err(wrong(start, "a text does not end".to_owned())) };
            self.at += plain;
            match rest.get(plain..).unwrap_or_default() {
                [b'"', ..] => {
                    self.at += 1;
                    return Ok(());
                }
                [b'\\', b'u', digits @ ..] => {
                    if !digits.get(..4).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                        let detail = "a text holds the escape '\\u' without four hexadecimal digits";
                        return Err(wrong(self.place(), detail.to_owned()));
                    }
                    self.at += 6;
                }
                [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => self.at += 2,
                [b'\\', ..] => {
                    let escape: String = self.text.get(self.at..).unwrap_or_default().chars().take(2).collect();
                    return Err(wrong(self.place(), format!("a text holds the escape '{escape}'")));
                }
                [control, ..] => {
                    return Err(wrong(self.place(), format!("a text holds the control character {control:#04x}")));
                }
                [] => return Err(wrong(start, "a text does not end".to_owned())),
            }
        }
    }
}

/// How long the number is that a text begins with.
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
