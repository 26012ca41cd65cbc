//! Documents as rows.

use std::cell::Cell;

use container_core::raw_json::{Json, Members};
use container_core::{Error, Loss, Position, Result, Rows};
use serde_core::ser::{Error as _, SerializeMap};
use serde_core::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::columns::Field;
use super::json::{Key, Projection};
use super::located::located;
use super::matching::{Matching, Numbered};
use crate::FORMAT_NAME;
use crate::read::Documents;
use crate::wire::json;

/// Iterator over documents as rows.
pub(super) struct DocumentRows<'a> {
    documents: Shown<'a>,
    current: Option<Numbered<'a>>,
    selected: Option<Selected<'a>>,
    losses: Vec<Loss>,
    /// The collection's location, for errors.
    location: &'a str,
    failed: bool,
}

/// The documents to show.
pub(super) enum Shown<'a> {
    All(Documents<'a>),
    Matching(Box<Matching<'a>>),
}

impl<'a> Shown<'a> {
    fn try_next(&mut self) -> Result<Option<Numbered<'a>>> {
        match self {
            Self::All(documents) => {
                let row = documents.row();
                Ok(documents.next().transpose()?.map(|document| Numbered { document, row }))
            }
            Self::Matching(matching) => matching.try_next(),
        }
    }
}

/// The selected columns, with their names as JSON, in order.
struct Selected<'a> {
    fields: Vec<(&'a Field, Vec<u8>)>,
    projection: Projection,
    duplicates: Duplicates,
}

/// Members that are left out because a later one has the same name. Rows are shared while their values are read.
#[derive(Default)]
struct Duplicates {
    count: Cell<u64>,
    first: Cell<Option<u64>>,
    /// The row counted last: its values may be read again.
    last: Cell<Option<u64>>,
}

impl Duplicates {
    fn add(&self, count: u64, row: u64) {
        if count > 0 && self.last.replace(Some(row)) != Some(row) {
            self.count.set(self.count.get() + count);
            self.first.set(self.first.get().or(Some(row)));
        }
    }

    fn loss(&self) -> Option<Loss> {
        let first = Position::of_row(self.first.get()?);
        Some(Loss::new("duplicate object member: last value kept", self.count.get(), first))
    }
}

impl<'a> Selected<'a> {
    fn new(fields: Vec<&'a Field>) -> Self {
        let projection = Projection::new(fields.iter().map(|field| &field.key));
        let named = fields.into_iter().map(|field| {
            // Serializing a string cannot fail.
            let name = serde_json::to_vec(&field.name).unwrap_or_default();
            (field, name)
        });
        Self { fields: named.collect(), projection, duplicates: Duplicates::default() }
    }
}

/// The value of a column.
enum ColumnValue<'v> {
    Raw(&'v RawValue),
    /// The id of a document that does not contain it.
    Id(&'v str),
}

impl<'a> DocumentRows<'a> {
    pub(super) fn new(
        documents: Shown<'a>,
        selected: Option<Vec<&'a Field>>,
        losses: Vec<Loss>,
        location: &'a str,
    ) -> Self {
        Self { documents, current: None, selected: selected.map(Selected::new), losses, location, failed: false }
    }

    fn current(&self) -> Result<&Numbered<'a>> {
        self.current.as_ref().ok_or_else(|| Error::usage("no current row").in_format(FORMAT_NAME))
    }
}

impl Numbered<'_> {
    fn json_error(&self, error: &serde_json::Error) -> Error {
        self.document.json_error(error).in_row(self.row)
    }

    /// The values of the selected columns.
    fn values<'s>(&'s self, selected: &Selected<'_>) -> Result<Vec<Option<ColumnValue<'s>>>> {
        let found = selected.projection.with_duplicates(self.document.text()?);
        let (raw, duplicates) = found.map_err(|error| self.json_error(&error))?;
        selected.duplicates.add(duplicates, self.row);
        let values = raw.into_iter().zip(&selected.fields).map(|(value, (field, _))| match value {
            Some(value) => Some(ColumnValue::Raw(value)),
            None if matches!(&field.key, Key::Member(name) if name == "_id") => {
                Some(ColumnValue::Id(self.document.id()))
            }
            None => None,
        });
        Ok(values.collect())
    }

    fn write_selected(&self, selected: &Selected<'_>, out: &mut Vec<u8>) -> Result<()> {
        let values = self.values(selected)?;
        out.push(b'{');
        let mut between = false;
        for ((_, name), value) in selected.fields.iter().zip(values) {
            // Leave out missing members: null would be a value.
            let Some(value) = value else { continue };
            if std::mem::replace(&mut between, true) {
                out.push(b',');
            }
            out.extend_from_slice(name);
            out.push(b':');
            match value {
                ColumnValue::Raw(raw) if raw.get().contains(['\n', '\r']) => {
                    out.extend_from_slice(&json::compact(raw.get().as_bytes()));
                }
                ColumnValue::Raw(raw) => out.extend_from_slice(raw.get().as_bytes()),
                ColumnValue::Id(id) => write_string(id, out),
            }
        }
        out.push(b'}');
        Ok(())
    }
}

/// Appends a string as JSON.
fn write_string(text: &str, out: &mut Vec<u8>) {
    // Serializing a string cannot fail.
    out.extend_from_slice(&serde_json::to_vec(text).unwrap_or_default());
}

impl Rows for DocumentRows<'_> {
    fn advance(&mut self) -> Result<bool> {
        self.current = None;
        if self.failed {
            return Ok(false);
        }
        match self.documents.try_next() {
            Ok(current) => {
                self.current = current;
                Ok(self.current.is_some())
            }
            Err(error) => {
                self.failed = true;
                Err(located(error, self.location))
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
        let written = match &self.selected {
            None => current.document.line_with_id().map(|line| out.extend_from_slice(&line)),
            Some(selected) => current.write_selected(selected, out),
        };
        written.map_err(|error| {
            out.truncate(start);
            located(error.in_row(current.row), self.location)
        })
    }

    fn losses(&self) -> Vec<Loss> {
        let duplicates = self.selected.as_ref().and_then(|selected| selected.duplicates.loss());
        self.losses.iter().cloned().chain(duplicates).collect()
    }
}

/// The current row: a map of the selected members.
impl Serialize for DocumentRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let current = self.current().map_err(S::Error::custom)?;
        let custom = |error: Error| S::Error::custom(located(error, self.location));
        let mut map = serializer.serialize_map(None)?;
        match &self.selected {
            Some(selected) => {
                let values = current.values(selected).map_err(custom)?;
                for ((field, _), value) in selected.fields.iter().zip(values) {
                    match value {
                        Some(ColumnValue::Raw(raw)) => map.serialize_entry(&field.name, &Json::new(raw))?,
                        Some(ColumnValue::Id(id)) => map.serialize_entry(&field.name, id)?,
                        None => {}
                    }
                }
            }
            None => {
                let text = current.document.text().map_err(custom)?;
                let members = serde_json::from_str(text).map_err(|error| custom(current.json_error(&error)));
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
