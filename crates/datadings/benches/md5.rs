//! Measures MD5 of one stream on one thread, compared with the crate `md-5`, in GB/s.
//!
//! ```text
//! cargo bench -p datadings --bench md5 -- [--mib N] [--repeat N] [--file PATH]
//! ```
//!
//! With `--file`, hashes that file and prints the sum, for comparison with `md5sum`. Both implementations must agree. The best of the
//! repetitions counts.

// A benchmark may panic: its user reads the message.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a failing benchmark should stop")]

#[allow(dead_code, unused_imports, reason = "its tests are compiled here but not run")]
#[path = "../src/md5/mod.rs"]
mod own;

use std::time::Instant;

use md5::Digest as _;

fn main() {
    // Cargo adds `--bench`.
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let (mut mib, mut repeat, mut file) = (1usize, 3, None);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--mib" => mib = words.next().unwrap().parse().unwrap(),
            "--repeat" => repeat = words.next().unwrap().parse().unwrap(),
            "--file" => file = words.next(),
            _ => panic!("unknown option {word}"),
        }
    }
    let data: Vec<u8> = match &file {
        Some(path) => std::fs::read(path).unwrap(),
        None => (0u32..).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).take(mib << 20).collect(),
    };
    let ours = |bytes: &[u8]| own::Md5::digest(bytes);
    let theirs = |bytes: &[u8]| <[u8; 16]>::from(md5::Md5::digest(bytes));
    assert_eq!(ours(&data), theirs(&data), "both sums of {} bytes", data.len());
    if let Some(path) = file {
        println!("{}  {path}", own::Md5::hex(&ours(&data)));
    }
    // Sizes of typical samples, and all data at once.
    println!("{:>12} {:>10} {:>10} {:>7}", "bytes", "own", "md-5", "ratio");
    for size in [16, 256, 4096, data.len()].into_iter().filter(|&size| size > 0 && size <= data.len()) {
        // Alternate, so that both run under the same conditions.
        let (mut own, mut other) = (f64::MAX, f64::MAX);
        for _ in 0..repeat {
            own = own.min(seconds(&data, size, ours));
            other = other.min(seconds(&data, size, theirs));
        }
        let speed = |seconds: f64| data.len() as f64 / seconds / 1e9;
        println!("{size:>12} {:>10.3} {:>10.3} {:>7.2}", speed(own), speed(other), other / own);
    }
}

/// The time to hash the data in parts of `size` bytes.
fn seconds(data: &[u8], size: usize, sum: impl Fn(&[u8]) -> [u8; 16]) -> f64 {
    let begin = Instant::now();
    for part in data.chunks(size) {
        std::hint::black_box(sum(std::hint::black_box(part)));
    }
    begin.elapsed().as_secs_f64()
}
