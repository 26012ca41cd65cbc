//! Inputs of a conversion as one table.

use std::fs;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use wharf::convert::{InputPart, InputTable, Opener};
use wharf::{Convert, Registry, Result};

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
