use std::path::Path;

use container_core::{Container, Table};
use serde_json::json;

use super::*;
use crate::container::IdvContainer;
use crate::read::Reader;

/// What `wharf info --json` prints of a file, as far as a schema goes.
fn info(reader: Reader) -> Value {
    let container = IdvContainer::new(reader);
    let columns = container.columns().iter().enumerate().map(|(index, column)| {
        let mut members = Map::new();
        members.insert("name".to_owned(), column.name.clone().into());
        members.insert("type".to_owned(), column.kind.clone().into());
        members.extend(column.details.clone());
        members.extend(container.column_summary(index));
        members.extend(container.column_details(index).unwrap());
        if let Some(why) = &column.unreadable {
            members.insert("unreadable".to_owned(), why.clone().into());
        }
        Value::Object(members)
    });
    let columns: Vec<Value> = columns.collect();
    json!({"format": "idv", "version": container.version(), "tables": [{"name": "rows", "rows": 0, "columns": columns}]})
}

/// Without the order of metadata, which depends on how the JSON library is built.
fn sorted(mut schema: Schema) -> Schema {
    for column in &mut schema.columns {
        column.metadata.sort_by(|a, b| a.kind.cmp(&b.kind));
    }
    schema
}

/// Equal, but for which of all NaN one is: JSON does not say it.
#[track_caller]
fn same(mut found: Schema, expected: &Schema, path: &Path) {
    for (found, expected) in found.columns.iter_mut().zip(&expected.columns) {
        for (found, expected) in found.metadata.iter_mut().zip(&expected.metadata) {
            let json = |item: &MetadataSchema| {
                let mut json = MetadataJson::default();
                json.push(&item.kind, &item.value_type, &item.value).unwrap();
                Value::Object(json.values).to_string()
            };
            if json(expected).contains("NaN") {
                assert_eq!(json(found), json(expected), "{}", path.display());
                *found = expected.clone();
            }
        }
    }
    assert_eq!(&found, expected, "{}", path.display());
}

#[test]
fn info_json_is_a_schema() {
    let (mut columns, mut metadata) = (0, 0);
    let Some(files) = crate::goldens::all() else { return };
    for path in files {
        let reader = Reader::open(&path).unwrap();
        let expected = sorted(reader.schema(None).unwrap());
        let (found, left_out) = Schema::from_json(&info(reader)).unwrap();
        assert_eq!(left_out.len(), 0);
        same(sorted(found), &expected, &path);
        // And the schema's own JSON, in every form.
        let json = expected.to_json().unwrap();
        same(sorted(Schema::from_json(&json).unwrap().0), &expected, &path);
        let in_object = json!({"columns": json});
        same(sorted(Schema::from_json(&in_object).unwrap().0), &expected, &path);
        columns += expected.columns.len();
        metadata += expected.columns.iter().map(|column| column.metadata.len()).sum::<usize>();
    }
    assert!(columns > 200 && metadata > 60, "{columns} columns, {metadata} metadata");
}

#[test]
fn json_distinguishes_all_types() {
    let key = |old| ItemType::Key(KeyType { old, ..KeyType::new(crate::KeyWidth::Byte, 3).unwrap() });
    let odd = KeyType { width: crate::KeyWidth::UInt16, count: 0, min: 7, contiguous: false, old: true };
    let items = [
        ItemType::SByte,
        ItemType::TimeSpan,
        ItemType::DvTimeSpan,
        ItemType::DateTime,
        ItemType::DvDateTime,
        ItemType::DateTimeOffset,
        ItemType::DvDateTimeZone,
        ItemType::Boolean,
        ItemType::DvBool,
        ItemType::RowId,
        ItemType::Text,
        key(false),
        key(true),
        ItemType::Key(odd),
    ];
    for item in items {
        for kind in [
            Type::Item(item),
            Type::Vector { item, dimensions: vec![0] },
            Type::Vector { item, dimensions: vec![2, 0, 3] },
        ] {
            let schema = Schema::new([ColumnSchema::new("x", kind)]);
            let json = schema.to_json().unwrap();
            assert_eq!(Schema::from_json(&json).unwrap(), (schema, vec![]), "{json}");
        }
    }
}

#[test]
fn older_versions_map_to_legacy_types() {
    let column = json!({"name": "x", "type": "TimeSpan", "codec": "TimeSpan", "metadata": {"a": "PT1S"},
        "metadata_types": {"a": "TimeSpan"}});
    let of = |version: &str| {
        let json = json!({"version": version, "tables": [{"columns": [column]}]});
        let (schema, _) = Schema::from_json(&json).unwrap();
        (schema.columns[0].kind.exact_text(), schema.columns[0].metadata[0].value_type.exact_text())
    };
    assert_eq!(of("1.1.1.6"), ("TimeSpan".to_owned(), "TimeSpan".to_owned()));
    assert_eq!(of("1.1.1.5"), ("DvTimeSpan".to_owned(), "DvTimeSpan".to_owned()));
}

#[test]
fn accepts_short_forms() {
    let (schema, left_out) = Schema::from_json(&json!({"age": "f32", "columns": "Text", "tables": "DvBool"})).unwrap();
    let kinds: Vec<String> =
        schema.columns.iter().map(|column| format!("{} {}", column.name, column.kind.exact_text())).collect();
    assert_eq!(
        (kinds, left_out.len()),
        (vec!["age Single".to_owned(), "columns Text".to_owned(), "tables DvBool".to_owned()], 0)
    );

    let json = json!([
        {"name": "sex", "type": "Key<Byte, 2>", "compression": "none", "metadata": {"KeyValues": ["Male", null]}},
        {"name": "v", "type": "Vector<Single, 3>", "metadata": {
            "IsNormalized": true, "SlotNames": {"$sparse": {"length": 3, "indices": [1], "values": ["b"]}}}},
    ]);
    let (schema, _) = Schema::from_json(&json).unwrap();
    let [sex, v] = schema.columns.as_slice() else { panic!("{schema:?}") };
    assert_eq!(sex.compression, Some(Compression::None));
    assert_eq!(
        (sex.metadata[0].kind.as_str(), sex.metadata[0].value_type.to_string()),
        ("KeyValues", "Vector<Text, 2>".to_owned())
    );
    let types: Vec<String> = v.metadata.iter().map(|metadata| metadata.value_type.to_string()).collect();
    assert_eq!(types, ["Boolean", "Vector<Text, 3>"]);
    schema.check().unwrap();
}

#[test]
fn unreadable_parts_are_left_out_and_reported() {
    let json = json!([
        {"name": "x", "type": "unreadable", "compression": 9, "unreadable": "codec \"New\" is unknown"},
        {"name": "y", "type": "Byte", "metadata": {"Odd": {"$unreadable": "codec \"New\" is unknown"}}},
        {"name": "z#2", "name_in_file": "z", "type": "Byte", "rows_per_block": 5, "blocks": 1, "bytes": 3, "decompressed_bytes": 4},
    ]);
    let (schema, left_out) = Schema::from_json(&json).unwrap();
    let names: Vec<&str> = schema.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["y", "z"]);
    assert!(schema.columns[0].metadata.is_empty());
    let left_out: Vec<String> = left_out.iter().map(ToString::to_string).collect();
    assert_eq!(
        left_out,
        [
            "column left out (codec \"New\" is unknown) (column \"x\")",
            "metadata \"Odd\" left out (codec \"New\" is unknown) (column \"y\")",
        ]
    );
}

#[test]
fn errors_name_column_and_member() {
    let all = SCHEMA_MEMBERS.join(", ");
    let with = |change: Value| {
        let mut column = json!({"name": "x", "type": "Vector<Key<Byte, 3>, 2>"});
        column.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        json!([column])
    };
    for (json, why) in [
        (json!(5), "expected a schema (an object or a list of columns), found a number".to_owned()),
        (json!({"tables": []}), "expected one table, found 0; pass the columns of one of them".to_owned()),
        (json!({"tables": [{}]}), "missing columns of the table".to_owned()),
        (json!({"tables": [{"columns": 5}]}), "columns of the table: expected a list, found a number".to_owned()),
        (json!([5]), "column 0 (counted from 0): expected an object, found a number".to_owned()),
        (json!([{"type": "Byte"}]), "column 0 (counted from 0): missing member \"name\"".to_owned()),
        (json!([{"name": 5}]), "member \"name\": expected a string, found a number (column \"0 (counted from 0)\")".to_owned()),
        (json!({"x": 5}), "expected a type name such as \"Single\", found a number (column \"x\")".to_owned()),
        (json!([{"name": "x"}]), "missing member \"type\" (column \"x\")".to_owned()),
        (with(json!({"typ": "Byte"})), format!("unknown member \"typ\" (known: {all}) (column \"x\")")),
        (with(json!({"error": {}})), "the described file has an error (column \"x\")".to_owned()),
        (with(json!({"compression": "lzma"})), "member \"compression\": expected none, deflate or zlib, found \"lzma\" (column \"x\")".to_owned()),
        (with(json!({"codec": "Byte"})), "member \"codec\": expected \"VBuffer\" for a vector, found \"Byte\" (column \"x\")".to_owned()),
        (with(json!({"item_codec": "Byte"})), "member \"item_codec\": expected \"Key2\" for Key<Byte, 3>, found \"Byte\" (column \"x\")".to_owned()),
        (json!([{"name": "x", "type": "Boolean", "codec": "Byte"}]), "member \"codec\": expected \"Boolean\" for Boolean, found \"Byte\" (column \"x\")".to_owned()),
        (with(json!({"dimensions": [3]})), "member \"dimensions\": expected [2] for type Vector<Key<Byte, 3>, 2>, found [3] (column \"x\")".to_owned()),
        (with(json!({"key_count": 4})), "member \"key_count\": expected 3 for type Vector<Key<Byte, 3>, 2>, found 4 (column \"x\")".to_owned()),
        (with(json!({"metadata": [1]})), "member \"metadata\": expected an object, found a list (column \"x\")".to_owned()),
        (with(json!({"metadata_types": {"a": "Text"}})), "member \"metadata_types\": unknown metadata \"a\" (column \"x\")".to_owned()),
        (with(json!({"metadata": {"a": 5}})), "metadata \"a\": missing type, as in \"metadata_types\": {\"a\": \"Text\"} (column \"x\")".to_owned()),
        (with(json!({"metadata": {"KeyValues": [1, 2]}})), "metadata \"KeyValues\": missing type, as in \"metadata_types\": {\"KeyValues\": \"Vector<Single>\"} (column \"x\")".to_owned()),
        (with(json!({"metadata": {"a": 300}, "metadata_types": {"a": "Byte"}})), "metadata \"a\": 300 does not fit Byte (0 to 255) (column \"x\")".to_owned()),
        (with(json!({"metadata": {"a": 300}, "metadata_types": {"a": 5}})), "metadata \"a\": type: expected a string, found a number (column \"x\")".to_owned()),
        (json!([{"name": "x", "type": "Key<Byte>"}]), "invalid type \"Key<Byte>\": missing key count: write Key<Byte, 5> for 5 values (column \"x\")".to_owned()),
    ] {
        let error = Schema::from_json(&json).unwrap_err();
        assert_eq!((error.kind().name(), error.to_string()), ("usage", format!("idv: {why}")), "{json}");
    }
    let error = Schema::from_json(&json!({"x": "Decimal"})).unwrap_err().to_string();
    assert!(error.starts_with("idv: invalid type \"Decimal\": ") && error.ends_with("(column \"x\")"), "{error}");
}
