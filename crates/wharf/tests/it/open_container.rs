//! Containers that are open already: record batches in memory become the same files as an Arrow IPC file of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{
    BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, RecordBatchReader, StringArray,
};
use wharf::{BatchContainer, BatchScan, Container, Convert, Overwrite, OwnedBatches, Registry, Scan};

fn batches() -> Vec<RecordBatch> {
    let batch = |from: i64, to: i64| {
        RecordBatch::try_from_iter([
            ("id", Arc::new(Int64Array::from_iter_values(from..to)) as arrow_array::ArrayRef),
            ("half", Arc::new(Float64Array::from_iter_values((from..to).map(|n| n as f64 / 2.0)))),
            ("key", Arc::new(StringArray::from_iter_values((from..to).map(|n| format!("n{n}"))))),
            ("even", Arc::new(BooleanArray::from_iter((from..to).map(|n| Some(n % 2 == 0))))),
        ])
        .unwrap()
    };
    vec![batch(0, 5), batch(5, 5), batch(5, 12)]
}

/// Converts to a new folder, and returns the files in it and the losses; of a store, whose index has times, the documents.
fn converted(convert: &Convert, target: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    let registry = Registry::builtin();
    let target = registry.target(target).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out").with_extension(target.info().extensions[0]);
    let report = convert.write_as(target.as_ref(), &path, Overwrite::Refuse, &registry);
    let report = report.unwrap_or_else(|error| panic!("{}: {error}", target.info().name));
    let losses: Vec<String> = report.losses.iter().map(|lost| lost.loss.to_string()).collect();
    let losses = (PathBuf::from("losses"), losses.join("\n").into_bytes());
    if target.info().name == "zds" {
        let documents = folder.path().join("documents.jsonl");
        Convert::new([&path]).write(&documents, Overwrite::Refuse, &registry).unwrap();
        return BTreeMap::from([("documents".into(), fs::read(documents).unwrap()), losses]);
    }
    let (mut folders, mut files) = (vec![folder.path().to_owned()], BTreeMap::from([losses]));
    while let Some(inner) = folders.pop() {
        for path in fs::read_dir(inner).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                files.insert(path.strip_prefix(folder.path()).unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    files
}

#[test]
fn batches_become_the_same_files_as_an_arrow_file_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data.arrow");
    let schema = batches()[0].schema();
    let in_memory = || Arc::new(BatchContainer::from_batches(batches()[0].schema(), batches())) as Arc<dyn Container>;
    let once = || {
        let reader = RecordBatchIterator::new(batches().into_iter().map(Ok), Arc::clone(&schema));
        Arc::new(BatchContainer::from_reader(Box::new(reader))) as Arc<dyn Container>
    };
    Convert::of("batches", in_memory()).write(&file, Overwrite::Refuse, &Registry::builtin()).unwrap();
    for target in Registry::builtin().targets() {
        let target = target.info().name;
        for (rows, columns) in [(0..u64::MAX, vec![]), (3..9, vec!["key", "id"]), (0..0, vec!["key", "half"])] {
            let select = |convert: Convert| convert.with_rows(rows.clone()).with_columns(columns.clone());
            let expected = converted(&select(Convert::new([&file])), target);
            assert_eq!(converted(&select(Convert::of("batches", in_memory())), target), expected, "{target} {rows:?}");
            assert_eq!(converted(&select(Convert::of("batches", once())), target), expected, "{target}, read once");
        }
    }
}

#[test]
fn owned_batches_keep_the_container() {
    let container: Arc<dyn Container> = Arc::new(BatchContainer::from_batches(batches()[0].schema(), batches()));
    let scan = BatchScan::from(Scan::default().with_rows(4..10).with_columns([2])).with_batch_rows(3);
    let mut owned = OwnedBatches::new(container, None, &scan).unwrap();
    assert_eq!(owned.schema().field(0).name(), "key");
    let rows: Vec<usize> = owned.by_ref().map(|batch| batch.unwrap().num_rows()).collect();
    assert_eq!(rows, [1, 3, 2]);
    assert!(owned.losses().is_empty());
    let container: Arc<dyn Container> = Arc::new(BatchContainer::from_batches(batches()[0].schema(), batches()));
    let error = OwnedBatches::new(container, Some("x"), &scan).err().unwrap();
    assert_eq!(error.to_string(), "no table \"x\"; the tables are \"rows\"");
}

#[test]
fn batches_of_another_schema_and_second_readings_are_errors() {
    let other =
        RecordBatch::try_from_iter([("x", Arc::new(Int64Array::from(vec![1])) as arrow_array::ArrayRef)]).unwrap();
    let container = BatchContainer::from_batches(batches()[0].schema(), vec![batches()[0].clone(), other]);
    let folder = tempfile::tempdir().unwrap();
    let write = |container: &Arc<dyn Container>, name: &str| {
        Convert::of("memory", Arc::clone(container)).write(
            folder.path().join(name),
            Overwrite::Refuse,
            &Registry::builtin(),
        )
    };
    let error = write(&(Arc::new(container) as _), "a.parquet").unwrap_err();
    assert_eq!(error.to_string(), "memory: expected 4 columns, found 1 in the batch");
    assert!(!folder.path().join("a.parquet").exists());
    let reader = RecordBatchIterator::new(batches().into_iter().map(Ok), batches()[0].schema());
    let once: Arc<dyn Container> = Arc::new(BatchContainer::from_reader(Box::new(reader)));
    write(&once, "b.parquet").unwrap();
    let error = write(&once, "c.parquet").unwrap_err();
    assert_eq!(error.to_string(), "memory: a stream of record batches can be read only once");
}

#[test]
fn rows_past_the_end_are_an_error_without_a_known_length() {
    let reader = RecordBatchIterator::new(batches().into_iter().map(Ok), batches()[0].schema());
    let once = BatchContainer::from_reader(Box::new(reader));
    let tables = once.tables();
    let arrow = tables[0].arrow().unwrap();
    let mut found = arrow.batches(&Scan::default().with_rows(13..20).into()).unwrap();
    assert_eq!(found.try_next().unwrap_err().to_string(), "no row 13: there are 12, counted from 0");
}

/// Ends the work at the first report.
struct Stop;

impl wharf::Progress for Stop {
    fn begin(&self, _: wharf::Unit, _: Option<u64>) {}

    fn advance(&self, _: u64) -> wharf::Result<()> {
        Err(wharf::Error::new(wharf::ErrorKind::Cancelled, "stopped by the test"))
    }
}

#[test]
fn work_can_be_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let registry = Registry::builtin();
    let rows: String = (0..3000).map(|row| format!("{row},text {row}\n")).collect();
    fs::write(path("in.csv"), format!("n,key\n{rows}")).unwrap();
    for target in registry.targets() {
        let target = target.info();
        let output = path("out").with_extension(target.extensions[0]);
        let convert = Convert::new([path("in.csv")]).with_progress(Arc::new(Stop));
        let found = registry.target(target.name).unwrap();
        let error = convert.write_as(found.as_ref(), &output, Overwrite::Refuse, &registry).unwrap_err();
        assert_eq!(error.kind(), wharf::ErrorKind::Cancelled, "{}: {error}", target.name);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{}", target.name);
    }
    let options = wharf::VerifyOptions::default().with_progress(Arc::new(Stop));
    let container = wharf::open(path("in.csv")).unwrap();
    let mut findings = Vec::new();
    let outcome = container.verify(&options, &mut |finding| findings.push(finding));
    let cancelled = |error: &wharf::Error| error.kind() == wharf::ErrorKind::Cancelled;
    assert!(outcome.err().iter().chain(findings.iter().map(|finding| &finding.error)).any(cancelled));
}
