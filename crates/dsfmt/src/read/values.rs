//! Reads the values of a variable: whole, or a range along the first dimension.

use std::borrow::Cow;
use std::ops::Range;

use container_core::{Error, Result};

use crate::array::{Array, Mask, Strings, Values};
use crate::read::layout::{Layout, slice};
use crate::read::variable::Variable;
use crate::read::view::View;
use crate::types::{DataType, Element};
use crate::wire::Entry;

/// Approximate number of elements compared or copied at once.
pub(crate) const CHUNK_ELEMENTS: u64 = 256 << 10;

/// Number of rows that make about one chunk.
pub(crate) fn rows_at_once(shape: &[u64]) -> u64 {
    let row_len = shape.iter().skip(1).fold(1u64, |all, size| all.saturating_mul(*size));
    (CHUNK_ELEMENTS / row_len.max(1)).max(1)
}

/// Dispatches on a numeric type: `$number` names it.
macro_rules! by_number {
    ($data_type:expr, $number:ident => $of_number:expr $(, $other:pat => $of_other:expr)+) => {
        match $data_type {
            $crate::types::DataType::Float32 => {
                type $number = f32;
                $of_number
            }
            $crate::types::DataType::Float64 => {
                type $number = f64;
                $of_number
            }
            $crate::types::DataType::Int8 => {
                type $number = i8;
                $of_number
            }
            $crate::types::DataType::Int16 => {
                type $number = i16;
                $of_number
            }
            $crate::types::DataType::Int32 => {
                type $number = i32;
                $of_number
            }
            $crate::types::DataType::Int64 => {
                type $number = i64;
                $of_number
            }
            $crate::types::DataType::Uint8 => {
                type $number = u8;
                $of_number
            }
            $crate::types::DataType::Uint16 => {
                type $number = u16;
                $of_number
            }
            $crate::types::DataType::Uint32 => {
                type $number = u32;
                $of_number
            }
            $crate::types::DataType::Uint64 => {
                type $number = u64;
                $of_number
            }
            $($other => $of_other,)+
        }
    };
}

pub(crate) use by_number;

/// Wraps a vector of numbers.
pub(crate) fn values_of<'a, T: Element>(numbers: Cow<'a, [T]>) -> Values<'a>
where
    Values<'a>: From<Vec<T>> + From<&'a [T]>,
{
    match numbers {
        Cow::Borrowed(numbers) => numbers.into(),
        Cow::Owned(numbers) => numbers.into(),
    }
}

impl<'r> Variable<'r> {
    /// Reads all values.
    ///
    /// Borrows from a file that is mapped or in memory when nothing is missing and the numbers are aligned and in native byte order (the format
    /// aligns nothing); otherwise decodes in one pass. Missing elements become zero, false or an empty string under the array's mask.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for an empty variable: check [`shape`](Self::shape) first;
    /// [`Invalid`](container_core::ErrorKind::Invalid) for a variable with a [`problem`](Self::problem), a mask or strings that contradict its
    /// declared length, and invalid UTF-8; [`Io`](container_core::ErrorKind::Io); [`Limit`](container_core::ErrorKind::Limit) when the values
    /// exceed both the block limit and 16 times the variable's bytes in the file.
    pub fn read(&self) -> Result<Array<'r>> {
        self.with_layout(|layout| {
            let (values, mask) = self.elements(layout, 0..layout.count)?;
            Ok(Array::new_unchecked(self.shape().unwrap_or_default().to_vec(), values, mask))
        })
    }

    /// Reads a row range along the first dimension; `0..1` for a scalar. Costs the bytes of the range, plus one pass over the mask and the string
    /// lengths on first use of the variable.
    ///
    /// # Errors
    /// As [`read`](Self::read); [`Usage`](container_core::ErrorKind::Usage) for rows out of range.
    pub fn read_rows(&self, rows: Range<u64>) -> Result<Array<'r>> {
        self.with_layout(|layout| {
            let (shape, elements) = self.resolve_rows(&rows)?;
            let (values, mask) = self.elements(layout, elements)?;
            Ok(Array::new_unchecked(shape, values, mask))
        })
    }

    /// Reads a range of elements in C order as a one-dimensional array. Costs as much as [`read_rows`](Self::read_rows).
    ///
    /// # Errors
    /// As [`read`](Self::read); [`Usage`](container_core::ErrorKind::Usage) for elements out of range.
    pub fn read_elements(&self, range: Range<u64>) -> Result<Array<'r>> {
        self.with_layout(|layout| {
            if range.start > range.end || range.end > layout.count {
                let detail = format!("elements {}..{} are out of range for {}", range.start, range.end, layout.count);
                return Err(Error::usage(detail));
            }
            let len = range.end - range.start;
            let (values, mask) = self.elements(layout, range)?;
            Ok(Array::new_unchecked(vec![len], values, mask))
        })
    }

    /// A zero-copy view of its numbers; `None` when the file is neither mapped nor in memory, or when the variable is masked.
    ///
    /// # Errors
    /// As [`read`](Self::read); [`Usage`](container_core::ErrorKind::Usage) when the element type is not `T`.
    pub fn view<T: Element>(&self) -> Result<Option<View<'r, T>>> {
        self.with_layout(|layout| {
            check_type::<T>(layout)?;
            let bytes = self.reader.source.as_slice().and_then(|bytes| slice(bytes, &layout.data));
            Ok(bytes.filter(|_| layout.mask.is_none()).map(|bytes| View::new(bytes, layout.swap())))
        })
    }

    /// The stored numbers without the missing ones, borrowed if possible.
    ///
    /// # Errors
    /// As [`read`](Self::read); [`Usage`](container_core::ErrorKind::Usage) when the element type is not `T`.
    pub fn values<T: Element>(&self) -> Result<Cow<'r, [T]>> {
        self.with_layout(|layout| {
            check_type::<T>(layout)?;
            if layout.mask.is_some() {
                self.mask_index(layout)?;
            }
            self.stored_numbers(layout, layout.data.clone())
        })
    }

    /// Reads all numbers, with `fill` for missing ones.
    ///
    /// # Errors
    /// As [`read`](Self::read); [`Usage`](container_core::ErrorKind::Usage) when the element type is not `T`.
    pub fn filled<T: Element>(&self, fill: T) -> Result<Vec<T>> {
        self.with_layout(|layout| {
            check_type::<T>(layout)?;
            let mask = self.mask_bits(layout, 0..layout.count)?;
            self.owned_numbers(layout, 0..layout.count, mask.as_ref(), fill)
        })
    }

    /// Reads a row range into `out`, with `fill` for missing numbers. Reusing memory is cheaper than allocating for each read, and allows
    /// [huge pages](container_core::HugePageVec).
    ///
    /// # Errors
    /// As [`read_rows`](Self::read_rows); [`Usage`](container_core::ErrorKind::Usage) when the element type is not `T`, or when `out` has another
    /// length.
    pub fn read_into<T: Element>(&self, rows: Range<u64>, fill: T, out: &mut [T]) -> Result<()> {
        self.with_layout(|layout| {
            check_type::<T>(layout)?;
            let (_, range) = self.resolve_rows(&rows)?;
            check_len(out.len(), &range)?;
            let mask = self.mask_bits(layout, range.clone())?;
            self.numbers_into(layout, range, mask.as_ref(), fill, out)
        })
    }

    /// Reads all booleans; missing ones become false.
    ///
    /// # Errors
    /// As [`read`](Self::read); [`Usage`](container_core::ErrorKind::Usage) for other element types.
    pub fn bools(&self) -> Result<Vec<bool>> {
        self.with_layout(|layout| match layout.data_type {
            DataType::Bool => {
                let mask = self.mask_bits(layout, 0..layout.count)?;
                self.owned_bools(layout, 0..layout.count, mask.as_ref())
            }
            other => Err(not_bool(other)),
        })
    }

    /// Reads the booleans of a row range into `out`; missing ones become false. See [`read_into`](Self::read_into).
    ///
    /// # Errors
    /// As [`read_rows`](Self::read_rows); [`Usage`](container_core::ErrorKind::Usage) for other element types, or when `out` has another length.
    pub fn bools_into(&self, rows: Range<u64>, out: &mut [bool]) -> Result<()> {
        self.with_layout(|layout| match layout.data_type {
            DataType::Bool => {
                let (_, range) = self.resolve_rows(&rows)?;
                check_len(out.len(), &range)?;
                let mask = self.mask_bits(layout, range.clone())?;
                self.decode_bools_into(layout, range, mask.as_ref(), out)
            }
            other => Err(not_bool(other)),
        })
    }

    /// Reads all strings of type `str` or `unicode`, the latter valid UTF-8. Missing ones are empty.
    ///
    /// # Errors
    /// As [`read`](Self::read); [`Usage`](container_core::ErrorKind::Usage) for other element types.
    pub fn strings(&self) -> Result<Strings<'r>> {
        self.with_layout(|layout| match layout.data_type.is_text() {
            true => {
                let mask = self.mask_bits(layout, 0..layout.count)?;
                self.read_strings(layout, 0..layout.count, mask.as_ref())
            }
            false => Err(Error::usage(format!("expected values of type str or unicode, found {}", layout.data_type))),
        })
    }

    /// The mask; `None` when no element can be missing. Borrowed from a file that is mapped or in memory.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_mask(&self) -> Result<Option<Mask<'r>>> {
        self.with_layout(|layout| self.mask_bits(layout, 0..layout.count))
    }

    /// Calls `read` with the variable's layout; names the variable in errors.
    pub(crate) fn with_layout<T>(&self, read: impl FnOnce(&Layout) -> Result<T>) -> Result<T> {
        self.check()?;
        self.layout().and_then(|layout| read(&layout)).map_err(|error| self.in_variable(error))
    }

    fn layout(&self) -> Result<Layout> {
        let entry: &Entry = self.entry;
        if entry.shape.is_none() {
            return Err(Error::usage("the variable is empty"));
        }
        let data_type = entry.data_type.ok_or_else(|| Error::usage("the variable has no type"))?;
        // Within the file: checked when the header was parsed. Zero bytes may have any offset.
        let start = self.reader.body + if entry.len == 0 { 0 } else { entry.offset };
        let data = start + entry.mask_len()..start + entry.len;
        let mask = entry.masked.then_some(start..data.start);
        Ok(Layout { data_type, endian: entry.endian, count: entry.count(), mask, data })
    }

    /// The shape and the element range of a row range.
    fn resolve_rows(&self, rows: &Range<u64>) -> Result<(Vec<u64>, Range<u64>)> {
        let mut shape = self.shape().unwrap_or_default().to_vec();
        let count = shape.first().copied().unwrap_or(1);
        if rows.start > rows.end || rows.end > count {
            return Err(Error::usage(format!("rows {}..{} are out of range for {count}", rows.start, rows.end)));
        }
        let row_len: u64 = shape.iter().skip(1).product(); // cannot overflow: the whole product was checked
        if let Some(first) = shape.first_mut() {
            *first = rows.end - rows.start;
        } else if rows.is_empty() {
            return Err(Error::usage("expected rows 0..1 of a scalar"));
        }
        Ok((shape, rows.start * row_len..rows.end * row_len))
    }

    /// Reads an element range and its mask.
    pub(crate) fn elements(&self, layout: &Layout, range: Range<u64>) -> Result<(Values<'r>, Option<Mask<'r>>)> {
        if let Some(foreign) = &self.reader.foreign {
            return self.read_foreign(foreign.as_ref(), layout, range);
        }
        let mask = self.mask_bits(layout, range.clone())?;
        let missing = mask.as_ref();
        let values = by_number!(layout.data_type,
            Number => values_of(self.numbers::<Number>(layout, range, missing, Number::default())?),
            DataType::Bool => Values::from(self.owned_bools(layout, range, missing)?),
            DataType::Str => Values::Str(self.read_strings(layout, range, missing)?),
            DataType::Unicode => Values::Unicode(self.read_strings(layout, range, missing)?)
        );
        Ok((values, mask))
    }
}

fn check_len(len: usize, range: &Range<u64>) -> Result<()> {
    let count = range.end - range.start;
    match len as u64 == count {
        true => Ok(()),
        false => Err(Error::usage(format!("expected a buffer of {count} elements, found {len}"))),
    }
}

fn not_bool(found: DataType) -> Error {
    Error::usage(format!("expected values of type bool, found {found}"))
}

fn check_type<T: Element>(layout: &Layout) -> Result<()> {
    match layout.data_type == T::TYPE {
        true => Ok(()),
        false => Err(Error::usage(format!("expected values of type {}, found {}", T::TYPE, layout.data_type))),
    }
}
