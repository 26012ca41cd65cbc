//! A tokenizer for JSON ([RFC 8259](https://www.rfc-editor.org/rfc/rfc8259)), for text that is read without a tree of values.
//!
//! ```
//! use container_core::json::Tokenizer;
//!
//! let mut json = Tokenizer::new(r#"{"a": [1, 2], "b": "x\ty"}"#, 128);
//! let (mut is_first, mut b) = (true, None);
//! json.token();
//! json.open()?;
//! while let Some(name) = json.member(&mut is_first)? {
//!     match name.plain() {
//!         Some("b") if json.token() == Some(b'"') => b = json.string()?.unescape(),
//!         _ => json.skip_value()?,
//!     }
//! }
//! json.end("the end")?;
//! assert_eq!(b.as_deref(), Some("x\ty"));
//! # Ok::<(), container_core::Error>(())
//! ```

mod number;
mod quoted;

#[cfg(test)]
mod tests;

pub use number::Number;
pub use quoted::Quoted;

use crate::{Error, Result};

/// A JSON text, and a position in it. Checks every token that it passes, also of values that are skipped. Allocates nothing.
///
/// Methods that take a token expect the position at its first byte, where [`token`](Self::token) leaves it.
///
/// # Errors
/// All methods return [`Invalid`](crate::ErrorKind::Invalid) for text that is not JSON, [`Truncated`](crate::ErrorKind::Truncated) where it ends
/// early, and [`Limit`](crate::ErrorKind::Limit) for values nested too deep, with the byte from the start of the text.
#[derive(Debug, Clone)]
pub struct Tokenizer<'j> {
    text: &'j str,
    bytes: &'j [u8],
    at: usize,
    /// Levels of nesting that are left.
    depth: u32,
    limit: u32,
    has_lone_surrogates: bool,
}

/// Marks bytes that are special in a string: quotes, backslashes and control characters. The lowest set bit belongs to the first of them;
/// higher bits are unreliable.
#[inline]
const fn special_bytes(word: [u8; 8]) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let word = u64::from_le_bytes(word);
    let quotes = word ^ (ONES * 0x22);
    let backslashes = word ^ (ONES * 0x5c);
    // A subtraction borrows only above a byte that matched, and bytes with the high bit never match.
    let special = word.wrapping_sub(ONES * 0x20) & !word
        | quotes.wrapping_sub(ONES) & !quotes
        | backslashes.wrapping_sub(ONES) & !backslashes;
    special & HIGH
}

/// The position of the first byte from `at` on that is special in a string, or the end.
#[inline(always)] // see Tokenizer::string
fn skip_plain(bytes: &[u8], mut at: usize) -> usize {
    let mut rest = bytes.get(at..).unwrap_or_default();
    while let Some((word, after)) = rest.split_first_chunk() {
        match special_bytes(*word) {
            0 => (at, rest) = (at + 8, after),
            marks => return at + (marks.trailing_zeros() / 8) as usize, // 0 to 7
        }
    }
    at + rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | ..b' ')).count()
}

impl<'j> Tokenizer<'j> {
    /// Starts at the beginning of a text, whose values may be nested this deep, at most 128 levels.
    #[must_use]
    pub const fn new(text: &'j str, depth: u32) -> Self {
        let limit = if depth < u128::BITS { depth } else { u128::BITS };
        Self { text, bytes: text.as_bytes(), at: 0, depth: limit, limit, has_lone_surrogates: false }
    }

    /// Accepts escapes of surrogates that do not form a pair, such as `\ud800`, which JSON can write and no text can hold.
    #[must_use]
    pub const fn with_lone_surrogates(self) -> Self {
        Self { has_lone_surrogates: true, ..self }
    }

    /// The position, in bytes from the start.
    #[inline]
    #[must_use]
    pub const fn position(&self) -> usize {
        self.at
    }

    /// The position of a string of this text, after its quote.
    #[must_use]
    pub fn start_of(&self, quoted: Quoted<'_>) -> usize {
        quoted.raw().as_ptr().addr().wrapping_sub(self.text.as_ptr().addr())
    }

    /// The levels of nesting that are left.
    #[must_use]
    pub const fn depth_left(&self) -> u32 {
        self.depth
    }

    /// The text that has not been passed.
    #[inline]
    #[must_use]
    pub fn rest(&self) -> &'j str {
        self.since_to(self.at, self.bytes.len())
    }

    /// The text from an earlier position to this one.
    #[inline]
    #[must_use]
    pub fn since(&self, start: usize) -> &'j str {
        self.since_to(start, self.at)
    }

    #[inline]
    fn since_to(&self, start: usize, end: usize) -> &'j str {
        self.text.get(start..end).unwrap_or_default() // positions are character boundaries
    }

    #[inline(always)] // a few instructions
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Skips white space and returns the next byte, which is not taken; `None` at the end.
    #[inline(always)]
    pub fn token(&mut self) -> Option<u8> {
        match self.peek() {
            Some(..=b' ') => self.skip_white_space(),
            other => other,
        }
    }

    #[cold]
    fn skip_white_space(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
        self.peek()
    }

    /// Takes the next token if it is this punctuation mark.
    #[inline]
    pub fn take(&mut self, mark: u8) -> bool {
        let is_next = self.token() == Some(mark) && mark.is_ascii_punctuation();
        self.at += usize::from(is_next);
        is_next
    }

    /// The error for a token other than `what`.
    #[cold]
    #[must_use]
    pub fn expected(&self, what: &str) -> Error {
        let at = self.at as u64;
        match self.rest().chars().next() {
            Some(found) => Error::invalid(format!("expected {what}, found {found:?}")).at(at),
            None => Error::truncated(what.to_owned(), 1, 0).at(at),
        }
    }

    /// Checks that only white space follows; `what` says what is expected, such as `the end of the line`.
    ///
    /// # Errors
    /// See [`Tokenizer`].
    pub fn end(&mut self, what: &str) -> Result<()> {
        if self.token().is_some() { Err(self.expected(what)) } else { Ok(()) }
    }

    /// Takes an opening bracket. Call [`member`](Self::member) or [`element`](Self::element) until the end.
    ///
    /// # Errors
    /// See [`Tokenizer`].
    #[inline]
    pub fn open(&mut self) -> Result<()> {
        match self.depth.checked_sub(1) {
            Some(depth) => self.depth = depth,
            None => return Err(self.too_deep()),
        }
        self.at += 1;
        Ok(())
    }

    #[cold]
    fn too_deep(&self) -> Error {
        let limit = self.limit.into();
        Error::limit("the nesting of values", limit + 1, limit).at(self.at as u64)
    }

    /// Takes the name of the next member and its colon, or the closing brace (`None`). `is_first` is true before the first member.
    ///
    /// # Errors
    /// See [`Tokenizer`].
    #[inline(always)] // a name returned through memory takes longer than it takes to read
    pub fn member(&mut self, is_first: &mut bool) -> Result<Option<Quoted<'j>>> {
        if !self.next(is_first, b'}')? {
            return Ok(None);
        }
        self.name().map(Some)
    }

    /// Moves to the next element; false after the closing bracket. `is_first` is true before the first element.
    ///
    /// # Errors
    /// See [`Tokenizer`].
    #[inline(always)]
    pub fn element(&mut self, is_first: &mut bool) -> Result<bool> {
        self.next(is_first, b']')
    }

    /// Takes a comma if one is due, or the closing bracket (false).
    #[inline(always)]
    fn next(&mut self, is_first: &mut bool, closing: u8) -> Result<bool> {
        let byte = self.token();
        if byte == Some(closing) {
            self.at += 1;
            self.depth += 1;
            return Ok(false);
        }
        if !std::mem::replace(is_first, false) {
            if byte != Some(b',') {
                return Err(self.comma_expected(closing));
            }
            self.at += 1;
        }
        Ok(true)
    }

    #[cold]
    fn comma_expected(&self, closing: u8) -> Error {
        self.expected(match (self.peek(), closing) {
            (None, b'}') => "\"}\"",
            (None, _) => "\"]\"",
            (_, b'}') => "\",\" or \"}\"",
            _ => "\",\" or \"]\"",
        })
    }

    #[inline(always)]
    fn name(&mut self) -> Result<Quoted<'j>> {
        if self.token() != Some(b'"') {
            return Err(self.expected("a member name"));
        }
        let name = self.string()?;
        if self.token() != Some(b':') {
            return Err(self.expected("\":\""));
        }
        self.at += 1;
        Ok(name)
    }

    /// Takes `true`, `false` or `null`.
    ///
    /// # Errors
    /// See [`Tokenizer`].
    #[inline]
    pub fn word(&mut self, word: &'static str) -> Result<()> {
        if self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes())) {
            self.at += word.len();
            return Ok(());
        }
        Err(self.other_word(word))
    }

    #[cold]
    fn other_word(&mut self, word: &'static str) -> Error {
        let is_equal = |(expected, found): &(u8, &u8)| expected == *found;
        self.at += word.bytes().zip(self.bytes.get(self.at..).unwrap_or_default()).take_while(is_equal).count();
        self.expected(word)
    }

    /// Takes a string.
    ///
    /// # Errors
    /// See [`Tokenizer`].
    #[inline(always)] // a call takes longer than most strings
    pub fn string(&mut self) -> Result<Quoted<'j>> {
        let start = self.at + 1;
        let end = skip_plain(self.bytes, start);
        self.at = end + 1;
        if self.bytes.get(end) != Some(&b'"') {
            self.at = end;
            return self.escaped(start);
        }
        Ok(Quoted::new(self.since_to(start, end)))
    }

    /// Takes the rest of a string from its first special byte.
    #[inline(never)]
    fn escaped(&mut self, start: usize) -> Result<Quoted<'j>> {
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(_) => return Err(self.expected("no control character")),
                None => return Err(self.expected("the end of a string")),
            }
            self.at = skip_plain(self.bytes, self.at);
        }
        self.at += 1;
        Ok(Quoted::new(self.since_to(start - 1, self.at - 1)))
    }

    fn escape(&mut self) -> Result<()> {
        let start = self.at;
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                let code = self.code()?;
                if quoted::is_surrogate(code) && !self.low_surrogate(code)? && !self.has_lone_surrogates {
                    return Err(Error::invalid("an escape is an unpaired surrogate").at(start as u64));
                }
            }
            _ => return Err(self.expected("an escape")),
        }
        Ok(())
    }

    /// Takes the other half of a pair, if there is one.
    fn low_surrogate(&mut self, code: u32) -> Result<bool> {
        if !quoted::is_high_surrogate(code) || !self.rest().starts_with("\\u") {
            return Ok(false);
        }
        let start = self.at;
        self.at += 1;
        let is_low = quoted::is_low_surrogate(self.code()?);
        if !is_low {
            self.at = start;
        }
        Ok(is_low)
    }

    /// Takes `u` and four hexadecimal digits.
    fn code(&mut self) -> Result<u32> {
        self.at += 1;
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            code = code << 4 | digit.ok_or_else(|| self.expected("a hexadecimal digit"))?;
            self.at += 1;
        }
        Ok(code)
    }

    /// Takes any value, and checks it.
    ///
    /// # Errors
    /// See [`Tokenizer`].
    #[inline]
    pub fn skip_value(&mut self) -> Result<()> {
        match self.token() {
            Some(b'{' | b'[') => self.skip_nested(),
            other => self.skip_scalar(other),
        }
    }

    #[inline(always)]
    fn skip_scalar(&mut self, first: Option<u8>) -> Result<()> {
        match first {
            Some(b'"') => self.string().map(drop),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            _ => self.skip_number(),
        }
    }

    /// Takes an array or object.
    #[inline(never)]
    fn skip_nested(&mut self) -> Result<()> {
        // One bit per open bracket, the innermost lowest: 1 for an object, 0 for an array. They fit, as the depth is limited.
        let outside = self.depth;
        let mut objects = u128::from(self.peek() == Some(b'{'));
        self.open()?;
        let mut is_first = true;
        loop {
            let is_object = objects & 1 == 1;
            if !self.next(&mut is_first, if is_object { b'}' } else { b']' })? {
                if self.depth == outside {
                    return Ok(());
                }
                objects >>= 1;
                is_first = false;
                continue;
            }
            if is_object {
                self.name()?;
            }
            match self.token() {
                Some(bracket @ (b'{' | b'[')) => {
                    self.open()?;
                    objects = objects << 1 | u128::from(bracket == b'{');
                    is_first = true;
                }
                other => self.skip_scalar(other)?,
            }
        }
    }
}
