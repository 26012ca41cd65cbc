//! Writes tensors into columns.

use container_core::{Error, Result};

use super::column::{Column, Data, offset};
use crate::observe::Element;

/// An n-dimensional array of numbers in row-major order.
#[derive(Debug, Clone, Copy)]
pub struct Tensor<'t> {
    /// The element type.
    pub element: Element,
    /// The lengths of the dimensions, outermost first.
    pub shape: &'t [u64],
    /// The elements, without padding.
    pub data: &'t [u8],
    /// Elements are big-endian, else little-endian.
    pub big_endian: bool,
}

impl Tensor<'_> {
    pub(super) fn check(&self) -> Result<()> {
        let count = self.shape.iter().try_fold(1_u64, |count, length| count.checked_mul(*length));
        let bytes = count.and_then(|count| count.checked_mul(self.element.width() as u64));
        match bytes == Some(self.data.len() as u64) {
            true => Ok(()),
            false => {
                let (found, shape) = (self.data.len(), self.shape);
                Err(Error::invalid(format!(
                    "tensor of {:?} and shape {shape:?}: unexpected data length of {found} bytes",
                    self.element
                )))
            }
        }
    }

    /// Writes the tensor. Returns false, with the column unchanged, if it does not fit.
    pub(super) fn put(&self, column: &mut Column) -> Result<bool> {
        let Column { data, nulls, field, .. } = column;
        let fits = match data {
            Data::FixedList(size, values) => {
                // The number of elements may match with another shape.
                let has_shape = match field.metadata().get(SHAPE_KEY) {
                    Some(shape) => is_shape(shape, self.shape),
                    None => self.shape.len() == 1,
                };
                has_shape && self.data.len() / self.element.width() == *size && self.append_elements(values)
            }
            Data::List(offsets, values) if self.shape.len() == 1 => {
                let fits = self.append_elements(values);
                if fits {
                    offsets.push(offset(values.len())?);
                }
                fits
            }
            Data::LargeList(offsets, values) if self.shape.len() == 1 => {
                let fits = self.append_elements(values);
                if fits {
                    offsets.push(offset(values.len())?);
                }
                fits
            }
            Data::Struct(inner) => {
                let len = nulls.len();
                let mut ends = [false; 2];
                for (name, end) in ["data", "shape"].into_iter().zip(&mut ends) {
                    let Some(part) = inner.find(name, 0).and_then(|index| inner.columns.get_mut(index)) else {
                        return Ok(false);
                    };
                    part.pad(len.saturating_sub(part.len()));
                    part.truncate(len);
                    *end = match name {
                        "data" => self.write_list(part, |values| self.append_elements(values))?,
                        _ => self.write_list(part, |values| {
                            let put = |length: &u64| values.put_u64(*length).unwrap_or(false);
                            self.shape.iter().all(put)
                        })?,
                    };
                    if !*end {
                        part.truncate(len);
                    }
                }
                ends == [true; 2]
            }
            _ => false,
        };
        if fits {
            column.nulls.append_non_null();
        } else {
            column.truncate(column.len());
        }
        Ok(fits)
    }

    /// Writes the list `data` or `shape`.
    fn write_list(&self, list: &mut Column, fill: impl FnOnce(&mut Column) -> bool) -> Result<bool> {
        let fits = match &mut list.data {
            Data::List(offsets, values) => {
                let fits = fill(values);
                if fits {
                    offsets.push(offset(values.len())?);
                }
                fits
            }
            Data::FixedList(size, values) => {
                let expected = values.len() + *size;
                fill(values) && values.len() == expected
            }
            _ => false,
        };
        if fits {
            list.nulls.append_non_null();
        }
        Ok(fits)
    }

    /// Appends the elements. Returns false if the column has another type.
    fn append_elements(&self, values: &mut Column) -> bool {
        macro_rules! append {
            ($values:expr, $type:ty) => {{
                let (chunks, _) = self.data.as_chunks::<{ size_of::<$type>() }>();
                match self.big_endian {
                    true => $values.extend(chunks.iter().map(|chunk| <$type>::from_be_bytes(*chunk))),
                    false => $values.extend(chunks.iter().map(|chunk| <$type>::from_le_bytes(*chunk))),
                }
            }};
        }
        match (&mut values.data, self.element) {
            (Data::Bool(values), Element::Bool) => self.data.iter().for_each(|byte| values.append(*byte != 0)),
            (Data::I8(values), Element::I8) => append!(values, i8),
            (Data::I16(values), Element::I16) => append!(values, i16),
            (Data::I32(values), Element::I32) => append!(values, i32),
            (Data::I64(values), Element::I64) => append!(values, i64),
            (Data::U8(values), Element::U8) => values.extend_from_slice(self.data),
            (Data::U16(values), Element::U16) => append!(values, u16),
            (Data::U32(values), Element::U32) => append!(values, u32),
            (Data::U64(values), Element::U64) => append!(values, u64),
            (Data::F16(values), Element::F16) => append!(values, u16),
            (Data::F32(values), Element::F32) => append!(values, f32),
            (Data::F64(values), Element::F64) => append!(values, f64),
            _ => return false,
        }
        values.nulls.append_n_non_nulls(self.data.len() / self.element.width());
        true
    }
}

/// Metadata key of the shape of a tensor.
const SHAPE_KEY: &str = arrow_schema::extension::EXTENSION_TYPE_METADATA_KEY;

/// Compares a shape with metadata such as `{"shape":[2,3]}`.
fn is_shape(metadata: &str, shape: &[u64]) -> bool {
    let mut numbers = metadata
        .split_once("\"shape\"")
        .and_then(|(_, rest)| rest.split_once('[')?.1.split_once(']'))
        .into_iter()
        .flat_map(|(numbers, _)| numbers.split(','))
        .filter_map(|number| number.trim().parse::<u64>().ok());
    shape.iter().all(|length| numbers.next() == Some(*length)) && numbers.next().is_none()
}
