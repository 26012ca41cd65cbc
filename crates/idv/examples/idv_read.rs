//! Prints the first rows of an IDV file as JSON: `cargo run --example idv_read -- FILE`.

use idv::{Reader, Scan};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1);
    let reader =
        Reader::open(file.as_deref().unwrap_or(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/real-adult.idv")))?;
    for column in reader.columns() {
        match column.kind() {
            Ok(kind) => println!("{}: {kind}", column.name()),
            Err(why) => println!("{}: {why}", column.name()),
        }
    }
    let mut rows = reader.rows(&Scan::default().with_rows(0..5))?;
    while let Some(row) = rows.try_next()? {
        let mut line = Vec::new();
        row.json(&mut line)?;
        println!("{}", String::from_utf8_lossy(&line));
    }
    Ok(())
}
