use container_core::{Error, Result};

use super::dtype::{ByteOrder, Dtype, FieldDtype, Kind, Primitive, TimeUnit};
use super::element::{Element, F16};

/// One element of an array, or a numpy scalar, with the type given by its dtype.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Item<'a> {
    /// `b`; any nonzero byte is true.
    Bool(bool),
    /// `i`.
    Int(i64),
    /// `u`.
    Uint(u64),
    /// `f2`.
    F16(F16),
    /// `f4`.
    F32(f32),
    /// `f8`.
    F64(f64),
    /// `c8`: real and imaginary part.
    Complex32([f32; 2]),
    /// `c16`: real and imaginary part.
    Complex64([f64; 2]),
    /// `S`, without trailing NULs.
    Bytes(&'a [u8]),
    /// `U`, without trailing NULs.
    Text(String),
    /// `M8`: units since 1970-01-01; the smallest number means "not a time".
    Datetime(i64, TimeUnit),
    /// `m8`: units; the smallest number means "not a time".
    Timedelta(i64, TimeUnit),
    /// `V`, long doubles, addresses of objects: bytes not interpreted here.
    Opaque(Primitive, &'a [u8]),
    /// An element with named fields.
    Record(Record<'a>),
}

impl<'a> Item<'a> {
    /// Reads an element from exactly its bytes.
    pub(crate) fn read(dtype: &'a Dtype, bytes: &'a [u8]) -> Result<Self> {
        let of = match dtype {
            Dtype::Primitive(of) => *of,
            Dtype::Structured(fields) => return Ok(Self::Record(Record { fields, bytes })),
        };
        let order = of.order();
        Ok(match (of.kind(), of.size()) {
            (Kind::Bool, _) => Self::Bool(bool::read(bytes, order)),
            (Kind::Int, 1) => Self::Int(i8::read(bytes, order).into()),
            (Kind::Int, 2) => Self::Int(i16::read(bytes, order).into()),
            (Kind::Int, 4) => Self::Int(i32::read(bytes, order).into()),
            (Kind::Int, _) => Self::Int(i64::read(bytes, order)),
            (Kind::Uint, 1) => Self::Uint(u8::read(bytes, order).into()),
            (Kind::Uint, 2) => Self::Uint(u16::read(bytes, order).into()),
            (Kind::Uint, 4) => Self::Uint(u32::read(bytes, order).into()),
            (Kind::Uint, _) => Self::Uint(u64::read(bytes, order)),
            (Kind::Float, 2) => Self::F16(F16::read(bytes, order)),
            (Kind::Float, 4) => Self::F32(f32::read(bytes, order)),
            (Kind::Float, 8) => Self::F64(f64::read(bytes, order)),
            (Kind::Complex, 8) => Self::Complex32(<[f32; 2]>::read(bytes, order)),
            (Kind::Complex, 16) => Self::Complex64(<[f64; 2]>::read(bytes, order)),
            (Kind::Datetime, _) => Self::Datetime(i64::read(bytes, order), of.unit().unwrap_or(TimeUnit::GENERIC)),
            (Kind::Timedelta, _) => Self::Timedelta(i64::read(bytes, order), of.unit().unwrap_or(TimeUnit::GENERIC)),
            (Kind::Bytes, _) => Self::Bytes(trimmed(bytes)),
            (Kind::Text, _) => Self::Text(text(bytes, order)?),
            (Kind::Float | Kind::Complex | Kind::Void | Kind::Object, _) => Self::Opaque(of, bytes),
        })
    }
}

fn trimmed(bytes: &[u8]) -> &[u8] {
    let used = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    bytes.get(..used).unwrap_or_default()
}

fn text(bytes: &[u8], order: ByteOrder) -> Result<String> {
    let mut text = String::with_capacity(bytes.len() / 4);
    let mut nuls = 0;
    for point in bytes.chunks_exact(4).map(|bytes| u32::read(bytes, order)) {
        if point == 0 {
            nuls += 1;
            continue;
        }
        text.extend(std::iter::repeat_n('\0', std::mem::take(&mut nuls)));
        let char = char::from_u32(point);
        text.push(char.ok_or_else(|| Error::invalid(format!("invalid code point {point:#x}")))?);
    }
    Ok(text)
}

/// One element of a structured array.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Record<'a> {
    fields: &'a [FieldDtype],
    bytes: &'a [u8],
}

impl<'a> Record<'a> {
    /// The fields with their bytes, without padding. A single nameless field is not padding.
    pub fn fields(&self) -> impl Iterator<Item = (&'a FieldDtype, &'a [u8])> + use<'a> {
        let mut rest = self.bytes;
        let is_single = self.fields.len() == 1;
        self.fields.iter().filter_map(move |field| {
            let (head, tail) = rest.split_at_checked(field.size().unwrap_or_default()).unwrap_or_default();
            rest = tail;
            (is_single || !field.is_padding()).then_some((field, head))
        })
    }

    /// A field that is a single element.
    ///
    /// # Errors
    /// When there is no such field, or it is an array.
    pub fn get(&self, name: &str) -> Result<Item<'a>> {
        let field = self.fields().find(|(field, _)| field.name == name && field.shape.is_empty());
        let (field, bytes) = field.ok_or_else(|| Error::usage(format!("no single-element field {name:?}")))?;
        Item::read(&field.dtype, bytes)
    }
}
