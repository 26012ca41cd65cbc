//! Documents as rows.

use std::borrow::Cow;
use std::ops::Range;

use container_core::raw_json::{Json, Members};
use container_core::{Error, Loss, Result, Rows};
use serde::ser::{Error as _, SerializeMap};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::columns::Field;
use super::json::{Key, Wanted};
use super::located::located;
use crate::FORMAT_NAME;
use crate::read::{Document, Documents, Filter};
use crate::wire::json;

/// A walk over documents.
pub(super) struct DocumentRows<'a> {
    documents: Documents<'a>,
    current: Option<Current<'a>>,
    chosen: Option<Chosen<'a>>,
    /// What is asked of documents, and of those for which it holds the ones that are wanted, by their number.
    filter: Option<(&'a Filter, Range<u64>)>,
    /// Documents for which it held.
    held: u64,
    losses: Vec<Loss>,
    /// Where the collection is, for errors.
    place: &'a str,
    failed: bool,
}

struct Current<'a> {
    document: Document<'a>,
    row: u64,
}

/// The columns that are shown, with their names as JSON, in the order wanted.
struct Chosen<'a> {
    fields: Vec<(&'a Field, Vec<u8>)>,
    wanted: Wanted,
}

impl<'a> Chosen<'a> {
    fn new(fields: Vec<&'a Field>) -> Self {
        let wanted = Wanted::new(fields.iter().map(|field| &field.key));
        let named = fields.into_iter().map(|field| {
            // A text is always JSON.
            let name = serde_json::to_vec(&field.name).unwrap_or_default();
            (field, name)
        });
        Self { fields: named.collect(), wanted }
    }
}

/// A value that is shown.
enum Shown<'v> {
    Own(&'v RawValue),
    /// The id by which the document is known and which it does not state.
    Id(&'v str),
}

impl<'a> DocumentRows<'a> {
    pub(super) fn new(
        documents: Documents<'a>,
        chosen: Option<Vec<&'a Field>>,
        filter: Option<(&'a Filter, Range<u64>)>,
        losses: Vec<Loss>,
        place: &'a str,
    ) -> Self {
        let chosen = chosen.map(Chosen::new);
        Self { documents, current: None, chosen, filter, held: 0, losses, place, failed: false }
    }

    fn next(&mut self) -> Result<Option<Current<'a>>> {
        loop {
            if self.filter.as_ref().is_some_and(|(_, wanted)| self.held >= wanted.end) {
                return Ok(None);
            }
            let row = self.documents.row();
            let Some(document) = self.documents.try_next()? else { return Ok(None) };
            if let Some((filter, wanted)) = &self.filter {
                // A document in a file of its own has the id that it is shown with, stated or not.
                let line = match document.offset() {
                    Some(_) => document.text().map(|text| Cow::Borrowed(text.as_bytes())),
                    None => document.line_with_id(),
                };
                let holds = filter.holds(&line.map_err(|error| error.in_row(row))?);
                if !holds.map_err(|error| document.json_error(&error).in_row(row))? {
                    continue;
                }
                self.held += 1;
                if self.held <= wanted.start {
                    continue;
                }
            }
            return Ok(Some(Current { document, row }));
        }
    }

    fn current(&self) -> Result<&Current<'a>> {
        self.current.as_ref().ok_or_else(|| Error::usage("there is no current row").in_format(FORMAT_NAME))
    }
}

impl Current<'_> {
    fn wrong(&self, error: &serde_json::Error) -> Error {
        self.document.json_error(error).in_row(self.row)
    }

    /// The values of the columns.
    fn values<'s>(&'s self, chosen: &Chosen<'_>) -> Result<Vec<Option<Shown<'s>>>> {
        let found = chosen.wanted.of(self.document.text()?).map_err(|error| self.wrong(&error))?;
        let shown = found.into_iter().zip(&chosen.fields).map(|(value, (field, _))| match value {
            Some(value) => Some(Shown::Own(value)),
            None if matches!(&field.key, Key::Member(name) if name == "_id") => Some(Shown::Id(self.document.id())),
            None => None,
        });
        Ok(shown.collect())
    }

    fn chosen(&self, chosen: &Chosen<'_>, out: &mut Vec<u8>) -> Result<()> {
        let values = self.values(chosen)?;
        out.push(b'{');
        let mut between = false;
        for ((_, name), value) in chosen.fields.iter().zip(values) {
            // A member that the document has not is not there: null would say that it is.
            let Some(value) = value else { continue };
            if std::mem::replace(&mut between, true) {
                out.push(b',');
            }
            out.extend_from_slice(name);
            out.push(b':');
            match value {
                Shown::Own(raw) if raw.get().contains(['\n', '\r']) => {
                    out.extend_from_slice(&json::compact(raw.get().as_bytes()));
                }
                Shown::Own(raw) => out.extend_from_slice(raw.get().as_bytes()),
                Shown::Id(id) => put_text(id, out),
            }
        }
        out.push(b'}');
        Ok(())
    }
}

/// A text as JSON.
fn put_text(text: &str, out: &mut Vec<u8>) {
    // Writing a text into memory does not fail.
    out.extend_from_slice(&serde_json::to_vec(text).unwrap_or_default());
}

impl Rows for DocumentRows<'_> {
    fn advance(&mut self) -> Result<bool> {
        self.current = None;
        if self.failed {
            return Ok(false);
        }
        match self.next() {
            Ok(current) => {
                self.current = current;
                Ok(self.current.is_some())
            }
            Err(error) => {
                self.failed = true;
                Err(located(error, self.place))
            }
        }
    }

    fn index(&self) -> u64 {
        self.current.as_ref().map_or(0, |current| current.row)
    }

    fn row(&self) -> &dyn erased_serde::Serialize {
        self
    }

    fn json(&self, out: &mut Vec<u8>) -> Result<()> {
        let current = self.current()?;
        let start = out.len();
        let written = match &self.chosen {
            None => current.document.line_with_id().map(|line| out.extend_from_slice(&line)),
            Some(chosen) => current.chosen(chosen, out),
        };
        written.map_err(|error| {
            out.truncate(start);
            located(error.in_row(current.row), self.place)
        })
    }

    fn losses(&self) -> Vec<Loss> {
        self.losses.clone()
    }
}

/// The current row: a map of the members that are shown.
impl Serialize for DocumentRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let current = self.current().map_err(S::Error::custom)?;
        let custom = |error: Error| S::Error::custom(located(error, self.place));
        let mut map = serializer.serialize_map(None)?;
        match &self.chosen {
            Some(chosen) => {
                let values = current.values(chosen).map_err(custom)?;
                for ((field, _), value) in chosen.fields.iter().zip(values) {
                    match value {
                        Some(Shown::Own(raw)) => map.serialize_entry(&field.name, &Json::new(raw))?,
                        Some(Shown::Id(id)) => map.serialize_entry(&field.name, id)?,
                        None => {}
                    }
                }
            }
            None => {
                let text = current.document.text().map_err(custom)?;
                let members = serde_json::from_str(text).map_err(|error| custom(current.wrong(&error)));
                let Members(members) = members?;
                if !members.iter().any(|(name, _)| name == "_id") {
                    map.serialize_entry("_id", current.document.id())?;
                }
                for (name, raw) in &members {
                    map.serialize_entry(name, &Json::new(raw))?;
                }
            }
        }
        map.end()
    }
}
