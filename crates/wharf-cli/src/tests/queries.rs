//! `stats`, `count`, `diff`, `head`, `tail` and `schema`.

use super::*;

fn people() -> TestFolder {
    TestFolder::new()
        .with_text("p.csv", "name,age\nAda,36\nBob,41\nAda,\n")
        .with_text(
            "q.jsonl",
            "{\"name\":\"Ada\",\"age\":36.0}\n{\"name\":\"Bob\",\"age\":41}\n{\"name\":\"Ada\",\"age\":null}\n",
        )
        .with_text("r.csv", "name,age\nAda,36\nBob,42\n")
        .with_text("evil.csv", "\u{1b}[31mred\n\u{1b}[31mred\n\u{1b}[31mred\n")
}

#[test]
fn stats_are_a_table_or_an_object_per_column() {
    let place = people();
    let words = |text: String| {
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    let lines = words(place.wharf(&["stats", "@p.csv"]).ok());
    let header = "column type count nulls distinct min max mean std median p68 p95 p99 length frequent";
    let age = "age Int64 3 1 2 36 41 38.5 2.5 38.5 36.8 .. 40.2 36.125 .. 40.875 36.025 .. 40.975";
    assert_eq!([&lines[0], &lines[2], &lines[3]], [header, "name Utf8 3 0 2 Ada Bob 3 Ada (2)", age]);
    let found = place.wharf(&["stats", "@p.csv", "age", "--json"]).json();
    assert_eq!(
        (&found["column"], &found["mean"], &found["top"][0]["value"]),
        (&json!("age"), &json!(38.5), &json!(36))
    );
    let some = place.wharf(&["stats", "@p.csv", "--columns", "age", "--rows", "1..2", "--json"]).json();
    assert_eq!((&some["count"], &some["min"]), (&json!(1), &json!(41)));
    assert!(place.wharf(&["stats", "@p.csv", "agr"]).failed(2).contains("no column \"agr\"; similar: \"age\""));
}

#[test]
fn counts_are_numbers_or_a_line_per_group() {
    let place = people();
    assert_eq!(place.wharf(&["count", "@p.csv", "@q.jsonl"]).ok(), "6\n");
    assert_eq!(place.wharf(&["count", "@p.csv", "--rows", "1..", "--json"]).ok(), "{\"rows\":2}\n");
    let groups = place.wharf(&["count", "@p.csv", "--by", "name"]).ok();
    assert_eq!(groups, "rows  name\n──────────\n   2  Ada\n   1  Bob\n");
    let groups = place.wharf(&["count", "@p.csv", "--by", "age,name", "--json"]).ok();
    let expected = [(Value::Null, "Ada"), (json!(36), "Ada"), (json!(41), "Bob")];
    let lines = expected.map(|(age, name)| json!({"rows": 1, "values": {"age": age, "name": name}}).to_string());
    assert_eq!(groups, lines.join("\n") + "\n");
    assert!(place.wharf(&["count", "@p.csv", "--columns", "age"]).failed(2).contains("--by"));
    let help = place.wharf(&["count", "--help"]).ok();
    assert!(help.contains("--rows") && !help.contains("--columns"), "{help}");
}

#[test]
fn diff_shows_what_differs() {
    let place = people();
    assert_eq!(place.wharf(&["diff", "@p.csv", "@q.jsonl"]).ok(), "");
    let found = place.wharf(&["diff", "@p.csv", "@r.csv"]);
    let expected = concat!(
        "1 row only in @p.csv, which has 3 rows\n",
        "1 row with other values\n",
        "column  differing rows\n──────────────────────\nage                  1\n",
    );
    assert_eq!((found.code, found.err.as_str()), (1, ""));
    assert!(found.out.starts_with(expected), "{}", found.out);
    let last: Vec<_> = found.out.lines().last().unwrap().split_whitespace().collect();
    assert_eq!(last, ["1", "age", "41", "42"]);
    let found = place.wharf(&["diff", "@p.csv", "@r.csv", "--json"]);
    let first = json!([{"rows": [1, 1], "key": null, "column": "age", "values": [41, 42]}]);
    let expected = json!({"same": false, "rows": [3, 2], "only": [1, 0], "differing_rows": 1, "columns": [],
        "counts": [{"column": "age", "rows": 1}], "first": first});
    assert_eq!((found.code, found.json()), (1, expected));
    // Integers are exact, floats have a tolerance.
    assert_eq!(place.wharf(&["diff", "@p.csv", "@r.csv", "-n", "2", "--tolerance", "1"]).code, 1);
    assert_eq!(place.wharf(&["diff", "@q.jsonl", "@r.csv", "-n", "2", "--tolerance", "1"]).ok(), "");
    let twice = place.wharf(&["diff", "@p.csv", "@r.csv", "--key", "name"]).failed(1);
    assert!(twice.contains("the key \"Ada\" occurs twice in the first input"), "{twice}");
    assert_eq!(place.wharf(&["diff", "@p.csv", "@r.csv", "--relative", "-1"]).code, 2);
    assert_eq!(place.wharf(&["diff", "-", "-"]).code, 2);
}

#[test]
fn head_and_tail_print_the_first_and_last_rows() {
    let place = people();
    assert_eq!(place.wharf(&["head", "@p.csv", "-n", "1", "--csv"]).ok(), "name,age\nAda,36\n");
    assert_eq!(place.wharf(&["tail", "@p.csv", "-n", "2", "--csv"]).ok(), "name,age\nBob,41\nAda,\n");
    assert_eq!(place.wharf(&["tail", "@p.csv", "-n", "99", "--csv"]).ok().lines().count(), 4);
    assert_eq!(place.wharf(&["tail", "@p.csv", "-n", "0", "--csv"]).ok(), "name,age\n");
    // The last rows of a range.
    assert_eq!(place.wharf(&["tail", "@p.csv", "-n", "1", "--rows", "..2", "--csv"]).ok(), "name,age\nBob,41\n");
    assert_eq!(place.wharf(&["tail", "@p.csv", "--rows", "1..2", "--csv"]).ok(), "name,age\nBob,41\n");
    assert!(place.wharf(&["tail", "@p.csv", "--rows", "4.."]).failed(2).contains("4"));
}

#[test]
fn schema_can_be_used_again() {
    let place = people();
    let schema = place.wharf(&["schema", "@p.csv"]).ok();
    let expected = json!({"columns": [
        {"name": "name", "type": "Utf8", "nullable": true}, {"name": "age", "type": "Int64", "nullable": true}]});
    assert_eq!(serde_json::from_str::<Value>(&schema).unwrap(), expected);
    let edited = schema.replace("Int64", "Float32");
    fs::write(place.path("schema.json"), edited).unwrap();
    place.wharf(&["convert", "@p.csv", "@p.jsonl", "--columns", "age"]).ok();
    let place = place.on_terminal(100);
    let shown = place.wharf(&["schema", "@p.csv"]).ok();
    assert!(shown.contains("\nage     Int64  nullable"), "{shown}");
}

#[test]
fn text_from_files_does_not_reach_the_terminal_raw() {
    let place = people().on_terminal(120);
    for arguments in [
        &["stats", "@evil.csv"][..],
        &["count", "@evil.csv", "--by", "\u{1b}[31mred"],
        &["diff", "@evil.csv", "@p.csv"],
        &["schema", "@evil.csv"],
        &["head", "@evil.csv"],
    ] {
        let ran = place.wharf(arguments);
        assert!(!ran.out.contains('\u{1b}') && ran.out.contains("[31mred"), "{arguments:?}: {ran:?}");
    }
}
