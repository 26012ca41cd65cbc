//! A minimal parser for block locations, to inflate blocks without the reader.

use std::ops::Range;

use container_core::Source;

/// One block.
pub(crate) struct Block {
    pub(crate) place: Range<u64>,
    pub(crate) raw_len: usize,
    pub(crate) deflated: bool,
}

/// The blocks of a valid file of version 1.1.1.6, of all or the named columns, in row order.
pub(crate) fn blocks(source: &Source, names: Option<&[String]>) -> Vec<Block> {
    let header = Fields { source, at: 0 }.take(52);
    let number = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().unwrap());
    assert_eq!(number(8), 0x0001_0001_0001_0006, "another version");
    let (rows, columns) = (number(40), u32::from_le_bytes(header[48..52].try_into().unwrap()));

    let mut toc = Fields { source, at: number(24) };
    let mut blocks = Vec::new();
    for _ in 0..columns {
        let name = toc.string();
        for _ in ["codec", "parameters"] {
            toc.string();
        }
        let deflated = match toc.take(1)[0] {
            0 => false,
            1 => true,
            other => panic!("compression {other}"),
        };
        let rows_per_block = toc.leb();
        let mut lookup = Fields { source, at: toc.u64() };
        toc.u64();
        if names.is_some_and(|names| !names.iter().any(|names| names.as_bytes() == name)) {
            continue;
        }
        for block in 0..rows.checked_div(rows_per_block).map_or(0, |_| rows.div_ceil(rows_per_block)) {
            let entry = lookup.take(16);
            let offset = u64::from_le_bytes(entry[..8].try_into().unwrap());
            let len = u32::from_le_bytes(entry[8..12].try_into().unwrap());
            let raw_len = u32::from_le_bytes(entry[12..].try_into().unwrap()) as usize;
            blocks.push((block, Block { place: offset..offset + u64::from(len), raw_len, deflated }));
        }
    }
    blocks.sort_by_key(|(block, _)| *block);
    blocks.into_iter().map(|(_, block)| block).collect()
}

/// A field reader.
struct Fields<'a> {
    source: &'a Source,
    at: u64,
}

impl Fields<'_> {
    fn take(&mut self, len: u64) -> Vec<u8> {
        let start = self.at;
        self.at += len;
        self.source.read(start..self.at).unwrap().to_vec()
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take(8).try_into().unwrap())
    }

    fn string(&mut self) -> Vec<u8> {
        let len = self.leb();
        self.take(len)
    }

    fn leb(&mut self) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.take(1)[0];
            value |= u64::from(byte & 0x7F) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return value;
            }
        }
    }
}
