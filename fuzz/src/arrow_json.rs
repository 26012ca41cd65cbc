//! Lines of JSON, valid or not, into columns and back.

use std::sync::Arc;

use arrow_array::RecordBatch;
use container_arrow::{BatchScan, Columns, Json, JsonRows, Mapping, Observation, OnMismatch, resolve_schema};
use container_core::{Error, ErrorKind, Limits, Loss};
use serde_json::Value;

/// Maximum bytes of an input.
const LINES: usize = 12;

/// The bytes are lines. Those that serde_json accepts must be accepted, and survive the round trip.
pub fn arrow_json(data: &[u8]) {
    let mut texts = Vec::new();
    for line in data.split(|byte| *byte == b'\n').take(LINES) {
        if let Some(value) = taken(line) {
            texts.push((line, value));
        }
    }
    for on_mismatch in [OnMismatch::Error, OnMismatch::Null, OnMismatch::Json, OnMismatch::Msgpack] {
        let lines: Vec<&[u8]> = texts.iter().map(|(line, _)| *line).collect();
        match whole(&lines, on_mismatch) {
            Ok((batch, losses)) => {
                assert_eq!(batch.num_rows(), texts.len());
                let exact = matches!(on_mismatch, OnMismatch::Error | OnMismatch::Json);
                // The last of duplicate members counts, and is reported.
                let mut others = losses.iter().filter(|loss| !loss.what.starts_with("duplicate object member"));
                assert!(!exact || others.next().is_none(), "{losses:?}");
                shown(&batch, &texts, on_mismatch);
            }
            Err(error) => {
                assert_eq!(on_mismatch, OnMismatch::Error, "{error}");
                assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
                let position = error.position();
                assert!(
                    position.column.is_some() && position.row.is_some_and(|row| row < lines.len() as u64),
                    "{error}"
                );
            }
        }
    }
}

/// The members of a text that is accepted as a row; `None` if serde_json's view of it is unknown.
fn taken(line: &[u8]) -> Option<Option<Value>> {
    let limits = Limits::default();
    let mut seen = Observation::new(limits);
    let own = Json::new(&limits).observe(line, seen.row(0));
    let mut columns = Columns::new(Arc::new(arrow_schema::Schema::empty()), &BatchScan::default(), &limits).unwrap();
    let passed = Json::new(&limits).append(line, &mut columns.row(0));
    let is_object = line.trim_ascii_start().first() == Some(&b'{');
    assert!(passed.is_ok() == (own.is_ok() && is_object), "{own:?} {passed:?}");
    let theirs = serde_json::from_slice::<Value>(line);
    if let Err(error) = &own {
        said(error, line);
    }
    let theirs = match theirs {
        Ok(value) => {
            assert!(own.is_ok(), "{own:?}");
            Some(value)
        }
        // The nesting limit is one lower; numbers out of range are classified separately.
        Err(error) if own.is_ok() => {
            let error = error.to_string();
            assert!(error.contains("recursion limit") || error.contains("number out of range"), "{error}");
            None
        }
        Err(_) => None,
    };
    (own.is_ok() && is_object).then_some(theirs)
}

fn said(error: &Error, line: &[u8]) {
    match error.kind() {
        ErrorKind::Invalid | ErrorKind::Truncated { .. } => {
            assert!(error.position().byte.is_some_and(|byte| byte <= line.len() as u64), "{error}");
        }
        ErrorKind::Limit { .. } => {
            let brackets = line.iter().filter(|byte| matches!(byte, b'[' | b'{')).count();
            assert!(brackets > 128, "{error}");
        }
        other => panic!("{other:?}: {error}"),
    }
}

/// Sends rows through the whole pipeline.
fn whole(lines: &[&[u8]], on_mismatch: OnMismatch) -> Result<(RecordBatch, Vec<Loss>), Error> {
    let (limits, scan) =
        (Limits::default(), BatchScan::default().with_mapping(Mapping::default().with_on_mismatch(on_mismatch)));
    let mut json = Json::new(&limits);
    let mut seen = Observation::new(limits);
    for (row, line) in (0..).zip(lines) {
        json.observe(line, seen.row(row)).unwrap();
    }
    let mut columns = Columns::new(Arc::new(resolve_schema(&seen, &scan.mapping)?), &scan, &limits).unwrap();
    for (row, line) in (0..).zip(lines) {
        let mut object = columns.row(row);
        json.append(line, &mut object).unwrap();
        object.end();
    }
    let batch = columns.finish().unwrap();
    for column in batch.columns() {
        column.to_data().validate_full().unwrap();
    }
    Ok((batch, columns.take_losses()))
}

/// Checks that the rows written from a batch are its content.
fn shown(batch: &RecordBatch, texts: &[(&[u8], Option<Value>)], on_mismatch: OnMismatch) {
    let mut rows = JsonRows::new(batch).unwrap();
    for (row, (_, wanted)) in texts.iter().enumerate() {
        let mut line = Vec::new();
        rows.write(row, &mut line).unwrap();
        assert!(!line.contains(&b'\n'), "not one line");
        let serialized = serde_json::to_vec(&rows.row(row)).unwrap();
        let Some(wanted) = wanted else { continue };
        let shown: Value = serde_json::from_slice(&line).unwrap();
        if matches!(on_mismatch, OnMismatch::Error | OnMismatch::Json) {
            assert!(same(&shown, Some(wanted)), "{shown} where {wanted} is wanted");
        }
        // Serializers agree, except for numbers that fit neither 64 bits nor a float, and for NaN.
        let shown = finite(shown);
        let serialized = finite(serde_json::from_slice(&serialized).unwrap());
        assert!(on_mismatch == OnMismatch::Json || serialized == shown, "{serialized} where {shown} is wanted");
    }
}

/// Null for strings of floats that JSON cannot represent, as in serde_json.
fn finite(value: Value) -> Value {
    match value {
        Value::String(text) if ["NaN", "Infinity", "-Infinity"].contains(&text.as_str()) => Value::Null,
        Value::Array(elements) => elements.into_iter().map(finite).collect(),
        Value::Object(members) => members.into_iter().map(|(name, value)| (name, finite(value))).collect(),
        other => other,
    }
}

/// Values as shown by a column of their type: missing members are null, integers among floats are floats.
pub fn same(shown: &Value, wanted: Option<&Value>) -> bool {
    match (shown, wanted) {
        (Value::Null, None | Some(Value::Null)) => true,
        (Value::Object(shown), Some(Value::Object(wanted))) => {
            wanted.keys().all(|name| shown.contains_key(name))
                && shown.iter().all(|(name, value)| same(value, wanted.get(name)))
        }
        (Value::Array(shown), Some(Value::Array(wanted))) => {
            shown.len() == wanted.len() && shown.iter().zip(wanted).all(|(shown, wanted)| same(shown, Some(wanted)))
        }
        (Value::Number(shown), Some(Value::Number(wanted))) => {
            let float = shown.as_f64().filter(|_| shown.is_f64());
            // A float equals an integer if that is exact.
            shown == wanted
                || float.is_some_and(|float| match wanted.as_i128() {
                    Some(integer) => float as i128 == integer,
                    None => Some(float) == wanted.as_f64(),
                })
                || !wanted.is_i64() && !wanted.is_u64() && shown.as_f64() == wanted.as_f64()
        }
        (shown, wanted) => Some(shown) == wanted,
    }
}
