//! Headers of archive entries.

/// January 1, 1980, midnight: the earliest MS-DOS timestamp.
const MIN_TIME: u32 = 0x21 << 16;

/// A file or directory that has been added.
#[derive(Clone, Copy)]
pub(super) struct Record {
    pub(super) name: usize,
    pub(super) name_len: u16,
    pub(super) folder: bool,
    pub(super) crc: u32,
    pub(super) size: u64,
    pub(super) packed: u64,
    pub(super) offset: u64,
}

/// The local header. With ZIP64, it has space for large sizes, whatever they are.
pub(super) fn local_header(name: &str, record: &Record, method: u16, is_zip64: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(30 + name.len() + 20);
    out.extend_from_slice(b"PK\x03\x04");
    common_fields(&mut out, name, record, method, if is_zip64 { 45 } else { 20 });
    for number in [record.packed, record.size] {
        let short = if is_zip64 { u32::MAX } else { u32::try_from(number).unwrap_or(u32::MAX) };
        out.extend_from_slice(&short.to_le_bytes());
    }
    out.extend_from_slice(&record.name_len.to_le_bytes());
    out.extend_from_slice(&if is_zip64 { 20_u16 } else { 0 }.to_le_bytes());
    out.extend_from_slice(name.as_bytes());
    if is_zip64 {
        out.extend_from_slice(&[1, 0, 16, 0]);
        out.extend_from_slice(&record.size.to_le_bytes());
        out.extend_from_slice(&record.packed.to_le_bytes());
    }
    out
}

/// The fields that both headers share: version needed, flags, method, time and CRC.
pub(super) fn common_fields(out: &mut Vec<u8>, name: &str, record: &Record, method: u16, version: u16) {
    let flags: u16 = if name.is_ascii() { 0 } else { 1 << 11 };
    for number in [version, flags, method] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(&MIN_TIME.to_le_bytes());
    out.extend_from_slice(&record.crc.to_le_bytes());
}
