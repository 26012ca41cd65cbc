//! Sketches and moments against naive models.
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "tests use small numbers")]

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::moments::Moments;
use super::numbers::{Family, PERCENTILES, float_key, float_of, quantiles, signed_key};
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

/// Mean and deviation of integers whose sums of squares fit.
fn naive(numbers: &[i64]) -> (f64, f64) {
    let n = numbers.len() as f64;
    let sum: i128 = numbers.iter().map(|number| i128::from(*number)).sum();
    let mean = sum as f64 / n;
    let deviations =
        numbers.iter().map(|number| ((i128::from(*number) * numbers.len() as i128 - sum) as f64 / n).powi(2));
    (mean, (deviations.sum::<f64>() / n).sqrt())
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-12 * one.abs().max(other.abs())
}

/// Mean and deviation of floats that are added in blocks of this size.
fn moments_of(numbers: &[f64], block: usize) -> (f64, f64) {
    let mut moments = Moments::default();
    numbers.chunks(block).for_each(|part| moments.add_floats(part));
    (moments.mean(Family::Float).unwrap(), moments.deviation().unwrap())
}

#[test]
fn sums_of_floats_are_compensated() {
    let numbers = [1e16, 1.0, -1e16, 1.0, 1e16, 1.0, -1e16];
    let repeated: Vec<f64> = numbers.iter().copied().cycle().take(7 * 1000).collect();
    for block in [1, 3, 8, 100, 10_000] {
        assert_eq!(moments_of(&numbers, block).0, 3.0 / 7.0, "{block}");
        assert_eq!(moments_of(&repeated, block).0, 3.0 / 7.0, "{block}");
        // Small deviations from a large mean.
        let close_together: Vec<f64> = (0..20_000).map(|at| 1e9 + f64::from(at % 1024) / 1024.0).collect();
        let (mean, deviation) = moments_of(&close_together, block);
        let small: Vec<f64> = close_together.iter().map(|number| number - 1e9).collect();
        let (of_small, expected) = moments_of(&small, block);
        assert!((mean - 1e9 - of_small).abs() <= 1e9 * f64::EPSILON, "{block}");
        assert!(close(deviation, expected), "{block}: {deviation} {expected}");
    }
}

#[test]
fn sums_of_finite_floats_do_not_overflow() {
    for block in [1, 2, 10] {
        let (mean, deviation) = moments_of(&[1e308, 1e308, -1e308], block);
        assert!(close(mean, 1e308 / 3.0) && close(deviation, 1e308 * (8.0_f64 / 9.0).sqrt()), "{mean} {deviation}");
        let (mean, deviation) = moments_of(&[f64::MAX; 5], block);
        assert!(close(mean, f64::MAX) && deviation == 0.0, "{mean} {deviation}");
        let (mean, deviation) = moments_of(&[f64::MAX, -f64::MAX, 3.0, f64::MAX, -f64::MAX, 2.0], block);
        assert!(close(mean, 5.0 / 6.0) && close(deviation, f64::MAX * (2.0_f64 / 3.0).sqrt()), "{mean} {deviation}");
        let (mean, deviation) = moments_of(&[1e200, -1e200, 1e-150], block);
        assert!(close(mean, 1e-150 / 3.0) && close(deviation, 1e200 * (2.0_f64 / 3.0).sqrt()), "{mean} {deviation}");
        assert_eq!(moments_of(&[1.0, f64::INFINITY, 1e308, 1e308], block).0, f64::INFINITY);
        assert!(moments_of(&[f64::NEG_INFINITY, f64::INFINITY], block).0.is_nan());
    }
}

#[test]
fn means_of_integers_are_the_nearest_floats() {
    for (numbers, expected) in [
        (vec![(1_i64 << 53) + 1, (1 << 53) + 2, (1 << 53) + 2], 9_007_199_254_740_994.0),
        (vec![i64::MAX, i64::MAX, i64::MAX - 1], 9_223_372_036_854_775_807.0),
        (vec![-1, 0, 0], -1.0 / 3.0),
        (vec![i64::MIN; 3], -9_223_372_036_854_775_808.0),
        (vec![0, 0], 0.0),
    ] {
        let mut moments = Moments::default();
        moments.add(Family::Signed, &numbers.iter().map(|number| signed_key(*number)).collect::<Vec<_>>());
        assert_eq!(moments.mean(Family::Signed), Some(expected), "{numbers:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64, 1000)))]

    #[test]
    fn moments_of_integers_equal_a_naive_model(
        numbers in prop::collection::vec(prop_oneof![any::<i64>(), -5..5_i64, (i64::MAX - 3)..=i64::MAX], 1..300),
        split in 1..100_usize,
    ) {
        let mut moments = Moments::default();
        for part in numbers.chunks(split) {
            moments.add(Family::Signed, &part.iter().map(|number| signed_key(*number)).collect::<Vec<_>>());
        }
        let (mean, deviation) = naive(&numbers);
        prop_assert!(close(moments.mean(Family::Signed).unwrap(), mean));
        prop_assert!(close(moments.deviation().unwrap(), deviation), "{:?} {}", moments.deviation(), deviation);
    }

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
