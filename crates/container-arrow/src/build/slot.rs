//! Slots: write access to the next value of a column.

use arrow_schema::DataType;
use container_core::arrow::OnMismatch;
use container_core::{Error, Result};

use super::column::{Column, Data, Kind, Struct, offset};
use super::tensor::Tensor;
use crate::observe::Class;
use crate::resolve::LARGE_VALUE_LEN;

/// State shared by all columns.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) row: u64,
    pub(super) on_mismatch: OnMismatch,
    /// The schema was inferred from a sample, so values must lead to the same schema.
    pub(super) is_sampled: bool,
    /// A value or member contradicted the sample.
    pub(super) contradicts_sample: bool,
    /// Approximate bytes of the batch.
    pub(super) bytes: usize,
    /// Maximum of `bytes` for the current row.
    pub(super) max_bytes: usize,
    pub(super) limit: u64,
}

impl Context {
    #[inline]
    fn add(&mut self, bytes: usize) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.max_bytes { Err(self.too_large()) } else { Ok(()) }
    }

    #[cold]
    fn too_large(&self) -> Error {
        let excess = self.bytes.saturating_sub(self.max_bytes) as u64;
        Error::limit("row size in bytes", self.limit.saturating_add(excess), self.limit).in_row(self.row)
    }

    /// Records that a value contradicts the sampled schema.
    #[cold]
    fn sample_error(&mut self, column: &Column) -> Error {
        self.contradicts_sample = true;
        let error =
            Error::invalid(format!("value not covered by the sampled schema, in a column of {}", column.type_name()));
        self.locate(error, column)
    }

    #[cold]
    fn locate(&self, error: Error, column: &Column) -> Error {
        error.in_row(self.row).in_column(column.path.to_string())
    }
}

/// The form in which a slot takes values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SlotEncoding {
    /// The value itself.
    Value,
    /// The JSON text of any value but null.
    Json,
    /// The msgpack of any value but null.
    Msgpack,
}

/// The slot of one value: call the method of its type. A value that the column cannot represent exactly becomes null and counts as a loss, or is an
/// error, depending on [`Mapping::on_mismatch`](crate::Mapping::on_mismatch).
#[derive(Debug)]
pub struct Slot<'c> {
    pub(super) column: &'c mut Column,
    pub(super) context: &'c mut Context,
}

/// # Errors
/// All methods return [`Invalid`](container_core::ErrorKind::Invalid) with row and column for a value that does not fit, with
/// [`OnMismatch::Error`]; and [`Limit`](container_core::ErrorKind::Limit) for a row that is too large.
impl<'c> Slot<'c> {
    /// The form in which this slot takes values.
    #[inline]
    #[must_use]
    pub fn encoding(&self) -> SlotEncoding {
        match self.column.kind() {
            Some(Kind::Json) => SlotEncoding::Json,
            Some(Kind::Msgpack) => SlotEncoding::Msgpack,
            _ => SlotEncoding::Value,
        }
    }

    /// Returns true for structs and maps.
    #[must_use]
    pub fn is_object(&self) -> bool {
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
            Err(error) => Err(self.context.locate(error, self.column)),
        }
    }

    /// Handles a value of this class as one that does not fit.
    ///
    /// # Errors
    /// See above.
    #[cold]
    pub fn on_mismatch(self, class: Class) -> Result<()> {
        let column = self.column;
        if self.context.is_sampled {
            return Err(self.context.sample_error(column));
        }
        if self.context.on_mismatch == OnMismatch::Error {
            let (found, expected) = (class.name(), column.type_name());
            let error = Error::invalid(format!("{found} does not fit into a column of {expected}"))
                .advising("use {on_mismatch} null or json");
            return Err(self.context.locate(error, column));
        }
        column.truncate(column.len());
        column.pad(1);
        if column.lost == 0 {
            column.first_lost = self.context.row;
        }
        column.lost += 1;
        Ok(())
    }

    /// Writes null.
    #[inline]
    pub fn null(self) {
        self.column.pad(1);
    }

    /// Writes an implicit element of a sparse vector: 0, false or empty text, or null for other types.
    ///
    /// # Errors
    /// See above.
    pub fn zero(self) -> Result<()> {
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

    /// Writes a boolean.
    ///
    /// # Errors
    /// See above.
    #[inline]
    pub fn bool(self, value: bool) -> Result<()> {
        let fits = self.column.put_bool(value);
        self.check(fits, Class::Bool)
    }

    /// Writes an integer.
    ///
    /// # Errors
    /// See above.
    #[inline]
    pub fn i64(self, value: i64) -> Result<()> {
        let fits = self.column.put_i64(value);
        self.check(fits, Class::Integer)
    }

    /// Writes an integer.
    ///
    /// # Errors
    /// See above.
    #[inline]
    pub fn u64(self, value: u64) -> Result<()> {
        let fits = self.column.put_u64(value);
        self.check(fits, Class::Integer)
    }

    /// Writes a 64-bit float, or a decimal number.
    ///
    /// # Errors
    /// See above.
    #[inline]
    pub fn f64(self, value: f64) -> Result<()> {
        if self.context.is_sampled && !matches!(self.column.data, Data::F64(_)) {
            // A float would have changed the inferred type.
            return self.on_mismatch(Class::Float);
        }
        let fits = self.column.put_f64(value);
        self.check(fits, Class::Float)
    }

    /// Writes a 32-bit float.
    ///
    /// # Errors
    /// See above.
    #[inline]
    pub fn f32(self, value: f32) -> Result<()> {
        let fits = self.column.put_f32(value);
        self.check(fits, Class::Float)
    }

    /// Writes the bits of a 16-bit float.
    ///
    /// # Errors
    /// See above.
    pub fn f16(self, bits: u16) -> Result<()> {
        let fits = self.column.put_f16(bits);
        self.check(fits, Class::Float)
    }

    /// Writes text. For date and time columns, ISO 8601 such as `2024-05-01T12:00:00.5Z`.
    ///
    /// # Errors
    /// See above.
    #[inline]
    pub fn str(self, value: &str) -> Result<()> {
        self.context.add(value.len())?;
        if self.context.is_sampled && value.len() as u64 > LARGE_VALUE_LEN {
            return self.on_mismatch(Class::Text);
        }
        let fits = self.column.put_str(value);
        self.check(fits, Class::Text)
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// See above.
    pub fn bytes(self, value: &[u8]) -> Result<()> {
        self.context.add(value.len())?;
        let fits = self.column.put_bytes(value);
        self.check(fits, Class::Bytes)
    }

    /// Writes the JSON text of a value that is not null, for slots with [`SlotEncoding::Json`].
    ///
    /// # Errors
    /// See above.
    pub fn json(self, text: &str) -> Result<()> {
        self.context.add(text.len())?;
        let fits = self.column.put_encoded(text.as_bytes(), Kind::Json);
        self.check(fits, Class::Text)
    }

    /// Writes the msgpack of a value that is not nil, for slots with [`SlotEncoding::Msgpack`].
    ///
    /// # Errors
    /// See above.
    pub fn msgpack(self, bytes: &[u8]) -> Result<()> {
        self.context.add(bytes.len())?;
        let fits = self.column.put_encoded(bytes, Kind::Msgpack);
        self.check(fits, Class::Bytes)
    }

    /// Starts a list. Write its elements one by one, then call [`end`](ListSlot::end). `None` if it does not fit and became null: skip its elements.
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

    /// Starts an object. Write its members one by one, then call [`end`](ObjectSlot::end). `None` if it does not fit and became null: skip its members.
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
            _ => Ok(None), // cannot happen: checked above
        }
    }

    /// Writes a tensor.
    ///
    /// # Errors
    /// See above; [`Invalid`](container_core::ErrorKind::Invalid) if the data does not match the shape.
    pub fn tensor(self, tensor: &Tensor<'_>) -> Result<()> {
        tensor.check().map_err(|error| self.context.locate(error, self.column))?;
        self.context.add(tensor.data.len())?;
        let put = tensor.put(self.column);
        self.check(put, Class::Tensor)
    }
}

/// Writes a list.
#[derive(Debug)]
pub struct ListSlot<'c> {
    column: &'c mut Column,
    context: &'c mut Context,
}

impl ListSlot<'_> {
    /// Returns the slot of the next element.
    ///
    /// # Errors
    /// [`Limit`](container_core::ErrorKind::Limit) for a row that is too large.
    #[inline]
    pub fn element(&mut self) -> Result<Slot<'_>> {
        let column = match &mut self.column.data {
            Data::List(_, values) | Data::LargeList(_, values) | Data::FixedList(_, values) => values,
            _ => return Err(Error::usage("the column is not a list")), // cannot happen: checked by list()
        };
        // Nulls of no type take no bytes, but a sparse vector can declare any number of them.
        self.context.add(column.width.max(1))?;
        Ok(Slot { column, context: self.context })
    }

    /// Ends the list.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) with row and column if the length does not match a fixed-size
    /// list, with [`OnMismatch::Error`].
    #[inline]
    pub fn end(self) -> Result<()> {
        let Self { column, context } = self;
        let result = match &mut column.data {
            Data::List(offsets, values) => offset(values.len()).map(|end| offsets.push(end)),
            Data::LargeList(offsets, values) => offset(values.len()).map(|end| offsets.push(end)),
            Data::FixedList(size, values) => match values.len() == *size * (column.nulls.len() + 1) {
                true => Ok(()),
                false => return Slot { column, context }.on_mismatch(Class::List),
            },
            _ => Ok(()),
        };
        result.map_err(|error| context.locate(error, column))?;
        column.nulls.append_non_null();
        Ok(())
    }
}

/// Writes an object.
#[derive(Debug)]
pub struct ObjectSlot<'c> {
    pub(super) inner: &'c mut Struct,
    pub(super) nulls: &'c mut arrow_buffer::NullBufferBuilder,
    pub(super) context: &'c mut Context,
    /// Expected index of the next member, if members come in the usual order.
    pub(super) expected: usize,
}

impl ObjectSlot<'_> {
    /// Returns the slot of a member, or `None` if there is no such column. A duplicate member replaces the earlier value, which counts as a loss.
    #[inline]
    pub fn member(&mut self, name: &str) -> Option<Slot<'_>> {
        let Some(index) = self.inner.find(name, self.expected) else {
            // It would have added a column to the sample.
            self.context.contradicts_sample |= self.context.is_sampled;
            return None;
        };
        self.expected = index + 1;
        self.at(index)
    }

    /// Returns the slot of a member by column index.
    #[inline]
    pub fn at(&mut self, index: usize) -> Option<Slot<'_>> {
        let column = self.inner.columns.get_mut(index)?;
        let (column_len, len) = (column.len(), self.nulls.len());
        if column_len < len {
            column.pad(len - column_len);
        } else if column_len > len {
            column.truncate(len);
            if column.replaced == 0 {
                column.first_replaced = self.context.row;
            }
            column.replaced += 1;
        }
        Some(Slot { column, context: self.context })
    }

    /// Returns true if this member has been written.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        let column = self.inner.find(name, 0).and_then(|index| self.inner.columns.get(index));
        column.is_some_and(|column| column.len() > self.nulls.len())
    }

    /// Ends the object. Missing members become null.
    #[inline]
    pub fn end(self) {
        self.nulls.append_non_null();
    }
}
