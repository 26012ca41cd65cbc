//! Sampling, splitting and shuffling rows of any format.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use wharf::convert::{Convert, JsonLines, copy};
use wharf::subset::{Parts, Quasi, SampleMethod};
use wharf::{Overwrite, Registry, Sample, Scan, Shuffle, Split};

const ROWS: u64 = 3000;

const FORMATS: [&str; 8] = ["jsonl", "json", "csv", "tsv", "parquet", "arrow", "arrows", "idv"];

fn rows(path: &Path) -> Vec<Value> {
    let container = wharf::open(path).unwrap();
    let mut sink = JsonLines::new(Vec::new());
    copy(container.tables()[0], &Scan::default(), &mut sink).unwrap();
    let text = String::from_utf8(sink.finish().unwrap()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn ids(rows: &[Value]) -> Vec<u64> {
    rows.iter().map(|row| row["id"].as_u64().unwrap()).collect()
}

/// Writes a table in every format. Its column `id` numbers the rows.
fn write_inputs(folder: &Path) -> Vec<PathBuf> {
    let row = |n: u64| {
        let text = ["a, \"b\"", "c", "e\u{301}\n\r\nf", "", "07"][n as usize % 5];
        let x = (!n.is_multiple_of(4)).then_some(n as f64 / 8.0);
        json!({"id": n, "text": text, "x": x, "list": [n, n + 1], "even": n.is_multiple_of(2)})
    };
    let lines = folder.join("all.jsonl");
    fs::write(&lines, (0..ROWS).map(|n| row(n).to_string() + "\n").collect::<String>()).unwrap();
    let array = folder.join("all.json");
    let pretty: Vec<String> = (0..ROWS).map(|n| serde_json::to_string_pretty(&row(n)).unwrap()).collect();
    fs::write(&array, format!("[\n{}\n]\n", pretty.join(",\n"))).unwrap();
    let others = FORMATS[2..].iter().map(|extension| {
        let path = folder.join(format!("all.{extension}"));
        Convert::new([&lines]).write(&path, Overwrite::Refuse, &Registry::builtin()).unwrap();
        path
    });
    [lines.clone(), array].into_iter().chain(others.collect::<Vec<_>>()).collect()
}

#[test]
fn split_keeps_the_order_of_rows() {
    let folder = tempfile::tempdir().unwrap();
    for input in write_inputs(folder.path()) {
        let all = rows(&input);
        assert_eq!(all.len() as u64, ROWS);
        for (parts, counts) in [
            (Parts::Equal(3), vec![1000, 1000, 1000]),
            (Parts::At(vec![10, 2999]), vec![10, 2989, 1]),
            (Parts::Every(2999), vec![2999, 1]),
        ] {
            let report = Split::new(&input, parts).write(Overwrite::Replace, &Registry::builtin()).unwrap();
            assert_eq!(report.of, ROWS);
            assert_eq!(report.outputs.iter().map(|output| output.rows).collect::<Vec<_>>(), counts, "{input:?}");
            let together: Vec<Value> = report.outputs.iter().flat_map(|output| rows(&output.path)).collect();
            assert!(together == all, "{input:?}");
            let sizes = report.outputs.iter().map(|output| fs::metadata(&output.path).unwrap().len());
            assert!(sizes.eq(report.outputs.iter().map(|output| output.bytes)), "{input:?}");
        }
    }
}

#[test]
fn an_array_becomes_lines_under_a_name_of_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let array = "[{\"a\":1},\n {\"a\": 2, \"b\":[1,\n2]}]";
    fs::write(path("a.json"), array).unwrap();
    for (name, expected) in [
        ("out.jsonl", "{\"a\":1}\n{\"a\":2,\"b\":[1,2]}\n"),
        ("out.ndjson", "{\"a\":1}\n{\"a\":2,\"b\":[1,2]}\n"),
        ("out.json", "[{\"a\":1},\n{\"a\": 2, \"b\":[1,\n2]}]\n"),
    ] {
        let mut sample = Sample::new(path("a.json"), 2);
        sample.method = SampleMethod::First;
        sample.write(path(name), Overwrite::Refuse, &Registry::builtin()).unwrap();
        assert_eq!(fs::read_to_string(path(name)).unwrap(), expected, "{name}");
    }
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_pipes_kept() {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{FileTypeExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let (input, out) = (folder.path().join("a.jsonl"), folder.path().join("out.jsonl"));
    fs::write(&input, "{\"a\":1}\n{\"a\":2}\n").unwrap();
    let split = || {
        let split = Split::new(&input, Parts::Equal(1)).with_outputs([&out]);
        split.write(Overwrite::Replace, &Registry::builtin()).map_err(|error| error.to_string())
    };
    fs::write(folder.path().join("real"), "old").unwrap();
    symlink("real", &out).unwrap();
    split().unwrap();
    assert!(fs::symlink_metadata(&out).unwrap().is_symlink());
    assert_eq!(fs::read(folder.path().join("real")).unwrap(), fs::read(&input).unwrap());
    let refused = |error: String| assert!(error.ends_with("the output exists and is not a regular file"), "{error}");
    fs::remove_file(&out).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(&out).unwrap();
    refused(split().unwrap_err());
    assert!(fs::metadata(&out).unwrap().file_type().is_socket());
    // A link whose target has no path.
    fs::remove_file(&out).unwrap();
    let (_one, other) = std::os::unix::net::UnixStream::pair().unwrap();
    symlink(format!("/proc/self/fd/{}", other.as_raw_fd()), &out).unwrap();
    if out.exists() {
        refused(split().unwrap_err());
        assert!(fs::symlink_metadata(&out).unwrap().is_symlink());
    }
}

#[test]
fn same_seed_selects_the_same_rows_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let (mut sampled, mut shuffled, mut split) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for input in write_inputs(folder.path()) {
        let extension = input.extension().unwrap().to_str().unwrap().to_owned();
        let all = rows(&input);
        let out = |name: &str| folder.path().join(format!("{name}.{extension}"));
        // Selected rows are unchanged.
        let checked = |path: &Path| {
            let found = rows(path);
            let selected = ids(&found);
            assert!(found.iter().zip(&selected).all(|(row, id)| *row == all[*id as usize]), "{path:?}");
            assert_eq!(selected.iter().collect::<BTreeSet<_>>().len(), selected.len(), "{path:?}");
            selected
        };
        let sample = |method: SampleMethod, name: &str| {
            let mut sample = Sample::new(&input, 400).with_seed(7);
            sample.method = method;
            let report = sample.write(out(name), Overwrite::Replace, &Registry::builtin()).unwrap();
            assert_eq!((report.of, report.outputs[0].rows), (ROWS, 400));
            checked(&out(name))
        };
        let random = sample(SampleMethod::Random, "random");
        let mut sorted = random.clone();
        sorted.sort_unstable();
        assert!(!random.is_sorted());
        assert_eq!(sample(SampleMethod::InOrder, "sorted"), sorted);
        assert_eq!(sample(SampleMethod::First, "first"), (0..400).collect::<Vec<_>>());
        sampled.insert(random);
        for quasi in [false, true] {
            let mut shuffle = Shuffle::new(&input).with_seed(3);
            shuffle.quasi = quasi.then(Quasi::default);
            shuffle.write(out("shuffled"), Overwrite::Replace, &Registry::builtin()).unwrap();
            let order = checked(&out("shuffled"));
            assert_eq!((order.len() as u64, order.is_sorted()), (ROWS, false));
            shuffled.insert(order);
            let bytes = fs::read(out("shuffled")).unwrap();
            shuffle.write(out("again"), Overwrite::Replace, &Registry::builtin()).unwrap();
            assert!(fs::read(out("again")).unwrap() == bytes, "{extension}");
        }
        let parts = Parts::Fractions("0.8,0.2".parse().unwrap());
        let halves = Split::new(&input, parts).with_outputs([out("train"), out("test")]).with_shuffle(Some(1));
        halves.write(Overwrite::Replace, &Registry::builtin()).unwrap();
        let order = [checked(&out("train")), checked(&out("test"))].concat();
        assert_eq!(order.len() as u64, ROWS);
        split.insert(order);
        // Another extension is another format.
        let other = folder.path().join("other.zds");
        let error = Shuffle::new(&input).write(&other, Overwrite::Refuse, &Registry::builtin()).unwrap_err();
        assert!(error.to_string().contains("`wharf convert` does that"), "{error}");
        assert!(!other.exists());
    }
    assert_eq!((sampled.len(), shuffled.len(), split.len()), (1, 2, 1));
}

/// Sparse vectors become dense, which are the same values.
#[test]
fn shuffling_idv_keeps_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let registry = Registry::builtin();
    let goldens = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/idv");
    let (mut same, mut refused) = (0, 0);
    for golden in fs::read_dir(goldens).unwrap().map(|entry| entry.unwrap().path()) {
        if golden.extension().is_none_or(|extension| extension != "idv") {
            continue;
        }
        if let Err(error) = Shuffle::new(&golden).with_seed(1).write(at("a.idv"), Overwrite::Replace, &registry) {
            let error = error.to_string();
            assert!(error.contains("is out of the range of nanoseconds") && !error.contains("floor"), "{error}");
            refused += 1;
            continue;
        }
        let sorted = |input: &Path| {
            let mut convert = Convert::new([input]);
            convert.mapping.times = Some(container_arrow::Times::Nanoseconds);
            convert.write(at("a.arrow"), Overwrite::Replace, &registry).unwrap();
            let mut rows: Vec<String> = rows(&at("a.arrow")).iter().map(Value::to_string).collect();
            rows.sort();
            rows
        };
        let container = |path: &Path| {
            let container = wharf::open(path).unwrap();
            let columns =
                container.tables()[0].columns().iter().map(|column| (column.name.clone(), column.kind.clone()));
            columns.collect::<Vec<_>>()
        };
        assert!(sorted(&golden) == sorted(&at("a.idv")), "{golden:?}");
        assert_eq!(container(&golden), container(&at("a.idv")), "{golden:?}");
        same += 1;
    }
    assert!(same >= 45 && refused < 12, "{same} {refused}");
}

#[test]
fn text_records_keep_their_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let (input, out) = (folder.path().join("a.csv"), folder.path().join("b.csv"));
    let registry = Registry::builtin();
    fs::write(&input, "\u{feff}a,\"b\"\r\n1.50,\"x\r\n\"\"y\"\r\n\r\n007, z \r\n-0,").unwrap();
    let report = Sample::new(&input, 3).with_seed(1).write(&out, Overwrite::Replace, &registry).unwrap();
    let text = fs::read_to_string(&out).unwrap();
    assert_eq!(report.outputs[0].bytes, text.len() as u64);
    let body = text.strip_prefix("\u{feff}a,\"b\"\r\n").unwrap();
    for record in ["1.50,\"x\r\n\"\"y\"\r\n", "007, z \r\n", "-0,\r\n"] {
        assert_eq!(body.matches(record).count(), 1, "{body:?}");
    }
    assert_eq!(body.len(), 29);
    let (input, out) = (folder.path().join("a.jsonl"), folder.path().join("b.jsonl"));
    fs::write(&input, "{ \"a\" : 1.50 }\n\n{\"b\":\"\\u00e9\"}").unwrap();
    Sample::new(&input, 2).write(&out, Overwrite::Replace, &registry).unwrap();
    let mut lines: Vec<String> = fs::read_to_string(&out).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["{ \"a\" : 1.50 }", "{\"b\":\"\\u00e9\"}"]);
}

#[test]
fn errors_leave_no_output() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let registry = Registry::builtin();
    fs::write(at("a.csv"), "a,b\n1,2\n3\n").unwrap();
    fs::write(at("a.jsonl"), "{\"a\":1}\n{\"a\":}\n").unwrap();
    fs::write(at("b.jsonl"), "{\"a\":1}\n").unwrap();
    Convert::new([at("b.jsonl")]).write(at("b.ds"), Overwrite::Refuse, &registry).unwrap();
    let before = fs::read_dir(folder.path()).unwrap().count();
    for (input, number, expected) in [
        ("a.csv", 1, "expected 2 cells, found 1 (byte 8, line 3"),
        ("a.jsonl", 1, "line 2"),
        ("b.jsonl", 2, "2 rows requested, the table has 1"),
        ("b.ds", 1, "the input is ds"),
    ] {
        let out = at("out").with_extension(Path::new(input).extension().unwrap());
        let error = Sample::new(at(input), number).write(&out, Overwrite::Refuse, &registry).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains(input), "{error}");
    }
    let error = Split::new(at("b.jsonl"), Parts::Equal(1)).with_outputs([at("b.jsonl")]);
    let error = error.write(Overwrite::Replace, &registry).unwrap_err().to_string();
    assert!(error.contains("the output is the input"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), before);
}
