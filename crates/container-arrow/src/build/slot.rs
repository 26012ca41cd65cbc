//! Where values are put.

use arrow_schema::DataType;
use container_core::arrow::OnMismatch;
use container_core::{Error, Result};

use super::column::{Column, Data, Kind, Struct, offset};
use super::tensor::Tensor;
use crate::observe::Class;
use crate::resolve::LONG;

/// What all columns share.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) row: u64,
    pub(super) on_mismatch: OnMismatch,
    /// The schema was inferred from a sample: values have to be such that it would have come of them.
    pub(super) is_sampled: bool,
    /// One was not.
    pub(super) contradicts_sample: bool,
    /// Bytes so far, about.
    pub(super) bytes: usize,
    /// What they may be before the row is too large.
    pub(super) most: usize,
    pub(super) limit: u64,
}

impl Context {
    #[inline]
    fn add(&mut self, bytes: usize) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.most { Err(self.too_large()) } else { Ok(()) }
    }

    #[cold]
    fn too_large(&self) -> Error {
        let row = self.bytes.saturating_sub(self.most) as u64;
        Error::limit("bytes of a row as columns", self.limit.saturating_add(row), self.limit).in_row(self.row)
    }

    /// The schema of the sample is wrong.
    #[cold]
    fn missed(&mut self, column: &Column) -> Error {
        self.contradicts_sample = true;
        let error = Error::invalid(format!("rows before did not tell of this value in a column of {}", column.takes()));
        self.placed(error, column)
    }

    #[cold]
    fn placed(&self, error: Error, column: &Column) -> Error {
        error.in_row(self.row).in_column(column.path.to_string())
    }
}

/// What a place takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SlotEncoding {
    /// The value itself.
    Value,
    /// Its JSON text, whatever it is; null stays null.
    Json,
    /// Its msgpack, whatever it is; null stays null.
    Msgpack,
}

/// A place of a value: one of the methods puts it there. What does not fit the column exactly becomes null and is counted, or is an error, as the
/// columns were told.
#[derive(Debug)]
pub struct Slot<'c> {
    pub(super) column: &'c mut Column,
    pub(super) context: &'c mut Context,
}

/// # Errors
/// Those of each method: [`Invalid`](container_core::ErrorKind::Invalid) with row and column for a value that does not fit, where that is an error;
/// [`Limit`](container_core::ErrorKind::Limit) for a row that is too large.
impl<'c> Slot<'c> {
    /// What the place takes.
    #[inline]
    #[must_use]
    pub fn encoding(&self) -> SlotEncoding {
        match self.column.kind() {
            Some(Kind::Json) => SlotEncoding::Json,
            Some(Kind::Msgpack) => SlotEncoding::Msgpack,
            _ => SlotEncoding::Value,
        }
    }

    /// Does the column have members?
    pub(crate) fn is_object(&self) -> bool {
        matches!(self.data_type(), DataType::Struct(_) | DataType::Map(..))
    }

    /// The type of the column.
    #[must_use]
    pub fn data_type(&self) -> &DataType {
        self.column.field.data_type()
    }

    #[inline]
    fn check(self, fits: Result<bool>, class: Class) -> Result<()> {
        match fits {
            Ok(true) => Ok(()),
            Ok(false) => self.on_mismatch(class),
            Err(error) => Err(self.context.placed(error, self.column)),
        }
    }

    /// A value of this class that does not fit, or that is left out.
    ///
    /// # Errors
    /// See above.
    #[cold]
    pub fn on_mismatch(self, class: Class) -> Result<()> {
        let column = self.column;
        if self.context.is_sampled {
            return Err(self.context.missed(column));
        }
        if self.context.on_mismatch == OnMismatch::Error {
            let (found, takes) = (class.name(), column.takes());
            let error = Error::invalid(format!("{found} does not fit into a column of {takes}"))
                .advising("{on_mismatch} null or json says what becomes of it");
            return Err(self.context.placed(error, column));
        }
        column.truncate(column.len());
        column.pad(1);
        if column.lost == 0 {
            column.first_lost = self.context.row;
        }
        column.lost += 1;
        Ok(())
    }

    /// Null.
    #[inline]
    pub fn null(self) {
        self.column.pad(1);
    }

    /// What a slot of a sparse vector is that has no value: 0, an empty text, false; null where a column has none of these.
    pub(crate) fn zero(self) -> Result<()> {
        match &self.column.data {
            Data::Bool(_) => self.bool(false),
            Data::Blob(_, Kind::Text) | Data::LargeBlob(_, Kind::Text) | Data::Dictionary(_) => self.str(""),
            Data::I8(_) | Data::I16(_) | Data::I32(_) | Data::I64(_) | Data::F16(_) | Data::F32(_) | Data::F64(_) => {
                self.i64(0)
            }
            Data::U8(_) | Data::U16(_) | Data::U32(_) | Data::U64(_) => self.i64(0),
            _ => {
                self.null();
                Ok(())
            }
        }
    }

    /// A boolean.
    ///
    /// # Errors
    /// See above.
    #[inline]
    pub fn bool(self, value: bool) -> Result<()> {
        let fits = self.column.put_bool(value);
        self.check(fits, Class::Bool)
    }

    /// An integer.
    ///
    /// # Errors
    /// See above.
    #[inline]
    pub fn i64(self, value: i64) -> Result<()> {
        let fits = self.column.put_i64(value);
        self.check(fits, Class::Integer)
    }

    /// An integer.
    ///
    /// # Errors
    /// See above.
    #[inline]
    pub fn u64(self, value: u64) -> Result<()> {
        let fits = self.column.put_u64(value);
        self.check(fits, Class::Integer)
    }

    /// A float, of 64 bits or of decimal digits.
    ///
    /// # Errors
    /// See above.
    #[inline]
    pub fn f64(self, value: f64) -> Result<()> {
        if self.context.is_sampled && !matches!(self.column.data, Data::F64(_)) {
            // An integer would not have been inferred from it.
            return self.on_mismatch(Class::Float);
        }
        let fits = self.column.put_f64(value);
        self.check(fits, Class::Float)
    }

    /// A float of 32 bits.
    ///
    /// # Errors
    /// See above.
    #[inline]
    pub fn f32(self, value: f32) -> Result<()> {
        let fits = self.column.put_f32(value);
        self.check(fits, Class::Float)
    }

    /// A float of 16 bits, as they are.
    ///
    /// # Errors
    /// See above.
    pub fn f16(self, bits: u16) -> Result<()> {
        let fits = self.column.put_f16(bits);
        self.check(fits, Class::Float)
    }

    /// A text. Into columns of dates and times as ISO 8601, such as `2024-05-01T12:00:00.5Z`.
    ///
    /// # Errors
    /// See above.
    #[inline]
    pub fn str(self, value: &str) -> Result<()> {
        self.context.add(value.len())?;
        if self.context.is_sampled && value.len() as u64 > LONG {
            return self.on_mismatch(Class::Text);
        }
        let fits = self.column.put_str(value);
        self.check(fits, Class::Text)
    }

    /// Bytes.
    ///
    /// # Errors
    /// See above.
    pub fn bytes(self, value: &[u8]) -> Result<()> {
        self.context.add(value.len())?;
        let fits = self.column.put_bytes(value);
        self.check(fits, Class::Bytes)
    }

    /// The JSON text of a value that is not null, where the place [wants](Self::wants) it.
    ///
    /// # Errors
    /// See above.
    pub fn json(self, text: &str) -> Result<()> {
        self.context.add(text.len())?;
        let fits = self.column.put_encoded(text.as_bytes(), Kind::Json);
        self.check(fits, Class::Text)
    }

    /// The msgpack of a value that is not nil, where the place [wants](Self::wants) it.
    ///
    /// # Errors
    /// See above.
    pub fn msgpack(self, bytes: &[u8]) -> Result<()> {
        self.context.add(bytes.len())?;
        let fits = self.column.put_encoded(bytes, Kind::Msgpack);
        self.check(fits, Class::Bytes)
    }

    /// A list, whose elements are put one by one, and [ended](ListSlot::end). `None` where it does not fit: it is null then, and its elements
    /// are to be passed over.
    ///
    /// # Errors
    /// See above.
    #[inline]
    pub fn list(self) -> Result<Option<ListSlot<'c>>> {
        match self.column.data {
            Data::List(..) | Data::LargeList(..) | Data::FixedList(..) => {
                Ok(Some(ListSlot { column: self.column, context: self.context }))
            }
            _ => self.on_mismatch(Class::List).map(|()| None),
        }
    }

    /// An object, whose members are put one by one, and [ended](ObjectSlot::end). `None` where it does not fit: it is null then, and its
    /// members are to be passed over.
    ///
    /// # Errors
    /// See above.
    #[inline]
    pub fn object(self) -> Result<Option<ObjectSlot<'c>>> {
        if !matches!(self.column.data, Data::Struct(_)) {
            return self.on_mismatch(Class::Object).map(|()| None);
        }
        let Column { data, nulls, .. } = self.column;
        match data {
            Data::Struct(inner) => Ok(Some(ObjectSlot { inner, nulls, context: self.context, expected: 0 })),
            _ => Ok(None), // it is one
        }
    }

    /// A tensor: its elements as they lie in memory, those of the last dimension first.
    ///
    /// # Errors
    /// See above; [`Invalid`](container_core::ErrorKind::Invalid) for as many bytes as the shape does not have.
    pub fn tensor(self, tensor: &Tensor<'_>) -> Result<()> {
        tensor.check().map_err(|error| self.context.placed(error, self.column))?;
        self.context.add(tensor.data.len())?;
        let put = tensor.put(self.column);
        self.check(put, Class::Tensor)
    }
}

/// A list that is being put.
#[derive(Debug)]
pub struct ListSlot<'c> {
    column: &'c mut Column,
    context: &'c mut Context,
}

impl ListSlot<'_> {
    /// The place of the next element.
    ///
    /// # Errors
    /// [`Limit`](container_core::ErrorKind::Limit) for a row that is too large.
    #[inline]
    pub fn element(&mut self) -> Result<Slot<'_>> {
        let column = match &mut self.column.data {
            Data::List(_, values) | Data::LargeList(_, values) | Data::FixedList(_, values) => values,
            _ => return Err(Error::usage("the column is no list")), // list() has looked
        };
        self.context.add(column.width)?;
        Ok(Slot { column, context: self.context })
    }

    /// The list is whole.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) with row and column for a list of another length than the column's, where that is an error.
    #[inline]
    pub fn end(self) -> Result<()> {
        let Self { column, context } = self;
        let ended = match &mut column.data {
            Data::List(offsets, values) => offset(values.len()).map(|end| offsets.push(end)),
            Data::LargeList(offsets, values) => offset(values.len()).map(|end| offsets.push(end)),
            Data::FixedList(size, values) => match values.len() == *size * (column.nulls.len() + 1) {
                true => Ok(()),
                false => return Slot { column, context }.on_mismatch(Class::List),
            },
            _ => Ok(()),
        };
        ended.map_err(|error| context.placed(error, column))?;
        column.nulls.append_non_null();
        Ok(())
    }
}

/// An object that is being put.
#[derive(Debug)]
pub struct ObjectSlot<'c> {
    pub(super) inner: &'c mut Struct,
    pub(super) nulls: &'c mut arrow_buffer::NullBufferBuilder,
    pub(super) context: &'c mut Context,
    /// Where the next member is, if the object is like those before.
    pub(super) expected: usize,
}

impl ObjectSlot<'_> {
    /// The place of a member; of one that comes again the value before is forgotten, and counted as a loss. `None` where there is no such column: the value is to be
    /// passed over.
    #[inline]
    pub fn member(&mut self, name: &str) -> Option<Slot<'_>> {
        let Some(place) = self.inner.find(name, self.expected) else {
            // A sample with it would have the column.
            self.context.contradicts_sample |= self.context.is_sampled;
            return None;
        };
        self.expected = place + 1;
        self.at(place)
    }

    /// The same by its place among the columns.
    #[inline]
    pub fn at(&mut self, place: usize) -> Option<Slot<'_>> {
        let column = self.inner.columns.get_mut(place)?;
        let (own, len) = (column.len(), self.nulls.len());
        if own < len {
            column.pad(len - own);
        } else if own > len {
            column.truncate(len);
            if column.replaced == 0 {
                column.first_replaced = self.context.row;
            }
            column.replaced += 1;
        }
        Some(Slot { column, context: self.context })
    }

    /// Was a value put for this member?
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        let column = self.inner.find(name, 0).and_then(|place| self.inner.columns.get(place));
        column.is_some_and(|column| column.len() > self.nulls.len())
    }

    /// The object is whole: members that were not put are null.
    #[inline]
    pub fn end(self) {
        self.nulls.append_non_null();
    }
}
