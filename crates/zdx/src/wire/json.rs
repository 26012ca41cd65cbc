//! A document's JSON, gone through once: is it an object, whole, and what is its `_id`?

use std::borrow::Cow;

use container_core::{Error, Limits, Result};

/// The member that names a document.
const ID: &str = "_id";

/// What is known of a document without building it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scanned<'l> {
    /// The value of its own `_id` (not of one in an object inside it), escapes resolved; of several the last one, which is what `serde_json`
    /// keeps. `None` where there is none.
    pub id: Option<Cow<'l, str>>,
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
    scanner.white();
    match scanner.peek() {
        Some(b'{') => scanner.object()?,
        Some(_) => return Err(scanner.expected("an object (\"{\")")),
        None => return Err(Error::invalid("the line is empty").at(0)),
    }
    Ok(Scanned { id: scanner.id })
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

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Value,
    /// The first member or element, or the end of the brackets.
    FirstOrEnd,
    /// A comma, or the end of the brackets.
    CommaOrEnd,
}

impl<'l> Scanner<'l> {
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
        let mut next = Next::FirstOrEnd;
        while self.depth > 0 {
            self.white();
            let Some(byte) = self.peek() else {
                return Err(self.expected(if self.inside_object() { "\"}\"" } else { "\"]\"" }));
            };
            if next == Next::Value {
                next = self.value(byte)?;
                continue;
            }
            let end = if self.inside_object() { b'}' } else { b']' };
            if byte == end {
                self.at += 1;
                self.depth -= 1;
                self.open >>= 1;
                next = Next::CommaOrEnd;
                continue;
            }
            if next == Next::CommaOrEnd {
                if byte != b',' {
                    return Err(self.expected(if end == b'}' { "\",\" or \"}\"" } else { "\",\" or \"]\"" }));
                }
                self.at += 1;
                self.white();
            }
            next = if end == b'}' { self.member()? } else { Next::Value };
        }
        self.white();
        if self.at < self.bytes.len() { Err(self.expected("the end of the line")) } else { Ok(()) }
    }

    /// A name and its colon; the value of the document's own id, too.
    fn member(&mut self) -> Result<Next> {
        if self.peek() != Some(b'"') {
            return Err(self.expected("the name of a member"));
        }
        let name = self.string()?;
        let is_id = self.depth == 1 && name.resolved()? == ID;
        self.white();
        if self.peek() != Some(b':') {
            return Err(self.expected("\":\""));
        }
        self.at += 1;
        if !is_id {
            return Ok(Next::Value);
        }
        self.white();
        if self.peek() != Some(b'"') {
            return Err(self.expected("the string that an _id is"));
        }
        let id = self.string()?;
        self.id = Some(id.resolved()?);
        Ok(Next::CommaOrEnd)
    }

    fn value(&mut self, first: u8) -> Result<Next> {
        match first {
            b'"' => self.string().map(drop)?,
            b'{' => {
                self.push(true)?;
                return Ok(Next::FirstOrEnd);
            }
            b'[' => {
                self.push(false)?;
                return Ok(Next::FirstOrEnd);
            }
            b'-' | b'0'..=b'9' => self.number()?,
            b't' => self.word("true")?,
            b'f' => self.word("false")?,
            b'n' => self.word("null")?,
            _ => return Err(self.expected("a value")),
        }
        Ok(Next::CommaOrEnd)
    }

    fn word(&mut self, word: &'static str) -> Result<()> {
        for wanted in word.bytes() {
            if self.peek() != Some(wanted) {
                return Err(self.expected(word));
            }
            self.at += 1;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<()> {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(self.expected("a digit"));
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

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
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    /// From one quote behind the other.
    fn string(&mut self) -> Result<Quoted<'l>> {
        self.at += 1;
        let start = self.at;
        let mut escaped = false;
        loop {
            let plain = self.bytes.get(self.at..).unwrap_or_default().iter();
            self.at += plain.take_while(|byte| !matches!(byte, b'"' | b'\\' | ..b' ')).count();
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(_) => return Err(self.expected("a character that is no control character")),
                None => return Err(self.expected("the end of a string")),
            }
        }
        let text = self.text.get(start..self.at).unwrap_or_default(); // both ends stand at quotes
        self.at += 1;
        Ok(Quoted { text, escaped, start })
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

/// A string between its quotes, whose escapes are sound one by one.
struct Quoted<'l> {
    text: &'l str,
    escaped: bool,
    start: usize,
}

impl<'l> Quoted<'l> {
    /// The text that it means.
    fn resolved(&self) -> Result<Cow<'l, str>> {
        if !self.escaped {
            return Ok(Cow::Borrowed(self.text));
        }
        let quoted = format!("\"{}\"", self.text);
        serde_json::from_str(&quoted).map(Cow::Owned).map_err(|_| {
            // The one thing that is left: half of a surrogate pair.
            Error::invalid("an escape in it is half of a surrogate pair").at(self.start as u64)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(line: &str) -> Option<String> {
        scan(line.as_bytes()).unwrap().id.map(Cow::into_owned)
    }

    fn said(line: &str) -> String {
        scan(line.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn white_space_between_tokens_goes() {
        let json = br#" { "a b" : [ 1 , "\" x \\" ] ,
            "c" : " \\\" " } "#;
        assert_eq!(compact(json), br#"{"a b":[1,"\" x \\"],"c":" \\\" "}"#);
    }

    #[test]
    fn the_right_id_is_found() {
        for (line, wanted) in [
            (r#"{"_id":"a"}"#, Some("a")),
            (r#" { "x" : [ { "_id" : "no" } , {} , [ ] ] , "_id" : "b" } "#, Some("b")),
            (r#"{"x":"\"_id\":\"no\"","_id":"c"}"#, Some("c")),
            (r#"{"\u005fid":"\u0064"}"#, Some("d")),
            (r#"{"_id":"first","_id":"last"}"#, Some("last")),
            (r#"{"a":{"_id":"no"}}"#, None),
            (r#"{"n":[-0.5e+7,1E-2,0,10],"t":true,"f":false,"z":null,"_id":"e"}"#, Some("e")),
            ("{}", None),
        ] {
            assert_eq!(id(line).as_deref(), wanted, "{line}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_byte() {
        for (line, wanted) in [
            ("", "the line is empty (byte 0)"),
            ("[]", "'[' stands where an object (\"{\") is expected (byte 0)"),
            (r#"{"_id":7}"#, "'7' stands where the string that an _id is is expected (byte 7)"),
            (r#"{"a":01}"#, "'1' stands where \",\" or \"}\" is expected (byte 6)"),
            (r#"{"a":1,}"#, "'}' stands where the name of a member is expected (byte 7)"),
            (r#"{"a":1"#, "\"}\": needs 1 byte, 0 available (byte 6)"),
            (r#"{"a":"\x"}"#, "'x' stands where an escape is expected (byte 7)"),
            (r#"{"a":[1 2]}"#, "'2' stands where \",\" or \"]\" is expected (byte 8)"),
            (r#"{"a":nul}"#, "'}' stands where null is expected (byte 8)"),
            ("{} {}", "'{' stands where the end of the line is expected (byte 3)"),
            (
                "{\"a\":\"\u{1}\"}",
                "'\\u{1}' stands where a character that is no control character is expected (byte 6)",
            ),
            (r#"{"_id":"\ud800"}"#, "an escape in it is half of a surrogate pair (byte 8)"),
        ] {
            assert_eq!(said(line), wanted, "{line}");
        }
        assert_eq!(scan(b"{\"a\":\"\xff\"}").unwrap_err().to_string(), "it is not UTF-8 (byte 6)");
    }

    #[test]
    fn brackets_are_counted() {
        let deep = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(id(&deep(127)), None);
        assert_eq!(said(&deep(128)), "the nesting of values 129 exceeds the limit 128 (byte 132)");
    }
}
