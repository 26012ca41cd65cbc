//! Encoding of the wire structures, version 1.1.1.6.

use container_core::{Encode, Error, Put, Result};
use leb128_codec::Leb128;

use super::header::TAIL_SIGNATURE;
use super::{HEADER_LEN, Header, ItemType, KeyType, LookupEntry, SIGNATURE, Type};

impl Header {
    /// The 256 bytes of the header.
    pub(crate) fn emit(&self) -> Result<Vec<u8>> {
        let too_many = |what: &'static str, found: u64| Error::limit(what, found, 0x7FFF_FFFF);
        let signed = |what: &'static str, value: u64| {
            i64::try_from(value).map_err(|_| Error::limit(what, value, i64::MAX.unsigned_abs()))
        };
        let columns = i32::try_from(self.columns).map_err(|_| too_many("columns", self.columns.into()))?;
        let mut out = Vec::with_capacity(256);
        out.put(&SIGNATURE.to_le_bytes())?;
        out.put(&self.version.to_bits().to_le_bytes())?;
        out.put(&self.compatible.to_bits().to_le_bytes())?;
        out.put(&signed("table of contents offset", self.toc_offset)?.to_le_bytes())?;
        out.put(&signed("tail offset", self.tail_offset)?.to_le_bytes())?;
        out.put(&signed("rows", self.rows)?.to_le_bytes())?;
        out.put(&columns.to_le_bytes())?;
        out.resize(usize::try_from(HEADER_LEN).unwrap_or(256), 0);
        Ok(out)
    }

    /// The header of an empty file.
    pub(crate) const fn empty() -> Self {
        let version = super::Version::V6;
        Self { version, compatible: version, toc_offset: HEADER_LEN, tail_offset: HEADER_LEN, rows: 0, columns: 0 }
    }

    /// The eight bytes of the tail.
    pub(crate) const fn tail() -> [u8; 8] {
        TAIL_SIGNATURE.to_le_bytes()
    }
}

impl LookupEntry {
    /// Appends the 16 bytes of an entry. The lengths must be below 2^31.
    pub(crate) fn emit(&self, out: &mut Vec<u8>) -> Result<()> {
        out.put(&self.offset.to_le_bytes())?;
        out.put(&self.len.to_le_bytes())?;
        out.put(&self.raw_len.to_le_bytes())
    }
}

impl Type {
    /// Appends the codec definition: load name, parameter length, parameters.
    pub(crate) fn emit(&self, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Item(item) => item.emit(out),
            Self::Vector { item, dimensions } => {
                let mut parameters = Vec::new();
                item.emit(&mut parameters)?;
                let rank = i32::try_from(dimensions.len());
                let rank = rank.map_err(|_| Error::limit("dimensions", dimensions.len() as u64, 0x7FFF_FFFF))?;
                parameters.put(&rank.to_le_bytes())?;
                for dimension in dimensions {
                    parameters.put(&dimension.to_le_bytes())?;
                }
                put_definition("VBuffer", &parameters, out)
            }
        }
    }

    /// Fails when the type cannot be encoded.
    pub(crate) fn check(&self) -> Result<()> {
        if let ItemType::Key(key) = self.item() {
            key.check()?;
        }
        let Self::Vector { dimensions, .. } = self else { return Ok(()) };
        if dimensions.is_empty() {
            return Err(Error::usage("a vector type has no dimensions; use 0 for an unknown one"));
        }
        if let Some(dimension) = dimensions.iter().find(|&&dimension| i32::try_from(dimension).is_err()) {
            return Err(Error::usage(format!("dimension {dimension} exceeds 2147483647")));
        }
        let product = dimensions.iter().try_fold(1_u64, |product, &d| product.checked_mul(d.into()));
        if !dimensions.contains(&0) && product.is_none_or(|product| product > 0x7FFF_FFFF) {
            return Err(Error::usage(format!("the product of the dimensions {dimensions:?} exceeds 2147483647")));
        }
        Ok(())
    }
}

impl KeyType {
    fn check(self) -> Result<()> {
        let max = self.width.max();
        let min = u64::from(!self.old);
        if self.count < min || self.count > max || (self.old && i32::try_from(self.count).is_err()) {
            let max_count = if self.old { max.min(0x7FFF_FFFF) } else { max };
            let detail =
                format!("key count {} is not between {min} and {max_count}, the maximum of {}", self.count, self.width);
            return Err(Error::usage(detail));
        }
        Ok(())
    }
}

impl ItemType {
    fn emit(self, out: &mut Vec<u8>) -> Result<()> {
        let mut parameters = Vec::new();
        if let Self::Key(key) = self {
            put_definition(&key.width.to_string(), &[], &mut parameters)?;
            if key.old {
                parameters.put(&[u8::from(key.contiguous)])?;
                parameters.put(&key.min.to_le_bytes())?;
                let count = i32::try_from(key.count);
                parameters.put(&count.map_err(|_| Error::limit("key count", key.count, 0x7FFF_FFFF))?.to_le_bytes())?;
            } else {
                parameters.put(&key.count.to_le_bytes())?;
            }
        }
        put_definition(self.codec_name(), &parameters, out)
    }

    /// The load name of the codec.
    pub(crate) const fn codec_name(self) -> &'static str {
        match self {
            Self::SByte => "SByte",
            Self::Byte => "Byte",
            Self::Int16 => "Int16",
            Self::UInt16 => "UInt16",
            Self::Int32 => "Int32",
            Self::UInt32 => "UInt32",
            Self::Int64 => "Int64",
            Self::UInt64 => "UInt64",
            Self::Single => "Single",
            Self::Double => "Double",
            Self::TimeSpan => "TimeSpan",
            Self::DvTimeSpan => "DvTimeSpan",
            Self::DateTime => "DateTime",
            Self::DvDateTime => "DvDateTime",
            Self::DateTimeOffset => "DateTimeOffset",
            Self::DvDateTimeZone => "DvDateTimeZone",
            Self::RowId => "DataViewRowId",
            Self::Boolean => "Boolean",
            Self::DvBool => "DvBool",
            Self::Text => "TextSpan",
            Self::Key(KeyType { old: true, .. }) => "Key",
            Self::Key(_) => "Key2",
        }
    }
}

fn put_definition(name: &str, parameters: &[u8], out: &mut Vec<u8>) -> Result<()> {
    put_string(name, out)?;
    put_leb(parameters.len() as u64, out)?;
    out.put(parameters)
}

/// Appends a string: byte length, then UTF-8.
pub(crate) fn put_string(text: &str, out: &mut Vec<u8>) -> Result<()> {
    put_leb(text.len() as u64, out)?;
    out.put(text.as_bytes())
}

/// Appends an unsigned LEB128 number.
pub(crate) fn put_leb(number: u64, out: &mut Vec<u8>) -> Result<()> {
    Leb128(number).encode(out)
}
