//! Packs a store into an archive and lists its collections: `cargo run --example pack -- STORE ARCHIVE.zds`.

use zdx::Store;
use zdx::archive::PackOptions;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [store, archive] = arguments.as_slice() else { return Err("STORE ARCHIVE.zds".into()) };
    Store::open(store)?.pack(archive, PackOptions::default())?;
    for name in Store::open(archive)?.names()? {
        println!("{name}");
    }
    Ok(())
}
