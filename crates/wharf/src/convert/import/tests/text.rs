//! How text is taken apart, and what is wrong with it.

use super::*;

fn error(table: &TextTable) -> String {
    let inferred = told(table.infer(None).err().unwrap());
    // Without inference the same is found.
    let written = written(table, schema(&[("a", "Text")]), &Take::default()).unwrap_err();
    assert_eq!(written, inferred);
    inferred
}

#[test]
fn lines_end_in_any_way() {
    for text in ["{\"a\":1}\n{\"a\":2}\n", "{\"a\":1}\r\n{\"a\":2}", "\u{feff}{\"a\":1}\n\n \t\r\n  {\"a\":2}  \n\n"] {
        assert_eq!(round(&lines(text)).0, ["{\"a\":1}", "{\"a\":2}"], "{text:?}");
    }
    assert_eq!(round(&lines("")).0, Vec::<String>::new());
    assert_eq!(round(&lines("\n\n")).0, Vec::<String>::new());
}

#[test]
fn members_come_in_any_order() {
    let (rows, _) = round(&lines("{\"a\":1,\"b\":\"x\"}\n{\"b\":\"y\",\"a\":2}\n{\"\\u0061\":3,\"b\":\"\\u0062\"}"));
    assert_eq!(rows, [r#"{"a":1,"b":"x"}"#, r#"{"a":2,"b":"y"}"#, r#"{"a":3,"b":"b"}"#]);
}

#[test]
fn an_array_of_objects_is_a_table_too() {
    let text = "[\n  {\"a\": 1,\n   \"b\": [\"],{\"]},\n  {\n    \"a\": 2, \"b\": []\n  }\n]\n";
    for text in [
        text,
        "[{\"a\":1,\"b\":[\"],{\"]},{\"a\":2,\"b\":[]}]",
        "\u{feff} [ {\"a\":1,\"b\":[\"],{\"]} ,{\"a\":2,\"b\":[]} ] ",
    ] {
        assert_eq!(round(&lines(text)).0, [r#"{"a":1,"b":["],{"]}"#, r#"{"a":2,"b":[]}"#], "{text}");
    }
    assert_eq!(round(&lines("[]")).0, Vec::<String>::new());
    assert_eq!(error(&lines("[\n{\"a\":1}\n{\"a\":2}]")), "a: { where , or ] is wanted (byte 10, line 3)");
    assert_eq!(error(&lines("[{\"a\":1}")), "a: the array is not closed: ] is missing (byte 8, line 1)");
    assert_eq!(error(&lines("[{\"a\":1},")), "a: the array is not closed: ] is missing (byte 9, line 1)");
    assert_eq!(error(&lines("[")), "a: the array is not closed: ] is missing (byte 1, line 1)");
    assert_eq!(error(&lines("[{\"a\":1},{\"a\":")), "a: the last item of the array is cut off (byte 9, line 1)");
    assert_eq!(error(&lines("[{\"a\":1},]")), "a: ] where an object is wanted (byte 9, line 1)");
    assert_eq!(error(&lines("[,{\"a\":1}]")), "a: , where an object is wanted (byte 1, line 1)");
    assert_eq!(
        error(&lines("[{\"a\":1}]\n[{\"a\":2}]")),
        "a: something follows the array, which is the whole input (byte 10, line 2)"
    );
    assert_eq!(
        error(&lines("[\n{\"a\":1},\n7]")),
        "a: the array's item is 7 where an object is wanted (byte 11, line 3)"
    );
    assert_eq!(
        error(&lines("[{\"a\":1},\n{\"a\":\n\"\u{1}\"}]")),
        "a: the array's item is no JSON: control character (\\u0000-\\u001F) found while parsing a string (byte 16, line 3)"
    );
}

#[test]
fn a_long_array_is_cut_into_pieces() {
    let items: Vec<String> = (0..40_000).map(|row| format!("{{\"a\":{row},\n\"b\":\"{}\"}}", "x".repeat(40))).collect();
    let text = format!("[{}]", items.join(",\n"));
    let (rows, _) = round(&lines(&text));
    assert_eq!(rows.len(), 40_000);
    assert_eq!(rows[39_999], format!("{{\"a\":39999,\"b\":\"{}\"}}", "x".repeat(40)));
    let broken = text.replace("\"a\":39990,", "\"a\":39990 ");
    let error = error(&lines(&broken));
    assert!(error.ends_with("expected `,` or `}` (byte 2428293, line 79982)"), "{error}");
}

#[test]
fn a_record_longer_than_what_is_looked_at() {
    let long = "ü".repeat(3 << 20);
    let text = format!("{{\"a\":\"x\"}}\n{{\"a\":\"{long}\"}}\n{{\"a\":\"y\"}}");
    for text in [text.clone(), format!("[{}]", text.replace('\n', ","))] {
        let (rows, _) = round(&lines(&text));
        assert_eq!((rows.len(), rows[1].len()), (3, long.len() + 8));
    }
    let (rows, _) = round(&csv(&format!("a,b\nx,\n\"{long}\n\",\ny,\n")));
    assert_eq!((rows.len(), rows[1].len()), (3, long.len() + 19));
}

#[test]
fn lines_that_are_wrong() {
    assert_eq!(error(&lines("{\"a\":1}\n\n17\n")), "a: the line is 17 where an object is wanted (byte 9, line 3)");
    assert_eq!(
        error(&lines("{\"a\":1}\n{\n\"a\":2}")),
        "a: the line is no JSON: EOF while parsing an object; a line holds a whole object (byte 8, line 2)"
    );
    assert_eq!(error(&lines("{\"a\":1}{\"a\":2}")), "a: the line is no JSON: trailing characters (byte 7, line 1)");
    assert_eq!(error(&lines("{\"a\":nul}")), "a: the line is no JSON: expected ident (byte 8, line 1)");
    assert_eq!(error(&lines("{\"a\":01}")), "a: the line is no JSON: invalid number (byte 6, line 1)");
    assert_eq!(
        error(&lines("{\"a\":1}\n{\"b\":1,\"a\":2,\"a\":3}")),
        "a: the member is there twice (byte 25, line 2, column \"a\")"
    );
    assert_eq!(
        error(&lines("{\"a\":\"\\ud800\"}")),
        "a: the text is no JSON: unexpected end of hex escape (byte 5, line 1, column \"a\")"
    );
}

#[test]
fn text_that_is_not_utf_8() {
    let bytes = |bytes: &[u8]| {
        let mut table = TextTable::json_lines();
        table.push("a", Source::from(bytes.to_vec()));
        error(&table)
    };
    assert_eq!(bytes(b"{\"a\":1}\n{\"a\":\"\xff\"}\n"), "a: the text is not UTF-8 (byte 14, line 2)");
    assert_eq!(bytes(b"\n17\n\xff"), "a: the line is 17 where an object is wanted (byte 1, line 2)");
    assert_eq!(bytes(b"\xff\xfe{\0"), "a: the text is UTF-16 where UTF-8 is wanted (byte 0)");
    let mut table = TextTable::csv();
    table.push("a", Source::from(b"a\nx\n\xc3\n".to_vec()));
    assert_eq!(error(&table), "a: the text is not UTF-8 (byte 4, line 3)");
    let mut table = TextTable::csv();
    table.push("a", Source::from(b"\n\xc3\n".to_vec()));
    let told = error(&table);
    assert!(told.starts_with("a: a column name is not UTF-8: "), "{told}");
    assert!(told.ends_with(" (byte 1, line 2)"), "{told}");
}

#[test]
fn csv_cells() {
    let text = "\u{feff}a,\"b\"\"\",\r\n1,\"x\ny\",z\r\n\r\n2,\"\"\"\",";
    assert_eq!(
        inferred(&csv(text)).unwrap(),
        ["a: Int64", "b\": Text", "c2: Text (some missing, which ML.NET reads as empty)"]
    );
    let expected = [r#"{"a":1,"b\"":"x\ny","c2":"z"}"#, r#"{"a":2,"b\"":"\"","c2":null}"#];
    assert_eq!(round(&csv(text)).0, expected);
    let tabs = text.replace(',', "\t");
    assert_eq!(round(&csv(&tabs).with_delimiter(b'\t').unwrap()).0, expected);
    assert!(csv("").with_delimiter(b'"').is_err() && csv("").with_delimiter(0xC3).is_err());
}

#[test]
fn csv_names() {
    assert_eq!(inferred(&csv("a,b,a,a\n1,2,3,4")).unwrap(), ["a: Int64", "b: Int64", "a#2: Int64", "a#3: Int64"]);
    assert_eq!(inferred(&csv("a,a,a#2\n")).unwrap(), ["a: Text", "a#3: Text", "a#2: Text"]);
    assert_eq!(inferred(&csv("1,x\n2,y").with_header(false)).unwrap(), ["c0: Int64", "c1: Text"]);
    assert_eq!(round(&csv("1,x\n2,y").with_header(false)).0.len(), 2);
    assert_eq!(inferred(&csv("").with_header(false)).unwrap(), Vec::<String>::new());
}

#[test]
fn csv_that_is_wrong() {
    assert_eq!(error(&csv("a\n1\n\n1,2\n")), "a: 2 cells where there is 1 column (byte 5, line 4)");
    assert_eq!(error(&csv("a,b\n\"1\n\",2\n\n3\n")), "a: 1 cell where there are 2 columns (byte 12, line 5)");
    assert_eq!(error(&csv("a,b\n1,2\n\"3,4\n")), "a: a quote of this record is not closed (byte 8, line 3)");
    assert_eq!(error(&csv("\n")), "a: there is no line of column names; no_header where there is none (byte 1)");
    let two = table(TextTable::csv(), &["a\n1\n", "b\n1\n"]);
    assert_eq!(
        error(&two),
        "b: the columns differ from those of the table before: missing: \"a\"; new: \"b\" (byte 0, line 1)"
    );
}
