use std::fmt;

use container_core::{Cursor, Error, Result};

/// Bytes of the header.
pub(crate) const HEADER_LEN: u64 = 256;

/// Bytes of the signature at the end.
pub(crate) const TAIL_LEN: u64 = 8;

/// The first eight bytes: `CML\0DVB\0`.
pub(crate) const SIGNATURE: u64 = 0x0042_5644_004C_4D43;

/// The last eight bytes: the signature reversed.
pub(crate) const TAIL_SIGNATURE: u64 = 0x434D_4C00_4456_4200;

/// A version of the format: four numbers, the most significant first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(u64);

impl Version {
    /// 1.1.1.1, the first one.
    pub const V1: Self = Self::new(1, 1, 1, 1);
    /// 1.1.1.2: codec changes; reserves an offset for slot names.
    pub const V2: Self = Self::new(1, 1, 1, 2);
    /// 1.1.1.3: slot names.
    pub const V3: Self = Self::new(1, 1, 1, 3);
    /// 1.1.1.4: column metadata replaces slot names.
    pub const V4: Self = Self::new(1, 1, 1, 4);
    /// 1.1.1.5: missing text.
    pub const V5: Self = Self::new(1, 1, 1, 5);
    /// 1.1.1.6: .NET's own types; the current version.
    pub const V6: Self = Self::new(1, 1, 1, 6);

    /// The version `a.b.c.d`.
    #[must_use]
    pub const fn new(a: u16, b: u16, c: u16, d: u16) -> Self {
        Self((a as u64) << 48 | (b as u64) << 32 | (c as u64) << 16 | d as u64)
    }

    /// The version as the file stores it.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The version as the file stores it.
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g, h, i] = self.0.to_be_bytes();
        let part = |high, low| u16::from_be_bytes([high, low]);
        write!(f, "{}.{}.{}.{}", part(a, b), part(c, d), part(e, g), part(h, i))
    }
}

/// The fixed header, validated in itself and against the file length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Header {
    /// The file's version.
    pub version: Version,
    /// The oldest reader version that can read the file.
    pub compatible: Version,
    /// Offset of the table of contents.
    pub toc_offset: u64,
    /// Offset of the tail signature.
    pub tail_offset: u64,
    /// Row count.
    pub rows: u64,
    /// Column count.
    pub columns: u32,
}

impl Header {
    /// Parses the header of a file of `file_len` bytes from its first 256 bytes (fewer if the file is shorter).
    ///
    /// # Errors
    /// For any invalid field, with its offset.
    pub fn parse(bytes: &[u8], file_len: u64) -> Result<Self> {
        if file_len < HEADER_LEN || bytes.len() < 60 {
            return Err(Error::truncated("the header", HEADER_LEN, file_len).at(0));
        }
        let mut cursor = Cursor::new(bytes);
        let signature = cursor.u64_le("signature")?;
        if signature != SIGNATURE {
            let found = String::from_utf8_lossy(bytes.get(..8).unwrap_or_default()).into_owned();
            return Err(Error::invalid(format!("the signature is {found:?}, not \"CML\\0DVB\\0\"")).at(0));
        }
        let version = Version(cursor.u64_le("version")?);
        let compatible = Version(cursor.u64_le("compatible version")?);
        if compatible > Version::V6 {
            return Err(Error::unsupported(format!(
                "version {version} needs a reader of version {compatible}, this one reads 1.1.1.1 to {}",
                Version::V6
            ))
            .at(16));
        }
        if version < Version::V1 {
            return Err(Error::unsupported(format!("version {version} is older than the first, {}", Version::V1)).at(8));
        }
        if compatible > version {
            return Err(Error::invalid(format!("compatible version {compatible} is above version {version}")).at(16));
        }
        let (toc, tail, rows) =
            (cursor.i64_le("table of contents offset")?, cursor.i64_le("tail offset")?, cursor.i64_le("row count")?);
        let columns = cursor.i32_le("column count")?;
        let columns =
            u32::try_from(columns).map_err(|_| Error::invalid(format!("column count {columns} is negative")).at(48))?;
        let rows = u64::try_from(rows).map_err(|_| Error::invalid(format!("row count {rows} is negative")).at(40))?;
        let tail_offset = u64::try_from(tail).ok().filter(|&tail| tail >= HEADER_LEN).ok_or_else(|| {
            Error::invalid(format!("tail offset {tail} lies before the end of the header, {HEADER_LEN}")).at(32)
        })?;
        if tail_offset.checked_add(TAIL_LEN).is_none_or(|end| end > file_len) {
            let needed = tail_offset.saturating_add(TAIL_LEN);
            return Err(Error::truncated("the file", needed, file_len).at(32));
        }
        let allowed = HEADER_LEN..=tail_offset;
        let toc_offset = match u64::try_from(toc) {
            Ok(toc) if allowed.contains(&toc) => toc,
            // Without columns the offset is meaningless.
            _ if columns == 0 => HEADER_LEN,
            _ => {
                let detail =
                    format!("table of contents offset {toc} is not between {HEADER_LEN} and the tail, {tail_offset}");
                return Err(Error::invalid(detail).at(24));
            }
        };
        Ok(Self { version, compatible, toc_offset, tail_offset, rows, columns })
    }

    /// Checks the eight bytes at [`tail_offset`](Self::tail_offset).
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) when they are not the tail signature.
    pub fn check_tail(&self, bytes: &[u8]) -> Result<()> {
        let found = Cursor::at(bytes, self.tail_offset).u64_le("tail signature")?;
        if found == TAIL_SIGNATURE {
            return Ok(());
        }
        Err(Error::invalid(format!("tail signature {found:#018x} is not {TAIL_SIGNATURE:#018x}")).at(self.tail_offset))
    }

    /// Number of blocks of a column; `None` when `rows_per_block` is 0 but the file has rows.
    pub(crate) fn block_count(&self, rows_per_block: u64) -> Option<u64> {
        match (self.rows, rows_per_block) {
            (0, _) => Some(0),
            (_, 0) => None,
            (rows, per_block) => Some(rows.div_ceil(per_block)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_print_and_order() {
        assert_eq!(Version::V6.to_string(), "1.1.1.6");
        assert_eq!(Version::V6.to_bits(), 0x0001_0001_0001_0006);
        assert!(Version::new(1, 1, 2, 0) > Version::V6);
    }

    #[test]
    fn tail_signature_is_the_signature_reversed() {
        assert_eq!(SIGNATURE.to_le_bytes(), *b"CML\0DVB\0");
        assert_eq!(TAIL_SIGNATURE, SIGNATURE.swap_bytes());
    }
}
