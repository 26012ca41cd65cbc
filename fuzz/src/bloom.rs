//! Bloom filters from arbitrary bytes.

use container_core::ErrorKind;
use simplebloom::BloomFilter;
use simplebloom::digest::{Salt, digest, digest_many};

/// The bytes are the file. A filter that opens is queried and filled, and compared with the definition bit by bit.
pub fn simplebloom_filter(data: &[u8]) {
    let filter = match BloomFilter::from_bytes(data) {
        Ok(filter) => filter,
        Err(error) => {
            assert!(!error.to_string().is_empty() && error.kind() != ErrorKind::Usage);
            assert!(error.position().byte.is_some_and(|byte| byte <= data.len() as u64));
            return;
        }
    };
    let shape = filter.shape();
    assert_eq!(shape.file_bytes(), data.len() as u64);
    assert!(filter.as_bytes() == data && BloomFilter::from_bytes(data.to_vec()).unwrap() == filter);
    let ones: u64 = data[32..].iter().map(|byte| u64::from(byte.count_ones())).sum();
    assert_eq!(filter.fill_ratio(), ones as f64 / shape.bits() as f64);
    let estimated = filter.estimated_len();
    assert!(if shape.hashes() == 0 { estimated.is_nan() } else { estimated >= 0.0 });

    // Keys of many lengths from the file itself, enough for several groups.
    let keys: Vec<&[u8]> = (0..data.len().min(150)).map(|at| &data[at..data.len().min(at + at * 3)]).collect();
    let mut digests = vec![[0; 2]; keys.len()];
    digest_many(&keys, Salt::NONE, &mut digests).unwrap();
    let index = |[h1, h2]: [u64; 2], k: u64| h1.wrapping_add(k.wrapping_mul(h2)) % shape.bits();
    let hashes = u64::from(shape.hashes());
    let expected: Vec<bool> = digests
        .iter()
        .zip(&keys)
        .map(|(found, key)| {
            assert_eq!(*found, digest(key, Salt::NONE));
            (0..hashes).map(|k| index(*found, k)).all(|at| data[32 + (at / 8) as usize] >> (at % 8) & 1 == 1)
        })
        .collect();
    let mut found = vec![false; keys.len()];
    filter.contains_many(&keys, &mut found).unwrap();
    assert_eq!(found, expected);
    assert_eq!(filter.contains_iter(&keys).collect::<Vec<_>>(), expected);
    assert_eq!(filter.contains_all(&keys), expected.iter().all(|found| *found));
    for (key, expected) in keys.iter().zip(expected) {
        assert_eq!(filter.contains_bytes(key), expected);
    }

    let mut bits = data[32..].to_vec();
    for at in digests.iter().flat_map(|digest| (0..hashes).map(|k| index(*digest, k))) {
        bits[(at / 8) as usize] |= 1 << (at % 8);
    }
    let mut fuller = BloomFilter::from_bytes(data.to_vec()).unwrap();
    fuller.insert_many(&keys);
    assert!(fuller.as_bytes()[32..] == bits && fuller.as_bytes()[..32] == data[..32]);
    let mut union = BloomFilter::with_shape(shape).unwrap();
    keys.iter().for_each(|key| union.insert_bytes(key));
    // Also for the size of a writer whose logarithm is off by one unit.
    union.union(&filter).unwrap();
    assert!(union == fuller);
}
