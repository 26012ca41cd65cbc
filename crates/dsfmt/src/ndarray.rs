//! Conversions to arrays of the `ndarray` crate.

use std::any::Any;
use std::borrow::Cow;

use container_core::{Error, Result};
use ndarray::{ArrayD, ArrayViewD, IxDyn};

use crate::array::{Array, each_kind};
use crate::read::Variable;
use crate::types::{DataType, Element};

impl Array<'_> {
    /// Borrows the values as an `ndarray` view. Missing elements have arbitrary values: see [`mask`](Self::mask).
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when the element type is not `T`.
    #[cfg_attr(docsrs, doc(cfg(feature = "ndarray")))]
    pub fn view_nd<T: Element>(&self) -> Result<ArrayViewD<'_, T>> {
        let values = self.values().as_slice::<T>().ok_or_else(|| other_type::<T>(self.data_type()))?;
        view(self.shape(), values)
    }

    /// Copies the values into an `ndarray` array. Missing elements have arbitrary values: see [`mask`](Self::mask).
    ///
    /// # Errors
    /// As [`view_nd`](Self::view_nd).
    #[cfg_attr(docsrs, doc(cfg(feature = "ndarray")))]
    pub fn to_ndarray<T: Element>(&self) -> Result<ArrayD<T>> {
        self.view_nd().map(|view| view.to_owned())
    }

    /// Converts into an `ndarray` array, copying only borrowed values. Missing elements have arbitrary values: see [`mask`](Self::mask).
    ///
    /// # Errors
    /// As [`view_nd`](Self::view_nd).
    #[cfg_attr(docsrs, doc(cfg(feature = "ndarray")))]
    pub fn into_ndarray<T: Element>(self) -> Result<ArrayD<T>> {
        let (shape, values, _) = self.into_parts();
        let found = values.data_type();
        // `S` and `T` are the same type here, which only `Any` can tell the compiler.
        let vector = each_kind!(values, numbers => owned(numbers), _bools => None, _strings => None);
        let values = vector.ok_or_else(|| other_type::<T>(found))?;
        let dimensions = dimensions(&shape)?;
        ArrayD::from_shape_vec(dimensions, values)
            .map_err(|cause| Error::usage(format!("unsupported ndarray shape: {cause}")))
    }
}

impl<'r> Variable<'r> {
    /// Borrows the numbers from the file as an `ndarray` view; `None` when their [`view`](Self::view) cannot be a slice.
    ///
    /// # Errors
    /// As [`view`](Self::view).
    #[cfg_attr(docsrs, doc(cfg(feature = "ndarray")))]
    pub fn view_nd<T: Element>(&self) -> Result<Option<ArrayViewD<'r, T>>> {
        // `ndarray` needs native byte order and aligned addresses.
        let Some(values) = self.view::<T>()?.and_then(|view| view.as_slice()) else { return Ok(None) };
        view(self.shape().unwrap_or_default(), values).map(Some).map_err(|error| self.in_variable(error))
    }
}

fn view<'a, T: Element>(shape: &[u64], values: &'a [T]) -> Result<ArrayViewD<'a, T>> {
    ArrayViewD::from_shape(dimensions(shape)?, values)
        .map_err(|cause| Error::usage(format!("unsupported ndarray shape: {cause}")))
}

fn dimensions(shape: &[u64]) -> Result<IxDyn> {
    let sizes = shape.iter().map(|size| usize::try_from(*size)).collect::<Result<Vec<_>, _>>();
    sizes.map(|sizes| IxDyn(&sizes)).map_err(|_| Error::usage(format!("shape {shape:?} does not fit in memory")))
}

fn owned<S: Element, T: Element>(numbers: Cow<'_, [S]>) -> Option<Vec<T>> {
    let mut numbers = Some(numbers.into_owned());
    (&mut numbers as &mut dyn Any).downcast_mut::<Option<Vec<T>>>().and_then(Option::take)
}

fn other_type<T: Element>(found: DataType) -> Error {
    Error::usage(format!("expected values of type {}, found {found}", T::TYPE))
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::Reader;

    #[test]
    fn converts_to_ndarray() {
        let values: Vec<i32> = (0..6).collect();
        let array = Array::new([2, 3], values.clone()).unwrap();
        let expected = array![[0, 1, 2], [3, 4, 5]].into_dyn();
        assert_eq!(array.view_nd::<i32>().unwrap(), expected);
        assert_eq!(array.to_ndarray::<i32>().unwrap(), expected);
        assert_eq!(array.view_nd::<u32>().unwrap_err().to_string(), "expected values of type uint32, found int32");
        let borrowed = Array::new([2, 3], &values[..]).unwrap();
        assert_eq!(borrowed.into_ndarray::<i32>().unwrap(), expected);
        let at = array.values().as_slice::<i32>().unwrap().as_ptr();
        assert!(array.clone().into_ndarray::<f32>().is_err());
        assert_eq!(array.into_ndarray::<i32>().unwrap().as_ptr(), at); // not copied
        let scalar = Array::new([], vec![7u8]).unwrap().into_ndarray::<u8>().unwrap();
        assert_eq!((scalar.ndim(), scalar.first()), (0, Some(&7)));
        assert!(Array::new([1], vec![true]).unwrap().into_ndarray::<u8>().is_err());
    }

    #[test]
    fn views_variable_without_copying() {
        let text = b"ds-1.0\n{\"x\": {\".dims\": [\"a\", \"b\"], \".size\": [2, 2], \".len\": 4, \".type\": \"uint8\"}}\n\x01\x02\x03\x04";
        let reader = Reader::from_source(text[..].into(), Default::default()).unwrap();
        let x = reader.variable("x").unwrap();
        assert_eq!(x.view_nd::<u8>().unwrap().unwrap(), array![[1, 2], [3, 4]].into_dyn());
        assert!(x.view_nd::<i8>().is_err());
    }
}
