//! A ZIP builder in which every field can be falsified.

use crate::support::forge;

/// An entry: its content, and its headers.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) name: Vec<u8>,
    pub(crate) flags: u16,
    pub(crate) method: u16,
    pub(crate) crc: u32,
    pub(crate) size: u64,
    pub(crate) packed_size: u64,
    pub(crate) packed: Vec<u8>,
    /// Use a ZIP64 extra field for sizes and offset.
    pub(crate) zip64: bool,
    /// A false offset for the directory.
    pub(crate) offset: Option<u64>,
}

impl Entry {
    pub(crate) fn stored(name: impl AsRef<[u8]>, content: &[u8]) -> Self {
        Self {
            name: name.as_ref().to_vec(),
            flags: 0,
            method: 0,
            crc: rawzip::crc32(content),
            size: content.len() as u64,
            packed_size: content.len() as u64,
            packed: content.to_vec(),
            zip64: false,
            offset: None,
        }
    }

    pub(crate) fn deflated(name: impl AsRef<[u8]>, content: &[u8]) -> Self {
        let packed = forge::compress(forge::DEFLATE, content);
        Self { method: 8, packed_size: packed.len() as u64, packed, ..Self::stored(name, content) }
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn local(&self) -> Vec<u8> {
        let mut out = b"PK\x03\x04".to_vec();
        self.common(&mut out, None);
        out.extend(&self.name);
        if self.zip64 {
            out.extend(self.extra(None));
        }
        out.extend(&self.packed);
        out
    }

    fn central(&self, offset: u64) -> Vec<u8> {
        let offset = self.offset.unwrap_or(offset);
        let mut out = b"PK\x01\x02".to_vec();
        out.extend(45_u16.to_le_bytes());
        self.common(&mut out, Some(offset));
        out.extend([0; 10]); // comment, disk, attributes
        out.extend(if self.zip64 { u32::MAX } else { offset as u32 }.to_le_bytes());
        out.extend(&self.name);
        if self.zip64 {
            out.extend(self.extra(Some(offset)));
        }
        out
    }

    /// From "version needed" to "length of the extra field".
    fn common(&self, out: &mut Vec<u8>, offset: Option<u64>) {
        let extra = if self.zip64 { self.extra(offset).len() } else { 0 };
        let short = |size: u64| if self.zip64 { u32::MAX } else { size as u32 };
        for field in [45, self.flags, self.method, 0, 0x21] {
            out.extend(field.to_le_bytes());
        }
        for field in [self.crc, short(self.packed_size), short(self.size)] {
            out.extend(field.to_le_bytes());
        }
        for field in [self.name.len() as u16, extra as u16] {
            out.extend(field.to_le_bytes());
        }
    }

    fn extra(&self, offset: Option<u64>) -> Vec<u8> {
        let numbers = [Some(self.size), Some(self.packed_size), offset];
        let numbers: Vec<u8> = numbers.into_iter().flatten().flat_map(u64::to_le_bytes).collect();
        [&1_u16.to_le_bytes()[..], &(numbers.len() as u16).to_le_bytes(), &numbers].concat()
    }
}

/// An archive and the offsets of its parts.
pub(crate) struct Zip {
    pub(crate) bytes: Vec<u8>,
    /// Per entry, the local header and the directory record.
    pub(crate) local: Vec<u64>,
    pub(crate) central: Vec<u64>,
    /// The end record.
    pub(crate) end: usize,
}

pub(crate) fn zip(entries: &[Entry]) -> Zip {
    let mut bytes = Vec::new();
    let mut local = Vec::new();
    for entry in entries {
        local.push(bytes.len() as u64);
        bytes.extend(entry.local());
    }
    let directory = bytes.len() as u64;
    let mut central = Vec::new();
    for (entry, offset) in entries.iter().zip(&local) {
        central.push(bytes.len() as u64);
        bytes.extend(entry.central(*offset));
    }
    let size = bytes.len() as u64 - directory;
    let count = entries.len() as u64;
    let big = entries.iter().any(|entry| entry.zip64);
    if big {
        let record = bytes.len() as u64;
        bytes.extend(b"PK\x06\x06");
        bytes.extend(44_u64.to_le_bytes());
        bytes.extend([45, 0, 45, 0]);
        bytes.extend([0; 8]); // disks
        for number in [count, count, size, directory] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(b"PK\x06\x07");
        bytes.extend(0_u32.to_le_bytes());
        bytes.extend(record.to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
    }
    let end = bytes.len();
    bytes.extend(b"PK\x05\x06");
    bytes.extend([0; 4]); // disks
    let count = if big { u16::MAX } else { count as u16 };
    bytes.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    for number in [size, directory] {
        bytes.extend(if big { u32::MAX } else { number as u32 }.to_le_bytes());
    }
    bytes.extend([0; 2]); // comment
    Zip { bytes, local, central, end }
}
