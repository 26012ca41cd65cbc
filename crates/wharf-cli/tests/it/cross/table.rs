//! The golden tables, and how each format represents them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

use super::kind::{Kind, Value};
use super::time;

/// `tests/golden/cross/allowances.json`.
static ALLOWANCES: LazyLock<Json> = LazyLock::new(|| read("allowances.json"));

#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) rows: usize,
    pub(crate) columns: Vec<Column>,
}

#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) values: Vec<Value>,
}

/// Which rules of a format apply: those for files of the reference, or those for conversions from another format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rules<'a> {
    File,
    /// Converted from this format.
    Convert(&'a str),
}

/// The folder of the golden files.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/cross")
}

fn read(name: &str) -> Json {
    let path = folder().join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

impl Column {
    fn has_null(&self) -> bool {
        self.values.contains(&Value::Null)
    }

    fn has_null_inside(&self) -> bool {
        let inside = |value: &Value| matches!(value, Value::List(items) if items.contains(&Value::Null));
        self.values.iter().any(inside)
    }
}

impl Table {
    pub(crate) fn open(name: &str) -> Self {
        let json = read(&format!("{name}.expected.json"));
        let columns = json["columns"].as_array().unwrap().iter().map(|column| {
            let kind = Kind::parse(column["kind"].as_str().unwrap());
            let values = column["values"].as_array().unwrap().iter().map(|value| kind.value(value)).collect();
            Column { name: column["name"].as_str().unwrap().to_owned(), kind, values }
        });
        let rows = usize::try_from(json["rows"].as_u64().unwrap()).unwrap();
        Self { name: name.to_owned(), rows, columns: columns.collect() }
    }

    /// The table as represented by a format: without unsupported columns, and with changed types and values.
    pub(crate) fn held(&self, format: &str, which: Rules<'_>) -> Self {
        let all = &ALLOWANCES[format];
        let (rules, from) = match which {
            Rules::File => (&all["file"], &Json::Null),
            Rules::Convert(from) => (&all["convert"], &all["convert"]["from"][from]),
        };
        let columns = self.columns.iter().filter_map(|column| self.column(column, rules, from)).collect();
        Self { name: self.name.clone(), rows: self.rows, columns }
    }

    fn column(&self, column: &Column, rules: &Json, from: &Json) -> Option<Column> {
        let place = format!("{}/{}", self.name, column.name);
        let is_named = |list: &str| {
            let is = |other: &Json| *other == place || *other == "*";
            from[list].as_array().is_some_and(|places| places.iter().any(is))
        };
        let (mut column, empty) = (column.clone(), Value::Text(String::new()));
        // Empty strings that become null.
        if is_named("missing") {
            column.values.iter_mut().filter(|value| **value == empty).for_each(|value| *value = Value::Null);
        }
        let mut kind = match from["columns"].get(&place).or_else(|| rules["columns"].get(&place)) {
            Some(Json::Null) => return None,
            Some(kind) => Kind::parse(kind.as_str().unwrap()),
            None => mapped(&rules["kinds"], &column.kind)?,
        };
        if let Some(unknown) = from["valueless"].as_str()
            && column.values.iter().all(|value| *value == Value::Null)
        {
            kind = Kind::parse(unknown);
        }
        let nulls = if column.has_null() {
            &rules["nulls"]["whole"]
        } else if column.has_null_inside() {
            &rules["nulls"]["inside"]
        } else {
            &Json::Null
        };
        let how = nulls.as_object().map_or(nulls, |by| by.get(&kind.word()).unwrap_or(&by["*"]));
        let how = from["nulls"].get(kind.word()).filter(|_| column.has_null()).unwrap_or(how);
        let mut values: Vec<_> = column.values.iter().map(|value| turned(&column.kind, &kind, value)).collect();
        let instead = match how.as_str().unwrap_or("kept") {
            "kept" => None,
            "out" => return None,
            "nan" => Some(Value::Float(f64::NAN)),
            // An empty cell does not identify a column as text.
            "cell" if column.values.iter().all(|value| *value == Value::Null) => None,
            "empty" | "cell" => Some(empty.clone()),
            "none" => Some(Value::List(Vec::new())),
            // Nullable integers.
            "f64" => {
                values = values.iter().map(|value| turned(&kind, &Kind::Float(64), value)).collect();
                kind = Kind::Float(64);
                Some(Value::Float(f64::NAN))
            }
            // Single elements are masked.
            "nans" => match &kind {
                Kind::Fixed(item, size) => {
                    let nans = Value::List(vec![Value::Float(f64::NAN); *size]);
                    let item = if matches!(**item, Kind::Int(..)) { Kind::Float(64) } else { (**item).clone() };
                    let to = Kind::Fixed(Box::new(item), *size);
                    values = values.iter().map(|value| turned(&kind, &to, value)).collect();
                    kind = to;
                    Some(nans)
                }
                Kind::Tensor(_, sizes) => Some(Value::List(vec![Value::Float(f64::NAN); sizes.iter().product()])),
                kind => panic!("no NaNs in {kind}"),
            },
            how => panic!("no way {how} with nulls"),
        };
        if let Some(instead) = instead {
            values.iter_mut().filter(|value| **value == Value::Null).for_each(|value| *value = instead.clone());
        }
        let name = rules["names"].get(&column.name).map_or(column.name.as_str(), |name| name.as_str().unwrap());
        Some(Column { name: name.to_owned(), kind, values })
    }

    /// Whether a column of integers has nulls.
    pub(crate) fn has_gaps(&self) -> bool {
        self.columns.iter().any(|column| matches!(column.kind, Kind::Int(..)) && column.has_null())
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|column| column.name.as_str()).collect()
    }
}

/// The type by the rules for types: for the whole type, its first word, or its parts.
fn mapped(kinds: &Json, kind: &Kind) -> Option<Kind> {
    match kinds.get(kind.to_string()).or_else(|| kinds.get(kind.word())) {
        Some(Json::Null) => return None,
        Some(Json::String(to)) if to == "kept" => return Some(kind.clone()),
        Some(to) => return Some(Kind::parse(to.as_str().unwrap())),
        None => {}
    }
    let made = |item: &Kind| mapped(kinds, item).map(Box::new);
    Some(match kind {
        Kind::List(item) => Kind::List(made(item)?),
        Kind::Fixed(item, size) => Kind::Fixed(made(item)?, *size),
        Kind::Tensor(item, sizes) => Kind::Tensor(made(item)?, sizes.clone()),
        Kind::Struct(members) => {
            let members = members.iter().map(|(name, kind)| Some((name.clone(), mapped(kinds, kind)?)));
            Kind::Struct(members.collect::<Option<_>>()?)
        }
        kind => kind.clone(),
    })
}

/// Converts a value from one type to another.
fn turned(kind: &Kind, to: &Kind, value: &Value) -> Value {
    if kind == to {
        return value.clone();
    }
    match (kind, to, value) {
        (_, _, Value::Null) => Value::Null,
        (Kind::Text, Kind::Date, Value::Text(text)) => Value::Days(time::days(text)),
        (Kind::Text, Kind::Timestamp, Value::Text(text)) => Value::Micros(time::micros(text)),
        (Kind::Date, Kind::Text, Value::Days(days)) => Value::Text(time::date(*days)),
        (Kind::Timestamp, Kind::Text, Value::Micros(micros)) => Value::Text(time::timestamp(*micros)),
        (Kind::Duration, Kind::Text, Value::Micros(micros)) => Value::Text(time::duration(*micros)),
        (Kind::Date, Kind::Timestamp, Value::Days(days)) => Value::Micros(days * 86_400_000_000),
        (Kind::Duration, Kind::Int(64, true), Value::Micros(micros)) => Value::Int((*micros).into()),
        (Kind::Bytes, Kind::Text, Value::Bytes(bytes)) => Value::Text(STANDARD.encode(bytes)),
        (Kind::Bytes, Kind::List(_), Value::Bytes(bytes)) => {
            Value::List(bytes.iter().map(|byte| Value::Int((*byte).into())).collect())
        }
        (Kind::Labels, Kind::Text, _) | (Kind::Int(..), Kind::Int(..), _) | (Kind::Float(_), Kind::Float(_), _) => {
            value.clone()
        }
        #[expect(clippy::cast_precision_loss, reason = "checked on the same line")]
        (Kind::Int(..), Kind::Float(64), Value::Int(int)) if (*int as f64) as i128 == *int => Value::Float(*int as f64),
        (
            Kind::List(from) | Kind::Fixed(from, _) | Kind::Tensor(from, _),
            Kind::List(item) | Kind::Fixed(item, _) | Kind::Tensor(item, _),
            Value::List(items),
        ) => Value::List(items.iter().map(|value| turned(from, item, value)).collect()),
        (Kind::Struct(from), Kind::Struct(members), Value::List(items)) => {
            let kinds = from.iter().zip(members).zip(items);
            Value::List(kinds.map(|(((_, kind), (_, to)), value)| turned(kind, to, value)).collect())
        }
        _ => panic!("no way from {kind} to {to} for {value:?}"),
    }
}
