//! The mode in which each document is a file.

use serde_json::{Value, json};
use zippy_data::{BufferedWriter, Engine, WriteConfig};

use crate::{Arguments, InputDocument, Outcome, input, message, outcome, print_line};

pub(crate) fn write(root: &str, collection: &str, batch: usize) -> Outcome<()> {
    // No timed flush: the same input gives the same store.
    let config = WriteConfig { max_pending_ops: batch, flush_interval_ms: u64::MAX, ..WriteConfig::default() };
    let mut writer = BufferedWriter::new(root, collection, config).map_err(message)?;
    let mut count = 0_u64;
    for line in input() {
        let line = line?;
        if line.first() != Some(&b'{') && !line.contains(&b'\t') {
            writer.delete(String::from_utf8_lossy(&line)).map_err(message)?;
        } else {
            let document = InputDocument::parse(&line)?;
            let value = serde_json::from_slice(&document.line).map_err(|error| format!("{}: {error}", document.id))?;
            writer.put(document.id, value).map_err(message)?;
        }
        count += 1;
    }
    writer.flush().map_err(message)?;
    print_line(&json!({"written": count, "documents": writer.len()}))
}

/// Dumps every document that is a file, sorted by ID; its position is the index in the reference's order.
pub(crate) fn dump(root: &str, collection: &str) -> Outcome<()> {
    let engine = Engine::open(root, collection).map_err(message)?;
    let mut ids: Vec<_> = engine.doc_ids().iter().enumerate().collect();
    ids.sort_by_key(|(_, id)| id.as_str());
    for (position, id) in ids {
        let mut members = outcome("document", engine.get_document(id));
        members.insert("collection".to_owned(), json!(collection));
        members.insert("id".to_owned(), json!(id));
        members.insert("mode".to_owned(), json!("docs"));
        members.insert("position".to_owned(), json!(position));
        print_line(&Value::Object(members))?;
    }
    Ok(())
}

pub(crate) fn scan(root: &str, collection: &str, arguments: &Arguments) -> Outcome<()> {
    let engine = Engine::open(root, collection).map_err(message)?;
    let fields = arguments.fields.as_ref().map(|fields| fields.iter().map(String::as_str).collect::<Vec<_>>());
    let mut scanner = engine.scan(arguments.predicate().as_ref(), fields.as_deref()).map_err(message)?;
    while let Some(document) = scanner.next_doc().map_err(message)? {
        print_line(&json!({"document": document}))?;
    }
    Ok(())
}
