//! Files that are none.
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
fn prefixes_are_refused() {
    every_prefix_fails(&file(), read);
    let mut large = BloomFilter::new(20_000).unwrap();
    large.insert("a");
    every_prefix_fails(large.as_bytes(), read);
}

#[test]
fn flips_are_borne() {
    // Every bit of the bits, and the last of the probability where they change no size.
    let file = file();
    let readable = every_bit_flip_is_handled(&file, read);
    let header = every_bit_flip_is_handled(&file[..32], |header| read(&[header, &file[32..]].concat()));
    assert_eq!(readable, header + 3 * 8);
    assert_eq!(header, 51);
}

/// The file with some bytes replaced, and what is said of it.
fn said(at: usize, bytes: &[u8]) -> (String, ErrorKind) {
    let mut file = file();
    file[at..at + bytes.len()].copy_from_slice(bytes);
    let error = BloomFilter::from_bytes(file).unwrap_err();
    (error.to_string(), error.kind())
}

#[test]
fn every_lie_has_its_error() {
    let invalid = |text: &str| (format!("simplebloom: {text}"), ErrorKind::Invalid);
    assert_eq!(said(7, b"M"), invalid("the file begins with \"SIMPBLOM\" and not \"SIMPBLOO\" (byte 0)"));
    assert_eq!(
        said(0, &[0; 8]),
        invalid("the file begins with \"\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\" and not \"SIMPBLOO\" (byte 0)")
    );
    for n in [0_u64, 1] {
        let expected = format!("the number of elements {n} is below 2 (byte 16)");
        assert_eq!(said(16, &n.to_be_bytes()), invalid(&expected));
    }
    let wrong = [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (1.5, "1.5"),
        (-0.2, "-0.2"),
        (f64::NAN, "NaN"),
        (f64::INFINITY, "inf"),
        (f64::NEG_INFINITY, "-inf"),
    ];
    for (p, text) in wrong {
        let expected = format!("the probability {text} is not above 0 and below 1 (byte 24)");
        assert_eq!(said(24, &f64::to_be_bytes(p)), invalid(&expected));
    }
    for length in [0, 34, 36, u64::MAX] {
        let expected = format!(
            "the total length is {length} bytes where a filter for 5 elements and the probability 0.2 takes 35 (byte 8)"
        );
        assert_eq!(said(8, &u64::to_be_bytes(length)), invalid(&expected));
    }
    assert_eq!(
        said(16, &u64::MAX.to_be_bytes()),
        invalid(
            "the total length is 35 bytes where a filter for 18446744073709551615 elements and the probability 0.2 is \
             larger than any file (byte 8)"
        )
    );
    // A length that is right, and bits that are not there.
    let mut huge = file();
    huge[8..16].copy_from_slice(&1_797_231_u64.to_be_bytes());
    huge[16..24].copy_from_slice(&1_000_000_u64.to_be_bytes());
    huge[24..32].copy_from_slice(&0.001_f64.to_be_bytes());
    let error = BloomFilter::from_bytes(huge).unwrap_err();
    assert_eq!(error.to_string(), "simplebloom: bits: needs 1797199 bytes, 3 available (byte 32)");
    assert_eq!(error.kind(), ErrorKind::Truncated { needed: 1_797_199, available: 3 });
}

#[test]
fn nothing_follows_the_bits() {
    let error = BloomFilter::from_bytes([&file()[..], b"x"].concat()).unwrap_err();
    assert_eq!(error.to_string(), "simplebloom: bits is followed by 1 byte that belongs to nothing (byte 35)");
}

#[test]
fn short_of_a_header() {
    let said = |length: usize| BloomFilter::from_bytes(&file()[..length]).unwrap_err().to_string();
    assert_eq!(said(0), "simplebloom: magic: needs 8 bytes, 0 available (byte 0)");
    assert_eq!(said(9), "simplebloom: total length: needs 8 bytes, 1 available (byte 8)");
    assert_eq!(said(16), "simplebloom: number of elements: needs 8 bytes, 0 available (byte 16)");
    assert_eq!(said(31), "simplebloom: probability: needs 8 bytes, 7 available (byte 24)");
    assert_eq!(said(33), "simplebloom: bits: needs 3 bytes, 1 available (byte 32)");
}

#[test]
fn what_the_caller_did_wrong() {
    let mut filter = BloomFilter::new(5).unwrap();
    let error = filter.contains_many(&["a"], &mut []).unwrap_err();
    assert_eq!(error.to_string(), "simplebloom: there are 1 keys and room for 0 answers");
    let error = filter.contains_digests(&[], &mut [true]).unwrap_err();
    assert_eq!(error.to_string(), "simplebloom: there are 0 digests and room for 1 answers");
    let before = filter.clone();
    let error = filter.union(&BloomFilter::with_probability(5, 0.21).unwrap()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "simplebloom: a filter for 5 elements and the probability 0.21 does not go into one for 5 and 0.2"
    );
    assert!(filter == before && error.kind() == ErrorKind::Usage);
}
