//! Stores that handles share.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

use container_core::{Access, Bytes, Error, ErrorKind, Map, OpenOptions};
use zdx::{Collection, CollectionWriter, Store, StoreWriter, WriterOptions};

use super::LibraryResult;
use crate::{map, process};

/// Smaller files are not mapped.
const MAPPED_BYTES: u64 = 64 << 10;

/// The stores that this process has open for writing: handles on one path share one writer, as only one can hold the lock.
static ROOTS: Mutex<Vec<Weak<Root>>> = Mutex::new(Vec::new());

/// A store, shared by its handles.
///
/// Locks are taken in this order: a collection's, then `store`. None of them is held while Python code runs.
pub(super) struct Root {
    pub(super) path: PathBuf,
    /// `None` if the store is open for reading only.
    pub(super) options: Option<WriterOptions>,
    /// Opened at once for reading only, else at each use.
    pub(super) reader: Option<Store>,
    pub(super) store: Mutex<Option<StoreWriter>>,
    /// Whether the lock is kept between changes.
    pub(super) is_pinned: AtomicBool,
    pub(super) collections: Mutex<BTreeMap<String, Arc<RwLock<State>>>>,
}

/// A collection, shared by its handles.
#[derive(Default)]
pub(super) struct State {
    pub(super) reader: Option<Arc<Collection>>,
    pub(super) writer: Option<CollectionWriter>,
    /// Whether there are changes that `reader` does not show.
    pub(super) is_changed: bool,
    /// Whether the changes are those of a transaction, which only its end may write.
    pub(super) is_in_transaction: bool,
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn open_store(path: &Path) -> LibraryResult<Store> {
    Store::open_with(path, OpenOptions::default().with_access(Access::Mapped(Map::new(map_documents))))
}

/// Maps large files of documents, to which everybody only appends, and archives. Reads others: the original overwrites indexes and files of
/// documents in place.
fn map_documents(mut file: &File) -> io::Result<Bytes> {
    let mut first = [0];
    let len = file.metadata()?.len();
    if len >= MAPPED_BYTES && file.read_exact(&mut first).is_ok() && matches!(first, [b'{' | b'P']) {
        return map::map(file);
    }
    let mut content = Vec::with_capacity(usize::try_from(len).unwrap_or(0));
    file.rewind()?;
    file.read_to_end(&mut content)?;
    Ok(content.into())
}

impl Root {
    /// Opens a store, or finds the one that is open for writing.
    pub(super) fn open(path: PathBuf, options: Option<WriterOptions>) -> LibraryResult<Arc<Self>> {
        let new = |path, options, reader| {
            Arc::new(Self {
                path,
                options,
                reader,
                store: Mutex::default(),
                is_pinned: AtomicBool::default(),
                collections: Mutex::default(),
            })
        };
        let Some(options) = options else {
            let store = open_store(&path)?;
            return Ok(new(path, None, Some(store)));
        };
        let path = match std::fs::canonicalize(&path) {
            Ok(path) => path,
            Err(_) if options.create => std::path::absolute(&path).unwrap_or(path),
            Err(cause) => {
                return Err(Error::io("cannot open", cause).in_file(path.display().to_string()).in_format("zds"));
            }
        };
        let mut roots = locked(&ROOTS);
        roots.retain(|root| root.strong_count() > 0);
        if let Some(root) = roots.iter().filter_map(Weak::upgrade).find(|root| root.path == path) {
            let is_same = root.options.as_ref().is_some_and(|open| {
                (open.strict, open.durability, open.create) == (options.strict, options.durability, options.create)
            });
            return match is_same {
                true => Ok(root),
                false => Err(Error::usage("the store is open with other options in this process")
                    .in_file(path.display().to_string())
                    .in_format("zds")),
            };
        }
        let root = new(path, Some(options), None);
        roots.push(Arc::downgrade(&root));
        Ok(root)
    }

    /// Opens a collection for reading; `None` if it does not exist yet.
    pub(super) fn open_reader(&self, name: &str) -> LibraryResult<Option<Arc<Collection>>> {
        let threads = process::threads(0);
        if let Some(store) = &self.reader {
            return Ok(Some(Arc::new(store.collection(name)?.with_threads(threads))));
        }
        if !self.has_collection(name) {
            return Ok(None);
        }
        Ok(Some(Arc::new(open_store(&self.path)?.collection(name)?.with_threads(threads))))
    }

    /// Whether the folder of a collection exists.
    pub(super) fn has_collection(&self, name: &str) -> bool {
        zdx::layout::check_collection(name).is_ok() && self.path.join("collections").join(name).is_dir()
    }

    /// The store opened for writing, which holds the lock.
    pub(super) fn writer(&self) -> LibraryResult<MutexGuard<'_, Option<StoreWriter>>> {
        let mut store = locked(&self.store);
        if store.as_ref().is_some_and(|store| !store.owner().is_current()) {
            *store = None; // a copy of the parent's, which a forked process drops without effect
        }
        if store.is_none() {
            let options = self.options.clone().ok_or_else(|| read_only(&self.path))?;
            *store = Some(StoreWriter::open(&self.path, options)?);
        }
        Ok(store)
    }

    pub(super) fn state(&self, name: &str) -> Arc<RwLock<State>> {
        Arc::clone(locked(&self.collections).entry(name.to_owned()).or_default())
    }

    pub(super) fn states(&self) -> Vec<Arc<RwLock<State>>> {
        locked(&self.collections).values().cloned().collect()
    }

    /// Flushes all collections and releases the lock.
    pub(super) fn close(&self) -> LibraryResult<()> {
        self.is_pinned.store(false, Ordering::Relaxed);
        let mut closed = Ok(());
        for state in self.states() {
            let mut state = state.write().unwrap_or_else(PoisonError::into_inner);
            closed = closed.and(state.close());
        }
        closed.and(self.release())
    }

    /// Releases the lock, unless it is in use.
    pub(super) fn release(&self) -> LibraryResult<()> {
        let is_open = |state: &Arc<RwLock<State>>| {
            state.try_read().map_or(true, |state| state.writer.is_some()) // locked: in use
        };
        if self.is_pinned.load(Ordering::Relaxed) || self.states().iter().any(is_open) {
            return Ok(());
        }
        match locked(&self.store).take() {
            Some(store) if store.owner().is_current() => store.finish(),
            _ => Ok(()),
        }
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        // Whoever wants to know about errors closes the store.
        let _ = self.close();
    }
}

pub(super) fn read_only(path: &Path) -> Error {
    let detail = "the store is open for reading only: open it with mode=\"rw\"";
    Error::usage(detail).in_file(path.display().to_string()).in_format("zds")
}

impl State {
    /// In a forked process: leaves the changes of the parent to the parent. What follows concerns the files as they are.
    pub(super) fn leave_to_parent(&mut self) {
        if self.has_parents_changes() {
            *self = Self::default(); // dropped in another process, the writer changes nothing
        }
    }

    /// Whether the changes are those of the parent of this forked process.
    pub(super) fn has_parents_changes(&self) -> bool {
        self.writer.as_ref().is_some_and(|writer| !writer.owner().is_current())
    }

    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) in a transaction, which a flush would end.
    pub(super) fn flush(&mut self) -> LibraryResult<()> {
        self.leave_to_parent();
        if self.is_in_transaction {
            let detail = "a transaction is open: scan, flush, compact and close before it or after its end";
            return Err(Error::usage(detail).in_format("zds"));
        }
        if let Some(writer) = &mut self.writer {
            let flushed = writer.flush();
            self.drop_failed_writer(&flushed);
            flushed?;
        }
        if self.is_changed {
            (self.is_changed, self.reader) = (false, None);
        }
        Ok(())
    }

    pub(super) fn close(&mut self) -> LibraryResult<()> {
        let closed = self.flush();
        if !self.is_in_transaction {
            self.writer = None;
        }
        closed
    }

    /// After a failed write a writer refuses to continue, but a new one can.
    pub(super) fn drop_failed_writer<T>(&mut self, result: &LibraryResult<T>) {
        if result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Io) {
            self.writer = None;
        }
    }
}
