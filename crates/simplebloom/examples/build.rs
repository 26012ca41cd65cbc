//! Writes a filter of the lines of standard input, which Python's simplebloom can load:
//! `cargo run --example build -- FILE < words`.

use simplebloom::BloomFilter;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("missing argument: FILE")?;
    let words: Vec<String> = std::io::stdin().lines().collect::<Result<_, _>>()?;
    let mut filter = BloomFilter::with_probability(words.len().max(1) as u64, 0.001)?;
    for word in &words {
        filter.insert(word);
    }
    std::fs::write(file, filter.as_bytes())?;
    Ok(())
}
