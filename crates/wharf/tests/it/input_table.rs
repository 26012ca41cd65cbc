//! Inputs of a conversion as one table.

use std::fs;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use wharf::convert::{InputPart, InputTable, MatchObserver, Opener};
use wharf::{Convert, Predicate, Registry, Result};

fn open(convert: &Convert) -> Result<InputTable> {
    convert.open(&mut Opener::new(Registry::builtin()))
}

fn rows(table: &InputTable, part: &InputPart) -> Vec<RecordBatch> {
    let mut reader = table.batches(part).unwrap();
    let mut batches = Vec::new();
    while let Some(batch) = reader.try_next().unwrap() {
        batches.push(batch);
    }
    batches
}

#[test]
fn parts_have_the_common_schema() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a.csv"), "n,t\n1,x\n2,y\n3,z\n").unwrap();
    fs::write(path("b.csv"), "n,t\n0.5,w\n").unwrap();
    let table = open(&Convert::new([path("a.csv"), path("b.csv")])).unwrap();
    assert_eq!((table.inputs(), table.format(1)), (2, Some("csv")));
    assert!(table.name(1).unwrap().ends_with("b.csv"));
    let all = rows(&table, &InputPart::new(0));
    assert_eq!(all[0].schema(), *table.schema());
    assert_eq!(all[0].column(0).as_primitive::<Float64Type>().values(), &[1.0, 2.0, 3.0]);
    // Columns in another order, and no column.
    let some = rows(&table, &InputPart::new(0).with_columns([1, 0]).with_rows(1..2).with_threads(1));
    assert_eq!((some[0].num_rows(), some[0].num_columns()), (1, 2));
    assert_eq!(some[0].column(0).as_string::<i32>().value(0), "y");
    let none = rows(&table, &InputPart::new(1).with_columns([]));
    assert_eq!(none.iter().map(RecordBatch::num_rows).sum::<usize>(), 1);
    assert!(table.batches(&InputPart::new(2)).is_err());
    assert!(table.batches(&InputPart::new(0).with_columns([2])).is_err());
}

#[test]
fn row_ranges_of_every_format_are_parts_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("a.jsonl");
    let lines: Vec<String> = (0..500).map(|n| format!("{{\"key\":\"k{n:03}\",\"n\":{n}}}")).collect();
    fs::write(&source, lines.join("\n")).unwrap();
    for extension in ["csv", "idv", "msgpack", "ds", "zds", "parquet", "arrow", "arrows", "nc"] {
        let path = folder.path().join(format!("a.{extension}"));
        Convert::new([&source]).write(&path, wharf::Overwrite::Refuse, &Registry::builtin()).unwrap();
        let table = open(&Convert::new([path])).unwrap();
        let n = table.schema().index_of("n").unwrap();
        let part = |range: std::ops::Range<u64>| -> Vec<i64> {
            let batches = rows(&table, &InputPart::new(0).with_columns([n]).with_rows(range).with_threads(1));
            batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec()).collect()
        };
        assert_eq!(part(0..u64::MAX), Vec::from_iter(0..500), "{extension}");
        assert_eq!([part(0..123), part(123..499), part(499..1000)].concat(), Vec::from_iter(0..500), "{extension}");
        if let Some(len) = table.len(0) {
            assert_eq!((len, part(500..600)), (500, vec![]), "{extension}");
        }
    }
}

/// Counts rows.
#[derive(Default)]
struct Counts {
    tested: AtomicU64,
    decoded: AtomicU64,
}

impl MatchObserver for Counts {
    fn tested(&self, rows: u64, _: u64) -> Result<()> {
        self.tested.fetch_add(rows, Ordering::Relaxed);
        Ok(())
    }

    fn decoded(&self, rows: u64, _: u64) -> Result<()> {
        self.decoded.fetch_add(rows, Ordering::Relaxed);
        Ok(())
    }
}

#[test]
fn matching_rows_of_parts_of_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("a.jsonl");
    let lines: Vec<String> = (0..500).map(|n| format!("{{\"key\":\"k{n:03}\",\"n\":{n},\"m\":{}}}", n * 2)).collect();
    fs::write(&source, lines.join("\n")).unwrap();
    for extension in ["csv", "idv", "msgpack", "ds", "zds", "parquet", "arrow", "arrows", "nc"] {
        let path = folder.path().join(format!("a.{extension}"));
        Convert::new([&source]).write(&path, wharf::Overwrite::Refuse, &Registry::builtin()).unwrap();
        let table = open(&Convert::new([path])).unwrap();
        assert_eq!(table.can_skip(), extension != "csv", "{extension}");
        let [n, m] = ["n", "m"].map(|name| table.schema().index_of(name).unwrap());
        let read = |text: &str, columns: &[usize], range: Range<u64>| -> Result<(Vec<RecordBatch>, Arc<Counts>)> {
            let part = InputPart::new(0).with_columns(columns).with_rows(range).with_threads(1);
            let counts = Arc::new(Counts::default());
            let observer = Arc::clone(&counts) as Arc<dyn MatchObserver>;
            let predicate = Predicate::parse(text).unwrap();
            let mut reader = table.matching(&part, &predicate, &observer)?;
            let mut batches = Vec::new();
            while let Some(batch) = reader.try_next()? {
                assert_eq!(batch.schema(), reader.schema());
                batches.push(batch);
            }
            Ok((batches, counts))
        };
        let (first, last) = (123, 499);
        let expected: Vec<i64> = (first..last).filter(|n| n % 7 == 3 && *n >= 200).collect();
        for columns in [&[n][..], &[m, n], &[n, m], &[m], &[]] {
            let (batches, counts) = read("n % 7 = 3 and n >= 200", columns, 123..499).unwrap();
            assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), expected.len(), "{extension}");
            for (position, column) in columns.iter().enumerate() {
                let factor = if *column == m { 2 } else { 1 };
                let values = |batch: &RecordBatch| batch.column(position).as_primitive::<Int64Type>().values().to_vec();
                let found: Vec<i64> = batches.iter().flat_map(values).collect();
                assert_eq!(found, expected.iter().map(|n| n * factor).collect::<Vec<_>>(), "{extension}, {columns:?}");
            }
            assert_eq!(counts.tested.load(Ordering::Relaxed), 376, "{extension}");
            let others = !["csv", "msgpack", "zds"].contains(&extension) && columns.contains(&m);
            assert_eq!(counts.decoded.load(Ordering::Relaxed) > 0, others, "{extension}");
        }
        // An error names file and row, also in the middle of the table.
        let error = read("n + 9223372036854775600 > 0", &[m], 100..500).map(|_| ()).unwrap_err();
        assert_eq!(error.position().row, Some(208), "{error}");
        assert!(error.position().file.as_deref().is_some_and(|file| file.ends_with(extension)), "{error}");
        assert!(read("n > 'a'", &[m], 0..500).is_err());
    }
}

#[test]
fn keys_are_looked_up() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("a.jsonl");
    let lines: Vec<String> = (0..500).map(|n| format!("{{\"key\":\"k{n:03}\",\"n\":{n}}}")).collect();
    fs::write(&source, lines.join("\n")).unwrap();
    for (extension, is_lookup) in [("msgpack", true), ("parquet", false)] {
        let path = folder.path().join(format!("a.{extension}"));
        Convert::new([&source]).write(&path, wharf::Overwrite::Refuse, &Registry::builtin()).unwrap();
        let table = open(&Convert::new([path])).unwrap();
        let n = table.schema().index_of("n").unwrap();
        for (text, expected, tested) in [
            ("key = 'k123'", vec![123], 1),
            ("key in ('k400', 'k007', 'none') and n > 5", vec![7, 400], 2),
            ("key = 'k123' and n = 1", vec![], 1),
        ] {
            let predicate = Predicate::parse(text).unwrap();
            assert_eq!(table.is_lookup(&predicate), is_lookup, "{extension}");
            let counts = Arc::new(Counts::default());
            let observer = Arc::clone(&counts) as Arc<dyn MatchObserver>;
            let part = InputPart::new(0).with_columns([n]);
            let mut reader = table.matching(&part, &predicate, &observer).unwrap();
            let mut found = Vec::new();
            while let Some(batch) = reader.try_next().unwrap() {
                found.extend_from_slice(batch.column(0).as_primitive::<Int64Type>().values());
            }
            assert_eq!(found, expected, "{extension}: {text}");
            let read = if is_lookup { tested } else { 500 };
            assert_eq!(counts.tested.load(Ordering::Relaxed), read, "{extension}: {text}");
        }
        assert!(!table.is_lookup(&Predicate::parse("key > 'k123'").unwrap()));
    }
}
