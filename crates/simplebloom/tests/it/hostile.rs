//! Invalid files and invalid arguments.
#![allow(clippy::cast_precision_loss, reason = "the numbers are small")]

use container_core::testkit::{every_bit_flip_is_handled, every_prefix_fails};
use simplebloom::{BloomFilter, ErrorKind};

fn file() -> Vec<u8> {
    let mut filter = BloomFilter::new(5).unwrap();
    filter.extend((0..5).map(|i| format!("k{i}")));
    filter.into_inner()
}

fn read(bytes: &[u8]) -> simplebloom::Result<()> {
    let filter = BloomFilter::from_bytes(bytes)?;
    let _ = (filter.contains("k0"), filter.fill_ratio(), filter.estimated_len());
    Ok(())
}

#[test]
fn rejects_every_prefix() {
    every_prefix_fails(&file(), read);
    let mut large = BloomFilter::new(20_000).unwrap();
    large.insert("a");
    every_prefix_fails(large.as_bytes(), read);
}

#[test]
fn survives_every_bit_flip() {
    // Flips of the filter's bits, and of the probability's low bits where they change no size.
    let file = file();
    let readable = every_bit_flip_is_handled(&file, read);
    let header = every_bit_flip_is_handled(&file[..32], |header| read(&[header, &file[32..]].concat()));
    assert_eq!(readable, header + 3 * 8);
    assert_eq!(header, 51);
}

/// The error for the file with some bytes replaced.
fn error_with(at: usize, bytes: &[u8]) -> (String, ErrorKind) {
    let mut file = file();
    file[at..at + bytes.len()].copy_from_slice(bytes);
    let error = BloomFilter::from_bytes(file).unwrap_err();
    (error.to_string(), error.kind())
}

#[test]
fn rejects_invalid_fields() {
    let invalid = |text: &str| (format!("simplebloom: {text}"), ErrorKind::Invalid);
    assert_eq!(error_with(7, b"M"), invalid("magic: expected \"SIMPBLOO\", found \"SIMPBLOM\" (byte 0)"));
    assert_eq!(
        error_with(0, &[0; 8]),
        invalid("magic: expected \"SIMPBLOO\", found \"\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\" (byte 0)")
    );
    for n in [0_u64, 1] {
        let expected = format!("number of elements: expected at least 2, found {n} (byte 16)");
        assert_eq!(error_with(16, &n.to_be_bytes()), invalid(&expected));
    }
    let invalid_probabilities = [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (1.5, "1.5"),
        (-0.2, "-0.2"),
        (f64::NAN, "NaN"),
        (f64::INFINITY, "inf"),
        (f64::NEG_INFINITY, "-inf"),
    ];
    for (p, text) in invalid_probabilities {
        let expected = format!("probability: expected above 0 and below 1, found {text} (byte 24)");
        assert_eq!(error_with(24, &f64::to_be_bytes(p)), invalid(&expected));
    }
    for length in [0, 34, 36, u64::MAX] {
        let expected =
            format!("total length: expected 35 bytes for 5 elements and probability 0.2, found {length} (byte 8)");
        assert_eq!(error_with(8, &u64::to_be_bytes(length)), invalid(&expected));
    }
    assert_eq!(
        error_with(16, &u64::MAX.to_be_bytes()),
        invalid(
            "total length: expected more than 2^60 bytes for 18446744073709551615 elements and probability 0.2, \
             found 35 (byte 8)"
        )
    );
    // A consistent length, but missing bits.
    let mut huge = file();
    huge[8..16].copy_from_slice(&1_797_231_u64.to_be_bytes());
    huge[16..24].copy_from_slice(&1_000_000_u64.to_be_bytes());
    huge[24..32].copy_from_slice(&0.001_f64.to_be_bytes());
    let error = BloomFilter::from_bytes(huge).unwrap_err();
    assert_eq!(error.to_string(), "simplebloom: bits: needs 1797199 bytes, 3 available (byte 32)");
    assert_eq!(error.kind(), ErrorKind::Truncated { needed: 1_797_199, available: 3 });
}

#[test]
fn rejects_trailing_byte() {
    let error = BloomFilter::from_bytes([&file()[..], b"x"].concat()).unwrap_err();
    assert_eq!(error.to_string(), "simplebloom: bits: 1 unexpected trailing byte (byte 35)");
}

#[test]
fn rejects_truncated_header() {
    let error = |length: usize| BloomFilter::from_bytes(&file()[..length]).unwrap_err().to_string();
    assert_eq!(error(0), "simplebloom: magic: needs 8 bytes, 0 available (byte 0)");
    assert_eq!(error(9), "simplebloom: total length: needs 8 bytes, 1 available (byte 8)");
    assert_eq!(error(16), "simplebloom: number of elements: needs 8 bytes, 0 available (byte 16)");
    assert_eq!(error(31), "simplebloom: probability: needs 8 bytes, 7 available (byte 24)");
    assert_eq!(error(33), "simplebloom: bits: needs 3 bytes, 1 available (byte 32)");
}

#[test]
fn rejects_invalid_arguments() {
    let mut filter = BloomFilter::new(5).unwrap();
    let error = filter.contains_many(&["a"], &mut []).unwrap_err();
    assert_eq!(error.to_string(), "simplebloom: results: expected length 1, found 0");
    let error = filter.contains_digests(&[], &mut [true]).unwrap_err();
    assert_eq!(error.to_string(), "simplebloom: results: expected length 0, found 1");
    let before = filter.clone();
    let error = filter.union(&BloomFilter::with_probability(5, 0.21).unwrap()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "simplebloom: cannot merge a filter for 5 elements and probability 0.21 into one for 5 elements and \
         probability 0.2"
    );
    assert!(filter == before && error.kind() == ErrorKind::Usage);
}
