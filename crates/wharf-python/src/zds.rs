//! Stores of JSON documents: the native bases of `wharf_data.zds`.

mod json;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

use container_core::{Access, Bytes, Error, ErrorKind, Map, OpenOptions, Source};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::sync::{MutexExt, RwLockExt};
use pyo3::types::{PyAny, PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use self_cell::self_cell;
use zdx::{
    Collection, CollectionWriter, Documents, Durability, Filter, LoadOptions, OnDuplicate, Predicate, Store,
    StoreWriter, WriterOptions,
};

use self::json::{decode, encode};
use crate::error::{Failure, Result};
use crate::{map, process, source};

/// The result of the library.
type LibraryResult<T> = std::result::Result<T, Error>;

/// Bytes of lines that are put at once.
const BLOCK_BYTES: usize = 64 << 20;

/// Smaller files are not mapped.
const MAPPED_BYTES: u64 = 64 << 10;

/// Documents that a filter looks at before signals are handled.
const FILTERED_AT_ONCE: usize = 4096;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ZdsStore>()?;
    module.add_class::<ZdsCollection>()?;
    module.add_class::<ZdsScan>()
}

/// The stores that this process has open for writing: handles on one path share one writer, as only one can hold the lock.
static ROOTS: Mutex<Vec<Weak<Root>>> = Mutex::new(Vec::new());

/// A store, shared by its handles.
///
/// Locks are taken in this order: a collection's, then `store`. None of them is held while Python code runs.
struct Root {
    path: PathBuf,
    /// `None` if the store is open for reading only.
    options: Option<WriterOptions>,
    /// Opened at once for reading only, else at each use.
    reader: Option<Store>,
    store: Mutex<Option<StoreWriter>>,
    /// Whether the lock is kept between changes.
    is_pinned: AtomicBool,
    collections: Mutex<BTreeMap<String, Arc<RwLock<State>>>>,
}

/// A collection, shared by its handles.
#[derive(Default)]
struct State {
    reader: Option<Arc<Collection>>,
    writer: Option<CollectionWriter>,
    /// Whether there are changes that `reader` does not show.
    is_changed: bool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn open_store(path: &Path) -> LibraryResult<Store> {
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
    fn open(path: PathBuf, options: Option<WriterOptions>) -> LibraryResult<Arc<Self>> {
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
    fn open_reader(&self, name: &str) -> LibraryResult<Option<Arc<Collection>>> {
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
    fn has_collection(&self, name: &str) -> bool {
        zdx::layout::check_collection(name).is_ok() && self.path.join("collections").join(name).is_dir()
    }

    /// The store opened for writing, which holds the lock.
    fn writer(&self) -> LibraryResult<MutexGuard<'_, Option<StoreWriter>>> {
        let mut store = locked(&self.store);
        if store.is_none() {
            let options = self.options.clone().ok_or_else(|| read_only(&self.path))?;
            *store = Some(StoreWriter::open(&self.path, options)?);
        }
        Ok(store)
    }

    fn state(&self, name: &str) -> Arc<RwLock<State>> {
        Arc::clone(locked(&self.collections).entry(name.to_owned()).or_default())
    }

    fn states(&self) -> Vec<Arc<RwLock<State>>> {
        locked(&self.collections).values().cloned().collect()
    }

    /// Flushes all collections and releases the lock.
    fn close(&self) -> LibraryResult<()> {
        self.is_pinned.store(false, Ordering::Relaxed);
        let mut closed = Ok(());
        for state in self.states() {
            let mut state = state.write().unwrap_or_else(PoisonError::into_inner);
            closed = closed.and(state.close());
        }
        closed.and(self.release())
    }

    /// Releases the lock, unless it is in use.
    fn release(&self) -> LibraryResult<()> {
        let is_open = |state: &Arc<RwLock<State>>| {
            state.try_read().map_or(true, |state| state.writer.is_some()) // locked: in use
        };
        if self.is_pinned.load(Ordering::Relaxed) || self.states().iter().any(is_open) {
            return Ok(());
        }
        let store = locked(&self.store).take();
        store.map_or(Ok(()), StoreWriter::finish)
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        // Whoever wants to know about errors closes the store.
        let _ = self.close();
    }
}

fn read_only(path: &Path) -> Error {
    let detail = "the store is open for reading only: open it with mode=\"rw\"";
    Error::usage(detail).in_file(path.display().to_string()).in_format("zds")
}

impl State {
    fn flush(&mut self) -> LibraryResult<()> {
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

    fn close(&mut self) -> LibraryResult<()> {
        let closed = self.flush();
        self.writer = None;
        closed
    }

    /// After a failed write a writer refuses to continue, but a new one can.
    fn drop_failed_writer<T>(&mut self, result: &LibraryResult<T>) {
        if result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Io) {
            self.writer = None;
        }
    }
}

/// A store of collections of JSON documents: a folder, or an archive.
#[pyclass(module = "wharf_data._native", frozen, subclass)]
pub(crate) struct ZdsStore {
    root: Arc<Root>,
    mode: &'static str,
}

#[pymethods]
impl ZdsStore {
    #[new]
    #[pyo3(signature = (path, mode="r", *, create=true, strict=false, sync_writes=false, lock=true))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        mode: &str,
        create: bool,
        strict: bool,
        sync_writes: bool,
        lock: bool,
    ) -> Result<Self> {
        let options = match mode {
            "r" => None,
            "rw" => {
                let durability = if sync_writes { Durability::EveryPut } else { Durability::Flush };
                let options = WriterOptions::default().with_create(create).with_strict(strict);
                Some(options.with_durability(durability).with_threads(process::threads(0)))
            }
            other => return Err(PyValueError::new_err(format!("mode must be \"r\" or \"rw\", found {other:?}")).into()),
        };
        let root = py.detach(|| {
            let root = Root::open(path, options)?;
            if mode == "rw" && lock {
                root.is_pinned.store(true, Ordering::Relaxed);
                drop(root.writer()?);
            }
            LibraryResult::Ok(root)
        })?;
        Ok(Self { root, mode: if mode == "r" { "r" } else { "rw" } })
    }

    /// The path.
    #[getter]
    fn path(&self) -> &Path {
        &self.root.path
    }

    /// ``"r"`` or ``"rw"``.
    #[getter]
    fn mode(&self) -> &str {
        self.mode
    }

    /// Whether all documents of a collection must have one schema.
    #[getter]
    fn strict(&self) -> bool {
        self.root.options.as_ref().is_some_and(|options| options.strict)
    }

    /// The names of the collections, sorted.
    fn list_collections(&self, py: Python<'_>) -> Result<Vec<String>> {
        Ok(py.detach(|| match &self.root.reader {
            Some(store) => store.names(),
            None if self.root.path.join("collections").is_dir() => open_store(&self.root.path)?.names(),
            None => Ok(Vec::new()),
        })?)
    }

    /// Whether there is a collection of this name.
    fn collection_exists(&self, py: Python<'_>, name: &str) -> Result<bool> {
        Ok(self.list_collections(py)?.iter().any(|other| other == name))
    }

    /// Flushes all collections and releases the lock. The store may be used again.
    fn close(&self, py: Python<'_>) -> Result<()> {
        Ok(py.detach(|| self.root.close())?)
    }
}

/// A collection of documents.
#[pyclass(module = "wharf_data._native", frozen, subclass, mapping)]
pub(crate) struct ZdsCollection {
    root: Arc<Root>,
    name: String,
    state: Arc<RwLock<State>>,
}

impl ZdsCollection {
    /// The collection with all changes so far; `None` if it does not exist yet.
    fn reader(&self, py: Python<'_>) -> Result<Option<Arc<Collection>>> {
        let state = self.state.read_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        if let (Some(reader), false) = (&state.reader, state.is_changed) {
            return Ok(Some(Arc::clone(reader)));
        }
        drop(state);
        Ok(py.detach(|| {
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            if state.is_changed {
                state.flush()?;
            }
            if state.reader.is_none() {
                state.reader = self.root.open_reader(&self.name)?;
            }
            LibraryResult::Ok(state.reader.clone())
        })?)
    }

    /// Asks the writer, if there are changes that the reader does not show.
    fn ask_writer<T>(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&CollectionWriter) -> LibraryResult<T>,
    ) -> Result<Option<T>> {
        let state = self.state.read_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        Ok(state.writer.as_ref().filter(|_| state.is_changed).map(ask).transpose()?)
    }

    /// Changes the collection.
    fn change<T: Send>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut CollectionWriter) -> LibraryResult<T> + Send,
    ) -> Result<T> {
        Ok(py.detach(|| {
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            let writer = match &mut state.writer {
                Some(writer) => writer,
                none => {
                    let store = self.root.writer()?;
                    let store = store.as_ref().ok_or_else(|| read_only(&self.root.path))?;
                    none.insert(store.collection(&self.name)?)
                }
            };
            let changed = change(writer);
            state.is_changed = true;
            state.drop_failed_writer(&changed);
            changed
        })?)
    }

    fn put_lines(&self, py: Python<'_>, lines: &mut Vec<u8>) -> Result<()> {
        // The lines were encoded here.
        let options = LoadOptions::default().with_validate(false).with_threads(process::threads(0));
        let lines = Source::from(std::mem::take(lines));
        self.change(py, |writer| writer.load(&lines, &options))?;
        Ok(py.check_signals()?)
    }

    fn scanned(&self, py: Python<'_>, yields: Yields) -> Result<ZdsScan> {
        self.scan_with(py, yields, None, None)
    }

    fn scan_with(
        &self,
        py: Python<'_>,
        yields: Yields,
        fields: Option<Vec<String>>,
        filter: Option<Filter>,
    ) -> Result<ZdsScan> {
        let reader = self.reader(py)?;
        let cell =
            py.detach(|| reader.map(|reader| Cell::try_new(reader, |collection| collection.documents())).transpose())?;
        Ok(ZdsScan { cell: Mutex::new(cell), yields, fields, filter })
    }
}

fn missing(id: &str) -> Failure {
    PyKeyError::new_err(format!("Document not found: {id}")).into()
}

#[pymethods]
impl ZdsCollection {
    #[new]
    fn new(py: Python<'_>, store: PyRef<'_, ZdsStore>, name: String) -> Result<Self> {
        let root = Arc::clone(&store.root);
        let state = root.state(&name);
        let collection = Self { root, name, state };
        if collection.root.options.is_none() {
            // It must exist.
            collection.reader(py)?;
        } else if !collection.root.has_collection(&collection.name) {
            collection.change(py, |writer| writer.flush())?;
        }
        Ok(collection)
    }

    /// The name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The path of the store.
    #[getter]
    fn _root(&self) -> &Path {
        &self.root.path
    }

    /// The document of this id, without its ``_id``.
    ///
    /// Raises:
    ///     KeyError: there is none, and no default is given.
    #[pyo3(signature = (doc_id, *default))]
    fn get<'py>(&self, py: Python<'py>, doc_id: &str, default: &Bound<'py, PyTuple>) -> Result<Bound<'py, PyAny>> {
        if default.len() > 1 {
            return Err(PyTypeError::new_err(format!("expected at most one default, found {}", default.len())).into());
        }
        match self.find(py, doc_id)? {
            Some(document) => Ok(document),
            None => default.get_item(0).map_err(|_| missing(doc_id)),
        }
    }

    fn __getitem__<'py>(&self, py: Python<'py>, doc_id: &str) -> Result<Bound<'py, PyAny>> {
        self.find(py, doc_id)?.ok_or_else(|| missing(doc_id))
    }

    /// Whether there is a document of this id.
    fn exists(&self, py: Python<'_>, doc_id: &str) -> Result<bool> {
        if let Some(found) = self.ask_writer(py, |writer| Ok(writer.contains(doc_id)))? {
            return Ok(found);
        }
        Ok(self.reader(py)?.map_or(Ok(false), |reader| reader.contains(doc_id))?)
    }

    fn __contains__(&self, py: Python<'_>, doc_id: &Bound<'_, PyAny>) -> Result<bool> {
        match doc_id.cast::<PyString>() {
            Ok(doc_id) => self.exists(py, doc_id.to_str()?),
            Err(_) => Ok(false),
        }
    }

    fn __len__(&self, py: Python<'_>) -> Result<usize> {
        let len = match self.ask_writer(py, |writer| Ok(writer.len()))? {
            Some(len) => len,
            None => self.reader(py)?.map_or(Ok(0), |reader| py.detach(|| reader.len()))?,
        };
        Ok(usize::try_from(len).unwrap_or(usize::MAX))
    }

    fn __bool__(&self) -> bool {
        true
    }

    /// The number of documents.
    fn count(&self, py: Python<'_>) -> Result<usize> {
        self.__len__(py)
    }

    /// All ids, in the order of the documents.
    fn list_doc_ids<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        if let Some(reader) = self.reader(py)? {
            py.detach(|| reader.documents().map(drop))?; // reads the index
            for id in reader.ids()? {
                list.append(id)?;
            }
        }
        Ok(list)
    }

    fn __iter__(&self, py: Python<'_>) -> Result<ZdsScan> {
        self.scanned(py, Yields::Documents)
    }

    /// An iterator over pairs of id and document.
    fn items(&self, py: Python<'_>) -> Result<ZdsScan> {
        self.scanned(py, Yields::Items)
    }

    /// The documents as stored: a list of JSON texts, including ``_id``.
    fn scan_raw<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for line in self.scanned(py, Yields::Raw)?.into_iter(py) {
            list.append(line?)?;
        }
        Ok(list)
    }

    /// An iterator over documents, and the conditions of ``predicate`` that it does not check.
    fn _scan<'py>(
        &self,
        py: Python<'py>,
        fields: Option<Vec<String>>,
        predicate: Option<&Bound<'py, PyDict>>,
    ) -> Result<(ZdsScan, Bound<'py, PyDict>)> {
        let (mut conditions, unchecked) = (Vec::new(), PyDict::new(py));
        for (name, value) in predicate.into_iter().flatten() {
            match condition(&name, &value) {
                Some(condition) => conditions.push(condition),
                None => unchecked.set_item(name, value)?,
            }
        }
        let filter = (!conditions.is_empty()).then(|| Filter::new(&Predicate::And(conditions)));
        // Unchecked conditions may concern other members.
        let fields = fields.filter(|_| unchecked.is_empty());
        Ok((self.scan_with(py, Yields::Documents, fields, filter)?, unchecked))
    }

    /// Puts a document, replacing that of the same id.
    ///
    /// Raises:
    ///     ValueError: the id is invalid, the document has another ``_id``, or a number that JSON does not have.
    ///     TypeError: the document has a value that JSON does not have.
    fn put(&self, py: Python<'_>, doc_id: &str, doc: &Bound<'_, PyDict>) -> Result<()> {
        let mut line = Vec::new();
        encode(doc_id, doc, &mut line)?;
        self.change(py, |writer| writer.put_raw(doc_id, &line))
    }

    fn __setitem__(&self, py: Python<'_>, doc_id: &str, doc: &Bound<'_, PyDict>) -> Result<()> {
        self.put(py, doc_id, doc)
    }

    /// Puts many documents: an iterable of pairs of id and document. Returns their number.
    ///
    /// They are put in blocks of 64 MiB, each of which is put as a whole or not at all.
    ///
    /// Raises:
    ///     ValueError, TypeError: as ``put``.
    fn put_batch(&self, py: Python<'_>, items: &Bound<'_, PyAny>) -> Result<usize> {
        let (mut lines, mut count) = (Vec::new(), 0);
        for item in items.try_iter()? {
            let item = item?;
            let (id, document): (Bound<'_, PyString>, Bound<'_, PyDict>) = item.extract()?;
            encode(id.to_str()?, &document, &mut lines)?;
            count += 1;
            if lines.len() >= BLOCK_BYTES {
                self.put_lines(py, &mut lines)?;
            }
        }
        if !lines.is_empty() {
            self.put_lines(py, &mut lines)?;
        }
        Ok(count)
    }

    /// Puts many documents as JSON texts with their ``_id``: pairs of id and ``bytes``. Returns their number.
    ///
    /// Raises:
    ///     ValueError: a text is not an object with this ``_id``; those before it were put.
    fn put_raw_batch(&self, py: Python<'_>, items: Vec<(String, PyBackedBytes)>) -> Result<usize> {
        self.change(py, |writer| items.iter().try_for_each(|(id, line)| writer.put_raw(id, line)))?;
        Ok(items.len())
    }

    /// Puts all documents of JSON lines: a path, ``bytes``, or a binary file. All, or none if one is invalid.
    #[pyo3(signature = (lines, *, id_field=None, on_duplicate="replace", validate=true))]
    fn load<'py>(
        &self,
        py: Python<'py>,
        lines: &Bound<'py, PyAny>,
        id_field: Option<String>,
        on_duplicate: &str,
        validate: bool,
    ) -> Result<Bound<'py, PyDict>> {
        let on_duplicate = match on_duplicate {
            "replace" => OnDuplicate::Replace,
            "refuse" => OnDuplicate::Refuse,
            "keep" => OnDuplicate::Keep,
            other => {
                let detail = format!("must be replace, refuse or keep, found {other:?}");
                return Err(Error::usage(detail).in_option("on_duplicate").into());
            }
        };
        let mut options = LoadOptions::default().with_on_duplicate(on_duplicate).with_validate(validate);
        options.id_field = id_field;
        options.threads = process::threads(0);
        let input = source::input(lines, map::access(true))?;
        let loaded = {
            let source = input.source().ok_or_else(|| Error::usage("expected a file of JSON lines, found a folder"))?;
            self.change(py, |writer| writer.load(source, &options))?
        };
        let summary = PyDict::new(py);
        summary.set_item("documents", loaded.documents)?;
        summary.set_item("bytes", loaded.bytes)?;
        summary.set_item("replaced", loaded.replaced)?;
        summary.set_item("kept", loaded.kept)?;
        Ok(summary)
    }

    /// Deletes a document.
    ///
    /// Raises:
    ///     KeyError: there is none of this id.
    fn delete(&self, py: Python<'_>, doc_id: &str) -> Result<()> {
        match self.change(py, |writer| writer.delete(doc_id))? {
            true => Ok(()),
            false => Err(missing(doc_id)),
        }
    }

    fn __delitem__(&self, py: Python<'_>, doc_id: &str) -> Result<()> {
        self.delete(py, doc_id)
    }

    /// Writes all changes: afterwards every reader sees them, and no crash loses them. Then sees the changes of other processes.
    fn flush(&self, py: Python<'_>) -> Result<()> {
        Ok(py.detach(|| {
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            state.flush()?;
            state.reader = None;
            LibraryResult::Ok(())
        })?)
    }

    /// Flushes, and releases the lock of a store that was not opened by itself. The collection may be used again.
    fn close(&self, py: Python<'_>) -> Result<()> {
        Ok(py.detach(|| {
            self.state.write().unwrap_or_else(PoisonError::into_inner).close()?;
            self.root.release()
        })?)
    }

    /// Rewrites the data without the lines of deleted and replaced documents.
    fn compact(&self, py: Python<'_>) -> Result<()> {
        self.change(py, |writer| writer.compact().map(drop))
    }

    /// Starts a transaction: changes up to the next flush count together or not at all.
    fn _begin(&self, py: Python<'_>) -> Result<()> {
        self.change(py, CollectionWriter::begin)
    }

    /// Discards all changes since ``_begin``.
    fn _roll_back(&self, py: Python<'_>) -> Result<()> {
        self.change(py, CollectionWriter::roll_back)
    }
}

impl ZdsCollection {
    fn find<'py>(&self, py: Python<'py>, id: &str) -> Result<Option<Bound<'py, PyAny>>> {
        if let Some(line) = self.ask_writer(py, |writer| writer.get(id))? {
            return Ok(line.map(|line| decode(py, &line, None)).transpose()?);
        }
        let Some(reader) = self.reader(py)? else { return Ok(None) };
        let Some(document) = reader.get(id)? else { return Ok(None) };
        decode(py, document.bytes(), None).map(Some).map_err(|error| located(error, &document))
    }
}

/// The library's error for a document, which has its position, rather than that of Python.
fn located(error: PyErr, document: &zdx::Document<'_>) -> Failure {
    match document.value() {
        Err(located) => located.into(),
        Ok(_) => error.into(),
    }
}

/// The condition that the member of this name equals the value as Python sees it: 1, 1.0 and `True` are the same, and a missing member equals
/// `None`. `None` if the library has no such condition.
fn condition(name: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Option<Predicate> {
    let name = name.cast::<PyString>().ok()?.to_str().ok()?;
    // Dots separate the members of a path, and ids are not part of documents.
    if name.contains('.') || name == "_id" {
        return None;
    }
    let equals = |value: serde_json::Value| Predicate::Eq(name.to_owned(), value);
    if value.is_none() {
        return Some(Predicate::Or(vec![Predicate::NotExists(name.to_owned()), equals(serde_json::Value::Null)]));
    }
    if let Ok(text) = value.cast_exact::<PyString>() {
        return Some(equals(text.to_str().ok()?.into()));
    }
    let number = if let Ok(value) = value.cast::<PyBool>() {
        i64::from(value.is_true())
    } else if let Ok(value) = value.cast_exact::<PyInt>() {
        value.extract().ok()?
    } else {
        // An integer with 53 bits has one representation as a float.
        let value = value.cast_exact::<PyFloat>().ok()?.value();
        if value.fract() != 0.0 {
            return value.is_finite().then(|| equals(value.into()));
        }
        value.to_string().parse().ok()?
    };
    let float = i32::try_from(number).ok().map(f64::from)?;
    let mut same = vec![equals(number.into()), equals(float.into())];
    if let 0 | 1 = number {
        same.push(equals((number == 1).into()));
    }
    Some(Predicate::Or(same))
}

self_cell!(
    struct Cell {
        owner: Arc<Collection>,
        #[not_covariant]
        dependent: Documents,
    }
);

/// What a scan yields.
#[derive(Clone, Copy)]
enum Yields {
    Documents,
    /// Pairs of id and document.
    Items,
    /// JSON texts.
    Raw,
}

/// An iterator over the documents of a collection, as it was when the iterator was made.
#[pyclass(module = "wharf_data._native", frozen)]
pub(crate) struct ZdsScan {
    /// `None` if the collection does not exist.
    cell: Mutex<Option<Cell>>,
    yields: Yields,
    fields: Option<Vec<String>>,
    filter: Option<Filter>,
}

/// The next document that meets the condition.
fn filtered<'c>(py: Python<'_>, documents: &mut Documents<'c>, filter: &Filter) -> Result<Option<zdx::Document<'c>>> {
    loop {
        let found = py.detach(|| {
            for _ in 0..FILTERED_AT_ONCE {
                let Some(document) = documents.try_next()? else { return Ok(Some(None)) };
                match filter.holds(document.bytes()) {
                    Ok(true) => return Ok(Some(Some(document))),
                    Ok(false) => {}
                    Err(error) => {
                        document.value()?;
                        return Err(Error::invalid(error.to_string()).in_key(document.id().to_owned()));
                    }
                }
            }
            LibraryResult::Ok(None)
        })?;
        match found {
            Some(end) => return Ok(end),
            None => py.check_signals()?,
        }
    }
}

impl ZdsScan {
    fn advance<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyAny>>> {
        let mut cell = self.cell.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let Some(cell) = cell.as_mut() else { return Ok(None) };
        cell.with_dependent_mut(|_, documents| {
            let document = match &self.filter {
                None => documents.try_next()?,
                Some(filter) => filtered(py, documents, filter)?,
            };
            let Some(document) = document else { return Ok(None) };
            if let Yields::Raw = self.yields {
                return Ok(Some(PyBytes::new(py, &document.line()?).into_any()));
            }
            let value =
                decode(py, document.bytes(), self.fields.as_deref()).map_err(|error| located(error, &document))?;
            match self.yields {
                Yields::Items => Ok(Some((document.id(), value).into_pyobject(py)?.into_any())),
                _ => Ok(Some(value)),
            }
        })
    }

    fn into_iter(self, py: Python<'_>) -> impl Iterator<Item = Result<Bound<'_, PyAny>>> {
        std::iter::from_fn(move || self.advance(py).transpose())
    }
}

#[pymethods]
impl ZdsScan {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyAny>>> {
        self.advance(py)
    }
}
