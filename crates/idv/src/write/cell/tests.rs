use proptest::prelude::*;

use super::*;
use crate::schema::ColumnSchema;
use crate::wire::KeyWidth;

fn kind(text: &str) -> Type {
    text.parse().unwrap()
}

/// Converts a cell: its value, or the error.
fn push(kind: &str, cell: Cell<'_>) -> Result<Values, String> {
    push_labelled(kind, None, cell)
}

fn push_labelled(kind: &str, labels: Option<&KeyLabels>, cell: Cell<'_>) -> Result<Values, String> {
    let kind = self::kind(kind);
    let mut values = Values::of(&kind);
    match values.push_cell(&kind, labels, cell) {
        Ok(()) => Ok(values),
        Err(error) => {
            assert_eq!((error.kind().name(), values.len()), ("invalid", 0));
            Err(error.to_string())
        }
    }
}

#[track_caller]
fn no(kind: &str, cell: Cell<'_>, why: &str) {
    assert_eq!(push(kind, cell).unwrap_err(), why);
}

#[test]
fn integers_are_range_checked() {
    assert_eq!(push("SByte", Cell::Int(-128)), Ok(Values::SByte(vec![-128])));
    assert_eq!(push("Byte", Cell::Untyped(" 255 ")), Ok(Values::Byte(vec![255])));
    assert_eq!(push("Int16", Cell::Double(-3.0)), Ok(Values::Int16(vec![-3])));
    assert_eq!(push("UInt16", Cell::Single(3.0)), Ok(Values::UInt16(vec![3])));
    assert_eq!(push("Int32", Cell::Untyped("-3.0")), Ok(Values::Int32(vec![-3])));
    assert_eq!(push("UInt32", Cell::Untyped("1e3")), Ok(Values::UInt32(vec![1000])));
    assert_eq!(push("Int64", Cell::Int(i64::MIN.into())), Ok(Values::Int64(vec![i64::MIN])));
    assert_eq!(push("UInt64", Cell::Untyped("18446744073709551615")), Ok(Values::UInt64(vec![u64::MAX])));
    assert_eq!(push("UInt64", Cell::RowId(7)), Ok(Values::UInt64(vec![7])));
    no("Byte", Cell::Int(300), "300 does not fit Byte (0 to 255)");
    no("Byte", Cell::Double(300.0), "300 does not fit Byte (0 to 255)");
    no("SByte", Cell::Int(-129), "-129 does not fit SByte (-128 to 127)");
    no("UInt64", Cell::RowId(u128::MAX), &format!("{} does not fit UInt64 (0 to 18446744073709551615)", u128::MAX));
    no("Int32", Cell::Double(0.5), "expected Int32 (an integer from -2147483648 to 2147483647), found 0.5");
    no(
        "Int64",
        Cell::Untyped("9007199254740993.0"),
        "expected Int64 (an integer from -9223372036854775808 to 9223372036854775807), found \"9007199254740993.0\"",
    );
    no("Byte", Cell::Text("3"), "expected Byte (an integer from 0 to 255), found text \"3\"");
    no("Byte", Cell::Bool(true), "expected Byte (an integer from 0 to 255), found true");
    no("Byte", Cell::Missing, "Byte cannot be missing");
    no("Byte", Cell::Untyped("NaN"), "expected Byte (an integer from 0 to 255), found \"NaN\"");
}

#[test]
fn floats_are_rounded_once_and_integers_never() {
    assert_eq!(push("Single", Cell::Int(1 << 24)), Ok(Values::Single(vec![16_777_216.0])));
    assert_eq!(push("Single", Cell::Int((1 << 24) + 2)), Ok(Values::Single(vec![16_777_218.0])));
    assert_eq!(
        push("Single", Cell::Int(i128::MIN)).map(|v| v.len()),
        Err(format!("{} is not exactly representable as Single (24-bit significand)", i128::MIN))
    );
    assert_eq!(push("Single", Cell::Double(0.1)), Ok(Values::Single(vec![0.1])));
    assert_eq!(push("Double", Cell::Single(0.5)), Ok(Values::Double(vec![0.5])));
    assert_eq!(push("Double", Cell::Int(1 << 100)), Ok(Values::Double(vec![2f64.powi(100)])));
    assert_eq!(push("Single", Cell::Text("-Infinity")), Ok(Values::Single(vec![f32::NEG_INFINITY])));
    assert_eq!(push("Double", Cell::Untyped("inf")), Ok(Values::Double(vec![f64::INFINITY])));
    assert_eq!(push("Single", Cell::Double(f64::INFINITY)), Ok(Values::Single(vec![f32::INFINITY])));
    let nan = |values: Values| match values {
        Values::Single(v) => v[0].is_nan(),
        Values::Double(v) => v[0].is_nan(),
        _ => false,
    };
    for cell in [Cell::Missing, Cell::Text("NaN"), Cell::Untyped("NaN"), Cell::Double(f64::NAN), Cell::Single(f32::NAN)]
    {
        assert!(nan(push("Single", cell).unwrap()) && nan(push("Double", cell).unwrap()));
    }
    // Halfway between two floats but for the last digit: over an f64, it would be rounded the other way.
    let word = "1.00000005960464477539062500000000000000001";
    assert_eq!(push("Single", Cell::Untyped(word)), Ok(Values::Single(vec![1.000_000_1])));
    assert_eq!(push("Single", Cell::Double(word.parse().unwrap())), Ok(Values::Single(vec![1.0])));
    no("Single", Cell::Int((1 << 24) + 1), "16777217 is not exactly representable as Single (24-bit significand)");
    no(
        "Double",
        Cell::Int((1 << 53) + 1),
        "9007199254740993 is not exactly representable as Double (53-bit significand)",
    );
    no(
        "Single",
        Cell::Double(-1e39),
        "-1000000000000000000000000000000000000000 does not fit Single (up to 3.4028234663852886e38)",
    );
    no("Single", Cell::Untyped("1e39"), "1e39 does not fit Single (up to 3.4028234663852886e38)");
    no("Double", Cell::Untyped("1e309"), "1e309 does not fit Double (up to 1.7976931348623157e308)");
    no("Single", Cell::Text("1"), "expected Single (a number, NaN, Infinity or -Infinity), found text \"1\"");
    no("Single", Cell::Untyped("x"), "expected Single (a number, NaN, Infinity or -Infinity), found \"x\"");
    no("Single", Cell::Bool(false), "expected Single (a number, NaN, Infinity or -Infinity), found false");
}

#[test]
fn booleans_text_and_row_ids() {
    for (word, bool) in [("true", true), ("FALSE", false), ("1", true), ("0", false), (" True", true)] {
        assert_eq!(push("Boolean", Cell::Untyped(word)), Ok(Values::Boolean(vec![bool])));
        assert_eq!(push("DvBool", Cell::Untyped(word)), Ok(Values::DvBool(vec![Some(bool)])));
    }
    assert_eq!(push("Boolean", Cell::Bool(true)), Ok(Values::Boolean(vec![true])));
    assert_eq!(push("DvBool", Cell::Missing), Ok(Values::DvBool(vec![None])));
    no("Boolean", Cell::Missing, "Boolean cannot be missing (DvBool can)");
    no("Boolean", Cell::Untyped("yes"), "expected Boolean (true or false), found \"yes\"");
    no("Boolean", Cell::Int(1), "expected Boolean (true or false), found 1");
    no("Boolean", Cell::Text("true"), "expected Boolean (true or false), found text \"true\"");

    let mut texts = Values::of(&kind("Text"));
    for cell in [Cell::Text(" a"), Cell::Missing, Cell::Untyped("NaN")] {
        texts.push_cell(&kind("Text"), None, cell).unwrap();
    }
    let Values::Text(texts) = texts else { panic!("no texts") };
    assert_eq!(texts.iter().collect::<Vec<_>>(), [Some(" a"), None, Some("NaN")]);
    no("Text", Cell::Int(5), "expected Text, found 5");
    no("Text", Cell::Bool(true), "expected Text, found true");

    let id = "000000000000000100000000000000ff";
    assert_eq!(push("RowId", Cell::Text(id)), Ok(Values::RowId(vec![1 << 64 | 255])));
    assert_eq!(push("RowId", Cell::Untyped(&id.to_uppercase())), Ok(Values::RowId(vec![1 << 64 | 255])));
    assert_eq!(push("RowId", Cell::RowId(u128::MAX)), Ok(Values::RowId(vec![u128::MAX])));
    assert_eq!(push("RowId", Cell::Int(5)), Ok(Values::RowId(vec![5])));
    for (cell, found) in [
        (Cell::Int(-1), "-1"),
        (Cell::Text("ff"), "text \"ff\""),
        (Cell::Text(&"+f".repeat(16)), &format!("text {:?}", "+f".repeat(16))),
    ] {
        no("RowId", cell, &format!("expected RowId (32 hex digits, or a 128-bit number), found {found}"));
    }
    no("RowId", Cell::Missing, "RowId cannot be missing");
}

#[test]
fn times_are_text_or_ticks_in_range() {
    assert_eq!(push("TimeSpan", Cell::Text("-PT1S")), Ok(Values::TimeSpan(vec![-10_000_000])));
    assert_eq!(push("TimeSpan", Cell::Int(i64::MIN.into())), Ok(Values::TimeSpan(vec![i64::MIN])));
    assert_eq!(push("DvTimeSpan", Cell::Missing), Ok(Values::TimeSpan(vec![i64::MIN])));
    no("TimeSpan", Cell::Missing, "TimeSpan cannot be missing (DvTimeSpan can)");
    no(
        "DvTimeSpan",
        Cell::Int(i64::MIN.into()),
        "-9223372036854775808 does not fit TimeSpan (-9223372036854775807 to 9223372036854775807)",
    );
    no("TimeSpan", Cell::Double(1.0), "expected TimeSpan (such as PT12.5S, or ticks of 100 ns), found 1");
    assert!(push("TimeSpan", Cell::Untyped("soon")).unwrap_err().starts_with("invalid duration \"soon\": "));
    for name in ["DateTime", "DvDateTime"] {
        assert_eq!(push(name, Cell::Untyped("0001-01-02")), Ok(Values::DateTime(vec![864_000_000_000])));
        assert_eq!(push(name, Cell::Int(LAST_TICK.into())), Ok(Values::DateTime(vec![LAST_TICK])));
        assert_eq!(push(name, Cell::Missing), Ok(Values::DateTime(vec![i64::MIN])));
        let range = "does not fit DateTime (0001-01-01T00:00:00 to 9999-12-31T23:59:59.9999999)";
        no(name, Cell::Int(-1), &format!("-1 {range}"));
        no(name, Cell::Int((LAST_TICK + 1).into()), &format!("{} {range}", LAST_TICK + 1));
        no(name, Cell::Int(i128::MAX), &format!("{} {range}", i128::MAX));
        no(name, Cell::Text("+10000-01-01"), &format!("+10000-01-01 {range}"));
        no(name, Cell::Bool(true), "expected DateTime (such as 2020-12-31T23:59:59.5, or ticks of 100 ns), found true");
    }
    let zoned = |values: Values| match values {
        Values::DateTimeOffset(both) => (both.ticks[0], both.minutes[0]),
        other => panic!("{other:?}"),
    };
    for name in ["DateTimeOffset", "DvDateTimeZone"] {
        let time = DateTimeOffset::new(864_000_000_000, -90);
        assert_eq!(zoned(push(name, Cell::Time(time)).unwrap()), (time.ticks, -90));
        assert_eq!(zoned(push(name, Cell::Text("0001-01-02T00:00:00-01:30")).unwrap()), (time.ticks, -90));
        assert_eq!(zoned(push(name, Cell::Missing).unwrap()), (i64::MIN, i16::MIN));
        let range = "does not fit DateTimeOffset (0001-01-01T00:00:00 to 9999-12-31T23:59:59.9999999, local and in UTC; offsets up to 14:00)";
        no(name, Cell::Untyped("0001-01-01T00:00:00+00:01"), &format!("0001-01-01T00:00:00+00:01 {range}"));
        no(name, Cell::Untyped("2000-01-01T00:00:00+14:01"), &format!("2000-01-01T00:00:00+14:01 {range}"));
        no(name, Cell::Untyped("9999-12-31T23:59:59-00:01"), &format!("9999-12-31T23:59:59-00:01 {range}"));
        no(name, Cell::Int(5), "expected DateTimeOffset (such as 2020-12-31T23:59:59.5+01:00), found 5");
    }
}

#[test]
fn keys_without_labels_are_numbers_from_zero() {
    for (width, stored) in [
        ("Byte", Values::Byte(vec![3])),
        ("UInt16", Values::UInt16(vec![3])),
        ("UInt32", Values::UInt32(vec![3])),
        ("UInt64", Values::UInt64(vec![3])),
    ] {
        let kind = format!("Key<{width}, 3>");
        assert_eq!(push(&kind, Cell::Int(2)), Ok(stored.clone()));
        assert_eq!(push(&kind, Cell::Untyped("2")), Ok(stored.clone()));
        assert_eq!(push(&kind, Cell::Double(2.0)), Ok(stored));
        assert_eq!(push(&kind, Cell::Missing).unwrap().stored_key(0), Some(0));
        no(&kind, Cell::Int(3), &format!("key value 3 is out of range for {kind} (0 to 2)"));
        no(&kind, Cell::Int(-1), &format!("key value -1 is out of range for {kind} (0 to 2)"));
        no(&kind, Cell::Text("2"), &format!("label \"2\" for {kind}, which has no labels (KeyValues)"));
        no(&kind, Cell::Untyped("x"), &format!("expected {kind} (a label, or a key value from 0), found \"x\""));
        no(&kind, Cell::Bool(true), &format!("expected {kind} (a label, or a key value from 0), found true"));
    }
    let widest = format!("Key<UInt64, {}>", u64::MAX);
    assert_eq!(push(&widest, Cell::Int((u64::MAX - 1).into())), Ok(Values::UInt64(vec![u64::MAX])));
    // A key of an old file that has no count.
    let key = KeyType { count: 0, old: true, ..KeyType::new(KeyWidth::Byte, 1).unwrap() };
    let kind = Type::Item(ItemType::Key(key));
    let mut values = Values::of(&kind);
    values.push_cell(&kind, None, Cell::Int(254)).unwrap();
    let error = values.push_cell(&kind, None, Cell::Int(255)).unwrap_err();
    assert_eq!(error.to_string(), "key value 255 is out of range for Key<Byte> (0 to 254)");
    assert_eq!(values, Values::Byte(vec![255]));
}

fn text_labels(labels: &[&str]) -> KeyLabels {
    let column = ColumnSchema::new("k", kind("Key<Byte, 200>")).with_key_values(labels).unwrap();
    KeyLabels::of(&column).unwrap()
}

#[test]
fn labels_map_to_keys() {
    let labels = text_labels(&["red", "green", "5", "twin", "twin"]);
    let push = |cell| push_labelled("Key<Byte, 200>", Some(&labels), cell).map(|values| values.stored_key(0).unwrap());
    assert_eq!(labels.count(), 5);
    assert_eq!(push(Cell::Text("red")), Ok(1));
    assert_eq!(push(Cell::Untyped("green")), Ok(2));
    // A label first, then a number.
    assert_eq!(push(Cell::Untyped("5")), Ok(3));
    assert_eq!(push(Cell::Text("5")), Ok(3));
    assert_eq!(push(Cell::Int(5)), Ok(6));
    assert_eq!(push(Cell::Untyped("6")), Ok(7));
    assert_eq!(push(Cell::Missing), Ok(0));
    assert_eq!(push(Cell::Untyped("200")).unwrap_err(), "key value 200 is out of range for Key<Byte, 200> (0 to 199)");
    assert_eq!(
        push(Cell::Text("blue")).unwrap_err(),
        "unknown label \"blue\" (5 labels: \"red\", \"green\", \"5\", \"twin\")"
    );
    assert_eq!(
        push(Cell::Untyped("twin")).unwrap_err(),
        "ambiguous label \"twin\" of keys 3 and 4: use the key value from 0"
    );
    assert!(KeyLabels::of(&ColumnSchema::new("k", kind("Key<Byte, 200>"))).is_none());

    let many: Vec<String> = (0..100).map(|n| format!("label-{n:04}-{}", "x".repeat(n % 7))).collect();
    let labels = text_labels(&many.iter().map(String::as_str).collect::<Vec<_>>());
    let push = |text| push_labelled("Key<Byte, 200>", Some(&labels), Cell::Text(text)).unwrap_err();
    assert_eq!(
        push("LABEL-0010-xxx "),
        "unknown label \"LABEL-0010-xxx \" (100 labels; similar: \"label-0010-xxx\", \"label-0017-xxx\", \"label-0080-xxx\")"
    );
    assert_eq!(push("entirely different"), "unknown label \"entirely different\" (100 labels)");
}

/// Labels of other types match in any form of the cell.
#[test]
fn labels_can_be_numbers() {
    let column = |value_type: &str, json: &str| {
        let value_type = kind(value_type);
        let mut value = Values::of(&value_type);
        value.push_json(&value_type, None, json).unwrap();
        KeyLabels::new(&value_type, &value).unwrap()
    };
    let singles = column("Vector<Single>", "[0.1, 7, \"NaN\"]");
    let push = |cell| push_labelled("Key<Byte, 5>", Some(&singles), cell).map(|values| values.stored_key(0).unwrap());
    for cell in [Cell::Single(0.1), Cell::Double(0.1), Cell::Untyped("0.1"), Cell::Untyped("0.10")] {
        assert_eq!(push(cell), Ok(1), "{cell:?}");
    }
    for cell in [Cell::Int(7), Cell::Untyped("7"), Cell::Double(7.0)] {
        assert_eq!(push(cell), Ok(2), "{cell:?}");
    }
    assert_eq!(push(Cell::Text("NaN")), Ok(3));
    // Key values 3 and 4 have no label; 2 could be a label, but is not.
    assert_eq!(push(Cell::Int(4)), Ok(5));
    assert_eq!(push(Cell::Int(2)).unwrap_err(), "unknown label \"2.0\" (3 labels: \"0.1\", \"7.0\", \"NaN\")");
    assert_eq!(push(Cell::Text("x")).unwrap_err(), "unknown label \"x\" (3 labels: \"0.1\", \"7.0\", \"NaN\")");
    assert_eq!(push(Cell::Int(5)).unwrap_err(), "key value 5 is out of range for Key<Byte, 5> (0 to 4)");

    // Sparse: the default is the label of what is not stored.
    let sparse = column("Vector<Int32>", "{\"$sparse\":{\"length\":3,\"indices\":[0,2],\"values\":[5,6]}}");
    let push = |cell| push_labelled("Key<Byte, 5>", Some(&sparse), cell).map(|values| values.stored_key(0).unwrap());
    assert_eq!((push(Cell::Int(5)), push(Cell::Int(0)), push(Cell::Int(6))), (Ok(1), Ok(2), Ok(3)));
    let sparser = column("Vector<Text>", "{\"$sparse\":{\"length\":2147483647,\"indices\":[1],\"values\":[\"a\"]}}");
    assert_eq!(sparser.find("a").unwrap(), Some(1));
    assert!(sparser.find("").unwrap_err().to_string().starts_with("ambiguous label \"\" of keys 0 and 2"));
}

#[test]
fn rejects_values_of_another_type() {
    let mut values = Values::Byte(vec![1]);
    let error = values.push_cell(&kind("Single"), None, Cell::Single(1.0)).unwrap_err();
    assert_eq!(
        (error.kind().name(), error.to_string().as_str()),
        ("usage", "expected Byte values, found a value of type Single")
    );
    let error = values.push_cell(&kind("Key<UInt64, 300>"), None, Cell::Int(299)).unwrap_err();
    assert_eq!(error.to_string(), "key value 299 does not fit UInt64");
    let error = values.push_json(&kind("Vector<Byte>"), None, "[1]").unwrap_err();
    assert_eq!(error.to_string(), "expected Byte values, found a value of type Vector<Byte>");
    assert_eq!(values, Values::Byte(vec![1]));
}

fn json(kind: &str, text: &str) -> Result<Values, String> {
    let kind = self::kind(kind);
    let mut values = Values::of(&kind);
    values.push_json(&kind, None, "[]").ok();
    let before = values.clone();
    match values.push_json(&kind, None, text) {
        Ok(()) => Ok(values),
        Err(error) => {
            assert_eq!(error.kind().name(), "invalid", "{error}");
            assert_eq!((&values, values.len()), (&before, before.len()));
            Err(error.to_string())
        }
    }
}

#[test]
fn parses_scalars_from_json() {
    assert_eq!(json("Int64", " -9007199254740993 "), Ok(Values::Int64(vec![-9_007_199_254_740_993])));
    assert_eq!(json("UInt64", "18446744073709551615"), Ok(Values::UInt64(vec![u64::MAX])));
    assert_eq!(json("RowId", &u128::MAX.to_string()), Ok(Values::RowId(vec![u128::MAX])));
    assert_eq!(json("Byte", "3.0"), Ok(Values::Byte(vec![3])));
    assert_eq!(json("Single", "1.00000005960464477539062500000000000000001"), Ok(Values::Single(vec![1.000_000_1])));
    assert_eq!(json("Double", "-1.5e-7"), Ok(Values::Double(vec![-1.5e-7])));
    assert_eq!(json("Boolean", "true"), Ok(Values::Boolean(vec![true])));
    assert_eq!(json("DateTime", "\"0001-01-01\""), Ok(Values::DateTime(vec![0])));
    let Ok(Values::Text(texts)) = json("Text", r#""a\"\\\u00e9\ud83d\ude00""#) else { panic!("no text") };
    assert_eq!(texts.get(0), Some("a\"\\é😀"));
    for (kind, text, why) in [
        ("Text", "5", "expected Text, found 5"),
        ("Boolean", "1", "expected Boolean (true or false), found 1"),
        ("Byte", "null", "Byte cannot be missing"),
        ("Byte", "[1]", "expected Byte (an integer from 0 to 255), found an array"),
        ("Text", "{}", "expected Text, found an object"),
        (
            "Int64",
            "9007199254740993.0",
            "expected Int64 (an integer from -9223372036854775808 to 9223372036854775807), found 9007199254740992",
        ),
        ("Byte", "1 2", "invalid JSON: expected the end, found \"2\", at byte 2 of its JSON"),
        ("Byte", "", "invalid JSON: expected a value, found the end"),
        ("Byte", "01", "invalid JSON: expected the end, found \"1\", at byte 1 of its JSON"),
        ("Single", "1.", "invalid JSON: expected a number, found \"1.\""),
        ("Single", "-", "invalid JSON: expected a number, found \"-\""),
        ("Single", "1e", "invalid JSON: expected a number, found \"1e\""),
        ("Single", "+1", "invalid JSON: expected a value, found \"+1\""),
        ("Single", "NaN", "invalid JSON: expected a value, found \"NaN\""),
        ("Single", "1e39", "1e39 does not fit Single (up to 3.4028234663852886e38)"),
        ("Text", "\"a", "invalid JSON string \"\\\"a\": the end of a string: needs 1 byte, 0 available (byte 2)"),
    ] {
        assert_eq!(json(kind, text).unwrap_err(), why);
    }
    assert!(json("Text", "\"\\x\"").unwrap_err().starts_with("invalid JSON string \"\\\"\\\\x\\\"\": "));
    assert!(json("Text", "\"\n\"").unwrap_err().starts_with("invalid JSON string "));
}

/// The vectors after the first, which is empty if the type allows it.
fn vectors(kind: &str, text: &str) -> (u32, Option<Vec<u32>>, Vec<f32>) {
    let Values::Vector(vectors) = json(kind, text).unwrap() else { panic!("no vectors") };
    let vector = vectors.get(vectors.len() - 1).unwrap();
    let floats = vector.values.as_slice::<f32>().unwrap()[vector.range.clone()].to_vec();
    (vector.length, vector.indices.map(<[u32]>::to_vec), floats)
}

#[test]
fn parses_vectors_from_arrays_and_sparse_objects() {
    assert_eq!(vectors("Vector<Single>", "[]"), (0, None, vec![]));
    assert_eq!(vectors("Vector<Single>", " [ 1 , 2.5,\t-3e2\n] "), (3, None, vec![1.0, 2.5, -300.0]));
    assert_eq!(vectors("Vector<Single, 2, 2>", "[[1, 2], [3, 4]]"), (4, None, vec![1.0, 2.0, 3.0, 4.0]));
    assert_eq!(vectors("Vector<Single, 2, 2>", "[1, 2, 3, 4]"), (4, None, vec![1.0, 2.0, 3.0, 4.0]));
    assert_eq!(vectors("Vector<Single, 2, *, 1>", "[[[1], [2]], [[3], [4]]]"), (4, None, vec![1.0, 2.0, 3.0, 4.0]));
    assert_eq!(vectors("Vector<Single, *, *>", "[[], []]"), (0, None, vec![]));
    for text in [
        r#"{"$sparse":{"length":9,"indices":[0,8],"values":[1.0,2.0]}}"#,
        r#"{"$sparse":{"values":[1.0,2.0],"indices":[0,8],"length":9}}"#,
        r#" { "$sparse" : { "indices" : [ 0 , 8 ] , "length" : 9 , "values" : [ 1 , 2 ] } } "#,
    ] {
        assert_eq!(vectors("Vector<Single>", text), (9, Some(vec![0, 8]), vec![1.0, 2.0]));
        assert_eq!(vectors("Vector<Single, 3, 3>", text), (9, Some(vec![0, 8]), vec![1.0, 2.0]));
    }
    let text = r#"{"$sparse":{"length":9,"indices":[],"values":[]}}"#;
    assert_eq!(vectors("Vector<Single>", text), (9, Some(vec![]), vec![]));
    // As a cell of CSV.
    let Ok(Values::Vector(one)) = push("Vector<Single, 2>", Cell::Untyped("[1, 2]")) else { panic!("no vector") };
    assert_eq!(one.dense_length(), Some(2));
    no("Vector<Single, 2>", Cell::Int(1), "expected Vector<Single, 2> (an array), found 1");
    no("Vector<Single, 2>", Cell::Missing, "Vector<Single, 2> cannot be missing");
}

#[test]
fn rejects_invalid_vectors() {
    let sparse = |body: &str| format!("{{\"$sparse\":{body}}}");
    for (kind, text, why) in [
        ("Vector<Single, 28>", "[1, 2, 3]", "expected 28 items for Vector<Single, 28>, found 3"),
        ("Vector<Single, 28>", "null", "Vector<Single, 28> cannot be missing"),
        ("Vector<Single, 28>", "1", "expected Vector<Single, 28> (an array), found 1"),
        ("Vector<Single, 28>", "\"x\"", "expected Vector<Single, 28> (an array), found text \"x\""),
        ("Vector<Single>", "[[1]]", "expected 1 dimension, found arrays nested 2 deep, at byte 1 of its JSON"),
        (
            "Vector<Single>",
            "[1, [2]]",
            "inconsistent nesting: an array next to items at depth 1, at byte 4 of its JSON",
        ),
        ("Vector<Single, *, *>", "[[1], 2]", "inconsistent nesting: items at depth 1 and 2, at byte 6 of its JSON"),
        ("Vector<Single, *, *>", "[[], 2]", "inconsistent nesting: an item next to an array, at byte 5 of its JSON"),
        (
            "Vector<Single, 2, 2>",
            "[[1, 2], [3]]",
            "expected 2 items by the dimension, found 1 (array at depth 2), at byte 11 of its JSON",
        ),
        (
            "Vector<Single, 2, *>",
            "[[1, 2], [3]]",
            "expected 2 items as in its siblings, found 1 (array at depth 2), at byte 11 of its JSON",
        ),
        (
            "Vector<Single, 3, 2>",
            "[[1, 2], [3, 4]]",
            "expected 3 items by the dimension, found 2 (array at depth 1), at byte 15 of its JSON",
        ),
        ("Vector<Single, 2, 3>", "[1, 2, 3]", "expected 6 items for Vector<Single, 2, 3>, found 3"),
        (
            "Vector<Single, *, *, *>",
            "[[1]]",
            "expected 3 dimensions or a flat array, found arrays nested 2 deep, at byte 2 of its JSON",
        ),
        (
            "Vector<Single, *, *, *>",
            "[[]]",
            "expected 3 dimensions or a flat array, found arrays nested 2 deep, at byte 3 of its JSON",
        ),
        ("Vector<Single>", "[1,]", "invalid JSON: expected a value, found \"]\", at byte 3 of its JSON"),
        ("Vector<Single>", "[,1]", "invalid JSON: expected a value, found \",1]\", at byte 1 of its JSON"),
        ("Vector<Single>", "[1 2]", "invalid JSON: expected \",\" or \"]\", found \"2]\", at byte 3 of its JSON"),
        ("Vector<Single>", "[1", "invalid JSON: expected \",\" or \"]\", found the end, at byte 2 of its JSON"),
        ("Vector<Single>", "[1]]", "invalid JSON: expected the end, found \"]\", at byte 3 of its JSON"),
        ("Vector<Byte>", "[1, 300]", "300 does not fit Byte (0 to 255), at byte 4 of its JSON"),
        ("Vector<Byte>", "[1, null]", "Byte cannot be missing, at byte 4 of its JSON"),
        ("Vector<Byte>", "[1, {}]", "expected Byte (an integer from 0 to 255), found an object, at byte 4 of its JSON"),
        ("Vector<Byte>", "{}", "expected {\"$sparse\": {\"length\", \"indices\", \"values\"}}, found another object"),
        (
            "Vector<Byte>",
            &sparse("[]"),
            "expected {\"$sparse\": {\"length\", \"indices\", \"values\"}}, found another object",
        ),
        (
            "Vector<Byte>",
            &sparse("{\"size\":1}"),
            "unknown member \"size\" of $sparse (known: length, indices, values), at byte 12 of its JSON",
        ),
        ("Vector<Byte>", &sparse("{\"length\":1}"), "missing member \"indices\" of $sparse"),
        (
            "Vector<Byte>",
            &sparse("{\"length\":1,\"length\":1}"),
            "duplicate member \"length\" of $sparse, at byte 23 of its JSON",
        ),
        (
            "Vector<Byte>",
            &sparse("{\"values\":[1],\"values\":[1]}"),
            "duplicate member \"values\" of $sparse, at byte 25 of its JSON",
        ),
        (
            "Vector<Byte>",
            &sparse("{\"length\":-1}"),
            "length -1 is not between 0 and 2147483647, at byte 21 of its JSON",
        ),
        (
            "Vector<Byte>",
            &sparse("{\"length\":2,\"indices\":[0],\"values\":[]}"),
            "a sparse vector has 0 items for 1 slots",
        ),
        (
            "Vector<Byte>",
            &sparse("{\"length\":2,\"indices\":[2],\"values\":[7]}"),
            "slot 2 is not between 0 and 2 (not included)",
        ),
        (
            "Vector<Byte>",
            &sparse("{\"length\":3,\"indices\":[1,1],\"values\":[7,7]}"),
            "slot 1 is not between 2 and 3 (not included)",
        ),
        (
            "Vector<Byte, 4>",
            &sparse("{\"length\":3,\"indices\":[1],\"values\":[7]}"),
            "expected 4 items for Vector<Byte, 4>, found 3",
        ),
    ] {
        assert_eq!(json(kind, text).unwrap_err(), why, "{text}");
    }
    // Nesting is bounded by the type.
    assert!(json("Vector<Single, *, *>", &"[".repeat(100_000)).unwrap_err().starts_with("expected 2 dimensions"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Accepts exactly the arrays of numbers that serde_json accepts, with the same floats.
    #[test]
    fn accepts_the_same_json_as_serde_json(text in "(\\[|\\]|,| |-|[0-9]{1,3}|\\.|e|\"a\\\\n\"|null|true){1,12}") {
        let ours = json("Vector<Double>", &text);
        let library = serde_json::from_str::<Vec<Option<f64>>>(&text);
        match (&ours, &library) {
            (Ok(Values::Vector(vectors)), Ok(expected)) => {
                let vector = vectors.get(1).unwrap();
                let found = &vector.values.as_slice::<f64>().unwrap()[vector.range.clone()];
                let same = |(x, y): (&f64, &Option<f64>)| y.map_or(x.is_nan(), |y| (x - y).abs() <= y.abs() * 1e-14);
                prop_assert!(found.len() == expected.len() && found.iter().zip(expected).all(same), "{text}");
            }
            (Ok(_), Err(_)) => prop_assert!(false, "{text} was taken"),
            (Err(why), Ok(_)) => prop_assert!(false, "{text} was not taken: {why}"),
            _ => {}
        }
    }

    #[test]
    fn floats_in_json_keep_their_bits(floats in proptest::collection::vec(any::<f32>(), 0..20), doubles in proptest::collection::vec(any::<f64>(), 0..20)) {
        let floats: Vec<f32> = floats.into_iter().filter(|x| x.is_finite()).collect();
        let text = serde_json::to_string(&floats).unwrap();
        let bits = |x: &f32| x.to_bits();
        prop_assert!(vectors("Vector<Single>", &text).2.iter().map(bits).eq(floats.iter().map(bits)));
        for x in doubles.into_iter().filter(|x| x.is_finite()) {
            let Ok(Values::Double(read)) = json("Double", &serde_json::to_string(&x).unwrap()) else { panic!("{x}") };
            prop_assert_eq!(read[0].to_bits(), x.to_bits());
        }
    }

    #[test]
    fn arbitrary_json_does_not_panic(text in "(\\[|\\]|\\{|\\}|,|:|[0-9]|\"(\\$sparse|length|indices|values)\"|null|é){0,20}") {
        for kind in ["Vector<Single, 2, *>", "Vector<Text>", "Key<Byte, 3>", "Vector<Key<Byte, 3>, 3>"] {
            let _ = json(kind, &text);
        }
    }
}
