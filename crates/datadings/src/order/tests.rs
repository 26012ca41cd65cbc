//! Tests of the permutation: it is a bijection and statistically random.

use container_core::testkit::cases;

use super::QuasiShuffle;
use super::permute::{Permutation, Purpose, SWAPS, key};
use super::quasi::Cache;

fn permutation(seed: u64, epoch: u64, n: u64) -> Permutation {
    Permutation::new(key(seed, Purpose::Shuffle, epoch, 0), n)
}

fn all_values(seed: u64, epoch: u64, n: u64) -> Vec<usize> {
    let permutation = permutation(seed, epoch, n);
    (0..n).map(|x| usize::try_from(permutation.apply(x)).unwrap()).collect()
}

fn assert_bijection(values: impl IntoIterator<Item = usize>, n: usize, what: impl std::fmt::Display) {
    let mut seen = vec![false; n];
    let mut count = 0;
    for value in values {
        assert!(!std::mem::replace(&mut seen[value], true), "{what}: {value} occurs twice");
        count += 1;
    }
    assert_eq!(count, n, "{what}");
}

#[test]
fn lengths_up_to_5000_are_bijections() {
    for n in (1..=400).chain((400..=5000u64).step_by(cases(101, 1))) {
        for seed in [0, n] {
            assert_bijection(
                all_values(seed, 1, n),
                usize::try_from(n).unwrap(),
                format_args!("{n} places, seed {seed}"),
            );
        }
    }
}

#[test]
fn long_permutations_are_bijections() {
    for n in [65_535u64, 65_536, 65_537, 262_145, 1_000_003] {
        assert_bijection(all_values(9, 0, n), usize::try_from(n).unwrap(), n);
    }
}

/// Samples the image: no two values meet and none is outside.
#[test]
fn longest_permutations_are_injective_and_in_range() {
    for n in [u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) + 1, (1 << 62) - 1, (1 << 33) + 1, 1 << 32] {
        let permutation = permutation(3, 4, n);
        let mut values: Vec<u64> = (0..20_000).flat_map(|x| [x, n - 1 - x]).map(|x| permutation.apply(x)).collect();
        assert!(values.iter().all(|&value| value < n), "{n}");
        values.sort_unstable();
        values.dedup();
        assert_eq!(values.len(), 40_000, "{n}");
        let below: usize = values.iter().filter(|&&value| value < n / 2).count();
        assert!((19_500..20_500).contains(&below), "{n}: {below} of 40000 in the lower half");
    }
}

/// Deviation of counts from chance, in standard deviations of chi-square.
fn surprise(counts: impl IntoIterator<Item = u32>, expected: f64, constraints: f64) -> f64 {
    let (mut chi, mut cells) = (0.0, 0.0);
    for count in counts {
        chi += (f64::from(count) - expected).powi(2) / expected;
        cells += 1.0;
    }
    (chi - (cells - constraints)) / (2.0 * (cells - constraints)).sqrt()
}

/// Keys are fixed, so this never fails by chance: the limits are rarely exceeded by chance in all these tables together. With 4 rounds,
/// values of hundreds occur; with 8, short permutations still have some above 5.
#[test]
fn positions_pairs_differences_and_epochs_look_random() {
    const LIMIT: f64 = 4.5;
    for n in [3u64, 5, 16, SWAPS, SWAPS + 1, 40, 64, 65, 100, 257] {
        let size = usize::try_from(n).unwrap();
        let keys: u32 = if n < 70 { cases(20_000, 200_000) } else { cases(8_000, 40_000) };
        let table = || vec![0u32; size * size];
        let (mut places, mut pairs, mut far, mut epochs) = (table(), table(), table(), table());
        let mut differences = vec![0u32; size];
        let (mut cycles, mut odd) = (0usize, 0u32);
        let mut before: Option<Vec<usize>> = None;
        for epoch in 0..keys {
            let values = all_values(42, u64::from(epoch), n);
            let at = epoch as usize % (size - 1);
            values.iter().enumerate().for_each(|(place, value)| places[place * size + value] += 1);
            pairs[values[at] * size + values[at + 1]] += 1;
            far[values[at] * size + values[(at + size / 2) % size]] += 1;
            differences[(values[at + 1] + size - values[at]) % size] += 1;
            if let Some(before) = &before {
                epochs[before[at] * size + values[at]] += 1;
            }
            let mut seen = vec![false; size];
            let mut own = 0;
            for start in 0..size {
                own += usize::from(!seen[start]);
                let mut at = start;
                while !seen[at] {
                    seen[at] = true;
                    at = values[at];
                }
            }
            cycles += own;
            odd += u32::try_from((size - own) % 2).unwrap();
            before = Some(values);
        }
        let (keys, f) = (f64::from(keys), n as f64);
        let apart = |table: &[u32]| -> Vec<u32> {
            table.iter().enumerate().filter(|(i, _)| i / size != i % size).map(|(_, &count)| count).collect()
        };
        let per_pair = keys / (f * (f - 1.0));
        let found = [
            ("samples at positions", surprise(places, keys / f, 2.0 * f - 1.0)),
            ("samples at neighbouring positions", surprise(apart(&pairs), per_pair, 1.0)),
            ("samples at distant positions", surprise(apart(&far), per_pair, 1.0)),
            ("differences of neighbours", surprise(differences.into_iter().skip(1), keys / (f - 1.0), 1.0)),
            ("samples in successive epochs", surprise(epochs, (keys - 1.0) / (f * f), 1.0)),
        ];
        for (what, surprise) in found {
            assert!(surprise < LIMIT, "{n} places: {what}: {surprise:.2} deviations");
        }
        // Half of all permutations are odd, and a random one has 1 + 1/2 + 1/3 + .. cycles.
        let deviation = (f64::from(odd) - keys / 2.0) / (keys / 4.0).sqrt();
        assert!(deviation.abs() < LIMIT, "{n} places: {odd} of {keys} are odd");
        let expected: f64 = (1..=n).map(|i| 1.0 / i as f64).sum();
        let cycles = cycles as f64 / keys;
        let noise = (expected / keys).sqrt();
        assert!((cycles - expected).abs() < LIMIT * noise, "{n} places: {cycles} cycles, {expected} expected");
    }
}

/// All 24 orders of four samples occur equally often.
#[test]
fn all_orders_of_few_samples_occur() {
    let mut counts = std::collections::BTreeMap::new();
    for epoch in 0..24_000 {
        *counts.entry(all_values(1, epoch, 4)).or_insert(0u32) += 1;
    }
    assert_eq!(counts.len(), 24);
    let surprise = surprise(counts.into_values(), 1000.0, 1.0);
    assert!(surprise.abs() < 4.0, "{surprise}");
}

/// A million neighbours: no correlation of samples that follow each other, and no run that is too long.
#[test]
fn long_order_has_no_drift() {
    let n = 1_000_000u64;
    let values = all_values(5, 7, n);
    let mean = (n - 1) as f64 / 2.0;
    let variance = (n as f64).powi(2) / 12.0;
    for lag in [1usize, 2, 16, 1000, 1024] {
        let sum: f64 = values.iter().zip(&values[lag..]).map(|(&a, &b)| (a as f64 - mean) * (b as f64 - mean)).sum();
        let correlation = sum / variance / (n as f64).sqrt();
        assert!(correlation.abs() < 4.5, "lag {lag}: {correlation:.2} deviations");
    }
    let mut run = 1;
    let longest = values
        .windows(2)
        .map(|pair| {
            run = if pair[1] > pair[0] { run + 1 } else { 1 };
            run
        })
        .max();
    assert!(longest.is_some_and(|longest| (7..=12).contains(&longest)), "{longest:?} ascending samples in a row");
}

#[test]
fn keys_of_seed_purpose_epoch_and_part_differ() {
    let mut keys = Vec::new();
    for seed in 0..8 {
        for purpose in [Purpose::Shuffle, Purpose::Turn, Purpose::Chunks, Purpose::Window] {
            for epoch in 0..8 {
                keys.extend((0..8).map(|part| key(seed, purpose, epoch, part)));
            }
        }
    }
    let count = keys.len();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), count);
}

/// Windows follow each other without gap, hold at most the buffer rounded up to chunks, and are equally long but for one chunk.
#[test]
fn windows_cover_all_positions_and_are_even() {
    for n in (1..200u64).chain([1000, 1003, u64::MAX]) {
        for chunk in [1, 2, 7, 16, 100, u64::MAX] {
            for buffer in [1, 8, 50, 1000, u64::MAX] {
                let layout = QuasiShuffle { chunk, buffer }.layout(n);
                if n == u64::MAX && chunk < 1 << 32 && buffer < 1 << 32 {
                    let (.., last) = layout.window(n - 1);
                    assert!(last.contains(&(n - 1)) && last.end == n);
                    continue;
                }
                let (mut next, mut slots) = (0, Vec::new());
                while next < n {
                    let (window, first, positions) = layout.window(next);
                    assert_eq!((window, positions.start), (slots.len() as u64, next));
                    assert_eq!(first, next / chunk);
                    assert_eq!(layout.window(positions.end - 1), (window, first, positions.clone()));
                    slots.push((positions.end - next).div_ceil(chunk));
                    next = positions.end;
                }
                let (least, most) = (slots.iter().min().unwrap(), slots.iter().max().unwrap());
                assert!(most - least <= 1, "{n} by {chunk} and {buffer}: {slots:?}");
                assert!(*most <= buffer.div_ceil(chunk), "{n} by {chunk} and {buffer}: {slots:?}");
                let fewest = n.div_ceil(chunk).div_ceil(buffer.div_ceil(chunk));
                assert_eq!(slots.len() as u64, fewest, "{n} by {chunk} and {buffer}: no more windows than needed");
            }
        }
    }
}

/// What is kept from one position to the next never shows.
#[test]
fn a_cache_changes_nothing() {
    let quasi = QuasiShuffle { chunk: 5, buffer: 20 };
    let mut kept = Cache::default();
    for i in 0..5000u64 {
        let (epoch, position) = (i * i % 3, i * 37 % 123);
        let fresh = quasi.apply(123, 8, epoch, [position], &mut Cache::default());
        assert_eq!(quasi.apply(123, 8, epoch, [position], &mut kept), fresh, "position {position} of epoch {epoch}");
    }
}
