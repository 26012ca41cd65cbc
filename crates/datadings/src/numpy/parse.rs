//! Decodes maps that encode numpy values.

use std::borrow::Cow;

use container_core::{Error, Result};

use super::array::{Dims, MAX_DIMENSIONS};
use super::dtype::{Dtype, FieldDtype, Kind, Primitive};
use super::{Complex, NdArray, Numpy, Pickle, Scalar};
use crate::value::RawValue;
use crate::wire::{Token, Tokens};

/// Maximum nesting of structures; each level is a nested call.
const MAX_NESTING: u32 = 64;
/// Maximum number of zero-sized fields, which cost time for every element.
const MAX_EMPTY_FIELDS: u64 = 16;

/// The members of a map that numpy values have. If a key occurs twice, the last one counts, as in Python.
#[derive(Debug, Clone, Copy, Default)]
struct Members<'a> {
    nd: Option<RawValue<'a>>,
    complex: Option<RawValue<'a>>,
    kind: Option<RawValue<'a>>,
    dtype: Option<RawValue<'a>>,
    shape: Option<RawValue<'a>>,
    data: Option<RawValue<'a>>,
}

impl<'a> Members<'a> {
    fn slot(&mut self, name: &[u8]) -> Option<&mut Option<RawValue<'a>>> {
        Some(match name {
            b"nd" => &mut self.nd,
            b"complex" => &mut self.complex,
            b"kind" => &mut self.kind,
            b"type" => &mut self.dtype,
            b"shape" => &mut self.shape,
            b"data" => &mut self.data,
            _ => return None,
        })
    }
}

/// False if the following pairs cannot encode a numpy value. Looks at the keys only.
#[inline]
pub(crate) fn sniff(mut tokens: Tokens<'_>, count: u32) -> bool {
    // A numpy value has at least two members.
    if count < 2 {
        return false;
    }
    for _ in 0..count {
        // Most keys are short strings.
        match tokens.short_str() {
            Some(b"nd" | b"complex") => return true,
            Some(_) => {}
            None => match sniff_key(&mut tokens) {
                Some(false) => {}
                Some(true) => return true,
                None => return false,
            },
        }
        if tokens.skip().is_err() {
            return false;
        }
    }
    false
}

/// Skips any key; `None` if it is invalid.
fn sniff_key(tokens: &mut Tokens<'_>) -> Option<bool> {
    let here = *tokens;
    match tokens.next().ok()? {
        Token::Bin(b"nd" | b"complex") | Token::Str(b"nd" | b"complex") => Some(true),
        Token::Array(_) | Token::Map(_) => {
            *tokens = here;
            tokens.skip().ok().map(|_| false)
        }
        _ => Some(false),
    }
}

/// The numpy value that a map encodes; `None` for plain maps and other values.
pub(crate) fn read(raw: RawValue<'_>) -> Result<Option<Numpy<'_>>> {
    let mut tokens = raw.tokens();
    let Token::Map(count) = tokens.next()? else { return Ok(None) };
    let (mut new, mut old, mut others) = (Members::default(), Members::default(), false);
    for _ in 0..count {
        let here = tokens;
        let slot = match tokens.next()? {
            Token::Bin(name) => {
                let slot = new.slot(name);
                others = true;
                slot
            }
            Token::Str(name) => {
                let slot = old.slot(name);
                others |= slot.is_none();
                slot
            }
            _ => {
                tokens = here;
                tokens.skip()?;
                others = true;
                None
            }
        };
        let offset = tokens.offset();
        let value = RawValue::at(tokens.skip()?, offset);
        if let Some(slot) = slot {
            *slot = Some(value);
        }
    }
    if new.nd.is_some() || new.complex.is_some() {
        return value(&new, b"", raw.offset());
    }
    // Keys as str prove nothing, so the rest must be valid too.
    let flag = old.nd.or(old.complex).and_then(|flag| flag.tokens().next().ok());
    let is_flag = matches!((flag, old.nd), (Some(Token::Bool(_)), Some(_)) | (Some(Token::Bool(true)), None));
    match !others && is_flag {
        true if old.nd.is_none() => Ok(value(&old, b"str", raw.offset()).unwrap_or(None)),
        true if old.complex.is_none() => value(&old, b"str", raw.offset()),
        _ => Ok(None),
    }
}

fn value<'a>(members: &Members<'a>, style: &[u8], at: u64) -> Result<Option<Numpy<'a>>> {
    let Members { nd, kind, dtype, shape, data, .. } = *members;
    let Some(data) = data else { return Ok(None) };
    let Some(nd) = nd else {
        let text = bytes(data, "the text of a complex number")?;
        let text =
            str::from_utf8(text).map_err(|_| Error::invalid("complex number: invalid UTF-8").at(data.offset()))?;
        return text
            .parse()
            .map(|number: Complex| Some(Numpy::Complex(number)))
            .map_err(|error| error.at(data.offset()));
    };
    if nd.tokens().next()? != Token::Bool(true) {
        let Some(dtype) = dtype else { return Ok(None) };
        let dtype = read_dtype(dtype, 0)?;
        let bytes = bytes(data, "the data of a scalar")?;
        let scalar = Scalar::from_bytes(dtype, Cow::Borrowed(bytes)).map_err(|error| error.at(data.offset()))?;
        return Ok(Some(Numpy::Scalar(scalar)));
    }
    let is_objects = match kind.map(|kind| kind.tokens().next()).transpose()? {
        Some(Token::Bin(kind)) => kind == b"O",
        Some(Token::Str(kind)) => kind == b"O" && !style.is_empty(),
        _ => false,
    };
    if is_objects {
        let shape = shape.and_then(|shape| read_shape(shape).ok()).unwrap_or(Dims::NONE);
        return Ok(Some(Numpy::Pickle(Pickle { shape, data: bytes(data, "a pickle")? })));
    }
    let (Some(dtype), Some(shape)) = (dtype, shape) else { return Ok(None) };
    let dtype = read_dtype(dtype, 0)?;
    let shape = read_shape(shape)?;
    let bytes = bytes(data, "the data of an array")?;
    // As written before there was a `kind`.
    if matches!(&dtype, Dtype::Primitive(of) if of.kind() == Kind::Object) {
        return Ok(Some(Numpy::Pickle(Pickle { shape, data: bytes })));
    }
    let array = NdArray::of(dtype, shape, bytes).map_err(|error| error.at(at))?;
    Ok(Some(Numpy::Array(array)))
}

/// The bytes of a bin or a str.
fn bytes<'a>(raw: RawValue<'a>, what: &str) -> Result<&'a [u8]> {
    match raw.tokens().next()? {
        Token::Bin(bytes) | Token::Str(bytes) => Ok(bytes),
        other => Err(raw.unexpected(what, &other)),
    }
}

fn name<'a>(raw: RawValue<'a>, what: &str) -> Result<&'a str> {
    str::from_utf8(bytes(raw, what)?).map_err(|_| Error::invalid(format!("{what}: invalid UTF-8")).at(raw.offset()))
}

fn read_shape(raw: RawValue<'_>) -> Result<Dims> {
    let mut dims = Dims::NONE;
    let mut tokens = raw.tokens();
    let count = match tokens.next()? {
        Token::Array(count) => count,
        // Numpy accepts a single number as a shape.
        Token::Unsigned(_) => {
            tokens = raw.tokens();
            1
        }
        other => return Err(raw.unexpected("a shape", &other)),
    };
    if count as usize > MAX_DIMENSIONS {
        let error = Error::limit("number of dimensions", count.into(), MAX_DIMENSIONS as u64);
        return Err(error.at(raw.offset()));
    }
    for _ in 0..count {
        let at = tokens.offset();
        match tokens.next()? {
            Token::Unsigned(length) => dims.push(usize::try_from(length).map_err(|_| too_long(length, at))?),
            other => return Err(RawValue::at(&[], at).unexpected("the length of a dimension", &other)),
        }
    }
    Ok(dims)
}

#[cold]
fn too_long(length: u64, at: u64) -> Error {
    Error::invalid(format!("array dimension {length} exceeds the address space")).at(at)
}

/// Decodes a dtype: a string, or an array of fields.
pub(crate) fn dtype_of(raw: RawValue<'_>) -> Result<Dtype> {
    read_dtype(raw, 0)
}

fn read_dtype(raw: RawValue<'_>, depth: u32) -> Result<Dtype> {
    let count = match raw.tokens().next()? {
        Token::Str(text) | Token::Bin(text) => {
            // Fast path for primitive types.
            if let Some(of) = str::from_utf8(text).ok().and_then(Primitive::parse) {
                return Ok(Dtype::Primitive(of));
            }
            return String::from_utf8_lossy(text).parse().map_err(|error: Error| error.at(raw.offset()));
        }
        Token::Array(count) => count,
        other => return Err(raw.unexpected("a dtype", &other)),
    };
    if depth >= MAX_NESTING {
        let error = Error::limit("dtype nesting depth", u64::from(depth) + 1, MAX_NESTING.into());
        return Err(error.at(raw.offset()));
    }
    // The count is not trusted: reading the fields fails at the end of the bytes.
    let mut fields = Vec::with_capacity((count as usize).min(64));
    for field in raw.items()? {
        fields.push(read_field(field?, depth)?);
    }
    let dtype = Dtype::Structured(fields);
    match dtype.item_size() {
        Some(_) if depth == 0 && empties(&dtype) > MAX_EMPTY_FIELDS => {
            let error = Error::limit("number of zero-sized fields", empties(&dtype), MAX_EMPTY_FIELDS);
            Err(error.at(raw.offset()))
        }
        Some(_) => Ok(dtype),
        None => Err(Error::invalid("structure exceeds the address space").at(raw.offset())),
    }
}

/// Number of zero-sized values in an element: they cost time and are backed by nothing.
fn empties(dtype: &Dtype) -> u64 {
    match dtype {
        Dtype::Primitive(of) => u64::from(of.size() == 0),
        Dtype::Structured(fields) => fields.iter().fold(u64::from(fields.is_empty()), |sum, field| {
            let product =
                || field.shape.iter().fold(1u64, |product, &length| product.saturating_mul(length.max(1) as u64));
            let times = if field.size() == Some(0) { product() } else { 1 };
            let each = if field.shape.contains(&0) { 1 } else { empties(&field.dtype) };
            sum.saturating_add(times.saturating_mul(each))
        }),
    }
}

fn read_field(raw: RawValue<'_>, depth: u32) -> Result<FieldDtype> {
    let mut parts = raw.items()?;
    let mut part = || parts.next().transpose();
    let missing = || Error::invalid("structure field: expected [name, dtype] or [name, dtype, shape]").at(raw.offset());
    let first = part()?.ok_or_else(missing)?;
    let mut title = None;
    let field = match first.tokens().next()? {
        Token::Array(2) => {
            let mut names = first.items()?;
            let mut each = || names.next().transpose()?.ok_or_else(missing);
            title = Some(name(each()?, "a field title")?.to_owned());
            name(each()?, "a field name")?
        }
        _ => name(first, "a field name")?,
    };
    let dtype = read_dtype(part()?.ok_or_else(missing)?, depth + 1)?;
    let shape = part()?.map(read_shape).transpose()?.unwrap_or(Dims::NONE);
    if part()?.is_some() {
        return Err(missing());
    }
    let field = FieldDtype { name: field.to_owned(), title, dtype, shape: shape.as_slice().to_vec() };
    Ok(field)
}
