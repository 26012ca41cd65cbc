//! Helpers for JSON text that is known to be valid: the kind of a value, the ends of strings and nested values, unescaping.

use std::borrow::Cow;

use container_core::{Error, Result};

/// Characters of a value that an error shows.
const MAX_SHOWN: usize = 40;

/// The kind of a JSON value, from its first byte. Ordered as kinds are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Number,
    String,
    Array,
    Object,
    Null,
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

/// The content of a JSON string.
pub(crate) fn unescaped(text: &str) -> Result<Cow<'_, str>> {
    match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(plain) if !plain.contains('\\') => Ok(Cow::Borrowed(plain)),
        _ => serde_json::from_str(text).map(Cow::Owned).map_err(|cause| invalid_json("the string", &cause)),
    }
}

/// The beginning of a long value.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A parser's message without its position, which is relative to the value.
#[cold]
pub(crate) fn invalid_json(what: &str, cause: &serde_json::Error) -> Error {
    let message = cause.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    Error::invalid(format!("invalid JSON in {what}: {message}"))
}

/// The end of the string that the bytes begin with, or of the bytes if it is unclosed.
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

/// The end of the array or object that the bytes begin with; `None` if it is unclosed.
pub(crate) fn end_of_nested(bytes: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                // After an unclosed string nothing is left, and the bracket is still open.
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
    fn unescapes_strings() {
        assert_eq!(unescaped(r#""a b""#).unwrap(), "a b");
        assert_eq!(unescaped(r#""\u00e4\n""#).unwrap(), "ä\n");
        let error = unescaped(r#""\ud800""#).unwrap_err().to_string();
        assert_eq!(error, "invalid JSON in the string: unexpected end of hex escape");
    }
}
