//! Types of columns that a file declares, for inputs that have none.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use container_arrow::BatchScan;
use container_core::{ColumnInfo, Error, Input, OpenOptions, Position, Probe, Recognition, Result};
use container_core::{Format, Loss};
use serde_json::{Map, Value, json};

use super::super::super::Lost;
use super::super::super::env::Opener;
use super::super::super::select;
use super::widen;

/// Maximum nesting of parentheses in the name of a type.
const MAX_DEPTH: usize = 64;

/// Reads the schema that a file declares, reduced to the selected columns: from a file with a schema, from JSON as `wharf info --json` prints it, or
/// from `{"age": "Single"}`. Type names are those of IDV or Arrow. All columns are nullable.
pub(in super::super) fn read(
    path: &Path,
    selected: &[String],
    opener: &Opener<'_>,
    lost: &mut Vec<Lost>,
) -> Result<SchemaRef> {
    let file = path.display().to_string();
    let input = Input::open(path, opener.access)?;
    let named = |error: Error| error.in_file(file.clone());
    let fields = match typed(&input, opener).map_err(named)? {
        Some(schema) => Vec::from_iter(schema.fields().iter().cloned()),
        None => {
            let folder = || Error::usage("expected a file, found a folder");
            let source = input.source().ok_or_else(folder).map_err(named)?;
            let text = source.read(0..source.len())?;
            let json = serde_json::from_slice(&text)
                .map_err(|cause| named(Error::invalid("invalid JSON in the schema").caused_by(cause)))?;
            let mut left_out = Vec::new();
            let fields = of_json(&json, &mut left_out).map_err(named)?;
            lost.extend(left_out.into_iter().map(|loss| Lost { file: Some(file.clone()), loss }));
            fields
        }
    };
    let columns: Vec<ColumnInfo> =
        fields.iter().map(|field| ColumnInfo::new(field.name().clone(), String::new())).collect();
    let chosen = self::named(&columns, selected).map_err(named)?;
    let fields: Vec<FieldRef> = chosen.into_iter().filter_map(|index| fields.get(index).cloned()).collect();
    Ok(Arc::new(Schema::new(fields.iter().map(declared).collect::<Vec<_>>())))
}

/// The declared columns that are selected, by index, in their order. Other selected columns are inferred.
pub(super) fn named(columns: &[ColumnInfo], selected: &[String]) -> Result<Vec<usize>> {
    if selected.is_empty() {
        return Ok((0..columns.len()).collect());
    }
    let mut names = HashSet::new();
    for argument in selected {
        names.insert(argument.clone());
        names.extend(select::split(argument)?);
    }
    Ok((0..columns.len())
        .filter(|index| columns.get(*index).is_some_and(|column| names.contains(&column.name)))
        .collect())
}

/// The type of this name, of Arrow or of IDV.
///
/// # Errors
/// [`Usage`](container_core::ErrorKind::Usage) for an unknown type.
pub(in super::super) fn data_type(name: &str) -> Result<DataType> {
    const WORDS: [(&str, DataType); 17] = [
        ("bool", DataType::Boolean),
        ("boolean", DataType::Boolean),
        ("int8", DataType::Int8),
        ("int16", DataType::Int16),
        ("int32", DataType::Int32),
        ("int64", DataType::Int64),
        ("uint8", DataType::UInt8),
        ("uint16", DataType::UInt16),
        ("uint32", DataType::UInt32),
        ("uint64", DataType::UInt64),
        ("float16", DataType::Float16),
        ("float32", DataType::Float32),
        ("float64", DataType::Float64),
        ("text", DataType::Utf8),
        ("string", DataType::Utf8),
        ("date", DataType::Date32),
        ("timestamp", DataType::Timestamp(TimeUnit::Microsecond, None)),
    ];
    match WORDS.iter().find(|(word, _)| word.eq_ignore_ascii_case(name)) {
        Some((_, data_type)) => Ok(data_type.clone()),
        None if name.eq_ignore_ascii_case("json") => Err(Error::usage("a column cannot be cast to JSON")),
        None => Ok(of_type("x", name, json!({ "x": name })).map_err(without_column)?.data_type().clone()),
    }
}

/// The error without its column: the name of a type belongs to none.
fn without_column(error: Error) -> Error {
    Error::usage(error.detail().to_owned())
}

/// The schema of a file that has one; `None` for text.
fn typed(input: &Input, opener: &Opener<'_>) -> Result<Option<SchemaRef>> {
    let Some(source) = input.source() else { return Ok(None) };
    let head = source.read(0..source.len().min(4096))?;
    let probe = Probe::new(input.path(), &head).with_source(source);
    let is = |format: &&&'static dyn Format| format.recognize(&probe) == Recognition::Content;
    let Some(format) = opener.registry.formats().iter().find(is) else { return Ok(None) };
    let container = format.open(input, &OpenOptions::default().with_access(opener.access))?;
    let table = select::table(container.as_ref(), None)?;
    let none = || Error::usage(format!("files of the format {} have no typed columns", format.name()));
    let schema = table.arrow().ok_or_else(none)?.schema(&BatchScan::default())?;
    Ok(Some(without_offsets(&schema)))
}

/// Replaces pairs of time and offset, which are columns of IDV, by timestamps: values that are read from text are in UTC.
fn without_offsets(schema: &Schema) -> SchemaRef {
    let field = |field: &FieldRef| {
        let DataType::Struct(parts) = field.data_type() else { return Arc::clone(field) };
        if !field.metadata().contains_key(idv::FORMAT.name()) {
            return Arc::clone(field);
        }
        match parts.iter().map(AsRef::as_ref).collect::<Vec<&Field>>().as_slice() {
            [time, offset] if time.name() == "time" && offset.name() == "offset" => {
                Arc::new(Field::new(field.name(), time.data_type().clone(), true))
            }
            _ => Arc::clone(field),
        }
    };
    Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()))
}

/// The field, nullable at all levels, without metadata for other formats.
fn declared(field: &FieldRef) -> FieldRef {
    let fields = |fields: &Fields| fields.iter().map(declared).collect::<Fields>();
    let data_type = match field.data_type() {
        DataType::List(element) => DataType::List(declared(element)),
        DataType::LargeList(element) => DataType::LargeList(declared(element)),
        DataType::FixedSizeList(element, size) => DataType::FixedSizeList(declared(element), *size),
        DataType::Struct(members) => DataType::Struct(fields(members)),
        other => other.clone(),
    };
    let mut metadata: HashMap<String, String> = HashMap::new();
    for key in [EXTENSION_TYPE_NAME_KEY, EXTENSION_TYPE_METADATA_KEY] {
        metadata.extend(field.metadata().get(key).map(|value| (key.to_owned(), value.clone())));
    }
    Arc::new(Field::new(field.name(), data_type, true).with_metadata(metadata))
}

/// The columns of a schema in JSON. `left_out` receives those that cannot be read in the file it describes.
fn of_json(json: &Value, left_out: &mut Vec<Loss>) -> Result<Vec<FieldRef>> {
    let wrong = || {
        let expected = "a list of columns, an object with \"columns\", or an object such as {\"age\": \"Single\"}";
        Error::usage(format!("invalid schema: expected {expected}"))
    };
    let columns = match json {
        Value::Array(columns) => columns,
        Value::Object(members) => match (members.get("tables"), members.get("columns")) {
            (Some(Value::Array(tables)), _) => match tables.as_slice() {
                [table] => table.get("columns").and_then(Value::as_array).ok_or_else(wrong)?,
                all => {
                    let n = all.len();
                    let detail =
                        format!("expected one table, found {n}; the \"columns\" of one of them are a schema, too");
                    return Err(Error::usage(detail));
                }
            },
            (_, Some(Value::Array(columns))) => columns,
            _ => {
                let field = |(name, kind): (&String, &Value)| match kind {
                    Value::String(text) => of_type(name, text, json!({ name: text })),
                    _ => {
                        let detail = "expected the name of a type, such as \"Single\" or \"Timestamp(us)\"";
                        Err(Error::usage(detail).in_column(name.clone()))
                    }
                };
                return members.iter().map(field).collect();
            }
        },
        _ => return Err(wrong()),
    };
    let mut fields = Vec::new();
    for (index, column) in columns.iter().enumerate() {
        let text = |member: &str| column.get(member).and_then(Value::as_str);
        let missing = |what: &str| Error::usage(format!("column {index} (counted from 0) lacks {what:?}"));
        let name = text("name").ok_or_else(|| missing("name"))?;
        if let Some(why) = text("unreadable") {
            left_out.push(Loss::new(format!("column left out ({why})"), 1, Position::of_column(name.to_owned())));
            continue;
        }
        let kind = text("type").ok_or_else(|| missing("type").in_column(name.to_owned()))?;
        let field = of_type(name, kind, Value::Array(vec![column.clone()]))?;
        fields.push(extended(field, column.get("metadata").and_then(Value::as_object)));
    }
    Ok(fields)
}

/// Adds the extension type that `info` printed as metadata of a column.
fn extended(field: FieldRef, metadata: Option<&Map<String, Value>>) -> FieldRef {
    let Some(metadata) = metadata.filter(|_| field.metadata().is_empty()) else { return field };
    let mut own: HashMap<String, String> = HashMap::new();
    for key in [EXTENSION_TYPE_NAME_KEY, EXTENSION_TYPE_METADATA_KEY] {
        let value = metadata.get(key).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        own.extend(value.map(|value| (key.to_owned(), value)));
    }
    if own.is_empty() { field } else { Arc::new(Field::clone(&field).with_metadata(own)) }
}

/// The field of a type named as in Arrow or, with metadata, as in IDV.
fn of_type(name: &str, kind: &str, column: Value) -> Result<FieldRef> {
    if kind.eq_ignore_ascii_case("json") {
        return Ok(widen::json(name, false));
    }
    let shallow = kind.bytes().filter(|byte| *byte == b'(').count() <= MAX_DEPTH;
    let parsed = |kind: &str| kind.parse::<DataType>().ok();
    let arrow = if shallow { parsed(kind).or_else(|| parsed(&with_quoted_zone(kind)?)) } else { None };
    match arrow {
        Some(data_type) => Ok(Arc::new(Field::new(name, data_type, true))),
        None => of_idv_type(name, kind, column),
    }
}

/// A timestamp type whose zone has no quotes, with them.
fn with_quoted_zone(kind: &str) -> Option<String> {
    let (unit, zone) = kind.strip_prefix("Timestamp(")?.strip_suffix(')')?.split_once(',')?;
    let zone = zone.trim();
    (!zone.is_empty() && !zone.contains(['"', '(', ','])).then(|| format!("Timestamp({unit}, \"{zone}\")"))
}

/// The Arrow field of an IDV column: that of an IDV file without rows.
fn of_idv_type(name: &str, kind: &str, column: Value) -> Result<FieldRef> {
    let unknown = |error: Error| {
        let known = "known are the types of IDV, such as Single, Text and DateTime, and those of Arrow, such as Date32 and Timestamp(us)";
        Error::usage(format!("invalid type {kind:?}: {}; {known}", error.detail())).in_column(name.to_owned())
    };
    let (schema, _) = idv::Schema::from_json(&column).map_err(unknown)?;
    let options = idv::WriterOptions::default().with_threads(1);
    let sink = std::io::Cursor::new(Vec::new());
    let file = idv::Writer::new(sink, schema, options).and_then(idv::Writer::into_inner).map_err(unknown)?;
    let source = container_core::Source::from(file.into_inner());
    let reader = idv::Reader::from_source(source, idv::OpenOptions::default()).map_err(unknown)?;
    let container = idv::IdvContainer::new(reader);
    let table: &dyn container_core::Table = &container;
    let none = || Error::usage("no Arrow type corresponds to it");
    let schema = table.arrow().ok_or_else(none).and_then(|table| table.schema(&BatchScan::default()));
    let schema = schema.map_err(unknown)?;
    let schema = without_offsets(&schema);
    let field = schema.fields().first().cloned().ok_or_else(none).map_err(unknown)?;
    Ok(Arc::new(Field::clone(&field).with_name(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(json: Value) -> Result<Vec<String>> {
        let fields = of_json(&json, &mut Vec::new())?;
        Ok(fields.iter().map(|field| format!("{}: {}", field.name(), declared(field).data_type())).collect())
    }

    #[test]
    fn parses_arrow_types_in_every_notation() {
        let expected = ["at: Timestamp(µs)", "n: Int16", "words: List(Utf8)"];
        let short = json!({"at": "Timestamp(us)", "n": "Int16", "words": "List(Utf8)"});
        assert_eq!(types(short).unwrap(), expected);
        let list = json!([
            {"name": "at", "type": "Timestamp(µs)"},
            {"name": "n", "type": "Int16"},
            {"name": "words", "type": "List(non-null Utf8)", "nulls": 3},
        ]);
        assert_eq!(types(list.clone()).unwrap(), expected);
        assert_eq!(types(json!({"columns": list})).unwrap(), expected);
        assert_eq!(types(json!({"format": "parquet", "tables": [{"columns": list}]})).unwrap(), expected);
        let zones = json!({"a": "Timestamp(us, UTC)", "b": "Timestamp(ms, \"+02:00\")"});
        assert_eq!(types(zones).unwrap(), ["a: Timestamp(µs, \"UTC\")", "b: Timestamp(ms, \"+02:00\")"]);
        let text = of_json(&json!({"any": "JSON"}), &mut Vec::new()).unwrap();
        assert_eq!(text[0].metadata()[EXTENSION_TYPE_NAME_KEY], "arrow.json");
    }

    #[test]
    fn parses_idv_types() {
        let all = json!({"a": "Single", "b": "Text", "c": "DateTime", "d": "Vector<Double, 3>", "e": "DateTimeOffset"});
        let expected =
            ["a: Float32", "b: Utf8", "c: Timestamp(µs)", "d: FixedSizeList(3 x Float64)", "e: Timestamp(µs, \"UTC\")"];
        assert_eq!(types(all).unwrap(), expected);
        let key = json!([{"name": "k", "type": "Key<Byte, 2>", "metadata": {"KeyValues": ["Male", "Female"]}}]);
        assert_eq!(types(key).unwrap(), ["k: Dictionary(UInt8, Utf8)"]);
    }

    #[test]
    fn rejects_invalid_schemas() {
        let error = |json: Value| types(json).unwrap_err().to_string();
        assert!(error(json!(1)).starts_with("invalid schema"));
        assert!(error(json!({"a": 1})).contains("expected the name of a type"));
        assert!(error(json!([{"type": "Int8"}])).contains("column 0 (counted from 0) lacks \"name\""));
        assert!(error(json!({"a": "Number"})).contains("Number"), "{}", error(json!({"a": "Number"})));
        let deep = "List(".repeat(100_000) + "Int8" + &")".repeat(100_000);
        assert!(types(json!({ "a": deep })).is_err());
        assert!(error(json!({"tables": [{}, {}]})).contains("expected one table, found 2"));
    }
}
