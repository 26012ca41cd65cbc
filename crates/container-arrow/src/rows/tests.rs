use std::sync::Arc;

use arrow_array::builder::{Int32Builder, MapBuilder, StringBuilder};
use arrow_array::types::Int8Type;
use arrow_array::*;
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use container_core::{ErrorKind, Limits};
use serde_json::{Value, json};

use super::*;
use crate::{BatchScan, Columns, Json, Mapping, Observation, resolve_schema};

fn lines(fields: Vec<(Field, ArrayRef)>) -> Vec<String> {
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = fields.into_iter().unzip();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap();
    let mut rows = JsonRows::new(&batch).unwrap();
    let mut out = Vec::new();
    rows.write_lines(&mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), rows.len());
    for line in &lines {
        serde_json::from_str::<Value>(line).unwrap();
    }
    lines
}

fn column(array: impl Array + 'static) -> Vec<String> {
    let field = Field::new("x", array.data_type().clone(), true);
    let array: ArrayRef = Arc::new(array);
    let values = lines(vec![(field.clone(), array.clone())]);
    // The serializer agrees.
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]).unwrap();
    let rows = JsonRows::new(&batch).unwrap();
    let parsed = |text: &String| serde_json::from_str::<Value>(text).unwrap();
    for (row, line) in values.iter().enumerate() {
        assert_eq!(parsed(&serde_json::to_string(&rows.row(row)).unwrap()), parsed(line));
    }
    let inner = |line: &String| line.strip_prefix("{\"x\":").unwrap().strip_suffix('}').unwrap().to_owned();
    values.iter().map(inner).collect()
}

#[test]
fn writes_numbers_exactly() {
    assert_eq!(column(UInt64Array::from(vec![Some(u64::MAX), None])), ["18446744073709551615", "null"]);
    assert_eq!(column(Int8Array::from(vec![-128])), ["-128"]);
    assert_eq!(column(Float32Array::from(vec![0.1, f32::MAX, -0.0])), ["0.1", "3.4028235e+38", "-0.0"]);
    assert_eq!(
        column(Float64Array::from(vec![0.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY])),
        ["0.1", "\"NaN\"", "\"Infinity\"", "\"-Infinity\""]
    );
    let half = |bits| <arrow_array::types::Float16Type as ArrowPrimitiveType>::Native::from_bits(bits);
    assert_eq!(
        column(Float16Array::from_iter_values([half(0x3c00), half(0x2e66), half(0x7e00)])),
        ["1.0", "0.099975586", "\"NaN\""]
    );
    let decimals = Decimal128Array::from(vec![-12_345]).with_precision_and_scale(10, 3).unwrap();
    assert_eq!(column(decimals), ["\"-12.345\""]);
    assert_eq!(column(BooleanArray::from(vec![Some(true), Some(false), None])), ["true", "false", "null"]);
    assert_eq!(column(NullArray::new(2)), ["null", "null"]);
}

#[test]
fn writes_text_and_binary() {
    let texts = vec![Some("a\"\n\u{1}é"), None, Some("")];
    let expected = ["\"a\\\"\\n\\u0001é\"", "null", "\"\""];
    assert_eq!(column(StringArray::from(texts.clone())), expected);
    assert_eq!(column(LargeStringArray::from(texts.clone())), expected);
    assert_eq!(column(StringViewArray::from(texts)), expected);
    let bytes: Vec<&[u8]> = vec![b"", b"f", b"fo", b"foo", b"\xff\xfe\xfd\xfc"];
    let expected = ["", "Zg==", "Zm8=", "Zm9v", "//79/A=="].map(|text| format!("{{\"$bytes\":\"{text}\"}}"));
    assert_eq!(column(BinaryArray::from(bytes.clone())), expected);
    assert_eq!(column(LargeBinaryArray::from(bytes.clone())), expected);
    assert_eq!(column(BinaryViewArray::from(bytes)), expected);
    let fixed = FixedSizeBinaryArray::try_from_iter([b"fo", b"\0\0"].iter()).unwrap();
    assert_eq!(column(fixed), ["{\"$bytes\":\"Zm8=\"}", "{\"$bytes\":\"AAA=\"}"]);
    let keys: DictionaryArray<Int8Type> = vec![Some("a"), None, Some("b"), Some("a")].into_iter().collect();
    assert_eq!(column(keys), ["\"a\"", "null", "\"b\"", "\"a\""]);
    let none: DictionaryArray<Int8Type> = vec![None::<&str>].into_iter().collect();
    assert_eq!(column(none), ["null"]);
}

#[test]
fn writes_maps_as_objects() {
    let of = |keys: ArrayRef, expected: &str| {
        let items = StructArray::from(vec![
            (Arc::new(Field::new("key", keys.data_type().clone(), false)), keys),
            (Arc::new(Field::new("value", DataType::Int64, true)), Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef),
        ]);
        let field = Arc::new(Field::new("entries", items.data_type().clone(), false));
        let map = MapArray::new(field, OffsetBuffer::new(vec![0, 2].into()), items, None, false);
        assert_eq!(column(map), [expected]);
    };
    of(Arc::new(StringArray::from(vec!["a", "$b"])), r#"{"a":1,"$b":2}"#);
    of(Arc::new(Int32Array::from(vec![-1, 2])), r#"{"-1":1,"2":2}"#);
    of(Arc::new(BinaryArray::from(vec![&b"\0"[..], b""])), r#"{"{\"$bytes\":\"AA==\"}":1,"{\"$bytes\":\"\"}":2}"#);
    of(Arc::new(Date32Array::from(vec![0, 1])), r#"{"1970-01-01":1,"1970-01-02":2}"#);
    of(Arc::new(Float32Array::from(vec![0.5, f32::NAN])), r#"{"0.5":1,"NaN":2}"#);
    of(Arc::new(StringArray::from(vec!["$escape", "a"])), r#"{"$escape":{"$escape":1,"a":2}}"#);
}

#[test]
fn escapes_structs_that_would_be_read_as_other_values() {
    for (name, is_escaped) in [("$bytes", true), ("$sparse", true), ("$escape", true), ("$", true), ("a$", false)] {
        let item: ArrayRef = Arc::new(StringArray::from(vec!["AAE="]));
        let member = |name: &str| (Arc::new(Field::new(name, DataType::Utf8, true)), Arc::clone(&item));
        let plain = format!("{{\"{name}\":\"AAE=\"}}");
        let expected = if is_escaped { format!("{{\"$escape\":{plain}}}") } else { plain };
        let array = StructArray::from(vec![member(name)]);
        let batch =
            RecordBatch::try_from_iter_with_nullable([("m", Arc::new(array.clone()) as ArrayRef, true)]).unwrap();
        assert_eq!(column(array), [expected.as_str()]);
        let text = format!("{{\"m\":{expected}}}");
        // It is read back as the same struct.
        let (limits, scan) = (Limits::default(), BatchScan::default());
        let mut json = Json::new(&limits);
        let mut observation = Observation::new(limits);
        json.observe(text.as_bytes(), observation.row(0)).unwrap();
        let schema = resolve_schema(&observation, &scan.mapping).unwrap();
        assert_eq!(schema.field(0).data_type(), batch.schema().field(0).data_type(), "{name}");
        let mut columns = Columns::new(Arc::new(schema), &scan, &limits).unwrap();
        let mut object = columns.row(0);
        json.append(text.as_bytes(), &mut object).unwrap();
        object.end();
        assert_eq!(columns.finish().unwrap(), batch, "{name}");
    }
}

#[test]
fn writes_times_as_iso_8601() {
    assert_eq!(column(Date32Array::from(vec![0, -719_162])), ["\"1970-01-01\"", "\"0001-01-01\""]);
    assert_eq!(column(Time64MicrosecondArray::from(vec![1, -1])), ["\"00:00:00.000001\"", "-1"]);
    assert_eq!(
        column(TimestampNanosecondArray::from(vec![1_500_000_000, i64::MIN])),
        ["\"1970-01-01T00:00:01.5\"", "\"1677-09-21T00:12:43.145224192\""]
    );
    assert_eq!(column(TimestampSecondArray::from(vec![60]).with_timezone("+01:00")), ["\"1970-01-01T01:01:00+01:00\""]);
    assert_eq!(
        column(TimestampSecondArray::from(vec![60]).with_timezone("Europe/Berlin")),
        ["\"1970-01-01T00:01:00Z\""]
    );
    assert_eq!(column(DurationSecondArray::from(vec![60])), ["\"PT60S\""]);
    assert_eq!(column(DurationNanosecondArray::from(vec![-1_500_000_000])), ["\"-PT1.5S\""]);
    // Years with more than four digits, and values out of range.
    assert_eq!(column(TimestampSecondArray::from(vec![1 << 40]))[0].len(), "\"+36812-02-20T00:36:16\"".len());
    assert_eq!(column(TimestampSecondArray::from(vec![i64::MAX])).len(), 1);
}

#[test]
fn writes_nested_values() {
    let lists = ListArray::from_iter_primitive::<Int8Type, _, _>(vec![Some(vec![Some(1), None]), None, Some(vec![])]);
    assert_eq!(column(lists.clone()), ["[1,null]", "null", "[]"]);
    assert_eq!(column(lists.slice(1, 2)), ["null", "[]"]);
    let inner: ArrayRef = Arc::new(Int8Array::from(vec![Some(1), None]));
    let fields = vec![Field::new("a\"", DataType::Int8, true)];
    let structs = StructArray::new(fields.into(), vec![inner], Some(NullBuffer::from(vec![true, true])));
    assert_eq!(column(structs.clone()), ["{\"a\\\"\":1}", "{\"a\\\"\":null}"]);
    assert_eq!(column(structs.slice(1, 1)), ["{\"a\\\"\":null}"]);
    assert_eq!(column(StructArray::new_empty_fields(2, Some(NullBuffer::from(vec![true, false])))), ["{}", "null"]);
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    maps.keys().append_value("k");
    maps.values().append_value(7);
    maps.append(true).unwrap();
    maps.append(false).unwrap();
    assert_eq!(column(maps.finish()), ["{\"k\":7}", "null"]);
    let mut maps = MapBuilder::new(None, Int32Builder::new(), Int32Builder::new());
    maps.keys().append_value(1);
    maps.values().append_value(7);
    maps.append(true).unwrap();
    assert_eq!(column(maps.finish()), ["{\"1\":7}"]);

    let values: ArrayRef = Arc::new(Int8Array::from_iter_values(0..12));
    let list = FixedSizeListArray::new(Arc::new(Field::new_list_field(DataType::Int8, true)), 6, values, None);
    assert_eq!(column(list.clone()), ["[0,1,2,3,4,5]", "[6,7,8,9,10,11]"]);
    let shaped = |metadata: &str| {
        let metadata = [("ARROW:extension:name", "arrow.fixed_shape_tensor"), ("ARROW:extension:metadata", metadata)];
        let field = Field::new("x", list.data_type().clone(), true)
            .with_metadata(metadata.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
        lines(vec![(field, Arc::new(list.slice(1, 1)))]).remove(0)
    };
    assert_eq!(shaped("{\"shape\":[3,2]}"), "{\"x\":[[6,7],[8,9],[10,11]]}");
    assert_eq!(shaped("{\"shape\":[1,2,3]}"), "{\"x\":[[[6,7,8],[9,10,11]]]}");
    // Dimensions in another order in memory.
    assert_eq!(shaped("{\"shape\":[3,2],\"permutation\":[1,0]}"), "{\"x\":[[6,8,10],[7,9,11]]}");
    assert_eq!(shaped("{\"shape\":[3,2],\"permutation\":[0,1]}"), "{\"x\":[[6,7],[8,9],[10,11]]}");
    assert_eq!(shaped("{\"shape\":[3,2],\"permutation\":null}"), "{\"x\":[[6,7],[8,9],[10,11]]}");
    // Shape (1, 2, 3) in memory: the dimensions of the tensor are the last, the first, and the second of memory.
    assert_eq!(shaped("{\"shape\":[1,2,3],\"permutation\":[2,0,1]}"), "{\"x\":[[[6,9]],[[7,10]],[[8,11]]]}");
    // A shape of another size, and an order that names a dimension twice.
    assert_eq!(shaped("{\"shape\":[3,3]}"), "{\"x\":[6,7,8,9,10,11]}");
    assert_eq!(shaped("{\"shape\":[3,2],\"permutation\":[1,1]}"), "{\"x\":[6,7,8,9,10,11]}");
}

#[test]
fn json_columns_are_embedded() {
    let field = Field::new("x", DataType::Utf8, true)
        .with_metadata([("ARROW:extension:name".to_owned(), "arrow.json".to_owned())].into());
    let texts = StringArray::from(vec![Some("{\"a\":\n[1.50, 18446744073709551617]}"), None, Some("\"x\"")]);
    assert_eq!(
        lines(vec![(field.clone(), Arc::new(texts))]),
        ["{\"x\":{\"a\":[1.50, 18446744073709551617]}}", "{\"x\":null}", "{\"x\":\"x\"}"]
    );
    let schema = Arc::new(Schema::new(vec![field]));
    let batch = RecordBatch::try_new(schema, vec![Arc::new(StringArray::from(vec!["1", "{"]))]).unwrap();
    let mut rows = JsonRows::new(&batch).unwrap();
    let mut out = Vec::new();
    let error = rows.write_lines(&mut out).unwrap_err();
    assert_eq!(
        (error.kind(), error.position().row, error.position().column.as_deref()),
        (ErrorKind::Invalid, Some(1), Some("x"))
    );
    assert_eq!(out, b"{\"x\":1}\n");
    assert_eq!(rows.write(2, &mut out).unwrap_err().kind(), ErrorKind::Usage);
    assert!(serde_json::to_string(&rows.row(1)).is_err());
}

struct Batches(std::vec::IntoIter<RecordBatch>, SchemaRef);

impl Iterator for Batches {
    type Item = Result<RecordBatch, arrow_schema::ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(Ok)
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        self.1.clone()
    }
}

impl BatchReader for Batches {
    fn losses(&self) -> Vec<Loss> {
        Vec::new()
    }
}

#[test]
fn batch_rows_match_the_json_text() {
    let texts = [
        r#"{"a":1,"b":[{"c":"x","d":0.1},null],"e":true,"f":1e300,"g":[[1],[]]}"#,
        r#"{"a":null,"b":[],"h":{"i":-5}}"#,
        r#"{"a":18446744073709551615,"e":false}"#,
    ];
    let (limits, scan) = (Limits::default(), crate::BatchScan::default());
    let mut json = Json::new(&limits);
    let mut observation = Observation::new(limits);
    (0..).zip(texts).for_each(|(row, text)| json.observe(text.as_bytes(), observation.row(row)).unwrap());
    let schema = Arc::new(resolve_schema(&observation, &Mapping::default()).unwrap());
    let mut columns = crate::Columns::new(schema.clone(), &scan, &limits).unwrap();
    let mut batches = Vec::new();
    for (row, text) in (0..).zip(texts) {
        let mut object = columns.row(row);
        json.append(text.as_bytes(), &mut object).unwrap();
        object.end();
        if row != 1 {
            batches.push(columns.finish().unwrap());
        }
    }
    batches.insert(1, columns.finish().unwrap());
    let mut rows = BatchRows::new(Box::new(Batches(batches.into_iter(), schema)), 10);
    let mut shown = Vec::new();
    assert!(rows.json(&mut Vec::new()).is_err());
    while rows.advance().unwrap() {
        let mut line = Vec::new();
        rows.json(&mut line).unwrap();
        let value: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(serde_json::to_value(rows.row()).unwrap(), value);
        shown.push((rows.index(), value));
    }
    assert!(!rows.advance().unwrap() && rows.losses().is_empty());
    assert_eq!(
        shown,
        [
            (10, json!({"a":1,"b":[{"c":"x","d":0.1},null],"e":true,"f":1e300,"g":[[1],[]],"h":null})),
            (11, json!({"a":null,"b":[],"e":null,"f":null,"g":null,"h":{"i":-5}})),
            (12, json!({"a":u64::MAX,"b":null,"e":false,"f":null,"g":null,"h":null}))
        ]
    );
}

#[test]
fn rejects_types_without_json_form() {
    let array: ArrayRef = Arc::new(IntervalDayTimeArray::from(vec![None]));
    let batch = RecordBatch::try_from_iter([("when", array)]).unwrap();
    let error = JsonRows::new(&batch).unwrap_err();
    assert_eq!((error.kind(), error.position().column.as_deref()), (ErrorKind::Unsupported, Some("when")));
}

#[test]
fn rejects_deep_nesting() {
    // Without optimization, arrow's functions and ours need more stack than a test thread has.
    std::thread::Builder::new().stack_size(32 << 20).spawn(check_nesting).unwrap().join().unwrap();
}

fn check_nesting() {
    let nested = |depth| {
        let wrap = |inner, _| DataType::List(Arc::new(Field::new("item", inner, true)));
        let field = Field::new("x", (0..depth).fold(DataType::Int8, wrap), true);
        let array = new_null_array(field.data_type(), 1);
        JsonRows::new(&RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]).unwrap())
    };
    assert!(nested(128).is_ok());
    let error = nested(129).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit { asked: 129, limit: 128 });
    assert_eq!(error.to_string(), "the nesting of columns 129 exceeds the limit 128 (column \"x\")");
}
