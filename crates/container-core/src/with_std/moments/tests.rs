//! Moments against naive models.
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "tests use small numbers")]
#![allow(clippy::cast_possible_wrap, clippy::cast_precision_loss, reason = "models are naive")]

use proptest::prelude::*;

use super::*;

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
    numbers.chunks(block).for_each(|part| moments.add(&Block::of_floats(part, |number| number)));
    (moments.mean().unwrap(), moments.deviation().unwrap())
}

/// Moments of integers that are added in blocks of this size.
fn moments_of_integers(numbers: &[i64], block: usize) -> Moments {
    const SIGN: u64 = 1 << 63;
    let mut moments = Moments::default();
    let of =
        |part: &[i64]| Block::of_integers(part, |number| number as u64 ^ SIGN, |key| i128::from((key ^ SIGN) as i64));
    numbers.chunks(block).for_each(|part| moments.add(&of(part)));
    moments
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
        assert_eq!(moments_of_integers(&numbers, 10).mean(), Some(expected), "{numbers:?}");
    }
}

proptest! {
    #[test]
    fn moments_of_integers_equal_a_naive_model(
        numbers in prop::collection::vec(prop_oneof![any::<i64>(), -5..5_i64, (i64::MAX - 3)..=i64::MAX], 1..300),
        split in 1..100_usize,
    ) {
        let moments = moments_of_integers(&numbers, split);
        let (mean, deviation) = naive(&numbers);
        prop_assert!(close(moments.mean().unwrap(), mean));
        prop_assert!(close(moments.deviation().unwrap(), deviation), "{:?} {}", moments.deviation(), deviation);
    }
}
