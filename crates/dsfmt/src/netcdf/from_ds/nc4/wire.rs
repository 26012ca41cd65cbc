//! HDF5 structures that NetCDF-4 needs: superblock version 2, object headers version 2, messages. Little-endian, with 8-byte addresses and lengths.

use container_core::{Error, Result};
use hdf5_reader::checksum::jenkins_lookup3;

use crate::types::DataType;

/// The undefined address.
pub(super) const UNDEFINED: u64 = u64::MAX;

/// Length of the superblock at the start of the file.
pub(super) const SUPERBLOCK: usize = 48;

/// Maximum length of a message body.
pub(super) const MAX_MESSAGE: usize = u16::MAX as usize;

/// Maximum length of an object header that the C library keeps in memory.
const MAX_HEADER: usize = 16 << 20;

/// Message types.
pub(super) const DATASPACE: u8 = 0x01;
pub(super) const LINK_INFO: u8 = 0x02;
pub(super) const DATATYPE: u8 = 0x03;
pub(super) const FILL: u8 = 0x05;
pub(super) const LINK: u8 = 0x06;
pub(super) const LAYOUT: u8 = 0x08;
pub(super) const GROUP_INFO: u8 = 0x0a;
pub(super) const FILTERS: u8 = 0x0b;
pub(super) const ATTRIBUTE: u8 = 0x0c;
pub(super) const ATTRIBUTE_INFO: u8 = 0x15;

/// Flags: creation order is tracked and indexed.
const ORDERED: u8 = 0b11;

/// Builds bytes.
#[derive(Debug, Default)]
pub(super) struct Bytes(pub(super) Vec<u8>);

impl Bytes {
    pub(super) fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn u8(&mut self, number: u8) -> &mut Self {
        self.raw(&[number])
    }

    pub(super) fn u16(&mut self, number: u16) -> &mut Self {
        self.raw(&number.to_le_bytes())
    }

    pub(super) fn u32(&mut self, number: u32) -> &mut Self {
        self.raw(&number.to_le_bytes())
    }

    pub(super) fn u64(&mut self, number: u64) -> &mut Self {
        self.raw(&number.to_le_bytes())
    }

    /// Appends the checksum of everything before it.
    pub(super) fn checksum(&mut self) -> &mut Self {
        self.u32(jenkins_lookup3(&self.0))
    }
}

/// The dataspace of a dataset or attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Space {
    /// No elements.
    Null,
    /// One element.
    Scalar,
    /// Sizes, and whether each may grow.
    Simple(Vec<(u64, bool)>),
}

impl Space {
    /// One dimension of `count` elements.
    pub(super) fn list(count: usize) -> Self {
        if count == 0 { Self::Null } else { Self::Simple(vec![(count as u64, false)]) }
    }

    pub(super) fn message(&self) -> Result<Vec<u8>> {
        let mut out = Bytes::default();
        let (sizes, code): (&[(u64, bool)], u8) = match self {
            Self::Null => (&[], 2),
            Self::Scalar => (&[], 0),
            Self::Simple(sizes) => (sizes, 1),
        };
        let rank = u8::try_from(sizes.len()).ok().filter(|rank| *rank <= 32);
        let rank = rank.ok_or_else(|| {
            Error::usage(format!("NetCDF-4 cannot hold {} dimensions of a variable (at most 32)", sizes.len()))
        })?;
        let growing = sizes.iter().any(|(_, growing)| *growing);
        out.u8(2).u8(rank).u8(u8::from(growing)).u8(code);
        for (size, _) in sizes {
            out.u64(*size);
        }
        for (size, growing) in sizes.iter().filter(|_| growing) {
            out.u64(if *growing { u64::MAX } else { *size });
        }
        Ok(out.0)
    }
}

/// Datatype of little-endian numbers.
pub(super) fn number(number: DataType) -> Vec<u8> {
    let mut out = Bytes::default();
    let width = u16::try_from(number.width().unwrap_or(1)).unwrap_or(1);
    let bits = width * 8;
    match number {
        DataType::Float32 => {
            out.raw(&[0x11, 0x20, 31, 0]).u32(4).u16(0).u16(32).raw(&[23, 8, 0, 23]).u32(127);
        }
        DataType::Float64 => {
            out.raw(&[0x11, 0x20, 63, 0]).u32(8).u16(0).u16(64).raw(&[52, 11, 0, 52]).u32(1023);
        }
        _ => {
            let signed = matches!(number, DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64);
            out.raw(&[0x10, if signed { 8 } else { 0 }, 0, 0]).u32(width.into()).u16(0).u16(bits);
        }
    }
    out.0
}

/// Datatype of strings of `len` bytes.
pub(super) fn text(len: u32, utf8: bool) -> Vec<u8> {
    let mut out = Bytes::default();
    out.raw(&[0x13, if utf8 { 0x10 } else { 0 }, 0, 0]).u32(len);
    out.0
}

/// Datatype of variable-length strings.
pub(super) fn variable_text() -> Vec<u8> {
    let mut out = Bytes::default();
    out.raw(&[0x19, 1, 1, 0]).u32(16).raw(&number(DataType::Uint8));
    out.0
}

/// Datatype of object references.
fn reference() -> Vec<u8> {
    let mut out = Bytes::default();
    out.raw(&[0x17, 0, 0, 0]).u32(8);
    out.0
}

/// Datatype of lists of references, for the attribute `DIMENSION_LIST`.
pub(super) fn references() -> Vec<u8> {
    let mut out = Bytes::default();
    out.raw(&[0x19, 0, 0, 0]).u32(16).raw(&reference());
    out.0
}

/// Datatype of a reference with an axis number, for the attribute `REFERENCE_LIST`.
pub(super) fn users() -> Vec<u8> {
    let mut out = Bytes::default();
    out.raw(&[0x16, 2, 0, 0]).u32(16);
    for (name, at, of) in
        [(b"dataset\0\0\0\0\0\0\0\0\0", 0, reference()), (b"dimension\0\0\0\0\0\0\0", 8, number(DataType::Int32))]
    {
        // Version 1, without array dimensions.
        out.raw(name.split_at(if at == 0 { 8 } else { 16 }).0).u32(at).raw(&[0; 28]).raw(&of);
    }
    out.0
}

/// Fill value message; `None` means zeros.
pub(super) fn fill(value: Option<&[u8]>, chunked: bool) -> Vec<u8> {
    let mut out = Bytes::default();
    let value = value.unwrap_or_default();
    // Allocated when written; the fill value is written if set.
    out.raw(&[2, if chunked { 3 } else { 2 }, 2, 1]).u32(u32::try_from(value.len()).unwrap_or(0)).raw(value);
    out.0
}

/// Layout of contiguous values.
pub(super) fn contiguous(address: u64, bytes: u64) -> Vec<u8> {
    let mut out = Bytes::default();
    out.raw(&[3, 1]).u64(address).u64(bytes);
    out.0
}

/// Layout of chunked values, indexed by the B-tree at `tree`.
pub(super) fn chunked(tree: u64, sizes: &[u32], width: u32) -> Vec<u8> {
    let mut out = Bytes::default();
    out.raw(&[3, 2, u8::try_from(sizes.len() + 1).unwrap_or(u8::MAX)]).u64(tree);
    for size in sizes {
        out.u32(*size);
    }
    out.u32(width);
    out.0
}

/// Filters: shuffle, then deflate.
pub(super) fn filters(width: u32, level: u8) -> Vec<u8> {
    let mut out = Bytes::default();
    out.raw(&[2, 2]);
    for (filter, parameter) in [(2, width), (1, u32::from(level))] {
        out.u16(filter).u16(1).u16(1).u32(parameter);
    }
    out.0
}

/// Link info: links are in the group's header, in creation order.
pub(super) fn link_info(count: usize) -> Vec<u8> {
    let mut out = Bytes::default();
    out.raw(&[0, ORDERED]).u64(count as u64).u64(UNDEFINED).u64(UNDEFINED).u64(UNDEFINED);
    out.0
}

/// The link to the `order`th member of a group.
pub(super) fn link(name: &str, order: usize, address: u64) -> Result<Vec<u8>> {
    let mut out = Bytes::default();
    // With creation order and character set; the name's length has two bytes.
    out.raw(&[1, 0b1_1101, 0]).u64(order as u64).u8(u8::from(!name.is_ascii()));
    out.u16(len16(name.len())?).raw(name.as_bytes()).u64(address);
    Ok(out.0)
}

/// Attribute info: attributes are in the object's header, in creation order.
pub(super) fn attribute_info(count: usize) -> Result<Vec<u8>> {
    let mut out = Bytes::default();
    out.raw(&[0, ORDERED]).u16(len16(count)?).u64(UNDEFINED).u64(UNDEFINED).u64(UNDEFINED);
    Ok(out.0)
}

/// An attribute.
pub(super) fn attribute(name: &str, data_type: &[u8], space: &Space, data: &[u8]) -> Result<Vec<u8>> {
    let space = space.message()?;
    let mut out = Bytes::default();
    out.raw(&[3, 0]).u16(len16(name.len() + 1)?).u16(len16(data_type.len())?).u16(len16(space.len())?);
    out.u8(u8::from(!name.is_ascii())).raw(name.as_bytes()).u8(0).raw(data_type).raw(&space).raw(data);
    Ok(out.0)
}

fn len16(len: usize) -> Result<u16> {
    u16::try_from(len).map_err(|_| Error::usage(format!("NetCDF-4 cannot hold {len} of these (at most {})", u16::MAX)))
}

/// An object header. Attributes get ascending creation indexes.
pub(super) fn header(messages: &[(u8, Vec<u8>)]) -> Result<Vec<u8>> {
    let mut body = Bytes::default();
    let mut order = 0u16;
    for (kind, message) in messages {
        body.u8(*kind).u16(len16(message.len())?).u8(0);
        body.u16(if *kind == ATTRIBUTE { order } else { 0 }).raw(message);
        order = order.saturating_add(u16::from(*kind == ATTRIBUTE));
        if body.0.len() > MAX_HEADER {
            return Err(Error::usage(format!(
                "NetCDF-4 cannot hold more than {MAX_HEADER} bytes of attributes or names in one header; CDF-5 can"
            )));
        }
    }
    let mut out = Bytes::default();
    // Attribute creation order is tracked and indexed; the length has four bytes.
    out.raw(b"OHDR").raw(&[2, 0b0_1110]).u32(u32::try_from(body.0.len()).unwrap_or(u32::MAX)).raw(&body.0).checksum();
    Ok(out.0)
}

/// The superblock of a file of `end` bytes with this root header.
pub(super) fn superblock(end: u64, root: u64) -> Vec<u8> {
    let mut out = Bytes::default();
    out.raw(b"\x89HDF\r\n\x1a\n").raw(&[2, 8, 8, 0]).u64(0).u64(UNDEFINED).u64(end).u64(root).checksum();
    out.0
}
