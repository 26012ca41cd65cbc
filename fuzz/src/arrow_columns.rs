//! Columns of a schema from choices, and rows that mostly match it.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use container_arrow::{BatchScan, Columns, ENCODING, Json, JsonRows, Mapping, OnMismatch};
use container_core::{Error, ErrorKind, Limits, Loss};
use serde_json::Value;

use super::choices::Choices;

const NAMES: [&str; 6] = ["a", "b", "c", "", "é\"", "a.b"];
const UNITS: [TimeUnit; 4] = [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];

/// Matching rows are appended; others leave no trace.
pub fn arrow_columns(data: &[u8]) {
    let mut choices = Choices::new(data);
    let on_mismatch = choices.pick(&[OnMismatch::Error, OnMismatch::Null]);
    let fields: Vec<Field> = (0..1 + choices.below(5)).map(|_| field(&mut choices, 3)).collect();
    let schema = Arc::new(Schema::new(fields));
    let scan = BatchScan::default()
        .with_batch_rows(1 + choices.below(20))
        .with_batch_bytes(choices.pick(&[1 << 20, 1, 100, 1000]))
        .with_mapping(Mapping::default().with_on_mismatch(on_mismatch));
    let limits = Limits::default().with_block_bytes(choices.pick(&[1 << 16, 1 << 10, 64]));
    let make = || Columns::new(schema.clone(), &scan, &limits);
    let mut columns = match make() {
        Ok(columns) => columns,
        Err(error) => {
            let kind = error.kind();
            assert!(
                matches!(kind, ErrorKind::Unsupported | ErrorKind::Usage | ErrorKind::Limit { .. }),
                "{kind:?}: {error}"
            );
            return;
        }
    };
    let mut json = Json::new(&limits);
    let mut kept: Vec<String> = Vec::new();
    for row in 0..40 {
        if choices.is_empty() || columns.is_full() {
            let is_empty = choices.is_empty();
            if !same(&mut columns, make().unwrap(), &std::mem::take(&mut kept), on_mismatch) || is_empty {
                return;
            }
        }
        let (text, how) = (object(&mut choices, schema.fields(), 4), choices.byte());
        // Sometimes damaged.
        let cut = if how & 7 == 7 { usize::from(choices.byte()) % text.len() } else { text.len() };
        let mut object = columns.row(row);
        let put = json.append(&text.as_bytes()[..cut], &mut object);
        match put {
            Ok(()) if how & 24 != 24 => {
                assert_eq!(cut, text.len(), "half a text was taken");
                object.end();
                kept.push(text);
            }
            Ok(()) => columns.roll_back(),
            Err(error) => {
                refused(&error, on_mismatch, row, cut == text.len());
                columns.roll_back();
            }
        }
        assert_eq!(columns.len(), kept.len());
    }
    same(&mut columns, make().unwrap(), &kept, on_mismatch);
}

fn refused(error: &Error, on_mismatch: OnMismatch, row: u64, is_whole: bool) {
    let position = error.position();
    match error.kind() {
        ErrorKind::Invalid if is_whole => {
            assert!(
                on_mismatch == OnMismatch::Error && position.row == Some(row) && position.column.is_some(),
                "{error}"
            );
        }
        ErrorKind::Invalid | ErrorKind::Truncated { .. } => {
            assert!(!is_whole || on_mismatch == OnMismatch::Error, "{error}")
        }
        ErrorKind::Limit { .. } => {}
        other => panic!("{other:?}: {error}"),
    }
}

/// Checks that the batch equals one of the same rows in new columns; `false` if the rows do not fit into one.
fn same(columns: &mut Columns, mut fresh: Columns, kept: &[String], on_mismatch: OnMismatch) -> bool {
    let mut json = Json::new(&Limits::default());
    for (row, text) in (0..).zip(kept) {
        let mut object = fresh.row(row);
        json.append(text.as_bytes(), &mut object).unwrap();
        object.end();
    }
    let (batch, fresh) = match (columns.finish(), fresh.finish()) {
        (Ok(batch), Ok(fresh)) => (batch, fresh),
        (Err(error), Err(fresh)) => {
            assert_eq!((error.kind(), error.to_string()), (ErrorKind::Invalid, fresh.to_string()));
            return false;
        }
        (found, wanted) => panic!("{found:?} where {wanted:?} is wanted"),
    };
    assert_eq!(batch.num_rows(), kept.len());
    assert!(columns.is_empty() && columns.bytes() == 0);
    for column in batch.columns() {
        column.to_data().validate_full().unwrap();
    }
    let (lines, wanted) = (lines(&batch), lines(&fresh));
    assert_eq!(lines, wanted);
    for (line, text) in lines.iter().zip(kept) {
        // Numbers out of range, which serde_json rejects, are kept as JSON text.
        let (Ok(shown), Ok(given)) = (parsed(line), parsed(text)) else { continue };
        for field in columns.schema().fields() {
            plausible(field, &shown[field.name()], given.get(field.name()).unwrap_or(&Value::Null));
        }
    }
    if on_mismatch == OnMismatch::Error {
        // The last of duplicate members counts, and is reported.
        let again = |loss: &Loss| loss.what.starts_with("duplicate object member");
        assert!(columns.take_losses().iter().all(again));
    }
    true
}

fn parsed(text: &str) -> Result<Value, ()> {
    serde_json::from_str(text).map_err(|error| assert!(error.to_string().contains("out of range"), "{error}: {text}"))
}

fn lines(batch: &RecordBatch) -> Vec<String> {
    let mut out = Vec::new();
    JsonRows::new(batch).unwrap().write_lines(&mut out).unwrap();
    String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
}

/// Checks that a value of a plain type is the input, or null.
fn plausible(field: &Field, shown: &Value, given: &Value) {
    let is_plain = field.extension_type_name().is_none() && field.metadata().is_empty();
    match (field.data_type(), shown) {
        (_, Value::Null) => {}
        (DataType::Boolean, shown) => assert_eq!(shown, given),
        (DataType::Utf8 | DataType::LargeUtf8 | DataType::Dictionary(..), shown) if is_plain => {
            assert_eq!(shown, given);
        }
        (kind, Value::Number(shown)) if kind.is_integer() => {
            assert!(given.as_i64().is_some() && shown.as_i64() == given.as_i64() || shown.as_f64() == given.as_f64());
        }
        // Floats show the digits of their width, but are converted exactly.
        (DataType::Float64, Value::Number(shown)) => assert_eq!(shown.as_f64(), given.as_f64()),
        (DataType::List(element) | DataType::LargeList(element), Value::Array(shown)) if is_plain => {
            let Value::Array(given) = given else { panic!("{shown:?} of {given}") };
            assert_eq!(shown.len(), given.len());
            shown.iter().zip(given).for_each(|(shown, given)| plausible(element, shown, given));
        }
        (DataType::Struct(fields), Value::Object(shown)) => {
            for field in fields {
                plausible(field, &shown[field.name()], given.get(field.name()).unwrap_or(&Value::Null));
            }
        }
        _ => {}
    }
}

fn field(choices: &mut Choices<'_>, depth: usize) -> Field {
    let (name, how) = (choices.pick(&NAMES), choices.byte());
    let text = |pairs: &[(&str, &str)]| -> HashMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    let data_type = data_type(choices, depth);
    let metadata = match (&data_type, how & 6) {
        (DataType::Utf8 | DataType::LargeUtf8, 2) => text(&[("ARROW:extension:name", "arrow.json")]),
        (DataType::Binary | DataType::LargeBinary, 2) => text(&[(ENCODING, "msgpack")]),
        (DataType::FixedSizeList(_, size), 2) => text(&[
            ("ARROW:extension:name", "arrow.fixed_shape_tensor"),
            ("ARROW:extension:metadata", &format!("{{\"shape\":[{size}]}}")),
        ]),
        _ => HashMap::new(),
    };
    Field::new(name, data_type, how & 1 == 0 || how & 8 == 0).with_metadata(metadata)
}

fn data_type(choices: &mut Choices<'_>, depth: usize) -> DataType {
    let inner = |choices: &mut Choices<'_>| Arc::new(field(choices, depth - 1));
    match choices.below(if depth == 0 { 26 } else { 32 }) {
        0 => DataType::Int64,
        1 => DataType::Utf8,
        2 => DataType::Float64,
        3 => DataType::Boolean,
        4 => DataType::Null,
        5 => DataType::Int8,
        6 => DataType::Int16,
        7 => DataType::Int32,
        8 => DataType::UInt8,
        9 => DataType::UInt16,
        10 => DataType::UInt32,
        11 => DataType::UInt64,
        12 => DataType::Float16,
        13 => DataType::Float32,
        14 => DataType::LargeUtf8,
        15 => DataType::Binary,
        16 => DataType::LargeBinary,
        17 => DataType::FixedSizeBinary(i32::from(choices.byte() as i8)),
        18 => DataType::Date32,
        19 => DataType::Date64,
        20 => DataType::Time32(choices.pick(&UNITS)),
        21 => DataType::Time64(choices.pick(&UNITS)),
        22 => {
            let zone = choices.pick(&[None, Some("UTC"), Some("+05:30"), Some("Europe/Berlin"), Some("nowhere")]);
            DataType::Timestamp(choices.pick(&UNITS), zone.map(Into::into))
        }
        23 => DataType::Duration(choices.pick(&UNITS)),
        24 => {
            let key = choices.pick(&[DataType::Int8, DataType::UInt8, DataType::Int32, DataType::UInt64].each_ref());
            let value = choices.pick(&[DataType::Utf8, DataType::Utf8, DataType::Int32].each_ref());
            DataType::Dictionary(Box::new(key.clone()), Box::new(value.clone()))
        }
        25 => choices.pick(&[DataType::Decimal128(9, 2), DataType::Utf8View, DataType::BinaryView].each_ref()).clone(),
        26 | 27 => DataType::List(inner(choices)),
        28 => DataType::LargeList(inner(choices)),
        29 => DataType::FixedSizeList(inner(choices), choices.pick(&[1, 2, 3, 0, 5, -1, 1 << 20])),
        _ => DataType::Struct((0..choices.below(4)).map(|_| field(choices, depth - 1)).collect::<Fields>()),
    }
}

/// Members for most of the fields, and some unknown ones.
fn object(choices: &mut Choices<'_>, fields: &Fields, depth: usize) -> String {
    let mut members = Vec::new();
    for field in fields {
        let name = if choices.byte() & 15 == 15 { "other" } else { field.name() };
        if choices.byte() & 7 != 7 {
            members.push(format!("{}:{}", Value::from(name), value(choices, field.data_type(), depth)));
        }
    }
    format!("{{{}}}", members.join(if choices.byte() & 15 == 15 { " ,\t" } else { "," }))
}

/// A value that mostly matches a type.
fn value(choices: &mut Choices<'_>, data_type: &DataType, depth: usize) -> String {
    let how = choices.byte();
    if how & 7 == 7 || depth == 0 {
        return stray(choices);
    }
    match data_type {
        DataType::Boolean => if how & 8 == 0 { "true" } else { "false" }.to_owned(),
        kind if kind.is_integer() || matches!(kind, DataType::Duration(_)) => match how & 24 {
            8 => (choices.number() as i64).to_string(),
            16 => choices.number().to_string(),
            _ => (choices.byte() as i8).to_string(),
        },
        kind if kind.is_floating() => match how & 56 {
            8 => f64::from_bits(choices.word()).to_string().replace("inf", "0").replace("NaN", "\"NaN\""),
            16 => "\"-Infinity\"".to_owned(),
            _ => (f64::from(choices.byte() as i8) / 8.0).to_string(),
        },
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) | DataType::Time32(_) | DataType::Time64(_) => {
            moment(choices, data_type)
        }
        DataType::List(element) | DataType::LargeList(element) => {
            list(choices, element, usize::from(how >> 4) % 6, depth)
        }
        DataType::FixedSizeList(element, size) => {
            let size = usize::try_from(*size).unwrap_or(1).min(6);
            let count = if how & 8 == 0 { size } else { choices.below(6) };
            list(choices, element, count, depth)
        }
        DataType::Struct(fields) => object(choices, fields, depth - 1),
        _ => Value::from(String::from_utf8_lossy(&vec![how; choices.below(9)])).to_string(),
    }
}

fn list(choices: &mut Choices<'_>, element: &Field, count: usize, depth: usize) -> String {
    let elements: Vec<String> = (0..count).map(|_| value(choices, element.data_type(), depth - 1)).collect();
    format!("[{}]", elements.join(","))
}

fn moment(choices: &mut Choices<'_>, data_type: &DataType) -> String {
    let date = format!("{:04}-{:02}-{:02}", 1900 + choices.below(256) * 3, choices.below(14), choices.below(33));
    let time = format!("{:02}:{:02}:{:02}", choices.below(25), choices.below(61), choices.below(62));
    let time = time + choices.pick(&["", ".5", ".123456", ".123456789", ".1234567891", "."]);
    let zone = choices.pick(&["", "Z", "+05:30", "-23:59", "z", "+24:00"]);
    match data_type {
        DataType::Date32 | DataType::Date64 => format!("\"{date}\""),
        DataType::Timestamp(..) => format!("\"{date}{}{time}{zone}\"", choices.pick(&["T", " ", "t"])),
        _ => format!("\"{time}\""),
    }
}

/// Any value.
fn stray(choices: &mut Choices<'_>) -> String {
    let made = [
        "null",
        "null",
        "{}",
        "[]",
        "[[1],null,{}]",
        "{\"a\":{\"b\":[]}}",
        "\"\\ud83d\\ude00\\n\"",
        "-0",
        "1e400",
        "0.1",
        "1e2",
        "18446744073709551615",
        "-9223372036854775809",
        "\"2024-02-30\"",
        "\"9999-12-31T23:59:59.999999999Z\"",
        "\"-5\"",
        "true",
        "{\"\":null,\"a\":1,\"a\":\"x\"}",
        "65504",
        "65520",
        "16777217",
        "9007199254740993",
        "1.5",
    ];
    choices.pick(&made).to_owned()
}
