//! A dump of what `zdx` reads in a store, in the format of the driver in `tests/reference/zippy`.

use std::path::Path;

use serde_json::{Map, Value, json};
use zdx::{Document, Result, Store};

/// A document of a dump.
#[derive(Debug, Clone, PartialEq)]
pub struct DumpEntry {
    /// The collection's name.
    pub collection: String,
    /// The document's ID.
    pub id: String,
    /// The document as the reference's `get` returns it: without `_id` if it is a line.
    pub document: Value,
    /// The line without its line feed; `None` if the document is a separate file.
    pub line: Option<String>,
    /// The index of a separate file among those files, counted from 0.
    pub position: Option<u64>,
}

impl DumpEntry {
    fn of(collection: &str, document: &Document<'_>) -> Result<Self> {
        let line = document.offset().map(|_| String::from_utf8_lossy(document.bytes()).into_owned());
        let mut value: Value = document.decode()?;
        if let (Value::Object(members), Some(_)) = (&mut value, &line) {
            members.remove("_id");
        }
        let (collection, id) = (collection.to_owned(), document.id().to_owned());
        Ok(Self { collection, id, document: value, line, position: None })
    }

    /// The line of a dump.
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

    /// Parses a line of a dump.
    #[must_use]
    pub fn from_json(line: &Value) -> Option<Self> {
        let text = |name: &str| line.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            collection: text("collection")?,
            id: text("id")?,
            document: line.get("document")?.clone(),
            line: text("line"),
            position: line.get("position").and_then(Value::as_u64),
        })
    }
}

/// Every document of every collection in dump order, by iteration. Each is also looked up by its ID.
///
/// # Errors
/// Those of the store, or a description of a difference between iteration and look-up.
pub fn dump(path: &Path) -> std::result::Result<Vec<DumpEntry>, String> {
    let store = Store::open(path).map_err(|error| error.to_string())?;
    let mut all = Vec::new();
    for name in store.names().map_err(|error| error.to_string())? {
        let mut entries = collection(&store, &name)?;
        entries.sort_by(|a, b| (a.line.is_none(), &a.id).cmp(&(b.line.is_none(), &b.id)));
        all.append(&mut entries);
    }
    Ok(all)
}

fn collection(store: &Store, name: &str) -> std::result::Result<Vec<DumpEntry>, String> {
    let failed = |error: zdx::Error| error.to_string();
    let collection = store.collection(name).map_err(failed)?;
    let mut all: Vec<DumpEntry> = Vec::new();
    let mut files = 0;
    for document in collection.documents().map_err(failed)? {
        let mut entry = DumpEntry::of(name, &document.map_err(failed)?).map_err(failed)?;
        if entry.line.is_none() {
            entry.position = Some(files);
            files += 1;
        }
        all.push(entry);
    }
    for entry in &all {
        let document = collection.get(&entry.id).map_err(failed)?;
        let document = document.ok_or_else(|| format!("{name}: ID {} not found", entry.id))?;
        let by_id = DumpEntry::of(name, &document).map_err(failed)?;
        if (&by_id.document, &by_id.line) != (&entry.document, &entry.line) {
            return Err(format!("{name}: look-up of ID {} returns another document", entry.id));
        }
    }
    let len = collection.len().map_err(failed)?;
    if len != all.len() as u64 {
        return Err(format!("{name}: {len} documents, but iteration returns {}", all.len()));
    }
    Ok(all)
}
