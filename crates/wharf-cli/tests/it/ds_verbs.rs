//! `wharf rename`, `rm`, `set` and `merge` on ds files.

use std::fs;

use dsfmt::{Array, Builder, DataType, Field, JsonBuf, Mask, OutputOptions, Reader};
use tempfile::TempDir;

use crate::common::run;

fn path(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).into_os_string().into_string().unwrap()
}

/// Two days of data for one location.
fn day(folder: &TempDir, name: &str, first: f32) -> String {
    let path = path(folder, name);
    let mut builder = Builder::new();
    let tas = Array::new([2, 2], vec![first, 1.5, 0.0, 2.5]).unwrap();
    let tas = tas.with_mask(Mask::from_bools([false, false, true, false])).unwrap();
    let range = JsonBuf::list([f64::NAN.into(), 330.into()]);
    builder
        .attribute("title", name)
        .field(
            "tas",
            Field::new(tas).with_attribute("units", "K").with_dimensions(["time", "x"]).with_attribute("range", range),
        )
        .field("time", Field::new(Array::new([2], vec![1i32, 2]).unwrap()).with_dimensions(["time"]))
        .field("x=y", Field::new(Array::new([], vec![7u8]).unwrap()).with_dimensions([""; 0]));
    builder.write(&path, OutputOptions::default()).unwrap();
    path
}

fn header(path: &str) -> String {
    String::from_utf8_lossy(fs::read(path).unwrap().split(|byte| *byte == b'\n').nth(1).unwrap()).into_owned()
}

fn stored(path: &str, name: &str) -> Vec<u8> {
    let reader = Reader::open(path).unwrap();
    let variable = reader.variable(name).unwrap();
    let start = reader.body_offset() + variable.offset();
    reader.source().read(start..start + variable.stored_bytes()).unwrap().to_vec()
}

#[test]
fn renames_variables_dimensions_and_attributes() {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (day(&folder, "day.ds", 1.0), path(&folder, "out.ds"));
    let before = header(&file);
    // As in the reference, the dimension with the variable's name is renamed too.
    assert_eq!(run(["rename", &file, "time=tt", "x=y=z", "tas@units=unit", "@title=name", "-o", &out]).ok(), "");
    let expected = before.replace("\"time\"", "\"tt\"").replace("\"x=y\"", "\"z\"").replace("\"units\"", "\"unit\"");
    // Variables keep their order.
    assert_eq!(header(&out), expected.replace("\"title\"", "\"name\""));
    assert_eq!((stored(&out, "tas"), stored(&out, "tt")), (stored(&file, "tas"), stored(&file, "time")));
    assert_eq!(run(["rename", &file, "time=t", "--dims", "-o", &out, "--force"]).ok(), "");
    assert_eq!(header(&out), before.replace("[\"time\"", "[\"t\""));
    // Renaming twice in place restores the file.
    let whole = fs::read(&file).unwrap();
    assert_eq!(run(["rename", &file, "tas=time", "time=tas", "--in-place"]).ok(), "");
    assert_ne!(fs::read(&file).unwrap(), whole);
    let ran = run(["rename", &file, "tas=time", "time=tas", "--in-place", "--json"]);
    assert_eq!(ran.lines()[0]["variables"], 3);
    assert_eq!(fs::read(&file).unwrap(), whole);
}

#[test]
fn refuses_invalid_edits() {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (day(&folder, "day.ds", 1.0), path(&folder, "out.ds"));
    let whole = fs::read(&file).unwrap();
    for (arguments, expected) in [
        (vec!["rename", &file, "none=t", "-o", &out], "unknown variable \"none\""),
        (vec!["rename", &file, "time=tas", "-o", &out], "duplicate variable \"tas\""),
        (vec!["rename", &file, "time", "-o", &out], "expected OLD=NEW, found \"time\""),
        (vec!["rename", &file, "time=t", "-o", &file, "--force"], "the output is the input"),
        (vec!["rename", &file, "time=t"], "--output <OUT>|--in-place"),
        (vec!["rm", &file, "none", "-o", &out], "unknown variable \"none\""),
        (vec!["rm", &file, "tas@none", "-o", &out], "unknown attribute \"none\" (column \"tas\")"),
        (vec!["rm", &file, "--dim", "none", "-o", &out], "unknown dimension \"none\""),
        (vec!["set", &file, "tas@.size=1", "-o", &out], "attribute name \".size\" is reserved"),
        (vec!["set", &file, "tas", "-o", &out], "nothing to set for \"tas\""),
        (vec!["set", &file, "x=y=300", "-o", &out], "element 0 is 300, out of range for uint8"),
        (vec!["set", &file, "new=[1]", "--dims", "x", "-o", &out], "dimension \"x\" has size"),
        (vec!["set", &file, "@a=1", "--type", "int8", "-o", &out], "--type and --dims require a variable"),
        (vec!["merge", &file, "-o", &out], "--dim selects it"),
        (
            vec!["merge", &file, "--dim", "time", "--columns", "a", "-o", &out],
            "--columns is an option of IDV, the inputs are ds",
        ),
    ] {
        let ran = run(&arguments);
        assert_eq!((ran.code(), ran.out()), (2, ""), "{arguments:?} {}", ran.err());
        assert!(ran.err().contains(expected), "{arguments:?} {}", ran.err());
    }
    assert_eq!(fs::read(&file).unwrap(), whole);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    fs::write(&out, "no container").unwrap();
    assert_eq!(run(["rm", &out, "a", "--in-place"]).code(), 1);
}

#[test]
fn removes_variables_dimensions_and_attributes() {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (day(&folder, "day.ds", 1.0), path(&folder, "out.ds"));
    assert_eq!(run(["rm", &file, "x=y", "tas@range", "@title", "-o", &out]).ok(), "");
    let reader = Reader::open(&out).unwrap();
    assert_eq!(reader.variables().map(|variable| variable.name()).collect::<Vec<_>>(), ["tas", "time"]);
    assert_eq!((reader.attributes().count(), reader.variable("tas").unwrap().attributes().count()), (0, 1));
    assert_eq!(stored(&out, "tas"), stored(&file, "tas"));
    assert_eq!(run(["rm", &file, "--dim", "x", "-o", &out, "--force"]).ok(), "");
    assert_eq!(Reader::open(&out).unwrap().len(), 2);
    assert_eq!(run(["verify", &out]).code(), 0);
}

#[test]
fn sets_values_types_and_attributes() {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (day(&folder, "day.ds", 0.1), path(&folder, "out.ds"));
    let ran = run(["set", &file, "@title=A day", "@n=42", "tas@range=[1, Infinity]", "time=[3, null]", "-o", &out]);
    assert_eq!(ran.ok(), "");
    let text = header(&out);
    assert!(
        text.contains(r#""range": [1, Infinity]"#) && text.ends_with(r#"".": {"title": "A day", "n": 42}}"#),
        "{text}"
    );
    assert_eq!(stored(&out, "tas"), stored(&file, "tas"));
    let reader = Reader::open(&out).unwrap();
    let time = reader.variable("time").unwrap().read().unwrap();
    assert_eq!((time.values().as_slice::<i32>().unwrap()[0], time.missing()), (3, 1));
    let ran = run(["set", &file, "new=[\"a\", \"b\"]", "--dims", "x", "-o", &out, "--force"]);
    assert_eq!(ran.ok(), "");
    let reader = Reader::open(&out).unwrap();
    assert_eq!(reader.variable("new").unwrap().data_type(), Some(DataType::Unicode));
    // A 32-bit 0.1 is exact in 64 bits, but not the reverse.
    assert_eq!(run(["set", &file, "tas", "--type", "float64", "-o", &out, "--force"]).ok(), "");
    let wide = Reader::open(&out).unwrap().variable("tas").unwrap().read().unwrap().into_owned();
    assert_eq!(wide.values().as_slice::<f64>().unwrap()[0], f64::from(0.1f32));
    assert_eq!(run(["set", &out, "tas=[[0.1, 1], [null, 2]]", "--in-place"]).ok(), "");
    let ran = run(["set", &out, "tas", "--type", "float32", "--in-place"]);
    assert_eq!((ran.code(), ran.err()), (3, &*format!("warning: {out}: value rounded to float32 (column \"tas\")\n")));
}

#[test]
fn creates_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(&folder, "new.ds");
    let ran = run(["set", &out, "x=1", "--in-place"]);
    assert_eq!(ran.code(), 1);
    assert!(ran.err().contains("cannot open (--create creates it)"), "{}", ran.err());
    let all = ["set", &out, "x=[1, null]", "@title=T", "--type", "float32", "--dims", "time", "--create"];
    assert_eq!(run(all).ok(), "");
    assert!(header(&out).ends_with(r#"".": {"title": "T"}}"#), "{}", header(&out));
    assert_eq!(run(["get", &out, "x", "--json"]).ok(), "[1.0,null]\n");
    let before = fs::read(&out).unwrap();
    let ran = run(all);
    assert_eq!(ran.code(), 2);
    assert!(ran.err().contains("the output exists"), "{}", ran.err());
    assert_eq!(run(["set", &out, "x=1", "--create", "-o", &out]).code(), 2);
    assert_eq!(fs::read(&out).unwrap(), before);
    assert_eq!(run(["set", &out, "y=1", "--create", "--force"]).ok(), "");
    assert_eq!(Reader::open(&out).unwrap().len(), 1);
}

#[test]
fn merges_days_into_a_week() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two, out) = (day(&folder, "a.ds", 1.0), day(&folder, "b.ds", 5.0), path(&folder, "out.ds"));
    let ran = run(["merge", &one, &two, "--dim", "time", "-o", &out]);
    // The titles differ.
    assert_eq!((ran.code(), ran.err()), (3, "warning: attribute of the dataset differs: the last value is kept\n"));
    let reader = Reader::open(&out).unwrap();
    assert_eq!(reader.attributes().get("title").unwrap().as_str().unwrap(), "b.ds");
    let tas = reader.variable("tas").unwrap().read().unwrap();
    assert_eq!((tas.shape(), tas.missing()), (&[4, 2][..], 2));
    assert_eq!(tas.values().as_slice::<f32>().unwrap(), [1.0, 1.5, 0.0, 2.5, 5.0, 1.5, 0.0, 2.5]);
    assert_eq!(stored(&out, "x=y"), [7]);
    assert_eq!(run(["set", &one, "@title=b.ds", "--in-place"]).ok(), "");
    assert_eq!(run(["merge", &one, &two, "--dim", "run", "-o", &out, "--force"]).ok(), "");
    let reader = Reader::open(&out).unwrap();
    assert_eq!(reader.variable("tas").unwrap().shape(), Some(&[2, 2, 2][..]));
    assert_eq!(reader.variable("x=y").unwrap().dimensions(), ["run"]);
    let other = path(&folder, "c.ds");
    assert_eq!(run(["set", &two, "time", "--type", "float64", "-o", &other]).ok(), "");
    assert_eq!(run(["merge", &one, &other, "--dim", "time", "-o", &out, "--force"]).ok(), "");
    assert_eq!(Reader::open(&out).unwrap().variable("time").unwrap().data_type(), Some(DataType::Float64));
    assert_eq!(run(["set", &two, "time=[\"a\", \"b\"]", "--type", "unicode", "-o", &other, "--force"]).ok(), "");
    let ran = run(["merge", &one, &other, "--dim", "time", "-o", &out, "--force"]);
    assert_eq!(ran.code(), 1);
    assert!(ran.err().contains("c.ds: no type holds both unicode and int32 of earlier datasets"), "{}", ran.err());
}

/// Values are copied byte for byte; content that `verify` rejects is reported.
#[test]
fn reports_kept_strings_that_are_not_utf8() {
    let folder = tempfile::tempdir().unwrap();
    let header = concat!(
        r#"{"a": {".dims": ["x"], ".size": [2], ".type": "unicode", ".endian": "l", ".len": 19}, "#,
        r#""b": {".dims": ["y"], ".size": [1], ".offset": 19, ".len": 1, ".type": "int8"}, ".": {"t": 1}}"#
    );
    let body = [&1u64.to_le_bytes()[..], &2u64.to_le_bytes(), b"\xc3\xbcx\x07"].concat();
    let (bad, out) = (path(&folder, "bad.ds"), path(&folder, "out.ds"));
    let bytes = [b"ds-1.0\n", header.as_bytes(), b"\n", &body].concat();
    fs::write(&bad, &bytes).unwrap();
    let text = "bad.ds: copied although verification rejects it: element 0 is not valid UTF-8 at byte 0 (2 times";
    for arguments in [
        vec!["set", &bad, "@t=2", "-o", &out],
        vec!["set", &bad, "@t=2", "--in-place"],
        vec!["rm", &bad, "@t", "-o", &out],
        vec!["rename", &bad, "a=c", "-o", &out],
    ] {
        fs::write(&bad, &bytes).unwrap();
        let _ = fs::remove_file(&out);
        let ran = run(&arguments);
        assert!(ran.code() == 3 && ran.err().contains(text), "{arguments:?}: {}", ran.err());
        let written = if arguments.contains(&"--in-place") { &bad } else { &out };
        assert_eq!(run(["verify", written]).code(), 1, "{arguments:?}");
    }
    // `merge` reads all values; omitted variables are not copied.
    fs::write(&bad, &bytes).unwrap();
    let ran = run(["merge", &bad, "--dim", "y", "-o", &out, "--force"]);
    assert!(ran.code() == 1 && ran.err().contains("is not valid UTF-8 at byte 0"), "{ran:?}");
    assert_eq!(run(["rm", &bad, "a", "-o", &out, "--force"]).ok(), "");
    run(["verify", &out]).ok();
}
