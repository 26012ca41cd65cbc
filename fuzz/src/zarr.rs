//! Zarr stores: arbitrary metadata and chunks.

use std::fs;
use std::path::Path;

use container_core::{Limits, OpenOptions};
use dsfmt::netcdf::{NetcdfContainer, ReadOptions};
use dsfmt::zarr;

use crate::netcdf::{ignore_guarded_panics, walk};

/// Maximum bytes of an input.
const MOST: usize = 8 << 10;

/// Maximum rows that are read at once.
const ROWS: u64 = 100;

/// Metadata of an array and its first chunk, separated by a byte that is not in UTF-8. After a first byte with its lowest bit set, they are of version 2.
pub fn zarr_metadata(data: &[u8]) {
    ignore_guarded_panics();
    let Some((version, rest)) = data[..data.len().min(MOST)].split_first() else { return };
    let (metadata, chunk) = match rest.iter().position(|byte| *byte == 0xFF) {
        Some(end) => (&rest[..end], Some(&rest[end + 1..])),
        None => (rest, None),
    };
    let folder = tempfile::tempdir().unwrap();
    let array = folder.path().join("a");
    let put = |path: &Path, bytes: &[u8]| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    let (root, own) = if version & 1 == 1 { (".zgroup", ".zarray") } else { ("zarr.json", "zarr.json") };
    let group = if version & 1 == 1 { r#"{"zarr_format": 2}"# } else { r#"{"zarr_format": 3, "node_type": "group"}"# };
    put(&folder.path().join(root), group.as_bytes());
    put(&array.join(own), metadata);
    for name in ["c", "c/0", "c/0/0", "c/0/0/0", "0", "0.0", "0.0.0"] {
        if let Some(chunk) = chunk.filter(|_| !array.join(name).exists() && (name != "c" || version & 2 == 2)) {
            let _ = fs::create_dir_all(array.join(name).parent().unwrap())
                .and_then(|()| fs::write(array.join(name), chunk));
        }
    }
    let limits = Limits::default().with_block_bytes(1 << 20);
    let opening = OpenOptions::default().with_limits(limits);
    let reader = match zarr::open(folder.path(), opening) {
        Ok(reader) => reader,
        Err(error) => return assert_eq!(error.format(), Some("zarr")),
    };
    let options = ReadOptions::default();
    for variable in reader.variables() {
        match reader.read(variable, 0..variable.rows().min(ROWS), &options) {
            Ok(array) => assert_eq!(array.shape().len(), variable.shape.len()),
            Err(error) => assert_eq!(error.format(), Some("zarr")),
        }
    }
    match NetcdfContainer::new(reader, opening, &options) {
        Ok(container) => walk(&container),
        Err(error) => assert_eq!(error.format(), Some("zarr")),
    }
}
