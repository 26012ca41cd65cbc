//! What Python's package `msgpack-numpy` puts into samples: arrays, scalars and complex numbers of numpy.
//!
//! They are maps of msgpack with the names `nd`, `type`, `kind`, `shape` and `data` as bin:
//!
//! | value | map | here |
//! |---|---|---|
//! | array | `nd`: true, `type`: dtype, `kind`: empty, or `V` if structured, `shape`, `data` | [`NdArray`], [`Array`] |
//! | array of objects | the same with `kind`: `O`; the data is a pickle | [`Pickle`], never decoded |
//! | scalar | `nd`: false, `type`, `data` | [`Scalar`] |
//! | complex number | `complex`: true, `data`: its text | [`Complex`] |
//!
//! A map is taken for one of these exactly when Python takes it: `nd` (or else `complex`) is among its names, as bin, at any
//! place, and no member is missing that is needed; other members don't matter. Where a member is missing it is a plain map.
//! Where one is wrong, such as data of another length than shape and type say, it is an error.
//!
//! Files that were written before msgpack told str from bin have these names as str. Such a map is taken as well if it
//! has no other names (a sample, which has a `key`, never is), and data, types and kinds may be str, too.
//!
//! ```
//! use datadings::{RawValue, numpy::Array, numpy::ByteOrder};
//! #[derive(serde::Serialize)]
//! struct Sample { key: &'static str, image: Array }
//! let image = Array::from_slice(&[1.5f32, 2.5], &[2, 1], ByteOrder::Little)?;
//! let bytes = datadings::ser::to_vec(&Sample { key: "a", image })?;
//!
//! #[derive(serde::Deserialize)]
//! struct Plain { image: Vec<Vec<f64>> }
//! assert_eq!(RawValue::new(&bytes).decode::<Plain>()?.image, [[1.5], [2.5]]);
//! # Ok::<(), datadings::Error>(())
//! ```

pub(crate) mod array;
mod complex;
mod dtype;
mod element;
mod item;
mod parse;
mod serial;
pub(crate) mod unit;

use std::borrow::Cow;

use container_core::Result;

pub use array::{Array, Field, NdArray};
pub use complex::Complex;
pub use dtype::{ByteOrder, Dtype, FieldDtype, Kind, Primitive, TimeUnit};
pub use element::{Element, F16};
pub use item::{Item, Record};

pub(crate) use array::Dims;
pub(crate) use parse::{dtype_of, read, sniff};
pub(crate) use serial::RAW;

/// A value that stands in a map of msgpack-numpy.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Numpy<'a> {
    /// An array.
    Array(NdArray<'a>),
    /// A scalar, such as `np.float32(1)`.
    Scalar(Scalar<'a>),
    /// A complex number.
    Complex(Complex),
    /// An array of Python objects.
    Pickle(Pickle<'a>),
}

/// A scalar of numpy, such as `np.float32(1)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Scalar<'a> {
    dtype: Dtype,
    data: Cow<'a, [u8]>,
}

impl<'a> Scalar<'a> {
    /// A scalar with these bytes.
    ///
    /// # Errors
    /// When the dtype takes another number of bytes.
    pub fn from_bytes(dtype: Dtype, data: impl Into<Cow<'a, [u8]>>) -> Result<Self> {
        let data = data.into();
        let dtype = NdArray::of(dtype, Dims::NONE, &data)?.into_dtype();
        Ok(Self { dtype, data })
    }

    /// The type.
    #[must_use]
    pub fn dtype(&self) -> &Dtype {
        &self.dtype
    }

    /// The bytes.
    #[must_use]
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// The value.
    ///
    /// # Errors
    /// Text with a code point that does not exist.
    pub fn item(&self) -> Result<Item<'_>> {
        Item::read(&self.dtype, &self.data)
    }
}

impl<T: Element> From<T> for Scalar<'static> {
    fn from(value: T) -> Self {
        let mut data = Vec::with_capacity(T::SIZE);
        value.write(ByteOrder::NATIVE, &mut data);
        Self { dtype: Dtype::Primitive(Primitive::of(T::KIND, T::SIZE, ByteOrder::NATIVE)), data: data.into() }
    }
}

/// An array of Python objects: a pickle. Decoding one runs whatever code it names, so nothing here does.
#[derive(Debug, Clone, PartialEq)]
pub struct Pickle<'a> {
    shape: Dims,
    data: &'a [u8],
}

impl<'a> Pickle<'a> {
    /// A pickle of an array of this shape.
    #[must_use]
    pub fn new(shape: &[usize], data: &'a [u8]) -> Self {
        Self { shape: shape.into(), data }
    }

    /// The pickle.
    #[must_use]
    pub fn as_bytes(&self) -> &'a [u8] {
        self.data
    }

    /// The shape that is stated beside it, which Python does not look at; none where none is.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        self.shape.as_slice()
    }
}
