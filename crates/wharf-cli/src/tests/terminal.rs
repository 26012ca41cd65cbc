//! Escaping on a terminal, and exit codes with a closed pipe.

use super::*;

/// A C1 control, a bidirectional control, an escape sequence, DEL, and invisible characters inside and outside of the BMP.
const EVIL: &str = "a\u{9b}31m\u{202e}b\u{1b}[8m\u{7f}\u{200b}\u{e0041}z";
const ESCAPED: &str = r"a\u009b31m\u202eb\u001b[8m\u007f\u200b\udb40\udc41z";

#[track_caller]
fn is_harmless(text: &str) {
    let evil = |character: char| {
        (character.is_control() && character != '\n') || matches!(character, '\u{202e}' | '\u{200b}' | '\u{e0041}')
    };
    assert!(!text.contains(evil), "{text:?}");
}

#[test]
fn notes_and_errors_escape_names() {
    let place = TestFolder::new().with("n", &["n"], &json!([[1]])).on_terminal(80);
    let ran = place.wharf(&["convert", "@n", &format!("@{EVIL}.csv")]);
    assert_eq!(ran.err, format!("note: @{ESCAPED}.csv: 1 row\n"));
    let ran = place.wharf(&["cat", &format!("@{EVIL}")]);
    assert!(ran.err.starts_with(&format!("error: @{ESCAPED}: ")), "{}", ran.err);
    let ran = place.wharf(&["cat", "@a\nerror: b"]);
    assert!(ran.err.starts_with(r"error: @a\nerror: b: cannot open"), "{}", ran.err);
}

#[test]
fn escaped_json_on_a_terminal_is_equal() {
    let place = TestFolder::new().with("n", &[EVIL], &json!([[EVIL]]));
    for arguments in [&["info", "@n", "--json"][..], &["cat", "@n", "--json"], &["get", "@n", "--row", "0", "--json"]] {
        let piped = place.wharf(arguments);
        assert!(piped.out.contains("a\u{9b}31m\u{202e}b"), "bytes are exact in a pipe: {}", piped.out);
        let place = TestFolder::new().with("n", &[EVIL], &json!([[EVIL]])).on_terminal(80);
        let shown = place.wharf(arguments);
        is_harmless(&shown.out);
        assert_eq!(shown.json(), piped.json());
    }
    let place = place.on_terminal(80);
    let ran = place.wharf(&["cat", &format!("@{EVIL}"), "--json"]);
    is_harmless(&ran.err);
    let error: Value = serde_json::from_str(&ran.err).unwrap();
    assert_eq!(error["error"]["file"], format!("@{EVIL}"));
    let ran = place.wharf(&["verify", &format!("@{EVIL}"), "--json"]);
    is_harmless(&ran.out);
    assert_eq!(ran.json()["file"], format!("@{EVIL}"));
}

#[test]
fn escapes_text_on_a_terminal() {
    let place = TestFolder::new().with("n", &["n"], &json!([[EVIL]]));
    for form in ["--csv", "--tsv"] {
        assert!(place.wharf(&["cat", "@n", form]).out.contains(EVIL), "bytes are exact in a pipe");
    }
    let place = place.on_terminal(80);
    for form in ["--csv", "--tsv", "--pretty"] {
        let out = place.wharf(&["cat", "@n", form]).out;
        is_harmless(&out);
        assert!(out.contains(ESCAPED), "{out}");
    }
}

#[test]
fn escapes_arguments_in_usage_errors() {
    let place = TestFolder::new().with("n", &["n"], &json!([[1]])).on_terminal(80);
    for arguments in [
        &["cat", "@n", &format!("--{EVIL}")][..],
        &["cat", "@n", "--limit", EVIL],
        &[&format!("{EVIL}\nerror: forged")],
    ] {
        let ran = place.wharf(arguments);
        assert_eq!(ran.code, 2, "{arguments:?}");
        // The remaining escape sequences are the colors of clap.
        assert!(!ran.err.contains(['\u{9b}', '\u{202e}', '\u{7f}', '\u{200b}']), "{:?}", ran.err);
        assert!(!ran.err.contains("\u{1b}[8m") && !ran.err.contains("\nerror: forged"), "{:?}", ran.err);
        assert!(ran.err.contains(ESCAPED), "{:?}", ran.err);
    }
}

#[test]
fn closed_pipe_does_not_change_the_exit_code() {
    let table = json!({"name": "rows", "columns": [{"name": "n", "type": "int"}], "rows": [[1], [2]], "fail_at": 1});
    let place = TestFolder::new().with("n", &["n"], &json!([[1]])).with_document("bad", &json!({"tables": [table]}));
    let place = place.with_pipe(0, io::ErrorKind::BrokenPipe);
    // The pipe is closed at the row before the damage, which must still be reported.
    for form in ["--json", "--csv", "--pretty"] {
        let ran = place.wharf(&["cat", "@bad", form]);
        assert!(ran.code == 1 && ran.err.contains("@bad: the block is damaged (row 1)"), "{form}: {ran:?}");
        let ran = place.wharf(&["cat", "@n", "@none", form]);
        assert_eq!(ran.code, 1, "{form}: {}", ran.err);
    }
    // The outcome counts, not whether its report was read.
    let columns = json!([{"name": "a", "type": "int", "unreadable": "odd"}, {"name": "b", "type": "int"}]);
    let lossy = json!({"tables": [{"name": "rows", "columns": columns, "rows": [[1, 2]]}]});
    let place = place.with_document("lossy", &lossy);
    assert_eq!(place.wharf(&["convert", "@lossy", "@out.csv", "--json"]).code, 3);
    assert_eq!(place.read("out.csv"), "b\n2\n");
    assert_eq!(place.wharf(&["convert", "@n", "@n.csv", "--json"]).code, 0);
    assert_eq!(place.wharf(&["info", "@n"]).ok(), "");
    assert_eq!(place.wharf(&["info", "@n", "--json"]).ok(), "");
    assert_eq!(place.wharf(&["--help"]).ok(), "");
}
