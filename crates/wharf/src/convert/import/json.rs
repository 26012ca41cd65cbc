//! Pieces of JSON texts that are known to be valid: what a value is, the items of an array, what a string says.

use std::borrow::Cow;

use container_core::{Error, Result};

/// So much of a value is shown in an error.
const SHOWN: usize = 40;
/// Arrays may be nested so deep.
#[cfg(feature = "idv")]
const MOST_DEPTH: usize = 128;

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

/// Lengths of an array and the arrays in it, the outermost first. One buffer for many arrays.
#[cfg(feature = "idv")]
#[derive(Debug, Default)]
pub(crate) struct Walk {
    dimensions: Vec<Option<u32>>,
    open: Vec<u32>,
}

#[cfg(feature = "idv")]
impl Walk {
    /// Goes over the items of an array, the arrays in it included, and gives its dimensions.
    ///
    /// # Errors
    /// Of `item`, which is given a text that is no array; and [`Invalid`](container_core::ErrorKind::Invalid) when arrays
    /// of one depth differ in length, or in what they hold: items or arrays.
    pub(crate) fn array(&mut self, text: &str, mut item: impl FnMut(&str) -> Result<()>) -> Result<&[Option<u32>]> {
        self.dimensions.clear();
        self.open.clear();
        let mut items_at = None;
        let mut rest = text;
        while let Some(first) = rest.as_bytes().first() {
            match first {
                b'[' => {
                    if let Some(count) = self.open.last_mut() {
                        *count = count.saturating_add(1);
                    }
                    if self.open.len() == MOST_DEPTH {
                        return Err(Error::limit("nesting of an array", MOST_DEPTH as u64 + 1, MOST_DEPTH as u64));
                    }
                    self.open.push(0);
                    if self.dimensions.len() < self.open.len() {
                        self.dimensions.push(None);
                    }
                    rest = rest.get(1..).unwrap_or_default();
                }
                b']' => {
                    let depth = self.open.len().saturating_sub(1);
                    let count = self.open.pop().unwrap_or(0);
                    if let Some(dimension) = self.dimensions.get_mut(depth)
                        && dimension.replace(count).is_some_and(|before| before != count)
                    {
                        return Err(ragged());
                    }
                    rest = rest.get(1..).unwrap_or_default();
                }
                b',' => rest = rest.get(1..).unwrap_or_default(),
                &byte if is_blank(byte) => rest = rest.get(1..).unwrap_or_default(),
                _ => {
                    let (one, after) = rest.split_at(end_of(rest));
                    if *items_at.get_or_insert(self.open.len()) != self.open.len() {
                        return Err(ragged());
                    }
                    if let Some(count) = self.open.last_mut() {
                        *count = count.saturating_add(1);
                    }
                    item(one)?;
                    rest = after;
                }
            }
        }
        // Items beside arrays.
        if items_at.is_some_and(|depth| depth < self.dimensions.len()) {
            return Err(ragged());
        }
        Ok(&self.dimensions)
    }
}

#[cfg(feature = "idv")]
#[cold]
fn ragged() -> Error {
    Error::invalid("the arrays in an array differ in length or depth")
}

/// Where the value that a valid text begins with ends: a string, an object, a number or a word.
#[cfg(feature = "idv")]
fn end_of(text: &str) -> usize {
    match text.as_bytes().first() {
        Some(b'"') => end_of_string(text.as_bytes()),
        Some(b'{') => end_of_nested(text.as_bytes()).unwrap_or(text.len()),
        _ => text.find([',', ']', '}', ' ', '\t', '\n', '\r']).unwrap_or(text.len()).max(1).min(text.len()),
    }
}

/// The end of the string that the bytes begin with; their end when it has none.
fn end_of_string(bytes: &[u8]) -> usize {
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

#[cfg(feature = "idv")]
#[cfg(test)]
mod tests {
    use super::*;

    fn walk(text: &str) -> Result<(Vec<u32>, Vec<String>), String> {
        let mut items = Vec::new();
        let mut walk = Walk::default();
        let dimensions = walk.array(text, |item| {
            items.push(item.to_owned());
            Ok(())
        });
        let dimensions = dimensions.map_err(|error| error.to_string())?;
        Ok((dimensions.iter().map(|length| length.unwrap()).collect(), items))
    }

    #[test]
    fn items_and_dimensions() {
        let ok = |text: &str, dimensions: &[u32], items: &[&str]| {
            assert_eq!(walk(text), Ok((dimensions.to_vec(), items.iter().map(|&item| item.to_owned()).collect())));
        };
        ok("[]", &[0], &[]);
        ok("[ ]", &[0], &[]);
        ok("[1, -2.5e3 ,true,null]", &[4], &["1", "-2.5e3", "true", "null"]);
        ok(r#"["a,b]","\"]","\\"]"#, &[3], &[r#""a,b]""#, r#""\"]""#, r#""\\""#]);
        ok("[[1,2,3],[4,5,6]]", &[2, 3], &["1", "2", "3", "4", "5", "6"]);
        ok("[[[1]],[[2]]]", &[2, 1, 1], &["1", "2"]);
        ok("[[],[]]", &[2, 0], &[]);
        ok(r#"[{"a":[1,"}"]},2]"#, &[2], &[r#"{"a":[1,"}"]}"#, "2"]);
    }

    #[test]
    fn ragged_arrays() {
        for text in ["[[1],[2,3]]", "[1,[2]]", "[[1],2]", "[[],1]", "[1,[]]", "[[],[1]]", "[[[1]],[2]]", "[[1,2],[]]"] {
            assert_eq!(walk(text).unwrap_err(), "the arrays in an array differ in length or depth", "{text}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(walk(&nested(128)).is_ok());
        assert_eq!(walk(&nested(129)).unwrap_err(), "nesting of an array 129 exceeds the limit 128");
    }

    #[test]
    fn nested_values_end_where_their_bracket_does() {
        for (text, end) in [
            (r#"{"a":"}"},1"#, Some(9)),
            (r#"[[1],{}]]"#, Some(8)),
            (r#"{"a":"\"}"}"#, Some(11)),
            (r#"{"a":1"#, None),
            (r#"{"a":"}"#, None),
            (r#"{"a":"\"#, None),
            (r#"{""#, None),
        ] {
            assert_eq!(end_of_nested(text.as_bytes()), end, "{text}");
        }
    }

    #[test]
    fn strings_are_unescaped() {
        assert_eq!(unescaped(r#""a b""#).unwrap(), "a b");
        assert_eq!(unescaped(r#""\u00e4\n""#).unwrap(), "ä\n");
        let error = unescaped(r#""\ud800""#).unwrap_err().to_string();
        assert_eq!(error, "the text is no JSON: unexpected end of hex escape");
    }
}
