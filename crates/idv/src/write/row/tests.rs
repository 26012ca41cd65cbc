use std::collections::BTreeMap;

use container_core::Scan;
use proptest::prelude::*;
use serde::Serialize;
use serde_json::json;

use super::*;
use crate::codec::Vectors;
use crate::read::Reader;
use crate::schema::ColumnSchema;
use crate::value::Value;
use crate::wire::ItemType;

fn schema(columns: &[(&str, &str)]) -> Schema {
    Schema::new(columns.iter().map(|(name, kind)| ColumnSchema::new(*name, kind.parse().unwrap())))
}

/// The error of a row, which must not append anything.
fn refused<T: Serialize>(buffer: &mut RowBuffer, row: &T) -> String {
    let (rows, before) = (buffer.len(), buffer.values().to_vec());
    let error = buffer.push(row).unwrap_err();
    assert_eq!((error.kind().name(), error.format()), ("invalid", Some("idv")));
    assert_eq!((buffer.len(), buffer.values()), (rows, &before[..]));
    assert!(buffer.values().iter().all(|values| values.len() == rows));
    error.to_string()
}

#[derive(Serialize)]
struct Person<'a> {
    age: u8,
    name: &'a str,
    height: Option<f32>,
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<i64>,
}

const PERSON: [(&str, &str); 5] =
    [("age", "Byte"), ("name", "Text"), ("height", "Single"), ("tags", "Vector<Text>"), ("left", "DateTime")];

fn ada() -> Person<'static> {
    Person { age: 36, name: "Ada", height: Some(1.65), tags: vec!["math".to_owned()], left: Some(5) }
}

#[test]
fn accepts_structs_maps_and_tuples() {
    let tags: &[&str] = &["math"];
    let mut buffer = RowBuffer::new(&schema(&PERSON));
    buffer.push(&ada()).unwrap();
    buffer.push(&Some(Box::new(ada()))).unwrap();
    // In another order, as a map, and without names.
    buffer.push(&json!({"tags": ["math"], "left": 5, "height": 1.65, "name": "Ada", "age": 36})).unwrap();
    buffer.push(&(36i64, "Ada", 1.65f64, tags, "0001-01-01T00:00:00.0000005")).unwrap();
    buffer.push(&json!([36.0, "Ada", 1.65, ["math"], 5])).unwrap();
    for values in buffer.values() {
        for row in 1..5 {
            assert!(values.ranges_equal(0..1, values, row..row + 1), "row {row}: {values:?}");
        }
    }
    assert_eq!(buffer.values()[0], Values::Byte(vec![36; 5]));
    assert_eq!(buffer.values()[4], Values::DateTime(vec![5; 5]));
    // What can be missing may be absent or null.
    buffer.clear();
    buffer.begin(5);
    buffer.push(&Person { height: None, left: None, ..ada() }).unwrap();
    buffer.push(&json!({"tags": [null], "age": 1})).unwrap();
    let Values::Single(heights) = &buffer.values()[2] else { panic!("no floats") };
    assert!(heights.len() == 2 && heights.iter().all(|height| height.is_nan()));
    assert_eq!(buffer.values()[4], Values::DateTime(vec![i64::MIN; 2]));
    let Values::Text(names) = &buffer.values()[1] else { panic!("no texts") };
    assert_eq!((names.get(0), names.get(1)), (Some("Ada"), None));
}

#[test]
fn errors_name_row_and_column_and_append_nothing() {
    let mut buffer = RowBuffer::new(&schema(&PERSON));
    buffer.push(&ada()).unwrap();
    let person = |change: serde_json::Value| {
        let mut row = serde_json::to_value(ada()).unwrap();
        row.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        row
    };
    for (row, why) in [
        (person(json!({"age": 300})), "300 does not fit Byte (0 to 255) (row 1, column \"age\")"),
        (person(json!({"age": null})), "Byte cannot be missing (row 1, column \"age\")"),
        (person(json!({"tags": "x"})), "invalid JSON: expected a value, found \"x\" (row 1, column \"tags\")"),
        (person(json!({"tags": 1})), "expected Vector<Text> (an array), found 1 (row 1, column \"tags\")"),
        (person(json!({"tags": [1]})), "expected Text, found 1 (row 1, column \"tags\")"),
        (
            person(json!({"tags": {"a": 1}})),
            "expected {\"$sparse\": {\"length\", \"indices\", \"values\"}}, found member \"a\" (row 1, column \"tags\")",
        ),
        (person(json!({"name": ["x"]})), "expected Text, found a sequence (row 1, column \"name\")"),
        (person(json!({"name": {}})), "expected Text, found a map (row 1, column \"name\")"),
        (
            person(json!({"nickname": "x"})),
            "unknown member \"nickname\" (columns: \"age\", \"name\", \"height\", \"tags\", \"left\") (row 1)",
        ),
        (json!({"age": 1}), "missing member: Vector<Text> cannot be missing (row 1, column \"tags\")"),
        (json!({"tags": []}), "missing member: Byte cannot be missing (row 1, column \"age\")"),
        (json!([1, "x"]), "expected 5 items, one per column, found 2 (row 1)"),
        (json!([1, "x", 1.0, [], 5, 6]), "expected 5 items, one per column, found 6 (row 1)"),
        (json!("x"), "expected a row (a struct, a map, or one item per column), found a string (row 1)"),
        (json!(null), "expected a row (a struct, a map, or one item per column), found a unit value (row 1)"),
    ] {
        assert_eq!(refused(&mut buffer, &row), format!("idv: {why}"), "{row}");
    }
    // Rows are counted on, and what failed is not one.
    buffer.push(&ada()).unwrap();
    buffer.clear();
    buffer.begin(2);
    assert_eq!(buffer.len(), 0);
    assert!(refused(&mut buffer, &json!([300, "x", 1.0, [], 5])).ends_with("(row 2, column \"age\")"));
    buffer.push(&ada()).unwrap();

    struct Twice;
    impl Serialize for Twice {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map([("age", 1), ("age", 2)])
        }
    }
    assert_eq!(refused(&mut buffer, &Twice), "idv: duplicate member \"age\" (row 3)");
    struct Fails;
    impl Serialize for Fails {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("the locket is shut"))
        }
    }
    assert_eq!(refused(&mut buffer, &Fails), "idv: the locket is shut (row 3)");
    assert_eq!(refused(&mut buffer, &(1, "x", 1, [""; 0], Fails)), "idv: the locket is shut (row 3, column \"left\")");
    let numbered = BTreeMap::from([(1, 1)]);
    assert_eq!(refused(&mut buffer, &numbered), "idv: expected a member name, found a number (row 3)");
}

#[test]
fn repeated_names_match_the_reader() {
    let mut buffer = RowBuffer::new(&schema(&[("a", "Byte"), ("a", "Byte"), ("b", "Byte")]));
    buffer.push(&json!({"a": 1, "a#2": 2, "b": 3})).unwrap();
    assert_eq!(buffer.values(), [Values::Byte(vec![1]), Values::Byte(vec![2]), Values::Byte(vec![3])]);
}

#[derive(Serialize)]
enum Color {
    #[serde(rename = "red")]
    Red,
    #[serde(rename = "odd")]
    Odd(u8),
}

#[derive(Serialize)]
struct Meters(f64);

struct Bytes(&'static [u8]);

impl Serialize for Bytes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

#[test]
fn converts_every_kind_of_value() {
    let one = |kind: &str| {
        let column = ColumnSchema::new("x", kind.parse().unwrap());
        let keyed = matches!(column.kind.item(), ItemType::Key(_));
        RowBuffer::new(&Schema::new([if keyed { column.with_key_values(["blue", "red"]).unwrap() } else { column }]))
    };
    macro_rules! gives {
        ($kind:literal, $value:expr => $expected:expr) => {{
            let mut buffer = one($kind);
            buffer.push(&($value,)).unwrap();
            assert_eq!(buffer.values(), [$expected], $kind);
        }};
        ($kind:literal, $value:expr => no $why:literal) => {
            assert_eq!(refused(&mut one($kind), &($value,)), concat!("idv: ", $why, " (row 0, column \"x\")"));
        };
    }
    fn vectors<T: Copy>(items: &[T], put: impl Fn(&mut Values, &[T])) -> Values {
        let mut vectors = Vectors::default();
        *vectors.items_mut() = Values::Byte(Vec::new());
        put(vectors.items_mut(), items);
        vectors.close_dense().unwrap();
        Values::Vector(Box::new(vectors))
    }
    let bytes = |items: &[u8]| vectors(items, |values, items| *values = Values::Byte(items.to_vec()));
    gives!("Key<Byte, 2>", Color::Red => Values::Byte(vec![2]));
    gives!("Key<Byte, 2>", 1u64 => Values::Byte(vec![2]));
    gives!("Key<Byte, 2>", None::<u8> => Values::Byte(vec![0]));
    gives!("Key<Byte, 2>", "pink" => no "unknown label \"pink\" (2 labels: \"blue\", \"red\")");
    gives!("Key<Byte, 2>", Color::Odd(1) => no "unsupported value: a variant with a value");
    gives!("Double", Meters(1.5) => Values::Double(vec![1.5]));
    gives!("RowId", u128::MAX => Values::RowId(vec![u128::MAX]));
    gives!("RowId", i128::MAX => Values::RowId(vec![i128::MAX.unsigned_abs()]));
    gives!("Int16", -5i128 => Values::Int16(vec![-5]));
    gives!("UInt64", u64::MAX => Values::UInt64(vec![u64::MAX]));
    gives!("TimeSpan", 5i64 => Values::TimeSpan(vec![5]));
    gives!("TimeSpan", "PT1S" => Values::TimeSpan(vec![10_000_000]));
    gives!("DvBool", None::<bool> => Values::DvBool(vec![None]));
    gives!("Boolean", true => Values::Boolean(vec![true]));
    gives!("Vector<Byte>", Bytes(&[1, 2]) => bytes(&[1, 2]));
    gives!("Vector<Byte, 2>", [1u8, 2] => bytes(&[1, 2]));
    gives!("Vector<Byte, 2, 2>", [[1u8, 2], [3, 4]] => bytes(&[1, 2, 3, 4]));
    gives!("Vector<Byte, 2, 2>", [1u8, 2, 3, 4] => bytes(&[1, 2, 3, 4]));
    gives!("Vector<Byte, 2, 2>", vec![vec![1u8, 2], vec![3]] => no "expected 2 items by the dimension, found 1 (array at depth 2)");
    gives!("Vector<Byte, 2>", [1u8] => no "expected 2 items for Vector<Byte, 2>, found 1");
    gives!("Vector<Byte, 2>", Bytes(&[1]) => no "expected 2 items for Vector<Byte, 2>, found 1");
    gives!("Vector<Byte>", [[1u8]] => no "expected 1 dimension, found arrays nested 2 deep");
    gives!("Text", Bytes(&[1]) => no "expected Text, found bytes");
    gives!("Vector<Text>", Bytes(&[1]) => no "expected Vector<Text>, found bytes");
    gives!("DateTimeOffset", (1i64, 2i64, 3i64) => no "expected ticks and minutes of a DateTimeOffset, found [1, 2, 3]");
    gives!("DateTimeOffset", (1i64, 40_000) => no "expected ticks and minutes of a DateTimeOffset, found [1, 40000]");
    let day = 864_000_000_000i64;
    let mut buffer = one("Vector<DateTimeOffset, *, *>");
    buffer.push(&json!([[["0001-01-02T00:00:00+00:30"]]])).unwrap();
    buffer.push(&([[(day, 30i16)]],)).unwrap();
    buffer.push(&(vec![vec![(day, 30i16)]],)).unwrap();
    let Values::Vector(all) = &buffer.values()[0] else { panic!("no vectors") };
    assert!(all.len() == 3 && all.get(0) == all.get(1) && all.get(0) == all.get(2));

    let text = |c: char| {
        let mut buffer = one("Text");
        buffer.push(&(c,)).unwrap();
        let Values::Text(texts) = &buffer.values()[0] else { panic!("no texts") };
        assert_eq!(texts.get(0), Some(c.to_string().as_str()));
    };
    text('é');

    #[derive(Serialize)]
    struct Outer<T> {
        #[serde(rename = "$sparse")]
        sparse: T,
    }
    let sparse = |value: serde_json::Value| Outer { sparse: value };
    gives!("Vector<Byte>", sparse(json!({"length": 2, "indices": [1]})) => no "missing member \"values\" of $sparse");
    gives!("Vector<Byte>", sparse(json!({"size": 2})) => no "expected {\"$sparse\": {\"length\", \"indices\", \"values\"}}, found member \"size\"");
    gives!("Vector<Byte>", sparse(json!([1])) => no "expected {\"$sparse\": {\"length\", \"indices\", \"values\"}}, found a sequence");
    gives!("Vector<Byte>", sparse(json!({"length": -1})) => no "-1 does not fit UInt32 (0 to 4294967295)");
    gives!("Vector<Byte, 3>", sparse(json!({"length": 4, "indices": [1], "values": [1]})) => no "expected 3 items for Vector<Byte, 3>, found 4");
    gives!("Vector<Byte>", sparse(json!({"length": 4, "indices": [4], "values": [1]})) => no "slot 4 is not between 0 and 4 (not included)");
    let mut buffer = one("Vector<Byte>");
    buffer.push(&(sparse(json!({"values": [7], "indices": [2], "length": 4})),)).unwrap();
    buffer.push(&(Outer { sparse: Outer3 { length: 4, indices: vec![2], values: Bytes(&[7]) } },)).unwrap();
    let Values::Vector(both) = &buffer.values()[0] else { panic!("no vectors") };
    let first = both.get(0).unwrap();
    assert_eq!((first.length, first.indices), (4, Some(&[2][..])));
    assert_eq!(both.get(0), both.get(1));
}

#[derive(Serialize)]
struct Outer3 {
    length: u32,
    indices: Vec<u32>,
    values: Bytes,
}

/// What rows do not say: which of several keys a label stands for, a label that is missing, keys above their count, the
/// other half of a time whose one half is missing.
fn says_less(value: &Value<'_>, stored: &Values) -> bool {
    match value {
        Value::Label(key, labels) => labels.get(*key) == Some(Value::Missing),
        Value::Missing => !matches!(stored, Values::Text(_) | Values::DvBool(_)),
        Value::Vector(vector) => {
            vector.length() == 0 || vector.stored().any(|item| says_less(&item, &Values::default()))
        }
        _ => false,
    }
}

/// Every row of every file, pushed through serde, is the values it was read from.
#[test]
fn rows_of_files_round_trip() {
    let (mut same, mut less, mut refused) = (0, 0, 0);
    let Some(files) = crate::goldens::all() else { return };
    for path in files {
        let reader = Reader::open(&path).unwrap();
        let schema = reader.schema(None).unwrap();
        let mut buffer = RowBuffer::new(&schema);
        let (mut rows, mut batches) =
            (reader.rows(&Scan::default()).unwrap(), reader.batches(&Scan::default()).unwrap());
        while let Some(batch) = batches.try_next().unwrap() {
            for place in 0..batch.row_count() {
                let row = rows.try_next().unwrap().unwrap();
                if let Err(error) = buffer.push(&row) {
                    let known = ["ambiguous label", "does not fit DateTimeOffset"];
                    assert!(known.iter().any(|why| error.detail().contains(why)), "{}: {error}", path.display());
                    refused += 1;
                    continue;
                }
                let last = buffer.len() - 1;
                for (index, found) in buffer.values().iter().enumerate() {
                    let slice = batch.column(index).unwrap();
                    let at = slice.range.start + place;
                    if found.ranges_equal(last..last + 1, slice.values, at..at + 1) {
                        same += 1;
                    } else {
                        let value = row.get(index).unwrap();
                        assert!(
                            says_less(&value, found),
                            "{}: {value:?} in {}",
                            path.display(),
                            schema.columns[index].name
                        );
                        less += 1;
                    }
                }
            }
        }
    }
    assert!(same > 26_000, "{same} values came back");
    assert!(less < 20 && refused < 20, "{less} values said less, {refused} rows were refused");
}

proptest! {
    /// Members in any order, and some rows that fail in between: the columns are those of the rows that did not.
    #[test]
    fn member_order_does_not_matter(
        rows in proptest::collection::vec(
            (any::<i16>(), any::<f32>(), ".{0,5}", proptest::collection::vec(any::<u8>(), 0..4), any::<bool>()), 0..20),
        turn in 0usize..4,
    ) {
        let columns = [("n", "Int16"), ("f", "Single"), ("t", "Text"), ("v", "Vector<Byte>")];
        let mut buffer = RowBuffer::new(&schema(&columns));
        let (mut numbers, mut floats, mut texts) = (Vec::new(), Vec::new(), Vec::new());
        for (number, float, text, bytes, fails) in &rows {
            let last = if *fails { json!([1, -1]) } else { json!(bytes) };
            let mut members = vec![("n", json!(number)), ("f", json!(float)), ("t", json!(text)), ("v", last)];
            members.rotate_left(turn);
            struct Ordered(Vec<(&'static str, serde_json::Value)>);
            impl Serialize for Ordered {
                fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
                }
            }
            prop_assert_eq!(buffer.push(&Ordered(members)).is_err(), *fails);
            if !fails {
                numbers.push(*number);
                // JSON has no floats that are not finite.
                floats.push(if float.is_finite() { float.to_bits() } else { 0xFFC0_0000 });
                texts.push(text.as_str());
            }
        }
        let [Values::Int16(n), Values::Single(f), Values::Text(t), Values::Vector(v)] = buffer.values() else { panic!("other columns") };
        prop_assert_eq!(n, &numbers);
        prop_assert_eq!(f.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), floats);
        prop_assert_eq!(t.iter().flatten().collect::<Vec<_>>(), texts);
        let kept = rows.iter().filter(|row| !row.4).map(|row| row.3.as_slice());
        prop_assert!(v.iter().map(|vector| &vector.values.as_slice::<u8>().unwrap_or_default()[vector.range.clone()]).eq(kept));
    }
}

/// The JSON of an item of a type, missing ones too.
fn item_json(item: ItemType) -> BoxedStrategy<String> {
    fn numbers<T: Arbitrary + ToString + 'static>() -> BoxedStrategy<String> {
        any::<T>().prop_map(|x| x.to_string()).boxed()
    }
    let word = |text: String| serde_json::to_string(&text).unwrap();
    let ticks = prop_oneof![Just(0), Just(crate::time::LAST_TICK), 0..=crate::time::LAST_TICK];
    let some = match item {
        ItemType::SByte => return numbers::<i8>(),
        ItemType::Byte => return numbers::<u8>(),
        ItemType::Int16 => return numbers::<i16>(),
        ItemType::UInt16 => return numbers::<u16>(),
        ItemType::Int32 => return numbers::<i32>(),
        ItemType::UInt32 => return numbers::<u32>(),
        ItemType::Int64 | ItemType::TimeSpan => return numbers::<i64>(),
        ItemType::UInt64 => return numbers::<u64>(),
        ItemType::RowId => return numbers::<u128>(),
        ItemType::Boolean => return numbers::<bool>(),
        ItemType::DvBool => numbers::<bool>(),
        ItemType::DvTimeSpan => (i64::MIN + 1..).prop_map(|x| x.to_string()).boxed(),
        ItemType::Single => any::<f32>().prop_map(|x| serde_json::to_string(&Value::Single(x)).unwrap()).boxed(),
        ItemType::Double => any::<f64>().prop_map(|x| serde_json::to_string(&Value::Double(x)).unwrap()).boxed(),
        ItemType::DateTime | ItemType::DvDateTime => ticks.prop_map(|x| x.to_string()).boxed(),
        ItemType::DateTimeOffset | ItemType::DvDateTimeZone => {
            let far = 840 * 600_000_000..crate::time::LAST_TICK - 840 * 600_000_000;
            let time = |(ticks, minutes)| crate::DateTimeOffset::new(ticks, minutes).to_string();
            (far, -840..=840i16).prop_map(move |pair| word(time(pair))).boxed()
        }
        ItemType::Text => ".{0,6}".prop_map(word).boxed(),
        ItemType::Key(key) => (0..key.count).prop_map(|x| x.to_string()).boxed(),
    };
    prop_oneof![5 => some, 1 => Just("null".to_owned())].boxed()
}

fn vector_json(item: ItemType) -> impl Strategy<Value = String> {
    (
        proptest::collection::vec(item_json(item), 0..6),
        proptest::sample::subsequence((0..9).collect::<Vec<u32>>(), 0..6),
        any::<bool>(),
    )
        .prop_map(|(items, slots, dense)| match dense {
            true => format!("[{}]", items.join(",")),
            false => {
                let n = items.len().min(slots.len());
                let slots: Vec<String> = slots[..n].iter().map(u32::to_string).collect();
                format!(
                    "{{\"$sparse\":{{\"length\":9,\"indices\":[{}],\"values\":[{}]}}}}",
                    slots.join(","),
                    items[..n].join(",")
                )
            }
        })
}

fn items() -> Vec<ItemType> {
    let names = "SByte Byte Int16 UInt16 Int32 UInt32 Int64 UInt64 Single Double TimeSpan DvTimeSpan DateTime DvDateTime DateTimeOffset \
        DvDateTimeZone RowId Boolean DvBool Text Key<Byte,200> Key<UInt16,300> Key<UInt32,70000> Key<UInt64,18446744073709551615>";
    names.split_whitespace().map(|name| name.parse::<Type>().unwrap().item()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Values of every type, shown as the reader shows them and pushed as rows, are the same values.
    #[test]
    fn reader_rows_round_trip(
        texts in items().into_iter().map(|item| (Just(item), proptest::collection::vec((item_json(item), vector_json(item)), 1..6)))
            .collect::<Vec<_>>(),
    ) {
        for (item, texts) in texts {
            let kinds = [Type::Item(item), Type::Vector { item, dimensions: vec![0] }];
            let mut expected = kinds.each_ref().map(Values::of);
            let columns = kinds.clone().map(|kind| ColumnSchema::new("x", kind));
            let mut buffer = RowBuffer::new(&Schema::new(columns));
            for (row, (one, vector)) in texts.iter().enumerate() {
                for ((values, kind), json) in expected.iter_mut().zip(&kinds).zip([one, vector]) {
                    let pushed = values.push_json(kind, None, json);
                    prop_assert!(pushed.is_ok(), "{} as {}: {:?}", json, kind, pushed);
                }
                let shown = expected.each_ref().map(|values| crate::value::ValueFormat::plain(item).value(values, row));
                buffer.push(&shown).unwrap();
            }
            for (found, expected) in buffer.values().iter().zip(&expected) {
                prop_assert!(found.ranges_equal(0..texts.len(), expected, 0..texts.len()), "{found:?} {expected:?}");
            }
        }
    }
}
