//! The footer of a Parquet file, as far as it has to be looked at before a library may: it reserves memory by what the footer says of
//! itself, and goes into nested groups without an end.
//!
//! A footer is a struct of Thrift's compact protocol; its field 2 is the schema, the list of all nodes of a tree, each of which says how many
//! children follow. Field 4 is the list of row groups, each of which begins with the list of its column chunks, as many as there are leaves.

use container_core::{Cursor, Error, Limits, Result, Source};

/// At both ends of a file.
pub(super) const MAGIC: &[u8; 4] = b"PAR1";
/// At the end of a file whose footer is encrypted.
pub(super) const ENCRYPTED: &[u8; 4] = b"PARE";
/// Bytes that a node of the schema takes once decoded, as types of Parquet and of Arrow, and as a column that is shown.
const NODE_BYTES: u64 = 1024;
/// Bytes that a column chunk takes once decoded.
const CHUNK_BYTES: u64 = 512;
/// How many times the memory allowed for one operation the column chunks may take: files of many row groups are common, as well
/// as large, and no other reader refuses them.
const CHUNKS_FACTOR: u64 = 4;
/// Structures of Thrift in structures that are skipped.
const MOST_NESTED: u32 = 64;

/// The bytes of the footer, checked as far as needed.
pub(super) fn check(source: &Source, limits: &Limits) -> Result<()> {
    let len = source.len();
    let Some(tail) = len.checked_sub(8).filter(|tail| *tail >= 4) else {
        return Err(Error::truncated("a Parquet file has 12 bytes at least", 12, len).at(0));
    };
    let end = source.read(tail..len)?;
    let (length, magic) = end.split_at_checked(4).unwrap_or_default();
    if magic == ENCRYPTED {
        return Err(Error::unsupported("the footer is encrypted").at(tail));
    }
    if magic != MAGIC {
        let detail =
            format!("the file ends with {magic:02X?} where PAR1 is wanted: it is cut short, or no Parquet file");
        return Err(Error::invalid(detail).at(tail + 4));
    }
    let length = u64::from(length.try_into().map_or(0, u32::from_le_bytes));
    let Some(start) = tail.checked_sub(length).filter(|start| *start >= 4) else {
        return Err(Error::truncated("the footer, as long as the file says", length, tail - 4).at(tail));
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
                _ => self.skip(kind, MOST_NESTED)?,
            }
        }
        match nodes {
            Some(nodes) => self.memory(nodes, 0),
            None => Err(self.wrong("the footer has no schema")),
        }
    }

    /// Fails where what the library makes of the footer takes more memory than allowed: it decodes all of it, whatever is asked for.
    fn memory(&self, nodes: u64, chunks: u64) -> Result<()> {
        let what = || format!("the memory for a footer of {nodes} schema nodes and {chunks} column chunks");
        self.limits.check_memory(what(), nodes.saturating_mul(NODE_BYTES + CHUNK_BYTES))?;
        let (decoded, most) =
            (chunks.saturating_mul(CHUNK_BYTES), self.limits.memory_bytes.saturating_mul(CHUNKS_FACTOR));
        if decoded > most { Err(Error::limit(what(), decoded, most)) } else { Ok(()) }
    }

    /// The row groups have as many column chunks each as the first one.
    fn row_groups(&mut self, kind: u8, nodes: u64) -> Result<()> {
        let (element, groups) = if kind == 9 { self.list()? } else { (0, 0) };
        let mut id = 0;
        let chunks = match element == STRUCT && groups > 0 && self.field(&mut id)? == Some(9) && id == 1 {
            true => self.list()?.1,
            false => 0,
        };
        // Each takes a byte at least, whatever the lists say.
        self.memory(nodes, groups.saturating_mul(chunks).min(self.cursor.remaining() as u64))
    }

    fn wrong(&self, what: impl Into<container_core::Text>) -> Error {
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
        Err(self.wrong("a number has more than ten bytes"))
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
            return Err(self.wrong(format!("the footer is nested more than {MOST_NESTED} times")));
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
                // Bools in lists take a byte, each other element as well: the count cannot pass what is left.
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
            other => Err(self.wrong(format!("the footer has a field of the unknown type {other}"))),
        }
    }

    /// How many nodes the tree of the schema has: they are there, and it is not too deep.
    fn schema(&mut self, kind: u8) -> Result<u64> {
        let begin = self.cursor.offset();
        let (element, count) = if kind == 9 { self.list()? } else { (0, 0) };
        if element != STRUCT {
            return Err(self.wrong("the schema in the footer is no list of nodes"));
        }
        self.limits.check_columns("the count of nodes in the schema", count).map_err(|error| error.at(begin))?;
        let depth = usize::try_from(self.limits.depth).unwrap_or(usize::MAX);
        // Children that are still to come: of each group that the walk is in, and of all of them.
        let (mut open, mut owed) = (Vec::new(), 1_u64);
        for left in (0..count).rev() {
            let at = self.cursor.offset();
            let children = self.children()?;
            owed = owed.saturating_sub(1).saturating_add(children);
            if owed > left {
                let detail = format!(
                    "a group of the schema has {children} children, which is more than the {left} nodes that follow"
                );
                return Err(Error::invalid(detail).at(at));
            }
            if children > 0 {
                open.push(children);
                if open.len() > depth {
                    return Err(Error::limit("the nesting of the schema", open.len() as u64, depth as u64).at(at));
                }
                continue;
            }
            // A leaf is a child, and may be the last one of groups.
            while let Some(children) = open.last_mut() {
                *children -= 1;
                if *children > 0 {
                    break;
                }
                open.pop();
            }
        }
        Ok(count)
    }

    /// How many children a node says it has.
    fn children(&mut self) -> Result<u64> {
        let (mut id, mut children) = (0, 0);
        while let Some(kind) = self.field(&mut id)? {
            if id == 5 && kind == 5 {
                let count = self.zigzag()?;
                children = u64::try_from(count)
                    .map_err(|_| self.wrong(format!("a group of the schema has {count} children")))?;
            } else {
                self.skip(kind, MOST_NESTED)?;
            }
        }
        Ok(children)
    }
}
