//! Parts of ds and NetCDF files, and long rows, with `get`, `cat` and `convert`.

use std::path::Path;

use dsfmt::{Array, Builder, Field, Mask, OutputOptions, Values};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{Ran, run};

struct TestFolder(TempDir);

impl TestFolder {
    /// A dataset as ds, NetCDF classic and NetCDF-4: packed temperatures, on an axis of longitudes from 0 to 360.
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        let field = |shape: &[u64], values: Values<'static>, names: &[&str]| {
            Field::new(Array::new(shape, values).unwrap()).with_dimensions(names.iter().copied())
        };
        let count = 4 * 3 * 12;
        let packed = Array::new([4, 3, 12], (0..count).map(|n| n * 10 - 500).collect::<Vec<i16>>()).unwrap();
        let packed = packed.with_mask(Mask::from_bools((0..count).map(|n| n % 11 == 5))).unwrap();
        let packed = Field::new(packed).with_dimensions(["time", "lat", "lon"]);
        let packed = packed.with_attribute("scale_factor", 0.01).with_attribute("add_offset", 280.0);
        let mut builder = Builder::new();
        builder
            .attribute("title", "a part")
            .field("t2m", packed.with_attribute("_FillValue", -32768i64))
            .field("area", field(&[3, 12], (0..36).map(f64::from).collect::<Vec<_>>().into(), &["lat", "lon"]))
            .field(
                "time",
                field(&[4], vec![0i32, 6, 12, 18].into(), &["time"]).with_attribute("units", "hours since 2000-01-31"),
            )
            .field("lat", field(&[3], vec![60.0f32, 0.0, -60.0].into(), &["lat"]))
            .field(
                "lon",
                field(&[12], (0..12).map(|n| f64::from(n) * 30.0).collect::<Vec<_>>().into(), &["lon"])
                    .with_attribute("units", "degrees_east"),
            );
        builder.write(folder.path("x.ds"), OutputOptions::default()).unwrap();
        folder.run("convert x.ds x3.nc").ok_quiet();
        folder.run("convert x.ds x4.nc --nc-kind netcdf4").ok_quiet();
        folder
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).into_os_string().into_string().unwrap()
    }

    /// Runs the command; words with an extension are files of the folder.
    fn run(&self, words: &str) -> Ran {
        const EXTENSIONS: [&str; 10] =
            ["ds", "nc", "csv", "parquet", "arrow", "arrows", "jsonl", "msgpack", "zds", "idv"];
        let is_file = |word: &str| word.split_once('.').is_some_and(|(_, after)| EXTENSIONS.contains(&after));
        run(words.split(' ').map(|word| if is_file(word) { self.path(word) } else { word.to_owned() }))
    }

    fn lines(&self, words: &str) -> Vec<Value> {
        let ran = self.run(words);
        assert_eq!(ran.code(), 0, "{words}: {}", ran.err());
        ran.lines()
    }

    fn failed(&self, words: &str) -> String {
        let ran = self.run(words);
        assert_eq!((ran.code(), ran.out()), (2, ""), "{words}: {}", ran.err());
        ran.err().replace(&format!("{}/", self.0.path().display()), "").trim_end().to_owned()
    }
}

impl Ran {
    #[track_caller]
    fn ok_quiet(&self) {
        assert_eq!(self.code(), 0, "{}", self.err());
    }
}

const INPUTS: [&str; 3] = ["x.ds", "x3.nc", "x4.nc"];

/// A region with everything: a wrapped range, a descending axis, a date.
const REGION: &str = "--between lon=-60..30 --between lat=-10..70 --at time=2000-01-31T12:00";

#[test]
fn every_verb_cuts_alike() {
    let folder = TestFolder::new();
    // Element n of t2m is 10 n - 500, missing where n % 11 is 5: time 2, lat 0 and 1, lon 10, 11, 0, 1.
    let element = |lat: usize, lon: usize| 2 * 36 + lat * 12 + lon;
    let value = |n: usize| if n % 11 == 5 { Value::Null } else { json!(10 * n as i64 - 500) };
    let expected: Vec<Vec<Value>> =
        (0..2).map(|lat| [10, 11, 0, 1].map(|lon| value(element(lat, lon))).to_vec()).collect();
    for input in INPUTS {
        let packed = if input == "x.ds" { "" } else { "--packed " };
        assert_eq!(folder.lines(&format!("get {input} t2m --json {packed}{REGION}")), [json!(expected)], "{input}");
        for output in ["out.ds", "out3.nc", "out4.nc"] {
            let kind = if output == "out4.nc" { " --nc-kind netcdf4" } else { "" };
            folder.run(&format!("convert {input} {output} --force {REGION}{kind}")).ok_quiet();
            let packed = if output == "out.ds" { "" } else { " --packed" };
            assert_eq!(
                folder.lines(&format!("get {output} t2m --json{packed}")),
                [json!(expected)],
                "{input} {output}"
            );
            assert_eq!(folder.lines(&format!("get {output} lon --json")), [json!([300.0, 330.0, 0.0, 30.0])]);
            assert_eq!(folder.lines(&format!("get {output} lat --json")), [json!([60.0, 0.0])]);
            assert_eq!(folder.lines(&format!("get {output} time --json")), [json!(12)]);
            let info = folder.run(&format!("info {output}"));
            for text in ["t2m:scale_factor = 0.01", "t2m:_FillValue = -32768", ":title = \"a part\"", "(lat, lon)"] {
                assert!(info.ok().contains(text), "{input} {output} {text}: {}", info.out());
            }
            folder.run(&format!("verify {output}")).ok_quiet();
        }
        let rows = folder.lines(&format!("cat {input} --table lat --json {packed}{REGION}"));
        assert_eq!(rows.len(), 2, "{input}");
        assert_eq!((&rows[1]["t2m"], &rows[1]["lat"]), (&json!(expected[1]), &json!(0.0)), "{input}");
        let table = "--table lat --columns t2m,lat";
        for output in ["o.parquet", "o.arrow", "o.arrows", "o.jsonl", "o.msgpack", "o.zds", "o.idv"] {
            let key = if output == "o.msgpack" { " --number" } else { "" };
            folder.run(&format!("convert {input} {output} --force {table} {REGION}{key}")).code();
            let found = folder.lines(&format!("cat {output} --json --columns lat"));
            assert_eq!(found, [json!({"lat": 60.0}), json!({"lat": 0.0})], "{input} {output}");
        }
    }
}

/// What is converted and then cut is what is cut and then converted.
#[test]
fn cutting_and_converting_commute() {
    let folder = TestFolder::new();
    for region in [
        REGION,
        "--sel time=1:3 --sel lat=0",
        "--between lon=300..300",
        "--sel lat=::-1 --between lat=0..",
        "--at lat=60,-60",
    ] {
        folder.run(&format!("convert x.ds cut.ds --force {region}")).ok_quiet();
        folder.run("convert cut.ds cut.nc --force --nc-kind netcdf4").ok_quiet();
        folder.run(&format!("convert x4.nc direct.nc --force --nc-kind netcdf4 {region}")).ok_quiet();
        folder.run(&format!("convert x4.nc direct.ds --force {region}")).ok_quiet();
        for name in ["t2m", "area", "lat", "lon", "time"] {
            let expected = folder.lines(&format!("get x3.nc {name} --json --packed {region}"));
            for file in ["cut.ds", "cut.nc --packed", "direct.nc --packed", "direct.ds"] {
                assert_eq!(folder.lines(&format!("get {file} --json {name}")), expected, "{region} {file} {name}");
            }
        }
    }
}

#[test]
fn rows_columns_and_times_apply_to_the_part() {
    let folder = TestFolder::new();
    let part = "--between time=2000-01-31T06..2000-01-31T12 --at lat=0 --sel lon=0,1";
    for input in INPUTS {
        let packed = if input == "x.ds" { "" } else { "--packed " };
        let rows = folder
            .lines(&format!("cat {input} {packed}--table time --columns time,t2m --rows 1.. --time iso --json {part}"));
        assert_eq!(rows, [json!({"time": "2000-01-31T12:00:00", "t2m": [340, 350]})], "{input}");
    }
    folder.run(&format!("convert x4.nc o.ds --columns t2m --rows 1..2 --dim time {part}")).ok_quiet();
    assert_eq!(folder.lines("get o.ds t2m --json"), [json!([[340, 350]])]);
    assert_eq!(folder.lines("get x4.nc t2m --json --sel time=2 --at lat=0 --sel lon=0,1"), [json!([283.4, 283.5])]);
}

#[test]
fn long_rows_in_every_format() {
    let folder = TestFolder::new();
    let part = "--between lon=-30..0 --between lat=0..60 --sel time=0,1";
    let mut expected = Vec::new();
    for time in 0..2 {
        for (lat, degrees) in [(0, 60.0), (1, 0.0)] {
            for (lon, east) in [(11, 330.0), (0, 0.0)] {
                let n = time * 36 + lat * 12 + lon;
                let value = if n % 11 == 5 { Value::Null } else { json!(10 * n - 500) };
                expected.push(json!({"time": time * 6, "lat": degrees, "lon": east, "t2m": value}));
            }
        }
    }
    for input in INPUTS {
        let packed = if input == "x.ds" { "" } else { "--packed " };
        assert_eq!(
            folder.lines(&format!("cat {input} {packed}--tidy --columns t2m --json {part}")),
            expected,
            "{input}"
        );
        for output in ["o.parquet", "o.arrow", "o.arrows", "o.jsonl", "o.ds", "o.nc", "o.zds", "o.msgpack"] {
            let key = if output == "o.msgpack" { " --number" } else { "" };
            folder
                .run(&format!("convert {input} {output} --force --tidy --columns t2m {packed}{part}{key}"))
                .ok_quiet();
            let stored = if output == "o.nc" { "--packed " } else { "" };
            let found = folder.lines(&format!("cat {output} {stored}--json --columns time,lat,lon,t2m"));
            assert_eq!(found, expected, "{input} {output}");
        }
        folder.run(&format!("convert {input} o.csv --force --tidy --columns t2m --time iso {packed}{part}")).ok_quiet();
        let text = std::fs::read_to_string(folder.path("o.csv")).unwrap();
        assert!(text.starts_with("time,lat,lon,t2m\n2000-01-31T00:00:00,60.0,330.0,-390\n"), "{input}: {text}");
    }
    // A variable without the time repeats.
    let rows = folder.lines("cat x.ds --tidy --columns area,t2m --json --rows 36..37");
    assert_eq!(rows, [json!({"time": 6, "lat": 60.0, "lon": 0.0, "area": 0.0, "t2m": -140})]);
    assert_eq!(folder.lines("cat x.ds --tidy --json").len(), 144);
}

#[test]
fn what_cannot_be_cut_is_an_error() {
    let folder = TestFolder::new();
    std::fs::write(folder.path("x.csv"), "a,b\n1,2\n").unwrap();
    for (words, expected) in [
        (
            "cat x.ds --table lat --between lat=61..70",
            "error: ds: x.ds: no value from 61 to 70: its values are from -60 to 60 (column \"lat\")",
        ),
        (
            "convert x4.nc o.ds --between time=2001..",
            "error: netcdf: x4.nc: no value from 2001 on: its values are from 2000-01-31T00:00:00 to 2000-01-31T18:00:00 (column \"time\")",
        ),
        (
            "get x.ds t2m --at lat=1",
            "error: ds: x.ds: no value 1: the nearest is 0, and its values are from -60 to 60; --tolerance allows a distance (column \"lat\")",
        ),
        (
            "convert x.csv o.ds --sel a=1",
            "error: x.csv: only variables of ds and NetCDF are cut by coordinates, the input is csv",
        ),
        ("cat x.csv --tidy", "error: x.csv: --tidy is for inputs that are ds or NetCDF, not csv"),
        ("convert x.ds o.csv --between lat", "error: --between expected VAR=A..B, found \"lat\""),
    ] {
        assert_eq!(folder.failed(words), expected, "{words}");
        assert!(!Path::new(&folder.path("o.ds")).exists(), "{words}");
    }
    assert!(folder.failed("cat x.ds --tolerance 1").contains("--at"), "clap");
}
