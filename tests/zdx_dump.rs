//! What `zdx` reads in a store, in the form in which the driver in `tests/reference/zippy` tells what the reference reads.

use std::path::Path;

use serde_json::{Map, Value, json};
use zdx::{Document, Result, Store};

/// A document that was read, or told to have been.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// The collection's name.
    pub collection: String,
    /// The document's id.
    pub id: String,
    /// What `get` of the reference gives: of a line without its `_id`.
    pub document: Value,
    /// The line, without its line feed; none where the document is a file of its own.
    pub line: Option<String>,
    /// Of a file its place among files, counted from 0.
    pub position: Option<u64>,
}

impl Told {
    fn of(collection: &str, document: &Document<'_>) -> Result<Self> {
        let line = document.offset().map(|_| String::from_utf8_lossy(document.bytes()).into_owned());
        let mut value: Value = document.decode()?;
        if let (Value::Object(members), Some(_)) = (&mut value, &line) {
            members.remove("_id");
        }
        let (collection, id) = (collection.to_owned(), document.id().to_owned());
        Ok(Self { collection, id, document: value, line, position: None })
    }

    /// As a line of a dump.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut members = Map::new();
        members.insert("collection".to_owned(), json!(self.collection));
        members.insert("document".to_owned(), self.document.clone());
        members.insert("id".to_owned(), json!(self.id));
        members.insert("mode".to_owned(), json!(if self.line.is_some() { "lines" } else { "docs" }));
        if let Some(line) = &self.line {
            members.insert("line".to_owned(), json!(line));
        }
        if let Some(position) = self.position {
            members.insert("position".to_owned(), json!(position));
        }
        Value::Object(members)
    }

    /// From a line of a dump; nothing where it is none.
    #[must_use]
    pub fn from_json(told: &Value) -> Option<Self> {
        let text = |name: &str| told.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            collection: text("collection")?,
            id: text("id")?,
            document: told.get("document")?.clone(),
            line: text("line"),
            position: told.get("position").and_then(Value::as_u64),
        })
    }
}

/// Every document of every collection, as a walk over all gives it, sorted as a dump is. Each is also looked up by its id.
///
/// # Errors
/// Those of the store, and in words what differs between the two ways.
pub fn dump(path: &Path) -> std::result::Result<Vec<Told>, String> {
    let store = Store::open(path).map_err(|error| error.to_string())?;
    let mut all = Vec::new();
    for name in store.names().map_err(|error| error.to_string())? {
        let mut told = collection(&store, &name)?;
        told.sort_by(|a, b| (a.line.is_none(), &a.id).cmp(&(b.line.is_none(), &b.id)));
        all.append(&mut told);
    }
    Ok(all)
}

fn collection(store: &Store, name: &str) -> std::result::Result<Vec<Told>, String> {
    let failed = |error: zdx::Error| error.to_string();
    let collection = store.collection(name).map_err(failed)?;
    let mut all: Vec<Told> = Vec::new();
    let mut files = 0;
    for document in collection.documents().map_err(failed)? {
        let mut told = Told::of(name, &document.map_err(failed)?).map_err(failed)?;
        if told.line.is_none() {
            told.position = Some(files);
            files += 1;
        }
        all.push(told);
    }
    for told in &all {
        let again = collection.get(&told.id).map_err(failed)?;
        let again = again.ok_or_else(|| format!("{name}: {} is not found by its id", told.id))?;
        let again = Told::of(name, &again).map_err(failed)?;
        if (&again.document, &again.line) != (&told.document, &told.line) {
            return Err(format!("{name}: {} is another document by its id", told.id));
        }
    }
    let len = collection.len().map_err(failed)?;
    if len != all.len() as u64 {
        return Err(format!("{name} has {len} documents, and {} in a walk", all.len()));
    }
    Ok(all)
}
