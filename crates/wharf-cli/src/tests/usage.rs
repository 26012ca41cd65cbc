use super::*;

#[test]
fn help_and_version_go_to_stdout() {
    let place = TestFolder::new();
    assert_eq!(place.wharf(&["--version"]).ok(), format!("wharf {}\n", env!("CARGO_PKG_VERSION")));
    for verb in ["info", "cat", "get", "verify", "convert"] {
        let help = place.wharf(&[verb, "--help"]).ok();
        assert!(help.contains(&format!("Examples:\n  wharf {verb} ")), "{help}");
        assert!(help.contains("--json"), "{help}");
    }
    let help = place.wharf(&["--help"]).ok();
    assert!(help.contains("Exit codes: 0 success; 1 failure"), "{help}");
}

#[test]
fn wrong_usage_is_exit_code_two() {
    let place = TestFolder::new().with("n", &["n"], &json!([[1]]));
    for arguments in [
        &[][..],
        &["nonsense"],
        &["cat"],
        &["cat", "@n", "--csv", "--tsv"],
        &["cat", "@n", "--json", "--csv"],
        &["cat", "@n", "--csv", "--json"],
        &["--json", "cat", "@n", "--pretty"],
        &["cat", "@n", "--rows", "3..1"],
        &["cat", "@n", "--rows", "-1"],
        &["cat", "@n", "--limit", "x"],
        &["cat", "@n", "--access", "magic"],
        &["get", "@n"],
        &["get", "@n", "key", "--row", "1"],
        &["convert", "@n"],
        &["convert", "@n", "@out", "--to", "xml"],
    ] {
        let ran = place.wharf(arguments);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}: {ran:?}");
        assert!(
            ran.err.contains("error: ")
                || ran.err.contains(r#"{"error":{"kind":"usage""#)
                || ran.err.contains("Usage: wharf"),
            "{arguments:?}: {}",
            ran.err
        );
    }
}

#[test]
fn a_condition_may_begin_with_a_sign() {
    let place = TestFolder::new().with_text("n.csv", "n\n-2\n1\n2\n");
    for condition in ["-1 < n", "- n < 0"] {
        assert_eq!(place.wharf(&["count", "@n.csv", "--where", condition]).ok(), "2\n", "{condition}");
    }
}

#[test]
fn advice_names_only_options_of_the_verb() {
    let place = TestFolder::new().with_text("n.csv", "n\n1\n").with_text("x", "n\n1\n");
    for verb in ["count", "stats", "tail", "schema", "cat", "head"] {
        let error = place.wharf(&[verb, "@x"]).failed(1);
        assert!(error.starts_with("error: @x: unrecognized format") && !error.contains("--from"), "{verb}: {error}");
    }
    let error = place.wharf(&["diff", "@x", "@n.csv"]).failed(1);
    assert!(!error.contains("--from"), "{error}");
    let error = place.wharf(&["convert", "@x", "@y.jsonl", "--to", "jsonl"]).failed(1);
    assert!(error.contains("--from"), "{error}");
}

#[test]
fn usage_errors_are_json_with_json() {
    let error = |arguments: &[&str]| {
        let err = TestFolder::new().wharf(arguments).failed(2);
        let value: Value = serde_json::from_str(&err).unwrap_or_else(|error| panic!("{error}: {err}"));
        assert_eq!(value["error"]["kind"], "usage");
        value["error"]["message"].as_str().unwrap().to_owned()
    };
    assert_eq!(error(&["cat", "--json", "--nonsense"]), "unexpected argument '--nonsense' found");
    assert_eq!(error(&["info", "--json"]), "the following required arguments were not provided: <FILE>...");
    let message = error(&["cat", "x", "--json", "--rows", "7..3"]);
    let expected = "invalid value '7..3' for '--rows <A..B>': the range ends at 3, before its start 7";
    assert_eq!(message, expected);
    // Flags for options of the library.
    let message = error(&["merge", "x", "-o", "y", "--json", "--level=-1"]);
    assert_eq!(message, "invalid value '-1' for '--level <0..9>': -1 is not in 0..=9");
}

#[test]
fn json_errors_have_positions() {
    let table = json!({"name": "rows", "columns": [{"name": "n", "type": "int"}], "rows": [[1]], "fail_at": 0});
    let place = TestFolder::new().with_document("bad", &json!({"tables": [table]}));
    let ran = place.wharf(&["cat", "@bad", "--json"]);
    let value: Value = serde_json::from_str(&ran.err).unwrap();
    let expected = json!({"error": {"kind": "invalid", "format": "mock",
        "message": "mock: @bad: the block is damaged (row 0)", "file": "@bad", "row": 0}});
    assert_eq!((ran.code, value), (1, expected));
    // After -- an argument is a file name.
    let ran = place.wharf(&["cat", "--", "--json"]);
    assert!(ran.failed(1).starts_with("error: --json: cannot open"));
}

#[test]
fn global_options_may_appear_anywhere() {
    let place = TestFolder::new().with("n", &["n"], &json!([[1]]));
    for arguments in [
        &["--json", "--access", "positional", "info", "@n"][..],
        &["info", "--access", "mapped", "@n", "--json"],
        &["info", "@n", "--json", "--access=auto"],
    ] {
        assert_eq!(place.wharf(arguments).json()["format"], "mock");
    }
}
