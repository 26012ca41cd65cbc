//! The mode in which each document is a file.

use serde_json::{Value, json};
use zippy_data::{BufferedWriter, Engine, WriteConfig};

use crate::{Arguments, Given, Outcome, input, outcome, said, tell};

pub(crate) fn write(root: &str, collection: &str, batch: usize) -> Outcome<()> {
    // No flush by the clock: the same input makes the same store.
    let config = WriteConfig { max_pending_ops: batch, flush_interval_ms: u64::MAX, ..WriteConfig::default() };
    let mut writer = BufferedWriter::new(root, collection, config).map_err(said)?;
    let mut count = 0_u64;
    for line in input() {
        let line = line?;
        if line.first() != Some(&b'{') && !line.contains(&b'\t') {
            writer.delete(String::from_utf8_lossy(&line)).map_err(said)?;
        } else {
            let given = Given::parse(&line)?;
            let value = serde_json::from_slice(&given.line).map_err(|error| format!("{}: {error}", given.id))?;
            writer.put(given.id, value).map_err(said)?;
        }
        count += 1;
    }
    writer.flush().map_err(said)?;
    tell(&json!({"written": count, "documents": writer.len()}))
}

/// Every document that is a file, sorted by id; its position is its place in the reference's order.
pub(crate) fn dump(root: &str, collection: &str) -> Outcome<()> {
    let engine = Engine::open(root, collection).map_err(said)?;
    let mut ids: Vec<_> = engine.doc_ids().iter().enumerate().collect();
    ids.sort_by_key(|(_, id)| id.as_str());
    for (position, id) in ids {
        let mut members = outcome("document", engine.get_document(id));
        members.insert("collection".to_owned(), json!(collection));
        members.insert("id".to_owned(), json!(id));
        members.insert("mode".to_owned(), json!("docs"));
        members.insert("position".to_owned(), json!(position));
        tell(&Value::Object(members))?;
    }
    Ok(())
}

pub(crate) fn scan(root: &str, collection: &str, arguments: &Arguments) -> Outcome<()> {
    let engine = Engine::open(root, collection).map_err(said)?;
    let fields = arguments.fields.as_ref().map(|fields| fields.iter().map(String::as_str).collect::<Vec<_>>());
    let mut scanner = engine.scan(arguments.predicate().as_ref(), fields.as_deref()).map_err(said)?;
    while let Some(document) = scanner.next_doc().map_err(said)? {
        tell(&json!({"document": document}))?;
    }
    Ok(())
}
