//! How well and how fast blocks are compressed, column by column, by one thread.
//!
//! ```text
//! cargo bench -p idv --bench deflate -- FILE [--levels 1,6] [--flate2 1,6] [--column NAME] [--repeat N]
//! ```
//!
//! Every block of the file is inflated, if it is compressed, then compressed at each level, by the encoder of this crate and by
//! flate2 with the backend it was built with. Beside it stands what the blocks take in the file. Without arguments a small file of
//! the tests is compressed once.

// Measurements may panic: whoever runs them reads the message.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a benchmark that fails is to stop")]

#[path = "../src/adler.rs"]
mod adler;
#[allow(
    dead_code,
    unused_imports,
    clippy::cast_possible_truncation,
    reason = "its tests are built here, too, but not run"
)]
#[path = "../src/deflate/mod.rs"]
mod deflate;

/// What the encoder and its tests use of the crate.
mod wire {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Compression {
        #[expect(dead_code, reason = "nothing to measure")]
        None,
        Deflate,
        Zlib,
    }
}

/// The same with flate2.
mod inflate {
    use super::wire::Compression;

    #[derive(Default)]
    pub(crate) struct Inflater(());

    impl Inflater {
        pub(crate) fn inflate(
            &mut self,
            compression: Compression,
            packed: &[u8],
            out: &mut [u8],
        ) -> Result<(), String> {
            let mut state = flate2::Decompress::new(compression == Compression::Zlib);
            let status = state.decompress(packed, out, flate2::FlushDecompress::Finish).map_err(|e| e.to_string())?;
            match status == flate2::Status::StreamEnd && state.total_out() == out.len() as u64 {
                true => Ok(()),
                false => Err(format!("{status:?} after {} bytes", state.total_out())),
            }
        }
    }
}

use std::time::Instant;

use flate2::{Compress, FlushCompress, Status};
use idv::Reader;

use self::deflate::Deflater;
use self::inflate::Inflater;
use self::wire::Compression;

fn main() {
    // Cargo adds this word.
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let mut file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/idv/scalar-mixed-none.idv").to_owned();
    let (mut levels, mut flate2_levels, mut repeat) = (vec![1, 6], vec![1, 6], 1);
    let mut only: Option<String> = None;
    let list = |text: String| text.split(',').filter(|t| !t.is_empty()).map(|level| level.parse().unwrap()).collect();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--levels" => levels = list(words.next().unwrap()),
            "--flate2" => flate2_levels = list(words.next().unwrap()),
            "--column" => only = words.next(),
            "--repeat" => repeat = words.next().unwrap().parse().unwrap(),
            _ if word.starts_with('-') => panic!("{word} is no option"),
            _ => file = word,
        }
    }
    let reader = mapped(&file);
    println!("{:24} {:>9} {:>12} {:>12} {:>8} {:>8}", "column", "by", "raw", "packed", "ratio", "GB/s");
    for column in reader.columns().iter().filter(|column| only.as_ref().is_none_or(|name| name == column.name())) {
        let blocks: Vec<_> =
            (0..column.block_count()).map(|b| reader.block_bytes(column.index(), b).unwrap()).collect();
        let raw: usize = blocks.iter().map(|block| block.len()).sum();
        let report = |by: &str, packed: usize, seconds: f64| {
            let (ratio, speed) = (packed as f64 / raw as f64, raw as f64 / seconds / 1e9);
            println!("{:24} {by:>9} {raw:>12} {packed:>12} {ratio:>8.4} {speed:>8.3}", column.unique_name());
        };
        for &level in &levels {
            let (mut deflater, mut out) = (Deflater::default(), Vec::new());
            let mut best = f64::MAX;
            let mut packed = 0;
            for _ in 0..repeat {
                packed = 0;
                let begin = Instant::now();
                for block in &blocks {
                    out.clear();
                    deflater.deflate(Compression::Deflate, level, block, &mut out);
                    packed += out.len();
                }
                best = best.min(begin.elapsed().as_secs_f64());
            }
            report(&format!("own {level}"), packed, best);
            for block in &blocks {
                out.clear();
                deflater.deflate(Compression::Deflate, level, block, &mut out);
                let mut back = vec![0; block.len()];
                Inflater::default().inflate(Compression::Deflate, &out, &mut back).unwrap();
                assert!(back == block[..], "the block comes back");
            }
        }
        for &level in &flate2_levels {
            let (mut state, mut out) = (Compress::new(flate2::Compression::new(level.into()), false), Vec::new());
            let mut packed = 0;
            let begin = Instant::now();
            for block in &blocks {
                state.reset();
                out.clear();
                out.reserve(block.len() + block.len() / 8 + 100);
                let status = state.compress_vec(block, &mut out, FlushCompress::Finish).unwrap();
                assert_eq!(status, Status::StreamEnd);
                packed += out.len();
            }
            report(&format!("flate2 {level}"), packed, begin.elapsed().as_secs_f64());
        }
    }
}

/// A file as the command opens it.
fn mapped(path: impl AsRef<std::path::Path>) -> Reader {
    Reader::open_with(path, idv::OpenOptions::default().with_access(container_core::testkit::mapped())).unwrap()
}
