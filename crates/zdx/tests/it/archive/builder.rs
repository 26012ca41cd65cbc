//! Builds archives byte by byte, so that every field can be wrong.

use std::io::Write as _;

/// An entry as written to disk; fields that are `None` get the correct value.
#[derive(Clone, Default)]
pub(crate) struct Item {
    pub(crate) name: Vec<u8>,
    pub(crate) local_name: Option<Vec<u8>>,
    pub(crate) data: Vec<u8>,
    pub(crate) crc: u32,
    pub(crate) size: u64,
    pub(crate) packed: Option<u64>,
    pub(crate) method: u16,
    pub(crate) local_method: Option<u16>,
    pub(crate) flags: u16,
    pub(crate) local_flags: Option<u16>,
    pub(crate) mode: u32,
    pub(crate) extra: Vec<u8>,
    pub(crate) local_extra: Vec<u8>,
    pub(crate) offset: Option<u32>,
    /// No local header and no data: the directory points at another entry's.
    pub(crate) ghost: bool,
}

pub(crate) fn store(name: &str, content: &[u8]) -> Item {
    Item {
        name: name.into(),
        data: content.to_vec(),
        crc: crc32fast::hash(content),
        size: content.len() as u64,
        mode: 0o100_644,
        ..Item::default()
    }
}

pub(crate) fn deflate(name: &str, content: &[u8]) -> Item {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(content).unwrap();
    Item { data: encoder.finish().unwrap(), method: 8, ..store(name, content) }
}

impl Item {
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

fn short(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Offsets of the local headers, and the archive.
pub(crate) fn build_at(items: &[Item]) -> (Vec<u32>, Vec<u8>) {
    let mut out = Vec::new();
    let mut offsets = Vec::new();
    let put = |out: &mut Vec<u8>, numbers: &[(u32, usize)]| {
        for (number, bytes) in numbers {
            out.extend_from_slice(&number.to_le_bytes()[..*bytes]);
        }
    };
    for item in items {
        offsets.push(item.offset.unwrap_or(out.len() as u32));
        if item.ghost {
            continue;
        }
        let name = item.local_name.as_ref().unwrap_or(&item.name);
        let packed = short(item.packed.unwrap_or(item.data.len() as u64));
        out.extend_from_slice(b"PK\x03\x04");
        put(&mut out, &[(20, 2), (item.local_flags.unwrap_or(item.flags).into(), 2)]);
        put(&mut out, &[(item.local_method.unwrap_or(item.method).into(), 2), (0x21 << 16, 4), (item.crc, 4)]);
        put(
            &mut out,
            &[(packed, 4), (short(item.size), 4), (name.len() as u32, 2), (item.local_extra.len() as u32, 2)],
        );
        out.extend_from_slice(name);
        out.extend_from_slice(&item.local_extra);
        out.extend_from_slice(&item.data);
    }
    let start = out.len() as u32;
    for (item, offset) in items.iter().zip(&offsets) {
        let packed = short(item.packed.unwrap_or(item.data.len() as u64));
        out.extend_from_slice(b"PK\x01\x02");
        put(&mut out, &[((3 << 8) | 20, 2), (20, 2), (item.flags.into(), 2), (item.method.into(), 2), (0x21 << 16, 4)]);
        put(&mut out, &[(item.crc, 4), (packed, 4), (short(item.size), 4), (item.name.len() as u32, 2)]);
        put(&mut out, &[(item.extra.len() as u32, 2), (0, 2), (0, 2), (0, 2), (item.mode << 16, 4), (*offset, 4)]);
        out.extend_from_slice(&item.name);
        out.extend_from_slice(&item.extra);
    }
    let len = out.len() as u32 - start;
    out.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    put(&mut out, &[(items.len() as u32, 2), (items.len() as u32, 2), (len, 4), (start, 4), (0, 2)]);
    (offsets, out)
}

pub(crate) fn build(items: &[Item]) -> Vec<u8> {
    build_at(items).1
}
