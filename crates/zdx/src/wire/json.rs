//! Single-pass scan of a document's JSON: checks that it is one whole object, and finds its `_id`.

use std::borrow::Cow;

use container_core::{Error, Limits, Result};

/// Name of the member that holds a document's id.
const ID: &str = "_id";

/// Result of [`scan`].
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

    /// The value of the document's own `_id` (not of a nested object's), unescaped. Of several, the last one, as in `serde_json`. `None` if
    /// there is none.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// As [`id`](Self::id), borrowed from the line unless it contains escapes.
    #[must_use]
    pub fn into_id(self) -> Option<Cow<'l, str>> {
        self.id
    }
}

/// Scans a line that must be exactly one JSON object. Validates every token; allocates only to unescape an id.
///
/// # Errors
/// [`Invalid`](container_core::ErrorKind::Invalid), with the byte from the start of the line, if it is not valid JSON, not an object, or its
/// `_id` is not a string; [`Truncated`](container_core::ErrorKind::Truncated) if the object is incomplete;
/// [`Limit`](container_core::ErrorKind::Limit) if it is nested more than 128 levels deep.
pub fn scan(line: &[u8]) -> Result<Scanned<'_>> {
    let text =
        std::str::from_utf8(line).map_err(|error| Error::invalid("invalid UTF-8").at(error.valid_up_to() as u64))?;
    let mut scanner = Scanner::new(text, OwnId(None));
    scanner.document()?;
    Ok(Scanned { line, id: scanner.members.0 })
}

/// The values of the members of an object to which `position` gives a place, as they are written; of members of the same name, the last one's.
/// Validates every token.
///
/// # Errors
/// As [`scan`], but `_id` may be any value.
pub(crate) fn pick<const N: usize>(text: &str, position: impl Fn(&str) -> Option<usize>) -> Result<[Option<&str>; N]> {
    let mut scanner = Scanner::new(text, Picked { position, current: None, values: [None; N] });
    scanner.document()?;
    Ok(scanner.members.values)
}

/// Removes white space between tokens. Invalid JSON remains invalid.
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

struct Scanner<'l, M> {
    text: &'l str,
    bytes: &'l [u8],
    at: usize,
    /// One bit per open bracket, the innermost lowest: 1 for an object, 0 for an array.
    open: u128,
    depth: u32,
    members: M,
}

/// What to do with the members of the document, but not with those of objects inside.
trait Members<'l>: Sized {
    /// Whether a member of this name is to be taken.
    fn wants(scanner: &mut Scanner<'l, Self>, name: &Quoted) -> Result<bool>;

    /// Takes a wanted member, after its colon. Returns whether its value was scanned, too.
    fn take(scanner: &mut Scanner<'l, Self>) -> Result<bool>;

    /// Called after the value of a member, unless `take` scanned it.
    fn end(_: &mut Scanner<'l, Self>) {}
}

/// The document's id.
struct OwnId<'l>(Option<Cow<'l, str>>);

impl<'l> Members<'l> for OwnId<'l> {
    #[inline]
    fn wants(scanner: &mut Scanner<'l, Self>, name: &Quoted) -> Result<bool> {
        match name.escaped {
            false => Ok(scanner.bytes.get(name.start..name.end) == Some(ID.as_bytes())),
            true => Ok(scanner.unescape(name)? == ID),
        }
    }

    #[inline]
    fn take(scanner: &mut Scanner<'l, Self>) -> Result<bool> {
        if scanner.token() != Some(b'"') {
            return Err(scanner.expected("a string (\"_id\")"));
        }
        let id = scanner.string()?;
        scanner.members.0 = Some(scanner.unescape(&id)?);
        Ok(true)
    }
}

/// The values of some members.
struct Picked<'l, F, const N: usize> {
    position: F,
    /// The wanted member's position in `values`, and the start of its value.
    current: Option<(usize, usize)>,
    values: [Option<&'l str>; N],
}

impl<'l, F: Fn(&str) -> Option<usize>, const N: usize> Members<'l> for Picked<'l, F, N> {
    #[inline]
    fn wants(scanner: &mut Scanner<'l, Self>, name: &Quoted) -> Result<bool> {
        let position = match name.escaped {
            false => scanner.text.get(name.start..name.end).and_then(&scanner.members.position),
            true => (scanner.members.position)(&scanner.unescape(name)?),
        };
        scanner.members.current = position.map(|position| (position, 0));
        Ok(position.is_some())
    }

    #[inline]
    fn take(scanner: &mut Scanner<'l, Self>) -> Result<bool> {
        scanner.token();
        if let Some((_, start)) = &mut scanner.members.current {
            *start = scanner.at;
        }
        Ok(false)
    }

    #[inline]
    fn end(scanner: &mut Scanner<'l, Self>) {
        let Some((position, start)) = scanner.members.current.take() else { return };
        if let Some(value) = scanner.members.values.get_mut(position) {
            *value = scanner.text.get(start..scanner.at);
        }
    }
}

/// Marks bytes that are special in a string: quotes, backslashes and control characters. The lowest set bit belongs to the first of them;
/// higher bits are unreliable.
#[inline]
pub(crate) const fn special_bytes(word: [u8; 8]) -> u64 {
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

impl<'l, M: Members<'l>> Scanner<'l, M> {
    const fn new(text: &'l str, members: M) -> Self {
        Self { text, bytes: text.as_bytes(), at: 0, open: 0, depth: 0, members }
    }

    /// Scans the whole line, which must be one object.
    fn document(&mut self) -> Result<()> {
        match self.token() {
            Some(b'{') => self.object(),
            Some(_) => Err(self.expected("an object (\"{\")")),
            None => Err(Error::invalid("the line is empty").at(0)),
        }
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Skips white space and peeks at the next byte.
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
            Some(found) => Error::invalid(format!("expected {what}, found {found:?}")).at(at),
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

    /// Scans from the document's opening bracket to the end of the line.
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
                if self.depth == 1 {
                    M::end(self);
                }
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
            if self.depth == 1 {
                M::end(self);
            }
        }
        if self.token().is_some() { Err(self.expected("the end of the line")) } else { Ok(()) }
    }

    #[cold]
    fn end_expected(&self) -> Error {
        self.expected(if self.inside_object() { "\"}\"" } else { "\"]\"" })
    }

    /// Scans a member's name and colon. Returns whether its value was scanned, too.
    #[inline]
    fn member(&mut self) -> Result<bool> {
        if self.token() != Some(b'"') {
            return Err(self.expected("a member name"));
        }
        let name = self.string()?;
        let is_wanted = self.depth == 1 && M::wants(self, &name)?;
        if self.token() != Some(b':') {
            return Err(self.expected("\":\""));
        }
        self.at += 1;
        if is_wanted { M::take(self) } else { Ok(false) }
    }

    /// Scans a value, or just its opening bracket, and then returns true.
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
        let matches = |(expected, found): &(u8, &u8)| expected == *found;
        self.at += word.bytes().zip(self.bytes.get(self.at..).unwrap_or_default()).take_while(matches).count();
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
        // A leading zero is not followed by digits.
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

    /// The position of the next special byte of a string, or the end.
    #[inline(always)] // see string()
    fn skip_plain(&self, mut at: usize) -> usize {
        let mut rest = self.bytes.get(at..).unwrap_or_default();
        while let Some((word, tail)) = rest.split_first_chunk() {
            match special_bytes(*word) {
                0 => (at, rest) = (at + 8, tail),
                marks => return at + (marks.trailing_zeros() / 8) as usize, // 0 to 7
            }
        }
        at + rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | ..b' ')).count()
    }

    /// Scans a string from its opening to its closing quote.
    #[inline(always)] // most strings are shorter than a call takes
    fn string(&mut self) -> Result<Quoted> {
        let start = self.at + 1;
        self.at = self.skip_plain(start);
        if self.peek() != Some(b'"') {
            return self.escaped_string(start);
        }
        self.at += 1;
        Ok(Quoted { start, end: self.at - 1, escaped: false })
    }

    /// Continues a string at its first special byte.
    fn escaped_string(&mut self, start: usize) -> Result<Quoted> {
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(_) => return Err(self.expected("no control character")),
                None => return Err(self.expected("the end of a string")),
            }
            self.at = self.skip_plain(self.at);
        }
        self.at += 1;
        Ok(Quoted { start, end: self.at - 1, escaped: true })
    }

    /// The unescaped contents of a string.
    fn unescape(&self, quoted: &Quoted) -> Result<Cow<'l, str>> {
        let text = self.text.get(quoted.start..quoted.end).unwrap_or_default(); // between quotes, so on character boundaries
        if !quoted.escaped {
            return Ok(Cow::Borrowed(text));
        }
        serde_json::from_str(&format!("\"{text}\"")).map(Cow::Owned).map_err(|_| {
            // Everything else has been validated.
            Error::invalid("an escape is an unpaired surrogate").at(quoted.start as u64)
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

/// The range of a string between its quotes. Its escapes are valid one by one.
struct Quoted {
    start: usize,
    end: usize,
    escaped: bool,
}

#[cfg(test)]
mod tests;
