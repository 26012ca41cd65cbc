//! Comparing two files of different formats, beside merely reading both.
//!
//!     cargo bench -p wharf --bench query -- ONE OTHER [--repeat N]
//!
//! Prints a line of JSON per task and repetition, as `cargo xtask bench arrow` reads them. Without files, writes small ones.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, reason = "a benchmark, not a library")]

use std::path::{Path, PathBuf};
use std::time::Instant;

use wharf::{BatchScan, Convert, Diff, Overwrite, Registry};

fn main() {
    let mut paths: Vec<PathBuf> = Vec::new();
    let mut repeat = 1;
    let mut arguments = std::env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--bench") => {} // cargo adds it
            Some("--repeat") => repeat = arguments.next().unwrap().to_str().unwrap().parse().unwrap(),
            _ => paths.push(argument.into()),
        }
    }
    let folder = tempfile::tempdir().unwrap();
    if paths.is_empty() {
        paths = small(folder.path());
    }
    let [one, other] = paths.as_slice() else { panic!("expected two files") };
    for _ in 0..repeat {
        time("read both", || read(one) + read(other));
        time("diff", || {
            let differences = Diff::new(one, other).compare(&Registry::builtin()).unwrap();
            assert!(differences.is_same(), "{differences:?}");
            differences.rows.iter().sum()
        });
    }
}

fn time(work: &str, run: impl FnOnce() -> u64) {
    let begin = Instant::now();
    let rows = run();
    println!("{{\"work\":\"{work}\",\"seconds\":{},\"result\":{rows}}}", begin.elapsed().as_secs_f64());
}

/// Reads all batches, and counts their rows.
fn read(path: &Path) -> u64 {
    let container = wharf::open(path).unwrap();
    let tables = container.tables();
    let mut batches = tables.first().unwrap().arrow().unwrap().batches(&BatchScan::default()).unwrap();
    let mut rows = 0;
    while let Some(batch) = batches.try_next().unwrap() {
        rows += batch.num_rows() as u64;
    }
    rows
}

fn small(folder: &Path) -> Vec<PathBuf> {
    let paths = ["x.csv", "x.idv", "x.parquet"].map(|name| folder.join(name));
    let rows = (0..1000).map(|row| format!("{row},{}.5,word {}\n", row * 7 % 101, row % 13));
    std::fs::write(&paths[0], format!("a,b,c\n{}", rows.collect::<String>())).unwrap();
    let [csv, idv, parquet] = &paths;
    Convert::new([csv]).write(idv, Overwrite::Refuse, &Registry::builtin()).unwrap();
    Convert::new([idv]).write(parquet, Overwrite::Refuse, &Registry::builtin()).unwrap();
    vec![idv.clone(), parquet.clone()]
}
