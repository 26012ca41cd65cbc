//! The ids of new documents.

use std::borrow::Cow;

use container_core::{Error, Result};
use serde_json::Value;
use zdx::Fields;
use zdx::wire::id;
use zdx::wire::json::{self, Scanned};

/// The source of ids.
#[derive(Debug)]
pub enum Ids {
    /// The member `_id`; documents without one get their row number in ten digits.
    Own {
        /// Documents that got a number so far.
        numbered: u64,
    },
    /// Another member, a string or an integer; the name can be a path.
    Field(String, Fields),
}

impl Ids {
    /// From the given field; `None` for `_id`.
    pub fn of(field: Option<&str>) -> Self {
        match field {
            Some(field) if field != "_id" => Self::Field(field.to_owned(), Fields::new([field])),
            _ => Self::Own { numbered: 0 },
        }
    }

    /// The number of documents without an id, which got their row number.
    pub fn numbered(&self) -> u64 {
        match self {
            Self::Own { numbered } => *numbered,
            Self::Field(..) => 0,
        }
    }

    /// The document with its id as member `_id`; `number` is its row.
    pub fn line<'l>(&mut self, line: &'l [u8], number: u64) -> Result<Cow<'l, [u8]>> {
        match self.missing(&json::scan(line)?, number)? {
            Some(id) => with_id(line, &id).map(Cow::Owned),
            None => Ok(Cow::Borrowed(line)),
        }
    }

    /// The id to add to a document; `None` if it has one already.
    pub fn missing(&mut self, document: &Scanned<'_>, number: u64) -> Result<Option<String>> {
        let (line, own) = (document.line(), document.id());
        match self {
            Self::Own { .. } if own.is_some() => Ok(None),
            Self::Own { numbered } => {
                *numbered += 1;
                Ok(Some(number_id(number)))
            }
            Self::Field(name, fields) => {
                let found =
                    fields.of(line).map_err(|cause| Error::invalid("invalid JSON in the document").caused_by(cause))?;
                let new = match found.into_iter().next().map(|(_, value)| value) {
                    Some(Value::String(text)) => text,
                    Some(Value::Number(number)) if number.is_u64() || number.is_i64() => number.to_string(),
                    Some(other) => {
                        let found = other.to_string();
                        let shown: String = found.chars().take(40).collect();
                        return Err(Error::invalid(format!(
                            "the id field {name:?} must be a string or an integer, found {shown}"
                        )));
                    }
                    None => return Err(Error::invalid(format!("the document lacks the id field {name:?}"))),
                };
                match own {
                    Some(own) if own == new => Ok(None),
                    Some(own) => {
                        let detail = format!("the document has the \"_id\" {own:?}, and {name:?} is {new:?}");
                        Err(Error::invalid(detail))
                    }
                    None => Ok(Some(new)),
                }
            }
        }
    }
}

/// The id made of a row number: ten digits, so that ids sort like numbers.
pub fn number_id(number: u64) -> String {
    format!("{number:010}")
}

/// The object with `_id` as its first member.
pub fn with_id(object: &[u8], id: &str) -> Result<Vec<u8>> {
    id::check(id)?;
    let inner = object.trim_ascii_start().strip_prefix(b"{").unwrap_or_default();
    let between: &[u8] = if inner.trim_ascii_start().starts_with(b"}") { b"" } else { b"," };
    Ok([b"{\"_id\":\"", id.as_bytes(), b"\"", between, inner].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_ids_from_the_selected_field() {
        let line = |ids: &mut Ids, line: &str| {
            let line = ids.line(line.as_bytes(), 7).map(|line| String::from_utf8(line.into_owned()).unwrap());
            line.map_err(|error| error.to_string())
        };
        let mut own = Ids::of(None);
        assert_eq!(line(&mut own, r#"{"a": 1, "_id": "x"}"#).unwrap(), r#"{"a": 1, "_id": "x"}"#);
        assert_eq!(line(&mut own, r#" {"a": 1}"#).unwrap(), r#"{"_id":"0000000007","a": 1}"#);
        assert_eq!(line(&mut own, "{ }").unwrap(), r#"{"_id":"0000000007" }"#);
        assert_eq!(own.numbered(), 2);
        let mut field = Ids::of(Some("k.n"));
        assert_eq!(line(&mut field, r#"{"k":{"n":5}}"#).unwrap(), r#"{"_id":"5","k":{"n":5}}"#);
        assert_eq!(line(&mut field, r#"{"_id":"t","k":{"n":"t"}}"#).unwrap(), r#"{"_id":"t","k":{"n":"t"}}"#);
        for (text, expected) in [
            (r#"{"k":1}"#, "the document lacks the id field \"k.n\""),
            (r#"{"k":{"n":1.5}}"#, "the id field \"k.n\" must be a string or an integer, found 1.5"),
            (r#"{"_id":"x","k":{"n":"t"}}"#, "the document has the \"_id\" \"x\", and \"k.n\" is \"t\""),
            (
                r#"{"k":{"n":"a b"}}"#,
                "invalid character ' ' in the id (allowed: a-z, A-Z, 0-9, \"_\", \"-\" and \".\") (key \"a b\")",
            ),
        ] {
            assert_eq!(line(&mut field, text).unwrap_err(), expected);
        }
    }
}
