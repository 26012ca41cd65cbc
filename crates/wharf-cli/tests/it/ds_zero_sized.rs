//! ds files whose headers declare far more than the file contains: every verb ends quickly.

use std::fs::{self, File};
use std::process::Stdio;
use std::time::{Duration, Instant};

use dsfmt::Reader;
use tempfile::TempDir;

use crate::common;

/// A temporary folder with such files, in which `wharf` runs.
struct TestFolder(TempDir);

/// Exit code, standard output and standard error of a run.
type Said = (i32, String, String);

impl TestFolder {
    /// `huge.ds` has four variables with rows but no elements, and a scalar; `axis.ds` and `few.ds` have elements along the same dimensions.
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        let huge = r#"".dims": ["n", "m"], ".size": [1000000000000000, 0]"#;
        let variables = [
            format!(r#""b": {{{huge}, ".type": "bool", ".missing": true}}"#),
            r#""s": {".size": [], ".type": "int8", ".len": 1}"#.to_owned(),
            format!(r#""u": {{{huge}, ".type": "unicode"}}"#),
            format!(r#""x": {{{huge}}}"#),
            format!(r#""y": {{{huge}, ".type": "int16", ".missing": true}}"#),
        ];
        place.put("huge.ds", &format!("{{{}}}", variables.join(", ")), b"\x07");
        place.put("few.ds", r#"{"w": {".dims": ["n"], ".size": [3], ".type": "int8"}}"#, b"\x01\x02\x03");
        place.put("axis.ds", r#"{"w": {".dims": ["m"], ".size": [3], ".type": "int8"}}"#, b"\x01\x02\x03");
        place
    }

    fn put(&self, name: &str, header: &str, body: &[u8]) {
        fs::write(self.0.path().join(name), [b"ds-1.0\n", header.as_bytes(), b"\n", body].concat()).unwrap();
    }

    /// Runs with a time limit. Output goes to a file, because it could be endless.
    #[track_caller]
    fn wharf(&self, arguments: &str) -> Said {
        const MOST: Duration = Duration::from_secs(60);
        let (out, err) = (self.0.path().join("stdout"), self.0.path().join("stderr"));
        let mut command = common::wharf(arguments.split(' '));
        command.current_dir(&self.0).stdin(Stdio::null());
        command.stdout(File::create(&out).unwrap()).stderr(File::create(&err).unwrap());
        let (mut child, start) = (command.spawn().unwrap(), Instant::now());
        let code = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status.code().unwrap_or(-1); // a signal
            }
            let printed = fs::metadata(&out).map_or(0, |found| found.len());
            if start.elapsed() > MOST || printed > 100 << 20 {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("wharf {arguments} had printed {printed} bytes after {:?}", start.elapsed());
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        (code, fs::read_to_string(out).unwrap(), fs::read_to_string(err).unwrap())
    }

    #[track_caller]
    fn done(&self, arguments: &str) -> String {
        let (code, out, err) = self.wharf(arguments);
        assert_eq!((code, err.as_str()), (0, ""), "wharf {arguments}");
        out
    }

    /// The error message of a run without output.
    #[track_caller]
    fn error(&self, arguments: &str) -> String {
        let (code, out, err) = self.wharf(arguments);
        assert!(out.is_empty() && [1, 2].contains(&code), "wharf {arguments}: {code} {out} {err}");
        err.trim_end().to_owned()
    }
}

#[test]
fn shows_zero_sized_variables() {
    let place = TestFolder::new();
    assert!(place.done("info huge.ds").contains("\n    n = 1000000000000000\n"));
    assert!(place.done("info huge.ds --json").contains("\"rows\":1000000000000000"));
    assert!(place.done("verify huge.ds").ends_with("ok\n"));
    let nothing = r#""count":0,"nulls":0,"nan":0,"distinct":null,"min":null"#;
    assert!(place.done("stats huge.ds x --json").contains(nothing));
    assert_eq!(place.done("stats huge.ds").lines().count(), 6);
    assert_eq!(place.done("get huge.ds x"), "");
    for arguments in ["", " --sel n=5", " --sel n=-5:", " --sel n=::2", " --sel n=7,999999999999999,7"] {
        let shown = place.done(&format!("get huge.ds x --json{arguments}"));
        assert_eq!(
            shown,
            if arguments.ends_with('7') {
                "[[],[],[]]\n"
            } else if arguments.ends_with("-5:") {
                "[[],[],[],[],[]]\n"
            } else {
                "[]\n"
            }
        );
    }
    let rows = r#"{"b":[],"u":[],"x":[],"y":[]}"#;
    assert_eq!(place.done("cat huge.ds --table n --rows 999999999999998.. --json"), format!("{rows}\n{rows}\n"));
    assert_eq!(place.done("cat huge.ds --table n --limit 1 --columns x --csv"), "x\n[]\n");
    assert_eq!(place.done("get huge.ds --table n --row 123456789012345"), format!("{rows}\n"));
    assert_eq!(place.done("cat huge.ds --table scalars"), "{\"s\":7}\n");
}

#[test]
fn rejects_impossible_row_counts() {
    let place = TestFolder::new();
    let rows = |rows: &str| {
        format!(
            "error: ds: huge.ds: rows and lists without elements in table \"n\" {rows} exceeds the limit 1048576 \
             (byte 13, column \"b\")"
        )
    };
    for verb in [
        "cat huge.ds",
        "cat huge.ds --csv",
        "cat huge.ds --pretty",
        "convert huge.ds out.jsonl",
        "convert huge.ds out.csv",
    ] {
        assert_eq!(place.error(&format!("{verb} --table n")), rows("4000000000000000"), "{verb}");
    }
    assert_eq!(place.error("convert huge.ds out.msgpack --table n --number"), rows("4000000000000000"));
    let left: Vec<_> = fs::read_dir(&place.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 5, "no output is left: {left:?}");
}

#[test]
fn writes_zero_sized_variables() {
    let place = TestFolder::new();
    let shape = |name: &str| {
        let reader = Reader::open(place.0.path().join("out.ds")).unwrap();
        reader.variable(name).unwrap().shape().unwrap().to_vec()
    };
    const ROWS: u64 = 1_000_000_000_000_000;
    for (verb, name, expected) in [
        ("convert huge.ds out.ds", "u", &[ROWS, 0][..]),
        ("rename huge.ds x=z -o out.ds", "z", &[ROWS, 0]),
        ("rm huge.ds x y -o out.ds", "b", &[ROWS, 0]),
        ("set huge.ds y b --type int32 -o out.ds", "b", &[ROWS, 0]),
        ("set huge.ds u --type str -o out.ds", "u", &[ROWS, 0]),
        ("merge huge.ds huge.ds --dim n -o out.ds", "y", &[2 * ROWS, 0]),
        ("merge huge.ds huge.ds --dim m -o out.ds", "b", &[ROWS, 0]),
        ("merge huge.ds huge.ds --dim k -o out.ds", "u", &[2, ROWS, 0]),
        ("merge huge.ds huge.ds --dim n --new k -o out.ds", "s", &[2]),
    ] {
        assert_eq!(place.done(&format!("{verb} --force")), "", "{verb}");
        assert_eq!(shape(name), expected, "{verb}");
        assert!(place.done("verify out.ds").ends_with("ok\n"), "{verb}");
    }
    for (one, other, dimension, bytes, lacks, column) in [
        ("huge.ds", "few.ds", "n", "125000000000000", "huge.ds", "w"),
        ("few.ds", "huge.ds", "n", "125000000000000", "huge.ds", "w"),
        ("huge.ds", "axis.ds", "m", "375000000000000", "axis.ds", "b"),
        ("axis.ds", "huge.ds", "m", "375000000000000", "axis.ds", "b"),
    ] {
        assert_eq!(
            place.error(&format!("merge {one} {other} --dim {dimension} -o out.ds --force")),
            format!(
                "error: ds: {lacks}: mask of missing elements in bytes {bytes} exceeds the limit 1073741824 (column \"{column}\")"
            )
        );
    }
}

#[test]
fn netcdf() {
    let place = TestFolder::new();
    for kind in ["classic", "64bit-offset", "cdf5"] {
        let error = place.error(&format!("convert huge.ds out.nc --nc-kind {kind}"));
        let expected = match kind {
            "cdf5" => "CDF-5 holds an unlimited or empty dimension only as the first of a variable, found \"m\" later",
            _ => "cannot hold dimension \"n\" of 1000000000000000",
        };
        assert!(error.contains(expected), "{error}");
    }
    // NetCDF-4 can store it in a few thousand bytes.
    let (code, _, err) = place.wharf("convert huge.ds out.nc --nc-kind netcdf4");
    assert!(code == 3 && err.lines().count() == 1 && err.contains("booleans of \"b\""), "{err}");
    assert!(fs::metadata(place.0.path().join("out.nc")).unwrap().len() < 20_000);
    assert_eq!(place.done("convert out.nc again.ds"), "");
    assert!(place.done("info again.ds").contains("n = 1000000000000000\n"));
    // A classic file with the maximum number of 32-bit records without variables, and a dimension of 2^31 - 1.
    let one = |tag: u8| [0, 0, 0, tag, 0, 0, 0, 1];
    let mut file = [&b"CDF\x01\xff\xff\xff\xfe\0\0\0\x0a\0\0\0\x02"[..], b"\0\0\0\x01r\0\0\0\0\0\0\0"].concat();
    file.extend_from_slice(b"\0\0\0\x01h\0\0\0\x7f\xff\xff\xff\0\0\0\0\0\0\0\0");
    let none = [&file[..], &[0; 8]].concat();
    file.extend(one(11));
    file.extend_from_slice(
        b"\0\0\0\x01x\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x60",
    );
    fs::write(place.0.path().join("none.nc"), &none).unwrap();
    assert_eq!(place.done("convert none.nc out.ds"), "");
    fs::write(place.0.path().join("records.nc"), &file).unwrap();
    let (code, _, err) = place.wharf("convert records.nc out.ds --force");
    assert!(code == 3 && err.contains("variable \"x\" left out: its 9223372028264841"), "{err}");
    // Without records it has no values, whatever the other dimension is.
    file.get_mut(4..8).unwrap().fill(0);
    fs::write(place.0.path().join("empty.nc"), &file).unwrap();
    assert_eq!(place.done("convert empty.nc out.ds --force"), "");
    assert!(place.done("info out.ds").contains("h = 2147483647\n"));
}
