//! Prints all documents of a collection, or one by id: `cargo run --example zds_read -- STORE COLLECTION [ID]`.

use zdx::Store;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let iris = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/iris");
    let (store, name, id) = match arguments.as_slice() {
        [] => (iris, "test", None),
        [store, name, id @ ..] => (store.as_str(), name.as_str(), id.first()),
        [_] => return Err("STORE COLLECTION [ID]".into()),
    };
    let collection = Store::open(store)?.collection(name)?;
    match id {
        Some(id) => {
            let document = collection.get(id)?.ok_or("no such document")?;
            println!("{}", String::from_utf8_lossy(document.bytes()));
        }
        None => {
            for document in collection.documents()? {
                println!("{}", String::from_utf8_lossy(document?.bytes()));
            }
        }
    }
    Ok(())
}
