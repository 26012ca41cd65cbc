//! Reads NetCDF-4 files with the crates `netcdf-reader` (dimensions and variables) and `hdf5-reader` (values).

mod compound;
mod describe;
mod header;
mod heap;
mod order;
mod storage;
mod values;
mod walk;

use std::collections::HashMap;
use std::sync::Arc;

use container_core::{Error, Limits, Result, Source};
use hdf5_reader::storage::DynStorage;
use hdf5_reader::{Dataset, Hdf5File};
use netcdf_reader::{NcFile, NcMetadataMode, NcOpenOptions};

use self::storage::{Blocks, BoundedStorage};
use super::guard::catch_panics;
use super::model::Described;

pub(crate) use compound::read as read_member;
pub(crate) use describe::NOT_AN_AXIS;
pub(crate) use values::read;

/// Bytes of decoded chunks to cache.
const CHUNK_CACHE_BYTES: usize = 32 << 20;

/// True when the source has an HDF5 signature. It may follow a user block.
pub(crate) fn is_hdf5(source: &Source) -> bool {
    const MAGIC: &[u8] = b"\x89HDF\r\n\x1a\n";
    let mut at = 0u64;
    while at + 8 <= source.len() {
        if source.read(at..at + 8).is_ok_and(|found| found == MAGIC) {
            return true;
        }
        at = (at * 2).max(512);
    }
    false
}

/// The datasets of a file, by link name.
pub(crate) struct Datasets {
    by_name: HashMap<String, Dataset>,
    file: Hdf5File,
    storage: Arc<BoundedStorage>,
}

/// An opened file.
pub(crate) struct Opened {
    pub(crate) datasets: Datasets,
    pub(crate) described: Described,
}

fn library_error(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    let place = error_location(&error);
    let error = Error::invalid("invalid HDF5").caused_by(error);
    match place {
        Some((name, address)) => error.at(address).in_column(name),
        None => error,
    }
}

/// The name and header address of the object that an error is about, if it says so.
fn error_location(error: &(dyn std::error::Error + 'static)) -> Option<(String, u64)> {
    use hdf5_reader::error::Error as LibraryError;
    let inner = match error.downcast_ref::<netcdf_reader::Error>() {
        Some(netcdf_reader::Error::Hdf5(inner)) => Some(inner),
        _ => error.downcast_ref(),
    };
    let LibraryError::Context { path, .. } = inner? else { return None };
    let (name, address) = path.strip_prefix("child '")?.rsplit_once("' at 0x")?;
    let name = name.strip_prefix(NOT_AN_AXIS).unwrap_or(name);
    Some((name.to_owned(), u64::from_str_radix(address, 16).ok()?))
}

/// Bytes that one operation may read from a file of `len` bytes. The library reads some of them repeatedly.
fn read_budget(len: u64) -> u64 {
    len.saturating_mul(32).saturating_add(1 << 30)
}

/// Runs library code within the read budget of one operation.
fn within_budget<T>(storage: &BoundedStorage, work: impl FnOnce() -> Result<T>) -> Result<T> {
    storage.set_budget(read_budget(hdf5_reader::Storage::len(storage)));
    let result = work();
    // The library skips some of what it cannot read, without an error.
    storage.check_budget().and(result)
}

pub(crate) fn open(source: &Source, limits: &Limits) -> Result<Opened> {
    catch_panics("HDF5", "the dimensions, variables and attributes", || {
        let bytes = usize::try_from(limits.block_bytes).unwrap_or(usize::MAX);
        let options = |metadata_mode| NcOpenOptions {
            chunk_cache_bytes: CHUNK_CACHE_BYTES,
            metadata_mode,
            max_chunk_bytes: bytes,
            max_read_bytes: bytes,
            ..NcOpenOptions::default()
        };
        let as_stored = Arc::new(BoundedStorage::new(source.clone(), Blocks::new()));
        let mut findings = within_budget(&as_stored, || {
            let file = Hdf5File::from_storage_with_options(as_stored.clone(), options(NcMetadataMode::Strict).into());
            walk::walk(&file.map_err(library_error)?, limits)
        })?;
        let storage = Arc::new(BoundedStorage::new(source.clone(), std::mem::take(&mut findings.blocks)));
        within_budget(&storage, || {
            let shared: DynStorage = storage.clone();
            let file = Hdf5File::from_storage_with_options(shared.clone(), options(NcMetadataMode::Strict).into());
            let file = file.map_err(library_error)?;
            let read = |mode| {
                let root = NcFile::from_storage_with_options(shared.clone(), options(mode))?;
                // Only the root: the library would never finish reading a cyclic tree of groups.
                root.variables()?;
                Ok(root)
            };
            // Objects that are not NetCDF do not make the rest unreadable.
            let root: netcdf_reader::Result<NcFile> =
                read(NcMetadataMode::Strict).or_else(|_| read(NcMetadataMode::Lossy));
            describe::describe(&file, storage.clone(), &root.map_err(library_error)?, &findings, limits)
        })
    })
}
