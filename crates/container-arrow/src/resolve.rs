//! The type of a column, by which values it has had.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
use container_core::arrow::{Mapping, OnMismatch};
use container_core::{Error, Result};

use crate::observe::{Class, ClassProfile, ColumnProfile, Element, Members, Observation, TensorProfile};

/// The key in a field's metadata that says in what its bytes are encoded: `msgpack`.
pub const ENCODING: &str = "encoding";

/// The key in a field's metadata that says, with [`Mapping::narrow`], that one of the column's lists was written as a sparse vector.
pub const SPARSE: &str = "sparse";

/// The name of JSON text among Arrow's canonical extensions.
pub(super) const JSON: &str = "arrow.json";

/// Longer texts have offsets of 64 bits.
pub(super) const LONG: u64 = 1 << 30;

/// Bytes of a name that a path shows.
const SHOWN: usize = 64;

/// The schema of rows that are objects: a field for each member, in the order of their first appearance, as [`resolve`] says.
///
/// # Errors
/// [`Invalid`](container_core::ErrorKind::Invalid) with column and row for values that do not fit, where that is to be an error, and for a row that is no
/// object.
pub fn resolve_schema(rows: &Observation, mapping: &Mapping) -> Result<Schema> {
    let root = rows.observed();
    if let Some(other) = root.seen.iter().filter(|seen| seen.class != Class::Object).min_by_key(|seen| seen.row) {
        return Err(Error::invalid(format!("the row is no object, but {}", other.class.name())).in_row(other.row));
    }
    let none = Members::default();
    let members = root.object.as_deref().unwrap_or(&none).sorted();
    let fields = members.into_iter().map(|member| resolve_member(&member.name, root, mapping));
    Ok(Schema::new(fields.collect::<Result<Vec<Field>>>()?))
}

/// The field of a member of rows that are objects, as [`resolve`] says; of one that no row has a column of nulls.
///
/// # Errors
/// As [`resolve`].
pub fn resolve_member(name: &str, rows: &ColumnProfile, mapping: &Mapping) -> Result<Field> {
    let nothing = ColumnProfile::default();
    let member = rows.member(name).unwrap_or(&nothing);
    field(name, &mut shown(name).to_owned(), member, rows.count(Class::Object), mapping)
}

/// The schema that more rows most likely have, inferred from the first of them and some others: what
/// [`ArrowTable::infer_from_sample`](crate::ArrowTable::infer_from_sample) is for. [`Columns`](crate::Columns) of a scan [with it](crate::BatchScan::with_sampled_schema) tell when a row shows that it is another.
///
/// `None` where the others have members that the first ones have not, as nobody knows in which order they come; where some values do not fit
/// together, or may become something else than an error then; and where a column takes whatever comes (JSON text).
#[must_use]
pub fn infer_from_sample(first: &Observation, others: Observation, mapping: &Mapping) -> Option<Schema> {
    let mut seen = first.clone();
    seen.merge(others).ok()?;
    if mapping.on_mismatch != OnMismatch::Error || seen.observed().columns() != first.observed().columns() {
        return None;
    }
    let schema = resolve_schema(&seen, mapping).ok()?;
    let is_plain = schema.flattened_fields().iter().all(|field| field.metadata().is_empty());
    is_plain.then_some(schema)
}

/// The field of a column that has had these values.
///
/// | values | Arrow type | note |
/// |---|---|---|
/// | none, or only null | `Null` | |
/// | booleans | `Boolean` | |
/// | integers | `Int64` | `UInt64` where one is beyond it and none is negative; both at once do not fit |
/// | floats | `Float16`, `Float32` or `Float64` | the widest that was seen |
/// | integers and floats | `Float64` | where it holds every one of the integers exactly; else they do not fit |
/// | numbers, and in JSON the texts `NaN`, `Infinity`, `-Infinity` | `Float64` | the same; these texts alone, or beside others, are text |
/// | numbers that neither 64 bits nor a float hold, values of other kinds than these | | they do not fit |
/// | text | `Utf8` | `LargeUtf8` where one is longer than 1 GiB |
/// | bytes | `Binary` | `LargeBinary` where one is longer than 1 GiB |
/// | lists | `List` of what their elements are | whatever their lengths |
/// | objects | `Struct` of what their members are | members in the order of their first appearance |
/// | objects without any member | `Utf8`, `arrow.json` | a struct without members cannot be written to Parquet |
/// | tensors of one shape | `FixedSizeList`, `arrow.fixed_shape_tensor` | a shape with a 0 in it as those of several shapes |
/// | of one dimension and several lengths | `List` | |
/// | of several shapes, as many dimensions | `Struct` of `data` and `shape`, `arrow.variable_shape_tensor` | |
/// | of several numbers of dimensions | `Struct` of `data: List` and `shape: List<Int32>` | |
/// | tensors of several types, anything else together | | they do not fit |
///
/// All columns are nullable, but with [`Mapping::narrow`]: then those are that had a missing value, lists of one length are `FixedSizeList`, and
/// integers beside missing ones are `Float64`, if it holds every one of them exactly. What does not fit becomes what [`Mapping::on_mismatch`]
/// says: an error; null, but for the values of the class that is most frequent (of two that are as frequent the one that [`Class`] names
/// first); `Utf8`, `arrow.json`, with all values of the column as JSON; `Binary` with all values as msgpack, marked in the metadata
/// ([`ENCODING`]).
///
/// # Errors
/// [`Invalid`](container_core::ErrorKind::Invalid) with column and row for values that do not fit, where that is to be an error.
pub fn resolve(name: &str, observed: &ColumnProfile, mapping: &Mapping) -> Result<Field> {
    field(name, &mut shown(name).to_owned(), observed, 0, mapping)
}

/// A name as paths show it: the beginning of a long one.
pub(super) fn shown(name: &str) -> &str {
    let end = (0..=SHOWN.min(name.len())).rev().find(|end| name.is_char_boundary(*end));
    end.and_then(|end| name.get(..end)).unwrap_or_default()
}

/// `path` leads to the field: `a.b[]`. The values could have been so `many`; those that were not there are missing.
fn field(name: &str, path: &mut String, observed: &ColumnProfile, many: u64, mapping: &Mapping) -> Result<Field> {
    let mut seen: Vec<ClassProfile> = observed.seen.iter().filter(|seen| seen.class != Class::Null).copied().collect();
    let missing = observed.count(Class::Null) > 0 || observed.values() < many;
    words_as_floats(&mut seen, observed);
    seen.sort_by_key(|seen| (seen.row, seen.class));
    let narrow = |field, missing| if mapping.narrow { narrow_field(field, missing) } else { field };
    let clash = match clash(&seen, observed)
        .or_else(|| if mapping.narrow && missing { no_float(&seen, observed) } else { None })
    {
        Some(clash) => clash,
        None => return Ok(narrow(one(name, path, &seen, observed, mapping)?, missing)),
    };
    match mapping.on_mismatch {
        OnMismatch::Json => Ok(narrow(json(name, observed.longest), missing)),
        OnMismatch::Msgpack => Ok(narrow(msgpack(name, observed.longest), missing)),
        OnMismatch::Null => {
            // The least class of the highest count.
            let most = seen
                .iter()
                .filter(|seen| seen.class != Class::Other)
                .max_by_key(|seen| (seen.count, std::cmp::Reverse(seen.class)));
            Ok(narrow(one(name, path, most.map(std::slice::from_ref).unwrap_or_default(), observed, mapping)?, true))
        }
        // `Error`, and what this crate does not know.
        _ => Err(clash.error(path)),
    }
}

/// A field of [narrow](Mapping::narrow) types as it is where values are missing, or where none is: nullable or not, and where they are neither of
/// integers nor, without an extension type, of lists of a fixed size.
#[must_use]
pub fn narrow_field(field: Field, missing: bool) -> Field {
    let data_type = match field.data_type() {
        DataType::Int64 | DataType::UInt64 if missing => DataType::Float64,
        DataType::FixedSizeList(element, _) if missing && !field.metadata().contains_key(EXTENSION_TYPE_NAME_KEY) => {
            DataType::List(Arc::clone(element))
        }
        other => other.clone(),
    };
    field.with_data_type(data_type).with_nullable(missing)
}

/// An integer that no float holds, beside missing ones.
fn no_float(seen: &[ClassProfile], observed: &ColumnProfile) -> Option<Clash> {
    let integers = seen.iter().all(|seen| seen.class == Class::Integer);
    let row = observed.inexact.filter(|_| integers)?;
    Some(Clash::alone("an integer that no float holds, and missing ones", row))
}

/// Where all texts of a column of numbers are words for floats they count as such.
fn words_as_floats(seen: &mut Vec<ClassProfile>, observed: &ColumnProfile) {
    let of = |seen: &[ClassProfile], class| seen.iter().position(|seen| seen.class == class);
    let Some(place) = of(seen, Class::Text) else { return };
    let has_numbers = of(seen, Class::Integer).is_some() || of(seen, Class::Float).is_some();
    if !has_numbers || observed.words != observed.count(Class::Text) {
        return;
    }
    let words = seen.swap_remove(place);
    match of(seen, Class::Float).and_then(|place| seen.get_mut(place)) {
        Some(floats) => {
            floats.count += words.count;
            floats.row = floats.row.min(words.row);
        }
        None => seen.push(ClassProfile { class: Class::Float, ..words }),
    }
}

/// Two values that no column holds together, or one that none holds, as messages tell them.
struct Clash {
    what: String,
    row: u64,
}

impl Clash {
    fn new(one: impl Into<String>, first: u64, other: impl Into<String>, row: u64) -> Self {
        // The later one is where the error is.
        let ((one, first), (other, row)) = match first <= row {
            true => ((one.into(), first), (other.into(), row)),
            false => ((other.into(), row), (one.into(), first)),
        };
        Self { what: format!("{other}, but {one} in row {first}"), row }
    }

    fn alone(what: &str, row: u64) -> Self {
        Self { what: what.to_owned(), row }
    }

    fn error(self, path: &str) -> Error {
        let error = Error::invalid(format!("the column has {}", self.what)).in_row(self.row).in_column(path.to_owned());
        error.advising("{on_mismatch} null or json says what becomes of it")
    }
}

/// What does not fit of classes in the order of their first rows.
fn clash(seen: &[ClassProfile], observed: &ColumnProfile) -> Option<Clash> {
    let numbers = |seen: &ClassProfile| matches!(seen.class, Class::Integer | Class::Float);
    if let Some(beyond) = seen.iter().find(|seen| matches!(seen.class, Class::Number | Class::Other)) {
        return Some(match seen.iter().find(|other| other.class != beyond.class) {
            Some(other) => Clash::new(other.class.name(), other.row, beyond.class.name(), beyond.row),
            None => Clash::alone(beyond.class.name(), beyond.row),
        });
    }
    let first = seen.first()?;
    if let Some(other) = seen.iter().find(|other| other.class != first.class && !(numbers(first) && numbers(other))) {
        return Some(Clash::new(first.class.name(), first.row, other.class.name(), other.row));
    }
    match (first.class, seen.get(1)) {
        (Class::Integer | Class::Float, Some(_)) => {
            let float = seen.iter().find(|seen| seen.class == Class::Float)?.row;
            let large = "an integer that no float holds";
            observed.inexact.map(|row| Clash::new("a float", float, large, row))
        }
        (Class::Integer, None) if observed.least < 0 && i64::try_from(observed.most).is_err() => {
            let (least, most) = (observed.least, observed.most);
            Some(Clash::new(format!("the integer {least}"), first.row, format!("the integer {most}"), first.row))
        }
        (Class::Tensor, _) => {
            let mut elements = observed.tensor.as_deref()?.elements.clone();
            elements.sort_by_key(|(element, _, row)| (*row, *element));
            let [(one, _, first), (other, _, row), ..] = elements.as_slice() else { return None };
            Some(Clash::new(format!("a tensor of {one:?}"), *first, format!("a tensor of {other:?}"), *row))
        }
        _ => None,
    }
}

/// The field of classes that go together.
fn one(
    name: &str,
    path: &mut String,
    seen: &[ClassProfile],
    observed: &ColumnProfile,
    mapping: &Mapping,
) -> Result<Field> {
    let plain = |data_type| Ok(Field::new(name, data_type, true));
    let has = |class| seen.iter().any(|seen| seen.class == class);
    let Some(first) = seen.first() else { return plain(DataType::Null) };
    plain(match first.class {
        Class::Null | Class::Other => DataType::Null,
        Class::Bool => DataType::Boolean,
        Class::Integer | Class::Float | Class::Number => match (has(Class::Integer), has(Class::Float)) {
            (true, false) if observed.least >= 0 && i64::try_from(observed.most).is_err() => DataType::UInt64,
            (true, false) => DataType::Int64,
            (false, true) if observed.width == 16 => DataType::Float16,
            (false, true) if observed.width == 32 => DataType::Float32,
            _ => DataType::Float64,
        },
        Class::Text if observed.longest > LONG => DataType::LargeUtf8,
        Class::Text => DataType::Utf8,
        Class::Bytes if observed.longest > LONG => DataType::LargeBinary,
        Class::Bytes => DataType::Binary,
        Class::List => {
            let nothing = ColumnProfile::default();
            let list = observed.list.as_deref();
            let length = path.len();
            path.push_str("[]");
            let element = list.map_or(&nothing, |list| &list.element);
            let element = Arc::new(field(Field::LIST_FIELD_DEFAULT_NAME, path, element, 0, mapping)?);
            path.truncate(length);
            let size = list.filter(|list| mapping.narrow && list.shortest == list.longest && list.longest > 0);
            let data_type = match size.and_then(|list| i32::try_from(list.longest).ok()) {
                Some(size) => DataType::FixedSizeList(element, size),
                None => DataType::List(element),
            };
            if list.is_some_and(|list| mapping.narrow && list.sparse) {
                let sparse = HashMap::from([(SPARSE.to_owned(), true.to_string())]);
                return plain(data_type).map(|field| field.with_metadata(sparse));
            }
            data_type
        }
        Class::Object => {
            let members = observed.object.iter().flat_map(|members| members.sorted());
            let length = path.len();
            let mut fields = Vec::new();
            for member in members {
                path.push('.');
                path.push_str(shown(&member.name));
                fields.push(field(&member.name, path, &member.observed, observed.count(Class::Object), mapping)?);
                path.truncate(length);
            }
            match (fields.is_empty(), mapping.on_mismatch) {
                (false, _) => DataType::Struct(fields.into()),
                (true, OnMismatch::Msgpack) => return Ok(msgpack(name, 0)),
                (true, _) => return Ok(json(name, 0)),
            }
        }
        Class::Tensor => match observed.tensor.as_deref() {
            Some(seen) => return Ok(tensor(name, seen, !mapping.narrow)),
            None => DataType::Null,
        },
    })
}

/// A column of JSON text.
fn json(name: &str, longest: u64) -> Field {
    let text = if longest > LONG { DataType::LargeUtf8 } else { DataType::Utf8 };
    extended(Field::new(name, text, true), JSON, String::new())
}

fn msgpack(name: &str, longest: u64) -> Field {
    let bytes = if longest > LONG { DataType::LargeBinary } else { DataType::Binary };
    Field::new(name, bytes, true).with_metadata(HashMap::from([(ENCODING.to_owned(), "msgpack".to_owned())]))
}

fn extended(field: Field, extension: &str, metadata: String) -> Field {
    field.with_metadata(HashMap::from([
        (EXTENSION_TYPE_NAME_KEY.to_owned(), extension.to_owned()),
        (EXTENSION_TYPE_METADATA_KEY.to_owned(), metadata),
    ]))
}

fn tensor(name: &str, seen: &TensorProfile, nullable: bool) -> Field {
    // Most frequent, where there are several.
    let most = seen.elements.iter().max_by_key(|(element, count, _)| (*count, std::cmp::Reverse(*element)));
    let element = most.map_or(DataType::Null, |(element, ..)| element.data_type());
    let element: FieldRef = Arc::new(Field::new(Field::LIST_FIELD_DEFAULT_NAME, element, nullable));
    let size = |shape: &Vec<u64>| {
        let size = shape.iter().try_fold(1_u64, |size, length| size.checked_mul(*length))?;
        i32::try_from(size).ok().filter(|size| *size > 0)
    };
    if let Some((shape, size)) = seen.shape.as_ref().and_then(|shape| Some((shape, size(shape)?))) {
        let field = Field::new(name, DataType::FixedSizeList(element, size), true);
        return extended(field, "arrow.fixed_shape_tensor", serde_json::json!({ "shape": shape }).to_string());
    }
    if seen.dimensions == Some(1) {
        return Field::new(name, DataType::List(element), true);
    }
    let dimensions = seen.dimensions.and_then(|dimensions| i32::try_from(dimensions).ok()).filter(|some| *some > 0);
    let length = Arc::new(Field::new(Field::LIST_FIELD_DEFAULT_NAME, DataType::Int32, true));
    let shape = match dimensions {
        Some(dimensions) => DataType::FixedSizeList(length, dimensions),
        None => DataType::List(length),
    };
    let parts = Fields::from(vec![Field::new("data", DataType::List(element), true), Field::new("shape", shape, true)]);
    let field = Field::new(name, DataType::Struct(parts), true);
    match dimensions {
        Some(_) => extended(field, "arrow.variable_shape_tensor", "{}".to_owned()),
        None => field,
    }
}

impl Element {
    /// The type of an element in Arrow.
    #[must_use]
    pub const fn data_type(self) -> DataType {
        match self {
            Self::Bool => DataType::Boolean,
            Self::I8 => DataType::Int8,
            Self::I16 => DataType::Int16,
            Self::I32 => DataType::Int32,
            Self::I64 => DataType::Int64,
            Self::U8 => DataType::UInt8,
            Self::U16 => DataType::UInt16,
            Self::U32 => DataType::UInt32,
            Self::U64 => DataType::UInt64,
            Self::F16 => DataType::Float16,
            Self::F32 => DataType::Float32,
            Self::F64 => DataType::Float64,
        }
    }
}
