use super::*;

fn numbers(name: &str, range: std::ops::Range<u64>) -> TestFolder {
    TestFolder::new().with(name, &["n"], &rows(range))
}

fn rows(range: std::ops::Range<u64>) -> Value {
    range.map(|n| json!([n])).collect()
}

fn people() -> TestFolder {
    let rows = json!([[36, "Ada", [1, 2]], [null, "Bob, Jr", []], [41, "", [3]]]);
    TestFolder::new().with("people", &["age", "name", "scores"], &rows)
}

#[test]
fn prints_json_lines_into_a_pipe() {
    let expected = "{\"age\":36,\"name\":\"Ada\",\"scores\":[1,2]}\n\
                    {\"age\":null,\"name\":\"Bob, Jr\",\"scores\":[]}\n\
                    {\"age\":41,\"name\":\"\",\"scores\":[3]}\n";
    assert_eq!(people().wharf(&["cat", "@people"]).ok(), expected);
    assert_eq!(people().on_terminal(80).wharf(&["cat", "@people", "--json"]).ok(), expected);
}

#[test]
fn csv_and_tsv_have_a_header() {
    let expected = "age,name,scores\n36,Ada,\"[1,2]\"\n,\"Bob, Jr\",[]\n41,\"\",[3]\n";
    assert_eq!(people().wharf(&["cat", "@people", "--csv"]).ok(), expected);
    let expected = "age\tname\tscores\n36\tAda\t[1,2]\n\tBob, Jr\t[]\n41\t\"\"\t[3]\n";
    assert_eq!(people().wharf(&["cat", "@people", "--tsv"]).ok(), expected);
}

#[test]
fn prints_a_table_on_a_terminal() {
    let expected = "\
row   age  name     scores
──────────────────────────
  0    36  Ada      [1,2]
  1  null  Bob, Jr  []
  2    41           [3]
";
    assert_eq!(people().on_terminal(80).wharf(&["cat", "@people"]).ok(), expected);
    assert_eq!(people().wharf(&["cat", "@people", "--pretty"]).ok(), expected);
}

#[test]
fn tables_align_sparse_vectors_and_nan_like_numbers() {
    let sparse = json!({"$sparse": {"length": 9, "indices": [1, 4], "values": [0.5, "NaN"]}});
    let place = TestFolder::new().with("v", &["f", "v"], &json!([["NaN", sparse], [1.5, {"$sparse": 3}]]));
    let expected = "\
row    f  v
─────────────────────────────────
  0  NaN  sparse(9) 1:0.5 4:\"NaN\"
  1  1.5  {\"$sparse\":3}
";
    assert_eq!(place.on_terminal(80).wharf(&["cat", "@v"]).ok(), expected);
}

#[test]
fn prints_several_tables_in_order() {
    let table = |name: &str| json!({"name": name, "columns": [{"name": "x", "type": "int"}], "rows": [[1]]});
    let place = TestFolder::new().with_document("two", &json!({"tables": [table("a"), table("b")]}));
    let out = place.wharf(&["info", "@two"]).ok();
    assert!(out.contains("\ntable a: 1 row, 1 column\n") && out.contains("\ntable b: 1 row, 1 column\n"), "{out}");
}

#[test]
fn narrow_terminal_truncates_cells_and_hides_columns() {
    let rows = json!([["a text that is much longer than the terminal is wide", 1, "x", "y"]]);
    let place = TestFolder::new().with("wide", &["text", "b", "a long column name", "d"], &rows).on_terminal(30);
    let ran = place.wharf(&["cat", "@wide"]);
    assert_eq!(ran.err, "note: 2 columns not shown; select columns with --columns\n");
    assert!(ran.out.lines().all(|line| line.chars().count() <= 30), "{}", ran.out);
    assert!(ran.out.contains("a text that") && ran.out.contains('…') && !ran.out.contains("longer"), "{}", ran.out);
}

#[test]
fn reads_only_visible_columns() {
    let names: Vec<String> = (0..1000).map(|i| format!("column{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let row: Vec<_> = (0..1000).collect();
    let ran = TestFolder::new().with("wide", &names, &json!([row])).on_terminal(40).wharf(&["cat", "@wide"]);
    assert_eq!(ran.err, "note: 997 columns not shown; select columns with --columns\n");
    assert!(ran.out.contains("column2") && !ran.out.contains("column3"), "{}", ran.out);
}

#[test]
fn pages_repeat_the_header() {
    let out = numbers("n", 0..120).on_terminal(80).wharf(&["cat", "@n"]).ok();
    assert_eq!(out.matches("row").count(), 3, "{out}");
    assert_eq!(out.lines().count(), 120 + 2 * 3);
    let out = numbers("n", 0..0).on_terminal(80).wharf(&["cat", "@n"]).ok();
    assert_eq!(out, "row  n\n──────\n");
}

#[test]
fn escapes_control_characters_in_tables() {
    let place = TestFolder::new().with("evil", &["a\u{1b}]0;b"], &json!([["\u{1b}[2J\nnext"]])).on_terminal(80);
    let out = place.wharf(&["cat", "@evil"]).ok();
    assert!(out.contains("\\u001b[2J\\nnext") && out.contains("a\\u001b]0;b") && !out.contains('\u{1b}'), "{out}");
}

#[test]
fn selects_columns_by_name_in_the_requested_order() {
    let cat = |columns: &[&str]| people().wharf(&[&["cat", "@people", "-n", "1"], columns].concat());
    assert_eq!(cat(&["--columns", "scores,age"]).ok(), "{\"scores\":[1,2],\"age\":36}\n");
    assert_eq!(cat(&["--columns", "name", "--columns", "age"]).ok(), "{\"name\":\"Ada\",\"age\":36}\n");
    assert_eq!(cat(&["--columns", "age,nmae"]).failed(2), "error: @people: no column \"nmae\"; similar: \"name\"");
    assert_eq!(
        cat(&["--columns", "zzz"]).failed(2),
        "error: @people: no column \"zzz\"; the columns are \"age\", \"name\", \"scores\""
    );
    assert_eq!(cat(&["--columns", "age,age"]).failed(2), "error: @people: column \"age\" is selected twice");
}

#[test]
fn selects_names_with_commas_quotes_and_digits() {
    let place = TestFolder::new().with("odd", &["a,b", "x", "x#2", "", "say \"hi\""], &json!([[1, 2, 3, 4, 5]]));
    let cat = |columns: &str| place.wharf(&["cat", "@odd", "--columns", columns]).ok();
    assert_eq!(cat("a,b"), "{\"a,b\":1}\n");
    assert_eq!(cat("x#2,\"a,b\",\"say \"\"hi\"\"\""), "{\"x#2\":3,\"a,b\":1,\"say \\\"hi\\\"\":5}\n");
    assert_eq!(cat(""), "{\"\":4}\n");
}

#[test]
fn row_ranges_are_half_open() {
    let cat = |rows: &str| {
        let out = numbers("n", 0..10).wharf(&["cat", "@n", "--columns", "n", "--csv", "--rows", rows]).ok();
        out.lines().skip(1).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(cat("2..5"), "2 3 4");
    assert_eq!(cat("8.."), "8 9");
    assert_eq!(cat("..2"), "0 1");
    assert_eq!(cat("7"), "7");
    assert_eq!(cat("8..100"), "8 9");
    assert_eq!(cat("10.."), "");
    assert_eq!(cat("3..3"), "");
}

#[test]
fn rejects_rows_past_the_end() {
    let cat = |rows: &str| numbers("n", 0..10).wharf(&["cat", "@n", "--csv", "--rows", rows]).failed(2);
    assert_eq!(cat("10"), "error: no row 10: the input has 10 rows, counted from 0");
    assert_eq!(cat("11.."), "error: no row 11: the input has 10 rows, counted from 0");
}

/// Three files with 4, 0 and 6 rows, with or without known lengths.
fn three(unknown: bool) -> TestFolder {
    let document = |range| {
        let table = json!({"name": "rows", "columns": [{"name": "n", "type": "int"}], "rows": rows(range),
                           "unknown_length": unknown});
        json!({"tables": [table]})
    };
    let place = TestFolder::new().with_document("a", &document(0..4)).with_document("b", &document(4..4));
    place.with_document("c", &document(4..10))
}

#[test]
fn counts_rows_across_files_of_known_or_unknown_length() {
    for unknown in [false, true] {
        let place = three(unknown);
        for start in 0..=10 {
            for end in start..=11 {
                for limit in ["0", "3", "100"] {
                    let rows = format!("{start}..{end}");
                    let ran = place.wharf(&["cat", "@a", "@b", "@c", "--rows", &rows, "-n", limit, "--csv"]);
                    let found: Vec<u64> = ran.ok().lines().skip(1).map(|line| line.parse().unwrap()).collect();
                    let last = end.min(start + limit.parse::<u64>().unwrap()).min(10);
                    assert_eq!(found, (start..last).collect::<Vec<_>>(), "{rows} {limit} {unknown}");
                }
            }
        }
        let error = place.wharf(&["cat", "@a", "@b", "@c", "--rows", "11.."]).failed(2);
        assert_eq!(error, "error: no row 11: the input has 10 rows, counted from 0");
    }
}

#[test]
fn limit_does_not_open_further_files() {
    // Without any rows to print, row 5 could still be in a later file.
    assert_eq!(three(false).wharf(&["cat", "@a", "@c", "--rows", "4", "-n", "0", "--csv"]).ok(), "n\n");
}

#[test]
fn expands_and_sorts_patterns() {
    assert_eq!(three(false).wharf(&["cat", "@[ac]", "-n", "6", "--csv"]).ok(), "n\n0\n1\n2\n3\n4\n5\n");
    assert_eq!(three(false).wharf(&["cat", "@x*"]).failed(1), "error: @x*: cannot open: no file matches the pattern");
}

#[test]
fn does_not_open_unneeded_files() {
    let place = three(false);
    fs::write(place.path("d"), "broken").unwrap();
    assert_eq!(place.wharf(&["cat", "@c", "@d", "-n", "2", "--csv"]).ok(), "n\n4\n5\n");
}

#[test]
fn csv_requires_equal_columns_and_json_lines_do_not() {
    let place = people().with("other", &["age", "size"], &json!([[1, 2]]));
    assert_eq!(place.wharf(&["cat", "@people", "@other", "--json"]).ok().lines().count(), 4);
    // Only the selected columns are compared.
    let ran = place.wharf(&["cat", "@other", "@people", "--rows", "..2", "--csv", "--columns", "age"]);
    assert_eq!(ran.ok(), "age\n1\n36\n");
}

#[test]
fn reports_the_difference_of_columns() {
    let place = people().with("other", &["age", "size"], &json!([[1, 2]]));
    for form in ["--csv", "--tsv", "--pretty"] {
        let ran = place.wharf(&["cat", "@people", "@other", form]);
        assert_eq!(ran.code, 1);
        let expected = "error: @other: the columns differ from those of the table before: \
                        missing: \"name\", \"scores\"; new: \"size\"\n";
        assert_eq!(ran.err, expected);
        assert_eq!(ran.out.lines().filter(|line| line.contains("36") || line.contains("41")).count(), 2, "{}", ran.out);
        assert!(!ran.out.contains("size"));
    }
}

#[test]
fn reads_standard_input() {
    let document = json!({"tables": [{"name": "rows", "columns": [{"name": "a", "type": "int"}], "rows": [[7]]}]});
    let place = numbers("n", 0..1).with_stdin(&document);
    assert_eq!(place.wharf(&["cat", "-", "@n"]).ok(), "{\"a\":7}\n{\"n\":0}\n");
    assert_eq!(place.wharf(&["cat", "-", "-"]).failed(2), "error: standard input (-) can be given only once");
    let error = TestFolder::new().wharf(&["cat", "-"]).failed(1);
    assert_eq!(error, "error: <stdin>: unrecognized format (known: mock): empty file");
}

#[test]
fn selects_tables_by_name() {
    let table = |name: &str| json!({"name": name, "columns": [{"name": name, "type": "int"}], "rows": [[1]]});
    let place = TestFolder::new().with_document("two", &json!({"tables": [table("a"), table("b")]}));
    assert_eq!(place.wharf(&["cat", "@two", "--table", "b"]).ok(), "{\"b\":1}\n");
    assert_eq!(
        place.wharf(&["cat", "@two"]).failed(2),
        "error: @two: the input has several tables: \"a\", \"b\"; --table selects one"
    );
    assert_eq!(
        place.wharf(&["cat", "@two", "--table", "c"]).failed(2),
        "error: @two: no table \"c\"; the tables are \"a\", \"b\""
    );
    let none = TestFolder::new().with_document("none", &json!({"tables": []}));
    assert_eq!(none.wharf(&["cat", "@none"]).failed(2), "error: @none: the input has no tables");
}

#[test]
fn losses_are_reported_and_set_the_exit_code() {
    let table = json!({"name": "rows", "columns": [{"name": "n", "type": "int"}], "rows": [[1]],
                       "losses": [["key above its count shown as null", 3, 7]]});
    let place = TestFolder::new().with_document("lossy", &json!({"tables": [table]}));
    let ran = place.wharf(&["cat", "@lossy"]);
    assert_eq!((ran.code, ran.out.as_str()), (3, "{\"n\":1}\n"));
    assert_eq!(ran.err, "warning: @lossy: key above its count shown as null (3 times, first row 7)\n");
    let ran = place.wharf(&["cat", "@lossy", "--json"]);
    let warning: Value = serde_json::from_str(&ran.err.replace(&place.path("").display().to_string(), "")).unwrap();
    assert_eq!(
        warning,
        json!({"warning": {"kind": "loss", "message": "key above its count shown as null (3 times, first row 7)",
               "what": "key above its count shown as null", "count": 3, "file": "@lossy", "row": 7}})
    );
}

#[test]
fn null_in_a_single_column_csv_is_a_loss() {
    let place = TestFolder::new().with("n", &["n"], &json!([[1], [null]]));
    let ran = place.wharf(&["cat", "@n", "--csv"]);
    assert_eq!((ran.code, ran.out.as_str()), (3, "n\n1\n\"\"\n"));
    assert_eq!(ran.err, "warning: @n: null in the only column written as an empty string (row 1)\n");
    let ran = place.wharf(&["cat", "@n", "@n", "--csv"]);
    assert_eq!(ran.err, "warning: null in the only column written as an empty string (2 times, first row 1)\n");
}

#[test]
fn omits_and_reports_unreadable_columns() {
    let columns =
        json!([{"name": "a", "type": "int"}, {"name": "b", "type": "?", "unreadable": "unknown codec \"X\""}]);
    let place = TestFolder::new()
        .with_document("x", &json!({"tables": [{"name": "rows", "columns": columns, "rows": [[1, 2]]}]}));
    for arguments in [&["cat", "@x"][..], &["get", "@x", "--row", "0"]] {
        let ran = place.wharf(arguments);
        assert_eq!((ran.code, ran.out.as_str()), (3, "{\"a\":1}\n"));
        assert_eq!(ran.err, "warning: @x: column left out (unknown codec \"X\") (column \"b\")\n");
    }
    assert_eq!(place.wharf(&["cat", "@x", "--columns", "a"]).ok(), "{\"a\":1}\n");
    let error = place.wharf(&["cat", "@x", "--columns", "b"]).failed(2);
    assert_eq!(error, "error: @x: the column cannot be read: unknown codec \"X\" (column \"b\")");
}

#[test]
fn reports_unreadable_columns_once() {
    let unreadable = json!({"name": "b", "type": "?", "unreadable": "unknown codec"});
    let warning = "warning: @x: column left out (unknown codec) (column \"b\")\n";
    // No rows; no selected rows; more columns than fit on the terminal.
    let columns = json!([{"name": "a", "type": "int"}, unreadable]);
    let empty = TestFolder::new().with_document("x", &json!({"tables": [{"columns": columns, "rows": []}]}));
    assert_eq!(empty.wharf(&["cat", "@x", "--csv"]).err, warning);
    let mut columns: Vec<Value> = (0..100).map(|i| json!({"name": format!("c{i}"), "type": "int"})).collect();
    columns.push(unreadable);
    let row: Vec<_> = (0..=100).collect();
    let place = TestFolder::new().with_document("x", &json!({"tables": [{"columns": columns, "rows": [row]}]}));
    let wide = place.on_terminal(40).wharf(&["cat", "@x"]);
    assert_eq!(
        (wide.code, wide.err.lines().filter(|line| line.starts_with("warning")).count()),
        (3, 1),
        "{}",
        wide.err
    );
}

#[test]
fn prints_rows_before_a_damaged_one() {
    let table = json!({"name": "rows", "columns": [{"name": "n", "type": "int"}], "rows": rows(0..5), "fail_at": 2});
    let place = TestFolder::new().with_document("bad", &json!({"tables": [table]}));
    let ran = place.wharf(&["cat", "@bad"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, "{\"n\":0}\n{\"n\":1}\n"));
    assert_eq!(ran.err, "error: mock: @bad: the block is damaged (row 2)\n");
    assert_eq!(place.wharf(&["cat", "@bad", "-n", "2"]).ok().lines().count(), 2, "rows after the limit are not read");
}

#[test]
fn closed_pipe_is_not_an_error() {
    for form in ["--json", "--csv", "--pretty"] {
        let place = numbers("n", 0..100_000).with_pipe(1, io::ErrorKind::BrokenPipe);
        let ran = place.wharf(&["cat", "@n", form]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{form}");
        let place = people().with_pipe(0, io::ErrorKind::BrokenPipe);
        let ran = place.wharf(&["cat", "@people", form]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{form}");
    }
}

#[test]
fn full_disk_is_an_output_error() {
    for form in ["--json", "--csv", "--pretty"] {
        let ran = people().with_pipe(0, io::ErrorKind::StorageFull).wharf(&["cat", "@people", form]);
        assert_eq!(ran.code, 1, "{form}");
        assert!(ran.err.contains("cannot write") && !ran.err.contains("@people"), "{form}: {}", ran.err);
        let place = numbers("n", 0..100_000).with_pipe(1, io::ErrorKind::StorageFull);
        let ran = place.wharf(&["cat", "@n", form]);
        assert_eq!(ran.code, 1, "{form}");
        assert!(ran.err.contains("cannot write") && !ran.err.contains("@n"), "{form}: {}", ran.err);
    }
}

#[test]
fn gets_a_record_by_row_or_key() {
    let table = json!({"name": "rows", "columns": [{"name": "n", "type": "int"}, {"name": "t", "type": "text"}],
                       "rows": [[1, "x"], [2, "y\ny"]], "keys": ["first", "second"]});
    let place = TestFolder::new().with_document("k", &json!({"tables": [table]}));
    assert_eq!(place.wharf(&["get", "@k", "--row", "1"]).ok(), "{\"n\":2,\"t\":\"y\\ny\"}\n");
    assert_eq!(place.wharf(&["get", "@k", "second", "--json", "--columns", "n"]).ok(), "{\"n\":2}\n");
    let expected = "\
column  type  value
───────────────────
n       int   2
t       text  y\\ny
";
    assert_eq!(place.wharf(&["get", "@k", "second", "--pretty"]).ok(), expected);
    assert_eq!(place.wharf(&["get", "@k", "third"]).failed(2), "error: @k: no record has this key (key \"third\")");
    assert_eq!(
        place.wharf(&["get", "@k", "--row", "2"]).failed(2),
        "error: @k: no row 2: the input has 2 rows, counted from 0"
    );
    assert_eq!(people().wharf(&["get", "@people", "x"]).failed(2), "error: @people: rows of this format have no keys");
    assert_eq!(three(true).wharf(&["get", "@a", "--row", "4"]).failed(2), "error: @a: there is no row 4");
    let error = three(true).wharf(&["get", "@?", "--row", "4"]).failed(2);
    assert_eq!(error, "error: @?: the pattern matches 3 files; get takes one");
}
