//! The verbs of `zdx-driver` that write.

use std::io::{BufRead, Write};

use serde_json::{Value, json};
use zdx::{CollectionWriter, Durability, StoreWriter, WriterOptions};

use crate::Outcome;

/// The lines of standard input.
fn input() -> impl Iterator<Item = Result<Vec<u8>, String>> {
    std::io::stdin().lock().split(b'\n').map(|line| line.map_err(|error| format!("standard input: {error}")))
}

/// Prints a line and flushes it, as the caller may be waiting.
fn print_line(value: &Value) -> Outcome {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{value}").and_then(|()| out.flush()).map_err(|error| format!("standard output: {error}"))
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn message(error: zdx::Error) -> String {
    error.to_string()
}

fn open(root: &str, durability: Durability) -> Result<StoreWriter, String> {
    StoreWriter::open(root, WriterOptions::default().with_durability(durability)).map_err(message)
}

/// Holds the write lock until standard input ends.
pub(crate) fn lock(root: &str) -> Outcome {
    let store = open(root, Durability::None)?;
    print_line(&json!("locked"))?;
    input().try_for_each(|line| line.map(drop))?;
    store.finish().map_err(message)
}

/// Adds all documents of standard input.
pub(crate) fn bulk(root: &str, collection: &str) -> Outcome {
    let store = open(root, Durability::None)?;
    let mut writer = store.collection(collection).map_err(message)?;
    for line in input() {
        writer.put_line(&line?).map_err(message)?;
    }
    writer.finish().map_err(message)?;
    store.finish().map_err(message)
}

/// Runs operations one by one, each answered by a line when it is done.
pub(crate) fn script(root: &str, collection: &str, durability: Durability) -> Outcome {
    let store = open(root, durability)?;
    let mut writer = store.collection(collection).map_err(message)?;
    for line in input() {
        let line = line?;
        let word = line.split(|byte| *byte == b' ').next().unwrap_or_default();
        let rest = line.get(word.len() + 1..).unwrap_or_default();
        match operation(&mut writer, word, rest) {
            Ok(()) => print_line(&json!({"done": writer.len()}))?,
            Err(error) => print_line(&json!({"error": error}))?,
        }
    }
    writer.finish().map_err(message)?;
    store.finish().map_err(message)
}

fn operation(writer: &mut CollectionWriter, word: &[u8], rest: &[u8]) -> Outcome {
    let id = || str::from_utf8(rest).map_err(|error| error.to_string());
    match word {
        b"put" => {
            let mut document: Value = serde_json::from_slice(rest).map_err(|error| error.to_string())?;
            let id = document.as_object_mut().and_then(|members| members.remove("_id"));
            let id = id.as_ref().and_then(Value::as_str).ok_or("document without \"_id\"")?;
            writer.put(id, &document).map(drop).map_err(message)
        }
        b"raw" => writer.put_line(rest).map(drop).map_err(message),
        b"delete" => match writer.delete(id()?).map_err(message)? {
            true => Ok(()),
            false => Err(format!("no document {}", id()?)),
        },
        b"flush" => writer.flush().map_err(message),
        b"compact" => writer.compact().map(drop).map_err(message),
        b"hang" => {
            // The process that kills this one waits for the line.
            print_line(&json!("hanging"))?;
            loop {
                std::thread::park();
            }
        }
        _ => Err(format!("unknown operation \"{}\"", String::from_utf8_lossy(word))),
    }
}
