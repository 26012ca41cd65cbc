//! Measures ratio and single-threaded speed of compressing and inflating the blocks of a file: this crate, zlib-rs, miniz_oxide, zune-inflate (all
//! in Rust), and libdeflate (C).
//!
//! ```text
//! cargo bench -p idv --bench deflate -- [FILE] [--levels 1,6] [--column NAME] [--repeat N] [--most MIB]
//! ```
//!
//! Inflates every compressed block, compresses all blocks at each level, and inflates zlib-rs's level 6 output with each library; reports
//! medians. Checks that everything round-trips. Without a file, runs once on a small test file.

// A benchmark may panic.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a benchmark that fails is to stop")]

use std::time::Instant;

use deflate_lanes::{Deflater, Format, Inflater};

/// Compresses a block into an empty vector.
type Compress = Box<dyn FnMut(&[u8], &mut Vec<u8>)>;

/// Inflates a block into all of a slice.
type Inflate = Box<dyn FnMut(&[u8], &mut [u8])>;

fn compressors(level: u8) -> Vec<(&'static str, Compress)> {
    let mut own = Deflater::default();
    let mut zlib_rs = zlib_rs::Deflate::new(level.into(), false, 15);
    let mut libdeflate = libdeflater::Compressor::new(libdeflater::CompressionLvl::new(level.into()).unwrap());
    vec![
        ("own", Box::new(move |block, out| own.deflate(Format::Raw, level, block, out))),
        (
            "zlib-rs",
            Box::new(move |block, out| {
                zlib_rs.reset();
                out.resize(block.len() + block.len() / 8 + 100, 0);
                let status = zlib_rs.compress(block, out, zlib_rs::DeflateFlush::Finish).unwrap();
                assert!(status == zlib_rs::Status::StreamEnd);
                out.truncate(usize::try_from(zlib_rs.total_out()).unwrap());
            }),
        ),
        ("miniz_oxide", Box::new(move |block, out| *out = miniz_oxide::deflate::compress_to_vec(block, level))),
        (
            "libdeflate",
            Box::new(move |block, out| {
                out.resize(libdeflate.deflate_compress_bound(block.len()), 0);
                let len = libdeflate.deflate_compress(block, out).unwrap();
                out.truncate(len);
            }),
        ),
    ]
}

fn inflaters() -> Vec<(&'static str, Inflate)> {
    let mut own = Inflater::default();
    let mut zlib_rs = zlib_rs::Inflate::new(false, 15);
    let mut libdeflate = libdeflater::Decompressor::new();
    vec![
        ("own", Box::new(move |packed, out| own.inflate(Format::Raw, packed, out).unwrap())),
        (
            "zlib-rs",
            Box::new(move |packed, out| {
                zlib_rs.reset(false);
                zlib_rs.decompress(packed, out, zlib_rs::InflateFlush::Finish).unwrap();
            }),
        ),
        (
            "miniz_oxide",
            Box::new(|packed, out| {
                let packed = std::iter::once(packed);
                miniz_oxide::inflate::decompress_slice_iter_to_slice(out, packed, false, false).unwrap();
            }),
        ),
        (
            "zune-inflate",
            Box::new(|packed, out| {
                let options = zune_inflate::DeflateOptions::default().set_size_hint(out.len()).set_limit(1 << 30);
                let made = zune_inflate::DeflateDecoder::new_with_options(packed, options).decode_deflate().unwrap();
                out.copy_from_slice(&made);
            }),
        ),
        (
            "libdeflate",
            Box::new(move |packed, out| {
                libdeflate.deflate_decompress(packed, out).unwrap();
            }),
        ),
    ]
}

fn main() {
    // Cargo adds this word.
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let mut file = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/scalar-mixed-none.idv").to_owned();
    let (mut levels, mut repeat, mut most) = (vec![1, 6], 1, 64);
    let mut only: Option<String> = None;
    while let Some(word) = words.next() {
        match word.as_str() {
            "--levels" => levels = words.next().unwrap().split(',').map(|level| level.parse().unwrap()).collect(),
            "--column" => only = words.next(),
            "--repeat" => repeat = words.next().unwrap().parse().unwrap(),
            "--most" => most = words.next().unwrap().parse().unwrap(),
            _ if word.starts_with('-') => panic!("{word} is no option"),
            _ => file = word,
        }
    }
    let reader = mapped(&file);
    let (mut blocks, mut raw): (Vec<Vec<u8>>, usize) = (Vec::new(), 0);
    for column in reader.columns().iter().filter(|column| only.as_ref().is_none_or(|name| name == column.name())) {
        for block in 0..column.block_count() {
            if raw < most << 20 {
                blocks.push(reader.block_bytes(column.index(), block).unwrap().to_vec());
                raw += blocks[blocks.len() - 1].len();
            }
        }
    }
    println!("{file}: {} blocks, {raw} bytes", blocks.len());
    let show = |what: &str, packed: usize, seconds: f64| {
        println!("{what:24} {:>8.4} of the bytes {:>8.0} MB/s", packed as f64 / raw as f64, raw as f64 / seconds / 1e6);
    };
    let largest = blocks.iter().map(Vec::len).max().unwrap_or(0);
    let (mut back, mut judge) = (vec![0; largest], Inflater::default());
    for &level in &levels {
        for (name, mut compress) in compressors(level) {
            let mut packed: Vec<Vec<u8>> = vec![Vec::new(); blocks.len()];
            let seconds = median(repeat, || {
                for (block, out) in blocks.iter().zip(&mut packed) {
                    out.clear();
                    compress(block, out);
                }
            });
            show(&format!("level {level}, {name}"), packed.iter().map(Vec::len).sum(), seconds);
            for (block, packed) in blocks.iter().zip(&packed) {
                judge.inflate(Format::Raw, packed, &mut back[..block.len()]).unwrap();
                assert!(back[..block.len()] == block[..], "{name} makes other bytes");
            }
        }
    }
    let mut compress = compressors(6).remove(1).1;
    let packed: Vec<Vec<u8>> = blocks
        .iter()
        .map(|block| {
            let mut out = Vec::new();
            compress(block, &mut out);
            out
        })
        .collect();
    for (name, mut inflate) in inflaters() {
        let seconds = median(repeat, || {
            for (block, packed) in blocks.iter().zip(&packed) {
                inflate(packed, &mut back[..block.len()]);
            }
        });
        show(&format!("inflating, {name}"), packed.iter().map(Vec::len).sum(), seconds);
        for (block, packed) in blocks.iter().zip(&packed) {
            inflate(packed, &mut back[..block.len()]);
            assert!(back[..block.len()] == block[..], "{name} makes other bytes");
        }
    }
}

/// Median seconds of each closure.
fn median(repeat: usize, mut work: impl FnMut()) -> f64 {
    let mut seconds: Vec<f64> = (0..repeat.max(1))
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

/// Opens a file like the command does.
fn mapped(path: impl AsRef<std::path::Path>) -> idv::Reader {
    idv::Reader::open_with(path, idv::OpenOptions::default().with_access(container_core::testkit::mapped())).unwrap()
}
