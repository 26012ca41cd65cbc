//! Errors of data that cannot be inflated.

use std::io::Write;

use super::*;

fn deflate(bytes: &[u8], level: u32) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::new(level));
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A literal in the fixed code, then a match of length three at distance two.
fn before_the_first_byte() -> Vec<u8> {
    // 1, 01; "x" is 10101000; length 3 is 0000001; distance 2 is 00001; the end is 0000000. Codes begin with their highest bit.
    let bits = "1 10 10101000 0000001 00001 0000000".replace(' ', "");
    let byte = |bits: &[u8]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | (bit - b'0'));
    bits.as_bytes().chunks(8).map(byte).collect()
}

fn inflate(packed: &[u8], declared: usize) -> Result<Vec<u8>, String> {
    let mut out = vec![0; declared];
    let mut inflater = Inflater::default();
    inflater.inflate(Compression::Deflate, packed, &mut out).map(|()| out).map_err(|error| error.to_string())
}

#[test]
fn rejects_other_than_the_declared_length() {
    for len in [0, 1, 100, 70_000] {
        let bytes: Vec<u8> = (0..len).map(|i: u32| (i.wrapping_mul(i) >> 3) as u8).collect();
        let packed = deflate(&bytes, 9);
        assert_eq!(inflate(&packed, bytes.len()).unwrap(), bytes);
        let more = inflate(&packed, bytes.len() + 1).unwrap_err();
        assert_eq!(more, format!("the block inflates to {len} bytes, declared are {}", len + 1));
        if len > 0 {
            let fewer = inflate(&packed, bytes.len() - 1).unwrap_err();
            assert_eq!(fewer, format!("the block inflates to more than the {} bytes declared", len - 1));
            let cut = inflate(&packed[..packed.len() - 1], bytes.len());
            assert!(cut.is_err(), "a stream without its end");
        }
    }
}

#[test]
fn decoder_is_reusable_after_damage() {
    let packed = deflate(b"hello hello hello", 9);
    let mut inflater = Inflater::default();
    let mut out = [0; 17];
    assert!(inflater.inflate(Compression::Deflate, &[0xFF; 9], &mut out).is_err());
    inflater.inflate(Compression::Deflate, &packed, &mut out).unwrap();
    assert_eq!(&out, b"hello hello hello");
    assert!(inflater.inflate(Compression::Zlib, &packed, &mut out).is_err());
}

#[test]
fn measure_obeys_the_limit() {
    let packed = deflate(&[7; 100_000], 9);
    let mut inflater = Inflater::default();
    assert_eq!(inflater.measure(Compression::Deflate, &packed, 100_000).unwrap(), 100_000);
    let error = inflater.measure(Compression::Deflate, &packed, 99_999).unwrap_err();
    assert!(error.to_string().contains("exceeds the limit 99999"), "{error}");
    let cut = &packed[..packed.len() - 3];
    let error = inflater.measure(Compression::Deflate, cut, 100_000).unwrap_err();
    assert!(error.to_string().starts_with("the compressed data end after"), "{error}");
}

#[test]
fn inflates_a_prefix() {
    let raw: Vec<u8> = (0..100_000u32).flat_map(|i| (i / 3).to_le_bytes()).collect();
    let packed = deflate(&raw, 6);
    let mut inflater = Inflater::default();
    for len in [0, 1, 3, 32_768, 32_769, 70_000, raw.len() - 1, raw.len()] {
        let mut out = vec![1; len];
        inflater.inflate_prefix(Compression::Deflate, &packed, &mut out).unwrap();
        assert!(out == raw[..len], "{len} bytes");
    }
    // What is needed of the stream has to be there, what follows has not.
    let half = &packed[..packed.len() / 2];
    inflater.inflate_prefix(Compression::Deflate, half, &mut [0; 1000]).unwrap();
    let error = inflater.inflate_prefix(Compression::Deflate, half, &mut vec![0; raw.len() - 1]).unwrap_err();
    assert!(error.to_string().starts_with("the compressed data end after"), "{error}");
    let error = inflater.inflate_prefix(Compression::Deflate, &packed, &mut vec![0; raw.len() + 1]).unwrap_err();
    assert!(error.to_string().starts_with("the compressed data end after 400000 of "), "{error}");
    let bad = before_the_first_byte();
    let error = inflater.inflate_prefix(Compression::Deflate, &bad, &mut [0; 3]).unwrap_err();
    assert!(error.to_string().starts_with("corrupt compressed data"), "{error}");
}

#[test]
fn rejects_distances_before_the_first_byte() {
    let error = inflate(&before_the_first_byte(), 4).unwrap_err();
    assert!(error.starts_with("corrupt compressed data"), "{error}");
}
