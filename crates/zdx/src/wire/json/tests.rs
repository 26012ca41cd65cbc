use super::*;

fn id(line: &str) -> Option<String> {
    scan(line.as_bytes()).unwrap().id.map(Cow::into_owned)
}

fn error(line: &str) -> String {
    scan(line.as_bytes()).unwrap_err().to_string()
}

#[test]
fn compact_removes_white_space() {
    let json = br#" { "a b" : [ 1 , "\" x \\" ] ,
        "c" : " \\\" " } "#;
    assert_eq!(compact(json), br#"{"a b":[1,"\" x \\"],"c":" \\\" "}"#);
}

#[test]
fn finds_the_documents_own_id() {
    for (line, expected) in [
        (r#"{"_id":"a"}"#, Some("a")),
        (r#" { "x" : [ { "_id" : "no" } , {} , [ ] ] , "_id" : "b" } "#, Some("b")),
        (r#"{"x":"\"_id\":\"no\"","_id":"c"}"#, Some("c")),
        (r#"{"\u005fid":"\u0064"}"#, Some("d")),
        (r#"{"_id":"first","_id":"last"}"#, Some("last")),
        (r#"{"a":{"_id":"no"}}"#, None),
        (r#"{"n":[-0.5e+7,1E-2,0,10],"t":true,"f":false,"z":null,"_id":"e"}"#, Some("e")),
        ("{}", None),
    ] {
        assert_eq!(id(line).as_deref(), expected, "{line}");
    }
}

#[test]
fn errors_have_byte_offsets() {
    for (line, expected) in [
        ("", "the line is empty (byte 0)"),
        ("[]", "expected an object (\"{\"), found '[' (byte 0)"),
        (r#"{"_id":7}"#, "expected a string (\"_id\"), found '7' (byte 7)"),
        (r#"{"a":01}"#, "expected \",\" or \"}\", found '1' (byte 6)"),
        (r#"{"a":1,}"#, "expected a member name, found '}' (byte 7)"),
        (r#"{"a":1"#, "\"}\": needs 1 byte, 0 available (byte 6)"),
        (r#"{"a":"\x"}"#, "expected an escape, found 'x' (byte 7)"),
        (r#"{"a":[1 2]}"#, "expected \",\" or \"]\", found '2' (byte 8)"),
        (r#"{"a":nul}"#, "expected null, found '}' (byte 8)"),
        ("{} {}", "expected the end of the line, found '{' (byte 3)"),
        ("{\"a\":\"\u{1}\"}", "expected no control character, found '\\u{1}' (byte 6)"),
        (r#"{"_id":"\ud800"}"#, "an escape is an unpaired surrogate (byte 8)"),
    ] {
        assert_eq!(error(line), expected, "{line}");
    }
    assert_eq!(scan(b"{\"a\":\"\xff\"}").unwrap_err().to_string(), "invalid UTF-8 (byte 6)");
}

#[test]
fn limits_nesting() {
    let deep = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(id(&deep(127)), None);
    assert_eq!(error(&deep(128)), "the nesting of values 129 exceeds the limit 128 (byte 132)");
}
