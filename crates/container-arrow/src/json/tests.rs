use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use container_core::ErrorKind;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{BatchScan, Columns, Mapping, Observation, OnMismatch, resolve_schema};

/// Infers a schema and builds a batch.
fn batch(texts: &[&str], on_mismatch: OnMismatch) -> Result<(RecordBatch, Vec<container_core::Loss>)> {
    let (limits, scan) =
        (Limits::default(), BatchScan::default().with_mapping(Mapping::default().with_on_mismatch(on_mismatch)));
    let mut json = Json::new(&limits);
    let mut observation = Observation::new(limits);
    for (row, text) in (0..).zip(texts) {
        json.observe(text.as_bytes(), observation.row(row))?;
    }
    let mut columns = Columns::new(Arc::new(resolve_schema(&observation, &scan.mapping)?), &scan, &limits)?;
    for (row, text) in (0..).zip(texts) {
        let mut object = columns.row(row);
        json.append(text.as_bytes(), &mut object)?;
        object.end();
    }
    let batch = columns.finish()?;
    Ok((batch, columns.take_losses()))
}

/// Converts a value of an array to JSON.
fn value(array: &dyn Array, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        DataType::Null => Value::Null,
        DataType::Boolean => array.as_boolean().value(row).into(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).into(),
        DataType::Float64 => array.as_primitive::<Float64Type>().value(row).into(),
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        DataType::List(_) => {
            let list = array.as_list::<i32>().value(row);
            (0..list.len()).map(|row| value(&list, row)).collect()
        }
        DataType::Struct(fields) => {
            let array = array.as_struct();
            let members = fields.iter().zip(array.columns());
            Value::Object(members.map(|(field, column)| (field.name().clone(), value(column, row))).collect())
        }
        other => panic!("{other}"),
    }
}

/// Compares a value read back with the original: missing members are null, and integers may be floats.
fn is_equivalent(shown: &Value, expected: Option<&Value>) -> bool {
    match (shown, expected) {
        (Value::Null, None | Some(Value::Null)) => true,
        (Value::Object(shown), Some(Value::Object(expected))) => {
            expected.keys().all(|name| shown.contains_key(name))
                && shown.iter().all(|(name, value)| is_equivalent(value, expected.get(name)))
        }
        (Value::Array(shown), Some(Value::Array(expected))) => {
            shown.len() == expected.len()
                && shown.iter().zip(expected).all(|(shown, expected)| is_equivalent(shown, Some(expected)))
        }
        (Value::Number(shown), Some(Value::Number(expected))) => {
            shown == expected || shown.is_f64() && shown.as_f64() == expected.as_f64()
        }
        (Value::String(text), Some(Value::Object(empty))) => text == "{}" && empty.is_empty(),
        (shown, Some(expected)) => shown == expected,
        _ => false,
    }
}

fn rows(batch: &RecordBatch) -> Vec<Value> {
    let whole = arrow_array::StructArray::from(batch.clone());
    (0..batch.num_rows()).map(|row| value(&whole, row)).collect()
}

fn numbers(text: &str) -> Result<Number> {
    let mut json = tokens(text.as_bytes(), 1)?;
    let number = json.number()?;
    json.end(END).map(|()| number)
}

#[test]
fn parses_numbers_exactly_or_as_out_of_range() {
    for (text, expected) in [
        ("0", Number::I64(0)),
        ("-1", Number::I64(-1)),
        ("999999999999999999", Number::I64(999_999_999_999_999_999)),
        ("-9223372036854775808", Number::I64(i64::MIN)),
        ("9223372036854775808", Number::U64(1 << 63)),
        ("18446744073709551615", Number::U64(u64::MAX)),
        ("18446744073709551616", Number::F64(18_446_744_073_709_551_616.0)),
        ("18446744073709551617", Number::Beyond),
        ("-9223372036854775809", Number::Beyond),
        ("100000000000000000000", Number::F64(1e20)),
        ("1e400", Number::Beyond),
        ("-1e400", Number::Beyond),
        ("1e99999999999999999999", Number::Beyond),
        ("1e-99999999999999999999", Number::F64(0.0)),
        ("0.1", Number::F64(0.1)),
        // The digits are 0 modulo 2^64.
        (&format!("-1{}", "0".repeat(64)), Number::Beyond),
        (&format!("-{:.0}", 6.671e183), Number::F64(-6.671e183)),
        (&format!("{:.0}", 6.671e183), Number::F64(6.671e183)),
        ("-18446744073709551616", Number::F64(-18_446_744_073_709_551_616.0)),
        ("-0", Number::F64(-0.0)),
        ("-0.0", Number::F64(-0.0)),
        ("1E+2", Number::F64(100.0)),
        ("9007199254740993.0", Number::F64(9_007_199_254_740_992.0)),
    ] {
        let actual = numbers(text).unwrap();
        assert_eq!(format!("{actual:?}"), format!("{expected:?}"), "{text}");
    }
    assert_eq!(numbers(&"9".repeat(400)).unwrap(), Number::Beyond);
    for text in ["", "-", "+1", "01", "-01", "1.", ".5", "1e", "1e+", "1.e1", "0x1", "1 2", "--1"] {
        assert!(numbers(text).is_err(), "{text}");
    }
}

#[test]
fn rejects_invalid_json_with_its_offset() {
    for (text, byte) in [
        ("", 0),
        ("{", 1),
        ("{\"a\"}", 4),
        ("{\"a\":}", 5),
        ("{\"a\":1,}", 7),
        ("{a:1}", 1),
        ("{\"a\":[1,]}", 8),
        ("{\"a\":[1 2]}", 8),
        ("{\"a\":tru}", 8),
        ("{\"a\":\"\\x\"}", 7),
        ("{\"a\":\"\\u12\"}", 10),
        ("{\"a\":\"\\ud800\"}", 6),
        ("{\"a\":\"\\ud800\\u0041\"}", 6),
        ("{\"a\":\"\\udc00\"}", 6),
        ("{\"a\":\"x\ny\"}", 7),
        ("{\"a\":1}x", 7),
        ("[]", 0),
    ] {
        let limits = Limits::default();
        let mut observation = Observation::new(limits);
        let error = Json::new(&limits).observe_members(text.as_bytes(), &mut observation.row(0).object()).unwrap_err();
        assert_eq!(error.position().byte, Some(byte), "{text}: {error}");
        assert!(matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Truncated { .. }), "{error}");
    }
    let mut json = Json::new(&Limits::default());
    assert!(json.observe(b"\"\xff\"", Observation::new(Limits::default()).row(0)).is_err());
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    json.observe(deep(128).as_bytes(), Observation::new(Limits::default()).row(0)).unwrap();
    let error = json.observe(deep(129).as_bytes(), Observation::new(Limits::default()).row(0)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit { asked: 129, limit: 128 });
}

#[test]
fn rows_become_columns() {
    let texts = [
        r#"{"i":1,"f":1.5,"s":"x","b":true,"l":[1,2],"o":{"a":1},"n":null,"e":{},"ol":[{"x":1},{"y":"z"}]}"#,
        r#" { "s" : "\u00e9\n" , "i" : 18446744073709551615 , "l" : [ ] , "o" : { } , "new" : [[1],[]] } "#,
        r#"{"f":2,"l":[2.5,null],"o":null,"i":7,"i":8}"#,
        "{}",
    ];
    let (batch, losses) = batch(&texts, OnMismatch::Error).unwrap();
    assert_eq!(losses.len(), 1, "{losses:?}");
    assert_eq!((losses[0].count, losses[0].first.row, losses[0].first.column.as_deref()), (1, Some(2), Some("i")));
    assert_eq!(losses[0].what, "duplicate object member: last value kept");
    assert_eq!(
        batch.schema().fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>(),
        ["i", "f", "s", "b", "l", "o", "n", "e", "ol", "new"]
    );
    assert_eq!(
        rows(&batch),
        [
            json!({"i":1,"f":1.5,"s":"x","b":true,"l":[1.0,2.0],"o":{"a":1},"n":null,"e":"{}",
                "ol":[{"x":1,"y":null},{"x":null,"y":"z"}],"new":null}),
            json!({"i":u64::MAX,"f":null,"s":"é\n","b":null,"l":[],"o":{"a":null},"n":null,"e":null,"ol":null,"new":[[1],[]]}),
            json!({"i":8,"f":2.0,"s":null,"b":null,"l":[2.5,null],"o":null,"n":null,"e":null,"ol":null,"new":null}),
            json!({"i":null,"f":null,"s":null,"b":null,"l":null,"o":null,"n":null,"e":null,"ol":null,"new":null}),
        ]
    );
}

#[test]
fn on_mismatch_decides_about_conflicts() {
    let texts = [r#"{"a":{"b":[1,2]},"c":1}"#, r#"{"a":{"b":[3]}}"#, r#"{"a":{"b":["x",4, {"y" : 1}]},"c":"t"}"#];
    let error = batch(&texts, OnMismatch::Error).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the column has text, but an integer in row 0; use on_mismatch null or json (row 2, column \"a.b[]\")"
    );
    let (nulls, losses) = batch(&texts, OnMismatch::Null).unwrap();
    assert_eq!(
        rows(&nulls),
        [json!({"a":{"b":[1,2]},"c":1}), json!({"a":{"b":[3]},"c":null}), json!({"a":{"b":[null,4,null]},"c":null})]
    );
    assert_eq!(
        losses.iter().map(|loss| (loss.count, loss.first.row)).collect::<Vec<_>>(),
        [(2, Some(2)), (1, Some(2))]
    );
    let (texts, losses) = batch(&texts, OnMismatch::Json).unwrap();
    assert!(losses.is_empty());
    assert_eq!(
        rows(&texts),
        [
            json!({"a":{"b":["1","2"]},"c":"1"}),
            json!({"a":{"b":["3"]},"c":null}),
            json!({"a":{"b":["\"x\"","4","{\"y\" : 1}"]},"c":"\"t\""})
        ]
    );
    let column = texts.schema();
    assert_eq!(column.field(1).extension_type_name(), Some("arrow.json"));
}

fn documents() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |value| value.is_finite()).prop_map(Value::from),
        (-1000..1000_i32).prop_map(|value| Value::from(f64::from(value) / 8.0)),
        "\\PC{0,12}".prop_map(Value::from),
        "[\u{0}-\u{20}\"\\\\/é😀]{0,6}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec(("[a-c]", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    });
    prop::collection::vec(("[a-e]|é|\"", value), 0..6).prop_map(|members| Value::Object(members.into_iter().collect()))
}

/// Valid and nearly valid JSON.
fn texts() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        Just("{".to_owned()),
        Just("}".to_owned()),
        Just("[".to_owned()),
        Just("]".to_owned()),
        Just(",".to_owned()),
        Just(":".to_owned()),
        Just("\"a\"".to_owned()),
        Just("\"a\":".to_owned()),
        Just("true".to_owned()),
        Just("nul".to_owned()),
        Just("null".to_owned()),
        Just(" \n".to_owned()),
        "-?[0-9]{0,20}(\\.[0-9]{0,20})?([eE][+-]?[0-9]{0,3})?",
        "\"(\\\\[\"\\\\/bfnrtux]|\\\\u[0-9a-fD8]{4}|[a\u{1}é])*\"?",
    ];
    let wild = prop::collection::vec(token, 0..12).prop_map(|tokens| tokens.concat());
    let cut = (documents(), any::<prop::sample::Index>(), ".?").prop_map(|(document, at, with)| {
        let text = document.to_string();
        let mut at = at.index(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let rest = text[at..].chars().next().map_or(0, char::len_utf8);
        format!("{}{with}{}", &text[..at], &text[at + rest..])
    });
    prop_oneof![wild, cut, documents().prop_map(|document| serde_json::to_string_pretty(&document).unwrap())]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 2000 }))]

    #[test]
    fn accepts_the_same_texts_as_serde_json(text in texts()) {
        let limits = Limits::default();
        let observed = Json::new(&limits).observe(text.as_bytes(), Observation::new(limits).row(0));
        match serde_json::from_str::<Value>(&text) {
            Ok(_) => prop_assert!(observed.is_ok(), "{text}: {observed:?}"),
            // Numbers out of range are accepted, with their observed class.
            Err(error) if error.to_string().contains("number out of range") => {}
            Err(error) => prop_assert!(observed.is_err(), "{text}: {error}"),
        }
        let mut columns = Columns::new(Arc::new(arrow_schema::Schema::empty()), &BatchScan::default(), &limits).unwrap();
        let appended = Json::new(&limits).append(text.as_bytes(), &mut columns.row(0));
        let is_object = text.trim_start_matches([' ', '\t', '\r', '\n']).starts_with('{');
        prop_assert_eq!(appended.is_ok(), observed.is_ok() && is_object, "{}", text);
    }

    #[test]
    fn values_match_serde_json(documents in prop::collection::vec(documents(), 0..6)) {
        let lines: Vec<String> = documents.iter().map(Value::to_string).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        if let Ok((batch, _)) = batch(&lines, OnMismatch::Error) {
            prop_assert_eq!(batch.num_rows(), documents.len());
            for (shown, document) in rows(&batch).iter().zip(&documents) {
                // Compare with the original, since serde_json does not parse floats exactly by default.
                prop_assert!(is_equivalent(shown, Some(document)), "{shown} {document}");
            }
        }
        // These never fail.
        for on_mismatch in [OnMismatch::Null, OnMismatch::Json] {
            prop_assert_eq!(batch(&lines, on_mismatch).unwrap().0.num_rows(), documents.len());
        }
    }

    #[test]
    fn floats_match_the_standard_library(value in any::<f64>(), digits in 0..25_usize, mantissa in any::<u64>(), exponent in -30..30_i32) {
        for text in [format!("{value:e}"), format!("{value:.digits$e}"), format!("{}.{mantissa}e{exponent}", mantissa % 1000)] {
            if let Ok(expected) = text.parse::<f64>() && expected.is_finite() {
                match numbers(&text).unwrap() {
                    Number::F64(actual) => prop_assert_eq!(actual.to_bits(), expected.to_bits(), "{}", text),
                    other => prop_assert!(false, "{text}: {other:?}"),
                }
            }
        }
    }
}

/// All permutations.
fn permutations<T: Clone>(items: &[T]) -> Vec<Vec<T>> {
    let Some((first, rest)) = items.split_first() else { return vec![vec![]] };
    let put = |order: Vec<T>| {
        (0..=order.len()).map(move |at| [&order[..at], std::slice::from_ref(first), &order[at..]].concat())
    };
    permutations(rest).into_iter().flat_map(put).collect()
}

#[test]
fn words_are_floats_beside_numbers_in_any_row_order() {
    let rows = [
        r#"{"i":1,"f":"NaN","w":"NaN","t":"x","l":[1,"NaN"],"n":null,"x":9007199254740993}"#,
        r#"{"i":"-Infinity","f":0.5,"w":"Infinity","t":"NaN","l":[],"n":"Infinity","x":1}"#,
        r#"{"i":2,"f":"Infinity","w":null,"t":"NaN","l":["Infinity"],"n":7,"x":2}"#,
        r#"{"i":null,"f":7,"w":"NaN","t":null,"l":null,"n":-0,"x":3}"#,
    ];
    let list = DataType::List(Arc::new(arrow_schema::Field::new_list_field(DataType::Float64, true)));
    let (float, text) = (DataType::Float64, DataType::Utf8);
    let expected = [&float, &float, &text, &text, &list, &float, &DataType::Int64];
    let all = permutations(&rows);
    assert_eq!(all.len(), 24);
    for order in all {
        let (batch, losses) = batch(&order, OnMismatch::Error).unwrap();
        let schema = batch.schema();
        assert_eq!(schema.fields().iter().map(|field| field.data_type()).collect::<Vec<_>>(), expected, "{order:?}");
        assert!(losses.is_empty());
        for (row, text) in order.iter().enumerate() {
            let row_of = rows.iter().position(|row| row == text).unwrap();
            let bits = |index: usize| {
                let array = batch.column(index).as_primitive::<Float64Type>();
                array.is_valid(row).then(|| array.value(row))
            };
            let actual = bits(0);
            assert_eq!(actual, [Some(1.0), Some(f64::NEG_INFINITY), Some(2.0), None][row_of]);
            let actual = bits(1).map(|value| if value.is_nan() { "NaN".to_owned() } else { value.to_string() });
            assert_eq!(actual.as_deref(), [Some("NaN"), Some("0.5"), Some("inf"), Some("7")][row_of]);
        }
        // Merging observations of single rows gives the same schema.
        let limits = Limits::default();
        let mut observation = Observation::new(limits);
        for (row, text) in (0..).zip(&order) {
            let mut one = Observation::new(limits);
            Json::new(&limits).observe(text.as_bytes(), one.row(row)).unwrap();
            observation.merge(one).unwrap();
        }
        assert_eq!(&resolve_schema(&observation, &Mapping::default()).unwrap(), schema.as_ref());
    }
}

#[test]
fn words_are_text_in_columns_without_floats() {
    // Beside an integer that Float64 cannot hold exactly, and beside other values than numbers.
    for (rows, message) in [
        ([r#"{"x":9007199254740993}"#, r#"{"x":"NaN"}"#], "an integer that Float64 cannot hold exactly"),
        ([r#"{"x":true}"#, r#"{"x":"NaN"}"#], "text, but a boolean in row 0"),
        ([r#"{"x":1}"#, r#"{"x":"nan"}"#], "text, but an integer in row 0"),
    ] {
        for order in permutations(&rows) {
            let error = batch(&order, OnMismatch::Error).unwrap_err().to_string();
            assert!(error.contains(message) || order != rows, "{error}");
        }
    }
    let (batch, losses) =
        batch(&[r#"{"x":1}"#, r#"{"x":"NaN"}"#, r#"{"x":true}"#, r#"{"x":2}"#], OnMismatch::Null).unwrap();
    assert_eq!((batch.column(0).data_type(), losses[0].count), (&DataType::Int64, 2));
}

#[test]
fn bytes_objects_are_binary() {
    let rows = |texts: &[&str]| batch(texts, OnMismatch::Error).map(|(batch, _)| batch.column(0).clone());
    let column = rows(&[
        r#"{"a":{"$bytes":"AAH/"}}"#,
        r#"{"a":null}"#,
        r#"{"a": { "$bytes" : "" } }"#,
        r#"{"a":{"$bytes":"\/w=="}}"#,
    ])
    .unwrap();
    let bytes = column.as_binary::<i32>();
    assert_eq!(bytes.iter().collect::<Vec<_>>(), [Some(&[0, 1, 255][..]), None, Some(&[]), Some(&[255])]);
    let column = rows(&[r#"{"a":[{"$bytes":"AA=="}]}"#]).unwrap();
    assert_eq!(column.as_list::<i32>().value(0).as_binary::<i32>().value(0), [0]);
    // Anything else is an object: other members, other values, non-canonical base64.
    for other in [
        r#"{"$bytes":"AA==","b":1}"#,
        r#"{"$bytes":"AA==","$bytes":"AA=="}"#,
        r#"{"$bytes":"AA"}"#,
        r#"{"$bytes":"AB=="}"#,
        r#"{"$bytes":"A-__"}"#,
        r#"{"$bytes":1}"#,
        r#"{"$byte":"AA=="}"#,
    ] {
        let column = rows(&[&format!(r#"{{"a":{other}}}"#)]).unwrap();
        assert!(matches!(column.data_type(), DataType::Struct(_)), "{other}: {}", column.data_type());
    }
    // Binary and objects conflict.
    assert!(rows(&[r#"{"a":{"$bytes":"AA=="}}"#, r#"{"a":{"b":1}}"#]).is_err());
    // Invalid JSON after it is an error.
    assert!(rows(&[r#"{"a":{"$bytes":"AA==""#]).is_err());
    assert!(rows(&[r#"{"a":{"$bytes":"AA==",}}"#]).is_err());
}

#[test]
fn sparse_vectors_are_lists() {
    let sparse = |length: u64, indices: &str, values: &str| {
        format!(r#"{{"v":{{"$sparse":{{"length":{length},"indices":[{indices}],"values":[{values}]}}}}}}"#)
    };
    let of = |texts: &[String]| {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let (batch, losses) = batch(&texts, OnMismatch::Error).map_err(|error| error.to_string())?;
        assert_eq!(losses, []);
        let rows: Vec<Value> = (0..batch.num_rows()).map(|row| value(batch.column(0), row)).collect();
        Ok::<_, String>((batch.column(0).data_type().to_string(), rows))
    };
    let dense = |text: &str| format!(r#"{{"v":{text}}}"#);
    let (kind, rows) = of(&[sparse(4, "1", "0.5"), dense("[1,2]"), sparse(2, "", "")]).unwrap();
    assert_eq!(
        (kind.as_str(), rows),
        ("List(Float64)", vec![json!([0.0, 0.5, 0.0, 0.0]), json!([1.0, 2.0]), json!([0.0, 0.0])])
    );
    let (kind, rows) = of(&[sparse(3, "0, 2", "7,-7")]).unwrap();
    assert_eq!((kind.as_str(), rows), ("List(Int64)", vec![json!([7, 0, -7])]));
    let (kind, rows) = of(&[sparse(3, "1", "\"a\"")]).unwrap();
    assert_eq!((kind.as_str(), rows), ("List(Utf8)", vec![json!(["", "a", ""])]));
    let (kind, rows) = of(&[sparse(2, "0", "true")]).unwrap();
    assert_eq!((kind.as_str(), rows), ("List(Boolean)", vec![json!([true, false])]));
    let (kind, _) = of(&[sparse(3, "1", "\"NaN\"")]).unwrap();
    assert_eq!(kind, "List(Float64)");
    // Invalid ones are objects: too few values, indices not ascending or out of range, another member.
    for text in [
        sparse(3, "0,1", "5"),
        sparse(3, "1,1", "5,6"),
        sparse(3, "3", "5"),
        dense(r#"{"$sparse":{"length":1,"indices":[0],"values":[1]},"b":1}"#),
        dense(r#"{"$sparse":{"length":-1,"indices":[],"values":[]}}"#),
        dense(r#"{"$sparse":[1]}"#),
    ] {
        assert!(of(std::slice::from_ref(&text)).unwrap().0.starts_with("Struct"), "{text}");
    }
    // The row size limit applies to implicit elements.
    let error = of(&[sparse(1 << 40, "0", "1")]).unwrap_err();
    assert!(error.contains("row size in bytes"), "{error}");
}
