//! Compares the scanner with `serde_json`, on JSON and near misses.

use proptest::prelude::*;
use serde_json::{Map, Value};
use zdx::wire::{json, lines};

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[_id\"\\\\a\u{e9}\u{1f600}\u{1}]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(name(), inner, 0..4)
                .prop_map(|all| Value::Object(all.into_iter().collect())),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![Just("_id".to_owned()), "[_id\"\\\\ax]{0,5}"]
}

/// A JSON value, or almost one, in unusual spelling.
fn almost_json() -> impl Strategy<Value = String> {
    prop_oneof![
        "-?(0|[1-9][0-9]{0,22})(\\.[0-9]{1,25})?([eE][-+]?[0-9]{1,3})?",
        "-?[0-9]{0,4}\\.[0-9]{1,9}",
        "[-+0-9.eE]{1,9}",
        "\"([ -!#-\\[\\]-~\u{7f}-\u{ff}\u{1f600}]{0,20}(\\\\([\"\\\\/bfnrt]|u00[0-9a-fA-F]{2}|ud83d\\\\ude00))?){0,4}\"",
        "\"[ -~\n\u{e9}]{0,12}\"",
        "(true|false|null|\\[\\]|\\{\\}|[a-z]{1,6})",
    ]
}

fn agree(line: &[u8]) {
    let show =
        |value: serde_json::Result<Value>| value.map(|value| value.to_string()).map_err(|error| error.to_string());
    assert_eq!(show(zdx::wire::value::parse(line)), show(serde_json::from_slice(line)));
    let expected = match serde_json::from_slice::<Map<String, Value>>(line) {
        // The scanner does not limit numbers.
        Err(error) if error.to_string().contains("out of range") => return,
        expected => expected.ok(),
    };
    match json::scan(line) {
        Ok(found) => {
            let expected = expected.unwrap_or_else(|| panic!("{:?} is not an object", String::from_utf8_lossy(line)));
            assert_eq!(found.id().map(Value::from), expected.get("_id").cloned());
        }
        // The scanner is stricter in one respect: every `_id` must be a string.
        Err(error) => {
            let about_id = error.to_string().contains("a string (\"_id\")");
            assert!(expected.is_none() || about_id, "{:?}: {error}", String::from_utf8_lossy(line));
        }
    }
    if let Some(line) = lines::lines(line).next()
        && let Some(id) = line.plain_id()
        && let Ok(found) = line.scan()
    {
        assert_eq!(found.id(), Some(id));
    }
}

proptest! {
    #[test]
    fn documents(members in proptest::collection::vec((name(), value()), 0..5), pretty in any::<bool>()) {
        // Written by hand, because members may be duplicate.
        let all: Vec<String> = members.iter().map(|(name, value)| {
            let value = if pretty { serde_json::to_string_pretty(value).unwrap().replace('\n', " ") } else { value.to_string() };
            format!("{}:{value}", Value::from(name.as_str()))
        }).collect();
        agree(format!("{{{}}}", all.join(if pretty { " , " } else { "," })).as_bytes());
    }

    #[test]
    fn texts(values in proptest::collection::vec((almost_json(), almost_json(), "[ \t\r]{0,2}"), 1..6), in_array in any::<bool>()) {
        let all: Vec<String> = values.iter().map(|(value, other, white)| match in_array {
            true => format!("{white}{value}{white}"),
            false if other.starts_with('"') => format!("{white}{other}{white}:{white}{value}{white}"),
            false => format!("\"a\":{white}[{value},{other}]"),
        }).collect();
        let all = all.join(",");
        agree(if in_array { format!("[{all}]") } else { format!("{{{all}}}") }.as_bytes());
        agree(format!("{{\"a\":{}}}", values[0].0).as_bytes());
    }

    #[test]
    fn damaged_documents(value in value(), place in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        let mut line = format!("{{\"_id\":\"a\",\"x\":{value}}}").into_bytes();
        let place = place.index(line.len());
        if cut { line.truncate(place); } else { line[place] = byte; }
        // Line endings are handled elsewhere.
        agree(&line);
    }
}
