use super::*;

fn flowers() -> Value {
    json!({"version": "7", "details": {"block_rows": 50, "flavour": {"kind": "sour"}}, "tables": [{"name": "rows",
        "columns": [
            {"name": "length", "type": "Single", "details": {"codec": "Single", "compression": "deflate"},
             "more": {"metadata": {"IsNormalized": true}}},
            {"name": "label", "type": "Text", "details": {"codec": "TextSpan", "compression": "deflate"},
             "more": {"metadata": {"SlotNames": ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]}}},
            {"name": "odd", "type": "?", "details": {"codec": "Odd", "compression": "deflate"}, "unreadable": "unknown codec"}],
        "rows": [[1, "a", 0], [2, "b", 0]]}]})
}

#[test]
fn json_lists_all_members_in_order() {
    let place = TestFolder::new().with_document("f", &flowers());
    let out = place.wharf(&["info", "@f", "--json"]).ok();
    let expected = concat!(
        r#"{"format":"mock","version":"7","block_rows":50,"flavour":{"kind":"sour"},"tables":[{"name":"rows","rows":2,"columns":["#,
        r#"{"name":"length","type":"Single","codec":"Single","compression":"deflate","metadata":{"IsNormalized":true}},"#,
        r#"{"name":"label","type":"Text","codec":"TextSpan","compression":"deflate","metadata":{"SlotNames":["one","two","three","four","five","six","seven","eight","nine"]}},"#,
        r#"{"name":"odd","type":"?","codec":"Odd","compression":"deflate","unreadable":"unknown codec"}]}]}"#,
        "\n"
    );
    assert_eq!(out, expected);
}

#[test]
fn prints_a_line_with_the_file_name_for_each_of_several_files() {
    let place = TestFolder::new().with("a", &["x"], &json!([])).with("b", &["x"], &json!([]));
    let out = place.wharf(&["info", "@a", "@b", "--json"]).ok();
    let files: Vec<Value> =
        out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["file"].clone()).collect();
    assert_eq!(files, ["@a", "@b"]);
}

#[test]
fn indents_json_of_one_file_on_a_terminal() {
    let place = TestFolder::new().with_document("f", &flowers()).on_terminal(80);
    let ran = place.wharf(&["info", "@f", "--json"]);
    assert!(ran.out.starts_with("{\n  \"format\": \"mock\",\n"), "{}", ran.out);
    assert_eq!(ran.json()["tables"][0]["columns"][1]["name"], "label");
}

#[test]
fn prints_a_table_of_columns() {
    let expected = "\
@f: mock 7, 565 bytes
block rows: 50
flavour: {kind: \"sour\"}
2 rows, 3 columns; all columns: compression deflate

column  type    note
─────────────────────────────────────────────
length  Single
label   Text
odd     ?       cannot be read: unknown codec

column  metadata      value
───────────────────────────────────────────────────────────────────────────────────────────────────
length  IsNormalized  true
label   SlotNames     [\"one\", \"two\", \"three\", \"four\", \"five\", \"six\", \"seven\", \"eight\", …] (9 items)
";
    assert_eq!(TestFolder::new().with_document("f", &flowers()).wharf(&["info", "@f"]).ok(), expected);
}

#[test]
fn describes_table_without_columns_or_known_length() {
    let table = json!({"name": "rows", "columns": [], "rows": [], "unknown_length": true});
    let place = TestFolder::new().with_document("e", &json!({"version": "1", "tables": [table]}));
    let out = place.wharf(&["info", "@e"]).ok();
    assert!(out.ends_with("\nrows not counted, 0 columns\n"), "{out}");
    assert_eq!(place.wharf(&["info", "@e", "--json"]).json()["tables"][0]["rows"], Value::Null);
}

#[test]
fn damaged_metadata_fails_but_prints_the_rest() {
    let columns =
        json!([{"name": "a", "type": "int", "more_fails": "metadata is damaged"}, {"name": "b", "type": "int"}]);
    let place =
        TestFolder::new().with_document("d", &json!({"tables": [{"name": "rows", "columns": columns, "rows": []}]}));
    let ran = place.wharf(&["info", "@d"]);
    assert_eq!(ran.code, 1);
    assert_eq!(ran.err, "error: mock: @d: metadata is damaged (byte 99, column \"a\")\n");
    assert!(ran.out.contains("damaged: metadata is damaged") && ran.out.contains("\nb "), "{}", ran.out);
    let ran = place.wharf(&["info", "@d", "--json"]);
    let column = &ran.json()["tables"][0]["columns"][0];
    assert_eq!(column["error"]["message"], "mock: metadata is damaged (byte 99, column \"a\")");
    assert_eq!(ran.json()["tables"][0]["columns"][1], json!({"name": "b", "type": "int"}));
    assert_eq!(ran.code, 1);
}
