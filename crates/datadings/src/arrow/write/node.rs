//! Columns of a batch in the form in which they are written.

use std::fmt::Write;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, GenericStringArray, LargeBinaryArray,
    LargeStringArray, OffsetSizeTrait, StringArray, StringViewArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{DataType, Field, TimeUnit};
use container_arrow::ENCODING;
use container_core::{Error, Limits, Loss, Position, Result};

use super::super::numpy_type::{NumpyType, Style, time_unit};
use super::arrays::{Arrays, TensorMetadata, scalar_header};
use super::numbers::{Number, Numbers};
use super::put_text;
use super::spans::{Spans, list};
use crate::numpy::{Kind as DtypeKind, Primitive};

/// A column, or a part of a nested one.
#[derive(Debug)]
pub(super) struct Node<'a> {
    pub(super) nulls: Option<&'a NullBuffer>,
    pub(super) kind: Kind<'a>,
    /// The path in errors, such as `a.b[]`.
    pub(super) path: Box<str>,
}

#[derive(Debug)]
pub(super) enum Kind<'a> {
    Null,
    Numbers(Numbers<'a>),
    /// Written as numpy scalars, with the encoded part before the bytes of each.
    Scalars(Numbers<'a>, NumpyType, Vec<u8>),
    /// Written as ISO 8601.
    Times(Numbers<'a>, &'a DataType),
    Texts(Texts<'a>),
    Json(Texts<'a>),
    Bytes(Bytes<'a>),
    Msgpack(Bytes<'a>),
    Decimals(&'a dyn Array),
    List(Spans<'a>, Box<Node<'a>>),
    Arrays(Arrays<'a>),
    /// With the encoded names of members.
    Struct(Vec<(Vec<u8>, Node<'a>)>),
    Map(Spans<'a>, Box<[Node<'a>; 2]>),
    Dictionary(Vec<usize>, Box<Node<'a>>),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Texts<'a> {
    Small(&'a StringArray),
    Large(&'a LargeStringArray),
    View(&'a StringViewArray),
}

impl<'a> Texts<'a> {
    fn of(array: &'a dyn Array) -> Option<Self> {
        let small = array.as_string_opt().map(Self::Small);
        small.or_else(|| array.as_string_opt().map(Self::Large)).or_else(|| array.as_string_view_opt().map(Self::View))
    }

    /// `at` must be below the length of the column.
    #[inline]
    pub(super) fn get(&self, at: usize) -> &'a str {
        match self {
            Self::Small(array) => array.value(at),
            Self::Large(array) => array.value(at),
            Self::View(array) => array.value(at),
        }
    }

    /// Whether these are at most `max` texts, all of valid UTF-8: those of another library need not be.
    fn are_utf8(&self, max: usize) -> bool {
        fn in_buffer<O: OffsetSizeTrait>(array: &GenericStringArray<O>) -> bool {
            let [Some(start), Some(end)] = [array.value_offsets().first(), array.value_offsets().last()] else {
                return true;
            };
            array.value_data().get(start.as_usize()..end.as_usize()).is_some_and(<[u8]>::is_ascii)
        }
        let (len, is_ascii) = match self {
            Self::Small(array) => (array.len(), in_buffer(array)),
            Self::Large(array) => (array.len(), in_buffer(array)),
            Self::View(array) => (array.len(), false),
        };
        len <= max && (is_ascii || (0..len).all(|at| std::str::from_utf8(self.get(at).as_bytes()).is_ok()))
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Bytes<'a> {
    Small(&'a BinaryArray),
    Large(&'a LargeBinaryArray),
    View(&'a BinaryViewArray),
    Fixed(&'a FixedSizeBinaryArray),
}

impl<'a> Bytes<'a> {
    fn of(array: &'a dyn Array) -> Option<Self> {
        let small = array.as_binary_opt().map(Self::Small);
        small
            .or_else(|| array.as_binary_opt().map(Self::Large))
            .or_else(|| array.as_binary_view_opt().map(Self::View))
            .or_else(|| array.as_fixed_size_binary_opt().map(Self::Fixed))
    }

    /// `at` must be below the length of the column.
    #[inline]
    pub(super) fn get(&self, at: usize) -> &'a [u8] {
        match self {
            Self::Small(array) => array.value(at),
            Self::Large(array) => array.value(at),
            Self::View(array) => array.value(at),
            Self::Fixed(array) => array.value(at),
        }
    }
}

impl<'a> Node<'a> {
    /// # Errors
    /// [`Unsupported`](container_core::ErrorKind::Unsupported) for an unsupported type.
    pub(super) fn new(field: &'a Field, array: &'a ArrayRef) -> Result<Self> {
        Self::new_at(field, array, field.name(), Limits::default().depth)
    }

    fn new_at(field: &'a Field, array: &'a ArrayRef, path: &str, depth: u32) -> Result<Self> {
        let Some(depth) = depth.checked_sub(1) else {
            let limit = Limits::default().depth.into();
            return Err(Error::limit("column nesting depth", limit + 1, limit));
        };
        let kind = match Kind::plain(field, array) {
            Some(kind) => kind,
            None => Kind::nested(field, array, path, depth).map_err(|error| error.in_column(path.to_owned()))?,
        };
        Ok(Self { nulls: array.nulls().filter(|nulls| nulls.null_count() > 0), kind, path: path.into() })
    }

    #[inline]
    pub(super) fn is_null(&self, at: usize) -> bool {
        self.nulls.is_some_and(|nulls| nulls.is_null(at))
    }

    /// Appends the text of a string or an integer; false for other values, and for a null.
    pub(super) fn key(&self, at: usize, text: &mut String) -> bool {
        if self.is_null(at) {
            return false;
        }
        match &self.kind {
            Kind::Texts(texts) => {
                text.push_str(texts.get(at));
                true
            }
            Kind::Numbers(numbers) | Kind::Scalars(numbers, ..) => match numbers.get(at) {
                Some(Number::Signed(value)) => write!(text, "{value}").is_ok(),
                Some(Number::Unsigned(value)) => write!(text, "{value}").is_ok(),
                _ => false,
            },
            Kind::Dictionary(keys, values) => keys.get(at).is_some_and(|key| values.key(*key, text)),
            _ => false,
        }
    }

    /// The maximum nesting depth of the encoded values; `None` if they must be checked: their depth depends on their bytes, or texts may
    /// not be valid UTF-8. More texts than `max_texts` are not examined.
    pub(super) fn depth(&self, max_texts: usize) -> Option<u32> {
        match &self.kind {
            Kind::Null | Kind::Numbers(_) | Kind::Times(..) | Kind::Bytes(_) | Kind::Decimals(_) => Some(0),
            Kind::Scalars(..) | Kind::Arrays(_) => Some(2),
            Kind::Texts(texts) => texts.are_utf8(max_texts).then_some(0),
            Kind::Json(_) | Kind::Msgpack(_) => None,
            Kind::List(_, element) => depth_around([&**element], max_texts),
            Kind::Struct(members) => depth_around(members.iter().map(|(_, member)| member), max_texts),
            Kind::Map(_, parts) => depth_around(&**parts, max_texts),
            Kind::Dictionary(_, values) => values.depth(max_texts),
        }
    }
}

/// The [depth](Node::depth) of an array or a map of these members.
pub(super) fn depth_around<'n, 'a: 'n>(
    members: impl IntoIterator<Item = &'n Node<'a>>,
    max_texts: usize,
) -> Option<u32> {
    members.into_iter().try_fold(1, |deepest: u32, member| Some(deepest.max(1 + member.depth(max_texts)?)))
}

impl<'a> Kind<'a> {
    /// A column without children.
    fn plain(field: &'a Field, array: &'a ArrayRef) -> Option<Self> {
        let is = |key: &str, value: &str| field.metadata().get(key).is_some_and(|own| own == value);
        let data_type = array.data_type();
        if matches!(data_type, DataType::Null) {
            return Some(Self::Null);
        }
        if data_type.is_decimal() {
            return Some(Self::Decimals(array.as_ref()));
        }
        if let Some(numbers) = Numbers::of(array.as_ref()) {
            let numpy_type = NumpyType::read(field)
                .filter(|numpy_type| accepts(*numpy_type, data_type))
                .or_else(|| default_numpy_type(data_type));
            return Some(match numpy_type {
                Some(numpy_type) => Self::Scalars(numbers, numpy_type, scalar_header(numpy_type)),
                None if data_type.is_temporal() => Self::Times(numbers, data_type),
                None => Self::Numbers(numbers),
            });
        }
        if let Some(texts) = Texts::of(array.as_ref()) {
            return Some(if is(EXTENSION_TYPE_NAME_KEY, "arrow.json") {
                Self::Json(texts)
            } else {
                Self::Texts(texts)
            });
        }
        let bytes = Bytes::of(array.as_ref())?;
        Some(if is(ENCODING, "msgpack") { Self::Msgpack(bytes) } else { Self::Bytes(bytes) })
    }

    fn nested(field: &'a Field, array: &'a ArrayRef, path: &str, depth: u32) -> Result<Self> {
        if let Some(arrays) = Arrays::of(field, array)? {
            return Ok(Self::Arrays(arrays));
        }
        let unsupported = || Error::unsupported(format!("cannot write a column of type {}", array.data_type()));
        match array.data_type() {
            DataType::List(element) | DataType::LargeList(element) | DataType::FixedSizeList(element, _) => {
                let (spans, values) = list(array.as_ref()).ok_or_else(unsupported)?;
                Ok(Self::List(spans, Box::new(Node::new_at(element, values, &format!("{path}[]"), depth)?)))
            }
            DataType::Struct(fields) => {
                let columns = array.as_struct_opt().ok_or_else(unsupported)?.columns();
                if is_like_numpy(fields.iter().map(|field| field.name().as_str())) {
                    let what = "cannot write a struct with these members: it would be read as a numpy value";
                    return Err(Error::unsupported(what));
                }
                let members = fields.iter().zip(columns).map(|(field, column)| {
                    let mut name = Vec::new();
                    put_text(&mut name, field.name())?;
                    Ok((name, Node::new_at(field, column, &format!("{path}.{}", field.name()), depth)?))
                });
                Ok(Self::Struct(members.collect::<Result<_>>()?))
            }
            DataType::Map(entries, _) => {
                let map = array.as_map_opt().ok_or_else(unsupported)?;
                let DataType::Struct(fields) = entries.data_type() else { return Err(unsupported()) };
                let [keys, values] = fields.as_ref() else { return Err(unsupported()) };
                let keys = Node::new_at(keys, map.keys(), &format!("{path}{{}}"), depth)?;
                let values = Node::new_at(values, map.values(), &format!("{path}{{}}"), depth)?;
                Ok(Self::Map(Spans::Small(map.offsets()), Box::new([keys, values])))
            }
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary_opt().ok_or_else(unsupported)?;
                if dictionary.values().is_empty() {
                    // All rows are null; still reject unsupported value types.
                    Node::new_at(field, dictionary.values(), path, depth)?;
                    return Ok(Self::Null);
                }
                let values = Node::new_at(field, dictionary.values(), path, depth)?;
                Ok(Self::Dictionary(dictionary.normalized_keys(), Box::new(values)))
            }
            _ => Err(unsupported()),
        }
    }
}

/// Whether a map with these keys could be decoded as a numpy value.
fn is_like_numpy<'n>(names: impl Iterator<Item = &'n str> + Clone) -> bool {
    let all = names.clone().all(|name| matches!(name, "nd" | "complex" | "type" | "kind" | "shape" | "data"));
    all && names.clone().any(|name| matches!(name, "nd" | "complex"))
}

/// Whether numbers of an Arrow type can be written as scalars of a numpy type.
fn accepts(numpy_type: NumpyType, data_type: &DataType) -> bool {
    if numpy_type.style == Style::Array {
        return false;
    }
    let unit = numpy_type.of.unit().filter(|unit| unit.count == 1).and_then(|unit| time_unit(unit.name));
    match (numpy_type.of.kind(), numpy_type.of.size(), data_type) {
        (DtypeKind::Bool, _, DataType::Boolean)
        | (DtypeKind::Float, 2, DataType::Float16)
        | (DtypeKind::Float, 4, DataType::Float32)
        | (DtypeKind::Float, 8, DataType::Float64)
        | (DtypeKind::Datetime | DtypeKind::Timedelta, _, DataType::Int64) => true,
        (DtypeKind::Int | DtypeKind::Uint, _, data_type) => data_type.is_integer(),
        (DtypeKind::Datetime, _, DataType::Timestamp(own, None))
        | (DtypeKind::Timedelta, _, DataType::Duration(own)) => unit == Some(*own),
        _ => false,
    }
}

/// The numpy type of Arrow types that msgpack itself cannot represent.
fn default_numpy_type(data_type: &DataType) -> Option<NumpyType> {
    let dtype = match data_type {
        DataType::Float16 => "<f2",
        DataType::Duration(TimeUnit::Second) => "<m8[s]",
        DataType::Duration(TimeUnit::Millisecond) => "<m8[ms]",
        DataType::Duration(TimeUnit::Microsecond) => "<m8[us]",
        DataType::Duration(TimeUnit::Nanosecond) => "<m8[ns]",
        _ => return None,
    };
    Primitive::parse(dtype).map(|of| NumpyType { style: Style::Scalar, of })
}

/// Adds the losses of a column that do not depend on its values.
pub(super) fn report_losses(field: &Field, losses: &mut Vec<Loss>) {
    if TensorMetadata::read(field).is_some_and(|metadata| metadata.has_names) {
        losses.push(Loss::new("dimension names dropped", 1, Position::of_column(field.name().clone())));
    }
}
