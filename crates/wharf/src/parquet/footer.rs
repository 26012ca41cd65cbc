//! Checks the footer of a Parquet file before the library decodes it: the library allocates by declared counts and recurses into nested groups
//! without a limit.
//!
//! A footer is a struct in Thrift's compact protocol. Field 2 is the schema, a list of tree nodes in preorder, each with its number of children.
//! Field 4 is the list of row groups, each of which begins with the list of its column chunks, one per leaf.

use container_core::{Cursor, Error, Limits, Result, Source};

/// Magic bytes at both ends of a file.
pub(super) const MAGIC: &[u8; 4] = b"PAR1";
/// Magic bytes of a file whose footer is encrypted.
pub(super) const ENCRYPTED: &[u8; 4] = b"PARE";
/// Decoded bytes of a schema node: as Parquet type, Arrow type and column info.
const NODE_BYTES: u64 = 1024;
/// Decoded bytes of a column chunk.
const CHUNK_BYTES: u64 = 512;
/// Column chunks may take this multiple of the memory limit: large files with many row groups are common, and no other reader rejects them.
const CHUNKS_FACTOR: u64 = 4;
/// Maximum nesting of skipped Thrift values.
const MAX_SKIP_DEPTH: u32 = 64;

/// Checks the footer.
pub(super) fn check(source: &Source, limits: &Limits) -> Result<()> {
    let len = source.len();
    let Some(tail) = len.checked_sub(8).filter(|tail| *tail >= 4) else {
        return Err(Error::truncated("a Parquet file", 12, len).at(0));
    };
    let end = source.read(tail..len)?;
    let (length, magic) = end.split_at_checked(4).unwrap_or_default();
    if magic == ENCRYPTED {
        return Err(Error::unsupported("the footer is encrypted").at(tail));
    }
    if magic != MAGIC {
        let detail = format!("expected PAR1 at the end, found {magic:02X?}: truncated, or not a Parquet file");
        return Err(Error::invalid(detail).at(tail + 4));
    }
    let length = u64::from(length.try_into().map_or(0, u32::from_le_bytes));
    let Some(start) = tail.checked_sub(length).filter(|start| *start >= 4) else {
        return Err(Error::truncated("the footer, by its declared length", length, tail - 4).at(tail));
    };
    limits.check_metadata("the length of the footer", length).map_err(|error| error.at(tail))?;
    let bytes = source.read(start..tail)?;
    let checked = Footer { cursor: Cursor::new(&bytes), limits }.check();
    checked.map_err(|error| error.shifted(start))
}

struct Footer<'a> {
    cursor: Cursor<'a>,
    limits: &'a Limits,
}

/// Types of Thrift's compact protocol.
const STRUCT: u8 = 12;

impl Footer<'_> {
    fn check(&mut self) -> Result<()> {
        let (mut id, mut nodes) = (0, None);
        while let Some(kind) = self.field(&mut id)? {
            match (id, nodes) {
                (2, None) => nodes = Some(self.schema(kind)?),
                (4, Some(nodes)) => return self.row_groups(kind, nodes),
                _ => self.skip(kind, MAX_SKIP_DEPTH)?,
            }
        }
        match nodes {
            Some(nodes) => self.check_memory(nodes, 0),
            None => Err(self.invalid("missing schema in the footer")),
        }
    }

    /// Rejects a footer whose decoded form exceeds the memory limit: the library always decodes all of it.
    fn check_memory(&self, nodes: u64, chunks: u64) -> Result<()> {
        let what = || format!("the memory for a footer of {nodes} schema nodes and {chunks} column chunks");
        self.limits.check_memory(what(), nodes.saturating_mul(NODE_BYTES + CHUNK_BYTES))?;
        let (decoded, max) =
            (chunks.saturating_mul(CHUNK_BYTES), self.limits.memory_bytes.saturating_mul(CHUNKS_FACTOR));
        if decoded > max { Err(Error::limit(what(), decoded, max)) } else { Ok(()) }
    }

    /// Checks the memory of row groups, assuming that each has as many column chunks as the first.
    fn row_groups(&mut self, kind: u8, nodes: u64) -> Result<()> {
        let (element, groups) = if kind == 9 { self.list()? } else { (0, 0) };
        let mut id = 0;
        let chunks = match element == STRUCT && groups > 0 && self.field(&mut id)? == Some(9) && id == 1 {
            true => self.list()?.1,
            false => 0,
        };
        // Each takes at least one byte, whatever the lists declare.
        self.check_memory(nodes, groups.saturating_mul(chunks).min(self.cursor.remaining() as u64))
    }

    fn invalid(&self, what: impl Into<container_core::Text>) -> Error {
        Error::invalid(what).at(self.cursor.offset())
    }

    /// The type of the next field, `None` at the end of the struct.
    fn field(&mut self, id: &mut i64) -> Result<Option<u8>> {
        let byte = self.byte()?;
        if byte == 0 {
            return Ok(None);
        }
        *id = match byte >> 4 {
            0 => self.zigzag()?,
            delta => id.saturating_add(i64::from(delta)),
        };
        Ok(Some(byte & 15))
    }

    fn byte(&mut self) -> Result<u8> {
        self.cursor.u8("the footer")
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Ok(value);
            }
        }
        Err(self.invalid("number of more than ten bytes"))
    }

    fn zigzag(&mut self) -> Result<i64> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// Type and count of a list's elements.
    fn list(&mut self) -> Result<(u8, u64)> {
        let byte = self.byte()?;
        let count = match byte >> 4 {
            15 => self.varint()?,
            count => u64::from(count),
        };
        Ok((byte & 15, count))
    }

    fn skip(&mut self, kind: u8, depth: u32) -> Result<()> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(self.invalid(format!("the footer is nested more than {MAX_SKIP_DEPTH} levels deep")));
        };
        match kind {
            1 | 2 => Ok(()),
            3 => self.byte().map(drop),
            4..=6 => self.varint().map(drop),
            7 => self.cursor.take(8, "the footer").map(drop),
            8 => {
                let length = self.varint()?;
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                self.cursor.take(length, "a text in the footer").map(drop)
            }
            9 | 10 => {
                let (kind, count) = self.list()?;
                // Every element takes at least one byte, also bools in lists: the count cannot exceed what is left.
                (0..count).try_for_each(|_| {
                    if matches!(kind, 1 | 2) { self.byte().map(drop) } else { self.skip(kind, depth) }
                })
            }
            11 => {
                let count = self.varint()?;
                if count == 0 {
                    return Ok(());
                }
                let kinds = self.byte()?;
                for _ in 0..count {
                    for kind in [kinds >> 4, kinds & 15] {
                        if matches!(kind, 1 | 2) { self.byte().map(drop) } else { self.skip(kind, depth) }?;
                    }
                }
                Ok(())
            }
            STRUCT => {
                let mut id = 0;
                while let Some(kind) = self.field(&mut id)? {
                    self.skip(kind, depth)?;
                }
                Ok(())
            }
            other => Err(self.invalid(format!("unknown field type {other} in the footer"))),
        }
    }

    /// The number of nodes in the schema tree, after checking that they exist and are not nested too deep.
    fn schema(&mut self, kind: u8) -> Result<u64> {
        let begin = self.cursor.offset();
        let (element, count) = if kind == 9 { self.list()? } else { (0, 0) };
        if element != STRUCT {
            return Err(self.invalid("the footer's schema is not a list of nodes"));
        }
        self.limits.check_columns("the count of nodes in the schema", count).map_err(|error| error.at(begin))?;
        let depth = usize::try_from(self.limits.depth).unwrap_or(usize::MAX);
        // Children still to come: of each open group, and in total.
        let (mut open_groups, mut expected_nodes) = (Vec::new(), 1_u64);
        for left in (0..count).rev() {
            let at = self.cursor.offset();
            let children = self.children()?;
            expected_nodes = expected_nodes.saturating_sub(1).saturating_add(children);
            if expected_nodes > left {
                let detail = format!("a schema group declares {children} children, only {left} nodes follow");
                return Err(Error::invalid(detail).at(at));
            }
            if children > 0 {
                open_groups.push(children);
                if open_groups.len() > depth {
                    return Err(
                        Error::limit("the nesting of the schema", open_groups.len() as u64, depth as u64).at(at)
                    );
                }
                continue;
            }
            // A leaf may complete any number of open groups.
            while let Some(children) = open_groups.last_mut() {
                *children -= 1;
                if *children > 0 {
                    break;
                }
                open_groups.pop();
            }
        }
        Ok(count)
    }

    /// The declared number of a node's children.
    fn children(&mut self) -> Result<u64> {
        let (mut id, mut children) = (0, 0);
        while let Some(kind) = self.field(&mut id)? {
            if id == 5 && kind == 5 {
                let count = self.zigzag()?;
                children = u64::try_from(count)
                    .map_err(|_| self.invalid(format!("a schema group declares {count} children")))?;
            } else {
                self.skip(kind, MAX_SKIP_DEPTH)?;
            }
        }
        Ok(children)
    }
}
