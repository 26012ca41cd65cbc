//! Sketches and moments against naive models.
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "tests use small numbers")]

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::numbers::{Family, PERCENTILES, float_key, float_of, quantiles};
use super::sketch::Values;
use super::texts::Texts;
use container_core::testkit::cases;

/// Numbers in an order that looks random, each of `0..n` once.
fn shuffled(n: u64) -> impl Iterator<Item = u64> {
    let step = (n / 2..).find(|step| gcd(*step, n) == 1).unwrap_or(1).max(1);
    (0..n).map(move |at| at * step % n)
}

fn gcd(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { gcd(other, one % other) }
}

#[test]
fn many_distinct_values_are_estimated_within_their_errors() {
    const N: u64 = 300_000;
    // Every 7th value is one of three.
    let value = |at: u64| if at.is_multiple_of(7) { at % 3 } else { 1000 + at };
    let keys: Vec<u64> = shuffled(N).map(value).collect();
    let mut values = Values::new(1024);
    keys.chunks(777).for_each(|part| values.add(part));
    let summary = values.finish();
    assert!(!summary.is_exact && summary.n == N);
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    let bound = summary.rank_error;
    assert!(bound < N / 50, "{bound}");
    for rank in (0..N).step_by(997).chain([N - 1]) {
        let [found] = summary.at_ranks(&[rank])[..] else { panic!("one value") };
        let low = sorted.partition_point(|key| *key < found) as u64;
        let high = sorted.partition_point(|key| *key <= found) as u64;
        assert!(low <= rank + bound && rank < high + bound, "rank {rank}: {found} has ranks {low}..{high}, ±{bound}");
    }
    let distinct = sorted.chunk_by(u64::eq).count() as f64;
    assert!((summary.distinct as f64 / distinct - 1.0).abs() < 4.0 * super::distinct::HyperLogLog::ERROR);
    let top = summary.top(3);
    let mut names: Vec<u64> = top.iter().map(|(key, _)| *key).collect();
    names.sort_unstable();
    assert_eq!(names, [0, 1, 2]);
    for (key, count) in top {
        let exact = keys.iter().filter(|other| **other == key).count() as u64;
        assert!(count <= exact && exact <= count + summary.count_error, "{key}: {count} of {exact}");
    }
}

#[test]
fn few_distinct_values_stay_exact_whatever_their_number() {
    let mut values = Values::new(256);
    let keys: Vec<u64> = (0..100_000).map(|at| at * at % 500).collect();
    keys.chunks(1000).for_each(|part| values.add(part));
    let summary = values.finish();
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    assert!(summary.is_exact && summary.rank_error == 0);
    for rank in [0, 1, 17, 50_000, 99_999] {
        assert_eq!(summary.at_ranks(&[rank as u64]), [sorted[rank]]);
    }
}

#[test]
fn many_texts_are_estimated_within_their_errors() {
    let mut texts = Texts::new(256);
    const N: u64 = 50_000;
    for at in shuffled(N) {
        match at % 5 {
            0 => texts.add(b"often"),
            1 if at % 10 == 1 => texts.add(&[b'x'; 300]),
            _ => texts.add(format!("{at}").as_bytes()),
        }
    }
    let (min, max) = texts.range.clone().unwrap();
    assert_eq!((&*min, &*max), (&b"10002"[..], &[b'x'; 300][..]));
    let summary = texts.finish(5);
    assert!(!summary.is_exact);
    let distinct = (N * 7 / 10 + 2) as f64;
    assert!((summary.distinct as f64 / distinct - 1.0).abs() < 4.0 * super::distinct::HyperLogLog::ERROR);
    let [(often, count)] = &summary.top[..] else { panic!("{:?}", summary.top) };
    assert_eq!(&**often, b"often");
    assert!((*count..=count + summary.count_error).contains(&(N / 5)), "{count} + {}", summary.count_error);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64, 1000)))]

    #[test]
    fn keys_of_floats_are_in_their_order(one: f64, other: f64) {
        prop_assume!(!one.is_nan() && !other.is_nan());
        prop_assert_eq!(float_key(one).cmp(&float_key(other)), one.partial_cmp(&other).unwrap());
        prop_assert!(float_of(float_key(one)) == one);
    }

    #[test]
    fn quantiles_equal_a_naive_model(mut numbers in prop::collection::vec(-1e6..1e6_f64, 1..200)) {
        let mut values = Values::new(512);
        values.add(&numbers.iter().map(|number| float_key(*number)).collect::<Vec<_>>());
        let found = quantiles(&values.finish());
        numbers.sort_by(f64::total_cmp);
        for (percent, quantile) in PERCENTILES.iter().zip(&found) {
            let at = (numbers.len() - 1) as f64 * percent / 100.0;
            let low = (numbers.len() - 1) * (percent * 10.0).round() as usize / 1000;
            let (low, high) = (numbers[low], numbers[(low + 1).min(numbers.len() - 1)]);
            let expected = low + (high - low) * at.fract();
            prop_assert!((quantile.float(Family::Float) - expected).abs() < 1e-6, "{percent}: {expected}");
        }
    }

    #[test]
    fn counts_equal_a_naive_model(numbers in prop::collection::vec(0..40_u64, 0..500), split in 1..50_usize) {
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        numbers.iter().for_each(|number| *counts.entry(*number).or_default() += 1);
        let mut values = Values::new(32);
        numbers.chunks(split).for_each(|part| values.add(part));
        let summary = values.finish();
        let mut expected: Vec<(u64, u64)> = counts.into_iter().collect();
        prop_assert_eq!(summary.distinct, expected.len() as u64);
        expected.sort_by_key(|(key, count)| (std::cmp::Reverse(*count), *key));
        prop_assert_eq!(summary.top(100), expected);
    }
}
