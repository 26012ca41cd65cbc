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

/// A file as another program may write it: members that nobody knows, in its own order, with its own spelling.
fn strange() -> Reader {
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
fn what_is_not_touched_stays_byte_for_byte() {
    let reader = strange();
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
    let wanted = concat!(
        "ds-1.0\n",
        r#"{"a": {".dims": ["n"], ".size": [2], ".offset": 0, ".len": 4, ".type": "int16", ".missing": false, "#,
        r#"".endian": "b", "u": "m"}, "t": {"y": 1.50, ".new": [1], ".dims": ["n", "t"], ".size": [2, 3], ".offset": 4, "#,
        r#"".len": 6, ".type": "int8", ".missing": false, ".endian": "b", "x": 1E3}, ".": {"s": "\u00fc", "r": [1, 2]}}"#,
        "\n\u{0}\u{1}\u{0}\u{2}\u{1}\u{2}\u{3}\u{4}\u{5}\u{6}"
    );
    assert_eq!(text, wanted);
}

#[test]
fn dimensions_go_with_their_variables_and_values_get_new_ones() {
    let reader = strange();
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
    // Values of another number of sizes have no use for the names.
    let mut edit = Edit::new(&reader);
    edit.remove_variable("t").unwrap().set_values("a", Array::new([], vec![7u8]).unwrap());
    assert_eq!(open(write(&edit.into_builder())).variable("a").unwrap().dimensions(), [""; 0]);
}

#[test]
fn what_cannot_be_is_said() {
    let reader = strange();
    let mut edit = Edit::new(&reader);
    let fails = |edit: &Edit<'_>, change: &dyn Fn(&mut Edit<'_>) -> Option<Error>| {
        change(&mut edit.clone()).unwrap().to_string()
    };
    let rename =
        |pairs: &'static [(&str, &str)]| move |edit: &mut Edit<'_>| edit.rename_variables(pairs.iter().copied()).err();
    assert_eq!(fails(&edit, &rename(&[("b", "c")])), "ds: there is no variable \"b\"");
    assert_eq!(fails(&edit, &rename(&[("a", "t")])), "ds: there are two variables \"t\"");
    assert_eq!(fails(&edit, &rename(&[("a", "x"), ("t", "x")])), "ds: there are two variables \"x\"");
    assert_eq!(fails(&edit, &rename(&[("a", "x"), ("a", "y")])), "ds: there is no variable \"a\"");
    let dims =
        |pairs: &'static [(&str, &str)]| move |edit: &mut Edit<'_>| edit.rename_dimensions(pairs.iter().copied()).err();
    assert_eq!(fails(&edit, &dims(&[("b", "c")])), "ds: no variable has the dimension \"b\"");
    assert_eq!(fails(&edit, &dims(&[("t", "c"), ("t", "d")])), "ds: the dimension \"t\" gets two names");
    let attribute = |of: Option<&'static str>, pairs: &'static [(&str, &str)]| {
        move |edit: &mut Edit<'_>| edit.rename_attributes(of, pairs.iter().copied()).err()
    };
    assert_eq!(fails(&edit, &attribute(Some("a"), &[("x", "y")])), "ds: there are two attributes \"y\" (column \"a\")");
    assert_eq!(fails(&edit, &attribute(Some("a"), &[("z", "y")])), "ds: there is no attribute \"z\" (column \"a\")");
    assert_eq!(fails(&edit, &attribute(None, &[("z", "y")])), "ds: there is no attribute \"z\"");
    assert_eq!(fails(&edit, &attribute(Some("b"), &[("z", "y")])), "ds: there is no variable \"b\"");
    let own = "ds: the name \".size\" is the format's own, no attribute has it (column \"a\")";
    assert_eq!(fails(&edit, &attribute(Some("a"), &[("x", ".size")])), own);
    assert_eq!(edit.set_attribute(Some("a"), ".size", 1).unwrap_err().to_string(), own);
    assert!(edit.remove_attribute(Some("a"), ".dims").is_err() && edit.remove_dimension("z").is_err());
    // The dimension t has two sizes then.
    edit.set_values("t", Array::new([3], vec![1u8, 2, 3]).unwrap());
    assert!(edit.into_builder().validate().is_err());
}

#[test]
fn types_are_changed_exactly_or_not_without_a_word() {
    let array = |text: &str, data_type| Array::from_json(Json::parse(text).unwrap(), data_type);
    for (text, wanted) in [
        ("1", DataType::Int64),
        ("[-1, null]", DataType::Int64),
        ("[1, 18446744073709551615]", DataType::Uint64),
        ("[1, 2.0]", DataType::Float64),
        ("[1, NaN]", DataType::Float64),
        ("[true]", DataType::Bool),
        ("[[\"a\"], [\"b\"]]", DataType::Unicode),
        ("[]", DataType::Float64),
    ] {
        assert_eq!(array(text, None).unwrap().data_type(), wanted, "{text}");
    }
    assert_eq!(array("[[], []]", None).unwrap().shape(), [2, 0]);
    for (text, data_type, wanted) in [
        ("[[1, 2], [3]]", None, "the lists are no array: they are not equally long or deep at element 3"),
        ("[1, [2]]", None, "the lists are no array: they are not equally long or deep at element 1"),
        ("[[1], 2]", None, "the lists are no array: they are not equally long or deep at element 1"),
        ("[1, \"a\"]", None, "a value of the type unicode stands beside int64; say which type is meant (element 1)"),
        (
            "[-1, 18446744073709551615]",
            None,
            "a value of the type uint64 stands beside int64; say which type is meant (element 1)",
        ),
        ("[1, 300]", Some(DataType::Uint8), "the value 300 of element 1 is no uint8"),
        ("[1, 1.5]", Some(DataType::Int8), "element 1 is 1.5, which is no value of the type that is wanted"),
        ("[{}]", None, "element 0 is an object, which is no value of the type that is wanted"),
    ] {
        assert_eq!(array(text, data_type).unwrap_err().to_string(), wanted, "{text}");
    }
    let floats = array("[1.5, 16777217, NaN, null]", None).unwrap();
    let (narrow, rounded) = converted(floats.clone(), DataType::Float32).unwrap();
    assert_eq!((narrow.values().as_slice::<f32>().unwrap()[1], rounded), (16_777_216.0, 1));
    assert_eq!(converted(floats, DataType::Int8).unwrap_err().to_string(), "the value 1.5 of element 0 is no int8");
    let error = converted(array("[1e300]", None).unwrap(), DataType::Float32).unwrap_err().to_string();
    assert_eq!(error, "the value 1e300 of element 0 is no float32");
    assert!(converted(array("[\"1\"]", None).unwrap(), DataType::Int8).is_err());
    let bytes = converted(array("[\"\u{fc}\"]", None).unwrap(), DataType::Str).unwrap().0;
    assert_eq!(bytes.values().as_strings().unwrap().get(0), Some("\u{fc}".as_bytes()));
    for (one, other, wanted) in [
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
        assert_eq!(widest(one, other), wanted, "{one} {other}");
        assert_eq!(widest(other, one), wanted, "{other} {one}");
    }
}
