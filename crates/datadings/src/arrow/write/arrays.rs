//! Lists and tensors that become arrays of numpy.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{DataType, Field};
use container_core::{Error, Result};
use serde_json::Value as Json;

use super::super::mark::{Mark, Style};
use super::super::value::element;
use super::numbers::{Number, Numbers};
use super::spans::{Spans, list};
use crate::numpy::{ByteOrder, Kind, Primitive};
use crate::wire::emit::put_bin_header;
use crate::wire::{put_array_header, put_bin, put_bool, put_map_header, put_str, put_uint};

const FIXED: &str = "arrow.fixed_shape_tensor";
const VARIABLE: &str = "arrow.variable_shape_tensor";

/// What the metadata of a tensor says.
#[derive(Debug, Default)]
pub(super) struct Said {
    shape: Option<Vec<u64>>,
    is_permuted: bool,
    pub(super) has_names: bool,
    is_fixed: bool,
}

impl Said {
    /// `None` for a field that is no tensor.
    pub(super) fn read(field: &Field) -> Option<Self> {
        let name =
            field.metadata().get(EXTENSION_TYPE_NAME_KEY).filter(|name| [FIXED, VARIABLE].contains(&name.as_str()))?;
        let text = field.metadata().get(EXTENSION_TYPE_METADATA_KEY).map_or("", String::as_str);
        let json: Json = serde_json::from_str(text).unwrap_or_default();
        let shape = json.get("shape").and_then(Json::as_array).and_then(|all| all.iter().map(Json::as_u64).collect());
        let permutation = json.get("permutation").and_then(Json::as_array);
        let is_permuted =
            permutation.is_some_and(|places| !places.iter().map(Json::as_u64).eq((0..).map(Some).take(places.len())));
        let has_names = json.get("dim_names").is_some_and(Json::is_array);
        Some(Self { shape, is_permuted, has_names, is_fixed: name == FIXED })
    }
}

/// Arrays of numbers, one a row.
#[derive(Debug)]
pub(super) struct Arrays<'a> {
    spans: Spans<'a>,
    numbers: Numbers<'a>,
    nulls: Option<&'a NullBuffer>,
    of: Primitive,
    /// What comes in front of the shape, encoded.
    head: Vec<u8>,
    shape: Shape<'a>,
}

#[derive(Debug)]
enum Shape<'a> {
    /// The same for all, encoded.
    Same(Vec<u8>),
    /// The length of the list.
    Length,
    /// Lengths that stand beside.
    Listed(Spans<'a>, Numbers<'a>, Option<&'a NullBuffer>),
}

/// The type of numpy that numbers of a type have.
fn primitive(data_type: &DataType) -> Option<Primitive> {
    let (kind, size) = match data_type {
        DataType::Boolean => (Kind::Bool, 1),
        DataType::Int8 => (Kind::Int, 1),
        DataType::Int16 => (Kind::Int, 2),
        DataType::Int32 => (Kind::Int, 4),
        DataType::Int64 => (Kind::Int, 8),
        DataType::UInt8 => (Kind::Uint, 1),
        DataType::UInt16 => (Kind::Uint, 2),
        DataType::UInt32 => (Kind::Uint, 4),
        DataType::UInt64 => (Kind::Uint, 8),
        DataType::Float16 => (Kind::Float, 2),
        DataType::Float32 => (Kind::Float, 4),
        DataType::Float64 => (Kind::Float, 8),
        _ => return None,
    };
    Some(Primitive::of(kind, size, ByteOrder::Little))
}

impl<'a> Arrays<'a> {
    /// `None` for a column that is none of arrays.
    ///
    /// # Errors
    /// [`Unsupported`](container_core::ErrorKind::Unsupported) for a tensor whose dimensions are permuted;
    /// [`Invalid`](container_core::ErrorKind::Invalid) for a shape that its size contradicts.
    pub(super) fn of(field: &Field, array: &'a ArrayRef) -> Result<Option<Self>> {
        let said = Said::read(field);
        let mark = Mark::read(field).filter(|mark| mark.style == Style::Array);
        if said.is_none() && mark.is_none() {
            return Ok(None);
        }
        if said.as_ref().is_some_and(|said| said.is_permuted) {
            return Err(Error::unsupported("a tensor whose dimensions are permuted is not written"));
        }
        let (data, shape) = match array.data_type() {
            DataType::Struct(_) => {
                let parts = array.as_struct();
                let (Some(data), Some(shape)) = (parts.column_by_name("data"), parts.column_by_name("shape")) else {
                    return Ok(None);
                };
                let Some((spans, lengths)) = list(shape.as_ref()) else { return Ok(None) };
                let Some(numbers) = Numbers::of(lengths.as_ref()).filter(|_| lengths.data_type().is_integer()) else {
                    return Ok(None);
                };
                (data, Shape::Listed(spans, numbers, lengths.nulls()))
            }
            DataType::FixedSizeList(_, size) => match said.filter(|said| said.is_fixed) {
                None => (array, Shape::Length),
                Some(said) => {
                    let shape = said
                        .shape
                        .ok_or_else(|| Error::invalid(format!("the metadata of its {FIXED} names no shape")))?;
                    let product = shape.iter().try_fold(1_u64, |product, length| product.checked_mul(*length));
                    if product != u64::try_from(*size).ok() {
                        let what = format!(
                            "the metadata of its {FIXED} names the shape {shape:?}, of other than {size} elements"
                        );
                        return Err(Error::invalid(what));
                    }
                    let mut encoded = Vec::new();
                    put_array_header(&mut encoded, u32::try_from(shape.len()).unwrap_or(u32::MAX)); // their product is an i32
                    shape.iter().for_each(|length| put_uint(&mut encoded, *length));
                    (array, Shape::Same(encoded))
                }
            },
            _ => (array, Shape::Length),
        };
        let Some((spans, elements)) = list(data.as_ref()) else { return Ok(None) };
        let same = |of: &Primitive| element(*of).is_some_and(|element| element.data_type() == *elements.data_type());
        let Some(of) = mark.map(|mark| mark.of).filter(same).or_else(|| primitive(elements.data_type())) else {
            return Ok(None);
        };
        let Some(numbers) = Numbers::of(elements.as_ref()) else { return Ok(None) };
        let nulls = elements.nulls().filter(|nulls| nulls.null_count() > 0);
        Ok(Some(Self { spans, numbers, nulls, of, head: array_head(of), shape }))
    }

    pub(super) fn emit(&self, at: usize, out: &mut Vec<u8>) -> Result<()> {
        let range = self.spans.range(at);
        if let Some(nulls) = self.nulls
            && nulls.slice(range.start, range.len()).null_count() > 0
        {
            return Err(Error::invalid("an element is null, which arrays of numpy do not have"));
        }
        out.extend_from_slice(&self.head);
        match &self.shape {
            Shape::Same(encoded) => out.extend_from_slice(encoded),
            Shape::Length => {
                put_array_header(out, 1);
                put_uint(out, range.len() as u64);
            }
            Shape::Listed(spans, lengths, nulls) => {
                let places = spans.range(at);
                put_array_header(out, u32::try_from(places.len()).unwrap_or(u32::MAX)); // a message would be too long
                let mut product = Some(1_u64);
                for place in places {
                    let length = match lengths.get(place) {
                        Some(Number::Unsigned(length)) => Some(length),
                        Some(Number::Signed(length)) => u64::try_from(length).ok(),
                        _ => None,
                    };
                    let length = length.filter(|_| nulls.is_none_or(|nulls| nulls.is_valid(place)));
                    let length = length
                        .ok_or_else(|| Error::invalid("a length in the shape of a tensor is null or negative"))?;
                    product = product.and_then(|product| product.checked_mul(length));
                    put_uint(out, length);
                }
                if product != Some(range.len() as u64) {
                    let what = format!("a tensor has {} elements, which is not what its shape says", range.len());
                    return Err(Error::invalid(what));
                }
            }
        }
        name(out, b"data");
        let bytes = range.len().saturating_mul(self.numbers.width());
        let bytes =
            u32::try_from(bytes).map_err(|_| Error::limit("the bytes of an array", bytes as u64, u32::MAX.into()))?;
        put_bin_header(out, bytes);
        self.numbers.put(range, self.of.order() == ByteOrder::Big, out);
        Ok(())
    }
}

fn name(out: &mut Vec<u8>, name: &[u8]) {
    let _ = put_bin(out, name); // a few bytes are never too long
}

/// What comes in front of the shape of an array.
fn array_head(of: Primitive) -> Vec<u8> {
    let mut head = Vec::new();
    put_map_header(&mut head, 5);
    name(&mut head, b"nd");
    put_bool(&mut head, true);
    name(&mut head, b"type");
    let _ = put_str(&mut head, &of.to_string()); // the same
    name(&mut head, b"kind");
    name(&mut head, b"");
    name(&mut head, b"shape");
    head
}

/// What comes in front of the bytes of a scalar, or of an array without dimensions.
pub(super) fn scalar_head(mark: Mark) -> Vec<u8> {
    let mut head = Vec::new();
    if mark.style == Style::Scalar {
        put_map_header(&mut head, 3);
        name(&mut head, b"nd");
        put_bool(&mut head, false);
        name(&mut head, b"type");
        let _ = put_str(&mut head, &mark.of.to_string()); // the same
    } else {
        head = array_head(mark.of);
        put_array_header(&mut head, 0);
    }
    name(&mut head, b"data");
    head
}
