//! Formats of the registry used only through their traits.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use wharf::{ErrorKind, OutputOptions, Registry, Scan};

/// Formats that can write record batches: each file reads back, and an existing file is not replaced.
#[test]
fn formats_write_batches() {
    let folder = tempfile::tempdir().unwrap();
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1, -2]));
    let keys: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let batch = RecordBatch::try_from_iter([("key", keys), ("n", numbers)]).unwrap();
    let (mut written, mut others) = (Vec::new(), Vec::new());
    for format in Registry::builtin().formats() {
        let Some(extension) = format.extensions().first() else { continue };
        let path = folder.path().join(format!("{}.{extension}", format.name()));
        let created = format.batch_writer(&path, batch.schema(), OutputOptions::default());
        assert_eq!(created.is_ok(), format.is_writable(), "{}", format.name());
        let mut writer = match created {
            Ok(writer) => writer,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
                others.push(format.name());
                continue;
            }
        };
        writer.write(&batch).unwrap();
        assert_eq!(writer.finish().unwrap(), [], "{}", format.name());
        let container = Registry::builtin().open(&path).unwrap();
        assert_eq!(container.format(), format.name());
        let mut rows = container.tables()[0].rows(&Scan::default()).unwrap();
        let mut found = Vec::new();
        while rows.advance().unwrap() {
            let mut line = Vec::new();
            rows.json(&mut line).unwrap();
            found.push(String::from_utf8(line).unwrap());
        }
        assert_eq!(found, [r#"{"key":"a","n":1}"#, r#"{"key":"b","n":-2}"#], "{}", format.name());
        assert!(format.batch_writer(&path, batch.schema(), OutputOptions::default()).is_err(), "{}", format.name());
        written.push(format.name());
    }
    assert_eq!(written, ["idv", "datadings", "parquet", "arrow"]);
    // A feature that only tests of the whole workspace have.
    others.retain(|name| *name != "zarr");
    assert_eq!(others, ["mlnet-model", "ds", "netcdf", "zds", "jsonl", "csv", "tsv", "zip", "tar"]);
}
