//! NetCDF-4: an HDF5 file, read by the crates `netcdf-reader` (what dimensions and variables it holds) and `hdf5-reader` (values).

mod describe;
mod header;
mod heap;
mod order;
mod storage;
mod values;
mod walk;

use std::any::Any;
use std::cell::Cell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use container_core::{Error, Limits, Loss, Result, Source};
use hdf5_reader::storage::DynStorage;
use hdf5_reader::{Dataset, Hdf5File};
use netcdf_reader::{NcFile, NcMetadataMode, NcOpenOptions};

use self::storage::{Blocks, BoundedStorage};
use super::model::{Attribute, Dimension, Variable};

pub(crate) use describe::NOT_AN_AXIS;
pub(crate) use values::read;

/// Decoded pieces of a file that are kept, in bytes.
const CACHE: usize = 32 << 20;

/// Does a file that begins so look like HDF5? A user block may stand before it.
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

/// The datasets of a file, by the names of their links.
pub(crate) struct Datasets {
    by_name: HashMap<String, Dataset>,
    file: Hdf5File,
    storage: Arc<BoundedStorage>,
}

/// A file, opened.
pub(crate) struct Opened {
    pub(crate) datasets: Datasets,
    pub(crate) dimensions: Vec<Dimension>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) variables: Vec<Variable>,
    /// What is not read.
    pub(crate) losses: Vec<Loss>,
}

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Is this thread inside of a library whose panics become errors of this crate?
///
/// A panic is told to the process's hook before anybody can catch it, and the hook that every process begins with prints it. A library has
/// no business to put another in its place; a program that wants no such print for what it gets as an error can have a hook that asks this:
///
/// ```
/// let usual = std::panic::take_hook();
/// std::panic::set_hook(Box::new(move |panic| {
///     if !dsfmt::netcdf::is_guarded() {
///         usual(panic);
///     }
/// }));
/// ```
#[must_use]
pub fn is_guarded() -> bool {
    GUARDED.get()
}

/// Runs the library on `what`, so that a panic in it becomes an error: it is not ours to trust on damaged files.
fn guarded<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let before = GUARDED.replace(true);
    // Nothing that was half changed is used again: what the library holds besides caches is read only.
    let done = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(before);
    done.unwrap_or_else(|panic: Box<dyn Any + Send>| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
        Err(Error::invalid(format!("the HDF5 reader fails on {what}: {text}")))
    })
}

fn library(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    let place = place(&error);
    let error = Error::invalid("the HDF5 file cannot be read").caused_by(error);
    match place {
        Some((name, address)) => error.at(address).in_column(name),
        None => error,
    }
}

/// The object that an error of the library is about, and the byte where its header begins, as far as it says so.
fn place(error: &(dyn std::error::Error + 'static)) -> Option<(String, u64)> {
    use hdf5_reader::error::Error as Found;
    let found = match error.downcast_ref::<netcdf_reader::Error>() {
        Some(netcdf_reader::Error::Hdf5(inner)) => Some(inner),
        _ => error.downcast_ref(),
    };
    let Found::Context { path, .. } = found? else { return None };
    let (name, address) = path.strip_prefix("child '")?.rsplit_once("' at 0x")?;
    let name = name.strip_prefix(NOT_AN_AXIS).unwrap_or(name);
    Some((name.to_owned(), u64::from_str_radix(address, 16).ok()?))
}

/// Bytes that one operation may read of a file of this length. The library reads some of them again and again.
fn read_budget(len: u64) -> u64 {
    len.saturating_mul(32).saturating_add(1 << 30)
}

/// Runs the library within the budget for one operation.
fn within_budget<T>(storage: &BoundedStorage, work: impl FnOnce() -> Result<T>) -> Result<T> {
    storage.set_budget(read_budget(hdf5_reader::Storage::len(storage)));
    let done = work();
    // It leaves out some of what it cannot read, without an error.
    storage.check_budget().and(done)
}

pub(crate) fn open(source: &Source, limits: &Limits) -> Result<Opened> {
    guarded("the dimensions, variables and attributes", || {
        let bytes = usize::try_from(limits.block_bytes).unwrap_or(usize::MAX);
        let options = |metadata_mode| NcOpenOptions {
            chunk_cache_bytes: CACHE,
            metadata_mode,
            max_chunk_bytes: bytes,
            max_read_bytes: bytes,
            ..NcOpenOptions::default()
        };
        let as_stored = Arc::new(BoundedStorage::new(source.clone(), Blocks::new()));
        let mut findings = within_budget(&as_stored, || {
            let file = Hdf5File::from_storage_with_options(as_stored.clone(), options(NcMetadataMode::Strict).into());
            walk::walk(&file.map_err(library)?, limits)
        })?;
        let storage = Arc::new(BoundedStorage::new(source.clone(), std::mem::take(&mut findings.blocks)));
        within_budget(&storage, || {
            let shared: DynStorage = storage.clone();
            let file = Hdf5File::from_storage_with_options(shared.clone(), options(NcMetadataMode::Strict).into());
            let file = file.map_err(library)?;
            let read = |mode| {
                let root = NcFile::from_storage_with_options(shared.clone(), options(mode))?;
                // Not the whole tree of groups, which the library reads without end where it goes in a circle.
                root.variables()?;
                Ok(root)
            };
            // One object that is not NetCDF does not make the rest unreadable.
            let root: netcdf_reader::Result<NcFile> =
                read(NcMetadataMode::Strict).or_else(|_| read(NcMetadataMode::Lossy));
            describe::converted(&file, storage.clone(), &root.map_err(library)?, &findings, limits)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_that_a_hook_can_know() {
        assert!(!is_guarded());
        let found = guarded("a file", || guarded("rows 0 to 3", || Ok(is_guarded())));
        assert!(found.unwrap());
        for reason in [None, Some("index 7")] {
            let error = guarded("rows 0 to 3", || -> Result<()> {
                // As panic! does, but the hook, which would print it.
                match reason {
                    Some(reason) => std::panic::resume_unwind(Box::new(reason.to_owned())),
                    None => std::panic::resume_unwind(Box::new(7)),
                }
            });
            let wanted = format!("the HDF5 reader fails on rows 0 to 3: {}", reason.unwrap_or("no reason given"));
            assert_eq!(error.unwrap_err().to_string(), wanted);
            assert!(!is_guarded());
        }
    }
}
