//! Arrays of JSON texts that are known to be valid, item by item.

use container_core::{Error, Result};

use crate::text::records::json::{end_of_nested, end_of_string, is_blank};

/// Arrays may be nested so deep.
const MOST_DEPTH: usize = 128;

/// Lengths of an array and the arrays in it, the outermost first. One buffer for many arrays.
#[derive(Debug, Default)]
pub(super) struct Walk {
    dimensions: Vec<Option<u32>>,
    open: Vec<u32>,
}

impl Walk {
    /// Goes over the items of an array, the arrays in it included, and gives its dimensions.
    ///
    /// # Errors
    /// Of `item`, which is given a text that is no array; and [`Invalid`](container_core::ErrorKind::Invalid) when arrays
    /// of one depth differ in length, or in what they hold: items or arrays.
    pub(super) fn array(&mut self, text: &str, mut item: impl FnMut(&str) -> Result<()>) -> Result<&[Option<u32>]> {
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

#[cold]
fn ragged() -> Error {
    Error::invalid("the arrays in an array differ in length or depth")
}

/// Where the value that a valid text begins with ends: a string, an object, a number or a word.
fn end_of(text: &str) -> usize {
    match text.as_bytes().first() {
        Some(b'"') => end_of_string(text.as_bytes()),
        Some(b'{') => end_of_nested(text.as_bytes()).unwrap_or(text.len()),
        _ => text.find([',', ']', '}', ' ', '\t', '\n', '\r']).unwrap_or(text.len()).max(1).min(text.len()),
    }
}

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
}
