//! Arrays and maps, whose headers are written before the number of members is known.

use serde_core::ser::{self, Serialize};

use super::{CodecError, Serializer, put_header, too_long};

type Result<T, E = CodecError> = std::result::Result<T, E>;

#[derive(Debug, Clone, Copy)]
pub(super) enum CompoundKind {
    Array,
    Map,
}

/// An array or a map under construction.
#[derive(Debug)]
pub struct Compound<'s, 'o> {
    serializer: &'s mut Serializer<'o>,
    kind: CompoundKind,
    /// Position of the header, and the count it declares.
    start: usize,
    declared: u32,
    count: usize,
}

impl<'s, 'o> Compound<'s, 'o> {
    pub(super) fn new(serializer: &'s mut Serializer<'o>, kind: CompoundKind, count: Option<usize>) -> Result<Self> {
        let count = count.unwrap_or(0);
        let declared = u32::try_from(count).map_err(|_| too_long("a sequence", count as u64))?;
        let start = serializer.out.len();
        put_header(serializer.out, kind, declared);
        Ok(Self { serializer, kind, start, declared, count: 0 })
    }

    #[inline]
    fn put<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        value.serialize(&mut *self.serializer)
    }

    #[inline]
    fn member<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.count += 1;
        self.put(value)
    }

    #[inline]
    fn close(self) -> Result<()> {
        if self.count == self.declared as usize { Ok(()) } else { self.replace_header() }
    }

    /// Replaces the header, which declares a wrong number of members.
    #[cold]
    fn replace_header(self) -> Result<()> {
        let count = u32::try_from(self.count).map_err(|_| too_long("a sequence", self.count as u64))?;
        let (mut old, mut new) = (Vec::new(), Vec::new());
        put_header(&mut old, self.kind, self.declared);
        put_header(&mut new, self.kind, count);
        self.serializer.out.splice(self.start..self.start + old.len(), new);
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
