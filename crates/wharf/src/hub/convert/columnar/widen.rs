//! The columns of several inputs without a schema: of the types that they would have as rows of one.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use container_arrow::{ENCODING, Mapping, OnMismatch, SPARSE, narrow_field};
use container_core::{Error, Result};

/// The name of JSON text among Arrow's extensions.
const JSON: &str = "arrow.json";

/// What two columns are that do not go together.
enum Apart {
    /// They may, by an option.
    Never,
    /// A path in them, and the two types there.
    At(String, DataType, DataType),
}

/// How types are joined.
#[derive(Debug, Clone, Copy)]
pub(super) struct Widen<'a> {
    pub(super) mapping: &'a Mapping,
    /// Columns of cells: what does not go together is text.
    pub(super) cells: bool,
    /// The file that the columns before are of.
    pub(super) first: &'a str,
}

impl Widen<'_> {
    /// The columns that one or both have, in the order of their first appearance.
    pub(super) fn schemas(&self, before: &Schema, found: &Schema) -> Result<SchemaRef> {
        let fields =
            self.members(before.fields(), found.fields(), &mut String::new()).map_err(|apart| match apart {
                Apart::Never => Error::usage("the columns differ"),
                Apart::At(path, there, here) => {
                    let (here, there) = (told(&here), told(&there));
                    let what = format!("it is {here} here and {there} in {}", self.first);
                    let help = if self.cells {
                        "{schema} says its type"
                    } else {
                        "{on_mismatch} null or json says what becomes of it, {schema} which type it has"
                    };
                    Error::invalid(what).advising(help).in_column(path)
                }
            })?;
        Ok(Arc::new(Schema::new(fields)))
    }

    fn members(&self, before: &Fields, found: &Fields, path: &mut String) -> Result<Vec<FieldRef>, Apart> {
        let others: HashMap<&str, &FieldRef> = found.iter().map(|field| (field.name().as_str(), field)).collect();
        let own: HashMap<&str, &FieldRef> = before.iter().map(|field| (field.name().as_str(), field)).collect();
        let length = path.len();
        let mut fields = Vec::with_capacity(before.len());
        for field in before {
            fields.push(match others.get(field.name().as_str()) {
                None => self.missing(field, true),
                Some(other) => {
                    if length > 0 {
                        path.push('.');
                    }
                    path.push_str(field.name());
                    let joined = self.field(field, other, path)?;
                    path.truncate(length);
                    joined
                }
            });
        }
        fields.extend(
            found
                .iter()
                .filter(|field| !own.contains_key(field.name().as_str()))
                .map(|field| self.missing(field, true)),
        );
        Ok(fields)
    }

    fn field(&self, one: &FieldRef, other: &FieldRef, path: &mut String) -> Result<FieldRef, Apart> {
        let missing = one.is_nullable() || other.is_nullable();
        if one.data_type() == other.data_type() && one.metadata() == other.metadata() {
            return Ok(self.missing(one, missing));
        }
        match (one.data_type(), other.data_type()) {
            (_, DataType::Null) => return Ok(self.missing(one, missing)),
            (DataType::Null, _) => return Ok(self.missing(other, missing)),
            _ => {}
        }
        if let Some(joined) = self.text(one, other) {
            return Ok(joined);
        }
        let length = path.len();
        let joined = match self.types(one, other, path) {
            // Of arrays and objects in cells that do not go together the cells do.
            Err(_) if self.cells => DataType::Utf8,
            Err(Apart::Never) => return self.on_mismatch(one, other, path),
            joined => joined?,
        };
        path.truncate(length);
        // What was said of one alone does not hold of both, but that one of them has sparse vectors.
        let mut metadata = HashMap::new();
        for field in [one, other] {
            metadata.extend(field.metadata().get(SPARSE).map(|sparse| (SPARSE.to_owned(), sparse.clone())));
        }
        Ok(self.missing(&Arc::new(Field::new(one.name(), joined, true).with_metadata(metadata)), missing))
    }

    /// The field as it is where values may be missing.
    fn missing(&self, field: &FieldRef, missing: bool) -> FieldRef {
        if self.mapping.narrow { Arc::new(narrow_field(Field::clone(field), missing)) } else { nullable(field) }
    }

    /// Columns one of which is JSON or msgpack.
    fn text(&self, one: &FieldRef, other: &FieldRef) -> Option<FieldRef> {
        let (texts, large) = ((is_json(one), is_json(other)), is_large(one) || is_large(other));
        match (texts, self.mapping.on_mismatch) {
            ((false, false), _) if is_msgpack(one) || is_msgpack(other) => Some(msgpack(one.name(), large)),
            ((false, false), _) => None,
            ((true, true), _) | (_, OnMismatch::Json) => Some(json(one.name(), large)),
            // Objects without members are such, and go with those that have some.
            ((true, false), _) if matches!(other.data_type(), DataType::Struct(_)) => Some(nullable(other)),
            ((false, true), _) if matches!(one.data_type(), DataType::Struct(_)) => Some(nullable(one)),
            _ => None,
        }
    }

    fn types(&self, one: &FieldRef, other: &FieldRef, path: &mut String) -> Result<DataType, Apart> {
        use DataType::{
            Binary, Date32, FixedSizeList, Float16, Float32, Float64, Int64, LargeBinary, LargeUtf8, List, Struct,
            Time64, Timestamp, UInt64, Utf8,
        };

        if is_json(one) || is_json(other) {
            return Err(Apart::Never);
        }
        let inner = Self { cells: false, ..*self };
        let plain = |field: &Field| !field.metadata().contains_key(EXTENSION_TYPE_NAME_KEY);
        let lists = self.mapping.narrow && plain(one) && plain(other);
        let float = |data_type: &DataType| matches!(data_type, Float16 | Float32 | Float64);
        let number = |data_type: &DataType| float(data_type) || matches!(data_type, Int64 | UInt64);
        let finer = |one: &TimeUnit, other: &TimeUnit| if *one == TimeUnit::Nanosecond { *one } else { *other };
        Ok(match (one.data_type(), other.data_type()) {
            (one, other) if one == other => one.clone(),
            (Int64, UInt64) | (UInt64, Int64) => UInt64,
            (Float16, Float32) | (Float32, Float16) => Float32,
            (one, other) if number(one) && number(other) => Float64,
            (Utf8 | LargeUtf8, Utf8 | LargeUtf8) => LargeUtf8,
            (Binary | LargeBinary, Binary | LargeBinary) => LargeBinary,
            (List(one), List(other)) => {
                path.push_str("[]");
                List(inner.field(one, other, path)?)
            }
            (FixedSizeList(one, size), FixedSizeList(other, same)) if lists && size == same => {
                path.push_str("[]");
                FixedSizeList(inner.field(one, other, path)?, *size)
            }
            (List(one) | FixedSizeList(one, _), List(other) | FixedSizeList(other, _)) if lists => {
                path.push_str("[]");
                List(inner.field(one, other, path)?)
            }
            (Struct(one), Struct(other)) => Struct(inner.members(one, other, path)?.into()),
            (Date32, Timestamp(unit, None)) | (Timestamp(unit, None), Date32) if self.cells => Timestamp(*unit, None),
            (Timestamp(one, zone), Timestamp(other, same)) if self.cells && zone == same => {
                Timestamp(finer(one, other), zone.clone())
            }
            (Time64(one), Time64(other)) if self.cells => Time64(finer(one, other)),
            (one, other) if self.cells => match matches!((one, other), (LargeUtf8, _) | (_, LargeUtf8)) {
                true => LargeUtf8,
                false => Utf8,
            },
            _ => return Err(Apart::Never),
        })
    }

    /// Columns that do not go together.
    fn on_mismatch(&self, one: &FieldRef, other: &FieldRef, path: &str) -> Result<FieldRef, Apart> {
        let large = is_large(one) || is_large(other);
        match self.mapping.on_mismatch {
            OnMismatch::Json => Ok(json(one.name(), large)),
            OnMismatch::Msgpack => Ok(msgpack(one.name(), large)),
            // What does not fit into the type of the first file is null.
            OnMismatch::Null => Ok(nullable(one)),
            _ => Err(Apart::At(path.to_owned(), one.data_type().clone(), other.data_type().clone())),
        }
    }
}

/// The columns of two inputs, of which those of `known` are as that one says: the other has no rows.
pub(super) fn beside(before: &Schema, found: &Schema, known: &Schema) -> SchemaRef {
    let all =
        before.fields().iter().chain(found.fields().iter().filter(|field| before.index_of(field.name()).is_err()));
    let field = |field: &FieldRef| match known.fields().find(field.name()) {
        Some((_, known)) => Arc::clone(known),
        None => Arc::clone(field),
    };
    Arc::new(Schema::new(all.map(field).collect::<Vec<_>>()))
}

fn nullable(field: &FieldRef) -> FieldRef {
    if field.is_nullable() { Arc::clone(field) } else { Arc::new(Field::clone(field).with_nullable(true)) }
}

fn is_json(field: &Field) -> bool {
    field.metadata().get(EXTENSION_TYPE_NAME_KEY).is_some_and(|name| name == JSON)
}

fn is_msgpack(field: &Field) -> bool {
    field.metadata().get(ENCODING).is_some_and(|name| name == "msgpack")
}

fn is_large(field: &Field) -> bool {
    matches!(field.data_type(), DataType::LargeUtf8 | DataType::LargeBinary)
}

/// A column of JSON text.
pub(super) fn json(name: &str, large: bool) -> FieldRef {
    let text = if large { DataType::LargeUtf8 } else { DataType::Utf8 };
    let said = [(EXTENSION_TYPE_NAME_KEY, JSON), (arrow_schema::extension::EXTENSION_TYPE_METADATA_KEY, "")];
    let said: HashMap<String, String> = said.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    Arc::new(Field::new(name, text, true).with_metadata(said))
}

fn msgpack(name: &str, large: bool) -> FieldRef {
    let bytes = if large { DataType::LargeBinary } else { DataType::Binary };
    let said = HashMap::from([(ENCODING.to_owned(), "msgpack".to_owned())]);
    Arc::new(Field::new(name, bytes, true).with_metadata(said))
}

/// A type as messages tell it: what is in it may be long.
fn told(data_type: &DataType) -> String {
    match data_type {
        DataType::Struct(_) => "a struct".to_owned(),
        DataType::List(_) => "a list".to_owned(),
        DataType::FixedSizeList(..) => "a list or tensor of one size".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(columns: &[(&str, &str)]) -> Schema {
        Schema::new(
            columns.iter().map(|(name, kind)| Field::new(*name, kind.parse().unwrap(), true)).collect::<Vec<_>>(),
        )
    }

    fn joined(
        one: &[(&str, &str)],
        other: &[(&str, &str)],
        cells: bool,
        on_mismatch: OnMismatch,
    ) -> Result<Vec<String>> {
        let mapping = Mapping::default().with_on_mismatch(on_mismatch);
        let widen = Widen { mapping: &mapping, cells, first: "one" };
        let schema = widen.schemas(&schema(one), &schema(other))?;
        Ok(schema.fields().iter().map(|field| format!("{}: {}", field.name(), field.data_type())).collect())
    }

    #[test]
    fn types_are_widened_whatever_the_order() {
        let pairs = [
            ("Int64", "Float64", "Float64", "Float64"),
            ("Int64", "UInt64", "UInt64", "UInt64"),
            ("Null", "Boolean", "Boolean", "Boolean"),
            ("Utf8", "LargeUtf8", "LargeUtf8", "LargeUtf8"),
            ("List(Int64)", "List(Null)", "List(Int64)", "List(Int64)"),
            ("List(List(Int64))", "List(List(Float64))", "List(List(Float64))", "List(List(Float64))"),
            (r#"Struct("a": Int64)"#, r#"Struct("a": Float64)"#, r#"Struct("a": Float64)"#, r#"Struct("a": Float64)"#),
            ("Float32", "Float64", "Float64", "Float64"),
            ("Float32", "Int64", "Float64", "Float64"),
            ("Date32", "Timestamp(us)", "", "Timestamp(µs)"),
            ("Timestamp(ns)", "Timestamp(us)", "", "Timestamp(ns)"),
            ("Time64(us)", "Time64(ns)", "", "Time64(ns)"),
            ("Boolean", "Int64", "", "Utf8"),
            ("Utf8", "Int64", "", "Utf8"),
            ("Date32", "Time64(us)", "", "Utf8"),
        ];
        for (one, other, values, cells) in pairs {
            for (one, other) in [(one, other), (other, one)] {
                let of = |is_cells| {
                    let joined = joined(&[("x", one)], &[("x", other)], is_cells, OnMismatch::Error);
                    joined.map_or_else(|_| String::new(), |fields| fields[0].replace("x: ", ""))
                };
                assert_eq!((of(false).as_str(), of(true).as_str()), (values, cells), "{one} and {other}");
            }
        }
    }

    #[test]
    fn columns_of_one_alone_stay() {
        let fields =
            joined(&[("b", "Int64"), ("a", "Utf8")], &[("c", "Boolean"), ("a", "Utf8")], false, OnMismatch::Error);
        assert_eq!(fields.unwrap(), ["b: Int64", "a: Utf8", "c: Boolean"]);
    }

    #[test]
    fn what_does_not_go_together_is_told_or_becomes_what_was_asked_for() {
        let of = |on_mismatch| {
            joined(&[("x", r#"Struct("y": Int64)"#)], &[("x", r#"Struct("y": Utf8)"#)], false, on_mismatch)
        };
        let error = of(OnMismatch::Error).unwrap_err().to_string();
        let help = "on_mismatch null or json says what becomes of it, schema which type it has";
        assert_eq!(error, format!("it is Utf8 here and Int64 in one; {help} (column \"x.y\")"));
        assert_eq!(of(OnMismatch::Null).unwrap(), [r#"x: Struct("y": Int64)"#]);
        let text = of(OnMismatch::Json).unwrap();
        assert!(text[0].starts_with(r#"x: Struct("y": Utf8"#) && text[0].contains("arrow.json"), "{text:?}");
    }
}
