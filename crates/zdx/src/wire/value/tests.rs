use super::*;

#[test]
fn agrees_with_serde_json() {
    for json in [
        r#"{"a":1,"b":[true,false,null,-3,0,18446744073709551615,-9223372036854775808],"c":{"d":{}},"e":[]}"#,
        r#" { "a" : 1.5e3 , "b" : [ -0 , -0.0 , 0.1 , 1e-7 , 123456789012345678901234567890 , 5E+2 ] } "#,
        r#"{"a":"","b":"x\n\t\"\\\/\b\f\r\u00e9\ud83d\ude00\u0000","\u0061":"again","é":"日本"}"#,
        "12",
        "\"x\"",
        "null",
        "[[[[[[[[[[]]]]]]]]]]",
    ] {
        let expected: Value = serde_json::from_str(json).unwrap();
        assert_eq!(parse(json.as_bytes()).unwrap(), expected, "{json}");
        assert_eq!(parse(json.as_bytes()).unwrap().to_string(), expected.to_string(), "{json}");
    }
    let long = "[".repeat(120) + &"]".repeat(120);
    assert_eq!(parse(long.as_bytes()).unwrap(), serde_json::from_str::<Value>(&long).unwrap());
    // The fast path handles ordinary input.
    assert!(parse_fast(br#"{"a":[1,-2,3.5,"x\u00e9",{"b":null}],"c":"\ud83d\ude00"}"#).is_some());
}

#[test]
fn leaves_errors_to_serde_json() {
    for json in [
        "",
        " ",
        "{",
        "}",
        "[1,]",
        "[,1]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "1e+",
        "+1",
        "tru",
        "truex",
        "nulls",
        "\"",
        "\"\\",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u+123\"",
        "\"\\ud800\"",
        "\"\\ud800\\u0041\"",
        "\"\\udc00\"",
        "\"a\nb\"",
        "1 2",
        "[1 2]",
        "1e400",
        "[1}",
        "{\"a\":1]",
        "--1",
        "-a",
    ] {
        let expected = serde_json::from_str::<Value>(json).unwrap_err().to_string();
        assert_eq!(parse(json.as_bytes()).unwrap_err().to_string(), expected, "{json}");
        assert_eq!(parse_fast(json.as_bytes()), None, "{json}");
    }
    assert!(parse(b"\"\xff\"").is_err() && parse(&[b'['; 1000]).is_err());
}

#[test]
fn numbers_of_every_length() {
    for digits in 1..25 {
        for (sign, fraction) in [("", ""), ("-", ""), ("", ".25"), ("-", "e-3"), ("", ".0")] {
            let json = format!("{sign}{}{fraction}", "1234567890123456789012345".split_at(digits).0);
            assert_agrees(&json);
            assert_agrees(&format!("{sign}0.{}{json}", "0".repeat(digits)).replace(['-', 'e'], ""));
        }
    }
}

fn assert_agrees(json: &str) {
    // Compare as text, too, which distinguishes 1 from 1.0.
    let show = |value: serde_json::Result<Value>| {
        value.map(|value| (value.to_string(), value)).map_err(|error| error.to_string())
    };
    assert_eq!(show(parse(json.as_bytes())), show(serde_json::from_str(json)), "{json}");
}

#[test]
fn numbers_at_their_bounds() {
    for json in [
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775807",
        "-9223372036854775808",
        "-9223372036854775809",
        "9999999999999999999",
        "-9999999999999999999",
        "10000000000000000000",
        "18446744073709551616",
        "9007199254740992.0",
        "9007199254740993.0",
        "9007199254740.993",
        "-900719925474099.3",
        "0.9007199254740993",
        "0.0000000000000000000001",
        "0.00000000000000000000001",
        "0.000000000000000000",
        "-0.0000000000000000000",
        "18446744073709551617.5",
        "1844674407370955161.75",
        "179769313486231580793728971405301199e273",
        "4.9406564584124654e-324",
        "2.2250738585072011e-308",
    ] {
        assert_agrees(json);
    }
    // The fast path handles ordinary numbers.
    for json in ["9999999999999999999", "-9223372036854775808", "-0.0", "9007199254740993.5", "1e-7"] {
        assert!(parse_fast(json.as_bytes()).is_some(), "{json}");
    }
}

#[test]
fn strings_of_every_length() {
    for len in 0..40 {
        for byte in ["", "\\n", "\\u00e9", "\u{e9}", "\u{7f}", "\u{80}", "\u{1f}", "\n", "\\x", " ", "!", "#", "[", "]"]
        {
            for at in 0..=len {
                let text = "a".repeat(at) + byte + &"b".repeat(len - at);
                assert_agrees(&format!("\"{text}\""));
                assert_agrees(&format!("{{\"{text}\":\"{text}\\\\\"}}"));
                assert_agrees(&format!("[\"{text}"));
            }
        }
    }
}
