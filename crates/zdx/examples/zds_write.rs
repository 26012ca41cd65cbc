//! Puts JSON lines from standard input into a collection: `cargo run --example zds_write -- STORE COLLECTION < documents.jsonl`.

use zdx::{StoreWriter, WriterOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [store, name] = arguments.as_slice() else { return Err("STORE COLLECTION".into()) };
    let root = StoreWriter::open(store, WriterOptions::default())?;
    let mut collection = root.collection(name)?;
    for line in std::io::stdin().lines() {
        collection.put_line(line?.as_bytes())?; // needs an "_id"; replaces an existing document
    }
    println!("{} documents", collection.len());
    collection.finish()?;
    root.finish()?;
    Ok(())
}
