//! Dumps a store as read by `zdx`, in the format of the driver in `tests/reference/zippy`.

use std::path::Path;

use serde_json::{Map, Value, json};
use zdx::{Document, Result, Store};

/// A document of a dump.
#[derive(Debug, Clone, PartialEq)]
pub struct DumpedDocument {
    /// The collection's name.
    pub collection: String,
    /// The document's id.
    pub id: String,
    /// The result of the reference's `get`: for a line, without its `_id`.
    pub document: Value,
    /// The line without its line feed; `None` for a document in a file of its own.
    pub line: Option<String>,
    /// For a file, its position among files, from 0.
    pub position: Option<u64>,
}

impl DumpedDocument {
    fn of(collection: &str, document: &Document<'_>) -> Result<Self> {
        let line = document.offset().map(|_| String::from_utf8_lossy(document.bytes()).into_owned());
        let mut value: Value = document.decode()?;
        if let (Value::Object(members), Some(_)) = (&mut value, &line) {
            members.remove("_id");
        }
        let (collection, id) = (collection.to_owned(), document.id().to_owned());
        Ok(Self { collection, id, document: value, line, position: None })
    }

    /// Encodes a line of a dump.
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

    /// Decodes a line of a dump; `None` if it is malformed.
    #[must_use]
    pub fn from_json(document: &Value) -> Option<Self> {
        let text = |name: &str| document.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            collection: text("collection")?,
            id: text("id")?,
            document: document.get("document")?.clone(),
            line: text("line"),
            position: document.get("position").and_then(Value::as_u64),
        })
    }
}

/// Dumps all documents of all collections, sorted by id, lines first. Each is also looked up by its id.
///
/// # Errors
/// Those of the store, and differences between iteration and look-up.
pub fn dump(path: &Path) -> std::result::Result<Vec<DumpedDocument>, String> {
    let store = Store::open(path).map_err(|error| error.to_string())?;
    let mut all = Vec::new();
    for name in store.names().map_err(|error| error.to_string())? {
        let mut documents = collection(&store, &name)?;
        documents.sort_by(|a, b| (a.line.is_none(), &a.id).cmp(&(b.line.is_none(), &b.id)));
        all.append(&mut documents);
    }
    Ok(all)
}

fn collection(store: &Store, name: &str) -> std::result::Result<Vec<DumpedDocument>, String> {
    let failed = |error: zdx::Error| error.to_string();
    let collection = store.collection(name).map_err(failed)?;
    let mut all: Vec<DumpedDocument> = Vec::new();
    let mut files = 0;
    for document in collection.documents().map_err(failed)? {
        let mut document = DumpedDocument::of(name, &document.map_err(failed)?).map_err(failed)?;
        if document.line.is_none() {
            document.position = Some(files);
            files += 1;
        }
        all.push(document);
    }
    for document in &all {
        let again = collection.get(&document.id).map_err(failed)?;
        let again = again.ok_or_else(|| format!("{name}: {} not found by id", document.id))?;
        let again = DumpedDocument::of(name, &again).map_err(failed)?;
        if (&again.document, &again.line) != (&document.document, &document.line) {
            return Err(format!("{name}: {} differs when looked up by id", document.id));
        }
    }
    let len = collection.len().map_err(failed)?;
    if len != all.len() as u64 {
        return Err(format!("{name}: length {len}, but {} documents iterated", all.len()));
    }
    Ok(all)
}
