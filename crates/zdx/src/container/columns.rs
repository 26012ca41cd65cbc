//! The columns of a collection: which members documents have, with which types.

use std::collections::HashMap;

use container_core::raw_json::Members;
use container_core::{ColumnInfo, Error, ErrorKind, Result, Watch};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::json::{Key, Projection};
use crate::read::{Collection, Document};

/// A column.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) key: Key,
    /// Column name.
    pub(crate) name: String,
    kinds: Kinds,
    /// Number of documents with a value, and in total.
    count: u64,
    total: u64,
}

/// Set of JSON types, one bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Kinds(u8);

/// Names of the types, in the order in which they are listed.
const KINDS: [&str; 6] = ["boolean", "number", "string", "array", "object", "null"];

impl Kinds {
    fn add(&mut self, value: &RawValue) {
        self.0 |= match value.get().as_bytes().first() {
            Some(b't' | b'f') => 1,
            Some(b'"') => 4,
            Some(b'[') => 8,
            Some(b'{') => 16,
            Some(b'n') => 32,
            _ => 2,
        };
    }

    /// For instance `number or null`.
    fn text(self) -> String {
        let kinds = KINDS.iter().enumerate().filter(|(bit, _)| self.0 & 1 << bit != 0).map(|(_, kind)| *kind);
        kinds.collect::<Vec<_>>().join(" or ")
    }
}

impl Field {
    fn new(key: Key, name: String) -> Self {
        Self { key, name, kinds: Kinds::default(), count: 0, total: 0 }
    }

    pub(super) fn info(&self) -> ColumnInfo {
        let mut info = ColumnInfo::new(self.name.clone(), self.kinds.text());
        if let Key::Path(path) = &self.key {
            info.details.push(("path".to_owned(), path.clone().into()));
        }
        info
    }

    pub(super) fn summary(&self) -> Map<String, Value> {
        let members = [("documents", self.count), ("documents_looked_at", self.total)];
        members.into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect()
    }
}

/// Collects columns from documents.
pub(super) struct ColumnSurvey {
    fields: Vec<Field>,
    members: HashMap<String, usize>,
    /// Requested paths with their column names, and their column once a value has been found.
    paths: Vec<(String, String, Option<usize>)>,
    projection: Projection,
    max_columns: u64,
    documents: u64,
    /// Last document with a value, by column, so that a duplicate member counts once.
    last: Vec<u64>,
}

impl ColumnSurvey {
    pub(super) fn new(paths: &[(String, String)], max_columns: u64) -> Self {
        let keys: Vec<Key> = paths.iter().map(|(path, _)| Key::Path(path.clone())).collect();
        Self {
            fields: Vec::new(),
            members: HashMap::new(),
            paths: paths.iter().map(|(path, name)| (path.clone(), name.clone(), None)).collect(),
            projection: Projection::new(&keys),
            max_columns,
            documents: 0,
            last: Vec::new(),
        }
    }

    /// Starts from known columns, which keep their positions.
    pub(super) fn start_from(&mut self, known: &[Field]) {
        for field in known {
            let at = self.fields.len();
            match &field.key {
                Key::Member(name) => drop(self.members.insert(name.clone(), at)),
                Key::Path(path) => {
                    for (_, _, column) in self.paths.iter_mut().filter(|(own, ..)| own == path) {
                        *column = Some(at);
                    }
                }
            }
            self.fields.push(Field::new(field.key.clone(), field.name.clone()));
            self.last.push(0);
        }
    }

    /// Adds every `step`th document. `failed` decides whether to continue after an invalid one.
    pub(super) fn scan(
        &mut self,
        collection: &Collection,
        step: u64,
        watch: &Watch,
        failed: &mut dyn FnMut(Error) -> Result<()>,
    ) -> Result<()> {
        /// Documents between two progress reports.
        const REPORTED: u64 = 256;
        let len = collection.len()?;
        let (mut next, mut documents_read) = (0, 0);
        while next < len {
            let mut documents = collection.documents_in(next..if step == 1 { len } else { next + 1 })?;
            loop {
                documents_read += 1;
                if documents_read % REPORTED == 0 {
                    watch.advance(REPORTED)?;
                }
                let row = documents.row();
                let document = match documents.try_next() {
                    Ok(None) => break,
                    Ok(Some(document)) => self.add(&document).map_err(|error| error.in_row(row)),
                    Err(error) => Err(error),
                };
                next = row;
                match document {
                    Err(error) if matches!(error.kind(), ErrorKind::Io) => return Err(error),
                    Err(error) => failed(error)?,
                    Ok(()) => {}
                }
            }
            // After the last document, or the one that ended the iteration.
            next = next.saturating_add(step);
        }
        Ok(())
    }

    fn add(&mut self, document: &Document<'_>) -> Result<()> {
        let text = document.text()?;
        let json_error = |error: serde_json::Error| document.json_error(&error);
        let Members(members) = serde_json::from_str(text).map_err(json_error)?;
        self.documents += 1;
        let has_id = members.iter().any(|(name, _)| name == "_id");
        if !has_id {
            // The id is shown anyway.
            let at = self.member(0, "_id")?;
            if let (Some(field), Some(last)) = (self.fields.get_mut(at), self.last.get_mut(at)) {
                field.kinds.0 |= 4;
                field.count += 1;
                *last = self.documents;
            }
        }
        for (position, (name, value)) in members.iter().enumerate() {
            let at = self.member(position, name)?;
            self.count(at, value);
        }
        if !self.paths.is_empty() {
            let values = self.projection.of(text).map_err(json_error)?;
            for (number, value) in values.into_iter().enumerate().filter_map(|(number, value)| Some((number, value?))) {
                let Some((path, name, at)) = self.paths.get_mut(number) else { continue };
                let at = *at.get_or_insert_with(|| {
                    self.fields.push(Field::new(Key::Path(path.clone()), name.clone()));
                    self.last.push(0);
                    self.fields.len() - 1
                });
                self.count(at, value);
            }
        }
        Ok(())
    }

    fn count(&mut self, at: usize, value: &RawValue) {
        if let (Some(field), Some(last)) = (self.fields.get_mut(at), self.last.get_mut(at)) {
            field.kinds.add(value);
            field.count += u64::from(*last != self.documents);
            *last = self.documents;
        }
    }

    /// The column of a member, added if it is new.
    fn member(&mut self, position: usize, name: &str) -> Result<usize> {
        // Most documents have the same members in the same order.
        let is = |field: &Field| matches!(&field.key, Key::Member(member) if member == name);
        if self.fields.get(position).is_some_and(is) {
            return Ok(position);
        }
        if let Some(&at) = self.members.get(name) {
            return Ok(at);
        }
        let at = self.fields.len();
        if at as u64 >= self.max_columns {
            return Err(Error::limit("the number of columns", at as u64 + 1, self.max_columns));
        }
        self.members.insert(name.to_owned(), at);
        self.fields.push(Field::new(Key::Member(name.to_owned()), name.to_owned()));
        self.last.push(0);
        Ok(at)
    }

    /// The columns.
    pub(super) fn finish(mut self) -> Vec<Field> {
        self.fields.iter_mut().for_each(|field| field.total = self.documents);
        self.fields
    }
}
