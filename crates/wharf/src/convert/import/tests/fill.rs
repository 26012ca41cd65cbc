//! Values given types by a schema.

use super::*;

fn into(table: &TextTable, types: &[(&str, &str)]) -> Result<(Vec<String>, Vec<String>), String> {
    written(table, schema(types), &Take::default())
}

fn one(value: &str, kind: &str) -> Result<String, String> {
    let (rows, losses) = into(&lines(&format!("{{\"x\":{value}}}")), &[("x", kind)])?;
    assert_eq!(losses, Vec::<String>::new());
    Ok(rows[0].strip_prefix("{\"x\":").unwrap().strip_suffix('}').unwrap().to_owned())
}

fn word(cell: &str, kind: &str) -> Result<String, String> {
    let text = format!("x,y\n\"{}\",\n", cell.replace('"', "\"\""));
    let (rows, _) = into(&csv(&text), &[("x", kind), ("y", "Text")])?;
    Ok(rows[0].strip_prefix("{\"x\":").unwrap().strip_suffix(",\"y\":null}").unwrap().to_owned())
}

#[test]
fn values_keep_what_they_are() {
    for (value, kind) in [
        ("1", "Byte"),
        ("-9223372036854775808", "Int64"),
        ("18446744073709551615", "UInt64"),
        ("0.1", "Single"),
        ("0.1", "Double"),
        ("\"-Infinity\"", "Double"),
        ("\"NaN\"", "Single"),
        ("true", "Boolean"),
        ("null", "DvBool"),
        ("null", "Text"),
        ("\"a\\\"\\n\"", "Text"),
        ("\"2020-02-29T00:00:00.5\"", "DateTime"),
        ("\"2020-02-29T00:00:00-10:00\"", "DateTimeOffset"),
        ("\"PT12.5S\"", "TimeSpan"),
        ("\"0123456789abcdef0123456789abcdef\"", "RowId"),
        ("2", "Key<Byte, 3>"),
        ("null", "Key<Byte, 3>"),
        ("[1,2]", "Vector<Byte>"),
        ("[]", "Vector<Byte>"),
        ("[0.1,\"NaN\"]", "Vector<Single, 2>"),
        ("{\"$sparse\":{\"length\":9,\"indices\":[3],\"values\":[0.5]}}", "Vector<Single, 9>"),
    ] {
        assert_eq!(one(value, kind), Ok(value.to_owned()), "{kind}");
        let cell = value.trim_matches('"').replace("\\\"\\n", "\"\n");
        if value != "null" {
            assert_eq!(word(&cell, kind), Ok(value.to_owned()), "{kind}");
        }
    }
    assert_eq!(one("[[1,2],[3,4]]", "Vector<Byte, 2, 2>"), Ok("[1,2,3,4]".to_owned()));
    assert_eq!(one("null", "Single"), Ok("\"NaN\"".to_owned()));
    assert_eq!(word("", "Single"), Ok("\"NaN\"".to_owned()));
    assert_eq!(word("", "Text"), Ok("\"\"".to_owned()));
    assert_eq!(word("", "Key<Byte, 3>"), Ok("null".to_owned()));
}

#[test]
fn texts_take_everything() {
    for (value, text) in [
        ("17", "\"17\""),
        ("1e400", "\"1e400\""),
        ("true", "\"true\""),
        ("[1, 2]", "\"[1, 2]\""),
        ("{\"a\":\"b\"}", "\"{\\\"a\\\":\\\"b\\\"}\""),
    ] {
        assert_eq!(one(value, "Text"), Ok(text.to_owned()));
    }
    assert_eq!(word("007", "Text"), Ok("\"007\"".to_owned()));
}

#[test]
fn values_that_do_not_fit_are_named() {
    let told = |value: &str, kind: &str| one(value, kind).unwrap_err();
    assert_eq!(told("300", "Byte"), "a: 300 does not fit Byte (0 to 255) (byte 5, line 1, column \"x\")");
    assert_eq!(told("null", "Int64"), "a: Int64 cannot be missing (byte 5, line 1, column \"x\")");
    assert_eq!(
        told("3", "Key<Byte, 3>"),
        "a: key value 3 is not one of Key<Byte, 3> (0 to 2) (byte 5, line 1, column \"x\")"
    );
    let error = told("\"x\"", "Single");
    assert!(error.starts_with("a: text \"x\" where Single"), "{error}");
    assert!(error.ends_with(" (byte 5, line 1, column \"x\")"), "{error}");
    let error = told("[1,256]", "Vector<Byte>");
    assert!(error.starts_with("a: 256 does not fit Byte (0 to 255)"), "{error}");
    let error = told("[1]", "Vector<Byte, 2>");
    assert!(error.starts_with("a: a vector of 1 items where Vector<Byte, 2> has 2"), "{error}");
    let error = word("[1,256]", "Vector<Byte>").unwrap_err();
    assert!(error.starts_with("a: 256 does not fit Byte (0 to 255)"), "{error}");
    assert!(error.ends_with(" (byte 4, line 2, column \"x\")"), "{error}");
    let error = word("x", "Int32").unwrap_err();
    assert!(error.starts_with("a: \"x\" where Int32") && error.ends_with(" (byte 4, line 2, column \"x\")"), "{error}");
}

#[test]
fn columns_that_the_input_does_not_have() {
    let text = "{\"a\":1}\n";
    assert_eq!(into(&lines(text), &[("b", "Text"), ("a", "Byte")]).unwrap().0, ["{\"b\":null,\"a\":1}"]);
    assert_eq!(
        into(&lines(text), &[("b", "Byte"), ("a", "Byte")]).unwrap_err(),
        "a: no value, and Byte cannot be missing (byte 0, line 1, column \"b\")"
    );
    assert_eq!(into(&csv("a\n1\n"), &[("b", "Single"), ("a", "Byte")]).unwrap().0, ["{\"b\":\"NaN\",\"a\":1}"]);
    let (rows, losses) = into(&lines(text), &[("b", "Vector<Byte>"), ("a", "Byte")]).unwrap();
    assert_eq!(rows, ["{\"b\":[],\"a\":1}"]);
    assert_eq!(losses, ["a: null written as an empty vector (byte 0, line 1, column \"b\")"]);
    let error = into(&lines("{\"b\":null}"), &[("b", "Vector<Byte, 2>")]).unwrap_err();
    assert_eq!(error, "a: Vector<Byte, 2> cannot be missing (byte 5, line 1, column \"b\")");
}

#[test]
fn members_that_are_no_columns_are_told() {
    let text = "{\"a\":1,\"b\":2,\"c\":3}\n{\"a\":1}\n{\"a\":1,\"b\":2}\n";
    let (rows, losses) = into(&lines(text), &[("a", "Byte")]).unwrap();
    assert_eq!(rows.len(), 3);
    assert_eq!(
        losses,
        [
            "a: column left out: the schema does not have it (2 times, first byte 11, line 1, column \"b\")",
            "a: column left out: the schema does not have it (byte 17, line 1, column \"c\")"
        ]
    );
    let take = Take::default().with_leave_out(["b".to_owned(), "c".to_owned()]);
    let (_, losses) = written(&lines(text), schema(&[("a", "Byte")]), &take).unwrap();
    assert_eq!(losses, Vec::<String>::new());
    let (_, losses) = into(&csv("a,b\n1,2\n1,2\n"), &[("a", "Byte")]).unwrap();
    assert_eq!(
        losses,
        ["a: column left out: the schema does not have it (2 times, first byte 4, line 2, column \"b\")"]
    );
}

#[test]
fn many_names_that_are_no_columns_are_told_together() {
    let text: String = (0..3000).map(|row| format!("{{\"a\":1,\"x{row}\":1,\"x{row}y\":1}}\n")).collect();
    for threads in [0, 1] {
        let (_, losses) = into(&lines(&text).with_threads(threads), &[("a", "Byte")]).unwrap();
        assert_eq!(losses.len(), 1001);
        assert_eq!(
            losses[1000],
            "a: value of further columns left out: the schema does not have them (5000 times, first byte 13294, line 501)"
        );
    }
}

#[test]
fn rows_without_columns_are_told() {
    let (rows, losses) = into(&lines("{}\n{}\n"), &[]).unwrap();
    assert_eq!(rows, Vec::<String>::new());
    assert_eq!(losses, ["a: row without columns left out (2 times, first byte 0, line 1)"]);
}

#[test]
fn columns_of_one_name() {
    let schema = schema(&[("a", "Byte"), ("b", "Byte"), ("a", "Byte")]);
    assert_eq!(column_names(&schema), ["a", "b", "a#2"]);
    let (rows, _) = written(&lines("{\"a#2\":3,\"a\":1,\"b\":2}"), schema, &Take::default()).unwrap();
    assert_eq!(rows, ["{\"a\":1,\"b\":2,\"a#2\":3}"]);
}

#[test]
fn rows_that_are_wanted() {
    let inputs = ["{\"a\":0}\n\n{\"a\":1}\n", "[{\"a\":2},\n{\"a\":3}]", "{\"a\":4}"];
    let table = table(TextTable::json_lines(), &inputs);
    let rows = |range: Range<u64>| {
        let take = Take::default().with_rows(range);
        let rows = written(&table, schema(&[("a", "Byte")]), &take).unwrap().0;
        rows.iter().map(|row| row[5..6].parse().unwrap()).collect::<Vec<u64>>()
    };
    for start in 0..6 {
        for end in start..7 {
            assert_eq!(rows(start..end), (start..end.min(5)).collect::<Vec<_>>(), "{start}..{end}");
        }
    }
    // What does not fit is no error where it is not wanted.
    let text = "{\"a\":\"x\"}\n{\"a\":1}\n{\"a\":\"x\"}\n";
    let take = Take::default().with_rows(1..2);
    assert_eq!(written(&lines(text), schema(&[("a", "Byte")]), &take).unwrap().0, ["{\"a\":1}"]);
    let take = Take::default().with_rows(1..3);
    assert!(written(&lines(text), schema(&[("a", "Byte")]), &take).unwrap_err().contains("line 3"));
    assert_eq!(
        written(&csv("a\nx\n1\n"), schema(&[("a", "Byte")]), &Take::default().with_rows(1..2)).unwrap().0.len(),
        1
    );
}

#[test]
fn labels_are_keys() {
    let color = idv::ItemType::Key(idv::KeyType::new(idv::KeyWidth::Byte, 2).unwrap());
    let column = ColumnSchema::new("c", Type::Item(color)).with_key_values(["red", "green"]).unwrap();
    let schema = Schema::new([column]);
    let (rows, _) = written(&lines("{\"c\":\"green\"}\n{\"c\":0}\n{}"), schema.clone(), &Take::default()).unwrap();
    assert_eq!(rows, ["{\"c\":\"green\"}", "{\"c\":\"red\"}", "{\"c\":null}"]);
    let error = written(&lines("{\"c\":\"blue\"}"), schema.clone(), &Take::default()).unwrap_err();
    assert!(error.starts_with("a: \"blue\" is none of the 2 labels"), "{error}");
    let words = csv("c,x\ngreen,\n0,\n,\n\"\",\n");
    let take = Take::default().with_leave_out(["x".to_owned()]);
    let expected = ["{\"c\":\"green\"}", "{\"c\":\"red\"}", "{\"c\":null}", "{\"c\":null}"];
    assert_eq!(written(&words, schema, &take).unwrap().0, expected);
    // In quotes it is the empty label, where there is one.
    let column = ColumnSchema::new("c", Type::Item(color)).with_key_values(["red", ""]).unwrap();
    let expected = ["{\"c\":null}", "{\"c\":\"\"}"];
    assert_eq!(written(&csv("c,x\n,\n\"\",\n"), Schema::new([column]), &take).unwrap().0, expected);
}
