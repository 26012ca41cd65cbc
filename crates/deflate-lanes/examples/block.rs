//! Compresses a column of numbers at several levels and inflates it again: `cargo run --release --example block`.

use std::time::Instant;

use deflate_lanes::{Deflater, Format, Inflater};

fn main() -> Result<(), deflate_lanes::Damaged> {
    let numbers: Vec<u8> =
        (0..1_000_000_u32).flat_map(|at| (f64::from(at).sqrt() * 100.0).round().to_le_bytes()).collect();
    let (mut deflater, mut inflater) = (Deflater::default(), Inflater::default());
    let mut back = vec![0; numbers.len()];
    for level in [1, 6, 9] {
        let (start, mut packed) = (Instant::now(), Vec::new());
        deflater.deflate(Format::Zlib, level, &numbers, &mut packed);
        let deflated = start.elapsed();
        let start = Instant::now();
        inflater.inflate(Format::Zlib, &packed, &mut back)?;
        println!(
            "level {level}: {} of {} bytes, {deflated:?} to deflate, {:?} to inflate",
            packed.len(),
            numbers.len(),
            start.elapsed()
        );
        assert!(back == numbers);
    }
    Ok(())
}
