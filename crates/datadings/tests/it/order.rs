//! The guarantees of orders: every sample once, stable results, resumption, sharding.
#![allow(clippy::type_complexity, reason = "a table of cases")]

use std::collections::BTreeSet;

use container_core::ErrorKind;
use datadings::order::{Order, QuasiShuffle, Shard, Split, contiguous_ranges};
use proptest::prelude::*;

/// (seed, epoch, length, (position, sample)), computed independently from the algorithm in the documentation.
const SHUFFLES: &[(u64, u64, u64, &[(u64, u64)])] = &[
    (0, 0, 1, &[(0, 0)]),
    (1, 0, 10, &[(0, 2), (1, 5), (2, 1), (5, 8), (9, 3)]),
    (42, 3, 32, &[(0, 14), (1, 17), (2, 30), (16, 7), (31, 2)]),
    (42, 3, 33, &[(0, 10), (1, 21), (2, 14), (16, 18), (32, 28)]),
    (7, 1, 1000, &[(0, 421), (1, 824), (2, 166), (500, 763), (999, 562)]),
    (18446744073709551615, 18446744073709551615, 4096, &[(0, 1954), (1, 1854), (2, 264), (2048, 3385), (4095, 3535)]),
    (5, 0, 4097, &[(0, 3726), (1, 1808), (2, 61), (2048, 1493), (4096, 3785)]),
    (5, 1, 1000000, &[(0, 247910), (1, 574496), (2, 500981), (500000, 246072), (999999, 601337)]),
    (
        9,
        2,
        9223372036854775809,
        &[
            (0, 6115013092326950465),
            (1, 2129199291719098015),
            (2, 4720825227556874647),
            (4611686018427387904, 9066684745173101102),
            (9223372036854775808, 4715141674139191920),
        ],
    ),
    (
        9,
        2,
        18446744073709551615,
        &[
            (0, 12899129849005418317),
            (1, 9945442213996591305),
            (2, 13950822956724988777),
            (9223372036854775807, 18442779511280013935),
            (18446744073709551614, 13312737748826407984),
        ],
    ),
];

/// (seed, epoch, length, chunk, buffer, (position, sample)), likewise.
const QUASI_SHUFFLES: &[(u64, u64, u64, u64, u64, &[(u64, u64)])] = &[
    (0, 0, 10, 3, 6, &[(0, 8), (1, 4), (2, 3), (5, 0), (9, 6)]),
    (1, 5, 1000, 16, 100, &[(0, 941), (1, 923), (2, 950), (500, 625), (999, 458)]),
    (2, 0, 1003, 16, 1, &[(0, 57), (1, 65), (2, 64), (501, 683), (1002, 228)]),
    (3, 1, 50, 64, 10, &[(0, 30), (1, 33), (2, 9), (25, 21), (49, 18)]),
    (4, 2, 123456, 50, 2500, &[(0, 10877), (1, 64921), (2, 122011), (61728, 104425), (123455, 100612)]),
];

#[test]
fn shuffles_are_stable() {
    for &(seed, epoch, len, samples) in SHUFFLES {
        let order = Order::sequential(len).shuffled(seed).unwrap();
        for &(position, sample) in samples {
            assert_eq!(order.get(epoch, position), Some(sample), "{position} of {len}, seed {seed}, epoch {epoch}");
        }
        assert_eq!(order.get(epoch, len), None);
    }
    let order = Order::sequential(10).shuffled(1).unwrap();
    assert_eq!(order.iter(0).collect::<Vec<_>>(), [2, 5, 1, 6, 7, 8, 0, 4, 9, 3]);
}

#[test]
fn quasi_shuffles_are_stable() {
    for &(seed, epoch, len, chunk, buffer, samples) in QUASI_SHUFFLES {
        let order = Order::sequential(len).quasi_shuffled(QuasiShuffle { chunk, buffer }, seed).unwrap();
        for &(position, sample) in samples {
            assert_eq!(order.get(epoch, position), Some(sample), "{position} of {len}, seed {seed}, epoch {epoch}");
        }
    }
    let order = Order::sequential(12).quasi_shuffled(QuasiShuffle { chunk: 2, buffer: 4 }, 1).unwrap();
    assert_eq!(order.iter(0).collect::<Vec<_>>(), [8, 5, 6, 7, 2, 1, 3, 4, 11, 0, 10, 9]);
}

/// (samples, rank, ranks, worker, workers, epoch, start, stop), from the formula of Python's `IterableDataset`.
const PIECES: &[(u64, u32, u32, u32, u32, u64, u64, u64)] = &[
    (10, 0, 1, 0, 4, 0, 0, 2),
    (10, 0, 1, 3, 4, 0, 8, 10),
    (10, 0, 1, 0, 4, 1, 0, 2),
    (10, 0, 1, 2, 4, 5, 5, 8),
    (10, 0, 1, 3, 4, 2, 8, 10),
    (10, 0, 2, 0, 2, 0, 0, 2),
    (10, 1, 2, 1, 2, 0, 8, 10),
    (10, 1, 2, 0, 2, 1, 0, 2),
    (10, 0, 2, 1, 2, 5, 8, 10),
    (10, 1, 2, 1, 2, 2, 8, 10),
    (1000, 0, 3, 0, 7, 0, 0, 48),
    (1000, 2, 3, 6, 7, 0, 952, 1000),
    (1000, 2, 3, 0, 7, 1, 0, 48),
    (1000, 0, 3, 3, 7, 5, 810, 857),
    (1000, 1, 3, 6, 7, 2, 286, 333),
    (7, 0, 4, 0, 4, 0, 0, 0),
    (7, 3, 4, 3, 4, 0, 7, 7),
    (7, 3, 4, 0, 4, 1, 0, 0),
    (7, 0, 4, 2, 4, 5, 3, 3),
    (7, 2, 4, 3, 4, 2, 1, 2),
    (0, 0, 2, 0, 2, 0, 0, 0),
    (0, 1, 2, 1, 2, 0, 0, 0),
    (0, 1, 2, 0, 2, 1, 0, 0),
    (0, 0, 2, 1, 2, 5, 0, 0),
    (0, 1, 2, 1, 2, 2, 0, 0),
    (1281167, 0, 8, 0, 12, 0, 0, 13345),
    (1281167, 7, 8, 11, 12, 0, 1267822, 1281167),
    (1281167, 7, 8, 0, 12, 1, 0, 13345),
    (1281167, 0, 8, 6, 12, 5, 880802, 894148),
    (1281167, 4, 8, 11, 12, 2, 1107676, 1121021),
    (2500, 0, 1, 0, 1000, 0, 0, 2),
    (2500, 0, 1, 999, 1000, 0, 2498, 2500),
    (2500, 0, 1, 0, 1000, 1, 0, 2),
    (2500, 0, 1, 500, 1000, 5, 1250, 1252),
    (2500, 0, 1, 999, 1000, 2, 2498, 2500),
    (5, 0, 2, 0, 1, 0, 0, 2),
    (5, 1, 2, 0, 1, 0, 2, 5),
    (5, 1, 2, 0, 1, 1, 0, 2),
    (5, 0, 2, 0, 1, 5, 2, 5),
    (5, 1, 2, 0, 1, 2, 2, 5),
    (3, 0, 1, 0, 6, 0, 0, 0),
    (3, 0, 1, 5, 6, 0, 2, 3),
    (3, 0, 1, 0, 6, 1, 0, 0),
    (3, 0, 1, 3, 6, 5, 2, 2),
    (3, 0, 1, 5, 6, 2, 2, 3),
];

#[test]
fn contiguous_splits_match_python() {
    for &(len, rank, ranks, worker, workers, epoch, start, stop) in PIECES {
        let shard = Shard::new(rank, ranks, worker, workers).unwrap();
        let part = shard.positions(epoch, 0..len, Split::Contiguous);
        assert_eq!(part.len(), stop - start, "{shard:?} of {len}");
        assert_eq!(part.get(0), (start < stop).then_some(start), "{shard:?} of {len}");
        assert_eq!(part.step(), 1);
        assert_eq!((part.is_empty(), part.get(stop - start)), (start == stop, None));
    }
}

/// Any finite order of up to a few hundred positions.
fn orders() -> impl Strategy<Value = Order> {
    let step = (0..5u8, 0..100u64, 0..100u64, any::<u64>());
    (0..120u64, prop::collection::vec(step, 0..4)).prop_map(|(len, steps)| {
        steps.into_iter().fold(Order::sequential(len), |order, (kind, a, b, seed)| {
            let len = order.len().unwrap();
            let share = |x: u64| len * x / 100;
            match kind {
                0 => order.shuffled(seed),
                1 => order.quasi_shuffled(QuasiShuffle { chunk: a % 20 + 1, buffer: b % 50 + 1 }, seed),
                2 => order.range(share(a.min(b))..share(a.max(b))),
                3 => order.repeat(a % 4),
                _ => order.cycle().range(a..a + b),
            }
            .or_else(|_| Order::sequential(0).range(0..0))
            .unwrap()
        })
    })
}

/// All shards, rank by rank.
fn shards(ranks: u32, workers: u32) -> impl Iterator<Item = Shard> {
    (0..ranks).flat_map(move |rank| (0..workers).map(move |worker| Shard::new(rank, ranks, worker, workers).unwrap()))
}

proptest! {
    #[test]
    fn shuffles_visit_every_sample_once_per_epoch(
        exponent in 0..16u32, offset in -1..=1i64, seed: u64, epoch: u64, chunk in 1..200u64, buffer in 1..2000u64,
    ) {
        let len = u64::try_from((1i64 << exponent) + offset).unwrap();
        let order = Order::sequential(len);
        let quasi = QuasiShuffle { chunk, buffer };
        for order in [order.clone().shuffled(seed).unwrap(), order.quasi_shuffled(quasi, seed).unwrap()] {
            let mut samples: Vec<u64> = order.iter(epoch).collect();
            samples.sort_unstable();
            prop_assert!(samples.into_iter().eq(0..len));
        }
    }

    #[test]
    fn iteration_resumes_anywhere(order in orders(), epoch: u64, at in 0..200u64, back in 0..5usize) {
        let all: Vec<u64> = order.iter(epoch).collect();
        prop_assert_eq!(all.len() as u64, order.len().unwrap());
        prop_assert!(all.iter().all(|&sample| sample < order.samples()));
        let one_by_one: Vec<u64> = (0..).map_while(|position| order.get(epoch, position)).collect();
        prop_assert_eq!(&one_by_one, &all);
        let rest = &all[all.len().min(at as usize)..];
        let iter = order.iter_from(epoch, at);
        prop_assert_eq!(iter.remaining(), rest.len() as u64);
        prop_assert_eq!(iter.size_hint(), (rest.len(), Some(rest.len())));
        prop_assert_eq!(iter.position(), (!rest.is_empty()).then_some(at));
        prop_assert_eq!(iter.clone().collect::<Vec<_>>(), rest);
        prop_assert_eq!(iter.clone().rev().collect::<Vec<_>>(), rest.iter().rev().copied().collect::<Vec<_>>());
        prop_assert_eq!(iter.clone().last(), rest.last().copied());
        prop_assert_eq!(iter.clone().nth_back(back), rest.iter().copied().nth_back(back));
        prop_assert_eq!(iter.clone().step_by(3).collect::<Vec<_>>(), rest.iter().copied().step_by(3).collect::<Vec<_>>());
        prop_assert_eq!(order.iter(epoch).skip(at as usize).collect::<Vec<_>>(), rest);
        for size in [0, 1, 50, 1000] {
            let mut out = vec![u64::MAX; size];
            let count = order.fill(epoch, at, &mut out);
            prop_assert_eq!(count, size.min(rest.len()));
            prop_assert_eq!(&out[..count], &rest[..count]);
            prop_assert!(out[count..].iter().all(|&sample| sample == u64::MAX));
        }
    }

    #[test]
    fn shards_cover_every_position_once(
        order in orders(), epoch: u64, from in 0..150u64, ranks in 1..6u32, workers in 1..6u32,
    ) {
        let rest: Vec<u64> = order.iter_from(epoch, from).collect();
        let len = order.len().unwrap();
        for split in [Split::Contiguous, Split::Strided] {
            let mut positions = Vec::new();
            let mut sizes = BTreeSet::new();
            for shard in shards(ranks, workers) {
                let part = shard.positions(epoch, from..len, split);
                let own: Vec<u64> = (0..part.len()).map(|i| part.get(i).unwrap()).collect();
                let samples: Vec<u64> = order.shard(epoch, from, shard, split).unwrap().collect();
                prop_assert!(own.iter().map(|&position| order.get(epoch, position).unwrap()).eq(samples));
                sizes.insert(part.len());
                positions.extend(own);
            }
            positions.sort_unstable();
            prop_assert!(positions.into_iter().eq(from..from + rest.len() as u64));
            prop_assert!(sizes.last().unwrap() - sizes.first().unwrap() <= 1, "{:?}", sizes);
        }
    }

    #[test]
    fn interrupted_epochs_resume_with_other_workers(
        len in 0..500u64, seed: u64, epoch in 0..10u64, before in (1..5u32, 1..5u32), after in (1..5u32, 1..5u32), taken in 0..40u64,
    ) {
        let order = Order::sequential(len).shuffled(seed).unwrap();
        let mut samples = Vec::new();
        for shard in shards(before.0, before.1) {
            samples.extend(order.shard(epoch, 0, shard, Split::Strided).unwrap().take(taken as usize));
        }
        let done = (taken * u64::from(before.0 * before.1)).min(len);
        prop_assert_eq!(samples.len() as u64, done);
        for shard in shards(after.0, after.1) {
            samples.extend(order.shard(epoch, done, shard, Split::Strided).unwrap());
        }
        samples.sort_unstable();
        prop_assert!(samples.into_iter().eq(0..len));
    }

    #[test]
    #[cfg(feature = "serde")]
    fn descriptions_round_trip_as_json(order in orders(), epoch: u64) {
        let json = serde_json::to_string(&order).unwrap();
        let back: Order = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(&back, &order);
        prop_assert!(back.iter(epoch).eq(order.iter(epoch)));
    }

    /// A window is the same from all its positions; windows cover the order.
    #[test]
    fn windows_cover_the_order(order in orders()) {
        let len = order.len().unwrap();
        let mut next = 0;
        while next < len {
            let window = order.window(next).unwrap();
            prop_assert_eq!(window.start, next);
            prop_assert!(window.end > next && window.end <= len);
            for position in window.clone() {
                prop_assert_eq!(order.window(position).unwrap(), window.clone());
            }
            next = window.end;
        }
        prop_assert_eq!(order.window(len), None);
    }
}

#[test]
fn epochs_seeds_and_kinds_differ() {
    let quasi = QuasiShuffle { chunk: 4, buffer: 16 };
    let mut orders = BTreeSet::new();
    for seed in 0..20 {
        let order = Order::sequential(100);
        for order in [order.clone().shuffled(seed).unwrap(), order.quasi_shuffled(quasi, seed).unwrap()] {
            for epoch in (0..20).chain([u64::MAX]) {
                assert!(orders.insert(order.iter(epoch).collect::<Vec<_>>()), "seed {seed}, epoch {epoch}");
            }
        }
    }
}

#[test]
fn rounds_are_epochs_of_the_repeated_order() {
    let order = Order::sequential(50).shuffled(3).unwrap();
    let epochs = |epochs: std::ops::Range<u64>| epochs.flat_map(|epoch| order.iter(epoch)).collect::<Vec<_>>();
    let repeated = order.clone().repeat(4).unwrap();
    assert_eq!(repeated.len(), Some(200));
    assert_eq!(repeated.iter(0).collect::<Vec<_>>(), epochs(0..4));
    assert_eq!(repeated.iter(2).collect::<Vec<_>>(), epochs(8..12));
    let cycle = order.clone().cycle();
    assert_eq!((cycle.len(), cycle.is_empty()), (None, false));
    assert_eq!(cycle.iter(0).take(200).collect::<Vec<_>>(), epochs(0..4));
    assert_eq!(cycle.iter_from(2, 50).take(150).collect::<Vec<_>>(), epochs(3..6));
    assert_eq!(cycle.clone().cycle(), cycle, "an endless order needs no cycle");
    assert_eq!(cycle.window(120), Some(100..150));
    assert_eq!(cycle.clone().range(120..160).unwrap().window(10), Some(0..30));
}

#[test]
fn steps_apply_in_order() {
    let all = Order::sequential(100);
    let fixed = all.clone().range(20..40).unwrap().shuffled(1).unwrap();
    let mut samples: Vec<u64> = fixed.iter(0).collect();
    assert_ne!(samples, fixed.iter(1).collect::<Vec<_>>());
    samples.sort_unstable();
    assert!(samples.into_iter().eq(20..40), "a shuffled range is always the same samples");
    let some = all.clone().shuffled(1).unwrap();
    let drawn = some.clone().range(20..40).unwrap();
    assert!(drawn.iter(5).eq(some.iter(5).skip(20).take(20)), "a range of a shuffle is some of all");
    let mixed = all.repeat(2).unwrap().shuffled(1).unwrap();
    let first: BTreeSet<u64> = mixed.iter(0).take(100).collect();
    assert!(first.len() < 100, "a shuffle of a repetition mixes the rounds");
}

#[test]
fn endless_orders_split_strided_only() {
    let order = Order::sequential(10).shuffled(1).unwrap().cycle();
    let shard = Shard::new(1, 2, 0, 2).unwrap();
    let own: Vec<u64> = order.shard(0, 4, shard, Split::Strided).unwrap().take(20).collect();
    let expected: Vec<u64> = (0..20).map(|i| order.get(0, 4 + 2 + 4 * i).unwrap()).collect();
    assert_eq!(own, expected);
    let error = order.shard(0, 0, shard, Split::Contiguous).unwrap_err();
    assert_eq!(error.to_string(), "cannot split an endless order into contiguous ranges");
    let mut iter = order.iter(0);
    assert_eq!(iter.remaining(), u64::MAX);
    assert_eq!(iter.nth(1_000_000_007), order.get(0, 1_000_000_007));
    assert_eq!(iter.position(), Some(1_000_000_008));
}

#[test]
fn longest_orders_do_not_overflow() {
    let order = Order::sequential(3).shuffled(1).unwrap().repeat(u64::MAX / 3).unwrap();
    assert_eq!(order.len(), Some(u64::MAX), "2^64 - 1 is a multiple of 3");
    assert!(order.get(0, u64::MAX - 1).is_some_and(|sample| sample < 3));
    assert_eq!(order.get(0, u64::MAX), None);
    assert_eq!(order.iter_from(1, u64::MAX - 3).count(), 3);
    assert_eq!(order.window(u64::MAX - 1), Some(u64::MAX - 3..u64::MAX));
    let shard = Shard::new(u32::MAX - 1, u32::MAX, u32::MAX - 1, u32::MAX).unwrap();
    assert_eq!(shard.index(0), shard.count() - 1);
    assert_eq!(shard.index(1), u64::from(u32::MAX) - 1, "the last rank wraps to the first");
    assert_eq!(shard.index(u64::MAX), shard.count() - 1, "2^64 - 1 is a multiple of 2^32 - 1");
    for split in [Split::Contiguous, Split::Strided] {
        let part = shard.positions(0, 0..u64::MAX, split);
        assert!(part.len() == 1 || part.len() == 2, "{part:?}");
        assert!(part.get(part.len() - 1).is_some_and(|position| position < u64::MAX));
        let mut iter = order.shard(0, 0, shard, split).unwrap();
        assert_eq!(iter.by_ref().count() as u64, part.len());
        assert!(order.iter_at(0, part).eq(order.shard(0, 0, shard, split).unwrap()));
    }
    let one = Order::sequential(u64::MAX).quasi_shuffled(QuasiShuffle { chunk: 1 << 20, buffer: 1 << 30 }, 5).unwrap();
    let samples: BTreeSet<u64> = one.iter_from(0, u64::MAX - 1000).collect();
    assert_eq!(samples.len(), 1000);
}

#[test]
fn empty_orders_have_no_samples() {
    for order in [
        Order::sequential(0),
        Order::sequential(0).shuffled(1).unwrap(),
        Order::sequential(0).quasi_shuffled(QuasiShuffle { chunk: 4, buffer: 8 }, 1).unwrap(),
        Order::sequential(0).cycle(),
        Order::sequential(0).repeat(u64::MAX).unwrap(),
        Order::sequential(9).repeat(0).unwrap(),
        Order::sequential(9).range(4..4).unwrap().shuffled(3).unwrap().cycle(),
    ] {
        assert_eq!((order.len(), order.is_empty()), (Some(0), true), "{order:?}");
        assert_eq!((order.get(0, 0), order.iter(0).next(), order.window(0)), (None, None, None), "{order:?}");
        assert_eq!(order.shard(0, 0, Shard::WHOLE, Split::Contiguous).unwrap().count(), 0);
        assert_eq!(order.iter_from(0, 7).next_back(), None);
    }
}

#[test]
fn positions_past_the_end_are_omitted() {
    let order = Order::sequential(10).shuffled(1).unwrap();
    let shard = Shard::new(1, 3, 0, 1).unwrap();
    let positions = shard.positions(0, 0..1000, Split::Strided);
    assert_eq!(order.iter_at(0, positions).collect::<Vec<_>>(), [1, 4, 7].map(|at| order.get(0, at).unwrap()));
    assert_eq!(order.iter_at(0, positions).next_back(), order.get(0, 7));
    assert_eq!(order.iter_at(0, shard.positions(0, 50..60, Split::Contiguous)).next(), None);
    assert_eq!(order.iter_from(0, 10).position(), None);
}

/// The point of a quasi-shuffle: a window is a few ranges of the file, and no longer than the buffer.
#[test]
fn quasi_shuffle_windows_are_few_ranges() {
    let quasi = QuasiShuffle { chunk: 50, buffer: 1000 };
    let order = Order::sequential(100_010).quasi_shuffled(quasi, 11).unwrap();
    let (mut next, mut wrapped) = (0, 0);
    while let Some(window) = order.window(next) {
        assert!(window.end - window.start <= 1000);
        let in_order: Vec<u64> = order.iter_from(2, window.start).take((window.end - window.start) as usize).collect();
        let mut samples = in_order.clone();
        let parts = contiguous_ranges(&mut samples);
        assert_ne!(in_order, samples, "mixed");
        assert_eq!(parts.iter().map(|part| part.end - part.start).sum::<u64>(), in_order.len() as u64);
        assert!(parts.len() <= 21, "{} ranges", parts.len());
        wrapped += usize::from(parts.len() == 21);
        next = window.end;
    }
    assert!(wrapped <= 1, "one chunk of all lies across the ends of the file");
    let mut chunks = BTreeSet::new();
    for epoch in 0..20 {
        let mut first: Vec<u64> = order.iter(epoch).take(1000).collect();
        chunks.extend(contiguous_ranges(&mut first).into_iter().map(|part| part.start % 50));
    }
    assert!(chunks.len() > 10, "chunks begin elsewhere in every epoch");
}

#[test]
fn contiguous_ranges_join_neighbors_and_duplicates() {
    assert_eq!(contiguous_ranges(&mut [5, 3, 4, 4, 9, 1]), [1..2, 3..6, 9..10]);
    assert_eq!(contiguous_ranges(&mut []), []);
}

#[test]
fn rejects_invalid_steps() {
    let all = || Order::sequential(10);
    let quasi = |chunk, buffer| all().quasi_shuffled(QuasiShuffle { chunk, buffer }, 0);
    #[expect(clippy::reversed_empty_ranges, reason = "that is the error")]
    let backwards = all().range(5..4);
    let shard = |rank, ranks, worker, workers| Shard::new(rank, ranks, worker, workers).map(|_| all());
    let errors = [
        (backwards, "range 5..4 is out of bounds for 10 positions"),
        (all().range(5..11), "range 5..11 is out of bounds for 10 positions"),
        (all().cycle().shuffled(1), "cannot apply a shuffle to an endless order"),
        (
            all().cycle().quasi_shuffled(QuasiShuffle { chunk: 1, buffer: 1 }, 0),
            "cannot apply a quasi-shuffle to an endless order",
        ),
        (all().cycle().repeat(2), "cannot apply a repetition to an endless order"),
        (all().repeat(u64::MAX), "10 positions repeated 18446744073709551615 times exceed 2^64 - 1 positions"),
        (quasi(0, 5), "quasi-shuffle chunk: expected at least 1 sample, found 0"),
        (quasi(5, 0), "quasi-shuffle buffer: expected at least 1 sample, found 0"),
        (shard(0, 0, 0, 1), "rank 0 is out of range for 0 ranks"),
        (shard(2, 2, 0, 1), "rank 2 is out of range for 2 ranks"),
        (shard(0, 2, 3, 3), "worker 3 is out of range for 3 workers"),
        (shard(0, 2, 0, 0), "worker 0 is out of range for 0 workers"),
    ];
    for (result, text) in errors {
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Usage, text));
    }
}

#[test]
#[cfg(feature = "serde")]
fn rejects_invalid_descriptions() {
    for (text, what) in [
        (r#"{"len":10,"steps":[{"repeat":{"times":18446744073709551615}}]}"#, "10 positions repeated"),
        (
            r#"{"len":10,"steps":[{"quasi-shuffle":{"chunk":0,"buffer":1,"seed":1}}]}"#,
            "quasi-shuffle chunk: expected at least 1 sample, found 0",
        ),
        (r#"{"len":10,"steps":["cycle",{"shuffle":{"seed":1}}]}"#, "cannot apply a shuffle to an endless order"),
        (r#"{"len":10,"steps":[{"range":{"start":3,"end":11}}]}"#, "range 3..11 is out of bounds for 10 positions"),
        (r#"{"len":10,"steps":[{"sort":{"seed":1}}]}"#, "unknown variant"),
        (r#"{"len":10,"steps":[{"shuffle":{"seed":1,"rounds":2}}]}"#, "unknown field"),
        (r#"{"len":10,"steps":[],"more":1}"#, "unknown field"),
    ] {
        let error = serde_json::from_str::<Order>(text).unwrap_err().to_string();
        assert!(error.contains(what), "{text}: {error}");
    }
}

/// The format of existing checkpoints.
#[test]
#[cfg(feature = "serde")]
fn checkpoint_format_is_stable() {
    let quasi = QuasiShuffle { chunk: 2, buffer: 4 };
    let order = Order::sequential(1000).range(1..900).unwrap().shuffled(42).unwrap().quasi_shuffled(quasi, 7).unwrap();
    let order = order.repeat(3).unwrap().cycle();
    let json = concat!(
        r#"{"len":1000,"steps":[{"range":{"start":1,"end":900}},{"shuffle":{"seed":42}},"#,
        r#"{"quasi-shuffle":{"chunk":2,"buffer":4,"seed":7}},{"repeat":{"times":3}},"cycle"]}"#
    );
    assert_eq!(serde_json::to_string(&order).unwrap(), json);
    assert_eq!(serde_json::from_str::<Order>(json).unwrap(), order);
}

#[test]
fn buffers_are_interpreted_like_python() {
    let of = |len, buffer| QuasiShuffle::of_len(len, buffer, 16);
    assert_eq!(of(1001, 0.01).unwrap().buffer, 11);
    assert_eq!(of(1000, 0.5).unwrap().buffer, 500);
    assert_eq!(of(1000, 1.0).unwrap().buffer, 1);
    assert_eq!(of(1000, 256.9).unwrap().buffer, 256);
    assert_eq!(of(0, 0.01).unwrap().buffer, 1);
    assert_eq!(of(10, 1e300).unwrap().buffer, u64::MAX);
    for buffer in [-0.1, f64::NAN, f64::INFINITY] {
        assert_eq!(of(10, buffer).unwrap_err().kind(), ErrorKind::Usage, "{buffer}");
    }
    assert_eq!(QuasiShuffle::of_len(10, 0.5, 0).unwrap_err().kind(), ErrorKind::Usage);
}
