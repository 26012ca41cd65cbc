use container_core::{OpenOptions, Source};

use super::*;
use crate::{Json, Mask};

fn write(builder: &Builder<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    builder.write_to(&mut out).unwrap();
    out
}

fn open(bytes: Vec<u8>) -> Reader {
    Reader::from_source(Source::from(bytes), OpenOptions::default()).unwrap()
}

/// A file as another program might write it: unknown members, unusual order and formatting.
fn foreign() -> Reader {
    let header = concat!(
        r#"{"a": {"x": 1.50, ".new": [1], ".dims": ["t", "n"], ".size": [2, 3], ".offset": 0, ".len": 6, ".type": "int8", "#,
        r#"".missing": false, ".endian": "b", "y": 1E3}, "t": {".dims": ["t"], ".size": [2], ".offset": 6, ".len": 4, "#,
        r#"".type": "int16", ".missing": false, ".endian": "b"}, ".": {"p": NaN, "q": "\u00fc", "r": 5}}"#
    );
    let mut bytes = format!("ds-1.0\n{header}\n").into_bytes();
    bytes.extend([1, 2, 3, 4, 5, 6, 0, 1, 0, 2]);
    open(bytes)
}

#[test]
fn keeps_bytes_of_everything_else() {
    let reader = foreign();
    let all = reader.source().read(0..reader.source().len()).unwrap();
    assert_eq!(write(&Edit::new(&reader).into_builder()), all);
    let mut edit = Edit::new(&reader);
    edit.rename_variables([("a", "t"), ("t", "a")]).unwrap().rename_dimensions([("t", "n"), ("n", "t")]).unwrap();
    edit.rename_attributes(Some("t"), [("x", "y"), ("y", "x")]).unwrap();
    edit.rename_attributes(None, [("q", "s")]).unwrap().remove_attribute(None, "p").unwrap();
    edit.set_attribute(None, "r", JsonBuf::parse("[1,2]").unwrap())
        .unwrap()
        .set_attribute(Some("a"), "u", "m")
        .unwrap();
    let text = String::from_utf8(write(&edit.into_builder())).unwrap();
    let expected = concat!(
        "ds-1.0\n",
        r#"{"a": {".dims": ["n"], ".size": [2], ".offset": 0, ".len": 4, ".type": "int16", ".missing": false, "#,
        r#"".endian": "b", "u": "m"}, "t": {"y": 1.50, ".new": [1], ".dims": ["n", "t"], ".size": [2, 3], ".offset": 4, "#,
        r#"".len": 6, ".type": "int8", ".missing": false, ".endian": "b", "x": 1E3}, ".": {"s": "\u00fc", "r": [1, 2]}}"#,
        "\n\u{0}\u{1}\u{0}\u{2}\u{1}\u{2}\u{3}\u{4}\u{5}\u{6}"
    );
    assert_eq!(text, expected);
}

#[test]
fn removes_dimensions_and_sets_values() {
    let reader = foreign();
    let mut edit = Edit::new(&reader);
    assert!(
        edit.has_dimension("n") && edit.has_attribute(Some("a"), ".new") && !edit.has_attribute(Some("a"), ".dims")
    );
    assert_eq!(edit.remove_dimension("n").unwrap(), ["a"]);
    assert!(!edit.has_dimension("n"));
    let values = Array::from_json(Json::parse("[0.5, null]").unwrap(), None).unwrap();
    edit.set_values("t", values.clone()).set_values("new", values).set_dimensions("new", ["t"]).unwrap();
    assert_eq!(edit.set_type("new", DataType::Float32).unwrap(), 0);
    let file = open(write(&edit.into_builder()));
    let t = file.variable("t").unwrap();
    assert_eq!(
        (t.data_type(), t.endian().name(), t.dimensions()),
        (Some(DataType::Float64), "b", &["t".to_owned()][..])
    );
    assert_eq!(t.read().unwrap().mask().unwrap(), &Mask::from_bools([false, true]));
    let new = file.variable("new").unwrap().read().unwrap();
    assert_eq!((new.values().as_slice::<f32>().unwrap()[0], new.missing()), (0.5, 1));
    // Dimension names are dropped when the number of sizes changes.
    let mut edit = Edit::new(&reader);
    edit.remove_variable("t").unwrap().set_values("a", Array::new([], vec![7u8]).unwrap());
    assert_eq!(open(write(&edit.into_builder())).variable("a").unwrap().dimensions(), [""; 0]);
}

#[test]
fn rejects_invalid_edits() {
    let reader = foreign();
    let mut edit = Edit::new(&reader);
    let fails = |edit: &Edit<'_>, change: &dyn Fn(&mut Edit<'_>) -> Option<Error>| {
        change(&mut edit.clone()).unwrap().to_string()
    };
    let rename =
        |pairs: &'static [(&str, &str)]| move |edit: &mut Edit<'_>| edit.rename_variables(pairs.iter().copied()).err();
    assert_eq!(fails(&edit, &rename(&[("b", "c")])), "ds: unknown variable \"b\"");
    assert_eq!(fails(&edit, &rename(&[("a", "t")])), "ds: duplicate variable \"t\"");
    assert_eq!(fails(&edit, &rename(&[("a", "x"), ("t", "x")])), "ds: duplicate variable \"x\"");
    assert_eq!(fails(&edit, &rename(&[("a", "x"), ("a", "y")])), "ds: unknown variable \"a\"");
    let dims =
        |pairs: &'static [(&str, &str)]| move |edit: &mut Edit<'_>| edit.rename_dimensions(pairs.iter().copied()).err();
    assert_eq!(fails(&edit, &dims(&[("b", "c")])), "ds: unknown dimension \"b\"");
    assert_eq!(fails(&edit, &dims(&[("t", "c"), ("t", "d")])), "ds: dimension \"t\" is renamed twice");
    let attribute = |of: Option<&'static str>, pairs: &'static [(&str, &str)]| {
        move |edit: &mut Edit<'_>| edit.rename_attributes(of, pairs.iter().copied()).err()
    };
    assert_eq!(fails(&edit, &attribute(Some("a"), &[("x", "y")])), "ds: duplicate attribute \"y\" (column \"a\")");
    assert_eq!(fails(&edit, &attribute(Some("a"), &[("z", "y")])), "ds: unknown attribute \"z\" (column \"a\")");
    assert_eq!(fails(&edit, &attribute(None, &[("z", "y")])), "ds: unknown attribute \"z\"");
    assert_eq!(fails(&edit, &attribute(Some("b"), &[("z", "y")])), "ds: unknown variable \"b\"");
    let reserved = "ds: attribute name \".size\" is reserved (column \"a\")";
    assert_eq!(fails(&edit, &attribute(Some("a"), &[("x", ".size")])), reserved);
    assert_eq!(edit.set_attribute(Some("a"), ".size", 1).unwrap_err().to_string(), reserved);
    assert!(edit.remove_attribute(Some("a"), ".dims").is_err() && edit.remove_dimension("z").is_err());
    // Dimension t has two different sizes now.
    edit.set_values("t", Array::new([3], vec![1u8, 2, 3]).unwrap());
    assert!(edit.into_builder().validate().is_err());
}

#[test]
fn converts_types_exactly_or_reports() {
    let array = |text: &str, data_type| Array::from_json(Json::parse(text).unwrap(), data_type);
    for (text, expected) in [
        ("1", DataType::Int64),
        ("[-1, null]", DataType::Int64),
        ("[1, 18446744073709551615]", DataType::Uint64),
        ("[1, 2.0]", DataType::Float64),
        ("[1, NaN]", DataType::Float64),
        ("[true]", DataType::Bool),
        ("[[\"a\"], [\"b\"]]", DataType::Unicode),
        ("[]", DataType::Float64),
    ] {
        assert_eq!(array(text, None).unwrap().data_type(), expected, "{text}");
    }
    assert_eq!(array("[[], []]", None).unwrap().shape(), [2, 0]);
    for (text, data_type, expected) in [
        ("[[1, 2], [3]]", None, "ragged lists: length or depth differs at element 3"),
        ("[1, [2]]", None, "ragged lists: length or depth differs at element 1"),
        ("[[1], 2]", None, "ragged lists: length or depth differs at element 1"),
        ("[1, \"a\"]", None, "mixed types int64 and unicode: give a type (element 1)"),
        ("[-1, 18446744073709551615]", None, "mixed types int64 and uint64: give a type (element 1)"),
        ("[1, 300]", Some(DataType::Uint8), "element 1 is 300, out of range for uint8"),
        ("[1, 1.5]", Some(DataType::Int8), "expected int8, found 1.5 (element 1)"),
        ("[{}]", None, "expected a value, found an object (element 0)"),
    ] {
        assert_eq!(array(text, data_type).unwrap_err().to_string(), expected, "{text}");
    }
    let floats = array("[1.5, 16777217, NaN, null]", None).unwrap();
    let (narrow, rounded) = converted(floats.clone(), DataType::Float32).unwrap();
    assert_eq!((narrow.values().as_slice::<f32>().unwrap()[1], rounded), (16_777_216.0, 1));
    assert_eq!(converted(floats, DataType::Int8).unwrap_err().to_string(), "element 0 is 1.5, out of range for int8");
    let error = converted(array("[1e300]", None).unwrap(), DataType::Float32).unwrap_err().to_string();
    assert_eq!(error, "element 0 is 1e300, out of range for float32");
    assert!(converted(array("[\"1\"]", None).unwrap(), DataType::Int8).is_err());
    let bytes = converted(array("[\"\u{fc}\"]", None).unwrap(), DataType::Str).unwrap().0;
    assert_eq!(bytes.values().as_strings().unwrap().get(0), Some("\u{fc}".as_bytes()));
    for (one, other, expected) in [
        (DataType::Int32, DataType::Int64, Some(DataType::Int64)),
        (DataType::Uint8, DataType::Int8, Some(DataType::Int16)),
        (DataType::Uint32, DataType::Int8, Some(DataType::Int64)),
        (DataType::Uint64, DataType::Int64, None),
        (DataType::Int16, DataType::Float32, Some(DataType::Float32)),
        (DataType::Int32, DataType::Float32, Some(DataType::Float64)),
        (DataType::Int64, DataType::Float64, None),
        (DataType::Bool, DataType::Int8, None),
        (DataType::Str, DataType::Unicode, None),
        (DataType::Str, DataType::Str, Some(DataType::Str)),
    ] {
        assert_eq!(widest(one, other), expected, "{one} {other}");
        assert_eq!(widest(other, one), expected, "{other} {one}");
    }
}
