//! Pieces of JSON texts that are known to be valid: what a value is, the items of an array, what a string says.

use std::borrow::Cow;

use container_core::{Error, Result};

/// So much of a value is shown in an error.
const SHOWN: usize = 40;

/// What a JSON text is, told by its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

impl Kind {
    pub(crate) fn of(text: &str) -> Self {
        match text.as_bytes().first() {
            Some(b'n') => Self::Null,
            Some(b't' | b'f') => Self::Bool,
            Some(b'"') => Self::String,
            Some(b'[') => Self::Array,
            Some(b'{') => Self::Object,
            _ => Self::Number,
        }
    }
}

pub(crate) const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// What a JSON string says.
pub(crate) fn unescaped(text: &str) -> Result<Cow<'_, str>> {
    match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(plain) if !plain.contains('\\') => Ok(Cow::Borrowed(plain)),
        _ => serde_json::from_str(text).map(Cow::Owned).map_err(|cause| no_json("the text", &cause)),
    }
}

/// The beginning of a long value.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The parser's message without its position, which counts from the wrong place.
#[cold]
pub(crate) fn no_json(what: &str, cause: &serde_json::Error) -> Error {
    let message = cause.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    Error::invalid(format!("{what} is no JSON: {message}"))
}

/// The end of the string that the bytes begin with; their end when it has none.
pub(crate) fn end_of_string(bytes: &[u8]) -> usize {
    let mut at = 1;
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        match rest.iter().position(|&byte| matches!(byte, b'"' | b'\\')) {
            None => return bytes.len(),
            Some(found) if rest.get(found) == Some(&b'"') => return at + found + 1,
            Some(found) => at = (at + found + 2).min(bytes.len()),
        }
    }
}

/// The end of the array or object that the bytes begin with; `None` when it does not end here.
pub(crate) fn end_of_nested(bytes: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                // Of a string without end nothing is left, and the bracket is still open.
                at += end_of_string(bytes.get(at..).unwrap_or_default());
                continue;
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_unescaped() {
        assert_eq!(unescaped(r#""a b""#).unwrap(), "a b");
        assert_eq!(unescaped(r#""\u00e4\n""#).unwrap(), "ä\n");
        let error = unescaped(r#""\ud800""#).unwrap_err().to_string();
        assert_eq!(error, "the text is no JSON: unexpected end of hex escape");
    }
}
