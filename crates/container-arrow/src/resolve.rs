//! Chooses the Arrow type of a column from its profile.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
use container_core::arrow::{Mapping, OnMismatch};
use container_core::{Error, Result};

use crate::observe::{Class, ClassProfile, ColumnProfile, Element, Members, Observation, TensorProfile};

/// Metadata key of a field for the encoding of its bytes: `msgpack`.
pub const ENCODING: &str = "encoding";

/// Metadata key of a field, set with [`Mapping::narrow`] if a list of the column was a sparse vector.
pub const SPARSE: &str = "sparse";

/// Arrow's canonical extension type for JSON text.
pub(super) const JSON: &str = "arrow.json";

/// Values longer than this many bytes need 64-bit offsets.
pub(super) const LARGE_VALUE_LEN: u64 = 1 << 30;

/// Maximum bytes of a name in a path.
const MAX_NAME_LEN: usize = 64;

/// Infers the schema of rows that are objects: one field per member, in the order of first occurrence, typed by [`resolve`].
///
/// # Errors
/// [`Invalid`](container_core::ErrorKind::Invalid) with column and row for conflicting values if [`Mapping::on_mismatch`] is an error, and for a row
/// that is not an object.
pub fn resolve_schema(rows: &Observation, mapping: &Mapping) -> Result<Schema> {
    let root = rows.profile();
    if let Some(other) = root.classes.iter().filter(|entry| entry.class != Class::Object).min_by_key(|entry| entry.row)
    {
        return Err(Error::invalid(format!("expected an object, found {}", other.class.name())).in_row(other.row));
    }
    let none = Members::default();
    let members = root.object.as_deref().unwrap_or(&none).sorted();
    let fields = members.into_iter().map(|member| resolve_member(&member.name, root, mapping));
    Ok(Schema::new(fields.collect::<Result<Vec<Field>>>()?))
}

/// Infers the field of one member of rows that are objects, as [`resolve`] does. A member no row has becomes a null column.
///
/// # Errors
/// As [`resolve`].
pub fn resolve_member(name: &str, rows: &ColumnProfile, mapping: &Mapping) -> Result<Field> {
    let nothing = ColumnProfile::default();
    let member = rows.member(name).unwrap_or(&nothing);
    field(name, &mut shown(name).to_owned(), member, rows.count(Class::Object), mapping)
}

/// Infers a schema from a sample: the first rows and some others. Implements
/// [`ArrowTable::infer_from_sample`](crate::ArrowTable::infer_from_sample); [`Columns`](crate::Columns) of a scan
/// [with this schema](crate::BatchScan::with_sampled_schema) detect rows that contradict it.
///
/// Returns `None` if the others have members that the first rows lack, since their order is unknown; if values conflict, or conflicts are not
/// errors; and if a column accepts any value (JSON text).
#[must_use]
pub fn infer_from_sample(first: &Observation, others: Observation, mapping: &Mapping) -> Option<Schema> {
    let mut sample = first.clone();
    sample.merge(others).ok()?;
    if mapping.on_mismatch != OnMismatch::Error || sample.profile().columns() != first.profile().columns() {
        return None;
    }
    let schema = resolve_schema(&sample, mapping).ok()?;
    let is_plain = schema.flattened_fields().iter().all(|field| field.metadata().is_empty());
    is_plain.then_some(schema)
}

/// Infers the field of a column from the profile of its values.
///
/// | values | Arrow type | note |
/// |---|---|---|
/// | none, or only null | `Null` | |
/// | booleans | `Boolean` | |
/// | integers | `Int64` | `UInt64` if some exceed it; conflict if others are negative |
/// | floats | `Float16`, `Float32` or `Float64` | the widest |
/// | integers and floats | `Float64` | conflict if an integer is not exact |
/// | numbers, and the JSON texts `NaN`, `Infinity`, `-Infinity` | `Float64` | same; without numbers, or with other text, they are text |
/// | numbers out of range, other values | | conflict |
/// | text | `Utf8` | `LargeUtf8` if one exceeds 1 GiB |
/// | bytes | `Binary` | `LargeBinary` if one exceeds 1 GiB |
/// | lists | `List` | of any length |
/// | objects | `Struct` | members in the order of first occurrence |
/// | objects without members | `Utf8`, `arrow.json` | Parquet has no empty structs |
/// | tensors of one shape | `FixedSizeList`, `arrow.fixed_shape_tensor` | a shape with a 0 counts as several shapes |
/// | one-dimensional tensors of several lengths | `List` | |
/// | tensors of several shapes with equal numbers of dimensions | `Struct` of `data` and `shape`, `arrow.variable_shape_tensor` | |
/// | tensors with different numbers of dimensions | `Struct` of `data: List` and `shape: List<Int32>` | |
/// | tensors of several element types, any other mix | | conflict |
///
/// All columns are nullable. With [`Mapping::narrow`] only columns with missing values are; lists of equal length become `FixedSizeList`, and
/// integers mixed with missing values `Float64` (conflict if one is not exact).
///
/// [`Mapping::on_mismatch`] decides about conflicts. `Error`: fail. `Null`: keep the most frequent class, with ties in the order of [`Class`], and
/// replace other values by null. `Json`: a `Utf8` column of extension `arrow.json` with all values as JSON. `Msgpack`: a `Binary` column with all
/// values as msgpack, marked with [`ENCODING`].
///
/// # Errors
/// [`Invalid`](container_core::ErrorKind::Invalid) with column and row for a conflict, with [`OnMismatch::Error`].
pub fn resolve(name: &str, profile: &ColumnProfile, mapping: &Mapping) -> Result<Field> {
    field(name, &mut shown(name).to_owned(), profile, 0, mapping)
}

/// Truncates a name for display in a path.
pub(super) fn shown(name: &str) -> &str {
    let end = (0..=MAX_NAME_LEN.min(name.len())).rev().find(|end| name.is_char_boundary(*end));
    end.and_then(|end| name.get(..end)).unwrap_or_default()
}

/// `path` is that of the field, such as `a.b[]`. Fewer than `expected_count` values mean that some are missing.
fn field(
    name: &str,
    path: &mut String,
    profile: &ColumnProfile,
    expected_count: u64,
    mapping: &Mapping,
) -> Result<Field> {
    let mut classes: Vec<ClassProfile> =
        profile.classes.iter().filter(|entry| entry.class != Class::Null).copied().collect();
    let missing = profile.count(Class::Null) > 0 || profile.values() < expected_count;
    count_words_as_floats(&mut classes, profile);
    classes.sort_by_key(|entry| (entry.row, entry.class));
    let narrow = |field, missing| if mapping.narrow { narrow_field(field, missing) } else { field };
    let conflict = match find_conflict(&classes, profile)
        .or_else(|| if mapping.narrow && missing { inexact_with_missing(&classes, profile) } else { None })
    {
        Some(conflict) => conflict,
        None => return Ok(narrow(compatible_field(name, path, &classes, profile, mapping)?, missing)),
    };
    match mapping.on_mismatch {
        OnMismatch::Json => Ok(narrow(json(name, profile.longest), missing)),
        OnMismatch::Msgpack => Ok(narrow(msgpack(name, profile.longest), missing)),
        OnMismatch::Null => {
            // The most frequent class; among equals the first one.
            let most_frequent = classes
                .iter()
                .filter(|entry| entry.class != Class::Other)
                .max_by_key(|entry| (entry.count, std::cmp::Reverse(entry.class)));
            let classes = most_frequent.map(std::slice::from_ref).unwrap_or_default();
            Ok(narrow(compatible_field(name, path, classes, profile, mapping)?, true))
        }
        // `Error`, and future variants.
        _ => Err(conflict.error(path)),
    }
}

/// Adapts a field inferred with [`Mapping::narrow`] to whether values are missing: sets nullability, and if values are missing widens integers to
/// `Float64` and fixed-size lists without an extension type to `List`.
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

/// Conflict between missing values and an integer that `Float64` cannot represent.
fn inexact_with_missing(classes: &[ClassProfile], profile: &ColumnProfile) -> Option<Conflict> {
    let integers = classes.iter().all(|entry| entry.class == Class::Integer);
    let row = profile.first_inexact.filter(|_| integers)?;
    Some(Conflict::alone("an integer that Float64 cannot hold exactly, and missing values", row))
}

/// Counts texts as floats if the column has numbers, and all its texts are non-finite floats.
fn count_words_as_floats(classes: &mut Vec<ClassProfile>, profile: &ColumnProfile) {
    let position = |classes: &[ClassProfile], class| classes.iter().position(|entry| entry.class == class);
    let Some(index) = position(classes, Class::Text) else { return };
    let has_numbers = position(classes, Class::Integer).is_some() || position(classes, Class::Float).is_some();
    if !has_numbers || profile.float_words != profile.count(Class::Text) {
        return;
    }
    let words = classes.swap_remove(index);
    match position(classes, Class::Float).and_then(|index| classes.get_mut(index)) {
        Some(floats) => {
            floats.count += words.count;
            floats.row = floats.row.min(words.row);
        }
        None => classes.push(ClassProfile { class: Class::Float, ..words }),
    }
}

/// A value that fits no column, or conflicts with an earlier one.
struct Conflict {
    what: String,
    row: u64,
}

impl Conflict {
    fn new(one: impl Into<String>, first: u64, other: impl Into<String>, row: u64) -> Self {
        // The error is located at the later one.
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
        error.advising("use {on_mismatch} null or json")
    }
}

/// Finds a conflict among classes in the order of first occurrence.
fn find_conflict(classes: &[ClassProfile], profile: &ColumnProfile) -> Option<Conflict> {
    let is_number = |entry: &ClassProfile| matches!(entry.class, Class::Integer | Class::Float);
    if let Some(beyond) = classes.iter().find(|entry| matches!(entry.class, Class::Number | Class::Other)) {
        return Some(match classes.iter().find(|other| other.class != beyond.class) {
            Some(other) => Conflict::new(other.class.name(), other.row, beyond.class.name(), beyond.row),
            None => Conflict::alone(beyond.class.name(), beyond.row),
        });
    }
    let first = classes.first()?;
    if let Some(other) =
        classes.iter().find(|other| other.class != first.class && !(is_number(first) && is_number(other)))
    {
        return Some(Conflict::new(first.class.name(), first.row, other.class.name(), other.row));
    }
    match (first.class, classes.get(1)) {
        (Class::Integer | Class::Float, Some(_)) => {
            let float = classes.iter().find(|entry| entry.class == Class::Float)?.row;
            let large = "an integer that Float64 cannot hold exactly";
            profile.first_inexact.map(|row| Conflict::new("a float", float, large, row))
        }
        (Class::Integer, None) if profile.min_integer < 0 && i64::try_from(profile.max_integer).is_err() => {
            let (min, max) = (profile.min_integer, profile.max_integer);
            let (min, max) = (format!("the integer {min}"), format!("the integer {max}"));
            Some(Conflict::new(min, profile.min_row, max, profile.max_row))
        }
        (Class::Tensor, _) => {
            let mut elements = profile.tensor.as_deref()?.elements.clone();
            elements.sort_by_key(|(element, _, row)| (*row, *element));
            let [(one, _, first), (other, _, row), ..] = elements.as_slice() else { return None };
            Some(Conflict::new(format!("a tensor of {one:?}"), *first, format!("a tensor of {other:?}"), *row))
        }
        _ => None,
    }
}

/// The field of compatible classes.
fn compatible_field(
    name: &str,
    path: &mut String,
    classes: &[ClassProfile],
    profile: &ColumnProfile,
    mapping: &Mapping,
) -> Result<Field> {
    let plain = |data_type| Ok(Field::new(name, data_type, true));
    let has = |class| classes.iter().any(|entry| entry.class == class);
    let Some(first) = classes.first() else { return plain(DataType::Null) };
    plain(match first.class {
        Class::Null | Class::Other => DataType::Null,
        Class::Bool => DataType::Boolean,
        Class::Integer | Class::Float | Class::Number => match (has(Class::Integer), has(Class::Float)) {
            (true, false) if profile.min_integer >= 0 && i64::try_from(profile.max_integer).is_err() => {
                DataType::UInt64
            }
            (true, false) => DataType::Int64,
            (false, true) if profile.float_bits == 16 => DataType::Float16,
            (false, true) if profile.float_bits == 32 => DataType::Float32,
            _ => DataType::Float64,
        },
        Class::Text if profile.longest > LARGE_VALUE_LEN => DataType::LargeUtf8,
        Class::Text => DataType::Utf8,
        Class::Bytes if profile.longest > LARGE_VALUE_LEN => DataType::LargeBinary,
        Class::Bytes => DataType::Binary,
        Class::List => {
            let nothing = ColumnProfile::default();
            let list = profile.list.as_deref();
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
            let members = profile.object.iter().flat_map(|members| members.sorted());
            let length = path.len();
            let mut fields = Vec::new();
            for member in members {
                path.push('.');
                path.push_str(shown(&member.name));
                fields.push(field(&member.name, path, &member.profile, profile.count(Class::Object), mapping)?);
                path.truncate(length);
            }
            match (fields.is_empty(), mapping.on_mismatch) {
                (false, _) => DataType::Struct(fields.into()),
                (true, OnMismatch::Msgpack) => return Ok(msgpack(name, 0)),
                (true, _) => return Ok(json(name, 0)),
            }
        }
        Class::Tensor => match profile.tensor.as_deref() {
            Some(tensors) => return Ok(tensor(name, tensors, !mapping.narrow)),
            None => DataType::Null,
        },
    })
}

/// A field of JSON text.
fn json(name: &str, longest: u64) -> Field {
    let text = if longest > LARGE_VALUE_LEN { DataType::LargeUtf8 } else { DataType::Utf8 };
    extended(Field::new(name, text, true), JSON, String::new())
}

fn msgpack(name: &str, longest: u64) -> Field {
    let bytes = if longest > LARGE_VALUE_LEN { DataType::LargeBinary } else { DataType::Binary };
    Field::new(name, bytes, true).with_metadata(HashMap::from([(ENCODING.to_owned(), "msgpack".to_owned())]))
}

fn extended(field: Field, extension: &str, metadata: String) -> Field {
    field.with_metadata(HashMap::from([
        (EXTENSION_TYPE_NAME_KEY.to_owned(), extension.to_owned()),
        (EXTENSION_TYPE_METADATA_KEY.to_owned(), metadata),
    ]))
}

fn tensor(name: &str, profile: &TensorProfile, nullable: bool) -> Field {
    let most_frequent = profile.elements.iter().max_by_key(|(element, count, _)| (*count, std::cmp::Reverse(*element)));
    let element = most_frequent.map_or(DataType::Null, |(element, ..)| element.data_type());
    let element: FieldRef = Arc::new(Field::new(Field::LIST_FIELD_DEFAULT_NAME, element, nullable));
    let size = |shape: &Vec<u64>| {
        let size = shape.iter().try_fold(1_u64, |size, length| size.checked_mul(*length))?;
        i32::try_from(size).ok().filter(|size| *size > 0)
    };
    if let Some((shape, size)) = profile.shape.as_ref().and_then(|shape| Some((shape, size(shape)?))) {
        let field = Field::new(name, DataType::FixedSizeList(element, size), true);
        return extended(field, "arrow.fixed_shape_tensor", serde_json::json!({ "shape": shape }).to_string());
    }
    if profile.dimensions == Some(1) {
        return Field::new(name, DataType::List(element), true);
    }
    let dimensions = profile.dimensions.and_then(|dimensions| i32::try_from(dimensions).ok()).filter(|some| *some > 0);
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
    /// The Arrow type.
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
