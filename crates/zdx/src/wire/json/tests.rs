use super::*;

fn id(line: &str) -> Option<String> {
    scan(line.as_bytes()).unwrap().id.map(Cow::into_owned)
}

fn said(line: &str) -> String {
    scan(line.as_bytes()).unwrap_err().to_string()
}

#[test]
fn white_space_between_tokens_goes() {
    let json = br#" { "a b" : [ 1 , "\" x \\" ] ,
        "c" : " \\\" " } "#;
    assert_eq!(compact(json), br#"{"a b":[1,"\" x \\"],"c":" \\\" "}"#);
}

#[test]
fn the_right_id_is_found() {
    for (line, wanted) in [
        (r#"{"_id":"a"}"#, Some("a")),
        (r#" { "x" : [ { "_id" : "no" } , {} , [ ] ] , "_id" : "b" } "#, Some("b")),
        (r#"{"x":"\"_id\":\"no\"","_id":"c"}"#, Some("c")),
        (r#"{"\u005fid":"\u0064"}"#, Some("d")),
        (r#"{"_id":"first","_id":"last"}"#, Some("last")),
        (r#"{"a":{"_id":"no"}}"#, None),
        (r#"{"n":[-0.5e+7,1E-2,0,10],"t":true,"f":false,"z":null,"_id":"e"}"#, Some("e")),
        ("{}", None),
    ] {
        assert_eq!(id(line).as_deref(), wanted, "{line}");
    }
}

#[test]
fn what_is_wrong_is_said_with_its_byte() {
    for (line, wanted) in [
        ("", "the line is empty (byte 0)"),
        ("[]", "'[' stands where an object (\"{\") is expected (byte 0)"),
        (r#"{"_id":7}"#, "'7' stands where the string that an _id is is expected (byte 7)"),
        (r#"{"a":01}"#, "'1' stands where \",\" or \"}\" is expected (byte 6)"),
        (r#"{"a":1,}"#, "'}' stands where the name of a member is expected (byte 7)"),
        (r#"{"a":1"#, "\"}\": needs 1 byte, 0 available (byte 6)"),
        (r#"{"a":"\x"}"#, "'x' stands where an escape is expected (byte 7)"),
        (r#"{"a":[1 2]}"#, "'2' stands where \",\" or \"]\" is expected (byte 8)"),
        (r#"{"a":nul}"#, "'}' stands where null is expected (byte 8)"),
        ("{} {}", "'{' stands where the end of the line is expected (byte 3)"),
        ("{\"a\":\"\u{1}\"}", "'\\u{1}' stands where a character that is no control character is expected (byte 6)"),
        (r#"{"_id":"\ud800"}"#, "an escape in it is half of a surrogate pair (byte 8)"),
    ] {
        assert_eq!(said(line), wanted, "{line}");
    }
    assert_eq!(scan(b"{\"a\":\"\xff\"}").unwrap_err().to_string(), "it is not UTF-8 (byte 6)");
}

#[test]
fn every_byte_of_a_string_is_looked_at_wherever_it_stands() {
    for len in 0..20 {
        for place in 0..len {
            for byte in (0..=0x1f).chain([b'"', b'\\', 0x20, 0x21, 0x23, 0x5b, 0x5d, 0x7e, 0x7f]) {
                // What stands behind the first one must not matter, nor what is close to it.
                for other in *b"a\x1f\"\\!#" {
                    let mut text = vec![b'x'; len];
                    text[place] = byte;
                    text[(place + 3) % len] = other;
                    let line = [b"{\"x\":\"", &text[..], b"\",\"_id\":\"a\"}"].concat();
                    let theirs = serde_json::from_slice::<serde_json::Value>(&line);
                    assert_eq!(scan(&line).is_ok(), theirs.is_ok(), "{line:?}");
                }
            }
            let text: String = (0..len).map(|at| if at == place { '\u{a2}' } else { '\u{7f}' }).collect();
            assert_eq!(id(&format!("{{\"_id\":\"{text}\"}}")), Some(text));
        }
    }
    for byte in 0..=255 {
        let found = not_plain([b'x', 0xff, 0x80, byte, b'"', b'"', 0, b'\\']).trailing_zeros() / 8;
        let is_plain = !matches!(byte, b'"' | b'\\' | ..b' ');
        assert_eq!(found, if is_plain { 4 } else { 3 }, "{byte}");
    }
}

#[test]
fn brackets_are_counted() {
    let deep = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(id(&deep(127)), None);
    assert_eq!(said(&deep(128)), "the nesting of values 129 exceeds the limit 128 (byte 132)");
}
