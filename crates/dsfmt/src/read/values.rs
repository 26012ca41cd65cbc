//! Values of a variable: whole, or a range along its first dimension.

use std::borrow::Cow;
use std::ops::Range;

use container_core::{Error, Result};

use crate::array::{Array, Mask, Strings, Values};
use crate::read::layout::{Layout, slice};
use crate::read::variable::Variable;
use crate::read::view::View;
use crate::types::{DataType, Element};
use crate::wire::Entry;

/// The same for the type of number that a variable holds: `$number` is that type.
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

/// A vector as values.
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
    /// All its values: borrowed from the file where it is mapped or in memory, their bytes are in this machine's order and lie as its numbers
    /// have to (the format does not see to that), and none is missing; else brought into memory in one pass. Missing elements become zeros,
    /// false, and empty texts under the array's mask.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for an empty variable: ask [`shape`](Self::shape) first;
    /// [`Invalid`](container_core::ErrorKind::Invalid) for what is wrong with the variable (its [`problem`](Self::problem); a mask or strings
    /// that contradict the bytes it is said to take; texts that are not UTF-8); [`Io`](container_core::ErrorKind::Io);
    /// [`Limit`](container_core::ErrorKind::Limit) for one that takes more than the limit of a block in memory, and more than 16 times its
    /// bytes in the file.
    pub fn read(&self) -> Result<Array<'r>> {
        self.placed(|layout| {
            let (values, mask) = self.elements(layout, 0..layout.count)?;
            Ok(Array::checked(self.shape().unwrap_or_default().to_vec(), values, mask))
        })
    }

    /// The values of a range along its first dimension; `0..1` for a scalar. It costs its own bytes, and once for the variable a pass over
    /// its mask and over the lengths of its strings.
    ///
    /// # Errors
    /// As [`read`](Self::read); [`Usage`](container_core::ErrorKind::Usage) for rows past the end.
    pub fn read_rows(&self, rows: Range<u64>) -> Result<Array<'r>> {
        self.placed(|layout| {
            let (shape, elements) = self.rows(&rows)?;
            let (values, mask) = self.elements(layout, elements)?;
            Ok(Array::checked(shape, values, mask))
        })
    }

    /// The values of a range of elements in C order, as an array of one dimension. It costs what [`read_rows`](Self::read_rows) costs.
    ///
    /// # Errors
    /// As [`read`](Self::read); [`Usage`](container_core::ErrorKind::Usage) for elements past the end.
    pub fn read_elements(&self, range: Range<u64>) -> Result<Array<'r>> {
        self.placed(|layout| {
            if range.start > range.end || range.end > layout.count {
                let detail = format!("there are no elements {} to {} of {}", range.start, range.end, layout.count);
                return Err(Error::usage(detail));
            }
            let len = range.end - range.start;
            let (values, mask) = self.elements(layout, range)?;
            Ok(Array::checked(vec![len], values, mask))
        })
    }

    /// Its numbers where they lie; `None` where that cannot be: the file is not in memory nor mapped, or some numbers may be missing.
    ///
    /// # Errors
    /// As [`read`](Self::read); [`Usage`](container_core::ErrorKind::Usage) for numbers of another type.
    pub fn view<T: Element>(&self) -> Result<Option<View<'r, T>>> {
        self.placed(|layout| {
            check_type::<T>(layout)?;
            let bytes = self.reader.source.as_slice().and_then(|bytes| slice(bytes, &layout.data));
            Ok(bytes.filter(|_| layout.mask.is_none()).map(|bytes| View::new(bytes, layout.swap())))
        })
    }

    /// Its numbers as they are stored, one after the other: the missing ones are not among them. Borrowed where they can be.
    ///
    /// # Errors
    /// As [`read`](Self::read); [`Usage`](container_core::ErrorKind::Usage) for numbers of another type.
    pub fn values<T: Element>(&self) -> Result<Cow<'r, [T]>> {
        self.placed(|layout| {
            check_type::<T>(layout)?;
            if layout.mask.is_some() {
                self.mask_index(layout)?;
            }
            self.stored_numbers(layout, layout.data.clone())
        })
    }

    /// Its numbers, with `fill` for the missing ones.
    ///
    /// # Errors
    /// As [`read`](Self::read); [`Usage`](container_core::ErrorKind::Usage) for numbers of another type.
    pub fn filled<T: Element>(&self, fill: T) -> Result<Vec<T>> {
        self.placed(|layout| {
            check_type::<T>(layout)?;
            let mask = self.mask_bits(layout, 0..layout.count)?;
            self.owned_numbers(layout, 0..layout.count, mask.as_ref(), fill)
        })
    }

    /// Puts the numbers of a range along its first dimension into memory of the caller's, with `fill` for the missing ones: for many reads
    /// into the same memory, which costs less than new memory for each, or into [large pages](container_core::HugePageVec).
    ///
    /// # Errors
    /// As [`read_rows`](Self::read_rows); [`Usage`](container_core::ErrorKind::Usage) for numbers of another type, and for more or less room
    /// than they take.
    pub fn read_into<T: Element>(&self, rows: Range<u64>, fill: T, out: &mut [T]) -> Result<()> {
        self.placed(|layout| {
            check_type::<T>(layout)?;
            let (_, range) = self.rows(&rows)?;
            fits(out.len(), &range)?;
            let mask = self.mask_bits(layout, range.clone())?;
            self.numbers_into(layout, range, mask.as_ref(), fill, out)
        })
    }

    /// Its truth values; false for the missing ones.
    ///
    /// # Errors
    /// As [`read`](Self::read); [`Usage`](container_core::ErrorKind::Usage) for other values.
    pub fn bools(&self) -> Result<Vec<bool>> {
        self.placed(|layout| match layout.data_type {
            DataType::Bool => {
                let mask = self.mask_bits(layout, 0..layout.count)?;
                self.truths(layout, 0..layout.count, mask.as_ref())
            }
            other => Err(no_bools(other)),
        })
    }

    /// Puts the truth values of a range along its first dimension into memory of the caller's, false for the missing ones, as
    /// [`read_into`](Self::read_into) does with numbers.
    ///
    /// # Errors
    /// As [`read_rows`](Self::read_rows); [`Usage`](container_core::ErrorKind::Usage) for other values, and for more or less room than they
    /// take.
    pub fn bools_into(&self, rows: Range<u64>, out: &mut [bool]) -> Result<()> {
        self.placed(|layout| match layout.data_type {
            DataType::Bool => {
                let (_, range) = self.rows(&rows)?;
                fits(out.len(), &range)?;
                let mask = self.mask_bits(layout, range.clone())?;
                self.truths_into(layout, range, mask.as_ref(), out)
            }
            other => Err(no_bools(other)),
        })
    }

    /// Its strings of bytes, or its texts: all of them UTF-8 then. The missing ones are empty.
    ///
    /// # Errors
    /// As [`read`](Self::read); [`Usage`](container_core::ErrorKind::Usage) for other values.
    pub fn strings(&self) -> Result<Strings<'r>> {
        self.placed(|layout| match layout.data_type.is_text() {
            true => {
                let mask = self.mask_bits(layout, 0..layout.count)?;
                self.texts(layout, 0..layout.count, mask.as_ref())
            }
            false => Err(Error::usage(format!("its values are {}, no strings", layout.data_type))),
        })
    }

    /// Which of its elements are missing; `None` where none can be. Borrowed where the file is mapped or in memory.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_mask(&self) -> Result<Option<Mask<'r>>> {
        self.placed(|layout| self.mask_bits(layout, 0..layout.count))
    }

    /// Runs `ask` with the variable's layout, and adds the variable to its errors.
    pub(crate) fn placed<T>(&self, ask: impl FnOnce(&Layout) -> Result<T>) -> Result<T> {
        self.check()?;
        self.layout().and_then(|layout| ask(&layout)).map_err(|error| self.place(error))
    }

    fn layout(&self) -> Result<Layout> {
        let entry: &Entry = self.entry;
        if entry.shape.is_none() {
            return Err(Error::usage("the variable is empty: it has no values"));
        }
        let data_type = entry.data_type.ok_or_else(|| Error::usage("the variable has no type and no values"))?;
        // Both ends lie in the file: that was checked when it was opened, but for nothing, which may be anywhere.
        let start = self.reader.body + if entry.len == 0 { 0 } else { entry.offset };
        let data = start + entry.mask_len()..start + entry.len;
        let mask = entry.masked.then_some(start..data.start);
        Ok(Layout { data_type, endian: entry.endian, count: entry.count(), mask, data })
    }

    /// The shape of a range along the first dimension, and its elements.
    fn rows(&self, rows: &Range<u64>) -> Result<(Vec<u64>, Range<u64>)> {
        let mut shape = self.shape().unwrap_or_default().to_vec();
        let all = shape.first().copied().unwrap_or(1);
        if rows.start > rows.end || rows.end > all {
            return Err(Error::usage(format!("there are no rows {} to {} of {all}", rows.start, rows.end)));
        }
        let wide: u64 = shape.iter().skip(1).product(); // which does not overflow: the whole product was checked
        if let Some(first) = shape.first_mut() {
            *first = rows.end - rows.start;
        } else if rows.is_empty() {
            return Err(Error::usage("a scalar has one row, which is 0 to 1"));
        }
        Ok((shape, rows.start * wide..rows.end * wide))
    }

    /// A range of elements, and which of them are missing.
    pub(crate) fn elements(&self, layout: &Layout, range: Range<u64>) -> Result<(Values<'r>, Option<Mask<'r>>)> {
        if let Some(foreign) = &self.reader.foreign {
            return self.foreign(foreign.as_ref(), layout, range);
        }
        let mask = self.mask_bits(layout, range.clone())?;
        let found = mask.as_ref();
        let values = by_number!(layout.data_type,
            Number => values_of(self.numbers::<Number>(layout, range, found, Number::default())?),
            DataType::Bool => Values::from(self.truths(layout, range, found)?),
            DataType::Str => Values::Str(self.texts(layout, range, found)?),
            DataType::Unicode => Values::Unicode(self.texts(layout, range, found)?)
        );
        Ok((values, mask))
    }
}

/// There is room for as many elements as are read.
fn fits(room: usize, range: &Range<u64>) -> Result<()> {
    let count = range.end - range.start;
    match room as u64 == count {
        true => Ok(()),
        false => Err(Error::usage(format!("there is room for {room} elements where {count} are read"))),
    }
}

fn no_bools(found: DataType) -> Error {
    Error::usage(format!("its values are {found}, not bool"))
}

fn check_type<T: Element>(layout: &Layout) -> Result<()> {
    match layout.data_type == T::TYPE {
        true => Ok(()),
        false => Err(Error::usage(format!("its values are {}, not {}", layout.data_type, T::TYPE))),
    }
}
