//! Numpy values in samples, as Python's package `msgpack-numpy` encodes them: arrays, scalars and complex numbers.
//!
//! They are msgpack maps with the bin keys `nd`, `type`, `kind`, `shape` and `data`:
//!
//! | value | map | here |
//! |---|---|---|
//! | array | `nd`: true, `type`: dtype, `kind`: empty, or `V` if structured, `shape`, `data` | [`NdArray`], [`Array`] |
//! | array of objects | the same with `kind`: `O`; the data is a pickle | [`Pickle`], never decoded |
//! | scalar | `nd`: false, `type`, `data` | [`Scalar`] |
//! | complex number | `complex`: true, `data`: its text | [`Complex`] |
//!
//! A map is decoded as one of these exactly when Python does: if `nd` (or else `complex`) is among its keys, as bin, at any position, and
//! no required member is missing; other members don't matter. If a member is missing, it is a plain map. If one is invalid, such as data of
//! a length other than shape and type require, it is an error.
//!
//! Files from before msgpack distinguished str from bin have these keys as str. Such a map is decoded too if it has no other keys (a
//! sample, which has a `key`, never qualifies); its data, types and kinds may be str as well.
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

/// A decoded numpy value.
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

/// A numpy scalar, such as `np.float32(1)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Scalar<'a> {
    dtype: Dtype,
    data: Cow<'a, [u8]>,
}

impl<'a> Scalar<'a> {
    /// Creates a scalar from its bytes.
    ///
    /// # Errors
    /// When their number does not match the dtype.
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
    /// A string with an invalid code point.
    pub fn item(&self) -> Result<Item<'_>> {
        Item::read(&self.dtype, &self.data)
    }
}

impl<T: Element> From<T> for Scalar<'static> {
    fn from(value: T) -> Self {
        let mut data = Vec::with_capacity(T::SIZE);
        value.write(ByteOrder::Little, &mut data);
        Self { dtype: Dtype::Primitive(Primitive::of(T::KIND, T::SIZE, ByteOrder::Little)), data: data.into() }
    }
}

/// A pickled array of Python objects. It is never decoded, because unpickling runs code.
#[derive(Debug, Clone, PartialEq)]
pub struct Pickle<'a> {
    shape: Dims,
    data: &'a [u8],
}

impl<'a> Pickle<'a> {
    /// A pickled array of this shape.
    #[must_use]
    pub fn new(shape: &[usize], data: &'a [u8]) -> Self {
        Self { shape: shape.into(), data }
    }

    /// The bytes of the pickle.
    #[must_use]
    pub fn as_bytes(&self) -> &'a [u8] {
        self.data
    }

    /// The shape encoded beside it, which Python ignores; empty if it is missing.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        self.shape.as_slice()
    }
}
