//! Inserting, querying, and hashing alone, in millions of keys per second.
//!
//! Options: `-- --keys N --threads T --rounds R`. `--json` prints one object per line, including results for comparison with
//! the reference.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    reason = "a benchmark that cannot go on says why and ends"
)]

use std::time::Instant;

use simplebloom::BloomFilter;
use simplebloom::digest::{Salt, digest, digest_many};

struct Options {
    keys: usize,
    threads: usize,
    rounds: usize,
    json: bool,
}

impl Options {
    fn from_args() -> Self {
        let mut options = Self { keys: 300_000, threads: 1, rounds: 9, json: false };
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            let mut number = || args.next().and_then(|text| text.parse().ok()).expect("the option takes a number");
            match arg.as_str() {
                "--keys" => options.keys = number(),
                "--threads" => options.threads = number(),
                "--rounds" => options.rounds = number(),
                "--json" => options.json = true,
                // Passed by `cargo bench`; without it, this is a smoke test.
                "--bench" => {}
                other => panic!("unknown option \"{other}\""),
            }
        }
        if !std::env::args().any(|arg| arg == "--bench") {
            options = Self { keys: 3000, rounds: 1, ..options };
        }
        options
    }
}

/// A key of 64 bytes for each number.
fn key(number: u64) -> String {
    format!("{:016x}", number.wrapping_mul(0x9E37_79B9_7F4A_7C15)).repeat(4)
}

/// The median of the rounds, in millions of keys per second.
fn speed(options: &Options, mut round: impl FnMut() -> f64) -> f64 {
    let mut times: Vec<f64> = (0..options.rounds).map(|_| round()).collect();
    times.sort_by(f64::total_cmp);
    options.keys as f64 / times[(times.len() - 1) / 2] / 1e6
}

fn timed(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

fn insert(filter: &mut BloomFilter, keys: &[String], threads: usize) {
    match threads {
        1 => filter.insert_many(keys),
        #[cfg(feature = "parallel")]
        _ => filter.par_insert_many(keys, threads),
        #[cfg(not(feature = "parallel"))]
        _ => panic!("--threads requires feature parallel"),
    }
}

fn query(filter: &BloomFilter, keys: &[String], results: &mut [bool], threads: usize) {
    match threads {
        1 => filter.contains_many(keys, results).unwrap(),
        #[cfg(feature = "parallel")]
        _ => filter.par_contains_many(keys, results, threads).unwrap(),
        #[cfg(not(feature = "parallel"))]
        _ => panic!("--threads requires feature parallel"),
    }
}

fn main() {
    let options = Options::from_args();
    let count = u64::try_from(options.keys).unwrap();
    let keys: Vec<String> = (0..count).map(key).collect();
    let absent: Vec<String> = (count..2 * count).map(key).collect();
    let elements = count;

    let mut filter = BloomFilter::new(elements).unwrap();
    let inserting = speed(&options, || {
        // A new filter each time, as for the reference.
        timed(|| {
            filter = BloomFilter::new(elements).unwrap();
            insert(&mut filter, &keys, options.threads);
        })
    });
    let mut results = vec![false; options.keys];
    let hits = speed(&options, || timed(|| query(&filter, &keys, &mut results, options.threads)));
    let present = results.iter().filter(|present| **present).count();
    assert_eq!(present, options.keys, "false negatives");
    let misses = speed(&options, || timed(|| query(&filter, &absent, &mut results, options.threads)));
    let wrong = results.iter().filter(|present| **present).count();
    let single =
        speed(&options, || timed(|| assert_eq!(keys.iter().filter(|key| filter.contains(key)).count(), options.keys)));
    let mut digests = vec![[0; 2]; options.keys];
    let hashing = speed(&options, || timed(|| digest_many(&keys, Salt::NONE, &mut digests).unwrap()));

    let [a, b] = digest(filter.as_bytes(), Salt::NONE);
    let lines = [
        ("insert", inserting),
        ("contains, present", hits),
        ("contains, absent", misses),
        ("contains, present, one by one", single),
        ("hash alone, one thread", hashing),
    ];
    for (work, speed) in lines {
        if options.json {
            println!(
                "{{\"work\":\"{work}\",\"keys\":{count},\"threads\":{},\"mkeys\":{speed},\"wrong\":{wrong},\
                 \"file\":\"{a:016x}{b:016x}\"}}",
                options.threads
            );
        } else {
            println!("{work:32} {count:>10} keys {:>3} threads {speed:9.2} M/s", options.threads);
        }
    }
}
