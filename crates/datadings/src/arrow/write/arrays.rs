//! Encodes lists and tensors as numpy arrays.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{DataType, Field};
use container_core::{Error, Result};
use serde_json::Value as Json;

use super::super::numpy_type::{NumpyType, Style};
use super::super::value::element;
use super::numbers::{Number, Numbers};
use super::spans::{Spans, list};
use crate::numpy::{ByteOrder, Kind, Primitive};
use crate::wire::emit::put_bin_header;
use crate::wire::{put_array_header, put_bin, put_bool, put_map_header, put_str, put_uint};

const FIXED: &str = "arrow.fixed_shape_tensor";
const VARIABLE: &str = "arrow.variable_shape_tensor";

/// The metadata of a tensor extension type.
#[derive(Debug, Default)]
pub(super) struct TensorMetadata {
    shape: Option<Vec<u64>>,
    is_permuted: bool,
    pub(super) has_names: bool,
    is_fixed: bool,
}

impl TensorMetadata {
    /// `None` for a field that is not a tensor.
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

/// Arrays of numbers, one per row.
#[derive(Debug)]
pub(super) struct Arrays<'a> {
    spans: Spans<'a>,
    numbers: Numbers<'a>,
    nulls: Option<&'a NullBuffer>,
    of: Primitive,
    /// The encoded part before the shape.
    header: Vec<u8>,
    shape: Shape<'a>,
}

#[derive(Debug)]
enum Shape<'a> {
    /// The same for all rows, encoded.
    Same(Vec<u8>),
    /// The length of the list.
    Length,
    /// Stored in a column of its own.
    Listed(Spans<'a>, Numbers<'a>, Option<&'a NullBuffer>),
}

/// The numpy dtype of numbers of an Arrow type.
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
    /// `None` for a column that is not written as arrays.
    ///
    /// # Errors
    /// [`Unsupported`](container_core::ErrorKind::Unsupported) for a tensor with permuted dimensions;
    /// [`Invalid`](container_core::ErrorKind::Invalid) for a shape that does not match the list size.
    pub(super) fn of(field: &Field, array: &'a ArrayRef) -> Result<Option<Self>> {
        let metadata = TensorMetadata::read(field);
        let numpy_type = NumpyType::read(field).filter(|numpy_type| numpy_type.style == Style::Array);
        if metadata.is_none() && numpy_type.is_none() {
            return Ok(None);
        }
        if metadata.as_ref().is_some_and(|metadata| metadata.is_permuted) {
            return Err(Error::unsupported("cannot write a tensor with permuted dimensions"));
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
            DataType::FixedSizeList(_, size) => match metadata.filter(|metadata| metadata.is_fixed) {
                None => (array, Shape::Length),
                Some(metadata) => {
                    let shape =
                        metadata.shape.ok_or_else(|| Error::invalid(format!("{FIXED} metadata: missing shape")))?;
                    let product = shape.iter().try_fold(1_u64, |product, length| product.checked_mul(*length));
                    if product != u64::try_from(*size).ok() {
                        let what = format!("{FIXED} metadata: shape {shape:?} does not have {size} elements");
                        return Err(Error::invalid(what));
                    }
                    let mut encoded = Vec::new();
                    put_array_header(&mut encoded, u32::try_from(shape.len()).unwrap_or(u32::MAX)); // fits: the product is an i32
                    shape.iter().for_each(|length| put_uint(&mut encoded, *length));
                    (array, Shape::Same(encoded))
                }
            },
            _ => (array, Shape::Length),
        };
        let Some((spans, elements)) = list(data.as_ref()) else { return Ok(None) };
        let same = |of: &Primitive| element(*of).is_some_and(|element| element.data_type() == *elements.data_type());
        let numpy_type = numpy_type.map(|numpy_type| numpy_type.of).filter(same);
        let Some(of) = numpy_type.or_else(|| primitive(elements.data_type())) else {
            return Ok(None);
        };
        let Some(numbers) = Numbers::of(elements.as_ref()) else { return Ok(None) };
        let nulls = elements.nulls().filter(|nulls| nulls.null_count() > 0);
        Ok(Some(Self { spans, numbers, nulls, of, header: array_header(of), shape }))
    }

    pub(super) fn emit(&self, at: usize, out: &mut Vec<u8>) -> Result<()> {
        let range = self.spans.range(at);
        if let Some(nulls) = self.nulls
            && nulls.slice(range.start, range.len()).null_count() > 0
        {
            return Err(Error::invalid("null element, which numpy arrays cannot have"));
        }
        out.extend_from_slice(&self.header);
        match &self.shape {
            Shape::Same(encoded) => out.extend_from_slice(encoded),
            Shape::Length => {
                put_array_header(out, 1);
                put_uint(out, range.len() as u64);
            }
            Shape::Listed(spans, lengths, nulls) => {
                let indexes = spans.range(at);
                put_array_header(out, u32::try_from(indexes.len()).unwrap_or(u32::MAX)); // otherwise the message is too long
                let mut product = Some(1_u64);
                for index in indexes {
                    let length = match lengths.get(index) {
                        Some(Number::Unsigned(length)) => Some(length),
                        Some(Number::Signed(length)) => u64::try_from(length).ok(),
                        _ => None,
                    };
                    let length = length.filter(|_| nulls.is_none_or(|nulls| nulls.is_valid(index)));
                    let length = length.ok_or_else(|| Error::invalid("tensor shape: null or negative length"))?;
                    product = product.and_then(|product| product.checked_mul(length));
                    put_uint(out, length);
                }
                if product != Some(range.len() as u64) {
                    let what = format!("tensor has {} elements, which does not match its shape", range.len());
                    return Err(Error::invalid(what));
                }
            }
        }
        put_name(out, b"data");
        let bytes = range.len().saturating_mul(self.numbers.width());
        let bytes =
            u32::try_from(bytes).map_err(|_| Error::limit("array size in bytes", bytes as u64, u32::MAX.into()))?;
        put_bin_header(out, bytes);
        self.numbers.put(range, self.of.order() == ByteOrder::Big, out);
        Ok(())
    }
}

fn put_name(out: &mut Vec<u8>, name: &[u8]) {
    let _ = put_bin(out, name); // cannot fail: names are short
}

/// The encoded part of an array before its shape.
fn array_header(of: Primitive) -> Vec<u8> {
    let mut header = Vec::new();
    put_map_header(&mut header, 5);
    put_name(&mut header, b"nd");
    put_bool(&mut header, true);
    put_name(&mut header, b"type");
    let _ = put_str(&mut header, &of.to_string()); // cannot fail: a dtype is short
    put_name(&mut header, b"kind");
    put_name(&mut header, b"");
    put_name(&mut header, b"shape");
    header
}

/// The encoded part of a scalar, or of an array without dimensions, before its bytes.
pub(super) fn scalar_header(numpy_type: NumpyType) -> Vec<u8> {
    let mut header = Vec::new();
    if numpy_type.style == Style::Scalar {
        put_map_header(&mut header, 3);
        put_name(&mut header, b"nd");
        put_bool(&mut header, false);
        put_name(&mut header, b"type");
        let _ = put_str(&mut header, &numpy_type.of.to_string()); // cannot fail: a dtype is short
    } else {
        header = array_header(numpy_type.of);
        put_array_header(&mut header, 0);
    }
    put_name(&mut header, b"data");
    header
}
