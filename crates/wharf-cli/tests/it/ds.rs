//! Verbs specific to ds files.

use std::path::PathBuf;

use dsfmt::{Array, Builder, Field, Mask, OutputOptions, Values};
use serde_json::json;
use tempfile::TempDir;

use crate::common::{self, run};

struct TestFolder(TempDir);

impl TestFolder {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        let array = |shape: &[u64], values: Values<'static>| Array::new(shape, values).unwrap();
        let mut builder = Builder::new();
        builder.attribute("title", "T\u{fc}st").attribute("n", f64::NAN);
        let time = array(&[3], vec![0.0, 6.0, 12.0].into());
        let time = Field::new(time).with_dimensions(["time"]).with_attribute("units", "hours since 2000-01-01");
        builder.field("time", time);
        builder.field("lat", Field::new(array(&[2], vec![-45.0f32, 45.0].into())).with_dimensions(["lat"]));
        let mask = Mask::from_bools([false, false, false, true, false, false]);
        let temp = array(&[3, 2], vec![0.1f32, 1.0, 2.0, 0.0, 4.0, f32::NAN].into()).with_mask(mask).unwrap();
        builder.field("temp", Field::new(temp).with_dimensions(["time", "lat"]).with_attribute("units", "K"));
        builder.field(
            "cube",
            Field::new(array(&[2, 1, 3], vec![1u8, 2, 3, 40, 5, 6].into())).with_dimensions(["lat", "one", "time"]),
        );
        let raw: Values<'_> = [&b"\xff"[..]].into_iter().collect();
        builder.field("raw", Field::new(array(&[], raw)).with_dimensions::<String>([]));
        builder.field("none", Field::empty());
        builder.write(place.path(), OutputOptions::default()).unwrap();
        place
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("x.ds")
    }

    fn wharf(&self, arguments: &[&str]) -> common::Ran {
        let path = self.path().display().to_string();
        run(arguments.iter().map(|argument| argument.replace('@', &path)))
    }

    fn failed(&self, arguments: &[&str]) -> String {
        let ran = self.wharf(arguments);
        assert_eq!((ran.code(), ran.out()), (2, ""), "{}", ran.err());
        ran.err().replace(&self.path().display().to_string(), "@").trim_end().to_owned()
    }
}

#[test]
fn info_has_the_layout_of_ncdump() {
    let place = TestFolder::new();
    let ran = place.wharf(&["info", "@"]);
    let text = ran.ok();
    let (_, rest) = text.split_once('\n').unwrap();
    assert_eq!(
        rest,
        "dimensions:\n    lat = 2\n    one = 1\n    time = 3\n\
         variables:\n    uint8 cube(lat, one, time)\n    float32 lat(lat)\n    none none  // empty\n    str raw\n    \
         float32 temp(time, lat)  // may have missing values\n        temp:units = \"K\"\n    \
         float64 time(time)\n        time:units = \"hours since 2000-01-01\"\n\
         global attributes:\n        :title = \"T\u{fc}st\"\n        :n = NaN\n"
    );
    let info = &place.wharf(&["info", "@", "--json"]).lines()[0];
    assert_eq!((&info["format"], &info["attributes"]), (&json!("ds"), &json!({"title": "T\u{fc}st", "n": "NaN"})));
    assert_eq!(info["tables"][1]["columns"][0]["type"], "float32[lat=2]");
}

#[test]
fn prints_rows_with_times() {
    let place = TestFolder::new();
    let ran = place.wharf(&["cat", "@", "--table", "time", "--time", "iso"]);
    let lines = ran.ok();
    assert_eq!(
        lines,
        "{\"temp\":[0.1,1.0],\"time\":\"2000-01-01T00:00:00\"}\n{\"temp\":[2.0,null],\"time\":\"2000-01-01T06:00:00\"}\n\
         {\"temp\":[4.0,\"NaN\"],\"time\":\"2000-01-01T12:00:00\"}\n"
    );
    let ran = place.wharf(&["cat", "@", "--table", "time", "--time", "jd", "--columns", "time", "-n", "1"]);
    assert_eq!(ran.ok(), "{\"time\":2451544.5}\n");
    let ran = place.wharf(&["get", "@", "--table", "lat", "--row", "1"]);
    assert_eq!(ran.ok(), "{\"cube\":[[40,5,6]],\"lat\":45.0}\n");
}

#[test]
fn gets_variables_and_slices() {
    let place = TestFolder::new();
    for (arguments, expected) in [
        (&["temp"][..], "0.1   1.0\n2.0  null\n4.0   NaN\n"),
        (&["temp", "--json"], "[[0.1,1.0],[2.0,null],[4.0,\"NaN\"]]\n"),
        (&["temp", "--sel", "time=-1"], "4.0\nNaN\n"),
        (&["temp", "--sel", "time=2,0", "--json"], "[[4.0,\"NaN\"],[0.1,1.0]]\n"),
        (&["temp", "--sel", "time=::-2", "--sel", "lat=0", "--json"], "[4.0,0.1]\n"),
        (&["temp", "--at", "lat=-50", "--at", "time=2000-01-01T05:00", "--tolerance", "inf"], "2.0\n"),
        (
            &[
                "temp",
                "--at",
                "lat=-50",
                "--at",
                "time=2000-01-01T05:00",
                "--tolerance",
                "lat=5",
                "--tolerance",
                "time=60min",
            ],
            "2.0\n",
        ),
        (&["temp", "--between", "time=2000-01-01T06:00..", "--json"], "[[2.0,null],[4.0,\"NaN\"]]\n"),
        (&["temp", "--between", "lat=-50:0", "--json"], "[[0.1],[2.0],[4.0]]\n"),
        (&["cube"], "[0, :, :]\n 1  2  3\n\n[1, :, :]\n40  5  6\n"),
        (&["raw", "--json"], "{\"$bytes\":\"/w==\"}\n"),
        (&["none", "--json"], "null\n"),
        (&["none"], "null\n"),
    ] {
        let mut all = vec!["get", "@"];
        all.extend(arguments);
        assert_eq!(place.wharf(&all).ok(), expected, "{arguments:?}");
    }
}

#[test]
fn rejects_invalid_selections() {
    let place = TestFolder::new();
    for (arguments, expected) in [
        (
            &["get", "@", "temp", "--sel", "time=3"][..],
            "error: ds: @: index 3 is out of range for dimension \"time\" of size 3",
        ),
        (&["get", "@", "temp", "--sel", "time"], "error: @: --sel expected DIM=..., found \"time\""),
        (
            &["get", "@", "temp", "--sel", "time=1", "--sel", "time=1"],
            "error: ds: @: dimension \"time\" is selected twice",
        ),
        (
            &["get", "@", "temp", "--at", "lat=x"],
            "error: ds: @: expected a number, found \"x\": only times are given as dates (column \"lat\")",
        ),
        (
            &["get", "@", "temp", "--between", "lat=1"],
            "error: @: --between expected VAR=A..B, VAR=A.. or VAR=..B, found \"lat=1\"",
        ),
        (
            &["get", "@", "temp", "--columns", "a"],
            "error: @: a variable has no columns or tables; select a part of it with --sel",
        ),
        (
            &["get", "@", "--row", "0", "--table", "time", "--sel", "a=1"],
            "error: @: --sel, --at and --between require a variable of a ds or NetCDF file",
        ),
    ] {
        assert_eq!(place.failed(arguments), expected);
    }
    assert!(place.failed(&["stats", "@", "nothing"]).contains("unknown variable \"nothing\""));
    assert!(place.wharf(&["stats", "@", "raw"]).ok().contains("raw"));
    assert!(place.failed(&["get", "@", "nothing"]).starts_with("error: ds: @: unknown variable \"nothing\""));
}

#[test]
fn statistics() {
    let place = TestFolder::new();
    let ran = place.wharf(&["stats", "@", "temp", "--json"]);
    assert!(
        ran.ok().starts_with("{\"column\":\"temp\",\"type\":\"float32\",\"count\":6,\"nulls\":1,\"nan\":1,\"distinct\":null,\"min\":0.1,\"max\":4.0,"),
        "{}",
        ran.out()
    );
    let ran = place.wharf(&["stats", "@"]);
    let names: Vec<_> = ran.ok().lines().skip(2).map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(names, ["cube", "lat", "temp", "time"]);
    assert!(place.wharf(&["verify", "@"]).ok().ends_with("x.ds: ok\n"));
}
