//! Which members documents have, and of what kinds.

use std::collections::HashMap;

use container_core::raw_json::Members;
use container_core::{ColumnInfo, Error, ErrorKind, Result};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::json::{Key, Wanted};
use crate::read::{Collection, Document};

/// A column.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) key: Key,
    /// Its name.
    pub(crate) name: String,
    kinds: Kinds,
    /// Documents that have it, of how many.
    count: u64,
    of: u64,
}

/// Kinds of values, a bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Kinds(u8);

/// In the order in which they are told: null comes last.
const KINDS: [&str; 6] = ["boolean", "number", "string", "array", "object", "null"];

impl Kinds {
    fn take(&mut self, value: &RawValue) {
        self.0 |= match value.get().as_bytes().first() {
            Some(b't' | b'f') => 1,
            Some(b'"') => 4,
            Some(b'[') => 8,
            Some(b'{') => 16,
            Some(b'n') => 32,
            _ => 2,
        };
    }

    /// `number or null`.
    fn text(self) -> String {
        let kinds = KINDS.iter().enumerate().filter(|(bit, _)| self.0 & 1 << bit != 0).map(|(_, kind)| *kind);
        kinds.collect::<Vec<_>>().join(" or ")
    }
}

impl Field {
    fn new(key: Key, name: String) -> Self {
        Self { key, name, kinds: Kinds::default(), count: 0, of: 0 }
    }

    pub(super) fn info(&self) -> ColumnInfo {
        let mut info = ColumnInfo::new(self.name.clone(), self.kinds.text());
        if let Key::Path(path) = &self.key {
            info.details.push(("path".to_owned(), path.clone().into()));
        }
        info
    }

    pub(super) fn summary(&self) -> Map<String, Value> {
        let members = [("documents", self.count), ("documents_looked_at", self.of)];
        members.into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect()
    }
}

/// Gathers columns.
pub(super) struct Survey {
    fields: Vec<Field>,
    members: HashMap<String, usize>,
    /// Paths that are looked for, and the name of each; the place of one that was seen.
    paths: Vec<(String, String, Option<usize>)>,
    wanted: Wanted,
    most: u64,
    looked: u64,
    /// The document that each was seen in last, so that a member that is there twice counts once.
    last: Vec<u64>,
}

impl Survey {
    pub(super) fn new(paths: &[(String, String)], most: u64) -> Self {
        let keys: Vec<Key> = paths.iter().map(|(path, _)| Key::Path(path.clone())).collect();
        Self {
            fields: Vec::new(),
            members: HashMap::new(),
            paths: paths.iter().map(|(path, name)| (path.clone(), name.clone(), None)).collect(),
            wanted: Wanted::new(&keys),
            most,
            looked: 0,
            last: Vec::new(),
        }
    }

    /// Begins with the columns that are known, in their places.
    pub(super) fn keep(&mut self, known: &[Field]) {
        for field in known {
            let place = self.fields.len();
            match &field.key {
                Key::Member(name) => drop(self.members.insert(name.clone(), place)),
                Key::Path(path) => {
                    for own in self.paths.iter_mut().filter(|(own, ..)| own == path) {
                        own.2 = Some(place);
                    }
                }
            }
            self.fields.push(Field::new(field.key.clone(), field.name.clone()));
            self.last.push(0);
        }
    }

    /// Looks at every `step`th document. `failed` says whether to go on behind one that is wrong.
    pub(super) fn take_all(
        &mut self,
        collection: &Collection,
        step: u64,
        failed: &mut dyn FnMut(Error) -> Result<()>,
    ) -> Result<()> {
        let len = collection.len()?;
        let mut next = 0;
        while next < len {
            let mut documents = collection.documents_in(next..if step == 1 { len } else { next + 1 })?;
            loop {
                let row = documents.row();
                let document = match documents.try_next() {
                    Ok(None) => break,
                    Ok(Some(document)) => self.take(&document).map_err(|error| error.in_row(row)),
                    Err(error) => Err(error),
                };
                next = row;
                match document {
                    Err(error) if matches!(error.kind(), ErrorKind::Io) => return Err(error),
                    Err(error) => failed(error)?,
                    Ok(()) => {}
                }
            }
            // Behind the last one that was looked at, or the one that ended the walk.
            next = next.saturating_add(step);
        }
        Ok(())
    }

    fn take(&mut self, document: &Document<'_>) -> Result<()> {
        let text = document.text()?;
        let wrong = |error: serde_json::Error| document.json_error(&error);
        let Members(members) = serde_json::from_str(text).map_err(wrong)?;
        self.looked += 1;
        let own = members.iter().any(|(name, _)| name == "_id");
        if !own {
            // It is shown all the same.
            let place = self.member(0, "_id")?;
            if let (Some(field), Some(last)) = (self.fields.get_mut(place), self.last.get_mut(place)) {
                field.kinds.0 |= 4;
                field.count += 1;
                *last = self.looked;
            }
        }
        for (position, (name, value)) in members.iter().enumerate() {
            let place = self.member(position, name)?;
            self.count(place, value);
        }
        if !self.paths.is_empty() {
            let found = self.wanted.of(text).map_err(wrong)?;
            for (number, value) in found.into_iter().enumerate().filter_map(|(number, value)| Some((number, value?))) {
                let Some((path, name, place)) = self.paths.get_mut(number) else { continue };
                let place = *place.get_or_insert_with(|| {
                    self.fields.push(Field::new(Key::Path(path.clone()), name.clone()));
                    self.last.push(0);
                    self.fields.len() - 1
                });
                self.count(place, value);
            }
        }
        Ok(())
    }

    fn count(&mut self, place: usize, value: &RawValue) {
        if let (Some(field), Some(last)) = (self.fields.get_mut(place), self.last.get_mut(place)) {
            field.kinds.take(value);
            field.count += u64::from(*last != self.looked);
            *last = self.looked;
        }
    }

    /// Where a member is in the list; it is added if it is new.
    fn member(&mut self, position: usize, name: &str) -> Result<usize> {
        // Documents mostly have the same members in the same order.
        let is = |field: &Field| matches!(&field.key, Key::Member(member) if member == name);
        if self.fields.get(position).is_some_and(is) {
            return Ok(position);
        }
        if let Some(&place) = self.members.get(name) {
            return Ok(place);
        }
        let place = self.fields.len();
        if place as u64 >= self.most {
            return Err(Error::limit("the number of columns", place as u64 + 1, self.most));
        }
        self.members.insert(name.to_owned(), place);
        self.fields.push(Field::new(Key::Member(name.to_owned()), name.to_owned()));
        self.last.push(0);
        Ok(place)
    }

    /// The columns.
    pub(super) fn finish(mut self) -> Vec<Field> {
        self.fields.iter_mut().for_each(|field| field.of = self.looked);
        self.fields
    }
}
