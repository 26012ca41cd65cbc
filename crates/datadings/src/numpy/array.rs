use std::fmt;

use container_core::{Error, Result};

use super::dtype::{ByteOrder, Dtype, FieldDtype, Primitive, Tuple};
use super::element::Element;
use super::item::Item;

/// More dimensions than numpy supports.
pub(crate) const MAX_DIMENSIONS: usize = 64;
/// Maximum number of zero-sized elements, which no bytes back.
const MAX_EMPTY_ITEMS: usize = 1 << 16;

/// The lengths of an array's dimensions; up to four need no allocation.
#[derive(Clone)]
pub(crate) enum Dims {
    Few([usize; 4], u8),
    Many(Vec<usize>),
}

impl Dims {
    pub(crate) const NONE: Self = Self::Few([0; 4], 0);

    pub(crate) fn push(&mut self, length: usize) {
        match self {
            Self::Few(lengths, used) => match lengths.get_mut(usize::from(*used)) {
                Some(slot) => {
                    *slot = length;
                    *used += 1;
                }
                None => {
                    let mut all = lengths.to_vec();
                    all.push(length);
                    *self = Self::Many(all);
                }
            },
            Self::Many(all) => all.push(length),
        }
    }

    pub(crate) fn as_slice(&self) -> &[usize] {
        match self {
            Self::Few(lengths, used) => lengths.get(..usize::from(*used)).unwrap_or_default(),
            Self::Many(all) => all,
        }
    }
}

impl From<&[usize]> for Dims {
    fn from(lengths: &[usize]) -> Self {
        let mut dims = Self::NONE;
        lengths.iter().for_each(|&length| dims.push(length));
        dims
    }
}

impl fmt::Debug for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

impl PartialEq for Dims {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

/// A numpy array that borrows its elements, in C order (the last index varies fastest).
///
/// Shape and data were checked when it was created, so that no access is out of bounds later.
///
/// ```
/// use datadings::numpy::NdArray;
/// let array = NdArray::from_slice(&[1i16, 2, 3, 4, 5, 6], &[2, 3])?;
/// assert_eq!(array.shape(), [2, 3]);
/// assert_eq!(array.as_slice::<i16>(), Some(&[1, 2, 3, 4, 5, 6][..]));
/// assert_eq!(array.get_as::<i16>(&[1, 0])?, 4);
/// let bytes = datadings::ser::to_vec(&array)?;
/// assert_eq!(datadings::RawValue::new(&bytes).ndarray()?, array);
/// # Ok::<(), datadings::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct NdArray<'a> {
    dtype: Dtype,
    shape: Dims,
    data: &'a [u8],
    /// Bytes per element.
    size: usize,
    len: usize,
}

impl<'a> NdArray<'a> {
    /// Creates an array from the bytes of its elements.
    ///
    /// # Errors
    /// When their number does not match shape and dtype.
    pub fn new(dtype: Dtype, shape: &[usize], data: &'a [u8]) -> Result<Self> {
        Self::of(dtype, shape.into(), data)
    }

    pub(crate) fn of(dtype: Dtype, shape: Dims, data: &'a [u8]) -> Result<Self> {
        let lengths = shape.as_slice();
        if lengths.len() > MAX_DIMENSIONS {
            return Err(Error::limit("number of dimensions", lengths.len() as u64, MAX_DIMENSIONS as u64));
        }
        let size = dtype.item_size();
        let len = if lengths.contains(&0) {
            Some(0)
        } else {
            lengths.iter().try_fold(1usize, |product, &length| product.checked_mul(length))
        };
        match (size, len, size.zip(len).and_then(|(size, len)| size.checked_mul(len))) {
            (Some(size), Some(len), Some(bytes)) if bytes == data.len() => {
                if size == 0 && len > MAX_EMPTY_ITEMS {
                    return Err(Error::limit("number of zero-sized elements", len as u64, MAX_EMPTY_ITEMS as u64));
                }
                Ok(Self { dtype, shape, data, size, len })
            }
            (size, _, bytes) => {
                let count = |number: Option<usize>| {
                    number.map_or("an overflowing number of".into(), |number| number.to_string())
                };
                let kind = match &dtype {
                    Dtype::Primitive(of) => of.to_string(),
                    Dtype::Structured(fields) => format!("a structure of {} fields", fields.len()),
                };
                Err(Error::invalid(format!(
                    "an array of shape {} and dtype {kind} ({} bytes per element): expected {} bytes of data, found {}",
                    Tuple(lengths),
                    count(size),
                    count(bytes),
                    data.len()
                )))
            }
        }
    }

    /// Creates an array of elements in memory, zero-copy.
    ///
    /// # Errors
    /// When their number does not match the shape; for [`F16`](super::F16), whose elements must be copied into an [`Array`].
    pub fn from_slice<T: Element>(values: &'a [T], shape: &[usize]) -> Result<Self> {
        let data = T::raw(values).ok_or_else(|| Error::usage("16-bit floats must be copied into an array"))?;
        Self::new(Dtype::Primitive(Primitive::of(T::KIND, T::SIZE, ByteOrder::NATIVE)), shape, data)
    }

    /// The type of the elements.
    #[must_use]
    pub fn dtype(&self) -> &Dtype {
        &self.dtype
    }

    /// The length of each dimension; empty for an array of dimension 0, which has one element.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        self.shape.as_slice()
    }

    /// The bytes of all elements.
    #[must_use]
    pub fn data(&self) -> &'a [u8] {
        self.data
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there is no element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes per element.
    #[must_use]
    pub fn item_size(&self) -> usize {
        self.size
    }

    pub(crate) fn into_dtype(self) -> Dtype {
        self.dtype
    }

    fn order<T: Element>(&self) -> Result<ByteOrder> {
        order::<T>(&self.dtype)
    }

    /// The elements, zero-copy: if they are of this type, in native byte order and aligned.
    ///
    /// Otherwise use [`to_vec`](Self::to_vec).
    #[must_use]
    pub fn as_slice<T: Element>(&self) -> Option<&'a [T]> {
        match self.order::<T>().ok()? {
            ByteOrder::None | ByteOrder::NATIVE => T::view(self.data),
            _ => None,
        }
    }

    /// Copies all elements.
    ///
    /// # Errors
    /// When they are of another type.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        if let Some(all) = self.as_slice() {
            return Ok(all.to_vec());
        }
        Ok(self.iter()?.collect())
    }

    /// Iterates over the elements in C order.
    ///
    /// # Errors
    /// When they are of another type.
    pub fn iter<T: Element>(&self) -> Result<impl ExactSizeIterator<Item = T> + use<'a, T>> {
        let order = self.order::<T>()?;
        Ok(self.data.chunks_exact(T::SIZE).map(move |bytes| T::read(bytes, order)))
    }

    /// Iterates over the elements in C order, with the type given by the dtype.
    ///
    /// Continues after an invalid element (a string with an invalid code point).
    pub fn items(&self) -> impl ExactSizeIterator<Item = Result<Item<'_>>> {
        (0..self.len).map(|i| self.item(i))
    }

    pub(crate) fn item(&self, i: usize) -> Result<Item<'_>> {
        Item::read(&self.dtype, self.element(i))
    }

    fn element(&self, i: usize) -> &'a [u8] {
        let start = i.saturating_mul(self.size);
        self.data.get(start..start.saturating_add(self.size)).unwrap_or_default()
    }

    fn position(&self, index: &[usize]) -> Result<usize> {
        let shape = self.shape();
        if index.len() != shape.len() || index.iter().zip(shape).any(|(at, length)| at >= length) {
            return Err(Error::usage(format!("index {} is out of bounds for shape {}", Tuple(index), Tuple(shape))));
        }
        // Cannot overflow: the result is below the number of elements.
        Ok(index.iter().zip(shape).fold(0, |position, (at, length)| position * length + at))
    }

    /// The element at an index: one number per dimension, from 0.
    ///
    /// # Errors
    /// When the index is out of bounds; a string with an invalid code point.
    pub fn get(&self, index: &[usize]) -> Result<Item<'_>> {
        self.item(self.position(index)?)
    }

    /// The element at an index, as a Rust type.
    ///
    /// # Errors
    /// When the index is out of bounds, or the elements are of another type.
    pub fn get_as<T: Element>(&self, index: &[usize]) -> Result<T> {
        let order = self.order::<T>()?;
        Ok(T::read(self.element(self.position(index)?), order))
    }

    /// One field of a structured array, by its name or title.
    ///
    /// # Errors
    /// When there is no such field.
    pub fn field(&self, name: &str) -> Result<Field<'_>> {
        let Dtype::Structured(fields) = &self.dtype else {
            return Err(Error::usage(format!("an array of {} has no field {name:?}", self.dtype)));
        };
        let mut start = 0;
        for field in fields {
            let size = field.size().unwrap_or_default();
            let is_visible = fields.len() == 1 || !field.is_padding();
            if is_visible && (field.name == name || field.title.as_deref() == Some(name)) {
                return Ok(Field { array: self, field, start, size });
            }
            start += size;
        }
        Err(Error::usage(format!("{} has no field {name:?}", self.dtype)))
    }

    /// Copies it into an array that owns its elements.
    #[must_use]
    pub fn to_array(&self) -> Array {
        Array { dtype: self.dtype.clone(), shape: self.shape.clone(), data: self.data.to_vec() }
    }
}

fn order<T: Element>(dtype: &Dtype) -> Result<ByteOrder> {
    match dtype.primitive() {
        Some(of) if T::matches(of) => Ok(of.order()),
        _ => Err(Error::usage(format!(
            "expected elements of {}, found {dtype}",
            Primitive::of(T::KIND, T::SIZE, ByteOrder::NATIVE)
        ))),
    }
}

/// One field of every element of a structured array.
#[derive(Debug, Clone, Copy)]
pub struct Field<'s> {
    array: &'s NdArray<'s>,
    field: &'s FieldDtype,
    start: usize,
    size: usize,
}

impl<'s> Field<'s> {
    /// The field's name and type.
    #[must_use]
    pub fn dtype(&self) -> &'s FieldDtype {
        self.field
    }

    /// The field's bytes in each element.
    pub fn bytes(&self) -> impl ExactSizeIterator<Item = &'s [u8]> + use<'s> {
        let Self { array, start, size, .. } = *self;
        (0..array.len).map(move |i| array.element(i).get(start..start + size).unwrap_or_default())
    }

    /// Iterates over the values as a Rust type.
    ///
    /// # Errors
    /// When they are of another type, or the field is itself an array: see [`to_array`](Self::to_array).
    pub fn iter<T: Element>(&self) -> Result<impl ExactSizeIterator<Item = T> + use<'s, T>> {
        let order = order::<T>(&self.field.dtype)?;
        if !self.field.shape.is_empty() {
            return Err(Error::usage(format!("field {:?} is an array in each element", self.field.name)));
        }
        Ok(self.bytes().map(move |bytes| T::read(bytes, order)))
    }

    /// Copies the values into an array, whose last dimensions are those of the field.
    ///
    /// # Errors
    /// More dimensions than an array can have.
    pub fn to_array(&self) -> Result<Array> {
        let mut shape = self.array.shape.clone();
        self.field.shape.iter().for_each(|&length| shape.push(length));
        let mut data = Vec::with_capacity(self.array.len.saturating_mul(self.size).min(self.array.data.len()));
        self.bytes().for_each(|bytes| data.extend_from_slice(bytes));
        Array::of(self.field.dtype.clone(), shape, data)
    }
}

/// A numpy array that owns its elements.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    dtype: Dtype,
    shape: Dims,
    data: Vec<u8>,
}

impl Array {
    /// Creates an array from the bytes of its elements.
    ///
    /// # Errors
    /// When their number does not match shape and dtype.
    pub fn new(dtype: Dtype, shape: &[usize], data: Vec<u8>) -> Result<Self> {
        Self::of(dtype, shape.into(), data)
    }

    pub(crate) fn of(dtype: Dtype, shape: Dims, data: Vec<u8>) -> Result<Self> {
        let NdArray { dtype, shape, .. } = NdArray::of(dtype, shape, &data)?;
        Ok(Self { dtype, shape, data })
    }

    /// Copies elements, in this byte order.
    ///
    /// # Errors
    /// When their number does not match the shape.
    pub fn from_slice<T: Element>(values: &[T], shape: &[usize], order: ByteOrder) -> Result<Self> {
        let mut data = Vec::with_capacity(values.len().saturating_mul(T::SIZE));
        let of = Primitive::of(T::KIND, T::SIZE, if order == ByteOrder::None { ByteOrder::NATIVE } else { order });
        values.iter().for_each(|value| value.write(of.order(), &mut data));
        Self::new(Dtype::Primitive(of), shape, data)
    }

    /// Copies strings, into little-endian `U` elements as long as the longest.
    ///
    /// # Errors
    /// When their number does not match the shape.
    pub fn from_texts<T: AsRef<str>>(texts: &[T], shape: &[usize]) -> Result<Self> {
        let longest = texts.iter().map(|text| text.as_ref().chars().count()).max().unwrap_or(0).max(1);
        let mut data = Vec::with_capacity(texts.len().saturating_mul(longest).saturating_mul(4));
        for text in texts {
            let padded = text.as_ref().chars().map(u32::from).chain(std::iter::repeat(0)).take(longest);
            padded.for_each(|point| point.write(ByteOrder::Little, &mut data));
        }
        let of = Primitive::of(super::Kind::Text, 4 * longest, ByteOrder::Little);
        Self::new(Dtype::Primitive(of), shape, data)
    }

    /// Borrows the array.
    #[must_use]
    pub fn view(&self) -> NdArray<'_> {
        let size = self.dtype.item_size().unwrap_or_default();
        let len = self.shape.as_slice().iter().product();
        NdArray { dtype: self.dtype.clone(), shape: self.shape.clone(), data: &self.data, size, len }
    }

    /// The bytes of all elements.
    #[must_use]
    pub fn into_data(self) -> Vec<u8> {
        self.data
    }
}
