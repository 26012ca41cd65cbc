//! Where the ids of new documents come from.

use std::borrow::Cow;

use container_core::{Error, Result};
use serde_json::Value;
use zdx::Fields;
use zdx::wire::id;
use zdx::wire::json::{self, Scanned};

/// Where ids come from.
#[derive(Debug)]
pub enum Ids {
    /// The member `_id`; documents without one get their number in ten digits.
    Own {
        /// Documents that have got a number so far.
        numbered: u64,
    },
    /// Another member, a text or an integer; the name may be a path.
    Field(String, Fields),
}

impl Ids {
    /// Those that an option asks for.
    pub fn of(field: Option<&str>) -> Self {
        match field {
            Some(field) if field != "_id" => Self::Field(field.to_owned(), Fields::new([field])),
            _ => Self::Own { numbered: 0 },
        }
    }

    /// Documents that had no id and got a number.
    pub fn numbered(&self) -> u64 {
        match self {
            Self::Own { numbered } => *numbered,
            Self::Field(..) => 0,
        }
    }

    /// A document that states its id in the member `_id`. The number is that of the document.
    pub fn line<'l>(&mut self, line: &'l [u8], number: u64) -> Result<Cow<'l, [u8]>> {
        match self.missing(&json::scan(line)?, number)? {
            Some(id) => with_id(line, &id).map(Cow::Owned),
            None => Ok(Cow::Borrowed(line)),
        }
    }

    /// The id that the document is to get; `None` where it states it.
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
                    fields.of(line).map_err(|cause| Error::invalid("the document is no JSON").caused_by(cause))?;
                let new = match found.into_iter().next().map(|(_, value)| value) {
                    Some(Value::String(text)) => text,
                    Some(Value::Number(number)) if number.is_u64() || number.is_i64() => number.to_string(),
                    Some(other) => {
                        let found = other.to_string();
                        let shown: String = found.chars().take(40).collect();
                        return Err(Error::invalid(format!(
                            "{name:?}, which is to be the id, is {shown}: a text or an integer is wanted"
                        )));
                    }
                    None => return Err(Error::invalid(format!("there is no {name:?}, which is to be the id"))),
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

/// The id of a document that has only its number: ten digits, so that ids sort as numbers do.
pub fn number_id(number: u64) -> String {
    format!("{number:010}")
}

/// An object with one member more in front, which is its id.
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
    fn ids_come_from_where_they_are_asked_for() {
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
        for (text, wanted) in [
            (r#"{"k":1}"#, "there is no \"k.n\", which is to be the id"),
            (r#"{"k":{"n":1.5}}"#, "\"k.n\", which is to be the id, is 1.5: a text or an integer is wanted"),
            (r#"{"_id":"x","k":{"n":"t"}}"#, "the document has the \"_id\" \"x\", and \"k.n\" is \"t\""),
            (
                r#"{"k":{"n":"a b"}}"#,
                "invalid character ' ' in the id (allowed: a-z, A-Z, 0-9, \"_\", \"-\" and \".\") (key \"a b\")",
            ),
        ] {
            assert_eq!(line(&mut field, text).unwrap_err(), wanted);
        }
    }
}
