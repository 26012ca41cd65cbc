//! Sizes, files and hashes of the reference, recorded in `tests/golden/simplebloom`.
#![allow(clippy::cast_precision_loss, reason = "the numbers are small")]

use std::fs;
use std::path::PathBuf;

use simplebloom::digest::{Digest, Salt, digest, digest_many};
use simplebloom::{BloomFilter, ErrorKind, Shape};

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/simplebloom").join(name)
}

/// The lines of a file, split into words.
fn lines(name: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(golden(name)).unwrap();
    text.lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
}

fn double(hex: &str) -> f64 {
    f64::from_bits(u64::from_str_radix(hex, 16).unwrap())
}

fn hex([a, b]: Digest) -> String {
    format!("{a:016x}{b:016x}")
}

/// The keys of the recording script.
fn key(family: u64, i: u64) -> String {
    match family {
        0 => format!("key-{i}"),
        1 => format!("{:016x}", i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).repeat(4),
        2 => "ключ 鍵 🔑 ".repeat((i % 9).try_into().unwrap()) + &i.to_string(),
        _ => "x".repeat((i % 200).try_into().unwrap()),
    }
}

#[test]
fn derives_sizes_of_the_reference() {
    let lines = lines("shapes.txt");
    assert_eq!(lines.len(), 3602);
    for line in &lines {
        let (elements, probability) = (line[0].parse().unwrap(), double(&line[1]));
        let shape = Shape::new(elements, probability).unwrap();
        assert_eq!([shape.bits().to_string(), shape.hashes().to_string()], line[2..], "{elements} {probability:e}");
        assert_eq!(shape.file_bytes(), 32 + shape.bits() / 8);
    }
    // The first ones have the default probability.
    for line in &lines[..298] {
        let elements = line[0].parse().unwrap();
        let default = Shape::with_default_probability(elements).unwrap();
        assert_eq!(default, Shape::new(elements, double(&line[1])).unwrap());
    }
}

#[test]
fn writes_filters_of_the_reference() {
    let lines = lines("filters.txt");
    assert_eq!(lines.len(), 296);
    let mut tested_no_hashes = false;
    for line in lines {
        let (elements, probability) = (line[0].parse().unwrap(), double(&line[1]));
        let (family, count): (u64, u64) = (line[2].parse().unwrap(), line[3].parse().unwrap());
        let keys: Vec<String> = (0..count).map(|i| key(family, i)).collect();
        let mut filter = BloomFilter::with_probability(elements, probability).unwrap();
        tested_no_hashes |= filter.shape().hashes() == 0;
        filter.insert_many(&keys);
        assert_eq!(hex(digest(filter.as_bytes(), Salt::NONE)), line[4], "{line:?}");
        assert!(filter.contains_all(&keys));

        let mut one_by_one = BloomFilter::with_probability(elements, probability).unwrap();
        keys.iter().for_each(|key| one_by_one.insert(key));
        assert!(one_by_one == filter, "{line:?}");

        #[cfg(feature = "parallel")]
        for threads in [0, 1, 2, 3] {
            let mut parallel = BloomFilter::with_probability(elements, probability).unwrap();
            parallel.par_insert_many(&keys, threads);
            assert!(parallel == filter, "{line:?}");
        }
    }
    assert!(tested_no_hashes);
}

#[test]
fn reads_files_of_the_reference() {
    let open = |name: &str| BloomFilter::from_bytes(fs::read(golden(name)).unwrap()).unwrap();
    let five = open("five.filter");
    assert_eq!((five.shape().elements(), five.shape().probability(), five.shape().bits()), (5, 0.2, 24));
    assert_eq!(five.as_bytes()[32..], [0xE2, 0x53, 0x1D]);
    assert!(five.contains_all(&["k0", "k1", "k2", "k3", "k4"]));
    assert!(!five.contains("k5") || !five.contains("k6") || !five.contains("k7"));

    let empty = open("empty.filter");
    assert_eq!((empty.fill_ratio(), empty.estimated_len()), (0.0, 0.0));
    assert!(!empty.contains("") && !empty.contains("k0"));
    assert!(empty == BloomFilter::with_probability(100, 0.01).unwrap());

    let unicode = open("unicode.filter");
    assert!((0..50).all(|i| unicode.contains(&key(2, i))));
    assert!((unicode.estimated_len() - 50.0).abs() < 5.0, "{}", unicode.estimated_len());

    let all = open("all.filter");
    assert_eq!(all.shape().hashes(), 0);
    assert!(all.contains("anything") && all.contains_all(&["", "x"]));
    assert!(all.fill_ratio() == 0.0 && all.estimated_len().is_nan());
}

#[test]
fn digests_equal_those_of_hashlib() {
    let lines = lines("digests.txt");
    assert_eq!(lines.len(), 447);
    let mut by_salt: Vec<(Salt, Vec<Vec<u8>>, Vec<String>)> = Vec::new();
    for line in lines {
        let length: usize = line[0].parse().unwrap();
        let key: Vec<u8> = (0..length).map(|i| u8::try_from((i * 31 + length) % 251).unwrap()).collect();
        let salt = match line[1].as_str() {
            "-" => Salt::NONE,
            hex => Salt::from(u64::from_str_radix(hex, 16).unwrap().to_be_bytes()),
        };
        assert_eq!(hex(digest(&key, salt)), line[2], "{line:?}");
        match by_salt.last_mut().filter(|(last, ..)| *last == salt) {
            Some((_, keys, expected)) => {
                keys.push(key);
                expected.push(line[2].clone());
            }
            None => by_salt.push((salt, vec![key], vec![line[2].clone()])),
        }
    }
    assert_eq!(by_salt.len(), 3);
    for (salt, keys, expected) in by_salt {
        let mut digests = vec![[0; 2]; keys.len()];
        digest_many(&keys, salt, &mut digests).unwrap();
        assert_eq!(digests.into_iter().map(hex).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn rejects_large_filter_before_allocating() {
    let error = BloomFilter::new(1 << 40).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Limit { limit: 0x4000_0000, .. }), "{error}");
    assert_eq!(
        error.to_string(),
        "simplebloom: length of the filter in bytes 7931299863993 exceeds the limit 1073741824"
    );
    let limits = simplebloom::Limits::default().with_block_bytes(u64::MAX);
    let shape = Shape::new(1 << 52, 0.5).unwrap();
    let error = BloomFilter::with_limits(shape, &limits).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
}
