//! ZDS stores in memory: archives of stored files, and a medium that only serves ranges.

use container_core::{OpenOptions, ReadAt, Source};
use zdx::{Collection, Store};

/// The name of the collection in these stores.
pub const NAME: &str = "c";

/// A medium that serves ranges, and rejects those out of bounds.
pub struct Medium(pub Vec<u8>);

impl ReadAt for Medium {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        let start = usize::try_from(offset).unwrap();
        buffer.copy_from_slice(&self.0[start..start + buffer.len()]);
        Ok(())
    }
}

/// The CRC-32 of these bytes.
pub fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Appends numbers of these widths in bytes, little-endian.
fn put(out: &mut Vec<u8>, numbers: &[(u32, usize)]) {
    for (number, bytes) in numbers {
        out.extend_from_slice(&number.to_le_bytes()[..*bytes]);
    }
}

/// An archive of named files, stored without compression.
pub fn archive(files: &[(String, &[u8])]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in files {
        let (name, len, offset) = (name.as_bytes(), u32::try_from(content.len()).unwrap(), out.len());
        let mut described = Vec::new();
        put(&mut described, &[(20, 2), (0, 2), (0, 2), (0x21 << 16, 4), (crc32(content), 4), (len, 4), (len, 4)]);
        put(&mut described, &[(u32::try_from(name.len()).unwrap(), 2), (0, 2)]);
        out.extend_from_slice(b"PK\x03\x04");
        out.extend_from_slice(&described);
        out.extend_from_slice(name);
        out.extend_from_slice(content);
        directory.extend_from_slice(b"PK\x01\x02");
        put(&mut directory, &[((3 << 8) | 20, 2)]);
        directory.extend_from_slice(&described);
        put(&mut directory, &[(0, 2), (0, 2), (0, 2), (0o100_644 << 16, 4), (u32::try_from(offset).unwrap(), 4)]);
        directory.extend_from_slice(name);
    }
    let (start, len) = (u32::try_from(out.len()).unwrap(), u32::try_from(directory.len()).unwrap());
    let count = u32::try_from(files.len()).unwrap();
    out.extend_from_slice(&directory);
    out.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    put(&mut out, &[(count, 2), (count, 2), (len, 4), (start, 4), (0, 2)]);
    out
}

/// An archive of the collection's files, by their names in its folder.
pub fn store(files: &[(&str, &[u8])]) -> Vec<u8> {
    let named: Vec<_> = files.iter().map(|(name, content)| (format!("collections/{NAME}/{name}"), *content)).collect();
    archive(&named)
}

/// Opens a store in memory, and on a medium.
pub fn open(store: &[u8]) -> [Store; 2] {
    let open = |source| Store::from_source(source, None, OpenOptions::default()).unwrap();
    [open(Source::from(store.to_vec())), open(Source::new(Medium(store.to_vec())))]
}

/// The collection of such a store, with a fixed number of threads.
pub fn collection(store: &Store) -> zdx::Result<Collection> {
    store.collection(NAME).map(|collection| collection.with_threads(2))
}

/// A result in comparable form.
pub fn told<T>(result: zdx::Result<T>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}
