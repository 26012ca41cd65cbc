//! A document's JSON, gone through once: is it an object, whole, and what is its `_id`?

use std::borrow::Cow;

use container_core::{Error, Limits, Result};

/// The member that names a document.
const ID: &str = "_id";

/// What is known of a document without building it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scanned<'l> {
    line: &'l [u8],
    id: Option<Cow<'l, str>>,
}

impl<'l> Scanned<'l> {
    /// The line, which is one JSON object.
    #[must_use]
    pub const fn line(&self) -> &'l [u8] {
        self.line
    }

    /// The value of its own `_id` (not of one in an object inside it), escapes resolved; of several the last one, which is what `serde_json`
    /// keeps. `None` where there is none.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The same, borrowed from the line where no escape is in it.
    #[must_use]
    pub fn into_id(self) -> Option<Cow<'l, str>> {
        self.id
    }
}

/// Goes through a line, which is one JSON object and nothing else: every token is checked, nothing is allocated but an id with escapes in it.
///
/// # Errors
/// [`Invalid`](container_core::ErrorKind::Invalid) with the byte, counted from the line's first, for what is no JSON, no object, or has an
/// `_id` that is no string; [`Truncated`](container_core::ErrorKind::Truncated) for the beginning of one;
/// [`Limit`](container_core::ErrorKind::Limit) for more than 128 brackets in each other.
pub fn scan(line: &[u8]) -> Result<Scanned<'_>> {
    let text =
        std::str::from_utf8(line).map_err(|error| Error::invalid("it is not UTF-8").at(error.valid_up_to() as u64))?;
    let mut scanner = Scanner { text, bytes: line, at: 0, open: 0, depth: 0, id: None };
    match scanner.token() {
        Some(b'{') => scanner.object()?,
        Some(_) => return Err(scanner.expected("an object (\"{\")")),
        None => return Err(Error::invalid("the line is empty").at(0)),
    }
    Ok(Scanned { line, id: scanner.id })
}

/// JSON without the white space between its tokens. What is no JSON comes out as something else that is none.
#[must_use]
pub fn compact(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len());
    let (mut inside, mut escaped) = (false, false);
    for byte in json {
        if !inside && matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
            continue;
        }
        out.push(*byte);
        inside ^= *byte == b'"' && !escaped;
        escaped = inside && *byte == b'\\' && !escaped;
    }
    out
}

struct Scanner<'l> {
    text: &'l str,
    bytes: &'l [u8],
    at: usize,
    /// A bit for each open bracket, the innermost last: is it an object's?
    open: u128,
    depth: u32,
    id: Option<Cow<'l, str>>,
}

/// Is one of these eight bytes no plain one of a string: a quote, a backslash, or a control character? The lowest bit that is set belongs to
/// the first of them; what is set above it means nothing.
#[inline]
pub(crate) const fn not_plain(word: [u8; 8]) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let word = u64::from_le_bytes(word);
    let quotes = word ^ (ONES * 0x22);
    let backslashes = word ^ (ONES * 0x5c);
    // A subtraction borrows from a byte only behind one that was found: bytes with the high bit are never found.
    let found = word.wrapping_sub(ONES * 0x20) & !word
        | quotes.wrapping_sub(ONES) & !quotes
        | backslashes.wrapping_sub(ONES) & !backslashes;
    found & HIGH
}

impl<'l> Scanner<'l> {
    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// The next byte that is no white space.
    #[inline]
    fn token(&mut self) -> Option<u8> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.at += 1,
                other => return other,
            }
        }
    }

    #[cold]
    fn expected(&self, what: &str) -> Error {
        let at = self.at as u64;
        match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some(found) => Error::invalid(format!("{found:?} stands where {what} is expected")).at(at),
            None => Error::truncated(what.to_owned(), 1, 0).at(at),
        }
    }

    fn inside_object(&self) -> bool {
        self.open & 1 == 1
    }

    fn push(&mut self, object: bool) -> Result<()> {
        let limit = Limits::default().depth.min(u128::BITS);
        if self.depth == limit {
            return Err(Error::limit("the nesting of values", u64::from(limit) + 1, limit.into()).at(self.at as u64));
        }
        self.depth += 1;
        self.open = self.open << 1 | u128::from(object);
        self.at += 1;
        Ok(())
    }

    /// From the opening bracket of the document to the end of the line.
    fn object(&mut self) -> Result<()> {
        self.push(true)?;
        let mut is_first = true;
        while self.depth > 0 {
            let Some(byte) = self.token() else { return Err(self.end_expected()) };
            let is_object = self.inside_object();
            if byte == if is_object { b'}' } else { b']' } {
                self.at += 1;
                self.depth -= 1;
                self.open >>= 1;
                is_first = false;
                continue;
            }
            if !is_first {
                if byte != b',' {
                    return Err(self.expected(if is_object { "\",\" or \"}\"" } else { "\",\" or \"]\"" }));
                }
                self.at += 1;
            }
            is_first = false;
            if is_object && self.member()? {
                continue;
            }
            let Some(byte) = self.token() else { return Err(self.end_expected()) };
            is_first = self.value(byte)?;
        }
        if self.token().is_some() { Err(self.expected("the end of the line")) } else { Ok(()) }
    }

    #[cold]
    fn end_expected(&self) -> Error {
        self.expected(if self.inside_object() { "\"}\"" } else { "\"]\"" })
    }

    /// A name and its colon; where it is the document's own id its value, too, and then it says so.
    #[inline]
    fn member(&mut self) -> Result<bool> {
        if self.token() != Some(b'"') {
            return Err(self.expected("the name of a member"));
        }
        let name = self.string()?;
        let is_id = self.depth == 1 && self.is_id(&name)?;
        if self.token() != Some(b':') {
            return Err(self.expected("\":\""));
        }
        self.at += 1;
        if is_id {
            if self.token() != Some(b'"') {
                return Err(self.expected("the string that an _id is"));
            }
            let id = self.string()?;
            self.id = Some(self.resolved(&id)?);
        }
        Ok(is_id)
    }

    #[inline]
    fn is_id(&self, name: &Quoted) -> Result<bool> {
        match name.escaped {
            false => Ok(self.bytes.get(name.start..name.end) == Some(ID.as_bytes())),
            true => Ok(self.resolved(name)? == ID),
        }
    }

    /// A value, or the bracket that opens one: then it says so.
    #[inline]
    fn value(&mut self, first: u8) -> Result<bool> {
        match first {
            b'"' => self.string().map(drop)?,
            b'{' | b'[' => {
                self.push(first == b'{')?;
                return Ok(true);
            }
            b'-' | b'0'..=b'9' => self.number()?,
            b't' => self.word("true")?,
            b'f' => self.word("false")?,
            b'n' => self.word("null")?,
            _ => return Err(self.expected("a value")),
        }
        Ok(false)
    }

    #[inline]
    fn word(&mut self, word: &'static str) -> Result<()> {
        if self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes())) {
            self.at += word.len();
            return Ok(());
        }
        let same = |(wanted, found): &(u8, &u8)| wanted == *found;
        self.at += word.bytes().zip(self.bytes.get(self.at..).unwrap_or_default()).take_while(same).count();
        Err(self.expected(word))
    }

    #[inline]
    fn digits(&mut self) -> Result<()> {
        let rest = self.bytes.get(self.at..).unwrap_or_default().iter();
        let count = rest.take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return Err(self.expected("a digit"));
        }
        self.at += count;
        Ok(())
    }

    #[inline]
    fn number(&mut self) -> Result<()> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        // A zero is not followed by digits.
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    /// The first byte from here on that is no plain one of a string, or the end.
    #[inline(always)] // as string()
    fn plain(&self, mut at: usize) -> usize {
        let mut rest = self.bytes.get(at..).unwrap_or_default();
        while let Some((word, behind)) = rest.split_first_chunk() {
            match not_plain(*word) {
                0 => (at, rest) = (at + 8, behind),
                found => return at + (found.trailing_zeros() / 8) as usize, // 0 to 7
            }
        }
        at + rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | ..b' ')).count()
    }

    /// From one quote behind the other.
    #[inline(always)] // a call takes longer than most strings
    fn string(&mut self) -> Result<Quoted> {
        let start = self.at + 1;
        self.at = self.plain(start);
        if self.peek() != Some(b'"') {
            return self.other_string(start);
        }
        self.at += 1;
        Ok(Quoted { start, end: self.at - 1, escaped: false })
    }

    /// The same of a string that is not plain, from the first byte on that is none.
    fn other_string(&mut self, start: usize) -> Result<Quoted> {
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(_) => return Err(self.expected("a character that is no control character")),
                None => return Err(self.expected("the end of a string")),
            }
            self.at = self.plain(self.at);
        }
        self.at += 1;
        Ok(Quoted { start, end: self.at - 1, escaped: true })
    }

    /// The text that a string means.
    fn resolved(&self, quoted: &Quoted) -> Result<Cow<'l, str>> {
        let text = self.text.get(quoted.start..quoted.end).unwrap_or_default(); // both ends stand at quotes
        if !quoted.escaped {
            return Ok(Cow::Borrowed(text));
        }
        serde_json::from_str(&format!("\"{text}\"")).map(Cow::Owned).map_err(|_| {
            // The one thing that is left: half of a surrogate pair.
            Error::invalid("an escape in it is half of a surrogate pair").at(quoted.start as u64)
        })
    }

    fn escape(&mut self) -> Result<()> {
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                        return Err(self.expected("a hexadecimal digit"));
                    }
                    self.at += 1;
                }
            }
            _ => return Err(self.expected("an escape")),
        }
        Ok(())
    }
}

/// Where a string stands between its quotes. Its escapes are sound one by one.
struct Quoted {
    start: usize,
    end: usize,
    escaped: bool,
}

#[cfg(test)]
mod tests;
