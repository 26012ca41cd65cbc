//! Prints the keys of a dataset, or the sample of a key as JSON: `cargo run --example datadings_read -- FILE [KEY]`.

use datadings::Reader;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let iris = || concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/real-iris.msgpack").to_owned();
    let reader = Reader::open(arguments.next().unwrap_or_else(iris))?;
    match arguments.next() {
        Some(key) => {
            let sample = reader.get_key(&key)?.ok_or("no such key")?;
            println!("{}", sample.decode::<serde_json::Value>()?);
        }
        None => {
            println!("{} samples", reader.len());
            for sample in &reader {
                println!("{}", sample?.key()?);
            }
        }
    }
    Ok(())
}
