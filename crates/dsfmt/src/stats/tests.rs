use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use container_core::parallel::Pool;
use container_core::testkit::cases;
use container_core::{ErrorKind, OpenOptions, Progress, Source};
use proptest::prelude::*;

use super::order::SAMPLE;
use super::*;
use crate::{Builder, Endian, Field, Mask, Reader};

fn file(array: Array<'_>, endian: Endian) -> Reader {
    let mut builder = Builder::new();
    let dimensions: Vec<String> = (0..array.shape().len()).map(|n| format!("d{n}")).collect();
    builder.field("x", Field::new(array).with_dimensions(dimensions).with_endian(endian));
    let mut bytes = Vec::new();
    builder.write_to(&mut bytes).unwrap();
    Reader::from_source(Source::from(bytes), OpenOptions::default()).unwrap()
}

fn stats(array: Array<'_>) -> Stats {
    file(array, Endian::Big).variable("x").unwrap().stats().unwrap()
}

/// Pairwise summation, for small rounding errors.
fn sum(values: &[f64]) -> f64 {
    match values.len() {
        0..=2 => values.iter().sum(),
        len => sum(&values[..len / 2]) + sum(&values[len / 2..]),
    }
}

/// Reference implementation by sorting.
fn naive(mut values: Vec<f64>) -> Option<[f64; 11]> {
    values.retain(|value| !value.is_nan());
    values.sort_by(f64::total_cmp);
    let n = values.len();
    let count = n as f64;
    let mean = sum(&values) / count;
    let squares = sum(&values.iter().map(|value| (value - mean).powi(2)).collect::<Vec<_>>()) / count;
    let percentile = |percent: f64| {
        let at = (n - 1) as f64 * percent / 100.0;
        let (low, high) = (values[at as usize], values[(at as usize + 1).min(n - 1)]);
        low + (high - low) * at.fract()
    };
    let all = || {
        let percentiles = [50.0, 25.0, 75.0, 16.0, 84.0, 2.5, 97.5, 0.5, 99.5].map(percentile);
        [mean, squares.sqrt()].into_iter().chain(percentiles)
    };
    (n > 0).then(|| all().collect::<Vec<_>>().try_into().unwrap())
}

#[track_caller]
fn assert_matches_naive(stats: &Stats, values: Vec<f64>) {
    let scale = values.iter().filter(|value| !value.is_nan()).fold(0f64, |max, value| max.max(value.abs()));
    let expected = naive(values);
    assert_eq!(expected.is_some(), stats.mean.is_some());
    let Some(expected) = expected else { return };
    let intervals = [stats.p50, stats.p68, stats.p95, stats.p99].into_iter().flat_map(Option::unwrap);
    let quantiles = stats.median.into_iter().chain(intervals).map(Number::as_f64);
    let found = [stats.mean, stats.std].into_iter().map(Option::unwrap).chain(quantiles);
    for (found, expected) in found.zip(expected) {
        assert!((found - expected).abs() <= 1e-12 * scale, "{found} {expected} {stats:?}");
    }
}

#[test]
fn matches_ds_stats() {
    let found = stats(Array::new([3], vec![16.0, 18.0, 21.0]).unwrap());
    let json = serde_json::to_string(&found).unwrap();
    let expected = "{\"count\":3,\"missing\":0,\"nan\":0,\"min\":16.0,\"max\":21.0,\"mean\":18.333333333333332,\"median\":18.0,\
                  \"std\":2.0548046676563256,\"p50\":[17.0,19.5],\"p68\":[16.64,20.04],\"p95\":[16.1,20.85],\"p99\":[16.02,20.97]}";
    assert_eq!(json, expected);
}

#[test]
fn excludes_missing_and_nan() {
    let mask = Mask::from_bools([false, true, false, false, false]);
    let array = Array::new([5], vec![1.0f32, 100.0, f32::NAN, 3.0, 0.1]).unwrap().with_mask(mask).unwrap();
    let found = stats(array);
    assert_eq!((found.count, found.missing, found.nan), (5, 1, 1));
    assert_eq!(
        (found.min, found.max, found.median),
        (Some(Number::Float32(0.1)), Some(Number::Float32(3.0)), Some(Number::Float32(1.0)))
    );
    assert!(serde_json::to_string(&found).unwrap().contains("\"min\":0.1,"));
    let none = stats(Array::new([2], vec![f64::NAN; 2]).unwrap());
    assert_eq!((none.count, none.nan, none.min, none.mean, none.p99), (2, 2, None, None, None));
    assert_eq!(stats(Array::new([0, 3], Vec::<u8>::new()).unwrap()), Stats::empty());
    let one = stats(Array::new([], vec![-7i8]).unwrap());
    assert_eq!(
        (one.min, one.median, one.std, one.p95),
        (Some(Number::Integer(-7)), Some(Number::Integer(-7)), Some(0.0), Some([Number::Integer(-7); 2]))
    );
    let truths = stats(Array::new([4], vec![true, false, true, true]).unwrap());
    assert_eq!(
        (truths.max, truths.mean, truths.median),
        (Some(Number::Integer(1)), Some(0.75), Some(Number::Integer(1)))
    );
    let infinite = stats(Array::new([2], vec![f64::INFINITY, 1.0]).unwrap());
    assert_eq!((infinite.mean, infinite.max), (Some(f64::INFINITY), Some(Number::Float64(f64::INFINITY))));
    assert!(infinite.std.unwrap().is_nan() && serde_json::to_string(&infinite).unwrap().contains("\"std\":\"NaN\""));
}

#[test]
fn rejects_strings_and_accepts_empty_variables() {
    let reader = file(Array::new([1], ["a"].into_iter().collect::<Values<'_>>()).unwrap(), Endian::Little);
    let error = reader.variable("x").unwrap().stats().unwrap_err().to_string();
    assert_eq!(error, "ds: expected numbers or bool for statistics, found unicode (column \"x\")");
    let mut builder = Builder::new();
    builder.field("x", Field::empty());
    let mut bytes = Vec::new();
    builder.write_to(&mut bytes).unwrap();
    let reader = Reader::from_source(Source::from(bytes), OpenOptions::default()).unwrap();
    assert_eq!(reader.variable("x").unwrap().stats().unwrap(), Stats::empty());
}

#[test]
fn integers_are_summed_exactly() {
    let found = stats(Array::new([4], vec![i64::MAX, i64::MAX - 2, i64::MIN, i64::MIN + 3]).unwrap());
    assert_eq!(found.mean, Some(-0.25));
    // Large and close together: `f64` could not tell them apart.
    let far = stats(Array::new([3], vec![u64::MAX, u64::MAX - 1, u64::MAX - 2]).unwrap());
    assert_eq!(far.std, Some((2.0f64 / 3.0).sqrt()));
    assert_eq!(far.max, Some(Number::Integer(u64::MAX.into())));
    assert!(serde_json::to_string(&far).unwrap().contains("\"max\":18446744073709551615,"));
}

/// Values that occur are not rounded, and 0 and -0 are one.
#[test]
fn quantiles_that_occur_are_exact() {
    let large = (1_i64 << 53) + 1;
    let json = serde_json::to_string(&stats(Array::new([3], vec![large; 3]).unwrap())).unwrap();
    assert!(json.contains(&format!("\"median\":{large},")) && json.contains(&format!("\"p99\":[{large},{large}]")));
    let between = stats(Array::new([2], vec![1_i64, 2]).unwrap());
    assert_eq!((between.median, between.p50), (Some(Number::Float64(1.5)), Some([1.25, 1.75].map(Number::Float64))));
    let zeros = stats(Array::new([3], vec![0.1, -0.0, 1.0]).unwrap());
    assert!(matches!(zeros.min, Some(Number::Float64(min)) if min.is_sign_positive()));
}

/// The expected numbers are exact results, rounded to the nearest float.
#[test]
fn means_and_deviations_have_no_rounding_errors() {
    let moments = |array| {
        let found = stats(array);
        (found.mean.unwrap(), found.std.unwrap())
    };
    let of = |values: Vec<f64>| moments(Array::new([values.len() as u64], values).unwrap());
    const COUNT: u32 = 300_000; // several blocks
    let (mean, std) = of((0..COUNT).map(|at| f64::from(at % 3) + 1e15).collect());
    assert_eq!((mean, (std - (2.0_f64 / 3.0).sqrt()).abs() < 1e-15), (1_000_000_000_000_001.0, true), "{std}");
    let (mean, std) = of(vec![0.1; COUNT as usize]);
    assert_eq!((mean, std), (0.1, 0.0));
    let times: Vec<i64> = (0..i64::from(COUNT)).map(|at| at + 1_700_000_000_000_000_000).collect();
    let (_, std) = moments(Array::new([u64::from(COUNT)], times).unwrap());
    let expected = ((f64::from(COUNT).powi(2) - 1.0) / 12.0).sqrt();
    assert!((std - expected).abs() <= 1e-15 * expected, "{std} {expected}");
    assert_eq!(of(vec![1e308; 3]), (1e308, 0.0));
    assert_eq!(of(vec![1e16, 1.0, -1e16]).0, 1.0 / 3.0);
    let (_, std) = of(vec![1e300, 2.5, 0.0]);
    assert!((std / 1e300 - 2.0_f64.sqrt() / 3.0).abs() < 1e-15, "{std}");
}

/// Deterministic noise of mixed magnitudes.
fn noise(count: usize) -> impl Iterator<Item = f64> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let unit = (state >> 11) as f64 / (1u64 << 53) as f64 - 0.4;
        unit * if state.is_multiple_of(5) { 1e6 } else { 1.0 }
    })
    .take(count)
}

#[test]
fn matches_naive_for_every_width() {
    // More than are sorted at once, and more than one chunk.
    let count = 4_500_000;
    let floats: Vec<f64> = noise(count).collect();
    assert_matches_naive(&stats(Array::new([3, 1_500_000], floats.clone()).unwrap()), floats.clone());
    // The remaining types: more than are sorted at once.
    let count = cases(1_100_000, count);
    let floats = &floats[..count];
    let singles: Vec<f32> = floats.iter().map(|value| *value as f32).collect();
    assert_matches_naive(
        &stats(Array::new([count as u64], singles.clone()).unwrap()),
        singles.iter().map(|value| f64::from(*value)).collect(),
    );
    let whole: Vec<i32> = floats.iter().map(|value| (*value * 100.0) as i32).collect();
    assert_matches_naive(
        &stats(Array::new([count as u64], whole.clone()).unwrap()),
        whole.iter().map(|value| f64::from(*value)).collect(),
    );
    let small: Vec<i8> = floats.iter().map(|value| (*value * 100.0) as i8).collect();
    assert_matches_naive(
        &stats(Array::new([count as u64], small.clone()).unwrap()),
        small.iter().map(|value| f64::from(*value)).collect(),
    );
    // All in one bucket of the first pass, which forces further passes.
    let close: Vec<f64> = floats.iter().map(|value| 1.0 + value * 1e-12).collect();
    assert_matches_naive(&stats(Array::new([count as u64], close.clone()).unwrap()), close);
    let bools: Vec<bool> = floats.iter().map(|value| *value > 0.0).collect();
    let missing: Vec<bool> = floats.iter().map(|value| value.to_bits() % 3 == 0).collect();
    let there =
        bools.iter().zip(&missing).filter(|(_, missing)| !**missing).map(|(value, _)| f64::from(u8::from(*value)));
    let array =
        Array::new([count as u64], bools.clone()).unwrap().with_mask(Mask::from_bools(missing.clone())).unwrap();
    assert_matches_naive(&stats(array), there.collect());
}

/// Frequent keys are counted, and where a sample misleads, the prefixes are counted further.
#[test]
fn matches_naive_where_values_repeat_or_a_sample_misleads() {
    let count = 1_200_000;
    let repeated: Vec<f64> = noise(count).map(|value| (value * 8.0).round()).collect();
    assert_matches_naive(&stats(Array::new([count as u64], repeated.clone()).unwrap()), repeated);
    // All have one prefix; most are the largest key.
    let top: Vec<u64> = noise(count).map(|value| u64::MAX - if value > 0.1 { 3 } else { 0 }).collect();
    assert_eq!(
        stats(Array::new([count as u64], top).unwrap()).p95,
        Some([u64::MAX - 3, u64::MAX].map(|number| Number::Integer(number.into())))
    );
    let runs = count as u64 / SAMPLE;
    let sampled = |at: usize| {
        let (run, place) = ((at % BLOCK) / 4, at % 4);
        ((run as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % 4 == place as u64
    };
    assert_eq!(runs, 4);
    let close: Vec<f64> = noise(count)
        .enumerate()
        .map(|(at, value)| if sampled(at) { 1.03 } else { 1.03 + value.clamp(-1.0, 1.0) * 0.03 })
        .collect();
    let mut counts = Counts::new(count as u64);
    counts.add(&close[..BLOCK]);
    assert!(counts.sample.len() > 1000 && counts.sample.iter().all(|key| *key == 1.03f64.key()));
    assert_matches_naive(&stats(Array::new([count as u64], close.clone()).unwrap()), close);
}

/// Cancels when it has been told of as many elements.
struct Patience(AtomicU64);

impl Progress for Patience {
    fn begin(&self, _: Unit, _: Option<u64>) {}

    fn advance(&self, done: u64) -> Result<()> {
        let left = self.0.load(Relaxed).checked_sub(done).ok_or_else(|| Error::new(ErrorKind::Cancelled, "enough"))?;
        self.0.store(left, Relaxed);
        Ok(())
    }
}

#[test]
fn can_be_cancelled() {
    let count = CHUNK + 1;
    let reader = file(Array::new([count], vec![1u8; count as usize]).unwrap(), Endian::Big);
    let stats = |patience: u64| {
        let watch = Watch::new(Arc::new(Patience(AtomicU64::new(patience))));
        reader.variable("x").unwrap().stats_with(&watch)
    };
    assert_eq!(stats(count).unwrap().count, count);
    for patience in [0, CHUNK] {
        assert_eq!(stats(patience).unwrap_err().kind(), ErrorKind::Cancelled, "after {patience}");
    }
}

#[test]
fn independent_of_source_and_threads() {
    let count = 4_400_000;
    let floats: Vec<f64> = noise(count).collect();
    let ranges = Mutex::new(Vec::new());
    let source = ChunkSource {
        count: count as u64,
        watch: &Watch::default(),
        chunk: &|range: Range<u64>| {
            ranges.lock().unwrap().push(range.clone());
            let part = &floats[range.start as usize..range.end as usize];
            Array::new([range.end - range.start], part)
        },
    };
    let found = compute::<f64>(&source).unwrap();
    for endian in [Endian::Big, Endian::Little] {
        let reader = file(Array::new([count as u64], &floats[..]).unwrap(), endian);
        assert_eq!(reader.variable("x").unwrap().stats().unwrap(), found);
    }
    // A single thread computes the same.
    let single = Pool::new(1).unwrap();
    assert_eq!(single.install(|| compute::<f64>(&source).unwrap()), found);
    let ranges = ranges.lock().unwrap();
    assert!(ranges.len() <= 12 && ranges.iter().all(|range| range.end - range.start <= CHUNK));
}

proptest! {
    #[test]
    fn matches_naive_for_few_values(values in prop::collection::vec((any::<i16>(), any::<bool>()), 0..60), nan in any::<bool>()) {
        let floats: Vec<f64> =
            values.iter().map(|(value, odd)| if nan && *odd { f64::NAN } else { f64::from(*value) / 8.0 }).collect();
        assert_matches_naive(&stats(Array::new([values.len() as u64], floats.clone()).unwrap()), floats);
        let missing = Mask::from_bools(values.iter().map(|(_, missing)| *missing));
        let whole: Vec<i16> = values.iter().map(|(value, _)| *value).collect();
        let there = values.iter().filter(|(_, missing)| !missing).map(|(value, _)| f64::from(*value)).collect();
        assert_matches_naive(&stats(Array::new([values.len() as u64], whole).unwrap().with_mask(missing).unwrap()), there);
    }
}
