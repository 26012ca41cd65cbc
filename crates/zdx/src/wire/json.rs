//! Single-pass scan of a document's JSON: checks that it is one whole object, and finds its `_id`.

use std::borrow::Cow;

use container_core::json::{Quoted, Tokenizer};
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
    let mut id = None;
    members(text, |json, name| {
        if !matches!(name.plain(), Some(ID)) && (name.plain().is_some() || unescape(json, name)? != ID) {
            return json.skip_value();
        }
        if json.token() != Some(b'"') {
            return Err(json.expected("a string (\"_id\")"));
        }
        let found = json.string()?;
        id = Some(unescape(json, found)?);
        Ok(())
    })?;
    Ok(Scanned { line, id })
}

/// The values of the members of an object to which `position` gives a place, as they are written; of members of the same name, the last one's.
/// Validates every token.
///
/// # Errors
/// As [`scan`], but `_id` may be any value.
pub(crate) fn pick<const N: usize>(text: &str, position: impl Fn(&str) -> Option<usize>) -> Result<[Option<&str>; N]> {
    let mut values = [None; N];
    members(text, |json, name| {
        let position = match name.plain() {
            Some(name) => position(name),
            None => position(&unescape(json, name)?),
        };
        json.token();
        let start = json.position();
        json.skip_value()?;
        if let Some(value) = position.and_then(|position| values.get_mut(position)) {
            *value = Some(json.since(start));
        }
        Ok(())
    })?;
    Ok(values)
}

/// Calls `member` with the name of each member of the document, before its value, which it takes.
#[inline(always)] // into its two callers
fn members<'l>(text: &'l str, mut member: impl FnMut(&mut Tokenizer<'l>, Quoted<'l>) -> Result<()>) -> Result<()> {
    let mut json = Tokenizer::new(text, Limits::default().depth).with_lone_surrogates();
    match json.token() {
        Some(b'{') => json.open()?,
        Some(_) => return Err(json.expected("an object (\"{\")")),
        None => return Err(Error::invalid("the line is empty").at(0)),
    }
    let mut is_first = true;
    while let Some(name) = json.member(&mut is_first)? {
        member(&mut json, name)?;
    }
    json.end("the end of the line")
}

fn unescape<'l>(json: &Tokenizer<'l>, quoted: Quoted<'l>) -> Result<Cow<'l, str>> {
    let lone = || Error::invalid("an escape is an unpaired surrogate").at(json.start_of(quoted) as u64);
    quoted.unescape().ok_or_else(lone)
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

#[cfg(test)]
mod tests;
