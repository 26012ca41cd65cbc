//! Arrays and maps, whose head is written before their members are known.

use serde::ser::{self, Serialize};

use super::{CodecError, Serializer, long, put_head};

type Result<T, E = CodecError> = std::result::Result<T, E>;

#[derive(Debug, Clone, Copy)]
pub(super) enum Form {
    Array,
    Map,
}

/// An array or a map that is being written.
#[derive(Debug)]
pub struct Compound<'s, 'o> {
    to: &'s mut Serializer<'o>,
    form: Form,
    /// Where its head begins, and what it says.
    start: usize,
    stated: u32,
    count: usize,
}

impl<'s, 'o> Compound<'s, 'o> {
    pub(super) fn new(to: &'s mut Serializer<'o>, form: Form, count: Option<usize>) -> Result<Self> {
        let count = count.unwrap_or(0);
        let stated = u32::try_from(count).map_err(|_| long("a sequence", count as u64))?;
        let start = to.out.len();
        put_head(to.out, form, stated);
        Ok(Self { to, form, start, stated, count: 0 })
    }

    #[inline]
    fn put<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        value.serialize(&mut *self.to)
    }

    #[inline]
    fn member<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.count += 1;
        self.put(value)
    }

    #[inline]
    fn close(self) -> Result<()> {
        if self.count == self.stated as usize { Ok(()) } else { self.correct() }
    }

    /// There were more members than was said, or fewer: the head is exchanged.
    #[cold]
    fn correct(self) -> Result<()> {
        let count = u32::try_from(self.count).map_err(|_| long("a sequence", self.count as u64))?;
        let (mut old, mut new) = (Vec::new(), Vec::new());
        put_head(&mut old, self.form, self.stated);
        put_head(&mut new, self.form, count);
        self.to.out.splice(self.start..self.start + old.len(), new);
        Ok(())
    }
}

macro_rules! sequences {
    ($($name:ident $method:ident),*) => {$(
        impl ser::$name for Compound<'_, '_> {
            type Ok = ();
            type Error = CodecError;

            #[inline]
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
                self.member(value)
            }

            #[inline]
            fn end(self) -> Result<()> {
                self.close()
            }
        }
    )*};
}

sequences!(
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field
);

macro_rules! structs {
    ($($name:ident),*) => {$(
        impl ser::$name for Compound<'_, '_> {
            type Ok = ();
            type Error = CodecError;

            #[inline]
            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<()> {
                self.member(name)?;
                self.put(value)
            }

            #[inline]
            fn end(self) -> Result<()> {
                self.close()
            }
        }
    )*};
}

structs!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for Compound<'_, '_> {
    type Ok = ();
    type Error = CodecError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        self.member(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.put(value)
    }

    fn end(self) -> Result<()> {
        self.close()
    }
}
