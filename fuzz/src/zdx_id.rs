//! Tokens, id and fields of documents, compared with `serde_json`.

use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use zdx::wire::{json, lines};
use zdx::{Fields, Filter, Predicate};

/// The bytes are a document, and lines of documents.
pub fn zdx_id(data: &[u8]) {
    tokens(data);
    compacted(data);
    for line in lines::lines(data) {
        let end = usize::try_from(line.end).unwrap();
        let whole = &data[usize::try_from(line.offset).unwrap()..end];
        assert!(whole.starts_with(line.bytes) && line.is_ended == whole.ends_with(b"\n"));
        let found = line.scan();
        match (line.plain_id(), &found) {
            (Some(id), Ok(found)) => assert_eq!(found.id(), Some(id)),
            (_, Ok(_)) => tokens(line.bytes),
            (_, Err(error)) => {
                let (at, number) = (error.position().byte.unwrap(), error.position().line);
                assert!(at >= line.offset && at <= line.end && number == Some(line.number), "{error}");
            }
        }
    }
    let shown =
        |value: serde_json::Result<Value>| value.map(|value| value.to_string()).map_err(|error| error.to_string());
    assert_eq!(shown(zdx::wire::value::parse(data)), shown(serde_json::from_slice(data)));
    if let Ok(document) = serde_json::from_slice::<Map<String, Value>>(data) {
        fields(data, &Value::Object(document));
    } else if serde_json::from_slice::<IgnoredAny>(data).is_err() {
        // Invalid JSON is also rejected where most of it is skipped.
        assert!(Fields::new(["a"]).of(data).is_err());
    }
}

/// Errors that only building values detects: numbers out of range, lone surrogates, and the nesting limit, which is one lower in `serde_json`.
fn is_of_values(error: &serde_json::Error) -> bool {
    let text = error.to_string();
    ["number out of range", "surrogate", "unexpected end of hex escape", "recursion limit"]
        .iter()
        .any(|known| text.contains(known))
}

fn tokens(text: &[u8]) {
    let built = serde_json::from_slice::<Map<String, Value>>(text);
    match json::scan(text) {
        Ok(found) => {
            assert!(serde_json::from_slice::<IgnoredAny>(text).is_ok());
            match built {
                Ok(built) => assert_eq!(found.id().map(Value::from).as_ref(), built.get("_id")),
                Err(error) => assert!(is_of_values(&error), "{error}"),
            }
        }
        Err(error) => {
            assert!(error.position().byte.is_some_and(|byte| byte <= text.len() as u64), "{error}");
            // It is stricter in one respect: every `_id` must be a string.
            let about_id = error.detail().contains("a string (\"_id\")");
            assert!(built.is_err() || about_id, "{error}");
        }
    }
}

fn compacted(text: &[u8]) {
    let small = json::compact(text);
    assert!(small.len() <= text.len());
    assert_eq!(json::compact(&small), small);
    if serde_json::from_slice::<IgnoredAny>(text).is_ok() {
        assert!(!small.contains(&b'\n') && serde_json::from_slice::<IgnoredAny>(&small).is_ok());
    }
    if let Ok(value) = serde_json::from_slice::<Value>(text) {
        assert_eq!(serde_json::from_slice::<Value>(&small).unwrap(), value);
    }
}

/// Some paths of a tree that can be written as text.
fn paths(value: &Value, before: &str, found: &mut Vec<String>) {
    for (name, inner) in value.as_object().into_iter().flatten().filter(|(name, _)| !name.contains('.')) {
        if found.len() > 12 {
            return;
        }
        let path = format!("{before}{name}");
        paths(inner, &format!("{path}."), found);
        found.push(path);
    }
}

fn fields(text: &[u8], whole: &Value) {
    let mut all = vec!["none".to_owned(), String::new(), "a.b".to_owned(), "a.b".to_owned()];
    paths(whole, "", &mut all);
    let by_hand = |path: &str| path.split('.').try_fold(whole, |value, name| value.as_object()?.get(name));
    let leaf = |path: &str| path.rsplit('.').next().unwrap().to_owned();
    let wanted: Map<String, Value> = all.iter().filter_map(|path| Some((leaf(path), by_hand(path)?.clone()))).collect();
    assert_eq!(Fields::new(&all).of(text).unwrap(), wanted, "{all:?}");
    for path in &all {
        let wanted = by_hand(path);
        let holds = |predicate: &Predicate| Filter::new(predicate).holds(text).unwrap();
        assert_eq!(Fields::new([path]).of(text).unwrap().get(&leaf(path)), wanted, "{path}");
        let exists = Predicate::Exists(path.clone());
        let lacks = Predicate::NotExists(path.clone());
        let is = Predicate::Eq(path.clone(), wanted.cloned().unwrap_or_default());
        for predicate in [&exists, &is] {
            assert_eq!(holds(predicate), wanted.is_some(), "{predicate:?}");
        }
        assert_eq!(holds(&lacks), wanted.is_none());
        assert!(
            holds(&Predicate::Or(vec![exists.clone(), lacks.clone()])) && !holds(&Predicate::And(vec![exists, lacks]))
        );
    }
}
