//! Runs operations one by one, so that a caller can act between them.

use serde_json::{Value, json};
use zippy_data::{FastStore, ZDSRoot};

use crate::{InputDocument, Outcome, input, message, outcome, print_line};

/// Holds the write lock until standard input ends.
pub(crate) fn lock(root: &str) -> Outcome<()> {
    let root = ZDSRoot::open_rw(root, 1).map_err(message)?;
    print_line(&json!("locked"))?;
    for line in input() {
        line?;
    }
    drop(root);
    Ok(())
}

/// Runs the operation of each line and answers with a line: `put LINE`, `raw LINE`, `delete ID`, `get ID`, `ids`, `flush`, `compact`; `hang`
/// waits, with unwritten data, until the process is killed.
pub(crate) fn run(root: &str, collection: &str, batch: usize) -> Outcome<()> {
    let root = ZDSRoot::open_rw(root, batch).map_err(message)?;
    let mut store = root.collection(collection).map_err(message)?;
    for line in input() {
        let line = line?;
        let word = line.split(|byte| *byte == b' ').next().unwrap_or_default();
        let rest = line.get(word.len() + 1..).unwrap_or_default();
        let done = match word {
            b"put" => InputDocument::parse(rest)
                .and_then(|document| store.put(document.id.clone(), document.value()?).map_err(message)),
            b"raw" => InputDocument::parse(rest)
                .and_then(|document| store.put_raw_line(document.id, &document.line).map_err(message)),
            b"delete" => store.delete(&String::from_utf8_lossy(rest)).map_err(message),
            b"flush" => store.flush().map_err(message),
            b"compact" => store.compact().map_err(message),
            b"hang" => hang(),
            b"get" | b"ids" => {
                answer(&store, word, &String::from_utf8_lossy(rest))?;
                continue;
            }
            _ => Err(format!("unknown operation \"{}\"", String::from_utf8_lossy(word))),
        };
        match done {
            Ok(()) => print_line(&json!({"done": store.len()}))?,
            Err(error) => print_line(&json!({"error": error}))?,
        }
    }
    Ok(())
}

fn answer(store: &FastStore, word: &[u8], id: &str) -> Outcome<()> {
    if word == b"get" {
        return print_line(&Value::Object(outcome("document", store.get(id))));
    }
    let mut ids = store.doc_ids();
    ids.sort();
    print_line(&json!({"ids": ids}))
}

fn hang() -> ! {
    // The process that kills this one waits for the line.
    let _ = print_line(&json!("hanging"));
    loop {
        std::thread::park();
    }
}
