//! What is inferred, rule by rule.

use super::*;

/// The type of a JSON column `x` of these values; an empty text is a record without it.
fn kind(values: &[&str]) -> String {
    match attempt(values) {
        Ok(kind) => kind,
        Err(error) => error,
    }
}

fn attempt(values: &[&str]) -> Result<String, String> {
    let record = |value: &&str| if value.is_empty() { "{}\n".to_owned() } else { format!("{{\"x\":{value}}}\n") };
    let text: String = values.iter().map(record).collect();
    let columns = inferred(&lines(&text))?;
    assert_eq!(columns.len(), 1, "{columns:?}");
    Ok(columns[0].strip_prefix("x: ").unwrap().to_owned())
}

/// The type of a CSV column of these cells.
fn word(cells: &[&str]) -> String {
    let cell = |cell: &&str| format!("\"{}\",\n", cell.replace('"', "\"\""));
    let text: String = std::iter::once("x,y\n".to_owned()).chain(cells.iter().map(cell)).collect();
    inferred(&csv(&text)).unwrap()[0].strip_prefix("x: ").unwrap().to_owned()
}

#[test]
fn numbers() {
    assert_eq!(kind(&["1", "-2", "9223372036854775807", "-9223372036854775808"]), "Int64");
    assert_eq!(kind(&["0", "18446744073709551615"]), "UInt64");
    assert_eq!(kind(&["0", "9223372036854775808"]), "UInt64");
    assert_eq!(kind(&["-1", "9223372036854775808"]), "Double");
    assert_eq!(kind(&["18446744073709551616"]), "Double");
    assert_eq!(kind(&["0", "18446744073709551616"]), "Double");
    assert_eq!(kind(&["9223372036854775808", "-2"]), "Double");
    assert_eq!(kind(&["1.0"]), "Double");
    assert_eq!(kind(&["1", "2.5"]), "Double");
    assert_eq!(kind(&["1e3"]), "Double");
    assert_eq!(kind(&["9007199254740992", "0.5"]), "Double");
    assert_eq!(kind(&["1", "\"NaN\""]), "Double");
    assert_eq!(kind(&["1.5", "\"Infinity\"", "\"-Infinity\"", "null"]), "Double");
}

#[test]
fn numbers_and_null() {
    assert_eq!(kind(&["1", "null"]), "Double");
    assert_eq!(kind(&["1", ""]), "Double");
    assert_eq!(kind(&["1.5", ""]), "Double");
    assert_eq!(
        kind(&["9007199254740993", "1", "null"]),
        "a: the integer 9007199254740993 is no Double exactly, and an integer type cannot be missing (line 3); --schema \
         can say Text (byte 5, line 1, column \"x\")"
    );
}

#[test]
fn numbers_that_no_type_has() {
    assert_eq!(
        kind(&["-1", "1", "18446744073709551615"]),
        "a: the integer 18446744073709551615 is no Double exactly, and the integers are not all Int64 or all UInt64; \
         --schema can say Text (byte 22, line 3, column \"x\")"
    );
    assert_eq!(
        kind(&["0.5", "9007199254740993"]),
        "a: the integer 9007199254740993 stands beside floats (line 1) and is no Double exactly; --schema can say Text \
         (byte 15, line 2, column \"x\")"
    );
    assert_eq!(
        kind(&["\"NaN\"", "9007199254740993"]),
        "a: the integer 9007199254740993 stands beside floats (line 1) and is no Double exactly; --schema can say Text \
         (byte 17, line 2, column \"x\")"
    );
    assert_eq!(
        kind(&["1", "1e400"]),
        "a: the number 1e400 is greater than any Double; --schema can say Text (byte 13, line 2, column \"x\")"
    );
    let long = "1".repeat(60);
    let error = kind(&["-1", &long]);
    assert!(error.starts_with(&format!("a: the integer {}... is no Double", "1".repeat(40))), "{error}");
}

#[test]
fn bools_and_texts() {
    assert_eq!(kind(&["true", "false"]), "Boolean");
    assert_eq!(kind(&["true", "null"]), "Boolean (some missing, which ML.NET reads as false)");
    assert_eq!(kind(&["\"a\"", "\"\""]), "Text");
    assert_eq!(kind(&["\"a\"", "null"]), "Text (some missing, which ML.NET reads as empty)");
    assert_eq!(kind(&["\"NaN\""]), "Text");
    assert_eq!(kind(&["\"NaN\"", "\"a\""]), "Text");
    assert_eq!(kind(&["\"1\""]), "Text");
    assert_eq!(kind(&["null", "null"]), "Text (some missing, which ML.NET reads as empty)");
}

#[test]
fn a_bool_that_is_missing_is_of_the_older_type() {
    let table = lines("{\"x\":true}\n{}\n");
    let inferred = table.infer(None).unwrap();
    assert_eq!(inferred.columns(None).unwrap()[0].kind, Type::Item(idv::ItemType::DvBool));
}

#[test]
fn times() {
    let missing = "(some missing, which ML.NET reads as 0001-01-01T00:00:00)";
    assert_eq!(word(&["2020-02-29T00:00:00", "0001-01-01T00:00:00.0000001"]), "DateTime");
    assert_eq!(word(&["2020-02-29", "2020-02-29 00:00", "2020-02-29T00:00:00.10"]), "DateTime");
    assert_eq!(word(&["2020-02-29T00:00:00", ""]), format!("DateTime {missing}"));
    assert_eq!(word(&["2020-02-29T00:00:00Z", "2020-02-29T00:00:00-10:30"]), "DateTimeOffset");
    assert_eq!(word(&["2020-02-29T00:00:00+01:00", ""]), format!("DateTimeOffset {missing}"));
    assert_eq!(word(&["12:30", "12:30:59.5"]), "TimeSpan");
    assert_eq!(word(&["12:30", ""]), "TimeSpan (some missing, which ML.NET reads as 00:00:00)");
    for other in [
        "2021-02-29T00:00:00",
        "2020-02-29T00:00:00.00000001",
        "0000-02-29T00:00:00",
        "+10000-01-01T00:00:00",
        "2020-02-29T00:00:00+15:00",
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:00:00-01:00",
        "2020-02-29T00:00:00 ",
        "NaN",
    ] {
        assert_eq!(word(&[other]), "Text", "{other}");
        assert_eq!(word(&["2020-02-29T00:00:00", other]), "Text", "{other}");
    }
    assert_eq!(word(&["2020-02-29T00:00:00", "2020-02-29T00:00:00+01:00"]), "Text");
    // A string of JSON is a string.
    assert_eq!(kind(&["\"2020-02-29T00:00:00\""]), "Text");
    assert_eq!(kind(&["\"2020-02-29T00:00:00+01:00\"", "null"]), "Text (some missing, which ML.NET reads as empty)");
}

#[test]
fn kinds_that_have_no_type_in_common() {
    let detail = |found: &str, first: &str| {
        format!("a: {found} where line 1 has {first}: a column has one type; --schema can say which, such as Text")
    };
    assert_eq!(kind(&["1", "\"a\""]), detail("a text", "a number") + " (byte 13, line 2, column \"x\")");
    assert_eq!(kind(&["true", "0.5"]), detail("a number", "a bool") + " (byte 16, line 2, column \"x\")");
    assert_eq!(kind(&["[1]", "null", "1"]), detail("a number", "an array") + " (byte 26, line 3, column \"x\")");
    assert_eq!(kind(&["\"NaN\"", "true"]), detail("a bool", "a text") + " (byte 17, line 2, column \"x\")");
    // The first of each kind, and of more than two kinds the first two.
    assert_eq!(
        kind(&["\"a\"", "\"b\"", "1", "true"]),
        detail("a number", "a text") + " (byte 25, line 3, column \"x\")"
    );
}

#[test]
fn lines_of_other_inputs_are_named() {
    let table = table(TextTable::json_lines(), &["{\"x\":1}", "{\"x\":\"a\"}"]);
    assert_eq!(
        inferred(&table).unwrap_err(),
        "b: a text where line 1 of a has a number: a column has one type; --schema can say which, such as Text (byte 5, \
         line 1, column \"x\")"
    );
}

#[test]
fn objects() {
    assert_eq!(
        kind(&["{\"a\":1}"]),
        "a: an object where a value is wanted: --schema can say Text, which keeps its JSON (byte 5, line 1, column \"x\")"
    );
    assert_eq!(
        kind(&["[1]", "[{}]"]),
        "a: an object where a value is wanted: --schema can say Text, which keeps its JSON (byte 15, line 2, column \
         \"x\")"
    );
}

#[test]
fn vectors() {
    assert_eq!(kind(&["[1,2]", "[3,4]"]), "Vector<Int64, 2>");
    assert_eq!(kind(&["[1,2]", "[3]"]), "Vector<Int64>");
    assert_eq!(kind(&["[1,2]", "[0.5,\"NaN\"]"]), "Vector<Double, 2>");
    assert_eq!(kind(&["[1,null]"]), "Vector<Double, 2>");
    assert_eq!(kind(&["[1,2]", "[]"]), "Vector<Int64>");
    assert_eq!(kind(&["[1,2]", "null"]), "Vector<Int64>");
    assert_eq!(kind(&["[true]"]), "Vector<Boolean, 1>");
    assert_eq!(kind(&["[\"a\",null]"]), "Vector<Text, 2> (some missing, which ML.NET reads as empty)");
    assert_eq!(kind(&["[]", "[]"]), "Vector<Text>");
    assert_eq!(kind(&["[]", "null"]), "Vector<Text>");
    let error = kind(&["[1]", "[\"a\"]"]);
    assert!(error.starts_with("a: a text where line 1 has a number: "), "{error}");
}

#[test]
fn vectors_of_dimensions() {
    assert_eq!(kind(&["[[1,2],[3,4],[5,6]]"]), "Vector<Int64, 3, 2>");
    assert_eq!(kind(&["[[1,2]]", "[[3,4],[5,6]]"]), "Vector<Int64, *, 2>");
    assert_eq!(kind(&["[[1,2]]", "[]"]), "Vector<Int64, *, 2>");
    assert_eq!(kind(&["[[[1],[2]]]"]), "Vector<Int64, 1, 2, 1>");
    assert_eq!(
        kind(&["[[1,2]]", "[[1]]", "[[3]]"]),
        "a: the nested array has inner lengths [1], those of line 1 have [2] (byte 19, line 2, column \"x\")"
    );
    assert_eq!(
        kind(&["[[1]]", "[1]"]),
        "a: one of this array and that of line 1 is nested and the other is not (byte 17, line 2, column \"x\")"
    );
    assert_eq!(
        kind(&["[1]", "[[1],[2,3]]"]),
        "a: the arrays in an array differ in length or depth (byte 15, line 2, column \"x\")"
    );
}

#[test]
fn sparse_vectors() {
    let sparse = |length: u32, values: &str| {
        format!("{{\"$sparse\":{{\"length\":{length},\"indices\":[0],\"values\":[{values}]}}}}")
    };
    assert_eq!(kind(&[&sparse(22, "0.5")]), "Vector<Double, 22>");
    assert_eq!(kind(&[&sparse(2, "5"), "[1,2]"]), "Vector<Int64, 2>");
    assert_eq!(kind(&[&sparse(3, "5"), "[1,2]"]), "Vector<Int64>");
    assert_eq!(kind(&[&sparse(3, "\"a\"")]), "Vector<Text, 3>");
    let empty = "{\"$sparse\":{\"length\":0,\"indices\":[],\"values\":[]}}";
    assert_eq!(kind(&[empty, "[1,2]"]), "Vector<Int64>");
    assert_eq!(kind(&[empty, "[[1,2]]"]), "Vector<Int64, *, 2>");
    assert_eq!(
        kind(&["{\"$sparse\":{\"length\":3}}"]),
        "a: a $sparse vector has other members than length, indices and values (byte 5, line 1, column \"x\")"
    );
    assert_eq!(
        kind(&[&sparse(3, "[5]")]),
        "a: the values of a $sparse vector are nested (byte 5, line 1, column \"x\")"
    );
    // Another member makes it an object as others.
    assert!(kind(&["{\"$sparse\":{},\"b\":1}"]).starts_with("a: an object where"));
}

#[test]
fn words_are_what_all_of_them_are() {
    assert_eq!(word(&["1", "-2"]), "Int64");
    assert_eq!(word(&["1", ""]), "Double");
    assert_eq!(word(&["1", "18446744073709551615"]), "UInt64");
    assert_eq!(word(&["1", ".5", "1e5"]), "Double");
    assert_eq!(word(&["1", "NaN"]), "Double");
    assert_eq!(word(&["1", "007"]), "Text");
    assert_eq!(word(&["1", "+1"]), "Text");
    assert_eq!(word(&["1", " 1"]), "Text");
    assert_eq!(word(&["1", "a"]), "Text");
    assert_eq!(word(&["true", "FALSE", "False"]), "Boolean");
    assert_eq!(word(&["true", ""]), "Boolean (some missing, which ML.NET reads as false)");
    assert_eq!(word(&["true", "1"]), "Text");
    assert_eq!(word(&["", ""]), "Text");
    assert_eq!(word(&["a", ""]), "Text");
    assert_eq!(word(&["NaN", ""]), "Text");
    assert_eq!(word(&["2020-02-29T00:00:00"]), "DateTime");
    assert_eq!(word(&["2020-02-29"]), "DateTime");
}

#[test]
fn words_that_no_other_type_has_are_texts() {
    assert_eq!(word(&["-1", "18446744073709551615"]), "Text");
    assert_eq!(word(&["", "9007199254740993"]), "Text");
    assert_eq!(word(&["0.5", "9007199254740993"]), "Text");
    assert_eq!(word(&["1e400"]), "Text");
}

#[test]
fn words_that_are_arrays() {
    assert_eq!(word(&["[1,2]", "[3,4]"]), "Vector<Int64, 2>");
    assert_eq!(word(&["[1,2]", "", "{\"$sparse\":{\"length\":2,\"indices\":[],\"values\":[]}}"]), "Vector<Int64>");
    assert_eq!(word(&["[1,2]", "[\"a\"]"]), "Text");
    assert_eq!(word(&["[1,2]", "[[1],2]"]), "Text");
    assert_eq!(word(&["[1,2]", "[1,2"]), "Text");
    assert_eq!(word(&["[1,2]", "a"]), "Text");
    assert_eq!(word(&["{}"]), "Text");
    assert_eq!(word(&["[\"\\ud800\"]"]), "Text");
}
