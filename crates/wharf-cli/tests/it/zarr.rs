//! Zarr stores with every verb.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::run;

fn golden(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    folder.join(name).into_os_string().into_string().unwrap()
}

fn path(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).into_os_string().into_string().unwrap()
}

/// What a command prints that succeeds without a warning.
fn ok<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> String {
    run(arguments).ok().to_owned()
}

/// What a command reports that ends with this exit code.
fn reported<S: AsRef<OsStr>>(code: i32, arguments: impl IntoIterator<Item = S>) -> String {
    let ran = run(arguments);
    assert_eq!(ran.code(), code, "{}", ran.err());
    ran.err().to_owned()
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn describes_stores() {
    let store = golden("zarr/grid.zarr");
    let text = ok(["info", &store]);
    assert!(text.starts_with(&format!("{store}: Zarr, ")), "{text}");
    for expected in [
        "    time = 4\n",
        "    short t2m(time, lat, lon)\n        t2m:units = \"K\"\n",
        "        :numbers = [1, 2, 3]\n",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    let value: Value = serde_json::from_str(&ok(["info", &store, "--json"])).unwrap();
    assert_eq!((&value["format"], &value["version"]), (&json!("zarr"), &json!("3")));
    let old: Value = serde_json::from_str(&ok(["info", &golden("zarr/grid2.zarr"), "--json"])).unwrap();
    assert_eq!(old["version"], json!("2"));
    let text = ok(["info", &golden("zarr/types.zarr")]);
    assert!(
        text.contains("cannot be converted to ds:\n    variable \"complex\" left out: unsupported data type"),
        "{text}"
    );
}

#[test]
fn reads_parts_rows_and_statistics() {
    let store = golden("zarr/grid.zarr");
    assert_eq!(ok(["get", &store, "rain", "--sel", "time=0", "--json"]), "[null,0.25,0.25]\n");
    let part = [
        "cat",
        &store,
        "--tidy",
        "--columns",
        "t2m",
        "--between",
        "lon=60..120",
        "--at",
        "lat=50",
        "--time",
        "iso",
        "--json",
    ];
    let rows = lines(&ok(part));
    assert_eq!(rows.len(), 8);
    assert_eq!(rows[0], json!({"time": "2000-01-30T00:00:00", "lon": 60.0, "t2m": 273.65}));
    let packed = lines(&ok(["cat", &store, "--table", "time", "--columns", "t2m", "--packed", "--json", "-n", "1"]));
    assert_eq!(packed[0]["t2m"][0][1], json!(1));
    assert_eq!(ok(["count", &store, "--table", "time"]), "4\n");
    let counted = ok(["count", &store, "--table", "time", "--where", "count > 2"]);
    assert_eq!(counted, "2\n");
    let stats: Value = serde_json::from_str(&ok(["stats", &store, "count", "--json"])).unwrap();
    assert_eq!((&stats["min"], &stats["max"]), (&json!(1), &json!(4)));
    ok(["verify", &store]);
    ok(["schema", &store, "--table", "time"]);
    ok(["head", &store, "--table", "time"]);
}

#[test]
fn converts_to_every_format_and_back() {
    let folder = TempDir::new().unwrap();
    let store = golden("zarr/grid.zarr");
    let expected = lines(&ok(["cat", &store, "--table", "time", "--json"]));
    for name in ["a.parquet", "a.arrow", "a.jsonl"] {
        let out = path(&folder, name);
        ok(["convert", &store, &out, "--table", "time"]);
        assert_eq!(lines(&ok(["cat", &out, "--json"])), expected, "{name}");
    }
    for (name, options) in
        [("a.ds", &[][..]), ("a.nc", &["--nc-kind", "netcdf4"]), ("b.zarr", &["--chunks", "time=1,lon=2"])]
    {
        let out = path(&folder, name);
        ok(["convert", store.as_str(), &out].into_iter().chain(options.iter().copied()));
        let again = path(&folder, &format!("{name}.zarr"));
        ok(["convert", &out, &again, "--compression", "gzip:1", "--shards", "time=4"]);
        ok(["diff", &store, &again, "--table", "time"]);
        let chunks = fs::read_dir(Path::new(&again).join("t2m/c")).unwrap().count();
        assert_eq!(chunks, 1, "one shard along time");
    }
    // Rows of other formats become arrays.
    let out = path(&folder, "adult.zarr");
    ok([
        "convert",
        &golden("idv/real-adult.idv"),
        &out,
        "--columns",
        "age,Label",
        "--dim",
        "person",
        "--chunks",
        "person=100",
    ]);
    assert_eq!(fs::read_dir(Path::new(&out).join("age/c")).unwrap().count(), 5);
    let rows = lines(&ok(["cat", &out, "--json", "-n", "2"]));
    assert_eq!(rows[0], json!({"age": 25.0, "Label": false}));
}

#[test]
fn outputs_are_whole_or_refused() {
    let folder = TempDir::new().unwrap();
    let (store, out) = (golden("zarr/grid.zarr"), path(&folder, "out.zarr"));
    ok(["convert", &store, &out]);
    let message = reported(2, ["convert", &store, &out]);
    assert!(message.contains("the output exists"), "{message}");
    ok(["convert", &store, &out, "--force", "--compression", "none"]);
    let message = reported(2, ["convert", &store, &path(&folder, "y.nc"), "--table", "time"]);
    assert!(message.contains("inputs that are Zarr when all rows are selected"), "{message}");
    let message = reported(2, ["convert", &store, &store, &path(&folder, "y.nc")]);
    assert!(message.contains("several Zarr stores do not become one by convert"), "{message}");
    let message = reported(2, ["convert", &out, &out, "--force"]);
    assert!(message.contains("is the input"), "{message}");
    let message = reported(2, ["convert", &out, &path(&folder, "out.zarr/in.zarr")]);
    assert!(message.contains("is in the store"), "{message}");
    for (options, expected) in [
        (["--compression", "brotli"], "must be none, gzip or zstd for Zarr"),
        (["--chunks", "time"], "must be sizes of dimensions such as time=10,lat=100"),
        (["--chunks", "nowhere=2"], "no dimension \"nowhere\""),
    ] {
        let message = reported(2, ["convert", &store, &path(&folder, "x.zarr"), options[0], options[1]]);
        assert!(message.contains(expected), "{message}");
        assert!(!folder.path().join("x.zarr").exists());
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn merges_along_a_dimension() {
    let folder = TempDir::new().unwrap();
    let store = golden("zarr/grid.zarr");
    let parts: Vec<String> = (0..2).map(|part| path(&folder, &format!("{part}.zarr"))).collect();
    for (part, range) in parts.iter().zip(["0:1", "1:"]) {
        ok(["convert", &store, part, "--sel", &format!("time={range}")]);
    }
    let out = path(&folder, "all.zarr");
    ok(["merge", &parts[0], &parts[1], "--dim", "time", "-o", &out]);
    ok(["diff", &store, &out, "--table", "time"]);
}

#[test]
fn enumerations_and_compounds_of_netcdf_are_converted() {
    let folder = TempDir::new().unwrap();
    let file = golden("netcdf-types/types.nc");
    let expected: Value =
        serde_json::from_str(&fs::read_to_string(golden("netcdf-types/types.json")).unwrap()).unwrap();
    for name in ["a.parquet", "a.arrow", "a.jsonl"] {
        let out = path(&folder, name);
        reported(3, ["convert", &file, &out, "--table", "station"]);
        let rows = lines(&ok(["cat", &out, "--json"]));
        assert_eq!(json!(rows), expected["station"], "{name}");
    }
    let chosen =
        run(["cat", &file, "--table", "station", "--where", "sky = 'stratus'", "--columns", "stations", "--json"]);
    assert_eq!(lines(chosen.ok())[0]["stations"]["flag"], json!(255));
    let message = reported(3, ["convert", &file, &path(&folder, "a.zarr")]);
    assert!(message.contains("variable \"wind\" left out: unsupported type compound of 2 fields"), "{message}");
}
