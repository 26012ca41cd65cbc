//! Operations one by one, so that others can do something between them.

use serde_json::{Value, json};
use zippy_data::{FastStore, ZDSRoot};

use crate::{Given, Outcome, input, outcome, said, tell};

/// Holds the write lock until standard input ends.
pub(crate) fn lock(root: &str) -> Outcome<()> {
    let held = ZDSRoot::open_rw(root, 1).map_err(said)?;
    tell(&json!("locked"))?;
    for line in input() {
        line?;
    }
    drop(held);
    Ok(())
}

/// Each line is an operation and is answered by a line when it is done: `put LINE`, `raw LINE`, `delete ID`, `get ID`, `ids`, `flush`,
/// `compact`; `hang` waits, with all that is not written yet, until somebody kills the process.
pub(crate) fn run(root: &str, collection: &str, batch: usize) -> Outcome<()> {
    let root = ZDSRoot::open_rw(root, batch).map_err(said)?;
    let mut store = root.collection(collection).map_err(said)?;
    for line in input() {
        let line = line?;
        let word = line.split(|byte| *byte == b' ').next().unwrap_or_default();
        let rest = line.get(word.len() + 1..).unwrap_or_default();
        let done = match word {
            b"put" => Given::parse(rest).and_then(|given| store.put(given.id.clone(), given.value()?).map_err(said)),
            b"raw" => Given::parse(rest).and_then(|given| store.put_raw_line(given.id, &given.line).map_err(said)),
            b"delete" => store.delete(&String::from_utf8_lossy(rest)).map_err(said),
            b"flush" => store.flush().map_err(said),
            b"compact" => store.compact().map_err(said),
            b"hang" => hang(),
            b"get" | b"ids" => {
                answer(&store, word, &String::from_utf8_lossy(rest))?;
                continue;
            }
            _ => Err(format!("no operation \"{}\"", String::from_utf8_lossy(word))),
        };
        match done {
            Ok(()) => tell(&json!({"done": store.len()}))?,
            Err(error) => tell(&json!({"error": error}))?,
        }
    }
    Ok(())
}

fn answer(store: &FastStore, word: &[u8], id: &str) -> Outcome<()> {
    if word == b"get" {
        return tell(&Value::Object(outcome("document", store.get(id))));
    }
    let mut ids = store.doc_ids();
    ids.sort();
    tell(&json!({"ids": ids}))
}

fn hang() -> ! {
    // That it hangs is told: whoever kills it waits for this.
    let _told = tell(&json!("hanging"));
    loop {
        std::thread::park();
    }
}
