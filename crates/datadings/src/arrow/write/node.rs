//! Columns of a batch, as what is written of them.

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, LargeBinaryArray, LargeStringArray,
    StringArray, StringViewArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{DataType, Field, TimeUnit};
use container_arrow::ENCODING;
use container_core::{Error, Limits, Loss, Position, Result};

use super::super::mark::{Mark, Style, time_unit};
use super::arrays::{Arrays, Said, scalar_head};
use super::numbers::{Number, Numbers};
use super::put_text;
use super::spans::{Spans, list};
use crate::numpy::{Kind as DtypeKind, Primitive};

/// A column, or what is in one.
#[derive(Debug)]
pub(super) struct Node<'a> {
    pub(super) nulls: Option<&'a NullBuffer>,
    pub(super) kind: Kind<'a>,
    /// As errors tell it, such as `a.b[]`.
    pub(super) path: Box<str>,
}

#[derive(Debug)]
pub(super) enum Kind<'a> {
    Null,
    Numbers(Numbers<'a>),
    /// Written as scalars of numpy; what comes in front of the bytes of each is encoded.
    Scalars(Numbers<'a>, Mark, Vec<u8>),
    /// Written as ISO 8601.
    Times(Numbers<'a>, &'a DataType),
    Texts(Texts<'a>),
    Json(Texts<'a>),
    Bytes(Bytes<'a>),
    Msgpack(Bytes<'a>),
    Decimals(&'a dyn Array),
    List(Spans<'a>, Box<Node<'a>>),
    Arrays(Arrays<'a>),
    /// With the names of members, encoded.
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

    /// `at` is below the length of the column.
    #[inline]
    pub(super) fn get(&self, at: usize) -> &'a str {
        match self {
            Self::Small(array) => array.value(at),
            Self::Large(array) => array.value(at),
            Self::View(array) => array.value(at),
        }
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

    /// `at` is below the length of the column.
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
    /// [`Unsupported`](container_core::ErrorKind::Unsupported) for a type that is not written.
    pub(super) fn new(field: &'a Field, array: &'a ArrayRef) -> Result<Self> {
        Self::inner(field, array, field.name(), Limits::default().depth)
    }

    fn inner(field: &'a Field, array: &'a ArrayRef, path: &str, depth: u32) -> Result<Self> {
        let Some(depth) = depth.checked_sub(1) else {
            let limit = Limits::default().depth.into();
            return Err(Error::limit("the nesting of columns", limit + 1, limit));
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

    /// The text of a text or of an integer.
    pub(super) fn key(&self, at: usize) -> Option<String> {
        if self.is_null(at) {
            return None;
        }
        match &self.kind {
            Kind::Texts(texts) => Some(texts.get(at).to_owned()),
            Kind::Numbers(numbers) | Kind::Scalars(numbers, ..) => match numbers.get(at)? {
                Number::Signed(value) => Some(value.to_string()),
                Number::Unsigned(value) => Some(value.to_string()),
                _ => None,
            },
            Kind::Dictionary(keys, values) => values.key(*keys.get(at)?),
            _ => None,
        }
    }
}

impl<'a> Kind<'a> {
    /// What has nothing in it.
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
            let mark = Mark::read(field).filter(|mark| is_of(*mark, data_type)).or_else(|| own_mark(data_type));
            return Some(match mark {
                Some(mark) => Self::Scalars(numbers, mark, scalar_head(mark)),
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
        let unsupported = || Error::unsupported(format!("a column of type {} is not written", array.data_type()));
        match array.data_type() {
            DataType::List(element) | DataType::LargeList(element) | DataType::FixedSizeList(element, _) => {
                let (spans, values) = list(array.as_ref()).ok_or_else(unsupported)?;
                Ok(Self::List(spans, Box::new(Node::inner(element, values, &format!("{path}[]"), depth)?)))
            }
            DataType::Struct(fields) => {
                let columns = array.as_struct_opt().ok_or_else(unsupported)?.columns();
                if is_like_numpy(fields.iter().map(|field| field.name().as_str())) {
                    let what = "a struct with these members would be read as a value of numpy, and is not written";
                    return Err(Error::unsupported(what));
                }
                let members = fields.iter().zip(columns).map(|(field, column)| {
                    let mut name = Vec::new();
                    put_text(&mut name, field.name())?;
                    Ok((name, Node::inner(field, column, &format!("{path}.{}", field.name()), depth)?))
                });
                Ok(Self::Struct(members.collect::<Result<_>>()?))
            }
            DataType::Map(entries, _) => {
                let map = array.as_map_opt().ok_or_else(unsupported)?;
                let DataType::Struct(fields) = entries.data_type() else { return Err(unsupported()) };
                let [keys, values] = fields.as_ref() else { return Err(unsupported()) };
                let keys = Node::inner(keys, map.keys(), &format!("{path}{{}}"), depth)?;
                let values = Node::inner(values, map.values(), &format!("{path}{{}}"), depth)?;
                Ok(Self::Map(Spans::Small(map.offsets()), Box::new([keys, values])))
            }
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary_opt().ok_or_else(unsupported)?;
                if dictionary.values().is_empty() {
                    // All are null then. What the values would be is looked at.
                    Node::inner(field, dictionary.values(), path, depth)?;
                    return Ok(Self::Null);
                }
                let values = Node::inner(field, dictionary.values(), path, depth)?;
                Ok(Self::Dictionary(dictionary.normalized_keys(), Box::new(values)))
            }
            _ => Err(unsupported()),
        }
    }
}

/// Would a map of these names be taken for a value of numpy?
fn is_like_numpy<'n>(names: impl Iterator<Item = &'n str> + Clone) -> bool {
    let all = names.clone().all(|name| matches!(name, "nd" | "complex" | "type" | "kind" | "shape" | "data"));
    all && names.clone().any(|name| matches!(name, "nd" | "complex"))
}

/// Can numbers of this type be scalars of a mark?
fn is_of(mark: Mark, data_type: &DataType) -> bool {
    if mark.style == Style::Array {
        return false;
    }
    let unit = mark.of.unit().filter(|unit| unit.count == 1).and_then(|unit| time_unit(unit.name));
    match (mark.of.kind(), mark.of.size(), data_type) {
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

/// What has no form in msgpack but one in numpy.
fn own_mark(data_type: &DataType) -> Option<Mark> {
    let dtype = match data_type {
        DataType::Float16 => "<f2",
        DataType::Duration(TimeUnit::Second) => "<m8[s]",
        DataType::Duration(TimeUnit::Millisecond) => "<m8[ms]",
        DataType::Duration(TimeUnit::Microsecond) => "<m8[us]",
        DataType::Duration(TimeUnit::Nanosecond) => "<m8[ns]",
        _ => return None,
    };
    Primitive::parse(dtype).map(|of| Mark { style: Style::Scalar, of })
}

/// What is lost of a column whatever is in it.
pub(super) fn told(field: &Field, losses: &mut Vec<Loss>) {
    if Said::read(field).is_some_and(|said| said.has_names) {
        let mut first = Position::default();
        first.column = Some(field.name().clone().into());
        losses.push(Loss::new("names of dimensions left out", 1, first));
    }
}
