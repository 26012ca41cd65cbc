//! Properties of any filter.
#![allow(clippy::cast_precision_loss, reason = "the numbers are small")]

use bytes::Bytes;
use proptest::prelude::*;
use simplebloom::digest::{Salt, digest, digest_many};
use simplebloom::{BloomFilter, Shape};

/// Shapes of small filters.
fn shape() -> impl Strategy<Value = Shape> {
    let probability = prop_oneof![0.0001..0.9999_f64, (1_i32..60).prop_map(|e| 10_f64.powi(-e)), Just(0.75)];
    (2_u64..3000, probability).prop_map(|(n, p)| Shape::new(n, p).unwrap())
}

fn keys() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(prop_oneof!["[a-z0-9]{0,70}", ".{0,40}", "[a-z]{120,200}"], 0..120)
}

/// The bits by the definition.
fn naive(shape: Shape, keys: &[String]) -> Vec<u8> {
    let mut bits = vec![0; usize::try_from(shape.bits() / 8).unwrap()];
    for key in keys {
        let [h1, h2] = digest(key.as_bytes(), Salt::NONE);
        for k in 0..u64::from(shape.hashes()) {
            let index = h1.wrapping_add(k.wrapping_mul(h2)) % shape.bits();
            bits[usize::try_from(index / 8).unwrap()] |= 1 << (index % 8);
        }
    }
    bits
}

proptest! {
    #[test]
    fn all_ways_to_insert_agree(shape in shape(), keys in keys()) {
        let mut filter = BloomFilter::with_shape(shape).unwrap();
        filter.insert_many(&keys);
        prop_assert!(filter.as_bytes()[32..] == naive(shape, &keys));

        let mut single = BloomFilter::with_shape(shape).unwrap();
        keys.iter().for_each(|key| single.insert(key));
        prop_assert!(single == filter);

        let mut iterated = BloomFilter::with_shape(shape).unwrap();
        iterated.extend(keys.iter());
        prop_assert!(iterated == filter);

        let mut digests = vec![[0; 2]; keys.len()];
        digest_many(&keys, Salt::NONE, &mut digests).unwrap();
        let mut hashed = BloomFilter::with_shape(shape).unwrap();
        hashed.insert_digests(&digests);
        prop_assert!(hashed == filter);

        // In place, in borrowed bytes.
        let mut file = BloomFilter::with_shape(shape).unwrap().into_inner();
        let mut borrowed = BloomFilter::from_bytes(&mut file[..]).unwrap();
        borrowed.insert_many(&keys);
        prop_assert!(file == filter.as_bytes());
    }

    #[test]
    fn all_ways_to_query_agree(shape in shape(), keys in keys(), others in keys()) {
        let mut filter = BloomFilter::with_shape(shape).unwrap();
        filter.insert_many(&keys);
        prop_assert!(keys.iter().all(|key| filter.contains(key)));
        prop_assert!(filter.contains_all(&keys));

        let queried = [keys, others].concat();
        let expected: Vec<bool> = queried.iter().map(|key| filter.contains(key)).collect();
        let mut results = vec![false; queried.len()];
        filter.contains_many(&queried, &mut results).unwrap();
        prop_assert_eq!(&results, &expected);
        prop_assert_eq!(filter.contains_all(&queried), expected.iter().all(|present| *present));
        prop_assert_eq!(filter.contains_iter(queried.iter()).collect::<Vec<_>>(), &expected[..]);
        let mut digests = vec![[0; 2]; queried.len()];
        digest_many(&queried, Salt::NONE, &mut digests).unwrap();
        let mut results = vec![false; queried.len()];
        filter.contains_digests(&digests, &mut results).unwrap();
        prop_assert_eq!(&results, &expected);

        // A filter over borrowed bytes agrees with its owner.
        let view = BloomFilter::from_bytes(filter.as_bytes()).unwrap();
        let shared = BloomFilter::from_bytes(Bytes::copy_from_slice(filter.as_bytes())).unwrap();
        prop_assert!(view == filter && shared == filter && view.shape() == shape);
        for (key, expected) in queried.iter().zip(expected) {
            prop_assert_eq!((view.contains(key), shared.contains(key)), (expected, expected));
        }
        prop_assert!(BloomFilter::from_bytes(filter.as_bytes().to_vec()).unwrap().into_inner() == filter.as_bytes());
    }

    #[test]
    fn union_equals_inserting_both(shape in shape(), one in keys(), other in keys()) {
        let filled = |keys: &[String]| {
            let mut filter = BloomFilter::with_shape(shape).unwrap();
            filter.insert_many(keys);
            filter
        };
        let mut union = filled(&one);
        union.union(&BloomFilter::from_bytes(filled(&other).as_bytes()).unwrap()).unwrap();
        prop_assert!(union == filled(&[one, other].concat()));
        let ones: u32 = union.as_bytes()[32..].iter().map(|byte| byte.count_ones()).sum();
        prop_assert_eq!(union.fill_ratio(), f64::from(ones) / shape.bits() as f64);
    }
}

fn numbered(from: u64, to: u64) -> Vec<String> {
    (from..to).map(|i| format!("{i}-{}", i * i)).collect()
}

/// A nearly full filter may have the first bits of an absent key and lack only the last of many, so all must be tested.
#[test]
#[cfg_attr(miri, ignore = "millions of keys")]
fn tests_every_bit_of_a_key() {
    let absent = numbered(1 << 30, (1 << 30) + 300);
    for hashes in [1, 2, 3, 4, 31, 32, 33, 34, 50, 64, 65, 72, 100] {
        // In the cache, and large enough to prefetch.
        for (elements, most) in [(8, 120), (60_000, 5)] {
            if elements * hashes > 60_000 * 40 {
                continue;
            }
            let mut filter =
                BloomFilter::with_probability(elements, 2_f64.powi(-i32::try_from(hashes).unwrap())).unwrap();
            let (mut yes, mut no) = (0, 0);
            for step in 0..most {
                let many = if most == 5 { 100_000 } else { 1 };
                filter.insert_many(&numbered(step * many, (step + 1) * many));
                let expected: Vec<bool> = absent.iter().map(|key| filter.contains(key)).collect();
                let mut results = vec![false; absent.len()];
                filter.contains_many(&absent, &mut results).unwrap();
                assert!(results == expected, "{:?} after {step} steps", filter.shape());
                yes += results.iter().filter(|present| **present).count();
                no += results.iter().filter(|present| !**present).count();
            }
            assert!(yes > 100 && no > 100, "{:?}: {yes} and {no}", filter.shape());
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "600,000 keys")]
fn false_positive_rate_is_as_configured() {
    for p in [0.1, 0.01, 0.001] {
        let mut filter = BloomFilter::with_probability(10_000, p).unwrap();
        filter.insert_many(&numbered(0, 10_000));
        let rate =
            filter.contains_iter(numbered(10_000, 210_000)).filter(|present| *present).count() as f64 / 200_000.0;
        assert!(rate < 1.25 * p && rate > 0.75 * p, "{rate} for {p}");
        assert!((filter.estimated_len() - 10_000.0).abs() < 150.0);
        assert!((filter.fill_ratio() - 0.5).abs() < 0.05);
    }
}

#[test]
fn full_filter_has_no_estimate() {
    let mut file = BloomFilter::new(100).unwrap().into_inner();
    file[32..].fill(0xFF);
    let filter = BloomFilter::from_bytes(file).unwrap();
    assert_eq!((filter.fill_ratio(), filter.estimated_len()), (1.0, f64::INFINITY));
    assert!(filter.contains("anything"));
}

/// Small filters, and some near and beyond the size of a cache.
#[test]
#[cfg(feature = "parallel")]
#[cfg_attr(miri, ignore = "millions of keys")]
fn any_number_of_threads_agrees() {
    use simplebloom::digest::par_digest_many;

    for (elements, p, count) in [(1000, 0.01, 10_000), (300_000, 1e-4, 30_000), (3_000_000, 1e-6, 60_000)] {
        let keys = numbered(0, count);
        let queried = numbered(count - 5000, count + 5000);
        let mut filter = BloomFilter::with_probability(elements, p).unwrap();
        keys.iter().for_each(|key| filter.insert(key));
        let expected: Vec<bool> = queried.iter().map(|key| filter.contains(key)).collect();
        let mut digests = vec![[0; 2]; keys.len()];
        digest_many(&keys, Salt::NONE, &mut digests).unwrap();
        for threads in [0, 1, 2, 3, 4, 7] {
            let mut many = BloomFilter::with_probability(elements, p).unwrap();
            many.par_insert_many(&keys, threads);
            assert!(many == filter, "{elements} elements, {threads} threads");
            let mut many = BloomFilter::with_probability(elements, p).unwrap();
            many.insert("there before");
            let mut once = filter.clone();
            once.insert("there before");
            many.par_insert_digests(&digests, threads);
            assert!(many == once, "{elements} elements, {threads} threads");

            let mut results = vec![false; queried.len()];
            filter.par_contains_many(&queried, &mut results, threads).unwrap();
            assert!(results == expected, "{elements} elements, {threads} threads");
            let mut results = vec![false; keys.len()];
            filter.par_contains_digests(&digests, &mut results, threads).unwrap();
            assert!(results.iter().all(|present| *present));
            let mut again = vec![[0; 2]; keys.len()];
            par_digest_many(&keys, Salt::NONE, &mut again, threads).unwrap();
            assert!(again == digests);
        }
        assert!(filter.par_contains_many(&keys, &mut [], 2).is_err());
        assert!(par_digest_many(&keys, Salt::NONE, &mut [], 2).is_err());
        filter.par_contains_many::<&str>(&[], &mut [], 0).unwrap();
    }
}
