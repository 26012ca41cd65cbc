//! Splits CSV rows into cells on one thread, and compares the throughput with the crate `csv-core`, in MB/s.
//!
//! ```text
//! cargo bench -p wharf --bench csv -- [--repeat N] [FILE...]
//! ```
//!
//! Without files three tables are generated: words and numbers, many numbers, and quoted text. Reports the median. Both parsers must find the
//! same cells.

// A benchmark may panic.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a failing benchmark stops")]

use std::fmt::Write as _;
use std::time::Instant;

#[allow(dead_code, unused_imports, reason = "only a part is measured")]
#[path = "../src/text"]
mod text {
    pub(crate) mod columns {
        pub(crate) fn cell_text(cell: &[u8]) -> &str {
            std::str::from_utf8(cell).unwrap()
        }
    }
    pub(crate) mod records {
        pub(crate) mod csv;
        pub(crate) mod split;
    }
}

/// The number of cells, and of their bytes.
type Counts = (usize, usize);

fn ours(text: &str) -> Counts {
    let (mut split, mut at, mut counts) = (text::records::split::Split::new(b','), 0, (0, 0));
    while let Some(record) = split.next(text.as_bytes(), at) {
        for (cell, _) in split.texts(text) {
            counts = (counts.0 + 1, counts.1 + cell.len());
        }
        at = record.end;
    }
    counts
}

fn theirs(text: &str) -> Counts {
    let (mut reader, mut bytes, mut counts) = (csv_core::Reader::new(), text.as_bytes(), (0, 0));
    let (mut cells, mut ends) = (vec![0; 1 << 20], vec![0; 1 << 16]);
    loop {
        let (result, read, _, count) = reader.read_record(bytes, &mut cells, &mut ends);
        bytes = &bytes[read..];
        match result {
            csv_core::ReadRecordResult::Record => {
                let ends = &ends[..count];
                let row = std::str::from_utf8(&cells[..ends.last().copied().unwrap_or(0)]).unwrap();
                let mut start = 0;
                for &end in ends {
                    counts = (counts.0 + 1, counts.1 + row[std::mem::replace(&mut start, end)..end].len());
                }
            }
            csv_core::ReadRecordResult::InputEmpty => {}
            csv_core::ReadRecordResult::End => return counts,
            other => panic!("{other:?}"),
        }
    }
}

fn tables() -> Vec<(String, String)> {
    let mut tables = [("words and numbers", String::new()), ("30 numbers", String::new()), ("quotes", String::new())];
    let [(_, words), (_, numbers), (_, quotes)] = &mut tables;
    for row in 0u32..500_000 {
        let (age, half) = (20 + row % 50, f64::from(row % 1000) * 1.5);
        writeln!(words, "doc_{row:06},{row},user_{row},user{row}@example.com,{age},{},{half}", row % 2 == 0).unwrap();
        writeln!(quotes, "{row},\"text, with \"\"quotes\"\" {row}\",{half},\"x\"").unwrap();
        if row % 5 == 0 {
            let cells: Vec<_> = (0..30).map(|column| format!("{:.2}", f64::from(row % 97 + column) / 7.0)).collect();
            writeln!(numbers, "{}", cells.join(",")).unwrap();
        }
    }
    tables.map(|(name, table)| (name.to_owned(), table)).into()
}

fn main() {
    // Cargo adds `--bench`.
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let (mut repeat, mut inputs) = (9, Vec::new());
    while let Some(word) = words.next() {
        match word.as_str() {
            "--repeat" => repeat = words.next().unwrap().parse().unwrap(),
            path => inputs.push((path.to_owned(), std::fs::read_to_string(path).unwrap())),
        }
    }
    if inputs.is_empty() {
        inputs = tables();
    }
    for (name, table) in inputs {
        assert_eq!(ours(&table), theirs(&table), "cells of {name}");
        let (mut own, mut core) = (Vec::new(), Vec::new());
        for _ in 0..repeat {
            own.push(seconds(|| ours(&table)));
            core.push(seconds(|| theirs(&table)));
        }
        let [own, core] = [own, core].map(|mut times| {
            times.sort_by(f64::total_cmp);
            table.len() as f64 / 1e6 / times[times.len() / 2]
        });
        println!("{name}: {own:.0} MB/s, csv-core {core:.0} MB/s, ratio {:.2}", own / core);
    }
}

fn seconds(work: impl Fn() -> Counts) -> f64 {
    let start = Instant::now();
    std::hint::black_box(work());
    start.elapsed().as_secs_f64()
}
