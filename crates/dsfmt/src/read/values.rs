//! Values of a variable: whole, or a range along its first dimension.

use std::borrow::Cow;
use std::ops::Range;

use container_core::{Error, Result};

use crate::array::{Array, Mask, Strings, Values};
use crate::kernel;
use crate::read::index::{MASK_BLOCK, MaskIndex};
use crate::read::variable::Variable;
use crate::read::view::View;
use crate::types::{DataType, Element, Endian};
use crate::wire::{Entry, bit_bytes};

/// Elements that are dealt with at once: few enough for the fast memory, and a multiple of 8.
const CHUNK: usize = 32 << 10;

/// So many times its own bytes a variable may take in memory, whatever the limits: missing elements take a bit in the file.
const GROWTH: u64 = 16;

/// Where the parts of a variable lie in the file.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) data_type: DataType,
    pub(crate) endian: Endian,
    /// Elements, missing ones among them.
    pub(crate) count: u64,
    pub(crate) mask: Option<Range<u64>>,
    pub(crate) data: Range<u64>,
}

impl Layout {
    pub(crate) fn swap(&self) -> bool {
        self.endian != Endian::NATIVE
    }
}

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

/// A vector of so many elements, or the reason why there is none.
pub(crate) fn room<T: Clone>(count: u64, value: T) -> Result<Vec<T>> {
    // Tried first where it may fail: `vec!` would end the process. It is what is used, as memory that is new from the system is zeros
    // already and is not written twice.
    const SMALL: u64 = 1 << 20;
    match usize::try_from(count) {
        Ok(len) if count <= SMALL || Vec::<T>::new().try_reserve_exact(len).is_ok() => Ok(vec![value; len]),
        _ => Err(too_many(count)),
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
            let shape = self.shape().unwrap_or_default();
            let all = shape.first().copied().unwrap_or(1);
            if rows.start > rows.end || rows.end > all {
                return Err(Error::usage(format!("there are no rows {} to {} of {all}", rows.start, rows.end)));
            }
            let wide: u64 = shape.iter().skip(1).product(); // which does not overflow: the whole product was checked
            let mut shape = shape.to_vec();
            if let Some(first) = shape.first_mut() {
                *first = rows.end - rows.start;
            } else if rows.is_empty() {
                return Err(Error::usage("a scalar has one row, which is 0 to 1"));
            }
            let (values, mask) = self.elements(layout, rows.start * wide..rows.end * wide)?;
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
            Ok(self.numbers(layout, 0..layout.count, mask.as_ref(), fill)?.into_owned())
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
            other => Err(Error::usage(format!("its values are {other}, not bool"))),
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

    /// A range of elements, and which of them are missing.
    fn elements(&self, layout: &Layout, range: Range<u64>) -> Result<(Values<'r>, Option<Mask<'r>>)> {
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

    /// Refuses what would take far more memory than the file can answer for.
    pub(crate) fn check_growth(&self, elements: u64, layout: &Layout) -> Result<()> {
        let width = layout.data_type.width().unwrap_or(if layout.data_type.is_text() { size_of::<usize>() } else { 1 });
        let bytes = elements.saturating_mul(width as u64);
        match bytes > self.entry.len.saturating_mul(GROWTH) {
            true => self.reader.options.limits.check_block("the size of its values in memory", bytes),
            false => Ok(()),
        }
    }

    /// The sums over its mask, checked against the bytes that the variable is said to take.
    pub(crate) fn mask_index(&self, layout: &Layout) -> Result<&'r MaskIndex> {
        let known = &self.index.mask;
        if let Some(index) = known.get() {
            return Ok(index);
        }
        let bytes = layout.mask.clone().unwrap_or(0..0);
        let index = MaskIndex::new(&self.reader.source, bytes, layout.count)?;
        let room = layout.data.end - layout.data.start;
        let (fits, needed) = match layout.data_type.width() {
            Some(width) => (index.stored * width as u64 == room, index.stored * width as u64),
            None if layout.data_type == DataType::Bool => (bit_bytes(index.stored) == room, bit_bytes(index.stored)),
            None => (index.stored * 8 <= room, index.stored * 8),
        };
        if !fits {
            let (stored, count, more) =
                (index.stored, layout.count, if layout.data_type.is_text() { " or more" } else { "" });
            return Err(Error::invalid(format!(
                "its mask leaves {stored} of {count} elements, which take {needed} bytes{more}; its .len has {room} for them"
            ))
            .at(layout.data.start));
        }
        Ok(known.get_or_init(|| index))
    }

    /// Which elements of a range are missing, the first of the range in the first bit.
    pub(crate) fn mask_bits(&self, layout: &Layout, range: Range<u64>) -> Result<Option<Mask<'r>>> {
        let Some(mask) = &layout.mask else { return Ok(None) };
        self.mask_index(layout)?;
        let len = usize::try_from(range.end - range.start).map_err(|_| too_many(range.end - range.start))?;
        let bytes = mask.start + range.start / 8..mask.start + bit_bytes(range.end).max(range.start / 8);
        let first = (range.start % 8) as usize; // less than 8
        let source = &self.reader.source;
        let found = source.as_slice().and_then(|all| slice(all, &bytes));
        match found {
            Some(bits) if first == 0 => Mask::from_bits(bits, len).map(Some),
            Some(bits) => Mask::from_bits(kernel::shifted(bits, first, len), len).map(Some),
            None => {
                let bits = source.read(bytes)?;
                Mask::from_bits(kernel::shifted(&bits, first, len), len).map(Some)
            }
        }
    }

    /// How many values are stored before this element.
    pub(crate) fn rank(&self, layout: &Layout, element: u64) -> Result<u64> {
        let Some(mask) = &layout.mask else { return Ok(element) };
        let index = self.mask_index(layout)?;
        if element >= layout.count {
            return Ok(index.stored);
        }
        let block = element / 8 / MASK_BLOCK as u64;
        let bits = element - block * MASK_BLOCK as u64 * 8;
        let start = mask.start + block * MASK_BLOCK as u64;
        let mut buffer = Vec::new();
        let bytes = self.reader.source.view(start..start + bit_bytes(bits), &mut buffer)?;
        Ok(index.before(block) + bits - kernel::missing(bytes, bits))
    }

    /// Numbers of a range of elements; missing ones are `fill`.
    fn numbers<T: Element>(
        &self,
        layout: &Layout,
        range: Range<u64>,
        mask: Option<&Mask<'_>>,
        fill: T,
    ) -> Result<Cow<'r, [T]>> {
        let width = size_of::<T>() as u64;
        let start = self.rank(layout, range.start)?;
        let end = self.rank(layout, range.end)?;
        let bytes = layout.data.start + start * width..layout.data.start + end * width;
        let Some(mask) = mask else { return self.stored_numbers(layout, bytes) };
        self.check_growth(range.end - range.start, layout)?;
        let mut out = room(range.end - range.start, T::default())?;
        let (mut at, mut buffer, swap) = (bytes.start, Vec::new(), layout.swap());
        for (out, bits) in out.chunks_mut(CHUNK).zip(mask.as_bits().chunks(CHUNK / 8)) {
            let stored = (out.len() as u64 - kernel::missing(bits, out.len() as u64)) * width;
            let stored = at..at + stored;
            at = stored.end;
            kernel::expand_numbers(bits, self.reader.source.view(stored, &mut buffer)?, out, fill, swap);
        }
        Ok(out.into())
    }

    /// The numbers that these bytes of the file are.
    fn stored_numbers<T: Element>(&self, layout: &Layout, bytes: Range<u64>) -> Result<Cow<'r, [T]>> {
        if let Some(numbers) = self.borrowed(layout, &bytes) {
            return Ok(numbers.into());
        }
        let width = size_of::<T>() as u64;
        let mut out = room((bytes.end - bytes.start) / width, T::default())?;
        let (mut at, mut buffer, swap) = (bytes.start, Vec::new(), layout.swap());
        for out in out.chunks_mut(CHUNK) {
            let range = at..at + out.len() as u64 * width;
            at = range.end;
            kernel::load(self.reader.source.view(range, &mut buffer)?, out, swap);
        }
        Ok(out.into())
    }

    /// The numbers at these bytes of the file where they lie.
    fn borrowed<T: Element>(&self, layout: &Layout, bytes: &Range<u64>) -> Option<&'r [T]> {
        let found = slice(self.reader.source.as_slice()?, bytes)?;
        if layout.swap() && size_of::<T>() > 1 { None } else { bytemuck::try_cast_slice(found).ok() }
    }

    /// Truth values of a range of elements; missing ones are false.
    fn truths(&self, layout: &Layout, range: Range<u64>, mask: Option<&Mask<'_>>) -> Result<Vec<bool>> {
        let start = self.rank(layout, range.start)?;
        let mut out = room(range.end - range.start, false)?;
        let mut bits = mask.map(|mask| mask.as_bits().chunks(CHUNK / 8));
        let mut scratch = Vec::new();
        let (mut at, mut buffer) = (start, Vec::new());
        for out in out.chunks_mut(CHUNK) {
            let bits = bits.as_mut().map(|bits| bits.next().unwrap_or_default());
            let stored = out.len() as u64 - bits.map_or(0, |bits| kernel::missing(bits, out.len() as u64));
            let end = at + stored;
            let range = layout.data.start + at / 8..layout.data.start + bit_bytes(end).max(at / 8);
            let (first, stored) = ((at % 8) as usize, usize::try_from(stored).unwrap_or(0)); // no more than there are elements
            at = end;
            let mut bytes = self.reader.source.view(range, &mut buffer)?;
            let moved;
            if first > 0 {
                moved = kernel::shifted(bytes, first, stored);
                bytes = &moved;
            }
            match bits {
                None => kernel::unpack(bytes, out),
                Some(bits) => {
                    scratch.resize(CHUNK, false);
                    let values = scratch.get_mut(..stored).unwrap_or_default();
                    kernel::unpack(bytes, values);
                    kernel::expand(bits, values, out, false, |value| value);
                }
            }
        }
        Ok(out)
    }
}

/// A part of all bytes.
pub(crate) fn slice<'b>(all: &'b [u8], range: &Range<u64>) -> Option<&'b [u8]> {
    all.get(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?)
}

#[cold]
pub(crate) fn too_many(count: u64) -> Error {
    Error::usage(format!("{count} elements do not fit into memory"))
}

fn check_type<T: Element>(layout: &Layout) -> Result<()> {
    match layout.data_type == T::TYPE {
        true => Ok(()),
        false => Err(Error::usage(format!("its values are {}, not {}", layout.data_type, T::TYPE))),
    }
}
