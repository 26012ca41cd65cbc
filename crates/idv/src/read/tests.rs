//! Decoding ahead, whatever other threads do.

use std::path::PathBuf;
use std::sync::{Arc, Barrier};

use container_core::parallel::{self, Pool};
use container_core::{Result, Scan};

use super::Reader;

fn golden(name: &str) -> Reader {
    let directory = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data"));
    Reader::open(directory.join(name)).unwrap()
}

fn lines(reader: &Reader, scan: &Scan) -> Result<Vec<Vec<u8>>> {
    let mut rows = reader.rows(scan)?;
    let mut lines = Vec::new();
    while let Some(row) = rows.try_next()? {
        lines.push(Vec::new());
        row.json(lines.last_mut().unwrap())?;
    }
    Ok(lines)
}

#[test]
fn number_of_threads_does_not_change_rows() {
    for name in ["block-rows-1.idv", "block-rows-7.idv", "real-adult.idv", "sparse-varying.idv"] {
        let reader = golden(name);
        let one = lines(&reader, &Scan::default().with_threads(1)).unwrap();
        assert_eq!(one.len() as u64, reader.row_count());
        for threads in [0, 2, 3, 64] {
            assert!(
                lines(&reader, &Scan::default().with_threads(threads)).unwrap() == one,
                "{name}, {threads} threads"
            );
        }
    }
}

#[test]
fn scan_makes_progress_in_a_busy_pool() {
    let threads = parallel::threads();
    let (arrived, release) = (Arc::new(Barrier::new(threads + 1)), Arc::new(Barrier::new(threads + 1)));
    for _ in 0..threads {
        let (arrived, release) = (Arc::clone(&arrived), Arc::clone(&release));
        parallel::spawn(move || {
            arrived.wait();
            release.wait();
        });
    }
    arrived.wait();
    let reader = golden("block-rows-1.idv");
    let found = lines(&reader, &Scan::default());
    release.wait();
    assert_eq!(found.unwrap().len() as u64, reader.row_count());
}

#[test]
fn scan_ends_in_a_pool_of_one_thread() {
    let pool = Pool::new(1).unwrap();
    let reader = golden("block-rows-7.idv");
    let found = pool.install(|| lines(&reader, &Scan::default()));
    assert_eq!(found.unwrap().len() as u64, reader.row_count());
}

#[test]
fn scan_can_be_dropped_at_any_row() {
    let reader = golden("block-rows-1.idv");
    for left_after in 0..reader.row_count().min(20) {
        let mut rows = reader.rows(&Scan::default()).unwrap();
        for _ in 0..left_after {
            assert!(rows.advance().unwrap());
        }
    }
}

#[test]
fn rows_outlive_the_reader() {
    let mut rows = golden("block-rows-7.idv").rows(&Scan::default()).unwrap();
    assert!(rows.try_next().unwrap().is_some());
}
