use super::*;

fn people() -> TestFolder {
    TestFolder::new()
        .with_text("p.csv", "name,age,age\nAda,36,\n\"O\"\"Neil, B\",041,true\n")
        .with_text("p.jsonl", "{\"name\": \"Ada\", \"age\": 36.0}\n\n{\"age\":null,\"tags\":[\"x\"]}")
        .with_text("p.tsv", "a\tb\n1\t2\n")
}

#[test]
fn rows_of_text() {
    let place = people();
    assert_eq!(
        place.wharf(&["cat", "@p.csv"]).ok(),
        concat!(
            r#"{"name":"Ada","age":"36","age#2":null}"#,
            "\n",
            r#"{"name":"O\"Neil, B","age":"041","age#2":true}"#,
            "\n"
        )
    );
    assert_eq!(
        place.wharf(&["cat", "@p.jsonl"]).ok(),
        "{\"name\": \"Ada\", \"age\": 36.0}\n{\"age\":null,\"tags\":[\"x\"]}\n"
    );
    assert_eq!(
        place.wharf(&["cat", "@p.jsonl", "--columns", "tags,age"]).ok(),
        "{\"age\":36.0}\n{\"tags\":[\"x\"],\"age\":null}\n"
    );
    assert_eq!(place.wharf(&["cat", "@p.jsonl", "--csv"]).ok(), "name,age,tags\nAda,36.0,\n,,\"[\"\"x\"\"]\"\n");
    assert_eq!(
        place.wharf(&["cat", "@p.csv", "--csv", "--rows", "1.."]).ok(),
        "name,age,age#2\n\"O\"\"Neil, B\",041,true\n"
    );
    assert_eq!(place.wharf(&["cat", "@p.tsv", "--csv"]).ok(), "a,b\n1,2\n");
    assert_eq!(
        place.wharf(&["get", "@p.csv", "--row", "1", "--columns", "age", "--json"]).ok().trim(),
        r#"{"age":"041"}"#
    );
    let error = place.wharf(&["get", "@p.csv", "--row", "2"]).failed(2);
    assert!(error.contains("no row 2"), "{error}");
    let error = place.wharf(&["get", "@p.csv", "Ada"]).failed(2);
    assert!(error.contains("text rows have no keys"), "{error}");
}

#[test]
fn info_of_text() {
    let place = people();
    let csv = place.wharf(&["info", "@p.csv", "--json"]).json();
    assert_eq!(
        csv,
        json!({
            "format": "csv", "version": "UTF-8", "bytes": 43, "delimiter": ",", "header": true, "line_ends": "LF",
            "byte_order_mark": false,
            "tables": [{"name": "rows", "rows": 2, "columns": [
                {"name": "name", "type": "text", "rows": 2, "rows_looked_at": 2},
                {"name": "age", "type": "text", "rows": 2, "rows_looked_at": 2},
                {"name": "age#2", "type": "boolean or null", "rows": 1, "rows_looked_at": 2}]}]
        })
    );
    let json = place.wharf(&["info", "@p.jsonl", "--json"]).json();
    assert_eq!(
        json["tables"][0]["columns"][1],
        json!({"name": "age", "type": "number or null", "rows": 2, "rows_looked_at": 2})
    );
    let said = place.wharf(&["info", "@p.csv"]).ok();
    assert!(said.starts_with("@p.csv: csv UTF-8, 43 bytes\ndelimiter: \",\"\n"), "{said}");
    assert!(said.contains("\n2 rows, 3 columns\n"), "{said}");
}

#[test]
fn info_reports_why_rows_of_text_cannot_be_read() {
    let place = TestFolder::new()
        .with_text("de.csv", "Name;Preis\nBrot;3,50\nWein;12,90\n")
        .with_text("one.csv", "Name;Menge\nBrot;3\n")
        .with_text("pretty.json", "{\n  \"a\": 1,\n  \"b\": [\n    2\n  ]\n}\n");
    let ran = place.wharf(&["info", "@de.csv"]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(ran.out.contains("\nlikely delimiter: \";\"\n"), "{}", ran.out);
    assert!(ran.out.contains("\nrows not counted, 1 column\n"), "{}", ran.out);
    assert!(ran.err.contains("error: csv: @de.csv: expected 1 cell, found 2 (byte 11, line 2)"), "{}", ran.err);
    // Nothing is wrong with it, but nobody wants it so.
    let one = place.wharf(&["info", "@one.csv", "--json"]).json();
    assert_eq!((&one["likely_delimiter"], &one["tables"][0]["rows"]), (&json!(";"), &json!(1)));
    let ran = place.wharf(&["info", "@pretty.json"]);
    assert!(ran.out.contains("\nrows not counted, 0 columns\n"), "{}", ran.out);
    assert!(ran.err.contains("invalid JSON in the line"), "{}", ran.err);
    let ran = place.wharf(&["info", "@pretty.json", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, &told["tables"][0]["rows"]), (1, &json!(null)));
    assert_eq!(told["tables"][0]["error"]["line"], 1);
}

#[test]
fn verify_reports_all_faults_of_text() {
    let place =
        people().with_text("bad.csv", "a,b\n1\n2,3\n4,5,6\n").with_text("bad.jsonl", "{\"a\":1,\"a\":2}\n{\n[]\n");
    let ran = place.wharf(&["verify", "@p.csv", "@p.tsv", "@p.jsonl", "@bad.csv", "@bad.jsonl"]);
    let expected = "\
warning: csv: @p.csv: duplicate column name \"age\" (byte 0, line 1)
@p.csv: ok, 1 warning
@p.tsv: ok
@p.jsonl: ok
error: csv: @bad.csv: expected 2 cells, found 1 (byte 4, line 2)
error: csv: @bad.csv: expected 2 cells, found 3 (byte 10, line 4)
@bad.csv: 2 problems
warning: jsonl: @bad.jsonl: duplicate member \"a\": the last one is used (byte 11, line 1)
error: jsonl: @bad.jsonl: invalid JSON in the line: EOF while parsing an object; each line must be a complete object (byte 14, line 2)
error: jsonl: @bad.jsonl: the line: expected an object, found [] (byte 16, line 3)
@bad.jsonl: 2 problems, 1 warning
";
    assert_eq!((ran.out.as_str(), ran.code), (expected, 1));
}

#[test]
fn recognizes_text_on_standard_input() {
    let mut place = people();
    place.stdin = b" {\"a\":1}\n".to_vec();
    assert_eq!(place.wharf(&["cat", "-"]).ok(), "{\"a\":1}\n");
    place.stdin = b"a,b\n1,2\n".to_vec();
    assert!(place.wharf(&["cat", "-"]).failed(1).contains("unrecognized format (known: mock, jsonl, csv, tsv)"));
}
