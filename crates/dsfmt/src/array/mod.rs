//! In-memory arrays: what variables are read into and written from.

mod mask;
mod strings;

use std::borrow::Cow;
use std::ops::Range;

use container_core::{Error, Result};

pub use mask::Mask;
pub use strings::Strings;

use crate::read::by_number;
use crate::types::{DataType, Element};

/// An n-dimensional array in C order (the last index varies fastest), with an optional mask of missing elements.
///
/// Every element has a value. The value of a missing element is arbitrary and is not written.
///
/// ```
/// use dsfmt::{Array, Mask};
/// let array = Array::new([2, 2], vec![1.0f32, 2.0, 0.0, 4.0])?.with_mask(Mask::from_bools([false, false, true, false]))?;
/// assert_eq!((array.len(), array.missing()), (4, 1));
/// assert_eq!(array.values().as_slice::<f32>().unwrap()[3], 4.0);
/// # Ok::<(), dsfmt::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Array<'a> {
    shape: Vec<u64>,
    values: Values<'a>,
    mask: Option<Mask<'a>>,
}

/// The values of an array: one vector per element type, borrowed or owned, in native byte order.
#[derive(Debug, Clone, PartialEq)]
pub enum Values<'a> {
    /// [`DataType::Float32`].
    Float32(Cow<'a, [f32]>),
    /// [`DataType::Float64`].
    Float64(Cow<'a, [f64]>),
    /// [`DataType::Int8`].
    Int8(Cow<'a, [i8]>),
    /// [`DataType::Int16`].
    Int16(Cow<'a, [i16]>),
    /// [`DataType::Int32`].
    Int32(Cow<'a, [i32]>),
    /// [`DataType::Int64`].
    Int64(Cow<'a, [i64]>),
    /// [`DataType::Uint8`].
    Uint8(Cow<'a, [u8]>),
    /// [`DataType::Uint16`].
    Uint16(Cow<'a, [u16]>),
    /// [`DataType::Uint32`].
    Uint32(Cow<'a, [u32]>),
    /// [`DataType::Uint64`].
    Uint64(Cow<'a, [u64]>),
    /// [`DataType::Bool`].
    Bool(Cow<'a, [bool]>),
    /// [`DataType::Str`].
    Str(Strings<'a>),
    /// [`DataType::Unicode`]: each string is valid UTF-8.
    Unicode(Strings<'a>),
}

/// Dispatches on the element type: binds a `Cow` of numbers, a `Cow` of booleans, or strings.
macro_rules! each_kind {
    ($this:expr, $numbers:ident => $of_numbers:expr, $bools:ident => $of_bools:expr, $strings:ident => $of_strings:expr) => {
        match $this {
            $crate::array::Values::Float32($numbers) => $of_numbers,
            $crate::array::Values::Float64($numbers) => $of_numbers,
            $crate::array::Values::Int8($numbers) => $of_numbers,
            $crate::array::Values::Int16($numbers) => $of_numbers,
            $crate::array::Values::Int32($numbers) => $of_numbers,
            $crate::array::Values::Int64($numbers) => $of_numbers,
            $crate::array::Values::Uint8($numbers) => $of_numbers,
            $crate::array::Values::Uint16($numbers) => $of_numbers,
            $crate::array::Values::Uint32($numbers) => $of_numbers,
            $crate::array::Values::Uint64($numbers) => $of_numbers,
            $crate::array::Values::Bool($bools) => $of_bools,
            $crate::array::Values::Str($strings) | $crate::array::Values::Unicode($strings) => $of_strings,
        }
    };
}
pub(crate) use each_kind;

impl Values<'_> {
    /// The element type.
    #[must_use]
    pub const fn data_type(&self) -> DataType {
        match self {
            Self::Float32(_) => DataType::Float32,
            Self::Float64(_) => DataType::Float64,
            Self::Int8(_) => DataType::Int8,
            Self::Int16(_) => DataType::Int16,
            Self::Int32(_) => DataType::Int32,
            Self::Int64(_) => DataType::Int64,
            Self::Uint8(_) => DataType::Uint8,
            Self::Uint16(_) => DataType::Uint16,
            Self::Uint32(_) => DataType::Uint32,
            Self::Uint64(_) => DataType::Uint64,
            Self::Bool(_) => DataType::Bool,
            Self::Str(_) => DataType::Str,
            Self::Unicode(_) => DataType::Unicode,
        }
    }

    /// Number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        each_kind!(self, numbers => numbers.len(), bools => bools.len(), strings => strings.len())
    }

    /// True when there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The numbers as a slice of `T`; `None` when the element type differs.
    #[must_use]
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        each_kind!(self, numbers => same(numbers), _bools => None, _strings => None)
    }

    /// The booleans; `None` for other types.
    #[must_use]
    pub fn as_bools(&self) -> Option<&[bool]> {
        match self {
            Self::Bool(bools) => Some(bools),
            _ => None,
        }
    }

    /// The strings of type [`Str`](DataType::Str) or [`Unicode`](DataType::Unicode); `None` for other types.
    #[must_use]
    pub fn as_strings(&self) -> Option<&Strings<'_>> {
        match self {
            Self::Str(strings) | Self::Unicode(strings) => Some(strings),
            _ => None,
        }
    }

    /// Converts to owned memory.
    #[must_use]
    pub fn into_owned(self) -> Values<'static> {
        match self {
            Self::Float32(numbers) => Values::Float32(Cow::Owned(numbers.into_owned())),
            Self::Float64(numbers) => Values::Float64(Cow::Owned(numbers.into_owned())),
            Self::Int8(numbers) => Values::Int8(Cow::Owned(numbers.into_owned())),
            Self::Int16(numbers) => Values::Int16(Cow::Owned(numbers.into_owned())),
            Self::Int32(numbers) => Values::Int32(Cow::Owned(numbers.into_owned())),
            Self::Int64(numbers) => Values::Int64(Cow::Owned(numbers.into_owned())),
            Self::Uint8(numbers) => Values::Uint8(Cow::Owned(numbers.into_owned())),
            Self::Uint16(numbers) => Values::Uint16(Cow::Owned(numbers.into_owned())),
            Self::Uint32(numbers) => Values::Uint32(Cow::Owned(numbers.into_owned())),
            Self::Uint64(numbers) => Values::Uint64(Cow::Owned(numbers.into_owned())),
            Self::Bool(bools) => Values::Bool(Cow::Owned(bools.into_owned())),
            Self::Str(strings) => Values::Str(strings.into_owned()),
            Self::Unicode(strings) => Values::Unicode(strings.into_owned()),
        }
    }
}

/// Reinterprets the slice when `S` and `T` are the same type.
fn same<S: Element, T: Element>(slice: &[S]) -> Option<&[T]> {
    if S::TYPE == T::TYPE { bytemuck::try_cast_slice(slice).ok() } else { None }
}

impl Values<'static> {
    /// Empty values with capacity for `len` numbers or booleans.
    pub(crate) fn with_capacity(data_type: DataType, len: usize) -> Self {
        by_number!(data_type,
            Number => Values::from(Vec::<Number>::with_capacity(len)),
            DataType::Bool => Values::from(Vec::<bool>::with_capacity(len)),
            DataType::Str => Values::Str(Strings::default()),
            DataType::Unicode => Values::Unicode(Strings::default())
        )
    }

    /// Appends `from[range]`. Both must have the same type.
    pub(crate) fn extend(&mut self, from: &Values<'_>, range: Range<usize>) {
        macro_rules! each {
            ($($name:ident)*) => {
                match (self, from) {
                    $((Self::$name(to), Values::$name(from)) => {
                        to.to_mut().extend_from_slice(from.get(range).unwrap_or_default());
                    })*
                    (Self::Str(to), Values::Str(from)) | (Self::Unicode(to), Values::Unicode(from)) => {
                        range.filter_map(|index| from.get(index)).for_each(|string| to.push(string));
                    }
                    _ => debug_assert!(false, "types differ"),
                }
            };
        }
        each!(Float32 Float64 Int8 Int16 Int32 Int64 Uint8 Uint16 Uint32 Uint64 Bool);
    }
}

macro_rules! from_numbers {
    ($($number:ty, $name:ident;)*) => {$(
        impl From<Vec<$number>> for Values<'_> {
            fn from(values: Vec<$number>) -> Self {
                Self::$name(Cow::Owned(values))
            }
        }

        impl<'a> From<&'a [$number]> for Values<'a> {
            fn from(values: &'a [$number]) -> Self {
                Self::$name(Cow::Borrowed(values))
            }
        }
    )*};
}

from_numbers! {
    f32, Float32;
    f64, Float64;
    i8, Int8;
    i16, Int16;
    i32, Int32;
    i64, Int64;
    u8, Uint8;
    u16, Uint16;
    u32, Uint32;
    u64, Uint64;
    bool, Bool;
}

/// Collects strings of type [`Unicode`](DataType::Unicode).
impl<'t> FromIterator<&'t str> for Values<'static> {
    fn from_iter<I: IntoIterator<Item = &'t str>>(texts: I) -> Self {
        Self::Unicode(texts.into_iter().map(str::as_bytes).collect())
    }
}

/// Collects byte strings of type [`Str`](DataType::Str).
impl<'t> FromIterator<&'t [u8]> for Values<'static> {
    fn from_iter<I: IntoIterator<Item = &'t [u8]>>(strings: I) -> Self {
        Self::Str(strings.into_iter().collect())
    }
}

impl<'a> Array<'a> {
    /// Creates an array; an empty shape makes a scalar.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when the number of values differs from the shape's element count, or when a
    /// [`Unicode`](DataType::Unicode) string is not valid UTF-8.
    pub fn new(shape: impl Into<Vec<u64>>, values: impl Into<Values<'a>>) -> Result<Self> {
        let (shape, values) = (shape.into(), values.into());
        let count =
            if shape.contains(&0) { Some(0) } else { shape.iter().try_fold(1u64, |all, n| all.checked_mul(*n)) };
        if count != Some(values.len() as u64) {
            return Err(Error::usage(format!("shape {shape:?} does not match {} values", values.len())));
        }
        if let Values::Unicode(strings) = &values {
            strings.check_utf8()?;
        }
        Ok(Self { shape, values, mask: None })
    }

    /// Creates an array without checks: sizes must agree, and unicode strings must be valid UTF-8.
    pub(crate) fn new_unchecked(shape: Vec<u64>, values: Values<'a>, mask: Option<Mask<'a>>) -> Self {
        Self { shape, values, mask }
    }

    /// Marks elements as missing.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when the mask has a different number of elements.
    pub fn with_mask(mut self, mask: Mask<'a>) -> Result<Self> {
        if mask.len() != self.values.len() {
            let detail = format!("expected a mask of {} elements, found {}", self.values.len(), mask.len());
            return Err(Error::usage(detail));
        }
        self.mask = Some(mask);
        Ok(self)
    }

    /// The sizes; empty for a scalar.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Number of elements, including missing ones.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True when there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The values in C order.
    #[must_use]
    pub fn values(&self) -> &Values<'a> {
        &self.values
    }

    /// The mask; `None` when no element can be missing.
    #[must_use]
    pub fn mask(&self) -> Option<&Mask<'a>> {
        self.mask.as_ref()
    }

    /// Number of missing elements.
    #[must_use]
    pub fn missing(&self) -> usize {
        self.mask.as_ref().map_or(0, Mask::missing)
    }

    /// The element type.
    #[must_use]
    pub fn data_type(&self) -> DataType {
        self.values.data_type()
    }

    /// Splits into shape, values and mask.
    #[must_use]
    pub fn into_parts(self) -> (Vec<u64>, Values<'a>, Option<Mask<'a>>) {
        (self.shape, self.values, self.mask)
    }

    /// Converts to owned memory.
    #[must_use]
    pub fn into_owned(self) -> Array<'static> {
        Array { shape: self.shape, values: self.values.into_owned(), mask: self.mask.map(Mask::into_owned) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_inconsistent_parts() {
        let error = Array::new([2, 3], vec![1u8; 5]).unwrap_err().to_string();
        assert_eq!(error, "shape [2, 3] does not match 5 values");
        assert!(Array::new([u64::MAX, 3], vec![1u8; 5]).is_err());
        assert!(Array::new([u64::MAX, 3, 0], Vec::<u8>::new()).unwrap().is_empty());
        let error = Array::new([1], vec![7i16]).unwrap().with_mask(Mask::from_bools([true, false])).unwrap_err();
        assert_eq!(error.to_string(), "expected a mask of 1 elements, found 2");
        let texts = Values::Unicode([&b"\xff"[..]].into_iter().collect());
        assert_eq!(Array::new([1], texts).unwrap_err().to_string(), "string 0 is not valid UTF-8 at byte 0");
        let texts: Values<'_> = ["a", "\u{fc}"].into_iter().collect();
        let array = Array::new([], Values::from(vec![true])).unwrap();
        assert_eq!((array.len(), array.data_type(), texts.data_type()), (1, DataType::Bool, DataType::Unicode));
        assert_eq!(texts.as_strings().unwrap().get(1), Some("\u{fc}".as_bytes()));
        assert_eq!(Values::from(vec![1u32]).as_slice::<i32>(), None);
        assert_eq!(Values::from(vec![1u32]).as_slice::<u32>(), Some(&[1][..]));
    }
}
